"""From successes and failures to the sample size at which half of the trials succeed, and to its growth.

At each of several m some trials were made and some of them succeeded. A logistic curve in log m,

    p(m) = 1/(1 + (m*/m)^k),

is fitted by maximum likelihood; m* is the *critical* sample size. Resampling the trials of every cell (the bootstrap)
gives its error. Who does not trust the curve may join the shares of success by straight lines (``joined``). Critical
sizes at several T are then compared with a + b g(T) for g = log T, √T and T.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from flatcube import checks

__all__ = ["Critical", "Law", "LAWS", "fit", "joined", "first_above", "bootstrap", "laws", "exponent"]

LAWS = {"log T": np.log, "√T": np.sqrt, "T": lambda T: np.asarray(T, float)}
_SHALLOW = 0.05
_STEEPEST = 40.0  # beyond this k the data hold no trial that speaks against a step


class Critical(NamedTuple):
    """A critical sample size, its standard error and 95 % interval by the bootstrap, and the steepness k."""

    m: float
    error: float
    low: float
    high: float
    steepness: float


class Law(NamedTuple):
    """Critical ≈ intercept + slope · g(T), and χ², the sum of squared residuals in units of the errors."""

    name: str
    intercept: float
    slope: float
    chi2: float


def fit(m: Sequence[float], successes: Sequence[int], trials: Sequence[int]) -> tuple[float, float]:
    """m* and k of the logistic curve by maximum likelihood; m* stays within a factor of two of the cells.

    >>> critical, steepness = fit([50, 100, 200], [5, 15, 25], [30, 30, 30])
    >>> round(critical), round(steepness, 1)
    (100, 2.3)
    """
    x, k, n = _cells(m, successes, trials)
    centre = x.mean()

    def loss(given: np.ndarray) -> tuple[float, np.ndarray]:  # convex: z is linear in what is looked for
        steepness, shift = given
        z = steepness * (x - centre) - shift
        slope = n * special.expit(z) - k
        return float(np.sum(n * np.logaddexp(0, z) - k * z)), np.array([slope @ (x - centre), -slope.sum()])

    bounds = [(_SHALLOW, _STEEPEST), (None, None)]
    best = optimize.minimize(loss, (3.0, 0.0), jac=True, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    steepness, shift = best.x
    span = np.log(2)
    return float(np.exp(np.clip(centre + shift / steepness, x.min() - span, x.max() + span))), float(steepness)


def joined(m: Sequence[float], successes: Sequence[int], trials: Sequence[int]) -> float:
    """Where the shares of success, joined by straight lines, first reach one half; the largest m if they never do.

    >>> joined([50, 100, 200], [5, 10, 30], [30, 30, 30])
    125.0
    """
    x, k, n = _cells(m, successes, trials)
    share = (k / n)[order := np.argsort(x)]
    m = np.asarray(m, float)[order]
    if not (share >= 0.5).any():
        return float(m[-1])
    last = int(np.argmax(share >= 0.5))
    return float(np.interp(0.5, share[last - 1 : last + 1], m[last - 1 : last + 1]) if last else m[0])


def first_above(m: Sequence[float], successes: Sequence[int], trials: Sequence[int]) -> float:
    """The smallest m at which more than half of the trials succeeded, as ED define it; infinite if there is none."""
    x, k, n = _cells(m, successes, trials)
    above = x[2 * k > n]
    return float(np.exp(above.min()).round(6)) if len(above) else float("inf")


def bootstrap(
    m: Sequence[float], successes: Sequence[int], trials: Sequence[int], *, repeats: int = 200,
    rng: np.random.Generator | int, curve: bool = True,
) -> tuple[Critical, np.ndarray]:  # fmt: skip
    """The fit with its error, and the critical sizes (repeats,) of trials drawn again from those of every cell.

    Without a ``curve`` the critical sizes are those of ``joined``, and there is no steepness.
    """
    x, k, n = _cells(m, successes, trials)
    rng = checks.generator(rng)
    again = rng.binomial(n.astype(int), k / n, (checks.integer(repeats, "repeats", 2, 10**5), len(n)))
    find = fit if curve else lambda m, k, n: (joined(m, k, n), np.nan)
    drawn = np.array([find(m, row, trials)[0] for row in again])
    low, high = np.quantile(drawn, [0.025, 0.975])
    found, steepness = find(m, successes, trials)
    return Critical(found, float(drawn.std(ddof=1)), float(low), float(high), steepness), drawn


def laws(T: Sequence[float], critical: Sequence[float], errors: Sequence[float]) -> list[Law]:
    """a + b g(T) by weighted least squares for each g of ``LAWS``, the best first: all have two free numbers."""
    T, y, e = (checks.numbers(values, name) for values, name in ((T, "T"), (critical, "critical"), (errors, "errors")))
    for values, name in ((T, "T"), (y, "critical"), (e, "errors")):
        checks.shape(values.shape, name, ("lengths",), {"lengths": T.size})
    if len(T) < 3 or T.min() <= 0 or e.min() <= 0:
        raise ValueError("T: expected at least three positive lengths with positive errors, got fewer or others")
    found = []
    for name, g in LAWS.items():
        design = np.stack([np.ones(len(T)), g(T)], 1) / e[:, None]
        (a, b), *_ = np.linalg.lstsq(design, y / e, rcond=None)
        found.append(Law(name, float(a), float(b), float(np.square((a + b * g(T) - y) / e).sum())))
    return sorted(found, key=lambda law: law.chi2)


def exponent(T: Sequence[float], critical: np.ndarray) -> np.ndarray:
    """α of the power law critical ∝ T^α by least squares of the logarithms, for critical sizes (…, lengths).

    >>> float(exponent([50, 100, 200], [10, 20, 40]).round(3))
    1.0
    """
    x, y = checks.numbers(T, "T"), checks.numbers(critical, "critical")
    if x.ndim != 1 or len(x) < 2 or y.shape[-1:] != x.shape:
        raise ValueError(f"critical: expected (…, {x.shape[0] if x.ndim else 1}) numbers, got shape {y.shape}")
    if not y.size or x.min() <= 0 or y.min() <= 0 or x.min() == x.max():
        raise ValueError("T: expected different lengths above 0 and critical sizes above 0, got others")
    x, y = np.log(x), np.log(y)
    x = x - x.mean()
    return (y * x).sum(-1) / np.square(x).sum()


def _cells(m: Sequence[float], successes: Sequence[int], trials: Sequence[int]) -> tuple[np.ndarray, ...]:
    m, k, n = (checks.numbers(v, name) for v, name in ((m, "m"), (successes, "successes"), (trials, "trials")))
    checks.together(m=m.shape, successes=k.shape, trials=n.shape)
    flat = m.ndim == k.ndim == n.ndim == 1 and len(m) >= 2
    if not flat or m.min() <= 0 or n.min() < 1 or (k < 0).any() or (k > n).any():
        raise ValueError("m: expected two cells or more, each with m > 0 and 0 ≤ successes ≤ trials ≥ 1, got others")
    return np.log(m), k, n
