"""The Walsh–Fourier transform of functions on the cube, and their spectra.

Every f: {±1}^n → ℝ is a unique combination of parities (HR Sec. 3; VA Sec. 3),

    f(x) = Σ_S c_S χ_S(x),    χ_S(x) = ∏_{i∈S} x_i,    c_S = E_x f(x) χ_S(x),

with x uniform on the cube. Tables and masks follow the convention of ``flatcube.cube``: c[mask(S)] is c_S.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flatcube import cube
from flatcube.walsh import walsh

__all__ = [
    "transform", "inverse", "hadamard", "convolve", "Spectrum", "spectrum", "to_even", "from_even",
    "learn_low_degree", "from_boofun", "to_boofun",
]  # fmt: skip

Terms = list[tuple[tuple[int, ...], float]]  # [(subset, coefficient or weight), …]

_EXACT = 2**53  # float64 holds every integer up to here
_SHORT = 1024  # the largest denominator that is printed as a fraction
_CLOSE = 2**-20  # a number at a larger distance from such a fraction is not printed as one, whatever the tolerance


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


def hadamard(table: np.ndarray, axis: int = -1) -> np.ndarray:
    """2^n c_S = Σ_x f(x) χ_S(x) for integer and Boolean tables: exact integers, as int64."""
    table = cube.check_table(table, axis=axis)
    if table.dtype.kind == "f":
        raise TypeError(f"table: expected integers or booleans, got dtype {table.dtype}; transform takes real numbers")
    _check_memory(table, axis, 16)
    bound = _bound(table, axis)
    if bound > np.iinfo(np.int64).max:
        raise ValueError(f"table: sums of these integers can reach {bound:,}, which does not fit in 64 bits")
    dtype = np.float64 if bound <= _EXACT else np.int64  # as exact, and much faster through BLAS
    return walsh(table, axis, dtype, 1).astype(np.int64, copy=False)


def convolve(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """(f * g)(x) = E_y f(y) g(x·y), x·y the product of signs: the table with coefficients c_S(f) c_S(g)."""
    f, g = transform(f), transform(g)
    if f.shape[-1] != g.shape[-1]:
        raise ValueError(f"g: expected a table of length {f.shape[-1]} like f, got {g.shape[-1]}")
    try:
        np.broadcast_shapes(f.shape, g.shape)
    except ValueError:
        raise ValueError(f"g: expected a batch that fits f of shape {f.shape}, got shape {g.shape}") from None
    return inverse(f * g)


def _sums(table: np.ndarray, axis: int, scale: float, name: str) -> np.ndarray:
    """scale^n Σ_x f(x) χ_S(x), checked before and after."""
    table = cube.check_table(table, axis=axis, name=name, finite=False)
    if table.dtype.kind in "iu" and (bound := _bound(table, axis)) > _EXACT:
        raise ValueError(f"{name}: sums of these integers can reach {bound:,} and be rounded; convert to float64 first")
    dtype = _real(table)
    _check_memory(table, axis, dtype.itemsize)
    result = walsh(table, axis, dtype, scale)
    # the sum over all x, at S = ∅, shows every NaN and infinity; a sum that is not scaled down may overflow anywhere
    seen = result.take(0, axis) if scale < 1 else result
    if not np.isfinite([seen.min(initial=0), seen.max(initial=0)]).all():
        cube.check_table(table, axis=axis, name=name)
        raise ValueError(f"{name}: expected numbers whose sums fit in {result.dtype}, got {abs(table).max()}")
    return result


def _real(table: np.ndarray) -> np.dtype:
    return np.dtype(np.float32 if table.dtype == np.float32 else np.float64)


def _check_memory(table: np.ndarray, axis: int, extra: int) -> None:
    """Refuse what takes too many bytes: ``extra`` per entry next to the table, and its copy if it is not contiguous."""
    held = table.itemsize * (1 if table.flags.c_contiguous else 2)
    length = table.shape[axis]
    cube.check_size(length.bit_length() - 1, itemsize=(held + extra) * (table.size // length))


def _bound(table: np.ndarray, axis: int) -> int:
    """The largest modulus that a sum over an integer table can have."""
    return table.shape[axis] * max(abs(int(table.min(initial=0))), abs(int(table.max(initial=0))))


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
        tolerance = _norm(c, 32 * np.finfo(c.dtype).eps) if self.tolerance is None else _check_tolerance(self.tolerance)
        object.__setattr__(self, "tolerance", tolerance)

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
        return np.bincount(cube.weights(self.n), weights=self._squares())

    @property
    def norm2(self) -> float:
        """E f² = Σ c_S² (Parseval)."""
        return float(self._squares().sum())

    @property
    def mean(self) -> float:
        """E f = c_∅."""
        return float(self.coefficients[0])

    @property
    def variance(self) -> float:
        """Var f = Σ_{S≠∅} c_S²."""
        return float(self._squares()[1:].sum())

    def top(self, k: int) -> Terms:
        """The at most ``k`` non-zero terms of largest modulus; equal ones by degree, then by mask."""
        return self._terms(self._largest(k))

    def table(self) -> np.ndarray:
        """The values of the function, (2^n,)."""
        return inverse(self.coefficients)

    def restrict(self, fixed: Mapping[int, int]) -> "Spectrum":
        """The spectrum after x_i = ±1 for each item of ``fixed``: c_T = Σ_{U ⊆ fixed} c_{T∪U} χ_U(fixed).

        The remaining variables keep their order and are numbered anew from 1.
        """
        if not isinstance(fixed, Mapping):
            raise TypeError(f"fixed: expected a dictionary such as {{1: -1}}, got {type(fixed).__name__}")
        cube.mask(fixed, self.n, name="fixed")  # checks the numbers
        cube.check_signs(list(fixed.values()), name="fixed")
        c = self.coefficients
        for i in sorted(fixed, reverse=True):  # from above, so that the lower numbers stay valid
            halves = c.reshape(-1, 2, 1 << (i - 1))
            c = (halves[:, 0] + fixed[i] * halves[:, 1]).ravel()
        return Spectrum(c, max(self.tolerance, Spectrum(c).tolerance))  # what was zero stays zero

    def convolve(self, other: "Spectrum") -> "Spectrum":
        """The spectrum of (f * g)(x) = E_y f(y) g(x·y): products of coefficients."""
        f, g = self.coefficients, self._like(other)
        return Spectrum(f * g, self.tolerance * _norm(g) + other.tolerance * _norm(f))

    def low_degree(self, degree: int) -> "Spectrum":
        """The projection Σ_{|S| ≤ degree} c_S χ_S, the nearest function of that degree; −1 leaves zero."""
        kept = cube.weights(self.n) <= cube.check_integer(degree, "degree", -1)
        return Spectrum(np.where(kept, self.coefficients, 0), self.tolerance)

    def distance(self, other: "Spectrum") -> float:
        """E (f − g)² = Σ (c_S(f) − c_S(g))²."""
        return float(np.square(self.coefficients - self._like(other), dtype=np.float64).sum())

    def polynomial(self, terms: int | None = None) -> str:
        """The polynomial in x1, …, xn as text, by degree; with ``terms``, only that many largest terms.

        >>> spectrum(cube.formula("x1 | x2")).polynomial()
        '−1/2 + 1/2·x1 + 1/2·x2 + 1/2·x1·x2'
        """
        masks = self.masks if terms is None else self._largest(terms)
        ordered = masks[np.lexsort((masks, np.bitwise_count(masks)))]
        text = _join(self._terms(ordered), min(self.tolerance, _CLOSE))
        left_out = self.sparsity - len(masks)
        return f"{text} + … ({left_out} smaller term{'s' * (left_out > 1)})" if left_out else text

    def __repr__(self) -> str:
        kept = np.where(np.abs(self.coefficients) > self.tolerance, self.coefficients, 0)  # no rounding errors
        largest = float(np.abs(kept).max()) or 1.0
        shares = np.bincount(cube.weights(self.n), weights=np.square(kept / largest, dtype=np.float64))
        scale = 24 / (shares.max() or 1)
        sizes = [w * largest * largest for w in shares.tolist()]  # inf if squares of the coefficients do not fit
        rows = [f"  degree {k:>2}  {'█' * round(w * scale):<24}  {sizes[k]:.4g}" for k, w in enumerate(shares)]
        head = f"Spectrum on {self.n} variables: degree {self.degree}, sparsity {self.sparsity}"
        return "\n".join([head, *rows, f"  f = {self.polynomial(6)}"])

    def _squares(self) -> np.ndarray:
        return np.square(self.coefficients, dtype=np.float64)

    def _largest(self, k: int) -> np.ndarray:
        masks = self.masks
        order = np.lexsort((masks, np.bitwise_count(masks), -np.abs(self.coefficients[masks])))
        return masks[order[: cube.check_integer(k, "k", 0)]]

    def _terms(self, masks: np.ndarray) -> Terms:
        return [(cube.subset(m), float(self.coefficients[m])) for m in masks]

    def _like(self, other: "Spectrum") -> np.ndarray:
        _check_spectrum(other, "other")
        if other.n != self.n:
            raise ValueError(f"other: expected a spectrum on n = {self.n} variables like this one, got {other.n}")
        return other.coefficients


def spectrum(table: np.ndarray, tolerance: float | None = None) -> Spectrum:
    """The spectrum of one table (2^n,)."""
    return Spectrum(transform(table), tolerance)


def _norm(c: np.ndarray, factor: float = 1) -> float:
    """factor · (Σ c²)^{1/2}; the numbers are scaled first, so that no square overflows or vanishes."""
    largest = max(c.max(), -c.min())
    return float(np.linalg.norm(c / largest)) * factor * float(largest) if largest else 0.0


def _check_tolerance(tolerance: float) -> float:
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float, np.integer, np.floating)):
        raise TypeError(f"tolerance: expected a number ≥ 0, got {tolerance!r}")
    if not tolerance >= 0:  # NaN included
        raise ValueError(f"tolerance: expected a number ≥ 0, got {tolerance}")
    return float(tolerance)


def _check_spectrum(spectrum: Spectrum, name: str) -> None:
    if not isinstance(spectrum, Spectrum):
        made = "fourier.spectrum(table) makes one"
        raise TypeError(f"{name}: expected a Spectrum ({made}), got {type(spectrum).__name__}")


def _join(terms: Terms, close: float) -> str:
    text = ""
    for members, c in terms:
        factors = [f"x{i}" for i in members]
        number = _number(abs(c), close)
        if number != "1" or not members:
            factors.insert(0, number)
        sign = (" − " if c < 0 else " + ") if text else ("−" if c < 0 else "")
        text += sign + "·".join(factors)
    return text or "0"


def _number(c: float, close: float) -> str:
    """A number within ``close`` of a short dyadic fraction as that fraction, any other with four significant digits."""
    short = Fraction(round(c * _SHORT), _SHORT) if c < _EXACT else None
    return f"{c:.4g}" if short is None or abs(c - short) > close else str(short)


def to_even(spectrum: Spectrum) -> Terms:
    """The components [(S, λ_S), …] of f = Σ λ_S even_S with even_S = (1 + χ_S)/2 (SP Eq. 1).

    λ_S = 2 c_S for S ≠ ∅ and λ_∅ = c_∅ − Σ_{S≠∅} c_S; components that are zero are left out.
    """
    _check_spectrum(spectrum, "spectrum")
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
    points, values = cube.check_signs(points, name="points"), cube.check_numbers(values, "values")
    values = (cube.to_signs(values) if values.dtype == bool else values).astype(np.float64)  # True is −1
    if points.ndim != 2 or values.shape != points.shape[:1] or not len(values):
        raise ValueError(f"values: expected (m,) for points (m, n), m ≥ 1, got {values.shape} and {points.shape}")
    m, n = points.shape
    cube.check_size(n, itemsize=24)
    summed = np.bincount(cube.index(points), weights=values, minlength=2**n)
    return Spectrum(transform(summed) * (2**n / m)).low_degree(degree)


def from_boofun(function: object) -> np.ndarray:
    """The ±1 table of a function of the ``boofun`` package (its bits and its true = −1 agree with ours)."""
    if not isinstance(function, _boofun().BooleanFunction):
        raise TypeError(f"function: expected a boofun.BooleanFunction, got {type(function).__name__}")
    return cube.check_table(np.asarray(function.get_representation("truth_table"), dtype=bool), name="function")


def to_boofun(table: np.ndarray) -> object:
    """The function of the ``boofun`` package with a given ±1 table."""
    signs = cube.check_signs(cube.check_table(table), name="table")
    return _boofun().create(signs < 0)


def _boofun() -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its notices about optional plotting packages
            import boofun
    except ImportError:
        raise ImportError("boofun is not installed; install it with: pip install boofun") from None
    return boofun
