"""By how much the norms of a network stretch, N = 1/√(variance + ε) (HR Eq. 5), for the book's networks and for others.

A network of the book tells with its method ``factors``. In any other module, hooks look at what enters each layer norm:
``stretch`` knows ``nn.LayerNorm`` and ``nn.RMSNorm``, and learns a norm of your own by ``stretch.register``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import singledispatch

import torch
from torch import Tensor, nn

from flatcube.networks import data
from flatcube.networks.guests import at_rest

__all__ = ["factors", "stretch", "told"]


@singledispatch
def stretch(norm: nn.Module, x: Tensor) -> Tensor:
    """N of a norm at what enters it, x (…, channels): (…). Register a function of both for a norm of your own."""
    raise TypeError(f"norm: expected nn.LayerNorm, nn.RMSNorm or one that is registered, got {type(norm).__name__}")


@stretch.register
def _(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return _inverse(x.flatten(-len(norm.normalized_shape)).double().var(-1, correction=0), norm.eps)


@stretch.register
def _(norm: nn.RMSNorm, x: Tensor) -> Tensor:
    eps = torch.finfo(x.dtype).eps if norm.eps is None else norm.eps
    return _inverse(x.flatten(-len(norm.normalized_shape)).double().square().mean(-1), eps)


def _inverse(spread: Tensor, eps: float) -> Tensor:
    return (spread + eps).rsqrt()


def told(seen: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The factors (…, batch, positions) of every norm by name, from activations; ∞ without variance."""
    found = {name: value[..., 0] for name, value in seen.items() if name.endswith(("factor", "factor_attention"))}
    return {name: torch.where(value > 0, value, torch.inf) for name, value in found.items()}


def factors(model: nn.Module, x: data.Inputs) -> dict[str, Tensor]:
    """N of every norm of a network, (…, batch, positions) by name, in the order of the computation.

    A network that knows its factors has a method ``factors``. In other modules a norm that is used k times has k names.
    """
    if hasattr(model, "factors"):
        return model.factors(x)
    batch = data.count(x)
    everything, alone = _entered(model, x), _entered(model, data.part(x, slice(1)))
    if everything.keys() != alone.keys():
        raise ValueError("model: expected the same norms for every input, got others for the first one")
    return {name: _by_input(name, values, alone[name], batch) for name, values in everything.items()}


@torch.no_grad()
def _entered(model: nn.Module, x: data.Inputs) -> dict[str, Tensor]:
    """The factors of all norms while the network runs, in the shapes they come in."""
    found: dict[str, Tensor] = {}

    def look(name: str, norm: nn.Module, given: Tensor) -> None:
        times = sum(known.partition(" ")[0] == name for known in found) + 1
        found[name if times == 1 else f"{name} ({times})"] = stretch(norm, given)

    with _hooked(model, look), at_rest(model):
        model(**x) if isinstance(x, dict) else model(x)
    return found


@contextmanager
def _hooked(model: nn.Module, look: Callable[[str, nn.Module, Tensor], None]) -> Iterator[None]:
    """Inside, ``look`` is called with the name of every norm, itself and what enters it."""
    with ExitStack() as hooks:
        for name, part in model.named_modules():
            if stretch.dispatch(type(part)) is not stretch.dispatch(object):
                hook = lambda norm, given, name=name: look(name or "norm", norm, given[0])  # noqa: E731
                hooks.callback(part.register_forward_pre_hook(hook).remove)
        yield


def _by_input(name: str, values: Tensor, alone: Tensor, batch: int) -> Tensor:
    """Factors (batch, positions), where ``alone`` are those of the first input, which tell the axis of the inputs."""
    if batch == 1:
        return values.reshape(1, -1)
    if values.shape == alone.shape:  # a norm that sees no input, only weights
        return values.reshape(1, -1).expand(batch, -1)
    axes = [k for k, (all_of, one) in enumerate(zip(values.shape, alone.shape, strict=True)) if all_of == batch * one]
    rows = values.new_zeros(0)
    if len(axes) == 1:
        split = values.unflatten(axes[0], (batch, -1))
        rows = split.movedim(axes[0], 0).reshape(batch, -1)
    if not rows.numel() or not torch.allclose(rows[0], alone.reshape(-1), rtol=1e-3):
        shape = tuple(values.shape)
        raise ValueError(f"model: expected a norm {name!r} with an axis for the inputs, got shape {shape}")
    return rows
