"""Executing the chapters with papermill, two at a time, and only those whose inputs changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from tqdm import tqdm

from flatcube.press import notebook, trace

__all__ = ["Outcome", "run", "is_fresh", "executed_copy", "record", "forget"]

WORKERS = 2
UNKNOWN_SECONDS = 10.0  # a guess for the progress bar, for a chapter that was never run


@dataclass(frozen=True)
class Outcome:
    """What became of one chapter: `error` is None, or one line naming the chapter, the cell and the error."""

    chapter: Path
    seconds: float
    executed: bool
    error: str | None = None


def run(
    root: Path, chapters: list[Path] | None = None, parameters: dict[str, Any] | None = None, *, force: bool = False
) -> list[Outcome]:
    """Bring the executed copies under `_build/executed` up to date; a failing chapter does not stop the others."""
    chapters = notebook.chapters(root) if chapters is None else chapters
    parameters = parameters or {}
    fresh = [c for c in chapters if not force and is_fresh(root, c, parameters)]
    stale = [c for c in chapters if c not in fresh]
    outcomes = [Outcome(c, record(root, c)["seconds"], executed=False) for c in fresh]
    if stale:
        outcomes += _execute_all(root, stale, parameters)
    return sorted(outcomes, key=lambda outcome: outcome.chapter)


def is_fresh(root: Path, chapter: Path, parameters: dict[str, Any] | None = None) -> bool:
    """Whether the executed copy still belongs to the present source, parameters, modules, data and versions."""
    known = record(root, chapter)
    return known is not None and known["key"] == _key(root, chapter, parameters or {}, list(known["key"]["inputs"]))


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
    """What is known of the last execution of `chapter`: its key and its seconds, or None."""
    path = _copy_path(root, chapter).with_suffix(".json")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def forget(root: Path, chapter: Path) -> None:
    """Have `chapter` executed again the next time it is needed."""
    _copy_path(root, chapter).with_suffix(".json").unlink(missing_ok=True)


def _copy_path(root: Path, chapter: Path) -> Path:
    return root / "_build" / "executed" / chapter.name


def _key(root: Path, chapter: Path, parameters: dict[str, Any], inputs: list[str]) -> dict[str, Any]:
    """Everything on which the outputs depend. JSON, so that it can be stored and compared."""
    return {
        "source": notebook.source_digest(notebook.read(chapter)),
        "parameters": parameters,
        "lock": _digest(root / "requirements.lock"),
        "python": platform.python_version(),
        "inputs": {name: _digest(root / name) for name in inputs},
    }


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"


def _digest_since(path: Path, started: float) -> str:
    """The digest of an input of a run, or words that equal no digest if the file was edited while the run went on."""
    edited = path.is_file() and path.stat().st_mtime > started
    return "edited during the run" if edited else _digest(path)


def _execute_all(root: Path, chapters: list[Path], parameters: dict[str, Any]) -> list[Outcome]:
    expected = {c: (record(root, c) or {"seconds": UNKNOWN_SECONDS})["seconds"] for c in chapters}
    # The longest chapters first: the two workers then finish at about the same time.
    ordered = sorted(chapters, key=expected.__getitem__, reverse=True)
    with _pool() as pool, _progress(sum(expected.values())) as bar:
        futures: dict[Future[Outcome], Path] = {pool.submit(_execute, root, c, parameters): c for c in ordered}
        outcomes = []
        for future in as_completed(futures):
            outcomes.append(future.result())
            bar.set_postfix_str(futures[future].stem)
            bar.update(min(expected[futures[future]], bar.total - bar.n))  # sums of decimals may overshoot
    return outcomes


@contextlib.contextmanager
def _pool() -> Iterator[ProcessPoolExecutor]:
    """Two fresh processes; an interrupt drops what has not started and keeps what is done."""
    pool = ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    except KeyboardInterrupt:
        pool.shutdown(wait=True, cancel_futures=True)
        print("\nInterrupted. Finished chapters are kept; the same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _progress(total: float) -> tqdm:
    form = "{desc}: {percentage:3.0f}%|{bar:30}| {elapsed} elapsed, about {remaining} left {postfix}"
    return tqdm(total=total, desc="Executing chapters", bar_format=form, file=sys.stderr)


def _execute(root: Path, chapter: Path, parameters: dict[str, Any]) -> Outcome:
    """Execute one chapter in a process of its own and store the copy, its key and its time."""
    copy = _copy_path(root, chapter)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.with_suffix(".json").unlink(missing_ok=True)
    log = copy.with_suffix(".trace")
    log.unlink(missing_ok=True)
    key = _key(root, chapter, parameters, [])
    started = time.time()
    error = _papermill(root, chapter, copy, parameters, log)
    seconds = round(time.time() - started, 1)
    if error:
        return Outcome(chapter, seconds, executed=True, error=f"{chapter.relative_to(root)}, {error}")
    notebook.write(notebook.clean(notebook.read(copy)), copy)
    key["inputs"] = {name: _digest_since(root / name, started) for name in trace.inputs(log, root)}
    text = json.dumps({"key": key, "seconds": seconds}, indent=1)
    copy.with_suffix(".json").write_text(text, encoding="utf-8")
    return Outcome(chapter, seconds, executed=True)


def _papermill(root: Path, chapter: Path, copy: Path, parameters: dict[str, Any], log: Path) -> str | None:
    """Run papermill; return None, or "cell 7: ValueError: …"."""
    import papermill

    hook = f"from flatcube.press import trace; trace.start({str(root)!r}, {str(log)!r})"
    # One thread per kernel: two kernels share two cores, and sums come out in one order.
    os.environ |= {"FLATCUBE_PRESS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        papermill.execute_notebook(
            str(chapter),
            str(copy),
            parameters=parameters or None,
            cwd=str(chapter.parent),
            progress_bar=False,
            kernel_name="python3",
            extra_arguments=[f"--IPKernelApp.exec_lines={hook}", "--IPKernelApp.log_level=ERROR"],
        )
    except papermill.PapermillExecutionError as failure:
        return f"cell {failure.cell_index + 1}: {failure.ename}: {failure.evalue}"
    except Exception as failure:  # a dead kernel, an unreadable file: still one line, and the others still run
        return f"not executed: {type(failure).__name__}: {failure}"
    return None
