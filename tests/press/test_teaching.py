"""The teaching notes are whole: minutes add up, and what they name is there."""

import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from flatcube import sensitivity
from flatcube.classroom import exercises, explorers, problems
from flatcube.press import bank, notebook, teaching
from tests import rooms

ROOT = Path(__file__).parents[2]
CHAPTERS = rooms.finished()
PARTS = ["On the board", "Project, and ask before you move it", "Three misconceptions", "Exercises"]
PROBLEMS = problems.load(ROOT)
UNTAUGHT = {"What running the proof revealed", "What is not measured here"}
ID = re.compile(r"\b\d+\.\d+\b")


def sections(chapter: Path) -> set[str]:
    """The numbers of a chapter's sections."""
    count = len(re.findall(r"^## ", chapter.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return {f"{int(chapter.stem[:2])}.{k}" for k in range(1, count + 1)}


@pytest.fixture(params=CHAPTERS, ids=lambda chapter: chapter.stem)
def chapter(request) -> Path:
    return request.param


@pytest.fixture
def text(chapter) -> str:
    return teaching.notes(ROOT, chapter.stem).read_text(encoding="utf-8")


def test_the_chapters_of_this_book_are_no_drafts():
    assert {f"{number:02}" for number in range(1, 19)} <= {path.stem[:2] for path in CHAPTERS}


def test_the_notes_have_all_parts(chapter, text):
    assert text.startswith(f"# Teaching chapter {int(chapter.stem[:2])}: {notebook.title(chapter)}\n")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == ["50 minutes", "75 minutes", *PARTS]
    for bold in ("**In one sentence.**", "**Students need**", "**Core:**"):
        assert bold in text
    assert f"teaching/notes-{chapter.stem}" in (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert f"(teaching/notes-{chapter.stem})" in (ROOT / "chapters/teaching.md").read_text(encoding="utf-8")


def test_minutes_follow_each_other_and_fill_the_hour(chapter, text):
    found, known = teaching.plans(text), sections(chapter)
    assert list(found) == [50, 75]
    for minutes, rows in found.items():
        ends = [0, *(end for _, end, _ in rows)]
        assert [begin for begin, _, _ in rows] == ends[:-1]
        assert ends[-1] == minutes
        assert all(begin < end for begin, end, _ in rows)
        where = {row.rpartition("|")[2].strip() for _, _, row in rows}
        assert where <= known


def test_sections_named_in_the_head_exist(chapter, text):
    head = text.split("## 50 minutes")[0]
    number = chapter.stem[:2].lstrip("0")
    named = {found for found in ID.findall(head) if found.split(".")[0] == number}
    assert named <= sections(chapter)
    others = {path.stem[:2].lstrip("0"): path for path in notebook.chapters(ROOT)}
    for found in set(ID.findall(head)) - named:
        assert found in sections(others[found.split(".")[0]])


def test_every_section_is_core_or_optional(chapter, text):
    """But for those at the end of each chapter, from *Paper and page* on."""
    number, named = int(chapter.stem[:2]), set()
    for first, last in re.findall(r"\d+\.(\d+)(?: to \d+\.(\d+))?", text.partition("**Core:**")[2].partition("\n")[0]):
        named |= {f"{number}.{k}" for k in range(int(first), int(last or first) + 1)}
    headings = re.findall(r"^## (.*)$", chapter.read_text(encoding="utf-8"), flags=re.MULTILINE)
    asked = {f"{number}.{k}" for k in range(1, headings.index("Paper and page") + 1)}
    told = {f"{number}.{k}" for k, heading in enumerate(headings, 1) if heading in UNTAUGHT}
    assert asked - told <= named <= asked


def test_problems_for_marks_are_those_that_are_handed_out(chapter, text):
    rows = re.findall(r"^\| (\d+\.[A-Z]), (.+?) \| (\d+) \| (\d+) \| (.+) \|$", text, flags=re.MULTILINE)
    tasks = {id: task for id, task in PROBLEMS.items() if id.split(".")[0] == str(int(chapter.stem[:2]))}
    assert [(id, title.lower(), int(points), int(minutes)) for id, title, points, minutes, _ in rows] == [
        (id, task.title.lower(), task.points, task.minutes) for id, task in tasks.items()
    ]
    needed = [found for *_, needs in rows for found in ID.findall(needs)]
    assert len(needed) >= len(rows) and {*needed} <= sections(chapter) | {*exercises.identifiers()}


def needs() -> dict[int, teaching.Needs]:
    return dict(teaching.needs(teaching.notes(ROOT, path.stem).read_text(encoding="utf-8")) for path in CHAPTERS)


def test_what_a_chapter_needs_its_notes_say_too(chapter):
    said = chapter.read_text(encoding="utf-8").partition("**You need**")[2].partition("**Reading**")[0]
    own = needs()[int(chapter.stem[:2])]
    assert said
    assert {int(number) for number in re.findall(r"\]\((\d\d)-", said)} <= own.needed | own.heard


def test_prerequisites_reach_back_to_the_beginning():
    rows = {int(name.split()[0]): lists for name, *lists in teaching.prerequisites(needs())}
    for number, (needed, behind, heard, by) in rows.items():
        assert not {*needed} & {*behind} and not {*heard} & {*needed, *behind}
        assert all(number in rows[other][0] for other in by)
        for other in needed:
            assert other < number and {*rows[other][0], *rows[other][1]} <= {*needed, *behind}
    assert rows[1][0] == [] and rows[10][2] == [8]


def test_chapters_that_the_guide_leaves_out_are_needed_by_none():
    text = (ROOT / "chapters/teaching.md").read_text(encoding="utf-8")
    said = re.search(r"Chapters ([^.]*?) are needed by no other", text)[1]
    alone = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", said):
        alone |= {*range(int(first), int(last or first) + 1)}
    assert alone == {int(name.split()[0]) for name, *_, by in teaching.prerequisites(needs()) if not by}


def test_the_board_of_chapter_13_counts_rightly():
    table = np.ones(8)
    table[7] = -1
    ways = []
    for values in itertools.product((1.0, -1.0), repeat=3):
        table[[3, 5, 6]] = values
        ways.append(float(sensitivity.average(table)))
    assert Counter(ways) == {3 / 4: 1, 1: 3, 5 / 4: 3, 3 / 2: 1} and np.mean(ways) == 9 / 8


def test_the_board_of_chapter_17_shows_the_right_lines():
    clock = 2 * np.pi * np.arange(11) / 11
    lines = np.stack([np.cos(np.pi * np.arange(11) / 11), np.sin(np.pi * np.arange(11) / 11)])
    for a, b, line, sign in ((2, 5, 7, 1), (6, 9, 4, -1)):
        mean = np.array([np.cos(clock[[a, b]]).mean(), np.sin(clock[[a, b]]).mean()])
        assert np.abs(mean @ lines).argmax() == line == (a + b) % 11 and np.sign(mean @ lines[:, line]) == sign


def test_each_misconception_has_a_question_of_the_bank(chapter, text):
    asked = re.findall(r"^```\{ask\} (.+)$", text, flags=re.MULTILINE)
    assert len(asked) == len(set(asked)) == 3
    assert set(asked) <= {one.id for one in bank.asked(ROOT, chapter)}
    assert len(re.findall(r"^\*\*.+\*\*", text.split("## Three misconceptions")[1], flags=re.MULTILINE)) == 3


def test_explorers_to_project_belong_to_the_chapter(chapter, text):
    room = notebook.front_matter(chapter)["room"]
    found = re.findall(r"project/(\d\d)-([\w-]+?)-explorer(?:-\d)?\.html(?:#([\w-]+)\?(\w+)=([^\"]*))?", text)
    assert found
    for number, name, _, key, _ in found:
        assert number == chapter.stem[:2]
        dotted = name.replace("-", ".")
        assert dotted in explorers.names()
        assert dotted.split(".")[0] == room
        assert not key or key in explorers.explorer(dotted).state


def test_times_of_exercises_add_up(chapter, text):
    minutes = {id: took for id, _, took in teaching.times(int(chapter.stem[:2]))}
    last = text.split("## Exercises")[1]
    assert f"```{{exercise-times}} {int(chapter.stem[:2])}" in last
    groups = re.findall(r"[:] ([\d., and]+?) \((\d+) minutes\)", last)
    assert groups
    for ids, said in groups:
        assert sum(minutes[id] for id in ID.findall(ids)) == int(said), ids
    listed = [id for ids, _ in groups for id in ID.findall(ids)]
    assert sorted(listed) == sorted(minutes)


def test_a_plan_with_a_gap_would_be_seen():
    rows = teaching.plans("## 50 minutes\n\n| 0–10 | a | 1.1 |\n| 12–50 | b | 1.2 |\n")[50]
    assert [begin for begin, _, _ in rows] != [0, *(end for _, end, _ in rows)][:-1]


def test_speakers_hear_the_plan_of_the_section():
    heard = teaching.planned(ROOT, "10-pacbayes")
    assert heard["10.1"][0].startswith("Minute 0 to 6: The luckiest")
    assert teaching.planned(ROOT, "99-none") == {}


def test_paths_name_exercises_that_exist():
    text = (ROOT / "chapters/teaching/paths.md").read_text(encoding="utf-8")
    known = {*exercises.identifiers(), *exercises.challenges()}
    weeks = [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(weeks) == 6 + 12
    named = {id for line in weeks for id in ID.findall(line.rpartition("](")[2].partition("|")[2])}
    assert len(named) > 20
    assert named <= known


def test_times_of_the_workshop_fit():
    text = (ROOT / "chapters/teaching/paths.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)\.(\d\d)–(\d+)\.(\d\d) \| (.*?) \|", text, flags=re.MULTILINE)
    spans = [(60 * int(a) + int(b), 60 * int(c) + int(d), said) for a, b, c, d, said in rows]
    assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))
    for begin, end, said in spans:
        if plan := re.search(r"(50|75)-minute plan", said):
            assert end - begin == int(plan[1])


def test_all_mistakes_of_the_exercises_are_listed():
    counted = sum(len(said) for chapter in exercises.rooms() for _, _, said in teaching.mistakes(int(chapter)))
    assert counted == sum(len(getattr(exercises.find(id), "mistakes", [])) for id in exercises.identifiers()) > 300
