"""Losses by name or by function: a number for every copy of a network and every input."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors

__all__: list[str] = []

Loss = str | Callable[[Tensor, Tensor], Tensor]
_NAMES = ("squared", "cross-entropy")


def targets(loss: Loss, y: Tensor | np.ndarray | None, outputs: Tensor) -> Tensor | None:
    """Targets that fit the loss and outputs (batch, …); None where the squared loss takes the outputs themselves."""
    if isinstance(loss, str) or not callable(loss):
        checks.word(loss, "loss", _NAMES)
    if y is None:
        if loss == "squared":
            return None
        raise ValueError("y: expected targets for every loss but the squared one, got None")
    if loss == "squared":
        return tensors.finite(tensors.tensor(y, "y", outputs.shape), "y").to(outputs)
    if loss == "cross-entropy":
        if outputs.ndim < 2:
            raise ValueError("loss: expected several outputs for 'cross-entropy', (batch, classes), got one")
        return tensors.whole(y, "y", 0, outputs.shape[-1] - 1, tuple(outputs.shape[:-1]))
    y = tensors.tensor(y, "y")
    if not y.ndim or len(y) != len(outputs):
        raise ValueError(f"y: expected {len(outputs)} targets, one for each input, got shape {tuple(y.shape)}")
    found = loss(outputs, y)
    if not isinstance(found, Tensor) or found.shape != (len(outputs),):
        got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(f"loss: expected a function with a number for every input, ({len(outputs)},), got {got}")
    return y


def per_input(loss: Loss, outputs: Tensor, y: Tensor) -> Tensor:
    """The loss (K, batch) of outputs (K, batch, …), further axes added up, with targets (batch, …)."""
    if loss == "squared":
        found = (outputs - y).square()
    elif loss == "cross-entropy":
        goals = y.expand(len(outputs), *y.shape).flatten()
        found = nn.functional.cross_entropy(outputs.flatten(0, -2), goals, reduction="none").reshape(outputs.shape[:-1])
    else:
        found = torch.stack([loss(copy, y) for copy in outputs])
    return found.reshape(*outputs.shape[:2], -1).sum(-1)
