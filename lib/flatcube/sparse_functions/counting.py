"""How many examples, and how many questions, it takes to single out one set among many.

There are N = C(T, s) sets of s among T places. m labels are m bits, so at most 2^m different answers (ED Sec. 5). A
*statistical query* asks for the correlation E h(x)χ_S(x) of the hidden parity with a function h, E h² ≤ 1, and gets it
up to an error τ (Kearns 1998); the mean gradient over a large batch is such an answer for each weight.
"""

import math

import numpy as np

from flatcube import checks, cube, fourier

__all__ = ["sets", "least_samples", "most_success", "least_queries", "survivors"]

_LONGEST = 10**5


def sets(T: int, s: int) -> int:
    """N = C(T, s), the number of sets of s among T places.

    >>> sets(50, 3)
    19600
    """
    checks.integer(s, "s", 1, checks.integer(T, "T", 1, _LONGEST))
    return math.comb(T, s)


def least_samples(T: int, s: int) -> float:
    """log₂ C(T, s): with fewer labels no learner identifies every set (ED Sec. 5).

    >>> round(least_samples(50, 3), 2)
    14.26
    """
    return math.log2(sets(T, s))


def most_success(T: int, s: int, m: int) -> float:
    """min(1, 2^m/C(T, s)): no learner finds a uniformly random set from m labels with a larger probability."""
    return min(1.0, 2.0 ** (checks.integer(m, "m", 0, 10**6) - least_samples(T, s))) if m < least_samples(T, s) else 1.0


def least_queries(T: int, s: int, tolerance: float) -> int:
    """⌈(C(T, s) − 1)τ²⌉: with fewer queries some parities of s bits cannot be told apart.

    >>> least_queries(50, 3, 0.1)
    196
    """
    checks.fraction(tolerance, "tolerance")
    return math.ceil((sets(T, s) - 1) * tolerance**2 - 1e-9)


def survivors(queries: np.ndarray, s: int, tolerance: float) -> np.ndarray:
    """The masks of all sets S of size s for which the answer 0 to all queries is right up to τ.

    Queries are tables (count, 2^T) with E h² ≤ 1. By Parseval Σ_S ĥ(S)² ≤ 1, so that each rules out at most 1/τ² sets.
    """
    queries = np.atleast_2d(checks.table(queries, name="queries"))
    checks.shape(queries.shape, "queries", ("count", "2^T"))
    T = queries.shape[1].bit_length() - 1
    checks.integer(s, "s", 1, T)
    checks.fraction(tolerance, "tolerance")
    largest = float(np.square(queries, dtype=float).mean(1).max(initial=0))
    if largest > 1 + 1e-9:
        raise ValueError(f"queries: expected functions with a mean square of at most 1, got {largest:.3g}")
    masks = np.flatnonzero(cube.weights(T) == s)
    return masks[(np.abs(fourier.transform(queries, axis=-1)[:, masks]) <= tolerance).all(0)]
