"""Other networks and another function: exact against PyTorch's modules, the same again, and a summary by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from flatcube import sharpness
from flatcube.experiments import store
from flatcube.length import trials as networks
from flatcube.length import variants
from flatcube.length.trials import Trial
from flatcube.length.variants import EXPERIMENT
from flatcube.networks import rivals
from flatcube.networks.rivals import Lstm, Perceptron, Rivals

SMALL = Trial(("PARITY",), 3, ((0, 5e-3, 0.1), (4, 5e-3, 0.1)), width=8, batch=16, steps=10, chance_after=None,
              every=5, directions=10)  # fmt: skip


@pytest.mark.parametrize("kind", [Perceptron, Lstm])
def test_networks_at_once_are_those_that_pytorch_computes_alone(kind):
    together = Rivals(kind, 5, 16, seeds=[3, 7, 8]).double()
    bits = torch.randint(0, 2, (3, 9, 5), generator=torch.Generator().manual_seed(0))
    for k in range(len(together)):
        one = together.member(k)
        parts = {type(part) for part in one.modules()} - {kind, nn.ModuleList}
        assert parts == ({nn.Linear} if kind is Perceptron else {nn.LSTM, nn.Linear})
        assert torch.allclose(together(bits)[k], one(bits[k]), rtol=0, atol=1e-14)
        assert torch.allclose(together(bits[0])[k], one(bits[0]), rtol=0, atol=1e-14)  # inputs that all share
    gradient = torch.autograd.grad(together(bits).sum(), [*together.parameters()])
    one = together.member(1)
    for own, expected in zip(gradient, torch.autograd.grad(one(bits[1]).sum(), [*one.parameters()]), strict=True):
        assert torch.allclose(own[1], expected, rtol=1e-10, atol=1e-14)


def test_an_lstm_by_hand():
    """One step from nothing: h = σ(o) tanh(σ(i) tanh(g)), the gates in PyTorch's order i, f, g, o."""
    together = Rivals(Lstm, 1, 4, seeds=[0]).double()
    read, _, first, second, weight, bias = (stack[0].detach().numpy() for stack in together.weights)
    gates = (read[:, 0] * -1 + first + second).reshape(4, 7)  # a one is −1
    let, _, out = (1 / (1 + np.exp(-gates[place])) for place in (0, 1, 3))
    expected = weight[0] @ (out * np.tanh(let * np.tanh(gates[2]))) + bias[0]
    assert float(together(torch.tensor([[1]]))[0, 0].detach()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", [Perceptron, Lstm])
def test_networks_are_drawn_as_pytorch_draws_them(kind):
    before = torch.get_rng_state()
    together = Rivals(kind, 6, 32, seeds=[5, 6])
    assert torch.equal(torch.get_rng_state(), before)  # nobody else's random numbers change
    torch.manual_seed(6)
    for stack, own in zip(together.weights, kind(6, 32).parameters(), strict=True):
        assert torch.equal(stack[1], own) and not torch.equal(stack[0], stack[1])
    torch.set_rng_state(before)


def test_all_kinds_have_about_as_many_weights():
    encoder = networks.encoders(replace(SMALL, n=12, width=32)).member(0)
    count = sum(p.numel() for name, p in encoder.named_parameters() if name != "positions")
    assert count == 12_993
    for kind, n, expected in ((Perceptron, 8, 12_853), (Perceptron, 12, 13_285), (Lstm, 8, 13_273), (Lstm, 12, 13_273)):
        assert sum(p.numel() for p in kind(n, 32).parameters()) == expected
        assert abs(expected / count - 1) < 0.03


@pytest.mark.parametrize("kind", [Perceptron, Lstm])
def test_sharpness_of_a_rival_is_that_of_its_shifted_weights(kind):
    """To second order L_ρ is ρ² E‖∇f‖², which autograd gives."""
    model = Rivals(kind, 3, 8, seeds=[2]).double().member(0)
    bits = torch.tensor([[0, 1, 1], [1, 0, 0], [1, 1, 1]])
    weights = [*model.parameters()]
    slopes = [torch.autograd.grad(model(row[None])[0], weights) for row in bits]
    expected = sum(float(part.square().sum()) for parts in slopes for part in parts) / len(bits)
    found = sharpness.average_direction(model, bits, rho=1e-4, directions=400, seed=0)
    assert found.value / 1e-8 == pytest.approx(expected, abs=4 * found.error / 1e-8)


@pytest.mark.parametrize("kind", ["causal", "mlp", "lstm"])
def test_a_trial_gives_the_same_numbers_again(kind):
    trial = replace(SMALL, kind=kind)
    rows = variants.trial(trial)
    assert [{**row, "blowup": 0} for row in rows] == [{**row, "blowup": 0} for row in variants.trial(trial)]
    assert [row["step"] for row in rows] == [0, 5, 10] * 2 and {row["kind"] for row in rows} == {kind}
    assert all(math.isnan(row["blowup"]) == (kind != "causal") for row in rows)
    assert rows[2]["error"] != rows[0]["error"] and rows[2]["norm"] != rows[5]["norm"]
    alone = variants.trial(replace(trial, draws=trial.draws[1:]))
    assert alone[-1]["error"] == pytest.approx(rows[-1]["error"], rel=1e-3)


def _rows(levels: dict[tuple[str, str, int], float]) -> list[dict]:
    rng = np.random.default_rng(0)
    same = {"rate": 1e-3, "decay": 0.1, "width": 32}
    return [
        same | {"kind": kind, "function": function, "n": n, "seed": seed, "converged": int(seed > 0),
                "reason": "end" if seed else "chance", "sharpness": level * math.exp(0.1 * rng.normal())}
        for (kind, function, n), level in levels.items() for seed in range(5)
    ]  # fmt: skip


def test_the_summary_of_rows_made_by_hand():
    rows = _rows({("encoder", "PARITY", 8): 0.2, ("encoder", "MAJORITY", 8): 0.05, ("encoder", "HALF", 8): 0.1,
                  ("encoder", "PARITY", 12): 0.4, ("lstm", "PARITY", 8): 0.02,
                  ("lstm", "MAJORITY", 8): 0.01})  # fmt: skip
    tables = variants.summary([{name: str(value) for name, value in row.items()} for row in rows])  # as stored
    assert [(line["runs"], line["converged"], line["chance"]) for line in tables["panels"]] == [(5, 4, 1)] * 6
    true = {
        "functions": {("encoder", "PARITY", 8): 4, ("encoder", "HALF", 8): 2, ("lstm", "PARITY", 8): 2},
        "lengths": {("encoder", "PARITY", 12): 2},
        "kinds": {("lstm", "PARITY", 8): 0.1, ("lstm", "MAJORITY", 8): 0.2},
    }
    for name, expected in true.items():
        found = {(line["kind"], line["function"], line["n"]): line for line in tables[name]}
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert found[key]["low"] < value < found[key]["high"] and found[key]["p"] < 1e-3
            assert (found[key]["converged"], found[key]["others"]) == (4, 4)


def test_what_is_said_of_the_claims():
    cast = [(function, n) for function in ("PARITY", "MAJORITY") for n in (8, 12)]
    levels = {(kind, *panel): 0.01 for kind in networks.KINDS for panel in cast}
    levels |= {("rms", "PARITY", 8): 0.03} | {("causal", "PARITY", n): 0.05 for n in (8, 12)}
    causal, both = variants.measured(_rows(levels))
    assert [row["id"] for row in (causal, both)] == ["HR-X3", "HR-SUM-NC1"]
    assert [row["verdict"] for row in (causal, both)] == ["agrees", "agrees in part"]
    ratios = {(line["kind"], line["function"], line["n"]): line["ratio"]
              for line in variants.summary(_rows(levels))["functions"]}  # fmt: skip
    assert f"causal, n = 12: {ratios['causal', 'PARITY', 12]:.2g} (" in causal["statement"]
    assert "4 and 4 networks converged" in causal["statement"]
    fewer = [row for row in _rows(levels) if row["kind"] != "causal" or row["n"] != 12 or row["seed"] == 0]
    assert "unknown, 0 and 0 networks" in variants.measured(fewer)[0]["statement"]


def test_the_interval_of_a_ratio_is_students_or_welchs():
    rng = np.random.default_rng(3)
    some, others = rng.lognormal(1, 0.5, 4), rng.lognormal(0, 0.1, 6)
    top, bottom = np.log(some), np.log(others)
    gap = top.mean() - bottom.mean()
    pooled = (top.var() * 4 + bottom.var() * 6) / 8
    parts = top.var(ddof=1) / 4, bottom.var(ddof=1) / 6
    free = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 5)
    halves = {
        "common": stats.t.ppf(0.975, 8) * math.sqrt(pooled * (1 / 4 + 1 / 6)),
        "own": stats.t.ppf(0.975, free) * math.sqrt(sum(parts)),
    }
    for scatter, half in halves.items():
        found = variants.ratio([*some], [*others], scatter)
        expected = tuple(np.exp([gap, gap - half, gap + half]))
        assert (found["ratio"], found["low"], found["high"]) == pytest.approx(expected)
    assert variants.ratio([*some], [*others]) == variants.ratio([*some], [*others], "own")
    assert math.isnan(variants.ratio([], [1.0])["ratio"]) and math.isnan(variants.ratio([2.0], [1.0, 3.0])["low"])


def test_two_networks_do_not_make_a_narrow_interval():
    """PARITY of 12 bits with RMS norm: Student's interval lies far above 1, Welch's reaches it."""
    found = {line["kind"]: line for line in variants.summary(store.load("variants"))["functions"] if line["n"] == 12}
    assert found["rms"]["converged"] == 2 and found["rms"]["low"] < 1 < found["rms"]["ratio"]


def test_the_book_scale_is_the_one_that_was_promised():
    grid = EXPERIMENT.trials("book")
    panels = {(trial.kind, function, trial.n) for trial in grid for function in trial.functions}
    pairs = [(kind, function) for kind in variants._KINDS for function in ("PARITY", "MAJORITY")]
    assert panels == {(*pair, n) for pair in [*pairs, ("encoder", "HALF")] for n in (8, 12)}
    counts = {(trial.kind == "lstm" or trial.functions == ("MAJORITY",), len(trial.draws)) for trial in grid}
    assert counts == {(True, 4), (False, 8)}
    assert len({(trial.steps, trial.batch, trial.width, trial.schedule) for trial in grid}) == 1
    assert EXPERIMENT.hours("book") <= 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variants.ratio([1.0, 2.0], [1.0, 3.0], "pooled"), "^scatter: expected own or common, got 'pooled'$"),
        (lambda: variants.trial(replace(SMALL, kind="rnn")), "^kind: expected one of encoder, .*, lstm, got 'rnn'$"),
        (lambda: Rivals(Perceptron, 4, 8, seeds=[]), "^seeds: expected one for each member, got none$"),
        (lambda: Rivals(Perceptron, 0, 8, seeds=[0]), "^n: "),
        (lambda: rivals.Rivals(Lstm, 4, 8, seeds=[0])(torch.zeros(2, 3)), r"^bits: expected shape \(…, batch, 4\)"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
