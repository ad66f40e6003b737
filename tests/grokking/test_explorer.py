"""The explorer of chapter 17 from Python: its states, and what the page is told of made-up results."""

import json
import re
from pathlib import Path

import pytest

from flatcube import classroom
from flatcube.classroom.explorers import bundle, explorer
from flatcube.experiments import store
from flatcube.grokking import explorer as room
from flatcube.grokking import watching

page = room.GrokkingExplorer.displayed


@pytest.fixture
def few(tmp_path, monkeypatch):
    trial = watching.Trial("decay", 11, 0.6, 0, 40, width=8, hidden=16, circles=3)
    store.save("modular", watching.trial(trial), command="made up", folder=tmp_path)
    monkeypatch.setattr(store, "DATA", tmp_path)
    room.stored_results.cache_clear()
    yield
    room.stored_results.cache_clear()


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"reading": 6}, "reading: expected a whole number from 0 to 5, got 6"),
        ({"reading": 0, "circle": 4}, "circle: expected an integer from 1 to 3, got 4"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(few, state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("grokking", **state)


def test_numbers_are_those_of_the_rows(few):
    shown = page({"reading": 2, "circle": 1})
    row = store.load("modular")[2]
    assert shown["epoch"] == float(row["epoch"]) == 20
    assert shown["norm"] == pytest.approx(float(row["norm"]), rel=1e-2)
    assert shown["share"] == int(row["spectrum"].split()[int(shown["frequency"]) - 1])
    assert f"{shown['frequency']:.0f}:" in row["circles"]


def test_the_script_carries_readings_and_circles(few):
    (text,) = re.findall(r"const stored = (\{.*\});", bundle("grokking"))
    stored = json.loads(text)
    assert len(stored["rows"]) == len(stored["planes"]) == len(stored["spectra"]) == 6
    assert len(stored["planes"][0]) == len(stored["frequencies"]) == 3
    assert room.GrokkingExplorer.picture({"reading": 1}).count("<circle") == 11


def test_without_stored_results_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "DATA", tmp_path)
    room.stored_results.cache_clear()
    for call in (page, room.GrokkingExplorer.picture):
        with pytest.raises(ValueError, match=r"^data/modular.csv is not there"):
            call({"reading": 0})
    room.stored_results.cache_clear()


def test_the_book_s_own_results_fit_into_a_small_script():
    assert len(bundle("grokking")) < 400_000


def test_every_colour_of_its_style_exists():
    """A stroke in a colour that nobody defines is not drawn, and nothing complains."""
    shared = (Path(classroom.__file__).parent / "site" / "elements.css").read_text(encoding="utf-8")
    own = Path(room.__file__).with_suffix(".css").read_text(encoding="utf-8")
    assert set(re.findall(r"var\((--[\w-]+)", own)) <= set(re.findall(r"(--[\w-]+):", shared))
