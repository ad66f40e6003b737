"""The Walsh–Fourier transform of functions on the cube, and their spectra.

Every f: {±1}^n → ℝ is a unique combination of parities (HR Sec. 3; VA Sec. 3),

    f(x) = Σ_S c_S χ_S(x),    χ_S(x) = ∏_{i∈S} x_i,    c_S = E_x f(x) χ_S(x),

with x uniform on the cube. Tables and masks follow the convention of ``flatcube.cube``: c[mask(S)] is c_S.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from flatcube import cube

__all__ = [
    "transform",
    "inverse",
    "hadamard",
    "convolve",
    "Spectrum",
    "spectrum",
    "to_even",
    "from_even",
    "learn_low_degree",
    "from_boofun",
    "to_boofun",
]

_RADIX = 4  # bits per pass: a 16 × 16 matrix keeps BLAS busy without wasting arithmetic
_EXACT = 2**53  # integers up to here are exact in float64
_SHORT = 1024  # the largest denominator that is printed as a fraction


def transform(table: np.ndarray, axis: int = -1) -> np.ndarray:
    """c_S = 2^{−n} Σ_x f(x) χ_S(x): tables along ``axis`` (length 2^n) → coefficients, all at once.

    float32 stays float32; every other dtype gives float64. Integer and Boolean tables are exact: sums of
    integers below 2^53, divided by a power of two; larger integers are refused. The table is not changed.

    >>> transform([1, -1, -1, -1])  # x1 | x2
    array([-0.5,  0.5,  0.5,  0.5])
    """
    table = cube.check_table(table, axis=axis)
    if table.dtype.kind in "iu" and _bound(table, axis) > _EXACT:
        raise ValueError("table: sums of these integers pass 2^53 and would be rounded; convert to float64 first")
    return _walsh(table, axis, _real(table), 0.5)


def inverse(coefficients: np.ndarray, axis: int = -1) -> np.ndarray:
    """f(x) = Σ_S c_S χ_S(x): coefficients along ``axis`` → tables, with the dtypes of ``transform``."""
    coefficients = cube.check_table(coefficients, axis=axis, name="coefficients")
    return _walsh(coefficients, axis, _real(coefficients), 1)


def hadamard(table: np.ndarray, axis: int = -1) -> np.ndarray:
    """Σ_x f(x) χ_S(x) = 2^n c_S of integer (or Boolean) tables, exact, as int64."""
    table = cube.check_table(table, axis=axis)
    if table.dtype.kind == "f":
        raise TypeError(f"table: expected integers or booleans, got dtype {table.dtype}; use transform")
    bound = _bound(table, axis)
    if bound > np.iinfo(np.int64).max:
        raise ValueError(f"table: sums up to {bound:,} do not fit in 64 bits")
    dtype = np.float64 if bound <= _EXACT else np.int64  # float64 runs through BLAS, int64 does not
    return _walsh(table, axis, dtype, 1).astype(np.int64, copy=False)


def convolve(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """(f * g)(x) = E_y f(y) g(x·y), x·y the product of signs: the table with coefficients c_S(f) c_S(g)."""
    f, g = transform(f), transform(g)
    if f.shape[-1] != g.shape[-1]:
        raise ValueError(f"g: expected a table of length {f.shape[-1]} like f, got {g.shape[-1]}")
    return inverse(f * g)


def _real(table: np.ndarray) -> type:
    return np.float32 if table.dtype == np.float32 else np.float64


def _bound(table: np.ndarray, axis: int) -> int:
    """The largest absolute value that a sum over the table can reach."""
    return table.shape[axis] * max(abs(int(table.min(initial=0))), abs(int(table.max(initial=0))))


@lru_cache
def _matrix(bits: int, dtype: type, scale: float) -> np.ndarray:
    """The 2^bits × 2^bits matrix of the characters times scale^bits."""
    matrix = np.ones((1, 1))
    for _ in range(bits):
        matrix = scale * np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix.astype(dtype)


def _walsh(table: np.ndarray, axis: int, dtype: type, scale: float) -> np.ndarray:
    """Σ_x f(x) χ_S(x) · scale^n along one axis.

    χ_S factorises over groups of bits, so one small matrix product per group of four bits does it
    (Good 1958). The products go back and forth between two buffers: the result and one more.
    """
    length = table.shape[axis]
    inner = int(np.prod(table.shape[axis % table.ndim + 1 :]))  # entries between neighbours on the axis
    buffers = [np.empty(table.shape, dtype), np.empty(table.shape, dtype)]
    source = table
    if table.dtype != dtype or not table.flags.c_contiguous or length == 1:
        buffers[1][...] = table
        source = buffers[1]
    done = 0
    n = length.bit_length() - 1
    groups = [len(part) for part in np.array_split(range(n), -(-n // _RADIX))] if n else []
    for bits in groups:
        matrix, low = _matrix(bits, dtype, scale), inner << done
        target = buffers[0]
        if low == 1:
            np.matmul(source.reshape(-1, 1 << bits), matrix, out=target.reshape(-1, 1 << bits))
        else:
            np.matmul(matrix, source.reshape(-1, 1 << bits, low), out=target.reshape(-1, 1 << bits, low))
        source, done = target, done + bits
        buffers.reverse()
    return source


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum:
    """The Fourier coefficients of one function: ``coefficients[mask(S)]`` is c_S, an array (2^n,).

    A coefficient counts as zero if |c_S| ≤ ``tolerance``; the default is 32 rounding errors of the dtype
    relative to ‖f‖ = (Σ c²)^{1/2}. Terms are pairs (subset, coefficient).
    """

    coefficients: np.ndarray
    tolerance: float | None = None

    def __post_init__(self) -> None:
        c = cube.check_table(self.coefficients, name="coefficients")
        if c.ndim != 1:
            raise ValueError(f"coefficients: expected one function, got shape {c.shape}")
        c = np.array(c, dtype=_real(c))
        c.flags.writeable = False
        object.__setattr__(self, "coefficients", c)
        if self.tolerance is None:
            object.__setattr__(self, "tolerance", float(32 * np.finfo(c.dtype).eps * np.linalg.norm(c)))

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.coefficients).bit_length() - 1

    @property
    def masks(self) -> np.ndarray:
        """The masks of the non-zero coefficients, in increasing order."""
        return np.flatnonzero(np.abs(self.coefficients) > self.tolerance)

    @property
    def degree(self) -> int:
        """max |S| over the non-zero coefficients; 0 for a constant, zero included."""
        return int(np.bitwise_count(self.masks).max(initial=0))

    @property
    def sparsity(self) -> int:
        """The number of non-zero coefficients, the constant included."""
        return len(self.masks)

    @property
    def profile(self) -> np.ndarray:
        """The degree profile (n+1,): Σ_{|S|=k} c_S² for k = 0, …, n (HR Sec. 6)."""
        return np.bincount(cube.weights(self.n), weights=np.square(self.coefficients), minlength=self.n + 1)

    @property
    def norm2(self) -> float:
        """E f² = Σ c_S² (Parseval)."""
        return float(np.square(self.coefficients, dtype=np.float64).sum())

    @property
    def mean(self) -> float:
        """E f = c_∅."""
        return float(self.coefficients[0])

    @property
    def variance(self) -> float:
        """Var f = Σ_{S≠∅} c_S²."""
        return float(np.square(self.coefficients[1:], dtype=np.float64).sum())

    def top(self, k: int) -> list[tuple[tuple[int, ...], float]]:
        """The at most ``k`` non-zero terms of largest modulus; equal ones by degree, then by mask."""
        masks = self.masks
        size = np.abs(self.coefficients[masks])
        order = np.lexsort((masks, np.bitwise_count(masks), -size))[:k]
        return self._terms(masks[order])

    def table(self) -> np.ndarray:
        """The values of the function, (2^n,)."""
        return inverse(self.coefficients)

    def restrict(self, fixed: Mapping[int, int]) -> "Spectrum":
        """The spectrum after x_i = ±1 for each item of ``fixed``: c_T = Σ_{U ⊆ fixed} c_{T∪U} χ_U(fixed).

        The remaining variables keep their order and are numbered anew from 1.
        """
        cube.mask(fixed, self.n)
        cube.check_signs(list(fixed.values()), name="fixed")
        c = self.coefficients
        for i in sorted(fixed, reverse=True):  # from above, so that the lower numbers stay valid
            halves = c.reshape(-1, 2, 1 << (i - 1))
            c = (halves[:, 0] + fixed[i] * halves[:, 1]).ravel()
        return Spectrum(c)

    def convolve(self, other: "Spectrum") -> "Spectrum":
        """The spectrum of (f * g)(x) = E_y f(y) g(x·y): products of coefficients."""
        return Spectrum(self.coefficients * self._like(other))

    def low_degree(self, degree: int) -> "Spectrum":
        """The projection Σ_{|S| ≤ degree} c_S χ_S, the nearest function of that degree."""
        return Spectrum(np.where(cube.weights(self.n) <= degree, self.coefficients, 0), self.tolerance)

    def distance(self, other: "Spectrum") -> float:
        """E (f − g)² = Σ (c_S(f) − c_S(g))²."""
        return float(np.square(self.coefficients - self._like(other), dtype=np.float64).sum())

    def polynomial(self, terms: int | None = None) -> str:
        """The polynomial in x1, …, xn as text, by degree; with ``terms``, only that many largest terms.

        >>> spectrum(cube.formula("x1 | x2")).polynomial()
        '−1/2 + 1/2·x1 + 1/2·x2 + 1/2·x1·x2'
        """
        masks = self.masks
        shown = self._terms(masks[np.lexsort((masks, np.bitwise_count(masks)))])
        if terms is not None:
            largest = dict(self.top(terms))
            shown = [term for term in shown if term[0] in largest]
        text = _join(shown)
        left_out = len(masks) - len(shown)
        return f"{text} + … ({left_out} smaller terms)" if left_out else text

    def __repr__(self) -> str:
        weight = self.profile
        scale = 24 / max(weight.max(), np.finfo(float).tiny)
        rows = [f"  degree {k:>2}  {'█' * round(w * scale):<24}  {w:.4g}" for k, w in enumerate(weight)]
        head = f"Spectrum on {self.n} variables: degree {self.degree}, sparsity {self.sparsity}"
        return "\n".join([head, *rows, f"  f = {self.polynomial(6)}"])

    def _terms(self, masks: np.ndarray) -> list[tuple[tuple[int, ...], float]]:
        return [(cube.subset(m), float(self.coefficients[m])) for m in masks]

    def _like(self, other: "Spectrum") -> np.ndarray:
        if other.n != self.n:
            raise ValueError(f"other: expected a spectrum on n = {self.n} variables like this one, got {other.n}")
        return other.coefficients


def spectrum(table: np.ndarray, tolerance: float | None = None) -> Spectrum:
    """The spectrum of one table (2^n,)."""
    return Spectrum(transform(table), tolerance)


def _join(terms: list[tuple[tuple[int, ...], float]]) -> str:
    text = ""
    for members, c in terms:
        factors = [f"x{i}" for i in members]
        if abs(c) != 1 or not members:
            factors.insert(0, _number(abs(c)))
        sign = (" − " if c < 0 else " + ") if text else ("−" if c < 0 else "")
        text += sign + "·".join(factors)
    return text or "0"


def _number(c: float) -> str:
    """A short dyadic number as a fraction, any other with four significant digits."""
    return str(Fraction(round(c * _SHORT), _SHORT)) if float(c * _SHORT).is_integer() else f"{c:.4g}"


def to_even(spectrum: Spectrum) -> list[tuple[tuple[int, ...], float]]:
    """The components [(S, λ_S), …] of f = Σ λ_S even_S with even_S = (1 + χ_S)/2 (SP Eq. 1).

    λ_S = 2 c_S for S ≠ ∅ and λ_∅ = c_∅ − Σ_{S≠∅} c_S; components that are zero are left out.
    """
    c = spectrum.coefficients
    constant = float(2 * c[0] - c.sum(dtype=np.float64))
    components = [((), constant)] if abs(constant) > spectrum.tolerance else []
    return components + [(members, 2 * value) for members, value in spectrum._terms(spectrum.masks) if members]


def from_even(components: cube.Components, n: int) -> Spectrum:
    """The spectrum of f = Σ λ_S even_S: c_S = λ_S/2 for S ≠ ∅, c_∅ = λ_∅ + Σ_{S≠∅} λ_S/2."""
    c = np.zeros(2 ** cube.check_size(n, itemsize=16))
    for members, weight in components:
        c[0] += weight / 2
        c[cube.mask(members, n)] += weight / 2
    return Spectrum(c)


def learn_low_degree(points: np.ndarray, values: np.ndarray, degree: int) -> Spectrum:
    """The low-degree algorithm of Linial, Mansour and Nisan (1993).

    From examples (x_j, y_j), signs (m, n) and values (m,), estimate c_S ≈ (1/m) Σ_j y_j χ_S(x_j) for |S| ≤ degree
    and set the others to zero. All averages at once are the transform of y summed by point.
    """
    points, values = cube.check_signs(points, name="points"), np.asarray(values, dtype=np.float64)
    if points.ndim != 2 or values.shape != points.shape[:1] or not len(values):
        raise ValueError(f"values: expected (m,) for points (m, n), m ≥ 1, got {values.shape} and {points.shape}")
    m, n = points.shape
    cube.check_size(n, itemsize=24)
    summed = np.bincount(cube.index(points), weights=values, minlength=2**n)
    return Spectrum(transform(summed) * (2**n / m)).low_degree(degree)


def from_boofun(function: object) -> np.ndarray:
    """The ±1 table of a function of the ``boofun`` package (its bits and its true = −1 agree with ours)."""
    return cube.check_table(np.asarray(function.get_representation("truth_table"), dtype=bool), name="function")


def to_boofun(table: np.ndarray) -> object:
    """The function of the ``boofun`` package with a given ±1 table."""
    truth = cube.to_bits(cube.check_table(table)).astype(bool)
    return _boofun().create(truth)


def _boofun() -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its notices about optional plotting packages
            import boofun
    except ImportError:
        raise ImportError("boofun is not installed; install it with: pip install boofun") from None
    return boofun
