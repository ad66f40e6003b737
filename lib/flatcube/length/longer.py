"""Sharpness at long inputs, with networks of width 4 (HR Figs 7 and 8).

    flatcube run longer --scale book

Encoders of width 4 learn MAJORITY, FIRST and MEAN of up to 128 bits, all with the same number of steps; ``trials``
says what the rows hold. HR goes to 512 bits with ten seeds and found PARITY out of reach; at book scale PARITY is tried
at 32 bits. Width 4 is far below the 12 L that Theorem 6 asks for.
"""

import math
from collections.abc import Iterable

from scipy import stats

from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.length import forest, sharper
from flatcube.length import trials as networks
from flatcube.length.sharper import summary, trial
from flatcube.length.trials import Trial

__all__ = ["measured", "EXPERIMENT"]

FAR = 200  # bits: HR's "several hundred"
_COMMON = {"width": 4, "chance_after": None, "directions": 50}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """HR-F7 agrees if the slope of MAJORITY is above 0 and above those of FIRST and MEAN, and PARITY alone never fits.

    The slopes of FIRST and MEAN must not be told from 0. MAJORITY must also rise where networks need not scatter alike
    at all lengths: by Welch's interval, in which each length has a scatter of its own, and by Kendall's test on ranks
    (p < 0.05). And PARITY must never fit where most others do. In part, if some of these hold, or all of them, but for
    lengths that are not several hundred.
    """
    tables = summary(rows)
    lines = {line["function"]: line for line in tables["slopes"]}
    level = [lines[name]["low"] <= 0 <= lines[name]["high"] for name in ("FIRST", "MEAN")]
    tried = [line for line in tables["lengths"] if line["function"] == "PARITY"]
    fitted, runs = (sum(line[name] for line in tried) for name in ("converged", "runs"))
    shown = "; ".join(f"{name} {trends.said(line)}" for name, line in lines.items() if name != "PARITY")
    counts = ", ".join(f"{line['function']} {line['converged']} of {line['runs']} at {line['n']}"
                       for line in tables["lengths"] if line["converged"] < line["runs"])  # fmt: skip
    beside = [line for line in tables["lengths"] if line["n"] in {one["n"] for one in tried} and line not in tried]
    alone = runs > 0 and not fitted and bool(beside)
    alone &= all(2 * line["converged"] > line["runs"] for line in beside)
    steeper = {line["function"]: line for line in sharper.gaps(tables["slopes"], of="MAJORITY")}
    rising = [row for row in sharper.fitted(rows) if row["function"] == "MAJORITY"]
    ranks = stats.kendalltau([row["n"] for row in rising], [row["sharpness"] for row in rising])
    own = forest.slope(*([row[name] for row in rising] for name in ("n", "sharpness"))) if rising else {"low": math.nan}
    rises = [lines["MAJORITY"]["low"] > 0, own["low"] > 0, ranks.statistic > 0 and ranks.pvalue < 0.05]
    rules = [*rises, *level, alone, *(steeper[name]["low"] > 0 for name in ("FIRST", "MEAN"))]
    differences = "; ".join(f"{name} {trends.said(steeper[name], 'gap')}" for name in ("FIRST", "MEAN"))
    statement = f"Slopes of sharpness per bit, width 4, with 95 % intervals: {shown}. That of MAJORITY exceeds: "
    if math.isfinite(own["low"]):
        statement += f"{differences}. With a scatter for each length that of MAJORITY is {trends.said(own, 'value')}. "
    else:
        statement += f"{differences}. "
    statement += f"By ranks, up to {lines['MAJORITY']['longest']} bits, Kendall's τ of MAJORITY is "
    statement += f"{ranks.statistic:.2f} (p = {ranks.pvalue:.2g}). Converged, if not all: {counts}."
    verdict = trends.verdict(rules)
    if lines["MAJORITY"]["longest"] < FAR:
        verdict = "agrees in part" if verdict == "agrees" else verdict
        statement += " HR speak of several hundred bits, where ours do not fit."
    return [{"id": "HR-F7", "verdict": verdict, "statement": statement}]


def _draws(seeds: Iterable[int], rate: float) -> tuple[tuple[int, float, float], ...]:
    return tuple((seed, rate, 0.1) for seed in seeds)


def _book() -> list[Trial]:
    options = _COMMON | {"batch": 64, "steps": 2000, "every": 500}
    names = ("MAJORITY", "FIRST", "MEAN")
    grid = [Trial((name,), n, _draws(range(4), 2e-3), **options) for n in (8, 16, 32, 64, 128) for name in names]
    return [*grid, Trial(("PARITY",), 32, _draws(range(2), 2e-3), **options)]


def _paper() -> list[Trial]:
    """HR App. E and the public code: batch 128, 10,000 steps at 3·10⁻⁴, 20 lengths from 4 to 512, 10 seeds."""
    options = _COMMON | {"batch": 128, "steps": 10_000, "schedule": "constant"}
    lengths = [round(4 + 508 * k / 19) for k in range(20)]
    names = ("MAJORITY", "FIRST", "MEAN")
    return [Trial((name,), n, _draws([seed], 3e-4), **options) for n in lengths for name in names for seed in range(10)]


def _live() -> list[Trial]:
    options = _COMMON | {"batch": 32, "steps": 150, "every": 50, "directions": 20}
    return [Trial(("MAJORITY", "FIRST", "MEAN"), n, _draws([0], 1e-2), **options) for n in (4, 16)]


EXPERIMENT = Experiment(
    name="longer",
    version="1",
    title="Sharpness at long inputs, with networks of width 4",
    figures="HR Figs 7, 8",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=networks.cost,
    summary=summary,
    measured=measured,
    resumes=True,
)
