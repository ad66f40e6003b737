"""Many calls with one wrong argument each, in child processes whose time and memory are limited."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import json
import math
import os
import select
import signal
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from flatcube import checks
from tests.fuzz import judge
from tests.fuzz.mutate import KEYWORDS, Mutation, mutations
from tests.fuzz.record import Arguments, Door

__all__ = ["Case", "Outcome", "plan", "run"]

SECONDS = 5  # of the processor, for one call
AGAIN = 12  # times as long: what a call that seems to hang gets alone, since work that ends is none on a slow machine
PATIENCE = 300  # seconds on the clock, for a call that waits
MEMORY = 2 << 30  # bytes beyond what the process has when it is forked
SLOW = 3  # seconds: a call that takes longer when nothing is wrong with it is not repeated; the slowest takes 0.2
_RIGHT = Mutation("as recorded", lambda value: value)


class Case(NamedTuple):
    """A call of a door in which one argument is changed."""

    door: Door
    arguments: Arguments
    argument: str
    mutation: Mutation


class Outcome(NamedTuple):
    case: Case
    verdict: str
    detail: str
    seconds: float


def plan(doors: list[Door], count: int, seed: int) -> list[Case]:
    """``count`` cases or all there are: every door in turn, its cases in a random order.

    The order of two cases depends on them and ``seed`` alone, so a machine that recorded other calls besides tries the
    same.
    """
    recorded = [Case(door, arguments, "", _RIGHT) for door in doors for arguments in door.calls.values()]
    usable = [o.case for o in run(recorded) if o.verdict == "fine" and o.seconds < SLOW]
    queues: dict[str, list[tuple[bytes, int, Case]]] = {}
    for recorded, case in enumerate(usable):
        queue = queues.setdefault(case.door.name, [])
        queue.extend((_place(changed, seed), recorded, changed) for changed in _changed(case))
    for queue in queues.values():
        queue.sort(key=lambda entry: entry[:2], reverse=True)
    chosen = []
    while len(chosen) < count and any(queues.values()):
        chosen += [queue.pop()[-1] for queue in queues.values() if queue]
    return chosen[:count]


def _place(case: Case, seed: int) -> bytes:
    kinds = [(name, type(value).__name__) for name, value in case.arguments.items()]
    return hashlib.blake2b(f"{seed} {kinds} {case.argument} {case.mutation.label}".encode()).digest()


def _changed(case: Case) -> Iterator[Case]:
    for name, value in case.arguments.items():
        parameter = case.door.signature.parameters[name]
        options = parameter.kind is parameter.VAR_KEYWORD
        text = KEYWORDS if options else inspect.formatannotation(parameter.annotation)
        optional = parameter.default is None or parameter.annotation is parameter.empty or "None" in text
        if name != "self" and not (options and not value):
            for mutation in mutations(name, value, text, optional or "Any" in text or "object" in text):
                yield case._replace(argument=name, mutation=mutation)


def run(cases: list[Case]) -> list[Outcome]:
    """What came of the cases, one after the other. A child that is killed costs its case only.

    An argument that made its door hang twice is not tried again.
    """
    outcomes, left = [], list(cases)
    while left:
        done = _batch(left)
        if done[-1].verdict == "hang":
            done[-1:] = _batch([done[-1].case], AGAIN * SECONDS)
        outcomes, left = outcomes + done, left[len(done) :]
        if done[-1].verdict == "hang":
            hung = Counter((o.case.door.name, o.case.argument) for o in outcomes if o.verdict == "hang")
            left = [case for case in left if hung[case.door.name, case.argument] < 2]
    return outcomes


def _batch(cases: list[Case], seconds: int = 0) -> list[Outcome]:
    """The outcomes of the cases, each within ``seconds`` of the processor, up to the first one that kills the child."""
    source, sink = os.pipe()
    if (child := os.fork()) == 0:
        os.close(source)
        with contextlib.suppress(BaseException):
            _serve(cases, sink, seconds or SECONDS)
        os._exit(0)
    os.close(sink)
    lines, waiting = b"", True
    with open(source, "rb", buffering=0) as pipe:
        while waiting:
            ready, _, _ = select.select([pipe], [], [], PATIENCE)
            if not ready:
                os.kill(child, signal.SIGKILL)
            part = pipe.read(1 << 16) if ready else b""
            lines, waiting = lines + part, bool(part)
    _, status = os.waitpid(child, 0)
    found = [Outcome(case, *json.loads(line)) for case, line in zip(cases, lines.splitlines(), strict=False)]
    if len(found) < len(cases):
        stopped = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        found.append(Outcome(cases[len(found)], "hang" if stopped else "crash", f"status {status}", math.inf))
    return found


def _serve(cases: list[Case], sink: int, seconds: int) -> None:
    import resource

    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    _limit(resource)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    for case in cases:
        start = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(start) + seconds, hard))
        verdict, detail = _outcome(case)
        line = json.dumps([verdict, detail[:500], time.process_time() - start])
        os.write(sink, line.encode() + b"\n")


def _limit(resource: Any) -> None:
    """Limit the memory where the system can; the library, which asks how much is free, hears of the limit."""
    checks._free = lambda: MEMORY // 2
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _outcome(case: Case) -> tuple[str, str]:
    arguments = copy.deepcopy(case.arguments)
    if case.argument:
        arguments[case.argument] = case.mutation.change(arguments[case.argument])
    bound = inspect.BoundArguments(case.door.signature, arguments)
    return judge.judge(
        lambda: case.door.function(*bound.args, **bound.kwargs),
        argument=case.argument,
        nonsense=case.mutation.nonsense,
        typed=case.mutation.typed,
    )
