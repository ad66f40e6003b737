"""Networks while they learn in a browser, made-up ones: some end early, one diverges, not all lengths are there."""

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand
from tests.length.test_explorer import few  # noqa: F401


def test_every_choice_leads_to_a_network_that_there_is(workshop, few):  # noqa: F811
    figure = explorer("length", step=500, against="FIRST")
    with workshop(width=390) as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("length"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on, said = Hand(page, type(figure)), page.locator(".fx-sentence")
        assert "there the sharpness rose, from 0.02 to 0.3. At the end it is 0.35." in said.inner_text()

        def choose(menu, text):
            return lambda: page.get_by_role("combobox", name=menu).select_option(text)

        on.after(lambda: on.keys(page.get_by_role("slider", name="Step"), "End"), step=1000)
        on.after(choose("Seed", "1"), seed=1, step=500)
        assert "was given up at chance; training ended at step 500." in said.inner_text()
        on.after(choose("Length n", "12"), n=12, seed=3, step=250, against="")
        assert "diverged" in said.inner_text() and "Error (mean square) none" in page.locator(".fx-curves").inner_text()
        on.after(choose("Function", "FIRST"), function="FIRST", n=8, seed=1)
        plot = page.get_by_role("img", name="Norm").first
        on.after(lambda: plot.click(position={"x": plot.bounding_box()["width"] / 2, "y": 9}), step=500)
        assert page.evaluate("model.get('state')") == on.state
        page.evaluate("model.set('state', { function: 'OR' })")  # refused: the last good picture stays
        on.compare()
        assert on.state["function"] == "FIRST"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
