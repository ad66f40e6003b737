"""Reading, cleaning and comparing notebooks.

A chapter is a text, `chapters/NN-name.md`: MyST Markdown with code cells, as jupytext reads it, below a front matter
that names its room. A stored notebook holds its outputs, but nothing that differs from one run to the next: no
timestamps, no random identifiers, no name of the machine's Python. Running it again without a change gives the same
file.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import yaml

from flatcube import processes
from flatcube.press import compare

__all__ = ["chapters", "front_matter", "title", "read", "write", "clean", "source_digest", "parameters_cell",
           "is_shown", "LAB_ONLY", "first_difference", "agree", "by_statement"]  # fmt: skip

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LAB_ONLY = "lab-only"  # the tag of a cell that needs a kernel: in the readers' notebook, not on the page
METADATA = {"kernelspec": KERNEL, "language_info": {"name": "python"}}


def chapters(root: Path) -> list[Path]:
    """The chapters of the book below `root`, `01-….md` to `18-….md`; other texts beside them are none."""
    return sorted((root / "chapters").glob("[0-9][0-9]-*.md"))


def front_matter(chapter: Path) -> dict[str, Any]:
    """What stands above the text of a chapter: its `room`, its `blurb`, if it is a `draft`, and jupytext's lines."""
    return _parts(chapter)[0]


def title(chapter: Path) -> str:
    """The heading of a chapter, without its markup."""
    found = re.search(r"^# (.+)$", _parts(chapter)[1], flags=re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]).strip() if found else chapter.stem


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook or the chapter at `path`, in the current format; ValueError if the file is none."""
    if path.suffix == ".md":
        return _read_text(path)
    broken: dict[str, Exception] = {}
    try:
        found = nbformat.read(path, as_version=4, capture_validation_error=broken)
    except OSError:
        raise
    except Exception as error:  # of many kinds: conflict markers, another format, nothing at all
        broken["reading"] = error
    for error in broken.values():
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path}: expected a notebook, got something else ({why[:100]})") from None
    return found


def _read_text(path: Path) -> nbformat.NotebookNode:
    import jupytext

    _parts(path)
    found = jupytext.reads(path.read_text(encoding="utf-8"), fmt="md:myst")
    found.metadata = nbformat.from_dict(METADATA)
    for cell in found.cells:
        cell.source = cell.source.strip("\n")
    return found


def _parts(path: Path) -> tuple[dict[str, Any], str]:
    """The front matter of a text and what is below it."""
    try:
        text = path.read_text(encoding="utf-8")
        if conflict := re.search(r"^(<{7}|>{7}) .*$", text, flags=re.MULTILINE):
            raise ValueError(f"the marker of a conflict: {conflict[0]}")
        _, head, body = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
        found = yaml.safe_load(head)
        if _ or not isinstance(found, dict):
            raise ValueError("no front matter")
    except (ValueError, yaml.YAMLError) as error:  # not text, too few parts, no YAML
        why = "no front matter" if "unpack" in str(error) else str(error).splitlines()[0]
        raise ValueError(f"{path}: expected a chapter, got something else ({why[:100]})") from None
    return found, body


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write `notebook` to `path` unless the file already holds exactly that (its date then stays)."""
    content = (nbformat.writes(notebook) + "\n").encode()
    if not path.exists() or path.read_bytes() != content:
        processes.replace(path, content)


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy of `notebook` without anything that changes from run to run."""
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    copy.metadata = nbformat.from_dict(METADATA)
    copy.nbformat, copy.nbformat_minor = 4, 5
    copy.cells = [cell for cell in copy.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for index, cell in enumerate(copy.cells, start=1):
        cell.id = f"cell-{index:02d}"
        kept = ("tags", "mystnb", "jupyter", "cellView")
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


def is_shown(cell: nbformat.NotebookNode) -> bool:
    """Whether readers see the code of a cell at once: the site neither folds nor removes it."""
    return not any(tag.startswith(("hide", "remove")) for tag in cell.metadata.get("tags", []))


def first_difference(committed: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> str | None:
    """Where two cleaned notebooks first differ, in one sentence, or None if they agree; outputs agree as numbers."""
    if len(committed.cells) != len(fresh.cells):
        return f"it has {len(committed.cells)} cells, the fresh run {len(fresh.cells)}"
    for index, (old, new) in enumerate(zip(committed.cells, fresh.cells, strict=True), start=1):
        words = compare.difference(old.get("outputs", []), new.get("outputs", []), by_statement=by_statement(old))
        if words:
            return f"the output of cell {index} differs from a fresh run: {words}"
        if (words := _of_cells(old, new)) is not None:
            return f"cell {index} differs from a fresh run outside its output{words}"
    return None


def agree(old: nbformat.NotebookNode, new: nbformat.NotebookNode) -> bool:
    """Whether two runs of a cell gave the same outputs, as numbers."""
    return not compare.difference(old.outputs, new.outputs, by_statement=by_statement(new))


def by_statement(cell: nbformat.NotebookNode) -> bool:
    """Whether the outputs of a cell are compared by their words and structure only."""
    return compare.BY_STATEMENT in cell.metadata.get("tags", [])


def _of_cells(old: nbformat.NotebookNode, new: nbformat.NotebookNode) -> str | None:
    """How two cells differ apart from their outputs; numbers in prose are computed, and agree as numbers."""
    if old.cell_type == new.cell_type == "markdown":
        words = compare.of_texts(old.source, new.source)
        return f": {words}" if words else None
    kept = [{key: value for key, value in cell.items() if key != "outputs"} for cell in (old, new)]
    return "" if kept[0] != kept[1] else None
