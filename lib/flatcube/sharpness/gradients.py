"""Squared gradient norms ‖∂f(x)/∂W‖² for every input x and every weight W, from one backward pass.

``networks.uses`` gives what every weight is multiplied by, a_p, and the gradients δ_p of f at the products. Then

    ‖Σ_p a_pᵀ δ_p‖² = Σ_{p,q} ⟨a_p, a_q⟩⟨δ_p, δ_q⟩,

so that the gradient of a wide weight need never be formed. A network that uses a weight in a way that cannot be
recorded gets its gradients one input at a time.
"""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from flatcube.networks import data, tensors
from flatcube.networks.guests import at_rest, twice_differentiable
from flatcube.networks.interface import Network
from flatcube.networks.tensors import Exclude
from flatcube.networks.uses import Use, watched
from flatcube.sharpness.landscape import BUDGET, Landscape

__all__ = ["gradient_norms"]

Weights = dict[str, Tensor]


def gradient_norms(
    model: nn.Module, x: Any, *, exclude: Exclude = ("positions",), budget: int = BUDGET, progress: bool = False
) -> dict[str, Tensor]:
    """‖∂f(x)/∂W‖² by the name of W, (batch,) each; their sum is ‖∇f(x)‖². Those of several outputs are added.

    For networks other than ours, the recorded norms are compared with a plain gradient at the last input, and given up
    if they differ.
    """
    return _norms(Landscape(model, x, exclude=exclude, budget=budget, progress=progress), exclude)


def _norms(land: Landscape, exclude: Exclude) -> dict[str, Tensor]:
    model, (_, rows) = land.model, land._chunks(1, "gradients")
    weights = tensors.kept(model, exclude)  # asked before all of them ask for gradients, which a function may look at
    with torch.enable_grad(), at_rest(model, slopes=True):
        single = None if isinstance(model, Network) else _loop(model, data.part(land.x, slice(-1, None)), weights)
        parts = _parts(land, rows, lambda some: _recorded(model, some, weights))
        if parts[-1] is None or not (single is None or _agree(parts[-1], single)):
            few = max(min(rows, land.budget // land.theta.nbytes), 1)  # gradients of so many inputs are held at once
            parts = _parts(land, few, lambda some: _one_by_one(model, some, weights))
    return {name: torch.cat([part[name] for part in parts]) for name in weights}


def _parts(land: Landscape, rows: int, norms: Callable[[data.Inputs], dict | None]) -> list[dict | None]:
    """The norms of all inputs, so many at once; the first None ends it."""
    parts = []
    with land.watched("gradients", 1):
        for some in data.split(land.x, rows):
            parts.append(norms(some))
            land._done(1, data.count(some))
            if parts[-1] is None:
                break
    return parts


def _recorded(model: nn.Module, x: data.Inputs, weights: Weights) -> dict[str, Tensor] | None:
    """The norms (batch,) by name from one forward and one backward pass; None if some use of a weight has no rule."""
    found = model.uses(x) if isinstance(model, Network) else watched(model, weights, x)
    if found is None:
        return None
    outputs, uses = found[0].reshape(len(found[0]), -1), [use for use in found[1] if use.name in weights]
    if not uses:  # such as those of the parts of a single vector
        return None
    places = list({id(use.output): use.output for use in uses}.values())
    total = {name: outputs.detach().new_zeros(len(outputs)) for name in weights}
    for column in outputs.unbind(1):
        slopes = torch.autograd.grad(column.sum(), places, allow_unused=True, retain_graph=outputs.shape[1] > 1)
        by_place = {id(place): slope for place, slope in zip(places, slopes, strict=True)}
        for name, nothing in total.items():
            total[name] = nothing + _squared([(u, by_place[id(u.output)]) for u in uses if u.name == name], nothing)
    return total


def _one_by_one(model: nn.Module, x: data.Inputs, weights: Weights) -> dict[str, Tensor]:
    """The norms (batch,) by name from one gradient per input: vmap(grad), or a loop where vmap cannot follow."""
    if isinstance(model, Network):  # ours look at the values of their input, which vmap cannot
        return _loop(model, x, weights)

    def output(weights: Weights, row: Any, place: int) -> Tensor:
        row = {name: values[None] for name, values in row.items()} if isinstance(row, dict) else row[None]
        inputs, named = ((), row) if isinstance(row, dict) else ((row,), {})
        return functional_call(model, weights, inputs, named).flatten()[place]

    own = {name: weight.detach() for name, weight in weights.items()}
    try:
        with twice_differentiable(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is a performance drop")  # an LSTM has no rule for vmap: it loops
            size = data.answers(model, data.part(x, slice(1))).numel()
            several = [vmap(grad(output), (None, 0, None))(own, x, place) for place in range(size)]
    except RuntimeError:
        return _loop(model, x, weights)
    return {name: sum(each[name].detach().flatten(1).square().sum(1) for each in several) for name in own}


def _loop(model: nn.Module, x: data.Inputs, weights: Weights) -> dict[str, Tensor]:
    rows = []
    for row in data.split(x, 1):
        outputs, squares = data.answers(model, row).flatten(), dict.fromkeys(weights, 0.0)
        for output in outputs:
            slopes = torch.autograd.grad(output, [*weights.values()], allow_unused=True, retain_graph=len(outputs) > 1)
            for name, slope in zip(weights, slopes, strict=True):
                squares[name] += 0.0 if slope is None else slope.square().sum()
        rows.append(squares)
    like = next(iter(weights.values()))
    return {name: torch.stack([torch.as_tensor(row[name]).to(like) for row in rows]).detach() for name in weights}


def _agree(found: dict[str, Tensor], single: dict[str, Tensor]) -> bool:
    """Whether recorded norms end with those of a single input."""
    close = 1e-8 if next(iter(found.values())).dtype == torch.float64 else 1e-3
    small = close * float(sum(single.values()))
    return all(torch.allclose(found[name][-1:], single[name], rtol=close, atol=small) for name in single)


def _squared(uses: list[tuple[Use, Tensor | None]], nothing: Tensor) -> Tensor:
    """The squared norm (batch,) of the sum of all uses of one weight."""
    uses = [(use, slope) for use, slope in uses if slope is not None]
    if not uses:
        return nothing
    if all(use.rule is None for use, _ in uses):
        pairs = [_factors(use, slope) for use, slope in uses]
        inputs, slopes = pairs[0] if len(pairs) == 1 else (torch.cat(side, dim=2) for side in zip(*pairs, strict=True))
        places, wide, high = *inputs.shape[2:], slopes.shape[3]  # (batch, G, P, I) and (batch, G, P, J)
        if places == 1:
            return (inputs.square().sum((2, 3)) * slopes.square().sum((2, 3))).sum(1)
        if places * (wide + high) < wide * high:
            return ((inputs @ inputs.mT) * (slopes @ slopes.mT)).sum((1, 2, 3))
    total = sum(_gradient(use, slope).flatten(1) for use, slope in uses)
    return total.square().sum(1)


def _factors(use: Use, slope: Tensor) -> tuple[Tensor, Tensor]:
    """a (batch, G, P, I) and δ (batch, G, P, J) of a product."""
    return use.inputs, slope.reshape(*use.inputs.shape[:3], slope.shape[-1])


def _gradient(use: Use, slope: Tensor) -> Tensor:
    if use.rule is not None:
        return use.rule(slope)
    inputs, slope = _factors(use, slope)
    return inputs.mT @ slope
