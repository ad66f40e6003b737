"""Networks that are pushed towards flat places: do they generalise better, and is what they add less sensitive?

    flatcube run flattened --scale book

Two networks that were only looked at may differ for many reasons. Here the same network, with the same first weights
and the same batches, is trained in several ways, ``ARMS``: *plain*; with the gradient at the worst place nearby
(*sam*); the same with nearness measured weight by weight (*asam*); and with noise in the weights at every step
(*noise*). All stop when they fit. Functions, what is shown of them and all other settings are those of ``gap`` for the
kind *parities* (its arm *stop*), and those of ``random_functions`` for *coins*, of which m inputs are shown.

A row is one network. ``train`` and ``test`` are mean squared errors on inputs shown and hidden, ``fitted`` says whether
train is below the goal; ``sensitivity`` is that of the outputs, or for coins that of their signs; ``moved2`` is
‖θ − θ₀‖², ``trace`` 2E‖∇f̂‖² over inputs shown and ``trace_hidden`` the same over hidden ones, up to 256 each;
``certificate`` is for parities only, where positions are not trained.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from flatcube import checks, cube, networks, sensitivity, training
from flatcube.experiments import store
from flatcube.experiments.engine import Experiment
from flatcube.generalise import completions, findings, gap, learners, random_functions

__all__ = ["ARMS", "Trial", "trial", "pairs", "summary", "EXPERIMENT"]

ARMS = ("plain", "sam", "asam", "noise")
_PLACES = dict(zip(ARMS, ("here", "worst", "scaled", "noise"), strict=True))
KINDS = ("parities", "coins")


@dataclass(frozen=True)
class Trial:
    """Networks for random functions of one class, trained together in one way; coins have no degree and sparsity."""

    kind: str
    arm: str
    radius: float
    T: int
    m: int
    seeds: tuple[int, ...]
    degree: int = 0
    sparsity: int = 0
    steps: int = 3000

    def __post_init__(self) -> None:
        checks.word(self.kind, "kind", KINDS)
        checks.word(self.arm, "arm", ARMS)
        checks.number(self.radius, "radius", 0, 1e3)
        checks.several(self.seeds, "seeds", int, 1)


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look at each: one row each."""
    given, run, first = (_parities if trial.kind == "parities" else _coins)(trial)
    rows = []
    for k, seed in enumerate(trial.seeds):
        network = run.ensemble.member(k)
        learned = findings.outputs(network)
        losses = np.square(learned - given[k].table)
        read = learned if trial.kind == "parities" else completions.extrapolate(learned)
        sure = math.nan
        if trial.kind == "parities":
            sure = findings.certificate(network, first[k], given[k], seed=seed)["certificate"]
        rows.append(
            {name: getattr(trial, name) for name in ("kind", "arm", "radius", "T", "m", "degree", "sparsity")}
            | {"seed": seed, "ended": int(run.ended[k]), "fitted": int(run.converged[k])}
            | {"train": float(losses[given[k].shown].mean()), "test": float(losses[given[k].hidden].mean())}
            | {"sensitivity": float(sensitivity.average(read)), "moved2": findings.distance(network, first[k])}
            | {"trace": findings.account(network, findings.shown_bits(given[k]))[1]}
            | {"trace_hidden": findings.account(network, findings.shown_bits(given[k], hidden=True))[1]}
            | {"certificate": sure}
        )
    return rows


Trained = tuple[list[learners.Sample], training.Run, Sequence[networks.Encoder]]


def _parities(trial: Trial) -> Trained:
    same = gap.Trial("stop", trial.T, trial.m, trial.degree, trial.sparsity, trial.seeds, trial.steps)
    _, given = gap.samples(same)
    run, first = learners.learn(given, _settings(trial, same.batch, same.rate, 1e-4, (0.9, 0.99), 0.02),
                                learners.config(trial.T), seeds=trial.seeds)  # fmt: skip
    return given, run, first


def _coins(trial: Trial) -> Trained:
    same = random_functions.Trial(0)
    tables = [cube.random_boolean(trial.T, rng=[seed, 0]) for seed in trial.seeds]
    given = [learners.sample(f, trial.m, rng=[seed, trial.m]) for f, seed in zip(tables, trial.seeds, strict=True)]
    config = networks.Config(n=trial.T, width=same.width, heads=same.heads, hidden=same.hidden)
    ensemble = networks.Ensemble(config, seeds=trial.seeds)
    points = cube.points(trial.T)
    tasks = [training.Task(each.table, trial.T, inputs=points[each.shown]) for each in given]
    settings = _settings(trial, same.batch, same.rate, 0.0, (0.9, 0.999), 0.01)
    run = training.train(ensemble, tasks, settings, seeds=trial.seeds, progress=False)
    return given, run, [ensemble.member(k) for k in range(len(given))]


def _settings(
    trial: Trial, batch: int, rate: float, decay: float, betas: tuple[float, float], goal: float
) -> training.Settings:
    return training.Settings(
        steps=trial.steps, batch=batch, rate=rate, decay=decay, betas=betas, hold=0.7 if decay else 0.75, goal=goal,
        every=min(100, trial.steps), after=0, place=_PLACES[trial.arm], radius=trial.radius,
    )  # fmt: skip


# --- what it says -----------------------------------------------------------------------------------------------------

_PAIR = ("kind", "T", "m", "degree", "sparsity", "seed")


def pairs(rows: Iterable[dict], kind: str, arm: str) -> list[tuple[dict, dict]]:
    """The networks of an arm with the plain ones for the same functions, as numbers, where both fitted."""
    rows = store.numbers(rows, "kind", "arm")
    kept = [row for row in rows if row["fitted"] and row["kind"] == kind]
    plain = {tuple(row[name] for name in _PAIR): row for row in kept if row["arm"] == "plain"}
    found = ((row, plain.get(tuple(row[name] for name in _PAIR))) for row in kept if row["arm"] == arm)
    return [(row, other) for row, other in found if other]


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``arms``: for each kind and arm but the plain one how many networks there are, how many pairs fitted, and for
    some numbers the median ratio to the plain network, in how many pairs they are less, and the p-value of a two-sided
    sign test. ``gap`` is test − train, and as it may be negative it has no ratio: in how many pairs it is less.

    ``classes``: for each of these and each class of functions the pairs, and for ``train``, ``test`` and ``gap`` the
    medians, pushed and plain, and in how many pairs they are less."""
    rows, found, classes = list(rows), [], []
    for kind, arm in dict.fromkeys((row["kind"], row["arm"]) for row in rows if row["arm"] != "plain"):
        both = pairs(rows, kind, arm)
        classes += _by_class(both, kind, arm)
        line: dict[str, object] = {"kind": kind, "arm": arm, "pairs": len(both)}
        line["runs"] = sum((row["kind"], row["arm"]) == (kind, arm) for row in rows)
        for name in ("trace", "trace_hidden", "sensitivity", "moved2", "ended", "certificate", "train", "test"):
            values = [(one[name], other[name]) for one, other in both if not math.isnan(one[name])]
            line |= {name: _middle(a / b for a, b in values)} | _signs(values, name)
        found.append(line | _signs([(_gap(one), _gap(other)) for one, other in both], "gap"))
    return {"arms": found, "classes": classes}


def _gap(row: dict) -> float:
    return row["test"] - row["train"]


def _by_class(both: list[tuple[dict, dict]], kind: str, arm: str) -> list[dict[str, object]]:
    """One line for each degree and sparsity: errors and gaps in the median, as gaps may not be pooled over classes."""
    found = []
    for degree, sparsity in dict.fromkeys((one["degree"], one["sparsity"]) for one, _ in both):
        own = [pair for pair in both if (pair[0]["degree"], pair[0]["sparsity"]) == (degree, sparsity)]
        line = {"kind": kind, "arm": arm, "degree": int(degree), "sparsity": int(sparsity), "pairs": len(own)}
        for name in ("train", "test", "gap"):
            values = [tuple(_gap(row) if name == "gap" else row[name] for row in pair) for pair in own]
            line |= {name: _middle(a for a, _ in values), f"{name}_plain": _middle(b for _, b in values)}
            line[f"{name}_less"] = _signs(values, name)[f"{name}_less"]
        found.append(line)
    return found


def _middle(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.median(found)) if found else math.nan


def _signs(values: list[tuple[float, float]], name: str) -> dict[str, float]:
    """In how many pairs the first is ``less``, and the p-value of a sign test without ties."""
    less, more = sum(a < b for a, b in values), sum(a > b for a, b in values)
    p = float(stats.binomtest(less, less + more).pvalue) if less + more else 1.0
    return {f"{name}_less": less, f"{name}_p": p}


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    step = 6e-3 if trial.kind == "coins" else 3e-3
    used = 500 if trial.kind == "coins" else 100 * (1 + trial.degree) ** 1.5 * (1 + trial.sparsity) / 4
    twice = 1.0 if trial.arm == "plain" else 4.0  # two gradients for a step, and more steps
    return len(trial.seeds) * (step * min(trial.steps, used) * twice + 1)


_FIVE = tuple(range(5))
_RADII = {"plain": 0.0, "sam": 0.05, "noise": 0.01, "asam": 0.5}


def _book() -> list[Trial]:
    cells = [(arm, radius, *cell) for arm, radius in _RADII.items() for cell in ((1, 1), (2, 4))]
    grid = [Trial("parities", arm, radius, 12, 1024, _FIVE, d, w) for arm, radius, d, w in cells]
    for arm in ("plain", "sam", "noise"):
        grid += [Trial("coins", arm, _RADII[arm], 10, 128, seeds) for seeds in (_FIVE, tuple(range(5, 10)))]
    return grid


EXPERIMENT = Experiment(
    name="flattened",
    version="2",
    title="Networks that are pushed towards flat places",
    figures="beyond the papers",
    grids={
        "live": [Trial("coins", arm, radius, 4, 8, (0, 1), steps=40) for arm, radius in _RADII.items()]
        + [Trial("parities", arm, radius, 5, 20, (0, 1), 1, 1, steps=40) for arm, radius in _RADII.items()],
        "book": _book(),
        "paper": [Trial("coins", arm, radius, 10, m, (seed,), steps=20_000) for arm, radius in _RADII.items()
                  for m in (128, 256, 512) for seed in range(100)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
)  # fmt: skip
