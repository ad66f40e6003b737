"""The blow-up on networks of all kinds: definitions against loops, bounds against measurements, errors."""

import math

import numpy as np
import pytest
import torch

from flatcube import blowup, cube, handmade, networks, parity
from flatcube.blowup import influence
from flatcube.blowup import tracing as lemmas


def all_bits(n: int) -> torch.Tensor:
    return torch.from_numpy(cube.to_bits(cube.points(n))).long()


def drawn(seed: int = 0, noise: float = 0.1, **options) -> networks.Encoder:
    """A random encoder whose gains and biases are random, too."""
    settings = {"n": 5, "width": 6, "layers": 2, "heads": 2, "std": 0.5} | options
    model = networks.Encoder(networks.Config(**settings), seed=seed, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(noise * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    return model


KINDS = {
    "post": drawn(norm="post"),
    "mlp": drawn(norm="mlp", seed=1),
    "one layer": drawn(norm="post", layers=1, seed=2),
    "rms": drawn(norm="mlp", rms=True, seed=3),
    "cls": drawn(norm="post", cls=True, seed=4),
    "added, no bias": drawn(norm="mlp", embedding="added", bias=False, seed=5),
    "blocks": drawn(norm="post", bias=False, seed=6).circuit(),
    "parity": parity.layer_norm_network(),
    "majority": parity.layer_norm_network(target="majority"),
    "eps": parity.layer_norm_network(eps=1e-3),
    "one head": blowup.one_layer("or", 5),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["corrected", "sharp"])
def test_all_lemmas_hold(kind, form):
    found = blowup.lemmas(KINDS[kind], all_bits(5)[::3], form=form)
    assert {"9", "11", "16", "16 sharp", "17"} <= set(found)
    assert all(ratio <= 1e-9 for ratio in found.values()), found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["corrected", "sharp"])
def test_theorem_4_and_corollary_5_hold(kind, form):
    found = blowup.local(KINDS[kind], all_bits(5), form=form)
    assert bool((found.margin >= 0).all())
    left, right = found.average
    assert float(left) >= float(right)


def test_the_sharp_form_is_sharper_than_the_corrected_one():
    for kind, model in KINDS.items():
        corrected, sharp = (blowup.local(model, all_bits(5), form=form) for form in ("corrected", "sharp"))
        assert bool((sharp.log_right < corrected.log_right).all()), kind
        assert torch.equal(sharp.sensitivity, corrected.sensitivity)


def test_sensitivity_inside_is_that_of_the_table():
    model = KINDS["post"]
    table = model(all_bits(5)).detach().numpy()
    by_hand = [sum((table[k] - table[k ^ 1 << i]) ** 2 for i in range(5)) / 4 for k in range(32)]
    np.testing.assert_allclose(blowup.local(model, all_bits(5)).sensitivity, by_hand, rtol=1e-9)


def test_an_ensemble_is_measured_like_its_members():
    ensemble = networks.Ensemble(networks.Config(n=5, width=4, layers=2, heads=1), seeds=[3, 4], dtype=torch.float64)
    bits = all_bits(5)
    together, found = blowup.measure(ensemble, bits), blowup.local(ensemble, bits)
    assert together.value.shape == (2, 32) and found.margin.shape == (2, 32) and found.average[0].shape == (2,)
    for k, one in enumerate(ensemble.members()):
        assert torch.allclose(together.log[k], blowup.measure(one, bits).log)
        assert math.isclose(float(blowup.log_constant(ensemble)[k]), blowup.log_constant(one))
        assert torch.allclose(found.margin[k], blowup.local(one, bits).margin)


def test_hand_built_and_trained_networks_are_read_alike():
    model = drawn(norm="post", bias=False, seed=6)
    for form in ("printed", "corrected", "sharp"):
        assert math.isclose(blowup.log_constant(model, form=form), blowup.log_constant(model.circuit(), form=form))
    bits = all_bits(5)
    assert torch.allclose(blowup.measure(model, bits).log, blowup.measure(model.circuit(), bits).log)
    assert torch.allclose(blowup.influence_sums(model, bits), blowup.influence_sums(model.circuit(), bits))


def test_a_norm_without_variance_has_an_infinite_factor():
    silent = blowup.one_layer("majority", 5)
    with torch.no_grad():
        silent.layers[0].heads[0].value.zero_()
    assert bool(blowup.measure(silent, all_bits(5)).value.isinf().all())


def test_long_batches_are_cut_and_change_nothing(monkeypatch):
    model, bits = KINDS["post"], all_bits(5)
    whole = blowup.local(model, bits)
    monkeypatch.setattr("flatcube.blowup.measures._NUMBERS", 100)
    assert torch.allclose(blowup.local(model, bits).margin, whole.margin)


@pytest.mark.parametrize("target", ["majority", "or", "first"])
def test_one_layer_is_exact(target):
    table = {"majority": cube.majority(7), "or": cube.disjunction(7), "first": cube.first(7)}[target]
    model = blowup.one_layer(target, 7)
    np.testing.assert_allclose(model(all_bits(7)).detach(), table, rtol=1e-12)
    again = networks.from_state(model.state_dict())
    assert torch.equal(again(all_bits(7)), model(all_bits(7)))


def test_row_influence_agrees_with_the_network():
    rng = np.random.default_rng(0)
    for target in ("or", "majority", "first"):
        model, bits = blowup.one_layer(target, 9), rng.integers(0, 2, (20, 9))
        loud = 2 * math.log(9)
        one = np.full(9, loud) if target == "or" else np.zeros(9)
        zero = np.zeros(9)
        if target == "first":
            one, zero = (np.where(np.arange(9) == 0, loud, 0.0) for _ in range(2))
        rows = blowup.influence_sums(model, bits)[0, :, -1]
        np.testing.assert_allclose(blowup.row_influence(zero, one, bits), rows, atol=1e-12)


def test_row_influence_survives_large_logits():
    found = blowup.row_influence(np.full(4, -2000.0), np.full(4, 2000.0), np.array([[0, 0, 0, 0], [1, 1, 0, 0]]))
    assert np.isfinite(found).all() and found[0] == pytest.approx(4 * 2 * 0.75)


def test_what_the_sharp_bound_on_a_norm_leaves_out():
    """Without ε and between centred vectors, the squares differ by d (N − N′)²/(N N′)."""
    pairs = torch.randn(200, 2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    pairs = pairs - pairs.mean(-1, keepdim=True)
    norm = networks.Norm(0.0)
    here, there = norm.factor(pairs)[..., 0].unbind(-1)
    after, before = ((some[:, 0] - some[:, 1]).norm(dim=-1) for some in (norm(pairs), pairs))
    bound = lemmas.sharp_norm_bound(before, here, there).exp()
    assert torch.allclose(after**2, bound**2 - 5 * (here - there) ** 2 / (here * there))


@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_bounds_every_step_and_ends_at_the_output(kind):
    model, bits = KINDS[kind].circuit(), all_bits(5)[11]
    steps = blowup.trace(model, bits)
    seen = model.activations(torch.cat([bits[None], lemmas.flips(bits[None])[0]]))
    assert len(steps) == len(influence.stages(model))
    last = seen[f"layers.{len(model.layers) - 1}.output"].detach()
    assert torch.allclose(steps[-1].after, (last[1:] - last[0]).norm(dim=-1))
    for step in steps:
        assert all(part.shape == steps[0].after.shape for part in step)
        assert bool((step.after <= step.stretch * step.before * (1 + 1e-9) + 1e-12).all())


def test_both_routes_of_a_trace_by_a_loop():
    model, bits = KINDS["blocks"], all_bits(5)[6]
    seen = {name: value.detach().numpy() for name, value in model.activations(
        torch.cat([bits[None], lemmas.flips(bits[None])[0]])).items()}  # fmt: skip
    step = blowup.trace(model, bits)[0]
    for q in range(5):
        values = weights = 0.0
        for h, head in enumerate(model.layers[0].heads):
            v = seen["embedding"] @ head.value_output.detach().numpy()
            a = seen[f"layers.0.attention.{h}"][:, 2]
            values += sum(a[0, w] * np.linalg.norm(v[q + 1, w] - v[0, w]) for w in range(5))
            weights += max(np.linalg.norm(v[q + 1, w]) for w in range(5)) * np.abs(a[q + 1] - a[0]).sum()
        assert (float(step.values[q, 2]), float(step.weights[q, 2])) == pytest.approx((values, weights))


def test_softmax_moves_by_no_more_than_tanh_and_two_groups_reach_it():
    rng = np.random.default_rng(3)
    before, change = rng.normal(0, 2, (500, 6)), rng.normal(0, 2, (500, 6))
    rows = [torch.from_numpy(logits).softmax(-1).numpy() for logits in (before, before + change)]
    moved, bound = np.abs(rows[0] - rows[1]).sum(-1), blowup.softmax_bound(before, before + change)
    assert (moved <= bound + 1e-12).all() and (bound <= np.abs(change).max(-1)).all()
    for width in (0.1, 1.0, 5.0):
        here, there = np.array([width / 4, -width / 4]), np.array([-width / 4, width / 4])
        odds = np.exp(here) / np.exp(here).sum(), np.exp(there) / np.exp(there).sum()
        assert np.abs(odds[0] - odds[1]).sum() == pytest.approx(float(blowup.softmax_bound(here, there)))


def test_any_network_with_norms_is_measured():
    torch.manual_seed(0)
    part = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(part, 2, enable_nested_tensor=False).eval()
    found = blowup.measure(model, torch.randn(3, 7, 8))
    assert len(found.factors) == 4 and found.value.shape == (3,) and bool((found.value > 1).all())
    rms = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.RMSNorm(4))
    assert blowup.measure(rms, torch.randn(3, 5, 4)).value.shape == (3,)


def test_networks_without_norm_have_a_constant_too():
    model = handmade.build([((1, 2), 1.0)], 5, mode="soft")
    assert math.isfinite(blowup.log_constant(model)) and blowup.log_constant(model, form="sharp") > 0
    found = blowup.lemmas(model, all_bits(5)[::4])
    assert "16" not in found and max(found.values()) <= 1e-9


def test_the_constant_is_the_product_of_its_factors():
    model = KINDS["mlp"]
    parts = blowup.log_factors(model)
    assert list(parts) == ["start", "stage 1", "stage 2", "read-out"]
    assert math.isclose(sum(parts.values()), blowup.log_constant(model))
    assert list(blowup.log_factors(KINDS["post"])) == ["start", *(f"stage {k}" for k in (1, 2, 3, 4)), "read-out"]


def written_out(model: networks.Encoder, form: str) -> list[float]:
    """The logarithms of C⁽⁰⁾, C⁽¹⁾, C⁽²⁾ and the last factor, for two layers and two heads with norms after the MLP."""
    p = {name: value.detach().numpy() for name, value in model.named_parameters()}
    size, length, relu = (lambda a: np.linalg.norm(a, 2)), np.linalg.norm, (lambda a: np.maximum(a, 0))
    d, H, part = model.config.width, 2, (slice(0, 3), slice(3, 6))
    layers = [{name[9:]: value for name, value in p.items() if name.startswith(f"layers.{k}.")} for k in (0, 1)]
    V = [[size(w["value.weight"][:, h] @ w["output.weight"][h]) for h in part] for w in layers]
    W = [size(layers[1]["query.weight"][:, h] @ layers[1]["key.weight"][:, h].T) / math.sqrt(3) for h in part]
    lean = [length(layers[1]["key.weight"][:, h] @ layers[1]["query.bias"][h]) / math.sqrt(3) for h in part]
    offset = [length(w["value.bias"] @ w["output.weight"] + w["output.bias"]) for w in layers]
    slope = [1 + size(w["mlp.0.weight"]) * size(w["mlp.1.weight"]) for w in layers]
    start = [length(relu(w["mlp.0.bias"]) @ w["mlp.1.weight"] + w["mlp.1.bias"]) for w in layers]
    gain = [np.abs(w["norm.gain"]).max() for w in layers]
    reach = max(length(np.r_[token, place]) for token in p["tokens"] for place in p["positions"])
    R = [reach, *(g * math.sqrt(d) + length(w["norm.bias"]) for g, w in zip(gain, layers, strict=True))]
    logits, v = [R[1] ** 2 * w + R[1] * b for w, b in zip(W, lean, strict=True)], length(p["readout.weight"])
    if form == "sharp":
        first = slope[0] * ((1 + sum(V[0])) * R[0] + offset[0]) + start[0]
        grows = 1 + sum(v * a + 2 * v * (1 + 2 * a) * math.exp(2 * a) for v, a in zip(V[1], logits, strict=True))
        sums = slope[0] * R[0] * (2 + 148 * sum(V[0]))
        return list(np.log([math.sqrt(2 * first * sums), gain[0], slope[1] * grows * gain[1], R[2] * v**2]))
    printed, C_V, C_P, L = form == "printed", max(1, *V[0], *V[1]), max(1, R[0]), max(slope)
    ball = [3 * C_V * (min(C_P, math.sqrt(d)) if printed else max(C_P, math.sqrt(d), R[k])) for k in (0, 1)]
    C_M = max(slope[k] * (ball[k] + offset[k]) + start[k] for k in (0, 1))
    second = 48 * 3 * C_V * R[1] * (1 if printed else C_M * C_V * C_P) * L * max(1, gain[1])
    last = 25 * R[2] * H * (1 + v) ** (1 if printed else 2)
    found = np.log([150 * L * C_V**2 * C_P * H, 2 * C_M * 3 * C_V * C_P * L * max(1, gain[0]), second, last])
    return list(found + [0, 0, 4 * max(logits), 0])


@pytest.mark.parametrize("form", ["printed", "corrected", "sharp"])
def test_the_constant_is_that_of_the_formulas(form):
    model = drawn(norm="mlp", seed=7, std=0.2)  # small enough for every term to count
    np.testing.assert_allclose(list(blowup.log_factors(model, form=form).values()), written_out(model, form))


def test_both_sides_of_the_theorem_are_those_of_the_formulas():
    own, f = torch.tensor([0.0, 2.0]), torch.tensor([3.0, -2.0])
    root = math.sqrt(100 * math.log(100))
    for form, both in (("corrected", 1.0), ("sharp", 0.5)):
        found = blowup.Local(100, 2, form, 1.0, f, torch.tensor([400.0, 100.0]), own, own + 1)
        right = both * math.e * root * (own.exp() + (own + 1).exp())
        assert torch.allclose(found.log_right, right.log()) and torch.allclose(found.margin[1], (right[1] / 100).log())
        left, demand = found.average
        assert math.isclose(float(left), 1 + math.log((1 + math.e**2) / 2), rel_tol=1e-6)
        assert math.isclose(float(demand.exp()), 250 / root - 9 * 2 / 100, rel_tol=1e-6)
    bounds = torch.tensor([math.log(899), math.log(901)]) - math.log(2 * root)  # n max f² is 900
    silent = blowup.Local(100, 2, "corrected", 0.0, f, f.abs(), bounds, bounds)
    assert silent.empty.tolist() == [False, True]
    assert blowup.local(KINDS["mlp"], all_bits(5)[:1]).heads == 2


def test_bites_from_solves_its_equation():
    for log_constant, log_blowup in ((0.0, 0.0), (5.0, 1.0), (300.0, 0.0)):
        n = blowup.bites_from(log_constant, log_blowup) * math.log(10)
        assert (n - math.log(n)) / 2 == pytest.approx(max(0.5, math.log(2) + log_constant + 2 * log_blowup), abs=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: blowup.measure("network", [[0, 1]]), TypeError, "model: expected nn.Module, got str"),
        (lambda: blowup.measure(torch.nn.Linear(2, 2), [[0, 1]]), ValueError, "x: expected inputs that this network"),
        (lambda: blowup.measure(torch.nn.Linear(2, 2), [[0.0, 1.0]]), ValueError, "one without nn.LayerNorm and"),
        (lambda: blowup.measure(KINDS["post"], [0, 1]), ValueError, r"x: expected shape \(batch, n\), got \(2,\)"),
        (lambda: blowup.measure(KINDS["post"], None), TypeError, "x: expected a tensor of real numbers, got None"),
        (lambda: blowup.measure(KINDS["post"], np.zeros((0, 5))), ValueError, "x: expected bits .* at least one"),
        (lambda: blowup.flips([[1, -1]]), ValueError, "bits: expected 0 and 1, got -1; signs are turned into bits"),
        (lambda: blowup.trace(KINDS["post"], [[0, 1]]), ValueError, r"x: expected shape \(batch, n\)"),
        (lambda: blowup.trace(None, [0, 1]), TypeError, "model: expected networks.Network, got None"),
        (lambda: blowup.softmax_bound(np.zeros(2), np.zeros(3)), ValueError, "before: expected shape"),
        (lambda: blowup.flips(None), TypeError, "bits: expected a tensor of real numbers, got None"),
        (lambda: blowup.lemmas(blowup.one_layer("or", 5), [[1]]), ValueError, "n, the length of x: expected .* got 1"),
        (lambda: blowup.local(KINDS["post"], all_bits(5), form="exact"), ValueError, "form: expected 'corrected' or"),
        (lambda: blowup.log_constant(KINDS["post"], n=7), ValueError, "n: expected 5, the number of bits .* got 7"),
        (lambda: blowup.log_constant(parity.layer_norm_network(), n=10**18), ValueError, "n: expected an integer from"),
        (lambda: influence.stages(None), TypeError, "model: expected networks.Network, got None"),
        (lambda: influence.reach(None), TypeError, "model: expected networks.Network, got None"),
        (lambda: lemmas.attention_bound(math.nan, torch.ones(1)), ValueError, "score: expected .* got nan"),
        (lambda: lemmas.norm_bound(1, *-torch.ones(3)), ValueError, "before: expected .* got -1.0"),
        (lambda: lemmas.sharp_norm_bound(1.0, math.nan, 1.0), ValueError, "here: expected numbers ≥ 0, got nan"),
        (lambda: blowup.row_influence([0], [1, 1], [[1, 0]]), ValueError, r"zero: expected shape \(n,\) with n = 2"),
        (lambda: blowup.row_influence([0, math.nan], [1, 1], [[1, 0]]), ValueError, "zero: expected finite numbers"),
        (lambda: blowup.one_layer("or", 10**18), ValueError, "n: expected an integer from 2 to 1000000, got 10{18}"),
        (lambda: blowup.bites_from(None), TypeError, "log_constant: expected a number, got NoneType"),
        (lambda: blowup.influence_bound(5, delta=math.nan), ValueError, "delta: expected a number above 0, got nan"),
        (lambda: blowup.measure(KINDS["post"], [[1, -1, 1, 1, 1]]), ValueError, "expected 0 and 1, got -1; signs are"),
        (lambda: blowup.measure(drawn(norm="none"), all_bits(5)), ValueError, "expected a network with layer norm"),
        (lambda: blowup.log_constant(parity.layer_norm_network()), ValueError, "n: expected the number of bits"),
        (lambda: blowup.log_constant(drawn(norm="pre")), ValueError, "norm to be post, mlp or none, got pre"),
        (lambda: blowup.log_constant(drawn(attention="relu")), ValueError, "attention to be softmax, got relu"),
        (lambda: blowup.log_constant(drawn(causal=True)), ValueError, "no mask after the first layer, got one"),
        (lambda: blowup.log_constant(KINDS["post"], form="exact"), ValueError, "form: expected 'corrected' or"),
        (lambda: blowup.log_constant(torch.nn.Linear(2, 2)), TypeError, "expected networks.Network, got nn.Linear"),
        (lambda: blowup.lemmas(networks.Ensemble(networks.Config(n=5)), all_bits(5)), TypeError, "got an Ensemble"),
        (lambda: blowup.one_layer("parity", 5), ValueError, "target: expected 'majority' or 'or' or 'first'"),
        (lambda: blowup.one_layer("majority", 4), ValueError, "n: expected an odd number for majority"),
        (lambda: blowup.bites_from(math.nan), ValueError, "log_constant: expected a number .* got nan"),
        (lambda: blowup.row_influence(np.zeros(2), np.ones(2), [[1, -1]]), ValueError, "expected 0 and 1, got −1"),
        (lambda: drawn(seed=-1), ValueError, "seed: expected an integer ≥ 0, got -1"),
        (lambda: blowup.influence_bound(5, delta=0), ValueError, "delta: expected a number above 0, got 0"),
        (lambda: blowup.local(blowup.one_layer("or", 2), [[0, 1]]), ValueError, "expected an integer ≥ 3, got 2"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_in_one_sentence(call, error, complaint):
    with pytest.raises(error, match=complaint) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_a_mask_after_the_first_layer_is_refused():
    model = drawn(norm="post", bias=False, seed=6).circuit()
    model.layers[1].heads[0].mask = torch.zeros(5, 5)
    with pytest.raises(ValueError, match="expected no mask after the first layer, got one in layer 2"):
        influence.stages(model)


def test_causal_attention_is_allowed_in_a_single_layer():
    model = drawn(causal=True, layers=1)
    assert max(lemmas.lemmas(model, all_bits(5)[::5]).values()) <= 1e-9
