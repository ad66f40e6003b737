"""Sparse variables: heads, lookups and their norms, compared with formulas on all inputs."""

import itertools
import math

import numpy as np
import pytest
import torch

from flatcube import cube, networks
from flatcube import sparse_variables as sv
from flatcube.sparse_variables import directions, gates, juntas, scales
from flatcube.sparse_variables import tables as lookup

KINDS = list(itertools.product(sv.ENCODINGS, sv.OUTPUTS))
EACH_KIND = pytest.mark.parametrize(("encoding", "outputs"), KINDS)


def all_bits(T):
    return np.arange(2**T)[:, None] >> np.arange(T) & 1


def random_chosen(T, s, rng):
    return tuple(rng.choice(T, s, replace=False) + 1)


def run(model, bits, encoding="fixed"):
    with torch.no_grad():
        return model(sv.as_symbols(bits, encoding)).numpy()


def wanted(selector, values, bits):
    """The function by its definition, without points or signals."""
    mine = bits[:, np.array(selector.chosen) - 1]
    return values[mine.sum(1) if selector.outputs == "one" else mine @ 2 ** np.arange(selector.s)]


# --- exactness --------------------------------------------------------------------------------------------------------


@EACH_KIND
@pytest.mark.parametrize(("T", "s"), [(1, 1), (5, 5), (8, 2), (12, 3), (12, 4)])
def test_networks_are_exact_on_all_inputs(encoding, outputs, T, s):
    rng, bits = np.random.default_rng([T, s]), all_bits(T)
    selector = sv.Selector(T, random_chosen(T, s, rng), encoding, outputs)
    values = rng.normal(size=len(selector.points()))
    model = sv.represent(selector, values)
    got = run(model, bits, encoding)
    assert np.abs(got - wanted(selector, values, bits)).max() < 1e-10
    again = networks.from_state(model.state_dict())
    assert np.array_equal(run(again, bits, encoding), got)


@EACH_KIND
def test_networks_are_exact_on_long_inputs(encoding, outputs):
    rng = np.random.default_rng(0)
    selector = sv.Selector(250, random_chosen(250, 3, rng), encoding, outputs)
    values, bits = rng.normal(size=len(selector.points())), rng.integers(0, 2, (40, 250))
    bits[:2] = [[0], [1]]
    assert np.abs(run(sv.represent(selector, values), bits, encoding) - wanted(selector, values, bits)).max() < 1e-10


def test_two_layers_do_for_one_output():
    selector, bits = sv.Selector(9, (1, 4, 8, 9), "bag"), all_bits(9)
    values = np.array([3.0, -1, 4, -1, 5])
    model = sv.represent(selector, values, layers=2)
    assert len(model.layers[0].mlp.weights) == 2
    assert np.abs(run(model, bits, "bag") - wanted(selector, values, bits)).max() < 1e-10


def test_a_bag_has_no_order():
    rng, bits = np.random.default_rng(1), all_bits(6)
    model = sv.represent(sv.Selector(6, (2, 3, 5), "bag", "each"), rng.normal(size=8))
    symbols = sv.as_symbols(bits, "bag")
    with torch.no_grad():
        shuffled = model(symbols[:, rng.permutation(6)]).numpy()
    assert np.abs(shuffled - run(model, bits, "bag")).max() < 1e-12


@EACH_KIND
def test_given_vectors_serve_as_well_as_unit_vectors(encoding, outputs):
    if encoding == "trainable":
        return
    rng, bits = np.random.default_rng(2), all_bits(8)
    chosen, small = (1, 4, 6), scales.largest_coherence(8, 3, 1 / 3, encoding="bag")
    turned = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    for vectors in (turned, directions.tilted(8, chosen, small / 2) @ turned):
        selector = sv.Selector(8, chosen, encoding, outputs, vectors=vectors)
        values = rng.normal(size=len(selector.points()))
        assert (
            np.abs(run(sv.represent(selector, values), bits, encoding) - wanted(selector, values, bits)).max() < 1e-10
        )


# --- signals and scales -----------------------------------------------------------------------------------------------


@EACH_KIND
@pytest.mark.parametrize(("T", "s", "R"), [(6, 1, 1.0), (8, 3, 2.5), (10, 4, 5.0), (7, 7, 0.5)])
def test_the_worst_error_is_exact(encoding, outputs, T, s, R):
    bits = all_bits(T)
    selector = sv.Selector(T, random_chosen(T, s, np.random.default_rng(3)), encoding, outputs, scale=R)
    measured = juntas.distance(selector.signal(bits), selector.target(bits))
    assert measured == pytest.approx(scales.worst_error(T, s, R, encoding=encoding, outputs=outputs), abs=1e-12)


@EACH_KIND
def test_below_the_smallest_scale_some_input_goes_wrong(encoding, outputs):
    T, s, bits = 9, 3, all_bits(9)
    least = scales.smallest_scale(
        T, s, sv.Selector(T, (1, 5, 9), encoding, outputs).gamma / 4, encoding=encoding, outputs=outputs
    )
    rng = np.random.default_rng(4)
    for factor, exact in ((1.0001, True), (0.999, False)):
        selector = sv.Selector(T, (1, 5, 9), encoding, outputs, scale=factor * least)
        values = rng.normal(size=len(selector.points()))
        assert (
            np.abs(run(sv.represent(selector, values), bits, encoding) - wanted(selector, values, bits)).max() < 1e-10
        ) == exact


def test_the_smallest_scale_is_below_the_sufficient_one():
    for (encoding, outputs), T, s in itertools.product(KINDS, (50, 500, 5000), (1, 2, 5)):
        selector = sv.Selector(T, tuple(range(1, s + 1)), encoding, outputs)
        least = scales.smallest_scale(T, s, selector.gamma / 4, encoding=encoding, outputs=outputs)
        assert least <= selector.scale <= least + 2 + math.log(s)


def test_attention_is_a_distribution_over_bits_and_asker():
    attention = sv.Selector(9, (2, 4), outputs="each").attention(all_bits(9)[::37])
    assert attention.shape == (2, 14, 10) and np.allclose(attention.sum(-1), 1)
    assert (attention[0, :, 1] > 0.8).all() and (attention[1, :, 3] > 0.8).all()


@EACH_KIND
def test_points_are_gamma_apart(encoding, outputs):
    for s in range(1, 6):
        selector = sv.Selector(s, tuple(range(1, s + 1)), encoding, outputs)
        points, bits = selector.points(), all_bits(s)
        apart = [np.abs(a - b).max() for a, b in itertools.combinations(points, 2)]
        assert min(apart) >= selector.gamma - 1e-12
        assert {tuple(row) for row in selector.target(bits)} == {tuple(row) for row in points}


# --- norms ------------------------------------------------------------------------------------------------------------


@EACH_KIND
def test_closed_forms_of_norms(encoding, outputs):
    rng = np.random.default_rng(5)
    vectors = None if encoding == "trainable" else directions.tilted(8, (2, 3, 7), 1e-4)
    for given in (None, vectors):
        selector = sv.Selector(8, (2, 3, 7), encoding, outputs, vectors=given)
        values = rng.normal(size=len(selector.points()))
        model, closed = sv.represent(selector, values), sv.frobenius_norms(selector, values)
        for head, matrices in zip(model.layers[0].heads, selector.matrices(), strict=True):
            for name, matrix in matrices.items():
                assert float(matrix.norm()) == pytest.approx(closed[name], rel=1e-9)
            assert float(head.query_key.detach().norm()) == pytest.approx(closed["W_Q"] * closed["W_K"], rel=1e-9)
        rows = model.positions.detach().norm(dim=1).sum()
        assert float(rows) == pytest.approx(closed["P"], rel=1e-9)
        parts = networks.squared_norms(model.layers[0].mlp)
        for k in (0, 1):
            total = parts[f"weights.{k}"] + parts[f"biases.{k}"]
            assert total == pytest.approx(closed[f"W{k + 1}"] ** 2, rel=1e-9)
        assert parts["weights.2"] == pytest.approx(closed["w"] ** 2, rel=1e-9)


@EACH_KIND
def test_heads_keep_to_ed_s_bounds(encoding, outputs):
    for T, s in itertools.product((10, 1000), (1, 3, 6)):
        selector = sv.Selector(T, tuple(range(1, s + 1)), encoding, outputs)
        measured = sv.frobenius_norms(selector)
        assert all(measured[name] <= bound + 1e-12 for name, bound in sv.claimed_norms(selector).items())


# --- lookups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_lookup_knows_its_boxes_and_nothing_between(d):
    rng = np.random.default_rng(d)
    points = 4 * 0.2 * np.array(list(itertools.product(range(3), repeat=d)), float) - 0.5
    values = rng.normal(size=(len(points), 2))
    model = lookup.lookup(points, values, 0.2)
    inside = points.repeat(50, 0) + rng.uniform(-0.2, 0.2, (50 * len(points), d))
    assert np.abs(model(torch.tensor(inside)).detach().numpy() - values.repeat(50, 0)).max() < 1e-12
    far = torch.full((1, d), 9.0, dtype=torch.float64)
    assert model(far).abs().max() < 1e-12


@pytest.mark.parametrize("d", [1, 2, 3])
def test_closed_forms_of_a_lookup(d):
    rng = np.random.default_rng(6)
    points, values = 2 * rng.permutation(7)[:, None] * np.ones(d) - 5.3, rng.normal(size=7)
    parts = networks.squared_norms(lookup.lookup(points, values, 0.4))
    closed = lookup.lookup_norms(points, values, 0.4)
    names = {"W1": "weights.0", "b1": "biases.0", "W2": "weights.1", "b2": "biases.1", "w": "weights.2"}
    assert {key: parts[name] for key, name in names.items()} == pytest.approx(closed, rel=1e-12)


def test_half_of_the_second_layer_never_fires():
    points = np.array(list(itertools.product((-1, 1), repeat=2)), float)
    hidden = list(
        lookup.lookup(points, np.ones(4), 0.25).hidden(torch.tensor(np.random.default_rng(7).uniform(-3, 3, (500, 2))))
    )
    assert hidden[1][:, :4].max() > 0.9 and hidden[1][:, 4:].max() < 1e-9


# --- gates of gates ---------------------------------------------------------------------------------------------------


def test_random_clauses_on_all_inputs():
    rng, bits = np.random.default_rng(8), all_bits(8)
    for _ in range(10):
        sets = [random_chosen(8, int(rng.integers(1, 4)), rng) for _ in range(rng.integers(1, 5))]
        model = gates.compose([(S, [0] + [1] * len(S)) for S in sets], [0] * len(sets) + [1], 8)
        want = np.all([bits[:, np.array(S) - 1].any(1) for S in sets], axis=0)
        got = run(model, bits, "bag")
        assert np.abs(got - want).max() < 1e-10
        assert np.array_equal(run(networks.from_state(model.state_dict()), bits, "bag"), got)


def test_any_symmetric_gates():
    bits = all_bits(10)
    model = gates.compose([((1, 5, 9), (0, 1, 0, 1)), ((2, 5), (1, 0, 0)), ((10,), (1, 0))], (5, -2, 0.5, 7), 10)
    opened = (bits[:, [0, 4, 8]].sum(1) % 2) + (bits[:, [1, 4]].sum(1) == 0) + (bits[:, 9] == 0)
    assert np.abs(run(model, bits, "bag") - np.array([5, -2, 0.5, 7])[opened]).max() < 1e-10


# --- juntas and directions --------------------------------------------------------------------------------------------


def test_what_a_junta_is():
    table = cube.formula("(x2 & x5) | ~x6", 6)
    assert juntas.is_sparse(table, (2, 5, 6)) and not juntas.is_sparse(table, (2, 5))
    assert not juntas.is_symmetric(table, (2, 5, 6)) and juntas.is_symmetric(cube.subset_parity((1, 4), 5), (1, 4))
    for chosen in ((4, 1), iter((4, 1))):
        assert juntas.levels(cube.subset_parity((1, 4), 5), chosen).tolist() == [1, -1, 1]
    assert juntas.strictness(np.ones(4), ()) == juntas.injectivity(np.ones(4), ()) == math.inf


def test_directions_by_their_inner_products():
    vectors = directions.tilted(6, (2, 4, 5), 0.1)
    products = vectors @ vectors.T
    assert products[1, 3] == pytest.approx(0.1) and products[3, 4] == pytest.approx(-0.1)
    assert directions.coherence(vectors) == pytest.approx(0.1) and np.allclose(np.diag(products), 1)
    assert directions.capacity(directions.dimension_for(10**6, 0.2), 0.2) >= 10**6


# --- mistakes ---------------------------------------------------------------------------------------------------------

PARITY = [1, -1, 1, -1]
WRONG = [
    (lambda: sv.Selector(8, (1, 1)), "chosen: expected distinct numbers"),
    (lambda: sv.Selector(8, (0, 3)), "chosen: expected numbers from 1 to 8, got 0"),
    (lambda: sv.Selector(8, (3, 9)), "chosen: expected numbers from 1 to 8, got 9"),
    (lambda: sv.Selector(8, ()), "chosen: expected at least one position, got none"),
    (lambda: sv.Selector(0, (1,)), "T: expected"),
    (lambda: sv.Selector(8, (1,), "learned"), "encoding: expected 'fixed' or 'trainable' or 'bag', got 'learned'"),
    (lambda: sv.Selector(8, (1,), outputs="all"), "outputs: expected 'one' or 'each', got 'all'"),
    (lambda: sv.Selector(8, (1,), form="new"), "form: expected 'repaired' or 'printed', got 'new'"),
    (lambda: sv.Selector(8, (1,), scale=-1.0), "scale: expected a number ≥ 0, got -1"),
    (lambda: sv.Selector(8, (1,), scale=math.nan), "scale: expected a number ≥ 0, got nan"),
    (lambda: sv.Selector(2, (1,), vectors=[[1, 0], [0, 2]]), "vectors: expected rows of length 1, got 2"),
    (lambda: sv.Selector(3, (1,), vectors=np.eye(2)), r"vectors: expected shape \(3, d\), got \(2, 2\)"),
    (lambda: sv.Selector(2, (1,), "trainable", vectors=np.eye(2)), "vectors: expected none"),
    (lambda: sv.Selector(8, (1, 2, 3), vectors=directions.tilted(8, (1, 2, 3), 0.1)), "coherence of at most 0.00"),
    (lambda: sv.Selector(8, (1, 2, 3), vectors=directions.tilted(8, (1, 2, 3), 0.4), form="printed"), "below 0.333"),
    (lambda: sv.represent(sv.Selector(8, (1, 2)), PARITY), r"values: expected shape \(3,\), got \(4,\)"),
    (lambda: sv.represent(sv.Selector(8, (1, 2)), [1, math.nan, 0]), "values: expected finite numbers, got nan"),
    (lambda: sv.represent(sv.Selector(12, range(1, 13), outputs="each"), [0] * 4096), "chosen: a lookup of all 4096"),
    (lambda: sv.as_symbols([[0, -1]]), "bits: expected 0 and 1, got −1; these are signs"),
    (lambda: sv.as_symbols([[0, 2]], "bag"), "bits: expected 0 and 1, got 2"),
    (lambda: sv.as_symbols([[0, 0.5]]), "bits: expected 0 and 1, got 0.5"),
    (lambda: sv.as_symbols([[0, 1]], "bags"), "encoding: expected 'fixed' or 'trainable' or 'bag', got 'bags'"),
    (lambda: sv.Selector(3, (1, 3)).target([[-1, 1, 1]]), "bits: expected 0 and 1, got −1; these are signs"),
    (lambda: sv.Selector(3, (1, 3)).target([[0, 1]]), r"bits: expected shape \(batch, 3\), got \(1, 2\)"),
    (lambda: scales.logit_scale(8, 2, 0.0), "gamma: expected a number above 0 and at most 1, got 0.0"),
    (lambda: scales.logit_scale(8, 2, 1.0, math.nan), "coherence: expected a number from 0 to 1, got nan"),
    (lambda: scales.worst_error(2, 5, 1.0), "s: expected an integer from 1 to 2, got 5"),
    (lambda: scales.worst_error(8, 2, 1000.0), "R: expected a number from -700 to 700, got 1000.0"),
    (lambda: sv.Selector(8, (1, 3), scale="3"), "scale: expected a number, got str"),
    (lambda: scales.worst_error(8, 2, 1.0, encoding="bags"), "encoding: expected 'fixed' or .* got 'bags'"),
    (lambda: scales.smallest_scale(8, 2, -0.1), "error: expected a number above 0, got -0.1"),
    (lambda: lookup.lookup(np.zeros((1, 1, 1)), [1], 0.1), r"points: expected an array of shape \(n, d\)"),
    (lambda: lookup.lookup([0, 1], [1, 2], 0.5), "delta: expected at most a quarter of the least distance 1, got 0.5"),
    (lambda: lookup.lookup([[0, 0], [9, 9]], [1, 2], 2), "delta: expected at most 1, .* got 2"),
    (lambda: lookup.lookup([0, 1], [1, 2], 0), "delta: expected a number above 0, got 0"),
    (lambda: lookup.lookup([0, 1], [1], 0.1), r"values: expected shape \(2, c\), got \(1, 1\)"),
    (lambda: lookup.lookup([[0, 0], [9, 9]], [1, 2], 0.5, layers=2), "layers: expected 3, or 2 for points with one"),
    (lambda: lookup.bump(0, 1, form="new"), "form: expected 'repaired' or 'printed', got 'new'"),
    (lambda: directions.with_inner_products([[1, 2], [2, 1]]), "gram: expected a positive definite matrix"),
    (lambda: directions.with_inner_products([[1, 0.5], [0, 1]]), "gram: expected a symmetric matrix"),
    (lambda: directions.tilted(3, (1, 2), math.nan), "delta: expected a number from -1 to 1, got nan"),
    (lambda: directions.dimension_for(0, 0.5), "count: expected an integer ≥ 1, got 0"),
    (lambda: juntas.is_sparse(np.ones(3), (1,)), "table: expected a length that is a power of two, got 3"),
    (lambda: juntas.distance(np.ones(1), np.ones(4)), r"g: expected shape \(1,\), got \(4,\)"),
    (lambda: directions.capacity(9, 0), "delta: expected a number above 0 and at most 1, got 0"),
    (lambda: juntas.levels(cube.parity(3), (1, 2)), r"table: expected a function of the variables \[1, 2\] only"),
    (lambda: juntas.levels(cube.first(2), (1, 2)), "table: expected a symmetric function"),
    (lambda: gates.compose([], [1], 4), "gates: expected 1 or more, got 0"),
    (lambda: gates.compose([((1, 2), (0, 1))], [0, 1], 4), r"gates: expected 3 values 0 or 1 for the bits \(1, 2\)"),
    (lambda: gates.compose([((1, 9), (0, 1, 1))], [0, 1], 4), "gates: expected numbers from 1 to 4, got 9"),
    (lambda: gates.compose([(1, 2)], [0, 1], 4), r"gates: expected pairs \(bits, values\), got \(1, 2\)"),
    (lambda: gates.compose([((1,), (0, 1))], [0, 1, 1], 4), r"final: expected shape \(2,\), got \(3,\)"),
    (lambda: gates.compose([((1,), (0, 1))], [0, 1], 10**7), "T: expected what fits in the"),
    (lambda: gates.compose(None, [0, 1], 4), "gates: expected a list, got None"),
    (lambda: sv.inputs([1, -1], np.eye(2)), "bits: expected 0 and 1, got −1; these are signs"),
    (lambda: sv.inputs([1, 0, 1], np.eye(2)), r"bits: expected shape \(…, 2\), got \(3,\)"),
    (lambda: sv.inputs([1, 0], np.eye(2), np.ones((2, 3))), r"tokens: expected shape \(2, d\) with d = 2"),
    (lambda: sv.represent(None, PARITY), "selector: expected sparse_variables.Selector, got NoneType"),
    (lambda: sv.frobenius_norms(None), "selector: expected sparse_variables.Selector, got NoneType"),
    (lambda: sv.Selector(80, range(1, 64), outputs="each").points(), "chosen: expected what fits in the"),
    (lambda: sv.Selector(3, (1, 3)).encoder("mlp"), "mlp: expected networks.Mlp or NoneType, got str"),
    (lambda: scales.lookup_radius(0.5, form="pritned"), "form: expected 'repaired' or 'printed', got 'pritned'"),
    (lambda: scales.lookup_radius(math.nan), "gamma: expected a number above 0 and at most 1, got nan"),
    (lambda: scales.truncation_bound(-3, 2, 1.0), "T: expected an integer from 1 to .*, got -3"),
    (lambda: scales.truncation_bound(3, 2, 1e4), "R: expected a number from -700 to 700, got 10000.0"),
    (lambda: scales.truncated_softmax([1.0, math.nan], 1), "logits: expected finite numbers, got nan"),
    (lambda: scales.truncated_softmax([1.0, 2.0], 3), "s: expected an integer from 1 to 2, got 3"),
    (lambda: scales.logit_scale(8, 2, 1.0, 2.0), "coherence: expected a number from 0 to 1, got 2.0"),
    (lambda: lookup.ramp([0, math.nan], 1), "x: expected finite numbers, got nan"),
    (lambda: lookup.lookup_norms([0, 1], [1, 2], 0), "delta: expected a number above 0, got 0"),
    (lambda: lookup.claimed_entries([0, 1], [1, 2, 3], 1), r"values: expected shape \(2, c\), got \(3, 1\)"),
    (lambda: lookup.largest_entries(["a"], [1], 1), "points: expected real numbers"),
    (lambda: directions.coherence([1.0, 0.0]), r"vectors: expected shape \(T, d\), got \(2,\)"),
    (lambda: directions.coherence(np.ones((0, 2))), r"vectors: expected rows of numbers, got shape \(0, 2\)"),
    (lambda: directions.random_directions(2, 2, rng=None), "rng: expected a numpy Generator or a seed ≥ 0, got None"),
    (lambda: directions.random_directions(10**9, 10**9, rng=1), "dimension: expected an integer from 1 to 100000000"),
    (lambda: directions.capacity(10**6, 1.0), "dimension: expected at most 2800 for this Δ, .* got 1000000"),
    (lambda: directions.with_inner_products(np.ones((2, 3))), r"gram: expected shape \(T, T\), got \(2, 3\)"),
    (lambda: juntas.is_sparse(cube.parity(3), (4,)), "chosen: expected numbers from 1 to 3, got 4"),
    (lambda: juntas.distance([1, math.nan], [1, 1]), "f: expected finite numbers, got nan"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), WRONG)
def test_mistakes_are_named_in_one_sentence(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence) as refused:
        call()
    assert "\n" not in str(refused.value)


@EACH_KIND
def test_the_printed_form_fails(encoding, outputs):
    bits = all_bits(8)
    selector = sv.Selector(8, (2, 5, 8), encoding, outputs, form="printed")
    values = np.array([1.0, -1] * (len(selector.points()) // 2))
    assert np.abs(run(sv.represent(selector, values), bits, encoding) - wanted(selector, values, bits)).max() > 0.5


# --- what the chapter shows beside the paper --------------------------------------------------------------------------


@pytest.mark.parametrize(("T", "s", "R"), [(5, 1, 0.7), (7, 2, 2.0), (8, 3, 4.0)])
def test_no_head_with_logits_up_to_R_leaks_less(T, s, R):
    """The lower bound of the chapter's proof: whatever logits between 0 and R, the error is at least the least leak."""
    rng = np.random.default_rng([T, s])
    signs = cube.points(T)
    average = signs[:, :s].mean(axis=1)
    least = (T + 1 - s) / (s * np.exp(R) + T + 1 - s)
    found = []
    for trial in range(200):
        logits = rng.uniform(0, R, T + 1) if trial else np.repeat([R, 0.0], [s, T + 1 - s])
        weights = np.exp(logits) / np.exp(logits).sum()
        found.append(np.abs(signs @ weights[:T] - average).max())
    assert min(found) >= least
    assert found[0] == pytest.approx(scales.worst_error(T, s, R)) and found[0] < 2 * least


def test_bumps_on_points_three_widths_apart_do_not_meet_and_nearer_ones_do():
    off = np.linspace(-1, 1, 41)
    for apart, fits in ((3.0, True), (2.9, False)):
        got = lookup.bump(off, 1) - lookup.bump(off - apart, 1)  # the value 1 here, −1 at the neighbour
        assert np.allclose(got, 1) is fits
