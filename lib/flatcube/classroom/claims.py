"""The ledger of claims: what the four papers say, and what in this book shows that it is so.

Five files in `data/` make the ledger. `claims.csv` lists the claims, `errata.csv` the mistakes found in print, and
`reasons.csv` says why a claim has no verdict; these are written by hand. `evidence.json` says which tests carry a
claim's id, how they ended and on which deliberate mistakes they fail; a run of the tests writes it. `measured.csv` has
one row per claim that only an experiment can speak to.

A statement that can be proved or computed counts as checked only if its tests pass *and* each of them fails when one
part of the library is replaced by a wrong one. A test that cannot fail shows nothing. Where the tests stand beside the
data, a record whose test is no longer there counts for nothing, either.
"""

from __future__ import annotations

import ast
import csv
import functools
import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flatcube import paths

__all__ = [
    "SOURCES",
    "KINDS",
    "ERRATA",
    "FORMS",
    "STATUSES",
    "VERDICTS",
    "SETTINGS",
    "GROUNDS",
    "Claim",
    "Mutation",
    "Record",
    "Measurement",
    "Reason",
    "Erratum",
    "Entry",
    "claims",
    "errata",
    "evidence",
    "measurements",
    "reasons",
    "lost",
    "source",
    "ledger",
    "family",
    "counts",
    "grounds",
    "DATA",
]

DATA = paths.DATA

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
# How much an erratum changes. Only the first three say that something in print is wrong.
ERRATA = {
    "result": "changes the result: what is printed fails, and no change of constants saves it",
    "repair": "repairable: the statement survives, perhaps with other factors; the printed argument or formula does "
    "not",
    "slip": "constants and slips: an exponent, an index, a name; a reader mends it in passing",
    "unjudged": "cannot be judged: a formula is missing from our text or may have been damaged in making it, "
    "or nothing in this book demonstrates the entry yet",
    "remark": "a remark: nothing is wrong, but it is easily misread or can be sharpened",
}
# How a test speaks of the form that its erratum calls printed; the last two kinds do not say that the paper has it.
FORMS = dict.fromkeys(("result", "repair", "slip"), "as printed") | {
    "unjudged": "in one reading of our text",
    "remark": "on what a remark is about",
}
STATUSES = {
    "holds": "its tests pass, and each of them fails on its mutations",
    "holds with a correction": "a corrected form passes its tests; in print a factor, an argument or a formula differs",
    "false as printed": "the printed statement fails its test, the corrected one passes",
    "holds at our scale": "our stored runs agree; their settings stand beside the paper's",
    "holds in part at our scale": "our stored runs agree with a part of it",
    "does not hold at our scale": "our stored runs differ; this is no verdict on the paper's own runs",
    "a trend on stand-in data": "runs on data of ours, not the paper's, show it; printed numbers are not judged",
    "a part of the trend on stand-in data": "such runs show a part of it; printed numbers are not judged",
    "no such trend on stand-in data": "such runs do not show it; this is no verdict on the paper's own data",
    "cannot be judged": "what would be compared is lost in our text or not printed; what stands beside it is ours",
    "cannot be run here": "it needs data, weights or machines that this book does not have",
    "failing": "a test with its id fails or survives a mutation",
    "open": "no evidence yet; the row says why",
}
# How the settings of a row compare with the paper's; they also say on what ground a verdict stands.
SETTINGS = {
    "same": "the paper's sizes or larger ones, and the same data",
    "smaller": "smaller networks or inputs, fewer steps or examples, or another way of training",
    "stand-in": "data of ours in place of the paper's",
}
# What the stored runs of an experiment say of a claim, in what setting.
RUN = "cannot be run here"
VERDICTS = {
    "agrees": ("holds at our scale", "a trend on stand-in data"),
    "agrees in part": ("holds in part at our scale", "a part of the trend on stand-in data"),
    "differs": ("does not hold at our scale", "no such trend on stand-in data"),
    RUN: (RUN, RUN),
}
GROUNDS = {  # what a verdict rests on
    "tested": "tests that pass, and fail on planted mistakes",
    "same setting": "runs at the paper's setting, or beyond it",
    "smaller scale": "runs at a smaller scale than the paper's",
    "stand-in data": "runs on data of ours in place of the paper's",
    "cannot be judged": "what would be compared is lost in our text of the paper, or not printed",
    "cannot be run here": "needs data, weights or machines that we do not have",
    "open": "no evidence yet, with the reason",
}
REASONS = ("cannot be judged", RUN, "open")
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
    """One row computed from stored results: our statistical statement, and whether it agrees with the paper's.

    `setting` is one of `SETTINGS`; `ours` says the sizes of our runs, as the manifest has them.
    """

    id: str
    verdict: str
    statement: str
    results: str
    command: str
    setting: str = "smaller"
    ours: str = ""

    @property
    def status(self) -> str:
        """What the verdict is called in its setting."""
        return VERDICTS[self.verdict][self.setting == "stand-in"]


@dataclass(frozen=True)
class Reason:
    """Why a claim has no verdict: one of `REASONS` with a sentence."""

    id: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Erratum:
    """A mistake in print: what stands there, what is right, and a demonstration that fits on one line."""

    number: int
    source: str
    kind: str
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
    reason: Reason | None = None

    @property
    def status(self) -> str:
        """One of `STATUSES`; which evidence counts depends on the kind of claim (`KINDS`)."""
        if any(test.outcome != "passed" or not test.mutations for test in self.tests):
            return "failing"
        if self.reason is not None and self.reason.verdict == "cannot be judged":
            return self.reason.verdict  # whatever we computed in place of what is lost
        needs = KINDS[self.claim.kind]
        if self.measurement is not None and needs != "test":
            return self.measurement.status
        if self.tests and needs != "row":
            return self._tested()
        return "open" if self.reason is None else self.reason.verdict

    @property
    def ground(self) -> str:
        """What the status rests on, one of `GROUNDS`."""
        if self.status in GROUNDS or self.status == "failing":
            return self.status if self.status in GROUNDS else "open"
        if self.measurement is None or self.measurement.status != self.status:
            return "tested"
        return {"same": "same setting", "smaller": "smaller scale", "stand-in": "stand-in data"}[
            self.measurement.setting
        ]

    def form(self, test: Record) -> str:
        """What the mutation is called that the erratum of a test has in print, one of `FORMS`."""
        return next((FORMS[erratum.kind] for erratum in self.errata if erratum.number == test.erratum), "as printed")

    def _tested(self) -> str:
        """What passing tests say: which errata they show at the printed form decides, the gravest first."""
        kinds = {erratum.number: erratum.kind for erratum in self.errata}
        shown = {kinds[test.erratum] for test in self.tests if test.erratum is not None}
        if "result" in shown:
            return "false as printed"
        return "holds with a correction" if shown & {"repair", "slip"} else "holds"


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


def family(status: str) -> str:
    """What speaks for a status: one mark on the page for tests, one for their corrections, one for stored runs.

    >>> family("holds at our scale"), family("a trend on stand-in data"), family("cannot be judged")
    ('measured', 'measured', 'open')
    """
    if any(status in statuses for verdict, statuses in VERDICTS.items() if verdict != RUN):
        return "measured"
    known = {"holds": "checked", "failing": "failing"} | dict.fromkeys(REASONS, "open")
    return known.get(status, "erratum")


def counts(entries: Iterable[Entry]) -> dict[str, int]:
    """How many claims have each status, all statuses named, and their `total`."""
    found = Counter(entry.status for entry in entries)
    return {status: found[status] for status in STATUSES} | {"total": found.total()}


def grounds(entries: Iterable[Entry]) -> dict[str, int]:
    """How many claims rest on what, all `GROUNDS` named; the numbers add up to all claims."""
    found = Counter(entry.ground for entry in entries)
    return {ground: found[ground] for ground in GROUNDS}


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
    valid = parts and all(part.isdigit() and int(part) in CHAPTERS for part in parts)
    _require(bool(valid), where, f"chapters {text!r} must be numbers from 1 to 18")
    return tuple(int(part) for part in parts)


def _require(condition: bool, where: str, message: str) -> None:
    if not condition:
        raise ValueError(f"{where}: {message}.")
