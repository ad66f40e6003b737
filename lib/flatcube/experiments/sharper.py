"""Sharpness of trained encoders against the length of their inputs (HR Figs 1, 5 and 6, Table 2).

    flatcube run sharper --scale book

Encoders learn PARITY, MAJORITY, FIRST and MEAN of n bits, all with the same number of steps; ``networks`` says what the
rows hold. At book scale they have half of HR's width and see a quarter of its batch; the lengths are 4, 6, 8 and 12,
each with 5 seeds or more for every function, and PARITY of 16 bits shows how often training succeeds at all.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy import stats

from flatcube.experiments import networks
from flatcube.experiments.engine import Experiment
from flatcube.experiments.networks import Trial

__all__ = ["CAST", "LONGEST", "trial", "summary", "gaps", "EXPERIMENT"]

CAST = ("PARITY", "MAJORITY", "FIRST", "MEAN")
LONGEST = 12  # of the lengths that enter a slope: beyond, too few networks converge


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train and measure the networks of a trial."""
    return networks.rows(trial, networks.encoders(trial))


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """Tables of the rows, as computed or as stored.

    ``lengths``: for every function and length the number of ``runs``, how many ``converged``, were left at ``chance``
    or ``diverged``, and the mean, least and largest sharpness of those that converged.
    ``slopes``: the straight line through the sharpness of those that converged, n ≤ 12, as HR Table 2 has it: slope
    per bit with its 95 % interval by Student's t, Pearson's r, p-value of the slope 0.
    """
    rows = networks.last(rows)
    lengths, slopes = [], []
    for function in [name for name in CAST if any(row["function"] == name for row in rows)]:
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
    few, more = ([(seed, 6e-4, 0.1) for seed in range(count)] for count in (5, 7))
    grid = [Trial((function,), n, tuple(few)) for n in (4, 6, 8) for function in CAST]
    grid += [Trial((function,), 12, tuple(more if function == "PARITY" else few)) for function in CAST]
    return [*grid, Trial(("PARITY",), 16, tuple(few[:4]))]


def _paper() -> list[Trial]:
    """HR App. E: width 128, batch 1024, 10,000 steps at 3·10⁻⁴, n = 4 … 30, 10 seeds; no network is given up."""
    options = {"width": 128, "batch": 1024, "steps": 10_000, "schedule": "constant", "chance_after": None}
    each = [(n, function, seed) for n in range(4, 31) for function in CAST for seed in range(10)]
    return [Trial((function,), n, ((seed, 3e-4, 0.1),), **options) for n, function, seed in each]


def _live() -> list[Trial]:
    options = {"width": 16, "batch": 64, "steps": 200, "chance_after": None, "every": 50, "directions": 50}
    return [Trial(CAST, n, ((0, 5e-3, 0.1), (1, 5e-3, 0.1)), **options) for n in (2, 4)]


EXPERIMENT = Experiment(
    name="sharper",
    title="Sharpness of trained encoders against the length of their inputs",
    figures="HR Figs 1, 5, 6, Table 2",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=networks.cost,
    summary=summary,
)
