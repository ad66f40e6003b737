"""The code still computes what is stored: a start of what every experiment has stored, computed again.

Untrained networks, inputs and directions give the same numbers on every machine to rounding; six digits are stored.
After some hundred steps of training the norm of the weights still does, as long as the network has learnt little;
batches in another order change it. Networks of ``stepwise`` learn at once: of those the first batch is compared.
Nothing further along a training run is.
"""

from dataclasses import replace

import pytest
import torch

from flatcube.experiments import engine, journal, store
from flatcube.length import changes, initial, signal, stepwise, variants
from flatcube.length import trials as networks
from flatcube.queries import testers
from flatcube.sharpness import brittle
from flatcube.training import tasks

DIGITS = 1e-4  # relative, where nothing was trained
FEWER = {"brittle": 2e-3}  # where fewer are stored
_OUTCOMES = {"steps", "converged", "reason", "ended", "reached", "free"}  # known at the end only


def _cheapest(name: str, **fields: object) -> object:
    (experiment,) = engine.named(name)
    some = [t for t in experiment.trials("book") if all(getattr(t, key) == value for key, value in fields.items())]
    return min(some, key=lambda trial: experiment.cost(trial) / len(getattr(trial, "members", [trial])))


def _stored(name: str, row: dict) -> dict[str, str]:
    """The stored row of the same network, or cell, at the same step."""
    told = ("kind", "function", "n", "seed", "rate", "decay", "width", "layers", "heads", "scale", "step")
    told += ("tester", "method", "laxity", "degree", "sparsity", "variant", "target", "rho")
    keys = {key: row[key] for key in told if key in row}
    (found,) = [one for one in store.load(name) if all(_same(one[key], value, 0) for key, value in keys.items())]
    return found


def _same(stored: str, value: object, digits: float) -> bool:
    if not isinstance(value, int | float):
        return stored == value
    return float(stored) == pytest.approx(value, rel=digits, abs=0, nan_ok=True)


def _different(name: str, row: dict) -> list[str]:
    """The columns in which a row is not the stored one; those that only the end of a run knows are left out."""
    stored, digits = _stored(name, row), FEWER.get(name, DIGITS)
    assert stored.keys() == row.keys()
    return [key for key, value in row.items() if key not in _OUTCOMES and not _same(stored[key], value, digits)]


def _start(trial: networks.Trial | stepwise.Trial, steps: int = 1) -> networks.Trial | stepwise.Trial:
    """The first network of a trial, into which no other enters, for a few steps, in which the rate is constant."""
    few = {"steps": steps, "schedule": "constant"}
    if isinstance(trial, networks.Trial):
        few |= {"functions": trial.functions[:1], "draws": trial.draws[:1], "chance_after": None}
    return replace(trial, **few)


# --- untrained --------------------------------------------------------------------------------------------------------

UNTRAINED = [(name, {}) for name in ("sharper", "longer", "tradeoff", "dynamics", "stepwise")]
UNTRAINED += [("variants", {"kind": kind}) for kind in variants._KINDS]


def _untrained(name: str, fields: dict[str, object]) -> list[str]:
    """In which columns the first row of the cheapest network with these fields is not the stored one."""
    (experiment,) = engine.named(name)
    first, _ = experiment.trial(_start(_cheapest(name, **fields)))
    assert first["step"] == 0
    return _different(name, first)


@pytest.mark.parametrize(("name", "fields"), UNTRAINED)
def test_networks_begin_as_stored(name, fields):
    assert _untrained(name, fields) == []


def _other_seeds(patch):
    patch.setattr(networks, "seeds", lambda trial, right=networks.seeds: [seed + 1 for seed in right(trial)])


def _other_scale(patch):
    def scaled(trial, right=networks.encoders):
        ensemble = right(trial)
        with torch.no_grad():
            next(ensemble.parameters()).mul_(1.01)
        return ensemble

    patch.setattr(networks, "encoders", scaled)


def _other_directions(patch):
    patch.setattr(networks, "_measured", lambda *given, right=networks._measured: right(*given[:3], given[3] + 1))


def _other_inputs(patch):
    patch.setattr(networks, "_inputs", lambda n, right=networks._inputs: right(n).flip(0))


@pytest.mark.parametrize(
    ("mutation", "seen"),
    [(_other_seeds, {"error", "sharpness", "norm", "blowup"}), (_other_scale, {"error", "norm", "radius"}),
     (_other_directions, {"sharpness", "deviation"}), (_other_inputs, {"sharpness"})],
)  # fmt: skip
def test_other_code_is_found_out(mutation, seen, monkeypatch):
    mutation(monkeypatch)
    assert set(_untrained("longer", {"n": 16})) >= seen


def _changed(seed: int = 0) -> list[str]:
    """As in ``_untrained``, for the cheapest trial of ``changes`` that is stored, and its network with this seed."""
    done = {at for at, _ in store.manifest(store.DATA)["changes.csv"]["parts"]}
    trials = [trial for at, trial in changes.EXPERIMENT.addresses("book").items() if journal.short(at) in done]
    trial = min(trials, key=changes.cost)
    short = _start(replace(trial, seeds=(seed,)).networks)
    first, _ = ({"change": trial.change} | row for row in networks.rows(short, networks.encoders(short)))
    assert first["step"] == 0
    keys = ("change", "n", "seed", "step")
    (stored,) = [one for one in store.load("changes", partial=True)
                 if all(_same(one[key], first[key] if key != "seed" else 0, 0) for key in keys)]  # fmt: skip
    assert stored.keys() == first.keys()
    return [key for key, value in first.items() if key not in _OUTCOMES and not _same(stored[key], value, DIGITS)]


def test_networks_with_a_changed_setting_begin_as_stored():
    assert _changed() == []
    assert set(_changed(seed=1)) >= {"seed", "error", "sharpness", "norm", "blowup"}


# --- on the way -------------------------------------------------------------------------------------------------------

NORM = 1e-4  # relative, after some hundred steps: other processors were seen to differ by up to 4e-6


def _norm_differs(name: str) -> bool:
    """Whether the cheapest network has another norm than the stored one when it is first measured on its way."""
    (experiment,) = engine.named(name)
    trial = _cheapest(name)
    short = _start(trial, trial.every)
    row = experiment.trial(short)[-1]
    assert row["step"] > 0
    return not _same(_stored(name, row)["norm"], row["norm"], NORM)


@pytest.mark.parametrize("name", ["longer", "dynamics"])
def test_training_begins_as_stored(name):
    assert not _norm_differs(name)


class _Seen(Exception):
    """The first batch of a training run has come."""


def _first_batch(patch: pytest.MonkeyPatch) -> list[int]:
    """The strings of the first batch that the cheapest network of ``stepwise`` learns from, read as binary numbers."""

    def errors(model: torch.nn.Module, bits: torch.Tensor) -> None:
        raise _Seen(bits)

    patch.setattr(stepwise, "_errors", errors)
    patch.setattr(stepwise, "_measured", lambda *given: {})
    with pytest.raises(_Seen) as seen:
        stepwise.trial(_cheapest("stepwise"))
    (bits,) = seen.value.args
    return (bits << torch.arange(bits.shape[1])).sum(dim=1).tolist()


RECORDED = [56, 106, 207, 180, 9, 123, 201, 73, 141, 184, 59, 190, 171, 75, 32, 138]  # of version 1


def test_the_first_batch_is_as_recorded(monkeypatch):
    assert _first_batch(monkeypatch) == RECORDED


def test_another_first_batch_is_found_out(monkeypatch):
    right = stepwise.random_source
    monkeypatch.setattr(stepwise, "random_source", lambda seed, words: right(seed + 1, words))
    assert _first_batch(monkeypatch) != RECORDED


@pytest.mark.parametrize(
    "other",
    [lambda seed, step: {"seed": seed + 1, "step": step}, lambda seed, step: {"seed": seed, "step": 199 - step}],
    ids=["other batches", "batches in another order"],
)
def test_other_batches_are_found_out(other, monkeypatch):
    right = tasks.Task.batch
    monkeypatch.setattr(tasks.Task, "batch", lambda self, size, *, seed, step: right(self, size, **other(seed, step)))
    assert _norm_differs("dynamics")


# --- whole trials -----------------------------------------------------------------------------------------------------


LAX = {"tester": "sparsity", "laxity": 0.1}  # which is wrong more or less often


@pytest.mark.parametrize(("name", "fields"), [("signal", {}), ("initial", {}), ("testers", LAX), ("brittle", {})])
def test_what_is_not_trained_is_as_stored(name, fields):
    (experiment,) = engine.named(name)
    rows = experiment.trial(_cheapest(name, **fields))
    assert rows and not any(_different(name, row) for row in rows)


def test_other_seeds_are_found_out():
    (row,) = initial.trial(replace(_cheapest("initial"), seed=100))
    assert _different("initial", row) == ["mean", "error"]
    rows = signal.trial(replace(_cheapest("signal"), seeds=(1,)))
    assert all(_different("signal", row | {"seed": 0}) == ["signal", "noise"] for row in rows)
    (row,) = testers.trial(replace(_cheapest("testers", **LAX), seed=1))
    assert set(_different("testers", row)) >= {"mean", "queries"}
    rows = brittle.trial(replace(_cheapest("brittle"), seed=1))
    assert all(set(_different("brittle", row)) >= {"loss", "error"} for row in rows)
