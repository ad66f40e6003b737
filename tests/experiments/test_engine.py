"""Experiments: nothing is lost, nothing is computed twice, and it does not matter where it is computed."""

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import distributed
import pytest
import torch

from flatcube.experiments import engine, journal, progress, store, workers
from tests.experiments import toy

ROOT = Path(__file__).parents[2]


def _computed(log: Path) -> list[int]:
    """The n of every computation that began."""
    return sorted(int(path.name.partition("-")[0]) for path in log.iterdir())


def _until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.02)


def _recorded(folder: Path) -> int:
    with journal.Journal(folder / "toy.sqlite") as open_journal:
        return len(open_journal.records())


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


@pytest.fixture
def started(request, tmp_path, log):
    """A run of eight trials in a process of its own, in a session of its own, after two of them were recorded."""
    count = str(getattr(request, "param", 2))
    command = [sys.executable, "-m", "tests.experiments.toy", str(tmp_path), str(log), count]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs do not hear Ctrl-C
    try:
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, heard)
    try:
        _until(lambda: _recorded(tmp_path) >= 2)
        yield process
    finally:
        process.kill()
        process.communicate()


# --- interruptions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("started", [1, 2], indirect=True, ids=["one worker", "two workers"])
def test_a_killed_run_loses_only_the_trials_in_flight_and_is_resumed(started, tmp_path, log):
    started.send_signal(signal.SIGKILL)
    started.wait()
    workers = _workers(log)
    _until(lambda: not any(map(_alive, workers)))  # they do not outlive the run
    kept, begun = _recorded(tmp_path), len(_computed(log))
    assert 2 <= kept < 8
    assert begun <= kept + max(1, len(workers))
    experiment = toy.experiment(8, seconds=0.2, log=log)
    for _ in range(2):
        rows = engine.run(experiment, folder=tmp_path, progress=False)
        assert len(_computed(log)) == begun + 8 - kept  # what was recorded is not computed again
    assert rows == _serial(8)


def test_ctrl_c_stops_cleanly(started, tmp_path, log):
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to the run and to its workers
    asked = time.monotonic()
    _, said = started.communicate(timeout=10)
    assert started.returncode != 0 and said.rstrip().endswith("KeyboardInterrupt") and said.count("Traceback") == 1
    assert time.monotonic() - asked < 5
    assert not any(map(_alive, _workers(log)))
    assert 2 <= _recorded(tmp_path) < 8


def _workers(log: Path) -> set[int]:
    return {int(path.name.split("-")[1]) for path in log.iterdir()}


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _with_a_fatal_trial(log: Path) -> engine.Experiment:
    return toy.experiment(6, seconds=0.2, log=log, extra=(toy.Trial(6, (0, 1), 0.1, str(log), fatal=True),))


def _serial(count: int) -> list[dict]:
    return engine.run(toy.experiment(count), progress=False)


def test_a_local_worker_that_is_killed_is_replaced(tmp_path, log):
    rows = engine.run(_with_a_fatal_trial(log), folder=tmp_path, workers=2, progress=False)
    assert _computed(log).count(6) == 2 and len(_workers(log)) > 2
    assert rows == _serial(7)


def test_a_trial_that_always_kills_its_worker_takes_no_other_with_it(tmp_path, log):
    deadly = toy.Trial(9, (0,), 0.0, str(log), deadly=True)
    experiment = dataclasses.replace(toy.experiment(5, log=log, extra=(deadly,)), cost=lambda trial: float(trial.n))
    message = r"^toy: 1 of 6 trials failed, the others are kept; Trial\(n=9.*: its worker process died 3 times$"
    with pytest.raises(RuntimeError, match=message):
        engine.run(experiment, folder=tmp_path, workers=2, progress=False)
    assert _recorded(tmp_path) == 5 and _computed(log).count(9) == 3


def test_long_trials_begin_first(tmp_path, log):
    experiment = dataclasses.replace(toy.experiment(4, log=log), cost=lambda trial: float(trial.n))
    assert [row["n"] for row in engine.run(experiment, progress=False)] == [0, 0, 1, 1, 2, 2, 3, 3]  # as in the grid
    begun = sorted(log.iterdir(), key=lambda path: int(path.name.split("-")[2]))
    assert [path.name[0] for path in begun] == ["3", "2", "1", "0"]


def _drawn(seed: int) -> list[dict]:
    """From the process's own random numbers, slowly."""
    torch.manual_seed(seed)
    time.sleep(0.05)
    return [{"value": float(torch.rand(()))}]


def test_one_process_computes_one_trial_at_a_time():
    """Also where a cluster gives its workers several threads."""
    seeds = range(8)
    alone = [workers.compute(_drawn, seed).rows for seed in seeds]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda seed: workers.compute(_drawn, seed).rows, seeds)) == alone


def test_what_a_trial_took_is_by_the_clock_and_what_it_cost_is_not():
    outcome = [workers.compute(_drawn, 0) for _ in range(2)][-1]  # the first also loads what torch needs
    assert outcome.took >= 0.05 > outcome.seconds >= 0


@pytest.mark.parametrize(
    ("trials", "given", "pace"),
    [(2, {"workers": 1}, 1), (2, {"workers": 64}, 2), (40, {"workers": 64}, 16),
     (2, {"scheduler": "tcp://127.0.0.1:1"}, None)],
)  # fmt: skip
def test_the_bar_knows_how_many_work(trials, given, pace, monkeypatch):
    """No more than there are cores and trials; of a cluster that cannot be known."""
    shown = {}

    class Seen(progress.Bar):
        def __init__(self, label, expected, missing, *, workers, show):
            shown.update(expected=expected, missing=missing, workers=workers)
            super().__init__(label, expected, missing, workers=workers, show=show)

    monkeypatch.setattr(engine, "Bar", Seen)
    monkeypatch.setattr(engine, "outcomes", lambda *_: (one for one in ()))
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    with pytest.raises(KeyError):  # none of the trials was computed
        engine.run(toy.experiment(trials), **given, progress=False)
    assert shown == {"expected": trials, "missing": trials, "workers": pace}


def test_code_that_was_edited_meanwhile_is_not_recorded_as_what_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "_BEGAN", 0.0)
    message = r"toy\.py was changed after this process began: restart it to compute with the new code$"
    with pytest.raises(ValueError, match=message):
        engine.run(toy.experiment(1), folder=tmp_path, progress=False)
    assert not any(tmp_path.iterdir())


def test_two_runs_do_not_write_to_one_journal(tmp_path):
    message = r"toy\.sqlite: another run is writing to it; wait for it or stop it$"
    with journal.Journal(tmp_path / "toy.sqlite", write=True), pytest.raises(journal.JournalError, match=message):
        engine.run(toy.experiment(1), folder=tmp_path, progress=False)
    assert len(engine.run(toy.experiment(1), folder=tmp_path, progress=False)) == 2


# --- clusters ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # dask's own, when a worker is killed
def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(tmp_path, log):
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60}
    with distributed.LocalCluster(n_workers=2, **options) as cluster:
        address = cluster.scheduler_address
        rows = engine.run(_with_a_fatal_trial(log), folder=tmp_path, scheduler=address, progress=False)
    assert _computed(log).count(6) == 2 and len(_workers(log)) >= 2  # computed again, elsewhere
    assert rows == _serial(7)


def test_a_worker_with_other_code_is_found_out(tmp_path, monkeypatch):
    right = workers.compute
    monkeypatch.setattr(engine, "compute", lambda function, trial: right(function, trial)._replace(version="other"))
    with pytest.raises(RuntimeError, match="its worker has another version of the code; install the same one there$"):
        engine.run(toy.experiment(2), folder=tmp_path, progress=False)
    assert _recorded(tmp_path) == 0


@pytest.mark.parametrize(
    "address",
    ["foo", "", "127.0.0.1:8786", "tcp://127.0.0.1", "tcp://:8786", "tcp://a:b", "tcp://a:99999", "http://a:80", 8786],
)
def test_what_is_no_address_of_a_scheduler_is_refused_at_once(address, tmp_path):
    message = "^scheduler: expected an address like tcp://host:8786, with one of tcp, tls, ws, wss and a port, got "
    with pytest.raises(ValueError, match=message + re.escape(repr(address)) + "$"):
        engine.run(toy.experiment(1), folder=tmp_path, scheduler=address)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tls://[::1]:8786", "ws://host.example:1", "wss://a:80"])
def test_addresses_of_schedulers_are_accepted(address):
    workers.check_address(address)


@pytest.mark.parametrize("scheme", ["tcp", "tls"])  # where no one listens; without a certificate
def test_a_scheduler_that_does_not_answer_is_one_sentence(scheme):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # but does not listen
        address = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        code = f"engine.run(toy.experiment(1), scheduler={address!r}, progress=False)"
        code = f"try:\n    {code}\nexcept ValueError as error:\n    print(error)"
        code = f"from flatcube.experiments import engine\nfrom tests.experiments import toy\n{code}"
        found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(rf"scheduler: no dask scheduler answers at '{address}' \(.*\)\n", found.stdout)
    assert found.stderr == ""  # nor does dask complain when Python ends


# --- results ----------------------------------------------------------------------------------------------------------


def test_a_trial_that_fails_does_not_stop_the_others(tmp_path):
    experiment = toy.experiment(2, extra=(toy.Trial(-1),))
    with pytest.raises(RuntimeError, match=r"^toy: 1 of 3 trials failed, the others are kept; Trial\(n=-1.*, got -1$"):
        engine.run(experiment, folder=tmp_path, progress=False)
    assert _recorded(tmp_path) == 2


def test_a_row_that_cannot_be_recorded_fails_its_trial_only(tmp_path):
    with pytest.raises(RuntimeError, match=r"^toy: 1 of 3 trials failed, .*object is not JSON serializable$"):
        engine.run(toy.experiment(2, extra=(toy.Trial(2, odd=True),)), folder=tmp_path, progress=False)
    assert _recorded(tmp_path) == 2


def test_results_that_cannot_be_judged_are_not_published(tmp_path):
    def measured(rows):
        raise ValueError("rows: nothing to judge")

    experiment = dataclasses.replace(toy.experiment(2), measured=measured)
    engine.run(experiment, "book", folder=tmp_path, progress=False)
    with pytest.raises(ValueError, match="nothing to judge"):
        engine.export(experiment, folder=tmp_path, data=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_what_is_done_and_left_is_known(tmp_path):
    experiment = toy.experiment(3)
    assert [(s.done, s.left) for s in engine.status(experiment, folder=tmp_path)] == [(0, 3), (0, 3)]
    assert not any(tmp_path.iterdir())  # looking creates nothing
    engine.run(toy.experiment(2), folder=tmp_path, progress=False)
    assert [(s.scale, s.trials, s.done, s.left) for s in engine.status(experiment, folder=tmp_path)] == [
        ("live", 3, 2, 1.0), ("book", 3, 2, 1.0),
    ]  # fmt: skip
    assert engine.status(toy.experiment(1), folder=tmp_path)[-1][:3] == ("other", 1, 1)
    with journal.Journal(tmp_path / "toy.sqlite") as kept:
        spent = sum(record.seconds for record in kept.records().values())
    assert {one.spent for one in engine.status(experiment, folder=tmp_path)} == {spent} and spent > 0


def test_the_bar_counts_what_is_left(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    engine.run(toy.experiment(1), folder=tmp_path, progress=False)
    engine.run(toy.experiment(2, seconds=0.0), folder=tmp_path)
    said = capsys.readouterr().err
    assert "toy, 2 trials:  50 %" in said and "100 %" in said and "left" in said


def test_published_tables_carry_how_they_were_made_and_are_verified(tmp_path):
    experiment, data = toy.experiment(3), tmp_path / "data"
    with pytest.raises(ValueError, match=r"^toy: 3 of 3 trials of scale book are missing; flatcube run toy --sc"):
        engine.export(experiment, folder=tmp_path, data=data)
    rows = engine.run(experiment, "book", folder=tmp_path, progress=False)
    assert engine.export(experiment, folder=tmp_path, data=data) == len(rows) == 6
    stored = store.load("toy", folder=data)
    assert [float(row["value"]) for row in stored] == pytest.approx([row["value"] for row in rows], rel=1e-5)
    made = json.loads((data / "manifest.json").read_text())["toy.csv"]
    assert (made["scale"], made["trials"], made["seeds"]) == ("book", 3, [0, 1])
    assert made["config"]["n"] == [0, 1, 2]
    assert made["command"] == "flatcube run toy --scale book && flatcube export toy --scale book"
    assert {"python", "numpy", "torch"} <= made["versions"].keys() and "cores" in made["machine"]
    with journal.Journal(tmp_path / "toy.sqlite") as kept:
        records = kept.records().values()
    assert made["seconds"] == round(sum(record.seconds for record in records)) and made["machine"] == store.machine()
    assert made["ended"] == max(record.ended for record in records) and made["code"] == journal.code_version(toy.trial)
    table = data / "toy.csv"
    table.write_text(table.read_text().replace("0", "1", 1))
    with pytest.raises(ValueError, match=r"toy\.csv: its checksum is not the one in manifest\.json"):
        store.load("toy", folder=data)


def test_a_manifest_names_all_machines_and_the_last_end(tmp_path, monkeypatch):
    machines, ends = iter("baab"), iter(range(4))

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1, 12 - next(ends), tzinfo=tz)  # the first trial ends last

    monkeypatch.setattr(workers.store, "machine", lambda: next(machines, "c"))
    monkeypatch.setattr(journal, "datetime", Clock)
    engine.run(toy.experiment(3), "book", folder=tmp_path, progress=False)
    engine.export(toy.experiment(3), folder=tmp_path, data=tmp_path / "data")
    made = store.manifest(tmp_path / "data")["toy.csv"]
    assert (made["machine"], made["ended"]) == ("a; b", "2026-01-01T12:00:00+00:00")


def test_what_results_say_of_claims_is_published_with_them(tmp_path):
    def measured(rows):
        return [{"id": "HR-F1", "verdict": "agrees", "statement": f"{len(rows)} rows."}]

    experiment, data = dataclasses.replace(toy.experiment(3), measured=measured), tmp_path / "data"
    engine.run(experiment, "book", folder=tmp_path, progress=False)
    engine.export(experiment, folder=tmp_path, data=data)
    engine.export(experiment, folder=tmp_path, data=data)  # the second takes the place of the first
    (row,) = store.load("measured", folder=data)
    assert (row["id"], row["statement"], row["results"]) == ("HR-F1", "6 rows.", "data/toy.csv")
    assert row["command"] == "flatcube run toy --scale book && flatcube export toy --scale book"


def test_only_the_book_scale_is_published_as_the_book_has_it(tmp_path):
    def measured(rows):
        return [{"id": "HR-F1", "verdict": "agrees", "statement": f"{len(rows)} rows."}]

    experiment, data = dataclasses.replace(toy.experiment(3), measured=measured), tmp_path / "data"
    experiment = dataclasses.replace(experiment, grids=experiment.grids | {"live": experiment.grids["book"][:1]})
    for scale in ("book", "live"):
        engine.run(experiment, scale, folder=tmp_path, progress=False)
    assert engine.export(experiment, "live", folder=tmp_path, data=data) == 2
    assert sorted(path.name for path in data.iterdir()) == ["manifest.json", "toy-live.csv"]  # no verdicts
    engine.export(experiment, folder=tmp_path, data=data)
    book = {name: (data / name).read_bytes() for name in ("toy.csv", "measured.csv")}
    engine.export(experiment, "live", folder=tmp_path, data=data)
    assert book == {name: (data / name).read_bytes() for name in book}
    assert [len(store.load(name, folder=data)) for name in ("toy", "toy-live")] == [6, 2]
    made = store.manifest(data)
    assert (made["toy.csv"]["scale"], made["toy-live.csv"]["scale"]) == ("book", "live")
    assert made["toy-live.csv"]["command"] == "flatcube run toy --scale live && flatcube export toy --scale live"


@pytest.mark.parametrize("entries", [None, "{}", '{"toy.csv": {}}'])
def test_a_table_without_a_checksum_is_refused_unless_it_is_of_the_ledger(tmp_path, entries):
    for name in ("toy", "claims", "errata", "measured", "plan"):
        (tmp_path / f"{name}.csv").write_text("id\n1\n")
    if entries is not None:
        (tmp_path / "manifest.json").write_text(entries)
    with pytest.raises(ValueError, match=r"toy\.csv: its checksum is not in manifest\.json, so nothing says"):
        store.load("toy", folder=tmp_path)
    for name in ("claims", "errata", "measured", "plan"):
        assert store.load(name, folder=tmp_path) == [{"id": "1"}]


def test_tables_that_are_published_at_once_are_all_vouched_for(tmp_path):
    code = "from flatcube.experiments import store; import pathlib; [(store.save(f'{0}{{k}}', [{{'n': 1}}], "
    code += "command='made up', folder=pathlib.Path({1!r})), store.record({{'id': f'{0}{{k}}'}}, "
    code += "folder=pathlib.Path({1!r}))) for k in range(20)]"
    each = [[sys.executable, "-c", code.format(name, str(tmp_path))] for name in "ab"]
    for process in [subprocess.Popen(command) for command in each]:
        assert process.wait(timeout=60) == 0
    names = {f"{name}{k}" for name in "ab" for k in range(20)}
    assert set(store.manifest(tmp_path)) == {f"{name}.csv" for name in names}
    assert {row["id"] for row in store.load("measured", folder=tmp_path)} == names


def test_any_text_comes_back_from_a_table(tmp_path):
    rows = [{"text": "x\ny\u2028z, \"quoted\"", "n": 1}]
    store.save("toy", rows, command="made up", folder=tmp_path)
    assert store.load("toy", folder=tmp_path) == store.parsed(rows) == [{"text": rows[0]["text"], "n": "1"}]


@pytest.mark.parametrize("content", ["[]", "junk", '{"toy.csv": 1}'])
def test_a_manifest_that_is_none_is_one_sentence(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ValueError, match=r"manifest\.json: expected an object with an entry for each table \(.*\)$"):
        store.manifest(tmp_path)


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    store.save("toy", [{"n": 1}], command="made up", folder=tmp_path)

    def full(path, content):
        path.touch()
        raise OSError("no space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space left"):
        patch.setattr(Path, "write_bytes", full)
        store.save("toy", [{"n": 2}], command="made up", folder=tmp_path)
    assert store.load("toy", folder=tmp_path) == [{"n": "1"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "toy.csv"]


def test_every_stored_study_is_verified():
    for name, made in store.manifest(store.DATA).items():
        assert len(made["sha256"]) == 64 and store.load(name.removesuffix(".csv"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: engine.named("nothing"), "^name: expected one of sharper.*, got 'nothing'$"),
        (lambda: engine.run(toy.experiment(1), "huge"), "^scale: expected one of live, book, got 'huge'$"),
        (lambda: engine.run(toy.experiment(1), workers=0), "^workers: expected a whole number from 1 on, got 0$"),
        (lambda: store.load("nosuch"), "^name: expected one of brittle, claims, .*variants, got 'nosuch'$"),
        (lambda: store.load("toy", folder=Path("nowhere")), "^name: expected a table of nowhere, which has none, got"),
        (lambda: store.save("toy", [], command="none"), "^rows: expected at least one row for toy.csv, got none$"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
