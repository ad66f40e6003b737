"""The teaching notes of the chapters, and what code adds to them.

The notes of a chapter stand in `chapters/teaching/notes-NN-name.md`. A plan is a table whose first column has minutes,
"0–5", below a heading that says how many there are, "50 minutes". Sections are called by their numbers. Directives add
what the library knows: the times of the exercises, and the wrong answers that their checks recognise.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from flatcube.classroom import exercises
from flatcube.classroom.questions import inline
from flatcube.press import bank

__all__ = ["DIRECTIVES", "Needs", "notes", "plans", "planned", "needs", "prerequisites", "times", "mistakes"]

FOLDER = Path("chapters/teaching")
_PLAN = re.compile(r"^## (\d+) minutes\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| *(\d+)–(\d+) *\|(.*)\| *$", re.MULTILINE)
_SECTION = re.compile(r"\b\d+\.\d+\b")
_CHAPTER = re.compile(r"\]\(\.\./(\d\d)-|\b(\d+)\.\d+\b")  # a link to a chapter, or the number of a section

Row = tuple[int, int, str]  # from this minute, to this one, what happens


def notes(root: Path, slug: str) -> Path:
    """Where the notes of a chapter stand."""
    return root / FOLDER / f"notes-{slug}.md"


def plans(text: str) -> dict[int, list[Row]]:
    """The plans of a chapter's notes by their minutes.

    >>> plans("## 50 minutes\\n| 0–20 | Ask. | 2.1 |\\n| 20–50 | Tell. | 2.2 |\\n")
    {50: [(0, 20, 'Ask. | 2.1'), (20, 50, 'Tell. | 2.2')]}
    """
    return {
        int(minutes): [(int(a), int(b), row.strip()) for a, b, row in _ROW.findall(body)]
        for minutes, body in _PLAN.findall(text)
    }


def planned(root: Path, slug: str) -> dict[str, list[str]]:
    """What the longest plan of a chapter says of each section, by the section's number; for speakers."""
    path = notes(root, slug)
    known = plans(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: dict[str, list[str]] = {}
    for begin, end, row in known.get(max(known, default=0), []):
        said, _, where = row.rpartition("|")
        for section in _SECTION.findall(where):
            found.setdefault(section, []).append(f"Minute {begin} to {end}: {_plain(said)}")
    return found


def _plain(text: str) -> str:
    """Markdown without its marks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*`$]|\\(?=\W)", "", text).strip()


class Needs(NamedTuple):
    """A chapter's title, which chapters before it its students need, and which are good to have heard of."""

    title: str
    needed: set[int]
    heard: set[int]


def needs(text: str) -> tuple[int, Needs]:
    """A chapter's number, and what its notes say after "Students need". What is only good to have, the sentence says.

    >>> needs("# Teaching chapter 3: C\\n**Students need** [chapter 1](../01-a). 2.4 is good to have seen.")
    (3, Needs(title='C', needed={1}, heard={2}))
    """
    number, title = re.match(r"# Teaching chapter (\d+): (.*)", text).groups()
    needed: set[int] = set()
    heard: set[int] = set()
    for sentence in re.split(r"(?<=[.?!]) ", text.partition("**Students need**")[2].partition("\n\n")[0]):
        named = {int(link or section) for link, section in _CHAPTER.findall(sentence)}
        kind = heard if "good to have" in sentence else needed
        kind |= {other for other in named if 0 < other < int(number)}
    return int(number), Needs(title, needed, heard - needed)


def prerequisites(known: dict[int, Needs]) -> list[tuple[str, list[int], list[int], list[int], list[int]]]:
    """For each chapter: its name; the chapters needed, those needed by these in turn, heard of, and that need it."""

    def behind(number: int) -> set[int]:
        return set().union(*({one} | behind(one) for one in known[number].needed))

    return [
        (
            f"{number} {own.title}",
            sorted(own.needed),
            sorted(behind(number) - own.needed),
            sorted(own.heard - behind(number)),
            [other for other, its in known.items() if number in its.needed],
        )
        for number, own in known.items()
    ]


def times(number: int) -> list[tuple[str, str, int]]:
    """The exercises of a chapter: id, title and minutes."""
    return [(task.id, task.title, task.minutes) for task in exercises.of_chapter(str(number))]


def mistakes(number: int) -> list[tuple[str, str, list[str]]]:
    """The exercises of a chapter that recognise wrong answers: id, title, and what is said to each."""
    tasks = exercises.of_chapter(str(number))
    rows = [(task.id, task.title, [said for said, _ in getattr(task, "mistakes", [])]) for task in tasks]
    return [row for row in rows if row[2]]


class Times(SphinxDirective):
    """The exercises of a chapter with their minutes, and the sum."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        rows = times(int(self.arguments[0]))
        cells = [*rows, ("", "All of them", sum(row[2] for row in rows))]
        body = "".join(f"<tr><td>{id}</td><td>{html.escape(made)}</td><td>{took}</td></tr>" for id, made, took in cells)
        head = "".join(f'<th scope="col">{words}</th>' for words in ("Exercise", "Makes", "Minutes"))
        text = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return [nodes.raw("", text, format="html")]


class Prerequisites(SphinxDirective):
    """Which chapter needs which, from the notes of all chapters."""

    HEADS = ("Chapter", "Students need", "and, through these", "Good to have heard of", "Is needed by")

    def run(self) -> list[nodes.Node]:
        files = sorted((Path(self.env.srcdir) / FOLDER).glob("notes-*.md"))
        for file in files:
            self.env.note_dependency(str(file))
        known = dict(needs(file.read_text(encoding="utf-8")) for file in files)
        body = ""
        for name, *lists in prerequisites(known):
            cells = "".join(f"<td>{', '.join(map(str, some)) or '–'}</td>" for some in lists)
            body += f'<tr><th scope="row">{html.escape(name)}</th>{cells}</tr>'
        head = "".join(f'<th scope="col">{words}</th>' for words in self.HEADS)
        text = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return [nodes.raw("", text, format="html")]


class Mistakes(SphinxDirective):
    """What the checks of all exercises say to the wrong answers that they recognise, chapter by chapter."""

    def run(self) -> list[nodes.Node]:
        parts = []
        for chapter in map(int, exercises.rooms()):
            parts.append(f"<h2>Chapter {chapter}</h2>")
            for id, title, said in mistakes(chapter):
                items = "".join(f"<li>{inline(words)}</li>" for words in said)
                parts.append(f"<p><b>{id}</b> {html.escape(title)}</p><ul>{items}</ul>")
        return [nodes.raw("", "".join(parts), format="html")]


class Ask(SphinxDirective):
    """A question of the bank as an instructor wants to see it: every choice with what is said to it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        file = Path(self.env.srcdir) / "chapters" / bank.FILE
        self.env.note_dependency(str(file))
        known, id = json.loads(file.read_text(encoding="utf-8")), self.arguments[0]
        if id not in known:
            return [self.state_machine.reporter.error(f"The bank has no question {id!r}.", line=self.lineno)]
        asked = known[id]
        rows = "".join(
            f"<li>{'<b>✓</b> ' if one['right'] else ''}{one['text']}<br><small>{one['feedback']}</small></li>"
            for one in asked["choices"]
        )
        number = "" if asked["number"] is None else f"<p><b>✓</b> {asked['number']:g} ± {asked['tolerance']:g}</p>"
        said = f"<p><small>{asked['reveal']}</small></p>" if asked["reveal"] else ""
        text = f'<div class="admonition note"><p><b>{asked["prompt"]}</b></p><ul>{rows}</ul>{number}{said}</div>'
        return [nodes.raw("", text.replace("<ul></ul>", ""), format="html")]


class Answers(SphinxDirective):
    """What readers answered: one reader's own answers, or those of a class; the page's script fills it in."""

    required_arguments = 1
    final_argument_whitespace = False
    KINDS = ("own", "class")

    def run(self) -> list[nodes.Node]:
        of = self.arguments[0]
        if of not in self.KINDS:
            return [self.state_machine.reporter.error(f"Expected own or class, got {of!r}.", line=self.lineno)]
        file = Path(self.env.srcdir) / "chapters" / bank.FILE
        self.env.note_dependency(str(file))
        return [nodes.raw("", answers_of(of, json.loads(file.read_text(encoding="utf-8"))), format="html")]


def answers_of(of: str, known: dict[str, dict]) -> str:
    """Where the page's script shows answers, a reader's "own" or those of a "class"; `known` is the bank's content."""
    pages: dict[str, dict] = {}
    for id, one in known.items():
        page = pages.setdefault(one["page"], {"page": one["page"], "title": one["chapter"], "questions": []})
        choices = [{"text": choice["text"], "right": choice["right"]} for choice in one["choices"]]
        if not id.startswith(bank.ONLY):
            page["questions"].append({"id": id, "prompt": one["prompt"], "choices": choices})
    payload = json.dumps({"of": of, "pages": list(pages.values())}, ensure_ascii=False).replace("<", "\\u003c")
    words = "<noscript><p>This page needs JavaScript; nothing leaves your browser.</p></noscript>"
    return f'<div class="fc-progress"><script type="application/json">{payload}</script>{words}</div>'


DIRECTIVES = {
    "answers-of": Answers,
    "exercise-times": Times,
    "prerequisites": Prerequisites,
    "common-mistakes": Mistakes,
    "ask": Ask,
}
