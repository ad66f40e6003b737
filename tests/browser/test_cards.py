"""Quiet marks and their cards, with a mouse, with keys, with a finger, on paper; from a file and served."""

import pytest

from flatcube.classroom import claims
from tests.browser.test_pages import findings

PAGE = "chapters/notation.html"
MARK, CARD = "a.fc-quiet[data-names='SP-D0']", "#fc-card"


def test_a_mark_is_small_and_says_what_it_is(open_page):
    with open_page(PAGE) as visit:
        mark = visit.page.locator(MARK)
        status = next(entry.status for entry in claims.ledger() if entry.claim.id == "SP-D0")
        assert visit.page.get_by_role("link", name=f"SP-D0, {status}").count() == 1
        assert mark.inner_text() == ""  # nothing that would be copied or read aloud with the sentence
        assert mark.evaluate("e => e.getBoundingClientRect().width") < 16


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_the_mouse_opens_a_card_and_can_press_its_link(open_page, from_file):
    with open_page(PAGE, from_file=from_file) as visit:
        page, card = visit.page, visit.page.locator(CARD)
        page.locator(MARK).hover()
        card.wait_for()
        words = claims.claims()["SP-D0"].claim
        assert words.split()[0] in card.inner_text() and "holds" in card.inner_text()
        card.hover()
        card.get_by_role("link").click()
        page.wait_for_url("**/claims.html#claim-SP-D0")


def test_the_card_closes_when_the_mouse_has_gone(open_page):
    with open_page(PAGE) as visit:
        page, card = visit.page, visit.page.locator(CARD)
        page.locator(MARK).hover()
        card.wait_for()
        page.mouse.move(5, 5)
        card.wait_for(state="detached")


def test_keys_open_it_lead_into_it_and_close_it(open_page):
    with open_page(PAGE) as visit:
        page, card = visit.page, visit.page.locator(CARD)
        mark = page.locator(MARK)
        mark.evaluate("e => { e.before(document.createElement('button')); e.previousSibling.focus() }")
        page.keyboard.press("Tab")
        assert mark.evaluate("e => e === document.activeElement")
        card.wait_for()
        assert mark.get_attribute("aria-describedby") == card.get_attribute("id")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.matches('#fc-card a')")
        page.keyboard.press("Escape")
        assert card.count() == 0 and not mark.get_attribute("aria-describedby")
        assert mark.evaluate("e => e === document.activeElement")
        page.keyboard.press("Enter")
        page.wait_for_url("**/claims.html#claim-SP-D0")


def test_the_card_closes_when_the_focus_goes_on(open_page):
    with open_page(PAGE) as visit:
        page, card = visit.page, visit.page.locator(CARD)
        page.locator(MARK).evaluate("e => e.focus({ focusVisible: true })")
        card.wait_for()
        page.locator("footer a").first.focus()
        assert card.count() == 0


def test_a_tap_opens_it_and_a_tap_elsewhere_closes_it(open_page):
    with open_page(PAGE, width=390, height=844, touch=True) as visit:
        page, card = visit.page, visit.page.locator(CARD)
        page.locator(MARK).tap()
        card.wait_for()
        assert page.url.endswith(PAGE)
        box = card.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        page.locator("h1").tap()
        assert card.count() == 0
        page.locator(MARK).tap()
        card.get_by_role("link").tap()
        page.wait_for_url("**/claims.html#claim-SP-D0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_an_open_card(open_page, scheme):
    with open_page(PAGE, scheme=scheme) as visit:
        page = visit.page
        page.locator(MARK).evaluate("e => e.focus({ focusVisible: true })")
        page.locator(CARD).wait_for()
        assert findings(page) == []


def test_paper_has_no_card_but_the_names(open_page):
    with open_page(PAGE) as visit:
        page = visit.page
        page.locator(MARK).evaluate("e => e.focus({ focusVisible: true })")
        page.locator(CARD).wait_for()
        page.emulate_media(media="print")
        assert not page.locator(CARD).is_visible()
        content = "getComputedStyle(document.querySelector(\"a.fc-quiet[data-names='SP-D0']\"), '::before').content"
        assert page.evaluate(content) == '"SP-D0"'
        page.emulate_media(media="screen")


THEOREM = "a[data-card][href$='#thm-fourier-basis']"


@pytest.mark.parametrize(
    ("link", "words"), [(THEOREM, "Parities are a basis"), ("a.fc-sym", "the parity of the variables in")]
)
def test_maths_is_set_in_the_cards_of_theorems_and_symbols(open_page, link, words):
    with open_page(PAGE, from_file=True) as visit:
        page = visit.page
        page.locator(link).first.evaluate("e => e.focus({ focusVisible: true })")
        page.locator(f"{CARD} mjx-container").first.wait_for()
        assert words in page.locator(CARD).inner_text()
        page.wait_for_function(f"!document.querySelector('{CARD} .math:not(:has(mjx-container))')")
        assert page.locator(f"{CARD} mjx-merror").count() == 0
        assert (visit.errors, visit.outside, visit.missing) == ([], [], [])


def test_a_card_on_a_phone_keeps_to_the_screen_and_axe_is_content(open_page):
    with open_page(PAGE, width=390, height=600, scheme="dark", touch=True) as visit:
        page = visit.page
        page.locator(THEOREM).tap()
        page.locator(f"{CARD} mjx-container").first.wait_for()
        box = page.locator(CARD).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] <= 0.7 * 600 + 1
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert findings(page) == []


def test_a_citation_has_a_card(open_page):
    with open_page(PAGE) as visit:
        visit.page.get_by_role("link", name="2024").first.hover()
        visit.page.locator(CARD).wait_for()
        assert "Michael Hahn and Mark Rofin" in visit.page.locator(CARD).inner_text()
