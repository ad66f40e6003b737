"""How a network is trained: settings, schedules of the learning rate, and one step of AdamW or SGD.

PyTorch has these steps, but with one learning rate and one weight decay for a whole tensor; here row k of a matrix
(K, P) holds the weights of member k and may have its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from torch import Tensor

from flatcube import cube

__all__ = ["Settings", "State", "descend"]

_SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "constant": lambda s, hold: 1.0,
    "linear": lambda s, hold: 1 - s,
    "cosine": lambda s, hold: (1 + math.cos(math.pi * s)) / 2,
    "hold": lambda s, hold: 1.0 if s <= hold else (1 - s) / (1 - hold),
}


@dataclass(frozen=True)
class Settings:
    """How to train. ``rate`` and ``decay`` are numbers, or tuples with one for each member.

    AdamW (Loshchilov and Hutter 2017) with ``betas``, or SGD with ``momentum``, whose decay is added to the gradient.
    The rate rises linearly over ``warmup`` steps and is multiplied, with s the fraction of the steps done, by

        constant: 1,   linear: 1 − s,   cosine: (1 + cos πs)/2,   hold: 1 up to s = hold, then linearly down to 0.
    """

    steps: int
    batch: int = 256
    optimiser: Literal["adamw", "sgd"] = "adamw"
    rate: float | tuple[float, ...] = 1e-3
    decay: float | tuple[float, ...] = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    schedule: Literal["constant", "linear", "cosine", "hold"] = "hold"
    hold: float = 0.75
    warmup: int = 0
    every: int = 100
    goal: float = 1e-3
    after: int | None = None
    chance_after: int | None = None
    chance: float = 0.9

    def __post_init__(self) -> None:
        for name, least in {"steps": 0, "batch": 1, "warmup": 0, "every": 1, "after": 0, "chance_after": 0}.items():
            if getattr(self, name) is not None or name not in ("after", "chance_after"):
                cube.check_integer(getattr(self, name), name, least)
        for name, allowed in {"optimiser": ("adamw", "sgd"), "schedule": tuple(_SCHEDULES)}.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        for name in ("rate", "decay", "goal", "chance"):
            for value in np.atleast_1d(getattr(self, name)):
                if not 0 <= value < math.inf:
                    raise ValueError(f"{name}: expected numbers ≥ 0, got {value:g}")
        if np.shape(self.betas) != (2,):
            raise ValueError(f"betas: expected two numbers, got {self.betas!r}")
        for name in ("betas", "momentum", "hold"):
            for value in np.atleast_1d(getattr(self, name)):
                if not (0 <= value < 1 or (name == "hold" and value == 1)):
                    raise ValueError(f"{name}: expected numbers from 0 to 1, got {value:g}")

    def factor(self, step: int) -> float:
        """What the rate is multiplied by at a step, counted from 0."""
        return _SCHEDULES[self.schedule](step / self.steps, self.hold) * min(1.0, (step + 1) / (self.warmup or 1))


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
    weights, first, second = state
    rate = (rate[:, None] * settings.factor(step)).to(weights)  # (K, 1)
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
