"""Unit vectors that are orthogonal, or almost: names for positions (ED App. B.1).

The *coherence* of unit vectors v₁, v₂, … is Δ = max |v_i · v_j| over i ≠ j. In d dimensions at most d of them have
Δ = 0, but exp(dΔ²/4) random ones are expected to have no pair beyond Δ: a pair is with probability at most
2 exp(−dΔ²/2), and there are fewer than exp(dΔ²/2)/2 pairs.
"""

import math
from collections.abc import Iterable

import numpy as np

from flatcube import checks, cube

__all__ = ["coherence", "random_directions", "capacity", "dimension_for", "with_inner_products", "tilted"]

_LARGEST = 10**8  # entries of all vectors together


def coherence(vectors: np.ndarray) -> float:
    """Δ = max |v_i · v_j| over the different rows of vectors (T, d).

    >>> round(coherence([[1, 0], [0.6, 0.8]]), 6)
    0.6
    """
    vectors = checks.numbers(vectors, "vectors", ("T", "d")).astype(float)
    if not vectors.size:
        raise ValueError(f"vectors: expected rows of numbers, got shape {vectors.shape}")
    checks.room(16 * len(vectors) ** 2, "vectors")
    products = np.abs(vectors @ vectors.T)
    np.fill_diagonal(products, 0)
    return float(products.max())


def random_directions(count: int, dimension: int, *, rng: np.random.Generator | int) -> np.ndarray:
    """Independent unit vectors (count, dimension), uniform on the sphere."""
    checks.integer(count, "count", 1, _LARGEST // checks.integer(dimension, "dimension", 1, _LARGEST))
    normal = checks.generator(rng).normal(size=(count, dimension))
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def capacity(dimension: int, delta: float) -> int:
    """⌊exp(dΔ²/4)⌋: so many unit vectors with coherence at most Δ exist, by drawing them at random."""
    exponent = checks.integer(dimension, "dimension", 1, 10**18) * checks.fraction(delta, "delta") ** 2 / 4
    if exponent > 700:
        raise ValueError(
            f"dimension: expected at most {2800 / delta**2:g} for this Δ, or exp overflows, got {dimension}"
        )
    return math.floor(math.exp(exponent))


def dimension_for(count: int, delta: float) -> int:
    """⌈4 log(count)/Δ²⌉, the dimension in which ``capacity`` reaches count; never more than count, where Δ = 0.

    >>> dimension_for(1000, 0.5), dimension_for(1000, 0.01)
    (111, 1000)
    """
    least = 4 * math.log(checks.integer(count, "count", 1)) / checks.fraction(delta, "delta") ** 2
    return min(count, max(math.ceil(least), 1))


def with_inner_products(gram: np.ndarray) -> np.ndarray:
    """Vectors (T, T) with the inner products gram (T, T), by Cholesky's factorisation."""
    gram = checks.numbers(gram, "gram", ("T", "T"))
    if not np.allclose(gram, gram.T):
        raise ValueError("gram: expected a symmetric matrix, as inner products are")
    try:
        return np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        raise ValueError("gram: expected a positive definite matrix; no vectors have these inner products") from None


def tilted(count: int, chosen: Iterable[int], delta: float) -> np.ndarray:
    """Unit vectors (count, count), orthogonal but for the chosen ones: the first leans towards all others by Δ, these
    lean away from each other. Their sum is then nearest to the first: the case that spoils an average most."""
    members = np.array(cube.subset(cube.mask(chosen, count, name="chosen")), dtype=int) - 1
    checks.number(delta, "delta", -1, 1)
    checks.room(16 * checks.integer(count, "count", 1) ** 2, "count")
    gram = np.eye(count)
    for i in members:
        for j in members[members != i]:
            gram[i, j] = delta if members[0] in (i, j) else -delta
    return with_inner_products(gram)
