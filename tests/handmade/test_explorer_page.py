"""The transformer built by hand in a browser: after every move the page shows what the library computes."""

import numpy as np
import pytest

from flatcube import handmade
from flatcube.classroom.explorers import bundle, explorer
from flatcube.handmade import explorer as shown
from tests.browser.hand import IMPORT, MODEL, Hand

SCHEMA = shown.HandmadeExplorer.schema

NUMBERS = "[...document.querySelectorAll('[data-number]')].map(e => e.dataset.number)"


def control(on, kind, name):
    return on.page.get_by_role(kind, name=name)


def number(on, key):
    return float(on.page.locator(f"[data-value='{key}']").get_attribute("data-number"))


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control(hand, from_file):
    on = hand(from_file=from_file)
    page = on.page
    bits = control(on, "group", "The input x").get_by_role("button")
    logits = control(on, "group", "Logits of the first attention").get_by_role("button")
    on.after(lambda: bits.nth(1).click(), bits="11110100")
    on.after(lambda: on.keys(bits.nth(1), "ArrowRight", "ArrowRight", "Space"), bits="11100100")
    on.after(lambda: logits.nth(2).click(), subsets=[[1, 2, 3], [2, 4, 5], [7]])
    on.after(lambda: on.keys(logits.nth(2), "ArrowDown", "ArrowDown", "Enter"), subsets=[[1, 2, 3], [2, 4, 5], [3, 7]])
    on.after(lambda: logits.nth(0).click(), subsets=[[2, 3], [2, 4, 5], [3, 7]])
    on.after(lambda: on.keys(control(on, "combobox", "Second attention"), "ArrowDown"), mode="soft")
    weights = control(on, "textbox", "Weights")
    on.after(lambda: weights.fill("2, −0.25 -1; 4"), weights=[2, -0.25, -1, 4])
    assert on.state["subsets"] == [[2, 3], [2, 4, 5], [3, 7], [1]]
    on.after(lambda: weights.fill("-3"), weights=[-3], subsets=[[2, 3]])
    on.after(lambda: weights.fill("1,1,1"), weights=[1, 1, 1])
    scale, noise = control(on, "slider", "Logit scale"), control(on, "slider", "Standard deviation of the noise")
    on.after(lambda: on.drag(scale, 0.0), beta=0)
    on.after(lambda: on.keys(scale, "ArrowRight", "ArrowRight"), beta=0.02)
    on.after(lambda: on.drag(noise, 1.0), noise=0.5)
    matrix = control(on, "combobox", "Disturb the matrix")
    for name in SCHEMA["matrix"].values[1:]:
        on.after(lambda: on.keys(matrix, "ArrowDown"), matrix=name)
    on.after(lambda: on.keys(control(on, "button", "Draw again"), "Enter"), seed=1)
    on.after(lambda: on.drag(control(on, "slider", "Bits T"), 1.0), bits="111001000000")
    on.after(lambda: on.keys(control(on, "slider", "Bits T"), "Home"), bits="1110")
    assert page.locator(".fx-error").all_inner_texts() == ["", ""]


@pytest.mark.parametrize("mode", SCHEMA["mode"].values)
@pytest.mark.parametrize("matrix", SCHEMA["matrix"].values)
def test_every_matrix_takes_the_same_noise(hand, matrix, mode):
    given = {"subsets": [[1, 2], [], [3, 4, 5, 6, 7], [12]], "weights": [1.5, -0.5, -2.0, 0.25]}
    if mode == "sink":
        given = {"subsets": [[1, 2], [3, 4], [2, 12]], "weights": [1.5, 0.5, 2.0]}
    on = hand(bits="110100111010", matrix=matrix, mode=mode, **given)
    noise, again = control(on, "slider", "Standard deviation of the noise"), control(on, "button", "Draw again")
    on.after(lambda: on.keys(noise, "ArrowRight", "ArrowRight", "ArrowRight"), noise=0.03)
    for _ in range(2):
        before = on.page.evaluate(NUMBERS)
        on.after(again.click)
        assert on.page.evaluate(NUMBERS) != before
    on.after(lambda: on.drag(noise, 0.8), noise=0.4)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"bits": "0000", "subsets": [[1, 2, 3], [2]], "weights": [1, -2]},
        {"bits": "1010", "subsets": [[1, 2, 3]], "weights": [1]},
        {"bits": "101010101010", "subsets": [[1, 2, 3, 4]], "weights": [1]},
        {"bits": "110100", "subsets": [[1, 2, 3, 4, 5, 6], []], "weights": [-1, 3]},
        {"bits": "110100", "subsets": [[1, 2, 3], [2, 4, 5]], "weights": [1, 3], "mode": "sink"},
    ],
)
def test_the_leak_leaves_the_plateau_at_the_threshold(hand, given):
    """At β* the worst input is read without error; one notch below it is not, and the page says so."""
    on = hand(beta=6, **given)
    said = on.page.get_by_text("The threshold β* is")
    scale = control(on, "slider", "Logit scale")
    control(on, "button", "To the threshold").click()
    least = handmade.least_scale(shown._design(on.state))
    assert on.state["beta"] == pytest.approx(least, abs=1e-12)
    control(on, "button", "Worst input").click()
    on.compare()
    assert abs(number(on, "error")) < 1e-12
    assert "β is not below it: every prefix sum stays on its plateau" in said.inner_text()
    assert on.page.get_by_text("The network computes f(x) exactly.").is_visible()
    below = on.state["beta"]
    while on.state["beta"] > least - 0.005:
        on.after(lambda: on.keys(scale, "ArrowLeft"))
    assert below - 0.02 < on.state["beta"] < least
    assert abs(number(on, "error")) > 1e-4
    assert "β is below it" in said.inner_text() and "instead of" in said.inner_text()
    on.after(lambda: on.keys(scale, "ArrowRight", "ArrowRight"))
    assert abs(number(on, "error")) < 1e-12


def test_the_mark_stands_under_the_threshold(hand):
    on = hand(beta=3.25)
    share = float(on.page.locator(".fx-control[style]").evaluate("e => e.style.getPropertyValue('--mark')"))
    assert share == pytest.approx(number(on, "threshold") / SCHEMA["beta"].max)


def test_the_points_stand_on_the_wave(hand):
    on = hand(beta=2)
    heights = ".fx-wave", "e => e.getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number))"
    line = np.array(on.page.locator(heights[0]).evaluate(heights[1]))
    degree = max(map(len, on.state["subsets"]))
    assert (150 - line[:, 1]) / 100 == pytest.approx(handmade.wave(line[:, 0], degree), abs=2e-3)
    for i, point in enumerate(on.page.locator(".fx-point").all(), 1):
        a = (float(point.get_attribute("x").rstrip("%")) / 100) * 1.18 - 0.09
        assert a == pytest.approx(number(on, f"a:{i}"), abs=1e-6)
        assert point.text_content() == str(i)
    on = hand(mode="soft")
    assert on.page.locator(".fx-point").last.text_content() == "o"


def test_a_sink_takes_components_that_it_can_serve_and_leaves_with_them(hand):
    on = hand(bits="10110100")
    mode, note = control(on, "combobox", "Second attention"), on.page.locator(".fx-step .fx-error")
    on.after(lambda: mode.select_option("sink"), mode="sink", weights=[1.5, 1, 0.5])
    assert on.state["subsets"] == [[1, 2, 3], [2, 4, 5], [1, 2, 7]]
    assert "the components were changed" in note.inner_text()
    assert abs(number(on, "error")) < 1e-12
    assert number(on, "p:+:rest") > 0.1
    assert on.page.locator(".fx-point").last.text_content() == "o"
    logits = control(on, "group", "Logits of the first attention").get_by_role("button")
    on.after(lambda: logits.nth(0).click(), mode="hard", subsets=[[2, 3], [2, 4, 5], [1, 2, 7]])
    assert "so the mask is back" in note.inner_text()
    on.after(lambda: logits.nth(0).click(), subsets=[[1, 2, 3], [2, 4, 5], [1, 2, 7]])
    on.after(lambda: mode.select_option("sink"), mode="sink")
    assert note.inner_text() == ""
    on.after(lambda: control(on, "textbox", "Weights").fill("1, -1"), mode="hard", weights=[1, -1])
    full = hand(bits="1111", subsets=[[1, 2, 3, 4], [1, 2, 3], [4], []], weights=[1, 2, -3, 4])
    select = control(full, "combobox", "Second attention")
    full.after(lambda: select.select_option("sink"), mode="sink")
    assert {len(S) for S in full.state["subsets"]} == {3} and len({str(S) for S in full.state["subsets"]}) == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1, two, 3", "“two” is not a number."),
        ("1, 0, 3", "A weight of 0 would be no component: leave it out."),
        ("", "Type one to 4 weights, with commas between them."),
        ("1 2 3 4 5", "Type one to 4 weights, with commas between them."),
        ("1, 1e999", "“1e999” is not a number."),
    ],
)
def test_wrong_weights_get_a_sentence(hand, text, sentence):
    on = hand()
    before, weights = on.state, control(on, "textbox", "Weights")
    weights.fill(text)
    assert on.page.locator(".fx-control .fx-error").inner_text() == sentence
    assert weights.get_attribute("aria-invalid") == "true"
    assert on.state == before
    on.compare()
    on.after(lambda: weights.fill("1, 2"), weights=[1, 2])
    assert weights.get_attribute("aria-invalid") is None


def test_equal_components_and_the_output_are_refused_in_words(hand):
    on = hand(subsets=[[1, 2], [1, 2, 3]], weights=[1, 2])
    before, logits = on.state, control(on, "group", "Logits of the first attention").get_by_role("button")
    logits.nth(2).click()
    assert "Two components cannot look at the same bits" in on.page.locator(".fx-step .fx-error").inner_text()
    logits.nth(8).click()
    assert "Position o is the output" in on.page.locator(".fx-step .fx-error").inner_text()
    assert on.state == before
    on.compare()
    on.after(lambda: logits.nth(3).click(), subsets=[[1, 2, 4], [1, 2, 3]])
    assert on.page.locator(".fx-step .fx-error").inner_text() == ""


def test_fewer_bits_never_make_two_components_equal(hand):
    on = hand(bits="1" * 12, subsets=[[1], [1, 12], [1, 11], [1, 11, 12]], weights=[1, 2, 3, 4])
    on.after(lambda: on.keys(control(on, "slider", "Bits T"), "Home"), subsets=[[1], [2], [3], [4]])


@pytest.mark.parametrize("width", [390, 1200])
def test_the_largest_network_fits_the_screen(hand, width):
    on = hand(
        width=width, bits="1" * 12, subsets=[[1], list(range(1, 13)), [], [3, 4]], weights=[-1.25, 2.125, -3, 4],
        mode="soft", noise=0.5, matrix="W1",
    )  # fmt: skip
    assert on.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    spilled = on.page.evaluate(
        "[...document.querySelectorAll('.fx-named .fx-cell')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert spilled == 0


def test_the_module_for_anywidget_goes_both_ways(workshop):
    figure = explorer("handmade")
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("handmade"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        on.after(lambda: control(on, "button", "Draw again").click(), seed=1)
        assert page.evaluate("model.get('state')") == on.state
        assert page.evaluate("model.saved") == 1
        figure.state = {**figure.state, "bits": "111100001111", "mode": "soft"}
        on.after(lambda: page.evaluate("state => model.set('state', state)", figure.state), **figure.state)
        page.evaluate("model.set('state', { bits: '2' })")  # refused: the last good picture stays
        on.compare()
        assert on.state == figure.state
        page.evaluate("state => { stop(); model.set('state', state); }", explorer("handmade").state)
        assert on.state == figure.state
