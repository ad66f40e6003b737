"""Evidence for the claims of chapter 2: exhaustive on small cubes, closed forms beyond, each test able to fail.

Sensitivity and noise are computed here from their definitions, one flip at a time, so that the library's packed,
threaded and spectral routes meet an independent one.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from flatcube import cube, fourier, sampling, sensitivity
from flatcube.sensitivity import _edges

claim = pytest.mark.claim


# --- independent routes -----------------------------------------------------------------------------------------------


def all_boolean(n):
    """Every ±1 table on n variables, (2^(2^n), 2^n)."""
    return np.array(list(itertools.product([1, -1], repeat=2**n)), np.int8)


def neighbours(tables):
    """The values of f at the neighbours of each point, (n, …, 2^n)."""
    points = np.arange(tables.shape[-1])
    return np.array([tables[..., points ^ 1 << i] for i in range(len(points).bit_length() - 1)])


def changes(tables):
    """Σ_i (f(x) − f(x^{⊕i}))²/4 at every point, from the definition (HR Def. 3)."""
    return np.square(tables.astype(float) - neighbours(tables)).sum(axis=0) / 4


def disagreements(tables, correlation):
    """P[f(x) ≠ f(y)] by summing over all x and all patterns of flips."""
    points = np.arange(tables.shape[-1])
    n = len(points).bit_length() - 1
    total = np.zeros(tables.shape[:-1])
    for z in points:
        flips = int(z).bit_count()
        chance = ((1 - correlation) / 2) ** flips * ((1 + correlation) / 2) ** (n - flips)
        total += chance * (tables != tables[..., points ^ z]).mean(axis=-1)
    return total


# --- mutants of several tests -----------------------------------------------------------------------------------------

_pointwise, _mean_changes = _edges.pointwise, _edges.mean_changes
_average, _maximum, _separation = sensitivity.average, sensitivity.maximum, sensitivity.separation
_cast_average, _cast_maximum = sensitivity.cast_average, sensitivity.cast_maximum


def unscaled(tables, n):
    return 4 * _mean_changes(tables, n)


def one_end(tables, n):
    return _mean_changes(tables, n) / 2


def wrapped(flat, n):
    """Forgets the highest variable."""
    return _pointwise(flat, max(n - 1, 0))


UNSCALED = ("flatcube.sensitivity._edges.mean_changes", unscaled, "The factor 1/4 is forgotten.")
ONE_END = ("flatcube.sensitivity._edges.mean_changes", one_end, "Each edge counts for one of its two ends only.")
UNSCALED_POINTS = (
    "flatcube.sensitivity._edges.pointwise",
    lambda flat, n: 4 * _pointwise(flat, n),
    "The factor 1/4 is forgotten.",
)
FORGETFUL = ("flatcube.sensitivity._edges.pointwise", wrapped, "The last variable is never flipped.")


# --- definitions ------------------------------------------------------------------------------------------------------


@claim(
    "HR-D3",
    mutant=[UNSCALED, ONE_END, UNSCALED_POINTS, FORGETFUL],
    note="six random real functions of each n ≤ 8, and two of n = 17",
)
def test_average_sensitivity_is_the_mean_and_the_total_influence():
    rng = np.random.default_rng(0)
    for n in [*range(1, 9)] * 6 + [17, 17]:
        table = rng.standard_normal(2**n)
        expected = changes(table)
        spectrum = fourier.spectrum(table)
        assert np.allclose(sensitivity.at_points(table), expected, rtol=1e-12, atol=0)
        influence = np.square(table - neighbours(table)).mean(axis=1) / 4
        assert np.allclose(sensitivity.influences(table), influence, rtol=1e-10, atol=0)
        assert np.allclose(sensitivity.spectral_influences(spectrum), influence, rtol=1e-10, atol=0)
        for route in (sensitivity.average(table), sensitivity.spectral_average(spectrum), influence.sum()):
            assert math.isclose(route, expected.mean(), rel_tol=1e-10)


@claim("HR-D3b", mutant=[UNSCALED_POINTS, FORGETFUL], note="all Boolean functions with n ≤ 4, exactly")
def test_boolean_sensitivity_counts_the_neighbours_that_differ():
    for n in range(1, 5):
        tables = all_boolean(n)
        assert (sensitivity.at_points(tables) == (neighbours(tables) != tables).sum(axis=0)).all()


@claim(
    "VA-D-S",
    mutant=[
        UNSCALED,
        UNSCALED_POINTS,
        ("flatcube.sensitivity.measures.normalised", _average, "Nothing is divided by n."),
    ],
    note="all Boolean functions with n ≤ 4, exactly",
)
def test_the_counts_their_mean_and_the_normalised_mean():
    for n in range(1, 5):
        tables = all_boolean(n)
        counts = (neighbours(tables) != tables).sum(axis=0)
        assert (sensitivity.at_points(tables) == counts).all()
        assert (sensitivity.average(tables) == counts.mean(axis=1)).all()
        assert (sensitivity.normalised(tables) == counts.mean(axis=1) / n).all()


# --- the cast ---------------------------------------------------------------------------------------------------------


@claim("HR-S3-PAR", mutant=[UNSCALED, FORGETFUL], note="all points with n ≤ 16")
def test_every_flip_changes_parity():
    for n in range(1, 17):
        assert (sensitivity.at_points(cube.parity(n)) == n).all()
        assert sensitivity.average(cube.parity(n)) == n == sensitivity.cast_average("PARITY", n)


def highly_sensitive(name, n):
    return _cast_maximum(name, n) if name == "MAJORITY" else _cast_average(name, n)


def by_all_subsets(name, n):
    """C(n, k) in place of C(2k, k): right for even n only."""
    k = n // 2
    return Fraction(n * math.comb(n, k), 4**k) if name == "MAJORITY" else _cast_average(name, n)


@claim(
    "HR-S3-MAJ",
    printed=(
        "flatcube.sensitivity.bounds.cast_average",
        highly_sensitive,
        "MAJORITY counts as a highly sensitive function.",
    ),
    erratum=25,
    mutant=[
        ONE_END,
        ("flatcube.sensitivity.bounds.cast_average", by_all_subsets, "Odd lengths count C(n, k) for C(n − 1, k)."),
        (
            "flatcube.sensitivity.bounds.MAJORITY_CONSTANT",
            math.sqrt(1 / math.pi),
            "The constant lacks the factor √2.",
        ),
    ],
    note="enumerated for n ≤ 16, in closed form to n = 1001; as/√n stays between 0.7 and 1 and tends to √(2/π)",
)
def test_the_sensitivity_of_majority_grows_like_the_root_of_n():
    for n in range(1, 17):
        assert sensitivity.average(cube.majority(n)) == sensitivity.cast_average("MAJORITY", n)
    for n in range(1, 200):
        assert 0.7 <= float(sensitivity.cast_average("MAJORITY", n)) / math.sqrt(n) <= 1
    for n in (101, 1001):
        average = float(sensitivity.cast_average("MAJORITY", n))
        assert abs(average / math.sqrt(n) / sensitivity.MAJORITY_CONSTANT - 1) < 0.3 / n
        assert round(average / n, 3) == {101: 0.080, 1001: 0.025}[n]


@claim(
    "HR-S3-MAJmax",
    printed=(
        "flatcube.sensitivity.bounds.cast_maximum",
        lambda name, n: Fraction(n),
        "Nearly balanced strings have s = n.",
    ),
    erratum=2,
    mutant=FORGETFUL,
    note="all points with n ≤ 16",
)
def test_the_maximum_of_majority_is_half_of_n_plus_one():
    for n in range(1, 17):
        counts = sensitivity.at_points(cube.majority(n))
        assert counts.max() == sensitivity.maximum(cube.majority(n)) == sensitivity.cast_maximum("MAJORITY", n)
        assert (counts.max() == n) == (n <= 2)
    assert sensitivity.cast_maximum("MAJORITY", 9) == 5 and sensitivity.cast_maximum("MAJORITY", 16) == 9


@claim(
    "HR-S3-FIRST",
    mutant=[UNSCALED, ("flatcube.cube.functions.first", cube.majority, "FIRST is MAJORITY.")],
    note="n ≤ 16",
)
def test_first_has_sensitivity_one_everywhere():
    for n in range(1, 17):
        assert (sensitivity.at_points(cube.first(n)) == 1).all()
        assert sensitivity.average(cube.first(n)) == 1 == sensitivity.cast_average("FIRST", n)


@claim("HR-S3-KPAR", mutant=[UNSCALED, ONE_END], note="every subset with n ≤ 8; sparsity one")
def test_a_k_parity_has_sensitivity_k_whatever_n_is():
    for n in range(1, 9):
        for mask in range(2**n):
            table = cube.subset_parity(cube.subset(mask), n)
            assert sensitivity.average(table) == mask.bit_count()
            assert fourier.spectrum(table).sparsity == 1


@claim("HR-S3-MEAN", mutant=[UNSCALED, ONE_END], note="n ≤ 17")
def test_mean_has_average_sensitivity_one_over_n():
    for n in range(1, 18):
        assert math.isclose(sensitivity.average(cube.mean(n)), 1 / n, rel_tol=1e-12)
        assert sensitivity.cast_average("MEAN", n) == Fraction(1, n)


@claim(
    "HR-S4-MEAN",
    printed=(
        "flatcube.sensitivity.bounds.cast_maximum",
        lambda name, n: Fraction(1, n**2),
        "The pointwise sensitivity of MEAN is 1/n².",
    ),
    erratum=1,
    mutant=UNSCALED_POINTS,
    note="all points with n ≤ 16",
)
def test_mean_has_sensitivity_one_over_n_at_every_point():
    for n in range(2, 17):
        expected = float(sensitivity.cast_maximum("MEAN", n))
        assert np.allclose(sensitivity.at_points(cube.mean(n)), expected, rtol=1e-12, atol=0)
    assert math.isclose(sensitivity.maximum(cube.mean(10)), 0.1, rel_tol=1e-12)


@claim(
    "VA-A6N",
    printed=("flatcube.sensitivity.measures.normalised", _average, "Eq. (1), which is not normalised, gives p/d."),
    erratum=35,
    mutant=UNSCALED,
    note="exact: 4 flips of 40 change the parity at every point; also from a table, 4/16",
)
def test_a_parity_of_four_bits_among_forty_has_normalised_sensitivity_a_tenth():
    assert sensitivity.normalised(cube.subset_parity({1, 4, 9, 16}, 16)) == 4 / 16
    points = sampling.random_signs((50, 40), rng=0)
    counts = sensitivity.at(lambda x: x[:, :4].prod(axis=1), points)
    assert (counts / 40 == 0.1).all()


# --- Huang, noise, robustness -----------------------------------------------------------------------------------------


@claim(
    "VA-HUANG",
    mutant=[
        ("flatcube.sensitivity.bounds.huang_bound", _maximum, "The degree is bounded by s, without the square."),
        FORGETFUL,
    ],
    note="all {count:,} Boolean functions with 0 ≤ n ≤ 4; 1,000 random ones with n = 6",
)
def test_the_degree_is_at_most_the_square_of_the_maximum_sensitivity():
    families = [all_boolean(n) for n in range(5)] + [np.random.default_rng(0).choice([-1, 1], (1000, 2**6))]
    for tables in families:
        sizes = cube.weights(tables.shape[1].bit_length() - 1)
        degree = np.where(fourier.transform(tables) != 0, sizes, 0).max(axis=1)
        bound = sensitivity.huang_bound(tables)
        assert (degree <= bound).all()
        assert tables.shape[1] != 16 or (degree == bound).any()  # n = 4: some functions reach it
    return {"count": sum(len(tables) for tables in families[:5])}


CORRELATIONS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)


@claim(
    "VA-B4",
    mutant=[
        (
            "flatcube.sensitivity.measures.noise_stability",
            lambda table, correlation: (fourier.transform(table) ** 2).sum(axis=-1) * correlation,
            "All degrees are damped alike.",
        ),
        (
            "flatcube.sensitivity.measures.noise_stability",
            lambda table, correlation: sensitivity.spectral_average(fourier.spectrum(table)) * correlation,
            "The profile is weighted with the degree in place of a power.",
        ),
    ],
    note="against summation over all noise, Boolean functions with n ≤ 3 and random ones with n = 6, six correlations",
)
def test_noise_stability_is_a_power_series_in_the_correlation():
    tables = [table for n in (1, 2, 3) for table in all_boolean(n)[::3]]
    tables += [cube.random_boolean(6, rng=seed) for seed in range(5)]
    for table, correlation in itertools.product(tables, CORRELATIONS):
        expected = disagreements(table, correlation)
        assert math.isclose((1 - sensitivity.noise_stability(table, correlation)) / 2, expected, abs_tol=1e-12)


def without_constants(maximum, correlation):
    return (1 - correlation ** np.square(np.maximum(maximum, 1))) / 2


@claim(
    "VA-P32",
    printed=("flatcube.sensitivity.bounds.maximum_bound", without_constants, "S_max is taken from [1, d]."),
    erratum=37,
    mutant=[
        (
            "flatcube.sensitivity.bounds.maximum_bound",
            lambda maximum, correlation: (1 - correlation ** (np.square(maximum) / 4)) / 2,
            "The exponent is the square of S_max/2.",
        ),
        FORGETFUL,
    ],
    note="all Boolean functions with n ≤ 4, random ones with n = 5–8, six correlations; constants attain it",
)
def test_low_maximum_sensitivity_means_robust_predictions():
    families = [all_boolean(n) for n in (1, 2, 3, 4)]
    families += [np.random.default_rng(n).choice([-1, 1], (40, 2**n)) for n in (5, 6, 7, 8)]
    for tables, correlation in itertools.product(families, CORRELATIONS):
        bound = sensitivity.maximum_bound(sensitivity.maximum(tables), correlation)
        found = sensitivity.disagreement(tables, correlation)
        assert (found <= bound + 1e-12).all()
        constant = (tables == tables[:, :1]).all(axis=1)
        assert np.allclose(bound[constant], found[constant], rtol=0, atol=1e-12)
    assert np.allclose(found[:3], disagreements(tables[:3], correlation), rtol=0, atol=1e-12)


@claim(
    "VA-X6",
    mutant=(
        "flatcube.sensitivity.bounds.average_bound",
        lambda average, correlation: (1 - correlation) * average / 4,
        "The factor is 1/4 in place of 1/2.",
    ),
    note="all Boolean functions with n ≤ 4, correlations in [−1, 1]; means at n = 4, ρ = 0.8: 0.172 ≤ 0.200 ≤ 0.461",
)
def test_average_sensitivity_gives_a_line():
    for n, correlation in itertools.product((1, 2, 3, 4), (*CORRELATIONS, -0.5, -1, 1)):
        tables = all_boolean(n)
        bound = sensitivity.average_bound(sensitivity.average(tables), correlation)
        assert (sensitivity.disagreement(tables, correlation) <= bound + 1e-12).all()
    tables = all_boolean(4)
    means = (
        sensitivity.disagreement(tables, 0.8).mean(),
        sensitivity.average_bound(sensitivity.average(tables), 0.8).mean(),
        sensitivity.maximum_bound(sensitivity.maximum(tables), 0.8).mean(),
    )
    assert [round(float(mean), 3) for mean in means] == [0.172, 0.200, 0.461]


@claim(
    "VA-X6",
    printed=(
        "flatcube.sensitivity.bounds.power_bound",
        lambda average, correlation: (1 - correlation ** (4 * np.ceil(average) ** 2)) / 2,
        "The exponent is a square, larger than the average sensitivity.",
    ),
    erratum=38,
    mutant=(
        "flatcube.sensitivity.bounds.power_bound",
        lambda average, correlation: (1 - correlation ** (average / 2)) / 2,
        "The exponent is halved.",
    ),
    note="for every ρ: (1 − ρ^S)/2, by convexity; all Boolean functions with n ≤ 4, random ones to n = 8",
)
def test_the_square_in_the_robustness_bound_is_not_needed():
    families = [all_boolean(n) for n in (1, 2, 3, 4)]
    families += [np.random.default_rng(n).choice([-1, 1], (40, 2**n)) for n in (5, 6, 7, 8)]
    for tables, correlation in itertools.product(families, CORRELATIONS):
        average, largest = sensitivity.average(tables), sensitivity.maximum(tables)
        bound = sensitivity.power_bound(average, correlation)
        assert (sensitivity.disagreement(tables, correlation) <= bound + 1e-12).all()
        assert (bound <= sensitivity.maximum_bound(largest, correlation) + 1e-12).all()


def test_which_bound_on_noise_is_the_smaller_one():
    tables = all_boolean(4)
    average, largest = sensitivity.average(tables), sensitivity.maximum(tables)
    for correlation in np.linspace(0, 1, 41):
        line = sensitivity.average_bound(average, correlation)
        power = sensitivity.power_bound(average, correlation)
        assert (power <= sensitivity.maximum_bound(largest, correlation) + 1e-12).all()
        assert (power[average >= 1] <= line[average >= 1] + 1e-12).all()
        calm = (average > 0) & (average < 1)
        assert calm.any() and (correlation == 1 or (line[calm] < power[calm]).all())
    worse = [np.mean(sensitivity.average_bound(average, r) > sensitivity.maximum_bound(largest, r)) for r in (0.2, 0.5)]
    assert np.round(worse, 2).tolist() == [0.99, 0.66]


# --- functions of different sensitivity are far apart (HR Lemma 21) ---------------------------------------------------


def mean_square_norm(f, g, alpha=2.0):
    """‖f‖ is E f², as printed, without the root."""
    n = np.shape(f)[-1].bit_length() - 1
    of_f, of_g, norm = _average(f), _average(g), np.mean(np.square(f), axis=-1)
    with np.errstate(all="ignore"):
        return np.sqrt((1 - 1 / alpha) * of_f / (n - of_f / (alpha * norm**2))) - norm * np.sqrt(alpha * of_g / of_f)


def swapped(f, g, alpha=2.0):
    """as(f) in place of as(f'), as the proof prints for the second term: f' plays no part."""
    return _separation(f, np.zeros(np.shape(f)[-1]), alpha)


@claim(
    "HR-L21",
    printed=("flatcube.sensitivity.bounds.separation", mean_square_norm, "‖f‖ is E f², without its root."),
    erratum=15,
    mutant=("flatcube.sensitivity.bounds.separation", swapped, "The sensitivity of f′ plays no part."),
    note="all pairs of Boolean functions with n ≤ 3 and random real ones with n ≤ 7, nine values of α",
)
def test_functions_of_different_sensitivity_are_far_apart():
    rng = np.random.default_rng(0)
    families = [(all_boolean(n)[1:-1].astype(float), all_boolean(n).astype(float)) for n in (1, 2, 3)]
    for n in range(1, 8):
        scale = rng.uniform(0.1, 3, (2, 40, 1))
        families.append(tuple(scale * rng.standard_normal((2, 40, 2**n)) + rng.normal(size=(2, 40, 1))))
        low = cube.points(n).astype(float) @ rng.standard_normal((n, 40))  # of degree 1, much less sensitive
        families.append((scale[0] * cube.parity(n) + 0.1 * low.T, 0.1 * low.T))
    for (fs, gs), alpha in itertools.product(families, (1.01, 1.1, 1.5, 2, 3, 5, 10, 100, 1e4)):
        gap = np.sqrt(np.square(fs[:, None] - gs).mean(axis=-1))
        assert (gap >= sensitivity.separation(fs[:, None], gs[None], alpha) - 1e-9).all()


@claim(
    "HR-L21",
    printed=(
        "flatcube.sensitivity.bounds.separation",
        lambda f, g, alpha=2.0: _separation(f, g, 2.0),
        "α = 2 is said to be enough, since μ/(2 − μ) ≥ μ.",
    ),
    erratum=3,
    mutant=(
        "flatcube.sensitivity.bounds.separation",
        lambda f, g, alpha=2.0: _separation(f, g, alpha) / math.sqrt(2),
        "A factor 2 is lost.",
    ),
    note="the parity of half of the bits against a constant: μ = 1/2 is reached as α grows, and is 1/3 at α = 2",
)
def test_the_factor_two_can_be_dropped_only_with_large_alpha():
    f, g = cube.subset_parity({1, 2, 3, 4}, 8), np.ones(256)
    found = [sensitivity.separation(f, g, alpha) ** 2 for alpha in (2, 100, 1e6)]
    assert np.allclose(found, [1 / 3, 0.99 * 0.5 / 0.995, 0.5], rtol=1e-5)


def test_a_loss_of_sensitivity_costs_distance_and_lemma_21_never_says_more():
    rng = np.random.default_rng(1)
    families = [(all_boolean(n)[1:-1].astype(float), all_boolean(n).astype(float)) for n in (1, 2, 3)]
    for n in range(1, 8):
        families.append(tuple(rng.uniform(0.1, 3, (2, 40, 1)) * rng.standard_normal((2, 40, 2**n))))
    for fs, gs in families:
        n = fs.shape[1].bit_length() - 1
        bound = sensitivity.distance_bound(fs[:, None], gs[None])
        assert (np.sqrt(np.square(fs[:, None] - gs).mean(axis=-1)) >= bound - 1e-9).all()
        roots = [np.sqrt(changes(tables).mean(axis=1)) for tables in (fs, gs)]
        assert np.allclose(bound, np.subtract.outer(*roots) / math.sqrt(n), rtol=1e-9, atol=1e-12)
        for alpha in (1.0001, 1.01, 1.5, 2, 10, 1e4):
            assert (sensitivity.separation(fs[:, None], gs[None], alpha) <= bound + 1e-9).all()


def test_lemma_21_is_empty_for_most_pairs_and_the_short_version_is_false():
    tables = all_boolean(3).astype(float)
    fs = tables[1:-1]
    alphas = 1 + np.geomspace(1e-3, 1e3, 61)
    best = np.max([sensitivity.separation(fs[:, None], tables[None], alpha) for alpha in alphas], axis=0)
    less = np.subtract.outer(sensitivity.average(fs), sensitivity.average(tables)) > 1e-12
    assert less.sum() == 27256 and round(float(np.mean(best[less] <= 0)), 2) == 0.96
    assert (sensitivity.distance_bound(fs[:, None], tables[None])[less] > 0).all()
    majority = cube.majority(9)
    spoilt = np.where(np.arange(512) == 496, -majority, majority)
    assert sensitivity.average(spoilt) < sensitivity.average(majority)
    assert math.isclose(np.sqrt(np.mean((spoilt - majority) ** 2)), 2 / 512**0.5)


def test_some_influence_is_a_third_of_the_variance_times_log_n_over_n():
    for n in (1, 2, 3, 4):
        for table in all_boolean(n)[1:-1:7]:
            largest, variance = sensitivity.influences(table).max(), np.var(table)
            assert largest >= sensitivity.kkl_bound(table) - 1e-12
            assert largest >= variance * math.log(n) / (3 * n) - 1e-12
    for n in np.unique(np.geomspace(2, 1e12, 400).round()):  # the worst ratio that the first form leaves open
        ratio = np.linspace(1, 40, 4000)
        promised = np.maximum(ratio / n, 9.0 ** (1 - ratio) / ratio**2)
        assert promised.min() >= math.log(n) / (3 * n)
    mean = cube.mean(15)  # not Boolean: every influence is Var f / n
    assert np.allclose(sensitivity.influences(mean), np.var(mean) / 15)


# --- what an ordered kernel implies -----------------------------------------------------------------------------------


@claim(
    "VA-S3-IMP",
    printed=("flatcube.sensitivity.measures.average", _maximum, "The maximal sensitivity in place of the average."),
    erratum=73,
    mutant=UNSCALED,
    note="eight bits, kernels e^c, (1 + c)³ and 1/(2 − c) of c = ⟨x, y⟩/n: drawn functions have average sensitivity "
    "{least:.2f} to {most:.2f} per unit of variance, random ones 4; given all examples of PARITY, the first and the "
    "third compute it",
)
def test_an_ordered_kernel_draws_functions_of_low_average_sensitivity_and_learns_any():
    n, rng, found = 8, np.random.default_rng(3), []
    points = cube.points(n)
    for kernel in (np.exp, lambda c: (1 + c) ** 3, lambda c: 1 / (2 - c)):
        eigenvalues = fourier.transform(kernel(points.mean(axis=1)))
        degrees = cube.weights(n)
        levels = np.array([eigenvalues[degrees == k].mean() for k in range(n + 1)])
        assert np.all(levels[2:] <= levels[:-2] + 1e-12)  # Proposition 3.1: ordered among even and among odd degrees
        scale = np.sqrt(np.maximum(eigenvalues, 0))
        drawn = fourier.inverse(scale * rng.standard_normal((400, 2**n)))
        ratio = sensitivity.average(drawn).mean() / drawn.var(axis=1).mean()
        weights = np.maximum(eigenvalues, 0)
        assert ratio == pytest.approx((degrees @ weights) / weights[1:].sum(), rel=0.1)
        assert (degrees @ weights) / weights.sum() <= n / 2 and ratio <= n / 2
        assert (sensitivity.maximum(drawn) / drawn.var(axis=1)).mean() > n / 2
        found.append(ratio)
        if levels.min() > 1e-12:  # all parities are there: what the kernel learns is what the examples say
            fitted = kernel(points @ points.T / n) @ np.linalg.solve(kernel(points @ points.T / n), cube.parity(n))
            assert sensitivity.maximum(np.sign(fitted)) == n
    return {"least": min(found), "most": max(found)}
