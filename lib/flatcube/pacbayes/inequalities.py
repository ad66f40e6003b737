"""PAC-Bayes inequalities: what a distribution over networks promises after m examples.

A prior π is fixed before the examples are seen; a posterior ρ may depend on them. Everything rests on a change of
measure (Donsker and Varadhan): E_ρ h ≤ KL(ρ‖π) + log E_π e^h. Put h = η(L − L̂), with L the risk and L̂ the mean loss
on m independent examples. If for every network and t > 0

    E_x exp(t(L − ℓ(x))) ≤ exp(t²C²/2)                                                                  (sub-Gaussian)

then E e^h ≤ exp(η²C²/2m), and Markov's inequality gives, with probability 1 − δ, for all ρ at once,

    E_ρ L ≤ E_ρ L̂ + ηC²/2m + (KL + log(1/δ))/η.                                  (Catoni; Alquier 2024; SP App. E.2)

Networks come in with ``account``.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from flatcube import checks
from flatcube.capacity import Bound
from flatcube.capacity.bounds import readable

__all__ = [
    "divergence", "catoni", "alquier", "eta_grid", "grid_price", "mcallester", "small_kl", "kl_inverse",
    "sub_gaussian", "second_moment", "clipped",
]  # fmt: skip

_LONGEST = 10**5  # of a grid
_ALMOST = math.nextafter(1, 0)
_NOTHING = 1e-290


def divergence(norm2: float, sigma: float, prior: float | None = None, *, size: int = 0) -> float:
    """KL(N(θ, σ²I) ‖ N(0, σ₀²I)) for ‖θ‖² = norm2 and ``size`` weights; with σ₀ = σ it is ‖θ‖²/2σ².

    >>> divergence(8.0, 2.0)
    1.0
    """
    prior = sigma if prior is None else prior
    ratio = (checks.positive(sigma, "sigma") / checks.positive(prior, "prior")) ** 2
    spread = checks.count(size, "size", 0) / 2 * (ratio - 1 - math.log(ratio))
    return checks.positive(norm2, "norm2", 0) / (2 * prior**2) + spread


# --- for sub-Gaussian losses ------------------------------------------------------------------------------------------


def catoni(kl: float, *, m: float, C: float, delta: float, eta: float) -> Bound:
    """E_ρ L − E_ρ L̂ for an η that is fixed beforehand: ηC²/2m + KL/η + log(1/δ)/η."""
    checks.positive(eta, "eta")
    terms = {
        "fluctuation": eta * checks.positive(C, "C", 0) ** 2 / (2 * checks.samples(m)),
        "divergence": checks.positive(kl, "kl", 0) / eta,
        "confidence": math.log(1 / checks.probability(delta, "delta")) / eta,
    }
    return Bound(f"On {readable(m)} examples, with η = {readable(eta)}, risk exceeds training loss by at most", terms)


def alquier(kl: float, *, m: float, C: float, delta: float) -> float:
    """The least value of ``catoni`` over η: C √(2(KL + log(1/δ))/m) (SP App. E.2).

    >>> round(alquier(10, m=1000, C=0.5, delta=0.05), 6)
    0.080609
    """
    total = checks.positive(kl, "kl", 0) + math.log(1 / checks.probability(delta, "delta"))
    return checks.positive(C, "C", 0) * math.sqrt(2 * total / checks.samples(m))


def eta_grid(low: float, high: float, ratio: float = 2.0) -> np.ndarray:
    """low, low·q, low·q², … up to the first at ``high`` or above: fixed beforehand, so that a union bound covers it."""
    if not checks.positive(ratio, "ratio") > 1:
        raise ValueError(f"ratio: expected a number above 1, got {ratio}")
    checks.positive(high, "high", checks.positive(low, "low"))
    count = math.ceil(math.log(high / low) / math.log(ratio) - 1e-9) + 1
    if count > _LONGEST:
        raise ValueError(f"ratio: expected one for a grid of at most {_LONGEST:,} numbers, got {ratio}")
    return low * ratio ** np.arange(count)


def grid_price(kl: float, grid: Sequence[float], *, m: float, C: float, delta: float) -> Bound:
    """``catoni`` with the best η of a grid of K: log(1/δ) becomes log(K/δ), whatever the examples say about KL."""
    etas = checks.numbers(grid, "grid").ravel().tolist()
    if not 1 <= len(etas) <= _LONGEST:
        raise ValueError(f"grid: expected 1 to {_LONGEST:,} η, got {len(etas)}")
    bounds = [catoni(kl, m=m, C=C, delta=checks.probability(delta, "delta") / len(etas), eta=eta) for eta in etas]
    return min(bounds, key=lambda bound: bound.value)


# --- for losses between 0 and 1 ---------------------------------------------------------------------------------------


def mcallester(kl: float, *, m: float, delta: float) -> float:
    """E_ρ L − E_ρ L̂ ≤ √((KL + log(2√m/δ))/2m) for losses in [0, 1] (McAllester 1999; constant by Maurer 2004)."""
    logarithm = math.log(2 * math.sqrt(checks.samples(m)) / checks.probability(delta, "delta"))
    return math.sqrt((checks.positive(kl, "kl", 0) + logarithm) / (2 * m))


def small_kl(training: float, kl: float, *, m: float, delta: float) -> float:
    """E_ρ L ≤ the q with kl(E_ρ L̂‖q) = (KL + log(2√m/δ))/m, for losses in [0, 1] (Seeger 2002, Maurer 2004)."""
    logarithm = math.log(2 * math.sqrt(checks.samples(m)) / checks.probability(delta, "delta"))
    return kl_inverse(_check_share(training, "training"), (checks.positive(kl, "kl", 0) + logarithm) / m)


def kl_inverse(share: float, budget: float) -> float:
    """The largest q with kl(p‖q) = p log(p/q) + (1−p) log((1−p)/(1−q)) ≤ budget, for a share p from 0 to 1.

    q − p has a relative error below 10⁻¹², or what rounding q adds; at p = 0, q is 1 − e^−budget, at p = 1 it is 1.

    >>> round(kl_inverse(0.1, 0.05), 6)
    0.220079
    """
    p, budget = _check_share(share, "share"), checks.positive(budget, "budget", 0)
    if budget == 0:
        return p
    if p < _NOTHING:
        return -math.expm1(-budget)
    most = min((1 - p) * _ALMOST, math.sqrt(budget / 2) * (1 + 1e-12))  # the second is Pinsker's

    def excess(x: float) -> float:  # of kl(p‖p + x); what is linear in x cancels, and is left out
        return -p * _log1p_rest(x / p) - (1 - p) * _log1p_rest(-x / (1 - p)) - budget

    if most <= 0 or excess(most) <= 0:
        return 1.0
    return p + brentq(excess, 0.0, most, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=1000)


def _log1p_rest(z: float) -> float:
    """log(1 + z) − z without cancellation."""
    if abs(z) > 0.01:
        return math.log1p(z) - z
    return z * z * sum((-z) ** k / (k + 2) for k in range(8)) * -1


def _check_share(number: float, name: str) -> float:
    if checks.positive(number, name, 0) > 1:
        raise ValueError(f"{name}: expected a number from 0 to 1, got {number}")
    return float(number)


# --- the sub-Gaussian constant ----------------------------------------------------------------------------------------


def sub_gaussian(losses: np.ndarray, *, two_sided: bool = False) -> float:
    """The least C with E exp(t(Eℓ − ℓ)) ≤ exp(t²C²/2) for these losses (m,), over a grid of t > 0 (SP App. A).

    C² = sup 2 log E exp(t(Eℓ − ℓ))/t². Only t > 0 matters for an upper bound on the risk; ``two_sided`` adds t < 0.
    As t → 0 this is the variance. If a share p lies at the top Δ above the mean, t near 2 log(1/p)/Δ asks for most.
    """
    losses = _check_losses(losses)
    scale = np.ptp(losses)
    if scale == 0:
        return 0.0
    shares = (losses - losses.min()) / scale  # so that rounding does not move the mean of nearly equal losses
    below = shares.mean() - shares
    asked = [float(below.std())]
    for side in (below, -below) if two_sided else (below,):
        top = float(side.max())
        for t in np.geomspace(1e-2, 50 / top, 200).tolist() if top > 1e-9 else ():
            log = t * top + math.log(np.exp(t * (side - top)).mean())
            asked.append(math.sqrt(max(2 * log, 0.0)) / t)
    return float(scale) * max(asked)


def second_moment(losses: np.ndarray) -> float:
    """√E ℓ² ≥ C for any losses ≥ 0, bounded or not: e^(−u) ≤ 1 − u + u²/2, so log E e^(t(Eℓ−ℓ)) ≤ t² Eℓ²/2."""
    losses = _check_losses(losses)
    if losses.min() < 0:
        raise ValueError(f"losses: expected numbers ≥ 0, got {losses.min()}")
    return float(np.sqrt(np.square(losses).mean()))


def _check_losses(losses: np.ndarray) -> np.ndarray:
    losses = checks.numbers(losses, "losses").astype(float).ravel()
    if not losses.size:
        raise ValueError("losses: expected at least one number, got none")
    return losses


def clipped(ceiling: float) -> float:
    """C = b/2 for losses in [0, b] (Hoeffding's lemma): the only constant here that holds for *every* network."""
    return checks.positive(ceiling, "ceiling") / 2
