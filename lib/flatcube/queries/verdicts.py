"""What one test says, and what a sweep of them finds; the tests share how many trials they take and what they note."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flatcube import checks

__all__ = ["Verdict", "Finding"]

MOST = 10**18  # trials, or coefficients
_ROUNDING = 1000  # the default tolerance, in units in the last place of the largest value


@dataclass(frozen=True)
class Verdict:
    """The outcome of one test: accepted if the statistic is within the limit.

    ``error`` bounds the probability of accepting wrongly (None: nothing does); ``proved`` tells whether by a proof.
    """

    accepted: bool
    statistic: float
    limit: float
    trials: int
    queries: int
    error: float | None
    proved: bool


@dataclass(frozen=True)
class Finding:
    """The first value that an upward sweep accepted; a lower bound only, if ``accepted`` is False.

    ``error`` bounds the probability that the value is too low (None: nothing does). ``verdicts`` holds the values that
    were tested, each with its verdict.
    """

    value: int
    accepted: bool
    queries: int
    error: float | None
    proved: bool
    verdicts: tuple[tuple[int, Verdict], ...]


class Seen:
    """What the trials of one test have seen of f so far."""

    def __init__(self, tolerance: float | None, proximity: float) -> None:
        if checks.number(proximity, "proximity", 0, 1) == 1:
            raise ValueError("proximity: expected a number below 1, got 1")
        if tolerance is not None:
            checks.positive(tolerance, "tolerance", 0)
        self.given, self.patient = tolerance, proximity > 0
        self.trials = self.queries = 0
        self.sum = self.squares = self.largest = self.unit = 0.0

    def add(self, g: np.ndarray) -> np.ndarray:
        """Note the values (trials, 2^r) of a batch and hand them on as floats."""
        g = g if g.dtype.kind == "f" else g.astype(np.float64)
        self.trials, self.queries = self.trials + len(g), self.queries + g.size
        self.sum += float(g.sum(dtype=np.float64))
        self.squares += float(np.square(g, dtype=np.float64).sum())
        self.largest, self.unit = max(self.largest, float(np.abs(g).max())), float(np.finfo(g.dtype).eps)
        return g

    @property
    def tolerance(self) -> float:
        return _ROUNDING * self.unit * self.largest if self.given is None else self.given

    @property
    def variance(self) -> float:
        return self.squares / self.queries - (self.sum / self.queries) ** 2

    def verdict(self, statistic: float, limit: float, error: float | None, proved: bool) -> Verdict:
        error = None if self.patient else error
        proved = proved and error is not None
        return Verdict(statistic <= limit, statistic, limit, self.trials, self.queries, error, proved)


def finding(value: int, verdicts: list[tuple[int, Verdict]]) -> Finding:
    """What a sweep found, with the queries and the risks of all its tests."""
    risks = [verdict.error for _, verdict in verdicts]
    return Finding(
        value,
        verdicts[-1][1].accepted,
        sum(verdict.queries for _, verdict in verdicts),
        None if None in risks else min(sum(risks), 1.0),
        all(verdict.proved for _, verdict in verdicts),
        tuple(verdicts),
    )


def enough(given: int | None, error: float, rate: float) -> int:
    """The given number of trials, or enough for (1 − rate)^trials ≤ error."""
    checks.probability(error, "error")
    if given is not None:
        return checks.integer(given, "trials", 1, MOST)
    return 1 if rate == 1 else math.ceil(math.log(error) / math.log1p(-rate))


def choose(method: str, **draws: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The way in which subcubes are drawn, by its name."""
    return draws[checks.word(method, "method", draws)]
