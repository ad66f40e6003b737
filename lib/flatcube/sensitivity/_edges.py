"""The arithmetic of sensitivity: sums over the edges {x, x^{⊕i}} of the cube, from flat tables.

Boolean tables are packed, 64 signs to a word; one exclusive or and one population count then settle 64 edges, thirty
times as fast as differences. Real tables are gone through in pieces that stay in the cache.
"""

from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["is_boolean", "is_bits", "pointwise", "mean_changes"]

_PIECE = 16  # tables are looked through 2^16 entries at a time, which stay in the cache
_SMALL = 12  # below, stacked tables are summed all at once
_LOW = 5  # the first variables, whose neighbours lie next to each other
_MASKS = [sum(1 << j for j in range(64) if not j >> i & 1) for i in range(6)]  # positions in a word with bit i clear


def is_boolean(values: np.ndarray) -> bool:
    """Whether all values (m,) are ±1; for most others the first piece decides."""
    return all((np.abs(piece) == 1).all() for piece in _pieces(values))


def is_bits(values: np.ndarray) -> bool:
    """Whether all values (m,) are 0 or 1, with both among them."""
    return all(((piece == 0) | (piece == 1)).all() for piece in _pieces(values)) and values.min() != values.max()


def _pieces(flat: np.ndarray) -> list[np.ndarray]:
    """Consecutive views of a flat array, each small enough for the cache."""
    return [flat[start : start + (1 << _PIECE)] for start in range(0, len(flat), 1 << _PIECE)]


def _neighbours(n: int, *arrays: np.ndarray) -> Iterator[tuple[int, Sequence[np.ndarray], Sequence[np.ndarray]]]:
    """All edges, by their variables i = 0, …: views of each array, laid out like tables end to end, at both ends."""
    pieces = list(zip(*map(_pieces, arrays), strict=True))
    for piece in pieces:
        for i in range(min(n, _PIECE)):  # both in one piece
            halves = [array.reshape(-1, 2, 1 << i) for array in piece]
            yield i, [half[:, 0] for half in halves], [half[:, 1] for half in halves]
    yield from _far(n, *arrays)


def _far(n: int, *arrays: np.ndarray) -> Iterator[tuple[int, Sequence[np.ndarray], Sequence[np.ndarray]]]:
    """The same for the variables whose edges lead from one piece to another."""
    pieces = list(zip(*map(_pieces, arrays), strict=True))
    for i in range(_PIECE, n):
        apart = 1 << (i - _PIECE)
        yield from ((i, piece, pieces[k | apart]) for k, piece in enumerate(pieces) if not k & apart)


def pointwise(flat: np.ndarray, n: int) -> np.ndarray:
    """Σ_i (f(x) − f(x^{⊕i}))²/4 at every point of one or more tables, laid end to end."""
    boolean = is_boolean(flat)
    total = np.zeros(flat.shape, np.int32 if boolean else np.float64)
    for _, (f, mine), (g, others) in _neighbours(n, flat, total):
        added = f != g if boolean else np.square(np.subtract(f, g, dtype=np.float64)) / 4
        mine += added
        others += added
    return total


def mean_changes(tables: np.ndarray, n: int) -> np.ndarray:
    """E_x (f(x) − f(x^{⊕i}))²/4 for each variable of the tables (count, 2^n): (count, n)."""
    if n >= 6 and (words := _pack(tables)) is not None:
        return _count_changes(words, n) / 2 ** (n - 1)
    if n >= _SMALL:
        return np.stack([_large(table, n) for table in tables])
    return np.stack([_small(tables, i) for i in range(n)], axis=-1) if n else np.zeros((len(tables), 0))


def _small(tables: np.ndarray, i: int) -> np.ndarray:
    halves = tables.reshape(len(tables), -1, 2, 1 << i)
    change = np.subtract(halves[:, :, 0], halves[:, :, 1], dtype=np.float64)
    return np.einsum("cab,cab->c", change, change) / (2 * tables.shape[-1])


def _large(table: np.ndarray, n: int) -> np.ndarray:
    sums = np.zeros(n)
    for piece in _pieces(table):
        rows = piece.astype(np.float64, copy=False).reshape(-1, 1 << _LOW)
        for first, matrix in ((0, rows.T.copy()), (_LOW, rows)):  # else the halves of the first variables are crumbs
            for i in range(len(matrix).bit_length() - 1):
                halves = matrix.reshape(-1, 2, matrix.shape[1] << i)
                sums[first + i] += _square(halves[:, 0], halves[:, 1])
    for i, (f,), (g,) in _far(n, table):
        sums[i] += _square(f, g)
    return sums / (2 * len(table))


def _square(f: np.ndarray, g: np.ndarray) -> float:
    change = np.subtract(f, g, dtype=np.float64)
    return float(np.vdot(change, change))


def _pack(tables: np.ndarray) -> np.ndarray | None:
    """Boolean tables (count, 2^n), n ≥ 6, as words: bit j of word k is set where entry 64k + j is −1.

    None if an entry is not ±1; for most real tables the first piece decides.
    """
    packed = []
    for piece in _pieces(tables.reshape(-1)):
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
