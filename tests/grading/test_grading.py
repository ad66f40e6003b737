"""Marking thirty submissions, some of them hostile; what is handed in from pages; and systems without a sandbox."""

import csv
import json
import socket
import subprocess
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from flatcube import cli
from flatcube.classroom import exercises, problems
from flatcube.grading import Limits, assignments, handins, report, sandbox
from flatcube.grading.marks import clean
from flatcube.grading.plain import packed, unpacked
from tests import rooms
from tests.grading.pile import BROKEN, FLIPS, PAIR, PROBLEMS, Places, submissions

LIMITS = Limits(seconds=6, memory=1 << 30)  # seconds that are many for every honest call, also on a busy machine
HELD = pytest.mark.skipif(bool(sandbox.refusal()), reason=f"this system has no sandbox: {sandbox.refusal()}")


def _write(path: Path, cells: list[str], **metadata: object) -> Path:
    book = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=metadata)
    nbformat.write(book, path)
    return path


@pytest.fixture(scope="module")
def server():
    """A server on this machine that nobody in a sandbox reaches; the number of those who did."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        calls = []

        def hear() -> None:
            while True:
                try:
                    calls.append(listening.accept())
                except OSError:
                    return

        threading.Thread(target=hear, daemon=True).start()
        yield listening.getsockname()[1], calls
        for connection, _ in calls:
            connection.close()
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory, server):
    """All submissions, marked."""
    folder = tmp_path_factory.mktemp("class")
    canary = folder / "canary"
    canary.write_text("unharmed")
    task = problems.load(rooms.ROOT)["2.A"]
    shown = task.instances(np.random.default_rng(assignments.EXAMPLES))
    told = {(tuple(table.tolist()), i, j): float(task.solution(table, i, j)) for table, i, j in shown}
    pile = submissions(Places(canary, rooms.ROOT / problems.FOLDER, server[0]), told)
    files = [_write(folder / f"{name}.ipynb", cells) for name, (cells, _) in pile.items()]
    for name, text in BROKEN.items():
        files.append(folder / f"{name}.ipynb")
        files[-1].write_text(text)
    before = {path: path.read_bytes() for path in files}
    temporary, tempfile.tempdir = tempfile.tempdir, str(tmp_path_factory.mktemp("places"))
    try:
        done = report.grade(rooms.ROOT, files, folder / "marks", wanted=PROBLEMS, limits=LIMITS)
        left = list(Path(tempfile.tempdir).iterdir())
        alive = [one for one in psutil.process_iter(["cmdline"]) if tempfile.tempdir in str(one.info["cmdline"])]
        _, alive = psutil.wait_procs(alive, timeout=30)  # what has been killed takes a moment to end
    finally:
        tempfile.tempdir = temporary
    return {
        "folder": folder, "canary": canary, "wanted": {name: points for name, (_, points) in pile.items()},
        "done": dict(zip([path.stem for path in files], done, strict=True)), "files": files, "before": before,
        "left": left, "alive": alive,
    }  # fmt: skip


@HELD
def test_thirty_submissions_get_the_points_that_they_deserve(marked):
    wanted = marked["wanted"] | dict.fromkeys(BROKEN, (0, 0))
    assert len(wanted) >= 30
    got = {name: tuple(mark.points for mark in marks.marks) for name, marks in marked["done"].items()}
    assert {name: (got[name], marked["done"][name]) for name in wanted if got[name] != wanted[name]} == {}


@HELD
def test_nothing_is_harmed_and_nothing_is_left(marked, server):
    assert marked["canary"].read_text() == "unharmed"
    assert sorted(path.name for path in marked["folder"].iterdir()) == sorted(
        [*(path.name for path in marked["files"]), "canary", "marks"]
    )
    assert {path: path.read_bytes() for path in marked["files"]} == marked["before"]
    assert (marked["left"], marked["alive"], server[1]) == ([], [], [])
    assert not Path("/harm").exists()


@HELD
def test_known_mistakes_are_diagnosed_and_others_are_said_in_a_sentence(marked):
    pair, flips = marked["done"]["both-known"].marks
    assert pair.diagnosed and pair.text.startswith("Four times too large")
    assert flips.diagnosed and flips.text.startswith("That holds for the share")
    odd = marked["done"]["one-influence"].marks[0]
    assert odd.status == "wrong" and not odd.diagnosed and odd.text.startswith("Right in ")
    said = {name: marked["done"][name].marks[0] for name in marked["done"]}
    assert {name: said[name].status for name in ("untouched", "no-cells", "syntax", "dies", "endless-call")} == {
        "untouched": "open", "no-cells": "open", "syntax": "open", "dies": "silent", "endless-call": "silent",
    }  # fmt: skip
    assert "longer than 6 s" in said["endless-call"].text
    assert marked["done"]["endless-cell"].notes == ["Code cell 2 was stopped: it takes longer than 6 s."]
    assert "is no notebook" in said["torn"].text and "is no notebook" in said["other"].text
    for marks in marked["done"].values():
        assert all("\n" not in mark.text and mark.text.endswith((".", "?")) for mark in marks.marks)


@HELD
def test_the_table_and_the_pages_say_the_same(marked):
    target = marked["folder"] / "marks"
    with (target / "marks.csv").open(newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert rows.keys() == marked["done"].keys()
    for name, marks in marked["done"].items():
        assert rows[name]["points"] == str(marks.points) and rows[name]["of"] == "6"
        page = (target / f"{name}.md").read_text()
        assert f"**{marks.points} of 6 points.**" in page and "## 2.A · Two bits at once" in page
    assert rows["one-sided"]["2.D diagnosed"].startswith("The factor 2 in front")
    assert "<script>" not in (target / "raises.md").read_text().replace("\\<script\\>", "")
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows.values() for cell in row.values())


@HELD
def test_marking_goes_on_where_it_stopped_and_only_what_changed_is_marked_again(marked, monkeypatch):
    started = []
    start = sandbox.Sandbox.__init__
    monkeypatch.setattr(sandbox.Sandbox, "__init__", lambda self, *a, **k: (started.append(1), start(self, *a, **k))[1])
    target = marked["folder"] / "marks"
    honest = [path for path in marked["files"] if path.stem in ("right", "one-sided")]
    again = report.grade(rooms.ROOT, honest, target, wanted=PROBLEMS, limits=LIMITS)
    assert (again, started) == ([marked["done"]["right"], marked["done"]["one-sided"]], [])
    (target / "kept" / "right.json").write_text("{ torn")
    report.grade(rooms.ROOT, honest, target, wanted=PROBLEMS, limits=LIMITS)
    assert len(started) == 1


@HELD
def test_an_assignment_is_written_answered_and_marked(tmp_path: Path, capsys: pytest.CaptureFixture):
    path = tmp_path / "assignment.ipynb"
    assert cli.main(["--root", str(rooms.ROOT), "assign", "2.A", "2.D", "--out", str(path)]) == 0
    book = nbformat.read(path, 4)
    nbformat.validate(book)
    for cell in book.cells:
        for start, text in (("def pair_influence", PAIR), ("def enough_flips", "from math import *\n" + FLIPS)):
            if cell.source.startswith(start):
                cell.source = text.format(before="pass")
    book.cells[1].source = 'NAME = "=Ada <b> Lovelace"'
    nbformat.write(book, tmp_path / "ada.ipynb")
    command = ["grade", str(tmp_path / "ada.ipynb"), str(path), "--out", str(tmp_path / "marks")]
    assert cli.main(["--root", str(rooms.ROOT), *command]) == 0
    assert "Marked are 2.A, 2.D, as most notebooks say" in capsys.readouterr().err
    with (tmp_path / "marks" / "marks.csv").open(newline="") as file:
        ada, blank = csv.DictReader(file)
    assert (ada["student"], ada["points"], blank["points"]) == ("Ada b Lovelace", "6", "0")


def test_an_assignment_has_stubs_and_examples_but_no_solutions(tmp_path: Path):
    known = problems.load(rooms.ROOT)
    book = assignments.notebook_of(list(known.values()))
    text = json.dumps(book)
    for task in known.values():
        assert json.dumps(task.code().splitlines()[-1].strip())[1:-1] not in text
        assert not any(json.dumps(diagnosis)[1:-1] in text for diagnosis, _ in task.mistakes)
        assert any(cell.source == task.stub() for cell in book.cells)
    assert book.metadata["flatcube"] == {"problems": list(known)}
    with pytest.raises(ValueError, match="is there already"):
        assignments.write(rooms.ROOT, ["2"], _write(tmp_path / "a.ipynb", []))


@pytest.mark.parametrize("id", problems.load(rooms.ROOT))
def test_the_examples_of_a_problem_answer_a_stub_a_solution_and_mistakes(id: str):
    task = problems.load(rooms.ROOT)[id]
    cell = problems.visible(task, assignments.EXAMPLES)

    def said(answer: object) -> exercises.Feedback:
        scope = {"np": np, "try_out": problems.try_out, task.name: answer}
        exec(cell.replace("try_out(", "found = try_out(", 1), scope)
        return scope["found"]

    problems._tried.clear()
    problems._hinted.clear()
    scope = {"np": np}
    exec(task.stub(), scope)
    assert said(scope[task.name]).status == "open"
    assert str(said(task.solution)) == "Right. All 2 examples agree. Marks are given on others."
    wrong = [said(mistake) for _, mistake in task.mistakes]
    assert {each.status for each in wrong} <= {"wrong", "right"} and wrong[0].hint == task.hints[0]
    assert said(lambda *_: 12345.6).hint == task.hints[1] or said(lambda *_: "text").status == "unfit"
    assert f"(Hints used for {id}: 2.)" in said(task.solution).text
    assert said(task.name).status == "unfit"


def test_hints_are_read_from_the_outputs_of_a_notebook(tmp_path: Path):
    book = new_notebook(cells=[new_code_cell("1")])
    book.cells[0].outputs = [nbformat.v4.new_output("stream", text="Right. (Hints used for 2.A: 2.)")]
    nbformat.write(book, tmp_path / "a.ipynb")
    from flatcube.grading.marks import read_notebook

    assert read_notebook(tmp_path / "a.ipynb").hints == {"2.A": 2}


@HELD
def test_what_is_handed_in_from_a_page_is_marked_by_the_same_command(tmp_path: Path):
    codes = {id: exercises.find(id).code() for id in ("2.2", "2.3", "2.4")}
    codes["2.4"] = "def spectral_average(coefficients):\n    return np.sum(coefficients**2)"
    code = {"kind": "code", "right": True}
    given = {f"exercise {id}": code | {"answer": text, "wrong": 1} for id, text in codes.items()}
    given["exercise 2.5"] = code | {"answer": "def change_probability(c, r):\n    while 1: pass"}
    given["sensitivity-majority-1001"] = {"kind": "predict", "answer": "25", "right": False}
    given["sensitivity-half-lit"] = {"kind": "quick", "answer": "10", "right": True}
    answers = {"02-sensitivity": given, "99-nowhere": {}}
    path = tmp_path / "ada.json"
    path.write_text(json.dumps({"book": "Flat Minima", "answers": answers}))
    (tmp_path / "torn.json").write_text("[1, 2")
    ada, torn = report.grade(
        rooms.ROOT, [path, tmp_path / "torn.json"], tmp_path / "marks", limits=replace(LIMITS, seconds=15)
    )
    assert [(mark.id, mark.status, mark.hints) for mark in ada.marks] == [
        ("2.2", "right", 1), ("2.3", "right", 1), ("2.4", "wrong", 1), ("2.5", "silent", 0),
    ]  # fmt: skip
    assert ada.marks[2].diagnosed and ada.questions == "1/2"
    assert torn.points == 0 and "holds no answers" in torn.notes[0]


def test_every_exercise_of_a_page_is_found_in_its_cells():
    for chapter in ("02-sensitivity", "10-pacbayes"):
        cells = handins._cells(rooms.ROOT / "chapters" / f"{chapter}.md")
        ids = [id for id in exercises.identifiers() if id.startswith(f"{int(chapter[:2])}.")]
        assert [id for _, id in cells if id in ids] == ids


def test_a_system_without_a_sandbox_refuses_in_one_sentence(tmp_path: Path, monkeypatch, capsys):
    path = _write(tmp_path / "a.ipynb", ["import numpy as np", PAIR.format(before="pass")])
    sandbox.refusal.cache_clear()
    monkeypatch.setattr(sandbox, "UNSHARE", "no-such-program")
    command = ["--root", str(rooms.ROOT), "grade", str(path), "--problems", "2.A", "--out", str(tmp_path / "marks")]
    try:
        assert cli.main(command) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "does not hold them" in said and "--unsafe runs them all the same" in said
        assert not (tmp_path / "marks" / "marks.csv").exists()
        assert cli.main([*command, "--unsafe"]) == 0
    finally:
        sandbox.refusal.cache_clear()
    assert "a,,3,3,3,right" in (tmp_path / "marks" / "marks.csv").read_text()


def test_a_system_that_allows_no_namespaces_refuses_too(monkeypatch, tmp_path: Path):
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n")
    fake.chmod(0o755)
    sandbox.refusal.cache_clear()
    monkeypatch.setattr(sandbox, "UNSHARE", str(fake))
    assert sandbox.refusal().startswith("the sandbox does not start")
    sandbox.refusal.cache_clear()


@HELD
def test_a_book_in_a_folder_for_temporary_files_or_of_a_user_is_seen_and_not_written(monkeypatch):
    """Both are empty in there, but for what is to be seen."""
    shown = sandbox._shown()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "here").write_text("seen")
        monkeypatch.setattr(sandbox, "_shown", lambda: [*shown, folder])
        with sandbox.Sandbox(LIMITS) as place:
            assert place.ask("cell", source=f"assert open('{folder}/here').read() == 'seen'") == {}
            assert "failed" in place.ask("cell", source=f"open('{folder}/here', 'w')")
            assert place.ask("cell", source="open('/tmp/own', 'w').write('x'); open('/home/own', 'w').write('x')") == {}
    assert not any(Path(name).exists() for name in ("/tmp/own", "/home/own"))


@HELD
@pytest.mark.skipif(not sandbox._is_root(), reason="who is not root uses a namespace for users in all other tests")
def test_who_is_not_root_gets_a_namespace_of_their_own_for_users(monkeypatch):
    if subprocess.run(["unshare", "--user", "--map-root-user", "true"]).returncode:
        pytest.skip("this system has no namespaces for users")
    monkeypatch.setattr(sandbox, "_is_root", lambda: False)
    with sandbox.Sandbox(LIMITS) as place:
        assert "failed" in place.ask("cell", source="open('/usr/harm', 'w')")
        assert "failed" in place.ask("cell", source="import socket; socket.create_connection(('127.0.0.1', 9), 1)")
        ours = {Path(path).parts[2] for path in sandbox._shown() if path.startswith("/home/")}
        assert place.ask("cell", source=f"import os; assert set(os.listdir('/home')) == {ours or 'set()'}") == {}
        status = "assert any(line.startswith('CapEff:\\t' + 16 * '0') for line in open('/proc/self/status'))"
        assert place.ask("cell", source=status) == {}


@pytest.mark.parametrize(
    "value",
    [1, -2.5, float("inf"), True, None, "text", (1, (2,)), [1, [2.5]], {(1, 2): 3.0, (): 1}, np.eye(3), np.arange(4),
     np.array([True, False]), np.float64(2.5), np.zeros((0, 3))],
)  # fmt: skip
def test_plain_values_come_back(value: object):
    again = unpacked(json.loads(json.dumps(packed(value))))
    assert again == value if not isinstance(value, np.ndarray) else np.array_equal(again, value)
    assert not isinstance(value, np.ndarray) or (again.dtype, again.shape) == (value.dtype, value.shape)


@pytest.mark.parametrize(
    "said",
    [{"array": [1], "type": "O", "shape": [1]}, {"array": [1, 2], "type": "<f8", "shape": [3]}, {"set": [1]}, {}, [1],
     {"array": ["a"], "type": "<f8", "shape": [1]}, {"dict": [[{"list": [1]}, 2]]}, {"tuple": 3},
     {"array": [1], "type": "<f8", "shape": [10**30]}],
)  # fmt: skip
def test_what_is_no_plain_value_is_refused(said: object):
    with pytest.raises(ValueError, match="not made of numbers"):
        unpacked(said)
    with pytest.raises(TypeError):
        packed(object())


def test_a_name_is_a_short_line_that_nothing_computes():
    assert clean("=cmd|' /C calc'!A0") == "cmd ' C calc' A0"
    assert clean("Zoë O’Hara-Müller\n# x") == "Zoë O’Hara-Müller x"
    assert len(clean("a" * 1000)) == 60
