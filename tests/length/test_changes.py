"""One setting at a time: the trials are those of ``sharper`` and of HR but for the change, and the summary by hand."""

import dataclasses
import math

import numpy as np
import pytest

from flatcube.experiments import store
from flatcube.length import changes, forest, sharper
from flatcube.length.changes import CHANGES, EXPERIMENT, Trial


def _settings(trial):
    """All but lengths, functions and seeds: one rate and one decay for all."""
    (own,) = {draw[1:] for draw in trial.draws}
    rest = {key: value for key, value in dataclasses.asdict(trial).items() if key not in ("n", "functions", "draws")}
    return rest | {"rate": own[0], "decay": own[1]}


def test_between_no_change_and_all_lie_the_six_that_the_chapter_names():
    ours, theirs = (_settings(sharper.EXPERIMENT.trials(scale)[0]) for scale in ("book", "paper"))
    assert _settings(Trial(4, "none", (0,)).networks) == ours
    assert _settings(Trial(4, "all", (0,)).networks) == theirs
    differing = {key for key in ours if ours[key] != theirs[key]}
    assert len(differing) == 6
    for change in set(CHANGES) - {"none", "all"}:
        here = _settings(Trial(4, change, (0,)).networks)
        (key,) = {key for key in ours if here[key] != ours[key]}
        assert here[key] == theirs[key]
        differing -= {key}
    assert not differing


def test_no_network_so_short_was_given_up_in_the_stored_runs():
    """So that patience need not be varied at these lengths."""
    ends = {row["reason"] for row in store.load("sharper") if row["n"] in ("4", "6", "8")}
    assert ends == {"end"} and {trial.n for trial in EXPERIMENT.trials("book")} == {4, 6, 8}


def test_the_grids():
    assert EXPERIMENT.hours("book") <= 2  # an hour of two cores
    assert {trial.change for trial in EXPERIMENT.trials("book")} == set(CHANGES) - {"patience", "all"}
    assert {trial.change for trial in EXPERIMENT.trials("paper")} == set(CHANGES)


def test_a_live_trial_says_which_change_it_made():
    trial = EXPERIMENT.trials("live")[-1]
    rows = changes.trial(trial)
    assert {row["change"] for row in rows} == {"width"} and {row["width"] for row in rows} == {16}
    assert [row["step"] for row in rows] == [0, 30, 60] * 2
    assert rows == changes.trial(trial)


def _rows(slopes, failed=()):
    rng = np.random.default_rng(3)
    same = {"kind": "encoder", "function": "PARITY", "rate": 6e-4, "decay": 0.1, "width": 64, "reason": "end"}
    return [
        same | {"change": change, "n": n, "seed": seed, "converged": int((change, n, seed) not in failed),
                "sharpness": slope * n + 0.001 * rng.normal()}
        for change, slope in slopes.items() for n in (4, 6, 8) for seed in range(5)
    ]  # fmt: skip


def test_the_summary_of_rows_made_by_hand():
    rows = _rows({"none": 0.02, "rate": 0.05, "width": 0.02}, failed={("rate", 8, 0)})
    stored = [{key: str(value) for key, value in row.items()} for row in rows]
    none, rate, width = changes.summary(stored)["slopes"]
    assert [line["entered"] for line in (none, rate, width)] == [15, 14, 15] and math.isnan(none["gap"])
    assert none["low"] < 0.02 < none["high"] and rate["gap_low"] < 0.03 < rate["gap_high"]
    assert width["gap_low"] < 0 < width["gap_high"] < 0.01 < rate["gap_low"]
    mine = [(row["n"], row["sharpness"]) for row in rows if row["change"] == "none"]
    assert none["value"] == pytest.approx(forest.slope(*map(list, zip(*mine, strict=True)))["value"])


def test_a_change_without_a_line_has_no_numbers():
    failed = {("rate", n, seed) for n in (6, 8) for seed in range(5)}
    none, rate = changes.summary(_rows({"none": 0.0, "rate": 0.1}, failed))["slopes"]
    assert math.isfinite(none["value"]) and math.isnan(rate["value"]) and math.isnan(rate["gap"])
    (alone,) = changes.summary(_rows({"rate": 0.1}))["slopes"]
    assert math.isfinite(alone["value"]) and math.isnan(alone["gap"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Trial(4, "depth", (0,)), "^change: expected one of none, width, .*, all, got 'depth'$"),
        (lambda: Trial(4, "none", ()), "^seeds: expected one for each network, got none$"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
