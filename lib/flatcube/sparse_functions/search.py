"""The learner that wastes nothing: try all sets, keep those that fit the examples.

No learner beats one that picks at random among the sets that fit, since all of them explain the labels equally well:
its chance of success is one over their number. It takes time: there are C(T, s) ≈ T^s/s! sets.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

from flatcube import checks, sampling
from flatcube.sparse_functions import targets

__all__ = ["consistent", "ideal"]

_MOST = 2 * 10**7  # sets that are tried
_FUNCTIONS = {"and": targets.conjunction, "parity": targets.parity}


def consistent(signs: np.ndarray, labels: np.ndarray, s: int, *, function: str = "and") -> list[tuple[int, ...]]:
    """All sets of s places whose AND, or parity, has the given labels (m,) at signs (m, T), in order.

    >>> consistent(np.array([[-1, -1, 1], [-1, 1, -1], [-1, -1, -1]]), np.array([-1, 1, -1]), 2)
    [(1, 2)]
    """
    signs, labels = checks.signs(signs), checks.signs(labels, name="labels")
    checks.shape(signs.shape, "signs", ("m", "T"))
    checks.shape(labels.shape, "labels", ("m",), {"m": len(signs)})
    checks.integer(s, "s", 1, signs.shape[1])
    ones, wanted = signs < 0, labels < 0
    places = np.arange(signs.shape[1])
    if checks.word(function, "function", _FUNCTIONS) == "and":  # every place must be 1 wherever the AND is
        places = places[ones[wanted].all(0)]
    checks.integer(math.comb(len(places), s), "signs: the sets to try", 0, _MOST)
    join = np.logical_and if function == "and" else np.logical_xor
    found = []
    for start in itertools.combinations(range(len(places)), s - 1):  # the last place: all at once
        begun = join.reduce(ones[:, places[list(start)]], axis=1)[:, None]
        last = places[start[-1] + 1 if start else 0 :]
        fits = (join(begun, ones[:, last]) == wanted[:, None]).all(0)
        found += [(*(places[list(start)] + 1).tolist(), int(place) + 1) for place in last[fits]]
    return found


def ideal(
    T: int, s: int, m: int, *, function: str = "and", trials: int = 100, rng: np.random.Generator | int
) -> tuple[float, float]:
    """The best learner's chance to find a random set from m random examples, estimated, and the standard error."""
    rng, f = checks.generator(rng), _named(function)
    chances = []
    for _ in range(checks.integer(trials, "trials", 2, 10**4)):
        members = targets.planted(T, s, rng=rng)
        signs = sampling.random_signs((checks.integer(m, "m", 0, 10**6), T), rng=rng)
        chances.append(1 / len(consistent(signs, f(signs, members), s, function=function)))
    return float(np.mean(chances)), float(np.std(chances, ddof=1) / math.sqrt(trials))


def _named(function: str) -> Callable[..., np.ndarray]:
    return _FUNCTIONS[checks.word(function, "function", _FUNCTIONS)]
