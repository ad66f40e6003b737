"""The automaton with a scratchpad from Python: its states, and what the library says it must show."""

import pytest

from flatcube.classroom.explorers import explorer
from flatcube.scratchpad.explorer import ScratchpadExplorer

page = ScratchpadExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"bits": "1"}, "bits: expected 2 to 12 characters 0 and 1, got '1'"),
        ({"bits": "12"}, "bits: expected 2 to 12 characters 0 and 1, got '12'"),
        ({"table": [[0, 0]]}, "table: expected 2 to 4 rows of two states, got"),
        ({"table": [[0, 1], [1]]}, "table: expected 2 to 4 rows of two states, got"),
        ({"table": [0, 1]}, "table: expected 2 to 4 rows of two states, got"),
        ({"table": [[0, 1], [1, 2]]}, "table: expected states 0 to 1, got 2"),
        ({"accepting": [2]}, "accepting: expected an integer from 0 to 1, got 2"),
        ({"accepting": None}, r"accepting: expected something like \[1\], got None"),
        ({"step": -1}, "step: expected an integer ≥ 0, got -1"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint) as refused:
        explorer("scratchpad", **state)
    assert "\n" not in str(refused.value)


def test_parity_writes_running_parities_and_every_bit_matters():
    shown = page({"bits": "110111", "step": 99})
    assert [shown[f"t:{i}"] for i in range(7)] == [0, 1, 0, 0, 1, 0, 1]
    assert shown["here"] == 6 and shown["now"] == 2 and shown["s:step"] == 2 and shown["bits"] == 2
    assert [shown[f"s:{k}"] for k in range(1, 13)] == list(range(1, 13))
    assert "now" not in page({"step": 0})


def test_an_unused_code_behaves_like_the_last_state():
    state = {"table": [[0, 1], [0, 2], [2, 2]], "accepting": [2], "bits": "0110", "step": 3}
    shown = page(state)
    assert [shown[f"flip:{i}"] for i in range(1, 5)] == [0, 1, 1, 0]
    assert shown["now"] == 2  # state 0 and symbol 0 would lead elsewhere, the unused code 3 would not


def test_the_still_picture_has_a_column_for_every_state_of_the_run():
    figure = explorer("scratchpad", bits="10110")
    assert figure.picture(figure.state).count("<rect") == 6
