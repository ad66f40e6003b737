"""Thousands of calls with one wrong argument: none hangs, none asks for all the memory, none gets a silent answer."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import campaign, judge, record
from tests.fuzz.harmless import HARMLESS
from tests.fuzz.mutate import mutations

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits need a system where forks are safe")

ROOT = Path(__file__).parents[2]
CALLS, SEED = 3000, 1


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    options = {"calls": str(CALLS), "seed": str(SEED)}
    command = [sys.executable, "-m", "tests.fuzz", "--json", *(f"--{name}={given}" for name, given in options.items())]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and found, done.stdout[-2000:] + done.stderr[-2000:]
    return found


def test_no_wrong_argument_hangs_fills_the_memory_or_gets_an_answer(rows: list[dict[str, str]]):
    offences = {
        "{verdict}: {door}({argument}: {mutation}) → {detail}".format_map(row)
        for row in rows
        if row["verdict"] in judge.OFFENCES
    }
    assert not offences, "\n".join(["", *sorted(offences)])


def test_few_offences_are_excused(rows: list[dict[str, str]]):
    excused = [row for row in rows if row["verdict"] == "harmless"]
    assert len(excused) < 0.03 * len(rows), sorted({(row["door"], row["argument"]) for row in excused})


def test_the_calls_reach_the_library(rows: list[dict[str, str]]):
    assert len(rows) > CALLS / 2
    doors = record.doors(list(record.modules())).values()
    named = {door.name for door in doors if set(door.signature.parameters) - {"self"}}
    unreached = named - {row["door"] for row in rows}
    assert len(unreached) < 0.2 * len(named), sorted(unreached)
    assert all(reason for reason in HARMLESS.values())


# --- the fuzzer itself ------------------------------------------------------------------------------------------------

TOY = """
def refuses(n: int):
    if not isinstance(n, int) or isinstance(n, bool) or not 0 <= n <= 9:
        raise ValueError(f"n: expected an integer from 0 to 9, got {n}")
    return n

def accepts(n: float):
    return 2.0

def multiplies(n: float):
    return n * 1e200 - n * 1e200

def divides(n: float):
    return 1 / n

def counts(n: int):
    return [0] * n if n > 10**9 else n

def waits(n: int):
    while n == 10**18:
        pass
    return n

def dies(n: int):
    import os
    if n == 0:
        os._exit(3)
    return n
"""


@pytest.fixture
def toy(tmp_path: Path) -> Callable[[str], record.Door]:
    path, names = tmp_path / "toy.py", {}
    path.write_text(textwrap.dedent(TOY))
    exec(compile(TOY, str(path), "exec"), names)
    for function in names.values():
        if callable(function):
            function.__module__ = "toy"
    return lambda name: record._door(name, names[name])


def _verdicts(door: record.Door, value: object, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(judge, "_LIBRARY", str(home))
    monkeypatch.setattr(campaign, "SECONDS", 1)
    door.calls[()] = {"n": value}
    return {o.case.mutation.label: o.verdict for o in campaign.run(campaign.plan([door], 1000, 0))}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("refuses", 3, {"NaN": "clear", "-1": "clear", "0": "fine", "None": "clear", "1e+18": "clear"}),
        ("accepts", 3.0, {"NaN": "nonsense", "inf": "nonsense", "None": "nonsense", "-1": "fine"}),
        ("multiplies", 3.0, {"1e+300": "NaN", "-1": "fine"}),
        ("divides", 3.0, {"0": "raw", "string": "raw (kind)", "-1": "fine"}),
        ("counts", 3, {"1e+18": "memory", "-1": "fine"}),
        ("waits", 3, {"1e+18": "hang", "-1": "fine"}),
        ("dies", 3, {"0": "crash", "-1": "fine"}),
    ],
)
def test_verdicts(toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object, expected: dict):
    found = _verdicts(toy(name), value, tmp_path, monkeypatch)
    assert {label: found[label] for label in expected} == expected


def test_changes_fit_the_kind_of_the_argument():
    bits = {m.label: m.change(np.array([0, 1])) for m in mutations("bits", np.array([0, 1]), "np.ndarray", False)}
    assert bits["the other coding"].tolist() == [1, -1] and math.isnan(bits["nan inside"][-1])
    assert {m.change("exact") for m in mutations("method", "exact", "str", False)} == {None, "xeact", 3, ""}
    assert [m.label for m in mutations("rng", 3, "int", False)] == ["None for randomness", "string"]
    assert "element: misspelt" in {m.label for m in mutations("exclude", ("positions",), "Sequence[str]", False)}
    real = {m.label for m in mutations("table", np.array([1, -1]), "np.ndarray", True)}
    assert "nan inside" in real and not real & {"None", "the other coding"}
