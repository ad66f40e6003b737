"""The fast transform of three bits, pass by pass, as the reader drives it.

State::

    {"choice": "majority",    a function of flatcube.cube, or "custom"
     "table": "",             custom: 8 characters, "-" for true and "+" for false; else ""
     "done": 0,               passes that were made, 0 to 3; 4: the division, too
     "column": 0,             the pass whose entry is traced back, at most `done`; 0: none is
     "entry": 0}              that entry, a mask; 0 if none is traced
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube import cube
from flatcube.classroom.explorers import Explorer, Schema, tables

__all__ = ["ButterflyExplorer"]

N = 3


class ButterflyExplorer(Explorer):
    """A table of eight signs, the sums after each pass, and the wires on which one of them came about."""

    name = "fourier.butterfly"
    label = "The fast transform of three bits, pass by pass"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        traced = 0 < state["column"] <= state["done"]
        state = {**state, "column": state["column"] * traced, "entry": state["entry"] * traced}
        if state["choice"] != "custom":
            return {**state, "table": ""}
        if not isinstance(state["table"], str):
            raise ValueError(f"table: expected {2**N} signs + and -, got {state['table']!r:.40}")
        return {**state, "table": tables.kept(tables.numbers(state["table"], N))}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        columns = _columns(_table(state))[: state["done"] + 1]
        return {
            "additions": float(2**N * min(state["done"], N)),
            **{f"v:{step}:{k}": float(value) for step, column in enumerate(columns) for k, value in enumerate(column)},
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The columns that are done; wires join what was added, broken ones what was subtracted."""
        columns = _columns(_table(state))[: state["done"] + 1]
        wires = "".join(
            f'<path d="M{40 + 80 * step} {24 * j + 20}L{80 + 80 * step} {24 * k + 20}" '
            f'stroke-dasharray="{"4 3" if j & k & 1 << step else "none"}"/>'
            for step in range(min(state["done"], N))
            for k in range(2**N)
            for j in (k, k ^ 1 << step)
        )
        numbers = "".join(
            f'<text x="{20 + 80 * step}" y="{24 * k + 25}">{value:g}</text>'
            for step, column in enumerate(columns)
            for k, value in enumerate(column)
        )
        return (
            f'<svg viewBox="0 0 400 210" width="400" role="img" aria-label="{cls.label}">'
            f'<g stroke="var(--fc-muted, #777)" fill="none">{wires}</g>'
            f'<g text-anchor="middle" font-size="14" fill="var(--fc-muted, #777)">{numbers}</g></svg>'
        )


def _table(state: Mapping[str, Any]) -> np.ndarray:
    custom = state["choice"] == "custom"
    return tables.numbers(state["table"], N) if custom else getattr(cube, state["choice"])(N)


def _columns(table: np.ndarray) -> list[np.ndarray]:
    """The table, what it is after each pass, and the coefficients; by definition, not by passes.

    After p passes entry k is the sum over the inputs that agree with k in all bits but the first p, with the signs of
    the parity whose set are the first p bits of k.
    """
    points = np.arange(2**N)
    columns = []
    for step in range(N + 1):
        first = 2**step - 1
        signs = 1 - 2 * (np.bitwise_count(points[:, None] & points & first) % 2).astype(int)
        near = (points[:, None] ^ points) & ~first == 0
        columns.append((signs * near) @ table)
    return [*columns, columns[-1] / 2**N]
