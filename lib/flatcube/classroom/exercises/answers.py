"""Running a reader's answer without ever showing a traceback, and comparing what it gives."""

from __future__ import annotations

import copy
import inspect
import linecache
import operator
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from flatcube.classroom.exercises.tasks import Task

__all__ = ["EXACT", "Unfit", "is_open", "run", "same", "difference", "misfit"]

EXACT, _CLOSE = 1e-7, 1e-4  # relative errors of a right answer, and of one that is right but for its last digits


class Unfit(Exception):
    """The answer cannot be tried or compared; the message says why in one sentence. It costs no hint."""


def is_open(answer: Any, task: Task) -> bool:
    """Whether the reader has not answered yet: nothing, an ellipsis, or the function as the stub left it."""
    if isinstance(answer, dict):
        return any(value is ... for value in answer.values())
    if answer is None or answer is ...:
        return True
    if task.is_value or not inspect.isfunction(answer):
        return False
    stub = next(part for part in compile(task.stub(), "stub", "exec").co_consts if inspect.iscode(part))
    return (stub.co_code, stub.co_consts) == (answer.__code__.co_code, answer.__code__.co_consts)


def run(answer: Any, trials: list[tuple], task: Task, *, copied: bool = True) -> list[Any]:
    """What `answer` gives on (a copy of) each trial; `Unfit` if it is of the wrong sort or stops with an error."""
    if task.is_value and callable(answer):
        raise Unfit(f"You gave a function, but `{task.name}` has to be a value.")
    if task.is_value:
        return [answer]
    if not callable(answer):
        how = "without quotes" if isinstance(answer, str) else "without calling it"
        raise Unfit(f"Give the function itself, {how}: `{task.call}`.")
    _takes(answer, task)
    # an answer that writes into its arguments hurts only itself
    return [_call(answer, copy.deepcopy(trial) if copied else trial, task) for trial in trials]


def _takes(answer: Any, task: Task) -> None:
    """Refuse a function that cannot be called with the arguments of the exercise."""
    wanted = list(inspect.signature(task.solution).parameters)
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # some functions that are not written in Python do not tell
        return
    try:
        signature.bind(*wanted)
    except TypeError:
        takes, asks = (f"{k} argument{'s' * (k != 1)}" for k in (len(signature.parameters), len(wanted)))
        raise Unfit(f"Your function takes {takes}, but it is called with {asks}: {', '.join(wanted)}.") from None


def _call(answer: Any, trial: tuple, task: Task) -> Any:
    try:
        result = answer(*trial)
    except (Exception, SystemExit) as error:
        raise Unfit(_sentence(error, answer, task)) from None
    if result is None or result is ...:
        raise Unfit(f"`{task.name}` returns nothing: does it end with `return`?")
    return result


def _sentence(error: BaseException, answer: Any, task: Task) -> str:
    """The reader's error in one sentence, with the line of their own code where it happened."""
    file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f" in line {lines[-1]}, `{linecache.getline(file, lines[-1]).strip()}`" if lines else ""
    message = str(error).partition("\n")[0].rstrip(".") or "it gives no reason"
    return f"`{task.name}` stopped with {type(error).__name__}{where}: {message}."


def same(got: Any, wanted: Any, exact: float = EXACT) -> bool:
    """Equal up to rounding, or to the relative error that `exact` allows, entry by entry."""
    mine, right = _entries(got), _entries(wanted)
    return mine is not None and mine.keys() == right.keys() and not _unequal(mine, right, exact)


def _entries(value: Any) -> dict[Any, float] | None:
    """The numbers in an answer by their place, None if it is not made of numbers.

    A dictionary from subsets is a spectrum, in which a zero may be written or left out.
    """
    try:
        if isinstance(value, dict):
            pairs = {frozenset(map(operator.index, subset)): float(number) for subset, number in value.items()}
            return {subset: number for subset, number in pairs.items() if abs(number) > 1e-12}
        array = np.asarray(value)
        return dict(np.ndenumerate(array.astype(float))) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        return None


def _unequal(mine: dict, right: dict, exact: float) -> list:
    return [place for place in mine | right if not np.isclose(mine.get(place, 0), right.get(place, 0), exact, 1e-9)]


def difference(got: list, wanted: list, trials: list[tuple], task: Task) -> str:
    """What is wrong in the first trial that fails, without saying what would be right.

    `Unfit` if something of another kind or shape is given there: that is no mistake in the mathematics yet.
    """
    exact = getattr(task, "exact", EXACT)
    passed = [same(mine, right, exact) for mine, right in zip(got, wanted, strict=True)]
    first = passed.index(False)
    other_kind = misfit(got[first], wanted[first])
    problem = other_kind or _error(got[first], wanted[first], exact, getattr(task, "entry", ""))
    if task.is_value:
        sentence = problem[0].upper() + problem[1:] + "."
    else:
        setting = zip(inspect.signature(task.solution).parameters, trials[first], strict=True)
        shown = ", ".join(f"{name} = {_shown(value)}" for name, value in setting)
        sentence = f"Right in {sum(passed)} of {len(passed)} fresh trials; for {shown}: {problem}."
    if other_kind:
        raise Unfit(sentence)
    return sentence


def misfit(got: Any, wanted: Any) -> str | None:
    """How `got` is another kind or shape of thing than `wanted`, in half a sentence; None if it is not."""
    if isinstance(wanted, dict) != isinstance(got, dict):
        kind = "a dictionary from subsets to numbers" if isinstance(wanted, dict) else "one number or an array"
        return f"you give a value of type {type(got).__name__} where {kind} should come"
    if _entries(got) is None:
        parts = "subsets, such as (2,) or (1, 3), and numbers" if isinstance(wanted, dict) else "numbers"
        return f"what you give is not made of {parts}"
    if isinstance(wanted, dict):
        return None
    if np.ndim(got) == 0 and np.ndim(wanted) == 1:
        return f"you give one number where {len(wanted)} should come"
    if np.shape(got) != np.shape(wanted):
        return f"you give an array of shape {np.shape(got)} where {np.shape(wanted)} should come"
    return None


def _error(got: Any, wanted: Any, exact: float, entry: str = "") -> str:
    """What is wrong with the numbers of `got`, in half a sentence; an `entry` has a name if the text gives it one."""
    mine, right = _entries(got), _entries(wanted)
    bad = _unequal(mine, right, exact)
    near = all(np.isclose(mine.get(place, 0), right.get(place, 0), _CLOSE, 0) for place in bad)
    if near and any(right.get(place, 0) % 1 for place in bad):  # of two whole numbers neither is inexact
        first = mine.get(bad[0], 0)
        digits = {1e-7: "seven", 1e-6: "six"}[exact]
        return f"you give {first:.8g}, which is close, but not exact enough: the check asks for {digits} digits"
    if isinstance(wanted, dict):
        return f"your spectrum is wrong in {len(bad)} coefficient{'s' * (len(bad) != 1)}"
    verb = "is wrong, that" if len(bad) == 1 else "are wrong, the first"
    count = f"{len(bad)} of {len(right)} entries {verb} {_where(bad[0], entry)}, where " if bad[0] else ""
    given = np.asarray(got)[bad[0]]
    shown = str(given) if isinstance(given, (bool, np.bool_)) else f"{mine[bad[0]]:.4g}"
    return f"{count}you give {shown}" + ("" if bad[0] else ", which is wrong")


def _where(place: tuple[int, ...], entry: str) -> str:
    """The place of a number in an array: as the text counts, or as Python does."""
    if len(place) > 1:
        return f"at index [{', '.join(map(str, place))}]"
    return f"for {entry} {place[0] + 1}" if entry else f"at index {place[0]}"


def _shown(value: Any) -> str:
    """An argument in a few characters."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        small = value.ndim == 2 and value.size <= 16 and value.dtype.kind in "biu"
        return str(value.astype(int).tolist()) if small else f"an array of shape {value.shape}"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{v:g}' for v in value)}]" if value.size <= 8 else f"a table of {value.size} values"
    return repr(value)
