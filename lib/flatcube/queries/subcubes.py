"""Sparse functions as black boxes, random subcubes of a large cube, and what a black box does on them.

A base point x and directions v_1, …, v_r, vectors of signs, span the points x · ∏_{j: y_j = 1} v_j for y ∈ {0,1}^r.
"""

from collections.abc import Iterator

import numpy as np

from flatcube import checks, cube, sampling
from flatcube.sampling import BlackBox

__all__ = ["black_box", "restrict", "directions", "blocks", "axes"]

_ENTRIES = 1 << 21  # the largest batch of several trials, in entries of its array of points
_MEMORY = 1 << 32  # the largest single trial
_SIGNS = 1 << 33  # of all trials together: a minute of them


def black_box(components: cube.Components, n: int) -> BlackBox:
    """f = Σ λ_i even_{S_i} as a function on signs (batch, n), for any n: no table is made (SP Eq. 1).

    >>> black_box([({1, 2}, 2.0)], 40)(np.ones((3, 40)))
    array([2., 2., 2.])
    """
    components = checks.components(components)
    checks.room(4 * checks.count(n, "n") * len(components), "n")
    members = np.zeros((n, len(components)), np.float32)
    for column, (subset, _) in enumerate(components):
        cube.mask(subset, n)
        members[[i - 1 for i in subset], column] = 1
    weights = np.array([weight for _, weight in components])

    def f(signs: np.ndarray) -> np.ndarray:
        signs = checks.signs(signs)
        checks.shape(signs.shape, "signs", ("batch", n))
        ones = (signs < 0).astype(np.float32) @ members  # (batch, components): how many bits of S_i are one
        return (ones.astype(np.int32) & 1 == 0) @ weights

    return f


def restrict(f: BlackBox, base: np.ndarray, spanning: np.ndarray) -> np.ndarray:
    """The tables of f on subcubes with base points (trials, n) and directions (trials, r, n): (trials, 2^r)."""
    sizes: dict[str, int] = {}
    base, spanning = checks.signs(base, name="base"), checks.signs(spanning, name="spanning")
    checks.shape(base.shape, "base", ("trials", "n"), sizes)
    checks.shape(spanning.shape, "spanning", ("trials", "r", "n"), sizes)
    if sizes["r"] > 62 or base.size << sizes["r"] > _MEMORY:
        raise ValueError(f"spanning: expected subcubes that fit in memory, got 2^{sizes['r']} points of each")
    points = base[:, None]  # (trials, 2^j, n) after j directions
    for j in range(spanning.shape[1]):
        points = np.concatenate([points, points * spanning[:, j, None]], axis=1)
    return sampling.evaluate(f, points.reshape(-1, base.shape[1])).reshape(len(base), -1)


def directions(count: int, r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """r random directions for each trial: (count, r, n)."""
    _check_sizes(count, r, n)
    return sampling.random_signs((count, r, n), rng=rng)


def blocks(count: int, r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """r random disjoint blocks for each trial: (count, r, n).

    The label 0 means no block. Without it the blocks would cover every set S, and r odd intersections add up to |S|
    only if |S| − r is even: the other sets could never meet every block in an odd number of variables.
    """
    _check_sizes(count, r, n)
    return _from_labels(checks.generator(rng).integers(0, r + 1, (count, n)), r)


def axes(count: int, r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """r different single variables for each trial: (count, r, n)."""
    _check_sizes(count, checks.integer(r, "r", 0, checks.count(n, "n")), n)
    labels = np.broadcast_to(np.maximum(np.arange(r, r - n, -1), 0), (count, n))
    return _from_labels(checks.generator(rng).permuted(labels, axis=1), r)


def _check_sizes(count: int, r: int, n: int) -> None:
    for size, name in ((count, "count"), (r, "r"), (n, "n")):
        checks.count(size, name, 0)
    checks.room(16 * count * max(r, 1) * n, "count, r, n")


def _from_labels(labels: np.ndarray, r: int) -> np.ndarray:
    return np.where(labels[:, None] == np.arange(1, r + 1)[:, None], np.int8(-1), np.int8(1))


def batches(trials: int, r: int, n: int, *, patient: bool, name: str) -> Iterator[int]:
    """Sizes of batches that add up to the trials: growing, if a rejection may end the test early.

    A refusal blames ``name``, the argument that r follows from.
    """
    if r > 62 or n << r > _MEMORY:
        raise ValueError(f"{name}: expected a subcube that fits in memory, got 2^{r} points of {n} signs")
    if trials > (most := _SIGNS // (n << r)):
        raise ValueError(f"trials: expected at most {most:,} with 2^{r} points of {n} signs each, got {trials:.6g}")
    size = trials if patient else 8
    while trials > 0:
        batch = min(size, trials, max(_ENTRIES // (n << r), 1))
        yield batch
        trials, size = trials - batch, 2 * size
