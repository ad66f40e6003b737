"""Capacity bounds: covers of linear maps and networks, norms given and measured, promises, and Occam's count."""

import math
import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from flatcube import capacity, handmade, networks
from flatcube.capacity import Cover, HeadNorms, LayerNorms, NetworkNorms, Norms, covers

TILINGS = [(12, 2), (24, 2), (24, 3), (24, 4), (60, 2), (60, 3), (120, 2)]
positive = st.floats(0.05, 20)


def parities(T, k):
    """The components of a tiling of T bits by k-parities with unit variance."""
    sets = [tuple(range(start, start + k)) for start in range(1, T + 1, k)]
    return [(members, 2 / math.sqrt(len(sets))) for members in sets]


def needed(network, form, ceiling):
    covered = capacity.cover(network, form)
    return capacity.samples_needed(lambda m: capacity.gap(covered, m=m, ceiling=ceiling))


# --- covers -----------------------------------------------------------------------------------------------------------


def test_an_interval_is_covered_by_balls_of_width_two_epsilon():
    values = np.linspace(-1, 1, 401)[:, None]
    for eps in (1, 0.5, 0.25, 0.2):
        assert math.ceil(1 / eps) <= len(covers.greedy(values, eps)) <= math.ceil(1 / eps) + 2
        assert len(covers.separated(values, 2 * eps)) <= math.ceil(1 / eps)


def test_vector_values_are_compared_by_their_norm():
    values = np.array([[[0.0, 0.0]], [[0.6, 0.8]]])
    assert covers.distances(values).tolist() == [[0, 1], [1, 0]]
    assert len(covers.greedy(values, 0.9)) == 2 and len(covers.greedy(values, 1)) == 1


@pytest.mark.parametrize(("N", "eps"), [(3, 0.26), (4, 0.2), (5, 0.3), (4, 0.1), (2, 0.6)])
def test_a_packing_of_sign_vectors_is_the_largest_of_its_kind_and_really_apart(N, eps):
    sets = {}
    for k in range(N + 1):
        if k == 0 or 1 / math.sqrt(k) > 2 * eps:
            signs = [np.array(s) for s in product((-1, 0, 1), repeat=N) if np.abs(s).sum() == k]
            sets[k] = np.array(signs) / math.sqrt(max(k, 1))
    vectors = max(sets.values(), key=len)
    assert math.exp(covers.packing(1, 1, eps, N)) == pytest.approx(len(vectors))
    assert len(covers.separated(vectors @ np.eye(N), 2 * eps)) == len(vectors)
    assert np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-12
    assert covers.packing(2, 3, 6 * eps, N) == covers.packing(1, 1, eps, N) <= covers.linear(1, 1, eps, N)


@given(st.integers(1, 6), st.integers(1, 30), st.floats(0.1, 1), st.integers(0, 10**6))
def test_a_corrector_can_be_replayed_from_its_steps(d, count, eps, seed):
    rng = np.random.default_rng(seed)
    target, inputs = rng.normal(size=d), rng.normal(size=(count, d))
    found = covers.correct(target, inputs, eps)
    radius, step = np.linalg.norm(target), eps / np.square(inputs).sum(axis=1).max()
    replayed = np.zeros(d)
    for index, sign in found.steps:  # nothing but inputs and signs: so few results are possible
        replayed = replayed + step * sign * inputs[index]
        replayed *= min(1, radius / np.linalg.norm(replayed))
    assert np.allclose(replayed, found.weights)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6), positive)
def test_a_split_spends_the_whole_error_in_proportion(parts, eps):
    sizes, reaches = np.array(parts).T
    errors, value = covers.split(sizes, reaches, eps)
    assert math.isclose(reaches @ errors, eps, rel_tol=1e-9)
    shares = (sizes / errors) ** 2 / value
    assert np.allclose(shares, (sizes * reaches) ** (2 / 3) / ((sizes * reaches) ** (2 / 3)).sum())


def test_parts_that_do_not_matter_may_be_off_without_limit():
    errors, value = covers.split([1, 0, 1], [1, 1, 0], 0.5)
    assert errors.tolist() == [0.5, 0, math.inf] and value == 4
    assert covers.split([0, 0], [1, 1], 1)[1] == 0


# --- networks ---------------------------------------------------------------------------------------------------------


def test_norms_of_a_matrix():
    found = Norms.of([[3, 0, 0], [4, 0, 1]])
    assert (found.largest, found.width, found.total) == (5, 3, 6)
    assert found.spectral == pytest.approx(np.linalg.svd([[3, 0, 0], [4, 0, 1]])[1][0])
    assert (found.size("corrected"), found.size("explicit")) == (15, 6)
    assert Norms(1, 2, 3).total == 6 and Norms.fixed().size("corrected") == 0


@pytest.mark.parametrize(("T", "k"), [(4, 2), (6, 3), (12, 2)])
def test_the_closed_forms_of_a_tiling_are_those_of_the_network(T, k):
    measured = capacity.measure(handmade.build(parities(T, k), T, mode="soft"))
    (first, second), (reading, mixing) = capacity.tiling(T, k).layers, measured.layers
    assert vars(first.heads[0].score) == pytest.approx(vars(reading.heads[0].score))
    assert vars(first.output) == pytest.approx(vars(reading.output))
    assert vars(first.heads[0].value) == pytest.approx(vars(reading.inner))  # V₁ only copies the bit channel
    assert vars(second.heads[0].score) == pytest.approx(vars(mixing.heads[0].score))
    assert capacity.tiling(T, k).readout.spectral == pytest.approx(mixing.heads[0].value.spectral)
    assert (measured.T, measured.input_norm) == (T + 1, pytest.approx(math.sqrt(2)))
    assert reading.bypass == 1 and mixing.bypass == 0


def test_heads_outputs_wires_and_a_readout_are_found():
    generator = torch.Generator().manual_seed(0)
    drawn = {shape: torch.randn(*shape, generator=generator) for shape in ((4, 4), (4, 2), (2, 4))}
    heads = [networks.Head(drawn[4, 4], drawn[4, 2], drawn[2, 4]), networks.Head(drawn[4, 4], drawn[4, 4])]
    layers = [networks.Layer(heads, skip=torch.eye(4), keep=2 * torch.eye(4))]
    model = networks.Circuit(torch.eye(2, 4), torch.zeros(5, 4), layers, readout=torch.full((4, 1), 0.5))
    network = capacity.measure(model)
    (layer,) = network.layers
    assert layer.heads[0].value == Norms.of((drawn[4, 2] @ drawn[2, 4]).numpy()) and len(layer.heads) == 2
    assert (layer.skip, layer.keep, layer.bypass, network.input_norm, network.T) == (1, 2, 0, 1, 5)
    assert network.readout.spectral == pytest.approx(1)
    assert {"layer 1 head 1 score", "layer 1 head 2 value", "read-out"} <= capacity.cover(network).parts.keys()


def test_a_trained_network_has_the_norms_of_its_circuit():
    model = networks.Encoder(networks.Config(n=4, width=4, norm="mlp"), seed=1, dtype=torch.float64)
    assert capacity.measure(model) == capacity.measure(model.circuit())


def test_wires_carry_errors_past_a_layer():
    one = HeadNorms(Norms(0, 0, 1), Norms(0.5, 0.5, 1))
    assert LayerNorms((one,), Norms(3, 3, 1)).stretch(1) == 1.5
    assert LayerNorms((one,), Norms(3, 3, 1), skip=1, keep=1, bypass=2).stretch(1) == 2 + (1 + 3) * (1 + 0.5)


def test_the_norm_of_the_tokens_can_be_absorbed():
    layer = LayerNorms((HeadNorms(Norms(0.7, 0.6, 3), Norms(1.1, 0.9, 3)),), Norms(1.2, 1.0, 3))
    scaled = LayerNorms((HeadNorms(Norms(2.8, 2.4, 3), Norms(2.2, 1.8, 3)),), Norms(1.2, 1.0, 3))
    for form in capacity.FORMS:
        long = capacity.cover(NetworkNorms((layer, layer), Norms(1, 1, 1), 9, input_norm=2), form)
        assert long == capacity.cover(NetworkNorms((scaled, layer), Norms(1, 1, 1), 9), form)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=4), positive)
def test_more_norm_never_means_less_capacity(rows, readout):
    def covered(factor, form):
        heads = [HeadNorms(Norms(a, a, 2).times(factor), Norms(b, b, 2)) for a, b, _ in rows]
        layers = [LayerNorms((one,), Norms(c, c, 2)) for one, (_, _, c) in zip(heads, rows, strict=True)]
        return capacity.cover(NetworkNorms(tuple(layers), Norms(readout, readout, 1), 7), form).capacity(100)

    for form in capacity.FORMS:
        assert covered(1, form) <= covered(1.5, form) * (1 + 1e-12)


def test_the_terms_of_log_n_add_up_and_are_the_covers_of_the_parts():
    covered = capacity.cover(capacity.tiling(12, 2), "explicit")
    bound, errors = covered.log_number(0.3, 1000), covered.errors(0.3)
    assert bound.value == pytest.approx(covered.capacity(1000) / 0.09)
    for name, term in bound.terms.items():
        assert term == pytest.approx((covered.sizes[name] / errors[name]) ** 2 * covered.points(1000))
    text = bound.explain()
    assert text.startswith("log N at ε = 0.3 on 1,000 inputs of 13 tokens (explicit) is at most")
    assert len(text.splitlines()) == 1 + len(bound.terms) and "layer 1 score" in text


# --- promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("T", "k", "corrected", "printed", "trivial"),
    [(*tiling, *row) for tiling, row in zip(TILINGS, [
        (20.1, 18.9, 78), (21.5, 19.9, 111), (21.8, 20.5, 91), (22.2, 21.0, 78), (23.3, 21.3, 175), (23.6, 21.8, 143),
        (24.7, 22.3, 248)], strict=True)],
)  # fmt: skip
def test_the_table_of_tilings(T, k, corrected, printed, trivial):
    network, ceiling = capacity.tiling(T, k), 2 * math.sqrt(T // k)
    assert math.log10(needed(network, "corrected", ceiling)) == pytest.approx(corrected, abs=0.05)
    assert math.log10(needed(network, "printed", ceiling)) == pytest.approx(printed, abs=0.05)
    assert needed(network, "explicit", ceiling) < needed(network, "corrected", ceiling)
    at = capacity.gap(capacity.cover(network), m=1e6, ceiling=ceiling)
    assert at.value == pytest.approx(trivial, abs=0.6)  # as large as losses of f can differ at all


def test_a_bound_crosses_its_target_where_it_says():
    covered = Cover({"all": 1.0}, {"all": 1.0}, 10)
    bound = lambda m: capacity.gap(covered, m=m, ceiling=2)  # noqa: E731
    m = capacity.samples_needed(bound, 0.25)
    assert bound(m).value <= 0.25 < bound(0.999 * m).value
    assert capacity.samples_needed(lambda m: capacity.Bound("", {"all": 2.0})) == math.inf
    assert capacity.samples_needed(lambda m: capacity.Bound("", {"all": 0.5})) == 1


def test_chaining_stops_at_the_ceiling():
    assert capacity.chaining(100.0, m=1, ceiling=3) == 3
    assert capacity.chaining(0.0, m=10, ceiling=3) == 0


# --- Occam ------------------------------------------------------------------------------------------------------------


def test_sparse_functions_are_counted():
    sets = list(combinations(range(5), 2))
    assert len(list(combinations(sets, 3))) * 4**3 == pytest.approx(
        math.exp(sum(capacity.sparse_functions(5, 2, 3, levels=4).values()))
    )


def test_occam_against_all_functions_of_a_small_class():
    """Parities of 2 of 6 bits: how often does one with risk above the bound fit all examples?"""
    rng, m, delta = np.random.default_rng(1), 12, 0.2
    bound = capacity.occam(6, 2, 1, m=m, levels=1, clip=1, delta=delta).value
    pairs = np.array([(i, j) for i in range(6) for j in range(i)])
    failures = 0
    for _ in range(2000):
        bits = rng.integers(0, 2, (m, 6))
        values = bits[:, pairs].sum(axis=2) % 2
        wrong_but_fits = (values == values[:, :1]).all(axis=0)[1:]  # the first is the target; others have risk 1/2
        failures += wrong_but_fits.any() and bound < 0.5
    assert bound < 0.5 and failures <= delta * 2000


def test_occam_needs_hundreds_where_covers_need_twenty_digits():
    rows = {t: capacity.samples_needed(lambda m, t=t: capacity.occam(*t, t[0] // t[1], m=m)) for t in TILINGS}
    assert rows[12, 2] == pytest.approx(4 * (math.log(math.comb(66, 6)) + 6 * math.log(16) + math.log(20)))
    assert max(rows.values()) < 2100 and rows[24, 2] < 400


# --- refusals ---------------------------------------------------------------------------------------------------------

ONE = Cover({"all": 1.0}, {"all": 1.0}, 10)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: capacity.gap(ONE, m=0.5, ceiling=1), "m: expected a number of examples ≥ 1, got 0.5"),
        (lambda: capacity.gap(ONE, m=math.nan, ceiling=1), "m: expected a number of examples ≥ 1, got nan"),
        (lambda: capacity.gap(ONE, m=9, ceiling=1, delta=1), "delta: expected a number between 0 and 1, got 1"),
        (lambda: capacity.gap(ONE, m=9, ceiling=-1), "ceiling: expected a number above 0, got -1"),
        (lambda: capacity.gap(ONE, m=9, ceiling=1, clip=0), "clip: expected a number above 0, got 0"),
        (lambda: ONE.log_number(0, 9), "eps: expected a number above 0, got 0"),
        (lambda: Norms(-1, 1, 1), "spectral: expected a number ≥ 0, got -1"),
        (lambda: Norms(1, math.inf, 1), r"largest: expected a number from 0 to 1e\+?100, got inf"),
        (lambda: Norms(1, 1, -1), "width: expected an integer ≥ 0, got -1"),
        (lambda: NetworkNorms((), Norms.fixed(), 0), "T: expected an integer ≥ 1, got 0"),
        (lambda: NetworkNorms((), Norms.fixed(), 1), "layers: expected 1 or more, got 0"),
        (lambda: capacity.cover(capacity.tiling(4, 2), "sharp"), "form: expected 'printed' or .* got 'sharp'"),
        (lambda: capacity.tiling(12, 5), "k: expected a divisor of T = 12, got 5"),
        (lambda: capacity.occam(4, 5, 1, m=9), "d: expected a degree of at most T = 4, got 5"),
        (lambda: capacity.occam(4, 2, 7, m=9), r"w: expected at most C\(4, 2\) = 6 components, got 7"),
        (lambda: capacity.occam(4, 2, 1, m=9, delta=0), "delta: expected a number between 0 and 1, got 0"),
        (lambda: covers.linear(-1, 1, 1, 9), "norm: expected a number ≥ 0, got -1"),
        (lambda: covers.linear(9, 1, 1e-100, 9), r"norm·input_norm/eps: expected a number from 0 to 1e\+?100"),
        (lambda: covers.packing(1, 1, 0.1, 0), "points: expected an integer"),
        (lambda: covers.zhang(1, 1, 1, math.nan), "points: expected a number ≥ 1, got nan"),
        (lambda: covers.split([1], [1, 2], 1), r"reaches: expected shape \(1,\), got \(2,\)"),
        (lambda: covers.split([-1], [1], 1), "sizes: expected numbers ≥ 0, got -1"),
        (lambda: covers.column_errors([1, -1, 1], 1), "columns: expected numbers ≥ 0, got -1"),
        (lambda: covers.greedy(np.zeros(3), 1), r"values: expected \(functions, inputs\)"),
        (lambda: covers.greedy([[0.0], [math.nan]], 1), "values: expected finite numbers, got nan"),
        (lambda: covers.separated(np.zeros((0, 3)), 1), r"values: expected \(functions, inputs\).* got \(0, 3\)"),
        (lambda: covers.correct([math.inf], [[1]], 1), "target: expected finite numbers, got inf"),
        (lambda: covers.correct([1, 1], [[1]], 1), r"inputs: expected shape \(N, d\) with d = 2, got \(1, 1\)"),
        (lambda: covers.correct([1], [[1]], 1e-9), "eps: expected at least 0.001, which takes up to 1,000,000 steps"),
        (lambda: covers.softmax("abc"), "logits: expected real numbers"),
        (lambda: covers.attend(np.eye(2), np.eye(3), np.eye(2)), r"score: expected shape \(d, d\) with d = 2"),
        (lambda: covers.block(*[np.eye(2)] * 3, np.eye(3)), r"output: expected shape \(k, e\) with k = 2"),
        (lambda: covers.along_and_across(np.zeros(2), np.ones(2)), "‖u‖²: expected a number above 0, got 0"),
        (lambda: covers.rademacher([[1, 1]], draws=10**18, rng=0), "draws: expected an integer from 2 to 100000"),
        (lambda: covers.rademacher([[1, 1]], rng=None), "rng: expected a numpy Generator or a seed ≥ 0, got None"),
        (lambda: covers.massart([1, 2]), r"values: expected shape \(functions, m\), got \(2,\)"),
        (lambda: capacity.occam(1000, 500, 10**4, m=9), "d, w: expected numbers with w·log₂"),
        (lambda: capacity.cover(None), "network: expected capacity.NetworkNorms, got NoneType"),
        (lambda: capacity.gap(None, m=9, ceiling=1), "covered: expected capacity.Cover, got NoneType"),
        (lambda: capacity.head(None, T=3), "one: expected capacity.HeadNorms, got NoneType"),
        (lambda: capacity.heads([], T=3), "several: expected 1 or more, got 0"),
        (lambda: capacity.heads([3], T=3), r"several\[0\]: expected capacity.HeadNorms, got int"),
        (lambda: capacity.chaining(1, m=9, ceiling=1, start=0), "start: expected a number above 0, got 0"),
        (lambda: capacity.samples_needed(3), "bound: expected a function of m, got int"),
        (lambda: capacity.samples_needed(lambda m: m), "bound: expected a Bound for each m, got 1.0 at m = 1"),
        (
            lambda: capacity.samples_needed(lambda m: capacity.Bound("", {"all": math.nan})),
            "bound: expected a Bound for each m, got Bound",
        ),
        (lambda: Cover({"all": 1.0}, {}, 10), "sizes, reaches: expected the same parts, got"),
        (lambda: Norms.of([[1, math.nan]]), "matrix: expected finite numbers, got nan"),
        (lambda: Norms.of(np.zeros((0, 2))), "matrix: expected rows and columns"),
        (lambda: Norms(1, 1, 1).times(-1), "factor: expected a number ≥ 0, got -1"),
        (lambda: Norms(1, 1, 1).size("exact"), "form: expected 'printed' or"),
        (lambda: HeadNorms(None, Norms.fixed()), "score: expected capacity.Norms, got NoneType"),
        (lambda: LayerNorms((1,), Norms.fixed()), r"heads\[0\]: expected capacity.HeadNorms, got int"),
        (lambda: LayerNorms((), Norms.fixed(), skip=-1), "skip: expected a number ≥ 0, got -1"),
        (lambda: NetworkNorms((Norms.fixed(),), Norms.fixed(), 1), r"layers\[0\]: expected capacity.LayerNorms"),
        (lambda: capacity.measure(None), "model: expected a network of the book, such as a Circuit, got NoneType"),
        (
            lambda: capacity.samples_needed(lambda m: capacity.gap(ONE, m=m, ceiling=1), 0),
            "target: expected a number above 0, got 0",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_a_network_that_cannot_be_measured_is_refused():
    eye = torch.eye(2)
    for count, sentence in ((2, "input_norm, T: this network stores no positions"), (3, "an MLP with 3 matrices")):
        mlp = networks.Mlp([eye.clone() for _ in range(count)], [None] * count)
        layers = [networks.Layer([networks.Head(eye, eye.clone())], mlp)]
        bare = networks.Circuit(eye, lambda n: torch.zeros(n, 2), layers, readout=torch.ones(2, 1))
        with pytest.raises(ValueError, match=sentence):
            capacity.measure(bare, **({"input_norm": 2.0, "T": 9} if count == 3 else {}))
        if count == 2:
            assert capacity.measure(bare, input_norm=2.0, T=9).input_norm == 2


def test_no_torch_is_needed():
    code = "import sys; import flatcube.capacity; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
