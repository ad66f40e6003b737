"""Cards: what stands at the other end of a link, shown beside it.

When a page is written, `gather` keeps what links may lead to: rows of the ledger, theorems, exercises, formulas,
figures, symbols, entries of the bibliography. When all are written, `deal` puts into each page the cards of its own
links, in a `template` that does nothing by itself; the script `theme/cards.js` shows one on hover, focus and tap.
Without scripts a link is a link.
"""

from __future__ import annotations

import copy
import html
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

__all__ = ["Card", "gather", "deal"]

_LINK = re.compile(r"<a\b[^>]*?\bhref=\"(?P<href>[^\"#]*#[^\"]+)\"[^>]*>")
_ROWS = re.compile(r'\bdata-rows="([^"]+)"')
_TITLE = re.compile(r'\s(?:title|data-rows)="[^"]*"')
_END = "</article>"


@dataclass(frozen=True)
class Card:
    """What a card says, as HTML, and the words of the link below it; a row of the ledger needs none on its own page."""

    text: str
    link: str
    elsewhere: bool = False


def gather(soup: BeautifulSoup, page: str) -> dict[str, Card]:
    """The cards for all places of a page, by the address `page.html#id`."""
    return {
        f"{page}.html#{found['id']}": make(found) for selector, make in KINDS.items() for found in soup.select(selector)
    }


def deal(text: str, page: str, cards: dict[str, Card]) -> str:
    """The finished page with the cards of its links; every other link stays as it is."""
    here, end, hands = f"{page}.html", text.rfind(_END), {}

    def address(href: str) -> str:
        path, _, place = html.unescape(href).partition("#")
        return f"{posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) if path else here}#{place}"

    def dealt(match: re.Match[str]) -> str:
        rows = found[1] if (found := _ROWS.search(match[0])) else match["href"]
        hand = [(href, cards[address(href)]) for href in html.unescape(rows).split() if address(href) in cards]
        if not hand or "headerlink" in match[0] or any(c.elsewhere and address(h).startswith(here) for h, c in hand):
            return match[0]
        number = hands.setdefault(rows, (len(hands), hand))[0]
        return f'{_TITLE.sub("", match[0])[:-1]} data-card="{number}">'

    start = text.find("<main")
    if min(start, end) < 0:
        return text
    body = _LINK.sub(dealt, text[start:end])
    inside = "".join(f"<div>{''.join(_entry(href, card) for href, card in hand)}</div>" for _, hand in hands.values())
    return text[:start] + body + (f'<template id="fc-cards">{inside}</template>' if hands else "") + text[end:]


def _entry(href: str, card: Card) -> str:
    return f'<section>{card.text}<p><a href="{html.escape(href)}">{html.escape(card.link)}</a></p></section>'


# --- what cards say ---------------------------------------------------------------------------------------------------


def _inner(tag: Tag) -> str:
    """What is in an element, without anything that can be pressed or that is there once only."""
    tag = copy.copy(tag)
    for extra in tag.select("script, button, .headerlink"):
        extra.decompose()
    for link in tag.select("a"):
        link.unwrap()
    for part in tag.find_all(id=True):
        del part["id"]
    return tag.decode_contents(formatter="minimal").strip()


def _claim(row: Tag) -> Card:
    """The claim in words and its verdict."""
    name, status, said = row.select_one("th a"), row.select_one(".fc-status"), row.select_one("td p")
    return Card(f"<p><b>{_inner(name)}</b> {status}</p><p>{_inner(said)}</p>", "Show it in the ledger", elsewhere=True)


def _erratum(row: Tag) -> Card:
    """What is printed and what is right."""
    name, status = row.select_one("th a"), row.select_one(".fc-status")
    said = "".join(f"<p>{_inner(part)}</p>" for part in row.select("td p")[1:3])
    return Card(f"<p><b>Erratum {_inner(name)}</b> {status}</p>{said}", "Show it among the errata", elsewhere=True)


def _box(box: Tag) -> Card:
    """A theorem or an exercise in full."""
    title, body = box.select_one(".admonition-title"), copy.copy(box)
    body.select_one(".admonition-title").decompose()
    name = title.select_one(".caption-number") or title
    return Card(f"<p><b>{_inner(title)}</b></p>{_inner(body)}", f"Go to {name.get_text(strip=True)}")


def _formula(formula: Tag) -> Card:
    body = copy.copy(formula)
    number = body.select_one(".eqno").extract().get_text().strip("#¶ \n")
    return Card(f'<div class="math">{_inner(body)}</div>', f"Go to formula {number}")


def _figure(figure: Tag) -> Card:
    name = figure.select_one("p > b").get_text()
    return Card(f"<p><b>{name}</b></p><p>{html.escape(figure['data-title'])}</p>", f"Go to {name}")


def _symbol(row: Tag) -> Card:
    symbols, meaning = (_inner(cell.select_one("p") or cell) for cell in row.select("td")[:2])
    return Card(f"<p>{symbols}: {meaning}</p>", "Show it on the page Notation")


def _source(entry: Tag) -> Card:
    return Card(f"<p>{_inner(entry.select_one('p'))}</p>", "Show it in the bibliography")


KINDS: dict[str, Callable[[Tag], Card]] = {
    'tr[id^="claim-"]': _claim,
    'tr[id^="erratum-"]': _erratum,
    ".admonition:is(.proof, .exercise)[id]": _box,
    'div.math[id^="equation-"]:has(.eqno)': _formula,
    ".fc-figure[id]": _figure,
    'tr[id^="symbol-"]': _symbol,
    ".citation[id]": _source,
}
