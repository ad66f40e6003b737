"""The exercises of chapter 1. Each solution is followed by the mistakes that its check recognises."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from flatcube import cube, fourier
from flatcube.classroom.exercises import Cost, Measure, exercise, scored


def _tables(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    """Random real tables for n in `sizes`, with two decimals so that a sentence can show them."""
    return [rng.normal(size=2**n).round(2) + 0.0 for n in sizes]


@exercise(
    "1.1",
    "My parity",
    minutes=5,
    difficulty=1,
    hints=(
        "At entry k only those bits of k matter that the mask has, too. What do you have to know about them?",
        "Count the ones that k and the mask have in common. Which counts make χ_S equal to −1?",
    ),
    why="This is one pure tone of the cube. With n bits there are 2ⁿ of them, and they are all that is needed.",
    instances=lambda rng: [(int(rng.choice(masks)), n) for n, masks in ((2, (1, 2)), (3, (3, 5, 6)), (4, (7, 11, 13)))],
)
def my_parity(mask: int, n: int) -> np.ndarray:
    """The table of χ_S, 2^n entries ±1; bit i − 1 of `mask` says if i is in S."""
    return np.array([(-1) ** (k & mask).bit_count() for k in range(2**n)])


my_parity.mistake(
    "Your entries are 0 and 1. We write a bit as a sign: 0 is +1 and 1 is −1.",
    lambda mask, n: (1 - my_parity.solution(mask, n)) // 2,
)
my_parity.mistake(
    "Every entry has the wrong sign: true, an odd number of ones, is −1.",
    lambda mask, n: -my_parity.solution(mask, n),
)
my_parity.mistake(
    "Your entry is −1 as soon as any bit of the subset is one: that is OR. Parity asks for an odd number.",
    lambda mask, n: np.where(np.arange(2**n) & mask, -1, 1),
)
my_parity.mistake(
    "Your entry is −1 only where all bits of the subset are one: that is AND. Parity asks for an odd number.",
    lambda mask, n: np.where(np.arange(2**n) & mask == mask, -1, 1),
)
my_parity.mistake(
    "Your parity runs over all bits of k; keep only those in the subset.",
    lambda mask, n: my_parity.solution(2**n - 1, n),
)
my_parity.mistake(
    "You read the bits of k from the other end: the first bit of an input is the lowest binary digit.",
    lambda mask, n: my_parity.solution(int(f"{mask:0{n}b}"[::-1], 2), n),
)


def _tables_and_masks(rng: np.random.Generator) -> list[tuple]:
    """Subsets of one element, of several and of all: in the first and last case some mistakes do no harm.

    One table is Boolean, so that an answer which counts where f and χ_S agree can be told from 0. The last coefficient
    is negative, so that one which forgets the sign is never right.
    """
    tables = _tables(rng, 2, 3, 3, 4)
    tables[1] = np.where(tables[1] < 0, -1.0, 1.0)
    masks = [(1, 2), (3, 5, 6), (3, 5, 6), (7, 11, 13, 14, 15)]
    pairs = [(table, int(rng.choice(some))) for table, some in zip(tables, masks, strict=True)]
    last, mask = pairs[-1]
    return [*pairs[:-1], (last if my_coefficient.solution(last, mask) < 0 else -last + 0.0, mask)]


@exercise(
    "1.2",
    "My coefficient",
    minutes=6,
    difficulty=1,
    hints=(
        "You have the parity of a set from the first exercise; a coefficient compares the table with it.",
        "Multiply the table with your parity, entry by entry. What turns the sum of these products into a coefficient?",
    ),
    why="A coefficient is a correlation, so examples are enough to estimate it: the low-degree algorithm does no more.",
    instances=_tables_and_masks,
)
def my_coefficient(table: np.ndarray, mask: int) -> float:
    """The mean of f(x) χ_S(x) over all points; `mask` stands for S."""
    signs = [(-1) ** (k & mask).bit_count() for k in range(len(table))]
    return np.mean(table * signs)


def _mean_with(table: np.ndarray, true: np.ndarray) -> float:
    return np.mean(np.where(true, -table, table))


my_coefficient.mistake(
    "You add up f(x) χ_S(x) over the points but do not divide by their number.",
    lambda table, mask: len(table) * my_coefficient.solution(table, mask),
)
my_coefficient.mistake(
    "What you return is the mean of f, without any sign. A mask is read bit by bit: bit i − 1 says if i is in S.",
    lambda table, mask: np.mean(table),
)
my_coefficient.mistake(
    "You count how often f and χ_S agree. A coefficient is the mean of f(x) χ_S(x), for any numbers f(x).",
    lambda table, mask: np.mean(table == my_parity.solution(mask, len(table).bit_length() - 1)),
)
my_coefficient.mistake(
    "Your sign is −1 as soon as any bit of the subset is one: that is OR. Parity asks for an odd number.",
    lambda table, mask: _mean_with(table, np.arange(len(table)) & mask > 0),
)
my_coefficient.mistake(
    "Your sign is −1 only where all bits of the subset are one: that is AND. Parity asks for an odd number.",
    lambda table, mask: _mean_with(table, np.arange(len(table)) & mask == mask),
)
my_coefficient.mistake(
    "Your parity runs over all bits of the point; keep only those in the subset.",
    lambda table, mask: my_coefficient.solution(table, len(table) - 1),
)


@exercise(
    "1.3",
    "My fast transform",
    minutes=12,
    difficulty=2,
    hints=(
        "For one bit the two sums are a + b and a − b. Every pass does just that, to all pairs at once.",
        "Both results go to the places of the pair, and both need the old values. What is divided, by what, and when?",
    ),
    why="You have written the fast transform: n passes over the table instead of 2ⁿ, and no matrix in memory.",
    instances=lambda rng: [(table,) for table in _tables(rng, 1, 2, 3, 6)],
    cost=Cost(lambda rng: (rng.normal(size=2**7),), lambda table: 7 * 2**7, "n·2ⁿ"),
)
def my_transform(table: np.ndarray) -> np.ndarray:
    """All coefficients in n passes over the table; no matrix is built."""
    values = np.array(table, dtype=float)
    for bit in range(len(values).bit_length() - 1):
        pairs = values.reshape(-1, 2, 2**bit)  # they differ in this bit
        a, b = pairs[:, 0], pairs[:, 1]
        # your turn
        values = np.stack([a + b, a - b], axis=1).ravel()
    return values / len(values)


def _passes(table: np.ndarray, second=np.subtract, *, passes: int | None = None, axis: int = 1) -> np.ndarray:
    """Butterflies without the division; `second(a, b)` is the new second half, joined to the first along `axis`."""
    values = np.array(table, dtype=float)
    for bit in range(len(values).bit_length() - 1)[:passes]:
        a, b = np.moveaxis(values.reshape(-1, 2, 2**bit), 1, 0)
        values = np.stack([a + b, second(a, b)], axis=axis).ravel()
    return values


my_transform.mistake(
    "Every value is 2ⁿ times too large: the sums are right, the division by the length is missing.",
    lambda table: _passes(table),
)
my_transform.mistake(
    "The difference has the wrong sign: χ is +1 on the first half (bit 0) and −1 on the second.",
    lambda table: _passes(table, lambda a, b: b - a) / len(table),
)
my_transform.mistake(
    "The second half is computed after the first was overwritten: `a` and `b` are views of `pairs`, not copies.",
    lambda table: _passes(table, lambda a, b: a) / len(table),
)
my_transform.mistake(
    "You divide by √(2ⁿ). That makes the matrix orthogonal, but a coefficient is a mean.",
    lambda table: _passes(table) / np.sqrt(len(table)),
)
my_transform.mistake(
    "Sums and differences are right but land in the wrong places: the two values of a pair go back to where they were.",
    lambda table: _passes(table, axis=0) / len(table),
)
my_transform.mistake(
    "Only the first pass is made: is `return` inside the loop?",
    lambda table: _passes(table, passes=1) / len(table),
)


@exercise(
    "1.4",
    "My degree profile",
    minutes=8,
    difficulty=1,
    hints=(
        "Coefficients are numbered by masks. How large is the set that belongs to a mask?",
        "Each coefficient counts at one of n + 1 places. At which, and with what, if all add up to the mean of f²?",
    ),
    why="The profile is all that average sensitivity, noise and random restrictions ask of a function.",
    instances=lambda rng: [(c,) for c in _tables(rng, 2, 3, 4)],
)
def my_profile(coefficients: np.ndarray) -> np.ndarray:
    """The weight of the sets with 0, 1, …, n members: n + 1 numbers."""
    sizes = [mask.bit_count() for mask in range(len(coefficients))]
    return np.bincount(sizes, weights=np.square(coefficients))


def _by_degree(coefficients: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The sums over each degree of a function of the coefficients."""
    return np.bincount(cube.weights(len(coefficients).bit_length() - 1), weights=function(coefficients))


my_profile.mistake(
    "You add the coefficients as they are. Weight is the sum of their squares.",
    lambda coefficients: _by_degree(coefficients, np.asarray),
)
my_profile.mistake(
    "You add absolute values. By Parseval it is the squares that add up to the mean of f².",
    lambda coefficients: _by_degree(coefficients, np.abs),
)
my_profile.mistake(
    "You count the sets of each size. Their weight is the sum of their squared coefficients.",
    lambda coefficients: _by_degree(coefficients, np.ones_like),
)
my_profile.mistake(
    "Degree 0 is missing: the empty set is a set, and its weight is the squared mean of f.",
    lambda coefficients: _by_degree(coefficients, np.square)[1:],
)
my_profile.mistake(
    "You take the mean over the sets of each size. The weight of a degree is their sum.",
    lambda coefficients: _by_degree(coefficients, np.square) / _by_degree(coefficients, np.ones_like),
)
my_profile.mistake(
    "You multiply each weight by its degree. Average sensitivity adds that up; the profile is the weight itself.",
    lambda coefficients: _by_degree(coefficients, np.square) * np.arange(len(coefficients).bit_length()),
)


def _restrictions(rng: np.random.Generator) -> list[tuple]:
    """Variables before the last: whoever is off by one takes the next, and gets a sentence instead of an exception."""
    chosen = (1, 2, int(rng.integers(2, 4)))
    return [(table, i, s) for table, i in zip(_tables(rng, 2, 3, 4), chosen, strict=True) for s in (1, -1)]


@exercise(
    "1.5",
    "My restriction",
    minutes=10,
    difficulty=2,
    hints=(
        "Once x_i is a number, the terms for S and for S ∪ {i} have the same variables left: they merge.",
        "The mask of S ∪ {i} is that of S plus one binary digit. Which digit, and with which sign does its term join?",
    ),
    why="Fixing a variable merges pairs of terms, so the degree never rises; PARITY stays the PARITY of what is left.",
    instances=_restrictions,
)
def my_restriction(coefficients: np.ndarray, i: int, sign: int) -> np.ndarray:
    """The 2^(n−1) coefficients left when x_i, 1 ≤ i ≤ n, is `sign`."""
    halves = coefficients.reshape(-1, 2, 2 ** (i - 1))
    return (halves[:, 0] + sign * halves[:, 1]).ravel()


def _halves(coefficients: np.ndarray, i: int) -> np.ndarray:
    """The coefficients without variable i and those with it, (2, 2^(n−1))."""
    return np.moveaxis(coefficients.reshape(-1, 2, 2 ** (i - 1)), 1, 0).reshape(2, -1)


my_restriction.mistake(
    "Half the right size: fixing x_i puts a number in its place, it does not average over x_i.",
    lambda coefficients, i, sign: my_restriction.solution(coefficients, i, sign) / 2,
)
my_restriction.mistake(
    "You add the two halves whatever the sign is; the terms that contain x_i carry it.",
    lambda coefficients, i, sign: _halves(coefficients, i).sum(axis=0),
)
my_restriction.mistake(
    "The terms with x_i come in with the wrong sign: a term a·x_i becomes a where x_i = +1, and −a where x_i = −1.",
    lambda coefficients, i, sign: my_restriction.solution(coefficients, i, -sign),
)
my_restriction.mistake(
    "You drop the terms that contain x_i. That averages over x_i; when it is fixed they stay, with its sign.",
    lambda coefficients, i, sign: _halves(coefficients, i)[0],
)
my_restriction.mistake(
    "Off by one: you fix x_(i+1). Variables count from 1, so x_i is binary digit i − 1 of a mask, worth 2^(i−1).",
    lambda coefficients, i, sign: my_restriction.solution(coefficients, i + 1, sign),
)
my_restriction.mistake(
    "You select half of the entries. That restricts a table of values; these are coefficients.",
    lambda coefficients, i, sign: _halves(coefficients, i)[int(sign < 0)],
)


def _examples(rng: np.random.Generator) -> list[tuple]:
    """Points that repeat, with real values, for degrees below n."""
    drawn = [(rng.choice([-1, 1], size=(m, n)), degree) for m, n, degree in ((5, 2, 1), (9, 3, 1), (12, 4, 2))]
    return [(points, rng.normal(size=len(points)).round(2) + 0.0, degree) for points, degree in drawn]


@exercise(
    "1.6",
    "My learner",
    minutes=12,
    difficulty=2,
    hints=(
        "An estimate replaces the mean over all inputs by the mean over the examples. The rest is the definition.",
        "For one set, the parities of all examples are a product over some columns of `points`. Which columns?",
    ),
    why="From 64 examples, degree 1 leaves a tenth of MAJORITY on 7 bits wrong. PARITY needs degree n.",
    instances=_examples,
)
def my_learner(points: np.ndarray, values: np.ndarray, degree: int) -> np.ndarray:
    """Points (m, n) and their values (m,) → 2^n coefficients, 0 above `degree`."""
    coefficients = np.zeros(2 ** points.shape[1])
    # your turn
    for mask in range(len(coefficients)):
        members = [i for i in range(points.shape[1]) if mask >> i & 1]
        if len(members) <= degree:
            coefficients[mask] = np.mean(values * points[:, members].prod(axis=1))
    return coefficients


def _learnt(points: np.ndarray, values: np.ndarray, keep: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The estimates of all coefficients whose degree is to be kept."""
    n = points.shape[1]
    return np.where(keep(cube.weights(n)), my_learner.solution(points, values, n), 0)


my_learner.mistake(
    "You divide by the number of inputs, 2ⁿ. A mean over the examples is divided by their number.",
    lambda points, values, degree: my_learner.solution(points, values, degree) * len(values) / 2 ** points.shape[1],
)
my_learner.mistake(
    "You add up over the examples but do not divide by their number.",
    lambda points, values, degree: my_learner.solution(points, values, degree) * len(values),
)
my_learner.mistake(
    "You keep the sets of all sizes. Those with more than `degree` members are to be zero.",
    lambda points, values, degree: _learnt(points, values, lambda sizes: sizes >= 0),
)
my_learner.mistake(
    "You keep only the sets with exactly `degree` members. Smaller ones count, too.",
    lambda points, values, degree: _learnt(points, values, lambda sizes: sizes == degree),
)
my_learner.mistake(
    "Sets with exactly `degree` members are missing: up to `degree` means that it is included.",
    lambda points, values, degree: _learnt(points, values, lambda sizes: sizes < degree),
)
my_learner.mistake(
    "The empty set is missing: its coefficient is estimated by the mean of the values.",
    lambda points, values, degree: _learnt(points, values, lambda sizes: (sizes > 0) & (sizes <= degree)),
)


@dataclass(frozen=True)
class Examples:
    """Random inputs, signs (m, n), their values (m,), and the degree of the function that gave them."""

    points: np.ndarray
    values: np.ndarray
    degree: int
    _truth: np.ndarray = field(repr=False)


def _sparse_examples(rng: np.random.Generator) -> list[tuple]:
    """Four hundred noisy examples of each of ten functions on ten bits, with four components on two bits each."""
    trials = []
    for _ in range(10):
        truth = fourier.from_even(cube.random_components(10, degree=2, components=4, rng=rng), 10)
        drawn = rng.integers(2**10, size=400)
        noisy = truth.table()[drawn] + rng.normal(size=len(drawn))
        trials.append((Examples(cube.points(10)[drawn], noisy, 2, truth.coefficients),))
    return trials


def _mean_only(examples: Examples) -> np.ndarray:
    return np.where(np.arange(2 ** examples.points.shape[1]) == 0, examples.values.mean(), 0)


@scored(
    "1.7",
    "A better learner",
    minutes=40,
    difficulty=3,
    instances=_sparse_examples,
    baseline=_mean_only,
    measures={"squared error": Measure(lambda out, examples: float(np.sum((out - examples._truth) ** 2)))},
    why="This is the low-degree algorithm, the one to beat. Each of its estimates also carries the other coefficients "
    "as noise. Least squares over all sets of up to two bits removes that; keeping only the few large ones, and "
    "fitting those again, removes most of the rest.",
)
def my_better_learner(examples: object) -> np.ndarray:
    """Has `examples.points`, `.values` and `.degree`; gives 2^n coefficients."""
    return fourier.learn_low_degree(examples.points, examples.values, examples.degree).coefficients
