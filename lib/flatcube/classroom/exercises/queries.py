"""The exercises of chapter 3. Each solution is followed by the mistakes that its check recognises."""

import numpy as np

from flatcube import cube, fourier
from flatcube.classroom.exercises import exercise


def _numbers(rng: np.random.Generator, size: int) -> np.ndarray:
    """Random numbers with two decimals, so that a sentence can show them."""
    return rng.normal(size=size).round(2) + 0.0


@exercise(
    "3.1",
    "Signs in front",
    minutes=6,
    difficulty=1,
    hints=(
        "Point y of the subcube has flipped one block for every one among its bits. When is the sign in front −1?",
        "`y.bit_count()` counts the ones of y; the sign depends on whether that is odd. Then take the mean.",
    ),
    why="This is a Fourier coefficient of f on the subcube, the one at the set of all directions.",
    instances=lambda rng: [(_numbers(rng, 2**r),) for r in (2, 3, 3, 4)],
)
def alternating_mean(values: np.ndarray) -> float:
    """The mean of (−1)^|y| g(y); entry y is g at the point with the bits of y."""
    signs = [(-1) ** y.bit_count() for y in range(len(values))]
    return np.mean(values * signs)


alternating_mean.mistake(
    "You add up the values with their signs but do not divide by their number.",
    lambda values: len(values) * alternating_mean.solution(values),
)
alternating_mean.mistake(
    "Your signs alternate with y. They should follow the number of flipped blocks: 3 = 11 in binary flips two of them.",
    lambda values: np.mean(values[::2] - values[1::2]) / 2,
)
alternating_mean.mistake(
    "You take the plain mean: without signs nothing cancels.",
    lambda values: np.mean(values),
)
alternating_mean.mistake(
    "The sign is the wrong way round: at y = 0 nothing is flipped, so there it is +1.",
    lambda values: -alternating_mean.solution(values),
)
alternating_mean.mistake(
    "Your sign is −1 as soon as any block is flipped. Two flips cancel.",
    lambda values: (2 * values[0] - values.sum()) / len(values),
)


@exercise(
    "3.2",
    "One variable in each block",
    minutes=8,
    difficulty=2,
    hints=(
        "Each of the d + 1 variables gets one of d + 2 labels. How many of all the ways to label them are good?",
        "Good ways use each of the labels 1, …, d + 1 once: count the orders. `np.arange(1, d + 2)` may help.",
    ),
    why="By Stirling's formula this falls like e^−d: testing degree d takes about e^d trials, whatever n is.",
    instances=lambda rng: [(int(d),) for d in rng.permutation([0, 1, 2, 3, 5])],
)
def one_each(d: int) -> float:
    """The chance that d + 1 variables fall one into each of the d + 1 blocks."""
    return np.prod(np.arange(1, d + 2) / (d + 2))


one_each.mistake(
    "You have d + 1 labels. There are d + 2: one for each of the d + 1 blocks, and label 0 for no block.",
    lambda d: np.prod(np.arange(1, d + 2) / (d + 1)),
)
one_each.mistake(
    "You count a single way of labelling. Any order will do: which variable goes to which block does not matter.",
    lambda d: (d + 2.0) ** -(d + 1),
)
one_each.mistake(
    "You ask that no variable gets label 0. Two of them may still share a block and leave another empty.",
    lambda d: ((d + 1) / (d + 2)) ** (d + 1),
)


def _chances(rng: np.random.Generator) -> list[tuple]:
    """Large and small chances: for small ones some mistakes do little harm."""
    return [(round(float(rng.uniform(low, high)), 4), error) for low, high, error in (
        (0.41, 0.59, 0.01), (0.31, 0.39, 0.001), (0.08, 0.1, 0.05), (0.01, 0.02, 0.2))]


@exercise(
    "3.3",
    "Enough trials",
    minutes=6,
    difficulty=1,
    hints=(
        "One trial misses with probability 1 − chance, and the trials are independent. When do all of them miss?",
        "Solve (1 − chance)^m ≤ error for m: take logarithms, mind their signs, and round up.",
    ),
    why="The number of trials grows only with the logarithm of 1/error: certainty is cheap, small chances are not.",
    instances=_chances,
)
def enough(chance: float, error: float) -> int:
    """The fewest trials that all miss with probability at most `error`."""
    return int(np.ceil(np.log(error) / np.log(1 - chance)))


enough.mistake(
    "One too few: rounded down, the trials all miss a little more often than allowed.",
    lambda chance, error: int(np.log(error) / np.log(1 - chance)),
)
enough.mistake(
    "Trials come whole: round up to the next integer.",
    lambda chance, error: np.log(error) / np.log(1 - chance),
)
enough.mistake(
    "Enough, but not the fewest: 1 − chance is smaller than e^−chance.",
    lambda chance, error: int(np.ceil(np.log(1 / error) / chance)),
)
enough.mistake(
    "That is how long the first find takes on average. Often it takes longer; `error` has to come in.",
    lambda chance, error: int(np.ceil(1 / chance)),
)
enough.mistake(
    "You add up the chances of the trials. That bounds a find from above; finds can come twice.",
    lambda chance, error: int(np.ceil((1 - error) / chance)),
)
enough.mistake(
    "You let the trials miss with probability 1 − error. It should be at most `error`.",
    lambda chance, error: int(np.ceil(np.log(1 - error) / np.log(1 - chance))),
)


def _spectra(rng: np.random.Generator) -> list[tuple]:
    """Coefficients whose largest ones have both signs."""
    drawn = [[-3, 2, -2.5, 1.5, *rng.uniform(-1, 1, size).round(2)] for size in (2, 3, 4)]
    return [(rng.permutation(coefficients) + 0.0, w) for w, coefficients in enumerate(drawn, 1)]


@exercise(
    "3.4",
    "What is left in the tail",
    minutes=6,
    difficulty=1,
    hints=(
        "A large coefficient may be negative, and two small ones may cancel. What would Parseval add up?",
        "Sort by modulus, `np.argsort(-np.abs(coefficients))`, and leave out the first w.",
    ),
    why="The tail is the squared distance to the nearest function with w coefficients. SP's text omits the squares.",
    instances=_spectra,
)
def tail(coefficients: np.ndarray, w: int) -> float:
    """The energy of all but the w largest coefficients."""
    order = np.argsort(-np.abs(coefficients))
    return np.sum(coefficients[order[w:]] ** 2)


def _rest(coefficients: np.ndarray, w: int) -> np.ndarray:
    return coefficients[np.argsort(-np.abs(coefficients))[w:]]


tail.mistake(
    "You add up coefficients as they are, as SP's text says. Then +0.1 and −0.1 count for nothing: square them.",
    lambda coefficients, w: np.sum(_rest(coefficients, w)),
)
tail.mistake(
    "You add up moduli. Energy is a sum of squares.",
    lambda coefficients, w: np.sum(np.abs(_rest(coefficients, w))),
)
tail.mistake(
    "You sort by value, so large negative coefficients stay in the tail. Sort by modulus.",
    lambda coefficients, w: np.sum(np.sort(coefficients)[: len(coefficients) - w] ** 2),
)
tail.mistake(
    "You give the energy of the w largest. The tail is the rest.",
    lambda coefficients, w: np.sum(coefficients**2) - np.sum(_rest(coefficients, w) ** 2),
)
tail.mistake(
    "You keep only the w smallest coefficients. All but the w largest belong to the tail.",
    lambda coefficients, w: np.sum(np.sort(np.abs(coefficients))[:w] ** 2),
)


def _buckets(rng: np.random.Generator) -> list[tuple]:
    """Masks with ones and zeros on both sides of variable k."""
    return [(_numbers(rng, 2**n), mask, k) for n, mask, k in ((4, 0b0110, 2), (4, 0b1001, 2), (5, 0b10101, 3))]


@exercise(
    "3.5",
    "The weight of a bucket",
    minutes=10,
    difficulty=2,
    hints=(
        "A set is in the bucket if its first k bits are those of `mask`, whatever the others are.",
        "`masks % 2**k` keeps the first k variables of every set. Compare, select, and add up squares.",
    ),
    why="The search of Goldreich and Levin opens a bucket only if this number, estimated by queries, is large.",
    instances=_buckets,
)
def bucket(coefficients: np.ndarray, mask: int, k: int) -> float:
    """The weight of all sets that agree with `mask` on x_1, …, x_k."""
    masks = np.arange(len(coefficients))
    # your turn
    return np.sum(coefficients[masks % 2**k == mask % 2**k] ** 2)


def _selected(coefficients: np.ndarray, chosen) -> float:
    """The weight of the sets that a predicate on masks selects."""
    return np.sum(coefficients[chosen(np.arange(len(coefficients)))] ** 2)


bucket.mistake(
    "You have the right sets but add their coefficients as they are: weights are squares.",
    lambda coefficients, mask, k: np.sum(coefficients[np.arange(len(coefficients)) % 2**k == mask % 2**k]),
)
bucket.mistake(
    "Your sets agree with `mask` on the last variables. The first k are the low bits of a mask.",
    lambda coefficients, mask, k: _selected(coefficients, lambda masks: masks >> k == mask >> k),
)
bucket.mistake(
    "You take every set that contains `mask`. In the bucket, variables up to k that are not in `mask` must be absent.",
    lambda coefficients, mask, k: _selected(coefficients, lambda masks: masks & mask == mask),
)
bucket.mistake(
    "You ask that the first k variables of `mask` be present, but let others among the first k join them.",
    lambda coefficients, mask, k: _selected(coefficients, lambda masks: masks & mask % 2**k == mask % 2**k),
)
bucket.mistake(
    "You take a single set. The bucket holds every continuation of its first k bits.",
    lambda coefficients, mask, k: coefficients[mask] ** 2,
)
bucket.mistake(
    "You are off by one: `2**k` has k zero bits, so the remainder has k bits.",
    lambda coefficients, mask, k: _selected(coefficients, lambda masks: masks % 2 ** (k - 1) == mask % 2 ** (k - 1)),
)


def _polynomials(rng: np.random.Generator) -> list[tuple]:
    """A parity, an AND, and random polynomials over GF(2) of degree 2 and 3, as tables."""
    random = [_table(5, rng.choice(sets, 3, replace=False)) for sets in ([3, 6, 10, 17, 20], [7, 11, 19, 26, 28])]
    return [(cube.parity(5),), (cube.formula("x1 & x3", 4),), *[(table,) for table in random]]


def _table(n: int, monomials: np.ndarray) -> np.ndarray:
    points = np.arange(2**n)
    return cube.to_signs(sum((points & m == m).astype(int) for m in monomials) % 2)


@exercise(
    "3.6",
    "The other degree",
    minutes=15,
    difficulty=3,
    hints=(
        "A monomial is a product of bits, so the value at a point is the sum modulo 2 of the monomials inside it. Undo "
        "that sum bit by bit.",
        "In every pass the second half of each pair takes on the XOR of both: `^=`. After the loop, find the monomial "
        "with the most bits among the entries that are left.",
    ),
    why="PARITY has degree 1 here and degree n as a polynomial in signs: two notions, and two tests.",
    instances=_polynomials,
)
def algebraic_degree(table: np.ndarray) -> int:
    """The degree of a table of signs as a polynomial in bits, modulo 2."""
    bits = np.array(table) < 0
    for i in range(len(bits).bit_length() - 1):
        pairs = bits.reshape(-1, 2, 2**i)  # they differ in this bit
        # your turn
        pairs[:, 1] ^= pairs[:, 0]
    return max((k.bit_count() for k in range(len(bits)) if bits[k]), default=0)


def _monomials(table: np.ndarray, half: int = 1) -> list[int]:
    """The masks that are left after all passes; `half` is the half of each pair that is changed."""
    bits = np.asarray(table) < 0
    for i in range(len(bits).bit_length() - 1):
        pairs = bits.reshape(-1, 2, 2**i)
        pairs[:, half] ^= pairs[:, 1 - half]
    return np.flatnonzero(bits).tolist()


algebraic_degree.mistake(
    "That is the degree over the real numbers, which the Fourier transform finds as well. Modulo 2, 1 + 1 vanishes.",
    lambda table: fourier.spectrum(table).degree,
)
algebraic_degree.mistake(
    "You change the first half of each pair. A monomial counts at the points that contain it, so change the second.",
    lambda table: max(k.bit_count() for k in _monomials(table, half=0)),
)
algebraic_degree.mistake(
    "You give the last variable that occurs. The degree counts the bits of the largest monomial.",
    lambda table: max(_monomials(table)).bit_length(),
)
algebraic_degree.mistake(
    "You count the monomials. The degree is the number of bits in the largest of them.",
    lambda table: len(_monomials(table)),
)
