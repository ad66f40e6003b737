"""What the doors that take tensors and networks ask of them, as ``checks`` does for numbers and arrays."""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.checks import Shape

__all__ = [
    "tensor", "finite", "floats", "weights", "optional", "bits", "whole", "dtype", "explained", "network", "Exclude",
    "kept", "stacks",
]  # fmt: skip

Network = TypeVar("Network", bound=nn.Module)
Result = TypeVar("Result")

_USUAL = ("tokens", "positions")  # words of ``exclude`` that other people's networks need not know


def tensor(
    values: Tensor | np.ndarray, name: str, shape: Shape | None = None, sizes: dict[str, int] | None = None
) -> Tensor:
    """``values`` as a tensor of real numbers, if it has the shape: see ``checks.shape``."""
    if not isinstance(values, Tensor):
        try:
            values = torch.as_tensor(values)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            got = f"an array of {values.dtype}" if isinstance(values, np.ndarray) else f"{values!r:.60}"
            raise TypeError(f"{name}: expected a tensor of real numbers, got {got}") from None
    if values.is_complex():
        raise TypeError(f"{name}: expected a tensor of real numbers, got {values.dtype}")
    if shape is not None:
        checks.shape(values.shape, name, shape, sizes)
    return values


def finite(values: Tensor, name: str) -> Tensor:
    """``values`` if none of them is NaN or infinite."""
    if not bool(values.isfinite().all()):
        raise ValueError(f"{name}: expected finite numbers, got {values[~values.isfinite()][0].item()}")
    return values


def floats(
    values: Tensor,
    name: str,
    shape: Shape | None = None,
    sizes: dict[str, int] | None = None,
    *,
    like: Tensor | None = None,
) -> Tensor:
    """``values`` as a tensor of floating-point numbers, of the same type as ``like``."""
    values = tensor(values, name, shape, sizes)
    if not values.is_floating_point():
        raise TypeError(f"{name}: expected floating-point numbers, got {values.dtype}")
    if like is not None and values.dtype != like.dtype:
        raise TypeError(f"{name}: expected {like.dtype}, as the others have, got {values.dtype}")
    return values


def weights(
    values: Tensor,
    name: str,
    shape: Shape | None = None,
    sizes: dict[str, int] | None = None,
    *,
    like: Tensor | None = None,
) -> Tensor:
    """``values`` as finite ``floats``, which can be trained."""
    return finite(floats(values, name, shape, sizes, like=like), name)


def optional(
    values: Tensor | None, name: str, shape: Shape, sizes: dict[str, int], *, like: Tensor | None = None
) -> nn.Parameter | None:
    """``weights`` as a parameter of a network, or None if it has none."""
    return None if values is None else nn.Parameter(weights(values, name, shape, sizes, like=like))


def whole(values: Tensor | np.ndarray, name: str, least: int, most: int, shape: Shape | None = None) -> Tensor:
    """``values`` as whole numbers from ``least`` to ``most``; signs where bits belong are refused by name."""
    values = tensor(values, name, shape)
    low, high = values.aminmax() if values.numel() else (least, most)
    # either of them is NaN if any value is
    if not (least <= low and high <= most) or (values.is_floating_point() and bool((values != values.round()).any())):
        wrong = ~((values >= least) & (values <= most) & (values == values.round()))
        allowed = f"{least} and {most}" if most == least + 1 else f"whole numbers from {least} to {most}"
        bad = values[wrong][0].item()
        hint = "; signs are turned into bits by cube.to_bits" if (least, bad) == (0, -1) else ""
        raise ValueError(f"{name}: expected {allowed}, got {bad:g}{hint}")
    return values.long()


def bits(values: Tensor | np.ndarray, name: str = "bits", shape: Shape | None = ("batch", "n")) -> Tensor:
    """``values`` as whole numbers 0 and 1; signs are refused by name."""
    return whole(values, name, 0, 1, shape)


def dtype(value: torch.dtype, name: str = "dtype") -> torch.dtype:
    """``value`` if it is a floating-point type."""
    if not isinstance(value, torch.dtype) or not value.is_floating_point:
        raise TypeError(f"{name}: expected a floating-point type of torch, got {value!r}")
    return value


def explained(method: Callable[..., Result]) -> Callable[..., Result]:
    """A method of a network; where torch refuses its arguments, the network's ``_check`` says why in one sentence.

    To ask beforehand, in every part of a network, would cost a small one a third of its time.
    """

    @wraps(method)
    def call(self: nn.Module, *args: Any, **named: Any) -> Result:
        try:
            return method(self, *args, **named)
        except (RuntimeError, TypeError, LookupError, AttributeError):
            self._check(*args, **named)
            raise

    return call


# --- networks and their weights ---------------------------------------------------------------------------------------


def network(model: Network, name: str = "model", kind: type[Network] | tuple[type, ...] = nn.Module) -> Network:
    """``model`` if it is a network of the given kind."""
    return checks.instance(model, name, kind)


Exclude = Collection[str] | Callable[[str, nn.Parameter], bool]


def kept(model: nn.Module, exclude: Exclude = ()) -> dict[str, nn.Parameter]:
    """The weights of a network by name, without those whose name contains a word of ``exclude``.

    A word that no name contains is a slip of the pen, unless it is "tokens" or "positions". In place of words there may
    be a function of name and weight that is true for those to leave out.
    """
    held = dict(network(model).named_parameters())
    if callable(exclude) and not isinstance(exclude, type):
        return {name: weight for name, weight in held.items() if not checks.flag(exclude(name, weight), "exclude")}
    if isinstance(exclude, str) or not isinstance(exclude, Collection) or not all(isinstance(w, str) for w in exclude):
        raise TypeError(f"exclude: expected a sequence of words, got {exclude!r:.60}")
    for word in exclude:
        if word not in _USUAL and not any(word in name for name in held):
            raise ValueError(f"exclude: expected parts of the names {_some(held)}, got {word!r}")
    return {name: weight for name, weight in held.items() if not any(word in name for word in exclude)}


def stacks(model: nn.Module, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``parameters`` by name if they are weights of the network with a leading axis of K copies, (K, …)."""
    held = dict(network(model).named_parameters())
    if not isinstance(parameters, Mapping) or not parameters:
        raise TypeError(f"parameters: expected tensors (K, …) by name, got {parameters!r:.60}")
    sizes: dict[str, int] = {}
    for name, values in parameters.items():
        if name not in held:
            raise ValueError(f"parameters: expected names among {_some(held)}, got {name!r}")
        tensor(values, f"parameters: {name}", ("K", *held[name].shape), sizes)
    return dict(parameters)


def _some(names: Mapping[str, object], most: int = 6) -> str:
    return ", ".join(list(names)[:most]) + ", …" * (len(names) > most)
