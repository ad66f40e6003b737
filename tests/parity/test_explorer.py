"""PARITY step by step, from Python: its states, and what both networks must show on their way."""

import itertools

import pytest

from flatcube.classroom.explorers import explorer


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"network": "majority"}, "network: expected one of norm, scratchpad, got 'majority'"),
        ({"bits": "1"}, "bits: expected 2 to 12 characters 0 and 1, got '1'"),
        ({"bits": "1" * 13}, "bits: expected 2 to 12 characters 0 and 1"),
        ({"bits": "12"}, "bits: expected 2 to 12 characters 0 and 1, got '12'"),
        ({"step": -1}, "step: expected an integer ≥ 0, got -1"),
        ({"step": 1.5}, "step: expected an integer ≥ 0, got 1.5"),
        ({"eps": 1e-11}, "eps: expected one of 0, 1e-10, .* 0.1, got 1e-11"),
        ({"eps": -1}, "eps: expected one of 0, .* got -1"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("parity", **state)
    assert "\n" not in str(refused.value)


def test_steps_end_where_the_network_ends():
    assert explorer("parity", step=99).state["step"] == 5
    assert explorer("parity", network="scratchpad", bits="1011", step=99).state["step"] == 4


@pytest.mark.parametrize("n", [2, 5, 6])
def test_both_networks_end_with_the_parity(n):
    show = explorer("parity").displayed
    for bits in map("".join, itertools.product("01", repeat=n)):
        odd = bits.count("1") % 2
        assert show({"bits": bits, "step": 5})["output"] == pytest.approx(1 - 2 * odd, abs=1e-12)
        assert show({"network": "scratchpad", "bits": bits, "step": n})["bit"] == odd


def test_the_stages_of_the_layer_norm_network():
    bits, n = "1011001", 7
    stages = [explorer("parity").displayed({"bits": bits, "step": step}) for step in range(6)]
    held = [[shown[f"v:{i}"] for i in (*range(1, n + 1), 0)] for shown in stages]
    places = [*range(1, n + 1), 0]
    assert held[0] == [1, 0, 1, 1, 0, 0, 1, 0]
    assert held[1] == pytest.approx([4 / 8] * 8)
    assert held[2] == pytest.approx([(4 - i) / 8 for i in places])
    assert held[3] == pytest.approx([(i == 4) / 8 for i in places], abs=1e-15)
    assert held[4] == pytest.approx([stages[4]["answer"]] * 8) and 0 < stages[4]["answer"] < 1 / 8
    assert held[5] == pytest.approx([1] * 8)
    assert "factor" not in stages[4] and stages[5]["factor"] * stages[4]["answer"] > 2


def test_epsilon_stops_the_amplifier():
    show = explorer("parity").displayed
    outputs = [show({"bits": "1" * 11 + "0", "step": 5, "eps": eps})["output"] for eps in (0, 1e-10, 1e-5, 0.1)]
    assert outputs[0] == pytest.approx(-1)
    assert -1 < outputs[1] < outputs[2] < outputs[3] < 0 and outputs[3] > -0.1


def test_the_scratchpad_writes_running_parities():
    bits = "110111"
    for step in range(7):
        shown = explorer("parity").displayed({"network": "scratchpad", "bits": bits, "step": step})
        assert [shown[f"y:{t}"] for t in range(step + 1)] == [bits[:t].count("1") % 2 for t in range(step + 1)]
        if step:
            looked = sorted(range(1, 6 + step + 1), key=lambda j: -shown[f"A:{j}"])[:2]
            assert sorted(looked) == [step, 6 + step]
            assert shown["wave"] == pytest.approx(shown["bit"], abs=1e-12)


def test_the_still_picture_has_a_bar_for_every_bit():
    figure = explorer("parity", bits="10110")
    assert figure.picture(figure.state).count("<rect") == 5
