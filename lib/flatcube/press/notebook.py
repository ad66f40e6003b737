"""Reading, cleaning and comparing notebooks.

A committed notebook holds its outputs, but nothing that differs from one run to the next: no timestamps,
no random identifiers, no name of the machine's Python. Running it again without a change gives the same file.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import nbformat

__all__ = ["chapters", "read", "write", "clean", "source_digest", "parameters_cell", "first_difference"]

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def chapters(root: Path) -> list[Path]:
    """The notebooks of the book below `root`, `01-….ipynb` to `18-….ipynb`; a scratch notebook beside them is none."""
    return sorted((root / "chapters").glob("[0-9][0-9]-*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook at `path`, in the current format."""
    return nbformat.read(path, as_version=4)


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write `notebook` to `path` unless the file already holds exactly that (its date then stays)."""
    text = nbformat.writes(notebook) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy of `notebook` without anything that changes from run to run."""
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    copy.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    copy.nbformat, copy.nbformat_minor = 4, 5
    copy.cells = [cell for cell in copy.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for index, cell in enumerate(copy.cells, start=1):
        cell.id = f"cell-{index:02d}"
        kept = ("tags", "mystnb")
        cell.metadata = nbformat.from_dict({k: cell.metadata[k] for k in kept if cell.metadata.get(k)})
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return copy


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join neighbouring pieces of one stream: where the kernel cuts a stream depends on the machine's load."""
    joined: list[nbformat.NotebookNode] = []
    for output in outputs:
        previous = joined[-1] if joined else None
        if previous and output.output_type == previous.output_type == "stream" and output.name == previous.name:
            previous.text += output.text
        else:
            joined.append(output)
    return joined


def source_digest(notebook: nbformat.NotebookNode) -> str:
    """A digest of what is executed: the code cells and their tags, not the prose and not the outputs."""
    code = [[cell.source, cell.metadata.get("tags", [])] for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


def parameters_cell(notebook: nbformat.NotebookNode) -> str | None:
    """The source of the cell tagged `parameters`, which papermill may override, or None."""
    tagged = (cell.source for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    return next(tagged, None)


def first_difference(committed: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> str | None:
    """Where the outputs of two cleaned notebooks first differ, in one sentence, or None if they agree."""
    if len(committed.cells) != len(fresh.cells):
        return f"it has {len(committed.cells)} cells, the fresh run {len(fresh.cells)}"
    for index, (old, new) in enumerate(zip(committed.cells, fresh.cells, strict=True), start=1):
        if old.get("outputs") != new.get("outputs"):
            return f"the output of cell {index} differs from a fresh run"
        if old != new:
            return f"cell {index} differs from a fresh run outside its output"
    return None
