"""Sensitivity and noise stability, exact from tables."""

import numpy as np

from flatcube import checks, cube, fourier
from flatcube.sensitivity import _edges

__all__ = [
    "at_points", "maximum", "influences", "average", "normalised", "spectral_influences", "spectral_average",
    "noise_stability", "disagreement",
]  # fmt: skip


def at_points(table: np.ndarray) -> np.ndarray:
    """s(f, x) at every point, (…, 2^n): integers for Boolean tables, float64 for real ones.

    >>> at_points(cube.majority(3)).tolist()
    [0, 2, 2, 2, 2, 2, 2, 0]
    """
    table, n = _checked(table)
    return _edges.pointwise(table.reshape(-1), n).reshape(table.shape)


def maximum(table: np.ndarray) -> float | np.ndarray:
    """max_x s(f, x), the maximum sensitivity (VA App. B.2): a number, or (…) for stacked tables."""
    return _plain(at_points(table).max(axis=-1))


def influences(table: np.ndarray) -> np.ndarray:
    """Inf_i(f) for i = 1, …, n: (…, n).

    >>> influences(cube.formula("x1 & x2", n=3))
    array([0.5, 0.5, 0. ])
    """
    table, n = _checked(table)
    result = _edges.mean_changes(table.reshape(-1, 2**n), n).reshape(*table.shape[:-1], n)
    if not np.isfinite(result).all():
        raise ValueError("table: the squares of these values are too large for float64; scale the table down")
    return result


def average(table: np.ndarray) -> float | np.ndarray:
    """as(f), the average sensitivity or total influence (HR Def. 3): a number, or (…) for stacked tables.

    >>> average(cube.parity(5)), average(cube.first(5))
    (5.0, 1.0)
    """
    return _plain(influences(table).sum(axis=-1))


def normalised(table: np.ndarray) -> float | np.ndarray:
    """as(f)/n: for a Boolean f the probability that one random flip changes it (VA Sec. 3)."""
    total = influences(table)
    return _plain(total.sum(axis=-1) / checks.count(total.shape[-1], "n"))


def spectral_influences(spectrum: fourier.Spectrum) -> np.ndarray:
    """Inf_i = Σ_{S∋i} c_S², from the spectrum: (n,)."""
    power = np.square(checks.instance(spectrum, "spectrum", fourier.Spectrum).coefficients, dtype=np.float64)
    return np.array([power.reshape(-1, 2, 1 << i)[:, 1].sum() for i in range(spectrum.n)])


def spectral_average(spectrum: fourier.Spectrum) -> float:
    """as = Σ_S |S| c_S² = Σ_k k W^k, the mean of k under the degree profile (HR Eq. 17)."""
    profile = checks.instance(spectrum, "spectrum", fourier.Spectrum).profile
    return float(profile @ np.arange(len(profile)))


def noise_stability(table: np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """E f(x) f(y) for random x, y with E x_i y_i = correlation: Σ_S correlation^|S| c_S² (VA Thm B.4).

    Several correlations (K,) give (…, K).
    """
    correlation = _correlation(correlation, -1)
    table, n = _checked(table)
    power = fourier.transform(table).astype(np.float64, copy=False)
    np.square(power, out=power)
    sizes = cube.weights(n)
    profile = np.stack([power[..., sizes == k].sum(axis=-1) for k in range(n + 1)], axis=-1)
    return _plain(np.tensordot(profile, np.power.outer(correlation, np.arange(n + 1)), (-1, -1)))


def disagreement(table: np.ndarray, correlation: float | np.ndarray) -> float | np.ndarray:
    """P[f(x) ≠ f(y)] = (1 − noise stability)/2 of a Boolean f, x and y as above (VA App. B.2)."""
    return (1 - noise_stability(_boolean(table), correlation)) / 2


def _checked(table: np.ndarray, name: str = "table") -> tuple[np.ndarray, int]:
    """A contiguous table and its n; a table of bits is refused."""
    table = np.ascontiguousarray(checks.table(table, name=name))
    if table.size == 0:
        raise ValueError(f"{name}: expected at least one function, got shape {table.shape}")
    _refuse_bits(table.reshape(-1), name)
    return table, table.shape[-1].bit_length() - 1


def _refuse_bits(values: np.ndarray, name: str) -> None:
    if _edges.is_bits(values):
        raise ValueError(
            f"{name}: expected −1 and +1 or real values, got only 0 and 1; convert bits with cube.to_signs, "
            "or, if f is meant as a real function, take a quarter of the sensitivity of 2f − 1"
        )


def _boolean(table: np.ndarray) -> np.ndarray:
    """A table of −1 and +1; any other is refused."""
    table, _ = _checked(table)
    if not _edges.is_boolean(table.reshape(-1)):
        raise ValueError("table: expected a Boolean table of −1 and +1, got other values")
    return table


def _plain(numbers: np.ndarray) -> float | np.ndarray:
    return numbers if np.ndim(numbers) else numbers.item()


def _correlation(correlation: float | np.ndarray, least: int) -> np.ndarray:
    array = checks.numbers(correlation, "correlation").astype(np.float64)
    if not ((least <= array) & (array <= 1)).all():
        raise ValueError(f"correlation: expected numbers from {least} to 1, got {correlation}")
    return array[()]
