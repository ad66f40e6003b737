"""Samples, learners and findings of chapter 13, against definitions."""

import numpy as np
import pytest
import torch

from flatcube import cube, fourier, generalise, handmade, networks, training
from flatcube.generalise import gap, learners
from flatcube.handmade import formulas

PARTS = [((1, 2), 1.2), ((3, 4), 1.6)]
TABLE = cube.even_sum(PARTS, 5)


def _kind(**options):
    return generalise.config(5, more=4, hidden=8, **options)


def _network(seed=0, **options):
    return networks.Encoder(_kind(**options), parameters=generalise.drawn(_kind(**options), seed=seed))


def test_nothing_hidden_is_shown():
    given = generalise.sample(TABLE, 20, rng=1)
    assert len(set(given.shown.tolist())) == 20
    assert sorted([*given.shown, *given.hidden]) == list(range(32))
    assert not np.array_equal(given.shown, generalise.sample(TABLE, 20, rng=2).shown)


@pytest.mark.parametrize("m", [0, 32, 2.5])
def test_a_sample_leaves_something_to_test(m):
    with pytest.raises((ValueError, TypeError), match="^m: expected"):
        generalise.sample(TABLE, m, rng=0)


def test_first_logits_between_positions_have_the_deviation_that_was_asked_for():
    kind = generalise.config(20, more=30, heads=3)
    p = generalise.drawn(kind, seed=3, logits=1.5)
    q, k = (p[f"layers.0.{name}.weight"][:21].double().unflatten(1, (3, -1)) for name in ("query", "key"))
    logits = torch.einsum("ihe,jhe->hij", q, k) / (kind.width / 3) ** 0.5
    assert float(logits.std()) == pytest.approx(1.5, rel=0.1)
    assert torch.equal(p["positions"], torch.eye(21, kind.width))
    assert not p["tokens"][:, :21].any()
    assert p["tokens"].square().sum(1).mean() == pytest.approx(1, abs=0.4)


def test_positions_are_not_trained_and_everything_else_is():
    settings = training.Settings(steps=3, batch=8, every=3)
    given = [generalise.sample(TABLE, 16, rng=k) for k in range(2)]
    run, first = generalise.learn(given, settings, _kind(), seeds=(4, 5))
    for k, before in enumerate(first):
        after = dict(run.ensemble.member(k).named_parameters())
        same = {name for name, p in before.named_parameters() if torch.equal(p, after[name])}
        assert same == {"positions"} | {name for name in same if name.endswith("key.bias")}  # softmax does not see it
        assert generalise.distance(run.ensemble.member(k), before) > 0 == generalise.distance(before, before)


def test_members_compute_what_the_ensemble_does():
    first = [generalise.drawn(_kind(), seed=seed) for seed in (1, 2)]
    ensemble = learners._OneHot(_kind(), {name: torch.stack([one[name] for one in first]) for name in first[0]})
    bits = torch.as_tensor(cube.to_bits(cube.points(5)))
    together = ensemble(bits)
    for k in range(2):
        torch.testing.assert_close(ensemble.member(k)(bits), together[k])


def test_the_parts_of_the_risk_are_where_they_should_be():
    extra = 0.3 * cube.subset_parity((1,), 5) + 0.5 * cube.subset_parity((1, 2, 5), 5)
    off = -0.25 * cube.subset_parity((1, 2), 5) + 0.125
    parts = generalise.split(TABLE + extra + off, TABLE)
    assert parts == pytest.approx((0.25**2 + 0.125**2, 0.09, 0.25))


def test_the_parts_add_up_to_the_risk_of_any_network():
    network, rng = _network(), np.random.default_rng(0)
    learned = generalise.outputs(network)
    target = cube.even_sum(cube.random_components(5, 2, 3, rng=rng), 5)
    assert sum(generalise.split(learned, target)) == pytest.approx(np.square(learned - target).mean())
    given = generalise.sample(target, 12, rng=rng)
    found = generalise.errors(network, given)
    whole = (12 * found["train"] + 20 * found["test"]) / 32
    assert sum(found[name] for name in ("own", "low", "above")) == pytest.approx(whole)
    profile = fourier.spectrum(learned).profile
    assert found["sensitivity"] == pytest.approx(profile @ np.arange(6))


def test_a_completion_agrees_where_the_function_is_shown_and_nowhere_else_on_purpose():
    f = cube.random_boolean(8, rng=0)
    given = generalise.sample(f, 100, rng=1)
    completion = generalise.random_completion(given, rng=2)
    assert np.array_equal(completion[given.shown], f[given.shown])
    assert 0.35 < (completion != f)[given.hidden].mean() < 0.65
    assert not np.array_equal(completion, generalise.random_completion(given, rng=3))
    with pytest.raises(ValueError, match="^signs: expected"):
        generalise.random_completion(generalise.sample(TABLE, 3, rng=0), rng=0)


def test_the_hand_built_account_is_that_of_the_closed_forms():
    bits = cube.to_bits(cube.points(5))
    plan = handmade.Design(PARTS, 5)
    account, gradients = generalise.hand_built(plan, bits), formulas.gradient_norms(plan, bits)
    assert account.norm2 == pytest.approx(sum(formulas.norms(plan).values()))
    assert account.trace == pytest.approx(2 * sum(float(each.mean()) for each in gradients.values()))


def test_the_account_counts_what_is_trained():
    network, bits = _network(), torch.as_tensor(cube.to_bits(cube.points(5)))
    norm2, trace = generalise.account(network, bits)
    weights = {name: p for name, p in network.named_parameters() if name != "positions"}
    assert norm2 == pytest.approx(sum(float(p.detach().square().sum()) for p in weights.values()))
    squares = 0.0
    for bit in bits:
        slopes = torch.autograd.grad(network(bit[None]).sum(), list(weights.values()), allow_unused=True)
        squares += sum(float(slope.square().sum()) for slope in slopes if slope is not None)
    assert trace == pytest.approx(2 * squares / 32, rel=1e-4)


def test_at_most_256_inputs_are_used_and_all_are_shown_or_all_hidden():
    given = generalise.sample(cube.parity(10), 700, rng=0)
    for hidden, places in ((False, given.shown), (True, given.hidden)):
        bits = generalise.shown_bits(given, hidden=hidden)
        assert 100 < len(bits) <= 256 and set(cube.index(cube.to_signs(bits.numpy())).tolist()) <= set(places.tolist())


def test_a_certificate_is_no_better_for_who_went_further():
    near, far = _network(1), _network(2)
    given = generalise.sample(generalise.outputs(near), 16, rng=0)  # which the first one fits
    still, moved = (generalise.certificate(near, first, given, sigmas=(0.01,)) for first in (near, far))
    assert still["noisy"] == moved["noisy"] and still["certificate"] < moved["certificate"] <= 4
    one = generalise.certificate(near, near, given, sigmas=(0.01, 0.02))
    assert one["certificate"] != still["certificate"]  # the union bound has its price


@pytest.mark.parametrize(("arm", "norms"), [("stop", 0), ("fixed", 0), ("norm", 4), ("batch", 0)])
def test_every_arm_differs_from_the_first_in_what_its_name_says(arm, norms, monkeypatch):
    seen = []

    def learn(given, settings, kind, *, seeds, logits, right=learners.learn):
        seen.append((settings, sum(name.endswith(".gain") for name in networks.shapes(kind))))
        return right(given, settings, kind, seeds=seeds, logits=logits)

    monkeypatch.setattr(learners, "learn", learn)
    (row,) = gap.trial(gap.Trial(arm, 5, 24, 1, 1, (0,), steps=100, batch=16))
    ((settings, gains),) = seen
    assert (settings.after is None) == (arm == "fixed") and gains == norms and settings.batch == row["batch"] == 16
    assert row["own"] + row["low"] + row["above"] == pytest.approx((24 * row["train"] + 8 * row["test"]) / 32)
