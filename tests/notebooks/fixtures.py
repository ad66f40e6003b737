"""Chapters at other sizes, run by one process for all tests: a pytest plugin that `tests/conftest.py` loads."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SMALL = Path(__file__).with_name("small.py")


@pytest.fixture(scope="session")
def run_small() -> Iterator[Callable[[Path, dict], str | None]]:
    """`run_small(chapter, parameters)`: None, or the first error of a run with these parameters."""
    environment = os.environ | {"FLATCUBE_PRESS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen([sys.executable, str(SMALL)], **options) as server:

        def answer(chapter: Path, parameters: dict) -> str | None:
            server.stdin.write(json.dumps([str(chapter), parameters]) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield answer
        server.stdin.close()
