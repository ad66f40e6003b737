"""Every interval of the chapter that compares sharpness, under three switches: what its forest plot shows.

The switches are the choices that somebody who reads the data has to make.

- ``longest``: which lengths enter a line. With 12, PARITY of 16 bits is left out, where most networks failed; with 16,
  the few that converged there enter.
- ``scatter``: "own" gives each group of networks (one function, one length) a scatter of its own, by Welch and
  Satterthwaite (``trends.contrast``); "common" takes one scatter for all, as the usual regression and Student's t-test
  do.
- ``measure``: "sharpness", or "relative", which is sharpness divided by the variance of the outputs.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from flatcube import cast, checks
from flatcube.experiments import trends
from flatcube.length import trials as networks
from flatcube.length import variants

__all__ = ["SCATTERS", "MEASURES", "slope", "gap", "slopes", "ratios"]

SCATTERS = ("own", "common")
MEASURES = ("sharpness", "relative")
Points = trends.Points  # lengths, and what was measured there


def slope(x: Sequence[float], y: Sequence[float], scatter: str = "own") -> dict[str, float]:
    """The least-squares slope of y against x with its 95 % interval: ``value``, ``low``, ``high``.

    >>> found = slope([4, 4, 8, 8], [1.0, 3.0, 9.0, 11.0])
    >>> found["value"], round(found["low"], 2)
    (2.0, 0.48)
    """
    _one_of(scatter, "scatter", SCATTERS)
    if scatter == "common":
        line = trends.line(x, y)
        return {"value": line["slope"], "low": line["low"], "high": line["high"]}
    return _shown(trends.own_slope(x, y))


def gap(one: Points, other: Points, scatter: str = "own") -> dict[str, float]:
    """How much steeper the line through ``one`` is than that through ``other``, as in ``slope``."""
    _one_of(scatter, "scatter", SCATTERS)
    if scatter == "own":
        return _shown(trends.own_gap(one, other))
    lines = [trends.line(*points) for points in (one, other)]
    value = lines[0]["slope"] - lines[1]["slope"]
    spread = [float(np.square(np.subtract(x, np.mean(x))).sum()) for x, _ in (one, other)]
    free = len(one[0]) + len(other[0]) - 4
    left = sum(_residual(*points, line) for points, line in zip((one, other), lines, strict=True))
    half = stats.t.ppf(0.975, free) * math.sqrt(left / free * sum(1 / width for width in spread))
    return {"value": value, "low": float(value - half), "high": float(value + half)}


def slopes(
    rows: Iterable[dict], *, longest: int = 12, scatter: str = "own", measure: str = "sharpness"
) -> list[dict[str, object]]:
    """For the rows of ``sharper``: each function's slope per bit, then by how much PARITY's exceeds the others'.

    ``name`` says of what; only networks that converged enter, and ``networks`` counts them.
    """
    _one_of(measure, "measure", MEASURES)
    checks.integer(longest, "longest", 1)
    kept = [row for row in networks.last(rows) if row["converged"] and row["n"] <= longest]
    points: dict[str, Points] = {}
    for name in cast.NAMES:
        mine = [row for row in kept if row["function"] == name]
        points[name] = [row["n"] for row in mine], [row[measure] for row in mine]
    found = [{"name": name, "networks": len(x)} | slope(x, y, scatter) for name, (x, y) in points.items()]
    return found + [
        {"name": f"PARITY − {name}", "networks": len(points["PARITY"][0]) + len(points[name][0])}
        | gap(points["PARITY"], points[name], scatter)
        for name in cast.NAMES[1:]
    ]


def ratios(rows: Iterable[dict], *, scatter: str = "own", measure: str = "sharpness") -> list[dict[str, object]]:
    """For the rows of ``variants``: how many times as sharp PARITY is as MAJORITY, in each kind of network and length.

    A panel in which fewer than two networks of either function converged has no interval, and is left out.
    """
    _one_of(measure, "measure", MEASURES)
    _one_of(scatter, "scatter", SCATTERS)
    kept = [row for row in networks.last(rows) if row["converged"]]
    found = []
    for kind, n in dict.fromkeys((row["kind"], int(row["n"])) for row in kept):
        some, others = ([row[measure] for row in kept if (row["kind"], row["n"], row["function"]) == (kind, n, name)]
                        for name in ("PARITY", "MAJORITY"))  # fmt: skip
        line = variants.ratio(some, others, scatter)
        if not math.isnan(line["low"]):
            count = line["converged"] + line["others"]
            found.append({"kind": kind, "n": n, "networks": count, "value": line["ratio"]}
                         | {end: line[end] for end in ("low", "high")})  # fmt: skip
    return found


def _residual(x: Sequence[float], y: Sequence[float], line: dict[str, float]) -> float:
    return float(np.square(np.asarray(y) - line["intercept"] - line["slope"] * np.asarray(x)).sum())


def _shown(found: dict[str, float]) -> dict[str, float]:
    return {name: found[name] for name in ("value", "low", "high")}


def _one_of(value: str, name: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")
