"""How the results were made: `{press-log}`, from the press's own records, and `{stored-results}`, from the manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["PressLog", "StoredResults", "setup"]


def _log(directive: SphinxDirective) -> dict[str, Any]:
    source = Path(directive.env.srcdir) / "chapters" / "press-log.json"
    directive.env.note_dependency(str(source))
    return json.loads(source.read_text(encoding="utf-8"))


class PressLog(SphinxDirective):
    """Two tables: seconds per chapter in the run that made this site, and the versions it ran with."""

    def run(self) -> list[nodes.Node]:
        log = _log(self)
        seconds = [[name, "not run" if s is None else f"{s:.1f}"] for name, s in log["seconds"].items()]
        versions = [list(pair) for pair in log["versions"].items()]
        return [_table(["Chapter", "Seconds"], seconds), _table(["Package", "Version"], versions)]


class StoredResults(SphinxDirective):
    """A table of what is stored in data/: the file, the time of one core, the machine, the command that repeats it."""

    def run(self) -> list[nodes.Node]:
        rows = [
            [name, _time(made["seconds"]), made.get("machine", "not recorded"), _code(made["command"])]
            for name, made in _log(self)["stored"].items()
        ]
        return [_table(["File in data/", "Time of one core", "Machine", "Command"], rows)]


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def _code(text: str) -> nodes.paragraph:
    """As code, or its two dashes would become a long one."""
    return nodes.paragraph("", "", nodes.literal(text=text))


def _table(head: list[str], rows: list[list[str | nodes.paragraph]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.table("", group)


def _row(cells: list[str | nodes.paragraph]) -> nodes.row:
    given = (nodes.paragraph(text=cell) if isinstance(cell, str) else cell for cell in cells)
    return nodes.row("", *[nodes.entry("", cell) for cell in given])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("press-log", PressLog)
    app.add_directive("stored-results", StoredResults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
