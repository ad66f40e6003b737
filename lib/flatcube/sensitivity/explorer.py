"""The sensitivity explorer: the edges of the cube on which a function changes, and what noise does to it.

State::

    {"n": 3,                  dimensions
     "name": "majority",      a function of flatcube.cube, or custom
     "table": "",             custom: 2^n characters "-" (true) and "+", or a list of 2^n numbers; else ""
     "correlation": 0.8,      of an input and its noisy copy
     "variable": None}        the direction whose edges stand out, 1 … n, or None
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube import checks, cube, fourier, sensitivity
from flatcube.classroom.explorers import Explorer, Schema, tables

__all__ = ["SensitivityExplorer"]


class SensitivityExplorer(Explorer):
    """s(f, x) at the corners, the edges where f changes, influences, and the probability that noise changes f."""

    name = "sensitivity"
    label = "The sensitivity explorer, the edges of a cube on which a function changes"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        n, name, variable = state["n"], state["name"], state["variable"]
        if isinstance(variable, bool) or (variable is not None and variable not in range(1, n + 1)):
            raise ValueError(f"variable: expected None or an integer from 1 to {n}, got {variable!r}")
        table = tables.kept(tables.numbers(state["table"], n)) if name == "custom" else ""
        return {**state, "table": table}

    @property
    def table(self) -> np.ndarray:
        """The table (2^n,) of the function on the page; assigning one makes it the reader's own function."""
        return _table(self.state)

    @table.setter
    def table(self, table: np.ndarray) -> None:
        table = np.asarray(checks.table(table))
        state, n = self.state, len(table).bit_length() - 1
        variable = state["variable"] if (state["variable"] or 0) <= n else None
        self.state = state | {"n": n, "name": "custom", "table": tables.kept(table), "variable": variable}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        n, table, r = state["n"], _table(state), state["correlation"]
        spectrum = fourier.spectrum(table)
        edges = [(k, i) for k in range(2**n) for i in range(n) if not k >> i & 1]
        return {
            "n": float(n),
            "correlation": float(r),
            "average": sensitivity.average(table),
            "maximum": float(sensitivity.maximum(table)),
            "degree": float(spectrum.degree),
            "variance": spectrum.variance,
            "flip": (1 - r) / 2,
            "stability": sensitivity.noise_stability(table, r),
            **(_chances(table, r) if np.isin(table, (-1, 1)).all() else {}),
            **{f"f:{k}": float(value) for k, value in enumerate(table)},
            **{f"s:{k}": float(value) for k, value in enumerate(sensitivity.at_points(table))},
            **{f"e:{k}:{i + 1}": float(table[k] - table[k | 1 << i]) ** 2 / 4 for k, i in edges},
            **{f"i:{i}": float(value) for i, value in enumerate(sensitivity.influences(table), 1)},
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The corners on their levels, from 0 … 0 below to 1 … 1 above; heavy edges where f changes."""
        table = _table(state)
        scores = sensitivity.at_points(table)

        def corner(k: int, place: tables.Place) -> str:
            x, y = place
            ring = f'fill="var(--fc-paper, #fff)" stroke-width="3" stroke="{tables.colour(table[k])}"'
            words = 'font-size="12" text-anchor="middle" fill="var(--fc-ink, #222)"'
            return f'<circle cx="{x}" cy="{y}" r="11" {ring}/><text x="{x}" y="{y + 4}" {words}>{scores[k]:.2g}</text>'

        return tables.drawing(state["n"], cls.label, corner, lambda k, m: table[k] != table[m])


def _chances(table: np.ndarray, correlation: float) -> dict[str, float]:
    """The probability that noise changes a Boolean f, and two bounds on it: the better one by the average, and VA's."""
    average = sensitivity.average(table)
    bounds = (sensitivity.average_bound(average, correlation), sensitivity.power_bound(average, correlation))
    return {
        "disagreement": sensitivity.disagreement(table, correlation),
        "by-average": float(min(bounds)),
        "by-maximum": float(sensitivity.maximum_bound(sensitivity.maximum(table), correlation)),
    }


def _table(state: Mapping[str, Any]) -> np.ndarray:
    """The table (2^n,) of a clean state."""
    if state["name"] == "custom":
        return tables.numbers(state["table"], state["n"])
    return getattr(cube, state["name"])(state["n"])
