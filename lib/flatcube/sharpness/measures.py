"""Sharpness in random directions, in the worst one, and on predictions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.tensors import Exclude
from flatcube.sampling import Estimate
from flatcube.sharpness._losses import Loss
from flatcube.sharpness.curvature import _curvatures
from flatcube.sharpness.landscape import (
    BUDGET,
    Landscape,
    Sampled,
    _check_shift,
    _chosen,
    _repeats,
    _sampled,
    random_source,
    random_vectors,
)
from flatcube.sharpness.rulers import in_own_units

__all__ = [
    "average_direction", "Sharpness", "radius", "parameter_norm", "worst_direction", "Worst", "shop", "shpred", "heat",
    "Heat", "input_shift",
]  # fmt: skip

_TINY = torch.finfo(torch.float32).tiny  # a gradient without length has no direction


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
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    kind: str = "gaussian",
    adaptive: bool = False,
    directions: int = 100,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
    progress: bool = False,
) -> Sharpness:
    """L_ρ = E_x E_Δ (f_{θ+Δ}(x) − f_θ(x))² (HR Eq. 15); with targets y, the perturbed loss E_x E_Δ (f_{θ+Δ}(x) − y)².

    ``rho`` is the norm of Δ for kind "sphere", the standard deviation of every weight for kind "gaussian". The same
    seed draws the same directions for every rho. ``adaptive``: every weight moves in units of itself, Δ_i = θ_i a_i
    with a as Δ was before, which no rescaling of a relu layer changes (Kwon, Kim, Park and Choi 2021). What x, y,
    ``loss`` and ``exclude`` may be says ``Landscape``; ``progress`` shows a bar.
    """
    model, exclude = in_own_units(model, exclude) if checks.flag(adaptive, "adaptive") else (model, exclude)
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    options = {"rho": rho, "kind": kind, "directions": directions, "seed": seed, "confidence": confidence}
    name, change = ("squared change", _squares) if loss == "squared" else ("loss", land.errors)
    return _mean_change(land, change, f"adaptive {name}" if adaptive else name, **options)


def radius(rho: float, count: int, kind: str = "gaussian") -> float:
    """√E‖Δ‖² for D = ``count`` weights: ρ on the sphere, ρ√D for Gaussian shifts.

    >>> round(radius(0.02, 199_425), 1)
    8.9
    """
    rho = _check_shift(rho, kind)
    return rho * math.sqrt(checks.count(count, "count")) if kind == "gaussian" else rho


def parameter_norm(model: nn.Module, *, exclude: Exclude = ("positions",)) -> float:
    """‖θ‖ over all weights but the position encodings (HR Sec. 7.1, metric 1)."""
    return math.sqrt(sum(float(weight.square().sum()) for weight in _chosen(model, exclude).values()))


def shop(
    model: nn.Module,
    x: Any,
    *,
    rho: float,
    directions: int = 100,
    seed: int = 0,
    exclude: Exclude = (),
    confidence: float = 0.95,
    budget: int = BUDGET,
    progress: bool = False,
) -> Sharpness:
    """ShOp = E_x E_Δ |f_{θ+Δ}(x) − f_θ(x)| for Gaussian Δ, all weights (VA Sec. 7.2); added up over several outputs."""
    land = Landscape(model, x, exclude=exclude, budget=budget, progress=progress)
    return _mean_change(land, _distances, "ShOp", rho=rho, directions=directions, seed=seed, confidence=confidence)


def shpred(
    model: nn.Module,
    x: Any,
    *,
    rho: float,
    directions: int = 100,
    seed: int = 0,
    exclude: Exclude = (),
    confidence: float = 0.95,
    budget: int = BUDGET,
    progress: bool = False,
) -> Sharpness:
    """ShPred: the share of inputs whose prediction changes under Gaussian Δ (VA Sec. 7.2).

    The prediction of one output is 1[f ≥ 0], that of several the place of the largest.
    """
    land = Landscape(model, x, exclude=exclude, budget=budget, progress=progress)
    return _mean_change(land, _flips, "ShPred", rho=rho, directions=directions, seed=seed, confidence=confidence)


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
    count, far = _repeats(directions, "directions"), radius(rho, land.size, kind)
    chunk, _ = land._chunks(count, "outputs")
    shifts = random_vectors(count, land.theta, kind=kind, seed=seed, chunk=chunk)
    y = land.y
    with land.watched(name, count):
        draws = torch.cat([change(land.outputs(rho * some), y).double().mean(1) for some in shifts])
    found = _sampled(draws, confidence=confidence, queries=count * land.count, method=f"{name}, {kind}")
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
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    adaptive: bool = False,
    steps: int = 30,
    starts: int = 4,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    budget: int = BUDGET,
    progress: bool = False,
) -> Worst:
    """max over ‖Δ‖ = ρ of E_x (f_{θ+Δ}(x) − f_θ(x))², by ascent along the gradient projected back to the sphere.

    Each of ``starts`` random Δ tries Δ ← ρ(Δ/ρ + s∇L/‖∇L‖) scaled to norm ρ; s grows with every success, towards power
    iteration, and shrinks with every failure, so the loss never falls. ``adaptive`` has the maximum over ‖a‖ = ρ of
    shifts Δ_i = θ_i a_i in place of it (Kwon et al. 2021), and ``shift`` is a. The rest is as in ``average_direction``.
    """
    rho, steps = checks.positive(rho, "rho"), _repeats(steps, "steps", 1)
    model, exclude = in_own_units(model, exclude) if checks.flag(adaptive, "adaptive") else (model, exclude)
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    first = rho * next(random_vectors(_repeats(starts, "starts", 1), land.theta, kind="sphere", seed=seed))
    with land.watched("worst direction", 2 * (steps + 1) * starts):
        shift, value = _ascent(land, first, rho, steps)
    queries = (2 * steps + 2) * starts * land.count
    return Worst(value, value, math.inf, 1.0, starts, queries, "projected ascent", shift)


def _ascent(land: Landscape, shifts: Tensor, rho: float, steps: int) -> tuple[Tensor, float]:
    """The best of the shifts (starts, D) after so many steps, and its loss."""
    losses, gradients = land.losses(shifts), land.gradients(shifts)
    reach = torch.full_like(losses, 8.0)
    for _ in range(steps):
        uphill = gradients / torch.linalg.vector_norm(gradients, dim=1, keepdim=True).clamp_min(_TINY)
        tried = shifts / rho + reach[:, None] * uphill
        tried = rho * tried / torch.linalg.vector_norm(tried, dim=1, keepdim=True)
        found = land.losses(tried)
        better = found > losses
        shifts = torch.where(better[:, None], tried, shifts)
        losses, reach = torch.where(better, found, losses), torch.where(better, reach * 4, reach / 4)
        gradients = land.gradients(shifts)
    best = int(losses.argmax())
    return shifts[best], float(losses[best])


# --- the heat equation ------------------------------------------------------------------------------------------------


class Heat(NamedTuple):
    """The two sides of the heat identity."""

    increase: Sampled
    integral: Sampled


def heat(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    rho: float,
    directions: int = 1000,
    seed: int = 0,
    exclude: Exclude = ("positions",),
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
    times = torch.rand(directions, generator=random_source(seed, "times"), dtype=torch.float64)  # s/ρ²
    traces = _curvatures(land, directions, seed, kind="gaussian", scales=rho * times.sqrt(), stream="heat")
    queries = directions * land.count
    return Heat(
        _sampled(shifted, confidence=confidence, queries=queries, method="increase of the loss", offset=-start),
        _sampled(rho**2 / 2 * traces, confidence=confidence, queries=queries, method="integral of the trace"),
    )


# --- weights and inputs -----------------------------------------------------------------------------------------------


def input_shift(theta: Tensor, x: Tensor, dx: Tensor) -> Tensor:
    """The change (θ·dx/‖x‖²) x of the weights of x ↦ θ·x that acts like changing x by dx (VA Sec. 7.2)."""
    sizes: dict[str, int] = {}
    theta, x, dx = (
        tensors.weights(values, name, (..., "D"), sizes) for name, values in {"theta": theta, "x": x, "dx": dx}.items()
    )
    checks.together(theta=theta.shape, x=x.shape, dx=dx.shape)
    if not bool(x.any(-1).all()):
        raise ValueError("x: expected vectors other than 0, got one")
    return (theta * dx).sum(-1, keepdim=True) / x.square().sum(-1, keepdim=True) * x
