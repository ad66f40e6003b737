"""How do the data of an earlier training change the bias towards low sensitivity? (VA App. E)

    flatcube run pretrained --scale book

A trial is one seed: an encoder on n bits, not trained before (``none``), or trained before on the whole cube on one of
three functions (``before``): ``low``, the sign of a random polynomial of degree 2 at most; ``high``, the same times
PARITY, which turns degree d into n − d; ``random``, a random Boolean function. All begin with the same weights. Then
each learns, from half of the cube, each of three new functions (``target``), drawn as low, high and random ones are.

A row is one network after that: ``sensitivity`` of its sign on the whole cube, that of the function that it learnt
before (``past``) and of its target (``wanted``); ``hidden``, the share of right signs on the other half; ``like_past``,
the share of signs there that are those of the earlier function; ``train``, mean squared error on the examples, and
``first``, that of the earlier training; ``steps``, how many the later one took.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from flatcube import checks, cube, fourier, networks, sensitivity, training
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment

__all__ = ["Trial", "functions", "trial", "summary", "measured", "EXPERIMENT"]

TARGETS = ("low", "random", "high")
ARMS = ("none", *TARGETS)
FIT = 0.05  # mean squared error below which a function counts as learnt


@dataclass(frozen=True)
class Trial:
    """One seed: all earlier trainings, all targets."""

    seed: int
    n: int = 8
    steps: int = 2500
    width: int = 32
    heads: int = 4
    hidden: int = 128
    batch: int = 64
    rate: float = 2e-3
    goal: float = 0.02

    def __post_init__(self) -> None:
        checks.integer(self.n, "n", 2, 12)


def functions(n: int, *, rng: np.random.Generator | int) -> dict[str, np.ndarray]:
    """Tables (2^n,) of ±1: ``low``, the sign of a polynomial of degree 2 at most with standard normal coefficients;
    ``high``, that times PARITY; ``random``.

    >>> found = functions(4, rng=0)
    >>> (found["low"] * found["high"] == cube.parity(4)).all().item()
    True
    """
    rng, n = checks.generator(rng), checks.integer(n, "n", 2, 20)
    degrees = np.bitwise_count(np.arange(2**n))
    low = np.where(fourier.inverse(rng.standard_normal(2**n) * (degrees <= 2)) > 0, 1.0, -1.0)
    return {"low": low, "high": low * cube.parity(n), "random": cube.random_boolean(n, rng=rng).astype(float)}


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each earlier training and target."""
    rng, points = np.random.default_rng([15, trial.seed]), cube.points(trial.n)
    past, wanted = functions(trial.n, rng=rng), functions(trial.n, rng=rng)
    config = networks.Config(n=trial.n, width=trial.width, heads=trial.heads, hidden=trial.hidden)
    fresh = networks.Ensemble(config, seeds=[trial.seed] * len(TARGETS), dtype=torch.float32)
    before = _trained(trial, fresh, [training.Task(past[name], trial.n) for name in TARGETS])
    begun = [fresh.member(0), *before.ensemble.members()]
    shown = rng.permutation(2**trial.n)[: 2 ** (trial.n - 1)]
    hidden = np.setdiff1d(np.arange(2**trial.n), shown)
    bits, rows = torch.as_tensor(cube.to_bits(points)).long(), []
    for name in TARGETS:
        task = training.Task(wanted[name], trial.n, inputs=points[shown])
        after = _trained(trial, _together(config, begun), [task] * len(ARMS))
        with torch.no_grad():
            signs = np.where(after.ensemble(bits).numpy() > 0, 1, -1)
        for k, arm in enumerate(ARMS):
            old = past.get(arm)
            rows.append({
                "seed": trial.seed, "n": trial.n, "target": name, "before": arm, "steps": int(after.ended[k]),
                "train": float(after.errors[k]), "first": float(before.errors[k - 1]) if k else 0.0,
                "sensitivity": float(sensitivity.average(signs[k])),
                "wanted": float(sensitivity.average(wanted[name])),
                "past": math.nan if old is None else float(sensitivity.average(old)),
                "hidden": float(np.mean((signs[k] == wanted[name])[hidden])),
                "like_past": math.nan if old is None else float(np.mean((signs[k] == old)[hidden])),
            })  # fmt: skip
    return rows


def _together(config: networks.Config, members: list[networks.Encoder]) -> networks.Ensemble:
    """An ensemble of copies of encoders."""
    each = [dict(member.named_parameters()) for member in members]
    parameters = {name: torch.stack([one[name].detach() for one in each]) for name in each[0]}
    return networks.Ensemble(config, parameters=parameters, dtype=torch.float32)


def _trained(trial: Trial, ensemble: networks.Ensemble, tasks: list[training.Task]) -> training.Run:
    """Each member on its task until its error is below the goal, all with the same batches."""
    settings = training.Settings(steps=trial.steps, batch=trial.batch, rate=trial.rate, decay=0.0, goal=trial.goal,
                                 after=0, every=min(50, trial.steps))  # fmt: skip
    return training.train(ensemble, tasks, settings, seeds=[trial.seed] * len(tasks), progress=False)


# --- what it says -----------------------------------------------------------------------------------------------------


def _numbers(rows: Iterable[dict]) -> dict[tuple[str, str], dict[float, dict]]:
    """Rows with numbers as numbers by target and earlier training, then by seed; those that learnt both functions."""
    found: dict[tuple[str, str], dict[float, dict]] = {}
    for one in store.numbers(rows, "target", "before"):
        some = found.setdefault((one["target"], one["before"]), {})
        if max(one["train"], one["first"]) < FIT:
            some[one["seed"]] = one
    return found


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``arms``: for every target and earlier training the number of networks that ``learnt`` both, and their means."""
    names = ("sensitivity", "wanted", "past", "hidden", "like_past", "steps")
    return {"arms": [{"target": target, "before": before, "learnt": len(some)}
                     | {name: float(np.mean([row[name] for row in some.values()])) if some else math.nan
                        for name in names}
                     for (target, before), some in _numbers(rows).items()]}  # fmt: skip


# target, what is compared, and which of two earlier trainings should have more of it
QUESTIONS = (("random", "sensitivity", "high", "low"), ("random", "sensitivity", "none", "low"),
             ("random", "sensitivity", "high", "none"), ("low", "hidden", "low", "high"),
             ("high", "hidden", "high", "low"))  # fmt: skip


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """VA-X2: pre-training shifts the bias towards its own degrees. It agrees if all of five differences within seeds
    are above 0 by one-sided paired t tests at 0.05, and in part if some are: what is made of random functions is more
    sensitive after high degrees than after low ones, less after low ones than without, and more after high ones than
    without; and on the hidden half more of a low function is right after low ones than after high ones, and more of a
    high one after high ones. Only pairs count in which both networks learnt what they were shown.
    """
    found = _numbers(rows)
    answers = [_difference(found, *question) for question in QUESTIONS]
    rules = [p < 0.05 for _, p, _ in answers]
    told = "; ".join(f"target {target}, {what}, {more} above {less}: {trends.said(gap, 'value')}, p = {p:.1g}, {count} "
                     f"pairs" for (target, what, more, less), (gap, p, count)
                     in zip(QUESTIONS, answers, strict=True))  # fmt: skip
    low = ", ".join(f"{target} {trends.said(_difference(found, target, 'sensitivity', 'low', 'none')[0], 'value')}"
                    for target in TARGETS)  # fmt: skip
    means = ", ".join(f"{arm} {np.mean([row['sensitivity'] for row in found['random', arm].values()]):.2f}"
                      for arm in ARMS if found["random", arm])  # fmt: skip
    return [{"id": "VA-X2", "verdict": trends.verdict(rules), "statement": (
        f"Encoders on {int(rows[0]['n'])} bits. Average sensitivity of what is made of half of a random function, by "
        f"earlier training: {means}. Differences within seeds with 95 % intervals: {told}. "
        f"After low ones above without, by target: {low}."
    )}]  # fmt: skip


def _difference(
    found: dict[tuple[str, str], dict[float, dict]], target: str, what: str, more: str, less: str
) -> tuple[dict[str, float], float, int]:
    """By how much one arm exceeds the other within seeds, the p-value of a one-sided paired t test, and the pairs."""
    one, other = found.get((target, more), {}), found.get((target, less), {})
    gaps = [one[seed][what] - other[seed][what] for seed in sorted(one.keys() & other.keys())]
    if len(gaps) < 2:
        return dict.fromkeys(("value", "low", "high"), math.nan), 1.0, len(gaps)
    return trends.contrast([gaps], [1]), trends.paired(gaps, "greater"), len(gaps)


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 3 ms for a network and step, of which a quarter of the most are needed."""
    networks_ = len(TARGETS) * (1 + len(ARMS) / 3)
    return 3e-3 * trial.steps / 4 * networks_ * trial.width / 32 * trial.batch / 64 * trial.n / 8


EXPERIMENT = Experiment(
    name="pretrained",
    version="1",
    title="Encoders that were trained on functions of low or high degree before they meet part of a new one",
    figures="VA App. E",
    grids={
        "live": [Trial(seed, 3, 20, 8, 2, 8, 8, 1e-2) for seed in range(2)],
        "book": [Trial(seed) for seed in range(16)],
        "paper": [Trial(seed, 10, 10_000, 128, 4, 512, 128, 3e-4) for seed in range(30)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
