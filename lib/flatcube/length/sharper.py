"""Sharpness of trained encoders against the length of their inputs (HR Figs 1, 5 and 6, Table 2).

    flatcube run sharper --scale book

Encoders learn PARITY, MAJORITY, FIRST and MEAN of n bits, all with the same number of steps; ``trials`` says what the
rows hold. At book scale they have half of HR's width and see a quarter of its batch; the lengths are 4, 6, 8 and 12,
each with 5 seeds or more for every function, and PARITY of 16 bits, with the 10 seeds of HR, shows how often training
succeeds at all.
"""

import math
from collections.abc import Iterable, Iterator

from flatcube import cast
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.length import trials as networks
from flatcube.length.trials import Trial

__all__ = ["trial", "summary", "lengths", "fitted", "gaps", "aged", "PRINTED", "measured", "EXPERIMENT"]


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train and measure the networks of a trial."""
    return networks.rows(trial, networks.encoders(trial))


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``lengths``, and ``slopes``: straight lines through the sharpness of those ``fitted``, as in HR Table 2.

    Each has the number of networks and of those that enter, the longest n among these, the slope per bit with its 95 %
    interval, Pearson's r and the p-value of the slope 0.
    """
    rows = networks.last(rows)
    slopes = []
    for function in [name for name in networks.FUNCTIONS if any(row["function"] == name for row in rows)]:
        kept = [row for row in fitted(rows) if row["function"] == function]
        runs = sum(row["function"] == function for row in rows)
        counts = {"function": function, "runs": runs, "entered": len(kept)}
        counts["longest"] = int(max((row["n"] for row in kept), default=0))
        slopes.append(counts | trends.line([row["n"] for row in kept], [row["sharpness"] for row in kept]))
    return {"lengths": lengths(rows), "slopes": slopes}


def fitted(rows: Iterable[dict]) -> list[dict[str, object]]:
    """The last rows of networks that converged, at lengths at which half or more for their function do.

    Where fewer do, those that do are too much a selection to go on with a line.
    """
    ends = networks.last(rows)
    usual = {(line["function"], line["n"]) for line in lengths(ends) if 2 * line["converged"] >= line["runs"]}
    return [row for row in ends if row["converged"] and (row["function"], row["n"]) in usual]


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


def gaps(slopes: list[dict], of: str = "PARITY") -> list[dict[str, object]]:
    """How much steeper one function's line is than every other's, with an interval and a p-value."""
    lines = {line["function"]: line for line in slopes}
    return [
        {"function": name} | trends.gap(lines[of], other, (lines[of]["entered"] - 2, other["entered"] - 2))
        for name, other in lines.items()
        if name != of
    ]


def aged(rows: Iterable[dict], age: int) -> list[dict[str, object]]:
    """Of every network ``fitted``, its first record ``age`` steps or more after it first reached the goal, if any.

    ``summary`` of these compares networks equally long after they first were right, instead of trained equally long.
    Those of a length share the directions of these records, and with them an error.
    """
    rows = [networks.last([row])[0] for row in rows]
    usual = {_network(row) for row in fitted(rows)}
    found: dict[tuple, dict[str, object]] = {}
    for row in rows:
        if _network(row) in usual and row["step"] >= row["reached"] + age:
            found.setdefault(_network(row), row)
    return list(found.values())


def _network(row: dict) -> tuple:
    return tuple(row[name] for name in ("kind", "function", "n", "seed", "rate", "decay", "width"))


# --- what it says about HR --------------------------------------------------------------------------------------------

PRINTED = {"PARITY": 5.0e-2, "MAJORITY": 1.8e-3, "FIRST": 6.4e-5, "MEAN": -1.9e-5}  # slopes per bit, HR Table 2
_ROWS = {"PARITY": "HR-TAB2-PAR", "MAJORITY": "HR-TAB2-MAJ", "FIRST": "HR-TAB2-FIR", "MEAN": "HR-TAB2-MEAN"}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """Verdicts on HR Figs 1, 5 and 6, Table 2 and two checks of its summary, each with its rule.

    In all intervals each length has a scatter of its own (``trends.own_slope``): the longest scatter most.

    - HR-F1 agrees if the slope of PARITY is above 0 and above that of MAJORITY, which is "almost flat" if it is less
      than a tenth of PARITY's in size wherever in their intervals both are; in part if some of these hold;
    - HR-F5 if at the longest inputs PARITY is 10 times as sharp as all others and its slope above theirs; in part if
      it is sharper;
    - HR-F5b at most in part, since the line is extrapolated: if it is between ½ and 2 at 30 bits;
    - a slope of Table 2 if the interval holds the printed one and, where that is significant, is above 0, otherwise
      holds 0; in part if one of the two is so;
    - HR-TAB2-CAP if the slope of PARITY is 100 times that of all others wherever in their intervals both are, in part
      if of some;
    - HR-SUM-E1 and E2 if all PARITY networks of 8 and of 12 bits are above 1, and all FIRST networks below 0.1; in
      part if some are.

    Where nothing converged, nothing agrees.
    """
    tables = summary(rows)
    lines, steeper = _own(rows, tables["slopes"])
    at = {(line["function"], line["n"]): line for line in tables["lengths"]}
    parity, longest = lines["PARITY"], max(n for name, n in at if name == "MEAN")
    rises, above = parity["low"] > 0, {name: line["low"] > 0 for name, line in steeper.items()}
    times = {name: at["PARITY", longest]["mean"] / at[name, longest]["mean"] for name in steeper}
    shown = "; ".join(f"{name} {trends.said(line)}" for name, line in lines.items())
    differences = "; ".join(f"{name} {trends.said(line, 'gap')}" for name, line in steeper.items())
    grown = {name: at[name, longest]["mean"] / at[name, min(n for _, n in at)]["mean"] for name in cast.NAMES[:2]}
    ahead = _ahead(rows)
    found = [
        ("HR-F1", [rises, above["MAJORITY"], _size(lines["MAJORITY"]) < 0.1 * parity["low"]],
         f"Slopes of sharpness per bit with 95 % intervals, each length with its own scatter: {shown}. The slope "
         f"of PARITY exceeds the others by: {differences}. Up to {longest} bits PARITY grows {grown['PARITY']:.1f} "
         f"times, MAJORITY {grown['MAJORITY']:.1f} times."),
        ("HR-F5", [all(ratio > 10 for ratio in times.values()) and all(above.values()),
                   all(ratio > 1 for ratio in times.values())],
         f"At {longest} bits, with targets ±1, PARITY is "
         + ", ".join(f"{ratio:.1f} times as sharp as {name}" for name, ratio in times.items())
         + f". Its slope exceeds the others by: {differences}."),
        ("HR-F5b", [False, 0.5 < ahead["value"] < 2], f"The line through PARITY's sharpness up to {parity['longest']} "
         f"bits is at {trends.said(ahead, 'value')} at 30 bits; none was trained there."),
    ]  # fmt: skip
    found += [*_table(lines, steeper), *_levels(at)]
    return [{"id": claim, "verdict": trends.verdict(rules), "statement": said} for claim, rules, said in found]


def _own(rows: list[dict], slopes: list[dict]) -> tuple[dict[str, dict], dict[str, dict]]:
    """The slopes, and by how much PARITY's exceeds each other, in which each length has a scatter of its own.

    Where a function has no line, its intervals are not numbers.
    """
    kept, points, nothing = fitted(rows), {}, dict.fromkeys(("value", "low", "high"), math.nan)
    for name in (line["function"] for line in slopes):
        mine = [row for row in kept if row["function"] == name]
        points[name] = [row["n"] for row in mine], [row["sharpness"] for row in mine]
    there = {name for name, (x, _) in points.items() if len(set(x)) > 1}
    lines, steeper = {}, {}
    for line in slopes:
        name = line["function"]
        own = trends.own_slope(*points[name]) if name in there else nothing
        lines[name] = line | {"low": own["low"], "high": own["high"]}
        if name != "PARITY":
            own = trends.own_gap(points["PARITY"], points[name]) if {"PARITY", name} <= there else nothing
            steeper[name] = {"gap": own["value"], "low": own["low"], "high": own["high"]}
    return lines, steeper


def _table(lines: dict[str, dict], others: Iterable[str]) -> Iterator[tuple[str, list[bool], str]]:
    """What there is to say of HR Table 2: claim, rules, statement."""
    for name, line in lines.items():
        holds = line["low"] <= PRINTED[name] <= line["high"]
        holds_too = line["low"] <= 0 <= line["high"] if name == "MEAN" else line["low"] > 0  # not significant in print
        said = f"Slope {trends.said(line)} per bit, each length with its own scatter, r = {line['r']:.2f}; "
        said += f"{line['entered']} runs."
        yield _ROWS[name], [holds, holds_too], said
    parity = lines["PARITY"]
    least = {name: parity["low"] / _size(lines[name]) for name in others}
    shown = ", ".join(f"{name} {parity['slope'] / abs(lines[name]['slope']):.2g} (at least {ratio:.2g})"
                      for name, ratio in least.items())  # fmt: skip
    said = f"The slope of PARITY, divided by the size of the others' (and at least, by the intervals): {shown}."
    yield "HR-TAB2-CAP", [ratio >= 100 for ratio in least.values()], said


def _levels(at: dict[tuple[str, int], dict]) -> Iterator[tuple[str, list[bool], str]]:
    """What there is to say of how sharp PARITY and FIRST are: claim, rules, statement."""
    for claim, name, right in (("HR-SUM-E1", "PARITY", lambda v: v > 1), ("HR-SUM-E2", "FIRST", lambda v: v < 0.1)):
        ends = [at[name, n][end] if (name, n) in at else math.nan for n in (8, 12) for end in ("least", "most")]
        said = f"{name} of 8 and 12 bits has a sharpness from {min(ends):.2g} to {max(ends):.2g} where it converged."
        yield claim, [all(map(right, ends)), any(map(right, ends))], said


def _size(line: dict[str, float]) -> float:
    """The largest size of a slope in its interval."""
    return max(abs(line["low"]), abs(line["high"]))


def _ahead(rows: list[dict], n: int = 30) -> dict[str, float]:
    """The line through PARITY's sharpness at n bits."""
    kept = [row for row in fitted(rows) if row["function"] == "PARITY"]
    return trends.forecast([row["n"] for row in kept], [row["sharpness"] for row in kept], n)


# --- the grids --------------------------------------------------------------------------------------------------------


def _book() -> list[Trial]:
    few, more, rest = ([(seed, 6e-4, 0.1) for seed in seeds] for seeds in (range(5), range(7), range(5, 10)))
    grid = [Trial((function,), n, tuple(few)) for n in (4, 6, 8) for function in cast.NAMES]
    grid += [Trial((function,), 12, tuple(more if function == "PARITY" else few)) for function in cast.NAMES]
    return [*grid, *(Trial(("PARITY",), 16, tuple(draws)) for draws in (few, rest))]


def _paper() -> list[Trial]:
    """HR App. E: width 128, batch 1024, 10,000 steps at 3·10⁻⁴, n = 4 … 30, 10 seeds; no network is given up."""
    options = {"width": 128, "batch": 1024, "steps": 10_000, "schedule": "constant", "chance_after": None}
    each = [(n, function, seed) for n in range(4, 31) for function in cast.NAMES for seed in range(10)]
    return [Trial((function,), n, ((seed, 3e-4, 0.1),), **options) for n, function, seed in each]


def _live() -> list[Trial]:
    options = {"width": 16, "batch": 64, "steps": 200, "chance_after": None, "every": 50, "directions": 50}
    return [Trial(cast.NAMES, n, ((0, 5e-3, 0.1), (1, 5e-3, 0.1)), **options) for n in (2, 4)]


EXPERIMENT = Experiment(
    name="sharper",
    version="1",
    title="Sharpness of trained encoders against the length of their inputs",
    figures="HR Figs 1, 5, 6, Table 2",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=networks.cost,
    summary=summary,
    measured=measured,
    resumes=True,
)
