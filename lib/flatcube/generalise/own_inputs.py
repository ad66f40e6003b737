"""Are networks flatter on the inputs that they were trained on? The first networks of ``random_functions``.

    flatcube run own_inputs --scale book

The new encoders of that experiment see the whole cube, so the m inputs from which their function was made are not their
training set. Its first encoders see these m inputs only. Networks like them are trained here, with the same settings
and seeds (by rounding a run may leave its path, and end after another number of steps), and their weights are shaken:
with ℓ(x) the mean of (f_{θ+Δ}(x) − f_θ(x))² over Gaussian shifts Δ, ρ in every weight, a row has the mean of ℓ over the
whole ``cube``, over the inputs ``shown`` in training, and over a ``control`` set of m inputs that was drawn without
regard to these. ``scatter`` is the standard deviation of the mean over a random set of m inputs, for fixed weights:
√(v/m · (2^n − m)/(2^n − 1)), v the variance of ℓ over the cube.
"""

import math
from collections.abc import Iterable

import numpy as np

from flatcube.experiments import store
from flatcube.experiments.engine import Experiment
from flatcube.generalise import findings, random_functions
from flatcube.generalise.random_functions import RHO, Trial

__all__ = ["NOISES", "trial", "summary", "EXPERIMENT"]

NOISES = (RHO, RHO / 10)


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each size and noise."""
    rows = []
    for each, run in zip(*random_functions.first_networks(trial), strict=True):
        network, size = run.ensemble.member(0), len(each.shown)
        train = float(np.square(findings.outputs(network) - each.table)[each.shown].mean())
        control = trial.rng(size, 2).choice(2**trial.n, size, replace=False)
        for rho in NOISES:
            ell = random_functions.squares(network, trial, rho).mean(axis=0)
            left = (len(ell) - size) / (len(ell) - 1)
            rows.append({
                "seed": trial.seed, "draw": trial.draw, "n": trial.n, "size": size, "rho": rho, "train": train,
                "ended": int(run.ended[0]),
                "cube": float(ell.mean()), "shown": float(ell[each.shown].mean()),
                "control": float(ell[control].mean()), "scatter": math.sqrt(float(ell.var()) / size * left),
            })  # fmt: skip
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``parts``: for each noise and size the networks, and of those that ``fitted`` the mean ratios of sharpness on
    the inputs shown, and on the control set, to that on the cube, with 95 % intervals over functions, of which each
    counts with the mean of its draws; in how many networks it is ``less`` than on the cube, and in how many it is below
    that by more than two ``scatter``, for the control set, too."""
    rows, found = store.numbers(rows), []
    for rho, size in dict.fromkeys((row["rho"], row["size"]) for row in rows):
        own = [row for row in rows if (row["rho"], row["size"]) == (rho, size)]
        kept = [row for row in own if row["train"] < random_functions.SEEN]
        line: dict[str, object] = {"rho": rho, "size": int(size), "networks": len(own), "fitted": len(kept)}
        for name in ("shown", "control"):
            ratios = random_functions.by_function((row["seed"], row[name] / row["cube"]) for row in kept)
            line |= random_functions.interval(ratios, name)
            line[f"{name}_less"] = sum(row[name] < row["cube"] for row in kept)
            line[f"{name}_below"] = sum(row[name] < row["cube"] - 2 * row["scatter"] for row in kept)
        found.append(line)
    return {"parts": found}


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 2.5 steps for each input shown, of 7 ms each as in ``random_functions``."""
    step = 7e-3 * trial.n / 10 * trial.width / 32 * trial.batch / 128
    steps = sum(min(trial.steps, 2.5 * size) for size in trial.sizes)
    return step * steps + len(NOISES) * len(trial.sizes) * trial.directions * 2**trial.n * 3e-5


EXPERIMENT = Experiment(
    name="own_inputs",
    version="1",
    title="Sharpness of networks on the inputs that they were trained on",
    figures="beyond the papers",
    grids={scale: random_functions.EXPERIMENT.trials(scale) for scale in ("live", "book", "paper")},
    trial=trial,
    cost=cost,
    summary=summary,
)
