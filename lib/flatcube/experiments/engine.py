"""Runs experiments: grids of trials, on this machine or on a cluster, recorded as they end.

An experiment is a grid of trials at each of three scales, and a function that computes one trial:

- ``live``: seconds, for a notebook;
- ``book``: what ``data/`` holds, at most an hour of two cores;
- ``paper``: the settings of the paper, for whoever has a cluster.

A trial is a frozen dataclass of plain values, seeds included, and everything random in it comes from these. It is
computed on one thread, wherever it runs, so that its numbers depend neither on the number of cores nor on its company.
"""

import importlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from flatcube.experiments import store
from flatcube.experiments.journal import Journal, Record, address, check_unchanged, code_version, configuration
from flatcube.experiments.progress import Bar
from flatcube.experiments.workers import Outcome, Results, Row, check_address, compute, outcomes

__all__ = ["Experiment", "SCALES", "named", "run", "Status", "status", "export"]

SCALES = ("live", "book", "paper")

_NAMES = ("sharper", "longer", "tradeoff", "dynamics", "signal", "variants", "stepwise", "initial")


@dataclass(frozen=True)
class Experiment:
    """What to compute, and how.

    ``trial`` is a function of a module, so that other processes find it; it returns one row or more. ``cost`` says
    roughly how many seconds of one core a trial takes: for the time left, and to start long trials first.
    """

    name: str
    title: str
    figures: str
    grids: Mapping[str, Sequence[Any]]  # trials by scale
    trial: Callable[[Any], list[Row]]
    cost: Callable[[Any], float]
    summary: Callable[[list[Row]], dict[str, list[Row]]]  # of all rows: tables by name
    measured: Callable[[list[Row]], list[dict[str, str]]] = lambda rows: []  # id, verdict and statement for claims

    def trials(self, scale: str) -> list[Any]:
        """The trials at a scale, each once."""
        if scale not in self.grids:
            raise ValueError(f"scale: expected one of {', '.join(self.grids)}, got {scale!r}")
        return list(dict.fromkeys(self.grids[scale]))

    def hours(self, scale: str) -> float:
        """What a scale costs, roughly, in hours of one core."""
        return sum(map(self.cost, self.trials(scale))) / 3600

    def table(self, scale: str) -> str:
        """The name of the table for the results of a scale: the experiment's own is for those of the book."""
        return self.name if scale == "book" else f"{self.name}-{scale}"

    def addresses(self, scale: str) -> dict[str, Any]:
        """The trials at a scale by their address in the journal."""
        version = code_version(self.trial)
        return {address(self.name, version, configuration(trial)): trial for trial in self.trials(scale)}


def named(name: str | None = None) -> list[Experiment]:
    """The experiment with this name, or all."""
    if name is not None and name not in _NAMES:
        raise ValueError(f"name: expected one of {', '.join(_NAMES)}, got {name!r}")
    modules = _NAMES if name is None else (name,)
    return [importlib.import_module(f"flatcube.experiments.{module}").EXPERIMENT for module in modules]


def run(
    experiment: Experiment,
    scale: str = "live",
    *,
    folder: Path | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    progress: bool = True,
) -> list[Row]:
    """Compute the trials that the journal in ``folder`` has not, and return the rows of all, in the grid's order.

    One worker is this process; more are processes of their own; with ``scheduler`` they are those of a dask cluster.
    Without a folder nothing is kept. A trial that fails does not stop the others.
    """
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers: expected a whole number from 1 on, got {workers!r}")
    if scheduler is not None:
        check_address(scheduler)
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return run(experiment, scale, folder=Path(temporary), workers=workers, scheduler=scheduler,
                       progress=progress)  # fmt: skip
    check_unchanged(experiment.trial)
    trials = experiment.addresses(scale)
    with Journal(_path(experiment, folder), write=True) as journal:
        known = journal.records()
        missing = [trial for at, trial in trials.items() if at not in known]
        missing.sort(key=experiment.cost, reverse=True)
        total, left = (sum(map(experiment.cost, some)) for some in (trials.values(), missing))
        pace = max(1, min(workers, os.cpu_count() or 1, len(missing))) if scheduler is None else None
        ended = outcomes(partial(compute, experiment.trial), missing, workers, scheduler)
        with Bar(f"{experiment.name}, {len(trials)} trials", total, left, workers=pace, show=progress) as bar:
            failed = _recorded(experiment, ended, journal, bar)
        if failed:
            trial, error = failed[0]
            raise RuntimeError(
                f"{experiment.name}: {len(failed)} of {len(trials)} trials failed, the others are kept; "
                f"{trial}: {type(error).__name__}: {error}"
            ) from error
        records = journal.records()
    return [row for at in trials for row in records[at].rows]


def _recorded(experiment: Experiment, ended: Results, journal: Journal, bar: Bar) -> list[tuple[Any, Exception]]:
    """Record trials as they end; return those that failed, with their errors."""
    version, failed = code_version(experiment.trial), []
    with closing(ended):
        for trial, outcome in ended:
            if isinstance(outcome, Outcome) and outcome.version != version:
                outcome = RuntimeError("its worker has another version of the code; install the same one there")
            took = experiment.cost(trial)  # a failure says nothing about how long the others take
            if isinstance(outcome, Outcome):
                rows, seconds, took, machine, _ = outcome
                try:
                    journal.add(Record(experiment.name, version, configuration(trial), rows, seconds, machine))
                except TypeError as error:  # a row with something else than plain values
                    outcome = error
            if not isinstance(outcome, Outcome):
                failed.append((trial, outcome))
            bar.ended(experiment.cost(trial), took)
    return failed


def _path(experiment: Experiment, folder: Path) -> Path:
    return Path(folder) / f"{experiment.name}.sqlite"


# --- what is there ----------------------------------------------------------------------------------------------------


class Status(NamedTuple):
    """How far an experiment is at one scale; seconds are of processor time."""

    scale: str
    trials: int
    done: int
    spent: float
    left: float  # expected


def status(experiment: Experiment, *, folder: Path) -> list[Status]:
    """How far the journal in ``folder`` is, at every scale, by the code as it is now.

    Trials that the journal has of other code or other grids come last, as scale "other"; they are kept, but not used.
    """
    with Journal(_path(experiment, folder)) as journal:
        records = journal.records()
    found, unused = [], dict(records)
    for scale in experiment.grids:
        trials = experiment.addresses(scale)
        unused = {at: record for at, record in unused.items() if at not in trials}
        done = [at for at in trials if at in records]
        left = sum(experiment.cost(trial) for at, trial in trials.items() if at not in records)
        found.append(Status(scale, len(trials), len(done), sum(records[at].seconds for at in done), left))
    if unused:
        spent = sum(record.seconds for record in unused.values())
        found.append(Status("other", len(unused), len(unused), spent, 0.0))
    return found


def export(experiment: Experiment, scale: str = "book", *, folder: Path, data: Path | None = None) -> int:
    """Publish the rows of a finished scale as a table in ``data/``, with its manifest; return their number.

    At book scale the table is ``data/<name>.csv``, and what it says about claims goes to ``data/measured.csv``; at any
    other it is ``data/<name>-<scale>.csv``, and the book is left as it is.
    """
    trials = experiment.addresses(scale)
    with Journal(_path(experiment, folder)) as journal:
        records = journal.records()
    missing = sum(at not in records for at in trials)
    if missing:
        raise ValueError(
            f"{experiment.name}: {missing} of {len(trials)} trials of scale {scale} are missing; "
            f"flatcube run {experiment.name} --scale {scale} computes them"
        )
    kept = [records[at] for at in trials]
    rows = [{name: _shown(value) for name, value in row.items()} for record in kept for row in record.rows]
    configs = [record.config for record in kept]
    made = {
        "scale": scale,
        "trials": len(kept),
        "config": {name: _distinct(configs, name) for name in configs[0]},
        "seeds": sorted({row["seed"] for row in (*configs, *(row for record in kept for row in record.rows))
                         if "seed" in row}),
        "code": kept[0].version,
        "machine": "; ".join(sorted({record.machine for record in kept})),
        "seconds": round(sum(record.seconds for record in kept)),
        "ended": max(record.ended for record in kept),
    }
    command = " && ".join(f"flatcube {verb} {experiment.name} --scale {scale}" for verb in ("run", "export"))
    table = experiment.table(scale)
    said = experiment.measured(store.parsed(rows)) if scale == "book" else []  # first: it may find nothing to judge
    store.save(table, rows, command=command, folder=data, **made)
    if said:
        store.record(*(one | {"results": f"data/{table}.csv", "command": command} for one in said), folder=data)
    return len(rows)


def _shown(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _distinct(configs: list[dict[str, Any]], name: str) -> list[Any]:
    found: list[Any] = []
    for value in (config[name] for config in configs):
        found += [] if value in found else [value]
    return found
