"""The testers: never too high, rarely too low, with the queries they promise."""

import itertools
import math

import numpy as np
import pytest

from flatcube import cube, fourier, queries, sampling
from flatcube.queries import subcubes

N = 30


def sparse(degree, components, seed):
    """A random SP function on 30 variables, as a black box."""
    return queries.black_box(cube.random_components(N, degree, components, rng=seed), N)


def from_terms(terms):
    """f = Σ c_S χ_S on signs, for any number of variables."""

    def f(x):
        return sum(c * x[:, [i - 1 for i in S]].astype(float).prod(axis=1) for S, c in terms)

    return f


class Counting:
    """A black box that notes how often it is called, and with how many points."""

    def __init__(self, f):
        self.f, self.calls, self.points = f, 0, 0

    def __call__(self, x):
        self.calls, self.points = self.calls + 1, self.points + len(x)
        return self.f(x)


def test_black_boxes_agree_with_tables():
    components = cube.random_components(9, 3, 5, rng=0) + [((), -0.5), ((1, 9), -2.0)]
    expected = cube.even_sum(components, 9)
    assert np.allclose(cube.table(queries.black_box(components, 9), 9), expected, rtol=0, atol=1e-14)


def test_restrictions_follow_the_formula():
    """ĝ(u) = Σ c_S χ_S(x) over the S with χ_S(v_j) = (−1)^{u_j}, for blocks, axes and random directions."""
    rng, n, r = np.random.default_rng(0), 7, 3
    table = rng.standard_normal(2**n)
    c, sets = fourier.transform(table), [[i - 1 for i in cube.subset(mask)] for mask in range(2**n)]
    for draw in (subcubes.directions, subcubes.blocks, subcubes.axes):
        base, spanning = sampling.random_signs((2, n), rng=rng), draw(2, r, n, rng)
        g = subcubes.restrict(lambda x: table[cube.index(x)], base, spanning)
        for trial in range(2):
            expected = np.zeros(2**r)
            for coefficient, S in zip(c, sets, strict=True):
                place = cube.index(spanning[trial][:, S].prod(axis=1))
                expected[place] += coefficient * base[trial, S].prod()
            assert np.allclose(fourier.transform(g[trial]), expected, atol=1e-13)


def test_blocks_are_disjoint_and_axes_are_single_variables():
    rng = np.random.default_rng(0)
    for draw, total in ((subcubes.blocks, None), (subcubes.axes, 4)):
        flipped = (draw(50, 4, 12, rng) < 0).sum(axis=1)  # how many of the directions flip each variable
        assert flipped.max() == 1
        assert total is None or (flipped.sum(axis=1) == total).all()
    assert (subcubes.axes(3, 5, 5, rng) < 0).sum() == 15


# --- degree -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_survival_agrees_with_counting_all_labels(degree):
    for size in range(6):
        labels = itertools.product(range(degree + 2), repeat=size)
        odd = [all(label.count(j) % 2 for j in range(1, degree + 2)) for label in labels]
        assert math.isclose(queries.survival(size, degree), np.mean(odd), abs_tol=1e-14)


def test_survival_of_the_smallest_set_is_the_least():
    """p(s, d) ≥ p(d+1, d) for all s > d, which the number of trials relies on."""
    for degree in range(9):
        least = queries.survival(degree + 1, degree)
        assert math.isclose(least, math.factorial(degree + 1) / (degree + 2) ** (degree + 1))
        assert min(queries.survival(size, degree) for size in range(degree + 1, 80)) >= least * (1 - 1e-12)


def test_the_mean_square_of_a_trial_follows_from_the_spectrum():
    """E ĝ(1…1)² = Σ c_S² p(|S|, d)."""
    terms = [((), 1.0), ((1,), 2.0), ((2, 3), 1.5), ((4, 5, 6), 1.0), ((1, 2, 3, 4), 0.5)]
    rng, degree = np.random.default_rng(1), 1
    g = subcubes.restrict(
        from_terms(terms), sampling.random_signs((20_000, 8), rng=rng), subcubes.blocks(20_000, degree + 1, 8, rng)
    )
    found = np.square(g @ [1, -1, -1, 1] / 4).mean()
    expected = sum(c**2 * queries.survival(len(S), degree) for S, c in terms)
    assert math.isclose(found, expected, rel_tol=0.05)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
def test_the_degree_test_never_rejects_wrongly(degree):
    rng = np.random.default_rng(degree)
    sizes = rng.integers(0, degree + 1, 6).tolist() + [degree]
    terms = [(tuple(rng.choice(N, size, replace=False) + 1), rng.standard_normal()) for size in sizes]
    exact = from_terms(terms)
    rounded = lambda x: (exact(x) + 100) - 100  # noqa: E731  off by some fifty units in the last place
    for f in (exact, rounded, lambda x: 1e6 + exact(x), lambda x: exact(x).astype(np.float32)):
        for method in ("blocks", "axes"):
            assert queries.degree_at_most(f, N, degree, rng=rng, method=method, trials=200).accepted


@pytest.mark.parametrize(("degree", "components"), [(1, 1), (2, 7), (3, 20), (4, 3)])
def test_degrees_are_found(degree, components):
    findings = [queries.estimate_degree(sparse(degree, components, seed), N, rng=seed) for seed in range(20)]
    assert [finding.value for finding in findings] == [degree] * 20
    assert all(finding.accepted and finding.error <= 0.05 and not finding.proved for finding in findings)


def test_boolean_functions_and_short_inputs():
    assert queries.estimate_degree(lambda x: np.where(x.sum(axis=1) < 0, -1, 1), 5, rng=0).value == 5
    assert queries.estimate_degree(lambda x: x[:, 0] * x[:, 1] < 0, N, rng=0).value == 2  # truth values
    assert queries.estimate_degree(lambda x: np.zeros(len(x)), N, rng=0).value == 0
    assert queries.estimate_degree(lambda x: np.full(len(x), 0.1), N, rng=0).value == 0
    assert queries.estimate_degree(lambda x: x[:, 0], 1, rng=0).value == 1


def test_a_sweep_that_ends_too_soon_says_so():
    finding = queries.estimate_degree(lambda x: x.prod(axis=1), N, rng=0, largest=3)
    assert finding.value == 4 and not finding.accepted
    finding = queries.estimate_sparsity(sparse(3, 20, 0), N, rng=0, largest=5)
    assert finding.value > 5 and not finding.accepted


def test_trials_and_errors_follow_the_formulas():
    p = queries.survival(3, 2)
    assert queries.degree_trials(N, 2, error=0.01) == math.ceil(math.log(0.01) / math.log1p(-p / 2))
    assert queries.degree_trials(N, 2, error=0.01, sparsity=21) == math.ceil(math.log(0.01) / math.log1p(-p / 21))
    verdict = queries.degree_at_most(sparse(2, 20, 0), N, 2, rng=0, error=0.01, sparsity=21)
    assert verdict.proved and 0.009 < verdict.error <= 0.01
    assert verdict.trials == queries.degree_trials(N, 2, error=0.01, sparsity=21)
    for degree in (0, 1, 5):  # however large n is
        assert queries.degree_trials(10**18, degree) == queries.degree_trials(2000, degree)
    assert verdict.queries == 8 * verdict.trials
    fewer = queries.degree_at_most(sparse(2, 20, 0), N, 2, rng=0, trials=10)
    assert fewer.trials == 10 and math.isclose(fewer.error, (1 - p / 2) ** 10) and not fewer.proved
    assert queries.degree_at_most(sparse(2, 20, 0), N, 2, rng=0, method="axes").error is None


def test_a_hard_function_is_seen_as_often_as_proved():
    """A conjunction of four bits has sixteen coefficients and is zero on 15/16 of the cube."""
    f = lambda x: (x[:, :4] < 0).all(axis=1).astype(float)  # noqa: E731
    rng, trials = np.random.default_rng(0), 20_000
    g = subcubes.restrict(f, sampling.random_signs((trials, 20), rng=rng), subcubes.blocks(trials, 4, 20, rng))
    seen = np.mean(g @ (1 - 2 * (cube.weights(4) % 2)) != 0)
    assert seen >= queries.survival(4, 3) / 16
    assert queries.estimate_degree(f, 20, rng=0, sparsity=16).value == 4


def test_single_variables_miss_what_blocks_find():
    """Survival C(3, 3)/C(30, 3) = 1/4060 with single variables against 6/64 with blocks."""
    right = {"blocks": 0, "axes": 0}
    for seed, method in itertools.product(range(20), right):
        right[method] += queries.estimate_degree(sparse(3, 3, seed), N, rng=seed, method=method).value == 3
    assert right["blocks"] == 20 and right["axes"] <= 4


# --- sparsity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degree", "components"), [(1, 1), (3, 7), (2, 20), (5, 12)])
def test_sparsities_are_found(degree, components):
    findings = [queries.estimate_sparsity(sparse(degree, components, seed), N, rng=seed) for seed in range(20)]
    values = [finding.value for finding in findings]
    assert max(values) == components + 1 and values.count(components + 1) >= 19
    assert all(finding.accepted and finding.error <= 0.05 for finding in findings)


def test_small_sparsities():
    assert queries.estimate_sparsity(lambda x: np.zeros(len(x)), N, rng=0).value == 0
    assert queries.estimate_sparsity(lambda x: np.full(len(x), -3), N, rng=0).value == 1
    assert queries.estimate_sparsity(lambda x: x.prod(axis=1), N, rng=0).value == 1
    assert queries.estimate_sparsity(lambda x: np.where(x[:, 0] > 0, x[:, 1], x[:, 2]), N, rng=0).value == 4


@pytest.mark.parametrize("method", ["directions", "axes"])
def test_the_sparsity_test_never_rejects_wrongly(method):
    for seed in range(10):
        f = sparse(3, 6, seed)
        assert queries.sparsity_at_most(f, N, 7, rng=seed, method=method, trials=20).accepted


def test_on_short_inputs_the_whole_cube_is_read():
    table = cube.random_boolean(4, rng=0)
    finding = queries.estimate_sparsity(lambda x: table[cube.index(x)], 4, rng=0)
    assert finding.value == fourier.spectrum(table).sparsity
    assert finding.verdicts[-1][1].proved and finding.verdicts[-1][1].error == 0


def test_the_plan_follows_the_formulas():
    assert queries.sparsity_plan(20, error=0.01) == (math.ceil(2 * math.log2(21) + 1), 4)
    assert queries.sparsity_plan(20, error=0.01, most=1000) == (math.ceil(math.log2(21 * 1000) + 2), 4)
    verdict = queries.sparsity_at_most(sparse(3, 19, 0), N, 20, rng=0, error=0.01, most=20)
    assert verdict.proved and verdict.queries == 4 * 2**11 and verdict.error == 4.0**-4


def test_isolation_is_as_frequent_as_promised():
    """w + 1 sets land in different places with probability at least 3/4 per trial."""
    rng = np.random.default_rng(0)
    for w in (1, 4, 12):
        r, _ = queries.sparsity_plan(w)
        bits = rng.integers(0, 2, (2000, w + 1, r))
        places = bits @ (1 << np.arange(r))
        alone = [len(set(row)) == w + 1 for row in places.tolist()]
        assert np.mean(alone) >= 0.75
        verdicts = [queries.sparsity_at_most(sparse(4, w, seed), N, w, rng=seed, trials=1) for seed in range(100)]
        assert np.mean([verdict.accepted for verdict in verdicts]) <= 0.3


def test_single_variables_accept_too_little():
    values = [queries.estimate_sparsity(sparse(2, 12, seed), N, rng=seed, method="axes").value for seed in range(20)]
    assert values.count(13) <= 4 and max(values) <= 13


def test_tail_energy():
    found = queries.tail_energy(np.array([[0.1, 1, -0.1], [3, -4, 0]]))
    assert np.allclose(found, [[1.02, 0.02, 0.01, 0], [25, 9, 0, 0]])


# --- how queries are asked --------------------------------------------------------------------------------------------


def test_queries_are_counted_and_asked_in_few_calls():
    for estimate in (queries.estimate_degree, queries.estimate_sparsity):
        f = Counting(sparse(4, 10, 0))
        finding = estimate(f, N, rng=0)
        assert finding.queries == f.points == sum(verdict.queries for _, verdict in finding.verdicts)
        assert f.calls <= 12 * len(finding.verdicts) and f.calls < f.points / 100
    f = Counting(sparse(4, 10, 0))
    verdict = queries.sparsity_at_most(f, N, 11, rng=0)
    assert f.calls == 1 and verdict.queries == f.points


def test_queries_do_not_depend_on_the_number_of_variables():
    asked = [queries.estimate_degree(lambda x: x[:, 0] * x[:, 1] * x[:, 2], n, rng=0) for n in (12, 30, 100)]
    assert len({finding.value for finding in asked}) == 1
    assert max(finding.queries for finding in asked) < 1.2 * min(finding.queries for finding in asked)


def test_seeds_make_runs_reproducible():
    f = sparse(3, 5, 0)
    assert queries.estimate_degree(f, N, rng=4) == queries.estimate_degree(f, N, rng=np.random.default_rng(4))
    assert queries.estimate_sparsity(f, N, rng=4) == queries.estimate_sparsity(f, N, rng=4)


def test_torch_modules_can_be_asked():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(N, 1, dtype=torch.float64), torch.nn.Flatten(0))
    assert queries.estimate_degree(model, N, rng=0).value == 1
    assert queries.estimate_sparsity(model, N, rng=0, largest=64).value == N + 1


# --- inexact functions ------------------------------------------------------------------------------------------------


def test_tolerance_allows_for_noise():
    exact, noise = sparse(2, 4, 0), np.random.default_rng(5)
    noisy = lambda x: exact(x) + 0.01 * noise.standard_normal(len(x))  # noqa: E731
    assert queries.estimate_degree(noisy, N, rng=0, tolerance=0.05).value == 2
    assert queries.estimate_sparsity(noisy, N, rng=0, tolerance=0.05).value == 5
    assert queries.estimate_degree(noisy, N, rng=0, largest=3).value == 4
    assert queries.estimate_sparsity(noisy, N, rng=0, largest=20).value > 20


def test_tolerance_hides_smaller_coefficients():
    f = from_terms([((1,), 1.0), ((2, 3, 4), 0.01)])
    assert queries.estimate_degree(f, N, rng=0).value == 3
    assert queries.estimate_degree(f, N, rng=0, tolerance=0.02).value == 1
    assert queries.estimate_sparsity(f, N, rng=0).value == 2
    assert queries.estimate_sparsity(f, N, rng=0, tolerance=0.02).value == 1


def test_rounding_in_single_precision_is_no_degree():
    f = sparse(3, 20, 1)
    single = lambda x: f(x).astype(np.float32) * np.float32(1.1)  # noqa: E731
    assert queries.estimate_degree(single, N, rng=0).value == 3
    assert queries.estimate_sparsity(single, N, rng=0).value == 21


def test_proximity_is_a_share_of_the_variance():
    """Var f = 1 + 0.04 above degree 1, with 4 % of it in one large set and nothing between."""
    f = from_terms([((), 5.0), ((1,), 1.0), ((2, 3, 4), 0.2)])
    for proximity, degree, sparsity in ((0.0, 3, 3), (0.01, 3, 3), (0.1, 1, 2)):
        assert queries.estimate_degree(f, N, rng=0, proximity=proximity).value == degree
        finding = queries.estimate_sparsity(f, N, rng=0, proximity=proximity, trials=20)
        assert finding.value == sparsity
        assert (finding.error is None) == (proximity > 0)


# --- degree over GF(2) ------------------------------------------------------------------------------------------------


def test_degree_over_the_two_element_field():
    """AND of k bits is one monomial of degree k over GF(2); every parity is a sum of monomials of degree 1."""
    for k in (1, 2, 3):
        conjunction = lambda x, k=k: np.where((x[:, :k] < 0).all(axis=1), -1, 1)  # noqa: E731
        for degree in range(4):
            accepted = [
                queries.gf2_degree_at_most(conjunction, 12, degree, rng=seed, error=1e-6).accepted for seed in range(20)
            ]
            assert all(accepted) if degree >= k else not any(accepted)
    parity = lambda x: x.prod(axis=1)  # noqa: E731
    assert queries.gf2_degree_at_most(parity, 12, 1, rng=0).accepted
    assert not queries.degree_at_most(parity, 12, 1, rng=0).accepted


# --- heavy coefficients -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 10, 23, 30, 64])
def test_heavy_coefficients_of_a_selected_parity(n):
    """x_1 χ_A if x_n = +1, else χ_A: four coefficients ±1/2, found without a table."""
    rng = np.random.default_rng(n)
    A = rng.choice(n, n // 2, replace=False)

    def f(x):
        return np.where(x[:, -1] > 0, x[:, 0], 1) * x[:, A].prod(axis=1, dtype=int)

    found = queries.heavy_coefficients(f, n, 0.45, rng=1)
    assert set(dict(found.terms).values()) and abs(sum(c**2 for _, c in found.terms) - 1) < 0.1
    if n <= 10:
        assert dict(fourier.spectrum(cube.table(f, n)).top(9)).keys() == dict(found.terms).keys()
    for S, c in found.terms:
        x = sampling.random_signs((20_000, n), rng=2)
        assert abs(np.mean(f(x) * x[:, [i - 1 for i in S]].prod(axis=1, dtype=int)) - c) < 0.05


def test_all_heavy_coefficients_and_no_light_ones():
    terms = [((), 0.4), ((3, 17), 0.35), ((30,), -0.3), ((1, 2, 3, 4, 5), 0.04), ((8, 9), 0.03)]
    found = queries.heavy_coefficients(from_terms(terms), N, 0.3, rng=0, bound=1.2, samples=40_000)
    assert [S for S, _ in found.terms] == [(), (3, 17), (30,)]
    assert all(abs(c - dict(terms)[S]) < 0.02 for S, c in found.terms)
    assert found.queries == 40_000 * 4  # the sample, and three groups of ten variables


def test_nothing_heavy_gives_nothing():
    inner = lambda x: 1 - 2 * (((x[:, :15] < 0) & (x[:, 15:] < 0)).sum(axis=1) % 2)  # noqa: E731
    assert queries.heavy_coefficients(inner, N, 0.4, rng=0).terms == ()  # all coefficients of it are ±2^{−15}


def test_goldreich_levin_asks_far_less_than_a_table():
    f = Counting(lambda x: x[:, 3] * x[:, 27])
    found = queries.heavy_coefficients(f, N, 0.5, rng=0)
    assert f.points == found.queries < 2**N / 10_000


# --- refusals ---------------------------------------------------------------------------------------------------------

degree, sparsity = queries.estimate_degree, queries.estimate_sparsity
gf2, heavy = queries.gf2_degree_at_most, queries.heavy_coefficients


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: degree(f, 0, rng=0), ValueError, "n: expected an integer ≥ 1, got 0"),
        (lambda f: degree(f, 5.0, rng=0), TypeError, "n: expected an integer, got float"),
        (lambda f: degree(f, 5, rng=0, error=0), ValueError, "error: expected a number between 0 and 1"),
        (lambda f: degree(f, 5, rng=0, largest=-1), ValueError, "largest: expected an integer ≥ 0"),
        (lambda f: degree(f, 5, rng=0, method="lines"), ValueError, "method: expected 'blocks' or 'axes'"),
        (lambda f: degree(f, 5, rng=0, tolerance=-1), ValueError, "tolerance: expected a number ≥ 0"),
        (lambda f: degree(f, 5, rng=0, proximity=1), ValueError, "proximity: expected a number below 1"),
        (lambda f: degree(f, 5, rng=0, trials=0), ValueError, "trials: expected an integer from 1 to"),
        (lambda f: degree(f, 5, rng=0, sparsity=0), ValueError, "sparsity: expected an integer from 1 to"),
        (lambda f: queries.degree_at_most(f, 5, -1, rng=0), ValueError, "degree: expected an integer ≥ 0, got -1"),
        (lambda f: sparsity(f, 5, rng=0, most=0), ValueError, "most: expected an integer from 1 to"),
        (lambda f: sparsity(f, 5, rng=0, method="blocks"), ValueError, "method: expected 'directions'"),
        (lambda f: sparsity(f, 5, rng=0, largest=0), ValueError, "largest: expected an integer ≥ 1"),
        (lambda f: degree(lambda x: x, 5, rng=0), ValueError, "f: expected 16 values for points"),
        (lambda f: degree(lambda x: x[:, 0] * np.nan, 5, rng=0), ValueError, "f: expected finite values"),
        (lambda f: gf2(lambda x: x.mean(axis=1), 5, 1, rng=0), ValueError, "f: expected a Boolean"),
        (lambda f: heavy(f, 5, 0, rng=0), ValueError, "threshold: expected a number above 0, got 0"),
        (lambda f: heavy(f, 30, 0.001, rng=0), ValueError, "threshold: 0.001 of the bound takes"),
        (lambda f: heavy(f, 30, 0.5, rng=0, samples=0), ValueError, "samples: expected an integer from 1 to"),
        (lambda f: heavy(f, 0, 0.5, rng=0), ValueError, "n: expected an integer ≥ 1, got 0"),
        (lambda f: degree(f, 5, rng=0, error="5 %"), TypeError, "error: expected a number between 0 and 1, got str"),
        (lambda f: queries.sparsity_at_most(f, 60, 10**6, rng=0), ValueError, "sparsity: expected a subcube"),
        (lambda f: gf2(f, 5, 10**18, rng=0), ValueError, "degree: expected a subcube that fits in memory"),
        (lambda f: queries.degree_at_most(f, 10**6, 61, rng=0), ValueError, "degree: expected an integer from 0 to 60"),
        (lambda f: queries.survival(-1, 3), ValueError, "size: expected an integer from 0 to"),
        (lambda f: queries.tail_energy([1, np.nan]), ValueError, "coefficients: expected finite numbers, got nan"),
        (lambda f: degree(f, 5, rng=0, tolerance=np.inf), ValueError, "tolerance: expected a number from 0 to"),
        (lambda f: degree(f, 5, rng=None), TypeError, "rng: expected a numpy Generator or a seed"),
        (lambda f: sparsity(f, 5, rng=None), TypeError, "rng: expected a numpy Generator or a seed"),
        (lambda f: heavy(f, 5, 0.5, rng=None), TypeError, "rng: expected a numpy Generator or a seed"),
        (lambda f: heavy(f, 5, np.nan, rng=0), ValueError, "threshold: expected a number above 0, got nan"),
        (lambda f: heavy(f, 5, 0.5, rng=0, bound=-1), ValueError, "bound: expected a number above 0, got -1"),
        (lambda f: heavy(f, 5, 0.5, rng=0, samples=10**18), ValueError, "samples: expected an integer from 1 to"),
        (lambda f: queries.black_box(None, 5), TypeError, "components: expected a list, got None"),
        (lambda f: subcubes.restrict(f, [[0, 1]], [[[1, 1]]]), ValueError, "base: expected −1 and +1, got bits"),
        (lambda f: subcubes.restrict(f, [[1, 1]], [[[1]]]), ValueError, "spanning: expected shape (trials, r, n) with"),
        (lambda f: subcubes.blocks(-1, 2, 3, 0), ValueError, "count: expected an integer ≥ 0, got -1"),
        (lambda f: subcubes.axes(1, 4, 3, 0), ValueError, "r: expected an integer from 0 to 3, got 4"),
        (lambda f: subcubes.directions(10**9, 10**9, 9, 0), ValueError, "count, r, n: expected what fits in the"),
        (lambda f: queries.black_box([((1,), 1.0)], 2)(np.array([[0, 1]])), ValueError, "signs: expected −1 and +1"),
        (lambda f: queries.black_box([((1, 9), 1.0)], 5), ValueError, "subset: expected numbers from 1 to 5, got 9"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, error, message):
    with pytest.raises(error) as caught:
        call(lambda x: x[:, 0])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200
