"""From executed notebooks to the sources of the site: outputs become the page's own elements.

A notebook stores a chart as a Vega-Lite specification and an explorer as a small JSON state, which JupyterLab and
GitHub show in their own ways. Here both become HTML elements that the site's loader brings to life without a kernel.
"""

from __future__ import annotations

import html
import json
import platform
import re
import shutil
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat

from flatcube import processes
from flatcube.classroom import palette
from flatcube.classroom.mime import CHART, ELEMENT
from flatcube.experiments import store
from flatcube.press import audience, bank, execute, figures, inpage, notebook

__all__ = ["CHART", "ELEMENT", "sources", "prepare", "element", "log"]

# The packages that decide what a reader sees; the lock file has them all.
SHOWN = ["numpy", "torch", "altair", "ipywidgets", "jupyter-book", "papermill", "nbval", "pytest", "jupyterlab"]


PLACE = re.compile(r' id="([\w-]+-explorer)" data-name=')
INPUTS, UNDER = 53, 12  # pixels under a chart's picture: a row of inputs, or what a line of text has below its letters
UNSHOWN = {".ipynb", ".new"}  # what is made from the texts, and a draft whose writer was killed


def sources(root: Path) -> list[Path]:
    """The files that the pages are made of, apart from outputs, relative to `root`."""
    found = sorted(p for p in (root / "chapters").rglob("*") if p.is_file() and p.suffix not in UNSHOWN)
    return [Path("_config.yml"), Path("_toc.yml"), *(path.relative_to(root) for path in found)]


def prepare(root: Path, pages: Path, for_whom: str = audience.READER) -> None:
    """Fill the folder `pages` with everything that Jupyter Book reads for an edition, and nothing else."""
    shutil.rmtree(pages / "chapters", ignore_errors=True)
    chapters = [chapter.relative_to(root) for chapter in notebook.chapters(root)]
    for source in sources(root):
        if source in chapters:
            executed = audience.trimmed(execute.executed_copy(root, root / source), for_whom)
            done = page(executed, source.stem)
            inpage.mark(done, root / "_build" / "inpage" / f"{source.stem}.json")
            notebook.write(done, (pages / source).with_suffix(".ipynb"))
        else:
            processes.replace(pages / source, (root / source).read_bytes())
    if for_whom == audience.INSTRUCTOR:
        audience.extend(root, pages)
    processes.replace(pages / "chapters" / figures.FILE, figures.stored(figures.labelled(root)))
    processes.replace(pages / "chapters" / bank.FILE, bank.stored(root))
    processes.replace(pages / "chapters" / "press-log.json", json.dumps(log(root), indent=1).encode())


def page(chapter: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """The chapter `name` with each chart and element output replaced by the HTML that the site shows."""
    chapter.cells = [cell for cell in chapter.cells if notebook.LAB_ONLY not in cell.metadata.get("tags", [])]
    numbers = {id(output): figure for _, output, figure in figures.numbered(name, chapter)}
    for cell in chapter.cells:
        for output in cell.get("outputs", []):
            if "data" in output:
                data = element(output.data)
                if figure := numbers.get(id(output)):
                    data = {"text/html": figure.framed(data["text/html"], titled=CHART in output.data)}
                output.data = nbformat.from_dict(data)
    _number_repeated(chapter)
    return chapter


def _number_repeated(chapter: nbformat.NotebookNode) -> None:
    """The second explorer of a name has another place on the page: parity-explorer-2."""
    seen: Counter[str] = Counter()

    def place(found: re.Match[str]) -> str:
        seen[found[1]] += 1
        return f' id="{found[1]}{f"-{seen[found[1]]}" * (seen[found[1]] > 1)}" data-name='

    for cell in chapter.cells:
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output.data["text/html"] = PLACE.sub(place, output.data["text/html"])


def element(data: dict[str, Any]) -> dict[str, Any]:
    """The MIME bundle that the site gets for the bundle `data` of a notebook's output."""
    if CHART in data:
        specification = {k: v for k, v in data[CHART].items() if k != "config"}  # the site's own theme rules there
        if specification.pop("usermeta", {}).get("fill"):
            specification["width"] = "container"
        label = specification.get("description", "")
        words = html.escape(label)
        inside = f"{palette.themed(_script(specification))}<noscript><p>{words}</p></noscript>"
        size = reserved(specification, data.get("image/svg+xml", ""))
        return {"text/html": f'<div class="fc-chart" role="figure" aria-label="{words}"{size}>{inside}</div>'}
    if ELEMENT in data:
        payload = data[ELEMENT]
        name = html.escape(str(payload.get("name", payload.get("id", ""))))
        fallback = f'<div class="fc-fallback">{data.get("text/html", "")}</div>'
        kind = f'class="fc-{payload["element"]}"'
        place = f' id="{name.replace(".", "-")}-explorer"' if payload["element"] == "explorer" else ""
        kept = f' style="--height: {html.escape(payload["height"])}"' if "height" in payload else ""
        return {"text/html": f'<div {kind}{place} data-name="{name}"{kept}>{_script(payload)}{fallback}</div>'}
    return data


def reserved(specification: dict[str, Any], picture: str) -> str:
    """What the page keeps free for a chart until it is drawn, as a style: its picture's height and its inputs'."""
    drawn = re.search(r'<svg[^>]* height="([\d.]+)"', picture)
    inputs = sum(isinstance(param.get("bind"), dict) for param in specification.get("params", []))
    below = INPUTS if inputs else UNDER
    return f' style="--height: {round(float(drawn[1])) + below}px; --inputs: {inputs}"' if drawn else ""


def _script(payload: dict[str, Any]) -> str:
    # In a script element "</script", "<!--" and "<script" mean something; in JSON "<" stands in strings only.
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


def log(root: Path) -> dict[str, Any]:
    """What the page "How the results were made" shows: seconds per chapter, the versions in use, stored results."""
    seconds = {}
    for chapter in notebook.chapters(root):
        known = execute.record(root, chapter)
        seconds[chapter.stem] = known["seconds"] if known else None
    versions = {"Python": platform.python_version()} | {name: metadata.version(name) for name in SHOWN}
    return {"seconds": seconds, "versions": versions, "stored": store.manifest(root / "data")}
