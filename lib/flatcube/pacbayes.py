"""Norm and flatness turned into a promise: the PAC-Bayes bounds of SP, each as a sum of terms with names.

Prior N(0, σ²I), posterior N(θ, σ²I): KL = ‖θ‖²/2σ². With ``catoni`` at its best η, for losses that are C-sub-Gaussian,

    E_Δ L(θ + Δ) ≤ E_Δ L̂(θ + Δ) + C √((‖θ‖²/σ² + 2 log(1/δ))/m)        with probability 1 − δ        (SP Thm 2)

for the risk of the *noisy* network. What stands for the first term on the right makes the difference:

    truncated      σ²/2 Tr ∇²L, as if the loss were quadratic: closed forms throughout, no proof for finite σ
    semi-analytic  the loss of the noisy network, measured, with its error bar
    rigorous       R² + bδ′ from ``worstcase``, for the loss clipped at b, which has C = b/2
    grouped        a σ_g for each group of weights: σ_g² ∝ √(N_g/h_g)

θ may be a network at hand. As an *oracle* bound, θ is the hand-built network, and the learner is assumed to have found
an interpolator with no larger norm and no larger noisy loss: the domination assumption of SP. Then σ and η are fixed
before the examples are seen, and are free. ``choices`` pays for picking among that many of them afterwards: log(K/δ).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from flatcube import cube, design, worstcase
from flatcube.account import INPUTS, Account, disjoint, of_design, of_model, of_tiling
from flatcube.capacity import Bound, occam, samples_needed, sparse_functions
from flatcube.catoni import alquier, catoni, divergence, small_kl
from flatcube.sampling import check_count, check_positive, check_probability, check_samples

__all__ = [
    "Promise", "MESH", "truncated", "best_sigma", "semi_analytic", "noisy_loss", "noisy_losses", "grouped",
    "group_sigmas", "rigorous", "rigorous_groups", "samples_needed",
    "Account", "of_model", "of_design", "of_tiling", "disjoint",
    "catoni", "alquier", "divergence", "small_kl", "occam", "sparse_functions",
]  # fmt: skip

MESH = np.linspace(1e-5, 1e-2, 20)  # SP Sec. 2.1: twenty values of σ, evenly spaced

Sigmas = float | Mapping[str, float]


@dataclass(frozen=True)
class Promise(Bound):
    """A bound together with the σ it was taken at, and the standard error of what was measured in it."""

    sigma: Any = None
    error: float = 0.0


def _promise(sentence: str, first: Mapping[str, float], square: float, sigma: Sigmas, **given: float) -> Promise:
    """The terms ``first``, then C√((square + 2 log(K/δ))/m) in two parts: what the norm costs, and what δ adds."""
    m, C = check_samples(given["m"]), check_positive(given["C"], "C", 0)
    logarithm = math.log(check_count(given.get("choices", 1), "choices") / check_probability(given["delta"], "delta"))
    norm, whole = (C * math.sqrt(s / m) for s in (square, square + 2 * logarithm))
    added = C**2 * 2 * logarithm / m / (whole + norm) if C else 0.0  # whole − norm, without cancellation
    terms = {**first, "norm": norm, "confidence": added}
    return Promise(f"{sentence} on {m:g} examples is at most", terms, sigma, given.get("error", 0.0))


# --- one sigma --------------------------------------------------------------------------------------------------------


def best_sigma(norm2: float, trace: float, *, m: float, C: float) -> float:
    """σ* = (C‖θ‖/(√m Tr ∇²L))^(1/3): it balances aσ² against b/σ, where the second is twice the first (SP App. E.2)."""
    root = check_positive(C, "C") * math.sqrt(check_positive(norm2, "norm2") / check_samples(m))
    return (root / check_positive(trace, "trace")) ** (1 / 3)


def truncated(
    norm2: float, trace: float, *, m: float, C: float, delta: float, sigma: float | None = None, choices: int = 1
) -> Promise:
    """σ²/2 Tr ∇²L + C√((‖θ‖²/σ² + 2 log(1/δ))/m), at σ* unless σ is given.

    At σ* it is 3/2 (C² Tr ∇²L ‖θ‖²/m)^(1/3), and δ's part.

    >>> round(truncated(1000, 1e4, m=1e6, C=0.1, delta=0.05).value, 4)
    0.6962
    """
    check_positive(norm2, "norm2", 0)
    check_positive(trace, "trace", 0)
    sigma = best_sigma(norm2, trace, m=m, C=C) if sigma is None else check_positive(sigma, "sigma")
    terms = {"sharpness": sigma**2 / 2 * trace}
    return _promise("The risk, truncated,", terms, norm2 / sigma**2, sigma, m=m, C=C, delta=delta, choices=choices)


def semi_analytic(
    norm2: float,
    loss: Mapping[float, Any] | Callable[[float], Any],
    *,
    m: float,
    C: float,
    delta: float,
    trace: float | None = None,
    sigma: float | None = None,
    choices: int = 1,
) -> Promise:
    """The same with the loss of the noisy network as it was measured, at σ or at the best σ of a mesh (SP Sec. 1.1).

    ``loss`` gives an Estimate or a number for each σ: a dict, or a function that is asked on ``MESH``. With ``trace``,
    the loss is shown in two terms: sharpness σ²/2 Tr ∇²L, and perturbation, the rest, which may be negative. The
    standard error of the measurement becomes ``error``.
    """
    given = {"m": m, "C": C, "delta": delta, "choices": choices}
    if not (callable(loss) or isinstance(loss, Mapping)):
        raise TypeError(f"loss: expected a dict or a function of σ, got {type(loss).__name__}")
    mesh = MESH.tolist() if callable(loss) else list(loss)
    mesh = mesh if sigma is None else [check_positive(sigma, "sigma")]
    found = {s: loss(s) if callable(loss) else loss.get(s) for s in mesh}
    if not found or None in found.values():
        raise ValueError(f"loss: expected at least one σ with its loss, got none{f' for {sigma}' if sigma else ''}")
    promises = []
    for s, estimate in found.items():
        value, error = _measured(estimate)
        flat = 0.0 if trace is None else s**2 / 2 * check_positive(trace, "trace", 0)
        terms = {"noisy loss": value} if trace is None else {"sharpness": flat, "perturbation": value - flat}
        square = check_positive(norm2, "norm2", 0) / check_positive(s, "sigma") ** 2
        promises.append(_promise("The risk, semi-analytic,", terms, square, s, error=error, **given))
    return min(promises, key=lambda promise: promise.value)


def _measured(loss: Any) -> tuple[float, float]:
    """A loss and its standard error, from an Estimate or a number."""
    pair = cube.check_numbers([getattr(loss, "value", loss), getattr(loss, "error", 0.0)], "loss")
    if pair.shape != (2,) or pair.min() < 0:
        raise ValueError(f"loss: expected an Estimate or a number ≥ 0, got {loss!r:.60}")
    return float(pair[0]), float(pair[1])


def noisy_loss(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    sigma: Sigmas,
    directions: int = 200,
    seed: int = 0,
    groups: Mapping[str, str] | None = None,
    exclude: Sequence[str] = INPUTS,
    flat: float | None = None,
) -> Any:
    """E_Δ E_x (f_{θ+Δ}(x) − y)² as an Estimate, for Gaussian noise of one σ, or of a σ for each group.

    Groups and ``exclude`` are as in ``of_model``. Without y, the network's own outputs are the targets. ``flat`` is the
    quadratic part Σ σ_g²h_g/2, if it is known: then only the rest is sampled, as the difference to the same shifts
    made a thousand times smaller, which cancels most of the chance.
    """
    import torch

    from flatcube.landscape import Landscape, random_vectors, sampled

    land = Landscape(model, x, y, exclude=exclude)
    names = {name: (groups or {}).get(name, name) for name in land.shapes}
    sd = sigma if isinstance(sigma, Mapping) else dict.fromkeys(names.values(), check_positive(sigma, "sigma"))
    if set(sd) != set(names.values()):
        wanted = ", ".join(dict.fromkeys(names.values()))
        raise ValueError(f"sigma: expected a number for each of {wanted}, got {', '.join(sd)}")
    sd = {group: check_positive(value, f"sigma[{group}]", 0) for group, value in sd.items()}
    parts = [torch.full((shape.numel(),), sd[names[name]]) for name, shape in land.shapes.items()]
    scale, small = torch.cat(parts).to(land.theta), 1e-3
    chunk, _ = land.chunks(check_count(directions, "directions", 2), "outputs")
    draws = []
    for some in random_vectors(directions, land.theta, seed=seed, chunk=chunk):
        loss = (land.outputs(scale * some) - land.y).square().mean(1)
        if flat is not None:
            loss = loss - (land.outputs(small * scale * some) - land.base).square().mean(1) / small**2
        draws.append(loss)
    queries = directions * len(land.x) * (1 + (flat is not None))
    return sampled(torch.cat(draws), confidence=0.95, queries=queries, method="noisy loss", offset=flat or 0.0)


def noisy_losses(
    model: Any, x: Any, y: Any = None, *, sigmas: Any = MESH, trace: float | None = None, **options: Any
) -> dict[float, Any]:
    """``noisy_loss`` on a mesh of σ, with the same directions for all: what ``semi_analytic`` takes."""
    sigmas = [check_positive(sigma, "sigmas") for sigma in sigmas]
    flat = {sigma: None if trace is None else sigma**2 / 2 * check_positive(trace, "trace", 0) for sigma in sigmas}
    return {sigma: noisy_loss(model, x, y, sigma=sigma, flat=flat[sigma], **options) for sigma in flat}


# --- a sigma for each group -------------------------------------------------------------------------------------------


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
    limits = dict.fromkeys(norms, math.inf) | (dict(caps) if isinstance(caps, Mapping) else dict.fromkeys(norms, caps))
    if unknown := limits.keys() - norms.keys():
        raise ValueError(f"caps: expected groups among {', '.join(norms)}, got {', '.join(unknown)}")
    for name, limit in limits.items():
        if limit != math.inf:
            check_positive(limit, f"caps[{name}]")
    square = check_positive(C, "C") ** 2 / check_samples(m)
    ratios = {g: math.sqrt(n / traces[g]) if traces[g] else (math.inf if n else 0.0) for g, n in norms.items()}
    area = math.fsum(math.sqrt(n * traces[g]) for g, n in norms.items())
    best = (square / area) ** (1 / 3) if area else 1.0

    def sigmas(c: float) -> dict[str, float]:
        return {g: min(math.sqrt(c * ratio), limits[g]) for g, ratio in ratios.items()}

    def excess(log_c: float) -> float:
        return 4 * log_c + math.log(_spread(norms, sigmas(math.exp(log_c))) / square)

    if not area or all(math.isinf(limit) for limit in limits.values()):
        return sigmas(best)
    return sigmas(math.exp(brentq(excess, math.log(best) - 100, math.log(best) + 1e-6, xtol=1e-12)))


def _flat(traces: Mapping[str, float], sigmas: Mapping[str, float]) -> float:
    """Σ σ_g² h_g/2; a group without curvature adds nothing, whatever its σ."""
    return math.fsum(sigmas[name] ** 2 / 2 * trace for name, trace in traces.items() if trace)


def _spread(norms: Mapping[str, float], sigmas: Mapping[str, float]) -> float:
    """Σ N_g/σ_g² = 2 KL; a group without norm adds nothing, whatever its σ."""
    for name, norm in norms.items():
        if norm and sigmas.get(name) != math.inf:
            check_positive(sigmas.get(name), f"sigma[{name}]")
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
    sigma = group_sigmas(norms, traces, m=m, C=C, caps=caps) if sigma is None else sigma
    if not isinstance(sigma, Mapping) or sigma.keys() != norms.keys():
        raise ValueError(f"sigma: expected a number for each of {', '.join(norms)}, got {sigma!r:.60}")
    spread, flat = _spread(norms, sigma), _flat(traces, sigma)
    first, kind, error = {"sharpness": flat}, "truncated", 0.0
    if loss is not None:
        value, error = _measured(loss)
        first, kind = first | {"perturbation": value - flat}, "measured"
    sentence = f"The risk, grouped and {kind},"
    return _promise(sentence, first, spread, dict(sigma), m=m, C=C, delta=delta, error=error)


# --- nothing left out -------------------------------------------------------------------------------------------------


def rigorous(
    plan: design.Design,
    bits: np.ndarray,
    *,
    m: float,
    delta: float,
    clip: float = 4.0,
    sigma: Sigmas | None = None,
    rare: float | None = None,
) -> Promise:
    """The bound for the loss clipped at b = ``clip``: mean of min(R_x², b) over ``bits``, + bδ′ + b/2 √((…)/m).

    R_x is ``worstcase.gaussian``. ``bits`` (batch, T) are the examples, or inputs on which the learner is assumed to be
    no worse, on average, than the construction. Either way σ, a number or one for each matrix, has to be fixed before
    the examples are seen; by default it is the best of a grid. δ′ = ``rare`` is no probability over the examples and
    may be chosen last; by default it is the best of four.
    """
    bits, norms = np.ascontiguousarray(design.check_bits(bits, plan.T), dtype=np.int8), design.norms(plan)
    if not len(bits):
        raise ValueError("bits: expected at least one input, got none")
    given = {"m": m, "C": check_positive(clip, "clip") / 2, "delta": delta}
    options = (1e-2, 1e-3, 1e-4, 1e-6) if rare is None else (check_probability(rare, "rare"),)
    if isinstance(sigma, Mapping):
        tried = [(dict(sigma), *_least(worstcase.place(plan, bits), sigma, options, clip))]
    else:
        mesh = tuple(np.geomspace(1e-7, 1e-2, 81).tolist()) if sigma is None else (check_positive(sigma, "sigma"),)
        tried = _least_on_mesh(plan, bits.tobytes(), len(bits), mesh, options, clip)
    promises = []
    for s, loss, p in tried:
        square = _spread(norms, s if isinstance(s, dict) else dict.fromkeys(norms, s))
        terms = {"noisy loss": loss, "rare events": clip * p}
        promises.append(_promise("The clipped risk, with nothing left out,", terms, square, s, **given))
    return min(promises, key=lambda promise: promise.value)


def _least(where: worstcase.Place, sigma: Sigmas, options: Sequence[float], clip: float) -> tuple[float, float]:
    """The mean of min(R_x², clip) and the δ′ at which it is, with clip·δ′, smallest."""
    moved = {p: float(np.minimum(worstcase.gaussian(where, sigma, p).bound ** 2, clip).mean()) for p in options}
    p = min(moved, key=lambda p: moved[p] + clip * p)
    return moved[p], p


@lru_cache(maxsize=16)  # the loss does not depend on m, and one asks for many m
def _least_on_mesh(
    plan: design.Design, bits: bytes, rows: int, mesh: tuple[float, ...], options: tuple[float, ...], clip: float
) -> list[tuple[float, float, float]]:
    where = worstcase.place(plan, np.frombuffer(bits, dtype=np.int8).reshape(rows, plan.T))
    return [(sigma, *_least(where, sigma, options, clip)) for sigma in mesh]


def rigorous_groups(
    plan: design.Design, bits: np.ndarray, *, m: float, delta: float, clip: float = 4.0, rounds: int = 3
) -> Promise:
    """``rigorous`` with a σ for each matrix, found by turning one after the other from the best common σ."""
    best = rigorous(plan, bits, m=m, delta=delta, clip=clip)
    best = replace(best, sigma=dict.fromkeys(worstcase.GROUPS, best.sigma))
    for factors in [(0.25, 0.5, 2, 4, 16)] * check_count(rounds, "rounds") + [(0.7, 0.85, 1.2, 1.4)]:
        for group in worstcase.GROUPS:
            tried = [best.sigma | {group: best.sigma[group] * factor} for factor in factors]
            found = (rigorous(plan, bits, m=m, delta=delta, clip=clip, sigma=sigma) for sigma in tried)
            best = min([best, *found], key=lambda promise: promise.value)
    return best
