"""A network taken apart: all its matrices with the names of their rows and columns, as JSON that a page can draw.

``anatomy`` writes it down, and ``Body`` reads it again: it computes with nothing but what is written there, so a page
that does the same can be compared with it, number by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.blocks import Layer, Norm
from flatcube.networks.channels import spaces
from flatcube.networks.encoder import Encoder
from flatcube.networks.interface import Network
from flatcube.networks.wiring import wiring

__all__ = ["anatomy"]

WEIGHTS, WIDEST, LONGEST, INPUTS = 40_000, 128, 64, 12
_SAMPLE = (1, 0, 1, 1, 0, 0, 1)
_WORDS = {"query_key": "W", "value": "V", "output": "O", "lean": "lean", "offset": "offset", "mask": "mask"}


class _Book:
    """The matrices that have been written down so far; each is known by its number."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names, self.matrices = names, []

    def write(self, path: str, values: Tensor | None, rows: str, columns: str, title: str, kind: str = "weight") -> Any:
        """The number of a matrix between two spaces, or None if there is none."""
        if values is None:
            return None
        array = values.detach().cpu().numpy()
        array = array.reshape(-1, array.shape[-1])
        at = np.flatnonzero(array)
        title = f"{self.names[path]} · {title}" if path in self.names else title
        found = array.ravel()[at]
        numbers = [1.0] * len(at) if kind == "mask" else [float(str(value)) for value in found]  # the shortest digits
        self.matrices.append(
            {"path": path, "title": title, "kind": kind, "rows": rows, "columns": columns, "shape": list(array.shape),
             "at": None if len(at) == array.size else at.tolist(), "values": numbers}
        )  # fmt: skip
        if sum(len(matrix["values"]) for matrix in self.matrices) > WEIGHTS:
            raise ValueError(f"model: expected at most {WEIGHTS:,} weights other than 0 to be shown, got more")
        return len(self.matrices) - 1


def anatomy(model: nn.Module, inputs: Tensor | np.ndarray | Sequence | None = None) -> dict[str, Any]:
    """All that a page needs to draw a network and to run it on inputs (batch, n), which are shown first."""
    tensors.network(model)
    if getattr(model, "count", None) is not None or type(model).__name__ == "Rivals":
        raise TypeError(f"model: expected one network, got {type(model).__name__}; its member(k) is one")
    if not _has_parts(model):
        if inputs is not None:
            raise ValueError(f"inputs: expected none, because {type(model).__name__} is shown by its weights alone")
        return _bare(model)
    parts = model.parts() if isinstance(model, Encoder) else model.circuit()
    before = isinstance(model, Encoder) and model.config.norm == "pre"
    if parts.tokens.shape[-1] > WIDEST:
        raise ValueError(f"model: expected at most {WIDEST} channels to be shown, got {parts.tokens.shape[-1]}")
    chosen = _chosen(model, inputs)
    n, known = chosen.shape[-1], {key: [list(c) for c in channels] for key, channels in spaces(parts).items()}
    known |= {"places": [[str(k), ""] for k in range(1, n + 1)] + known.pop("appended"), "one": [["", ""]]}
    if known["places"][n:] and {name for name, _ in known["places"][n:]} & {str(k) for k in range(1, n + 1)}:
        known["places"][n:] = [[f"+{name}", job] for name, job in known["places"][n:]]
    book = _Book(parts.names)
    book.write("tokens", parts.tokens, "tokens", "embedding", "tokens")
    book.write("positions", parts._places(n + len(parts.appended)), "places", "embedding", "positions")
    program = {
        "tokens": 0, "positions": 1, "appended": parts.appended.tolist(), "read": int(parts.read), "before": before,
        "layers": [_layer(book, layer, k, known) for k, layer in enumerate(parts.layers)],
        "norm": _norm(book, Norm(model.config.eps, model.norm.gain.detach(), _bias(model), centre=not model.config.rms),
                      "norm", "embedding") if before else None,
    }  # fmt: skip
    last = f"layers.{len(parts.layers) - 1}.output" if parts.layers else "embedding"
    program["readout"] = book.write("readout", parts.readout, last, "one", "read-out")
    program["shift"] = book.write("shift", parts.shift, "one", "one", "shift of the read-out")
    return {
        "kind": type(model).__name__, "spaces": known, "matrices": book.matrices, "program": program,
        "inputs": chosen.tolist(), "choices": _choices(model, chosen), "wiring": wiring(parts, before=before),
    }  # fmt: skip


def _has_parts(model: nn.Module) -> bool:
    """Whether a network is made of the parts of ``blocks``; others are shown by their weights alone."""
    if isinstance(model, Encoder):
        return model.config.attention == "softmax"
    return isinstance(model, Network) and type(model).circuit is not Network.circuit


def _bare(model: nn.Module) -> dict[str, Any]:
    """The weights of any network, with numbers for names."""
    book, known = _Book({}), {"one": [["", ""]]}
    for name, weight in model.named_parameters():
        weight = weight.detach().flatten(1) if weight.ndim > 2 else weight  # a convolution by its outputs
        rows, columns = ([1, 1, *weight.shape])[-2:]
        if max(rows, columns) > 10 * WIDEST:
            most = 10 * WIDEST
            raise ValueError(f"model: expected at most {most} rows and columns, got {name} of {rows} × {columns}")
        for size in (rows, columns):
            known[f"size {size}"] = [[str(k), ""] for k in range(1, size + 1)]
        book.write(name, weight, "one" if rows == 1 else f"size {rows}", f"size {columns}", name)
    if not book.matrices:
        raise ValueError(f"model: expected a network with weights, got {type(model).__name__} without any")
    return {"kind": type(model).__name__, "spaces": known, "matrices": book.matrices, "program": None, "inputs": [[]],
            "choices": [], "wiring": None}  # fmt: skip


def _bias(model: Encoder) -> Tensor | None:
    return model.norm.bias.detach() if model.config.bias else None


def _chosen(model: Network, inputs: Any) -> Tensor:
    """The inputs (batch, n) to look at: the given ones, or one with both bits."""
    if inputs is None:
        n = model.usual()
        inputs = [[choices[min(_SAMPLE[j % 7], len(choices) - 1)] for j, choices in enumerate(model.choices(n))]]
    inputs = tensors.tensor(inputs, "inputs")
    inputs = inputs[None] if inputs.ndim == 1 else inputs
    checks.shape(inputs.shape, "inputs", ("batch", model.length or "n"))
    if not 1 <= inputs.shape[0] <= INPUTS or not 1 <= inputs.shape[1] <= LONGEST:
        wanted = f"1 to {INPUTS} inputs of 1 to {LONGEST} symbols"
        raise ValueError(f"inputs: expected {wanted}, got shape {tuple(inputs.shape)}")
    inputs = tensors.whole(inputs, "inputs", 0, model.symbols - 1)
    model.embed(inputs)  # a network may refuse what is made of its symbols
    return inputs


def _choices(model: Network, chosen: Tensor) -> list[list[int]]:
    """What may stand at each position on the page: what the network says, and what was given."""
    columns = zip(model.choices(chosen.shape[-1]), chosen.T.tolist(), strict=True)
    return [sorted({*choices, *column}) for choices, column in columns]


# --- writing ----------------------------------------------------------------------------------------------------------


def _layer(book: _Book, layer: Layer, k: int, known: dict[str, Any]) -> dict[str, Any]:
    inside, where = f"layers.{k}.", f"layer {k + 1}"
    x, u, z = "embedding" if k == 0 else f"layers.{k - 1}.output", inside + "mixed", inside + "output"
    heads = []
    for h, head in enumerate(layer.heads):
        path, title = f"{inside}heads.{h}.", f"{where}, head {h + 1}: "
        inner = u
        if head.output is not None:
            inner = f"{path}inner"
            known[inner] = [[str(j), ""] for j in range(1, head.value.shape[-1] + 1)]
        sides = {"query_key": (x, x), "value": (x, inner), "output": (inner, u), "lean": ("one", x),
                 "offset": ("one", u), "mask": ("places", "places")}  # fmt: skip
        heads.append({
            name: book.write(path + name, getattr(head, name), *sides[name], title + _WORDS[name],
                             "mask" if name == "mask" else "weight")
            for name in sides
        })  # fmt: skip
    wires = {"skip": (x, u), "bypass": (x, z), "keep": (u, z)}
    made = {
        name: book.write(inside + name, getattr(layer, name), *sides, f"{where}: {name}, a wire", "wire")
        for name, sides in wires.items()
    }
    made |= {"heads": heads, "mlp": None}
    if layer.mlp is not None:
        count = len(layer.mlp.weights)
        between = [u, *(f"{inside}mlp.{i}" for i in range(count - 1)), z]
        title = f"{where}, MLP: "
        for i, weight in enumerate(layer.mlp.weights[1:]):
            for unit in (weight == 0).all(-1).nonzero()[:, 0].tolist():
                known[between[i + 1]][unit][0] += " ✕"  # whatever it computes, nobody reads it
        made["mlp"] = {
            "weights": [
                book.write(f"{inside}mlp.weights.{i}", weight, *between[i : i + 2], f"{title}weights {i + 1}")
                for i, weight in enumerate(layer.mlp.weights)
            ],
            "biases": [
                book.write(f"{inside}mlp.biases.{i}", bias, "one", between[i + 1], f"{title}biases {i + 1}")
                for i, bias in enumerate(layer.mlp.biases)
            ],
        }
    made["norm_attention"] = _norm(book, layer.norm_attention, inside + "norm_attention", u)
    made["norm"] = _norm(book, layer.norm, inside + "norm", z)
    return made


def _norm(book: _Book, norm: Norm | None, path: str, space: str) -> dict[str, Any] | None:
    if norm is None:
        return None
    title = f"layer {int(path.split('.')[1]) + 1}, norm" if "." in path else "last norm"
    title += " after the heads" if path.endswith("attention") else ""
    weights = {name: book.write(f"{path}.{name}", getattr(norm, name), "one", space, f"{title}: {name}")
               for name in ("gain", "bias")}  # fmt: skip
    return {"eps": float(norm.eps), "centre": bool(norm.centre), **weights}


# --- reading ----------------------------------------------------------------------------------------------------------


class Body:
    """A network as it is written down, computed in double precision."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content, self.program = content, content["program"]

    def matrix(self, number: int | None) -> Tensor | None:
        """A matrix by its number; biases are rows."""
        if number is None:
            return None
        written = self.content["matrices"][number]
        values = torch.tensor(written["values"], dtype=torch.float64)
        if written["at"] is None:
            return values.reshape(written["shape"])
        flat = torch.zeros(int(np.prod(written["shape"])), dtype=torch.float64)
        return flat.scatter(0, torch.tensor(written["at"], dtype=torch.long), values).reshape(written["shape"])

    def stages(self, symbols: Sequence[int]) -> dict[str, Tensor]:
        """Everything on the way for one input, by the names of ``interface``; ``output`` is the answer."""
        program, m = self.program, self.matrix
        whole = torch.tensor([*symbols, *program["appended"]])
        x = m(program["tokens"])[whole] + m(program["positions"])
        seen = {"embedding": x}
        for k, layer in enumerate(program["layers"]):
            x = self._layer(layer, x, f"layers.{k}.", seen)
        row = x[program["read"]]
        row = self._normed(program["norm"], row) if program["norm"] else row
        readout, shift = m(program["readout"]), m(program["shift"])
        row = row if readout is None else row @ readout
        return seen | {"output": row[0] if shift is None else row[0] + shift[0, 0]}

    def _layer(self, layer: Mapping[str, Any], x: Tensor, inside: str, seen: dict[str, Tensor]) -> Tensor:
        m, before = self.matrix, self.program["before"]
        source = self._normed(layer["norm_attention"], x) if before else x
        u: Tensor | float = 0.0 if layer["skip"] is None else x @ m(layer["skip"])
        for h, head in enumerate(layer["heads"]):
            lean, offset, mask = (m(head[name]) for name in ("lean", "offset", "mask"))
            logits = (source @ m(head["query_key"]) + (0 if lean is None else lean)) @ source.T
            logits = logits if mask is None else logits.masked_fill(mask > 0, -torch.inf)
            weights = seen[f"{inside}attention.{h}"] = logits.softmax(-1)
            mixed = weights @ source @ m(head["value"])
            mixed = mixed if head["output"] is None else mixed @ m(head["output"])
            u = u + mixed + (0 if offset is None else offset)
        seen[inside + "mixed"] = u
        if layer["norm_attention"] and not before:
            u = seen[inside + "normed"] = self._normed(layer["norm_attention"], u)
        parts = [x @ m(layer["bypass"])] if layer["bypass"] is not None else []
        parts += [u @ m(layer["keep"])] if layer["keep"] is not None else []
        if layer["mlp"]:
            y = self._normed(layer["norm"], u) if before else u
            for i, (weight, bias) in enumerate(zip(layer["mlp"]["weights"], layer["mlp"]["biases"], strict=True)):
                y = (y.relu() if i else y) @ m(weight) + (0 if bias is None else m(bias))
                seen[f"{inside}mlp.{i}"] = y
            parts.append(y)
            del seen[f"{inside}mlp.{i}"]
        z = sum(parts[1:], parts[0]) if parts else u
        if layer["norm"] and not before:
            seen[inside + "sum"] = z
            z = self._normed(layer["norm"], z)
        seen[inside + "output"] = z
        return z

    def _normed(self, norm: Mapping[str, Any], x: Tensor) -> Tensor:
        held = (self.matrix(norm[name]) for name in ("gain", "bias"))
        weights = [None if row is None else row[0] for row in held]
        return Norm(norm["eps"], *weights, centre=norm["centre"])(x).detach()
