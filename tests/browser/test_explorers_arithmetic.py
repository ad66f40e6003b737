"""Explorers in a browser: after every real drag, key and click the page shows what the library computes.

The pages here are bare: the loader, one explorer, the style sheet. What the page shows is read from `data-value` and
`data-number`, what it should show from the explorer's Python half, for the state the page says it is in.
"""

import contextlib
import itertools
import math
import re

import numpy as np
import pytest

from flatcube import cube, fourier
from flatcube.classroom import explorers
from flatcube.classroom.explorers import bundle, explorer
from tests.browser.hand import IMPORT, MODEL, Hand


@pytest.fixture
def hand(workshop):
    """`hand(name, **state)`: that explorer on a page, with the hand on it."""
    with contextlib.ExitStack() as stack:

        def laid(name, /, from_file=False, width=1200, **state):
            figure = explorer(name)
            figure.state = state
            visit = stack.enter_context(workshop(figure, from_file=from_file, width=width))
            return Hand(visit.page, type(figure))

        yield laid


# ------------------------------------------------------------------------------------------------ the cube explorer


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control_of_the_cube(hand, from_file):
    on = hand("cube", from_file=from_file)
    page = on.page
    function, size = page.get_by_role("combobox", name="Function"), page.get_by_role("slider", name="Dimensions")
    on.after(lambda: on.keys(function, "ArrowDown"), name="parity")
    on.after(lambda: on.keys(function, "ArrowDown", "ArrowDown", "ArrowDown"), name="disjunction")
    on.after(lambda: on.keys(size, "ArrowRight"), n=4)
    on.after(lambda: on.drag(size, 1.0), n=5)
    on.after(lambda: on.drag(size, 0.34), n=3)
    variables = page.get_by_role("group", name="Variables in the subset S").get_by_role("button")
    on.after(lambda: variables.nth(2).click(), subset=[1, 3])
    on.after(lambda: on.keys(variables.nth(0), "Space"), subset=[3])
    corners = page.get_by_role("group", name="The corners of the cube").get_by_role("button")
    on.after(lambda: corners.nth(6).click(), name="custom", table="+-----+-")
    on.after(lambda: on.keys(corners.nth(0), "2", "Enter"), table="+-+---+-")
    on.after(lambda: on.keys(corners.nth(0), "ArrowRight", "End", "Space"), table="+-+---++")
    correlations = page.get_by_role("group", name="Correlation with each parity").get_by_role("button")
    on.after(lambda: correlations.nth(7).click(), subset=[1, 2, 3])
    on.after(lambda: on.keys(correlations.nth(0), "Space"), subset=[])
    on.after(lambda: on.keys(size, "ArrowRight"), n=4, table="+-+---++" * 2)
    on.after(lambda: on.keys(size, "Home"), n=2, table="+-+-")


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_functions_and_subsets_on_the_cube(hand, n):
    on = hand("cube", n=n, subset=[])
    for name in ("parity", "first", "conjunction", "disjunction"):
        on.after(lambda: on.keys(on.page.get_by_role("combobox", name="Function"), "ArrowDown"), name=name)
    bars = on.page.get_by_role("group", name="Correlation with each parity").get_by_role("button")
    for at in range(1, 2**n, 3):
        on.after(lambda at=at: bars.nth(at).press("Enter"))


# ------------------------------------------------------------------------------------------------ the Fourier explorer


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control_of_the_fourier_explorer(hand, from_file):
    on = hand("fourier", from_file=from_file)
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
    on = hand("fourier", n=n, name="parity", source="named")
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
    on = hand("fourier", n=3, name="address", source="named")
    size = on.page.get_by_role("slider", name="Variables n")
    on.after(lambda: on.keys(size, "ArrowRight"), n=6)
    on.after(lambda: on.keys(size, "ArrowLeft"), n=3)
    on = hand("fourier", n=6, name="tribes", parameter=3, source="named")
    on.after(lambda: on.keys(on.page.get_by_role("slider", name="Variables n"), "ArrowRight"), n=7, parameter=1)


def test_flipping_a_real_table_keeps_its_numbers(hand):
    on = hand("fourier", n=3, name="mean", source="named")
    entries = on.page.get_by_role("group", name="The table of f").get_by_role("button")
    on.after(lambda: entries.nth(0).click(), table=[-1, *cube.mean(3).tolist()[1:]])


def test_one_term_that_is_left_out_is_one_term(hand):
    table = fourier.inverse([1 + k / 1024 if k < 13 else 0 for k in range(16)])
    on = hand("fourier", n=4, source="table", table=table.tolist())
    assert on.page.locator("[data-value=polynomial]").text_content().endswith("(1 smaller term)")


def test_a_formula_with_a_mistake_leaves_the_last_good_picture(hand):
    on = hand("fourier")
    before, field = on.state, on.page.get_by_role("textbox", name="Formula")
    for text in ("x1 & (x2", "x1 && x2", "y", "x0", "x1 & x9"):
        field.fill(text)
        with pytest.raises(ValueError) as refused:
            cube.formula(text, 8)
        assert on.page.locator(".fx-error").text_content() == str(refused.value)
        assert field.get_attribute("aria-invalid") == "true"
        assert on.state == before
        on.compare()
    on.after(lambda: field.fill("x1 ^ x2"), formula="x1 ^ x2")
    assert field.get_attribute("aria-invalid") is None
    assert on.page.locator(".fx-error").text_content() == ""


@pytest.mark.parametrize("name", explorers.names())
@pytest.mark.parametrize("width", [390, 1200])
def test_no_explorer_is_wider_than_the_screen(workshop, name, width):
    with workshop(explorer(name), width=width) as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.mark.parametrize("name", explorers.names())
def test_every_control_has_a_name_and_one_way_in(workshop, name):
    with workshop(explorer(name)) as visit:
        root = visit.page.locator(".fc-explorer")
        nameless = root.evaluate(
            """root => [...root.querySelectorAll("button, [role=button], input, select, [role=group]")].filter(e =>
            !e.getAttribute("aria-label") && !e.textContent.trim() && !e.labels?.length).length"""
        )
        assert nameless == 0
        stops = root.evaluate(
            "root => [...root.querySelectorAll('*')].filter(e => e.tabIndex === 0 && !e.closest('[hidden]')).length"
        )
        assert stops < 15  # a grid or chart of many parts is one stop, moved with the arrow keys


def test_motion_only_for_those_who_like_it(browser, workshop):
    with workshop(explorer("cube")) as visit:
        still = visit.page.locator(".fx-corner").first.get_attribute("transform")
        visit.page.wait_for_timeout(300)
        assert visit.page.locator(".fx-corner").first.get_attribute("transform") == still


# ------------------------------------------------------------------------------------------------ the kit


@pytest.fixture(scope="module")
def kit(workshop):
    """A page where the kit stands as `window.kit`."""
    with workshop() as visit:
        visit.page.evaluate(IMPORT, [(explorers._HERE / "kit.js").read_text(encoding="utf-8"), "kit"])
        yield visit.page


@pytest.mark.parametrize("n", range(11))
def test_the_transform_is_the_library_s(kit, n):
    for seed in range(3):
        table = np.random.default_rng(seed).normal(size=2**n)
        got = kit.evaluate("table => [...kit.transform(Float64Array.from(table))]", table.tolist())
        assert np.abs(np.array(got) - fourier.transform(table)).max() < 1e-12


WELL_FORMED = """x1;~x1;x1 & x2;x1 ^ x2 & x3;x1 | x2 ^ x3 & ~x4;(x1 | x2) & x3;not x1 and x2 xor x3 or x4;NOT x1 OR X2
0;1;~~x1;~~~x1 ^ 1;maj(x1, x2, x3);maj(x1);MAJ(x1, x2);maj(x1 & x2, x3 | x4, ~x5, 1);x1^x2^x3^x4^x5^x6^x7^x8;((((x1))))
   x1   &   x2   ;x8;~(x1 & x2) ^ (x3 | x4);not not x2;not(x1)or(x2);x1 | x2 & x3 ^ x4;x1 or x2 | x3;x1\t&\u00a0x2"""
MALFORMED = """;x1 &;& x1;x1 x2;x1 & & x2;(x1;x1);();x;x0;x01;x1x2;x1_;y1;x-1;2;10;00;x1 + x2;x1 && x2;x1 || x2;!x1
x1 = x2;maj;maj x1;maj();maj(x1,);maj(x1 x2);maj(,x1);~;not;and;x1 and;x1 not x2;x1 (x2);1x;π;x1 & π;x₁;🙂 x1;x1 🙂
x1 & 🙂 & x2;é;X;   ;  x1 &  ;x1,x2;x9;x1 & x12;x99999999999999999999999;x1 ^ x１;XOR;x1 xor xor x2;x1 &\u00a0
x1é;x²;\ufeffx1;a²b;x1\u2003x2;x1 & x2\u2028;x1\x1c;\ufeff"""
TRY = "text => { try { return [...kit.formula(text, 8)]; } catch (error) { return error.message; } }"


def separate(lines: str) -> list[str]:
    return lines.replace("\n", ";").split(";")


@pytest.mark.parametrize("text", [*separate(WELL_FORMED), "(" * 100 + "x1" + ")" * 100])
def test_formulas_mean_the_same(kit, text):
    assert kit.evaluate(TRY, text) == cube.formula(text, 8).tolist()


@pytest.mark.parametrize("text", [*separate(MALFORMED), "(" * 101 + "x1" + ")" * 101])
def test_mistakes_are_named_the_same(kit, text):
    with pytest.raises(ValueError) as refused:
        cube.formula(text, 8)
    assert kit.evaluate(TRY, text) == str(refused.value)


def test_random_formulas_mean_the_same(kit):
    rng = np.random.default_rng(5)
    pieces = [*"~&^|()01", "x1", "x2", "x3", " ", "maj", ",", "and", "x"]
    texts = ["".join(rng.choice(pieces, size=rng.integers(1, 12))) for _ in range(600)]
    got = kit.evaluate(f"texts => texts.map({TRY})", texts)
    for text, said in zip(texts, got, strict=True):
        try:
            expected = cube.formula(text, 8).tolist()
        except ValueError as refused:
            expected = str(refused)
        assert said == expected, text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (-0.125, "−0.125"), (1, "1"), (-1e-9, "0"), (2 / 3, "0.667"), (100, "100"), (-20, "−20"), (0, "0")],
)
def test_numbers_for_the_eye(kit, value, text):
    assert kit.evaluate("value => kit.format(value)", value) == text


def test_corners_keep_apart(kit):
    for n in (2, 3, 4, 5):
        points = kit.evaluate("n => kit.project(n).map(({ x, y }) => [x, y])", n)
        nearest = min(math.dist(a, b) for a, b in itertools.combinations(points, 2))
        assert nearest > 48  # drawn 520 wide: at least 32 pixels on a phone
        assert all(20 < x < 500 and 20 < y < 430 for x, y in points)


# ------------------------------------------------------------------------------------------------ in JupyterLab


@pytest.mark.parametrize("name", [name for name in explorers.names() if hasattr(type(explorer(name)), "table")])
def test_the_module_for_anywidget_goes_both_ways(workshop, name):
    figure = explorer(name)
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle(name), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        assert page.evaluate("model.saved") == 0
        size = page.get_by_role("slider", name=re.compile("Dimensions|Variables"))
        on.after(lambda: on.keys(size, "ArrowRight"), n=4)
        assert page.evaluate("model.get('state')") == on.state
        assert page.evaluate("model.saved") == 1
        figure.table = cube.random_boolean(3, rng=2)
        on.after(lambda: page.evaluate("state => model.set('state', state)", figure.state), **figure.state)
        page.evaluate("model.set('state', { n: 99 })")  # refused: the last good picture stays
        on.compare()
        assert on.state == figure.state
        page.evaluate("state => { stop(); model.set('state', state); }", explorer(name).state)
        assert on.state == figure.state
