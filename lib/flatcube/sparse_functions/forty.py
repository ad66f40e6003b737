"""Progress at the length of the paper: parities of 3 and 4 among 40 bits, looked at by samples (VA App. A.6, Fig. 24).

    flatcube run forty --scale book

A row is one network at one step, as in ``progress``. The hidden set depends on s and the seed, the first weights on the
seed alone: networks of one seed that differ in their examples only share both. 2⁴⁰ inputs cannot be looked at. So
everything is estimated from fresh uniform inputs, drawn anew for every look: ``accuracy`` and ``sensitivity``, the
latter by one random flip of each input; the coefficient of S in units of its standard error (``score``), and its share
``weight`` of the variance; and the ``rank`` of S among random other sets of its size. ``train`` is the accuracy on the
first of its training examples, of which it has ``examples``, met again and again, or none, and fresh batches. VA have
s = 4, two layers of width 32, and 5,000 to 50,000 examples; here s is 3 or 4 and the networks have one layer, as in
``sparse_parity``, which takes a tenth of the time.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import nn

from flatcube import checks, cube, sampling, training
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.sparse_functions import learners, progress, targets

__all__ = ["Trial", "look", "rivals", "trial", "by_set", "summary", "measured", "EXPERIMENT"]

_CHUNK = 1024  # inputs at once
_S = 4  # the relevant bits in the paper


@dataclass(frozen=True)
class Trial:
    """Networks for the parities of hidden sets, one for each seed, trained together."""

    T: int
    s: int
    seeds: tuple[int, ...]
    steps: int
    examples: int = 0
    batch: int = 256
    hidden: int = 128
    std: float = 0.1
    every: int = 250
    points: int = 8192
    others: int = 1000

    def __post_init__(self) -> None:
        checks.integer(self.s, "s", 1, checks.integer(self.T, "T", 2) - 1)
        checks.several(self.seeds, "seeds", int, 1)
        checks.integer(self.examples, "examples", 0)
        checks.integer(self.points, "points", 2)
        checks.integer(self.others, "others", 1)


def rivals(trial: Trial) -> np.ndarray:
    """The sets (others, s) that every hidden set is compared with, as places from 0 on, some perhaps twice."""
    rng = np.random.default_rng([trial.T, trial.s, 40])
    return rng.permuted(np.tile(np.arange(trial.T), (trial.others, 1)), axis=1)[:, : trial.s]


def look(
    f: Callable[[np.ndarray], np.ndarray], members: tuple[int, ...], others: np.ndarray, T: int, *, points: int,
    rng: np.random.Generator,
) -> dict[str, float]:  # fmt: skip
    """What samples say of f, from signs (batch, T) to outputs (batch,), with the set S that it has to find.

    With c̄ the mean of (f − f̄)·χ_S and e its standard error, ``score`` is c̄/e and ``weight`` (c̄² − e²)/Var f, which is
    the share of χ_S in the variance without the bias of a square. ``rank`` counts others (others, s), without S itself.
    """
    signs = sampling.random_signs((points, T), rng=rng)
    near, places = signs.copy(), rng.integers(T, size=points)
    near[np.arange(points), places] *= -1
    outputs, flipped = np.asarray(f(signs), float), np.asarray(f(near), float)
    right = float(((outputs >= 0) == (targets.parity(signs, members) > 0)).mean())
    changed = (outputs >= 0) != (flipped >= 0)
    mine = np.array(members) - 1
    others = others[(np.sort(others, 1) != mine).any(1)]
    variance, outputs = float(np.var(outputs, ddof=1)), outputs - outputs.mean()  # a constant would only add noise
    own = outputs * signs[:, mine].prod(1)
    mean, error = float(own.mean()), float(own.std(ddof=1)) / math.sqrt(points)
    odd = np.logical_xor.reduce((signs < 0).T[others], axis=1)  # (others, points): where a parity is −1
    found = (1 - 2 * odd.astype(np.float32)) @ outputs / points
    return {
        "accuracy": right,
        "sensitivity": float(changed.mean()),
        "weight": (mean**2 - error**2) / variance if variance > 0 else 0.0,
        "score": mean / error if error > 0 else 0.0,
        "rank": int((np.abs(found) > abs(mean)).sum()),
        "logits": math.sqrt(variance),
    }


def _task(trial: Trial, members: tuple[int, ...], seed: int) -> training.Task:
    def f(signs: np.ndarray) -> np.ndarray:
        return targets.parity(signs, members)

    if not trial.examples:
        return training.Task(f, trial.T)
    rng = np.random.default_rng([trial.T, trial.s, trial.examples, seed])
    given, held = (sampling.random_signs((count, trial.T), rng=rng) for count in (trial.examples, 2048))
    return learners.Held(f, trial.T, given, held)


def _share(f: Callable[[np.ndarray], np.ndarray], signs: np.ndarray, members: tuple[int, ...]) -> float:
    """The share of signs (batch, T) at which f has the sign of χ_S."""
    return float(((np.asarray(f(signs)) >= 0) == (targets.parity(signs, members) > 0)).mean())


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look at each on the way: one row for each evaluation of each."""
    hidden = {seed: targets.planted(trial.T, trial.s, rng=[trial.T, trial.s, seed]) for seed in trial.seeds}
    rows, others = [], rivals(trial)
    for seed in trial.seeds:  # one by one, for what is measured has to know the set
        task = _task(trial, hidden[seed], seed)

        def measure(member: nn.Module, step: int, seed: int = seed, task: training.Task = task) -> dict[str, float]:
            def f(signs: np.ndarray) -> np.ndarray:
                bits = torch.as_tensor(cube.to_bits(signs)).split(_CHUNK)
                with torch.no_grad():
                    return torch.cat([member(some) for some in bits]).numpy()

            rng = np.random.default_rng([trial.T, seed, step])
            known = math.nan if task.inputs is None else _share(f, task.inputs[: trial.points], hidden[seed])
            return look(f, hidden[seed], others, trial.T, points=trial.points, rng=rng) | {"train": known}

        networks = learners.networks(trial.T, [seed], hidden=trial.hidden, std=trial.std)
        plan = learners.settings(trial.steps, trial.batch, min(trial.every, trial.steps), after=2 * trial.every)
        run = learners.train(networks, [task], plan, [seed], measure)
        kind = {name: getattr(trial, name) for name in ("T", "s", "examples", "batch")}
        kind |= {"layers": 1, "seed": seed, "reached": int(run.reached[0])}
        names = ("step", "loss", "train", "accuracy", "sensitivity", "weight", "score", "rank", "logits")
        for values in zip(*(run.history[name].tolist() for name in names), strict=True):
            rows.append(kind | dict(zip(names, values, strict=True)))
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: how each that learnt did it, as ``progress`` describes it. ``kinds``: for every s and number of
    examples the ``networks``, how many learnt, in how many sensitivity ended ``higher`` than at the second look while
    the accuracy was at chance, and how many of these learnt (``found``), the median ``change``, and the largest share
    of the training examples right at the end."""
    kinds: dict[tuple[int, int], list[list[dict[str, float]]]] = {}
    for curve in progress.curves(rows):
        kinds.setdefault((int(curve[0]["s"]), int(curve[0]["examples"])), []).append(curve)
    lines, learnt = [], []
    for (s, examples), own in kinds.items():
        good = [progress.described(curve) for curve in own if curve[-1]["reached"] >= 0]
        changes = [progress.described(curve)["change"] for curve in own]
        higher, those = sum(change > 0 for change in changes), sum(one["change"] > 0 for one in good)
        lines.append({"s": s, "examples": examples, "networks": len(own), "learnt": len(good), "higher": higher,
                      "found": those, "change": float(np.median(changes)),
                      "train": max(curve[-1]["train"] for curve in own)})  # fmt: skip
        learnt += good
    return {"kinds": lines, "networks": learnt or [{"s": "none learnt"}]}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """VA-A6, over the networks with 4 relevant bits that meet their examples again, as VA's do.

    It agrees if sensitivity rises while the accuracy is at chance (its change since the second look is positive for
    more hidden sets than not, whether they are found or not, by a sign test at 0.05; networks with the same set and
    first weights are not independent and count once, by their mean), ends within a tenth of s/T in all that learn (a
    third of that is a standard error), and passes its middle within a tenth of the time around the moment when the
    accuracy passes its own, in the median of these; in part, if some of these hold. Other networks are told beside
    it."""
    every = progress.curves(rows)
    again = [curve for curve in every if curve[0]["examples"] and curve[0]["s"] == _S]
    found, other = ([progress.described(curve) for curve in some if curve[-1]["reached"] >= 0] for some in (
        again, [curve for curve in every if not curve[0]["examples"]]))  # fmt: skip
    if not again:
        return []
    changes, goal = [progress.described(curve)["change"] for curve in again], again[0][0]["s"] / again[0][0]["T"]
    sets, up = by_set(again), sum(change > 0 for change in changes)
    higher = sum(change > 0 for change in sets.values())
    p = float(stats.binomtest(higher, len(sets), 0.5, alternative="greater").pvalue)
    right = sum(abs(one["end"] / goal - 1) < 0.1 for one in found)
    apart = [abs(one["middle"] - one["half"]) / one["half"] for one in found if not math.isnan(one["middle"])]
    kinds = [line for line in summary(rows)["kinds"] if line["examples"] and line["s"] == _S]
    statement = (
        f"Parity of {_S} among {again[0][0]['T']:.0f} bits, examples met again, one layer: "
        + ", ".join(f"{line['learnt']} of {line['networks']} learn from {line['examples']:,}" for line in kinds)
        + f". At chance, an accuracy of at most 0.55, sensitivity ends higher than at the second look in {up} of "
        f"{len(again)} (median change {np.median(changes):.3f}), which have {len(sets)} hidden sets and first weights; "
        f"in the mean over those that share them, in {higher} of {len(sets)} (sign test: p = {p:.2g}). Of those that "
        f"learn it rises in {sum(one['change'] > 0 for one in found)} of {len(found)}, and {right} end within a tenth "
        f"of s/T = {goal:.1f}; " + (_lead(found) if apart else "")
        + f"With fresh batches and 3 relevant bits it rises at chance in {sum(one['change'] > 0 for one in other)} of "
        f"{len(other)} that learn."
    )  # fmt: skip
    rules = [p < 0.05, bool(found) and right == len(found), float(np.median(apart or [math.inf])) < 0.1]
    return [{"id": "VA-A6", "verdict": trends.verdict(rules), "statement": statement}]


def by_set(curves: Iterable[list[dict[str, float]]]) -> dict[tuple[float, ...], float]:
    """The mean change of sensitivity at chance over the networks that share a hidden set, for each (T, s, seed)."""
    found: dict[tuple[float, ...], list[float]] = {}
    for curve in curves:
        key = tuple(curve[0][name] for name in ("T", "s", "seed"))
        found.setdefault(key, []).append(progress.described(curve)["change"])
    return {key: float(np.mean(changes)) for key, changes in found.items()}


def _lead(found: list[dict[str, float]]) -> str:
    middle = progress.ahead(found, "middle", "half")
    return (
        f"the middle of its way comes before that of the accuracy in {middle['before']} of {middle['of']}, with a "
        f"median lead of {middle['lead']:.0f} steps of {np.median([one['half'] for one in found]):.0f}. "
    )


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 2 ms for a step of 256, 20 times that for a look at 8192 inputs."""
    return len(trial.seeds) * trial.steps * 2e-3 * (trial.batch / 256 + trial.points / 400 / trial.every)


EXPERIMENT = Experiment(
    name="forty",
    version="1",
    title="Sensitivity and the coefficient of the right set along the learning of parities of 40 bits",
    figures="VA Fig. 24",
    grids={
        "live": [Trial(8, 2, (0,), 80, m, 64, 32, every=20, points=256, others=20) for m in (0, 200)],
        "book": [*(Trial(40, 3, (seed,), 5000, every=100) for seed in range(10)),
                 *(Trial(40, 4, (seed,), 10_000, 50_000, 250) for seed in range(3)),
                 *(Trial(40, 4, (seed,), 10_000, 5000, 50) for seed in range(8))],
        "paper": [Trial(40, 4, (seed,), 1000 * m // batch, m, batch, points=100_000)
                  for m, batch in ((50_000, 250), (10_000, 100), (5000, 25), (5000, 50)) for seed in range(3)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
