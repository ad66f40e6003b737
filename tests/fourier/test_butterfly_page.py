"""The butterfly in a browser: after every click and key the page shows what the library computes."""

import pytest

from flatcube.classroom.explorers import explorer
from tests.browser.hand import Hand

FED = """root => [...root.querySelectorAll("[data-fed]")].map(e => e.dataset.value)"""
WIRES = """root => [...root.querySelectorAll(".fx-wires")].map(wires =>
  ["plus", "minus"].map(sign => wires.querySelectorAll(`[data-sign=${sign}]`).length))"""


@pytest.fixture
def butterfly(workshop):
    figure = explorer("fourier.butterfly")
    with workshop(figure, width=390) as visit:
        yield Hand(visit.page, type(figure))


def test_pass_by_pass(butterfly):
    on, page = butterfly, butterfly.page
    back, status = page.get_by_role("button", name="Back"), on.root.locator("p[role=status]")
    assert back.is_disabled()
    for done, name in enumerate(("Make pass 1", "Make pass 2", "Make pass 3", "Divide by 8"), start=1):
        assert status.text_content()
        on.after(lambda name=name: page.get_by_role("button", name=name, exact=True).press("Enter"), done=done)
        assert on.root.evaluate(WIRES) == [[12, 4]] * min(done, 3) + [[0, 0]] * (3 - min(done, 3))
    assert page.get_by_role("button", name="Divide by 8").is_disabled()
    on.after(lambda: back.click(), done=3)
    on.after(lambda: page.get_by_role("button", name="Start again").click(), done=0)


def test_a_number_is_traced_to_the_values_that_it_holds(butterfly):
    on, page = butterfly, butterfly.page
    for name in ("Make pass 1", "Make pass 2", "Make pass 3", "Divide by 8"):
        on.after(lambda name=name: page.get_by_role("button", name=name, exact=True).click())
    column = page.get_by_role("group", name="Numbers after pass 2").get_by_role("button")
    on.after(lambda: column.nth(3).click(), column=2, entry=3)
    assert on.root.evaluate(FED) == ["v:0:0", "v:0:1", "v:0:2", "v:0:3", "v:1:1", "v:1:3", "v:2:3"]
    words = "Pass 2, entry 3: 0 − 2 = −2, entry 1 minus entry 3 of the column before. It holds 4 of the 8 values."
    assert on.root.locator("p[role=status]").text_content() == words
    on.after(lambda: on.keys(column.nth(3), "ArrowDown", "Enter"), column=2, entry=4)
    assert on.root.evaluate(FED)[:4] == ["v:0:4", "v:0:5", "v:0:6", "v:0:7"]
    last = page.get_by_role("group", name="Numbers after the division").get_by_role("button")
    on.after(lambda: last.nth(7).click(), column=4, entry=7)
    assert len([key for key in on.root.evaluate(FED) if key.startswith("v:0:")]) == 8
    assert on.root.locator("p[role=status]").text_content() == "f̂({1, 2, 3}) = −4 / 8 = −0.5."
    on.after(lambda: last.nth(7).click(), column=0, entry=0)
    assert on.root.evaluate(FED) == []


def test_the_reader_s_own_table(butterfly):
    on, page = butterfly, butterfly.page
    function = page.get_by_role("combobox", name="Function")
    on.after(lambda: on.keys(function, "ArrowDown"), choice="parity")
    on.after(lambda: page.get_by_role("button", name="Make pass 1").click(), done=1)
    table = page.get_by_role("group", name="The table of f").get_by_role("button")
    on.after(lambda: table.nth(0).click(), choice="custom", table="---+-++-")
    on.after(lambda: on.keys(table.nth(0), "End", "Space"), table="---+-+++")
    on.after(lambda: on.keys(function, "Home"), choice="majority", table="", done=1)
