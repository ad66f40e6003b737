"""Evidence for the claims of chapter 14: each test names its claim, and a mutation on which it fails."""

import itertools
import math

import numpy as np
import pytest

from flatcube import cube, fourier, sampling, sparse_functions
from flatcube.sparse_functions import critical, sparse_and, targets

claim = pytest.mark.claim


def _natural(T, s):
    return math.log(math.comb(T, s))


@claim("ED-S5-LB", mutant=("flatcube.sparse_functions.counting.least_samples", _natural, "Natural logarithm."))
def test_fewer_labels_than_log2_of_the_number_of_sets_leave_two_of_them_alike():
    """Whatever the inputs: m labels give at most 2^m lists, so some sets share one; and no learner beats 2^m/N."""
    T, s, rng = 9, 3, np.random.default_rng(0)
    sets = list(itertools.combinations(range(1, T + 1), s))
    bound = sparse_functions.least_samples(T, s)
    m = math.ceil(bound) - 1
    assert 2**m < len(sets) <= 2 ** math.ceil(bound)
    for f in (targets.conjunction, targets.parity):
        for _ in range(20):
            signs = sampling.random_signs((m, T), rng=rng)
            alike = {tuple(f(signs, members)) for members in sets}
            assert len(alike) < len(sets)
            # One set of each group of sets with the same labels can be named: that is the best learner's success.
            assert len(alike) / len(sets) <= sparse_functions.most_success(T, s, m) < 1
    ratios = [sparse_functions.least_samples(T, s) / (s * math.log2(T)) for T in (10**3, 10**4, 10**5)]
    assert ratios == sorted(ratios) and 0.9 < ratios[-1] < 1  # of order s log T


def _never(m, successes, trials):
    return max(m)


@claim(
    "ED-S5-PROT",
    mutant=("flatcube.sparse_functions.critical.first_above", _never, "The largest sample size is always critical."),
)
def test_the_protocol_plants_trains_and_finds_where_half_of_the_trials_succeed():
    """A learner that needs 36 examples for half of its successes, in the place of the network."""
    rng = np.random.default_rng(5)
    m = [20, 30, 40, 50, 60]
    successes = [int(sum(rng.random(30) < 1 / (1 + (36 / size) ** 6))) for size in m]
    assert critical.first_above(m, successes, [30] * 5) == 40
    found, _ = critical.bootstrap(m, successes, [30] * 5, repeats=100, rng=0)
    assert found.low < 36 < found.high and 0 < found.error < 10
    paper = sparse_and.EXPERIMENT.trials("paper")
    assert {trial.T for trial in paper} == {100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800}
    assert {trial.m for trial in paper} == set(range(50, 201, 10)) and len({trial.seeds for trial in paper}) == 50
    (task,) = sparse_and.tasks(paper[0])
    assert task.inputs.shape == (50, 100) and task.evaluation()[0].shape == (10_000, 100)


def _linear(T, s, tolerance):
    return math.ceil(math.comb(T, s) * tolerance)


@claim(
    "ED-S5-SQ",
    mutant=("flatcube.sparse_functions.counting.least_queries", _linear, "The tolerance enters as τ, not τ²."),
)
def test_a_query_rules_out_at_most_one_over_tolerance_squared_parities():
    """Parseval: the squares of a query's coefficients add up to at most 1. A sum of 1/τ² parities reaches the bound."""
    T, s, tolerance, rng = 9, 3, 0.25, np.random.default_rng(0)
    N, most = math.comb(T, s), round(tolerance**-2)
    masks = np.flatnonzero(cube.weights(T) == s)
    for query in rng.normal(size=(10, 2**T)):
        left = sparse_functions.survivors(query / np.sqrt(np.mean(query**2)), s, tolerance)
        assert N - len(left) <= most
    best = []
    for start in range(0, N, most):  # each query is a sum of the next parities, a hair above the tolerance
        coefficients = np.zeros(2**T)
        coefficients[masks[start : start + most - 1]] = (1 + 1e-9) * tolerance
        best.append(fourier.inverse(coefficients))
    ruled = N - len(sparse_functions.survivors(np.array(best), s, tolerance))
    assert ruled == sum(len(masks[start : start + most - 1]) for start in range(0, N, most))
    needed = sparse_functions.least_queries(T, s, tolerance)
    assert needed == math.ceil((N - 1) / most)  # fewer queries leave two parities or more
    assert all(len(sparse_functions.survivors(np.array(best[:count]), s, tolerance)) > 1 for count in range(1, needed))
    growth = [math.log(sparse_functions.least_queries(2 * T, 3, 0.1) / sparse_functions.least_queries(T, 3, 0.1), 2)
              for T in (100, 1000)]  # fmt: skip
    assert growth == pytest.approx([3, 3], abs=0.05)  # of order T^s
