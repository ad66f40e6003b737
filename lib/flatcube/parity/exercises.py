"""Exercises of chapter 6: the layer-norm network in numpy, step by step, and what may go wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from flatcube import parity
from flatcube.classroom.exercises import Measure, exercise, scored

_BIT, _PLACE, _SIDE, _UNIT, _COUNT, _HIT, _FIRST, _ANSWER, _BALANCE = range(9)  # the lanes, as in the chapter


def _strings(rng: np.random.Generator) -> list[tuple]:
    """Random strings with ones and zeros among them, of odd and even lengths."""
    return [(rng.permutation(np.arange(n) < k).astype(int),) for n, k in ((4, 2), (6, 3), (7, 4), (9, 2))]


@exercise(
    "6.1",
    "My embedding",
    minutes=10,
    difficulty=1,
    hints=(
        "Row j of the array, counted from 0, is position j + 1; the last row is position 0. Fill one lane at a time.",
        "The last lane comes last: it needs the sum of the eight others in its row.",
    ),
    why="Only these numbers know the length. All weights of the network are the same for 2 bits and for 2000.",
    instances=_strings,
)
def my_embedding(bits: np.ndarray) -> np.ndarray:
    """Bits (n,) → the rows of positions 1, …, n, 0 with their nine lanes, (n + 1, 9)."""
    N = len(bits) + 1
    i = np.arange(1, N + 1) % N  # the positions 1, …, n, 0
    X = np.zeros((N, 9))
    # your turn
    X[:-1, 0] = bits
    X[:, 1] = i / N
    X[:, 2] = 1 - 2 * (i % 2)
    X[:, 3] = 1 / N
    X[0, 6] = np.log(N)
    X[:, 8] = -X.sum(axis=1)
    return X


def _embedded(bits: np.ndarray, change: Callable[[np.ndarray], Any], *, balance: bool = True) -> np.ndarray:
    """The embedding after some lanes have been changed, and balanced anew."""
    X = my_embedding.solution(bits)
    change(X)
    if balance:
        X[:, _BALANCE] = -X[:, :_BALANCE].sum(axis=1)
    return X


def _times(lane: int, factor: float) -> Callable[[np.ndarray], None]:
    return lambda X: X.__setitem__((slice(None), lane), factor * X[:, lane])


my_embedding.mistake(
    "Your sides are swapped: +1 stands at even positions, and 0 is even.",
    lambda bits: _embedded(bits, _times(_SIDE, -1)),
)
my_embedding.mistake(
    "Your balance is the sum of the other lanes. It has to be minus that, so that all nine add up to 0.",
    lambda bits: _embedded(bits, _times(_BALANCE, -1), balance=False),
)
my_embedding.mistake(
    "All lanes are right but the last: balance is still empty.",
    lambda bits: _embedded(bits, _times(_BALANCE, 0), balance=False),
)
my_embedding.mistake(
    "You divide by the number of bits. There are N = n + 1 positions, since one is added.",
    lambda bits: _embedded(
        bits, lambda X: (_times(_PLACE, len(X) / len(bits))(X), _times(_UNIT, len(X) / len(bits))(X))
    ),
)
my_embedding.mistake(
    "Position 0 stands first in your array. Here it is the last row, where the answer will be read.",
    lambda bits: np.roll(my_embedding.solution(bits), 1, axis=0),
)
my_embedding.mistake(
    "The mark log N is missing at position 1. PARITY does not use it, but it is there.",
    lambda bits: _embedded(bits, _times(_FIRST, 0)),
)


def _counts(rng: np.random.Generator) -> list[tuple]:
    """Even, odd and fractional numbers of ones."""
    N = int(rng.integers(8, 15))
    even, odd = 2 * int(rng.integers(1, N // 2 - 1)), 2 * int(rng.integers(1, N // 2 - 1)) + 1
    return [(k / N, N) for k in (even, odd, even + 0.25, odd + 0.4)]


@exercise(
    "6.2",
    "My hits",
    minutes=12,
    difficulty=2,
    hints=(
        "Three units make a bump at the even places, three more at the odd ones. What do the latter read at `side`?",
        "Each unit is silent at the wrong side because of `side` and its bias; then the two bumps have opposite signs.",
    ),
    why="Six units find the one place that knows the answer, whatever the length. If the count is a little off, two "
    "neighbouring places share the hit, with opposite signs.",
    instances=_counts,
)
def my_hits(count: float, N: int) -> np.ndarray:
    """What the six units write into `hit` at the places 1, …, N − 1, 0; `count` is k/N, and k need not be whole."""
    i = np.arange(1, N + 1) % N
    place, side, unit = i / N, 1 - 2 * (i % 2), 1 / N
    # your turn
    six = [(group, weight, shift) for group in (1, -1) for weight, shift in ((1, 1), (-2, 0), (1, -1))]
    return sum(g * w * np.maximum(0, count - place + s * unit + g * side - 1) for g, w, s in six)


def _bumps(count: float, N: int, weights: tuple = (1, -2, 1), signs: tuple = (1, -1), shift: float = 0) -> np.ndarray:
    """The hits with other weights, or with other signs at even and odd places."""
    i = np.arange(1, N + 1) % N
    bump = sum(w * np.maximum(0, count - (i - s + shift) / N) for w, s in zip(weights, (1, 0, -1), strict=True))
    return bump * np.where(i % 2, signs[1], signs[0])


my_hits.mistake(
    "Both bumps have the same sign, so the hit does not tell odd from even. Units 4 to 6 write the opposite.",
    lambda count, N: _bumps(count, N, signs=(1, 1)),
)
my_hits.mistake(
    "Odd places are silent in your answer: units 4 to 6 are missing.",
    lambda count, N: _bumps(count, N, signs=(1, 0)),
)
my_hits.mistake(
    "The sign is turned round: an even place says +1/N.",
    lambda count, N: _bumps(count, N, signs=(-1, 1)),
)
my_hits.mistake(
    "A step, not a bump: it stays up for all places below the count. The third unit has to bring it down.",
    lambda count, N: _bumps(count, N, weights=(1, -1, 0)),
)
my_hits.mistake(
    "All zeros. Without relu a second difference of a line vanishes; and without silencing the two bumps cancel.",
    lambda count, N: np.zeros(N),
)
my_hits.mistake(
    "N times too high: units see shares, and no weight may depend on N.",
    lambda count, N: N * _bumps(count, N),
)
my_hits.mistake(
    "The bump stands one place beside the count.",
    lambda count, N: _bumps(count, N, shift=1),
)


def _nearest(count: float, N: int) -> np.ndarray:
    """One whole hit at the nearest place."""
    i = np.arange(1, N + 1) % N
    return np.where(i == round(count * N), (1 - 2 * (i % 2)) / N, 0.0)


my_hits.mistake(
    "Right for whole counts. But a network has no `if`: with a count between two places, relus share the hit.",
    _nearest,
)
my_hits.mistake(
    "Right where k is whole, and silent everywhere where it is not. That is a comparison by ==, not by relus: "
    "those share the hit between the two places beside k.",
    lambda count, N: _nearest(count, N) * math.isclose(count * N, round(count * N)),
)


def _layers(bits: np.ndarray) -> np.ndarray:
    """The rows (N, 9) of one string before the first layer norm."""
    X, count = my_embedding.solution(bits), bits.sum() / (len(bits) + 1)
    hits = my_hits.solution(count, len(X))
    X[:, _COUNT], X[:, _HIT] = count, hits
    X[:, _BALANCE] -= count + hits
    return X


def _rows(rng: np.random.Generator) -> list[tuple]:
    return [(_layers(bits), eps) for (bits,), eps in zip(_strings(rng), (0.0, 1e-3, 1e-2, 1e-5), strict=True)]


@exercise(
    "6.3",
    "My amplifier",
    minutes=12,
    difficulty=2,
    hints=(
        "You need layer norm twice, with the same ε. It works on the lanes of each row, and it first subtracts a mean.",
        "What the broom leaves at position 0 is a row with one number in it. Make that row, and normalise it.",
    ),
    why="Here something small becomes large: a hit of 1/N, averaged over N positions, becomes ±1.",
    instances=_rows,
)
def my_amplifier(X: np.ndarray, eps: float) -> float:
    """Rows (N, 9) before the first layer norm → the output: norm, head, broom, norm, read-out."""
    spread = X - X.mean(axis=1, keepdims=True)
    normed = spread / np.sqrt((spread**2).mean(axis=1, keepdims=True) + eps)
    left = np.zeros(9)
    left[7] = normed[:, 5].mean()
    left -= left.mean()
    return left[7] / np.sqrt((left**2).mean() + eps) / np.sqrt(8)


def _normed(rows: np.ndarray, eps: float, *, centred: bool = True) -> np.ndarray:
    rows = rows - rows.mean(axis=-1, keepdims=True) if centred else rows
    return rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + eps)


def _amplified(hit: float, eps: float, *, centred: bool = True) -> float:
    """The output for an answer: the last layer norm and the read-out."""
    left = np.where(np.arange(9) == _ANSWER, hit, 0.0)
    return float(_normed(left, eps, centred=centred)[_ANSWER] / math.sqrt(8))


my_amplifier.mistake(
    "The read-out is missing: divide by √8.",
    lambda X, eps: math.sqrt(8) * my_amplifier.solution(X, eps),
)
my_amplifier.mistake(
    "The first layer norm is missing. At ε = 0 that changes nothing in the end; at ε > 0 it does.",
    lambda X, eps: _amplified(X[:, _HIT].mean(), eps),
)
my_amplifier.mistake(
    "You add the hits up. A head with equal weights takes their mean.",
    lambda X, eps: _amplified(_normed(X, eps)[:, _HIT].sum(), eps),
)
my_amplifier.mistake(
    "Your last layer norm does not subtract the mean of the nine lanes, which the answer itself makes.",
    lambda X, eps: _amplified(_normed(X, eps)[:, _HIT].mean(), eps, centred=False),
)
my_amplifier.mistake(
    "You return the sign. At ε = 0 that is right; ε > 0 makes the output smaller.",
    lambda X, eps: float(np.sign(X[:, _HIT].sum())),
)
my_amplifier.mistake(
    "You use ε in the last layer norm only. The first one has it, too.",
    lambda X, eps: _amplified(_normed(X, 0.0)[:, _HIT].mean(), eps),
)


def _batches(rng: np.random.Generator) -> list[tuple]:
    """All strings of 8 bits at ε = 0; random ones of other lengths, one of them with a single 1, at ε > 0."""
    every = np.arange(2**8)[:, None] >> np.arange(8) & 1
    drawn = [np.vstack([rng.integers(2, size=(4, n)), np.arange(n) == rng.integers(n)]).astype(int) for n in (5, 9)]
    return [(every, 0.0), (drawn[0], 1e-3), (drawn[1], 1e-4)]


@exercise(
    "6.4",
    "My PARITY",
    minutes=15,
    difficulty=2,
    hints=(
        "You own all parts: embed a string, put the count and the hits into their lanes, keep the balance, amplify.",
        "What goes into `count` and `hit` also goes into `balance`, with a minus sign. First one string, then all.",
    ),
    why="A transformer for PARITY, exact on all strings of 8 bits, made of a few lines of your own.",
    instances=_batches,
)
def my_network(bits: np.ndarray, eps: float) -> np.ndarray:
    """Bits (m, n) → m outputs: +1 for even and −1 for odd at ε = 0, and what ε leaves of it."""
    N = bits.shape[1] + 1
    i, k = np.arange(1, N + 1) % N, bits.sum(axis=1, keepdims=True)
    place, side, count = i / N, 1 - 2 * (i % 2), np.tile(k / N, N)
    hits = np.zeros((len(bits), N))
    for group in (1, -1):
        for weight, shift in ((1, 1), (-2, 0), (1, -1)):
            hits += group * weight * np.maximum(0, count - place + shift / N + group * side - 1)
    lanes = [np.pad(bits, ((0, 0), (0, 1))), place, side, 1 / N, count, hits, np.log(N) * (i == 1)]
    X = np.stack([lane + 0 * hits for lane in lanes], axis=-1)
    total = X.sum(axis=-1)
    factor = 1 / np.sqrt(((X**2).sum(axis=-1) + total**2) / 9 + eps)  # the mean of the nine lanes is 0
    answer = (factor * hits).mean(axis=1)
    return answer / np.sqrt(answer**2 + 81 / 8 * eps)


def _by_row(bits: np.ndarray, answer: Callable[[np.ndarray], float]) -> np.ndarray:
    return np.array([answer(row) for row in bits])


def _unmarked(bits: np.ndarray, eps: float) -> float:
    X = _layers(bits)
    X[:, _BALANCE] += X[:, _FIRST]
    X[:, _FIRST] = 0
    return my_amplifier.solution(X, eps)


def _unbalanced(bits: np.ndarray, eps: float) -> float:
    """The count and the hits are not balanced; the lane keeps what the embedding put there."""
    X = _layers(bits)
    X[:, _BALANCE] += X[:, _COUNT] + X[:, _HIT]
    rows = _normed(X, eps)
    return _amplified(rows[-1, _ANSWER] + rows[:, _HIT].mean(), eps)


my_network.mistake(
    "The sign is turned round: +1 is for an even number of ones.",
    lambda bits, eps: -my_network.solution(bits, eps),
)
my_network.mistake(
    "ε has no effect in your answer. A transformer with layer norm fades when ε grows: send the rows through it.",
    lambda bits, eps: 1.0 - 2 * (bits.sum(axis=1) % 2),
)
my_network.mistake(
    "You return 1 and 0. The output is +1 for even and −1 for odd.",
    lambda bits, eps: (1 + my_network.solution(bits, eps)) / 2,
)
my_network.mistake(
    "Right, except for strings with a single 1 at ε > 0: the mark log N at position 1 is missing.",
    lambda bits, eps: _by_row(bits, lambda row: _unmarked(row, eps)),
)
my_network.mistake(
    "The balance of your rows is gone after the first layer: what goes into `count` and `hit` goes there, too.",
    lambda bits, eps: _by_row(bits, lambda row: _unbalanced(row, eps)),
)
my_network.mistake(
    "The read-out is missing: divide by √8.",
    lambda bits, eps: math.sqrt(8) * my_network.solution(bits, eps),
)

_SOUND = np.array([1, -2, 1, -1, 2, -1])  # what units 1 to 6 write into hit


def _held(N: int, weights: np.ndarray) -> np.ndarray:
    """What `hit` holds at the places 1, …, N − 1, 0 (columns) for k = 0, …, N − 1 ones (rows), with these weights."""
    k, i = np.arange(N)[:, None], np.arange(1, N + 1) % N
    groups = [(i % 2 == side) * np.maximum(0, k - i + shift) / N for side in (0, 1) for shift in (1, 0, -1)]
    return np.einsum("u,uki->ki", weights, np.array(groups))


def _patients(rng: np.random.Generator) -> list[tuple]:
    """Each of the six units once, with a weight that is off by ten to fifty per cent."""
    tables = []
    for unit in rng.permutation(6):
        weights = _SOUND.astype(float)
        weights[unit] *= 1 + rng.choice([-1, 1]) * round(float(rng.uniform(0.1, 0.5)), 2)
        tables.append((_held(int(rng.integers(9, 14)), weights),))
    return tables


@exercise(
    "6.5",
    "A broken network",
    minutes=25,
    difficulty=3,
    hints=(
        "Take away what a sound network holds. Are the errors at even or at odd places? That leaves three suspects.",
        "At which distance k − i from the count do the errors begin? Each unit wakes up at another one. Then one "
        "entry, compared with what the unit computes there, tells how far its weight is off.",
    ),
    why="One number in six is wrong, and its errors name it: where they stand says which, how fast they grow says how.",
    instances=_patients,
)
def culprit(H: np.ndarray) -> np.ndarray:
    """The number of the unit, 1 to 6, whose weight into `hit` is wrong, and that weight: two numbers."""
    N = len(H)
    k, i = np.arange(N)[:, None], np.arange(1, N + 1) % N  # rows of H, and places of its columns
    # your turn
    error = H - (k == i) * (1 - 2 * (i % 2)) / N
    rows, columns = np.nonzero(abs(error) > 1e-9)
    group, begins = i[columns[0]] % 2, (rows - i[columns]).min()
    computed = (rows[0] - i[columns[0]] + 1 - begins) / N
    sound = (1 - 2 * group) * (1, -2, 1)[begins]
    return np.array([1 + 3 * group + begins, sound + error[rows[0], columns[0]] / computed])


culprit.mistake(
    "The weight is right. Units are numbered from 1 to 6, as in the table of weights.",
    lambda H: culprit.solution(H) - [1, 0],
)
culprit.mistake(
    "The unit is right. You give the change of its weight; the weight itself is asked for.",
    lambda H: culprit.solution(H) - [0, _SOUND[int(culprit.solution(H)[0]) - 1]],
)
culprit.mistake(
    "The unit is right, and its weight is what it should be. But how large is it in this network?",
    lambda H: np.array([(unit := culprit.solution(H)[0]), _SOUND[int(unit) - 1]]),
)
culprit.mistake(
    "You have the wrong group: units 1 to 3 speak at even places, units 4 to 6 at odd ones.",
    lambda H: np.array([(culprit.solution(H)[0] + 2) % 6 + 1, culprit.solution(H)[1]]),
)
culprit.mistake(
    "The unit is right, but a unit computes a share: what it adds is its weight times a number of places, over N.",
    lambda H: _per_place(H),
)


def _per_place(H: np.ndarray) -> np.ndarray:
    unit, weight = culprit.solution(H)
    return np.array([unit, (sound := _SOUND[int(unit) - 1]) + (weight - sound) / len(H)])


def _remains(rng: np.random.Generator) -> list[tuple]:
    """Answers of size 1/N², what a lane held before it was cleared, and the number of lanes."""
    lengths = rng.integers(10, 1000, 4)
    return [
        (float(1 / N**2), round(float(rng.uniform(0.5, 2)), 2), D) for N, D in zip(lengths, (9, 8, 16, 9), strict=True)
    ]


@exercise(
    "6.6",
    "What is left behind",
    minutes=12,
    difficulty=3,
    instances=_remains,
    hints=(
        "Layer norm first subtracts the mean of all lanes. What is that mean, and what becomes of the answer?",
        "Dividing by a positive number changes no sign. So ask when the answer and the mean of all D lanes are equal.",
    ),
    why="That is the fourth weight of section 6.5: the answer is of order 1/N², so a few parts in N² are fatal.",
)
def critical_delta(a: float, s: float, D: int) -> float:
    """The δ for which layer norm sends the answer a > 0 to 0."""
    return (D - 1) * a / s


critical_delta.mistake(
    "There the remainder is as large as the answer. But only a D-th part of it is taken from the answer's lane.",
    lambda a, s, D: a / s,
)
critical_delta.mistake(
    "Almost: the mean contains the answer itself, too, and with it goes a D-th part of the answer.",
    lambda a, s, D: D * a / s,
)
critical_delta.mistake(
    "That is the remainder δ·s; divide by what the lane held.",
    lambda a, s, D: (D - 1) * a,
)
critical_delta.mistake(
    "Upside down: a fainter answer must be easier to lose.",
    lambda a, s, D: s / ((D - 1) * a),
)


def _plateaus(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(3, 600)), float(rng.choice([1 / 8, 1 / 16, 1 / 10, 1 / 5]))) for _ in range(4)]


@exercise(
    "6.7",
    "How loud must it look?",
    minutes=12,
    difficulty=2,
    hints=(
        "At the last step there are 2T positions. Two of them have logit β, the others 0. What do the others weigh?",
        "Write down the mean that a single one at x_T gives, and ask when it is exactly ½ − w.",
    ),
    why="With w = 1/8 this is log(3(T − 1)), the threshold of the theorem: attention that grows with log T, no more.",
    instances=_plateaus,
)
def least_beta(T: int, w: float) -> float:
    """The least β at which 0…01 gives a mean of ½ − w or more."""
    others = 2 * T - 2
    # your turn
    return np.log(others * (1 / (2 * w) - 1) / 2)


least_beta.mistake(
    "You demand that the others weigh no more than w in all. Of what they take, each of the two loses a half.",
    lambda T, w: np.log((2 * T - 2) * (1 / w - 1) / 2),
)
least_beta.mistake(
    "Only one position of the pair is counted: x_T and the last written bit have the same code.",
    lambda T, w: np.log((2 * T - 2) * (1 / (2 * w) - 1)),
)
least_beta.mistake(
    "You count the T − 1 other inputs. The T − 1 other written bits are there as well.",
    lambda T, w: np.log((T - 1) * (1 / (2 * w) - 1) / 2),
)
least_beta.mistake(
    "That is e^β itself; its logarithm is asked for.",
    lambda T, w: (2 * T - 2) * (1 / (2 * w) - 1) / 2,
)
least_beta.mistake(
    "You count all 2T positions as others. Two of them are the pair.",
    lambda T, w: np.log(2 * T * (1 / (2 * w) - 1) / 2),
)


def _last_bits(rng: np.random.Generator) -> list[tuple]:
    """Both bits after an odd and after an even number of steps."""
    return [(bit, 2 * int(rng.integers(3, 20)) + odd) for odd in (0, 1) for bit in (0, 1)]


@exercise(
    "6.8",
    "The other bit",
    minutes=8,
    difficulty=1,
    hints=(
        "Each step writes the opposite of the XOR. How often has the truth been turned round after T steps?",
        "Two negations cancel. So all that matters about T is what is left when negations cancel in pairs.",
    ),
    why="So the same circuit serves, if one knows T. Our network writes the odd indicator and need not know it.",
    instances=_last_bits,
)
def repaired(last: int, T: int) -> int:
    """The parity of T bits, 0 or 1, if the last bit written is `last`."""
    return (last + T) % 2


repaired.mistake(
    "That is right for even T. For odd T one negation is left over.",
    lambda last, T: last,
)
repaired.mistake(
    "That is right for odd T. For even T all negations cancel.",
    lambda last, T: 1 - last,
)
repaired.mistake(
    "That does not depend on the last bit, so it cannot know the input.",
    lambda last, T: T % 2,
)
repaired.mistake(
    "The wrong way round: the last bit is the truth exactly if the number of steps is even.",
    lambda last, T: (last + T + 1) % 2,
)


# --- the open one -----------------------------------------------------------------------------------------------------

_BITS = 16


def _judges(rng: np.random.Generator) -> list[tuple]:
    return [(int(seed),) for seed in rng.integers(2**31, size=5)]


def _problem(model: Any) -> str | None:
    """What is wrong with an answer, in half a sentence: it has to be a network on strings of sixteen bits."""
    import torch

    if not isinstance(model, torch.nn.Module):
        return f"a torch.nn.Module is asked for, this is a value of type {type(model).__name__}"
    if not any(True for _ in model.parameters()):
        return "the network has no weights"
    try:
        bits = torch.arange(3 * _BITS).reshape(3, _BITS) % 2
        with _noted(bits) as used:
            shape = tuple(model(bits).shape)
    except Exception as error:
        return f"it stops with {type(error).__name__} on bits of shape (3, {_BITS})"
    if told := used & _GIVE_AWAY:
        allowed = "attention, linear maps, ReLU and layer norm"
        return f"it uses {min(told)}, which may give the answer away: {allowed} are asked for"
    return None if shape == (3,) else f"it gives {shape} for bits of shape (3, {_BITS}), not (3,)"


# Functions of PyTorch that wave, round, multiply or look up counts of bits, by their names without the underscores, and
# what leaves PyTorch, where nothing is noted: the parentheses tell float(x) from x.float(). What honest networks use,
# too, such as products of two tensors or comparisons by size, cannot be among them.
_GIVE_AWAY = {
    *("cos", "sin", "tan", "sinc", "polar", "fft_fft", "fft_rfft", "prod", "cumprod", "round", "floor", "ceil"),
    *("trunc", "frac", "fix", "remainder", "fmod", "mod", "rmod", "divmod", "floor_divide", "floordiv", "xor"),
    *("bitwise_xor", "logical_xor", "bitwise_and", "and", "bitwise_not", "invert", "rpow", "eq", "ne", "sign", "sgn"),
    *("heaviside", "isin", "bucketize", "searchsorted", "item", "tolist", "numpy", "complex numbers"),
    *("array()", "float()", "int()", "index()"),  # of a tensor: the ways out of PyTorch
}


@contextmanager
def _noted(bits: Any) -> Iterator[set[str]]:
    """The names of all functions of PyTorch that are called inside on what was computed from the bits."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._pytree import tree_leaves

    used: set[str] = set()
    held = [bits]  # kept, so that no other tensor gets the place of one of them
    known = {id(bits)}

    class Noting(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            found = func(*args, **(kwargs or {}))
            if any(id(leaf) in known for leaf in tree_leaves((args, kwargs))):
                name = getattr(func, "__name__", "")
                used.add(name.strip("_"))
                if name.startswith("__"):
                    used.add(f"{name.strip('_')}()")
                made = [leaf for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)]
                if any(leaf.is_complex() for leaf in made):
                    used.add("complex numbers")
                held.extend(made), known.update(map(id, made))
            return found

    with Noting():
        yield used


def _share(model: Any, seed: int, sigma: float, *, copies: int = 16) -> float:
    """The share of right signs of noisy copies on random strings."""
    import torch

    from flatcube import networks

    draws = torch.Generator().manual_seed(seed)
    bits = torch.randint(2, (_BITS, _BITS), generator=draws)
    noisy = {
        name: p.detach() + sigma * torch.randn(copies, *p.shape, generator=draws, dtype=p.dtype)
        for name, p in model.named_parameters()
        if "positions" not in name
    }
    with torch.no_grad():
        return float(((networks.many(model, noisy, bits) > 0) == (bits.sum(1) % 2 == 0)).double().mean())


def _survived(model: Any, seed: int) -> float:
    """The norm of the noise at which three of four answers are still right, relative to the norm of the weights."""
    low, high = -7.0, 1.0
    for _ in range(11):
        middle = (low + high) / 2
        low, high = (middle, high) if _share(model, seed, 10**middle) >= 0.75 else (low, middle)
    own = [p.detach() for name, p in model.named_parameters() if "positions" not in name]
    return 10**low * math.sqrt(sum(p.numel() for p in own) / sum(float((p**2).sum()) for p in own))


@scored(
    "6.9",
    "A flatter PARITY",
    minutes=60,
    difficulty=3,
    instances=_judges,
    baseline=lambda: parity.majority_network(_BITS),
    rival="the nested majorities",
    fits=_problem,
    measures={
        "noise survived": Measure(_survived, more=True, unit=" % of ‖θ‖", scale=100),
        "right without noise": Measure(
            lambda model, seed: _share(model, seed, 0.0, copies=1), more=True, unit=" %", scale=100, guess=0.5
        ),
    },
    why="The layer-norm network of this chapter, the one to beat. Its hits are 1/N high; try other heights. Whatever "
    "you scale up in one matrix may be scaled down in the next one. And zeros are shaken, too: who needs all of them?",
)
def my_flat() -> object:
    """A torch network, bits (batch, 16) → (batch,): positive for an even number of ones."""
    return parity.layer_norm_network()
