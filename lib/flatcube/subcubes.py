"""Random subcubes of a large cube, and what a black box does on them.

A base point x and directions v_1, …, v_r, vectors of signs, span the points x · ∏_{j: y_j = 1} v_j for y ∈ {0,1}^r.
"""

from collections.abc import Iterator

import numpy as np

from flatcube import sampling
from flatcube.sampling import BlackBox

__all__ = ["restrict", "directions", "blocks", "axes", "batches"]

_ENTRIES = 1 << 21  # the largest batch of several trials, in entries of its array of points
_MEMORY = 1 << 32  # the largest single trial


def restrict(f: BlackBox, base: np.ndarray, spanning: np.ndarray) -> np.ndarray:
    """The tables of f on subcubes with base points (trials, n) and directions (trials, r, n): (trials, 2^r)."""
    points = base[:, None]  # (trials, 2^j, n) after j directions
    for j in range(spanning.shape[1]):
        points = np.concatenate([points, points * spanning[:, j, None]], axis=1)
    return sampling.evaluate(f, points.reshape(-1, base.shape[1])).reshape(len(base), -1)


def directions(count: int, r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """r random directions for each trial: (count, r, n)."""
    return sampling.random_signs((count, r, n), rng=rng)


def blocks(count: int, r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """r random disjoint blocks for each trial: (count, r, n).

    The label 0 means no block. Without it the blocks would cover every set S, and r odd intersections add up to |S|
    only if |S| − r is even: the other sets could never meet every block in an odd number of variables.
    """
    return _from_labels(rng.integers(0, r + 1, (count, n)), r)


def axes(count: int, r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """r different single variables for each trial: (count, r, n)."""
    labels = np.broadcast_to(np.maximum(np.arange(r, r - n, -1), 0), (count, n))
    return _from_labels(rng.permuted(labels, axis=1), r)


def _from_labels(labels: np.ndarray, r: int) -> np.ndarray:
    return np.where(labels[:, None] == np.arange(1, r + 1)[:, None], np.int8(-1), np.int8(1))


def batches(trials: int, r: int, n: int, *, patient: bool) -> Iterator[int]:
    """Sizes of batches that add up to the trials: growing, if a rejection may end the test early."""
    if n << r > _MEMORY:
        raise ValueError(f"r: expected a subcube that fits in memory, got 2^{r} points of {n} signs")
    size = trials if patient else 8
    while trials > 0:
        batch = min(size, trials, max(_ENTRIES // (n << r), 1))
        yield batch
        trials, size = trials - batch, 2 * size
