"""nbval without a second run: its kernel replays the copies that the press has executed.

    python -m pytest -p tests.notebooks.replay --nbval-lax chapters/notebooks

nbval collects the readers' notebooks, compares and reports as ever. A chapter whose copy does not belong to the present
source, parameters, modules, data and versions, by the press's own key, fails.
"""

from __future__ import annotations

from pathlib import Path

import nbval.plugin
import pytest

from flatcube.press import compare, execute


class Replay:
    """Stands in for nbval's kernel: answers each cell with the messages that gave the outputs of its last execution."""

    def __init__(self, root: Path, chapter: Path) -> None:
        if not execute.is_fresh(root, chapter):
            name = chapter.relative_to(root)
            pytest.fail(f"{name}: no executed copy of its present state; run 'flatcube book' first.", pytrace=False)
        self.cells = [cell for cell in execute.executed_copy(root, chapter).cells if cell.cell_type == "code"]
        self.messages: list[dict] = []

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Lay out the messages of the next cell."""
        cell = self.cells.pop(0)
        said = [(output.output_type, output) for output in cell.outputs]
        self.messages = [
            {"msg_type": kind, "content": content, "parent_header": {"msg_id": cell.id}}
            for kind, content in [*said, ("status", {"execution_state": "idle"})]
        ]
        return cell.id

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        return self.messages.pop(0)

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """All is said already."""

    def await_idle(self, parent_id: str, timeout: float) -> None:
        self.messages.clear()

    def is_alive(self) -> bool:
        return True

    def stop(self) -> None:
        """There is no process to stop."""


def _setup(notebook: nbval.plugin.IPyNbFile) -> None:
    root = notebook.path.parents[2]
    notebook.kernel = Replay(root, root / "chapters" / f"{notebook.path.stem}.md")
    notebook.setup_sanitize_files()


def _compared(cell: nbval.plugin.IPyNbCell, fresh: list, stored: list, skip_compare: object = None) -> bool:
    """nbval's comparison of two lists of outputs, by the press's own rule."""
    by_statement = compare.BY_STATEMENT in cell.cell.metadata.get("tags", [])
    words = compare.difference(stored, fresh, by_statement=by_statement)
    cell.comparison_traceback = [words] if words else []
    return not words


def pytest_configure(config: pytest.Config) -> None:
    nbval.plugin.IPyNbFile.setup = _setup
    nbval.plugin.IPyNbCell.compare_outputs = _compared
