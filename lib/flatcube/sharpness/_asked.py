"""What a network takes and gives, and how many bytes it computes on the way, found out by asking it."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from flatcube.networks import data
from flatcube.networks.copies import many
from flatcube.networks.guests import at_rest
from flatcube.networks.interface import Network

__all__: list[str] = []


def repeated(x: data.Inputs, rows: int) -> data.Inputs:
    """The first input, so many times."""
    if isinstance(x, dict):
        return {name: repeated(values, rows) for name, values in x.items()}
    return x[:1].expand(rows, *x.shape[1:])


def inputs(model: nn.Module, weights: dict[str, Tensor], x: data.Inputs) -> data.Inputs:
    """The inputs (batch, …) of a network, if it gives an output for each of them, whatever the others are."""
    x = data.checked(model.checked(x) if isinstance(model, Network) else x)
    copy, pair = {name: weight[None] for name, weight in weights.items()}, data.part(x, slice(2))
    try:
        with torch.no_grad(), at_rest(model):
            found = many(model, copy, pair)[0]
            alone = found[:1] if isinstance(model, Network) else many(model, copy, data.part(x, slice(1)))[0]
    except (RuntimeError, TypeError, LookupError, ValueError, AttributeError) as error:
        if str(error).startswith("model: "):
            raise
        shown = x if isinstance(x, Tensor) else next(iter(x.values()))
        got = f"{shown.dtype} of shape {tuple(shown.shape)}: {error}".partition("\n")[0]
        raise ValueError(f"x: expected inputs that this network takes, got {got}") from None
    shape, rows = tuple(found.shape), data.count(pair)
    if shape[:1] != (rows,):
        raise ValueError(f"x: expected inputs with one output each, got shape {shape} for {rows} of them")
    close = {"rtol": 0.01, "atol": _size(found) / 1e3, "equal_nan": True}
    if alone.shape != found[:1].shape or not torch.allclose(alone, found[:1], **close):
        raise ValueError("model: expected outputs that hang on their own input and the weights alone, got others")
    return x


def _size(values: Tensor) -> float:
    return float(values[values.isfinite()].abs().max()) if bool(values.isfinite().any()) else 0.0


class Bytes(TorchFunctionMode):
    """Adds up the sizes of all tensors that are computed; views of what is there cost nothing."""

    total = 0

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {_storage(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        made = (leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor) and _storage(leaf) not in given)
        self.total += sum(leaf.nbytes for leaf in made)
        return result


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
