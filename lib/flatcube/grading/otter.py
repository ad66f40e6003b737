"""The same assignment for otter-grader 7 (https://otter-grader.readthedocs.io), for courses that use it to mark.

`student/` has the notebook, whose metadata carry otter's public tests: the examples and hints of every assignment.
`autograder/` has what `otter generate` makes its zip from. A test there has a hidden case as well, with instances that
are drawn when the folder is written, and with what the solution and the known mistakes give on them; it has no
solution. All points hang on that case, and its comparison is ours, so `otter run` gives the marks of `flatcube grade`.
It has not got its guard: otter runs a submission and the tests in one process, so a dishonest notebook reaches them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path

import nbformat

from flatcube import processes
from flatcube.classroom import problems
from flatcube.classroom.problems import Problem
from flatcube.grading import assignments
from flatcube.press import notebook

__all__ = ["LEFT_OUT", "write", "student", "test"]

LEFT_OUT = "otter_ignore"  # the tag of cells that otter leaves out: it tests when all others have run, as we do
_TOOLS = ("import numpy as np", 'import otter\n\ngrader = otter.Notebook("{file}")')
_OTHERS = "are not in this notebook"
_RULES = """The second cells need otter-grader, which finds the examples in this very
file: keep its name while you work."""

_TEST = '''"""Problem {id} for otter-grader."""

import numpy as np
from flatcube.classroom.problems import try_out
from numpy import inf, nan  # a mistake may give them
from otter.test_files import test_case

OK_FORMAT = False
name = "{id}"
'''
_CASE = """

@test_case("{case}", points={points}, hidden={hidden})
def {case}({name}):
    found = {call}
    assert found.status == "right", found
    print(found)
"""


def write(root: Path, wanted: Sequence[str], target: Path | None = None) -> Path:
    """Write the folder for the problems, or all problems of the chapters, that `wanted` names."""
    tasks, name = assignments.named(root, wanted), assignments.name(wanted)
    folder = target or Path(f"{name}-otter")
    if folder.exists():
        raise ValueError(f"{folder} is there already; name another folder with --out.")
    seed, marking = secrets.randbits(48), folder / "autograder"
    for task in tasks:
        processes.replace(marking / "tests" / f"{task.id}.py", test(task, seed).encode())
    settings = {"lang": "python", "points_possible": sum(task.points for task in tasks), "show_hidden": False}
    processes.replace(marking / "otter_config.json", (json.dumps(settings, indent=2) + "\n").encode())
    notebook.write(student(tasks, f"{name}.ipynb"), folder / "student" / f"{name}.ipynb")
    return folder


def student(tasks: Sequence[Problem], file: str) -> nbformat.NotebookNode:
    """The student's notebook, which knows its own name, `file`; `flatcube grade` marks it as well."""
    tools = [tool.format(file=file) for tool in _TOOLS]
    made = assignments.notebook_of(
        tasks, tools=tools, tried=lambda task: f'grader.check("{task.id}")', others=_OTHERS, rules=_RULES
    )
    for cell in made.cells:
        if cell.source == tools[1] or cell.source.startswith("grader.check("):
            cell.metadata["tags"] = [LEFT_OUT]
    made.metadata["otter"] = {"OK_FORMAT": False, "tests": {task.id: test(task) for task in tasks}}
    return made


def test(task: Problem, seed: int | None = None) -> str:
    """Otter's test of a problem: the examples, and with a `seed` the instances drawn from it, for all points."""
    shared = {"name": task.name, "hidden": False, "points": None if seed is None else 0}
    cases = [_CASE.format(case="examples", call=assignments.examples(task), **shared)]
    if seed is not None:
        shared |= {"hidden": True, "points": task.points}
        cases.append(_CASE.format(case="others", call=problems.hidden(task, seed), **shared))
    return _TEST.format(id=task.id) + "".join(cases)
