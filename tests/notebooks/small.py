"""Runs chapters with other parameters, each in a fork of one process that has imported what chapters import.

On Windows there are no forks, and on macOS they are not safe after such imports: there it is a new process for each.

    python tests/notebooks/small.py      reads lines [path, parameters]; answers each with null or the error, as JSON

Papermill puts the parameters in. The cells run in an IPython shell instead of a kernel, and charts are not drawn as
pictures: a chapter then costs its own computation and little else.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import nbformat
import torch  # noqa: F401
from IPython.core.interactiveshell import InteractiveShell
from papermill.parameterize import parameterize_notebook

from flatcube.classroom import charts, explorers  # noqa: F401
from flatcube.press import notebook

__all__ = ["run", "main"]

FORKS = sys.platform == "linux" and "new" not in sys.argv  # `small.py new` tries the other way


def run(path: Path, parameters: dict[str, Any]) -> str | None:
    """Run the chapter at `path`; return None, or "cell 7: ValueError: …"."""
    charts.Figure.svg = ""
    os.chdir(path.parent)
    shell = InteractiveShell.instance(history_load_length=0)
    shell.history_manager.enabled = False
    sys.stdout, shown = io.StringIO(), []
    shell.showtraceback = lambda *_, **__: shown.append(sys.exc_info()[1])  # also for an output that cannot be shown
    given = _ready(notebook.read(path))
    for index, cell in enumerate(parameterize_notebook(given, parameters).cells, start=1):
        if cell.cell_type == "code":
            done = shell.run_cell(cell.source)
            error = done.error_before_exec or done.error_in_exec or next(iter(shown), None)
            if error:
                return f"cell {index}: {type(error).__name__}: {error}"
    return None


def _ready(given: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """With the entries that papermill looks for."""
    given.metadata = nbformat.from_dict(notebook.METADATA | {"papermill": {}})
    for cell in given.cells:
        cell.metadata.setdefault("tags", [])
    return given


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        print(_forked(line) if FORKS else _fresh(line), flush=True)


def _forked(line: str) -> str:
    """The answer of a fork; one that dies without a word has its exit code as error."""
    path, parameters = json.loads(line)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(run(Path(path), parameters)).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as answer:
        said = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or json.dumps(f"the process ended with {code}")


def _fresh(line: str) -> str:
    """The answer of a new process, likewise: slower, but to be had everywhere."""
    path, parameters = json.loads(line)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return json.dumps(pool.submit(run, Path(path), parameters).result())
        except BrokenProcessPool as death:
            return json.dumps(str(death))


if __name__ == "__main__":
    main()
