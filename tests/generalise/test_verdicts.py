"""What the experiments of chapter 13 say of made-up rows whose truth is known, at the turning points of their rules."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from flatcube.generalise import (
    completions,
    domination,
    findings,
    flattened,
    gap,
    learners,
    own_inputs,
    perturbed,
    plain_start,
    random_functions,
)


def _verdict(experiment, rows, claim):
    """The verdict, the same for rows as computed and as stored."""
    found, stored = (
        {one["id"]: one["verdict"] for one in experiment.measured(some)}
        for some in (rows, [{name: str(value) for name, value in row.items()} for row in rows])
    )
    assert found == stored
    return found[claim]


# --- random functions -------------------------------------------------------------------------------------------------


def _extrapolated(less=0.5, flatter=0.9, shown=1.0, smaller=0.3, noise=0.1, **change):
    """as(g) is below that of f by ``less`` at 512 inputs, and by ``smaller`` more at each smaller size.

    Of the two draws of a function one is above its mean by as much as the other is below.
    """
    rows = []
    for seed, draw in product(range(10), range(2)):
        for k, size in enumerate((512, 256, 128)):
            wild = noise * (-1) ** k * (seed - 4.5) / 3 + 0.02 * (-1) ** draw
            rows.append({"seed": seed, "draw": draw, "n": 10, "size": size, "steps": 2500, "train": 0.001, "ended": 500,
                         "hidden": 0.5, "target": 5.0, "completion": 5.0, "sensitivity": 5 - less - smaller * k + wild,
                         "error": 0.01, "error_target": 0.01, "sharp": 0.1 * flatter + wild / 10, "sharp_target": 0.1,
                         "sharp_shown": (0.1 * flatter + wild / 10) * shown, "sharp_target_shown": 0.1,
                         "norm": 9.0, "norm_target": 9.0} | change)  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "agrees"),
        ({"less": 0.07}, "agrees"),  # ± 0.1: p = 0.027
        ({"less": 0.05, "smaller": 0.0}, "agrees in part"),
        ({"smaller": 0.0}, "agrees in part"),
        ({"flatter": 1.0}, "agrees in part"),
        ({"flatter": 0.94}, "agrees"),
        ({"flatter": 0.96}, "agrees in part"),
        ({"less": 0.0, "smaller": 0.0, "flatter": 1.0}, "differs"),
        ({"error_target": 0.06}, "agrees in part"),  # no pair fits
    ],
)
def test_extrapolations_must_be_less_sensitive_and_flatter(change, expected):
    assert _verdict(random_functions, _extrapolated(**change), "HR-F4") == expected


@pytest.mark.parametrize(
    ("shown", "expected"), [(1.0, "agrees"), (1.09, "agrees"), (1.11, "agrees in part"), (0.89, "agrees in part")]
)
def test_sharpness_on_the_training_set_must_be_within_a_tenth(shown, expected):
    assert _verdict(random_functions, _extrapolated(shown=shown), "HR-F15") == expected


def test_sharpness_is_compared_where_both_fit():
    rows = _extrapolated()
    lost = [row | {"error": 0.06, "sharp": 9.0} if row["seed"] == 3 else row for row in rows]
    lines = random_functions.summary(lost)["sizes"]
    assert {line["both"] for line in lines} == {18} and max(line["sharp"] for line in lines) < 0.2
    assert {(line["functions"], line["networks"]) for line in lines} == {(10, 20)}


def test_a_function_counts_once_however_many_draws_it_has():
    assert random_functions.by_function([(3, 1.0), (5, 7.0), (3, 2.0)]) == [1.5, 7.0]
    rows = _extrapolated(less=0.05)  # ten functions do not show it; the same rows as 20 functions would
    split = [row | {"seed": row["seed"] + 10 * row["draw"]} for row in rows]
    tests = [random_functions._less(some, "sensitivity", some, "target")
             for some in ([row for row in found if row["size"] == 512] for found in (rows, split))]  # fmt: skip
    assert tests == [False, True]
    (one, *_), (other, *_) = (random_functions.summary(found)["sizes"] for found in (rows, split))
    assert one["flatter"] == pytest.approx(other["flatter"]) and one["flatter_high"] > other["flatter_high"]
    (row,) = (one for one in own_inputs.summary(_own(6))["parts"])
    assert row["networks"] == 6 and row["shown"] == pytest.approx((0.8 + 1.1) / 2)


def _own(count):
    """Networks of two functions: one of the first, with 0.8 of the sharpness, and the others of the second."""
    row = {"size": 128, "rho": 0.02, "train": 0.001, "cube": 1.0, "control": 1.0, "scatter": 0.1}
    return [row | {"seed": min(k, 1), "draw": k, "shown": 1.1 if k else 0.8} for k in range(count)]


def test_draws_show_other_inputs_of_the_same_function():
    one, other = random_functions.EXPERIMENT.trials("live")[:2]
    assert (one.seed, one.draw, other.seed, other.draw) == (0, 0, 0, 1)
    (first, _), (second, _) = (random_functions.first_networks(trial) for trial in (one, other))
    assert all(np.array_equal(a.table, b.table) for a, b in zip(first, second, strict=True))
    assert not any(np.array_equal(a.shown, b.shown) for a, b in zip(first, second, strict=True))
    drawn = {float(trial.rng(size, what).random()) for trial in (one, other) for size in (4, 8) for what in range(3)}
    assert len(drawn) == 12 and one.start != other.start


def test_what_is_said_of_sharpness_names_the_networks_that_it_was_measured_on():
    said = {one["id"]: one["statement"] for one in random_functions.measured(_extrapolated())}
    assert all("trained on the whole cube" in said[id] for id in ("HR-F4", "HR-F15"))
    assert "nothing of encoders that were trained on these inputs alone" in said["HR-F15"]


def test_networks_on_their_own_inputs_are_counted_where_they_fit():
    row = {"size": 128, "rho": 0.02, "train": 0.001, "cube": 1.0, "shown": 0.5, "control": 1.2, "scatter": 0.1}
    rows = [row, row | {"shown": 0.85}, row | {"shown": 1.05, "control": 0.95}, row | {"train": 0.02, "shown": 0.1}]
    rows = [one | {"seed": seed} for seed, one in enumerate(rows)]
    one, other = own_inputs.summary([*rows, rows[0] | {"rho": 0.002}])["parts"]
    assert (one["networks"], one["fitted"], one["shown_less"], one["shown_below"]) == (4, 3, 2, 1)
    assert one["shown"] == pytest.approx(0.8) and one["shown_low"] < 0.8 < one["shown_high"]
    assert (one["control_less"], one["control_below"]) == (1, 0) and one["control"] == pytest.approx(3.35 / 3)
    assert other["fitted"] == 1 and math.isnan(other["shown_low"])


def test_the_networks_on_their_own_inputs_are_the_first_ones(monkeypatch):
    trial, kept = random_functions.EXPERIMENT.trials("live")[1], []
    right = random_functions.squares
    monkeypatch.setattr(random_functions, "squares", lambda *given: kept.append(right(*given)) or kept[-1])
    rows, first = own_inputs.trial(trial), random_functions.trial(trial)
    given, runs = random_functions.first_networks(trial)
    assert [(row["size"], row["rho"]) for row in rows] == [(m, rho) for m in trial.sizes for rho in own_inputs.NOISES]
    for k, (row, squares) in enumerate(zip(rows, kept, strict=False)):
        own, each, ell = first[k // 2], given[k // 2], squares.mean(axis=0)
        assert all(row[name] == own[name] for name in ("seed", "draw", "size", "train", "ended"))
        g = completions.extrapolate(findings.outputs(runs[k // 2].ensemble.member(0)))
        assert own["hidden"] == np.mean((g != each.table)[each.hidden])
        assert row["shown"] == ell[each.shown].mean() and row["cube"] == ell.mean()
        sets = [ell[list(some)].mean() for some in combinations(range(16), row["size"])]
        assert row["scatter"] == pytest.approx(np.std(sets)) and min(sets) <= row["control"] <= max(sets)


# --- the gap ----------------------------------------------------------------------------------------------------------


def _learned(a=2.0, b=1.5, arm="stop", degrees=(1, 2, 3, 4), sizes=(1, 2, 4, 8), noise=0.1, **change):
    """gap = 0.001 d^a w^b, and a bound of the hand-built network that grows like d² w²."""
    rows = []
    for d in degrees:
        for w in sizes:
            for seed in range(5):
                test = 0.01 + 0.001 * d**a * w**b * math.exp(noise * (seed - 2))
                rows.append({"arm": arm, "T": 12, "m": 1024, "degree": d, "sparsity": w, "batch": 64, "seed": seed,
                             "ended": 500, "fitted": 1, "train": 0.01, "test": test, "own": 0.0, "low": 0.0,
                             "above": test, "sensitivity": d, "constant": 0.05, "two_sided": 0.1, "norm2": 900.0,
                             "moved2": 20.0, "trace": 500.0, "hand_norm2": 100.0 * d**3 * w**3,
                             "hand_trace": 100.0 * d**3 * w**3, "certificate": 4.0, "noisy": 1.0,
                             "sigma": 0.01} | change)  # fmt: skip
    return rows


def _others(right=(5, 5, 0), degree_gap=2.0):
    """Rows of the arms with layer norm and with other batches."""
    rows = _learned(degree_gap, arm="norm", degrees=(1, 3), sizes=(1,))
    for batch, count in zip((64, 256, 1024), right, strict=True):
        some = _learned(arm="batch", degrees=(5,), sizes=(1,), batch=batch)
        rows += [row | {"fitted": int(row["seed"] < count)} for row in some]
    return rows


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(2.0, 1.5, "agrees"), (1.1, 1.1, "agrees"), (1.02, 1.5, "agrees in part"), (2.0, 1.02, "agrees in part"),
     (-1.0, -1.0, "agrees in part")],
)  # fmt: skip
def test_exponents_must_be_above_one(a, b, expected):
    rows = _learned(a, b)
    found = gap.powers(gap.fitted(rows))
    assert found["degree"]["low"] < a < found["degree"]["high"] and found["sparsity"]["slope"] == pytest.approx(b)
    assert _verdict(gap, rows + _others(), "SP-F1") == expected


@pytest.mark.parametrize(("b", "expected"), [(1.5, "agrees"), (0.9, "agrees in part")])
def test_the_longest_inputs_are_judged_however_many_fit_there(b, expected):
    longer = [row for row in _learned(2.0, b, T=16, m=2048) if (row["degree"], row["sparsity"]) != (4, 8)]
    lost = [row | {"fitted": 0, "degree": 4, "sparsity": 8} for row in longer[:5]]
    rows = _learned(2.0, 3.0) + _learned(2.0, 2.5, m=512) + longer + lost + _others()
    assert _verdict(gap, rows, "SP-F1") == expected
    statement = gap.measured(rows)[0]["statement"]
    assert statement.startswith("T = 16, m = 2048") and "75 of 80 networks fitted, none in 1 of 16" in statement
    assert statement.index("with T = 12, m = 1024") < statement.index("with T = 12, m = 512")


def test_the_book_has_all_classes_at_every_length_and_size():
    grid = [trial for trial in gap.EXPERIMENT.trials("book") if trial.arm == "stop"]
    cells = {(d, w) for d in (1, 2, 3, 4) for w in (1, 2, 4, 8)}
    for T, m in ((12, 512), (12, 1024), (16, 2048)):
        own = [trial for trial in grid if (trial.T, trial.m) == (T, m)]
        assert {(trial.degree, trial.sparsity) for trial in own} == cells and {len(trial.seeds) for trial in own} == {5}


def test_the_interval_of_an_exponent_holds_the_truth_as_often_as_it_says():
    rng, held = np.random.default_rng(0), 0
    for _ in range(400):
        rows = [{"degree": d, "sparsity": w, "gap": math.exp(rng.normal())} for d in (1, 2, 4) for w in (1, 3)]
        found = gap.powers(rows)["degree"]
        held += found["low"] < 0 < found["high"]
    assert 360 <= held <= 395
    assert math.isnan(gap.powers(rows[:3])["degree"]["slope"])
    assert math.isnan(gap.powers([row | {"degree": 1} for row in rows])["sparsity"]["slope"])


def test_networks_that_did_not_fit_do_not_enter_the_gap():
    rows = _learned()
    lost = [row | {"fitted": 0, "test": 99.0, "seed": 9} for row in rows]
    assert gap.powers(gap.fitted(rows + lost)) == gap.powers(gap.fitted(rows))
    (first, *_) = gap.summary(rows + lost)["cells"]
    assert (first["runs"], first["fitted"]) == (10, 5)


@pytest.mark.parametrize(("degree_gap", "expected"), [(2.0, "agrees"), (0.0, "differs")])
def test_the_gap_must_rise_with_layer_norm_too(degree_gap, expected):
    assert _verdict(gap, _learned() + _others(degree_gap=degree_gap), "SP-A-LN") == expected


def test_layer_norm_tells_how_many_fitted_the_harder_class():
    rows = _learned() + _others()
    hard = max((row for row in rows if row["arm"] == "norm"), key=lambda row: row["degree"] * row["sparsity"])
    cell = [row for row in rows if all(row[name] == hard[name] for name in ("arm", "T", "m", "degree", "sparsity"))]
    cell[0]["fitted"] = 0
    said = next(one for one in gap.measured(rows) if one["id"] == "SP-A-LN")["statement"]
    assert f"{len(cell) - 1} of {len(cell)} fitted in the harder class); without" in said


@pytest.mark.parametrize(
    ("right", "expected"),
    [((5, 5, 0), "agrees"), ((5, 0, 1), "agrees"), ((5, 0, 2), "agrees in part"), ((4, 4, 4), "differs"),
     ((3, 4, 5), "differs")],
)  # fmt: skip
def test_the_largest_batch_must_fail_more_often(right, expected):
    assert _verdict(gap, _learned() + _others(right), "SP-A-BATCH") == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [(80, "agrees"), (60, "agrees"), (59, "agrees in part"), (20, "agrees in part"), (19, "differs")],
)
def test_most_constants_must_be_where_the_paper_has_them(inside, expected):
    rows = [row | {"constant": 0.1 if k < inside else 0.11} for k, row in enumerate(_learned())]
    assert _verdict(gap, rows + _others(), "SP-A-SUBG") == expected


# --- domination -------------------------------------------------------------------------------------------------------


def _pairs(trace=11.0, norm=11.0, kinds=domination.KINDS, count=5, **change):
    """Hand-built networks with ``trace`` and ``norm`` times as much as the learned ones."""
    same = {"T": 12, "m": 1024, "sparsity": 4, "decay": 1e-4, "fitted": 1, "train": 0.01, "start": 90.0, "norm2": 100.0,
            "trace": 50.0, "hessian": 50.0, "hessian_error": 1.0, "top": 10.0, "hand_top": 100.0}  # fmt: skip
    same |= {f"{name}_norm2": 100 * norm for name in ("hand", "trimmed", "rescaled")}
    same |= {f"{name}_trace": 50 * trace for name in ("hand", "trimmed", "rescaled")}
    return [same | {"kind": kind, "degree": d, "seed": seed} | change
            for kind in kinds for d in (1, 2) for seed in range(count)]  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "expected"), [(11, "agrees"), (9, "agrees in part"), (1.01, "agrees in part"), (0.99, "differs")]
)
def test_far_above_is_ten_times(ratio, expected):
    assert _verdict(domination, _pairs(trace=ratio), "SP-F2A") == expected
    assert _verdict(domination, _pairs(norm=ratio), "SP-F2B") == expected


def test_two_networks_are_too_few_for_a_sign_test():
    assert _verdict(domination, _pairs(count=1), "SP-F2A") == "agrees in part"  # p = 1/4
    assert _verdict(domination, _pairs(count=3), "SP-F2A") == "agrees"  # p = 1/64


@pytest.mark.parametrize(
    ("trace", "norm", "expected"),
    [(32, 32, "agrees"), (31, 32, "agrees in part"), (316, 316, "agrees"), (317, 31, "differs"), (1, 1, "differs")],
)
def test_two_orders_of_magnitude_have_half_an_order_of_room(trace, norm, expected):
    assert _verdict(domination, _pairs(trace, norm), "SP-R3N") == expected
    said = domination.measured(_pairs(trace, norm) + _pairs(5, 5, kinds=("signed",)))[-1]["statement"]
    assert f"over the 10 networks for basic functions that fitted: trace {trace:.2g}," in said


def test_networks_with_strong_decay_are_told_of_but_do_not_decide():
    rows, strong = _pairs(), _pairs(0.1, 0.1, kinds=("basic",), decay=1.0)
    (plain, *_), (told, *_) = (domination.measured(some, []) for some in (rows, rows + strong))
    assert plain["verdict"] == told["verdict"] == "agrees"
    assert told["statement"] == plain["statement"] + " With decay 1 the hand-built one has more in 0 of 10 (p = 1), " \
        "in the median 0.1 times."  # fmt: skip


def test_longer_inputs_are_told_of_but_do_not_decide():
    row = {"arm": "stop", "T": 16, "m": 2048, "degree": 1, "sparsity": 1, "fitted": 1, "norm2": 100.0, "trace": 50.0}
    row |= {"hand_norm2": 50.0, "hand_trace": 1000.0}
    others = [row] * 5 + [row | {"degree": 2}] * 4 + [row | {"degree": 4, "hand_norm2": 150.0}]
    others += [row | {"fitted": 0}, row | {"arm": "norm"}, row | {"T": 12}]  # none of these counts
    trace, norm, both = (one["statement"] for one in domination.measured(_pairs(), others))
    assert "With T = 16, m = 2048 (gap.csv, 10 networks) it has more in 10 of 10 (by degree 5 of 5, 4 of 4, 1 of 1; " \
        "p = 0.00098), in the median 20 times, in the 3 classes 20 to 20: by the same rule" in trace  # fmt: skip
    assert trace.endswith("\"agrees\".")
    assert "more in 1 of 10 (by degree 0 of 5, 0 of 4, 1 of 1; " in norm and norm.endswith("\"differs\".")
    assert both.endswith("trace 20, ‖θ‖² 0.5.")
    for given in (others, others[-3:]):
        assert [one["verdict"] for one in domination.measured(_pairs(), given)][:2] == ["agrees", "agrees"]
    assert "T = 16" not in domination.measured(_pairs(), others[-3:])[0]["statement"]


@pytest.mark.parametrize("kind", domination.KINDS)
def test_functions_of_all_kinds_have_unit_variance(kind):
    parts = domination.components(8, 3, 5, kind, rng=np.random.default_rng(1))
    sizes = [len(members) for members, _ in parts]
    assert sizes == ([1, 2, 3, 1, 2] if kind == "mixed" else [3] * 5)
    assert len({members for members, _ in parts}) == 5
    assert math.hypot(*(weight for _, weight in parts)) == pytest.approx(2)
    assert (min(weight for _, weight in parts) > 0) == (kind == "basic")


def test_norm_and_trace_are_counted_among_networks_that_fit():
    row = {"T": 12, "m": 1024, "degree": 2, "sparsity": 1, "fitted": 1, "norm2": 50.0, "trace": 9.0}
    row["hand_norm2"] = 100.0
    row["hand_trace"] = 10.0
    rows = [row, row | {"norm2": 200.0}, row | {"trace": 20.0}, row | {"fitted": 0, "norm2": 1.0}, row | {"degree": 1}]
    two, one = plain_start.summary(rows)["classes"]
    assert [two[name] for name in ("networks", "fitted", "norm", "trace", "both")] == [4, 3, 2, 2, 1]
    assert two["norm2 ratio"] == 2 and (one["degree"], one["both"]) == (1, 1)


def test_first_weights_that_are_not_enlarged_are_plain():
    kind = learners.config(12)
    first = learners.drawn(kind, seed=0, logits=1 / kind.width)
    for name, weights in first.items():
        if name.endswith(".weight"):
            assert float(weights.square().mean()) * weights.shape[0] == pytest.approx(1, rel=0.35), name


def test_pushed_networks_are_compared_with_the_plain_ones_for_the_same_functions():
    row = {"kind": "coins", "arm": "plain", "T": 10, "m": 128, "degree": 0, "sparsity": 0, "fitted": 1}
    row |= {
        "train": 0.5,
        "test": 1.0,
        "moved2": 1.0,
        "ended": 100,
        "certificate": math.nan,
        "sensitivity": 3.0,
        "trace": 100.0,
        "trace_hidden": 100.0,
    }
    rows = [row | {"seed": seed, "sensitivity": 3.0 + seed} for seed in range(8)]
    rows += [one | {"arm": "sam", "trace": 50.0, "sensitivity": one["sensitivity"] * (1.1 if one["seed"] % 2 else 0.9)}
             for one in rows[:7]]  # fmt: skip
    rows[-1] = rows[-1] | {"fitted": 0}
    rows[8:] = [one | {"train": 0.75, "test": 0.75 if one["seed"] < 4 else 1.5} for one in rows[8:]]
    (line,) = flattened.summary(rows)["arms"]
    assert (line["runs"], line["pairs"]) == (7, 6)
    assert (
        line["trace_hidden"] == 1
        and line["trace"] == 0.5
        and line["trace_less"] == 6
        and line["trace_p"] == pytest.approx(2 / 64)
    )
    assert line["sensitivity_less"] == 3 and line["sensitivity_p"] == 1
    assert line["train"] == 1.5 and (line["train_less"], line["train_p"]) == (0, pytest.approx(2 / 64))
    assert (line["test"], line["test_less"]) == (0.75, 4) and math.isnan(line["certificate"])
    assert (line["gap_less"], line["gap_p"]) == (4, pytest.approx(44 / 64))
    (other,) = flattened.summary([*rows, rows[0] | {"kind": "parities"}])["arms"]  # of another kind
    assert other["pairs"] == 6


def test_gaps_of_pushed_networks_are_told_class_by_class():
    row = {"kind": "parities", "T": 12, "m": 1024, "fitted": 1, "moved2": 1.0, "ended": 100, "certificate": 4.0}
    row |= {"sensitivity": 1.0, "trace": 1.0, "trace_hidden": 1.0, "train": 0.25}
    rows = [row | {"arm": arm, "degree": d, "sparsity": w, "seed": seed, "test": 0.25 + gap}
            for d, w, plain, pushed in ((1, 1, 0.125, 0.0625), (2, 4, 1.0, 2.0))
            for seed in range(3) for arm, gap in (("plain", plain), ("sam", pushed))]  # fmt: skip
    for some in (rows, [{name: str(value) for name, value in one.items()} | {"fitted": one["fitted"]} for one in rows]):
        easy, hard = flattened.summary(some)["classes"]
        assert [(line["degree"], line["sparsity"], line["pairs"]) for line in (easy, hard)] == [(1, 1, 3), (2, 4, 3)]
        assert (easy["gap"], easy["gap_plain"], easy["gap_less"]) == (0.0625, 0.125, 3)
        assert (hard["gap"], hard["gap_plain"], hard["gap_less"]) == (2.0, 1.0, 0)
        assert (hard["test"], hard["test_plain"], hard["train"], hard["train_less"]) == (2.25, 1.25, 0.25, 0)


@pytest.mark.parametrize("arm", flattened.ARMS)
def test_all_ways_of_training_see_the_same_functions(arm):
    radius = 0.0 if arm == "plain" else 0.05
    rows = flattened.trial(flattened.Trial("coins", arm, radius, 4, 8, (0, 1), steps=2))
    assert [row["seed"] for row in rows] == [0, 1] and all(math.isnan(row["certificate"]) for row in rows)
    (one,) = flattened.trial(flattened.Trial("parities", arm, radius, 5, 20, (3,), 2, 1, steps=1))
    assert one["ended"] == 1 and 0 < one["certificate"] <= 4 and one["moved2"] > 0
    assert 0 < one["trace"] != one["trace_hidden"] > 0


# --- noise in the hand-built network ----------------------------------------------------------------------------------


def _noisy(change=0.01, excess=0.01, allowed=1.0, only=None):
    """Change and excess as shares of the trace, at one σ only if it is given; elsewhere they are zero."""
    rows = []
    for T in (8, 12, 16):
        for sigma in perturbed.SIGMAS:
            here = only in (None, sigma)
            half = sigma**2 / 2
            rows.append({"T": T, "degree": 2, "sparsity": 4, "seed": 0, "sigma": sigma, "trace": 100.0,
                         "perturbed": 100 * (1 + change * here), "perturbed_error": 0.0,
                         "loss": half * 100 * (1 + excess * here), "loss_error": 0.0,
                         "bound": half * 100 * (1 + allowed), "no_flip": 1.0})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("change", "excess", "only", "expected"),
    [
        (0.09, 0.09, None, "agrees"),
        (-0.09, -0.09, None, "agrees"),
        (0.11, 0.0, 1e-2, "agrees in part"),
        (0.0, -0.11, 1e-2, "agrees in part"),
        (0.0, 0.11, None, "differs"),
    ],
)
def test_noise_must_change_less_than_a_tenth_of_what_the_bound_allows(change, excess, only, expected):
    assert _verdict(perturbed, _noisy(change, excess, only=only), "SP-F3") == expected


def test_standard_errors_count_against_it():
    rows = [row | {"perturbed_error": 5.1} for row in _noisy(0.0, 0.0)]
    assert _verdict(perturbed, rows, "SP-F3") == "differs"


def test_a_standard_error_that_grows_with_the_length_is_no_growth():
    rows = [row | {"loss_error": row["T"] * row["loss"] / 100} for row in _noisy(0.0, 0.01)]
    assert max(abs(line["slope"]) for line in perturbed.summary(rows)["slopes"]) < 1e-12
    rows = [row | {"loss": row["loss"] * (1 + 0.002 * row["T"])} for row in _noisy(0.0, 0.0)]
    slopes = [line["slope"] for line in perturbed.summary(rows)["slopes"]]
    assert slopes == pytest.approx([0.002] * len(perturbed.SIGMAS))


def test_without_noise_nothing_changes():
    trial = perturbed.Trial(5, 2, 2, 0, inputs=8, directions=6)
    first, *_, last = perturbed.trial(trial)
    assert first["perturbed"] == pytest.approx(first["trace"], rel=2e-3)
    assert 2 * first["loss"] / first["sigma"] ** 2 == pytest.approx(first["trace"], rel=2e-3)
    assert last["bound"] > last["loss"] > 0 and first["no_flip"] == 1
