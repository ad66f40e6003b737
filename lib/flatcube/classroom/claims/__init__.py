"""The ledger of claims: what the four papers say, and what in this book shows that it is so.

Five files in `data/` make the ledger. `claims.csv` lists the claims, `errata.csv` the mistakes found in print, and
`reasons.csv` says why a claim has no verdict; these are written by hand. `evidence.json` says which tests carry a
claim's id, how they ended and on which deliberate mistakes they fail; a run of the tests writes it. `measured.csv` has
one row per claim that only an experiment can speak to.

A statement that can be proved or computed counts as checked only if its tests pass *and* each of them fails when one
part of the library is replaced by a wrong one. A test that cannot fail shows nothing. Where the tests stand beside the
data, a record whose test is no longer there counts for nothing, either.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "verdicts": [
            "SOURCES", "KINDS", "ERRATA", "FORMS", "STATUSES", "VERDICTS", "SETTINGS", "GROUNDS", "Claim", "Mutation",
            "Record", "Measurement", "Reason", "Erratum", "Entry", "family", "counts", "grounds",
        ],
        "tables": ["claims", "errata", "evidence", "measurements", "reasons", "lost", "source", "ledger", "DATA"],
    },
)  # fmt: skip
