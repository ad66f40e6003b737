"""Sharpness against length: the experiment runs, says the same again, and its summary is what scipy and hand say."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from flatcube import blowup, cast, cli, cube, sharpness
from flatcube.experiments import engine
from flatcube.length import sharper
from flatcube.length import trials as networks
from flatcube.length.sharper import EXPERIMENT
from flatcube.length.trials import FUNCTIONS, Trial

DRAWS = ((0, 5e-3, 0.1), (3, 5e-3, 0.1))
SMALL = Trial(("PARITY", "MEAN"), 2, DRAWS, width=8, batch=16, steps=20, chance_after=None, every=10, directions=20)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """The rows of a run on the command line."""
    root = tmp_path_factory.mktemp("book")
    (root / "_toc.yml").touch()
    assert cli.main(["--root", str(root), "run", "sharper", "--scale", "live", "--workers", "1"]) == 0
    return root, engine.run(EXPERIMENT, "live", folder=root / "runs", progress=False)


def test_the_live_run(live, capsys):
    root, rows = live
    assert [(row["function"], row["n"], row["seed"], row["step"]) for row in rows] == [
        (function, n, seed, step)
        for n in (2, 4) for function in cast.NAMES for seed in (0, 1) for step in range(0, 201, 50)
    ]  # fmt: skip
    rows = networks.last(rows)
    for row in rows:
        assert row["converged"] == (row["error"] < 1e-3) and (row["reached"] >= 0 or not row["converged"])
        assert row["step"] == row["ended"] == row["steps"] == 200 and math.isfinite(row["blowup"])
        assert 0 < row["sharpness"] < 4 and row["norm"] > 0 and row["radius"] > 0 and row["deviation"] > 0
    assert sum(row["converged"] for row in rows) >= 12
    assert len({row["norm"] for row in rows}) == len(rows)  # no two networks are the same
    tables = EXPERIMENT.summary(rows)
    assert [line["runs"] for line in tables["lengths"]] == [2] * 8
    assert sum(line["converged"] for line in tables["lengths"]) == sum(row["converged"] for row in rows)
    assert cli.main(["--root", str(root), "status", "sharper"]) == 0
    assert "live   2 of 2 trials done" in capsys.readouterr().out
    assert cli.main(["--root", str(root), "status", "sharper", "--scale", "book"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("book ") and len(said.splitlines()) == 1
    assert cli.main(["--root", str(root), "status", "sharper", "--scale", "huge"]) == 1
    assert "huge" in capsys.readouterr().err


def test_a_trial_gives_the_same_numbers_again_and_its_members_are_independent():
    rows = sharper.trial(SMALL)
    assert rows == sharper.trial(SMALL)
    alone = sharper.trial(replace(SMALL, functions=("MEAN",), draws=DRAWS[1:]))
    for one, row in zip(alone, rows[9:], strict=True):  # three rows for each network
        assert one["error"] == pytest.approx(row["error"], rel=1e-3)
        assert one["sharpness"] == pytest.approx(row["sharpness"], rel=1e-3)


def test_the_last_row_is_measured_as_the_library_does():
    """With all inputs, the trial's number of directions, and directions of the network's own."""
    still = replace(SMALL, steps=1, draws=((0, 1e-12, 0.0), (3, 1e-12, 0.0)))  # trains, but does not move
    rows, members = networks.last(sharper.trial(still)), networks.encoders(still).members()
    bits = cube.to_bits(cube.points(2))
    for row, model, seed in zip(rows, members, networks.seeds(SMALL), strict=True):
        found = sharpness.average_direction(model, bits, rho=0.02, directions=20, seed=seed)
        assert row["sharpness"] == pytest.approx(found.value, rel=1e-5)
        assert row["norm"] == pytest.approx(sharpness.parameter_norm(model))
        log_product = blowup.measure(model, bits).log_product
        assert row["blowup"] == pytest.approx(float(log_product.mean()), rel=1e-4)
    assert len(set(networks.seeds(replace(SMALL, functions=tuple(FUNCTIONS))))) == 10


def with_threads(count, trial):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return sharper.trial(trial)
    finally:
        torch.set_num_threads(before)


def test_the_number_of_threads_changes_rounding_only():
    """To one part in a thousand after five steps; the engine itself always takes one thread."""
    wide = replace(SMALL, functions=("PARITY",), draws=DRAWS[:1], batch=512, steps=5)
    one, two = (with_threads(count, wide) for count in (1, 2))
    for first, second in zip(one, two, strict=True):
        for name in ("error", "sharpness", "norm"):
            assert first[name] == pytest.approx(second[name], rel=1e-3), name


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_the_functions_are_those_of_the_cube(n):
    for name in cast.NAMES:
        assert np.array_equal(FUNCTIONS[name](cube.points(n)), getattr(cube, name.lower())(n))
    half = cube.subset_parity(tuple(range(1, n // 2 + 1)), n)
    assert np.array_equal(FUNCTIONS["HALF"](cube.points(n)), half)


SAME = {"kind": "encoder", "rate": 6e-4, "decay": 0.1, "width": 64}


def _rows(slopes: dict[str, float], noise: float = 0.01) -> list[dict]:
    rng = np.random.default_rng(0)
    return [
        {**SAME, "function": name, "n": n, "seed": seed, "converged": int(seed > (n == 16) * 3),
         "reason": "end" if seed else "chance",
         "sharpness": 0.5 if seed == 0 else 0.1 + slope * n + noise * rng.normal()}
        for name, slope in slopes.items() for n in (4, 6, 8, 12, 16) for seed in range(6)
    ]  # fmt: skip


def test_a_line_ends_where_fewer_than_half_converge():
    rows = _rows({"PARITY": 0.05})  # at 16 bits two of six
    assert {row["n"] for row in sharper.fitted(rows)} == {4, 6, 8, 12}
    next(row for row in rows if row["n"] == 16 and row["seed"] == 3)["converged"] = 1  # three
    assert {row["n"] for row in sharper.fitted(rows)} == {4, 6, 8, 12, 16}
    assert sharper.summary(rows)["slopes"][0]["longest"] == 16


def test_the_summary_is_of_what_converged():
    rows = _rows({"PARITY": 0.05, "FIRST": 0.0})
    lost = {"function": "PARITY", "n": 20, "seed": 0, "converged": 0, "reason": "diverged", "sharpness": math.nan}
    rows.append(SAME | lost)
    tables = sharper.summary([{name: str(value) for name, value in row.items()} for row in rows])  # as stored
    kept = [row for row in rows if row["function"] == "PARITY" and row["converged"] and row["n"] <= 12]
    fit = stats.linregress([row["n"] for row in kept], [row["sharpness"] for row in kept])
    parity, first = tables["slopes"]
    assert (parity["runs"], parity["entered"], parity["longest"]) == (31, 20, 12)
    assert (parity["slope"], parity["r"], parity["p"]) == pytest.approx((fit.slope, fit.rvalue, fit.pvalue))
    assert parity["low"] < 0.05 < parity["high"] and first["low"] < 0 < first["high"]
    lengths = {(line["function"], line["n"]): line for line in tables["lengths"]}
    assert [lengths["PARITY", 16][name] for name in ("runs", "converged", "chance", "diverged")] == [6, 2, 1, 0]
    assert lengths["PARITY", 20]["diverged"] == 1 and math.isnan(lengths["PARITY", 20]["mean"])
    assert lengths["FIRST", 4]["mean"] == pytest.approx(0.1, abs=0.02)


def test_gaps_between_slopes_have_the_level_they_claim():
    slopes = sharper.summary(_rows({"PARITY": 0.05, "MAJORITY": 0.03, "FIRST": 0.05}))["slopes"]
    majority, first = sharper.gaps(slopes)
    assert majority["low"] < 0.02 < majority["high"] and majority["p"] < 1e-6
    assert first["low"] < 0 < first["high"] and first["p"] > 0.05


def test_networks_can_be_compared_at_equal_time_since_they_learnt():
    rows = [
        {**SAME, "function": "PARITY", "n": n, "seed": seed, "step": step, "reached": 100 * n, "reason": "end",
         "converged": int(seed > 0), "sharpness": step - 100 * n}
        for n in (4, 8) for seed in range(3) for step in range(0, 1001, 100)
    ]  # fmt: skip
    for age, expected in {200: [200] * 4, 150: [200] * 4, 300: [300] * 2, 700: []}.items():
        found = sharper.aged([{name: str(value) for name, value in row.items()} for row in rows], age)
        assert [row["sharpness"] for row in found] == expected
        assert {row["seed"] for row in found} <= {1, 2}


def test_no_line_is_drawn_through_one_length():
    lone = [row for row in _rows({"PARITY": 0.05}) if row["n"] == 4]
    assert math.isnan(sharper.summary(lone)["slopes"][0]["slope"])


def test_the_book_scale_is_the_one_that_was_promised():
    grid = EXPERIMENT.trials("book")
    assert EXPERIMENT.hours("book") <= 2  # an hour of two cores
    assert len({trial.steps for trial in grid}) == 1
    for function in cast.NAMES:
        seeds = {t.n: len(t.draws) for t in grid if t.functions == (function,)}
        assert all(seeds[n] >= 5 for n in (4, 6, 8, 12))
    longest = [trial for trial in grid if trial.n == 16]
    assert {trial.functions for trial in longest} == {("PARITY",)}
    assert [seed for trial in longest for seed, *_ in trial.draws] == [*range(10)]
    assert {trial.width for trial in EXPERIMENT.trials("paper")} == {128} and len(EXPERIMENT.trials("paper")) == 1080


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((("XOR",), 4, DRAWS), r"^functions: expected some of PARITY, MAJORITY, FIRST, MEAN, HALF, got \('XOR',\)$"),
        ((("PARITY",), 0, DRAWS), r"^n: "),
        ((("PARITY",), 4, ()), r"^draws: expected seed, rate and decay of at least one network, got none$"),
        ((("PARITY",), 4, DRAWS, "rnn"), r"^kind: expected one of encoder, rms, causal, got 'rnn'$"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        networks.encoders(Trial(*arguments))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "nothing"], "✗ name: expected one of five, "),
        (["run", "sharper", "--scale", "huge"], "✗ scale: expected one of live, book, paper, got 'huge'"),
        (["export", "sharper"], "✗ sharper: 18 of 18 trials of scale book are missing"),
    ],
)
def test_the_command_line_explains_itself(tmp_path, capsys, words, message):
    (tmp_path / "_toc.yml").touch()
    assert cli.main(["--root", str(tmp_path), *words]) == 1
    assert capsys.readouterr().err.startswith(message)


def test_the_list_of_experiments_has_figures_scales_and_costs(tmp_path, capsys):
    (tmp_path / "_toc.yml").touch()
    assert cli.main(["--root", str(tmp_path), "experiments"]) == 0
    said = capsys.readouterr().out
    assert "sharper: Sharpness" in said and "HR Figs 1, 5, 6, Table 2" in said
    assert all(f"--scale {scale}" in said for scale in ("live", "book", "paper")) and "of one core" in said
