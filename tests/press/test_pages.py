"""Notebook outputs become page elements, and nothing in them can escape into the page."""

import json
import re

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


def test_a_chart_that_fills_its_column_does_so_on_the_site_alone():
    chart = {"mark": "bar", "description": "Bars", "width": 560, "usermeta": {"fill": True}}
    markup = pages.element({pages.CHART: chart})["text/html"]
    assert payload(markup) == {"mark": "bar", "description": "Bars", "width": "container"}
    assert payload(pages.element({pages.CHART: {"width": 300}})["text/html"])["width"] == 300


def test_an_element_keeps_its_payload_and_its_fallback():
    data = {"element": "explorer", "name": "fourier", "state": {"n": 3}}
    markup = pages.element({pages.ELEMENT: data, "text/html": "<p>Run the cell.</p>", "text/plain": "x"})["text/html"]
    assert markup.startswith('<div class="fc-explorer" data-name="fourier">')
    assert payload(markup) == data
    assert '<div class="fc-fallback"><p>Run the cell.</p></div>' in markup


def test_text_in_a_payload_cannot_close_the_script():
    data = {"element": "question", "id": "1.1", "prompt": "</script><script>alert(1)</script>"}
    markup = pages.element({pages.ELEMENT: data})["text/html"]
    assert markup.count("</script>") == 1
    assert payload(markup) == data


def test_stored_results_are_listed_with_what_it_takes_to_repeat_them(tmp_path):
    (tmp_path / "data").mkdir()
    made = {"toy.csv": {"command": "flatcube run toy", "seconds": 120, "machine": "a machine"}}
    (tmp_path / "data/manifest.json").write_text(json.dumps(made))
    assert pages.log(tmp_path)["stored"] == made


def test_other_outputs_pass_unchanged():
    assert pages.element({"text/plain": "4"}) == {"text/plain": "4"}
