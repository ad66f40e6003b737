"""A σ for each group of weights: the best ones, and the bound with them."""

import math
from collections.abc import Mapping
from typing import Any

from scipy.optimize import brentq

from flatcube import checks
from flatcube.pacbayes.account import Account
from flatcube.pacbayes.promises import Promise, measured, promise

__all__ = ["grouped", "group_sigmas"]


def group_sigmas(
    norms: Mapping[str, float],
    traces: Mapping[str, float],
    *,
    m: float,
    C: float,
    caps: float | Mapping[str, float] = math.inf,
) -> dict[str, float]:
    """σ_g² = c √(N_g/h_g), no larger than the caps: the best for the truncated bound.

    c⁴ Σ N_g/σ_g² = C²/m. Without caps c = (C²/(Am))^(1/3) with A = Σ √(N_g h_g), and a group without curvature gets
    σ_g = ∞. A group without norm gets σ_g = 0: its noise would cost and its absence is free.
    """
    Account(norms, traces)  # which checks both
    limits = _limits(norms, caps)
    square = checks.positive(C, "C") ** 2 / checks.samples(m)
    ratios = {g: math.sqrt(n / traces[g]) if traces[g] else (math.inf if n else 0.0) for g, n in norms.items()}
    area = math.fsum(math.sqrt(n * traces[g]) for g, n in norms.items())
    best = (square / area) ** (1 / 3) if area else 1.0

    def sigmas(c: float) -> dict[str, float]:
        return {g: min(math.sqrt(c * ratio), limits[g]) for g, ratio in ratios.items()}

    def excess(log_c: float) -> float:
        return 4 * log_c + math.log(spread(norms, sigmas(math.exp(log_c))) / square)

    if not area or all(math.isinf(limit) for limit in limits.values()):
        return sigmas(best)
    try:
        return sigmas(math.exp(brentq(excess, math.log(best) - 100, math.log(best) + 1e-6, xtol=1e-12)))
    except (ValueError, ArithmeticError):
        raise ValueError("norms, traces, caps: expected numbers of sizes that can be compared, got extremes") from None


def _limits(norms: Mapping[str, float], caps: float | Mapping[str, float]) -> dict[str, float]:
    """The largest σ of every group; infinite where there is no cap."""
    limits = dict.fromkeys(norms, math.inf) | (dict(caps) if isinstance(caps, Mapping) else dict.fromkeys(norms, caps))
    if unknown := limits.keys() - norms.keys():
        raise ValueError(f"caps: expected groups among {', '.join(norms)}, got {', '.join(map(str, unknown))}")
    for name, limit in limits.items():
        if limit != math.inf:
            checks.positive(limit, f"caps[{name}]")
    return limits


def _flat(traces: Mapping[str, float], sigmas: Mapping[str, float]) -> float:
    """Σ σ_g² h_g/2; a group without curvature adds nothing, whatever its σ."""
    return math.fsum(checks.number(sigmas[name], f"sigma[{name}]", 0) ** 2 / 2 * h for name, h in traces.items() if h)


def spread(norms: Mapping[str, float], sigmas: Mapping[str, float]) -> float:
    """Σ N_g/σ_g² = 2 KL; a group without norm adds nothing, whatever its σ."""
    for name, norm in norms.items():
        if norm and sigmas.get(name) != math.inf:
            checks.positive(sigmas.get(name), f"sigma[{name}]")
    return math.fsum(norm / sigmas[name] ** 2 for name, norm in norms.items() if norm)


def grouped(
    norms: Mapping[str, float],
    traces: Mapping[str, float],
    *,
    m: float,
    C: float,
    delta: float,
    sigma: Mapping[str, float] | None = None,
    caps: float | Mapping[str, float] = math.inf,
    loss: Any = None,
) -> Promise:
    """Σ σ_g²h_g/2 + C√((Σ N_g/σ_g² + 2 log(1/δ))/m), by default at ``group_sigmas``: 3/2 (A²C²/m)^(1/3) without caps.

    Without caps, groups of no curvature get infinite noise, which no network survives: that value is a limit that is
    not attained. With caps, and with the ``loss`` of the noisy network measured at these σ as the first term, it is.
    """
    Account(norms, traces)  # which checks both
    _limits(norms, caps)
    sigma = group_sigmas(norms, traces, m=m, C=C, caps=caps) if sigma is None else sigma
    if not isinstance(sigma, Mapping) or sigma.keys() != norms.keys():
        raise ValueError(f"sigma: expected a number for each of {', '.join(norms)}, got {sigma!r:.60}")
    flat = _flat(traces, sigma)
    first, kind, error = {"sharpness": flat}, "truncated", 0.0
    if loss is not None:
        value, error = measured(loss)
        first, kind = first | {"perturbation": value - flat}, "measured"
    sentence = f"The risk, grouped and {kind},"
    return promise(sentence, first, spread(norms, sigma), dict(sigma), m=m, C=C, delta=delta, error=error)
