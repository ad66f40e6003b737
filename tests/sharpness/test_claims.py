"""Evidence for the claims of chapter 9: what sharpness is, and why sensitive functions are sharp; each able to fail."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from flatcube import blowup, cube, networks, parity, sensitivity, sharpness
from flatcube.sharpness import brittle, brittleness, landscape, measures

claim = pytest.mark.claim
BITS = (torch.arange(16)[:, None] >> torch.arange(4)) & 1


def network() -> networks.Encoder:
    """An encoder with short embeddings, which layer norm stretches: it is sensitive to its positions, too."""
    settings = networks.Config(n=4, width=4, layers=1, heads=1, std=0.6)
    drawn = networks.initial(settings, seed=3, dtype=torch.float64)
    return networks.Encoder(settings, parameters=drawn | {name: 0.2 * drawn[name] for name in ("tokens", "positions")})


def weights_of(model: nn.Module, *, positions: bool = False) -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in model.named_parameters() if positions or name != "positions"}


def within(found, truth: float, error: float = 0.0) -> bool:
    return abs(found.value - truth) < 4 * math.hypot(found.error, error)


# --- what mutants change, as it is ------------------------------------------------------------------------------------

_chosen, _vectors, _trace = landscape._chosen, landscape.random_vectors, sharpness.hessian_trace
_limit, _small_ball, _correction = brittleness.limit, brittleness.small_ball, brittleness.width_correction
_network = parity.layer_norm_network


# --- definitions ------------------------------------------------------------------------------------------------------


def by_hand(model, rho: float, count: int) -> tuple[float, float]:
    """Mean and standard error of L over own directions on the sphere, one call of the network for each."""
    generator, losses = torch.Generator().manual_seed(99), []
    own, base = weights_of(model), model(BITS).detach()
    for _ in range(count):
        shift = {name: torch.randn(w.shape, generator=generator, dtype=w.dtype) for name, w in own.items()}
        norm = math.sqrt(sum(float(part.square().sum()) for part in shift.values()))
        moved = {name: w + rho * shift[name] / norm for name, w in own.items()}
        with torch.no_grad():
            losses.append(float((functional_call(model, moved, (BITS,)) - base).square().mean()))
    return float(np.mean(losses)), float(np.std(losses, ddof=1) / math.sqrt(count))


def all_weights(model, exclude=()):
    return _chosen(model, ())


def unit_entries(count, like, *, kind="gaussian", **options):
    """The sphere of radius √D in place of 1."""
    scale = math.sqrt(len(like)) if kind == "sphere" else 1.0
    return (scale * some for some in _vectors(count, like, kind=kind, **options))


@claim(
    "HR-EQ15",
    mutant=[
        ("flatcube.sharpness.measures._squares", measures._distances, "The change is not squared."),
        ("flatcube.sharpness.landscape._chosen", all_weights, "Positions are perturbed too."),
        ("flatcube.sharpness.measures.random_vectors", unit_entries, "The radius is that of every weight."),
    ],
    note="a one-layer encoder: own directions, sphere, matched Gaussian and ρ²/D times half the trace agree",
)
def test_average_direction_sharpness_is_what_it_is_defined_to_be():
    model, rho = network(), 0.01
    size = sum(w.numel() for w in weights_of(model).values())
    value, error = by_hand(model, rho, 100)
    sphere = sharpness.average_direction(model, BITS, rho=rho, kind="sphere", directions=1500)
    matched = sharpness.average_direction(model, BITS, rho=rho / math.sqrt(size), directions=1500)
    flat = rho**2 / size * sharpness.hessian_trace(model, BITS).value / 2
    assert within(sphere, value, error) and 4 * error < value
    assert abs(sphere.value - flat) < 4 * sphere.error + 0.02 * flat
    assert abs(matched.value - flat) < 4 * matched.error + 0.02 * flat
    assert 4 * matched.error < 0.2 * flat


def half_trace(*arguments, **options):
    found = _trace(*arguments, **options)
    return landscape._known(found.value / 2, queries=0, method="half")


def a_random_direction(model, x, y=None, *, rho, **options):
    found = sharpness.average_direction(model, x, y, rho=rho, kind="sphere", directions=2)
    return landscape._known(found.draws.min() / 4, queries=0, method="random")


@claim(
    "HR-EQ15b",
    mutant=[
        ("flatcube.sharpness.curvature.hessian_trace", half_trace, "The Hessian lacks its factor 2."),
        (
            "flatcube.sharpness.measures.worst_direction",
            a_random_direction,
            "A direction at random is taken for the worst.",
        ),
    ],
    note="three radii: mean ≤ worst; at ρ = 10⁻⁴, 2D/ρ² times the mean is the trace of the Hessian at that length",
)
def test_average_sharpness_bounds_the_worst_and_tends_to_the_trace():
    model = network()
    for rho in (1e-4, 0.1, 1.0):
        mean = sharpness.average_direction(model, BITS, rho=rho, kind="sphere", directions=50)
        assert mean.value <= sharpness.worst_direction(model, BITS, rho=rho, steps=6).value
    mean = sharpness.average_direction(model, BITS, rho=1e-4, kind="sphere", directions=2000)
    scale = 2 * sum(w.numel() for w in weights_of(model).values()) / 1e-8
    trace = sharpness.hessian_trace(model, BITS).value
    assert abs(scale * mean.value - trace) < 4 * scale * mean.error < 0.2 * trace


@claim(
    "HR-D-PN",
    mutant=("flatcube.sharpness.measures._chosen", all_weights, "Positions are counted too."),
    note="two encoders that differ in their positions only, n = 4 and n = 9, have the same norm",
)
def test_the_parameter_norm_leaves_positions_out():
    short = network()
    own = weights_of(short)
    places = torch.randn(9, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    long = networks.Encoder(networks.Config(n=9, width=4, layers=1, heads=1), parameters=own | {"positions": places})
    norm = math.sqrt(sum(float(w.square().sum()) for w in own.values()))
    assert math.isclose(sharpness.parameter_norm(short), norm, rel_tol=1e-12)
    assert math.isclose(sharpness.parameter_norm(long), norm, rel_tol=1e-12)
    counted = math.hypot(norm, float(torch.linalg.vector_norm(places)))
    assert math.isclose(sharpness.parameter_norm(long, exclude=()), counted, rel_tol=1e-12)


def in_the_limit(model, x, *, rho, **options):
    """ρ²/2 Tr H, which any ρ would give if it were as good as ρ → 0."""
    return landscape._known(rho**2 / 2 * _trace(model, x).value, queries=0, method="the limit")


@claim(
    "HR-D-SH",
    printed=("flatcube.sharpness.measures.average_direction", in_the_limit, "Noise of 0.02 is as good as ρ → 0."),
    erratum=20,
    mutant=(
        "flatcube.sharpness.landscape.random_vectors",
        unit_entries,
        "The sphere's radius is that of every weight.",
    ),
    note="noise of 0.02 on each of 199,425 weights has norm 8.9; L/ρ² at 0.02 is that of ρ → 0 within a tenth for an "
    "untrained encoder, and more than 50 times that for a network that computes PARITY of 8 bits",
)
def test_noise_of_two_hundredths_need_not_be_small():
    widest = networks.shapes(networks.Config(n=20, width=128))
    size = sum(math.prod(shape) for name, shape in widest.items() if name != "positions")
    assert size == 199_425 and math.isclose(sharpness.radius(0.02, size), 8.93, abs_tol=0.01)
    model, x = parity.layer_norm_network(), torch.randint(0, 2, (32, 8), generator=torch.Generator().manual_seed(0))
    land = landscape.Landscape(model, x)
    shifts = 0.02 * next(sharpness.random_vectors(20, land.theta, seed=1))
    norms = torch.linalg.vector_norm(shifts, dim=1)
    assert abs(float(norms.mean()) / sharpness.radius(0.02, land.size) - 1) < 0.03
    sphere = next(sharpness.random_vectors(20, land.theta, kind="sphere", seed=1))
    assert torch.allclose(torch.linalg.vector_norm(sphere, dim=1), torch.ones(20, dtype=torch.float64))
    start = networks.Encoder(networks.Config(n=8, width=16), dtype=torch.float64)
    for network, least, most in ((model, 50, math.inf), (start, 0.9, 1.1)):
        steep = [sharpness.average_direction(network, x, rho=rho, directions=40).value / rho**2 for rho in (1e-7, 0.02)]
        assert least < steep[1] / steep[0] < most


# --- two metrics of VA ------------------------------------------------------------------------------------------------


@claim(
    "VA-EQ-LIN",
    mutant=(
        "flatcube.sharpness.measures.input_shift",
        lambda theta, x, dx: (theta * dx).sum(-1, keepdim=True) * x,
        "No ‖x‖².",
    ),
    note="random linear models and perturbations, ten dimensions",
)
def test_moving_the_input_of_a_linear_model_moves_its_weights():
    theta, x, dx = torch.randn(3, 50, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    moved = theta + sharpness.input_shift(theta, x, dx)
    assert torch.allclose((moved * x).sum(1), (theta * (x + dx)).sum(1), rtol=1e-12, atol=1e-12)


class Same(nn.Module):
    """One or ten equal outputs a + w·x."""

    def __init__(self, outputs: int, shift: float) -> None:
        super().__init__()
        self.outputs, self.weight = outputs, nn.Parameter(torch.tensor([0.5, -1.0, shift], dtype=torch.float64))

    def forward(self, x):
        y = x @ self.weight[:2] + self.weight[2]
        return y if self.outputs == 1 else y[:, None].expand(-1, self.outputs)


@claim(
    "VA-D-SHOP",
    printed=(
        "flatcube.sharpness.measures._per_input",
        lambda values: values.reshape(*values.shape[:2], -1).mean(-1),
        "ShOp is that of one output.",
    ),
    erratum=39,
    mutant=[
        ("flatcube.sharpness.measures._distances", measures._squares, "The change is squared."),
        ("flatcube.sharpness.measures._predictions", lambda outputs, axes: outputs > -1, "The threshold is not 0."),
    ],
    note="a linear model: E|Δ·x| = σ‖x‖√(2/π), flips at the rate of the normal tail; ten equal outputs count ten times",
)
def test_shop_and_shpred_are_means_over_gaussian_noise():
    x, rho = torch.tensor([[1.0, 2.0], [-1.0, 1.0], [3.0, 0.0]], dtype=torch.float64), 0.4
    model, length = Same(1, 0.3), (1 + x.square().sum(1)).sqrt()
    shop = sharpness.shop(model, x, rho=rho, directions=1000)
    assert abs(shop.value - rho * math.sqrt(2 / math.pi) * float(length.mean())) < 4 * shop.error
    shpred = sharpness.shpred(model, x, rho=rho, directions=1000)
    tail = torch.distributions.Normal(0.0, 1.0).cdf(-model(x).detach().abs() / (rho * length))
    assert abs(shpred.value - float(tail.mean())) < 4 * shpred.error < 0.05
    ten = sharpness.shop(Same(10, 0.3), x, rho=rho, directions=1000)
    assert math.isclose(ten.value, 10 * shop.value, rel_tol=1e-9)


# --- Theorem 6, its algebra -------------------------------------------------------------------------------------------


def pairs():
    """Functions T with values in [−1, 1] and others T′ by n: all Boolean ones for n ≤ 3, real ones for n ≤ 7."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3):
        every = np.array(list(itertools.product([1.0, -1.0], repeat=2**n)))
        yield n, every[1:-1], every
    for n in range(2, 8):
        size = rng.uniform(0.05, 1, (60, 1))
        high = size * np.clip(cube.parity(n) + 0.5 * rng.standard_normal((60, 2**n)), -1, 1)
        low = size * np.clip(cube.points(n).astype(float) @ rng.standard_normal((n, 60)), -1, 1).T
        yield n, np.concatenate([high, low]), np.concatenate([0.3 * low, high, np.zeros((1, 2**n))])


def printed_chain(average, perturbed, n, *, norm2=1.0, alpha=2.0):
    """The chain before Eq. (68) as printed: n − as/(2‖T‖²) becomes n − 1/(2‖T‖²)."""
    with np.errstate(all="ignore"):
        return _limit(average / n, norm2=norm2) - 2 * np.sqrt(perturbed / (n - 1 / (2 * norm2)))


@claim(
    "HR-T6",
    printed=("flatcube.sharpness.brittleness.lower_bound", printed_chain, "The denominator is n − 1/(2‖T‖²)."),
    erratum=16,
    mutant=(
        "flatcube.sharpness.brittleness.lower_bound",
        lambda average, perturbed, n, **options: _limit(average / n, **options),
        "The sensitivity of the perturbed network is forgotten.",
    ),
    note="all pairs of Boolean functions with n ≤ 3, real ones with values in [−1, 1] for n ≤ 7, five values of α",
)
def test_a_function_that_loses_its_sensitivity_changes():
    for n, fs, gs in pairs():
        of_f, of_g = np.asarray(sensitivity.average(fs)), np.asarray(sensitivity.average(gs))
        norm2 = np.square(fs).mean(axis=-1)
        gap = np.square(fs[:, None] - gs).mean(axis=-1)
        for alpha in (1.1, 2.0, 4.0, 100.0):
            bound = brittleness.lower_bound(of_f[:, None], of_g, n, norm2=norm2[:, None], alpha=alpha)
            assert (gap >= bound - 1e-9).all()
        bound = brittleness.lower_bound(of_f[:, None], of_g, n, norm2=norm2[:, None])
        final = of_f[:, None] / (2 * n) - 4 * np.sqrt(of_g / n)  # HR Eq. (68)
        assert (bound >= final - 1e-9).all()


@claim(
    "HR-T6b",
    printed=(
        "flatcube.sharpness.brittleness.limit",
        lambda mu, *, norm2=1.0, alpha=2.0: _limit(mu, norm2=norm2),
        "α = 2 is said to be enough, since μ/(2 − μ) ≥ μ.",
    ),
    erratum=3,
    mutant=(
        "flatcube.sharpness.brittleness.limit",
        lambda mu, *, norm2=1.0, alpha=2.0: (1 - 1 / alpha) * mu,
        "The denominator is forgotten.",
    ),
    note="μ and ‖T‖² on a grid: at α = 2 between μ/2 and μ, and within 10⁻⁵ of μ at α = 10⁶; at μ = 1 always 1",
)
def test_the_factor_two_of_theorem_six_goes_with_large_alpha_only():
    mu = np.linspace(0.01, 0.99, 99)
    for norm2 in (1.0, 0.995):
        two, many = brittleness.limit(mu, norm2=norm2), brittleness.limit(mu, norm2=norm2, alpha=1e6)
        assert (two >= mu / 2).all() and (two < mu).all() and np.allclose(many, mu, atol=1e-5)
    assert all(math.isclose(brittleness.limit(1.0, alpha=alpha), 1.0) for alpha in (1.5, 2.0, 100.0))


@claim(
    "HR-S6-DEG",
    mutant=(
        "flatcube.sharpness.brittleness.limit",
        lambda mu, *, norm2=1.0, alpha=2.0: _limit(norm2 * mu**0, norm2=norm2, alpha=alpha),
        "Degrees play no part.",
    ),
    note="functions on 12 bits with weight w at degree δn are at least δw/2 from constants; fixed degrees force none",
)
def test_weight_at_high_degrees_is_brittle():
    n, points = 12, cube.points(12).astype(float)
    for share, weight in itertools.product((1 / 12, 0.25, 0.5, 1.0), (0.3, 1.0)):
        high = cube.subset_parity(set(range(1, int(share * n) + 1)), n)
        f = math.sqrt(weight) * high + math.sqrt(1 - weight)
        mu = sensitivity.average(f) / n
        assert math.isclose(mu, share * weight, rel_tol=1e-12)
        bound = brittleness.limit(mu, norm2=1.0)
        assert share * weight / 2 <= bound <= share * weight + 1e-12
        nearest = np.full(2**n, f.mean())  # among constants, which are insensitive
        assert np.square(f - nearest).mean() >= bound - 1e-12
    fixed = [brittleness.limit(sensitivity.average(points[:, 0]) / length) for length in (12, 120, 1200)]
    assert fixed[0] > 5 * fixed[1] > 25 * fixed[2] and fixed[2] < 1e-3  # a bounded degree forces nothing


@claim(
    "HR-SUM-WIDTH",
    printed=(
        "flatcube.sharpness.brittleness.width_correction",
        lambda layers, width: 1 - _correction(layers, width),
        "Theorem 6 is made the reason: width lowers its bound.",
    ),
    erratum=24,
    mutant=("flatcube.sharpness.brittleness.small_ball", lambda *_: 0.01, "The correction does not see the width."),
    note="the lower bound rises: drawn on a sphere, the chance that a bias moves by less than half of its due falls "
    "exponentially in d; yet the limit for PARITY with equal noise, 1 + 1/(d − 1), falls too, from {narrow:.2f} to "
    "{wide:.2f}",
)
def test_width_raises_the_lower_bound():
    widths = (6, 12, 24, 48, 96)
    limits = [brittleness.plateau(np.eye(width), 0) for width in widths]
    assert all(narrow > wide > 1 for narrow, wide in itertools.pairwise(limits))
    bounds = [brittleness.limit(1.0) - brittleness.width_correction(2, width) for width in widths]
    assert all(narrow < wide for narrow, wide in itertools.pairwise(bounds)) and bounds[-1] > 1 - 1e-10
    rates = [-math.log(brittleness.width_correction(1, width)) / width for width in widths[1:]]
    assert min(rates) > 0.2 and max(rates) < 0.5
    rng, weights = np.random.default_rng(0), 400
    for width in (4, 6, 12):
        shifts = rng.standard_normal((20_000, weights))
        shifts /= np.linalg.norm(shifts, axis=1, keepdims=True)
        bias = shifts[:, :width] - shifts[:, :width].mean(axis=1, keepdims=True)
        share = np.mean(np.linalg.norm(bias, axis=1) <= math.sqrt(width / weights) / 2)
        assert abs(share - brittleness.width_correction(1, width)) < 4 * math.sqrt(share / 20_000) + 0.03 * share
    return {"narrow": limits[0], "wide": limits[-1]}


# --- Theorem 6, layer norm --------------------------------------------------------------------------------------------


def tail(values: np.ndarray, spread: float) -> float:
    """The share of rows whose standard deviation is below ``spread``."""
    return float(np.mean(values.std(axis=1) < spread))


@claim(
    "HR-EQ69",
    printed=(
        "flatcube.sharpness.brittleness.least_zeta",
        lambda layers, width: 2 * layers / width,
        "ζ > 2L/d is enough.",
    ),
    erratum=17,
    mutant=[
        (
            "flatcube.sharpness.brittleness.small_ball",
            lambda d, *o: _small_ball(d + 1, *o),
            "Centring costs no dimension.",
        ),
        (
            "flatcube.sharpness.brittleness.small_ball",
            lambda d, t, s: _small_ball(d, t, 2 * s),
            "The noise is twice as large.",
        ),
    ],
    note="drawn biases before layer norm, around any vector, d = 3 to 6; n² times the tail vanishes for ζ > 2L/(d−1)",
)
def test_a_random_bias_keeps_layer_norm_from_stretching():
    rng, draws = np.random.default_rng(0), 200_000
    for width, spread in ((3, 0.15), (4, 0.25), (6, 0.4)):
        bias = rng.standard_normal((draws, width))
        bound = brittleness.small_ball(width, spread, 1.0)
        error = math.sqrt(bound / draws)
        assert abs(tail(bias + 5.0, spread) - bound) < 4 * error  # around a constant vector, the worst case
        for centre in rng.standard_normal((4, width)):
            assert tail(bias + centre, spread) <= bound + 4 * error
    for layers, width in itertools.product((1, 2, 3), (3, 4, 6)):
        zeta, lengths = brittleness.least_zeta(layers, width), (1e6, 1e12, 1e24)
        above, below = (
            [n**2 * brittleness.small_ball(width, n ** (-factor * zeta / layers), 1.0) for n in lengths]
            for factor in (1.02, 0.98)
        )
        assert above[0] > above[1] > above[2] and below[0] < below[1] < below[2]


@claim(
    "HR-EQ70",
    printed=("flatcube.sharpness.brittleness.blowup_constant", lambda layers: 4, "The constant is 4."),
    erratum=17,
    mutant=(
        "flatcube.sharpness.brittleness.exponent",
        lambda layers, width: 3 * layers / width - 0.5,
        "Blow-up is not squared, so that 6L suffices.",
    ),
    note="one to six layers whose factors are all 2n^(ζ/L); the exponent changes sign at d = 12L; ζ = 3L/d is allowed",
)
def test_small_factors_make_a_network_insensitive():
    for layers, n in itertools.product(range(1, 7), (10, 1000)):
        zeta = 0.3
        blowup = math.prod(2 * n ** (zeta / layers) for _ in range(layers))
        both = blowup**2 + np.mean([blowup**2] * n)
        assert both <= brittleness.blowup_constant(layers) * n ** (2 * zeta) * (1 + 1e-9)
        assert both >= 0.99 * brittleness.blowup_constant(layers) * n ** (2 * zeta)
        for width in range(4, 100):
            assert (brittleness.exponent(layers, width) < 0) == (width > 12 * layers)
            assert math.isclose(brittleness.exponent(layers, width), 2 * (3 * layers / width) - 0.5)
            assert 3 * layers / width > brittleness.least_zeta(layers, width)


_VALUE = torch.randn(5, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64) * 1e-4


@claim(
    "HR-CREM",
    mutant=[
        (
            "flatcube.networks.blocks.Head._mix",
            lambda self, x, attention: (attention @ x) @ _VALUE,
            "V is not perturbed.",
        ),
        (
            "flatcube.sharpness.brittleness.small_ball",
            lambda d, t, s: _small_ball(d, t, 3 * s),
            "The noise is three times larger.",
        ),
    ],
    note="a head that writes almost nothing, all its weights perturbed 40,000 times: 1/SD after it has the same tail",
)
def test_perturbed_values_keep_a_norm_after_attention_from_stretching():
    generator, width, copies, noise = torch.Generator().manual_seed(0), 5, 40_000, 0.1
    x = torch.randn(1, 6, width, generator=generator, dtype=torch.float64)
    x[..., 0] = 1.0  # then every average of rows has norm at least 1
    head = networks.Head(torch.zeros(width, width, dtype=torch.float64), _VALUE.clone())
    own = {name: w.detach() for name, w in head.named_parameters()}
    moved = {
        name: w + noise * torch.randn(copies, *w.shape, generator=generator, dtype=w.dtype) for name, w in own.items()
    }
    with torch.enable_grad():
        mixed = functional_call(head, networks.stacked(moved), (x, slice(0, 1))).detach()  # (copies, 1, 1, D)
    norm = networks.Norm(0.0)
    assert float(norm.factor(head(x, slice(0, 1)).detach())) > 1e3
    factors = norm.factor(mixed).flatten()
    for spread in (0.03, 0.05):
        bound = brittleness.small_ball(width, spread, noise)
        share = float((factors > 1 / spread).double().mean())
        assert 0.2 * bound < share <= bound + 4 * math.sqrt(bound / copies)


# --- Theorem 6, on a network ------------------------------------------------------------------------------------------


def ruin(target: str, n: int, rho: float) -> float:
    x = torch.randint(0, 2, (16, n), generator=torch.Generator().manual_seed(n))
    return sharpness.average_direction(parity.layer_norm_network(target=target), x, rho=rho, directions=16).value


@claim(
    "HR-T6",
    mutant=(
        "flatcube.parity.amplifier.layer_norm_network",
        lambda eps=0.0, *, target="parity", **_: _network(eps, target="majority" if target == "parity" else target),
        "The network computes MAJORITY.",
    ),
    note="layer norm with ε = 0 and noise 10⁻⁴: PARITY's L rises beyond 1 with n, MAJORITY's and FIRST's stay small",
)
@claim(
    "HR-S6-PAR",
    mutant=("flatcube.sharpness.brittleness.limit", lambda mu, **_: _limit(mu) / 2, "A factor 2 is lost."),
    note="the bound for PARITY is 1 for every α, and noise of 10⁻³, 10⁻⁴ and 10⁻⁵ ruins it at n = 33, 129 and 513",
)
def test_small_noise_ruins_parity_on_long_inputs():
    assert all(math.isclose(brittleness.limit(1.0, alpha=alpha), 1.0) for alpha in (1.5, 2.0, 100.0))
    rising = [ruin("parity", n, 1e-4) for n in (9, 33, 129)]
    assert rising[0] < 0.01 < rising[1] < rising[2] and rising[2] > 1
    assert ruin("parity", 33, 1e-3) > 1 and ruin("parity", 513, 1e-5) > 0.5
    assert ruin("majority", 129, 1e-4) < 0.2 and ruin("first", 129, 1e-4) < 0.01


# --- what the Hessian does not see ------------------------------------------------------------------------------------


@claim(
    "HR-S5-HESS",
    printed=(
        "flatcube.sharpness.curvature.hessian_trace",
        lambda model, x, **options: landscape._known(x.shape[1], queries=0, method="as printed"),
        "The Hessian grows with the length.",
    ),
    erratum=70,
    note="PARITY at width 32 > 12L, with positions that do not grow: trace 64 and log C < 43.5 at n = 9, 33 and 129, "
    "while noise of 10⁻⁴ costs ever more",
)
def test_the_hessian_of_parity_does_not_grow_with_the_length():
    model, losses = brittle.network("parity", "wide"), []
    assert len(model.tokens[0]) > 12 * len(model.layers)
    for n in (9, 33, 129):
        assert 43.2 < blowup.log_constant(model, n=n) < 43.5  # within the hypotheses: C stays bounded
        assert float(model.rule(n + 1).norm(dim=1).max()) < 2.5
        x = torch.randint(0, 2, (16, n), generator=torch.Generator().manual_seed(n))
        assert torch.allclose(model(x).detach(), 1 - 2.0 * (x.sum(1) % 2).double(), atol=1e-9)
        assert math.isclose(sharpness.hessian_trace(model, x).value, 64, rel_tol=1e-6)
        losses.append(sharpness.average_direction(model, x, rho=1e-4, directions=16).value)
    assert losses[0] < 0.01 < losses[1] < losses[2] and losses[2] > 0.9


# --- logits that grow with log n --------------------------------------------------------------------------------------


def with_a_sharp_head(n: int) -> networks.Circuit:
    """PARITY of the bits 2, …, n at width 32: a second head fetches b₁ with logits 2 log N and takes it from the count.

    Two idle channels hold a mark at position 1 and a one everywhere; the second MLP clears them with the others.
    """
    model = brittle._widened(_network(), "parity")
    at, rule, width = parity.CHANNELS.index, model.rule, len(model.tokens[0])
    mark, one = len(parity.CHANNELS), len(parity.CHANNELS) + 1

    def codes(length: int) -> torch.Tensor:
        found = rule(length)
        found[0, mark], found[:, one] = 1.0, 1.0
        found[:, at("balance")] -= found[:, mark] + found[:, one]
        return found

    attend, fetch = torch.zeros(2, width, width, dtype=torch.float64)
    attend[one, mark] = 2 * math.log(n + 1)
    fetch[at("bit"), at("count")], fetch[at("bit"), at("balance")] = -1 / (n + 1), 1 / (n + 1)
    model.layers[0].heads.append(networks.Head(attend, fetch))
    clear = torch.zeros(width, 4, dtype=torch.float64)
    clear[mark, :2] = clear[one, 2:] = torch.tensor([1.0, -1.0], dtype=torch.float64)
    mlp = model.layers[1].mlp
    into, out = torch.cat([mlp.weights[0].detach(), clear], 1), torch.cat([mlp.weights[1].detach(), -clear.T])
    model.layers[1].mlp = networks.Mlp([into, out], [nn.functional.pad(mlp.biases[0].detach(), (0, 4)), None])
    model.rule = codes
    return model


def scattered(self, x, attention):
    """A head that looks everywhere alike, whatever its logits are."""
    return (torch.full_like(attention, 1 / attention.shape[-1]) @ x) @ self.value


@claim(
    "HR-T6c",
    mutant=("flatcube.networks.blocks.Head._mix", scattered, "Large logits do not make a head look anywhere."),
    note="PARITY of all bits but the first, at width 32 > 12L: a head with logits 2 log N fetches that bit, without it "
    "the answers are wrong; log C is {low:.1f} to {high:.1f} at n = 9, 33 and 129, and noise of 10⁻⁴ costs ever more",
)
def test_logits_that_grow_with_log_n_do_not_help_parity():
    rising, constants = [], []
    for n in (9, 33, 129):
        x, model = torch.randint(0, 2, (16, n), generator=torch.Generator().manual_seed(n)), with_a_sharp_head(n)
        answers = 1 - 2.0 * (x[:, 1:].sum(1) % 2).double()
        assert len(model.tokens[0]) > 12 * len(model.layers) and 47 < blowup.log_constant(model, n=n) < 47.3
        constants.append(blowup.log_constant(model, n=n))
        assert torch.allclose(model(x).detach(), answers, atol=1e-9)
        shares = model.layers[0].heads[1].attention(model.embed(x), slice(None))[..., 0].detach()
        assert float(shares.min()) > 0.9  # the head is sharp at every position, and sharper the longer the input
        rising.append(sharpness.average_direction(model, x, rho=1e-4, directions=16).value)
        with torch.no_grad():
            model.layers[0].heads[1].query_key.zero_()
            assert (model(x) - answers).abs().max() > 1  # and it is needed
    assert rising[0] < 0.01 < rising[1] < rising[2] and rising[2] > 0.9
    return {"low": min(constants), "high": max(constants)}


# --- how fast -------------------------------------------------------------------------------------------------------


@claim(
    "HR-X1",
    mutant=[
        (
            "flatcube.sharpness.brittleness.angle_loss",
            lambda ratio, dimension=8: np.square(np.minimum(ratio, 1.0)),
            "Layer norm answers to noise in the first order.",
        ),
        (
            "flatcube.parity.amplifier.layer_norm_network",
            lambda eps=0.0, **_: _network(eps, target="majority"),
            "The network computes MAJORITY.",
        ),
    ],
    note="PARITY at 24, 72 and 216 bits: L is one function of ρN², and starts with its fourth power",
)
def test_the_loss_of_parity_depends_on_noise_times_length_squared():
    model, found = parity.layer_norm_network(), {}
    for n in (24, 72, 216):
        x = torch.randint(0, 2, (16, n), generator=torch.Generator().manual_seed(n))
        for scaled in (0.1, 30.0):
            found[n, scaled] = sharpness.average_direction(model, x, rho=scaled / (n + 1) ** 2 / 30, directions=24)
    for scaled in (0.1, 30.0):
        values = [found[n, scaled].value for n in (24, 72, 216)]
        assert max(values) < 2.5 * min(values)
    tiny, small = (brittleness.angle_loss(t) for t in (1e-3, 1e-2))
    assert math.isclose(small / tiny, 1e4, rel_tol=0.01) and math.isclose(tiny, 1e-12 * 63 / 4, rel_tol=0.02)
    rng = np.random.default_rng(0)
    for dimension, ratio in ((3, 0.3), (8, 1.0), (8, 0.1)):
        turned = ratio * rng.standard_normal((100_000, dimension)) + np.eye(dimension)[0]
        losses = np.square(1 - turned[:, 0] / np.linalg.norm(turned, axis=1))
        assert (
            abs(losses.mean() - brittleness.angle_loss(ratio, dimension))
            < 4 * losses.std() / 300 + 0.01 * losses.mean()
        )


@claim(
    "HR-X1",
    mutant=[
        (
            "flatcube.sharpness.brittleness.plateau",
            lambda covariance, channel: 1 + 1 / (len(covariance) - 1),
            "Noise is taken to be the same in all channels.",
        ),
        (
            "flatcube.sharpness.brittle.network",
            lambda target, *rest: parity.layer_norm_network(target="first"),
            "The network computes FIRST, whose answer no such noise drowns.",
        ),
    ],
    note="PARITY at width 9 and 32: L ends where the covariance of the noise before the last norm says, within "
    "four standard errors, and more than four from 1 + 1/(d − 1)",
)
def test_the_loss_of_parity_ends_where_the_noise_before_the_last_norm_says():
    for variant, n, directions, width in (("layer norm", 72, 1500, 9), ("wide", 24, 800, 32)):
        model, x = brittle.network("parity", variant), brittle.inputs(n, 2)
        x = torch.cat([x, x ^ torch.eye(n, dtype=torch.long)[0]])  # as many of either parity
        noise = brittle.noise(model, x, directions=directions, seed=1)
        assert noise.shape[-1] == width
        parts = [brittleness.plateau(second_moments(part), 7) for part in noise.chunk(10)]
        said, error = brittleness.plateau(second_moments(noise), 7), np.std(parts, ddof=1) / math.sqrt(10)
        found = sharpness.average_direction(model, x, rho=1e-2, directions=directions, seed=2)
        assert within(found, said, error) and 4 * math.hypot(found.error, error) < 0.04
        equal = 1 + 1 / (width - 1)
        assert said - equal > 4 * error and found.value - equal > 4 * found.error
        own = np.diag(second_moments(noise))
        assert own.argmax() == 7 and own[7] > 1.5 * np.delete(own, 7).mean()  # noise of earlier layers is only there


def second_moments(noise: torch.Tensor) -> np.ndarray:
    rows = noise.flatten(0, 1)
    return (rows.T @ rows / len(rows)).numpy()


def test_the_plateau_is_the_mean_over_gaussian_noise():
    rng = np.random.default_rng(4)
    for spread in (np.diag([1.0, 1.0, 1.0, 5.0, 0.2]), np.cov(rng.standard_normal((5, 9)))):
        g = rng.multivariate_normal(np.zeros(5), spread, size=100_000)
        g -= g.mean(axis=1, keepdims=True)
        squares = np.square(g[:, 3]) / np.square(g).sum(1) * 5 / 4
        assert abs(1 + squares.mean() - brittleness.plateau(spread, 3)) < 4 * squares.std() / math.sqrt(len(g))
    for dimension, along in ((8, 1.0), (8, 1.4), (31, 1.3)):
        noise = np.eye(dimension + 1)
        noise[0, 0] = 1 + (along**2 - 1) * (dimension + 1) / dimension
        ends = brittleness.angle_loss(1e6, dimension, along=math.sqrt(float(uneven(noise))))
        assert abs(ends - brittleness.plateau(noise, 0)) < 2e-3


def uneven(covariance: np.ndarray) -> float:
    """The variance along the centred first channel, where that across it is 1."""
    d = len(covariance)
    centred = (np.eye(d) - 1 / d)[0] / math.sqrt(1 - 1 / d)
    return centred @ covariance @ centred
