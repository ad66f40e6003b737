"""Some of the networks of ``minimal`` with all their weights, to be looked at and taken apart.

    flatcube run circuits --scale book

A row is one network: its class and seed as in ``minimal``, its function, the error on what it was shown, and its
weights (``models.from_text``). Five digits are kept; ``rounded`` is the error on the same inputs with these.
"""

from collections.abc import Iterable

import numpy as np
import torch

from flatcube import cube
from flatcube.experiments.engine import Experiment
from flatcube.inside import minimal, models
from flatcube.inside.minimal import Trial

__all__ = ["trial", "parsed", "summary", "EXPERIMENT"]


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial: one row each."""
    components, given = minimal.functions(trial)
    run, _ = minimal.learned(trial, given)
    points, rows = cube.to_bits(cube.points(trial.T)), []
    for k, seed in enumerate(trial.seeds):
        text = models.to_text(run.ensemble.member(k))
        with torch.no_grad():
            outputs = models.from_text(text, trial.T, trial.hidden)(torch.as_tensor(points[given[k].shown]))
        rounded = np.square(outputs.double().numpy() - given[k].table[given[k].shown]).mean()
        row = {name: getattr(trial, name) for name in ("T", "m", "degree", "sparsity", "hidden")} | {"seed": seed}
        row |= {"fitted": int(run.converged[k]), "train": float(run.errors[k]), "rounded": float(rounded)}
        named = "; ".join(f"{' '.join(map(str, members))}: {weight:.6g}" for members, weight in components[k])
        rows.append(row | {"components": named, "weights": text})
    return rows


def parsed(text: str) -> list[tuple[tuple[int, ...], float]]:
    """The components of a row.

    >>> parsed("1 4: 1.5; 2 3: 0.25")
    [((1, 4), 1.5), ((2, 3), 0.25)]
    """
    parts = (part.partition(":") for part in text.split(";"))
    return [(tuple(map(int, members.split())), float(weight)) for members, _, weight in parts]


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: their functions and errors, without the weights."""
    shown = ("T", "degree", "sparsity", "seed", "fitted")
    return {
        "networks": [
            {name: int(row[name]) for name in shown}
            | {"train": float(row["train"]), "rounded": float(row["rounded"]), "components": row["components"]}
            for row in rows
        ]
    }


_BOOK = [Trial(8, 192, d, w, (0, 1, 2, 3)) for d, w in ((2, 2), (2, 3), (3, 2))]

EXPERIMENT = Experiment(
    name="circuits",
    version="1",
    title="Minimal networks with their weights",
    figures="SP Figs 5 to 7",
    grids={
        "live": [Trial(4, 12, 2, 1, (0, 1), steps=200)],
        "book": _BOOK,
        "paper": [Trial(20, 8192, 2, 3, tuple(range(10)), steps=10_000)],
    },
    trial=trial,
    cost=minimal.cost,
    summary=summary,
)
