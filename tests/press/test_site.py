"""The site fails to build on what a reader would trip over, and packs the same way twice."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from flatcube.press import inpage, site
from tests.press.small import write_text

ROOT = Path(__file__).parents[2]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """The real configuration around one page and one chapter, with the front-end packages already fetched."""
    site.fetch_frontend(ROOT)
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build/frontend").symlink_to(ROOT / "_build/frontend")
    (tmp_path / "chapters").mkdir()
    for name in ("_config.yml", "requirements.lock", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "data", tmp_path / "data")
    shutil.copy(ROOT / "chapters/references.bib", tmp_path / "chapters")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/index\nchapters:\n- file: chapters/01-one\n")
    (tmp_path / "chapters/index.md").write_text("# Small book\n\nSee {doc}`01-one`.\n")
    write_chapter(tmp_path, "1 + 1")
    return tmp_path


def write_chapter(root: Path, code: str) -> None:
    """The only chapter: a title and one code cell."""
    cells = [new_code_cell("SEED = 1", metadata={"tags": ["parameters"]}), new_code_cell(code)]
    write_text(root / "chapters/01-one.md", [new_markdown_cell("# One"), *cells])


def build(root: Path) -> subprocess.CompletedProcess:
    """`make book` on the small book."""
    call = [sys.executable, "-m", "flatcube.cli", "book", "--root", str(root)]
    return subprocess.run(call, capture_output=True, text=True)


def test_a_sound_book_builds_once_and_then_is_up_to_date(book: Path):
    first = build(book)
    assert first.returncode == 0, first.stderr
    assert "is built" in first.stdout
    assert (book / "_build/html/chapters/01-one.html").exists()
    assert (book / "_build/html/notebooks/01-one.ipynb").exists()
    assert "_static/searchtools.js: Sphinx" in (book / "_build/html/licences.txt").read_text(encoding="utf-8")
    assert 'href="../licences.txt"' in (book / "_build/html/chapters/01-one.html").read_text(encoding="utf-8")
    assert not [*(book / "_build/html/_static").glob("*button*"), *(book / "_build/html/_static").glob("s[ct]*s/")]
    assert "is up to date" in build(book).stdout
    (book / "_build/html/chapters/01-one.html").unlink()
    again = build(book)
    assert "_build/html/chapters/01-one.html is not as the press left it: the site is built again." in again.stderr
    assert (book / "_build/html/chapters/01-one.html").exists()


def test_a_broken_reference_fails_every_time(book: Path):
    (book / "chapters/index.md").write_text("# Small book\n\nSee {ref}`nowhere`.\n")
    for _ in range(2):  # a second build must not take the broken page for read
        done = build(book)
        assert done.returncode != 0
        assert "nowhere" in done.stderr


def test_a_failing_cell_fails(book: Path):
    write_chapter(book, "1 / 0")
    done = build(book)
    assert done.returncode != 0
    assert "chapters/01-one.md, cell 3: ZeroDivisionError" in done.stderr


def test_an_outside_address_fails(book: Path):
    (book / "chapters/index.md").write_text('# Small book\n\n<img src="https://example.org/a.png" alt="a">\n')
    done = build(book)
    assert done.returncode != 0
    assert "chapters/index.html: https://example.org/a.png" in done.stderr


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ('<script src="https://example.org/a.js"></script>', True),
        ("<link rel='stylesheet' href='//example.org/a.css'>", True),
        ("<style>@import 'https://example.org/a.css'</style>", True),
        ("<style>a{background:url(https://example.org/a.png)}</style>", True),
        ('<a href="https://example.org/">a link to click</a>', False),
        ('<script src="../_static/a.js"></script>', False),
        ('<svg xmlns="http://www.w3.org/2000/svg"></svg>', False),
    ],
)
def test_outside_addresses_finds_what_a_page_fetches(tmp_path: Path, markup: str, found: bool):
    (tmp_path / "a.html").write_text(markup)
    assert bool(site.outside_addresses(tmp_path)) == found


def test_packing_twice_gives_the_same_bytes(tmp_path: Path):
    html = tmp_path / "_build/html"
    html.mkdir(parents=True)
    (html / "index.html").write_text("hello")
    (tmp_path / "_build/site.json").write_text("{}")
    first = site.pack(tmp_path).read_bytes()
    (html / "index.html").touch()
    assert site.pack(tmp_path).read_bytes() == first
    assert zipfile.ZipFile(tmp_path / "_build/flat-minima.zip").namelist() == ["flat-minima/index.html"]


def test_python_is_packed_if_wished_and_missed_if_it_is_not_there(tmp_path: Path):
    html = tmp_path / "_build/html"
    for place in ("index.html", *(f"_static/{place}" for place in inpage.PLACES)):
        (html / place).parent.mkdir(parents=True, exist_ok=True)
        (html / place).write_text("hello")
    (tmp_path / "_build/site.json").write_text("{}")
    counts = [len(zipfile.ZipFile(site.pack(tmp_path, python=wished)).namelist()) for wished in (False, True)]
    assert counts == [1, 1 + len(inpage.PLACES)]
    (html / "_static" / inpage.PLACES[0]).unlink()
    with pytest.raises(SystemExit, match=r"Python in the page is not there \(core.js\); flatcube book"):
        site.pack(tmp_path, python=True)
    assert len(zipfile.ZipFile(site.pack(tmp_path)).namelist()) == 1
