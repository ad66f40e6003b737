"""The Fourier explorer from Python: its states, and what the page is told."""

import numpy as np
import pytest

from flatcube import cube, fourier
from flatcube.classroom.explorers import explorer


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"n": 9}, "n: expected an integer from 1 to 8, got 9"),
        ({"source": "oracle"}, "source: expected one of named, formula, table, got 'oracle'"),
        ({"name": "sine"}, "name: expected one of parity, .* got 'sine'"),
        ({"formula": "x1 &"}, "formula, column 5: expected a variable .* found the end"),
        ({"formula": "x5", "n": 3}, "formula: uses x5, but n = 3"),
        ({"table": "++-"}, "table: expected 2 signs or finite numbers for n = 1"),
        ({"table": [0.5, float("nan")]}, "table: expected finite numbers, got nan"),
        ({"table": [[1, 2], [3]]}, "table: expected an array, got lists of unequal lengths"),
        ({"formula": None}, "formula: expected at most 4000 characters, got None"),
        ({"name": "address", "n": 5}, "n: the address function has 3 or 6 variables here, got 5"),
        ({"name": "threshold", "n": 3, "parameter": 5}, "threshold on 3 variables can have 0, 1, 2, 3, 4"),
        ({"name": "tribes", "n": 6, "parameter": 4}, "tribes on 6 variables can have 1, 2, 3, 6, got 4"),
        ({"name": "parity", "parameter": 1}, "parameter: parity on 3 variables can have 0, got 1"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("fourier", **state)
    assert "\n" not in str(refused.value)


def test_what_a_source_does_not_use_is_emptied():
    state = explorer("fourier", name="parity", formula="x1", table="+-").state
    assert (state["source"], state["formula"], state["table"]) == ("named", "", "")


def test_size_and_source_follow_from_the_others():
    assert explorer("fourier", formula="x2 ^ x5").state["n"] == 5
    assert explorer("fourier", table="+--+").state["n"] == 2
    assert explorer("fourier", name="majority").state["source"] == "named"


def test_real_tables_are_kept_as_numbers():
    figure = explorer("fourier")
    figure.table = cube.mean(3)
    assert figure.state["table"][:2] == [1.0, pytest.approx(1 / 3)]
    assert figure.displayed(figure.state)["c:1"] == pytest.approx(1 / 3)


def test_the_page_is_told_what_the_library_computes():
    shown = explorer("fourier").displayed({"formula": "x1 & (x2 ^ x3)"})
    spectrum = fourier.spectrum(cube.formula("x1 & (x2 ^ x3)"))
    assert [shown[f"c:{S}"] for S in range(8)] == spectrum.coefficients.tolist()
    assert [shown[f"w:{k}"] for k in range(4)] == spectrum.profile.tolist()
    assert shown["polynomial"] == spectrum.polynomial()


@pytest.mark.parametrize(
    ("state", "table"),
    [
        ({"name": "threshold", "n": 4, "parameter": 3}, cube.threshold(4, 3)),
        ({"name": "address", "n": 6}, cube.address(2)),
        ({"name": "tribes", "n": 8, "parameter": 2}, cube.tribes(2, 4)),
        ({"name": "mean", "n": 5}, cube.mean(5)),
    ],
)
def test_named_functions_are_the_library_s(state, table):
    assert (explorer("fourier", **state).table == table).all()


def test_random_tables_differ_by_seed_and_are_balanced():
    tables = np.array([explorer("fourier", name="random", n=8, parameter=seed).table for seed in range(100)])
    assert len(np.unique(tables, axis=0)) == 100
    assert np.abs(tables.mean()) < 0.03  # five standard deviations of 25,600 fair signs


def test_the_butterfly_begins_with_the_table_and_ends_with_the_spectrum():
    show = type(explorer("fourier.butterfly")).displayed
    assert show({}) == {"additions": 0, **{f"v:0:{k}": value for k, value in enumerate(cube.majority(3))}}
    for choice in ("majority", "parity", "first", "conjunction"):
        shown, spectrum = show({"choice": choice, "done": 4}), fourier.transform(getattr(cube, choice)(3))
        assert shown["additions"] == 3 * 2**3
        assert [shown[f"v:4:{S}"] for S in range(8)] == spectrum.tolist()
        assert [shown[f"v:3:{S}"] for S in range(8)] == (8 * spectrum).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_in_every_pass_of_the_butterfly_pairs_become_sum_and_difference(seed):
    signs = "".join("-" if value < 0 else "+" for value in cube.random_boolean(3, rng=seed))
    shown = type(explorer("fourier.butterfly")).displayed({"choice": "custom", "table": signs, "done": 3})
    for step in (1, 2, 3):
        for low in (k for k in range(8) if not k & 2 ** (step - 1)):
            high = low + 2 ** (step - 1)
            a, b = (shown[f"v:{step - 1}:{k}"] for k in (low, high))
            assert (shown[f"v:{step}:{low}"], shown[f"v:{step}:{high}"]) == (a + b, a - b)


def test_what_the_text_says_of_the_butterfly():
    show = type(explorer("fourier.butterfly")).displayed
    assert [show({"done": 3})[f"v:3:{k}"] for k in range(8)] == [0, 4, 4, 0, 4, 0, 0, -4]
    signs = explorer("fourier.butterfly", choice="custom", table="+++-+---").state["table"]
    for k in range(8):
        flipped = signs[:k] + ("+" if signs[k] == "-" else "-") + signs[k + 1 :]
        after = show({"choice": "custom", "table": flipped, "done": 3})
        assert all(abs(after[f"v:3:{S}"] - show({"done": 3})[f"v:3:{S}"]) == 2 for S in range(8))


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"done": 5}, "done: expected an integer from 0 to 4, got 5"),
        ({"choice": "mean"}, "choice: expected one of majority, parity, first, conjunction, custom, got 'mean'"),
        ({"choice": "custom", "table": "++"}, "table: expected 8 signs"),
        ({"choice": "custom", "table": [1] * 8}, "table: expected 8 signs"),
        ({"entry": 8, "column": 1, "done": 1}, "entry: expected an integer from 0 to 7, got 8"),
    ],
)
def test_a_wrong_state_of_the_butterfly_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("fourier.butterfly", **state)


def test_only_what_is_there_can_be_traced():
    assert explorer("fourier.butterfly", done=1, column=2, entry=3).state == explorer("fourier.butterfly", done=1).state
    assert explorer("fourier.butterfly", done=2, column=2, entry=3).state["entry"] == 3
