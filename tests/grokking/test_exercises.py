"""Chapter 17's exercises: wrong answers as readers write them, and the library's answers."""

from itertools import combinations

import numpy as np
import torch

from flatcube import grokking
from flatcube.grokking import phases
from flatcube.grokking.exercises import Choice, my_choice
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("17.1", "Half a turn", """
        def my_circle(p, k):
            return np.array([(np.cos(np.pi * k * a / p), np.sin(np.pi * k * a / p)) for a in range(p)])
    """),
    ("17.1", "The cosine comes first", """
        def my_circle(p, k):
            z = np.exp(2j * np.pi * k * np.arange(p) / p)
            return np.column_stack([z.imag, z.real])
    """),
    ("17.2", "the mean is half", """
        def my_mean(p, k):
            z = np.exp(2j * np.pi * k * np.arange(p) / p)
            return np.abs(z[:, None] + z)
    """),
    ("17.2", "distance of the two points", """
        def my_mean(p, k):
            z = np.exp(2j * np.pi * k * np.arange(p) / p)
            return np.abs(z[:, None] - z) / 2
    """),
    ("17.3", "only the positive side", """
        def my_fold(points, p):
            j = np.pi * np.arange(p) / p
            return np.clip(points[:, :1] * np.cos(j) + points[:, 1:] * np.sin(j), 0, None)
    """),
    ("17.3", "whole circle", """
        def my_fold(points, p):
            j = 2 * np.pi * np.arange(p) / p
            return np.abs(points[:, :1] * np.cos(j) + points[:, 1:] * np.sin(j))
    """),
    ("17.4", "frequency 1", """
        def my_adder(p, k):
            z, j = np.exp(2j * np.pi * k * np.arange(p) / p), np.arange(p)
            mean = (z[:, None] + z) / 2
            hidden = np.abs((mean[..., None] * np.exp(-1j * np.pi * j / p)).real)
            return hidden @ np.cos(2 * np.pi * (j[:, None] - j) / p)
    """),
    ("17.4", "doubled the angle", """
        def my_adder(p, k):
            z, j = np.exp(2j * np.pi * k * np.arange(p) / p), np.arange(p)
            mean = (z[:, None] + z) / 2
            hidden = np.abs((mean[..., None] * np.exp(-1j * np.pi * j / p)).real)
            return hidden @ np.cos(np.pi * (j[:, None] - k * j) / p)
    """),
    ("17.5", "has to hold to the end", """
        def my_phases(epochs, train, test):
            return tuple(float(epochs[list(h).index(True)]) for h in (train >= 0.99, test >= 0.1, test >= 0.95))
    """),
    ("17.5", "last reading before", """
        def my_phases(epochs, train, test):
            return tuple(float(epochs[~h][-1]) for h in (train >= 0.99, test >= 0.1, test >= 0.95))
    """),
    ("17.1", "begin at 1", """
        def my_circle(p, k):
            return np.array([(np.cos(2 * np.pi * k * a / p), np.sin(2 * np.pi * k * a / p)) for a in range(1, p + 1)])
    """),
    ("17.2", "no sign", """
        def my_mean(p, k):
            return np.array([[np.cos(np.pi * k * (a - b) / p) for b in range(p)] for a in range(p)])
    """),
    ("17.3", "nothing is folded", """
        def my_fold(points, p):
            j = np.pi * np.arange(p) / p
            return points[:, :1] * np.cos(j) + points[:, 1:] * np.sin(j)
    """),
    ("17.4", "You added the points", """
        def my_adder(p, k):
            z, j = np.exp(2j * np.pi * k * np.arange(p) / p), np.arange(p)
            hidden = np.abs(((z[:, None] + z)[..., None] * np.exp(-1j * np.pi * j / p)).real)
            return hidden @ np.cos(2 * np.pi * (j[:, None] - k * j) / p)
    """),
    ("17.5", "not at 0.95", """
        def my_phases(epochs, train, test):
            lost = [np.flatnonzero(v < c) for v, c in ((train, 0.95), (test, 0.1), (test, 0.95))]
            return tuple(float([*epochs, np.inf][at[-1] + 1]) for at in lost)
    """),
]  # fmt: skip


def _fold(points, p):
    angle = np.pi * np.arange(p) / p
    return np.maximum(points @ (w := np.stack([np.cos(angle), np.sin(angle)])), 0) + np.maximum(-points @ w, 0)


def _adder(p, k):
    """The closed form: κ |cos πk(a−b)/p| cos 2πk(a+b−c)/p."""
    a = np.arange(p)
    size = np.sum(np.abs(np.cos(np.pi * a / p)) * np.cos(2 * np.pi * a / p))
    length = np.abs(np.cos(np.pi * k * (a[:, None] - a) / p))
    return size * length[..., None] * np.cos(2 * np.pi * k * (a[:, None, None] + a[:, None] - a) / p)


class TestExercises(ExerciseTests):
    room = "grokking"
    written = WRITTEN
    library = {
        "17.1": lambda p, k: np.sqrt(p / 2) * grokking.waves(p)[:, k - 1].T,
        "17.2": lambda p, k: np.abs(np.cos(np.pi * k * np.subtract.outer(np.arange(p), np.arange(p)) / p)),
        "17.3": _fold,
        "17.4": _adder,
        "17.5": lambda epochs, train, test: tuple(
            float(phases.since(list(epochs), list(holds))) for holds in (train >= 0.99, test >= 0.1, test >= 0.95)
        ),
    }


def test_the_network_by_hand_has_the_scores_of_the_exercise():
    with torch.no_grad():
        scores = grokking.by_hand(7, [2])(grokking.pairs(7)).numpy().reshape(7, 7, 7)
    wanted = _adder(7, 2)
    ratio = wanted.ravel() @ scores.ravel() / np.square(scores).sum()
    assert ratio > 0 and np.allclose(ratio * scores, wanted, atol=1e-5)


def test_the_greedy_choice_of_frequencies_can_mostly_be_bettered():
    """What the open exercise says. For a prime modulus one may take frequency 1 to be among those of the best set."""
    better = {}
    for p in (31, 43):
        a, k = np.arange(p), np.arange(1, (p + 1) // 2)
        lengths, falls = np.abs(np.cos(np.pi * np.outer(k, a) / p)), 1 - np.cos(2 * np.pi * np.outer(k, a[1:]) / p)
        margins = (lengths[:, :, None] * falls[:, None, :]).reshape(len(k), -1)
        for count in (2, 4, 5):
            chosen = my_choice.solution(Choice(p, count)) - 1
            greedy = margins[chosen].sum(0).min()
            best = max(margins[[0, *rest]].sum(0).min() for rest in combinations(range(1, len(k)), count - 1))
            better[p, count] = bool(best > greedy + 1e-9)
    assert better == {(31, 2): False, (31, 4): False, (31, 5): True, (43, 2): False, (43, 4): True, (43, 5): True}
