"""Figures and their numbers: every chart and every explorer of a chapter, counted in the order of the page.

A cell may give one a label, `figure(…, label="fig-butterfly")` or `explorer(…, label="fig-cube")`; the role
{fig}`fig-butterfly` then says "Figure 1.2", on the site and in the readers' notebooks. Pages know the labels of all
chapters from the file FILE, which the press writes beside them.
"""

from __future__ import annotations

import contextlib
import html
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.util.docutils import SphinxRole

from flatcube.classroom.mime import CHART, ELEMENT
from flatcube.press import execute, notebook

__all__ = ["FILE", "Figure", "FigureRole", "numbered", "labelled", "stored"]

FILE = "figures.json"
UNSHOWN = {notebook.LAB_ONLY, "remove-cell", "remove-output"}  # cells whose outputs are not on the page


@dataclass(frozen=True)
class Figure:
    """One figure: the chapter, its number there, its label if it has one, and its title in words."""

    chapter: str
    number: str
    label: str
    title: str

    @property
    def name(self) -> str:
        return f"Figure {self.number}"

    def framed(self, inside: str, *, titled: bool) -> str:
        """The figure on the site, below its number and, unless it is `titled` itself, its title."""
        place = self.label or f"figure-{self.number.replace('.', '-')}"
        title = html.escape(self.title)
        head = f"<p><b>{self.name}</b>{'' if titled else f' {title}'}</p>"
        return f'<div class="fc-figure" id="{place}" data-title="{title}">{head}{inside}</div>'


def numbered(chapter: str, executed: nbformat.NotebookNode) -> Iterator[tuple[Any, Any, Figure]]:
    """Each figure of an executed chapter with its cell and its output."""
    count = 0
    for cell in executed.cells:
        shown = not UNSHOWN & set(cell.metadata.get("tags", []))
        for output in cell.get("outputs", []) if shown else ():
            if said := _said(output.get("data", {})):
                count += 1
                yield cell, output, Figure(chapter, f"{int(chapter[:2])}.{count}", *said)


def _said(data: dict[str, Any]) -> tuple[str, str] | None:
    """The label and the title of a figure; None for an output that is none."""
    if CHART in data:
        return data[CHART].get("usermeta", {}).get("label", ""), _words(data[CHART].get("title", ""))
    payload = data.get(ELEMENT, {})
    return (payload.get("figure", ""), payload.get("label", "")) if payload.get("element") == "explorer" else None


def _words(title: Any) -> str:
    """A chart's title as one line; one that follows a menu has no words of its own."""
    if isinstance(title, dict):
        return _words(title.get("text", ""))
    return " ".join(title) if isinstance(title, list) else str(title)


def labelled(root: Path) -> dict[str, Figure]:
    """All figures of the book with a label; a chapter that has not been executed has none."""
    found: dict[str, Figure] = {}
    for chapter in notebook.chapters(root):
        with contextlib.suppress(FileNotFoundError):
            for _, _, figure in numbered(chapter.stem, execute.executed_copy(root, chapter)):
                if other := found.get(figure.label):
                    raise ValueError(f"{chapter.stem}: the label {figure.label!r} is also that of {other.name}")
                found |= {figure.label: figure} if figure.label else {}
    return found


def stored(found: dict[str, Figure]) -> bytes:
    """The file FILE."""
    return json.dumps({label: asdict(figure) for label, figure in found.items()}, indent=1).encode()


class FigureRole(SphinxRole):
    """{fig}`fig-butterfly` links to the figure with this label, by its number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        file = Path(self.env.srcdir) / "chapters" / FILE
        self.env.note_dependency(str(file))
        known = json.loads(file.read_text(encoding="utf-8"))
        if self.text not in known:
            return [], [self.inliner.reporter.error(f"No figure has the label {self.text!r}.", line=self.lineno)]
        figure = Figure(**known[self.text])
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"chapters/{figure.chapter}")
        return [nodes.reference("", figure.name, internal=True, refuri=f"{page}#{figure.label}")], []
