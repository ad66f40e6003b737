"""A figure has a title, words for readers who cannot see it, and the same form on every run."""

import altair as alt
import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from flatcube.classroom import charts, explorer, figure

WORDS = "Three bars that grow from left to right."


def chart(title: str | None = "Bars grow", *, noise: float = 0.0) -> alt.Chart:
    """A small bar chart."""
    data = pd.DataFrame({"x": [1, 2, 3], "y": [1 / 3 + noise, 2 / 3, 1.0]})
    made = alt.Chart(data).mark_bar().encode(x="x:O", y="y:Q")
    return made.properties(title=title) if title else made


def bundle() -> dict:
    return figure(chart(), alt=WORDS)._repr_mimebundle_()


def test_a_figure_has_a_form_for_every_home():
    forms = bundle()
    assert set(forms) == {charts.MIME, "image/svg+xml", "text/plain"}
    assert forms["image/svg+xml"].startswith("<svg")
    assert forms["text/plain"] == forms[charts.MIME]["description"] == WORDS


def test_a_figure_is_the_same_every_time():
    assert bundle() == bundle()


def test_numbers_are_rounded_so_that_every_machine_agrees():
    (rows,) = bundle()[charts.MIME]["datasets"].values()
    assert [row["y"] for row in rows] == [0.33333, 0.66667, 1.0]


def test_digits_that_are_rounded_away_leave_no_trace():
    layers = [[chart(noise=noise), chart(noise=3 * noise)] for noise in (1e-9, 2e-9)]
    first, second = (figure(alt.layer(*pair, title="Bars grow"), alt=WORDS)._repr_mimebundle_() for pair in layers)
    assert first == second
    assert list(first[charts.MIME]["datasets"]) == ["data-1", "data-2"]


def test_a_figure_fills_its_column_on_the_site_and_has_no_background():
    specification = bundle()[charts.MIME]
    assert (specification["width"], specification["usermeta"]) == (charts.WIDTH, {"fill": True})
    assert specification["config"]["background"] == "transparent"


def test_a_label_goes_with_the_chart_whatever_its_width():
    wide = figure(chart(), alt=WORDS, label="fig-rows").specification
    fixed = figure(chart().properties(width=200), alt=WORDS, label="fig-rows").specification
    assert (wide["usermeta"], wide["width"]) == ({"fill": True, "label": "fig-rows"}, charts.WIDTH)
    assert (fixed["usermeta"], fixed["width"]) == ({"label": "fig-rows"}, 200)


@pytest.mark.parametrize("label", ["rows", "fig-", "fig-Rows", "fig rows", 'fig-a"', None])
def test_a_label_of_another_form_is_refused(label):
    for refer in (lambda: figure(chart(), alt=WORDS, label=label), lambda: explorer("cube", label=label)):
        with pytest.raises(ValueError, match="^label: expected small letters and digits such as 'fig-butterfly', got"):
            refer()


def test_a_notebook_that_holds_a_figure_is_valid():
    cell = new_code_cell("", outputs=[new_output("display_data", data=bundle())])
    nbformat.validate(new_notebook(cells=[cell]))


@pytest.mark.parametrize("words", ["", "A chart.", None])
def test_a_figure_without_words_is_refused(words):
    with pytest.raises(ValueError, match="^alt: expected at least five words on what the chart shows, got"):
        figure(chart(), alt=words)


def test_what_is_no_chart_is_refused():
    with pytest.raises(TypeError, match="^chart: expected .*TopLevelMixin, got NoneType$"):
        figure(None, alt=WORDS)


def test_a_figure_without_a_title_is_refused():
    with pytest.raises(ValueError, match="title"):
        figure(chart(title=None), alt=WORDS)


def test_rounding_noise_is_drawn_as_zero_but_for_logarithmic_axes():
    rows = [{"x": 1, "y": 0.5}, {"x": 2, "y": 4.4e-16}, {"x": 3, "y": 1e-9}]

    def drawn(scale: str) -> list[float]:
        y = alt.Y("y:Q", scale=alt.Scale(type=scale))
        chart = alt.Chart(alt.InlineData(rows)).mark_line().encode(x="x:Q", y=y).properties(title="Some rows")
        found = charts.figure(chart, alt="A line through three points, for a test").specification
        (data,) = found["datasets"].values() if "datasets" in found else [found["data"]["values"]]
        return [row["y"] for row in data]

    assert drawn("linear") == [0.5, 0.0, 1e-9]
    assert drawn("log") == [0.5, 4.4e-16, 1e-9]


def test_shapes_and_dashes_share_the_legend_of_their_colours():
    """JupyterLab's form of Vega-Lite draws two legends where they differ."""
    top = alt.Legend(orient="top")
    kinds = {"color": alt.Color("x:O", legend=top), "shape": alt.Shape("x:O", title=None)}
    kinds["strokeDash"] = alt.StrokeDash("y:O")
    shown = figure(alt.layer(chart(None).encode(**kinds), title="Bars grow"), alt=WORDS).specification
    encoding = shown["layer"][0]["encoding"]
    assert encoding["shape"] == encoding["color"]  # in its legend and its title
    assert "legend" not in encoding["strokeDash"]
