"""Where trials are computed: in this process, in worker processes of this machine, or on a cluster.

On a cluster, a scheduler of dask.distributed hands out the same trials. The book must be installed on its workers, in
the same version, which is checked. With Slurm, dask-jobqueue starts the workers:

    from dask_jobqueue import SLURMCluster
    cluster = SLURMCluster(cores=1, processes=1, memory="4GB", walltime="04:00:00")
    cluster.scale(jobs=64)
    print(cluster.scheduler_address)  # for flatcube run NAME --scale paper --scheduler ADDRESS

Workers that die are replaced; their trials are computed again elsewhere. Each process computes one trial at a time, on
one thread, however many it may have.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from flatcube.experiments import store
from flatcube.experiments.journal import code_version

__all__ = ["Row", "Outcome", "Results", "check_address", "compute", "outcomes"]

Row = dict[str, Any]  # plain values by name

_ATTEMPTS = 3  # for a trial whose worker process dies
_ALONE = threading.Lock()  # torch's random numbers and threads belong to the process: one trial at a time in each
_SCHEMES = ("tcp", "tls", "ws", "wss")  # those of dask that reach another process


class Outcome(NamedTuple):
    """What a worker sends back."""

    rows: list[Row]
    seconds: float  # of processor time
    took: float  # seconds by the clock
    machine: str
    version: str


def compute(function: Callable[[Any], list[Row]], trial: Any, *, threads: int = 1) -> Outcome:
    """One trial on ``threads`` threads, while no other trial is computed in this process."""
    with _ALONE:
        return _computed(function, trial, threads)


def _computed(function: Callable[[Any], list[Row]], trial: Any, threads: int) -> Outcome:
    version = code_version(function)  # first: a file that is edited meanwhile is not what this process computes with
    torch = sys.modules.get("torch")  # the function's module has imported it, if it needs it
    before = torch.get_num_threads() if torch else 1
    started, clock = time.thread_time(), time.perf_counter()
    try:
        if torch:
            torch.set_num_threads(threads)
        rows = function(trial)
    finally:
        if torch:
            torch.set_num_threads(before)
    return Outcome(rows, time.thread_time() - started, time.perf_counter() - clock, store.machine(), version)


Results = Iterator[tuple[Any, Outcome | BaseException]]  # as they end


def outcomes(call: Callable[[Any], Outcome], trials: list[Any], workers: int, scheduler: str | None) -> Results:
    """Every trial with its outcome, or with the error that it ended in, as they end.

    One worker is this process; more are processes of their own; with ``scheduler`` they are those of a dask cluster.
    """
    if not trials or (workers == 1 and scheduler is None):
        return _here(call, trials)
    return _in_processes(call, trials, workers) if scheduler is None else _on_cluster(call, trials, scheduler)


def _here(call: Callable[[Any], Outcome], trials: list[Any]) -> Results:
    for trial in trials:
        try:
            outcome: Outcome | Exception = call(trial)
        except Exception as error:
            outcome = error
        yield trial, outcome


def _submitted(executor: Executor, call: Callable[[Any], Outcome], trials: list[Any]) -> Results:
    futures = {executor.submit(call, trial): trial for trial in trials}
    for future in as_completed(futures):
        try:
            error = future.exception()
        except CancelledError:
            error = RuntimeError("the cluster gave it up; is its scheduler still there?")
        yield futures[future], error or future.result()


def _in_processes(call: Callable[[Any], Outcome], trials: list[Any], workers: int) -> Results:
    waiting = deque(trials)
    while waiting:
        for trial in (yield from _until_one_dies(call, waiting, workers)):
            for _ in range(_ATTEMPTS - 1):
                alone = deque([trial])  # so that no other is blamed
                if not (yield from _until_one_dies(call, alone, 1)) and not alone:
                    break
            else:
                yield trial, RuntimeError(f"its worker process died {_ATTEMPTS} times")


def _until_one_dies(call: Callable[[Any], Outcome], waiting: deque, workers: int) -> Generator[Any, None, list[Any]]:
    """Take trials from the queue and yield their outcomes, until it is empty or a worker dies; return what was lost.

    No more are handed over than there are workers, so what is lost was being computed when one of them died.
    """
    flying: dict[Any, Any] = {}
    with _pool(workers) as executor:
        while waiting or flying:
            try:
                while waiting and len(flying) < workers:
                    with _deaf():
                        flying[executor.submit(call, waiting[0])] = waiting[0]
                    waiting.popleft()
            except BrokenProcessPool:
                if not flying:
                    return []  # a worker died that had nothing to do
            ended, _ = wait(flying, return_when=FIRST_COMPLETED)
            if any(isinstance(future.exception(), BrokenProcessPool) for future in ended):
                ended, _ = wait(flying)
            lost = [flying[future] for future in ended if isinstance(future.exception(), BrokenProcessPool)]
            for future in ended:
                trial, error = flying.pop(future), future.exception()
                if trial not in lost:
                    yield trial, error or future.result()
            if lost:
                return lost
    return []


@contextmanager
def _deaf() -> Iterator[None]:
    """Start no process that hears Ctrl-C: it is for this one, which hears it afterwards, and then ends the others."""
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    """Worker processes that end with the block, however it ends, and with this process, even if it is killed."""
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start, (os.getpid(),))
    try:
        yield executor
    except BaseException:  # also when the caller wants no more
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _start(parent: int) -> None:
    """In a new worker: leave Ctrl-C to the parent, and end when it has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def check_address(scheduler: str) -> None:
    """Refuse what cannot be the address of a scheduler; whether one answers there shows when it is called."""
    try:
        parts = urlsplit(scheduler)
        whole = parts.scheme in _SCHEMES and parts.hostname and parts.port  # the port is read as a number
    except (AttributeError, ValueError):
        whole = False
    if not whole:
        schemes = ", ".join(_SCHEMES)
        raise ValueError(
            f"scheduler: expected an address like tcp://host:8786, with one of {schemes} and a port, got {scheduler!r}"
        )


def _on_cluster(call: Callable[[Any], Outcome], trials: list[Any], scheduler: str) -> Results:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("scheduler: this needs the package distributed; install flatcube[cluster]") from None
    client = Client.__new__(Client)  # apart from its __init__, so that a client that fails there can be closed
    try:
        client.__init__(scheduler, timeout=10, set_as_default=False)
    except Exception as error:  # of many kinds: no connection, no certificate, another protocol
        client.close()  # or dask tries it when Python ends, waits, and complains
        why = " ".join(str(error).split())
        raise ValueError(f"scheduler: no dask scheduler answers at {scheduler!r} ({why})") from None
    with client:
        executor = client.get_executor(pure=False)
        try:
            yield from _submitted(executor, call, trials)
        finally:
            executor.shutdown(wait=False)  # takes back what is not done
