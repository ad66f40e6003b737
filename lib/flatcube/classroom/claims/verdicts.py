"""What a claim is, what speaks for it, and the status that follows from that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "SOURCES", "KINDS", "ERRATA", "FORMS", "STATUSES", "VERDICTS", "SETTINGS", "GROUNDS", "Claim",
    "Mutation", "Record", "Measurement", "Reason", "Erratum", "Entry", "family", "counts", "grounds",
]  # fmt: skip

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
