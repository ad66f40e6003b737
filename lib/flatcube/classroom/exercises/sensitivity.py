"""The exercises of chapter 2. Each solution is followed by the mistakes that its check recognises."""

import numpy as np

from flatcube import cube, fourier, sensitivity
from flatcube.classroom.exercises import exercise


@exercise(
    "2.1",
    "Influence by hand",
    minutes=6,
    difficulty=1,
    hints=(
        "Fix the other two bits in all four ways. In how many of them does flipping the third change the value?",
        "x₁ decides unless x₂ and x₃ are both false. x₂ decides only if x₁ is true and x₃ does not decide already.",
    ),
    why="Two variables that can stand in for each other have little influence each; the one they both need has much.",
)
def by_hand() -> list[float]:
    """the influences of x1, x2 and x3, such as [1/2, 0, 1]"""
    return [3 / 4, 1 / 4, 1 / 4]


by_hand.mistake(
    "You count lit edges. An influence is their share among the four edges that point in that direction.",
    lambda: [3, 1, 1],
)
by_hand.mistake(
    "Half the right size: each direction has four edges, not eight. A lit edge is seen from both of its ends.",
    lambda: [3 / 8, 1 / 8, 1 / 8],
)
by_hand.mistake(
    "These are the shares of edges on which the value stays the same.",
    lambda: [1 / 4, 3 / 4, 3 / 4],
)
by_hand.mistake(
    "Right for x₁. For x₂ it is not enough that x₁ is true: if x₃ is true as well, x₂ no longer matters.",
    lambda: [3 / 4, 1 / 2, 1 / 2],
)


def _tables_and_points(rng: np.random.Generator) -> list[tuple]:
    """Real tables, at points whose first bit is one: there + and ^ lead to different neighbours."""
    tables = [rng.normal(size=2**n).round(2) + 0.0 for n in (2, 3, 3, 4)]
    return [(table, int(2 * rng.integers(len(table) // 2) + 1)) for table in tables]


@exercise(
    "2.2",
    "One point",
    minutes=8,
    difficulty=1,
    hints=(
        "The neighbours of point k are the n points whose index differs from k in one binary digit.",
        "`k ^ 2**i` flips digit i of k. Add the squared differences from `table[k]` and remember the quarter.",
    ),
    why="One point costs n + 1 queries, however long the table would be: that is why sensitivity can be sampled.",
    instances=_tables_and_points,
)
def point_sensitivity(table: np.ndarray, k: int) -> float:
    """s(f, x) at the point with index k, for a real f with this table."""
    n = len(table).bit_length() - 1
    # your turn
    return sum((table[k] - table[k ^ 2**i]) ** 2 for i in range(n)) / 4


def _jumps(table: np.ndarray, k: int) -> np.ndarray:
    """f(x) − f(y) for the n neighbours y of x."""
    n = len(table).bit_length() - 1
    return table[k] - table[k ^ 2 ** np.arange(n)]


point_sensitivity.mistake(
    "Four times too large: a sign that flips jumps by 2, and its square is 4. The quarter makes that one.",
    lambda table, k: np.sum(_jumps(table, k) ** 2),
)
point_sensitivity.mistake(
    "You count the neighbours that differ. That is right for Boolean f; a real f may change a little or a lot.",
    lambda table, k: np.count_nonzero(_jumps(table, k)),
)
point_sensitivity.mistake(
    "You add half the jumps, not their squares. For signs that is the same; only squares lead to the spectrum.",
    lambda table, k: np.sum(np.abs(_jumps(table, k))) / 2,
)
point_sensitivity.mistake(
    "You divide by n: that is the normalised version. s(f, x) is a sum over the bits.",
    lambda table, k: np.mean(_jumps(table, k) ** 2) / 4,
)
point_sensitivity.mistake(
    "Adding 2**i to k carries into the next digit when digit i is already one. Flip the digit with ^ instead.",
    lambda table, k: (
        sum((table[k] - table[(k + 2**i) % len(table)]) ** 2 for i in range(len(table).bit_length() - 1)) / 4
    ),
)


def _lengths(rng: np.random.Generator) -> list[tuple]:
    """Even and odd lengths."""
    return [(int(2 * rng.integers(2, 20) + odd),) for odd in (0, 1, 0, 1)]


@exercise(
    "2.3",
    "MAJORITY of any length",
    minutes=12,
    difficulty=2,
    hints=(
        "Count the lit edges: at their lower ends exactly k bits are one. How many such points are there?",
        "From each of them, n − k edges lead up and are lit. The cube has 2ⁿ points, and every edge has two ends.",
    ),
    why="The binomial at the middle is about 2ⁿ/√(πn/2). Times n and divided by 2ⁿ, that is √(2n/π).",
    instances=_lengths,
)
def majority_average(n: int) -> float:
    """The average sensitivity of MAJORITY on n bits, n odd or even."""
    from math import comb

    k = n // 2  # with k ones it is false, with k + 1 ones true
    # your turn
    return comb(n, k) * (n - k) / 2 ** (n - 1)


majority_average.mistake(
    "Half the right size: a lit edge makes both of its ends sensitive.",
    lambda n: majority_average.solution(n) / 2,
)
majority_average.mistake(
    "That is the limit for large n. Count instead: the exact value is a fraction.",
    lambda n: np.sqrt(2 * n / np.pi),
)
majority_average.mistake(
    "That is the sensitivity at the worst points. Most points are not sensitive at all: take the mean.",
    lambda n: n // 2 + 1,
)
majority_average.mistake(
    "That is what a random function has, with half of all edges lit. MAJORITY changes on one level of edges only.",
    lambda n: n / 2,
)
majority_average.mistake(
    "Right for even n only: for odd n you count edges between levels that MAJORITY does not tell apart.",
    lambda n: float(sensitivity.cast_average("MAJORITY", n)) * (1 if n % 2 == 0 else (n - 1) / (n + 1)),
)
majority_average.mistake(
    "You add up over all points; the average divides by their number, 2ⁿ.",
    lambda n: majority_average.solution(n) * 2**n,
)


def _profiles(rng: np.random.Generator) -> list[tuple]:
    drawn = [fourier.spectrum(cube.random_boolean(n, rng=rng)).profile for n in (3, 4, 5)]
    return [(profile, round(float(rng.uniform(0.2, 0.9)), 2)) for profile in drawn]


@exercise(
    "2.4",
    "Noise from the profile",
    minutes=8,
    difficulty=2,
    hints=(
        "Noise of correlation r multiplies a parity of k bits by rᵏ on average. What is the mean of f(x) f(y)?",
        "f(x) f(y) is +1 where the two agree and −1 where they differ. Its mean is 1 minus twice what you want.",
    ),
    why="Differentiate at r = 1: the slope is half the average sensitivity. A little noise is many single flips.",
    instances=_profiles,
)
def change_probability(profile: np.ndarray, correlation: float) -> float:
    """P[f(x) ≠ f(y)] for a Boolean f; profile[k] is its weight at degree k."""
    degrees = np.arange(len(profile))
    # your turn
    return (1 - np.sum(profile * correlation**degrees)) / 2


def _stability(profile: np.ndarray, correlation: float, shift: int = 0) -> float:
    return np.sum(profile * correlation ** (np.arange(len(profile)) + shift))


change_probability.mistake(
    "That is the noise stability, the mean of f(x) f(y). You want the probability that the two differ.",
    lambda profile, correlation: _stability(profile, correlation),
)
change_probability.mistake(
    "Twice too large: where the values differ, f(x) f(y) drops from 1 to −1, by two.",
    lambda profile, correlation: 1 - _stability(profile, correlation),
)
change_probability.mistake(
    "That is the probability that the two values agree.",
    lambda profile, correlation: (1 + _stability(profile, correlation)) / 2,
)
change_probability.mistake(
    "Your degrees are one too high: `profile[0]` belongs to the constant, which noise does not touch.",
    lambda profile, correlation: (1 - _stability(profile, correlation, 1)) / 2,
)
change_probability.mistake(
    "You read the argument as the probability of a flip. It is the correlation itself.",
    lambda profile, correlation: (1 - _stability(profile, 1 - 2 * correlation)) / 2,
)
change_probability.mistake(
    "That is the bound by average sensitivity, the tangent at r = 1. The profile gives the exact value.",
    lambda profile, correlation: (1 - correlation) * (profile @ np.arange(len(profile))) / 2,
)


def _flips(rng: np.random.Generator) -> list[tuple]:
    """Values before and after a random flip of one of n bits."""
    drawn = [rng.normal(size=(2, m)).round(1) + 0.0 for m in (4, 6, 30)]  # no minus zero
    return [(before, after, int(rng.integers(5, 60))) for before, after in drawn]


@exercise(
    "2.5",
    "From random flips",
    minutes=10,
    difficulty=2,
    hints=(
        "The mean change is the normalised sensitivity as/n, because the flipped bit was one of n. What is missing?",
        "A mean of m numbers has standard error s/√m, with s their deviation (`ddof=1`). Scale it like the mean.",
    ),
    why="Two queries per flip, and the error shrinks like 1/√m whatever n is: no table, no 2ⁿ.",
    instances=_flips,
)
def from_flips(before: np.ndarray, after: np.ndarray, n: int) -> list[float]:
    """[estimate of as(f), its standard error]: one random bit of n was flipped."""
    changes = (before - after) ** 2 / 4
    # your turn
    return [n * changes.mean(), n * changes.std(ddof=1) / np.sqrt(len(changes))]


def _scaled(before: np.ndarray, after: np.ndarray, value: float, error: float, ddof: int = 1) -> list[float]:
    changes = (before - after) ** 2 / 4
    return [value * changes.mean(), error * changes.std(ddof=ddof) / np.sqrt(len(changes))]


from_flips.mistake(
    "Both numbers are n times too small: you estimate the chance that one flip matters, not how many of n flips do.",
    lambda before, after, n: _scaled(before, after, 1, 1),
)
from_flips.mistake(
    "The estimate is right, but its error must be multiplied by n as well.",
    lambda before, after, n: _scaled(before, after, n, 1),
)
from_flips.mistake(
    "The second number is the spread of single flips. The mean of m of them is √m times more certain.",
    lambda before, after, n: _scaled(before, after, n, n * np.sqrt(len(before))),
)
from_flips.mistake(
    "Your deviation divides by m. The mean is estimated from the same numbers, so divide by m − 1: `ddof=1`.",
    lambda before, after, n: _scaled(before, after, n, n, ddof=0),
)
from_flips.mistake(
    "The quarter went missing: `changes` already holds what you need.",
    lambda before, after, n: _scaled(before, after, 4 * n, 4 * n),
)


def _silences(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(5, 60)), int(rng.integers(10, 80)), float(rng.choice([0.01, 0.05, 0.1]))) for _ in "123"]


@exercise(
    "2.6",
    "Nothing seen",
    minutes=12,
    difficulty=3,
    hints=(
        "If as(f) = a, a random flip changes a Boolean f with probability a/n. How likely do m flips all fail to?",
        "Set that probability equal to δ and solve for a.",
    ),
    why="About 3n/m for δ = 5 %: after m silent flips the sensitivity is small, never proved to be zero.",
    instances=_silences,
)
def still_possible(n: int, samples: int, delta: float) -> float:
    """The largest as(f) that keeps all flips silent with probability ≥ delta."""
    return n * (1 - delta ** (1 / samples))


still_possible.mistake(
    "That is the chance that one flip matters. There are n bits: scale it up.",
    lambda n, samples, delta: 1 - delta ** (1 / samples),
)
still_possible.mistake(
    "Zero is the best guess, but small sensitivities stay silent too. How large may it be before silence is strange?",
    lambda n, samples, delta: 0.0,
)
still_possible.mistake(
    "You use 1 − δ. Silence must have probability δ, not its opposite.",
    lambda n, samples, delta: n * (1 - (1 - delta) ** (1 / samples)),
)
still_possible.mistake(
    "Very close: that is the approximation for many samples. Solve (1 − a/n)ᵐ = δ without it.",
    lambda n, samples, delta: n * np.log(1 / delta) / samples,
)
still_possible.mistake(
    "That is the chance δ itself, scaled: the number of samples has to enter.",
    lambda n, samples, delta: n * (1 - delta),
)
