"""The head and its lookup from Python: its states, and the numbers that the chapter speaks of."""

import pytest

from flatcube.classroom.explorers import explorer
from flatcube.sparse_variables import tables as lookup
from flatcube.sparse_variables.explorer import SparseVariablesExplorer


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"bits": "012"}, "bits: expected 4 to 12 characters 0 and 1, got '012'"),
        ({"bits": "0" * 13}, "bits: expected 4 to 12 characters"),
        ({"chosen": [13]}, "chosen: expected numbers from 1 to 12, got 13"),
        ({"chosen": []}, "chosen: expected 1 to 5 positions, got \\[\\]"),
        ({"chosen": [1, 2, 3, 4, 5, 6]}, "chosen: expected 1 to 5 positions, got \\[1, 2"),
        ({"scale": 11}, "scale: expected a number from 0 to 10, got 11"),
        ({"delta": True}, "delta: expected a number from 0 to 0.2, got True"),
        ({"target": "mean"}, "target: expected one of parity, .* got 'mean'"),
        ({"bump": "new"}, "bump: expected one of repaired, printed, got 'new'"),
        ({"share": 6}, "share: expected one of 4, 8, got 6"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("sparse_variables", **state)
    assert "\n" not in str(refused.value)


def test_it_shows_the_failures_that_the_chapter_names():
    shown = explorer("sparse_variables").displayed
    exact = shown({})
    assert exact["output"] == pytest.approx(exact["wanted"]) and exact["worst"] < exact["allowed"]
    leaning = shown({"delta": 0.1, "scale": 7.8, "bits": "010000000010"})
    assert (leaning["a:2"], leaning["a:5"]) == pytest.approx((0.70, 0.15), abs=0.01)
    assert leaning["output"] == pytest.approx(-leaning["wanted"])
    assert shown({"bump": "printed"})["output"] == pytest.approx(-1) and shown({})["wanted"] == 1


def test_trying_what_the_chapter_says_shows_what_it_says():
    shown = explorer("sparse_variables").displayed
    first = shown({})
    assert [first[f"a:{t}"] for t in (2, 5, 7)] == pytest.approx([0.33] * 3, abs=0.005)
    same = shown({"scale": 2.0})
    assert same["output"] == pytest.approx(same["wanted"])  # on the first input nothing is wrong yet
    worst = shown({"scale": 2.0, "bits": "010010100000"})
    assert abs(worst["signal"] - worst["mean"]) == pytest.approx(worst["worst"])
    assert (worst["signal"], worst["mean"]) == (pytest.approx(-0.41, abs=0.005), pytest.approx(-1))
    assert (worst["output"], worst["wanted"]) == (pytest.approx(1), -1)
    assert shown({"scale": 3.5})["worst"] > first["allowed"] > shown({"scale": 3.55})["worst"]


def test_the_page_offers_the_library_s_bumps():
    assert SparseVariablesExplorer.schema["bump"].values == list(lookup.KINKS)
