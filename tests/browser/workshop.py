"""Bare pages for trying single elements: the loader, the elements, the style sheet, and nothing else."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from flatcube.classroom import explorers
from flatcube.press import pages
from tests.browser import fixtures

__all__ = ["opener", "html"]

ROOT = Path(__file__).parents[2]
SITE = explorers._HERE.parent / "site"
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Workshop</title>
<link rel="stylesheet" href="_static/flatcube/elements.css">
<script defer src="_static/flatcube/loader.js"></script></head>
<body><main>{body}</main></body></html>
"""


def html(element) -> str:
    """The element as the press writes it into a page."""
    if isinstance(element, str):
        return element
    still = element._still() if isinstance(element, explorers.Explorer) else element._repr_mimebundle_()
    return pages.element(still)["text/html"]


def _built(name: str) -> Path:
    return ROOT / "_build" / "frontend" / "node_modules" / name / "build" / f"{name}.min.js"


@contextlib.contextmanager
def opener(folder: Path, browser) -> Iterator:
    """Gives `opened(*elements, from_file=…, width=…, name=…)`, which opens a bare page with these elements, mounted
    unless it is not to be `settled`.

    On leaving, the page must have asked for nothing outside and, unless it is `troubled`, missed no file and reported
    no error.
    """
    own = folder / "_static" / "flatcube"
    (own / "explorers").mkdir(parents=True)
    for source in SITE.iterdir():
        (own / source.name).write_bytes(source.read_bytes())
    for name in explorers.names():
        (own / "explorers" / f"{name}.js").write_text(explorers.classic(name), encoding="utf-8")
    (folder / "_static" / "vendor").mkdir()
    for name in ("vega", "vega-lite", "vega-embed"):
        (folder / "_static" / "vendor" / f"{name}.min.js").write_bytes(_built(name).read_bytes())
    number, windows = itertools.count(), fixtures.Windows(browser)

    with fixtures.served(folder) as home:

        @contextlib.contextmanager
        def opened(*elements, from_file=False, width=1200, name=None, troubled=False, settled=True, **options):
            name = name or f"page-{next(number)}.html"
            (folder / name).write_text(PAGE.format(body="".join(map(html, elements))), encoding="utf-8")
            base = folder.resolve().as_uri() + "/" if from_file else home
            view = {"viewport": {"width": width, "height": 1400}, "reduced_motion": "reduce"} | options
            with windows.visiting(base + name, base, **view) as visit:
                if settled:
                    fixtures.settle(visit.page)
                yield visit
                assert visit.outside == []
                assert troubled or (visit.missing, visit.errors) == ([], [])

        yield opened
