"""Does the bias come from the first weights? Sensitivity before and after learning, against their size (HR summary).

    flatcube run first_weights --scale book

A network sees ``shown`` of the 2^n inputs of a random Boolean function and learns them; the sign of its output on the
whole cube is then a function of its own making. A row is one network: the ``start`` is the mean degree of its output
before training, Σ|S|T̂(S)²/Σ_{S≠∅}T̂(S)², the ``end`` the average sensitivity of its sign afterwards; ``target`` is
that of the random function, ``completion`` that of a random function that agrees with it where it was shown. ``scale``
multiplies the matrices that PyTorch draws, embeddings included, and nothing else. ``error`` is what is left on the
inputs shown, ``hidden`` the share of wrong signs on the others: one half, since there is nothing to know.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import nn

from flatcube import checks, cube, fourier, networks, sensitivity, training
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment

__all__ = ["Trial", "KINDS", "ensemble", "mean_degree", "trial", "summary", "measured", "EXPERIMENT"]

KINDS = ("transformer", "MLP")
_FIT = 0.05  # mean squared error on the inputs shown below which a network has learnt them


@dataclass(frozen=True)
class Trial:
    """Networks of one kind with first weights of one size, each for a function of its own."""

    kind: str
    scale: float
    seeds: tuple[int, ...]
    steps: int
    n: int = 8
    shown: int = 128
    width: int = 32
    rate: float = 1e-3

    def __post_init__(self) -> None:
        checks.word(self.kind, "kind", KINDS)
        checks.positive(self.scale, "scale")
        checks.several(self.seeds, "seeds", int, 1)
        checks.integer(self.n, "n", 1, 10)
        checks.integer(self.shown, "shown", 1, 2**self.n - 1)


def ensemble(trial: Trial) -> nn.Module:
    """The untrained networks, with all matrices ``scale`` times as large as PyTorch draws them."""
    if trial.kind == "MLP":
        made: nn.Module = networks.Rivals(networks.Perceptron, trial.n, trial.width, seeds=trial.seeds)
    else:
        config = networks.Config(n=trial.n, width=trial.width, layers=2, heads=4, hidden=4 * trial.width)
        made = networks.Ensemble(config, seeds=list(trial.seeds), dtype=torch.float32)
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 2:  # K matrices; biases and gains stay as they are
                weight.mul_(trial.scale)
    return made


def mean_degree(outputs: np.ndarray) -> float:
    """Σ|S|f̂(S)²/Σ_{S≠∅}f̂(S)² of a table (2^n,): as_n(f)/Var f; not a number for a constant."""
    squares = np.square(fourier.transform(np.asarray(outputs, float)))
    sizes = cube.weights(len(squares).bit_length() - 1)
    total = float(squares[sizes > 0].sum())
    return float(sizes @ squares) / total if total > 0 else math.nan


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each network."""
    bits, points = torch.as_tensor(cube.to_bits(cube.points(trial.n))), cube.points(trial.n)
    tables, shown, rows = [], [], []
    for seed in trial.seeds:
        tables.append(cube.random_boolean(trial.n, rng=[16, seed]))
        chosen = np.random.default_rng([16, seed, trial.shown])
        shown.append(np.sort(chosen.choice(2**trial.n, trial.shown, replace=False)))
    tasks = [training.Task(f, trial.n, inputs=points[seen]) for f, seen in zip(tables, shown, strict=True)]
    made = ensemble(trial)
    settings = training.Settings(steps=trial.steps, batch=trial.shown, rate=trial.rate, decay=0.0, schedule="constant",
                                 every=min(20, trial.steps), goal=_FIT / 5, after=0)  # fmt: skip
    with torch.no_grad():
        before = made(bits).double().numpy()
    run = training.train(made, tasks, settings, seeds=list(trial.seeds), progress=False)
    with torch.no_grad():
        after = run.ensemble(bits).double().numpy()
    for k, seed in enumerate(trial.seeds):
        signs = np.where(after[k] >= 0, 1.0, -1.0)
        other = np.where(np.isin(np.arange(2**trial.n), shown[k]), tables[k],
                         cube.random_boolean(trial.n, rng=[16, seed, 1]))  # fmt: skip
        unseen = ~np.isin(np.arange(2**trial.n), shown[k])
        rows.append({
            "kind": trial.kind, "scale": trial.scale, "seed": seed, "n": trial.n, "shown": trial.shown,
            "start": mean_degree(before[k]), "end": float(sensitivity.average(signs)),
            "target": float(sensitivity.average(tables[k])), "completion": float(sensitivity.average(other)),
            "error": float(np.square(after[k] - tables[k])[shown[k]].mean()), "ended": int(run.ended[k]),
            "hidden": float((signs != tables[k])[unseen].mean()),
        })  # fmt: skip
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: for every kind and scale, over the networks that learnt what they were shown, mean degree before and
    mean sensitivity after, with its 95 % interval; ``scales``: for every kind the p-value of the test of Kruskal and
    Wallis that sensitivity after learning is the same at all scales."""
    rows = store.numbers(rows, "kind")
    cells, scales = [], []
    for kind in KINDS:
        of_kind = [row for row in rows if row["kind"] == kind]
        for scale in sorted({row["scale"] for row in of_kind}):
            every = [row for row in of_kind if row["scale"] == scale]
            own = [row for row in every if row["error"] < _FIT]
            cell: dict[str, object] = {"kind": kind, "scale": scale, "networks": len(every), "learnt": len(own)}
            cell |= {name: _mean([row[name] for row in every]) for name in ("start", "completion")}
            cell |= {name: _mean([row[name] for row in own]) for name in ("end", "hidden")}
            mean = trends.contrast([[row["end"] for row in own]], [1]) if own else {}
            cells.append(cell | {end: mean.get(end, math.nan) for end in ("low", "high")})
        groups = [[row["end"] for row in of_kind if row["error"] < _FIT and row["scale"] == scale]
                  for scale in sorted({row["scale"] for row in of_kind})]  # fmt: skip
        groups = [group for group in groups if group]
        enough = len(groups) > 1 and len({value for group in groups for value in group}) > 1
        scales.append({"kind": kind, "p": float(stats.kruskal(*groups).pvalue) if enough else 1.0})
    return {"cells": cells, "scales": scales}


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """HR-SUM-OQ3 asks whether first weights or architecture explain the bias. It agrees if at some scale the bias is
    gone: the interval of the mean after learning reaches that of random completions. In part, if they change it: means
    differ between scales (Kruskal and Wallis at 0.025 for each of the two kinds), or the intervals of the two kinds at
    PyTorch's own scale are disjoint."""
    told = summary(rows)
    completion = _mean([float(row["completion"]) for row in rows])
    gone = any(cell["high"] >= completion for cell in told["cells"])
    moved = any(line["p"] < 0.025 for line in told["scales"])
    one = {cell["kind"]: cell for cell in told["cells"] if cell["scale"] == 1}
    apart = len(one) == 2 and (one["transformer"]["high"] < one["MLP"]["low"] or
                               one["MLP"]["high"] < one["transformer"]["low"])  # fmt: skip
    words = "; ".join(
        f"{line['kind']} " + ", ".join(
            f"{cell['end']:.2f} ({cell['low']:.2f} to {cell['high']:.2f}) with weights × {cell['scale']:g}"
            for cell in told["cells"] if cell["kind"] == line["kind"]
        ) + f" (all scales alike: p = {line['p']:.2g})"
        for line in told["scales"]
    )  # fmt: skip
    n, shown = int(rows[0]["n"]), int(rows[0]["shown"])
    learnt = sum(int(cell["learnt"]) for cell in told["cells"])
    statement = (
        f"{learnt} of {len(rows)} networks learnt {shown} of the {2**n} values of a random Boolean function. The "
        f"functions that they make of them have as_n = {words}; random completions {completion:.2f}. So the bias "
        f"{'vanishes' if gone else 'is there'} at {'some' if gone else 'every'} size of the first weights; the size "
        f"{'changes' if moved else 'does not change'} how strong it is, and at PyTorch's own size transformers and "
        f"MLPs {'differ' if apart else 'do not differ'}."
    )
    verdict = "agrees" if gone else "agrees in part" if moved or apart else "differs"
    return [{"id": "HR-SUM-OQ3", "verdict": verdict, "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 12 ms for a step of an encoder, 1 for one of an MLP; half of the steps are done."""
    return len(trial.seeds) * trial.steps / 2 * (1.2e-2 if trial.kind == "transformer" else 1e-3)


EXPERIMENT = Experiment(
    name="first_weights",
    version="1",
    title="Sensitivity of what networks make of a random function, against the size of their first weights",
    figures="HR summary, open question 3",
    grids={
        "live": [Trial(kind, scale, (0, 1), 20, n=4, shown=8, width=8) for kind in KINDS for scale in (1.0, 2.0)],
        "book": [Trial(kind, scale, tuple(range(16)), 1000) for kind in KINDS for scale in (0.5, 1.0, 2.0, 4.0, 8.0)],
        "paper": [Trial(kind, scale, (seed,), 10_000, n=10, shown=512, width=128)
                  for kind in KINDS for scale in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0) for seed in range(30)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
