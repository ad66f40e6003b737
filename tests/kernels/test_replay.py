"""The code still computes what is stored: a start of what each experiment of chapter 16 has stored, computed again."""

from dataclasses import replace

import pytest

from flatcube.experiments import store
from flatcube.kernels import architectures, by_degree, first_weights, widths

RECORDED = [(9,), (1, 6), (4, 5, 8), (2, 3, 7, 10)]  # of version 1


def _same(stored: str, value: object) -> bool:
    if isinstance(value, str):
        return stored == value
    return float(stored) == pytest.approx(value, rel=1e-4, abs=1e-9, nan_ok=True)


def _differ(name: str, row: dict, keys: tuple[str, ...], ignored: set[str] = frozenset()) -> list[str]:
    rows = [one for one in store.load(name) if all(_same(one[key], row[key]) for key in keys)]
    assert len(rows) == 1 and rows[0].keys() == row.keys()
    return [key for key, value in row.items() if key not in ignored and not _same(rows[0][key], value)]


@pytest.mark.parametrize("kind", by_degree.KINDS)
def test_networks_begin_as_stored(kind):
    trial = next(trial for trial in by_degree.EXPERIMENT.trials("book") if trial.kind == kind)
    row, *_ = by_degree.trial(replace(trial, seeds=trial.seeds[:1], steps=1))
    assert row["step"] == 0 and _differ("by_degree", row, ("kind", "seed", "step")) == []


def test_first_weights_of_every_size_are_those_of_version_1():
    for trial in first_weights.EXPERIMENT.trials("book"):
        row, *_ = first_weights.trial(replace(trial, seeds=trial.seeds[:1], steps=1))
        changed = {"end", "error", "ended", "hidden"}  # known after training
        assert _differ("first_weights", row, ("kind", "scale", "seed"), changed) == []


@pytest.mark.parametrize("kernel", [name for name, (_, made) in architectures.KERNELS.items() if callable(made)])
def test_spectra_are_those_stored(kernel):
    trial = next(trial for trial in architectures.EXPERIMENT.trials("book") if trial.kernel == kernel)
    for row in architectures.trial(trial):
        assert _differ("architectures", row, ("kernel", "degree")) == []


@pytest.mark.parametrize("kind", widths.KINDS)
def test_narrow_networks_have_the_stored_kernels(kind):
    trial = next(trial for trial in widths.EXPERIMENT.trials("book") if trial.kind == kind)
    for row in widths.trial(replace(trial, seeds=trial.seeds[:2])):
        assert _differ("widths", row, ("kind", "width", "seed")) == []


def test_other_first_weights_are_found_out(monkeypatch):
    trial = next(trial for trial in by_degree.EXPERIMENT.trials("book") if trial.kind == "MLP")
    right = by_degree.ensemble
    monkeypatch.setattr(by_degree, "ensemble", lambda one: right(replace(one, seeds=(one.seeds[0] + 1,))))
    row, *_ = by_degree.trial(replace(trial, seeds=trial.seeds[:1], steps=1))
    assert "loss_1" in _differ("by_degree", row, ("kind", "seed", "step"))


def test_the_sets_are_those_of_version_1():
    assert by_degree.sets(4, seed=0) == RECORDED
    assert sorted(sum(by_degree.sets(4, seed=3), ())) == list(range(1, 11))
