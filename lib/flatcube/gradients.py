"""Squared gradient norms ‖∂f(x)/∂W‖² for every input x and every weight W, from one backward pass.

A weight that enters through a product a W has, at one input, the gradient Σ_p a_pᵀ δ_p over positions p, with δ the
gradient of f at the product. One pass forwards records every a, one backwards gives every δ, and

    ‖Σ_p a_pᵀ δ_p‖² = Σ_{p,q} ⟨a_p, a_q⟩⟨δ_p, δ_q⟩,

so that the gradient of a wide weight need never be formed. Biases and gains are simpler. A network that uses a weight
in another way gets its gradients one input at a time. A trainable encoder shares work between inputs, so it is recorded
in its plain form, ``plain``.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.overrides import TorchFunctionMode

from flatcube import blocks, encoder
from flatcube.landscape import BUDGET, Landscape, chosen

__all__ = ["gradient_norms", "recorded", "one_by_one", "plain"]


class _Unknown(Exception):
    """A weight is used in a way that has no rule here."""


class _Use(NamedTuple):
    """One use of a weight: f's gradient in it is ``rule(inputs, δ)``, (batch, …), with δ the gradient at ``output``.

    A product is kept as its two factors instead: ``rule`` is None, and ``flip`` says that W is stored as (out, in).
    """

    name: str
    output: Tensor
    inputs: Tensor | None = None
    rule: Callable[[Tensor | None, Tensor], Tensor] | None = None
    flip: bool = False


class _Recorder(TorchFunctionMode):
    """Notes every use of the given weights while a network runs on ``batch`` inputs."""

    def __init__(self, weights: dict[str, Tensor], batch: int) -> None:
        super().__init__()
        self.names = {id(weight): name for name, weight in weights.items()}
        self.batch, self.uses = batch, []

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        given = [*args, *kwargs.values()]
        mine = [value for value in given if id(value) in self.names]
        result = func(*args, **kwargs)
        if mine and isinstance(result, Tensor) and result.requires_grad:
            self._note(func.__name__, result, args, kwargs, mine)
        return result

    def _note(self, kind: str, output: Tensor, args: tuple, kwargs: dict, mine: list[Tensor]) -> None:
        if not output.ndim or len(output) != self.batch or kind not in _RULES:
            raise _Unknown(kind)
        uses = _RULES[kind](self.names, output, args, kwargs)
        if len(uses) != len(mine):
            raise _Unknown(kind)
        self.uses += uses


def gradient_norms(
    model: nn.Module,
    x: Tensor | np.ndarray,
    *,
    exclude: Sequence[str] = ("positions",),
    budget: int = BUDGET,
) -> dict[str, Tensor]:
    """‖∂f(x)/∂W‖² by the name of W, (batch,) each, for a network f with one output; their sum is ‖∇f(x)‖²."""
    land = Landscape(model, x, exclude=exclude, budget=budget)
    if land.base.ndim != 1:
        raise ValueError(f"model: expected one output per input, got {tuple(land.base.shape[1:])}")
    _, rows = land.chunks(1, "gradients")
    parts = [_norms(model, some, tuple(exclude)) for some in land.x.split(rows)]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def recorded(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor] | None:
    """The norms (batch,) by name from one forward and one backward pass; None if some use of a weight has no rule."""
    weights = _trainable(model, exclude)
    try:
        with torch.enable_grad(), _Recorder(weights, len(x)) as recorder:
            total = (plain(model, x) if isinstance(model, encoder.Encoder) else model(x)).sum()
    except _Unknown:
        return None
    slopes = torch.autograd.grad(total, [use.output for use in recorder.uses], allow_unused=True)
    pairs = [(use, slope) for use, slope in zip(recorder.uses, slopes, strict=True) if slope is not None]
    nothing = total.new_zeros(len(x))
    return {name: _squared([pair for pair in pairs if pair[0].name == name], nothing) for name in weights}


def one_by_one(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor]:
    """The norms (batch,) by name from one gradient per input: vmap(grad), or a loop where vmap cannot follow."""
    weights = chosen(model, exclude)

    def output(weights: dict[str, Tensor], row: Tensor) -> Tensor:
        return functional_call(model, weights, (row[None],))[0]

    if hasattr(model, "many"):  # our networks look at the values of their input, which vmap cannot
        return _loop(model, x, exclude)
    try:
        gradients = vmap(grad(output), (None, 0))(weights, x)
    except RuntimeError:
        return _loop(model, x, exclude)
    return {name: gradient.detach().flatten(1).square().sum(1) for name, gradient in gradients.items()}


def _loop(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor]:
    weights = _trainable(model, exclude)
    rows = [torch.autograd.grad(model(row[None])[0], [*weights.values()], allow_unused=True) for row in x]
    sums = [[x.new_zeros(()) if slope is None else slope.square().sum() for slope in row] for row in rows]
    return {name: torch.stack(column) for name, column in zip(weights, zip(*sums, strict=True), strict=True)}


def _trainable(model: nn.Module, exclude: Sequence[str]) -> dict[str, Tensor]:
    names = chosen(model, exclude)
    return {name: weight for name, weight in model.named_parameters() if name in names}


def _norms(model: nn.Module, x: Tensor, exclude: Sequence[str]) -> dict[str, Tensor]:
    """The recorded norms, if they agree with a plain gradient at the last input; else one gradient per input."""
    found = recorded(model, x, exclude)
    if found is not None:
        single = _loop(model, x[-1:], exclude)
        close = 1e-8 if next(iter(found.values())).dtype == torch.float64 else 1e-3
        small = close * float(sum(single.values()))
        if all(torch.allclose(found[name][-1:], single[name], rtol=close, atol=small) for name in single):
            return found
    return one_by_one(model, x, exclude)


def _squared(uses: list[tuple[_Use, Tensor]], nothing: Tensor) -> Tensor:
    """The squared norm (batch,) of the sum of all uses of one weight."""
    if not uses:
        return nothing
    if all(use.rule is None for use, _ in uses):
        inputs = torch.cat([_rows(use.inputs) for use, _ in uses], dim=1)  # (batch, P, I)
        slopes = torch.cat([_rows(slope) for _, slope in uses], dim=1)  # (batch, P, J)
        places, wide, high = inputs.shape[1], inputs.shape[2], slopes.shape[2]
        if places * (wide + high) < wide * high:
            return ((inputs @ inputs.mT) * (slopes @ slopes.mT)).sum((1, 2))
    total = sum(_gradient(use, slope) for use, slope in uses)
    return total.flatten(1).square().sum(1)


def _gradient(use: _Use, slope: Tensor) -> Tensor:
    if use.rule is not None:
        return use.rule(use.inputs, slope)
    gradient = _rows(use.inputs).mT @ _rows(slope)
    return gradient.mT if use.flip else gradient


def _rows(values: Tensor) -> Tensor:
    """(batch, …, C) as (batch, P, C)."""
    return values.reshape(len(values), -1, values.shape[-1])


# --- how a weight can be used -----------------------------------------------------------------------------------------


def _summed(values: Tensor, shape: torch.Size) -> Tensor:
    """values (batch, …) with the axes that ``shape`` was broadcast along summed: (batch, *shape)."""
    lost = values.ndim - 1 - len(shape)
    values = values.sum(tuple(range(1, lost + 1))) if lost else values
    ones = tuple(axis for axis, length in enumerate(shape, start=1) if length == 1)
    return values.sum(ones, keepdim=True) if ones else values


def _matmul(names: dict[int, str], output: Tensor, args: tuple, kwargs: dict) -> list[_Use]:
    left, right = args
    return [_Use(names[id(right)], output, left.detach())] if id(right) in names and right.ndim == 2 else []


def _linear(names: dict[int, str], output: Tensor, args: tuple, kwargs: dict) -> list[_Use]:
    x, weight, bias = [*args, *(kwargs[key] for key in ("weight", "bias") if key in kwargs), None][:3]
    uses = [_Use(names[id(weight)], output, x.detach(), flip=True)] if id(weight) in names else []
    return uses + _shifts(names, output, bias)


def _add(names: dict[int, str], output: Tensor, args: tuple, kwargs: dict) -> list[_Use]:
    return [] if kwargs else [use for value in args for use in _shifts(names, output, value)]


def _shifts(names: dict[int, str], output: Tensor, value: Any) -> list[_Use]:
    if id(value) not in names or value.ndim >= output.ndim:
        return []
    return [_Use(names[id(value)], output, None, lambda _, slope: _summed(slope, value.shape))]


def _mul(names: dict[int, str], output: Tensor, args: tuple, kwargs: dict) -> list[_Use]:
    left, right = args if id(args[1]) in names else args[::-1]
    if id(left) in names or right.ndim >= output.ndim or not isinstance(left, Tensor):
        return []
    shape = right.shape
    return [_Use(names[id(right)], output, left.detach(), lambda inputs, slope: _summed(slope * inputs, shape))]


_RULES: dict[str, Callable[[dict[int, str], Tensor, tuple, dict], list[_Use]]] = {
    "matmul": _matmul,
    "linear": _linear,
    "add": _add,
    "mul": _mul,
}


# --- the trainable encoder, one input apart from the other ------------------------------------------------------------


def plain(model: encoder.Encoder, bits: Tensor) -> Tensor:
    """What ``model(bits)`` computes, (batch,), with every weight applied to every input on its own."""
    config, p = model.config, dict(model.named_parameters())
    symbols = nn.functional.pad(torch.as_tensor(bits).long(), (0, int(config.cls)), value=2)
    x = nn.functional.one_hot(symbols, len(p["tokens"])).to(p["tokens"].dtype) @ p["tokens"]
    places = torch.zeros_like(x) + p["positions"]
    x = x + places if config.embedding == "added" else torch.cat([x, places], -1)
    for index in range(config.layers):
        last = slice(-1, None) if index == config.layers - 1 else slice(None)
        x = _plain_layer(config, p, f"layers.{index}", x, last)
    x = _plain_norm(config, p, "norm", x) if config.norm == "pre" else x
    return _affine(p, "readout", x)[:, -1, 0]


def _plain_layer(config: encoder.Config, p: dict[str, Tensor], layer: str, x: Tensor, rows: slice) -> Tensor:
    source = _plain_norm(config, p, f"{layer}.norm_attention", x) if config.norm == "pre" else x
    pairs = zip(("query", "key", "value"), (source[:, rows], source, source), strict=True)
    parts = [_affine(p, f"{layer}.{name}", part) for name, part in pairs]
    q, k, v = (part.unflatten(-1, (config.heads, -1)).transpose(1, 2) for part in parts)  # (batch, H, r or N, D/H)
    weights = _attention(config, q @ k.mT / math.sqrt(q.shape[-1]), rows)  # (batch, H, r, N)
    u = x[:, rows] + _affine(p, f"{layer}.output", (weights @ v).transpose(1, 2).flatten(2))
    u = _plain_norm(config, p, f"{layer}.norm_attention", u) if config.norm == "post" else u
    inner = _plain_norm(config, p, f"{layer}.norm", u) if config.norm == "pre" else u
    z = u + _affine(p, f"{layer}.mlp.1", _affine(p, f"{layer}.mlp.0", inner).relu())
    return _plain_norm(config, p, f"{layer}.norm", z) if config.norm in ("post", "mlp") else z


def _attention(config: encoder.Config, logits: Tensor, rows: slice) -> Tensor:
    seen = torch.ones(logits.shape[-1], logits.shape[-1], dtype=torch.bool)
    seen = (seen.tril() if config.causal else seen)[rows]  # (r, N)
    if config.attention == "softmax":
        return logits.masked_fill(~seen, -torch.inf).softmax(-1)
    return (logits.relu() if config.attention == "relu" else logits) * seen / seen.sum(-1, keepdim=True)


def _affine(p: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def _plain_norm(config: encoder.Config, p: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    y = blocks.Norm(config.eps, centre=not config.rms)(x) * p[f"{name}.gain"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y
