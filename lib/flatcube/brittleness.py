"""Why sensitive functions are sharp: the algebra of HR's Theorem 6, with the corrections of our list of errata.

Two networks of different average sensitivity are far apart (Lemma 21, ``sensitivity.separation``). A random shift of
the weights makes every layer norm stretch by little, and then no long input is sensitive any more. So the shifted
network is far from a sensitive one:

    lim_{ρ→0} liminf_n L_{ρ,n}(T) ≥ liminf as_n(T)/(2n) − L exp(−Ω(d)),    d > 12L.       (HR Eq. 16)

The limits do not commute: first n grows at a fixed ρ, then ρ falls. At a fixed n, L_{ρ,n} vanishes with ρ.
"""

import numpy as np
from scipy.special import gammainc
from scipy.stats import chi2

from flatcube.sampling import check_count, check_positive

__all__ = [
    "lower_bound", "limit", "width_correction", "least_zeta", "exponent", "blowup_constant", "small_ball", "angle_loss",
]  # fmt: skip


def lower_bound(
    average: float | np.ndarray,
    perturbed: float | np.ndarray,
    n: int,
    *,
    norm2: float | np.ndarray = 1.0,
    alpha: float = 2.0,
) -> float | np.ndarray:
    """E(T − T′)² is at least (1−1/α)as(T)/(n − as(T)/(α‖T‖²)) − 2√(α‖T‖² as(T′)/n), for any α > 1 (HR App. C).

    ``average`` and ``perturbed`` are as(T) > 0 and as(T′), norm2 = ‖T‖² = E T². It is the square of Lemma 21 without
    its positive last term; in the mixed one, as(T) ≤ n‖T‖² makes the denominator at least (1 − 1/α)n.
    """
    n = check_count(n, "n")
    return limit(average / n, norm2=norm2, alpha=alpha) - 2 * np.sqrt(alpha * norm2 * perturbed / n)


def limit(
    mu: float | np.ndarray, *, norm2: float | np.ndarray = 1.0, alpha: float | np.ndarray = 2.0
) -> float | np.ndarray:
    """(1 − 1/α)μ/(1 − μ/(α‖T‖²)): Theorem 6 for as_n(T) = μn, without its correction (HR Eq. 66).

    It is at least μ/2 for α = 2, and tends to μ as α grows, whatever the outputs.

    >>> round(limit(0.5), 3), round(limit(0.5, alpha=100), 3), limit(1.0)
    (0.333, 0.497, 1.0)
    """
    if not np.all(np.asarray(alpha) > 1):
        raise ValueError(f"alpha: expected a number above 1, got {alpha}")
    if not np.all((np.asarray(mu) >= 0) & (mu <= np.multiply(1 + 1e-9, norm2))):
        raise ValueError(f"mu: expected numbers from 0 to ‖T‖² = {norm2}, as as(T) ≤ n‖T‖², got {mu}")
    return (1 - 1 / alpha) * mu / (1 - mu / (alpha * norm2))


def width_correction(layers: int, width: int) -> float:
    """L·P[χ²_{d−1} ≤ d/4], the term L exp(−Ω(d)) of Theorem 6: that some bias moves by less than half of its due.

    >>> f"{width_correction(2, 16):.1e} {width_correction(2, 64):.1e}"
    '4.5e-03 5.4e-10'
    """
    return check_count(layers, "layers") * small_ball(width, 0.5, 1.0)


def least_zeta(layers: int, width: int) -> float:
    """The ζ above which the layer-norm factors of long inputs stay below 1 + n^(ζ/L) (HR Eq. 69): 2L/(d − 1)."""
    return 2 * check_count(layers, "layers") / (check_count(width, "width", 2) - 1)


def exponent(layers: int, width: int) -> float:
    """s(T_{θ+Δ}, x)/n is at most of order n^(2ζ − ½)√log n; at ζ = 3L/d it vanishes if d > 12L (HR Eq. 70–71).

    >>> exponent(2, 24), exponent(2, 48)
    (0.0, -0.25)
    """
    return 6 * check_count(layers, "layers") / check_count(width, "width") - 0.5


def blowup_constant(layers: int) -> int:
    """Blowup(x)² + mean of Blowup(x^{⊕i})² ≤ 2·4^L n^(2ζ) when every τ ≤ 2n^(ζ/L) (HR before Eq. 70)."""
    return 2 * 4 ** check_count(layers, "layers")


def small_ball(width: int, spread: float, deviation: float) -> float:
    """P[SD(Y + Δ) < spread] ≤ P[χ²_{d−1} < d·spread²/deviation²] for any Y and Gaussian Δ (HR App. C, Step 4).

    ``deviation`` is the standard deviation of Δ's d entries. Centring leaves d − 1 dimensions, and a ball around the
    origin catches the most; so 1/SD exceeds n^(ζ/L) with probability of order n^(−(d−1)ζ/L).
    """
    width = check_count(width, "width", 2)
    ratio = check_positive(spread, "spread", 0) / check_positive(deviation, "deviation")
    return float(gammainc((width - 1) / 2, width * ratio**2 / 2))


def angle_loss(ratio: float | np.ndarray, dimension: int = 8) -> float | np.ndarray:
    """Λ(t) = E(1 − cos φ)², φ the angle between a unit vector u and u + tg, g Gaussian in ``dimension`` dimensions.

    Layer norm with ε = 0 keeps directions only. So if an answer of size |a|, alone among the channels, is disturbed by
    noise of size s in each of them, the squared change of the normalised answer is Λ(s/|a|). It starts like
    t⁴ (m² − 1)/4, m ≥ 3 the dimension, and ends at 1 + 1/m. For d channels m is d − 1, since the mean is subtracted.
    The quadrature is good to 10⁻³.

    >>> angle_loss(np.array([0.0, 0.3, 1e6])).round(3)
    array([0.   , 0.071, 1.125])
    """
    check_count(dimension, "dimension", 3)
    t = np.asarray(ratio, float)[..., None, None]
    points, weights = np.polynomial.hermite_e.hermegauss(64)
    levels = (np.arange(200) + 0.5) / 200
    across = np.sqrt(chi2.ppf(levels, dimension - 1))  # the length of the part of g that is orthogonal to u
    along = 1 + t * points[:, None]
    cosines = along / np.hypot(along, t * across)
    means = np.square(1 - cosines).mean(axis=-1) @ (weights / weights.sum())
    return float(means) if np.ndim(ratio) == 0 else means
