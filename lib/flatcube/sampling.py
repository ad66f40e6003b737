"""Asking a black box on the cube, and saying how far the answer can be trusted.

A black box maps signs (batch, n) to values (batch,). It may be a numpy function, a function that returns torch
tensors, or a torch module on tensors of signs; torch is never imported here. Intervals hold for any sample size, not
only in the limit:

- a proportion, k of m: Clopper and Pearson 1934, from the exact binomial tail;
- the mean of numbers in a known range: the empirical Bernstein bound of Maurer and Pontil 2009.

Neither has width zero, however few or many of the m trials succeed.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flatcube import checks

__all__ = [
    "BlackBox", "Estimate", "random_signs", "evaluate", "proportion", "bounded_mean",
]  # fmt: skip

BlackBox = Callable[[np.ndarray], np.ndarray]  # signs (batch, n) → values (batch,)

_BATCH = 1 << 21  # entries of the largest array of points that a black box sees
_TRIALS = 10**10  # an interval for so many is computed in a second


@dataclass(frozen=True, repr=False)
class Estimate:
    """An estimated number, or an array of them, with a confidence interval [low, high] for each."""

    value: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray
    confidence: float
    samples: int
    queries: int
    method: str

    def covers(self, truth: float | np.ndarray) -> bool | np.ndarray:
        """Whether ``truth`` lies in the interval."""
        truth = checks.numbers(truth, "truth")[()]
        return (self.low <= truth) & (truth <= self.high)

    def __repr__(self) -> str:
        shown = [np.array2string(np.asarray(number), precision=4) for number in (self.value, self.low, self.high)]
        return (
            f"Estimate {shown[0]}, between {shown[1]} and {shown[2]} with confidence {self.confidence:g} "
            f"({self.method}, {self.queries:,} queries)"
        )


def random_signs(shape: int | tuple[int, ...], *, rng: np.random.Generator | int) -> np.ndarray:
    """Independent fair signs, int8."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    checks.room(3 * math.prod(checks.integer(length, "shape", 0) for length in sizes), "shape")
    return 1 - 2 * checks.generator(rng).integers(0, 2, size=sizes, dtype=np.int8)


def evaluate(f: BlackBox, points: np.ndarray) -> np.ndarray:
    """The values (batch,) of a black box at points (batch, n) of signs, in as few calls as memory allows.

    Truth values become signs (True is −1). A torch module gets its points as a tensor of its own type.
    """
    points = checks.signs(points, name="points")
    checks.shape(points.shape, "points", ("batch", "n"))
    checks.function(f, "f", "function that maps signs (batch, n) to values (batch,)")
    rows = max(_BATCH // max(points.shape[1], 1), 1)
    parts = [_call(f, points[start : start + rows]) for start in range(0, max(len(points), 1), rows)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _call(f: BlackBox, points: np.ndarray) -> np.ndarray:
    torch = sys.modules.get("torch")  # a module can only be passed to us by someone who has imported torch
    if torch is not None and isinstance(f, torch.nn.Module):
        parameter = next(f.parameters(), torch.zeros(()))
        with torch.no_grad():
            values = f(torch.from_numpy(points).to(parameter))
    else:
        values = f(points)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        small = values.is_floating_point() and values.element_size() < 4  # bfloat16 has no numpy type
        values = (values.float() if small else values).numpy()
    values = checks.array(values, "f")
    if values.shape != points.shape[:1]:
        raise ValueError(
            f"f: expected {len(points)} values for points of shape {points.shape}, got shape {values.shape}"
        )
    if values.dtype == bool:
        return np.where(values, np.int8(-1), np.int8(1))
    if values.dtype.kind not in "iuf":
        raise TypeError(f"f: expected real values, got dtype {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError(f"f: expected finite values, got {values[~np.isfinite(values)][0]}")
    return values


@lru_cache(maxsize=4096)
def proportion(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Clopper–Pearson: the p under which neither ≤ k nor ≥ k successes are rarer than (1 − confidence)/2.

    >>> proportion(0, 100, 0.95)
    (0.0, 0.03621669264517...)
    """
    checks.integer(successes, "successes", 0, checks.integer(trials, "trials", 1, _TRIALS))
    rare = (1 - checks.probability(confidence, "confidence")) / 2
    return 1 - _highest(trials - successes, trials, rare), _highest(successes, trials, rare)


def _highest(successes: int, trials: int, rare: float) -> float:
    """The largest p with P[at most k of m succeed] ≥ rare, by bisection."""
    if successes == trials:
        return 1.0
    low, high = successes / trials, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _at_most(successes, trials, middle) >= rare else (low, middle)
    return high


def _at_most(successes: int, trials: int, p: float) -> float:
    """P[Bin(m, p) ≤ k] for p ≥ k/m: the term at k times a sum of falling ratios.

    Ten standard deviations below k (at most 5√m terms) the ratios have fallen below the rounding error.
    """
    k, m = successes, trials
    log_term = math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
    log_term += k * math.log(p) + (m - k) * math.log1p(-p)
    j = np.arange(k, max(k - 5 * math.isqrt(m) - 64, 0), -1)
    ratios = j / (m - j + 1) * ((1 - p) / p)
    return math.exp(log_term) * (1 + float(np.cumprod(ratios).sum()))


def bounded_mean(
    numbers: np.ndarray, low: float, high: float, confidence: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and interval for independent numbers (m, …) in [low, high], by the empirical Bernstein bound.

    |mean − E| ≤ √(2 V log(4/δ)/m) + 7 (high − low) log(4/δ)/(3(m − 1)) with probability 1 − δ, V the sample variance.
    """
    numbers = checks.numbers(numbers, "numbers")
    if checks.number(low, "low") > checks.number(high, "high"):
        raise ValueError(f"low: expected at most high = {high:g}, got {low:g}")
    if numbers.ndim == 0 or len(numbers) < 2:
        raise ValueError(f"numbers: expected at least two, (m, …), got shape {numbers.shape}")
    slack = 1e-9 * max(abs(low), abs(high))  # for rounding
    if numbers.min() < low - slack or numbers.max() > high + slack:
        outside = numbers.min() if numbers.min() < low - slack else numbers.max()
        raise ValueError(f"numbers: expected numbers from {low:g} to {high:g}, got {outside:g}")
    m = len(numbers)
    mean, logarithm = numbers.mean(axis=0), math.log(4 / (1 - checks.probability(confidence, "confidence")))
    half = np.sqrt(2 * numbers.var(axis=0, ddof=1) * logarithm / m) + 7 * (high - low) * logarithm / (3 * (m - 1))
    return mean, np.maximum(mean - half, low), np.minimum(mean + half, high)
