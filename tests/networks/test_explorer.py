"""A look inside a network from Python: what is written down is the network, and wrong requests are refused."""

import copy
import io
import json

import numpy as np
import pytest
import torch

from flatcube import handmade, networks, parity
from flatcube import sparse_variables as sv
from flatcube.classroom import explorers
from flatcube.networks import anatomy, channels, wiring
from flatcube.networks.explorer import NetworkExplorer

GENERAL = [((1, 2), 1.5), ((2, 4, 5), 0.8), ((3,), -1.0)]
BASIC = [((1, 2), 1.5), ((3, 4), 0.8)]


def _encoder(**changes):
    return networks.Encoder(networks.Config(n=5, width=8, **changes), seed=1, dtype=torch.float64)


NETWORKS = {
    **{mode: lambda mode=mode: handmade.build(BASIC, 5, mode=mode) for mode in ("hard", "soft", "sink")},
    "both signs": lambda: handmade.build(GENERAL, 5),
    "projected": lambda: handmade.project(handmade.build(BASIC, 5), handmade.random_projection(5, 9, rng=1)),
    **{
        f"{code} {outputs}": lambda code=code, outputs=outputs: sv.represent(
            sv.Selector(6, (2, 5), code, outputs), [1.0, -1.0, 1.0] if outputs == "one" else [1.0, -1.0, 0.5, 2.0]
        )
        for code in ("fixed", "trainable", "bag")
        for outputs in ("one", "each")
    },
    "gates": lambda: sv.compose([((1, 2), (0, 1, 1)), ((2, 4), (0, 1, 1))], (0, 0, 1), 4),
    "majorities": lambda: parity.majority_network(5),
    "memory": lambda: parity.memorising_network(4),
    **{target: lambda target=target: parity.layer_norm_network(target=target) for target in parity.TARGETS},
    "rescaled": lambda: parity.rescaled_network(5, 25.0),
    "scratchpad": lambda: parity.scratchpad_network(4),
    "binary scratchpad": lambda: parity.scratchpad_network(5, code="binary"),
    **{f"norm {norm}": lambda norm=norm: _encoder(norm=norm) for norm in ("post", "pre", "mlp", "none")},
    "causal": lambda: _encoder(causal=True, cls=True, embedding="added", rms=True, layers=3),
}
BARE = {
    "perceptron": lambda: networks.Perceptron(5, 8),
    "lstm": lambda: networks.Lstm(5, 8),
    "linear attention": lambda: _encoder(attention="linear"),
    "anybody's": lambda: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)),
    "a convolution": lambda: torch.nn.Conv1d(2, 3, 4),
}


def _inputs(model):
    """Eight inputs that the network takes."""
    choices = model.choices(model.usual())
    rng = np.random.default_rng(3)
    return torch.tensor([[int(rng.choice(own)) for own in choices] for _ in range(8)])


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_written_down_computes_the_same(name):
    model = NETWORKS[name]()
    content = json.loads(json.dumps(anatomy.anatomy(model, inputs := _inputs(model))))
    with torch.no_grad():
        seen, answers = model.activations(inputs), model(inputs)
    for at, symbols in enumerate(content["inputs"]):
        stages = anatomy.Body(content).stages(symbols)
        assert float(stages["output"]) == pytest.approx(float(answers[at]), abs=1e-9)
        for stage, values in stages.items():
            if not stage.endswith(".normed"):
                torch.testing.assert_close(values, seen[stage][at], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_view_has_numbers_and_a_picture(name):
    figure = networks.show(NETWORKS[name]())
    kind, options = type(figure), type(figure).options()
    assert figure.displayed(figure.state)
    for view, key in (("weights", "matrix"), ("attention", "head"), ("stream", "stage")):
        assert options[key]
        for option in options[key]:
            state = kind.complete({"view": view, key: option})
            assert state[key] == option
            assert kind.picture(state).startswith("<svg ")
            assert any(place.startswith("v:") for place in kind.displayed(state)) == bool(kind.sheet(state).cells)
    assert len(json.dumps(figure._still())) < 150_000


@pytest.mark.parametrize("name", BARE)
def test_other_networks_are_shown_by_their_weights(name):
    model = BARE[name]()
    figure = networks.show(model)
    assert figure.state["view"] == "weights"
    weights = dict(model.named_parameters())
    assert list(type(figure).options()["matrix"]) == list(weights)
    for path, weight in weights.items():
        shown = figure.displayed({**figure.state, "matrix": path})
        assert shown["nonzero"] == int((weight != 0).sum()) and shown["entries"] == weight.numel()


# ------------------------------------------------------------------------------------------------ the wiring


def _marks(model, layer, part, does=""):
    """The lanes of a step by their names, with their marks."""
    drawn = wiring.wiring(model)
    (row,) = [
        row for row in drawn["rows"] if (row["layer"], row["part"]) == (layer, part) and does in row["does"]
    ]
    return {drawn["lanes"][lane][0]: mark for lane, mark in row["marks"]}, row


def test_the_bypass_the_mask_and_the_dead_units_of_chapter_4_are_there():
    model = handmade.build(GENERAL, 5)
    places = ["1", "2", "3", "4", "5", "out"]
    assert _marks(model, 1, "No residual")[0] == {"bit": "v"}
    assert _marks(model, 1, "No residual")[1]["lines"] == "pppppps."  # the positions pass by, the bit's lane goes on
    assert _marks(model, 1, "Sum")[0] == {**dict.fromkeys(places, "j"), "bit": "v"}
    assert "16 ReLUs, 8 of them without effect" in _marks(model, 1, "MLP")[1]["does"]
    assert _marks(model, 2, "Head 1", "chooses")[0] == {"1": "k", "2": "k", "out": "q"}
    assert "a mask closes 4 of 36 pairs" in _marks(model, 2, "Head 1", "chooses")[1]["does"]
    assert _marks(model, 0, "Output")[0] == {"f": "o"}
    trimmed = handmade.build(GENERAL, 5, grid="trimmed")
    assert _marks(trimmed, 1, "MLP")[1]["does"] == "E, b, F: 8 ReLUs"


def test_the_nine_channels_of_chapter_6_have_jobs():
    drawn = wiring.wiring(parity.layer_norm_network())
    assert [name for name, _ in drawn["lanes"]] == list(parity.CHANNELS)
    assert all(len(job.split()) >= 3 for _, job in drawn["lanes"])
    marks, _ = _marks(parity.layer_norm_network(), 1, "MLP")
    assert marks == {**dict.fromkeys(("place", "side", "unit", "count"), "r"), "hit": "w", "balance": "w"}
    assert _marks(parity.layer_norm_network(), 0, "Read-out")[0] == {"answer": "r"}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_lane_without_a_line_is_zero(name):
    model = NETWORKS[name]()
    parts = model.parts() if isinstance(model, networks.Encoder) else model
    pre = isinstance(model, networks.Encoder) and model.config.norm == "pre"
    drawn = wiring.wiring(parts, before=pre)
    with torch.no_grad():
        seen = model.activations(_inputs(model))
    for k in range(len(parts.layers)):
        last = [row for row in drawn["rows"] if row["layer"] == k + 1][-1]
        alive = {name for (name, _), line in zip(drawn["lanes"], last["lines"], strict=True) if line == "s"}
        space = [channel.name for channel in channels.spaces(parts)[f"layers.{k}.output"]]
        moved = seen[f"layers.{k}.output"].abs().amax((0, 1)) > 1e-12
        assert {name for name, moves in zip(space, moved, strict=True) if moves} <= alive


# ------------------------------------------------------------------------------------------------ requests


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: networks.show(3), "model: expected nn.Module, got int"),
        (lambda m: networks.show(torch.nn.ReLU()), "model: expected a network with weights, got ReLU"),
        (lambda m: networks.show(networks.Ensemble(networks.Config(n=4))), "model: expected one network, got Ensemble"),
        (lambda m: networks.show(networks.Encoder(networks.Config(n=4, width=256))), "model: expected at most 128"),
        (lambda m: networks.show(_encoder(layers=400)), "model: expected at most 40,000 weights"),
        (lambda m: networks.show(m, [1, 0]), r"inputs: expected shape \(batch, 5\)"),
        (lambda m: networks.show(m, [1, -1, 1, 1, 1]), "inputs: expected 0 and 1, got -1"),
        (lambda m: networks.show(m, [0.5] * 5), "inputs: expected 0 and 1, got 0.5"),
        (lambda m: networks.show(m, "10110"), "inputs: expected a tensor of real numbers"),
        (lambda m: networks.show(m, np.zeros((13, 5))), r"inputs: expected 1 to 12 inputs .* got shape \(13, 5\)"),
        (lambda m: networks.show(m, np.zeros((0, 5))), "inputs: expected 1 to 12 inputs"),
        (lambda m: networks.show(parity.layer_norm_network(), np.zeros((1, 65))), "inputs: .* 1 to 64 symbols"),
        (lambda m: networks.show(parity.scratchpad_network(4), [1, 0]), "symbols: expected 5 to 8 bits, got 2"),
        (lambda m: networks.show(networks.Lstm(4, 8), [1, 0, 1, 1]), "inputs: expected none, because Lstm"),
        (lambda m: networks.show(m, view="inside"), "view: expected 'wiring' or"),
        (lambda m: networks.describe(3), "model: expected nn.Module, got int"),
        (lambda m: networks.describe(m, limit=-1), "limit: expected an integer ≥ 0, got -1"),
        (lambda m: networks.show(m, matrix="W9"), "matrix: expected one of tokens, positions"),
        (lambda m: networks.show(m, matrix=1), "matrix: expected str, got int"),
        (lambda m: networks.show(m, head="layers.7.attention.0"), "head: expected one of layers.0.attention.0"),
        (lambda m: networks.show(m, stage="nowhere"), "stage: expected one of embedding"),
        (lambda m: networks.show(m, label="Figure 1"), "label: expected small letters"),
        (lambda m: networks.show(m).complete({"symbols": [1]}), "state|symbols"),
        (lambda m: type(networks.show(m)).complete({"symbols": [2] * 5}), "symbols: expected 5 of the network's"),
    ],
)
def test_wrong_requests_get_one_sentence(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call(handmade.build(BASIC, 5))
    assert "\n" not in str(caught.value)


def test_a_view_may_be_asked_for_by_the_names_of_the_text():
    figure = networks.show(handmade.build(GENERAL, 5), view="weights", matrix="W2−", label="fig-inside", title="Mine")
    assert figure.state["matrix"] == "layers.1.heads.1.query_key"
    payload = figure._still()[explorers.MIME]
    assert (payload["figure"], payload["label"]) == ("fig-inside", "Mine")
    shown = figure.displayed({**figure.state, "matrix": "layers.0.heads.0.query_key"})
    W1 = handmade.matrices(handmade.build(GENERAL, 5))["W1"]
    assert sorted(v for key, v in shown.items() if key.startswith("v:")) == sorted(W1[W1 != 0].tolist())


def test_figures_of_different_networks_do_not_disturb_each_other():
    first, second = networks.show(handmade.build(BASIC, 5)), networks.show(parity.layer_norm_network())
    assert len(first.state["symbols"]) == 5 and len(second.state["symbols"]) == 7
    assert first.content is not second.content
    assert explorers.explorer("networks").content is NetworkExplorer.content
    assert second.widget.content is second.content


def test_what_is_too_wide_is_thinned():
    table = type(networks.show(figure := parity.memorising_network(20), view="stream", stage="layers.0.mlp.0")).sheet
    state = networks.show(figure, view="stream", stage="layers.0.mlp.0").state
    assert len(table(state).columns) == 64 and table(state).size == (21, 84)


# ------------------------------------------------------------------------------------------------ names, dtypes, files


def test_channels_are_checked():
    eye = torch.eye(2)
    for given, words in [
        ({"embedding": ["a"]}, "channels: embedding: expected 2 of them, got 1"),
        ({"embedding": ["a", "a"]}, "channels: embedding: expected names that differ"),
        ({"nowhere": ["a", "b"]}, "channels: expected names of spaces such as .*, got 'nowhere'"),
        ({"embedding": "ab"}, "channels: embedding: expected a list"),
        ({"embedding": [("a", 1), "b"]}, r"channels: embedding: expected pairs \(name, job\)"),
        (3, "channels: expected"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            networks.Circuit(eye, eye, [], channels=given)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_says_its_shapes_and_names(name):
    words = repr(NETWORKS[name]())
    assert "Head()" not in words and "Norm()" not in words and "Mlp()" not in words
    assert "(" in words and "tokens" in words


@pytest.mark.parametrize("name", [*NETWORKS, *BARE])
def test_every_network_is_described(name):
    """All its steps and matrices, a line each, with every weight by name if one asks for all."""
    model = (NETWORKS | BARE)[name]()
    content = anatomy.anatomy(model)
    lines = networks.describe(model, limit=10**6).splitlines()
    steps = content["wiring"]["rows"] if content["wiring"] else []
    assert len(lines) == 1 + len(steps) + len(content["matrices"]) and lines[0].startswith(type(model).__name__)
    assert all(step["part"] in line for step, line in zip(steps, lines[1:], strict=False))
    for matrix, line in zip(content["matrices"], lines[1 + len(steps) :], strict=True):
        assert line.startswith(matrix["title"])
        told = [float(entry.rpartition(" = ")[2]) for entry in line.partition(": ")[2].split(", ") if " = " in entry]
        expected = [] if matrix["kind"] == "mask" else matrix["values"]
        assert told == pytest.approx(expected, rel=1e-3, abs=0)
    short = networks.describe(model, limit=1).splitlines()
    assert len(short) == len(lines) and len("".join(short)) < len("".join(lines))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_readers_model_can_be_saved_and_copied(name, tmp_path):
    model = NETWORKS[name]()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    again, inputs = torch.load(file, weights_only=False), _inputs(model)
    assert torch.equal(again(inputs), model(inputs))
    assert torch.equal(copy.deepcopy(model)(inputs), model(inputs))


BUILDERS = {
    "handmade": lambda **kind: handmade.build(BASIC, 5, **kind),
    "memory": lambda **kind: parity.memorising_network(4, **kind),
    "majorities": lambda **kind: parity.majority_network(5, **kind),
    "layer norm": lambda **kind: parity.layer_norm_network(**kind),
    "scratchpad": lambda **kind: parity.scratchpad_network(4, **kind),
    "selector": lambda **kind: sv.represent(sv.Selector(6, (2, 5)), [1.0, -1.0, 1.0], **kind),
    "gates": lambda **kind: sv.compose([((1, 2), (0, 1, 1))], (0, 1), 4, **kind),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_builders_take_a_dtype(name):
    double, single = BUILDERS[name](), BUILDERS[name](dtype=torch.float32)
    assert {p.dtype for p in single.parameters()} == {torch.float32}
    inputs = _inputs(double)
    torch.testing.assert_close(single(inputs).double(), double(inputs), atol=2e-4, rtol=0)
    with pytest.raises(TypeError, match="dtype: expected a floating-point type"):
        BUILDERS[name](dtype=torch.int64)
    with pytest.raises(TypeError, match="dtype: expected a floating-point type"):
        BUILDERS[name](dtype="float32")


@pytest.mark.parametrize("single", [lambda: parity.layer_norm_network().float(),
                                    lambda: parity.layer_norm_network(dtype=torch.float32)])  # fmt: skip
def test_the_guard_of_the_length_follows_the_dtype(single):
    model, most = single(), parity.longest(torch.float32)
    bits = torch.zeros(1, most + 1, dtype=torch.long)
    with pytest.raises(ValueError, match=f"expected at most {most} bits, beyond which float32 is not guaranteed"):
        model(bits)
    assert model(bits[:, 1:]).item() == pytest.approx(1.0, abs=1e-3)
    assert model.double()(bits).item() == pytest.approx(1.0)  # and back again


def test_a_bag_refuses_bits():
    model = sv.represent(sv.Selector(6, (2, 5), "bag"), [1.0, -1.0, 1.0])
    for bits in ([[0, 1, 0, 0, 1, 0]], [[0, 1, 0, 0, 0, 0]]):
        with pytest.raises(ValueError, match=r"symbols: expected t where bit t is 1 .*as_symbols.*got bits"):
            model(torch.tensor(bits))
    with pytest.raises(ValueError, match="got 5 twice"):
        model(torch.tensor([[5, 0, 0, 0, 5, 0]]))
    shuffled = torch.tensor([[5, 0, 2, 0, 0, 0]])
    ordered = sv.as_symbols([[0, 1, 0, 0, 1, 0]], "bag")
    assert model(shuffled).item() == pytest.approx(model(ordered).item())


def test_a_state_of_something_else_is_refused():
    state, whole = parity.layer_norm_network().state_dict(), handmade.build(BASIC, 5).state_dict()
    for wrong, words in [
        ({"tokens": state["tokens"]}, "state: expected a tensor of the name 'positions', got none"),
        (_encoder().state_dict(), "state: expected the names of a Circuit, got 'layers.0.query.weight'"),
        ({**state, "layers.0.extra": state["tokens"]}, "state: expected the names of a Circuit, got 'layers.0.extra'"),
        ({3: state["tokens"]}, "state: expected the names of a Circuit, got 3"),
        ({k: v for k, v in whole.items() if k != "layers.0.heads.0.value"}, "state: .*'layers.0.heads.0.value', got"),
    ]:
        with pytest.raises(ValueError, match=words):
            networks.from_state(wrong)
