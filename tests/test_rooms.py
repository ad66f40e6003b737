"""A chapter is planned and tested as all others are: its room has the common tests."""

import importlib
from pathlib import Path

import pytest
import yaml

from flatcube.press import notebook
from tests import room as one_room
from tests import rooms
from tests.browser.figure_tests import FigureTests
from tests.classroom.exercise_tests import ExerciseTests
from tests.notebooks.notebook_tests import NotebookTests

COMMON = {"test_exercises": ExerciseTests, "test_figures_page": FigureTests, "test_notebook": NotebookTests}


def test_every_chapter_names_its_room_and_stands_in_the_contents():
    chapters = [path.stem for path in notebook.chapters(rooms.ROOT)]
    assert sorted(map(rooms.chapter, rooms.ROOMS)) == chapters != []
    contents = (rooms.ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert [name for name in chapters if f"- file: chapters/{name}\n" not in contents] == []


def test_chapters_stand_in_the_contents_in_the_order_of_their_numbers():
    """Some may be missing: the press gives each the number of its file (tests/press/test_figures.py)."""
    parts = yaml.safe_load((rooms.ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    files = [chapter["file"].split("/")[-1] for part in parts if part.get("numbered") for chapter in part["chapters"]]
    assert files == [path.stem for path in notebook.chapters(rooms.ROOT)]


@pytest.mark.parametrize("room", rooms.ROOMS)
@pytest.mark.parametrize("file", COMMON)
def test_a_room_has_the_common_tests(room: str, file: str):
    base, found = COMMON[file], []
    if (rooms.ROOT / f"tests/{room}/{file}.py").exists():
        things = vars(importlib.import_module(f"tests.{room}.{file}")).items()
        found = [thing for name, thing in things if name.startswith("Test") and issubclass(thing, base)]
    assert len(found) == 1, f"tests/{room}/{file}.py: expected one class Test… derived from {base.__name__}"
    unsaid = [name for name in base.__annotations__ if not hasattr(found[0], name)]
    assert unsaid == [], f"tests/{room}/{file}.py: {found[0].__name__} does not say its {' and its '.join(unsaid)}"
    assert found[0].room == room


def test_what_concerns_a_room_is_run():
    library, notebook_cells, house, pages = one_room.runs("sparse_variables")
    assert "tests/sparse_variables" in library
    assert "chapters/notebooks/05-sparse-variables.ipynb" in notebook_cells
    assert {"tests/test_doors.py", "tests/press/test_teaching.py"} < set(house)
    assert house[-1].startswith("sparse_variables or 05-sparse-variables or ")
    assert {"tests/sparse_variables/test_figures_page.py", "tests/browser/test_pages.py"} < set(pages)
    assert pages[-2:] == ["-k", "_page.py or 05-sparse-variables"]


def test_what_is_asked_of_every_room_is_there():
    for path in one_room.HOUSE + one_room.PAGES:
        assert (rooms.ROOT / path).is_file(), path


def _chapter(root: Path, name: str, said: str) -> None:
    (root / "chapters").mkdir(exist_ok=True)
    (root / f"chapters/{name}.md").write_text(f"---\n{said}\n---\n\n# A title\n")


def test_a_notebook_that_nobody_has_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(rooms, "ROOT", tmp_path)
    _chapter(tmp_path, "19-toy", "room: toy")
    with pytest.raises(FileNotFoundError, match="^chapters/notebooks/19-toy.ipynb is not there; 'flatcube notebooks'"):
        rooms.stored("toy")


def test_drafts_are_not_finished(tmp_path: Path):
    _chapter(tmp_path, "01-done", "room: done")
    _chapter(tmp_path, "02-begun", "room: begun\ndraft: true")
    assert [path.stem for path in rooms.finished(tmp_path)] == ["01-done"]


def test_a_room_without_a_chapter_has_neither_a_notebook_nor_a_page():
    assert [run[-1] for run in one_room.runs("cube")] == ["*_page.py", "tests/cube/test_explorer_page.py"]
    assert len(one_room.runs("press")) == 1


def test_an_unknown_room_is_named(capsys: pytest.CaptureFixture):
    assert one_room.main("nowhere") == 2
    assert capsys.readouterr().err.startswith("ROOM: expected one of blowup, capacity, ")
