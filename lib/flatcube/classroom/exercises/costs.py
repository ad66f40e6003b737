"""Costs that are counted, not timed: how many operations an answer performs on the numbers that it is given.

The answer runs once more, on arrays of numbers that count what is done with them. Two things would turn these into
ordinary floats: `float` and numpy's names for it. For this one run, both mean the counting number in the answer's
code, so that `np.array(table, dtype=float)` and `np.zeros(8)` go on counting, as do loops, sums and matrix products.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

__all__ = ["Cost", "operations"]


@dataclass(frozen=True)
class Cost:
    """At most `slack` times `enough(*trial)` additions and subtractions on the trial that `instance(rng)` draws.

    `formula` says in the text's letters what is enough, such as "n·2ⁿ". Every array of floats in the trial counts.
    """

    instance: Callable[[np.random.Generator], tuple]
    enough: Callable[..., int]
    formula: str
    slack: float = 2.0

    def excess(self, answer: Callable, rng: np.random.Generator) -> str | None:
        """None if the answer is fast enough, else a sentence with both numbers."""
        trial = self.instance(rng)
        enough = self.enough(*trial)
        try:
            spent = operations(answer, trial)
        except Exception:  # right answers that do with numbers what ours cannot are not counted
            return None
        if spent <= self.slack * enough:
            return None
        sizes = ", ".join(f"{value.size:,} numbers" for value in trial if _counts(value))
        return f"Right values, but {spent:,} operations for {sizes}, where {self.formula} = {enough:,} suffice."


def operations(answer: Callable, trial: tuple) -> int:
    """How often `answer(*trial)` adds or subtracts numbers made from the arrays of floats in `trial`.

    To make an ordinary float of such a number counts as well: who does that for every term sums up elsewhere.
    """
    number = _number()
    given = [_counting(value, number) if _counts(value) else value for value in trial]
    _within(answer, number)(*given)
    return number.spent


def _counts(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _counting(values: Any, number: type) -> np.ndarray:
    return np.vectorize(number, otypes=[object])(values)


def _number() -> type:
    """A new class of numbers with its own count, `spent`."""

    class Counted:
        __slots__ = ("value",)
        spent = 0

        def __init__(self, value: Any = 0.0) -> None:
            self.value = value.value if isinstance(value, Counted) else float(value)

        def __float__(self) -> float:
            Counted.spent += 1
            return self.value

        def __neg__(self) -> Counted:
            return Counted(-self.value)

        def __abs__(self) -> Counted:
            return Counted(abs(self.value))

        def __bool__(self) -> bool:
            return bool(self.value)

        def __hash__(self) -> int:
            return hash(self.value)

        def conjugate(self) -> Counted:
            return self

    def plain(value: Any) -> Any:
        return value.value if isinstance(value, Counted) else value

    def method(function: Callable, cost: int, turned: bool) -> Callable:
        def computed(self: Counted, other: Any) -> Any:
            if isinstance(other, np.ndarray):
                return NotImplemented
            Counted.spent += cost
            pair = (plain(other), self.value) if turned else (self.value, plain(other))
            return Counted(function(*pair))

        return computed

    for name, cost in {"add": 1, "sub": 1, "mul": 0, "truediv": 0, "pow": 0, "floordiv": 0, "mod": 0}.items():
        function = getattr(operator, name)
        setattr(Counted, f"__{name}__", method(function, cost, False))
        setattr(Counted, f"__r{name}__", method(function, cost, True))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        compare = getattr(operator, name)
        setattr(Counted, f"__{name}__", lambda self, other, compare=compare: compare(self.value, plain(other)))
    return Counted


def _within(answer: Callable, number: type) -> Callable:
    """The answer, and the functions of the reader that it calls, in a world whose `float` is the counting number."""
    if not isinstance(answer, FunctionType):
        return answer
    scope = answer.__globals__
    world = dict(scope)

    def moved(function: FunctionType) -> FunctionType:
        copy = FunctionType(function.__code__, world, function.__name__, function.__defaults__, function.__closure__)
        copy.__kwdefaults__ = function.__kwdefaults__
        return copy

    for name, value in scope.items():
        if isinstance(value, FunctionType) and value.__globals__ is scope:
            world[name] = moved(value)
        elif value is np:
            world[name] = _Numpy(number)
    world["float"] = number
    return moved(answer)


class _Numpy:
    """numpy, in which floats are counting numbers and new arrays of floats hold such."""

    def __init__(self, number: type) -> None:
        self._number = number

    def __getattr__(self, name: str) -> Any:
        if name in ("float64", "float32", "double", "longdouble"):
            return self._number
        value = getattr(np, name)
        return self._filled(value) if name in ("zeros", "ones", "empty", "eye", "identity") else value

    def _filled(self, make: Callable) -> Callable:
        def made(*given: Any, **named: Any) -> np.ndarray:
            values = make(*given, **named)
            return _counting(values, self._number) if _counts(values) else values

        return made
