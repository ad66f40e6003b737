"""Bounds with nothing left out: the loss is clipped, and the noisy network stays within what ``worstcase`` proves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from flatcube import checks
from flatcube.handmade import design, formulas
from flatcube.pacbayes import worstcase
from flatcube.pacbayes.groups import spread
from flatcube.pacbayes.promises import Promise, Sigmas, promise

__all__ = ["rigorous", "rigorous_groups"]


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
    checks.instance(plan, "plan", design.Design)
    bits, norms = np.ascontiguousarray(design.check_bits(bits, plan.T), dtype=np.int8), formulas.norms(plan)
    if not len(bits):
        raise ValueError("bits: expected at least one input, got none")
    given = {"m": m, "C": checks.positive(clip, "clip") / 2, "delta": delta}
    options = (1e-2, 1e-3, 1e-4, 1e-6) if rare is None else (checks.probability(rare, "rare"),)
    if isinstance(sigma, Mapping):
        tried = [(dict(sigma), *_least(worstcase.place(plan, bits), sigma, options, clip))]
    else:
        mesh = tuple(np.geomspace(1e-7, 1e-2, 81).tolist()) if sigma is None else (checks.positive(sigma, "sigma"),)
        tried = _least_on_mesh(plan, bits.tobytes(), len(bits), mesh, options, clip)
    promises = []
    for s, loss, p in tried:
        square = spread(norms, s if isinstance(s, dict) else dict.fromkeys(norms, s))
        terms = {"noisy loss": loss, "rare events": clip * p}
        promises.append(promise("The clipped risk, with nothing left out,", terms, square, s, **given))
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
    for factors in [(0.25, 0.5, 2, 4, 16)] * checks.integer(rounds, "rounds", 1, 100) + [(0.7, 0.85, 1.2, 1.4)]:
        for group in worstcase.GROUPS:
            tried = [best.sigma | {group: best.sigma[group] * factor} for factor in factors]
            found = (rigorous(plan, bits, m=m, delta=delta, clip=clip, sigma=sigma) for sigma in tried)
            best = min([best, *found], key=lambda promise: promise.value)
    return best
