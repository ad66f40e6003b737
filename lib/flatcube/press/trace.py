"""Which files of the project a running chapter opens.

The press starts every kernel with this hook, so a chapter's inputs are observed, not guessed: library modules
however they are imported, data files however they are read.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["start", "inputs"]

_WATCHING = "all that follows is noted"  # a line of the log


def start(root: str, log: str) -> None:
    """From now on append to the file `log` every file below `root`/lib or `root`/data that this process opens."""
    roots = tuple(os.path.join(os.path.realpath(root), folder) + os.sep for folder in ("lib", "data"))
    seen: set[str] = set()

    def note(event: str, args: tuple) -> None:
        if event != "open" or not isinstance(args[0], str):
            return
        path = os.path.abspath(args[0])
        if path.startswith(roots) and path not in seen:
            _append(log, path)
            seen.add(path)

    for module in list(sys.modules.values()):  # what was imported before the hook, this module among it
        note("open", (getattr(module, "__file__", None),))
    sys.addaudithook(note)
    _append(log, _WATCHING)


def _append(log: str, line: str) -> None:
    """Unbuffered, so that the line survives a crash; the log lies outside both folders, so it is not noted."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        text = os.fsencode(line + "\n")
        if os.write(descriptor, text) < len(text):
            raise OSError("only half of a line")
    except OSError as error:  # a full disk
        raise OSError(f"{log} cannot be written ({error.strerror or error})") from None
    finally:
        os.close(descriptor)


def inputs(log: Path, root: Path) -> list[str]:
    """The files noted in `log`, relative to `root`, sorted; compiled modules are given as their sources."""
    lines = [os.fsdecode(line) for line in log.read_bytes().splitlines()] if log.exists() else []
    if _WATCHING not in lines:  # the copy would be taken for fresh whatever changes
        raise ValueError(f"{log}: the kernel did not note which files it opened")
    found = set()
    for line in lines:
        path = Path(line)
        if path.parent.name == "__pycache__":
            path = Path(importlib.util.source_from_cache(line.split(".pyc")[0] + ".pyc"))
        if line != _WATCHING:
            found.add(path.relative_to(root.resolve()).as_posix())
    return sorted(found)
