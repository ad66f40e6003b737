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
from flatcube.classroom.explorers import Explorer
from flatcube.classroom.palette import MINUS, PLUS

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
        table = _kept(_numbers(state["table"], n)) if name == "custom" else ""
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
        self.state = state | {"n": n, "name": "custom", "table": _kept(table), "variable": variable}

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
        n, table = state["n"], _table(state)
        places, scores = _levels(n), sensitivity.at_points(table)
        edges = "".join(
            f'<path d="M{places[k][0]} {places[k][1]}L{places[k | 1 << i][0]} {places[k | 1 << i][1]}" '
            f'stroke-width="{4 if table[k] != table[k | 1 << i] else 1}"/>'
            for k in range(2**n)
            for i in range(n)
            if not k >> i & 1
        )
        corners = "".join(
            f'<circle cx="{x}" cy="{y}" r="11" fill="var(--fc-paper, #fff)" stroke-width="3" '
            f'stroke="var(--fc-{sign}, {colour})"/>'
            f'<text x="{x}" y="{y + 4}" font-size="12" text-anchor="middle" fill="var(--fc-ink, #222)">'
            f"{score:.2g}</text>"
            for (x, y), value, score in zip(places, table, scores, strict=True)
            for sign, colour in [("minus", MINUS) if value < 0 else ("plus", PLUS)]
        )
        return (
            f'<svg viewBox="0 0 400 260" width="400" role="img" aria-label="{cls.label}">'
            f'<g stroke="var(--fc-muted, #777)" fill="none">{edges}</g>{corners}</svg>'
        )


def _levels(n: int) -> list[tuple[int, int]]:
    """A place for every corner, those with as many ones side by side."""
    weights = cube.weights(n).astype(int)
    places = []
    for k in range(2**n):
        level = np.flatnonzero(weights == weights[k])
        share = (np.flatnonzero(level == k)[0] + 1) / (len(level) + 1)
        places.append((round(400 * share), round(235 - 210 * weights[k] / n)))
    return places


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
        return _numbers(state["table"], state["n"])
    return getattr(cube, state["name"])(state["n"])


def _numbers(table: str | list[float], n: int) -> np.ndarray:
    """The table that a state keeps, as an array (2^n,)."""
    if isinstance(table, str) and set(table) - {"+", "-"}:
        raise ValueError(f"table: expected {2**n} signs + and -, got {table!r}")
    if isinstance(table, str):
        values = np.array([-1 if sign == "-" else 1 for sign in table], dtype=np.int32)
    else:
        values = np.asarray(table, dtype=float)
    if values.shape != (2**n,) or not np.isfinite(values).all():
        raise ValueError(f"table: expected {2**n} signs or finite numbers for n = {n}, got shape {values.shape}")
    return values


def _kept(table: np.ndarray) -> str | list[float]:
    """A table as the state keeps it: signs if it is Boolean, else numbers."""
    if np.isin(table, (-1, 1)).all():
        return "".join("-" if value < 0 else "+" for value in table)
    return [float(value) for value in table]
