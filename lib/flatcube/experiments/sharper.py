"""Sharpness of trained encoders against the length of their inputs (HR Figs 1, 5 and 6, Table 2).

    flatcube run sharper --scale book

Encoders learn PARITY, MAJORITY, FIRST and MEAN of n bits, all with the same number of steps; ``networks`` says what the
rows hold. At book scale they have half of HR's width and see a quarter of its batch; the lengths are 4, 8 and 12,
each with 5 seeds or more for every function, and PARITY of 16 bits shows how often training succeeds at all.
"""

from collections.abc import Iterable

from flatcube.experiments import networks, trends
from flatcube.experiments.engine import Experiment
from flatcube.experiments.networks import Trial

__all__ = ["CAST", "LONGEST", "trial", "summary", "lengths", "gaps", "EXPERIMENT"]

CAST = ("PARITY", "MAJORITY", "FIRST", "MEAN")
LONGEST = 12  # of the lengths that enter a slope: beyond, too few networks converge


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train and measure the networks of a trial."""
    return networks.rows(trial, networks.encoders(trial))


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict], longest: float = LONGEST) -> dict[str, list[dict[str, object]]]:
    """``lengths``, and ``slopes``: straight lines through the sharpness of those that converged, as in HR Table 2.

    Each has, over n ≤ ``longest``, the slope per bit with its 95 % interval, Pearson's r, the p-value of the slope 0.
    """
    rows = networks.last(rows)
    slopes = []
    for function in [name for name in networks.FUNCTIONS if any(row["function"] == name for row in rows)]:
        mine = [row for row in rows if row["function"] == function and row["n"] <= longest]
        slopes.append({"function": function} | _line(mine))
    return {"lengths": lengths(rows), "slopes": slopes}


def lengths(rows: Iterable[dict]) -> list[dict[str, object]]:
    """For every function and length the number of runs, how many converged, were left at chance or diverged.

    With them the mean, least and largest sharpness of those that converged.
    """
    found: dict[tuple[str, float], list] = {}
    for row in networks.last(rows):
        found.setdefault((row["function"], row["n"]), []).append(row)
    order = list(networks.FUNCTIONS)
    return [_at(*key, found[key]) for key in sorted(found, key=lambda key: (order.index(key[0]), key[1]))]


def _at(function: str, n: float, rows: list[dict]) -> dict[str, object]:
    values = [row["sharpness"] for row in rows if row["converged"]]
    counts = {name: sum(row["reason"] == name for row in rows) for name in ("chance", "diverged")}
    counts = {"function": function, "n": int(n), "runs": len(rows), "converged": len(values), **counts}
    return counts | trends.spread(values)


def _line(rows: list[dict]) -> dict[str, float]:
    kept = [row for row in rows if row["converged"]]
    found = trends.line([row["n"] for row in kept], [row["sharpness"] for row in kept])
    return {"runs": len(rows), "converged": len(kept)} | found


def gaps(slopes: list[dict], of: str = "PARITY") -> list[dict[str, object]]:
    """How much steeper one function's line is than every other's, with an interval and a p-value."""
    lines = {line["function"]: line for line in slopes}
    return [
        {"function": name}
        | trends.gap(lines[of], other, (lines[of]["converged"] - 2, other["converged"] - 2))
        for name, other in lines.items()
        if name != of
    ]


# --- the grids --------------------------------------------------------------------------------------------------------


def _book() -> list[Trial]:
    few, more = ([(seed, 6e-4, 0.1) for seed in range(count)] for count in (5, 7))
    grid = [Trial((function,), n, tuple(few)) for n in (4, 8) for function in CAST]
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
