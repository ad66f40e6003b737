"""How many examples a transformer needs to find a hidden AND (ED Sec. 5, Figs 2 and 4).

    flatcube run sparse_and --scale book

A row is one network: a set S of 3 among T places is planted, m uniform inputs are drawn and labelled with the AND of
the bits in S, and the network of ``learners`` learns from these, all at every step. Every 20 steps it is tried on 2000
fresh inputs; ``best`` is its best accuracy there, and it is a ``success`` if this is above 0.99. It stops then, or
after 400 steps, with the accuracy ``train`` on its own examples. ED does 1000 steps, with dropout, and 50 networks a
cell; ``patience`` asks whether 400 are too few.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import stats

from flatcube import checks, cube, sampling, training
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.sparse_functions import critical, targets
from flatcube.sparse_functions.counting import least_samples

__all__ = ["Trial", "tasks", "trial", "summary", "measured", "EXPERIMENT"]

_S = 3
_LENGTHS = 3  # as many are needed to compare laws


@dataclass(frozen=True)
class Trial:
    """Networks that learn from m examples of T bits, trained together."""

    T: int
    m: int
    seeds: tuple[int, ...]
    steps: int = 400
    points: int = 2000
    s: int = _S

    def __post_init__(self) -> None:
        checks.integer(self.s, "s", 1, checks.integer(self.T, "T", 1))
        checks.integer(self.m, "m", 1)
        checks.several(self.seeds, "seeds", int, 1)


def tasks(trial: Trial) -> list[training.Task]:
    """What each network learns: all of it depends on T, m and its seed only."""
    from flatcube.sparse_functions import learners  # late, for torch takes seconds that those who only read do not need

    found = []
    for seed in trial.seeds:
        rng = np.random.default_rng([trial.T, trial.m, seed])
        members = targets.planted(trial.T, trial.s, rng=rng)
        given, held = (sampling.random_signs((count, trial.T), rng=rng) for count in (trial.m, trial.points))
        found.append(learners.Held(lambda x, members=members: targets.conjunction(x, members), trial.T, given, held))
    return found


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial: one row each."""
    import torch

    from flatcube.sparse_functions import learners

    given, plan = tasks(trial), learners.settings(trial.steps, trial.m, min(20, trial.steps), after=0)
    run = learners.train(learners.networks(trial.T, trial.seeds), given, plan, trial.seeds)
    rows = []
    for k, (seed, task) in enumerate(zip(trial.seeds, given, strict=True)):
        with torch.no_grad():
            outputs = run.ensemble.member(k)(torch.as_tensor(cube.to_bits(task.inputs))).numpy()
        best = 1 - float(run.history["error"][run.history["member"] == k].min())
        train = float(np.mean(outputs * task.values(task.inputs) > 0))
        rows.append({"T": trial.T, "m": trial.m, "seed": seed, "success": int(best > 0.99), "best": best,
                     "ended": int(run.ended[k]), "train": train})  # fmt: skip
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: trials and successes for every T and m, with the 95 % interval of the share, the latest step of a
    success and how many fitted all of their examples. ``critical``: for every T the critical sample size by the fit of
    ``critical``, whether it lies ``inside`` the sizes that were tried, its bootstrap error and interval, the steepness,
    the smallest m with more than half successes (ED's own definition), and log₂ C(T, s). With three lengths or more,
    ``laws``: fits of log T, √T and T, best first, and ``power``: the exponent of a power law with its 95 % interval;
    ``joined laws`` and ``joined power``: the same for critical sizes by straight lines between the cells."""
    rows = store.numbers(rows)
    cells = []
    for T, m in sorted({(int(row["T"]), int(row["m"])) for row in rows}):
        own = [row for row in rows if (row["T"], row["m"]) == (T, m)]
        good = [row for row in own if row["success"]]
        low, high = sampling.proportion(len(good), len(own), 0.95)
        cells.append({"T": T, "m": m, "trials": len(own), "successes": len(good), "share": len(good) / len(own),
                      "low": low, "high": high, "latest": int(max((row["ended"] for row in good), default=-1)),
                      "fitted": sum(row["train"] == 1 for row in own)})  # fmt: skip
    found: dict[str, list] = {"cells": cells, "critical": []}
    drawn, other, other_drawn = [], [], []
    for T in sorted({cell["T"] for cell in cells}):
        own = [cell for cell in cells if cell["T"] == T]
        counts = [[cell[name] for cell in own] for name in ("m", "successes", "trials")]
        fitted, again = critical.bootstrap(*counts, rng=np.random.default_rng([T, 14]))
        drawn.append(again)
        plain, again = critical.bootstrap(*counts, rng=np.random.default_rng([T, 14]), curve=False)
        other.append({"T": T, "critical": plain.m, "error": plain.error})
        other_drawn.append(again)
        inside = counts[0][0] < fitted.m < counts[0][-1]
        line = {"T": T, "critical": fitted.m, "inside": inside} | {
            name: getattr(fitted, name) for name in fitted._fields[1:]
        }
        found["critical"].append(line | {"first": critical.first_above(*counts), "bound": least_samples(T, _S)})
    if len(drawn) >= _LENGTHS:
        found["laws"], found["power"] = _growth(found["critical"], drawn)
        if all(line["error"] for line in other):
            found["joined laws"], found["joined power"] = _growth(other, other_drawn)
    return found


def _growth(lines: list[dict], drawn: list[np.ndarray]) -> tuple[list[dict], list[dict]]:
    """The laws of critical sizes with their errors, and the exponent of a power law with its interval."""
    lengths, sizes, errors = ([line[name] for line in lines] for name in ("T", "critical", "error"))
    low, high = np.quantile(critical.exponent(lengths, np.stack(drawn, 1)), [0.025, 0.975])
    power = float(critical.exponent(lengths, np.array(sizes)))
    laws = [law._asdict() for law in critical.laws(lengths, sizes, errors)]
    return laws, [{"exponent": power, "low": float(low), "high": float(high)}]


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """ED-F2L agrees if success rises with m at every T (Kendall's rank correlation of cell shares, in the mean over T,
    is above ½ and every fitted curve rises), the critical size is larger for each larger T, and no curve is a step: 10
    to 90 % takes a factor of 1.2 in m or more; in part, if some of these hold.

    ED-F2C agrees if the 95 % interval of the exponent of a power law lies below 1; in part, if the exponent does. If a
    critical size lies outside of the sizes that were tried, neither agrees: there the fit is an extrapolation.
    """
    found = summary(rows)
    lines, power = found["critical"], found["power"][0]
    ranks = [_rank([c for c in found["cells"] if c["T"] == line["T"]]) for line in lines]
    widths = [81 ** (1 / line["steepness"]) for line in lines]
    grows = all(a["critical"] < b["critical"] for a, b in pairwise(lines))
    inside = all(line["inside"] for line in lines)
    rules = [float(np.mean(ranks)) > 0.5 and min(ranks) > 0, grows and inside, min(widths) > 1.2]
    shown = "; ".join(
        f"T = {line['T']}: {line['critical']:.0f} ({line['low']:.0f} to {line['high']:.0f})" for line in lines
    )
    counts = sorted({cell["trials"] for cell in found["cells"]})
    first = (
        f"Critical sample sizes with 95 % bootstrap intervals, {' or '.join(map(str, counts))} networks a cell: "
        f"{shown}. Kendall's τ of success and m: {', '.join(f'{rank:.2f}' for rank in ranks)}. From 10 to 90 % success "
        f"m grows by factors of {', '.join(f'{width:.1f}' for width in widths)}. The latest success came at step "
        f"{max(cell['latest'] for cell in found['cells'])} of 400."
    )
    laws, others = ("; ".join(f"a + b {law['name']}: {law['chi2']:.1f}" for law in found.get(name, []))
                    for name in ("laws", "joined laws"))  # fmt: skip
    second = (
        f"Critical size ∝ T^α with α = {power['exponent']:.2f} (95 % bootstrap interval {power['low']:.2f} to "
        f"{power['high']:.2f}) for T from {lines[0]['T']} to {lines[-1]['T']}. χ² of fits with two free numbers, "
        f"{len(lines) - 2} degrees of freedom: {laws}. It is {lines[0]['critical'] / lines[0]['bound']:.1f} times the "
        f"bound log₂ C(T, 3) at T = {lines[0]['T']}, {lines[-1]['critical'] / lines[-1]['bound']:.1f} times at T = "
        f"{lines[-1]['T']}."
    )
    if others:
        joined = found["joined power"][0]
        second += (f" With critical sizes by straight lines between the cells: α = {joined['exponent']:.2f} "
                   f"({joined['low']:.2f} to {joined['high']:.2f}), χ² {others}.")  # fmt: skip
    sublinear = [inside and power["high"] < 1, power["exponent"] < 1]
    return [{"id": "ED-F2L", "verdict": trends.verdict(rules), "statement": first},
            {"id": "ED-F2C", "verdict": trends.verdict(sublinear), "statement": second}]  # fmt: skip


def _rank(cells: list[dict]) -> float:
    return float(stats.kendalltau([cell["m"] for cell in cells], [cell["share"] for cell in cells]).statistic)


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: half of the networks stop early."""
    return len(trial.seeds) * trial.steps / 400 * (0.3 + trial.T * (0.002 + 3e-5 * trial.m))


_SIZES = {50: (30, 40, 60, 80, 100, 120), 100: (60, 80, 100, 120), 200: (60, 80, 100, 120, 140),
          400: (100, 120, 140, 180), 800: (120, 140, 160, 200, 260)}  # fmt: skip


def _book() -> list[Trial]:
    groups = [tuple(range(start, start + 10)) for start in (0, 10, 20)]
    return [Trial(T, m, seeds) for seeds in groups for T, sizes in _SIZES.items() for m in sizes]


EXPERIMENT = Experiment(
    name="sparse_and",
    version="1",
    title="Success at a hidden AND against examples and length",
    figures="ED Figs 2 and 4",
    grids={
        "live": [Trial(8, m, tuple(range(4)), 120, 256) for m in (10, 60)],
        "book": _book(),
        "paper": [Trial(T, m, (seed,), 1000, 10_000) for T in (*range(100, 401, 50), *range(500, 801, 100))
                  for m in range(50, 201, 10) for seed in range(50)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
