"""Where the results of experiments are kept: a table for each, how it was made, and what it says about a claim."""

import csv
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["DATA", "load", "save", "record"]

DATA = Path(__file__).parents[3] / "data"


def load(name: str) -> list[dict[str, str]]:
    """The rows of ``data/<name>.csv``."""
    return list(csv.DictReader((DATA / f"{name}.csv").read_text(encoding="utf-8").splitlines()))


def save(name: str, rows: list[dict[str, object]], *, command: str, seed: int) -> None:
    """Write ``data/<name>.csv``, and into ``data/manifest.json`` how it was made."""
    _write(f"{name}.csv", rows)
    path = DATA / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    manifest[f"{name}.csv"] = {
        "command": command,
        "seed": seed,
        "seconds": round(time.process_time()),  # of processor time, on one core
        "cores": os.cpu_count(),
    }
    path.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def record(row: dict[str, str]) -> None:
    """Put the row of a claim into ``data/measured.csv``, in the place of the old one."""
    known = {old["id"]: old for old in load("measured")}
    _write("measured.csv", (known | {row["id"]: row}).values())


def _write(name: str, rows: Iterable[dict[str, object]]) -> None:
    rows = list(rows)
    with (DATA / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
