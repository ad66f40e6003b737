"""Colours that can be read, and told apart with any colour vision and in grey, on the pages' real papers."""

import re
from itertools import combinations

import numpy as np
import pytest

from flatcube import cast
from flatcube.classroom import charts, palette
from flatcube.press import sphinx

CSS = (sphinx.THEME / "flatcube.css").read_text(encoding="utf-8")
TEXT = ["ink", "muted", "accent", "minus", "good", "bad"]

# Machado, Oliveira and Fernandes (2009), Table 1, severity 1: on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    """The linear RGB, in [0, 1], of an sRGB colour "#rrggbb"."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (white point D65) of a linear RGB; what a screen cannot show is clipped."""
    t = TO_XYZ @ np.clip(rgb, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2, from 1 to 21."""
    low, high = sorted(TO_XYZ[1] @ linear(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def difference(colours: list[str], sight: str) -> float:
    """The smallest CIE76 difference between two of the colours, as somebody with this sight sees them."""
    seen = [lab(np.array(SIGHT[sight]) @ linear(colour)) for colour in colours]
    return min(np.linalg.norm(one - other) for one, other in combinations(seen, 2))


def step(colours: list[str]) -> float:
    """The smallest step of L* between two of the colours."""
    return np.diff(sorted(lab(linear(colour))[0] for colour in colours)).min()


def page(theme: str) -> dict[str, str]:
    """The colours of the light or the dark page by name."""
    block = re.search(rf'html\[data-theme="{theme}"\] \{{(.*?)\}}', CSS, re.S)[1]
    return dict(re.findall(r"--fc-([\w-]+): (#[0-9a-f]{6})", block))


def categories(theme: str) -> list[str]:
    return [page(theme)[f"cat-{i}"] for i in range(1, 7)]


def players(theme: str) -> list[str]:
    return [page(theme)[name.lower()] for name in cast.NAMES]


# name -> the series, the cast, the papers under them
PALETTES = {
    "pictures": (
        palette.SERIES,
        list(cast.COLOURS.values()),
        ["#ffffff", page("light")["paper"], page("dark")["paper"]],
    ),
    "light": (categories("light"), players("light"), [page("light")["paper"], page("light")["panel"]]),
    "dark": (categories("dark"), players("dark"), [page("dark")["paper"], page("dark")["panel"]]),
}


def test_the_measures_know_what_is_known():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    assert difference(["#ffffff", "#000000"], "protan") == pytest.approx(100, abs=0.01)
    assert difference(["#c00000", "#607000"], "deutan") < 0.5 * difference(["#c00000", "#607000"], "normal")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_text_has_enough_contrast(theme):
    colours = page(theme)
    for ground in ("paper", "panel"):
        for name in TEXT:
            assert contrast(colours[name], colours[ground]) >= 4.5, f"{name} on {ground}"
    assert contrast(colours["paper"], colours["plus"]) >= 4.5  # small text stands on full squares
    assert contrast(colours["panel"], colours["plus"]) >= 3


@pytest.mark.parametrize("name", PALETTES)
def test_series_and_cast_stand_out_from_their_paper(name):
    series, players, papers = PALETTES[name]
    assert min(contrast(colour, paper) for colour in series + players for paper in papers) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_ours_and_what_a_paper_says_may_be_written_in_their_colours(theme):
    for at in (palette.SERIES.index(palette.OURS), palette.SERIES.index(palette.PAPER)):
        assert contrast(categories(theme)[at], page(theme)["paper"]) >= 4.5


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", PALETTES)
def test_series_and_cast_are_told_apart_with_any_colour_vision(name, sight):
    series, players, _ = PALETTES[name]
    least, among = (14, 16) if name == "pictures" else (15, 19)
    assert difference(series, sight) >= least and difference(series[:4], sight) >= among
    assert difference(players, sight) >= 20
    assert difference(series[:2] + players, sight) >= 15  # no member of the cast looks like −1 or +1
    assert difference([series[3], series[5]], sight) >= least  # ours and the paper's


@pytest.mark.parametrize("name", PALETTES)
def test_no_series_has_the_colour_of_a_member_of_the_cast(name):
    series, players, _ = PALETTES[name]
    assert min(difference([one, other], "normal") for one in series for other in players) >= 15


@pytest.mark.parametrize("name", PALETTES)
def test_series_and_cast_differ_in_grey(name):
    series, players, _ = PALETTES[name]
    assert step(players) >= 5
    assert step(series[:4]) >= (4 if name == "pictures" else 5)
    assert step(series) >= (1.9 if name == "pictures" else 3)
    assert len({*cast.SHAPES.values()}) == len({tuple(dash) for dash in cast.DASHES.values()}) == len(cast.NAMES)


def test_a_chart_takes_the_colours_of_the_page_it_stands_on():
    known = {palette.MUTED: "muted", palette.MINUS: "cat-1", palette.PAPER: "cat-6"}
    known |= {colour: name.lower() for name, colour in cast.COLOURS.items()}
    for colour, name in known.items():
        assert (
            palette.themed(f'"{colour}"') == f'"var(--fc-{name})"'
            and name in page("light").keys() & page("dark").keys()
        )
    assert palette.themed("#123456") == "#123456"


def test_the_two_values_have_one_pair_of_colours():
    pair = {"minus": palette.MINUS, "plus": palette.PLUS}
    assert [charts.MINUS, charts.PLUS] == charts.SERIES[:2] == list(pair.values())
    for theme in ("light", "dark"):
        assert [page(theme)[sign] for sign in pair] == categories(theme)[:2]
    assert pair.items() <= page("light").items()
    elements = (sphinx.THEME.parents[1] / "classroom" / "site" / "elements.css").read_text(encoding="utf-8")
    for sign, colour in pair.items():
        assert f"--{sign}: var(--fc-{sign}, {colour})" in elements
        assert f".{sign} {{ fill: {colour} }}" in (sphinx.THEME / "logo.svg").read_text(encoding="utf-8")


def test_explorers_have_the_colours_of_charts_where_there_is_no_theme():
    elements = (sphinx.THEME.parents[1] / "classroom" / "site" / "elements.css").read_text(encoding="utf-8")
    for name, colour in cast.COLOURS.items():
        assert f"--{name.lower()}: var(--fc-{name.lower()}, {colour});" in elements
        assert f'[data-series="{name}"] {{ --series: var(--{name.lower()}); }}' in elements
    for at, colour in enumerate(palette.SERIES[:4], start=1):
        assert f"--cat-{at}: var(--fc-cat-{at}, {colour});" in elements


def test_the_dashes_of_the_cast_are_the_same_in_the_explorer_of_training():
    looks = (sphinx.THEME.parents[1] / "length" / "explorer.css").read_text(encoding="utf-8")
    found = dict(re.findall(r'path\[data-series="([A-Z]+)"\] \{ stroke-dasharray: ([\d ]+); \}', looks))
    assert found == {name: " ".join(map(str, dash)) for name, dash in cast.DASHES.items() if dash[1]}


def scales(look: dict) -> dict:
    """The domain and the range of every channel."""
    found = {channel: encoding.to_dict()["scale"] for channel, encoding in look.items()}
    return {channel: dict(zip(scale["domain"], scale["range"], strict=True)) for channel, scale in found.items()}


def test_the_cast_keeps_its_looks_whoever_else_is_shown():
    found = scales(charts.cast_look("name:N", "shape", "strokeDash", names=["MEAN", "PARITY", "another"]))
    for channel, known in {"color": cast.COLOURS, "shape": cast.SHAPES, "strokeDash": cast.DASHES}.items():
        other = found[channel].pop("another")
        assert found[channel] == {name: known[name] for name in ("MEAN", "PARITY")} and other not in known.values()
    assert scales(charts.cast_look("name:N")) == {"color": cast.COLOURS}


def test_the_roles_have_their_colours():
    found = scales(charts.role_look("kind:N", "shape", ours="measured", paper="Theorem 1"))
    assert found["color"] == {"measured": charts.OURS, "Theorem 1": charts.PAPER} and len(found) == 2
    with pytest.raises(ValueError, match='channels: expected "shape" or "strokeDash", got \'size\''):
        charts.role_look("kind:N", "size", ours="measured", paper="Theorem 1")
