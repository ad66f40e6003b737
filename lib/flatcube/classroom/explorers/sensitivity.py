"""The sensitivity explorer: the edges of the cube on which a function changes, and what noise does to it.

State::

    {"n": 3,                  dimensions, 2 … 5
     "name": "majority",      majority, parity, first, mean, conjunction, disjunction, or custom
     "table": "",             custom: 2^n characters "-" (true) and "+", or a list of 2^n numbers; else ""
     "correlation": 0.8,      of an input and its noisy copy, 0 … 1
     "variable": None}        the direction whose edges stand out, 1 … n, or None
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube import cube, fourier, sensitivity
from flatcube.classroom.explorers import Explorer, tables

__all__ = ["SensitivityExplorer"]

CAST = ("majority", "parity", "first", "mean", "conjunction", "disjunction", "custom")


class SensitivityExplorer(Explorer):
    """s(f, x) at the corners, the edges where f changes, influences, and the probability that noise changes f."""

    name = "sensitivity"
    label = "The sensitivity explorer, the edges of a cube on which a function changes"
    default_state = {"n": 3, "name": "majority", "table": "", "correlation": 0.8, "variable": None}

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        n, name, variable = state["n"], state["name"], state["variable"]
        correlation = state["correlation"]
        if isinstance(n, bool) or n not in range(2, 6):
            raise ValueError(f"n: expected an integer from 2 to 5, got {n!r}")
        if name not in CAST:
            raise ValueError(f"name: expected one of {', '.join(CAST)}, got {name!r}")
        if isinstance(correlation, bool) or not isinstance(correlation, (int, float)) or not 0 <= correlation <= 1:
            raise ValueError(f"correlation: expected a number from 0 to 1, got {correlation!r}")
        if isinstance(variable, bool) or (variable is not None and variable not in range(1, n + 1)):
            raise ValueError(f"variable: expected None or an integer from 1 to {n}, got {variable!r}")
        table = tables.kept(tables.numbers(state["table"], n)) if name == "custom" else ""
        return {"n": int(n), "name": name, "table": table, "correlation": correlation, "variable": variable}

    @property
    def table(self) -> np.ndarray:
        """The table (2^n,) of the function on the page; assigning one makes it the reader's own function."""
        return _table(self.state)

    @table.setter
    def table(self, table: np.ndarray) -> None:
        table = np.asarray(cube.check_table(table))
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
    """The probability that noise changes a Boolean f, and two bounds on it; no such probability exceeds a half."""
    by_average = sensitivity.average_bound(sensitivity.average(table), correlation)
    return {
        "disagreement": sensitivity.disagreement(table, correlation),
        "by-average": min(0.5, float(by_average)),
        "by-maximum": float(sensitivity.maximum_bound(sensitivity.maximum(table), correlation)),
    }


def _table(state: Mapping[str, Any]) -> np.ndarray:
    """The table (2^n,) of a clean state."""
    if state["name"] == "custom":
        return tables.numbers(state["table"], state["n"])
    return getattr(cube, state["name"])(state["n"])
