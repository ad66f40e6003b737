"""How close the kernels of finite networks are to those of infinite ones, against the width (VA App. B).

    flatcube run widths --scale book

A row is one network at random weights on the whole cube: ``conjugate`` and ``tangent`` are ‖K_m − K‖/‖K‖, in the
Frobenius norm, for its two kernels. Networks are MLPs with one hidden layer of m ReLUs, and layers of linear attention
with m heads over one-bit tokens, read at an appended mark (``bits``), or over tokens of two bits (``pairs``), where K
is no function of ⟨x, y⟩ any more; their tangent kernel is 4K, since the output is linear in each of four matrices.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flatcube import checks, cube
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.kernels import finite, layers, profiles, spectra

__all__ = ["Trial", "KINDS", "trial", "summary", "EXPERIMENT"]

KINDS = ("MLP", "bits", "pairs")
KERNELS = ("conjugate", "tangent")


@dataclass(frozen=True)
class Trial:
    """Networks of one kind and width."""

    kind: str
    width: int
    seeds: tuple[int, ...]
    n: int = 6

    def __post_init__(self) -> None:
        checks.word(self.kind, "kind", KINDS)
        checks.integer(self.width, "width", 1)
        checks.integer(self.n, "n", 2, 8)


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each seed."""
    points = cube.points(trial.n)
    if trial.kind == "MLP":
        wanted = spectra.matrix(profiles.conjugate, trial.n), spectra.matrix(profiles.tangent, trial.n)
    else:
        size, content = (1, 0.5) if trial.kind == "bits" else (2, 1.0)
        kernel = layers.linear_attention(points, points, width=size, content=content, read="mark")
        wanted, tokens = (kernel, 4 * kernel), layers.features(points, size, content, True)
    rows = []
    for seed in trial.seeds:
        rng = np.random.default_rng([trial.width, seed])
        found = (finite.perceptron(points, trial.width, rng=rng) if trial.kind == "MLP"
                 else finite.heads(tokens, trial.width, rng=rng))  # fmt: skip
        off = [float(np.linalg.norm(one - limit) / np.linalg.norm(limit))
               for one, limit in zip(found, wanted, strict=True)]  # fmt: skip
        rows.append({"kind": trial.kind, "width": trial.width, "seed": seed, "n": trial.n,
                     "conjugate": off[0], "tangent": off[1]})  # fmt: skip
    return rows


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: mean distances for every kind and width; ``slopes``: lines through their logarithms, by kind and
    kernel. A mean over m independent parts gives the slope −1/2."""
    rows = store.numbers(rows, "kind")
    cells, slopes = [], []
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind]
        for width in sorted({row["width"] for row in own}):
            here = [row for row in own if row["width"] == width]
            cell: dict[str, object] = {"kind": kind, "width": int(width), "networks": len(here)}
            cells.append(cell | {name: float(np.mean([row[name] for row in here])) for name in KERNELS})
        for name in KERNELS:
            line = trends.line([math.log(row["width"]) for row in own], [math.log(row[name]) for row in own])
            slopes.append({"kind": kind, "kernel": name} | line)
    return {"cells": cells, "slopes": slopes}


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: a millisecond for each head."""
    return len(trial.seeds) * trial.width * (1e-3 if trial.kind != "MLP" else 1e-5)


EXPERIMENT = Experiment(
    name="widths",
    version="1",
    title="Kernels of finite networks against those of infinite ones",
    figures="VA App. B",
    grids={
        "live": [Trial(kind, width, (0, 1), 4) for kind in KINDS for width in (8, 32)],
        "book": [Trial(kind, width, tuple(range(10))) for kind in KINDS for width in (8, 32, 128, 512, 2048)],
        "paper": [Trial(kind, 4**k, tuple(range(30)), 8) for kind in KINDS for k in range(2, 8)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
)
