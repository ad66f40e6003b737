"""JupyterLab without the internet: stored charts are drawn, and an explorer is two-way with Python."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from flatcube.classroom import explorer
from flatcube.press import notebook
from tests.browser.conftest import visiting

ROOT = Path(__file__).parents[2]
EXPLORER = ".jp-OutputArea [data-mounted=true]"
FIRST_RUN_MS = 120_000  # a cold JupyterLab on a busy machine


def stored_chart() -> dict:
    """The first chart that a committed chapter stores."""
    for chapter in notebook.chapters(ROOT):
        for cell in notebook.read(chapter).cells:
            for output in cell.get("outputs", []):
                if "application/vnd.vegalite.v5+json" in output.get("data", {}):
                    return dict(output.data)
    raise AssertionError("No chapter stores a chart.")


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


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """A notebook with a stored chart and an explorer, open in JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [
        new_code_cell("1", outputs=[new_output("display_data", data=stored_chart())]),
        new_code_cell("from flatcube.classroom import explorer\ne = explorer('cube', n=3)\ne"),
        new_code_cell("print('python sees', e.state['n'])"),
        new_code_cell("e.state = {**e.state, 'n': 4}"),
    ]
    notebook.write(notebook.clean(new_notebook(cells=cells)), folder / "small.ipynb")
    tall = {"width": 1400, "height": 2600}  # JupyterLab keeps only cells on screen in the page
    with lab(folder) as home, visiting(browser, home + "lab/tree/small.ipynb", home, viewport=tall) as visit:
        visit.page.set_default_timeout(FIRST_RUN_MS)
        visit.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        visit.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        yield visit


def run_cell(page, index: int) -> None:
    """Click into code cell `index` and run it with the keyboard."""
    page.locator(".jp-CodeCell").nth(index).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")


def test_a_stored_chart_is_drawn_before_anything_runs(opened):
    opened.page.wait_for_selector(".jp-CodeCell >> nth=0 >> .vega-embed :is(svg, canvas)")


def nudge(page, expected: int) -> None:
    """Press the right arrow on the explorer's first slider and wait until the picture has `expected` dimensions."""
    page.locator(f"{EXPLORER} input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    wait_for_dimensions(page, expected)


def wait_for_dimensions(page, expected: int) -> None:
    page.wait_for_selector(f"{EXPLORER}[data-state*='\"n\":{expected}']")


def test_the_hand_moves_python(opened):
    run_cell(opened.page, 1)
    opened.page.wait_for_selector(EXPLORER)
    nudge(opened.page, 4)
    run_cell(opened.page, 2)
    opened.page.get_by_text("python sees 4").wait_for()


def test_python_moves_the_picture(opened):
    nudge(opened.page, 5)
    run_cell(opened.page, 3)
    wait_for_dimensions(opened.page, 4)


def test_the_numbers_shown_are_the_librarys(opened):
    shown = opened.page.locator(f"{EXPLORER} [data-value][data-number]").evaluate_all(
        "list => Object.fromEntries(list.map(e => [e.dataset.value, Number(e.dataset.number)]))"
    )
    state = json.loads(opened.page.locator(EXPLORER).get_attribute("data-state"))
    expected = explorer("cube").displayed(state)
    assert shown
    assert shown == {key: pytest.approx(expected[key], abs=1e-9) for key in shown}


def test_jupyterlab_asked_for_nothing_outside(opened):
    assert [url for url in opened.outside if not url.startswith("ws:")] == []
