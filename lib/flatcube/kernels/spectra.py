"""Eigenvalues of kernels on the cube {±1}^n, with the mean over uniform points as the inner product.

A kernel acts on functions by (Kf)(x) = E_y K(x, y) f(y). If K(x, y) = Ψ(⟨x, y⟩/n), every parity χ_U is an
eigenfunction, and its eigenvalue depends on the size k of U only (Yang and Salman 2020, Theorem 3.2):

    μ_k = E_x χ_U(x) Ψ(mean x) = 2^{−n} Σ_j K_j(k) Ψ(1 − 2j/n),   K_j(k) = Σ_i (−1)^i C(k, i) C(n − k, j − i).

K_j(k), Krawtchouk's number, is the sum of χ_U over all points with j bits that are 1.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from flatcube import checks, cube, fourier

__all__ = ["matrix", "krawtchouk", "eigenvalues", "words", "gaps", "ordered", "by_set", "mean_by_degree", "leak"]

Profile = Callable[[np.ndarray], np.ndarray]  # Ψ: correlations c from −1 to 1 to values of the kernel
_LARGEST = 40  # bits; beyond, Krawtchouk's numbers are not exact in float64
_MATRIX = 12  # bits of a matrix with all pairs of points


def matrix(psi: Profile, n: int) -> np.ndarray:
    """The kernel Ψ(⟨x, y⟩/n) for all pairs of points of the cube, (2^n, 2^n).

    >>> matrix(lambda c: c, 1)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    points = cube.points(checks.integer(n, "n", 1, _MATRIX)).astype(float)
    return _values(psi, points @ points.T / n)


def _values(psi: Profile, c: np.ndarray) -> np.ndarray:
    values = np.asarray(checks.function(psi, "psi", "Ψ")(c), float)
    if values.shape != c.shape or not np.isfinite(values).all():
        raise ValueError(f"psi: expected a finite value for each of {c.size} correlations, got shape {values.shape}")
    return values


@cache
def _krawtchouk(n: int) -> tuple[tuple[int, ...], ...]:
    rows = []
    for k in range(n + 1):  # the coefficients of (1 − z)^k (1 + z)^{n−k}
        row = [1]
        for sign in [-1] * k + [1] * (n - k):
            row = [a + sign * b for a, b in zip([*row, 0], [0, *row], strict=True)]
        rows.append(tuple(row))
    return tuple(rows)


def krawtchouk(n: int) -> np.ndarray:
    """K_j(k) for k (rows) and j (columns) from 0 to n: the sum of χ_U, |U| = k, over points with j bits that are 1.

    >>> krawtchouk(2)
    array([[ 1,  2,  1],
           [ 1,  0, -1],
           [ 1, -2,  1]])
    """
    return np.array(_krawtchouk(checks.integer(n, "n", 1, _LARGEST)))


def eigenvalues(psi: Profile, n: int) -> np.ndarray:
    """μ_0, …, μ_n of the kernel Ψ(⟨x, y⟩/n), by Krawtchouk's sum: n + 1 values of Ψ are all that is needed.

    >>> eigenvalues(lambda c: c, 4)
    array([0.  , 0.25, 0.  , 0.  , 0.  ])
    """
    numbers = krawtchouk(n)
    values = _values(psi, 1 - 2 * np.arange(n + 1) / n)
    return np.array([math.fsum((row * values).tolist()) for row in numbers]) / 2.0**n


@cache
def _words(n: int, power: int) -> tuple[int, ...]:
    """For each k: the words of this length over n letters in which just the letters 1, …, k stand an odd number of
    times."""
    if power == 0:
        return (1, *[0] * n)
    shorter = _words(n, power - 1)  # take the last letter away: it was one of the k, or one of the others
    return tuple(
        (k * shorter[k - 1] if k else 0) + ((n - k) * shorter[k + 1] if k < n else 0) for k in range(n + 1)
    )


def words(n: int, power: int) -> np.ndarray:
    """For k = 0, …, n: in how many words of ``power`` letters from n do just k given letters occur an odd number of
    times. It is n^power · E χ_U(x) (mean x)^power, so never negative; Python integers, exact.

    >>> words(2, 2).tolist()
    [2, 0, 2]
    """
    checks.integer(n, "n", 1, _LARGEST)
    return np.array(_words(n, checks.integer(power, "power", 0, 200)), object)


def gaps(psi: Profile, n: int) -> np.ndarray:
    """μ_k − μ_{k+2} for k = 0, …, n − 2, each as E χ_U(x) Ψ(Σx/n) over the cube with two bits fewer, |U| = k."""
    checks.integer(n, "n", 3, _LARGEST)
    return eigenvalues(lambda c: _values(psi, c * (n - 2) / n), n - 2)


def ordered(mu: np.ndarray, tolerance: float = 1e-12) -> bool:
    """Whether μ_k ≥ μ_{k+2} for all k, up to ``tolerance`` times the largest."""
    mu, tolerance = checks.numbers(mu, "mu", ("degrees",)), checks.number(tolerance, "tolerance", 0)
    if not mu.size:
        raise ValueError("mu: expected an eigenvalue for each degree, got none")
    return bool((mu[2:] <= mu[:-2] + tolerance * np.abs(mu).max()).all())


# --- any kernel, seen in the basis of parities ------------------------------------------------------------------------


def _in_parities(kernel: np.ndarray) -> np.ndarray:
    """E_{x,y} χ_U(x) K(x, y) χ_V(y) for all U (rows) and V: diagonal if and only if all parities are eigenfunctions."""
    kernel = checks.table(kernel, name="kernel")
    checks.shape(kernel.shape, "kernel", (kernel.shape[-1], kernel.shape[-1]))
    return fourier.transform(fourier.transform(kernel, axis=0), axis=1)


def by_set(kernel: np.ndarray) -> np.ndarray:
    """E_{x,y} χ_U(x) K(x, y) χ_U(y) for all U. If K is the covariance of a random f, this is E f̂(U)²."""
    return np.diagonal(_in_parities(kernel)).copy()


def mean_by_degree(values: np.ndarray) -> np.ndarray:
    """The mean of a number for every set, (2^n,), over the sets of each size 0, …, n."""
    values = checks.table(values, name="values")
    checks.shape(values.shape, "values", ("2^n",))
    sizes = cube.weights(len(values).bit_length() - 1)
    return np.bincount(sizes, values) / np.bincount(sizes)


def leak(kernel: np.ndarray) -> float:
    """The share of Σ_{U,V} (E χ_U K χ_V)² that lies off the diagonal: 0 if all parities are eigenfunctions.

    The sum leaves out U = V = ∅, the square of the kernel's mean, which would drown all other entries.
    """
    squares = np.square(_in_parities(kernel))
    constant, *others = np.diagonal(squares).tolist()
    np.fill_diagonal(squares, 0.0)
    off = float(squares.sum())
    total = off + math.fsum(others)
    return off / total if total > 1e-24 * constant else 0.0
