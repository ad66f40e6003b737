"""The ledger of claims: what the four papers say, and what in this book shows that it is so.

Four files in `data/` make the ledger. `claims.csv` lists the claims and `errata.csv` the mistakes found in print; both
are written by hand. `evidence.json` says which tests carry a claim's id, how they ended and on which deliberate
mistakes they fail; a run of the tests writes it. `measured.csv` has one row per claim that only an experiment can
speak to.

A statement that can be proved or computed counts as checked only if its tests pass *and* each of them fails when one
part of the library is replaced by a wrong one. A test that cannot fail shows nothing.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "SOURCES",
    "KINDS",
    "SEVERITIES",
    "STATUSES",
    "Claim",
    "Mutation",
    "Record",
    "Measurement",
    "Erratum",
    "Entry",
    "claims",
    "errata",
    "evidence",
    "measurements",
    "ledger",
    "counts",
    "DATA",
]

DATA = Path(__file__).parents[3] / "data"

SOURCES = {
    "HR": "Hahn & Rofin 2024",
    "SP": "Lintilhac & Shaikh 2026",
    "VA": "Vasudeva et al. 2025",
    "ED": "Edelman et al. 2022",
}
# What each kind of claim needs as evidence: a test that can fail, a row computed from stored results, or either.
KINDS = {
    "definition": "test",
    "theorem": "test",
    "construction": "test",
    "algorithm": "test",
    "experiment-number": "either",  # some printed numbers can be recomputed exactly
    "experiment-trend": "row",
    "extension": "either",
}
SEVERITIES = {
    "A": "the printed statement or construction fails",
    "B": "the statement survives, perhaps with other constants, but the printed argument does not",
    "C": "misprint or wording",
    "D": "caution: nothing is false, but it is easily misread",
}
STATUSES = {
    "checked": "its tests pass, and each of them fails on its mutations",
    "erratum": "the printed form fails its test, the corrected form passes",
    "measured": "compared with our own stored results",
    "failing": "a test with its id fails or survives a mutation",
    "open": "no evidence yet",
}
VERDICTS = ("agrees", "agrees in part", "differs")
CHAPTERS = range(1, 19)


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, in our words, with the place where it stands and a way to check it."""

    id: str
    source: str
    location: str
    kind: str
    chapters: tuple[int, ...]
    claim: str
    check: str
    settings: str


@dataclass(frozen=True)
class Mutation:
    """A deliberate mistake: what it replaces, what is then wrong, and whether it is the form that stands in print."""

    replaces: str
    sentence: str
    printed: bool = False


@dataclass(frozen=True)
class Record:
    """One test that carries a claim's id: where it stands, how it ended and the mutations on which it fails."""

    test: str
    outcome: str
    mutations: tuple[Mutation, ...]
    note: str = ""
    erratum: int | None = None


@dataclass(frozen=True)
class Measurement:
    """One row computed from stored results: our statistical statement, and whether it agrees with the paper's."""

    id: str
    verdict: str
    statement: str
    results: str
    command: str


@dataclass(frozen=True)
class Erratum:
    """A mistake in print: what stands there, what is right, and a demonstration that fits on one line."""

    number: int
    source: str
    severity: str
    place: str
    printed: str
    right: str
    demonstration: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A row of the ledger: a claim together with its evidence and the status that follows from it."""

    claim: Claim
    tests: tuple[Record, ...]
    measurement: Measurement | None
    errata: tuple[Erratum, ...]

    @property
    def status(self) -> str:
        """One of `STATUSES`; which evidence counts depends on the kind of claim (`KINDS`)."""
        if any(test.outcome != "passed" or not test.mutations for test in self.tests):
            return "failing"
        needs = KINDS[self.claim.kind]
        if self.measurement is not None and needs != "test":
            return "measured"
        if self.tests and needs != "row":
            return "erratum" if any(m.printed for test in self.tests for m in test.mutations) else "checked"
        return "open"


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
        _require(row["severity"] in SEVERITIES, where, f"severity {row['severity']!r} is none of A, B, C, D")
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
    """The rows of `measured.csv` by claim."""
    known, found = claims(folder), {}
    for where, row in _rows(folder / "measured.csv"):
        _require(row["id"] in known, where, f"{row['id']} is not an id of claims.csv")
        _require(row["id"] not in found, where, f"{row['id']} occurs twice")
        _require(row["verdict"] in VERDICTS, where, f"verdict {row['verdict']!r} is none of {', '.join(VERDICTS)}")
        found[row["id"]] = Measurement(**row)
    return found


def ledger(folder: Path = DATA) -> list[Entry]:
    """Every claim with its evidence, in the order of `claims.csv`."""
    tests, rows, mistakes = evidence(folder), measurements(folder), errata(folder)
    return [
        Entry(claim, tests.get(key, ()), rows.get(key), tuple(m for m in mistakes if key in m.claims))
        for key, claim in claims(folder).items()
    ]


def counts(entries: Iterable[Entry]) -> dict[str, int]:
    """How many claims have each status, all statuses named, and their `total`."""
    found = Counter(entry.status for entry in entries)
    return {status: found[status] for status in STATUSES} | {"total": found.total()}


def _record(mutations: list[dict], **rest: object) -> Record:
    return Record(mutations=tuple(Mutation(**mutation) for mutation in mutations), **rest)


def _rows(path: Path) -> Iterator[tuple[str, dict]]:
    """Each row of a table with the place to name if something is wrong with it."""
    with path.open(encoding="utf-8", newline="") as handle:
        for number, row in enumerate(csv.DictReader(handle), start=1):
            yield f"{path.name}, row {number}", row


def _chapters(where: str, text: str) -> tuple[int, ...]:
    parts = text.split()
    valid = parts and all(part.isdigit() and int(part) in CHAPTERS for part in parts)
    _require(bool(valid), where, f"chapters {text!r} must be numbers from 1 to 18")
    return tuple(int(part) for part in parts)


def _require(condition: bool, where: str, message: str) -> None:
    if not condition:
        raise ValueError(f"{where}: {message}.")
