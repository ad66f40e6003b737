"""What the spectrum of a function can be asked; the same function in terms of even_S."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flatcube import checks, cube
from flatcube.fourier import transforms

__all__ = ["Spectrum", "spectrum", "to_even", "from_even"]

Terms = list[tuple[tuple[int, ...], float]]  # [(subset, coefficient or weight), …]

_SHORT = 1024  # the largest denominator that is printed as a fraction
_CLOSE = 2**-20  # a number at a larger distance from such a fraction is not printed as one, whatever the tolerance
_WHOLE = 2**53  # from here on float64 holds whole numbers only


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum:
    """The Fourier coefficients of one function: ``coefficients[mask(S)]`` is c_S, an array (2^n,).

    A coefficient counts as zero if |c_S| ≤ ``tolerance``; the default is 32 rounding errors of the dtype
    relative to ‖f‖ = (Σ c²)^{1/2}. Terms are pairs (subset, coefficient).
    """

    coefficients: np.ndarray
    tolerance: float | None = None

    def __post_init__(self) -> None:
        c = checks.table(self.coefficients, name="coefficients")
        if c.ndim != 1:
            raise ValueError(f"coefficients: expected one function, got shape {c.shape}")
        c = np.array(c, dtype=np.float32 if c.dtype == np.float32 else np.float64)
        c.flags.writeable = False
        object.__setattr__(self, "coefficients", c)
        given = self.tolerance
        tolerance = _norm(c, 32 * np.finfo(c.dtype).eps) if given is None else checks.positive(given, "tolerance", 0)
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
        return self._terms(self._largest(checks.integer(k, "k", 0)))

    def table(self) -> np.ndarray:
        """The values of the function, (2^n,)."""
        return transforms.inverse(self.coefficients)

    def restrict(self, fixed: Mapping[int, int]) -> "Spectrum":
        """The spectrum after x_i = ±1 for each item of ``fixed``: c_T = Σ_{U ⊆ fixed} c_{T∪U} χ_U(fixed).

        The remaining variables keep their order and are numbered anew from 1.
        """
        if not isinstance(fixed, Mapping):
            raise TypeError(f"fixed: expected a dictionary such as {{1: -1}}, got {type(fixed).__name__}")
        cube.mask(fixed, self.n, name="fixed")  # checks the numbers
        checks.signs(list(fixed.values()), name="fixed")
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
        kept = cube.weights(self.n) <= checks.integer(degree, "degree", -1)
        return Spectrum(np.where(kept, self.coefficients, 0), self.tolerance)

    def distance(self, other: "Spectrum") -> float:
        """E (f − g)² = Σ (c_S(f) − c_S(g))²."""
        return float(np.square(self.coefficients - self._like(other), dtype=np.float64).sum())

    def polynomial(self, terms: int | None = None) -> str:
        """The polynomial in x1, …, xn as text, by degree; with ``terms``, only that many largest terms.

        >>> spectrum(cube.formula("x1 | x2")).polynomial()
        '−1/2 + 1/2·x1 + 1/2·x2 + 1/2·x1·x2'
        """
        masks = self.masks if terms is None else self._largest(checks.integer(terms, "terms", 0))
        ordered = masks[np.lexsort((masks, np.bitwise_count(masks)))]
        text = _join(self._terms(ordered), min(self.tolerance, _CLOSE))
        left_out = self.sparsity - len(masks)
        return f"{text} + … ({left_out} further term{'s' * (left_out > 1)})" if left_out else text

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
        return masks[order[:k]]

    def _terms(self, masks: np.ndarray) -> Terms:
        return [(cube.subset(m), float(self.coefficients[m])) for m in masks]

    def _like(self, other: "Spectrum") -> np.ndarray:
        _check_spectrum(other, "other")
        if other.n != self.n:
            raise ValueError(f"other: expected a spectrum on n = {self.n} variables like this one, got {other.n}")
        return other.coefficients


def spectrum(table: np.ndarray, tolerance: float | None = None) -> Spectrum:
    """The spectrum of one table (2^n,)."""
    return Spectrum(transforms.transform(table), tolerance)


def _norm(c: np.ndarray, factor: float = 1) -> float:
    """factor · (Σ c²)^{1/2}; the numbers are scaled first, so that no square overflows or vanishes."""
    largest = max(c.max(), -c.min())
    return float(np.linalg.norm(c / largest)) * factor * float(largest) if largest else 0.0


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
    short = Fraction(round(c * _SHORT), _SHORT) if c < _WHOLE else None
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
    c = np.zeros(2 ** checks.size(n, itemsize=16))
    for members, weight in checks.components(components):
        c[0] += weight / 2
        c[cube.mask(members, n)] += weight / 2
    return Spectrum(c)
