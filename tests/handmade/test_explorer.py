"""The explorer of the transformer built by hand, from Python: its states, its noise, and what it must show."""

import itertools

import numpy as np
import pytest
import torch

from flatcube import handmade
from flatcube.classroom.explorers import chance, explorer
from flatcube.handmade import explorer as page

STATE = {"bits": "110100111010", "subsets": [[1, 2], [], [3, 5, 7, 9, 11], [2]], "weights": [1.5, -0.5, -2.0, 0.25]}


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"bits": "101"}, "bits: expected 4 to 12 characters 0 and 1, got '101'"),
        ({"bits": "10x1"}, "bits: expected 4 to 12 characters 0 and 1, got '10x1'"),
        ({"bits": "1010"}, r"components\[1\]: expected numbers from 1 to 4, got 5"),
        ({"weights": [1.0]}, "weights: expected one for each subset, got 1 weights and 3 subsets"),
        ({"weights": [1.0, 0.0, 2.0]}, r"components\[1\]: expected a weight other than 0, got 0.0"),
        ({"weights": [1.0, float("nan"), 2.0]}, r"components\[1\]: expected a number from .* got nan"),
        ({"subsets": [[1, 2], [2, 1], [3]]}, r"components: the subset \(1, 2\) stands there twice"),
        ({"mode": "mask"}, "mode: expected one of hard, soft, sink, got 'mask'"),
        ({"mode": "sink"}, "mode: 'sink' needs subsets of one size and positive weights"),
        ({"matrix": "W3"}, "matrix: expected one of W1, V1, E, b, F, W2, v2, got 'W3'"),
        ({"beta": 6.1}, "beta: expected a number from 0 to 6, got 6.1"),
        ({"beta": True}, "beta: expected a number from 0 to 6, got True"),
        ({"noise": -0.1}, "noise: expected a number from 0 to 0.5, got -0.1"),
        ({"seed": 100}, "seed: expected an integer from 0 to 99, got 100"),
        ({"weights": None}, "weights: expected 1 to 4 weights, got None"),
        ({"subsets": None}, r"subsets: expected something like \[\[1, 2\], .* got None"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("handmade", **state)
    assert "\n" not in str(refused.value)


def test_subsets_are_kept_in_order():
    assert explorer("handmade", subsets=[[2, 1], [5, 3]], weights=[1, 2]).state["subsets"] == [[1, 2], [3, 5]]


def test_the_noise_is_normal():
    draw = chance.normals(5, 2)
    numbers = np.sort([next(draw) for _ in range(4000)])
    assert abs(numbers.mean()) < 5 / np.sqrt(4000)
    assert abs(numbers.std() - 1) < 5 / np.sqrt(8000)
    inside = [np.mean(np.abs(numbers) < width) for width in (1, 2, 3)]
    assert np.abs(np.array(inside) - [0.6827, 0.9545, 0.9973]).max() < 0.03


@pytest.mark.parametrize("matrix", page.HandmadeExplorer.schema["matrix"].values)
def test_noise_goes_into_one_matrix_only(matrix):
    state = explorer("handmade", **STATE, matrix=matrix, noise=0.25).state
    before = handmade.matrices(handmade.assemble(page._design(state)))
    after = handmade.matrices(page._disturbed(handmade.assemble(page._design(state)), state))
    changes = {name: (after[name] - before[name]).square().mean().sqrt().item() for name in before}
    assert {name.rstrip("−") for name, change in changes.items() if change} == {matrix}
    assert all(0.1 < change < 0.6 for change in changes.values() if change)
    if matrix in ("W2", "v2"):  # the two heads get different noise
        assert not torch.allclose(after[matrix] - before[matrix], after[f"{matrix}−"] - before[f"{matrix}−"])


def test_the_first_impression_of_noise_is_as_the_text_says():
    """Noise of 0.1 on W₁ spoils no draw of the page's input, and about one in five after a flip; 0.02 on b all."""
    show = explorer("handmade").displayed

    def spoilt(**state):
        return sum(abs(show({**state, "seed": seed})["error"]) > 1e-3 for seed in range(100))

    assert spoilt(matrix="W1", noise=0.1) <= 3
    assert 15 <= spoilt(matrix="W1", noise=0.1, bits="11110100") <= 24
    assert spoilt(matrix="b", noise=0.02) == 100


def test_above_the_threshold_the_network_is_f():
    show = explorer("handmade").displayed
    for bits in ("000000000000", "111111111111", "010101010101", "110100111010"):
        shown = show({**STATE, "bits": bits, "beta": 5})
        design = page._design(explorer("handmade", **{**STATE, "bits": bits, "beta": 5}).state)
        assert shown["output"] == pytest.approx(shown["target"], abs=1e-12)
        assert shown["target"] == handmade.target_values(design, np.array([list(map(int, bits))]))[0]
        assert [shown[f"p:+:{i}"] for i in (1, 4)] == pytest.approx([6 / 7, 1 / 7])
        soft = show({**STATE, "bits": bits, "beta": 5, "mode": "soft"})
        assert abs(soft["error"]) <= page.TAU


def test_the_threshold_is_where_the_first_input_fails():
    show = explorer("handmade").displayed
    state = {"bits": "0000", "subsets": [[1, 2, 3], [2]], "weights": [1.0, 2.0]}
    least = show(state)["threshold"]

    def worst(beta):
        every = map("".join, itertools.product("01", repeat=4))
        return max(abs(show({**state, "bits": bits, "beta": beta})["error"]) for bits in every)

    assert worst(least) < 1e-12
    assert worst(least - 1e-3) > 1e-4


def test_a_sink_is_exact_without_a_mask_from_its_own_higher_threshold_on():
    show = explorer("handmade").displayed
    state = {"subsets": [[1, 2, 3], [2, 4, 5]], "weights": [1.5, 0.5], "mode": "sink"}
    inputs = ["".join(bits) for bits in itertools.product("01", repeat=6)]

    def worst(beta):
        return max(abs(show({**state, "bits": bits, "beta": beta})["error"]) for bits in inputs)

    shown = show({**state, "bits": "101101"})
    least = shown["threshold"]
    assert least > show({**state, "bits": "101101", "mode": "hard"})["threshold"]
    assert shown["p:+:rest"] > 0.1  # no mask
    assert worst(least) < 1e-12 and worst(least - 1e-3) > 1e-4


def test_rows_of_attention_sum_to_one_and_leak_what_they_say():
    shown = explorer("handmade").displayed({**STATE, "beta": 2})
    for i, members in enumerate(STATE["subsets"], 1):
        row = {key.split(":")[2]: value for key, value in shown.items() if key.startswith(f"A:{i}:")}
        assert sum(row.values()) == pytest.approx(1)
        kept = sum(row[str(j)] for j in members) + (row["o"] if len(members) < 5 else 0)
        assert shown[f"leak:{i}"] == pytest.approx(1 - kept)
        others = 12 - len(members) if len(members) < 5 else 13 - 5
        assert shown[f"leak:{i}"] == pytest.approx(others / (5 * np.exp(2) + others))


def test_the_still_picture_has_a_disc_for_every_component():
    figure = explorer("handmade", **STATE)
    assert figure.picture(figure.state).count("<circle") == 4
