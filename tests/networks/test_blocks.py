"""Attention, MLP, layer norm: against slow loops, through the state_dict alone, and many copies at once."""

import math

import pytest
import torch
from torch.func import functional_call

from flatcube import networks


def _random_encoder(seed: int, *, n: int = 5, width: int = 4, norm: bool = True) -> networks.Circuit:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def layer() -> networks.Layer:
        mask = torch.triu(torch.full((n + 1, n + 1), -math.inf, dtype=torch.float64), 1)
        heads = [
            networks.Head(draw(width, width), draw(width, 3), draw(3, width)),
            networks.Head(draw(width, width), draw(width, width), mask=mask),
        ]
        mlp = networks.Mlp([draw(width, 6), draw(6, 7), draw(7, width)], [draw(6), draw(7), None])
        wire = torch.eye(width, dtype=torch.float64)
        last = networks.Norm(0.1, draw(width), draw(width)) if norm else None
        return networks.Layer(heads, mlp, skip=wire, bypass=draw(width, width), keep=wire, norm=last)

    return networks.Circuit(
        draw(2, width), draw(n + 1, width), [layer(), layer()], readout=draw(width, 1), appended=(0,), read=-1
    )


def _bits(n: int) -> torch.Tensor:
    return (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1


def _slow_softmax(logits: list[float]) -> list[float]:
    weights = [math.exp(logit) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def _slow_head(head: networks.Head, x: torch.Tensor) -> torch.Tensor:
    """softmax(X W Xᵀ) X V O, one query and one key at a time."""
    n, rows = x.shape[0], []
    for i in range(n):
        logits = [float(x[i] @ head.query_key @ x[j]) for j in range(n)]
        logits = [logit + (0 if head.mask is None else float(head.mask[i, j])) for j, logit in enumerate(logits)]
        value = sum(weight * (x[j] @ head.value) for j, weight in enumerate(_slow_softmax(logits)))
        rows.append(value if head.output is None else value @ head.output)
    return torch.stack(rows)


def _slow_encoder(model: networks.Circuit, bits: list[int]) -> float:
    """HR Eq. (1)-(5) with loops over positions."""
    symbols = [*bits, *model.appended.tolist()]
    x = torch.stack([model.tokens[symbol] + model.positions[place] for place, symbol in enumerate(symbols)])
    for layer in model.layers:
        u = x @ layer.skip + sum(_slow_head(head, x) for head in layer.heads)
        rows = []
        for place in range(len(symbols)):
            hidden = u[place]
            for index, (weight, bias) in enumerate(zip(layer.mlp.weights, layer.mlp.biases, strict=True)):
                hidden = (hidden.clamp(min=0) if index else hidden) @ weight + (0 if bias is None else bias)
            z = x[place] @ layer.bypass + u[place] @ layer.keep + hidden
            factor = 1 / math.sqrt(float(z.var(correction=0)) + float(layer.norm.eps))
            rows.append((z - z.mean()) * factor * layer.norm.gain + layer.norm.bias)
        x = torch.stack(rows)
    return float(x[-1] @ model.readout[:, 0])


def _printed_attention(self: networks.Head, x: torch.Tensor, rows: slice = slice(None)) -> torch.Tensor:
    logits = x[..., rows, :] @ self.query_key @ x.transpose(-1, -2)
    return logits.exp() / logits.sum(-1, keepdim=True)


@pytest.mark.claim(
    "HR-D2",
    printed=(
        "flatcube.networks.blocks.Head.attention",
        _printed_attention,
        "The softmax divides by the sum of the logits.",
    ),
    erratum=12,
    note="a random two-layer encoder against loops over positions",
)
@torch.no_grad()
def test_the_encoder_is_the_one_that_is_analysed():
    model, bits = _random_encoder(0), _bits(5)[::5]
    slow = [_slow_encoder(model, row) for row in bits.tolist()]
    assert model(bits).tolist() == pytest.approx(slow, abs=1e-10)
    assert model.activations(bits)["output"].tolist() == pytest.approx(slow, abs=1e-10)


def _no_centre(self: networks.Norm, x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(-1, keepdim=True)).square().sum(-1, keepdim=True).rsqrt()


@pytest.mark.claim(
    "HR-EQ3",
    mutant=("flatcube.networks.blocks.Norm.factor", _no_centre, "The sum of squares stands where their mean belongs."),
    note="10,000 random vectors, ε from 0 to 10",
)
def test_a_normalised_vector_has_at_most_the_norm_of_its_root_width():
    x = torch.randn(10_000, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert networks.Norm(0.0)(x).norm(dim=-1).tolist() == pytest.approx([math.sqrt(7)] * 10_000)
    for eps in (1e-6, 0.1, 10.0):
        assert (networks.Norm(eps)(x).norm(dim=-1) < math.sqrt(7)).all()


@torch.no_grad()
def test_a_network_is_its_state_dict():
    for seed, norm in ((1, True), (2, False)):
        model = _random_encoder(seed, norm=norm)
        again = networks.from_state(model.state_dict())
        assert again.state_dict().keys() == model.state_dict().keys()
        assert torch.equal(again(_bits(5)), model(_bits(5)))
        again.tokens += 1  # the copy must not share memory with the original
        assert not torch.equal(again(_bits(5)), model(_bits(5)))


@torch.no_grad()
def test_copies_run_at_once_as_they_run_alone():
    model = _random_encoder(3)
    names = dict(model.named_parameters())
    generator = torch.Generator().manual_seed(5)
    copies = {name: p + torch.randn(4, *p.shape, dtype=p.dtype, generator=generator) for name, p in names.items()}
    together = networks.many(model, copies, _bits(5))
    alone = [functional_call(model, {name: c[k] for name, c in copies.items()}, (_bits(5),)) for k in range(4)]
    assert together.shape == (4, 32)
    assert torch.allclose(together, torch.stack(alone), atol=1e-12)
    wrapped = torch.nn.Sequential(model)  # it has no method many, so its copies take turns
    in_turn = networks.many(wrapped, {f"0.{name}": copy for name, copy in copies.items()}, _bits(5))
    assert torch.equal(in_turn, torch.stack(alone))
    some = networks.many(model, {"readout": copies["readout"]}, _bits(5))
    assert torch.allclose(some[2], functional_call(model, {"readout": copies["readout"][2]}, (_bits(5),)))


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_a_head_needs_no_matrix_of_weights_where_no_gradient_is_asked_for(scale):
    generator = torch.Generator().manual_seed(6)
    x, query_key, value = (
        torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((3, 7, 4), (4, 4), (4, 2))
    )
    mask = torch.triu(torch.full((7, 7), -math.inf, dtype=torch.float64), 1)
    for head in (networks.Head(scale * query_key, value), networks.Head(scale * query_key, value, value.T, mask=mask)):
        for rows in (slice(None), slice(2, 3)):
            weighted = head(x, rows)
            with torch.no_grad():
                assert torch.allclose(head(x, rows), weighted, atol=1e-14)
        assert torch.autograd.grad(head(x).sum(), head.query_key)[0].abs().max() > 0.01


@torch.no_grad()
@pytest.mark.parametrize("name", ["value", "output", "query_key"])
def test_a_head_that_averages_also_runs_with_a_stack_of_one_of_its_weights(name):
    generator = torch.Generator().manual_seed(7)
    x, value, output = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((3, 5, 4), (4, 2), (2, 4)))
    head = networks.Head(torch.zeros(4, 4, dtype=torch.float64), value, output)
    weight = head.get_parameter(name)
    copies = weight + torch.randn(2, *weight.shape, generator=generator, dtype=torch.float64)
    copies[0] = weight  # one copy still averages where the query-key matrices are stacked
    together = functional_call(head, networks.stacked({name: copies}), (x,))
    alone = [functional_call(head, {name: copy}, (x,)) for copy in copies]
    assert torch.allclose(together, torch.stack(alone), atol=1e-12)


@torch.no_grad()
def test_activations_are_what_the_network_goes_through():
    model = _random_encoder(4)
    seen = model.activations(_bits(5))
    assert torch.allclose(seen["output"], model(_bits(5)), atol=1e-12)
    assert torch.allclose(seen["layers.1.attention.1"].sum(-1), torch.ones(32, 6, dtype=torch.float64))
    assert (seen["layers.0.attention.1"].triu(1) == 0).all()  # its mask is causal
    assert seen["layers.1.mlp.1"].shape == (32, 6, 7)
    assert seen["layers.1.factor"].shape == (32, 6, 1)


def test_rms_norm_keeps_the_mean():
    x = torch.tensor([[3.0, 4.0]])
    assert networks.Norm(0.0, centre=False)(x).tolist() == [pytest.approx([3 / math.sqrt(12.5), 4 / math.sqrt(12.5)])]
    assert networks.Norm(0.0)(torch.ones(1, 3)).tolist() == [[0.0, 0.0, 0.0]]


def test_positions_may_come_from_a_rule():
    tokens = torch.tensor([[0.0], [1.0]])
    model = networks.Circuit(tokens, lambda n: torch.arange(n)[:, None] / n, [], readout=torch.ones(1, 1))
    assert model(torch.tensor([[1, 0, 1]])).tolist() == [pytest.approx(1 + 2 / 3)]
    again = networks.from_state(model.state_dict(), positions=model.rule)
    assert again(torch.tensor([[1, 0, 0, 0]])).tolist() == [0.75]


def _head(width: int = 3, out: int = 3) -> networks.Head:
    return networks.Head(torch.zeros(width, width), torch.zeros(width, out))


def _without(name: str, **more: torch.Tensor) -> dict[str, torch.Tensor]:
    return {key: value for key, value in _random_encoder(0).state_dict().items() if key != name} | more


EYE, BAD = torch.eye(3), torch.full((3, 3), torch.nan)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: networks.Norm(-1.0), "eps: expected a number ≥ 0, got -1.0"),
        (lambda: networks.Norm(math.nan), "eps: expected a number ≥ 0, got nan"),
        (lambda: networks.Norm(math.inf), "eps: expected a number from 0 to 1e.100, got inf"),
        (lambda: networks.Norm("small"), "eps: expected a number, got str"),
        (lambda: networks.Norm(0.0, centre="no"), "centre: expected True or False, got 'no'"),
        (lambda: networks.Norm(0.0, EYE[0], EYE[0, :2]), r"bias: expected shape \(D,\) with D = 3, got \(2,\)"),
        (lambda: networks.Norm(0.0)(torch.ones(2, 3, dtype=int)), "x: expected floating-point numbers, got torch.i"),
        (lambda: networks.Head(EYE[:2], EYE), r"query_key: expected shape \(D, D\), got \(2, 3\)"),
        (lambda: networks.Head(BAD, EYE), "query_key: expected finite numbers, got nan"),
        (lambda: networks.Head(EYE, None), "value: expected a tensor of real numbers, got None"),
        (
            lambda: networks.Head(EYE, EYE.double()),
            "value: expected torch.float32, as the others have, got torch.float64",
        ),
        (lambda: networks.Head(EYE, EYE, mask=-EYE), "mask: expected 0 and −∞, got -1"),
        (lambda: networks.Head(EYE, EYE, mask=torch.full((4, 4), -torch.inf)), "mask: expected a 0 in every row"),
        (lambda: _head()(torch.ones(5, 4)), r"x: expected shape \(…, n, 3\), got \(5, 4\)"),
        (lambda: networks.Layer([_head()])(torch.ones(5, 3), "last"), "rows: expected slice, got str"),
        (
            lambda: functional_call(_head(), networks.stacked({"value": torch.ones(4, 3, 3)}), torch.ones(3, 1, 2, 3)),
            r"x: expected leading axes that fit \(4, 1\), got \(3, 1\)",
        ),
        (lambda: networks.Mlp([torch.ones(1, 1)], []), "biases: expected one, or None, for each of 1 weights, got 0"),
        (lambda: networks.Mlp([], []), "weights: expected 1 or more, got 0"),
        (
            lambda: networks.Mlp([EYE, EYE[:2]], [None, None]),
            r"weights\[1\]: expected shape .* with H1 = 3, got \(2, 3\)",
        ),
        (lambda: networks.Mlp([EYE], [None])(EYE[:, :2]), r"x: expected shape \(…, 3\), got \(3, 2\)"),
        (lambda: networks.Layer([]), "heads: expected one or more, or a skip, got neither"),
        (lambda: networks.Layer([EYE]), r"heads\[0\]: expected networks.Head, got torch.Tensor"),
        (lambda: networks.Layer([_head(), _head(2)]), r"heads\[1\]: expected shape \(D, D\) with D = 3, got \(2, 2\)"),
        (lambda: networks.Layer([_head()], keep=EYE[:2]), r"keep: expected shape \(U, Z\) with U = 3, got \(2, 3\)"),
        (lambda: networks.Layer([_head()], keep=EYE.double()), "keep: expected torch.float32, as the others have"),
        (lambda: _head().attention(torch.ones(5), rows=slice(1)), r"x: expected shape \(…, n, 3\), got \(5,\)"),
        (lambda: networks.Layer([_head()])(torch.ones(5)), r"x: expected shape \(…, n, 3\), got \(5,\)"),
        (lambda: networks.Circuit(EYE, EYE[:, :2], []), r"positions: expected shape \(N, D\) with D = 3, got \(3, 2\)"),
        (lambda: networks.Circuit(EYE, EYE, [], appended=(3,)), "appended: expected an integer from 0 to 2, got 3"),
        (lambda: networks.Circuit(EYE, EYE, [], read=3), "read: expected an integer from -3 to 2, got 3"),
        (lambda: networks.Circuit(EYE, lambda n: EYE, [])([[0, 1]]), r"positions: expected shape \(2, 3\), got \(3"),
        (lambda: _random_encoder(0)(torch.tensor([[1, -1, 1, 1, 1]])), "symbols: expected 0 and 1, got -1; signs are"),
        (lambda: _random_encoder(0)(torch.tensor([[0, 2, 0, 0, 0]])), "symbols: expected 0 and 1, got 2"),
        (lambda: _random_encoder(0)(torch.tensor([[0.5, 0, 0, 0, 0]])), "symbols: expected 0 and 1, got 0.5"),
        (lambda: _random_encoder(0)(torch.zeros(1, 4)), r"symbols: expected shape \(…, 5\), got \(1, 4\)"),
        (lambda: networks.Circuit(EYE, EYE, [])([[0, 1, 0]]), "readout: expected one, because .* 3 channels, got none"),
        (lambda: networks.Circuit(EYE, lambda n: EYE[:n], [], read=2)([[0, 1]]), "read: expected .* from -2 to 1"),
        (lambda: networks.stacked({"value": EYE[0]}), r"parameters: value: expected shape \(K, D, E\) or \(K, H\)"),
        (lambda: _random_encoder(0)(None), "symbols: expected a tensor of real numbers, got None"),
        (
            lambda: _random_encoder(0).many({"readuot": EYE}, _bits(5)),
            "parameters: expected names among .* got 'readuot'",
        ),
        (lambda: networks.many(None, {}, _bits(5)), "model: expected nn.Module, got NoneType"),
        (lambda: networks.from_state(_without("tokens")), "state: expected a tensor of the name 'tokens', got none"),
        (
            lambda: networks.from_state(_without("layers.0.heads.1.value")),
            "state: expected a tensor of the name 'layers.0.heads.1.value', got none",
        ),
        (
            lambda: networks.from_state(_without("", extra=EYE)),
            "state: expected the names of a Circuit, got 'extra'",
        ),
        (
            lambda: networks.from_state(_without("", **{"layers.0.norm.centre": torch.tensor(torch.nan)})),
            "centre: expected True or False, got nan",
        ),
        (lambda: networks.from_state(3), "state: expected collections.abc.Mapping, got int"),
        (lambda: networks.squared_norms(_head(), exclude=("valeu",)), "exclude: .* query_key, value, got 'valeu'"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
