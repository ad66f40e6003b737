"""Every page as a reader meets it: offline, light and dark, wide and on a phone, with the keyboard and from a file."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Page

from flatcube.press import notebook

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
FOUND = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
# of pages that are alike the first stands for all: explorers are tested on their chapters' pages, slides in test_decks
ALIKE = re.compile(r"_static/|slides/|index\.html$|project/|chapters/teaching/notes-(?!01)")
PAGES = sorted(name for name in FOUND if not ALIKE.match(name))
VIEWS = {
    "wide": {"from_file": True},
    "phone": {"width": 390, "height": 844, "scheme": "dark"},
}
CHAPTERS = [f"chapters/{chapter.stem}.html" for chapter in notebook.chapters(ROOT)]

JUMP = 48  # pixels that a chart may differ from the height kept for it
PAGE_BYTES, OWN_BYTES = 3_500_000, 1_500_000

# What axe looks at in an element itself: two of one kind get one verdict, but for what their attributes refer to.
KIND = """
  const grounds = new Map([[null, ""]]);
  const ground = (e) => {  // what is painted behind its text
    if (!grounds.has(e)) {
      const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(e);
      const own = [backgroundColor, backgroundImage, opacity, filter].join();
      grounds.set(e, ground(e.parentElement) + (own === "rgba(0, 0, 0, 0),none,1,none" ? "" : `/${own}`));
    }
    return grounds.get(e);
  };
  const kind = (e) => {
    const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    const seen = e.checkVisibility({ visibilityProperty: true });  // axe passes over what is not
    const look = [color, fill, fontSize, fontWeight, textShadow, ground(e), !e.textContent.trim(), seen];
    const given = (name) => (name === "role" ? e.role : !e.getAttribute(name).trim());
    const classes = (e.getAttribute("class") ?? "").replaceAll(/mjx-c[0-9A-F]+/g, "");  // a class for every letter
    return [e.tagName, classes, e.getAttributeNames().map((name) => [name, given(name)]), look].join();
  };"""

# In code, formulas and charts an element goes if its kind is known; a row or an entry goes if all in it is known.
WITHOUT_REPETITIONS = f"""() => {{
  {KIND}
  const known = new Set(), repeated = [];  // removed at last: the browser would work out all looks again each time
  const isKnown = (e) => known.has(kind(e)) || !known.add(kind(e));
  const thin = (e) => {{
    const repeats = [isKnown(e), ...[...e.children].map(thin)].every(Boolean);
    if (repeats) repeated.push(e);
    return repeats;
  }};
  for (const part of document.querySelectorAll(".highlight pre, mjx-container, .fc-chart svg"))
    [...part.children].forEach(thin);
  for (const part of document.querySelectorAll("main :is(tbody tr, li, .fc-api)"))
    if ([part, ...part.querySelectorAll("*")].map(isKnown).every(Boolean)) repeated.push(part);
  repeated.forEach((e) => e.remove());
}}"""

# One text of each kind keeps its words. The others become dots: their contrast axe does not look at, they name a link
# or a button as well as words do, and they are no wider.
ONE_TEXT_OF_EACH_KIND = f"""() => {{
  {KIND}
  for (const [text, words] of window.hidden_words ?? []) text.data = words;  // of other colours
  const known = new Set(), repeated = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {{
    const text = texts.currentNode, e = text.parentElement;
    if (!/[\\p{{L}}\\p{{N}}]/u.test(text.data) || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;  // nor at signs
    if (known.has(kind(e))) repeated.push([text, text.data]);
    known.add(kind(e));
  }}
  window.hidden_words = repeated;
  for (const [text] of repeated) text.data = text.data.replaceAll(/\\S/g, ".");
}}"""
COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that look at colours
FADED = """() => !document.getAnimations().some((one) =>
  one instanceof CSSTransition && one.playState === "running")"""
REDRAWN = """() => document.documentElement.dataset.theme === "dark"
  && [...document.querySelectorAll(".fc-chart")].every((e) => e.querySelector("svg[role=img]"))"""


def findings(page: Page, *, rules: list[str] | None = None, but: Sequence[str] = ()) -> list[str]:
    """What axe finds serious on a page, by these rules or by all but some.

    What fades in or out has its colours only when it is done. The page loses its repetitions: they cost axe minutes
    and show it nothing new.
    """
    page.wait_for_function(FADED)
    page.evaluate(WITHOUT_REPETITIONS)
    page.evaluate(ONE_TEXT_OF_EACH_KIND)
    options = {"resultTypes": ["violations"], "preload": False, "rules": {rule: {"enabled": False} for rule in but}}
    options |= {"runOnly": rules} if rules else {}
    found = Axe().run(page, options=options).response["violations"]
    shown = [v for v in found if v["impact"] in ("serious", "critical")]
    return [f"{v['id']}: {node['html'][:160]}" for v in shown for node in v["nodes"]]


def darken(page: Page) -> None:
    """Press the page's own button; its charts are drawn again."""
    page.locator(".fc-theme:visible").first.click()
    page.wait_for_function(REDRAWN)
    page.evaluate("localStorage.clear()")  # the choice is not for pages that are opened beside this one


@pytest.fixture(scope="module", params=[(name, view) for name in PAGES for view in VIEWS], ids="-".join)
def seen(request, open_page):
    """A page, settled: wide, light and from a file, or on a phone, dark and served."""
    name, view = request.param
    with open_page(name, **VIEWS[view]) as visit:
        yield visit


def test_the_site_has_pages():
    assert {"chapters/index.html", "search.html"} <= set(PAGES)
    assert CHAPTERS


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_the_number_of_its_file(name):
    """In its title, its sections, its boxes and formulas, and in the list of chapters."""
    page = BeautifulSoup((SITE / name).read_text(encoding="utf-8"), "html.parser")
    parts = page.select("main :is(h1, h2, h3) > .section-number, main .eqno, li.current .section-number")
    titles = page.select("main :is(.proof, .exercise) > .admonition-title .caption-number")
    numbers = [part.get_text().strip("()¶# \n") for part in parts] + [part.get_text().split()[-1] for part in titles]
    assert len(numbers) > 10
    assert {number.partition(".")[0] for number in numbers if number} == {str(int(Path(name).name[:2]))}


def test_nothing_is_asked_for_outside_or_missing(seen):
    assert seen.outside == []
    assert seen.missing == []
    assert seen.errors == []


def test_everything_is_mounted_and_nothing_failed(seen):
    page = seen.page
    unmounted = page.locator(":is(.fc-chart, .fc-explorer, .fc-question):not([data-mounted=true])")
    assert unmounted.evaluate_all("list => list.map(e => e.outerHTML.slice(0, 200))") == []
    assert page.locator(".output.traceback, .output.stderr").count() == 0


def test_charts_have_the_height_that_was_kept_for_them(seen):
    """So that nothing jumps when they are drawn."""
    off = seen.page.locator(".fc-chart").evaluate_all(
        """list => list.map(e => {
          const mounted = e.offsetHeight;
          e.removeAttribute("data-mounted");
          const shown = [...e.children].map(child => [child, child.style.display]);
          for (const [child] of shown) child.style.display = "none";
          const kept = e.offsetHeight;
          for (const [child, display] of shown) child.style.display = display;
          e.dataset.mounted = "true";
          return Math.abs(mounted - kept);
        })"""
    )
    assert max(off, default=0) <= JUMP


def test_maths_is_typeset(seen):
    assert seen.page.locator("mjx-merror").count() == 0
    assert seen.page.locator("main .math:not(:has(mjx-container))").count() == 0
    assert seen.page.locator("mjx-container:not(:has(math))").count() == 0  # for readers who listen


def test_no_page_is_wider_than_the_screen(seen):
    assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_long_lines_use_the_margin_and_what_scrolls_shows_it(seen):
    """Code is cut only where it fills the margin or a note stands there; a box that scrolls has a shadow and a stop."""
    boxes = seen.page.locator("main :is(pre, div.math, .fc-table)").evaluate_all(
        """(list) => {
          const notes = [...document.querySelectorAll(".margin")].map((note) => note.getBoundingClientRect());
          const wide = parseFloat(getComputedStyle(document.querySelector("main")).width) > 1000 && innerWidth > 1344;
          return list.filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1
            && getComputedStyle(e).overflowX !== "visible").map((e) => {
            const { top, bottom, width } = e.getBoundingClientRect();
            const free = !notes.some((note) => note.top < bottom && note.bottom > top);
            const cut = wide && free && e.matches(":not(.admonition) > .highlight > pre") && width < 900;
            return { cut, shown: e.hasAttribute("data-wide") && e.tabIndex === 0, text: e.textContent.slice(0, 60) };
          });
        }"""
    )
    assert [box["text"] for box in boxes if box["cut"] or not box["shown"]] == []
    covered = seen.page.locator("main .margin").evaluate_all(
        """(notes) => notes.filter((note) => [...document.querySelectorAll("main .highlight")].some((e) => {
          const [a, b] = [note, e].map((part) => part.getBoundingClientRect());
          const seen = note.checkVisibility() && e.checkVisibility();
          const down = a.top < b.bottom - 1 && b.top < a.bottom - 1;
          const across = a.left < b.right - 1 && b.left < a.right - 1;
          return seen && down && across;
        })).map((note) => note.textContent.slice(0, 60))"""
    )
    assert covered == []


def test_figures_have_words(seen):
    nameless = seen.page.locator(".fc-chart svg:not([aria-label]):not([role=presentation]), main img:not([alt])")
    assert nameless.count() == 0
    assert seen.page.locator(".fc-chart:not([aria-label]), .fc-chart[aria-label='']").count() == 0


def test_a_page_is_light(seen):
    if seen.page.url.startswith("file:"):
        return  # a browser knows no sizes of local files
    everything = seen.page.evaluate(
        "performance.getEntries().reduce((sum, entry) => sum + (entry.decodedBodySize || 0), 0)"
    )
    outputs = seen.page.locator(".cell_output")
    own = outputs.evaluate_all("list => list.reduce((sum, e) => sum + e.innerHTML.length, 0)")
    assert everything < PAGE_BYTES
    assert own < OWN_BYTES


def test_axe_finds_nothing_serious(seen):
    """The last test of a view: the wide page also turns dark, where what does not depend on colours is as before.

    A phone's chapters have the colours of the wide and dark page; what only a phone shows, all pages have.
    """
    page = seen.page
    phone, chapter = page.viewport_size["width"] <= 390, any(page.url.endswith(name) for name in CHAPTERS)
    assert findings(page, but=COLOURS if phone and chapter else ()) == []
    if not phone and not page.url.endswith("404.html"):  # it has no button; its phone is dark
        darken(page)
        assert findings(page, rules=COLOURS) == []
        assert seen.errors == seen.outside == seen.missing == []


PLANTED = {
    "color-contrast: <b class=\"pale\">": '<b class="pale">low on paper</b>',
    # behind one that is hidden and one without a letter, of the same kind
    "color-contrast: <i class=\"pale\">low": '<span hidden><i class="pale">gone</i></span><i class="pale">, </i>'
                                             '<i class="pale">low as well</i>',
    "color-contrast: <b style=\"color: #333\">": '<b style="color: #333">low in the dark</b>',
    "button-name: <button>": "<button></button>",
    "image-alt: <img ": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">',
}  # fmt: skip
PLANT = """(faults) => {
  const style = document.createElement("style");
  style.textContent = ".pale { color: #ccc }";
  document.head.append(style);
  const list = document.querySelector("main").appendChild(document.createElement("ul"));
  for (const fault of ["<b>sound</b>", ...faults]) {
    list.insertAdjacentHTML("beforeend", `<li>${fault}</li>`.repeat(2));
  }
}"""


def test_axe_still_finds_what_is_planted_among_repetitions(open_page):
    def found(page, **options):
        said = findings(page, **options)
        assert all(any(line.startswith(fault) for fault in PLANTED) for line in said), said
        return {fault for fault in PLANTED for line in said if line.startswith(fault)}

    pale, behind, dim, *others = PLANTED
    with open_page("chapters/notation.html", **VIEWS["wide"]) as visit:
        visit.page.evaluate(PLANT, list(PLANTED.values()))
        assert found(visit.page) == {pale, behind, *others}
        darken(visit.page)
        assert found(visit.page, rules=COLOURS) == {dim}
    with open_page("chapters/notation.html", **VIEWS["phone"]) as visit:
        visit.page.evaluate(PLANT, list(PLANTED.values()))
        assert found(visit.page) == {dim, *others}


@pytest.mark.parametrize(("address", "solved"), [("?print", True), ("?print=exercises", False)])
def test_paper_shows_everything_with_and_without_solutions(open_page, address, solved):
    with open_page(f"{CHAPTERS[0]}{address}", from_file=solved) as visit:
        page = visit.page
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        solutions = page.locator(".solution pre")
        assert solutions.count() > 3
        assert [part.is_visible() for part in solutions.all()] == [solved] * solutions.count()
        assert page.locator(".fc-proof p:not(.admonition-title), details.proof p").first.is_visible()
        assert page.locator(":is(.fc-chart, .fc-explorer, .fc-question):not([data-mounted=true])").count() == 0
        controls = ".fc-tools, .fx-link, .fc-copy, input[type=range], .fx-button"
        assert page.locator(controls).count() > 10
        assert not page.locator(controls).filter(visible=True).count()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_the_search_finds_a_word_of_a_chapter(open_page, from_file):
    with open_page("search.html", from_file=from_file) as visit:
        page, chapter = visit.page, CHAPTERS[0]
        page.locator("main").get_by_role("searchbox").fill("parities")
        page.keyboard.press("Enter")
        hit = page.locator(f"#search-results li a[href*='{chapter}']").first
        hit.wait_for()
        assert visit.outside == []
        hit.click()
        page.wait_for_url(f"**/{chapter}*")
        page.locator("main").get_by_text("parities").first.wait_for()  # the page may still be coming in


def test_the_first_lines_of_a_hit_are_prose(open_page):
    parts = {"nav class='fc-tools'": "Print", "h1": "Title", "p": "Words.", "div class='cell_input'": "code"}
    inside = "".join(f"<{tag}>{text}</{tag.split()[0]}>" for tag, text in parts.items())
    with open_page("search.html") as visit:
        said = visit.page.evaluate("page => Search.htmlToText(page)", f"<main role='main'>{inside}</main>")
    assert said.strip() == "Words."


def test_the_front_door_leads_to_the_front_page(open_page):
    with open_page("index.html") as visit:
        visit.page.wait_for_url("**/chapters/index.html")
        assert visit.page.locator("h1").count() == 1
