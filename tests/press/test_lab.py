"""The working copy: made once, never overwritten, with an index of what is there."""

import sys
from pathlib import Path

import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook

from flatcube.press import lab, notebook


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book with two readers' notebooks."""
    (tmp_path / "chapters/notebooks").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    rows = ["number,slug,title,part,blurb", "1,01-a,Alpha,P,First.", "2,02-b,Beta,P,Then."]
    (tmp_path / "data/plan.csv").write_text("\n".join(rows))
    for name in ("01-a", "02-b"):
        made = notebook.clean(new_notebook(cells=[new_code_cell(name)]))
        notebook.write(made, tmp_path / f"chapters/notebooks/{name}.ipynb")
    return tmp_path


def said(path: Path) -> str:
    return notebook.read(path).cells[0].source


def test_a_working_copy_is_made_once_and_stays(book: Path):
    folder = lab.working_copy(book)
    assert said(folder / "01-a.ipynb") == "01-a"
    (folder / "01-a.ipynb").write_text("mine")
    (folder / "02-b.ipynb").unlink()
    lab.working_copy(book)
    assert (folder / "01-a.ipynb").read_text() == "mine"
    assert said(folder / "02-b.ipynb") == "02-b"


def test_a_copy_is_trusted_and_what_became_of_it_is_not(book: Path):
    copy = lab.working_copy(book) / "01-a.ipynb"
    changed = notebook.read(copy)
    changed.cells[0].source = "another"
    with NotebookNotary() as notary:
        assert notary.check_signature(notebook.read(copy))
        assert not notary.check_signature(changed)


def test_the_index_lists_what_is_there(book: Path):
    (book / "chapters/notebooks/02-b.ipynb").unlink()
    text = notebook.read(lab.working_copy(book) / "index.ipynb").cells[0].source
    assert "1. [Alpha](01-a.ipynb). First." in text and "Beta" not in text


def test_a_fresh_copy_stands_beside_the_old_one(book: Path):
    lab.working_copy(book)
    assert [lab.another(book, word).name for word in ("2", "02", "02-b")] == [f"02-b-{k}.ipynb" for k in (2, 3, 4)]


@pytest.mark.parametrize("word", ["x", "", "0", "99", "-1", "2.5", "02-a", "²"])
def test_a_chapter_that_is_not_there_is_named(book: Path, word: str):
    with pytest.raises(ValueError, match=f"--fresh: expected the number of a chapter, such as 07, got '{word}'"):
        lab.start(book, [], word)


def test_jupyterlab_opens_the_index_or_the_fresh_copy(book: Path, monkeypatch: pytest.MonkeyPatch):
    calls = []
    monkeypatch.setattr("os.execv", lambda path, call: calls.append(call))
    monkeypatch.setattr("os.name", "posix")
    monkeypatch.chdir(book)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/theirs")
    lab.start(book, ["--no-browser"])
    lab.start(book, [], "1")
    assert calls[0][:4] == [sys.executable, "-m", "jupyter", "lab"] and calls[0][-1] == "--no-browser"
    opened = [call[6].removeprefix("--LabApp.default_url=/lab/tree/") for call in calls]
    assert opened == ["index.ipynb", "01-a-2.ipynb"]
