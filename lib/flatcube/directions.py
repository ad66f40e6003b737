"""Unit vectors that are orthogonal, or almost: names for positions (ED App. B.1).

The *coherence* of unit vectors v₁, v₂, … is Δ = max |v_i · v_j| over i ≠ j. In d dimensions at most d of them have
Δ = 0, but exp(dΔ²/4) random ones are expected to have no pair beyond Δ: a pair is with probability at most
2 exp(−dΔ²/2), and there are fewer than exp(dΔ²/2)/2 pairs.
"""

import math
from collections.abc import Iterable

import numpy as np

from flatcube import cube

__all__ = ["coherence", "random_directions", "capacity", "dimension_for", "with_inner_products", "tilted"]


def coherence(vectors: np.ndarray) -> float:
    """Δ = max |v_i · v_j| over the different rows of vectors (T, d).

    >>> round(coherence([[1, 0], [0.6, 0.8]]), 6)
    0.6
    """
    vectors = np.asarray(vectors, float)
    products = np.abs(vectors @ vectors.T)
    np.fill_diagonal(products, 0)
    return float(products.max())


def random_directions(count: int, dimension: int, *, rng: np.random.Generator | int) -> np.ndarray:
    """Independent unit vectors (count, dimension), uniform on the sphere."""
    cube.check_integer(count, "count", 1)
    normal = np.random.default_rng(rng).normal(size=(count, cube.check_integer(dimension, "dimension", 1)))
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def capacity(dimension: int, delta: float) -> int:
    """⌊exp(dΔ²/4)⌋: so many unit vectors with coherence at most Δ exist, by drawing them at random."""
    return math.floor(math.exp(cube.check_integer(dimension, "dimension", 1) * _check_delta(delta) ** 2 / 4))


def dimension_for(count: int, delta: float) -> int:
    """⌈4 log(count)/Δ²⌉, the dimension in which ``capacity`` reaches count; never more than count, where Δ = 0.

    >>> dimension_for(1000, 0.5), dimension_for(1000, 0.01)
    (111, 1000)
    """
    least = math.ceil(4 * math.log(cube.check_integer(count, "count", 1)) / _check_delta(delta) ** 2)
    return min(count, max(least, 1))


def with_inner_products(gram: np.ndarray) -> np.ndarray:
    """Vectors (T, T) with the inner products gram (T, T), by Cholesky's factorisation."""
    gram = cube.check_numbers(np.asarray(gram, float), "gram")
    if gram.ndim != 2 or gram.shape != gram.T.shape or not np.allclose(gram, gram.T):
        raise ValueError("gram: expected a symmetric matrix, as inner products are")
    try:
        return np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        raise ValueError("gram: expected a positive definite matrix; no vectors have these inner products") from None


def tilted(count: int, chosen: Iterable[int], delta: float) -> np.ndarray:
    """Unit vectors (count, count), orthogonal but for the chosen ones: the first leans towards all others by Δ, these
    lean away from each other. Their sum is then nearest to the first: the case that spoils an average most."""
    members = np.array(cube.subset(cube.mask(chosen, count))) - 1
    gram = np.eye(count)
    for i in members:
        for j in members[members != i]:
            gram[i, j] = delta if members[0] in (i, j) else -delta
    return with_inner_products(gram)


def _check_delta(delta: float) -> float:
    if not 0 < delta <= 1:
        raise ValueError(f"delta: expected a number above 0 and at most 1, got {delta}")
    return float(delta)
