"""Sharpness of trained encoders against the length of their inputs (HR Figs 1, 5 and 6, Table 2).

    flatcube run sharper --scale book

Encoders learn PARITY, MAJORITY, FIRST and MEAN of n bits, all with the same number of steps. One row is one network:

- ``error``: its mean squared error at the end; it ``converged`` if that is below 10⁻³ (HR Sec. 7.1);
- ``reason`` it stopped at step ``ended``: *chance*, if after ``chance_after`` steps it never did better than 0.9 of the
  error of the best constant; *diverged*; or *end*. ``reached`` is the step of its first error below 10⁻³, or −1;
- ``sharpness``: L_ρ of HR Eq. (15) for Gaussian shifts with ρ = 0.02, ``deviation`` its standard error over the
  directions, ``relative`` the same divided by Var f; ``norm`` is ‖θ‖ and ``radius`` the size of the shifts as a share
  of it. Position encodings are neither shifted nor counted.

HR trains on targets 0 and 1 and multiplies by 4. Here the targets are ±1, so nothing is multiplied.

At book scale the encoders have half of HR's width and see a quarter of its batch; the lengths are 4, 6, 8 and 12, each
with 5 seeds or more for every function, and PARITY of 16 bits shows how often training succeeds at all.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats

from flatcube import cube, sampling, sharpness, training
from flatcube.encoder import Config, Ensemble
from flatcube.experiments.engine import Experiment

__all__ = ["FUNCTIONS", "RHO", "LONGEST", "Trial", "trial", "cost", "summary", "gaps", "EXPERIMENT"]

FUNCTIONS = {
    "PARITY": lambda signs: signs.prod(-1, dtype=float),
    "MAJORITY": lambda signs: np.where(signs.sum(-1, dtype=int) < 0, -1.0, 1.0),
    "FIRST": lambda signs: signs[:, 0].astype(float),
    "MEAN": lambda signs: signs.mean(-1, dtype=float),
}
RHO = 0.02
LONGEST = 12  # of the lengths that enter a slope: beyond, too few networks converge
_POINTS = 1024  # inputs for the sharpness; all of them, if there are fewer


@dataclass(frozen=True)
class Trial:
    """Networks of one length, trained together: one for each function and seed."""

    functions: tuple[str, ...]
    n: int
    seeds: tuple[int, ...]
    width: int = 64
    batch: int = 256
    steps: int = 6000
    rate: float = 6e-4
    decay: float = 0.1
    schedule: str = "hold"
    chance_after: int | None = 4000
    directions: int = 100

    def __post_init__(self) -> None:
        if not self.functions or not FUNCTIONS.keys() >= set(self.functions):
            raise ValueError(f"functions: expected some of {', '.join(FUNCTIONS)}, got {self.functions!r}")
        cube.check_integer(self.n, "n", 1)
        if not self.seeds:
            raise ValueError("seeds: expected one for each network, got none")


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and measure each: one row for each."""
    members = [(function, seed) for function in trial.functions for seed in trial.seeds]
    # No two networks of a grid begin alike.
    seeds = [1000 * (trial.n + 100 * list(FUNCTIONS).index(function)) + seed for function, seed in members]
    settings = training.Settings(
        steps=trial.steps, batch=trial.batch, rate=trial.rate, decay=trial.decay, schedule=trial.schedule,
        every=min(100, trial.steps), chance_after=trial.chance_after,
    )  # fmt: skip
    tasks = [training.Task(FUNCTIONS[function], trial.n) for function, _ in members]
    ensemble = Ensemble(Config(n=trial.n, width=trial.width), seeds=seeds, dtype=torch.float32)
    run = training.train(ensemble, tasks, settings, seeds=seeds, progress=False)
    return [
        {"function": function, "n": trial.n, "seed": seed, "width": trial.width, "steps": trial.steps,
         "error": float(run.errors[k]), "converged": int(run.converged[k]), "reason": run.reasons[k],
         "ended": int(run.ended[k]), "reached": int(run.reached[k])}
        | _measured(run.ensemble.member(k), trial, seeds[k])
        for k, (function, seed) in enumerate(members)
    ]  # fmt: skip


def _measured(model: torch.nn.Module, trial: Trial, seed: int) -> dict[str, float]:
    whole = 2**trial.n <= _POINTS
    signs = cube.points(trial.n) if whole else sampling.random_signs((_POINTS, trial.n), rng=trial.n)
    bits = torch.as_tensor(cube.to_bits(signs)).long()
    found = sharpness.average_direction(model, bits, rho=RHO, directions=trial.directions, seed=seed)
    constant = not found.variance > 0
    return {
        "sharpness": found.value,
        "deviation": found.error,
        "relative": math.nan if constant else found.relative,
        "norm": sharpness.parameter_norm(model),
        "radius": found.relative_radius,
    }


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 12 ms for each network and step of width 64 with a batch of 256 at n = 8."""
    step = 1.35e-3 * trial.n * (trial.width / 64) ** 1.2 * trial.batch / 256 + 1e-3
    return (step * len(trial.functions) * len(trial.seeds) + 2e-3) * trial.steps


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """Tables of the rows, as computed or as stored.

    ``lengths``: for every function and length the number of ``runs``, how many ``converged``, were left at ``chance``
    or ``diverged``, and the mean, least and largest sharpness of those that converged.
    ``slopes``: the straight line through the sharpness of those that converged, n ≤ 12, as HR Table 2 has it: slope
    per bit with its 95 % interval by Student's t, Pearson's r, p-value of the slope 0.
    """
    rows = [dict(row) | {name: float(row[name]) for name in ("n", "converged", "sharpness")} for row in rows]
    lengths, slopes = [], []
    for function in [name for name in FUNCTIONS if any(row["function"] == name for row in rows)]:
        mine = [row for row in rows if row["function"] == function]
        lengths += [_at(function, n, [row for row in mine if row["n"] == n]) for n in sorted({r["n"] for r in mine})]
        slopes.append({"function": function} | _line([row for row in mine if row["n"] <= LONGEST]))
    return {"lengths": lengths, "slopes": slopes}


def _at(function: str, n: float, rows: list[dict]) -> dict[str, object]:
    values = [row["sharpness"] for row in rows if row["converged"]]
    counts = {name: sum(row["reason"] == name for row in rows) for name in ("chance", "diverged")}
    mean, least, most = (np.mean(values), min(values), max(values)) if values else [math.nan] * 3
    return {"function": function, "n": int(n), "runs": len(rows), "converged": len(values), **counts,
            "mean": float(mean), "least": least, "most": most}  # fmt: skip


def _line(rows: list[dict]) -> dict[str, float]:
    kept = [row for row in rows if row["converged"]]
    counts = {"runs": len(rows), "converged": len(kept)}
    if len(kept) < 3 or len({row["n"] for row in kept}) < 2:  # no line, or one without an error
        return counts | dict.fromkeys(("slope", "low", "high", "error", "r", "p"), math.nan)
    fit = stats.linregress([row["n"] for row in kept], [row["sharpness"] for row in kept])
    half = stats.t.ppf(0.975, len(kept) - 2) * fit.stderr
    found = {"slope": fit.slope, "low": fit.slope - half, "high": fit.slope + half, "error": fit.stderr}
    return counts | {name: float(value) for name, value in (found | {"r": fit.rvalue, "p": fit.pvalue}).items()}


def gaps(slopes: list[dict], of: str = "PARITY", confidence: float = 0.95) -> list[dict[str, object]]:
    """How much steeper one function's line is than every other's, with an interval (Welch 1947) and a p-value."""
    lines = {line["function"]: line for line in slopes}
    found = []
    for name, other in lines.items():
        if name == of:
            continue
        gap, parts = lines[of]["slope"] - other["slope"], [(lines[of]["error"], lines[of]["converged"] - 2),
                                                           (other["error"], other["converged"] - 2)]  # fmt: skip
        error = math.hypot(*(part[0] for part in parts))
        free = error**4 / sum(e**4 / max(df, 1) for e, df in parts) if error > 0 else math.nan
        half = stats.t.ppf((1 + confidence) / 2, free) * error
        p = 2 * stats.t.sf(abs(gap) / error, free) if error > 0 else math.nan
        found.append({"function": name, "gap": gap, "low": float(gap - half), "high": float(gap + half), "p": float(p)})
    return found


# --- the grids --------------------------------------------------------------------------------------------------------


def _book() -> list[Trial]:
    few, more = tuple(range(5)), tuple(range(7))
    grid = [Trial((function,), n, few) for n in (4, 6, 8) for function in FUNCTIONS]
    grid += [Trial((function,), 12, more if function == "PARITY" else few) for function in FUNCTIONS]
    return [*grid, Trial(("PARITY",), 16, tuple(range(4)))]


def _paper() -> list[Trial]:
    """HR App. E: width 128, batch 1024, 10,000 steps at 3·10⁻⁴, n = 4 … 30, 10 seeds; no network is given up."""
    options = {"width": 128, "batch": 1024, "steps": 10_000, "rate": 3e-4, "schedule": "constant"}
    each = [(n, function, seed) for n in range(4, 31) for function in FUNCTIONS for seed in range(10)]
    return [Trial((function,), n, (seed,), chance_after=None, **options) for n, function, seed in each]


def _live() -> list[Trial]:
    options = {"width": 16, "batch": 64, "steps": 200, "rate": 5e-3, "chance_after": None, "directions": 50}
    return [Trial(tuple(FUNCTIONS), n, (0, 1), **options) for n in (2, 4)]


EXPERIMENT = Experiment(
    name="sharper",
    title="Sharpness of trained encoders against the length of their inputs",
    figures="HR Figs 1, 5, 6, Table 2",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=cost,
    summary=summary,
)
