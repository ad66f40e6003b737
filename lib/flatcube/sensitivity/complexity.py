"""Measures of a Boolean function beside its sensitivity: blocks, certificates, decision trees.

For every Boolean f, s ≤ bs ≤ C ≤ D and degree ≤ D. All of them are bounded by polynomials of each other; for the
maximum sensitivity s this is Huang's theorem of 2019. Each measure is found by exhaustion, with tables of 4^n entries.
"""

import numpy as np

from flatcube import checks, cube
from flatcube.sensitivity import _edges

__all__ = ["block_sensitivity", "certificate_complexity", "decision_depth"]

_LARGEST = 10


def block_sensitivity(table: np.ndarray) -> int:
    """bs(f): the most disjoint blocks B with f(x^{⊕B}) ≠ f(x), over all x; n ≤ 10, in 3^n steps.

    >>> block_sensitivity(cube.majority(3))
    2
    """
    table, n = _small(table)
    points = np.arange(2**n)
    best = np.zeros((2**n, 2**n), np.int8)  # best[M, x]: the most blocks that fit in M
    for within in range(1, 2**n):
        lowest = within & -within
        rest = block = within ^ lowest
        best[within] = best[rest]  # the lowest member of M in no block …
        while True:  # … or in one, with any subset of the rest
            changed = table[points ^ (block | lowest)] != table
            np.maximum(best[within], best[rest ^ block] + 1, out=best[within], where=changed)
            if not block:
                break
            block = block - 1 & rest
    return int(best[-1].max())


def certificate_complexity(table: np.ndarray) -> int:
    """C(f): how many variables of the worst x must be fixed, chosen well, until f is constant; n ≤ 10."""
    table, n = _small(table)
    sizes = np.where(_constant(table, n), cube.weights(n)[:, None], n)
    return int(sizes.min(axis=0).max())


def decision_depth(table: np.ndarray) -> int:
    """D(f): the depth of the shallowest decision tree, the questions it asks at worst; n ≤ 10.

    >>> decision_depth(cube.address(2))
    3
    """
    table, n = _small(table)
    points, constant = np.arange(2**n), _constant(table, n)
    depth = np.zeros((2**n, 2**n), np.int8)  # depth[S, x]: after the variables S have been read at x
    for known in range(2**n - 2, -1, -1):
        bits = [1 << i for i in range(n) if not known >> i & 1]
        after = [np.maximum(depth[known | bit], depth[known | bit][points ^ bit]) for bit in bits]
        depth[known] = np.where(constant[known], 0, 1 + np.min(after, axis=0))
    return int(depth[0, 0])


def _constant(table: np.ndarray, n: int) -> np.ndarray:
    """Entry [S, x] says whether f is constant on the points that agree with x on S: (2^n, 2^n)."""
    points = np.arange(2**n)
    constant = np.ones((2**n, 2**n), bool)
    for known in range(2**n - 2, -1, -1):
        bit = ~known & (known + 1)  # the lowest variable outside S
        across = points ^ bit
        constant[known] = constant[known | bit] & constant[known | bit][across] & (table == table[across])
    return constant


def _small(table: np.ndarray) -> tuple[np.ndarray, int]:
    table = checks.table(table)
    if table.ndim != 1:
        raise ValueError(f"table: expected one function, got shape {table.shape}")
    if not _edges.is_boolean(table):
        raise ValueError("table: expected a Boolean table of −1 and +1, got other values")
    n = len(table).bit_length() - 1
    if n > _LARGEST:
        raise ValueError(f"table: expected at most {_LARGEST} variables, got n = {n}")
    return table, n
