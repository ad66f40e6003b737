"""What the front page computes: the list of chapters, the cast of functions, the state of the ledger."""

from __future__ import annotations

import csv
import html
import json
import posixpath
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from flatcube import cast, cube, fourier
from flatcube.classroom import claims, explorers
from flatcube.press import notebook, pages

__all__ = ["DIRECTIVES", "plan", "picture"]

NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII")
# Where flipping x_1, x_2, x_3 moves a point of the drawing.
AXES = np.array([[58.0, 11.0], [27.0, -21.0], [0.0, -56.0]])


def plan(folder: Path = claims.DATA) -> list[dict[str, str]]:
    """The chapters in order: number, slug, title, part with its numeral, blurb, and the room of those that exist.

    A chapter that exists says all this itself, in its text and by its place in the table of contents beside `folder`;
    `plan.csv` lists those still to come.
    """
    written = {row["slug"]: row for row in _written(folder.parent)}
    with open(folder / "plan.csv", encoding="utf-8", newline="") as file:
        rows = [*written.values(), *(row for row in csv.DictReader(file) if row["slug"] not in written)]
    rows.sort(key=lambda row: int(row["number"]))
    parts = list(dict.fromkeys(row["part"] for row in rows))
    return [row | {"numeral": NUMERALS[parts.index(row["part"])]} for row in rows]


def _written(root: Path) -> Iterator[dict[str, str]]:
    """What the chapters of the book in `root` say of themselves."""
    contents = root / "_toc.yml"
    parts = (yaml.safe_load(contents.read_text(encoding="utf-8")) or {}).get("parts", []) if contents.exists() else []
    place = {entry["file"]: part["caption"] for part in parts for entry in part["chapters"]}
    for chapter in notebook.chapters(root):
        said, number = notebook.front_matter(chapter), str(int(chapter.stem[:2]))
        said = {key: said.get(key, "") for key in ("room", "blurb")}
        part = place.get(f"chapters/{chapter.stem}", "")
        yield {"number": number, "slug": chapter.stem, "title": notebook.title(chapter), "part": part, **said}


def picture(table: np.ndarray, label: str) -> str:
    """The cube for n = 3 as SVG: points blue for −1 and orange for +1, edges dark where their ends differ."""
    bits = cube.to_bits(cube.points(3))  # (8, 3)
    places = bits @ AXES + (17, 95)  # (8, 2)
    edges, points = [], []
    for k, m in combinations(range(8), 2):
        if (k ^ m).bit_count() == 1:
            (x1, y1), (x2, y2) = places[k], places[m]
            change = abs(float(table[k]) - float(table[m])) / 2
            edges.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" style="--change:{change:.2f}"/>')
    for (x, y), value in zip(places, table, strict=True):
        look = f'class="fc-{"minus" if value < 0 else "plus"}" style="--weight:{abs(float(value)):.0%}"'
        points.append(f'<circle {look} cx="{x:g}" cy="{y:g}" r="7.5"/>')
    return (
        f'<svg class="fc-cube" viewBox="0 0 120 124" role="img" aria-label="{html.escape(label)}">'
        f"<g>{''.join(edges)}</g>{''.join(points)}</svg>"
    )


class OnPage(SphinxDirective):
    """An explorer on a Markdown page: its name as argument, its state as JSON in the body."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        figure = explorers.explorer(self.arguments[0])
        figure.state = json.loads("\n".join(self.content) or "{}")
        payload = {"element": "explorer", "name": figure.name, "label": figure.label, "state": figure.state}
        bundle = {pages.ELEMENT: payload, "text/html": figure.picture(figure.state)}
        return [nodes.raw("", pages.element(bundle)["text/html"], format="html")]


class Cast(SphinxDirective):
    """The four functions that travel through the book, drawn on three bits with their average sensitivity."""

    def run(self) -> list[nodes.Node]:
        items = []
        degrees = np.array([mask.bit_count() for mask in range(8)])
        for name in cast.NAMES:
            table = cast.table(name, 3)
            average = Fraction(float(degrees @ fourier.transform(table) ** 2)).limit_denominator(100)
            label = f"{name} on the eight points of the cube"
            items.append(f"<li>{picture(table, label)}<b>{name}</b> <span>average sensitivity {average}</span></li>")
        return [nodes.raw("", f'<ul class="fc-cast">{"".join(items)}</ul>', format="html")]


class BookParts(SphinxDirective):
    """The parts with their chapters; one that is not in the book yet has no link."""

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the list depends on which pages exist
        parts: dict[tuple[str, str], list[str]] = {}
        for row in plan():
            parts.setdefault((row["numeral"], row["part"]), []).append(self._chapter(row))
        text = "".join(
            f'<section class="fc-part"><h3><small>Part {numeral}</small> {html.escape(title)}</h3>'
            f"<ol>{''.join(items)}</ol></section>"
            for (numeral, title), items in parts.items()
        )
        return [nodes.raw("", f'<div class="fc-parts">{text}</div>', format="html")]

    def _chapter(self, row: dict[str, str]) -> str:
        name = posixpath.join(posixpath.dirname(self.env.docname), row["slug"])
        title, blurb = html.escape(row["title"]), html.escape(row["blurb"])
        if name in self.env.found_docs:
            address = self.env.app.builder.get_relative_uri(self.env.docname, name)
            title = f'<a href="{html.escape(address)}">{title}</a>'
        else:
            title = f"{title} <small>in preparation</small>"
        return f"<li><i>{row['number']}</i> <b>{title}</b> <span>{blurb}</span></li>"


class LedgerCounts(SphinxDirective):
    """How many claims of the literature the book lists, what their verdicts rest on, and how they came out."""

    FAMILIES = {"tested": "checked"} | dict.fromkeys(("same setting", "smaller scale", "stand-in data"), "measured")

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the counts follow data/evidence.json
        entries = claims.ledger()
        bar, rows = "", ""
        for ground, count in claims.grounds(entries).items():
            if not count and ground == "cannot be judged":
                continue
            family = self.FAMILIES.get(ground, "open")
            bar += f'<span class="fc-{family}" style="flex-grow:{count}"></span>' if count else ""
            address = f"claims.html?ground={ground.replace(' ', '+')}"
            words = f'<a href="{address}">{ground}</a><small>{self._ends(entries, ground)}</small>'
            rows += f'<div class="fc-{family}"><dt>{words}</dt><dd>{count}</dd></div>'
        text = (
            f'<div class="fc-ledger"><p><b>{len(entries)}</b> claims from {len(claims.SOURCES)} papers</p>'
            f'<div class="fc-ledger-bar" aria-hidden="true">{bar}</div><dl>{rows}</dl></div>'
        )
        return [nodes.raw("", text, format="html")]

    def _ends(self, entries: list[claims.Entry], ground: str) -> str:
        """How the claims on one ground came out, or what the ground is where there is no verdict."""
        counts = claims.counts(entry for entry in entries if entry.ground == ground)
        found = {status: counts[status] for status in claims.STATUSES if counts[status]}
        if set(found) <= {ground}:
            return claims.GROUNDS[ground]
        return ", ".join(f"{count} {_SHORT.get(status, status)}" for status, count in found.items())


_SHORT = {  # verdicts where the ground is said already
    "holds": "hold",
    "holds with a correction": "hold with a correction",
    "holds at our scale": "hold",
    "holds in part at our scale": "hold in part",
    "does not hold at our scale": "do not hold there",
    "a trend on stand-in data": "show the trend",
    "a part of the trend on stand-in data": "show a part of it",
    "no such trend on stand-in data": "do not show it",
}


DIRECTIVES = {"explorer": OnPage, "cast": Cast, "book-parts": BookParts, "ledger-counts": LedgerCounts}
