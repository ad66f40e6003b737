"""The shaken network in a browser: σ is dragged on the curve, and the page shows what the library computes."""

from flatcube.classroom.explorers import explorer
from tests.browser.hand import Hand


def test_sigma_is_dragged_on_the_curve(workshop):
    figure = explorer("pacbayes.shaken")
    with workshop(figure, width=390) as visit:
        on = Hand(visit.page, type(figure))
        box = on.root.locator("svg[role=img]").first.bounding_box()
        mouse = visit.page.mouse

        def drag():
            mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60)
            mouse.down()
            mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 60, steps=4)
            mouse.up()

        on.after(drag, sigma=14)
        assert on.root.locator(".fx-cloud circle[data-look=out]").count() == int(
            on.root.locator("[data-value=outside]").inner_text()
        )
        on.after(lambda: on.keys(visit.page.get_by_role("combobox", name="Inequality"), "End"), inequality="kl")
        assert "not below" in on.root.locator(".fx-sentence").inner_text()
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
