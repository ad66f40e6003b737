"""Points, subsets and the functions on them that have names."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import numpy as np

from flatcube import checks
from flatcube.cube.grammar import evaluate, parse, variables

__all__ = [
    "points", "index", "to_bits", "to_signs", "subset", "mask", "weights", "table", "formula",
    "subset_parity", "parity", "first", "mean", "majority", "threshold", "conjunction", "disjunction",
    "address", "tribes", "even", "even_sum", "random_boolean", "random_components",
    "Components",
]  # fmt: skip

Components = Sequence[tuple[Iterable[int], float]]  # [(subset, weight λ), …]

_CHUNK = 16  # a callable sees at most 2^16 points at a time
_PEAK = 32  # bytes per entry that the functions below use at most while they compute a table
_WIDEST = 10**6  # the largest number of a variable: a mask has that many bits
_MOST = 10**5  # random components, which are drawn one by one


def points(n: int) -> np.ndarray:
    """All points of the cube in table order, as signs: (2^n, n) int8.

    >>> points(2).tolist()
    [[1, 1], [-1, 1], [1, -1], [-1, -1]]
    """
    checks.size(n, itemsize=8 + 3 * n)
    return _points(0, 2**n, n)


def index(signs: np.ndarray) -> np.ndarray:
    """The table index of each point: (…, n) signs → (…) integers, the inverse of ``points``."""
    bits = to_bits(signs)
    if bits.ndim == 0 or bits.shape[-1] > 62:
        raise ValueError(f"signs: expected points (…, n) with n ≤ 62, got shape {bits.shape}")
    return bits.astype(np.int64) @ (1 << np.arange(bits.shape[-1]))


def to_bits(signs: np.ndarray) -> np.ndarray:
    """b = (1 − x)/2: signs ±1 of any shape → bits 0/1 (int8)."""
    return (checks.signs(signs) < 0).astype(np.int8)


def to_signs(bits: np.ndarray) -> np.ndarray:
    """x = 1 − 2b: bits 0/1 (or truth values) of any shape → signs ±1 (int8)."""
    return np.where(checks.bits(bits), np.int8(-1), np.int8(1))


def subset(mask: int) -> tuple[int, ...]:
    """The subset of {1, 2, …} with the given mask, in increasing order.

    >>> subset(0b101)
    (1, 3)
    """
    mask = checks.integer(mask, "mask", 0)
    return tuple(i + 1 for i in range(mask.bit_length()) if mask >> i & 1)


def mask(subset: Iterable[int], n: int | None = None, *, name: str = "subset") -> int:
    """The mask of a subset of {1, …, n}; without ``n`` any positive numbers are allowed.

    A refusal calls the subset ``name``.

    >>> bin(mask({1, 3}))
    '0b101'
    """
    most = _WIDEST if n is None else min(checks.integer(n, "n", 0), _WIDEST)
    allowed = f"numbers from 1 to {f'n ≤ {_WIDEST}' if n is None else most}"
    if not isinstance(subset, Iterable):
        raise TypeError(f"{name}: expected a collection of {allowed}, got {type(subset).__name__}")
    numbers = list(subset)
    for i in numbers:
        if isinstance(i, bool) or not isinstance(i, (int, np.integer)):
            raise TypeError(f"{name}: expected whole {allowed}, got {i!r}")
        if not 1 <= i <= most:
            raise ValueError(f"{name}: expected {allowed}, got {i:.6g}")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{name}: expected distinct numbers, got {tuple(numbers)}")
    return sum(1 << (int(i) - 1) for i in numbers)


def weights(n: int) -> np.ndarray:
    """The number of ones of each index, (2^n,) int32: Hamming weight of a point, size |S| of a subset.

    >>> (1 - 2 * (weights(2) % 2)).tolist()
    [1, -1, -1, 1]
    """
    return np.bitwise_count(_indices(n)).astype(np.int32)  # signed, as Boolean tables are: differences come out right


def table(f: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """The table of a callable that maps signs (batch, n) to values (batch,).

    >>> table(lambda x: x[:, 0] * x[:, 1], 2).tolist()
    [1, -1, -1, 1]
    """
    checks.function(f, "f", "function that maps signs (batch, n) to values (batch,)")
    checks.size(n, itemsize=_PEAK)
    step = 1 << min(n, _CHUNK)
    values = []
    for start in range(0, 2**n, step):
        batch = checks.array(f(_points(start, start + step, n)), "f")
        if batch.shape != (step,):
            raise ValueError(
                f"f: expected {step} values for points of shape ({step}, {n}), got shape {batch.shape}; "
                "x1 of all points is x[:, 0]"
            )
        values.append(batch)
    return checks.table(np.concatenate(values), name="f")


def formula(text: str, n: int | None = None) -> np.ndarray:
    """The ±1 table of a Boolean formula in x1, x2, …; without ``n``, the largest number that occurs.

    Operators by strength: ``~`` (not), ``&`` (and), ``^`` (xor), ``|`` (or), or the words; constants 0 and 1;
    ``maj(…, …)``. The grammar stands in ``flatcube.cube.grammar``.

    >>> formula("x1 & (x2 ^ ~x3)").tolist()
    [1, -1, 1, 1, 1, 1, 1, -1]
    """
    tree = parse(text)
    largest = max(variables(tree), default=0)
    n = checks.size(largest if n is None else n, itemsize=_PEAK)
    if largest > n:
        raise ValueError(f"formula: uses x{largest}, but n = {n}")
    step = 1 << min(n, _CHUNK)  # a deep formula holds many intermediate results, each of one chunk
    return np.concatenate([_boolean(evaluate(tree, np.arange(k, k + step))) for k in range(0, 2**n, step)])


def subset_parity(subset: Iterable[int], n: int) -> np.ndarray:
    """χ_S(x) = ∏_{i∈S} x_i, the XOR of the bits in S."""
    return _boolean(np.bitwise_count(_indices(n) & mask(subset, n)) & 1)


def parity(n: int) -> np.ndarray:
    """PARITY: ∏ x_i, true if the number of ones is odd."""
    return _boolean(weights(checks.integer(n, "n", 1)) & 1)


def first(n: int) -> np.ndarray:
    """FIRST: x_1."""
    return subset_parity({1}, checks.integer(n, "n", 1))


def mean(n: int) -> np.ndarray:
    """MEAN: (1/n) Σ x_i, a real function."""
    return (n - 2.0 * weights(checks.integer(n, "n", 1))) / n


def majority(n: int) -> np.ndarray:
    """MAJORITY: true if more than half of the bits are one; a tie is false (+1).

    HR counts a one as +1. As functions of signs the two agree but for ties, and their sensitivity is the same.
    """
    return threshold(checks.integer(n, "n", 1), n // 2 + 1)


def threshold(n: int, k: int) -> np.ndarray:
    """True if at least ``k`` of the n bits are one (0 ≤ k ≤ n + 1: from always true to always false)."""
    return _boolean(weights(n) >= checks.integer(k, "k", 0, n + 1))


def conjunction(n: int) -> np.ndarray:
    """AND: true if all bits are one."""
    return threshold(checks.integer(n, "n", 1), n)


def disjunction(n: int) -> np.ndarray:
    """OR: true if some bit is one."""
    return threshold(checks.integer(n, "n", 1), 1)


def address(k: int) -> np.ndarray:
    """The address function on n = k + 2^k variables: x_1 … x_k select one of the others.

    The bits of x_1 … x_k, lowest first, are the number a; the value is x_{k+1+a}.
    """
    indices = _indices(checks.integer(k, "k", 1) + 2 ** min(k, 63))  # an absurd k is refused without computing 2^k
    return _boolean(indices >> (k + (indices & (2**k - 1))) & 1)


def tribes(width: int, count: int) -> np.ndarray:
    """True if some tribe is unanimous: OR over ``count`` tribes of the AND of ``width`` consecutive bits."""
    indices = _indices(checks.integer(width, "width", 1) * checks.integer(count, "count", 1))
    tribe = 2**width - 1
    unanimous = (indices >> (width * t) & tribe == tribe for t in range(count))
    return _boolean(reduce(np.logical_or, unanimous))


def even(subset: Iterable[int], n: int) -> np.ndarray:
    """even_S = (1 + χ_S)/2 with values {0, 1}: one where the bits in S have an even sum (SP Eq. 1)."""
    return (1 + subset_parity(subset, n)) // 2


def even_sum(components: Components, n: int) -> np.ndarray:
    """The table of f = Σ_i λ_i even_{S_i} for components [(S_i, λ_i), …] (SP Eq. 1)."""
    total = np.zeros(2 ** checks.size(n, itemsize=_PEAK))
    for members, weight in checks.components(components):
        total += weight * even(members, n)
    return checks.table(total, name="components")


def random_boolean(n: int, *, rng: np.random.Generator | int) -> np.ndarray:
    """A ±1 table with independent fair entries."""
    checks.size(n, itemsize=_PEAK)
    return _boolean(checks.generator(rng).integers(0, 2, size=2**n, dtype=np.int8))


def random_components(
    n: int, degree: int, components: int, *, rng: np.random.Generator | int
) -> list[tuple[tuple[int, ...], float]]:
    """Distinct random subsets of size ``degree`` with weights |N(0,1)| scaled to ‖λ‖ = 2 (SP Sec. 2.1).

    Var f = ‖λ‖²/4 (the mean is Λ/2 = Σλ/2), so f = Σ λ_i even_{S_i} has unit variance. It is not centred.
    """
    rng = checks.generator(rng)
    checks.integer(degree, "degree", 1, checks.integer(n, "n", 1, _WIDEST))
    subsets = math.comb(n, min(degree, n - degree, 64))  # or more; all of them if there are few
    checks.integer(components, "components", 1, min(subsets, _MOST))
    checks.room(64 * components * degree, "components")
    chosen: dict[tuple[int, ...], None] = {}  # a set that remembers the order of drawing
    while len(chosen) < components:
        chosen[tuple(sorted(1 + i for i in rng.choice(n, degree, replace=False).tolist()))] = None
    scale = np.abs(rng.standard_normal(components))
    return list(zip(chosen, (2 * scale / np.linalg.norm(scale)).tolist(), strict=True))


def _indices(n: int) -> np.ndarray:
    return np.arange(2 ** checks.size(n, itemsize=_PEAK))


def _points(start: int, stop: int, n: int) -> np.ndarray:
    """The points with indices from ``start`` to ``stop``; the bits are read off the bytes of the indices."""
    octets = np.arange(start, stop, dtype="<u8").view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(octets, axis=1, count=n, bitorder="little")
    return 1 - 2 * bits.view(np.int8)


def _boolean(truth: np.ndarray) -> np.ndarray:
    """The ±1 table of truth values (booleans or 0/1)."""
    return np.where(truth, np.int32(-1), np.int32(1))
