"""The cells of a page, run in the page: what a cell needs runs first, and an error is one sentence.

A page shows the code of its chapter. A reader may run any of its cells, in any order, and change them. A `Sheet` finds
out which earlier cells define what a cell uses and runs those of them that have not run yet, as the page has them
now. An exercise that is not answered yet lends its own solution to the exercises that build on it, and says so.

Nothing here needs more than Python and numpy, so that it runs where a page runs Python, in the reader's browser.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import linecache
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flatcube.classroom import exercises
from flatcube.classroom.exercises.feedback import Feedback
from flatcube.classroom.exercises.scores import Scoreboard
from flatcube.classroom.scope import names

__all__ = ["Sheet"]

OURS = (Feedback, Scoreboard)  # what is shown as it looks in a notebook; the rest is shown as text
LONGEST = 20_000  # characters of output: a loop that prints must not fill the page
_NOTEBOOK = "which does not run in the page: download the notebook to run this cell."


@dataclass
class Cell:
    """A cell as it stands on the page, and what was run of it last."""

    source: str
    exercise: str = ""  # its id, for a cell in which readers answer
    ran: str | None = None
    right: bool = False  # whether the answer in it was found right


@dataclass
class Sheet:
    """The cells of one page by their place, and the names that they have defined."""

    cells: list[Cell]
    space: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__", "__builtins__": builtins})
    lacking: dict[str, str] = field(default_factory=dict)  # names that an import would have brought, and its package

    @classmethod
    def of(cls, cells: Iterable[tuple[str, str]]) -> Sheet:
        """A sheet of cells, each given by its source and the id of its exercise, or ""."""
        return cls([Cell(source, exercise) for source, exercise in cells])

    def run(self, at: int, source: str, wrong: int = 0) -> dict[str, Any]:
        """Run cell number `at` with the text `source`, after what it needs; plain values, for the page.

        An answer is always checked, also if its text does not end with the call of the check.
        `wrong` is how often the answer was wrong so far: it decides which hint comes next. The result has `text` (what
        was printed), `value` (the last line's, as text) or `html` (what the book's own objects look like), `error` (one
        sentence or ""), `notes` on other cells that ran, and for an exercise its `status` and how often it is `wrong`.
        """
        cell = self.cells[at]
        cell.source, cell.right = source, False
        text, missing = source, ""
        if cell.exercise and not _asks(source):
            task = exercises.find(cell.exercise)
            if task.name in _safely(source)[1]:
                text = f"{source}\n\n{task.call}"
            else:
                missing = f"Call your answer `{task.name}`, so that it can be checked."
        notes, refused = self._prepare(at, text)
        if refused:
            return _result(notes, error=refused)
        if cell.exercise:
            exercises._wrong[cell.exercise] = wrong
        done = self._execute(at, text, notes)
        cell.ran = cell.ran and source
        if cell.exercise:
            cell.right = done.get("status") == "right"
            done["wrong"] = min(exercises._wrong[cell.exercise], wrong + 1)  # though a text may check more than once
            done["error"] = done["error"] or missing
        return done

    def hint(self, at: int, wrong: int) -> str:
        """The hint that a reader may ask for after so many wrong answers."""
        task = exercises.find(self.cells[at].exercise)
        hints = getattr(task, "hints", ())
        return hints[min(max(wrong, 1), len(hints)) - 1] if hints else "An open exercise has no hint."

    def _prepare(self, at: int, source: str) -> tuple[list[str], str]:
        """Run what a cell needs and has not run as it is now; notes on it, and why the cell cannot run, or ""."""
        notes: list[str] = []
        try:
            needed = self._needed(at, source)
        except SyntaxError as error:
            return notes, _sentence(error, source)
        fresh: set[int] = set()
        for k in needed:
            cell = self.cells[k]
            if cell.exercise and not cell.right:
                notes.append(self._lend(cell))
            elif cell.ran != cell.source or fresh.intersection(self._needed(k, cell.source)):
                done = self._execute(k, cell.source, [], lenient=True)
                if done["error"]:
                    return notes, f"A cell above, which this one needs, stopped. {done['error']}"
                fresh.add(k)
        return notes, ""

    def _lend(self, cell: Cell) -> str:
        """Give the solution of an exercise that is not solved yet to those that build on it; what to tell of it."""
        task = exercises.find(cell.exercise)
        self.space[task.name], cell.ran = task.solution() if task.is_value else task.solution, None
        return f"Exercise {task.id} is not solved yet, so the book's own {task.name} is used here."

    def _needed(self, at: int, source: str) -> list[int]:
        """The places of the cells above that define what a cell uses, and what those use in turn, in order."""
        known = [_safely(cell.source) for cell in self.cells[:at]] + [names(source)]
        stateful = {name for _, _, generators in known for name in generators}
        found: set[int] = set()

        def visit(k: int) -> None:
            for name in known[k][0]:
                definers = [j for j in range(k) if name in known[j][1]]
                users = [j for j in range(k) if name in stateful & known[j][0] and definers and j > definers[-1]]
                for j in definers[-1:] + users:
                    if j not in found:
                        found.add(j)
                        visit(j)

        visit(at)
        return sorted(found)

    def _execute(self, at: int, source: str, notes: list[str], *, lenient: bool = False) -> dict[str, Any]:
        """Run a text; what it printed, what its last line gives, and the sentence of its error.

        With `lenient` a line that needs a package which the page has not got is passed over: others may need the rest
        of that cell.
        """
        cell, said = self.cells[at], io.StringIO()
        file = f"<cell {at + 1}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        cell.ran = None
        try:
            tree = ast.parse(source, file)
            ends = bool(tree.body) and isinstance(tree.body[-1], ast.Expr) and not lenient  # else nobody asks for it
            last = tree.body.pop() if ends else None
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                for part in tree.body:
                    self._step(part, file, lenient)
                value = eval(compile(ast.Expression(last.value), file, "eval"), self.space) if last else None
        except BaseException as error:  # a reader's SystemExit ends the cell, not the page
            return _result(notes, said, error=_sentence(error, source, file, self.lacking))
        cell.ran = source
        return _result(notes, said, value)

    def _step(self, part: ast.stmt, file: str, lenient: bool) -> None:
        """Run one statement; with `lenient` one that lacks a package only leaves word of what it would have defined."""
        try:
            exec(compile(ast.Module([part], []), file, "exec"), self.space)
        except (ModuleNotFoundError, NameError) as error:
            lacks = _lacks(error, self.lacking)
            if not lenient or not lacks:
                raise
            self.lacking |= dict.fromkeys(names(ast.unparse(part))[1], lacks)


def _safely(source: str) -> tuple[set[str], set[str], set[str]]:
    """The names of a text, or none of one that a reader is in the middle of changing."""
    try:
        return names(source)
    except SyntaxError:
        return set(), set(), set()


def _asks(source: str) -> bool:
    """Whether a text ends with the call of a check, so that its value is the verdict; true of what is no Python yet."""
    try:
        last = ast.parse(source).body[-1:]
    except SyntaxError:
        return True
    calls = (node.value for node in last if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    return any(ast.unparse(call.func).rpartition(".")[2] in ("check", "score") for call in calls)


def _result(notes: list[str], said: io.StringIO | None = None, value: Any = None, error: str = "") -> dict[str, Any]:
    text = said.getvalue() if said else ""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… and {len(text) - LONGEST:,} characters more, which the page does not show."
    shown: dict[str, Any] = {"notes": notes, "text": text, "error": error, "value": "", "html": ""}
    if isinstance(value, OURS):
        shown["html"] = value._repr_mimebundle_()["text/html"]
        shown["status"] = getattr(value, "status", "")
    elif value is not None:
        shown["value"] = _shown(value)
    return shown


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        return f"a value that cannot be shown: {error}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _sentence(error: BaseException, source: str, file: str = "", lacking: Mapping[str, str] | None = None) -> str:
    """An error in one sentence, with the line of the cell in which it happened, or the package that it lacks."""
    if lacks := _lacks(error, lacking or {}):
        return f"This needs the package {lacks}, {_NOTEBOOK}"
    line = error.lineno if isinstance(error, SyntaxError) else _line(error.__traceback__, file)
    lines = source.splitlines()
    where = f"Line {line}, `{lines[line - 1].strip()}`: " if line and line <= len(lines) else ""
    if isinstance(error, MemoryError):
        return f"{where}This needs more memory than the page gives to Python, which is 1 GB."
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    message = words.partition("\n")[0].rstrip(".") or "it gives no reason"
    return f"{where}{type(error).__name__}: {message}."


def _lacks(error: BaseException, lacking: Mapping[str, str]) -> str:
    """The package for want of which an error came about, or ""."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "?").partition(".")[0]
    return lacking.get(error.name or "", "") if isinstance(error, NameError) else ""


def _line(trace: types.TracebackType | None, file: str) -> int:
    """The last line of the reader's own text on the way to an error."""
    found = 0
    while trace:
        found = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else found
        trace = trace.tb_next
    return found


def _serve() -> Callable[[str], str]:
    """What the page's worker calls: a request as JSON in, an answer as JSON out."""
    import json

    sheet: Sheet | None = None

    def answer(request: str) -> str:
        nonlocal sheet
        given = json.loads(request)
        if given["ask"] == "open":
            sheet = Sheet.of(map(tuple, given["cells"]))
            return "{}"
        for at, source, right in given.get("others", ()):
            sheet.cells[at].source, sheet.cells[at].right = source, right
        if given["ask"] == "hint":
            return json.dumps({"hint": sheet.hint(given["at"], given["wrong"])})
        return json.dumps(sheet.run(given["at"], given["source"], given["wrong"]))

    return answer
