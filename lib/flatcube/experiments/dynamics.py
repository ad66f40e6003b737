"""Loss, sharpness, norm and blow-up along training, at several weight decays (HR Figs 3, 12, 13 and 14).

    flatcube run dynamics --scale book

Encoders learn PARITY at a constant rate with weight decays 0, 0.1, 0.2 and 0.3, and MAJORITY and FIRST with two of
them for comparison; ``networks`` says what the rows hold. Networks with the same seed begin alike and meet the same
batches, whatever their decay. HR has 25 bits, width 128 and up to 100,000 steps; at book scale there are 8 bits, width
32 and 10,000 steps.
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from scipy import stats

from flatcube.experiments import networks, trends
from flatcube.experiments.engine import Experiment
from flatcube.experiments.networks import Trial
from flatcube.experiments.sharper import CAST, trial

__all__ = ["DECAYS", "curves", "summary", "measured", "EXPERIMENT"]

DECAYS = (0.0, 0.1, 0.2, 0.3)
_SETTLED = 0.25  # the last quarter of the steps counts as late


def curves(rows: Iterable[dict]) -> list[list[dict[str, object]]]:
    """The rows of every network by itself, in the order of the steps, numbers as numbers."""
    found: dict[tuple, list] = {}
    for row in rows:
        (kept,) = networks.last([row])
        found.setdefault((kept["function"], kept["n"], kept["seed"], kept["decay"]), []).append(kept)
    return list(found.values())


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: for each that converged, what HR says of Figs 3 and 12 to 14.

    ``drop`` is the step at which the error falls most, on a log scale, between two evaluations, ``jump`` that at which
    sharpness rises most; ``before``, ``peak`` and ``late`` are sharpness ahead of the drop, its largest value, and its
    mean over the last quarter; ``norm`` and ``blowup`` their changes from the step that first reached the goal to the
    end; ``slope`` that of log blow-up against norm on this way (Fig. 14), with its r.
    ``decays``: for every function and decay, the means of these over networks.
    ``coincidence``: Spearman's correlation of drop and jump over the networks that learn PARITY, with its p-value.
    """
    rows = list(rows)
    found = [_described(curve) for curve in curves(rows) if curve[-1]["converged"] and curve[-1]["reached"] >= 0]
    means = []
    for function in CAST:
        for decay in DECAYS:
            some = [one for one in found if (one["function"], one["decay"]) == (function, decay)]
            names = ("before", "peak", "late", "norm", "blowup", "slope")
            values = {name: float(np.mean([one[name] for one in some])) for name in names if some}
            means += [{"function": function, "decay": decay, "networks": len(some)} | values] if some else []
    parity = [one for one in found if one["function"] == "PARITY"]
    return {"networks": found, "decays": means, "coincidence": [_coincidence(parity)]}


def _described(curve: list[dict]) -> dict[str, object]:
    ends = [row for row in curve if row["step"] >= (1 - _SETTLED) * row["steps"]]
    falls = [(np.log(a["error"] / b["error"]), b["step"]) for a, b in pairwise(curve)]
    rises = [(b["sharpness"] - a["sharpness"], b["step"]) for a, b in pairwise(curve)]
    drop, jump = max(falls)[1], max(rises)[1]
    before = [row["sharpness"] for row in curve if 0 < row["step"] < drop] or [curve[0]["sharpness"]]
    way = [row for row in curve if row["step"] >= row["reached"]]
    path = trends.line([row["norm"] for row in way], [row["blowup"] for row in way])
    names = ("function", "n", "seed", "decay", "reached")
    return {name: curve[-1][name] for name in names} | {
        "drop": drop, "jump": jump, "before": before[-1], "peak": max(row["sharpness"] for row in curve),
        "late": float(np.mean([row["sharpness"] for row in ends])),
        "norm": way[-1]["norm"] - way[0]["norm"], "blowup": way[-1]["blowup"] - way[0]["blowup"],
        "slope": path["slope"], "r": path["r"],
    }  # fmt: skip


def _coincidence(found: list[dict]) -> dict[str, float]:
    pairs = [(one["drop"], one["jump"]) for one in found]
    some = len({drop for drop, _ in pairs}) > 2 and len({jump for _, jump in pairs}) > 1
    rank = stats.spearmanr(*zip(*pairs, strict=True)) if some else (np.nan, np.nan)
    away = [abs(jump - drop) for drop, jump in pairs]
    return {"networks": len(pairs), "r": float(rank[0]), "p": float(rank[1]),
            "apart": float(np.median(away)) if away else np.nan}  # fmt: skip


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """Verdicts on HR Figs 3, 12, 13 and 14 and a check of its summary, each with its rule, over networks of PARITY.

    - HR-F3 agrees if in most networks drop and jump are at most two evaluations apart, sharpness more than doubles, and
      its late mean is below the peak; in part if some of these hold;
    - HR-F12 and HR-SUM-E3 if with decay the norm falls and blow-up rises in all networks after the goal is reached;
      the former also asks that sharpness changes by less than a half from peak to late;
    - HR-F13 if late sharpness is lower without decay than with 0.1 (Mann and Whitney, p < 0.05), and above 3 times that
      of MAJORITY and FIRST in the mean; in part if one of these holds;
    - HR-F14 if with decay the way in norm and log blow-up has r < −0.9 in all networks, in part if in most.
    """
    tables = summary(rows)
    found = [one for one in tables["networks"] if one["function"] == "PARITY"]
    others = [one for one in tables["networks"] if one["function"] != "PARITY"]
    step = sorted({float(row["step"]) for row in rows})[1]
    near = [abs(one["jump"] - one["drop"]) <= 2 * step for one in found]
    rise, decayed = [one["peak"] / one["before"] for one in found], [one for one in found if one["decay"] > 0]
    traded = [one["norm"] < 0 < one["blowup"] for one in decayed]
    late = {decay: [one["late"] for one in found if one["decay"] == decay] for decay in DECAYS}
    test = stats.mannwhitneyu(late[0.0], late[0.1], alternative="less") if late[0.0] and late[0.1] else None
    far = np.mean([one["late"] for one in found]) / np.mean([one["late"] for one in others])
    straight = [one["r"] < -0.9 for one in decayed]
    shown = ", ".join(f"{decay:g}: {np.mean(values):.2g}" for decay, values in late.items() if values)
    fallen = [1 - one["late"] / one["peak"] for one in found]
    said = f"With decay, after the goal, norm falls and blow-up rises in {sum(traded)} of {len(traded)} networks."
    verdicts = [
        ("HR-F3", [np.mean(near) > 0.5, np.median(rise) > 2, np.median(fallen) > 0], f"Drop and jump are at most "
         f"{2 * step:.0f} steps apart in {sum(near)} of {len(near)} networks. From before the drop to the peak "
         f"sharpness rises {np.median(rise):.1f} times; late it is {100 * np.median(fallen):.0f} % lower (medians)."),
        ("HR-F12", [all(traded), np.median(fallen) < 0.5], f"{said} Late sharpness by decay: {shown}."),
        ("HR-SUM-E3", [all(traded)], said),
        ("HR-F13", [test is not None and test.pvalue < 0.05, far > 3], f"Late sharpness by decay: {shown}; 0 below 0.1 "
         f"with p = {test.pvalue if test else np.nan:.2g}. PARITY is {far:.1f} times as sharp as MAJORITY and FIRST."),
        ("HR-F14", [all(straight), np.mean(straight) > 0.5], "With decay, after the goal, r of log "
         f"blow-up and norm has the median {np.median([one['r'] for one in decayed]):.2f} and is below −0.9 in "
         f"{sum(straight)} of {len(straight)} networks."),
    ]  # fmt: skip
    return [{"id": claim, "verdict": trends.verdict(rules), "statement": said} for claim, rules, said in verdicts]


def _draws(rate: float, decays: Iterable[float], seeds: int) -> tuple[tuple[int, float, float], ...]:
    return tuple((seed, rate, decay) for decay in decays for seed in range(seeds))


def _book() -> list[Trial]:
    options = {"width": 32, "batch": 128, "steps": 10_000, "schedule": "constant", "chance_after": None, "every": 200}
    grid = [Trial(("PARITY",), 8, _draws(1e-3, [decay], 4), **options) for decay in DECAYS]
    return grid + [Trial((name,), 8, _draws(1e-3, DECAYS[:2], 2), **options) for name in ("MAJORITY", "FIRST")]


def _paper() -> list[Trial]:
    """HR App. E: 25 bits, width 128, batch 1024, 100,000 steps at 3·10⁻⁴; 39 runs."""
    options = {"width": 128, "batch": 1024, "steps": 100_000, "schedule": "constant", "chance_after": None}
    return [Trial(("PARITY",), 25, (draw,), every=100, **options) for draw in _draws(3e-4, DECAYS, 39)]


def _live() -> list[Trial]:
    options = {"width": 16, "batch": 64, "steps": 400, "schedule": "constant", "chance_after": None, "every": 40}
    return [Trial(("PARITY", "FIRST"), 3, _draws(5e-3, DECAYS[:2], 2), directions=20, **options)]


EXPERIMENT = Experiment(
    name="dynamics",
    title="Loss, sharpness, norm and blow-up along training",
    figures="HR Figs 3, 12, 13, 14",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=networks.cost,
    summary=summary,
    measured=measured,
)
