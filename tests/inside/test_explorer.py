"""A trained network beside the hand-built one, from Python: its states, and what the library says it must show."""

import json
import re

import numpy as np
import pytest
import torch

from flatcube import cube, inside
from flatcube.classroom.explorers import bundle, explorer
from flatcube.inside import explorer as page

show = page.InsideExplorer.displayed
NAMES = page.InsideExplorer.schema["network"].values


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"network": "2-2-9"}, "network: expected one of 2-2-0, 2-2-1, .* got '2-2-9'"),
        ({"bits": "101"}, "bits: expected 8 characters 0 and 1, got '101'"),
        ({"rows": "2" * 8}, "rows: expected 8 characters 0 and 1, got '22222222'"),
        ({"component": 4}, "component: expected an integer from 1 to 3, got 4"),
        ({"change": "all"}, "change: expected one of mean, patch, hand, got 'all'"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("inside", **state)


def test_the_component_is_one_that_the_function_has():
    assert explorer("inside", network="2-2-1", component=3).state["component"] == 2
    assert explorer("inside", network="2-3-1", component=3).state["component"] == 3


@pytest.mark.parametrize("name", NAMES)
def test_every_network_of_the_menu_is_stored_and_shown_as_the_library_reads_it(name):
    own, (_, _, text) = page.seen(name), next(row for row in page.InsideExplorer.stored() if row[0] == name)
    model, sets = inside.from_text(text, 8), [members for members, _ in own.components]
    shown = show({"network": name, "component": 2, "bits": "01101001"})
    assert shown["error"] < 0.03
    with torch.no_grad():
        assert shown["output"] == pytest.approx(float(model(torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1]]))[0]))
    found = [shown[f"share:{i}"] for i in range(1, 9)]
    assert sum(found) == pytest.approx(1)
    np.testing.assert_allclose(found, inside.shares(model, page.BITS, sets[1]), atol=1e-9)
    for i in range(1, 9):
        assert sum(shown[f"A:{i}:{j}"] for j in range(1, 9)) == pytest.approx(1)


def test_changes_are_those_of_the_library():
    name, sets = "2-2-1", [(1, 4), (2, 8)]
    own, model = page.seen(name), inside.from_text(page._rows()[name]["weights"], 8)
    for change in ("mean", "hand"):
        shown = show({"network": name, "component": 2, "rows": "11010101", "change": change})
        if change == "mean":
            left = inside.ablated(model, page.BITS, [0, 1, 3, 5, 7], sets)
            for k in (0, 1):
                assert shown[f"left:{k + 1}"] == pytest.approx(left[k] * shown[f"learned:{k + 1}"])
        else:
            error = inside.swapped(model, page.BITS, own.target, [0, 1, 3, 5, 7], (2, 8))
            assert shown["error:changed"] == pytest.approx(error)
    patched = show({"network": name, "rows": "00001000", "change": "patch"})
    assert patched["told"] < 0.02 < patched["error:changed"]
    assert patched["left:1"] == pytest.approx(-patched["learned:1"], abs=0.02)
    assert "told" not in show({"network": name, "change": "patch"})


def test_the_script_carries_the_weights():
    (text,) = re.findall(r"const stored = (\[.*\]);", bundle("inside"))
    assert [row[0] for row in json.loads(text)] == NAMES
    assert len(bundle("inside")) < 120_000


def test_the_hand_built_rows_are_those_of_the_components():
    shown = show({"network": "3-2-0"})
    (members, _), _ = page.seen("3-2-0").components
    assert [shown[f"H:1:{j}"] > 0 for j in range(1, 9)] == [j in members for j in range(1, 9)]
    assert shown["target"] == pytest.approx(cube.even_sum(page.seen("3-2-0").components, 8)[0b00101101])


def test_the_still_picture_has_a_square_for_every_pair():
    assert explorer("inside").picture({}).count("<rect") == 64
