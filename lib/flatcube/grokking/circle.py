"""A network put together by hand that adds modulo p without a mistake, in the shape of ``Adder``.

Number a stands on the circle at the angle 2πka/p. The mean of two points lies in the direction half-way between them,

    E_a + E_b = 2 cos(πk(a−b)/p) · (cos πk(a+b)/p, sin πk(a+b)/p),

and folding it over p directions, h_j = |(E_a + E_b)·(cos πj/p, sin πj/p)|, doubles the angle: with κ = Σ_j |cos πj/p|
cos 2πj/p > 0 and the read-out cos 2π(j − kc)/p,

    score(c) = 2κ |cos πk(a−b)/p| · cos 2πk(a+b−c)/p   exactly,

largest at c = a + b, because the first factor is never 0 for odd p. Zhong, Liu, Tegmark and Andreas 2023 found networks
of this kind and call them pizzas.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flatcube import checks
from flatcube.grokking.cycles import modulus

if TYPE_CHECKING:
    from flatcube.grokking.adder import Adder

__all__ = ["margins", "by_hand"]


def frequencies(values: Sequence[int], p: int) -> list[int]:
    """Checked: different frequencies from 1 to (p−1)/2, each without a common divisor with p, at least one."""
    found = checks.several(values, "frequencies", int, 1)
    for k in found:
        checks.integer(k, "frequencies", 1, (modulus(p) - 1) // 2)
        if np.gcd(k, p) > 1:
            raise ValueError(f"frequencies: expected no common divisor with {p}, got {k}, which mixes up sums")
    if len(set(found)) < len(found):
        raise ValueError(f"frequencies: expected different ones, got {found}")
    return found


def margins(p: int, values: Sequence[int]) -> np.ndarray:
    """By how much the right answer wins at least, for every difference a − b = 0 … p−1: (p,).

    Scores are (1/K) Σ_k |cos πk(a−b)/p| cos 2πk(a+b−c)/p for K frequencies, so that no margin is above 2. It hangs on
    a − b alone.

    >>> bool((margins(59, [1]) > 0).all()), bool(margins(59, [1]).min() < margins(59, [1, 7, 25]).min())
    (True, True)
    """
    k = np.array(frequencies(values, p))
    d = np.arange(p)
    lengths = np.abs(np.cos(np.pi * np.outer(d, k) / p))  # (p, K)
    falls = 1 - np.cos(2 * np.pi * np.outer(k, d[1:]) / p)  # (K, p − 1): by how much each wrong answer is behind
    return (lengths @ falls).min(1) / len(k)


def by_hand(p: int, values: Sequence[int]) -> "Adder":
    """The construction with these frequencies: width 4K, one head that looks everywhere alike, 2pK ReLUs, no bias.

    Channels 2i and 2i + 1 have the circle of frequency i, channels 2K + 2i and the next that of the answer.

    >>> import torch
    >>> model = by_hand(5, [1])
    >>> a = torch.arange(5)
    >>> bool((model(torch.cartesian_prod(a, a)).argmax(1) == (a[:, None] + a).reshape(-1) % 5).all())
    True
    """
    import torch  # late, for the numbers on a circle need none

    from flatcube.grokking.adder import Adder

    ks = frequencies(values, p)
    count = len(ks)
    model = Adder(p, width=4 * count, heads=1, hidden=2 * p * count)
    weights = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
    turn = 2 * torch.pi * torch.arange(p, dtype=torch.float64) / p
    half = torch.stack([(turn / 2).cos(), (turn / 2).sin()])  # the p directions, over half of the circle
    whole = torch.stack([turn.cos(), turn.sin()], 1)
    for i, k in enumerate(ks):
        circle = 2 * torch.pi * (torch.arange(p) * k % p).double() / p
        seen, told = slice(2 * i, 2 * i + 2), slice(2 * count + 2 * i, 2 * count + 2 * i + 2)
        weights["numbers"][:, seen] = torch.stack([circle.cos(), circle.sin()], 1).float()
        for sign, first in ((1, 2 * p * i), (-1, 2 * p * i + p)):  # |x| = relu(x) + relu(−x)
            weights["enter"][seen, first : first + p] = sign * half.float()
            weights["leave"][first : first + p, told] = whole.float() / p
        weights["read"][told] = torch.stack([circle.cos(), circle.sin()]).float()
    weights["value"] = weights["out"] = torch.eye(4 * count)
    return model.load(weights)
