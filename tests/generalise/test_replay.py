"""The code still makes the functions and the first networks of what is stored, before any training.

What a trial knows before it trains does not depend on the path of a training run: the target and what is shown of it,
the hand-built network, untrained weights. So a stored trial is begun again, with a single step, and compared there.
"""

from dataclasses import replace

import pytest

from flatcube import cube
from flatcube.experiments import engine, journal, store
from flatcube.generalise import flattened, gap, learners, own_inputs, perturbed
from flatcube.inside import models

BEFORE = {  # what is known before training
    "gap": ("hand_norm2", "hand_trace"),
    "domination": ("start", "hand_norm2", "hand_trace", "trimmed_trace", "rescaled_norm2"),
    "eigenvalues": ("trace", "directions", "e1", "e20"),  # of networks that are built
    "plain_start": ("start", "hand_norm2", "hand_trace"),
    "random_functions": ("target", "completion"),
    "minimal": ("untrained", "weights"),
    "circuits": ("components",),
}
RECORDED = {"query": [-0.787508, 1.03945], "minimal": [-0.666445, -0.107665], "shown": [11, 24, 25, 32]}  # of version 1
KEYS = ("arm", "kind", "network", "T", "n", "m", "size", "degree", "sparsity", "batch", "decay", "seed", "draw")
STORED = [name for name in BEFORE if (store.DATA / f"{name}.csv").exists()]


def _begun(name: str) -> list[dict]:
    """The rows of the stored trial that is cheapest to begin, with the first of its networks, after one step."""
    (experiment,) = engine.named(name)
    done = {at for at, _ in store.manifest(store.DATA)[f"{name}.csv"]["parts"]}
    trials = [trial for at, trial in experiment.addresses("book").items() if journal.short(at) in done]
    trial = min(trials, key=experiment.cost)
    small = {"seeds": trial.seeds[:1]} if hasattr(trial, "seeds") else {}
    small |= {"directions": 2} if hasattr(trial, "directions") else {}
    return experiment.trial(replace(trial, steps=1, **small))


def _differs(name: str) -> set[str]:
    """The columns in which what is known before training is not as stored."""
    found = set()
    for row in (row for row in _begun(name) if row.get("network") != "learned"):
        keys = {key: row[key] for key in KEYS if key in row}
        rows = store.load(name, partial=True)
        (stored,) = [one for one in rows if all(_same(one[key], value) for key, value in keys.items())]
        found |= {column for column in BEFORE[name] if not _same(stored[column], row[column])}
    return found


def _same(stored: str, value: object) -> bool:
    return float(stored) == pytest.approx(value, rel=1e-4) if isinstance(value, int | float) else stored == value


@pytest.mark.parametrize("name", STORED)
def test_stored_trials_begin_as_they_did(name):
    assert _differs(name) == set()


@pytest.mark.parametrize("name", [name for name in STORED if name in ("gap", "domination", "circuits")])
def test_other_functions_are_found_out(name, monkeypatch):
    right = cube.random_components
    monkeypatch.setattr("flatcube.cube.functions.random_components", lambda *given, rng: right(*given, rng=7))
    assert _differs(name)


def _moved(arm: str, seed_shift: int = 0) -> tuple[float, float]:
    """How far the first network of the easiest parities goes in an arm, and as stored."""
    trial = next(one for one in flattened.EXPERIMENT.trials("book") if (one.kind, one.arm) == ("parities", arm))
    (row,) = flattened.trial(replace(trial, seeds=(trial.seeds[0] + seed_shift,)))
    keys = {name: str(row[name]) for name in ("kind", "arm", "T", "m", "degree", "sparsity")}
    keys["seed"] = str(trial.seeds[0])
    (stored,) = [one for one in store.load("flattened") if all(one[name] == value for name, value in keys.items())]
    assert stored.keys() == row.keys() and int(stored["ended"]) == row["ended"] == 100
    return row["moved2"], float(stored["moved2"])


@pytest.mark.parametrize("arm", flattened.ARMS)
def test_pushed_networks_go_as_far_as_stored(arm):
    """After a hundred steps processors have parted, but not by much."""
    found, stored = _moved(arm)
    assert found == pytest.approx(stored, rel=0.02)


def test_another_network_goes_elsewhere():
    found, stored = _moved("plain", 1)
    assert abs(found / stored - 1) > 0.1


def test_the_sharpest_network_on_its_own_inputs_is_as_sharp_as_stored():
    """No other comes within a tenth; processors part, but by less."""
    wanted = [row for row in store.load("own_inputs") if (row["size"], row["rho"]) == ("128", "0.02")]
    *others, stored = sorted(wanted, key=lambda row: float(row["cube"]))
    assert float(others[-1]["cube"]) < 0.9 * float(stored["cube"])
    (trial,) = (one for one in own_inputs.EXPERIMENT.trials("book")
                if (str(one.seed), str(one.draw)) == (stored["seed"], stored["draw"]))  # fmt: skip
    row = own_inputs.trial(replace(trial, sizes=(128,)))[own_inputs.NOISES.index(0.02)]
    assert stored.keys() == row.keys() and row["cube"] == pytest.approx(float(stored["cube"]), rel=0.1)
    ratio = float(stored["control"]) / float(stored["cube"])  # which inputs were drawn shows here
    assert row["control"] / row["cube"] == pytest.approx(ratio, rel=0.04)


def _noisy(seed_shift: int = 0) -> set[str]:
    """The columns in which the cheapest stored trial of ``perturbed``, computed again, is not as stored."""
    trial = min(perturbed.EXPERIMENT.trials("book"), key=perturbed.cost)
    found = set()
    for row in perturbed.trial(replace(trial, seed=trial.seed + seed_shift)):
        keys = {"T": row["T"], "degree": row["degree"], "sparsity": row["sparsity"], "sigma": row["sigma"]}
        (stored,) = [one for one in store.load("perturbed") if float(one["seed"]) == trial.seed
                     and all(float(one[key]) == value for key, value in keys.items())]  # fmt: skip
        columns = ("trace", "perturbed", "loss", "bound", "no_flip")
        found |= {column for column in columns if not _same(stored[column], row[column])}
    return found


def test_noise_in_the_hand_built_network_is_as_stored():
    assert _noisy() == set()
    assert _noisy(1) >= {"trace", "perturbed", "loss", "bound"}


def test_first_weights_are_as_recorded():
    kind = learners.config(12)
    drawn = learners.drawn(kind, seed=0)
    assert drawn["layers.0.query.weight"][0, :2].tolist() == pytest.approx(RECORDED["query"], rel=1e-5)
    assert models.drawn(12, seed=0)["query"][0, :2].tolist() == pytest.approx(RECORDED["minimal"], rel=1e-5)
    _, (given,) = gap.samples(gap.Trial("stop", 12, 1024, 2, 4, (0,)))
    assert given.shown[:4].tolist() == RECORDED["shown"]
