"""Where the results of experiments are kept: a table for each, how it was made, and what it says about a claim."""

import csv
import hashlib
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["DATA", "load", "save", "record", "manifest", "versions", "machine"]

DATA = Path(__file__).parents[3] / "data"


def load(name: str, *, folder: Path | None = None) -> list[dict[str, str]]:
    """The rows of ``data/<name>.csv``, refused if they are not those that the manifest vouches for."""
    path = (folder or DATA) / f"{name}.csv"
    content = path.read_bytes()
    vouched = manifest(path.parent).get(path.name, {}).get("sha256")
    if vouched and hashlib.sha256(content).hexdigest() != vouched:
        raise ValueError(f"{path}: its checksum is not the one in manifest.json, so it was changed after it was made")
    return list(csv.DictReader(content.decode("utf-8").splitlines()))


def save(
    name: str, rows: list[dict[str, object]], *, command: str, folder: Path | None = None, **made: object
) -> None:
    """Write ``data/<name>.csv``, and into ``data/manifest.json`` how it was ``made``: the seed or seeds, and more.

    The seconds are of processor time; those of this process, unless given.
    """
    if not rows:
        raise ValueError(f"rows: expected at least one row for {name}.csv, got none")
    folder = folder or DATA
    _write(folder / f"{name}.csv", rows)
    entries = manifest(folder)
    entries[f"{name}.csv"] = {
        "command": command,
        "seconds": round(time.process_time()),
        "cores": os.cpu_count(),
        "versions": versions(),
        "machine": machine(),
        "sha256": hashlib.sha256((folder / f"{name}.csv").read_bytes()).hexdigest(),
    } | made
    text = json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def record(row: dict[str, str], *, folder: Path | None = None) -> None:
    """Put the row of a claim into ``data/measured.csv``, in the place of the old one."""
    folder = folder or DATA
    known = {old["id"]: old for old in load("measured", folder=folder)} if (folder / "measured.csv").exists() else {}
    _write(folder / "measured.csv", (known | {row["id"]: row}).values())


def manifest(folder: Path) -> dict[str, dict]:
    """How every table of a folder was made, by the table's file name."""
    path = folder / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


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


def _write(path: Path, rows: Iterable[dict[str, object]]) -> None:
    rows = list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
