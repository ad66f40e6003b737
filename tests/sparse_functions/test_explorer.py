"""The explorer of chapter 14 from Python: its states, and what the page is told of made-up results."""

import json
import re

import pytest

from flatcube.classroom.explorers import bundle, explorer
from flatcube.experiments import store
from flatcube.sparse_functions import explorer as room
from tests.sparse_functions.test_verdicts import _cells, _jumps

page = room.SparseFunctionsExplorer.displayed


@pytest.fixture
def few(tmp_path, monkeypatch):
    rows = [row | {"m": 10 * (row["m"] // 10)} for row in _cells(lambda T: T**0.5 + 80)]
    store.save("sparse_and", rows, command="made up", folder=tmp_path)
    store.save("sparse_parity", _jumps(), command="made up", folder=tmp_path)
    monkeypatch.setattr(store, "DATA", tmp_path)
    room.stored_results.cache_clear()
    yield
    room.stored_results.cache_clear()


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"T": 60}, "T: expected one of 50, 100, 200, 400, got 60"),
        ({"m": 95}, "m: expected one of 50, 70, 90, 100, 140, got 95"),
        ({"T": 50, "m": 80, "bits": 11}, "bits: expected one of 10, 15, 20, 70, got 11"),
        ({"T": 50, "m": 80, "seed": 7}, "seed: expected one of 0, 1, 2, got 7"),
        ({"T": 50, "m": 80, "seed": True}, "seed: expected one of 0, 1, 2, got True"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(few, state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("sparse_functions", **state)


def test_numbers_are_those_of_the_rows(few):
    shown = page({"T": 50, "m": 80, "bits": 20, "seed": 1})
    rows = [row for row in store.load("sparse_and") if (row["T"], row["m"]) == ("50", "80")]
    assert shown["trials"] == len(rows) and shown["successes"] == sum(row["success"] == "1" for row in rows)
    assert shown["low"] < shown["critical"] < shown["high"] and shown["bound"] == 14.3
    assert (shown["left"], shown["reached"]) == (175, 200) and "ended" not in shown
    lost = page({"T": 50, "m": 80, "bits": 70, "seed": 0})
    assert lost["ended"] == 775 and "reached" not in lost


def test_the_script_carries_cells_law_and_runs(few):
    (text,) = re.findall(r"const stored = (\{.*\});", bundle("sparse_functions"))
    stored = json.loads(text)
    assert {cell[0] for cell in stored["cells"]} == {50, 100, 200, 400} and len(stored["critical"]) == 4
    assert stored["law"][0] in ("log T", "√T", "T") and len(stored["runs"]) == 12
    picture = explorer("sparse_functions", m=90).picture({"m": 90})
    assert picture.count("<circle") == len(stored["cells"]) and 'viewBox="0 0 400 200"' in picture


def test_a_picture_of_the_book_s_own_results_holds_all_lengths():
    state = room.SparseFunctionsExplorer.complete({})
    picture = room.SparseFunctionsExplorer.picture(state)
    wide = int(re.search(r'viewBox="0 0 (\d+) ', picture).group(1))
    places = {float(x) for x in re.findall(r'cx="([\d.]+)"', picture)}
    assert len(places) == len(room.stored_results()["critical"]) == 5 and max(places) < wide


def test_without_stored_results_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "DATA", tmp_path)
    room.stored_results.cache_clear()
    for call in (page, room.SparseFunctionsExplorer.picture):
        with pytest.raises(ValueError, match="^data/sparse_and.csv or data/sparse_parity.csv is not there"):
            call({})
    room.stored_results.cache_clear()


def test_the_book_s_own_results_fit_into_a_small_script():
    assert len(bundle("sparse_functions")) < 200_000
