"""The book's own pages: its frame and styles, the front page's tables, and repairs of the HTML that Sphinx writes.

A Sphinx extension. The theme's frame, styles, scripts and icon fonts (2.4 MB a page) are not loaded: `theme/` replaces them.
"""

from __future__ import annotations

import csv
import html
import json
import posixpath
import re
from collections import Counter
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["setup", "plan", "ledger", "polish"]

THEME = Path(__file__).parent / "theme"
NUMERALS = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII")

# Files of the theme and of extensions that flatcube.css and site.js replace.
UNUSED = re.compile(
    r"styles/|scripts/|basic\.css|pygments\.css|togglebutton|copybutton|clipboard|mystnb|thebe|proof\.css|exercise\.css"
)
UNUSED_INLINE = re.compile(r"THEBE_JS_URL|toggle|DOCUMENTATION_OPTIONS\.(pagename|search_as_you_type)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register styles, scripts, templates, directives and the last touch of every page."""
    app.add_css_file("flatcube/flatcube.css", priority=800)
    app.add_css_file("flatcube/elements.css", priority=801)
    app.add_js_file("flatcube/site.js", priority=800, defer="defer")
    app.add_js_file("flatcube/loader.js", priority=801, defer="defer")
    app.add_directive("book-parts", BookParts)
    app.add_directive("ledger-counts", LedgerCounts)
    app.connect("config-inited", lambda app, config: config.templates_path.insert(0, str(THEME / "templates")))
    app.connect("html-page-context", dress, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def data_folder(source: Path) -> Path:
    """The `data` folder beside the pages, else the repository's."""
    near = source / "data"
    return near if (near / "plan.csv").exists() else Path(__file__).resolve().parents[3] / "data"


def plan(folder: Path) -> list[dict[str, str]]:
    """The rows of `plan.csv`, each with the `numeral` of its part."""
    with open(folder / "plan.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    parts = list(dict.fromkeys(row["part"] for row in rows))
    return [row | {"numeral": NUMERALS[1 + parts.index(row["part"])]} for row in rows]


def dress(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.Node | None) -> None:
    """Last touch of a page: only the files it needs, its place in the book, the repaired body."""
    body = context.get("body") or ""
    context["css_files"] = [file for file in context["css_files"] if _needed(file, body)]
    context["script_files"] = [file for file in context["script_files"] if _needed(file, body)]
    rows = plan(data_folder(Path(app.srcdir)))
    context["chapter"] = next((row for row in rows if row["slug"] == posixpath.basename(pagename)), None)
    source = context.get("sourcename") or ""
    context["notebook"] = source if source.endswith(".ipynb") else ""
    if body:
        context["body"] = polish(body)


def _needed(file: Any, body: str) -> bool:
    name = getattr(file, "filename", None) or ""
    if name.endswith(("sphinx-design.min.css", "design-tabs.js")):
        return "sd-" in body
    if not name:
        return not UNUSED_INLINE.search(str(file.attributes.get("body", "")))
    return not UNUSED.search(str(name))


def polish(body: str) -> str:
    """Repair what extensions write: folds that are real `details`, named tables, no repeated ids, no kernel scripts."""
    soup = BeautifulSoup(body, "html.parser")
    for repair in (_drop_scripts, _number_titles, _plain_sections, _fold, _summaries, _notes, _tables):
        repair(soup)
    return soup.decode(formatter="minimal")


def _drop_scripts(soup: BeautifulSoup) -> None:
    for script in soup.find_all("script"):
        if script.get("type") == "text/x-thebe-config" or "kernelName" in script.get_text():
            script.decompose()


def _number_titles(soup: BeautifulSoup) -> None:
    """In the chapter's title the number stands alone, without its full stop."""
    for number in soup.select("h1 > .section-number"):
        number.string = number.get_text().strip().rstrip(".") + " "


def _plain_sections(soup: BeautifulSoup) -> None:
    """Proofs and exercises repeat the ids `proof-content`, …: an id must be unique."""
    for section in soup.select(".admonition > section"):
        section.name = "div"
        section.attrs = {"class": "fc-body"}


def _fold(soup: BeautifulSoup) -> None:
    """A folded admonition becomes `details`, which needs no script and can be printed open."""
    for box in soup.select("div.admonition.dropdown, div.admonition.toggle"):
        title = box.find(class_="admonition-title", recursive=False)
        if title is None:
            continue
        for link in title.find_all("a"):
            link.unwrap()  # a link inside the fold's handle would be a button in a button
        box.name, title.name = "details", "summary"
        box["class"] = [c for c in box["class"] if c not in ("dropdown", "toggle")] + ["fc-fold"]


def _summaries(soup: BeautifulSoup) -> None:
    for summary in soup.select("details.hide > summary"):
        summary.attrs.pop("aria-label", None)  # its visible words are its name
        for words in summary.find_all("p"):
            words.name = "span"


def _notes(soup: BeautifulSoup) -> None:
    """Margin notes belong to their paragraph: notes, not landmarks of the page."""
    for note in soup.select("aside.margin, aside.sidebar"):
        note.name, note["role"] = "div", "note"
        for title in note.select(".sidebar-title"):
            if not title.get_text(strip=True):
                title.decompose()
    for list_ in soup.select("aside.footnote-list"):
        list_.name = "div"
        for footnote in list_.select("aside.footnote"):
            footnote.name = "div"


def _tables(soup: BeautifulSoup) -> None:
    """Tables scroll in a box of their own; an empty corner is no heading."""
    for table in soup.find_all("table"):
        for style in ("border", "style"):
            table.attrs.pop(style, None)
        for corner in table.find_all("th"):
            if not corner.get_text(strip=True) and not corner.find(True):
                corner.name = "td"
        box = table.parent
        if isinstance(box, Tag) and "pst-scrollable-table-container" in box.get("class", []):
            box["class"] = ["fc-table"]
        else:
            table.wrap(soup.new_tag("div", attrs={"class": "fc-table"}))


class BookParts(SphinxDirective):
    """The four parts with their chapters, from `data/plan.csv`; a chapter that is not in the book yet has no link."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the list depends on which pages exist
        rows = plan(data_folder(Path(self.env.srcdir)))
        parts: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            parts.setdefault((row["numeral"], row["part"]), []).append(self._chapter(row))
        text = "".join(
            f'<section class="fc-part"><h3><span>Part {numeral}</span> {html.escape(title)}</h3><ol>{"".join(items)}</ol></section>'
            for (numeral, title), items in parts.items()
        )
        return [nodes.raw("", f'<div class="fc-parts">{text}</div>', format="html")]

    def _chapter(self, row: dict[str, str]) -> str:
        name = posixpath.join(posixpath.dirname(self.env.docname), row["slug"])
        title, blurb = html.escape(row["title"]), html.escape(row["blurb"])
        if name in self.env.found_docs:
            address = self.env.app.builder.get_relative_uri(self.env.docname, name)
            title, state = f'<a href="{html.escape(address)}">{title}</a>', "fc-ready"
        else:
            title, state = f'{title} <small>in preparation</small>', "fc-planned"
        return f'<li class="{state}" value="{row["number"]}"><b>{title}</b> <span>{blurb}</span></li>'


def ledger(folder: Path) -> dict[str, int]:
    """Counts of the claims by verdict: `claims` in all, `checked`, `corrected` (errata), `open`."""
    with open(folder / "claims.csv", encoding="utf-8", newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    evidence = folder / "evidence.json"
    known = json.loads(evidence.read_text(encoding="utf-8")) if evidence.exists() else {}
    verdicts = Counter(known[name]["verdict"] for name in ids if name in known)
    return {"claims": len(ids), **verdicts, "open": len(ids) - sum(verdicts.values()) + verdicts["open"]}


class LedgerCounts(SphinxDirective):
    """How many claims of the literature the book lists, and what became of them so far."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the counts follow data/evidence.json
        counts = ledger(data_folder(Path(self.env.srcdir)))
        rows = "".join(f"<div><dt>{html.escape(word)}</dt><dd>{count}</dd></div>" for word, count in counts.items())
        return [nodes.raw("", f'<dl class="fc-ledger">{rows}</dl>', format="html")]
