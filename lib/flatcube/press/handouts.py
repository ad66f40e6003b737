"""Handouts: one PDF for each chapter of the built site, printed by a Chromium without a window.

Charts and explorers are on paper what they are on the page when it is opened. The student's handout has no solutions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flatcube import processes
from flatcube.press import notebook, site

__all__ = ["NAMES", "browser", "write"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120  # seconds for one chapter
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-pdf-header-footer",
    "--allow-file-access-from-files", "--virtual-time-budget=60000",
]  # fmt: skip


def browser() -> str:
    """The path of a Chromium: the variable CHROMIUM, or one of the system's."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise RuntimeError("No Chromium to print with: install your system's chromium, or set CHROMIUM to its path.")
    return found


def write(root: Path, target: Path, *, solutions: bool = False, only: str = "") -> list[Path]:
    """Print every chapter, or that whose name begins with `only`, into `target`; without solutions unless wished."""
    program, where, made = browser(), site.built(root), []
    chapters = [chapter for chapter in notebook.chapters(root) if chapter.stem.startswith(only)]
    if not chapters:
        raise ValueError(f"only: expected the beginning of a chapter's name, such as 02, got {only!r}")
    for chapter in chapters:
        page = (where / "chapters" / f"{chapter.stem}.html").resolve().as_uri()
        made.append(target / f"{chapter.stem}.pdf")
        _print(program, f"{page}?print{'' if solutions else '=exercises'}", made[-1])
        print(made[-1].relative_to(root) if made[-1].is_relative_to(root) else made[-1], file=sys.stderr)
    return made


def _print(program: str, address: str, path: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        draft = Path(profile) / "page.pdf"
        call = [program, *FLAGS, f"--user-data-dir={profile}/profile", f"--print-to-pdf={draft}", address]
        try:
            done = subprocess.run(call, capture_output=True, timeout=PATIENCE, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{path.name}: Chromium did not print this page within {PATIENCE} seconds.") from None
        if not draft.exists() or not draft.read_bytes().startswith(b"%PDF"):
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise RuntimeError(f"{path.name}: Chromium printed nothing ({last[:200]}).")
        processes.replace(path, draft.read_bytes())
