"""A headless Chromium with the network cut, and pages of the built site opened in it.

A pytest plugin; `tests/conftest.py` loads it. The tests that need it are those of this folder and, in any other, the
files named `test_*_page.py`; they run apart from the others.
"""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from flatcube.classroom import explorers
from tests.browser import chromium
from tests.browser.hand import Hand

SITE = Path(__file__).parents[2] / "_build" / "html"
PATIENCE_MS = 120_000  # on a busy machine
expect.set_options(timeout=PATIENCE_MS)  # 5 s otherwise


@dataclass
class Visit:
    """An open page and what it did: requests that left the site, files it missed, errors it reported."""

    page: Page
    outside: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that does not talk."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    path = chromium.find()
    assert path, "No Chromium: 'make test' installs one or says what to install."
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=path, args=chromium.FLAGS)
        try:
            yield started
        finally:
            started.close()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The files of `folder` on a local port; gives the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def visiting(browser: Browser, url: str, home: str, **options) -> Iterator[Visit]:
    """Open `url` in a fresh context, which is a window; every request outside `home` is refused and noted."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    try:
        with watched(context.new_page(), url, home) as visit:
            yield visit
    finally:
        context.close()


@contextlib.contextmanager
def watched(page: Page, url: str, home: str) -> Iterator[Visit]:
    """Open `url` in the tab `page`, likewise; on leaving, the tab is watched no more."""
    visit = Visit(page)

    def gate(route):
        if route.request.url.startswith((home, "data:", "blob:")):
            return route.continue_()
        visit.outside.append(route.request.url)
        return route.abort()

    noted = {
        "console": lambda said: visit.errors.append(said.text) if said.type == "error" else None,
        "pageerror": lambda error: visit.errors.append(str(error)),
        "response": lambda got: visit.missing.append(got.url) if got.status >= 400 else None,
    }
    page.route("**/*", gate)
    for event, note in noted.items():
        page.on(event, note)
    page.goto(url, wait_until="load")
    yield visit
    page.goto("about:blank")  # nothing of this page is to be heard in the next one
    for event, note in noted.items():
        page.remove_listener(event, note)
    page.unroute("**/*", gate)


class Windows:
    """Windows of a browser, one for each view, whose tabs serve again: in a new one a page costs half as much again."""

    def __init__(self, browser: Browser):
        self.browser, self.open, self.free, self.tabs = browser, {}, {}, set()

    @contextlib.contextmanager
    def visiting(self, url: str, home: str, **view) -> Iterator[Visit]:
        """Open `url` in a tab of the window with this view; the next reader there is another one."""
        key = repr(view)
        if key not in self.open:
            self.open[key], self.free[key] = self.browser.new_context(**view), []
            self.open[key].set_default_timeout(PATIENCE_MS)
        window, free = self.open[key], self.free[key]
        try:
            page = free.pop() if free else window.new_page()
            self.tabs.add(page)
            with watched(page, url, home) as visit:
                yield visit
                with contextlib.suppress(Error):  # a page may have no storage
                    visit.page.evaluate("localStorage.clear(), sessionStorage.clear()")
                for opened in set(window.pages) - self.tabs:  # by the page, not by a test
                    opened.close()
                page.mouse.up()
                page.mouse.move(0, 0)
            free.append(page)
        except BaseException:
            if self.open.get(key) is window:  # whatever went wrong stays here
                self.open.pop(key).close()
            raise


@pytest.fixture(scope="session")
def open_page(browser: Browser):
    """`open_page(name, width=…, scheme=…, from_file=…, touch=…)`: a page of the site, mounted, its maths set."""
    windows = Windows(browser)

    with served(SITE) as home:

        @contextlib.contextmanager
        def opened(name, *, width=1400, height=900, scheme="light", from_file=False, touch=False):
            base = SITE.resolve().as_uri() + "/" if from_file else home
            view = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, "has_touch": touch}
            with windows.visiting(base + name, base, **view) as visit:
                settle(visit.page)
                visit.page.wait_for_function(AT_REST)
                yield visit

        yield opened


# Fonts change widths, and what watches sizes, such as a link that lands again, hears of them in the next frame.
AT_REST = """() => document.fonts.ready.then(() => new Promise((rest) =>
  requestAnimationFrame(() => requestAnimationFrame(() => rest(true)))))"""


def settle(page: Page) -> None:
    """Wait until the whole page is laid out and the loader has mounted every element.

    All three wait again where the page leads to another one at once, as the site's front door does.
    """
    page.wait_for_function("!document.querySelector('.fc-chart, .fc-explorer, .fc-question') || window.flatcube?.ready")
    page.wait_for_function("!document.documentElement.matches('.fc-young')")
    page.wait_for_function("Promise.resolve(window.flatcube?.everything()).then(() => true)")


@pytest.fixture(scope="session")
def workshop(tmp_path_factory, browser: Browser):
    """`workshop(*elements, from_file=…, width=…)`: a bare page with these elements, mounted."""
    from tests.browser.workshop import opener

    with opener(tmp_path_factory.mktemp("workshop"), browser) as opened:
        yield opened


@pytest.fixture
def hand(request: pytest.FixtureRequest, workshop):
    """`hand(from_file=…, width=…, **state)`: the explorer of the test's room on a bare page, with the hand on it."""
    with contextlib.ExitStack() as stack:

        def laid(from_file=False, width=1200, **state):
            figure = explorers.explorer(request.path.parent.name, **state)
            visit = stack.enter_context(workshop(figure, from_file=from_file, width=width))
            return Hand(visit.page, type(figure))

        yield laid
