"""The code still computes what is stored: a start of what each experiment of chapter 14 has stored, computed again."""

from dataclasses import replace

import numpy as np
import pytest

from flatcube.experiments import engine, store
from flatcube.sparse_functions import forty, learners, overfit, patience, progress, sparse_and, sparse_parity, targets

RECORDED = {"and": (4, 16, 49), "progress": (3, 4, 8, 13)}  # of version 1
_OUTCOMES = {"reached", "steps"}  # known at the end only


def _same(stored: str, value: object) -> bool:
    if isinstance(value, str):
        return stored == value
    return float(stored) == pytest.approx(value, rel=1e-4, abs=1e-9, nan_ok=True)


def _different(name: str, row: dict, keys: tuple[str, ...]) -> list[str]:
    rows = [one for one in store.load(name) if all(_same(one[key], row[key]) for key in keys)]
    assert len(rows) == 1 and rows[0].keys() == row.keys()
    return [key for key, value in row.items() if key not in _OUTCOMES and not _same(rows[0][key], value)]


def _first(module, at: int = 0) -> tuple[dict, tuple[str, ...]]:
    """The first row of a trial of an experiment, before any training."""
    trial = module.EXPERIMENT.trials("book")[at]
    row, *_ = module.trial(replace(trial, seeds=trial.seeds[:1], steps=1))
    assert row["step"] == 0
    names = ("arm", "T", "s", "examples", "std", "hidden", "m", "layers", "seed", "step")
    return row, tuple(key for key in names if key in row)


@pytest.mark.parametrize(("module", "at"), [(overfit, 0), (sparse_parity, 0), (progress, 0), (forty, 0), (forty, -1)])
def test_networks_begin_as_stored(module, at):
    row, keys = _first(module, at)
    assert _different(module.EXPERIMENT.name, row, keys) == []


def test_other_first_weights_are_found_out(monkeypatch):
    right = learners.networks
    monkeypatch.setattr(learners, "networks", lambda T, seeds, **rest: right(T, [seed + 1 for seed in seeds], **rest))
    for module, seen in ((overfit, "loss"), (progress, "logits"), (forty, "logits")):
        row, keys = _first(module)
        assert seen in _different(module.EXPERIMENT.name, row, keys)


def test_a_network_that_found_its_set_finds_it_again():
    """With many examples of few bits: success does not hang on rounding, the step may by one record."""
    (experiment,) = engine.named("sparse_and")
    trial = max(experiment.trials("book"), key=lambda one: (-one.T, one.m, -one.seeds[0]))
    stored = [row for row in store.load("sparse_and") if (int(row["T"]), int(row["m"])) == (trial.T, trial.m)]
    seed, ended = next((int(row["seed"]), int(row["ended"])) for row in stored if row["success"] == "1")
    (row,) = sparse_and.trial(replace(trial, seeds=(seed,)))
    assert row["success"] == 1 and abs(row["ended"] - ended) <= 20


def test_with_more_steps_networks_first_do_what_they_did():
    """Success by the step at which ``sparse_and`` stops is the same there, but for a few that rounding turns round."""
    stopped = {(row["T"], row["m"], row["seed"]): int(row["success"]) for row in store.load("sparse_and")}
    rows = store.load("patience")
    early = [int(row["success"]) and int(row["ended"]) <= patience.STOPPED for row in rows]
    turned = sum(stopped[row["T"], row["m"], row["seed"]] != one for row, one in zip(rows, early, strict=True))
    assert turned <= len(rows) / 20 and sum(early) < len(rows) < len(stopped)


def test_the_planted_sets_are_those_of_version_1():
    rng = np.random.default_rng([50, 60, 0])
    assert targets.planted(50, 3, rng=rng) == RECORDED["and"]
    assert progress.members(progress.EXPERIMENT.trials("book")[0]) == RECORDED["progress"]
