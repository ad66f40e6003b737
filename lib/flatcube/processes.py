"""Several processes at once: workers that end with their parent, locks that end with their holder, whole files."""

import math
import multiprocessing
import operator
import os
import pickle
import secrets
import signal
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

__all__ = ["outcomes", "apart", "heard_once", "locked", "draft", "replace"]

_ATTEMPTS = 3  # for an item whose worker process dies
_FAMILY = "FLATCUBE_FAMILY"  # in the environment of all that a worker has started, and of nothing else


# --- workers ----------------------------------------------------------------------------------------------------------


def outcomes(
    call: Callable[[Any], Any], items: list[Any], workers: int, *, family: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Every item with what ``call`` makes of it in a worker process, or with the error that it ended in, as they end.

    The workers end with this process, even if it is killed, and when the caller wants no more; with ``family``, so do
    the processes that they have started. A worker that dies is replaced, and its item tried again.
    """
    waiting, idle, busy = deque((item, 1) for item in items), [], {}
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                worker, (item, attempt) = idle.pop() if idle else _Worker(family), waiting.popleft()
                busy[worker.line] = worker, item, attempt
                worker.begin(call, item)
            for line in wait(list(busy)):
                worker, item, attempt = busy.pop(line)
                try:
                    answer = line.recv_bytes()
                except (EOFError, OSError):  # it is dead
                    worker.end()
                    if attempt < _ATTEMPTS:
                        waiting.append((item, attempt + 1))
                        continue
                    yield item, RuntimeError(f"its worker process died {_ATTEMPTS} times")
                    continue
                idle.append(worker)
                yield item, pickle.loads(answer)
    finally:
        with _undisturbed():
            for worker in (*idle, *(worker for worker, *_ in busy.values())):
                worker.end()


def apart(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """``function(*args, **options)`` in a process that ends with this one, as does all that it starts."""
    with closing(outcomes(operator.call, [partial(function, *args, **options)], 1, family=True)) as results:
        _, outcome = next(results)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


class _Worker:
    """A process that computes one item after the other."""

    def __init__(self, family: bool) -> None:
        self.line, theirs = multiprocessing.Pipe()
        self.family = secrets.token_hex(8) if family else None
        self.process = multiprocessing.get_context("spawn").Process(target=_work, args=(theirs, self.family))
        with _undisturbed():  # a process that starts here does not hear Ctrl-C either, which is for this one
            self.process.start()
        theirs.close()  # so that the line breaks if the process dies

    def begin(self, call: Callable[[Any], Any], item: Any) -> None:
        with suppress(OSError):  # it is dead already: its line says so
            self.line.send_bytes(pickle.dumps((call, item)))

    def end(self) -> None:
        self.line.close()
        self.process.terminate()
        self.process.join(10)
        self.process.kill()
        self.process.join()
        if self.family and self.process.exitcode not in (0, 1):  # it was killed, and could not end them itself
            _end_family(self.family)


@contextmanager
def heard_once() -> Iterator[None]:
    """Within, Ctrl-C that is pressed again within five seconds is not heard, so that what has begun to end can end."""
    last = -math.inf

    def hear(*_: object) -> None:
        nonlocal last
        if time.monotonic() - last > 5:
            last = time.monotonic()
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        heard = last > -math.inf  # then the program ends, which is not to be interrupted either
        signal.signal(signal.SIGINT, signal.SIG_IGN if heard else before)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let no Ctrl-C into the block; in another thread than the main one none comes anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


def _work(line: Connection, family: str | None) -> None:
    """In a new worker: leave Ctrl-C to the parent, compute what it sends, and end when it has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bars_without_semaphores()

    def end(*_: object) -> None:
        if family:
            _end_children()
        os._exit(1)

    def watch() -> None:
        multiprocessing.parent_process().join()
        end()

    if family:
        os.environ[_FAMILY] = family
        signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent has hung up
        while True:
            line.send_bytes(_answer(line.recv_bytes()))


def _bars_without_semaphores() -> None:
    """Give bars a lock of this process: their own is a semaphore of the system, which outlives a worker that is ended.

    Whoever only reads stored results has no tqdm, and needs none.
    """
    with suppress(ImportError):
        from tqdm import tqdm

        tqdm.set_lock(threading.RLock())


def _answer(task: bytes) -> bytes:
    """The outcome of a call, for which an error counts, as it travels."""
    try:
        call, item = pickle.loads(task)
        pickle.loads(travels := pickle.dumps(call(item)))
    except BaseException as error:
        try:
            pickle.loads(travels := pickle.dumps(error))
        except Exception:  # some errors cannot be put together again
            travels = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return travels


def _end_children() -> None:
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _end_family(mark: str) -> None:
    """End what a worker has left behind: it may be too busy to see that the worker is gone."""
    import psutil

    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(_FAMILY) == mark:
                process.kill()


# --- files ------------------------------------------------------------------------------------------------------------


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
        cure = "; delete it" if "not a database" in str(error) else ""
        raise kind(f"{path} cannot be used as a lock ({error}{cure})") from None
    return lock


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Another name for a file that takes its place once it is written, so that no one ever finds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        yield other
        os.replace(other, path)
    except OSError as error:
        raise OSError(f"{path} cannot be written ({error.strerror or error})") from None
    finally:
        other.unlink(missing_ok=True)


def replace(path: Path, content: bytes) -> None:
    """Write a file as a whole, or not at all."""
    with draft(path) as other:
        other.write_bytes(content)
