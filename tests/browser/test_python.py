"""Python in the page: exercises answered and cells run where they stand, offline, over http and from a disk."""

import json
import re

import pytest

from flatcube.classroom import exercises
from flatcube.press import compare
from tests import rooms
from tests.browser.fixtures import PATIENCE_MS
from tests.browser.test_pages import findings
from tests.classroom.test_sheet import NOT_IN_PAGE

CHAPTER = "chapters/01-fourier.html"
SIZE = 14e6  # bytes that Python may cost a reader
NEEDS = r"(This cell|Exercise \d+\.\d+) needs (\w+), which does not run in the page: the notebook runs it\."
OUTWARDS = {
    "fetch": "import js\nawait js.fetch('https://example.org/')",
    "XHR": "import js\nx = js.XMLHttpRequest.new()\nx.open('GET', 'https://example.org/', False)\nx.send()",
    "WebSocket": "import js\njs.WebSocket.new('wss://example.org/')",
    "importScripts": "import js\njs.importScripts('https://example.org/a.js')",
}


class Reader:
    """A reader of a page that runs Python."""

    def __init__(self, page):
        self.page = page
        page.set_default_timeout(PATIENCE_MS)

    def box(self, id: str):
        return self.page.get_by_role("region", name=f"Answer to {id}", exact=True)

    def write(self, id: str, text: str) -> None:
        box = self.box(id)
        box.wait_for()  # the page may still be busy with its other scripts
        if box.locator("textarea").count():
            box.locator("textarea").focus()
        editor = box.locator(".cm-content")
        editor.wait_for()
        editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def press(self, id: str, name: str) -> str:
        box = self.box(id)
        box.get_by_role("button", name=name, exact=True).click()
        box.get_by_role("button", name="Check").and_(self.page.locator(":enabled")).wait_for()
        return box.locator(".fc-live").inner_text()

    def check(self, id: str, text: str) -> str:
        self.write(id, text)
        return self.press(id, "Check")


def answer(id: str) -> str:
    task = exercises.find(id)
    return f"{task.code()}\n\n{task.call}"


@pytest.fixture(scope="module", params=[False, True], ids=["http", "file"])
def reader(request, open_page):
    with open_page(CHAPTER, from_file=request.param) as visit:
        made = Reader(visit.page)
        made.visit = visit
        yield made


def test_nothing_is_loaded_before_it_is_asked_for(open_page):
    with open_page(CHAPTER) as visit:
        names = visit.page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert not [name for name in names if re.search(r"vendor/(python|editor)|python-library", name)]


def test_an_exercise_is_answered_where_it_stands(reader):
    task = exercises.find("1.1")
    assert "Not answered yet" in reader.press("1.1", "Check")
    wrong = f"def {task.name}(mask, n):\n    return np.ones(2**n)\n\n{task.call}"
    first = reader.check("1.1", wrong)
    assert "Not yet." in first and task.hints[0][:30].replace("`", "") in first
    assert task.hints[0][:30].replace("`", "") in reader.press("1.1", "Hint")
    assert task.hints[1][:30].replace("`", "") in reader.press("1.1", "Check")
    assert "Right." in reader.check("1.1", answer("1.1"))
    assert reader.visit.outside == [] and reader.visit.errors == []


# Judges the solution of every exercise, each registered mistake, and nonsense: a line for each exercise with the status
# of the first, whether every mistake gets its own sentence, and the status of the last.
VERDICTS = """
import json
from flatcube.classroom import exercises
for id in {ids!r}:
    task = exercises.find(id)
    hand_in = (lambda answer: answer()) if task.is_value else (lambda answer: answer)
    wrong = [(exercises.check(id, hand_in(answer)), words) for words, answer in task.mistakes]
    print(json.dumps([id, exercises.check(id, hand_in(task.solution)).status,
        [[said.status, said.text == words] for said, words in wrong],
        [exercises.check(id, answer).status for answer in ("text", object(), lambda *_: "text", None, ...)]]))
"""


@pytest.mark.parametrize("number", sorted({int(id.partition(".")[0]) for id in exercises.identifiers()}))
def test_every_exercise_is_judged_in_the_page_as_in_cpython(reader, number: int, capsys):
    """Answered rightly, wrongly in every registered way, and with nonsense."""
    ids = [id for id in exercises.identifiers() if id.startswith(f"{number}.") and id not in NOT_IN_PAGE]
    program = VERDICTS.format(ids=ids)
    exec(program, {})
    here = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    reader.check("1.1", program)
    text = reader.box("1.1").locator(".fc-live pre").first.inner_text() if ids else ""
    assert [json.loads(line) for line in text.splitlines()] == here
    assert [row[0] for row in here] == ids
    assert all(row[1] == "right" and row[2] == [["wrong", True]] * len(row[2]) for row in here)
    assert all({*row[3]} <= {"unfit", "open"} for row in here)


def test_nonsense_gets_a_sentence(reader):
    said = reader.check("1.2", "def my_coefficient(:\n    ...")
    assert "SyntaxError" in said and "Traceback" not in said


def test_a_runaway_loop_is_stopped_and_nothing_is_lost(reader):
    text = "while True:\n    pass"
    reader.write("1.2", text)
    box = reader.box("1.2")
    box.get_by_role("button", name="Check").click()
    box.get_by_role("button", name="Stop").click()
    box.get_by_text("You stopped it.").wait_for()
    assert "while True:" in box.locator(".cm-content").inner_text()
    assert "Right." in reader.check("1.2", answer("1.2"))


HURRY = """() => {
  const slow = window.setTimeout;
  window.setTimeout = (act, wait) => {
    if (wait === 60000) window.setTimeout = slow;
    return slow(act, wait === 60000 ? 1000 : wait);
  };
}"""


def test_a_loop_that_nobody_stops_ends_after_a_minute(open_page):
    """The first minute passes in a second here."""
    with open_page(CHAPTER) as visit:
        reader = Reader(visit.page)
        visit.page.evaluate(HURRY)
        said = reader.check("1.2", "while True:\n    pass")
        assert "It was stopped after 60 seconds. Your text is as it was." in said
        assert "while True:" in reader.box("1.2").locator(".cm-content").inner_text()
        assert "Right." in reader.check("1.2", answer("1.2"))


def test_stop_is_heard_while_python_starts(open_page):
    with open_page(CHAPTER) as visit:
        reader = Reader(visit.page)
        box = reader.box("1.2")
        box.get_by_role("button", name="Check").click()
        box.get_by_role("button", name="Stop").click()
        box.get_by_text("You stopped it.").wait_for()
        assert "Right." in reader.check("1.2", answer("1.2"))


@pytest.mark.parametrize("way", OUTWARDS)
def test_code_in_the_page_reaches_nothing_outside(reader, way: str):
    said = reader.check("1.3", OUTWARDS[way])
    assert "may not use the network" in said or "Error" in said
    assert reader.visit.outside == []


def test_the_policy_itself_forbids_other_addresses(reader):
    """Also without the worker's own lock: from the page nothing can be fetched from anywhere else."""
    tried = "fetch('https://example.org/').then(() => 'reached', () => 'refused')"
    assert reader.page.evaluate(tried) == "refused"
    policy = reader.page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert all(part in policy for part in ("connect-src 'self'", "form-action 'none'", "object-src 'none'"))
    reader.visit.errors.clear()


# A worker like ours, but without a lock of its own: what it reaches, by way.
BARE = """async () => {
  const code = `onmessage = async () => {
    const reached = {};
    const note = (name, way) => { try { way(); reached[name] = true; } catch { reached[name] = false; } };
    reached.fetch = await fetch("https://example.org/").then(() => true, () => false);
    const asked = new XMLHttpRequest();
    note("XHR", () => { asked.open("GET", "https://example.org/", false); asked.send(); });
    note("importScripts", () => importScripts("https://example.org/a.js"));
    reached.WebSocket = await new Promise((resolve) => {
      try {
        const socket = new WebSocket("wss://example.org/");
        [socket.onopen, socket.onerror] = [() => resolve(true), () => resolve(false)];
      } catch { resolve(false); }
    });
    postMessage(reached);
  }`;
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  return await new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); worker.postMessage(0); });
}"""


def test_the_policy_binds_a_worker_without_its_own_lock(reader):
    assert reader.page.evaluate(BARE) == dict.fromkeys(OUTWARDS, False)
    assert reader.visit.outside == []  # not even asked: refused by the page itself
    reader.visit.errors.clear()


def test_answers_are_kept_and_exported(open_page):
    with open_page(CHAPTER) as visit:
        reader = Reader(visit.page)
        reader.check("1.1", answer("1.1"))
        visit.page.reload()
        reader.box("1.1").locator("textarea").wait_for()
        assert reader.box("1.1").locator("textarea").input_value() == answer("1.1")
        panel = visit.page.get_by_role("region", name="Your answers")
        assert "You have answered 0 of " in panel.inner_text()  # an exercise is no question
        with visit.page.expect_download() as download:
            panel.get_by_role("button", name="Export").click()
        kept = json.loads(download.value.path().read_text(encoding="utf-8"))["answers"]
        said = {"kind": "code", "answer": answer("1.1"), "right": True, "wrong": 0}
        assert kept == {"01-fourier": {"exercise 1.1": said}}
        reader.press("1.1", "Reset")
        assert reader.box("1.1").locator("textarea").input_value() == exercises.stub("1.1")
        assert visit.page.evaluate("localStorage.getItem('flatcube.answers')") == "{}"


def test_answers_are_cleared_with_the_others(open_page):
    with open_page(CHAPTER) as visit:
        reader, panel = Reader(visit.page), visit.page.get_by_role("region", name="Your answers")
        reader.write("1.1", "my own words")
        panel.get_by_role("button", name="Clear").click()
        panel.get_by_role("button", name="Clear all answers?").click()
        assert "my own words" not in reader.box("1.1").locator(".cm-content").inner_text()
        assert visit.page.evaluate("localStorage.getItem('flatcube.answers')") == "{}"


def _apart(stored: list[str], fresh: list[str]) -> str | None:
    return compare.of_texts(" ".join(stored), " ".join(fresh))


@pytest.mark.parametrize("chapter", ["01-fourier", "02-sensitivity", "03-queries", "08-capacity"])
def test_visible_cells_print_what_is_stored(open_page, chapter: str):
    """All cells that print and run in the page, in its order: the page's Python says what stands below them.

    Its arithmetic is that of another machine, so it is compared as outputs of other machines are.
    """
    with open_page(f"chapters/{chapter}.html") as visit:
        page, compared = visit.page, []
        page.set_default_timeout(PATIENCE_MS)
        page.locator(".fc-tools").first.wait_for()
        for cell in page.locator(".cell.tag_runs-here:not(.fc-asked):has(.output.stream)").all():
            run = cell.get_by_role("button", name="Run", exact=True)
            run.click()
            run.and_(page.locator(":enabled")).wait_for()
            stored, fresh = cell.locator(".output.stream"), cell.locator(".fc-live")
            compared.append((fresh.first.inner_text().split(), stored.first.inner_text().split()))
    assert len(compared) >= 8
    assert [(fresh, stored) for fresh, stored in compared if _apart(stored, fresh[: len(stored)])] == []


def test_cells_that_do_not_run_here_say_what_they_lack_and_where_they_run(open_page):
    for chapter in ("02-sensitivity", "06-parity"):
        with open_page(f"chapters/{chapter}.html") as visit:
            visit.page.locator(".fc-needs").first.wait_for()
            cells = visit.page.locator('.cell[class*="tag_needs-"]')
            notes = cells.locator(".fc-needs")
            assert notes.count() == cells.count() > 0
            for words, link in zip(notes.all_inner_texts(), notes.locator("a").all(), strict=True):
                assert re.fullmatch(NEEDS, words)
                assert link.get_attribute("href").endswith(f"/notebooks/{chapter}.ipynb")


def test_memory_is_bounded(reader):
    said = reader.check("1.3", "held = []\nwhile True:\n    held.append(np.ones(2**24))")
    assert "This needs more memory than the page gives to Python, which is 1 GB." in said
    assert "Right." in reader.check("1.1", answer("1.1"))


def test_a_copy_without_python_says_so_and_works_otherwise(open_page):
    with open_page(CHAPTER) as visit:
        visit.page.route(re.compile(r"vendor/python/"), lambda route: route.abort())
        reader = Reader(visit.page)
        reader.box("1.1").wait_for()
        assert "This copy of the book comes without Python; the notebook" in reader.press("1.1", "Check")
        visit.page.unroute(re.compile(r"vendor/python/"))
        assert reader.box("1.2").locator("textarea").is_visible()


@pytest.mark.parametrize("width", [1400, 390])
def test_the_box_is_accessible(open_page, width: int):
    with open_page(CHAPTER, width=width) as visit:
        reader = Reader(visit.page)
        reader.write("1.1", answer("1.1"))
        assert findings(visit.page) == []


def test_the_packs_stay_small():
    static = rooms.ROOT / "_build/html/_static"
    packs = [*static.glob("vendor/python/*.js"), static / "flatcube/python-library.js"]
    assert len(packs) == 3 and sum(path.stat().st_size for path in packs) < SIZE
