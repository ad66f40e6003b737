"""Which of the changed settings makes PARITY's slope half of the one in HR Table 2? One is set to HR's at a time.

    flatcube run changes --scale book

``sharper`` differs from HR Table 1 in six settings: width, batch, steps, learning rate, its schedule, and that networks
at chance are given up. Here encoders learn PARITY with the settings of ``sharper`` ("none"), then with HR's value for
one of them, and last with HR's for all. At book scale the lengths are 4, 6 and 8, where training is cheap, and HR's
values all at once are too dear; the last of the six is left out there, since no network of these lengths was given up.
``trials`` says what the rows hold; ``change`` is added.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from flatcube.experiments.engine import Experiment
from flatcube.length import forest
from flatcube.length import trials as networks
from flatcube.length.trials import Trial as Networks

__all__ = ["CHANGES", "Trial", "trial", "summary", "EXPERIMENT"]

CHANGES: dict[str, dict[str, object]] = {  # what HR Table 1 has instead
    "none": {},
    "width": {"width": 128},
    "batch": {"batch": 1024},
    "steps": {"steps": 10_000},
    "rate": {"rate": 3e-4},
    "schedule": {"schedule": "constant"},
    "patience": {"chance_after": None},
    "all": {"width": 128, "batch": 1024, "steps": 10_000, "rate": 3e-4, "schedule": "constant", "chance_after": None},
}

_NOTHING = dict.fromkeys(("value", "low", "high"), math.nan)


@dataclass(frozen=True)
class Trial:
    """Networks for PARITY of one length, one for each seed, with the book's settings but for one change."""

    n: int
    change: str
    seeds: tuple[int, ...]
    tiny: bool = False  # a small width, a small batch and few steps, for trying it out

    def __post_init__(self) -> None:
        if self.change not in CHANGES:
            raise ValueError(f"change: expected one of {', '.join(CHANGES)}, got {self.change!r}")
        if not self.seeds:
            raise ValueError("seeds: expected one for each network, got none")

    @property
    def networks(self) -> Networks:
        """The trial as ``trials`` trains it."""
        options: dict = {"rate": 6e-4} | CHANGES[self.change]
        if self.tiny:
            small = {"width": 8, "batch": 32, "steps": 60, "chance_after": None, "every": 30, "directions": 10}
            options = {"rate": 1e-2} | small | {key: small[key] * 2 for key in ("width", "batch") if key in options}
        draws = tuple((seed, options["rate"], 0.1) for seed in self.seeds)
        return Networks(("PARITY",), self.n, draws, **{key: value for key, value in options.items() if key != "rate"})


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train and measure the networks of a trial."""
    return [{"change": trial.change} | row for row in networks.rows(trial.networks, networks.encoders(trial.networks))]


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``slopes``: for every change, PARITY's slope per bit, and ``gap``, by how much it exceeds that without a change.

    Both with 95 % intervals in which each length has a scatter of its own (``forest``). Networks that converged enter;
    where they do not make a line, the numbers are not numbers.
    """
    rows, points, runs = list(rows), {}, {}
    for change in dict.fromkeys(row["change"] for row in rows):
        mine = networks.last({key: value for key, value in row.items() if key != "change"}
                             for row in rows if row["change"] == change)  # fmt: skip
        kept = [row for row in mine if row["converged"]]
        runs[change] = len(mine)
        points[change] = [row["n"] for row in kept], [row["sharpness"] for row in kept]
    slopes = []
    for change, (x, y) in points.items():
        counts = {"change": change, "runs": runs[change], "entered": len(x)}
        found, beyond = _NOTHING, _NOTHING
        if len(set(x)) > 1:  # no line without two lengths
            found = forest.slope(x, y)
            if change != "none" and len(set(points.get("none", ((), ()))[0])) > 1:
                beyond = forest.gap((x, y), points["none"])
        slopes.append(counts | found | {"gap": beyond["value"], "gap_low": beyond["low"], "gap_high": beyond["high"]})
    return {"slopes": slopes}


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    return networks.cost(trial.networks)


def _book() -> list[Trial]:
    names = [change for change in CHANGES if change not in ("patience", "all")]
    return [Trial(n, change, tuple(range(4))) for change in names for n in (4, 6, 8)]


EXPERIMENT = Experiment(
    name="changes",
    version="1",
    title="PARITY's slope, with one setting at a time as in the paper",
    figures="HR Table 2",
    grids={
        "live": [Trial(n, change, (0, 1), tiny=True) for change in ("none", "width") for n in (2, 3)],
        "book": _book(),
        "paper": [Trial(n, change, (seed,)) for change in CHANGES for n in range(4, 31) for seed in range(10)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    resumes=True,
)
