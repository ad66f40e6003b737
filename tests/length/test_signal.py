"""The signal in the first gradient: exact against autograd, Parseval and real batches; the summary by hand."""

import itertools
import math

import numpy as np
import pytest
import torch

from flatcube import cube, fourier
from flatcube.experiments import store
from flatcube.length import signal
from flatcube.length.signal import EXPERIMENT, Trial
from flatcube.networks.config import Config
from flatcube.networks.encoder import Encoder

SMALL = Trial(3, (0, 5), width=8, batch=16)


def _model(trial: Trial, seed: int) -> Encoder:
    return Encoder(Config(n=trial.n, width=trial.width), seed=1000 * trial.n + seed, dtype=torch.float64)


def _bits(n: int) -> torch.Tensor:
    return torch.as_tensor(cube.to_bits(cube.points(n))).long()


def _by_input(model: Encoder, n: int) -> torch.Tensor:
    """∇T(x), one input at a time: (2^n, P)."""
    weights = [*model.parameters()]
    each = [torch.autograd.grad(model(row[None])[0], weights) for row in _bits(n)]
    return torch.stack([torch.cat([part.flatten() for part in parts]) for parts in each])


def test_the_gradients_of_all_parities_satisfy_parseval(monkeypatch):
    monkeypatch.setattr(signal, "_CHUNK", 5)  # chunks that do not divide the cube
    model, slopes = _model(SMALL, 0), _by_input(_model(SMALL, 0), 3)
    parities = np.stack([cube.subset_parity(cube.subset(mask), 3) for mask in range(8)]).astype(float)
    found = signal.correlation_gradients(model, parities)
    assert torch.allclose(found, torch.from_numpy(parities) @ slopes / 8, rtol=1e-10, atol=1e-14)
    assert found.square().sum() == pytest.approx(float(slopes.square().sum(1).mean()), rel=1e-10)


def test_signal_and_noise_are_those_of_the_gradient_of_the_loss():
    """The noise is the root mean square over all batches of one input, divided by √B."""
    for seed in SMALL.seeds:
        slopes, outputs = _by_input(_model(SMALL, seed), 3), _model(SMALL, seed)(_bits(3)).detach()
        rows = {row["function"]: row for row in signal.trial(SMALL) if row["seed"] == seed}
        for name, table in signal._targets(3, seed).items():
            each = 2 * (outputs - torch.from_numpy(table))[:, None] * slopes  # gradients on single inputs, (8, P)
            towards = 2 * torch.from_numpy(table) @ slopes / 8
            noise = (each - each.mean(0)).square().sum(1).mean().sqrt() / math.sqrt(SMALL.batch)
            assert rows[name]["signal"] == pytest.approx(float(towards.norm()), rel=1e-9)
            assert rows[name]["noise"] == pytest.approx(float(noise), rel=1e-9)


def test_random_is_the_mean_over_all_boolean_functions():
    trial = Trial(2, (1,), width=8, batch=16)
    slopes, outputs = _by_input(_model(trial, 1), 2), _model(trial, 1)(_bits(2)).detach()
    row = next(row for row in signal.trial(trial) if row["function"] == "RANDOM")
    signals, noises = [], []
    for values in itertools.product((-1.0, 1.0), repeat=4):
        f = torch.tensor(values, dtype=torch.float64)
        each = 2 * (outputs - f)[:, None] * slopes
        signals.append(float((2 * f @ slopes / 4).square().sum()))
        noises.append(float((each - each.mean(0)).square().sum(1).mean()) / 16)
    assert row["signal"] ** 2 == pytest.approx(np.mean(signals), rel=1e-9)
    assert row["noise"] ** 2 == pytest.approx(np.mean(noises), rel=1e-9)


def test_the_targets():
    tables = signal._targets(5, 3)
    assert [*tables, "RANDOM"] == list(signal._TARGETS)
    assert np.array_equal(tables["PARITY"], cube.parity(5))
    assert np.array_equal(tables["HALF"], cube.subset_parity((1, 2), 5))
    profile = fourier.spectrum(tables["LEVEL"]).profile
    assert profile == pytest.approx([0, 0, 1, 0, 0, 0]) and np.mean(tables["LEVEL"] ** 2) == pytest.approx(1)
    assert not np.array_equal(tables["LEVEL"], signal._targets(5, 4)["LEVEL"])


def test_the_stored_rows_are_computed_again():
    stored = [row for row in store.load("signal") if row["n"] == "4" and row["seed"] in ("0", "7")]
    for known, row in zip(stored, signal.trial(Trial(4, (0, 7))), strict=True):
        assert (known["function"], int(known["seed"])) == (row["function"], row["seed"])
        assert float(known["signal"]) == pytest.approx(row["signal"], rel=1e-5)
        assert float(known["noise"]) == pytest.approx(row["noise"], rel=1e-5)
    parity, majority = ({row["function"]: row for row in stored}[name] for name in ("PARITY", "MAJORITY"))
    assert float(parity["signal"]) < float(majority["signal"]) / 10


def _rows(slope: float, noise: float = 0.5) -> list[dict]:
    rng = np.random.default_rng(1)
    return [{"function": "PARITY", "n": n, "seed": seed, "width": 32, "batch": 256, "noise": noise,
             "signal": 2 ** (slope * n + 0.1 * rng.normal()) if n >= 4 else 100.0}
            for n in range(2, 10) for seed in range(6)]  # fmt: skip


def test_the_summary_of_rows_made_by_hand():
    tables = signal.summary([{name: str(value) for name, value in row.items()} for row in _rows(-0.7)])  # as stored
    (rate,) = tables["rates"]
    assert rate["networks"] == 36 and rate["signal_low"] < -0.7 < rate["signal_high"] < -0.6
    assert rate["ratio"] == pytest.approx(rate["signal"])  # the noise does not change
    at = {line["n"]: line for line in tables["lengths"]}
    assert (at[2]["signal"], at[2]["noise"], at[2]["ratio"]) == pytest.approx((100, 0.5, 200))
    assert at[2]["inputs"] == pytest.approx(256 / 200**2) and at[2]["networks"] == 6
    assert at[8]["low"] < at[8]["signal"] < at[8]["high"]
    assert math.isnan(signal.summary([row for row in _rows(-0.7) if row["n"] == 5])["rates"][0]["signal"])


def test_the_book_scale_costs_minutes():
    assert EXPERIMENT.hours("book") <= 0.1
    assert [trial.n for trial in EXPERIMENT.trials("book")] == [*range(2, 15)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, (0,)), "^n: "), ((4, ()), "^seeds: expected one for each network, got none$"), ((4, (0,), 8, 0), "^batch: ")],
)
def test_wrong_input_is_answered_in_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        Trial(*arguments)
