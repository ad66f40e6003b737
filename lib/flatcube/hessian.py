"""The second derivative of the loss: its trace, its top eigenvalue, and both away from the minimum.

    ∇²L = 2 E[∇f ∇fᵀ] + 2 E[(f − y) ∇²f],    so  Tr ∇²L = 2 E‖∇f‖²  wherever f = y       (formulas: SP Thm 5)

- exact: per-sample gradient norms where the loss is zero, one product ∇²L eᵢ per weight elsewhere;
- Hutchinson 1990: E vᵀ∇²L v over random signs v;
- Hutch++ (Meyer, Musco, Musco and Woodruff 2021): the trace on a random subspace, and Hutchinson on the rest.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from flatcube.gradients import gradient_norms
from flatcube.landscape import BUDGET, Landscape, Sampled, check_shift, known, random_vectors, sampled
from flatcube.sampling import Estimate, check_count

__all__ = ["hessian", "hessian_trace", "perturbed_trace", "top_eigenvalue"]

_METHODS = ("exact", "gauss-newton", "hutchinson", "hutch++")
_ROUNDING = 1e-12  # residuals this small, relative to the outputs, count as zero


def hessian(
    model: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray | None = None,
    *,
    exclude: Sequence[str] = ("positions",),
    budget: int = BUDGET,
) -> Tensor:
    """∇²L as a matrix (D, D), for small networks: D products, and D² numbers."""
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    return land.products(torch.eye(land.size, dtype=land.theta.dtype))


def hessian_trace(
    model: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray | None = None,
    *,
    method: str = "exact",
    probes: int = 100,
    seed: int = 0,
    exclude: Sequence[str] = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
) -> Estimate:
    """Tr ∇²L for L = E(f_θ(x) − y)², over the given inputs; without y, at the minimum y = f_θ (SP Thm 5).

    ``exact`` takes 2 E‖∇f‖² where the residuals are zero up to rounding, and D Hessian products elsewhere.
    ``gauss-newton`` is 2 E‖∇f‖² in any case. ``hutchinson`` and ``hutch++`` use ``probes`` products in all and return
    their standard error.
    """
    if method not in _METHODS:
        raise ValueError(f"method: expected one of {', '.join(_METHODS)}, got {method!r}")
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    if method == "gauss-newton" or (method == "exact" and _interpolates(land)):
        norms = gradient_norms(model, x, exclude=exclude, budget=budget)
        total = sum(norm.double().sum() for norm in norms.values())
        return known(2 * total / len(land.x), queries=len(land.x), method=method)
    if method == "exact":
        return known(_exact_trace(land), queries=land.size * len(land.x), method=method)
    route = _hutchinson if method == "hutchinson" else _hutch_plus_plus
    return route(land, probes, seed, confidence)


def perturbed_trace(
    model: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    kind: str = "gaussian",
    directions: int = 100,
    seed: int = 0,
    exclude: Sequence[str] = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
) -> Sampled:
    """E_Δ Tr ∇²L(θ+Δ) for shifts of scale ``rho`` (see ``sharpness.average_direction``), y fixed at θ.

    One random sign vector per shift: vᵀ∇²L(θ+Δ)v has the right mean over both.
    """
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    count, rho = check_count(directions, "directions", 2), check_shift(rho, kind)
    traces = curvatures(land, count, seed, kind=kind, scales=torch.full((count,), rho, dtype=torch.float64))
    method = f"trace of the perturbed Hessian, {kind}"
    return sampled(traces, confidence=confidence, queries=count * len(land.x), method=method)


def top_eigenvalue(
    model: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray | None = None,
    *,
    steps: int = 50,
    tolerance: float = 1e-8,
    seed: int = 0,
    exclude: Sequence[str] = ("positions",),
    budget: int = BUDGET,
) -> Estimate:
    """The largest eigenvalue of ∇²L, by Lanczos with full reorthogonalisation.

    value is the largest Ritz value, which never exceeds the eigenvalue; [low, high] = value ± residual holds an
    eigenvalue for certain, after enough steps the largest. It stops when the residual is below ``tolerance`` times the
    value.
    """
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    steps = min(check_count(steps, "steps"), land.size)
    basis = next(random_vectors(1, land.theta, kind="sphere", seed=seed))  # (k, D), orthonormal rows
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
            queries = len(basis) * len(land.x)
            return Estimate(value, value - residual, value + residual, 1.0, 0, queries, f"Lanczos, {len(basis)} steps")
        basis = torch.cat([basis, (fresh / length)[None]])
        images = torch.cat([images, land.products(basis[-1:])])


def curvatures(land: Landscape, count: int, seed: int, *, kind: str, scales: Tensor, stream: str = "shifts") -> Tensor:
    """vᵀ∇²L(θ + s_k Δ_k)v for ``count`` shifts of scales s (count,) and a random sign vector each: (count,)."""
    check_count(count, "directions", 2)
    chunk, _ = land.chunks(count, "products")
    shifts = random_vectors(count, land.theta, kind=kind, seed=seed, stream=stream, chunk=chunk)
    signs = random_vectors(count, land.theta, kind="signs", seed=seed, stream="signs", chunk=chunk)
    parts = zip(shifts, signs, scales.to(land.theta).split(chunk), strict=True)
    return torch.cat([(v * land.products(v, shift * scale[:, None])).sum(1) for shift, v, scale in parts])


def _interpolates(land: Landscape) -> bool:
    if land.given is None:
        return True
    return float((land.base - land.y).abs().max()) <= _ROUNDING * float(land.base.abs().max())


def _exact_trace(land: Landscape) -> float:
    """Σ_i eᵢᵀ∇²L eᵢ, as many i at once as memory allows."""
    chunk, _ = land.chunks(land.size, "products")
    total = 0.0
    for places in torch.arange(land.size).split(chunk):
        units = nn.functional.one_hot(places, land.size).to(land.theta)
        total += float((units * land.products(units)).sum())
    return total


def _hutchinson(land: Landscape, probes: int, seed: int, confidence: float) -> Sampled:
    zeros = torch.zeros(check_count(probes, "probes", 2))
    draws = curvatures(land, probes, seed, kind="gaussian", scales=zeros)
    return sampled(draws, confidence=confidence, queries=probes * len(land.x), method="hutchinson")


def _hutch_plus_plus(land: Landscape, probes: int, seed: int, confidence: float) -> Sampled:
    """Tr(QᵀHQ) + the mean of gᵀ(I − QQᵀ)H(I − QQᵀ)g, with a third of the products for each of HS, HQ and Hg."""
    third = check_count(probes, "probes", 6) // 3
    sketch, signs = next(random_vectors(2 * third, land.theta, kind="signs", seed=seed, stream="signs")).split(third)
    q, _ = torch.linalg.qr(land.products(sketch).T)  # (D, third)
    found = float((q.T * land.products(q.T)).sum())
    rest = signs - (signs @ q) @ q.T
    draws = (rest * land.products(rest)).sum(1)
    queries = 3 * third * len(land.x)
    return sampled(draws, confidence=confidence, queries=queries, method="hutch++", offset=found)
