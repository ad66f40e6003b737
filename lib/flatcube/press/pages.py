"""From executed notebooks to the sources of the site: outputs become the page's own elements.

A notebook stores a chart as a Vega-Lite specification and an explorer as a small JSON state, which JupyterLab and
GitHub show in their own ways. Here both become HTML elements that the site's loader brings to life without a kernel.
"""

from __future__ import annotations

import html
import json
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat

from flatcube.classroom.mime import CHART, ELEMENT
from flatcube.experiments import store
from flatcube.press import execute, notebook

__all__ = ["CHART", "ELEMENT", "prepare", "element", "log"]

# The packages that decide what a reader sees; the lock file has them all.
SHOWN = ["numpy", "torch", "altair", "ipywidgets", "jupyter-book", "papermill", "nbval", "pytest", "jupyterlab"]


def prepare(root: Path, pages: Path) -> None:
    """Fill the folder `pages` with everything that Jupyter Book reads, and nothing else."""
    for name in ("_config.yml", "_toc.yml"):
        _copy(root / name, pages / name)
    shutil.rmtree(pages / "chapters", ignore_errors=True)
    for source in sorted(p for p in (root / "chapters").rglob("*") if p.is_file() and p.suffix != ".ipynb"):
        _copy(source, pages / source.relative_to(root))
    for chapter in notebook.chapters(root):
        notebook.write(page(execute.executed_copy(root, chapter)), pages / "chapters" / chapter.name)
    (pages / "chapters" / "press-log.json").write_text(json.dumps(log(root), indent=1), encoding="utf-8")


def page(chapter: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with each chart and element output replaced by the HTML that the site shows."""
    for cell in chapter.cells:
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data = nbformat.from_dict(element(output.data))
    return chapter


def element(data: dict[str, Any]) -> dict[str, Any]:
    """The MIME bundle that the site gets for the bundle `data` of a notebook's output."""
    if CHART in data:
        specification = {k: v for k, v in data[CHART].items() if k != "config"}  # the site's own theme rules there
        if specification.pop("usermeta", {}).get("fill"):
            specification["width"] = "container"
        label = specification.get("description", "")
        words = html.escape(label)
        inside = f"{_script(specification)}<noscript><p>{words}</p></noscript>"
        return {"text/html": f'<div class="fc-chart" role="figure" aria-label="{words}">{inside}</div>'}
    if ELEMENT in data:
        payload = data[ELEMENT]
        name = html.escape(str(payload.get("name", payload.get("id", ""))))
        fallback = f'<div class="fc-fallback">{data.get("text/html", "")}</div>'
        kind = f'class="fc-{payload["element"]}"'
        return {"text/html": f'<div {kind} data-name="{name}">{_script(payload)}{fallback}</div>'}
    return data


def _script(payload: dict[str, Any]) -> str:
    # "</" would end the script element inside a string.
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f'<script type="application/json">{text}</script>'


def log(root: Path) -> dict[str, Any]:
    """What the page "How the results were made" shows: seconds per chapter, the versions in use, stored results."""
    seconds = {}
    for chapter in notebook.chapters(root):
        known = execute.record(root, chapter)
        seconds[chapter.stem] = known["seconds"] if known else None
    versions = {"Python": platform.python_version()} | {name: metadata.version(name) for name in SHOWN}
    return {"seconds": seconds, "versions": versions, "stored": store.manifest(root / "data")}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
