"""The settings of other machines reach the kernels, and an output that hangs on them fails."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from flatcube.press import edition, notebook
from flatcube.press.book import Book
from tests import machines
from tests.press.small import write_text

SOURCE = "import os\nprint(os.environ['ATEN_CPU_CAPABILITY'], 0.1 + 0.2)"


@pytest.mark.parametrize("stored, code", [("default 0.3000", 0), ("default 0.31", 1), ("avx2 0.3000", 1)])
def test_a_chapter_under_other_arithmetic(tmp_path: Path, stored: str, code: int):
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "requirements.lock").touch()
    outputs = [new_output("stream", name="stdout", text=f"{stored}\n")]
    cells = [new_code_cell(SOURCE, outputs=outputs, execution_count=1)]
    (tmp_path / "data").mkdir()
    text = write_text(tmp_path / "chapters" / "01-a.md", [new_markdown_cell("# A"), *cells])
    stored = edition.make(Book(tmp_path), text, new_notebook(cells=[new_markdown_cell("# A"), *cells]))
    notebook.write(stored, edition.path(tmp_path, text))
    assert machines.check("oldest", tmp_path) == code


PRODUCT = """
import hashlib, os
import numpy as np, torch
given = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
seen = (given @ given).tobytes() + torch.from_numpy(given).matmul(torch.from_numpy(given)).numpy().tobytes()
print(os.environ["OMP_NUM_THREADS"], hashlib.sha256(seen).hexdigest())
"""


OTHERS = platform.machine() not in ("x86_64", "AMD64")  # for these there are no settings by name


@pytest.mark.skipif(OTHERS or not machines.FOUND, reason="this processor has nothing that could be switched off")
def test_the_settings_change_the_arithmetic():
    def product(name: str) -> list[str]:
        chosen = {key for setting in machines.SETTINGS.values() for key in setting}  # perhaps for this very run
        environment = {key: value for key, value in os.environ.items() if key not in chosen} | machines.SETTINGS[name]
        call = [sys.executable, "-c", PRODUCT]
        return subprocess.run(call, env=environment, capture_output=True, text=True).stdout.split()

    (one, native), (also_one, oldest), (two, _) = map(product, ("native", "oldest", "threads"))
    assert native != oldest
    assert (one, also_one, two) == ("1", "1", "2")


def test_an_unknown_setting_is_named(capsys: pytest.CaptureFixture):
    assert machines.main(["newest"]) == 2
    assert "expected some of oldest, older" in capsys.readouterr().err
