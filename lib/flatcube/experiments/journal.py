"""The journal of an experiment: every finished trial, safe on disk before the next one is recorded.

An embedded SQLite database with a write-ahead log. Each trial is one transaction, so a process that is killed at any
moment leaves all trials that it had recorded, whole. A trial's address is the hash of the experiment's name, the
trial's configuration and the experiment's version: the same address means the same numbers, so what the journal holds
is never computed again, and what another version computed is never taken for it.

A journal that cannot be read, or whose contents do not match their checksums, is reported and left as it is. The log is
emptied into the database after every trial, which the checks then cover. A journal must be on a disk of the machine
that writes it: write-ahead logs do not work across a network.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flatcube import processes

__all__ = ["Record", "Journal", "JournalError", "address", "short", "configuration"]

_APPLICATION = 0x666C6174  # "flat", in the header of the file
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
CREATE TABLE trial (
    address TEXT PRIMARY KEY, experiment TEXT NOT NULL, version TEXT NOT NULL, config TEXT NOT NULL,
    rows TEXT NOT NULL, seconds REAL NOT NULL, machine TEXT NOT NULL, ended TEXT NOT NULL, checksum TEXT NOT NULL
) STRICT;
"""


class JournalError(RuntimeError):
    """A journal that is damaged, or in use by another run."""


@dataclass(frozen=True)
class Record:
    """One finished trial; ``seconds`` are of processor time."""

    experiment: str
    version: str
    config: dict[str, Any]
    rows: list[dict[str, Any]]
    seconds: float
    machine: str
    ended: str = ""

    @property
    def address(self) -> str:
        return address(self.experiment, self.version, self.config)


def configuration(trial: Any) -> dict[str, Any]:
    """The fields of a trial, a frozen dataclass, as JSON keeps them."""
    return json.loads(json.dumps(asdict(trial)))


def address(experiment: str, version: str, config: dict[str, Any]) -> str:
    """Where the journal keeps a trial: the hash of what its numbers depend on."""
    return _hash([experiment, version, config])


def short(at: str) -> str:
    """An address as a manifest has it."""
    return at[:16]


class Journal:
    """The trials that are recorded in a file; with ``write``, the only one that may add to it.

    Without ``write`` a missing file is an empty journal, and is not created.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path, self._lock, self._db = Path(path), None, None
        if write:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = self._locked()
        try:
            if write and not self.path.exists():
                with self._reported():
                    self._create()
            if self.path.exists():
                self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._lock is not None and self._db is not None:
            with suppress(sqlite3.DatabaseError, UnicodeError):  # someone is reading, or it is damaged
                self._db.execute("PRAGMA journal_mode = DELETE")  # then readers need not write beside it
        for connection in (self._db, self._lock):
            if connection is not None:
                connection.close()
        self._db = self._lock = None

    def records(self) -> dict[str, Record]:
        """All trials by address, each checked against its checksum."""
        if self._db is None:
            return {}
        names = "address, experiment, version, config, rows, seconds, machine, ended, checksum"
        with self._reported():
            found = self._db.execute(f"SELECT {names} FROM trial ORDER BY rowid").fetchall()
        kept = {}
        for at, experiment, version, config, *rest, checksum in found:
            if _hash([at, experiment, version, config, *rest]) != checksum:
                raise self._damaged(f"trial {at[:12]} does not match its checksum")
            rows, *others = rest
            kept[at] = Record(experiment, version, json.loads(config), json.loads(rows), *others)
        return kept

    def add(self, record: Record) -> None:
        """Record one finished trial, in one transaction; when this returns, it is on disk."""
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        values = [record.address, record.experiment, record.version, json.dumps(record.config, sort_keys=True)]
        values += [json.dumps(record.rows), float(record.seconds), record.machine, ended]
        with self._reported():
            with self._db:
                self._db.execute("INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [*values, _hash(values)])
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _locked(self) -> sqlite3.Connection:
        try:
            return processes.locked(self.path.with_suffix(".lock"))
        except TimeoutError:
            raise JournalError(f"journal {self.path}: another run is writing to it; wait for it or stop it") from None
        except OSError as error:
            raise JournalError(f"journal {self.path}: {error}") from None

    def _create(self) -> None:
        for log in (self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")):
            if log.exists():
                log.replace(f"{log}.old")  # of a journal that was moved away: not for the new one
        # Under another name first, so that an empty file under this name is a sign of damage.
        with processes.draft(self.path) as draft, closing(sqlite3.connect(draft)) as db:
            db.executescript(_SCHEMA)

    def _open(self) -> None:
        with self._reported():
            # Only for reading, so that whatever is found is left as it is; a writer opens it again.
            self._db = _connected(f"{self.path.resolve().as_uri()}?mode=ro")
            problems = [row[0] for row in self._db.execute("PRAGMA integrity_check(1)")]
            (kind,) = self._db.execute("PRAGMA application_id").fetchone()
        if problems != ["ok"] or kind != _APPLICATION:
            raise self._damaged(problems[0] if problems != ["ok"] else "it is not a journal of experiments")
        if self._lock is not None:
            self.records()
            with self._reported():
                self._db.close()
                self._db = _connected(self.path.resolve().as_uri())
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:  # a full disk, a missing permission: the journal is well
            raise JournalError(f"journal {self.path} cannot be opened or written ({error})") from None
        except (sqlite3.DatabaseError, UnicodeError) as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, why: str) -> JournalError:
        why = " ".join(why.split())
        return JournalError(
            f"journal {self.path} cannot be used ({why}): restore a copy or move it away to start anew, "
            "and its -wal and -shm files, if there are any, with it"
        )


def _connected(address: str) -> sqlite3.Connection:
    found = sqlite3.connect(address, timeout=30, uri=True)
    found.text_factory = lambda text: text.decode(errors="replace")  # of what is no text the checksum is wrong
    return found


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
