"""Cells of a page run in any order, what they need first; errors are sentences; exercises lend their solutions."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flatcube.classroom import exercises, sheet
from flatcube.classroom.scope import names
from flatcube.classroom.sheet import Sheet
from flatcube.press import inpage, notebook

ROOT = Path(__file__).parents[2]
ASKS = re.compile(r'^(?:check|score)\("(\d+\.\d+)"', re.MULTILINE)  # as the page's script finds them
FIRST = "import numpy as np\nfrom flatcube.classroom.exercises import check, score"


def run(*sources: str, at: int = -1) -> dict:
    """What the cell number `at` of a page with these cells gives when it is run first."""
    page = Sheet.of((source, "") for source in sources)
    at = at % len(sources)
    return page.run(at, sources[at])


def test_a_cell_prints_and_shows_its_last_line():
    done = run("x = 3", "print('x is', x)\nx + 1")
    assert (done["text"], done["value"], done["error"]) == ("x is 3\n", "4", "")


def test_only_what_a_cell_needs_runs_before_it():
    page = Sheet.of([("a = 1", ""), ("1 / 0", ""), ("b = a + 1", ""), ("b", "")])
    assert page.run(3, "b")["value"] == "2"
    assert [cell.ran is not None for cell in page.cells] == [True, False, True, True]


def test_the_latest_definition_above_counts():
    assert run("a = 1", "a = 2", "a", "a = 3", at=2)["value"] == "2"


def test_a_cell_that_was_edited_runs_again_for_those_that_need_it():
    page = Sheet.of([("a = 1", ""), ("b = 10 * a", ""), ("b", "")])
    assert page.run(2, "b")["value"] == "10"
    page.cells[0].source = "a = 5"
    assert page.run(2, "b")["value"] == "50"


def test_draws_come_in_the_order_of_the_page():
    """A generator's numbers depend on who has drawn before: such a cell runs first, though it defines nothing."""
    cells = ["import numpy as np\nrng = np.random.default_rng(0)", "rng.random()", "float(rng.random())"]
    space: dict = {}
    exec("\n".join(cells[:2]), space)
    assert run(*cells)["value"] == repr(float(space["rng"].random()))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n1 / 0", "Line 2, `1 / 0`: ZeroDivisionError: division by zero."),
        ("def f(:\n  1", "Line 1, `def f(:`: SyntaxError"),
        ("unknown + 1", "NameError: name 'unknown' is not defined."),
        ("raise SystemExit", "SystemExit: it gives no reason."),
        ("import no_such_package.part", "This needs the package no_such_package, which does not run in the page"),
        ("def f():\n    return f()\nf()", "RecursionError"),
        ("x = 1\nraise MemoryError", "Line 2, `raise MemoryError`: This needs more memory than the page gives"),
    ],
)
def test_an_error_is_one_sentence_with_its_line(source: str, words: str):
    done = run("y = 2", source)
    assert words in done["error"] and "\n" not in done["error"] and "Traceback" not in json.dumps(done)


def test_a_cell_above_that_fails_is_told():
    done = run("a = 1 / 0", "a")
    assert done["error"].startswith("A cell above, which this one needs, stopped. Line 1, `a = 1 / 0`")


def test_of_a_cell_of_imports_the_rest_counts():
    cells = ["import no_such_package\nimport math", "math.pi"]
    assert run(*cells)["value"].startswith("3.14")
    assert "no_such_package" in run(*cells, at=0)["error"]


def test_a_loop_that_prints_does_not_fill_the_page():
    done = run("for k in range(100_000): print(k)")
    assert len(done["text"]) < sheet.LONGEST + 200 and "characters more" in done["text"]


def test_names_are_seen_where_they_count():
    used, defined, drawn = names("def f(x):\n    y = a\n    return y\nb, c = 1, [k for k in range(d)]\nb += e")
    assert (used, defined, drawn) == ({"a", "d", "e", "range"}, {"f", "b", "c"}, set())
    assert names("rng = np.random.default_rng(1)")[2] == {"rng"}


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("def f(n, *, table=other):\n    k = n\n    return [n for n in table if k] + more", {"other", "more"}),
        ("x = 1\nprint(x)", {"print"}),
        ("x = x + 1", {"x"}),
        ("x += 1", {"x"}),
        ("if a:\n    x = 1\nx", {"a", "x"}),
        ("for n in (1, 2):\n    y = n\ny", set()),
        ("try:\n    x = 1\nexcept E:\n    pass\nx", {"E", "x"}),
        ("f = lambda n: n + m", {"m"}),
        ("def f():\n    return g()\ndef g():\n    return h", {"h"}),
        ("def f():\n    global x\n    x = x + 1", {"x"}),
        ("[x for x in x]", {"x"}),
        ("with a as b:\n    b", {"a"}),
        ("import p.q as r, s.t\nr, s", set()),
        ("class A(B):\n    c = d", {"B", "d"}),
        ("def f():\n    n = 1\n    def g():\n        return n + m\n    return g", {"m"}),
    ],
)
def test_names_from_outside_are_those_that_are_not_surely_defined_before(source: str, needs: set[str]):
    assert names(source)[0] == needs


def test_a_name_that_only_a_function_uses_brings_no_other_cell():
    """Otherwise an answer that calls an argument n would run the cell above that has a variable of that name."""
    page = Sheet.of([("n = 1 / 0", ""), ("def double(n):\n    return 2 * n\ndouble(4)", "")])
    assert page.run(1, page.cells[1].source)["value"] == "8"


def test_a_line_above_that_lacks_a_package_is_passed_over_and_missed_only_where_it_counts():
    above = ("import no_such_package as pd\npd.settings()\na = 1", "b = pd.b\nc = 2 * a")
    assert run(*above, "a + c")["value"] == "3"
    assert run(*above, "b")["error"].startswith("This needs the package no_such_package, which does not")


def test_a_cell_is_only_marked_for_what_it_lacks_itself():
    """The first cell of most chapters imports a package of charts and then sets what all others use."""
    cells = ["import altair as alt\nimport math\nN = 3\nalt.theme()", "print(N)", "alt.Chart(N)", "math.pi", "1 / 0"]
    assert inpage._lacks(cells) == ["altair", "", "altair", "", "more"]


def test_a_cell_that_only_defines_what_cannot_run_is_marked_too():
    """Its button would do nothing that a reader sees; what prints something is of use, whatever else it defines."""
    body = "def one():\n    return torch.ones(1)"
    cells = ["import torch", body, f"{body}\n3", "def two():\n    return 2"]
    assert inpage._lacks(cells) == ["torch", "torch", "", ""]


# --- exercises --------------------------------------------------------------------------------------------------------


def page_of(*ids: str) -> Sheet:
    return Sheet.of([(FIRST, ""), *((exercises.stub(id), id) for id in ids)])


def answer(id: str) -> str:
    task = exercises.find(id)
    return f"{task.code()}\n\n{task.call}"


def test_an_exercise_is_judged_as_in_the_notebook():
    page = page_of("1.1")
    assert page.run(1, exercises.stub("1.1"))["status"] == "open"
    done = page.run(1, answer("1.1"))
    assert done["status"] == "right" and "Right." in done["html"] and done["wrong"] == 0


def test_an_answer_is_checked_also_without_the_call_of_the_check():
    page, task = page_of("1.1"), exercises.find("1.1")
    for text in (task.code(), f"{task.code()}\n\n{task.name}(1, 2)", f"{answer('1.1')}\nprint(1)"):
        assert page.run(1, text)["status"] == "right", text
    wrong = f"def {task.name}(mask, n):\n    return np.ones(2**n)"
    assert page.run(1, wrong)["status"] == "wrong"
    assert page.run(1, f"{wrong}\n{task.call}\nprint(1)", wrong=1)["wrong"] == 2
    assert page.run(1, "def other(mask, n):\n    return 1")["error"] == (
        f"Call your answer `{task.name}`, so that it can be checked."
    )
    assert "ZeroDivisionError" in page.run(1, "1 / 0")["error"]  # what a reader tries runs, whatever its name


def test_an_open_answer_is_scored_also_without_the_call():
    page, task = page_of("3.9"), exercises.find("3.9")
    done = page.run(1, f"def {task.name}(f, n, d, budget, seed):\n    return True")
    assert "guessing" in done["html"]


def test_wrong_answers_count_and_bring_the_next_hint():
    page, task = page_of("1.1"), exercises.find("1.1")
    wrong = f"def {task.name}(mask, n):\n    return np.ones(2**n)\n\n{task.call}"
    first = page.run(1, wrong, wrong=0)
    second = page.run(1, wrong, wrong=first["wrong"])
    assert (first["wrong"], second["wrong"]) == (1, 2)
    assert first["html"] != second["html"]
    assert page.hint(1, 0) == page.hint(1, 1) == task.hints[0] and page.hint(1, 5) == task.hints[-1]


def test_what_is_not_solved_yet_is_lent_and_said():
    page = page_of("1.1", "1.2")
    lender = exercises.find("1.1")
    user = f"{lender.name}(1, 1)"
    page.cells[2].exercise = ""
    done = page.run(2, user)
    assert done["notes"] == [f"Exercise 1.1 is not solved yet, so the book's own {lender.name} is used here."]
    page.run(1, answer("1.1"))
    assert page.run(2, user)["notes"] == []


@pytest.mark.parametrize("id", [*exercises.identifiers(), *exercises.challenges()])
def test_every_solution_needs_only_what_a_page_has(id: str, without: list[dict]):
    """In a process without torch and the rest, as in a page, solutions are right; others are listed with a reason."""
    (found,) = (row for row in without if row["id"] == id)
    solved = not found["error"] and found["status"] == ("" if id in exercises.challenges() else "right")
    assert solved != (id in NOT_IN_PAGE), found


# Exercises that a page cannot check, and why.
NOT_IN_PAGE = {
    "6.9": "torch: its answer is a network",
    "12.4": "scipy: its answer takes a quantile of Student's t",
    "12.5": "scipy: its answer takes a quantile of Student's t",
    "12.6": "scipy: the interval that it is given takes a quantile of Student's t",
    "12.8": "scipy: the width that it is given takes a quantile of Student's t",
    "14.3": "scipy: its answer takes a quantile of the beta distribution",
    "14.5": "scipy: its answer asks a minimiser",
}


def test_an_exercise_is_marked_for_what_its_solution_lacks():
    """Its cell as it stands, without an answer, runs anywhere."""
    ids = [*NOT_IN_PAGE, "1.1", "12.1", "14.2", "14.6"]
    found = inpage._lacks([FIRST, *map(exercises.stub, ids)])
    assert found == ["", *(NOT_IN_PAGE.get(id, "").partition(":")[0] for id in ids)]

_WITHOUT = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
from flatcube.classroom import exercises
from flatcube.classroom.sheet import Sheet
for id, cells in json.load(sys.stdin):
    try:
        task = exercises.find(id)
        page = Sheet.of(cells)
        at = [asked for _, asked in cells].index(id)
        if task.verb == "score":  # the library's answer uses what the chapter imports
            page.space[task.name] = task.solution() if task.is_value else task.solution
        done = page.run(at, task.call if task.verb == "score" else f"{task.code()}\\n\\n{task.call}")
        print(json.dumps({"id": id, "status": done.get("status", ""), "error": done["error"]}))
    except ImportError as error:
        print(json.dumps({"id": id, "status": "", "error": str(error)}))
"""


def cells(chapter: Path) -> list[tuple[str, str]]:
    """The code cells that a page shows, and the exercises for which they ask."""
    code = [cell for cell in notebook.read(chapter).cells if cell.cell_type == "code"]
    shown = [cell.source for cell in code if not inpage.HIDDEN & set(cell.metadata.get("tags", []))]
    return [(source, asked[1] if (asked := ASKS.search(source)) else "") for source in shown]


@pytest.fixture(scope="module")
def without() -> list[dict]:
    """Every exercise on the page on which it stands, answered there first of all."""
    pages = [cells(chapter) for chapter in notebook.chapters(ROOT)]
    tasks = [(asked, page) for page in pages for _, asked in page if asked]
    command = [sys.executable, "-c", _WITHOUT, json.dumps(inpage.ABSENT)]
    done = subprocess.run(command, input=json.dumps(tasks), capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
