"""All explorers in a browser, on bare pages: the loader, one explorer, the style sheet."""

import re

import pytest

from flatcube import cube
from flatcube.classroom import explorers
from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


@pytest.mark.parametrize("name", explorers.names())
def test_an_explorer_fits_the_screen_and_its_controls_have_names_and_one_way_in(workshop, name):
    with workshop(explorer(name)) as visit:
        page, root = visit.page, visit.page.locator(".fc-explorer")
        nameless = root.evaluate(
            """root => [...root.querySelectorAll("button, [role=button], input, select, [role=group]")].filter(e =>
            !e.getAttribute("aria-label") && !e.textContent.trim() && !e.labels?.length).length"""
        )
        assert nameless == 0
        stops = root.evaluate(
            "root => [...root.querySelectorAll('*')].filter(e => e.tabIndex === 0 && !e.closest('[hidden]')).length"
        )
        assert stops < 16  # a grid or chart of many parts is one stop, moved with the arrow keys
        wide = page.viewport_size
        for width in (wide["width"], 390):
            page.set_viewport_size(wide | {"width": width})
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        page.set_viewport_size(wide)


@pytest.mark.parametrize("given", [{}, {"n": 4, "name": "parity"}], ids=["default", "given"])
def test_start_again_brings_back_the_state_with_which_the_page_came(workshop, given):
    figure = explorer("cube", **given)
    with workshop(figure) as visit:
        on = Hand(visit.page, type(figure))
        visit.page.get_by_role("slider", name=re.compile("Dimensions|Variables")).press("ArrowLeft")
        assert on.state != figure.state
        visit.page.get_by_role("button", name="Start again").press("Enter")
        assert on.state == figure.state
        on.compare()


def test_motion_only_for_those_who_like_it(browser, workshop):
    with workshop(explorer("cube")) as visit:
        still = visit.page.locator(".fx-corner").first.get_attribute("transform")
        visit.page.wait_for_timeout(300)
        assert visit.page.locator(".fx-corner").first.get_attribute("transform") == still


@pytest.mark.parametrize("name", [name for name in explorers.names() if hasattr(type(explorer(name)), "table")])
def test_the_module_for_anywidget_goes_both_ways(workshop, name):
    figure = explorer(name)
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle(name), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        assert page.evaluate("model.saved") == 0
        size = page.get_by_role("slider", name=re.compile("Dimensions|Variables"))
        on.after(lambda: on.keys(size, "ArrowRight"), n=4)
        assert page.evaluate("model.get('state')") == on.state
        assert page.evaluate("model.saved") == 1
        figure.table = cube.random_boolean(3, rng=2)
        on.after(lambda: page.evaluate("state => model.set('state', state)", figure.state), **figure.state)
        page.evaluate("model.set('state', { n: 99 })")  # refused: the last good picture stays
        on.compare()
        assert on.state == figure.state
        page.evaluate("state => { stop(); model.set('state', state); }", explorer(name).state)
        assert on.state == figure.state
