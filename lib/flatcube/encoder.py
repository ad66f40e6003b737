"""Trainable encoders, alone or K of them at once, with the parameters of ``flatcube.forward``.

Names: ``tokens`` (2 or 3, E) and ``positions`` (N, E); in layer k, ``layers.k.query``, ``.key``, ``.value``,
``.output``, ``.mlp.0`` and ``.mlp.1`` have a ``.weight`` (inputs, outputs) and a ``.bias``; its norms
``.norm_attention`` and ``.norm``, and for norm="pre" a last ``norm``, have a ``.gain`` and a ``.bias``; ``readout``
ends. In an ensemble each has a leading axis of K members.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from flatcube import blocks, cube
from flatcube.forward import Config, Parameters, activations, evaluate

__all__ = ["Config", "Encoder", "Ensemble", "evaluate", "shapes", "initial"]


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
    generator = torch.Generator().manual_seed(cube.check_integer(seed, "seed", 0))
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
        seen = activations(self.config, {name: p[None] for name, p in self.named_parameters()}, bits)
        return {name: value[0] for name, value in seen.items()}

    def query_key(self, layer: int) -> Tensor:
        """Q_h K_hᵀ/√(D/H) of every head: (H, D, D), to be put between X and Xᵀ."""
        part = self._part(layer)
        q, k = (part[f"{name}.weight"].unflatten(-1, (self.config.heads, -1)) for name in ("query", "key"))
        return torch.einsum("dhe,fhe->hdf", q, k) / math.sqrt(q.shape[-1])

    def value_output(self, layer: int) -> Tensor:
        """V_h O_h of every head: (H, D, D), to be put to the right of X."""
        part = self._part(layer)
        v = part["value.weight"].unflatten(-1, (self.config.heads, -1))  # (D, H, D/H)
        return torch.einsum("dhe,hef->hdf", v, part["output.weight"].unflatten(0, (self.config.heads, -1)))

    def _part(self, layer: int) -> Parameters:
        """The parameters of a layer, by the rest of their names."""
        index = cube.check_integer(layer, "layer", 0, self.config.layers - 1)
        return dict(self.get_submodule(f"layers.{index}").named_parameters())

    def as_blocks(self) -> blocks.Encoder:
        """The same network put together from ``flatcube.blocks``; it needs post- or no norm, softmax, and no biases."""
        config = self.config
        for name, value, needed in [
            ("norm", config.norm != "pre", "post, mlp or none"),
            ("attention", config.attention == "softmax", "softmax"),
            ("bias", not config.bias, "False"),
        ]:
            if not value:
                raise ValueError(f"{name}: for blocks it must be {needed}, got {getattr(config, name)!r}")
        p = {name: value.detach().clone() for name, value in self.named_parameters()}
        if config.embedding == "concatenated":
            p["tokens"] = nn.functional.pad(p["tokens"], (0, config.width // 2))
            p["positions"] = nn.functional.pad(p["positions"], (config.width // 2, 0))
        layers = [self._as_layer(index) for index in range(config.layers)]
        appended = (2,) if config.cls else ()
        return blocks.Encoder(p["tokens"], p["positions"], layers, readout=p["readout.weight"], appended=appended)

    @torch.no_grad()
    def _as_layer(self, index: int) -> blocks.Layer:
        config, p = self.config, self._part(index)
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
                raise ValueError("seeds: expected one for each member, got none")
            drawn = [initial(config, seed=seed, dtype=dtype or torch.get_default_dtype()) for seed in seeds]
            parameters = {name: torch.stack([one[name] for one in drawn]) for name in drawn[0]}
        super().__init__(config, _matching(config, parameters, leading=1))

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n), or (K, batch, n) with other inputs for each member, to (K, batch)."""
        return self.many(dict(self.named_parameters()), bits)

    def many(self, parameters: Parameters, bits: Tensor) -> Tensor:
        """The same with other parameters, (K, …) for every name: any number of members of this kind."""
        return evaluate(self.config, parameters, bits)

    def activations(self, bits: Tensor) -> dict[str, Tensor]:
        """Everything the encoders compute, by name, each (K, batch, …); an ``Encoder`` gives the same without K.

        ``embedding`` (N, D); for layer k ``layers.k.attention.h`` (N, N) per head, ``.mixed`` X + attention before its
        norm, ``.mlp.0`` (N, hidden) before its relu, ``.sum`` U + mlp before its norm, ``.output`` (N, D), and the
        normalisation factors (N, 1) of HR Eq. 5: ``.factor_attention`` of the attention's norm, ``.factor`` of the
        MLP's; for norm="pre" also ``factor`` (1, 1) of the last norm; ``output`` ().
        """
        return activations(self.config, dict(self.named_parameters()), bits)

    def member(self, k: int) -> Encoder:
        """A copy of member k, alone."""
        k = cube.check_integer(k, "k", -len(self), len(self) - 1)
        return Encoder(self.config, parameters={name: p.detach()[k] for name, p in self.named_parameters()})

    def members(self) -> Iterator[Encoder]:
        """A copy of every member."""
        return (self.member(k) for k in range(len(self)))


def _matching(config: Config, parameters: Parameters, *, leading: int = 0) -> Parameters:
    """The parameters in the order of ``shapes``, if they have its names and, after the leading axes, its shapes."""
    expected = shapes(config)
    for name in sorted(parameters.keys() ^ expected.keys()):
        raise ValueError(f"parameters: {'expected the name' if name in expected else 'unknown name'} {name}")
    for name, shape in expected.items():
        found = tuple(parameters[name].shape)
        if len(found) != leading + len(shape) or found[leading:] != shape:
            wanted = f"(K, {str(shape)[1:-1]})" if leading else shape
            raise ValueError(f"parameters: {name}: expected shape {wanted}, got {found}")
    return {name: parameters[name] for name in expected}
