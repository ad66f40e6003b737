"""Slides and projector pages under a teacher's hand: alive from a file, with addresses that come back."""

import pytest
from bs4 import BeautifulSoup

from flatcube import processes
from flatcube.press import decks
from tests.browser.test_pages import SITE, findings

SLUG = "02-sensitivity"


@pytest.fixture(scope="module", autouse=True)
def deck():
    page = BeautifulSoup((SITE / f"chapters/{SLUG}.html").read_text(encoding="utf-8"), "html.parser")
    processes.replace(SITE / f"slides/{SLUG}.html", decks.deck(page, SLUG, {"2.1": ["0–5 Ask."]}).encode())


def at(page, selector: str) -> None:
    """Turn the deck to the first slide with this, and wait until it is drawn."""
    page.evaluate("s => location.hash = '#/' + (document.querySelector(s).id ||= 'sought')", selector)
    page.wait_for_selector(f".present:not(.stack) {selector}")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_deck_is_alive_from_a_file(open_page, width, scheme):
    with open_page(f"slides/{SLUG}.html", width=width, height=800, scheme=scheme, from_file=True) as visit:
        page = visit.page
        page.evaluate("ready")
        assert page.locator(".present h1").inner_text() == "2 Sensitivity"
        page.keyboard.press("Space")
        page.wait_for_selector(".present h2:has-text('You will be able to')")
        at(page, ".fc-explorer")
        page.wait_for_selector(".present .fc-explorer[data-mounted=true] .fx-link a")
        slider = page.locator(".present .fc-explorer input[type=range]").first
        slider.focus()
        before = page.evaluate("[deck.getState().indexv, document.querySelector('.fc-explorer').dataset.state]")
        page.keyboard.press("ArrowRight")
        after = page.evaluate("[deck.getState().indexv, document.querySelector('.fc-explorer').dataset.state]")
        assert before[0] == after[0] and before[1] != after[1]  # the key moves the slider, not the slide
        at(page, ".fc-chart")
        page.wait_for_selector(".present .fc-chart svg[role=img]")
        assert findings(page) == []
        assert visit.outside == visit.missing == visit.errors == []


def test_paper_has_a_page_for_every_slide(open_page):
    with open_page(f"slides/{SLUG}.html?print-pdf") as visit:
        visit.page.wait_for_selector(".pdf-page .fc-chart svg[role=img]")
        shown = visit.page.evaluate("[document.querySelectorAll('.pdf-page').length, deck.getTotalSlides()]")
        assert shown[0] == shown[1] > 20


def test_what_is_projected_stands_in_the_address(open_page):
    with open_page(f"chapters/{SLUG}.html") as visit:
        page = visit.page
        link = page.locator("#sensitivity-explorer .fx-link a", has_text="Project")
        address = link.get_attribute("href")
    with open_page(address[address.index("project/") :], height=800) as visit:
        page = visit.page
        slider = page.locator(".fc-explorer input[type=range]").first
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("location.hash.includes('?')")
        kept, state = page.evaluate("[location.hash, document.querySelector('.fc-explorer').dataset.state]")
        assert visit.errors == []
    with open_page(f"project/{SLUG[:2]}-sensitivity-explorer.html{kept}", from_file=True) as visit:
        assert visit.page.evaluate("document.querySelector('.fc-explorer').dataset.state") == state
        assert findings(visit.page) == []
