"""Shaking the cast, from Python: its states, and that the page has the stored numbers."""

import json
import math
import re

import pytest

from flatcube.classroom import explorers
from flatcube.classroom.explorers import explorer
from flatcube.experiments import store
from flatcube.sharpness import brittle
from flatcube.sharpness.explorer import SharpnessExplorer, study

page = SharpnessExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"rho": 0}, "rho: expected an integer from -16 to -1, got 0"),
        ({"n": 6}, "n: expected an integer from 0 to 5, got 6"),
        ({"shake": True}, "shake: expected an integer from 1 to 99, got True"),
        ({"measure": "trace"}, "measure: expected one of loss, share, got 'trace'"),
        ({"target": "mean"}, "target: expected one of parity, majority, first, got 'mean'"),
        ({"bits": "102"}, "bits: expected 8 characters 0 and 1, got '102'"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("sharpness", **state)


def test_the_page_gets_the_stored_numbers():
    (script,) = re.findall(r"stored = (\{.*\});", explorers.classic("sharpness"))
    sent = json.loads(script)
    assert sent["lengths"] == list(brittle.LENGTHS) and list(sent["study"]) == ["parity", "majority", "first", "mean"]
    for name in sent["study"]:
        for n, (variance, *losses) in zip(brittle.LENGTHS, sent["study"][name], strict=True):
            kept = [
                r for r in store.load("brittle") if (r["variant"], r["target"], r["n"]) == ("layer norm", name, str(n))
            ]
            assert losses == [float(r["loss"]) for r in kept] and variance == float(kept[0]["variance"])
            assert [round(2 * math.log10(float(r["rho"]))) for r in kept] == list(range(-16, 0))


def test_larger_shifts_cost_more_and_long_parity_breaks_first():
    costs = [page({"rho": rho, "n": 4})["L:parity"] for rho in range(-16, -4)]
    assert costs == sorted(costs) and costs[-1] > 1 > 100 * page({"rho": -5, "n": 4})["L:first"]
    assert page({"rho": -16})["live"] < 1e-9 and page({"rho": -16})["wrong"] == 0
    assert page({"rho": -2})["live"] > 0.1
    assert page({"n": 5, "measure": "share"})["L:mean"] > 100 * page({"n": 5})["L:mean"]
    assert explorer("sharpness").picture({}).count("<rect") == 4


def test_the_page_offers_what_was_measured():
    lengths, numbers = study()
    assert lengths == list(brittle.LENGTHS)
    assert (SharpnessExplorer.schema["n"].min, SharpnessExplorer.schema["n"].max) == (0, len(lengths) - 1)
    rho = SharpnessExplorer.schema["rho"]
    assert {len(row) - 1 for rows in numbers.values() for row in rows} == {rho.max - rho.min + 1}
