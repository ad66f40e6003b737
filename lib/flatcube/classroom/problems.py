"""The second set: problems for marks, whose solutions readers have not got.

The exercises of a chapter come with their solutions: they are for learning. What is marked stands elsewhere, in the
folder `instructor/` of the repository, one file per chapter, which is no part of the library that is installed. A
problem is an exercise in all other respects: its solution, fresh instances, and the mistakes that readers make.

    @problem("7.A", "A longer chain", points=4, minutes=15, difficulty=2, text="…", hints=("…", "…"), why="…",
             instances=draw)
    def chain_constant(norms): …

A student's notebook shows a problem's text, a stub, and `try_out`, which compares an answer with a few examples that
are printed there. Marks come from other instances (see `flatcube.grading`).
"""

from __future__ import annotations

import base64
import copy
import functools
import importlib.util
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flatcube.classroom.exercises import Exercise
from flatcube.classroom.exercises.answers import Unfit, difference, run, same
from flatcube.classroom.exercises.feedback import Feedback

__all__ = ["FOLDER", "Problem", "problem", "load", "chosen", "visible", "hidden", "try_out"]

FOLDER = "instructor"
_tried: Counter[str] = Counter()  # wrong tries of each problem
_hinted: Counter[str] = Counter()  # how many of its hints were shown


@dataclass
class Problem(Exercise):
    """An exercise of the second set: a function with instances, what it is worth, and its text in Markdown."""

    points: int = 2
    text: str = ""

    def stub(self) -> str:
        """The head of the solution and an ellipsis; the call that tries it stands in a cell of its own."""
        return super().stub().removesuffix(self.call).rstrip("\n")

    @property
    def arguments(self) -> list[str]:
        return list(inspect.signature(self.solution).parameters)


def problem(id: str, title: str, **rest: Any) -> Callable[[Callable], Problem]:
    """Decorator: the function below is the solution of this problem; `rest` are the fields of `Problem`."""
    return lambda solution: Problem(solution, id, title, **rest)


def load(root: Path) -> dict[str, Problem]:
    """All problems of the folder `instructor` in the book at `root`, by their ids, in the order of the chapters."""
    found: dict[str, Problem] = {}
    for path in sorted((root / FOLDER).glob("[0-9][0-9]-*.py")):
        chapter = str(int(path.name[:2]))
        for one in _module(path).values():
            if not isinstance(one, Problem):
                continue
            if one.id in found or one.id.partition(".")[0] != chapter:
                raise ValueError(f"{path}: problem {one.id} is there already, or belongs to another chapter.")
            found[one.id] = one
    return found


def chosen(known: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The ids among `known` that `wanted` names, each by itself ("2.A") or with its whole chapter ("2")."""
    known, found = list(known), []
    for name in wanted:
        here = [id for id in known if name in (id, id.partition(".")[0])]
        if not here:
            raise ValueError(f"wanted: expected problems among {', '.join(known) or 'none'}, got {name!r}")
        found += [id for id in here if id not in found]
    return found


@functools.cache
def _module(path: Path) -> dict[str, Any]:
    """The names of a file that is no part of any package."""
    name = f"flatcube_{FOLDER}_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where `inspect` looks for the source of a solution
    spec.loader.exec_module(module)
    return vars(module)


# --- in the student's notebook ----------------------------------------------------------------------------------------


def visible(task: Problem, seed: int, count: int = 2) -> str:
    """The cell in which a student tries an answer on the shortest examples; hints are there, but not for the eye."""
    examples = sorted((_example(task, row) for row in task.instances(np.random.default_rng(seed))), key=len)[:count]
    hints = base64.b64encode(json.dumps(task.hints).encode()).decode()
    return _trial(task, examples, f'hints="{hints}"')


def hidden(task: Problem, seed: int) -> str:
    """The same call with all instances of a seed, and with what each known mistake gives on them."""
    rows = task.instances(np.random.default_rng(seed))
    known = [(words, [mistake(*row) for row in rows]) for words, mistake in task.mistakes]
    told = "\n".join(f"    {_literal(one)}," for one in known)
    return _trial(task, [_example(task, row) for row in rows], f"known=[  # mistakes\n{told}\n]")


def _example(task: Problem, row: tuple) -> str:
    return f"    ({_literal(row)}, {_literal(task.solution(*row))}),"


def _trial(task: Problem, examples: list[str], rest: str) -> str:
    head = f'try_out("{task.id}", {task.name}, "{", ".join(task.arguments)}", [  # arguments, and what should come'
    return "\n".join([head, *examples, f"], {rest})"])


def try_out(
    id: str,
    answer: Any,
    arguments: str,
    examples: list[tuple[tuple, Any]],
    *,
    hints: str = "",
    known: Iterable[tuple[str, list]] = (),
) -> Feedback:
    """Compare an answer with the examples beside it. A wrong one gets a hint; what is marked are other instances.

    `known` are mistakes, each with its sentence and what it gives on all examples.
    """
    task = _Shown(id, getattr(answer, "__name__", "your answer"), arguments.split(", "))
    trials, wanted = [trial for trial, _ in examples], [right for _, right in examples]
    try:
        if callable(answer) and answer(*copy.deepcopy(trials[0])) in (None, ...):
            return Feedback("open", f"Replace the `...` in `{task.name}`, and run its cell and this one.")
    except Exception:  # `run` says what is wrong with it; an array is like neither
        pass
    try:
        got = run(answer, trials, task)
        if _all_same(got, wanted):
            return Feedback("right", f"All {len(trials)} examples agree. Marks are given on others.{_said(id)}")
        problem = next((words for words, given in known if _all_same(got, given)), None)
        problem = problem or difference(got, wanted, trials, task).replace("fresh trials", "examples")
    except Unfit as unfit:
        return Feedback("unfit", str(unfit))
    if not hints:
        return Feedback("wrong", problem)
    helps = json.loads(base64.b64decode(hints))
    _tried[id] += 1
    _hinted[id] = min(_tried[id], len(helps))
    return Feedback("wrong", f"{problem}{_said(id)}", helps[_hinted[id] - 1])


def _all_same(got: list, wanted: list) -> bool:
    return all(same(mine, right) for mine, right in zip(got, wanted, strict=True))


def _said(id: str) -> str:
    """What is noted in the notebook on how much help was taken."""
    return f" (Hints used for {id}: {_hinted[id]}.)" if _hinted[id] else ""


class _Shown:
    """As much of a problem as a student's notebook knows: what comparing an answer asks for."""

    is_value, exact = False, 1e-7

    def __init__(self, id: str, name: str, arguments: list[str]) -> None:
        self.id, self.name, self.call = id, name, f'try_out("{id}", {name}, …)'
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.solution = lambda *_: None
        self.solution.__signature__ = inspect.Signature([inspect.Parameter(each, kind) for each in arguments])


def _literal(value: Any) -> str:
    """A value as Python that gives it back."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_literal(one)}' for key, one in value.items())}}}"
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind == "f" and value.size > 8 and np.all(value % 1 == 0)
        return f"np.array({value.astype(int).tolist()}, float)" if whole else f"np.array({value.tolist()})"
    return repr(value.item() if isinstance(value, np.generic) else value)
