"""The sensitivity explorer from Python: its states, and what the page is told."""

import itertools
import math

import numpy as np
import pytest

from flatcube import cube, sensitivity
from flatcube.classroom.explorers import explorer


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"n": 1}, "n: expected an integer from 2 to 5, got 1"),
        ({"name": "tribes"}, "name: expected one of majority, .* got 'tribes'"),
        ({"name": "custom", "table": "01100110"}, r"table: expected 8 signs \+ and -, got '01100110'"),
        ({"name": "custom", "table": [1.0, 2.0]}, "table: expected 8 signs or finite numbers for n = 3"),
        ({"correlation": -0.1}, "correlation: expected a number from 0 to 1, got -0.1"),
        ({"correlation": True}, "correlation: expected a number from 0 to 1, got True"),
        ({"variable": 4}, "variable: expected None or an integer from 1 to 3, got 4"),
        ({"variable": 0}, "variable: expected None or an integer from 1 to 3, got 0"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("sensitivity", **state)
    assert "\n" not in str(refused.value)


def test_the_page_is_told_what_the_library_computes():
    shown = explorer("sensitivity").displayed({"n": 4, "name": "majority", "correlation": 0.5})
    table = cube.majority(4)
    assert [shown[f"s:{k}"] for k in range(16)] == sensitivity.at_points(table).tolist()
    assert [shown[f"i:{i}"] for i in range(1, 5)] == sensitivity.influences(table).tolist()
    lit = [shown[key] for key in shown if key.startswith("e:")]
    assert len(lit) == 32 and sum(lit) / 8 == shown["average"] == sensitivity.average(table)
    assert shown["disagreement"] == sensitivity.disagreement(table, 0.5) <= shown["by-average"]
    assert (shown["maximum"], shown["degree"], shown["variance"]) == (3, 4, pytest.approx(1 - (6 / 16) ** 2))


def test_a_real_function_has_no_disagreement():
    shown = explorer("sensitivity").displayed({"name": "mean", "n": 5})
    assert (shown["average"], shown["stability"]) == (pytest.approx(1 / 5), pytest.approx(0.8 / 5))
    assert not {"disagreement", "by-average", "by-maximum"} & shown.keys()


# --- what the text says about the figures -------------------------------------------------------------------------


def lit(shown):
    return [key for key, value in shown.items() if key.startswith("e:") and value]


def test_what_one_is_told_to_try_on_the_cube():
    show = type(explorer("sensitivity")).displayed
    majority = show({"n": 3, "name": "majority"})
    assert len(lit(majority)) == 6 and [majority[f"s:{k}"] for k in range(8)] == [0, 2, 2, 2, 2, 2, 2, 0]
    parity = show({"n": 3, "name": "parity"})
    assert len(lit(parity)) == 12 and {parity[f"s:{k}"] for k in range(8)} == {3}
    conjunction = show({"n": 3, "name": "conjunction"})
    assert sorted(lit(conjunction)) == ["e:3:3", "e:5:2", "e:6:1"]  # the three edges at 111
    five = show({"n": 5, "name": "majority"})
    assert all(five[f"s:{k}"] == (3 if k.bit_count() in (2, 3) else 0) for k in range(32))


@pytest.mark.parametrize("correlation", [k / 20 for k in range(21)])
@pytest.mark.parametrize("name", ["majority", "parity", "first", "conjunction", "disjunction"])
def test_the_bounds_hold_in_their_order_over_the_whole_slider(name, correlation):
    for n in (2, 3, 4, 5):
        shown = type(explorer("sensitivity")).displayed({"n": n, "name": name, "correlation": correlation})
        assert shown["disagreement"] <= shown["by-average"] + 1e-12
        assert shown["by-average"] <= shown["by-maximum"] + 1e-12


@pytest.mark.parametrize("n", [3, 4, 5])
def test_more_than_half_of_the_corners_have_a_root_of_n_neighbours(n):
    show = type(explorer("sensitivity.induced")).displayed
    spread, even, extra = (show({"n": n, "choice": choice}) for choice in ("spread", "even", "extra"))
    half = 2 ** (n - 1)
    assert (spread["size"], spread["most"]) == (half + 1, math.ceil(n**0.5))
    assert (even["size"], even["most"]) == (half, 0)
    assert (extra["size"], extra["most"]) == (half + 1, n)


def test_no_nine_corners_of_sixteen_do_better():
    points = np.arange(16)
    nearby = np.array([sum(1 << int(k ^ 1 << i) for i in range(4)) for k in points])
    sets = np.array([sum(1 << k for k in chosen) for chosen in itertools.combinations(range(16), 9)])
    inside = np.bitwise_count(sets[:, None] & nearby) * (sets[:, None] >> points & 1)
    assert inside.max(axis=1).min() == 2
    shown = type(explorer("sensitivity.induced")).displayed({"n": 4, "choice": "custom", "members": "-" * 9 + "+" * 7})
    assert (shown["size"], shown["most"]) == (9, 4)


@pytest.mark.parametrize("members", ["-+-", [1, -1], "01" * 8])
def test_a_wrong_set_of_corners_is_refused(members):
    with pytest.raises(ValueError, match="members|table: expected"):
        explorer("sensitivity.induced", n=4, choice="custom", members=members)
