"""What was tried for the class of ``gap`` of which no network fits at 16 bits (SP App. A, on the size of the batch).

    flatcube run attempts --scale book

Each attempt changes one thing in the training of ``gap``'s arm *stop*, which is the attempt *plain*; functions, seeds
and all other settings stay. The size of the batch is changed at the same number of examples seen. *curriculum* trains
in stages on the same inputs: first on the target's component of largest weight alone, then on the larger half of the
components, then on all, from the weights that the last stage left; each stage has as many steps as *plain*, and ends
when it fits. With *4 heads* the width is rounded up, from 37 to 40.

A row is one network: what its attempt sets, ``train`` and ``test`` as in ``gap``, whether it ``fitted`` (train < 0.02),
and at which step, of all stages together, it ``ended``.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from flatcube import checks, cube, training
from flatcube.experiments.engine import Experiment
from flatcube.generalise import findings, gap, learners

__all__ = ["ATTEMPTS", "Trial", "attempt", "parts", "trial", "summary", "EXPERIMENT"]

ATTEMPTS: dict[str, dict[str, object]] = {
    "plain": {}, "MLP 128": {"hidden": 128}, "40 further channels": {"more": 40}, "4 heads": {"heads": 4},
    "layer norm": {"norm": "post"}, "rate 0.001": {"rate": 1e-3}, "rate 0.01": {"rate": 1e-2},
    "batch 16": {"batch": 16, "steps": 16_000}, "batch 256": {"batch": 256, "steps": 1000},
    "twice the steps": {"steps": 8000}, "twice the examples": {"m": 4096}, "curriculum": {"curriculum": True},
}  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """Networks for random functions of one class, trained together in one way."""

    attempt: str
    degree: int
    sparsity: int
    seeds: tuple[int, ...]
    T: int = 16
    m: int = 2048
    steps: int = 4000
    batch: int = 64
    rate: float = 3e-3
    hidden: int = 64
    more: int = 20
    heads: int = 1
    norm: str = "none"
    curriculum: bool = False

    def __post_init__(self) -> None:
        checks.word(self.attempt, "attempt", tuple(ATTEMPTS))
        checks.integer(self.T, "T", 1, 20)
        checks.integer(self.m, "m", 2, 2**self.T - 1)
        checks.several(self.seeds, "seeds", int, 1)


def attempt(name: str, degree: int, sparsity: int, seeds: tuple[int, ...]) -> Trial:
    """The attempt with this name, for functions of one class."""
    return Trial(name, degree, sparsity, seeds, **ATTEMPTS[checks.word(name, "name", tuple(ATTEMPTS))])


def parts(components: cube.Components) -> list[cube.Components]:
    """What the stages of the curriculum learn: the component of largest weight, the larger half, and all of them."""
    falling = sorted(components, key=lambda one: -one[1])
    counts = sorted({1, (len(falling) + 1) // 2, len(falling)})
    return [falling[:count] for count in counts]


def _stages(functions: list[cube.Components], given: list[learners.Sample]) -> list[list[learners.Sample]]:
    """The samples of every stage: the same inputs of each function's parts."""
    pieces = [parts(components) for components in functions]
    T = len(given[0].table).bit_length() - 1
    return [[each._replace(table=cube.even_sum(some[k], T)) for some, each in zip(pieces, given, strict=True)]
            for k in range(len(pieces[0]))]  # fmt: skip


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial: one row each."""
    functions, given = gap.samples(gap.Trial("stop", trial.T, trial.m, trial.degree, trial.sparsity, trial.seeds))
    settings = training.Settings(
        steps=trial.steps, batch=trial.batch, rate=trial.rate, decay=1e-4, betas=(0.9, 0.99), hold=0.7,
        every=min(100, trial.steps), goal=0.02, after=0,
    )  # fmt: skip
    kind = learners.config(trial.T, more=trial.more, hidden=trial.hidden, heads=trial.heads, norm=trial.norm)
    stages = _stages(functions, given) if trial.curriculum else [given]
    first, ended = None, np.zeros(len(given), dtype=int)
    for samples in stages:
        run, _ = learners.learn(samples, settings, kind, seeds=trial.seeds, first=first)
        first, ended = [run.ensemble.member(k) for k in range(len(given))], ended + run.ended
    rows = []
    for k, seed in enumerate(trial.seeds):
        row = {name: value for name, value in asdict(trial).items() if name not in ("seeds", "curriculum")}
        found = findings.errors(run.ensemble.member(k), given[k])
        row |= {"curriculum": int(trial.curriculum), "seed": seed, "train": found["train"], "test": found["test"]}
        rows.append(row | {"fitted": int(run.converged[k]), "ended": int(ended[k])})
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``attempts``: for every class and attempt the networks, how many ``fitted``, and over all of them the medians of
    the errors on inputs shown and hidden and of the steps done."""
    rows, found = list(rows), []
    cell = ("degree", "sparsity", "attempt")
    for key in dict.fromkeys(tuple(row[name] for name in cell) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in cell) == key]
        line: dict[str, object] = {"degree": int(key[0]), "sparsity": int(key[1]), "attempt": key[2]}
        line |= {"networks": len(own), "fitted": sum(int(row["fitted"]) for row in own)}
        line |= {name: float(np.median([float(row[name]) for row in own])) for name in ("train", "test", "ended")}
        found.append(line)
    return {"attempts": found}


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 2 ms for a network and step of *plain*, and two seconds to evaluate it."""
    step = 2e-3 * (trial.T / 16) ** 1.5 * (trial.batch / 64) ** 0.8 * (1 + trial.hidden / 64) / 2
    return len(trial.seeds) * (step * trial.steps * (1 + trial.curriculum) + 2 ** (trial.T - 15))


_LIVE = {"T": 6, "m": 30, "steps": 40}

EXPERIMENT = Experiment(
    name="attempts",
    version="1",
    title="Attempts to fit what was not fitted at 16 bits",
    figures="SP App. A",
    grids={
        "live": [Trial("plain", 2, 3, (0, 1), **_LIVE), Trial("curriculum", 2, 3, (0, 1), **_LIVE, curriculum=True)],
        "book": [attempt(name, 4, 8, (0, 1, 2)) for name in ATTEMPTS],
        "paper": [Trial(name, d, w, (seed,), **({"T": 20, "m": 8192, "steps": 100_000} | change))
                  for d, w in ((4, 4), (4, 8), (5, 4), (5, 8)) for name, change in ATTEMPTS.items()
                  if "steps" not in change and "m" not in change for seed in range(11)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
)  # fmt: skip
