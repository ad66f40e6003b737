"""The directive `{press-log}`: how long each chapter took and with which versions, from the press's own records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["PressLog", "setup"]


class PressLog(SphinxDirective):
    """Two tables: seconds per chapter in the run that made this site, and the versions it ran with."""

    def run(self) -> list[nodes.Node]:
        source = Path(self.env.srcdir) / "chapters" / "press-log.json"
        self.env.note_dependency(str(source))
        log = json.loads(source.read_text(encoding="utf-8"))
        seconds = [[name, "not run" if s is None else f"{s:.1f}"] for name, s in log["seconds"].items()]
        versions = [list(pair) for pair in log["versions"].items()]
        return [_table(["Chapter", "Seconds"], seconds), _table(["Package", "Version"], versions)]


def _table(head: list[str], rows: list[list[str]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.table("", group)


def _row(cells: list[str]) -> nodes.row:
    return nodes.row("", *[nodes.entry("", nodes.paragraph(text=cell)) for cell in cells])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("press-log", PressLog)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
