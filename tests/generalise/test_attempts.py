"""The attempts of chapter 13 at a class that is never fitted: each changes one thing, and the rows are counted."""

from dataclasses import asdict

import numpy as np
import pytest
import torch

from flatcube import cube, generalise, training
from flatcube.generalise import attempts, gap, learners

SMALL = {"T": 6, "m": 30, "steps": 3}


def test_every_attempt_changes_one_thing_from_the_training_of_the_gap():
    seeds = (0, 1, 2)
    plain = attempts.attempt("plain", 4, 8, seeds)
    (same,) = [
        trial for trial in gap.EXPERIMENT.trials("book") if (trial.T, trial.degree, trial.sparsity) == (16, 4, 8)
    ]
    shared = asdict(plain).keys() & asdict(same).keys() - {"seeds"}
    assert {"T", "m", "steps", "batch", "rate", "more", "hidden"} <= shared
    assert all(getattr(plain, name) == getattr(same, name) for name in shared)
    for name in attempts.ATTEMPTS:
        trial = attempts.attempt(name, 4, 8, seeds)
        changed = {key for key, value in asdict(trial).items() if value != asdict(plain)[key]} - {"attempt"}
        assert len(changed - {"steps"} or changed) == (name != "plain")
        if "batch" in changed:  # as many examples are seen
            assert trial.steps * trial.batch == plain.steps * plain.batch
        assert trial in attempts.EXPERIMENT.trials("book")


@pytest.mark.parametrize("name", attempts.ATTEMPTS)
def test_an_attempt_trains_with_what_its_name_says(name, monkeypatch):
    seen = []

    def learn(given, settings, kind, *, seeds, first, right=learners.learn):
        seen.append((settings, kind, first))
        return right(given, settings, kind, seeds=seeds, first=first)

    monkeypatch.setattr(learners, "learn", learn)
    change = attempts.ATTEMPTS[name] | SMALL
    (row,) = attempts.trial(attempts.Trial(name, 2, 3, (0,), **change))
    settings, kind, _ = seen[0]
    assert (settings.rate, settings.batch, settings.steps) == (change.get("rate", 3e-3), change.get("batch", 64), 3)
    assert (kind.hidden, kind.heads, kind.norm) == (
        change.get("hidden", 64), change.get("heads", 1), change.get("norm", "none"))  # fmt: skip
    assert kind.width == pytest.approx(7 + change.get("more", 20), abs=kind.heads - 1)
    assert len(seen) == (3 if name == "curriculum" else 1) and row["ended"] == 3 * len(seen)
    assert [first is None for _, _, first in seen] == [True, False, False][: len(seen)]


def test_the_stages_of_the_curriculum_end_with_the_target():
    components, _ = gap.samples(gap.Trial("stop", 8, 30, 2, 5, (1,)))
    one, half, every = attempts.parts(components[0])
    assert len(one) == 1 and len(half) == 3 and set(one) < set(half) < set(every) == set(components[0])
    assert min(weight for _, weight in half) > max(weight for _, weight in set(every) - set(half))
    assert [len(some) for some in attempts.parts(components[0][:2])] == [1, 2]


def test_a_curriculum_goes_on_from_the_weights_that_the_last_stage_left(monkeypatch):
    left = []

    def learn(given, settings, kind, *, seeds, first, right=learners.learn):
        run, begun = right(given, settings, kind, seeds=seeds, first=first)
        left.append(([each.table for each in given], begun, [run.ensemble.member(k) for k in range(len(given))]))
        return run, begun

    monkeypatch.setattr(learners, "learn", learn)
    attempts.trial(attempts.Trial("curriculum", 2, 4, (0, 1), **SMALL, curriculum=True))
    for (_, _, after), (_, before, _) in zip(left, left[1:], strict=False):
        for one, other in zip(after, before, strict=True):
            assert all(torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))
    components, given = gap.samples(gap.Trial("stop", 6, 30, 2, 4, (0, 1)))
    for k in range(2):
        assert np.allclose(left[2][0][k], given[k].table)
        assert np.array_equal(left[0][0][k], cube.even_sum([max(components[k], key=lambda one: one[1])], 6))


def test_training_begins_where_it_is_told_to():
    kind, settings = generalise.config(5, more=4, hidden=8), training.Settings(steps=2, batch=8, every=2)
    given = [generalise.sample(cube.even_sum([((1, 2), 1.2)], 5), 16, rng=k) for k in range(2)]
    run, first = generalise.learn(given, settings, kind, seeds=(4, 5))
    again, same = generalise.learn(given, settings, kind, seeds=(4, 5), first=first)
    assert generalise.distance(first[1], same[1]) == 0
    assert generalise.distance(run.ensemble.member(1), again.ensemble.member(1)) == 0
    with pytest.raises(ValueError, match="^first: expected 2, one for each sample, got 1"):
        generalise.learn(given, settings, kind, seeds=(4, 5), first=first[:1])
    with pytest.raises(ValueError, match="^first: expected networks of the given kind"):
        generalise.learn(given, settings, generalise.config(5, more=5, hidden=8), seeds=(4, 5), first=first)


def test_attempts_are_counted_class_by_class():
    row = {"degree": 4, "sparsity": 4, "attempt": "plain", "train": 0.5, "test": 1.0, "fitted": 0, "ended": 4000}
    rows = [row, row | {"train": 0.1, "fitted": 1}, row | {"train": 0.2, "test": 3.0}, row | {"sparsity": 8}]
    one, other = attempts.summary(rows)["attempts"]
    assert (one["networks"], one["fitted"], one["train"], one["test"]) == (3, 1, 0.2, 1.0)
    assert (other["sparsity"], other["networks"]) == (8, 1)
    assert attempts.summary([{name: str(value) for name, value in row.items()}])["attempts"][0]["ended"] == 4000


@pytest.mark.parametrize("change", [{"attempt": "luck"}, {"m": 64}, {"seeds": ()}])
def test_wrong_trials_are_refused(change):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(change))}: expected"):
        attempts.Trial(**{"attempt": "plain", "degree": 2, "sparsity": 2, "seeds": (0,), "T": 6, "m": 30} | change)
