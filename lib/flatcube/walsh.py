"""The arithmetic of the fast Walsh transform: Σ_x f(x) χ_S(x) for all S in about n·2^n operations.

χ_S(x) = ∏ x_i factorises over groups of variables, so the 2^n × 2^n matrix of characters is a Kronecker product
of small ones (Good 1958). One *step* applies the matrix of a few bits, a product that BLAS does well. Two *sweeps*
go through memory: the high bits, from the table to the result, one panel of columns at a time; then the low bits,
inside the result, one piece at a time. Panels and pieces fit in a core's cache and are shared out between threads.
No second table is needed.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

__all__ = ["walsh"]

_RADIX = 4  # bits per step
_PIECE = 2**18  # bytes of a piece or a panel: with its scratch, half a megabyte of cache
_PRODUCT = 2**18  # multiplications per product: for more, BLAS starts threads that compete with ours
_SERIAL = 2**18  # entries below which threads cost more than they save


def walsh(table: np.ndarray, axis: int, dtype: type, scale: float) -> np.ndarray:
    """scale^n Σ_x f(x) χ_S(x) along ``axis`` (length 2^n), as a new contiguous array of ``dtype``.

    Extra memory: the result, and a copy of the table if it is not contiguous.
    """
    axis %= table.ndim
    n = table.shape[axis].bit_length() - 1
    inner = math.prod(table.shape[axis + 1 :])  # entries between neighbours along the axis
    if n == 0 or table.size == 0:
        return table.astype(dtype, order="C")
    result = np.empty(table.shape, dtype)
    fitting = max(_PIECE // (result.itemsize * inner), 1)
    low = min(n, fitting.bit_length() - 1)
    source, flat = table.reshape(-1), result.reshape(-1)
    if low < n:
        shape = (-1, 1 << (n - low), inner << low)
        _high_bits(source.reshape(shape), flat.reshape(shape), scale)
        source = flat
    if low:
        _low_bits(source, flat, low, inner, scale)
    return result


def _high_bits(table: np.ndarray, result: np.ndarray, scale: float) -> None:
    """Transform axis 1 of a table (outer, 2^bits, columns), one panel of columns at a time."""
    outer, rows, columns = table.shape
    groups = _high_groups(rows.bit_length() - 1)
    width = min(columns, max(_PIECE // (result.itemsize * rows), 64))
    panels = -(-columns // width)

    def sweep(start: int, stop: int) -> None:
        scratch = [np.empty(rows * width, result.dtype) for _ in range(min(2, len(groups) - 1))]
        for item in range(start, stop):
            first = item % panels * width
            here = np.s_[item // panels, :, first : first + width]
            source, final = table[here].astype(result.dtype, copy=False), result[here]
            below = 1
            for i, bits in enumerate(groups):
                last = i == len(groups) - 1
                target = final if last else scratch[i % 2][: final.size].reshape(final.shape)
                _step(source, target, bits, (below, final.shape[1]), scale)
                source, below = target, below << bits

    _share(sweep, outer * panels, result.size)


def _low_bits(table: np.ndarray, result: np.ndarray, bits: int, inner: int, scale: float) -> None:
    """Transform ``bits`` bits above ``inner`` neighbours of a flat table, perhaps the result itself, piece by piece."""
    groups = _low_groups(bits)
    unit = inner << bits
    length = unit * max(_PIECE // (result.itemsize * unit), 1)

    def sweep(start: int, stop: int) -> None:
        scratch = np.empty(min(length, result.size), result.dtype)
        for item in range(start, stop):
            here = np.s_[item * length : (item + 1) * length]
            source, final = table[here].astype(result.dtype, copy=False), result[here]
            below = inner
            for i, bits in enumerate(groups, start=1):
                target = scratch[: final.size] if (len(groups) - i) % 2 else final  # the last is final
                _step(source, target, bits, (below,), scale)
                source, below = target, below << bits

    _share(sweep, -(-result.size // length), result.size)


def _step(source: np.ndarray, target: np.ndarray, bits: int, below: tuple[int, ...], scale: float) -> None:
    """Apply the matrix of ``bits`` bits to arrays seen as (…, 2^bits, *below)."""
    matrix = _matrix(bits, target.dtype, scale)
    size, limit = 1 << bits, _PRODUCT >> (2 * bits)
    if below == (1,):
        rows = target.size // size
        shape = (-1, limit if rows % limit == 0 else rows, size)
        np.matmul(source.reshape(shape), matrix, out=target.reshape(shape))
        return
    *outer, width = below
    columns = limit if width % limit == 0 else width
    shape = (-1, size, *outer, width // columns, columns)
    order = (0, *range(2, len(shape) - 1), 1, len(shape) - 1)
    np.matmul(matrix, source.reshape(shape).transpose(order), out=target.reshape(shape).transpose(order))


def _high_groups(bits: int) -> list[int]:
    """``bits`` split into near-equal groups of at most _RADIX."""
    return _split(bits, -(-bits // _RADIX))


def _low_groups(bits: int) -> list[int]:
    """The same with one bit more in the first, lowest group: the second product is then less narrow."""
    first, *others = _split(bits - 1, max(-(-(bits - 1) // _RADIX), 1))
    return [first + 1, *others]


def _split(total: int, count: int) -> list[int]:
    return [total // count + (i < total % count) for i in range(count)]


@lru_cache
def _matrix(bits: int, dtype: np.dtype, scale: float) -> np.ndarray:
    """scale^bits times the matrix of the characters of ``bits`` variables."""
    matrix = np.ones((1, 1))
    for _ in range(bits):
        matrix = scale * np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix.astype(dtype)


def _share(sweep: Callable[[int, int], None], items: int, size: int) -> None:
    """Call sweep(start, stop) until all items are done, from several threads if the arrays are large."""

    def quiet(start: int, stop: int) -> None:
        with np.errstate(all="ignore"):  # a NaN or an overflow shows in the result, where callers look for it
            sweep(start, stop)

    threads = min(items, _cores()) if size >= _SERIAL else 1
    if threads == 1:
        quiet(0, items)
        return
    bounds = [items * t // threads for t in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(quiet, bounds[:-1], bounds[1:]))


def _cores() -> int:
    """The cores that this process may use; OMP_NUM_THREADS limits them, as it limits BLAS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores
