"""Huang's theorem as a game: choose points of the cube and see how many neighbours they have among themselves.

State::

    {"n": 4,                  dimensions
     "choice": "spread",      "even": half of all points, no two of them neighbours; "extra": one point more;
                              "spread": as many, with as few neighbours among them as can be; or "custom"
     "members": ""}           custom: 2^n characters, "-" for a chosen point and "+" for any other; else ""
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube import cube
from flatcube.classroom.explorers import Explorer, Schema, tables

__all__ = ["InducedExplorer"]

# Boolean functions of full degree whose maximum sensitivity is ⌈√n⌉: times PARITY, they give the well spread sets
_SENSITIVE = {3: "x1 & x2 | x3", 4: "x1 & x2 | x3 & x4", 5: "x1 & x2 | x3 & x4 & x5"}


class InducedExplorer(Explorer):
    """A set H of corners, the edges inside H, and the largest number of them at one corner."""

    name = "sensitivity.induced"
    label = "A set of corners of the cube, and the edges inside it"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        if state["choice"] != "custom":
            return {**state, "members": ""}
        if not isinstance(state["members"], str):
            raise ValueError(f"members: expected {2 ** state['n']} signs + and -, got {state['members']!r:.40}")
        return {**state, "members": tables.kept(tables.numbers(state["members"], state["n"]))}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        n, chosen = state["n"], _chosen(state)
        inside = _inside(chosen, n)
        return {
            "n": float(n),
            "size": float(chosen.sum()),
            "half": float(2 ** (n - 1)),
            "most": float(inside.max()),
            "root": float(np.sqrt(n)),
            **{f"m:{k}": -1.0 if chosen[k] else 1.0 for k in range(2**n)},
            **{f"d:{k}": float(inside[k]) for k in range(2**n)},
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The corners on their levels; full discs in H, heavy edges inside it."""
        chosen = _chosen(state)

        def corner(k: int, place: tables.Place) -> str:
            x, y = place
            fill = tables.colour(-1) if chosen[k] else "var(--fc-paper, #fff)"
            return f'<circle cx="{x}" cy="{y}" r="9" fill="{fill}" stroke-width="2" stroke="{tables.colour(-1)}"/>'

        return tables.drawing(state["n"], cls.label, corner, lambda k, m: bool(chosen[k] and chosen[m]))


def _chosen(state: Mapping[str, Any]) -> np.ndarray:
    """Which points are in H, (2^n,)."""
    n, choice = state["n"], state["choice"]
    if choice == "custom":
        return tables.numbers(state["members"], n) < 0
    even = cube.parity(n) > 0
    if choice == "even":
        return even
    if choice == "extra":
        return even | (np.arange(2**n) == 1)
    signs = cube.formula(_SENSITIVE[n], n=n) * cube.parity(n)
    return signs == np.sign(signs.sum())


def _inside(chosen: np.ndarray, n: int) -> np.ndarray:
    """The number of neighbours in H of every point of H, and 0 elsewhere: (2^n,)."""
    points = np.arange(2**n)
    return chosen * sum(chosen[points ^ 1 << i].astype(int) for i in range(n))
