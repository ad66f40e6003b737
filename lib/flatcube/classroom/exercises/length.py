"""The exercises of chapter 12. One trial of each is fixed, so that no two known mistakes look alike."""

import numpy as np
from scipy import stats

from flatcube import fourier
from flatcube.classroom.exercises import exercise


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


def _points(rng: np.random.Generator) -> list[tuple]:
    """Points about a line: three at each of a few lengths, as from three seeds."""
    found = []
    for n in (np.array([4, 6, 8]), np.sort(rng.choice(np.arange(4, 20), 4, replace=False))):
        x = np.repeat(n, 3).astype(float)
        found.append((x, rng.normal(0.5, 0.2) * x + rng.normal(size=len(x))))
    return [(np.array([4.0, 6.0, 8.0, 12.0]), np.array([0.3, 0.9, 1.0, 2.5])), *found]


@exercise(
    "12.2",
    "A slope with its interval",
    minutes=10,
    difficulty=2,
    hints=(
        "`stats.linregress` gives a slope with its standard error. How many of those to each side does 95 % take, if "
        "the spread of the points is estimated from a handful of them?",
        "The line has used up two of the numbers. `stats.t.ppf` wants the probability of everything to its left, and "
        "of the 5 % outside, half lies on either side.",
    ),
    why="With four points the factor is 4.3 instead of 1.96: few seeds make wide intervals, and they should.",
    instances=_points,
)
def slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The slope b of the least-squares line of y against x, and h, such that b ± h is its 95 % interval."""
    from scipy import stats

    # your turn
    fit = stats.linregress(x, y)
    return fit.slope, stats.t.ppf(0.975, len(x) - 2) * fit.stderr


def _interval(factor):
    """A mistake in the factor, a function of the number of points."""

    def wrong(x, y):
        fit = stats.linregress(x, y)
        return fit.slope, factor(len(x)) * fit.stderr

    return wrong


slope.mistake("That is the standard error. An interval of 95 % is wider.", _interval(lambda count: 1))
slope.mistake(
    "You take the quantile of the normal distribution. The spread was estimated, too: that calls for Student's t.",
    _interval(lambda count: stats.norm.ppf(0.975)),
)
slope.mistake("1.96 is for a spread that is known. Here it was estimated.", _interval(lambda count: 1.96))
slope.mistake("Two standard errors do for many points. With a handful it takes more.", _interval(lambda count: 2))
slope.mistake(
    "Your quantile leaves 5 % on one side. The interval has two sides.",
    _interval(lambda count: stats.t.ppf(0.95, count - 2)),
)
slope.mistake(
    "One degree of freedom too many: a line has a slope and an intercept, and both were fitted.",
    _interval(lambda count: stats.t.ppf(0.975, count - 1)),
)
slope.mistake(
    "That is the whole width of the interval. Half of it goes to each side.",
    _interval(lambda count: 2 * stats.t.ppf(0.975, count - 2)),
)
slope.mistake(
    "You give the two ends of the interval. The slope and half of the width are asked for.",
    lambda x, y: (slope.solution(x, y)[0] - slope.solution(x, y)[1], sum(slope.solution(x, y))),
)
slope.mistake("Axes exchanged: the slope of y against x is asked for.", lambda x, y: slope.solution(y, x))


def _deviations(rng: np.random.Generator) -> list[tuple]:
    """Standard deviations (norms, batch, positions); the largest factors of one input lie at different positions."""
    fixed = np.array([[[0.5, 2.0, 1.0], [0.1, 1.0, 3.0]], [[4.0, 0.2, 1.0], [2.0, 0.3, 0.7]]])
    return [(fixed,), *[(rng.uniform(0.05, 3, rng.integers(2, 5, 3)),) for _ in range(3)]]


@exercise(
    "12.3",
    "Blow-up of a batch",
    minutes=8,
    difficulty=2,
    hints=(
        "There are three axes, and a different thing happens on each: the largest, a product, a mean. In which order?",
        "First reduce the positions, then the norms, last the batch. The logarithm of a product is a sum.",
    ),
    why="A mean of logarithms is not carried away by one wild input. This is the blow-up that HR plot.",
    instances=_deviations,
)
def log_blowup(std: np.ndarray) -> float:
    """The mean over the batch of log ∏ max N with N = 1/std; std is (norms, batch, positions)."""
    return (-np.log(std)).max(axis=2).sum(axis=0).mean()


log_blowup.mistake(
    "You average before you take the logarithm. One input with a small deviation then decides alone.",
    lambda std: np.log((1 / std).max(axis=2).prod(axis=0).mean()),
)
log_blowup.mistake(
    "You multiply along each position and take the largest product. Every norm has a worst position of its own.",
    lambda std: (-np.log(std)).sum(axis=0).max(axis=1).mean(),
)
log_blowup.mistake(
    "You average over positions. The position with the largest factor counts.",
    lambda std: (-np.log(std)).mean(axis=2).sum(axis=0).mean(),
)
log_blowup.mistake(
    "You take the largest deviation. The largest factor belongs to the smallest.",
    lambda std: (-np.log(std)).min(axis=2).sum(axis=0).mean(),
)
log_blowup.mistake(
    "You average over the norms. Their factors multiply, so the logarithms add up.",
    lambda std: (-np.log(std)).max(axis=2).mean(),
)
log_blowup.mistake(
    "The logarithm is missing, and with it the mean of logarithms.",
    lambda std: (1 / std).max(axis=2).prod(axis=0).mean(),
)


def _shifts(rng: np.random.Generator) -> list[tuple]:
    sizes = [(3, 5), *rng.integers(3, 8, (2, 2))]  # directions, inputs
    return [(rng.normal(size=batch), rng.normal(size=(count, batch))) for count, batch in sizes]


@exercise(
    "12.4",
    "Sharpness from outputs",
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


def _gradients(rng: np.random.Generator) -> list[tuple]:
    sizes = [(2, 3), (3, 5), (4, 2)]  # bits, weights
    return [(rng.normal(size=(2**n, weights)), rng.choice([-1.0, 1.0], 2**n)) for n, weights in sizes]


@exercise(
    "12.5",
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
    lambda gradients, table: (
        _towards(gradients, table) / (np.square(gradients).sum(axis=1).mean() / len(table))
    ),
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


def _lines(rng: np.random.Generator) -> list[tuple]:
    def line() -> tuple:
        return round(rng.normal(), 3), round(rng.uniform(0.1, 0.9), 3), int(rng.integers(5, 30))

    return [((0.52, 0.11, 20), (0.08, 0.02, 22)), (line(), line()), (line(), line())]


@exercise(
    "12.6",
    "Is one steeper?",
    minutes=10,
    difficulty=2,
    hints=(
        "The two lines come from different networks, so the variances of their slopes add up. Variances, not errors.",
        "Welch's number is a square over a sum. Above stands the variance of the difference, squared. Below, each line "
        "gives the square of its own variance over its own degrees of freedom.",
    ),
    why="Overlapping intervals do not settle the question, the interval of the difference does.",
    instances=_lines,
)
def welch(one: tuple, other: tuple) -> tuple[float, float]:
    """Welch's t for slope one − slope other, and its degrees of freedom; each is (slope, standard error, points)."""
    (a, s, N), (b, r, M) = one, other
    variance = s**2 + r**2
    return (a - b) / variance**0.5, variance**2 / (s**4 / (N - 2) + r**4 / (M - 2))


def _freedom(s, N, r, M):
    return (s**2 + r**2) ** 2 / (s**4 / N + r**4 / M)


welch.mistake(
    "You add up the standard errors. For independent slopes the squares add up.",
    lambda one, other: ((one[0] - other[0]) / (one[1] + other[1]), welch.solution(one, other)[1]),
)
welch.mistake(
    "Your degrees of freedom are those of means. A line has used up two of its points.",
    lambda one, other: (
        welch.solution(one, other)[0],
        _freedom(one[1], one[2] - 1, other[1], other[2] - 1),
    ),
)
welch.mistake(
    "You pool the degrees of freedom, as if both lines scattered alike. Welch does without that.",
    lambda one, other: (welch.solution(one, other)[0], one[2] + other[2] - 4),
)
welch.mistake(
    "The sign is reversed: the first slope minus the second.",
    lambda one, other: (-welch.solution(one, other)[0], welch.solution(one, other)[1]),
)
welch.mistake(
    "You divide the errors by the number of points once more. They are those of the slopes already.",
    lambda one, other: welch.solution(*((a, s / N**0.5, N) for a, s, N in (one, other))),
)
