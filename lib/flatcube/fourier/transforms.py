"""The transform and its inverse."""

import numpy as np

from flatcube import checks
from flatcube.fourier._walsh import walsh

__all__ = ["transform", "inverse"]

_EXACT = 2**53  # float64 holds every integer up to here


def transform(table: np.ndarray, axis: int = -1) -> np.ndarray:
    """c_S = 2^{−n} Σ_x f(x) χ_S(x): tables along ``axis`` (length 2^n) → their coefficients.

    float32 stays float32; every other dtype gives float64. Integer and Boolean tables have exact coefficients: sums of
    integers up to 2^53, divided by a power of two; larger sums are refused. Other axes are a batch. The table itself is
    not changed; extra memory is the result, and a copy of the table if it is not contiguous.

    >>> transform([1, -1, -1, -1])  # x1 | x2
    array([-0.5,  0.5,  0.5,  0.5])
    """
    return _sums(table, axis, 0.5, "table")


def inverse(coefficients: np.ndarray, axis: int = -1) -> np.ndarray:
    """f(x) = Σ_S c_S χ_S(x): coefficients along ``axis`` → their tables, with the dtypes of ``transform``."""
    return _sums(coefficients, axis, 1, "coefficients")


def _sums(table: np.ndarray, axis: int, scale: float, name: str) -> np.ndarray:
    """scale^n Σ_x f(x) χ_S(x), checked before and after."""
    table = checks.table(table, axis=axis, name=name, finite=False)
    if table.dtype.kind in "iu" and (bound := _bound(table, axis)) > _EXACT:
        raise ValueError(f"{name}: sums of these integers can reach {bound:,} and be rounded; convert to float64 first")
    dtype = _real(table)
    _check_memory(table, axis, dtype.itemsize)
    result = walsh(table, axis, dtype, scale)
    # the sum over all x, at S = ∅, shows every NaN and infinity; a sum that is not scaled down may overflow anywhere
    seen = result.take(0, axis) if scale < 1 else result
    if not np.isfinite([seen.min(initial=0), seen.max(initial=0)]).all():
        checks.table(table, axis=axis, name=name)
        raise ValueError(f"{name}: expected numbers whose sums fit in {result.dtype}, got {abs(table).max()}")
    return result


def _real(table: np.ndarray) -> np.dtype:
    return np.dtype(np.float32 if table.dtype == np.float32 else np.float64)


def _check_memory(table: np.ndarray, axis: int, extra: int) -> None:
    """Refuse what takes too many bytes: ``extra`` per entry next to the table, and its copy if it is not contiguous."""
    held = table.itemsize * (1 if table.flags.c_contiguous else 2)
    length = table.shape[axis]
    checks.size(length.bit_length() - 1, itemsize=(held + extra) * (table.size // length))


def _bound(table: np.ndarray, axis: int) -> int:
    """The largest modulus that a sum over an integer table can have."""
    return table.shape[axis] * max(abs(int(table.min(initial=0))), abs(int(table.max(initial=0))))
