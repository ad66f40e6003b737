"""PARITY with a scratchpad: no step sees the future, the sharpness is that of a plain loop, the summary adds up."""

from dataclasses import replace

import pytest
import torch
from torch.func import functional_call

from flatcube import sharpness
from flatcube.length import stepwise
from flatcube.length.stepwise import EXPERIMENT, Network, Trial, freely, squares, states
from flatcube.sharpness.landscape import random_vectors

SMALL = Trial(3, 0, width=8, batch=8, steps=6, every=3, directions=10)


@pytest.fixture(scope="module")
def bits():
    return torch.randint(2, (12, 7), generator=torch.Generator().manual_seed(1))


def test_the_scratchpad_holds_the_parities_of_all_prefixes(bits):
    for x, t in zip(bits.tolist(), states(bits).tolist(), strict=True):
        assert t == [sum(x[: i + 1]) % 2 for i in range(7)]


def test_no_step_sees_what_is_written_later(bits):
    model = Network(7, width=8, seed=3)
    before = model(bits)
    assert before.shape == (12, 7) and torch.equal(before, model(bits, states(bits)))
    for place in range(7):
        written = states(bits)
        written[:, place] ^= 1
        changed = (model(bits, written) != before).any(0)
        assert not changed[: place + 1].any()
        assert changed[place + 1 : place + 2].all()


def test_every_step_sees_all_bits(bits):
    model, other = Network(7, width=8, seed=3), bits.clone()
    other[:, -1] ^= 1
    assert (model(other, states(bits)) != model(bits)).all(0).all()


def test_a_free_run_is_one_step_after_the_other(bits):
    model = Network(7, width=8, seed=2)
    written = torch.zeros_like(bits)
    for i in range(7):
        with torch.no_grad():
            written[:, i] = (model(bits, written)[:, i] < 0).long()
    assert torch.equal(freely(model, bits), written)
    assert not torch.equal(written, states(bits)) and not torch.equal(written, (model(bits) < 0).long())


def test_a_network_that_is_always_right_runs_freely_as_it_was_taught(bits):
    class Right(Network):
        def forward(self, bits, written=None):
            before = torch.cat([torch.zeros_like(bits[:, :1]), written[:, :-1]], 1)
            return 1 - 2.0 * (bits ^ before)

    assert torch.equal(freely(Right(7), bits), states(bits))


def test_the_sharpness_is_that_of_a_plain_loop(bits):
    model = Network(7, width=8)
    found = squares(model, bits, rho=0.05, directions=12, seed=4)
    weights = {name: p.detach() for name, p in model.named_parameters() if name != "positions"}
    loop = []
    for shift in torch.cat(list(random_vectors(12, torch.zeros(sum(map(torch.numel, weights.values()))), seed=4))):
        parts = dict(zip(weights, shift.split([p.numel() for p in weights.values()]), strict=True))
        shifted = {name: p + 0.05 * parts[name].view_as(p) for name, p in weights.items()}
        with torch.no_grad():
            loop.append((functional_call(model, shifted, (bits,)) - model(bits)).square().mean(0))
    assert found.shape == (12, 7) and torch.allclose(found, torch.stack(loop).double(), rtol=1e-3, atol=1e-7)
    usual = sharpness.average_direction(model, bits, rho=0.05, directions=12, seed=4)
    assert float(found.sum(1).mean()) == pytest.approx(usual.value, rel=1e-5)  # the outputs added up


def test_a_trial_gives_the_same_numbers_again():
    state = torch.get_rng_state()
    rows = stepwise.trial(SMALL)
    assert rows == stepwise.trial(SMALL) and torch.equal(state, torch.get_rng_state())
    assert [row["step"] for row in rows] == [0, 3, 6]
    assert stepwise.trial(replace(SMALL, seed=1))[0]["norm"] != rows[0]["norm"]
    for row in rows:
        assert row["sharpness"] > 0 and row["deviation"] > 0 and row["final"] > 0 and 0 <= row["free"] <= 1
        assert (row["n"], row["converged"], row["reached"]) == (3, 0, -1)


def test_training_teaches_the_steps():
    rows = stepwise.trial(replace(SMALL, n=2, width=32, batch=16, steps=100, every=50, rate=3e-3))
    assert rows[0]["error"] > 0.5 and rows[-1]["error"] < 1e-3
    assert rows[-1]["converged"] == 1 and rows[-1]["reached"] in (50, 100) and rows[-1]["free"] == 1


def _rows(slope: float) -> list[dict]:
    return [
        {"n": n, "seed": seed, "step": 9, "converged": int(seed < 3), "final": 0.2 + 0.001 * (seed - 1), "free": 0.75,
         "sharpness": 9.0 if seed == 3 else 0.05 + slope * n + 0.001 * (seed - 1)}
        for n in (8, 32, 128) for seed in range(4)
    ]  # fmt: skip


def test_the_summary_is_of_the_last_rows_that_converged():
    early = [row | {"step": 0, "sharpness": 7.0, "final": 7.0} for row in _rows(0.0)]
    tables = stepwise.summary([{k: str(v) for k, v in row.items()} for row in early + _rows(1e-4)])
    assert [line["n"] for line in tables["lengths"]] == [8, 32, 128]
    line = tables["lengths"][1]
    assert (line["runs"], line["converged"], line["free"], line["final"]) == (4, 3, 0.75, pytest.approx(0.2))
    assert line["untrained"] == 7
    assert [line[name] for name in ("least", "mean", "most")] == pytest.approx([0.0522, 0.0532, 0.0542])
    steps, final = tables["slopes"]
    assert steps["networks"] == 9 and steps["slope"] == pytest.approx(1e-4) and steps["low"] > 0
    assert final["slope"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (_rows(0.0), "agrees"),
        (_rows(-1e-4), "agrees"),
        (_rows(1e-4), "agrees in part"),
        ([row | {"sharpness": 2 * row["sharpness"]} for row in _rows(0.0)], "agrees in part"),
        (_rows(1e-3), "differs"),
    ],
)
def test_the_verdict_follows_from_the_numbers(rows, verdict):
    (found,) = stepwise.measured(rows)
    assert found["verdict"] == verdict and found["id"] == "HR-F11" and "3 of 4" in found["statement"]


def test_low_means_all_networks_and_most_of_them_must_converge():
    rows = _rows(0.0)
    next(row for row in rows if row["converged"])["sharpness"] = 0.12
    assert stepwise.measured(rows)[0]["verdict"] == "agrees in part"
    rows, lost = _rows(0.0), 0
    for row in rows:
        if row["n"] == 32 and row["converged"] and lost < 2:
            row["converged"], lost = 0, lost + 1
    assert stepwise.measured(rows)[0]["verdict"] == "differs"


def test_the_scales_are_those_that_were_promised():
    book, paper = EXPERIMENT.trials("book"), EXPERIMENT.trials("paper")
    assert len({trial.steps for trial in book}) == 1 and max(trial.n for trial in book) >= 100
    for n in (8, 16, 32, 64, 128):
        assert len({trial.seed for trial in book if trial.n == n}) == 3
    assert EXPERIMENT.hours("book") < 0.3
    assert len(paper) == 300 and [trial.n for trial in paper[::10]][:4] == [4, 39, 74, 109] and paper[-1].n == 1024


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "^n: "),
        ({"width": 6}, "^width: expected a multiple of 4, got 6$"),
        ({"directions": 1}, "^directions: "),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)
