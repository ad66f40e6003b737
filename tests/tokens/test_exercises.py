"""Chapter 15's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np
import pytest

from flatcube import tokens
from flatcube.tokens.exercises import Asked, my_budget, my_vote
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("15.1", "places from 0", """
        def my_replaced(inputs, place, symbol):
            return np.where(np.arange(inputs.shape[1]) == place % inputs.shape[1], symbol, inputs)
    """),
    ("15.1", "a whole sequence", """
        def my_replaced(inputs, place, symbol):
            new = inputs.copy()
            new[(place - 1) % len(new)] = symbol
            return new
    """),
    ("15.1", "Only the first input", """
        def my_replaced(inputs, place, symbol):
            new = np.array(inputs)
            new[0][place - 1] = symbol
            return new
    """),
    ("15.1", "changed the given array", """
        def my_replaced(inputs, place, symbol):
            inputs[:, place - 1] = symbol
            return inputs
    """),
    ("15.2", "leave the old symbol out", """
        def my_sensitivity(f, inputs, symbols):
            old, share = np.sign(f(inputs)), 0
            for t in range(inputs.shape[1]):
                for s in range(1, symbols):
                    new = inputs.copy()
                    new[:, t] = (new[:, t] + s) % symbols
                    share += np.mean(np.sign(f(new)) != old) / (symbols - 1) / inputs.shape[1]
            return share
    """),
    ("15.2", "the sum over places", """
        def my_sensitivity(f, inputs, symbols):
            total = 0
            for t in range(inputs.shape[1]):
                for s in range(symbols):
                    new = inputs.copy()
                    new[:, t] = s
                    total += np.mean(np.sign(f(new)) != np.sign(f(inputs))) / symbols
            return total
    """),
    ("15.2", "count 0 as positive", """
        def my_sensitivity(f, inputs, symbols):
            seen = []
            for t in range(inputs.shape[1]):
                for s in range(symbols):
                    new = inputs.copy()
                    new[:, t] = s
                    seen.append(np.mean((f(new) < 0) != (f(inputs) < 0)))
            return np.mean(seen)
    """),
    ("15.3", "treats all replacements as independent", """
        def my_estimate(f, inputs, tokens):
            seen = []
            for t in range(tokens.shape[1]):
                for r in range(tokens.shape[2]):
                    new = inputs.copy()
                    new[:, t] = tokens[:, t, r]
                    seen.append(np.sign(f(new)) != np.sign(f(inputs)))
            p, count = np.mean(seen), np.size(seen)
            return p, np.sqrt(p * (1 - p) / count)
    """),
    ("15.3", "smaller, by √N", """
        def my_estimate(f, inputs, tokens):
            N, T, R = tokens.shape
            seen = np.zeros(N)
            for t in range(T):
                for r in range(R):
                    new = inputs.copy()
                    new[:, t] = tokens[:, t, r]
                    seen += np.sign(f(new)) != np.sign(f(inputs))
            seen /= T * R
            return seen.mean(), np.sqrt(np.sum((seen - seen.mean()) ** 2) / (N - 1))
    """),
    ("15.3", "has N − 1 below", """
        def my_estimate(f, inputs, tokens):
            N, T, R = tokens.shape
            seen = np.zeros(N)
            for t in range(T):
                for r in range(R):
                    new = inputs.copy()
                    new[:, t] = tokens[:, t, r]
                    seen += np.sign(f(new)) != np.sign(f(inputs))
            seen /= T * R
            return seen.mean(), seen.std() / N**0.5
    """),
    ("15.4", "With a lead of two you find nothing", """
        def my_vote(right, wrong, kinds, T, M):
            if right - wrong > 1:
                return 0.0
            return right / T * (1 - kinds / M) + (1 - (right + wrong) / T) * kinds / M
    """),
    ("15.4", "You do not count ties", """
        def my_vote(right, wrong, kinds, T, M):
            return right / T * kinds / M if right - wrong == 1 else 0.0
    """),
    ("15.4", "already make no difference", """
        def my_vote(right, wrong, kinds, T, M):
            if right - wrong > 2:
                return 0.0
            if right - wrong == 2:
                return right / T * kinds / M
            return right / T * (1 - kinds / M) + (1 - right / T) * kinds / M
    """),
    ("15.5", "The lead is not always n_d", """
        def my_scores(settings):
            return settings[:, 2] ** 2 / settings[:, 3] - settings[:, 0] ** 2
    """),
    ("15.5", "not flipped", """
        def my_scores(settings):
            s, f, d, m = settings.T
            return s**2 + (2 * ((f + d) // 2) - f) ** 2 / m
    """),
    ("15.5", "shared out among m symbols", """
        def my_scores(settings):
            s, f, d, m = settings.T
            return (2 * ((f + d) // 2) - f) ** 2 - s**2.0
    """),
]  # fmt: skip


def _replaced(inputs, place, symbol):
    return np.where(np.arange(1, inputs.shape[1] + 1) == place, symbol, inputs)


def _estimate(f, inputs, new):
    """The library draws what it is given: place by place, draw by draw."""
    given = iter(new.transpose(1, 2, 0).reshape(-1, len(inputs)))
    found = tokens.sampled(
        lambda x: f(x).astype(float), inputs, lambda old, rng: next(given), rng=0, repeats=new.shape[2]
    )
    return found.value, found.error


def _counted(right, wrong, kinds, T, M):
    """The definition, on one input."""
    signs = np.repeat([1, -1, 0], [kinds, kinds, M - 2 * kinds])
    words = np.repeat([0, kinds, 2 * kinds], [right, wrong, T - right - wrong])
    return tokens.exact(lambda x: signs[x].sum(1).astype(float), words[None], M).value


def _scores(settings):
    """The difference of the class means, times the counts of an input of class +1 with flipped sparse tokens."""
    found = []
    for n_s, n_f, n_d, m in settings.tolist():
        right = (n_f + n_d) // 2
        plus = np.array([n_s, 0, right / m, (n_f - right) / m])  # of a sparse and of a frequent symbol of each class
        minus = plus[[1, 0, 3, 2]]
        flipped = np.array([0, n_s, right, n_f - right])
        found.append((plus - minus) @ flipped)
    return np.array(found)


class TestExercises(ExerciseTests):
    room = "tokens"
    written = WRITTEN
    library = {
        "15.1": _replaced,
        "15.2": lambda f, inputs, symbols: tokens.exact(lambda x: f(x).astype(float), inputs, symbols).value,
        "15.3": _estimate,
        "15.4": _counted,
        "15.5": _scores,
    }


def test_the_two_rules_of_the_chapter_are_votes():
    setting = tokens.Setting(1, 17, 7, 20, T=50, M=69)
    assert my_vote.solution(1, 0, 1, 50, 69) == pytest.approx(tokens.sparse_sensitivity(setting))
    assert my_vote.solution(9, 8, 20, 50, 69) == pytest.approx(
        tokens.frequent_sensitivity(tokens.Setting(1, 17, 1, 20, T=50, M=69))
    )


def test_who_asks_too_often_is_told_so():
    box = Asked(np.random.default_rng(0))
    box.ask(box.inputs)
    with pytest.raises(ValueError, match="at most 600 inputs may be asked for"):
        box.ask(box.inputs)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_pairs_are_not_called_as_good_as_the_library(seed):
    assert my_budget.board(my_budget.baseline, seed).verdict == "Not yet clearly better than random pairs in error."
