"""Runs what concerns one room: its library and its claims, and its chapter's exercises, notebook and page.

    python -m tests.room blowup
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests import rooms

__all__ = ["runs", "main"]

PAGES = ["tests/browser/test_pages.py", "tests/browser/test_numbers.py"]  # what is asked of every page
HOUSE = [  # what is asked of every room, explorer and chapter
    *("tests/test_doors.py", "tests/test_doctests.py", "tests/test_rooms.py", "tests/test_house.py"),
    *("tests/classroom/test_explorers.py", "tests/classroom/test_javascript.py"),
    *("tests/press/test_bank.py", "tests/press/test_teaching.py"),
]


def runs(room: str) -> list[list[str]]:
    """The arguments of pytest, one list for each run; a room without a chapter has neither a notebook nor a page."""
    pages = sorted(str(path.relative_to(rooms.ROOT)) for path in (rooms.ROOT / "tests" / room).glob("*_page.py"))
    found = [["-n", "2", "--dist", "loadfile", f"tests/{room}", "--ignore-glob", "*_page.py"]]
    in_browser = ["-n", "2", "--dist", "loadfile", *pages]
    if room in rooms.ROOMS:
        chapter = rooms.chapter(room)
        found.append(["-p", "tests.notebooks.replay", "--nbval-lax", f"chapters/notebooks/{chapter}.ipynb"])
        asked = f"{room} or {chapter} or order_of_the_house or test_javascript.py"
        found.append(["-n", "2", "--dist", "loadfile", *HOUSE, "-k", asked])
        found.append([*in_browser, *PAGES, "-k", f"_page.py or {chapter}"])
    elif pages:
        found.append(in_browser)
    return found


def main(room: str) -> int:
    """Run all of it; 0 if every run passes."""
    known = sorted({path.parent.name for path in (rooms.ROOT / "tests").glob("*/test_*.py")} - {"browser"})
    if room not in known:
        print(f"ROOM: expected one of {', '.join(known)}, got {room!r}", file=sys.stderr)
        return 2
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    codes = [subprocess.run([sys.executable, "-m", "pytest", *run], env=environment).returncode for run in runs(room)]
    return max(codes)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
