"""Every chapter under the arithmetic of another machine: its outputs must agree with the stored ones.

    python -m tests.machines              all settings
    python -m tests.machines oldest       one or some of them

Processors differ in their vector instructions and number of cores; libraries choose among several forms of their
sums accordingly, and round differently. They can be told to take the forms of another processor. What that cannot
show is another architecture: there only the settings without names of processors change anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]

# Of this processor: what numpy found beyond its baseline, if anything.
FOUND = np.show_config("dicts")["SIMD Extensions"].get("found", [])

SETTINGS = {
    "oldest": {  # no vector instructions beyond those that every x86-64 processor of this century has
        "ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Nehalem", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41", "NPY_DISABLE_CPU_FEATURES": " ".join(FOUND),
        "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1",
    },
    "older": {
        "ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "PYTHONHASHSEED": "2",
    },
    "threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "PYTHONHASHSEED": "3"},
    "mixed": {"ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "4"},
    "native": {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
}  # fmt: skip


def check(name: str, root: Path = ROOT) -> int:
    """Execute a copy of the book's chapters under the setting `name` and compare; 0 if all agree."""
    book = root / "_build" / "machines" / name
    shutil.rmtree(book, ignore_errors=True)
    book.mkdir(parents=True)
    for folder in ("chapters", "data"):
        shutil.copytree(root / folder, book / folder)
    for file in ("_toc.yml", "requirements.lock"):
        shutil.copy(root / file, book / file)
    shown = " ".join(f"{key}={value}" for key, value in SETTINGS[name].items())
    print(f"{name}: {shown}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "flatcube.cli", "check", "--root", str(book)]
    return subprocess.run(command, env=os.environ | SETTINGS[name]).returncode


def main(names: list[str]) -> int:
    """Check the named settings, or all; say which failed."""
    unknown = [name for name in names if name not in SETTINGS]
    if unknown:
        print(f"name: expected some of {', '.join(SETTINGS)}, got {unknown[0]!r}", file=sys.stderr)
        return 2
    failed = [name for name in names or SETTINGS if check(name)]
    print(f"{len(names or SETTINGS) - len(failed)} passed, {len(failed)} failed", *failed, file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
