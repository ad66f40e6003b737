"""The PAC-Bayes calculator from Python: its states, and what the library says it must show."""

import math

import pytest

from flatcube.classroom.explorers import explorer
from flatcube.pacbayes.explorer import PacBayesExplorer

page = PacBayesExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"T": 1}, "T: expected an integer from 2 to 60, got 1"),
        ({"d": 9}, "d: expected an integer from 1 to 8, got 9"),
        ({"w": True}, "w: expected an integer from 1 to 30, got True"),
        ({"m": 2.25}, "m: expected a multiple of 0.5 from 2 to 14, got 2.25"),
        ({"sigma": 11}, "sigma: expected an integer from -10 to 10, got 11"),
        ({"delta": 1}, "delta: expected one of 0.1, 0.05, 0.01, 0.001, got 1"),
        ({"C": -1}, "C: expected one of 0.05, 0.1, 0.5, 2, got -1"),
        ({"kind": "both"}, "kind: expected one of isotropic, grouped, got 'both'"),
        ({"w": 13}, "w: expected w·d ≤ T = 24, got 13·2"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("pacbayes", **state)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["isotropic", "grouped"])
def test_terms_add_up_and_the_best_sigma_is_best(kind):
    shown = page({"kind": kind})
    terms = {key: value for key, value in shown.items() if key.startswith("term:")}
    assert sum(terms.values()) == pytest.approx(shown["value"])
    assert terms["term:norm"] == pytest.approx(2 * terms["term:sharpness"])
    assert all(page({"kind": kind, "sigma": s})["value"] > shown["value"] for s in (-3, -1, 1, 3))
    after = math.ceil(2 * shown["needed"]) / 2
    assert page({"kind": kind, "m": after})["value"] < 1 < page({"kind": kind, "m": after - 0.5})["value"]


def test_groups_help_and_a_larger_constant_costs_its_square():
    one, each = (page({"kind": kind})["needed"] for kind in ("isotropic", "grouped"))
    assert each < one - 1 and page({})["occam"] < each
    assert page({"C": 2.0})["needed"] == pytest.approx(one + 2 * math.log10(20), abs=1e-3)


def test_the_still_picture_has_a_block_for_every_term():
    figure = explorer("pacbayes", T=12, w=6)
    assert figure.picture(figure.state).count("<rect") == 3
