"""Every chapter also runs at a smaller size, as on a slow machine: papermill overrides its parameters."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from flatcube.press import notebook

ROOT = Path(__file__).parents[2]

# What a reader on a slow machine might set; every chapter needs an entry.
SMALLER = {
    "01-fourier": {"SEED": 7, "N": 5},
    "02-sensitivity": {"SEED": 7, "N": 5},
    "03-queries": {"SEED": 7, "N": 20},
    "04-handmade": {"SEED": 7, "T": 6},
    "05-sparse-variables": {"SEED": 7, "T": 8},
    "06-parity": {"SEED": 7, "N": 500},
    "07-blowup": {"SEED": 3, "N": 31},
    "08-capacity": {"SEED": 7, "T": 12},
    "09-sharpness": {"SEED": 7, "N": 33},
    "10-pacbayes": {"SEED": 7, "T": 12},
    "11-scratchpad": {"SEED": 7, "T": 32},
    "12-length": {"SEED": 7, "N": 3},
}


def test_every_chapter_has_a_smaller_size():
    assert {path.stem for path in notebook.chapters(ROOT)} == set(SMALLER)


@pytest.fixture(scope="module")
def run_small() -> Iterator[Callable[[Path, dict], str | None]]:
    """`run_small(chapter, parameters)`: None, or the first error of a run with these parameters."""
    environment = os.environ | {"FLATCUBE_PRESS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen([sys.executable, str(Path(__file__).with_name("small.py"))], **options) as server:

        def answer(chapter: Path, parameters: dict) -> str | None:
            server.stdin.write(json.dumps([str(chapter), parameters]) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield answer
        server.stdin.close()


@pytest.mark.parametrize("name", SMALLER)
def test_a_chapter_runs_at_a_smaller_size(name: str, run_small):
    assert run_small(ROOT / "chapters" / f"{name}.ipynb", SMALLER[name]) is None


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
