"""Marks: what a submission's functions give on fresh instances, judged here, outside of the process that computes it.

A proxy stands for each function of the submission. The machinery that judges every exercise calls it as it would call
the function itself; each call travels to the sandbox as plain values, and so does what comes back. Nothing that a
submission says about itself is believed, but for its name and the hints it has used.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flatcube.classroom.exercises import Exercise
from flatcube.classroom.exercises.answers import Unfit
from flatcube.grading.assignments import NAME
from flatcube.grading.otter import LEFT_OUT
from flatcube.grading.plain import packed, unpacked
from flatcube.grading.sandbox import Limits, Sandbox, Silent

__all__ = ["Mark", "Marks", "Marking", "Submission", "read_notebook", "clean", "worth"]

LARGEST = 20_000_000  # bytes of a submission
_STARTS = 4  # sandboxes for one submission: each that falls silent is replaced, so often
_KINDS = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")
_HINTS = re.compile(r"Hints used for ([\w.]+): (\d+)")
_NAME = re.compile(rf"""^{NAME}\s*=\s*(['"])(.*?)\1""", re.MULTILINE)


@dataclass(frozen=True)
class Submission:
    """What a student has handed in: the cells, or the answers to exercises on pages with the pages' own cells."""

    student: str
    cells: list[str] = field(default_factory=list)
    pages: list[tuple[list[list[str]], dict[str, str]]] = field(default_factory=list)  # cells; texts by exercise
    hints: dict[str, int] = field(default_factory=dict)
    questions: str = ""  # how many of the questions of pages are answered rightly, such as "5/8"

    @property
    def empty(self) -> bool:
        return not any(cell.strip() for cell in self.cells) and not self.pages


@dataclass(frozen=True)
class Mark:
    """What a submission gets for one problem. `diagnosed` says that a known mistake was recognised."""

    id: str
    points: int
    most: int
    status: str  # right, wrong, unfit, open, silent
    text: str
    diagnosed: bool = False
    hints: int = 0


@dataclass(frozen=True)
class Marks:
    """What a submission gets, and what was noticed while it ran."""

    student: str
    marks: list[Mark]
    notes: list[str]
    questions: str = ""

    @property
    def points(self) -> int:
        return sum(mark.points for mark in self.marks)

    @property
    def most(self) -> int:
        return sum(mark.most for mark in self.marks)


def read_notebook(path: Path) -> Submission:
    """The code of a notebook, and what it tells of its student."""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"the file has more than {LARGEST // 1_000_000} MB")
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
        sources = [_source(cell) for cell in book["cells"] if cell["cell_type"] == "code"]
        outputs = json.dumps([cell.get("outputs") for cell in book["cells"]])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("the file is no notebook") from None
    names = [found[2] for source in sources if (found := _NAME.search(source))]
    hints = {id: min(int(count), 2) for id, count in _HINTS.findall(outputs)}
    return Submission(clean(names[0] if names else ""), sources, hints=hints)


def _source(cell: dict[str, Any]) -> str:
    """The code of a cell; none if it only calls otter's checks."""
    source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    return "" if LEFT_OUT in json.dumps(cell.get("metadata")) else source


def clean(name: str) -> str:
    """A name as one short line that no table and no page takes for anything else."""
    words = " ".join(re.sub(r"[^\w .,'’()-]", " ", name).split())
    return words.lstrip("-.,'’()")[:60]


@dataclass(frozen=True)
class Marking:
    """How all submissions are marked: the same problems, on the same instances, which follow from the seed."""

    tasks: list[Exercise]
    seed: int
    limits: Limits = Limits()
    unsafe: bool = False
    hidden: tuple[Path, ...] = ()

    def mark(self, submission: Submission) -> Marks:
        """The marks of a submission; whatever it does, there is an outcome."""
        if submission.empty:
            marks = [self._outcome(task, submission, "open", "It is not answered.") for task in self.tasks]
            return Marks(submission.student, marks, ["There is no code in it."], submission.questions)
        run = _Run(self, submission)
        try:
            marks = [self._judged(task, run) for task in self.tasks]
        finally:
            run.close()
        return Marks(submission.student, marks, run.notes, submission.questions)

    def _judged(self, task: Exercise, run: _Run) -> Mark:
        try:
            answer = run.answer(task)
            if answer is None:
                return self._outcome(task, run.submission, "open", f"There is no `{task.name}` in it.")
            plain = dataclasses.replace(task, cost=None)  # operations are counted where a function is, not from here
            problem = plain.judge(answer, self._instances(task))
        except (Silent, Unfit) as error:
            status = "silent" if isinstance(error, Silent) or run.fell_silent else "unfit"
            words = str(error) if isinstance(error, Unfit) else f"`{task.name}` cannot be asked: {error}."
            if "returns nothing" in words:
                status, words = "open", "It is not answered."
            return self._outcome(task, run.submission, status, words)
        except Exception as error:  # a value of a kind that nobody has thought of
            return self._outcome(task, run.submission, "unfit", f"`{task.name}` cannot be judged: {error!r:.200}.")
        if problem is None:
            return self._outcome(task, run.submission, "right", task.why)
        known = problem in [diagnosis for diagnosis, _ in task.mistakes]
        return self._outcome(task, run.submission, "wrong", problem, known)

    def _outcome(self, task: Exercise, submission: Submission, status: str, text: str, known: bool = False) -> Mark:
        most = worth(task)
        points = most if status == "right" else 0
        return Mark(task.id, points, most, status, text, known, submission.hints.get(task.id, 0))

    def _instances(self, task: Exercise) -> np.random.Generator:
        return np.random.default_rng([self.seed, *task.id.encode()])


def worth(task: Exercise) -> int:
    """The points of a problem; an exercise of the first set has as many as its difficulty."""
    return getattr(task, "points", task.difficulty)


class _Run:
    """A submission as it is executed: its sandbox, a new one if the last fell silent, and what was noticed."""

    def __init__(self, marking: Marking, submission: Submission) -> None:
        self.marking, self.submission = marking, submission
        self.notes: list[str] = []
        self.fell_silent = False
        self._passed: set[int] = set()  # cells that are not executed again
        self._sandbox: Sandbox | None = None
        self._page: int | None = None
        self._starts = 0

    def close(self) -> None:
        if self._sandbox:
            self._sandbox.close()
            self._sandbox = None

    def answer(self, task: Exercise) -> Any:
        """What the submission has for a problem: a proxy of its function, its value, or None."""
        self.fell_silent = False
        if self.submission.pages:
            place = self._place(task.id)
            if place is None:
                return None
            self._open(place[0])
            said = self._ask("answer", at=place[1], source=place[2])
            if said.get("failed"):
                _raise(said["failed"], task.name)
        else:
            self._open(None)
        said = self._ask("takes", name=task.name)
        if said.get("missing"):
            return None
        if "value" in said:
            return _value(said["value"], task.name)
        return self._proxy(task, said.get("parameters"))

    def _proxy(self, task: Exercise, parameters: Any) -> Callable[..., Any]:
        def proxy(*arguments: Any) -> Any:
            try:
                given = packed(arguments)
            except TypeError:
                raise Unfit(f"{task.id} is about things that only live in one process: look at it by hand.") from None
            said = self._ask("call", name=task.name, arguments=given)
            if "value" not in said:
                _raise(said.get("failed"), task.name)
            return _value(said["value"], task.name)

        proxy.__name__ = task.name
        if isinstance(parameters, list):
            with suppress(TypeError, ValueError, IndexError):
                proxy.__signature__ = inspect.Signature([_parameter(*each) for each in parameters[:50]])
        return proxy

    def _ask(self, what: str, **rest: Any) -> dict[str, Any]:
        if self._sandbox is None:
            raise Silent("it was stopped before")
        try:
            return self._sandbox.ask(what, **rest)
        except Silent as silent:
            self._sandbox, self.fell_silent = None, True
            raise Silent(str(silent)) from None

    def _open(self, page: int | None) -> None:
        """A sandbox in which the cells have been executed."""
        if self._sandbox and self._page == page:
            return
        self.close()
        while self._starts < _STARTS + len(self.submission.pages):
            self._starts += 1
            self._sandbox, self._page = self._new(), page
            try:
                return self._execute(page)
            except Silent:
                continue  # without the cell that fell silent
        raise Silent("too many of its cells were stopped")

    def _new(self) -> Sandbox:
        marking = self.marking
        return Sandbox(marking.limits, unsafe=marking.unsafe, hidden=marking.hidden)

    def _execute(self, page: int | None) -> None:
        if page is not None:
            self._ask("page", cells=self.submission.pages[page][0])
            return
        for number, source in enumerate(self.submission.cells):
            if number in self._passed or not source.strip():
                continue
            try:
                said = self._ask("cell", source=source)
            except Silent as silent:
                self._passed.add(number)
                self.note(f"Code cell {number + 1} was stopped: {silent}.")
                raise
            if said.get("failed"):
                self.note(f"Code cell {number + 1} stopped with {_error(said['failed'])}.")

    def note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)

    def _place(self, id: str) -> tuple[int, int, str] | None:
        """Where a page has an exercise and what was answered: the page, the cell, the text."""
        for number, (cells, answers) in enumerate(self.submission.pages):
            places = [at for at, (_, exercise) in enumerate(cells) if exercise == id]
            if places and id in answers:
                return number, places[0], answers[id]
        return None


def _parameter(name: Any, kind: Any, optional: Any) -> inspect.Parameter:
    kinds = [getattr(inspect.Parameter, each) for each in _KINDS]
    return inspect.Parameter(str(name), kinds[int(kind)], default=None if optional else inspect.Parameter.empty)


def _value(value: Any, name: str) -> Any:
    try:
        return unpacked(value)
    except (ValueError, RecursionError) as error:
        raise Unfit(f"`{name}` cannot be judged: {error}.") from None


def _raise(failed: Any, name: str) -> None:
    raise Unfit(f"`{name}` stopped with {_error(failed)}.")


def _error(failed: Any) -> str:
    """An error of a submission in one short line; its words are the student's, and may be anything."""
    try:
        kind, words = (" ".join(str(each).split()) for each in failed)
    except (TypeError, ValueError):
        kind, words = "an error", ""
    kind = kind if kind.isidentifier() else "an error"
    return f"{kind}: {words[:200].rstrip('.')}" if words else kind
