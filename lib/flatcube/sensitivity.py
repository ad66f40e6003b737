"""How often one flipped variable changes a function: exact from tables, estimated from black boxes.

With x^{⊕i} the point x with its i-th sign flipped (HR Def. 3, for real functions too),

    s(f, x) = Σ_i (f(x) − f(x^{⊕i}))²/4,    Inf_i(f) = E_x (f(x) − f(x^{⊕i}))²/4,    as(f) = E_x s(f, x) = Σ_i Inf_i(f).

For a Boolean f (values ±1) s(f, x) counts the neighbours of x on which f differs. In the spectrum, Inf_i = Σ_{S∋i} c_S²
and as = Σ_S |S| c_S² (HR Eq. 17). Tables follow ``flatcube.cube``; several tables may be stacked, (…, 2^n).

Results for Boolean tables are exact. A table or a black box whose values are all 0 or 1 is refused: its sensitivity
would come out four times too small. How the sums are computed, and when real tables switch from products to
differences, stands in ``flatcube.edges``; how black boxes are asked, in ``flatcube.sampling``.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from flatcube import cube, edges, fourier, sampling
from flatcube.decision import block_sensitivity, certificate_complexity, decision_depth
from flatcube.sampling import BlackBox, Estimate

__all__ = [
    "at_points", "maximum", "influences", "average", "normalised", "spectral_influences", "spectral_average",
    "noise_stability", "disagreement", "maximum_bound", "average_bound", "power_bound",
    "MAJORITY_CONSTANT", "cast_average", "cast_maximum", "majority_average", "majority_noise_limit",
    "huang_bound", "poincare_ratio", "kkl_bound", "separation",
    "block_sensitivity", "certificate_complexity", "decision_depth",
    "Estimate", "at", "estimate", "estimate_influences", "estimate_noise_stability",
]  # fmt: skip

MAJORITY_CONSTANT = math.sqrt(2 / math.pi)  # the limit of as(MAJORITY)/√n


# --- exact, from tables -----------------------------------------------------------------------------------------------


def at_points(table: np.ndarray) -> np.ndarray:
    """s(f, x) at every point, (…, 2^n): integers for Boolean tables, float64 for real ones.

    >>> at_points(cube.majority(3)).tolist()
    [0, 2, 2, 2, 2, 2, 2, 0]
    """
    table, n = _checked(table)
    return edges.pointwise(table.reshape(-1), n).reshape(table.shape)


def maximum(table: np.ndarray) -> float | np.ndarray:
    """max_x s(f, x), the maximum sensitivity (VA App. B.2): a number, or (…) for stacked tables."""
    return _plain(at_points(table).max(axis=-1))


def influences(table: np.ndarray) -> np.ndarray:
    """Inf_i(f) for i = 1, …, n: (…, n).

    >>> influences(cube.formula("x1 & x2", n=3))
    array([0.5, 0.5, 0. ])
    """
    table, n = _checked(table)
    result = edges.mean_changes(table.reshape(-1, 2**n), n).reshape(*table.shape[:-1], n)
    if not np.isfinite(result).all():
        raise ValueError("table: the squares of these values are too large for float64; scale the table down")
    return result


def average(table: np.ndarray) -> float | np.ndarray:
    """as(f), the average sensitivity or total influence (HR Def. 3): a number, or (…) for stacked tables.

    >>> average(cube.parity(5)), average(cube.first(5))
    (5.0, 1.0)
    """
    return _plain(influences(table).sum(axis=-1))


def normalised(table: np.ndarray) -> float | np.ndarray:
    """as(f)/n: for a Boolean f the probability that one random flip changes it (VA Sec. 3)."""
    total = influences(table)
    return _plain(total.sum(axis=-1) / sampling.check_count(total.shape[-1], "n"))


def spectral_influences(spectrum: fourier.Spectrum) -> np.ndarray:
    """Inf_i = Σ_{S∋i} c_S², from the spectrum: (n,)."""
    power = np.square(spectrum.coefficients, dtype=np.float64)
    return np.array([power.reshape(-1, 2, 1 << i)[:, 1].sum() for i in range(spectrum.n)])


def spectral_average(spectrum: fourier.Spectrum) -> float:
    """as = Σ_S |S| c_S² = Σ_k k W^k, the mean of k under the degree profile (HR Eq. 17)."""
    return float(spectrum.profile @ np.arange(spectrum.n + 1))


def _checked(table: np.ndarray) -> tuple[np.ndarray, int]:
    """A contiguous table and its n; a table of bits is refused."""
    table = np.ascontiguousarray(cube.check_table(table))
    if table.size == 0:
        raise ValueError(f"table: expected at least one function, got shape {table.shape}")
    _refuse_bits(table.reshape(-1), "table")
    return table, table.shape[-1].bit_length() - 1


def _refuse_bits(values: np.ndarray, name: str) -> None:
    if edges.is_bits(values):
        raise ValueError(
            f"{name}: expected −1 and +1 or real values, got only 0 and 1; convert bits with cube.to_signs, "
            "or, if f is meant as a real function, take a quarter of the sensitivity of 2f − 1"
        )


def _boolean(table: np.ndarray) -> np.ndarray:
    """A table of −1 and +1; any other is refused."""
    table, _ = _checked(table)
    if not edges.is_boolean(table.reshape(-1)):
        raise ValueError("table: expected a Boolean table of −1 and +1, got other values")
    return table


def _plain(numbers: np.ndarray) -> float | np.ndarray:
    return numbers if np.ndim(numbers) else numbers.item()


# --- noise ------------------------------------------------------------------------------------------------------------


def noise_stability(table: np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """E f(x) f(y) for random x, y with E x_i y_i = correlation: Σ_S correlation^|S| c_S² (VA Thm B.4).

    Several correlations (K,) give (…, K).
    """
    correlation = _correlation(correlation, -1)
    table, n = _checked(table)
    power = fourier.transform(table).astype(np.float64, copy=False)
    np.square(power, out=power)
    sizes = cube.weights(n)
    profile = np.stack([power[..., sizes == k].sum(axis=-1) for k in range(n + 1)], axis=-1)
    return _plain(np.tensordot(profile, np.power.outer(correlation, np.arange(n + 1)), (-1, -1)))


def disagreement(table: np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """P[f(x) ≠ f(y)] = (1 − noise stability)/2 of a Boolean f, x and y as above (VA App. B.2)."""
    return (1 - noise_stability(_boolean(table), correlation)) / 2


def maximum_bound(maximum: float | np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """(1 − correlation^(s_max²))/2 ≥ disagreement, for correlations in [0, 1] (VA Prop. 3.2)."""
    return (1 - _correlation(correlation, 0) ** np.square(maximum)) / 2


def average_bound(average: float | np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """(1 − correlation) as/2 ≥ disagreement, for correlations in [−1, 1].

    From the same expansion, with correlation^k ≥ 1 − k (1 − correlation) in every term.
    """
    return (1 - _correlation(correlation, -1)) * average / 2


def power_bound(average: float | np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """(1 − correlation^as)/2 ≥ disagreement, for correlations in [0, 1]: sharper than VA Prop. 3.2, without its square.

    correlation^k is convex in k, so its mean under the degree profile is at least its value at the mean, which is as(f)
    (Jensen's inequality); and as(f) ≤ s_max ≤ s_max².
    """
    return (1 - _correlation(correlation, 0) ** average) / 2


def _correlation(correlation: float | np.ndarray, least: int) -> np.ndarray:
    array = np.asarray(correlation, dtype=np.float64)
    if not ((least <= array) & (array <= 1)).all():
        raise ValueError(f"correlation: expected numbers from {least} to 1, got {correlation}")
    return array[()]


# --- the cast in closed form ------------------------------------------------------------------------------------------


def cast_average(name: str, n: int) -> Fraction:
    """as(f), exact for any n: PARITY n, FIRST 1, MEAN 1/n, MAJORITY n C(2k, k)/4^k with k = ⌊n/2⌋ (HR Sec. 3).

    MAJORITY changes exactly on the C(n, k)(n − k) edges between points with k and with k + 1 ones.

    >>> cast_average("MAJORITY", 3)
    Fraction(3, 2)
    """
    k = sampling.check_count(n, "n") // 2
    return _member(name, n, lambda: Fraction(n * math.comb(2 * k, k), 4**k))


def cast_maximum(name: str, n: int) -> Fraction:
    """max_x s(f, x): PARITY n, FIRST 1, MEAN 1/n, MAJORITY ⌊n/2⌋ + 1. All but MAJORITY attain it everywhere.

    A majority of ⌊n/2⌋ + 1 ones is lost by flipping any of these, and by no other flip. HR Sec. 3 prints n.
    """
    return _member(name, sampling.check_count(n, "n"), lambda: Fraction(n // 2 + 1))


def _member(name: str, n: int, majority: Callable[[], Fraction]) -> Fraction:
    values = {"PARITY": lambda: Fraction(n), "MAJORITY": majority, "FIRST": lambda: Fraction(1)}
    values["MEAN"] = lambda: Fraction(1, n)
    if (key := str(name).upper()) not in values:
        raise ValueError(f"name: expected PARITY, MAJORITY, FIRST or MEAN, got {name!r}")
    return values[key]()


def majority_average(n: int) -> float:
    """as(MAJORITY) as a float, for n however large; majority_average(n)/√n tends to MAJORITY_CONSTANT.

    From n = 2000 on by Stirling's series for C(2k, k)/4^k, whose next term is below 2·10⁻¹⁸.
    """
    k = sampling.check_count(n, "n") // 2
    if k < 1000:
        return float(cast_average("MAJORITY", n))
    series = 1 - 1 / (8 * k) + 1 / (128 * k**2) + 5 / (1024 * k**3) - 21 / (32768 * k**4)
    return n / math.sqrt(math.pi * k) * series


def majority_noise_limit(correlation: float | np.ndarray) -> float | np.ndarray:
    """(2/π) arcsin(correlation), the limit of the noise stability of MAJORITY as n → ∞ (Sheppard 1899)."""
    return _plain(2 / math.pi * np.arcsin(_correlation(correlation, -1)))


# --- inequalities -----------------------------------------------------------------------------------------------------


def huang_bound(table: np.ndarray) -> float | np.ndarray:
    """s_max² ≥ degree for every Boolean f (Huang 2019; VA Thm B.5)."""
    return maximum(_boolean(table)) ** 2


def poincare_ratio(table: np.ndarray) -> float:
    """as(f)/Var f ≥ 1, the Poincaré inequality; equal to 1 exactly if f has degree 1."""
    table, _ = _checked(table)
    variance = float(np.var(table, dtype=np.float64))
    if table.ndim != 1 or variance == 0:
        raise ValueError("table: expected one function that is not constant")
    return average(table) / variance


def kkl_bound(table: np.ndarray) -> float:
    """(9/r²) 9^{−r} ≤ max_i Inf_i for every Boolean f, with r = as(f)/Var f (O'Donnell 2014, Sec. 9.6).

    This is the edge-isoperimetric form of the theorem of Kahn, Kalai and Linial 1988. It implies that some influence
    is at least c Var f log(n)/n, more than the mean Var f/n that the Poincaré inequality promises.
    """
    ratio = poincare_ratio(_boolean(table))
    return 9 / ratio**2 * 9**-ratio


def separation(f: np.ndarray, g: np.ndarray, alpha: float = 2.0) -> float | np.ndarray:
    """A lower bound on √E(f − g)² from the two average sensitivities, for any alpha > 1 (HR Lemma 21):

    √((1 − 1/α) as(f)/(n − as(f)/(α‖f‖²))) − ‖f‖ √(α as(g)/as(f)),    ‖f‖² = E f²,    as(f) > 0.
    """
    if not alpha > 1:
        raise ValueError(f"alpha: expected a number above 1, got {alpha}")
    f, n = _checked(f)
    if np.shape(g)[-1:] != f.shape[-1:]:
        raise ValueError(f"g: expected a table of length {f.shape[-1]} like f, got shape {np.shape(g)}")
    of_f, of_g = np.asarray(average(f)), np.asarray(average(g))
    if not (of_f > 0).all():
        raise ValueError("f: expected a function that is not constant")
    norm2 = np.mean(np.square(f, dtype=np.float64), axis=-1)
    kept = np.sqrt((1 - 1 / alpha) * of_f / (n - of_f / (alpha * norm2)))
    return _plain(kept - np.sqrt(alpha * norm2 * of_g / of_f))


# --- sampled, from black boxes ----------------------------------------------------------------------------------------


def at(f: BlackBox, points: np.ndarray) -> np.ndarray:
    """s(f, x) at given points (batch, n) of signs: (batch,), exact, with n + 1 queries per point."""
    points = cube.check_signs(points, name="points")
    if points.ndim != 2:
        raise ValueError(f"points: expected shape (batch, n), got {points.shape}")
    first, others = _star(f, points.astype(np.int8))
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
    rng = np.random.default_rng(rng)

    def across(points: np.ndarray) -> np.ndarray:
        return _flip(points, rng.integers(0, n, size=len(points)))

    pairs = _pairs(f, n, across, samples, rng)
    numbers, method = _mean_change(pairs[:, 0], pairs[:, 1:], confidence, bound)
    return Estimate(*(n * float(number[0]) for number in numbers), confidence, samples, 2 * samples, method)


def estimate_influences(
    f: BlackBox,
    n: int,
    *,
    samples: int = 10_000,
    rng: np.random.Generator | int,
    confidence: float = 0.95,
    bound: float | None = None,
) -> Estimate:
    """Inf_i(f) of a black box for i = 1, …, n, arrays (n,): n + 1 queries at each of ``samples`` random points.

    Each interval holds with the given confidence by itself; its kind is that of ``estimate``.
    """
    points = sampling.random_signs((sampling.check_count(samples, "samples", 2), sampling.check_count(n, "n")), rng=rng)
    numbers, method = _mean_change(*_star(f, points), confidence, bound)
    return Estimate(*numbers, confidence, samples, (n + 1) * samples, method)


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
    rng = np.random.default_rng(rng)
    keep = (1 + _correlation(correlation, -1)) / 2

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


def _star(f: BlackBox, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values at points, (batch,), and at all their neighbours, (batch, n)."""
    others = [sampling.evaluate(f, _flip(points, i)) for i in range(points.shape[1])]
    return sampling.evaluate(f, points), np.stack(others, axis=-1)


def _pairs(
    f: BlackBox, n: int, partner: Callable[[np.ndarray], np.ndarray], samples: int, rng: np.random.Generator
) -> np.ndarray:
    """The values at random points and at their partners, (samples, 2), both from the same call of f."""
    rows = max((1 << 20) // sampling.check_count(n, "n"), 1)
    values = []
    for start in range(0, sampling.check_count(samples, "samples", 2), rows):
        points = sampling.random_signs((min(rows, samples - start), n), rng=rng)
        values.append(sampling.evaluate(f, np.concatenate([points, partner(points)])).reshape(2, -1).T)
    return np.concatenate(values)


def _mean_change(
    first: np.ndarray, others: np.ndarray, confidence: float, bound: float | None
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], str]:
    """E (f(x) − f(y))²/4 and its interval, (k,) each, from values (samples,) and (samples, k); and the method."""
    top, method = _scale(np.column_stack([first, others]), confidence, bound)
    if top is not None:
        changes = np.square(first[:, None].astype(np.float64) - others) / 4
        return sampling.bounded_mean(changes, 0, top**2, confidence), method
    counts = np.count_nonzero(first[:, None] != others, axis=0)
    low, high = np.array([sampling.proportion(int(count), len(first), confidence) for count in counts]).T
    return (counts / len(first), low, high), method


def _scale(values: np.ndarray, confidence: float, bound: float | None) -> tuple[float | None, str]:
    """A bound on |f| and the kind of interval; no bound if all values seen are ±1 and none is given."""
    sampling.check_probability(confidence, "confidence")
    values = values.reshape(-1)
    _refuse_bits(values, "f")
    largest = float(np.abs(values).max())
    if bound is None and edges.is_boolean(values):
        return None, "Clopper–Pearson"
    if bound is not None and largest > bound:
        raise ValueError(f"bound: expected at least {largest:g}, the largest |f| seen, got {bound:g}")
    top = float(bound) if bound is not None else largest or 1.0  # zeros alone say nothing about the scale
    return top, f"empirical Bernstein, |f| ≤ {top:.4g}" + (" seen" if bound is None else "")
