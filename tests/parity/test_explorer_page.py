"""PARITY step by step in a browser: after every move the page shows what the library computes."""

import pytest

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


def control(on, kind, name):
    return on.page.get_by_role(kind, name=name)


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control(hand, from_file):
    on = hand(from_file=from_file)
    back, forward, reset = (control(on, "button", name) for name in ("Back", "Next", "Reset"))
    for step in range(1, 6):
        on.after(forward.click, step=step)
        assert (
            on.page.locator("[aria-current=step]")
            .inner_text()
            .endswith(("Count", "Compare", "even", "Average", "Amplify"))
        )
    forward.click()  # there is no further step
    assert on.state["step"] == 5
    on.after(back.click, step=4)
    on.after(reset.click, step=0)
    on.after(control(on, "button", "Odd or even").click, step=3)  # the stages respond, too
    on.after(control(on, "button", "Input").click, step=0)
    on.after(lambda: on.keys(forward, "ArrowRight", "ArrowRight"), step=2)
    on.after(lambda: on.keys(back, "ArrowLeft"), step=1)
    on.after(lambda: on.keys(back, "End"), step=5)
    bits = control(on, "group", "The input x").get_by_role("button")
    on.after(lambda: bits.nth(1).click(), bits="1111001", step=5)
    on.after(lambda: on.keys(bits.nth(1), "End", "Space"), bits="1111000")
    on.after(lambda: on.drag(control(on, "slider", "ε of layer norm"), 1.0), eps=0.1)
    on.after(lambda: on.keys(control(on, "slider", "ε of layer norm"), "Home", "ArrowRight"), eps=1e-10)
    on.after(lambda: on.drag(control(on, "slider", "Bits n"), 1.0), bits="111100011111")
    on.after(lambda: on.keys(control(on, "combobox", "Network"), "ArrowDown"), network="scratchpad", step=0)
    on.after(lambda: on.keys(reset, "ArrowRight", "ArrowRight", "ArrowRight"), step=3)
    on.after(lambda: bits.nth(0).click(), bits="011100011111", step=3)
    on.after(lambda: on.keys(control(on, "slider", "Bits n"), "Home"), bits="01", step=2)
    on.after(lambda: on.keys(reset, "Home"), step=0)


@pytest.mark.parametrize("bits", ["00", "11", "010", "111111", "000000000000", "110101110010", "111111111111"])
def test_both_networks_from_start_to_end(hand, bits):
    on = hand(bits=bits)
    forward, network = control(on, "button", "Next"), control(on, "combobox", "Network")
    odd = bits.count("1") % 2
    for step in range(1, 6):
        on.after(forward.click, step=step)
    assert f"the number of ones is {'odd' if odd else 'even'}" in on.page.locator(".fx-sentence").inner_text()
    on.after(lambda: on.keys(network, "ArrowDown"), network="scratchpad", step=0)
    for step in range(1, len(bits) + 1):
        on.after(forward.click, step=step)
        assert on.page.locator("[data-new]").inner_text() == str(bits[:step].count("1") % 2)
        assert on.page.locator("[data-look=seen]").inner_text() == bits[step - 1]
    assert f"the number of ones is {'odd' if odd else 'even'}" in on.page.locator(".fx-sentence").inner_text()


def test_epsilon_is_told_in_words(hand):
    on = hand(bits="1" * 11 + "0", step=5)
    eps, said = control(on, "slider", "ε of layer norm"), on.page.locator(".fx-sentence")
    assert "becomes −1: the number of ones is odd" in said.inner_text()
    before = -1.0
    for place in range(1, 11):
        on.after(lambda: on.keys(eps, "ArrowRight"), eps=float(f"1e{place - 11}"))
        output = float(on.page.locator("[data-value=output]").get_attribute("data-number"))
        assert before < output < 0
        before = output
    assert "weighs against so faint a signal, and the output stops at" in said.inner_text()


@pytest.mark.parametrize("network", ["norm", "scratchpad"])
def test_the_longest_input_fits_a_phone(hand, network):
    on = hand(width=390, network=network, bits="1" * 12, step=12, eps=1e-5)
    assert on.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_the_module_for_anywidget_goes_both_ways(workshop):
    figure = explorer("parity")
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("parity"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        on.after(lambda: control(on, "button", "Next").click(), step=1)
        assert page.evaluate("model.get('state')") == on.state
        assert page.evaluate("model.saved") == 1
        figure.state = {"network": "scratchpad", "bits": "10110", "step": 4}
        on.after(lambda: page.evaluate("state => model.set('state', state)", figure.state), **figure.state)
        page.evaluate("model.set('state', { bits: '2' })")  # refused: the last good picture stays
        on.compare()
        assert on.state == figure.state
        page.evaluate("state => { stop(); model.set('state', state); }", explorer("parity").state)
        assert on.state == figure.state
