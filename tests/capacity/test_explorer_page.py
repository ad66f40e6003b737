"""The capacity calculator in a browser: after every move the page shows what the library computes."""

import pytest

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


def slider(on, name):
    return on.page.get_by_role("slider", name=name)


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control(hand, from_file):
    on = hand(from_file=from_file)
    on.after(lambda: on.keys(slider(on, "Tokens"), "ArrowRight"), T=11)
    assert slider(on, "Tokens 2ᵏ = 2,048").count() == 1
    on.after(lambda: on.drag(slider(on, "Channels"), 1.0), width=10)
    on.after(lambda: on.drag(slider(on, "Layers"), 1.0), layers=4)
    on.after(lambda: on.keys(slider(on, "Norm of the scores"), "ArrowLeft"), score=1.75)
    on.after(lambda: on.keys(slider(on, "Norm of the values"), "End"), value=4)
    on.after(lambda: on.keys(slider(on, "Norm of the outputs"), "Home"), output=0.25)
    on.after(lambda: on.drag(slider(on, "Norm of the read-out"), 0.0), readout=0.25)
    on.after(lambda: on.keys(slider(on, "Inputs m"), "End"), m=30)
    form = on.page.get_by_role("combobox", name="Constants")
    on.after(lambda: on.keys(form, "End"), form="explicit")
    on.after(lambda: on.keys(form, "Home"), form="printed")
    on.after(lambda: on.keys(slider(on, "Layers"), "Home"), layers=1)


def test_the_verdict_is_in_words(hand):
    on = hand(m=6)
    assert "It says nothing." in on.page.locator(".fx-sentence").inner_text()
    on.after(lambda: on.keys(slider(on, "Inputs m"), "End"), m=30)
    assert "It says something." in on.page.locator(".fx-sentence").inner_text()
    assert on.page.get_by_role("img", name="layer 1: scores").count() == 1


def test_a_phone_is_wide_enough(hand):
    on = hand(width=390, layers=4)
    assert on.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_module_for_anywidget_goes_both_ways(workshop):
    figure = explorer("capacity")
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("capacity"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        on.after(lambda: on.keys(slider(on, "Layers"), "ArrowRight"), layers=3)
        assert page.evaluate("model.get('state')") == on.state
        figure.state = {**figure.state, "form": "explicit", "T": 20}
        on.after(lambda: page.evaluate("state => model.set('state', state)", figure.state), **figure.state)
        page.evaluate("model.set('state', { T: 99 })")  # refused: the last good picture stays
        on.compare()
        assert on.state == figure.state
