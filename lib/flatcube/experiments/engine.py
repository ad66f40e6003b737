"""Runs experiments: grids of trials, on this machine or on a cluster, recorded as they end.

An experiment is a grid of trials at each of three scales, and a function that computes one trial:

- ``live``: seconds, for a notebook;
- ``book``: what ``data/`` holds, at most an hour of two cores;
- ``paper``: the settings of the paper, for whoever has a cluster.

A trial is a frozen dataclass of plain values, seeds included, and everything random in it comes from these. It is
computed on one thread, wherever it runs, so that its numbers depend neither on the number of cores nor on its company.
"""

import functools
import importlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flatcube import paths
from flatcube.experiments import store
from flatcube.experiments.journal import Journal, Record, address, configuration, short
from flatcube.experiments.progress import Bar
from flatcube.experiments.workers import Outcome, Results, Row, Unfit, check_address, compute, outcomes

__all__ = ["Experiment", "named", "run", "known"]

_DEFINED = re.compile(r"^EXPERIMENT = ", re.MULTILINE)


@dataclass(frozen=True)
class Experiment:
    """What to compute, and how.

    ``trial`` is a function of a module, so that other processes find it; it returns one row or more. ``cost`` says
    roughly how many seconds of one core a trial takes: for the time left, and to start long trials first.

    Whoever changes the numbers that ``trial`` gives for the same configuration changes ``version``: then nothing that
    was recorded or published before is taken for a result of the new code. Of an experiment that ``resumes`` the long
    part of a trial is ``training.train``, which can go on from a checkpoint.
    """

    name: str
    version: str
    title: str
    figures: str
    grids: Mapping[str, Sequence[Any]]  # trials by scale
    trial: Callable[[Any], list[Row]]
    cost: Callable[[Any], float]
    summary: Callable[[list[Row]], dict[str, list[Row]]]  # of all rows: tables by name
    measured: Callable[[list[Row]], list[dict[str, str]]] = lambda rows: []  # id, verdict, setting, statement
    resumes: bool = False

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

    def journal(self, folder: Path | str) -> Path:
        """The file in ``folder`` that keeps its trials."""
        return Path(folder) / f"{self.name}.sqlite"

    def addresses(self, scale: str) -> dict[str, Any]:
        """The trials at a scale by their address in the journal."""
        return {address(self.name, self.version, configuration(trial)): trial for trial in self.trials(scale)}


def named(name: str | None = None) -> list[Experiment]:
    """The experiment with this name, or all."""
    known = _modules()
    if name is not None and name not in known:
        raise ValueError(f"name: expected one of {', '.join(known)}, got {name!r}")
    return [importlib.import_module(known[each]).EXPERIMENT for each in ([name] if name is not None else known)]


@functools.cache
def _modules() -> dict[str, str]:
    """The modules that define an experiment, in whatever room they stand, by its name, which is theirs."""
    files = sorted(paths.LIBRARY.glob("*/*.py"))
    found = [path for path in files if _DEFINED.search(path.read_text(encoding="utf-8"))]
    return {path.stem: f"flatcube.{path.parent.name}.{path.stem}" for path in found}


def run(
    experiment: Experiment,
    scale: str = "live",
    *,
    folder: Path | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    data: Path | None = None,
    wait: bool = True,
    checkpoints: Path | None = None,
    progress: bool = True,
) -> list[Row]:
    """Compute the trials that are not known, and return the rows of all, in the grid's order.

    Known are those in the journal in ``folder``, and those published in ``data``, whose values come back as text.
    One worker is this process; more are processes of their own; with ``scheduler`` they are those of a dask cluster.
    If that has no workers, this is told, and fails unless it is to ``wait``. Without a folder nothing is kept. A trial
    that fails does not stop the others. With a folder ``checkpoints`` that all workers see, one that lost its worker
    goes on from where its training was a minute before.
    """
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers: expected a whole number from 1 on, got {workers!r}")
    if scheduler is not None:
        check_address(scheduler)
    trials = experiment.addresses(scale)
    place = tempfile.TemporaryDirectory() if folder is None else nullcontext(folder)
    with place as kept, Journal(experiment.journal(kept), write=True) as journal:
        there = known(experiment, scale, journal, data)
        missing = [trial for at, trial in trials.items() if at not in there]
        missing.sort(key=experiment.cost, reverse=True)
        total, left = (sum(map(experiment.cost, some)) for some in (trials.values(), missing))
        pace = max(1, min(workers, os.cpu_count() or 1, len(missing))) if scheduler is None else None
        fit = partial(_checked, experiment.name, _made_by(experiment), experiment.trial)
        function = experiment.trial
        if checkpoints is not None:
            function = partial(_resumed, Path(checkpoints).absolute(), experiment.name, experiment.version, function)
        ended = outcomes(partial(_computed, fit, function), missing, workers, scheduler, fit=fit, wait=wait)
        with Bar(f"{experiment.name}, {len(trials)} trials", total, left, workers=pace, show=progress) as bar:
            failed = _recorded(experiment, ended, journal, bar)
        if failed:
            trial, error = failed[0]
            raise RuntimeError(
                f"{experiment.name}: {len(failed)} of {len(trials)} trials failed, the others are kept; "
                f"{trial}: {type(error).__name__}: {error}"
            ) from error
        there |= journal.records()
    return [row for at in trials for row in there[at].rows]


def _made_by(experiment: Experiment) -> dict[str, str]:
    """What computes a trial: the experiment's version, and those of numpy, scipy and torch."""
    return {experiment.name: experiment.version} | {k: v for k, v in store.versions().items() if k != "python"}


def _checked(name: str, wanted: dict[str, str], function: Callable[[Any], list[Row]]) -> None:
    """Refuse to compute trials where the versions are not the ``wanted`` ones; ``function`` says what must be there.

    Experiments that are not of the book cannot be looked up; of these, only the packages' versions are compared.
    """
    known = _made_by(*named(name)) if name in _modules() else wanted | store.versions()
    other = [f"{key} {known.get(key)} instead of {value}" for key, value in wanted.items() if known.get(key) != value]
    if other:
        raise Unfit(f"its worker has another version ({', '.join(other)}); install the same one there")


def _computed(fit: Callable[[], None], function: Callable[[Any], list[Row]], trial: Any) -> Outcome:
    """One trial, where what it needs is there."""
    fit()
    return compute(function, trial)


def _resumed(folder: Path, name: str, version: str, function: Callable[[Any], list[Row]], trial: Any) -> list[Row]:
    """A trial whose training keeps how far it is in a place of its own in the folder, until it has ended."""
    place = folder / short(address(name, version, configuration(trial)))
    os.environ[paths.CHECKPOINTS] = str(place)
    try:
        rows = function(trial)
    finally:
        del os.environ[paths.CHECKPOINTS]
    shutil.rmtree(place, ignore_errors=True)
    return rows


def _recorded(experiment: Experiment, ended: Results, journal: Journal, bar: Bar) -> list[tuple[Any, Exception]]:
    """Record trials as they end; return those that failed, with their errors."""
    failed = []
    with closing(ended):
        for trial, outcome in ended:
            took = experiment.cost(trial)  # a failure says nothing about how long the others take
            if isinstance(outcome, Outcome):
                rows, seconds, took, machine = outcome
                config = configuration(trial)
                try:
                    journal.add(Record(experiment.name, experiment.version, config, rows, seconds, machine))
                except TypeError as error:  # a row with something else than plain values
                    outcome = error
            if not isinstance(outcome, Outcome):
                if not failed:  # of many the first is told at once
                    bar.write(f"{experiment.name}: a trial failed ({trial}: {outcome})", file=sys.stderr)
                failed.append((trial, outcome))
            bar.ended(experiment.cost(trial), took)
    return failed


def known(experiment: Experiment, scale: str, journal: Journal, data: Path | None) -> dict[str, Record]:
    """All trials of the journal, and those of a scale that only ``data`` has, by their address."""
    recorded = journal.records()
    if data is None or recorded.keys() >= experiment.addresses(scale).keys():
        return recorded
    return _published(experiment, scale, data) | recorded


def _published(experiment: Experiment, scale: str, data: Path) -> dict[str, Record]:
    """The trials in the scale's table in ``data`` by address, those of this version and grid, with values as text.

    Of a table's seconds each trial gets a share by its number of rows.
    """
    table = experiment.table(scale)
    if not (data / f"{table}.csv").exists():
        return {}
    found, made = dict(store.trials(table, folder=data)), store.manifest(data)[f"{table}.csv"]
    if not found:
        return {}
    each = made["seconds"] / sum(map(len, found.values()))
    return {
        at: Record(experiment.name, experiment.version, configuration(trial), found[short(at)],
                   each * len(found[short(at)]), made["machine"], made["ended"])
        for at, trial in experiment.addresses(scale).items()
        if short(at) in found
    }  # fmt: skip
