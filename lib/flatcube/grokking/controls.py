"""What makes a network grok: without decay, with another optimiser or schedule, and with flatness by force.

    flatcube run controls --scale book

The task is a + b modulo 43, small enough for eight arms. ``ARMS`` says how each differs from the first: five train in
another way with half of the pairs, two see other shares of them, with three networks each. Rows are as in ``modular``,
read every fiftieth epoch; a network is stopped 100 epochs after it knows, or after 1200.
"""

from collections.abc import Iterable

import numpy as np
from scipy import stats

from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.grokking import phases, watching
from flatcube.grokking.watching import Trial

__all__ = ["ARMS", "summary", "measured", "EXPERIMENT"]

_HALF = 0.5

ARMS: dict[str, tuple[float, dict]] = {
    "decay": (_HALF, {}),
    "no decay": (_HALF, {"decay": 0.0}),
    "sharpness-aware": (_HALF, {"decay": 0.0, "radius": 0.05}),
    "both": (_HALF, {"radius": 0.05}),
    "cosine": (_HALF, {"schedule": "cosine"}),
    "sgd": (_HALF, {"optimiser": "sgd", "rate": 0.1, "decay": 1e-4}),
    "30 % of pairs": (0.3, {}),
    "70 % of pairs": (0.7, {}),
}


def _ends(rows: Iterable[dict]) -> list[dict[str, float | str]]:
    """Every network with its events, and its last readings; ``peak`` is the largest sharpness on the way."""
    found = []
    for curve in phases.curves(rows):
        last = {name: curve[-1][name] for name in ("norm", "sensitivity", "own", "turning", "sharpness_own")}
        last["peak"] = max(row["sharpness_own"] for row in curve)
        found.append(phases.described(curve) | last)
    return found


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: each with its events and last readings. ``arms``: for every arm how many memorise and how many
    generalise, and means at the end."""
    found, arms = _ends(rows), []
    for arm in dict.fromkeys(one["arm"] for one in found):
        own = [one for one in found if one["arm"] == arm]
        line: dict[str, object] = {"arm": arm, "runs": len(own)}
        line |= {name: sum(one[name] < np.inf for one in own) for name in ("memorised", "generalised")}
        for name in ("train", "test", "norm", "sensitivity", "own", "turning", "sharpness_own", "peak"):
            line[name] = float(np.mean([one[name] for one in own]))
        line["epoch"] = max(one["generalised"] for one in own)
        arms.append(line)
    return {"networks": found, "arms": arms}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """Judged over all networks that memorise, whatever their arm.

    - VA-X4 agrees if the final test accuracy goes down with the final sensitivity (noise in units of the embeddings)
      and with sharpness, and these two go together: Kendall's τ with p < 0.05 for all three; in part, for some;
    - HR-X4 and HR-SUM-NC3 ask for a measurement over optimisers and schedules. They agree if sharpness ends below half
      of its peak in all networks that generalise and in none of the others; in part, if one of these holds;
    - HR-SUM-OQ2 asks how sharpness depends on the optimiser. With one network for each way of training there is no
      test: it agrees in part, if with half of the pairs the largest sharpness at the end is more than ten times the
      least.
    """
    found = [one for one in _ends(rows) if one["memorised"] < np.inf]
    test, own, sharp = (np.array([one[name] for one in found]) for name in ("test", "own", "sharpness_own"))
    pairs = {"accuracy and sensitivity": (test, own, -1), "accuracy and sharpness": (test, sharp, -1),
             "sensitivity and sharpness": (own, sharp, 1)}  # fmt: skip
    taus = {name: stats.kendalltau(one, other) for name, (one, other, _) in pairs.items()}
    rules = [taus[name].pvalue < 0.05 and taus[name].statistic * sign > 0 for name, (_, _, sign) in pairs.items()]
    link = ", ".join(f"{tau.statistic:.2f} for {name} (p = {tau.pvalue:.2g})" for name, tau in taus.items())
    good = [one for one in found if one["generalised"] < np.inf]
    bad = [one for one in found if one["generalised"] == np.inf]
    fell = {True: sum(2 * one["sharpness_own"] < one["peak"] for one in good),
            False: sum(2 * one["sharpness_own"] < one["peak"] for one in bad)}  # fmt: skip
    along = [bool(good) and fell[True] == len(good), bool(bad) and fell[False] == 0]
    task = f"Addition modulo {found[0]['p']:.0f} in place of PARITY, {len(found)} networks that memorise. "
    path = (f"Sharpness ends below half of its peak in {fell[True]} of {len(good)} networks that generalise and in "
            f"{fell[False]} of {len(bad)} that do not.")  # fmt: skip
    ends = [(one["sharpness_own"], one["arm"]) for one in found if one["share"] == _HALF]
    (least, low), (most, high) = min(ends), max(ends)
    return [
        {"id": "VA-X4", "verdict": trends.verdict(rules),
         "statement": f"At the end, over {len(found)} networks that memorise, Kendall's τ is {link}."},
        {"id": "HR-X4", "verdict": trends.verdict(along), "statement": task + path + " Measured, not proved."},
        {"id": "HR-SUM-NC3", "verdict": trends.verdict(along), "statement": task + path},
        {"id": "HR-SUM-OQ2", "verdict": "agrees in part" if most > 10 * least else "differs",
         "statement": f"{task}With half of the pairs sharpness at the end is {least:.2g} ({low}) to {most:.2g} "
         f"({high}), one network for each way of training, so that chance is not excluded."},
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="controls",
    version="1",
    title="Grokking without decay, with another optimiser or schedule, and sharpness-aware",
    figures="VA Sec. 7.3",
    grids={
        "live": [Trial(arm, 11, share, 0, 20, every=10, width=8, hidden=16, **rest)
                 for arm, (share, rest) in ARMS.items()],
        "book": [Trial(arm, 43, share, seed, 1200, after=100, every=50, **rest)
                 for arm, (share, rest) in ARMS.items() for seed in range(1 if share == _HALF else 3)],
        "paper": [Trial(arm, 113, share, seed, 20_000, after=1000, every=100, width=128, hidden=512, **rest)
                  for seed in range(5) for arm, (share, rest) in ARMS.items()],
    },
    trial=watching.trial,
    cost=watching.cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
