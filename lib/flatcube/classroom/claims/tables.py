"""The five files of the ledger, read and checked for slips of the pen."""

from __future__ import annotations

import ast
import csv
import functools
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

from flatcube import paths
from flatcube.classroom.claims.verdicts import (
    ERRATA,
    KINDS,
    REASONS,
    SETTINGS,
    SOURCES,
    VERDICTS,
    Claim,
    Entry,
    Erratum,
    Measurement,
    Mutation,
    Reason,
    Record,
)

__all__ = ["claims", "errata", "evidence", "measurements", "reasons", "lost", "source", "ledger", "DATA"]

DATA = paths.DATA


def claims(folder: Path = DATA) -> dict[str, Claim]:
    """The claims of `claims.csv` by id, in the order of the file, checked for slips of the pen."""
    table: dict[str, Claim] = {}
    for where, row in _rows(folder / "claims.csv"):
        row["chapters"] = _chapters(where, row["chapters"])
        claim = Claim(**row)
        _require(claim.id not in table, where, f"the id {claim.id} occurs twice")
        _require(claim.source in SOURCES, where, f"source {claim.source!r} is none of {', '.join(SOURCES)}")
        _require(claim.id.startswith(claim.source + "-"), where, f"the id {claim.id} must begin with {claim.source}-")
        _require(claim.kind in KINDS, where, f"kind {claim.kind!r} is none of {', '.join(KINDS)}")
        _require(bool(claim.claim and claim.location), where, f"{claim.id} has no statement or no location")
        table[claim.id] = claim
    return table


def errata(folder: Path = DATA) -> list[Erratum]:
    """The entries of `errata.csv`, numbered 1, 2, 3, … without gaps, each tied to at least one claim."""
    known, found = claims(folder), []
    for where, row in _rows(folder / "errata.csv"):
        ids = tuple(row["claims"].split())
        _require(row["number"] == str(len(found) + 1), where, f"number {row['number']!r}, expected {len(found) + 1}")
        _require(row["kind"] in ERRATA, where, f"kind {row['kind']!r} is none of {', '.join(ERRATA)}")
        _require(bool(ids) and set(ids) <= set(known), where, f"claims {row['claims']!r} must be ids of claims.csv")
        found.append(Erratum(**(row | {"number": int(row["number"]), "claims": ids})))
    return found


def evidence(folder: Path = DATA) -> dict[str, tuple[Record, ...]]:
    """The tests of each claim as the last recorded run left them; claims without tests are absent."""
    path = folder / "evidence.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    unknown = sorted(set(stored) - set(claims(folder)))
    _require(not unknown, str(path), f"{', '.join(unknown)} is not an id of claims.csv")
    return {key: tuple(_record(**entry) for entry in entries) for key, entries in stored.items()}


def measurements(folder: Path = DATA) -> dict[str, Measurement]:
    """The rows of `measured.csv` by claim; what their runs were comes from the manifest."""
    known, made, found = claims(folder), _manifest(folder), {}
    for where, row in _rows(folder / "measured.csv"):
        row["setting"] = row.get("setting") or "smaller"
        _require(row["id"] in known, where, f"{row['id']} is not an id of claims.csv")
        _require(row["id"] not in found, where, f"{row['id']} occurs twice")
        _require(row["verdict"] in VERDICTS, where, f"verdict {row['verdict']!r} is none of {', '.join(VERDICTS)}")
        _require(row["setting"] in SETTINGS, where, f"setting {row['setting']!r} is none of {', '.join(SETTINGS)}")
        config = made.get(Path(row["results"]).name, {}).get("config", {})
        found[row["id"]] = Measurement(**row, ours=_sizes(config))
    return found


def reasons(folder: Path = DATA) -> dict[str, Reason]:
    """Why claims have no verdict, by claim."""
    known, found = claims(folder), {}
    for where, row in _rows(folder / "reasons.csv") if (folder / "reasons.csv").exists() else ():
        _require(row["id"] in known, where, f"{row['id']} is not an id of claims.csv")
        _require(row["id"] not in found, where, f"{row['id']} occurs twice")
        _require(row["verdict"] in REASONS, where, f"verdict {row['verdict']!r} is none of {', '.join(REASONS)}")
        _require(len(row["reason"]) > 20, where, f"{row['id']} has no reason")
        found[row["id"]] = Reason(**row)
    return found


def lost(folder: Path = DATA) -> list[tuple[str, str]]:
    """Records of tests that are not there any more, as (claim, test); none where the data stand without the tests."""
    return [(key, test.test) for key, tests in evidence(folder).items() for test in tests if not _there(folder, test)]


def ledger(folder: Path = DATA) -> list[Entry]:
    """Every claim with its evidence, in the order of `claims.csv`."""
    tests, rows, mistakes, why = evidence(folder), measurements(folder), errata(folder), reasons(folder)
    found = {key: tuple(test for test in some if _there(folder, test)) for key, some in tests.items()}
    return [
        Entry(claim, found.get(key, ()), rows.get(key), tuple(m for m in mistakes if key in m.claims), why.get(key))
        for key, claim in claims(folder).items()
    ]


def _record(mutations: list[dict], **rest: object) -> Record:
    return Record(mutations=tuple(Mutation(**mutation) for mutation in mutations), **rest)


def _there(folder: Path, test: Record) -> bool:
    """Whether the test of a record is where the record says; where there are no tests, nobody can tell."""
    return bool(source(test, folder)) or not (folder.parent / "tests").is_dir()


def source(test: Record, folder: Path = DATA) -> str:
    """The code of a record's test without its markers, or nothing if it is not there."""
    file, _, name = test.test.partition("::")
    path = folder.parent / file
    known = _functions(path, path.stat().st_mtime_ns) if path.exists() else {}
    return known.get(name.split("::")[-1].partition("[")[0], "")


@functools.lru_cache(maxsize=256)
def _functions(path: Path, changed: int) -> dict[str, str]:
    """The functions that a file of tests defines: their code by name."""
    text = path.read_text(encoding="utf-8")
    lines, tests = text.splitlines(), (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {node.name: textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno])) for node in tests}


def _manifest(folder: Path) -> dict[str, dict]:
    path = folder / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _sizes(config: dict[str, list]) -> str:
    """What the trials of a table were, from the manifest; seeds and plans of single runs are left out.

    >>> _sizes({"n": [8, 16, 32], "width": [4], "kind": ["encoder", "rms"], "seed": [9], "draws": [[1, 2]]})
    'n 8, 16, 32; width 4; kind encoder, rms'
    """
    plain = {name: [v for v in values if isinstance(v, (int, float, str))] for name, values in config.items()}
    shown = {name: values for name, values in plain.items() if values and name not in ("seed", "seeds", "chance_after")}
    return "; ".join(f"{name} {_few(values)}" for name, values in shown.items())


def _few(values: list) -> str:
    """Some values in words, numbers in their order, many numbers by their ends."""
    if all(isinstance(value, (int, float)) for value in values):
        values = sorted(values)
        if len(values) > 6:
            return f"{values[0]:g} to {values[-1]:g}"
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def _rows(path: Path) -> Iterator[tuple[str, dict]]:
    """Each row of a table with the place to name if something is wrong with it."""
    with path.open(encoding="utf-8", newline="") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=1):
            yield f"{path.name}, row {number}", row


def _chapters(where: str, text: str) -> tuple[int, ...]:
    parts = text.split()
    valid = parts and all(part.isdigit() and 1 <= int(part) <= 99 for part in parts)
    _require(bool(valid), where, f"chapters {text!r} must be numbers from 1 to 99")
    return tuple(int(part) for part in parts)


def _require(condition: bool, where: str, message: str) -> None:
    if not condition:
        raise ValueError(f"{where}: {message}.")
