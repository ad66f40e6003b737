"""Costs of answers: counted on the ways in which readers write a transform, fast and slow."""

import math

import numpy as np
import pytest
from scipy.linalg import hadamard

from flatcube import fourier
from flatcube.classroom import exercises
from flatcube.classroom.exercises import Cost, check, exercise, operations

N = 7
ENOUGH = N * 2**N
COST = Cost(lambda rng: (rng.normal(size=2**N),), lambda table: ENOUGH, "n·2ⁿ")


@exercise("99.1", "Toy", minutes=1, difficulty=1, hints=("One.", "Two."), why="Fast.", cost=COST,
          instances=lambda rng: [(rng.normal(size=4),)])
def transform(table: np.ndarray) -> np.ndarray:
    """All coefficients."""
    return fourier.transform(table)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch):
    """The toy is the only exercise there is."""
    monkeypatch.setattr(exercises, "find", {"99.1": transform}.__getitem__)
    exercises._wrong.clear()


def stacked(table):
    values = np.array(table, dtype=float)
    for bit in range(len(values).bit_length() - 1):
        a, b = np.moveaxis(values.reshape(-1, 2, 2**bit), 1, 0)
        values = np.stack([a + b, a - b], axis=1).ravel()
    return values / len(values)


def in_place(table):
    values = np.zeros(len(table))
    values[:] = table
    for bit in range(len(values).bit_length() - 1):
        pairs = values.reshape(-1, 2, 2**bit)
        a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0] = (a + b) / 2
        pairs[:, 1] = (a - b) / 2
    return values


def looped(table):
    c = [float(value) for value in table]
    step = 1
    while step < len(c):
        for k in range(len(c)):
            if not k & step:
                c[k], c[k + step] = c[k] + c[k + step], c[k] - c[k + step]
        step *= 2
    return [value / len(c) for value in c]


def halves(table):
    if len(table) == 1:
        return np.asarray(table, dtype=np.float64)
    a, b = halves(table[: len(table) // 2]), halves(table[len(table) // 2 :])
    return np.concatenate([a + b, a - b]) / 2


def signs(mask, size):
    return np.array([(-1.0) ** (k & mask).bit_count() for k in range(size)])


def means(table):
    return [np.mean(table * signs(mask, len(table))) for mask in range(len(table))]


def sums(table):
    values = np.zeros(len(table))
    for mask in range(len(table)):
        for k, value in enumerate(table):
            values[mask] += -value if (k & mask).bit_count() % 2 else value
    return values / len(table)


def matrix(table):
    return hadamard(len(table)) @ np.array(table, dtype=float) / len(table)


def dots(table):
    values = np.asarray(table, float)
    return [np.dot(signs(mask, len(values)), values) / len(values) for mask in range(len(values))]


def summed_elsewhere(table):
    return [math.fsum(table * signs(mask, len(table))) / len(table) for mask in range(len(table))]


@pytest.mark.parametrize("answer", [stacked, in_place, looped, halves], ids=lambda answer: answer.__name__)
def test_a_fast_answer_is_right_however_it_is_written(answer):
    spent = operations(answer, COST.instance(np.random.default_rng(1)))
    assert ENOUGH <= spent <= ENOUGH + 2 * 2**N  # copies into an array of floats count, too
    assert str(check("99.1", answer)) == "Right. Fast."


@pytest.mark.parametrize("answer", [means, sums, matrix, dots, summed_elsewhere], ids=lambda answer: answer.__name__)
def test_a_dense_answer_hears_what_it_spends(answer):
    spent = operations(answer, COST.instance(np.random.default_rng(1)))
    assert 4**N - 2**N <= spent <= 4**N + 2 * 2**N
    feedback = check("99.1", answer)
    assert feedback.status == "wrong" and feedback.hint == "One."
    assert feedback.text == f"Right values, but {spent:,} operations for 128 numbers, where n·2ⁿ = 896 suffice."


def test_a_wrong_answer_hears_what_is_wrong_and_not_what_it_costs():
    assert "entries are wrong" in check("99.1", lambda table: matrix(table) + 1).text


def test_the_count_does_not_change_the_world_of_the_answer():
    operations(stacked, COST.instance(np.random.default_rng(1)))
    assert stacked.__globals__["np"] is np and "float" not in stacked.__globals__
    assert stacked(np.ones(2)).dtype == float


def test_counting_is_the_same_in_every_run_and_on_every_table():
    assert {operations(stacked, COST.instance(np.random.default_rng(seed))) for seed in range(3)} == {ENOUGH}


def test_an_answer_that_counting_numbers_cannot_follow_is_not_refused():
    assert check("99.1", lambda table: stacked(np.sqrt(np.abs(table)) ** 2 * np.sign(table))).status == "right"
