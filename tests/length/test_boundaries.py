"""Rules and intervals of the experiments close to where they change, on made-up rows with numbers known by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from flatcube import cast, sharpness
from flatcube.experiments import trends
from flatcube.length import dynamics, sharper, stepwise, tradeoff
from flatcube.length import trials as networks
from flatcube.length.trials import Trial

SAME = {
    "kind": "encoder", "n": 8, "seed": 0, "rate": 6e-4, "decay": 0.1, "width": 64, "steps": 1000, "step": 1000,
    "error": 1e-4, "sharpness": 0.1, "deviation": 1e-3, "relative": 0.1, "norm": 20.0, "radius": 0.05, "blowup": 4.0,
    "converged": 1, "reason": "end", "ended": 1000, "reached": 500,
}  # fmt: skip


def _verdict(found, claim):
    return {row["id"]: row["verdict"] for row in found}[claim]


# --- intervals --------------------------------------------------------------------------------------------------------

# Slopes 0.5 and 0.4 with errors 0.03 and 0.01 and 4 and 10 degrees of freedom: the variance of the difference is
# 9·10⁻⁴ + 10⁻⁴ = 10⁻³, and Welch's degrees of freedom are 10⁻⁶ / (8.1·10⁻⁷ / 4 + 10⁻⁸ / 10) = 10⁻⁶ / 2.035·10⁻⁷.
STEEP = {"function": "PARITY", "slope": 0.5, "error": 0.03, "entered": 6}
LESS = {"function": "FIRST", "slope": 0.4, "error": 0.01, "entered": 12}
FREE = 1 / 0.2035


def _expected(confidence=0.95):
    half = stats.t.ppf((1 + confidence) / 2, FREE) * math.sqrt(1e-3)
    p = 2 * stats.t.cdf(-0.1 / math.sqrt(1e-3), FREE)
    return pytest.approx({"gap": 0.1, "low": 0.1 - half, "high": 0.1 + half, "p": p}, rel=1e-9)


def test_a_gap_has_the_degrees_of_freedom_of_welch():
    assert trends.gap(STEEP, LESS, (4, 10)) == _expected()
    assert trends.gap(STEEP, LESS, (4, 10), confidence=0.8) == _expected(0.8)
    assert trends.gap(STEEP, LESS, (4, 10))["p"] == pytest.approx(0.0256, abs=1e-4)  # 0.0016 by the normal law


def test_a_gap_between_equal_errors_is_that_of_the_pooled_test():
    """With equal errors and counts, Welch's degrees of freedom are the sum of both."""
    found = trends.gap({"slope": 0.1, "error": 0.03}, {"slope": 0.0, "error": 0.03}, (3, 3))
    error = 0.03 * math.sqrt(2)
    assert found["high"] - found["gap"] == pytest.approx(stats.t.ppf(0.975, 6) * error)
    assert found["p"] == pytest.approx(2 * stats.t.sf(0.1 / error, 6))


def test_gaps_lose_two_degrees_of_freedom_for_each_line():
    """Six networks have 4, twelve have 10, whichever of the lines comes first."""
    for slopes in ([STEEP, LESS], [LESS, STEEP]):
        (found,) = sharper.gaps(slopes)
        assert found.pop("function") == "FIRST"
        assert found == _expected()


# --- what is measured -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [9, 10, 11])
def test_the_last_row_is_measured_on_all_inputs(n):
    """On a quarter of them, as on the way, the same directions give another number."""
    still = Trial(("PARITY",), n, ((0, 1e-12, 0.0),), width=8, batch=16, steps=1, chance_after=None, directions=10)
    (row,), (seed,) = networks.last(sharper.trial(still)), networks.seeds(still)
    (model,) = networks.encoders(still).members()
    bits = networks._inputs(n)
    assert len(bits) == min(2**n, 1024) and (n > 10 or len(bits.unique(dim=0)) == 2**n)
    every, some = (
        sharpness.average_direction(model, part, rho=0.02, directions=10, seed=seed) for part in (bits, bits[:256])
    )
    assert row["sharpness"] == pytest.approx(every.value, rel=1e-5)
    assert row["deviation"] == pytest.approx(every.error, rel=1e-4)
    assert row["sharpness"] != pytest.approx(some.value, rel=1e-4)


# --- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "expected"),
    [(0.5, "differs"), (5, "agrees in part"), (9.5, "agrees in part"), (10.5, "agrees"), (12, "agrees")],
)
def test_ten_times_as_sharp_at_the_longest_inputs(times, expected):
    """All begin at 0.02 with 4 bits, and PARITY is on a line to so many times of it with 12."""
    rng = np.random.default_rng(7)
    rows = [
        SAME | {"function": name, "n": n, "seed": seed,
                "sharpness": 0.02 * (1 + (times - 1) * (n - 4) / 8 * (name == "PARITY")) + 1e-5 * rng.normal()}
        for name in cast.NAMES for n in (4, 6, 8, 12) for seed in range(5)
    ]  # fmt: skip
    steeper = sharper.gaps(sharper.summary(rows)["slopes"])
    assert all((line["low"] > 0) == (times > 1) for line in steeper)
    assert _verdict(sharper.measured(rows), "HR-F5") == expected


def _curve(function, seed, decay, late, r=-0.99):
    """The goal is reached at step 500; from there the norm falls, and log blow-up and norm have the correlation r."""
    steps = np.arange(500, 2501, 100)
    x = (steps.mean() - steps) / steps.std()  # the norm, falling
    bent = (x**2 - 1) / (x**2).std()  # not correlated with x, as these are symmetrical
    rises = r * x + math.sqrt(1 - r**2) * bent
    own = SAME | {"function": function, "seed": seed, "decay": decay, "ended": 2500}
    ahead = [own | {"step": step, "error": 0.9, "sharpness": 0.02, "norm": 25.0} for step in range(0, 500, 100)]
    way = [own | {"step": int(step), "norm": 20 + a, "blowup": 4 + b, "sharpness": late if step > 500 else 2 * late}
           for step, a, b in zip(steps, x, rises, strict=True)]  # fmt: skip
    return ahead + way


def _training(times=4.0, rs=(-0.99, -0.99, -0.99)):
    """Late sharpness of PARITY without decay is 0.12 in the mean; ``rs`` belong to the decays above 0."""
    rows = []
    for seed in range(5):
        for decay, r in zip(dynamics._DECAYS, (-0.99, *rs), strict=True):
            rows += _curve("PARITY", seed, decay, 0.1 + 0.01 * seed + decay, r)
        rows += _curve("MAJORITY", seed, 0.0, 1.5 * 0.12 / times)
        rows += _curve("FIRST", seed, 0.0, 0.5 * 0.12 / times)
    return rows


@pytest.mark.parametrize(
    ("times", "expected"), [(2, "agrees in part"), (2.9, "agrees in part"), (3.1, "agrees"), (4, "agrees")]
)
def test_three_times_as_sharp_without_decay(times, expected):
    assert _verdict(dynamics.measured(_training(times)), "HR-F13") == expected


@pytest.mark.parametrize(
    ("rs", "expected"),
    [
        ((-0.91, -0.91, -0.91), "agrees"),
        ((-0.91, -0.91, -0.89), "agrees in part"),
        ((-0.91, -0.89, -0.89), "differs"),
        ((-0.89, -0.89, -0.89), "differs"),
        ((-0.5, -0.5, -0.5), "differs"),
    ],
)
def test_a_straight_way_in_norm_and_blowup(rs, expected):
    rows = _training(rs=rs)
    found = [one for one in dynamics.summary(rows)["networks"] if one["function"] == "PARITY" and one["decay"]]
    assert [one["r"] for one in found] == pytest.approx([*rs] * 5)
    assert _verdict(dynamics.measured(rows), "HR-F14") == expected


def _norms(above):
    """Norm = 25 − blow-up, with a scatter that is the same for every function; PARITY has more by ``above`` at 11."""
    scatter = [0.5, -0.5, -0.5, 0.5, 0.5, -0.5, -0.5, 0.5]
    return [
        SAME | {"function": name, "n": n, "seed": seed, "blowup": 4.0 + seed,
                "norm": 21.0 - seed + more + above * (name == "PARITY" and n == 11)}
        for name in cast.NAMES for n in (5, 8, 11) for seed, more in enumerate(scatter)
    ]  # fmt: skip


@pytest.mark.parametrize(("above", "expected"), [(0.2, "agrees in part"), (0.6, "agrees"), (-0.6, "agrees in part")])
def test_the_norm_of_parity_must_be_above_with_the_whole_interval(above, expected):
    rows = _norms(above)
    final = tradeoff.level(rows, 11)
    assert final["c"] == pytest.approx(above) and final["low"] < above < final["high"]
    assert (final["low"] > 0) == (expected == "agrees")
    assert _verdict(tradeoff.measured(rows), "HR-F10") == expected


@pytest.mark.parametrize(("slope", "expected"), [(0.0, "agrees"), (-1e-4, "agrees"), (1e-4, "agrees in part")])
def test_the_last_step_must_not_grow_either(slope, expected):
    """The mean over the steps is level; all networks converge, and all sharpness is below a tenth."""
    same = {"width": 32, "batch": 16, "steps": 1500, "deviation": 1e-4, "norm": 20.0, "converged": 1, "reached": 500,
            "free": 1.0}  # fmt: skip
    rows = [
        same | {"n": n, "seed": seed, "step": step, "error": 1e-4 if step else 1.0, "sharpness": 0.05 + 1e-3 * wild,
                "final": 0.05 + slope * n + 1e-3 * wild}
        for n in (8, 16, 32, 64, 128) for seed, wild in enumerate((-2, -1, 0, 0, 1, 2)) for step in (0, 1500)
    ]  # fmt: skip
    steps, final = stepwise.summary(rows)["slopes"]
    assert steps["low"] < 0 < steps["high"] and (final["low"] > 0) == (slope > 0)
    assert _verdict(stepwise.measured(rows), "HR-F11") == expected
