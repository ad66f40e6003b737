"""Networks before training: the numbers are those of a plain computation, and the summary is a straight line."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from flatcube import cube, networks
from flatcube.experiments import store
from flatcube.length import initial
from flatcube.length.initial import EXPERIMENT, Trial

SMALL = Trial(4, "encoder", 2, 4, "1", networks=6)


def _flips(outputs: np.ndarray, n: int) -> float:
    """as_n of the outputs cut at their median, by the definition."""
    cut = outputs > np.median(outputs)
    return sum(cut[k] != cut[k ^ 1 << i] for k in range(2**n) for i in range(n)) / 2**n


def test_encoders_are_those_of_their_seeds():
    (row,) = initial.trial(SMALL)
    bits = torch.as_tensor(cube.to_bits(cube.points(4))).long()
    found = []
    for seed in range(9, 15):
        model = networks.Encoder(networks.Config(n=4, layers=2, heads=4, std=1.0), seed=seed)
        with torch.no_grad():
            found.append(_flips(model(bits).numpy(), 4))
    assert row["mean"] == pytest.approx(np.mean(found))
    assert row["error"] == pytest.approx(np.std(found, ddof=1) / math.sqrt(6))
    assert list(row.values())[:6] == [4, "encoder", 2, 4, "1", 6]


def test_lstms_are_those_of_their_seeds():
    (row,) = initial.trial(Trial(3, "LSTM", 1, 0, "3", networks=3))
    signs = torch.as_tensor(cube.points(3)).float()
    found = []
    for seed in range(9, 12):
        torch.manual_seed(seed)
        cells, readout = torch.nn.LSTM(1, 32, batch_first=True), torch.nn.Linear(32, 1)
        with torch.no_grad():
            for weight in cells.parameters():
                weight *= 3
            found.append(_flips(readout(cells(signs[..., None])[0][:, -1])[:, 0].numpy(), 3))
    assert row["mean"] == pytest.approx(np.mean(found))


@pytest.mark.parametrize("trial", [SMALL, Trial(5, "LSTM", 1, 0, "10", networks=4)])
def test_a_trial_gives_the_same_numbers_again_and_leaves_the_random_numbers_alone(trial):
    state = torch.get_rng_state()
    assert initial.trial(trial) == initial.trial(trial)
    assert torch.equal(state, torch.get_rng_state())
    assert initial.trial(trial) != initial.trial(replace(trial, seed=100))


def _rows(encoder: float, lstm: float, wide: float = 2.0) -> list[dict]:
    """As stored: as = slope · n for two-layer networks, others the same."""
    of = {("encoder", "4", "default"): encoder, ("encoder", "4", "3"): wide, ("LSTM", "0", "default"): lstm}
    return [
        {"n": str(n), "kind": kind, "layers": layers, "heads": heads, "scale": scale, "networks": "60",
         "mean": str(wide if scale == "3" else slope * n), "error": "0.01"}
        for n in (4, 8, 12) for (kind, heads, scale), slope in of.items() for layers in ("1", "2", "4")
    ]  # fmt: skip


def test_the_summary_is_a_line_through_the_means():
    slopes = initial.summary(_rows(0.125, 0.25))["slopes"]
    assert len(slopes) == 9
    (line,) = [line for line in slopes if (line["kind"], line["layers"]) == ("LSTM", 4)]
    assert (line["longest"], line["share"], line["slope"]) == (12, 0.25, pytest.approx(0.25))
    assert line["high"] - line["low"] < 1e-6


@pytest.mark.parametrize(
    ("rows", "verdict", "count"),
    [
        (_rows(0.125, 0.25), "agrees", 9),
        (_rows(0.125, 0.25, wide=2.9), "agrees", 9),
        (_rows(0.125, 0.25, wide=3.1), "agrees in part", 9),  # some encoders nearly reach random functions
        (_rows(0.249, 0.25), "differs", 0),  # the errors overlap
        (_rows(0.6, 0.7), "differs", 0),  # above random functions
    ],
)
def test_the_verdict_follows_from_the_numbers(rows, verdict, count):
    (found,) = initial.measured(rows)
    assert found["verdict"] == verdict and f"below both in {count} of 9 pairs" in found["statement"]
    assert found["id"] == "HR-S6-INIT"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "MLP"}, "^kind: expected encoder or LSTM, got 'MLP'$"),
        ({"n": 0}, "^n: "),
        ({"networks": 1}, "^networks: "),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)


def test_the_book_scale_has_the_length_of_chapter_9():
    cells = [trial for trial in EXPERIMENT.trials("book") if trial.n == initial._N]
    assert len(cells) == 39 and {(trial.networks, trial.seed) for trial in cells} == {(60, 9)}
    assert EXPERIMENT.hours("book") < 0.15


def test_what_is_stored_is_computed_again():
    rows = store.load("initial")
    (kept,) = [r for r in rows if list(r.values())[:5] == ["8", "encoder", "1", "1", "default"]]
    (again,) = initial.trial(Trial(8, "encoder", 1, 1, "default"))
    assert again["mean"] == pytest.approx(float(kept["mean"]), abs=0.02)
    assert again["error"] == pytest.approx(float(kept["error"]), abs=0.005)
