"""Executing the chapters with papermill, two at a time, and only those whose inputs changed."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import platform
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from tqdm import tqdm

from flatcube import processes
from flatcube.press import notebook, trace

__all__ = ["CELL_SECONDS", "Outcome", "run", "is_fresh", "executed_copy", "record", "forget"]

WORKERS = 2
CELL_SECONDS = 300  # the longest that a cell may take; a whole chapter should take under a minute
_LONGEST = 90  # bytes of a socket's name, without its last few; systems allow 104 or more
UNKNOWN_SECONDS = 10.0  # a guess for the progress bar, for a chapter that was never run


@dataclass(frozen=True)
class Outcome:
    """What became of one chapter: `error` is None, or one line naming the chapter, the cell and the error."""

    chapter: Path
    seconds: float
    executed: bool
    error: str | None = None


def run(
    root: Path,
    chapters: list[Path] | None = None,
    parameters: dict[str, Any] | None = None,
    *,
    force: bool = False,
    cell_seconds: int = CELL_SECONDS,
) -> list[Outcome]:
    """Bring the executed copies under `_build/executed` up to date; a failing chapter does not stop the others."""
    parameters, outcomes, stale = parameters or {}, [], []
    for chapter in notebook.chapters(root) if chapters is None else chapters:
        try:
            if is_fresh(root, chapter, parameters) and not force:
                outcomes.append(Outcome(chapter, record(root, chapter)["seconds"], executed=False))
            else:
                stale.append(chapter)
        except (OSError, ValueError) as error:  # a file that cannot be read; it is named
            outcomes.append(Outcome(chapter, 0.0, executed=False, error=str(error)))
    for path in filter(None, (_spoiled(root, chapter) for chapter in stale)):
        print(f"{path.relative_to(root)} is not as the press left it: {path.stem} is executed again.", file=sys.stderr)
    if stale:
        outcomes += _execute_all(root, stale, parameters, cell_seconds)
    return sorted(outcomes, key=lambda outcome: outcome.chapter)


def is_fresh(root: Path, chapter: Path, parameters: dict[str, Any] | None = None) -> bool:
    """Whether the executed copy is whole and belongs to the present source, parameters, modules, data and versions."""
    known = record(root, chapter)
    if known is None or known["copy"] != _digest(_copy_path(root, chapter)):
        return False
    return known["key"] == _key(root, chapter, parameters or {}, list(known["key"]["inputs"]))


def executed_copy(root: Path, chapter: Path) -> nbformat.NotebookNode:
    """The chapter as it stands now, with the outputs of its last execution (prose may have changed since)."""
    current = notebook.clean(notebook.read(chapter))
    outputs = iter([c for c in notebook.read(_copy_path(root, chapter)).cells if c.cell_type == "code"])
    for cell in current.cells:
        if cell.cell_type == "code":
            done = next(outputs)
            cell.outputs, cell.execution_count = done.outputs, done.execution_count
    return current


def record(root: Path, chapter: Path) -> dict[str, Any] | None:
    """What is known of the last execution of `chapter`: its key, its seconds and its copy's digest.

    None if nothing is known, or nothing that this press has written.
    """
    try:
        known = json.loads(_record_path(root, chapter).read_text(encoding="utf-8"))
        whole = isinstance(known["key"]["inputs"], dict) and 0 <= known["seconds"] < math.inf and known["copy"]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):  # missing, torn, or of another kind
        return None
    return known if whole else None


def forget(root: Path, chapter: Path) -> None:
    """Have `chapter` executed again the next time it is needed."""
    _record_path(root, chapter).unlink(missing_ok=True)


def _copy_path(root: Path, chapter: Path) -> Path:
    return root / "_build" / "executed" / f"{chapter.stem}.ipynb"


def _record_path(root: Path, chapter: Path) -> Path:
    return _copy_path(root, chapter).with_suffix(".json")


def _spoiled(root: Path, chapter: Path) -> Path | None:
    """The record or copy of `chapter` if someone else has damaged or removed it; a run that failed left neither."""
    copy, path = _copy_path(root, chapter), _record_path(root, chapter)
    known = record(root, chapter)
    if known is None:
        return path if path.exists() else None
    return copy if known["copy"] != _digest(copy) else None


def _key(root: Path, chapter: Path, parameters: dict[str, Any], inputs: list[str]) -> dict[str, Any]:
    """Everything on which the outputs depend. JSON, so that it can be stored and compared."""
    return {
        "source": notebook.source_digest(notebook.read(chapter)),
        "parameters": parameters,
        "lock": _digest(root / "requirements.lock"),
        "torch": next((found.version for found in metadata.distributions(name="torch")), "absent"),  # not in the lock
        "python": platform.python_version(),
        "inputs": {name: _digest(root / name) for name in inputs},
    }


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"


def _digest_since(path: Path, started: float) -> str:
    """The digest of an input of a run, or words that equal no digest if the file was edited while the run went on."""
    edited = path.is_file() and path.stat().st_mtime > started
    return "edited during the run" if edited else _digest(path)


def _execute_all(
    root: Path, chapters: list[Path], parameters: dict[str, Any], cell_seconds: int
) -> list[Outcome]:
    expected = {c: (record(root, c) or {"seconds": UNKNOWN_SECONDS})["seconds"] for c in chapters}
    # The longest chapters first: the two workers then finish at about the same time.
    ordered = sorted(chapters, key=expected.__getitem__, reverse=True)
    with tempfile.TemporaryDirectory(prefix="cube-", ignore_cleanup_errors=True) as sockets:
        call, outcomes = functools.partial(_execute, root, parameters, cell_seconds, sockets), []
        results = processes.outcomes(call, ordered, WORKERS, family=True)  # the kernels are their family
        with closing(results), _progress(sum(expected.values())) as bar:
            for chapter, outcome in results:
                if not isinstance(outcome, Outcome):
                    outcome = Outcome(chapter, 0.0, executed=True, error=f"{_name(root, chapter)}: {outcome}")
                outcomes.append(outcome)
                bar.set_postfix_str(chapter.stem)
                bar.update(min(expected[chapter], bar.total - bar.n))  # sums of decimals may overshoot
    return outcomes


def _name(root: Path, chapter: Path) -> str:
    return chapter.relative_to(root).as_posix()


def _progress(total: float) -> tqdm:
    form = "{desc}: {percentage:3.0f}%|{bar:30}| {elapsed} elapsed, about {remaining} left {postfix}"
    return tqdm(total=total, desc="Executing chapters", bar_format=form, file=sys.stderr)


def _execute(root: Path, parameters: dict[str, Any], cell_seconds: int, sockets: str, chapter: Path) -> Outcome:
    """Execute one chapter in a process of its own and store the copy, its key and its time."""
    started, error = time.time(), None
    try:
        forget(root, chapter)  # until the new copy stands
        log = _copy_path(root, chapter).with_suffix(".trace")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        key = _key(root, chapter, parameters, [])
        kernels = _kernels(f"{sockets}/{chapter.stem[:2]}")
        done = _papermill(root, chapter, parameters, log, cell_seconds, kernels)
        key["inputs"] = {name: _digest_since(root / name, started) for name in trace.inputs(log, root)}
        _keep(root, chapter, done, key, round(time.time() - started, 1))
    except (OSError, ValueError, RuntimeError) as failure:  # each names its file
        error = str(failure)
    return Outcome(chapter, round(time.time() - started, 1), executed=True, error=error)


def _keep(root: Path, chapter: Path, done: nbformat.NotebookNode, key: dict[str, Any], seconds: float) -> None:
    """Store an executed chapter: first the copy, then the record that vouches for it."""
    copy = _copy_path(root, chapter)
    notebook.write(notebook.clean(done), copy)
    known = {"key": key, "seconds": seconds, "copy": _digest(copy)}
    processes.replace(_record_path(root, chapter), json.dumps(known, indent=1).encode())


def _papermill(
    root: Path,
    chapter: Path,
    parameters: dict[str, Any],
    log: Path,
    cell_seconds: int,
    kernels: type,
    *,
    again: bool = True,
) -> nbformat.NotebookNode:
    """The chapter with its outputs, or RuntimeError: "chapters/01-a.md, cell 7: ValueError: …"."""
    import papermill
    from nbclient.exceptions import CellTimeoutError

    hook, cell = f"from flatcube.press import trace; trace.start({str(root)!r}, {str(log)!r})", 0

    def note(cell_index: int, **_: Any) -> None:
        nonlocal cell
        cell = cell_index + 1

    # One thread per kernel unless asked otherwise: two kernels share two cores.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | os.environ | {"FLATCUBE_PRESS": "1"}
    try:
        return papermill.execute_notebook(
            notebook.read(chapter),
            None,  # what stands in _build/executed is whole
            parameters=parameters or None,
            cwd=str(chapter.parent),
            progress_bar=False,
            kernel_name="python3",
            kernel_manager_class=kernels,
            execution_timeout=cell_seconds,
            iopub_timeout=cell_seconds,  # until its outputs have come; on a busy machine the usual 4 s are too few
            on_cell_start=note,
            extra_arguments=[f"--IPKernelApp.exec_lines={hook}", "--IPKernelApp.log_level=ERROR"],
        )
    except papermill.PapermillExecutionError as failure:
        cell, why = failure.cell_index + 1, f"{failure.ename}: {failure.evalue}"
    except CellTimeoutError:
        why = f"it takes longer than {cell_seconds} s, the limit for a cell (--cell-seconds)"
    except Exception as failure:  # a kernel that does not start, or dies
        if again and not cell:  # where ports are used, some other program may have been quicker to take one
            return _papermill(root, chapter, parameters, log, cell_seconds, kernels, again=False)
        why = f"not executed: {type(failure).__name__}: {failure}"
    place = f"{_name(root, chapter)}, cell {cell}" if cell else _name(root, chapter)
    raise RuntimeError(f"{place}: {' '.join(why.split())}")


def _kernels(name: str) -> type:
    """Kernels that are reached through files called `name`…: unlike a port, no other program can take them first.

    Ports serve where there are no such files: on Windows, and where the folder for temporary files has a long name.
    """
    from jupyter_client import AsyncKernelManager

    usual = os.name == "nt" or len(os.fsencode(name)) > _LONGEST

    class Kernel(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options | ({} if usual else {"transport": "ipc", "connection_file": f"{name}.json"}))

    return Kernel
