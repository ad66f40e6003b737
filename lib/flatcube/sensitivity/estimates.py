"""Sensitivity and noise stability of black boxes, from samples, with intervals."""

from collections.abc import Callable

import numpy as np

from flatcube import checks, sampling
from flatcube.sampling import BlackBox, Estimate
from flatcube.sensitivity import _edges
from flatcube.sensitivity.measures import _refuse_bits

__all__ = ["at", "estimate", "estimate_noise_stability"]

_SIGNS = 1 << 32  # that one estimate may draw: half a minute of them


def at(f: BlackBox, points: np.ndarray) -> np.ndarray:
    """s(f, x) at given points (batch, n) of signs: (batch,), exact, with n + 1 queries per point."""
    points = checks.signs(points, name="points")
    checks.shape(points.shape, "points", ("batch", "n"))
    if not points.size:
        raise ValueError(f"points: expected at least one, got shape {points.shape}")
    points = points.astype(np.int8)
    first = sampling.evaluate(f, points)
    others = np.stack([sampling.evaluate(f, _flip(points, i)) for i in range(points.shape[1])], axis=-1)  # (batch, n)
    _refuse_bits(np.concatenate([first, others.reshape(-1)]), "f")
    return np.square(first[:, None].astype(np.float64) - others).sum(axis=-1) / 4


def estimate(
    f: BlackBox,
    n: int,
    *,
    samples: int = 10_000,
    rng: np.random.Generator | int,
    confidence: float = 0.95,
    bound: float | None = None,
) -> Estimate:
    """as(f) of a black box from random edges {x, x^{⊕i}}, x and i uniform: two queries per sample.

    If every value seen is ±1, f counts as Boolean: the changed edges are counted, and the interval is that of Clopper
    and Pearson. Otherwise it is the empirical Bernstein interval for |f| ≤ ``bound``. Without ``bound`` the largest |f|
    seen takes its place; such an interval cannot allow for larger values at points that no sample has met.
    """
    rng = checks.generator(rng)

    def across(points: np.ndarray) -> np.ndarray:
        return _flip(points, rng.integers(0, n, size=len(points)))

    pairs = _pairs(f, n, across, samples, rng)
    top, method = _scale(pairs, confidence, bound)
    if top is None:
        changed = int(np.count_nonzero(pairs[:, 0] != pairs[:, 1]))
        numbers = (changed / samples, *sampling.proportion(changed, samples, confidence))
    else:
        changes = np.square(pairs[:, 0].astype(np.float64) - pairs[:, 1]) / 4
        numbers = sampling.bounded_mean(changes, 0, top**2, confidence)
    return Estimate(*(n * float(number) for number in numbers), confidence, samples, 2 * samples, method)


def estimate_noise_stability(
    f: BlackBox,
    n: int,
    correlation: float,
    *,
    samples: int = 10_000,
    rng: np.random.Generator | int,
    confidence: float = 0.95,
    bound: float | None = None,
) -> Estimate:
    """E f(x) f(y) of a black box from random pairs with E x_i y_i = correlation: two queries per sample.

    If f counts as Boolean, the disagreements are counted; the intervals are those of ``estimate``.
    """
    rng, keep = checks.generator(rng), (1 + checks.number(correlation, "correlation", -1, 1)) / 2

    def noisy(points: np.ndarray) -> np.ndarray:
        return np.where(rng.random(points.shape) < keep, points, -points)

    pairs = _pairs(f, n, noisy, samples, rng)
    top, method = _scale(pairs, confidence, bound)
    if top is None:
        differ = int(np.count_nonzero(pairs[:, 0] != pairs[:, 1]))
        low, high = sampling.proportion(differ, samples, confidence)
        numbers = (1 - 2 * differ / samples, 1 - 2 * high, 1 - 2 * low)
    else:
        products = pairs.astype(np.float64).prod(axis=1)
        numbers = map(float, sampling.bounded_mean(products, -(top**2), top**2, confidence))
    return Estimate(*numbers, confidence, samples, 2 * samples, method)


def _flip(points: np.ndarray, i: int | np.ndarray) -> np.ndarray:
    """The neighbours of points across variable i, counted from 0: one for all points, or one for each."""
    neighbours = points.copy()
    neighbours[np.arange(len(points)), i] *= -1
    return neighbours


def _pairs(
    f: BlackBox, n: int, partner: Callable[[np.ndarray], np.ndarray], samples: int, rng: np.random.Generator
) -> np.ndarray:
    """The values at random points and at their partners, (samples, 2), both from the same call of f."""
    rows = max((1 << 20) // checks.integer(n, "n", 1, _SIGNS // 4), 1)
    values = []
    for start in range(0, checks.integer(samples, "samples", 2, _SIGNS // n), rows):
        points = sampling.random_signs((min(rows, samples - start), n), rng=rng)
        values.append(sampling.evaluate(f, np.concatenate([points, partner(points)])).reshape(2, -1).T)
    return np.concatenate(values)


def _scale(values: np.ndarray, confidence: float, bound: float | None) -> tuple[float | None, str]:
    """A bound on |f| and the kind of interval; no bound if all values seen are ±1 and none is given."""
    checks.probability(confidence, "confidence")
    if bound is not None:
        checks.positive(bound, "bound")
    values = values.reshape(-1)
    _refuse_bits(values, "f")
    largest = float(np.abs(values).max())
    if bound is None and _edges.is_boolean(values):
        return None, "Clopper–Pearson"
    if bound is not None and largest > bound:
        raise ValueError(f"bound: expected at least {largest:g}, the largest |f| seen, got {bound:g}")
    top = float(bound) if bound is not None else largest or 1.0  # zeros alone say nothing about the scale
    return top, f"empirical Bernstein, |f| ≤ {top:.4g}" + (" seen" if bound is None else "")
