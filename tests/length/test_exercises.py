"""Chapter 12's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np
import pytest
import torch

from flatcube import fourier
from flatcube.classroom.exercises import score
from flatcube.experiments import trends
from flatcube.length import exercises, forest, sharper
from flatcube.sharpness import measures
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("12.1", "not the step that was recorded there", """
        def learned(steps, errors, goal):
            for at, error in enumerate(errors):
                if error < goal:
                    return at
            return -1
    """),
    ("12.1", "never gets there", """
        def learned(steps, errors, goal):
            return steps[(errors < goal).argmax()]
    """),
    ("12.1", "stays below the goal", """
        def learned(steps, errors, goal):
            found = -1
            for step, error in zip(steps[::-1], errors[::-1]):
                if error >= goal:
                    return found
                found = step
            return found
    """),
    ("12.2", "counts every input", """
        def shaken(reference, shifted):
            squares = ((shifted - reference) ** 2).ravel()
            return squares.mean(), squares.std(ddof=1) / len(squares) ** 0.5
    """),
    ("12.2", "how the directions scatter", """
        def shaken(reference, shifted):
            each = [np.mean((row - reference) ** 2) for row in shifted]
            return np.mean(each), np.std(each, ddof=1)
    """),
    ("12.2", "`ddof=1`", """
        def shaken(reference, shifted):
            each = np.array([np.mean((row - reference) ** 2) for row in shifted])
            return each.mean(), np.sqrt(each.var() / len(each))
    """),
    ("12.3", "through the origin", """
        def my_weights(lengths):
            return lengths / sum(n * n for n in lengths)
    """),
    ("12.3", "its 1/N is missing", """
        def my_weights(lengths):
            away = lengths - np.mean(lengths)
            return away / np.mean(away**2)
    """),
    ("12.3", "has to be divided", """
        def my_weights(lengths):
            return np.array([n - sum(lengths) / len(lengths) for n in lengths])
    """),
    ("12.4", "the usual regression", """
        def my_interval(lengths, sharpness):
            from scipy import stats
            u, v = lengths - lengths.mean(), sharpness - sharpness.mean()
            b = u @ v / (u @ u)
            error = np.sqrt(np.sum((v - b * u) ** 2) / (len(u) - 2) / (u @ u))
            return b, stats.t(len(u) - 2).ppf(0.975) * error
    """),
    ("12.4", "normal distribution", """
        def my_interval(lengths, sharpness):
            b, V = np.polyfit(lengths, sharpness, 1)[0], 0.0
            u = lengths - lengths.mean()
            for n in set(lengths):
                mine = sharpness[lengths == n]
                V += (u[lengths == n].sum() / (u @ u)) ** 2 * mine.var(ddof=1) / len(mine)
            return b, 1.959963984540054 * V**0.5
    """),
    ("12.4", "those of one common scatter", """
        def my_interval(lengths, sharpness):
            from scipy import stats
            b, V = np.polyfit(lengths, sharpness, 1)[0], 0.0
            u = lengths - lengths.mean()
            for n in set(lengths):
                mine = sharpness[lengths == n]
                V += (u[lengths == n].sum() / (u @ u)) ** 2 * mine.var(ddof=1) / len(mine)
            return b, stats.t.ppf(0.975, len(u) - 2) * V**0.5
    """),
    ("12.3", "mean of the different lengths", """
        def my_weights(lengths):
            away = lengths - np.mean(sorted(set(lengths)))
            return away / np.sum(away**2)
    """),
    ("12.4", "1.96 belongs to", """
        def my_interval(lengths, sharpness):
            u = lengths - lengths.mean()
            c = u / (u @ u)
            V = 0
            for n in set(lengths):
                at = lengths == n
                V += c[at].sum() ** 2 * sharpness[at].var(ddof=1) / at.sum()
            return c @ sharpness, 1.96 * V**0.5
    """),
    ("12.5", "halves of the two intervals", """
        def my_gap(one, other):
            from scipy import stats
            (a, s, f), (b, r, g) = one, other
            return a - b, stats.t.ppf(0.975, f) * s + stats.t.ppf(0.975, g) * r
    """),
    ("12.5", "You add up the standard errors", """
        def my_gap(one, other):
            from scipy import stats
            (a, s, f), (b, r, g) = one, other
            df = (s * s + r * r) ** 2 / (s**4 / f + r**4 / g)
            return a - b, stats.t.ppf(0.975, df) * (s + r)
    """),
    ("12.5", "add up the degrees", """
        def my_gap(one, other):
            from scipy import stats
            (a, s, f), (b, r, g) = one, other
            return a - b, stats.t.ppf(0.975, f + g) * np.hypot(s, r)
    """),
    ("12.5", "variances are not squared", """
        def my_gap(one, other):
            from scipy import stats
            (a, s, f), (b, r, g) = one, other
            df = (s * s + r * r) / (s * s / f + r * r / g)
            return a - b, stats.t.ppf(0.975, df) * np.hypot(s, r)
    """),
    ("12.6", "All networks enter", """
        def my_experiment(lengths, sharpness, errors, goal, interval):
            b, h = interval(lengths, sharpness)
            return len(lengths), 0 if abs(b) <= h else np.sign(b)
    """),
    ("12.6", "most networks failed", """
        def my_experiment(lengths, sharpness, errors, goal, interval):
            keep = [k for k, error in enumerate(errors) if error < goal]
            b, h = interval(lengths[keep], sharpness[keep])
            return len(keep), 0 if abs(b) <= h else np.sign(b)
    """),
    ("12.6", "by the sign of the slope", """
        def my_experiment(lengths, sharpness, errors, goal, interval):
            share = {n: np.mean(errors[lengths == n] < goal) for n in set(lengths)}
            keep = [k for k, n in enumerate(lengths) if errors[k] < goal and share[n] >= 0.5]
            return len(keep), np.sign(interval(lengths[keep], sharpness[keep])[0])
    """),
    ("12.7", "all parities together", """
        def loudness(gradients, table):
            g = (table[:, None] * gradients).mean(0)
            return np.linalg.norm(g) / np.sqrt((gradients**2).sum() / len(gradients))
    """),
    ("12.7", "ratio of the squares", """
        def loudness(gradients, table):
            g = table @ gradients
            return g @ g / np.sum(gradients**2)
    """),
    ("12.7", "E is a mean", """
        def loudness(gradients, table):
            usual = np.linalg.norm(gradients) / len(table)
            return np.linalg.norm(table @ gradients) / usual
    """),
]


def learned(steps, errors, goal):
    return next((step for step, error in zip(steps, errors, strict=True) if error < goal), -1)


def my_weights(lengths):
    """By the pseudo-inverse of the design, whose second row gives the slope."""
    return np.linalg.pinv(np.stack([np.ones(len(lengths)), lengths], axis=1))[1]


def my_interval(lengths, sharpness):
    found = forest.slope([*lengths], [*sharpness], "own")
    return found["value"], (found["high"] - found["low"]) / 2


def my_gap(*arguments):
    one, other = ({"slope": slope, "error": error} for slope, error, _ in arguments)
    found = trends.gap(one, other, tuple(free for *_, free in arguments))
    return found["gap"], (found["high"] - found["low"]) / 2


def my_experiment(lengths, sharpness, errors, goal, interval):
    same = {"kind": "encoder", "function": "PARITY", "rate": 1.0, "decay": 0.0, "width": 8, "reason": "end"}
    rows = [
        same | {"n": n, "seed": seed, "sharpness": sharp, "converged": int(error < goal)}
        for seed, (n, sharp, error) in enumerate(zip(lengths, sharpness, errors, strict=True))
    ]
    kept = sharper.fitted(rows)
    found = forest.slope([row["n"] for row in kept], [row["sharpness"] for row in kept], "own")
    return len(kept), int(found["low"] > 0) - int(found["high"] < 0)


def shaken(*arguments):
    before, after = map(torch.as_tensor, arguments)
    each = measures._squares(after, before).mean(-1)
    return float(each.mean()), float(each.var() / len(each)) ** 0.5


def loudness(gradients, table):
    parities = np.array([fourier.transform(column) for column in gradients.T])  # g_S for all S
    norm = np.linalg.norm(parities @ fourier.transform(table))
    return norm / np.sqrt(np.square(parities).sum(axis=0).mean())


class TestExercises(ExerciseTests):
    room = "length"
    written = WRITTEN
    library = {
        "12.1": learned,
        "12.2": shaken,
        "12.3": my_weights,
        "12.4": my_interval,
        "12.5": my_gap,
        "12.6": my_experiment,
        "12.7": loudness,
    }


def test_the_width_of_a_plan_is_that_of_its_interval():
    """Numbers with just the scatter that the plan expects, on a line, have this interval."""
    lengths, scatter, counts = np.array([4.0, 8.0, 12.0]), np.array([0.1, 0.2, 0.7]), np.array([3, 2, 5])
    x, y = np.repeat(lengths, counts), []
    for n, spread, count in zip(lengths, scatter, counts, strict=True):
        draws = np.random.default_rng(int(n)).normal(size=count)
        y += [*(2 * n + spread * (draws - draws.mean()) / draws.std(ddof=1))]
    found = forest.slope([*x], y, "own")
    assert exercises._Width(lengths, scatter)(counts) == pytest.approx((found["high"] - found["low"]) / 2)


def test_a_plan_that_is_not_allowed_gains_nothing():
    for plan in (lambda cost, budget, width: np.full(len(cost), 10**6), lambda cost, budget, width: np.ones(len(cost)),
                 lambda cost, budget, width: np.full(len(cost), 2.5)):  # fmt: skip
        board = score("12.8", plan, seed=1)
        assert board.rows["not allowed"][0].min() == 1
        assert board.rows["half width"][0].mean() > board.rows["half width"][2].mean()


def test_no_plan_of_the_library_s_could_buy_one_more_network_that_helps():
    rng = np.random.default_rng(0)
    for cost, budget, width in exercises._plans(rng)[:5]:
        counts = exercises.my_plan.solution(cost, budget, width)
        assert exercises._planned(counts, cost, budget)
        for more in counts + np.eye(len(cost), dtype=int):
            assert cost @ more > budget or width(more) >= width(counts)
