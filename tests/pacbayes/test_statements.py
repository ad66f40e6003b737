"""What chapter 10 says in words about its networks and bounds, held to the library."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import binom

from flatcube import handmade, pacbayes
from flatcube.experiments import store


def test_a_gentle_pull_gives_a_dominated_network_that_fits():
    plan = pacbayes.disjoint(4, 2, 2, mode="soft")
    bits = torch.as_tensor((np.arange(16)[:, None] >> np.arange(4)) & 1)
    target = torch.as_tensor(handmade.target_values(plan, bits.numpy()))
    walker = handmade.assemble(plan)
    ours = pacbayes.of_model(walker, bits)
    steps = pacbayes.descend(walker, bits, target, norm_weight=1e-6, rate=0.005, noises=1, steps=200, seed=10)
    found = pacbayes.of_model(walker, bits)
    assert steps[-1]["loss"] <= max(steps[0]["loss"], 2e-5) <= 1e-3
    assert found.norm2 < ours.norm2 and found.trace < ours.trace
    sigma = pacbayes.best_sigma(ours.norm2, ours.trace, m=1e6, C=0.1)
    built, walked = (pacbayes.noisy_loss(network, bits, target, sigma=sigma, directions=100, seed=10).value
                     for network in (handmade.assemble(plan), walker))  # fmt: skip
    assert walked < 0.95 * built  # the condition itself, at the σ of the bound for a million examples


def test_of_two_rescaled_copies_neither_dominates_the_other():
    plan = pacbayes.disjoint(4, 2, 2, mode="soft")
    ours = pacbayes.of_soft(plan)
    copies = [ours.rescaled(alpha) for alpha in np.geomspace(1, 8, 100)]
    least, flattest = min(copies, key=lambda copy: copy.norm2), min(copies, key=lambda copy: copy.trace)
    assert least.norm2 < flattest.norm2 and least.trace > flattest.trace


def test_trained_networks_meet_and_miss_the_assumption():
    rows = [row for row in store.load("certificates") if row["kind"] == "encoder" and row["prior"] == "zero"]
    names = ("FIRST", "PARITY", "PAIRS", "TRIPLES")
    judged = {name: [row for row in rows if row["function"] == name] for name in names}
    fits = {name: [float(row["error"]) <= 1e-3 for row in found] for name, found in judged.items()}
    assert all(fits["FIRST"] + fits["PARITY"]) and not any(fits["PAIRS"] + fits["TRIPLES"])
    assert all(float(row["dominated"]) == 1 for row in judged["PARITY"])
    for row in judged["FIRST"]:  # flatter, but larger
        assert float(row["dominated"]) == 0
        assert float(row["trace"]) < float(row["built_trace"]) and float(row["norm2"]) > float(row["built_norm2"])


@pytest.mark.parametrize(("w", "risk"), [(4, 0.983), (12, 0.93)])
def test_a_constant_has_less_risk_where_the_loss_is_clipped(w, risk):
    values, chances = 2 / math.sqrt(w) * np.arange(w + 1), binom.pmf(np.arange(w + 1), w, 0.5)
    squares = (values[:, None] - np.linspace(0, values[-1], 401)) ** 2
    assert (chances @ squares).min() == pytest.approx(1)
    assert (chances @ np.minimum(squares, 4)).min() == pytest.approx(risk, abs=0.005)


def test_halving_the_promise_takes_eight_times_the_examples_by_catoni_and_four_by_kl():
    pairs = pacbayes.of_soft(pacbayes.disjoint(24, 2, 12, mode="soft"))
    for name, factor in (("catoni", 8), ("kl", 4)):
        early, late = (
            pacbayes.through(name, pairs.norm2, pairs.trace, m=m, delta=0.05).value for m in (1e12, factor * 1e12)
        )
        assert late / early == pytest.approx(0.5, rel=0.01)
