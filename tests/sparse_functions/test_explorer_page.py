"""The explorer of chapter 14 in a browser: choices by menu and by hand, each compared with the library."""

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand
from tests.sparse_functions.test_explorer import few  # noqa: F401


def test_every_choice_leads_to_a_result_that_there_is(workshop, few):  # noqa: F811
    figure = explorer("sparse_functions", T=50, m=80)
    with workshop(width=390) as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("sparse_functions"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on, said = Hand(page, type(figure)), page.locator(".fx-sentence")

        def choose(menu, text):
            return lambda: page.get_by_role("combobox", name=menu).select_option(text)

        assert "networks found the AND" in said.first.inner_text()
        on.after(choose("AND: bits T", "400"), T=400)
        on.after(choose("Parity: bits T", "70"), bits=70, seed=0)
        assert "no success by step 775" in said.last.inner_text()
        on.after(choose("Parity: network", "2"), seed=2)
        on.after(choose("Parity: bits T", "10"), bits=10, seed=2)
        assert "at chance until step 75, below 1 % of errors at step 100" in said.last.inner_text()
        on.after(lambda: page.locator(".fx-cells circle").first.click(), T=50)
        page.evaluate("model.set('state', { T: 51 })")  # refused: the last good picture stays
        on.compare()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
