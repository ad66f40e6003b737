"""The race of the testers: three tests ask a hidden function for its degree, query by query.

State::

    {"family": "sparse",    sparse (a sum of even_S), subset (one χ_S), conjunction, parity, majority or mean
     "n": 30,               variables
     "degree": 3,           sparse, subset, conjunction: the size of the sets; else 0
     "terms": 3,            sparse: the number of sets; else 0
     "noise": 0,            every answer is off by up to this much
     "tolerance": 0,        what the first two tests take for zero; 0: rounding only
     "trials": 32,          trials without a find that make a test accept
     "seed": 1,             of the function, the tests and the noise
     "tester": "blocks",    the test under the magnifying glass: blocks, axes or gf2
     "clock": None}         how many queries each test has asked; None when the race is over

Random numbers are hashed counters, which a page computes as easily as Python does. The subcubes, the values on them
and the statistics are the library's.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flatcube import cube, fourier, queries
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.explorers.chance import words as _words
from flatcube.classroom.palette import PLUS
from flatcube.queries import subcubes
from flatcube.sampling import BlackBox

__all__ = ["QueriesExplorer"]

LAST = 6  # the highest degree that is tested
REAL = ("sparse", "mean")
TESTERS = ("blocks", "axes", "gf2")
ROUNDING = 1e-9  # what a tolerance of 0 allows for
REFUSAL = "needs values −1 and +1"


@dataclass(frozen=True)
class Trial:
    """One trial: the subcube it asked about, the values there, and what they say about degree ≤ ``degree``."""

    degree: int
    values: np.ndarray
    statistic: float
    found: bool


class QueriesExplorer(Explorer):
    """Block flips, single flips and the test over GF(2), racing on the same hidden function."""

    name = "queries"
    label = "The race of the testers, three tests that ask a hidden function for its degree"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        clock = state["clock"]
        state |= {key: state[key] if cls.schema[key].counts(state) else 0 for key in ("degree", "terms")}
        over = clock is None or clock >= max(map(_queries, _race(state).values()))
        return {**state, "clock": None if over else clock}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        race = _race(state)
        clock = max(map(_queries, race.values())) if state["clock"] is None else state["clock"]
        counted = [key for key in ("n", "trials", "seed", "degree", "terms") if cls.schema[key].counts(state)]
        numbers = {key: float(state[key]) for key in counted}
        algebraic = _algebraic_degree(state)
        truth = {"truth": float(_degree(state)), "gf2": "none" if algebraic is None else float(algebraic)}
        shown = {**numbers, **truth, "clock": float(clock)}
        for tester, trials in race.items():
            shown |= _lane(tester, trials, clock, state)
        return shown | _magnified(race[state["tester"]], clock)

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The three lanes as rows of discs: hollow where a trial found nothing, full where it rejected."""
        marks, grey = [], "var(--fc-muted, #666)"
        for lane, trials in enumerate(_race(cls.complete(state)).values()):
            rows = itertools.groupby(trials, key=lambda trial: trial.degree)
            for row, (degree, group) in enumerate(rows):
                left, top = 134 * lane, 12 + 36 * row
                marks.append(f'<text x="{left}" y="{top + 4}" font-size="11" fill="{grey}">{degree}</text>')
                for k, trial in enumerate(group):
                    x, y = left + 16 + 7 * (k % 16), top + 7 * (k // 16)
                    fill = f"var(--fc-plus, {PLUS})" if trial.found else "none"
                    marks.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{fill}" stroke="{grey}"/>')
        return f'<svg viewBox="0 0 400 260" width="400" role="img" aria-label="{cls.label}">{"".join(marks)}</svg>'


# --- numbers by chance ------------------------------------------------------------------------------------------------


def _below(limit: int, words: Iterator[int]) -> int:
    return next(words) * limit >> 32


def _choose(n: int, count: int, words: Iterator[int]) -> list[int]:
    """Different indices below n, in random order."""
    deck = list(range(n))
    for j in range(count):
        k = j + _below(n - j, words)
        deck[j], deck[k] = deck[k], deck[j]
    return deck[:count]


def _draw(tester: str, n: int, r: int, words: Iterator[int]) -> np.ndarray:
    """A base point and r directions of one trial, as signs (1 + r, n)."""
    masks = [next(words) >> 32 - n] + [0] * r
    if tester == "blocks":
        for i in range(n):
            label = _below(r + 1, words)  # 0: in no block
            masks[label] ^= (1 << i) * (label > 0)
    elif tester == "axes":
        masks[1:] = [1 << i for i in _choose(n, r, words)]
    else:
        masks[1:] = [next(words) >> 32 - n for _ in range(r)]
    return (1 - 2 * (np.array(masks)[:, None] >> np.arange(n) & 1)).astype(np.int8)


# --- the hidden function ----------------------------------------------------------------------------------------------


def _function(state: Mapping[str, Any]) -> BlackBox:
    """The hidden function of a state, without noise."""
    n, family, words = state["n"], state["family"], _words(state["seed"], 0)
    if family == "sparse":
        return queries.black_box(_components(n, state["degree"], state["terms"], words), n)
    members = _choose(n, state["degree"], words)
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "subset": lambda x: x[:, members].prod(axis=1),
        "conjunction": lambda x: np.where((x[:, members] < 0).all(axis=1), -1.0, 1.0),
        "parity": lambda x: x.prod(axis=1),
        "majority": lambda x: np.where(2 * (x < 0).sum(axis=1) > n, -1.0, 1.0),
        "mean": lambda x: x.mean(axis=1),
    }
    return functions[family]


def _components(n: int, size: int, count: int, words: Iterator[int]) -> cube.Components:
    """Different sets of one size with weights in eighths, so that sums of them are exact."""
    found: dict[tuple[int, ...], float] = {}
    while len(found) < count:
        members = tuple(sorted(i + 1 for i in _choose(n, size, words)))
        weight = (1 + _below(16, words)) / 8
        found.setdefault(members, weight)
    return list(found.items())


def _degree(state: Mapping[str, Any]) -> int:
    return state["degree"] or (1 if state["family"] == "mean" else state["n"])


def _algebraic_degree(state: Mapping[str, Any]) -> int | None:
    """The degree as a polynomial over GF(2); None if f is not Boolean."""
    if state["family"] in REAL:
        return None
    if state["family"] == "majority":  # symmetric: a monomial of size k adds up the levels whose bits are among k's
        n = state["n"]
        odd = [sum(2 * j > n for j in range(k + 1) if j & k == j) % 2 for k in range(n + 1)]
        return max(k for k in range(n + 1) if odd[k])
    return state["degree"] if state["family"] == "conjunction" else 1


# --- the race ---------------------------------------------------------------------------------------------------------


def _race(state: Mapping[str, Any]) -> dict[str, list[Trial]]:
    """All trials of every test, up to its verdict."""
    return {tester: list(_run(state, tester, lane)) for lane, tester in enumerate(TESTERS, 1)}


def _run(state: Mapping[str, Any], tester: str, lane: int) -> Iterator[Trial]:
    if tester == "gf2" and state["family"] in REAL:
        return
    n, words = state["n"], _words(state["seed"], lane)
    f, limit = _noisy(_function(state), state["noise"], _words(state["seed"], lane + 3)), state["tolerance"] or ROUNDING
    for degree in range(LAST + 1):
        for _ in range(state["trials"]):
            drawn = _draw(tester, n, degree + 1, words)
            values = subcubes.restrict(f, drawn[:1], drawn[None, 1:])[0]
            if tester == "gf2":
                statistic = float(np.where(values < 0, -1, 1).prod())
                found = statistic < 0
            else:
                statistic = float(fourier.transform(values)[-1])
                found = abs(statistic) > limit
            yield Trial(degree, values, statistic, found)
            if found:
                break
        else:
            return


def _noisy(f: BlackBox, noise: float, words: Iterator[int]) -> BlackBox:
    def answer(x: np.ndarray) -> np.ndarray:
        errors = [noise * (2 * next(words) / 2**32 - 1) for _ in x]
        return f(x) + np.array(errors)

    return answer if noise else lambda x: np.asarray(f(x), dtype=float)


def _queries(trials: list[Trial]) -> int:
    return sum(len(trial.values) for trial in trials)


def _lane(tester: str, trials: list[Trial], clock: int, state: Mapping[str, Any]) -> dict[str, float | str]:
    """What one lane shows after ``clock`` queries."""
    asked, total = 0, _queries(trials)
    shown: dict[str, float | str] = {}
    if not trials:
        return {f"{tester}:queries": 0.0, f"{tester}:verdict": REFUSAL}
    for degree, group in itertools.groupby(trials, key=lambda trial: trial.degree):
        if asked >= clock:
            break
        outcome = "testing"
        for k, trial in enumerate(group):
            asked += len(trial.values)
            if asked > clock:
                break
            shown[f"{tester}:{degree}:{k}"] = trial.statistic
            outcome = "rejected" if trial.found else "accepted" if k + 1 == state["trials"] else "testing"
        shown[f"{tester}:{degree}"] = outcome
    own = _algebraic_degree(state) if tester == "gf2" else None  # a test is judged by the degree that it measures
    truth, kind = (_degree(state), "") if own is None else (own, " modulo 2")
    at = max([0, *(int(key.split(":")[1]) for key in shown if key.count(":") == 1)])
    return shown | {
        f"{tester}:queries": float(min(clock, total)),
        f"{tester}:verdict": _verdict(shown.get(f"{tester}:{at}", "testing"), at, truth, kind),
    }


def _verdict(outcome: str, degree: int, truth: int, kind: str) -> str:
    if outcome == "rejected" and degree == LAST:
        return f"rejects even degree ≤ {LAST}: {'right' if truth > LAST else 'wrong'}{kind}"
    if outcome == "accepted":
        judgement = "right" if degree == truth else "too low" if degree < truth else "too high"
        return f"accepts degree ≤ {degree}: {judgement}{kind}"
    return f"testing degree ≤ {degree + (outcome == 'rejected')}"


def _magnified(trials: list[Trial], clock: int) -> dict[str, float | str]:
    """The last query and its trial, for the test under the magnifying glass."""
    left = min(clock, _queries(trials))
    if left == 0:
        return {}
    ends = list(itertools.accumulate(len(trial.values) for trial in trials))
    at = next(k for k, end in enumerate(ends) if left <= end)
    trial, left = trials[at], left - (ends[at - 1] if at else 0)
    number = sum(earlier.degree == trial.degree for earlier in trials[:at]) + 1
    return {"now:degree": float(trial.degree), "now:trial": float(number), "now:query": float(left)} | {
        f"v:{y}": float(value) for y, value in enumerate(trial.values[:left])
    }
