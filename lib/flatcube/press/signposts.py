"""What leads to the pages, as a Sphinx extension: descriptions, a card for links, a map of the site, a page for lost
readers, a link for hubs, and a search that knows words instead of LaTeX.

Other sites and search engines want absolute addresses. Where `_config.yml` has no address of the published site, what
needs one is left out; everything else works from a folder.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import sphinx.search
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flatcube import processes
from flatcube.press import front

__all__ = ["Words", "HubLink", "description", "card", "setup"]

CARD = "_static/flatcube/card.png"
LONGEST = 200  # characters of a description
PROMISE = "Why do transformers learn some functions and not others? An interactive textbook whose theorems run."
MARK = (Path(__file__).parent / "theme" / "templates" / "mark.svg").read_text(encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Put descriptions on every page, write what stands beside the pages, and keep formulas out of the search."""
    sphinx.search.IndexBuilder = Words
    app.add_directive("hub-link", HubLink)
    app.connect("html-page-context", _describe, priority=950)
    app.connect("build-finished", _write, priority=950)  # after unused files are gone
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Words(sphinx.search.IndexBuilder):
    """The index of words for the search: no words of formulas, nobody looks for `mathbb`, and none across two tags."""

    def feed(self, docname: str, filename: str, title: str, doctree: nodes.document) -> None:
        bare = doctree.deepcopy()
        for formula in [node for node in bare.findall() if isinstance(node, nodes.math | nodes.math_block)]:
            formula.parent.remove(formula)
        for raw in bare.findall(nodes.raw):  # Sphinx takes its tags out: two cells of a table would be one word
            raw.children = [nodes.Text(raw.astext().replace("<", " <"))]
        super().feed(docname, filename, title, bare)


class HubLink(SphinxDirective):
    """The link that brings a student's copy of the book up to date and opens it on a hub (nbgitpuller's form)."""

    def run(self) -> list[nodes.Node]:
        given = self.config.html_theme_options
        repository = given.get("repository_url") or "https://github.com/OWNER/NAME"
        folder = repository.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
        asked = {
            "repo": repository,
            "branch": given.get("repository_branch") or "main",
            "urlpath": f"lab/tree/{folder}/chapters/notebooks/01-fourier.ipynb",
        }
        text = f"https://HUB/hub/user-redirect/git-pull?{urlencode(asked)}"
        return [nodes.literal_block(text, text, language="text")]


def description(pagename: str, doctree: nodes.Node | None) -> str:
    """One sentence or two: what the plan says of a chapter, or the first paragraph without a formula."""
    slug = posixpath.basename(pagename)
    said = next((row["blurb"] for row in front.plan() if row["slug"] == slug), "")
    paragraphs = doctree.findall(nodes.paragraph) if doctree else ()
    plain = (part.astext() for part in paragraphs if not any(part.findall(nodes.math)))
    words = " ".join((said or next(plain, PROMISE)).split())
    return words if len(words) <= LONGEST else words[:LONGEST].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _describe(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """The lines in the head of a page that search engines and other sites read."""
    base, words = _base(app), description(pagename, doctree)
    title = re.sub(r"<[^>]*>", "", str(context.get("title") or app.config.project))
    book = {"og:type": "website", "og:site_name": app.config.project, "og:title": title, "og:description": words}
    if base:
        book |= {"og:url": context.get("pageurl") or base, "og:image": base + CARD}
        book |= {"twitter:card": "summary_large_image"}
    lines = [f'<meta name="description" content="{html.escape(words)}" />']
    lines += [f'<meta property="{key}" content="{html.escape(html.unescape(value))}" />' for key, value in book.items()]
    context["metatags"] = context.get("metatags", "") + "\n    " + "\n    ".join(lines)


def _base(app: Sphinx) -> str:
    """The address of the published site with a slash at its end, or nothing."""
    given = (app.config.html_baseurl or "").rstrip("/")
    return given and f"{given}/"


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    site, base = Path(app.outdir), _base(app)
    robots = "User-agent: *\nAllow: /\n"
    if base:
        robots += f"Sitemap: {base}sitemap.xml\n"
        pages = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
        places = "".join(f"<url><loc>{html.escape(base + page)}</loc></url>\n" for page in pages)
        head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        processes.replace(site / "sitemap.xml", f"{head}{places}</urlset>\n".encode())
        processes.replace(site / CARD, card(app.config.project))
    processes.replace(site / "robots.txt", robots.encode())
    home = app.builder.get_target_uri(app.config.root_doc)
    processes.replace(site / "404.html", _lost(app.config.project, base, home))


def _lost(book: str, base: str, home: str) -> bytes:
    """The page for an address that does not exist. It may be shown at any depth, so it loads nothing."""
    style = (
        ":root{color-scheme:light dark}html{background:light-dark(#fbf8f1,#1b1815);color:light-dark(#241f1a,#ece5d9)}"
        "body{max-width:34rem;margin:15vh auto;padding:0 1.2rem;"
        "font:1.15rem/1.6 Georgia,serif}a{color:light-dark(#7b2a59,#e6a6cb)}"
    )
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>No such page</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<style>{style}</style></head><body><main><h1>There is no such page</h1>"
        f"<p>The address has a slip in it, or the page has moved. <a href=\"{base}{home}\">The front page</a> of "
        f"<cite>{html.escape(book)}</cite> lists all chapters, and the <a href=\"{base}search.html\">search</a> "
        "knows every word of them.</p></main></body></html>\n"
    )
    return text.encode()


def card(title: str) -> bytes:
    """A picture of 1200 × 630 points for links to the book, as PNG: its mark, its title, its question."""
    import vl_convert

    first, _, rest = title.partition(" on ")
    styles = {"basin": "#7b2a59", "edge": "#655c50", "minus": "#1c63bb", "plus": "#b45829"}
    mark = MARK
    for part, colour in styles.items():
        drawn = f'fill="none" stroke="{colour}" stroke-width="2"' if part in ("basin", "edge") else f'fill="{colour}"'
        mark = mark.replace(f'class="fc-mark-{part}"', drawn)
    rows = [(first, 88, 700, 250), (f"on {rest}" if rest else "", 56, 400, 330)]
    rows += [("Why do transformers learn", 36, 400, 440), ("some functions and not others?", 36, 400, 490)]
    words = "".join(
        f'<text x="490" y="{y}" font-size="{size}" font-weight="{weight}" fill="#241f1a">{html.escape(row)}</text>'
        for row, size, weight, y in rows
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630">'
        '<rect width="1200" height="630" fill="#fbf8f1"/>'
        f'<g transform="translate(70 125) scale(7.9)">{mark}</g><g font-family="serif">{words}</g></svg>'
    )
    return vl_convert.svg_to_png(svg)
