"""The capacity calculator from Python: its states, and what the library says it must show."""

import math

import pytest

from flatcube import capacity
from flatcube.capacity.explorer import CapacityExplorer
from flatcube.classroom.explorers import explorer

page = CapacityExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"T": 0}, "T: expected an integer from 1 to 20, got 0"),
        ({"m": 31}, "m: expected an integer from 1 to 30, got 31"),
        ({"layers": True}, "layers: expected an integer from 1 to 4, got True"),
        ({"width": 2.5}, "width: expected an integer from 1 to 10, got 2.5"),
        ({"score": 0.3}, "score: expected a multiple of 0.25 from 0.25 to 4, got 0.3"),
        ({"readout": -1}, "readout: expected a multiple of 0.25 from 0.25 to 4, got -1"),
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


TRY = {"form": "explicit", "layers": 3, "T": 10, "width": 5, "score": 2.0, "m": 12}  # with which the chapter begins


def layer(shown, i):
    return sum(value for key, value in shown.items() if key.startswith(f"share:layer {i} "))


def shares(shown):
    return {key: value for key, value in shown.items() if key.startswith("share:")}


def test_what_the_chapter_says_about_tokens_layers_and_shares():
    few, many = page({**TRY, "T": 1}), page({**TRY, "T": 20})
    assert shares(few) == pytest.approx(shares(many))
    assert (round(few["needed"], 2), round(many["needed"], 2)) == (15.81, 15.95)
    assert 10 ** (many["needed"] - few["needed"]) == pytest.approx(1.4, abs=0.05)
    numbers = [page({**TRY, "layers": L})["log-number"] for L in (1, 2, 3, 4)]
    factors = [10 ** (b - a) for a, b in zip(numbers, numbers[1:], strict=False)]
    assert all(26 < factor < 57 for factor in factors)
    first = page(TRY)
    assert layer(first, 1) == pytest.approx(100 * 2 / 3, abs=2)
    shrinking = page({**TRY, "value": 0.25, "output": 0.25})
    assert layer(shrinking, 3) > layer(shrinking, 2) > layer(shrinking, 1)


def test_what_the_chapter_says_about_the_read_out():
    small, large = (page({**TRY, "readout": b}) for b in (0.25, 4.0))
    assert shares(small) == pytest.approx(shares(large))
    assert 10 ** (large["log-number"] - small["log-number"]) == pytest.approx(256)
    assert (round(small["log-number"], 2), round(large["log-number"], 2)) == (10.31, 12.72)
    small, usual, large = (page({**TRY, "form": "printed", "readout": b}) for b in (0.25, 2.0, 4.0))
    assert layer(usual, 3) > layer(usual, 2) > layer(usual, 1)
    assert {round(shown["log-number"], 2) for shown in (small, usual, large)} == {12.66}
    assert small["gap"] * 3 < large["gap"] and small["needed"] < large["needed"] - 0.5  # these do change


def test_the_first_layer_weighs_most_unless_printed():
    for form, larger in (("corrected", 1), ("printed", 2)):
        shown = page({"form": form})
        assert shown[f"share:layer {larger} score"] > shown[f"share:layer {3 - larger} score"]


def test_the_still_picture_has_a_block_for_every_matrix():
    figure = explorer("capacity", layers=4)
    assert figure.picture(figure.state).count("<rect") == 13


def test_the_page_offers_the_library_s_forms():
    assert CapacityExplorer.schema["form"].values == list(capacity.FORMS)
