"""Many copies of a network at once, each with weights of its own: K sets of parameters, (K, …) by name."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from flatcube import checks
from flatcube.networks import data, tensors

__all__ = ["many", "stacked"]


def many(model: nn.Module, parameters: Mapping[str, Tensor], x: data.Inputs) -> Tensor:
    """The outputs (K, batch, …) of K copies of a network, parameters (K, …) by name, on the same inputs x.

    A network that knows how to run its copies at once says so with a method ``many``; any other runs them in turn.
    A dict of inputs is passed by keyword.
    """
    if hasattr(model, "many"):
        return model.many(parameters, x)
    parameters = tensors.stacks(model, parameters)
    count = len(next(iter(parameters.values())))
    copies = ({name: stack[k] for name, stack in parameters.items()} for k in range(count))
    inputs, named = ((), x) if isinstance(x, dict) else ((x,), {})
    return torch.stack([data.told(functional_call(model, copy, inputs, named)) for copy in copies])


def stacked(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters with a leading axis of K copies, (K, …), shaped to run at once through ``functional_call``.

    A parameter broadcasts against (batch, position, channel), so K is moved in front of those three axes:
    (K, D, E) becomes (K, 1, D, E) and (K, H) becomes (K, 1, 1, H). The network then returns (K, batch).
    """
    for name, values in checks.instance(parameters, "parameters", Mapping).items():
        if not 2 <= checks.instance(values, f"parameters: {name}", Tensor).ndim <= 3:
            raise ValueError(f"parameters: {name}: expected shape (K, D, E) or (K, H), got {tuple(values.shape)}")
    return {name: p.reshape(p.shape[0], *[1] * (4 - p.ndim), *p.shape[1:]) for name, p in parameters.items()}
