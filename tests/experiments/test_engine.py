"""Experiments: nothing is lost, nothing is computed twice, and it does not matter where it is computed."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
import torch

from flatcube.experiments import engine, journal, progress, publish, store, workers
from tests.experiments import toy

ROOT = Path(__file__).parents[2]


def _recorded(folder: Path) -> int:
    with journal.Journal(folder / "toy.sqlite") as open_journal:
        return len(open_journal.records())


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


@contextmanager
def _process(*command: str) -> Iterator[subprocess.Popen]:
    """Python in a process and a session of its own."""
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs do not hear Ctrl-C
    options = {"stderr": subprocess.PIPE, "text": True}
    try:
        process = subprocess.Popen([sys.executable, *command], cwd=ROOT, start_new_session=True, **options)
    finally:
        signal.signal(signal.SIGINT, heard)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def started(request, tmp_path, log):
    """A run of thirty trials, after two of them were recorded: many, as a busy machine may look a second late."""
    count = str(getattr(request, "param", 2))
    with _process("-m", "tests.experiments.toy", str(tmp_path), str(log), count, "30", "0.1") as process:
        toy.until(lambda: _recorded(tmp_path) >= 2)
        yield process


# --- interruptions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("started", [1, 2], indirect=True, ids=["one worker", "two workers"])
def test_a_killed_run_loses_only_the_trials_in_flight_and_is_resumed(started, tmp_path, log):
    started.send_signal(signal.SIGKILL)
    started.wait()
    workers = toy.workers(log)
    toy.until(lambda: not any(map(toy.alive, workers)))  # they do not outlive the run
    kept, begun = _recorded(tmp_path), len(toy.computed(log))
    assert 2 <= kept < 30
    assert begun <= kept + max(1, len(workers))
    experiment = toy.experiment(30, seconds=0.1, log=log)
    for _ in range(2):
        rows = engine.run(experiment, folder=tmp_path, progress=False)
        assert len(toy.computed(log)) == begun + 30 - kept  # what was recorded is not computed again
    assert rows == toy.serial(30)


def test_runs_that_are_killed_again_and_again_come_to_an_end(tmp_path, log):
    """While trials are recorded without a pause, so that some kills come in the middle of that."""
    kept, count = 0, 150
    for kills, more in enumerate((20, 27, 34), 1):
        with _process("-m", "tests.experiments.toy", str(tmp_path), str(log), "1", str(count), "0") as process:
            toy.until(lambda wanted=kept + more: _recorded(tmp_path) >= wanted)
            process.kill()
            process.wait()
        assert _recorded(tmp_path) >= kept + more  # nothing is lost
        kept = _recorded(tmp_path)
        assert len(toy.computed(log)) <= kept + kills  # one in flight at each kill
    rows = engine.run(toy.experiment(count, log=log), folder=tmp_path, progress=False)
    assert rows == toy.serial(count)
    assert set(toy.computed(log)) == set(range(count)) and len(toy.computed(log)) <= count + 3


def test_ctrl_c_stops_cleanly(started, tmp_path, log):
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to the run and to its workers
    _, said = started.communicate(timeout=60)
    assert started.returncode != 0 and said.rstrip().endswith("KeyboardInterrupt") and said.count("Traceback") == 1
    assert not any(map(toy.alive, toy.workers(log)))
    assert 2 <= _recorded(tmp_path) < 30


@pytest.mark.parametrize("workers", [1, 2])
def test_five_ctrl_c_in_a_row_are_one(workers, tmp_path, log):
    (tmp_path / "_toc.yml").touch()
    command = ["--root", str(tmp_path), "run", "toy", "--workers", str(workers)]
    code = f"""
from flatcube import cli
from flatcube.experiments import engine
from tests.experiments import toy
engine.named = lambda name=None: [toy.experiment(50, seconds=0.2, log={str(log)!r})]
raise SystemExit(cli.main({command!r}))
"""
    with _process("-c", code) as process:
        toy.until(lambda: _recorded(tmp_path / "runs") >= 1)
        for _ in range(5):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.03)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said and "Exception" not in said
    assert said.endswith("Stopped; what is done is kept, and running again goes on from there.\n")
    assert not any(map(toy.alive, toy.workers(log)))
    assert 1 <= _recorded(tmp_path / "runs") < 50


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
@pytest.mark.parametrize(("room", "least"), [(0, 0), (6000, 0), (40_000, 1)])
def test_a_full_disk_is_one_sentence_and_loses_nothing(room, least, tmp_path, log):
    """A limit on the size of files stands for the disk's: writing beyond it is an error for any user."""
    code = f"""
import pathlib, resource
from flatcube.experiments import engine
from tests.experiments import toy
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
try:
    engine.run(toy.large(), folder=pathlib.Path({str(tmp_path)!r}), progress=False)
except RuntimeError as error:
    print(error)
"""
    options = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 60}
    found = subprocess.run([sys.executable, "-B", "-c", code], **options)
    said = r"journal .*toy\.sqlite(: .*toy\.lock cannot be used as a lock| cannot be opened or written) \(.*\)\n"
    assert re.fullmatch(said, found.stdout) and not found.stderr
    assert (tmp_path / "toy.sqlite").exists() == (least > 0) and least <= _recorded(tmp_path) < 20
    assert not list(tmp_path.glob("*.new*"))
    assert engine.run(toy.large(), folder=tmp_path, progress=False) == engine.run(toy.large(), progress=False)


def test_the_trial_of_a_local_worker_that_is_killed_is_computed_by_another(tmp_path, log):
    rows = engine.run(toy.with_a_fatal_trial(log), folder=tmp_path, workers=2, progress=False)
    assert toy.computed(log) == [0, 1, 2, 3, 4, 5, 6, 6]
    assert len({path.name.split("-")[1] for path in log.glob("6-*")}) == 2
    assert rows == toy.serial(7)


def test_a_trial_that_always_kills_its_worker_takes_no_other_with_it(tmp_path, log):
    deadly = toy.Trial(9, (0,), 0.0, str(log), deadly=True)
    experiment = dataclasses.replace(toy.experiment(5, log=log, extra=(deadly,)), cost=lambda trial: float(trial.n))
    message = r"^toy: 1 of 6 trials failed, the others are kept; Trial\(n=9.*: its worker process died 3 times$"
    with pytest.raises(RuntimeError, match=message):
        engine.run(experiment, folder=tmp_path, workers=2, progress=False)
    assert _recorded(tmp_path) == 5 and toy.computed(log).count(9) == 3


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
    monkeypatch.setattr(engine, "outcomes", lambda *_, **__: (one for one in ()))
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    with pytest.raises(KeyError):  # none of the trials was computed
        engine.run(toy.experiment(trials), **given, progress=False)
    assert shown == {"expected": trials, "missing": trials, "workers": pace}


def test_two_runs_do_not_write_to_one_journal(tmp_path):
    message = r"toy\.sqlite: another run is writing to it; wait for it or stop it$"
    with journal.Journal(tmp_path / "toy.sqlite", write=True), pytest.raises(journal.JournalError, match=message):
        engine.run(toy.experiment(1), folder=tmp_path, progress=False)
    assert len(engine.run(toy.experiment(1), folder=tmp_path, progress=False)) == 2


# --- versions ---------------------------------------------------------------------------------------------------------


def test_a_worker_with_another_version_is_found_out(tmp_path):
    (here,) = engine.named("initial")
    experiment = dataclasses.replace(here, version="2", grids={"live": here.trials("live")[:2]})
    with pytest.raises(RuntimeError, match=r"2 of 2 .* another version \(initial 1 instead of 2\); install the same"):
        engine.run(experiment, folder=tmp_path, progress=False)
    with journal.Journal(tmp_path / "initial.sqlite") as kept:
        assert not kept.records()


def test_a_worker_with_another_numpy_is_found_out(tmp_path, monkeypatch):
    right = store.versions()
    found = iter([right, right | {"numpy": "0.9"}])  # here, and where the trial is computed
    monkeypatch.setattr(store, "versions", lambda: next(found))
    with pytest.raises(RuntimeError, match=rf"\(numpy 0\.9 instead of {re.escape(right['numpy'])}\)"):
        engine.run(toy.experiment(1), folder=tmp_path, progress=False)
    assert _recorded(tmp_path) == 0


def test_what_another_version_computed_is_not_used(tmp_path, log):
    one = toy.experiment(2, log=log)
    two = dataclasses.replace(one, version="2")
    for experiment in (one, two, one):
        engine.run(experiment, folder=tmp_path, progress=False)
    assert toy.computed(log) == [0, 0, 1, 1]
    assert publish.status(two, folder=tmp_path)[-1][:3] == ("other", 2, 2)


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
        publish.export(experiment, folder=tmp_path, data=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_what_is_done_and_left_is_known(tmp_path):
    experiment = toy.experiment(3)
    assert [(s.done, s.left) for s in publish.status(experiment, folder=tmp_path)] == [(0, 3), (0, 3)]
    assert not any(tmp_path.iterdir())  # looking creates nothing
    engine.run(toy.experiment(2), folder=tmp_path, progress=False)
    assert [(s.scale, s.trials, s.done, s.left) for s in publish.status(experiment, folder=tmp_path)] == [
        ("live", 3, 2, 1.0), ("book", 3, 2, 1.0),
    ]  # fmt: skip
    assert publish.status(toy.experiment(1), folder=tmp_path)[-1][:3] == ("other", 1, 1)
    with journal.Journal(tmp_path / "toy.sqlite") as kept:
        spent = sum(record.seconds for record in kept.records().values())
    assert {one.spent for one in publish.status(experiment, folder=tmp_path)} == {spent} and spent > 0


def test_the_bar_counts_what_is_left(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    engine.run(toy.experiment(1), folder=tmp_path, progress=False)
    engine.run(toy.experiment(2, seconds=0.0), folder=tmp_path)
    said = capsys.readouterr().err
    assert "toy, 2 trials:  50 %" in said and "100 %" in said and "left" in said


def test_the_bar_keeps_its_ends_in_whatever_order_costs_are_added(capsys, monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    costs = [0.1 * n for n in range(5)]
    assert sum(costs) < sum(reversed(costs))
    engine.run(dataclasses.replace(toy.experiment(5), cost=lambda trial: costs[trial.n]))
    said = capsys.readouterr().err
    assert "toy, 5 trials:   0 %" in said and "100 %" in said and "-0 %" not in said


def test_published_tables_carry_how_they_were_made_and_are_verified(tmp_path):
    experiment, data = toy.experiment(3), tmp_path / "data"
    with pytest.raises(ValueError, match=r"^toy: 3 of 3 trials of scale book are missing; flatcube run toy --sc"):
        publish.export(experiment, folder=tmp_path, data=data)
    rows = engine.run(experiment, "book", folder=tmp_path, progress=False)
    assert publish.export(experiment, folder=tmp_path, data=data) == len(rows) == 6
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
    assert made["ended"] == max(record.ended for record in records) and made["version"] == "1"
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
    publish.export(toy.experiment(3), folder=tmp_path, data=tmp_path / "data")
    made = store.manifest(tmp_path / "data")["toy.csv"]
    assert (made["machine"], made["ended"]) == ("a; b", "2026-01-01T12:00:00+00:00")


def test_what_results_say_of_claims_is_published_with_them(tmp_path):
    def measured(rows):
        return [{"id": "HR-F1", "verdict": "agrees", "statement": f"{len(rows)} rows."}]

    experiment, data = dataclasses.replace(toy.experiment(3), measured=measured), tmp_path / "data"
    engine.run(experiment, "book", folder=tmp_path, progress=False)
    publish.export(experiment, folder=tmp_path, data=data)
    publish.export(experiment, folder=tmp_path, data=data)  # the second takes the place of the first
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
    assert publish.export(experiment, "live", folder=tmp_path, data=data) == 2
    assert sorted(path.name for path in data.iterdir()) == ["manifest.json", "toy-live.csv"]  # no verdicts
    publish.export(experiment, folder=tmp_path, data=data)
    book = {name: (data / name).read_bytes() for name in ("toy.csv", "measured.csv")}
    publish.export(experiment, "live", folder=tmp_path, data=data)
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
        assert len(made["sha256"]) == 64 and store.load(name.removesuffix(".csv"), partial=bool(store.missing(made)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: engine.named("nothing"), "^name: expected one of .*sharper.*, got 'nothing'$"),
        (lambda: engine.run(toy.experiment(1), "huge"), "^scale: expected one of live, book, got 'huge'$"),
        (lambda: engine.run(toy.experiment(1), workers=0), "^workers: expected a whole number from 1 on, got 0$"),
        (lambda: store.load("nosuch"), "^name: expected one of .*brittle, .*claims, .*variants, .*got 'nosuch'$"),
        (lambda: store.load("toy", folder=Path("nowhere")), "^name: expected a table of nowhere, which has none, got"),
        (lambda: store.save("toy", [], command="none"), "^rows: expected at least one row for toy.csv, got none$"),
    ],
)
def test_wrong_input_is_answered_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
