"""Straight lines through measurements, with intervals: the statistics that the experiments share.

A slope, a difference of two slopes and a difference of two means are all weighted sums of means, one for each group of
runs: ``contrast`` gives any of them an interval in which each group has a scatter of its own, as ``own_slope``,
``own_gap`` and ``forecast`` do. ``line`` and ``gap`` take one scatter for all groups.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

__all__ = [
    "line", "weights", "contrast", "own_slope", "own_gap", "forecast", "gap", "paired", "holm", "spread", "said",
    "verdict",
]

Points = tuple[Sequence[float], Sequence[float]]  # places, and what was measured there


def line(x: Sequence[float], y: Sequence[float], confidence: float = 0.95) -> dict[str, float]:
    """Least squares: slope with its interval by Student's t and standard error, Pearson's r, p-value of the slope 0.

    Without two places and three points there is no line: all are not numbers.

    >>> found = line([1, 2, 3, 4], [2.0, 4.1, 5.9, 8.0])
    >>> round(found["slope"], 2), found["low"] < 2 < found["high"]
    (1.98, True)
    """
    if len(x) < 3 or len(set(x)) < 2:
        return dict.fromkeys(("slope", "low", "high", "error", "intercept", "r", "p"), math.nan)
    fit = stats.linregress(x, y)
    half = stats.t.ppf((1 + confidence) / 2, len(x) - 2) * fit.stderr
    found = {"slope": fit.slope, "low": fit.slope - half, "high": fit.slope + half, "error": fit.stderr}
    found |= {"intercept": fit.intercept, "r": fit.rvalue, "p": fit.pvalue}
    return {name: float(value) for name, value in found.items()}


def weights(x: Sequence[float]) -> dict[float, float]:
    """The weight C_g = N_g (g − x̄)/Σ(x_i − x̄)² of each place g: the least-squares slope is Σ_g C_g · (mean of y at g).

    >>> {place: round(weight, 3) for place, weight in weights([0, 0, 1, 1]).items()}
    {0: -1.0, 1: 1.0}
    """
    if len(set(x)) < 2:
        raise ValueError(f"x: expected at least two places, got {sorted(set(x))}")
    mean = float(np.mean(x))
    total = sum((place - mean) ** 2 for place in x)
    return {place: sum(other == place for other in x) * (place - mean) / total for place in sorted(set(x))}


def contrast(
    groups: Sequence[Sequence[float]], weights: Sequence[float], confidence: float = 0.95
) -> dict[str, float]:
    """Σ_g w_g · (mean of group g), with an interval in which each group has its own scatter (Welch 1947).

    The variance is V = Σ_g V_g with V_g = w_g² s_g²/N_g, and Student's t has V²/Σ_g(V_g²/(N_g − 1)) degrees of freedom,
    ``free``. A group with one number and a weight has no scatter that one could know: then there is no interval.

    >>> found = contrast([[1.0, 3.0], [4.0, 6.0]], [-1, 1])
    >>> found["value"], found["free"], round(found["high"], 2)
    (3.0, 2.0, 9.08)
    """
    if len(groups) != len(weights) or not len(groups):
        raise ValueError(f"weights: expected one for each of {len(groups)} groups, at least one, got {len(weights)}")
    if not all(len(group) for group in groups):
        raise ValueError("groups: expected at least one number in each, got an empty group")
    counted = [(np.asarray(group, float), weight) for group, weight in zip(groups, weights, strict=True) if weight]
    value = float(sum(weight * group.mean() for group, weight in counted))
    if not counted or min(len(group) for group, _ in counted) < 2:
        return {"value": value, "low": math.nan, "high": math.nan, "free": math.nan}
    parts = [(weight**2 * group.var(ddof=1) / len(group), len(group) - 1) for group, weight in counted]
    variance = sum(part for part, _ in parts)
    if not variance > 0:
        return {"value": value, "low": value, "high": value, "free": math.nan}
    free = variance**2 / sum(part**2 / count for part, count in parts)
    half = stats.t.ppf((1 + confidence) / 2, free) * math.sqrt(variance)
    return {"value": value, "low": float(value - half), "high": float(value + half), "free": float(free)}


def own_slope(x: Sequence[float], y: Sequence[float], confidence: float = 0.95) -> dict[str, float]:
    """The least-squares slope as a ``contrast``: each place has a scatter of its own.

    >>> found = own_slope([4, 4, 8, 8], [1.0, 3.0, 9.0, 11.0])
    >>> found["value"], round(found["low"], 2)
    (2.0, 0.48)
    """
    return contrast(*_grouped(x, y), confidence)


def own_gap(one: Points, other: Points, confidence: float = 0.95) -> dict[str, float]:
    """How much steeper the line through ``one`` (places, numbers) is than that through ``other``, as a ``contrast``."""
    (groups, weights), (others, opposite) = _grouped(*one), _grouped(*other)
    return contrast([*groups, *others], [*weights, *(-weight for weight in opposite)], confidence)


def forecast(x: Sequence[float], y: Sequence[float], place: float, confidence: float = 0.95) -> dict[str, float]:
    """The height of the least-squares line at a ``place``, as a ``contrast``: each place has a scatter of its own.

    >>> found = forecast([1, 1, 3, 3], [2.0, 2.2, 6.0, 6.2], 10)
    >>> round(found["value"], 2), found["low"] < 20 < found["high"]
    (20.1, True)
    """
    if len(set(x)) < 2:
        return dict.fromkeys(("value", "low", "high"), math.nan)
    groups, slopes = _grouped(x, y)
    far = place - float(np.mean(x))
    heights = [len(group) / len(x) + far * weight for group, weight in zip(groups, slopes, strict=True)]
    found = contrast(groups, heights, confidence)
    return {name: found[name] for name in ("value", "low", "high")}


def _grouped(x: Sequence[float], y: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    """What was measured at each place, and the weight of its mean in the slope."""
    found = weights(x)
    return [[b for a, b in zip(x, y, strict=True) if a == place] for place in found], [*found.values()]


def gap(one: Mapping, other: Mapping, free: tuple[int, int], confidence: float = 0.95) -> dict[str, float]:
    """How much steeper one line is than another, with an interval and a p-value (Welch 1947); ``free`` = N − 2 each."""
    error, difference = math.hypot(one["error"], other["error"]), one["slope"] - other["slope"]
    if not error > 0:
        return {"gap": difference, "low": math.nan, "high": math.nan, "p": math.nan}
    df = error**4 / sum(side["error"] ** 4 / max(count, 1) for side, count in zip((one, other), free, strict=True))
    half, p = stats.t.ppf((1 + confidence) / 2, df) * error, 2 * stats.t.sf(abs(difference) / error, df)
    return {"gap": difference, "low": float(difference - half), "high": float(difference + half), "p": float(p)}


def paired(differences: Sequence[float], alternative: str = "two-sided") -> float:
    """The p-value of a t test that the mean of differences within pairs is 0: "two-sided", "less" or "greater".

    It is 1 for fewer than two pairs. Without any scatter it is 0 if the alternative is true of the differences, else 1.

    >>> round(paired([1.0, 2.0, 3.0]), 3), paired([0.5, 0.5], "less"), paired([0.0, 0.0])
    (0.074, 1.0, 1.0)
    """
    if len(differences) < 2:
        return 1.0
    if np.ptp(differences) < 1e-9:  # scipy would divide by rounding
        same = {"less": differences[0] < -1e-9, "greater": differences[0] > 1e-9}
        return 1.0 - same.get(alternative, any(same.values()))
    return float(stats.ttest_1samp(differences, 0, alternative=alternative).pvalue)


def holm(values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which of m hypotheses are rejected, by their p-values (Holm 1979): the smallest at level/m, the next at
    level/(m − 1), and so on until one is not.

    >>> holm([0.02, 0.03, 0.001]), holm([0.03, 0.03, 0.001])
    ([True, True, True], [False, False, True])
    """
    rejected, going = [False] * len(values), True
    for rank, at in enumerate(np.argsort(values, kind="stable")):
        going = going and values[at] <= level / (len(values) - rank)
        rejected[at] = bool(going)
    return rejected


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean, least and largest; not numbers, if there are none."""
    mean, least, most = (np.mean(values), min(values), max(values)) if len(values) else [math.nan] * 3
    return {"mean": float(mean), "least": float(least), "most": float(most)}


def said(found: Mapping, name: str = "slope") -> str:
    """A number with its interval, in words for a statement.

    >>> said({"slope": 0.0512, "low": 0.041, "high": 0.0614})
    '0.051 (0.041 to 0.061)'
    """
    return f"{found[name]:.2g} ({found['low']:.2g} to {found['high']:.2g})"


def verdict(rules: Sequence[bool]) -> str:
    """What the ledger says if all of these hold, or some, or none."""
    if not rules:
        raise ValueError("rules: expected at least one condition, got none")
    return "agrees" if all(rules) else "agrees in part" if any(rules) else "differs"
