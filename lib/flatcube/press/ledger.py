"""The back matter as a Sphinx extension: the tables of claims and of errata, and links to their rows.

Chapters point to the rows by roles (`pointers`); the pages are the directives `{ledger}` and `{errata}`. Their rows
(`rows`) are filled in when all pages are known, so that they can link to chapters.
"""

from __future__ import annotations

import posixpath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from flatcube.classroom import claims
from flatcube.press import pointers, rows

__all__ = ["setup"]


LOG = logging.getLogger(__name__)
TABLES = ("ledger.csv", "errata.csv")  # in the site's _static


class filled(nodes.General, nodes.Element):
    """A place for the rows of one paper: `rows` says which, `source` names the paper."""


class Ledger(SphinxDirective):
    """All claims, one section per paper, with a form to filter them."""

    def run(self) -> list[nodes.Node]:
        _depends(self, "claims.csv", "errata.csv", "evidence.json", "measured.csv", "reasons.csv", "plan.csv")
        for key, test in claims.lost(self.config.flatcube_data):
            LOG.warning("%s: its test %s is gone; write it again, or run make evidence", key, test, type="claim")
        for key in claims.claims(self.config.flatcube_data):
            _label(self, f"claim-{key}")
        form = nodes.raw("", rows.claims_form(self.config.flatcube_data), format="html")
        return [form, _whole(self, TABLES[0]), *(_section(source, "claims") for source in claims.SOURCES)]


class Errata(SphinxDirective):
    """All errata, one section per paper, each with the test that shows it or the word open, and a form likewise."""

    def run(self) -> list[nodes.Node]:
        _depends(self, "claims.csv", "errata.csv", "evidence.json", "plan.csv")
        found = claims.errata(self.config.flatcube_data)
        for erratum in found:
            _label(self, f"erratum-{erratum.number}")
        form = nodes.raw("", rows.errata_form(self.config.flatcube_data), format="html")
        sources = dict.fromkeys(erratum.source for erratum in found)
        return [form, _whole(self, TABLES[1]), *(_section(source, "errata") for source in sources)]


class Resolve(SphinxPostTransform):
    """Turns pointers into links and fills in the rows, once it is known which page has which row."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        pointers.resolve(self.document, self.address, self.config.flatcube_data)
        for node in list(self.document.findall(filled)):
            write = {"claims": rows.of_claims, "errata": rows.of_errata}[node["rows"]]
            text = write(node["source"], self.config.flatcube_data, rows.Places(self.address, self.chapter))
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
        return rows.link(self.app.builder.get_relative_uri(self.env.docname, name), words)


def _whole(part: SphinxDirective, table: str) -> nodes.raw:
    """A link to all rows as a table of text."""
    address = f"{'../' * part.env.docname.count('/')}_static/{table}"
    return nodes.raw("", f'<p><a href="{address}" download>All rows as one table (CSV)</a></p>', format="html")


def _section(source: str, kind: str) -> nodes.section:
    title = f"{source}: {rows.SOURCES[source]}"
    section = nodes.section("", nodes.title("", title), ids=[f"{kind}-{source.lower()}"])
    section += filled(rows=kind, source=source)
    return section


def _depends(part: SphinxDirective, *names: str) -> None:
    for name in names:
        part.env.note_dependency(str(part.config.flatcube_data / name))


def _label(directive: SphinxDirective, label: str) -> None:
    directive.env.get_domain("std").anonlabels[label.lower()] = directive.env.docname, label


def _script(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.Node | None) -> None:
    if 'class="fc-filter"' in (context.get("body") or ""):
        app.add_js_file("flatcube/ledger.js", defer="defer")


def _table(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        target, data = app.outdir / "_static", app.config.flatcube_data
        target.mkdir(exist_ok=True)
        (target / TABLES[0]).write_text(rows.as_csv(data), encoding="utf-8")
        (target / TABLES[1]).write_bytes((data / TABLES[1]).read_bytes())


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("flatcube.press.reference")
    app.add_config_value("flatcube_data", claims.DATA, "env")
    app.add_node(filled)
    app.add_node(pointers.pointer)
    app.add_directive("ledger", Ledger)
    app.add_directive("errata", Errata)
    for name, role in pointers.ROLES.items():
        app.add_role(name, role())
    app.add_post_transform(Resolve)
    app.add_css_file("flatcube/ledger.css", priority=802)
    app.connect("html-page-context", _script)
    app.connect("build-finished", _table)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
