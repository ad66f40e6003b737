"""The bank of questions, as other programs read it."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from flatcube.classroom import questions
from flatcube.press import bank, notebook
from tests import rooms
from tests.javascript import tools

ROOT = Path(__file__).parents[2]
CHAPTERS = notebook.chapters(ROOT)
NASTY = bank.Asked(
    "nasty",
    questions.inline("Is {a ~ b} = #1: `x <= y & z`\\ or <em>not</em> “é”?"),
    (bank.Choice("=yes~", True, "#1 {so}"), bank.Choice("no: 1/2", False, "\\ no = no")),
    reveal="It is: = ~ # {}",
)
NUMBER = bank.Asked("number", "How many?", number=-0.25, tolerance=0.01, reveal="A quarter.")


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bank")
    bank.write(ROOT, folder)
    return folder


@pytest.mark.parametrize("chapter", rooms.finished(), ids=lambda chapter: chapter.stem)
def test_every_chapter_asks_eight_questions_that_answer_every_choice(chapter):
    found = bank.asked(ROOT, chapter)
    assert len({one.id for one in found}) == len(found)
    several = [one for one in found if one.choices]
    assert len(several) >= 8
    for one in several:
        assert [choice.right for choice in one.choices].count(True) == 1
        assert all(choice.feedback for choice in one.choices)
        assert len({choice.text for choice in one.choices}) == len(one.choices) >= 2


def test_the_place_of_the_right_choice_tells_nothing():
    found = [one for chapter in CHAPTERS for one in bank.asked(ROOT, chapter) if len(one.choices) == 4]
    places = [[choice.right for choice in one.choices].index(True) for one in found]
    assert all(places.count(place) < len(places) / 2 for place in range(4))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_another_program_reads_the_same_from_gift(written, chapter):
    head, *read = tools.gift(written / f"{chapter.stem}.gift")
    assert head["type"] == "Category"
    same(read, bank.asked(ROOT, chapter))


def test_what_means_something_to_gift_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "nasty.gift"
    path.write_text(bank.gift("A/b", [NASTY, NUMBER]), encoding="utf-8")
    same(tools.gift(path)[1:], [NASTY, NUMBER])


def same(read: list[dict], found: list[bank.Asked]) -> None:
    assert [one["title"] for one in read] == [one.id for one in found]
    for got, one in zip(read, found, strict=True):
        assert plain(got["stem"]["text"]) == plain(one.prompt)
        assert plain((got["globalFeedback"] or {"text": ""})["text"]) == plain(one.reveal)
        if one.number is not None:
            assert got["type"] == "Numerical"
            assert (got["choices"]["number"], got["choices"]["range"]) == (one.number, one.tolerance)
            continue
        assert got["type"] == "MC"
        rows = [(c["isCorrect"], plain(c["text"]["text"]), plain(c["feedback"]["text"])) for c in got["choices"]]
        assert rows == [(c.right, plain(c.text), plain(c.feedback)) for c in one.choices]


# What imsqti_v2p1 allows as children of an item, in its order, and how often.
ORDER = ["responseDeclaration", "outcomeDeclaration", "itemBody", "responseProcessing", "modalFeedback"]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_package_of_qti_is_whole(written, chapter):
    found = bank.asked(ROOT, chapter)
    with zipfile.ZipFile(written / f"{chapter.stem}.qti.zip") as archive:
        names = set(archive.namelist())
        manifest = ElementTree.fromstring(archive.read("imsmanifest.xml"))
        assert manifest.tag == f"{{{bank.PACK}}}manifest"
        resources = manifest.findall(f".//{{{bank.PACK}}}resource")
        assert {r.get("href") for r in resources} | {"imsmanifest.xml"} == names
        assert len({r.get("identifier") for r in resources}) == len(resources) == len(found)
        items = [ElementTree.fromstring(archive.read(r.get("href"))) for r in resources]
    for item, one in zip(items, found, strict=True):
        sound(item, one)


def test_an_item_of_qti_says_what_was_asked():
    for one in (NASTY, NUMBER):
        sound(ElementTree.fromstring(bank.qti("x", [one])[f"items/{one.id}.xml"]), one)


def sound(item: ElementTree.Element, one: bank.Asked) -> None:
    """Read an item by its own rules: names that are declared, answers that exist, feedback for each choice."""
    every = {part.tag.partition("}")[2] for part in item.iter()} - {"code", "em", "sub", "sup"}
    assert all(part.tag.startswith(f"{{{bank.QTI}}}") for part in item.iter())
    children = [child.tag.partition("}")[2] for child in item]
    assert children == sorted(children, key=ORDER.index)
    assert {"responseDeclaration", "itemBody", "responseProcessing"} <= every
    find = lambda name: item.findall(f".//{{{bank.QTI}}}{name}")  # noqa: E731
    declared = {part.get("identifier") for name in ORDER[:2] for part in find(name)}
    assert {part.get("identifier") for part in [*find("variable"), *find("correct")]} <= declared
    assert {part.get("identifier") for part in find("setOutcomeValue")} <= declared
    assert {part.get("outcomeIdentifier") for part in find("modalFeedback")} <= declared
    (correct,) = [part.text for part in find("correctResponse")[0]]
    spoken = {part.get("identifier"): plain("".join(part.itertext())) for part in find("modalFeedback")}
    if one.number is not None:
        assert float(correct) == one.number
        (width,) = {float(part) for part in find("equal")[0].get("tolerance").split()}
        assert width == one.tolerance
        return
    (interaction,) = find("choiceInteraction")
    assert interaction.get("shuffle") == "true"
    choices = {part.get("identifier"): plain("".join(part.itertext())) for part in find("simpleChoice")}
    for (name, text), choice in zip(choices.items(), one.choices, strict=True):
        assert text == questions.bare(choice.text) or text == plain("".join(_words(choice.text)))
        assert plain("".join(_words(choice.feedback))) in spoken[name]
        assert (correct == name) == choice.right


def _words(text: str) -> list[str]:
    return list(ElementTree.fromstring(f"<p>{bank._entities(text)}</p>").itertext())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {id: a, ask: Q, right: x, because: y, wrong: {x: z}}", "at least two"),
        ("- {id: a, ask: Q, right: x, because: y, wrong: {z: ''}}", "'z' has no feedback"),
        ("- {id: a, ask: Q, because: y, wrong: {z: w}}", "'right'"),
        ("- {id: A b, ask: Q, right: x, because: y, wrong: {z: w}}", "small letters"),
    ],
)
def test_a_question_that_lacks_something_is_named(tmp_path, text, said):
    chapter = tmp_path / "chapters/01-one.md"
    (tmp_path / "chapters/teaching").mkdir(parents=True)
    (tmp_path / "chapters/teaching/questions-01-one.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"questions-01-one.yml, question .*{said}"):
        bank.asked(tmp_path, chapter)
