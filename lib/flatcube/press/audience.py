"""Editions of the book, all made from the same texts: for readers, for students who hand in, for instructors.

Readers have the solutions of a chapter's exercises folded below them. The students' edition has none of them, and the
instructors' has them open, together with the notes for teaching and the second set of problems, with its solutions
(`flatcube.classroom.problems`). Nothing of the second set is in the other two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell

from flatcube import processes
from flatcube.classroom import problems
from flatcube.classroom.problems import Problem
from flatcube.press import notebook, teaching

__all__ = ["EDITIONS", "INSTRUCTOR", "READER", "STUDENT", "place", "trimmed", "second_set", "extend"]

READER, STUDENT, INSTRUCTOR = EDITIONS = ("reader", "student", "instructor")
PART = "For instructors"
_SOLUTION = re.compile(r'\s*solution\("[\d.]+"\)\s*')
_FOLDED = re.compile(r'<details class="admonition solution fc-fold">')


def place(root: Path, kind: str, edition: str) -> Path:
    """Where an edition's `kind`, such as html, stands: `_build/html`, but for readers' with the edition's name."""
    if edition not in EDITIONS:
        raise ValueError(f"edition: expected one of {', '.join(EDITIONS)}, got {edition!r}.")
    return root / "_build" / (kind if edition == READER else f"{kind}-{edition}")


def trimmed(chapter: nbformat.NotebookNode, edition: str) -> nbformat.NotebookNode:
    """The executed chapter as an edition has it: with its solutions folded, left out, or open."""
    cells = [cell for cell in chapter.cells if cell.cell_type == "code" and _SOLUTION.fullmatch(cell.source)]
    if edition == STUDENT:
        chapter.cells = [cell for cell in chapter.cells if not any(cell is one for one in cells)]
    if edition == INSTRUCTOR:
        for output in (output for cell in cells for output in cell.outputs):
            html = output.get("data", {}).get("text/html", "")
            output.data["text/html"] = _FOLDED.sub('<details open class="admonition solution fc-fold">', html)
    return chapter


# --- the second set ---------------------------------------------------------------------------------------------------


def second_set(root: Path, chapter: Path) -> list[Problem]:
    """The problems of the second set that belong to a chapter."""
    number = str(int(chapter.stem[:2]))
    return [task for id, task in problems.load(root).items() if id.partition(".")[0] == number]


def cells(tasks: Sequence[Problem]) -> list[nbformat.NotebookNode]:
    """The problems with their solutions, as cells of an instructors' notebook."""
    found = [new_markdown_cell("## The second set, with solutions")] if tasks else []
    for task in tasks:
        found += [new_markdown_cell(f"### {_title(task)}\n\n{task.text.strip()}\n\n{_remarks(task)}")]
        found += [new_code_cell(task.code())]
    return found


def _title(task: Problem) -> str:
    return f"{task.id} · {task.heading} · {task.points} point{'s' * (task.points != 1)}"


def _remarks(task: Problem) -> str:
    """What the grader says: when the answer is right, and of each mistake that it recognises."""
    mistakes = "\n".join(f"- {diagnosis}" for diagnosis, _ in task.mistakes)
    hints = "\n".join(f"{k}. {hint}" for k, hint in enumerate(task.hints, start=1))
    return f"**Hints.**\n\n{hints}\n\n**Mistakes that are recognised.**\n\n{mistakes}\n\n**If it is right:** {task.why}"


def _page(tasks: Sequence[Problem], chapter: Path) -> str:
    """The page of a chapter's second set."""
    number = int(chapter.stem[:2])
    lines = [
        f"# The second set of chapter {number}",
        f"These problems belong to [{notebook.title(chapter)}](../{chapter.stem}). Their solutions stand in this "
        f"edition only. `flatcube assign {number}` writes a notebook with all of them, and `flatcube grade` marks what "
        "comes back.",
    ]
    for task in tasks:
        lines += [f"## {_title(task)}", task.text.strip(), f"```python\n{task.stub()}\n```", "**Solution.**"]
        lines += [f"```python\n{task.code()}\n```", _remarks(task)]
    return "\n\n".join(lines) + "\n"


def extend(root: Path, pages: Path) -> None:
    """Add to the sources of a site what instructors have more: notes for teaching, and the second sets."""
    contents = pages / "_toc.yml"
    known = contents.read_text(encoding="utf-8")
    toc, added = yaml.safe_load(known), []
    for chapter in notebook.chapters(root):
        note = teaching.notes(root, chapter.stem).relative_to(root).with_suffix("").as_posix()
        if (pages / f"{note}.md").exists() and note not in known:
            added.append(note)
        if tasks := second_set(root, chapter):
            name = f"chapters/instructor/second-{chapter.stem}"
            processes.replace(pages / f"{name}.md", _page(tasks, chapter).encode())
            added.append(name)
    if added and "parts" in toc:
        toc["parts"].append({"caption": PART, "chapters": [{"file": name} for name in added]})
    elif added:
        toc["chapters"] = [*toc.get("chapters", []), *({"file": name} for name in added)]
    processes.replace(contents, yaml.safe_dump(toc, sort_keys=False, allow_unicode=True).encode())
