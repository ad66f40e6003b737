"""JupyterLab on a working copy, `work/`: readers change its notebooks as they like, and git sees nothing of it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_markdown_cell, new_notebook

from flatcube import processes
from flatcube.press import front, notebook

__all__ = ["working_copy", "another", "start"]

HERE = Path(__file__).parent
# No questions to the internet: neither for news, about which labconfig/ keeps JupyterLab from asking, nor for updates.
QUIET = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]


def working_copy(root: Path) -> Path:
    """The folder `work`, with the notebooks that it lacks; those that are there stay as they are."""
    folder = root / "work"
    for source in _sources(root):
        if not (folder / source.name).exists():
            _copy(source, folder / source.name)
    notebook.write(_index(root), folder / "index.ipynb")
    return folder


def another(root: Path, chapter: str) -> Path:
    """A new copy of the notebook of a chapter, "7" or "07-blowup", beside those that are there."""
    number = int(chapter) if chapter.isdecimal() else None
    found = [path for path in _sources(root) if path.stem == chapter or int(path.name[:2]) == number]
    if not found:
        raise ValueError(f"--fresh: expected the number of a chapter, such as 07, got {chapter!r}")
    names = (f"{found[0].stem}-{k}.ipynb" for k in range(2, 1000))
    target = next(path for path in (root / "work" / name for name in names) if not path.exists())
    _copy(found[0], target)
    return target


def start(root: Path, options: list[str], fresh: str | None = None) -> int:
    """Start JupyterLab on the working copy; it opens the index, or the `fresh` copy of a chapter."""
    folder = working_copy(root)
    page = another(root, fresh).name if fresh is not None else "index.ipynb"
    call = [sys.executable, "-m", "jupyter", "lab", *QUIET, f"--LabApp.default_url=/lab/tree/{page}", *options]
    places = [str(HERE / "labconfig"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, places))
    os.chdir(folder)
    if os.name == "nt":  # where a process cannot be replaced
        return subprocess.call(call)
    os.execv(sys.executable, call)  # so that Ctrl-C reaches JupyterLab alone


def _copy(source: Path, target: Path) -> None:
    """Copy a notebook of ours and trust it: JupyterLab shows no pictures of strangers before they are run."""
    processes.replace(target, source.read_bytes())
    # In a home that cannot be written, pictures come when it runs.
    with contextlib.suppress(OSError, sqlite3.Error), NotebookNotary() as notary:
        notary.sign(notebook.read(target))


def _sources(root: Path) -> list[Path]:
    """The readers' notebooks."""
    return sorted((root / "chapters" / "notebooks").glob("[0-9][0-9]-*.ipynb"))


def _index(root: Path) -> nbformat.NotebookNode:
    """The page on which JupyterLab opens: all chapters, and what may be done with them."""
    there = {path.stem for path in _sources(root)}
    rows = [row for row in front.plan(root / "data") if row["slug"] in there]
    lines = [f"{row['number']}. [{row['title']}]({row['slug']}.ipynb). {row['blurb']}" for row in rows]
    words = (
        "# Flat Minima on the Boolean Cube\n\n"
        "These notebooks are yours: change them as you like. They are copies in the folder `work`, and none is ever "
        "overwritten but this page, which is made anew at every start; `flatcube lab --fresh 7` makes a new copy of "
        "chapter 7 beside the old one.\n\n"
        "In a chapter, *Run → Run All Cells* brings its figures to life.\n\n" + "\n".join(lines)
    )
    return notebook.clean(new_notebook(cells=[new_markdown_cell(words)]))
