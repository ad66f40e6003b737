"""The second derivative of the loss: its trace, its top eigenvalue, and both away from the minimum.

    ∇²L = 2 E[∇f ∇fᵀ] + 2 E[(f − y) ∇²f],    so  Tr ∇²L = 2 E‖∇f‖²  wherever f = y       (formulas: SP Thm 5)

- exact: per-sample gradient norms where the loss is zero, one product ∇²L eᵢ per weight elsewhere;
- Hutchinson 1990: E vᵀ∇²L v over random signs v;
- Hutch++ (Meyer, Musco, Musco and Woodruff 2021): the trace on a random subspace, and Hutchinson on the rest.
"""

import math
import time
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks.guests import outside
from flatcube.networks.tensors import Exclude
from flatcube.sampling import Estimate
from flatcube.sharpness._losses import Loss
from flatcube.sharpness.gradients import _norms
from flatcube.sharpness.landscape import (
    BUDGET,
    Landscape,
    Sampled,
    _check_shift,
    _known,
    _repeats,
    _sampled,
    random_vectors,
)

__all__ = ["hessian", "hessian_trace", "perturbed_trace", "top_eigenvalue"]

_METHODS = ("exact", "gauss-newton", "hutchinson", "hutch++")
_WIDEST = 20_000  # weights whose Hessian is written out: 3 GB
_LONG = 30.0  # seconds of an exact trace that one is warned of
_ROUNDING = 1e-12  # residuals this small, relative to the outputs, count as zero


def hessian(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    budget: int = BUDGET,
    progress: bool = False,
) -> Tensor:
    """∇²L as a matrix (D, D), for small networks: D products, and D² numbers."""
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    checks.integer(land.size, "model: the number of its weights", 1, _WIDEST)
    checks.room(2 * land.size * land.theta.nbytes, "model: its Hessian")
    with land.watched("Hessian", land.size):
        return land.products(torch.eye(land.size, dtype=land.theta.dtype, device=land.theta.device))


def hessian_trace(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    method: str = "exact",
    probes: int = 100,
    patience: float = 600.0,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
    progress: bool = False,
) -> Estimate:
    """Tr ∇²L for L = E(f_θ(x) − y)², over the given inputs; without y, at the minimum y = f_θ (SP Thm 5).

    ``exact`` takes 2 E‖∇f‖² where the residuals are zero up to rounding, and D Hessian products elsewhere; the first of
    them tell how long all will take; beyond ``patience`` seconds of the processor that is refused, beyond 30 one is
    warned.
    ``gauss-newton`` is 2 E‖∇f‖² in any case. ``hutchinson`` and ``hutch++`` use ``probes`` products in all and return
    their standard error. What x, y, ``loss`` and ``exclude`` may be says ``Landscape``; ``progress`` shows a bar.
    """
    checks.word(method, "method", _METHODS)
    _repeats(probes, "probes"), checks.count(seed, "seed", 0), checks.probability(confidence, "confidence")
    checks.positive(patience, "patience")
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    if method == "gauss-newton" and loss != "squared":
        raise ValueError("method: expected another than 'gauss-newton', which is for the squared loss, got it")
    if method == "gauss-newton" or (method == "exact" and _interpolates(land)):
        norms = _norms(land, exclude)
        total = float(sum(norm.double().sum() for norm in norms.values()))
        return _known(2 * total / land.count, queries=land.count, method=method)
    if method == "exact":
        return _known(_exact_trace(land, patience), queries=land.size * land.count, method=method)
    route = _hutchinson if method == "hutchinson" else _hutch_plus_plus
    return route(land, probes, seed, confidence)


def perturbed_trace(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    kind: str = "gaussian",
    directions: int = 100,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
    progress: bool = False,
) -> Sampled:
    """E_Δ Tr ∇²L(θ+Δ) for shifts of scale ``rho`` (see ``sharpness.average_direction``), y fixed at θ.

    One random sign vector per shift: vᵀ∇²L(θ+Δ)v has the right mean over both.
    """
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    count, rho = _repeats(directions, "directions"), _check_shift(rho, kind)
    traces = _curvatures(land, count, seed, kind=kind, scales=torch.full((count,), rho, dtype=torch.float64))
    method = f"trace of the perturbed Hessian, {kind}"
    return _sampled(traces, confidence=confidence, queries=count * land.count, method=method)


def top_eigenvalue(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    steps: int = 50,
    tolerance: float = 1e-8,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    budget: int = BUDGET,
    progress: bool = False,
) -> Estimate:
    """The largest eigenvalue of ∇²L, by Lanczos with full reorthogonalisation.

    value is the largest Ritz value, which never exceeds the eigenvalue; [low, high] = value ± residual holds an
    eigenvalue for certain, after enough steps the largest. It stops when the residual is below ``tolerance`` times the
    value.
    """
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    steps, tolerance = min(_repeats(steps, "steps", 1), land.size), checks.positive(tolerance, "tolerance", 0)
    start = next(random_vectors(1, land.theta, kind="sphere", seed=seed))
    with land.watched("Lanczos", steps):
        value, residual, taken = _lanczos(land, start, steps, tolerance)
    return Estimate(value, value - residual, value + residual, 1.0, 0, taken * land.count, f"Lanczos, {taken} steps")


def _lanczos(land: Landscape, basis: Tensor, steps: int, tolerance: float) -> tuple[float, float, int]:
    """The largest Ritz value from a unit vector (1, D), its residual, and how many steps were taken."""
    images = land.products(basis)
    while True:
        small = basis @ images.T
        values, vectors = torch.linalg.eigh((small + small.T) / 2)
        value, ritz = float(values[-1]), vectors[:, -1]
        residual = float(torch.linalg.vector_norm(ritz @ images - value * (ritz @ basis)))
        fresh = images[-1] - (images[-1] @ basis.T) @ basis
        fresh = fresh - (fresh @ basis.T) @ basis  # twice is enough
        length = torch.linalg.vector_norm(fresh)
        spent = len(basis) >= steps or float(length) <= torch.finfo(fresh.dtype).eps * abs(value)
        if residual <= tolerance * abs(value) or spent:
            return value, residual, len(basis)
        basis = torch.cat([basis, (fresh / length)[None]])
        images = torch.cat([images, land.products(basis[-1:])])


def _curvatures(land: Landscape, count: int, seed: int, *, kind: str, scales: Tensor, stream: str = "shifts") -> Tensor:
    """vᵀ∇²L(θ + s_k Δ_k)v for ``count`` shifts of scales s (count,) and a random sign vector each: (count,)."""
    _repeats(count, "directions")
    chunk, _ = land._chunks(count, "products")
    shifts = random_vectors(count, land.theta, kind=kind, seed=seed, stream=stream, chunk=chunk)
    signs = random_vectors(count, land.theta, kind="signs", seed=seed, stream="signs", chunk=chunk)
    parts = zip(shifts, signs, scales.to(land.theta).split(chunk), strict=True)
    with land.watched("products with the Hessian", count):
        return torch.cat([(v * land.products(v, shift * scale[:, None])).sum(1) for shift, v, scale in parts])


def _interpolates(land: Landscape) -> bool:
    if land.loss != "squared":
        return False
    if land.given is None:
        return True
    return float((land.base - land.y).abs().max()) <= _ROUNDING * float(land.base.abs().max())


def _exact_trace(land: Landscape, patience: float) -> float:
    """Σ_i eᵢᵀ∇²L eᵢ, as many i at once as memory allows."""
    chunk, rows = land._chunks(land.size, "products")
    total, start = 0.0, time.process_time()
    with land.watched("exact trace", land.size):
        for places in torch.arange(land.size).split(chunk):
            units = nn.functional.one_hot(places, land.size).to(land.theta)
            total += float((units * land.products(units)).sum())
            if not places[0] and len(places) < land.size:
                each = (time.process_time() - start) / chunk
                _announce(land.size, each, land._held(chunk, rows, "products"), patience)
    return total


def _announce(products: int, each: float, held: int, patience: float) -> None:
    """Refuse or warn of so many products that take so many seconds ``each``, and hold so many bytes."""
    if products * each <= min(_LONG, patience):
        return
    least = min(100, products)
    told = f"{products:,} products with the Hessian, about {_duration(products * each)} and {held / 1e6:,.0f} MB"
    cheaper = f"'hutch++' with {least} probes takes about {_duration(least * each)}"
    if products * each > patience:
        raise ValueError(f"method: expected one within patience = {patience:g} s, got 'exact': {told}; {cheaper}")
    warnings.warn(f"method: 'exact' takes {told}; {cheaper}", stacklevel=outside())


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{math.ceil(seconds)} s"


def _hutchinson(land: Landscape, probes: int, seed: int, confidence: float) -> Sampled:
    zeros = torch.zeros(_repeats(probes, "probes"))
    draws = _curvatures(land, probes, seed, kind="gaussian", scales=zeros)
    return _sampled(draws, confidence=confidence, queries=probes * land.count, method="hutchinson")


def _hutch_plus_plus(land: Landscape, probes: int, seed: int, confidence: float) -> Sampled:
    """Tr(QᵀHQ) + the mean of gᵀ(I − QQᵀ)H(I − QQᵀ)g, with a third of the products for each of HS, HQ and Hg."""
    third = _repeats(probes, "probes", 6) // 3
    sketch, signs = next(random_vectors(2 * third, land.theta, kind="signs", seed=seed, stream="signs")).split(third)
    with land.watched("products with the Hessian", 3 * third):
        q, _ = torch.linalg.qr(land.products(sketch).T)  # (D, third)
        found = float((q.T * land.products(q.T)).sum())
        rest = signs - (signs @ q) @ q.T
        draws = (rest * land.products(rest)).sum(1)
    queries = 3 * third * land.count
    return _sampled(draws, confidence=confidence, queries=queries, method="hutch++", offset=found)
