"""Why sensitive functions are sharp: the algebra of HR's Theorem 6, with the corrections of our list of errata.

Two networks of different average sensitivity are far apart (Lemma 21, ``sensitivity.separation``). A random shift of
the weights makes every layer norm stretch by little, and then no long input is sensitive any more. So the shifted
network is far from a sensitive one:

    lim_{ρ→0} liminf_n L_{ρ,n}(T) ≥ liminf as_n(T)/(2n) − L exp(−Ω(d)),    d > 12L.       (HR Eq. 16)

The limits do not commute: first n grows at a fixed ρ, then ρ falls. At a fixed n, L_{ρ,n} vanishes with ρ.

Chapter 9 proves more with the same steps: for every ρ > 0, liminf_n L_{ρ,n}(T) ≥ liminf as_n(T)/n. A large α in
Lemma 21 removes the 2 (``limit``); the bound for small balls (``small_ball``) does without the last term.
"""

import numpy as np
from scipy.integrate import quad
from scipy.special import gammainc
from scipy.stats import chi2

from flatcube import checks

__all__ = [
    "lower_bound", "limit", "width_correction", "least_zeta", "exponent", "blowup_constant", "small_ball", "angle_loss",
    "plateau",
]  # fmt: skip

_DEEPEST = 1000  # layers, so that 4^L can still be printed


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
    n, (average, perturbed, _, _) = checks.count(n, "n"), _sizes(
        average=average, perturbed=perturbed, norm2=norm2, alpha=alpha
    )
    return limit(average / n, norm2=norm2, alpha=alpha) - 2 * np.sqrt(alpha * norm2 * perturbed / n)


def limit(
    mu: float | np.ndarray, *, norm2: float | np.ndarray = 1.0, alpha: float | np.ndarray = 2.0
) -> float | np.ndarray:
    """(1 − 1/α)μ/(1 − μ/(α‖T‖²)): Theorem 6 for as_n(T) = μn, without its correction (HR Eq. 66).

    It is at least μ/2 for α = 2, and tends to μ as α grows, whatever the outputs.

    >>> round(limit(0.5), 3), round(limit(0.5, alpha=100), 3), limit(1.0)
    (0.333, 0.497, 1.0)
    """
    mu, norm2, alpha = _sizes(mu=mu, norm2=norm2, alpha=alpha)
    if not np.all(np.greater(alpha, 1)):
        raise ValueError(f"alpha: expected a number above 1, got {np.min(alpha)}")
    if not np.all(np.greater(norm2, 0)):
        raise ValueError(f"norm2: expected numbers above 0, got {np.min(norm2)}")
    if not np.all(mu <= np.multiply(1 + 1e-9, norm2)):
        most, got = (np.broadcast_to(part, np.shape(mu / norm2)).flat[np.argmax(mu / norm2)] for part in (norm2, mu))
        raise ValueError(f"mu: expected numbers from 0 to ‖T‖² = {most}, as as(T) ≤ n‖T‖², got {got}")
    return (1 - 1 / alpha) * mu / (1 - mu / (alpha * norm2))


def _sizes(**given: float | np.ndarray) -> list[float | np.ndarray]:
    """Numbers ≥ 0 whose shapes fit together, as they came."""
    for name, values in given.items():
        if (least := checks.numbers(values, name).min(initial=0)) < 0:
            raise ValueError(f"{name}: expected numbers ≥ 0, got {least}")
    checks.together(**{name: np.shape(values) for name, values in given.items()})
    return [values if np.ndim(values) == 0 else np.asarray(values) for values in given.values()]


def width_correction(layers: int, width: int) -> float:
    """L·P[χ²_{d−1} ≤ d/4], the term L exp(−Ω(d)) of Theorem 6: that some bias moves by less than half of its due.

    >>> f"{width_correction(2, 16):.1e} {width_correction(2, 64):.1e}"
    '4.5e-03 5.4e-10'
    """
    return checks.count(layers, "layers") * small_ball(width, 0.5, 1.0)


def least_zeta(layers: int, width: int) -> float:
    """The ζ above which the layer-norm factors of long inputs stay below 1 + n^(ζ/L) (HR Eq. 69): 2L/(d − 1)."""
    return 2 * checks.count(layers, "layers") / (checks.count(width, "width", 2) - 1)


def exponent(layers: int, width: int) -> float:
    """s(T_{θ+Δ}, x)/n is at most of order n^(2ζ − ½)√log n; at ζ = 3L/d it vanishes if d > 12L (HR Eq. 70–71).

    >>> exponent(2, 24), exponent(2, 48)
    (0.0, -0.25)
    """
    return 6 * checks.count(layers, "layers") / checks.count(width, "width") - 0.5


def blowup_constant(layers: int) -> int:
    """Blowup(x)² + mean of Blowup(x^{⊕i})² ≤ 2·4^L n^(2ζ) when every τ ≤ 2n^(ζ/L) (HR before Eq. 70)."""
    return 2 * 4 ** checks.integer(layers, "layers", 1, _DEEPEST)


def small_ball(width: int, spread: float, deviation: float) -> float:
    """P[SD(Y + Δ) < spread] ≤ P[χ²_{d−1} < d·spread²/deviation²] for any Y and Gaussian Δ (HR App. C, Step 4).

    ``deviation`` is the standard deviation of Δ's d entries. Centring leaves d − 1 dimensions, and a ball around the
    origin catches the most; so 1/SD exceeds n^(ζ/L) with probability of order n^(−(d−1)ζ/L).
    """
    width = checks.count(width, "width", 2)
    ratio = checks.positive(spread, "spread", 0) / checks.positive(deviation, "deviation")
    return float(gammainc((width - 1) / 2, width * ratio**2 / 2))


def angle_loss(ratio: float | np.ndarray, dimension: int = 8, *, along: float = 1.0) -> float | np.ndarray:
    """Λ(t) = E(1 − cos φ)², φ the angle between a unit vector u and u + tg, g Gaussian in ``dimension`` dimensions.

    Layer norm with ε = 0 keeps directions only. So if an answer of size |a|, alone among the channels, is disturbed by
    noise of size s in each of them, the squared change of the normalised answer is Λ(s/|a|). For d channels m is d − 1,
    since the mean is subtracted. Noise in the answer's own channel may be ``along`` times as large as in the others.
    Λ starts like t⁴ (m² − 1)/4, m ≥ 3 the dimension, whatever ``along`` is, and ends at 1 + 1/m for along = 1, and at
    ``plateau`` in any case. The quadrature is good to 10⁻³.

    >>> angle_loss(np.array([0.0, 0.3, 1e6])).round(3)
    array([0.   , 0.071, 1.125])
    """
    checks.integer(dimension, "dimension", 3, 10**9)
    t = np.asarray(_sizes(ratio=ratio)[0], float)[..., None, None]
    points, weights = np.polynomial.hermite_e.hermegauss(64)
    levels = (np.arange(200) + 0.5) / 200
    across = np.sqrt(chi2.ppf(levels, dimension - 1))  # the length of the part of g that is orthogonal to u
    forward = 1 + t * checks.positive(along, "along") * points[:, None]
    cosines = forward / np.hypot(forward, t * across)
    means = np.square(1 - cosines).mean(axis=-1) @ (weights / weights.sum())
    return float(means) if np.ndim(ratio) == 0 else means


def plateau(covariance: np.ndarray, channel: int) -> float:
    """1 + E cos²φ: where L ends when noise g of this covariance (d, d) has drowned an answer ±1 in one channel.

    Then only g is left, φ is its angle to the answer after layer norm has subtracted the mean, and E cos φ = 0. With Σ
    the covariance of g without its mean and u the centred channel, E (u·g)²/‖g‖² = ∫₀^∞ uᵀΣ(I + 2sΣ)⁻¹u /
    √det(I + 2sΣ) ds for Gaussian g. Equal noise in all channels makes it 1 + 1/(d − 1).

    >>> round(plateau(np.eye(9), 7), 6), round(plateau(np.diag([1.0] * 7 + [4.0]), 7), 3)
    (1.125, 1.299)
    """
    sizes: dict[str, int] = {}
    covariance = checks.numbers(covariance, "covariance", ("d", "d"), sizes)
    d, channel = checks.integer(sizes["d"], "covariance: its size", 2), checks.integer(channel, "channel", 0)
    checks.integer(channel, "channel", 0, d - 1)
    centre = np.eye(d) - 1 / d
    values, vectors = np.linalg.eigh(centre @ ((covariance + covariance.T) / 2) @ centre)
    if values[0] < -1e-9 * abs(values[-1]) or not values[-1] > 0:
        raise ValueError(f"covariance: expected one that is not negative, and not zero, got {values[0]:.3g} in it")
    values, shares = values.clip(0) / values[-1], np.square(vectors.T @ centre[channel]) / centre[channel, channel]

    def slope(log: float) -> float:
        s = np.exp(log)
        return s * float(shares @ (values / (1 + 2 * s * values))) * np.exp(-np.log1p(2 * s * values).sum() / 2)

    return 1 + float(quad(slope, -40, 60, limit=400, points=[-5, 0, 5])[0])
