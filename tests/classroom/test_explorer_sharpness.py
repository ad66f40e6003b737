"""Shaking the cast, from Python: its states, and that the page has the stored numbers."""

import json
import re
from pathlib import Path

import pytest

from flatcube.classroom import explorers
from flatcube.classroom.explorers import explorer
from flatcube.classroom.explorers.sharpness import CAST, SharpnessExplorer
from flatcube.experiments import brittle, store

page = SharpnessExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"rho": 0}, "rho: expected -16 … -1, got 0"),
        ({"n": 6}, "n: expected 0 … 5, got 6"),
        ({"shake": True}, "shake: expected 1 … 99, got True"),
        ({"measure": "trace"}, "measure: expected one of loss, share, got 'trace'"),
        ({"target": "mean"}, "target: expected one of parity, majority, first, got 'mean'"),
        ({"bits": "102"}, "bits: expected 8 characters 0 and 1, got '102'"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("sharpness", **state)


def test_the_page_has_the_stored_numbers():
    text = (Path(explorers.__file__).parent / "sharpness.js").read_text(encoding="utf-8")
    for name in CAST:
        (line,) = re.findall(rf"^  {name}: (\[\[.*\]\]),$", text, re.MULTILINE)
        rows = json.loads(re.sub(r"(?<=[ \[])\.", "0.", line))
        for n, (variance, *losses) in zip(brittle.LENGTHS, rows, strict=True):
            kept = [
                r for r in store.load("brittle") if (r["variant"], r["target"], r["n"]) == ("layer norm", name, str(n))
            ]
            assert losses == [float(r["loss"]) for r in kept] and variance == float(kept[0]["variance"])


def test_larger_shifts_cost_more_and_long_parity_breaks_first():
    costs = [page({"rho": rho, "n": 4})["L:parity"] for rho in range(-16, -4)]
    assert costs == sorted(costs) and costs[-1] > 1 > 100 * page({"rho": -5, "n": 4})["L:first"]
    assert page({"rho": -16})["live"] < 1e-9 and page({"rho": -16})["wrong"] == 0
    assert page({"rho": -2})["live"] > 0.1
    assert page({"n": 5, "measure": "share"})["L:mean"] > 100 * page({"n": 5})["L:mean"]
    assert explorer("sharpness").picture({}).count("<rect") == 4
