"""Where a network uses its weights, and on what: all that per-sample gradients need.

A weight W that enters a network through a product Y = A W has, at one input, the gradient Σ_p a_pᵀ δ_p: a_p are the
rows of A at that input, one per position p, and δ_p the gradient of the output at row p of Y. So it is enough to keep A
and Y while the network runs forwards; one pass backwards gives every δ. Two recorders do that:

- ``watched`` runs any network and looks at every operation that one of its weights takes part in;
- ``followed`` computes a trainable encoder with each input apart, which ``encoder`` itself avoids in order to be fast.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from flatcube import blocks, encoder
from flatcube.forward import attention_weights

__all__ = ["Use", "watched", "followed"]


class Use(NamedTuple):
    """One use of a weight, with δ the gradient at ``output``, (batch, …).

    A product keeps ``inputs`` (batch, G, P, I), and δ at ``columns`` of the last axis is (batch, G, P, J): the gradient
    is Σ_p a_pᵀ δ_p in each of G separate blocks. Any other use has a ``rule``: δ to the gradient, (batch, …).
    """

    name: str
    output: Tensor
    inputs: Tensor | None = None
    rule: Callable[[Tensor], Tensor] | None = None
    columns: slice = slice(None)


# --- any network ------------------------------------------------------------------------------------------------------


def watched(model: nn.Module, weights: dict[str, Tensor], x: Tensor) -> tuple[Tensor, list[Use]] | None:
    """The outputs (batch,) and all uses of the weights; None if one is used in a way that has no rule here."""
    try:
        with _Watch(weights, len(x)) as watch:
            return model(x), watch.uses
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


# --- the trainable encoder --------------------------------------------------------------------------------------------


def followed(model: encoder.Encoder, bits: Tensor) -> tuple[Tensor, list[Use]]:
    """The outputs (batch,) of an encoder on bits (batch, n), and all uses of its weights."""
    return _Follower(model)(torch.as_tensor(bits).long())


class _Follower:
    """Computes an encoder as its formulas say, one input apart from the other, and notes every use of a weight."""

    def __init__(self, model: encoder.Encoder) -> None:
        self.config, self.p, self.uses = model.config, dict(model.named_parameters()), []

    def __call__(self, bits: Tensor) -> tuple[Tensor, list[Use]]:
        x = self.embedding(nn.functional.pad(bits, (0, int(self.config.cls)), value=2))
        for index in range(self.config.layers):
            layer, last = f"layers.{index}", index == self.config.layers - 1
            source = self.norm(f"{layer}.norm_attention", x) if self.config.norm == "pre" else x
            mixed = (self.attention_at_last if last else self.attention)(layer, source)
            x = self.after(layer, x[:, -1:] if last else x, mixed)
        x = self.norm("norm", x) if self.config.norm == "pre" else x
        return self.affine(x, "readout")[:, 0, 0], self.uses

    def embedding(self, symbols: Tensor) -> Tensor:
        """Symbols (batch, N) to vectors (batch, N, D)."""
        rows = nn.functional.one_hot(symbols, len(self.p["tokens"])).to(self.p["tokens"].dtype)
        x = rows @ self.p["tokens"]
        places = self.p["positions"].expand_as(x)
        self.uses += [Use("tokens", x, rows[:, None]), Use("positions", places, rule=lambda slope: slope)]
        return x + places if self.config.embedding == "added" else torch.cat([x, places], -1)

    def attention(self, layer: str, x: Tensor) -> Tensor:
        """(batch, N, D) to the same."""
        joint = self.affine(x, *(f"{layer}.{name}" for name in ("query", "key", "value")))  # (batch, N, 3D)
        q, k, v = joint.unflatten(-1, (3, self.config.heads, -1)).permute(2, 0, 3, 1, 4)  # (batch, H, N, D/H)
        logits = q @ k.mT / math.sqrt(q.shape[-1])
        weights = attention_weights(self.config, logits, causal=self.config.causal)  # (batch, H, N, N)
        return self.affine((weights @ v).transpose(1, 2).flatten(2), f"{layer}.output")

    def attention_at_last(self, layer: str, x: Tensor) -> Tensor:
        """(batch, N, D) to (batch, 1, D), without a key or a value: see ``encoder``."""
        heads = (self.config.heads, -1)
        key, value = (self.p[f"{layer}.{name}.weight"].unflatten(-1, heads) for name in ("key", "value"))
        q = self.affine(x[:, -1:], f"{layer}.query").unflatten(-1, heads).transpose(1, 2)
        q = q / math.sqrt(q.shape[-1])  # (batch, H, 1, D/H)
        folded = torch.einsum("bhze,dhe->bhzd", q, key)  # (batch, H, 1, D)
        self.uses.append(Use(f"{layer}.key.weight", folded, q.detach()))
        logits = folded @ x[:, None].mT  # (batch, H, 1, N)
        logits = logits + self.against_bias(f"{layer}.key", q) if self.config.bias else logits
        weights = attention_weights(self.config, logits)
        mean = weights @ x[:, None]  # (batch, H, 1, D)
        mixed = torch.einsum("bhzd,dhe->bhze", mean, value)  # (batch, H, 1, D/H)
        self.uses.append(Use(f"{layer}.value.weight", mixed, mean.detach()))
        if self.config.bias:
            mixed = mixed + self.times_bias(f"{layer}.value", weights.sum(-1, keepdim=True))
        return self.affine(mixed.transpose(1, 2).flatten(2), f"{layer}.output")

    def against_bias(self, name: str, q: Tensor) -> Tensor:
        """q·bias in every head: (batch, H, 1, D/H) to (batch, H, 1, 1)."""
        bias, seen = self.p[f"{name}.bias"].unflatten(-1, (self.config.heads, 1, -1)), q.detach()
        product = (q * bias).sum(-1, keepdim=True)
        self.uses.append(Use(f"{name}.bias", product, rule=lambda slope: slope * seen))
        return product

    def times_bias(self, name: str, total: Tensor) -> Tensor:
        """The bias of every head as often as its weights add up to: (batch, H, 1, 1) to (batch, H, 1, D/H)."""
        bias, seen = self.p[f"{name}.bias"].unflatten(-1, (self.config.heads, 1, -1)), total.detach()
        product = total * bias
        self.uses.append(Use(f"{name}.bias", product, rule=lambda slope: slope * seen))
        return product

    def after(self, layer: str, x: Tensor, mixed: Tensor) -> Tensor:
        """The layer from the skip connection around the attention on."""
        u = x + mixed
        u = self.norm(f"{layer}.norm_attention", u) if self.config.norm == "post" else u
        inner = self.norm(f"{layer}.norm", u) if self.config.norm == "pre" else u
        z = u + self.affine(self.affine(inner, f"{layer}.mlp.0").relu(), f"{layer}.mlp.1")
        return self.norm(f"{layer}.norm", z) if self.config.norm in ("post", "mlp") else z

    def affine(self, x: Tensor, *names: str) -> Tensor:
        """x (batch, r, D) times one weight plus its bias, or several side by side."""
        weight = torch.cat([self.p[f"{name}.weight"] for name in names], -1)
        rows, start = x.flatten(0, 1), 0
        if self.config.bias:
            y = torch.addmm(torch.cat([self.p[f"{name}.bias"] for name in names]), rows, weight)
        else:
            y = rows @ weight
        y, inputs = y.unflatten(0, x.shape[:2]), x.detach()[:, None]
        for name in names:
            end = start + self.p[f"{name}.weight"].shape[-1]
            columns, start = slice(start, end), end
            self.uses.append(Use(f"{name}.weight", y, inputs, columns=columns))
            if self.config.bias:
                self.uses.append(Use(f"{name}.bias", y, rule=lambda slope, columns=columns: slope[..., columns].sum(1)))
        return y

    def norm(self, name: str, x: Tensor) -> Tensor:
        """gain · (x − mean)/√(variance + ε) + bias over the channels."""
        config, gain = self.config, self.p[f"{name}.gain"]
        if config.eps > 0 and not config.rms:
            plain = nn.functional.layer_norm(x, x.shape[-1:], eps=config.eps)
        else:
            plain = blocks.Norm(config.eps, centre=not config.rms)(x)
        y = torch.addcmul(self.p[f"{name}.bias"], plain, gain) if config.bias else plain * gain
        seen = plain.detach()
        self.uses.append(Use(f"{name}.gain", y, rule=lambda slope: (slope * seen).sum(1)))
        if config.bias:
            self.uses.append(Use(f"{name}.bias", y, rule=lambda slope: slope.sum(1)))
        return y
