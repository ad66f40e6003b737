"""The order of the house: import-linter's contracts in pyproject.toml are kept, and a wrong import breaks them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flatcube import paths

HOUSE = Path(__file__).parents[1] / "pyproject.toml"
LINT = "import sys; from importlinter import cli; sys.exit(cli.lint_imports(sys.argv[1], no_cache=True, no_logo=True))"


def _lint(library: Path) -> tuple[int, str]:
    """The exit code of lint-imports for the package in the folder ``library``, and what it says, in one line."""
    call = [sys.executable, "-c", LINT, str(HOUSE)]
    environment = os.environ | {"PYTHONPATH": str(library), "COLUMNS": "200"}
    done = subprocess.run(call, cwd=library, env=environment, capture_output=True, encoding="utf-8")
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the library, to plant something in."""
    shutil.copytree(paths.LIBRARY, tmp_path / "flatcube", ignore=shutil.ignore_patterns("*.js", "data", "__pycache__"))
    return tmp_path


def test_rooms_import_in_the_order_of_the_house():
    code, words = _lint(paths.LIBRARY.parent)
    assert code == 0, words


def _plant(library: Path, file: str, lines: str) -> None:
    path = library / "flatcube" / file
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    with path.open("a", encoding="utf-8") as source:
        source.write(f"\n{lines}\n")


@pytest.mark.parametrize(
    ("file", "lines", "imported"),
    [
        ("cube/functions.py", "from flatcube import fourier", "flatcube.fourier"),
        ("networks/blocks.py", "def late():\n    from flatcube.classroom import charts", "flatcube.classroom"),
        ("capacity/norms.py", "from flatcube.experiments import store", "flatcube.experiments"),
        ("classroom/glue.py", "import flatcube.cli", "flatcube.cli"),
        ("sampling.py", "from flatcube import cube", "flatcube.cube"),
        ("fourier/transforms.py", "import torch", "torch"),
    ],
)
def test_a_planted_wrong_import_is_named(copy: Path, file: str, lines: str, imported: str):
    _plant(copy, file, lines)
    code, words = _lint(copy)
    assert code == 1
    room = file.split("/")[0].removesuffix(".py")
    assert f"flatcube.{room} is not allowed to import {imported}: " in words


def test_a_room_without_a_place_in_the_order_is_named(copy: Path):
    _plant(copy, "attic/__init__.py", "")
    code, words = _lint(copy)
    assert code == 1
    assert "- flatcube.attic (Since this contract is marked as 'exhaustive'" in words


@pytest.mark.parametrize(
    ("file", "lines"),
    [
        ("cast.py", "def network():\n    from flatcube import parity"),
        ("fourier/exercises.py", "from flatcube.classroom import charts"),
        ("handmade/explorer.py", "from flatcube.experiments import store"),
        ("fourier/explorers/small.py", "from flatcube.classroom import charts\nfrom flatcube.experiments import store"),
    ],
)
def test_the_written_exceptions_are_allowed(copy: Path, file: str, lines: str):
    _plant(copy, file, lines)
    code, words = _lint(copy)
    assert code == 0, words
