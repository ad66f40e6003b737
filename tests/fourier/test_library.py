"""The transform against its definition, the theorems of the spectrum, exactness, memory, and refusals in words."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatcube import checks, cube, fourier
from flatcube.fourier import _walsh

quick = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def definition(table):
    """c_S = E_x f(x) ∏_{i∈S} x_i along the last axis, from products of signs: no fast transform, no bit tricks."""
    n = table.shape[-1].bit_length() - 1
    signs = [[(-1) ** (k // 2**i % 2) for i in range(n)] for k in range(2**n)]
    subsets = [[i for i in range(n) if mask // 2**i % 2] for mask in range(2**n)]
    return np.stack([table @ [math.prod(x[i] for i in S) for x in signs] / 2**n for S in subsets], axis=-1)


def random_table(n, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(2**n).astype(dtype)


def random_sparse(n, degree, components):
    return cube.even_sum(cube.random_components(n, degree, components, rng=0), n)


# --- the transform ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(4))
def test_all_boolean_functions_agree_with_the_definition_exactly(n):
    tables = np.array(list(itertools.product([1, -1], repeat=2**n)))
    expected = definition(tables)
    assert (fourier.transform(tables) == expected).all()
    assert (fourier.transform(tables.astype(np.float32)) == expected).all()
    assert (fourier.transform(tables < 0) == expected).all()  # truth values: True is −1
    assert (fourier.inverse(fourier.transform(tables)) == tables).all()


@pytest.mark.parametrize("n", range(10))
def test_random_functions_agree_with_the_definition(n):
    table = random_table(n)
    assert np.allclose(fourier.transform(table), definition(table), rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [10, 11, 12])
def test_larger_functions_agree_with_the_definition_on_sampled_subsets(n):
    table = random_table(n)
    coefficients, signs = fourier.transform(table), cube.points(n).astype(int)
    for mask in np.random.default_rng(1).choice(2**n, 200, replace=False):
        members = [i for i in range(n) if mask >> i & 1]
        assert abs(coefficients[mask] - np.mean(table * signs[:, members].prod(axis=1))) < 1e-14


def test_every_parity_is_its_own_coefficient():
    for n in range(9):
        assert (fourier.transform([cube.subset_parity(cube.subset(S), n) for S in range(2**n)]) == np.eye(2**n)).all()


def test_two_routes_agree_on_every_way_of_cutting_the_work(monkeypatch):
    """Tiny pieces and products drive a small table through panels, pieces, leftovers and threads."""
    rng = np.random.default_rng(0)
    for piece, product in itertools.product([8, 64, 256, 2**18], [2**10, 2**13, 2**18]):
        monkeypatch.setattr(_walsh, "_PIECE", piece)
        monkeypatch.setattr(_walsh, "_PRODUCT", product)
        for share, shape in itertools.product([1, 2**18], [(128,), (3, 64), (5, 16, 3), (32, 7), (2, 1, 4), (2, 130)]):
            monkeypatch.setattr(_walsh, "_SHARE", share)
            monkeypatch.setattr(_walsh, "_cores", lambda: 2)  # whatever OMP_NUM_THREADS says
            axis = next(a for a, length in enumerate(shape) if length & (length - 1) == 0 and length > 1)
            table = rng.standard_normal(shape)
            expected = np.moveaxis(definition(np.moveaxis(table, axis, -1)), -1, axis)
            assert np.allclose(fourier.transform(table, axis), expected, rtol=0, atol=1e-14)


@st.composite
def batches(draw):
    """A table with up to two batch axes around the axis of length 2^n, in any dtype and memory layout."""
    n, axis = draw(st.integers(0, 7)), draw(st.integers(0, 2))
    shape = [draw(st.integers(0, 3)), draw(st.integers(1, 3))]
    shape.insert(axis, 2**n)
    dtype = draw(st.sampled_from([bool, np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64]))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 2 if dtype is bool else 100, shape)
    table = values.astype(dtype)
    layout = draw(st.sampled_from(["C", "F", "reversed", "strided"]))
    if layout == "F":
        table = np.asfortranarray(table)
    elif layout == "reversed":
        table = table[..., ::-1]
    elif layout == "strided":
        table = np.repeat(table, 2, axis=0)[::2]
    return table, draw(st.sampled_from([axis, axis - 3]))


@given(batches())
@quick
def test_dtypes_shapes_axes_and_layouts(case):
    table, axis = case
    before = table.copy()
    coefficients = fourier.transform(table, axis)
    signs = np.where(table, -1, 1) if table.dtype == bool else table.astype(float)
    assert np.allclose(coefficients, np.moveaxis(definition(np.moveaxis(signs, axis, -1)), -1, axis), atol=1e-4)
    assert coefficients.dtype == (np.float32 if table.dtype == np.float32 else np.float64)
    assert coefficients.shape == table.shape and coefficients.flags.c_contiguous
    assert np.allclose(fourier.inverse(coefficients, axis), signs, atol=1e-3)
    assert (table == before).all() and not np.shares_memory(table, coefficients)


@pytest.mark.parametrize("n", [0, 1, 5, 13, 17, 19])
def test_the_inverse_inverts(n):
    table = random_table(n)
    assert np.allclose(fourier.inverse(fourier.transform(table)), table, rtol=0, atol=1e-12)
    assert np.allclose(fourier.transform(fourier.inverse(table)), table, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [0, 3, 12, 18])
def test_parseval_and_plancherel(n):
    f, g = random_table(n, 0), random_table(n, 1)
    assert math.isclose(fourier.transform(f) @ fourier.transform(g), np.mean(f * g), abs_tol=1e-12)
    assert math.isclose(fourier.spectrum(f).norm2, np.mean(f * f), rel_tol=1e-12)


def test_the_table_stays_as_it_was():
    for dtype in (np.float32, np.float64, np.int32):
        table = cube.random_boolean(20, rng=0).astype(dtype)
        table.flags.writeable = False
        before = table.copy()
        fourier.transform(table)
        assert (table == before).all()


# --- exactness and memory ---------------------------------------------------------------------------------------------


def butterfly(table):
    """The textbook transform on integers, unnormalised."""
    table = table.astype(np.int64)
    for i in range(len(table).bit_length() - 1):
        pair = table.reshape(-1, 2, 1 << i)
        table = np.stack([pair[:, 0] + pair[:, 1], pair[:, 0] - pair[:, 1]], axis=1).ravel()
    return table


@pytest.mark.parametrize("n", [16, 17, 20, 21])
def test_boolean_sums_are_exact_in_every_dtype(n):
    table = cube.random_boolean(n, rng=n)
    sums = butterfly(table)
    for dtype in (np.float32, np.float64, np.int8, np.int64):
        assert (fourier.transform(table.astype(dtype)) * 2**n == sums).all()


def test_large_integers_are_exact_or_refused():
    table = np.random.default_rng(0).integers(-(2**58), 2**58, 16)
    with pytest.raises(ValueError, match=r"sums of these integers can reach [\d,]+ and be rounded; convert to float64"):
        fourier.transform(table)
    with pytest.raises(ValueError, match="can reach 9,007,199,254,740,994 and be rounded"):
        fourier.transform(np.array([2**52 + 1, 0]))
    exact = np.array([2**52 - 1, 1])
    assert fourier.transform(exact).tolist() == [2**51, 2**51 - 1]


@pytest.mark.parametrize(
    ("make", "extra"),
    [
        (lambda table: table, 1),
        (lambda table: table.astype(np.float64), 1),
        (lambda table: table[::-1], 2),
        (lambda table: table.reshape(2**10, 2**10).T, 2),
        (lambda table: table.astype(np.int64), 1),
    ],
    ids=["float32", "float64", "reversed", "transposed", "integers"],
)
def test_extra_memory_is_the_result_and_at_most_one_copy(make, extra):
    table = make(random_table(20, dtype=np.float32))
    tracemalloc.start()
    result = fourier.transform(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= extra * result.nbytes + 2**19 * _walsh._cores() + 2**20  # scratch of the threads


# --- spectra ----------------------------------------------------------------------------------------------------------


def test_facts_about_the_cast():
    majority = fourier.spectrum(cube.majority(3))
    assert majority.top(9) == [((1,), 0.5), ((2,), 0.5), ((3,), 0.5), ((1, 2, 3), -0.5)]
    assert (majority.n, majority.degree, majority.sparsity) == (3, 3, 4)
    assert majority.profile.tolist() == [0, 0.75, 0, 0.25]
    mean = fourier.spectrum(cube.mean(20))
    assert (mean.degree, mean.sparsity) == (1, 20)  # although 1/20 is rounded
    parity = fourier.spectrum(cube.parity(16))
    assert parity.top(5) == [(tuple(range(1, 17)), 1.0)]
    conjunction = fourier.spectrum(cube.conjunction(20))
    assert conjunction.sparsity == 2**20 and math.isclose(conjunction.mean, 1 - 2**-19)
    zero = fourier.spectrum(np.zeros(8))
    assert (zero.degree, zero.sparsity, zero.polynomial(), zero.top(3)) == (0, 0, "0", [])


def test_moments():
    table = random_table(9)
    spectrum = fourier.spectrum(table)
    assert math.isclose(spectrum.mean, table.mean(), abs_tol=1e-14)
    assert math.isclose(spectrum.variance, table.var())
    assert math.isclose(spectrum.profile.sum(), spectrum.norm2)
    assert np.allclose(spectrum.table(), table)


def test_profile_sums_squares_by_degree():
    spectrum = fourier.spectrum(random_table(6))
    for k, weight in enumerate(spectrum.profile):
        squares = [c**2 for mask, c in enumerate(spectrum.coefficients) if bin(mask).count("1") == k]
        assert math.isclose(weight, sum(squares))


def test_tolerance_decides_what_is_zero():
    coefficients = np.array([1.0, 1e-3, 0, 1e-20])
    assert fourier.Spectrum(coefficients).sparsity == 2
    assert fourier.Spectrum(coefficients, tolerance=0).sparsity == 3
    assert fourier.Spectrum(coefficients, tolerance=0.01).degree == 0
    assert fourier.spectrum(random_sparse(12, 3, 20).astype(np.float32)).sparsity == 21


@pytest.mark.parametrize(("size", "dtype"), [(1e200, float), (1e-200, float), (1e30, np.float32), (1e-30, np.float32)])
def test_the_tolerance_follows_numbers_of_any_size(size, dtype):
    spectrum = fourier.Spectrum(np.array([size, -size, size * 1e-20, 0], dtype))
    assert spectrum.sparsity == 2 and math.isclose(spectrum.tolerance, 32 * np.finfo(dtype).eps * size * math.sqrt(2))
    assert f"f = {size:.4g} − {size:.4g}·x1" in repr(spectrum)


def test_what_cancels_is_zero():
    cancels = fourier.Spectrum([0, 0.1 + 0.2, 0, -0.3]).restrict({2: 1})
    assert cancels.coefficients[1] != 0 and cancels.sparsity == 0
    odd, even = (fourier.spectrum(cube.mean(5) + 0.1 * cube.mean(5) ** k) for k in (3, 2))
    assert odd.convolve(fourier.spectrum(cube.mean(5) ** 2 / 7)).sparsity == 0  # c_S(f) c_S(g) is rounding only
    assert even.convolve(odd).degree == 1


def test_the_largest_of_values_is_no_overflow():
    table = np.full(2**6, np.finfo(np.float64).max)
    assert fourier.transform(table)[0] == np.finfo(np.float64).max


def test_top_orders_by_modulus_then_degree_then_mask():
    spectrum = fourier.Spectrum([0.5, -1, 0, 0.5, 0, 1, 0.25, 0])
    assert spectrum.top(3) == [((1,), -1.0), ((1, 3), 1.0), ((), 0.5)]
    assert spectrum.top(0) == [] and len(spectrum.top(99)) == 5


@given(st.integers(0, 6), st.data())
@quick
def test_restriction_agrees_with_restricting_the_table(n, data):
    fixed = data.draw(st.dictionaries(st.integers(1, max(n, 1)), st.sampled_from([1, -1]), max_size=n))
    fixed = {i: sign for i, sign in fixed.items() if i <= n}
    table = random_table(n, seed=7)
    kept = [k for k, x in enumerate(cube.points(n)) if all(x[i - 1] == sign for i, sign in fixed.items())]
    restricted = fourier.spectrum(table).restrict(fixed)
    assert restricted.n == n - len(fixed)
    assert np.allclose(restricted.table(), table[kept], rtol=0, atol=1e-13)  # the rest keeps its order


@pytest.mark.parametrize("n", range(7))
def test_convolution_theorem(n):
    f, g = random_table(n, 1), random_table(n, 2)
    indices = np.arange(2**n)
    summed = [np.mean(f * g[indices ^ x]) for x in indices]  # x·y has the bits of x XOR y
    assert np.allclose(fourier.spectrum(f).convolve(fourier.spectrum(g)).table(), summed, rtol=0, atol=1e-13)


def test_low_degree_projection_is_the_nearest():
    spectrum = fourier.spectrum(random_table(7))
    near = spectrum.low_degree(3)
    assert near.degree == 3 and spectrum.low_degree(-1).norm2 == 0
    assert math.isclose(spectrum.distance(near), spectrum.profile[4:].sum())
    assert math.isclose(spectrum.distance(near), np.mean((spectrum.table() - near.table()) ** 2))
    moved = fourier.Spectrum(near.coefficients + 0.1 * fourier.spectrum(random_table(7, 5)).low_degree(3).coefficients)
    assert spectrum.distance(moved) > spectrum.distance(near)


@pytest.mark.parametrize(
    ("coefficients", "text"),
    [
        ([0, 1, -1, 0], "x1 − x2"),
        ([-1, 0, 0, 0], "−1"),
        ([0.5, 0, 0, -0.375], "1/2 − 3/8·x1·x2"),
        ([1 / 3, 0, 0, 2], "0.3333 + 2·x1·x2"),
        ([0, -(2.0**-10), 2.0**-11, 0], "−1/1024·x1 + 0.0004883·x2"),
        ([0, 1e-17, 0, 1], "x1·x2"),
    ],
)
def test_polynomials_read_like_algebra(coefficients, text):
    assert fourier.Spectrum(coefficients).polynomial() == text


def test_a_long_polynomial_can_be_cut():
    spectrum = fourier.Spectrum([0.25, 1, 0.5, 0.125])
    assert spectrum.polynomial(2) == "x1 + 1/2·x2 + … (2 further terms)"
    assert spectrum.polynomial(3) == "1/4 + x1 + 1/2·x2 + … (1 further term)"
    assert spectrum.polynomial(4) == "1/4 + x1 + 1/2·x2 + 1/8·x1·x2"


def test_a_rounding_error_does_not_change_how_a_number_is_written():
    off = [np.nextafter(c, 2) for c in (0.25, 1, 0.25, 1 / 3)]
    assert fourier.Spectrum(off).polynomial() == "1/4 + x1 + 1/4·x2 + 0.3333·x1·x2"
    assert fourier.Spectrum(off, tolerance=0).polynomial() == "0.25 + x1 + 0.25·x2 + 0.3333·x1·x2"
    assert fourier.Spectrum(off, tolerance=0.1).polynomial() == "1/4 + x1 + 1/4·x2 + 0.3333·x1·x2"


def test_the_repr_draws_the_profile():
    assert repr(fourier.spectrum(cube.majority(3))).splitlines() == [
        "Spectrum on 3 variables: degree 3, sparsity 4",
        "  degree  0                            0",
        "  degree  1  ████████████████████████  0.75",
        "  degree  2                            0",
        "  degree  3  ████████                  0.25",
        "  f = 1/2·x1 + 1/2·x2 + 1/2·x3 − 1/2·x1·x2·x3",
    ]
    assert "degree  2                            0\n" in repr(fourier.spectrum(random_sparse(8, 3, 4)))
    assert "f = 0" in repr(fourier.spectrum([0, 0]))


def test_a_spectrum_cannot_be_changed():
    coefficients = np.array([1.0, 0])
    spectrum = fourier.Spectrum(coefficients)
    coefficients[0] = 5
    assert spectrum.mean == 1
    with pytest.raises(ValueError, match="read-only"):
        spectrum.coefficients[0] = 2
    with pytest.raises(AttributeError):
        spectrum.coefficients = coefficients


# --- the {0, 1} dictionary, learning, bridges -------------------------------------------------------------------------


def test_the_dictionary_between_the_two_bases():
    for n in range(1, 7):
        spectrum = fourier.spectrum(random_table(n))
        components = fourier.to_even(spectrum)
        assert np.allclose(cube.even_sum(components, n), spectrum.table(), rtol=0, atol=1e-12)
        assert np.allclose(fourier.from_even(components, n).coefficients, spectrum.coefficients, rtol=0, atol=1e-12)


def test_random_sparse_functions_have_w_components_and_sparsity_w_plus_one():
    components = cube.random_components(10, 4, 12, rng=5)
    spectrum = fourier.spectrum(cube.even_sum(components, 10))
    assert (spectrum.degree, spectrum.sparsity) == (4, 13)
    found = dict(fourier.to_even(spectrum))
    assert set(found) == {S for S, _ in components}
    assert all(math.isclose(found[S], weight) for S, weight in components)
    assert math.isclose(spectrum.variance, 1) and spectrum.distance(fourier.from_even(components, 10)) < 1e-28


def test_learning_from_all_points_is_projection():
    table = random_table(6)
    learnt = fourier.learn_low_degree(cube.points(6), table, 2)
    assert learnt.distance(fourier.spectrum(table).low_degree(2)) < 1e-28


def test_learning_averages_over_the_sample():
    rng = np.random.default_rng(0)
    points, values = cube.to_signs(rng.integers(0, 2, (50, 5))), rng.standard_normal(50)
    learnt = fourier.learn_low_degree(points, values, 2)
    for mask, c in enumerate(learnt.coefficients):
        members = [i - 1 for i in cube.subset(mask)]
        expected = np.mean(values * points[:, members].prod(axis=1)) if len(members) <= 2 else 0
        assert math.isclose(c, expected, abs_tol=1e-14)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)])
def test_the_price_of_learning_by_low_degree_over_all_samples(n, m):
    """E (f − h)² = (1 − W_k) + (n_k − W_k)/m over every sample of m points, and it bounds the share of wrong signs."""
    for values in itertools.product([1, -1], repeat=2**n):
        table, truth = np.array(values), fourier.spectrum(values)
        for degree in range(n + 1):
            samples = [list(sample) for sample in itertools.product(range(2**n), repeat=m)]
            learnt = [fourier.learn_low_degree(cube.points(n)[sample], table[sample], degree) for sample in samples]
            low, sets = truth.profile[: degree + 1].sum(), sum(math.comb(n, j) for j in range(degree + 1))
            price = (1 - low) + (sets - low) / m
            assert math.isclose(np.mean([h.distance(truth) for h in learnt]), price, abs_tol=1e-12)
            assert np.mean([np.sign(h.table().round(12)) != table for h in learnt]) <= price + 1e-12


def test_truth_values_are_learnt_as_signs():
    learnt = fourier.learn_low_degree(cube.points(3), cube.parity(3) < 0, 3)
    assert learnt.top(9) == [((1, 2, 3), 1.0)]


def test_learning_error_falls_with_the_sample():
    table = cube.majority(11)
    points = cube.to_signs(np.random.default_rng(1).integers(0, 2, (20000, 11)))
    values = table[cube.index(points)]
    truth = fourier.spectrum(table)
    errors = [truth.distance(fourier.learn_low_degree(points[:m], values[:m], 1)) for m in (200, 2000, 20000)]
    floor = truth.profile[2:].sum()
    # Σ over the 12 subsets of Var(y χ_S)/m, that is at most 12/m, above the weight that degree 1 misses
    assert all(error - floor < 3 * 12 / m for error, m in zip(errors, (200, 2000, 20000), strict=True))
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.filterwarnings("ignore")  # its notices about optional plotting packages
def test_boofun_has_our_bits_our_values_and_our_coefficients(n):
    boofun = pytest.importorskip("boofun")
    table = cube.random_boolean(n, rng=n)
    function = boofun.create(table < 0)
    assert function.n_vars == n
    assert np.allclose(function.fourier(), fourier.transform(table))
    assert [bool(function.evaluate(b)) for b in cube.to_bits(cube.points(n))] == (table == -1).tolist()


# --- refusals ---------------------------------------------------------------------------------------------------------

ONE, TWO = fourier.Spectrum([1.0, 0]), fourier.Spectrum([1.0, 0, 0, 0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fourier.transform([1, 2, 3]), ValueError, "table: expected a length that is a power of two, got 3"),
        (lambda: fourier.transform([]), ValueError, "power of two, got 0"),
        (lambda: fourier.transform(5.0), ValueError, "table: expected an array with an axis -1, got shape \\(\\)"),
        (lambda: fourier.transform(np.ones((4, 4)), 2), ValueError, "an axis 2, got shape \\(4, 4\\)"),
        (lambda: fourier.transform([1, np.nan]), ValueError, "table: expected finite numbers, got nan"),
        (lambda: fourier.transform([np.inf, -np.inf]), ValueError, "table: expected finite numbers, got inf"),
        (lambda: fourier.transform([[1, 0.5], [1, np.nan]], 0), ValueError, "expected finite numbers, got nan"),
        (lambda: fourier.inverse([1, np.inf]), ValueError, "coefficients: expected finite numbers, got inf"),
        (lambda: fourier.inverse([1e308, 1e308]), ValueError, "whose sums fit in float64, got 1e\\+308"),
        (lambda: fourier.inverse([1e308, -1e308]), ValueError, "whose sums fit in float64, got 1e\\+308"),
        (lambda: fourier.transform([1j, 1]), TypeError, "table: expected real numbers .*, got dtype complex128"),
        (lambda: fourier.transform(["a", "b"]), TypeError, "table: expected real numbers"),
        (lambda: fourier.transform(np.ones(2, np.longdouble)), TypeError, "of at most 64 bits, got dtype"),
        (lambda: fourier.Spectrum(np.ones((2, 2))), ValueError, "coefficients: expected one function, got shape"),
        (lambda: ONE.convolve(TWO), ValueError, "other: expected a spectrum on n = 1 variables like this one, got 2"),
        (lambda: TWO.top(-1), ValueError, "k: expected an integer ≥ 0, got -1"),
        (lambda: TWO.low_degree(1.5), TypeError, "degree: expected an integer, got float"),
        (lambda: fourier.transform([1, 1], axis="a"), TypeError, "axis: expected an integer, got str"),
        (lambda: fourier.transform([[1], [1, 2]]), ValueError, "table: .* got lists of unequal lengths"),
        (lambda: fourier.Spectrum([1, 1], -1), ValueError, "tolerance: expected a number ≥ 0, got -1"),
        (lambda: fourier.Spectrum([1, 1], math.nan), ValueError, "tolerance: expected a number ≥ 0, got nan"),
        (lambda: fourier.spectrum([1, 1], "a"), TypeError, "tolerance: expected a number, got str"),
        (lambda: TWO.convolve(3), TypeError, "other: expected a Spectrum .*, got int"),
        (lambda: TWO.distance([1, 2]), TypeError, "other: expected a Spectrum .*, got list"),
        (lambda: fourier.to_even([1.0, 0]), TypeError, "spectrum: expected a Spectrum .*, got list"),
        (lambda: TWO.restrict({3: 1}), ValueError, "fixed: expected numbers from 1 to 2, got 3"),
        (lambda: TWO.restrict([1]), TypeError, "fixed: expected a dictionary such as {1: -1}, got list"),
        (lambda: TWO.restrict({"a": 1}), TypeError, "fixed: expected whole numbers from 1 to 2, got 'a'"),
        (lambda: TWO.restrict({1: "a"}), ValueError, "fixed: expected −1 and \\+1, got a"),
        (lambda: TWO.restrict({1: 0}), ValueError, "fixed: expected −1 and \\+1, got bits"),
        (lambda: fourier.from_even([((3,), 1.0)], 2), ValueError, "subset: expected numbers from 1 to 2, got 3"),
        (lambda: fourier.from_even([], 60), ValueError, "n: tables with n = 60 take [0-9,]+ bytes"),
        (lambda: fourier.learn_low_degree([[1, 1]], [1], -1), ValueError, "degree: expected an integer from 0"),
        (lambda: fourier.learn_low_degree([[0, 1]], [1], 1), ValueError, "points: expected −1 and \\+1, got bits"),
        (lambda: fourier.learn_low_degree([[1, 1]], [1, 2], 1), ValueError, "values: expected \\(m,\\) for points"),
        (lambda: fourier.learn_low_degree([[1, 1]], [np.nan], 1), ValueError, "values: expected finite numbers"),
        (lambda: fourier.learn_low_degree([[1, 1]], ["a"], 1), TypeError, "values: expected real numbers"),
        (lambda: fourier.learn_low_degree([[1], [1, 1]], [1, 1], 1), ValueError, "points: .* lists of unequal lengths"),
        (lambda: fourier.learn_low_degree(np.ones((2, 45)), [1, 2], 1), ValueError, "n: tables with n = 45 take"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_table_whose_transform_does_not_fit_is_refused_with_the_bytes_it_takes(monkeypatch):
    table = np.ones(2**10, np.float32)
    monkeypatch.setattr(checks, "_LITTLE", 0)
    monkeypatch.setattr(checks, "_free", lambda: 8 * 2**10)
    fourier.transform(table)
    with pytest.raises(ValueError, match=f"n = 10 take {12 * 2**10:,} bytes, but this machine has 8,192 free"):
        fourier.transform(table[::-1])


def test_a_nan_anywhere_is_found():
    for n in (3, 17):
        for k in (0, 1, 2**n // 2, 2**n - 1):
            table = np.ones(2**n, np.float32)
            table[k] = np.nan
            with pytest.raises(ValueError, match="finite"):
                fourier.transform(table)
