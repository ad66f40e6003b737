"""The library of chapter 17: waves on the circle, the network by hand, the readings, the phases."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from flatcube import grokking
from flatcube.grokking import cycles, phases, watching

ODD = st.integers(1, 12).map(lambda k: 2 * k + 1)


# --- waves ------------------------------------------------------------------------------------------------------------


@given(ODD, st.integers(0, 2**32 - 1))
def test_harmonics_are_those_of_the_discrete_fourier_transform(p, seed):
    table = np.random.default_rng(seed).normal(size=(p, 3))
    power = np.square(np.abs(np.fft.fft(table, axis=0)))[1 : (p + 1) // 2].sum(1)
    shares = grokking.harmonics(table)
    assert np.allclose(shares, power / power.sum()) and shares.sum() == pytest.approx(1)
    moved = grokking.harmonics(np.roll(table, 2, 0) + 5)  # neither turning nor shifting changes them
    assert np.allclose(moved, shares)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=8))
def test_gini_and_effective_number_by_their_other_formulas(values):
    s = np.array(values)
    assert grokking.gini(s) == pytest.approx(np.abs(s[:, None] - s).sum() / (2 * len(s) * s.sum()), abs=1e-12)
    assert 1 - 1e-12 <= grokking.effective(s) <= len(s) + 1e-9


@given(ODD, st.integers(0, 2**32 - 1))
def test_turning_is_a_share_that_a_projection_leaves(p, seed):
    noise = np.random.default_rng(seed).normal(size=(p, p, p))
    a = np.arange(p)
    pure = np.random.default_rng(seed + 1).normal(size=p)[(a - a[:, None] - a[:, None, None]) % p]
    assert grokking.turning(pure) == pytest.approx(1)
    assert 0 <= grokking.turning(noise) < 1
    assert cycles.around(pure)[1] == pytest.approx(pure[0, 0, 1])


# --- the network by hand ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "ks"), [(3, [1]), (5, [2]), (9, [2]), (15, [7]), (59, [1]), (31, [3, 5, 14])])
def test_the_network_by_hand_is_right_on_all_pairs(p, ks):
    model = grokking.by_hand(p, ks).double()
    x = grokking.pairs(p)
    with torch.no_grad():
        scores = model(x)
    assert torch.equal(scores.argmax(1), x.sum(1) % p)


def test_its_margins_are_those_of_its_scores():
    p, ks = 13, [1, 5]
    with torch.no_grad():
        scores = grokking.by_hand(p, ks).double()(grokking.pairs(p)).numpy().reshape(p, p, p)
    a = np.arange(p)
    right = (a[:, None] + a) % p
    best = np.take_along_axis(scores, right[..., None], 2)[..., 0]
    np.put_along_axis(scores, right[..., None], -np.inf, 2)
    found = best - scores.max(2)
    wanted = grokking.margins(p, ks)[(a[:, None] - a) % p]
    assert np.allclose(found / found[0, 0], wanted / wanted[0, 0], rtol=1e-4)


def test_the_same_with_one_relu_is_wrong():
    model = grokking.by_hand(11, [1])
    with torch.no_grad():
        model.leave[11:] = 0  # half of the fold
        model.leave[:11] *= 2
        answers = model(grokking.pairs(11)).argmax(1)
    assert not torch.equal(answers, grokking.pairs(11).sum(1) % 11)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: grokking.pairs(4), "p: expected an odd number"),
        (lambda: grokking.by_hand(9, [3]), "no common divisor with 9, got 3"),
        (lambda: grokking.margins(7, [2, 2]), "expected different ones"),
        (lambda: grokking.margins(7, [4]), "frequencies"),
        (lambda: grokking.gini(np.zeros(3)), "shares: expected"),
        (lambda: grokking.turning(np.ones((3, 3))), "scores: expected shape"),
        (lambda: grokking.swaps(torch.zeros(3)), "answers: expected whole numbers"),
        (lambda: grokking.leads([], "turning"), "networks: expected 1 or more"),
        (lambda: grokking.leads([{"tau_gini": 1, "toward_gini": None, "way_gini": 1}], "gini"), "got None"),
        (lambda: grokking.Adder(5).load({"bias": torch.ones(2) * 1j}), "finite real numbers"),
        (lambda: grokking.Adder(5, width=6, heads=4), "width: expected a multiple of the 4 heads"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(call, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        call()


# --- the network that learns, and its readings ------------------------------------------------------------------------


def test_scores_are_those_of_attention_token_by_token():
    """The tables of the fast way against attention as it is written, one pair at a time."""
    model = grokking.Adder(5, width=8, heads=2, hidden=6, seed=3).double()
    x = grokking.pairs(5)
    with torch.no_grad():
        found = model(x)
        for (a, b), score in zip(x.tolist(), found, strict=True):
            tokens = torch.stack([model.numbers[a], model.numbers[b], model.equals]) + model.positions
            parts = []
            for head in range(2):
                own = slice(4 * head, 4 * head + 4)
                logits = (tokens @ model.key[:, own]) @ (tokens[2] @ model.query[:, own]) / 2
                parts.append(logits.softmax(0) @ (tokens @ model.value[:, own]))
            state = tokens[2] + torch.cat(parts) @ model.out
            state = state + (state @ model.enter + model.bias).relu() @ model.leave
            assert torch.allclose(state @ model.read, score)


def test_swaps_against_all_replacements():
    answers = torch.randint(3, (5, 5), generator=torch.Generator().manual_seed(0))
    changed = [answers[a, b] != answers[c, b] for a in range(5) for b in range(5) for c in range(5) if c != a]
    changed += [answers[a, b] != answers[a, c] for a in range(5) for b in range(5) for c in range(5) if c != b]
    assert grokking.swaps(answers) == pytest.approx(np.mean(changed))


def test_readings_of_the_network_by_hand():
    found = grokking.Readings(11, 0.5)(grokking.by_hand(11, [2]))
    assert found["train"] == found["test"] == found["unmirrored"] == found["swaps"] == 1
    assert found["gini"] == pytest.approx(0.8) and found["effective"] == pytest.approx(1)
    assert found["spectrum"] == "0 1000 0 0 0" and found["size"] == pytest.approx(0.5)
    lengths = np.abs(np.cos(np.pi * np.arange(11) / 11))
    assert found["turning"] == pytest.approx(np.mean(lengths) ** 2 / np.mean(lengths**2), rel=1e-4)


def test_unmirrored_pairs_have_no_mirror_in_training():
    readings = grokking.Readings(7, 0.4, seed=1)
    known = {tuple(pair) for pair in readings.x[readings.train].tolist()}
    new = [tuple(pair) for pair in readings.x[readings.unmirrored].tolist()]
    assert new and all((b, a) not in known and (a, b) not in known for a, b in new)
    others = {tuple(pair) for pair in readings.x[readings.test].tolist()} - {*new}
    assert all((b, a) in known for a, b in others)


def test_circles_of_a_circle_are_round():
    turn = 4 * np.pi * np.arange(9) / 9
    table = np.stack([np.cos(turn), np.sin(turn), np.zeros(9)], 1)
    (text,) = watching.drawn([table], 1)
    name, numbers = text.split(":")
    points = np.array(numbers.split(), int).reshape(-1, 2)
    assert name == "2" and np.allclose(np.linalg.norm(points, axis=1), 100, atol=1)


@pytest.mark.parametrize(
    "options",
    [{}, {"optimiser": "sgd", "rate": 0.1}, {"optimiser": "adam"}, {"radius": 0.05}, {"schedule": "cosine"}],
)
def test_training_lowers_the_loss(options):
    trial = grokking.Trial("x", 7, 0.7, 0, 40, **({"decay": 0.0, "width": 8, "hidden": 16} | options))
    rows = watching.trial(trial)
    assert rows[-1]["train_loss"] < rows[0]["train_loss"] and rows[0]["epoch"] == 0 and rows[-1]["epoch"] == 40


def test_without_decay_adamw_is_adam():
    """The arm "no decay" of the controls is Adam's; with decay the two part."""
    trial = grokking.Trial("x", 7, 0.7, 0, 10, width=8, hidden=16)
    ends = {(rule, decay): watching.trial(replace(trial, decay=decay, optimiser=rule))[-1]
            for rule in ("adam", "adamw") for decay in (0.0, 1.0)}  # fmt: skip
    assert ends["adam", 0.0]["norm"] == ends["adamw", 0.0]["norm"]
    assert ends["adam", 1.0]["norm"] != pytest.approx(ends["adamw", 1.0]["norm"], rel=1e-3)


# --- phases -----------------------------------------------------------------------------------------------------------


def test_an_event_holds_to_the_end():
    assert phases.since([0, 1, 2, 3], [True, True, False, True]) == 3
    assert phases.since([0, 1], [True, False]) == math.inf
    assert phases.since([0, 1], [True, True]) == 0


@pytest.mark.parametrize("value", [-math.inf, math.nan, -1.0, "10", None])
def test_an_event_that_is_no_epoch_is_refused_in_one_sentence(value):
    moments = {"memorised": 10, "left": value, "generalised": 80}
    with pytest.raises(ValueError, match=r"^found: expected an epoch for 'left', got "):
        grokking.phase(5, moments)
    assert grokking.phase(20, moments | {"left": math.inf}) == 2


def test_networks_that_saw_other_shares_of_the_pairs_are_kept_apart():
    rows = [{"arm": "decay", "p": 59, "share": share, "seed": 0, "epoch": 0} for share in (0.3, 0.4)]
    assert [curve[0]["share"] for curve in phases.curves(rows)] == [0.3, 0.4]
