"""Where trials are computed: in this process, in worker processes of this machine, or on a cluster.

On a cluster, a scheduler of dask.distributed hands out the same trials. The book must be installed on its workers, in
the same version, which is checked; ``slurm`` starts some as jobs.

Dask sends pickles and asks no one who they are: whoever reaches the scheduler or a worker can run any code there. Use
it on a trusted network only, or with certificates (tls://, the settings ``distributed.comm.tls``).

Workers that die are replaced; their trials are computed again elsewhere, as are those that land on a worker that has
another version of the book. Each process computes one trial at a time, on one thread, however many it may have.
"""

import asyncio
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tqdm import tqdm

from flatcube import processes
from flatcube.experiments import store

__all__ = ["Row", "Unfit", "Outcome", "Results", "check_address", "compute", "outcomes"]

Row = dict[str, Any]  # plain values by name

_ALONE = threading.Lock()  # torch's random numbers and threads belong to the process: one trial at a time in each
_ANSWER = 10.0  # seconds in which a scheduler must answer
_PATIENCE = 15.0  # seconds after which a cluster without workers is told of
_MOVES = 3  # times that a trial is sent on, from a worker that does not fit to those that do
_TICK = 2.0  # seconds after which a cluster that sends nothing is looked at
_SCHEMES = ("tcp", "tls", "ws", "wss")  # those of dask that reach another process


class Unfit(RuntimeError):
    """A worker that has not what a trial needs, or has it in another version."""


class Outcome(NamedTuple):
    """What a worker sends back."""

    rows: list[Row]
    seconds: float  # of processor time
    took: float  # seconds by the clock
    machine: str


def compute(function: Callable[[Any], list[Row]], trial: Any) -> Outcome:
    """One trial on one thread, while no other trial is computed in this process."""
    torch = sys.modules.get("torch")  # the function's module has imported it, if it needs it
    with _ALONE:
        before = torch.get_num_threads() if torch else 1
        started, clock = time.thread_time(), time.perf_counter()
        try:
            if torch:
                torch.set_num_threads(1)
            rows = function(trial)
        finally:
            if torch:
                torch.set_num_threads(before)
        return Outcome(rows, time.thread_time() - started, time.perf_counter() - clock, store.machine())


Results = Iterator[tuple[Any, Outcome | BaseException]]  # as they end


def outcomes(
    call: Callable[[Any], Outcome],
    trials: list[Any],
    workers: int,
    scheduler: str | None,
    *,
    fit: Callable[[], None],
    wait: bool = True,
) -> Results:
    """Every trial with its outcome, or with the error that it ended in, as they end.

    One worker is this process; more are processes of their own; with ``scheduler`` they are those of a dask cluster. If
    that has no workers, this is told; then, unless it is to ``wait``, it is an error. A trial that lands on an unfit
    worker, where ``fit()`` raises an error, is sent on to those that fit, and fails if there are none; unless it is to
    ``wait`` for the others, that ends the run.
    """
    if not trials or (workers == 1 and scheduler is None):
        return _here(call, trials)
    if scheduler is None:
        return processes.outcomes(call, trials, workers)
    return _on_cluster(call, trials, scheduler, fit, wait)


def _here(call: Callable[[Any], Outcome], trials: list[Any]) -> Results:
    for trial in trials:
        try:
            outcome: Outcome | Exception = call(trial)
        except Exception as error:
            outcome = error
        yield trial, outcome


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


def _on_cluster(
    call: Callable[[Any], Outcome], trials: list[Any], scheduler: str, fit: Callable[[], None], wait: bool
) -> Results:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("scheduler: this needs the package distributed; install flatcube[cluster]") from None
    try:
        _greet(scheduler)  # a client would wait without end for a service that is none of dask's
        client = Client(scheduler, timeout=_ANSWER, set_as_default=False)
    except Exception as error:  # of many kinds: no connection, no certificate, another protocol
        why = " ".join(str(error).split()) or f"nothing came back in {_ANSWER:.0f} s"
        raise ValueError(f"scheduler: no dask scheduler answers at {scheduler!r} ({why})") from None
    with client:
        executor = client.get_executor(pure=False)
        try:
            # As pickles that are opened where they run: dask's workers die of those that they cannot open.
            send = lambda trial, **where: executor.submit(pickle.loads, pickle.dumps(_Later(call, trial)), **where)  # noqa: E731
            yield from _landed(trials, send, _Crew(client, scheduler, fit, wait), wait)
        finally:
            executor.shutdown(wait=False)  # takes back what is not done


def _greet(scheduler: str) -> None:
    """Exchange a few words with what listens at an address, as any two processes of dask do first."""
    from distributed.comm import connect
    from distributed.security import Security
    from distributed.utils import LoopRunner

    async def exchange() -> None:
        options = Security().get_connection_args("client")
        comm = await asyncio.wait_for(connect(scheduler, timeout=_ANSWER, **options), _ANSWER + 1)
        comm.abort()

    LoopRunner().run_sync(exchange)


class _Later:
    """Whoever opens the pickle of this has what the call returns, instead."""

    def __init__(self, call: Callable[..., Any], *given: Any) -> None:
        self.call, self.given = call, given

    def __reduce__(self) -> tuple[Callable[..., Any], tuple]:
        return self.call, self.given


class _Flight(NamedTuple):
    """A trial under way on a cluster."""

    trial: Any
    bound: frozenset[str] = frozenset()  # to these workers; to any, if empty
    moves: int = 0


def _landed(trials: list[Any], send: Callable[..., futures.Future], crew: "_Crew", wait: bool) -> Results:
    """The outcomes of trials on a cluster; whenever nothing comes for a while, it is looked at."""
    flying = {send(trial): _Flight(trial) for trial in trials}
    while flying:
        ended, _ = futures.wait(flying, _TICK, futures.FIRST_COMPLETED)
        for future in crew.stranded(flying) if not ended else ():
            trial, _, moves = flying.pop(future)
            future.cancel()
            flying[send(trial)] = _Flight(trial, moves=moves)
        for future in ended:
            (trial, _, moves), error = flying.pop(future), _error(future)
            if isinstance(error, Unfit):
                if not wait:
                    raise error
                if moves < _MOVES and (fit := crew.fit(error)):
                    flying[send(trial, workers=list(fit))] = _Flight(trial, fit, moves + 1)
                    continue
            yield trial, error or future.result()


def _error(future: futures.Future) -> BaseException | None:
    try:
        error = future.exception()
    except futures.CancelledError:
        return RuntimeError("the cluster gave it up; is its scheduler still there?")
    missing = isinstance(error, AttributeError) and "Can't get attribute" in str(error)  # a module of other code
    if isinstance(error, ImportError) or missing:
        return Unfit(f"its worker lacks something ({error}); install the same version of the book there")
    return error


class _Crew:
    """The workers of a cluster: which are there, which of them fit, and a word to the reader when there are none."""

    def __init__(self, client: Any, scheduler: str, fit: Callable[[], None], wait: bool) -> None:
        self.client, self.scheduler, self.wait = client, scheduler, wait
        self._check = pickle.dumps(_Later(fit))
        self._found: dict[str, BaseException | None] = {}  # by address: why it does not fit
        self._here: frozenset[str] | None = frozenset()
        self._seen, self._told = time.monotonic(), False

    def stranded(self, flying: dict[futures.Future, _Flight]) -> list[futures.Future]:
        """Called while nothing comes: looks whether all is well, and gives what is bound to workers that are gone."""
        self._look()
        here = self._here
        return [] if here is None else [f for f, flight in flying.items() if flight.bound and not flight.bound & here]

    def _look(self) -> None:
        """Tell once, or fail, when there have been no workers for a while."""
        here = self._ask()
        if here is None:  # it is gone, and then the trials will be given up, or it is stuck
            why = f"no answer from {self.scheduler!r} any more; is it still there?"
        else:
            why = "" if here else f"no worker is at {self.scheduler!r}; start some: dask worker {self.scheduler}"
        if not why:
            self._seen, self._told = time.monotonic(), False
        elif time.monotonic() - self._seen > _PATIENCE and not self._told:
            if not self.wait:
                raise RuntimeError(f"scheduler: {why}")
            tqdm.write(f"scheduler: {why} Waiting.", file=sys.stderr)
            self._told = True

    def fit(self, error: Unfit) -> frozenset[str]:
        """Those who fit, after one did not; this is told once."""
        here = self._ask() or frozenset()
        first = not self._found
        if new := here - self._found.keys():
            self._found |= self.client.run(pickle.loads, self._check, workers=list(new), on_error="return")
        fit = frozenset(worker for worker in here if self._found.get(worker, error) is None)
        if first and fit:
            unfit = f"{len(here) - len(fit)} of {len(here)} workers cannot compute this"
            tqdm.write(f"scheduler: {unfit}, the others take over: {error}", file=sys.stderr)
        return fit

    def _ask(self) -> frozenset[str] | None:
        """The addresses of the workers, or None if no answer comes."""
        try:
            scheduler = self.client.scheduler
            self._here = frozenset(self.client.sync(scheduler.ncores, workers=None, callback_timeout=_ANSWER))
        except OSError:
            self._here = None
        return self._here
