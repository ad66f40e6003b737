"""Building the book when nothing changed: the second of two runs of what `make book` runs."""

import subprocess
import sys
import time
from pathlib import Path

import arena

ROOT = Path(__file__).parents[2]
SECONDS = 20


def main() -> list[bool | None]:
    """Print the seconds; whether the target was met, None where the site has not been built."""
    seconds = None
    if (ROOT / "_build" / "html").exists():
        _build()
        start = time.perf_counter()
        seconds = _build() and time.perf_counter() - start
        print("unchanged book, seconds: " + arena.short(seconds))
    return [arena.judge("unchanged book, seconds", seconds, most=SECONDS)]


def _build() -> bool | None:
    """True if the book was built; None, after saying why, if not."""
    done = subprocess.run([sys.executable, "-m", "flatcube.cli", "book"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print("the book does not build: " + done.stderr.strip().rpartition("\n")[2])
    return None if done.returncode else True
