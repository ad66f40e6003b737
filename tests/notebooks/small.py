"""Runs chapters with other parameters, each in a fork of one process that has imported what chapters import.

    python tests/notebooks/small.py      reads lines [path, parameters]; answers each with null or the error, as JSON

Papermill puts the parameters in. The cells run in an IPython shell instead of a kernel, and charts are not drawn as
pictures: a chapter then costs its own computation and little else.
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch  # noqa: F401
from IPython.core.interactiveshell import InteractiveShell
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from flatcube.classroom import charts, explorers  # noqa: F401

__all__ = ["run", "main"]


def run(path: Path, parameters: dict[str, Any]) -> str | None:
    """Run the chapter at `path`; return None, or "cell 7: ValueError: …"."""
    charts.Figure.svg = ""
    os.chdir(path.parent)
    shell = InteractiveShell.instance(history_load_length=0)
    shell.history_manager.enabled = False
    sys.stdout, shown = io.StringIO(), []
    shell.showtraceback = lambda *_, **__: shown.append(sys.exc_info()[1])  # also for an output that cannot be shown
    for index, cell in enumerate(parameterize_notebook(load_notebook_node(str(path)), parameters).cells, start=1):
        if cell.cell_type == "code":
            done = shell.run_cell(cell.source)
            error = done.error_before_exec or done.error_in_exec or next(iter(shown), None)
            if error:
                return f"cell {index}: {type(error).__name__}: {error}"
    return None


def main() -> None:
    """Serve until the input ends; a fork that dies without a word has its exit code as error."""
    for line in sys.stdin:
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
        print(said or json.dumps(f"the process ended with {code}"), flush=True)


if __name__ == "__main__":
    main()
