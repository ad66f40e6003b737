"""The command `flatcube`: what the Makefile calls.

    flatcube book                execute what changed, build the site into _build/html
    flatcube notebooks [--all]   execute what changed (or all) and refresh the outputs stored in chapters/
    flatcube check               say which committed notebooks differ from a fresh run
    flatcube serve [--port N]    serve the site on 127.0.0.1
    flatcube zip                 the site as one file
    flatcube lab [OPTIONS]       JupyterLab on the chapters, without its questions to the internet

    flatcube experiments         list the experiments: figures, scales, what they cost
    flatcube run NAME [--scale live|book|paper] [--workers 2 | --scheduler tcp://...]
                                 compute what is missing; Ctrl-C stops, running again goes on
    flatcube status NAME         how far it is
    flatcube export NAME [--scale book]
                                 write its results to data/NAME.csv; another scale goes to data/NAME-SCALE.csv
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from flatcube.press import execute, notebook, site

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Parse `arguments` (default: the command line), do the work, return the exit code."""
    parser = argparse.ArgumentParser(
        prog="flatcube", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the book's folder (default: here)")
    parser.add_argument("--all", action="store_true", help="notebooks: execute all chapters, changed or not")
    options, options.rest = parser.parse_known_args(arguments)
    if options.command == "serve":
        server = argparse.ArgumentParser(prog="flatcube serve")
        server.add_argument("--port", type=int, default=8000, help="first port to try")
        options.port = server.parse_args(options.rest).port
    elif options.command in ("run", "status", "export"):
        options = _of_experiment(options.command).parse_args(options.rest, options)
    elif options.rest and options.command != "lab":
        parser.error(f"{options.command} takes no {' '.join(options.rest)}.")
    if options.all and options.command != "notebooks":
        parser.error(f"{options.command} takes no --all.")
    root = options.root.resolve()
    if not (root / "_toc.yml").exists():
        parser.error(f"--root {root}: there is no _toc.yml; give the folder of the book.")
    return COMMANDS[options.command](root, options)


def _executed(root: Path, *, force: bool = False) -> bool:
    """Execute what changed; report failures and return whether all chapters are well."""
    started = time.perf_counter()
    outcomes = execute.run(root, force=force)
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        print(f"✗ {outcome.error}", file=sys.stderr)
    ran = sum(outcome.executed for outcome in outcomes)
    spent = time.perf_counter() - started
    print(f"{ran} of {len(outcomes)} chapters executed in {spent:.0f} s, {len(failed)} failed.", file=sys.stderr)
    return not failed


def _book(root: Path, options: argparse.Namespace) -> int:
    if not _executed(root):
        return 1
    built = site.build(root)
    print(f"The site {'is built' if built else 'is up to date'}: {root / '_build' / 'html' / 'index.html'}")
    return 0


def _notebooks(root: Path, options: argparse.Namespace) -> int:
    if not _executed(root, force=options.all):
        return 1
    for chapter in notebook.chapters(root):
        copy = execute.executed_copy(root, chapter)
        if notebook.first_difference(notebook.read(chapter), copy):
            execute.forget(root, chapter)  # or a check would compare this run with itself
        notebook.write(copy, chapter)
    return 0


def _check(root: Path, options: argparse.Namespace) -> int:
    if not _executed(root):
        return 1
    found = 0
    for chapter in notebook.chapters(root):
        difference = notebook.first_difference(notebook.read(chapter), execute.executed_copy(root, chapter))
        if difference:
            found += 1
            print(f"✗ {chapter.relative_to(root)}: {difference}; 'make notebooks' refreshes it.", file=sys.stderr)
    return int(found > 0)


def _serve(root: Path, options: argparse.Namespace) -> int:
    site.serve(root, options.port)
    return 0


def _zip(root: Path, options: argparse.Namespace) -> int:
    target = site.pack(root)
    print(f"{target} ({target.stat().st_size / 1e6:.1f} MB): unpack it and open index.html.")
    return 0


def _lab(root: Path, options: argparse.Namespace) -> int:
    quiet = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    os.chdir(root / "chapters")
    # Replaces this process, so that Ctrl-C reaches JupyterLab alone.
    os.execv(sys.executable, [sys.executable, "-m", "jupyter", "lab", *quiet, *options.rest])


# --- experiments ------------------------------------------------------------------------------------------------------


def _of_experiment(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"flatcube {command}")
    parser.add_argument("name", help="the experiment; flatcube experiments lists them")
    if command != "status":
        parser.add_argument("--scale", default="book" if command == "export" else "live", help="live, book or paper")
    if command == "run":
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--workers", type=int, default=2, help="processes on this machine (default: 2)")
        where.add_argument("--scheduler", help="address of a dask scheduler, tcp://host:port, instead")
    return parser


def _explained(command: Callable[[Path, argparse.Namespace], None]) -> Callable[[Path, argparse.Namespace], int]:
    """The command with a sentence and an exit code for what may go wrong."""

    def explained(root: Path, options: argparse.Namespace) -> int:
        try:
            command(root, options)
        except (ValueError, RuntimeError, OSError) as error:
            print(f"✗ {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nStopped; what is done is kept, and running again goes on from there.", file=sys.stderr)
            return 130
        return 0

    return explained


@_explained
def _experiments(root: Path, options: argparse.Namespace) -> None:
    from flatcube.experiments import engine, store

    for experiment in engine.named():
        print(f"{experiment.name}: {experiment.title} ({experiment.figures})")
        for scale in experiment.grids:
            cost = _duration(3600 * experiment.hours(scale))
            print(f"    --scale {scale:6} {len(experiment.trials(scale)):5} trials, about {cost} of one core")
    for file, entry in store.manifest(root / "data").items():
        made = entry.get("command", "made by hand")
        print(f"data/{file}: {made}, {_duration(entry.get('seconds', 0))} of one core")


@_explained
def _run(root: Path, options: argparse.Namespace) -> None:
    from flatcube.experiments import engine

    (experiment,) = engine.named(options.name)
    where = {"workers": options.workers, "scheduler": options.scheduler}
    tables = experiment.summary(engine.run(experiment, options.scale, folder=root / "runs", **where))
    for name, table in tables.items():
        print(f"\n{name}")
        if not table:
            print("    none")
            continue
        for row in [table[0].keys(), *(entry.values() for entry in table)]:
            shown = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row)
            print("  ".join(f"{cell:>9}" for cell in shown))


@_explained
def _status(root: Path, options: argparse.Namespace) -> None:
    from flatcube.experiments import engine

    (experiment,) = engine.named(options.name)
    for scale, trials, done, spent, left in engine.status(experiment, folder=root / "runs"):
        rest = "of other code or other grids, not used" if scale == "other" else f"about {_duration(left)} left"
        print(f"{scale:6} {done} of {trials} trials done: {_duration(spent)} of one core spent, {rest}")


@_explained
def _export(root: Path, options: argparse.Namespace) -> None:
    from flatcube.experiments import engine

    (experiment,) = engine.named(options.name)
    count = engine.export(experiment, options.scale, folder=root / "runs", data=root / "data")
    table = root / "data" / f"{experiment.table(options.scale)}.csv"
    print(f"{table} has {count} rows; manifest.json says how they were made.")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:,.0f} h"


COMMANDS = {"book": _book, "notebooks": _notebooks, "check": _check, "serve": _serve, "zip": _zip, "lab": _lab,
            "experiments": _experiments, "run": _run, "status": _status, "export": _export}  # fmt: skip

if __name__ == "__main__":
    raise SystemExit(main())
