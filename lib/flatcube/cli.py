"""The command `flatcube`: what the Makefile calls.

    flatcube book                execute what changed, build the site into _build/html
    flatcube notebooks [--all]   execute what changed (or all) and refresh the outputs stored in chapters/
    flatcube check               say which committed notebooks differ from a fresh run
    flatcube serve [--port N]    serve the site on 127.0.0.1
    flatcube zip                 the site as one file
    flatcube lab [OPTIONS]       JupyterLab on the chapters, without its questions to the internet
"""

from __future__ import annotations

import argparse
import os
import sys
import time
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
    elif options.rest and options.command != "lab":
        parser.error(f"{options.command} takes no {' '.join(options.rest)}.")
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
        notebook.write(execute.executed_copy(root, chapter), chapter)
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


COMMANDS = {"book": _book, "notebooks": _notebooks, "check": _check, "serve": _serve, "zip": _zip, "lab": _lab}

if __name__ == "__main__":
    raise SystemExit(main())
