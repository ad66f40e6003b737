"""A student's assignment: a notebook with problems of the second set, their stubs and a few examples, no solutions.

It needs the installed library and nothing else. What it carries on the side, in its metadata, is which problems it has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from flatcube.classroom import problems
from flatcube.classroom.problems import Problem
from flatcube.press import notebook

__all__ = ["EXAMPLES", "NAME", "OURS", "examples", "notebook_of", "write", "named", "name", "asked"]

OURS = "flatcube"  # the key in the metadata of a notebook
NAME = "NAME"  # the variable with the name of the student
EXAMPLES = 20  # the seed of the examples that students see

_HEAD = """# {title}

Write your name into the first cell. Under every problem there are two cells: in the first replace the `...`; the second
tries your answer on a few examples, and helps with a hint if they disagree. Marks are given on other instances, which
{others}, so an answer that was made for the examples earns none.

You may use numpy and everything in `flatcube`. {rules} Hand in this notebook, saved, under a file name of your own.
"""
_OTHERS = "are drawn when the notebooks have been handed in"
_RULES = """A cell may take 20 seconds. When it is marked there is no network
and no other file than this one."""


def examples(task: Problem) -> str:
    """The cell below an answer: it tries the answer on a few examples."""
    return problems.visible(task, EXAMPLES)


def notebook_of(
    tasks: Sequence[Problem],
    *,
    tools: Sequence[str] = ("import numpy as np\n\nfrom flatcube.classroom.problems import try_out",),
    tried: Callable[[Problem], str] = examples,
    others: str = _OTHERS,
    rules: str = _RULES,
) -> nbformat.NotebookNode:
    """The assignment with these problems.

    Another grader has other `tools`, the cells that come first, and cells below the answers, `tried`; its notebook says
    in half a sentence where the `others` come from on which marks are given, and under which `rules`.
    """
    chapters = list(dict.fromkeys(task.id.partition(".")[0] for task in tasks))
    title = f"Assignment: chapter{'s' * (len(chapters) > 1)} {' and '.join(filter(None, _listed(chapters)))}"
    cells = [
        new_markdown_cell(_HEAD.format(title=title, others=others, rules=rules)),
        new_code_cell(f'{NAME} = ""  # your name'),
        *map(new_code_cell, tools),
    ]
    for task in tasks:
        points = f"{task.points} point{'s' * (task.points != 1)}"
        cells.append(new_markdown_cell(f"## {task.id} · {task.heading} · {points}\n\n{task.text.strip()}"))
        cells += [new_code_cell(task.stub()), new_code_cell(tried(task))]
    made = notebook.clean(nbformat.v4.new_notebook(cells=cells))
    made.metadata[OURS] = {"problems": [task.id for task in tasks]}
    return made


def write(root: Path, wanted: Sequence[str], target: Path | None = None) -> Path:
    """Write the assignment with the problems, or all problems of the chapters, that `wanted` names."""
    tasks, path = named(root, wanted), target or Path(f"{name(wanted)}.ipynb")
    if path.exists():
        raise ValueError(f"{path} is there already; name another file with --out.")
    notebook.write(notebook_of(tasks), path)
    return path


def named(root: Path, wanted: Sequence[str]) -> list[Problem]:
    """The problems, or all problems of the chapters, that `wanted` names."""
    known = problems.load(root)
    return [known[id] for id in problems.chosen(known, wanted)]


def name(wanted: Sequence[str]) -> str:
    """What an assignment is called if nothing else is said."""
    return f"assignment-{'-'.join(wanted)}"


def asked(path: Path) -> list[str]:
    """The problems that a notebook says it has; none if it says nothing of the kind."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["metadata"][OURS]["problems"]
        return [id for id in found if isinstance(id, str)] if isinstance(found, list) else []
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []


def _listed(names: list[str]) -> tuple[str, str]:
    """All but the last with commas, and the last."""
    return ", ".join(names[:-1]), names[-1]
