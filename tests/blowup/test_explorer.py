"""The blow-up explorer from Python: its states, and what the library says it must show."""

import numpy as np
import pytest

from flatcube.blowup.explorer import BlowupExplorer
from flatcube.blowup.explorers.journey import JourneyExplorer
from flatcube.classroom.explorers import explorer

page = BlowupExplorer.displayed
journey = JourneyExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"bits": "0110"}, "bits: expected 3, 5, … or 15 characters 0 and 1, got '0110'"),
        ({"bits": "012"}, "bits: expected 3, 5, … or 15 characters 0 and 1"),
        ({"bits": 101}, "bits: expected 3, 5, … or 15 characters 0 and 1, got 101"),
        ({"loud": 0.05}, "loud: expected a multiple of 0.1 from 0 to 10, got 0.05"),
        ({"loud": np.ones(2)}, r"loud: expected a multiple of 0.1 from 0 to 10, got \[1.0, 1.0\]"),
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


# --- a flip through two layers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"bits": "0110"}, "bits: expected 3, 5, … or 9 characters 0 and 1, got '0110'"),
        ({"bits": "110", "flip": 4}, "flip: expected an integer from 1 to 3, got 4"),
        ({"flip": 0}, "flip: expected an integer from 1 to 9, got 0"),
        ({"own": 0.1}, "own: expected a multiple of 0.25 from 0 to 1, got 0.1"),
        ({"second": 5}, "second: expected an integer from 0 to 4, got 5"),
    ],
)
def test_a_wrong_state_of_the_journey_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("blowup.journey", **state)
    assert "\n" not in str(refused.value)


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def by_numpy(bits, own, first, second, eps):
    """Answers, factors and outputs of both layers at all positions."""
    votes, found = 0.5 - np.array([int(bit) for bit in bits]), []
    for logits, wire in ((lambda u: -first * np.tile(u, (len(u), 1)), own), (lambda u: second * np.outer(u, u), 0.0)):
        answers = softmax(logits(votes)) @ votes + wire * votes
        factors = 1 / np.sqrt(answers**2 + (0.0 if eps == -7 else 10.0**eps))
        votes = answers * factors
        found.append((answers, factors, votes))
    return found


@pytest.mark.parametrize("eps", [-7, -3, 0])
@pytest.mark.parametrize(("own", "first", "second"), [(0.5, 0, 0), (0.0, 0, 0), (0.25, 3, 2), (1.0, 8, 4)])
def test_the_journey_is_that_of_the_formulas(own, first, second, eps):
    for bits, flip in (("110010100", 3), ("110010100", 9), ("010", 2)):
        state = {"bits": bits, "flip": flip, "own": own, "first": first, "second": second, "eps": eps}
        other = bits[: flip - 1] + str(1 - int(bits[flip - 1])) + bits[flip:]
        here, there = (by_numpy(some, own, first, second, eps) for some in (bits, other))
        shown = journey(state)
        for k in (0, 1):
            (a, N, u), (b, M, w) = here[k], there[k]
            assert shown[f"before:{k + 1}"] == pytest.approx(abs(a[-1] - b[-1]), abs=1e-12)
            assert shown[f"after:{k + 1}"] == pytest.approx(abs(u[-1] - w[-1]), abs=1e-9)
            assert shown[f"mean:{k + 1}"] == pytest.approx(np.abs(u - w).mean(), abs=1e-9)
            assert shown[f"stretch:{k + 1}"] == pytest.approx(np.sqrt(N[-1] * M[-1]))
            routes = shown[f"values:{k + 1}"] + shown[f"weights:{k + 1}"] + (shown["skip"] if k == 0 else 0)
            assert shown[f"before:{k + 1}"] <= routes + 1e-12
            assert shown[f"after:{k + 1}"] <= shown[f"stretch:{k + 1}"] * shown[f"before:{k + 1}"] + 1e-9
        assert shown["product"] == pytest.approx(here[0][1].max() * here[1][1].max())
        assert (shown["output"], shown["flipped"]) == pytest.approx((here[1][2][-1], there[1][2][-1]), abs=1e-9)


def test_what_one_is_told_to_try_on_the_journey():
    start = journey({})
    assert start["values:1"] == pytest.approx(1 / 9) and start["weights:1"] == 0 and start["after:1"] < 0.01
    assert (round(start["mean:1"], 3), round(start["values:2"], 3)) == (0.228, 0.228)
    assert round(start["stretch:2"], 1) == 8.5 and start["output"] * start["flipped"] < 0
    bare = journey({"own": 0.0})
    assert bare["stretch:1"] > 15 and bare["stretch:2"] < 1.2 and bare["after:2"] > 1.9
    loud = journey({"first": 3})
    assert loud["values:1"] < 0.02 < 0.18 < loud["weights:1"] and loud["after:2"] < 0.01
    alike = journey({"second": 2})
    assert alike["values:2"] == pytest.approx(0.4, abs=0.03) == pytest.approx(alike["weights:2"], abs=0.03)
    assert round(alike["before:2"], 3) == 0.026 and alike["after:2"] < 0.01
    faint = journey({"eps": 0})
    assert round(faint["after:2"], 3) == 0.155 and max(faint["stretch:1"], faint["stretch:2"]) <= 1
    exact = [journey({"eps": -7, "own": own}) for own in (0.5, 0.0)]
    assert exact[0]["stretch:2"] == pytest.approx(9) and exact[1]["stretch:1"] == pytest.approx(18)  # the prediction


def test_the_still_picture_of_the_journey_has_four_bars():
    figure = explorer("blowup.journey", bits="10101", flip=2)
    assert figure.picture(figure.state).count("<rect") == 4
