"""From a chapter to the rows of the ledger: the roles {claim}`HR-EQ17, SP-D0` and {erratum}`13`.

In running text they become one quiet mark after the sentence, where the rule of `marks` allows it; elsewhere, and in
every table, links that show the ids in full.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from flatcube.classroom import claims
from flatcube.press import marks

__all__ = ["ROLES", "pointer", "resolve"]

LOG = logging.getLogger(__name__)
OTHER = "\ue003"  # stands for what is neither words nor a pointer: a formula, a link, code
# A mark for several has the shape of the one that asks for most care.
CARE = ("failing", "open", "erratum", "measured", "checked")


class pointer(nodes.Inline, nodes.TextElement):
    """A link to the row `label` that is not resolved yet, with the words that explain it as `reftitle`."""


class ClaimRole(SphinxRole):
    """Points to rows of the ledger; several ids are separated by commas."""

    table, kind, complaint = "claims.csv", "claim", "is not an id of claims.csv"

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        self.env.note_dependency(str(self.config.flatcube_data / self.table))
        known, result = self.sentences(), []
        for key in (part.strip() for part in self.text.split(",")):
            if key not in known:
                return [], [self.inliner.reporter.error(f"{key} {self.complaint}.", line=self.lineno)]
            words = self.words(key)
            between = [nodes.Text(", ")] if result else []
            result += [*between, pointer(words, words, label=f"{self.kind}-{key}", reftitle=known[key])]
        return result, []

    def sentences(self) -> dict[str, str]:
        return {key: claim.claim for key, claim in claims.claims(self.config.flatcube_data).items()}

    def words(self, key: str) -> str:
        return key


class ErratumRole(ClaimRole):
    """Points to rows of the errata, as "erratum 13"."""

    table, kind, complaint = "errata.csv", "erratum", "is no number of errata.csv"

    def sentences(self) -> dict[str, str]:
        return {str(erratum.number): erratum.right for erratum in claims.errata(self.config.flatcube_data)}

    def words(self, key: str) -> str:
        return f"erratum {key}"


ROLES = {"claim": ClaimRole, "erratum": ErratumRole}


def resolve(document: nodes.document, address: Callable[[str], str], data: Path) -> None:
    """Turn all pointers of a page into marks and links; `address` says where a row is."""
    found = list(document.findall(pointer))
    for node in found:
        node["address"] = address(node["label"])
        if not node["address"]:
            LOG.warning("no page has the row %s", node["label"], location=node, type="ref", subtype="claim")
    verdicts = {f"claim-{entry.claim.id}": entry.status for entry in claims.ledger(data)} if found else {}
    for parent in {id(node.parent): node.parent for node in found}.values():
        text = "".join(map(_sign, parent.children))
        row = _ancestor(parent, nodes.entry)
        parent[:] = list(_rebuilt(text if row else marks.settled(text), parent.children[:], verdicts))
        if not row and isinstance(parent, nodes.paragraph) and not re.sub(r"[\ue000-\ue002()\s,;]", "", text):
            parent["classes"].append("fc-marks")  # nothing but a mark


def _sign(node: nodes.Node) -> str:
    if isinstance(node, nodes.Text):
        return node.astext()
    return marks.ROLE if isinstance(node, pointer) else OTHER


def _ancestor(node: nodes.Node, kind: type) -> bool:
    return isinstance(node, kind) or (node.parent is not None and _ancestor(node.parent, kind))


def _rebuilt(text: str, children: list[nodes.Node], verdicts: dict[str, str]) -> Iterator[nodes.Node]:
    """The nodes that a settled text stands for, with those of `children` that are no words in their order."""
    special = [node for node in children if not isinstance(node, nodes.Text)]
    for piece in re.findall(rf"{marks.OPEN}{marks.ROLE}+{marks.CLOSE}|{marks.ROLE}|{OTHER}|[^\ue000-\ue003]+", text):
        if piece == OTHER:
            yield special.pop(0)
        elif piece == marks.ROLE:
            yield _link(special.pop(0))
        elif piece.startswith(marks.OPEN):
            count = piece.count(marks.ROLE)
            yield _mark(special[:count], verdicts)
            del special[:count]
        else:
            yield nodes.Text(piece)


def _link(node: pointer) -> nodes.reference:
    link = nodes.reference("", node.astext(), internal=True, refuri=node["address"], reftitle=node["reftitle"])
    link["classes"].append("fc-claim")
    return link


def _mark(found: list[nodes.Node], verdicts: dict[str, str]) -> nodes.raw:
    """One mark for these pointers. Its name says which they are; print shows them."""
    statuses = [verdicts.get(node["label"], "erratum") for node in found]
    names = [node.astext() for node in found]
    said = [
        name if name.startswith(status) else f"{name}, {status}" for name, status in zip(names, statuses, strict=True)
    ]
    given = {
        "class": f"fc-quiet fc-{min(map(claims.family, statuses), key=CARE.index)}",
        "href": found[0]["address"],
        "title": " · ".join(node["reftitle"] for node in found),
        "aria-label": "; ".join(said),
        "data-names": ", ".join(names),
        "data-rows": " ".join(node["address"] for node in found),
    }
    attributes = " ".join(f'{name}="{html.escape(value)}"' for name, value in given.items())
    return nodes.raw("", f"<a {attributes}></a>", format="html")
