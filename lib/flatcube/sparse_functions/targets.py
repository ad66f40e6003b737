"""The hidden functions of chapter 14: AND and parity of a few places, and how these places are drawn."""

from collections.abc import Sequence

import numpy as np

from flatcube import checks

__all__ = ["conjunction", "parity", "planted"]


def conjunction(signs: np.ndarray, members: Sequence[int]) -> np.ndarray:
    """AND of the bits in a set ⊂ {1, …, T}, for signs (batch, T): −1 where all of them are 1.

    >>> conjunction(np.array([[-1, 1, -1], [-1, -1, 1]]), (1, 3)).tolist()
    [-1, 1]
    """
    return np.where((_chosen(signs, members) < 0).all(-1), -1, 1)


def parity(signs: np.ndarray, members: Sequence[int]) -> np.ndarray:
    """χ_S, the parity of the bits in a set ⊂ {1, …, T}, for signs (batch, T).

    >>> parity(np.array([[-1, 1, -1], [-1, -1, 1]]), (1, 3)).tolist()
    [1, -1]
    """
    return _chosen(signs, members).prod(-1, dtype=int)


def _chosen(signs: np.ndarray, members: Sequence[int]) -> np.ndarray:
    signs = checks.signs(signs)
    checks.shape(signs.shape, "signs", ("batch", "T"))
    places = checks.several(members, "members", (int, np.integer), 1)
    return signs[:, [checks.integer(place, "members", 1, signs.shape[1]) - 1 for place in places]]


def planted(T: int, s: int, *, rng: np.random.Generator | int) -> tuple[int, ...]:
    """A uniformly random set of s of the places 1, …, T, in order."""
    checks.integer(s, "s", 1, checks.integer(T, "T", 1, 10**6))
    return tuple(sorted((1 + checks.generator(rng).choice(T, s, replace=False)).tolist()))
