"""Directions, traces and eigenvalues: against full Hessians, closed forms, and their own standard errors."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.func import functional_call

from flatcube import handmade, networks, sharpness
from flatcube.networks import tensors
from flatcube.networks.uses import Use
from flatcube.sharpness import brittleness, gradients, landscape

BITS = (torch.arange(16)[:, None] >> torch.arange(4)) & 1


def small(**choices: object) -> networks.Encoder:
    settings = {"n": 4, "width": 4, "layers": 1, "heads": 1, "std": 0.6} | choices
    return networks.Encoder(networks.Config(**settings), seed=3, dtype=torch.float64)


def broken(model: nn.Module) -> nn.Module:
    """The network with a weight that is no number."""
    with torch.no_grad():
        next(model.parameters())[0] = math.nan
    return model


def targets() -> Tensor:
    return 1.0 - 2.0 * (BITS.sum(1) % 2).double()


class Flat(nn.Linear):
    """A network that forgets which output belongs to which input."""

    def __init__(self) -> None:
        super().__init__(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).flatten()


class Linear(nn.Module):
    """x ↦ θ·x, whose sharpness is known: E(Δ·x)² = ρ² E‖x‖² for Gaussian Δ."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.linspace(1, 2, size, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.theta

    def many(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return parameters["theta"] @ x.T


class Wave(nn.Module):
    """x ↦ cos(xθ), smooth but not quadratic."""

    def __init__(self, theta: float) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.tensor([theta], dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return (x[:, 0] * self.theta).cos()

    def many(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return (x[:, 0] * parameters["theta"]).cos()


class Kink(Wave):
    """x ↦ relu(θ)."""

    def forward(self, x: Tensor) -> Tensor:
        return self.theta.relu().expand(len(x))

    def many(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return parameters["theta"].relu().expand(-1, len(x))


class Stack(nn.Module):
    """Ordinary PyTorch, with a weight that is used twice, a norm that has no rule, or a weight without a batch axis."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.first, self.second = nn.Linear(4, 5, dtype=torch.float64), nn.Linear(5, 5, dtype=torch.float64)
        self.norm = nn.LayerNorm(5, dtype=torch.float64)
        self.rows = nn.Parameter(torch.linspace(-1, 1, 16 * 5, dtype=torch.float64).reshape(16, 5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(self.first(x.double()).tanh()).tanh()
        if self.kind == "twice":
            y = self.second(y)
        elif self.kind == "norm":
            y = self.norm(y)
        elif self.kind == "shared":  # 16 rows, as many as there are inputs, but every input sees them all
            y = y @ (self.rows * 2.0).T
        return y.square().sum(-1)


def loss_hessian(model: nn.Module, x: Tensor, y: Tensor | None, exclude: tuple[str, ...] = ("positions",)) -> Tensor:
    """∇²L by torch's own Hessian of a function of one vector."""
    names = [name for name, _ in model.named_parameters() if not any(word in name for word in exclude)]
    weights = {name: dict(model.named_parameters())[name].detach() for name in names}
    sizes = [weight.numel() for weight in weights.values()]
    y = model(x).detach() if y is None else y

    def loss(vector: Tensor) -> Tensor:
        parts = dict(zip(names, vector.split(sizes), strict=True))
        shaped = {name: part.reshape(weights[name].shape) for name, part in parts.items()}
        return (functional_call(model, shaped, (x,)) - y).square().mean()

    vector = torch.cat([weight.flatten() for weight in weights.values()])
    return torch.func.jacrev(torch.func.grad(loss))(vector).detach()


# --- per-sample gradients ---------------------------------------------------------------------------------------------


def norms(route, model: nn.Module, x: Tensor, exclude: tuple[str, ...] = ()) -> dict[str, Tensor] | None:
    """Squared gradient norms by one of the routes to them."""
    return route(model, x, tensors.kept(model, exclude))


KINDS = [
    {},
    {"layers": 2, "heads": 2, "norm": "pre", "attention": "relu"},
    {"layers": 2, "norm": "mlp", "causal": True},
    {"norm": "none", "attention": "linear", "causal": True, "bias": False},
    {"layers": 2, "cls": True, "embedding": "added", "rms": True},
]


@pytest.mark.parametrize("exclude", [(), ("positions",)], ids=["all", "no positions"])
@pytest.mark.parametrize("choices", KINDS, ids=str)
def test_recorded_gradient_norms_of_encoders_are_those_of_single_gradients(choices: dict, exclude: tuple[str, ...]):
    model = small(**choices)
    assert torch.allclose(model.uses(BITS)[0], model(BITS), rtol=0, atol=1e-12)
    found, slow = norms(gradients._recorded, model, BITS, exclude), norms(gradients._one_by_one, model, BITS, exclude)
    assert found.keys() == slow.keys() and ("positions" in found) == (exclude == ())
    for name in slow:
        assert torch.allclose(found[name], slow[name], rtol=1e-10, atol=1e-13), name


def test_recorded_gradient_norms_of_handmade_networks_are_those_of_single_gradients():
    model = handmade.build([((1, 2), 0.5), ((2, 3, 4), 1.5)], 4, mode="soft")
    found, slow = norms(gradients._recorded, model, BITS), norms(gradients._one_by_one, model, BITS)
    assert all(torch.allclose(found[name], slow[name], rtol=1e-10, atol=1e-13) for name in slow)
    assert found.keys() == dict(model.named_parameters()).keys()


def test_wide_weights_are_never_formed_and_narrow_ones_are():
    """Both ways to ‖Σ aᵀδ‖², on either side of P(I + J) = IJ."""
    for places, wide, high in ((1, 7, 9), (3, 7, 9), (9, 3, 2)):
        a, slope = torch.randn(5, places, wide).double(), torch.randn(5, places, high).double()
        use = Use("w", slope, a[:, None])
        assert torch.allclose(gradients._squared([(use, slope)], slope), (a.mT @ slope).square().sum((1, 2)))


@pytest.mark.parametrize("kind", ["plain", "twice", "norm", "shared"])
def test_any_network_gets_the_right_gradient_norms(kind: str):
    model = Stack(kind)
    recorded = norms(gradients._recorded, model, BITS.double())
    assert (recorded is None) == (kind in ("norm", "shared"))
    found = sharpness.gradient_norms(model, BITS.double(), exclude=())
    for place, row in enumerate(BITS.double()):
        slopes = torch.autograd.grad(model(row[None])[0], list(model.parameters()), allow_unused=True)
        for name, slope in zip(dict(model.named_parameters()), slopes, strict=True):
            expected = 0.0 if slope is None else float(slope.square().sum())
            assert math.isclose(float(found[name][place]), expected, rel_tol=1e-10, abs_tol=1e-14), name


def test_a_record_that_is_wrong_is_not_believed():
    """cos(…) has 16 rows like the batch, but they are not the inputs: only a comparison can tell."""

    class Trap(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4))

        def forward(self, x: Tensor) -> Tensor:
            table = torch.arange(48, dtype=torch.float64).reshape(16, 3).cos() @ self.weight  # (16, 4)
            return (x.double() @ table.T).sin().sum(-1)

    model, x = Trap(), BITS.double()
    right = norms(gradients._one_by_one, model, x)["weight"]
    assert not torch.allclose(norms(gradients._recorded, model, x)["weight"], right)
    assert torch.allclose(sharpness.gradient_norms(model, x, exclude=())["weight"], right)


# --- the Hessian ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exclude", [(), ("positions",)], ids=["all", "no positions"])
def test_the_exact_trace_is_that_of_the_full_hessian(exclude: tuple[str, ...]):
    for choices in ({}, {"norm": "none", "attention": "relu"}):
        model = small(**choices)
        for y in (None, targets()):
            full = loss_hessian(model, BITS, y, exclude)
            ours = sharpness.hessian(model, BITS, y, exclude=exclude)
            trace = sharpness.hessian_trace(model, BITS, y, exclude=exclude)
            assert torch.allclose(ours, full, rtol=1e-9, atol=1e-9)
            assert abs(trace.value - float(full.trace())) <= 1e-8 and trace.low == trace.value == trace.high
    newton = sharpness.hessian_trace(model, BITS, targets(), exclude=exclude, method="gauss-newton").value
    assert math.isclose(newton, sharpness.hessian_trace(model, BITS, exclude=exclude).value, rel_tol=1e-12)
    assert abs(newton - trace.value) > 0.01  # away from the minimum the second term counts


def test_the_trace_of_a_handmade_network_is_that_of_its_closed_form():
    components = [((1, 2), 0.7), ((3, 4), 1.3)]
    model = handmade.build(components, 4)
    y = torch.as_tensor(handmade.target_values(handmade.Design(tuple(components), 4), BITS.numpy()))
    closed = handmade.gradient_norms(handmade.Design(tuple(components), 4), BITS.numpy())
    expected = 2 * sum(float(np.mean(norms)) for norms in closed.values())
    found = sharpness.hessian_trace(model, BITS, y, exclude=("positions", "tokens"))
    assert math.isclose(found.value, expected, rel_tol=1e-10)


def test_the_top_eigenvalue():
    model = small()
    for y in (None, targets()):
        found = sharpness.top_eigenvalue(model, BITS, y)
        truth = float(torch.linalg.eigvalsh(loss_hessian(model, BITS, y))[-1])
        assert math.isclose(found.value, truth, rel_tol=1e-9) and found.high - found.low <= 1e-7 * truth
    rough = sharpness.top_eigenvalue(model, BITS, targets(), steps=3)
    assert rough.value <= truth and rough.high > rough.low
    line = torch.diag(torch.tensor([math.sqrt(10), 0.0, 0.0, 0.0, 0.0], dtype=torch.float64))  # eigenvalues 0 and 4
    for seed in range(20):
        found = sharpness.top_eigenvalue(Linear(5), line, steps=1, seed=seed)
        assert found.low <= 0 <= found.high or found.low <= 4 <= found.high


# --- estimates and their errors ---------------------------------------------------------------------------------------

SEEDS = range(150)
INPUTS = torch.randn(8, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * torch.arange(1, 6) ** 0.5


def share_covered(estimates: list, truth: float) -> float:
    return float(np.mean([found.covers(truth) for found in estimates]))


@pytest.mark.parametrize("kind", ["gaussian", "sphere"])
def test_intervals_of_sharpness_cover_the_truth_as_often_as_they_say(kind: str):
    model, rho = Linear(5), 0.3
    truth = rho**2 * float(INPUTS.square().sum(1).mean()) / (1 if kind == "gaussian" else 5)
    found = [
        sharpness.average_direction(model, INPUTS, rho=rho, kind=kind, directions=100, seed=seed) for seed in SEEDS
    ]
    assert 0.90 <= share_covered(found, truth) <= 0.985
    spread, errors = np.std([one.value for one in found]), np.mean([one.error for one in found])
    assert 0.85 < spread / errors < 1.15
    assert abs(np.mean([one.value for one in found]) - truth) < 4 * spread / math.sqrt(len(SEEDS))


@pytest.mark.parametrize(("method", "probes"), [("hutchinson", 60), ("hutch++", 30)])
def test_intervals_of_the_trace_cover_the_truth_as_often_as_they_say(method: str, probes: int):
    model, y = Wide(), torch.ones(6, dtype=torch.float64)
    truth = sharpness.hessian_trace(model, Wide.x, y).value
    found = [sharpness.hessian_trace(model, Wide.x, y, method=method, probes=probes, seed=seed) for seed in SEEDS]
    assert 0.90 <= share_covered(found, truth) <= 0.985
    spread, errors = np.std([one.value for one in found]), np.sqrt(np.mean([one.error**2 for one in found]))
    assert 0.85 < spread / errors < 1.15
    assert abs(np.mean([one.value for one in found]) - truth) < 4 * spread / math.sqrt(len(SEEDS))


class Wide(nn.Module):
    """x ↦ Σ_j sin(x_j θ_j) and a product, many weights at little cost; its Hessian is not positive."""

    x = torch.randn(6, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def __init__(self) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.linspace(-1, 1, 40, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.many({"theta": self.theta[None]}, x)[0]

    def many(self, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        theta = parameters["theta"]
        return torch.sin(theta[:, None] * x).sum(-1) + (theta @ x.T) * (theta[:, ::2] @ x.T[::2]) / 10


def test_a_mean_of_draws_has_the_interval_of_student():
    numbers = np.array([1.0, 4.0, 2.5])
    found = landscape._sampled(torch.from_numpy(numbers), confidence=0.9, queries=7, method="by hand", offset=2.0)
    low, high = stats.t.interval(0.9, 2, loc=4.5, scale=stats.sem(numbers))
    assert np.allclose([found.value, found.error, found.low, found.high], [4.5, stats.sem(numbers), low, high])


def test_hutch_plus_plus_needs_fewer_products_than_hutchinson():
    """The Hessian at the minimum has rank 6: a sketch of ten finds all of it."""
    truth = sharpness.hessian_trace(Wide(), Wide.x).value
    plain = sharpness.hessian_trace(Wide(), Wide.x, method="hutchinson", probes=30)
    better = sharpness.hessian_trace(Wide(), Wide.x, method="hutch++", probes=30)
    assert abs(better.value / truth - 1) < 1e-9 and better.error < 1e-9 * truth < plain.error
    assert better.queries == plain.queries == 30 * 6


def test_the_trace_of_the_perturbed_hessian():
    """E L″(θ + ρg) for L = (cos θ − y)², whose L″ is −2cos 2θ + 2y cos θ; E cos k(θ + ρg) = e^(−k²ρ²/2) cos kθ."""
    theta, rho, one = 0.7, 0.4, torch.ones(1, 1, dtype=torch.float64)
    for y in (None, torch.zeros(1, dtype=torch.float64)):
        height = math.cos(theta) if y is None else 0.0
        truth = -2 * math.cos(2 * theta) * math.exp(-2 * rho**2)
        truth += 2 * height * math.cos(theta) * math.exp(-(rho**2) / 2)
        found = sharpness.perturbed_trace(Wave(theta), one, y, rho=rho, directions=10_000, seed=1)
        assert abs(found.value - truth) < 4 * found.error < 0.08


# --- the heat equation ------------------------------------------------------------------------------------------------


def test_the_heat_identity_holds_for_smooth_losses():
    theta, rho = 0.4, 0.8
    found = sharpness.heat(Wave(theta), torch.ones(1, 1, dtype=torch.float64), rho=rho, directions=10_000)
    c = math.cos(theta)  # E(cos(θ + ρg) − c)²
    truth = 0.5 + 0.5 * math.cos(2 * theta) * math.exp(-2 * rho**2) - 2 * c * c * math.exp(-(rho**2) / 2) + c * c
    for side in found:
        assert abs(side.value - truth) < 4 * side.error and side.error < 0.03 * truth
    flat = sharpness.hessian_trace(Wave(theta), torch.ones(1, 1, dtype=torch.float64)).value * rho**2 / 2
    assert abs(flat - truth) > 0.3 * truth  # the trace at θ alone would not do


def test_the_heat_identity_holds_for_a_network_of_attention():
    head = networks.Head(*(torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)))
    rows = torch.eye(3, dtype=torch.float64)
    places = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)
    model = networks.Circuit(rows[:2], places, [networks.Layer([head])], readout=rows[:, :1])
    left, right = sharpness.heat(model, BITS, targets(), rho=0.3, directions=2000)
    assert abs(left.value - right.value) < 4 * math.hypot(left.error, right.error) < 0.4 * left.value


def test_the_heat_identity_misses_the_kinks_of_relu():
    """L = (relu(θ) − θ₀)² at θ₀ has slope −2θ₀ right of 0 and none left of it: ∇²L never sees that jump."""
    start, rho = 0.5, 1.0
    left, right = sharpness.heat(Kink(start), torch.ones(1, 1, dtype=torch.float64), rho=rho, directions=10_000)
    normal = torch.distributions.Normal(0.0, 1.0)
    inside = lambda s: float(normal.cdf(torch.tensor(start / s)))  # noqa: E731
    grid = (torch.arange(20_000) + 0.5) / 20_000
    almost = rho**2 * float(normal.cdf(start / (rho * grid.double().sqrt())).mean())  # ½∫ 2 P[θ₀ + √s g > 0] ds
    density = math.exp(-(start**2) / (2 * rho**2)) / math.sqrt(2 * math.pi)
    truth = rho**2 * (inside(rho) - start / rho * density) + start**2 * (1 - inside(rho))
    assert abs(left.value - truth) < 4 * left.error and abs(right.value - almost) < 4 * right.error
    assert right.value - left.value > 10 * math.hypot(left.error, right.error)


# --- the same function, another sharpness -----------------------------------------------------------------------------


def test_rescaling_an_mlp_changes_sharpness_and_not_the_function():
    """(E, b, F) ↦ (αE, αb, F/α), after Dinh et al. 2017: the trace is (G_E + G_b)/α² + α²G_F and a rest that stays."""
    model, first, second = handmade.build([((1, 2), 0.7), ((3, 4), 1.3)], 4), "layers.0.mlp.weights.0", "weights.1"
    parts = {name: 2 * float(norm.mean()) for name, norm in sharpness.gradient_norms(model, BITS).items()}
    front = sum(part for name, part in parts.items() if name.startswith(first) or "biases" in name)
    back = sum(part for name, part in parts.items() if name.endswith(second))
    rest, best = sum(parts.values()) - front - back, (front / back) ** 0.25
    for alpha in (0.1, 1.0, best, 20.0):
        other = handmade.rescale(model, alpha)
        assert torch.allclose(other(BITS), model(BITS), rtol=1e-9, atol=1e-9)
        found = sharpness.hessian_trace(other, BITS).value
        assert math.isclose(found, front / alpha**2 + alpha**2 * back + rest, rel_tol=1e-9)
        assert found >= 2 * math.sqrt(front * back) + rest - 1e-6
    assert sharpness.hessian_trace(handmade.rescale(model, 0.1), BITS).value > 50 * sum(parts.values())


# --- directions -------------------------------------------------------------------------------------------------------


def test_the_worst_direction_of_a_linear_network():
    moments = INPUTS.T @ INPUTS / len(INPUTS)
    top = float(torch.linalg.eigvalsh(moments)[-1])
    found = sharpness.worst_direction(Linear(5), INPUTS, rho=0.3)
    assert math.isclose(found.value, 0.3**2 * top, rel_tol=1e-6) and found.high == math.inf
    assert math.isclose(float(torch.linalg.vector_norm(found.shift)), 0.3, rel_tol=1e-12)
    assert math.isclose(float((INPUTS @ found.shift).square().mean()), found.value, rel_tol=1e-9)


def test_the_worst_direction_of_a_network():
    model = small()
    tiny = sharpness.worst_direction(model, BITS, rho=1e-5, steps=40)
    assert math.isclose(tiny.value, 1e-10 / 2 * sharpness.top_eigenvalue(model, BITS).value, rel_tol=1e-3)
    for rho in (0.1, 1.0):
        worst = sharpness.worst_direction(model, BITS, rho=rho)
        random = sharpness.average_direction(model, BITS, rho=rho, kind="sphere", directions=500)
        assert worst.value > random.draws.max() > random.value
        land = landscape.Landscape(model, BITS)
        assert math.isclose(float(land.losses(worst.shift[None])), worst.value, rel_tol=1e-12)


def test_shop_and_shpred_on_one_output_and_on_several():
    model, rho = Linear(5), 0.3
    shop = sharpness.shop(model, INPUTS, rho=rho, directions=4000)
    truth = rho * math.sqrt(2 / math.pi) * float(INPUTS.square().sum(1).sqrt().mean())  # E|N(0, σ²)| = σ√(2/π)
    assert abs(shop.value - truth) < 4 * shop.error < 0.05 * truth
    shpred = sharpness.shpred(model, INPUTS, rho=rho, directions=4000)
    z = -(model(INPUTS).detach().abs() / (rho * INPUTS.square().sum(1).sqrt()))
    truth = float(torch.distributions.Normal(0.0, 1.0).cdf(z).mean())
    assert abs(shpred.value - truth) < 4 * shpred.error < 0.3 * truth

    several = nn.Linear(5, 3, dtype=torch.float64)
    rho, found = 0.2, sharpness.shop(several, INPUTS, rho=0.2, directions=2000)
    truth = 3 * rho * math.sqrt(2 / math.pi) * float((1 + INPUTS.square().sum(1)).sqrt().mean())
    assert abs(found.value - truth) < 4 * found.error < 0.05 * truth
    draws = sharpness.shpred(several, INPUTS, rho=rho, directions=50).draws
    land = landscape.Landscape(several, INPUTS)
    shifts = next(landscape.random_vectors(50, land.theta, seed=0))
    changed = land.outputs(rho * shifts).argmax(-1) != several(INPUTS).argmax(-1)
    assert np.allclose(draws, changed.double().mean(1).numpy()) and 0 < draws.mean() < 1


def test_a_seed_draws_the_same_directions_whatever_the_radius_and_the_memory():
    one, two = (sharpness.average_direction(Linear(5), INPUTS, rho=rho, seed=4) for rho in (1e-3, 1e-1))
    assert np.allclose(two.draws, 1e4 * one.draws, rtol=1e-9)
    other = sharpness.average_direction(Linear(5), INPUTS, rho=1e-3, seed=5)
    assert not np.allclose(other.draws, one.draws)
    model = small()
    for measure in (
        lambda budget: sharpness.average_direction(model, BITS, targets(), rho=0.1, directions=20, budget=budget).draws,
        lambda budget: sharpness.perturbed_trace(model, BITS, rho=0.1, directions=3, budget=budget).draws,
        lambda budget: sharpness.hessian_trace(model, BITS, targets(), method="hutch++", probes=6, budget=budget).draws,
        lambda budget: sharpness.worst_direction(model, BITS, rho=0.1, steps=1, budget=budget).value,
        lambda budget: torch.stack(list(sharpness.gradient_norms(model, BITS, budget=budget).values())),
    ):
        assert np.allclose(measure(1 << 16), measure(1 << 28), rtol=1e-8, atol=1e-12)


def test_chunks_stay_within_the_budget():
    model, x = small(n=10, width=8), torch.randint(0, 2, (300, 10))
    for budget in (1 << 19, 1 << 21, 1 << 23):
        land = landscape.Landscape(model, x, budget=budget)
        for task, passes in landscape._PASSES.items():
            copies, rows = land._chunks(50, task)
            each, per = land._bytes(task != "outputs")
            assert copies * (each + rows * per) * passes <= budget
            assert 1 <= copies <= 50 and 1 <= rows <= 300
    assert land._chunks(50, "outputs")[0] * land._chunks(50, "outputs")[1] > 50  # and the memory is used


def test_measuring_leaves_the_network_and_its_positions_alone():
    model = small()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    found = sharpness.average_direction(model, BITS, rho=0.1)
    sharpness.hessian_trace(model, BITS, targets())
    sharpness.worst_direction(model, BITS, rho=0.1, steps=2)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    everything = sharpness.average_direction(model, BITS, rho=0.1, exclude=())
    assert not math.isclose(found.value, everything.value)
    land = landscape.Landscape(model, BITS)
    assert land.size == sum(w.numel() for n, w in model.named_parameters() if n != "positions")
    assert "positions" not in land.parameters(land.theta[None])


def test_what_makes_sharpness_comparable():
    model = small()
    found = sharpness.average_direction(model, BITS, rho=0.01)
    variance = float(model(BITS).var(correction=0).detach())
    assert math.isclose(found.variance, variance, rel_tol=1e-12)
    assert math.isclose(found.relative, found.value / variance, rel_tol=1e-12)
    size, norm = landscape.Landscape(model, BITS).size, sharpness.parameter_norm(model)
    assert math.isclose(found.relative_radius, 0.01 * math.sqrt(size) / norm, rel_tol=1e-12)
    sphere = sharpness.average_direction(model, BITS, rho=0.01, kind="sphere")
    assert math.isclose(sphere.relative_radius, 0.01 / norm, rel_tol=1e-12)
    with pytest.raises(ValueError, match="relative: the network is constant"):
        _ = sharpness.average_direction(model, BITS[:1], rho=0.01).relative


def test_single_precision_is_measured_in_single_precision():
    model = networks.Encoder(networks.Config(n=4, width=8), dtype=torch.float32)
    double = networks.Encoder(model.config, parameters={n: w.detach().double() for n, w in model.named_parameters()})
    one = sharpness.hessian_trace(model, BITS).value
    assert math.isclose(one, sharpness.hessian_trace(double, BITS).value, rel_tol=1e-4)
    assert sharpness.average_direction(model, BITS, rho=0.02).value > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: sharpness.average_direction(m, BITS, rho=-1), "rho: expected a number ≥ 0, got -1"),
        (lambda m: sharpness.average_direction(m, BITS, rho=1, kind="cube"), "kind: expected .* got 'cube'"),
        (lambda m: sharpness.average_direction(m, BITS, rho=1, kind="signs"), "kind: expected .* got 'signs'"),
        (lambda m: sharpness.average_direction(m, BITS, rho=math.inf), r"rho: expected .* to 1e\+?100, got inf"),
        (lambda m: sharpness.perturbed_trace(m, BITS, rho=-1), "rho: expected a number ≥ 0, got -1"),
        (lambda m: sharpness.radius(0.1, 5, "cube"), "kind: expected 'gaussian' or 'sphere', got 'cube'"),
        (lambda m: sharpness.hessian_trace(m, BITS, torch.full((16,), math.nan)), "y: expected finite .* got nan"),
        (lambda m: brittleness.limit(0.5, alpha=1), "alpha: expected a number above 1, got 1"),
        (lambda m: brittleness.limit(0.5, norm2=0.4), "mu: expected numbers from 0 to .* got 0.5"),
        (lambda m: brittleness.lower_bound(1.0, 0.1, 0), "n: expected an integer ≥ 1, got 0"),
        (lambda m: brittleness.least_zeta(2, 1), "width: expected an integer ≥ 2, got 1"),
        (lambda m: brittleness.small_ball(4, 0.5, 0.0), "deviation: expected a number above 0, got 0.0"),
        (lambda m: brittleness.angle_loss(1.0, 2), "dimension: expected an integer from 3 to .* got 2"),
        (lambda m: sharpness.average_direction(m, BITS, rho=1, directions=1), "directions: expected an int.* got 1"),
        (lambda m: sharpness.average_direction(m, BITS[:0], rho=1), "x: expected at least one input"),
        (lambda m: sharpness.shop(None, BITS, rho=1), "model: expected nn.Module, got NoneType"),
        (lambda m: sharpness.shop(m, None, rho=1), "x: expected a tensor of real numbers, got None"),
        (lambda m: sharpness.shpred(m, BITS * math.nan, rho=1), "x: expected 0 and 1, got nan"),
        (lambda m: sharpness.shop(nn.Linear(4, 1), BITS * math.nan, rho=1), "x: expected finite numbers, got nan"),
        (lambda m: sharpness.shop(m, 1 - 2 * BITS, rho=1), "x: expected 0 and 1, got -1; signs are turned into bits"),
        (lambda m: sharpness.shop(nn.Linear(4, 1), BITS, rho=1), "x: expected inputs .* got torch.int64 of shape"),
        (lambda m: sharpness.shop(nn.Flatten(0), BITS, rho=1, exclude=()), "exclude: .* leaves none"),
        (lambda m: sharpness.shop(Flat(), BITS.float(), rho=1), "x: expected inputs with one output each, got shape"),
        (lambda m: sharpness.hessian_trace(m, BITS, seed=None), "seed: expected an integer, got NoneType"),
        (lambda m: sharpness.heat(m, BITS, "abc", rho=1), "y: expected a tensor of real numbers, got 'abc'"),
        (lambda m: sharpness.heat(m, BITS, rho=1, directions=10**18), "directions: expected an integer from 2 to"),
        (lambda m: sharpness.worst_direction(m, BITS, rho=1, steps=10**18), "steps: expected an integer from 1 to"),
        (lambda m: sharpness.top_eigenvalue(m, BITS, tolerance=math.nan), "tolerance: expected a number .* got nan"),
        (lambda m: sharpness.hessian(nn.Linear(200, 200), torch.ones(1, 200)), "model: the number of its weights: "),
        (lambda m: sharpness.average_direction(broken(m), BITS, rho=1), "model: its weights: expected finite .* nan"),
        (lambda m: sharpness.average_direction(m, BITS, rho=1, exclude=("postions",)), "exclude: .* got 'postions'"),
        (lambda m: sharpness.parameter_norm(m, exclude=("postions",)), "exclude: expected parts of .* got 'postions'"),
        (lambda m: sharpness.gradient_norms(m, BITS, exclude=("postions",)), "exclude: expected .* got 'postions'"),
        (lambda m: sharpness.input_shift(torch.ones(3), torch.zeros(3), torch.ones(3)), "x: expected vectors other"),
        (lambda m: sharpness.input_shift(*torch.ones(2, 3), torch.ones(2)), r"dx: expected shape \(…, D\) with D = 3"),
        (lambda m: landscape.Landscape(m, BITS).losses(torch.ones(3)), r"shifts: expected shape \(K, D\) with D ="),
        (lambda m: landscape.Landscape(m, BITS).outputs(None), "shifts: expected a tensor of real numbers, got None"),
        (lambda m: landscape.random_vectors(0, torch.ones(3), seed=0), "count: expected an integer from 1 to"),
        (lambda m: landscape.random_vectors(3, torch.ones(3), seed=0, kind="sign"), "kind: expected .* got 'sign'"),
        (lambda m: landscape.random_source(None, "heat"), "seed: expected an integer, got NoneType"),
        (lambda m: brittleness.blowup_constant(10**18), "layers: expected an integer from 1 to 1000, got 10{18}"),
        (lambda m: brittleness.lower_bound(math.nan, 0.1, 5), "average: expected finite numbers, got nan"),
        (lambda m: brittleness.lower_bound(1.0, -0.1, 5), "perturbed: expected numbers ≥ 0, got -0.1"),
        (lambda m: brittleness.limit("0.5"), "mu: expected real numbers"),
        (lambda m: brittleness.limit(0.0, norm2=0), "norm2: expected numbers above 0, got 0"),
        (lambda m: brittleness.angle_loss([1.0, math.inf]), "ratio: expected finite numbers, got inf"),
        (lambda m: sharpness.average_direction(m, BITS, torch.ones(16, 1), rho=1), r"y: expected shape \(16,\)"),
        (lambda m: sharpness.average_direction(m, BITS, rho=1, exclude=("",)), "leaves none"),
        (lambda m: sharpness.average_direction(m, BITS, rho=1, confidence=1), "confidence: expected"),
        (lambda m: sharpness.worst_direction(m, BITS, rho=0), "rho: expected a number above 0, got 0"),
        (lambda m: sharpness.hessian_trace(m, BITS, method="guess"), "method: expected 'exact' or .* got 'guess'"),
        (lambda m: sharpness.hessian_trace(m, BITS, method="hutch++", probes=5), "probes: expected an int.* got 5"),
    ],
)
def test_mistakes_are_named(call, message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        call(small())


def test_derivatives_are_taken_where_gradients_are_switched_off():
    model = small()
    with torch.no_grad():
        traces = [sharpness.hessian_trace(model, BITS, y).value for y in (None, targets())]
        worst = sharpness.worst_direction(model, BITS, rho=0.1, steps=1).value
        norms = sharpness.gradient_norms(Stack("norm"), BITS.double(), exclude=())
    assert traces == [sharpness.hessian_trace(model, BITS, y).value for y in (None, targets())]
    assert worst == sharpness.worst_direction(model, BITS, rho=0.1, steps=1).value and len(norms) == 7


def test_an_ensemble_is_measured_member_by_member():
    ensemble = networks.Ensemble(networks.Config(n=4, width=4), seeds=range(2), dtype=torch.float64)
    with pytest.raises(TypeError, match="model: expected a single network, got an ensemble"):
        sharpness.average_direction(ensemble, BITS, rho=0.1)
    values = [sharpness.average_direction(member, BITS, rho=0.1, directions=10).value for member in ensemble.members()]
    assert len(set(values)) == 2


def test_a_single_word_is_not_a_sequence_of_words():
    with pytest.raises(TypeError, match="exclude: expected a sequence of words, got 'positions'"):
        sharpness.parameter_norm(small(), exclude="positions")
