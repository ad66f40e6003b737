"""Fair timing: every arm in a process of its own, all arms taking turns, the best of several rounds.

An *arm* is a function ``prepare(case)`` that builds its data and returns the call to be timed, or None if the case is
not for it. Processes keep the threads of one package from disturbing another, turns spread the noise of the machine
evenly, and the minimum is what is left when the noise is away.
"""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

Prepare = Callable[[Hashable], Callable[[], object] | None]


class Time(NamedTuple):
    """Seconds on the clock, and seconds of all cores together."""

    wall: float
    cpu: float


class Arm:
    """A process that runs one arm on demand."""

    def __init__(self, prepare: Prepare) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(prepare, theirs), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process ends our waiting for it

    def ask(self, *question: Hashable) -> object:
        """The answer of the process; RuntimeError in one line if its package is missing or fails."""
        try:
            self.pipe.send(question)
            error, answer = self.pipe.recv()
        except (EOFError, OSError):
            error, answer = "the process died", None
        if error:
            raise RuntimeError(error)
        return answer

    def close(self) -> None:
        self.pipe.close()
        self.process.join()


def race(
    arms: dict[str, Prepare], cases: Sequence[Hashable], *, rounds: int, patience: float
) -> tuple[dict[tuple[str, Hashable], Time], dict[str, str]]:
    """The best Time by (arm, case), and by arm the reason why it could not run.

    An arm sits out the remaining rounds of a case when it has spent ``patience`` seconds on it.
    """
    running, times, absent = {name: Arm(prepare) for name, prepare in arms.items()}, {}, {}
    for case in cases:
        spent = {}
        for name in running.keys() - absent.keys():
            try:
                if running[name].ask("prepare", case):
                    running[name].ask("run")  # not counted: compiles, fills caches
                    spent[name] = 0.0
            except RuntimeError as error:
                absent[name] = str(error)
        for _ in range(rounds):
            for name in arms:
                if name in spent and spent[name] < patience:
                    found = running[name].ask("run")
                    best = times.get((name, case), found)
                    times[name, case] = Time(min(best.wall, found.wall), min(best.cpu, found.cpu))
                    spent[name] += found.wall
    for arm in running.values():
        arm.close()
    return times, absent


def memory(prepare: Prepare, small: Hashable, case: Hashable) -> int:
    """The bytes by which one call raises the peak of its process, after a small call that loads what it needs."""
    arm = Arm(prepare)
    try:
        for question in [("prepare", small), ("run",), ("prepare", case)]:
            arm.ask(*question)
        return arm.ask("memory")
    finally:
        arm.close()


def ratio(times: dict[tuple[str, Hashable], Time], name: str, case: Hashable, clock: str = "wall") -> float | None:
    """The time of an arm divided by flatcube's; None if one of them was not measured."""
    if (name, case) not in times or ("flatcube", case) not in times:
        return None
    return getattr(times[name, case], clock) / getattr(times["flatcube", case], clock)


def judge(subject: str, value: float | None, *, least: float | None = None, most: float | None = None) -> bool | None:
    """Whether a target is met, None if nothing was measured; what is not met is printed."""
    if value is None:
        print(f"not measured: {subject}")
        return None
    met = (least is None or value >= least) and (most is None or value <= most)
    if not met:
        target = f"at least {least:.3g}" if most is None else f"at most {most:.3g}"
        print(f"missed: {subject}: {value:.3g}, target {target}")
    return met


def show(
    times: dict[tuple[str, Hashable], Time], absent: dict[str, str], arms: Iterable[str], heads: dict[Hashable, str]
) -> None:
    """Print the ratios of all arms, a row each, and our own milliseconds: on the clock, then in processor time."""
    for clock, title in (("wall", "on the clock"), ("cpu", "processor time")):
        print(f"{title:22}" + "".join(f"{head:>12}" for head in heads.values()))
        for name in arms:
            ratios = "".join(f"{short(ratio(times, name, case, clock)):>12}" for case in heads)
            print(f"{name:22}" + (f"  not measured: {absent[name]}" if name in absent else ratios))
        ours = (getattr(times["flatcube", case], clock) * 1e3 for case in heads)
        print(f"{'flatcube, ms':22}" + "".join(f"{short(ms):>12}" for ms in ours) + "\n")


def judge_all(
    times: dict[tuple[str, Hashable], Time],
    targets: Iterable[tuple[str, Iterable[Hashable], float]],
    heads: dict[Hashable, str],
) -> list[bool | None]:
    """The verdicts on targets (arm, cases, smallest ratio)."""
    return [
        judge(f"{name} at {heads[case]}, ratio", ratio(times, name, case), least=least)
        for name, cases, least in targets
        for case in cases
    ]


def conclusion(verdicts: Sequence[bool | None]) -> str:
    """One sentence on the targets of all subjects."""
    missed, unmeasured = (sum(verdict is kind for verdict in verdicts) for kind in (False, None))
    if missed:
        return f"Missed: {missed} of {len(verdicts)} targets; on a busy machine, try again."
    if unmeasured:
        return f"Not measured: {unmeasured} of {len(verdicts)} targets; what was measured is met."
    return "All targets met."


def short(value: float | None) -> str:
    """A number in a few characters."""
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _serve(prepare: Prepare, pipe: Connection) -> None:
    call = None
    while True:
        try:
            question, *case = pipe.recv()
        except EOFError:
            return
        try:
            if question == "prepare":
                call = None  # the data of the last case go first
                call = prepare(*case)
                answer = call is not None
            else:
                answer = {"run": _time, "memory": _growth}[question](call)
            pipe.send((None, answer))
        except Exception as error:
            pipe.send((f"{type(error).__name__}: {error}".partition("\n")[0], None))


def _time(call: Callable[[], object]) -> Time:
    """The mean over as many calls as fill a hundredth of a second, at least one."""
    calls, spent, start = 0, 0.0, time.process_time()
    while spent < 0.01:
        before = time.perf_counter()
        result = call()
        spent += time.perf_counter() - before
        del result  # giving memory back is not part of the time
        calls += 1
    return Time(spent / calls, (time.process_time() - start) / calls)


def _growth(call: Callable[[], object]) -> int:
    before = _peak()
    call()
    return _peak() - before


def _peak() -> int:
    """The most bytes that this process has ever held."""
    if os.name == "nt":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
