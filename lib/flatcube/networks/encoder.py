"""Trainable encoders, alone or K of them at once, with the parameters of ``flatcube.networks.forward``.

Names: ``tokens`` (2 or 3, E) and ``positions`` (N, E); in layer k, ``layers.k.query``, ``.key``, ``.value``,
``.output``, ``.mlp.0`` and ``.mlp.1`` have a ``.weight`` (inputs, outputs) and a ``.bias``; its norms
``.norm_attention`` and ``.norm``, and for norm="pre" a last ``norm``, have a ``.gain`` and a ``.bias``; ``readout``
ends. In an ensemble each has a leading axis of K members.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.blocks import Head, Layer, Mlp, Norm
from flatcube.networks.circuit import Circuit
from flatcube.networks.config import Config
from flatcube.networks.forward import Parameters, activations, embedding, evaluate
from flatcube.networks.interface import Network
from flatcube.networks.tensors import explained
from flatcube.networks.uses import Use

__all__ = ["Encoder", "Ensemble", "shapes", "initial"]


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter of one encoder, by name, in the order of the computation."""
    checks.instance(config, "config", Config)
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
    wanted = shapes(config)
    checks.room(8 * sum(map(math.prod, wanted.values())), "config")
    dtype = None if dtype is None else tensors.dtype(dtype)
    checks.integer(seed, "seed", 0)
    generator = torch.Generator().manual_seed(checks.integer(seed, "seed", most=2**64 - 1))
    return {name: _drawn(config, name, shape, generator).to(dtype) for name, shape in wanted.items()}


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


class _Parametrised(Network):
    """A network with the given parameters, whose names may have dots."""

    def __init__(self, config: Config, parameters: Parameters) -> None:
        super().__init__()
        self.config, self._names = config, tuple(parameters)
        for name, value in parameters.items():
            *path, last = name.split(".")
            holder: nn.Module = self
            for part in path:
                if part not in holder._modules:
                    holder.add_module(part, nn.Module())
                holder = holder._modules[part]
            holder.register_parameter(last, nn.Parameter(value.clone()))

    @property
    def length(self) -> int:
        """n, the number of bits."""
        return self.config.n

    def __repr__(self) -> str:
        """The configuration, and every parameter with its shape."""
        rows = [f"  {name} {tuple(p.shape)}" for name, p in self.named_parameters()]
        return "\n".join([f"{type(self).__name__}({self.config}", *rows, ")"])


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
        return evaluate(self.config, self._single(), bits)[0]

    def many(self, parameters: Parameters, bits: Tensor) -> Tensor:
        """The outputs (K, batch) of K copies with the given parameters, (K, …) by name; those not named are shared."""
        parameters = tensors.stacks(self, parameters)
        count = len(next(iter(parameters.values())))
        shared = {name: p.expand(count, *p.shape) for name, p in self.named_parameters() if name not in parameters}
        return evaluate(self.config, shared | parameters, bits)

    def embed(self, bits: Tensor) -> Tensor:
        """bits (batch, n) to what enters the first layer, (batch, N, D)."""
        return embedding(self.config, self._single(), bits)[0]

    def activations(self, bits: Tensor) -> dict[str, Tensor]:
        """Everything the encoder computes from bits (batch, n), by name; for norm="pre" also the last ``factor``."""
        return {name: value[0] for name, value in activations(self.config, self._single(), bits).items()}

    def uses(self, bits: Tensor) -> tuple[Tensor, list[Use]]:
        """The outputs (batch,) and all uses of the weights."""
        found: list[Use] = []
        return evaluate(self.config, self._single(), bits, uses=found)[0], found

    @torch.no_grad()
    def circuit(self) -> Circuit:
        """The same function put together from ``blocks``; it needs softmax, and norms after the skip connections."""
        config = self.config
        for name, right, wanted in [
            ("norm", config.norm != "pre", "post, mlp or none"),
            ("attention", config.attention == "softmax", "softmax"),
        ]:
            if not right:
                raise ValueError(f"model: expected {name} to be {wanted}, got {getattr(config, name)}")
        return self.parts()

    @torch.no_grad()
    def parts(self) -> Circuit:
        """Its maps as those of a circuit. For norm="pre" the norms stand behind what they belong before."""
        config = self.config
        p = {name: value.detach().clone() for name, value in self.named_parameters()}
        if config.embedding == "concatenated":
            p["tokens"] = nn.functional.pad(p["tokens"], (0, config.width // 2))
            p["positions"] = nn.functional.pad(p["positions"], (config.width // 2, 0))
        layers = [self._layer(_under(p, f"layers.{index}.")) for index in range(config.layers)]
        ending = {"readout": p["readout.weight"], "shift": p.get("readout.bias"), "appended": (2,) * config.cls}
        named = {"tokens": ["0", "1", "CLS"]} if config.cls else None
        return Circuit(p["tokens"], p["positions"], layers, **ending, channels=named)

    def _layer(self, p: Parameters) -> Layer:
        config, wire = self.config, torch.eye(self.config.width, dtype=self.tokens.dtype)
        norms = {
            name: Norm(config.eps, p[f"{name}.gain"], p.get(f"{name}.bias"), centre=not config.rms)
            for name in ("norm_attention", "norm")
            if f"{name}.gain" in p
        }
        mlp = Mlp([p["mlp.0.weight"], p["mlp.1.weight"]], [p.get("mlp.0.bias"), p.get("mlp.1.bias")])
        return Layer(self._as_heads(p), mlp, skip=wire, keep=wire.clone(), **norms)

    def _as_heads(self, p: Parameters) -> list[Head]:
        """Q_h K_hᵀ/√(D/H) and V_h O_h of every head, and its share of what the biases add."""
        config, size = self.config, self.config.positions
        mask = torch.full((size, size), -math.inf, dtype=self.tokens.dtype).triu(1) if config.causal else None
        q, k, v = (p[f"{name}.weight"].unflatten(-1, (config.heads, -1)) for name in ("query", "key", "value"))
        output, root = p["output.weight"].unflatten(0, (config.heads, -1)), math.sqrt(q.shape[-1])  # (H, D/H, D)
        scores, values = torch.einsum("dhe,fhe->hdf", q, k) / root, torch.einsum("dhe,hef->hdf", v, output)
        leans = offsets = [None] * config.heads
        if config.bias:
            query, value = (p[f"{name}.bias"].unflatten(0, (config.heads, -1)) for name in ("query", "value"))
            leans = torch.einsum("dhe,he->hd", k, query) / root
            offsets = torch.einsum("he,hef->hf", value, output) + p["output.bias"] / config.heads
        parts = zip(scores, values, leans, offsets, strict=True)
        return [Head(w, v, mask=mask, lean=lean, offset=offset) for w, v, lean, offset in parts]

    def _single(self) -> Parameters:
        return {name: p[None] for name, p in self.named_parameters()}


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
        seeds = checks.several(seeds, "seeds", (int, np.integer), 1)
        if dtype is not None:
            checks.instance(dtype, "dtype", torch.dtype)
        if parameters is None:
            drawn = [initial(config, seed=seed, dtype=dtype or torch.get_default_dtype()) for seed in seeds]
            parameters = {name: torch.stack([one[name] for one in drawn]) for name in drawn[0]}
        super().__init__(config, _matching(config, parameters, leading=1))

    def __len__(self) -> int:
        return self.tokens.shape[0]

    @property
    def count(self) -> int:
        """K, the number of members."""
        return len(self)

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n), or (K, batch, n) with other inputs for each member, to (K, batch)."""
        return evaluate(self.config, dict(self.named_parameters()), bits)

    @explained
    def many(self, parameters: Parameters, bits: Tensor) -> Tensor:
        """The same with other parameters, (K, …) for every name: any number of members of this kind."""
        if len(parameters) != len(self._names) or any(parameters.get(name) is None for name in self._names):
            self._check(parameters, bits)
        return evaluate(self.config, parameters, bits)

    def _check(self, parameters: Parameters, bits: Tensor) -> None:
        _matching(self.config, parameters, leading=1)

    def embed(self, bits: Tensor) -> Tensor:
        """bits (batch, n) to what enters the first layer, (K, batch, N, D)."""
        return embedding(self.config, dict(self.named_parameters()), bits)

    def activations(self, bits: Tensor) -> dict[str, Tensor]:
        """Everything the encoders compute, by name, each (K, batch, …)."""
        return activations(self.config, dict(self.named_parameters()), bits)

    def circuit(self) -> Circuit:
        """Only a member alone is a circuit."""
        raise TypeError("model: expected one network, got an Ensemble; its member(k) is one")

    def member(self, k: int) -> Encoder:
        """A copy of member k, alone."""
        k = checks.integer(k, "k", -len(self), len(self) - 1)
        return Encoder(self.config, parameters={name: p.detach()[k] for name, p in self.named_parameters()})

    def members(self) -> Iterator[Encoder]:
        """A copy of every member."""
        return (self.member(k) for k in range(len(self)))


def _matching(config: Config, parameters: Parameters, *, leading: int = 0) -> Parameters:
    """The parameters in the order of ``shapes``, if they have its names and, after the leading axes, its shapes."""
    expected, sizes = shapes(config), {}
    checks.instance(parameters, "parameters", Mapping)
    for name in sorted(parameters.keys() ^ expected.keys()):
        wanted = f"the name {name}, got none" if name in expected else f"the names of networks.shapes, got {name}"
        raise ValueError(f"parameters: expected {wanted}")
    return {
        name: tensors.floats(parameters[name], f"parameters: {name}", (*["K"] * leading, *shape), sizes)
        for name, shape in expected.items()
    }


def _under(p: Parameters, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in p.items() if name.startswith(prefix)}
