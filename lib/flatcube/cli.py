"""The command `flatcube`: what the Makefile calls. `flatcube COMMAND --help` explains one of its commands.

A command is a function of the book's folder and the options; its docstring is its help, and `_parser` lists it.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from flatcube import processes
from flatcube.press import audience, edition, execute, lab, notebook, server, site, skeleton, verify
from flatcube.press.book import Book

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Parse `arguments` (default: the command line), do the work, return the exit code."""
    parser = _parser()
    options, options.others = parser.parse_known_args(arguments)
    if options.others and options.do is not _lab:
        parser.error(f"{options.command} takes no {options.others[0]}.")
    root = options.root.resolve()
    if not (root / "_toc.yml").exists():
        parser.error(f"--root {root}: there is no _toc.yml; give the folder of the book.")
    if getattr(options, "edition", audience.READER) not in audience.EDITIONS:
        parser.error(f"EDITION: expected one of {', '.join(audience.EDITIONS)}, got {options.edition!r}.")
    return options.do(root, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flatcube", description="Makes the book and repeats its experiments.")
    where = {"type": Path, "metavar": "FOLDER", "help": "the book's folder (default: here)"}
    parser.add_argument("--root", default=Path.cwd(), **where)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(do: Command) -> argparse.ArgumentParser:
        found = commands.add_parser(do.__name__.strip("_").replace("_", "-"), help=do.__doc__, description=do.__doc__)
        found.add_argument("--root", default=argparse.SUPPRESS, **where)  # before the command or after it
        found.set_defaults(do=do)
        return found

    _making(command)
    _marking(command)
    _computing(command)
    return parser


def _making(command: Callable[[Command], argparse.ArgumentParser]) -> None:
    """The commands that make the book."""
    book, notebooks, check = command(_book), command(_notebooks), command(_check)
    limit = f"the longest that a cell may take (default: {execute.CELL_SECONDS})"
    for one in (book, notebooks, check):
        one.add_argument("--cell-seconds", type=_whole(1, 86400), metavar="N", default=execute.CELL_SECONDS, help=limit)
    notebooks.add_argument("--all", action="store_true", help="execute all chapters, changed or not")
    serving = command(_serve)
    serving.add_argument("--port", type=_whole(1, 65535), default=8000, help="first port to try")
    packing = command(_zip)
    packing.add_argument("--python", action="store_true", help="with Python for the page: 9 MB more")
    command(_slides)
    command(_bank)
    printing = command(_pdf)
    printing.add_argument("--solutions", action="store_true", help="with solutions; the student's handout has none")
    printing.add_argument("--only", metavar="NN", default="", help="this chapter alone")
    for one in (book, notebooks, serving, packing):
        edition_is = {"choices": audience.EDITIONS, "default": os.environ.get("EDITION") or audience.READER}
        one.add_argument("--edition", **edition_is, help="for whom (default: what EDITION says, or reader)")
    command(_lab).add_argument("--fresh", metavar="NN", help="a new copy of this chapter's notebook beside the old one")
    chapter = command(_new_chapter)
    chapter.add_argument("name", help="number and name, such as 13-generalise")
    chapter.add_argument("--room", help="its room in lib/flatcube (default: its name)")
    chapter.add_argument("--title", help="its title (default: what data/plan.csv says)")


def _marking(command: Callable[[Command], argparse.ArgumentParser]) -> None:
    """Those for problems that are marked."""
    handing_out = command(_assign)
    handing_out.add_argument("problems", nargs="+", help="problems, such as 2.A, or chapters, such as 2")
    handing_out.add_argument("--out", type=Path, metavar="FILE", help="the notebook (default: assignment-….ipynb)")
    handing_out.add_argument("--otter", action="store_true", help="a folder for otter-grader: its notebook, its tests")
    marking = command(_grade)
    marking.add_argument("files", nargs="+", type=Path, help="notebooks, or answers exported from pages (.json)")
    marking.add_argument("--problems", nargs="+", default=[], metavar="ID", help="what is marked (default: found out)")
    marking.add_argument("--out", type=Path, metavar="FOLDER", default=Path("marks"), help="default: marks")
    marking.add_argument("--seconds", type=_whole(1, 3600), metavar="N", default=20, help="for a cell or a call (20)")
    marking.add_argument("--megabytes", type=_whole(256, 10**6), metavar="N", default=4096, help="of memory (4096)")
    marking.add_argument("--workers", type=_whole(1, 64), metavar="N", default=2, help="at the same time (2)")
    marking.add_argument("--unsafe", action="store_true", help="run them unguarded, where the system has no sandbox")


def _computing(command: Callable[[Command], argparse.ArgumentParser]) -> None:
    """Those for claims and experiments."""
    command(_verify).add_argument("id", help="the claim, such as HR-L21; the book's ledger lists them")
    command(_experiments)
    run, slurm, status, export = command(_run), command(_slurm), command(_status), command(_export)
    for one in (run, slurm, status, export):
        one.add_argument("name", help="the experiment; flatcube experiments lists them")
    for one, scale in ((run, "live"), (slurm, "paper"), (export, "book")):
        one.add_argument("--scale", default=scale, help=f"live, book or paper (default: {scale})")
    status.add_argument("--scale", help="live, book or paper (default: all, and what is not used)")
    places = run.add_mutually_exclusive_group()
    places.add_argument("--workers", type=int, default=2, help="processes on this machine (default: 2)")
    places.add_argument("--scheduler", help="address of a dask scheduler, tcp://host:port, instead")
    kept = "a folder that all workers see: a trial that lost its worker goes on from there"
    for one in (run, slurm):
        one.add_argument("--checkpoints", type=Path, metavar="FOLDER", help=kept)
    slurm.add_argument("--jobs", type=_whole(1, 10_000), default=16, help="at once, of one core each (default: 16)")
    slurm.add_argument("--walltime", metavar="HH:MM:SS", help="of a job (default: what the longest trial needs)")
    slurm.add_argument("--memory", default="4GB", help="of a job (default: 4GB)")
    slurm.add_argument("--queue", help="the partition")
    slurm.add_argument("--account", help="who pays for it")
    slurm.add_argument("--dry-run", action="store_true", help="only show the plan and the script of a job")
    run.add_argument("--no-wait", action="store_true", help="fail if the cluster has no workers, or an unfit one")
    run.add_argument("--again", action="store_true", help="compute also what is published in data/")


def _whole(least: int, most: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number from `least` to `most`."""

    def whole(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most}, got {text!r}")
        return int(text)

    return whole


Command = Callable[[Path, argparse.Namespace], int | None]


def _explained(command: Command) -> Command:
    """The command with a sentence and an exit code for what may go wrong."""

    @functools.wraps(command)
    def explained(root: Path, options: argparse.Namespace) -> int:
        with processes.heard_once():
            try:
                return command(root, options) or 0
            except (ValueError, RuntimeError, OSError) as error:
                print(f"✗ {error}", file=sys.stderr)
                return 1
            except KeyboardInterrupt:
                print("\nStopped; what is done is kept, and running again goes on from there.", file=sys.stderr)
                return 130

    return explained


def _alone(command: Command) -> Command:
    """The command, once no other process works in `_build`."""

    @functools.wraps(command)
    def alone(root: Path, options: argparse.Namespace) -> int | None:
        with closing(_lock(root / "_build")):
            return command(root, options)

    return alone


def _lock(folder: Path) -> sqlite3.Connection:
    folder.mkdir(exist_ok=True)
    for attempt in itertools.count():
        try:
            return processes.locked(folder / "press.lock", 0.5)  # so short, for Ctrl-C is heard only in between
        except TimeoutError:
            if attempt == 0:
                print(f"Another flatcube is at work in {folder}: waiting for it …", file=sys.stderr, flush=True)


# --- the book ---------------------------------------------------------------------------------------------------------


def _executed(root: Path, cell_seconds: int, *, force: bool = False) -> bool:
    """Execute what changed; report failures and return whether all chapters are well."""
    started = time.perf_counter()
    outcomes = execute.run(root, force=force, cell_seconds=cell_seconds)
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(f"✗ {outcome.error}", file=sys.stderr)
    ran = sum(outcome.executed for outcome in outcomes)
    spent = time.perf_counter() - started
    print(f"{ran} of {len(outcomes)} chapters executed in {spent:.0f} s, {len(failed)} failed.", file=sys.stderr)
    return not failed


@_explained
@_alone
def _book(root: Path, options: argparse.Namespace) -> int:
    """Execute what changed, build the site into _build/html, another edition's into _build/html-EDITION."""
    if not _executed(root, options.cell_seconds):
        return 1
    built = site.build(root, options.edition)
    place = audience.place(root, "html", options.edition)
    print(f"The site {'is built' if built else 'is up to date'}: {place / 'index.html'}")
    return 0


@_explained
@_alone
def _notebooks(root: Path, options: argparse.Namespace) -> int:
    """Refresh the readers' notebooks, chapters/notebooks; another edition's go to _build/notebooks-EDITION."""
    if not _executed(root, options.cell_seconds, force=options.all):
        return 1
    if options.edition != audience.READER:
        place = audience.place(root, "notebooks", options.edition)
        site.notebooks(root, place, options.edition)
        print(f"The notebooks are in {place}.")
        return 0
    book = Book(root)
    for chapter in notebook.chapters(root):
        if edition.refresh(book, chapter):
            execute.forget(root, chapter)  # or a check would compare this run with itself
    return 0


@_explained
@_alone
def _check(root: Path, options: argparse.Namespace) -> int:
    """Say which readers' notebooks differ from a fresh run."""
    if not _executed(root, options.cell_seconds):
        return 1
    book, found, shown, stated = Book(root), 0, 0, 0
    for chapter in notebook.chapters(root):
        fresh = edition.fresh(book, chapter)
        with_outputs = [cell for cell in fresh.cells if cell.get("outputs")]
        shown, stated = shown + len(with_outputs), stated + sum(map(notebook.by_statement, with_outputs))
        difference = edition.difference(book, chapter, fresh)
        if difference:
            found += 1
            name = edition.path(root, chapter).relative_to(root)
            print(f"✗ {name}: {difference}; 'make notebooks' refreshes it.", file=sys.stderr)
    print(f"{shown} cells with outputs compared, {stated} of them by their statement only.", file=sys.stderr)
    return int(found > 0)


def _serve(root: Path, options: argparse.Namespace) -> int:
    """Serve the site on 127.0.0.1."""
    server.serve(root, options.port, options.edition)
    return 0


@_explained
@_alone
def _zip(root: Path, options: argparse.Namespace) -> int:
    """The site as one file."""
    target = site.pack(root, python=options.python, for_whom=options.edition)
    print(f"{target} ({target.stat().st_size / 1e6:.1f} MB): unpack it and open index.html.")
    return 0


@_explained
@_alone
def _slides(root: Path, options: argparse.Namespace) -> None:
    """A deck of slides for each chapter of the built site, _build/html/slides."""
    from flatcube.press import decks

    decks.build(root)


@_explained
def _bank(root: Path, options: argparse.Namespace) -> None:
    """The questions of all chapters for learning platforms, GIFT and QTI, in _build/bank."""
    from flatcube.press import bank

    for path in bank.write(root, root / "_build" / "bank"):
        print(path.relative_to(root))


@_explained
def _pdf(root: Path, options: argparse.Namespace) -> None:
    """A handout for each chapter of the built site, printed by Chromium into _build/pdf; without solutions."""
    from flatcube.press import handouts

    handouts.write(root, root / "_build" / "pdf", solutions=options.solutions, only=options.only)


@_explained
def _lab(root: Path, options: argparse.Namespace) -> int:
    """JupyterLab on a working copy of the notebooks, work/; it gets all other options."""
    return lab.start(root, options.others, options.fresh)


@_explained
def _new_chapter(root: Path, options: argparse.Namespace) -> None:
    """Write the skeleton of a chapter: its text, its room and its tests."""
    for path in skeleton.write(root, options.name, options.room, options.title):
        print(path.relative_to(root))
    print("Next: 'flatcube notebooks' executes it and writes its readers' notebook, which tests read.", file=sys.stderr)


@_explained
def _assign(root: Path, options: argparse.Namespace) -> None:
    """Write an assignment: a student's notebook with problems of the second set, without solutions."""
    from flatcube.grading import assignments, otter

    print((otter if options.otter else assignments).write(root, options.problems, options.out))


@_explained
def _grade(root: Path, options: argparse.Namespace) -> None:
    """Mark submissions, each in a sandbox: a table and a page for each student; running it again goes on."""
    from flatcube.grading import Limits, report

    limits = Limits(seconds=options.seconds, memory=options.megabytes << 20)
    done = report.grade(
        root, options.files, options.out, wanted=options.problems, limits=limits, workers=options.workers,
        unsafe=options.unsafe,
    )  # fmt: skip
    print(f"{options.out / report.TABLE}: {len(done)} submissions, and a page for each beside it.")


@_explained
def _verify(root: Path, options: argparse.Namespace) -> int:
    """Check one claim of the ledger: run its tests, or compute its row from the stored results."""
    return int(not verify.verify(root, options.id))


# --- experiments ------------------------------------------------------------------------------------------------------


@_explained
def _experiments(root: Path, options: argparse.Namespace) -> None:
    """List the experiments: figures, scales, what they cost."""
    from flatcube.experiments import engine, store

    for experiment in engine.named():
        print(f"{experiment.name}: {experiment.title} ({experiment.figures})")
        for scale in experiment.grids:
            cost = _duration(3600 * experiment.hours(scale))
            print(f"    --scale {scale:6} {len(experiment.trials(scale)):5} trials, about {cost} of one core")
    for file, entry in store.manifest(root / "data").items():
        made = entry.get("command", "made by hand")
        part = f", {entry['trials']} of {entry['planned']} trials" if store.missing(entry) else ""
        print(f"data/{file}: {made}, {_duration(entry.get('seconds', 0))} of one core{part}")


@_explained
def _run(root: Path, options: argparse.Namespace) -> None:
    """Compute what is missing of an experiment; Ctrl-C stops, running again goes on."""
    from flatcube.experiments import engine

    (experiment,) = engine.named(options.name)
    where = {"workers": options.workers, "scheduler": options.scheduler}
    where |= {"data": None if options.again else root / "data", "wait": not options.no_wait}
    where |= {"checkpoints": options.checkpoints}
    _show(experiment.summary(engine.run(experiment, options.scale, folder=root / "runs", **where)))


def _show(tables: dict[str, list[dict]]) -> None:
    for name, table in tables.items():
        print(f"\n{name}")
        if not table:
            print("    none")
            continue
        for row in [table[0].keys(), *(entry.values() for entry in table)]:
            shown = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row)
            print("  ".join(f"{cell:>9}" for cell in shown))


@_explained
def _slurm(root: Path, options: argparse.Namespace) -> None:
    """Compute what is missing of an experiment on a cluster with Slurm; this command must stay open until the end."""
    from flatcube.experiments import engine, publish, slurm

    (experiment,) = engine.named(options.name)
    missing = publish.missing(experiment, options.scale, **_places(root))
    plan = slurm.plan(experiment, missing, walltime=options.walltime, checkpoints=options.checkpoints is not None)
    print(f"{plan.trials} trials, about {_duration(plan.total)} of one core, the longest about "
          f"{_duration(plan.longest)}; jobs of {slurm.clock(plan.walltime)}.")  # fmt: skip
    ordered = {name: getattr(options, name) for name in ("memory", "queue", "account")}
    jobs = 0 if options.dry_run else options.jobs
    with slurm.cluster(plan, jobs=jobs, logs=root / "runs" / "slurm", **ordered) as cluster:
        if options.dry_run:
            print(cluster.job_script())
            return
        where = {"scheduler": cluster.scheduler_address, "checkpoints": options.checkpoints}
        rows = engine.run(experiment, options.scale, folder=root / "runs", data=root / "data", **where)
    _show(experiment.summary(rows))


@_explained
def _status(root: Path, options: argparse.Namespace) -> None:
    """Say how far an experiment is, by its journal and by what is published."""
    from flatcube.experiments import engine, publish

    (experiment,) = engine.named(options.name)
    if options.scale is not None:
        experiment.trials(options.scale)  # or a sentence that says which scales there are
    for scale, trials, done, spent, left in publish.status(experiment, **_places(root)):
        if options.scale not in (None, scale):
            continue
        rest = "of other versions or grids, not used" if scale == "other" else f"about {_duration(left)} left"
        print(f"{scale:6} {done} of {trials} trials done: {_duration(spent)} of one core spent, {rest}")


@_explained
def _export(root: Path, options: argparse.Namespace) -> None:
    """Write what is done to data/NAME.csv; another scale than the book's goes to data/NAME-SCALE.csv."""
    from flatcube.experiments import engine, publish, store

    (experiment,) = engine.named(options.name)
    count = publish.export(experiment, options.scale, **_places(root))
    table = root / "data" / f"{experiment.table(options.scale)}.csv"
    print(f"{table} has {count} rows; manifest.json says how they were made.")
    made = store.manifest(root / "data")[table.name]
    if store.missing(made):
        print(f"It has {made['trials']} of {made['planned']} trials: nothing is said of claims before it has all.")


def _places(root: Path) -> dict[str, Path]:
    return {"folder": root / "runs", "data": root / "data"}


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:,.0f} h"


if __name__ == "__main__":
    raise SystemExit(main())
