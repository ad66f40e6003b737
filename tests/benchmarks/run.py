"""Speed as ratios to other packages, measured in one run: `make bench`.

The other packages are installed once into _build/peers, without what they depend on: numpy, torch and sympy are those
of the book. A package that does not install (pyfwht needs a C compiler) is left out and named.
Choose subjects with `python tests/benchmarks/run.py transform`.
"""

import argparse
import importlib
import os
import subprocess
import sys
from pathlib import Path

import arena

HERE = Path(__file__).parent
PEERS = HERE.parents[1] / "_build" / "peers"
SUBJECTS = ["transform", "sensitivity", "training", "sharpness", "book", "loading", "inpage"]


def install() -> None:
    """Install each package of peers.txt that is not there yet; one that fails is tried again next time."""
    PEERS.mkdir(parents=True, exist_ok=True)
    installed = PEERS / "installed.txt"
    done = installed.read_text().splitlines() if installed.exists() else []
    for line in (HERE / "peers.txt").read_text().splitlines():
        if line in done or line.startswith("#"):
            continue
        print(f"installing {line} …", flush=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", PEERS, line]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            print(f"{line} does not install here")
            continue
        with installed.open("a") as log:
            log.write(f"{line}\n")


def asked() -> list[str]:
    """The subjects on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"any of {', '.join(SUBJECTS)} (default: all)")
    subjects = parser.parse_args().subjects
    if unknown := set(subjects) - set(SUBJECTS):
        parser.error(f"SUBJECT: expected some of {', '.join(SUBJECTS)}, got {', '.join(sorted(unknown))}")
    return subjects or SUBJECTS


if __name__ == "__main__":
    subjects = asked()
    install()
    sys.path.append(str(PEERS))  # last: the book's own packages win
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    verdicts = [verdict for subject in subjects for verdict in importlib.import_module(subject).main()]
    print(arena.conclusion(verdicts))
