"""A trained network beside the hand-built one in a browser: after every move it shows what the library computes."""

import pytest

from flatcube.classroom.explorers import bundle, explorer
from flatcube.inside.explorer import InsideExplorer
from tests.browser.hand import IMPORT, MODEL, Hand


@pytest.mark.parametrize("width", [390, 1200])
def test_every_control(workshop, width):
    figure = explorer("inside")
    with workshop(width=width) as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("inside"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on, said = Hand(page, type(figure)), page.locator(".fx-sentence").last

        def choose(menu, value):
            return lambda: page.get_by_role("combobox", name=menu).select_option(value)

        assert "Nothing is changed yet" in said.inner_text()
        on.after(lambda: page.get_by_role("button", name="Those of this component").click(), rows="00001000")
        assert "keeps 0 % of what it had learnt of {1, 4}" in said.inner_text().replace("−0", "0")
        on.after(choose("Changed positions", "patch"), change="patch")
        assert "From what the circuit predicts" in said.inner_text()
        on.after(choose("Changed positions", "hand"), change="hand")
        on.after(choose("Component", "2"), component=2)
        on.after(lambda: page.get_by_role("button", name="None").click(), rows="00000000")
        bits = page.get_by_role("group", name="The input x").get_by_role("button")
        on.after(lambda: bits.nth(1).click(), bits="11110100")
        on.after(choose("Network", "2-2-0"), network="2-2-0")
        page.get_by_role("button", name="Those of this component").click()  # none has a clear row for {2, 3}
        on.compare()
        assert "No position has a clear row for {2, 3}" in said.inner_text()
        places = page.get_by_role("group", name="Positions to change").get_by_role("button")
        on.after(lambda: on.keys(places.nth(0), "ArrowDown", "Enter"), rows="01000000")
        for name in InsideExplorer.schema["network"].values:
            if name != on.state["network"]:
                on.after(choose("Network", name), network=name)
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert page.evaluate("model.get('state')") == on.state
