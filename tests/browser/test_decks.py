"""Slides and projector pages under a teacher's hand: alive from a file, with addresses that come back."""

import pytest
from bs4 import BeautifulSoup

from flatcube import processes
from flatcube.press import decks, notebook
from tests.browser.test_pages import SITE, findings

SLUG = "02-sensitivity"
CHAPTERS = [chapter.stem for chapter in notebook.chapters(SITE.parents[1])]


def write(slug: str) -> None:
    page = BeautifulSoup((SITE / f"chapters/{slug}.html").read_text(encoding="utf-8"), "html.parser")
    processes.replace(SITE / f"slides/{slug}.html", decks.deck(page, slug, {"2.1": ["0–5 Ask."]}).encode())


@pytest.fixture(scope="module", autouse=True)
def deck():
    write(SLUG)


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


PARTS = """[...document.querySelectorAll(".present:not(.stack) .fc-explorer :is(svg, input, select, button)")]
  .filter((part) => !part.checkVisibility({ visibilityProperty: true }) && part.checkVisibility()).length"""


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_part_of_an_explorer_is_taken_for_a_slide(open_page, chapter):
    """The deck hides all sections but the present one, wherever they stand."""
    write(chapter)
    with open_page(f"slides/{chapter}.html", height=800) as visit:
        page = visit.page
        page.evaluate("ready")
        assert page.locator(".fc-slide section").count() == 0
        at(page, ".fc-explorer")
        page.wait_for_selector(".present:not(.stack) .fc-explorer[data-mounted=true]")
        assert page.evaluate(PARTS) == 0
        at(page, ".fc-question")
        page.wait_for_selector(".present:not(.stack) .fc-question :is(button, input)")


PAGES = """[...document.querySelectorAll(".pdf-page")].map((page) => [page, page.querySelector(".fc-slide")]
  .map((one) => Math.round(one.getBoundingClientRect().height)))"""


def test_paper_has_a_page_for_every_slide_and_cuts_none(open_page):
    with open_page(f"slides/{SLUG}.html?print-pdf") as visit:
        visit.page.wait_for_selector(".pdf-page .fc-chart svg[role=img]")
        visit.page.wait_for_function("[...document.querySelectorAll('.fc-slide')].every((one) => one.style.scale)")
        pages = visit.page.evaluate(PAGES)
        assert len(pages) == visit.page.evaluate("deck.getTotalSlides()") > 20
        assert {page for page, _ in pages} == {pages[0][0]}  # one sheet each
        assert [(number, slide) for number, (page, slide) in enumerate(pages, 1) if slide > page] == []


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
