"""The PAC-Bayes calculator in a browser: after every move the page shows what the library computes."""

from flatcube.classroom.explorers import explorer
from tests.browser.hand import Hand


def control(on, role, name):
    return on.page.get_by_role(role, name=name)


def test_every_control(workshop):
    figure = explorer("pacbayes")
    with workshop(figure, from_file=True) as visit:
        on = Hand(visit.page, type(figure))
        on.after(lambda: on.keys(control(on, "slider", "Bits T"), "ArrowLeft"), T=23, w=11)
        on.after(lambda: on.keys(control(on, "slider", "Degree d"), "ArrowRight"), d=3, w=7)
        on.after(lambda: on.keys(control(on, "slider", "Components w"), "Home"), w=1)
        on.after(lambda: on.keys(control(on, "slider", "Degree d"), "End"), d=8)
        on.after(lambda: on.keys(control(on, "slider", "Components w"), "ArrowRight", "ArrowRight"), w=3, d=7)
        on.after(lambda: on.keys(control(on, "slider", "Examples m"), "ArrowRight"), m=6.5)
        on.after(lambda: on.keys(control(on, "slider", "σ, in tenths"), "ArrowLeft"), sigma=-1)
        on.after(lambda: on.keys(control(on, "combobox", "Noise"), "End"), kind="grouped")
        on.after(lambda: on.keys(control(on, "combobox", "Constant C"), "End"), C=2)
        on.after(lambda: on.keys(control(on, "combobox", "δ"), "Home"), delta=0.1)


def test_the_verdict_is_in_words_and_a_phone_is_wide_enough(workshop):
    figure = explorer("pacbayes", m=4)
    with workshop(figure, width=390) as visit:
        on = Hand(visit.page, type(figure))
        assert "promises no less." in on.page.locator(".fx-sentence").inner_text()
        on.after(lambda: on.keys(control(on, "slider", "Examples m"), "End"), m=14)
        assert "promises less." in on.page.locator(".fx-sentence").inner_text()
        assert on.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
