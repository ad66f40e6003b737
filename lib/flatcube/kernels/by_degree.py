"""Do networks learn low degrees first? The loss by degree along training (HR, Discussion).

    flatcube run by_degree --scale book

The target has one parity of each degree 1, …, d, on sets that share no bit, with equal weights: f = (χ_1 + … + χ_d)/√d,
a function of variance 1. The mean squared error is a sum over all sets (Parseval), and so over degrees:

    E (T − f)² = Σ_k ℓ_k,    ℓ_k = Σ_{|S|=k} (T̂(S) − f̂(S))².

A row is one network at one step: ``loss_k`` is ℓ_k·d, so that 1 is what the constant 0 has, and ``rest`` is the same
sum over all other degrees. Networks meet fresh batches. HR train longer inputs and give no such curves.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import nn

from flatcube import checks, cube, fourier, networks, training
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment

__all__ = ["Trial", "KINDS", "sets", "target", "ensemble", "losses", "trial", "curves", "times", "pairs", "summary",
           "measured", "EXPERIMENT"]  # fmt: skip

KINDS = ("transformer", "MLP")
_HALF = 0.5


@dataclass(frozen=True)
class Trial:
    """Networks of one kind, each with a target of its own."""

    kind: str
    seeds: tuple[int, ...]
    steps: int
    every: int
    degrees: int = 4
    width: int = 32
    batch: int = 256
    rate: float = 1e-3

    def __post_init__(self) -> None:
        checks.word(self.kind, "kind", KINDS)
        checks.several(self.seeds, "seeds", int, 1)
        checks.integer(self.degrees, "degrees", 1, 4)

    @property
    def n(self) -> int:
        """1 + 2 + … + d bits: just enough for sets that share none."""
        return self.degrees * (self.degrees + 1) // 2


def sets(degrees: int, *, seed: int) -> list[tuple[int, ...]]:
    """Disjoint sets of 1, 2, …, d places that together are all places, shuffled by the seed."""
    checks.integer(degrees, "degrees", 1, 4)
    n = degrees * (degrees + 1) // 2
    places = np.random.default_rng([16, checks.integer(seed, "seed", 0)]).permutation(n) + 1
    ends = np.cumsum(range(degrees + 1))
    return [tuple(sorted(places[low:high].tolist())) for low, high in zip(ends[:-1], ends[1:], strict=True)]


def target(degrees: int, *, seed: int) -> np.ndarray:
    """The table (2^n,) of (χ_1 + … + χ_d)/√d."""
    chosen = sets(degrees, seed=seed)
    n = degrees * (degrees + 1) // 2
    return sum(cube.subset_parity(members, n) for members in chosen) / math.sqrt(degrees)


def ensemble(trial: Trial) -> nn.Module:
    """The untrained networks: encoders of two layers with four heads, or MLPs with two hidden layers."""
    if trial.kind == "MLP":
        return networks.Rivals(networks.Perceptron, trial.n, trial.width, seeds=trial.seeds)
    config = networks.Config(n=trial.n, width=trial.width, layers=2, heads=4, hidden=4 * trial.width)
    return networks.Ensemble(config, seeds=list(trial.seeds), dtype=torch.float32)


def losses(outputs: np.ndarray, wanted: np.ndarray, degrees: int) -> dict[str, float]:
    """The loss by degree, in units of the target's weight there, of a table (2^n,) of outputs."""
    squares = np.square(fourier.transform(np.asarray(outputs, float) - wanted)) * degrees
    sizes = cube.weights(len(wanted).bit_length() - 1)
    found = {f"loss_{k}": float(squares[sizes == k].sum()) for k in range(1, degrees + 1)}
    return found | {"rest": float(squares[(sizes == 0) | (sizes > degrees)].sum())}


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each record of each network."""
    bits = torch.as_tensor(cube.to_bits(cube.points(trial.n)))
    tables = [target(trial.degrees, seed=seed) for seed in trial.seeds]
    called = [0]

    def measure(member: nn.Module, step: int) -> dict[str, float]:
        wanted = tables[called[0] % len(tables)]  # none stops early: members come in turn
        called[0] += 1
        with torch.no_grad():
            return losses(member(bits).double().numpy(), wanted, trial.degrees)

    settings = training.Settings(steps=trial.steps, batch=trial.batch, rate=trial.rate, decay=0.0, schedule="constant",
                                 every=trial.every)  # fmt: skip
    tasks = [training.Task(table, trial.n) for table in tables]
    run = training.train(ensemble(trial), tasks, settings, seeds=list(trial.seeds), measure=measure, progress=False)
    names, rows = ("step", *(f"loss_{k}" for k in range(1, trial.degrees + 1)), "rest"), []
    for k, seed in enumerate(trial.seeds):
        own = run.history["member"] == k
        for values in zip(*(run.history[name][own].tolist() for name in names), strict=True):
            rows.append({"kind": trial.kind, "seed": seed} | dict(zip(names, values, strict=True)))
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def curves(rows: Iterable[dict]) -> list[list[dict[str, object]]]:
    """The rows of every network by itself, in the order of steps, numbers as numbers."""
    found: dict[tuple, list] = {}
    for kept in store.numbers(rows, "kind"):
        found.setdefault((kept["kind"], kept["seed"]), []).append(kept)
    return [sorted(curve, key=lambda row: row["step"]) for curve in found.values()]


def times(curve: list[dict[str, object]]) -> list[float]:
    """For each degree the step from which on its loss is below a half, infinite if it is not at the end."""
    found = []
    for name in sorted(key for key in curve[0] if key.startswith("loss_")):
        since = math.inf
        for row in reversed(curve):
            if row[name] >= _HALF:
                break
            since = row["step"]
        found.append(since)
    return found


def pairs(every: list[list[float]]) -> list[dict[str, float]]:
    """For degrees k and k + 1: in how many networks k was first, in how many k + 1, and the p-value of a sign test.

    A degree that was not learnt comes after all that were; two that were not are a tie, which does not count.
    """
    found = []
    for k in range(len(every[0]) - 1):
        first = sum(one[k] < one[k + 1] for one in every)
        second = sum(one[k + 1] < one[k] for one in every)
        p = stats.binomtest(first, first + second, 0.5, alternative="greater").pvalue if first + second else 1.0
        found.append({"k": k + 1, "first": first, "second": second, "of": len(every), "p": float(p)})
    return found


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``kinds``: for every kind of network and degree the median step at which it was learnt, and how many did it;
    ``pairs``: the sign tests between neighbouring degrees; ``trend``: Page's test that the order is 1, 2, …, d."""
    kinds, tests, trend = [], [], []
    every = curves(rows)
    for kind in KINDS:
        own = [times(curve) for curve in every if curve[0]["kind"] == kind]
        if not own:
            continue
        for k, column in enumerate(zip(*own, strict=True), 1):
            done = [one for one in column if one < math.inf]
            middle = float(np.median(column)) if len(done) > len(column) / 2 else -1.0
            kinds.append({"kind": kind, "degree": k, "networks": len(own), "learnt": len(done), "median": middle})
        tests += [{"kind": kind} | line for line in pairs(own)]
        ranks = [stats.rankdata(one) for one in own]
        enough = len(own) > 1 and len(own[0]) > 2
        page = stats.page_trend_test(ranks, ranked=True, method="asymptotic") if enough else None
        trend.append({"kind": kind, "networks": len(own), "p": 1.0 if page is None else float(page.pvalue)})
    return {"kinds": kinds, "pairs": tests, "trend": trend}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """HR-X5 agrees if, for each kind of network, each degree is learnt before the next one in more networks than not,
    by a sign test at 0.05 with Holm's correction over the pairs of that kind; in part, if for some kind and pair."""
    told = summary(rows)
    rules, parts = [], []
    for kind in dict.fromkeys(line["kind"] for line in told["kinds"]):
        own = [line for line in told["pairs"] if line["kind"] == kind]
        passed = trends.holm([line["p"] for line in own])
        rules += passed
        (trend,) = [line for line in told["trend"] if line["kind"] == kind]
        steps = ", ".join(
            f"{line['degree']}: {line['median']:g}" if line["median"] >= 0 else f"{line['degree']}: not by the end"
            for line in told["kinds"] if line["kind"] == kind
        )  # fmt: skip
        orders = "; ".join(
            f"{line['k']} before {line['k'] + 1} in {line['first']} of {line['of']}, after it in {line['second']} "
            f"(p = {line['p']:.2g})" for line in own
        )  # fmt: skip
        parts.append(
            f"{trend['networks']} {kind}{'s' if kind == 'MLP' else ' networks'}: median step at which the loss of a "
            f"degree is halved for good, {steps}. Degree {orders}. Page's test of the order: p = {trend['p']:.2g}."
        )
    statement = " ".join(parts) + (
        " Target: one parity of each degree 1 to 4 on disjoint sets of 10 bits, with equal weights; fresh batches of "
        "256, AdamW 1e-3."
    )
    return [{"id": "HR-X5", "verdict": trends.verdict(rules), "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 20 ms for a step of an encoder, 1 for one of an MLP, as much for a record."""
    step = 2e-2 if trial.kind == "transformer" else 1e-3
    return len(trial.seeds) * (trial.steps + 2 * trial.steps / trial.every) * step


EXPERIMENT = Experiment(
    name="by_degree",
    version="1",
    title="The loss by degree while networks learn a sum of parities",
    figures="HR Discussion",
    grids={
        "live": [Trial(kind, (0, 1), 40, 20, degrees=2, width=16, batch=64) for kind in KINDS],
        "book": [
            *(Trial("transformer", tuple(range(low, low + 4)), 1500, 25) for low in (0, 4, 8)),
            Trial("MLP", tuple(range(12)), 600, 5),
        ],
        "paper": [Trial(kind, (seed,), 20_000, 25, width=128, rate=3e-4) for kind in KINDS for seed in range(30)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
