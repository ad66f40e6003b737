"""The trainable encoder: against PyTorch's, against loops over positions, alone and in ensembles."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from flatcube import networks
from flatcube.networks.config import Config
from flatcube.networks.encoder import Encoder, Ensemble, initial, shapes

SMALL = Config(n=4, width=6, layers=2, heads=2, hidden=5)


def _bits(n: int) -> Tensor:
    return (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1


def _encoder(config: Config, seed: int = 0) -> Encoder:
    """Random everywhere, gains and biases included, so that none of them can be forgotten."""
    generator = torch.Generator().manual_seed(seed)
    drawn = {name: torch.randn(s, generator=generator, dtype=torch.float64) for name, s in shapes(config).items()}
    return Encoder(config, parameters=drawn)


# --- against PyTorch --------------------------------------------------------------------------------------------------


def _pytorch(model: Encoder) -> nn.TransformerEncoder:
    config, p = model.config, dict(model.named_parameters())
    width, hidden = config.width, config.hidden
    layer = nn.TransformerEncoderLayer(
        width, config.heads, hidden, 0.0, batch_first=True, norm_first=config.norm == "pre", layer_norm_eps=config.eps
    )
    norm = nn.LayerNorm(width, config.eps) if config.norm == "pre" else None
    peer = nn.TransformerEncoder(layer, config.layers, norm, enable_nested_tensor=False).double()
    state = {}
    for index in range(config.layers):
        theirs, ours = f"layers.{index}.", f"layers.{index}."
        for kind in ("weight", "bias"):
            joined = torch.cat([p[f"{ours}{name}.{kind}"] for name in ("query", "key", "value")], -1)
            state[f"{theirs}self_attn.in_proj_{kind}"] = joined.T if kind == "weight" else joined
        pairs = {"output": "self_attn.out_proj", "mlp.0": "linear1", "mlp.1": "linear2"}
        state |= {f"{theirs}{b}.weight": p[f"{ours}{a}.weight"].T for a, b in pairs.items()}
        state |= {f"{theirs}{b}.bias": p[f"{ours}{a}.bias"] for a, b in pairs.items()}
        for a, b in {"norm_attention": "norm1", "norm": "norm2"}.items():
            state |= {f"{theirs}{b}.weight": p[f"{ours}{a}.gain"], f"{theirs}{b}.bias": p[f"{ours}{a}.bias"]}
    if norm is not None:
        state |= {"norm.weight": p["norm.gain"], "norm.bias": p["norm.bias"]}
    peer.load_state_dict(state)
    return peer


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    "switch",
    [{}, {"norm": "pre"}, {"causal": True}, {"cls": True}, {"embedding": "added"}, {"norm": "pre", "causal": True}],
    ids=str,
)
@torch.no_grad()
def test_the_encoder_is_that_of_pytorch(switch: dict, layers: int):
    config = replace(SMALL, layers=layers, **switch)
    model = _encoder(config)
    p, bits = dict(model.named_parameters()), _bits(config.n)
    symbols = nn.functional.pad(bits, (0, int(config.cls)), value=2)
    tokens, places = p["tokens"][symbols], p["positions"].expand(len(bits), -1, -1)
    x = tokens + places if config.embedding == "added" else torch.cat([tokens, places], -1)
    mask = nn.Transformer.generate_square_subsequent_mask(config.positions, dtype=torch.float64)
    y = _pytorch(model)(x, mask=mask if config.causal else None)[:, -1]
    expected = y @ p["readout.weight"][:, 0] + p["readout.bias"]
    assert torch.allclose(model(bits), expected, rtol=0, atol=1e-10)


def test_the_first_values_are_drawn_as_pytorch_draws_them():
    config = Config(n=50, width=64, hidden=32, layers=1)
    torch.manual_seed(0)
    peer = nn.TransformerEncoderLayer(64, 2, 32)
    theirs = {
        "tokens": torch.randn(2, 32),
        "positions": torch.randn(50, 32),
        **{f"layers.0.{name}.weight": peer.self_attn.in_proj_weight for name in ("query", "key", "value")},
        **{f"layers.0.{name}.bias": peer.self_attn.in_proj_bias for name in ("query", "key", "value")},
        "layers.0.output.weight": peer.self_attn.out_proj.weight,
        "layers.0.output.bias": peer.self_attn.out_proj.bias,
        **{f"layers.0.mlp.{k}.{kind}": getattr(linear, kind)
           for k, linear in enumerate((peer.linear1, peer.linear2)) for kind in ("weight", "bias")},
        **{f"layers.0.{ours}.{a}": getattr(getattr(peer, name), b)
           for ours, name in (("norm_attention", "norm1"), ("norm", "norm2"))
           for a, b in (("gain", "weight"), ("bias", "bias"))},
        "readout.weight": nn.Linear(64, 1).weight,
        "readout.bias": torch.zeros(1),
    }  # fmt: skip
    ours = initial(config, seed=3)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name not in ("readout.bias", "tokens"):  # too few numbers to compare
            peers = theirs[name].detach()
            close = min(0.35, 2.5 / math.sqrt(value.numel()))  # four standard errors of the spread of uniform numbers
            assert float(value.std(correction=0)) == pytest.approx(float(peers.std(correction=0)), rel=close), name
            assert name == "positions" or float(value.abs().max()) <= 1.1 * float(peers.abs().max()), name


# --- against loops ----------------------------------------------------------------------------------------------------


def _slow_norm(config: Config, x: Tensor, gain: Tensor, bias: Tensor | float) -> Tensor:
    centred = x if config.rms else x - sum(x) / len(x)
    return gain * centred / math.sqrt(sum(float(c) ** 2 for c in centred) / len(x) + config.eps) + bias


def _slow_attention(config: Config, p: dict[str, Tensor], rows: list[Tensor], i: int) -> Tensor:
    """One query after the other, one head after the other, one key after the other."""
    size, seen, parts = config.width // config.heads, range(i + 1 if config.causal else len(rows)), []
    q, k, v = (
        [row @ p[f"{name}.weight"] + p.get(f"{name}.bias", 0) for row in rows] for name in ("query", "key", "value")
    )
    for h in range(config.heads):
        part = slice(h * size, (h + 1) * size)
        logits = [float(q[i][part] @ k[j][part]) / math.sqrt(size) for j in seen]
        if config.attention == "softmax":
            weights = [math.exp(logit - max(logits)) for logit in logits]
            weights = [weight / sum(weights) for weight in weights]
        else:
            weights = [(max(logit, 0) if config.attention == "relu" else logit) / len(logits) for logit in logits]
        parts.append(sum(weight * v[j][part] for j, weight in zip(seen, weights, strict=True)))
    return torch.cat(parts) @ p["output.weight"] + p.get("output.bias", 0)


def _slow_layer(config: Config, p: dict[str, Tensor], rows: list[Tensor]) -> list[Tensor]:
    def norm(name: str, x: Tensor, where: tuple[str, ...]) -> Tensor:
        return _slow_norm(config, x, p[f"{name}.gain"], p.get(f"{name}.bias", 0)) if config.norm in where else x

    inner, new = [norm("norm_attention", row, ("pre",)) for row in rows], []
    for i, row in enumerate(rows):
        u = norm("norm_attention", row + _slow_attention(config, p, inner, i), ("post",))
        hidden = norm("norm", u, ("pre",)) @ p["mlp.0.weight"] + p.get("mlp.0.bias", 0)
        z = u + hidden.clamp(min=0) @ p["mlp.1.weight"] + p.get("mlp.1.bias", 0)
        new.append(norm("norm", z, ("post", "mlp")))
    return new


def _slow(model: Encoder, bits: list[int]) -> float:
    config, p = model.config, dict(model.named_parameters())
    symbols = [*bits, 2] if config.cls else bits
    rows = []
    for place, symbol in enumerate(symbols):
        token, position = p["tokens"][symbol], p["positions"][place]
        rows.append(token + position if config.embedding == "added" else torch.cat([token, position]))
    for index in range(config.layers):
        rows = _slow_layer(config, dict(model.get_submodule(f"layers.{index}").named_parameters()), rows)
    last = _slow_norm(config, rows[-1], p["norm.gain"], p.get("norm.bias", 0)) if config.norm == "pre" else rows[-1]
    return float(last @ p["readout.weight"][:, 0] + p.get("readout.bias", 0))


SWITCHES = {
    "norm": ("post", "pre", "mlp", "none"),
    "attention": ("softmax", "relu", "linear"),
    "embedding": ("concatenated", "added"),
    **{name: (False, True) for name in ("rms", "causal", "cls", "bias")},
}
ALL = [dict(zip(SWITCHES, values, strict=True)) for values in itertools.product(*SWITCHES.values())]


@pytest.mark.parametrize("layers", [1, 2, 3])
@torch.no_grad()
def test_every_switch_does_what_it_says(layers: int):
    bits = _bits(4)[::3]
    for index, switches in enumerate(ALL[layers - 1 :: 11]):
        config = replace(SMALL, layers=layers, **switches)
        model = _encoder(config, seed=index)
        y = model(bits)
        assert _slow(model, bits[index % 6].tolist()) == pytest.approx(float(y[index % 6]), rel=1e-10, abs=1e-10)
        assert torch.allclose(model.activations(bits)["output"], y, atol=1e-10), config


@torch.no_grad()
def test_the_analysed_encoder_is_put_together_from_blocks():
    for switch, wanted in (({"norm": "pre"}, "norm to be post, mlp or none"), ({"attention": "relu"}, "to be softmax")):
        with pytest.raises(ValueError, match=f"model: expected .*{wanted}, got"):
            _encoder(replace(SMALL, **switch)).circuit()
    chosen = [s for s in ALL if s["norm"] != "pre" and s["attention"] == "softmax"]
    for switches in chosen[::5]:
        config = replace(SMALL, **switches)
        model = _encoder(config)
        again = model.circuit()
        assert torch.allclose(again(_bits(4)), model(_bits(4)), atol=1e-11), config
        assert torch.allclose(networks.from_state(again.state_dict())(_bits(4)), model(_bits(4)), atol=1e-11)
        ours, theirs = model.activations(_bits(4)), again.activations(_bits(4))
        assert all(torch.allclose(ours[name], theirs[name], atol=1e-10) for name in ours.keys() & theirs.keys())
        assert len(ours.keys() & theirs.keys()) >= 12


@torch.no_grad()
def test_nothing_is_lost_when_attention_is_sharp():
    for layers, switch in itertools.product((1, 2), ({}, {"causal": True}, {"cls": True})):
        model = _encoder(replace(SMALL, layers=layers, **switch)).float()
        for _ in range(14):  # logits from a few to tens of thousands, through the range where exp ends
            model.get_parameter("layers.0.query.weight").mul_(2)
            y, plain = model(_bits(4)), model.activations(_bits(4))["output"]
            assert y.isfinite().all()
            assert torch.allclose(y, plain, rtol=1e-3, atol=1e-3)
        assert torch.allclose(model.double()(_bits(4)), model.activations(_bits(4))["output"], atol=1e-9)


def test_gradients_of_first_and_second_order():
    bits = _bits(4)
    for switch in ({}, {"norm": "pre", "causal": True}, {"attention": "relu", "rms": True, "cls": True}, {"layers": 1}):
        model, found = _encoder(replace(SMALL, **switch), seed=1), []
        weights = list(model.parameters())
        for output in (model(bits), model.activations(bits)["output"]):
            first = torch.autograd.grad(output.square().mean(), weights, create_graph=True)
            second = torch.autograd.grad(sum(g.sin().sum() for g in first), weights)  # the Hessian times a vector
            found.append([*first, *second])
        for fast, plain in zip(*found, strict=True):
            assert torch.allclose(fast, plain, rtol=1e-7, atol=1e-8)


# --- activations ------------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_factors_are_those_of_the_values_that_enter_a_norm():
    expected = {"post": 4, "pre": 5, "mlp": 2, "none": 0}
    for norm, rms in itertools.product(expected, (False, True)):
        model = _encoder(replace(SMALL, norm=norm, rms=rms))
        seen = model.activations(_bits(4))
        factors = {name: value for name, value in seen.items() if "factor" in name}
        assert len(factors) == expected[norm]
        assert all(value.shape == (16, 1 if name == "factor" else 4, 1) for name, value in factors.items())
    sources = {
        "post": {"0.factor": "0.sum", "0.factor_attention": "0.mixed", "1.factor": "1.sum"},
        "pre": {"0.factor": "0.mixed", "1.factor_attention": "0.output", "1.factor": "1.mixed"},
        "mlp": {"0.factor": "0.sum", "1.factor": "1.sum"},
    }
    for norm, pairs in sources.items():
        seen = _encoder(replace(SMALL, norm=norm)).activations(_bits(4))
        for name, source in pairs.items():
            variance = seen[f"layers.{source}"].var(-1, correction=0, keepdim=True)
            assert torch.allclose(seen[f"layers.{name}"], 1 / (variance + SMALL.eps).sqrt(), rtol=1e-10)
        if norm == "pre":
            variance = seen["layers.1.output"][:, -1:].var(-1, correction=0, keepdim=True)
            assert torch.allclose(seen["factor"], 1 / (variance + SMALL.eps).sqrt(), rtol=1e-10)
    assert seen["layers.0.attention.1"].shape == (16, 4, 4)
    assert torch.allclose(seen["layers.1.attention.0"].sum(-1), torch.ones(16, 4, dtype=torch.float64))
    assert seen["layers.1.mlp.0"].shape == (16, 4, 5)


@torch.no_grad()
def test_a_vector_without_variance_is_sent_to_zero_without_eps():
    model = _encoder(replace(SMALL, eps=0.0, norm="pre", bias=False, layers=1))
    model.tokens.fill_(0)
    model.positions.fill_(0)
    assert model(_bits(4)).tolist() == [0.0] * 16
    assert (model.activations(_bits(4))["layers.0.factor_attention"] == 0).all()


# --- ensembles and copies ---------------------------------------------------------------------------------------------


@torch.no_grad()
def test_an_ensemble_is_its_members_one_by_one():
    config = replace(SMALL, cls=True)
    ensemble = Ensemble(config, seeds=(5, 0, 7), dtype=torch.float64)
    bits = _bits(4)
    together = ensemble(bits)
    assert len(ensemble) == 3 and together.shape == (3, 16)
    for k, seed in enumerate((5, 0, 7)):
        alone = Encoder(config, seed=seed, dtype=torch.float64)
        assert all(torch.equal(p, alone.get_parameter(name)) for name, p in ensemble.member(k).named_parameters())
        assert torch.allclose(together[k], alone(bits), atol=1e-13)
    own = torch.stack([bits, bits.flip(0), 1 - bits])  # other inputs for every member
    factors = ensemble.activations(own)["layers.1.factor"]
    for k, member in enumerate(ensemble.members()):
        assert torch.allclose(ensemble(own)[k], member(own[k]), atol=1e-13)
        assert torch.allclose(factors[k], member.activations(own[k])["layers.1.factor"])
    member.tokens += 1  # a copy
    assert torch.equal(ensemble(bits), together)


@torch.no_grad()
def test_copies_run_at_once_as_they_run_alone():
    model, bits = _encoder(SMALL), _bits(4)
    generator = torch.Generator().manual_seed(2)
    names = [name for name, _ in model.named_parameters() if not any(word in name for word in ("positions",))]
    assert len(names) == len(shapes(SMALL)) - 1
    copies = {
        name: model.get_parameter(name) + torch.randn(5, *shape, generator=generator, dtype=torch.float64)
        for name, shape in shapes(SMALL).items()
        if name in names
    }
    together = networks.many(model, copies, bits)
    assert together.shape == (5, 16)
    for k in range(5):
        alone = functional_call(model, {name: copy[k] for name, copy in copies.items()}, (bits,))
        assert torch.allclose(together[k], alone, atol=1e-11)


def test_the_same_seed_is_the_same_network_in_any_precision():
    single, double = (initial(SMALL, seed=4, dtype=dtype) for dtype in (torch.float32, torch.float64))
    assert all(torch.equal(single[name], double[name].float()) for name in single)
    assert not torch.equal(initial(SMALL, seed=5)["tokens"], double["tokens"])
    assert Encoder(SMALL).tokens.dtype == torch.float32
    narrow = initial(replace(SMALL, width=64, std=0.1), seed=0)
    assert float(narrow["layers.0.key.weight"].std()) == pytest.approx(0.1, rel=0.05)
    assert float(narrow["readout.bias"]) == 0 and bool((narrow["layers.0.norm.gain"] == 1).all())


def test_weights_of_a_head_as_matrices():
    model = _encoder(SMALL)
    x = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    p, head = dict(model.get_submodule("layers.1").named_parameters()), model.circuit().layers[1].heads[1]
    q, k, v = (x @ p[f"{name}.weight"] + p[f"{name}.bias"] for name in ("query", "key", "value"))
    expected = q[:, 3:] @ k[:, 3:].T / math.sqrt(3)
    assert torch.allclose(head.attention(x), expected.softmax(-1))
    offset = p["value.bias"][3:] @ p["output.weight"][3:]
    assert torch.allclose(x @ head.value_output + offset, v[:, 3:] @ p["output.weight"][3:])


def _misnamed(model: Ensemble) -> dict[str, Tensor]:
    """Without its last bias, which the network could do without."""
    return {name.replace("readout.bias", "readout.bais"): p for name, p in model.named_parameters()}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Config(n=0), "n: expected an integer ≥ 1, got 0"),
        (lambda: Config(n=3, hidden=0), "hidden: expected an integer ≥ 1, got 0"),
        (lambda: Config(n=3, width=6, heads=4), "heads: expected a divisor of the width 6, got 4"),
        (lambda: Config(n=3, width=5, heads=1), "width: expected an even number"),
        (lambda: Config(n=3, norm="before"), "norm: expected 'post' or 'pre' or 'mlp' or 'none', got 'before'"),
        (lambda: Config(n=3, eps=-1.0), "eps: expected a number ≥ 0, got -1"),
        (lambda: Config(n=3, layers=10**9), "layers: expected an integer from 1 to 1000, got 1000000000"),
        (lambda: Config(n=3, cls="yes"), "cls: expected True or False, got 'yes'"),
        (lambda: initial(Config(n=3, width=10**8), seed=0), "config: expected what fits in the"),
        (lambda: initial(SMALL, seed=2**64), "seed: expected an integer ≤ 18446744073709551615, got 18446744"),
        (lambda: initial(SMALL, seed=None), "seed: expected an integer, got NoneType"),
        (lambda: Encoder("post"), "config: expected networks.Config, got str"),
        (lambda: Encoder(SMALL, dtype=torch.int64), "dtype: expected a floating-point type of torch, got torch.int64"),
        (lambda: Encoder(SMALL).many({"tokns": torch.zeros(3, 2, 3)}, _bits(4)), "names among tokens, .* got 'tokns'"),
        (lambda: Encoder(SMALL).many({"tokens": torch.zeros(2, 3)}, _bits(4)), r"tokens: expected shape \(K, 2, 3\)"),
        (lambda: Ensemble(SMALL).many(_misnamed(Ensemble(SMALL)), _bits(4)), "networks.shapes, got readout.bais"),
        (lambda: Ensemble(SMALL).many({}, _bits(4)), "parameters: expected the name layers.0.key.bias"),
        (lambda: Encoder(Config(n=10**5))(torch.zeros(99, 10**5)), "bits: expected what fits in the"),
        (lambda: Config(n=3, std=0.0), "std: expected a number above 0, got 0"),
        (lambda: Encoder(SMALL)(torch.tensor([[1, -1, 1, 1]])), "bits: expected 0 and 1, got -1; signs are turned"),
        (lambda: Encoder(SMALL)(torch.tensor([[0.5, 0, 0, 0]])), "bits: expected 0 and 1, got 0.5"),
        (lambda: Encoder(SMALL)(torch.zeros(2, 5)), r"bits: expected shape \(batch, 4\), got \(2, 5\)"),
        (lambda: Ensemble(SMALL, seeds=range(2))(torch.zeros(3, 1, 4)), r"bits: expected shape \(2, batch, 4\), got"),
        (lambda: Ensemble(SMALL, seeds=()), "seeds: expected 1 or more, got 0"),
        (lambda: Ensemble(SMALL, seeds=(1, 2)).member(2), "k: expected an integer from -2 to 1, got 2"),
        (lambda: Encoder(SMALL, parameters={}), "parameters: expected the name"),
        (lambda: Encoder(SMALL, parameters=initial(replace(SMALL, n=5), seed=0)), r"positions: expected shape \(4,"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_in_one_sentence(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
