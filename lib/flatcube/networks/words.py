"""A network in words: its steps with the channels that each of them touches, then its weights by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from flatcube import checks
from flatcube.networks.anatomy import anatomy
from flatcube.networks.wiring import MARKS

__all__ = ["describe"]


def describe(model: nn.Module, *, limit: int = 4) -> str:
    """What ``show`` draws, as lines of text: every step of the wiring, and of every matrix ``limit`` weights by name.

    >>> import torch
    >>> from flatcube.networks import Circuit
    >>> print(describe(Circuit(torch.eye(2), torch.zeros(3, 2), [], readout=torch.ones(2, 1))))
    Circuit: 4 weights other than 0, of 12
    Tokens: write the symbol; writes: 1, 2
    Positions: write the place
    Read-out: at position n; reads: 1, 2
    tokens (2 × 2), 2 other than 0: 0 → 1 = 1, 1 → 2 = 1
    positions (3 × 2), 0 other than 0
    read-out (2 × 1), 2 other than 0: 1 = 1, 2 = 1
    """
    content, limit = anatomy(model), checks.integer(limit, "limit", 0)
    weights = [matrix for matrix in content["matrices"] if matrix["kind"] == "weight"]
    known = sum(len(matrix["values"]) for matrix in weights)
    sizes = sum(matrix["shape"][0] * matrix["shape"][1] for matrix in weights)
    lines = [f"{content['kind']}: {known} weights other than 0, of {sizes}"]
    if content["wiring"]:
        lanes = [name for name, _ in content["wiring"]["lanes"]]
        lines += [_step(row, lanes, limit) for row in content["wiring"]["rows"]]
    return "\n".join(lines + [_matrix(matrix, content["spaces"], limit) for matrix in content["matrices"]])


def _step(row: Mapping[str, Any], lanes: Sequence[str], limit: int) -> str:
    touched: dict[str, list[str]] = {}
    for lane, mark in row["marks"]:
        touched.setdefault(MARKS[mark][1], []).append(lanes[lane])
    number = f"layer {row['layer']}, " if row["layer"] else ""
    said = [f"{does}: {_few(on, limit)}" for does, on in touched.items()]
    return "; ".join([f"{number}{row['part']}: {row['does']}", *said])


def _matrix(matrix: Mapping[str, Any], spaces: Mapping[str, Sequence], limit: int) -> str:
    rows, columns = ([name for name, _ in spaces[matrix[side]]] for side in ("rows", "columns"))
    width = matrix["shape"][1]
    at = range(len(matrix["values"])) if matrix["at"] is None else matrix["at"]
    pairs = zip(list(at)[: limit + 1], matrix["values"], strict=False)
    places = [(_between(rows[k // width], columns[k % width]), value) for k, value in pairs]
    closed = matrix["kind"] == "mask"
    said = [place if closed else f"{place} = {value:.4g}" for place, value in places]
    counted = "closed" if closed else "other than 0"
    head = f"{matrix['title']} ({' × '.join(map(str, matrix['shape']))}), {len(matrix['values'])} {counted}"
    return f"{head}: {_few(said, limit)}" if said else head


def _between(row: str, column: str) -> str:
    return " → ".join(name for name in (row, column) if name)


def _few(words: Sequence[str], limit: int) -> str:
    return ", ".join([*words[:limit], *["…"] * (len(words) > limit)])
