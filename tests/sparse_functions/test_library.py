"""The library of chapter 14: what it computes by two routes, and what it refuses."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flatcube import cube, sampling, sparse_functions, training
from flatcube.sparse_functions import learners, sparse_and

# --- functions --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.data())
def test_planted_functions_are_those_of_the_cube(n, data):
    members = tuple(sorted(data.draw(st.sets(st.integers(1, n), min_size=1))))
    points = cube.points(n)
    formula = " & ".join(f"x{i}" for i in members)
    assert np.array_equal(sparse_functions.conjunction(points, members), cube.formula(formula, n))
    assert np.array_equal(sparse_functions.parity(points, members), cube.subset_parity(members, n))


def test_planted_sets_are_uniform():
    rng = np.random.default_rng(0)
    found = [sparse_functions.planted(5, 2, rng=rng) for _ in range(5000)]
    counts = [found.count(pair) for pair in itertools.combinations(range(1, 6), 2)]
    assert sum(counts) == 5000 and min(counts) > 400 and max(counts) < 600


# --- search -----------------------------------------------------------------------------------------------------------


def _by_definition(signs, labels, s, f):
    sets = itertools.combinations(range(1, signs.shape[1] + 1), s)
    return [members for members in sets if np.array_equal(f(signs, members), labels)]


@settings(deadline=None)
@given(st.integers(1, 7), st.integers(0, 9), st.sampled_from(["and", "parity"]), st.data())
def test_consistent_sets_are_those_that_fit(T, m, function, data):
    s = data.draw(st.integers(1, T))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    signs = sampling.random_signs((m, T), rng=rng)
    f = {"and": sparse_functions.conjunction, "parity": sparse_functions.parity}[function]
    labels = f(signs, sparse_functions.planted(T, s, rng=rng))
    assert sparse_functions.consistent(signs, labels, s, function=function) == _by_definition(signs, labels, s, f)


def test_the_ideal_learner_guesses_without_examples_and_finds_the_set_with_many():
    value, error = sparse_functions.ideal(6, 2, 0, trials=4, rng=0)
    assert value == pytest.approx(1 / 15) and error == 0
    assert sparse_functions.ideal(6, 2, 400, trials=10, rng=0)[0] == 1
    few, more = (sparse_functions.ideal(8, 2, m, trials=60, rng=0)[0] for m in (4, 12))
    assert few < more


# --- critical sizes ---------------------------------------------------------------------------------------------------


def test_the_fit_finds_the_curve_that_made_the_data():
    m = np.array([40, 60, 80, 100, 140, 200])
    p = 1 / (1 + (90 / m) ** 5)
    critical, steepness = sparse_functions.fit(m, 1e4 * p, np.full(6, 1e4))
    assert critical == pytest.approx(90, rel=1e-4) and steepness == pytest.approx(5, rel=1e-3)


def test_the_bootstrap_error_is_the_spread_of_fits_to_fresh_data():
    m, n = np.array([60, 80, 100, 120]), np.full(4, 30)
    p = 1 / (1 + (90 / m) ** 6)
    rng = np.random.default_rng(3)
    fresh = np.std([sparse_functions.fit(m, rng.binomial(n, p), n)[0] for _ in range(200)])
    found, drawn = sparse_functions.bootstrap(m, np.round(n * p), n, repeats=200, rng=1)
    assert len(drawn) == 200 and found.low < 90 < found.high
    assert found.error == pytest.approx(fresh, rel=0.25)


def test_a_perfect_step_and_no_success_at_all_stay_finite():
    assert 60 < sparse_functions.fit([50, 60, 80, 100], [0, 0, 20, 20], [20] * 4)[0] < 80
    assert sparse_functions.fit([50, 100], [0, 0], [20, 20])[0] < 201
    assert sparse_functions.first_above([50, 100], [10, 0], [20, 20]) == math.inf  # half is not more than half
    assert sparse_functions.first_above([50, 100], [11, 20], [20, 20]) == 50


@pytest.mark.parametrize("name", sparse_functions.LAWS)
def test_laws_recognise_their_own_data(name):
    T = np.array([50, 100, 200, 400])
    best, *_ = sparse_functions.laws(T, 7 + 3 * sparse_functions.LAWS[name](T), np.ones(4))
    assert best.name == name and best.chi2 < 1e-12
    assert (best.intercept, best.slope) == (pytest.approx(7), pytest.approx(3))


def test_the_exponent_is_that_of_a_power_law():
    T = np.array([50, 100, 200])
    assert np.allclose(sparse_functions.exponent(T, np.stack([2 * T**0.3, T])), [0.3, 1])


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: sparse_functions.fit([1, 2], [3, 1], [2, 2]), "successes ≤ trials"),
        (lambda: sparse_functions.fit([1], [1], [2]), "two cells"),
        (lambda: sparse_functions.laws([1, 2], [1, 2], [1, 1]), "at least three"),
        (lambda: sparse_functions.laws([1, 2, 3], [1, 2, 3], [[[1, 1, 1]]]), r"errors: expected shape \(lengths,\)"),
        (lambda: sparse_functions.ideal(6, 2, 0, trials=10**6, rng=0), "trials: expected"),
        (lambda: sparse_functions.networks(6, [0], std=None), "std: expected a number"),
        (lambda: sparse_functions.networks(10**6, [0]), "T: expected"),
        (lambda: sparse_functions.exponent([1, 2], [1, 2, 3]), "expected"),
        (lambda: sparse_functions.consistent(np.ones((2, 3)), np.ones(2), 4), "s: expected"),
        (lambda: sparse_functions.survivors(2 * np.ones((1, 8)), 1, 0.1), "mean square"),
        (lambda: sparse_functions.conjunction(np.ones((2, 3)), (4,)), "members: expected"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()


# --- networks ---------------------------------------------------------------------------------------------------------


def test_the_network_is_that_of_the_paper():
    config = sparse_functions.networks(20, [0, 1]).config
    assert (config.width, config.heads, config.layers, config.hidden, config.std) == (64, 16, 1, 256, 0.02)
    assert (config.norm, config.embedding, config.cls) == ("pre", "added", True)


def test_errors_are_measured_on_inputs_that_were_held_out():
    (task,) = sparse_and.tasks(sparse_and.Trial(30, 20, (3,), points=64))
    (again,) = sparse_and.tasks(sparse_and.Trial(30, 20, (3,), points=64))
    bits, labels = task.evaluation()
    shown, _ = task.batch(20, seed=0, step=0)
    assert bits.shape == (64, 30) and not {row.tobytes() for row in bits} & {row.tobytes() for row in shown}
    assert np.array_equal(labels, again.evaluation()[1]) and np.array_equal(task.inputs, again.inputs)


def test_the_logistic_loss_is_that_of_torch_and_its_error_counts_wrong_signs():
    signs = sampling.random_signs((64, 6), rng=0)
    task = training.Task(lambda x: sparse_functions.parity(x, (1, 2)), 6, inputs=signs)
    first = sparse_functions.networks(6, [0], hidden=16, std=0.3)
    plan = learners.settings(1, 64, 1)
    run = training.train(first, task, plan, progress=False)
    with torch.no_grad():
        outputs = first.member(0)(torch.as_tensor(cube.to_bits(signs)))
    y = torch.as_tensor(task.values(signs))
    wanted = torch.nn.functional.binary_cross_entropy_with_logits(outputs, (y > 0).float())
    assert run.history["loss"][1] == pytest.approx(float(wanted), rel=1e-5)
    assert run.history["error"][0] == pytest.approx(float((outputs.sign() != y).float().mean()))
    with pytest.raises(ValueError, match="values ±1 for the logistic loss"):
        training.train(first, training.Task(lambda x: x.mean(1), 6), plan, progress=False)
