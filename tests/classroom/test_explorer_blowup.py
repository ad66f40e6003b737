"""The blow-up explorer from Python: its states, and what the library says it must show."""

import pytest

from flatcube.classroom.explorers import explorer
from flatcube.classroom.explorers.blowup import BlowupExplorer

page = BlowupExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"bits": "0110"}, "bits: expected 3, 5, … or 15 characters 0 and 1, got '0110'"),
        ({"bits": "012"}, "bits: expected 3, 5, … or 15 characters 0 and 1"),
        ({"bits": 101}, "bits: expected 3, 5, … or 15 characters 0 and 1, got 101"),
        ({"loud": 0.05}, "loud: expected a multiple of 0.1 from 0 to 10, got 0.05"),
        ({"eps": 1}, "eps: expected an integer from -9 to 0, got 1"),
        ({"eps": True}, "eps: expected an integer from -9 to 0, got True"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("blowup", **state)
    assert "\n" not in str(refused.value)


def test_majority_is_magnified_on_balanced_inputs():
    shown = page({"bits": "110010100", "loud": 0.0, "eps": -9})  # four ones of nine: one more flips it
    assert shown["s"] == pytest.approx(5) and shown["factor"] == pytest.approx(18)
    assert shown["magnified"] == pytest.approx(18) == pytest.approx(shown["allowed"])
    assert page({"bits": "110010100", "loud": 0.0, "eps": 0})["s"] < 0.05


def test_or_has_one_sensitive_input():
    empty, half = page({"bits": "000000000", "loud": 10.0}), page({"bits": "110010100", "loud": 10.0})
    assert empty["s"] == pytest.approx(9, rel=1e-3) and empty["sum"] > 0.85 * empty["trivial"]
    assert half["s"] < 1e-3 and half["sum"] < 5
    assert empty["factor"] == pytest.approx(2)  # the norm is not to blame


def test_the_sharp_lemma_holds_on_every_state():
    for bits in ("000", "010", "11010", "1010101010101"):
        for loud in (0.0, 0.7, 3.0):
            for eps in (-9, -4, 0):
                shown = page({"bits": bits, "loud": loud, "eps": eps})
                assert shown["magnified"] <= shown["allowed"] * (1 + 1e-9)
    assert page({"bits": "000", "loud": 0.0})["allowed"] == pytest.approx(12**0.5)  # N = 2, and 6 beside it


def test_the_still_picture_has_two_bars_for_every_bit():
    figure = explorer("blowup", bits="10101")
    assert figure.picture(figure.state).count("<rect") == 10
