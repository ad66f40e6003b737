"""Finding a Chromium for the browser tests, or installing one where that is allowed.

    python -m tests.browser.chromium      prints its path, or says what to install
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

__all__ = ["FLAGS", "find", "ensure"]

NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *(f"/Applications/{name}.app/Contents/MacOS/{name}" for name in ("Chromium", "Google Chrome")),
)

# Headless in a container, and silent: without these flags the browser itself looks for its maker's servers.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


def find() -> str | None:
    """The path of a Chromium that runs: the variable CHROMIUM, a program of the system, or the one of playwright."""
    named = [os.environ.get("CHROMIUM"), *(shutil.which(name) for name in NAMES), _playwright_path()]
    return next((path for path in named if path and _runs(path)), None)


def _runs(path: str) -> bool:
    """Whether the program says its version: a stub that only asks to install something does not."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(re.search(r"\d+\.\d+", done.stdout))


def _playwright_path() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        return play.chromium.executable_path


def ensure() -> str:
    """The path of a Chromium, installed first if need be; ends the program with one sentence if there is none."""
    path, attempts = find(), [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        attempts.insert(0, ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"])
        if path is None:
            subprocess.run(["apt-get", "update", "-q"])
    for attempt in attempts:
        if path is None:
            subprocess.run(attempt)
            path = find()
    if path is None:
        raise SystemExit(
            "The browser tests need Chromium and none could be installed here: install your system's package "
            "'chromium' (or Chrome), or set the variable CHROMIUM to the path of one."
        )
    return path


if __name__ == "__main__":
    print(f"Browser tests use {ensure()}")
