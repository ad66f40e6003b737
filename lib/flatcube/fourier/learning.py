"""Learning from examples by low degrees, and exactly how often the learner is wrong."""

import numpy as np

from flatcube import checks, cube
from flatcube.fourier import transforms
from flatcube.fourier.spectra import Spectrum

__all__ = ["learn_low_degree", "wrong_share"]

_MOST = 10**6  # examples


def learn_low_degree(points: np.ndarray, values: np.ndarray, degree: int) -> Spectrum:
    """The low-degree algorithm of Linial, Mansour and Nisan (1993).

    From examples (x_j, y_j), signs (m, n) and values (m,), estimate c_S ≈ (1/m) Σ_j y_j χ_S(x_j) for |S| ≤ degree
    and set the others to zero. All averages at once are the transform of y summed by point.
    """
    points, values = checks.signs(points, name="points"), checks.numbers(values, "values")
    values = (cube.to_signs(values) if values.dtype == bool else values).astype(np.float64)  # True is −1
    if points.ndim != 2 or values.shape != points.shape[:1] or not len(values):
        raise ValueError(f"values: expected (m,) for points (m, n), m ≥ 1, got {values.shape} and {points.shape}")
    m, n = points.shape
    checks.size(n, itemsize=24)
    checks.integer(degree, "degree", 0, n)
    summed = np.bincount(cube.index(points).astype(np.intp), weights=values, minlength=2**n)
    return Spectrum(transforms.transform(summed) * (2**n / m)).low_degree(degree)


def wrong_share(table: np.ndarray, degree: int, examples: int) -> float:
    """The expected share of inputs where the sign of the low-degree algorithm's h is wrong; h = 0 counts half.

    At an input x, m·f(x)·h(x) = Σ_j f(x) f(x_j) K(x·x_j) with K = Σ_{|S| ≤ degree} χ_S: a sum of m independent whole
    numbers. Its distribution is the m-th convolution power of theirs, here through a discrete Fourier transform; so
    the result is exact but for rounding. Inputs with the same distribution, such as those with as many ones if f is
    symmetric, are treated together. Takes 4^n + m·2^n entries for each kind of input.

    >>> round(wrong_share([1, -1], degree=1, examples=1), 9)  # one of two inputs is seen, the other is a coin toss
    0.25
    """
    table = checks.signs(checks.table(table))
    checks.shape(table.shape, "table", ("2^n",))
    n, m = len(table).bit_length() - 1, checks.integer(examples, "examples", 1, _MOST)
    checks.size(2 * n, itemsize=16)
    checks.room(64 * m << n, "examples")
    kept = cube.weights(n) <= checks.integer(degree, "degree", 0, n)
    kernel = np.rint(transforms.inverse(kept.astype(float))).astype(int)
    k = np.arange(2**n)
    terms = np.multiply.outer(table, table).astype(int) * kernel[k[:, None] ^ k]
    least = terms.min()
    counted = [np.bincount((row - least).astype(np.intp), minlength=terms.max() - least + 1) for row in terms]
    kinds, inputs = np.unique(counted, axis=0, return_counts=True)
    return sum(int(c) * _below(kind / 2**n, m, -m * int(least)) for kind, c in zip(kinds, inputs, strict=True)) / 2**n


def _below(chances: np.ndarray, m: int, zero: int) -> float:
    """The chance that m independent numbers with these ``chances`` add up to less than ``zero``; equal counts half."""
    length = 1 << (m * (len(chances) - 1)).bit_length()
    sums = np.fft.irfft(np.fft.rfft(chances, length) ** m, length)
    return float(sums[:zero].sum() + sums[zero] / 2)
