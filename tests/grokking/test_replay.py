"""The code still computes what is stored: the start of stored trials of chapter 17, computed again."""

from dataclasses import replace

import pytest

from flatcube.experiments import store
from flatcube.grokking import adder, controls, larger, modular, watching

_ROUGH = {"sensitivity", "both", "own"}  # counts of changed answers: one may hang on rounding


def _first(module) -> dict:
    """The first row of the first trial, before any training; no circles, which are drawn at the end."""
    row, *_ = watching.trial(replace(module.EXPERIMENT.trials("book")[0], epochs=0))
    return {name: value for name, value in row.items() if name != "circles"}


def _different(module, row: dict) -> list[str]:
    keys = ("arm", "seed", "epoch")
    (stored,) = [one for one in store.load(module.EXPERIMENT.name) if all(one[key] == str(row[key]) for key in keys)]
    near = {name: pytest.approx(row[name], rel=1e-3, abs=3e-3 if name in _ROUGH else 1e-8) for name in row.keys() - {
        "spectrum", *keys}}  # fmt: skip
    return [name for name, wanted in near.items() if float(stored[name]) != wanted]


@pytest.mark.parametrize("module", [modular, larger, controls])
def test_networks_begin_as_stored(module):
    assert _different(module, _first(module)) == []


def test_other_first_weights_are_found_out(monkeypatch):
    right = adder.Adder
    monkeypatch.setattr(watching, "Adder", lambda p, seed, **rest: right(p, seed=seed + 1, **rest))
    assert "norm" in _different(modular, _first(modular))
