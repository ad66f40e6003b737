"""The rules by which ``sharper``, ``longer`` and ``tradeoff`` judge HR, on made-up rows where the verdict is known."""

import numpy as np
import pytest

from flatcube.experiments import trends
from flatcube.length import forest, longer, sharper, tradeoff

SAME = {"kind": "encoder", "rate": 6e-4, "decay": 0.1, "width": 64, "step": 100}
LEVEL = {"PARITY": 0.05, "MAJORITY": 0.0, "FIRST": 0.0, "MEAN": 0.0}  # slopes of sharpness per bit


def _lengths(slopes, lengths=(4, 6, 8, 12), start=0.02, noise=0.001, converged=lambda name, n: 1):
    """Six networks of each function and length, their sharpness on a line with a little noise."""
    rng = np.random.default_rng(5)
    return [
        {**SAME, "function": name, "n": n, "seed": seed, "converged": converged(name, n), "reason": "end",
         "sharpness": start + slope * n + noise * rng.normal()}
        for name, slope in slopes.items() for n in lengths for seed in range(6)
    ]  # fmt: skip


def _verdicts(found):
    return {row["id"]: row["verdict"] for row in found}


@pytest.mark.parametrize(
    ("slopes", "expected"),
    [
        (LEVEL, {"HR-F1": "agrees", "HR-F5": "agrees", "HR-F5b": "agrees in part", "HR-TAB2-PAR": "agrees",
                 "HR-TAB2-MEAN": "agrees", "HR-TAB2-MAJ": "differs"}),
        (LEVEL | {"PARITY": 0.01, "MAJORITY": 0.01}, {"HR-F1": "agrees in part", "HR-TAB2-PAR": "agrees in part"}),
        (LEVEL | {"PARITY": 0.002, "MAJORITY": 0.0018}, {"HR-F5": "agrees in part", "HR-F5b": "differs",
                                                          "HR-TAB2-MAJ": "agrees"}),
        (LEVEL | {"PARITY": -0.001, "MEAN": 0.001}, {"HR-F1": "differs", "HR-F5": "differs",
                                                     "HR-TAB2-MEAN": "differs"}),
    ],
)  # fmt: skip
def test_sharpness_against_length(slopes, expected):
    found = _verdicts(sharper.measured(_lengths(slopes)))
    assert {claim: found[claim] for claim in expected} == expected


def test_a_falling_majority_is_not_almost_flat():
    assert _verdicts(sharper.measured(_lengths(LEVEL | {"MAJORITY": -0.04}, start=1.0)))["HR-F1"] == "agrees in part"
    assert _verdicts(sharper.measured(_lengths(LEVEL | {"PARITY": -0.001, "MAJORITY": -0.01}, start=1.0)))[
        "HR-F1"] == "agrees in part"  # only steeper than MAJORITY  # fmt: skip
    assert _verdicts(sharper.measured(_lengths(LEVEL | {"MAJORITY": 0.006})))["HR-F1"] == "agrees in part"
    assert _verdicts(sharper.measured(_lengths(LEVEL | {"MAJORITY": 0.004}, noise=1e-6)))["HR-F1"] == "agrees"


def test_a_rise_that_cannot_be_told_from_chance_is_none():
    rows = _lengths(LEVEL | {"PARITY": 0.003}, noise=0.05)
    line = sharper.summary(rows)["slopes"][0]
    assert line["low"] < 0 < line["slope"]
    found = _verdicts(sharper.measured(rows))
    assert found["HR-F1"] == "differs" and found["HR-TAB2-PAR"] == "differs"


def test_each_length_has_a_scatter_of_its_own():
    """The longest inputs scatter so widely that PARITY's rise is none, though one scatter for all would tell it."""
    rows = _lengths(LEVEL | {"PARITY": 0.0})
    for row in rows:
        if (row["function"], row["n"]) == ("PARITY", 12):
            row["sharpness"] = 0.02 + 0.1 * row["seed"] ** 2 / 15
    assert sharper.summary(rows)["slopes"][0]["low"] > 0
    found = {row["id"]: row for row in sharper.measured(rows)}
    assert found["HR-F1"]["verdict"] == found["HR-TAB2-PAR"]["verdict"] == "differs"
    own = forest.slopes(rows)
    assert f"({own[0]['low']:.2g} to {own[0]['high']:.2g})" in found["HR-TAB2-PAR"]["statement"]
    assert f"MAJORITY {trends.said(own[4], 'value')}" in found["HR-F5"]["statement"]


@pytest.mark.parametrize("name", ["MAJORITY", "FIRST", "MEAN"])
def test_nothing_agrees_where_a_function_never_converged(name):
    rows = _lengths(LEVEL, converged=lambda function, n: int((function, n) != (name, 12)))
    found = _verdicts(sharper.measured(rows))
    assert found["HR-F5"] == "differs"
    assert found["HR-SUM-E2"] == ("agrees in part" if name == "FIRST" else "agrees")


def test_sharper_is_not_steeper():
    """Ten times as sharp, but at all lengths."""
    rows = _lengths(dict.fromkeys(LEVEL, 0.0))
    for row in rows:
        row["sharpness"] *= 20 if row["function"] == "PARITY" else 1
    assert _verdicts(sharper.measured(rows))["HR-F5"] == "agrees in part"


def test_a_slope_a_hundred_times_as_steep():
    """The noise is so small that the slopes are what they were made to be."""
    slopes = {"PARITY": 0.05, "MAJORITY": 4e-4, "FIRST": 4e-4, "MEAN": -4e-4}
    assert _verdicts(sharper.measured(_lengths(slopes, noise=1e-7)))["HR-TAB2-CAP"] == "agrees"
    slopes["MAJORITY"] = 6e-4
    assert _verdicts(sharper.measured(_lengths(slopes, noise=1e-7)))["HR-TAB2-CAP"] == "agrees in part"
    slopes |= dict.fromkeys(("FIRST", "MEAN"), 0.05 / 95) | {"MAJORITY": -0.05 / 95}
    assert _verdicts(sharper.measured(_lengths(slopes, noise=1e-7)))["HR-TAB2-CAP"] == "differs"


def test_levels_of_parity_and_first():
    at = {"PARITY": 1.2, "MAJORITY": 0.01, "FIRST": 0.01, "MEAN": 0.01}
    rows = _lengths(dict.fromkeys(at, 0.0))
    for row in rows:
        row["sharpness"] += at[row["function"]]
    found = _verdicts(sharper.measured(rows))
    assert (found["HR-SUM-E1"], found["HR-SUM-E2"]) == ("agrees", "agrees")
    next(row for row in rows if row["function"] == "PARITY" and row["n"] == 12)["sharpness"] = 0.9
    for row in rows:
        row["sharpness"] += 0.1 * (row["function"] == "FIRST")
    found = _verdicts(sharper.measured(rows))
    assert (found["HR-SUM-E1"], found["HR-SUM-E2"]) == ("agrees in part", "differs")


@pytest.mark.parametrize(
    ("slopes", "fits", "expected"),
    [
        ({"MAJORITY": 0.002, "FIRST": 0.0, "MEAN": 0.0}, False, "agrees"),
        ({"MAJORITY": 0.002, "FIRST": 0.0, "MEAN": 0.0}, True, "agrees in part"),
        ({"MAJORITY": 0.002, "FIRST": 0.001, "MEAN": 0.0}, False, "agrees in part"),
        ({"MAJORITY": -0.001, "FIRST": 0.001, "MEAN": -0.001}, True, "differs"),
    ],
)
def test_long_inputs(slopes, fits, expected):
    rows = _lengths(slopes | {"PARITY": 0.0}, (8, 32, 256), converged=lambda name, n: int(fits or name != "PARITY"))
    (found,) = longer.measured(rows)
    assert (found["id"], found["verdict"]) == ("HR-F7", expected)
    assert ("PARITY 0 of 6 at 8" in found["statement"]) == (not fits)


def test_parity_fails_alone_only_where_the_others_do_not():
    slopes = {"MAJORITY": 0.002, "FIRST": 0.0, "MEAN": 0.0, "PARITY": 0.0}
    fits = {("PARITY", n): 0 for n in (8, 32, 64, 256)} | {("MEAN", 64): 0}
    rows = _lengths(slopes, (8, 32, 64, 256), converged=lambda name, n: fits.get((name, n), 1))
    assert longer.measured(rows)[0]["verdict"] == "agrees in part"
    rows = [row for row in rows if row["function"] != "PARITY" or row["n"] != 64]
    assert longer.measured(rows)[0]["verdict"] == "agrees"
    rows = [row for row in rows if row["n"] < 100]
    (found,) = longer.measured(rows)
    assert found["verdict"] == "agrees in part" and "several hundred bits" in found["statement"]


def test_a_rise_by_one_network_is_no_rise_by_ranks():
    rows = _lengths({"MAJORITY": 0.0, "FIRST": 0.0, "MEAN": 0.0, "PARITY": 0.0}, (8, 32, 128),
                    converged=lambda name, n: int(name != "PARITY"))  # fmt: skip
    for row in rows:
        if (row["function"], row["n"]) == ("MAJORITY", 128):
            row["sharpness"] = 0.005 + 0.1 * (row["seed"] > 2)
    (found,) = longer.measured(rows)
    assert found["verdict"] == "agrees in part" and "Kendall" in found["statement"]


def test_a_rise_to_three_networks_that_scatter_is_none_by_welch():
    rows = _lengths({"MAJORITY": 0.002, "FIRST": 0.0, "MEAN": 0.0, "PARITY": 0.0}, (8, 16, 32, 256),
                    converged=lambda name, n: int(name != "PARITY"))  # fmt: skip
    assert longer.measured(rows)[0]["verdict"] == "agrees"
    far = [row for row in rows if (row["function"], row["n"]) == ("MAJORITY", 256)]
    for row, value in zip(far, (0.2, 0.5, 0.9), strict=False):
        row["sharpness"] = value
    for row in far[3:]:
        row["converged"] = 0
    (found,) = longer.measured(rows)
    assert found["verdict"] == "agrees in part" and "With a scatter for each length" in found["statement"]


def _frontiers(slope, moves, above=(0.0, 0.0), cast=("PARITY", "MAJORITY", "FIRST", "MEAN")):
    """Log blow-up = 20 + slope · norm + move · n; PARITY's norm is larger by ``above`` at the least and most bits."""
    rng = np.random.default_rng(6)
    rows = []
    for name in cast:
        for n in (5, 8, 11):
            for seed in range(8):
                norm = rng.uniform(10, 15)
                blowup = 20 + slope * norm + moves.get(name, 0.0) * n + 0.02 * rng.normal()
                extra = {5: above[0], 11: above[1]}.get(n, 0.0) if name == "PARITY" else 0.0
                rows.append({**SAME, "function": name, "n": n, "seed": seed, "converged": 1, "reason": "end",
                             "sharpness": 0.1, "norm": norm + extra, "blowup": blowup})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("slope", "moves", "expected"),
    [
        (-1.0, {"PARITY": 0.2}, {"HR-F2": "agrees", "HR-F9": "agrees", "HR-F10": "agrees in part"}),
        (-1.0, {}, {"HR-F2": "agrees in part", "HR-F9": "agrees in part", "HR-F10": "agrees in part"}),
        (-1.0, {"FIRST": 0.2}, {"HR-F2": "agrees in part", "HR-F9": "agrees in part"}),
        (1.0, {"MEAN": 0.2}, {"HR-F2": "differs", "HR-F9": "differs"}),
    ],
)
def test_norm_against_blowup(slope, moves, expected):
    found = _verdicts(tradeoff.measured(_frontiers(slope, moves)))
    assert {claim: found[claim] for claim in expected} == expected


def test_a_length_at_which_nothing_converged_does_not_fall():
    rows = _frontiers(-1.0, {"PARITY": 0.2})
    for row in rows:
        row["converged"] = int((row["function"], row["n"]) not in {("PARITY", 8), ("MEAN", 8)})
    found = _verdicts(tradeoff.measured(rows))
    assert found["HR-F2"] == found["HR-F9"] == "agrees in part"
    for row in rows:
        row["converged"] *= row["function"] != "MEAN"
    with pytest.raises(ValueError, match="^rows: expected networks that converged for every function, got none for ME"):
        tradeoff.measured(rows)


@pytest.mark.parametrize(
    ("above", "expected"), [((0.0, 1.0), "agrees"), ((1.0, 1.0), "agrees in part"), ((1.0, 0.0), "differs")]
)
def test_the_norm_of_parity_at_equal_blowup(above, expected):
    assert _verdicts(tradeoff.measured(_frontiers(-1.0, {}, above)))["HR-F10"] == expected


@pytest.mark.parametrize(("move", "expected"), [(0.2, "agrees in part"), (0.001, "differs"), (-0.2, "differs")])
def test_another_sensitive_function(move, expected):
    cast = ("PARITY", "MAJORITY", "FIRST", "MEAN", "HALF")
    rows = _frontiers(-1.0, {"HALF": move, "PARITY": 0.2}, cast=cast)
    found = _verdicts(tradeoff.measured(rows))
    assert found.pop("HR-SUM-OQ1") == expected
    without = [row for row in rows if row["function"] != "HALF"]
    assert found == _verdicts(tradeoff.measured(without))  # HALF touches no other verdict
