"""Where a network uses its weights, and on what: all that per-sample gradients need.

A weight W that enters a network through a product Y = A W has, at one input, the gradient Σ_p a_pᵀ δ_p: a_p are the
rows of A at that input, one per position p, and δ_p the gradient of the output at row p of Y. So it is enough to keep A
and Y while the network runs forwards; one pass backwards gives every δ. A network of the book tells with its method
``uses``; ``watched`` runs any network and looks at every operation that one of its weights takes part in.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from flatcube.networks import data

__all__ = ["Use", "watched"]


class Use(NamedTuple):
    """One use of a weight, with δ the gradient at ``output``, (batch, …).

    A product keeps ``inputs`` (batch, G, P, I), and δ is (batch, G, P, J) in another shape: the gradient is
    Σ_p a_pᵀ δ_p in each of G separate blocks. Any other use has a ``rule``: δ to the gradient, (batch, …).
    """

    name: str
    output: Tensor
    inputs: Tensor | None = None
    rule: Callable[[Tensor], Tensor] | None = None


def watched(model: nn.Module, weights: dict[str, Tensor], x: data.Inputs) -> tuple[Tensor, list[Use]] | None:
    """The outputs (batch, …) and all uses of the weights; None if one is used in a way that has no rule here."""
    try:
        with _Watch(weights, data.count(x)) as watch:
            return data.answers(model, x), watch.uses
    except _Unknown:
        return None


class _Unknown(Exception):
    """A weight is used in a way that has no rule."""


class _Watch(TorchFunctionMode):
    """Notes every use of the given weights while a network runs on ``batch`` inputs."""

    def __init__(self, weights: dict[str, Tensor], batch: int) -> None:
        super().__init__()
        self.names = {id(weight): name for name, weight in weights.items()}
        self.batch, self.uses = batch, []

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        mine = [value for value in (*args, *kwargs.values()) if id(value) in self.names]
        if mine and isinstance(result, Tensor) and result.requires_grad:
            found = self._uses(func.__name__, result, args, kwargs) if result.ndim and len(result) == self.batch else []
            if len(found) != len(mine):
                raise _Unknown(func.__name__)
            self.uses += found
        return result

    def _uses(self, kind: str, output: Tensor, args: tuple, kwargs: dict) -> list[Use]:
        if kind == "linear":
            x, weight, bias = [*args, *(kwargs[key] for key in ("weight", "bias") if key in kwargs), None][:3]
            return self._product(x, weight, output) + self._sum(bias, output)
        if kwargs or len(args) != 2:
            return []
        left, right = args
        if kind == "matmul":
            return self._product(left, right, output)
        if kind == "add":
            return self._sum(left, output) + self._sum(right, output)
        return self._gain(left, right, output) + self._gain(right, left, output) if kind == "mul" else []

    def _product(self, x: Tensor, weight: Tensor, output: Tensor) -> list[Use]:
        if id(weight) not in self.names or weight.ndim != 2:
            return []
        return [Use(self.names[id(weight)], output, x.detach().reshape(self.batch, 1, -1, x.shape[-1]))]

    def _sum(self, weight: Any, output: Tensor) -> list[Use]:
        if id(weight) not in self.names or weight.ndim >= output.ndim:
            return []
        return [Use(self.names[id(weight)], output, rule=lambda slope: _summed(slope, weight.shape))]

    def _gain(self, weight: Any, x: Any, output: Tensor) -> list[Use]:
        if id(weight) not in self.names or weight.ndim >= output.ndim or not isinstance(x, Tensor):
            return []
        values = x.detach()
        return [Use(self.names[id(weight)], output, rule=lambda slope: _summed(slope * values, weight.shape))]


def _summed(values: Tensor, shape: torch.Size) -> Tensor:
    """values (batch, …) with the axes that ``shape`` was broadcast along summed: (batch, *shape)."""
    lost = values.ndim - 1 - len(shape)
    values = values.sum(tuple(range(1, lost + 1))) if lost else values
    ones = tuple(axis for axis, length in enumerate(shape, start=1) if length == 1)
    return values.sum(ones, keepdim=True) if ones else values
