"""The explorer of chapter 16 in a browser: every control at both ends, each compared with the library."""

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


def test_every_control(workshop):
    figure = explorer("kernels")
    with workshop(width=390) as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("kernels"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))

        def choose(value):
            return lambda: page.get_by_role("combobox", name="Kernel").select_option(value)

        def move(name, key):
            return lambda: on.keys(page.get_by_role("slider", name=name, exact=True), key)

        for kernel in ("ntk", "attention", "ck"):
            on.after(choose(kernel), kernel=kernel)
            on.after(move("Bits n", "Home"), n=2)
            on.after(move("Layers of ReLUs", "Home"), depth=0)
            on.after(move("Layers of ReLUs", "End"), depth=6)
            on.after(move("Bits n", "End"), n=12)
        on.after(move("Time t = 10ᵏ, k =", "End"), time=5)
        on.after(move("Time t = 10ᵏ, k =", "Home"), time=-1)
        on.after(choose("own"), kernel="own")
        assert "Out of order" in page.locator(".fx-sentence").inner_text()
        for name, key in (("Coefficient of c", "a1"), ("Coefficient of c²", "a2"), ("Coefficient of c³", "a3")):
            on.after(move(name, "End"), **{key: 1})
            on.after(move(name, "Home"), **{key: -1})
        on.after(move("Time t = 10ᵏ, k =", "End"), time=5)
        assert page.locator("[data-value='left:1']").inner_text() == "over 10²¹"  # a bound, not the number itself
        on.after(move("Time t = 10ᵏ, k =", "Home"), time=-1)
        on.after(move("Coefficient of c⁴", "End"), a4=1)
        on.after(choose("pairs"), kernel="pairs")
        assert "mixes different sets" in page.locator(".fx-sentence").inner_text()
        on.after(choose("softmax"), kernel="softmax")
        page.evaluate("model.set('state', { kernel: 'none' })")  # refused: the last good picture stays
        on.compare()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
