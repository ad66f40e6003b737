"""The prose of a chapter as plain Markdown, for readers' notebooks: what only the site understands is written out.

Computed numbers, citations with a list of references, boxes with the site's numbers, notes in the margin as quotes,
links to other chapters as links to their notebooks.
"""

from __future__ import annotations

import functools
import html
import re
from typing import Any

from flatcube.press import boxes, marks, symbols
from flatcube.press.book import Book

__all__ = ["Text", "plain", "escaped"]

_ROLE = re.compile(r"\{(?P<name>[a-z][\w:-]*)\}`(?P<content>[^`]+)`")
_LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]+)\]\((?P<target>[\w./#-]+)\)")
_TARGET = re.compile(r"^\([\w-]+\)=\n?", re.MULTILINE)
_HEADING = re.compile(r"^## (?=\S)", re.MULTILINE)
_BLOCK = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s))")  # paragraphs, and items of a list
_POINTER = re.compile(r"\{(?:claim|erratum)\}`[^`]+`")
_QUIET = re.compile(rf"(?P<sign>[.,;:!?]?){marks.OPEN}(?P<roles>{marks.ROLE}+){marks.CLOSE}(?P<inside>(?=\)))?")


class Text:
    """Turns the prose of one chapter into plain Markdown, cell by cell, and keeps what it has cited."""

    def __init__(self, book: Book, chapter: str, numbers: dict[str, str]) -> None:
        self.book, self.chapter, self.numbers = book, chapter, numbers
        self.counted, self.sections = boxes.Numbers(int(chapter[:2])), 0
        self.cited: dict[str, None] = {}
        self.claims: dict[str, None] = {}
        self.errata: dict[str, None] = {}

    def plain(self, source: str) -> str:
        """The Markdown of a cell without anything that only the site understands."""
        return "\n\n".join(filter(None, (self._piece(piece) for piece in boxes.pieces(source))))

    def _piece(self, piece: str | boxes.Box) -> str:
        if isinstance(piece, boxes.Box):
            return self._box(piece)
        if piece.startswith("```"):
            return piece
        text = boxes.FORMULA.sub(self._formula, _TARGET.sub("", _ROLE.sub(self._role, self._quiet(piece))))
        return _HEADING.sub(self._heading, _LINK.sub(self._link, text)).strip("\n")

    def _formula(self, match: re.Match[str]) -> str:
        """With the number of the site, if it has one: without the star JupyterLab's MyST counts it once more."""
        tag = rf"\tag{{{self.counted.formula()}}}" if match["label"] else ""
        return rf"$$\begin{{equation*}}{match['tex']}{tag}\end{{equation*}}$$"

    def _heading(self, match: re.Match[str]) -> str:
        self.sections += 1
        return f"## {int(self.chapter[:2])}.{self.sections} "

    # boxes

    def _box(self, box: boxes.Box) -> str:
        name = self.counted.number(box)
        title, body = self.plain(box.title), self.plain(box.body)
        if box.name == "margin":
            return _quoted(body)
        if box.name == "exercise":
            return f"### {name} · {title}\n\n{body}"
        if box.name == boxes.PROOF:
            return f"*Proof.* {body} □"
        if box.name.startswith("prf:"):
            return f"**{name}{f' ({title})' if title else ''}.** {body}"
        if box.name in ("admonition", "note", "tip", "warning", "important", "hint", "dropdown", "seealso"):
            return f"**{title or name}**\n\n{body}"
        raise ValueError(f"{self.chapter}: the directive {box.name!r} has no plain form; press/prose.py gives one")

    # roles and links

    def _quiet(self, piece: str) -> str:
        """The prose with each remark on claims and errata in parentheses, before the sign that ends its clause."""
        return "".join(block if block.startswith("|") else self._settled(block) for block in _BLOCK.split(piece))

    def _settled(self, block: str) -> str:
        roles = iter(_POINTER.findall(block))
        settled = marks.settled(_POINTER.sub(marks.ROLE, block))
        remarks = _QUIET.sub(_remark, settled)
        remarks = remarks[1:] if settled.startswith(marks.OPEN) else remarks
        return re.sub(marks.ROLE, lambda found: next(roles), remarks)

    def _role(self, match: re.Match[str]) -> str:
        name, content = match["name"], match["content"]
        kind = {"glue:text": self._number, "cite:t": self._cite_in_text, "cite": self._cite, "cite:p": self._cite,
                "claim": self._claim, "erratum": self._erratum, "prf:ref": self._reference, "ref": self._reference,
                "numref": self._reference, "eq": self._reference, "fig": self._figure, "sym": self._symbol,
                "math": "${}$".format}.get(name)  # fmt: skip
        if kind is None:
            raise ValueError(f"{self.chapter}: the role {name!r} has no plain form; press/prose.py gives one")
        return kind(content)

    def _number(self, name: str) -> str:
        if name not in self.numbers:
            raise ValueError(f"{self.chapter}: no cell glues {name!r}; there are {', '.join(self.numbers)}")
        return str(self.numbers[name])

    def _cite_in_text(self, keys: str) -> str:
        names = [self._named(key) for key in keys.split(",")]
        return " and ".join(f"{who} ({year})" for who, year in names)

    def _cite(self, keys: str) -> str:
        return f"({'; '.join(', '.join(self._named(key)) for key in keys.split(','))})"

    def _named(self, key: str) -> tuple[str, str]:
        """Who wrote it, and when: ("Hahn and Rofin", "2024")."""
        key = key.strip()
        if key not in self.book.bibliography:
            raise ValueError(f"{self.chapter}: references.bib has no {key!r}")
        self.cited[key] = None
        return _authors(self.book.bibliography[key]), self.book.bibliography[key].fields["year"]

    def _claim(self, ids: str) -> str:
        found = [id.strip() for id in ids.split(",")]
        self.claims |= dict.fromkeys(found)
        return ", ".join(self.book.link(id, f"claims.html#claim-{id}") for id in found)

    def _erratum(self, numbers: str) -> str:
        found = [number.strip() for number in numbers.split(",")]
        self.errata |= dict.fromkeys(found)
        return ", ".join(self.book.link(f"erratum {number}", f"errata.html#erratum-{number}") for number in found)

    def _reference(self, content: str) -> str:
        words, label = re.fullmatch(r"(?:(.*?)\s*<)?([\w-]+)>?", content).groups()
        if label not in self.book.labels:
            raise ValueError(f"{self.chapter}: no box and no formula has the label {label!r}")
        chapter, name = self.book.labels[label]
        return self._there(words or name, chapter)

    def _there(self, words: str, chapter: str) -> str:
        return words if chapter == self.chapter else f"[{words}]({chapter}.ipynb)"

    def _figure(self, label: str) -> str:
        if label not in self.book.figures:
            raise ValueError(f"{self.chapter}: no figure has the label {label!r}")
        figure = self.book.figures[label]
        return self._there(figure.name, figure.chapter)

    def _symbol(self, symbol: str) -> str:
        if symbol not in self.book.symbols:
            raise ValueError(f"{self.chapter}: {symbols.PAGE}.md lists no symbol {symbol!r}")
        return self.book.link(symbols.written(symbol), f"{symbols.PAGE}.html#{self.book.symbols[symbol]}")

    def _link(self, match: re.Match[str]) -> str:
        page, _, label = match["target"].partition("#")
        page = page.removesuffix(".md").removesuffix(".ipynb")
        if page in self.book.chapters:
            return f"[{match['words']}]({page}.ipynb)"
        if not page and label in self.book.labels:
            return self._reference(f"{match['words']} <{label}>")
        if (self.book.root / "chapters" / f"{page}.md").exists():
            return self.book.link(match["words"], f"{page}.html" + (f"#{label}" if label else ""))
        raise ValueError(f"{self.chapter}: the link to {match['target']!r} leads nowhere")

    # what is listed at the end

    def lists(self) -> str:
        """The references, and what each cited claim and erratum says."""
        claims = [f"- {self.book.link(id, f'claims.html#claim-{id}')}: {escaped(self.book.claims[id].claim)}"
                  for id in sorted(self.claims)]  # fmt: skip
        errata = [f"- {self._erratum(number)}: {escaped(self.book.errata[number].right)}"
                  for number in sorted(self.errata, key=int)]  # fmt: skip
        cited = sorted(self.cited, key=lambda key: [word.casefold() for word in self._named(key)])
        references = [f"- {_entry(self.book.bibliography[key])}" for key in cited]
        parts = {"References": references, "Claims and errata": claims + errata}
        return "\n\n".join(f"## {title}\n\n" + "\n".join(rows) for title, rows in parts.items() if rows)


def plain(source: str, book: Book, chapter: str, numbers: dict[str, str] | None = None) -> str:
    """The Markdown of one cell without anything that only the site understands."""
    return Text(book, chapter, numbers or {}).plain(source)


def _remark(mark: re.Match[str]) -> str:
    """A quiet mark in words: in parentheses, or behind a comma where it stands in parentheses already."""
    words = ", ".join(mark["roles"])
    return f"{f', {words}' if mark['inside'] is not None else f' ({words})'}{mark['sign']}"


def _quoted(text: str) -> str:
    """Paragraphs as a quote, each in one line: a formula that is cut by the mark of a quote does not show."""
    paragraphs = [" ".join(paragraph.split("\n")) for paragraph in re.split(r"\n{2,}", text)]
    return "\n>\n".join(f"> {paragraph}" for paragraph in paragraphs)


def escaped(text: str) -> str:
    """A sentence of the ledger, which is plain text: nothing in it is markup."""
    return re.sub(r"([\\`*_\[\]$<>|])", r"\\\1", " ".join(text.split()))


# --- the bibliography -------------------------------------------------------------------------------------------------


def _authors(entry: Any) -> str:
    """The family names as a sentence has them: one, two with "and", or the first with "et al."."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    names = [_unlatex(" ".join([*person.prelast_names, *person.last_names])) for person in people]
    return " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."


def _entry(entry: Any) -> str:
    """A line of the list of references."""
    style, backend = _style()
    formatted = next(iter(style.format_entries([entry]))).text.render(backend)
    return html.unescape(re.sub(r"\\([.\-()!#+])", r"\1", " ".join(formatted.split())))


@functools.cache
def _style() -> tuple[Any, Any]:
    """How pybtex sets an entry, and how it writes Markdown; looking them up takes a while."""
    from pybtex.backends.markdown import Backend
    from pybtex.style.formatting.plain import Style

    return Style(), Backend()


def _unlatex(text: str) -> str:
    from pybtex.richtext import Text as Rich

    return str(Rich.from_latex(text))
