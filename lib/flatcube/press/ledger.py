"""The back matter as a Sphinx extension: the tables of claims and of errata, and links to their rows.

Chapters write {claim}`HR-EQ17` and {erratum}`13`. The pages themselves are the directives `{ledger}` and `{errata}`.
Rows are HTML of our own: they are filled in when all pages are known, so that they can link to chapters.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from flatcube.classroom import claims
from flatcube.press import front

__all__ = ["Ledger", "Errata", "ClaimRole", "ErratumRole", "typeset", "setup"]

LOG = logging.getLogger(__name__)
SOURCES = claims.SOURCES | {"SUM": "a short summary of HR"}
SEVERITIES = {"A": "statement fails", "B": "argument fails", "C": "misprint or wording", "D": "caution"}


class filled(nodes.General, nodes.Element):
    """A place for the rows of one paper: `rows` names the function below, `source` the paper."""


class pointer(nodes.Inline, nodes.TextElement):
    """A link to the row `label` that is not resolved yet, with the words that explain it as `reftitle`."""


class Ledger(SphinxDirective):
    """All claims, one section per paper, with a form to filter them."""

    def run(self) -> list[nodes.Node]:
        _depends(self, "claims.csv", "errata.csv", "evidence.json", "measured.csv", "plan.csv")
        entries = claims.ledger(self.config.flatcube_data)
        for entry in entries:
            _label(self, f"claim-{entry.claim.id}")
        form = nodes.raw("", _form(entries, self.config.flatcube_data), format="html")
        return [form, *(_section(source, "claims") for source in claims.SOURCES)]


class Errata(SphinxDirective):
    """All errata, one section per paper, each with the test that shows it or the word open."""

    def run(self) -> list[nodes.Node]:
        _depends(self, "claims.csv", "errata.csv", "evidence.json")
        found = claims.errata(self.config.flatcube_data)
        for erratum in found:
            _label(self, f"erratum-{erratum.number}")
        return [_section(source, "errata") for source in dict.fromkeys(erratum.source for erratum in found)]


class ClaimRole(SphinxRole):
    """{claim}`HR-EQ17` links to the row of the claim; several ids are separated by commas."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        _depends(self, "claims.csv")
        table, result = claims.claims(self.config.flatcube_data), []
        for key in (part.strip() for part in self.text.split(",")):
            if key not in table:
                return [], [self.inliner.reporter.error(f"{key} is not an id of claims.csv.", line=self.lineno)]
            words = [nodes.Text(", ")] if result else []
            result += [*words, pointer(key, key, label=f"claim-{key}", reftitle=table[key].claim)]
        return result, []


class ErratumRole(SphinxRole):
    """{erratum}`13` links to the row of the erratum, as "erratum 13"."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        _depends(self, "errata.csv")
        table = {str(erratum.number): erratum for erratum in claims.errata(self.config.flatcube_data)}
        if self.text not in table:
            return [], [self.inliner.reporter.error(f"{self.text} is no number of errata.csv.", line=self.lineno)]
        words, right = f"erratum {self.text}", table[self.text].right
        return [pointer(words, words, label=f"erratum-{self.text}", reftitle=right)], []


class Resolve(SphinxPostTransform):
    """Turns pointers into links and fills in the rows, once it is known which page has which row."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in list(self.document.findall(pointer)):
            address = self.address(node["label"])
            if not address:
                LOG.warning("no page has the row %s", node["label"], location=node, type="ref", subtype="claim")
            link = nodes.reference("", node.astext(), internal=True, refuri=address, reftitle=node["reftitle"])
            link["classes"].append("fc-claim")
            node.replace_self(link)
        for node in list(self.document.findall(filled)):
            rows = {"claims": _claims, "errata": _errata}[node["rows"]]
            text = rows(node["source"], self.config.flatcube_data, self.address, self.chapter)
            node.replace_self(nodes.raw("", text, format="html"))

    def address(self, label: str) -> str:
        page, anchor = self.env.get_domain("std").anonlabels.get(label.lower(), ("", ""))
        here = self.env.docname
        return (self.app.builder.get_relative_uri(here, page) if page != here else "") + f"#{anchor}" if page else ""

    def chapter(self, row: dict[str, str]) -> str:
        """The title of a chapter, with a link if the book has it already."""
        words = f"chapter {row['number']}"
        name = posixpath.join(posixpath.dirname(self.env.docname), row["slug"])
        if name not in self.env.found_docs:
            return words
        return _link(self.app.builder.get_relative_uri(self.env.docname, name), words)


# --- rows -------------------------------------------------------------------------------------------------------------

Address = Callable[[str], str]
Chapter = Callable[[dict[str, str]], str]


def _claims(source: str, data: Path, address: Address, chapter: Chapter) -> str:
    """The table of one paper: a body of rows for each chapter in which its claims first appear."""
    plan = {int(row["number"]): row for row in front.plan(data)}
    known = claims.claims(data)
    groups: dict[int, list[claims.Entry]] = {}
    for entry in claims.ledger(data):
        if entry.claim.source == source:
            groups.setdefault(entry.claim.chapters[0], []).append(entry)
    bodies = []
    for number in sorted(groups):
        rows = "".join(_claim(entry, plan, known, address, chapter) for entry in groups[number])
        title = f"Chapter {number} · {html.escape(plan[number]['title'])}"
        bodies.append(f'<tbody><tr class="fc-group"><th colspan="2" scope="rowgroup">{title}</th></tr>{rows}</tbody>')
    head = '<thead><tr><th scope="col">Claim</th><th scope="col">What it says, and what shows it</th></tr></thead>'
    return f'<table class="fc-claims">{head}{"".join(bodies)}</table>'


def _claim(entry: claims.Entry, plan: dict, known: dict, address: Address, chapter: Chapter) -> str:
    claim, status = entry.claim, entry.status
    places = " and ".join(chapter(plan[number]) for number in claim.chapters)
    settings = f"<p><b>Settings in the paper.</b> {typeset(claim.settings, known)}</p>" if claim.settings else ""
    details = f"<p>{typeset(claim.check, known)}</p>{settings}"
    words = " ".join([claim.id, claim.kind, status, claim.location, claim.claim, claim.check]).lower()
    return (
        f'<tr id="claim-{claim.id}" data-status="{status}" data-chapters="{" ".join(map(str, claim.chapters))}"'
        f' data-words="{html.escape(words)}">'
        f'<th scope="row"><a href="#claim-{claim.id}">{claim.id}</a><small>{claim.kind.replace("-", ": ")}</small>'
        f'<span class="fc-status fc-{status}">{status}</span></th>'
        f"<td><p>{typeset(claim.claim, known)}</p>"
        f'<p class="fc-where">{html.escape(claim.location)}; {places}</p>'
        f"{_evidence(entry, address)}"
        f"<details><summary>How to check {claim.id}</summary>{details}</details></td></tr>"
    )


def _evidence(entry: claims.Entry, address: Address) -> str:
    """The tests with their outcome and mutations, the measured row, and the errata that touch the claim."""
    parts = [_test(test) for test in entry.tests]
    if entry.measurement:
        row = entry.measurement
        parts.append(f"<li>Our runs: {html.escape(row.statement)} It {row.verdict}. <code>{row.command}</code></li>")
    if entry.errata:
        links = ", ".join(_link(address(f"erratum-{e.number}"), str(e.number)) for e in entry.errata)
        parts.append(f"<li>See erratum {links}.</li>")
    return f'<ul class="fc-evidence">{"".join(parts)}</ul>' if parts else ""


def _test(test: claims.Record) -> str:
    file = test.test.split("::", 1)[0]
    note = f" ({html.escape(test.note)})" if test.note else ""
    broken = "".join(
        f"<li>{'As printed: ' if m.printed else ''}{html.escape(m.sentence)}"
        f" <small>In place of <code>{html.escape(m.replaces)}</code></small></li>"
        for m in test.mutations
    )
    count = len(test.mutations)
    fails = f"fails on {'its mutation' if count == 1 else f'its {count} mutations'}" if count else "has no mutation"
    outcome = test.outcome.capitalize() if test.outcome != "passed" else "Passes"
    return (
        f"<li>{_name(test)}{note}."
        f"<details><summary>{outcome}, and {fails}</summary><p><code>{html.escape(file)}</code></p>"
        f"<ul>{broken}</ul></details></li>"
    )


def _errata(source: str, data: Path, address: Address, chapter: Chapter) -> str:
    shown: dict[int, list[claims.Record]] = {}
    for tests in claims.evidence(data).values():
        for test in tests:
            shown.setdefault(test.erratum or 0, []).append(test)
    known = claims.claims(data)
    found = [erratum for erratum in claims.errata(data) if erratum.source == source]
    rows = "".join(_erratum(erratum, shown.get(erratum.number, []), known, address) for erratum in found)
    head = '<thead><tr><th scope="col">Erratum</th><th scope="col">In print, and what is right</th></tr></thead>'
    return f'<table class="fc-claims">{head}<tbody>{rows}</tbody></table>'


def _erratum(erratum: claims.Erratum, tests: Iterable[claims.Record], known: dict, address: Address) -> str:
    links = ", ".join(_link(address(f"claim-{key}"), key) for key in erratum.claims)
    good = [test for test in tests if test.outcome == "passed"]
    shown = "".join(f"<p><b>Shown by a test.</b> {_name(test)}.</p>" for test in good)
    status = "checked" if good else "open"
    lines = [("Printed", erratum.printed), ("Right", erratum.right), ("Example", erratum.demonstration)]
    text = "".join(f"<p><b>{name}.</b> {typeset(words, known)}</p>" for name, words in lines)
    return (
        f'<tr id="erratum-{erratum.number}"><th scope="row"><a href="#erratum-{erratum.number}">{erratum.number}</a>'
        f"<small>{erratum.severity}: {SEVERITIES[erratum.severity]}</small>"
        f'<span class="fc-status fc-{status}">{"shown" if good else "open"}</span></th>'
        f'<td><p class="fc-where">{html.escape(erratum.place)}; {links}</p>{text}{shown}</td></tr>'
    )


def _name(test: claims.Record) -> str:
    """What a test shows, which is how it is named."""
    words = test.test.split("::", 1)[1].removeprefix("test_").replace("_", " ").replace("boolean", "Boolean")
    return html.escape(words[0].upper() + words[1:])


def _form(entries: list[claims.Entry], data: Path) -> str:
    """The filter: words, status and chapter. It stays hidden where scripts do not run."""
    present = [status for status, count in claims.counts(entries).items() if count and status in claims.STATUSES]
    statuses = "".join(f'<option value="{status}">{status}</option>' for status in present)
    chapters = "".join(
        f'<option value="{row["number"]}">{row["number"]} {html.escape(row["title"])}</option>'
        for row in front.plan(data)
    )
    return (
        '<form class="fc-filter" hidden role="search" aria-label="Filter the claims">'
        '<label>Words or id <input type="search" name="words" autocomplete="off"></label>'
        f'<label>Status <select name="status"><option value="">all</option>{statuses}</select></label>'
        f'<label>Chapter <select name="chapter"><option value="">all</option>{chapters}</select></label>'
        '<output aria-live="polite"></output></form>'
    )


# --- small things -----------------------------------------------------------------------------------------------------


def typeset(text: str, known: Iterable[str] = ()) -> str:
    """Plain text as HTML: x_i and n^(1/4) get real indices and exponents, ids of claims become links.

    >>> typeset("as_n ≤ n^(1/4)")
    'as<sub>n</sub> ≤ n<sup>1/4</sup>'
    """
    text = html.escape(text, quote=False)
    text = re.sub(r"(?<=[\w‖)}])\^(?:\{([^}]+)\}|\(((?:[^()]|\([^()]*\))+)\)|(\w+))", r"<sup>\1\2\3</sup>", text)
    text = re.sub(r"(?<=[^\W_]|[‖)∏∑])_(?:\{([^}]+)\}|([A-Za-z0-9Α-ω]+|[∞∅]))", r"<sub>\1\2</sub>", text)
    ids = set(known)
    return re.sub(
        r"\b[A-Z]{2}-[A-Za-z0-9-]*[A-Za-z0-9]",
        lambda match: _link(f"#claim-{match[0]}", match[0]) if match[0] in ids else match[0],
        text,
    )


def _link(address: str, words: str) -> str:
    return f'<a href="{html.escape(address)}">{words}</a>' if address else words


def _section(source: str, rows: str) -> nodes.section:
    title = f"{source}: {SOURCES[source]}"
    section = nodes.section("", nodes.title("", title), ids=[f"{rows}-{source.lower()}"])
    section += filled(rows=rows, source=source)
    return section


def _depends(part: SphinxDirective | SphinxRole, *names: str) -> None:
    for name in names:
        part.env.note_dependency(str(part.config.flatcube_data / name))


def _label(directive: SphinxDirective, label: str) -> None:
    directive.env.get_domain("std").anonlabels[label.lower()] = directive.env.docname, label


def _script(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.Node | None) -> None:
    if 'class="fc-filter"' in (context.get("body") or ""):
        app.add_js_file("flatcube/ledger.js", defer="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("flatcube.press.reference")
    app.add_config_value("flatcube_data", claims.DATA, "env")
    app.add_node(filled)
    app.add_node(pointer)
    app.add_directive("ledger", Ledger)
    app.add_directive("errata", Errata)
    app.add_role("claim", ClaimRole())
    app.add_role("erratum", ErratumRole())
    app.add_post_transform(Resolve)
    app.add_css_file("flatcube/ledger.css", priority=802)
    app.connect("html-page-context", _script)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
