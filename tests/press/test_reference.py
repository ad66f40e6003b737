"""The library reference: every name of every door, once, under its room."""

import importlib
import pkgutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import flatcube
from flatcube import fourier
from flatcube.press import reference
from tests.press.small import build_pages

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "pyproject.toml"
BESIDE = ["notation", "claims", "errata", "results", "01-fourier"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> BeautifulSoup:
    """The page of the book, beside empty ones."""
    pages = {name: f"# {name}\n" for name in BESIDE}
    pages["index"] = "# Book\n\n```{toctree}\n" + "\n".join(["reference", *BESIDE]) + "\n```\n"
    pages["reference"] = (ROOT / "chapters/reference.md").read_text(encoding="utf-8")
    found, warnings = build_pages(tmp_path_factory.mktemp("book"), pages, f"flatcube_house = Path({str(HOUSE)!r})\n")
    assert warnings == ""
    return found["reference"]


def _doors() -> dict[str, list[str]]:
    """The public names of all rooms that have a door, whether or not the order of the house knows them."""
    rooms = [module.name for module in pkgutil.iter_modules(flatcube.__path__) if module.ispkg]
    found = {room: getattr(importlib.import_module(f"flatcube.{room}"), "__all__", []) for room in rooms}
    return {room: names for room, names in found.items() if names}


def _amiss(page: BeautifulSoup) -> list[str]:
    """The names of doors that do not stand on the page just once, in the section of their room."""
    found = []
    for room, names in _doors().items():
        section = page.find(id=f"flatcube-{room}")
        for name in names:
            entries = page.find_all(id=f"flatcube.{room}.{name}")
            if len(entries) != 1 or entries[0].parent is not section or entries[0].find("code").get_text() != name:
                found.append(f"{room}.{name}")
    return found


def test_every_name_of_every_door_stands_once_under_its_room(page: BeautifulSoup):
    assert sum(map(len, _doors().values())) > 200
    assert _amiss(page) == []


def test_a_name_that_is_missing_is_noticed(page: BeautifulSoup):
    copy = BeautifulSoup(str(page), "html.parser")
    copy.find(id="flatcube.fourier.Spectrum").decompose()
    copy.find(id="flatcube-blowup").append(copy.find(id="flatcube.cube.parity").extract())
    assert sorted(_amiss(copy)) == ["cube.parity", "fourier.Spectrum"]


def test_a_room_is_shown_where_the_order_of_the_house_has_it(tmp_path: Path):
    house, words = tmp_path / "pyproject.toml", HOUSE.read_text(encoding="utf-8")
    house.write_text(words.replace('"scratchpad",', ""), encoding="utf-8")
    assert set(reference.order(HOUSE)) - set(reference.order(house)) == {"scratchpad"}


def test_a_door_that_leads_nowhere_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "# Library\n\n```{library} flatcube.nowhere\n```\n\n```{library} flatcube.fourier\n```\n"
    monkeypatch.setattr(fourier, "__all__", [*fourier.__all__, "nothing"])
    _, warnings = build_pages(tmp_path, {"index": text})
    assert "No module named 'flatcube.nowhere'" in warnings
    assert "flatcube.fourier has no 'nothing'" in warnings


def test_rooms_stand_in_the_order_of_the_house_and_names_in_reading_order(page: BeautifulSoup):
    rooms = reference.order(HOUSE)
    assert rooms.index("cube") < rooms.index("fourier") < rooms.index("networks") < rooms.index("classroom")
    doors = _doors()
    shown = [section["id"] for section in page.select("h1 ~ section.fc-library")]
    assert shown == [f"flatcube-{room}" for room in rooms if room in doors]
    entries = page.find(id="flatcube-fourier").select(".fc-api")
    assert [entry.find("code").get_text() for entry in entries] == fourier.__all__


def test_ids_are_unique(page: BeautifulSoup):
    ids = [tag["id"] for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_a_room_leads_to_its_chapter(page: BeautifulSoup):
    assert page.select_one("#flatcube-fourier > .fc-where a")["href"] == "01-fourier.html"
    assert page.select_one("#flatcube-parity > .fc-where").get_text() == "Chapter 6 · PARITY, four ways"
    assert page.select_one("#flatcube-length-sharper > .fc-where").get_text() == "Chapter 12 · Sharper with length"
    assert page.select_one("#flatcube-networks > .fc-where") is None


def test_experiments_stand_in_the_last_part(page: BeautifulSoup):
    part = page.find(id="experiments-of-the-chapters")
    shown = [section["id"] for section in part.select(".fc-library")]
    assert {"flatcube-length-sharper", "flatcube-length-trials", "flatcube-blowup-five"} < set(shown)
    assert not [name for name in shown if name.endswith(("-exercises", "-explorer"))]


def _entry(page: BeautifulSoup, name: str) -> str:
    return page.find(id=name).get_text()


def test_signatures_are_as_written(page: BeautifulSoup):
    assert "f: BlackBox" in _entry(page, "flatcube.sensitivity.estimate")
    assert "explorer(name: str, /, *, label: str = '', **state: Any)" in _entry(page, "flatcube.classroom.explorer")
    assert "MAJORITY_CONSTANT = math.sqrt(2 / math.pi)  # " in _entry(page, "flatcube.sensitivity.MAJORITY_CONSTANT")
    sharp = _entry(page, "flatcube.sharpness.Sharpness")
    assert sharp.index("value: float") < sharp.index("variance: float")  # the fields of its ancestors come first
    assert "self" not in page.find(id="flatcube.networks.Circuit").find("pre").get_text()


def test_docstrings_are_typeset_and_classes_show_their_methods(page: BeautifulSoup):
    assert page.select_one("#flatcube-sensitivity > p sub")
    assert [tag.name for tag in page.select("#flatcube-queries > ul > *")] == ["li", "li"]
    spectrum = _entry(page, "flatcube.fourier.Spectrum")
    assert "low_degree(degree: int)" in spectrum
    assert "_terms" not in spectrum
