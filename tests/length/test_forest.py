"""The intervals of the forest plot, by other ways: scipy's tests, regression by hand, and simulated networks."""

import math

import numpy as np
import pytest
from scipy import stats

from flatcube.experiments import store, trends
from flatcube.length import forest, sharper

RNG = np.random.default_rng(12)
X = np.repeat([4.0, 6.0, 8.0, 12.0], [5, 5, 5, 7])
Y = 0.02 * X + 0.01 * X * RNG.normal(size=len(X))
OTHER = 0.003 * X + 0.01 * RNG.normal(size=len(X))


def test_a_slope_is_a_weighted_sum_of_the_means_at_each_length():
    weights = trends.weights([*X])
    slope = sum(weight * Y[place == X].mean() for place, weight in weights.items())
    assert slope == pytest.approx(np.polyfit(X, Y, 1)[0])
    assert sum(weights.values()) == pytest.approx(0)
    assert sum(place * weight for place, weight in weights.items()) == pytest.approx(1)


def test_two_groups_are_welchs_test():
    some, others = Y[X == 12], Y[X == 4]
    found = trends.contrast([[*some], [*others]], [1, -1], confidence=0.9)
    test = stats.ttest_ind(some, others, equal_var=False)
    interval = test.confidence_interval(0.9)
    assert (found["low"], found["high"], found["free"]) == pytest.approx((interval.low, interval.high, test.df))
    assert found["value"] == pytest.approx(some.mean() - others.mean())


def test_groups_without_weight_do_not_count_and_single_networks_have_no_scatter():
    pair = [1.0, 2.0], [3.0, 5.0]
    assert trends.contrast([*pair, [9.0]], [-1, 1, 0]) == trends.contrast(pair, [-1, 1])
    alone = trends.contrast([[1.0], [2.0, 3.0]], [-1, 1])
    assert alone["value"] == 1.5 and math.isnan(alone["low"])
    same = trends.contrast([[1.0, 1.0], [2.0, 2.0]], [-1, 1])
    assert (same["low"], same["high"]) == (1, 1)


def test_equal_scatter_and_counts_give_the_pooled_degrees_of_freedom():
    groups = [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    assert trends.contrast(groups, [-1, 1])["free"] == pytest.approx(4)


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_pairs_are_as_a_contrast_of_their_differences(alternative):
    """One-sided tests at 0.025 reject where the 95 % interval is on that side of 0."""
    rng = np.random.default_rng(4)
    for k in range(40):
        differences = rng.normal(0.6 * (k % 5 - 2), 1, size=8).tolist()
        found, p = trends.contrast([differences], [1]), trends.paired(differences, alternative)
        sides = {"less": found["high"] < 0, "greater": found["low"] > 0}
        level, rejects = (0.025, sides[alternative]) if alternative in sides else (0.05, any(sides.values()))
        assert (p < level) == rejects
    assert trends.paired([0.3], alternative) == trends.paired([0.0, 0.0, 0.0], alternative) == 1
    assert trends.paired([-0.3, -0.3], alternative) == (alternative == "greater")


def test_holm_rejects_as_its_adjusted_values_do():
    rng = np.random.default_rng(1)
    for values in (rng.uniform(0, 0.06, size=(200, 5)) ** 1.3).tolist():
        order = np.argsort(values)
        adjusted = np.maximum.accumulate(np.sort(values) * np.arange(5, 0, -1))
        assert [trends.holm(values)[at] for at in order] == (adjusted <= 0.05).tolist()
    assert trends.holm([]) == [] and trends.holm([0.05]) == [True]


def test_a_slope_with_one_scatter_is_the_usual_regression():
    found, line = forest.slope([*X], [*Y], "common"), stats.linregress(X, Y)
    half = stats.t.ppf(0.975, len(X) - 2) * line.stderr
    assert (found["value"], found["low"], found["high"]) == pytest.approx(
        (line.slope, line.slope - half, line.slope + half)
    )


def test_a_gap_with_one_scatter_is_the_product_term_of_one_regression():
    """Regress all points on length, function, and their product: its coefficient is the difference of the slopes."""
    side = np.repeat([1.0, 0.0], len(X))
    x, y = np.tile(X, 2), np.concatenate([Y, OTHER])
    design = np.stack([np.ones(len(x)), x, side, side * x], axis=1)
    best, left, *_ = np.linalg.lstsq(design, y)
    free = len(x) - 4
    half = stats.t.ppf(0.975, free) * math.sqrt(left[0] / free * np.linalg.inv(design.T @ design)[3, 3])
    found = forest.gap(([*X], [*Y]), ([*X], [*OTHER]), "common")
    assert (found["value"], found["low"], found["high"]) == pytest.approx((best[3], best[3] - half, best[3] + half))


def test_a_gap_with_own_scatters_joins_the_two_slopes_as_welch_does():
    one, other = (trends._grouped([*X], [*y]) for y in (Y, OTHER))
    parts = [trends.contrast(*side) for side in (one, other)]
    errors = [(part["high"] - part["value"]) / stats.t.ppf(0.975, part["free"]) for part in parts]
    lines = [{"slope": part["value"], "error": error} for part, error in zip(parts, errors, strict=True)]
    expected = trends.gap(*lines, tuple(part["free"] for part in parts))
    found = forest.gap(([*X], [*Y]), ([*X], [*OTHER]), "own")
    assert (found["low"], found["high"]) == pytest.approx((expected["low"], expected["high"]))


def test_own_scatters_hold_the_true_slope_as_often_as_they_promise():
    """Scatter grows fivefold with the length: one common scatter misses the slope more often than 5 % allows."""
    x = np.repeat([4.0, 6.0, 8.0, 12.0], [6, 6, 6, 4])  # few networks where they scatter most
    held = {scatter: 0 for scatter in forest.SCATTERS}
    for _ in range(400):
        y = 0.02 * x + np.where(x == 12, 0.1, 0.02) * RNG.normal(size=len(x))
        for scatter in held:
            found = forest.slope([*x], [*y], scatter)
            held[scatter] += found["low"] <= 0.02 <= found["high"]
    assert held["own"] >= 370 > 340 >= held["common"]


def test_what_the_stored_networks_say_under_every_switch():
    """What the chapter's title and text promise: where PARITY's lead is told from 0, and where it is not."""
    rows = store.load("sharper")
    for scatter in forest.SCATTERS:
        for longest in (12, 16):
            found = {line["name"]: line for line in forest.slopes(rows, longest=longest, scatter=scatter)}
            assert all(found[f"PARITY − {name}"]["low"] > 0 for name in ("MAJORITY", "FIRST", "MEAN"))
            assert all(found[name]["low"] <= 0 <= found[name]["high"] for name in ("FIRST", "MEAN"))
            found = {line["name"]: line for line in
                     forest.slopes(rows, longest=longest, scatter=scatter, measure="relative")}  # fmt: skip
            assert found["PARITY − MEAN"]["low"] < 0 < found["MEAN"]["low"]
    common = {line["name"]: line for line in forest.slopes(rows, scatter="common")}
    for line in sharper.summary(rows)["slopes"]:
        assert common[line["function"]]["value"] == pytest.approx(line["slope"])
        assert common[line["function"]]["high"] == pytest.approx(line["high"])


def test_ratios_leave_out_panels_without_an_interval():
    kinds = {(line["kind"], line["n"]): line for line in forest.ratios(store.load("variants"))}
    assert ("causal", 12) not in kinds and ("lstm", 8) not in kinds
    assert kinds["rms", 12]["networks"] == 6 and kinds["rms", 12]["low"] < 1
    pooled = {(line["kind"], line["n"]): line for line in forest.ratios(store.load("variants"), scatter="common")}
    assert pooled["rms", 12]["low"] > 3  # the statement that two networks cannot carry


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forest.slope([1, 2], [1, 2], "welch"), "^scatter: expected one of own, common, got 'welch'$"),
        (lambda: forest.slopes([], measure="norm"), "^measure: expected one of sharpness, relative, got 'norm'$"),
        (lambda: forest.slope([4, 4], [1, 2]), r"^x: expected at least two places, got \[4\]$"),
        (lambda: trends.contrast([[1.0]], [1, 2]), "^weights: expected one for each of 1 groups"),
        (lambda: trends.contrast([[]], [1]), "^groups: expected at least one number in each"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
