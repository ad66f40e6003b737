"""Where the results of experiments are kept: a table for each, how it was made, and what it says about a claim."""

import csv
import hashlib
import importlib.metadata
import io
import itertools
import json
import os
import platform
import re
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from flatcube import paths, processes

__all__ = [
    "DATA", "load", "parsed", "numbers", "missing", "trials", "save", "record", "manifest", "versions", "machine",
]  # fmt: skip

DATA = paths.DATA

_LEDGER = ("claims", "errata", "measured", "plan", "reasons")  # no manifest vouches for these: lists, not results


_MEASURED = ("id", "verdict", "setting", "statement", "results", "command")


def load(name: str, *, folder: Path | None = None, partial: bool = False) -> list[dict[str, str]]:
    """The rows of ``data/<name>.csv``, refused if they are not those that the manifest vouches for.

    A table of an experiment that is not finished is refused too, unless a ``partial`` one will do.
    """
    folder = folder or DATA
    known = sorted(path.stem for path in folder.glob("*.csv"))
    if name not in known:
        allowed = f"one of {', '.join(known)}" if known else f"a table of {folder}, which has none"
        raise ValueError(f"name: expected {allowed}, got {name!r}")
    path = folder / f"{name}.csv"
    content = path.read_bytes()
    made = manifest(folder).get(path.name, {})
    vouched = made.get("sha256")
    if not vouched and name not in _LEDGER:
        raise ValueError(f"{path}: its checksum is not in manifest.json, so nothing says how it was made; move it away")
    if vouched and hashlib.sha256(content).hexdigest() != vouched:
        raise ValueError(f"{path}: its checksum is not the one in manifest.json, so it was changed after it was made; "
                         "restore both or move it away")  # fmt: skip
    if not partial and missing(made):
        raise ValueError(f"{path}: expected all {made['planned']} trials, got {made['trials']}; {made['command']} "
                         "completes it")  # fmt: skip
    return _read(content)


def missing(made: dict) -> int:
    """How many trials a table still lacks, by its entry in the manifest."""
    return made.get("planned", made.get("trials", 0)) - made.get("trials", 0)


def trials(name: str, *, folder: Path | None = None) -> list[tuple[str, list[dict[str, str]]]]:
    """The trials of a table that the manifest lists, in its order: address and rows; none if it lists none."""
    folder = folder or DATA
    rows, made = load(name, folder=folder, partial=True), manifest(folder).get(f"{name}.csv", {})
    try:
        counts = [(str(address), int(count)) for address, count in made.get("parts", [])]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / 'manifest.json'}: expected pairs as parts of {name}.csv ({error})") from None
    total = sum(count for _, count in counts)
    if counts and total != len(rows):
        raise ValueError(f"{folder / name}.csv: expected the {total} rows that manifest.json lists, got {len(rows)}")
    left = iter(rows)
    return [(address, list(itertools.islice(left, count))) for address, count in counts]


def parsed(rows: Iterable[dict[str, object]]) -> list[dict[str, str]]:
    """Rows as they come back when they have been saved: every value as text."""
    return _read(_csv(rows))


def numbers(rows: Iterable[dict], *words: str) -> list[dict]:
    """Rows as they were computed, or as they are stored, with numbers as numbers; columns of ``words`` are left.

    >>> numbers([{"kind": "low", "seed": "3", "error": 0.5}], "kind")
    [{'kind': 'low', 'seed': 3.0, 'error': 0.5}]
    """
    return [{name: value if name in words else float(value) for name, value in row.items()} for row in rows]


def _read(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def save(
    name: str, rows: list[dict[str, object]], *, command: str, folder: Path | None = None, **made: object
) -> None:
    """Write ``data/<name>.csv``, and into ``data/manifest.json`` how it was ``made``: scale, seeds, seconds and more.

    Both files are replaced as a whole; whoever stops in between leaves a table that ``load`` refuses.
    """
    if not rows:
        raise ValueError(f"rows: expected at least one row for {name}.csv, got none")
    folder = folder or DATA
    content = _csv(rows)
    entry = {
        "command": command,
        "cores": os.cpu_count(),
        "versions": versions(),
        "sha256": hashlib.sha256(content).hexdigest(),
    } | made
    with closing(_only_one(folder)):
        entries = manifest(folder) | {f"{name}.csv": entry}
        processes.replace(folder / f"{name}.csv", content)
        processes.replace(folder / "manifest.json", _json(entries).encode())


def record(*rows: dict[str, str], folder: Path | None = None) -> None:
    """Put the rows of claims into ``data/measured.csv``, in the place of the old ones."""
    folder = folder or DATA
    with closing(_only_one(folder)):
        known = load("measured", folder=folder) if (folder / "measured.csv").exists() else []
        processes.replace(folder / "measured.csv", _csv({row["id"]: _whole(row) for row in (*known, *rows)}.values()))


def _whole(row: dict[str, str]) -> dict[str, str]:
    """A row with its columns in their order; one that says no setting is of a smaller one than the paper's."""
    row = {"setting": "smaller"} | row
    return {name: row.get(name, "") for name in _MEASURED}


def manifest(folder: Path) -> dict[str, dict]:
    """How every table of a folder was made, by the table's file name."""
    path = folder / "manifest.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if not all(isinstance(entry, dict) for entry in found.values()):
            raise TypeError("an entry is not an object")
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: expected an object with an entry for each table ({error})") from None
    return found


def _json(entries: dict[str, dict]) -> str:
    """Readable, with lists of plain values on one line each."""
    text = json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=False)
    return re.sub(r"\[\n *([^][{}]*?)\n *\]", _on_one_line, text) + "\n"  # line breaks are never inside of strings


def _on_one_line(found: re.Match) -> str:
    return "[" + re.sub(r",\n *", ", ", found[1]) + "]"


def _only_one(folder: Path) -> sqlite3.Connection:
    """Two processes that publish at once would each keep its own entry only."""
    name = hashlib.sha256(f"{getattr(os, 'getuid', int)()} {folder.resolve()}".encode()).hexdigest()[:16]
    return processes.locked(Path(tempfile.gettempdir()) / f"flatcube-{name}.lock", 60.0)


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute the numbers, those that are installed."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "torch"):
        try:
            found[name] = importlib.metadata.version(name).partition("+")[0]  # the same for every build
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The kind of machine, without its name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def _csv(rows: Iterable[dict[str, object]]) -> bytes:
    rows, file = list(rows), io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()
