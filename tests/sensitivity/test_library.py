"""Sensitivity against its definition, on every route; intervals against their promise; refusals in words."""

import itertools
import math
import subprocess
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flatcube import cast, checks, cube, fourier, sampling, sensitivity
from flatcube.sensitivity import _edges

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def definition(table):
    """s(f, x) at every point, one flip at a time."""
    n = len(table).bit_length() - 1
    return np.array([sum((float(table[k]) - float(table[k ^ 1 << i])) ** 2 / 4 for i in range(n)) for k in range(2**n)])


def influence(table, i):
    return np.mean([(float(table[k]) - float(table[k ^ 1 << i])) ** 2 / 4 for k in range(len(table))])


def all_boolean(n):
    return np.array(list(itertools.product([1, -1], repeat=2**n)))


def majority(x):
    """MAJORITY on signs: −1 if more than half of the bits are one."""
    return np.where(x.sum(axis=1) < 0, -1, 1)


# --- exact, from tables -----------------------------------------------------------------------------------------------


@quick
@given(st.integers(0, 7).flatmap(lambda n: arrays(np.float64, 2**n, elements=st.floats(-9, 9, width=16))))
def test_real_tables_agree_with_the_definition(table):
    if _edges.is_bits(table):
        table = table + 2
    n = len(table).bit_length() - 1
    expected = definition(table)
    assert np.allclose(sensitivity.at_points(table), expected, rtol=1e-12, atol=0)
    assert math.isclose(sensitivity.average(table), expected.mean(), rel_tol=1e-12)
    assert math.isclose(sensitivity.maximum(table), expected.max(), rel_tol=1e-12)
    assert np.allclose(sensitivity.influences(table), [influence(table, i) for i in range(n)], rtol=1e-12, atol=0)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_all_boolean_functions_agree_with_the_definition_exactly(n):
    tables = all_boolean(n)
    expected = np.array([definition(table) for table in tables])
    found = sensitivity.at_points(tables)
    assert found.dtype.kind == "i" and (found == expected).all()
    assert (sensitivity.average(tables) == expected.mean(axis=1)).all()
    assert (sensitivity.maximum(tables) == expected.max(axis=1)).all()
    assert (sensitivity.average(tables < 0) == expected.mean(axis=1)).all()  # truth values: True is −1
    assert (sensitivity.average(tables.astype(np.float32)) == expected.mean(axis=1)).all()


@pytest.mark.parametrize("n", [5, 6, 7, 8, 12])
def test_packed_words_count_like_the_definition(n):
    table = cube.random_boolean(n, rng=n)
    points = sensitivity.at_points(table)
    assert (points == definition(table)).all()
    assert sensitivity.average(table) == points.mean()
    assert (sensitivity.influences(table) == [influence(table, i) for i in range(n)]).all()


@pytest.mark.parametrize("n", [16, 17, 18, 19])
def test_neighbours_in_different_pieces_are_found(n):
    """From 2^16 entries on, a table is looked through in pieces, and high variables lead from one to another."""
    points = np.arange(2**n)
    for table in (cube.random_boolean(n, rng=n), np.random.default_rng(n).standard_normal(2**n)):
        expected = sum((table - table[points ^ 1 << i]) ** 2 / 4 for i in range(n))
        assert np.allclose(sensitivity.at_points(table), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_boolean_influences_are_exact_in_every_dtype(dtype):
    table = cube.formula("x1 & (x2 ^ x9)", n=17)
    expected = np.zeros(17)
    expected[[0, 1, 8]] = 1 / 2
    assert (sensitivity.influences(table.astype(dtype)) == expected).all()


@pytest.mark.parametrize(
    ("n", "dtype", "rtol"), [(17, np.float64, 1e-12), (18, np.float64, 1e-12), (18, np.float32, 1e-5)]
)
def test_large_real_tables_agree_with_their_spectrum(n, dtype, rtol):
    table = np.random.default_rng(n).standard_normal(2**n).astype(dtype)
    table *= 1 + 0.1 * cube.subset_parity({1, 6, n}, n).astype(dtype)
    spectrum = fourier.spectrum(table.astype(np.float64))
    assert np.allclose(sensitivity.influences(table), sensitivity.spectral_influences(spectrum), rtol=rtol, atol=0)
    assert math.isclose(sensitivity.average(table), sensitivity.spectral_average(spectrum), rel_tol=rtol)


def test_large_integer_tables_need_no_conversion():
    weights = cube.weights(17)  # the number of ones: every flip changes it by one
    assert np.allclose(sensitivity.influences(weights), 1 / 4, rtol=1e-12, atol=0)


@pytest.mark.parametrize("height", [1e-3, 1e-6, 1e-9])
def test_nearly_constant_functions_keep_their_digits(height):
    """Products alone would leave 16 + 2·log10(height) digits of these influences: the differences save them."""
    n = 17
    table = 1.0 + height * (cube.subset_parity({1}, n) + 2.0 * cube.subset_parity({2, n}, n))
    found = sensitivity.influences(table) / height**2
    expected = np.zeros(n)
    expected[[0, 1, n - 1]] = 1, 4, 4
    rounding = 4 * np.finfo(float).eps / height
    assert np.allclose(found, expected, rtol=rounding, atol=0)
    assert (found[2:-1] == 0).all()  # variables that f ignores have influence zero, not almost zero


def test_stacked_tables_give_stacked_results():
    tables = np.random.default_rng(0).standard_normal((2, 3, 2**8))
    assert sensitivity.at_points(tables).shape == (2, 3, 2**8)
    assert sensitivity.influences(tables).shape == (2, 3, 8)
    for index in np.ndindex(2, 3):
        assert np.allclose(sensitivity.influences(tables)[index], sensitivity.influences(tables[index]), rtol=1e-13)
        assert math.isclose(sensitivity.maximum(tables)[index], sensitivity.maximum(tables[index]))
    large = np.stack([cube.majority(17), cube.parity(17)])
    assert (sensitivity.average(large) == [sensitivity.cast_average("MAJORITY", 17), 17]).all()


def test_layouts_do_not_matter_and_tables_stay_as_they_were():
    wide = np.random.default_rng(0).standard_normal((2**8, 2))
    kept = wide.copy()
    assert math.isclose(sensitivity.average(wide[:, 0]), sensitivity.average(wide[:, 0].copy()))
    assert (wide == kept).all()


def test_one_function_gives_plain_numbers():
    assert type(sensitivity.average(cube.majority(5))) is float
    assert type(sensitivity.maximum(cube.majority(5))) is int
    assert type(sensitivity.noise_stability(cube.majority(5), 0.5)) is float
    assert sensitivity.normalised(cube.parity(5)) == 1


@pytest.mark.parametrize("call", [sensitivity.average, sensitivity.influences, sensitivity.at_points])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: cube.random_boolean(n, rng=0),
        lambda n: np.random.default_rng(0).standard_normal(2**n),
        lambda n: np.random.default_rng(0).standard_normal(2**n, dtype=np.float32),
        lambda n: 1 + 1e-9 * np.random.default_rng(0).standard_normal(2**n),
    ],
)
def test_extra_memory_stays_under_two_tables(call, make):
    n = 22
    table = make(n)
    call(table[: 2**17])  # whatever is kept for later calls
    tracemalloc.start()
    try:
        call(table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    result = {np.dtype(np.int32): 4, np.dtype(np.float32): 8, np.dtype(np.float64): 8}[table.dtype] << n
    assert peak < (1.1 * result if call is sensitivity.at_points else table.nbytes / 2)


# --- noise ------------------------------------------------------------------------------------------------------------


def stability_by_enumeration(table, correlation):
    """E f(x) f(y), summed over all x and all flips z with their probabilities."""
    n = len(table).bit_length() - 1
    keep, flip = (1 + correlation) / 2, (1 - correlation) / 2
    chance = [flip ** z.bit_count() * keep ** (n - z.bit_count()) for z in range(2**n)]
    points = np.arange(2**n)
    return sum(chance[z] * np.mean(table * table[points ^ z]) for z in range(2**n))


@pytest.mark.parametrize("correlation", [-1, -0.3, 0, 0.2, 0.9, 1])
def test_noise_stability_agrees_with_enumeration(correlation):
    for seed in range(3):
        table = np.random.default_rng(seed).standard_normal(2**6)
        expected = stability_by_enumeration(table, correlation)
        assert math.isclose(sensitivity.noise_stability(table, correlation), expected, rel_tol=1e-11, abs_tol=1e-13)


def test_many_correlations_and_many_tables_at_once():
    tables, correlations = all_boolean(3), np.linspace(-1, 1, 5)
    found = sensitivity.noise_stability(tables, correlations)
    assert found.shape == (256, 5)
    for i, j in itertools.product((0, 77, 200), range(5)):
        assert math.isclose(found[i, j], sensitivity.noise_stability(tables[i], correlations[j]))


def test_disagreement_of_parity_and_first():
    assert math.isclose(sensitivity.disagreement(cube.parity(7), 0.6), (1 - 0.6**7) / 2)
    assert math.isclose(sensitivity.disagreement(cube.first(7), 0.6), 0.2)


@pytest.mark.parametrize("correlation", [-0.8, -0.2, 0.3, 0.5, 0.9])
def test_majority_approaches_the_arcsine_law(correlation):
    limit = sensitivity.majority_noise_limit(correlation)
    gaps = [abs(sensitivity.noise_stability(cube.majority(n), correlation) - limit) for n in (3, 7, 15)]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 0.06
    assert math.isclose(limit, 2 / math.pi * math.asin(correlation))


# --- the cast in closed form ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cast.NAMES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 12, 13])
def test_closed_forms_agree_with_enumeration(name, n):
    table = cast.table(name, n)
    assert math.isclose(sensitivity.average(table), sensitivity.cast_average(name, n), rel_tol=1e-12)
    assert math.isclose(sensitivity.maximum(table), sensitivity.cast_maximum(name, n), rel_tol=1e-12)


def test_majority_is_exact_at_any_length():
    assert sensitivity.cast_average("majority", 1001) == Fraction(1001 * math.comb(1000, 500), 2**1000)
    for n in (999, 1000, 1001, 1998, 1999, 2000, 2001, 2002, 10_001):
        assert math.isclose(sensitivity.majority_average(n), sensitivity.cast_average("MAJORITY", n), rel_tol=1e-15)
    for n in (101, 1001, 10**9 + 1, 10**18):
        relative = sensitivity.majority_average(n) / math.sqrt(n) / sensitivity.MAJORITY_CONSTANT
        assert abs(relative - 1) < 0.3 / n + 1e-15


# --- inequalities and other measures ----------------------------------------------------------------------------------


def test_poincare_and_kkl_on_all_small_functions():
    for n in (1, 2, 3):
        for table in all_boolean(n)[1:-1]:
            ratio = sensitivity.average(table) / np.var(table)
            assert ratio >= 1 and (ratio == 1) == (fourier.spectrum(table).degree == 1)
            assert sensitivity.influences(table).max() >= sensitivity.kkl_bound(table)


@pytest.mark.parametrize("table", [cube.tribes(3, 4), cube.majority(11), cube.address(3), cube.conjunction(9)])
def test_poincare_and_kkl_on_larger_functions(table):
    assert sensitivity.average(table) > np.var(table)
    assert sensitivity.influences(table).max() >= sensitivity.kkl_bound(table) > 0


def test_the_distance_bound_is_attained_by_half_a_parity():
    for n in (2, 5, 9):
        f = cube.parity(n).astype(float)
        assert sensitivity.distance_bound(f, f / 2) == pytest.approx(0.5)  # which is ‖f − f/2‖


def test_dropping_high_degrees_costs_majority_sensitivity_but_little_distance():
    away = []
    for n in (101, 1001, 10001):
        degrees, weights = np.arange(n + 1), sensitivity.majority_profile(n)
        low = degrees <= n // 10
        assert 0.15 < np.sum((degrees * weights)[low]) / sensitivity.majority_average(n) < 0.25
        away.append(np.sqrt(np.sum(weights[~low])))
    assert np.divide(away[1:], away[:-1]) == pytest.approx(10**-0.25, rel=0.01)  # like n to the power −1/4


def test_near_sensitivity_zero_poincare_keeps_a_balanced_function_away():
    rng = np.random.default_rng(0)
    for f in (cube.first(4), cube.parity(4), cube.majority(3)):
        g = rng.normal(size=(200, len(f))) * rng.uniform(size=(200, 1))
        away, bound = np.sqrt(np.mean((f - g) ** 2, axis=1)), 1 - np.sqrt(sensitivity.average(g))
        assert (away >= bound - 1e-12).all() and (bound > 0).any()


def test_real_functions_keep_the_power_bound_with_their_weight():
    rng = np.random.default_rng(0)
    for r in (0.0, 0.2, 0.8, 1.0):
        for f in rng.normal(size=(50, 16)):
            weight = np.mean(f**2)
            power = weight * r ** (sensitivity.average(f) / weight)
            assert sensitivity.noise_stability(f, r) >= power - 1e-12


def test_square_tribes_attain_the_square_of_their_sensitivity():
    for w in (1, 2, 3, 4):
        f = cube.tribes(w, w)
        assert (sensitivity.maximum(f), fourier.spectrum(f).degree) == (w, w * w)


def test_separation_of_a_parity_from_a_constant():
    """as(g) = 0 leaves the first term: √((1 − 1/α) μ/(1 − μ/α)) with μ = as(f)/n, tending to √μ."""
    f, g = cube.subset_parity({1, 2, 3}, 6), np.ones(64)
    for alpha in (1.5, 2, 100):
        expected = math.sqrt((1 - 1 / alpha) * 0.5 / (1 - 0.5 / alpha))
        assert math.isclose(sensitivity.separation(f, g, alpha), expected)


@pytest.mark.parametrize(
    ("table", "measures"),  # (s, bs, C, D)
    [
        (np.array([1]), (0, 0, 0, 0)),
        (cube.parity(5), (5, 5, 5, 5)),
        (cube.conjunction(4), (4, 4, 4, 4)),
        (cube.majority(5), (3, 3, 3, 5)),
        (cube.address(2), (3, 3, 3, 3)),
        (cube.first(4), (1, 1, 1, 1)),
        (cube.formula("(x1 & x2) | (~x1 & x3)"), (2, 2, 2, 2)),
    ],
)
def test_measures_of_known_functions(table, measures):
    found = (
        sensitivity.maximum(table),
        sensitivity.block_sensitivity(table),
        sensitivity.certificate_complexity(table),
        sensitivity.decision_depth(table),
    )
    assert found == measures


def test_blocks_can_beat_single_variables():
    table = checks.table(np.isin(np.arange(16), [3, 4, 6, 7, 8, 9, 11, 12]))
    assert sensitivity.maximum(table) == 2 and sensitivity.block_sensitivity(table) == 3
    assert all(sensitivity.maximum(f) == sensitivity.block_sensitivity(f) for n in range(4) for f in all_boolean(n))


def test_the_chain_of_measures():
    rng = np.random.default_rng(3)
    for table in [*all_boolean(2), *all_boolean(3), *(cube.random_boolean(4, rng=rng) for _ in range(60))]:
        s, blocks = sensitivity.maximum(table), sensitivity.block_sensitivity(table)
        certificate, depth = sensitivity.certificate_complexity(table), sensitivity.decision_depth(table)
        degree = fourier.spectrum(table).degree
        assert s <= blocks <= certificate <= depth
        assert certificate <= s * blocks and degree <= depth <= certificate**2
        assert degree <= sensitivity.huang_bound(table) == s**2


def brute_force_blocks(table, x, free):
    """The most disjoint blocks inside `free` whose flip changes f at x, by trying every first block."""
    blocks = [block for block in range(1, free + 1) if block & free == block and table[x ^ block] != table[x]]
    return max((1 + brute_force_blocks(table, x, free ^ block) for block in blocks), default=0)


def test_block_sensitivity_agrees_with_recursion():
    """Signs of random quadratic forms: smooth enough for blocks to beat single variables."""
    rng, x = np.random.default_rng(0), cube.points(5).astype(float)
    larger = 0
    for form in rng.standard_normal((25, 5, 5)):
        table = np.where(np.einsum("ki,ij,kj->k", x, form, x) > rng.standard_normal(), 1, -1)
        expected = max(brute_force_blocks(table, point, 31) for point in range(32))
        assert sensitivity.block_sensitivity(table) == expected
        larger += expected > sensitivity.maximum(table)
    assert larger >= 3


def brute_force_depth(table):
    """The depth of the best decision tree, by trying every first question."""
    if (table == table[0]).all():
        return 0
    n = len(table).bit_length() - 1
    halves = (table.reshape(-1, 2, 1 << i) for i in range(n))
    return 1 + min(max(brute_force_depth(half[:, bit].reshape(-1)) for bit in (0, 1)) for half in halves)


def test_decision_depth_agrees_with_recursion():
    for table in [*all_boolean(3)[::5], *(cube.random_boolean(5, rng=seed) for seed in range(5))]:
        assert sensitivity.decision_depth(table) == brute_force_depth(table)


# --- intervals --------------------------------------------------------------------------------------------------------


def binomial_tail(k, m, p, at_most):
    """P[Bin(m, p) ≤ k] or P[≥ k], exact."""
    terms = range(k + 1) if at_most else range(k, m + 1)
    return sum(Fraction(math.comb(m, j)) * p**j * (1 - p) ** (m - j) for j in terms)


@pytest.mark.parametrize(("k", "m"), [(0, 5), (1, 5), (5, 5), (3, 40), (20, 40), (39, 40)])
def test_proportions_solve_the_binomial_equations(k, m):
    low, high = sampling.proportion(k, m, 0.9)
    if k > 0:
        assert math.isclose(binomial_tail(k, m, Fraction(low), at_most=False), 0.05, rel_tol=1e-9)
    if k < m:
        assert math.isclose(binomial_tail(k, m, Fraction(high), at_most=True), 0.05, rel_tol=1e-9)
    assert low < k / m < high or k in (0, m)
    assert low < high


def test_proportions_of_large_samples_approach_the_normal_interval():
    m = 10**6
    for k in (1000, 300_000, 999_990):
        low, high = sampling.proportion(k, m, 0.95)
        width = 2 * 1.959964 * math.sqrt(k * (m - k) / m) / m
        if k < 999_000:  # ten failures are no large sample
            assert math.isclose(high - low, width, rel_tol=0.02)
        assert low < k / m < high


def test_the_empirical_bernstein_bound_has_the_printed_constants():
    """Maurer and Pontil's Theorem 4, on both sides: √(2 V log(4/δ)/m) + 7 log(4/δ)/(3(m − 1)); V = 25/99 by hand."""
    mean, low, high = sampling.bounded_mean(np.array([0.0, 1.0] * 50), -9, 10, 0.95)
    half = math.sqrt(0.5050505 * 4.3820266 / 100) + 19 * 7 * 4.3820266 / 297
    assert mean == 0.5 and math.isclose(low, 0.5 - half, rel_tol=1e-6) and math.isclose(high, 0.5 + half, rel_tol=1e-6)
    assert sampling.bounded_mean(np.zeros(10), 0, 1, 0.95)[1] == 0  # cut off at the range


@pytest.mark.parametrize(("k", "m"), [(3, 100), (700, 1000), (9_000, 20_000), (300_000, 10**6), (10**6 - 10, 10**6)])
def test_proportions_are_quantiles_of_the_beta_distribution(k, m):
    beta = pytest.importorskip("scipy.stats").beta
    expected = beta.ppf(0.025, k, m - k + 1), beta.ppf(0.975, k + 1, m - k)
    assert np.allclose(sampling.proportion(k, m, 0.95), expected, rtol=1e-7, atol=0)


@pytest.mark.parametrize("p", [0.0, 0.001, 0.05, 0.3, 0.5, 0.97, 1.0])
def test_coverage_of_proportions_computed_exactly(p):
    m = 60
    covered = 0.0
    for k in range(m + 1):
        low, high = sampling.proportion(k, m, 0.95)
        covered += math.comb(m, k) * p**k * (1 - p) ** (m - k) * (low <= p <= high)
    assert covered >= 0.95 - 1e-12


def spike(x):
    """Nearly constant: −1 at the points whose first six bits are one, +1 elsewhere."""
    return np.where((x[:, :6] < 0).all(axis=1), -1, 1)


ESTIMATED = {
    "MAJORITY": (majority, 9, float(sensitivity.cast_average("MAJORITY", 9)), None),
    "PARITY": (lambda x: x.prod(axis=1), 9, 9.0, None),
    "constant": (lambda x: np.ones(len(x)), 9, 0.0, None),
    "nearly constant": (spike, 9, 6 * 2**-5, None),
    "MEAN": (lambda x: x.mean(axis=1), 9, 1 / 9, 1.0),
    "zero": (lambda x: np.zeros(len(x)), 9, 0.0, None),
    "real constant": (lambda x: np.full(len(x), 0.3), 9, 0.0, None),
    "real, nearly constant": (lambda x: 0.5 * spike(x), 9, 6 * 2**-5 / 4, 0.5),
    "real, skewed": (lambda x: np.exp(x[:, :3].sum(axis=1)), 9, None, math.exp(3)),
}


@pytest.mark.parametrize("name", ESTIMATED)
def test_intervals_cover_as_often_as_they_promise(name):
    f, n, truth, bound = ESTIMATED[name]
    truth = sensitivity.average(cube.table(f, n)) if truth is None else truth
    found = [sensitivity.estimate(f, n, samples=120, rng=seed, bound=bound, confidence=0.9) for seed in range(1000)]
    assert all(estimate.high > estimate.low for estimate in found)
    assert all(estimate.low <= estimate.value <= estimate.high for estimate in found)
    assert sum(estimate.covers(truth) for estimate in found) >= 900


@pytest.mark.parametrize("name", ["MAJORITY", "constant", "MEAN"])
def test_intervals_of_noise_stability_cover(name):
    f, n, _, bound = ESTIMATED[name]
    stability = sensitivity.noise_stability(cube.table(f, n), 0.7)
    options = {"samples": 80, "bound": bound, "confidence": 0.9}
    found = [sensitivity.estimate_noise_stability(f, n, 0.7, rng=seed, **options) for seed in range(1000)]
    assert all(estimate.high > estimate.low for estimate in found)
    slack = 2 * math.sqrt(0.9 * 0.1 / 1000)  # two standard errors of a coverage of exactly 0.9
    assert np.mean([estimate.covers(stability) for estimate in found]) >= 0.9 - slack


def test_intervals_shrink_with_the_sample():
    widths = []
    for samples in (100, 1600, 25_600):
        estimate = sensitivity.estimate(majority, 101, samples=samples, rng=0, confidence=0.999)
        widths.append(estimate.high - estimate.low)
        assert estimate.covers(float(sensitivity.cast_average("MAJORITY", 101)))
    assert widths[0] / widths[1] > 3 and widths[1] / widths[2] > 3.5


def test_estimates_are_reproducible_and_count_their_queries():
    asked = []

    def f(x):
        asked.append(len(x))
        assert x.dtype == np.int8 and np.isin(x, (-1, 1)).all() and x.shape[1] == 40
        return x[:, :4].prod(axis=1)

    first = sensitivity.estimate(f, 40, samples=500, rng=7)
    assert sum(asked) == first.queries == 1000 and first.samples == 500
    assert first == sensitivity.estimate(f, 40, samples=500, rng=np.random.default_rng(7))
    assert first != sensitivity.estimate(f, 40, samples=500, rng=8)
    asked.clear()
    assert sensitivity.estimate_noise_stability(f, 40, 0.5, samples=50, rng=0).queries == sum(asked) == 100
    asked.clear()
    assert (sensitivity.at(f, sampling.random_signs((5, 40), rng=0)) == 4).all() and sum(asked) == 41 * 5


def test_large_samples_reach_the_function_in_batches():
    largest = []
    sensitivity.estimate(lambda x: largest.append(x.size) or x[:, 0], 1000, samples=5000, rng=0)
    assert len(largest) > 1 and max(largest) <= 2**21


def test_points_of_a_black_box_agree_with_the_table():
    table = np.random.default_rng(0).standard_normal(64)
    found = sensitivity.at(lambda x: table[cube.index(x)], cube.points(6))
    assert np.allclose(found, sensitivity.at_points(table), rtol=1e-13)


def test_an_estimate_reads_like_a_sentence():
    text = repr(sensitivity.estimate(lambda x: x.prod(axis=1), 9, samples=100, rng=0))
    assert text == "Estimate 9., between 8.674 and 9. with confidence 0.95 (Clopper–Pearson, 200 queries)"


# --- torch ------------------------------------------------------------------------------------------------------------


def test_importing_the_library_does_not_import_torch():
    code = "import sys, flatcube.sensitivity, flatcube.queries; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_functions_of_torch_count_as_black_boxes():
    torch = pytest.importorskip("torch")
    expected = sensitivity.estimate(lambda x: x[:, 0] * x[:, 1], 8, samples=200, rng=0)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64):
        returned = sensitivity.estimate(
            lambda x, dtype=dtype: torch.from_numpy(x[:, 0] * x[:, 1]).to(dtype), 8, samples=200, rng=0
        )
        assert returned == expected


def test_a_module_is_asked_without_gradients():
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(8, 1, dtype=torch.float64)
    model = torch.nn.Sequential(linear, torch.nn.Flatten(0))
    weights = linear.weight.detach().numpy()[0]
    found = sensitivity.at(model, sampling.random_signs((50, 8), rng=0))
    assert np.allclose(found, (weights**2).sum()) and linear.weight.grad is None


# --- refusals ---------------------------------------------------------------------------------------------------------

BITS = np.array([0, 1, 1, 0])
ONE = {"samples": 10, "rng": 0}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sensitivity.average(BITS), ValueError, "table: expected −1 and +1 or real values, got only 0 and 1"),
        (lambda: sensitivity.influences(BITS.astype(float)), ValueError, "got only 0 and 1"),
        (lambda: sensitivity.at_points(BITS), ValueError, "cube.to_signs"),
        (lambda: sensitivity.maximum(BITS), ValueError, "got only 0 and 1"),
        (lambda: sensitivity.noise_stability(BITS, 0.5), ValueError, "got only 0 and 1"),
        (lambda: sensitivity.disagreement(cube.mean(3), 0.5), ValueError, "table: expected a Boolean table"),
        (lambda: sensitivity.average([1, -1, 1]), ValueError, "power of two, got 3"),
        (lambda: sensitivity.average([1, np.nan]), ValueError, "table: expected finite numbers, got nan"),
        (lambda: sensitivity.average(np.zeros((0, 4))), ValueError, "table: expected at least one function"),
        (lambda: sensitivity.average(["a", "b"]), TypeError, "table: expected real numbers"),
        (lambda: sensitivity.average(1e200 * cube.mean(13)), ValueError, "too large for float64; scale the table down"),
        (lambda: sensitivity.normalised([1]), ValueError, "n: expected an integer ≥ 1, got 0"),
        (lambda: sensitivity.noise_stability([1, -1], 1.5), ValueError, "correlation: expected numbers from -1 to 1"),
        (lambda: sensitivity.maximum_bound(2, -0.5), ValueError, "correlation: expected numbers from 0 to 1"),
        (lambda: sensitivity.cast_average("MODE", 3), ValueError, "name: expected PARITY, MAJORITY, FIRST or MEAN"),
        (lambda: sensitivity.cast_average("PARITY", 0), ValueError, "n: expected an integer ≥ 1, got 0"),
        (lambda: sensitivity.cast_maximum("PARITY", 2.5), TypeError, "n: expected an integer, got float"),
        (lambda: sensitivity.kkl_bound([1, 1]), ValueError, "table: expected one function that is not constant"),
        (lambda: sensitivity.separation([1, 1], [1, -1]), ValueError, "f: expected a function that is not constant"),
        (lambda: sensitivity.separation([1, -1], [1, 1], 1), ValueError, "alpha: expected a number above 1, got 1"),
        (lambda: sensitivity.separation([1, -1], cube.parity(3)), ValueError, "g: expected a table of length 2 like f"),
        (lambda: sensitivity.huang_bound(cube.mean(3)), ValueError, "table: expected a Boolean table"),
        (lambda: sensitivity.kkl_bound(cube.mean(3)), ValueError, "table: expected a Boolean table"),
        (lambda: sensitivity.cast_average(3, 3), ValueError, "name: expected PARITY, MAJORITY, FIRST or MEAN, got 3"),
        (lambda: sensitivity.block_sensitivity(cube.mean(3)), ValueError, "table: expected a Boolean table"),
        (lambda: sensitivity.decision_depth(all_boolean(1)), ValueError, "table: expected one function, got shape"),
        (lambda: sampling.proportion(5, 3, 0.95), ValueError, "successes: expected an integer from 0 to 3, got 5"),
        (lambda: sensitivity.decision_depth(cube.parity(11)), ValueError, "at most 10 variables, got n = 11"),
        (lambda: sensitivity.at(np.prod, cube.to_bits(cube.points(3))), ValueError, "points: expected −1 and +1"),
        (lambda: sensitivity.at(np.prod, [1, -1]), ValueError, "points: expected shape (batch, n), got (2,)"),
        (lambda: sensitivity.estimate(lambda x: (x[:, 0] < 0) * 1, 4, **ONE), ValueError, "f: expected −1 and +1 or"),
        (lambda: sensitivity.estimate(lambda x: x, 4, **ONE), ValueError, "f: expected 20 values for points of shape"),
        (lambda: sensitivity.estimate(lambda x: x[:, 0] / 0.0, 4, **ONE), ValueError, "f: expected finite values"),
        (lambda: sensitivity.estimate(lambda x: x[:, 0] * 1j, 4, **ONE), TypeError, "f: expected real values"),
        (lambda: sensitivity.estimate(majority, 0, **ONE), ValueError, "n: expected an integer from 1 to"),
        (lambda: sensitivity.estimate(majority, 10**18, **ONE), ValueError, "n: expected an integer from 1 to"),
        (
            lambda: sensitivity.estimate(majority, 4, samples=1, rng=0),
            ValueError,
            "samples: expected an integer from 2",
        ),
        (lambda: sensitivity.estimate(majority, 4, samples=10**18, rng=0), ValueError, "samples: expected an integer"),
        (lambda: sensitivity.estimate(majority, 4, samples=10, rng=None), TypeError, "rng: expected a numpy Generator"),
        (lambda: sensitivity.estimate(None, 4, **ONE), TypeError, "f: expected a function that maps signs"),
        (
            lambda: sensitivity.estimate(majority, 4, **ONE, bound=np.nan),
            ValueError,
            "bound: expected a number above 0",
        ),
        (lambda: sensitivity.at(majority, np.ones((0, 3))), ValueError, "points: expected at least one"),
        (lambda: sensitivity.cast_average("MAJORITY", 10**18), ValueError, "n: expected an integer from 1 to 100000"),
        (lambda: sensitivity.majority_average(10**30), ValueError, "n: expected an integer from 1 to"),
        (lambda: sensitivity.spectral_average([1, 2]), TypeError, "spectrum: expected fourier.Spectrum, got list"),
        (lambda: sensitivity.maximum_bound(np.nan, 0.5), ValueError, "maximum: expected finite numbers, got nan"),
        (lambda: sensitivity.average_bound(-1, 0.5), ValueError, "average: expected numbers from 0 to 1e+100, got -1"),
        (lambda: sensitivity.power_bound([1, 2, 3], [0.5, 1]), ValueError, "average: expected a shape that fits (2,)"),
        (lambda: sensitivity.power_bound(1, None), TypeError, "correlation: expected real numbers"),
        (lambda: sensitivity.separation([1, -1], [1, 1], np.inf), ValueError, "alpha: expected a number from 1 to"),
        (lambda: sensitivity.separation([1, -1], [0, 1]), ValueError, "g: expected −1 and +1 or real values"),
        (lambda: sampling.proportion(1, 10**18, 0.95), ValueError, "trials: expected an integer from 1 to 10000000000"),
        (lambda: sampling.random_signs((3, -1), rng=0), ValueError, "shape: expected an integer ≥ 0, got -1"),
        (lambda: sampling.random_signs((10**9, 10**9), rng=0), ValueError, "shape: expected what fits in the"),
        (lambda: sampling.random_signs(3, rng=None), TypeError, "rng: expected a numpy Generator"),
        (lambda: sampling.evaluate(majority, [[0, 1]]), ValueError, "points: expected −1 and +1, got bits"),
        (lambda: sampling.evaluate(majority, [1, 1]), ValueError, "points: expected shape (batch, n), got (2,)"),
        (lambda: sampling.evaluate(lambda x: [[1], [1, 2]], [[1]]), ValueError, "f: expected an array, got lists of"),
        (lambda: sampling.bounded_mean([1.0], 0, 1, 0.9), ValueError, "numbers: expected at least two, (m, …), got"),
        (
            lambda: sampling.bounded_mean([1.0, 2.0], 0, 1, 0.9),
            ValueError,
            "numbers: expected numbers from 0 to 1, got 2",
        ),
        (lambda: sampling.bounded_mean([1.0, 2.0], 2, 1, 0.9), ValueError, "low: expected at most high = 1, got 2"),
        (lambda: sensitivity.estimate(majority, 4, **ONE, confidence=95), ValueError, "confidence: expected a number"),
        (lambda: sensitivity.estimate(lambda x: 3.0 * x[:, 0], 4, **ONE, bound=2), ValueError, "bound: expected at"),
        (lambda: sensitivity.estimate_noise_stability(majority, 4, 2, **ONE), ValueError, "correlation: expected"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with np.errstate(all="ignore"), pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 240
