"""Where the results of experiments are kept: a table for each, how it was made, and what it says about a claim."""

import csv
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import sqlite3
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

__all__ = ["DATA", "load", "parsed", "save", "record", "manifest", "locked", "versions", "machine"]

DATA = Path(__file__).parents[3] / "data"

_LEDGER = ("claims", "errata", "measured", "plan")  # the tables that no manifest vouches for: lists, not results


def load(name: str, *, folder: Path | None = None) -> list[dict[str, str]]:
    """The rows of ``data/<name>.csv``, refused if they are not those that the manifest vouches for."""
    folder = folder or DATA
    known = sorted(path.stem for path in folder.glob("*.csv"))
    if name not in known:
        allowed = f"one of {', '.join(known)}" if known else f"a table of {folder}, which has none"
        raise ValueError(f"name: expected {allowed}, got {name!r}")
    path = folder / f"{name}.csv"
    content = path.read_bytes()
    vouched = manifest(folder).get(path.name, {}).get("sha256")
    if not vouched and name not in _LEDGER:
        raise ValueError(f"{path}: its checksum is not in manifest.json, so nothing says how it was made")
    if vouched and hashlib.sha256(content).hexdigest() != vouched:
        raise ValueError(f"{path}: its checksum is not the one in manifest.json, so it was changed after it was made")
    return _read(content)


def parsed(rows: Iterable[dict[str, object]]) -> list[dict[str, str]]:
    """Rows as they come back when they have been saved: every value as text."""
    return _read(_csv(rows))


def _read(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def save(
    name: str, rows: list[dict[str, object]], *, command: str, folder: Path | None = None, **made: object
) -> None:
    """Write ``data/<name>.csv``, and into ``data/manifest.json`` how it was ``made``: the seed or seeds, and more.

    The seconds are of processor time; those of this process, unless given. Both files are replaced as a whole; whoever
    stops in between leaves a table that ``load`` refuses.
    """
    if not rows:
        raise ValueError(f"rows: expected at least one row for {name}.csv, got none")
    folder = folder or DATA
    content = _csv(rows)
    entry = {
        "command": command,
        "seconds": round(time.process_time()),
        "cores": os.cpu_count(),
        "versions": versions(),
        "machine": machine(),
        "sha256": hashlib.sha256(content).hexdigest(),
    } | made
    with closing(_only_one(folder)):
        entries = manifest(folder) | {f"{name}.csv": entry}
        text = json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=False)
        _replace(folder / f"{name}.csv", content)
        _replace(folder / "manifest.json", f"{text}\n".encode())


def record(*rows: dict[str, str], folder: Path | None = None) -> None:
    """Put the rows of claims into ``data/measured.csv``, in the place of the old ones."""
    folder = folder or DATA
    with closing(_only_one(folder)):
        known = load("measured", folder=folder) if (folder / "measured.csv").exists() else []
        _replace(folder / "measured.csv", _csv({row["id"]: row for row in (*known, *rows)}.values()))


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


def locked(path: Path, seconds: float = 0.0) -> sqlite3.Connection:
    """A lock on a file, waited for so long; the system takes it back when this process ends, however it ends."""
    lock = None
    try:
        lock = sqlite3.connect(path, timeout=seconds, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        if not os.access(path, os.W_OK):  # SQLite would let others in
            raise PermissionError(f"{path} cannot be used as a lock (it is not yours to write)")
    except (sqlite3.Error, OSError) as error:
        if lock is not None:
            lock.close()
        if isinstance(error, OSError):
            raise
        kind = TimeoutError if "is locked" in str(error) else OSError
        raise kind(f"{path} cannot be used as a lock ({error})") from None
    return lock


def _only_one(folder: Path) -> sqlite3.Connection:
    """Two processes that publish at once would each keep its own entry only."""
    name = hashlib.sha256(f"{getattr(os, 'getuid', int)()} {folder.resolve()}".encode()).hexdigest()[:16]
    return locked(Path(tempfile.gettempdir()) / f"flatcube-{name}.lock", 60.0)


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


def _replace(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that no one ever finds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
