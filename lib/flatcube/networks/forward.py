"""A small transformer as one function of its parameters, for K sets of parameters at once.

The encoder of HR (Sec. 2 and 7.1): every bit is a token with a learned vector, every position has one too; L layers of
attention and MLP with skip connections; one number is read at the last position. With X of shape (N, D), a layer is

    norm="post":  U = norm(X + attention(X)),  Z = norm(U + mlp(U))      PyTorch's default, used in HR's experiments
    norm="mlp":   U = X + attention(X),        Z = norm(U + mlp(U))      the one that HR analyses, Eq. (1)-(5)
    norm="pre":   U = X + attention(norm(X)),  Z = U + mlp(norm(U))      and a last norm before the read-out
    norm="none":  U = X + attention(X),        Z = U + mlp(U)

    attention(X) = [A₁ X V₁, …, A_H X V_H] O,   A_h = softmax(X Q_h (X K_h)ᵀ/√(D/H)),   mlp(U) = relu(U W₁) W₂,

all with biases unless ``bias=False``. Each parameter has a leading axis of K models. Two identities save most of the
work and change no value:

- the first layer sees at most 2n different vectors (symbol, position), so its queries, keys, values and their logits
  are computed for those only;
- the last layer is needed at one position only: with one query q, the logits are X (K_h q) and the mean of the values
  is (mean of X) V_h, so no key and no value is ever computed.

Readers come in through ``Encoder`` and ``Ensemble``, which hold parameters that fit their configuration.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.config import Config
from flatcube.networks.uses import Use

__all__ = ["embedding", "evaluate", "activations"]

Parameters = Mapping[str, Tensor]  # (K, …) by name


def evaluate(
    config: Config,
    parameters: Parameters,
    bits: Tensor,
    *,
    seen: dict[str, Tensor] | None = None,
    uses: list[Use] | None = None,
) -> Tensor:
    """The outputs (K, batch) of K encoders with the given parameters (K, …) on bits (batch, n) or (K, batch, n).

    With a dictionary ``seen``, everything on the way is put into it, and every layer is computed at every position.
    With a list ``uses``, every use of a weight of one encoder, K = 1, is put into it. With either, inputs are computed
    apart from each other.
    """
    p, together = _Part(parameters, "", seen, uses), seen is None and uses is None
    table = _distinct(config, p)  # (K, R, D)
    bits = _checked(config, len(table), bits)  # (batch, n) or (K, batch, n)
    rows, asked = _asked(config, bits, last=config.layers == 1 and together)
    x = _chosen(table[:, None, rows], asked)  # (K, batch, N, D); with a single layer (K, batch, 1, D) will do
    p.note(embedding=x)
    p.embedded(bits, x)
    for index in range(config.layers):
        layer, last = p.under(f"layers.{index}."), index == config.layers - 1 and seen is None
        if index == 0 and together:
            mixed = _attention_among(config, layer, table, bits, rows, asked)
        else:
            mixed = (_attention_at_last if last else _attention)(config, layer, x)
        x = _after(config, layer, x[:, :, -1:] if last else x, mixed)  # (K, batch, N, D) or (K, batch, 1, D)
    x = x[:, :, -1:]  # (K, batch, 1, D)
    x = _norm(config, x, p.under("norm.")) if config.norm == "pre" else x
    output = _affine(x, p.under("readout."))[..., 0, 0]  # (K, batch)
    p.note(output=output)
    return output


def embedding(config: Config, parameters: Parameters, bits: Tensor) -> Tensor:
    """What enters the first layer, (K, batch, N, D)."""
    table = _distinct(config, _Part(parameters))
    return _chosen(table[:, None], _checked(config, len(table), bits))


def activations(config: Config, parameters: Parameters, bits: Tensor) -> dict[str, Tensor]:
    """All values on the way, by name, and the factors of the norms from the values that enter them."""
    seen: dict[str, Tensor] = {}
    evaluate(config, parameters, bits, seen=seen)
    before = "embedding"
    for layer in (f"layers.{index}." for index in range(config.layers)):
        normed = {
            "post": {"factor_attention": layer + "mixed", "factor": layer + "sum"},
            "pre": {"factor_attention": before, "factor": layer + "mixed"},
            "mlp": {"factor": layer + "sum"},
            "none": {},
        }[config.norm]
        seen |= {layer + name: _factor(config, seen[source]) for name, source in normed.items()}
        before = layer + "output"
    if config.norm == "pre":
        seen["factor"] = _factor(config, seen[before][:, :, -1:])
    return seen


@dataclass(frozen=True)
class _Part:
    """The parameters (K, …) whose names begin with ``prefix``, by the rest of them; it takes notes where asked to.

    What is computed with them goes into ``seen``, and into ``uses`` how, of a single encoder: K = 1.
    """

    parameters: Parameters
    prefix: str = ""
    seen: dict[str, Tensor] | None = None
    uses: list[Use] | None = None

    def __getitem__(self, name: str) -> Tensor:
        return self.parameters[self.prefix + name]

    def get(self, name: str) -> Tensor | None:
        return self.parameters.get(self.prefix + name)

    def under(self, prefix: str) -> "_Part":
        return _Part(self.parameters, self.prefix + prefix, self.seen, self.uses)

    def note(self, **values: Tensor) -> None:
        if self.seen is not None:
            self.seen.update({self.prefix + name: value for name, value in values.items()})

    def product(self, name: str, x: Tensor, y: Tensor, groups: int = 1) -> None:
        """y is x (1, batch, …, I) times a weight, in each of ``groups`` separate blocks."""
        if self.uses is not None:
            rows = math.prod(x.shape[2:-1]) // groups
            inputs = x.detach().reshape(x.shape[1], groups, rows, x.shape[-1])
            self.uses.append(Use(self.prefix + name, y, inputs))

    def multiple(self, name: str, x: Tensor | float, y: Tensor) -> None:
        """y (1, batch, …) is x times a weight, entry by entry, or a sum of that."""
        if self.uses is not None:
            shape, factor = (y.shape[1], -1, self[name].numel()), x.detach() if isinstance(x, Tensor) else x
            self.uses.append(Use(self.prefix + name, y, rule=lambda slope: (slope * factor).reshape(shape).sum(1)))

    def embedded(self, bits: Tensor, x: Tensor) -> None:
        """x (1, batch, N, D) is made of rows of tokens, in the first channels, and of positions, in the last ones."""
        if self.uses is not None:
            size, more = self["tokens"].shape[-1], x.shape[-2] - bits.shape[-1]
            symbols = nn.functional.one_hot(nn.functional.pad(bits, (0, more), value=2), self["tokens"].shape[-2])
            rows = symbols.to(x.dtype).mT  # (batch, symbols, N)
            self.uses.append(Use("tokens", x, rule=lambda slope: rows @ slope[0, ..., :size]))
            self.uses.append(Use("positions", x, rule=lambda slope: slope[0, ..., -size:]))


def _distinct(config: Config, p: _Part) -> Tensor:
    """All vectors that can enter the first layer, (K, R, D): n with bit 0, n with bit 1, one of the third symbol."""
    n, third = config.n, range(config.n, config.positions)
    symbols = p["tokens"][:, [0] * n + [1] * n + [2] * len(third)]  # (K, R, E)
    places = p["positions"][:, [*range(n), *range(n), *third]]  # (K, R, E)
    return symbols + places if config.embedding == "added" else torch.cat([symbols, places], -1)


def _asked(config: Config, bits: Tensor, *, last: bool) -> tuple[list[int], Tensor]:
    """The rows of such a table that can stand at all positions, or at the last one, and the bits that choose them."""
    n = config.n
    if not last:
        return [*range(n + config.positions)], bits
    return ([2 * n], bits[..., :0]) if config.cls else ([n - 1, 2 * n - 1], bits[..., -1:])


def _chosen(vectors: Tensor, bits: Tensor) -> Tensor:
    """The rows that m bits choose, i or m + i, among (…, 2m, E): (…, m, E); a row 2m, if any, follows them."""
    m = bits.shape[-1]
    # lerp is exact at 0 and 1, and its gradient is faster than that of indexing.
    taken = torch.lerp(vectors[..., :m, :], vectors[..., m : 2 * m, :], bits[..., None].to(vectors.dtype))
    if vectors.shape[-2] == 2 * m:
        return taken
    return torch.cat([taken, vectors[..., 2 * m :, :].expand(*taken.shape[:-2], -1, -1)], -2)


def _attention(config: Config, p: _Part, x: Tensor) -> Tensor:
    """x (K, batch, N, D) to [A₁ X V₁, …, A_H X V_H] O at every position, the same shape."""
    source = _before(config, p, x)
    q, k, v = (_heads(config, p, name, source).transpose(2, 3) for name in ("query", "key", "value"))
    logits = q @ k.mT / math.sqrt(q.shape[-1])  # (K, batch, H, N, D/H) times (K, batch, H, D/H, N)
    a = _weights(config, logits, causal=config.causal)  # (K, batch, H, N, N)
    p.note(**{f"attention.{h}": a[:, :, h] for h in range(config.heads)})
    return _affine((a @ v).transpose(2, 3).flatten(3), p.under("output."))  # (K, batch, N, D)


def _attention_at_last(config: Config, p: _Part, x: Tensor) -> Tensor:
    """The same at the last position only: (K, batch, N, D) to (K, batch, 1, D)."""
    source, split = _before(config, p, x), partial(torch.unflatten, dim=-1, sizes=(config.heads, -1))
    q = _heads(config, p, "query", source[:, :, -1])  # (K, batch, H, D/H)
    q = q / math.sqrt(q.shape[-1])
    folded = torch.einsum("kbhe,kdhe->kbhd", q, split(p["key.weight"]))  # (K, batch, H, D)
    p.product("key.weight", q, folded, config.heads)
    logits = folded @ source.mT  # (K, batch, H, N)
    if config.bias:
        more = torch.einsum("kbhe,khe->kbh", q, split(p["key.bias"]))[..., None]
        p.multiple("key.bias", q, more)
        logits = logits + more
    a = _weights(config, logits)  # (K, batch, H, N)
    mean = a @ source  # (K, batch, H, D)
    mixed = torch.einsum("kbhd,kdhe->kbhe", mean, split(p["value.weight"]))  # (K, batch, H, D/H)
    p.product("value.weight", mean, mixed, config.heads)
    if config.bias:
        total = a.sum(-1, keepdim=True)
        more = total * split(p["value.bias"])[:, None]
        p.multiple("value.bias", total, more)
        mixed = mixed + more
    return _affine(mixed.flatten(2), p.under("output."))[:, :, None]  # (K, batch, 1, D)


def _attention_among(
    config: Config, p: _Part, table: Tensor, bits: Tensor, rows: list[int], asked: Tensor
) -> Tensor:
    """The same in the first layer, at the positions of ``asked``: (K, R, D) to (K, batch, N or 1, D).

    With P[r, s] = exp(logit) for key r and query s, and 1[r] whether vector r occurs in the input, query s is answered
    by Σ_r 1[r] P[r, s] v[r] / Σ_r 1[r] P[r, s]: the product of a matrix (batch, R) with one that no input enters.
    """
    source = _before(config, p, table)  # (K, R, D)
    k, v = (_heads(config, p, name, source) for name in ("key", "value"))  # (K, R, H, D/H)
    q = _heads(config, p, "query", source[:, rows])  # (K, S, H, D/H)
    kernel = _kernel(config, torch.einsum("krhe,kshe->krsh", k, q / math.sqrt(q.shape[-1])), rows)  # (K, R, S, H)
    if kernel is None:
        return _attention(config, p, _chosen(table[:, None], bits))[:, :, asked.shape[-1] - len(rows) :]
    if config.attention == "softmax":
        v = torch.cat([v, torch.ones_like(v[..., :1])], -1)  # its last channel sums the kernel itself
    product = (kernel[..., None] * v[:, :, None]).flatten(2)  # (K, R, S H (D/H + 1))
    occurs = torch.cat([1 - bits, bits, torch.ones_like(bits[..., : config.cls])], -1).to(product.dtype)  # (batch, R)
    mixed = _chosen((occurs @ product).unflatten(-1, (len(rows), -1)), asked)  # (K, batch, N or 1, H (D/H + 1))
    mixed = mixed.unflatten(-1, (config.heads, -1))
    mixed = mixed[..., :-1] / mixed[..., -1:] if config.attention == "softmax" else mixed
    return _affine(mixed.flatten(3), p.under("output."))  # (K, batch, N or 1, D)


def _kernel(config: Config, logits: Tensor, rows: list[int]) -> Tensor | None:
    """How much key r counts for query s among the distinct vectors, from logits (K, R, S, H); None out of range.

    For softmax exp(logit), up to a factor for every query. An input may lack the key with the largest logit, but of
    the two vectors of each position it has one: if even the smaller of them is not too far below, nothing is lost.
    """
    n, place = config.n, torch.tensor([*range(config.n), *range(config.positions)])  # place (R,)
    hidden = (place[:, None] > place[rows])[..., None] if config.causal else None  # (R, S, 1)
    if config.attention != "softmax":
        kernel = logits.relu() if config.attention == "relu" else logits
        kernel = kernel.masked_fill(hidden, 0) if config.causal else kernel
        return kernel / (1 + place[rows][:, None] if config.causal else config.positions)
    logits = logits.masked_fill(hidden, -torch.inf) if config.causal else logits
    values = logits.detach()
    least = torch.cat([torch.minimum(values[:, :n], values[:, n : 2 * n]), values[:, 2 * n :]], 1).amax(1, keepdim=True)
    most = values.amax(1, keepdim=True)  # (K, 1, S, H)
    within = (most - least).max() < 0.7 * math.log(torch.finfo(logits.dtype).max)
    return (logits - most).exp() if within else None


def _before(config: Config, p: _Part, x: Tensor) -> Tensor:
    return _norm(config, x, p.under("norm_attention.")) if config.norm == "pre" else x


def _after(config: Config, p: _Part, x: Tensor, mixed: Tensor) -> Tensor:
    """The layer from the skip connection around the attention on: x and mixed (K, batch, r, D) to the same."""
    u = x + mixed
    p.note(mixed=u)
    u = _norm(config, u, p.under("norm_attention.")) if config.norm == "post" else u
    inner = _norm(config, u, p.under("norm.")) if config.norm == "pre" else u
    hidden = _affine(inner, p.under("mlp.0."))  # (K, batch, r, hidden)
    z = u + _affine(hidden.relu(), p.under("mlp.1."))
    p.note(**{"mlp.0": hidden, "sum": z})
    z = _norm(config, z, p.under("norm.")) if config.norm in ("post", "mlp") else z
    p.note(output=z)
    return z


def _heads(config: Config, p: _Part, name: str, x: Tensor) -> Tensor:
    """The queries, keys or values of x (K, …, D): (K, …, H, D/H)."""
    return _affine(x, p.under(f"{name}.")).unflatten(-1, (config.heads, -1))


def _weights(config: Config, logits: Tensor, *, causal: bool = False) -> Tensor:
    """The weights of the keys in the last axis of (…, N); with ``causal``, row i of (…, N, N) sees the keys up to i."""
    count = logits.shape[-1]
    hidden = torch.ones(count, count, dtype=torch.bool).triu(1) if causal else None
    if config.attention == "softmax":
        return (logits.masked_fill(hidden, -torch.inf) if causal else logits).softmax(-1)
    weights = logits.relu() if config.attention == "relu" else logits
    if not causal:
        return weights / count
    return weights.masked_fill(hidden, 0) / torch.arange(1, count + 1, dtype=logits.dtype)[:, None]


def _norm(config: Config, x: Tensor, p: _Part) -> Tensor:
    """gain · (x − mean)/√(variance + ε) + bias over the channels of x (K, …, D) (HR Eq. 3)."""
    if config.rms or config.eps == 0:
        plain = _centred(config, x) * _factor(config, x)
    else:
        plain = nn.functional.layer_norm(x, x.shape[-1:], eps=config.eps)
    gain = _spread(p["gain"], x)
    y = torch.addcmul(_spread(p["bias"], x), plain, gain) if config.bias else plain * gain
    p.multiple("gain", plain, y)
    if config.bias:
        p.multiple("bias", 1.0, y)
    return y


def _factor(config: Config, x: Tensor) -> Tensor:
    """N(x) = 1/√(variance + ε), (…, 1) (HR Eq. 5); 0 where variance and ε are 0, as in ``Norm``."""
    spread = _centred(config, x).square().mean(-1, keepdim=True) + config.eps
    return torch.where(spread > 0, spread, torch.inf).rsqrt()


def _centred(config: Config, x: Tensor) -> Tensor:
    return x if config.rms else x - x.mean(-1, keepdim=True)


def _affine(x: Tensor, p: _Part) -> Tensor:
    """x (K, …, D) times weight (K, D, E), plus bias (K, E) where there is one."""
    flat, weight, bias = x.flatten(1, -2), p["weight"], p.get("bias")
    y = flat @ weight if bias is None else torch.baddbmm(bias[:, None], flat, weight)  # (K, …, E)
    y = y.unflatten(1, x.shape[1:-1])
    p.product("weight", x, y)
    if bias is not None:
        p.multiple("bias", 1.0, y)
    return y


def _spread(p: Tensor, x: Tensor) -> Tensor:
    """A parameter (K, D) shaped to meet x (K, …, D)."""
    return p.reshape(p.shape[0], *[1] * (x.ndim - 2), p.shape[1])


def _checked(config: Config, count: int, bits: Tensor) -> Tensor:
    bits = tensors.tensor(bits, "bits")
    several = bits.ndim == 3
    bits = tensors.bits(bits, "bits", (count, "batch", config.n) if several else ("batch", config.n))
    if config.layers > 1:  # the first layers compare every position with every other one
        checks.room(4 * count * bits.shape[-2] * config.heads * config.positions**2, "bits")
    return bits
