"""Fuzz the library's doors and print what came of it, as in ``python -m tests.fuzz --calls 10000 --seed 1``."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # threads do not survive a fork

from tests.fuzz import campaign, record
from tests.fuzz.harmless import is_harmless
from tests.fuzz.judge import EXCUSABLE, OFFENCES, VERDICTS

TESTS = Path(__file__).parents[1]
OTHERS = {"browser", "press", "notebooks", "experiments", "classroom", "fuzz", "benchmarks"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="MODULES", help="fuzz only these, separated by commas")
    parser.add_argument("--tests", type=Path, nargs="+", help="record calls from these files only, which is quicker")
    parser.add_argument("--json", action="store_true", help="print one line for every call, for programs")
    options = parser.parse_args()
    doors = record.record(options.tests or _files())
    if options.only:
        doors = [door for door in doors if door.module in options.only.split(",")]
    outcomes = campaign.run(campaign.plan(doors, options.calls, options.seed))
    rows = [_row(outcome) for outcome in outcomes]
    if options.json:
        print("\n".join(map(json.dumps, rows)))
        return
    for row in rows:
        if row["verdict"] in OFFENCES:
            print("{verdict}: {door}({argument}: {mutation}) → {detail}".format_map(row))
    _table(rows)
    print("never called from outside:", ", ".join(door.name for door in doors if not door.calls))


def _files() -> list[Path]:
    """The tests of the library and of its claims, in every room."""
    found = (path for path in sorted(TESTS.glob("*/test_*.py")) if path.parent.name not in OTHERS)
    others = ("exercises", "explorer", "page", "study", "notebook", "replay", "five")
    return [path for path in found if not path.stem.endswith(others)]


def _row(outcome: campaign.Outcome) -> dict[str, str]:
    case = outcome.case
    named = {"module": case.door.module, "door": case.door.name, "argument": case.argument}
    verdict = outcome.verdict
    if verdict in EXCUSABLE and is_harmless(case.door.name, case.argument, case.mutation.label):
        verdict = "harmless"
    return named | {"mutation": case.mutation.label, "verdict": verdict, "detail": outcome.detail}


def _table(rows: list[dict[str, str]]) -> None:
    counts = Counter((row["module"], row["verdict"]) for row in rows)
    print(f"{'module':<20}" + "".join(f"{verdict:>11}" for verdict in VERDICTS))
    for module in sorted({module for module, _ in counts}):
        print(f"{module:<20}" + "".join(f"{counts[module, verdict] or '':>11}" for verdict in VERDICTS))
    total = Counter(row["verdict"] for row in rows)
    print(f"{f'all {len(rows):,}':<20}" + "".join(f"{total[verdict]:>11}" for verdict in VERDICTS))


if __name__ == "__main__":
    main()
