"""The exercises of chapter 12: an experiment of one's own, from the record of a training run to a verdict.

One trial of each is fixed, so that no two known mistakes look alike. What needs scipy imports it late: the others run
in a page, which has not got it.
"""

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from flatcube import fourier
from flatcube.classroom.exercises import Measure, exercise, scored


def _curves(rng: np.random.Generator) -> list[tuple]:
    """A network that forgets once, one that never learns, one that does, with random records."""
    forgets = np.arange(7) * 250, np.array([1.0, 0.5, 0.0005, 0.02, 0.0003, 0.0001, 0.0002]), 1e-3
    never = np.arange(4) * 100, np.array([1.0, 0.9, 1.1, 0.5]), 0.5  # at the goal is not below it
    steps = np.cumsum(rng.integers(1, 9, 8)) * 10
    return [forgets, never, (steps, np.exp(-np.arange(8) + rng.uniform(-2, 2, 8)), 0.1)]


@exercise(
    "12.1",
    "When did it learn?",
    minutes=6,
    difficulty=1,
    hints=(
        "Ask at every record whether the error is below the goal. Which is the first place where the answer is yes?",
        "`np.flatnonzero` gives the places where a condition holds, in order. It may give none at all.",
    ),
    why="Networks are recorded only now and then, so this step is late by up to the distance between two records.",
    instances=_curves,
)
def learned(steps: np.ndarray, errors: np.ndarray, goal: float) -> int:
    """The step of the first error below the goal, −1 if there is none; steps and errors are (records,)."""
    below = np.flatnonzero(errors < goal)
    return int(steps[below[0]]) if len(below) else -1


def _stays(steps, errors, goal):
    above = np.flatnonzero(~(errors < goal))
    last = above[-1] if len(above) else -1
    return int(steps[last + 1]) if last + 1 < len(steps) else -1


learned.mistake(
    "That is a place in the list, not the step that was recorded there.",
    lambda steps, errors, goal: int(np.argmax(errors < goal)) if (errors < goal).any() else -1,
)
learned.mistake(
    "A network that never gets there seems to have learnt at its first record. `argmax` of nothing but False is 0.",
    lambda steps, errors, goal: int(steps[np.argmax(errors < goal)]),
)
learned.mistake(
    "That is the step from which on the error stays below the goal. A network may get there and lose it again.",
    _stays,
)
learned.mistake(
    "That is the step of the smallest error.",
    lambda steps, errors, goal: int(steps[np.argmin(errors)]) if (errors < goal).any() else -1,
)
learned.mistake(
    "That is the step of the smallest error, whether or not it is below the goal.",
    lambda steps, errors, goal: int(steps[np.argmin(errors)]),
)
learned.mistake(
    "That is the last step below the goal. The first is asked for.",
    lambda steps, errors, goal: int(steps[np.flatnonzero(errors < goal)[-1]]) if (errors < goal).any() else -1,
)
learned.mistake(
    "One of these networks ends exactly at the goal. That is not below it.",
    lambda steps, errors, goal: int(steps[np.flatnonzero(errors <= goal)[0]]) if (errors <= goal).any() else -1,
)


def _shifts(rng: np.random.Generator) -> list[tuple]:
    sizes = [(3, 5), *rng.integers(3, 8, (2, 2))]  # directions, inputs
    return [(rng.normal(size=batch), rng.normal(size=(count, batch))) for count, batch in sizes]


@exercise(
    "12.2",
    "How sharp is it?",
    minutes=8,
    difficulty=2,
    hints=(
        "First one number for every direction: the mean square of what the shift changed. Then look how these vary.",
        "A standard error is a standard deviation, with `ddof=1`, over the square root of how many numbers there are. "
        "Which numbers were drawn independently?",
    ),
    why="Inputs share a direction, so they are no separate witnesses. More inputs hardly narrow this interval.",
    instances=_shifts,
)
def shaken(reference: np.ndarray, shifted: np.ndarray) -> tuple[float, float]:
    """L, the mean squared change, and its standard error over directions; (batch,) and (directions, batch)."""
    each = np.square(shifted - reference).mean(axis=1)
    return each.mean(), each.std(ddof=1) / np.sqrt(len(each))


def _squares(reference, shifted):
    return np.square(shifted - reference)


shaken.mistake(
    "Your standard error counts every input as a draw of its own. All inputs of a row share one direction.",
    lambda reference, shifted: (
        _squares(reference, shifted).mean(),
        _squares(reference, shifted).std(ddof=1) / np.sqrt(shifted.size),
    ),
)
shaken.mistake(
    "That is how the directions scatter. The mean of many of them is known better: by a square root.",
    lambda reference, shifted: (
        _squares(reference, shifted).mean(),
        _squares(reference, shifted).mean(axis=1).std(ddof=1),
    ),
)
shaken.mistake(
    "Your deviation divides by the number of directions. One of them is spent on the mean: `ddof=1`.",
    lambda reference, shifted: (
        _squares(reference, shifted).mean(),
        _squares(reference, shifted).mean(axis=1).std() / np.sqrt(len(shifted)),
    ),
)
shaken.mistake(
    "You took the standard error over inputs. What is random here is the direction.",
    lambda reference, shifted: (
        _squares(reference, shifted).mean(),
        _squares(reference, shifted).mean(axis=0).std(ddof=1) / np.sqrt(len(reference)),
    ),
)
shaken.mistake(
    "The changes have to be squared one by one; in their mean, opposite ones cancel.",
    lambda reference, shifted: (
        np.square((shifted - reference).mean(axis=1)).mean(),
        np.square((shifted - reference).mean(axis=1)).std(ddof=1) / np.sqrt(len(shifted)),
    ),
)


shaken.mistake(
    "You take the size of the changes. They have to be squared.",
    lambda reference, shifted: (
        np.abs(shifted - reference).mean(),
        np.abs(shifted - reference).mean(axis=1).std(ddof=1) / np.sqrt(len(shifted)),
    ),
)


def _lengths(rng: np.random.Generator) -> list[tuple]:
    """Lengths of inputs, some of them more than once, as from several seeds."""
    drawn = (np.sort(rng.integers(4, 20, 7)) for _ in range(2))
    return [(np.array([4.0, 4.0, 6.0, 12.0]),), *((np.append(some, 30).astype(float),) for some in drawn)]


@exercise(
    "12.3",
    "My weights",
    minutes=10,
    difficulty=1,
    hints=(
        "The slope is the covariance of length and sharpness over the variance of the length. Write both as sums over "
        "the points, and look what stands in front of each measured number.",
        "A high value beyond the mean length makes the line steeper, one before it makes it less steep, and one at the "
        "mean does neither. What scales these effects so that the line y = n gets the slope 1?",
    ),
    why="A slope is a weighted sum of measurements. The weights depend on the lengths alone: you know them before you "
    "have trained anything.",
    instances=_lengths,
)
def my_weights(lengths: np.ndarray) -> np.ndarray:
    """The numbers c (points,) for which the least-squares slope of any y against the lengths is Σ c_i y_i."""
    centred = lengths - lengths.mean()
    return centred / (centred @ centred)


my_weights.mistake(
    "These weights fit a line through the origin. Ours may begin anywhere: subtract the mean length first.",
    lambda lengths: lengths / (lengths @ lengths),
)
my_weights.mistake(
    "Your sum is the covariance times the number of points. To be a slope, it has to be divided by something.",
    lambda lengths: lengths - lengths.mean(),
)
my_weights.mistake(
    "You divide by the mean of the squares. The covariance is a mean, too: its 1/N is missing, or cancels.",
    lambda lengths: (lengths - lengths.mean()) / lengths.var(),
)
my_weights.mistake(
    "You divide by a root of squares, which belongs to a correlation. For the points y = n the slope would not be 1.",
    lambda lengths: (lengths - lengths.mean()) / np.linalg.norm(lengths - lengths.mean()),
)
my_weights.mistake(
    "Your squares are those of the lengths themselves. The spread about their mean counts.",
    lambda lengths: (lengths - lengths.mean()) / (lengths @ lengths),
)


def _distinct(lengths):
    away = lengths - np.unique(lengths).mean()
    return away / (away @ away)


my_weights.mistake(
    "You centre at the mean of the different lengths. Every point counts, so a length with more networks counts more.",
    _distinct,
)


def _points(rng: np.random.Generator) -> list[tuple]:
    """Points about a line whose scatter grows with the length: three or four networks at each of a few lengths."""
    found = []
    for n in (np.array([4, 6, 8]), np.sort(rng.choice(np.arange(4, 20), 4, replace=False))):
        x = np.repeat(n, 4).astype(float)[: -1 if len(n) == 3 else None]
        found.append((x, rng.normal(0.5, 0.2) * x + x / 4 * rng.normal(size=len(x))))
    fixed = np.array([4.0, 4.0, 6.0, 6.0, 6.0, 12.0, 12.0]), np.array([0.3, 0.5, 0.9, 1.0, 0.6, 2.5, 1.2])
    return [fixed, *found]


@exercise(
    "12.4",
    "My interval",
    minutes=18,
    difficulty=3,
    hints=(
        "All networks of one length share their weight, so the slope is a sum over lengths: the weights of a length "
        "added up, times its mean sharpness. What is the variance of such a mean, if this length has a scatter of its "
        "own?",
        "The variances of the parts add up. For the degrees of freedom, every length brings one less than it has "
        "networks; Welch's formula in the text weighs them by the squares of their variances.",
    ),
    why="The length with the largest weight and the largest scatter decides. Networks elsewhere hardly narrow it.",
    instances=_points,
)
def my_interval(lengths: np.ndarray, sharpness: np.ndarray) -> tuple[float, float]:
    """The slope b and h, such that b ± h is its 95 % interval if each length has a scatter of its own."""
    from scipy import stats

    # your turn
    centred = lengths - lengths.mean()
    c = centred / (centred @ centred)
    groups = [lengths == n for n in np.unique(lengths)]
    parts = np.array([c[at].sum() ** 2 * sharpness[at].var(ddof=1) / at.sum() for at in groups])
    free = parts.sum() ** 2 / np.sum([part**2 / (at.sum() - 1) for part, at in zip(parts, groups, strict=True)])
    return c @ sharpness, stats.t.ppf(0.975, free) * parts.sum() ** 0.5


def _parts(x: np.ndarray, y: np.ndarray, ddof: int = 1) -> tuple[float, np.ndarray, np.ndarray]:
    """The slope, each length's part of its variance, and each length's degrees of freedom."""
    centred = x - x.mean()
    c, places = centred / (centred @ centred), np.unique(x)
    counts = np.array([np.sum(x == n) for n in places])
    parts = np.array([c[x == n].sum() ** 2 * y[x == n].var(ddof=ddof) / np.sum(x == n) for n in places])
    return float(c @ y), parts, counts - 1


def _free(parts: np.ndarray, counts: np.ndarray) -> float:
    return parts.sum() ** 2 / np.sum(parts**2 / counts)


def _student(free: float, share: float = 0.975) -> float:
    """The quantile of Student's t below which such a share lies."""
    from scipy import stats

    return float(stats.t.ppf(share, free))


def _wrong_interval(factor: Callable, ddof: int = 1) -> Callable:
    """A mistake in what multiplies the standard error: a function of the parts, their freedoms and the points."""

    def wrong(x, y):
        b, parts, counts = _parts(x, y, ddof)
        return b, factor(parts, counts, len(x)) * parts.sum() ** 0.5

    return wrong


def _regression(x, y):
    from scipy import stats

    fit = stats.linregress(x, y)
    return fit.slope, _student(len(x) - 2) * fit.stderr


def _single(x, y):
    """Each point's own weight in place of the sum over its length."""
    b, parts, counts = _parts(x, y)
    parts = parts / (counts + 1) ** 2
    return b, _student(_free(parts, counts)) * parts.sum() ** 0.5


def _scattered(x, y):
    """The scatter of the networks in place of that of their mean."""
    b, parts, counts = _parts(x, y)
    parts = parts * (counts + 1)
    return b, _student(_free(parts, counts)) * parts.sum() ** 0.5


my_interval.mistake(
    "That is the interval of the usual regression: one scatter for all lengths. Let each have its own.",
    _regression,
)
my_interval.mistake(
    "You take a quantile of the normal distribution. The scatters were estimated from a handful: Student's t.",
    _wrong_interval(lambda parts, counts, points: NormalDist().inv_cdf(0.975)),
)
my_interval.mistake(
    "1.96 belongs to scatters that are known. These were estimated from a handful of networks: Student's t.",
    _wrong_interval(lambda parts, counts, points: 1.96),
)
my_interval.mistake(
    "Two standard errors do for many networks. With a handful it takes more.",
    _wrong_interval(lambda parts, counts, points: 2),
)
my_interval.mistake(
    "The standard error is right, the degrees of freedom are those of one common scatter. Welch counts fewer.",
    _wrong_interval(lambda parts, counts, points: _student(points - 2)),
)
my_interval.mistake(
    "Your quantile leaves 5 % on one side. The interval has two sides.",
    _wrong_interval(lambda parts, counts, points: _student(_free(parts, counts), 0.95)),
)
my_interval.mistake("That is the standard error. An interval of 95 % is wider.", _wrong_interval(lambda *_: 1))
my_interval.mistake(
    "That is the whole width of the interval. Half of it goes to each side.",
    _wrong_interval(lambda parts, counts, points: 2 * _student(_free(parts, counts))),
)
my_interval.mistake(
    "Your variances divide by the number of networks. One of them is spent on their mean: `ddof=1`.",
    _wrong_interval(lambda parts, counts, points: _student(_free(parts, counts)), ddof=0),
)
my_interval.mistake(
    "You weigh the mean of a length like a single point. All its networks pull: add their weights up.",
    _single,
)
my_interval.mistake(
    "You take the scatter of the networks. What enters is their mean, and that is known better.",
    _scattered,
)


def _pairs(rng: np.random.Generator) -> list[tuple]:
    def line() -> tuple:
        return round(rng.normal(), 3), round(rng.uniform(0.2, 0.9), 3), round(rng.uniform(3, 20), 1)

    return [((0.52, 0.11, 6.3), (0.08, 0.05, 4.4)), (line(), line()), (line(), line())]


@exercise(
    "12.5",
    "Is one steeper?",
    minutes=10,
    difficulty=2,
    hints=(
        "The two lines come from different networks, so the variances of their slopes add up. Variances, not errors.",
        "Welch's number is a square over a sum. Above stands the variance of the difference, squared. Below, each line "
        "gives the square of its own variance over its own degrees of freedom.",
    ),
    why="Overlapping intervals do not settle the question, the interval of the difference does.",
    instances=_pairs,
)
def my_gap(one: tuple, other: tuple) -> tuple[float, float]:
    """Slope one − slope other and h, for its 95 % interval; each is (slope, standard error, degrees of freedom)."""
    from scipy import stats

    # your turn
    (a, s, f), (b, r, g) = one, other
    variance = s**2 + r**2
    free = variance**2 / (s**4 / f + r**4 / g)
    return a - b, stats.t.ppf(0.975, free) * variance**0.5


def _wrong_gap(error: Callable, free: Callable, sign: int = 1) -> Callable:
    """A mistake in the standard error or in the degrees of freedom, functions of s, f, r, g."""

    def wrong(one, other):
        (a, s, f), (b, r, g) = one, other
        return sign * (a - b), _student(free(s, f, r, g)) * error(s, f, r, g)

    return wrong


def _apart(s, f, r, g):
    return float(np.hypot(s, r))


def _welch(s, f, r, g):
    return (s**2 + r**2) ** 2 / (s**4 / f + r**4 / g)


my_gap.mistake(
    "You add up the standard errors. For independent slopes the squares add up.",
    _wrong_gap(lambda s, f, r, g: s + r, _welch),
)
my_gap.mistake(
    "You add up the degrees of freedom, as if both lines scattered alike. Welch does without that.",
    _wrong_gap(_apart, lambda s, f, r, g: f + g),
)
my_gap.mistake(
    "The smaller number of degrees of freedom is safe, and wider than need be. Welch's formula lies between.",
    _wrong_gap(_apart, lambda s, f, r, g: min(f, g)),
)
my_gap.mistake(
    "The sign is reversed: the first slope minus the second.",
    _wrong_gap(_apart, _welch, -1),
)
my_gap.mistake(
    "In your degrees of freedom the variances are not squared. Those of the lines come in as squares, as does the sum.",
    _wrong_gap(_apart, lambda s, f, r, g: (s**2 + r**2) / (s**2 / f + r**2 / g)),
)
my_gap.mistake(
    "You add up the halves of the two intervals. That is wider than need be: variances add up, then comes one root.",
    lambda one, other: (one[0] - other[0], _student(one[2]) * one[1] + _student(other[2]) * other[1]),
)
my_gap.mistake(
    "1.96 is for standard errors that are known. Here they were estimated.",
    lambda one, other: (one[0] - other[0], 1.96 * float(np.hypot(one[1], other[1]))),
)


def _usual(lengths: np.ndarray, sharpness: np.ndarray) -> tuple[float, float]:
    """The slope and half of its interval's width, for whoever has not made their own."""
    b, parts, counts = _parts(lengths, sharpness)
    return b, float(_student(_free(parts, counts)) * parts.sum() ** 0.5)


def _runs(rng: np.random.Generator) -> list[tuple]:
    """Networks of which some fail: a rise, a rise that rests on failures, one that chance may have made, a fall."""
    n = np.repeat([4.0, 6.0, 8.0, 12.0], 6)
    noise = 1 + 0.05 * rng.normal(size=24)
    good = np.full(24, 2e-4)
    few = np.where((n == 12) & (np.arange(24) % 6 > 1), 0.9, good)  # two of six converge at 12 bits
    half = np.where((n == 12) & (np.arange(24) % 6 > 2), 0.9, good)  # three of six: half
    lost = np.where(np.arange(24) == 0, 1e-3, good)  # one ends at the goal, not below it
    steep = np.where(n == 12, 9.0, 1.0)
    level = np.tile([0.2, 1.8, 0.4, 1.6, 0.9, 1.1], 4) + 0.02 * n
    return [
        (n, 0.02 * n * noise, lost, 1e-3, _usual),
        (n, steep * noise, few, 1e-3, _usual),
        (n, 0.01 * n * noise + (half > 0.1) * 5, half, 1e-3, _usual),
        (n, level, good, 1e-3, _usual),
        (n, (1 - 0.05 * n) * noise, good, 1e-3, _usual),
    ]


@exercise(
    "12.6",
    "My experiment",
    minutes=15,
    difficulty=2,
    hints=(
        "First mark the networks that converged. Then, for every length, ask which share of its networks did.",
        "When both filters have been applied, call the function that you were given. A slope is told from 0 if its "
        "whole interval lies on one side.",
    ),
    why="You had both filters before you saw a slope. That is what makes it a verdict.",
    instances=_runs,
)
def my_experiment(
    lengths: np.ndarray, sharpness: np.ndarray, errors: np.ndarray, goal: float, interval: object
) -> tuple[int, int]:
    """How many networks enter, and +1, −1 or 0: rises, falls or cannot be told; interval(n, s) gives b and h."""
    good = errors < goal
    usual = [n for n in np.unique(lengths) if good[lengths == n].mean() >= 0.5]
    kept = good & np.isin(lengths, usual)
    b, h = interval(lengths[kept], sharpness[kept])
    return int(kept.sum()), int(b > h) - int(b < -h)


def _filtered(enters: Callable, says: Callable = lambda b, h: int(b > h) - int(b < -h)) -> Callable:
    """A mistake in who enters, a mask from lengths and errors, or in the verdict from b and h."""

    def wrong(lengths, sharpness, errors, goal, interval):
        kept = enters(lengths, errors, goal)
        return int(kept.sum()), says(*interval(lengths[kept], sharpness[kept]))

    return wrong


def _common(share: Callable) -> Callable:
    """Those that converged, at lengths whose share of them passes a test."""

    def enters(lengths, errors, goal):
        good = errors < goal
        return good & np.isin(lengths, [n for n in np.unique(lengths) if share(good[lengths == n].mean())])

    return enters


my_experiment.mistake(
    "All networks enter. Those that failed compute another function, and their sharpness is not that of this one.",
    _filtered(lambda lengths, errors, goal: np.full(len(lengths), True)),
)
my_experiment.mistake(
    "At one of these lengths most networks failed, and your line goes on there through those that did not.",
    _filtered(lambda lengths, errors, goal: errors < goal),
)
my_experiment.mistake(
    "You leave out a length at which exactly half converged. The rule says half or more.",
    _filtered(_common(lambda share: share > 0.5)),
)
my_experiment.mistake(
    "You leave out every length at which any network failed. The rule is milder: half must converge.",
    _filtered(_common(lambda share: share == 1)),
)
my_experiment.mistake(
    "A length is in or out by your count, but networks that failed at a good length enter, too.",
    _filtered(
        lambda lengths, errors, goal: np.isin(
            lengths, [n for n in np.unique(lengths) if np.mean(errors[lengths == n] < goal) >= 0.5]
        )
    ),
)
my_experiment.mistake(
    "You judge by the sign of the slope. One that chance may have made is told from 0 by its interval.",
    _filtered(_common(lambda share: share >= 0.5), lambda b, h: int(b > 0) - int(b < 0)),
)
my_experiment.mistake(
    "A slope that surely falls is not the same as one that cannot be told from 0.",
    _filtered(_common(lambda share: share >= 0.5), lambda b, h: int(b > h)),
)
my_experiment.mistake(
    "One of these networks ends exactly at the goal. That is not below it.",
    _filtered(lambda lengths, errors, goal: _common(lambda share: share >= 0.5)(lengths, errors, goal * 1.000001)),
)


def _gradients(rng: np.random.Generator) -> list[tuple]:
    sizes = [(2, 3), (3, 5), (4, 2)]  # bits, weights
    return [(rng.normal(size=(2**n, weights)), rng.choice([-1.0, 1.0], 2**n)) for n, weights in sizes]


@exercise(
    "12.7",
    "How loud is the solution?",
    minutes=15,
    difficulty=3,
    hints=(
        "Write g_f for that mean. It is a vector with one entry for each weight. Its entries for all parities together "
        "are the Walsh transform of a column of the gradients.",
        "Parseval says what the squares of all 2ⁿ coefficients of a column add up to. Do it for every weight, divide "
        "by the number of parities, and no transform is left to compute.",
    ),
    why="1 means: no louder than a parity picked at random. There are 2ⁿ of them, and all share one gradient's energy.",
    instances=_gradients,
)
def loudness(gradients: np.ndarray, table: np.ndarray) -> float:
    """‖E f(x)∇T(x)‖ over the root mean square of it for all 2ⁿ parities; ∇T is (2ⁿ, weights), f is (2ⁿ,)."""
    towards = np.linalg.norm(table @ gradients) / len(table)
    usual = np.sqrt(np.square(gradients).sum(axis=1).mean() / len(table))
    return towards / usual


def _towards(gradients, table):
    return np.linalg.norm(table @ gradients) / len(table)


loudness.mistake(
    "You compare with all parities together. Share their energy out among them first.",
    lambda gradients, table: _towards(gradients, table) / np.sqrt(np.square(gradients).sum(axis=1).mean()),
)
loudness.mistake(
    "You return the ratio of the squares.",
    lambda gradients, table: (loudness.solution(gradients, table)) ** 2,
)
loudness.mistake(
    "You divide by the mean square. Its root is asked for.",
    lambda gradients, table: _towards(gradients, table) / (np.square(gradients).sum(axis=1).mean() / len(table)),
)
loudness.mistake(
    "You have added f∇T up over the cube. E is a mean.",
    lambda gradients, table: loudness.solution(gradients, table) * len(table),
)
loudness.mistake(
    "You compare with the mean of the norms. The root mean square is asked for; it is larger, and easier to find.",
    lambda gradients, table: (
        _towards(gradients, table)
        / np.linalg.norm([fourier.transform(column) for column in gradients.T], axis=0).mean()
    ),
)
loudness.mistake(
    "Your gradients are averaged without f: that is how loud the constant 1 is.",
    lambda gradients, table: loudness.solution(gradients, np.ones(len(table))),
)


class _Width:
    """Half of the width that an interval of the slope will have, from how many networks each length gets."""

    def __init__(self, lengths: np.ndarray, scatter: np.ndarray) -> None:
        self.lengths, self.scatter = lengths, scatter

    def __call__(self, counts: np.ndarray) -> float:
        counts = np.asarray(counts, float)
        centred = self.lengths - (counts @ self.lengths) / counts.sum()
        parts = (counts * centred / (counts @ centred**2)) ** 2 * self.scatter**2 / counts
        return float(_student(_free(parts, counts - 1)) * parts.sum() ** 0.5)


def _plans(rng: np.random.Generator) -> list[tuple]:
    """Thirty plans: five lengths, a scatter and a price that grow with them, and what may be spent."""
    found = []
    for _ in range(30):
        lengths = np.sort(rng.choice(np.arange(4, 17), 5, replace=False)).astype(float)
        scatter = 0.01 * (lengths / 4) ** rng.uniform(0.5, 2.5) * rng.uniform(0.7, 1.4, 5)
        found.append((lengths, rng.uniform(25, 40) * float(lengths.sum()) / 5, _Width(lengths, scatter)))
    return found


def _planned(counts: object, cost: np.ndarray, budget: float) -> bool:
    """Whether a plan has two networks or more everywhere, whole ones, and keeps to the budget."""
    counts = np.asarray(counts, float)
    return bool((counts == np.round(counts)).all() and counts.min() >= 2 and cost @ counts <= budget * (1 + 1e-9))


def _spent(out: object, cost: np.ndarray, budget: float, width: _Width) -> float:
    return width(np.asarray(out)) if _planned(out, cost, budget) else width(np.full(len(cost), 2))


def _equal(cost: np.ndarray, budget: float, width: object) -> np.ndarray:
    return np.full(len(cost), int(budget // cost.sum()))


@scored(
    "12.8",
    "A better plan",
    minutes=30,
    difficulty=3,
    instances=_plans,
    baseline=_equal,
    rival="equal numbers",
    measures={
        "half width": Measure(_spent, unit=" thousandths", scale=1000),
        "not allowed": Measure(lambda out, *plan: float(not _planned(out, *plan[:2])), unit=" %", scale=100),
    },
    why="It buys one network at a time, where the interval shrinks most for the price, and stops when no single one "
    "helps. It never exchanges one that it has bought.",
)
def my_plan(cost: np.ndarray, budget: float, width: object) -> np.ndarray:
    """How many networks each length gets: two or more, cost @ counts ≤ budget, width(counts) as small as can be."""
    counts = np.full(len(cost), 2)
    while True:
        more = counts + np.eye(len(cost), dtype=int)
        gains = [(width(counts) - width(one)) / price if cost @ one <= budget else 0
                 for one, price in zip(more, cost, strict=True)]  # fmt: skip
        if max(gains) <= 0:
            return counts
        counts = more[int(np.argmax(gains))]
