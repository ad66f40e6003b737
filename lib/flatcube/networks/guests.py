"""Modules that others made: measured as after ``eval()``, and left as they were.

A measure runs a network many times, with other weights, and with derivatives of derivatives. ``at_rest`` is the state
in which it may: no dropout, no statistics of the batch; and afterwards everything is as it was before, also if the
measure was interrupted. A module that takes or returns something else than tensors (batch, …) gets an ``Adapter``.
"""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from flatcube import checks
from flatcube.networks import tensors

__all__ = ["Adapter", "at_rest", "twice_differentiable", "warn_of_training", "outside"]


class Adapter(nn.Module):
    """A module seen through a function: outputs (batch, …) are ``call(model, x)``, or ``call(model, **x)`` for a dict.

    So ``Adapter(lstm, lambda lstm, x: lstm(x)[0][:, -1])`` reads the last state of an LSTM, and
    ``Adapter(encoder, lambda encoder, x: encoder(src=x.mT).mean(1))`` passes a keyword.
    """

    def __init__(self, model: nn.Module, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.model = tensors.network(model)
        self.call = checks.function(call, "call", "function of the model and its inputs")

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """What ``call`` makes of the model and its inputs."""
        return self.call(self.model, *inputs, **named)


@contextmanager
def at_rest(model: nn.Module, *, slopes: bool = False) -> Iterator[None]:
    """Inside, the network behaves as after ``eval()``; with ``slopes``, all its weights ask for gradients.

    Afterwards modes, buffers, weights and ``requires_grad`` are as before, whatever happened inside. (A part that is
    used under two names would not get its weights back from PyTorch's ``functional_call``.)
    """
    modes = [part for part in model.modules() if part.training]
    slots = [slot for part in model.modules() for slot in (part._parameters, part._buffers) if slot]
    held = [dict(slot) for slot in slots]
    copies = [(kept, kept.clone()) for kept in model.buffers()]
    still = [weight for weight in model.parameters() if slopes and not weight.requires_grad]
    try:
        for part in modes:
            part.training = False  # not eval(), which some modules take as a sign to rebuild themselves
        for weight in still:
            weight.requires_grad_()
        yield
    finally:
        for part in modes:
            part.training = True
        for weight in still:
            weight.requires_grad_(False)
        for slot, things in zip(slots, held, strict=True):
            slot.clear()
            slot.update(things)
        with torch.no_grad():
            for kept, before in copies:
                if not torch.equal(kept, before):
                    kept.copy_(before)


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Inside, attention is computed by formulas that have second derivatives, and rules for ``vmap``."""
    with sdpa_kernel(SDPBackend.MATH):
        yield


def warn_of_training(model: nn.Module) -> None:
    """Say in one sentence that a network in train mode is measured as after ``eval()``, if that makes a difference."""
    if any(part.training and _minds_the_mode(part) for part in model.modules()):
        message = "model: it is in train mode, with dropout or statistics of the batch; measured as after model.eval()"
        warnings.warn(message, stacklevel=outside())


def _minds_the_mode(part: nn.Module) -> bool:
    if isinstance(part, (nn.modules.dropout._DropoutNd, nn.RNNBase, nn.MultiheadAttention)):
        return getattr(part, "p", getattr(part, "dropout", 0)) > 0
    return _reads_the_mode(type(part))


@lru_cache(maxsize=4096)
def _reads_the_mode(kind: type[nn.Module]) -> bool:
    """Whether a method of this kind of module looks at ``training``."""
    own = [base for base in kind.__mro__ if base not in nn.Module.__mro__ and base not in _CALM]
    methods = [value for base in own for value in vars(base).values() if inspect.isfunction(value)]
    return any("training" in method.__code__.co_names for method in methods)


# They pass ``training`` on to a fast path or to the dropout within, which answers for itself.
_CALM = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention, nn.RNNBase)


_OURS = ("flatcube.", "contextlib", "torch.utils._contextlib")  # and what stands between two functions of ours


def outside() -> int:
    """The ``stacklevel`` of the first caller that is not of this library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level
