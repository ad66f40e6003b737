"""The wiring of a network: channels are lanes, and every part of it says from which it reads and to which it writes.

A row of the diagram is one step. Its marks say by lane what the step does there, its lines what goes on below it:

    r reads · w writes · b reads and writes · q asks (query) · k is looked at (key) · a asks and is looked at
    x is dropped · v is replaced by what was written · j joins again after a bypass · n is normed · o is the output
    lines: s the stream, p past the layer by the bypass, t both, . nothing

A lane without a line is 0 at every position, whatever the input.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from flatcube.networks.blocks import Layer, Norm
from flatcube.networks.channels import Channel, spaces
from flatcube.networks.circuit import Circuit

__all__ = ["MARKS", "wiring"]

MARKS = {
    "r": ("○", "reads"),
    "w": ("●", "writes"),
    "b": ("◐", "reads and writes"),
    "q": ("◇", "asks"),
    "k": ("◆", "is looked at"),
    "a": ("◈", "asks and is looked at"),
    "x": ("✕", "is dropped"),
    "v": ("⊗", "is replaced"),
    "j": ("⊕", "joins again"),
    "n": ("▬", "is normed"),
    "o": ("◎", "is the output"),
}


def wiring(model: Circuit, *, before: bool = False) -> dict[str, Any]:
    """Lanes [[name, job], …] and rows [{layer, part, does, marks: [[lane, mark], …], lines}, …] of a network.

    With ``before``, the norms of a layer stand before its heads and its MLP.
    """
    return _Diagram(model, before).drawn()


class _Diagram:
    """Rows as they are added; ``alive`` are the names of the channels that may differ from 0."""

    def __init__(self, model: Circuit, before: bool) -> None:
        self.model, self.before, self.spaces = model, before, spaces(model)
        self.lanes: dict[str, str] = {}
        for space, channels in self.spaces.items():
            if space not in ("tokens", "appended") and ".mlp." not in space:
                for channel in channels:
                    self.lanes[channel.name] = self.lanes.get(channel.name) or channel.job
        self.rows: list[dict[str, Any]] = []
        self.alive: set[str] = set()
        self.aside: set[str] = set()  # on the bypass

    def drawn(self) -> dict[str, Any]:
        model, x = self.model, self.spaces["embedding"]
        self.written("Tokens", "write the symbol", _columns(model.tokens, x))
        places = model._places(model.usual() + len(model.appended))
        self.written("Positions", "write the place", _columns(places, x))
        for k, layer in enumerate(model.layers):
            x = self.layer(k, layer, x)
        if self.before:
            self.norm(0, None, x, "Last norm")
        if model.readout is not None:
            self.row(0, "Read-out", f"at position {self.place()}", dict.fromkeys(_rows(model.readout, x), "r"))
        else:
            self.row(0, "Output", f"at position {self.place()}", {c.name: "o" for c in x})
        return {"lanes": [list(lane) for lane in self.lanes.items()], "rows": self.rows}

    def place(self) -> str:
        """The name of the position that is read, where it is one of the appended ones."""
        names, read = [channel.name for channel in self.spaces["appended"]], int(self.model.read)
        if -len(names) <= read < 0:
            return names[read]
        return str(read + 1) if read >= 0 else f"n − {-1 - read}" if read < -1 else "n"

    def row(self, layer: int, part: str, does: str, marks: dict[str, str]) -> None:
        """One more row, with the lines that are there after it."""
        at = {name: place for place, name in enumerate(self.lanes)}
        alive = self.alive | {name for name, mark in marks.items() if mark in "wb"}
        lines = "".join(".spt"[(name in alive) + 2 * (name in self.aside)] for name in self.lanes)
        placed = sorted([at[name], mark] for name, mark in marks.items())
        self.rows.append({"layer": layer, "part": part, "does": does, "marks": placed, "lines": lines})

    def called(self, *paths: str) -> str:
        """What the text calls these weights, such as "E, b, F: ", or nothing if it has no names for them."""
        names = [self.model.names[path] for path in paths if path in self.model.names]
        return f"{', '.join(names)}: " if names else ""

    def written(self, part: str, does: str, names: list[str]) -> None:
        self.alive |= set(names)
        self.row(0, part, does, dict.fromkeys(names, "w"))

    def layer(self, k: int, layer: Layer, x: tuple[Channel, ...]) -> tuple[Channel, ...]:
        """The rows of one layer; gives the channels that leave it."""
        u, z = (self.spaces[f"layers.{k}.{name}"] for name in ("mixed", "output"))
        if self.before:
            self.norm(k + 1, layer.norm_attention, x, "Norm, for the heads only")
        written: set[str] = set()
        entered = set(self.alive)
        for h, head in enumerate(layer.heads):
            part = f"Head {h + 1}"
            asks, keys = set(_rows(head.query_key, x)), set(_columns(head.query_key, x))
            keys |= set() if head.lean is None else set(_columns(head.lean[None], x))
            path = f"layers.{k}.heads.{h}."
            does = self.called(path + "query_key")
            does += "chooses where to look" if asks or keys else "looks at all positions alike"
            if head.mask is not None:
                does += f"; a mask closes {int((head.mask != 0).sum())} of {head.mask.numel()} pairs"
            self.row(k + 1, part, does, _either(asks, keys, "qka"))
            reads, writes = set(_rows(head.value_output, x)), set(_columns(head.value_output, u))
            writes |= set() if head.offset is None else set(_columns(head.offset[None], u))
            written |= writes
            self.alive |= writes
            does = self.called(path + "value", path + "output") + "carries what it finds"
            self.row(k + 1, part, does, _either(reads, writes, "rwb"))
        self.after_heads(k, layer, x, u, entered, written)
        if layer.norm_attention is not None and not self.before:
            self.norm(k + 1, layer.norm_attention, u, "Norm")
        writes = self.mlp(k, layer, u, z)
        self.after_mlp(k, layer, x, u, z, writes, entered)
        if layer.norm is not None and not self.before:
            self.norm(k + 1, layer.norm, z, "Norm")
        return z

    def after_heads(
        self, k: int, layer: Layer, x: tuple[Channel, ...], u: tuple[Channel, ...], entered: set[str], written: set[str]
    ) -> None:
        carried = _wired(layer.skip, x, u, entered)
        past = {name for name, _ in _wired(layer.bypass, x, self.spaces[f"layers.{k}.output"], entered)}
        lost = entered - {name for name, _ in carried} - past
        marks = {name: "v" if name in written else "x" for name in lost}
        moved = {to: "w" for name, to in carried if name != to} | {name: "r" for name, to in carried if name != to}
        self.alive, self.aside = written | {to for _, to in carried}, past
        if layer.skip is None:
            does = "only what the heads wrote goes on" + (", and the bypass" if past else "")
        else:
            does = "adds what entered the layer" if not moved else "hands some channels on"
        self.row(k + 1, "Residual" if layer.skip is not None else "No residual", does, marks | moved)

    def mlp(self, k: int, layer: Layer, u: tuple[Channel, ...], z: tuple[Channel, ...]) -> set[str]:
        if layer.mlp is None:
            return set()
        if self.before:
            self.norm(k + 1, layer.norm, u, "Norm, for the MLP only")
        weights, last = layer.mlp.weights, layer.mlp.biases[-1]
        reads, writes = set(_rows(weights[0], u)), set(_columns(weights[-1], z))
        writes |= set() if last is None else set(_columns(last[None], z))
        units = sum(weight.shape[-1] for weight in weights[:-1])
        idle = sum(int((weight == 0).all(-1).sum()) for weight in weights[1:])
        inside = (f"layers.{k}.mlp.{kind}.{i}" for i in range(len(weights)) for kind in ("weights", "biases"))
        does = f"{self.called(*inside)}{units} ReLUs" + (f", {idle} of them without effect" if idle else "")
        self.row(k + 1, "MLP", does, _either(reads, writes, "rwb"))
        return writes

    def after_mlp(
        self, k: int, layer: Layer, x: tuple[Channel, ...], u: tuple[Channel, ...], z: tuple[Channel, ...],
        writes: set[str], entered: set[str],
    ) -> None:  # fmt: skip
        if layer.mlp is None and layer.keep is None and layer.bypass is None:
            return
        kept = {to for _, to in _wired(layer.keep, u, z, self.alive)}
        back = {to for _, to in _wired(layer.bypass, x, z, entered)}
        lost = self.alive - {name for name, _ in _wired(layer.keep, u, z, self.alive)}
        marks = {name: "v" if name in writes else "x" for name in lost} | dict.fromkeys(back, "j")
        words = ["adds what entered the MLP"] * (layer.keep is not None) + ["the bypass joins"] * bool(back)
        words += ["only what the MLP wrote goes on"] * (layer.keep is None and not back)
        self.alive, self.aside = writes | kept | back, set()
        self.row(k + 1, "Residual" if layer.keep is not None else "Sum", ", ".join(words), marks)

    def norm(self, k: int, norm: Norm | None, channels: tuple[Channel, ...], part: str) -> None:
        """All channels of the space: a mean that is subtracted, or a bias, may give a value to each."""
        names = [channel.name for channel in channels]
        if not self.before:
            self.alive |= set(names)
        centres = norm is None or bool(norm.centre)
        does = "subtracts the mean, divides by the spread" if centres else "divides by the size"
        does += "" if norm is None else f", ε = {float(norm.eps):g}".replace("e-0", "e−")
        self.row(k, part, does, dict.fromkeys(names, "n"))


def _either(one: set[str], other: set[str], marks: str) -> dict[str, str]:
    """The first mark for names in one set, the second for those in the other, the third for those in both."""
    return {name: marks[2 if name in one & other else 0 if name in one else 1] for name in one | other}


def _rows(matrix: Tensor, channels: tuple[Channel, ...]) -> list[str]:
    """The channels whose row has a number other than 0."""
    return [channels[int(i)].name for i in (matrix.detach() != 0).any(-1).nonzero()[:, 0]]


def _columns(matrix: Tensor, channels: tuple[Channel, ...]) -> list[str]:
    return _rows(matrix.T, channels)


def _wired(
    wire: Tensor | None, start: tuple[Channel, ...], end: tuple[Channel, ...], alive: set[str]
) -> list[tuple[str, str]]:
    """From which channel to which a wire carries something."""
    pairs = [] if wire is None else wire.detach().nonzero().tolist()
    return [(start[i].name, end[j].name) for i, j in pairs if start[i].name in alive]
