"""Thirty submissions to one small assignment: right, wrong, empty, broken, endless, dishonest and hostile ones.

Each is a function of a few places on this machine that it must not reach. It gives the sources of its cells and the
points that it deserves. A hostile one answers rightly only if it did not succeed, so full marks mean that it was held.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["PROBLEMS", "PAIR", "FLIPS", "Places", "submissions", "BROKEN"]

PROBLEMS = ["2.A", "2.D"]
IMPORTS = "import numpy as np\nimport os, sys, time\nfrom math import ceil, log"
PAIR = """def pair_influence(table, i, j):
    {before}
    k = np.arange(len(table))
    return float(np.mean(table != table[k ^ (2 ** (i - 1) + 2 ** (j - 1))]))"""
FLIPS = """def enough_flips(n, error, delta):
    {before}
    return ceil(n * n * log(2 / delta) / 2 / error**2)"""
RIGHT = [IMPORTS, PAIR.format(before="pass"), FLIPS.format(before="pass")]
BROKEN = {"torn": "{ this is no notebook", "other": '{"cells": 7}'}


@dataclass(frozen=True)
class Places:
    """What a hostile submission would like: a file of others, the folder of problems, a server on this machine."""

    canary: Path
    instructor: Path
    port: int


def _held(attempt: str) -> list[str]:
    """Cells that try something and answer rightly only if it was refused."""
    tried = "\n".join(f"    {line}" for line in attempt.strip().splitlines())
    cell = f"REACHED = False\ntry:\n{tried}\n    REACHED = True\nexcept (OSError, RuntimeError) as error:\n    pass"
    return [IMPORTS, cell, PAIR.format(before="assert not REACHED"), FLIPS.format(before="assert not REACHED")]


def _with(pair: str = "pass", flips: str = "pass", *cells: str) -> list[str]:
    return [IMPORTS, *cells, PAIR.format(before=pair), FLIPS.format(before=flips)]


FORGED = """
import json
for number in range(3, 64):
    try:
        os.write(number, (json.dumps({"value": 1.0, "ready": True}) + "\\n").encode())
    except OSError:
        pass
"""
PATCHED = """
import flatcube.classroom.exercises as exercises
exercises.check = lambda *_: "Right."
exercises.Exercise.judge = lambda *_: None
exercises.same = exercises.answers.same = lambda *_: True
import flatcube.grading.serve, flatcube.grading.plain
np.isclose = np.allclose = lambda *_: True
print("Right. Right. 100 points.")
def pair_influence(table, i, j): return 1.0
def enough_flips(n, error, delta): return 1
"""
COPIED = """
from flatcube.classroom import exercises, problems
from pathlib import Path
found = {}
for place in ("/", ".", "/work", "/home"):
    found |= problems.load(Path(place))
try:
    found["2.A"] = exercises.find("2.A")
except KeyError:
    pass
pair_influence = found["2.A"].solution
enough_flips = found["2.D"].solution
"""
EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __float__(self): return 0.5
    __array_priority__ = 1000
    __hash__ = None
def pair_influence(table, i, j): return Equal()
def enough_flips(n, error, delta): return Equal()
"""


WRONG_PAIR = "def pair_influence(table, i, j): return {}"

Pile = dict[str, tuple[list[str], tuple[int, int]]]  # cells, and points for the two problems


def submissions(places: Places, examples: dict) -> Pile:
    """Every submission's cells, with its points for the two problems; `examples` are those of the assignment."""
    return _honest() | _broken() | _endless() | _dishonest(examples) | _hostile(places)


def _honest() -> Pile:
    infl = "float(np.mean(table != table[np.arange(len(table)) ^ 2 ** (i - 1)]))"
    return {
        "right": (RIGHT, (3, 3)),
        "own-way": ([IMPORTS, "def other(k, i): return k ^ 2 ** (i - 1)", """def pair_influence(table, i, j):
    return sum(table[k] != table[other(other(k, i), j)] for k in range(len(table))) / len(table)""", RIGHT[2]], (3, 3)),
        "magics": (["%matplotlib inline\n!ls\n" + IMPORTS, *RIGHT[1:], "display(3)"], (3, 3)),
        "tidied": ([*RIGHT, "x = 1 / 0", "print(undefined)"], (3, 3)),
        "one-influence": ([*RIGHT, WRONG_PAIR.format(infl)], (0, 3)),
        "one-sided": (_with("pass", "delta *= 2"), (3, 0)),
        "both-known": (_with("return float(np.mean((table - table[np.arange(len(table)) ^ (2 ** (i - 1) + 2 ** (j - 1))"
                             "]) ** 2))", "return ceil(log(2 / delta) / 2 / error**2)"), (0, 0)),
        "nonsense": ([IMPORTS, WRONG_PAIR.format("'yes'"), "enough_flips = 17"], (0, 0)),
    }  # fmt: skip


def _broken() -> Pile:
    """Nothing, or nothing that runs."""
    return {
        "no-cells": ([], (0, 0)),
        "untouched": ([IMPORTS, "def pair_influence(table, i, j):\n    ...",
                       "def enough_flips(n, error, delta):\n    ..."], (0, 0)),
        "syntax": ([IMPORTS, "def pair_influence(table, i, j:", RIGHT[2]], (0, 3)),
        "raises": (_with("raise ValueError('[a](javascript:b) <script>')"), (0, 3)),
        "leaves": ([IMPORTS, "sys.exit(0)", *RIGHT[1:]], (3, 3)),
        "dies": (_with("os._exit(0)"), (0, 3)),
        "deep": (_with("return [[]] if False else deep(10000)", "pass", """def deep(n):
    held = []
    for _ in range(n):
        held = [held]
    return held"""), (0, 3)),
    }  # fmt: skip


def _endless() -> Pile:
    loop = "while True: pass"
    return {
        "endless-cell": ([IMPORTS, loop, *RIGHT[1:]], (3, 3)),
        "endless-call": (_with(loop), (0, 3)),
        "sleeps": (_with("pass", "time.sleep(10**6)"), (3, 0)),
        "memory": (_with("held = [bytearray(1 << 30) for _ in range(10**6)]"), (0, 3)),
        "long": (_with("return list(range(1_500_000))"), (0, 3)),
    }  # fmt: skip


def _dishonest(examples: dict) -> Pile:
    told = f"KNOWN = {examples!r}\ndef pair_influence(table, i, j): return KNOWN.get((tuple(table), i, j), 0.5)"
    return {
        "patched": ([IMPORTS, PATCHED], (0, 0)),
        "copied": ([IMPORTS, COPIED], (0, 0)),
        "equal": ([IMPORTS, EQUAL], (0, 0)),
        "forged": ([IMPORTS, FORGED + WRONG_PAIR.format("1.0")], (0, 0)),
        "told": ([IMPORTS, told, RIGHT[2]], (0, 3)),
    }  # fmt: skip


def _hostile(places: Places) -> Pile:
    canary, instructor = str(places.canary), str(places.instructor)
    return {
        "reads": (_held(f"""
found = []
for path in ({canary!r}, {instructor!r} + "/02-sensitivity.py", "/etc/passwd", "/etc/shadow", "/proc/1/root{canary}"):
    try:
        found.append(open(path).read())
    except OSError:
        pass
found += [name for name in os.listdir("/proc") if name.isdigit() and name != str(os.getpid())]
if not found:
    raise OSError("nothing")"""), (3, 3)),
        "writes": (_held(f"""
done = []
for path in ({canary!r}, {instructor!r} + "/02-sensitivity.py", os.__file__, np.__file__, "/harm"):
    for act in (lambda: open(path, "r+").close(), lambda: os.remove(path), lambda: os.chmod(path, 0o777)):
        try:
            act()
            done.append(path)
        except OSError:
            pass
if not done:
    raise OSError("nothing")"""), (3, 3)),
        "connects": (_held(f"import socket\nsocket.create_connection(('127.0.0.1', {places.port}), 5)"), (3, 3)),
        "forks": (_held("""
born = 0
while born < 100:
    if os.fork() == 0:
        time.sleep(10**6)
    born += 1"""), (3, 3)),
        "kills": (_held("""
import signal
os.kill(os.getppid() or -1, signal.SIGKILL) if os.getppid() > 1 else os.kill(-1, signal.SIGKILL)"""), (3, 3)),
    }  # fmt: skip
