"""The six networks of chapter 7: PARITY, MAJORITY and FIRST of five bits, learnt with one and with two layers.

    flatcube run five --scale book

One row has a weight of all networks of one depth, (3, …) numbers to seven digits. A training run bends with the
rounding of the processor, and log C is read off its end with two digits: so the book speaks of these networks, and
``trained`` repeats their training, on any machine nearly to the same end. HR have no such networks; the paper scale
only has more of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from flatcube import cast, checks, cube
from flatcube.experiments import store
from flatcube.experiments.engine import Experiment
from flatcube.networks.config import Config
from flatcube.networks.encoder import Ensemble
from flatcube.training import Run, Settings, Task, train

__all__ = ["TABLES", "trained", "stored", "Trial", "trial", "summary", "EXPERIMENT"]

TABLES = {name: cast.table(name, 5) for name in ("PARITY", "MAJORITY", "FIRST")}

_SETTINGS = Settings(steps=1000, batch=32, rate=0.01, decay=0.0, every=25, goal=0.01, after=50)


@dataclass(frozen=True)
class Trial:
    """Networks of one depth, one for each function, each with its seed."""

    layers: int
    seeds: tuple[int, int, int] = (2, 0, 0)

    def __post_init__(self) -> None:
        checks.integer(self.layers, "layers", 1)


def _config(layers: int) -> Config:
    return Config(n=5, width=8, layers=layers, heads=1, hidden=16, norm="mlp")


def trained(layers: int, seeds: Iterable[int] = (2, 0, 0), *, progress: bool = False) -> Run:
    """Train a network for each function, all at once, on all 32 inputs."""
    start = Ensemble(_config(layers), seeds=list(seeds), dtype=torch.float64)
    with torch.enable_grad():
        tasks = [Task(table, 5, inputs=cube.points(5)) for table in TABLES.values()]
        return train(start, tasks, _SETTINGS, progress=progress)


def stored(layers: int) -> Ensemble:
    """The networks of this depth that the book speaks of, from ``data/five.csv``, in the order of ``TABLES``."""
    checks.integer(layers, "layers", 1, 2)
    return _ensemble([row for row in store.load("five") if int(row["layers"]) == layers])


def _ensemble(rows: list[dict]) -> Ensemble:
    """The networks of one trial from its rows."""
    weights = {}
    for row in rows:
        numbers = torch.tensor([float(word) for word in row["values"].split()], dtype=torch.float64)
        weights[row["weight"]] = numbers.reshape([int(size) for size in row["shape"].split()])
    return Ensemble(_config(int(rows[0]["layers"])), parameters=weights)


def trial(trial: Trial) -> list[dict[str, object]]:
    """A row for each weight of the trained networks."""
    found = trained(trial.layers, trial.seeds).ensemble
    return [
        {
            "layers": trial.layers,
            "seeds": " ".join(map(str, trial.seeds)),
            "weight": name,
            "shape": " ".join(map(str, weight.shape)),
            "values": " ".join(f"{number:.7g}" for number in weight.detach().flatten().tolist()),
        }
        for name, weight in found.named_parameters()
    ]


def summary(rows: list[dict]) -> dict[str, list[dict[str, object]]]:
    """``errors``: the mean squared error of every network over all inputs."""
    bits, errors = torch.as_tensor(cube.to_bits(cube.points(5))).long(), []
    for layers, seeds in dict.fromkeys((int(row["layers"]), row["seeds"]) for row in rows):
        some = [row for row in rows if (int(row["layers"]), row["seeds"]) == (layers, seeds)]
        with torch.no_grad():
            outputs = _ensemble(some)(bits)
        for (function, table), output in zip(TABLES.items(), outputs, strict=True):
            error = float((output - torch.as_tensor(table)).square().mean())
            errors.append({"layers": layers, "seeds": seeds, "function": function, "error": error})
    return {"errors": errors}


EXPERIMENT = Experiment(
    name="five",
    version="1",
    title="Six networks of five bits",
    figures="chapter 7, Theorem 4 on trained networks",
    grids={
        "live": [Trial(1)],
        "book": [Trial(1), Trial(2)],
        "paper": [Trial(layers, (seed, seed, seed)) for layers in (1, 2, 4) for seed in range(10)],
    },
    trial=trial,
    cost=lambda trial: 4.0 * trial.layers,
    summary=summary,
)
