"""The second set: every solution passes, every stub is open, every mistake is recognised, no hint quotes a solution."""

import json
from pathlib import Path

import numpy as np
import pytest

from flatcube.classroom import problems
from flatcube.classroom.exercises import same
from flatcube.classroom.exercises.answers import EXACT, Unfit
from flatcube.grading.plain import packed, unpacked
from flatcube.press import notebook
from tests import rooms
from tests.classroom import hints

TASKS = problems.load(rooms.ROOT)
MISTAKES = [(id, k) for id, task in TASKS.items() for k in range(len(task.mistakes))]
DRAWS = 20


def _defined(code: str, name: str) -> object:
    scope = {"np": np}
    exec(code, scope)
    return scope[name]


def test_every_file_belongs_to_a_chapter_and_has_three_problems():
    chapters = [path.stem for path in notebook.chapters(rooms.ROOT)]
    for path in sorted((rooms.ROOT / problems.FOLDER).glob("*.py")):
        assert path.stem in chapters
        assert len([id for id in TASKS if id.startswith(f"{int(path.stem[:2])}.")]) >= 3


@pytest.mark.parametrize("id", TASKS)
def test_the_solution_passes_and_passes_as_its_source(id: str):
    task = TASKS[id]
    for seed in range(DRAWS):
        assert task.judge(task.solution, np.random.default_rng(seed)) is None
    assert task.judge(_defined(task.code(), task.name), np.random.default_rng(99)) is None


@pytest.mark.parametrize("id", TASKS)
def test_the_stub_is_no_answer_and_has_no_part_of_the_solution(id: str):
    task = TASKS[id]
    with pytest.raises(Unfit, match="returns nothing"):
        task.judge(_defined(task.stub(), task.name), np.random.default_rng(0))
    assert task.stub().count("...") == 1 and task.code().splitlines()[-1].strip() not in task.stub()


@pytest.mark.parametrize(("id", "k"), MISTAKES)
def test_a_mistake_is_recognised(id: str, k: int):
    diagnosis, mistake = TASKS[id].mistakes[k]
    for seed in range(DRAWS):
        assert TASKS[id].judge(mistake, np.random.default_rng(seed)) == diagnosis


@pytest.mark.parametrize("id", TASKS)
def test_a_problem_is_whole(id: str):
    task = TASKS[id]
    assert len({diagnosis for diagnosis, _ in task.mistakes}) == len(task.mistakes) >= 3
    assert len(set(task.hints)) == 2 and hints.given_away(task) == []
    assert task.text.strip() and 1 <= task.difficulty <= 3 and task.points >= 1 and not task.is_value
    assert task.cost is None and task.look is None  # both ask for the function itself, which the grader has not got
    assert task.exact == EXACT  # a student's notebook asks for no other


@pytest.mark.parametrize("id", TASKS)
def test_instances_and_answers_travel_as_plain_values(id: str):
    for row in TASKS[id].instances(np.random.default_rng(5)):
        again = unpacked(json.loads(json.dumps(packed(row))))
        assert [type(value) for value in again] == [type(value) for value in row]
        assert all(np.array_equal(mine, given) for mine, given in zip(again, row, strict=True))
        answer = TASKS[id].solution(*row)
        assert same(unpacked(json.loads(json.dumps(packed(answer)))), answer)


def test_no_problem_has_the_title_or_the_name_of_another():
    assert len({task.name for task in TASKS.values()}) == len({task.title for task in TASKS.values()}) == len(TASKS)


@pytest.fixture(scope="module")
def public() -> str:
    """All that goes into the wheel, onto the site and into the packs of its pages: the library, the texts, the data."""
    kinds = {".py", ".md", ".yml", ".json", ".js", ".csv", ".ipynb"}
    folders = (rooms.ROOT / name for name in ("lib", "chapters", "data"))
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in kinds]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize("id", TASKS)
def test_a_solution_stands_nowhere_else(id: str, public: str):
    task = TASKS[id]
    assert "class Problem(Exercise)" in public  # it was searched
    shown = set(task.stub().splitlines())
    body = "\n".join(line for line in task.code().splitlines() if line not in shown)
    assert [word for word in (f"def {task.name}(", task.why, body) if word in public] == []


def test_an_unknown_problem_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match="wanted: expected problems among 2.A, .*, got '2.Z'"):
        problems.chosen(["2.A", "2.B"], ["2.Z"])
    assert problems.chosen(["2.A", "2.B", "20.A"], ["2"]) == ["2.A", "2.B"]
    assert problems.load(tmp_path) == {}
