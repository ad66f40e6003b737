"""Every page as a reader meets it: offline, light and dark, wide and on a phone, with the keyboard and from a file."""

import csv
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
FOUND = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
PAGES = sorted(name for name in FOUND if not name.startswith("_static/") and name != "index.html")
VIEWS = {
    "wide": {"from_file": True},
    "phone": {"width": 390, "height": 844, "scheme": "dark"},
}
PLAN = {row["slug"]: row for row in csv.DictReader((ROOT / "data/plan.csv").read_text(encoding="utf-8").splitlines())}
CHAPTERS = [name for name in PAGES if Path(name).stem in PLAN]

PAGE_BYTES, OWN_BYTES = 4_500_000, 1_500_000

COUNT = {
    "charts": ".fc-chart svg",
    "formulas": "mjx-container",
    "explorers": ".fc-explorer[data-mounted=true]",
    "exercises": "div.exercise, .admonition.exercise",
    "quick": ".fc-question[data-mounted=true] fieldset[data-kind=quick]",
    "predict": ".fc-question[data-mounted=true] fieldset[data-kind=predict]",
}

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
REDRAWN = """() => document.documentElement.dataset.theme === "dark"
  && [...document.querySelectorAll(".fc-chart")].every((e) => e.querySelector("svg[role=img]"))"""


def findings(page: Page, *, rules: list[str] | None = None) -> list[str]:
    """What axe finds serious on a page, which loses its repetitions: they cost axe minutes and show it nothing new."""
    page.evaluate(WITHOUT_REPETITIONS)
    page.evaluate(ONE_TEXT_OF_EACH_KIND)
    options = {"resultTypes": ["violations"], "preload": False} | ({"runOnly": rules} if rules else {})
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


def test_nothing_is_asked_for_outside_or_missing(seen):
    assert seen.outside == []
    assert seen.missing == []
    assert seen.errors == []


def test_everything_is_mounted_and_nothing_failed(seen):
    page = seen.page
    unmounted = page.locator(":is(.fc-chart, .fc-explorer, .fc-question):not([data-mounted=true])")
    assert unmounted.evaluate_all("list => list.map(e => e.outerHTML.slice(0, 200))") == []
    assert page.locator(".output.traceback, .output.stderr").count() == 0


def test_maths_is_typeset(seen):
    assert seen.page.locator("mjx-merror").count() == 0
    assert seen.page.locator("main .math:not(:has(mjx-container))").count() == 0


def test_no_page_is_wider_than_the_screen(seen):
    assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_figures_have_words(seen):
    nameless = seen.page.locator(".fc-chart svg:not([aria-label]):not([role=presentation]), main img:not([alt])")
    assert nameless.count() == 0
    assert seen.page.locator(".fc-chart:not([aria-label]), .fc-chart[aria-label='']").count() == 0


def test_a_chapter_has_what_the_plan_asks_for(seen):
    plan = PLAN.get(Path(seen.page.url).stem)
    if plan is None:
        return  # the back matter has no plan
    found = {what: seen.page.locator(selector).count() for what, selector in COUNT.items()}
    found["figures"] = found["charts"] + found["explorers"]
    short = {what: (number, plan[what]) for what, number in found.items() if number < int(plan[what])}
    assert short == {}


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
    """The last test of a view: the wide page also turns dark, where what does not depend on colours is as before."""
    page = seen.page
    assert findings(page) == []
    if page.viewport_size["width"] > 390:
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
        assert "parities" in page.locator("main").inner_text()


def test_the_front_door_leads_to_the_front_page(open_page):
    with open_page("index.html") as visit:
        visit.page.wait_for_url("**/chapters/index.html")
        assert visit.page.locator("h1").count() == 1
