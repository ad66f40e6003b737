"""What every chapter's notebook promises: parameters, clean outputs, short cells, numbers that are computed.

A room derives a class from `NotebookTests` and says at which smaller size its chapter must run, too.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import nbformat

from flatcube.press import notebook
from tests import rooms

__all__ = ["NotebookTests"]

LONGEST_CELL = 20
MARKUP = re.compile(r"\{[a-z:]+\}`|^:::|^\(\w+-[\w-]+\)=$", re.MULTILINE)  # roles, boxes and targets of the site
LINK = re.compile(r"\]\(([^)#:]+\.ipynb)\)")


def lines_of_code(source: str) -> int:
    """Lines that are neither blank nor comment."""
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in source.splitlines())


def is_on_the_page(cell: nbformat.NotebookNode) -> bool:
    """Whether the page shows the code of a cell."""
    return notebook.is_shown(cell) and notebook.LAB_ONLY not in cell.metadata.get("tags", [])


class NotebookTests:
    """The tests of the notebook of one room's chapter."""

    room: str
    smaller: dict[str, int]  # what a reader on a slow machine might set

    def path(self) -> Path:
        """The text of the chapter."""
        return rooms.ROOT / "chapters" / f"{rooms.chapter(self.room)}.md"

    def stored(self) -> Path:
        """The readers' notebook."""
        return rooms.stored(self.room)

    def notebook(self) -> nbformat.NotebookNode:
        return notebook.read(self.stored())

    def test_the_chapter_runs_at_a_smaller_size(self, run_small: Callable[[Path, dict], str | None]):
        assert run_small(self.path(), self.smaller) is None

    def test_the_stored_file_is_clean_and_valid(self):
        stored = self.notebook()
        nbformat.validate(stored)
        assert nbformat.writes(notebook.clean(stored)) + "\n" == self.stored().read_text(encoding="utf-8")

    def test_a_seed_and_a_size_are_parameters(self):
        source = notebook.parameters_cell(self.notebook())
        given = [statement for statement in ast.parse(source).body if isinstance(statement, ast.Assign)]
        assigned = {s.targets[0].id: s.value.value for s in given if isinstance(s.value, ast.Constant)}
        assert isinstance(assigned.pop("SEED"), int)
        assert any(isinstance(value, int) for value in assigned.values())

    def test_code_was_run_without_errors_or_warnings(self):
        cells = [cell for cell in self.notebook().cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [output for cell in cells for output in cell.outputs]
        assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]

    def test_visible_cells_are_short(self):
        cells = [cell for cell in self.notebook().cells if cell.cell_type == "code"]
        assert max(lines_of_code(cell.source) for cell in cells if notebook.is_shown(cell)) <= LONGEST_CELL

    def test_some_cells_are_compared_with_a_fresh_run(self):
        cells = self.notebook().cells
        marked = [cell for cell in cells if "nbval-check-output" in cell.metadata.get("tags", [])]
        assert len(marked) >= 4
        assert all(cell.outputs for cell in marked)

    def test_what_is_visible_runs_by_itself(self, run_small: Callable[[Path, dict], str | None], tmp_path: Path):
        """In a fresh interpreter: nothing that it needs hides in folded or removed cells."""
        chapter = notebook.read(self.path())
        chapter.cells = [cell for cell in chapter.cells if cell.cell_type == "code" and is_on_the_page(cell)]
        notebook.write(notebook.clean(chapter), tmp_path / "visible.ipynb")
        assert run_small(tmp_path / "visible.ipynb", {}) is None

    def test_the_readers_notebook_is_plain_markdown(self):
        prose = [cell.source for cell in self.notebook().cells if cell.cell_type == "markdown"]
        assert [found for text in prose for found in MARKUP.findall(text)] == []
        assert "pip install" in prose[0]
        links = [link for text in prose for link in LINK.findall(text)]
        assert [link for link in links if not (self.stored().parent / link).exists()] == []

    def test_code_that_the_page_does_not_show_is_collapsed(self):
        cells = [cell for cell in self.notebook().cells if cell.cell_type == "code"]
        hidden = [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in cells]
        assert hidden == [not notebook.is_shown(cell) for cell in cells]

    def test_the_state_of_an_explorer_is_read_from_python(self):
        cells = [cell for cell in self.notebook().cells if notebook.LAB_ONLY in cell.metadata.get("tags", [])]
        named = re.findall(r"^(\w+) = explorer\(", "\n".join(c.source for c in self.notebook().cells), re.MULTILINE)
        assert [cell for cell in cells if any(f"{name}.state" in cell.source for name in named)]
