"""Networks that saw a part of the cube in a browser, made-up ones: after every move the page shows what Python says."""

from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand
from tests.generalise.test_explorer import few  # noqa: F401


def test_every_control(workshop, few):  # noqa: F811
    figure = explorer("generalise")
    with workshop(width=390) as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("generalise"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on, said = Hand(page, type(figure)), page.locator(".fx-sentence")
        assert "none of 3" in said.inner_text()
        on.after(lambda: on.keys(page.get_by_role("slider", name="Degree d"), "End"), degree=4)
        on.after(lambda: on.keys(page.get_by_role("slider", name="Function and network"), "ArrowRight"), seed=1)
        assert "did not fit its examples" in said.inner_text() and "Only the certificate" in said.inner_text()
        assert not page.get_by_text("truncated, this network").is_visible()
        on.after(lambda: page.get_by_role("combobox", name="Components w").select_option("8"), sparsity=8)
        on.after(lambda: page.get_by_role("combobox", name="Inputs shown").select_option("512 of 4096"), m=512)
        on.after(lambda: on.keys(page.get_by_role("slider", name="Function and network"), "ArrowRight"), seed=2)
        assert "2 of 3" in said.inner_text() and said.inner_text().startswith("12 bits, degree 4, 8 components")
        on.after(lambda: page.get_by_role("combobox", name="Inputs shown").select_option("2048 of 65,536"), m=2048)
        assert said.inner_text().startswith("16 bits")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
