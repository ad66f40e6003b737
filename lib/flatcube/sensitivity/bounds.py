"""What sensitivity says without a table: bounds on the effect of noise, the cast in closed form, inequalities."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from flatcube import cast, checks
from flatcube.sensitivity import measures
from flatcube.sensitivity.measures import _boolean, _checked, _correlation, _plain

__all__ = [
    "maximum_bound", "average_bound", "power_bound", "MAJORITY_CONSTANT", "cast_average", "cast_maximum",
    "majority_average", "majority_profile", "majority_noise_limit", "huang_bound", "kkl_bound", "distance_bound",
    "separation",
]  # fmt: skip

_EXACT = 10**5  # variables of a MAJORITY whose sensitivity is computed as a fraction

MAJORITY_CONSTANT = math.sqrt(2 / math.pi)  # the limit of as(MAJORITY)/√n


# --- noise ------------------------------------------------------------------------------------------------------------


def maximum_bound(maximum: float | np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """(1 − correlation^(s_max²))/2 ≥ disagreement, for correlations in [0, 1] (VA Prop. 3.2)."""
    correlation = _correlation(correlation, 0)
    return (1 - correlation ** np.square(_amount(maximum, "maximum", correlation))) / 2


def average_bound(average: float | np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """(1 − correlation) as/2 ≥ disagreement, for correlations in [−1, 1].

    From the same expansion, with correlation^k ≥ 1 − k (1 − correlation) in every term. For correlations in [0, 1] it
    is below ``power_bound`` if as < 1 and not below it if as ≥ 1 (Bernoulli's inequality).
    """
    correlation = _correlation(correlation, -1)
    return (1 - correlation) * _amount(average, "average", correlation) / 2


def power_bound(average: float | np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """(1 − correlation^as)/2 ≥ disagreement, for correlations in [0, 1]; never above the bound of VA Prop. 3.2.

    correlation^k is convex in k, so its mean under the degree profile is at least its value at the mean, which is as(f)
    (Jensen's inequality); and as(f) ≤ s_max ≤ s_max².
    """
    correlation = _correlation(correlation, 0)
    return (1 - correlation ** _amount(average, "average", correlation)) / 2


def _amount(values: float | np.ndarray, name: str, like: np.ndarray) -> np.ndarray:
    """Numbers ≥ 0 that go together with others."""
    array = checks.numbers(values, name).astype(np.float64)
    if array.min(initial=0) < 0 or array.max(initial=0) > 1e100:
        raise ValueError(f"{name}: expected numbers from 0 to 1e+100, got {values}")
    try:
        np.broadcast_shapes(array.shape, np.shape(like))
    except ValueError:
        raise ValueError(f"{name}: expected a shape that fits {np.shape(like)}, got {array.shape}") from None
    return array[()]


# --- the cast in closed form ------------------------------------------------------------------------------------------


def cast_average(name: str, n: int) -> Fraction:
    """as(f), exact for any n: PARITY n, FIRST 1, MEAN 1/n, MAJORITY n C(2k, k)/4^k with k = ⌊n/2⌋ (HR Sec. 3).

    MAJORITY changes exactly on the C(n, k)(n − k) edges between points with k and with k + 1 ones. For it n ≤ 10⁵,
    since the fraction has that many digits; ``majority_average`` goes further.

    >>> cast_average("MAJORITY", 3)
    Fraction(3, 2)
    """
    k = checks.count(n, "n") // 2

    def majority() -> Fraction:
        checks.integer(n, "n", 1, _EXACT)
        return Fraction(n * math.comb(2 * k, k), 4**k)

    return _member(name, n, majority)


def cast_maximum(name: str, n: int) -> Fraction:
    """max_x s(f, x): PARITY n, FIRST 1, MEAN 1/n, MAJORITY ⌊n/2⌋ + 1. All but MAJORITY attain it everywhere.

    A majority of ⌊n/2⌋ + 1 ones is lost by flipping any of these, and by no other flip. HR Sec. 3 prints n.
    """
    return _member(name, checks.count(n, "n"), lambda: Fraction(n // 2 + 1))


def _member(name: str, n: int, majority: Callable[[], Fraction]) -> Fraction:
    values = {"PARITY": lambda: Fraction(n), "FIRST": lambda: Fraction(1), "MEAN": lambda: Fraction(1, n)}
    return (values | {"MAJORITY": majority})[cast.known(name)]()


def majority_average(n: int) -> float:
    """as(MAJORITY) as a float, for n up to 10¹⁸; majority_average(n)/√n tends to MAJORITY_CONSTANT.

    From n = 2000 on by Stirling's series for C(2k, k)/4^k, whose next term is below 2·10⁻¹⁸.
    """
    k = checks.integer(n, "n", 1, 10**18) // 2
    if k < 1000:
        return float(cast_average("MAJORITY", n))
    series = 1 - 1 / (8 * k) + 1 / (128 * k**2) + 5 / (1024 * k**3) - 21 / (32768 * k**4)
    return n / math.sqrt(math.pi * k) * series


def majority_profile(n: int) -> np.ndarray:
    """The degree profile of MAJORITY for an odd n up to 10⁶, (n + 1,), without its table (O'Donnell 2014, Sec. 5.3).

    W_1 = as²/n, as all n coefficients of degree 1 are as/n, and W_{k+2}/W_k = k² (n − k)/((k + 1)(k + 2)(n − k − 1)).

    >>> majority_profile(3)
    array([0.  , 0.75, 0.  , 0.25])
    """
    if checks.integer(n, "n", 1, 10**6) % 2 == 0:
        raise ValueError(f"n: expected an odd number, got {n}")
    k = np.arange(1.0, n - 1, 2)
    ratios = k**2 * (n - k) / ((k + 1) * (k + 2) * (n - k - 1))
    profile = np.zeros(n + 1)
    profile[1::2] = majority_average(n) ** 2 / n * np.cumprod([1, *ratios])
    return profile


def majority_noise_limit(correlation: float | np.ndarray) -> float | np.ndarray:
    """(2/π) arcsin(correlation), the limit of the noise stability of MAJORITY as n → ∞ (Sheppard 1899)."""
    return _plain(2 / math.pi * np.arcsin(_correlation(correlation, -1)))


# --- inequalities -----------------------------------------------------------------------------------------------------


def huang_bound(table: np.ndarray) -> float | np.ndarray:
    """s_max² ≥ degree for every Boolean f (Huang 2019; VA Thm B.5)."""
    return measures.maximum(_boolean(table)) ** 2


def kkl_bound(table: np.ndarray) -> float:
    """(9/r²) 9^{−r} ≤ max_i Inf_i for every Boolean f, with r = as(f)/Var f (O'Donnell 2014, Sec. 9.6).

    This is the edge-isoperimetric form of the theorem of Kahn, Kalai and Linial 1988. Together with max_i Inf_i ≥ as/n
    it implies that some influence is at least Var f log(n)/(3n): at r = log(n)/3 the bound is still above r Var f/n.
    """
    table = _boolean(table)
    variance = float(np.var(table, dtype=np.float64))
    if table.ndim != 1 or variance == 0:
        raise ValueError("table: expected one function that is not constant")
    ratio = measures.average(table) / variance
    return 9 / ratio**2 * 9**-ratio


def distance_bound(f: np.ndarray, g: np.ndarray) -> float | np.ndarray:
    """(√as(f) − √as(g))/√n ≤ √E(f − g)², for all real f and g; positive as soon as as(g) < as(f).

    √as is a seminorm, so that √as(f) ≤ √as(g) + √as(f − g), and as(h) ≤ n E h². It is at least ``separation`` for every
    alpha, because as(f) ≤ n ‖f‖².
    """
    f, g, n = _pair(f, g)
    root_of_f, root_of_g = (np.sqrt(measures.average(table)) for table in (f, g))
    return _plain((root_of_f - root_of_g) / math.sqrt(checks.count(n, "n")))


def separation(f: np.ndarray, g: np.ndarray, alpha: float = 2.0) -> float | np.ndarray:
    """A lower bound on √E(f − g)² from the two average sensitivities, for any alpha > 1 (HR Lemma 21):

    √((1 − 1/α) as(f)/(n − as(f)/(α‖f‖²))) − ‖f‖ √(α as(g)/as(f)),    ‖f‖² = E f²,    as(f) > 0.
    """
    if checks.number(alpha, "alpha", 1) == 1:
        raise ValueError("alpha: expected a number above 1, got 1")
    f, g, n = _pair(f, g)
    of_f, of_g = np.asarray(measures.average(f)), np.asarray(measures.average(g))
    if not (of_f > 0).all():
        raise ValueError("f: expected a function that is not constant")
    norm2 = np.mean(np.square(f, dtype=np.float64), axis=-1)
    kept = np.sqrt((1 - 1 / alpha) * of_f / (n - of_f / (alpha * norm2)))
    return _plain(kept - np.sqrt(alpha * norm2 * of_g / of_f))


def _pair(f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Two tables of the same length, or stacks of such, and their n."""
    (f, n), (g, _) = _checked(f, "f"), _checked(g, "g")
    if g.shape[-1] != f.shape[-1]:
        raise ValueError(f"g: expected a table of length {f.shape[-1]} like f, got shape {g.shape}")
    return f, g, n
