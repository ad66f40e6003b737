"""Slides: one reveal.js deck for each chapter, made from the built page of the chapter by rule.

A deck has no text of its own. What becomes a slide: the title; what a reader will be able to do; each section with its
number, its heading and its first paragraph; and in it every definition and theorem, every numbered formula, every
figure and every question, in the order of the page; at the end the take-away. Code, proofs, tables, exercises and their
solutions stay on the page. The speaker's notes are the paragraphs of the page before a formula and after anything else,
and what the chapter's teaching notes plan for the section.

A deck loads what its page loads, so its charts and explorers are alive, also from a folder without a server.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from copy import copy
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from flatcube import processes
from flatcube.press import notebook, site, teaching

__all__ = ["FOLDER", "build", "deck", "stacks"]

FOLDER = "slides"  # in the site
SHOWN = ".proof:not(.fc-proof), div.math[id], .fc-figure, .fc-question"
PASSED = (".exercise", ".fc-fold", "details", ".margin", "template")  # what is inside them stays on the page
LEFT_OUT = {"paper-and-page", "exercises", "limits"}
PAGE = """<!DOCTYPE html>
<html lang="en" class="fc-js" data-theme="light">
<head>
{links}
<title>{title}: slides</title>
<link rel="stylesheet" href="../_static/vendor/reveal/reveal.css" />
<link rel="stylesheet" href="../_static/flatcube/slides.css" />
<script defer src="../_static/vendor/reveal/reveal.js"></script>
<script defer src="../_static/vendor/reveal/notes.js"></script>
<script defer src="../_static/flatcube/loader.js"></script>
<script defer src="../_static/flatcube/slides.js"></script>
</head>
<body class="fc-deck">
<nav class="fc-deck-bar" aria-label="Deck">
<a href="../chapters/{slug}.html">The chapter</a>
<button type="button" class="fc-theme">Light or dark</button>
<button type="button" class="fc-overview">Overview</button>
<a href="?print-pdf">To print</a>
</nav>
<main class="reveal"><div class="slides">
{slides}
</div></main>
<div class="fc-answers" hidden></div>
</body>
</html>
"""


def build(root: Path) -> list[Path]:
    """Write the deck of every chapter of the built site, `slides/NN-name.html` beside its chapters."""
    where, made = site.built(root), []
    for chapter in notebook.chapters(root):
        target = where / FOLDER / f"{chapter.stem}.html"
        page = BeautifulSoup((where / "chapters" / target.name).read_text(encoding="utf-8"), "html.parser")
        processes.replace(target, deck(page, chapter.stem, teaching.planned(root, chapter.stem)).encode())
        made.append(target)
        print(f"{target.relative_to(root)}", file=sys.stderr)
    return made


def deck(page: BeautifulSoup, slug: str, planned: dict[str, list[str]] | None = None) -> str:
    """The deck of a chapter's built page; `planned` are the plan's lines for each section, by its number."""
    title = page.select_one("article h1")
    if title is None:
        raise ValueError(f"page: expected the page of the chapter {slug}, got one without a heading")
    slides = "\n".join(_stack(stack) for stack in stacks(page, planned or {}))
    kept = [tag for tag in page.head.select("meta[charset], meta[http-equiv], meta[name=viewport], link[rel=icon]")]
    kept += [tag for tag in page.head.select("link[rel=stylesheet]") if "cards.css" not in tag["href"]]
    links = "\n".join(str(tag) for tag in kept)
    return PAGE.format(links=links, title=html.escape(_words(title)), slug=slug, slides=_moved(slides, slug))


def stacks(page: BeautifulSoup, planned: dict[str, list[str]]) -> Iterator[list[tuple[str, list[str]]]]:
    """The deck as columns of slides, each slide its HTML and the paragraphs of its notes."""
    article = page.select_one("article")
    chapter = article.find("section")
    said = page.head.find("meta", attrs={"name": "description"})
    part = article.select_one(".fc-eyebrow")
    title = f'{_inner(part, "p")}{_inner(chapter.h1, "h1")}<p class="fc-lead">{html.escape(said["content"])}</p>'
    goals = chapter.select_one(":scope > .goals")
    opening = [(title, _paragraphs(chapter.h1, 2)), *_shown(chapter, deep=False)]
    if goals:
        opening.insert(1, (_goals(goals), []))
    yield opening
    for section in chapter.find_all("section", recursive=False):
        if section["id"] in LEFT_OUT:
            continue
        if section["id"] == "take-away":
            yield [(_inner(section.h2, "h2") + str(_clean(section.find(["ol", "ul"]))), [])]
            continue
        number = section.h2.select_one(".section-number")
        plan = planned.get(number.get_text(strip=True), []) if number else []
        first = section.find("p", recursive=False)
        lead = f'<div class="fc-opening">{_clean(first)}</div>' if first else ""
        notes = [html.escape(line) for line in plan] + _paragraphs(first or section.h2, 1)
        yield [(_inner(section.h2, "h2") + lead, notes), *_shown(section, deep=True)]


def _shown(section: Tag, *, deep: bool) -> Iterator[tuple[str, list[str]]]:
    """The slides of what a section shows; of the chapter itself only what stands outside its sections."""
    for found in section.select(SHOWN):
        around = [parent for parent in found.parents if isinstance(parent, Tag)]
        inner = next(parent for parent in around if parent.name == "section")
        passed = any(parent.css.match(selector) for parent in around for selector in PASSED)
        if passed or not (deep or inner is section):
            continue
        if found.find_parent(class_=["proof", "fc-figure", "fc-question"]) or _is_proof(found):
            continue
        block = next(block for block in [found, *around] if block.parent.name == "section")
        notes = _paragraphs(block, 1, back="math" in found["class"])
        yield str(_clean(found)), notes


def _is_proof(found: Tag) -> bool:
    """Whether it is a proof in stages, which is an exercise and too long for a slide."""
    return "fc-question" in found["class"] and '"kind":"proof"' in str(found.script)


def _paragraphs(block: Tag, count: int, *, back: bool = False) -> list[str]:
    """Up to `count` paragraphs of the page that follow a block at once, or stand before it."""
    beside = block.find_previous_siblings() if back else block.find_next_siblings()
    found = []
    for tag in beside:
        if tag.name != "p" or len(found) == count:
            break
        found.append(" ".join(_spoken(tag).split()))
    return [html.escape(words) for words in found]


def _spoken(tag: Tag) -> str:
    """A paragraph as words; a formula in the letters of its MathML."""
    tag = copy(tag)
    for formula in tag.select("mjx-container"):
        formula.replace_with("".join(formula.select_one("mjx-assistive-mml").get_text().split()))
    for mark in tag.select(".headerlink, .fc-mark-of-claim"):
        mark.decompose()
    return tag.get_text()


def _goals(goals: Tag) -> str:
    title = _words(goals.select_one(".admonition-title"))
    return f"<h2>{html.escape(title)}</h2>{_clean(goals.find(['ol', 'ul']))}"


def _inner(tag: Tag | None, name: str) -> str:
    return f"<{name}>{_clean(tag).decode_contents()}</{name}>" if tag else ""


def _clean(tag: Tag) -> Tag:
    """A copy without links to itself."""
    tag = copy(tag)
    for link in tag.select(".headerlink"):
        link.decompose()
    return tag


def _words(tag: Tag) -> str:
    return " ".join(_clean(tag).get_text().split())


def _stack(slides: list[tuple[str, list[str]]]) -> str:
    rows = []
    for shown, notes in slides:
        aside = "".join(f"<p>{line}</p>" for line in notes)
        rows.append(
            f'<section><div class="fc-slide fc-page">{shown}</div>'
            + (f'<aside class="notes">{aside}</aside>' if aside else "")
            + "</section>"
        )
    inside = "\n".join(rows)
    return inside if len(rows) == 1 else f"<section>\n{inside}\n</section>"


def _moved(text: str, slug: str) -> str:
    """The links of a chapter's page, from a deck: other chapters, and places that are not on the slides."""
    text = re.sub(r'href="#(?=[^"]+")', f'href="../chapters/{slug}.html#', text)
    return re.sub(r'href="(?![a-z]+:|\.\./|#)', 'href="../chapters/', text)
