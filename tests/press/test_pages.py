"""Notebook outputs become page elements, and nothing in them can escape into the page."""

import json
import re

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from flatcube.press import pages


def payload(markup: str) -> dict:
    """The JSON that the loader will read from an element."""
    return json.loads(re.search(r"<script type=\"application/json\">(.*)</script>", markup, re.S).group(1))


def test_a_chart_becomes_a_labelled_figure_without_its_own_theme():
    chart = {"mark": "bar", "description": 'Bars "grow"', "config": {"background": "white"}}
    markup = pages.element({pages.CHART: chart, "image/svg+xml": "<svg/>", "text/plain": "x"})["text/html"]
    assert 'aria-label="Bars &quot;grow&quot;"' in markup
    assert "<svg" not in markup
    assert payload(markup) == {"mark": "bar", "description": 'Bars "grow"'}


def test_a_chart_keeps_the_height_of_its_picture_and_of_its_inputs():
    chart = {"mark": "bar", "params": [{"name": "n", "bind": {"input": "range"}}, {"name": "s", "bind": "legend"}]}
    picture = '<svg class="marks" width="620" height="341.5" viewBox="0 0 620 341.5"></svg>'
    markup = pages.element({pages.CHART: chart, "image/svg+xml": picture})["text/html"]
    assert f'style="--height: {342 + pages.INPUTS}px; --inputs: 1"' in markup
    markup = pages.element({pages.CHART: {"mark": "bar"}, "image/svg+xml": picture})["text/html"]
    assert f'style="--height: {342 + pages.UNDER}px; --inputs: 0"' in markup
    assert "style" not in pages.element({pages.CHART: chart})["text/html"]


def test_explorers_of_one_name_have_different_places():
    data = {pages.ELEMENT: {"element": "explorer", "name": "parity"}, "text/html": ""}
    cells = [new_code_cell("1", outputs=[new_output("display_data", data=data)]) for _ in range(3)]
    shown = pages.page(new_notebook(cells=cells), "01-one").cells
    places = [re.search(r' id="([\w-]+)" data-name=', cell.outputs[0].data["text/html"])[1] for cell in shown]
    assert places == ["parity-explorer", "parity-explorer-2", "parity-explorer-3"]


def test_a_chart_that_fills_its_column_does_so_on_the_site_alone():
    chart = {"mark": "bar", "description": "Bars", "width": 560, "usermeta": {"fill": True}}
    markup = pages.element({pages.CHART: chart})["text/html"]
    assert payload(markup) == {"mark": "bar", "description": "Bars", "width": "container"}
    assert payload(pages.element({pages.CHART: {"width": 300}})["text/html"])["width"] == 300


def test_an_element_keeps_its_payload_and_its_fallback():
    data = {"element": "explorer", "name": "fourier", "state": {"n": 3}}
    markup = pages.element({pages.ELEMENT: data, "text/html": "<p>Run the cell.</p>", "text/plain": "x"})["text/html"]
    assert markup.startswith('<div class="fc-explorer" id="fourier-explorer" data-name="fourier">')
    assert payload(markup) == data
    assert '<div class="fc-fallback"><p>Run the cell.</p></div>' in markup


def test_an_explorer_keeps_the_height_that_it_says():
    data = {"element": "explorer", "name": "fourier", "height": "14rem"}
    markup = pages.element({pages.ELEMENT: data})["text/html"]
    assert '<div class="fc-explorer" id="fourier-explorer" data-name="fourier" style="--height: 14rem"><' in markup


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--<script>", "<!-- <SCRIPT ", "a < b"])
def test_text_in_a_payload_cannot_change_where_the_script_ends(text: str):
    data = {"element": "question", "id": "1.1", "prompt": text}
    markup = pages.element({pages.ELEMENT: data})["text/html"]
    assert re.findall(r"</|<!--|<script", markup[len('<div class="') :], re.IGNORECASE) == ["<script"] + ["</"] * 3
    assert payload(markup) == data


def test_stored_results_are_listed_with_what_it_takes_to_repeat_them(tmp_path):
    (tmp_path / "data").mkdir()
    made = {"toy.csv": {"command": "flatcube run toy", "seconds": 120, "machine": "a machine"}}
    (tmp_path / "data/manifest.json").write_text(json.dumps(made))
    assert pages.log(tmp_path)["stored"] == made


def test_other_outputs_pass_unchanged():
    assert pages.element({"text/plain": "4"}) == {"text/plain": "4"}


def test_what_needs_a_kernel_is_not_on_the_page():
    cells = [new_code_cell("1"), new_code_cell("e.state", metadata={"tags": ["lab-only"]})]
    assert [cell.source for cell in pages.page(new_notebook(cells=cells), "01-one").cells] == ["1"]
