"""What is there of an experiment, and its publication as a table in ``data/``."""

from pathlib import Path
from typing import Any, NamedTuple

from flatcube.experiments import engine, store
from flatcube.experiments.engine import Experiment
from flatcube.experiments.journal import Journal, Record, short

__all__ = ["missing", "Status", "status", "export"]


def missing(experiment: Experiment, scale: str, *, folder: Path, data: Path | None = None) -> list[Any]:
    """The trials of a scale that neither the journal in ``folder`` nor what is published in ``data`` has."""
    with Journal(experiment.journal(folder)) as journal:
        there = engine.known(experiment, scale, journal, data)
    return [trial for at, trial in experiment.addresses(scale).items() if at not in there]


class Status(NamedTuple):
    """How far an experiment is at one scale; seconds are of processor time."""

    scale: str
    trials: int
    done: int
    spent: float
    left: float  # expected


def status(experiment: Experiment, *, folder: Path, data: Path | None = None) -> list[Status]:
    """How far the journal in ``folder`` and what is published in ``data`` are, at every scale.

    Trials that the journal has of other versions or grids come last, as scale "other"; they are kept, but not used.
    """
    with Journal(experiment.journal(folder)) as journal:
        known = {scale: engine.known(experiment, scale, journal, data) for scale in experiment.grids}
        unused = journal.records()
    found = []
    for scale, records in known.items():
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
    """Publish the rows of a scale's finished trials as a table in ``data/``, with its manifest; return their number.

    At book scale the table is ``data/<name>.csv``, and what it says about claims goes to ``data/measured.csv`` when all
    trials are there; at any other it is ``data/<name>-<scale>.csv``, and the book is left as it is. Trials that are in
    the table but not in the journal stay as they are.
    """
    data, table, trials = data or store.DATA, experiment.table(scale), experiment.addresses(scale)
    with Journal(experiment.journal(folder)) as journal:
        records = engine.known(experiment, scale, journal, data)
    kept = [records[at] for at in trials if at in records]
    _check_enough(experiment, scale, kept, data)
    rows = [{name: _shown(value) for name, value in row.items()} for record in kept for row in record.rows]
    command = " && ".join(f"flatcube {verb} {experiment.name} --scale {scale}" for verb in ("run", "export"))
    whole = scale == "book" and len(kept) == len(trials)
    said = experiment.measured(store.parsed(rows)) if whole else []  # first: it may find nothing to judge
    made = {"scale": scale, "planned": len(trials), "version": experiment.version}
    store.save(table, rows, command=command, folder=data, **made, **_described(kept))
    if said:
        store.record(*(one | {"results": f"data/{table}.csv", "command": command} for one in said), folder=data)
    return len(rows)


def _check_enough(experiment: Experiment, scale: str, kept: list[Record], data: Path) -> None:
    """Refuse to publish nothing, rows with different columns, and a part in the place of a whole."""
    wanted, again = len(experiment.trials(scale)), f"flatcube run {experiment.name} --scale {scale}"
    if not kept:
        raise ValueError(f"{experiment.name}: {wanted} of {wanted} trials of scale {scale} are missing; {again} "
                         "computes them")  # fmt: skip
    columns = {tuple(row) for record in kept for row in record.rows}
    if len(columns) != 1:
        raise ValueError(f"{experiment.name}: expected the same columns in all rows, got {len(columns)} kinds of rows; "
                         "if its trials give other columns now, it is another version")  # fmt: skip
    path = data / f"{experiment.table(scale)}.csv"
    if len(kept) == wanted or not path.exists():
        return
    old, new = store.manifest(data)[path.name], {short(record.address) for record in kept}
    if not store.missing(old) and not new >= {at for at, _ in old.get("parts", [("another", 0)])}:
        raise ValueError(f"{path}: it is complete, and {len(kept)} of {wanted} other trials would take its place; "
                         f"{again} computes the rest")  # fmt: skip


def _described(kept: list[Record]) -> dict[str, Any]:
    """What the manifest says of the trials in a table."""
    configs = [record.config for record in kept]
    return {
        "trials": len(kept),
        "parts": [[short(record.address), len(record.rows)] for record in kept],
        "config": {name: _distinct(configs, name) for name in configs[0]},
        "seeds": sorted({int(row["seed"]) for row in (*configs, *(row for record in kept for row in record.rows))
                         if "seed" in row}),
        "machine": "; ".join(sorted({one for record in kept for one in record.machine.split("; ")})),
        "seconds": round(sum(record.seconds for record in kept)),
        "ended": max(record.ended for record in kept),
    }  # fmt: skip


def _shown(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _distinct(configs: list[dict[str, Any]], name: str) -> list[Any]:
    found: list[Any] = []
    for value in (config[name] for config in configs):
        found += [] if value in found else [value]
    return found
