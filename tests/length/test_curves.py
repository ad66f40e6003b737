"""What the summaries of ``dynamics``, ``tradeoff`` and ``longer`` say of made-up networks whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from flatcube.experiments import trends
from flatcube.length import dynamics, longer, tradeoff
from flatcube.length import trials as networks

SAME = {"kind": "encoder", "n": 8, "rate": 1e-3, "decay": 0.1, "width": 32, "steps": 1000, "reason": "end"}


def _curve(seed: int, drop: int, decay: float = 0.1, function: str = "PARITY", late: float = 0.3) -> list[dict]:
    """The error falls at ``drop``; then norm falls by 1 per 100 steps and log blow-up rises by ½; lost at the end."""
    own = SAME | {"function": function, "seed": seed, "decay": decay, "converged": 0, "reached": drop, "ended": 2000}
    rows = []
    for step in range(0, 2001, 100):
        way = max(0, step - drop) / 100
        error = 0.9 if step < drop or step == 2000 else 1e-4
        rows.append(own | {"step": step, "error": error, "norm": 20 - way, "blowup": 2 + way / 2,
                           "sharpness": 0.05 if step < drop else 0.4 if step == drop else late})  # fmt: skip
    return rows


def test_a_jump_and_the_way_after_it_are_found():
    rows = [row for seed, drop in enumerate((200, 300, 500, 600)) for row in _curve(seed, drop)]
    given_up = [row | {"reached": -1, "seed": 9} for row in _curve(0, 200)]
    tables = dynamics.summary(rows + given_up)
    assert len(tables["networks"]) == 4
    one = tables["networks"][0]
    assert (one["before"], one["after"], one["peak"], one["late"]) == pytest.approx((0.05, 0.4, 0.4, 0.3))
    changes = (one["norm"], one["blowup"], one["slope"], one["r"])
    assert changes == pytest.approx((-17, 8.5, -0.5, -1))  # without the end
    (line,) = tables["decays"]
    assert (line["networks"], line["kept"], line["lost"], line["slope"]) == (4, 0, 4, pytest.approx(-0.5))


def test_a_network_may_lose_what_it_learnt_and_find_it_again():
    """An error above ½ between the goal and the end is a loss, whatever the last record says."""
    found = []
    for bad, last in ((0.6, 1e-4), (0.4, 1e-4), (0.4, 0.6), (0.6, 2e-3)):
        rows = _curve(0, 200)
        rows[10]["error"], rows[-1]["error"] = bad, last
        rows = [row | {"converged": int(last < 1e-3)} for row in rows]
        (one,) = dynamics.summary(rows)["networks"]
        found.append((one["kept"], one["lost"], one["error"]))
    assert found == [(1, 1, 1e-4), (1, 0, 1e-4), (0, 1, 0.6), (0, 1, 2e-3)]


def test_the_way_ends_where_parity_is_lost_and_the_whole_does_not():
    rows = _curve(0, 200)
    rows[-1]["norm"], rows[-1]["blowup"] = 30.0, 20.0  # lost, and far off the way
    (one,) = dynamics.summary(rows)["networks"]
    since = [row for row in rows if row["step"] >= 200]
    whole = stats.pearsonr([row["norm"] for row in since], [row["blowup"] for row in since]).statistic
    assert one["r"] == pytest.approx(-1) and one["whole"] == pytest.approx(whole) and whole > -0.9


def test_a_verdict_counts_losses_at_the_end_and_on_the_way():
    rows = []
    for seed, drop in enumerate((200, 300, 500)):
        for decay in dynamics._DECAYS:
            curve = _curve(seed, drop, decay)
            if decay == 0.2:  # lost on the way in two networks, found again in all
                curve[-1]["error"], curve[-2]["error"] = 1e-4, (0.9, 0.9, 1e-4)[seed]
                curve = [row | {"converged": 1} for row in curve]
            rows += curve
        rows += [row | {"sharpness": 0.01} for row in _curve(seed, 100, 0.0, "FIRST")]
    (said,) = (row["statement"] for row in dynamics.measured(rows) if row["id"] == "HR-F12")
    assert "above 0.001 in 3 with 0, 3 with 0.1, 0 with 0.2, 3 with 0.3; above 1/2 in 3 with 0, " in said
    assert said.endswith("after the goal has one above 1/2 in 3 with 0, 3 with 0.1, 2 with 0.2, 3 with 0.3.")


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ({}, ["agrees", "agrees", "agrees", "agrees", "agrees"]),
        ({"sharpness": lambda row: 0.05}, ["differs", "agrees", "agrees", "agrees in part", "agrees"]),
        ({"sharpness": lambda row: row["sharpness"] * (1 + 20 * row["decay"] * (row["norm"] < 15))},
         ["agrees in part", "agrees in part", "agrees", "agrees", "agrees"]),
        ({"norm": lambda row: 20.0 + row["seed"] + 0.01 * row["step"]},
         ["agrees", "agrees in part", "differs", "agrees", "differs"]),
    ],
)  # fmt: skip
def test_verdicts_on_training_follow_their_rules(change, verdicts):
    rows = []
    for seed, drop in enumerate((200, 300, 500, 600, 700)):
        for decay in dynamics._DECAYS:
            rows += _curve(seed, drop, decay, late=0.1 + 0.01 * seed + decay)
        rows += [row | {"sharpness": 0.01} for row in _curve(seed, 100, 0.0, "FIRST")]
    for row in rows:
        if row["function"] == "PARITY":
            row |= {name: new(row) for name, new in change.items()}
    found = dynamics.measured(rows)
    assert [row["id"] for row in found] == ["HR-F3", "HR-F12", "HR-SUM-E3", "HR-F13", "HR-F14"]
    assert [row["verdict"] for row in found] == verdicts


def _judged(claim, after=0.4, late=lambda seed, decay: 0.3, one=None):
    """The verdict on a claim: sharpness 0.05 before, ``after`` just after (``one`` in a single network), then late."""
    rows = []
    for seed, drop in enumerate((200, 300, 500, 600, 700)):
        for decay in dynamics._DECAYS:
            curve = _curve(seed, drop, decay, late=late(seed, decay))
            just = [row for row in curve if row["step"] == drop]
            just[0]["sharpness"] = one if one is not None and (seed, decay) == (0, 0.0) else after
            rows += curve
        rows += [row | {"sharpness": 0.01} for row in _curve(seed, 100, 0.0, "FIRST")]
    return {row["id"]: row["verdict"] for row in dynamics.measured(rows)}[claim]


@pytest.mark.parametrize(
    ("after", "one", "expected"),
    [(0.11, None, "agrees"), (0.09, None, "agrees in part"), (0.11, 0.04, "agrees in part"), (0.04, None, "differs")],
)
def test_sharpness_must_double_and_rise_everywhere(after, one, expected):
    late = 0.03 if expected != "differs" else 0.2  # lower late than just after, or not
    assert _judged("HR-F3", after=after, one=one, late=lambda seed, decay: late) == expected


@pytest.mark.parametrize(
    ("late", "expected"), [(0.21, "agrees"), (0.19, "agrees in part"), (0.79, "agrees"), (0.81, "agrees in part")]
)
def test_sharpness_must_change_by_less_than_a_factor_two(late, expected):
    assert _judged("HR-F12", late=lambda seed, decay: late) == expected


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (lambda seed, decay: 0.1 + 0.01 * seed + 0.035 * (decay > 0), "agrees"),  # p = 0.016
        (lambda seed, decay: 0.1 + 0.01 * seed + 0.015 * (decay > 0), "agrees in part"),  # p = 0.11
    ],
)
def test_flatter_without_decay_by_a_test(late, expected):
    assert _judged("HR-F13", late=late) == expected


def _scattered(c: float, noise: float = 0.05) -> list[dict]:
    rng = np.random.default_rng(0)
    rows = []
    for n in (5, 8, 11):
        for seed in range(12):
            norm = rng.uniform(8, 16) + 0.3 * n  # longer inputs also have larger norms: not what is asked for
            height = 6 - 0.4 * norm + c * n + noise * rng.normal()
            rows.append(SAME | {"function": "PARITY", "n": n, "seed": seed, "rate": 1e-3 + 1e-6 * seed, "converged": 1,
                                "norm": norm, "blowup": height, "sharpness": 0.1})  # fmt: skip
    return rows


def test_the_shift_of_the_frontier_is_at_equal_norm():
    (plane,) = tradeoff.summary(_scattered(0.2))["planes"]
    assert plane["low"] < 0.2 < plane["high"] and plane["p"] < 1e-6
    assert plane["b"] == pytest.approx(-0.4, abs=0.02)
    (level,) = tradeoff.summary(_scattered(0.0))["planes"]
    assert level["low"] < 0 < level["high"]
    lost = [row | {"converged": 0, "blowup": 99.0, "seed": 50} for row in _scattered(0.2)]
    assert tradeoff.summary(_scattered(0.2) + lost)["planes"] == [plane]


def test_its_interval_holds_the_truth_as_often_as_it_says():
    rng, held = np.random.default_rng(1), 0
    for _ in range(400):
        rows = [{"norm": rng.normal(), "n": n, "blowup": rng.normal()} for n in (5, 5, 8, 8, 11, 11)]
        found = tradeoff._shift(rows)
        held += found["low"] < 0 < found["high"]
    assert stats.binomtest(held, 400, 0.95).pvalue > 1e-3
    assert math.isnan(tradeoff._shift(rows[:3])["c"])
    assert math.isnan(tradeoff._shift([row | {"n": 5} for row in rows])["c"])


def test_long_inputs_enter_the_slope():
    row = SAME | {"function": "MEAN", "converged": 1, "seed": 0}
    rows = [row | {"n": n, "sharpness": 0.001 * n + 0.01 * (n == 64)} for n in (8, 64, 128)]
    (slope,) = longer.summary(rows)["slopes"]
    assert slope["slope"] == pytest.approx(trends.line([8, 64, 128], [0.008, 0.074, 0.128])["slope"])


def test_the_last_row_of_a_network_is_the_one_that_counts():
    first, second = SAME | {"function": "FIRST", "seed": "0", "error": "1"}, {"error": "0.5"}
    assert [row["error"] for row in networks.last([first, first | second, first | {"seed": "1"}])] == [0.5, 1]


def test_the_intervals_of_a_line_are_those_of_the_textbook():
    x, y = np.array([1.0, 2, 3, 5, 9]), np.array([2.0, 1, 4, 4, 9])
    design = np.stack([np.ones(5), x], 1)
    (a, b), (squares,) = np.linalg.lstsq(design, y)[:2]
    spread = squares / (5 - 2) * np.linalg.inv(design.T @ design)
    t = stats.t.ppf(0.975, 5 - 2)
    found = trends.line(x, y)
    assert (found["slope"], found["intercept"]) == pytest.approx((b, a))
    assert (found["low"], found["high"]) == pytest.approx((b - t * spread[1, 1] ** 0.5, b + t * spread[1, 1] ** 0.5))


def test_a_line_is_followed_with_a_scatter_for_each_place():
    """By the sandwich formula: (XᵀX)⁻¹ Xᵀ diag(s²) X (XᵀX)⁻¹ with the variances s² of each place."""
    x, y = np.repeat([4.0, 6, 12], [3, 4, 3]), np.array([1.0, 1.1, 1.2, 2, 3, 2, 3, 3, 7, 9])
    design = np.stack([np.ones(10), x], 1)
    best, inner = np.linalg.lstsq(design, y)[0], np.linalg.inv(design.T @ design)
    place = np.array([1.0, 30])
    pull = place @ inner @ design.T  # the weight of each number in the height at 30
    parts = {g: (pull[x == g] ** 2).sum() * y[x == g].var(ddof=1) for g in (4, 6, 12)}
    variance = sum(parts.values())
    free = variance**2 / sum(part**2 / (np.sum(x == g) - 1) for g, part in parts.items())
    half = stats.t.ppf(0.975, free) * variance**0.5
    ahead = trends.forecast([*x], [*y], 30)
    value = place @ best
    assert (ahead["value"], ahead["low"], ahead["high"]) == pytest.approx((value, value - half, value + half))
    assert math.isnan(trends.forecast([4, 4, 4], [1, 2, 3], 30)["value"])


def test_lines_agree_with_scipy_and_gaps_with_welch():
    rng = np.random.default_rng(3)
    x, noise = np.repeat([4.0, 8, 12], 5), rng.normal(size=(2, 15))
    one, other = (trends.line(x, slope * x + 0.1 * wild) for slope, wild in zip((0.5, 0.2), noise, strict=True))
    found = trends.gap(one, other, (13, 13))
    assert found["low"] < 0.3 < found["high"] and found["p"] < 1e-6
    assert trends.gap(one, one, (13, 13))["p"] == pytest.approx(1)
    assert math.isnan(trends.line([4, 4, 4], [1, 2, 3])["slope"]) and math.isnan(trends.spread([])["mean"])
    assert math.isnan(trends.gap({"slope": 1, "error": 0}, {"slope": 0, "error": 0}, (1, 1))["p"])
