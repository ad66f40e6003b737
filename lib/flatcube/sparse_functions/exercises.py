"""The exercises of chapter 14: a learner of hidden sets, and the way to measure one. Mistakes follow each solution.

What needs scipy imports it late: the others run in a page, which has not got it.
"""

import itertools
import math

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored
from flatcube.sampling import random_signs
from flatcube.sparse_functions import targets


def _sizes(rng: np.random.Generator) -> list[tuple]:
    """Fixed: a case in which N is a power of two, where a label too many is seen; the others have s ≥ 2."""
    return [(64, 1), (50, 3), (400, 3), *[(int(rng.integers(20, 200)), int(rng.integers(2, 5))) for _ in range(3)]]


@exercise(
    "14.1",
    "Labels needed",
    minutes=5,
    difficulty=1,
    hints=(
        "How many different lists of m labels are there? Each set that is to be recognised needs one of its own.",
        "Count subsets, not sequences, and mind the case in which their number is a power of two exactly.",
    ),
    why="This many labels could suffice if they were chosen cleverly; with random inputs it takes more.",
    instances=_sizes,
)
def labels_needed(T: int, s: int) -> int:
    """The least m for which m labels ±1 could tell all sets of s among T places apart."""
    import math

    # your turn
    return (math.comb(T, s) - 1).bit_length()


labels_needed.mistake(
    "That counts lists of s places in which a place may come twice. A set has no order, and no place twice.",
    lambda T, s: (T**s - 1).bit_length() if s > 1 else 1 + (T - 1).bit_length(),
)
labels_needed.mistake(
    "Natural logarithm: a label tells apart two cases, so powers of 2 count.",
    lambda T, s: math.ceil(math.log(math.comb(T, s))),
)
labels_needed.mistake(
    "One label too many where the number of sets is a power of two.", lambda T, s: math.comb(T, s).bit_length()
)
labels_needed.mistake("Labels come whole: round up.", lambda T, s: math.log2(math.comb(T, s)))
labels_needed.mistake("One label too few: rounded down.", lambda T, s: math.floor(math.log2(math.comb(T, s)) - 1e-9))


def _examples(rng: np.random.Generator) -> list[tuple]:
    """Fixed: an example without a true label, one with a place that is 1 in all. Then random ones."""
    fixed = np.array([[1, -1, 1, -1], [-1, -1, 1, 1], [-1, 1, -1, -1], [-1, -1, -1, 1]])
    found = [(fixed, np.array([1, -1, 1, -1]), 2), (fixed[:1], np.array([1]), 2)]
    for _ in range(2):
        members, signs = targets.planted(7, 3, rng=rng), random_signs((12, 7), rng=rng)
        signs[0, [place - 1 for place in members]] = -1  # at least one that is true
        found.append((signs, targets.conjunction(signs, members), 3))
    return found


def _all_fitting(signs, labels, s, fits):
    sets = itertools.combinations(range(signs.shape[1]), s)
    found = [[place + 1 for place in chosen] for chosen in sets if fits((signs[:, chosen] < 0), labels < 0)]
    return np.array(found, int).reshape(-1, s)


@exercise(
    "14.2",
    "My learner",
    minutes=12,
    difficulty=2,
    hints=(
        "For one set, compare its AND on all examples with the labels. Then do that for every set.",
        "`itertools.combinations` gives all sets in order. Bits that are 1 are the signs below zero, and places are "
        "counted from 1.",
    ),
    why="Nobody can do better than to choose among these: the examples say nothing that would prefer one of them.",
    instances=_examples,
)
def my_learner(signs: np.ndarray, labels: np.ndarray, s: int) -> np.ndarray:
    """All sets of s places from 1 on, (count, s) in order, whose AND gives the labels (m,) at signs (m, T)."""
    import itertools

    # your turn
    found = []
    for chosen in itertools.combinations(range(signs.shape[1]), s):
        true = (signs[:, chosen] < 0).all(axis=1)
        if ((labels < 0) == true).all():
            found.append([place + 1 for place in chosen])
    return np.array(found, int).reshape(-1, s)


my_learner.mistake(
    "Your places begin at 0. The book counts from 1.",
    lambda signs, labels, s: my_learner.solution(signs, labels, s) - 1,
)
my_learner.mistake(
    "You only ask that the AND is true where the label is. Where the label is false it must be false, too.",
    lambda signs, labels, s: _all_fitting(signs, labels, s, lambda ones, true: ones[true].all()),
)
my_learner.mistake(
    "You only ask that the AND is false where the label is. Where the label is true it must be true, too.",
    lambda signs, labels, s: _all_fitting(signs, labels, s, lambda ones, true: not ones[~true].all(1).any()),
)
my_learner.mistake(
    "That is OR: one bit that is 1 is enough for it. AND wants all of them.",
    lambda signs, labels, s: _all_fitting(signs, labels, s, lambda ones, true: (ones.any(1) == true).all()),
)
my_learner.mistake(
    "That is the parity of the bits, not their AND.",
    lambda signs, labels, s: _all_fitting(signs, labels, s, lambda ones, true: (ones.sum(1) % 2 == true).all()),
)
my_learner.mistake(
    "You look for bits that are 0. In this book the sign of a bit that is 1 is −1.",
    lambda signs, labels, s: _all_fitting(-signs, labels, s, lambda ones, true: (ones.all(1) == true).all()),
)


def _counts(rng: np.random.Generator) -> list[tuple]:
    trials = int(rng.integers(20, 60))
    return [(0, 20), (30, 30), (13, 20), (int(rng.integers(5, trials - 5)), trials)]


@exercise(
    "14.3",
    "My interval",
    minutes=10,
    difficulty=2,
    hints=(
        "For which p would so few successes, or fewer, come about once in forty times? That p is the upper end.",
        "`stats.beta.ppf` inverts the binomial tails. At 0 successes the lower end is 0, at all of them the upper one "
        "is 1: there its arguments would not be positive.",
    ),
    why="It covers the truth in at least 95 % of all experiments, also where no trial or every trial succeeded.",
    instances=_counts,
)
def my_interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of Clopper and Pearson for the chance of success."""
    from scipy import stats

    # your turn
    failures = trials - successes
    low = stats.beta.ppf(0.025, successes, failures + 1) if successes else 0.0
    high = stats.beta.ppf(0.975, successes + 1, failures) if failures else 1.0
    return float(low), float(high)


def _normal(successes, trials, factor=1.96):
    p = successes / trials
    half = factor * math.sqrt(p * (1 - p) / trials)
    return p - half, p + half


def _beta(successes, trials, rare, more=1):
    from scipy import stats

    failures = trials - successes
    low = stats.beta.ppf(rare, successes, failures + more) if successes else 0.0
    high = stats.beta.ppf(1 - rare, successes + more, failures) if failures else 1.0
    return float(low), float(high)


my_interval.mistake(
    "The normal approximation has width zero where all or no trials succeeded. One can be sure of nothing after 20.",
    _normal,
)
my_interval.mistake("That is one standard error to each side.", lambda k, n: _normal(k, n, 1.0))
my_interval.mistake("You leave 5 % out on each side. That is an interval of 90 %.", lambda k, n: _beta(k, n, 0.05))
my_interval.mistake(
    "Both ends belong to the same beta distribution in your answer. The upper one counts one success more, the lower "
    "one failure more.",
    lambda k, n: _beta(k, n, 0.025, 0) if 0 < k < n else _beta(k, n, 0.025),
)
my_interval.mistake(
    "You give the share and half of a width. The two ends are asked for.",
    lambda k, n: (k / n, 1.96 * math.sqrt(k / n * (1 - k / n) / n)),
)


def _cells(rng: np.random.Generator) -> list[tuple]:
    m = np.array([60, 80, 100, 140])
    found = [(m, np.array([1, 7, 15, 20]), np.array([20, 20, 20, 20]), 90.0, 5.0)]
    for _ in range(3):
        trials = rng.integers(20, 40, 4)
        found.append((m, rng.binomial(trials, [0.1, 0.4, 0.6, 0.9]), trials, float(rng.uniform(70, 110)),
                      float(rng.uniform(2, 9))))  # fmt: skip
    return found


@exercise(
    "14.4",
    "My likelihood",
    minutes=10,
    difficulty=2,
    hints=(
        "The chance of a success is p(m), that of a failure 1 − p(m). Independent trials multiply.",
        "Take logarithms and add: each success contributes one number, each failure another. How many are there of "
        "each in a cell?",
    ),
    why="The curve that makes the data most likely uses every cell, those with 19 of 20 successes too.",
    instances=_cells,
)
def my_likelihood(m: np.ndarray, successes: np.ndarray, trials: np.ndarray, critical: float, steepness: float) -> float:
    """The logarithm of the chance of these outcomes, trial by trial, if p(m) = 1/(1 + (critical/m)^steepness)."""
    p = 1 / (1 + (critical / m) ** steepness)
    return float(np.sum(successes * np.log(p) + (trials - successes) * np.log(1 - p)))


def _likely(m, k, n, critical, steepness, *, of=lambda k, n, p: k * np.log(p) + (n - k) * np.log(1 - p), ratio=None):
    p = 1 / (1 + (ratio or (lambda c, m: c / m))(critical, m) ** steepness)
    return float(np.sum(of(k, n, p)))


my_likelihood.mistake(
    "Failures count, too: each has the chance 1 − p.",
    lambda *given: _likely(*given, of=lambda k, n, p: k * np.log(p)),
)
my_likelihood.mistake(
    "You count all trials as failures as well. There are trials − successes of them.",
    lambda *given: _likely(*given, of=lambda k, n, p: k * np.log(p) + n * np.log(1 - p)),
)
my_likelihood.mistake(
    "The fraction is upside down: your curve falls with m.", lambda *given: _likely(*given, ratio=lambda c, m: m / c)
)
my_likelihood.mistake("That is minus the logarithm, a loss.", lambda *given: -_likely(*given))
my_likelihood.mistake(
    "You count in how many orders the successes may come. Those binomial coefficients are to be left out: the outcomes "
    "are given trial by trial.",
    lambda m, k, n, *curve: _likely(m, k, n, *curve) + sum(map(math.log, map(math.comb, n.tolist(), k.tolist()))),
)
my_likelihood.mistake(
    "Logarithms to base 2. The natural ones are asked for.", lambda *given: _likely(*given) / math.log(2)
)
my_likelihood.mistake(
    "That is the mean over cells; chances of independent cells multiply, so their logarithms add.",
    lambda m, *given: _likely(m, *given) / len(m),
)


def _curves(rng: np.random.Generator) -> list[tuple]:
    return [(m, successes, trials) for m, successes, trials, _, _ in _cells(rng)]


@exercise(
    "14.5",
    "My critical size",
    minutes=12,
    difficulty=2,
    exact=1e-4,
    hints=(
        "Two numbers are unknown. Let a minimiser of scipy look for the place where your likelihood is largest.",
        "Minimisers look for the least value, so change the sign; and they like numbers of a similar size, so search "
        "over logarithms.",
    ),
    why="Unlike the first m with more than half successes, it moves smoothly with the data, also between the m tried.",
    instances=_curves,
)
def my_critical(m: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> float:
    """The critical size of the curve 1/(1 + (critical/m)^steepness) that makes the outcomes most likely."""
    from scipy import optimize, special

    # your turn
    def loss(given):
        z = given[1] * (np.log(m) - given[0])
        return -np.sum(successes * special.log_expit(z) + (trials - successes) * special.log_expit(-z))

    best = optimize.minimize(
        loss, [np.log(m).mean(), 3.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11}
    )
    return float(np.exp(best.x[0]))


def _first(m, successes, trials):
    above = m[2 * successes > trials]
    return float(above[0]) if len(above) else float(m[-1])


def _straight(m, successes, trials):
    slope, height = np.polyfit(np.log(m), successes / trials, 1)
    return float(np.exp((0.5 - height) / slope))


def _squares(m, successes, trials):
    from scipy import optimize, special

    def loss(given):
        return np.sum((successes / trials - special.expit(given[1] * (np.log(m) - given[0]))) ** 2)

    best = optimize.minimize(
        loss, [np.log(m).mean(), 3.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-13}
    )
    return float(np.exp(best.x[0]))


def _linear(m, successes, trials):
    from scipy import optimize, special

    def loss(given):
        z = given[1] * (m / m.mean() - given[0])
        return -np.sum(successes * special.log_expit(z) + (trials - successes) * special.log_expit(-z))

    best = optimize.minimize(loss, [1.0, 5.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    return float(best.x[0] * m.mean())


my_critical.mistake("That is the first m with more than half successes, one of those on the grid. A fit is asked for.",
                    _first)  # fmt: skip
my_critical.mistake(
    "You drew a straight line through the shares. A share near 0 or 1 is known better than one near ½.",
    _straight,
)
my_critical.mistake(
    "You look for the least sum of squares. It trusts all cells alike; the curve that makes the outcomes most likely "
    "minds that a share near ½ scatters more than one near 0 or 1.",
    _squares,
)
my_critical.mistake("Your curve is logistic in m; the one asked for is logistic in log m.", _linear)
my_critical.mistake(
    "That is the logarithm of the critical size.", lambda *given: math.log(my_critical.solution(*given))
)


# --- the open one -----------------------------------------------------------------------------------------------------

_T, _S, _M, _NOISE = 16, 3, 60, 0.1


def _noisy(rng: np.random.Generator) -> list[tuple]:
    """Examples of hidden ANDs; a tenth of the labels are wrong."""
    found = []
    for _ in range(60):
        members, signs = targets.planted(_T, _S, rng=rng), random_signs((_M, _T), rng=rng)
        labels = targets.conjunction(signs, members) * np.where(rng.random(_M) < _NOISE, -1, 1)
        found.append((Noisy(signs, labels, members),))
    return found


class Noisy:
    """Examples with wrong labels among them: ``signs`` (m, T), ``labels`` (m,), the size ``s`` of the hidden set."""

    def __init__(self, signs: np.ndarray, labels: np.ndarray, members: tuple[int, ...]) -> None:
        self.signs, self.labels, self.s, self._members = signs, labels, len(members), members


@scored(
    "14.6",
    "When labels lie",
    minutes=30,
    difficulty=3,
    instances=_noisy,
    baseline=lambda examples: np.arange(1, examples.s + 1),
    rival="a guess",
    measures={
        "places not found": Measure(lambda out, examples: 1 - len({*map(int, out)} & {*examples._members}) / _S,
                                    unit=" %", scale=100),
    },
    why="It looks at one place at a time: fast, and blind to what places do together.",
)  # fmt: skip
def my_robust(examples: object) -> np.ndarray:
    """Has `.signs`, `.labels` (some wrong) and `.s`; gives the s places, from 1 on, that you think are hidden."""
    together = examples.labels @ examples.signs
    return 1 + np.argsort(-together)[: examples.s]
