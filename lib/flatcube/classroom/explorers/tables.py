"""What explorers of functions on the cube share: how a state keeps a table, and the cube as a still picture."""

from collections.abc import Callable

import numpy as np

from flatcube import checks, cube
from flatcube.classroom.palette import MINUS, PLUS

__all__ = ["Place", "numbers", "kept", "colour", "drawing"]

Place = tuple[int, int]


def numbers(table: str | list[float], n: int) -> np.ndarray:
    """The table that a state keeps, as an array (2^n,)."""
    if isinstance(table, str) and set(table) - {"+", "-"}:
        raise ValueError(f"table: expected {2**n} signs + and -, got {table!r}")
    if isinstance(table, str):
        values = np.array([-1 if sign == "-" else 1 for sign in table], dtype=np.int32)
    else:
        values = checks.numbers(table, "table")
    if values.shape != (2**n,):
        raise ValueError(f"table: expected {2**n} signs or finite numbers for n = {n}, got shape {values.shape}")
    return values


def kept(table: np.ndarray) -> str | list[float]:
    """A table as the state keeps it: signs if it is Boolean, else numbers."""
    if np.isin(table, (-1, 1)).all():
        return "".join("-" if value < 0 else "+" for value in table)
    return [float(value) for value in table]


def colour(value: float) -> str:
    """The colour of a value: of the site's theme, or the palette's where there is none."""
    return f"var(--fc-minus, {MINUS})" if value < 0 else f"var(--fc-plus, {PLUS})"


def drawing(n: int, label: str, corner: Callable[[int, Place], str], lit: Callable[[int, int], bool]) -> str:
    """The cube as SVG: corners on their levels, from 0 … 0 below to 1 … 1 above; an edge is heavy if it is lit."""
    places = _levels(n)
    pairs = [(k, k | 1 << i) for k in range(2**n) for i in range(n) if not k >> i & 1]
    edges = "".join(
        '<path d="M{} {}L{} {}" stroke-width="{}"/>'.format(*places[k], *places[m], 4 if lit(k, m) else 1)
        for k, m in pairs
    )
    corners = "".join(corner(k, place) for k, place in enumerate(places))
    return (
        f'<svg viewBox="0 0 400 260" width="400" role="img" aria-label="{label}">'
        f'<g stroke="var(--fc-muted, #777)" fill="none">{edges}</g>{corners}</svg>'
    )


def _levels(n: int) -> list[Place]:
    """A place for every corner, those with as many ones side by side."""
    weights, places = cube.weights(n), []
    for k in range(2**n):
        level = np.flatnonzero(weights == weights[k])
        share = (np.flatnonzero(level == k)[0] + 1) / (len(level) + 1)
        places.append((round(400 * share), round(235 - 210 * weights[k] / n)))
    return places
