"""Links land where they point, whatever is mounted and typeset on the way there, and explorers have addresses."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from flatcube.classroom import explorers
from flatcube.classroom.explorers import explorer
from flatcube.press import notebook
from tests.browser.fixtures import settle
from tests.browser.hand import Hand
from tests.browser.turns import turns

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
CHAPTERS = [f"chapters/{chapter.stem}.html" for chapter in notebook.chapters(ROOT)]
PIXELS = 40
PLACES = {  # the last ones of their kind have most above them
    "heading": (r'<section id="([\w-]+)">', {"from_file": True}),
    "theorem": (r'<div class="proof [^"]*" id="([\w-]+)">', {"width": 390, "height": 844}),
    "exercise": (r'<div class="exercise [^"]*" id="([\w-]+)">', {}),
}

# How far a place is from where the browser puts it, or from the end of the page.
OFF = """id => {
  const root = document.documentElement, place = document.getElementById(id).getBoundingClientRect();
  const wanted = scrollY + place.top - parseFloat(getComputedStyle(root).scrollPaddingTop);
  return Math.abs(scrollY - Math.max(0, Math.min(wanted, root.scrollHeight - innerHeight)));
}"""


@pytest.mark.parametrize(("chapter", "kind"), turns(CHAPTERS, PLACES))
def test_a_link_lands_at_its_place(open_page, chapter, kind):
    pattern, view = PLACES[kind]
    *_, place = re.findall(pattern, (SITE / chapter).read_text(encoding="utf-8"))
    with open_page(f"{chapter}#{place}", **view) as visit:
        assert visit.page.evaluate("scrollY") > 0
        assert visit.page.evaluate(OFF, place) <= PIXELS


def test_a_link_of_the_contents_lands_and_the_reader_may_leave(open_page):
    with open_page(CHAPTERS[0]) as visit:
        page = visit.page
        page.add_style_tag(content="* { overflow-anchor: none; }")  # as in browsers that do not help
        link = page.locator("#contents a[href^='#']").last
        place = link.get_attribute("href")[1:]
        link.click()
        page.wait_for_function(f"id => ({OFF})(id) <= {PIXELS}", arg=place)
        grow = (
            "() => document.querySelector('main').insertAdjacentHTML('afterbegin', '<p style=\"height: 900px\"></p>')"
        )
        page.evaluate(grow)
        page.wait_for_function(f"id => ({OFF})(id) <= {PIXELS}", arg=place)
        page.mouse.move(700, 450)
        page.mouse.wheel(0, -600)
        page.wait_for_function(f"id => ({OFF})(id) > 300", arg=place)
        page.evaluate(grow)
        page.wait_for_timeout(200)
        assert page.evaluate(OFF, place) > 300


# ------------------------------------------------------------------------------------------------ states of explorers


def state(page) -> dict:
    return page.evaluate("JSON.parse(document.querySelector('.fc-explorer').dataset.state)")


def revisit(page, address: str) -> None:
    """Open an address afresh."""
    page.goto("about:blank")
    page.goto(address)
    settle(page)


@pytest.mark.parametrize("name", explorers.names())
def test_a_link_leads_to_what_an_explorer_shows(workshop, name):
    with workshop(explorer(name)) as visit:
        page, own = visit.page, state(visit.page)
        link = page.get_by_role("link", name="Copy link to this state")
        assert link.get_attribute("href") == f"#{name.replace('.', '-')}-explorer"
        ranges = page.locator(".fc-explorer input[type=range]:visible")
        control = (ranges if ranges.count() else page.locator(".fc-explorer select:visible")).first
        for key in ("Home", "End"):  # it may stand at one of them
            if state(page) == own:
                control.press(key)
        changed = state(page)
        assert changed != own
        address = link.evaluate("link => link.href")
        revisit(page, address)
        assert state(page) == changed
        Hand(page, type(explorer(name)))  # what it shows is what the library computes
        page.goto(address.partition("?")[0])
        page.goto(f"{address.partition('?')[0]}?")
        assert state(page) == changed  # an address without a state leaves it alone


def test_texts_lists_and_nothing_keep_their_kinds(workshop):
    shown = [{"formula": "x1 & x2"}, {"table": [0.5, 1, 2, 3]}, {"n": 2, "name": "parity", "subset": [1, 2]}]
    with workshop(explorer("fourier", n=3, subset=[3])) as visit:
        for wanted in [*shown, {"name": "first", "n": 3, "subset": None}]:
            figure = explorer("fourier", **wanted)
            visit.page.locator(".fc-explorer").evaluate(
                "(el, state) => { el.dataset.state = JSON.stringify(state); }", figure.state
            )
            link = visit.page.get_by_role("link", name="Copy link to this state")
            expect(link).to_have_attribute("href", re.compile("[?].*="))
            address = link.evaluate("link => link.href")
            revisit(visit.page, address)
            assert state(visit.page) == figure.state


def test_the_link_is_copied_and_stands_in_the_address(workshop):
    with workshop(explorer("cube")) as visit:
        page = visit.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("slider").first.press("End")
        page.get_by_role("link", name="Copy link to this state").press("Enter")
        page.get_by_text("Copied.").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == page.url
        assert "#cube-explorer?n=5" in page.url


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("n=99", "n: expected an integer from"),
        ("colour=red", "it has no colour"),
        ("subset=[1", "subset cannot be read"),
        ("n=4&subset=%E0%A4", "subset cannot be read"),
        ("=", "it has no "),
    ],
)
def test_a_state_that_does_not_exist_is_ignored_in_words(workshop, given, reason):
    with workshop(explorer("cube")) as visit:
        page, own = visit.page, state(visit.page)
        address = f"{page.url}#cube-explorer?{given}"
        for arrive in (page.goto, lambda address: revisit(page, address)):
            arrive(address)
            said = page.locator(".fx-link [role=status]")
            expect(said).to_contain_text(f"The address asks for a state that does not exist here ({reason}")
            assert state(page) == own
            page.goto(page.url.partition("#")[0] + "#cube-explorer?n=4")  # the next one is followed again
            page.wait_for_function("JSON.parse(document.querySelector('.fc-explorer').dataset.state).n === 4")
            expect(said).to_have_text("")
            page.goto(page.url.partition("#")[0] + "#cube-explorer?n=3")


def test_two_explorers_of_a_page_have_two_addresses(open_page):
    page = next(name for name in CHAPTERS if "parity-explorer-2" in (SITE / name).read_text(encoding="utf-8"))
    with open_page(f"{page}#parity-explorer-2?bits=111") as visit:
        shown = "id => JSON.parse(document.getElementById(id).dataset.state).bits"
        assert visit.page.evaluate(shown, "parity-explorer-2") == "111"
        assert visit.page.evaluate(shown, "parity-explorer") != "111"
        assert visit.page.evaluate(OFF, "parity-explorer-2") <= PIXELS
