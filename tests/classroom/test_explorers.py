"""Explorers from Python: their states, their bundles, the scripts that are made of them."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from flatcube import cube, fourier, sensitivity
from flatcube.classroom import explorers
from flatcube.classroom.explorers import bundle, classic, explorer, names


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
        assert figure.state == type(figure).clean(dict(figure.default_state))


def test_an_unknown_explorer_is_named():
    with pytest.raises(ValueError, match="there is no explorer 'sphere'; there are .*cube, .*fourier"):
        explorer("sphere")


# ------------------------------------------------------------------------------------------------ states


@pytest.mark.parametrize(
    ("name", "state", "complaint"),
    [
        ("cube", {"n": 6}, "n: expected an integer from 2 to 5, got 6"),
        ("cube", {"n": True}, "n: expected an integer from 2 to 5, got True"),
        ("cube", {"name": "mean"}, "name: expected one of majority, .* got 'mean'"),
        ("cube", {"name": "custom", "table": "+-"}, r"table: expected 8 signs \+ and -, got '\+-'"),
        ("cube", {"name": "custom", "table": "+-0+-+-+"}, r"table: expected 8 signs \+ and -"),
        ("cube", {"subset": [4]}, "subset: expected numbers from 1 to 3, got 4"),
        ("cube", {"sides": 3}, "state: the explorer 'cube' has no 'sides'; it has n, name, table, subset"),
        ("fourier", {"n": 9}, "n: expected an integer from 1 to 8, got 9"),
        ("fourier", {"source": "oracle"}, "source: expected one of named, formula, table, got 'oracle'"),
        ("fourier", {"name": "sine"}, "name: expected one of parity, .* got 'sine'"),
        ("fourier", {"formula": "x1 &"}, "formula, column 5: expected a variable .* found the end"),
        ("fourier", {"formula": "x5", "n": 3}, "formula: uses x5, but n = 3"),
        ("fourier", {"table": "++-"}, "table: expected 2 signs or finite numbers for n = 1"),
        ("fourier", {"table": [0.5, float("nan")]}, "table: expected 2 signs or finite numbers"),
        ("fourier", {"name": "address", "n": 5}, "n: the address function has 3 or 6 variables here, got 5"),
        ("fourier", {"name": "threshold", "n": 3, "parameter": 5}, "threshold on 3 variables can have 0, 1, 2, 3, 4"),
        ("fourier", {"name": "tribes", "n": 6, "parameter": 4}, "tribes on 6 variables can have 1, 2, 3, 6, got 4"),
        ("fourier", {"name": "parity", "parameter": 1}, "parameter: parity on 3 variables can have 0, got 1"),
        ("sensitivity", {"n": 1}, "n: expected an integer from 2 to 5, got 1"),
        ("sensitivity", {"name": "tribes"}, "name: expected one of majority, .* got 'tribes'"),
        ("sensitivity", {"name": "custom", "table": "01100110"}, r"table: expected 8 signs \+ and -, got '01100110'"),
        ("sensitivity", {"name": "custom", "table": [1.0, 2.0]}, "table: expected 8 signs or finite numbers for n = 3"),
        ("sensitivity", {"correlation": -0.1}, "correlation: expected a number from 0 to 1, got -0.1"),
        ("sensitivity", {"correlation": True}, "correlation: expected a number from 0 to 1, got True"),
        ("sensitivity", {"variable": 4}, "variable: expected None or an integer from 1 to 3, got 4"),
        ("sensitivity", {"variable": 0}, "variable: expected None or an integer from 1 to 3, got 0"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(name, state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer(name, **state)
    assert "\n" not in str(refused.value)


def test_what_a_source_does_not_use_is_emptied():
    state = explorer("fourier", name="parity", formula="x1", table="+-").state
    assert (state["source"], state["formula"], state["table"]) == ("named", "", "")
    assert explorer("cube", name="parity", table="++++++++").state["table"] == ""


def test_size_and_source_follow_from_the_others():
    assert explorer("fourier", formula="x2 ^ x5").state["n"] == 5
    assert explorer("fourier", table="+--+").state["n"] == 2
    assert explorer("fourier", name="majority").state["source"] == "named"


def test_the_state_is_a_copy():
    figure = explorer("cube")
    figure.state["n"] = 5
    assert figure.state["n"] == 3


@pytest.mark.parametrize("name", ["cube", "fourier", "sensitivity"])
def test_a_table_goes_in_and_out(name, press):
    figure = explorer(name)
    table = cube.random_boolean(4, rng=3)
    figure.table = table
    assert (figure.table == table).all()
    assert figure.state["n"] == 4


def test_real_tables_are_kept_as_numbers():
    figure = explorer("fourier")
    figure.table = cube.mean(3)
    assert figure.state["table"][:2] == [1.0, pytest.approx(1 / 3)]
    assert figure.displayed(figure.state)["c:1"] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="expected −1 and"):
        explorer("cube").table = cube.mean(3)


# ------------------------------------------------------------------------------------------------ numbers


def test_the_cube_shows_agreement_as_correlation():
    shown = explorer("cube").displayed({"n": 3, "name": "majority", "subset": [1]})
    assert (shown["correlation"], shown["agree"], shown["differ"]) == (0.5, 6, 2)
    shown = explorer("cube").displayed({"name": "custom", "n": 2, "table": "+--+", "subset": [1, 2]})
    assert shown["correlation"] == 1


def test_the_fourier_explorer_shows_the_library():
    shown = explorer("fourier").displayed({"formula": "x1 & (x2 ^ x3)"})
    spectrum = fourier.spectrum(cube.formula("x1 & (x2 ^ x3)"))
    assert [shown[f"c:{S}"] for S in range(8)] == spectrum.coefficients.tolist()
    assert [shown[f"w:{k}"] for k in range(4)] == spectrum.profile.tolist()
    assert shown["polynomial"] == spectrum.polynomial()


def test_the_sensitivity_explorer_shows_the_library():
    shown = explorer("sensitivity").displayed({"n": 4, "name": "majority", "correlation": 0.5})
    table = cube.majority(4)
    assert [shown[f"s:{k}"] for k in range(16)] == sensitivity.at_points(table).tolist()
    assert [shown[f"i:{i}"] for i in range(1, 5)] == sensitivity.influences(table).tolist()
    lit = [shown[key] for key in shown if key.startswith("e:")]
    assert len(lit) == 32 and sum(lit) / 8 == shown["average"] == sensitivity.average(table)
    assert shown["disagreement"] == sensitivity.disagreement(table, 0.5) <= shown["by-average"]
    assert (shown["maximum"], shown["degree"], shown["variance"]) == (3, 4, pytest.approx(1 - (6 / 16) ** 2))


def test_a_real_function_has_no_disagreement():
    shown = explorer("sensitivity").displayed({"name": "mean", "n": 5})
    assert (shown["average"], shown["stability"]) == (pytest.approx(1 / 5), pytest.approx(0.8 / 5))
    assert not {"disagreement", "by-average", "by-maximum"} & shown.keys()


@pytest.mark.parametrize(
    ("state", "table"),
    [
        ({"name": "threshold", "n": 4, "parameter": 3}, cube.threshold(4, 3)),
        ({"name": "address", "n": 6}, cube.address(2)),
        ({"name": "tribes", "n": 8, "parameter": 2}, cube.tribes(2, 4)),
        ({"name": "mean", "n": 5}, cube.mean(5)),
    ],
)
def test_named_functions_are_the_library_s(state, table):
    assert (explorer("fourier", **state).table == table).all()


def test_random_tables_differ_by_seed_and_are_balanced():
    tables = np.array([explorer("fourier", name="random", n=8, parameter=seed).table for seed in range(100)])
    assert len(np.unique(tables, axis=0)) == 100
    assert np.abs(tables.mean()) < 0.03  # five standard deviations of 25,600 fair signs


# ------------------------------------------------------------------------------------------------ homes


@pytest.mark.parametrize("name", ["cube", "fourier", "sensitivity"])
def test_the_press_gets_a_still_bundle(name, press):
    first, second = (explorer(name)._repr_mimebundle_() for _ in range(2))
    assert first == second
    assert set(first) == {explorers.MIME, "text/html", "text/plain"}
    payload = first[explorers.MIME]
    assert payload == json.loads(json.dumps(payload))
    assert (payload["element"], payload["name"], payload["state"]) == ("explorer", name, explorer(name).state)
    assert first["text/html"].startswith("<svg") and payload["label"] in first["text/plain"]


def test_the_press_never_loads_the_widget_library():
    code = (
        "import os, sys; os.environ['FLATCUBE_PRESS'] = '1'\n"
        "from flatcube.classroom.explorers import explorer\n"
        "[explorer(name)._repr_mimebundle_() for name in ('cube', 'fourier', 'sensitivity')]\n"
        "sys.exit('anywidget' in sys.modules or 'ipywidgets' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", ["cube", "fourier", "sensitivity"])
def test_in_jupyterlab_the_widget_goes_both_ways(name, lab):
    figure = explorer(name)
    shown = figure._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert explorers.MIME in shown
    widget = figure.widget
    assert widget._esm == bundle(name) and ".fx-box" in widget._css
    widget.state = {**widget.state, "n": 4}  # what the browser sends when the reader moves a slider
    assert figure.state["n"] == 4
    figure.table = cube.parity(3)
    assert widget.state["table"] == "+--+-++-"


@pytest.mark.parametrize("name", ["cube", "fourier", "sensitivity"])
def test_the_scripts_are_self_contained(name):
    module, script = bundle(name), classic(name)
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*", module, re.MULTILINE) == ["export default explorer;"]
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert script.rstrip().endswith(f'window.flatcube.register("{name}", explorer);\n}})();')


def test_scripts_and_styles_name_no_colours():
    literal = re.compile(r"#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(", re.IGNORECASE)
    folder = explorers._HERE
    for path in [*folder.glob("*.js"), *folder.parent.glob("site/*.js")]:
        assert not literal.search(path.read_text(encoding="utf-8")), path.name
    for line in explorers.stylesheet().splitlines():
        assert not literal.search(line) or re.match(r"\s+--[\w-]+: var\(--fc-", line), line


def test_an_explorer_that_cannot_say_what_it_shows_is_refused():
    class Mute(explorers.Explorer):
        name, label, default_state = "mute", "An explorer without numbers", {}

        @classmethod
        def clean(cls, state):
            return state

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
