"""Assignments for otter-grader: what is handed out, what marks, and a round trip with the real package where it is."""

import json
import os
import shutil
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell

from flatcube import cli
from flatcube.classroom import problems
from flatcube.grading import Limits, assignments, otter, report, sandbox
from tests import rooms

TASKS = problems.load(rooms.ROOT)
CHAPTERS = list(dict.fromkeys(id.partition(".")[0] for id in TASKS))
SEED = 8


def _program() -> Path | None:
    """The program `otter` beside this Python or on the path, if its Python can run the assignments."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("otter", path=places)
    needs = "import flatcube, ipykernel, otter; assert otter.__version__.startswith('7.')"
    if found is None or subprocess.run([Path(found).parent / "python", "-c", needs], capture_output=True).returncode:
        return None
    return Path(found)


OTTER = _program()


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch):
    """A function that runs a file of tests with a stand-in for otter: its cases, their points, what is hidden."""

    def test_case(name: str, *, points: int | None, hidden: bool):
        return lambda function: types.SimpleNamespace(name=name, points=points, hidden=hidden, ask=function)

    for name in ("otter", "otter.test_files"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["otter.test_files"].test_case = test_case
    problems._tried.clear()
    problems._hinted.clear()

    def run(source: str) -> list[types.SimpleNamespace]:
        scope = {}
        exec(source, scope)
        assert scope["OK_FORMAT"] is False and scope["name"] in TASKS
        return [value for value in scope.values() if isinstance(value, types.SimpleNamespace)]

    return run


def test_the_notebook_has_the_examples_and_neither_solutions_nor_what_is_marked(tmp_path: Path):
    folder = otter.write(rooms.ROOT, CHAPTERS, tmp_path / "made")
    file = f"assignment-{'-'.join(CHAPTERS)}.ipynb"
    book = nbformat.read(folder / "student" / file, 4)
    nbformat.validate(book)
    text = json.dumps(book)
    assert [path.name for path in (folder / "student").iterdir()] == [file] and f'Notebook(\\"{file}\\")' in text
    marking = {path.stem: path.read_text() for path in (folder / "autograder" / "tests").iterdir()}
    assert marking.keys() == TASKS.keys() == book.metadata["otter"]["tests"].keys()
    for id, task in TASKS.items():
        last = task.code().splitlines()[-1].strip()
        assert json.dumps(last)[1:-1] not in text and last not in marking[id]
        assert any(cell.source == task.stub() for cell in book.cells)
        examples, _, others = marking[id].partition("def others")
        assert book.metadata["otter"]["tests"][id] in examples.replace("points=0", "points=None")
        rows = [line for line in others.splitlines() if line.startswith("    (")]
        assert len(rows) >= 3 and not any(json.dumps(row)[1:-1] in text for row in rows if row not in examples)
        assert all(json.dumps(words)[1:-1] not in text for words, _ in task.mistakes)
    settings = json.loads((folder / "autograder" / "otter_config.json").read_text())
    assert settings["points_possible"] == sum(task.points for task in TASKS.values())


def test_two_folders_have_other_instances_and_none_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture):
    command = ["--root", str(rooms.ROOT), "assign", "2.A", "--otter", "--out"]
    told = []
    for name in ("a", "b"):
        assert cli.main([*command, str(tmp_path / name)]) == 0
        told.append((tmp_path / name / "autograder" / "tests" / "2.A.py").read_text())
    assert told[0] != told[1] and told[0].partition("def others")[0] == told[1].partition("def others")[0]
    assert cli.main([*command, str(tmp_path / "a")]) == 1
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "a" / "autograder" / "tests" / "2.A.py").read_text() == told[0]


@pytest.mark.parametrize("id", TASKS)
def test_the_hidden_case_has_all_points_and_says_which_mistake_it_was(id: str, cases):
    task = TASKS[id]
    for seed in range(SEED):
        examples, others = cases(otter.test(task, seed))
        assert (examples.points, examples.hidden, others.points, others.hidden) == (0, False, task.points, True)
        examples.ask(task.solution)
        others.ask(task.solution)
        for words, mistake in task.mistakes:
            with pytest.raises(AssertionError, match="Not yet") as wrong:
                others.ask(mistake)
            assert words in str(wrong.value)
    scope = {"np": np}
    exec(task.stub(), scope)
    for answer, said in ((scope[task.name], "Not answered yet"), (None, "Before the mathematics")):
        for case in (examples, others):
            with pytest.raises(AssertionError, match=said):
                case.ask(answer)
    (shown,) = cases(otter.test(task))
    assert (shown.points, shown.hidden) == (None, False)


@pytest.mark.parametrize("id", TASKS)
def test_what_is_written_down_are_the_instances_themselves(id: str):
    task, drawn = TASKS[id], TASKS[id].instances(np.random.default_rng(SEED))
    found = {}
    scope = vars(np) | {"np": np, "try_out": lambda *given, **rest: found.update(given=given, **rest), task.name: None}
    exec(problems.hidden(task, SEED), scope)
    rows = [row for row, _ in found["given"][3]]
    assert len(rows) == len(drawn) and [words for words, _ in found["known"]] == [words for words, _ in task.mistakes]
    for mine, row in zip(rows, drawn, strict=True):
        assert [type(value) for value in mine] == [type(value) for value in row]
        assert all(np.array_equal(one, given) for one, given in zip(mine, row, strict=True))


def test_a_mistake_may_give_what_is_no_number(cases):
    task = replace(TASKS["2.D"], mistakes=[("No end.", lambda *_: np.inf), ("None.", lambda *_: np.array([np.nan, 1]))])
    others = cases(otter.test(task, SEED))[1]
    others.ask(task.solution)
    with pytest.raises(AssertionError, match="No end"):
        others.ask(lambda n, error, delta: np.inf)


def test_who_knows_only_the_examples_gets_nothing(cases):
    scope = {"np": np}
    exec(_cheat("2.C"), scope)
    examples, others = cases(otter.test(TASKS["2.C"], SEED))
    examples.ask(scope["biased_sensitivity"])
    with pytest.raises(AssertionError, match="Right in 0 of 3"):
        others.ask(scope["biased_sensitivity"])


def test_a_right_answer_may_write_into_its_arguments(cases):
    def pair_influence(table: np.ndarray, i: int, j: int) -> float:
        found = TASKS["2.A"].solution(table, i, j)
        table[:] = 0
        return found

    for case in cases(otter.test(TASKS["2.A"], SEED)):
        case.ask(pair_influence)


# --- the round trip ---------------------------------------------------------------------------------------------------


def _answered(blank: Path, path: Path, answers: dict[str, str]) -> Path:
    """A submission: the student's notebook with these answers instead of stubs."""
    book = nbformat.read(blank, 4)
    for cell in book.cells:
        for id, answer in answers.items():
            if cell.source == TASKS[id].stub():
                cell.source = answer
    nbformat.write(book, path)
    return path


def _cheat(id: str) -> str:
    """An answer that knows the two examples of its problem and nothing else."""
    task = TASKS[id]
    call = problems.visible(task, assignments.EXAMPLES)
    return (
        f"def {task.name}(*given):\n    def rows(*call, **rest): return call[3]\n    for known, value in "
        f"{call.replace('try_out', 'rows')}:\n        if repr(known) == repr(given):\n            return value\n"
        f"    return 0.12345"
    )


@pytest.mark.skipif(OTTER is None, reason="otter-grader 7 is not installed beside flatcube and ipykernel")
def test_otter_itself_gives_the_marks_of_our_own_command(tmp_path: Path):
    folder = otter.write(rooms.ROOT, CHAPTERS, tmp_path / "made")
    (blank,) = (folder / "student").iterdir()
    right = {id: task.code() for id, task in TASKS.items()}
    wrong = {id: task.stub().replace("...", "return 12345.6") for id, task in TASKS.items()}
    mixed = right | {"2.B": wrong["2.B"], "2.D": "raise ValueError"} | {id: _cheat(id) for id in ("2.A", "2.C")}
    piles = {"right": right, "wrong": wrong, "empty": {}, "mixed": mixed}
    files = [_answered(blank, tmp_path / f"{name}.ipynb", answers) for name, answers in piles.items()]
    book = nbformat.read(files[0], 4)
    book.cells = [cell for cell in book.cells if "grader" not in cell.source] + [new_code_cell("1 / 0")]
    nbformat.write(book, tmp_path / "unchecked.ipynb")  # without a single cell of otter's
    files.append(tmp_path / "unchecked.ipynb")

    unsafe = bool(sandbox.refusal())  # these are ours
    limits = Limits(seconds=20, memory=2 << 30)
    marks = report.grade(rooms.ROOT, files, tmp_path / "marks", limits=limits, unsafe=unsafe)
    ours = {path.stem: {mark.id: mark.points for mark in one.marks} for path, one in zip(files, marks, strict=True)}
    theirs = {path.stem: _run(folder / "autograder", path) for path in files}
    assert theirs == ours
    most = {id: task.points for id, task in TASKS.items()}
    assert ours["right"] == ours["unchecked"] == most and marks[0].notes == []
    assert ours["wrong"] == ours["empty"] == dict.fromkeys(TASKS, 0)
    assert ours["mixed"] == most | dict.fromkeys(["2.A", "2.B", "2.C", "2.D"], 0)


def _run(autograder: Path, submission: Path) -> dict[str, int]:
    """The points that `otter run` gives, with the zip that `otter generate` makes."""
    if not (autograder / "autograder.zip").exists():
        subprocess.run([OTTER, "generate"], cwd=autograder, check=True)
    place = autograder.parent / submission.stem
    place.mkdir()
    subprocess.run(
        [OTTER, "run", submission, "-a", autograder / "autograder.zip", "-o", place], check=True, capture_output=True
    )
    said = json.loads((place / "results.json").read_text())["tests"]
    return {one["name"]: one["score"] for one in said if "score" in one}


@pytest.mark.skipif(OTTER is None, reason="otter-grader 7 is not installed beside flatcube and ipykernel")
def test_the_checks_in_the_notebook_answer_its_student(tmp_path: Path):
    folder = otter.write(rooms.ROOT, ["2"], tmp_path / "made")
    (blank,) = (folder / "student").iterdir()
    answers = {"2.A": TASKS["2.A"].code(), "2.B": TASKS["2.B"].stub().replace("...", "return 12345.6")}
    path = _answered(blank, blank, answers)
    command = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", path]
    subprocess.run([OTTER.parent / "python", *command], check=True, capture_output=True)
    said = [json.dumps(cell.outputs) for cell in nbformat.read(path, 4).cells if cell.source.startswith("grader.check")]
    assert "All 2 examples agree" in said[0] and "passed!" in said[0]
    assert "Not yet." in said[1] and f"Hint: {TASKS['2.B'].hints[0]}" in said[1]
    assert "Not answered yet." in said[2] and "Not answered yet." in said[3]
