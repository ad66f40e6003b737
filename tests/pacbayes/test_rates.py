"""Inequalities side by side through Theorem 2, and the traces of the soft network."""

import math

import numpy as np
import pytest
import torch

from flatcube import capacity, handmade, pacbayes
from flatcube.pacbayes import account, rates, soft

PAIRS_24 = account.of_tiling(24, 2, 12)
WAYS = {
    "Catoni": ("catoni", {}),
    "Catoni, C assumed": ("catoni", {"clip": None, "C": 0.1}),
    "kl": ("kl", {}),
    "moment": ("second moment", {}),
    "moment, κ assumed": ("second moment", {"clip": None, "kurtosis": 4.0}),
}


def way(name: str, **more):
    inequality, options = WAYS[name]
    return lambda m: pacbayes.through(inequality, PAIRS_24.norm2, PAIRS_24.trace, m=m, delta=0.05, **options, **more)


@pytest.mark.parametrize(
    ("name", "rate", "needs"),
    [("Catoni", -1 / 3, 6.8e11), ("Catoni, C assumed", -1 / 3, 1.7e9), ("kl", -1 / 2, 4.86e10),
     ("moment", -1 / 2, 6.8e10), ("moment, κ assumed", -1, 7.65e9)],
)  # fmt: skip
def test_rates_and_examples_for_a_risk_of_a_tenth(name, rate, needs):
    assert [pacbayes.slope(way(name), m) for m in (1e13, 1e15)] == pytest.approx([rate, rate], abs=1e-3)
    assert capacity.samples_needed(way(name), 0.1) == pytest.approx(needs, rel=0.01)


def test_kl_ends_below_an_assumed_constant_that_is_twenty_times_smaller():
    at = {m: way("kl")(m).value / way("Catoni, C assumed")(m).value for m in (1e6, 1e13, 1e14)}
    assert at[1e6] > 1 and at[1e13] > 1 > at[1e14]


@pytest.mark.parametrize("name", WAYS)
def test_sigma_is_the_best_and_terms_add_up(name):
    best = way(name)(1e11)
    around = [way(name, sigma=best.sigma * factor)(1e11).value for factor in (0.8, 0.99, 1.01, 1.2)]
    assert best.value <= min(around) * (1 + 1e-9) and best.value == pytest.approx(sum(best.terms.values()))
    assert list(best.terms) == ["sharpness", "norm", "confidence"] and min(best.terms.values()) > 0
    assert best.terms["sharpness"] == pytest.approx(best.sigma**2 / 2 * PAIRS_24.trace)
    assert best.explain().startswith("The risk")


def test_each_is_its_inequality():
    norm2, trace, m, delta, sigma = 100.0, 2000.0, 1e9, 0.05, 0.003
    given = {"m": m, "delta": delta, "sigma": sigma}
    loss, kl = sigma**2 / 2 * trace, norm2 / (2 * sigma**2)
    logs = kl + math.log(20)
    assert pacbayes.through("catoni", norm2, trace, **given).value == pytest.approx(loss + 4 * math.sqrt(logs / 2 / m))
    assert pacbayes.through("kl", norm2, trace, **given).value == pytest.approx(
        4 * pacbayes.small_kl(loss / 4, kl, m=m, delta=delta)
    )
    shares = np.linspace(1e-4, 1 - 1e-4, 200_001)
    assert pacbayes.through("second moment", norm2, trace, **given).value == pytest.approx(
        ((loss + 4 * logs / (2 * shares * m)) / (1 - shares)).min(), rel=1e-7
    )
    r = (2**0.5 + 2**-0.5) / 2 * math.sqrt(2 * 3 * (kl + math.log(1024 / delta)) / m)
    free = pacbayes.through("second moment", norm2, trace, clip=None, kurtosis=3, **given)
    assert free.value == pytest.approx(loss / (1 - r) if r < 1 else math.inf)
    tiny = pacbayes.through("second moment", norm2, trace, m=2, delta=delta, clip=None, kurtosis=3, sigma=sigma)
    assert tiny.value == math.inf and "∞" in tiny.explain()
    assert pacbayes.through("kl", norm2, trace, m=2, delta=delta).value <= 4


def test_the_second_moment_inequalities_hold_as_often_as_they_say():
    """30 exponential losses; the posterior sits on the one that looks least: E ℓ² = 2 (E ℓ)², and clipped E ℓ² ≤ bL."""
    rng, m, delta, count = np.random.default_rng(1), 300, 0.1, 30
    kl, truth, clip = math.log(count), 1.0, 4.0
    seen = rng.exponential(1.0, (400, count, m))
    least = seen.mean(2).min(1)
    r = rates._unclipped(1.0, kl, m, delta, 2.0)[-1]
    assert (truth > least * r).mean() <= delta < (truth > least).mean()
    capped, mean = np.minimum(seen, clip).mean(2).min(1), 1 - math.exp(-clip)
    right = np.array([rates._self_bounding(loss, kl, m, delta, clip)[-1] for loss in capped])
    assert (mean > right).mean() <= delta < (mean > capped).mean()


@pytest.mark.parametrize(
    ("T", "d", "w", "tau"), [(8, 2, 4, 0.01), (6, 2, 3, 0.5), (7, 2, 2, 0.3), (5, 5, 1, 1.0), (4, 1, 4, 0.1)]
)
def test_soft_traces_are_those_of_the_network(T, d, w, tau):
    plan = account.disjoint(T, d, w, mode="soft", tau=tau)
    model, bits = handmade.assemble(plan), torch.as_tensor((np.arange(2**T)[:, None] >> np.arange(T)) & 1)
    measured, exact = account.of_model(model, bits, groups=handmade.names(model)), pacbayes.of_soft(plan)
    assert exact.traces == pytest.approx(measured.traces, rel=1e-9, abs=1e-12)
    assert exact.norms == pytest.approx(measured.norms)
    assert exact.trace != pytest.approx(account.of_disjoint(plan).trace, rel=1e-3)  # the limit is another number
    assert pacbayes.of_soft(plan, columns=True).trace == pytest.approx(exact.trace)


def test_without_a_leak_soft_is_the_limit():
    plan = account.disjoint(24, 2, 12, mode="soft", tau=1e-9)
    assert pacbayes.of_soft(plan).traces == pytest.approx(account.of_disjoint(plan).traces, rel=1e-7, abs=1e-9)
    assert set(soft._gradients(plan)) == set(account.expected_gradients(plan))


BAD = [
    (lambda: pacbayes.through("hoeffding", 1, 1, m=9, delta=0.1), "inequality: expected 'catoni' or 'kl' or"),
    (lambda: pacbayes.through("kl", 0, 1, m=9, delta=0.1), "norm2: expected a number above 0, got 0"),
    (lambda: pacbayes.through("kl", 1, None, m=9, delta=0.1), "trace: expected a number, got NoneType"),
    (lambda: pacbayes.through("kl", 1, 1, m=0, delta=0.1), "m: expected a number of examples ≥ 1, got 0"),
    (lambda: pacbayes.through("kl", 1, 1, m=9, delta=1), "delta: expected a number between 0 and 1, got 1"),
    (lambda: pacbayes.through("kl", 1, 1, m=9, delta=0.1, clip=None), "clip: expected a number for an unclipped loss"),
    (lambda: pacbayes.through("catoni", 1, 1, m=9, delta=0.1, clip=None), "C: expected a number for an unclipped"),
    (lambda: pacbayes.through("second moment", 1, 1, m=9, delta=0.1, clip=None), "kurtosis: expected a number for an"),
    (lambda: pacbayes.through("second moment", 1, 1, m=9, delta=0.1, clip=None, kurtosis=0.5), "kurtosis: expected a"),
    (lambda: pacbayes.through("kl", 1, 1, m=9, delta=0.1, sigma=0), "sigma: expected a number above 0, got 0"),
    (lambda: pacbayes.slope(3, 10), "bound: expected a function of m, got int"),
    (lambda: pacbayes.of_soft(account.disjoint(4, 2, 2)), "plan: expected mode 'soft', got 'hard'"),
    (lambda: pacbayes.of_soft(3), "plan: expected handmade.Design, got int"),
]


@pytest.mark.parametrize(("call", "complaint"), BAD)
def test_bad_input_gets_one_sentence(call, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        call()
