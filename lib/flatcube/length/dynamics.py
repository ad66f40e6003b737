"""Loss, sharpness, norm and blow-up along training, at several weight decays (HR Figs 3, 12, 13 and 14).

    flatcube run dynamics --scale book

Encoders learn PARITY at a constant rate with weight decays 0, 0.1, 0.2 and 0.3, and MAJORITY and FIRST with two of
them for comparison; ``trials`` says what the rows hold. Networks with the same seed begin alike and meet the same
batches, whatever their decay. HR has 25 bits, width 128 and up to 100,000 steps; at book scale there are 8 bits, width
32 and 10,000 steps.
"""

from collections.abc import Iterable

import numpy as np
from scipy import stats

from flatcube import cast
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.length import trials as networks
from flatcube.length.sharper import trial
from flatcube.length.trials import Trial

__all__ = ["curves", "summary", "measured", "EXPERIMENT"]

_DECAYS = (0.0, 0.1, 0.2, 0.3)
_LATE = 10  # evaluations that count as late


def curves(rows: Iterable[dict]) -> list[list[dict[str, object]]]:
    """The rows of every network by itself, in the order of the steps, numbers as numbers."""
    found: dict[tuple, list] = {}
    for row in rows:
        (kept,) = networks.last([row])
        found.setdefault((kept["function"], kept["n"], kept["seed"], kept["decay"]), []).append(kept)
    return list(found.values())


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: what HR's Figs 3 and 12 to 14 show, of each that reached the goal.

    ``before`` and ``after`` are sharpness at the last evaluation with an error above ½ ahead of the goal, and at the
    first one below ⅒; ``late`` is its mean over the last ten evaluations with an error below 10⁻², ``peak`` the largest
    of those. ``norm`` and ``blowup`` are changes from the goal to the last of these evaluations, ``slope`` and ``r``
    belong to log blow-up against norm on this way; ``whole`` is the same correlation over all records from the goal on.
    ``kept`` says whether the error is below 10⁻³ in the very last record, ``lost`` whether it is above ½ in any record
    after the goal; ``error`` is that of the last record. A network that finds back is both lost and kept.
    ``decays``: for every function and decay, the means of these over networks, and how many ``kept`` or ``lost``.
    """
    found = [_described(curve) for curve in curves(rows) if curve[-1]["reached"] >= 0]
    means = []
    for function in cast.NAMES:
        for decay in _DECAYS:
            some = [one for one in found if (one["function"], one["decay"]) == (function, decay)]
            names = ("before", "after", "peak", "late", "norm", "blowup", "slope")
            values = {name: float(np.mean([one[name] for one in some])) for name in names if some}
            counts = {"networks": len(some)} | {name: sum(one[name] for one in some) for name in ("kept", "lost")}
            means += [{"function": function, "decay": decay} | counts | values] if some else []
    return {"networks": found, "decays": means}


def _described(curve: list[dict]) -> dict[str, object]:
    end, reached = curve[-1], curve[-1]["reached"]
    ahead = [row for row in curve if row["step"] <= reached]
    high = [row["sharpness"] for row in ahead if row["error"] > 0.5] or [curve[0]["sharpness"]]
    low = next(row["sharpness"] for row in ahead if row["error"] < 0.1)
    since = [row for row in curve if row["step"] >= reached]
    way = [row for row in since if row["error"] < 1e-2]
    path, whole = (trends.line([row["norm"] for row in some], [row["blowup"] for row in some]) for some in (way, since))
    return {name: end[name] for name in ("function", "n", "seed", "decay", "reached")} | {
        "kept": int(end["converged"]), "lost": int(any(row["error"] > 0.5 for row in since)), "error": end["error"],
        "before": high[-1], "after": low, "peak": max(row["sharpness"] for row in way),
        "late": float(np.mean([row["sharpness"] for row in way[-_LATE:]])),
        "norm": way[-1]["norm"] - way[0]["norm"], "blowup": way[-1]["blowup"] - way[0]["blowup"],
        "slope": path["slope"], "r": path["r"], "whole": whole["r"],
    }  # fmt: skip


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """Verdicts on HR Figs 3, 12, 13 and 14 and a check of its summary, each with its rule, over networks of PARITY.

    - HR-F3 agrees if sharpness rises from before to after the fall of the error in all networks, at least doubles in
      the median, and with HR's decay 0.1 is lower late than just after in most; in part if some of these hold;
    - HR-F12 and HR-SUM-E3 if with decay the norm falls and blow-up rises in all networks from the goal to the last
      record with an error below 10⁻²; the former also asks that sharpness changes by less than a factor 2 on this way,
      in the median;
    - HR-F13 if late sharpness is lower without decay than with 0.1 (Mann and Whitney, p < 0.05), and above 3 times that
      of MAJORITY and FIRST in the mean; in part if one of these holds. (The two share seeds, which the test does not
      use: a test of pairs could not reach this level with four of them.)
    - HR-F14 if with decay the way in norm and log blow-up, over the records from the goal on with an error below 10⁻²,
      has r < −0.9 in all networks, in part if in most.
    """
    every = summary(rows)["networks"]
    found = [one for one in every if one["function"] == "PARITY"]
    known = {(one["function"] == "PARITY", one["decay"]) for one in every}
    if not known >= {(True, 0.0), (True, 0.1), (False, 0.0)}:
        raise ValueError("rows: expected networks that learnt PARITY with decay 0 and 0.1, and others, got fewer")
    late = {decay: [one["late"] for one in found if one["decay"] == decay] for decay in _DECAYS}
    shown = ", ".join(f"{decay:g}: {np.mean(values):.2g}" for decay, values in late.items() if values)
    plain = [one["late"] for one in every if one["function"] != "PARITY" and one["decay"] == 0]
    traded, said = _traded(found)
    change, how = _change(found)
    verdicts = {
        "HR-F3": _rise(found),
        "HR-F12": ([traded, change], f"{said} {how} Late sharpness by decay: {shown}. {_lost(found)}"),
        "HR-SUM-E3": ([traded], said),
        "HR-F13": _sharper(late, plain, shown),
        "HR-F14": _straight(found),
    }
    return [{"id": claim, "verdict": trends.verdict(rules), "statement": words}
            for claim, (rules, words) in verdicts.items()]  # fmt: skip


Rule = tuple[list[bool], str]  # what holds, and the numbers in words


def _decayed(found: list[dict]) -> list[dict]:
    return [one for one in found if one["decay"] > 0]


def _rise(found: list[dict]) -> Rule:
    rise = [one["after"] / one["before"] for one in found]
    fallen = [one["late"] < one["after"] for one in found if one["decay"] == _DECAYS[1]]
    return [min(rise) > 1, np.median(rise) >= 2, 2 * sum(fallen) > len(fallen)], (
        f"When the error falls from above 1/2 to below 1/10, sharpness rises in {sum(ratio > 1 for ratio in rise)} of "
        f"{len(rise)} networks ({len({one['seed'] for one in found})} seeds at {len(_DECAYS)} decays), "
        f"{np.median(rise):.1f} times in the median. With decay "
        f"{_DECAYS[1]:g} it is lower late in training than just after in {sum(fallen)} of {len(fallen)}."
    )


def _traded(found: list[dict]) -> tuple[bool, str]:
    traded = [one["norm"] < 0 < one["blowup"] for one in _decayed(found)]
    return bool(traded) and all(traded), (
        f"With decay, norm falls and blow-up rises in {sum(traded)} of {len(traded)} networks from the goal to the "
        "last record with an error below 0.01."
    )


def _change(found: list[dict]) -> tuple[bool, str]:
    grown = {decay: [one["late"] / one["after"] for one in found if one["decay"] == decay] for decay in _DECAYS[1:]}
    change = np.median([ratio for values in grown.values() for ratio in values])
    times = ", ".join(f"{np.median(values):.2g} times with {decay:g}" for decay, values in grown.items() if values)
    return 0.5 < change < 2, (
        f"From the fall of the error to late in training sharpness changes {change:.1f} times ({times}; medians)."
    )


def _sharper(late: dict[float, list[float]], plain: list[float], shown: str) -> Rule:
    lower = stats.mannwhitneyu(late[0.0], late[0.1], alternative="less").pvalue
    far = np.mean(late[0.0]) / np.mean(plain)
    return [lower < 0.05, far > 3], (
        f"Late sharpness by decay: {shown}; 0 below 0.1 with p = {lower:.2g} (Mann and Whitney, one-sided). Without "
        f"decay PARITY is {far:.1f} times as sharp as MAJORITY and FIRST."
    )


def _straight(found: list[dict]) -> Rule:
    near, whole = ([one[name] for one in _decayed(found)] for name in ("r", "whole"))
    below, after = (sum(r < -0.9 for r in some) for some in (near, whole))
    return [bool(near) and below == len(near), 2 * below > len(near)], (
        "With decay, from the goal on and while the error is below 0.01, r of log blow-up and norm "
        f"has the median {np.median(near):.2f} and is below −0.9 in {below} of {len(near)} networks. Over all records "
        f"to the end it has the median {np.median(whole):.2f} and is below −0.9 in {after}."
    )


def _lost(networks: list[dict]) -> str:
    """How many networks lose what they learnt, for every decay: at the end, and on the way."""
    rules = {
        "The last record has an error above 0.001 in ": lambda one: not one["kept"],
        "above 1/2 in ": lambda one: one["error"] > 0.5,
        "any record after the goal has one above 1/2 in ": lambda one: one["lost"],
    }
    counts = {said: {d: sum(map(bad, (one for one in networks if one["decay"] == d))) for d in _DECAYS}
              for said, bad in rules.items()}  # fmt: skip
    return (
        "; ".join(
            said + ", ".join(f"{count} with {decay:g}" for decay, count in some.items())
            for said, some in counts.items()
        )
        + "."
    )


def _draws(rate: float, decays: Iterable[float], seeds: int) -> tuple[tuple[int, float, float], ...]:
    return tuple((seed, rate, decay) for decay in decays for seed in range(seeds))


def _book() -> list[Trial]:
    options = {"width": 32, "batch": 128, "steps": 10_000, "schedule": "constant", "chance_after": None, "every": 200}
    grid = [Trial(("PARITY",), 8, _draws(1e-3, [decay], 4), **options) for decay in _DECAYS]
    return grid + [Trial((name,), 8, _draws(1e-3, _DECAYS[:2], 2), **options) for name in ("MAJORITY", "FIRST")]


def _paper() -> list[Trial]:
    """HR App. E: 25 bits, width 128, batch 1024, 100,000 steps at 3·10⁻⁴; 39 runs."""
    options = {"width": 128, "batch": 1024, "steps": 100_000, "schedule": "constant", "chance_after": None}
    return [Trial(("PARITY",), 25, (draw,), every=100, **options) for draw in _draws(3e-4, _DECAYS, 39)]


def _live() -> list[Trial]:
    options = {"width": 16, "batch": 64, "steps": 400, "schedule": "constant", "chance_after": None, "every": 40}
    return [Trial(("PARITY", "FIRST"), 3, _draws(5e-3, _DECAYS[:2], 2), directions=20, **options)]


EXPERIMENT = Experiment(
    name="dynamics",
    version="1",
    title="Loss, sharpness, norm and blow-up along training",
    figures="HR Figs 3, 12, 13, 14",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=networks.cost,
    summary=summary,
    measured=measured,
    resumes=True,
)
