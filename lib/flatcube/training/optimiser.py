"""How a network is trained: settings, schedules of the learning rate, and one step of AdamW or SGD.

PyTorch has these steps, but with one learning rate and one weight decay for a whole tensor; here row k of a matrix
(K, P) holds the weights of member k and may have its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors

__all__ = ["Settings"]

_SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "constant": lambda s, hold: 1.0,
    "linear": lambda s, hold: 1 - s,
    "cosine": lambda s, hold: (1 + math.cos(math.pi * s)) / 2,
    "hold": lambda s, hold: 1.0 if s <= hold else (1 - s) / (1 - hold),
}
Pointwise = Callable[[Tensor, Tensor], Tensor]  # outputs and targets (k, batch) → (k, batch)
LOSSES: dict[str, Pointwise] = {
    "squared": lambda outputs, targets: (outputs - targets).square(),
    "logistic": lambda outputs, targets: nn.functional.softplus(-outputs * targets),
}
ERRORS: dict[str, Pointwise] = {
    "squared": lambda outputs, targets: (outputs - targets).double().square(),
    "logistic": lambda outputs, targets: outputs * targets <= 0,
}
_PLACES = ("here", "worst", "scaled", "noise")
_WHOLE = {  # the least and the most
    "steps": (0, 10**9), "batch": (1, 10**6), "warmup": (0, None), "every": (1, None), "after": (0, None),
    "chance_after": (0, None),
}  # fmt: skip
_ALMOST = math.nextafter(1, 0)
_REAL = {
    "rate": 1e300, "decay": 1e300, "goal": 1e300, "chance": 1e300, "betas": _ALMOST, "momentum": _ALMOST, "hold": 1,
    "radius": 1e300,
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How to train. ``rate`` and ``decay`` are numbers, or tuples with one for each member.

    AdamW (Loshchilov and Hutter 2017) with ``betas``, or SGD with ``momentum``, whose decay is added to the gradient.
    The rate rises linearly over ``warmup`` steps and is multiplied, with s the fraction of the steps done, by

        constant: 1,   linear: 1 − s,   cosine: (1 + cos πs)/2,   hold: 1 up to s = hold, then linearly down to 0.

    The gradient g is taken at w + Δ. ``place`` says which Δ: *here* 0; *worst* r g/‖g‖ (sharpness-aware minimisation,
    Foret et al. 2021); *scaled* r w²g/‖|w| g‖, product by product, which does not change if a layer's units are
    rescaled (ASAM, Kwon et al. 2021); *noise* r times a Gaussian vector, drawn anew for each step. r is ``radius``.

    What falls is the squared ``loss`` (T(x) − y)², and the error is its mean; or, for targets ±1, the logistic loss
    log(1 + e^{−y T(x)}), and the error is the share of inputs on which sign and target differ.
    """

    steps: int
    batch: int = 256
    loss: Literal["squared", "logistic"] = "squared"
    optimiser: Literal["adamw", "sgd"] = "adamw"
    rate: float | tuple[float, ...] = 1e-3
    decay: float | tuple[float, ...] = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    schedule: Literal["constant", "linear", "cosine", "hold"] = "hold"
    hold: float = 0.75
    warmup: int = 0
    place: Literal["here", "worst", "scaled", "noise"] = "here"
    radius: float = 0.0
    every: int = 100
    goal: float = 1e-3
    after: int | None = None
    chance_after: int | None = None
    chance: float = 0.9

    def __post_init__(self) -> None:
        for name, (least, most) in _WHOLE.items():
            if getattr(self, name) is not None or name not in ("after", "chance_after"):
                checks.integer(getattr(self, name), name, least, most)
        words = {"optimiser": ("adamw", "sgd"), "loss": tuple(LOSSES), "schedule": tuple(_SCHEDULES),
                 "place": _PLACES}  # fmt: skip
        for name, allowed in words.items():
            checks.word(getattr(self, name), name, allowed)
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise ValueError(f"betas: expected two numbers, got {self.betas!r}")
        for name, most in _REAL.items():
            given = getattr(self, name)
            several = isinstance(given, (tuple, list)) and name in ("rate", "decay", "betas")
            for value in given if several else (given,):
                checks.number(value, name, 0, most)

    def factor(self, step: int) -> float:
        """What the rate is multiplied by at a step, counted from 0."""
        done = checks.integer(step, "step", 0, self.steps) / max(self.steps, 1)
        return _SCHEDULES[self.schedule](done, self.hold) * min(1.0, (step + 1) / (self.warmup or 1))


class State(NamedTuple):
    """What a step changes, (K, P) each; SGD has no use for ``second``."""

    weights: Tensor
    first: Tensor  # AdamW's mean of gradients, or SGD's momentum
    second: Tensor  # AdamW's mean of their squares


def descend(settings: Settings, state: State, gradient: Tensor, step: int, rate: Tensor, decay: Tensor) -> None:
    """Step 0, 1, … in place, with the gradient (K, P) and the rates and decays (K,) of the members.

    AdamW: w ← w − ηλw − η m̂/(√v̂ + 1e-8), m̂ and v̂ the means of g and g² with bias corrected.
    SGD: u ← μu + g + λw, w ← w − ηu.
    """
    weights, first, second = checks.instance(state, "state", State)
    tensors.floats(gradient, "gradient", weights.shape, like=weights)
    rate, decay = (
        tensors.weights(each, name, (len(weights),)) for name, each in {"rate": rate, "decay": decay}.items()
    )
    rate = (rate[:, None] * checks.instance(settings, "settings", Settings).factor(step)).to(weights)  # (K, 1)
    decay = decay[:, None].to(weights)
    if settings.optimiser == "sgd":
        first.mul_(settings.momentum).add_(gradient).addcmul_(weights, decay)
        weights.sub_(rate * first)
        return
    one, two = settings.betas
    first.lerp_(gradient, 1 - one)
    second.mul_(two).addcmul_(gradient, gradient, value=1 - two)
    scale = (second / (1 - two ** (step + 1))).sqrt_().add_(1e-8)
    weights.mul_(1 - rate * decay).sub_(first * (rate / (1 - one ** (step + 1))) / scale)


def aside(settings: Settings, weights: Tensor, gradient: Tensor, seeds: Sequence[int], step: int) -> Tensor:
    """Δ (K, P): where the gradient is taken, seen from the weights (K, P) with the gradient (K, P)."""
    if settings.place == "noise":
        drawn = [np.random.default_rng([seed, step, 1]).standard_normal(weights.shape[1]) for seed in seeds]
        return settings.radius * torch.as_tensor(np.stack(drawn)).to(weights)
    scale = weights.abs() if settings.place == "scaled" else torch.ones_like(weights)
    along = scale * gradient
    return settings.radius * scale * along / along.norm(dim=1, keepdim=True).clamp(min=1e-30)
