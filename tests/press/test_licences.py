"""Every script, style and font of the site has a notice; one without an origin or a licence ends the build."""

import hashlib
import json
import re
from importlib import metadata
from pathlib import Path

import pytest

from flatcube.press import inpage, licences, site

ROOT = Path(__file__).parents[2]
SPHINX = ("doctools.js", "searchtools.js", "sphinx_highlight.js")
VENDOR = {place: site._package(source) for source, place in site.VENDOR.items()} | inpage.PACKAGES


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A site with everything that pages load, and no page."""
    site.fetch_frontend(ROOT)
    site.assets(ROOT, tmp_path / "_static")
    basic = Path(metadata.distribution("sphinx").locate_file("sphinx/themes/basic/static"))
    for name in SPHINX:
        (tmp_path / "_static" / name).write_bytes((basic / name).read_bytes())
    (tmp_path / "_static/language_data.js").write_text("filled in by Sphinx")
    (tmp_path / "searchindex.js").write_text("the words of the book")
    return tmp_path


def write(folder: Path, packages: Path = ROOT / "_build/frontend/node_modules") -> str:
    licences.write(folder, ROOT, VENDOR, packages)
    return (folder / "licences.txt").read_text(encoding="utf-8")


def test_every_file_has_an_origin_and_every_origin_a_licence(small: Path):
    text = write(small)
    listed = dict(re.findall(r"^(\S+\.\w+): (.+)$", text, flags=re.MULTILINE))
    others = [path for path in licences.shipped(small) if not path.startswith(("_static/flatcube/", "searchindex"))]
    assert len(others) > 30
    assert listed.keys() >= set(others)
    assert not any(path.startswith("_static/flatcube/") for path in listed)
    for path in others:
        for package in listed[path].split(", "):
            assert re.search(rf"^{re.escape(package)} \(.+\)$", text, flags=re.MULTILINE), package


def test_the_page_of_licences_lists_the_packages(small: Path):
    page = small / licences.PAGE
    page.parent.mkdir()
    page.write_text(f"<main>{licences.PLACE}</main>", encoding="utf-8")
    text = write(small)
    rows = re.findall(r"<tr><td>(.+?)</td><td>(.+?)</td><td>(.+?)</td></tr>", page.read_text(encoding="utf-8"))
    origins = [names.split(", ") for names in re.findall(r"^\S+\.\w+: (.+)$", text, flags=re.MULTILINE)]
    needed = {name for names in origins for name in names if name.startswith(("vega", "@"))}
    assert {name for name, _, _ in rows} >= needed
    assert ("vega", "BSD-3-Clause") in {(name.split()[0], licence) for name, licence, _ in rows}
    assert "chapters/licences" in (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert licences.PLACE in (ROOT / "chapters/licences.md").read_text(encoding="utf-8")


def test_the_notices_of_what_was_bundled_are_there(small: Path):
    text = write(small)
    for holder in (
        *("Mike Bostock", "Cynthia Brewer", "Vladimir Agafonkin", "Ariya Hidayat", "Jason Davies", "Joachim Wester"),
        *("University of Washington", "Reserved Font Name MathJax_AMS", "The Instrument Sans Project Authors"),
        *("the Sphinx team", "mathjax 3", "SIL OPEN FONT LICENSE", "Apache License"),
        *("Attribution 4.0 International", "Permission is hereby granted"),
    ):
        assert holder in text, holder
    bundles = re.findall(r"^_static/vendor/(vega\S*): (.+)$", text, flags=re.MULTILINE)
    assert {name for name, origin in bundles if re.search(r"vega-util \d", origin)} == {
        "vega.min.js",
        "vega-lite.min.js",
        "vega-embed.min.js",
    }


@pytest.mark.parametrize(
    "planted",
    ["_static/planted.js", "_static/vendor/planted.js", "_static/vendor/fonts/planted.woff2", "chapters/planted.css"],
)
def test_a_file_without_an_origin_ends_the_build(small: Path, planted: str):
    (small / planted).parent.mkdir(exist_ok=True)
    (small / planted).write_text("of unknown origin")
    with pytest.raises(SystemExit, match=f"no licence is known for:\n{planted}$"):
        write(small)


def package(folder: Path, **about) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": folder.name, "version": "1.0.0"} | about))


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Packages where `vega` depends on `inner`, and that on another version of `vega-util` than all others."""
    folder = tmp_path / "node_modules"
    package(folder / "vega", license="MIT", dependencies={"inner": "1", "vega-util": "1"})
    package(folder / "vega-util", license="MIT")
    package(folder / "inner", license="MIT", dependencies={"vega-util": "2"})
    package(folder / "inner/node_modules/vega-util", license="MIT", version="2.0.0")
    return folder


def test_dependencies_are_found_as_node_finds_them(packages: Path):
    folders = [folder.relative_to(packages).as_posix() for folder in licences.bundled(packages, "vega")]
    assert sorted(folders) == ["inner", "inner/node_modules/vega-util", "vega", "vega-util"]
    (packages / "inner/package.json").write_text(json.dumps({"name": "inner", "dependencies": {"absent": "1"}}))
    with pytest.raises(SystemExit, match="The npm package absent is missing"):
        licences.bundled(packages, "vega")


def test_a_licence_that_is_only_named_must_stand_somewhere(tmp_path: Path, packages: Path):
    bundle = tmp_path / "site/_static/vendor/vega.min.js"
    bundle.parent.mkdir(parents=True)
    bundle.write_text("bundled")
    with pytest.raises(SystemExit, match=r"no licence is known for:\ninner 1.0.0\nvega 1.0.0\nvega-util 1.0.0"):
        write(tmp_path / "site", packages)
    licences._npm.cache_clear()
    (packages / "inner/LICENCE.md").write_text("You may.")
    (packages / "inner/source.js").write_text("/* Copyright (c) 1999 Ada */ let a = 1; // no licence here\n")
    text = write(tmp_path / "site", packages)
    assert "inner 1.0.0 (MIT)\n\nYou may.\n\n/* Copyright (c) 1999 Ada */\n" in text
    assert "vega 1.0.0 (MIT)\nvega-util 1.0.0 (MIT)\nvega-util 2.0.0 (MIT)\n\nThe text of MIT stands with" in text


def test_the_licence_of_the_text_is_the_whole_legal_code():
    """The digest is that of the plain text of Creative Commons, as packages under it carry it."""
    own, code = (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8").split("\n" + "-" * 71 + "\n\n")
    assert "CC-BY-4.0" in own
    assert hashlib.sha256(code.encode()).hexdigest() == (
        "fd3a263fe19ed8faa9068b43abaebafc02c77897b0c6fc09abc04bb592e5f16e"
    )
