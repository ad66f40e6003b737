"""The explorer of chapter 16 from Python: its states, and what the library says it must show."""

import math

import numpy as np
import pytest

from flatcube import kernels
from flatcube.classroom.explorers import bundle, explorer
from flatcube.experiments import store
from flatcube.kernels import explorer as room

page = room.KernelsExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"n": 1}, "n: expected an integer from 2 to 12, got 1"),
        ({"depth": 7}, "depth: expected an integer from 0 to 6, got 7"),
        ({"kernel": "own", "a2": 0.3}, "a2: expected a multiple of 0.25 from -1 to 1, got 0.3"),
        ({"kernel": "cnn"}, "kernel: expected one of"),
        ({"time": 6}, "time: expected a multiple of 0.25 from -1 to 5, got 6"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("kernels", **state)
    assert "\n" not in str(refused.value)


def test_eigenvalues_are_those_of_the_library():
    shown = page({"kernel": "ntk", "n": 5, "depth": 3, "time": 0.5})
    mu = kernels.eigenvalues(lambda c: kernels.tangent(c, 3), 5)
    assert [shown[f"mu:{k}"] for k in range(6)] == pytest.approx(mu)
    assert [shown[f"left:{k}"] for k in range(6)] == pytest.approx(np.exp(-mu * math.sqrt(10)))
    assert shown["verdict"].startswith("No degree")


def test_what_the_chapter_says_one_can_find_there():
    broken = page({"kernel": "own", "n": 6, "a1": 0.0, "a2": -1.0, "a3": 0.0, "a4": 0.0})
    assert broken["mu:2"] < 0 and broken["verdict"] == "Out of order: degree 4 is above degree 2."
    assert broken["left:2"] > 1
    for kernel in ("ck", "ntk", "attention"):
        for depth in range(7):
            for n in (2, 7, 12):
                assert page({"kernel": kernel, "n": n, "depth": depth})["verdict"].startswith("No degree")
    assert page({"kernel": "pairs"})["verdict"] == "Out of order: degree 8 is above degree 6."
    assert page({"kernel": "softmax"})["verdict"].startswith("No degree")


def test_stored_kernels_have_the_rows_numbers():
    shown = page({"kernel": "pairs"})
    rows = [row for row in store.load("architectures") if row["kernel"] == room.STORED["pairs"]]
    for row in rows:
        for key, name in (("mu", "mean"), ("low", "low"), ("high", "high")):
            assert shown[f"{key}:{row['degree']}"] == pytest.approx(float(row[name]), rel=1e-5)
    assert "n" not in shown and shown["leak"] == pytest.approx(float(rows[0]["leak"]), rel=1e-5)


def test_the_still_picture_has_a_mark_for_every_degree():
    figure = explorer("kernels", n=7)
    assert figure.picture(figure.state).count("<rect") == 8


def test_without_stored_results_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "DATA", tmp_path)
    room.stored_results.cache_clear()
    with pytest.raises(ValueError, match="^data/architectures.csv is not there"):
        page({"kernel": "pairs"})
    assert page({"kernel": "ck"})["mu:0"] > 0
    room.stored_results.cache_clear()
    assert len(bundle("kernels")) < 100_000
    room.stored_results.cache_clear()
