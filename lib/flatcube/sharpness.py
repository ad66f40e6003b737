"""How much a small change of the weights changes what a network computes.

    L_ρ = E_x E_Δ (f_{θ+Δ}(x) − f_θ(x))²    average-direction sharpness (HR Eq. 15)

with Δ uniform on the sphere of radius ρ, or Gaussian with standard deviation ρ in every weight, a shift of norm about
ρ√D. Position encodings are left alone unless ``exclude`` says otherwise: their number grows with the input (HR Sec. 5).
All means are over the given inputs; standard errors and intervals are over the directions.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import landscape
from flatcube.gradients import gradient_norms
from flatcube.hessian import curvatures, hessian, hessian_trace, perturbed_trace, top_eigenvalue
from flatcube.landscape import BUDGET, Draws, Landscape, Sampled, chosen, generator, random_vectors, sampled
from flatcube.sampling import Estimate, check_count, check_positive

__all__ = [
    "average_direction", "Sharpness", "radius", "parameter_norm", "worst_direction", "Worst", "shop", "shpred",
    "gradient_norms", "hessian", "hessian_trace", "perturbed_trace", "top_eigenvalue", "heat", "Heat",
    "input_shift",
]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Sharpness(Sampled):
    """A mean over directions, with what makes it comparable: Var f over the inputs, and ‖Δ‖/‖θ‖."""

    variance: float
    relative_radius: float

    @property
    def relative(self) -> float:
        """The value divided by Var f, the loss of the best constant."""
        if not self.variance > 0:
            raise ValueError("relative: the network is constant on these inputs, so there is no variance to divide by")
        return self.value / self.variance


def average_direction(
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
) -> Sharpness:
    """L_ρ = E_x E_Δ (f_{θ+Δ}(x) − f_θ(x))² (HR Eq. 15); with targets y, the perturbed loss E_x E_Δ (f_{θ+Δ}(x) − y)².

    ``rho`` is the norm of Δ for kind "sphere", the standard deviation of every weight for kind "gaussian". The same
    seed draws the same directions for every rho.
    """
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    draws = Draws(directions=directions, seed=seed, confidence=confidence)
    return _mean_change(land, _squares, "squared change", rho=rho, kind=kind, **draws)


def radius(rho: float, count: int, kind: str = "gaussian") -> float:
    """√E‖Δ‖² for D = ``count`` weights: ρ on the sphere, ρ√D for Gaussian shifts.

    >>> round(radius(0.02, 199_425), 1)
    8.9
    """
    rho = landscape.check_shift(rho, kind)
    return rho * math.sqrt(check_count(count, "count")) if kind == "gaussian" else rho


def parameter_norm(model: nn.Module, *, exclude: Sequence[str] = ("positions",)) -> float:
    """‖θ‖ over all weights but the position encodings (HR Sec. 7.1, metric 1)."""
    return math.sqrt(sum(float(weight.square().sum()) for weight in chosen(model, exclude).values()))


def shop(
    model: nn.Module, x: Tensor | np.ndarray, *, rho: float, exclude: Sequence[str] = (), **draws: Unpack[Draws]
) -> Sharpness:
    """ShOp = E_x E_Δ |f_{θ+Δ}(x) − f_θ(x)| for Gaussian Δ, all weights (VA Sec. 7.2); added up over several outputs."""
    land = Landscape(model, x, exclude=exclude, budget=draws.pop("budget", BUDGET))
    return _mean_change(land, _distances, "ShOp", rho=rho, **draws)


def shpred(
    model: nn.Module, x: Tensor | np.ndarray, *, rho: float, exclude: Sequence[str] = (), **draws: Unpack[Draws]
) -> Sharpness:
    """ShPred: the share of inputs whose prediction changes under Gaussian Δ (VA Sec. 7.2).

    The prediction of one output is 1[f ≥ 0], that of several the place of the largest.
    """
    land = Landscape(model, x, exclude=exclude, budget=draws.pop("budget", BUDGET))
    return _mean_change(land, _flips, "ShPred", rho=rho, **draws)


def _mean_change(
    land: Landscape,
    change: Callable[[Tensor, Tensor], Tensor],
    name: str,
    *,
    rho: float,
    kind: str = "gaussian",
    directions: int = 100,
    seed: int = 0,
    confidence: float = 0.95,
) -> Sharpness:
    """The mean of ``change`` (K, batch) over the inputs, for each of many random shifts, as an estimate."""
    count, far = check_count(directions, "directions", 2), radius(rho, land.size, kind)
    chunk, _ = land.chunks(count, "outputs")
    shifts = random_vectors(count, land.theta, kind=kind, seed=seed, chunk=chunk)
    draws = torch.cat([change(land.outputs(rho * some), land.y).double().mean(1) for some in shifts])
    found = sampled(draws, confidence=confidence, queries=count * len(land.x), method=f"{name}, {kind}")
    norm = float(torch.linalg.vector_norm(land.theta.double()))
    variance = float(land.base.double().var(dim=0, correction=0).sum())
    return Sharpness(**vars(found), variance=variance, relative_radius=far / norm if norm else math.inf)


def _per_input(values: Tensor) -> Tensor:
    """(K, batch, …) with further axes summed: (K, batch)."""
    return values.reshape(*values.shape[:2], -1).sum(-1)


def _squares(outputs: Tensor, reference: Tensor) -> Tensor:
    return _per_input((outputs - reference).square())


def _distances(outputs: Tensor, reference: Tensor) -> Tensor:
    return _per_input((outputs - reference).abs())


def _flips(outputs: Tensor, reference: Tensor) -> Tensor:
    return (_predictions(outputs, 2) != _predictions(reference, 1)).to(outputs.dtype)


def _predictions(outputs: Tensor, axes: int) -> Tensor:
    return outputs >= 0 if outputs.ndim == axes else outputs.argmax(-1)


# --- the worst direction ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Worst(Estimate):
    """The largest change found, a lower bound on the largest there is; ``shift`` (D,) attains it."""

    shift: Tensor


def worst_direction(
    model: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    steps: int = 30,
    starts: int = 4,
    seed: int = 0,
    exclude: Sequence[str] = ("positions",),
    budget: int = BUDGET,
) -> Worst:
    """max over ‖Δ‖ = ρ of E_x (f_{θ+Δ}(x) − f_θ(x))², by ascent along the gradient projected back to the sphere.

    Each of ``starts`` random Δ tries Δ ← ρ(Δ/ρ + s∇L/‖∇L‖) scaled to norm ρ; s grows with every success, towards power
    iteration, and shrinks with every failure, so the loss never falls.
    """
    rho = check_positive(rho, "rho")
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    shifts = rho * next(random_vectors(check_count(starts, "starts"), land.theta, kind="sphere", seed=seed))
    losses, gradients = land.losses(shifts), land.gradients(shifts)
    reach = torch.full_like(losses, 8.0)
    for _ in range(check_count(steps, "steps")):
        uphill = gradients / torch.linalg.vector_norm(gradients, dim=1, keepdim=True).clamp_min(1e-300)
        tried = shifts / rho + reach[:, None] * uphill
        tried = rho * tried / torch.linalg.vector_norm(tried, dim=1, keepdim=True)
        found = land.losses(tried)
        better = found > losses
        shifts = torch.where(better[:, None], tried, shifts)
        losses, reach = torch.where(better, found, losses), torch.where(better, reach * 4, reach / 4)
        gradients = land.gradients(shifts)
    best = int(losses.argmax())
    value, queries = float(losses[best]), (2 * steps + 2) * starts * len(land.x)
    return Worst(value, value, math.inf, 1.0, starts, queries, "projected ascent", shifts[best])


# --- the heat equation ------------------------------------------------------------------------------------------------


class Heat(NamedTuple):
    """The two sides of the heat identity."""

    increase: Sampled
    integral: Sampled


def heat(
    model: nn.Module,
    x: Tensor | np.ndarray,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    directions: int = 1000,
    seed: int = 0,
    exclude: Sequence[str] = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
) -> Heat:
    """E L(θ + ρg) − L(θ) and ½ ∫₀^{ρ²} E Tr ∇²L(θ + √s g) ds for Gaussian g: equal where L is twice differentiable.

    The integral takes a random s for every g. At the kinks of relu, ∇²L misses what the slope jumps by, so for networks
    with relu the two sides differ, and the increase is the one to trust.
    """
    land = Landscape(model, x, y, exclude=exclude, budget=budget)
    start = float(land.losses(land.theta.new_zeros(1, land.size)))
    increase = _mean_change(land, _squares, "loss", rho=rho, directions=directions, seed=seed, confidence=confidence)
    shifted = torch.from_numpy(increase.draws)
    times = torch.rand(directions, generator=generator(seed, "times"), dtype=torch.float64)  # s/ρ²
    traces = curvatures(land, directions, seed, kind="gaussian", scales=rho * times.sqrt(), stream="heat")
    queries = directions * len(land.x)
    return Heat(
        sampled(shifted, confidence=confidence, queries=queries, method="increase of the loss", offset=-start),
        sampled(rho**2 / 2 * traces, confidence=confidence, queries=queries, method="integral of the trace"),
    )


# --- weights and inputs -----------------------------------------------------------------------------------------------


def input_shift(theta: Tensor, x: Tensor, dx: Tensor) -> Tensor:
    """The change (θ·dx/‖x‖²) x of the weights of x ↦ θ·x that acts like changing x by dx (VA Sec. 7.2)."""
    return (theta * dx).sum(-1, keepdim=True) / x.square().sum(-1, keepdim=True) * x
