"""The cube explorer from Python: its states, and what the page is told."""

import pytest

from flatcube import cube
from flatcube.classroom.explorers import explorer


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"n": 6}, "n: expected an integer from 2 to 5, got 6"),
        ({"n": True}, "n: expected an integer from 2 to 5, got True"),
        ({"name": "mean"}, "name: expected one of majority, .* got 'mean'"),
        ({"name": "custom", "table": "+-"}, r"table: expected 8 signs \+ and -, got '\+-'"),
        ({"name": "custom", "table": "+-0+-+-+"}, r"table: expected 8 signs \+ and -"),
        ({"subset": [4]}, "subset: expected numbers from 1 to 3, got 4"),
        ({"sides": 3}, "state: the explorer 'cube' has no 'sides'; it has n, name, table, subset"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("cube", **state)
    assert "\n" not in str(refused.value)


def test_what_is_not_used_is_emptied():
    assert explorer("cube", name="parity", table="++++++++").state["table"] == ""


def test_real_tables_are_refused():
    with pytest.raises(ValueError, match="expected −1 and"):
        explorer("cube").table = cube.mean(3)


def test_agreement_is_shown_as_correlation():
    shown = explorer("cube").displayed({"n": 3, "name": "majority", "subset": [1]})
    assert (shown["correlation"], shown["agree"], shown["differ"]) == (0.5, 6, 2)
    shown = explorer("cube").displayed({"name": "custom", "n": 2, "table": "+--+", "subset": [1, 2]})
    assert shown["correlation"] == 1
