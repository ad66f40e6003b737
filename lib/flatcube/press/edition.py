"""The readers' notebooks, `chapters/notebooks/NN-name.ipynb`: a chapter as plain Markdown that any Jupyter shows.

`prose` writes out what only the site understands. Code that the site folds or removes is collapsed. The stored outputs
are those with which fresh runs are compared.

A cell tagged `lab-only`, prose or code, stands in the readers' notebook and not on the page: it needs a kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_markdown_cell

from flatcube.classroom.glue import PREFIX
from flatcube.press import execute, figures, notebook, prose
from flatcube.press.book import Book

__all__ = ["path", "fresh", "difference", "refresh", "make"]

TITLE = "Flat Minima on the Boolean Cube"


def path(root: Path, chapter: Path) -> Path:
    """Where the readers' notebook of a chapter stands."""
    return root / "chapters" / "notebooks" / f"{chapter.stem}.ipynb"


def fresh(book: Book, chapter: Path) -> nbformat.NotebookNode:
    """The readers' notebook of a chapter after its last execution."""
    return make(book, chapter, execute.executed_copy(book.root, chapter))


def difference(book: Book, chapter: Path, now: nbformat.NotebookNode) -> str | None:
    """How the stored readers' notebook differs from the one of a fresh run, `now`, or None if they agree."""
    stored = path(book.root, chapter)
    return notebook.first_difference(notebook.read(stored), now) if stored.exists() else "it is not there"


def refresh(book: Book, chapter: Path) -> bool:
    """Write the readers' notebook of a chapter; outputs that agree with the stored ones stay. Whether any is new.

    Prose shows numbers of the outputs, so these are settled first.
    """
    stored, executed = path(book.root, chapter), execute.executed_copy(book.root, chapter)
    if not stored.exists():
        notebook.write(make(book, chapter, executed), stored)
        return True
    old = notebook.read(stored)
    kept = make(book, chapter, _settled(old, executed))
    notebook.write(kept, stored)
    return _outputs(old) != _outputs(kept)


def _outputs(of: nbformat.NotebookNode) -> list[list[dict]]:
    return [cell.outputs for cell in of.cells if cell.cell_type == "code"]


def _settled(stored: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The executed chapter with the stored outputs of code that has not changed, wherever the fresh ones agree."""
    code = [[cell for cell in each.cells if cell.cell_type == "code"] for each in (stored, executed)]
    known = {(cell.source, at): cell for at, cell in _counted(code[0])}
    for at, cell in _counted(code[1]):
        old = known.get((cell.source, at))
        if old and notebook.agree(old, cell):
            cell.outputs = old.outputs
    return executed


def _counted(cells: list[nbformat.NotebookNode]) -> Iterator[tuple[int, nbformat.NotebookNode]]:
    """Cells with the number of earlier ones that have the same source."""
    seen: Counter[str] = Counter()
    for cell in cells:
        yield seen[cell.source], cell
        seen[cell.source] += 1


def make(book: Book, chapter: Path, executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The readers' notebook of an executed chapter."""
    text, cells, captions = prose.Text(book, chapter.stem, _numbers(executed)), [], _captions(chapter.stem, executed)
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell = new_markdown_cell(text.plain(cell.source))
            if not cells:
                cell.source = _opened(book, chapter, cell.source)
        else:
            _collapse(cell)
        cells.append(cell)
        if cell.cell_type == "code" and (found := captions.get(id(cell))):
            cells.append(new_markdown_cell("\n\n".join(found)))
    if lists := text.lists():
        cells.append(new_markdown_cell(lists))
    executed.cells = cells
    return notebook.clean(executed)


def _captions(chapter: str, executed: nbformat.NotebookNode) -> dict[int, list[str]]:
    """What stands below the cells with figures, by their identity: the numbers that the site gives them."""
    found: dict[int, list[str]] = {}
    for cell, _, figure in figures.numbered(chapter, executed):
        found.setdefault(id(cell), []).append(f"**{figure.name}.** {prose.escaped(figure.title)}".strip())
    return found


def _collapse(cell: nbformat.NotebookNode) -> None:
    """Hide the source that the site folds or removes, in the words of JupyterLab and VS Code, and of Colab."""
    tags = cell.metadata.get("tags", [])
    if not notebook.is_shown(cell):
        cell.metadata["jupyter"] = {"source_hidden": True}
        cell.metadata["cellView"] = "form"
        if {"remove-cell", "remove-output"} & set(tags):
            cell.metadata["jupyter"]["outputs_hidden"] = True


def _numbers(executed: nbformat.NotebookNode) -> dict[str, str]:
    """What the code has kept for the prose, by name."""
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    kept = [output for output in outputs if "scrapbook" in output.get("metadata", {})]
    return {o.metadata["scrapbook"]["name"]: yaml.safe_load(o.data[f"{PREFIX}text/plain"]) for o in kept}


def _opened(book: Book, chapter: Path, source: str) -> str:
    """The first cell, with the number of the chapter in its title and a sentence on how to run it."""
    number, home = int(chapter.stem[:2]), book.link(f"*{TITLE}*", f"{chapter.stem}.html")
    where = f"flatcube[torch,book] @ git+{book.repository}" if book.repository else ".[torch,book]"
    copy = "in a copy of the book's repository"
    note = (
        f"> This is chapter {number} of {home}. To run it, install the book's library: "
        f'`pip install "{where}"`{"" if book.repository else f" {copy}"}; or call `make lab` '
        f"{copy if book.repository else 'there'}, which also opens this notebook. *Run All* brings figures and "
        "questions to life. Code that draws or asks is folded: click the bar in its place to see it."
    )
    if not book.site:
        note += " Notation, claims and errata have pages of their own: `make book` builds them in `_build/html`."
    title, _, rest = source.partition("\n")
    return f"{title.replace('# ', f'# {number} ', 1)}\n\n{note}\n{rest}"
