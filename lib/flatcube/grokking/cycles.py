"""Fourier analysis of the numbers 0 … p−1 on their circle.

What χ_S is on the cube, the waves a ↦ cos(2πka/p) and sin(2πka/p), k = 1 … (p−1)/2, are on the circle of p numbers:
orthogonal, and every table is a sum of them and a constant (p odd). A *harmonic* is such a pair of waves.
"""

import numpy as np

from flatcube import checks

__all__ = ["waves", "harmonics", "gini", "effective", "turning"]


def modulus(p: int, name: str = "p") -> int:
    """p, if it is odd and from 3 to 1001."""
    checks.integer(p, name, 3, 1001)
    if p % 2 == 0:
        raise ValueError(f"{name}: expected an odd number, so that every frequency has a sine, got {p}")
    return p


def waves(p: int) -> np.ndarray:
    """√(2/p) cos(2πka/p) and √(2/p) sin(2πka/p), (2, (p−1)/2, p): orthonormal rows, k = 1, 2, … in the middle axis.

    >>> some = waves(5).reshape(4, 5)
    >>> bool(np.allclose(some @ some.T, np.eye(4)))
    True
    """
    k = np.arange(1, (modulus(p) + 1) // 2)
    angle = 2 * np.pi * (np.outer(k, np.arange(p)) % p) / p  # reduced first, so that no angle is large
    return np.sqrt(2 / p) * np.stack([np.cos(angle), np.sin(angle)])


def harmonics(table: np.ndarray) -> np.ndarray:
    """The share of each harmonic in the variance of a table (p,) or (p, channels) over its p rows: ((p−1)/2,).

    With a = 0 … p−1 in the rows this is Σ_channels (⟨cos_k, E⟩² + ⟨sin_k, E⟩²)/Σ‖E − mean‖², as in Nanda et al. 2023.

    >>> harmonics(np.cos(2 * np.pi * 2 * np.arange(5) / 5)).round(6).tolist()
    [0.0, 1.0]
    """
    rows = checks.numbers(table, "table").astype(float)
    if rows.ndim not in (1, 2) or not rows.size:
        raise ValueError(f"table: expected shape (p,) or (p, channels), got {rows.shape}")
    rows = rows.reshape(len(rows), -1)
    energy = np.square(waves(modulus(len(rows), "length of the table")) @ rows).sum((0, 2))
    total = energy.sum()
    return energy / total if total > 0 else energy


def gini(shares: np.ndarray) -> float:
    """The Gini coefficient Σ_i (2i − N − 1) s_i/(N Σ s) of sorted shares s_1 ≤ … ≤ s_N: 0 if equal, 1 − 1/N if one.

    >>> gini(np.ones(4)), gini(np.array([0.0, 0, 0, 1]))
    (0.0, 0.75)
    """
    s = np.sort(_shares(shares))
    return float((2 * np.arange(1, len(s) + 1) - len(s) - 1) @ s / len(s) / s.sum())


def effective(shares: np.ndarray) -> float:
    """How many harmonics share the variance: (Σ s)²/Σ s², which is N for N equal ones.

    >>> effective(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    s = _shares(shares)
    return float(s.sum() ** 2 / np.square(s).sum())


def turning(scores: np.ndarray) -> float:
    """The share of a network's scores that hangs on c − a − b alone: in [0, 1], 1 for a machine that turns a circle.

    scores (p, p, p) has one score for every answer c to every a + b. Adding a number to all answers changes nothing, so
    the mean over c is taken off first. Averaging over all (a, b, c) with the same c − a − b is a projection; its share
    of the sum of squares is what comes back.

    >>> a = np.arange(5)
    >>> turning(np.cos(2 * np.pi * (a - a[:, None] - a[:, None, None]) / 5)) > 1 - 1e-12
    True
    """
    table = checks.numbers(scores, "scores", ("p", "p", "p")).astype(float)
    p = modulus(len(table), "length of scores")
    table = table - table.mean(2, keepdims=True)
    whole = float(np.square(table).sum())
    return p**2 * float(np.square(around(table)).sum()) / whole if whole > 0 else 0.0


def around(table: np.ndarray) -> np.ndarray:
    """The mean of a table (p, p, p) over all (a, b, c) with c − a − b = s modulo p, for every s: (p,)."""
    p = len(table)
    a = np.arange(p)
    total = np.zeros(p)
    for first in range(p):  # c − a − b for one a at a time, so that no second table of p³ numbers is needed
        total += np.bincount(((a - a[:, None] - first) % p).ravel(), table[first].ravel(), p)
    return total / p**2


def _shares(values: np.ndarray) -> np.ndarray:
    s = checks.numbers(values, "shares").astype(float)
    if s.ndim != 1 or not len(s) or (s < 0).any() or not s.sum() > 0:
        raise ValueError("shares: expected numbers from 0 on, not all 0, in one row")
    return s
