"""From executed notebooks to the sources of the site: outputs become the page's own elements.

A notebook stores a chart as a Vega-Lite specification and an explorer as a small JSON state, which JupyterLab and
GitHub show in their own ways. Here both become HTML elements that the site's loader brings to life without a kernel.
"""

from __future__ import annotations

import html
import json
import platform
import shutil
from pathlib import Path
from typing import Any

import nbformat

from flatcube.press import execute, notebook

__all__ = ["CHART", "ELEMENT", "prepare", "element", "log"]

CHART = "application/vnd.vegalite.v5+json"
ELEMENT = "application/vnd.flatcube+json"


def prepare(root: Path, pages: Path) -> None:
    """Fill the folder `pages` with everything that Jupyter Book reads; files that do not change keep their date."""
    wanted = {pages / "_config.yml", pages / "_toc.yml"}
    for source in [root / "_config.yml", root / "_toc.yml"]:
        _copy(source, pages / source.name)
    for source in sorted((root / "chapters").iterdir()):
        target = pages / "chapters" / source.name
        wanted.add(target)
        if source.suffix == ".ipynb":
            notebook.write(page(execute.executed_copy(root, source)), target)
        elif source.is_file():
            _copy(source, target)
    for target in (pages / "chapters").iterdir():
        if target not in wanted:
            target.unlink()
    _write(json.dumps(log(root), indent=1), pages / "chapters" / "press-log.json")


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
        label = specification.get("description", "")
        body = f'<div class="fc-chart" role="figure" aria-label="{html.escape(label)}">{_script(specification)}</div>'
        return {"text/html": body}
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
    """What the page "How the results were made" shows: seconds per chapter and the pinned versions."""
    seconds = {}
    for chapter in notebook.chapters(root):
        known = execute.record(root, chapter)
        seconds[chapter.stem] = known["seconds"] if known else None
    lines = (root / "requirements.lock").read_text(encoding="utf-8").splitlines()
    versions = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {"seconds": seconds, "python": platform.python_version(), "versions": versions}


def _copy(source: Path, target: Path) -> None:
    if not target.exists() or source.read_bytes() != target.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _write(text: str, target: Path) -> None:
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
