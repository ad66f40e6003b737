"""The second set of chapter 1: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube import fourier
from flatcube.classroom.problems import problem


def _shifts(rng: np.random.Generator) -> list[tuple]:
    """Spectra, and sets of at least two inputs to negate, but not of all."""
    rows = []
    for n in (3, 4, 5):
        coefficients = fourier.transform(rng.normal(size=2**n)).round(3) + 0.0
        chosen = rng.choice(n, int(rng.integers(2, n)), replace=False)
        rows.append((coefficients, int(np.sum(2**chosen))))
    return rows


@problem(
    "1.A",
    "Some inputs negated",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
Somebody has wired a machine with some of its inputs negated: instead of $f(x)$ it computes $g(x)=f(y)$, where
$y_i=-x_i$ for the variables $i$ in a set $Z$ and $y_i=x_i$ for all others. Give the Fourier coefficients of $g$ from
those of $f$. The set $Z$ is given by its `mask`; index $S$ of `coefficients` is a subset's mask as well.
""",
    hints=(
        "Take a single parity first. By which factor does it change if some of its inputs change their signs?",
        "Only the variables that a set has in common with Z matter, and only whether their number is even or odd.",
    ),
    why="No coefficient changes its size: degree, sensitivity and noise stability do not see how inputs are coded.",
    instances=_shifts,
)
def negated_spectrum(coefficients: np.ndarray, mask: int) -> np.ndarray:
    """The Fourier coefficients of x ↦ f(x with the variables in the mask negated)."""
    masks = np.arange(len(coefficients))
    # your turn
    return coefficients * (-1.0) ** np.bitwise_count(masks & mask)


def _masks(c: np.ndarray) -> np.ndarray:
    return np.arange(len(c))


negated_spectrum.mistake(
    "You move the coefficients to other sets. Negating inputs permutes the table; the spectrum only changes signs.",
    lambda c, mask: c[_masks(c) ^ mask],
)
negated_spectrum.mistake(
    "You give every coefficient the sign of Z itself. A parity changes only by those of Z that are among its inputs.",
    lambda c, mask: c * (-1.0) ** mask.bit_count(),
)
negated_spectrum.mistake(
    "You negate all odd sets, as if every input were negated.",
    lambda c, mask: c * (-1.0) ** np.bitwise_count(_masks(c)),
)
negated_spectrum.mistake(
    "You change the sign wherever a set meets Z. Two negations in one parity cancel each other.",
    lambda c, mask: np.where(_masks(c) & mask, -c, c),
)
negated_spectrum.mistake(
    "You count the members outside of Z. Those inputs stay as they are.",
    lambda c, mask: c * (-1.0) ** np.bitwise_count(_masks(c) & ~mask),
)


def _factors(rng: np.random.Generator) -> list[tuple]:
    return [tuple(fourier.transform(rng.normal(size=2**n)).round(2) + 0.0 for _ in range(2)) for n in (2, 3, 4)]


@problem(
    "1.B",
    "The spectrum of a product",
    points=4,
    minutes=15,
    difficulty=2,
    text=r"""
Let $h(x)=f(x)\,g(x)$. Give the Fourier coefficients of $h$ from those of $f$ and of $g$, both of length $2^n$. Index
$S$ is a subset's mask.
""",
    hints=(
        "Write both functions as sums of parities and multiply. Which parity is the product of two parities?",
        "Every pair of sets adds to one coefficient of the product: that of the elements in exactly one of the two.",
    ),
    why="Degrees add up at most. That is why a product of two low-degree functions is still of low degree.",
    instances=_factors,
)
def product_spectrum(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The Fourier coefficients of the product of two functions, from theirs."""
    masks = np.arange(len(f))
    # your turn
    return np.array([np.sum(f * g[masks ^ s]) for s in masks])


def _collected(f: np.ndarray, g: np.ndarray, joined: np.ufunc) -> np.ndarray:
    found = np.zeros(len(f))
    for s in range(len(f)):
        for t in range(len(g)):
            found[joined(s, t) % len(f)] += f[s] * g[t]
    return found


product_spectrum.mistake(
    "You multiply coefficients of the same set. That is right for tables, not for spectra.", lambda f, g: f * g
)
product_spectrum.mistake(
    "You join two sets to their union. An input that stands in both parities is squared, and disappears.",
    lambda f, g: _collected(f, g, np.bitwise_or),
)
product_spectrum.mistake(
    "You add the masks as numbers, with carries. A variable in both sets disappears.",
    lambda f, g: _collected(f, g, np.add),
)
product_spectrum.mistake(
    "Right up to a factor: there is no mean to take, for each pair of sets adds its whole product.",
    lambda f, g: _collected(f, g, np.bitwise_xor) / len(f),
)
product_spectrum.mistake(
    "You multiply values at points with each other, but give a table. The spectrum of the product is asked for.",
    lambda f, g: fourier.inverse(f) * fourier.inverse(g),
)


def _profiles(rng: np.random.Generator) -> list[tuple]:
    return [
        (fourier.transform(rng.normal(size=2**n) + 1).round(3) + 0.0, k) for n, k in ((3, 1), (4, 2), (5, 2), (5, 3))
    ]


@problem(
    "1.C",
    "How much is of low degree?",
    points=3,
    minutes=10,
    difficulty=1,
    text=r"""
Which share of the **variance** of a real $f$ belongs to parities of at most $k$ variables? Compute it from the
Fourier coefficients of $f$.
""",
    hints=(
        "Parseval gives the mean of f². The variance leaves something out: which coefficient belongs to no variable?",
        "Two sums of squares: one over the sets with 1 to k members, one over all sets that are not empty.",
    ),
    why="A learner that uses these parities only cannot explain more of f than this share.",
    instances=_profiles,
)
def low_degree_share(coefficients: np.ndarray, k: int) -> float:
    """The share of the variance on sets of at most k members."""
    sizes = np.bitwise_count(np.arange(len(coefficients)))  # |S|
    # your turn
    squares = coefficients**2
    return np.sum(squares[(sizes >= 1) & (sizes <= k)]) / np.sum(squares[1:])


def _parts(c: np.ndarray, k: int, power: int = 2) -> tuple[float, float, float, float]:
    """Of the empty set; of 1 to k members; of k members; of all."""
    sizes, sized = np.bitwise_count(np.arange(len(c))), np.abs(c) ** power
    return sized[0], np.sum(sized[(sizes > 0) & (sizes <= k)]), np.sum(sized[sizes == k]), np.sum(sized)


low_degree_share.mistake(
    "You count the empty set as well, above and below. A constant does not vary.",
    lambda c, k: (_parts(c, k)[0] + _parts(c, k)[1]) / _parts(c, k)[3],
)
low_degree_share.mistake(
    "You divide by the mean of f². The variance is what is left of it without the mean.",
    lambda c, k: _parts(c, k)[1] / _parts(c, k)[3],
)
low_degree_share.mistake(
    "You do not divide. A share has the whole variance below the line.", lambda c, k: _parts(c, k)[1]
)
low_degree_share.mistake(
    "You use absolute values. Variance is made of squares.",
    lambda c, k: _parts(c, k, 1)[1] / (_parts(c, k, 1)[3] - _parts(c, k, 1)[0]),
)
low_degree_share.mistake(
    "That is the share of the sets with more than k members.",
    lambda c, k: 1 - _parts(c, k)[1] / (_parts(c, k)[3] - _parts(c, k)[0]),
)
