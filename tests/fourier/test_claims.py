"""Evidence for the claims of chapter 1: exhaustive on small cubes, random beyond, each test shown to be able to fail.

Sensitivity, noise and orthogonality are computed here from their definitions, one point at a time, so that the
library's spectral formulas meet an independent route.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flatcube import cube, fourier

claim = pytest.mark.claim


# --- routes that do not use the transform -----------------------------------------------------------------------------


def all_boolean(n):
    """Every ±1 table on n variables, (2^(2^n), 2^n)."""
    return np.array(list(itertools.product([1, -1], repeat=2**n)))


def flipped(n, i):
    """The table index of each point's neighbour across variable i = 1 … n."""
    return np.arange(2**n) ^ (1 << (i - 1))


def average_sensitivity(table):
    """as(f) = E_x Σ_i (f(x) − f(x with bit i flipped))² / 4, along the last axis (HR Def. 3)."""
    n = table.shape[-1].bit_length() - 1
    changes = [(table - table[..., flipped(n, i)]) ** 2 for i in range(1, n + 1)]
    return sum(changes, np.zeros(table.shape)).mean(axis=-1) / 4


def parities(n):
    """The matrix χ_S(x), rows S and columns x, from products of signs."""
    signs = cube.points(n).astype(int)
    return np.array([signs[:, [i - 1 for i in cube.subset(mask)]].prod(axis=1) for mask in range(2**n)])


def autocorrelation(table):
    """E_x f(x) f(x·z) for every z, by summing over the points."""
    size = np.arange(len(table))
    return np.array([table @ table[size ^ z] for z in size]) / len(table)


beyond = settings(
    max_examples=40, derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
)


# --- mutants of several tests -----------------------------------------------------------------------------------------

TRANSFORM = "flatcube.fourier.transforms.transform"
PROFILE = "flatcube.fourier.spectra.Spectrum.profile"
_transform, _low_degree, _subset_parity = fourier.transform, fourier.Spectrum.low_degree, cube.subset_parity


def unscaled(table, axis=-1):
    return _transform(table, axis) * np.shape(table)[axis]


def mirrored(table, axis=-1):
    """The coefficient of S lands at the mask of S read from the other end."""
    n = np.shape(table)[-1].bit_length() - 1
    order = [int(f"{mask:0{n}b}"[::-1], 2) for mask in range(2**n)] if n else [0]
    return _transform(table, axis)[..., order]


def unsquared(spectrum):
    return np.bincount(cube.weights(spectrum.n), weights=np.abs(spectrum.coefficients), minlength=spectrum.n + 1)


def by_last_variable(spectrum):
    """Sorts coefficients by the largest variable in S in place of the size of S."""
    last = [mask.bit_length() for mask in range(2**spectrum.n)]
    return np.bincount(last, weights=spectrum.coefficients**2, minlength=spectrum.n + 1)


UNSCALED = (TRANSFORM, unscaled, "The factor 2⁻ⁿ is forgotten.")
MIRRORED = (TRANSFORM, mirrored, "Masks are read from the other end.")
UNSQUARED = (PROFILE, property(unsquared), "Moduli are summed instead of squares.")
BY_LAST = (PROFILE, property(by_last_variable), "The last variable of S takes the place of the size of S.")


# --- parities are a basis ---------------------------------------------------------------------------------------------


@claim("HR-S3-BASIS", mutant=[UNSCALED, MIRRORED], note="all Boolean functions with n ≤ 3, exactly")
def test_every_boolean_function_is_one_combination_of_parities():
    for n in range(4):
        characters, tables = parities(n), all_boolean(n)
        assert np.linalg.matrix_rank(characters) == 2**n  # so there is at most one combination
        assert (fourier.transform(tables) @ characters == tables).all()


@claim("HR-S3-BASIS", mutant=[UNSCALED, MIRRORED], note="real functions with n ≤ 9, against a linear solver")
def test_the_coefficients_solve_the_linear_system():
    rng = np.random.default_rng(1)
    for n in range(10):
        table = rng.standard_normal(2**n)
        assert np.allclose(fourier.transform(table), np.linalg.solve(parities(n).T.astype(float), table), atol=1e-12)


@claim(
    "HR-S3-BASIS",
    mutant=(
        "flatcube.fourier.transforms.inverse",
        lambda c, axis=-1: _transform(c, axis),
        "The inverse divides by 2ⁿ as well.",
    ),
    note="moving a coefficient to a larger subset raises average sensitivity by its square per degree",
)
def test_a_coefficient_on_a_larger_subset_makes_a_function_more_sensitive():
    rng = np.random.default_rng(2)
    for n in range(2, 8):
        small, large = sorted(rng.choice(2**n, 2, replace=False), key=lambda mask: int(mask).bit_count())
        coefficients = rng.standard_normal(2**n)
        coefficients[[small, large]] = 0
        values = []
        for mask in (small, large):
            coefficients[mask] = 2.0
            values.append(average_sensitivity(fourier.inverse(coefficients)))
            coefficients[mask] = 0
        degrees = int(large).bit_count() - int(small).bit_count()
        assert math.isclose(values[1] - values[0], 4 * degrees, abs_tol=1e-9)


@claim(
    "VA-D-CHI",
    mutant=[
        UNSCALED,
        (
            "flatcube.cube.functions.subset_parity",
            lambda members, n: np.minimum.reduce([_subset_parity({i}, n) for i in members] + [np.ones(2**n, int)]),
            "χ_S is the OR of the bits in place of their XOR.",
        ),
    ],
    note="all pairs of parities with n ≤ 6, exactly",
)
def test_parities_are_orthonormal_and_each_is_its_own_spectrum():
    for n in range(7):
        characters = np.array([cube.subset_parity(cube.subset(mask), n) for mask in range(2**n)])
        identity = np.eye(2**n, dtype=int)
        assert (characters @ characters.T == 2**n * identity).all()
        assert (fourier.transform(characters) == identity).all()


@st.composite
def integer_tables(draw):
    """Tables of small integers on up to six variables: all sums below are exact."""
    n = draw(st.integers(0, 6))
    return np.array(draw(st.lists(st.integers(-9, 9), min_size=2**n, max_size=2**n)))


@claim("VA-D-CHI", mutant=[UNSCALED, MIRRORED], note="integer tables with n ≤ 6")
@beyond
@given(integer_tables())
def test_the_coefficients_of_a_function_are_its_means_against_parities(table):
    n = len(table).bit_length() - 1
    assert (fourier.transform(table) == parities(n) @ table / 2**n).all()


# --- PARITY is a product ----------------------------------------------------------------------------------------------


def parity_in_words(n):
    """Plus one for an even number of ones, where a one is coded +1 (the reading of MAJORITY in the same section)."""
    ones = (cube.points(n) == 1).sum(axis=1)
    return np.where(ones % 2 == 0, 1, -1)


@claim(
    "HR-S3-PAR",
    printed=("flatcube.cube.functions.parity", parity_in_words, "An even number of +1 entries gives +1."),
    erratum=13,
    mutant=("flatcube.cube.functions.parity", cube.majority, "MAJORITY takes the place of PARITY."),
    note="all points with n ≤ 12",
)
def test_parity_is_the_product_of_the_signs_and_every_flip_changes_it():
    for n in range(1, 13):
        table = cube.parity(n)
        assert (table == cube.points(n).prod(axis=1, dtype=int)).all()
        assert all((table[flipped(n, i)] == -table).all() for i in range(1, n + 1))
        assert average_sensitivity(table) == n


# --- average sensitivity and the degree profile -----------------------------------------------------------------------


@claim("HR-EQ17", mutant=[UNSCALED, UNSQUARED, BY_LAST], note="all Boolean functions with n ≤ 3, exactly")
def test_average_sensitivity_is_the_mean_degree_of_every_boolean_function():
    for n in range(4):
        for table in all_boolean(n):
            spectrum = fourier.spectrum(table)
            sizes = np.array([mask.bit_count() for mask in range(2**n)])
            expected = average_sensitivity(table)
            assert expected == sizes @ spectrum.coefficients**2 == np.arange(n + 1) @ spectrum.profile


@claim("HR-EQ17", mutant=[UNSCALED, UNSQUARED, BY_LAST], note="integer tables with n ≤ 6, exactly")
@beyond
@given(integer_tables())
def test_average_sensitivity_is_the_weighted_sum_of_the_profile(table):
    profile = fourier.spectrum(table).profile
    assert average_sensitivity(table) == np.arange(len(profile)) @ profile


@claim("HR-EQ17", mutant=[UNSCALED, UNSQUARED], note="real functions with n ≤ 14")
def test_average_sensitivity_is_the_weighted_sum_of_the_profile_for_real_functions():
    rng = np.random.default_rng(3)
    for n in range(15):
        table = rng.standard_normal(2**n)
        assert math.isclose(average_sensitivity(table), np.arange(n + 1) @ fourier.spectrum(table).profile)


def krawtchouk(n, k):
    """Σ_{|S|=k} χ_S(z) for points z with j = 0 … n ones."""
    return [sum((-1) ** i * math.comb(j, i) * math.comb(n - j, k - i) for i in range(k + 1)) for j in range(n + 1)]


@claim("HR-D-PROF", mutant=[UNSCALED, UNSQUARED, BY_LAST], note="integer tables with n ≤ 6, from correlations")
@beyond
@given(integer_tables())
def test_the_profile_follows_from_correlations_alone(table):
    n = len(table).bit_length() - 1
    ones = np.array([z.bit_count() for z in range(2**n)])
    by_distance = np.bincount(ones, weights=autocorrelation(table), minlength=n + 1)
    expected = [np.dot(krawtchouk(n, k), by_distance) / 2**n for k in range(n + 1)]
    assert np.allclose(fourier.spectrum(table).profile, expected, rtol=1e-12, atol=1e-12)


@claim("HR-D-PROF", mutant=[UNSQUARED, BY_LAST], note="the cast, n ≤ 9; profiles compared from the highest degree")
def test_profiles_of_the_cast_and_their_order():
    for n in range(2, 10):
        profiles = [fourier.spectrum(f(n)).profile for f in (cube.mean, cube.first, cube.majority, cube.parity)]
        mean, first, majority, parity = profiles
        assert np.allclose(mean, np.eye(n + 1)[1] / n)
        assert (first == np.eye(n + 1)[1]).all()
        assert (parity == np.eye(n + 1)[n]).all()
        assert math.isclose(majority.sum(), 1)
        assert [tuple(p[::-1].round(12)) for p in profiles] == sorted(tuple(p[::-1].round(12)) for p in profiles)
    assert fourier.spectrum(cube.majority(3)).profile.tolist() == [0, 3 / 4, 0, 1 / 4]


def cut_elsewhere(shift):
    return lambda spectrum, degree: _low_degree(spectrum, degree + shift)


@claim(
    "HR-EQ62",
    mutant=[
        (
            "flatcube.fourier.spectra.Spectrum.low_degree",
            cut_elsewhere(-1),
            "The low part loses its highest degree.",
        ),
        (
            "flatcube.fourier.spectra.Spectrum.low_degree",
            cut_elsewhere(2),
            "The low part keeps two degrees too many.",
        ),
        UNSCALED,
    ],
    note="all Boolean functions with n ≤ 3 and every half-integer λ; random real functions with n ≤ 8",
)
def test_average_sensitivity_lies_between_the_bounds_of_the_projection():
    rng = np.random.default_rng(4)
    small = [table for n in range(1, 4) for table in all_boolean(n)]
    pure = [cube.subset_parity(range(1, k + 1), 6) for k in range(7)]
    for g in small + pure + [rng.standard_normal(2**n) for n in range(1, 9)]:
        spectrum = fourier.spectrum(g)
        sensitivity, norm = average_sensitivity(g), np.mean(np.square(g))
        for cut in np.arange(1, 2 * spectrum.n + 1) / 2:
            low = spectrum.low_degree(math.ceil(cut) - 1)  # degrees below the cut; the rest is Πg
            high = np.mean(np.square(g - low.table()))
            assert cut * high <= sensitivity + 1e-9
            assert sensitivity <= cut * (norm - high) + spectrum.n * high + 1e-9


# --- even-parity indicators -------------------------------------------------------------------------------------------


def unhalved(spectrum):
    """Forgets that even_S carries only half of χ_S."""
    return [(members, value) for members, value in spectrum.top(2**spectrum.n)]


EVEN_MUTANTS = [
    ("flatcube.fourier.spectra.to_even", unhalved, "The weights are the Fourier coefficients themselves."),
    (
        "flatcube.cube.functions.even",
        lambda members, n: (1 - _subset_parity(members, n)) // 2,
        "Odd sums give one, not even ones.",
    ),
]


@claim("SP-D0", mutant=EVEN_MUTANTS, note="all Boolean functions with n ≤ 3, exactly")
def test_every_boolean_function_is_a_sum_of_even_parity_indicators():
    for n in range(4):
        bits = cube.to_bits(cube.points(n)).astype(int)
        for table in all_boolean(n):
            spectrum = fourier.spectrum(table)
            components = fourier.to_even(spectrum)
            total = cube.even_sum(components, n)
            by_hand = sum(
                (weight * (bits[:, [i - 1 for i in members]].sum(axis=1) % 2 == 0) for members, weight in components),
                np.zeros(2**n),
            )
            assert (total == by_hand).all()
            assert (total == table).all()
            assert max((len(members) for members, _ in components), default=0) == spectrum.degree
            assert {m for m, _ in components if m} == {cube.subset(m) for m in spectrum.masks.tolist() if m}


@claim("SP-D0", mutant=EVEN_MUTANTS, note="integer tables with n ≤ 6: there and back")
@beyond
@given(integer_tables())
def test_the_two_bases_translate_into_each_other(table):
    n, spectrum = len(table).bit_length() - 1, fourier.spectrum(table)
    components = fourier.to_even(spectrum)
    assert np.allclose(cube.even_sum(components, n), table, atol=1e-9)
    assert np.allclose(fourier.from_even(components, n).coefficients, spectrum.coefficients, atol=1e-9)
    has_constant = int(any(not members for members, _ in components))
    assert len(components) - has_constant == spectrum.sparsity - int(0 in spectrum.masks)


@claim("SP-D0", mutant=EVEN_MUTANTS[1], note="w random components: degree d and χ-sparsity w + 1")
def test_a_random_sparse_function_has_the_degree_and_sparsity_it_was_made_with():
    rng = np.random.default_rng(5)
    for n, degree, w in [(6, 2, 4), (8, 3, 7), (10, 5, 1)]:
        components = cube.random_components(n, degree, w, rng=rng)
        spectrum = fourier.spectrum(cube.even_sum(components, n))
        assert (spectrum.degree, spectrum.sparsity) == (degree, w + 1)
        assert math.isclose(spectrum.mean, sum(weight for _, weight in components) / 2)
        assert all(spectrum.coefficients[cube.mask(members)] > 0 for members, _ in components)


# --- noise stability --------------------------------------------------------------------------------------------------


def noise(n, correlation):
    """The probability of each pattern of flips when every bit flips independently, with probability (1 − ρ)/2."""
    flip, keep = (1 - correlation) / 2, (1 + correlation) / 2
    return [flip ** z.bit_count() * keep ** (n - z.bit_count()) for z in range(2**n)]


def one_degree_up(spectrum):
    profile = np.bincount(cube.weights(spectrum.n), weights=spectrum.coefficients**2, minlength=spectrum.n + 1)
    return np.roll(profile, 1)


SHIFTED = (PROFILE, property(one_degree_up), "Each degree is counted one too high, the highest as zero.")


@claim("VA-B4", mutant=[UNSCALED, UNSQUARED, SHIFTED], note="all Boolean functions with n ≤ 3, exactly, three ρ")
def test_noise_stability_and_disagreement_of_every_boolean_function():
    for n in range(4):
        for correlation in (Fraction(-1, 2), Fraction(1, 4), Fraction(7, 8)):
            flips = noise(n, correlation)
            for table in all_boolean(n):
                pairs = [int(table @ table[np.arange(2**n) ^ z]) for z in range(2**n)]
                stability = sum(p * pair for p, pair in zip(flips, pairs, strict=True)) / 2**n
                differ = [int((table != table[np.arange(2**n) ^ z]).sum()) for z in range(2**n)]
                disagreement = sum(p * count for p, count in zip(flips, differ, strict=True)) / 2**n
                weights = [Fraction(w) for w in fourier.spectrum(table).profile.tolist()]
                assert stability == sum(w * correlation**k for k, w in enumerate(weights))
                assert disagreement == (1 - stability) / 2


@claim("VA-B4", mutant=[UNSCALED, UNSQUARED, SHIFTED], note="real functions with n ≤ 8, four ρ")
def test_noise_stability_of_real_functions():
    rng = np.random.default_rng(6)
    for n in range(9):
        table = rng.standard_normal(2**n)
        correlations = autocorrelation(table)
        for correlation in (-0.9, 0.0, 0.3, 0.95):
            formula = fourier.spectrum(table).profile @ correlation ** np.arange(n + 1)
            assert math.isclose(np.dot(noise(n, correlation), correlations), formula, abs_tol=1e-12)
