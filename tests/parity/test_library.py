"""PARITY, four ways: every network on every short input and on long ones, from its tensors alone; where it ends."""

import math

import numpy as np
import pytest
import torch

from flatcube import cube, networks, parity
from flatcube.parity import amplifier

SHORT = range(1, 13)


def every(n: int) -> torch.Tensor:
    return (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1


def sign(bits: torch.Tensor) -> torch.Tensor:
    return 1 - 2.0 * (bits.sum(-1) % 2).double()


def each_count(n: int, *, seed: int = 0) -> torch.Tensor:
    """n + 1 strings of length n with 0, …, n ones at random places."""
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.permuted(np.tri(n + 1, n, -1, dtype=int), axis=1))


NETWORKS = {
    "majority": parity.majority_network,
    "memorising": lambda n: parity.memorising_network(n),
    "layer norm": lambda n: parity.layer_norm_network(),
    "rescaled": lambda n: parity.rescaled_network(n, n**2),
}


# --- exactness --------------------------------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("n", SHORT)
def test_all_four_are_exact_on_every_string(n: int):
    bits = every(n)
    wanted = sign(bits)
    assert np.array_equal(parity.is_odd(bits.numpy()), wanted.numpy() < 0)
    assert np.array_equal(parity.majority_gates(bits.numpy())["output"], wanted.numpy() < 0)
    assert (parity.majority_network(n)(bits) - wanted).abs().max() < 1e-10
    assert (2 * parity.memorising_network(n)(bits) - 1 - wanted).abs().max() < 1e-10
    assert (parity.layer_norm_network()(bits) - wanted).abs().max() < 1e-10
    for code in ("one-hot", "binary"):
        written = parity.run(parity.scratchpad_network(n, code=code), bits)
        assert torch.equal(written[:, 1:], bits.cumsum(1) % 2) and not written[:, 0].any()


@torch.no_grad()
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_its_state_dict(name: str):
    model = NETWORKS[name](9)
    again = networks.from_state(model.state_dict(), positions=model.rule)
    assert type(model) is type(again) is networks.Circuit
    assert torch.equal(again(every(9)), model(every(9)))


@torch.no_grad()
@pytest.mark.parametrize("code", ["one-hot", "binary"])
def test_a_scratchpad_is_its_state_dict(code: str):
    model = parity.scratchpad_network(7, code=code)
    again = networks.from_state(model.state_dict(), positions=model.rule)
    for length in (8, 11, 14):
        bits = every(length)[:: 2**length // 100]
        assert torch.equal(again(bits), model(bits))


@torch.no_grad()
@pytest.mark.parametrize("n", [100, 201])
def test_nested_majorities_and_the_wave_are_exact_on_long_strings(n: int):
    bits = each_count(n)
    assert np.array_equal(parity.is_odd(bits.numpy()), sign(bits).numpy() < 0)
    assert (parity.majority_network(n)(bits) - sign(bits)).abs().max() < 1e-10
    assert (2 * parity.memorising_network(n)(bits[::9]) - 1 - sign(bits[::9])).abs().max() < 1e-8


# --- layer norm -------------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_the_layer_norm_network_is_right_on_a_thousand_random_strings_of_length_2000():
    model = parity.layer_norm_network()
    bits = torch.randint(2, (1000, 2000), generator=torch.Generator().manual_seed(0))
    outputs = torch.cat([model(part) for part in bits.split(100)])
    assert (outputs - sign(bits)).abs().max() < 1e-10


@torch.no_grad()
@pytest.mark.parametrize("n", [0, 13, 64, 99, 500, 1999])
def test_the_same_weights_serve_every_length_and_count(n: int):
    model = parity.layer_norm_network()
    for part in each_count(n)[:: 1 + n // 500].split(200):
        assert (model(part) - sign(part)).abs().max() < 1e-10


def test_the_weights_of_attention_give_the_same_as_the_average():
    bits = each_count(200)
    model = parity.layer_norm_network()  # with gradients the head computes its weights
    assert torch.allclose(model(bits), sign(bits), atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("target", amplifier.TARGETS)
def test_the_whole_cast_shares_one_architecture(target: str):
    model, model_parity = parity.layer_norm_network(target=target), parity.layer_norm_network()
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    assert shapes == {name: value.shape for name, value in model_parity.state_dict().items()}
    for n in SHORT:
        table = torch.tensor(getattr(cube, target)(n)).double()
        wanted = table / (1 + table**2 / 36).sqrt() if target == "mean" else table
        assert (model(every(n)) - wanted).abs().max() < 1e-10


@torch.no_grad()
def test_the_cast_is_right_on_long_strings():
    bits = torch.randint(2, (50, 2000), generator=torch.Generator().manual_seed(1))
    signs = 1 - 2.0 * bits
    wanted = {"majority": torch.where(signs.sum(1) < 0, -1.0, 1.0), "first": signs[:, 0], "mean": signs.mean(1)}
    for target, values in wanted.items():
        outputs = parity.layer_norm_network(target=target)(bits)
        assert (outputs - values).abs().max() < (1e-5 if target == "mean" else 1e-10)


def shrunken(bits: torch.Tensor, eps: float) -> torch.Tensor:
    """What is left of ±1 at ε > 0, from the formulas: a = φ/N² with the stretch φ of the first norm where i = k."""
    N, k = bits.shape[1] + 1, bits.sum(1)
    share = k.double() / N
    at_k = torch.cat([torch.zeros_like(bits[:, :1]), bits], dim=1).gather(1, k[:, None])[:, 0].double()
    even = sign(bits)
    values = [at_k, share, even, torch.full_like(even, 1 / N), share, even / N, math.log(N) * (k == 1).double()]
    channels = torch.stack(values)
    variance = (channels.square().sum(0) + channels.sum(0).square()) / 9
    answer = (variance + eps).rsqrt() / N**2
    return even / (1 + eps * 81 / 8 / answer**2).sqrt()


@torch.no_grad()
@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-5, 1.0])
def test_eps_above_zero_shrinks_the_answer_as_the_formula_says(eps: float):
    for n in (1, 7, 12, 300):
        bits = every(n) if n < 20 else each_count(n)
        assert (parity.layer_norm_network(eps)(bits) - shrunken(bits, eps)).abs().max() < 1e-10
    assert parity.layer_norm_network(1e-5)(each_count(100)).abs().max() < 0.1


@torch.no_grad()
def test_single_precision_is_right_up_to_its_longest_string_and_refuses_longer_ones():
    model = parity.layer_norm_network(dtype=torch.float32)
    n = parity.longest(torch.float32)
    for length in (n, 100):
        bits = each_count(length)[:: 1 + length // 500]
        outputs = torch.cat([model(part) for part in bits.split(200)])
        assert outputs.dtype == torch.float32 and torch.allclose(outputs.double(), sign(bits), atol=1e-5)
    with pytest.raises(ValueError, match=f"at most {n} bits, beyond which float32 is not guaranteed, got {n + 1}"):
        model(torch.zeros(1, n + 1, dtype=torch.long))
    assert parity.longest() > 10**7
    unlimited = parity.layer_norm_network(dtype=torch.float32)
    unlimited.rule = amplifier._Places().__call__  # the codes alone, which refuse no length
    bits = torch.randint(2, (20, 3 * n), generator=torch.Generator().manual_seed(1))
    assert torch.equal(unlimited(bits).sign().double(), sign(bits))
    far = parity.layer_norm_network()
    bits = (torch.arange(10**6) < torch.tensor([[500_000], [333_333]])).long()
    assert (far(bits) - sign(bits)).abs().max() < 1e-10


@torch.no_grad()
def test_the_rescaled_network_has_a_faint_answer_of_the_right_sign_and_loses_a_share_of_order_one_over_n():
    answer = parity.CHANNELS.index("answer")
    for n in (20, 50, 200):
        bits = torch.randint(2, (40, n), generator=torch.Generator().manual_seed(n))
        bits[-1], single = 1, torch.eye(n, dtype=torch.long)[:5]
        model = parity.rescaled_network(n, n**2)
        faint, fainter = (
            model.activations(part)["layers.1.sum"][..., answer] * sign(part)[:, None] * (n + 1)
            for part in (bits, single)
        )
        assert faint.min() > 0.45 and faint.max() < 0.9
        assert 1 < fainter.mean() * math.log(n + 1) < 3
        loss = n * (1 - model(bits) * sign(bits))
        assert 0.01 < loss.mean() < 0.15


@torch.no_grad()
def test_the_rescaled_network_restores_all_sides_and_that_costs_the_same_at_every_length():
    side, balance = parity.CHANNELS.index("side"), parity.CHANNELS.index("balance")
    costs = set()
    for n in (1, 2, 3, 4, 7, 50, 500):
        in_front = (torch.arange(n) < torch.arange(n + 1)[:, None]).long()
        model = parity.rescaled_network(n, n**2)
        x = model.embed(torch.cat([in_front, in_front.flip(1)]))
        shrunk = model.layers[0](x)
        assert shrunk[..., side].abs().max() < 1 and shrunk[..., side].abs().min() > 1 / 8
        left = model.layers[1].activations(shrunk)["sum"]
        assert (left[..., side] - x[..., side]).abs().max() < 1e-12
        assert (left[..., balance] + x[..., side]).abs().max() < 1e-12
        costs.add(sum(part.square().sum().item() for part in model.layers[1].mlp.parameters()))
    assert len(costs) == 1


@torch.no_grad()
def test_the_first_norm_stretches_the_hit_by_a_factor_between_a_half_and_three():
    model, hit = parity.layer_norm_network(), parity.CHANNELS.index("hit")
    for n in (1, 2, 3, 4, 7, 12, 100):
        in_front = (torch.arange(n) < torch.arange(n + 1)[:, None]).long()
        bits = torch.cat([each_count(n), in_front, in_front.flip(1)])
        seen = model.activations(bits)
        stretched = seen["layers.0.output"][..., hit].abs().amax(-1) * (n + 1)
        chosen = bits.sum(1) != 1
        assert stretched[chosen].min() > 0.5 and stretched[chosen].max() <= 3 + 1e-12


def spoilt(path: str, row: int, column: str | int, change: float) -> networks.Circuit:
    """The network with one weight multiplied by 1 + change."""
    model = parity.layer_norm_network()
    column = parity.CHANNELS.index(column) if isinstance(column, str) else column
    with torch.no_grad():
        model.get_parameter(path)[row, column] *= 1 + change
    return model


MIDDLE = ("layers.0.mlp.weights.1", 1, "hit")
COUNTING = ("layers.0.heads.0.value", parity.CHANNELS.index("bit"), "count")
SIDING = ("layers.0.mlp.weights.0", parity.CHANNELS.index("side"), 0)
CLEARING = ("layers.1.mlp.weights.1", 4, "side")


@torch.no_grad()
@pytest.mark.parametrize(
    ("weight", "even", "odd"),
    [(MIDDLE, 3.2e-6, 5.8e-6), (COUNTING, 1.3e-6, 2.3e-6), (SIDING, 9.2e-7, 1.7e-6), (CLEARING, 1.1e-6, 2.0e-6)],
)
def test_the_critical_change_of_one_weight_at_2000_bits(weight: tuple, even: float, odd: float):
    for k, change in ((1000, even), (1001, odd)):
        bits = (torch.arange(2000) < k)[None].long()
        for share, wrong in ((0.95, 0), (1.05, 1)):
            outputs = [float(spoilt(*weight, way * share * change)(bits)) * (-1) ** k for way in (1, -1)]
            assert sum(output < 0 for output in outputs) == wrong


@torch.no_grad()
def test_what_a_wrong_weight_adds_to_the_answer_comes_by_two_ways():
    hit, answer, balance, n, k, delta = *map(parity.CHANNELS.index, ("hit", "answer", "balance")), 500, 250, 1e-3
    bits = (torch.arange(n) < k)[None].long()
    sound = parity.layer_norm_network().activations(bits)
    factor = sound["layers.0.factor"][0, :, 0]
    i = (torch.arange(n + 1) + 1) % (n + 1)
    awake = (i % 2 == 0) & (i < k)
    ramp = torch.where(awake, -2 * delta * (k - i) / (n + 1), 0.0)  # in hit at even places, where unit 2 is awake
    level = torch.where((i % 2 == 0) & (i <= k), delta, 0.0)
    expected = {
        MIDDLE: (-ramp[-1] / 9 * factor[-1], (8 / 9 * ramp * factor).mean()),
        COUNTING: (-delta * k / (n + 1) / 9 * factor[-1], None),
        SIDING: (torch.tensor(0.0), (level * factor).mean()),
    }
    for weight, (own, hits) in expected.items():
        seen = spoilt(*weight, delta).activations(bits)
        more = (seen["layers.0.output"] - sound["layers.0.output"])[0]
        left = (seen["layers.1.sum"] - sound["layers.1.sum"])[0, -1]
        assert float(more[-1, answer]) == pytest.approx(float(own), rel=2e-3, abs=1e-15)
        assert hits is None or float(more[:, hit].mean()) == pytest.approx(float(hits), rel=0.03)
        assert float(left[answer]) == pytest.approx(float(more[-1, answer] + more[:, hit].mean()))
        assert left.abs().topk(2).values[1] < 1e-15  # nothing else is left
    mended = spoilt(*COUNTING, delta)
    mended.layers[0].heads[0].value[parity.CHANNELS.index("bit"), balance] *= 1 + delta
    assert float(mended(bits)) == pytest.approx(1)  # with its twin the same change is forgiven


# --- scratchpad -------------------------------------------------------------------------------------------------------


def test_the_scratchpad_is_right_at_length_512():
    bits = torch.randint(2, (1, 512), generator=torch.Generator().manual_seed(2))
    assert torch.equal(parity.run(parity.scratchpad_network(512, code="binary"), bits)[:, 1:], bits.cumsum(1) % 2)


@torch.no_grad()
@pytest.mark.parametrize("T", [64, 512])
def test_single_steps_with_one_hot_positions_are_right_on_long_strings(T: int):
    bits = torch.randint(2, (2, T), generator=torch.Generator().manual_seed(3))
    states = torch.cat([torch.zeros(2, 1, dtype=torch.long), bits.cumsum(1) % 2], dim=1)
    model = parity.scratchpad_network(T)
    for t in (1, 2, T // 2, T - 1, T):
        outputs = model(torch.cat([bits, states[:, :t]], dim=1))
        assert (outputs - states[:, t]).abs().max() < 0.02


def first_layer_errors(T: int, code: str, beta: float) -> float:
    """How far the MLP is from the true bit where it is read, over all strings and steps."""
    model = parity.scratchpad_network(T, code=code, beta=beta)
    bits = every(T)
    states = torch.cat([torch.zeros(2**T, 1, dtype=torch.long), bits.cumsum(1) % 2], dim=1)
    worst = 0.0
    for t in range(1, T + 1):
        seen = model.activations(torch.cat([bits, states[:, :t]], dim=1))
        read = seen["layers.0.sum"][:, [t - 1, T + t - 1], -1]
        worst = max(worst, float((read - states[:, t : t + 1]).abs().max()))
    return worst


@torch.no_grad()
@pytest.mark.parametrize(("T", "code"), [(2, "one-hot"), (5, "one-hot"), (8, "one-hot"), (4, "binary"), (8, "binary")])
def test_both_thresholds_are_exact(T: int, code: str):
    beta, gamma = parity.thresholds(T, code)
    assert first_layer_errors(T, code, beta + 1e-9) < 1e-8
    assert first_layer_errors(T, code, beta - 1e-3) > 1e-5
    bits = every(T)
    for shift, right in ((1e-6, True), (-1e-6, False)):
        model = parity.scratchpad_network(T, code=code, beta=beta + 0.1, gamma=gamma + shift)
        assert torch.equal(parity.run(model, bits)[:, 1:], bits.cumsum(1) % 2) == right


def test_the_norm_of_the_scratchpad_is_that_of_its_position_code():
    for T in (8, 64):
        beta, gamma = math.log(3 * (T - 1)), math.log(T)
        norms = networks.squared_norms(parity.scratchpad_network(T, beta=beta, gamma=gamma), exclude=("positions",))
        rest = 256 + 4 + 37 / 32 + 3  # the MLP's weights and kinks; the value, read-out and token entries
        assert sum(norms.values()) == pytest.approx(T * beta**2 + T * gamma**2 + rest)
        small = parity.scratchpad_network(T, code="binary", beta=beta, gamma=gamma)
        digits = math.log2(T)
        assert sum(networks.squared_norms(small).values()) == pytest.approx(digits * (beta**2 + gamma**2) / 4 + rest)


def test_writing_the_even_indicator_would_iterate_the_wrong_function():
    for T in (7, 8):
        model, bits = parity.scratchpad_network(T), every(T)
        odd = model.layers[0].mlp
        *_, bit = torch.eye(T + 1, dtype=torch.float64)
        even = networks.Mlp([odd.weights[0].detach(), -odd.weights[1].detach()], [odd.biases[0].detach(), bit])
        model.layers[0].mlp = even  # even_S of the pair, fed back
        written, truth = parity.run(model, bits)[:, -1], bits.sum(1) % 2
        assert torch.equal(written, (truth + T) % 2)  # wrong on every string of odd length


# --- wrong input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: parity.majority_network(0), "n: expected an integer ≥ 1, got 0"),
        (lambda: parity.layer_norm_network(-1.0), "eps: expected a number ≥ 0, got -1.0"),
        (lambda: parity.layer_norm_network(target="and"), "target: expected 'parity' or .* got 'and'"),
        (lambda: parity.layer_norm_network()(torch.tensor([[1, -1]])), "symbols: expected 0 and 1, got -1; signs are"),
        (lambda: parity.is_odd(np.array([1, -1])), "bits: expected 0 and 1"),
        (lambda: parity.scratchpad_network(0), "T: expected an integer from 1 to .*, got 0"),
        (lambda: parity.scratchpad_network(2.5), "T: expected an integer, got float"),
        (lambda: parity.scratchpad_network(4, code="gray"), "code: expected 'one-hot' or 'binary', got 'gray'"),
        (lambda: parity.scratchpad_network(4)(torch.zeros(1, 4, dtype=torch.long)), "expected 5 to 8 bits, got 4"),
        (lambda: parity.scratchpad_network(4, beta=math.nan), "beta: expected a number .*, got nan"),
        (lambda: parity.run(parity.scratchpad_network(4), torch.zeros(1, 5)), r"bits: expected shape \(batch, 4\)"),
        (lambda: parity.run(parity.scratchpad_network(4), torch.full((1, 4), 0.5)), "bits: expected 0 and 1, got 0.5"),
        (lambda: parity.run(parity.scratchpad_network(4), torch.zeros(4)), r"expected shape \(batch, 4\), got \(4,\)"),
        (lambda: parity.majority_gates(np.zeros((1, 0), dtype=int)), "n: expected an integer ≥ 1, got 0"),
        (lambda: parity.layer_norm_network(dtype=torch.int64), "dtype: expected a floating-point type"),
        (lambda: parity.rescaled_network(0, 1.0), "n: expected an integer from 1 to .*, got 0"),
        (lambda: parity.rescaled_network(4, math.nan), "scale: expected a number .*, got nan"),
        (lambda: parity.memorising_network(0), "n: expected an integer ≥ 1, got 0"),
        (lambda: parity.longest(torch.int64), "dtype: expected a floating-point type"),
        (lambda: parity.longest("float32"), "dtype: expected a floating-point type of torch, got 'float32'"),
        (lambda: parity.is_odd(1), r"bits: expected shape \(…, n\), got \(\)"),
        (lambda: parity.majority_network(10**7), "n: expected what fits in the"),
        (lambda: parity.scratchpad_network(10**7), "T: expected what fits in the"),
        (lambda: parity.run(parity.majority_network(4), torch.zeros(1, 4)), "network: expected one of parity"),
        (lambda: parity.run(None, torch.zeros(1, 4)), "network: expected networks.Circuit, got NoneType"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
