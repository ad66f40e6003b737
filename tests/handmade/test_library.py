"""The hand-built transformer: exact on every input, through its weights alone; closed forms against measurements."""

import math

import numpy as np
import pytest
import torch

from flatcube import cube, fourier, handmade, networks
from flatcube.handmade import Design

BITS = {T: cube.to_bits(cube.points(T)) for T in (3, 4, 6, 8, 12)}


def _mixed(T: int, sizes: list[int], seed: int) -> list[tuple[tuple[int, ...], float]]:
    """Distinct random subsets of the given sizes, with Gaussian weights."""
    rng = np.random.default_rng(seed)
    chosen: dict[tuple[int, ...], float] = {}
    for size in sizes:
        while (members := tuple(sorted((1 + rng.choice(T, size, replace=False)).tolist()))) in chosen:
            pass
        chosen[members] = float(rng.standard_normal())
    return list(chosen.items())


@torch.no_grad()
def _error(plan: Design) -> float:
    """The largest error of the network over all inputs; the other route is a table of parities."""
    wanted = cube.even_sum(plan.components, plan.T)
    return float(np.abs(handmade.assemble(plan)(BITS[plan.T]).numpy() - wanted).max())


GENERAL = {
    "every degree": list(range(1, 13)),
    "with a constant": [12, 1, 4, 2, 3, 0, 5, 6, 7, 8, 2, 3],
    "mostly small": [0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 9, 9],
    "pairs only": [2] * 12,
}


@pytest.mark.parametrize("sizes", GENERAL.values(), ids=GENERAL)
def test_twelve_components_of_any_sign_and_degree_on_twelve_bits_are_exact(sizes):
    for seed in range(2):
        components = _mixed(12, sizes, seed)
        assert _error(Design(components, 12)) < 1e-10
        assert _error(Design(components, 12, grid="trimmed")) < 1e-10
        assert _error(Design(components, 12, mode="soft", tau=1e-3)) < 1e-3 + 1e-10


@pytest.mark.parametrize("mode", ["hard", "soft", "sink"])
def test_the_three_modes(mode):
    for seed, (degree, w) in enumerate([(1, 3), (2, 8), (3, 4), (8, 1)]):
        plan = Design(cube.random_components(8, degree, w, rng=seed), 8, mode=mode, tau=1e-4)
        assert _error(plan) < (1e-4 + 1e-10 if mode == "soft" else 1e-10)
        assert all(head.mask is None for head in handmade.assemble(plan).layers[1].heads) == (mode != "hard")


@torch.no_grad()
def test_in_soft_mode_the_error_is_the_wave_at_the_mean_bit():
    plan = Design(cube.random_components(8, 3, 4, rng=0), 8, mode="soft", tau=0.1)
    bits = BITS[8]
    error = handmade.assemble(plan)(bits).numpy() - cube.even_sum(plan.components, 8)
    assert error == pytest.approx(0.1 * handmade.wave(bits.sum(axis=1) / 9, 3), abs=1e-10)


@torch.no_grad()
def test_long_inputs_agree_with_the_formula():
    bits = np.random.default_rng(0).integers(0, 2, (200, 100))
    for mode in ("hard", "sink"):
        plan = Design(cube.random_components(100, 5, 30, rng=1), 100, mode=mode)
        assert handmade.assemble(plan)(bits).numpy() == pytest.approx(handmade.target_values(plan, bits), abs=1e-10)


@torch.no_grad()
def test_the_network_is_its_state_dict():
    plans = [Design(_mixed(6, [3, 0, 1, 2], 0), 6)]
    plans += [Design(cube.random_components(6, 2, 3, rng=1), 6, mode=mode) for mode in ("soft", "sink")]
    for plan in plans:
        model = handmade.assemble(plan)
        assert torch.equal(networks.from_state(model.state_dict())(BITS[6]), model(BITS[6]))
        assert type(model) is networks.Circuit


@torch.no_grad()
def test_building_from_a_spectrum_and_from_a_table():
    for table in (cube.formula("x1 & x2", 4), cube.parity(4), cube.first(4), np.full(16, -2.5)):
        values = [handmade.from_table(table)(BITS[4]), handmade.from_spectrum(fourier.spectrum(table))(BITS[4])]
        for got in values:
            assert got.numpy() == pytest.approx(table, abs=1e-10)
    majority = handmade.from_table(cube.majority(3), 6)(BITS[6]).numpy()  # five components need more than three places
    assert majority == pytest.approx(np.tile(cube.majority(3), 8), abs=1e-10)


@torch.no_grad()
def test_activations_are_the_prefix_sums_and_the_parities():
    plan = Design(_mixed(6, [3, 0, 1, 2], 2), 6)
    seen = handmade.assemble(plan).activations(BITS[6])
    sums = seen["layers.0.mixed"][:, :4, -1].numpy()
    assert sums == pytest.approx(handmade.prefix_sums(plan, BITS[6]), abs=1e-12)
    even = np.stack([cube.even(members, 6) for members in plan.subsets], axis=1)
    assert seen["layers.0.output"][:, :4, -1].numpy() == pytest.approx(even, abs=1e-10)


def test_the_prefix_sums_of_a_very_large_scale_are_the_means():
    assert handmade.prefix_sums(Design(PAIR, 4, scale=1e3), BITS[4])[:, 0] == pytest.approx(BITS[4][:, :2].mean(axis=1))


def test_the_wave_by_interpolation():
    a = np.linspace(-0.5, 1.7, 2201)
    for d in range(1, 9):
        ends = [(k / d + side * width / d, height) for k in range(0, d + 1, 2)
                for side, width, height in ((-1, 1 / 2, 0), (-1, 1 / 4, 1), (1, 1 / 4, 1), (1, 1 / 2, 0))]  # fmt: skip
        assert handmade.wave(a, d) == pytest.approx(np.interp(a, *zip(*ends, strict=True)), abs=1e-10)
        for grid in ("full", "trimmed"):
            kinks, slopes = handmade.breakpoints(d, grid)
            values = np.maximum(a[:, None] - kinks.ravel(), 0) @ slopes.ravel()
            assert values == pytest.approx(handmade.wave(a, d), abs=1e-10)


# --- the scale --------------------------------------------------------------------------------------------------------


def _first_layer_error(plan: Design) -> float:
    """The largest distance of φ(a) from the parity; only n, the ones inside, and N, those outside, matter."""
    worst = 0.0
    for members in plan.subsets:
        size, sink = len(members), plan.mode == "sink"
        n, outside = np.meshgrid(np.arange(size + 1), np.arange(plan.T - size + 1))
        others = plan.T + 1 - size - (size < plan.degree)
        lift = math.exp(plan.beta)
        a = (n * lift + outside + 2 * sink) / (plan.degree * lift + others)
        worst = max(worst, float(np.abs(handmade.wave(a, plan.degree) - (n % 2 == 0)).max()))
    if plan.mode == "sink":
        lift = math.exp(plan.beta)
        unused = (2 * lift + np.arange(plan.T + 1)) / (lift + plan.T)
        worst = max(worst, float(handmade.wave(unused, plan.degree).max()))
    return worst


@pytest.mark.parametrize("mode", ["hard", "sink"])
def test_the_threshold_separates_exact_from_wrong(mode):
    for T in range(1, 16):
        for d in range(1, T + 1):
            plan = Design([(range(1, d + 1), 1.0)], T, mode=mode)
            least = handmade.least_scale(plan)
            assert _first_layer_error(Design(plan.components, T, mode, scale=least + 1e-6)) < 1e-9
            assert _first_layer_error(Design(plan.components, T, mode, scale=least - 1e-6)) > 1e-9
            assert least <= math.log(4 * (T + (mode == "sink"))) + 1e-12


def test_the_threshold_of_mixed_degrees():
    for seed in range(20):
        sizes = np.random.default_rng(seed).integers(0, 9, 5).tolist()
        components = _mixed(8, [s if s not in (0, 8) or sizes.index(s) == i else 3 for i, s in enumerate(sizes)], seed)
        least = handmade.least_scale(Design(components, 8))
        assert _first_layer_error(Design(components, 8, scale=least + 1e-6)) < 1e-9
        assert _first_layer_error(Design(components, 8, scale=least - 1e-6)) > 1e-9
        assert least <= math.log(4 * 8) + 1e-12


def test_the_network_breaks_at_the_threshold_and_not_before():
    components = cube.random_components(8, 3, 4, rng=3)
    least = handmade.least_scale(Design(components, 8))
    assert _error(Design(components, 8, scale=least)) < 1e-10
    assert _error(Design(components, 8, scale=least - 0.01)) > 1e-3


# --- norms and gradients ----------------------------------------------------------------------------------------------

PLANS = {
    "hard": Design(cube.random_components(8, 3, 4, rng=0), 8),
    "soft": Design(cube.random_components(8, 3, 4, rng=0), 8, mode="soft", tau=1e-3),
    "sink": Design(cube.random_components(8, 3, 4, rng=0), 8, mode="sink"),
    "trimmed": Design(cube.random_components(8, 4, 5, rng=1), 8, grid="trimmed", kappa=0.25),
    "general": Design(_mixed(12, GENERAL["with a constant"], 3), 12),
    "general, lifted": Design(_mixed(8, [0, 1, 2, 3, 5, 8], 4), 8, gamma=2.0),
    "one component": Design([((1, 2, 3), 2.0)], 3),
    "a constant": Design([((), -1.5)], 4),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_norms_by_formula_are_the_norms_of_the_weights(plan):
    model = handmade.assemble(plan)
    assert handmade.measured_norms(model) == pytest.approx(handmade.norms(plan), rel=1e-9)
    total = sum(networks.squared_norms(model, exclude=("tokens", "positions")).values())
    assert total == pytest.approx(sum(handmade.norms(plan).values()), rel=1e-9)


@pytest.mark.parametrize("plan", [plan for plan in PLANS.values() if plan.mode == "hard"], ids=str)
def test_gradients_by_formula_are_those_of_autograd(plan):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (40, plan.T))
    bits[0], bits[1] = 0, 1
    formula = handmade.gradient_norms(plan, bits)
    measured = handmade.measured_gradient_norms(handmade.assemble(plan), bits)
    assert formula.keys() == measured.keys()
    for name in formula:
        assert formula[name] == pytest.approx(measured[name], rel=1e-9, abs=1e-9)


def test_disjoint_components_have_the_mean_bias_gradient_of_the_formula():
    d, weights = 3, np.array([0.5, 1.5])
    plan = Design([((1, 2, 3), 0.5), ((4, 5, 6), 1.5)], 6)
    tails = np.array([sum(math.comb(d, k) for k in range(j, d + 1)) / 2**d for j in range(d + 1)])
    squares, total = (weights**2).sum(), weights.sum()
    mean = 32 * d**2 * ((total**2 - squares) * (tails**2).sum() + squares * (1 + d / 2))
    assert handmade.gradient_norms(plan, BITS[6])["b"].mean() == pytest.approx(mean, rel=1e-9)


# --- the same function with other weights -----------------------------------------------------------------------------


@torch.no_grad()
def test_rescaling_changes_weights_and_gradients_but_not_the_function():
    plan = PLANS["hard"]
    model = handmade.assemble(plan)
    other = handmade.rescale(model, 2.5)
    assert other(BITS[8]).numpy() == pytest.approx(model(BITS[8]).numpy(), abs=1e-10)
    norms, changed = handmade.measured_norms(model), handmade.measured_norms(other)
    assert changed["E"] + changed["b"] == pytest.approx(2.5**2 * (norms["E"] + norms["b"]))
    assert changed["F"] == pytest.approx(norms["F"] / 2.5**2)
    with torch.enable_grad():
        before, after = (handmade.measured_gradient_norms(net, BITS[8][:20]) for net in (model, other))
    factors = {"E": 2.5**-2, "b": 2.5**-2, "F bit": 2.5**2, "F positions": 2.5**2}
    for name in before:
        assert after[name] == pytest.approx(factors.get(name, 1) * before[name], rel=1e-9, abs=1e-12)


def test_the_best_rescaling_is_the_best():
    first, second = 22.5, 1152.0
    alpha = handmade.best_rescaling(first, second)
    value = lambda a: a**2 * first + second / a**2  # noqa: E731
    assert value(alpha) == pytest.approx(2 * math.sqrt(first * second))
    assert value(alpha) < min(value(1.01 * alpha), value(0.99 * alpha))


@torch.no_grad()
def test_with_the_pseudo_inverse_a_projection_loses_nothing():
    model = handmade.build(cube.random_components(8, 3, 4, rng=0), 8)
    general = handmade.build(_mixed(8, [0, 1, 2, 3, 5, 8], 4), 8, mode="soft")
    sink = handmade.build(cube.random_components(8, 3, 4, rng=0), 8, mode="sink")
    for net in (model, general, sink):
        for width in (9, 20):
            matrix = handmade.random_projection(8, width, rng=width)
            projected = handmade.project(net, matrix, inverse=True)
            assert projected(BITS[8]).numpy() == pytest.approx(net(BITS[8]).numpy(), abs=1e-9)
            assert projected.positions.shape == (9, width + 1)


@torch.no_grad()
def test_a_projection_with_the_transpose_errs_like_the_root_of_its_width():
    model = handmade.build([((1, 2), 0.5), ((3, 4), 0.8), ((5, 6), 1.1)], 8, kappa=0.25)

    def median(width: int) -> float:
        draws = [handmade.random_projection(8, width, rng=[width, seed]) for seed in range(100)]
        same = [torch.linalg.cholesky(p @ p.T) for p in draws]  # only PPᵀ counts
        return float(np.median([(handmade.project(model, p)(BITS[8]) - model(BITS[8])).abs().max() for p in same]))

    assert median(1024) / median(16384) == pytest.approx(4, rel=0.35)


@torch.no_grad()
def test_only_the_gram_matrix_of_a_projection_counts():
    model = handmade.build(cube.random_components(8, 3, 4, rng=0), 8)
    matrix = handmade.random_projection(8, 100, unit=True, rng=1)
    assert matrix.norm(dim=1).numpy() == pytest.approx(1)
    wide, narrow = (handmade.project(model, p)(BITS[8]) for p in (matrix, torch.linalg.cholesky(matrix @ matrix.T)))
    assert wide.numpy() == pytest.approx(narrow.numpy(), abs=1e-9)
    assert not torch.allclose(wide, model(BITS[8]), atol=1e-6)


def test_the_weights_have_names():
    model = handmade.build([((1, 3), 2.0), ((2,), -1.0)], 3)
    assert list(handmade.matrices(model)) == ["W1", "V1", "E", "b", "F", "W2", "v2", "W2−", "v2−"]


# --- wrong input ------------------------------------------------------------------------------------------------------

PAIR = [((1, 2), 1.0)]


EYE = torch.eye(3)


def _projected() -> networks.Circuit:
    return handmade.project(handmade.build(PAIR, 4), handmade.random_projection(4, 3, rng=0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: handmade.build([((1, 2), 1.0), ((2, 1), 1.0)], 4), r"the subset \(1, 2\) stands there twice"),
        (lambda: handmade.build([((1, 5), 1.0)], 4), "numbers from 1 to 4, got 5"),
        (lambda: handmade.build([((0, 1), 1.0)], 4), "numbers from 1 to 4, got 0"),
        (lambda: handmade.build([((1, 1), 1.0)], 4), "distinct numbers"),
        (lambda: handmade.build([((1,), 1.0), ((2,), 1.0), ((), 1.0)], 2), "1 to T = 2 of them"),
        (lambda: handmade.build([], 2), "1 to T = 2 of them"),
        (lambda: handmade.from_table(np.zeros(8)), "1 to T = 3 of them"),
        (lambda: handmade.from_table(cube.majority(5)), "1 to T = 5 of them"),
        (lambda: handmade.build([((1,), 0.0)], 2), "a weight other than 0, got 0.0"),
        (lambda: handmade.build([((1,), math.nan)], 2), r"components\[0\]: expected a number .*, got nan"),
        (lambda: handmade.build([((1,), -math.inf)], 2), r"components\[0\]: expected a number .*, got -inf"),
        (lambda: handmade.build([((1,), "2")], 2), r"components\[0\]: expected a number, got str"),
        (lambda: handmade.build([1, 2], 2), "expected pairs"),
        (lambda: handmade.build(PAIR, 0), "T: expected an integer ≥ 1"),
        (lambda: handmade.build(PAIR, 4, mode="sharp"), "mode: expected 'hard' or 'soft' or 'sink', got 'sharp'"),
        (lambda: handmade.build(PAIR, 4, grid="fine"), "grid: expected 'full' or 'trimmed', got 'fine'"),
        (lambda: handmade.build([((1, 2), -1.0)], 4, mode="sink"), "'sink' needs"),
        (lambda: handmade.build([*PAIR, ((1,), 1.0)], 4, mode="sink"), "'sink' needs"),
        (lambda: handmade.build(PAIR, 4, kappa=0), "kappa: expected"),
        (lambda: handmade.build(PAIR, 4, kappa=1.5), "kappa: expected"),
        (lambda: handmade.build(PAIR, 4, tau=0.0), "tau: expected"),
        (lambda: handmade.build(PAIR, 4, scale=math.inf), "scale: expected a number from -700 to 1e.100, got inf"),
        (lambda: handmade.build(PAIR, 4, gamma=math.nan), "gamma: expected a number from -700 to 1e.100, got nan"),
        (lambda: handmade.build(PAIR, 4)([[1, 0, 1]]), r"symbols: expected shape \(…, 4\), got \(1, 3\)"),
        (lambda: handmade.target_values(Design(PAIR, 4), [[1, -1, 1, 1]]), "expected 0 and 1, got −1; these are signs"),
        (lambda: handmade.target_values(Design(PAIR, 4), [[1, 0, 1]]), r"shape \(batch, 4\), got \(1, 3\)"),
        (lambda: handmade.prefix_sums(Design(PAIR, 4), [[2, 0, 1, 1]]), "bits: expected 0 and 1, got 2"),
        (lambda: handmade.gradient_norms(Design(PAIR, 4), [1, 0, 1, 1]), r"shape \(batch, 4\), got \(4,\)"),
        (lambda: handmade.breakpoints(3, "fine"), "grid: expected 'full' or 'trimmed', got 'fine'"),
        (lambda: handmade.gradient_norms(Design(PAIR, 4, mode="soft"), BITS[4]), "hold in hard mode"),
        (lambda: handmade.gradient_norms(Design(PAIR, 4, scale=1.0), BITS[4]), "for a scale above"),
        (lambda: handmade.rescale(handmade.build(PAIR, 4), 0), "alpha: expected"),
        (lambda: handmade.best_rescaling(0, 1), "first: expected a number above 0, got 0"),
        (lambda: handmade.random_projection(4, 0, rng=0), "width: expected"),
        (lambda: handmade.project(handmade.build(PAIR, 4), torch.ones(4, 3)), r"matrix: expected shape \(5, p\), got"),
        (lambda: handmade.project(handmade.build(PAIR, 4), torch.ones(5, 3).double(), inverse=True), "at least 5 col"),
        (lambda: handmade.project(_projected(), torch.ones(5, 3)), "model: expected a channel for each of 5 positions"),
        (lambda: handmade.project(handmade.build(PAIR, 4), torch.ones(5, 3) / 0), "matrix: expected finite numbers"),
        (lambda: handmade.matrices(networks.Circuit(EYE, EYE, [])), "model: expected a network of handmade.build"),
        (lambda: handmade.measured_norms(None), "model: expected networks.Circuit, got NoneType"),
        (lambda: handmade.measured_gradient_norms(handmade.build(PAIR, 4), BITS[4][:0]), "bits: expected one input"),
        (lambda: handmade.measured_gradient_norms(handmade.build(PAIR, 4), 1 - 2 * BITS[4]), "bits: expected 0 and 1"),
        (lambda: handmade.random_projection(4, 3, rng=None), "rng: expected a numpy Generator or a seed ≥ 0, got None"),
        (lambda: handmade.random_projection(10**6, 10**9, rng=0), "width: expected an integer from 1 to 9, got"),
        (lambda: handmade.build(PAIR, 10**7), "T: expected what fits in the"),
        (lambda: handmade.build(PAIR, 4, scale=-1000.0), "scale: expected a number from -700"),
        (lambda: handmade.breakpoints(10**15), "degree: expected what fits in the"),
        (lambda: handmade.wave([0.0, math.nan], 3), "a: expected finite numbers, got nan"),
        (lambda: handmade.norms(PAIR), "design: expected handmade.Design, got list"),
        (lambda: handmade.from_spectrum(np.ones(8)), "spectrum: expected fourier.Spectrum, got numpy.ndarray"),
        (lambda: handmade.assemble(PAIR), "plan: expected handmade.Design, got list"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_in_one_sentence(call, words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
