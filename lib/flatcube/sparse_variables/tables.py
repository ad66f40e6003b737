"""A table in a ReLU network: a bump around every point, and every bump carries a value (ED Lemma B.8).

Four ReLUs make a bump of half-width δ. With t = (x − x₀)/δ,

    ψ(t) = (t + 2)₊ − (t + 1)₊ − (t − 1)₊ + (t − 2)₊

is 1 for |t| ≤ 1, 0 for |t| ≥ 2, and straight between. A point in d dimensions has one bump per coordinate, and a
second layer asks whether all of them are 1. So the network returns f(x_i) wherever |x − x_i| ≤ δ in every coordinate,
provided the points are at least 4δ apart. ED's printed four ReLUs are not a bump: see ``KINKS`` (erratum 41).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from flatcube import checks
from flatcube.networks.blocks import Mlp

__all__ = ["KINKS", "ramp", "bump", "lookup", "lookup_norms", "largest_entries", "claimed_entries"]

# Slope and offset of the four ReLUs in t = (x − x₀)/δ, and the sign with which each enters the sum.
KINKS = {
    "repaired": ((1, 2, 1), (1, 1, -1), (1, -1, -1), (1, -2, 1)),
    "printed": ((1, 2, 1), (1, 1, -1), (-1, 2, -1), (-1, 1, 1)),
}


def ramp(x: np.ndarray | float, delta: float) -> np.ndarray:
    """ν_δ(x) = (x/δ + 1)₊ − (x/δ)₊: 0 up to −δ, 1 from 0 on, straight between.

    >>> ramp([-2, -0.5, 3], 1).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.clip(checks.numbers(x, "x") / checks.positive(delta, "delta") + 1, 0, 1)


def bump(x: np.ndarray | float, delta: float, *, form: str = "repaired") -> np.ndarray:
    """ψ_δ(x; 0): repaired, 1 for |x| ≤ δ and 0 for |x| ≥ 2δ; printed, −1 on the left, 0 in the middle, 1 on the right.

    >>> bump([0, 1.5, 9], 1).tolist(), bump([-9, 0, 9], 1, form="printed").tolist()
    ([1.0, 0.5, 0.0], [-1.0, 0.0, 1.0])
    """
    t = checks.numbers(x, "x") / checks.positive(delta, "delta")
    return sum(sign * np.maximum(slope * t + offset, 0.0) for slope, offset, sign in _kinks(form))


def lookup(
    points: Tensor | np.ndarray,
    values: Tensor | np.ndarray,
    delta: float,
    *,
    form: str = "repaired",
    layers: int = 3,
) -> Mlp:
    """The network with lookup(x_i + z) = f(x_i) for |z| ≤ δ in every coordinate; points (n, d), values (n,) or (n, c).

    Three layers: 4nd units for the bumps, 2n for "all d bumps are 1", then the values. Two layers suffice for d = 1,
    where bumps are added up directly. The repaired form checks that points are 4δ apart and, if there is a second
    layer, that its ramp fits (δ ≤ 1); the printed one takes anything.
    """
    points, values = (torch.as_tensor(part) for part in _entries(points, values, delta))
    if layers not in (2, 3) or (layers == 2 and points.shape[1] > 1):
        raise ValueError(f"layers: expected 3, or 2 for points with one coordinate, got {layers}")
    if form == "repaired":
        _check_distance(points, delta, layers)
    n, d = points.shape
    checks.room(8 * 8 * n * d * n, "points")  # the second layer of weights
    slopes, offsets, signs = (torch.tensor(part, dtype=torch.float64) for part in zip(*_kinks(form), strict=True))
    # Units are numbered by (kink h, point i, coordinate j), as in ED.
    into = (slopes[:, None, None] / delta * torch.eye(d, dtype=torch.float64)).repeat_interleave(n, 0)  # (4n, j, d)
    first = into.reshape(4 * n * d, d).T.contiguous()
    bias = (offsets[:, None, None] - slopes[:, None, None] * points / delta).reshape(-1)
    members = torch.eye(n, dtype=torch.float64).repeat_interleave(d, 0)  # unit (i, j) belongs to point i
    combine = (signs[:, None, None] * members).reshape(4 * n * d, n)
    if layers == 2:
        return Mlp([first, combine @ values], [bias, None])
    both = torch.cat([combine, combine], 1) / delta
    edges = torch.tensor([1 - d / delta, -d / delta], dtype=torch.float64).repeat_interleave(n)
    return Mlp([first, both, torch.cat([values, -values])], [bias, edges, None])


def lookup_norms(points: np.ndarray, values: np.ndarray, delta: float) -> dict[str, float]:
    """‖·‖² of the three layers in closed form, by ED's names: W₁, W₂ with their biases apart, and w."""
    points, values = _entries(points, values, delta)
    n, d = points.shape
    return {
        "W1": 4 * n * d / delta**2,
        "b1": 10 * n * d + 4 * float(np.square(points).sum()) / delta**2,
        "W2": 8 * n * d / delta**2,
        "b2": n * ((1 - d / delta) ** 2 + (d / delta) ** 2),
        "w": 2 * float(np.square(values).sum()),
    }


def largest_entries(points: np.ndarray, values: np.ndarray, delta: float) -> dict[str, float]:
    """The largest |entry| of W₁, W₂ (biases included) and w in closed form, for δ ≤ 1: |x|/δ + 2, d/δ, max |f|."""
    points, values = _entries(points, values, delta)
    first = max(1 / delta, float(np.abs(points).max()) / delta + 2)
    return {"W1": first, "W2": points.shape[1] / delta, "w": float(np.abs(values).max())}


def claimed_entries(points: np.ndarray, values: np.ndarray, delta: float) -> dict[str, float]:
    """ED's bounds on these entries in Lemma B.8: max(1, B)/δ, d/δ and max |f|. The first is too small by up to 2."""
    points, values = _entries(points, values, delta)
    bound = max(1.0, float(np.abs(points).max()))
    return {"W1": bound / delta, "W2": points.shape[1] / delta, "w": float(np.abs(values).max())}


def _kinks(form: str) -> Sequence[tuple[int, int, int]]:
    return KINKS[checks.word(form, "form", KINKS)]


def _entries(points: Tensor | np.ndarray, values: Tensor | np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d) and values (n, c) of a lookup as arrays of floats; δ is checked beside them."""
    checks.positive(delta, "delta")
    points, values = (
        checks.numbers(part, name).astype(float) for part, name in ((points, "points"), (values, "values"))
    )
    points, values = (part[:, None] if part.ndim == 1 else part for part in (points, values))
    if points.ndim != 2 or not points.size:
        raise ValueError(f"points: expected an array of shape (n, d) with n, d ≥ 1, got {points.shape}")
    checks.shape(values.shape, "values", (len(points), "c"))
    return points, values


def _check_distance(points: Tensor, delta: float, layers: int) -> None:
    """Hypotheses of the lemma; a little rounding is forgiven."""
    if layers == 3 and delta > 1:
        raise ValueError(f"delta: expected at most 1, the height of the second layer's ramp, got {delta:g}")
    apart = torch.cdist(points, points, p=torch.inf) + torch.diag(torch.full((len(points),), torch.inf))
    if float(apart.min()) < 4 * delta * (1 - 1e-9):
        raise ValueError(f"delta: expected at most a quarter of the least distance {apart.min():g}, got {delta:g}")
