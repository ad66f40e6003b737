"""PAC-Bayes bounds: their terms, their optima, their honesty; accounts of networks; bad input in one sentence."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from flatcube import capacity, handmade, networks, pacbayes
from flatcube.handmade import design, formulas
from flatcube.pacbayes import account, learner, worstcase
from flatcube.pacbayes import inequalities as catoni
from flatcube.pacbayes.account import Account

GIVEN = {"m": 1e6, "C": 0.1, "delta": 0.05}
ALL_6 = (np.arange(64)[:, None] >> np.arange(6)) & 1
PLAN_6 = account.disjoint(6, 2, 3, kappa=0.25)
MODEL_6 = handmade.assemble(PLAN_6)


# --- inequalities -----------------------------------------------------------------------------------------------------


def test_the_divergence_of_two_gaussians():
    assert catoni.divergence(8.0, 2.0) == 1.0
    rng = np.random.default_rng(0)
    theta, s, prior = rng.normal(size=5), 0.7, 1.3
    v = theta + s * rng.normal(size=(400_000, 5))
    logs = -np.square(v - theta).sum(1) / 2 / s**2 - 5 * math.log(s)
    logs += np.square(v).sum(1) / 2 / prior**2 + 5 * math.log(prior)
    found = catoni.divergence(theta @ theta, s, prior, size=5)
    assert abs(logs.mean() - found) < 4 * logs.std() / math.sqrt(len(v))


def test_the_best_eta_and_what_a_grid_costs():
    kl = 37.0
    value = minimize_scalar(
        lambda e: catoni.catoni(kl, eta=math.exp(e), **GIVEN).value, bounds=(0, 20), method="bounded"
    )
    assert catoni.alquier(kl, **GIVEN) == pytest.approx(value.fun)
    grid = catoni.eta_grid(1.0, 2.0**40)
    assert len(grid) == 41 and grid[-1] == 2.0**40
    paid = catoni.alquier(kl, m=1e6, C=0.1, delta=0.05 / 41)
    # the nearest point is within a factor √2
    found = catoni.grid_price(kl, grid, **GIVEN).value
    assert catoni.alquier(kl, **GIVEN) < paid <= found <= paid * (math.sqrt(2) + 1 / math.sqrt(2)) / 2
    assert found == pytest.approx(min(eta * 0.01 / 2e6 + (kl + math.log(41 / 0.05)) / eta for eta in grid))


def test_the_inequality_holds_as_often_as_it_says():
    """50 coins; the posterior is the coin that looks best: its risk exceeds the bound in at most δ of the runs."""
    rng = np.random.default_rng(1)
    risks, m, delta = rng.uniform(0.3, 0.6, 50), 40, 0.1
    seen = rng.binomial(m, risks, (4000, 50)) / m
    best = seen.argmin(1)
    excess = risks[best] - seen[np.arange(4000), best]
    allowed = catoni.alquier(math.log(50), m=m, C=catoni.clipped(1), delta=delta)
    assert (excess > allowed).mean() < delta and (excess > 0.3 * allowed).any()
    kl = [catoni.small_kl(s, math.log(50), m=m, delta=delta) for s in seen[np.arange(4000), best][:500]]
    assert (risks[best][:500] > kl).mean() < delta
    assert all(k <= s + catoni.mcallester(math.log(50), m=m, delta=delta) + 1e-12
               for k, s in zip(kl, seen[np.arange(4000), best], strict=False))  # fmt: skip


def test_the_small_kl_bound_uses_its_budget_up():
    for p, kl, m in itertools.product((0, 0.1, 0.5, 0.9, 1), (0, 0.1, 5, 5000), (1, 100)):
        budget = (kl + math.log(2 * math.sqrt(m) / 0.05)) / m
        q = catoni.small_kl(p, kl, m=m, delta=0.05)
        spent = [a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0 and b > 0]
        assert p <= q <= 1 and (q > 1 - 1e-6 or sum(spent) == pytest.approx(budget, rel=1e-9))
    assert catoni.small_kl(0, 0, m=1e4, delta=0.05) == pytest.approx(-math.expm1(-math.log(200 / 0.05) / 1e4))


def test_inequalities_for_losses_up_to_1_in_closed_form():
    budget = (7 + math.log(2 * math.sqrt(400) / 0.05)) / 400
    assert catoni.small_kl(0.0, 7, m=400, delta=0.05) == pytest.approx(1 - math.exp(-budget))
    assert catoni.mcallester(7, m=400, delta=0.05) == pytest.approx(math.sqrt(budget / 2))
    q = catoni.small_kl(0.2, 7, m=400, delta=0.05)
    assert 0.2 * math.log(0.2 / q) + 0.8 * math.log(0.8 / (1 - q)) == pytest.approx(budget)


def test_sub_gaussian_constants():
    fair = np.array([0.0, 1.0])
    assert catoni.sub_gaussian(fair) == pytest.approx(0.5, rel=1e-6)
    rare = np.repeat([0.0, 1.0], [9, 1])  # Bernoulli(0.1): Kearns and Saul
    assert catoni.sub_gaussian(rare, two_sided=True) == pytest.approx(math.sqrt(0.8 / (2 * math.log(9))), rel=1e-3)
    assert catoni.sub_gaussian(rare) < catoni.sub_gaussian(rare, two_sided=True)
    rng = np.random.default_rng(2)
    assert catoni.sub_gaussian(rng.normal(0, 0.3, 20_000)) == pytest.approx(0.3, rel=0.05)
    assert catoni.sub_gaussian(np.full(5, 3.0)) == 0
    assert catoni.sub_gaussian(3 * fair) == pytest.approx(catoni.clipped(3)) == 1.5  # Hoeffding's lemma is sharp
    near = np.array([9.999999999999998, 10.0])  # one bit apart: the mean is rounded to either
    assert catoni.sub_gaussian(near, two_sided=True) == pytest.approx(np.ptp(near) / 2)
    assert catoni.second_moment([3.0, 4.0]) == pytest.approx(math.sqrt(12.5))


def test_rare_losses_just_below_the_mean_are_seen_beside_one_far_above():
    """A thousandth at Δ = 0.05 below, one of 10⁵ at 1 above: t near 2 log(1000)/Δ asks for the most."""
    losses = np.repeat([0.45, 0.5, 1.5], [100, 99_899, 1])
    t, below = np.geomspace(1e-2, 5000, 5000)[:, None], losses.mean() - np.array([0.45, 0.5, 1.5])
    moments = np.exp(t * below) @ (np.array([100, 99_899, 1]) / 1e5)
    asked = np.sqrt(np.maximum(2 * np.log(moments), 0)) / t[:, 0]
    assert catoni.sub_gaussian(losses) == pytest.approx(asked.max(), rel=1e-3)
    assert asked.max() > 3 * losses.std() and 200 < t[asked.argmax(), 0] < 400


@given(st.lists(st.floats(0, 10), min_size=2, max_size=30))
def test_three_constants_in_order(losses):
    losses = np.array(losses)
    measured = catoni.sub_gaussian(losses)
    assert measured <= catoni.second_moment(losses) + 1e-9
    assert measured <= catoni.sub_gaussian(losses, two_sided=True) + 1e-9
    assert catoni.sub_gaussian(losses, two_sided=True) <= catoni.clipped(10) * (1 + 1e-9)


# --- accounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("T", "d", "w"), [(6, 2, 3), (7, 2, 3), (6, 3, 2), (5, 5, 1), (8, 2, 1), (9, 4, 2), (4, 1, 4)])
@pytest.mark.parametrize("gamma", [0.0, 2.5])
def test_exact_expectations_are_means_over_the_cube(T, d, w, gamma):
    plan = account.disjoint(T, d, w, gamma=gamma)
    bits = (np.arange(2**T)[:, None] >> np.arange(T)) & 1
    means = {name: values.mean() for name, values in formulas.gradient_norms(plan, bits).items()}
    found = account.expected_gradients(plan)
    assert found == pytest.approx(means, rel=1e-12)


# T, k, norm², trace, σ* at 10⁶, one σ and grouped at 10⁶ with C = 0.1, log₁₀ m for 1: one σ and grouped
TABLE = [
    (12, 2, 1046, 1.44e4, 6.1e-3, 0.799, 0.300, 5.71, 4.44),
    (24, 2, 1768, 2.84e4, 5.3e-3, 1.19, 0.400, 6.23, 4.81),
    (24, 3, 2273, 5.20e4, 4.5e-3, 1.59, 0.467, 6.60, 5.01),
    (24, 4, 4112, 8.28e4, 4.3e-3, 2.26, 0.579, 7.06, 5.29),
    (60, 2, 4421, 7.19e4, 4.5e-3, 2.21, 0.612, 7.03, 5.36),
    (60, 3, 4672, 1.27e5, 3.8e-3, 2.71, 0.655, 7.30, 5.46),
    (120, 2, 9681, 1.49e5, 4.1e-3, 3.65, 0.872, 7.69, 5.82),
]


@pytest.mark.parametrize(("T", "k", "norm2", "trace", "sigma", "one", "each", "from_one", "from_each"), TABLE)
def test_the_table_of_tilings(T, k, norm2, trace, sigma, one, each, from_one, from_each):
    """Sampled once with 4000 inputs; here exact, and within three standard errors of 1000 fresh inputs."""
    found, plan = account.of_tiling(T, k, T // k), account.disjoint(T, k, T // k, mode="soft")
    assert round(found.norm2) == norm2 and found.trace == pytest.approx(trace, rel=0.012)
    hard = account.disjoint(T, k, T // k, gamma=math.log((T + 1 - T // k) / 0.01))
    bits = np.random.default_rng(T + k).integers(0, 2, (1000, T))
    drawn = 2 * sum(formulas.gradient_norms(hard, bits).values())
    assert abs(drawn.mean() - found.trace) < 3 * drawn.std() / math.sqrt(1000)
    bound = pacbayes.truncated(found.norm2, found.trace, **GIVEN)
    assert bound.sigma == pytest.approx(sigma, rel=0.02) and bound.value == pytest.approx(one, rel=0.005)
    assert pacbayes.grouped(found.norms, found.traces, **GIVEN).value == pytest.approx(each, rel=0.01)
    assert plan.mode == "soft" and found.norms == formulas.norms(plan)
    for C, digits in ((0.1, 0), (2.0, 2 * math.log10(20))):  # with C = 2 the same, 400 times as many
        rest = {"C": C, "delta": 0.05}
        m = capacity.samples_needed(lambda m, rest=rest: pacbayes.truncated(found.norm2, found.trace, m=m, **rest))
        n = capacity.samples_needed(lambda m, rest=rest: pacbayes.grouped(found.norms, found.traces, m=m, **rest))
        assert math.log10(m) == pytest.approx(from_one + digits, abs=0.011)
        assert math.log10(n) == pytest.approx(from_each + digits, abs=0.011)


def test_a_network_that_is_measured_has_the_same_account():
    plan = account.disjoint(6, 2, 3, mode="soft", tau=1e-6)
    model = handmade.assemble(plan)
    found = account.of_model(model, ALL_6, groups=handmade.names(model))
    exact = account.of_tiling(6, 2, 3, tau=1e-6)
    assert found.norms == pytest.approx(exact.norms) and found.traces == pytest.approx(exact.traces, rel=1e-4, abs=1e-6)
    hard = handmade.assemble(PLAN_6)
    measured = account.of_model(hard, ALL_6, groups=handmade.names(hard))
    closed = {name: 2 * squares.mean() for name, squares in formulas.gradient_norms(PLAN_6, ALL_6).items()}
    closed["F"] = closed.pop("F bit") + closed.pop("F positions")
    assert measured.traces == pytest.approx(closed, rel=1e-9, abs=1e-9)
    split = account.of_tiling(6, 2, 3, tau=1e-6, columns=True)
    assert split.norms["F positions"] == 0 and split.trace == pytest.approx(exact.trace)


def test_a_trained_network_has_an_account():
    config = networks.Config(n=4, width=8, layers=1, heads=1)
    model = networks.Encoder(config, parameters=networks.initial(config, seed=1, dtype=torch.float64))
    bits = torch.as_tensor((np.arange(16)[:, None] >> np.arange(4)) & 1)
    found = account.of_model(model, bits, exclude=())
    assert found.norm2 == pytest.approx(sum(networks.squared_norms(model).values()))
    bound = pacbayes.truncated(found.norm2, found.trace, **GIVEN)
    losses = pacbayes.noisy_losses(model, bits, sigmas=[bound.sigma / 3], trace=found.trace, directions=40, exclude=())
    measured = pacbayes.semi_analytic(found.norm2, losses, trace=found.trace, choices=20, **GIVEN)
    assert measured.terms["norm"] == pytest.approx(3 * bound.terms["norm"])
    assert abs(measured.terms["perturbation"]) < measured.terms["sharpness"]


def test_rescaling_an_account_is_rescaling_the_network():
    plan = account.disjoint(6, 2, 3)
    exact = account.of_disjoint(plan)
    model = handmade.rescale(handmade.assemble(plan), 1.7)
    found = account.of_model(model, ALL_6, groups=handmade.names(model))
    assert found.norms == pytest.approx(exact.rescaled(1.7).norms)
    assert found.traces == pytest.approx(exact.rescaled(1.7).traces, abs=1e-9)
    for T, k, square, factor in ((24, 2, 5.41, 0.66), (24, 4, 14.1, 0.37), (60, 3, 8.97, 0.56)):
        tiled = account.of_tiling(T, k, T // k)
        best = tiled.rescaled(alpha := tiled.best_rescaling())
        assert alpha**2 == pytest.approx(square, rel=0.02)
        assert (best.norm2 * best.trace / tiled.norm2 / tiled.trace) ** (1 / 3) == pytest.approx(factor, abs=0.006)


def test_columns_of_an_account_are_rescaled_together():
    whole, split = (account.of_tiling(12, 2, 6, columns=columns).rescaled(1.7) for columns in (False, True))
    assert split.trace == pytest.approx(whole.trace) and split.norm2 == pytest.approx(whole.norm2)
    assert split.traces["F positions"] > 0.1 * whole.traces["F"]


# --- bounds -----------------------------------------------------------------------------------------------------------

POSITIVE = st.floats(1e-3, 1e6)


@settings(deadline=None)
@given(POSITIVE, POSITIVE, st.floats(1, 1e12), st.floats(1e-3, 10), st.floats(1e-6, 0.999))
def test_truncated_at_its_best_sigma(norm2, trace, m, C, delta):
    bound = pacbayes.truncated(norm2, trace, m=m, C=C, delta=delta)
    assert bound.terms["norm"] == pytest.approx(2 * bound.terms["sharpness"])
    assert bound.value - bound.terms["confidence"] == pytest.approx(1.5 * (C**2 * trace * norm2 / m) ** (1 / 3))
    for factor in (0.9, 1.1):
        other = pacbayes.truncated(norm2, trace, m=m, C=C, delta=1 - 1e-12, sigma=factor * bound.sigma)
        assert other.value > bound.value - bound.terms["confidence"]
    kl = catoni.divergence(norm2, bound.sigma)
    assert bound.terms["norm"] + bound.terms["confidence"] == pytest.approx(catoni.alquier(kl, m=m, C=C, delta=delta))


@settings(deadline=None)
@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=6), st.floats(1, 1e12), st.floats(1e-6, 0.999))
def test_grouped_is_never_above_one_sigma(groups, m, delta):
    norms, traces = ({str(k): group[at] for k, group in enumerate(groups)} for at in (0, 1))
    rest = {"m": m, "C": 0.3, "delta": delta}
    each = pacbayes.grouped(norms, traces, **rest)
    one = pacbayes.truncated(sum(norms.values()), sum(traces.values()), **rest)
    assert each.value <= one.value * (1 + 1e-9)
    area = sum(math.sqrt(n * h) for n, h in groups)
    assert each.value - each.terms["confidence"] == pytest.approx(1.5 * (area**2 * 0.09 / m) ** (1 / 3))


def test_group_sigmas_against_a_general_optimiser():
    norms, traces = {"a": 3.0, "b": 50.0, "c": 0.5}, {"a": 900.0, "b": 7.0, "c": 20.0}

    def value(logs):
        sigma = dict(zip("abc", np.exp(logs), strict=True))
        bound = pacbayes.grouped(norms, traces, m=1e4, C=0.2, delta=0.05, sigma=sigma)
        return bound.terms["sharpness"] + bound.terms["norm"]

    best = pacbayes.group_sigmas(norms, traces, m=1e4, C=0.2)
    found = minimize(
        value, np.full(3, -2.0), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 4000}
    )
    assert value(np.log(list(best.values()))) == pytest.approx(found.fun, rel=1e-6)
    assert np.exp(found.x) == pytest.approx(list(best.values()), rel=1e-3)
    capped = pacbayes.group_sigmas(norms, traces, m=1e4, C=0.2, caps={"b": best["b"] / 3})
    assert capped["b"] == best["b"] / 3
    held = minimize(lambda v: value([v[0], math.log(capped["b"]), v[1]]), [-2.0, -2.0], method="Nelder-Mead",
                    options={"xatol": 1e-8, "fatol": 1e-12})  # fmt: skip
    assert value(np.log(list(capped.values()))) == pytest.approx(held.fun, rel=1e-9)
    assert pacbayes.group_sigmas(norms, traces, m=1e4, C=0.2, caps=2 * max(best.values())) == pytest.approx(best)


def test_groups_without_curvature_and_without_norm():
    sigma = pacbayes.group_sigmas({"a": 1.0, "b": 2.0, "c": 0.0}, {"a": 5.0, "b": 0.0, "c": 9.0}, m=1e4, C=0.1)
    assert sigma["b"] == math.inf and sigma["c"] == 0
    limit = pacbayes.grouped({"a": 1.0, "b": 2.0, "c": 0.0}, {"a": 5.0, "b": 0.0, "c": 9.0}, **GIVEN)
    alone = pacbayes.truncated(1.0, 5.0, **GIVEN)
    assert limit.value == pytest.approx(alone.value)


def test_grouped_bounds_do_not_see_rescaling():
    tiled = account.of_tiling(24, 3, 8)
    values = [pacbayes.grouped((a := tiled.rescaled(alpha)).norms, a.traces, **GIVEN).value for alpha in (0.3, 1, 4)]
    assert values == pytest.approx([values[0]] * 3)


@pytest.mark.parametrize(("T", "k"), [(12, 2), (12, 4)])
def test_capped_and_measured_as_found(T, k, capsys):
    """The grouped bound with real noise: above its limit, and still below the isotropic one by a factor above 2."""
    plan, exact = account.disjoint(T, k, T // k, mode="soft"), account.of_tiling(T, k, T // k)
    model, bits = handmade.assemble(plan), np.random.default_rng(T).integers(0, 2, (40, T))
    y, names = design.target_values(plan, bits), handmade.names(model)
    one = pacbayes.truncated(exact.norm2, exact.trace, **GIVEN)
    loss = pacbayes.noisy_loss(model, bits, y, sigma=one.sigma, flat=one.terms["sharpness"], directions=50)
    iso = pacbayes.semi_analytic(exact.norm2, {one.sigma: loss}, trace=exact.trace, **GIVEN)
    sigma = pacbayes.group_sigmas(exact.norms, exact.traces, m=1e6, C=0.1, caps={"W1": 0.01, "V1": 0.01})
    flat = pacbayes.grouped(exact.norms, exact.traces, sigma=sigma, **GIVEN)
    noisy = pacbayes.noisy_loss(model, bits, y, sigma=sigma, groups=names, flat=flat.terms["sharpness"], directions=50)
    each = pacbayes.grouped(exact.norms, exact.traces, sigma=sigma, loss=noisy, **GIVEN)
    limit = pacbayes.grouped(exact.norms, exact.traces, **GIVEN)
    with capsys.disabled():
        print(f"\n  {T} bits by {k}: one σ {iso.value:.3f} ± {iso.error:.3f}, "
              f"grouped {each.value:.3f} ± {each.error:.3f}, limit {limit.value:.3f}")  # fmt: skip
    assert abs(iso.value - one.value) < 4 * iso.error + 0.02 * one.value
    assert limit.value < each.value + 3 * each.error and each.value < iso.value / 2


def test_the_control_variate_agrees_with_plain_sampling_and_is_sharper():
    model = handmade.assemble(account.disjoint(6, 2, 3, mode="soft"))
    trace = account.of_model(model, ALL_6).trace
    plain = pacbayes.noisy_loss(model, ALL_6, sigma=0.003, directions=300)
    sharp = pacbayes.noisy_loss(model, ALL_6, sigma=0.003, directions=60, flat=0.003**2 / 2 * trace, seed=1)
    assert abs(plain.value - sharp.value) < 4 * plain.error and sharp.error < plain.error / 5


def test_semi_analytic_takes_a_function_a_table_or_one_sigma():
    bound = pacbayes.semi_analytic(100.0, lambda s: 40 * s**2, **GIVEN)
    assert bound.sigma in pacbayes.MESH and len(pacbayes.MESH) == 20
    table = {float(s): 40 * s**2 for s in pacbayes.MESH}
    assert pacbayes.semi_analytic(100.0, table, **GIVEN).value == bound.value
    assert min(pacbayes.semi_analytic(100.0, table, sigma=s, **GIVEN).value for s in table) == bound.value
    paid = pacbayes.semi_analytic(100.0, table, choices=20, **GIVEN)
    assert paid.value == pytest.approx(pacbayes.semi_analytic(100.0, table, m=1e6, C=0.1, delta=0.05 / 20).value)
    assert paid.value > bound.value and "noisy loss" in paid.explain()
    split = pacbayes.semi_analytic(100.0, table, trace=70.0, **GIVEN)
    assert split.value == pytest.approx(bound.value)
    assert split.terms["perturbation"] == pytest.approx(5 * split.sigma**2)
    each = pacbayes.grouped({"a": 60.0, "b": 40.0}, {"a": 1.0, "b": 69.0}, loss=40 * split.sigma**2,
                            sigma=dict.fromkeys("ab", split.sigma), **GIVEN)  # fmt: skip
    assert each.value == pytest.approx(split.value) and each.terms == pytest.approx(split.terms | each.terms)


def test_bounds_explain_themselves():
    text = pacbayes.truncated(1000, 1e4, **GIVEN).explain()
    assert text.startswith("The risk, truncated, on 10⁶ examples is at most 0.69") and "sharpness" in text
    assert isinstance(pacbayes.truncated(1000, 1e4, **GIVEN), capacity.Bound)


# --- nothing left out -------------------------------------------------------------------------------------------------


def changes(model, shifts):
    """|f_{θ+Δ}(x) − f_θ(x)| for shifts by matrix, (K, batch)."""
    paths = {name: path for path, name in handmade.names(model).items()}
    held = dict(model.named_parameters())
    moved = {paths[name]: held[paths[name]].detach() + torch.as_tensor(shift) for name, shift in shifts.items()}
    with torch.no_grad():
        return (networks.many(model, moved, torch.as_tensor(ALL_6)) - model(torch.as_tensor(ALL_6))).abs().numpy()


def shapes(model):
    return {name: tuple(weight.shape) for name, weight in handmade.matrices(model).items()}


def reference(plan, x, sd, delta=None):
    """The chain once more, for one input and in scalars: with radii, or with Gaussian noise where δ′ is given."""
    T, d, w, c = plan.T, plan.degree, len(plan.components), plan.weights
    n, H = T + 1, 4 * (d + 1)
    e = math.exp(plan.beta)
    inside = [sum(x[j - 1] for j in S) for S in plan.subsets]
    a = [(k * e + sum(x) - k) / (d * e + T + 1 - d) for k in inside]
    kinks = [(k + s) / d for k in range(d + 1) for s in (-1 / 2, -1 / 4, 1 / 4, 1 / 2)]
    mean = sum(x) / n
    margin = min(abs(v - kink) for v in a for kink in kinks)
    reach = max(math.sqrt(sum(max(v - kink, 0) ** 2 for kink in kinks)) for v in (*a, mean))
    slope, F = math.sqrt(32 * d**2 * (max(inside) + 1)), 8 * d * math.sqrt(d // 2 + 1)

    def t(k):
        return 1.0 if delta is None else math.sqrt(2 * math.log(24 * k / delta))

    def chi(q, k):
        return 1.0 if delta is None else math.sqrt(q) + math.sqrt(2 * math.log(12 * k / delta))

    tilt = math.tanh(sd["W1"] * t(n * n))
    nu = tilt + math.sqrt(2) * sd["V1"] * t(n)
    U = max(*a, mean) + tilt + math.sqrt(2) * sd["V1"] * chi(T + 2, n)
    s = U * sd["E"] + sd["b"] if delta is None else math.sqrt(sd["b"] ** 2 + U**2 * sd["E"] ** 2)
    h2 = nu * math.sqrt(H) + s * chi(H, n)
    r = reach + h2
    phi = (slope * s * t(w) if nu + s * t(n * H) <= margin else F * h2) + r * sd["F"] * t(n)
    phi_o = F * h2 + r * sd["F"] * t(n)
    z, z_o = (math.sqrt(2) + p + r * sd["F"] * chi(T + 2, n) for p in (phi, phi_o))
    omega = [math.log(weight) for weight in c]
    moved = r * sd["F"] * t(n)
    logit = moved * max(map(abs, omega)) + (1 + moved) * math.hypot(*omega) * moved + z_o * z * sd["W2"] * t(n)
    return sum(c) * (math.tanh(logit / 2) + phi) + z * sd["v2"] * t(1)


@pytest.mark.parametrize("size", [1e-5, 1e-3, 0.02])
def test_the_chain_is_the_derived_one_term_by_term(size):
    plan = design.Design([((1, 2, 3), 0.4), ((2, 4, 6), 1.7), ((4, 5, 7), 0.9)], 7, kappa=0.25)
    bits = (np.arange(0, 128, 7)[:, None] >> np.arange(7)) & 1
    where = worstcase.place(plan, bits)
    for one in ("all", *worstcase.GROUPS):  # one matrix with far more noise than the others, so that its terms are seen
        sd = {name: size * (k + 1) * (30 if name == one else 1) for k, name in enumerate(worstcase.GROUPS)}
        for rare, found in ((None, worstcase.deterministic(where, sd)), (0.03, worstcase.gaussian(where, sd, 0.03))):
            assert found.bound == pytest.approx([reference(plan, x, sd, rare) for x in bits.tolist()], rel=1e-12)


@pytest.mark.parametrize("rho", [1e-4, 1e-3, 0.05, 0.3])
def test_the_chain_bounds_every_perturbation_of_given_norms(rho, capsys):
    model, where = handmade.assemble(PLAN_6), worstcase.place(PLAN_6, ALL_6)
    allowed = worstcase.deterministic(where, rho)
    rng = np.random.default_rng(3)
    drawn = {name: rng.normal(size=(40, *shape)) for name, shape in shapes(model).items()}
    for name, d in drawn.items():
        drawn[name] = rho * d / np.linalg.norm(d.reshape(40, -1), axis=1).reshape(-1, *[1] * (d.ndim - 1))
    ratio = (changes(model, drawn) / allowed.bound).max()
    for x in range(0, 64, 9):  # the gradient of the output at one input, each matrix scaled to norm ρ
        names = handmade.names(model)
        parameters = [p for path, p in model.named_parameters() if path in names]
        paths = [path for path, _ in model.named_parameters() if path in names]
        slopes = torch.autograd.grad(model(torch.as_tensor(ALL_6[x : x + 1])).sum(), parameters)
        for sign in (1, -1):
            aligned = {names[path]: (sign * rho * s / max(float(s.norm()), 1e-300)).numpy()[None]
                       for path, s in zip(paths, slopes, strict=True)}  # fmt: skip
            ratio = max(ratio, (changes(model, aligned) / allowed.bound)[0].max())
    with capsys.disabled():
        kind = "no flip" if allowed.no_flip.all() else "flips"
        print(f"\n  ρ = {rho:g} ({kind}): largest change / bound = {ratio:.3f}")
    assert ratio <= 1
    assert allowed.no_flip.all() == (rho < 0.01)
    if allowed.no_flip.all():
        assert ratio > 0.9  # nearly sharp


@pytest.mark.parametrize("sigma", [1e-5, 1e-3, 3e-3, 3e-2])
def test_the_gaussian_chain_fails_no_more_often_than_it_may(sigma, capsys):
    model, where, rare = handmade.assemble(PLAN_6), worstcase.place(PLAN_6, ALL_6), 0.05
    allowed = worstcase.gaussian(where, sigma, rare)
    rng = np.random.default_rng(4)
    found = changes(model, {name: sigma * rng.normal(size=(200, *shape)) for name, shape in shapes(model).items()})
    loose = float(np.mean(allowed.bound**2) / np.mean(found**2))
    with capsys.disabled():
        print(f"\n  σ = {sigma:g}: R² is {loose:.0f} times the mean squared change, no flip: {allowed.no_flip.all()}")
    assert (found > allowed.bound).mean() <= rare
    assert allowed.no_flip.all() == (sigma < 0.01)
    assert (loose < 100) == (sigma < 0.01)


def test_the_rigorous_bound_is_above_what_it_bounds_and_groups_help():
    rest = {"m": 1e10, "delta": 0.05}
    one = pacbayes.rigorous(PLAN_6, ALL_6, **rest)
    loss = pacbayes.noisy_loss(handmade.assemble(PLAN_6), ALL_6, sigma=one.sigma, directions=40)
    assert loss.value < one.terms["noisy loss"] < 100 * loss.value
    assert one.terms["norm"] == pytest.approx(2 * math.sqrt(sum(formulas.norms(PLAN_6).values()) / 1e10) / one.sigma)
    several = pacbayes.rigorous_groups(PLAN_6, ALL_6, rounds=2, **rest)
    assert several.value < 0.6 * one.value and set(several.sigma) == set(worstcase.GROUPS)
    assert several.value == pytest.approx(pacbayes.rigorous(PLAN_6, ALL_6, sigma=several.sigma, **rest).value)
    fixed = pacbayes.rigorous(PLAN_6, ALL_6, sigma=one.sigma, rare=1e-3, **rest)
    assert fixed.value >= one.value and fixed.terms["rare events"] == 4e-3
    assert pacbayes.rigorous(PLAN_6, ALL_6, sigma=0.1, **rest).terms["noisy loss"] == pytest.approx(4)  # clipped
    found = capacity.samples_needed(lambda m: pacbayes.rigorous(PLAN_6, ALL_6, m=m, delta=0.05))
    assert 1e9 < found < 1e10


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: pacbayes.truncated(1, 1, sigma=0, **GIVEN), "sigma: expected a number above 0, got 0"),
        (lambda: pacbayes.truncated(1, 1, sigma=-1.0, **GIVEN), "sigma: expected a number above 0, got -1.0"),
        (
            lambda: pacbayes.truncated(1, 1, m=1e6, C=0.1, delta=1.0),
            "delta: expected a number between 0 and 1, got 1.0",
        ),
        (lambda: pacbayes.truncated(1, 1, m=1e6, C=0.1, delta=0), "delta: expected a number between 0 and 1, got 0"),
        (lambda: pacbayes.truncated(1, 1, m=0, C=0.1, delta=0.5), "m: expected a number of examples ≥ 1, got 0"),
        (lambda: pacbayes.truncated(1, 1, m="9", C=0.1, delta=0.5), "m: expected a number of examples ≥ 1, got '9'"),
        (lambda: pacbayes.truncated(1, 1, m=9, C=-1, delta=0.5), "C: expected a number above 0, got -1"),
        (lambda: pacbayes.truncated(1, 1, m=9, C=-1, delta=0.5, sigma=1), "C: expected a number ≥ 0, got -1"),
        (lambda: pacbayes.truncated(-1, 1, **GIVEN), "norm2: expected a number ≥ 0, got -1"),
        (lambda: pacbayes.truncated(1, math.nan, **GIVEN), "trace: expected a number ≥ 0, got nan"),
        (lambda: pacbayes.truncated("1", 1, **GIVEN), "norm2: expected a number, got str"),
        (lambda: pacbayes.grouped({"a": 1}, {"b": 1}, **GIVEN), "norms, traces: expected the same groups, got a and b"),
        (lambda: pacbayes.grouped({"a": 1}, {"a": 1}, sigma={"a": 0}, **GIVEN), r"sigma\[a\]: .* above 0, got 0"),
        (lambda: pacbayes.semi_analytic(1, {}, **GIVEN), "loss: expected at least one σ with its loss, got none"),
        (lambda: pacbayes.semi_analytic(1, {-1.0: 1}, **GIVEN), "sigma: expected a number above 0, got -1.0"),
        (lambda: account.of_tiling(6, 7, 1), "d: expected a degree of at most T = 6, got 7"),
        (lambda: account.of_tiling(6, 2, 4), "w: expected at most 3 disjoint components of degree 2 in 6 bits, got 4"),
        (
            lambda: pacbayes.rigorous(PLAN_6, ALL_6, m=10, delta=0.1, sigma=-1),
            "sigma: expected a number above 0, got -1",
        ),
        (lambda: pacbayes.rigorous(account.disjoint(6, 2, 3, mode="soft"), ALL_6, m=10, delta=0.1), "mode 'hard'"),
        (
            lambda: worstcase.deterministic(worstcase.place(PLAN_6, ALL_6), {"W1": 1}),
            "radii: expected a number, or one",
        ),
        (lambda: catoni.eta_grid(1, 10, 1), "ratio: expected a number above 1, got 1"),
        (lambda: catoni.sub_gaussian([]), "losses: expected at least one number"),
        (lambda: catoni.second_moment([1.0, -1.0]), "losses: expected numbers ≥ 0, got -1.0"),
        (lambda: catoni.second_moment("a"), "losses: expected real numbers"),
        (lambda: catoni.grid_price(1, [], **GIVEN), "grid: expected 1 to 100,000 η, got 0"),
        (lambda: catoni.eta_grid(1, 10, math.inf), r"ratio: expected a number from 1e-100 to 1e\+?100, got inf"),
        (lambda: catoni.eta_grid(10, 1), "high: expected a number ≥ 10, got 1"),
        (lambda: catoni.divergence(1, 1, 2, size=-1), "size: expected an integer ≥ 0, got -1"),
        (lambda: catoni.small_kl(1.5, 1, m=9, delta=0.1), "training: expected a number from 0 to 1, got 1.5"),
        (lambda: pacbayes.truncated(1, 1, sigma=1e-200, **GIVEN), r"sigma: expected a number from 1e-100 to 1e\+?100"),
        (lambda: pacbayes.truncated(1, 1, sigma=math.inf, **GIVEN), "sigma: expected a number from .* got inf"),
        (lambda: pacbayes.semi_analytic(1, None, **GIVEN), "loss: expected a dict or a function of σ, got NoneType"),
        (lambda: pacbayes.semi_analytic(1, {0.1: 1}, sigma=0.2, **GIVEN), "loss: expected .* got none for 0.2"),
        (lambda: pacbayes.semi_analytic(1, {0.1: math.nan}, **GIVEN), "loss: expected finite numbers, got nan"),
        (lambda: pacbayes.grouped({"a": 1}, {"a": 1}, loss=-1.0, **GIVEN), "loss: expected .* number ≥ 0, got -1.0"),
        (lambda: pacbayes.grouped({"a": 1}, {"a": 1}, sigma=0.1, **GIVEN), "sigma: expected .* for each of a, got 0.1"),
        (lambda: pacbayes.group_sigmas({"a": 1}, {"a": 1}, m=9, C=1, caps={"b": 1}), "caps: .* among a, got b"),
        (lambda: pacbayes.group_sigmas({"a": 1}, {"a": 1}, m=9, C=1, caps=-1), r"caps\[a\]: expected .* got -1"),
        (lambda: pacbayes.group_sigmas({"a": 1}, {"a": 1}, m=9, C=0), "C: expected a number above 0, got 0"),
        (lambda: pacbayes.rigorous(PLAN_6, ALL_6 / 2, m=10, delta=0.1), "bits: expected"),
        (lambda: pacbayes.rigorous(PLAN_6, ALL_6[:0], m=10, delta=0.1), "bits: expected at least one input, got none"),
        (
            lambda: pacbayes.rigorous(account.disjoint(6, 2, 3, scale=1.0), ALL_6, m=10, delta=0.1),
            "a scale above the threshold",
        ),
        (lambda: account.of_tiling(6, 2, 3, scale=1.0), "plan: expected .* a sufficient scale"),
        (
            lambda: account.expected_gradients(design.Design([((1, 2), 1), ((2, 3), 1)], 4)),
            "plan: expected disjoint sets",
        ),
        (
            lambda: account.expected_gradients(design.Design([((1, 2), 1), ((3, 4), 2)], 4)),
            "plan: .* equal weights",
        ),
        (lambda: Account({"a": 1.0}, {"a": 1.0}).rescaled(2), "groups: expected E, b and F, .* got no E, F, b"),
        (lambda: Account(None, {"a": 1.0}), "norms, traces: expected the same groups, got None and a"),
        (
            lambda: pacbayes.noisy_loss(MODEL_6, ALL_6, sigma=dict.fromkeys(handmade.names(MODEL_6), math.inf)),
            r"sigma\[.*\]: expected a number from 0 to 1e\+?100, got inf",
        ),
        (lambda: learner.descend(MODEL_6, ALL_6, ALL_6[:, 0], norm_weight=-1), "norm_weight: expected .* got -1"),
        (lambda: learner.descend(MODEL_6, ALL_6, ALL_6[:, 0], noises=0), "noises: expected an integer .* got 0"),
        (lambda: learner.descend(MODEL_6, ALL_6, None), "y: expected the targets of the inputs, got None"),
        (lambda: learner.descend(MODEL_6, ALL_6, ALL_6[:, 0], steps=10**18), "steps: expected an integer from 1 to"),
        (lambda: learner.objective(math.nan, 1, 1, norm_weight=1, sharpness_weight=1), "loss: expected .* got nan"),
        (lambda: pacbayes.rigorous(None, ALL_6, m=10, delta=0.1), "plan: expected handmade.Design, got NoneType"),
        (lambda: pacbayes.noisy_losses(MODEL_6, ALL_6, sigmas=None), "sigmas: expected real numbers"),
        (lambda: pacbayes.noisy_loss(MODEL_6, ALL_6, sigma=1, flat=math.nan), "flat: expected a number .* got nan"),
        (lambda: pacbayes.noisy_loss(MODEL_6, ALL_6, sigma=1, groups={"W1": "a"}), "groups: expected names of weights"),
        (lambda: account.of_model(MODEL_6, ALL_6, groups={"W1": "a"}), "groups: expected names .* got 'W1'"),
        (lambda: account.of_model(MODEL_6, ALL_6, groups=3), "groups: expected .*Mapping, got int"),
        (lambda: account.of_model(MODEL_6, ALL_6, exclude=("postions",)), "exclude: expected .* got 'postions'"),
        (lambda: account.of_disjoint(None), "plan: expected handmade.Design, got NoneType"),
        (lambda: account.expected_gradients(None), "plan: expected handmade.Design, got NoneType"),
        (lambda: account.of_tiling(10**6, 2, 2), "T: expected an integer from 1 to 2000, got 1000000"),
        (lambda: account.of_tiling(400, 100, 2), "plan: expected a smaller one, .* got T=400, d=100, w=2"),
        (lambda: worstcase.place(None, ALL_6), "plan: expected handmade.Design, got NoneType"),
        (lambda: worstcase.place(PLAN_6, 1 - 2 * ALL_6), "bits: expected 0 and 1, got −1"),
        (lambda: worstcase.deterministic(None, 1), "where: expected pacbayes.Place, got NoneType"),
        (lambda: worstcase.gaussian(PLAN_6, 1, 0.1), "where: expected pacbayes.Place, got handmade.Design"),
        (lambda: worstcase.largest(0, 0.1), "count: expected an integer ≥ 1, got 0"),
        (lambda: worstcase.longest_gaussian(1, 1, 1.5), "rare: expected a number between 0 and 1, got 1.5"),
        (lambda: catoni.eta_grid(1, 10, 1 + 1e-9), "ratio: expected one for a grid of at most 100,000 numbers"),
        (lambda: capacity.occam(10**20, 10**19, 3, m=10), "T: expected at most 1,000,000 bits"),
        (lambda: capacity.Norms(1, 1, 10**400), "width: expected at most"),
    ],
)
def test_bad_input_gets_one_sentence(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint) as refused:
        call()
    assert "\n" not in str(refused.value)
