"""The automaton with a scratchpad in a browser: its table is edited by hand, and the page follows the library."""

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


def entry(on, name):
    return on.page.get_by_role("button", name=name)


def test_a_table_is_edited_into_another_automaton(workshop):
    figure = explorer("scratchpad")
    with workshop(figure, width=390) as visit:
        on = Hand(visit.page, type(figure))
        menu = on.page.get_by_role("combobox", name="It accepts")
        assert menu.input_value() == "parity"
        on.after(entry(on, "state 1, after 1: state 0").click, table=[[0, 1], [1, 1]])  # at least one 1
        assert menu.input_value() == "own"
        on.after(entry(on, "state 0 does not accept").click, accepting=[0, 1])
        on.after(lambda: on.keys(on.page.get_by_role("slider", name="States"), "End"), accepting=[0, 1])
        assert len(on.state["table"]) == 4
        on.after(lambda: on.keys(menu, "Home", "ArrowDown"), table=[[0, 1], [1, 2], [2, 0]], accepting=[0])
        on.after(lambda: on.keys(on.page.get_by_role("slider", name="Bits T"), "End"), bits="101100111111")
        on.after(entry(on, "Next").click, step=4)
        assert "in state 2 it reads 1 and writes state 0" in on.page.locator(".fx-sentence").inner_text()
        on.after(entry(on, "Reset").click, step=0)
        assert on.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_module_for_anywidget_goes_both_ways(workshop):
    figure = explorer("scratchpad", bits="1011", step=4)
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("scratchpad"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        assert "the string is accepted" in page.locator(".fx-sentence").inner_text()
        on.after(entry(on, "x1 is 1").click, bits="0011")
        assert page.evaluate("model.get('state')") == on.state
        page.evaluate("model.set('state', { bits: '2' })")  # refused: the last good picture stays
        on.compare()
        assert on.state["bits"] == "0011"
