"""The capacity calculator from Python: its states, and what the library says it must show."""

import math

import pytest

from flatcube.classroom.explorers import explorer
from flatcube.classroom.explorers.capacity import CapacityExplorer

page = CapacityExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"T": 0}, "T: expected 1 … 20, got 0"),
        ({"m": 31}, "m: expected 1 … 30, got 31"),
        ({"layers": True}, "layers: expected 1 … 4, got True"),
        ({"width": 2.5}, "width: expected 1 … 10, got 2.5"),
        ({"score": 0.3}, "score: expected a multiple of ¼ from ¼ to 4, got 0.3"),
        ({"readout": -1}, "readout: expected a multiple of ¼ from ¼ to 4, got -1"),
        ({"form": "exact"}, "form: expected one of printed, corrected, explicit, got 'exact'"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("capacity", **state)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("form", ["printed", "corrected", "explicit"])
def test_shares_add_up_and_the_bound_falls_below_one_where_it_says(form):
    shown = page({"form": form, "layers": 3})
    assert sum(value for key, value in shown.items() if key.startswith("share:")) == pytest.approx(100)
    after = math.ceil(shown["needed"])
    assert (
        page({"form": form, "layers": 3, "m": after})["gap"]
        < 1
        < page({"form": form, "layers": 3, "m": after - 1})["gap"]
    )
    assert page({"form": form, "layers": 3, "m": after})["verdict"] == "It says something."


def test_tokens_cost_a_logarithm_and_the_readout_everything():
    numbers = [10 ** page({"T": T})["log-number"] for T in (1, 11)]
    assert numbers[1] / numbers[0] == pytest.approx(math.log(2**11 * 1e6) / math.log(2 * 1e6))
    one, two = (10 ** page({"readout": b})["log-number"] for b in (1.0, 2.0))
    assert two / one == pytest.approx(4)
    one, two = (10 ** page({"readout": b, "form": "printed"})["log-number"] for b in (1.0, 2.0))
    assert two / one < 1.1  # the printed form hardly notices it


def test_the_first_layer_weighs_most_unless_printed():
    for form, larger in (("corrected", 1), ("printed", 2)):
        shown = page({"form": form})
        assert shown[f"share:layer {larger} score"] > shown[f"share:layer {3 - larger} score"]


def test_the_still_picture_has_a_block_for_every_matrix():
    figure = explorer("capacity", layers=4)
    assert figure.picture(figure.state).count("<rect") == 13
