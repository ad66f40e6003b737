"""What a reader exports from the pages of the site, as something to be marked.

The file says of every answer whether it was right; that is not believed. Code is judged like the code of a notebook,
and what was chosen or typed is compared with the question itself, as the readers' notebook has it.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from flatcube.classroom import exercises
from flatcube.classroom.exercises import Exercise
from flatcube.classroom.mime import ELEMENT
from flatcube.classroom.questions import bare
from flatcube.grading.marks import LARGEST, Submission
from flatcube.press import edition, inpage, notebook

__all__ = ["read_answers", "answered"]

_ASKS = re.compile(r'^(?:check|score)\("(\d+\.\d+)"', re.MULTILINE)


def _answers(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The answers of an exported file, by page and name."""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"the file has more than {LARGEST // 1_000_000} MB")
    try:
        pages = json.loads(path.read_text(encoding="utf-8"))["answers"]
        for given in pages.values():
            if not all(isinstance(one["answer"], str) and isinstance(one["kind"], str) for one in given.values()):
                raise ValueError
        return pages
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("the file holds no answers that the book has exported") from None


def answered(path: Path) -> list[Exercise]:
    """The exercises with a right answer that an exported file has code for."""
    try:
        given = {name for page in _answers(path).values() for name, one in page.items() if one["kind"] == "code"}
    except (ValueError, OSError):
        return []
    return [exercises.find(id) for id in exercises.identifiers() if f"exercise {id}" in given]


def read_answers(root: Path, path: Path) -> Submission:
    """The answers of an exported file, together with the cells of their pages."""
    pages, hints, right, asked = [], {}, 0, 0
    for stem, given in _answers(path).items():
        chapter = root / "chapters" / f"{stem}.md"
        if chapter not in notebook.chapters(root):  # a page without a chapter has no exercises
            continue
        code = {name.removeprefix("exercise "): one for name, one in given.items() if one["kind"] == "code"}
        hints |= {id: min(int(one["wrong"]), 2) for id, one in code.items() if isinstance(one.get("wrong"), int)}
        if code:
            pages.append((_cells(chapter), {id: one["answer"] for id, one in code.items()}))
        questions = _questions(root, chapter)
        for name, one in given.items():
            if name in questions and one["kind"] in ("quick", "predict"):
                asked += 1
                right += _right(questions[name], one["answer"])
    return Submission("", pages=pages, hints=hints, questions=f"{right}/{asked}" if asked else "")


@functools.cache
def _cells(chapter: Path) -> list[list[str]]:
    """The cells of a page that readers see, each with the exercise that is answered in it."""
    cells = [cell for cell in notebook.read(chapter).cells if cell.cell_type == "code"]
    seen = [cell.source for cell in cells if not inpage.HIDDEN & set(cell.metadata.get("tags", []))]
    return [[source, found[1] if (found := _ASKS.search(source)) else ""] for source in seen]


@functools.cache
def _questions(root: Path, chapter: Path) -> dict[str, dict[str, Any]]:
    """The questions and predictions of a chapter, by their ids."""
    stored = edition.path(root, chapter)
    cells = notebook.read(stored).cells if stored.exists() else []
    shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    found = [data[ELEMENT] for data in shown if ELEMENT in data]
    return {one["id"]: one for one in found if one.get("kind") in ("quick", "predict")}


def _right(question: dict[str, Any], answer: str) -> bool:
    """Whether an answer, as the page keeps it, is the right one."""
    if "choices" in question:
        words = "".join(answer.split())
        # the page keeps the text of a choice without its tags
        return any(one["right"] and words == "".join(_text(one["text"]).split()) for one in question["choices"])
    above, _, below = answer.replace("−", "-").replace(",", ".").partition("/")
    try:
        value = float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        return False
    return abs(value - question["number"]["value"]) <= question["number"]["tolerance"] + 1e-12


def _text(words: str) -> str:
    return bare(re.sub(r"</?su[bp]>", "", words))
