"""The journal of an experiment: every finished trial, safe on disk before the next one is recorded.

An embedded SQLite database with a write-ahead log. Each trial is one transaction, so a process that is killed at any
moment leaves all trials that it had recorded, whole. A trial's address is the hash of the experiment's name, the
trial's configuration and the version of the code that computes it: the same address means the same numbers, so what
the journal holds is never computed again, and what other code computed is never taken for it.

A journal that cannot be read, or whose contents do not match their checksums, is reported and left as it is. The log is
emptied into the database after every trial, which the checks then cover. A journal must be on a disk of the machine
that writes it: write-ahead logs do not work across a network.
"""

import ast
import hashlib
import importlib.util
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from flatcube.experiments import store

__all__ = ["Record", "Journal", "JournalError", "address", "configuration", "code_version", "check_unchanged"]

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
            with suppress(sqlite3.DatabaseError):  # someone is reading
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
            return store.locked(self.path.with_suffix(".lock"))
        except TimeoutError:
            raise JournalError(f"journal {self.path}: another run is writing to it; wait for it or stop it") from None
        except OSError as error:
            raise JournalError(f"journal {self.path}: {error}") from None

    def _create(self) -> None:
        # Under another name first, so that an empty file under this name is a sign of damage.
        draft = self.path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        for log in (self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")):
            if log.exists():
                log.replace(f"{log}.old")  # of a journal that was moved away: not for the new one
        with closing(sqlite3.connect(draft)) as db:
            db.executescript(_SCHEMA)
        os.replace(draft, self.path)

    def _open(self) -> None:
        with self._reported():
            # Only for reading, so that whatever is found is left as it is; a writer opens it again.
            self._db = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", timeout=30, uri=True)
            problems = [row[0] for row in self._db.execute("PRAGMA integrity_check(1)")]
            (kind,) = self._db.execute("PRAGMA application_id").fetchone()
        if problems != ["ok"] or kind != _APPLICATION:
            raise self._damaged(problems[0] if problems != ["ok"] else "it is not a journal of experiments")
        if self._lock is not None:
            self.records()
            with self._reported():
                self._db.close()
                self._db = sqlite3.connect(self.path, timeout=30)
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, a missing permission: the journal is well
            raise JournalError(f"journal {self.path} cannot be opened or written ({error})") from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, why: str) -> JournalError:
        why = " ".join(why.split())
        return JournalError(
            f"journal {self.path} cannot be used ({why}): restore a copy or move it away to start anew, "
            "and its -wal and -shm files, if there are any, with it"
        )


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# --- the version of the code ------------------------------------------------------------------------------------------


def code_version(function: Callable) -> str:
    """The hash of the code that a function's numbers depend on, and of the versions of numpy, scipy and torch.

    The code: in the function's own module, the definitions that it leads to; and all other modules of the book that
    these import, and that those import. Comments and docstrings do not count, nor do summaries that no trial calls.
    """
    parts = {name: dump for name, (_, dump) in _code(function).items()}
    return _hash([parts, {name: version for name, version in store.versions().items() if name != "python"}])[:16]


def check_unchanged(function: Callable) -> None:
    """Refuse code that was edited after it may have been imported: the old code's numbers would pass for the new one's.

    Files from the future, by a clock that is wrong, are let through.
    """
    for path, _ in _code(function).values():
        if _BEGAN < path.stat().st_mtime <= time.time():
            raise ValueError(f"{path} was changed after this process began: restart it to compute with the new code")


def _began() -> float:
    """When this process began, to the second; where that cannot be read, now."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        lines = Path("/proc/stat").read_text().splitlines()
        boot = next(int(line.split()[1]) for line in lines if line.startswith("btime"))
        return boot + ticks / os.sysconf("SC_CLK_TCK") + 1
    except (OSError, StopIteration):
        return time.time()


_BEGAN = _began()


@lru_cache
def _code(function: Callable) -> dict[str, tuple[Path, str]]:
    """The modules that a function's numbers depend on: their files, and what counts of their code."""
    own = sys.modules[function.__module__]
    book = own.__name__.partition(".")[0]
    needed = _reached(ast.parse(Path(own.__file__).read_text(encoding="utf-8")), function.__name__)
    parts, waiting = {own.__name__: (Path(own.__file__), _dump(needed))}, _imports(needed, book)
    while waiting:
        name = waiting.pop()
        spec = importlib.util.find_spec(name)
        if name in parts or spec is None or not spec.has_location:
            continue
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        parts[name] = Path(spec.origin), _dump(tree.body)
        waiting |= _imports(tree.body, book)
    return parts


def _reached(tree: ast.Module, start: str) -> list[ast.stmt]:
    """The statements of a module that a name leads to: definitions, constants, imports."""
    definitions: dict[str, ast.stmt] = {}
    for statement in (part for whole in tree.body for part in _apart(whole)):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = [statement.names[0].asname or statement.names[0].name.partition(".")[0]]
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names = [statement.name]
        else:
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            names = [node.id for node in stored if isinstance(node.ctx, ast.Store)]
        definitions |= dict.fromkeys(names, statement)
    found, waiting = [], [start]
    while waiting:
        statement = definitions.pop(waiting.pop(), None)
        if statement is not None and statement not in found:
            found.append(statement)
            waiting += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return sorted(found, key=lambda statement: (statement.lineno, ast.dump(statement)))


def _apart(statement: ast.stmt) -> list[ast.stmt]:
    """An import of several names as imports of one each: those that are not used do not count."""
    if isinstance(statement, ast.Import):
        return [ast.copy_location(ast.Import([alias]), statement) for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        each = (ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names)
        return [ast.copy_location(one, statement) for one in each]
    return [statement]


def _imports(statements: list[ast.stmt], book: str) -> set[str]:
    """The names of all modules of the book that the statements import."""
    names = set()
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    mine = {name for name in names if name == book or name.startswith(f"{book}.")}
    return {name for name in mine if _is_module(name)}


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, AttributeError):  # a name inside a module
        return False


def _dump(statements: list[ast.stmt]) -> str:
    """The code without its docstrings."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    kept = [part for part in statements if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    return "\n".join(ast.dump(part) for part in kept)
