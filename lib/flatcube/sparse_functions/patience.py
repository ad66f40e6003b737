"""Were 400 steps enough? Networks of ``sparse_and`` near the critical size, with the 1000 steps that ED do.

    flatcube run patience --scale book

Sets, examples and first weights are those of ``sparse_and`` with the same T, m and seed, so that each network goes on
where it was stopped there. Rows are as there; ``ended`` says by which step a success had come.
"""

from collections.abc import Iterable

from flatcube.experiments.engine import Experiment
from flatcube.sparse_functions import sparse_and
from flatcube.sparse_functions.sparse_and import Trial

__all__ = ["STOPPED", "summary", "EXPERIMENT"]

STOPPED = 400  # the steps of sparse_and
_CELLS = ((100, 80), (200, 100), (400, 120), (800, 160))


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, int]]]:
    """``cells``: for every T and m the networks, how many had found the set by step 400 and by the last step, and the
    latest step of a success (−1 if there is none)."""
    found: dict[tuple[int, int], list[dict]] = {}
    for row in rows:
        found.setdefault((int(row["T"]), int(row["m"])), []).append(row)
    cells = []
    for (T, m), own in sorted(found.items()):
        steps = [int(row["ended"]) for row in own if int(row["success"])]
        cells.append({"T": T, "m": m, "networks": len(own), "early": sum(step <= STOPPED for step in steps),
                      "all": len(steps), "latest": max(steps, default=-1)})  # fmt: skip
    return {"cells": cells}


EXPERIMENT = Experiment(
    name="patience",
    version="1",
    title="Success at a hidden AND by step 400 and by step 1000",
    figures="ED Fig. 2",
    grids={
        "live": [Trial(8, 20, (0, 1), 480, 256)],
        "book": [Trial(T, m, tuple(range(start, start + 10)), 1000) for T, m in _CELLS for start in (0, 10, 20)],
        "paper": [Trial(T, m, (seed,), 1000, 10_000) for T, m in _CELLS for seed in range(50)],
    },
    trial=sparse_and.trial,
    cost=sparse_and.cost,
    summary=summary,
)  # fmt: skip
