"""What a minimal network does inside, beside the hand-built circuit: attention, wave, and causal tests.

A component S is *recovered* if some position puts at least 0.8 of its attention, averaged over inputs, on S, and on
every member at least half of an equal share, 1/2d: a row that looks at one bit alone recovers no larger set. Means are
over given inputs, bits (batch, T), with their values f (batch,). Interventions replace r_i, what position i holds after
the MLP, at all positions that recovered the component.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from flatcube import checks, handmade
from flatcube.inside.models import Minimal

__all__ = [
    "mass", "clear_rows", "even", "explained", "turns", "trapezoid", "triangle", "shares", "ablated", "patched",
    "swapped",
]  # fmt: skip

_CLEAR = 0.8  # of the attention of a row
_FLAT = 0.02  # of the range of a wave: what is no turn

Sets = Sequence[tuple[int, ...]]


def mass(attention: np.ndarray, sets: Sets) -> np.ndarray:
    """Σ_{j∈S} A_ij for a mean attention matrix (T, T) and every set S of 1..T: (T, sets).

    >>> mass([[0.5, 0.5, 0], [0, 0, 1], [0.2, 0.2, 0.6]], [(1, 2), (3,)]).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.4, 0.6]]
    """
    attention = checks.numbers(attention, "attention", ("T", "T")).astype(float)
    sets = checks.several(sets, "sets", (tuple, list, range), 1)
    return np.stack([attention[:, _places(members, len(attention))].sum(1) for members in sets], 1)


def _places(members: Sequence[int], T: int) -> list[int]:
    """The columns of a set of 1..T that is not empty."""
    found = [checks.integer(j, "members", 1, T) - 1 for j in checks.several(members, "members", (int, np.integer), 1)]
    if len(set(found)) < len(found):
        raise ValueError(f"members: expected each once, got {members!r:.60}")
    return found


def _rows(rows: Sequence[int], T: int) -> list[int]:
    return [checks.integer(i, "rows", 0, T - 1) for i in checks.several(rows, "rows", (int, np.integer), 1)]


def clear_rows(attention: np.ndarray, members: tuple[int, ...]) -> list[int]:
    """The positions, from 0, that recover a set: 0.8 of their attention on it, 1/2d on every member.

    >>> clear_rows([[0.5, 0.4, 0.1], [0.9, 0.1, 0], [0.3, 0.3, 0.4]], (1, 2))
    [0]
    """
    enough = mass(attention, [members])[:, 0] >= _CLEAR
    least = np.asarray(attention)[:, _places(members, len(attention))].min(1)
    return np.flatnonzero(enough & (least >= 1 / (2 * len(members)))).tolist()


def even(bits: np.ndarray, members: Sequence[int]) -> np.ndarray:
    """even_S (batch,) of bits (batch, T)."""
    bits = checks.bits(bits, ("batch", "T"))
    return 1.0 - bits[:, _places(members, bits.shape[1])].sum(1) % 2


def explained(values: np.ndarray, by: np.ndarray) -> float:
    """R²: the share of the variance of values (batch,) that a straight line in ``by`` (batch,) explains; 0 if either is
    constant."""
    values, by = (checks.numbers(each, name, ("batch",)) for name, each in {"values": values, "by": by}.items())
    checks.together(values=values.shape, by=by.shape)
    if not len(values) or np.ptp(values) < 1e-9 or np.ptp(by) < 1e-9:
        return 0.0
    return float(np.corrcoef(values, by)[0, 1] ** 2)


def turns(values: np.ndarray) -> int:
    """How often a curve (points,) turns from rising to falling or back; steps below 2 % of its range are no turns.

    >>> turns([0, 1, 0, 0.01, 0, 1])
    2
    """
    curve = checks.numbers(values, "values", ("points",)).astype(float)
    if not len(curve):
        raise ValueError("values: expected at least one point, got none")
    least = _FLAT * np.ptp(curve)
    place, direction, count = curve[0], 0, 0
    for value in curve[1:].tolist():
        step = value - place
        ahead = step * direction >= 0
        if ahead and direction:
            place = value
        elif abs(step) > least:
            count += direction != 0
            place, direction = value, int(np.sign(step))
    return count


def trapezoid(u: np.ndarray, r: np.ndarray, ones: np.ndarray, degree: int) -> float:
    """R² of r (batch,) against the hand-built wave φ(a), where a is u (batch,) in units in which it is closest to n/d.

    n = ``ones`` (batch,) counts the ones of the component; u ≈ α + β n by least squares, and a = (u − α)/(β d).
    """
    return _followed(u, r, ones, checks.integer(degree, "degree", 1), handmade.wave)


def triangle(u: np.ndarray, r: np.ndarray, ones: np.ndarray, degree: int) -> float:
    """The same against the triangle wave: 1 at n/d for even n, 0 for odd n, straight between them."""
    return _followed(u, r, ones, checks.integer(degree, "degree", 1), _straight)


def _straight(a: np.ndarray, degree: int) -> np.ndarray:
    return np.abs(1 - np.clip(a * degree, 0, degree) % 2)


def _followed(
    u: np.ndarray, r: np.ndarray, ones: np.ndarray, degree: int, wave: Callable[[np.ndarray, int], np.ndarray]
) -> float:
    ones = checks.numbers(ones, "ones", ("batch",)).astype(float)
    u, r = (checks.numbers(each, name, ones.shape).astype(float) for name, each in {"u": u, "r": r}.items())
    if not len(u) or np.ptp(u) < 1e-9 or np.ptp(ones) == 0:
        return 0.0
    slope, start = np.polyfit(ones, u, 1)
    return explained(r, wave((u - start) / (slope * degree), degree)) if abs(slope) >= 1e-9 else 0.0


# --- causes -----------------------------------------------------------------------------------------------------------


def _held(model: Minimal, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u and r (batch, T) of a network."""
    with torch.no_grad():
        u = checks.instance(model, "model", Minimal).reads(torch.as_tensor(bits))
        return u.double().numpy(), model.wave(u).double().numpy()


def _out(model: Minimal, r: np.ndarray) -> np.ndarray:
    """The output (batch,) for what positions hold after the MLP."""
    with torch.no_grad():
        return model.mixed(torch.as_tensor(r).to(model.mix)).double().numpy()


def shares(model: Minimal, bits: np.ndarray, members: Sequence[int]) -> np.ndarray:
    """w_i E r_i χ_S / E g χ_S (T,): which part of its coefficient at a set that is not empty each position brings.

    The output is linear in r, and a constant has no such coefficient: over all inputs they add up to 1.
    """
    bits = checks.bits(bits, ("batch", "T"))
    _, r = _held(model, bits)
    signs = 2 * even(bits, members) - 1  # (batch,)
    found = signs @ (r * model.mix.detach().double().numpy())
    whole = float(signs @ _out(model, r))
    if abs(whole) < 1e-9:
        raise ValueError("members: expected a set whose coefficient is not zero, got one of the others")
    return found / whole


def ablated(model: Minimal, bits: np.ndarray, rows: Sequence[int], sets: Sets) -> np.ndarray:
    """By which factor the coefficients E g χ_S (sets,) change if these rows hold their mean at every input."""
    bits = checks.bits(bits, ("batch", "T"))
    _, r = _held(model, bits)
    sets = checks.several(sets, "sets", (tuple, list), 1)
    signs = np.stack([2 * even(bits, members) - 1 for members in sets], 1)  # (batch, sets)
    before, rows = _out(model, r) @ signs, _rows(rows, r.shape[1])
    if np.abs(before).min() < 1e-9:
        raise ValueError("sets: expected sets whose coefficients are not zero, got one of the others")
    r[:, rows] = r[:, rows].mean(0)
    return (_out(model, r) @ signs) / before


def patched(
    model: Minimal, bits: np.ndarray, f: np.ndarray, rows: Sequence[int], component: tuple[tuple[int, ...], float],
    *, rng: np.random.Generator | int,
) -> tuple[float, float]:  # fmt: skip
    """Mean squared errors if these rows hold what they would hold at another random input x′.

    Against f with even_S(x′) in place of even_S(x), which the circuit predicts, and against f(x), which it forbids.
    """
    bits, ((members, weight),) = checks.bits(bits, ("batch", "T")), checks.components([component], "component")
    other = checks.generator(rng).permutation(len(bits))
    _, r = _held(model, bits)
    rows = _rows(rows, r.shape[1])
    r[:, rows] = r[other][:, rows]
    parity = even(bits, members)
    told = checks.numbers(f, "f", (len(bits),)) + weight * (parity[other] - parity)
    found = _out(model, r)
    return float(np.square(found - told).mean()), float(np.square(found - f).mean())


def swapped(model: Minimal, bits: np.ndarray, f: np.ndarray, rows: Sequence[int], members: tuple[int, ...]) -> float:
    """The mean squared error if at these rows attention and wave are the hand-built ones for a set.

    u_i becomes n/d and r_i becomes α + β φ(n/d): the trapezoid in the units of r_i, by least squares. For a set whose
    parity r_i does not follow, β is nearly 0 and r_i becomes its mean.
    """
    bits = checks.bits(bits, ("batch", "T"))
    f = checks.numbers(f, "f", (len(bits),))
    _, r = _held(model, bits)
    ones = bits[:, _places(members, bits.shape[1])].sum(1)
    shape = handmade.wave(ones / len(members), len(members))
    for i in _rows(rows, r.shape[1]):
        slope, start = np.polyfit(shape, r[:, i], 1)
        r[:, i] = start + slope * shape
    return float(np.square(_out(model, r) - f).mean())
