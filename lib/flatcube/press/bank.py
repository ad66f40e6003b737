"""The bank of questions: what the chapters ask, and more, in forms that learning platforms read.

The questions of a chapter are those of its readers' notebook that have choices with feedback, or a number, and those of
`chapters/teaching/questions-NN-name.yml`. GIFT is the text format of Moodle; QTI 2.1 is a zip of XML, one file for each
question, which Canvas, Blackboard, Moodle and others take in.
"""

from __future__ import annotations

import html
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import yaml

from flatcube import processes
from flatcube.classroom import questions
from flatcube.classroom.mime import ELEMENT
from flatcube.press import edition, notebook

__all__ = ["FILE", "ONLY", "Choice", "Asked", "asked", "stored", "gift", "qti", "write"]

FILE = "questions.json"  # beside the pages, for what shows questions
ONLY = "bank-"  # how the ids of questions begin that no page asks
QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACK = "http://www.imsglobal.org/xsd/imscp_v1p1"
_SPECIAL = re.compile(r"([\\~=#{}:])")


@dataclass(frozen=True)
class Choice:
    """One choice in HTML, whether it is right, and what is said to those who take it."""

    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Asked:
    """A question in HTML with its choices, or with a number and how far one may be off; `reveal` is said to all."""

    id: str
    prompt: str
    choices: tuple[Choice, ...] = ()
    number: float | None = None
    tolerance: float = 0.0
    reveal: str = ""


def asked(root: Path, chapter: Path) -> list[Asked]:
    """All questions about a chapter: those of its page in their order, then the others."""
    path = edition.path(root, chapter)
    shown = _shown(nbformat.read(path, as_version=4)) if path.exists() else iter(())
    return [*shown, *_written(root / "chapters" / "teaching" / f"questions-{chapter.stem}.yml")]


def _shown(found: nbformat.NotebookNode) -> Iterator[Asked]:
    for cell in found.cells:
        for output in cell.get("outputs", []):
            payload = output.get("data", {}).get(ELEMENT, {})
            rows = payload.get("choices", [])
            if payload.get("kind") not in ("quick", "predict") or not all(row["feedback"] for row in rows):
                continue
            choices = tuple(Choice(row["text"], row["right"], row["feedback"]) for row in rows)
            number = payload.get("number", {"value": None, "tolerance": 0.0})
            numeric = {"number": number["value"], "tolerance": number["tolerance"]}
            yield Asked(payload["id"], payload["prompt"], choices, **numeric, reveal=payload.get("reveal", ""))


def _written(path: Path) -> Iterator[Asked]:
    """The questions of a file; a ValueError names the file and what is wrong in it."""
    if not path.exists():
        return
    for row in yaml.safe_load(path.read_text(encoding="utf-8")):
        try:
            given = {row["right"]: row["because"]} | row["wrong"]
            begun = questions.begun("quick", row["id"], row["ask"])
            rows = questions.shuffled(row["id"], questions.listed(given, row["right"]))
        except (KeyError, TypeError, ValueError) as error:
            name = row.get("id", "without an id") if isinstance(row, Mapping) else row
            raise ValueError(f"{path.name}, question {name}: {error}") from None
        choices = tuple(Choice(one["text"], one["right"], one["feedback"]) for one in rows)
        yield Asked(begun["id"], begun["prompt"], choices)


def stored(root: Path) -> bytes:
    """The file FILE: all questions of the book by their ids, each with the page that it is about."""
    found: dict[str, dict] = {}
    for chapter in notebook.chapters(root):
        place = {"page": chapter.stem, "chapter": notebook.title(chapter)}
        found |= {one.id: asdict(one) | place for one in asked(root, chapter)}
    return json.dumps(found, ensure_ascii=False, indent=1).encode()


def write(root: Path, target: Path) -> list[Path]:
    """Write `NN-name.gift` and `NN-name.qti.zip` for every chapter into the folder `target`."""
    made = []
    for chapter in notebook.chapters(root):
        title, found = notebook.title(chapter), asked(root, chapter)
        made += [target / f"{chapter.stem}.gift", target / f"{chapter.stem}.qti.zip"]
        processes.replace(made[-2], gift(title, found).encode())
        with processes.draft(made[-1]) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in qti(title, found).items():
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return made


# --- GIFT -------------------------------------------------------------------------------------------------------------


def gift(title: str, found: list[Asked]) -> str:
    """The questions in GIFT, below a category that has the chapter's name."""
    head = f"$CATEGORY: Flat Minima on the Boolean Cube/{title.replace('/', ' ')}\n"
    parts = [f"::{_gift(one.id)}::[html]{_gift(one.prompt)} {{\n{_answers(one)}}}\n" for one in found]
    return "\n".join([head, *parts])


def _answers(one: Asked) -> str:
    if one.number is not None:
        said = f"\t####{_gift(one.reveal)}\n" if one.reveal else ""
        return f"\t#{one.number:g}:{one.tolerance:g}\n{said}"
    rows = [f"\t{'=' if c.right else '~'}{_gift(c.text)}#{_gift(c.feedback)}\n" for c in one.choices]
    return "".join([*rows, f"\t####{_gift(one.reveal)}\n" if one.reveal else ""])


def _gift(text: str) -> str:
    r"""A text in which nothing means anything to GIFT: `a=b` becomes `a\=b`."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


# --- QTI --------------------------------------------------------------------------------------------------------------


def qti(title: str, found: list[Asked]) -> dict[str, str]:
    """The files of a QTI package by their names: the manifest, and an item for each question."""
    items = {f"items/{one.id}.xml": _xml(_item(one)) for one in found}
    manifest = ElementTree.Element("manifest", {"xmlns": PACK, "identifier": _name(title)})
    data = ElementTree.SubElement(manifest, "metadata")
    ElementTree.SubElement(data, "schema").text = "QTIv2.1 Package"
    ElementTree.SubElement(data, "schemaversion").text = "1.0.0"
    ElementTree.SubElement(manifest, "organizations")
    resources = ElementTree.SubElement(manifest, "resources")
    for one, name in zip(found, items, strict=True):
        kind = {"identifier": _name(one.id), "type": "imsqti_item_xmlv2p1", "href": name}
        ElementTree.SubElement(ElementTree.SubElement(resources, "resource", kind), "file", {"href": name})
    return {"imsmanifest.xml": _xml(manifest)} | items


def _item(one: Asked) -> ElementTree.Element:
    """One question. Choices are shuffled by the platform; each has its feedback, and a right answer scores 1."""
    numeric = one.number is not None
    names = [f"choice-{at}" for at in range(len(one.choices))]
    kind = {"identifier": _name(one.id), "title": questions.bare(one.prompt)[:120]}
    item = ElementTree.Element("assessmentItem", {"xmlns": QTI, **kind, "adaptive": "false", "timeDependent": "false"})
    base = {"cardinality": "single", "baseType": "float" if numeric else "identifier"}
    response = ElementTree.SubElement(item, "responseDeclaration", {"identifier": "RESPONSE", **base})
    correct = ElementTree.SubElement(response, "correctResponse")
    right = [f"{one.number:g}"] if numeric else [n for n, c in zip(names, one.choices, strict=True) if c.right]
    for value in right:
        ElementTree.SubElement(correct, "value").text = value
    for name, type_ in (("SCORE", "float"), ("FEEDBACK", "identifier")):
        declared = {"identifier": name, "cardinality": "single", "baseType": type_}
        ElementTree.SubElement(item, "outcomeDeclaration", declared)
    body = ElementTree.SubElement(item, "itemBody")
    if numeric:
        line = {"responseIdentifier": "RESPONSE", "expectedLength": "10"}
        ElementTree.SubElement(_html(body, "p", one.prompt), "textEntryInteraction", line)
    else:
        asked = {"responseIdentifier": "RESPONSE", "shuffle": "true", "maxChoices": "1"}
        interaction = ElementTree.SubElement(body, "choiceInteraction", asked)
        _html(interaction, "prompt", one.prompt)
        for name, choice in zip(names, one.choices, strict=True):
            _html(interaction, "simpleChoice", choice.text).set("identifier", name)
    _processing(item, one)
    for name, choice in zip(names, one.choices, strict=True):
        _feedback(item, name, f"{choice.feedback} {one.reveal}".strip())
    if numeric and one.reveal:
        _feedback(item, "given", one.reveal)
    return item


def _processing(item: ElementTree.Element, one: Asked) -> None:
    """A right answer scores 1; the feedback to show is that of the choice, or for a number always the same."""
    make = ElementTree.SubElement
    rules = make(item, "responseProcessing")
    condition = make(make(rules, "responseCondition"), "responseIf")
    if one.number is None:
        test = make(condition, "match")
    else:
        width = f"{one.tolerance:g}"
        test = make(condition, "equal", {"toleranceMode": "absolute", "tolerance": f"{width} {width}"})
    make(test, "variable", {"identifier": "RESPONSE"})
    make(test, "correct", {"identifier": "RESPONSE"})
    make(make(condition, "setOutcomeValue", {"identifier": "SCORE"}), "baseValue", {"baseType": "float"}).text = "1"
    shown = make(rules, "setOutcomeValue", {"identifier": "FEEDBACK"})
    if one.number is None:
        make(shown, "variable", {"identifier": "RESPONSE"})
    else:
        make(shown, "baseValue", {"baseType": "identifier"}).text = "given"


def _feedback(item: ElementTree.Element, name: str, words: str) -> None:
    said = {"outcomeIdentifier": "FEEDBACK", "showHide": "show", "identifier": name}
    _html(item, "modalFeedback", words).attrib.update(said)


def _html(parent: ElementTree.Element, tag: str, text: str) -> ElementTree.Element:
    """A child of `parent` with a text in HTML, as `questions.inline` makes it."""
    child = ElementTree.fromstring(f"<{tag}>{_entities(text)}</{tag}>")
    parent.append(child)
    return child


def _entities(text: str) -> str:
    """HTML as XML: its named entities as letters, but for those that XML has."""
    return re.sub(r"&(?!(?:amp|lt|gt|quot);)\w+;", lambda found: html.unescape(found[0]), text)


def _name(text: str) -> str:
    """An identifier of XML."""
    return "q-" + re.sub(r"[^\w.-]+", "-", text)


def _xml(root: ElementTree.Element) -> str:
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
