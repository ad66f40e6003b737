"""Exercises that answer back: `check("1.3", answer)`.

An exercise is its solution together with the mistakes that readers make, each with the sentence that fits it. The
solution's source gives both the stub that stands in the chapter and the folded solution. A check runs the reader's
answer, the solution and the mistakes on the same fresh random instances. An answer that agrees with the solution is
right; one that agrees with a known mistake gets that mistake's sentence; any other is told what it gave where it
went wrong. So a diagnosis cannot drift away from the wrong answer that it is about. Where an answer can give the right
values in a wrong way, by luck, an exercise may `look` at how it works.

Only a mistake in the mathematics costs a hint. An answer of the wrong type, arity, name or shape, or one that stops
with an error, gets a sentence about just that. Where the text promises speed, an exercise states a `Cost`.
An open exercise has no right answer: `score("1.7", answer)` measures it beside the library's own and a baseline.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flatcube import paths
from flatcube.classroom.exercises.answers import EXACT, Unfit, difference, is_open, run, same
from flatcube.classroom.exercises.costs import Cost, operations
from flatcube.classroom.exercises.feedback import Feedback, Folded
from flatcube.classroom.exercises.scores import Measure, Scoreboard, Scored
from flatcube.classroom.exercises.tasks import Task

__all__ = [
    "check", "score", "solution", "stub", "find", "identifiers", "of_chapter", "challenges", "rooms",
    "exercise", "scored", "Exercise", "Scored", "Measure", "Cost", "operations",
]  # fmt: skip

_FIRST = re.compile(r'^@exercise\(\s*"(\d+)\.', re.MULTILINE)

_wrong: Counter[str] = Counter()  # wrong tries since the last right one: they decide the level of the hint
_calls: Counter[str] = Counter()


@dataclass
class Exercise(Task):
    """An exercise with a right answer: a function of what `instances(rng)` draws, or without parameters a value."""

    hints: tuple[str, str]
    why: str  # said when the answer is right: one sentence on why it matters
    instances: Callable[[np.random.Generator], list[tuple]] = lambda rng: [()]
    mistakes: list[tuple[str, Callable[..., Any]]] = field(default_factory=list)
    exact: float = EXACT  # the relative error of a right answer; 1e-6 where a minimiser has to find it
    entry: str = ""  # what a number of the answer (n,) belongs to, where the text counts these from 1: "bit"
    cost: Cost | None = None  # how many operations a right answer may take, where the text promises speed
    # `look(answer, rng)`, at how an answer works where its values do not tell: what is wrong with it, or None
    look: Callable[[Callable[..., Any], np.random.Generator], str | None] | None = None

    def mistake(self, diagnosis: str, answer: Callable[..., Any]) -> None:
        """Register a wrong answer that readers give, with what to tell them about it."""
        self.mistakes.append((diagnosis, answer))

    def judge(self, answer: Any, rng: np.random.Generator) -> str | None:
        """None if `answer` is right, else what is wrong with it; raises `Unfit` if it cannot be tried."""
        trials = self.instances(rng)
        got = run(answer, trials, self)
        wanted = [self.solution(*trial) for trial in trials]
        if self._same(got, wanted):
            problem = self.cost and self.cost.excess(answer, rng)
        else:
            for diagnosis, mistake in self.mistakes:
                if self._same(got, [mistake(*trial) for trial in trials]):
                    return diagnosis
            _namesake(answer, self)
            problem = difference(got, wanted, trials, self)
        seen = self.look(lambda *trial: run(answer, [trial], self, copied=False)[0], rng) if self.look else None
        return seen or problem

    def _same(self, got: list, wanted: list) -> bool:
        return all(same(mine, right, self.exact) for mine, right in zip(got, wanted, strict=True))


def exercise(id: str, title: str, **rest: Any) -> Callable[[Callable], Exercise]:
    """Decorator: the function below is the solution of this exercise; `rest` are the fields of `Exercise`."""
    return lambda solution: Exercise(solution, id, title, **rest)


def scored(id: str, title: str, **rest: Any) -> Callable[[Callable], Scored]:
    """Decorator: the function below is the library's answer to an open exercise; `rest` are the fields of `Scored`."""
    return lambda solution: Scored(solution, id, title, **rest)


def check(id: str, answer: Any = None) -> Feedback:
    """Say at once whether `answer` solves exercise `id`; if not, what is wrong with it, and a hint."""
    try:
        task = find(id)
    except KeyError as unknown:
        return Feedback("unknown", unknown.args[0])
    if isinstance(task, Scored):
        words = f"{task.id} is open: there is no single right answer. `{task.call}` compares yours with the library's."
        return Feedback("unfit", words)
    if is_open(answer, task):
        return Feedback("open", f"Replace the `...` in `{task.name}` and run this cell.")
    try:
        problem = task.judge(answer, _generator(task.id))
    except Unfit as unfit:
        return Feedback("unfit", str(unfit))
    if problem is None:
        _wrong[task.id] = 0
        return Feedback("right", task.why)
    _wrong[task.id] += 1
    return Feedback("wrong", problem, task.hints[min(_wrong[task.id], len(task.hints)) - 1])


def score(id: str, answer: Any = None, *, seed: int | None = None) -> Scoreboard | Feedback:
    """Compare `answer` to the open exercise `id` with the library's own and a baseline, on the same fresh instances."""
    try:
        task = find(id)
    except KeyError as unknown:
        return Feedback("unknown", unknown.args[0])
    if not isinstance(task, Scored):
        return Feedback("unfit", f"{task.id} has a right answer: `{task.call}` says whether yours is.")
    if is_open(answer, task):
        return Feedback("open", f"Replace the `...` in `{task.name}` and run this cell.")
    try:
        return task.board(answer, int(_generator(task.id).integers(10**6)) if seed is None else seed)
    except Unfit as unfit:
        return Feedback("unfit", str(unfit))


def solution(id: str) -> Folded:
    """The solution of exercise `id`, folded until the reader opens it."""
    task = find(id)
    title = f"The library's answer to {task.id}" if isinstance(task, Scored) else f"Solution of {task.id}"
    return Folded(title, task.code(), task.why)


def stub(id: str) -> str:
    """The text of the cell in which the reader answers exercise `id`."""
    return find(id).stub()


def find(id: str) -> Exercise | Scored:
    """The exercise with this id; a KeyError with one sentence if there is none."""
    if not isinstance(id, str):  # the number 1.10 would be that of exercise 1.1
        raise KeyError(f'The id of an exercise is a text, such as "1.3"; this is {id!r:.40}.')
    known = {task.id: task for task in _load(id.partition(".")[0])}
    if id not in known:
        raise KeyError(f"There is no exercise {id!r}; there are {', '.join(known or [*identifiers(), *challenges()])}.")
    return known[id]


def identifiers() -> list[str]:
    """The ids of all exercises that have a right answer, in the order of the chapters."""
    return [task.id for chapter in rooms() for task in _load(chapter) if isinstance(task, Exercise)]


def of_chapter(chapter: str) -> list[Exercise | Scored]:
    """The exercises of a chapter, open ones among them, in the order of their numbers."""
    return sorted(_load(chapter), key=lambda task: int(task.id.partition(".")[2]))


def challenges() -> list[str]:
    """The ids of all open exercises, which are scored, in the order of the chapters."""
    return [task.id for chapter in rooms() for task in _load(chapter) if isinstance(task, Scored)]


@functools.cache
def rooms() -> dict[str, str]:
    """The rooms that have exercises, by the numbers of their chapters, in order; their files are read, not loaded."""
    found = {}
    for path in paths.LIBRARY.glob("*/exercises.py"):
        if first := _FIRST.search(path.read_text(encoding="utf-8")):
            found[first[1]] = path.parent.name
    return dict(sorted(found.items(), key=lambda item: int(item[0])))


def _load(chapter: str) -> list[Exercise | Scored]:
    if chapter not in rooms():
        return []
    module = importlib.import_module(f"flatcube.{rooms()[chapter]}.exercises")
    return [value for value in vars(module).values() if isinstance(value, Task)]


def _namesake(answer: Any, task: Exercise) -> None:
    """Refuse a wrong answer that bears the name of another exercise of the chapter."""
    name = getattr(answer, "__name__", task.name)
    for other in _load(task.id.partition(".")[0]):
        if other.name == name != task.name:
            raise Unfit(f"This is `{name}`, the answer to {other.id}; here `{task.name}` is asked for.")


def _generator(id: str) -> np.random.Generator:
    """Fresh instances at every call; in the press, whose outputs are compared, the same ones in every run."""
    _calls[id] += 1
    return np.random.default_rng([*map(int, id.split(".")), _calls[id]] if "FLATCUBE_PRESS" in os.environ else None)
