"""Nothing jumps: whoever reads a chapter from its top to its end sees no line move that they have not moved."""

from pathlib import Path

import pytest

from flatcube.press import notebook
from tests.browser.turns import turns

ROOT = Path(__file__).parents[2]
CHAPTERS = [f"chapters/{chapter.stem}.html" for chapter in notebook.chapters(ROOT)]
VIEWS = {"wide": {}, "phone": {"width": 390, "height": 844, "touch": True}}
MOST = 0.02  # of the browsers' measure, share of the screen times the way; they call less than 0.1 good

WATCH = """() => {
  window.jumps = [];
  const name = ({ node, previousRect, currentRect }) => {
    const text = (node?.outerHTML ?? node?.data ?? "").replace(/\\s+/g, " ").slice(0, 100);
    const boxes = [previousRect, currentRect].map(({ x, y, width, height }) => [x, y, width, height].map(Math.round));
    return `${text}: ${JSON.stringify(boxes)}`;
  };
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) window.jumps.push([value, ...sources.map(name)]);
  }).observe({ type: "layout-shift" });
}"""
# What a reader does: a look, most of a screen further, until what is seen is alive.
READ = """async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const seen = (e) => e.getClientRects().length && e.getBoundingClientRect().top < innerHeight
    && e.getBoundingClientRect().bottom > 0;
  const alive = () => [...document.querySelectorAll(".fc-chart, .fc-explorer, .fc-question")]
    .filter(seen).every((e) => e.dataset.mounted);
  await document.fonts.ready;
  for (let last = -1; last !== scrollY; ) {
    do await frame(); while (!alive() || document.documentElement.matches(".fc-young"));
    await frame();
    last = scrollY;
    scrollBy({ top: 0.7 * innerHeight, behavior: "instant" });
  }
  await frame();
}"""


def jumps(page, prepare: str = "() => {}") -> list:
    """All jumps while the page is read, the largest first; each is a number and what moved.

    What moves when the fonts arrive does not count: that is up to the line that brings them.
    """
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    page.evaluate(WATCH)
    page.evaluate(prepare)
    page.evaluate(READ)
    return sorted(page.evaluate("window.jumps"), reverse=True)


@pytest.fixture
def reader(browser):
    """`reader(name, view)`: a chapter, just opened; what is mounted later is for the test to see."""
    from tests.browser.fixtures import SITE, served, visiting

    with served(SITE) as home:

        def opened(name, view):
            view = dict(VIEWS[view])
            size = {"width": view.pop("width", 1400), "height": view.pop("height", 900)}
            return visiting(browser, home + name, home, viewport=size, has_touch=view.pop("touch", False))

        yield opened


@pytest.mark.parametrize(("chapter", "view"), turns(CHAPTERS, VIEWS))
def test_nothing_jumps(reader, chapter, view):
    with reader(chapter, view) as visit:
        found = jumps(visit.page)
        read, whole = visit.page.evaluate("[scrollY + innerHeight, document.documentElement.scrollHeight]")
        assert read > whole - 2 and read > 3000  # to its end
        assert sum(jump[0] for jump in found) <= MOST, found[:5]


PLANTED = {
    "a line that comes late": "() => setTimeout(() => { document.querySelector('h1').style.paddingBottom = '150px' })",
    "a chart that grows when it is seen": """() => {
      const grow = new IntersectionObserver((all) => all.filter((one) => one.isIntersecting).forEach(({ target }) => {
        setTimeout(() => { target.style.paddingTop = "150px" });
      }));
      document.querySelectorAll(".fc-chart").forEach((chart) => grow.observe(chart));
    }""",
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_jump_is_found(reader, fault):
    with reader(CHAPTERS[0], "wide") as visit:
        assert sum(jump[0] for jump in jumps(visit.page, PLANTED[fault])) > MOST
