"""A small experiment for the tests of the engine; run as a module, it is a run that can be killed."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from flatcube.experiments import engine


@dataclass(frozen=True)
class Trial:
    n: int
    seeds: tuple[int, ...] = (0,)
    seconds: float = 0.0
    log: str = ""  # a folder; every computation of a trial leaves a file there
    fatal: bool = False  # at first it kills its process
    deadly: bool = False  # it always does
    odd: bool = False  # its row cannot be recorded


def trial(trial: Trial) -> list[dict[str, object]]:
    """A number for each seed."""
    if trial.n < 0:
        raise ValueError(f"n: expected a number ≥ 0, got {trial.n}")
    if trial.log:
        (Path(trial.log) / f"{trial.n}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(trial.seconds)
    if trial.deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    if trial.fatal and len(list(Path(trial.log).glob(f"{trial.n}-*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if trial.odd:
        return [{"n": trial.n, "seed": 0, "value": object()}]
    return [
        {"n": trial.n, "seed": seed, "value": float(np.random.default_rng([seed, trial.n]).normal())}
        for seed in trial.seeds
    ]


def summary(rows: list[dict]) -> dict[str, list[dict]]:
    return {"all": [{"mean": sum(float(row["value"]) for row in rows) / len(rows)}]}


def experiment(
    count: int, *, seconds: float = 0.0, log: Path | str = "", extra: tuple[Trial, ...] = ()
) -> engine.Experiment:
    grid = [*(Trial(n, (0, 1), seconds, str(log)) for n in range(count)), *extra]
    grids = {"live": grid, "book": grid}
    return engine.Experiment("toy", "1", "A toy", "no figure", grids, trial, lambda trial: 1.0, summary)


# --- what the tests ask of it -----------------------------------------------------------------------------------------


def with_a_fatal_trial(log: Path) -> engine.Experiment:
    return experiment(6, seconds=0.2, log=log, extra=(Trial(6, (0, 1), 0.1, str(log), fatal=True),))


def large() -> engine.Experiment:
    """Twenty trials of some kilobytes each."""
    return experiment(0, extra=tuple(Trial(n, tuple(range(50))) for n in range(20)))


def serial(count: int) -> list[dict]:
    return engine.run(experiment(count), progress=False)


def computed(log: Path) -> list[int]:
    """The n of every computation that began."""
    return sorted(int(path.name.partition("-")[0]) for path in log.iterdir())


def until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.02)


def workers(log: Path) -> set[int]:
    return {int(path.name.split("-")[1]) for path in log.iterdir()}


def alive(process: int) -> bool:
    """Also a process that ended is there until its parent has asked for it."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    from tests.experiments import toy  # by its own name, as the workers know it

    folder, log, workers, count, seconds = sys.argv[1:]
    trials = toy.experiment(int(count), seconds=float(seconds), log=log)
    engine.run(trials, folder=Path(folder), workers=int(workers), progress=False)
