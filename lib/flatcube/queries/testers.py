"""How often the testers of chapter 3 are right, and how they wilt (SP App. H and Fig. 8).

    flatcube run testers --scale book

One row sums up the runs of one setting on one class of random functions of n variables: all sets have the same size
``degree``, and ``sparsity`` coefficients are not zero, the constant included. From sparsity 2 on these are SP's
functions with sparsity − 1 components; sparsity 1 is a single χ_S.

- ``tester`` and ``method``: degree by ``blocks`` or single ``axes``; sparsity by random ``directions`` or ``axes``.
- ``laxity``: for the degree, how much fewer trials are made than the default; for the sparsity, the proximity.
- ``right``: the runs whose first accepted value is the truth; ``mean`` and ``deviation`` of that value over the runs;
  ``queries``: the mean number of queries.

At book scale n = 30, with 200 runs for every degree up to 5 and sparsity up to 21, and 40 for the naive methods and the
lax settings. SP has 8 functions of 20 variables in each class.
"""

import math
from dataclasses import dataclass

import numpy as np

from flatcube import checks, cube, queries
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.sampling import BlackBox, proportion

__all__ = ["Trial", "trial", "summary", "measured", "EXPERIMENT"]

_METHODS = {"degree": "blocks", "sparsity": "directions"}
_FEWER = (4.0, 16.0, 64.0, 256.0)
_PROXIMITIES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
_CLASSES = (6, 11, 16, 21)  # SP's sparsity set is not legible in the text we worked from: 5, 10, 15 and 20 components
_SLIGHTLY = 0.05  # how far below the truth, as a share of it, the mean of a strict tester may lie


@dataclass(frozen=True)
class Trial:
    """One setting on one class of functions."""

    tester: str
    method: str
    degree: int
    sparsity: int
    laxity: float = 0.0
    runs: int = 200
    n: int = 30
    seed: int = 2026

    def __post_init__(self) -> None:
        if self.tester not in _METHODS:
            raise ValueError(f"tester: expected one of {', '.join(_METHODS)}, got {self.tester!r}")
        for name in ("degree", "sparsity", "runs", "n"):
            checks.integer(getattr(self, name), name, 1)


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row: the tester's findings on random functions, each with a seed of its own."""
    seeds = [[trial.seed, trial.degree, trial.sparsity, run] for run in range(trial.runs)]
    found = [_run(trial, np.random.default_rng(seed)) for seed in seeds]
    values, asked = [finding.value for finding in found], [finding.queries for finding in found]
    told = {name: getattr(trial, name) for name in ("tester", "method", "laxity", "degree", "sparsity", "runs")}
    means = {"mean": np.mean(values), "deviation": np.std(values), "queries": np.mean(asked)}
    right = values.count(trial.degree if trial.tester == "degree" else trial.sparsity)
    return [told | {"right": right} | {name: float(number) for name, number in means.items()}]


def _run(trial: Trial, rng: np.random.Generator) -> queries.Finding:
    """What the tester finds on one random function."""
    f = _random_function(trial, rng)
    if trial.tester == "sparsity":
        return queries.estimate_sparsity(f, trial.n, rng=rng, method=trial.method, proximity=trial.laxity)
    if not trial.laxity:
        return queries.estimate_degree(f, trial.n, rng=rng, method=trial.method)
    return _lax_degree(f, trial, rng)


def _random_function(trial: Trial, rng: np.random.Generator) -> BlackBox:
    components = cube.random_components(trial.n, trial.degree, max(trial.sparsity - 1, 1), rng=rng)
    constant = [((), -sum(weight for _, weight in components) / 2)] if trial.sparsity == 1 else []
    return queries.black_box(components + constant, trial.n)


def _lax_degree(f: BlackBox, trial: Trial, rng: np.random.Generator) -> queries.Finding:
    """The sweep of ``queries.estimate_degree`` with ``laxity`` times fewer trials at each degree."""
    total = 0
    for degree in range(trial.n):
        share = 0.05 / ((degree + 1) * (degree + 2))
        count = math.ceil(queries.degree_trials(trial.n, degree, error=share) / trial.laxity)
        verdict = queries.degree_at_most(f, trial.n, degree, rng=rng, trials=count, method=trial.method)
        total += verdict.queries
        if verdict.accepted:
            break
    return queries.Finding(degree, True, total, None, False, ())


def _cost(trial: Trial) -> float:
    """Seconds of one core: a test of a high degree has many trials of many queries, a lax one fewer."""
    if trial.tester == "sparsity":
        each = 5e-4 + 7e-5 * trial.sparsity
    else:
        each = 5e-4 + (4e-6 if trial.method == "blocks" else 1e-6) * 5.3**trial.degree / max(trial.laxity, 1)
    return each * trial.runs


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: list[dict]) -> dict[str, list[dict[str, object]]]:
    """``settings``: for every tester, method and laxity, over all classes, how many runs are right.

    With them the ``mean``, ``least`` and ``most`` of what a class finds as a share of the truth, and the standard
    ``error`` of that mean.
    """
    found: dict[tuple[str, str, float], list[dict]] = {}
    for row in rows:
        found.setdefault((row["tester"], row["method"], float(row["laxity"])), []).append(row)
    return {"settings": [_setting(*key, kept) for key, kept in found.items()]}


def _setting(tester: str, method: str, laxity: float, rows: list[dict]) -> dict[str, object]:
    counts = {name: sum(int(row[name]) for row in rows) for name in ("runs", "right")}
    shares = [float(row["mean"]) / int(row[tester]) for row in rows]
    error = float(np.std(shares, ddof=1)) / math.sqrt(len(shares)) if len(shares) > 1 else math.nan
    told = {"tester": tester, "method": method, "laxity": laxity, "classes": len(rows), **counts}
    return told | trends.spread(shares) | {"error": error}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """The verdict on SP Fig. 8, which says two things, for both testers.

    Strict tests: in every class the mean first accepted value is at most the truth, and at most 5 % below it. Lax
    tests: the laxer, the lower, in the mean over SP's classes; and the laxest is lower than the strict one by more than
    two standard errors.
    """
    classes = [row for row in rows if int(row["sparsity"]) in _CLASSES]
    everywhere, of_paper = (_by_setting(some) for some in (rows, classes))
    rules = [holds for tester in _METHODS for holds in (_near(everywhere, tester), _wilts(of_paper, tester))]
    said = []
    for tester in _METHODS:
        strict = everywhere[tester, 0.0]
        least = 100 * proportion(strict["right"], strict["runs"], 0.95)[0]
        right = f"right in {strict['right']:,} of {strict['runs']:,} runs (95 % interval from {least:.2f} % on)"
        said.append(f"the {tester} found is {right}")
    lax = everywhere["sparsity", 0.1]
    wilted = f"{100 * lax['mean']:.0f} ± {200 * lax['error']:.0f} % of the truth"
    said.append(f"with proximity 0.1 the mean sparsity found wilts to {wilted}")
    statement = "30 variables, degrees 1–5, sparsities 1–21: " + "; ".join(said) + "."
    return [{"id": "SP-F8", "verdict": trends.verdict(rules), "setting": "same", "statement": statement}]


def _by_setting(rows: list[dict]) -> dict[tuple[str, float], dict[str, object]]:
    """The settings of the testers, without the naive ones, by tester and laxity."""
    lines = summary(rows)["settings"]
    return {(line["tester"], line["laxity"]): line for line in lines if line["method"] == _METHODS[line["tester"]]}


def _near(settings: dict, tester: str) -> bool:
    strict = settings[tester, 0.0]
    return strict["least"] >= 1 - _SLIGHTLY and strict["most"] <= 1


def _wilts(settings: dict, tester: str) -> bool:
    lines = [settings[tester, laxity] for laxity in (0.0, *(_FEWER if tester == "degree" else _PROXIMITIES))]
    means, margin = [line["mean"] for line in lines], 2 * math.hypot(lines[0]["error"], lines[-1]["error"])
    return means == sorted(means, reverse=True) and means[0] - means[-1] > margin


# --- the grids --------------------------------------------------------------------------------------------------------


def _some(degree: int, sparsity: int, **options: int) -> list[Trial]:
    """The naive variants and the lax settings on one class."""
    return [
        *(Trial(tester, "axes", degree, sparsity, **options) for tester in _METHODS),
        *(Trial("degree", "blocks", degree, sparsity, laxity, **options) for laxity in _FEWER),
        *(Trial("sparsity", "directions", degree, sparsity, laxity, **options) for laxity in _PROXIMITIES),
    ]


def _grid(degrees: range, sparsities: range | tuple[int, ...], few: int, **options: int) -> list[Trial]:
    """Strict tests on all classes, and the others, with ``few`` runs, on those of SP."""
    classes = [(degree, sparsity) for degree in degrees for sparsity in sparsities]
    strict = [Trial(tester, method, *each, **options) for tester, method in _METHODS.items() for each in classes]
    others = [_some(*each, **options | {"runs": few}) for each in classes if each[1] in _CLASSES]
    return [*strict, *(trial for some in others for trial in some)]


EXPERIMENT = Experiment(
    name="testers",
    version="1",
    title="What the testers find, strict and lax",
    figures="SP Fig. 8",
    grids={
        "live": _grid(range(1, 4), (6, 16), 5, runs=20),
        "book": _grid(range(1, 6), range(1, 22), 40),
        "paper": _grid(range(1, 6), _CLASSES, 8, runs=8, n=20),
    },
    trial=trial,
    cost=_cost,
    summary=summary,
    measured=measured,
)
