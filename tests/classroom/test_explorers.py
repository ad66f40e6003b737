"""Explorers from Python: their states, their bundles, the scripts that are made of them."""

import html
import json
import re
import subprocess
import sys
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest

from flatcube import capacity, cube, paths
from flatcube.classroom import explorers
from flatcube.classroom.explorers import bundle, classic, explorer, names
from tests.javascript import tools

TABLES = [name for name in names() if hasattr(type(explorer(name)), "table")]  # those that show any function


@pytest.fixture
def press(monkeypatch):
    monkeypatch.setenv("FLATCUBE_PRESS", "1")


@pytest.fixture
def lab(monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)


def test_every_explorer_has_both_halves():
    assert {"cube", "fourier"} <= set(names())
    for name in names():
        figure = explorer(name)
        assert figure.name == name
        assert figure.state == type(figure).clean(figure.schema.default)


def test_an_unknown_explorer_is_named():
    with pytest.raises(ValueError, match="there is no explorer 'sphere'; there are .*cube, .*fourier"):
        explorer("sphere")


TINY = """from flatcube.classroom.explorers import Explorer, Schema

class Tiny(Explorer):
    name, label, schema = "capacity.tiny", "A tiny explorer", Schema.beside(__file__)

    @classmethod
    def displayed(cls, state):
        return dict(state)
"""


def test_a_room_may_have_small_explorers_in_a_folder(tmp_path, monkeypatch):
    folder = tmp_path / "capacity" / "explorers"
    folder.mkdir(parents=True)
    for suffix, text in {
        "py": TINY,
        "json": '{ "n": { "kind": "whole", "min": 1, "max": 9, "default": 3 } }',
        "js": 'import { h } from "../../classroom/explorers/kit.js";\nexport default { render: h };\n',
        "css": ".fx-tiny { margin: 0; }",
    }.items():
        (folder / f"tiny.{suffix}").write_text(text, encoding="utf-8")
    (folder / "helper.js").write_text("// no explorer: no Python half", encoding="utf-8")
    monkeypatch.setattr(paths, "LIBRARY", tmp_path)
    monkeypatch.setattr(capacity, "__path__", [str(tmp_path / "capacity")])
    try:
        assert names() == ["capacity.tiny"]
        assert explorer("capacity.tiny", n=4).state == {"n": 4}
        assert 'register("capacity.tiny", explorer, ".fx-tiny' in classic("capacity.tiny")
        assert "export default explorer;" in bundle("capacity.tiny")
        with pytest.raises(ValueError, match="there is no explorer 'capacity.huge'; there are capacity.tiny"):
            explorer("capacity.huge")
    finally:
        for name in ("flatcube.capacity.explorers", "flatcube.capacity.explorers.tiny"):
            sys.modules.pop(name, None)


# ------------------------------------------------------------------------------------------------ states


@pytest.mark.parametrize("name", explorers.names())
@pytest.mark.parametrize("state", [None, "n", 5, [("n", 3)]])
def test_a_state_is_a_mapping(name, state):
    with pytest.raises(ValueError, match="^state: expected a mapping with entries such as {.* got "):
        explorer(name).state = state


def test_numbers_and_arrays_of_numpy_become_plain():
    assert explorer("cube", n=np.int64(4), subset=np.array([2])).state["subset"] == [2]
    assert explorer("fourier", table=np.array([1.0, 2.0])).state["table"] == [1.0, 2.0]


def test_the_state_is_a_copy():
    figure = explorer("cube")
    figure.state["n"] = 5
    assert figure.state["n"] == 3


@pytest.mark.parametrize("name", TABLES)
def test_a_table_goes_in_and_out(name, press):
    figure = explorer(name)
    table = cube.random_boolean(4, rng=3)
    figure.table = table
    assert (figure.table == table).all()
    assert figure.state["n"] == 4


# ------------------------------------------------------------------------------------------------ homes


@pytest.mark.parametrize("name", names())
def test_the_press_gets_a_still_bundle(name, press):
    first, second = (explorer(name)._repr_mimebundle_() for _ in range(2))
    assert first == second
    assert set(first) == {explorers.MIME, "text/html", "text/plain"}
    payload = first[explorers.MIME]
    assert payload == json.loads(json.dumps(payload))
    assert (payload["element"], payload["name"], payload["state"]) == ("explorer", name, explorer(name).state)
    assert payload["label"] in first["text/plain"]


@pytest.mark.parametrize("name", names())
def test_the_still_picture_is_an_image_that_needs_no_page(name, press):
    """In HTML a notebook that is not trusted would show the words of the drawing alone."""
    image = re.match(r'<img alt="([^"]+)" src="data:image/svg\+xml,([^"]+)">', explorer(name)._still()["text/html"])
    drawing = ElementTree.fromstring(unquote(image[2]))
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg" and len(drawing) > 0
    assert image[1] == html.escape(explorer(name).label)
    assert "var(" not in unquote(image[2]) and "#222" not in unquote(image[2])


def test_a_label_goes_with_the_stored_figure_only(press):
    labelled, plain = (explorer("cube", **said)._repr_mimebundle_() for said in ({"label": "fig-cube"}, {}))
    assert labelled[explorers.MIME].pop("figure") == "fig-cube"
    assert labelled == plain


def test_the_page_is_told_how_high_a_small_explorer_is(press, monkeypatch):
    assert "height" not in explorer("cube")._repr_mimebundle_()[explorers.MIME]
    monkeypatch.setattr(type(explorer("cube")), "height", "14rem")
    assert explorer("cube")._repr_mimebundle_()[explorers.MIME]["height"] == "14rem"


def test_the_press_never_loads_the_widget_library():
    code = (
        "import os, sys; os.environ['FLATCUBE_PRESS'] = '1'\n"
        "from flatcube.classroom.explorers import explorer, names\n"
        "[explorer(name)._repr_mimebundle_() for name in names()]\n"
        "sys.exit('anywidget' in sys.modules or 'ipywidgets' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_scripts_are_made_without_the_seconds_that_torch_takes():
    code = (
        "import sys; from flatcube.classroom.explorers import classic, names\n"
        "[classic(name) for name in names()]; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", TABLES)
def test_in_jupyterlab_the_widget_goes_both_ways(name, lab):
    figure = explorer(name)
    shown = figure._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert explorers.MIME in shown
    widget = figure.widget
    assert widget._esm == bundle(name) and widget._css == explorers.stylesheet(name)
    assert widget._anywidget_id.endswith(f".{name}")  # with one name for all the last style sheet would be that of all
    widget.state = {**widget.state, "n": 4}  # what the browser sends when the reader moves a slider
    assert figure.state["n"] == 4
    figure.table = cube.parity(3)
    assert widget.state["table"] == "+--+-++-"


@pytest.mark.parametrize("name", names())
def test_the_scripts_are_self_contained(name):
    module, script = bundle(name), classic(name)
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*", module, re.MULTILINE) == ["export default explorer;"]
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert f'\nwindow.flatcube.register("{name}", explorer' in script and script.endswith(");\n})();\n")


def test_an_explorer_brings_its_own_looks_and_no_others():
    assert ".fx-box" in explorers.stylesheet("blowup") and ".fx-lanes" not in explorers.stylesheet("blowup")
    assert ".fx-box" in explorers.stylesheet("queries") and ".fx-lanes" in explorers.stylesheet("queries")
    assert ".fx-lanes {" in classic("queries") and '("blowup", explorer);' in classic("blowup")


def test_looks_that_one_explorer_has_stand_beside_it():
    """A class that only one explorer uses is not in the sheet of all, and its own sheet names none that nobody uses."""
    others = [explorers._HERE / "kit.js", *explorers._HERE.parent.glob("site/*.js")]
    scripts = {path.name: path for path in others} | explorers._scripts()
    users = {name: _classes(path) for name, path in scripts.items()}
    common = _styled((explorers._HERE.parent / "site" / "elements.css").read_text(encoding="utf-8"))
    for name in names():
        elsewhere = set().union(*(used for stem, used in users.items() if stem != name))
        assert not (users[name] - elsewhere) & common
        assert _styled(explorers._looks(name)) <= users[name] | elsewhere


def _classes(script):
    return set(re.findall(r"\bfx-[\w-]+", script.read_text(encoding="utf-8")))


def _styled(sheet):
    return set(re.findall(r"\.(fx-[\w-]+)", sheet))


KIT = "export const one = 1;\nexport async function two() {}\nexport function* three() {}\nconst own = 4;\n"


@pytest.mark.parametrize(
    "script",
    [
        'import { one, two as zwei } from "./kit.js";\nexport default { render: one, zwei };\n',
        'import {\n  one,\n  two as zwei,\n} from "../classroom/explorers/kit.js";\n'
        "export default {\n  render: one,\n  zwei,\n};\n",
    ],
)
def test_imports_and_exports_may_be_wrapped(script):
    joined = explorers._join(KIT, script)
    assert "return { one, two, three };" in joined and "\nconst own = 4;" in joined
    tail = re.sub(r",?\s+", " ", joined[joined.index("})();") :])
    assert tail == "})(); const { one two: zwei } = kit; const explorer = { render: one zwei }; "
    assert explorers._imported(script) == ["one", "two"]


@pytest.mark.parametrize("script", ['import * as kit from "./kit.js";\n', "const a = 1;\nexport { a };\n"])
def test_other_imports_and_exports_are_refused(script):
    with pytest.raises(ValueError, match="script: expected imports from kit.js in braces .*, got '(import|export)"):
        explorers._join(KIT, script)


def test_scripts_and_styles_name_no_colours():
    literal = re.compile(r"#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(", re.IGNORECASE)
    for path in tools.ours():
        assert not literal.search(path.read_text(encoding="utf-8")), path.name
    for line in "".join(map(explorers.stylesheet, names())).splitlines():
        assert not literal.search(line) or re.match(r"\s+--[\w-]+: var\(--fc-", line), line


def test_an_explorer_that_cannot_say_what_it_shows_is_refused():
    class Mute(explorers.Explorer):
        name, label, schema = "mute", "An explorer without numbers", explorers.Schema({})

    with pytest.raises(TypeError, match="displayed"):
        Mute()


@pytest.mark.parametrize("name", ["cube", "sensitivity"])
def test_the_still_picture_has_every_corner_and_every_edge(name):
    for n in range(2, 6):
        figure = explorer(name, n=n, name="first")
        drawing = figure.picture(figure.state)
        assert drawing.count("<circle") == 2**n and drawing.count("<path") == n * 2 ** (n - 1)
        assert drawing.count('stroke-width="4"') == (2 ** (n - 1) if name == "sensitivity" else 0)
        assert drawing.count("--fc-minus") == drawing.count("--fc-plus") == 2 ** (n - 1)
