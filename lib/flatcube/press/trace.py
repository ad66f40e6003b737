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


def start(root: str, log: str) -> None:
    """From now on append to the file `log` every file below `root`/lib or `root`/data that this process opens."""
    roots = tuple(os.path.join(os.path.realpath(root), folder) + os.sep for folder in ("lib", "data"))
    seen: set[str] = set()

    def note(event: str, args: tuple) -> None:
        if event != "open" or not isinstance(args[0], str):
            return
        path = os.path.abspath(args[0])
        if path.startswith(roots) and path not in seen:
            seen.add(path)
            # Unbuffered, so that the line survives a crash; the log lies outside both folders, so it is not noted.
            descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(descriptor, (path + "\n").encode())
            os.close(descriptor)

    for module in list(sys.modules.values()):  # what was imported before the hook, this module among it
        note("open", (getattr(module, "__file__", None),))
    sys.addaudithook(note)


def inputs(log: Path, root: Path) -> list[str]:
    """The files noted in `log`, relative to `root`, sorted; compiled modules are given as their sources."""
    found = set()
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        path = Path(line)
        if path.parent.name == "__pycache__":
            path = Path(importlib.util.source_from_cache(line.split(".pyc")[0] + ".pyc"))
        found.add(path.relative_to(root.resolve()).as_posix())
    return sorted(found)
