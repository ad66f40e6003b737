"""What every chapter's notebook promises: parameters, clean outputs, short cells, numbers that are computed."""

import ast
import csv
import re
from pathlib import Path

import nbformat
import pytest

from flatcube.press import notebook

ROOT = Path(__file__).parents[2]
CHAPTERS = notebook.chapters(ROOT)
PLAN = {row["slug"] for row in csv.DictReader((ROOT / "data/plan.csv").read_text(encoding="utf-8").splitlines())}
LONGEST_CELL = 20
MOST_WORDS, MOST_WORDS_OF_THEORY = 2400, 3500
every_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


def lines_of_code(source: str) -> int:
    """Lines that are neither blank nor comment."""
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in source.splitlines())


def test_there_are_chapters_and_all_are_planned():
    assert CHAPTERS
    assert {path.stem for path in CHAPTERS} <= PLAN


@every_chapter
def test_the_stored_file_is_clean_and_valid(chapter: Path):
    stored = notebook.read(chapter)
    nbformat.validate(stored)
    assert nbformat.writes(notebook.clean(stored)) + "\n" == chapter.read_text(encoding="utf-8")


@every_chapter
def test_a_seed_and_a_size_are_parameters(chapter: Path):
    source = notebook.parameters_cell(notebook.read(chapter))
    assigned = {t.id: s.value.value for s in ast.parse(source).body for t in s.targets}
    assert isinstance(assigned.pop("SEED"), int)
    assert any(isinstance(value, int) for value in assigned.values())


@every_chapter
def test_code_was_run_without_errors_or_warnings(chapter: Path):
    cells = [cell for cell in notebook.read(chapter).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]


@every_chapter
def test_visible_cells_are_short(chapter: Path):
    cells = [cell for cell in notebook.read(chapter).cells if cell.cell_type == "code"]
    shown = [c for c in cells if not any(t.startswith(("hide", "remove")) for t in c.metadata.get("tags", []))]
    assert max(lines_of_code(cell.source) for cell in shown) <= LONGEST_CELL


@every_chapter
def test_some_cells_are_compared_with_a_fresh_run(chapter: Path):
    cells = notebook.read(chapter).cells
    marked = [cell for cell in cells if "nbval-check-output" in cell.metadata.get("tags", [])]
    assert len(marked) >= 4
    assert all(cell.outputs for cell in marked)


@every_chapter
def test_every_number_used_in_the_prose_is_computed(chapter: Path):
    cells = notebook.read(chapter).cells
    used = {name for c in cells if c.cell_type == "markdown" for name in re.findall(r"\{glue:\w+\}`([^`]+)`", c.source)}
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    glued = {o.metadata.scrapbook.name for o in outputs if "scrapbook" in o.get("metadata", {})}
    assert used <= glued


@every_chapter
def test_the_main_text_is_not_too_long(chapter: Path):
    """Folded proofs do not count; chapters 7 to 10, which are full of them, may have more around them."""
    prose = "\n".join(cell.source for cell in notebook.read(chapter).cells if cell.cell_type == "markdown") + "\n"
    words = re.sub(r":::\{prf:proof\}.*?\n:::\n", "", prose, flags=re.DOTALL).split()
    assert len(words) <= (MOST_WORDS_OF_THEORY if chapter.stem[:2] in ("07", "08", "09", "10") else MOST_WORDS)
