"""A chapter that does not run at a smaller size is seen; papermill overrides its parameters."""

import json
import subprocess
import sys
from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook

from flatcube.press import notebook
from tests.notebooks.fixtures import SMALL


def test_a_size_that_breaks_a_chapter_is_seen(run_small, tmp_path: Path):
    cells = [new_code_cell("SIZE = 2", metadata={"tags": ["parameters"]}), new_code_cell("1 / (SIZE - 1)")]
    notebook.write(notebook.clean(new_notebook(cells=cells)), tmp_path / "01-a.ipynb")
    assert run_small(tmp_path / "01-a.ipynb", {}) is None
    assert run_small(tmp_path / "01-a.ipynb", {"SIZE": 1}) == "cell 3: ZeroDivisionError: division by zero"


def test_an_output_that_cannot_be_shown_is_seen(run_small, tmp_path: Path):
    source = "class Bad:\n    def _repr_mimebundle_(self, *_, **__):\n        raise ValueError('no paper')\nBad()"
    cells = [new_code_cell("SIZE = 2", metadata={"tags": ["parameters"]}), new_code_cell(source)]
    notebook.write(notebook.clean(new_notebook(cells=cells)), tmp_path / "01-a.ipynb")
    assert run_small(tmp_path / "01-a.ipynb", {}) == "cell 3: ValueError: no paper"


def test_where_there_are_no_forks_new_processes_answer(tmp_path: Path):
    source = "import os\nos._exit(3) if SIZE == 0 else 1 / (SIZE - 1)"
    cells = [new_code_cell("SIZE = 2", metadata={"tags": ["parameters"]}), new_code_cell(source)]
    notebook.write(notebook.clean(new_notebook(cells=cells)), tmp_path / "01-a.ipynb")
    asked = [json.dumps([str(tmp_path / "01-a.ipynb"), {"SIZE": size}]) for size in (2, 1, 0)]
    done = subprocess.run([sys.executable, str(SMALL), "new"], input="\n".join(asked), capture_output=True, text=True)
    well, error, death = map(json.loads, done.stdout.splitlines())
    assert (well, error) == (None, "cell 3: ZeroDivisionError: division by zero")
    assert "terminated abruptly" in death
