"""Networks that saw a part of the cube, from Python: states, and what the page is told of some made-up networks."""

import json
import re

import pytest

from flatcube.classroom.explorers import bundle, explorer
from flatcube.experiments import store
from flatcube.generalise import explorer as networks
from flatcube.generalise import gap

page = networks.GeneraliseExplorer.displayed


def made_up(m, degree, sparsity, seed, **change):
    row = {
        "arm": "stop",
        "T": 16 if m == 2048 else 12,
        "m": m,
        "degree": degree,
        "sparsity": sparsity,
        "batch": 64,
        "seed": seed,
    }
    row |= {"ended": 800, "fitted": 1, "train": 0.012345, "test": 0.02, "own": 0.01, "low": 0.005, "above": 0.005}
    row |= {"sensitivity": 2.9, "constant": 0.02, "two_sided": 0.1, "norm2": 1800.0, "moved2": 70.0, "trace": 400.0}
    row |= {"hand_norm2": 160.0, "hand_trace": 640.0, "certificate": 3.9, "noisy": 1.0, "sigma": 0.1}
    return row | change


@pytest.fixture
def few(tmp_path, monkeypatch):
    """All keys; those with seed 1 did not fit, with seed 2 have a bound below 1."""
    unlike = {1: {"fitted": 0, "train": 0.4, "test": 0.5}, 2: {"norm2": 20.0, "trace": 30.0, "certificate": 0.6}}
    rows = [made_up(m, d, w, seed, **unlike.get(seed, {}))
            for m in (512, 1024, 2048) for d in (1, 2, 3, 4) for w in (1, 2, 4, 8) for seed in range(5)]  # fmt: skip
    rows.append(made_up(1024, 3, 4, 0, arm="norm", train=9.0))
    store.save("gap", rows, command="made up", folder=tmp_path)
    monkeypatch.setattr(store, "DATA", tmp_path)
    networks.networks.cache_clear()
    yield
    networks.networks.cache_clear()


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"m": 100}, "m: expected one of 1024, 512, 2048, got 100"),
        ({"degree": 5}, "degree: expected an integer from 1 to 4, got 5"),
        ({"sparsity": 3}, "sparsity: expected one of 1, 2, 4, 8, got 3"),
        ({"seed": True}, "seed: expected an integer from 0 to 4, got True"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("generalise", **state)


def test_without_stored_networks_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "DATA", tmp_path)
    networks.networks.cache_clear()
    for call in (page, networks.GeneraliseExplorer.picture):
        with pytest.raises(ValueError, match="^data/gap.csv is not there: flatcube run gap and flatcube export gap"):
            call({})
    networks.networks.cache_clear()


def test_numbers_and_words_are_those_of_the_rows(few):
    shown = page({})
    assert (shown["train"], shown["test"], shown["ended"], shown["norm2"]) == (0.01235, 0.02, 800, 1800)
    assert (shown["share:own"], shown["share:low"], shown["share:above"]) == (0.5, 0.25, 0.25)
    (row,) = gap.fitted([made_up(1024, 3, 4, 0)])
    assert shown["oracle"] == pytest.approx(row["oracle"], rel=1e-3)
    assert shown["truncated"] == pytest.approx(row["truncated"], rel=1e-3)
    assert shown["end"] == "fitted its examples" and shown["said"].endswith("none of 3.")


def test_a_network_that_did_not_fit_has_only_its_certificate(few):
    shown = page({"seed": 1})
    assert {"truncated", "oracle"}.isdisjoint(shown) and shown["certificate"] == 3.9
    assert shown["end"] == "did not fit its examples"
    assert shown["said"] == "Only the certificate applies, and it is not below 1, the risk of a constant."
    assert page({"seed": 2})["said"] == "Bounds below 1, the risk of a constant: 2 of 3."


@pytest.mark.parametrize(("m", "T"), [(512, 12), (2048, 16)])
def test_the_coefficients_are_those_of_the_target(few, m, T):
    ((components,), (given,)) = gap.samples(gap.Trial("stop", T, m, 2, 8, (3,)))
    shown = page({"m": m, "degree": 2, "sparsity": 8, "seed": 3})
    assert shown["bits"] == T
    found = {key: value for key, value in shown.items() if key.startswith("coefficient:")}
    assert len(found) == 8 == len(components)
    assert sum(value**2 for value in found.values()) == pytest.approx(given.table.var(), rel=1e-3)
    assert {int(key.split(":")[1]).bit_count() for key in found} == {2}


def test_the_script_carries_all_networks_that_stop_when_they_fit(few):
    (text,) = re.findall(r"const stored = (\[.*\]);", bundle("generalise"))
    stored = json.loads(text)
    assert len(stored) == 240 and [row[:5] for row in stored[:2]] == [[512, 1, 1, 0, True], [512, 1, 1, 1, False]]
    assert len(bundle("generalise")) < 200_000


def test_the_still_picture_has_a_block_for_every_part(few):
    figure = explorer("generalise")
    assert figure.picture(figure.state).count("<rect") == 3
