"""Printed numbers: exercises and theorems count within their chapter, and an exercise is called what its check is."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from flatcube.press import notebook

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / f"_build/html/chapters/{chapter.stem}.html" for chapter in notebook.chapters(ROOT)]


@pytest.fixture(params=PAGES, ids=lambda page: page.stem)
def chapter(request) -> tuple[int, BeautifulSoup]:
    """The number of a chapter of the built site, and its page."""
    return int(request.param.stem[:2]), BeautifulSoup(request.param.read_text(encoding="utf-8"), "html.parser")


def printed(page: BeautifulSoup, kind: str) -> list[str]:
    """The captions of all boxes of a kind, such as "Exercise 2.1"."""
    return [tag.get_text(strip=True) for tag in page.select(f".{kind} > .admonition-title > .caption-number")]


def test_theorems_count_within_their_chapter(chapter):
    number, page = chapter
    captions = printed(page, "theorem")
    assert captions == [f"Theorem {number}.{k}" for k in range(1, len(captions) + 1)]


def test_an_exercise_has_the_number_of_its_check_and_says_its_effort(chapter):
    number, page = chapter
    boxes = page.select(".exercise.admonition")
    assert printed(page, "exercise") == [f"Exercise {number}.{k}" for k in range(1, len(boxes) + 1)]
    assert len(page.select(".exercise > .admonition-title > .fc-effort[aria-label^=difficulty]")) == len(boxes)
    for k, box in enumerate(boxes, start=1):
        cell = box.find_next(class_="cell")
        call = re.search(r'(?:check|score)\("([\d.]+)"', cell.get_text()) if cell else None
        uncalled = "(open)" in box.get_text() or "(a proof)" in box.get_text()  # a proof is made on the page
        assert uncalled or (call and call[1] == f"{number}.{k}"), box.get_text()
