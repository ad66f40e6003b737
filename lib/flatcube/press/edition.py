"""The readers' notebooks, `chapters/notebooks/NN-name.ipynb`: a chapter as plain Markdown that any Jupyter shows.

What only the site understands is written out: computed numbers, citations with a list of references, boxes with the
site's numbers, notes in the margin as quotes, links to other chapters as links to their notebooks. Code that the site
folds or removes is collapsed. The stored outputs are those with which fresh runs are compared.

A cell tagged `lab-only`, prose or code, stands in the readers' notebook and not on the page: it needs a kernel.
"""

from __future__ import annotations

import functools
import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat.v4 import new_markdown_cell

from flatcube.classroom import claims
from flatcube.classroom.glue import PREFIX
from flatcube.press import execute, figures, marks, notebook, symbols

__all__ = ["LAB_ONLY", "Book", "path", "fresh", "difference", "refresh", "make", "plain"]

LAB_ONLY = notebook.LAB_ONLY
TITLE = "Flat Minima on the Boolean Cube"

_FENCE = re.compile(r"(?P<fence>:{3,}|`{3,})(?:\{(?P<name>[\w:-]+)\}\s*(?P<title>.*)|\w*)")
_ROLE = re.compile(r"\{(?P<name>[a-z][\w:-]*)\}`(?P<content>[^`]+)`")
_LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]+)\]\((?P<target>[\w./#-]+)\)")
_TARGET = re.compile(r"^\([\w-]+\)=\n?", re.MULTILINE)
_FORMULA = re.compile(r"\$\$(?P<tex>.+?)\$\$(?: *\((?P<label>[\w-]+)\)$)?", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (?=\S)", re.MULTILINE)
_PROOF = "prf:proof"
_BLOCK = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s))")  # paragraphs, and items of a list
_POINTER = re.compile(r"\{(?:claim|erratum)\}`[^`]+`")
_QUIET = re.compile(rf"(?P<sign>[.,;:!?]?){marks.OPEN}(?P<roles>{marks.ROLE}+){marks.CLOSE}(?P<inside>(?=\)))?")


# --- the book ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Book:
    """What a chapter may refer to: the other chapters and pages, the bibliography, claims, and where the book is."""

    root: Path

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The file `_config.yml`; a book may have none."""
        file = self.root / "_config.yml"
        return yaml.safe_load(file.read_text(encoding="utf-8")) or {} if file.exists() else {}

    @property
    def repository(self) -> str:
        """Its address, or nothing if none is set."""
        return (self.config.get("repository") or {}).get("url", "").rstrip("/")

    @property
    def site(self) -> str:
        """The address of the published site, or nothing if none is set."""
        return ((self.config.get("html") or {}).get("baseurl") or "").rstrip("/")

    @functools.cached_property
    def chapters(self) -> list[str]:
        return [chapter.stem for chapter in notebook.chapters(self.root)]

    @functools.cached_property
    def labels(self) -> dict[str, tuple[str, str]]:
        """Every labelled box and formula: its chapter and what it is called, such as "Theorem 1.2" or "(1.3)"."""
        found = {}
        for chapter in notebook.chapters(self.root):
            boxes = Boxes(int(chapter.stem[:2]))
            for source in (cell.source for cell in notebook.read(chapter).cells if cell.cell_type == "markdown"):
                for box in _boxes(source):
                    found[box.options.get("label", "")] = chapter.stem, boxes.number(box)
                for label in filter(None, (formula["label"] for formula in _FORMULA.finditer(source))):
                    found[label] = chapter.stem, f"({boxes.formula()})"
        return found

    @functools.cached_property
    def figures(self) -> dict[str, figures.Figure]:
        return figures.labelled(self.root)

    @functools.cached_property
    def symbols(self) -> dict[str, str]:
        return symbols.listed(self.root / "chapters")

    @functools.cached_property
    def bibliography(self) -> dict[str, Any]:
        from pybtex.database import parse_file

        return dict(parse_file(str(self.root / "chapters" / "references.bib"), bib_format="bibtex").entries)

    @functools.cached_property
    def claims(self) -> dict[str, claims.Claim]:
        return claims.claims(self.root / "data")

    @functools.cached_property
    def errata(self) -> dict[str, claims.Erratum]:
        return {str(erratum.number): erratum for erratum in claims.errata(self.root / "data")}

    def link(self, words: str, page: str) -> str:
        """A link to a page of the site, or the words alone as long as it has no address."""
        return f"[{words}]({self.site}/chapters/{page})" if self.site else words


# --- making, comparing, refreshing ------------------------------------------------------------------------------------


def path(root: Path, chapter: Path) -> Path:
    """Where the readers' notebook of a chapter stands."""
    return root / "chapters" / "notebooks" / f"{chapter.stem}.ipynb"


def fresh(book: Book, chapter: Path) -> nbformat.NotebookNode:
    """The readers' notebook of a chapter after its last execution."""
    return make(book, chapter, execute.executed_copy(book.root, chapter))


def difference(book: Book, chapter: Path, now: nbformat.NotebookNode) -> str | None:
    """How the stored readers' notebook differs from the one of a fresh run, `now`, or None if they agree."""
    stored = path(book.root, chapter)
    return notebook.first_difference(notebook.read(stored), now) if stored.exists() else "it is not there"


def refresh(book: Book, chapter: Path) -> bool:
    """Write the readers' notebook of a chapter; outputs that agree with the stored ones stay. Whether any is new.

    Prose shows numbers of the outputs, so these are settled first.
    """
    stored, executed = path(book.root, chapter), execute.executed_copy(book.root, chapter)
    if not stored.exists():
        notebook.write(make(book, chapter, executed), stored)
        return True
    old = notebook.read(stored)
    kept = make(book, chapter, _settled(old, executed))
    notebook.write(kept, stored)
    return _outputs(old) != _outputs(kept)


def _outputs(of: nbformat.NotebookNode) -> list[list[dict]]:
    return [cell.outputs for cell in of.cells if cell.cell_type == "code"]


def _settled(stored: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The executed chapter with the stored outputs of code that has not changed, wherever the fresh ones agree."""
    code = [[cell for cell in each.cells if cell.cell_type == "code"] for each in (stored, executed)]
    known = {(cell.source, at): cell for at, cell in _counted(code[0])}
    for at, cell in _counted(code[1]):
        old = known.get((cell.source, at))
        if old and notebook.agree(old, cell):
            cell.outputs = old.outputs
    return executed


def _counted(cells: list[nbformat.NotebookNode]) -> Iterator[tuple[int, nbformat.NotebookNode]]:
    """Cells with the number of earlier ones that have the same source."""
    seen: Counter[str] = Counter()
    for cell in cells:
        yield seen[cell.source], cell
        seen[cell.source] += 1


def make(book: Book, chapter: Path, executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The readers' notebook of an executed chapter."""
    text, cells, captions = Text(book, chapter.stem, _numbers(executed)), [], _captions(chapter.stem, executed)
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell = new_markdown_cell(text.plain(cell.source))
            if not cells:
                cell.source = _opened(book, chapter, cell.source)
        else:
            _collapse(cell)
        cells.append(cell)
        if cell.cell_type == "code" and (found := captions.get(id(cell))):
            cells.append(new_markdown_cell("\n\n".join(found)))
    if lists := text.lists():
        cells.append(new_markdown_cell(lists))
    executed.cells = cells
    return notebook.clean(executed)


def _captions(chapter: str, executed: nbformat.NotebookNode) -> dict[int, list[str]]:
    """What stands below the cells with figures, by their identity: the numbers that the site gives them."""
    found: dict[int, list[str]] = {}
    for cell, _, figure in figures.numbered(chapter, executed):
        found.setdefault(id(cell), []).append(f"**{figure.name}.** {_typeset(figure.title)}".strip())
    return found


def _collapse(cell: nbformat.NotebookNode) -> None:
    """Hide the source that the site folds or removes, in the words of JupyterLab and VS Code, and of Colab."""
    tags = cell.metadata.get("tags", [])
    if not notebook.is_shown(cell):
        cell.metadata["jupyter"] = {"source_hidden": True}
        cell.metadata["cellView"] = "form"
        if {"remove-cell", "remove-output"} & set(tags):
            cell.metadata["jupyter"]["outputs_hidden"] = True


def _numbers(executed: nbformat.NotebookNode) -> dict[str, str]:
    """What the code has kept for the prose, by name."""
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    kept = [output for output in outputs if "scrapbook" in output.get("metadata", {})]
    return {o.metadata["scrapbook"]["name"]: yaml.safe_load(o.data[f"{PREFIX}text/plain"]) for o in kept}


def _opened(book: Book, chapter: Path, source: str) -> str:
    """The first cell, with the number of the chapter in its title and a sentence on how to run it."""
    number, home = int(chapter.stem[:2]), book.link(f"*{TITLE}*", f"{chapter.stem}.html")
    where = f"flatcube[torch,book] @ git+{book.repository}" if book.repository else ".[torch,book]"
    copy = "in a copy of the book's repository"
    note = (
        f"> This is chapter {number} of {home}. To run it, install the book's library: "
        f'`pip install "{where}"`{"" if book.repository else f" {copy}"}; or call `make lab` '
        f"{copy if book.repository else 'there'}, which also opens this notebook. *Run All* brings figures and "
        "questions to life. Code that draws or asks is folded: click the bar in its place to see it."
    )
    if not book.site:
        note += " Notation, claims and errata have pages of their own: `make book` builds them in `_build/html`."
    title, _, rest = source.partition("\n")
    return f"{title.replace('# ', f'# {number} ', 1)}\n\n{note}\n{rest}"


# --- prose ------------------------------------------------------------------------------------------------------------


@dataclass
class Box:
    """A directive: `:::{name} title`, its options and its body."""

    name: str
    title: str
    options: dict[str, str]
    body: str


@dataclass
class Boxes:
    """Counts the numbered boxes and formulas of a chapter, each kind by itself, as the site does."""

    chapter: int
    counts: Counter[str] = field(default_factory=Counter)

    def number(self, box: Box) -> str:
        """Such as "Theorem 1.2"; only the name of a box that has no number."""
        kind = box.name.removeprefix("prf:")
        if (not box.name.startswith("prf:") and kind != "exercise") or box.name == _PROOF or "nonumber" in box.options:
            return kind.capitalize()
        return f"{kind.capitalize()} {self._next(kind)}"

    def formula(self) -> str:
        """The number of the next formula that has a label."""
        return self._next("formula")

    def _next(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"{self.chapter}.{self.counts[kind]}"


class Text:
    """Turns the prose of one chapter into plain Markdown, cell by cell, and keeps what it has cited."""

    def __init__(self, book: Book, chapter: str, numbers: dict[str, str]) -> None:
        self.book, self.chapter, self.numbers = book, chapter, numbers
        self.boxes, self.sections = Boxes(int(chapter[:2])), 0
        self.cited: dict[str, None] = {}
        self.claims: dict[str, None] = {}
        self.errata: dict[str, None] = {}

    def plain(self, source: str) -> str:
        """The Markdown of a cell without anything that only the site understands."""
        return "\n\n".join(filter(None, (self._piece(piece) for piece in _pieces(source))))

    def _piece(self, piece: str | Box) -> str:
        if isinstance(piece, Box):
            return self._box(piece)
        if piece.startswith("```"):
            return piece
        text = _FORMULA.sub(self._formula, _TARGET.sub("", _ROLE.sub(self._role, self._quiet(piece))))
        return _HEADING.sub(self._heading, _LINK.sub(self._link, text)).strip("\n")

    def _formula(self, match: re.Match[str]) -> str:
        """With the number of the site, if it has one: without the star JupyterLab's MyST counts it once more."""
        tag = rf"\tag{{{self.boxes.formula()}}}" if match["label"] else ""
        return rf"$$\begin{{equation*}}{match['tex']}{tag}\end{{equation*}}$$"

    def _heading(self, match: re.Match[str]) -> str:
        self.sections += 1
        return f"## {int(self.chapter[:2])}.{self.sections} "

    # boxes

    def _box(self, box: Box) -> str:
        name = self.boxes.number(box)
        title, body = self.plain(box.title), self.plain(box.body)
        if box.name == "margin":
            return _quoted(body)
        if box.name == "exercise":
            return f"### {name} · {title}\n\n{body}"
        if box.name == _PROOF:
            return f"*Proof.* {body} □"
        if box.name.startswith("prf:"):
            return f"**{name}{f' ({title})' if title else ''}.** {body}"
        if box.name in ("admonition", "note", "tip", "warning", "important", "hint", "dropdown", "seealso"):
            return f"**{title or name}**\n\n{body}"
        raise ValueError(f"{self.chapter}: the directive {box.name!r} has no plain form; press/edition.py gives one")

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
            raise ValueError(f"{self.chapter}: the role {name!r} has no plain form; press/edition.py gives one")
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
        claims = [f"- {self.book.link(id, f'claims.html#claim-{id}')}: {_typeset(self.book.claims[id].claim)}"
                  for id in sorted(self.claims)]  # fmt: skip
        errata = [f"- {self._erratum(number)}: {_typeset(self.book.errata[number].right)}"
                  for number in sorted(self.errata, key=int)]  # fmt: skip
        cited = sorted(self.cited, key=lambda key: [word.casefold() for word in self._named(key)])
        references = [f"- {_entry(self.book.bibliography[key])}" for key in cited]
        parts = {"References": references, "Claims and errata": claims + errata}
        return "\n\n".join(f"## {title}\n\n" + "\n".join(rows) for title, rows in parts.items() if rows)


def plain(source: str, book: Book, chapter: str, numbers: dict[str, str] | None = None) -> str:
    """The Markdown of one cell without anything that only the site understands."""
    return Text(book, chapter, numbers or {}).plain(source)


def _pieces(source: str) -> Iterator[str | Box]:
    """A cell's text, cut into runs of prose, blocks of code and boxes."""
    lines, prose = source.split("\n"), []
    while lines:
        line = lines.pop(0)
        start = _FENCE.fullmatch(line)
        if not start or not (start["name"] or line.startswith("```")):
            prose.append(line)
            continue
        yield "\n".join(prose)
        prose, inside = [], []
        while lines and lines[0].rstrip() != start["fence"]:
            inside.append(lines.pop(0))
        if not lines:
            raise ValueError(f"the block that begins with {line!r} has no end")
        end = lines.pop(0)
        yield _parsed(start, inside) if start["name"] else "\n".join([line, *inside, end])
    yield "\n".join(prose)


def _parsed(start: re.Match[str], inside: list[str]) -> Box:
    options = {}
    while inside and (option := re.fullmatch(r":([\w-]+):\s*(.*)", inside[0])):
        options[option[1]] = option[2]
        inside = inside[1:]
    return Box(start["name"], start["title"], options, "\n".join(inside).strip("\n"))


def _boxes(source: str) -> Iterator[Box]:
    """All boxes of a cell, those in others after them."""
    for piece in _pieces(source):
        if isinstance(piece, Box):
            yield piece
            yield from _boxes(piece.body)


def _remark(mark: re.Match[str]) -> str:
    """A quiet mark in words: in parentheses, or behind a comma where it stands in parentheses already."""
    words = ", ".join(mark["roles"])
    return f"{f', {words}' if mark['inside'] is not None else f' ({words})'}{mark['sign']}"


def _quoted(text: str) -> str:
    """Paragraphs as a quote, each in one line: a formula that is cut by the mark of a quote does not show."""
    paragraphs = [" ".join(paragraph.split("\n")) for paragraph in re.split(r"\n{2,}", text)]
    return "\n>\n".join(f"> {paragraph}" for paragraph in paragraphs)


def _typeset(text: str) -> str:
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
