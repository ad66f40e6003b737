"""JupyterLab without the internet, as `make lab` starts it: stored charts are drawn, explorers are two-way with Python,
and real chapters read well and run.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Locator, Page
from pybtex.database import parse_file

from flatcube.classroom import explorer, explorers
from flatcube.classroom.charts import MIME
from flatcube.press import edition, notebook
from tests.browser.fixtures import visiting
from tests.browser.hand import Hand

ROOT = Path(__file__).parents[2]
FIRST_RUN_MS = 120_000  # a cold JupyterLab on a busy machine
TALL = {"width": 1400, "height": 8000}
# All cells are in the page, also those that are not on screen.
WHOLE = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}


def stored_charts() -> list[dict]:
    """All charts that the first chapter stores."""
    cells = notebook.read(edition.path(ROOT, notebook.chapters(ROOT)[0])).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [dict(output.data) for output in outputs if MIME in output.get("data", {})]


def book(folder: Path) -> Path:
    """A book in `folder` that has the readers' notebooks, and no more than JupyterLab needs."""
    shutil.copytree(ROOT / "chapters" / "notebooks", folder / "chapters" / "notebooks")
    for name in ("_toc.yml", "data/plan.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for chapter in notebook.chapters(ROOT):
        shutil.copy(chapter, folder / "chapters")
    return folder


@contextlib.contextmanager
def lab(root: Path, *, myst: bool = True) -> Iterator[str]:
    """JupyterLab on the book in `root`, as `make lab` starts it but for the browser; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "flatcube.cli", "lab", "--root", str(root), "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--IdentityProvider.token=", f"--LabApp.workspaces_dir={root}/spaces"),
    ]
    (settings := root / "theirs/labconfig").mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(WHOLE))
    (settings / "page_config.json").write_text(json.dumps({"disabledExtensions": {"jupyterlab-myst": not myst}}))
    environment = {k: v for k, v in os.environ.items() if k != "FLATCUBE_PRESS"}
    environment["JUPYTER_CONFIG_PATH"] = str(root / "theirs")
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(480):  # two minutes: a cold one on a busy machine
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address + "api", timeout=2).close()
                break
            time.sleep(0.25)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:  # its threads sometimes wait for each other when it ends
            server.kill()
            server.wait()


CHARTS = stored_charts()
NAMES = ["cube", "fourier"]  # each takes three cells: show it, say its n, set its n
STORED = explorer("length")._still()  # as it lies in a notebook


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """A notebook with stored outputs and two explorers, open in JupyterLab; like a download, it is not trusted."""
    root = book(tmp_path_factory.mktemp("lab"))
    cells = [new_code_cell("1", outputs=[new_output("display_data", data=chart)]) for chart in CHARTS]
    for name in NAMES:
        cells += [
            new_code_cell(f"from flatcube.classroom import explorer\n{name} = explorer('{name}', n=3)\n{name}"),
            new_code_cell(f"print('{name} has', {name}.state['n'])"),
            new_code_cell(f"{name}.state = {{**{name}.state, 'n': 5}}"),
        ]
    cells.append(new_code_cell("2", outputs=[new_output("display_data", data=STORED)]))
    cells.append(new_code_cell("from flatcube.classroom.exercises import solution\nsolution('1.1')"))
    notebook.write(notebook.clean(new_notebook(cells=cells)), root / "work" / "small.ipynb")
    with lab(root) as home, visiting(browser, home + "lab/tree/small.ipynb", home, viewport=TALL) as visit:
        await_kernel(visit.page)
        yield visit


def await_kernel(page: Page) -> None:
    page.set_default_timeout(FIRST_RUN_MS)
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()


def run_cell(page, index: int) -> None:
    """Click into code cell `index` and run it with the keyboard."""
    page.locator(".jp-CodeCell").nth(index).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")


def run_explorer(page, index: int) -> Locator:
    """Run a cell that shows an explorer, and wait until it is there."""
    run_cell(page, index)
    root = page.locator(".jp-CodeCell").nth(index).locator("[data-mounted=true]")
    root.wait_for()
    return root


def test_every_stored_chart_is_drawn_before_it_runs(opened):
    assert len(CHARTS) >= 3
    for at in range(len(CHARTS)):
        picture = opened.page.locator(".jp-CodeCell").nth(at).locator(".vega-embed :is(svg.marks, canvas.marks)")
        picture.wait_for()
        box = picture.bounding_box()
        assert min(box["width"], box["height"]) > 100, CHARTS[at]["text/plain"]


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_and_python_move_each_other(opened, name):
    page, first = opened.page, len(CHARTS) + 3 * NAMES.index(name)
    root = run_explorer(page, first)
    hand = Hand(page, type(explorer(name)), root)
    size = root.get_by_role("slider", name=re.compile("Dimensions|Variables"))
    hand.after(lambda: hand.keys(size, "ArrowRight"), n=4)
    run_cell(page, first + 1)
    page.get_by_text(f"{name} has 4", exact=True).wait_for()
    run_cell(page, first + 2)
    root.and_(page.locator("[data-state*='\"n\":5']")).wait_for()
    hand.compare()
    for shown in NAMES[: NAMES.index(name) + 1]:  # each keeps its looks beside the others
        assert page.locator(f"style[id$='explorers.{shown}']").text_content() == explorers.stylesheet(shown)


def test_a_stored_explorer_is_a_picture(opened):
    """And not the words of its drawing, from which JupyterLab takes the rest if it does not trust a notebook."""
    output = opened.page.locator(".jp-CodeCell").nth(len(CHARTS) + 3 * len(NAMES)).locator(".jp-OutputArea-output")
    image = output.get_by_role("img", name=explorer("length").label)
    image.wait_for()
    opened.page.wait_for_function("(image) => image.naturalWidth >= 400", arg=image.element_handle())
    assert output.inner_text().strip() == STORED["text/plain"]


def test_a_fold_shows_that_it_opens(opened):
    """JupyterLab's MyST extension hides the triangle of every other."""
    last = len(CHARTS) + 3 * len(NAMES) + 1
    run_cell(opened.page, last)
    handle = opened.page.locator(".jp-CodeCell").nth(last).locator("details > summary")
    handle.wait_for()
    looks = "(element) => getComputedStyle(element).listStyleType"
    assert handle.evaluate(looks) == "disclosure-closed"
    handle.click()
    assert handle.evaluate(looks) == "disclosure-open"


def test_jupyterlab_asked_for_nothing_outside(opened):
    assert [url for url in opened.outside if not url.startswith("ws:")] == []


# --- real chapters ----------------------------------------------------------------------------------------------------

RAW = re.compile(r"\{(?:glue|cite|prf|claim|erratum|ref|numref)(?::\w+)?\}|:::|^\(\w+-[\w-]+\)=$", re.MULTILINE)
COUNTED = re.compile(r"(?<!\w)\(\d{1,2}\)(?!\w)")  # a number of MyST beside the book's, which is such as (1.3)
KEYS = list(parse_file(str(ROOT / "chapters/references.bib"), bib_format="bibtex").entries)
CHAPTER = "01-fourier"  # it has everything that a chapter can have, and runs in seconds
ALL_RUN_MS = 400_000
DONE = "() => ![...document.querySelectorAll('.jp-InputPrompt')].some((prompt) => prompt.textContent.includes('*'))"
RENDERED = "() => !document.querySelector('.jp-MarkdownCell:not(.jp-mod-rendered)')"
LEFT = """(element) => {
  const edge = element.closest(".jp-OutputArea-output").getBoundingClientRect().left;
  return [...element.querySelectorAll(".fx-axis span")].map((label) => label.getBoundingClientRect().left - edge);
}"""


@pytest.fixture(scope="module", params=[True, False], ids=["with MyST", "without MyST"])
def chapter(request, browser, tmp_path_factory):
    """A chapter, open in JupyterLab with all cells run, its file, and the text that stood there before it ran."""
    root = book(tmp_path_factory.mktemp("book"))
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(lab(root, myst=request.param))
        address = f"{home}lab/tree/{CHAPTER}.ipynb"
        visit = stack.enter_context(visiting(browser, address, home, viewport=TALL))
        page = visit.page
        await_kernel(page)
        page.get_by_role("heading", name=re.compile("Take-away")).wait_for()
        page.wait_for_function(RENDERED)
        texts = page.locator(".jp-MarkdownCell").all_inner_texts()
        links = page.locator(".jp-MarkdownCell a[href]").evaluate_all("all => all.map((link) => link.href)")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.locator("[data-mounted=true]").first.wait_for()
        page.wait_for_function(DONE, timeout=ALL_RUN_MS)
        yield visit, root / "work" / f"{CHAPTER}.ipynb", texts, links


def test_a_chapter_reads_well(chapter):
    _, _, texts, _ = chapter
    prose = "\n".join(texts)
    assert len(prose.split()) > 1500
    assert RAW.findall(prose) == []
    assert [key for key in KEYS if key in prose] == []
    assert COUNTED.findall(prose) == []


def test_no_link_of_a_chapter_is_dead(chapter):
    visit, _, _, links = chapter
    inside = [link for link in links if "127.0.0.1" in link and "#" not in link]
    assert inside
    assert [link for link in inside if visit.page.request.get(link).status >= 400] == []


def test_a_chapter_runs_without_error(chapter):
    visit, file, _, _ = chapter
    cells: list[dict] = []
    for _ in range(60):  # until all of it is saved: JupyterLab saves on its own in between, too
        if cells and all(cell["execution_count"] for cell in cells) and "widget-view" in json.dumps(cells):
            break
        visit.page.keyboard.press("Control+s")
        visit.page.wait_for_timeout(1000)
        with contextlib.suppress(ValueError):  # half of a file
            cells = [c for c in json.loads(file.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells)
    assert [output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"] == []


def test_an_explorer_is_moved_and_read_back(chapter):
    page, file = chapter[0].page, chapter[1]
    root = page.locator("[data-mounted=true]").first
    slider = root.get_by_role("slider").first
    reading = page.locator(".jp-CodeCell").nth(1)
    before = reading.locator(".jp-OutputArea-output").inner_text()
    slider.focus()
    page.keyboard.press("ArrowRight")
    state = json.loads(root.get_attribute("data-state"))
    reading.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function("([e, then]) => e.innerText !== then",
                           arg=[reading.locator(".jp-OutputArea").element_handle(), before])  # fmt: skip
    keys = re.search(r"for key in \((.*?),?\)", reading.locator(".cm-content").inner_text())[1]
    expected = str([state[key.strip().strip("'\"")] for key in keys.split(",")])
    assert reading.locator(".jp-OutputArea-output").inner_text().strip() == expected, file.stem


def test_a_question_answers(chapter):
    page = chapter[0].page
    form = page.locator(".jp-OutputArea-output:has(.widget-radio)").first
    form.locator("input[type=radio]").first.check()
    form.get_by_role("button").click()
    form.get_by_text(re.compile("(Right|Not yet|True, but weaker|As you predicted|Not what happens)[.]")).wait_for()


def test_the_controls_of_a_chart_have_their_keys(chapter):
    """JupyterLab takes the arrows for its own, to go from cell to cell."""
    page = chapter[0].page
    slider = page.locator(".vega-bindings input[type=range]").first
    slider.focus()
    page.keyboard.press("Home")
    least, step = (float(slider.get_attribute(name)) for name in ("min", "step"))
    for key, steps in (("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowUp", 1), ("ArrowDown", 0)):
        page.keyboard.press(key)
        assert float(slider.input_value()) == least + steps * step, key


def test_explorers_look_right(chapter):
    page = chapter[0].page
    for facts in page.locator(".fx-facts").all():
        assert facts.evaluate("e => getComputedStyle(e).display") == "flex"
    lefts = page.locator("[data-mounted=true]").first.evaluate(LEFT)
    assert all(left >= 0 for left in lefts)


def test_it_opens_on_the_index_and_asks_nothing(browser, tmp_path):
    root = book(tmp_path)
    with lab(root) as home, visiting(browser, home, home, viewport=TALL) as visit:
        await_kernel(visit.page)
        assert visit.page.url.endswith("/lab/tree/index.ipynb")
        visit.page.get_by_role("link", name="Fourier").click()
        visit.page.get_by_role("tab", name="01-fourier.ipynb").wait_for()
        assert visit.page.get_by_text("Jupyter news").count() == 0
