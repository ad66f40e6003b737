"""The exercises of chapter 2. Each solution is followed by the mistakes that its check recognises."""

from math import comb
from statistics import NormalDist

import numpy as np

from flatcube import cube, fourier, sensitivity
from flatcube.classroom.exercises import Measure, exercise, scored


@exercise(
    "2.1",
    "Influence by hand",
    minutes=6,
    difficulty=1,
    entry="bit",
    hints=(
        "Fix the other two bits in all four ways. In how many of them does flipping the third change the value?",
        "x₁ decides unless x₂ and x₃ are both false. x₂ decides only if x₁ is true and x₃ does not decide already.",
    ),
    why="Two variables that can stand in for each other have little influence each; the one they both need has much.",
)
def by_hand() -> list[float]:
    """the influences of x1, x2 and x3, such as [1/2, 0, 1]"""
    return [3 / 4, 1 / 4, 1 / 4]


by_hand.mistake(
    "You count lit edges. An influence is their share among the four edges that point in that direction.",
    lambda: [3, 1, 1],
)
by_hand.mistake(
    "Half the right size: each direction has four edges, not eight. A lit edge is seen from both of its ends.",
    lambda: [3 / 8, 1 / 8, 1 / 8],
)
by_hand.mistake(
    "Twice the right size: you count each lit edge from both of its ends, but each direction has only four edges.",
    lambda: [3 / 2, 1 / 2, 1 / 2],
)
by_hand.mistake(
    "These are the shares of edges on which the value stays the same.",
    lambda: [1 / 4, 3 / 4, 3 / 4],
)
by_hand.mistake(
    "Right for x₁. For x₂ it is not enough that x₁ is true: if x₃ is true as well, x₂ no longer matters.",
    lambda: [3 / 4, 1 / 2, 1 / 2],
)


def _tables_and_points(rng: np.random.Generator) -> list[tuple]:
    """Real tables, at points whose first bit is one: there + and ^ lead to different neighbours."""
    tables = [rng.normal(size=2**n).round(2) + 0.0 for n in (2, 3, 3, 4)]
    return [(table, int(2 * rng.integers(len(table) // 2) + 1)) for table in tables]


@exercise(
    "2.2",
    "One point",
    minutes=8,
    difficulty=1,
    hints=(
        "The neighbours of point k are the n points whose index differs from k in one binary digit.",
        "Python's `^` flips the binary digits of its left side where its right side has a one.",
    ),
    why="One point costs n + 1 queries, however long the table would be: that is why sensitivity can be sampled.",
    instances=_tables_and_points,
)
def point_sensitivity(table: np.ndarray, k: int) -> float:
    """s(f, x) at the point with index k, for a real f with this table."""
    n = len(table).bit_length() - 1
    # your turn
    return sum((table[k] - table[k ^ 2**i]) ** 2 for i in range(n)) / 4


def _jumps(table: np.ndarray, k: int) -> np.ndarray:
    """f(x) − f(y) for the n neighbours y of x."""
    n = len(table).bit_length() - 1
    return table[k] - table[k ^ 2 ** np.arange(n)]


point_sensitivity.mistake(
    "Four times too large: a sign that flips jumps by 2, and its square is 4. The quarter makes that one.",
    lambda table, k: np.sum(_jumps(table, k) ** 2),
)
point_sensitivity.mistake(
    "You count the neighbours that differ. That is right for Boolean f; a real f may change a little or a lot.",
    lambda table, k: np.count_nonzero(_jumps(table, k)),
)
point_sensitivity.mistake(
    "You add half the jumps, not their squares. For signs that is the same; only squares lead to the spectrum.",
    lambda table, k: np.sum(np.abs(_jumps(table, k))) / 2,
)
point_sensitivity.mistake(
    "You divide by n: that is the normalised version. s(f, x) is a sum over the bits.",
    lambda table, k: np.mean(_jumps(table, k) ** 2) / 4,
)
point_sensitivity.mistake(
    "Adding 2**i to k carries into the next digit when digit i is already one. Flip the digit with ^ instead.",
    lambda table, k: (
        sum((table[k] - table[(k + 2**i) % len(table)]) ** 2 for i in range(len(table).bit_length() - 1)) / 4
    ),
)
point_sensitivity.mistake(
    "`k ^ i` flips the digits that are ones in the number i. Digit i alone is flipped by ^ with 2**i.",
    lambda table, k: sum((table[k] - table[k ^ i]) ** 2 for i in range(len(table).bit_length() - 1)) / 4,
)


def _real_tables(rng: np.random.Generator) -> list[tuple]:
    """Real tables: every influence is different."""
    return [(rng.normal(size=2**n).round(2) + 0.0,) for n in (2, 3, 4)]


@exercise(
    "2.3",
    "My influences",
    minutes=10,
    difficulty=2,
    entry="bit",
    hints=(
        "`point_sensitivity` adds over the bits at one point. Now keep the bits apart, and average over the points.",
        "Fancy indexing compares the whole table with the table seen across direction i: which index does point k get?",
    ),
    why="Their sum is the average sensitivity, so you own the first of two routes to it.",
    instances=_real_tables,
)
def influences(table: np.ndarray) -> np.ndarray:
    """Inf_1, …, Inf_n of a real f with this table."""
    points, n = np.arange(len(table)), len(table).bit_length() - 1
    # your turn
    return np.array([np.mean((table - table[points ^ 2**i]) ** 2) / 4 for i in range(n)])


def _across(table: np.ndarray) -> np.ndarray:
    """f(x) − f(x⁽ⁱ⁾), a row for every variable and a column for every point."""
    return np.transpose([_jumps(table, k) for k in range(len(table))])


influences.mistake(
    "Four times too large: the quarter is missing.",
    lambda table: 4 * sensitivity.influences(table),
)
influences.mistake(
    "Half the right size: you visit each edge once, but divide by the number of points. Every point has such an edge.",
    lambda table: sensitivity.influences(table) / 2,
)
influences.mistake(
    "The right numbers in the wrong order: x₁ belongs to the lowest binary digit of the index.",
    lambda table: sensitivity.influences(table)[::-1],
)
influences.mistake(
    "You add over the points; an influence is a mean over them.",
    lambda table: len(table) * sensitivity.influences(table),
)
influences.mistake(
    "That is how often f changes at all. A real f may change a little: use the squares of the differences.",
    lambda table: np.mean(_across(table) != 0, axis=1),
)
influences.mistake(
    "You count the points where f changes at all. A real f may change a little: use the mean of the squared jumps.",
    lambda table: np.sum(_across(table) != 0, axis=1),
)
influences.mistake(
    "You take a quarter of how often f changes. The quarter belongs to the squares: a real f may change a little.",
    lambda table: np.mean(_across(table) != 0, axis=1) / 4,
)
influences.mistake(
    "You average half the jumps, not a quarter of their squares. For signs that is the same; only squares lead to the "
    "spectrum.",
    lambda table: np.mean(np.abs(_across(table)), axis=1) / 2,
)


def _spectra(rng: np.random.Generator) -> list[tuple]:
    return [(fourier.transform(rng.normal(size=2**n)).round(3) + 0.0,) for n in (2, 3, 4)]


@exercise(
    "2.4",
    "The second route",
    minutes=8,
    difficulty=2,
    hints=(
        "In how many of the n influences is a given coefficient counted?",
        "`sizes` answers that for all sets at once, and numpy multiplies two arrays entry by entry.",
    ),
    why="Two routes that share no step, edges and spectrum, and one number. Try both on the same table.",
    instances=_spectra,
)
def spectral_average(coefficients: np.ndarray) -> float:
    """as(f), from the Fourier coefficients of f; index S is a subset's mask."""
    sizes = np.bitwise_count(np.arange(len(coefficients)))  # |S|
    # your turn
    return np.sum(sizes * coefficients**2)


def _weighted(coefficients: np.ndarray, weights: np.ndarray, power: int = 2) -> float:
    return float(np.sum(weights * np.abs(coefficients) ** power))


spectral_average.mistake(
    "That is the sum of all squares, the mean of f². Each square must count as often as its set has members.",
    lambda c: _weighted(c, np.ones(len(c))),
)
spectral_average.mistake(
    "You use the size of the coefficients. Parseval speaks of their squares.",
    lambda c: _weighted(c, cube.weights(len(c).bit_length() - 1), 1),
)
spectral_average.mistake(
    "You square the size of the set as well. Only the coefficient is squared; its set counts once for each member.",
    lambda c: _weighted(c, cube.weights(len(c).bit_length() - 1) ** 2),
)
spectral_average.mistake(
    "You weigh with the index of the subset instead of the number of its members.",
    lambda c: _weighted(c, np.arange(len(c))),
)
spectral_average.mistake(
    "You count every set except the empty one once: that is the variance, the Poincaré inequality's other side.",
    lambda c: _weighted(c, np.arange(len(c)) > 0),
)
spectral_average.mistake(
    "You divide by n. The normalised version has its uses, but as(f) is a sum over the bits.",
    lambda c: _weighted(c, cube.weights(len(c).bit_length() - 1)) / (len(c).bit_length() - 1),
)
spectral_average.mistake(
    "You add the coefficients themselves, where some cancel others. Parseval speaks of their squares.",
    lambda c: float(np.sum(cube.weights(len(c).bit_length() - 1) * c)),
)
spectral_average.mistake(
    "You divide by the sum of the squares. That changes nothing for a Boolean f, where it is 1; for a real f it does.",
    lambda c: _weighted(c, cube.weights(len(c).bit_length() - 1)) / _weighted(c, np.ones(len(c))),
)


def _noisy(rng: np.random.Generator) -> list[tuple]:
    drawn = [fourier.transform(cube.random_boolean(n, rng=rng)) for n in (3, 4, 5)]
    return [(coefficients, round(float(rng.uniform(0.2, 0.9)), 2)) for coefficients in drawn]


@exercise(
    "2.5",
    "My noise",
    minutes=8,
    difficulty=2,
    hints=(
        "Noise of correlation r multiplies a parity of k bits by rᵏ on average. What is the mean of f(x) f(y)?",
        "f(x) f(y) is +1 where the two agree and −1 where they differ. How often is it −1, if you know its mean?",
    ),
    why="Its slope at r = 1 is minus half of what the exercise before computes: a little noise is single flips.",
    instances=_noisy,
)
def change_probability(coefficients: np.ndarray, correlation: float) -> float:
    """P[f(x) ≠ f(y)] for a Boolean f, from its Fourier coefficients."""
    sizes = np.bitwise_count(np.arange(len(coefficients)))  # |S|
    # your turn
    return (1 - np.sum(correlation**sizes * coefficients**2)) / 2


def _stability(coefficients: np.ndarray, correlation: float, shift: int = 0) -> float:
    return _weighted(coefficients, correlation ** (cube.weights(len(coefficients).bit_length() - 1) + shift))


change_probability.mistake(
    "That is the noise stability, the mean of f(x) f(y). You want the probability that the two differ.",
    lambda coefficients, correlation: _stability(coefficients, correlation),
)
change_probability.mistake(
    "Twice too large: where the values differ, f(x) f(y) drops from 1 to −1, by two.",
    lambda coefficients, correlation: 1 - _stability(coefficients, correlation),
)
change_probability.mistake(
    "That is the probability that the two values agree.",
    lambda coefficients, correlation: (1 + _stability(coefficients, correlation)) / 2,
)
change_probability.mistake(
    "Your sizes are one too high: index 0 belongs to the empty set, which noise does not touch.",
    lambda coefficients, correlation: (1 - _stability(coefficients, correlation, 1)) / 2,
)
change_probability.mistake(
    "You damp both factors of each square: these are the weights of the blurred function. Only y is noisy, x is not.",
    lambda coefficients, correlation: (1 - _stability(coefficients, correlation**2)) / 2,
)
change_probability.mistake(
    "You read the argument as the probability of a flip. It is the correlation itself.",
    lambda coefficients, correlation: (1 - _stability(coefficients, 1 - 2 * correlation)) / 2,
)
change_probability.mistake(
    "That is the tangent at r = 1, the bound by average sensitivity. The coefficients give the exact value.",
    lambda coefficients, correlation: (
        (1 - correlation) / 2 * _weighted(coefficients, cube.weights(len(coefficients).bit_length() - 1))
    ),
)
change_probability.mistake(
    "That is the bound ½ (1 − rᵃ) by average sensitivity. The coefficients give the exact value.",
    lambda coefficients, correlation: (
        (1 - correlation ** _weighted(coefficients, cube.weights(len(coefficients).bit_length() - 1))) / 2
    ),
)


def _counts(rng: np.random.Generator) -> list[tuple]:
    """Few changes among few flips; once none at all."""
    drawn = [(int(rng.integers(5, 60)), int(rng.integers(20, 60))) for _ in range(3)]
    return [(changed, samples, n, 0.05) for changed, (n, samples) in zip((0, 1, 4), drawn, strict=True)]


@exercise(
    "2.6",
    "An honest limit",
    minutes=15,
    difficulty=3,
    hints=(
        "If each flip changes f with probability p, how likely are at most that many changes? It falls as p grows.",
        "Search for the last p at which that is still δ: keep an interval around it, and halve it fifty times.",
    ),
    why="Even after no change it is about 3n/m, if δ = 5 %: silence makes a function quiet, never constant.",
    instances=_counts,
)
def upper_limit(changed: int, samples: int, n: int, delta: float) -> float:
    """The largest as(f) under which so few changes have probability ≥ delta."""
    from math import comb

    # your turn
    def few(p: float) -> float:  # P[at most `changed` of the flips change f], if each does with probability p
        return sum(comb(samples, j) * p**j * (1 - p) ** (samples - j) for j in range(changed + 1))

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if few(middle) >= delta else (low, middle)
    return n * low


def _limit(changed: int, samples: int, delta: float) -> float:
    return upper_limit.solution(changed, samples, 1, delta)


upper_limit.mistake(
    "That is the largest chance that one flip matters. There are n bits: scale it up.",
    lambda changed, samples, n, delta: _limit(changed, samples, delta),
)
upper_limit.mistake(
    "That is the estimate, in the middle. How large may the truth be before so few changes are strange?",
    lambda changed, samples, n, delta: n * changed / samples,
)
upper_limit.mistake(
    "You use 1 − δ: so few changes must have probability δ, not its opposite.",
    lambda changed, samples, n, delta: n * _limit(changed, samples, 1 - delta),
)
upper_limit.mistake(
    "You leave out the count that you saw: \"k or less\" includes k.",
    lambda changed, samples, n, delta: n * _limit(changed - 1, samples, delta) if changed else 0.0,
)


def _exactly(changed: int, samples: int, n: int, delta: float) -> float:
    """The largest as(f) under which exactly that many changes have probability ≥ delta."""
    low, high = changed / samples, 1.0  # above its peak the probability falls
    for _ in range(50):
        p = (low + high) / 2
        likely = comb(samples, changed) * p**changed * (1 - p) ** (samples - changed) >= delta
        low, high = (p, high) if likely else (low, p)
    return n * low


upper_limit.mistake(
    "You use the probability of exactly k changes. Fewer than k would have been as strange: take k or less.", _exactly
)


def _textbook(width: float, changed: int, samples: int, n: int) -> float:
    """The estimate and so many standard errors."""
    share = changed / samples
    return n * (share + width * np.sqrt(share * (1 - share) / samples))


# readers take the width from memory or compute it, for one side or for two
for _words, _width in {
    "1.96": lambda delta: 1.96,
    "1.645": lambda delta: 1.645,
    "the normal quantile of 1 − δ/2 as the number of": lambda delta: NormalDist().inv_cdf(1 - delta / 2),
    "the normal quantile of 1 − δ as the number of": lambda delta: NormalDist().inv_cdf(1 - delta),
}.items():
    upper_limit.mistake(
        f"That is the textbook formula, with {_words} standard errors. "
        "It is certain of everything when nothing was seen. Add binomial probabilities.",
        lambda changed, samples, n, delta, width=_width: _textbook(width(delta), changed, samples, n),
    )
upper_limit.mistake(
    "You split δ between two sides. Here only one side is asked for.",
    lambda changed, samples, n, delta: n * _limit(changed, samples, delta / 2),
)


class Oracle:
    """A Boolean black box on n bits that counts what it is asked, and answers no more than ``budget`` questions."""

    def __init__(self, table: np.ndarray, budget: int) -> None:
        self.n, self.budget, self.asked = len(table).bit_length() - 1, budget, 0
        self._table = table

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The values at points (batch, n) of signs."""
        self.asked += len(points)
        if self.asked > self.budget:
            raise ValueError(f"the oracle answers {self.budget} questions, and you asked {self.asked}")
        return self._table[cube.index(np.asarray(points))]

    def error(self, estimate: float) -> float:
        """How far an estimate of the average sensitivity is from the truth."""
        return abs(estimate - sensitivity.average(self._table))


def _oracles(rng: np.random.Generator) -> list[tuple]:
    """Votes with random weights, on 12 bits."""
    votes = [cube.points(12) @ rng.normal(size=12) for _ in range(20)]
    return [(Oracle(np.where(vote < 0, -1, 1), 1000),) for vote in votes]


def _neighbourhoods(oracle: Oracle) -> float:
    """All neighbours of a few random points: a quarter of the questions."""
    x = 1 - 2 * np.random.default_rng(0).integers(0, 2, (oracle.budget // (4 * oracle.n + 4), oracle.n))
    before = oracle(x)
    return float(sum(np.mean(before != oracle(x * (1 - 2 * one))) for one in np.eye(oracle.n, dtype=int)))


@scored(
    "2.8",
    "A thriftier meter",
    minutes=30,
    difficulty=3,
    instances=_oracles,
    baseline=_neighbourhoods,
    measures={
        "mean error (flips)": Measure(lambda out, oracle: oracle.error(out)),
        "questions": Measure(lambda out, oracle: oracle.asked),
    },
    why="It uses every answer once. A bit moves a vote one way only, so Infᵢ = |f̂({i})|: one answer serves all 12.",
)
def meter(oracle: object) -> float:
    """An estimate of as(f), by oracle(x) with x (batch, oracle.n)."""
    rng, flips = np.random.default_rng(0), oracle.budget // 2
    x = 1 - 2 * rng.integers(0, 2, size=(flips, oracle.n))
    y = x.copy()
    y[np.arange(flips), rng.integers(0, oracle.n, size=flips)] *= -1
    return float(oracle.n * np.mean(oracle(x) != oracle(y)))
