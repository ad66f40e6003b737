"""The head and its lookup in a browser: every control, the edge cases, and the words around them."""

import pytest


def test_every_control(hand):
    on = hand()
    page = on.page
    size, scale, tilt = (page.get_by_role("slider", name=name) for name in ("Bits T", "Logit scale R", "Coherence"))
    target, width = (page.get_by_role("combobox", name=name) for name in ("Function", "Half-width"))
    bump = page.get_by_role("combobox", name="Bump", exact=True)
    on.after(lambda: on.keys(target, "ArrowDown"), target="conjunction")
    on.after(lambda: on.keys(target, "End"), target="majority")
    on.after(lambda: on.drag(scale, 0.0), scale=0)
    on.after(lambda: on.keys(scale, "ArrowRight"), scale=0.05)
    on.after(lambda: on.drag(tilt, 1.0), delta=0.2)
    on.after(lambda: on.keys(bump, "End"), bump="printed")
    on.after(lambda: on.keys(width, "End"), share=8)
    bits = page.get_by_role("group", name="The input b").get_by_role("button")
    on.after(lambda: bits.nth(0).click(), bits="111010010110")
    on.after(lambda: on.keys(bits.nth(0), "ArrowRight", "Space"), bits="101010010110")
    logits = page.get_by_role("group", name="Logits").get_by_role("button")
    on.after(lambda: logits.nth(11).click(), chosen=[2, 5, 7, 12])
    on.after(lambda: logits.nth(4).click(), chosen=[2, 7, 12])
    on.after(lambda: page.get_by_role("button", name="Worst input").click())
    on.after(lambda: on.keys(size, "Home"), bits=on.state["bits"][:4], chosen=[2])


def test_the_worst_input_has_the_worst_error(hand):
    for state in (
        {"scale": 3.0},
        {"scale": 8.0, "delta": 0.2, "chosen": [1, 4, 6, 12]},
        {"scale": 0.0, "bits": "0000", "chosen": [4]},
    ):
        on = hand(**state)
        on.after(lambda on=on: on.page.get_by_role("button", name="Worst input").click())
        shown = on.kind.displayed(on.state)
        assert abs(shown["signal"] - shown["mean"]) == pytest.approx(shown["worst"])
        assert "further than allowed" in on.page.locator(".fx-sentence").text_content()


def test_there_is_always_a_chosen_bit_and_never_six(hand):
    on = hand(chosen=[3])
    logits = on.page.get_by_role("group", name="Logits").get_by_role("button")
    for full, at in (([3], 2), ([1, 2, 3, 4, 5], 7)):
        if on.state["chosen"] != full:
            for k in (0, 1, 3, 4):
                logits.nth(k).click()
        logits.nth(at).click()
        assert on.state["chosen"] == full
        assert on.page.locator(".fx-error").text_content() == "Between one and 5 bits can be chosen."
        on.compare()
