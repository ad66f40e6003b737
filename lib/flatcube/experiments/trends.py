"""Straight lines through measurements, with intervals: the statistics that the experiments share."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

__all__ = ["line", "forecast", "gap", "spread", "said", "verdict"]


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


def forecast(x: Sequence[float], y: Sequence[float], place: float, confidence: float = 0.95) -> dict[str, float]:
    """The least-squares line at a ``place``, with the interval of its height there by Student's t.

    >>> found = forecast([1, 2, 3, 4], [2.0, 4.1, 5.9, 8.0], 10)
    >>> round(found["value"], 2), found["low"] < 20 < found["high"]
    (19.85, True)
    """
    if len(x) < 3 or len(set(x)) < 2:
        return dict.fromkeys(("value", "low", "high"), math.nan)
    fit = stats.linregress(np.subtract(x, place), y)  # its intercept is the height at the place
    half = stats.t.ppf((1 + confidence) / 2, len(x) - 2) * fit.intercept_stderr
    found = {"value": fit.intercept, "low": fit.intercept - half, "high": fit.intercept + half}
    return {name: float(value) for name, value in found.items()}


def gap(one: Mapping, other: Mapping, free: tuple[int, int], confidence: float = 0.95) -> dict[str, float]:
    """How much steeper one line is than another, with an interval and a p-value (Welch 1947); ``free`` = N − 2 each."""
    error, difference = math.hypot(one["error"], other["error"]), one["slope"] - other["slope"]
    if not error > 0:
        return {"gap": difference, "low": math.nan, "high": math.nan, "p": math.nan}
    df = error**4 / sum(side["error"] ** 4 / max(count, 1) for side, count in zip((one, other), free, strict=True))
    half, p = stats.t.ppf((1 + confidence) / 2, df) * error, 2 * stats.t.sf(abs(difference) / error, df)
    return {"gap": difference, "low": float(difference - half), "high": float(difference + half), "p": float(p)}


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
