"""The library from its wheel, without the repository: it brings the stored results, and chapters run anywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell

from flatcube import paths
from flatcube.classroom import problems
from flatcube.press import notebook

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "LICENSE-TEXT", "lib", "data")

WATCH = """
import os, sys
_opened = set()
sys.addaudithook(lambda event, given: event == "open" and isinstance(given[0], str) and _opened.add(given[0]))
"""
TELL = "import flatcube, json; print(json.dumps([flatcube.__file__, *map(os.path.realpath, _opened)]))"


def python(*arguments: str, cwd: Path, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library as `pip install` leaves it, made through a source distribution, without network."""
    home = tmp_path_factory.mktemp("build")
    (source := home / "source").mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copyfile(ROOT / name, source / name)
    python("-c", "from setuptools import build_meta; build_meta.build_sdist('..')", cwd=source)
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-index", "--no-build-isolation")
    python(*pip, "wheel", *offline, str(next(home.glob("*.tar.gz"))), cwd=home)
    target = home / "installed"
    python(*pip, "install", *offline, "--target", str(target), str(next(home.glob("*.whl"))), cwd=home)
    return target


def test_a_clone_reads_its_own_data():
    assert paths.DATA == ROOT / "data"


def test_an_installation_has_no_problem_of_the_second_set(installed: Path):
    files = [path for path in installed.rglob("*") if path.is_file()]
    held = b"\0".join(path.read_bytes() for path in files)
    assert not any(problems.FOLDER in path.relative_to(installed).parts for path in files)
    assert b"class Problem(Exercise)" in held  # the machinery is there, or the search would find nothing anyway
    for task in problems.load(ROOT).values():
        secrets = [task.title, f"def {task.name}(", task.why, *task.hints, task.code().removeprefix(task.stub()[:-3])]
        assert [words for words in secrets if words.encode() in held] == []


def test_an_installation_has_all_stored_data(installed: Path):
    stored = {path.name: path.read_bytes() for path in (ROOT / "data").iterdir()}
    assert {path.name: path.read_bytes() for path in (installed / "flatcube/data").iterdir()} == stored


@pytest.mark.parametrize("name", ["03-queries", "12-length"])
def test_a_chapter_runs_in_an_empty_folder(installed: Path, tmp_path: Path, name: str):
    """With stored results and exercises; nothing of the repository is opened."""
    chapter = notebook.read(ROOT / "chapters" / "notebooks" / f"{name}.ipynb")
    chapter.cells = [new_code_cell(WATCH), *chapter.cells, new_code_cell(TELL)]
    notebook.write(chapter, tmp_path / "given.ipynb")
    papermill = ("-m", "papermill", "--no-progress-bar", "--kernel", "python3", "given.ipynb", "done.ipynb")
    quick = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    python(*papermill, cwd=tmp_path, PYTHONPATH=str(installed), **quick)
    told = notebook.read(tmp_path / "done.ipynb").cells[-1].outputs[0].text
    library, *opened = map(Path, json.loads(told))
    assert library == installed / "flatcube/__init__.py"
    assert [path for path in opened if path.is_relative_to(installed / "flatcube/data")]
    folders = [(ROOT / folder).resolve() for folder in ("lib", "data", "chapters")]
    assert not [path for path in opened for folder in folders if path.is_relative_to(folder)]
