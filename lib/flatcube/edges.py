"""The arithmetic of sensitivity: sums over the edges {x, x^{⊕i}} of the cube, from flat tables.

Boolean tables are packed, 64 signs to a word; one exclusive or and one population count then settle 64 edges.

Real tables of 2^12 entries and more are summed over products f(x) f(x^{⊕i}), since
E (f(x) − f(x^{⊕i}))² = 2 E f² − 2 E f(x) f(x^{⊕i}); this costs half of what differences cost, but cancels when the
left side is small beside E f². Sums below 10⁻³ of E f² (10⁻² in float32) are therefore computed again, from
differences.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from flatcube import walsh

__all__ = ["is_boolean", "is_bits", "pieces", "pointwise", "mean_changes"]

Term = Callable[[np.ndarray, np.ndarray, np.ndarray], float]  # (f, its neighbours, scratch) → a sum

_PIECE = 16  # tables are looked through 2^16 entries at a time, which stay in the cache
_NARROW = 5  # the lowest bits of a piece, turned to the front so that neighbours lie in different rows
_LARGE = 12  # from here on, real tables are summed piece by piece
_BYTES = 1 << 20  # of such a piece: few enough for the cache, enough to make each call worth its while
_DOT = 1 << 12  # the longest product of two vectors: for more, BLAS starts threads that compete with ours
_WEAK = {np.float64: 1e-3, np.float32: 1e-2}  # sums below this share of E f² are computed from differences
_MASKS = [sum(1 << j for j in range(64) if not j >> i & 1) for i in range(6)]  # positions in a word with bit i clear


def is_boolean(values: np.ndarray) -> bool:
    """Whether all values (m,) are ±1; for most others the first piece decides."""
    return all((np.abs(piece) == 1).all() for piece in pieces(values))


def is_bits(values: np.ndarray) -> bool:
    """Whether all values (m,) are 0 or 1, with both among them."""
    return all(((piece == 0) | (piece == 1)).all() for piece in pieces(values)) and values.min() != values.max()


def pieces(flat: np.ndarray) -> list[np.ndarray]:
    """Consecutive views of a flat array, each small enough for the cache."""
    return [flat[start : start + (1 << _PIECE)] for start in range(0, len(flat), 1 << _PIECE)]


def pointwise(flat: np.ndarray, n: int) -> np.ndarray:
    """Σ_i (f(x) − f(x^{⊕i}))²/4 at every point of one or more tables, laid end to end."""
    change = _flips if is_boolean(flat) else _squares
    total = np.zeros(flat.shape, np.int32 if change is _flips else np.float64)
    values, sums = pieces(flat), pieces(total)
    for f, s in zip(values, sums, strict=True):
        for i in range(min(n, _PIECE)):  # neighbours within one piece
            f, s = f.reshape(-1, 2, 1 << i), s.reshape(-1, 2, 1 << i)
            s += change(f[:, 0], f[:, 1])[:, None]
    for i in range(_PIECE, n):  # neighbours in two pieces
        for k in range(len(values)):
            other = k | 1 << (i - _PIECE)
            if other != k:
                added = change(values[k], values[other])
                sums[k] += added
                sums[other] += added
    return total


def mean_changes(tables: np.ndarray, n: int) -> np.ndarray:
    """E_x (f(x) − f(x^{⊕i}))²/4 for each variable of the tables (count, 2^n): (count, n)."""
    if n >= 6 and (words := _pack(tables)) is not None:
        return _count_changes(words, n) / 2 ** (n - 1)
    if n >= _LARGE:
        return np.stack([_large(table) for table in tables])
    return np.stack([_small(tables, i) for i in range(n)], axis=-1) if n else np.zeros((len(tables), 0))


def _flips(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    return f != g


def _squares(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    change = np.subtract(f, g, dtype=np.float64)
    change *= change
    change /= 4
    return change


def _pack(tables: np.ndarray) -> np.ndarray | None:
    """Boolean tables (count, 2^n), n ≥ 6, as words: bit j of word k is set where entry 64k + j is −1.

    None if an entry is not ±1; for most real tables the first piece decides.
    """
    packed = []
    for piece in pieces(tables.reshape(-1)):
        true = piece == -1
        if not (true | (piece == 1)).all():
            return None
        packed.append(np.packbits(true, bitorder="little"))
    return np.concatenate(packed).view("<u8").reshape(len(tables), -1)


def _count_changes(words: np.ndarray, n: int) -> np.ndarray:
    """The number of edges of each variable on which packed tables change: (count, n)."""
    counts = np.empty((len(words), n), np.int64)
    for i in range(n):
        if i < 6:
            changed = (words ^ words >> np.uint64(1 << i)) & np.uint64(_MASKS[i])
        else:
            halves = words.reshape(len(words), -1, 2, 1 << (i - 6))
            changed = (halves[:, :, 0] ^ halves[:, :, 1]).reshape(len(words), -1)
        counts[:, i] = np.bitwise_count(changed).sum(axis=-1, dtype=np.int64)
    return counts


def _small(tables: np.ndarray, i: int) -> np.ndarray:
    halves = tables.reshape(len(tables), -1, 2, 1 << i)
    change = np.subtract(halves[:, :, 0], halves[:, :, 1], dtype=np.float64)
    return np.einsum("cab,cab->c", change, change) / (2 * tables.shape[-1])


def _large(table: np.ndarray) -> np.ndarray:
    """The changes of one real table with n ≥ 12: from products, and from differences where these cancel."""
    dtype = np.float32 if table.dtype == np.float32 else np.float64
    power = 0.0
    for piece in pieces(table):
        vectors = piece.astype(dtype, copy=False).reshape(-1, _DOT)
        power += _products(vectors, vectors)
    result = (power - 2 * _over_edges(table, dtype, _products)) / (2 * len(table))
    if (weak := result < _WEAK[dtype] * power / len(table)).any():
        result[weak] = _over_edges(table, dtype, _differences)[weak] / (2 * len(table))
    return result


def _products(f: np.ndarray, g: np.ndarray, scratch: np.ndarray | None = None) -> float:
    return float(np.vecdot(f, g).sum(dtype=np.float64))


def _differences(f: np.ndarray, g: np.ndarray, scratch: np.ndarray) -> float:
    change = np.subtract(f, g, out=scratch[: f.size].reshape(f.shape))
    return _products(change, change)


def _over_edges(table: np.ndarray, dtype: type, term: Term) -> np.ndarray:
    """Σ term(f(x), f(x^{⊕i})) over the 2^{n−1} edges of each variable, (n,), for n ≥ 12.

    The table is cut twice into matrices that fit in the cache: into rows of a megabyte, for the low variables, and
    into panels of columns of those rows, for the high ones.
    """
    length = min(len(table), _BYTES // np.dtype(dtype).itemsize)
    rows = table.reshape(-1, length)
    panels = rows.reshape(len(rows), -1, max(length // len(rows), 1))

    def low(start: int, stop: int) -> np.ndarray:
        turned, scratch = np.empty((1 << _NARROW, length >> _NARROW), dtype), np.empty(length, dtype)
        total = np.zeros(length.bit_length() - 1)
        for row in rows[start:stop]:
            matrix = row.astype(dtype, copy=False).reshape(-1, 1 << _NARROW)
            turned[:] = matrix.T
            total[:_NARROW] += _over_rows(turned, term, scratch)
            total[_NARROW:] += _over_rows(matrix, term, scratch)
        return total

    def high(start: int, stop: int) -> np.ndarray:
        panel, total = np.empty((len(rows), panels.shape[2]), dtype), 0
        scratch = np.empty(panel.size, dtype)
        for column in range(start, stop):
            panel[:] = panels[:, column]
            total = total + _over_rows(panel, term, scratch)
        return total

    sums = _shared(low, len(rows))
    return sums if len(rows) == 1 else np.concatenate([sums, _shared(high, panels.shape[1])])


def _over_rows(matrix: np.ndarray, term: Term, scratch: np.ndarray) -> np.ndarray:
    """Σ term over the pairs of rows of a matrix (2^k, width) whose numbers differ in one bit: (k,)."""
    count, width = matrix.shape
    sums = []
    for i in range(count.bit_length() - 1):
        halves = matrix.reshape(-1, 2, max(width << i, _DOT) // _DOT, min(width << i, _DOT))
        sums.append(term(halves[:, 0], halves[:, 1], scratch))
    return np.array(sums)


def _shared(sweep: Callable[[int, int], np.ndarray], items: int) -> np.ndarray:
    """The sum of sweep(start, stop) over ranges that share out the items between threads.

    The ranges are fixed, so that the same machine always adds up in the same order.
    """
    threads = min(items, walsh._cores())
    if threads == 1:
        return sweep(0, items)
    bounds = [items * t // threads for t in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:  # numpy computes outside the lock, so the sweeps run side by side
        return sum(pool.map(sweep, bounds[:-1], bounds[1:]))
