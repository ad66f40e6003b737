"""nbval on replayed outputs still sees what is wrong, and trusts no copy that is out of date."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from flatcube.press import execute, notebook
from tests.press.small import write_text

ROOT = Path(__file__).parents[2]
MARKED = {"tags": ["nbval-check-output"]}


def write_chapter(root: Path, name: str, *, stored: str = "42\n", loose: str = "1\n", shown: str = "a word") -> None:
    """A chapter with these outputs; the copy of its execution says 42, 1 and "a word"."""

    def written(path: Path, printed: str, unmarked: str, result: str) -> None:
        cells = [
            new_code_cell("print(6 * 7)", metadata=MARKED, outputs=[new_output("stream", text=printed)]),
            new_code_cell("print(7 // 7)", outputs=[new_output("stream", text=unmarked)]),
            new_code_cell("word", metadata=MARKED, outputs=[new_output("execute_result", {"text/plain": result})]),
        ]
        for count, cell in enumerate(cells, start=1):
            cell.execution_count = count
        notebook.write(notebook.clean(new_notebook(cells=cells)), path)

    copy = root / "_build/executed" / f"{name}.ipynb"
    written(root / "chapters/notebooks" / f"{name}.ipynb", stored, loose, shown)
    written(copy, "42\n", "1\n", "a word")
    chapter = write_text(root / "chapters" / f"{name}.md", notebook.read(copy).cells)
    key = execute._key(root, chapter, {}, ["lib/toy.py"])
    execute._keep(root, chapter, notebook.read(copy), key, 1.0)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What nbval says of a book with sound, wrong and stale chapters."""
    root = tmp_path_factory.mktemp("book")
    (root / "lib").mkdir()
    (root / "lib/toy.py").write_text("VALUE = 1\n")
    (root / "pytest.ini").write_text("[pytest]\n")
    for name, outputs in {
        "01-sound": {},
        "02-loose": {"loose": "2\n"},
        "03-stream": {"stored": "41\n"},
        "04-result": {"shown": "a ward"},
        "05-edited": {},
        "06-absent": {},
        "07-library": {},
    }.items():
        write_chapter(root, name, **outputs)
    edited = root / "chapters/05-edited.md"
    edited.write_text(edited.read_text().replace("6 * 7", "7 * 6"))
    (root / "_build/executed/06-absent.json").unlink()
    record = root / "_build/executed/07-library.json"
    record.write_text(record.read_text().replace(execute._digest(root / "lib/toy.py"), "another"))
    options = ["-p", "tests.notebooks.replay", "--nbval-lax", "-v", "--color=no"]
    call = [sys.executable, "-m", "pytest", *options, "chapters/notebooks"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(call, cwd=root, env=environment, capture_output=True, text=True).stdout


def verdicts(report: str, name: str) -> str:
    """One letter for each cell of a chapter: P(assed), F(ailed), E(rror)."""
    return "".join(re.findall(rf"^chapters/notebooks/{name}::ipynb::Cell \d (\w)", report, flags=re.MULTILINE))


def test_nbval_compares_marked_cells_with_the_copy_and_no_others(report: str):
    assert verdicts(report, "01-sound") == verdicts(report, "02-loose") == "PPP"
    assert verdicts(report, "03-stream") == "FPP"
    assert verdicts(report, "04-result") == "PPF"
    assert "41 against 42" in report
    assert "'a ward' against 'a word'" in report


@pytest.mark.parametrize("name", ["05-edited", "06-absent", "07-library"])
def test_a_copy_that_is_out_of_date_fails(report: str, name: str):
    assert verdicts(report, name) == "EEE"
    assert f"{name}.md: no executed copy of its present state; run 'flatcube book' first." in report
