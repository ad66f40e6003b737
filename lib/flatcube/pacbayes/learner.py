"""The idealised learner of SP: small loss, small norm, flat surroundings (SP Def. 1).

    minimise  L̂(θ) + a‖θ‖² + b·S(θ),    S(θ) = 2/σ² (E_Δ L̂(θ + Δ) − L̂(θ)),  Δ ~ N(0, σ²I)

S tends to Tr ∇²L̂ as σ falls, and unlike the Hessian it sees kinks. Each step of Adam draws fresh noise, Δ and −Δ.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.pacbayes.account import INPUTS
from flatcube.sharpness.landscape import Landscape, random_vectors

__all__ = ["objective", "descend"]

_LONGEST = 10**5  # steps


def objective(loss: float, norm2: float, sharpness: float, *, norm_weight: float, sharpness_weight: float) -> float:
    """L̂ + a‖θ‖² + b·S (SP Eq. 2)."""
    checks.number(sharpness, "sharpness")
    given = {"loss": loss, "norm2": norm2, "norm_weight": norm_weight, "sharpness_weight": sharpness_weight}
    for name, value in given.items():
        checks.positive(value, name, 0)
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
        checks.positive(number, name, 0)
    total = checks.integer(steps, "steps", 1, _LONGEST) * checks.integer(noises, "noises", 1, 1000)
    factor = sharpness_weight * 2 / checks.positive(sigma, "sigma") ** 2
    if y is None:
        raise TypeError("y: expected the targets of the inputs, got None")
    land = Landscape(model, x, y, exclude=exclude)
    start, theta, seen = land.theta.clone(), land.theta.clone(), []
    adam = torch.optim.Adam([theta], lr=rate, betas=(0.9, 0.99), eps=1e-12)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: math.cos(math.pi / 2 * step / steps))
    for noise in random_vectors(total, theta, seed=seed, stream="learner", chunk=noises):
        seen.append(_seen(land, theta, start))
        at = (theta - start)[None]
        slope = (1 - factor) * land.gradients(at)[0] + 2 * norm_weight * theta
        if factor:
            shifts = at + sigma * torch.cat([noise, -noise])
            slope = slope + factor * land.gradients(shifts).mean(0)
        theta.grad = slope
        adam.step()
        schedule.step()
    seen.append(_seen(land, theta, start))
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, weight in land.parameters(theta[None]).items():
            weights[name].copy_(weight[0])
    return seen


def _seen(land: Landscape, theta: Tensor, start: Tensor) -> dict[str, float]:
    loss = float(land.losses((theta - start)[None]))
    return {"loss": loss, "norm2": float(theta.square().sum())}
