"""Handouts: which browser prints which page, and what is said if it cannot."""

import stat
from pathlib import Path

import pytest

from flatcube.press import handouts

FAKE = """#!/bin/sh
for word in "$@"; do case "$word" in --print-to-pdf=*) out="${word#--print-to-pdf=}";; file:*) page="$word";; esac; done
%s
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    for name in ("01-one", "02-two"):
        (tmp_path / "chapters").mkdir(exist_ok=True)
        (tmp_path / f"chapters/{name}.md").write_text("---\nroom: one\n---\n# One\n", encoding="utf-8")
    (tmp_path / "_build/html").mkdir(parents=True)
    (tmp_path / "_build/html/index.html").touch()
    (tmp_path / "_build/site.json").touch()
    return tmp_path


def chromium(folder: Path, monkeypatch, does: str) -> None:
    path = folder / "chromium"
    path.write_text(FAKE % does, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CHROMIUM", str(path))


def test_every_chapter_is_printed_for_students_unless_solutions_are_wished(book, monkeypatch):
    chromium(book, monkeypatch, 'printf "%%PDF %s" "$page" > "$out"')
    made = handouts.write(book, book / "_build/pdf")
    assert [path.name for path in made] == ["01-one.pdf", "02-two.pdf"]
    assert made[0].read_text().endswith("/_build/html/chapters/01-one.html?print=exercises")
    (one,) = handouts.write(book, book / "_build/pdf", solutions=True, only="02")
    assert one.read_text().endswith("/02-two.html?print")


def test_no_chromium_is_said_in_one_sentence(book, monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(handouts.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="No Chromium to print with: install"):
        handouts.write(book, book / "_build/pdf")


def test_a_browser_that_prints_nothing_is_named_with_its_last_words(book, monkeypatch):
    chromium(book, monkeypatch, "echo first >&2; echo no display >&2; exit 1")
    with pytest.raises(RuntimeError, match=r"01-one.pdf: Chromium printed nothing \(no display\)"):
        handouts.write(book, book / "_build/pdf")
    assert not (book / "_build/pdf/01-one.pdf").exists()


def test_a_chapter_that_is_none_is_refused(book, monkeypatch):
    chromium(book, monkeypatch, "")
    with pytest.raises(ValueError, match="only: expected the beginning of a chapter's name, such as 02, got '7'"):
        handouts.write(book, book / "_build/pdf", only="7")
