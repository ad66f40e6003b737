"""One claim checked before your eyes: its tests run again, its row computed again from the stored results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from flatcube.classroom import claims
from flatcube.press import compare

__all__ = ["verify"]


def verify(root: Path, key: str, say: Callable[[str], object] = print) -> bool:
    """Check the claim `key` of the book in `root`, saying what is found; whether it is as the ledger has it."""
    entries = {entry.claim.id: entry for entry in claims.ledger(root / "data")}
    if key not in entries:
        alike = [known for known in entries if known.startswith(key[:4])] or list(entries)
        raise ValueError(f"id: expected one of data/claims.csv, such as {', '.join(alike[:3])}; got {key!r}")
    entry = entries[key]
    say(f"{key}, {claims.SOURCES[entry.claim.source]}, {entry.claim.location}: {entry.claim.claim}")
    if entry.claim.settings:
        say(f"Settings in the paper: {entry.claim.settings}")
    well = _tested(root, entry, say) and _measured(root, entry, say)
    if entry.reason and entry.reason.verdict == entry.status:
        say(entry.reason.reason)
    say(f"Verdict: {entry.status}." if well else "This is not what the ledger says.")
    return well


def _tested(root: Path, entry: claims.Entry, say: Callable[[str], object]) -> bool:
    """Run the tests that carry the claim; each runs on its mutations, too, and must fail on them."""
    if not entry.tests:
        return True
    if not (root / "tests").is_dir():
        raise ValueError(f"--root {root}: there are no tests; {entry.claim.id} is checked in a clone of the book.")
    names = [test.test for test in entry.tests]
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", *names], cwd=root, capture_output=True, text=True)
    for test in entry.tests if ended.returncode == 0 else ():
        say(f"Passes: {test.test}" + (f" ({test.note})" if test.note else ""))
        for mutation in test.mutations:
            say(f"  and fails {entry.form(test) if mutation.printed else 'on a planted mistake'}: {mutation.sentence}")
    if ended.returncode:
        say(ended.stdout + ended.stderr)
    return ended.returncode == 0


def _measured(root: Path, entry: claims.Entry, say: Callable[[str], object]) -> bool:
    """Compute again what the stored results say of the claim."""
    if entry.measurement is None:
        return True
    from flatcube.experiments import engine, store

    stored = entry.measurement
    (experiment,) = engine.named(Path(stored.results).stem)
    rows = experiment.measured(store.load(experiment.name, folder=root / "data"))
    found = {row["id"]: row for row in rows}[entry.claim.id]
    say(f"Settings of our runs: {stored.ours} ({claims.SETTINGS[stored.setting]})")
    say(f"From {stored.results} ({stored.command}): {found['statement']}")
    same = compare.of_texts(stored.statement, found["statement"]) is None  # processors round differently
    return same and found["verdict"] == stored.verdict
