"""Marking a pile of submissions: a table for the instructor and a page for each student, whatever happens meanwhile.

What is marked is kept, one file for each submission, under a digest of all it depends on; marking again goes on where
it stopped. The instances follow from a number that the first run draws and keeps, so that all meet the same ones.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from flatcube import checks, processes
from flatcube.classroom import exercises, problems
from flatcube.classroom.exercises import Exercise
from flatcube.grading import handins, sandbox
from flatcube.grading.assignments import asked
from flatcube.grading.marks import Mark, Marking, Marks, read_notebook, worth
from flatcube.grading.sandbox import Limits

__all__ = ["TABLE", "grade", "feedback"]

TABLE = "marks.csv"
_SAID = {"right": "Right", "wrong": "Not right", "unfit": "Could not be tried", "open": "Not answered",
         "silent": "Stopped"}  # fmt: skip


def grade(
    root: Path,
    files: Sequence[Path],
    target: Path,
    *,
    wanted: Sequence[str] = (),
    limits: Limits | None = None,
    workers: int = 2,
    unsafe: bool = False,
) -> list[Marks]:
    """Mark all files, write `marks.csv` and a page for each student into `target`; the marks, in the files' order."""
    wanted, workers = checks.several(wanted, "wanted", str), checks.integer(workers, "workers", 1, 1000)
    named = _named(files)
    if not unsafe and (why := sandbox.refusal()):
        raise RuntimeError(
            f"Submissions can run anything, and this system does not hold them: {why}; --unsafe runs them all the same."
        )
    tasks = {kind: _tasks(root, [path for path in named.values() if path.suffix == kind], kind, wanted)
             for kind in {path.suffix for path in named.values()}}  # fmt: skip
    seed, hidden = _seed(target), (root / problems.FOLDER, target, *{path.parent for path in named.values()})
    marking = {kind: Marking(found, seed, limits or Limits(), unsafe, hidden) for kind, found in tasks.items()}
    done: dict[str, Marks] = {}
    with ThreadPoolExecutor(workers) as pool, _progress(len(named)) as bar:
        running = {pool.submit(_one, root, marking[path.suffix], path, target / "kept" / f"{name}.json"): name
                   for name, path in named.items()}  # fmt: skip
        try:
            for future in as_completed(running):
                name = running[future]
                done[name] = future.result()
                page = feedback(done[name], {task.id: task.title for task in tasks[named[name].suffix]})
                processes.replace(target / f"{name}.md", page.encode())
                bar.set_postfix_str(name)
                bar.update()
        except BaseException:  # Ctrl-C: those that have begun end, no others begin
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            processes.replace(target / TABLE, _table({name: done[name] for name in named if name in done}).encode())
    return [done[name] for name in named]


def _one(root: Path, marking: Marking, path: Path, kept: Path) -> Marks:
    """The marks of one file: those that are kept, if they are of this very file, or new ones."""
    try:
        key = _key(marking, path)
        if found := _kept(kept, key):
            return found
        submission = read_notebook(path) if path.suffix == ".ipynb" else handins.read_answers(root, path)
    except (ValueError, OSError) as error:  # it cannot be read; no marks, but nobody else waits
        words = f"{error}."[0].upper() + f"{error}."[1:]
        return Marks("", [Mark(task.id, 0, worth(task), "unfit", words) for task in marking.tasks], [words])
    marks = marking.mark(submission)
    processes.replace(kept, json.dumps({"key": key, "marks": asdict(marks)}, indent=1, ensure_ascii=False).encode())
    return marks


def _key(marking: Marking, path: Path) -> str:
    """A digest of everything that decides on marks: the file, the problems, the instances, the limits."""
    tasks = [(task.id, worth(task), task.code(), [words for words, _ in task.mistakes]) for task in marking.tasks]
    parts = [path.read_bytes(), json.dumps([tasks, marking.seed, asdict(marking.limits)]).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _kept(path: Path, key: str) -> Marks | None:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if known["key"] != key:
            return None
        return Marks(**known["marks"] | {"marks": [Mark(**mark) for mark in known["marks"]["marks"]]})
    except (OSError, ValueError, TypeError, LookupError):  # not there, or torn
        return None


def _named(files: Sequence[Path]) -> dict[str, Path]:
    """The files by the names of their pages; the same name in two folders gets the folder's as well."""
    if not files:
        raise ValueError("There is nothing to mark: name the files, such as submissions/*.ipynb.")
    for path in files:
        if path.suffix not in (".ipynb", ".json") or not path.is_file():
            raise ValueError(f"{path}: expected a notebook (.ipynb) or answers exported from pages (.json).")
    files = list(dict.fromkeys(path.resolve() for path in files))
    stems = Counter(path.stem for path in files)
    found = {}
    for path in files:
        name = path.stem if stems[path.stem] == 1 else f"{path.parent.name}-{path.stem}{path.suffix.replace('.', '-')}"
        name = re.sub(r"[^\w.-]", "_", name).lstrip(".-") or "unnamed"
        while name in found:
            name += "_"
        found[name] = path
    return found


def _tasks(root: Path, files: list[Path], kind: str, wanted: Sequence[str]) -> list[Exercise]:
    """What is marked: what `wanted` names, or what most notebooks say they have, or all that any page has code for."""
    if kind == ".json":
        if wanted:
            return [exercises.find(id) for id in problems.chosen(exercises.identifiers(), wanted)]
        found = {task.id for path in files for task in handins.answered(path)}
        return [exercises.find(id) for id in exercises.identifiers() if id in found]
    known = problems.load(root)
    if wanted:
        return [known[id] for id in problems.chosen(known, wanted)]
    said = Counter(tuple(id for id in known if id in asked(path)) for path in files)
    said.pop((), None)
    if not said:
        raise ValueError("No notebook says which problems it has: name them, as in --problems 2.")
    ids = max(said, key=lambda each: (said[each], len(each)))
    print(f"Marked are {', '.join(ids)}, as most notebooks say; --problems names others.", file=sys.stderr)
    return [known[id] for id in ids]


def _seed(target: Path) -> int:
    """The number from which instances are drawn: the one kept from an earlier run, or a new one."""
    path = target / "kept" / "seed"
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        seed = secrets.randbits(48)
        processes.replace(path, str(seed).encode())
        os.chmod(path, 0o600)
        return seed


def _progress(total: int) -> tqdm:
    form = "{desc}: {percentage:3.0f}%|{bar:30}| {n} of {total}, {elapsed} elapsed, about {remaining} left {postfix}"
    return tqdm(total=total, desc="Marking", bar_format=form, file=sys.stderr)


def _table(done: dict[str, Marks]) -> str:
    """One line for each submission; in every problem's column what became of it."""
    ids = list(dict.fromkeys(mark.id for marks in done.values() for mark in marks.marks))
    made = io.StringIO()
    table = csv.writer(made, lineterminator="\n")
    columns = [f"{id} {what}" for id in ids for what in ("points", "status", "diagnosed", "hints")]
    table.writerow(["file", "student", "points", "of", *columns, "questions", "notes"])
    for name, marks in done.items():
        row = {mark.id: mark for mark in marks.marks}
        cells = [cell for id in ids for cell in _columns(row.get(id))]
        questions = marks.questions.replace("/", " of ")  # "5/8" would become a date in a spreadsheet
        table.writerow([name, marks.student, marks.points, marks.most, *cells, questions, _safe(" ".join(marks.notes))])
    return made.getvalue()


def _columns(mark: Mark | None) -> list:
    if mark is None:
        return ["", "", "", ""]
    return [mark.points, mark.status, mark.text if mark.diagnosed else "", mark.hints]


def _safe(words: str) -> str:
    """Words of a submission as a cell that no spreadsheet computes."""
    return f"'{words}" if words[:1] in ("=", "+", "-", "@") else words


def feedback(marks: Marks, titles: dict[str, str]) -> str:
    """The page for a student, in Markdown: points, what is right, and what is wrong in one sentence each."""
    lines = [f"# {marks.student or 'Feedback'}", "", f"**{marks.points} of {marks.most} points.**", ""]
    for mark in marks.marks:
        points = f"{mark.points} of {mark.most}"
        lines += [f"## {mark.id} · {titles[mark.id]} · {points}", ""]
        lines += [f"*{_SAID[mark.status]}.* {_quoted(mark.text)}", ""]
        if mark.hints:
            lines += [f"Hints used: {mark.hints}.", ""]
    if marks.questions:
        right, _, asked_ = marks.questions.partition("/")
        lines += ["## Questions", "", f"{right} of {asked_} questions and predictions on the pages are right.", ""]
    if marks.notes:
        lines += ["## What was noticed", "", *(f"- {_quoted(note)}" for note in marks.notes), ""]
    return "\n".join(lines)


def _quoted(words: str) -> str:
    """One line that Markdown shows as it is, but for code in backquotes."""
    pieces = " ".join(words.split()).split("`")
    plain = [re.sub(r"([\\*_\[\]<>#|])", r"\\\1", piece) if at % 2 == 0 else piece for at, piece in enumerate(pieces)]
    return "`".join(plain)
