"""A look inside a network: its wiring, its weights, where it looks, and what every position holds.

State::

    {"view": "wiring",                         wiring, weights, attention or stream
     "matrix": "layers.0.heads.0.query_key",   weights: the name of a matrix
     "head": "layers.0.attention.0",           attention: which one
     "stage": "embedding",                     stream: what is shown of every position
     "symbols": [1, 0, 1]}                     the input

Which matrices, heads and stages there are is in the ``content`` of the figure, which ``anatomy`` writes; an empty entry
of the state means the first one.
"""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.mime import checked_label
from flatcube.classroom.palette import MINUS, PLUS
from flatcube.networks.anatomy import Body, anatomy
from flatcube.networks.blocks import Head, Layer
from flatcube.networks.circuit import Circuit
from flatcube.networks.wiring import MARKS

__all__ = ["show"]

MOST = 64  # rows and columns of a table that are drawn
NOISE = 1e-12  # of 1 or the largest number in a table: what a network computes below that is rounding, and 0
VIEWS = ("wiring", "weights", "attention", "stream")
_STAGES = {
    "embedding": "what enters the first layer",
    "mixed": "layer {}: after the heads",
    "normed": "layer {}: after the first norm",
    "mlp": "layer {}: before the ReLUs",
    "sum": "layer {}: before the norm",
    "output": "layer {}: what it leaves",
}


def show(
    model: nn.Module,
    inputs: Tensor | np.ndarray | Sequence | None = None,
    *,
    view: str = "wiring",
    matrix: str = "",
    head: str = "",
    stage: str = "",
    title: str = "",
    label: str = "",
) -> Explorer:
    """A look inside a network, interactive in JupyterLab and on the page: who reads and writes which channel.

    ``inputs`` (batch, n) or (n,) are the ones offered first; on the page their symbols can be changed. ``view`` is
    where it starts: "wiring", "weights" (of ``matrix``, by its parameter's name or the text's, such as "W1"),
    "attention" (of ``head``, such as "layers.0.attention.0") or "stream" (at ``stage``, a name of
    ``networks.interface``). The ``title`` says what network it is, for its caption and for screen readers; with a
    ``label`` such as "fig-wiring" the text can refer to the figure.

    Networks that are not made of ``networks``' own parts are shown by their weights alone.

    >>> show(Circuit(torch.eye(2), torch.zeros(3, 2), [], readout=torch.ones(2, 1)), [1, 0, 1]).state["symbols"]
    [1, 0, 1]
    """
    content = anatomy(model, inputs)
    checks.word(view, "view", VIEWS)
    for name, word in {"matrix": matrix, "head": head, "stage": stage, "title": title}.items():
        checks.instance(word, name, str)
    kind = NetworkExplorer.on(content, title)
    titles = {entry["title"].split(" · ")[0]: entry["path"] for entry in content["matrices"] if " · " in entry["title"]}
    figure = kind(view=view, matrix=titles.get(matrix, matrix), head=head, stage=stage)
    figure.figure = checked_label(label)
    return figure


class Table(NamedTuple):
    """What a view shows: named rows and columns, the numbers other than 0 by place, and places that are closed."""

    rows: list[str]
    columns: list[str]
    cells: dict[tuple[int, int], float]
    closed: set[tuple[int, int]]
    size: tuple[int, int]  # before rows and columns were left out


class NetworkExplorer(Explorer):
    """The wiring, the weights, the attention and the stream of one network."""

    name = "networks"
    label = "A look inside a network: wiring, weights, attention and the residual stream"
    schema = Schema.beside(__file__)

    @classmethod
    def on(cls, content: Mapping[str, Any], title: str = "") -> type["NetworkExplorer"]:
        """The explorer of one network, of which ``anatomy`` has written the content."""
        names = [name for name, _ in content["wiring"]["lanes"]] if content["wiring"] else []
        few = names if len(names) <= 10 else [*names[:3], "…", names[-1]]
        own = title or (f"A look inside a network with the channels {', '.join(few)}" if few else "A network's weights")
        return type(cls.__name__, (cls,), {"content": content, "label": own, "__doc__": cls.__doc__})

    @classmethod
    def options(cls) -> dict[str, dict[str, str]]:
        """The matrices, heads and stages of the network, with their names on the page."""
        program = cls.content["program"]
        found: dict[str, dict[str, str]] = {"matrix": {}, "head": {}, "stage": {}}
        found["matrix"] = {entry["path"]: entry["title"] for entry in cls.content["matrices"]}
        if program:
            found["stage"]["embedding"] = _STAGES["embedding"]
        for k, layer in enumerate(program["layers"] if program else []):
            for h in range(len(layer["heads"])):
                found["head"][f"layers.{k}.attention.{h}"] = f"layer {k + 1}, head {h + 1}"
            names = ["mixed", *["normed"] * (bool(layer["norm_attention"]) and not program["before"])]
            names += [f"mlp.{i}" for i in range(len(layer["mlp"]["weights"]) - 1)] if layer["mlp"] else []
            names += [*["sum"] * (bool(layer["norm"]) and not program["before"]), "output"]
            for name in names:
                found["stage"][f"layers.{k}.{name}"] = _STAGES[name.split(".")[0]].format(k + 1)
        return found

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        state, known = dict(state), cls.options()
        for key, allowed in known.items():
            if state[key] == "":
                state[key] = next(iter(allowed), "")
            elif state[key] not in allowed:
                some = ", ".join(list(allowed)[:4]) or "none"
                raise ValueError(f"{key}: expected one of {some}, …, got {state[key]!r:.60}")
        if cls.content["program"] is None:
            state["view"] = "weights"
        if state["view"] == "attention" and not known["head"]:
            raise ValueError("view: expected wiring, weights or stream, because there is no head, got 'attention'")
        choices = cls.content["choices"]
        symbols = list(state["symbols"]) or cls.content["inputs"][0]
        fits = len(symbols) == len(choices) and all(s in own for s, own in zip(symbols, choices, strict=True))
        if not fits:
            raise ValueError(f"symbols: expected {len(choices)} of the network's symbols, got {symbols!r:.60}")
        return {**state, "symbols": symbols}

    @classmethod
    def sheet(cls, state: Mapping[str, Any]) -> Table:
        """The rows, columns and numbers of the view of ``state``."""
        body, spaces = Body(cls.content), cls.content["spaces"]
        if state["view"] == "weights":
            number = [entry["path"] for entry in cls.content["matrices"]].index(state["matrix"])
            entry, values = cls.content["matrices"][number], body.matrix(number)
            return _table(values, spaces[entry["rows"]], spaces[entry["columns"]], crop=True)
        seen, places = body.stages(state["symbols"]), spaces["places"]
        if state["view"] == "attention":
            _, k, _, h = state["head"].split(".")
            mask = body.matrix(body.program["layers"][int(k)]["heads"][int(h)]["mask"])
            return _table(seen[state["head"]], places, places, mask=mask)
        stage = state["stage"].replace(".normed", ".mixed").replace(".sum", ".output")
        return _table(seen[state["stage"]], places, spaces[stage])

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        shown: dict[str, float | str] = {}
        if state["view"] in ("attention", "stream"):
            shown |= {f"x:{j}": float(symbol) for j, symbol in enumerate(state["symbols"], 1)}
            shown["output"] = float(Body(cls.content).stages(state["symbols"])["output"])
        if state["view"] == "wiring":
            for r, row in enumerate(cls.content["wiring"]["rows"]):
                shown |= {f"m:{r}:{lane}": MARKS[mark][0] for lane, mark in row["marks"]}
            return shown
        table = cls.sheet(state)
        if state["view"] == "weights":
            written = next(entry for entry in cls.content["matrices"] if entry["path"] == state["matrix"])
            shown |= {"nonzero": float(len(written["values"])), "entries": float(np.prod(written["shape"]))}
        shown |= {f"v:{r}:{c}": value for (r, c), value in table.cells.items()}
        return shown

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The view of ``state`` as a still picture."""
        if state["view"] == "wiring":
            return _diagram(cls.content["wiring"], cls.label)
        return _grid(cls.sheet(state), cls.label)


def _table(
    values: Tensor, rows: Sequence, columns: Sequence, *, crop: bool = False, mask: Tensor | None = None
) -> Table:
    """A matrix with its names; ``crop`` leaves out rows and columns of zeros, and what is beyond ``MOST`` goes too."""
    values = values if crop else values * (values.abs() > NOISE * max(1.0, float(values.abs().max())))
    kept = []
    for axis, names in enumerate((rows, columns)):
        used = (values != 0).any(1 - axis).nonzero()[:, 0].tolist() if crop else range(len(names))
        kept.append(list(used)[:MOST])
    cells = {
        (r, c): float(values[i, j]) for r, i in enumerate(kept[0]) for c, j in enumerate(kept[1]) if values[i, j] != 0
    }
    closed = set() if mask is None else {(int(r), int(c)) for r, c in mask.nonzero() if r < MOST and c < MOST}
    named = [[names[i][0] for i in kept[axis]] for axis, names in enumerate((rows, columns))]
    return Table(*named, {place: v for place, v in cells.items() if place not in closed}, closed, tuple(values.shape))


# --- still pictures ---------------------------------------------------------------------------------------------------

_LANE, _ROW, _WORDS = 26, 24, 330
_INK = "var(--fc-muted, #777)"


def _text(x: float, y: float, words: str, more: str = "") -> str:
    look = f'fill="{_INK}" font-family="sans-serif" font-size="12"'
    return f'<text x="{x:g}" y="{y:g}" {look} {more}>{html.escape(words)}</text>'


def _diagram(wiring: Mapping[str, Any], label: str) -> str:
    """The wiring: lanes downwards, a row for every step, its marks on the lanes."""
    lanes, rows = wiring["lanes"], wiring["rows"]
    top = 16 + 7 * max(len(name) for name, _ in lanes)
    width, height = _WORDS + _LANE * len(lanes) + 20, top + _ROW * len(rows) + 10
    parts = []
    for lane, (name, _) in enumerate(lanes):
        x = _WORDS + _LANE * (lane + 0.5)
        parts.append(_text(x + 4, top - 10, name, f'transform="rotate(-90 {x + 4:g} {top - 10})"'))
    before = 0
    for r, row in enumerate(rows):
        y = top + _ROW * (r + 0.5)
        if row["layer"] != before:
            parts.append(f'<path d="M4 {y - _ROW / 2:g}H{width - 4:g}" stroke="{_INK}" stroke-width="0.5"/>')
            before = row["layer"]
        number = f"{row['layer']} · " if row["layer"] else ""
        parts.append(_text(6, y + 4, f"{number}{row['part']}: {row['does']}"[:54]))
        for lane, line in enumerate(row["lines"]):
            if line != "." and r + 1 < len(rows):
                dash = ' stroke-dasharray="3 3"' if line == "p" else ""
                x = _WORDS + _LANE * (lane + 0.5)
                parts.append(f'<path d="M{x:g} {y:g}v{_ROW}" stroke="{_INK}" stroke-width="1.5"{dash}/>')
    for r, row in enumerate(rows):
        for lane, mark in row["marks"]:
            x, y = _WORDS + _LANE * (lane + 0.5), top + _ROW * (r + 0.5)
            parts.append(_text(x, y + 6, MARKS[mark][0], 'text-anchor="middle" font-weight="bold" stroke-width="0"'))
    return _svg(width, height, label, "".join(parts))


def _grid(table: Table, label: str) -> str:
    """A table of numbers: the area of a square is the size of the number, its colour the sign."""
    left, top = (16 + 7 * max((len(name) for name in names), default=0) for names in (table.rows, table.columns))
    size = max(8, min(30, 600 // max(1, len(table.columns))))
    most, parts = max(map(abs, table.cells.values()), default=1.0), []
    for c, name in enumerate(table.columns):
        x = left + size * (c + 0.5) + 4
        if size > 10 or c % 4 == 0:
            parts.append(_text(x, top - 6, name, f'transform="rotate(-90 {x:g} {top - 6})"'))
    for r, name in enumerate(table.rows):
        if size > 10 or r % 4 == 0:
            parts.append(_text(4, top + size * (r + 0.5) + 4, name))
    for (r, c), value in table.cells.items():
        side = (size - 2) * max(0.35, (abs(value) / most) ** 0.5)
        x, y = left + size * (c + 0.5) - side / 2, top + size * (r + 0.5) - side / 2
        colour = f"var(--fc-minus, {MINUS})" if value < 0 else f"var(--fc-plus, {PLUS})"
        parts.append(f'<rect x="{x:.4g}" y="{y:.4g}" width="{side:.3g}" height="{side:.3g}" fill="{colour}"/>')
    return _svg(left + size * len(table.columns) + 10, top + size * len(table.rows) + 10, label, "".join(parts))


def _svg(width: float, height: float, label: str, inside: str) -> str:
    shown = min(width, 720)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{shown:g}" role="img" aria-label="{html.escape(label)}">'
        f"{re.sub(' +', ' ', inside)}</svg>"
    )


# --- what is shown where nobody says what -----------------------------------------------------------------------------


@torch.no_grad()
def _small() -> Circuit:
    """A network that says whether two bits differ: the mean of both is ½ then, and a bump of ReLUs sits there."""
    from flatcube.networks.blocks import Mlp

    tokens = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    average = Head(torch.zeros(2, 2, dtype=torch.float64), torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64))
    bump = Mlp([torch.tensor([[0.0] * 3, [4.0] * 3]).double(), torch.tensor([[1.0], [-2.0], [1.0]]).double()],
               [torch.tensor([-1.0, -2.0, -3.0]).double(), None])  # fmt: skip
    layer = Layer([average], bump, skip=torch.eye(2, dtype=torch.float64))
    channels = {"embedding": [("bit", "the bit, 1 or 0"), ("mean", "the mean of the bits")],
                "layers.0.output": [("differ", "1 if one of two bits is 1")]}  # fmt: skip
    return Circuit(tokens, torch.zeros(2, 2, dtype=torch.float64), [layer], channels=channels)


NetworkExplorer.content = anatomy(_small())
