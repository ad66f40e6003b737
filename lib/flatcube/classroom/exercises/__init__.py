"""Exercises that answer back: `check("1.3", answer)`.

An exercise is its solution together with the mistakes that readers make, each with the sentence that fits it. The
solution's source gives both the stub that stands in the chapter and the folded solution. A check runs the reader's
answer, the solution and the mistakes on the same fresh random instances. An answer that agrees with the solution is
right; one that agrees with a known mistake gets that mistake's sentence; any other is told what it gave where it
went wrong. So a diagnosis cannot drift away from the wrong answer that it is about.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flatcube.classroom.exercises.answers import Unfit, difference, is_open, run, same
from flatcube.classroom.exercises.feedback import Feedback, Folded

__all__ = ["check", "solution", "stub", "find", "identifiers", "exercise", "Exercise"]

# The module with a chapter's exercises, loaded when one of them is asked for.
CHAPTERS = {
    "1": "fourier",
    "2": "sensitivity",
    "3": "queries",
    "4": "handmade",
    "5": "sparse_variables",
    "6": "parity",
    "7": "blowup",
    "8": "capacity",
    "9": "sharpness",
    "10": "pacbayes",
    "11": "scratchpad",
    "12": "length",
}
TURN = "# your turn"  # a stub keeps the lines of the solution above this comment

_wrong: Counter[str] = Counter()  # wrong tries since the last right one: they decide the level of the hint
_calls: Counter[str] = Counter()


@dataclass
class Exercise:
    """One exercise. `instances(rng)` draws the arguments of the trials; a solution without parameters is a value."""

    solution: Callable[..., Any]
    id: str
    title: str
    minutes: int
    difficulty: int  # 1 to 3
    hints: tuple[str, str]
    why: str  # said when the answer is right: one sentence on why it matters
    instances: Callable[[np.random.Generator], list[tuple]] = lambda rng: [()]
    mistakes: list[tuple[str, Callable[..., Any]]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.solution.__name__

    @property
    def is_value(self) -> bool:
        return not inspect.signature(self.solution).parameters

    @property
    def heading(self) -> str:
        """The title of the exercise in the chapter, such as "Butterflies ●●○ 10 min"; the book numbers it."""
        return f"{self.title} {'●' * self.difficulty}{'○' * (3 - self.difficulty)} {self.minutes} min"

    def mistake(self, diagnosis: str, answer: Callable[..., Any]) -> None:
        """Register a wrong answer that readers give, with what to tell them about it."""
        self.mistakes.append((diagnosis, answer))

    def code(self) -> str:
        """The source of the solution: a function, or for a value the assignment to its name."""
        lines = self._lines()
        if self.is_value:
            result = ast.parse("\n".join(lines)).body[0].body[-1].value
            return f"{self.name} = {ast.get_source_segment(chr(10).join(lines), result)}"
        return "\n".join(line for line in lines if line.strip() != TURN)

    def stub(self) -> str:
        """What the chapter shows: the head of the solution, an ellipsis, and the call of the check."""
        if self.is_value:
            head = [f"{self.name} = ...  # {inspect.getdoc(self.solution)}"]
        else:
            lines = self._lines()
            turns = [number for number, line in enumerate(lines) if line.strip() == TURN]
            end = turns[0] if turns else ast.parse("\n".join(lines)).body[0].body[0].end_lineno
            head = [*lines[:end], lines[end].replace(lines[end].lstrip(), "...")]
        return "\n".join([*head, "", f'check("{self.id}", {self.name})'])

    def _lines(self) -> list[str]:
        """The lines of the solution's source below its decorator."""
        source = textwrap.dedent(inspect.getsource(self.solution))
        return source.splitlines()[ast.parse(source).body[0].lineno - 1 :]

    def judge(self, answer: Any, rng: np.random.Generator) -> str | None:
        """None if `answer` is right, else what is wrong with it; raises `Unfit` if it cannot be tried."""
        trials = self.instances(rng)
        got = run(answer, trials, self)
        wanted = [self.solution(*trial) for trial in trials]
        if all(map(same, got, wanted)):
            return None
        for diagnosis, mistake in self.mistakes:
            if all(map(same, got, [mistake(*trial) for trial in trials])):
                return diagnosis
        return difference(got, wanted, trials, self)


def exercise(id: str, title: str, **rest: Any) -> Callable[[Callable], Exercise]:
    """Decorator: the function below is the solution of this exercise; `rest` are the fields of `Exercise`."""
    return lambda solution: Exercise(solution, id, title, **rest)


def check(id: str, answer: Any = None) -> Feedback:
    """Say at once whether `answer` solves exercise `id`; if not, what is wrong with it, and a hint."""
    try:
        task = find(id)
    except KeyError as unknown:
        return Feedback("unknown", unknown.args[0])
    if is_open(answer, task):
        return Feedback("open", f"Replace the `...` in `{task.name}` and run this cell.")
    try:
        problem = task.judge(answer, _generator(task.id))
    except Unfit as unfit:
        problem = str(unfit)
    if problem is None:
        _wrong[task.id] = 0
        return Feedback("right", task.why)
    _wrong[task.id] += 1
    return Feedback("wrong", problem, task.hints[min(_wrong[task.id], len(task.hints)) - 1])


def solution(id: str) -> Folded:
    """The solution of exercise `id`, folded until the reader opens it."""
    task = find(id)
    return Folded(f"Solution of {task.id}", task.code(), task.why)


def stub(id: str) -> str:
    """The text of the cell in which the reader answers exercise `id`."""
    return find(id).stub()


def find(id: str) -> Exercise:
    """The exercise with this id; a KeyError with one sentence if there is none."""
    known = {task.id: task for chapter in CHAPTERS if chapter == str(id).partition(".")[0] for task in _load(chapter)}
    if str(id) not in known:
        raise KeyError(f"There is no exercise {id!r}; there are {', '.join(known or identifiers())}.")
    return known[str(id)]


def identifiers() -> list[str]:
    """The ids of all exercises, in the order of the chapters."""
    return [task.id for chapter in CHAPTERS for task in _load(chapter)]


def _load(chapter: str) -> list[Exercise]:
    module = importlib.import_module(f"flatcube.classroom.exercises.{CHAPTERS[chapter]}")
    return [value for value in vars(module).values() if isinstance(value, Exercise)]


def _generator(id: str) -> np.random.Generator:
    """Fresh instances at every call; in the press, whose outputs are compared, the same ones in every run."""
    _calls[id] += 1
    return np.random.default_rng([*map(int, id.split(".")), _calls[id]] if "FLATCUBE_PRESS" in os.environ else None)
