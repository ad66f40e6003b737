"""The second set of chapter 2: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube import cube, fourier, sensitivity
from flatcube.classroom.problems import problem


def _pairs(rng: np.random.Generator) -> list[tuple]:
    """Boolean tables, and two different variables."""
    rows = []
    for n in (5, 6, 7, 7):
        i, j = rng.choice(n, 2, replace=False) + 1
        rows.append((cube.random_boolean(n, rng=rng).astype(float), int(i), int(j)))
    return rows


@problem(
    "2.A",
    "Two bits at once",
    points=3,
    minutes=12,
    difficulty=1,
    text=r"""
A bus with a broken connector flips two bits at the same time. For a Boolean $f$ of $n$ bits and two different
variables $i$ and $j$, compute the share of all inputs at which $f$ changes if **both** bits are flipped. Variables
count from 1, as in the chapter; `table` has the $2^n$ values of $f$, and bit $i$ of an input is digit $i-1$ of its
index.
""",
    hints=(
        "Where is the neighbour of point k across two directions? Its index differs from k in two binary digits.",
        "Two flips that both matter may cancel each other, so the two influences do not tell. Compare the values.",
    ),
    why="Influences of single bits do not give it: where both flips matter they may cancel, as in PARITY.",
    instances=_pairs,
)
def pair_influence(table: np.ndarray, i: int, j: int) -> float:
    """P[f(x) ≠ f(x with bits i and j flipped)] over uniform x."""
    k = np.arange(len(table))
    # your turn
    return np.mean(table != table[k ^ (1 << i - 1 | 1 << j - 1)])


def _flipped(table: np.ndarray, digits: int) -> np.ndarray:
    return table[np.arange(len(table)) ^ digits]


def _digit(i: int, j: int) -> int:
    return 2 ** (i - 1) + 2 ** (j - 1)


pair_influence.mistake(
    "You add the two influences. Where both flips matter, the second may undo the first.",
    lambda table, i, j: sum(sensitivity.influences(table)[[i - 1, j - 1]]),
)
pair_influence.mistake(
    "You combine the two influences as if the flips mattered independently of each other. They need not.",
    lambda table, i, j: (
        (a := sensitivity.influences(table)[i - 1]) * (1 - (b := sensitivity.influences(table)[j - 1])) + b * (1 - a)
    ),
)
pair_influence.mistake(
    "That is how often at least one of the two flips matters by itself. Here both bits flip at once.",
    lambda table, i, j: np.mean(
        (table != _flipped(table, 2 ** (i - 1))) | (table != _flipped(table, 2 ** (j - 1)))
    ),
)
pair_influence.mistake(
    "That is how often f stays the same.", lambda table, i, j: np.mean(table == _flipped(table, _digit(i, j)))
)
pair_influence.mistake(
    "Four times too large: the square of a jump by 2 is 4.",
    lambda table, i, j: np.mean((table - _flipped(table, _digit(i, j))) ** 2),
)
pair_influence.mistake(
    "Adding to an index carries into the next digit where a digit is one already. Flip digits with `^`.",
    lambda table, i, j: np.mean(table != table[(np.arange(len(table)) + _digit(i, j)) % len(table)]),
)


def _spectra(rng: np.random.Generator) -> list[tuple]:
    return [
        (fourier.transform(rng.normal(size=2**n)).round(3) + 0.0, int(rng.integers(1, n + 1))) for n in (3, 4, 5)
    ]


@problem(
    "2.B",
    "One variable's share",
    points=3,
    minutes=10,
    difficulty=2,
    text=r"""
The sum of all influences is $\sum_S |S|\,\hat f(S)^2$. Which part of that sum belongs to variable $i$ alone? Compute
$\mathrm{Inf}_i(f)$ from the Fourier coefficients of a real $f$, without going back to its table. Index $S$ of
`coefficients` is a subset's mask: variable $i$ is digit $i-1$.
""",
    hints=(
        "Flipping bit i changes the sign of some parities and leaves the others alone. Which?",
        "The difference of f at two neighbours is a function again. What is its spectrum, and what does Parseval say "
        "of its mean square?",
    ),
    why="Added up over all i, each set is counted once for each of its members: that is the factor |S|.",
    instances=_spectra,
)
def spectral_influence(coefficients: np.ndarray, i: int) -> float:
    """Inf_i of a real f with these Fourier coefficients."""
    masks = np.arange(len(coefficients))
    # your turn
    return np.sum(coefficients[masks >> i - 1 & 1 == 1] ** 2)


def _having(coefficients: np.ndarray, i: int) -> np.ndarray:
    return np.arange(len(coefficients)) >> (i - 1) & 1 == 1


spectral_influence.mistake(
    "That is the one coefficient of {i}. Larger sets that contain i change their sign as well.",
    lambda c, i: c[2 ** (i - 1)] ** 2,
)
spectral_influence.mistake(
    "You sum over the sets without i. Those parities do not notice the flip.",
    lambda c, i: np.sum(c[~_having(c, i)] ** 2),
)
spectral_influence.mistake(
    "You weigh each set with its size. That counts all of its members; here only i is asked for.",
    lambda c, i: np.sum((np.bitwise_count(np.arange(len(c))) * c**2)[_having(c, i)]),
)
spectral_influence.mistake(
    "You divide each square among the members of its set. Each of them has the whole of it.",
    lambda c, i: np.sum(c[_having(c, i)] ** 2 / np.bitwise_count(np.arange(len(c))[_having(c, i)])),
)
spectral_influence.mistake(
    "You add absolute values. The influence is a mean square, and Parseval speaks of squares.",
    lambda c, i: np.sum(np.abs(c[_having(c, i)])),
)
spectral_influence.mistake(
    "Four times too large: a parity that flips jumps by 2, and the quarter in the definition makes up for it.",
    lambda c, i: 4 * np.sum(c[_having(c, i)] ** 2),
)
spectral_influence.mistake(
    "You read the digits of the mask from the other end: variable 1 is the lowest digit.",
    lambda c, i: np.sum(c[_having(c, len(c).bit_length() - i)] ** 2),
)


def _biased(rng: np.random.Generator) -> list[tuple]:
    """Boolean tables that tell ones from zeros, and chances of a one."""
    rows = []
    for n in (3, 4, 5):
        p = float(round(rng.choice([0.1, 0.2, 0.3, 0.7, 0.85]), 2))
        while True:
            table = cube.random_boolean(n, rng=rng).astype(float)
            if abs((_likely(table, p) - _likely(table, 1 - p)) @ _lit(table)) > 0.01:
                break
        rows.append((table, p))
    return rows


@problem(
    "2.C",
    "Inputs that are mostly zeros",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
Average sensitivity takes every input to be equally likely. In a text most symbols are rare. So let the bits of the
input be independent, each equal to **one** with probability $p$, and compute the mean of $s(f,x)$ over such inputs,
for a Boolean $f$ given by its table. (A bit that is one is a sign $-1$; its digit in the index is 1.)
""",
    hints=(
        "Two things are needed at every point: how many lit edges it has, and how likely it is.",
        "A point with w ones among its n bits has w factors of one kind and n − w of the other.",
    ),
    why="At p = ½ it is the average sensitivity. Where p is small, what happens near the zero input decides.",
    instances=_biased,
)
def biased_sensitivity(table: np.ndarray, p: float) -> float:
    """E s(f, x) for independent bits that are one with probability p."""
    k, n = np.arange(len(table)), len(table).bit_length() - 1
    # your turn
    at_points = sum(table != table[k ^ 2**i] for i in range(n))
    ones = np.bitwise_count(k).astype(float)
    return np.sum(p**ones * (1 - p) ** (n - ones) * at_points)


def _ones(table: np.ndarray) -> np.ndarray:
    return np.bitwise_count(np.arange(len(table))).astype(float)


def _likely(table: np.ndarray, p: float) -> np.ndarray:
    return p ** _ones(table) * (1 - p) ** (len(table).bit_length() - 1 - _ones(table))


def _lit(table: np.ndarray) -> np.ndarray:
    return sensitivity.at_points(table)


biased_sensitivity.mistake(
    "That is the ordinary average sensitivity, in which every input counts alike.",
    lambda table, p: np.mean(_lit(table)),
)
biased_sensitivity.mistake(
    "Your bits are zero with probability p. They should be one.",
    lambda table, p: np.sum(_likely(table, 1 - p) * _lit(table)),
)
biased_sensitivity.mistake(
    "You weigh the points and then take a mean over them. The weights add up to 1 already.",
    lambda table, p: np.mean(_likely(table, p) * _lit(table)),
)
biased_sensitivity.mistake(
    "You count only how likely the ones are. The zeros have their probability, too.",
    lambda table, p: np.sum(p ** _ones(table) * _lit(table)),
)
biased_sensitivity.mistake(
    "Four times too large: count lit edges, not the squares of jumps by 2.",
    lambda table, p: 4 * np.sum(_likely(table, p) * _lit(table)),
)
biased_sensitivity.mistake(
    "That is the chance that one random flip matters. s(f, x) counts all n flips.",
    lambda table, p: np.sum(_likely(table, p) * _lit(table)) / (len(table).bit_length() - 1),
)


def _plans(rng: np.random.Generator) -> list[tuple]:
    return [
        (int(rng.integers(5, 40)), round(float(rng.uniform(0.11, 0.9)), 2), float(rng.choice([0.01, 0.05, 0.1])))
        for _ in range(4)
    ]


@problem(
    "2.D",
    "How many questions?",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
You estimate $\mathrm{as}(f)$ of a Boolean black box on $n$ bits: draw $m$ random inputs, flip one random bit in each,
and multiply the share of values that change by $n$. Hoeffding's inequality says that a mean of $m$ independent
variables in $[0,1]$ is off by $t$ or more with probability at most $2e^{-2mt^2}$. Give the least whole $m$ for which
this promises an estimate of $\mathrm{as}(f)$ that is off by less than `error`, but for a probability of at most
`delta`.
""",
    hints=(
        "The share of changes may be off by how much, if n times the share may be off by `error`?",
        "Put that t into the inequality, ask for at most delta on its right side, and solve for m.",
    ),
    why="It grows with the square of n: the estimate multiplies every deviation by n.",
    instances=_plans,
)
def enough_flips(n: int, error: float, delta: float) -> int:
    """The least m for which Hoeffding's inequality promises it."""
    from math import ceil, log

    return ceil(n**2 * log(2 / delta) / (2 * error**2))


def _flips(n: float, error: float, delta: float) -> int:
    return math.ceil(n**2 * math.log(2 / delta) / (2 * error**2))


enough_flips.mistake(
    "That holds for the share of changes. The estimate is n times as large, and so is its deviation.",
    lambda n, error, delta: _flips(1, error, delta),
)
enough_flips.mistake(
    "You multiply by n once. The deviation stands squared in the exponent.",
    lambda n, error, delta: _flips(math.sqrt(n), error, delta),
)
enough_flips.mistake(
    "The factor 2 in front of the exponential is missing: an estimate may be too large or too small.",
    lambda n, error, delta: _flips(n, error, 2 * delta),
)
enough_flips.mistake(
    "You have lost the 2 in the exponent.", lambda n, error, delta: _flips(math.sqrt(2) * n, error, delta)
)
enough_flips.mistake(
    "One question too few: m has to be a whole number, and rounding down breaks the promise.",
    lambda n, error, delta: _flips(n, error, delta) - 1,
)
