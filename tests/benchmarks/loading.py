"""A chapter in a browser: its first paint and its load event, as ratios to the same page without text and formulas."""

import re
import statistics
import sys
from pathlib import Path

import arena

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
ROUNDS, MOST = 5, 1.5
TIMES = """() => [performance.getEntriesByName("first-contentful-paint")[0].startTime,
  performance.getEntriesByType("navigation")[0].loadEventEnd]"""


def bare(page: str) -> str:
    """The page with its frame, styles and scripts, but with one word for an article and nothing for formulas."""
    empty = re.sub(r'(<article class="fc-page">).*(</article>)', r"\1<p>Text</p>\2", page, flags=re.DOTALL)
    return re.sub(r"<link[^>]*math[^>]*>", "", empty)


def main() -> list[bool | None]:
    """Print both ratios, the median over all chapters; whether that of the load event is met."""
    ratios = _ratios() if (SITE / "search.html").exists() else []
    paint, load = ([statistics.median(kind) for kind in zip(*ratios, strict=True)]) if ratios else (None, None)
    print(f"a chapter to a bare page: first paint {arena.short(paint)}, load event {arena.short(load)}")
    return [arena.judge("load event of a chapter to a bare page's", load, most=MOST)]


def _ratios() -> list[tuple[float, float]]:
    sys.path.append(str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium, fixtures

    path = chromium.find()
    if path is None:
        return []
    with sync_playwright() as play, fixtures.served(SITE) as home:
        browser = play.chromium.launch(executable_path=path, args=chromium.FLAGS)
        found = [_ratio(browser, home, page) for page in sorted((SITE / "chapters").glob("[0-9]*.html"))]
        browser.close()
    return found


def _ratio(browser, home: str, path: Path) -> tuple[float, float]:
    """Both ratios of one chapter: the best of its times to the best of the bare page's, measured in turn."""
    text = bare(path.read_text(encoding="utf-8"))
    full, empty = [], []
    for _ in range(ROUNDS):
        for times, name in ((full, path.name), (empty, "bare.html")):
            context = browser.new_context(viewport={"width": 1400, "height": 900})
            page = context.new_page()
            page.route("**/bare.html", lambda route: route.fulfill(body=text, content_type="text/html"))
            page.goto(f"{home}chapters/{name}", wait_until="load", timeout=120_000)
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            times.append(page.evaluate(TIMES))
            context.close()
    (paint, load), (first, loaded) = (map(min, zip(*times, strict=True)) for times in (full, empty))
    return paint / first, load / loaded
