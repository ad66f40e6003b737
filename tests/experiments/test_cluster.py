"""Clusters: the same numbers as anywhere, and a sentence where they cannot be had."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from concurrent import futures
from pathlib import Path

import distributed
import pytest

from flatcube.experiments import engine, journal, workers
from tests.experiments import toy

ROOT = Path(__file__).parents[2]
LOCAL = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60, "host": "127.0.0.1"}

pytestmark = pytest.mark.filterwarnings("ignore")  # dask's own, when something is killed


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


def test_a_cluster_that_loses_a_worker_gives_the_same_numbers(tmp_path, log):
    with distributed.LocalCluster(n_workers=2, processes=True, **LOCAL) as cluster:
        address = cluster.scheduler_address
        rows = engine.run(toy.with_a_fatal_trial(log), folder=tmp_path, scheduler=address, progress=False)
    assert toy.computed(log).count(6) == 2 and len(toy.workers(log)) >= 2  # computed again, elsewhere
    assert rows == toy.serial(7)


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


# --- where a client of dask would wait without a word -----------------------------------------------------------------


@pytest.fixture
def hasty(monkeypatch):
    """Without patience, so that no test takes long; what it is otherwise, is enough and not too much."""
    assert workers._PATIENCE >= 10 and workers._PATIENCE + workers._ANSWER + workers._TICK < 30
    monkeypatch.setattr(workers, "_PATIENCE", 1.0)
    monkeypatch.setattr(workers, "_TICK", 0.2)


@pytest.fixture
def empty(hasty):
    """A cluster without workers."""
    with distributed.LocalCluster(n_workers=0, processes=False, protocol="tcp", **LOCAL) as cluster:
        yield cluster


@contextlib.contextmanager
def _worker(cluster: distributed.LocalCluster, folder: Path):
    """A worker that no one replaces, in a process of its own that has only ``folder`` to import from."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
    command += ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    paths = os.pathsep.join([str(Path(engine.__file__).parents[2]), str(folder)])
    others = len(cluster.scheduler.workers)
    process = subprocess.Popen(command, cwd=folder, env=os.environ | {"PYTHONPATH": paths}, stderr=subprocess.DEVNULL)
    try:
        toy.until(lambda: len(cluster.scheduler.workers) > others)
        yield process
    finally:
        process.kill()
        process.wait()


def _kept(folder: Path) -> int:
    with journal.Journal(folder / "toy.sqlite") as kept:
        return len(kept.records())


def test_a_cluster_without_workers_is_told_of(empty, tmp_path):
    message = rf"^scheduler: no worker is at '{empty.scheduler_address}'; start some: dask worker tcp://"
    with pytest.raises(RuntimeError, match=message):
        engine.run(toy.experiment(2), folder=tmp_path, scheduler=empty.scheduler_address, wait=False, progress=False)


def test_a_run_waits_for_workers_to_come(empty, tmp_path, capsys):
    told, found = [], []

    def run() -> None:
        where = {"folder": tmp_path, "scheduler": empty.scheduler_address}
        found.extend(engine.run(toy.experiment(3), **where, progress=False))

    def said() -> bool:
        told.append(capsys.readouterr().err)
        return "no worker is at" in "".join(told)

    thread = threading.Thread(target=run)
    thread.start()
    toy.until(said)
    empty.scale(1)
    thread.join(60)
    assert found == toy.serial(3)
    assert "".join([*told, capsys.readouterr().err]).count("no worker is at") == 1  # it is told once


def test_workers_that_have_all_died_are_told_of(empty, tmp_path, log):
    where = {"folder": tmp_path, "scheduler": empty.scheduler_address, "wait": False, "progress": False}
    longer = toy.experiment(1, log=log, extra=(toy.Trial(1, seconds=600, log=str(log)),))

    def kill() -> None:
        try:
            toy.until(lambda: 1 in toy.computed(log))
        finally:
            process.kill()

    with _worker(empty, ROOT) as process:
        engine.run(toy.experiment(1, log=log), **where)
        thread = threading.Thread(target=kill)
        thread.start()
        with pytest.raises(RuntimeError, match="^scheduler: no worker is at"):
            engine.run(longer, **where)
        thread.join()
    assert toy.computed(log) == [0, 1] and _kept(tmp_path) == 1  # what was done before is kept


def test_a_worker_without_the_code_is_told_of_and_survives(empty, tmp_path, capsys):
    where = {"folder": tmp_path, "scheduler": empty.scheduler_address, "progress": False}
    said = r"its worker lacks something \(No module named 'tests'\); install the same version of the book there"
    with _worker(empty, tmp_path) as process:
        with pytest.raises(RuntimeError, match=f"^toy: 3 of 3 trials failed, the others are kept; .*Unfit: {said}$"):
            engine.run(toy.experiment(3), **where)
        assert len(re.findall(f"^toy: a trial failed .*: {said}", capsys.readouterr().err, re.MULTILINE)) == 1
        with pytest.raises(RuntimeError, match=f"^{said}$"):
            engine.run(toy.experiment(3), **where, wait=False)
        assert process.poll() is None


def test_others_compute_what_a_worker_without_the_code_cannot(empty, tmp_path, log, capsys):
    """One of three workers lacks the code, the first that fits dies of a trial, the third finishes."""
    where = {"folder": tmp_path, "scheduler": empty.scheduler_address, "progress": False}
    with _worker(empty, tmp_path) as unfit, _worker(empty, ROOT), _worker(empty, ROOT):
        rows = engine.run(toy.with_a_fatal_trial(log), **where)
        assert unfit.poll() is None and len(empty.scheduler.workers) == 2
    assert rows == toy.serial(7) and toy.computed(log).count(6) == 2
    said = r"^scheduler: 1 of [23] workers cannot compute this, the others take over: its worker lacks something "
    assert len(re.findall(said, capsys.readouterr().err, re.MULTILINE)) == 1


class Crew:
    """Workers of which the test says what happens to them; the trials are numbers."""

    def __init__(self, *, fit: bool = True, gone: bool = False) -> None:
        self.found, self.gone, self.sent = frozenset(["a"] if fit else []), gone, []

    def send(self, trial: int, **where: list[str]) -> futures.Future:
        self.sent.append(where)
        future = futures.Future()
        if not where:
            future.set_exception(workers.Unfit("no"))
        elif not self.gone:
            future.set_result(trial * trial)
        return future

    def fit(self, error: Exception) -> frozenset[str]:
        return self.found

    def stranded(self, flying: dict) -> list[futures.Future]:
        return [future for future, flight in flying.items() if flight.bound]


@pytest.mark.parametrize(
    ("state", "ends", "sent"), [({}, 9, "-a"), ({"fit": False}, None, "-"), ({"gone": True}, None, "-a-a-a-")]
)
def test_a_trial_is_sent_on_a_few_times_at_most(hasty, state, ends, sent):
    """Between any worker (-), which does not fit, and the one that does (a), also if that one is always gone."""
    crew = Crew(**state)
    [(trial, found)] = workers._landed([3], crew.send, crew, wait=True)
    assert trial == 3 and (isinstance(found, workers.Unfit) if ends is None else found == ends)
    assert "".join("".join(where.get("workers", "-")) for where in crew.sent) == sent


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["mute", "answering"])
def test_another_service_is_not_taken_for_a_scheduler(monkeypatch, tmp_path, reply):
    monkeypatch.setattr(workers, "_ANSWER", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):  # until the server is closed
                while True:
                    connection, _ = server.accept()
                    connection.sendall(reply)
                    held.append(connection)

        held: list[socket.socket] = []
        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ValueError, match=rf"^scheduler: no dask scheduler answers at '{address}' \(.+\)$"):
            engine.run(toy.experiment(1), folder=tmp_path, scheduler=address, progress=False)
    for connection in held:
        connection.close()
