"""Three inequalities through SP's Theorem 2, each at its best σ: how fast do their promises fall with m?

All start from L̂ = E_Δ L̂(θ + Δ) ≤ σ²/2 Tr ∇²L and KL = ‖θ‖²/2σ², and A = KL + log(1/δ). For a loss in [0, b]

    Catoni          L ≤ L̂ + b √(A/2m)                            C = b/2
    kl              L ≤ b kl⁻¹(L̂/b, (KL + log(2√m/δ))/m)         Seeger 2002, Maurer 2004
    second moment   L ≤ (L̂ + bA/2xm)/(1 − x), x in (0, 1)        since E ℓ² ≤ bL; η = 2xm/b

Catoni's excess does not shrink with the loss, so its best σ² is of order m^(−1/3), like the bound. In the other two it
does: near L̂ = 0 both are L̂ + O(√(L̂ A/m) + A/m), at their best of order ‖θ‖ √(Tr ∇²L/m). Unclipped, something has to be
assumed: C for Catoni, or that E ℓ² ≤ κ(E ℓ)² for the noisy network on *unseen* inputs. Then with η from a grid that
doubles 1024 times, which covers any L a computer can write down,

    second moment   L ≤ L̂/(1 − r),   r = 1.07 √(2κ(KL + log(1024/δ))/m) < 1,

which needs no more than KL ~ m: of order ‖θ‖² Tr ∇²L/m. The kl inequality has no unclipped form.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize_scalar

from flatcube import checks
from flatcube.capacity.bounds import readable
from flatcube.pacbayes.certified import seeger
from flatcube.pacbayes.inequalities import divergence
from flatcube.pacbayes.promises import Promise, truncated

__all__ = ["through", "slope"]

_INEQUALITIES = ("catoni", "kl", "second moment")
_DOUBLINGS = 1024
_OFF_GRID = (2**0.5 + 2**-0.5) / 2  # the nearest η of the grid is within a factor √2


def through(
    inequality: str,
    norm2: float,
    trace: float,
    *,
    m: float,
    delta: float,
    clip: float | None = 4.0,
    C: float | None = None,
    kurtosis: float | None = None,
    sigma: float | None = None,
) -> Promise:
    """Theorem 2 with "catoni", "kl" or "second moment", at the best σ unless one is given; ``clip`` clips the loss.

    With clip=None Catoni's inequality needs ``C``, and the second moment κ = ``kurtosis``.

    >>> [round(through(name, 1000, 1e4, m=1e10, delta=0.05).value, 4) for name in ("catoni", "kl", "second moment")]
    [0.2381, 0.0982, 0.1162]
    """
    checks.word(inequality, "inequality", _INEQUALITIES)
    checks.positive(norm2, "norm2")
    checks.positive(trace, "trace")
    checks.samples(m)
    checks.probability(delta, "delta")
    for name, value in {"clip": clip, "C": C, "kurtosis": kurtosis}.items():
        if value is not None:
            checks.positive(value, name)
    needed = {"catoni": ("C", C), "kl": ("clip", clip), "second moment": ("kurtosis", kurtosis)}[inequality]
    if clip is None and needed[1] is None:
        raise ValueError(f"{needed[0]}: expected a number for an unclipped loss, got None")
    if inequality == "catoni":
        constant = C if clip is None else clip / 2
        return truncated(norm2, trace, m=m, C=constant, delta=delta, sigma=sigma)
    rule = _kl if inequality == "kl" else _unclipped if clip is None else _self_bounding
    scale = checks.positive(kurtosis, "kurtosis", 1) if clip is None else checks.positive(clip, "clip")

    def levels(s: float) -> list[float]:
        """The bound with nothing, with KL, and with δ."""
        return rule(s**2 / 2 * trace, divergence(norm2, s), m, delta, scale)

    sigma = _least(lambda s: levels(s)[-1], (norm2 / (m * trace)) ** 0.25) if sigma is None else sigma
    found = levels(checks.positive(sigma, "sigma"))
    steps = [found[0], *(later - early if later < math.inf else math.inf for early, later in pairwise(found))]
    terms = dict(zip(("sharpness", "norm", "confidence"), steps, strict=True))
    return Promise(f"The risk by {inequality} on {readable(m)} examples is at most", terms, sigma)


def _kl(loss: float, kl: float, m: float, delta: float, clip: float) -> list[float]:
    bound = seeger(min(loss, clip), kl, m=m, delta=delta, clip=clip)
    first, norm = bound.terms["noisy loss"], bound.terms["divergence"]
    return [first, first + norm, bound.value]


def _self_bounding(loss: float, kl: float, m: float, delta: float, clip: float) -> list[float]:
    """(L̂ + B/2x)/(1 − x) with B = bA/m, least where 2L̂x² + 2Bx = B; never above the clip."""
    found = [loss]
    for total in (kl, kl + math.log(1 / delta)):
        budget = clip * total / m
        x = budget / (budget + math.sqrt(budget**2 + 2 * loss * budget))
        found.append((loss + budget / (2 * x)) / (1 - x))
    return [min(level, clip) for level in found]


def _unclipped(loss: float, kl: float, m: float, delta: float, kurtosis: float) -> list[float]:
    share = [_OFF_GRID * math.sqrt(2 * kurtosis * total / m) for total in (0.0, kl, kl + math.log(_DOUBLINGS / delta))]
    return [loss / (1 - r) if r < 1 else math.inf for r in share]


def _least(value: Callable[[float], float], guess: float) -> float:
    """The σ with the least value: the best of a wide grid, refined between its neighbours."""
    logs = math.log(guess) + np.linspace(-10, 10, 201)
    best = int(np.argmin([value(math.exp(log)) for log in logs]))
    ends = logs[max(best - 1, 0)], logs[min(best + 1, 200)]
    found = minimize_scalar(lambda log: value(math.exp(log)), bounds=ends, method="bounded", options={"xatol": 1e-9})
    return math.exp(min(found.x, logs[best], key=lambda log: value(math.exp(log))))


def slope(bound: Callable[[float], Promise], m: float) -> float:
    """d log value/d log m, over one decade from m on: −⅓ for Catoni's at its best σ, −½ for kl."""
    checks.function(bound, "bound", "function of m")
    early, late = (checks.positive(bound(each).value, "bound") for each in (checks.samples(m), 10 * m))
    return math.log10(late / early)
