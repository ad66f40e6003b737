"""What transformers make of random functions of which they see a part (HR Figs 4 and 15).

    flatcube run random_functions --scale book

For every random Boolean f on n bits and every size of the training set: an encoder learns f on the inputs shown; its
sign on the whole cube is the extrapolated function g. New encoders, with the same first weights and the same number of
steps, then learn f and g on the whole cube. A row has the average ``sensitivity`` of g, that of f (``target``) and of a
random ``completion`` that agrees with f where it is shown; ``sharp`` and ``sharp_target`` are L_ρ (HR Eq. 15) of the
new encoders over the whole cube, ``sharp_shown`` and ``sharp_target_shown`` over the training set; ``error`` and
``error_target`` are what is left of their errors, ``train`` and ``hidden`` those of the first one, in squares and in
shares of wrong signs. Targets are ±1.

HR: n = 10, ten functions, ten training sets of each size, five new encoders for each. At book scale there are three
``draw``s of each size, with one new encoder for each, and the encoders are smaller than HR's. First weights, batches
and shifts are drawn anew with the sets. Statistics are over functions: what is compared is averaged over the draws of a
function first.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from flatcube import checks, cube, networks, sensitivity, sharpness, training
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.generalise import completions, findings, learners
from flatcube.sharpness.landscape import Landscape, random_vectors

__all__ = [
    "Trial", "first_networks", "trial", "squares", "summary", "by_function", "interval", "measured", "EXPERIMENT",
]  # fmt: skip

RHO = 0.02
_FIT = 0.05  # mean squared error below which a network counts as one of its function
SEEN = 0.01  # the same for first networks, on the inputs shown


@dataclass(frozen=True)
class Trial:
    """One random function, and one draw of training sets of all sizes."""

    seed: int
    n: int = 10
    sizes: tuple[int, ...] = (128, 256, 512)
    steps: int = 2500
    width: int = 32
    heads: int = 4
    hidden: int = 128
    batch: int = 128
    rate: float = 2e-3
    directions: int = 30
    draw: int = 0

    def __post_init__(self) -> None:
        checks.integer(self.n, "n", 1, 14)
        checks.integer(self.draw, "draw", 0)
        for size in self.sizes:
            checks.integer(size, "sizes", 1, 2**self.n - 1)

    @property
    def start(self) -> int:
        """The seed of first weights, batches and shifts."""
        return self.seed + 1000 * self.draw

    def rng(self, size: int, what: int = 0) -> np.random.Generator:
        """Random numbers for a size: ``what`` is 0 for the inputs shown, 1 for the completion, 2 for a control set."""
        return np.random.default_rng([self.seed, size, what, self.draw])


def first_networks(trial: Trial) -> tuple[list[learners.Sample], list[training.Run]]:
    """For each size what is shown of f, and an encoder that was trained on it, alone in its run."""
    f = cube.random_boolean(trial.n, rng=[trial.seed, 0])
    given = [learners.sample(f, size, rng=trial.rng(size)) for size in trial.sizes]
    points = cube.points(trial.n)
    tasks = [training.Task(f, trial.n, inputs=points[each.shown]) for each in given]
    return given, [_train(trial, [task], SEEN) for task in tasks]


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each size."""
    given, first = first_networks(trial)
    f = given[0].table
    outputs = [findings.outputs(run.ensemble.member(0)) for run in first]
    extrapolated = [completions.extrapolate(each) for each in outputs]
    second = _train(trial, [training.Task(table, trial.n) for table in (f, *extrapolated)], None)
    sharp = [squares(member, trial) for member in second.ensemble.members()]
    rows = []
    for k, (each, g) in enumerate(zip(given, extrapolated, strict=True)):
        completion = completions.random_completion(each, rng=trial.rng(trial.sizes[k], 1))
        own, target = sharp[1 + k], sharp[0]
        rows.append({
            "seed": trial.seed, "draw": trial.draw, "n": trial.n, "size": trial.sizes[k], "steps": trial.steps,
            "train": float(np.square(outputs[k] - f)[each.shown].mean()), "ended": int(first[k].ended[0]),
            "hidden": float((g != f)[each.hidden].mean()), "target": float(sensitivity.average(f)),
            "sensitivity": float(sensitivity.average(g)), "completion": float(sensitivity.average(completion)),
            "error": float(second.errors[1 + k]), "error_target": float(second.errors[0]),
            "sharp": float(own.mean()), "sharp_target": float(target.mean()),
            "sharp_shown": float(own[:, each.shown].mean()), "sharp_target_shown": float(target[:, each.shown].mean()),
            "norm": sharpness.parameter_norm(second.ensemble.member(1 + k)),
            "norm_target": sharpness.parameter_norm(second.ensemble.member(0)),
        })  # fmt: skip
    return rows


def _train(trial: Trial, tasks: list[training.Task], goal: float | None) -> training.Run:
    """Encoders with the same first weights and batches, one for each task, until the goal or to the end."""
    config = networks.Config(n=trial.n, width=trial.width, heads=trial.heads, hidden=trial.hidden)
    ensemble = networks.Ensemble(config, seeds=[trial.start] * len(tasks), dtype=torch.float32)
    settings = training.Settings(
        steps=trial.steps, batch=trial.batch, rate=trial.rate, decay=0.0, every=min(100, trial.steps),
        goal=goal or _FIT, after=None if goal is None else 0,
    )  # fmt: skip
    return training.train(ensemble, tasks, settings, seeds=[trial.start] * len(tasks), progress=False)


def squares(model: nn.Module, trial: Trial, rho: float = RHO) -> np.ndarray:
    """(f_{θ+Δ}(x) − f_θ(x))² for random shifts and all x: (directions, 2^n); its mean over both is L_ρ (HR Eq. 15).

    Every entry of a shift is Gaussian with standard deviation ρ.
    """
    land = Landscape(model, torch.as_tensor(cube.to_bits(cube.points(trial.n))).long())
    shifts = random_vectors(trial.directions, land.theta, seed=trial.start, chunk=10)
    return torch.cat([(land.outputs(rho * some) - land.base).double().square() for some in shifts]).numpy()


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``sizes``: for every size the means, how many first ``networks`` there are and ``fitted``, and of how many pairs
    ``both`` new ones did; over these, the mean ratios of sharpness, g to f, and of training set to cube, with 95 %
    intervals over functions."""
    rows = store.numbers(rows)
    found = []
    for size in sorted({row["size"] for row in rows}):
        own = [row for row in rows if row["size"] == size]
        both = [row for row in own if max(row["error"], row["error_target"]) < _FIT]
        line: dict[str, object] = {"size": int(size), "functions": len({row["seed"] for row in own})}
        line |= {"networks": len(own), "both": len(both)}
        line["fitted"] = sum(row["train"] < SEEN for row in own)
        line |= {name: _mean(own, name) for name in ("target", "completion", "sensitivity", "hidden")}
        line |= {name: _mean(both, name) for name in ("sharp", "sharp_target")}
        for name, over, under in (("flatter", "sharp", "sharp_target"), ("shown", "sharp_shown", "sharp"),
                                  ("target_shown", "sharp_target_shown", "sharp_target")):  # fmt: skip
            line |= interval(by_function((row["seed"], row[over] / row[under]) for row in both), name)
        found.append(line)
    return {"sizes": found}


def _mean(rows: list[dict], name: str) -> float:
    return float(np.mean([row[name] for row in rows])) if rows else math.nan


def by_function(values: Iterable[tuple[float, float]]) -> list[float]:
    """The mean value of each function, from pairs of its seed and a value of one of its draws."""
    found: dict[float, list[float]] = {}
    for seed, value in values:
        found.setdefault(seed, []).append(value)
    return [float(np.mean(some)) for some in found.values()]


def interval(values: list[float], name: str) -> dict[str, float]:
    """Mean and its 95 % interval by Student's t; not numbers, if there are none."""
    found = trends.contrast([values], [1]) if values else dict.fromkeys(("value", "low", "high"), math.nan)
    return {name: found["value"], f"{name}_low": found["low"], f"{name}_high": found["high"]}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """HR-F4 agrees if for every size g is less sensitive than f and than the completion, more so for each smaller size,
    and new encoders for g on the whole cube are flatter than those for f, all by paired one-sided t tests at 0.05 over
    functions; in part, if some of these hold.

    HR-F15 agrees if for every size, for f and for g, the 95 % interval of the mean ratio of sharpness on the training
    set to that on the cube lies between 0.9 and 1.1; in part, if some do. As in HR these are the new encoders, which
    were trained on the whole cube. The first ones, for which the set is their own, are in ``own_inputs``.
    """
    tables = summary(rows)["sizes"]
    rows = store.numbers(rows)
    by_size = {line["size"]: [row for row in rows if row["size"] == line["size"]] for line in tables}
    rules = [_less(own, "sensitivity", own, other) for own in by_size.values() for other in ("target", "completion")]
    sizes = list(by_size.values())
    rules += [_less(a, "sensitivity", b, "sensitivity") for a, b in zip(sizes, sizes[1:], strict=False)]
    kept = [[row for row in own if max(row["error"], row["error_target"]) < _FIT] for own in sizes]
    rules += [_less(own, "sharp", own, "sharp_target") for own in kept]
    told = "; ".join(
        f"{line['size']} inputs: {line['sensitivity']:.2f}, sharpness {line['flatter']:.2f} "
        f"({line['flatter_low']:.2f} to {line['flatter_high']:.2f}) times that of f, {line['both']} pairs"
        for line in tables
    )
    whole = tables[-1]
    statement = (
        f"n = {rows[0]['n']:.0f}, {whole['functions']} random functions, {whole['networks'] / whole['functions']:.3g} "
        f"training sets of each size for each, as(f) = {whole['target']:.2f}, completions "
        f"{whole['completion']:.2f}. Sensitivity of the extrapolated function, mean ratio of sharpness (of new "
        f"encoders, trained on the whole cube) with its 95 % interval: {told}. {sum(rules)} of {len(rules)} paired "
        "tests over functions at 0.05 hold. HR: ten training sets of each size and five new networks for each."
    )
    ratios = [(line[name], line[f"{name}_low"], line[f"{name}_high"]) for line in tables
              for name in ("shown", "target_shown")]  # fmt: skip
    near = [low > 0.9 and high < 1.1 for _, low, high in ratios]
    listed = ", ".join("{:.3f} ({:.3f} to {:.3f})".format(*one) for one in ratios)
    restricted = (
        "New encoders, trained on the whole cube: sharpness on the inputs from which g was made over that on the cube, "
        f"for g and f at each size: {listed}. It says nothing of encoders that were trained on these inputs alone; "
        "those are in the experiment own_inputs."
    )
    return [
        {"id": "HR-F4", "verdict": trends.verdict(rules), "statement": statement},
        {"id": "HR-F15", "verdict": trends.verdict(near), "statement": restricted},
    ]


def _less(one: list[dict], name: str, other: list[dict], than: str) -> bool:
    """Whether a number is less than another of the same draw, by a one-sided t test at 0.05 over the mean differences
    of the functions."""
    others = {(row["seed"], row["draw"]): row[than] for row in other}
    pairs = [(row, others.get((row["seed"], row["draw"]))) for row in one]
    differences = by_function((row["seed"], row[name] - value) for row, value in pairs if value is not None)
    return trends.paired(differences, "less") < 0.05


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 7 ms for a network and step at n = 10, width 32 and batch 128."""
    step = 7e-3 * trial.n / 10 * trial.width / 32 * trial.batch / 128
    learning = sum(min(1.0, size / 1024) for size in trial.sizes) + 1 + len(trial.sizes)
    return step * trial.steps * learning + len(trial.sizes) * trial.directions * 2**trial.n * 3e-5


EXPERIMENT = Experiment(
    name="random_functions",
    version="1",
    title="Random functions seen in part: sensitivity and sharpness of what is made of them",
    figures="HR Figs 4, 15",
    grids={
        "live": [Trial(seed, 4, (4, 8), 60, 8, 2, 8, 16, 1e-2, 10, draw) for seed in range(2) for draw in range(2)],
        "book": [Trial(seed, draw=draw) for draw in range(3) for seed in range(10)],
        "paper": [Trial(seed, width=128, heads=2, hidden=128, batch=1024, steps=10_000, rate=3e-4, directions=100,
                        draw=draw) for seed in range(10) for draw in range(10)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
