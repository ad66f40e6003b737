"""Editions: the same text with its solutions folded, left out, or open; the second set is in the instructors' only."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from flatcube.classroom import problems
from flatcube.classroom.exercises import find
from flatcube.press import audience, notebook, site
from tests.press.small import write_text

ROOT = Path(__file__).parents[2]
SECRET = find("2.3").code().splitlines()[-1].strip()  # of the first set: public, but not in the students' edition


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book with one chapter that has an exercise with its solution, notes for teaching, and the real second sets."""
    root = tmp_path_factory.mktemp("book")
    site.fetch_frontend(ROOT)
    (root / "_build").mkdir()
    (root / "_build/frontend").symlink_to(ROOT / "_build/frontend")
    (root / "chapters/teaching").mkdir(parents=True)
    for name in ("_config.yml", "requirements.lock", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, root / name)
    for name in ("data", problems.FOLDER):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "chapters/references.bib", root / "chapters")
    toc = "format: jb-book\nroot: chapters/index\nchapters:\n- file: chapters/02-sensitivity\n"
    (root / "_toc.yml").write_text(toc)
    (root / "chapters/index.md").write_text("# Small book\n\nSee {doc}`02-sensitivity`.\n")
    (root / "chapters/teaching/notes-02-sensitivity.md").write_text("# Notes on chapter 2\n\nAsk for hands.\n")
    imports = "import numpy as np\nfrom flatcube.classroom.exercises import check, solution"
    hidden = {"tags": ["remove-input"]}
    cells = [new_code_cell("SEED = 1", metadata={"tags": ["parameters"]}), new_code_cell(imports)]
    cells += [new_code_cell(find("2.3").stub()), new_code_cell('solution("2.3")', metadata=hidden)]
    write_text(root / "chapters/02-sensitivity.md", [new_markdown_cell("# Sensitivity"), *cells])
    return root


@pytest.fixture(scope="module")
def sites(book: Path) -> dict[str, Path]:
    """The sites of all editions, built one after the other."""
    for edition in audience.EDITIONS:
        call = [sys.executable, "-m", "flatcube.cli", "book", "--root", str(book), "--edition", edition]
        done = subprocess.run(call, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "is built" in done.stdout
    return {edition: site.built(book, edition) for edition in audience.EDITIONS}


def _text(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in folder.rglob("*") if path.is_file())


def _packs(folder: Path) -> str:
    """What the pages' Python brings along, unpacked."""
    import base64
    import gzip
    import json

    script = (folder / "_static/flatcube/python-library.js").read_text(encoding="utf-8")
    files = json.loads(script[script.index("{") : script.rindex("}") + 1])
    return "\n".join(gzip.decompress(base64.b64decode(text)).decode("utf-8", "replace") for text in files.values())


def test_editions_stand_beside_each_other(book: Path, sites: dict[str, Path]):
    assert [place.name for place in sites.values()] == ["html", "html-student", "html-instructor"]
    assert all((place / "chapters/02-sensitivity.html").is_file() for place in sites.values())
    assert not site.build(book, audience.STUDENT)  # nothing has changed


def test_solutions_are_folded_left_out_or_open(sites: dict[str, Path]):
    pages = {edition: (place / "chapters/02-sensitivity.html").read_text() for edition, place in sites.items()}
    folds = {edition: page.count("Solution of 2.3") for edition, page in pages.items()}
    assert folds == {"reader": 1, "student": 0, "instructor": 1}
    opened = {edition: len(re.findall(r"<details[^>]*solution[^>]* open", page)) for edition, page in pages.items()}
    assert opened == {"reader": 0, "student": 0, "instructor": 1}
    for edition, place in sites.items():
        cells = notebook.read(place / "notebooks/02-sensitivity.ipynb").cells
        assert any(cell.source == 'solution("2.3")' for cell in cells) == (edition != "student")
        assert any(SECRET in str(cell.get("outputs")) for cell in cells) == (edition != "student")
    assert all(find("2.3").name in page for page in pages.values())


def test_the_second_set_is_in_the_instructors_edition_and_nowhere_else(sites: dict[str, Path]):
    texts = {edition: _text(place) + _packs(place) for edition, place in sites.items()}
    tasks = [task for task in problems.load(ROOT).values() if task.id.startswith("2.")]
    assert "class Problem(Exercise)" in texts["student"]  # the packs were searched
    for task in problems.load(ROOT).values():
        secrets = [f"def {task.name}(", task.why]
        assert [word for word in secrets for edition in ("reader", "student") if word in texts[edition]] == []
    page = (sites["instructor"] / "chapters/instructor/second-02-sensitivity.html").read_text()
    assert [task.id for task in tasks if f"{task.id} · " not in page] == []
    book = notebook.read(sites["instructor"] / "notebooks/02-sensitivity.ipynb")
    assert [task.id for task in tasks if task.code() not in [cell.source for cell in book.cells]] == []


def test_notes_for_teaching_are_in_the_instructors_edition(sites: dict[str, Path]):
    there = [edition for edition, place in sites.items() if list(place.glob("chapters/teaching/notes-02*.html"))]
    assert there == ["instructor"]


def test_notebooks_of_an_edition_are_exported(book: Path, sites: dict[str, Path]):
    call = [sys.executable, "-m", "flatcube.cli", "notebooks", "--root", str(book), "--edition", "student"]
    assert subprocess.run(call, capture_output=True).returncode == 0
    made = notebook.read(book / "_build/notebooks-student/02-sensitivity.ipynb")
    assert not any("solution(" in cell.source and cell.source.startswith("solution") for cell in made.cells)
    assert not (book / "chapters/notebooks").exists()


def test_an_edition_that_is_none_is_named(book: Path):
    call = [sys.executable, "-m", "flatcube.cli", "book", "--root", str(book)]
    done = subprocess.run(call, capture_output=True, text=True, env={"EDITION": "teacher", "PATH": ""})
    assert done.returncode == 2
    assert "EDITION: expected one of reader, student, instructor, got 'teacher'." in done.stderr
    with pytest.raises(ValueError, match="edition: expected one of reader"):
        audience.place(book, "html", "teacher")


def test_every_solution_cell_of_the_real_chapters_is_found():
    for chapter in notebook.chapters(ROOT):
        cells = [cell for cell in notebook.read(chapter).cells if cell.cell_type == "code"]
        shown = [cell.source for cell in cells if cell.source.lstrip().startswith("solution(")]
        assert shown and all(audience._SOLUTION.fullmatch(source) for source in shown), chapter.stem
        assert not any("solution(" in cell.source for cell in audience.trimmed(notebook.read(chapter), "student").cells)
