"""Python in the page: from the press of Check to the first answer, as a ratio to a bare start of Pyodide with numpy.

Both load the same packs over http into a fresh window. The bare start needs no library and no page: a worker unpacks
the interpreter and numpy, imports numpy and adds two numbers.
"""

import re
import sys
import time
from pathlib import Path

import arena

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
CHAPTER, ROUNDS, MOST = "chapters/01-fourier.html", 3, 1.3
BARE = """async () => {
  const files = {};
  window.flatcube = { pack: (_, given) => void Object.assign(files, given) };
  for (const name of ["core", "numpy"])
    await new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = `/_static/vendor/python/${name}.js`;
      script.onload = resolve;
      document.head.append(script);
    });
  const code = `onmessage = async ({ data }) => {
    const held = new Map();
    for (const [name, text] of Object.entries(data)) {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      held.set(name, await new Response(stream).arrayBuffer());
    }
    self.fetch = async (asked) => {
      const name = String(asked.url ?? asked).split("/").pop();
      const kind = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(held.get(name), { headers: { "Content-Type": kind } });
    };
    for (const name of ["pyodide.asm.js", "pyodide.js"])
      importScripts(URL.createObjectURL(new Blob([held.get(name)])));
    const python = await loadPyodide({ indexURL: "https://flatcube.invalid/" });
    python._module.mergeLibSymbols({ backtrace: () => 0 });
    const extractDir = python.runPython("import site; site.getsitepackages()[0]");
    python.unpackArchive(held.get("numpy.zip"), "zip", { extractDir });
    python.runPython("import importlib; importlib.invalidate_caches()");
    postMessage(python.runPython("import numpy; int(numpy.ones(2).sum())"));
  }`;
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  return await new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); worker.postMessage(files); });
}"""


def main() -> list[bool | None]:
    """Print the seconds of both and their ratio; whether the target is met, None where the site has not been built."""
    times = _times() if (SITE / CHAPTER).exists() else None
    ratio = times and times[0] / times[1]
    if times:
        print(f"first answer in the page {times[0]:.1f} s, bare Pyodide with numpy {times[1]:.1f} s")
    return [arena.judge("first answer in the page to a bare start", ratio, most=MOST)]


def _times() -> tuple[float, float] | None:
    """The best of several rounds of each, in turn."""
    sys.path.append(str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium, fixtures

    path = chromium.find()
    if path is None:
        return None
    ours, bare = [], []
    with sync_playwright() as play, fixtures.served(SITE) as home:
        browser = play.chromium.launch(executable_path=path, args=chromium.FLAGS)
        for _ in range(ROUNDS):
            ours.append(_ours(browser, home))
            bare.append(_bare(browser, home))
        browser.close()
    return min(ours), min(bare)


def _ours(browser, home: str) -> float:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(300_000)
    page.goto(home + CHAPTER, wait_until="load")
    box = page.get_by_role("region", name=re.compile("^Answer to ")).first
    check = box.get_by_role("button", name="Check")
    check.wait_for()
    start = time.perf_counter()
    check.click()
    box.locator(".fc-live").get_by_text("Not answered yet").wait_for()
    taken = time.perf_counter() - start
    context.close()
    return taken


def _bare(browser, home: str) -> float:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(300_000)
    page.goto(home + "404.html", wait_until="load")
    start = time.perf_counter()
    assert page.evaluate(BARE) == 2
    taken = time.perf_counter() - start
    context.close()
    return taken
