"""A circuit that nobody planned: one row of attention for all components that have all bits but one in common.

    Σ_i λ_i even_{H∪{b_i}}(x) = Λ tri(u),   u = (1/d)(Σ_{h∈H} x_h + Σ_i (λ_i/Λ) x_{b_i}),   d = |H| + 1,   Λ = Σ_i λ_i

for λ_i > 0 and different b_i outside H. tri is the triangle wave: 1 at k/d for even k, 0 for odd k, straight between
them. If the number of ones in H is k, then u lies between k/d and (k+1)/d, at the place that the b_i decide, and tri
falls there from 1 to 0 if k is even, and rises if it is odd.
"""

from collections.abc import Sequence

import numpy as np
import torch

from flatcube import checks
from flatcube.inside.models import Minimal, shapes

__all__ = ["star", "assembled"]

_NOTHING = -50.0  # a logit beside which those of a row of attention are large


def star(components: Sequence[tuple[tuple[int, ...], float]], T: int) -> np.ndarray:
    """The row of attention (T,) of a star: 1/d on every common bit, λ_i/(dΛ) on the bit that only S_i has.

    >>> star([((1, 2), 3.0), ((1, 4), 1.0)], 4).tolist()
    [0.5, 0.375, 0.0, 0.125]
    """
    parts = checks.components(components)
    T = checks.integer(T, "T", 1, 10**6)
    if not parts or len({len(members) for members, _ in parts}) != 1 or not parts[0][0]:
        raise ValueError("components: expected sets of one size, at least one bit each, got others")
    if min(weight for _, weight in parts) <= 0:
        raise ValueError("components: expected weights above 0, got another")
    degree, common = len(parts[0][0]), set.intersection(*(set(members) for members, _ in parts))
    if len(parts) > 1 and len(common) != degree - 1:
        raise ValueError(f"components: expected {degree - 1} bits that all sets have in common, got {len(common)}")
    row, total = np.zeros(T), sum(weight for _, weight in parts)
    for members, weight in parts:
        for j in members:
            row[checks.integer(j, "components", 1, T) - 1] += weight / (degree * total)
    return row


def assembled(attention: np.ndarray, mix: np.ndarray, knots: np.ndarray, values: np.ndarray) -> Minimal:
    """A minimal network with these rows of attention (rows, T), weights mix (rows,) and the wave through its knots.

    The wave is straight between the points (knots, values), goes on with its last slope, and is values[0] up to the
    first knot. Positions without a row attend to all bits and have no weight.
    """
    attention = checks.numbers(attention, "attention", ("rows", "T")).astype(float)
    count, T = attention.shape
    mix = checks.numbers(mix, "mix", (count,)).astype(float)
    knots = checks.numbers(knots, "knots", ("K",)).astype(float)
    values = checks.numbers(values, "values", (len(knots),)).astype(float)
    if count > T or len(knots) < 2 or np.any(np.diff(knots) <= 0):
        raise ValueError("attention, knots: expected at most T rows, and at least two knots, each above the last")
    if np.any(attention < 0) or np.abs(attention.sum(1) - 1).max(initial=0) > 1e-9:
        raise ValueError("attention: expected rows that are not negative and add up to 1")
    p = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes(T, len(knots) - 1).items()}
    p["query"][:T, :T] = torch.eye(T, dtype=torch.float64)
    logits = np.log(np.maximum(attention, np.exp(_NOTHING)))
    p["key"][:T, :count] = torch.as_tensor(logits.T)
    p["value"][-1] = 1
    slopes = np.diff(values) / np.diff(knots)
    p["enter"] += 1
    p["bias"], p["leave"] = (torch.as_tensor(part) for part in (-knots[:-1], np.diff(slopes, prepend=0.0)))
    p["lift"] += values[0]
    p["mix"][:count] = torch.as_tensor(mix)
    return Minimal(p)
