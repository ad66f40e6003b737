"""Networks that learn a sparse function from part of the cube: SP's set-up (Sec. 2.1 and App. A), in small.

An encoder of two layers, read at an appended position, adds a learned vector for the bit to a one-hot vector for the
position, which is not trained. SP multiply logits by log T; that factor is a choice of units, and is folded into the
first queries and keys: these are drawn so that logits between positions have the standard deviation ``logits``.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from flatcube import checks, cube, networks, training
from flatcube.networks.forward import Parameters, evaluate

__all__ = ["Sample", "sample", "config", "drawn", "learn"]

_LONGEST = 20  # all 2^T inputs are evaluated


class Sample(NamedTuple):
    """A function (2^T,) on the cube, and which of its inputs (m,) are shown, by their index."""

    table: np.ndarray
    shown: np.ndarray

    @property
    def hidden(self) -> np.ndarray:
        """The other inputs: no test point is a training point."""
        return np.setdiff1d(np.arange(len(self.table)), self.shown, assume_unique=True)


def sample(table: np.ndarray, m: int, *, rng: np.random.Generator | int) -> Sample:
    """m distinct inputs of a function (2^T,), drawn uniformly."""
    table = checks.table(table)
    checks.shape(table.shape, "table", ("2^T",))
    checks.integer(m, "m", 1, len(table) - 1)
    return Sample(table, np.sort(checks.generator(rng).choice(len(table), m, replace=False)))


def config(T: int, *, more: int = 20, hidden: int = 64, heads: int = 1, norm: str = "none") -> networks.Config:
    """What SP's network is made of: T + 1 channels for one-hot positions and ``more`` others."""
    width = checks.integer(T, "T", 1, _LONGEST) + 1 + checks.integer(more, "more", 0)
    width += -width % checks.integer(heads, "heads", 1)
    checks.integer(hidden, "hidden", 1)
    return networks.Config(n=T, width=width, heads=heads, hidden=hidden, embedding="added", norm=norm, cls=True)


def drawn(kind: networks.Config, *, seed: int, logits: float = 1.5) -> dict[str, Tensor]:
    """First parameters by name: maps N(0, 1/inputs), biases 0, gains 1, one-hot positions, tokens about as long.

    The first layer's logits between two positions have the standard deviation ``logits``: one is a sum over D/H
    channels of products of variance 1/D², divided by √(D/H).
    """
    source = torch.Generator().manual_seed(checks.integer(seed, "seed", 0))
    checks.positive(logits, "logits")
    found: dict[str, Tensor] = {}
    for name, shape in networks.shapes(checks.instance(kind, "kind", networks.Config)).items():
        values = torch.randn(shape, generator=source, dtype=torch.float64)
        if name.endswith(".bias"):
            values = torch.zeros(shape, dtype=torch.float64)
        elif name.endswith(".gain"):
            values = torch.ones(shape, dtype=torch.float64)
        elif name.endswith(".weight"):
            values = values / math.sqrt(shape[0])
        found[name] = values
    places = kind.positions
    found["tokens"] /= math.sqrt(max(kind.width - places, 1))
    found["tokens"][:, :places] = 0
    found["positions"] = torch.eye(places, kind.width, dtype=torch.float64)
    factor = math.sqrt(logits * kind.width)
    for name in ("query", "key"):
        found[f"layers.0.{name}.weight"][:places] *= factor
    return {name: values.float() for name, values in found.items()}


class _OneHot(networks.Ensemble):
    """K encoders with the given parameters (K, …) whose positions are kept as they are."""

    def __init__(self, kind: networks.Config, parameters: Parameters) -> None:
        super().__init__(kind, parameters=parameters)
        places = self._parameters.pop("positions").detach()
        self.register_buffer("positions", places[:1])  # the same for all

    def _whole(self, parameters: Parameters, count: int) -> Parameters:
        return dict(parameters) | {"positions": self.positions.expand(count, -1, -1)}

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n) or (K, batch, n) to (K, batch)."""
        return self.many(dict(self.named_parameters()), bits)

    def many(self, parameters: Parameters, bits: Tensor) -> Tensor:
        """The same with other parameters, (K, …) for every name but that of the positions."""
        return evaluate(self.config, self._whole(parameters, len(parameters["tokens"])), bits)

    def member(self, k: int) -> networks.Encoder:
        """A copy of member k, alone."""
        held = {name: p.detach()[k] for name, p in self.named_parameters()}
        return networks.Encoder(self.config, parameters=held | {"positions": self.positions[0]})


def _held(first: Sequence[networks.Encoder], kind: networks.Config, seeds: Sequence[int]) -> list[dict[str, Tensor]]:
    """The parameters of given networks by name, one for each seed."""
    if len(checks.several(first, "first", networks.Encoder, 1)) != len(seeds):
        raise ValueError(f"first: expected {len(seeds)}, one for each sample, got {len(first)}")
    if any(one.config != kind for one in first):
        raise ValueError("first: expected networks of the given kind, got others")
    return [{name: p.detach() for name, p in one.named_parameters()} for one in first]


def learn(
    samples: Sequence[Sample],
    settings: training.Settings,
    kind: networks.Config,
    *,
    seeds: Sequence[int],
    logits: float = 1.5,
    first: Sequence[networks.Encoder] | None = None,
) -> tuple[training.Run, list[networks.Encoder]]:
    """One network for each sample, trained on what it shows; the run, and the networks with which it began.

    These are drawn from the seeds, or given as ``first``, so that training goes on from there.
    """
    given = checks.several(samples, "samples", Sample, 1)
    for each in given:
        checks.shape(each.table.shape, "samples", (2 ** checks.instance(kind, "kind", networks.Config).n,))
    seeds = [checks.integer(seed, "seeds", 0) for seed in checks.several(seeds, "seeds", (int, np.integer))]
    if len(seeds) != len(given):
        raise ValueError(f"seeds: expected {len(given)}, one for each sample, got {len(seeds)}")
    begin = [drawn(kind, seed=seed, logits=logits) for seed in seeds] if first is None else _held(first, kind, seeds)
    ensemble = _OneHot(kind, {name: torch.stack([one[name] for one in begin]) for name in begin[0]})
    points = cube.points(kind.n)
    tasks = [training.Task(each.table, kind.n, inputs=points[each.shown]) for each in given]
    run = training.train(ensemble, tasks, settings, seeds=seeds, progress=False)
    return run, [ensemble.member(k) for k in range(len(given))]
