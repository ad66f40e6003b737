"""What the tests of the press share: chapters, pages, the command line, processes that come and go."""

import io
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jupytext
import nbformat
import psutil
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from flatcube.classroom.mime import CHART

_CONF = """
from pathlib import Path
extensions = ["myst_parser", "flatcube.press.ledger"]
html_theme = "basic"
nitpicky = True
"""


def write_chapter(root: Path, name: str, code: str) -> Path:
    """A chapter with a parameters cell, a line of prose and one code cell."""
    cells = [
        new_code_cell("SEED = 1\nSIZE = 2", metadata={"tags": ["parameters"]}),
        new_markdown_cell("Prose."),
        new_code_cell(code),
    ]
    return write_text(root / "chapters" / name, cells)


def write_text(path: Path, cells: list[nbformat.NotebookNode]) -> Path:
    """The text of a chapter with these cells."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(jupytext.writes(new_notebook(cells=cells), fmt="md:myst"), encoding="utf-8")
    return path


def chart(title: object, label: str = "", *tags: str) -> nbformat.NotebookNode:
    """A cell that has shown a chart."""
    spec = {"mark": "bar", "title": title, "description": "Bars."} | ({"usermeta": {"label": label}} if label else {})
    return shown({CHART: spec}, *tags)


def shown(data: dict, *tags: str) -> nbformat.NotebookNode:
    """A cell that has shown this."""
    outputs = [new_output("display_data", nbformat.from_dict(data))]
    return new_code_cell("chart", outputs=outputs, metadata={"tags": list(tags)})


def build_pages(folder: Path, pages: dict[str, str], conf: str = "") -> tuple[dict[str, BeautifulSoup], str]:
    """Build a small site with the back matter's directives; its pages by name, and the warnings."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "conf.py").write_text(_CONF + conf, encoding="utf-8")
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    warnings = io.StringIO()
    with patch_docutils(source), docutils_namespace():
        app = Sphinx(source, source, folder / "html", folder / "trees", "html", status=None, warning=warnings)
        app.build()
    files = (folder / "html").rglob("*.html")
    soups = {path.stem: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in files}
    return soups, warnings.getvalue()


def command(root: Path, *words: str) -> list[str]:
    """`flatcube WORDS` on the book in `root`."""
    (root / "_toc.yml").touch()
    return [sys.executable, "-m", "flatcube.cli", *words, "--root", str(root)]


def flatcube(root: Path, *words: str, **options) -> subprocess.CompletedProcess:
    """Run it to its end."""
    return subprocess.run(command(root, *words), capture_output=True, text=True, **options)


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait for something to happen, on a machine that may be busy."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.02)


def alive(process: psutil.Process) -> bool:
    """Whether a process is there and has not ended; one that has may wait for its parent to notice."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def number(path: Path) -> int:
    """The process number that someone has written to a file, or 0 as long as nobody has."""
    return int(path.read_text() or 0) if path.exists() else 0
