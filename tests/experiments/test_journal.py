"""The journal: what it holds is whole and what it says, and damage is reported and left alone."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from flatcube.experiments import journal
from flatcube.experiments.journal import Journal, JournalError, Record

ROWS = [{"n": 3, "value": 0.1 + 0.2, "name": "α"}]


def _record(n: int, version: str = "one") -> Record:
    return Record("toy", version, {"n": n}, ROWS, 0.5, "a machine")


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "toy.sqlite", write=True) as kept:
        for n in range(50):
            kept.add(_record(n))
    return tmp_path / "toy.sqlite"


def test_what_is_recorded_comes_back(path):
    with Journal(path) as kept:
        found = kept.records()
    assert len(found) == 50 and found[_record(7).address].rows == ROWS
    assert all(record.address == at and record.ended.endswith("+00:00") for at, record in found.items())


def test_an_address_is_of_the_experiment_the_configuration_and_the_version(path):
    one = journal.address("toy", "one", {"n": 1, "rate": 0.1})
    assert one == journal.address("toy", "one", {"rate": 0.1, "n": 1})
    others = [("toys", "one", {"n": 1}), ("toy", "two", {"n": 1}), ("toy", "one", {"n": 2})]
    assert len({one, *(journal.address(*other) for other in others)}) == 4
    with Journal(path, write=True) as kept:
        kept.add(_record(7, "two"))
        assert len(kept.records()) == 51
        with pytest.raises(JournalError, match="UNIQUE"):
            kept.add(_record(7, "two"))


def test_a_trial_is_on_disk_when_it_is_recorded(tmp_path):
    with Journal(tmp_path / "toy.sqlite", write=True) as writer, Journal(tmp_path / "toy.sqlite") as reader:
        writer.add(_record(1))
        assert len(reader.records()) == 1
        (mode,) = writer._db.execute("PRAGMA journal_mode").fetchone()
        assert mode == "wal"


def _overwritten(content: bytes) -> bytes:
    return b"not a database any more" + content[23:]


def _scribbled(content: bytes) -> bytes:
    return content[:8192] + bytes(range(256)) * 16 + content[12288:]


def _one_digit(content: bytes) -> bytes:
    assert content.count(b"0.30000000000000004") >= 50
    return content.replace(b"0.30000000000000004", b"0.30000000000000005", 1)


def _no_text(content: bytes) -> bytes:
    return content.replace(b"a machine", b"a mach\xff\xfene")


def _no_schema(content: bytes) -> bytes:
    return content.replace(b"CREATE TABLE trial", b"CREATE TABL\xff \xfe\x97ial")


def _cut(content: bytes) -> bytes:
    return content[:6000]


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("damage", [_overwritten, _scribbled, _one_digit, _no_text, _no_schema, _cut, lambda _: b""])
def test_a_damaged_journal_is_reported_and_left_as_it_is(path, damage, write):
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    message = r"^journal .*toy\.sqlite cannot be used \(.*\): restore a copy or move it away to start anew, and its"
    with pytest.raises(JournalError, match=message), Journal(path, write=write) as kept:
        kept.records()
    assert path.read_bytes() == damaged


@pytest.fixture
def killed(path, tmp_path_factory):
    """The same journal, of a process that was killed when one more trial was in the log only."""
    values = ["at", "toy", "one", '{"n": 50}', "[]", 0.5, "a machine", "now"]
    folder = tmp_path_factory.mktemp("killed")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        with db:
            db.execute("INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [*values, journal._hash(values)])
        for file in path.parent.glob("toy.sqlite*"):
            shutil.copy(file, folder)
    assert (folder / "toy.sqlite-wal").stat().st_size > 0
    return folder / "toy.sqlite"


def _files(path):
    return {file.name: file.read_bytes() for file in path.parent.glob("toy.sqlite*") if not file.name.endswith("-shm")}


def test_a_reader_leaves_nothing_beside_a_journal(path):
    before = sorted(path.parent.iterdir())
    with Journal(path) as kept:
        assert len(kept.records()) == 50
    assert sorted(path.parent.iterdir()) == before == [path.with_suffix(".lock"), path]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_journal_can_be_read_where_nothing_can_be_written(path):
    path.parent.chmod(0o500)
    try:
        with Journal(path) as kept:
            assert len(kept.records()) == 50
    finally:
        path.parent.chmod(0o700)


def test_a_lock_that_is_not_ours_to_write_is_none(tmp_path, monkeypatch):
    """SQLite would let two processes have it at once."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(JournalError, match=r"toy\.lock cannot be used as a lock \(it is not yours to write\)$"):
        Journal(tmp_path / "toy.sqlite", write=True)


def test_what_a_killed_process_left_in_the_log_is_read_and_left_there(killed):
    before = _files(killed)
    with Journal(killed) as kept:
        assert len(kept.records()) == 51
    assert _files(killed) == before
    with Journal(killed, write=True) as kept:
        kept.add(_record(60))
        assert len(kept.records()) == 52


@pytest.mark.parametrize("write", [True, False])
def test_a_damaged_journal_with_a_log_is_left_as_it_is(killed, write):
    killed.write_bytes(_one_digit(killed.read_bytes()))
    before = _files(killed)
    with pytest.raises(JournalError, match="does not match its checksum"), Journal(killed, write=write) as kept:
        kept.records()
    assert _files(killed) == before


def test_a_recorded_trial_does_not_stay_in_the_log(path):
    with Journal(path, write=True) as kept:
        kept.add(_record(50))
        assert path.with_name("toy.sqlite-wal").stat().st_size == 0
        assert f'"n": {50}'.encode() in path.read_bytes()


def test_a_journal_that_was_moved_away_leaves_nothing_to_the_new_one(killed):
    killed.rename(killed.with_name("away.sqlite"))
    with Journal(killed, write=True) as kept:
        assert kept.records() == {}
        kept.add(_record(1))
        assert len(kept.records()) == 1
    assert killed.with_name("toy.sqlite-wal.old").exists()


def test_what_is_not_the_journal_s_fault_is_not_called_damage(tmp_path):
    (tmp_path / "toy.sqlite").mkdir()
    with pytest.raises(JournalError, match=r"toy\.sqlite cannot be opened or written \("):
        Journal(tmp_path / "toy.sqlite")


@pytest.mark.parametrize("junk", [lambda path: path.mkdir(), lambda path: path.write_bytes(b"no lock" * 1000)])
def test_a_lock_that_is_none_is_one_sentence(tmp_path, junk):
    junk(tmp_path / "toy.lock")
    with pytest.raises(JournalError, match=r"toy\.lock cannot be used as a lock \(.*\)$"):
        Journal(tmp_path / "toy.sqlite", write=True)


def test_another_database_is_not_taken_for_a_journal(tmp_path):
    with closing(sqlite3.connect(tmp_path / "toy.sqlite")) as other:
        other.execute("CREATE TABLE trial (address TEXT)")
    with pytest.raises(JournalError, match="it is not a journal of experiments"):
        Journal(tmp_path / "toy.sqlite")
