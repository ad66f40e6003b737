"""The explorer of chapter 15 in a browser: its networks, computed in the page, say what PyTorch says."""

import pytest

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


@pytest.mark.parametrize("width", [390, 1200])
def test_every_control(workshop, width):
    figure = explorer("tokens")
    with workshop(width=width) as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("tokens"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on, said = Hand(page, type(figure)), page.locator(".fx-sentence").last
        menu, slider = page.get_by_role("combobox", name="Image"), page.get_by_role("slider", name="Noise σ")
        for name in range(10):
            if name != on.state["image"]:
                on.after(lambda name=name: menu.select_option(str(name)), image=name)
        on.after(page.get_by_role("button", name="New noise").click, seed=1)
        on.after(page.get_by_role("button", name="On all patches").click, patches="1" * 16)
        assert "Noise on 16 of 16 patches of the boot" in said.inner_text()
        on.after(lambda: slider.press("End"), sigma=4)
        on.after(lambda: slider.press("Home"), sigma=0)
        assert "no answer changes" in said.inner_text()
        on.after(page.get_by_role("button", name="On none").click, patches="0" * 16)
        places = page.get_by_role("group", name="Patches of the image").get_by_role("button")
        on.after(lambda: places.nth(5).click(), patches="0000010000000000")
        on.after(lambda: on.keys(places.nth(5), "ArrowDown", "Enter"), patches="0000010001000000")
        on.after(lambda: slider.press("PageUp"))
        page.evaluate("model.set('state', { ...model.get('state'), image: 11 })")  # refused: the last good one stays
        on.compare()
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
