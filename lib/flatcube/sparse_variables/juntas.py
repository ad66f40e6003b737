"""Functions of a few variables among many, and how clearly a signal tells them apart (ED App. B.1).

A table has 2^T entries, or rows of d numbers, in the order of ``cube``. ED write bits as 0 and 1 and count the ones
among the chosen variables: r.
"""

from collections.abc import Iterable

import numpy as np

from flatcube import checks, cube

__all__ = ["is_sparse", "is_symmetric", "levels", "strictness", "injectivity", "distance"]


def is_sparse(table: np.ndarray, chosen: Iterable[int]) -> bool:
    """Whether the table depends on the chosen variables only (ED: 𝓘-sparse).

    >>> is_sparse(cube.subset_parity((1, 3), 4), (1, 3)), is_sparse(cube.parity(4), (1, 3))
    (True, False)
    """
    table = checks.table(table, axis=0)
    inside = np.arange(len(table)) & cube.mask(chosen, len(table).bit_length() - 1, name="chosen")
    return bool((table == table[inside]).all())


def is_symmetric(table: np.ndarray, chosen: Iterable[int]) -> bool:
    """Whether a sparse table depends on the number of ones among the chosen variables only."""
    small = _restricted(table, chosen)
    counts = cube.weights(len(small).bit_length() - 1)
    return all((small[counts == r] == small[counts == r][0]).all() for r in range(counts.max() + 1))


def _restricted(table: np.ndarray, chosen: Iterable[int]) -> np.ndarray:
    """The 2^s rows of a sparse table, as a function of its chosen variables in increasing order."""
    table = checks.table(table, axis=0)
    members = list(cube.subset(cube.mask(chosen, len(table).bit_length() - 1, name="chosen")))
    if not is_sparse(table, members):
        raise ValueError(f"table: expected a function of the variables {members} only")
    bits = np.arange(2 ** len(members))[:, None] >> np.arange(len(members)) & 1
    return table[bits @ (1 << (np.array(members, dtype=int) - 1))]


def levels(table: np.ndarray, chosen: Iterable[int]) -> np.ndarray:
    """The values (s + 1,) of a sparse and symmetric table at r = 0, …, s ones."""
    small = _restricted(table, chosen)
    s = len(small).bit_length() - 1
    if not is_symmetric(small, range(1, s + 1)):
        raise ValueError("table: expected a symmetric function of the chosen variables, got another one")
    return small[(1 << np.arange(s + 1)) - 1]


def strictness(table: np.ndarray, chosen: Iterable[int]) -> float:
    """The largest γ for which a symmetric table is γ-strictly monotone: its smallest step, up or down; else 0.

    ED define *monotone* as increasing, and then use a decreasing function (erratum 46); only the size of steps counts.

    >>> strictness(cube.mean(4), (1, 2, 3, 4)), strictness(cube.parity(4), (1, 2, 3, 4))
    (0.5, 0.0)
    """
    steps = np.diff(levels(table, chosen))
    return float(np.abs(steps).min(initial=np.inf)) if (steps > 0).all() or (steps < 0).all() else 0.0


def injectivity(table: np.ndarray, chosen: Iterable[int]) -> float:
    """The largest γ for which a sparse table (2^T, d) is γ-injective: the least ℓ_∞ distance of two of its values."""
    small = _restricted(table, chosen)
    small = small.reshape(len(small), -1)
    checks.room(8 * len(small) ** 2 * small.shape[1], "chosen")
    apart = np.abs(small[:, None] - small[None]).max(axis=2).astype(float)
    np.fill_diagonal(apart, np.inf)
    return float(apart.min())


def distance(f: np.ndarray, g: np.ndarray) -> float:
    """The least ε for which f ε-uniformly approximates g: the largest |difference| of any entry."""
    f, g = checks.numbers(f, "f").astype(float), checks.numbers(g, "g").astype(float)
    checks.shape(g.shape, "g", f.shape)
    return float(np.abs(f - g).max(initial=0))
