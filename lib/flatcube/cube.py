"""The Boolean cube: its points, its subsets, and functions on it as tables.

One convention holds in the whole library. A point is a vector of signs x ∈ {±1}^n; its bits are
b ∈ {0,1}^n with x_i = (−1)^{b_i}. A function is a *table* of length 2^n: entry k is its value at the
point with b_i = bit i−1 of k. A subset S of {1, …, n} is the *mask* with the same bits. In a Boolean
table −1 means true and +1 means false, so that the parity χ_S(x) = ∏_{i∈S} x_i is the XOR of the bits in S.

Boolean tables are int32 (products such as ``f @ g`` then count exactly), real ones float64. An array of
Python booleans is a truth table: True stands for −1.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import numpy as np

from flatcube.formula import evaluate, parse, variables

__all__ = [
    "points", "index", "to_bits", "to_signs", "subset", "mask", "weights", "table", "formula",
    "subset_parity", "parity", "first", "mean", "majority", "threshold", "conjunction", "disjunction",
    "address", "tribes", "even", "even_sum", "random_boolean", "random_components", "random_sparse",
    "Components", "check_table", "check_numbers", "check_signs", "check_size", "check_integer",
]  # fmt: skip

Components = Sequence[tuple[Iterable[int], float]]  # [(subset, weight λ), …]

_CHUNK = 16  # a callable sees at most 2^16 points at a time
_PEAK = 32  # bytes per entry that the functions below use at most while they compute a table


def points(n: int) -> np.ndarray:
    """All points of the cube in table order, as signs: (2^n, n) int8.

    >>> points(2).tolist()
    [[1, 1], [-1, 1], [1, -1], [-1, -1]]
    """
    check_size(n, itemsize=8 + 3 * n)
    return _points(0, 2**n, n)


def index(signs: np.ndarray) -> np.ndarray:
    """The table index of each point: (…, n) signs → (…) integers, the inverse of ``points``."""
    bits = to_bits(signs)
    if bits.ndim == 0 or bits.shape[-1] > 62:
        raise ValueError(f"signs: expected points (…, n) with n ≤ 62, got shape {bits.shape}")
    return bits.astype(np.int64) @ (1 << np.arange(bits.shape[-1]))


def to_bits(signs: np.ndarray) -> np.ndarray:
    """b = (1 − x)/2: signs ±1 of any shape → bits 0/1 (int8)."""
    return (check_signs(signs) < 0).astype(np.int8)


def to_signs(bits: np.ndarray) -> np.ndarray:
    """x = 1 − 2b: bits 0/1 (or truth values) of any shape → signs ±1 (int8)."""
    bits = _array(bits, "bits")
    if (bits == -1).any():
        raise ValueError("bits: expected 0 and 1, got −1; these are already signs")
    if not ((bits == 0) | (bits == 1)).all():
        raise ValueError(f"bits: expected 0 and 1, got {_example(bits, (0, 1))}")
    return np.where(bits, np.int8(-1), np.int8(1))


def subset(mask: int) -> tuple[int, ...]:
    """The subset of {1, 2, …} with the given mask, in increasing order.

    >>> subset(0b101)
    (1, 3)
    """
    mask = check_integer(mask, "mask", 0)
    return tuple(i + 1 for i in range(mask.bit_length()) if mask >> i & 1)


def mask(subset: Iterable[int], n: int | None = None, *, name: str = "subset") -> int:
    """The mask of a subset of {1, …, n}; without ``n`` any positive numbers are allowed.

    A refusal calls the subset ``name``.

    >>> bin(mask({1, 3}))
    '0b101'
    """
    allowed = f"numbers from 1 to {'n' if n is None else check_integer(n, 'n', 0)}"
    if not isinstance(subset, Iterable):
        raise TypeError(f"{name}: expected a collection of {allowed}, got {type(subset).__name__}")
    numbers = list(subset)
    for i in numbers:
        if isinstance(i, bool) or not isinstance(i, (int, np.integer)):
            raise TypeError(f"{name}: expected whole {allowed}, got {i!r}")
        if i < 1 or (n is not None and i > n):
            raise ValueError(f"{name}: expected {allowed}, got {i}")
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
    if not callable(f):
        raise TypeError(f"f: expected a function that maps signs (batch, n) to values (batch,), got {type(f).__name__}")
    check_size(n, itemsize=_PEAK)
    step = 1 << min(n, _CHUNK)
    values = []
    for start in range(0, 2**n, step):
        batch = _array(f(_points(start, start + step, n)), "f")
        if batch.shape != (step,):
            raise ValueError(
                f"f: expected {step} values for points of shape ({step}, {n}), got shape {batch.shape}; "
                "x1 of all points is x[:, 0]"
            )
        values.append(batch)
    return check_table(np.concatenate(values), name="f")


def formula(text: str, n: int | None = None) -> np.ndarray:
    """The ±1 table of a Boolean formula in x1, x2, …; without ``n``, the largest number that occurs.

    Operators by strength: ``~`` (not), ``&`` (and), ``^`` (xor), ``|`` (or), or the words; constants 0 and 1;
    ``maj(…, …)``. The grammar stands in ``flatcube.formula``.

    >>> formula("x1 & (x2 ^ ~x3)").tolist()
    [1, -1, 1, 1, 1, 1, 1, -1]
    """
    tree = parse(text)
    largest = max(variables(tree), default=0)
    n = largest if n is None else n
    indices = _indices(n)
    if largest > n:
        raise ValueError(f"formula: uses x{largest}, but n = {n}")
    return _boolean(evaluate(tree, indices))


def subset_parity(subset: Iterable[int], n: int) -> np.ndarray:
    """χ_S(x) = ∏_{i∈S} x_i, the XOR of the bits in S."""
    return _boolean(np.bitwise_count(_indices(n) & mask(subset, n)) & 1)


def parity(n: int) -> np.ndarray:
    """PARITY: ∏ x_i, true if the number of ones is odd."""
    return _boolean(weights(check_integer(n, "n", 1)) & 1)


def first(n: int) -> np.ndarray:
    """FIRST: x_1."""
    return subset_parity({1}, check_integer(n, "n", 1))


def mean(n: int) -> np.ndarray:
    """MEAN: (1/n) Σ x_i, a real function."""
    return (n - 2.0 * weights(check_integer(n, "n", 1))) / n


def majority(n: int) -> np.ndarray:
    """MAJORITY: true if more than half of the bits are one; a tie is false (+1).

    HR counts a one as +1. As functions of signs the two agree but for ties, and their sensitivity is the same.
    """
    return threshold(check_integer(n, "n", 1), n // 2 + 1)


def threshold(n: int, k: int) -> np.ndarray:
    """True if at least ``k`` of the n bits are one (0 ≤ k ≤ n + 1: from always true to always false)."""
    return _boolean(weights(n) >= check_integer(k, "k", 0, n + 1))


def conjunction(n: int) -> np.ndarray:
    """AND: true if all bits are one."""
    return threshold(check_integer(n, "n", 1), n)


def disjunction(n: int) -> np.ndarray:
    """OR: true if some bit is one."""
    return threshold(check_integer(n, "n", 1), 1)


def address(k: int) -> np.ndarray:
    """The address function on n = k + 2^k variables: x_1 … x_k select one of the others.

    The bits of x_1 … x_k, lowest first, are the number a; the value is x_{k+1+a}.
    """
    indices = _indices(check_integer(k, "k", 1) + 2 ** min(k, 63))  # an absurd k is refused without computing 2^k
    return _boolean(indices >> (k + (indices & (2**k - 1))) & 1)


def tribes(width: int, count: int) -> np.ndarray:
    """True if some tribe is unanimous: OR over ``count`` tribes of the AND of ``width`` consecutive bits."""
    indices = _indices(check_integer(width, "width", 1) * check_integer(count, "count", 1))
    tribe = 2**width - 1
    unanimous = (indices >> (width * t) & tribe == tribe for t in range(count))
    return _boolean(reduce(np.logical_or, unanimous))


def even(subset: Iterable[int], n: int) -> np.ndarray:
    """even_S = (1 + χ_S)/2 with values {0, 1}: one where the bits in S have an even sum (SP Eq. 1)."""
    return (1 + subset_parity(subset, n)) // 2


def even_sum(components: Components, n: int) -> np.ndarray:
    """The table of f = Σ_i λ_i even_{S_i} for components [(S_i, λ_i), …] (SP Eq. 1)."""
    total = np.zeros(2 ** check_size(n, itemsize=_PEAK))
    for members, weight in components:
        total += weight * even(members, n)
    return check_table(total, name="components")


def random_boolean(n: int, *, rng: np.random.Generator | int) -> np.ndarray:
    """A ±1 table with independent fair entries."""
    check_size(n, itemsize=_PEAK)
    return _boolean(np.random.default_rng(rng).integers(0, 2, size=2**n, dtype=np.int8))


def random_components(
    n: int, degree: int, components: int, *, rng: np.random.Generator | int
) -> list[tuple[tuple[int, ...], float]]:
    """Distinct random subsets of size ``degree`` with weights |N(0,1)| scaled to ‖λ‖ = 2 (SP Sec. 2.1).

    Var f = ‖λ‖²/4 (the mean is Λ/2 = Σλ/2), so f = Σ λ_i even_{S_i} has unit variance. It is not centred.
    """
    rng = np.random.default_rng(rng)
    check_integer(degree, "degree", 1, check_integer(n, "n", 1))
    check_integer(components, "components", 1, math.comb(n, degree))  # there are no more subsets
    chosen: dict[tuple[int, ...], None] = {}  # a set that remembers the order of drawing
    while len(chosen) < components:
        chosen[tuple(sorted(1 + i for i in rng.choice(n, degree, replace=False).tolist()))] = None
    scale = np.abs(rng.standard_normal(components))
    return list(zip(chosen, (2 * scale / np.linalg.norm(scale)).tolist(), strict=True))


def random_sparse(n: int, degree: int, components: int, *, rng: np.random.Generator | int) -> np.ndarray:
    """The table of a random sparse function, ``even_sum(random_components(…), n)``."""
    check_size(n, itemsize=_PEAK)
    return even_sum(random_components(n, degree, components, rng=rng), n)


def check_table(table: np.ndarray, *, axis: int = -1, name: str = "table", finite: bool = True) -> np.ndarray:
    """``table`` as an array of real numbers whose ``axis`` has length 2^n; truth values become ±1.

    ``finite=False`` leaves the search for NaN and infinities to a caller that sees them anyway.
    """
    table, axis = _real(table, name), check_integer(axis, "axis")
    if table.ndim == 0 or not -table.ndim <= axis < table.ndim:
        raise ValueError(f"{name}: expected an array with an axis {axis}, got shape {table.shape}")
    length = table.shape[axis]
    if length == 0 or length & (length - 1):
        raise ValueError(f"{name}: expected a length that is a power of two, got {length}")
    if table.dtype == bool:
        return _boolean(table)
    return check_numbers(table, name) if finite else table


def check_numbers(numbers: np.ndarray, name: str) -> np.ndarray:
    """``numbers`` as an array of finite real numbers of any shape."""
    numbers = _real(numbers, name)
    # the extrema show every NaN and infinity, and need no memory
    if numbers.dtype.kind == "f" and not np.isfinite([numbers.min(initial=0), numbers.max(initial=0)]).all():
        raise ValueError(f"{name}: expected finite numbers, got {numbers[~np.isfinite(numbers)][0]}")
    return numbers


def check_signs(signs: np.ndarray, *, name: str = "signs") -> np.ndarray:
    """``signs`` as an array of ±1 of any shape; an array of bits is refused by name."""
    signs = _array(signs, name)
    if signs.dtype == bool or (signs == 0).any():
        raise ValueError(f"{name}: expected −1 and +1, got bits; convert them with cube.to_signs")
    if not ((signs == 1) | (signs == -1)).all():
        raise ValueError(f"{name}: expected −1 and +1, got {_example(signs, (-1, 1))}")
    return signs


def check_size(n: int, *, itemsize: int) -> int:
    """``n``, if 2^n entries of ``itemsize`` bytes fit in this machine's memory."""
    n, memory = check_integer(n, "n", 0), _memory()
    if n > 62 or itemsize << n > memory:
        size = f"{itemsize << n:,}" if n <= 62 else f"{itemsize} × 2^{n}"
        raise ValueError(f"n: tables with n = {n} take {size} bytes, but this machine has {memory:,}")
    return n


def check_integer(value: int, name: str, least: int | None = None, most: int | None = None) -> int:
    """``value`` as an int, not below ``least`` nor above ``most``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}")
    if (least is not None and value < least) or (most is not None and value > most):
        allowed = f"≥ {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}: expected an integer {allowed}, got {value}")
    return int(value)


def _array(values: np.ndarray, name: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # numpy says so in several sentences
        raise ValueError(f"{name}: expected an array, got lists of unequal lengths") from None


def _real(values: np.ndarray, name: str) -> np.ndarray:
    array = _array(values, name)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: expected real numbers of at most 64 bits, got dtype {array.dtype}")
    return array


def _memory() -> int:
    """Bytes of physical memory; 16 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 34


def _indices(n: int) -> np.ndarray:
    return np.arange(2 ** check_size(n, itemsize=_PEAK))


def _points(start: int, stop: int, n: int) -> np.ndarray:
    """The points with indices from ``start`` to ``stop``; the bits are read off the bytes of the indices."""
    octets = np.arange(start, stop, dtype="<u8").view(np.uint8).reshape(-1, 8)
    bits = np.unpackbits(octets, axis=1, count=n, bitorder="little")
    return 1 - 2 * bits.view(np.int8)


def _boolean(truth: np.ndarray) -> np.ndarray:
    """The ±1 table of truth values (booleans or 0/1)."""
    return np.where(truth, np.int32(-1), np.int32(1))


def _example(array: np.ndarray, allowed: tuple[int, int]) -> object:
    """The first entry that is none of the allowed values, for a message."""
    return array[~np.isin(array, allowed)].flat[0]
