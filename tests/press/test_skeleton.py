"""A new chapter works at once: its page is built, its notebook made, its tests pass, and nothing else had to change."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_markdown_cell

from flatcube.press import notebook, site, skeleton
from tests import room as one_room
from tests.press.small import write_text

ROOT = Path(__file__).parents[2]
LAYERS = '[[tool.importlinter.contracts]]\ntype = "layers"\nlayers = [\n    "press",\n    "fourier",\n    "cube",\n]\n'
CONTENTS = """format: jb-book
root: chapters/index
parts:
  - caption: First
    numbered: true
    chapters:
      - file: chapters/01-fourier
  - caption: Back matter
    chapters:
      - file: chapters/results
      - file: chapters/reference
      - file: chapters/claims
      - file: chapters/errata
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one chapter of a few words."""
    root = tmp_path_factory.mktemp("project")
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("lib", "tests", "data"):
        shutil.copytree(ROOT / folder, root / folder, ignore=skipped)
    for file in ("pyproject.toml", "requirements.lock", "_config.yml", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / file, root)
    if "importlinter" not in (root / "pyproject.toml").read_text():
        with open(root / "pyproject.toml", "a") as file:
            file.write(LAYERS)
    (root / "_toc.yml").write_text(CONTENTS)
    first = write_text(root / "chapters/01-fourier.md", [new_markdown_cell("# Fourier")])
    first.write_text(first.read_text().replace("---\n", "---\nroom: fourier\nblurb: Few words.\n", 1))
    shutil.copy(ROOT / "chapters/references.bib", root / "chapters")
    for page in ("index", "results", "reference", "claims", "errata"):
        (root / f"chapters/{page}.md").write_text(f"# The page {page}\n")
    site.fetch_frontend(ROOT)
    (root / "_build").mkdir()
    (root / "_build/frontend").symlink_to(ROOT / "_build/frontend")
    return root


def run(root: Path, *words: str) -> str:
    """`python -m WORDS` with the library of the copy."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "lib"), str(root)])}
    done = subprocess.run([sys.executable, "-m", *words], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_chapter_works_at_once(project: Path):
    before = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}
    said = run(project, "flatcube.cli", "new-chapter", "19-beyond-bits").split()
    changed = [path.relative_to(project).as_posix() for path, then in before.items() if path.read_bytes() != then]
    assert sorted(changed) == ["_toc.yml", "pyproject.toml"] and set(changed) < set(said)
    assert "chapters/01-fourier\n      - file: chapters/19-beyond-bits\n" in (project / "_toc.yml").read_text()
    assert notebook.front_matter(project / "chapters/19-beyond-bits.md")["draft"] is True
    assert '    "beyond_bits",\n    "' in (project / "pyproject.toml").read_text()
    run(project, "flatcube.cli", "notebooks")
    run(project, "flatcube.cli", "book")
    page = (project / "_build/html/chapters/19-beyond-bits.html").read_text(encoding="utf-8")
    assert "Beyond bits" in page and 'data-name="beyond_bits"' in page
    assert "Exercise 19.1" in page
    run(project, "ruff", "check", "lib/flatcube/beyond_bits", "tests/beyond_bits")
    own = ["tests/beyond_bits", "--ignore-glob", "*_page.py", *one_room.HOUSE, "-k", "beyond_bits"]
    assert "passed" in run(project, "pytest", "-p", "no:cacheprovider", *own)
    replay = ["-p", "tests.notebooks.replay", "--nbval-lax", "-p", "no:cacheprovider", "chapters/notebooks"]
    assert "passed" in run(project, "pytest", *replay)


@pytest.mark.parametrize(
    ("name", "room", "complaint"),
    [
        ("generalise", None, "name: expected two digits and small letters, such as 13-generalise, got 'generalise'"),
        ("14-new", "New Room", "--room: expected the name of a package, such as generalise, got 'New Room'"),
        ("14-new", "fourier", "expected a new chapter and a new room, but lib/flatcube/fourier/__init__.py is there"),
    ],
)
def test_what_is_no_new_chapter_is_refused(project: Path, name: str, room: str | None, complaint: str):
    with pytest.raises(ValueError, match=complaint):
        skeleton.write(project, name, room)
