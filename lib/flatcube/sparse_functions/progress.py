"""Does something move before the accuracy does? Measures along the learning of a hidden parity (VA App. A.6, Fig. 24).

    flatcube run progress --scale book

A row is one network at one step, all over the whole cube: ``accuracy``; ``sensitivity``, the share of the T flips that
change the sign of the output, in the mean over inputs (VA Eq. 1); ``weight``, the share of χ_S in the variance of the
output; ``rank``, how many other sets of size s have a larger coefficient; ``logits``, the standard deviation of the
output. Networks learn from fresh batches of 256 as in ``sparse_parity``, and stop 100 steps after their first error
below 1 %. VA has T = 40 and s = 4, two layers and 5,000 to 50,000 examples met again and again; here T = 14, so that
all 2¹⁴ inputs can be looked at, s = 4, and one layer (``learners``) or two (VA's width and heads).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import nn

from flatcube import checks, cube, fourier, sensitivity, training
from flatcube.experiments import store
from flatcube.experiments.engine import Experiment
from flatcube.sparse_functions import learners, targets

__all__ = [
    "Trial", "look", "members", "trial", "curves", "described", "ahead", "summary", "measured", "EXPERIMENT",
]  # fmt: skip

_CHUNK = 2048  # inputs at once
_CHANCE, _MIDDLE = 0.55, 0.75


@dataclass(frozen=True)
class Trial:
    """Networks for the parity of one hidden set, trained together."""

    T: int
    s: int
    layers: int
    seeds: tuple[int, ...]
    steps: int
    hidden: int = 128
    std: float = 0.1
    batch: int = 256
    every: int = 20

    def __post_init__(self) -> None:
        checks.integer(self.s, "s", 1, checks.integer(self.T, "T", 1, 20))
        checks.several(self.seeds, "seeds", int, 1)


def look(outputs: np.ndarray, members: tuple[int, ...]) -> dict[str, float]:
    """What the table (2^T,) of a network's outputs says, with the set S that it has to find."""
    outputs = checks.table(outputs, name="outputs")
    T, place = len(outputs).bit_length() - 1, cube.mask(members)
    found = fourier.transform(outputs)
    same = np.abs(found[cube.weights(T) == len(members)])
    variance = float(np.var(outputs))
    signs = np.where(outputs >= 0, 1, -1)
    return {
        "accuracy": float(np.mean(signs == cube.subset_parity(members, T))),
        "sensitivity": float(sensitivity.average(signs)) / T,
        "weight": float(found[place] ** 2) / variance if variance > 0 else 0.0,
        "rank": int((same > abs(found[place])).sum()),
        "logits": math.sqrt(variance),
    }


def members(trial: Trial) -> tuple[int, ...]:
    """The set that all networks of a trial have to find. No place is special at the start, so one set will do."""
    return targets.planted(trial.T, trial.s, rng=np.random.default_rng([trial.T, trial.s]))


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look at each on the way: one row for each evaluation of each."""
    bits, hidden = torch.as_tensor(cube.to_bits(cube.points(trial.T))).split(_CHUNK), members(trial)

    def measure(member: nn.Module, step: int) -> dict[str, float]:
        with torch.no_grad():
            return look(torch.cat([member(some) for some in bits]).double().numpy(), hidden)

    networks = learners.networks(trial.T, trial.seeds, hidden=trial.hidden, std=trial.std, layers=trial.layers)
    plan = learners.settings(trial.steps, trial.batch, min(trial.every, trial.steps), after=100)
    task = training.Task(lambda x: targets.parity(x, hidden), trial.T)
    run = learners.train(networks, [task] * len(trial.seeds), plan, trial.seeds, measure)
    names, rows = ("step", "loss", "accuracy", "sensitivity", "weight", "rank", "logits"), []
    for k, seed in enumerate(trial.seeds):
        kind = {"T": trial.T, "s": trial.s, "layers": trial.layers, "seed": seed, "reached": int(run.reached[k])}
        own = run.history["member"] == k
        for values in zip(*(run.history[name][own].tolist() for name in names), strict=True):
            rows.append(kind | dict(zip(names, values, strict=True)))
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def curves(rows: Iterable[dict]) -> list[list[dict[str, float]]]:
    """The rows of every network by itself, numbers as numbers."""
    found: dict[tuple, list] = {}
    for kept in store.numbers(rows):
        found.setdefault(tuple(kept.get(name) for name in ("T", "s", "examples", "layers", "seed")), []).append(kept)
    return list(found.values())


def described(curve: list[dict[str, float]], chance: float = _CHANCE) -> dict[str, float]:
    """When things moved for good, in one network that learnt.

    ``left``: from this step on its accuracy is above ``chance``, so that it is at chance before; ``half``, above 0.75,
    half of its way. ``first``: from this step on no set of size s has a larger coefficient than S. ``untrained`` is the
    sensitivity of the first weights, an accident that says nothing of training. So what is said of sensitivity begins
    at the second look, ``start``. ``middle``: from this step on it is above the middle between its start and s/T (not a
    number, if it starts above s/T). ``rise``: Kendall's τ of sensitivity and step at chance, ``change`` the last value
    there minus the start; ``growth`` is Kendall's τ for the weight of S, from the first look on.
    """
    end, goal = curve[-1], curve[-1]["s"] / curve[-1]["T"]
    trained, start = curve[1:], curve[1]["sensitivity"]
    left = _since(curve, lambda row: row["accuracy"] > chance)
    before, seen = ([row for row in some if row["step"] < left] for some in (curve, trained))
    middle = _since(trained, lambda row: row["sensitivity"] > (start + goal) / 2) if start < goal else math.nan
    return {
        **{name: end[name] for name in ("T", "s", "layers", "seed", "reached")},
        "left": left,
        "half": _since(curve, lambda row: row["accuracy"] > _MIDDLE),
        "first": _since(curve, lambda row: row["rank"] == 0),
        "middle": middle,
        "untrained": curve[0]["sensitivity"],
        "start": start,
        "end": end["sensitivity"],
        "rise": _tau(seen, "sensitivity"),
        "change": seen[-1]["sensitivity"] - start if seen else math.nan,
        "growth": _tau(before, "weight"),
    }


def _since(curve: list[dict[str, float]], holds: Callable[[dict[str, float]], bool]) -> float:
    """The first step from which on something holds, infinite if it does not at the end."""
    found = math.inf
    for row in reversed(curve):
        if not holds(row):
            break
        found = row["step"]
    return found


def _tau(rows: list[dict[str, float]], name: str) -> float:
    if len({row[name] for row in rows}) < 2:
        return math.nan
    return float(stats.kendalltau([row["step"] for row in rows], [row[name] for row in rows]).statistic)


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: how each that learnt did it (``described``). ``kinds``: for every number of layers the runs, how
    many learnt, and the medians."""
    every = curves(rows)
    found = [described(curve) for curve in every if curve[-1]["reached"] >= 0]
    kinds = []
    for layers in sorted({curve[0]["layers"] for curve in every}):
        own = [one for one in found if one["layers"] == layers]
        line: dict[str, object] = {"layers": layers, "runs": sum(curve[0]["layers"] == layers for curve in every)}
        line["learnt"] = len(own)
        for name in ("left", "half", "first", "start", "end", "rise", "change", "growth"):
            line[name] = float(np.median([one[name] for one in own])) if own else math.nan
        kinds.append(line)
    return {"kinds": kinds, "networks": found or [{"layers": "none learnt"}]}


def ahead(networks: list[dict], name: str, mark: str = "left") -> dict[str, float]:
    """In how many networks something moved at least one record before a mark of the accuracy, in how many after it, the
    p-value of a sign test between the two, and the median lead in steps."""
    leads = np.array([one[mark] - one[name] for one in networks if not math.isnan(one[name])])
    before, after = int((leads > 0).sum()), int((leads < 0).sum())
    p = stats.binomtest(before, before + after, 0.5, alternative="greater").pvalue if before + after else 1.0
    return {"before": before, "after": after, "of": len(leads), "p": float(p), "lead": float(np.median(leads))}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """ED-X1 is an open question; it is answered in part if S becomes the heaviest set of its size at least a tenth of
    the time before the accuracy leaves chance, in more networks that learn than not (sign test at 0.05).

    VA-A6, on sensitivity, is judged at the paper's length (``forty``)."""
    networks, runs = summary(rows)["networks"], len(curves(rows))
    early = sum(one["first"] <= 0.9 * one["left"] for one in networks)
    p = float(stats.binomtest(early, len(networks), 0.5, alternative="greater").pvalue)
    lead, left, growth = ahead(networks, "first")["lead"], _median(networks, "left"), _median(networks, "growth")
    statement = (
        f"{len(networks)} of {runs} networks learn a parity of {networks[0]['s']:.0f} among {networks[0]['T']:.0f} "
        "bits. S becomes for good the set with the largest coefficient of its size at least a tenth of the time before "
        f"the accuracy leaves chance in {early} of these {len(networks)} (sign test: p = {p:.2g}), with a median lead "
        f"of {lead:.0f} steps of {left:.0f}; its share of the variance grows meanwhile with a median τ of {growth:.2f}."
        " So the search is not blind where it looks so; why gradient descent finds S remains open."
    )
    return [{"id": "ED-X1", "verdict": "agrees in part" if p < 0.05 else "differs", "statement": statement}]


def _median(networks: list[dict], name: str) -> float:
    return float(np.median([one[name] for one in networks if not math.isnan(one[name])] or [0.0]))


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 5 ms for a step, 20 with two layers; a look at all inputs costs as 40 steps."""
    step = 5e-3 if trial.layers == 1 else 2e-2
    return len(trial.seeds) * trial.steps / 2 * step * (1 + 2**trial.T / 400 / trial.every)


EXPERIMENT = Experiment(
    name="progress",
    version="1",
    title="Sensitivity and Fourier weight along the learning of a hidden parity",
    figures="VA Fig. 24",
    grids={
        "live": [Trial(4, 2, layers, (0,), 80, 32, 0.1, 64) for layers in (1, 2)],
        "book": [Trial(14, 4, 1, tuple(range(10)), 2500), Trial(14, 4, 2, tuple(range(4)), 1000, 64, every=25)],
        "paper": [Trial(20, 4, 2, (seed,), 200_000, 128, 0.02, 250) for seed in range(10)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
