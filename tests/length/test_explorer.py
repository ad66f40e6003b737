"""Networks while they learn, from Python: states, curves, and what the page is told of some made-up networks."""

import json
import re

import pytest

from flatcube.classroom.explorers import bundle, explorer
from flatcube.experiments import store
from flatcube.length import explorer as length

page = length.LengthExplorer.displayed


def made_up(function, n, seed, errors, sharpness, reason="end", reached=-1):
    end = {"converged": int(reached >= 0), "reason": reason, "reached": reached}
    curves = zip(errors, sharpness, strict=True)
    return [
        {"function": function, "n": n, "seed": seed, "step": 250 * at, "error": error, "sharpness": value}
        | {"norm": 10 + at, "blowup": -0.5 * at}
        | end
        for at, (error, value) in enumerate(curves)
    ]


@pytest.fixture
def few(tmp_path, monkeypatch):
    rows = made_up("PARITY", 8, 0, [1.01234567, 0.9, 0.1, 2e-4, 1e-7], [0.01, 0.02, 0.3, 0.4, 0.35], reached=750)
    rows += made_up("PARITY", 8, 1, [1.0, 0.99, 1.01], [0.01, 0.01, 0.02], reason="chance")
    rows += made_up("PARITY", 12, 3, [1.0, float("nan")], [0.01, float("nan")], reason="diverged")
    rows += made_up("FIRST", 8, 1, [1.0, 0.2, 0.1, 0.09, 0.08], [0.3, 0.1, 0.1, 0.1, 0.1])
    store.save("sharper", rows, command="made up", folder=tmp_path)
    monkeypatch.setattr(store, "DATA", tmp_path)
    length.networks.cache_clear()
    yield
    length.networks.cache_clear()


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"function": "OR"}, "function: expected one of PARITY, FIRST, got 'OR'"),
        ({"function": "FIRST", "n": 12}, "n: expected one of 8, got 12"),
        ({"n": 12, "seed": 0}, "seed: expected one of 3, got 0"),
        ({"seed": True}, "seed: expected one of 0, 1, got True"),
        ({"step": -1}, "step: expected an integer ≥ 0, got -1"),
        ({"against": "OR"}, "against: expected one of nothing, PARITY, FIRST, got 'OR'"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(few, state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("length", **state)


def test_without_stored_networks_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "DATA", tmp_path)
    length.networks.cache_clear()
    for call in (page, length.LengthExplorer.picture):
        with pytest.raises(ValueError, match="^data/sharper.csv is not there: flatcube run sharper and flatcube"):
            call({})
    length.networks.cache_clear()


def test_the_cursor_stands_at_a_record_and_a_rival_has_the_same_length(few):
    assert explorer("length", step=600).state["step"] == 500
    assert explorer("length", seed=1, step=9000).state["step"] == 500  # given up there
    assert explorer("length", against="FIRST").state["against"] == "FIRST"
    assert explorer("length", against="PARITY").state["against"] == ""
    assert explorer("length", n=12, seed=3, against="FIRST").state["against"] == ""


def test_numbers_and_words_are_those_of_the_rows(few):
    shown = page({"step": 500, "against": "FIRST"})
    assert (shown["error"], shown["sharpness"], shown["norm"], shown["blowup"]) == (0.1, 0.3, 12, -1)
    assert (shown["end"], shown["reached"], shown["ended"]) == ("converged", 750, 1000)
    assert (shown["fall"], shown["before"], shown["after"], shown["turn"]) == (250, 0.02, 0.3, "rose")
    assert shown["last"] == 0.35
    assert shown["against:sharpness"] == 0.1  # of seed 1, the only one
    first = page({"function": "FIRST", "seed": 1, "step": 1000, "against": "PARITY"})
    assert (first["end"], first["turn"], first["against:error"]) == ("did not converge", "did not rise", 1.01)
    assert "reached" not in first
    assert page({"seed": 1})["end"] == "was given up at chance" and "fall" not in page({"seed": 1})
    diverged = page({"n": 12, "seed": 3, "step": 250})
    assert diverged["end"] == "diverged" and diverged["norm"] == 11 and "error" not in diverged


def test_the_script_carries_the_curves_to_four_digits(few):
    (text,) = re.findall(r"const stored = (\{.*\});", bundle("length"))
    stored = json.loads(text)
    assert stored["every"] == 250
    assert [network[:5] for network in stored["networks"]][::2] == [
        ["PARITY", 8, 0, "converged", 750],
        ["PARITY", 12, 3, "diverged", -1],
    ]
    assert stored["networks"][0][5] == [1.012, 0.9, 0.1, 0.0002, 1e-7] and stored["networks"][2][5] == [1.0, None]
    assert "const stored = null;" in bundle("cube")


def test_records_at_odd_steps_are_refused(few, monkeypatch):
    rows = store.load("sharper")
    rows[2]["step"] = "600"
    monkeypatch.setattr(store, "load", lambda name: rows)
    length.networks.cache_clear()
    with pytest.raises(ValueError, match="expected a record every 250 steps"):
        explorer("length")


def test_the_still_picture_has_four_curves(few):
    assert explorer("length").picture({}).count("<polyline") == 4
    assert explorer("length").picture({"n": 12, "seed": 3}).count("<polyline") == 4


def test_the_book_s_own_curves_fit_into_a_small_script():
    assert len(bundle("length")) < 200_000
