"""The idealised learner of SP: small loss, small norm, flat surroundings (SP Def. 1).

    minimise  L̂(θ) + a‖θ‖² + b·S(θ),    S(θ) = 2/σ² (E_Δ L̂(θ + Δ) − L̂(θ)),  Δ ~ N(0, σ²I)

S tends to Tr ∇²L̂ as σ falls, and unlike the Hessian it sees kinks. Each step of Adam draws fresh noise, Δ and −Δ.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from flatcube.account import INPUTS
from flatcube.landscape import Landscape, random_vectors
from flatcube.sampling import check_count, check_positive

__all__ = ["objective", "descend"]


def objective(loss: float, norm2: float, sharpness: float, *, norm_weight: float, sharpness_weight: float) -> float:
    """L̂ + a‖θ‖² + b·S (SP Eq. 2)."""
    return loss + norm_weight * norm2 + sharpness_weight * sharpness


def descend(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    norm_weight: float = 0.0,
    sharpness_weight: float = 0.0,
    sigma: float = 0.003,
    steps: int = 300,
    rate: float = 0.003,
    noises: int = 4,
    seed: int = 0,
    exclude: Sequence[str] = INPUTS,
) -> list[dict[str, float]]:
    """Let a network walk downhill from where it is, in place; the loss and the norm before each step and at the end."""
    for name, number in {"norm_weight": norm_weight, "sharpness_weight": sharpness_weight, "rate": rate}.items():
        check_positive(number, name, 0)
    check_count(noises, "noises")
    land = Landscape(model, x, y, exclude=exclude)
    start, theta = land.theta.clone(), land.theta.clone()
    first, second, seen = torch.zeros_like(theta), torch.zeros_like(theta), []
    drawn = random_vectors(check_count(steps, "steps") * noises, theta, seed=seed, stream="learner", chunk=noises)
    factor = sharpness_weight * 2 / check_positive(sigma, "sigma") ** 2
    for step, noise in enumerate(drawn, 1):
        seen.append(_seen(land, theta, start))
        at = (theta - start)[None]
        slope = (1 - factor) * land.gradients(at)[0] + 2 * norm_weight * theta
        if factor:
            shifts = at + sigma * torch.cat([noise, -noise])
            slope = slope + factor * land.gradients(shifts).mean(0)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope.square()
        scale = rate * math.cos(math.pi / 2 * (step - 1) / steps)
        theta = theta - scale * (first / (1 - 0.9**step)) / ((second / (1 - 0.99**step)).sqrt() + 1e-12)
    seen.append(_seen(land, theta, start))
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, weight in land.parameters(theta[None]).items():
            weights[name].copy_(weight[0])
    return seen


def _seen(land: Landscape, theta: Tensor, start: Tensor) -> dict[str, float]:
    loss = float(land.losses((theta - start)[None]))
    return {"loss": loss, "norm2": float(theta.square().sum())}
