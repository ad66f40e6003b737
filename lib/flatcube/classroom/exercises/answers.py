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
    from flatcube.classroom.exercises import Exercise

__all__ = ["Unfit", "is_open", "run", "same", "difference"]


class Unfit(Exception):
    """The answer cannot be tried; the message says why in one sentence."""


def is_open(answer: Any, task: Exercise) -> bool:
    """Whether the reader has not answered yet: nothing, an ellipsis, or the function as the stub left it."""
    if isinstance(answer, dict):
        return any(value is ... for value in answer.values())
    if answer is None or answer is ...:
        return True
    if task.is_value or not inspect.isfunction(answer):
        return False
    stub = next(part for part in compile(task.stub(), "stub", "exec").co_consts if inspect.iscode(part))
    return (stub.co_code, stub.co_consts) == (answer.__code__.co_code, answer.__code__.co_consts)


def run(answer: Any, trials: list[tuple], task: Exercise) -> list[Any]:
    """What `answer` gives on each trial; `Unfit` if it is the wrong sort of thing or stops with an error."""
    if task.is_value and callable(answer):
        raise Unfit(f"You gave a function, but `{task.name}` has to be a value.")
    if task.is_value:
        return [answer]
    if not callable(answer):
        raise Unfit(f'Give the function itself, without calling it: `check("{task.id}", {task.name})`.')
    return [_call(answer, trial, task) for trial in trials]


def _call(answer: Any, trial: tuple, task: Exercise) -> Any:
    try:
        result = answer(*copy.deepcopy(trial))  # an answer that writes into its arguments hurts only itself
    except (Exception, SystemExit) as error:
        raise Unfit(_sentence(error, answer, task)) from None
    if result is None or result is ...:
        raise Unfit(f"`{task.name}` returns nothing: does it end with `return`?")
    return result


def _sentence(error: BaseException, answer: Any, task: Exercise) -> str:
    """The reader's error in one sentence, with the line of their own code where it happened."""
    file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f" in line {lines[-1]}, `{linecache.getline(file, lines[-1]).strip()}`" if lines else ""
    message = str(error).partition("\n")[0].rstrip(".") or "it gives no reason"
    return f"`{task.name}` stopped with {type(error).__name__}{where}: {message}."


def same(got: Any, wanted: Any) -> bool:
    """Equal up to rounding, entry by entry."""
    mine, right = _entries(got), _entries(wanted)
    return mine is not None and mine.keys() == right.keys() and not _unequal(mine, right)


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


def _unequal(mine: dict, right: dict) -> list:
    return [place for place in mine | right if not np.isclose(mine.get(place, 0), right.get(place, 0), 1e-7, 1e-9)]


def difference(got: list, wanted: list, trials: list[tuple], task: Exercise) -> str:
    """What is wrong in the first trial that fails, without saying what would be right."""
    passed = list(map(same, got, wanted))
    first = passed.index(False)
    problem = _problem(got[first], wanted[first])
    if task.is_value:
        return problem[0].upper() + problem[1:] + "."
    setting = zip(inspect.signature(task.solution).parameters, trials[first], strict=True)
    shown = ", ".join(f"{name} = {_shown(value)}" for name, value in setting)
    return f"Right in {sum(passed)} of {len(passed)} fresh trials; for {shown} {problem}."


def _problem(got: Any, wanted: Any) -> str:
    mine, right = _entries(got), _entries(wanted)
    if isinstance(wanted, dict) != isinstance(got, dict):
        kind = "a dictionary from subsets to numbers" if isinstance(wanted, dict) else "one number or an array"
        return f"you give a value of type {type(got).__name__} where {kind} should come"
    if mine is None:
        parts = "subsets, such as (2,) or (1, 3), and numbers" if isinstance(wanted, dict) else "numbers"
        return f"what you give is not made of {parts}"
    if isinstance(wanted, dict):
        count = len(_unequal(mine, right))
        return f"your spectrum is wrong in {count} coefficient{'s' * (count != 1)}"
    if np.ndim(got) == 0 and np.ndim(wanted) == 1:
        return f"you give one number where {len(wanted)} should come"
    if np.shape(got) != np.shape(wanted):
        return f"you give an array of shape {np.shape(got)} where {np.shape(wanted)} should come"
    bad = _unequal(mine, right)
    count = f"{len(bad)} of {len(right)} entries are wrong, the first at index {bad[0][0]}, where " if bad[0] else ""
    return f"{count}you give {mine[bad[0]]:.4g}" + ("" if bad[0] else ", which is wrong")


def _shown(value: Any) -> str:
    """An argument in a few characters."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return f"an array of shape {value.shape}"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{v:g}' for v in value)}]" if value.size <= 8 else f"a table of {value.size} values"
    return repr(value)
