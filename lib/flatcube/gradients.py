"""Squared gradient norms ‖∂f(x)/∂W‖² for every input x and every weight W, from one backward pass.

``flatcube.recording`` gives what every weight is multiplied by, a_p, and the gradients δ_p of f at the products. Then

    ‖Σ_p a_pᵀ δ_p‖² = Σ_{p,q} ⟨a_p, a_q⟩⟨δ_p, δ_q⟩,

so that the gradient of a wide weight need never be formed. A network that uses a weight in a way that cannot be
recorded gets its gradients one input at a time.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from flatcube import blocks, encoder, recording
from flatcube.landscape import BUDGET, Landscape, chosen
from flatcube.recording import Use

__all__ = ["gradient_norms", "recorded", "one_by_one"]

_OURS = (blocks.Encoder, encoder.Encoder)


def gradient_norms(
    model: nn.Module,
    x: Tensor | np.ndarray,
    *,
    exclude: Sequence[str] = ("positions",),
    budget: int = BUDGET,
) -> dict[str, Tensor]:
    """‖∂f(x)/∂W‖² by the name of W, (batch,) each, for a network f with one output; their sum is ‖∇f(x)‖².

    For networks other than ours, the recorded norms are compared with a plain gradient at the last input, and given up
    if they differ.
    """
    land = Landscape(model, x, exclude=exclude, budget=budget)
    single = None if isinstance(model, _OURS) else _loop(model, land.x[-1:], exclude)
    _, rows = land.chunks(1, "gradients")
    parts = [recorded(model, some, exclude) for some in land.x.split(rows)]
    if parts[-1] is None or not (single is None or _agree(parts[-1], single)):
        parts = [one_by_one(model, some, exclude) for some in land.x.split(rows)]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


@torch.enable_grad()
def recorded(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor] | None:
    """The norms (batch,) by name from one forward and one backward pass; None if some use of a weight has no rule."""
    weights = _trainable(model, exclude)
    known = isinstance(model, encoder.Encoder)
    found = recording.followed(model, x) if known else recording.watched(model, weights, x)
    if found is None:
        return None
    outputs, uses = found[0], [use for use in found[1] if use.name in weights]
    places = list({id(use.output): use.output for use in uses}.values())
    slopes = torch.autograd.grad(outputs.sum(), places, allow_unused=True)
    by_place = {id(place): slope for place, slope in zip(places, slopes, strict=True)}
    nothing = outputs.detach().new_zeros(len(x))
    return {
        name: _squared([(use, by_place[id(use.output)]) for use in uses if use.name == name], nothing)
        for name in weights
    }


def one_by_one(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor]:
    """The norms (batch,) by name from one gradient per input: vmap(grad), or a loop where vmap cannot follow."""

    def output(weights: dict[str, Tensor], row: Tensor) -> Tensor:
        return functional_call(model, weights, (row[None],))[0]

    if hasattr(model, "many"):  # our networks look at the values of their input, which vmap cannot
        return _loop(model, x, exclude)
    try:
        gradients = vmap(grad(output), (None, 0))(chosen(model, exclude), x)
    except RuntimeError:
        return _loop(model, x, exclude)
    return {name: gradient.detach().flatten(1).square().sum(1) for name, gradient in gradients.items()}


@torch.enable_grad()
def _loop(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor]:
    weights = _trainable(model, exclude)
    outputs = (model(row[None]) for row in x)
    rows = [torch.autograd.grad(_single(output), [*weights.values()], allow_unused=True) for output in outputs]
    sums = [[x.new_zeros(()) if slope is None else slope.square().sum() for slope in row] for row in rows]
    return {name: torch.stack(column) for name, column in zip(weights, zip(*sums, strict=True), strict=True)}


def _single(output: Tensor) -> Tensor:
    if output.shape != (1,):
        raise ValueError(f"model: expected one output per input, got shape {tuple(output.shape)} for one input")
    return output[0]


def _trainable(model: nn.Module, exclude: Sequence[str]) -> dict[str, Tensor]:
    names = chosen(model, exclude)
    return {name: weight for name, weight in model.named_parameters() if name in names}


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
    slope = slope[..., use.columns]
    return use.inputs, slope.reshape(*use.inputs.shape[:3], slope.shape[-1])


def _gradient(use: Use, slope: Tensor) -> Tensor:
    if use.rule is not None:
        return use.rule(slope)
    inputs, slope = _factors(use, slope)
    return inputs.mT @ slope
