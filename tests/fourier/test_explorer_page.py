"""The spectrum in a browser: after every real drag, key and click the page shows what the library computes."""

import pytest

from flatcube import cube, fourier
from flatcube.classroom.explorers import explorer


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control(hand, from_file):
    on = hand(from_file=from_file)
    page = on.page
    function, size = page.get_by_role("combobox", name="Function"), page.get_by_role("slider", name="Variables n")
    formula = page.get_by_role("textbox", name="Formula")
    on.after(lambda: on.keys(size, "ArrowRight"), n=4)
    on.after(lambda: on.drag(size, 1.0), n=8)
    on.after(lambda: on.keys(size, "Home"), n=3, formula="x1 & (x2 ^ x3)")  # no fewer than the formula needs
    formula.click()
    page.keyboard.press("Control+a")
    on.after(lambda: page.keyboard.type("maj(x1, x2, x3) ^ ~x4 | x5 & 1", delay=2), n=5, source="formula")
    table = page.get_by_role("group", name="The table of f").get_by_role("button")
    on.after(lambda: table.nth(3).click(), source="table", formula="")
    on.after(lambda: on.keys(table.nth(0), "ArrowDown", "ArrowRight", "Space"), source="table")
    spectrum = page.get_by_role("group", name="The spectrum of f").get_by_role("button")
    on.after(lambda: spectrum.nth(4).click(), subset=[4])
    on.after(lambda: on.keys(spectrum.nth(4), "ArrowRight", "Enter"), subset=[5])
    on.after(lambda: on.keys(spectrum.nth(5), "Enter"), subset=None)
    on.after(lambda: on.keys(size, "ArrowLeft"), n=4, source="table")
    on.after(lambda: on.keys(function, "Home"), source="named", name="parity")


@pytest.mark.parametrize("n", range(1, 9))
def test_all_named_functions(hand, n):
    on = hand(n=n, name="parity", source="named")
    function = on.page.get_by_role("combobox", name="Function")
    for name in ("majority", "first", "mean", "conjunction", "disjunction", "threshold"):
        on.after(lambda: on.keys(function, "ArrowDown"), name=name, n=n)
    needed = on.page.get_by_role("slider", name="Ones needed, k")
    on.after(lambda: on.keys(needed, "End"), parameter=n + 1)
    on.after(lambda: on.drag(needed, 0.0), parameter=0)
    on.after(lambda: on.keys(function, "ArrowDown"), name="address", n=3 if n < 5 else 6)
    on.after(lambda: on.keys(function, "ArrowDown"), name="tribes", parameter=2 if n > 4 else 1)
    tribe = on.page.get_by_role("combobox", name="Size of a tribe")
    on.after(lambda: on.keys(tribe, "End"), parameter=3 if n < 5 else 6)
    on.after(lambda: on.keys(function, "ArrowDown"), name="random", parameter=0)
    on.after(lambda: on.drag(on.page.get_by_role("slider", name="Seed"), 0.63), name="random")


def test_address_and_tribes_follow_the_number_of_variables(hand):
    on = hand(n=3, name="address", source="named")
    size = on.page.get_by_role("slider", name="Variables n")
    on.after(lambda: on.keys(size, "ArrowRight"), n=6)
    on.after(lambda: on.keys(size, "ArrowLeft"), n=3)
    on = hand(n=6, name="tribes", parameter=3, source="named")
    on.after(lambda: on.keys(on.page.get_by_role("slider", name="Variables n"), "ArrowRight"), n=7, parameter=1)


def test_flipping_a_real_table_keeps_its_numbers(hand):
    on = hand(n=3, name="mean", source="named")
    entries = on.page.get_by_role("group", name="The table of f").get_by_role("button")
    on.after(lambda: entries.nth(0).click(), table=[-1, *cube.mean(3).tolist()[1:]])


def test_one_term_that_is_left_out_is_one_term(hand):
    table = fourier.inverse([1 + k / 1024 if k < 13 else 0 for k in range(16)])
    on = hand(n=4, source="table", table=table.tolist())
    assert on.page.locator("[data-value=polynomial]").text_content().endswith("(1 further term)")


def test_a_formula_with_a_mistake_leaves_the_last_good_picture(hand):
    on = hand()
    before, field = on.state, on.page.get_by_role("textbox", name="Formula")
    for text in ("x1 & (x2", "x1 && x2", "y", "x0", "x1 & x9"):
        field.fill(text)
        if text == "x1 & x9":
            expected = "formula: uses x9; there are at most 8 variables here"
        else:
            with pytest.raises(ValueError) as refused:
                cube.formula(text, 8)
            expected = str(refused.value)
        assert on.page.locator(".fx-error").text_content() == expected
        assert field.get_attribute("aria-invalid") == "true"
        assert on.state == before
        on.compare()
    on.after(lambda: field.fill("x1 ^ x2"), formula="x1 ^ x2")
    assert field.get_attribute("aria-invalid") is None
    assert on.page.locator(".fx-error").text_content() == ""


def test_a_formula_of_absurd_length_is_refused_in_one_sentence(hand):
    on = hand(width=390)
    before, field = on.state, on.page.get_by_role("textbox", name="Formula")
    for text in ("x1 & " * 6400 + "x2", "x1" + " " * 100_000 + "x2", "(" * 32_000, "x" + "9" * 32_000):
        field.fill(text)
        with pytest.raises(ValueError) as refused:
            explorer("fourier", formula=text)
        assert on.page.locator(".fx-error").text_content() == str(refused.value)
        assert str(refused.value) == f"formula: expected at most 4000 characters, got {len(text)}"
        assert on.state == before
    longest = "~" * 3998 + "x2"
    on.after(lambda: field.fill(longest), formula=longest)
    field.fill("a" * 4000)
    assert on.page.locator(".fx-error").text_content().endswith("found " + "a" * 20)
    assert on.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
