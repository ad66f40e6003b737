"""The trainable transformer of the experiments, alone or K of them at once.

The encoder of HR (Sec. 2 and 7.1): every bit is a token with a learned vector, every position has one too; L layers of
attention and MLP with skip connections; one number is read at the last position. With X of shape (N, D), a layer is

    norm="post":  U = norm(X + attention(X)),  Z = norm(U + mlp(U))      PyTorch's default, used in HR's experiments
    norm="mlp":   U = X + attention(X),        Z = norm(U + mlp(U))      the one that HR analyses, Eq. (1)-(5)
    norm="pre":   U = X + attention(norm(X)),  Z = U + mlp(norm(U))      and a last norm before the read-out
    norm="none":  U = X + attention(X),        Z = U + mlp(U)

    attention(X) = [A₁ X V₁, …, A_H X V_H] O,   A_h = softmax(X Q_h (X K_h)ᵀ/√(D/H)),   mlp(U) = relu(U W₁) W₂,

all with biases unless ``bias=False``. Everything is computed by one function of (config, parameters, bits) in which
each parameter has a leading axis of K models. Two identities save most of the work and change no value:

- the first layer sees at most 2n different vectors (symbol, position), so its queries, keys and values are computed
  for those and then looked up;
- the last layer is needed at one position only: with one query q, the logits are X (K_h q) and the mean of the values
  is (mean of X) V_h, so no key and no value is ever computed.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args, get_type_hints

import torch
from torch import Tensor, nn

from flatcube import blocks

__all__ = ["Config", "Encoder", "Ensemble", "evaluate", "shapes", "initial"]

Parameters = Mapping[str, Tensor]  # (K, …) by name


@dataclass(frozen=True)
class Config:
    """What an encoder is made of. The defaults are HR's (App. E and the public code), at a quarter of the width.

    ``hidden`` is the width of the MLP, by default that of the model. ``embedding`` says how the vectors of symbol and
    position join: "concatenated" (half of the width each) or "added". ``cls`` appends a third symbol, read in place of
    the last bit. ``rms`` makes every norm x/√(mean of squares + ε). ``attention`` other than softmax divides
    relu(logits), or the logits themselves, by the number of keys that the query sees. ``std`` draws all weights from
    N(0, std²) and sets biases to 0, in place of PyTorch's initial values.
    """

    n: int
    width: int = 32
    layers: int = 2
    heads: int = 2
    hidden: int | None = None
    embedding: Literal["concatenated", "added"] = "concatenated"
    norm: Literal["post", "pre", "mlp", "none"] = "post"
    attention: Literal["softmax", "relu", "linear"] = "softmax"
    rms: bool = False
    causal: bool = False
    cls: bool = False
    bias: bool = True
    eps: float = 1e-5
    std: float | None = None

    def __post_init__(self) -> None:
        for name in ("n", "width", "layers", "heads"):
            _whole(name, getattr(self, name))
        if self.hidden is not None:
            _whole("hidden", self.hidden)
        if self.width % self.heads:
            raise ValueError(f"heads is {self.heads}; it must divide the width, {self.width}")
        if self.embedding == "concatenated" and self.width % 2:
            raise ValueError(f"width is {self.width}; it must be even when the embeddings are concatenated")
        for name, kind in get_type_hints(Config).items():
            allowed = get_args(kind) if getattr(kind, "__origin__", None) is Literal else None
            if allowed and getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")
        if not self.eps >= 0:
            raise ValueError(f"eps is {self.eps}; it must be at least 0")
        if self.std is not None and not 0 < self.std < math.inf:
            raise ValueError(f"std is {self.std}; it must be positive")

    @property
    def positions(self) -> int:
        """N, the number of positions: n, and one more for the appended symbol."""
        return self.n + self.cls


# --- the definition ---------------------------------------------------------------------------------------------------


def evaluate(config: Config, parameters: Parameters, bits: Tensor, seen: dict[str, Tensor] | None = None) -> Tensor:
    """The outputs (K, batch) of K encoders with the given parameters (K, …) on bits (batch, n) or (K, batch, n).

    With a dictionary ``seen``, everything on the way is put into it and the last layer is computed at every position.
    """
    table, rows = _distinct(config, parameters), _rows(config, bits)
    x = _looked_up(table, rows)  # (K, batch, N, D)
    _note(seen, embedding=x)
    for index in range(config.layers):
        layer = _under(parameters, f"layers.{index}.")
        inside: dict[str, Tensor] | None = None if seen is None else {}
        if index == config.layers - 1 and seen is None:
            x = _layer_at_last(config, layer, x)  # (K, batch, 1, D)
        elif index == 0:
            x = _layer(config, layer, x, inside, distinct=table, lookup=partial(_looked_up, rows=rows))
        else:
            x = _layer(config, layer, x, inside)  # (K, batch, N, D)
        _note(seen, **{f"layers.{index}.{name}": value for name, value in (inside or {}).items()})
    x = x[:, :, -1:]  # (K, batch, 1, D)
    if config.norm == "pre":
        _note(seen, factor=_factor(config, x))
        x = _norm(config, x, _under(parameters, "norm."))
    output = _affine(x, _under(parameters, "readout."))[..., 0, 0]  # (K, batch)
    _note(seen, output=output)
    return output


def _distinct(config: Config, p: Parameters) -> Tensor:
    """All vectors that an input can put into the first layer, (K, R, D): R = 2n, and one more for the third symbol."""
    n, cls = config.n, [0] * config.cls
    symbols = p["tokens"][:, [0] * n + [1] * n + [2 for _ in cls]]  # (K, R, E)
    places = p["positions"][:, [*range(n), *range(n), *(n for _ in cls)]]  # (K, R, E)
    return symbols + places if config.embedding == "added" else torch.cat([symbols, places], -1)


def _rows(config: Config, bits: Tensor) -> Tensor:
    """Which of the R distinct vectors stands at each position: (batch, N) or (K, batch, N)."""
    bits = _checked(config, bits)
    rows = bits * config.n + torch.arange(config.n)
    return nn.functional.pad(rows, (0, 1), value=2 * config.n) if config.cls else rows


def _looked_up(table: Tensor, rows: Tensor) -> Tensor:
    """Rows (batch, N) or (K, batch, N) of a table (K, R, E): (K, batch, N, E)."""
    count, size, _ = table.shape
    shifted = rows + size * torch.arange(count)[:, None, None]  # (K, batch, N) into the K tables one below the other
    return nn.functional.embedding(shifted, table.flatten(0, 1))


def _layer(
    config: Config,
    p: Parameters,
    x: Tensor,
    seen: dict[str, Tensor] | None,
    *,
    distinct: Tensor | None = None,
    lookup: Callable[[Tensor], Tensor] = lambda table: table,
) -> Tensor:
    """One layer, (K, batch, N, D) to the same; its keys, values and queries may be looked up among few vectors."""
    source = x if distinct is None else distinct  # (K, batch, N, D) or (K, R, D)
    if config.norm == "pre":
        _note(seen, factor_attention=_factor(config, x))
        source = _norm(config, source, _under(p, "norm_attention."))
    weight = torch.cat([p[f"{name}.weight"] for name in ("query", "key", "value")], -1)  # (K, D, 3D)
    bias = torch.cat([p[f"{name}.bias"] for name in ("query", "key", "value")], -1) if config.bias else None
    projected = lookup(_affine(source, {"weight": weight, "bias": bias}))  # (K, batch, N, 3D)
    q, k, v = projected.unflatten(-1, (3, config.heads, -1)).permute(3, 0, 1, 4, 2, 5)  # 3 of (K, batch, H, N, D/H)
    a = _weights(config, q @ k.mT / math.sqrt(q.shape[-1]), causal=config.causal)  # (K, batch, H, N, N)
    _note(seen, **{f"attention.{h}": a[:, :, h] for h in range(config.heads)})
    mixed = (a @ v).transpose(2, 3).flatten(3)  # (K, batch, N, D)
    return _after(config, p, x, _affine(mixed, _under(p, "output.")), seen)


def _layer_at_last(config: Config, p: Parameters, x: Tensor) -> Tensor:
    """The same layer at the last position only: (K, batch, N, D) to (K, batch, 1, D)."""
    source = _norm(config, x, _under(p, "norm_attention.")) if config.norm == "pre" else x
    split = partial(torch.unflatten, dim=-1, sizes=(config.heads, -1))
    q = split(_affine(source[:, :, -1], _under(p, "query.")))  # (K, batch, H, D/H)
    q = q / math.sqrt(q.shape[-1])
    key, value = split(p["key.weight"]), split(p["value.weight"])  # (K, D, H, D/H)
    folded = torch.einsum("kbhe,kdhe->kbhd", q, key)  # (K, batch, H, D)
    logits = folded @ source.mT  # (K, batch, H, N)
    if config.bias:
        logits = logits + torch.einsum("kbhe,khe->kbh", q, split(p["key.bias"]))[..., None]
    a = _weights(config, logits)  # (K, batch, H, N)
    mixed = torch.einsum("kbhd,kdhe->kbhe", a @ source, value)  # (K, batch, H, D/H)
    if config.bias:
        mixed = mixed + a.sum(-1, keepdim=True) * split(p["value.bias"])[:, None]
    mixed = _affine(mixed.flatten(2), _under(p, "output."))[:, :, None]  # (K, batch, 1, D)
    return _after(config, p, x[:, :, -1:], mixed, None)


def _after(config: Config, p: Parameters, x: Tensor, mixed: Tensor, seen: dict[str, Tensor] | None) -> Tensor:
    """The layer from the skip connection around the attention on: x and mixed (K, batch, r, D) to the same."""
    u = x + mixed
    _note(seen, mixed=u)
    if config.norm == "post":
        _note(seen, factor_attention=_factor(config, u))
        u = _norm(config, u, _under(p, "norm_attention."))
    inner = u
    if config.norm == "pre":
        _note(seen, factor=_factor(config, u))
        inner = _norm(config, u, _under(p, "norm."))
    hidden = _affine(inner, _under(p, "mlp.0."))  # (K, batch, r, hidden)
    z = u + _affine(hidden.relu(), _under(p, "mlp.1."))
    _note(seen, **{"mlp.0": hidden, "sum": z})
    if config.norm in ("post", "mlp"):
        _note(seen, factor=_factor(config, z))
        z = _norm(config, z, _under(p, "norm."))
    _note(seen, output=z)
    return z


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


def _norm(config: Config, x: Tensor, p: Parameters) -> Tensor:
    """gain · (x − mean)/√(variance + ε) + bias over the channels of x (K, …, D) (HR Eq. 3)."""
    if config.rms or config.eps == 0:
        y = _centred(config, x) * _factor(config, x)
    else:
        y = nn.functional.layer_norm(x, x.shape[-1:], eps=config.eps)
    gain = _spread(p["gain"], x)
    return torch.addcmul(_spread(p["bias"], x), y, gain) if config.bias else y * gain


def _factor(config: Config, x: Tensor) -> Tensor:
    """N(x) = 1/√(variance + ε), (…, 1) (HR Eq. 5); 0 where variance and ε are 0, as in ``blocks.Norm``."""
    spread = _centred(config, x).square().mean(-1, keepdim=True) + config.eps
    return torch.where(spread > 0, spread, torch.inf).rsqrt()


def _centred(config: Config, x: Tensor) -> Tensor:
    return x if config.rms else x - x.mean(-1, keepdim=True)


def _affine(x: Tensor, p: Mapping[str, Tensor | None]) -> Tensor:
    """x (K, …, D) times weight (K, D, E), plus bias (K, E) where there is one."""
    flat, weight, bias = x.flatten(1, -2), p["weight"], p.get("bias")
    y = flat @ weight if bias is None else torch.baddbmm(bias[:, None], flat, weight)  # (K, …, E)
    return y.unflatten(1, x.shape[1:-1])


def _spread(p: Tensor, x: Tensor) -> Tensor:
    """A parameter (K, D) shaped to meet x (K, …, D)."""
    return p.reshape(p.shape[0], *[1] * (x.ndim - 2), p.shape[1])


def _under(p: Parameters, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in p.items() if name.startswith(prefix)}


def _note(seen: dict[str, Tensor] | None, **values: Tensor) -> None:
    if seen is not None:
        seen.update(values)


def _checked(config: Config, bits: Tensor) -> Tensor:
    bits = torch.as_tensor(bits)
    if bits.ndim < 2 or bits.shape[-1] != config.n:
        raise ValueError(f"bits has shape {tuple(bits.shape)}; it must be (batch, {config.n}) for this encoder")
    if bits.numel() and not bool(((bits == 0) | (bits == 1)).all()):
        bad = bits[(bits != 0) & (bits != 1)][0].item()
        raise ValueError(f"bits holds {bad:g}; it must hold 0 and 1 (signs are turned into bits by cube.to_bits)")
    return bits.long()


# --- parameters -------------------------------------------------------------------------------------------------------


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter of one encoder, by name, in the order of the computation."""
    d, hidden = config.width, config.hidden or config.width
    half = d // 2 if config.embedding == "concatenated" else d
    found: dict[str, tuple[int, ...]] = {"tokens": (2 + config.cls, half), "positions": (config.positions, half)}

    def affine(name: str, inputs: int, outputs: int) -> None:
        found[f"{name}.weight"] = (inputs, outputs)
        if config.bias:
            found[f"{name}.bias"] = (outputs,)

    def norm(name: str) -> None:
        found[f"{name}.gain"] = (d,)
        if config.bias:
            found[f"{name}.bias"] = (d,)

    for layer in (f"layers.{index}" for index in range(config.layers)):
        for name in ("query", "key", "value", "output"):
            affine(f"{layer}.{name}", d, d)
        if config.norm in ("post", "pre"):
            norm(f"{layer}.norm_attention")
        affine(f"{layer}.mlp.0", d, hidden)
        affine(f"{layer}.mlp.1", hidden, d)
        if config.norm != "none":
            norm(f"{layer}.norm")
    if config.norm == "pre":
        norm("norm")
    affine("readout", d, 1)
    return found


def initial(config: Config, *, seed: int, dtype: torch.dtype | None = None) -> dict[str, Tensor]:
    """Random parameters of one encoder, by name.

    As PyTorch draws them: embeddings N(0, 1); queries, keys and values U(±√(6/4D)), their biases 0, and that of the
    output too; every other map with D inputs U(±1/√D), its bias too; gains 1. With ``config.std``: weights and
    embeddings N(0, std²), biases 0, gains 1.
    """
    generator = torch.Generator().manual_seed(seed)
    return {name: _drawn(config, name, shape, generator).to(dtype) for name, shape in shapes(config).items()}


def _drawn(config: Config, name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    # Always drawn in double precision, so that the same seed means the same network in any.
    part, _, kind = name.rpartition(".")
    if kind == "gain":
        return torch.ones(shape, dtype=torch.float64)
    embedding, attention = kind in ("tokens", "positions"), part.endswith(("query", "key", "value"))
    if kind == "bias" and (config.std is not None or attention or part.endswith(("output", "norm", "norm_attention"))):
        return torch.zeros(shape, dtype=torch.float64)
    if embedding or config.std is not None:
        return torch.randn(shape, generator=generator, dtype=torch.float64) * (config.std or 1)
    inputs = (config.hidden or config.width) if part.endswith("mlp.1") else config.width
    bound = math.sqrt(6 / (4 * inputs)) if attention else 1 / math.sqrt(inputs)
    return (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1) * bound


# --- modules ----------------------------------------------------------------------------------------------------------


class _Parametrised(nn.Module):
    """A module with the given parameters, whose names may have dots."""

    def __init__(self, config: Config, parameters: Parameters) -> None:
        super().__init__()
        self.config = config
        for name, value in parameters.items():
            *path, last = name.split(".")
            holder: nn.Module = self
            for part in path:
                if part not in holder._modules:
                    holder.add_module(part, nn.Module())
                holder = holder._modules[part]
            holder.register_parameter(last, nn.Parameter(value.clone()))


class Encoder(_Parametrised):
    """One encoder: bits (batch, n) of 0 and 1 to numbers (batch,).

    >>> Encoder(Config(n=5), seed=1)(torch.tensor([[0, 1, 1, 0, 1]])).shape
    torch.Size([1])
    """

    def __init__(
        self, config: Config, *, seed: int = 0, dtype: torch.dtype | None = None, parameters: Parameters | None = None
    ) -> None:
        drawn = initial(config, seed=seed, dtype=dtype or torch.get_default_dtype())
        super().__init__(config, _matching(config, parameters) if parameters is not None else drawn)

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n) to (batch,)."""
        return self.many({name: p[None] for name, p in self.named_parameters()}, bits)[0]

    def many(self, parameters: Parameters, bits: Tensor) -> Tensor:
        """The outputs (K, batch) of K copies with the given parameters, (K, …) by name; those not named are shared."""
        count = len(next(iter(parameters.values())))
        shared = {name: p.expand(count, *p.shape) for name, p in self.named_parameters() if name not in parameters}
        return evaluate(self.config, shared | dict(parameters), bits)

    def activations(self, bits: Tensor) -> dict[str, Tensor]:
        """Everything the encoder computes from bits (batch, n), by name; see ``Ensemble.activations`` for the names."""
        seen: dict[str, Tensor] = {}
        evaluate(self.config, {name: p[None] for name, p in self.named_parameters()}, bits, seen)
        return {name: value[0] for name, value in seen.items()}

    def query_key(self, layer: int) -> Tensor:
        """Q_h K_hᵀ/√(D/H) of every head: (H, D, D), to be put between X and Xᵀ."""
        part = dict(self.get_submodule(f"layers.{layer}").named_parameters())
        q, k = (part[f"{name}.weight"].unflatten(-1, (self.config.heads, -1)) for name in ("query", "key"))
        return torch.einsum("dhe,fhe->hdf", q, k) / math.sqrt(q.shape[-1])

    def value_output(self, layer: int) -> Tensor:
        """V_h O_h of every head: (H, D, D), to be put to the right of X."""
        part = dict(self.get_submodule(f"layers.{layer}").named_parameters())
        v = part["value.weight"].unflatten(-1, (self.config.heads, -1))  # (D, H, D/H)
        return torch.einsum("dhe,hef->hdf", v, part["output.weight"].unflatten(0, (self.config.heads, -1)))

    def as_blocks(self) -> blocks.Encoder:
        """The same network put together from ``flatcube.blocks``; it needs post- or no norm, softmax, and no biases."""
        config = self.config
        for name, value, needed in [
            ("norm", config.norm != "pre", "post, mlp or none"),
            ("attention", config.attention == "softmax", "softmax"),
            ("bias", not config.bias, "False"),
        ]:
            if not value:
                raise ValueError(f"{name} is {getattr(config, name)!r}; for blocks it must be {needed}")
        p = {name: value.detach().clone() for name, value in self.named_parameters()}
        if config.embedding == "concatenated":
            p["tokens"] = nn.functional.pad(p["tokens"], (0, config.width // 2))
            p["positions"] = nn.functional.pad(p["positions"], (config.width // 2, 0))
        layers = [self._as_layer(index) for index in range(config.layers)]
        appended = (2,) if config.cls else ()
        return blocks.Encoder(p["tokens"], p["positions"], layers, readout=p["readout.weight"], appended=appended)

    @torch.no_grad()
    def _as_layer(self, index: int) -> blocks.Layer:
        config, p = self.config, _under(dict(self.named_parameters()), f"layers.{index}.")
        size = config.positions
        mask = torch.full((size, size), -math.inf, dtype=self.tokens.dtype).triu(1) if config.causal else None
        heads = [
            blocks.Head(between.clone(), right.clone(), mask=mask)
            for between, right in zip(self.query_key(index), self.value_output(index), strict=True)
        ]
        norms = {
            name: blocks.Norm(config.eps, p[f"{name}.gain"].clone(), centre=not config.rms)
            for name in ("norm_attention", "norm")
            if f"{name}.gain" in p
        }
        mlp = blocks.Mlp([p["mlp.0.weight"].clone(), p["mlp.1.weight"].clone()], [None, None])
        wire = torch.eye(config.width, dtype=self.tokens.dtype)
        return blocks.Layer(heads, mlp, skip=wire, keep=wire.clone(), **norms)


class Ensemble(_Parametrised):
    """K independent encoders of one kind: bits (batch, n) of 0 and 1 to numbers (K, batch).

    Member k starts as ``Encoder(config, seed=seeds[k])`` whatever the other members are.

    >>> Ensemble(Config(n=5), seeds=range(3))(torch.tensor([[0, 1, 1, 0, 1]])).shape
    torch.Size([3, 1])
    """

    def __init__(
        self,
        config: Config,
        *,
        seeds: Sequence[int] = (0,),
        dtype: torch.dtype | None = None,
        parameters: Parameters | None = None,
    ) -> None:
        if parameters is None:
            if not len(seeds):
                raise ValueError("seeds is empty; it must hold one seed for each member")
            drawn = [initial(config, seed=seed, dtype=dtype or torch.get_default_dtype()) for seed in seeds]
            parameters = {name: torch.stack([one[name] for one in drawn]) for name in drawn[0]}
        super().__init__(config, _matching(config, parameters, leading=1))

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n), or (K, batch, n) with other inputs for each member, to (K, batch)."""
        return evaluate(self.config, dict(self.named_parameters()), bits)

    def activations(self, bits: Tensor) -> dict[str, Tensor]:
        """Everything the encoders compute, by name, each (K, batch, …); an ``Encoder`` gives the same without K.

        ``embedding`` (N, D); for layer k ``layers.k.attention.h`` (N, N) per head, ``.mixed`` X + attention before its
        norm, ``.mlp.0`` (N, hidden) before its relu, ``.sum`` U + mlp before its norm, ``.output`` (N, D), and the
        normalisation factors (N, 1) of HR Eq. 5: ``.factor_attention`` of the attention's norm, ``.factor`` of the
        MLP's; for norm="pre" also ``factor`` (1, 1) of the last norm; ``output`` ().
        """
        seen: dict[str, Tensor] = {}
        evaluate(self.config, dict(self.named_parameters()), bits, seen)
        return seen

    def member(self, k: int) -> Encoder:
        """A copy of member k, alone."""
        if not -len(self) <= k < len(self):
            raise ValueError(f"k is {k}; this ensemble has the members 0 to {len(self) - 1}")
        return Encoder(self.config, parameters={name: p.detach()[k] for name, p in self.named_parameters()})

    def members(self) -> Iterator[Encoder]:
        """A copy of every member."""
        return (self.member(k) for k in range(len(self)))


def _matching(config: Config, parameters: Parameters, *, leading: int = 0) -> Parameters:
    expected = shapes(config)
    if parameters.keys() != expected.keys():
        odd = sorted(parameters.keys() ^ expected.keys())[0]
        raise ValueError(f"parameters {'lacks' if odd in expected else 'has the unknown name'} {odd}")
    for name, shape in expected.items():
        found = tuple(parameters[name].shape)
        if found[leading:] != shape or len(found) != leading + len(shape):
            wanted = f"{'(K, …)' if leading else ''}{shape}"
            raise ValueError(f"parameters: {name} has shape {found}; it must have {wanted}")
    return {name: parameters[name] for name in expected}


def _whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
