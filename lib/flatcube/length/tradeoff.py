"""Norm against blow-up: what networks with many learning rates and weight decays settle on (HR Figs 2, 9 and 10).

    flatcube run tradeoff --scale book

Encoders learn the cast at several lengths, each network with a learning rate and a weight decay of its own, drawn
uniformly; ``trials`` says what the rows hold. HR draws rates from 1·10⁻⁴ to 5·10⁻⁴ and decays from 0 to 0.4 for
10,000 steps. At book scale there are 5,000 steps, so the rates are higher, 5·10⁻⁴ to 1.5·10⁻³; the lengths are 5, 8
and 11, the width 32. Beyond the paper, HALF (the PARITY of the first half of the bits) is learnt at 4, 6 and 8 bits:
at 12, ``variants`` leaves it at chance.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy import stats

from flatcube import cast
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.length import sharper
from flatcube.length import trials as networks
from flatcube.length.sharper import trial
from flatcube.length.trials import Trial

__all__ = ["summary", "level", "measured", "EXPERIMENT"]


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``lines``: for every function and length, log blow-up against norm over the networks that converged.

    ``planes``: for every function, log blow-up = a + b · norm + c · n by least squares: ``c`` is how far the frontier
    moves up with each bit at equal norm, with its 95 % interval, standard error and p-value.
    """
    kept = [row for row in networks.last(rows) if row["converged"]]
    lines, planes = [], []
    for function in [name for name in networks.FUNCTIONS if any(row["function"] == name for row in kept)]:
        mine = [row for row in kept if row["function"] == function]
        for n in sorted({row["n"] for row in mine}):
            some = [row for row in mine if row["n"] == n]
            found = trends.line([row["norm"] for row in some], [row["blowup"] for row in some])
            lines.append({"function": function, "n": int(n), "converged": len(some)} | found)
        planes.append({"function": function, "converged": len(mine)} | _shift(mine))
    return {"lengths": sharper.lengths(rows), "lines": lines, "planes": planes}


def _shift(rows: list[dict], confidence: float = 0.95) -> dict[str, float]:
    """c of log blow-up = a + b · norm + c · n by least squares, with its interval, standard error and p-value."""
    design = np.array([[1.0, row["norm"], row["n"]] for row in rows])
    y = np.array([row["blowup"] for row in rows])
    if np.linalg.matrix_rank(design) < 3 or len(rows) < 4:
        return dict.fromkeys(("b", "c", "low", "high", "error", "p"), math.nan)
    best, free = np.linalg.lstsq(design, y)[0], len(rows) - 3
    variance = ((y - design @ best) ** 2).sum() / free
    error = math.sqrt(variance * np.linalg.inv(design.T @ design)[2, 2])
    half, p = stats.t.ppf((1 + confidence) / 2, free) * error, 2 * stats.t.sf(abs(best[2]) / error, free)
    found = {"b": best[1], "c": best[2], "low": best[2] - half, "high": best[2] + half, "error": error, "p": p}
    return {name: float(value) for name, value in found.items()}


def level(rows: list[dict], n: float) -> dict[str, float]:
    """By how much PARITY's norm exceeds the others' at length n and equal log blow-up: a line in the latter for all."""
    some = [row for row in rows if row["n"] == n]
    swapped = [{"norm": row["blowup"], "n": float(row["function"] == "PARITY"), "blowup": row["norm"]} for row in some]
    return _shift(swapped)


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """Verdicts on HR Figs 2, 9 and 10 and an open question of its summary, each with its rule.

    - HR-F2 agrees if log blow-up falls with the norm at every length, with the whole interval, and the frontier of
      PARITY moves up with n at equal norm; in part if one of these holds;
    - HR-F9 likewise for the others, whose frontiers must not be told from level, and rise less than PARITY's (Welch);
    - HR-F10 if PARITY's norm at equal blow-up is above the others' at the longest inputs, and not told from it at the
      shortest; in part if one of these holds;
    - HR-SUM-OQ1 asks whether the frontier moves for other sensitive functions, random ones too, which were not tried:
      so it agrees at most in part, if that of HALF moves up with n at equal norm, with the whole interval.
    """
    tables, kept = summary(rows), [row for row in networks.last(rows) if row["converged"]]
    planes = {line["function"]: line for line in tables["planes"]}
    if not planes.keys() >= set(cast.NAMES):
        missing = ", ".join(name for name in cast.NAMES if name not in planes)
        raise ValueError(f"rows: expected networks that converged for every function, got none for {missing}")
    falls = {name: _falls(tables, name) for name in planes}
    moves = "; ".join(f"{name} {trends.said(line, 'c')}" for name, line in planes.items())
    slopes = "; ".join(f"{line['function']} at {line['n']} bits {trends.said(line)}" for line in tables["lines"])
    kept = [row for row in kept if row["function"] in cast.NAMES]
    others, lengths = cast.NAMES[1:], sorted({row["n"] for row in kept})
    first, final = level(kept, lengths[0]), level(kept, lengths[-1])
    moved = f"Log blow-up per bit at equal norm: {moves}."
    less = {name: _steeper(planes["PARITY"], planes[name]) for name in others}
    exceeds = "; ".join(f"{name} {trends.said(line, 'gap')}" for name, line in less.items())
    found = [
        ("HR-F2", [falls["PARITY"], planes["PARITY"]["low"] > 0], f"{moved} Slopes against the norm: {slopes}."),
        ("HR-F9", [all(falls[name] for name in others),
                   all(planes[name]["low"] <= 0 <= planes[name]["high"] for name in others),
                   all(line["low"] > 0 for line in less.values())], f"{moved} PARITY's exceeds: {exceeds}."),
        ("HR-F10", [final["low"] > 0, first["low"] <= 0 <= first["high"]], "At equal blow-up the norm of PARITY "
         f"exceeds that of the others by {trends.said(first, 'c')} at {lengths[0]:.0f} bits, {trends.said(final, 'c')} "
         f"at {lengths[-1]:.0f}."),
    ]  # fmt: skip
    if half := planes.get("HALF"):
        said = f"Log blow-up per bit at equal norm: parity of half of the bits {trends.said(half, 'c')}, p = "
        said += f"{half['p']:.2g}, from {half['converged']} networks; PARITY {trends.said(planes['PARITY'], 'c')}."
        found.append(("HR-SUM-OQ1", [half["low"] > 0, False], said))
    return [{"id": claim, "verdict": trends.verdict(rules), "statement": said} for claim, rules, said in found]


def _falls(tables: dict[str, list[dict]], function: str) -> bool:
    """Does log blow-up fall with the norm at every length that was tried, with the whole interval?"""
    tried = {line["n"] for line in tables["lengths"] if line["function"] == function}
    found = {line["n"]: line["high"] < 0 for line in tables["lines"] if line["function"] == function}
    return all(found.get(n, False) for n in tried)


def _steeper(one: dict, other: dict) -> dict[str, float]:
    """How much faster one frontier moves up than another."""
    sides = [{"slope": plane["c"], "error": plane["error"]} for plane in (one, other)]
    return trends.gap(*sides, (one["converged"] - 3, other["converged"] - 3))


def _draws(seeds: range, low: float, high: float, n: int) -> tuple[tuple[int, float, float], ...]:
    rng = np.random.default_rng(n)
    drawn = [(seed, rng.uniform(low, high), rng.uniform(0, 0.4)) for seed in seeds]
    return tuple((seed, round(rate, 6), round(decay, 3)) for seed, rate, decay in drawn)


def _book() -> list[Trial]:
    options = {"width": 32, "batch": 256, "steps": 5000, "chance_after": 4000, "every": 500}
    counts = {"PARITY": 12, "MAJORITY": 6, "FIRST": 6, "MEAN": 6}
    grid = [(function, n, count) for n in (5, 8, 11) for function, count in counts.items()]
    grid += [("HALF", n, 10) for n in (4, 6, 8)]
    return [Trial((name,), n, _draws(range(count), 5e-4, 1.5e-3, n), **options) for name, n, count in grid]


def _paper() -> list[Trial]:
    """HR App. E: width 128, batch 1024, 10,000 steps, n = 4 … 20; the number of networks is ours."""
    options = {"width": 128, "batch": 1024, "steps": 10_000, "schedule": "constant", "chance_after": None}
    drawn = [(n, draw) for n in range(4, 21) for draw in _draws(range(20), 1e-4, 5e-4, n)]
    return [Trial((function,), n, (draw,), **options) for function in (*cast.NAMES, "HALF") for n, draw in drawn]


def _live() -> list[Trial]:
    options = {"width": 16, "batch": 64, "steps": 150, "chance_after": None, "every": 150, "directions": 20}
    return [Trial(("PARITY", "FIRST"), n, _draws(range(3), 5e-3, 8e-3, n), **options) for n in (2, 3)]


EXPERIMENT = Experiment(
    name="tradeoff",
    version="1",
    title="Norm against blow-up over learning rates and weight decays",
    figures="HR Figs 2, 9, 10",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=networks.cost,
    summary=summary,
    measured=measured,
    resumes=True,
)
