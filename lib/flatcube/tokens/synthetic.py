"""Sequences with two cues to their class: a few sparse tokens, or a majority of frequent ones (VA Sec. 4.1).

A ``Setting`` says how many of which. Tokens are numbers from 0, VA's minus 1: 0 and 1 are the sparse tokens of the
classes +1 and −1, then frequent tokens of both classes take turns, and what is left is irrelevant. ``sparse`` and
``frequent`` are the two predictors that use one cue alone; their sensitivities with a uniformly random replacement are
``sparse_sensitivity`` and ``frequent_sensitivity`` in closed form (VA Tables 1 and 3), where an even vote is a decision
of its own, sign(0) = 0.
"""

from dataclasses import dataclass

import numpy as np

from flatcube import checks

__all__ = ["Setting", "draw", "sparse", "frequent", "sparse_sensitivity", "frequent_sensitivity", "signals"]

_LARGEST = 10**5  # tokens, and symbols of a class


@dataclass(frozen=True)
class Setting:
    """n_s sparse and n_f frequent tokens, ⌊(n_f + n_d)/2⌋ of them of the right class, among T (VA Defs 4.2 and 4.3).

    m frequent tokens for each class are in a vocabulary of M, by default the smallest with one irrelevant token.
    """

    n_s: int
    n_f: int
    n_d: int
    m: int
    T: int = 50
    M: int | None = None

    def __post_init__(self) -> None:
        checks.integer(self.m, "m", 1, _LARGEST)
        checks.integer(self.T, "T", 4, _LARGEST)
        checks.integer(self.n_s, "n_s", 1, self.n_f)  # VA ask for n_s < n_f, but Table 3 begins with 3 and 3
        checks.integer(self.n_f, "n_f", 2, min(self.m, self.T - self.n_s) - 1)
        checks.integer(self.n_d, "n_d", 1, self.n_f)
        if self.M is not None:
            checks.integer(self.M, "M", 2 * self.m + 3, 3 * _LARGEST)

    @property
    def symbols(self) -> int:
        """M, the size of the vocabulary."""
        return 2 * self.m + 3 if self.M is None else self.M

    @property
    def right(self) -> int:
        """How many frequent tokens are of the right class."""
        return (self.n_f + self.n_d) // 2

    def kinds(self) -> np.ndarray:
        """For each token of the vocabulary, (M,): 0 sparse, 1 frequent, 2 irrelevant."""
        found = np.full(self.symbols, 2)
        found[:2], found[2 : 2 * self.m + 2] = 0, 1
        return found

    def classes(self) -> np.ndarray:
        """For each token, (M,): the class ±1 that it speaks for; 0 if it is irrelevant."""
        found = np.zeros(self.symbols, int)
        found[: 2 * self.m + 2] = np.tile([1, -1], self.m + 1)
        return found


def draw(
    setting: Setting, count: int, *, rng: np.random.Generator | int, flipped: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """``count`` sequences (count, T) and their classes ±1 (VA Def. 4.3); ``flipped`` ones have the other sparse token.

    >>> tokens, y = draw(Setting(1, 3, 1, 4, T=6), 2, rng=0)
    >>> tokens.shape, ((tokens == 0).sum(1) == (y > 0)).all().item()
    ((2, 6), True)
    """
    rng, count = checks.generator(rng), checks.integer(count, "count", 1, 10**6)
    checks.room(32 * count * setting.T, "count")
    y = rng.choice([-1, 1], size=count)
    other = (y < 0)[:, None] * 1  # 0 for the class +1, 1 for −1
    a, b = setting.right, setting.n_f - setting.right
    parts = [
        np.repeat(1 - other if flipped else other, setting.n_s, axis=1),
        2 + 2 * rng.integers(setting.m, size=(count, a)) + other,
        2 + 2 * rng.integers(setting.m, size=(count, b)) + 1 - other,
        rng.integers(2 * setting.m + 2, setting.symbols, size=(count, setting.T - setting.n_f - setting.n_s)),
    ]
    return rng.permuted(np.concatenate(parts, axis=1), axis=1), y


def sparse(tokens: np.ndarray) -> np.ndarray:
    """How many more sparse tokens of class +1 than of −1 a sequence (N, T) has, (N,)."""
    tokens = checks.numbers(tokens, "tokens", (..., "T"))
    return (tokens == 0).sum(-1) - (tokens == 1).sum(-1)


def frequent(tokens: np.ndarray, m: int) -> np.ndarray:
    """How many more frequent tokens of class +1 than of −1, (N,)."""
    tokens, m = checks.numbers(tokens, "tokens", (..., "T")), checks.integer(m, "m", 1, _LARGEST)
    theirs = (tokens >= 2) & (tokens < 2 * m + 2)
    return np.where(theirs, 1 - 2 * (tokens % 2), 0).sum(-1)


def sparse_sensitivity(setting: Setting) -> float:
    """Of the decision sign(``sparse``): (M − 1 + T − 1)/(T M) for a single sparse token, 0 for three and more.

    >>> round(sparse_sensitivity(Setting(1, 17, 7, 20, M=69)), 4)
    0.0339
    """
    s = setting
    return _vote(s, same=s.n_s, other=0, ours=1)


def frequent_sensitivity(setting: Setting) -> float:
    """Of the decision sign(``frequent``), for the margin δ = a − b, with a right tokens and b wrong ones.

    δ = 1: (a (M − m) + (T − n_f) m)/(T M);  δ = 2: a m/(T M);  beyond, no single token can change it.

    >>> round(frequent_sensitivity(Setting(3, 5, 1, 16, M=59)), 4)
    0.2878
    """
    s = setting
    return _vote(s, same=s.right, other=s.n_f - s.right, ours=s.m)


def _vote(setting: Setting, same: int, other: int, ours: int) -> float:
    """The share of pairs (place, symbol) that change the sign of a vote with ``ours`` symbols for each side."""
    M, T, margin = setting.symbols, setting.T, same - other
    silent = T - same - other
    if margin > 2:
        return 0.0
    if margin == 2:  # only a right token that turns into a wrong one makes it even
        return same * ours / (T * M)
    if margin == 1:  # a right token that is lost, or a wrong one that comes
        return (same * (M - ours) + silent * ours) / (T * M)
    if margin == 0:  # any change of a vote decides it
        return (T - silent) * (M - ours) / (T * M) + silent * 2 * ours / (T * M)
    raise ValueError(f"setting: expected as many right tokens as wrong ones, or more, got {same} and {other}")


def signals(setting: Setting) -> tuple[float, float]:
    """n_s² and (a − b)²/m: the parts of ‖E[counts | +] − E[counts | −]‖²/2 that the two cues bring, up to a factor.

    A linear vote along the difference of the class means gives the sparse cue the first, the frequent one the second;
    when the sparse tokens are flipped, the larger one wins.

    >>> signals(Setting(1, 17, 3, 20))
    (1.0, 0.45)
    """
    return float(setting.n_s**2), (2 * setting.right - setting.n_f) ** 2 / setting.m
