"""Every page as a reader meets it: offline, light and dark, wide and on a phone, with the keyboard and from a file."""

import csv
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
FOUND = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
PAGES = sorted(name for name in FOUND if not name.startswith("_static/") and name != "index.html")
VIEWS = {
    "file": {"from_file": True},
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844},
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

# A block of code, a formula, a row or an entry of the reference stays if it has elements of a new kind (tag, classes).
WITHOUT_REPETITIONS = """() => {
  const known = new Set();
  const repeats = (part) => {
    const kinds = [part, ...part.querySelectorAll("*")].map((e) => `${e.tagName} ${e.getAttribute("class")}`);
    const isKnown = kinds.every((kind) => known.has(kind));
    kinds.forEach((kind) => known.add(kind));
    return isKnown;
  };
  for (const part of document.querySelectorAll(".highlight pre, mjx-container"))
    if (repeats(part)) part.textContent = "x";
  for (const part of document.querySelectorAll("main :is(tbody tr, li, .fc-api)")) if (repeats(part)) part.remove();
}"""


@pytest.fixture(scope="module", params=[(name, view) for name in PAGES for view in VIEWS], ids="-".join)
def seen(request, open_page):
    """A page, settled, in one of the three views: wide and light from a file, dark, on a phone."""
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
    """The last test of a view: it takes repetitions off the page, which cost axe minutes and show it nothing new."""
    seen.page.evaluate(WITHOUT_REPETITIONS)
    wide = seen.page.viewport_size["width"] > 390  # a phone has the colours of the wide page
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": wide}}}
    found = Axe().run(seen.page, options=options).response["violations"]
    assert [f"{v['id']}: {v['nodes'][0]['html'][:160]}" for v in found if v["impact"] in ("serious", "critical")] == []


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
