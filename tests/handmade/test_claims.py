"""Evidence for the claims of chapter 4: each part of SP's construction, its norms, and the whole on every input."""

import math

import numpy as np
import pytest
import torch

from flatcube import cube, handmade, networks
from flatcube.handmade import Design, construction, design

claim = pytest.mark.claim
no_grad = torch.no_grad()

# --- what mutants change, as it is ------------------------------------------------------------------------------------

reader, mixing, random_projection = construction._reader, construction._mixing, handmade.random_projection


# --- the parts --------------------------------------------------------------------------------------------------------


def narrow(degree, grid="full"):
    """Ramps of width 3/(8d), which leave plateaus of half the width."""
    kinks, slopes = design.breakpoints(degree, grid)
    centre = kinks.mean(axis=1, keepdims=True)
    return centre + np.array([-1 / 2, -1 / 8, 1 / 8, 1 / 2]) / degree, slopes * 2 / 3


def three_units(degree, grid="full"):
    """Triangles: three kinks for each grid value."""
    k = np.arange(degree + 1)[:, None]
    return (k + np.array([-1 / 2, 0, 1 / 2])) / degree, 2 * degree * (k % 2 == 0) * np.array([1, -2, 1])


@claim(
    "SP-T9",
    mutant=[
        ("flatcube.handmade.construction.breakpoints", narrow, "Ramps are wider, plateaus half as wide."),
        ("flatcube.handmade.construction.breakpoints", three_units, "Three units for each grid value make triangles."),
    ],
    note="d = 1 to 12, on the grid and at 21 points within 1/(4d) of each grid value",
)
@no_grad
def test_the_mlp_is_the_parity_on_and_around_the_grid():
    for d in range(1, 13):
        mlp = handmade.build([(range(1, d + 1), 1.0)], d).layers[0].mlp
        assert len(mlp.biases[0]) % 4 == 0
        k, around = np.arange(d + 1)[:, None], np.linspace(-1, 1, 21) / (4 * d)
        values = torch.zeros(d + 1, 21, d + 2, dtype=torch.float64)
        values[..., -1] = torch.as_tensor(k / d + around)
        assert np.abs(mlp(values)[..., -1].numpy() - (k % 2 == 0)).max() < 1e-10


def transposed(plan):
    head = reader(plan)
    return networks.Head(head.query_key.detach().T.clone(), head.value.detach())


def fixed_scale(plan):
    return 3.0


@claim(
    "SP-B1",
    mutant=[
        (
            "flatcube.handmade.construction._reader",
            transposed,
            "Rows and columns of the query-key matrix are exchanged.",
        ),
        ("flatcube.handmade.design.Design.beta", property(fixed_scale), "The scale does not grow with T."),
    ],
    note="T to 128, d to 5, β = log 8T: members get 1/d up to a leak below 1/(8d); unused rows are uniform",
)
@no_grad
def test_the_first_attention_reads_the_members_evenly():
    for T, d, w in ((8, 3, 4), (32, 2, 10), (128, 1, 3), (128, 5, 20)):
        plan = Design(cube.random_components(T, d, w, rng=T), T)
        bits = np.random.default_rng(T).integers(0, 2, (3, T))
        attention = handmade.assemble(plan).activations(bits)["layers.0.attention.0"].numpy()
        assert np.ptp(attention, axis=0).max() < 1e-12  # it looks at positions only
        member = np.zeros((w, T + 1), dtype=bool)
        for i, members in enumerate(plan.subsets):
            member[i, np.array(members) - 1] = True
        leak = (T + 1 - d) / (d * math.exp(plan.beta) + T + 1 - d)
        assert leak < 1 / (8 * d)
        assert attention[0, :w][member] == pytest.approx((1 - leak) / d, rel=1e-9)
        assert attention[0, :w][~member] == pytest.approx(leak / (T + 1 - d), rel=1e-9)
        assert attention[0, w:] == pytest.approx(1 / (T + 1), rel=1e-9)


def wide(T, width, *, unit=False, rng):
    return random_projection(T, width, unit=unit, rng=rng) * math.sqrt(width)


@claim(
    "SP-B2",
    mutant=("flatcube.handmade.symmetries.random_projection", wide, "Entries have variance 1 at every width."),
    note="T = 16, d = 2: logits stray like √((‖row‖² + ‖column‖²)/p), and E‖PᵀWP‖² is ‖W‖² + (tr²W + tr W²)/p",
)
@no_grad
def test_a_gaussian_projection_nearly_keeps_the_scores():
    T = 16
    model = handmade.build([((i, i + 1), 1.0) for i in range(1, 5)], T)  # position i reads itself: the trace counts
    scores, x = model.layers[0].heads[0].query_key[: T + 1, : T + 1], model.positions[:, : T + 1]
    strays = []
    for width in (64, 256, 1024):
        networks = [handmade.project(model, handmade.random_projection(T, width, rng=seed)) for seed in range(8)]
        places = [net.positions[:, :-1] for net in networks]
        weights = [net.layers[0].heads[0].query_key[:-1, :-1] for net in networks]
        logits = torch.stack([p @ q @ p.T for p, q in zip(places, weights, strict=True)])
        size = (scores.square().sum(1)[:, None] + scores.square().sum(0)) / width  # to leading order
        strays.append(float((logits - x @ scores @ x.T).square().mean() / size.mean()))
    assert strays == pytest.approx([1, 1, 1], abs=0.25)
    draws = [handmade.random_projection(T, 8, rng=seed) for seed in range(1000)]
    mean = np.mean([float((p.T @ scores @ p).square().sum()) for p in draws])
    formula = scores.square().sum() + (scores.trace() ** 2 + (scores @ scores).trace()) / 8
    assert mean == pytest.approx(float(formula), rel=0.05)


# --- the whole --------------------------------------------------------------------------------------------------------


def plain(plan, mixer):
    """The coefficients themselves as logits."""
    return mixing(plan, mixer._replace(logits=np.exp(mixer.logits)))


def bare(plan, mixer):
    """Logits that are the logarithms of the coefficients, 0 elsewhere, and no mask."""
    head = mixing(plan, mixer)
    logits = torch.as_tensor(np.log(np.abs(plan.weights[list(mixer.members)])))
    query_key = head.query_key.detach().clone()
    query_key[plan.T, list(mixer.members)] = logits
    return networks.Head(query_key, head.value.detach())


@claim(
    "SP-B5",
    printed=(
        "flatcube.handmade.construction._mixing",
        bare,
        "Logits are log coefficients, and 0 on the other positions.",
    ),
    erratum=62,
    mutant=("flatcube.handmade.construction._mixing", plain, "Logits are the coefficients, not their logarithms."),
    note="random positive coefficients, all strings of 8 bits, three modes; with the printed logits and T = 20 the "
    "active positions hold {share:.1%} of the weight",
)
@no_grad
def test_the_second_attention_forms_the_weighted_sum():
    bits = cube.to_bits(cube.points(8))
    for mode, tolerance in (("hard", 1e-10), ("sink", 1e-10), ("soft", 0.01 + 1e-10)):
        for seed, (d, w) in enumerate([(1, 4), (3, 5), (8, 1)]):
            components = cube.random_components(8, d, w, rng=seed)
            got = handmade.build(components, 8, mode=mode)(bits).numpy()
            assert np.abs(got - cube.even_sum(components, 8)).max() < tolerance
    plan = Design([((1, 2), 0.7), ((3, 4), 0.5), ((5, 6), 0.5)], 20)
    share = handmade.assemble(plan).activations(np.zeros((1, 20), dtype=int))["layers.1.attention.0"][0, -1, :3].sum()
    assert share == pytest.approx(1)
    return {"share": (held := 0.7 + 0.5 + 0.5) / (held + 21 - 3)}


@no_grad
def test_the_printed_logits_leave_most_of_the_weight_elsewhere():
    plan = Design([((1, 2), 0.7), ((3, 4), 0.5), ((5, 6), 0.5)], 20)
    head = bare(plan, plan.mixers[0])
    attention = head.attention(handmade.assemble(plan).embed(torch.zeros(1, 20, dtype=torch.long)))
    assert float(attention[0, -1, :3].sum()) == pytest.approx(1.7 / 19.7)


def dominated(plan):
    """‖θ‖² by Thm 10, its terms written out: d³ from the MLP, then the two attentions and the output."""
    d, w, weights = plan.degree, len(plan.components), plan.weights
    return {
        "W1": w * d * plan.beta**2,
        "V1": 1,
        "E": 4 * (d + 1),
        "b": 4 * (d + 1) * (2 * d + 1) / (6 * d) + 5 * (d + 1) / (8 * d**2),
        "F": 64 * d**2 * (d // 2 + 1),
        "W2": float(np.square(np.log(weights)).sum()),
        "v2": weights.sum() ** 2,
    }


def halved(degree, grid="full"):
    kinks, slopes = design.breakpoints(degree, grid)
    return kinks, slopes / 2


@claim(
    "SP-T10",
    mutant=[
        ("flatcube.handmade.construction.breakpoints", halved, "The wave has half its height."),
        ("flatcube.handmade.design.Design.beta", property(fixed_scale), "The scale does not grow with T."),
    ],
    note="d = 1 to 12, w = 1 to 8: sums of squares of the weights against the terms; F is 32d³ to leading order",
)
def test_the_norm_is_a_sum_of_blocks_led_by_the_second_mlp_layer():
    for d, w in ((1, 8), (2, 5), (3, 8), (5, 4), (12, 1)):
        plan = Design(cube.random_components(12, d, w, rng=d), 12)
        measured = handmade.measured_norms(handmade.assemble(plan))
        assert measured["W1"] == pytest.approx(w * d * math.log(8 * 12) ** 2, rel=1e-9)
        assert measured == pytest.approx(dominated(plan), rel=1e-9)
    assert measured["F"] / 12**3 == pytest.approx(32 * (1 + 2 / 12), rel=1e-9)
    assert measured["F"] > 0.99 * sum(measured.values())


def doubled(degree, grid="full"):
    kinks, slopes = design.breakpoints(degree, grid)
    return kinks, slopes * 2


@claim(
    "SP-T11",
    mutant=[
        ("flatcube.handmade.construction.breakpoints", doubled, "The wave has twice its height."),
        ("flatcube.handmade.construction._mixing", plain, "Logits are the coefficients, not their logarithms."),
    ],
    note="all strings of 8 bits, basic and general designs: the largest row norms are the bounds, most are reached; "
    "the output row of Z reaches √2",
)
@no_grad
def test_intermediate_matrices_are_small():
    mixed = [((), -0.7), ((3,), 1.2), ((1, 2), -1.5), ((4, 5, 6, 7), 0.3), (tuple(range(1, 9)), 2.0)]
    for components in (cube.random_components(8, 3, 4, rng=0), cube.random_components(8, 8, 1, rng=0), mixed):
        plan = Design(components, 8)
        model = handmade.assemble(plan)
        seen = model.activations(cube.to_bits(cube.points(8)))
        x, z = seen["embedding"], seen["layers.0.output"]
        heads = model.layers[1].heads
        rows = {
            "X": [x], "X W1": [x @ model.layers[0].heads[0].query_key], "U": [seen["layers.0.mixed"]],
            "R": [seen["layers.0.mlp.0"].relu()], "Z": [z],
            "Z W2": [z @ head.query_key for head in heads], "Z v2": [z @ head.value for head in heads],
        }  # fmt: skip
        largest = {name: max(float(m.norm(dim=-1).max()) for m in parts) for name, parts in rows.items()}
        bounds = handmade.row_bounds(plan)
        assert all(largest[name] <= bounds[name] + 1e-10 for name in bounds)
        assert all(largest[name] == pytest.approx(bounds[name]) for name in ("X", "X W1", "Z", "Z W2", "Z v2"))
        assert float(z[:, -1].norm(dim=-1).max()) == pytest.approx(math.sqrt(2))
        singular = [torch.linalg.matrix_norm(head.query_key, 2) for head in heads]
        logarithms = [np.log(np.abs(plan.weights[plan.weights * sign > 0])) for sign in (1, -1)]
        assert max(map(float, singular)) == pytest.approx(max(float(np.linalg.norm(part)) for part in logarithms))
