"""JupyterLab without the internet: stored charts are drawn, and explorers are two-way with Python."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Locator

from flatcube.classroom import explorer
from flatcube.classroom.charts import MIME
from flatcube.press import notebook
from tests.browser.conftest import visiting
from tests.browser.hand import Hand

ROOT = Path(__file__).parents[2]
FIRST_RUN_MS = 120_000  # a cold JupyterLab on a busy machine


def stored_charts() -> list[dict]:
    """All charts that the first chapter stores."""
    cells = notebook.read(notebook.chapters(ROOT)[0]).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [dict(output.data) for output in outputs if MIME in output.get("data", {})]


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[str]:
    """A JupyterLab server on `folder`, as `make lab` starts it but for the browser; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "flatcube.cli", "lab", "--root", str(ROOT), "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"),
        f"--LabApp.workspaces_dir={folder}/.spaces",
    ]
    environment = {k: v for k, v in os.environ.items() if k != "FLATCUBE_PRESS"}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address + "api", timeout=2).close()
                break
            time.sleep(0.25)
        yield address
    finally:
        server.terminate()
        server.wait()


CHARTS = stored_charts()
NAMES = ["cube", "fourier"]  # each takes three cells: show it, say its n, set its n


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """A notebook with the stored charts and two explorers, open in JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [new_code_cell("1", outputs=[new_output("display_data", data=chart)]) for chart in CHARTS]
    for name in NAMES:
        cells += [
            new_code_cell(f"from flatcube.classroom import explorer\n{name} = explorer('{name}', n=3)\n{name}"),
            new_code_cell(f"print('{name} has', {name}.state['n'])"),
            new_code_cell(f"{name}.state = {{**{name}.state, 'n': 5}}"),
        ]
    cells.append(new_code_cell("from flatcube.classroom.exercises import solution\nsolution('1.1')"))
    notebook.write(notebook.clean(new_notebook(cells=cells)), folder / "small.ipynb")
    tall = {"width": 1400, "height": 8000}  # JupyterLab keeps only cells on screen in the page
    with lab(folder) as home, visiting(browser, home + "lab/tree/small.ipynb", home, viewport=tall) as visit:
        visit.page.set_default_timeout(FIRST_RUN_MS)
        visit.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        visit.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        yield visit


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


def test_a_folded_solution_shows_that_it_opens(opened):
    """Once an explorer has run and brought its styles; JupyterLab's MyST extension hides the triangle of every fold."""
    run_explorer(opened.page, len(CHARTS))
    last = len(CHARTS) + 3 * len(NAMES)
    run_cell(opened.page, last)
    handle = opened.page.locator(".jp-CodeCell").nth(last).locator("details > summary")
    handle.wait_for()
    element = handle.element_handle()
    looks = "([e, marker]) => getComputedStyle(e).listStyleType === marker"  # styles may come a moment later
    opened.page.wait_for_function(looks, arg=[element, "disclosure-closed"])
    handle.click()
    opened.page.wait_for_function(looks, arg=[element, "disclosure-open"])


def test_jupyterlab_asked_for_nothing_outside(opened):
    assert [url for url in opened.outside if not url.startswith("ws:")] == []
