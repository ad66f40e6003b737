"""A place in which foreign code runs and harms nobody: namespaces and limits of the system, through `unshare`.

Inside there are Python, the packages and the book's library, to be read; an empty folder in memory, to be written; no
network, no other process, and no other file of this machine. What does not end is ended.
"""

from __future__ import annotations

import functools
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatcube import paths

__all__ = ["Limits", "Sandbox", "Silent", "refusal"]

UNSHARE = "unshare"
LONGEST = 8_000_000  # bytes of an answer
READY = 120  # seconds until Python has started there, on a busy machine
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")
JAIL = Path(__file__).with_name("jail.py")


class Silent(Exception):
    """The sandbox gave no answer, in time or at all; the message says which. It has ended."""


@dataclass(frozen=True)
class Limits:
    """What a submission may use."""

    seconds: float = 20  # for a cell, and for a call
    memory: int = 4 << 30  # bytes of addresses; PyTorch alone takes more than one gigabyte of them
    disk: int = 32 << 20  # bytes in its own folder
    processes: int = 16  # with threads
    cpu: int = 600  # seconds of a processor, in all


class Sandbox:
    """A process that executes cells and answers calls. `ask` raises `Silent` if it does not."""

    def __init__(self, limits: Limits, *, unsafe: bool = False, hidden: tuple[Path, ...] = ()) -> None:
        self.limits, self._rest = limits, b""
        self._place = tempfile.mkdtemp(prefix="flatcube-")
        given = {
            "place": "" if unsafe else self._place,
            "shown": _shown(),
            "hidden": _hidden(hidden),
            "library": str(paths.LIBRARY.parent),
            "user": 0 if unsafe or not _is_root() else 200_000_000 + os.getpid(),  # a number that nobody has
            "memory": limits.memory, "disk": limits.disk, "processes": limits.processes, "cpu": limits.cpu,
        }  # fmt: skip
        command = [sys.executable, "-I", str(JAIL), json.dumps(given)]
        self._process = subprocess.Popen(
            command if unsafe else [*_unshare(), *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            cwd=self._place if unsafe else "/", start_new_session=True, env=_environment(),
        )  # fmt: skip
        for pipe in (self._process.stdin, self._process.stdout):
            os.set_blocking(pipe.fileno(), False)
        try:
            said = self._answer(time.monotonic() + READY)
        except Silent as silent:
            self.close()
            raise OSError(f"the sandbox does not start ({silent})") from None
        except BaseException:
            self.close()
            raise
        if not said.get("ready"):
            self.close()
            raise OSError(f"the sandbox does not start ({str(said.get('refused', said))[:200]})")

    def ask(self, what: str, **rest: Any) -> dict[str, Any]:
        """The answer to a request, as it came: a dictionary, in which nothing is sure."""
        deadline = time.monotonic() + self.limits.seconds
        try:
            self._send(json.dumps({"ask": what} | rest).encode() + b"\n", deadline)
            return self._answer(deadline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End everything in there."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, 9)  # `unshare` ends, and with it the first process in there, and so all
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()
        shutil.rmtree(self._place, ignore_errors=True)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, data: bytes, deadline: float) -> None:
        while data:
            self._wait(self._process.stdin, selectors.EVENT_WRITE, deadline)
            try:
                data = data[os.write(self._process.stdin.fileno(), data[:65536]) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Silent("it has ended") from None

    def _answer(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._rest:
            self._wait(self._process.stdout, selectors.EVENT_READ, deadline)
            try:
                more = os.read(self._process.stdout.fileno(), 1 << 20)
            except BlockingIOError:
                continue
            self._rest += more
            if not more:
                raise Silent("it has ended: it may have used more memory than it is given")
            if len(self._rest) > LONGEST:
                raise Silent("it answers at too great a length")
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise Silent("what it says is no answer")
        return said

    def _wait(self, pipe: Any, event: int, deadline: float) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(pipe, event)
            if not waiting.select(max(0.0, deadline - time.monotonic())):
                raise Silent(f"it takes longer than {self.limits.seconds:g} s")


@functools.cache
def refusal() -> str:
    """Why this system gives no sandbox, in a few words; "" if it does."""
    if not sys.platform.startswith("linux"):
        return f"this system, {sys.platform}, has no namespaces"
    if not shutil.which(UNSHARE):
        return f"the program {UNSHARE} is missing"
    try:
        Sandbox(Limits()).close()
    except OSError as error:
        return str(error)
    return ""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _unshare() -> list[str]:
    user = [] if _is_root() else ["--user", "--map-root-user"]
    return [UNSHARE, *user, "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child=SIGKILL", "--"]


def _shown() -> list[str]:
    """What can be read inside: Python, its packages, the library and its data."""
    python = {sys.prefix, sys.base_prefix, *(path for path in sys.path if path.endswith("site-packages"))}
    found = [path for path in [*SYSTEM, *sorted(python)] if os.path.exists(path) and not os.path.islink(path)]
    return [*found, str(paths.LIBRARY), str(paths.DATA)]


def _hidden(wanted: tuple[Path, ...]) -> list[str]:
    """Of these folders those that would be seen inside, and hold nothing that has to be."""
    shown = [Path(path) for path in _shown()]
    found = [path.resolve() for path in wanted]
    seen = [path for path in found if any(path.is_relative_to(one) for one in shown)]
    return [str(path) for path in seen if not any(one.is_relative_to(path) for one in shown)]


def _environment() -> dict[str, str]:
    """Nothing of ours: it may hold secrets."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # Windows
    return {"PATH": os.defpath, "HOME": "/home", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"} | one | kept
