r"""Symbols of the page Notation: {sym}`\chi_S` is the symbol, with a link to its row there.

A row of a table in a block `fc-symbols` lists its symbols in the first column; a role names one as it stands there,
without the dollars.
"""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.util.docutils import SphinxRole

__all__ = ["PAGE", "SymbolRole", "listed", "anchor", "written"]

PAGE = "notation"
_BLOCK = re.compile(r"^:{3,}\{div\} [^\n]*\bfc-symbols\b[^\n]*\n(.*?)^:{3,}$", re.MULTILINE | re.DOTALL)


def listed(folder: Path) -> dict[str, str]:
    """The place on the page of each symbol that the text `notation.md` in `folder` lists."""
    text = (folder / f"{PAGE}.md").read_text(encoding="utf-8")
    rows = [row for block in _BLOCK.findall(text) for row in block.strip().split("\n")[2:]]
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        cell = row.split("|")[1].strip()
        for symbol in re.findall(r"\$([^$]+)\$", cell) or [cell]:
            found.setdefault(symbol, f"symbol-{number}")
    return found


def anchor(soup: BeautifulSoup) -> None:
    """Give each row of symbols on a page its place."""
    for number, row in enumerate(soup.select(".fc-symbols tbody tr"), start=1):
        row["id"] = f"symbol-{number}"


def written(symbol: str) -> str:
    """How a symbol stands in a sentence: a word as it is, all else as a formula."""
    return symbol if symbol.isalpha() and len(symbol) > 1 else f"${symbol}$"


class SymbolRole(SphinxRole):
    r"""{sym}`\chi_S` shows the symbol and leads to its row."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        folder = Path(self.env.srcdir) / "chapters"
        self.env.note_dependency(str(folder / f"{PAGE}.md"))
        known = listed(folder)
        if self.text not in known:
            return [], [self.inliner.reporter.error(f"{PAGE}.md lists no symbol {self.text!r}.", line=self.lineno)]
        formula = written(self.text).startswith("$")
        shown = [nodes.math(self.text, self.text)] if formula else [nodes.Text(self.text)]
        if formula:  # a link needs a name in words
            shown.insert(0, nodes.inline("", "symbol ", classes=["fc-hidden"]))
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"chapters/{PAGE}")
        return [
            nodes.reference("", "", *shown, internal=True, refuri=f"{page}#{known[self.text]}", classes=["fc-sym"])
        ], []
