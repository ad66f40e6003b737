"""The arithmetic of the fast Walsh transform: Σ_x f(x) χ_S(x) for all S in about n·2^n operations.

χ_S(x) = ∏ x_i factorises over groups of variables, so the 2^n × 2^n matrix of characters is a Kronecker product of
small ones (Good 1958). One *step* applies the matrix of a few bits, a product that BLAS does well. Two *sweeps* go
through memory: the high bits, from the table to the result, one panel of columns at a time; then the low bits, inside
the result, one piece at a time. Panels and pieces fit in a core's cache, and several threads take them in turn.
No second table is needed.
"""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["walsh"]

_RADIX = 4  # bits per step
_PIECE = 2**18  # bytes of a piece or a panel, at most: with its scratch, half a megabyte of cache
_PRODUCT = 2**18  # multiplications per product: for more, BLAS starts threads that compete with ours
_SHARE = 2**18  # entries per thread: for fewer, a thread costs more than it saves


def walsh(table: np.ndarray, axis: int, dtype: DTypeLike, scale: float) -> np.ndarray:
    """scale^n Σ_x f(x) χ_S(x) along ``axis`` (length 2^n), as a new contiguous array of ``dtype``.

    Extra memory: the result, and a copy of the table if it is not contiguous.
    """
    axis %= table.ndim
    n = table.shape[axis].bit_length() - 1
    inner = math.prod(table.shape[axis + 1 :])  # entries between neighbours along the axis
    if n == 0 or table.size == 0:
        return table.astype(dtype, order="C")
    result = np.empty(table.shape, dtype)
    threads = max(1, min(_cores(), table.size // _SHARE))
    piece = min(_PIECE // result.itemsize, table.size // threads)  # entries
    low = min(n, max(piece // inner, 1).bit_length() - 1)
    low = max(n - _RADIX * -(-(n - low) // _RADIX), 0)  # so that the high bits fill their groups
    source, flat = table.reshape(-1), result.reshape(-1)
    if low < n:
        shape = (-1, 1 << (n - low), inner << low)
        _high_bits(source.reshape(shape), flat.reshape(shape), piece, scale, threads)
        source = flat
    if low:
        _low_bits(source, flat, low, inner, piece, scale, threads)
    return result


def _high_bits(table: np.ndarray, result: np.ndarray, piece: int, scale: float, threads: int) -> None:
    """Transform axis 1 of a table (outer, 2^bits, columns), one panel of columns at a time."""
    outer, rows, columns = table.shape
    groups = _split(rows.bit_length() - 1)
    width = min(columns, max(piece // rows, 64))
    panels = -(-columns // width)

    def sweep(items: Iterator[int]) -> None:
        scratch = [np.empty(rows * width, result.dtype) for _ in range(min(2, len(groups) - 1))]
        for item in items:
            first = item % panels * width
            here = np.s_[item // panels, :, first : first + width]
            source, final = table[here].astype(result.dtype, copy=False), result[here]
            below = 1
            for i, bits in enumerate(groups, start=1):
                target = scratch[i % 2 - 1][: final.size].reshape(final.shape) if i < len(groups) else final
                _step(source, target, bits, (below, final.shape[1]), scale)
                source, below = target, below << bits

    _share(sweep, outer * panels, threads)


def _low_bits(
    table: np.ndarray, result: np.ndarray, bits: int, inner: int, piece: int, scale: float, threads: int
) -> None:
    """Transform ``bits`` bits above ``inner`` neighbours of a flat table, perhaps the result itself, piece by piece."""
    first, *others = _split(bits - 1)
    groups = [first + 1, *others]  # a wider first step makes the second one less narrow
    unit = inner << bits
    length = unit * max(piece // unit, 1)

    def sweep(items: Iterator[int]) -> None:
        scratch = np.empty(min(length, result.size), result.dtype)
        for item in items:
            here = np.s_[item * length : (item + 1) * length]
            source, final = table[here].astype(result.dtype, copy=False), result[here]
            below = inner
            for i, bits in enumerate(groups, start=1):
                target = scratch[: final.size] if (len(groups) - i) % 2 else final  # the last target is final
                _step(source, target, bits, (below,), scale)
                source, below = target, below << bits

    _share(sweep, -(-result.size // length), threads)


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


def _split(bits: int) -> list[int]:
    """``bits`` as near-equal groups of at most _RADIX, at least one group."""
    count = max(-(-bits // _RADIX), 1)
    return [bits // count + (i < bits % count) for i in range(count)]


@lru_cache
def _matrix(bits: int, dtype: np.dtype, scale: float) -> np.ndarray:
    """scale^bits times the matrix of the characters of ``bits`` variables."""
    matrix = np.ones((1, 1))
    for _ in range(bits):
        matrix = scale * np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix.astype(dtype)


def _share(sweep: Callable[[Iterator[int]], None], count: int, threads: int) -> None:
    """Let this thread and its helpers take items 0, …, count − 1 from one iterator until none is left."""
    items = iter(range(count))

    def quiet() -> None:
        with np.errstate(all="ignore"):  # a NaN or an overflow shows in the result, where callers look for it
            sweep(items)

    helpers = [_pool(os.getpid()).submit(quiet) for _ in range(min(threads, count) - 1)]
    quiet()
    for helper in helpers:
        if not helper.cancel():  # a helper that never found time is not missed
            helper.result()


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """The helpers of a process; a forked one needs its own."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="walsh")


def _cores() -> int:
    """The cores that this process may use; OMP_NUM_THREADS limits them, as it limits BLAS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores
