"""Every chapter also runs at a smaller size, as on a slow machine: papermill overrides its parameters."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flatcube.press import notebook

ROOT = Path(__file__).parents[2]

# What a reader on a slow machine might set; every chapter needs an entry.
SMALLER = {
    "01-fourier": {"SEED": 7, "N": 5},
    "02-sensitivity": {"SEED": 7, "N": 5},
    "03-queries": {"SEED": 7, "N": 20},
    "04-handmade": {"SEED": 7, "T": 6},
    "05-sparse-variables": {"SEED": 7, "T": 8},
    "06-parity": {"SEED": 7, "N": 500},
    "07-blowup": {"SEED": 3, "N": 31},
    "08-capacity": {"SEED": 7, "T": 12},
    "09-sharpness": {"SEED": 7, "N": 33},
    "10-pacbayes": {"SEED": 7, "T": 12},
    "11-scratchpad": {"SEED": 7, "T": 32},
}


def test_every_chapter_has_a_smaller_size():
    assert {path.stem for path in notebook.chapters(ROOT)} == set(SMALLER)


@pytest.mark.parametrize("name", SMALLER)
def test_a_chapter_runs_at_a_smaller_size(name: str, tmp_path: Path):
    (tmp_path / "chapters").mkdir()
    shutil.copy(ROOT / "chapters" / f"{name}.ipynb", tmp_path / "chapters")
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    script = (
        "import sys; from pathlib import Path; from flatcube.press import execute\n"
        "if __name__ == '__main__':\n"
        f"    (outcome,) = execute.run(Path(sys.argv[1]), parameters={SMALLER[name]!r})\n"
        "    sys.exit(outcome.error)\n"
    )
    (tmp_path / "run.py").write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, str(tmp_path / "run.py"), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
