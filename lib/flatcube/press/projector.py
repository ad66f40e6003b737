"""Projector pages: every explorer of the book at an address of its own, over the whole screen and in large type.

The page `project/04-handmade-explorer.html` has one figure of chapter 4 and nothing else. What it shows stands in its
address, which follows the hand, so that notes can name it:
`project/04-handmade-explorer.html#handmade-explorer?beta=1.76`.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flatcube import processes

__all__ = ["FOLDER", "Projected", "found", "write"]

FOLDER = "project"  # in the site
_EXPLORER = re.compile(
    r'<div class="fc-explorer"[^>]*? id="(?P<place>[\w-]+)"[^>]*>\s*'
    r'<script type="application/json">(?P<json>.*?)</script>',
    re.DOTALL,
)
_KEPT = re.compile(r'<meta [^>]*http-equiv="Content-Security-Policy"[^>]*>|<link [^>]*(?:flatcube|elements)\.css[^>]*>')
PAGE = """<!DOCTYPE html>
<html lang="en" class="fc-js" data-theme="light">
<head>
<meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />
{kept}
<title>{title}: on the projector</title>
<link rel="icon" type="image/svg+xml" href="../_static/flatcube/favicon.svg" />
<link rel="stylesheet" href="../_static/flatcube/projector.css" />
<script defer src="../_static/flatcube/loader.js"></script>
<script defer src="../_static/flatcube/projector.js"></script>
</head>
<body class="fc-projector">
<header>
<h1>{title}</h1>
<nav aria-label="Projector">
<a href="../{page}#{place}">In the chapter</a>
<button type="button" class="fc-theme">Light or dark</button>
<button type="button" class="fc-whole">Whole screen</button>
</nav>
</header>
<main class="fc-page">{explorer}</main>
</body>
</html>
"""


class Projected(NamedTuple):
    """An explorer of a page: its place there, its title, the HTML that begins it."""

    place: str
    title: str
    start: str


def found(page: str) -> Iterator[Projected]:
    """The explorers of a built page, in their order."""
    for match in _EXPLORER.finditer(page):
        yield Projected(match["place"], json.loads(match["json"])["label"], match[0])


def write(site: Path) -> list[Path]:
    """Write the projector pages of all explorers on the pages of `chapters/`; the loader knows their names, too."""
    made = []
    for path in sorted((site / "chapters").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        for place, title, start in found(text):
            chapter = re.match(r"\d\d(?=-)", path.name)
            made.append(site / FOLDER / f"{chapter[0] if chapter else path.stem}-{place}.html")
            words = {"title": html.escape(title), "page": path.relative_to(site).as_posix(), "place": place}
            kept = "\n".join(_KEPT.findall(text))
            page = PAGE.format(kept=kept, explorer=f"{start}</div>", **words)
            processes.replace(made[-1], page.encode())
    return made
