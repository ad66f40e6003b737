"""The press runs a chapter again when, and only when, something it depends on changed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flatcube.press import edition, execute, notebook
from tests.press.small import flatcube, write_chapter

IMPORT = "import sys; sys.path.insert(0, '../lib')\n"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small book: one chapter on module a, one on b (loaded by name at run time), one on a data file."""
    root = tmp_path_factory.mktemp("book")
    for folder in ("lib/toy", "data"):
        (root / folder).mkdir(parents=True)
    (root / "lib/toy/__init__.py").touch()
    (root / "lib/toy/a.py").write_text("VALUE = 1\n")
    (root / "lib/toy/b.py").write_text("VALUE = 2\n")
    (root / "data/numbers.csv").write_text("3\n")
    (root / "requirements.lock").write_text("numpy==2\n")
    write_chapter(root, "01-a.md", IMPORT + "from toy import a\nprint(a.VALUE * SIZE)")
    write_chapter(root, "02-b.md", IMPORT + "import importlib\nprint(importlib.import_module('toy.b').VALUE)")
    write_chapter(root, "03-data.md", "print(open('../data/numbers.csv').read())")
    return root


def ran(root: Path, parameters: dict | None = None) -> list[str]:
    """Run the press in a process of its own, as the command line does; the chapters it executed."""
    script = (
        "import json, sys; from pathlib import Path; from flatcube.press import execute\n"
        "if __name__ == '__main__':\n"
        "    done = execute.run(Path(sys.argv[1]), parameters=json.loads(sys.argv[2]))\n"
        "    print(json.dumps([o.chapter.stem for o in done if o.executed]))\n"
    )
    runner = root / "runner.py"
    runner.write_text(script)
    call = [sys.executable, str(runner), str(root), json.dumps(parameters or {})]
    return json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def stale(root: Path, parameters: dict | None = None) -> list[str]:
    """The chapters that the press would execute now."""
    return [c.stem for c in notebook.chapters(root) if not execute.is_fresh(root, c, parameters)]


def output(root: Path, name: str) -> str:
    """The text that the last cell of the executed copy printed."""
    return execute.executed_copy(root, root / "chapters" / name).cells[-1].outputs[0].text


def test_only_what_changed_runs_again(book: Path):
    assert ran(book) == ["01-a", "02-b", "03-data"]
    assert ran(book) == []

    (book / "lib/toy/a.py").write_text("VALUE = 10\n")
    assert ran(book) == ["01-a"]
    assert output(book, "01-a.md") == "20\n"

    (book / "lib/toy/b.py").write_text("VALUE = 20\n")
    assert stale(book) == ["02-b"]

    (book / "data/numbers.csv").write_text("30\n")
    assert stale(book) == ["02-b", "03-data"]
    assert ran(book) == ["02-b", "03-data"]
    assert output(book, "03-data.md") == "30\n\n"

    write_chapter(book, "03-data.md", "print(open('../data/numbers.csv').read() + 'new')")
    assert stale(book) == ["03-data"]

    (book / "lib/toy/__init__.py").write_text("# a line that both chapters read\n")
    assert stale(book) == ["01-a", "02-b", "03-data"]
    assert ran(book) == ["01-a", "02-b", "03-data"]


def test_prose_alone_runs_nothing_but_is_shown(book: Path):
    ran(book)
    chapter = book / "chapters/01-a.md"
    chapter.write_text(chapter.read_text().replace("Prose.", "Better prose."))
    assert ran(book) == []
    copy = execute.executed_copy(book, chapter)
    assert copy.cells[1].source == "Better prose."
    assert copy.cells[2].outputs[0].text == "20\n"


def test_parameters_and_versions_count(book: Path):
    assert ran(book, {"SIZE": 5}) == ["01-a", "02-b", "03-data"]
    assert output(book, "01-a.md") == "50\n"
    assert ran(book, {"SIZE": 5}) == []
    assert stale(book) == ["01-a", "02-b", "03-data"]
    (book / "requirements.lock").write_text("numpy==3\n")
    assert stale(book, {"SIZE": 5}) == ["01-a", "02-b", "03-data"]


def test_a_failing_chapter_is_named_and_the_others_still_run(book: Path, tmp_path: Path):
    root = tmp_path / "book"
    shutil.copytree(book, root, ignore=shutil.ignore_patterns("_build"))
    write_chapter(root, "02-b.md", "x = 1\nraise ValueError('n must be positive')")
    done = flatcube(root, "check")
    assert done.returncode == 1
    assert "chapters/02-b.md, cell 3: ValueError: n must be positive" in done.stderr
    assert execute.is_fresh(root, root / "chapters/01-a.md")
    assert execute.is_fresh(root, root / "chapters/03-data.md")
    assert not execute.is_fresh(root, root / "chapters/02-b.md")


def test_outputs_that_were_just_refreshed_are_checked_against_another_run(book: Path, tmp_path: Path):
    shutil.copy(book / "requirements.lock", tmp_path)
    write_chapter(tmp_path, "01-a.md", "import random\nprint(random.random())")
    for command, code in (("notebooks", 0), ("check", 1)):
        assert flatcube(tmp_path, command).returncode == code


def test_refreshed_outputs_are_the_same_bytes_every_time(book: Path, tmp_path: Path):
    root = tmp_path / "book"
    shutil.copytree(book, root, ignore=shutil.ignore_patterns("_build"))
    texts = []
    for _ in range(2):
        flatcube(root, "notebooks", check=True)
        texts.append([edition.path(root, chapter).read_bytes() for chapter in notebook.chapters(root)])
        shutil.rmtree(root / "_build")
    assert texts[0] == texts[1]
    assert b"20" in texts[0][0]
