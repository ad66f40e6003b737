"""What only some systems have is asked for before it is used: the library is to run on all of them."""

import ast
from collections.abc import Iterator

import pytest

from flatcube import paths

# Missing on Windows; the first also on macOS.
SOME = {
    "os": {"sched_getaffinity", "sysconf", "fork", "forkpty", "getuid", "geteuid", "getgid", "getloadavg", "getpgid"}
    | {"killpg", "setsid", "setpgid", "setpgrp", "nice", "mkfifo", "openpty", "pipe2", "uname", "wait3", "wait4"},
    "signal": {"SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGSTOP", "SIGCONT"}
    | {"alarm", "setitimer", "pthread_kill", "pthread_sigmask", "sigwait"},
}
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def careless(source: str) -> Iterator[str]:
    """Every use of such a name in a function (or outside of all) that neither asks whether it is there nor catches."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    careful = {inner for function in functions if _asks(function) for inner in ast.walk(function)}
    for node in ast.walk(tree):
        match node:
            case _ if node in careful:
                continue
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in MODULES)
            case ast.ImportFrom(module=name) if name in MODULES:
                yield name
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in SOME.get(module, ()):
                yield f"{module}.{name}"
            case ast.Constant(value=str(text)) if text.startswith("/proc/"):
                yield text


def _asks(function: ast.FunctionDef) -> bool:
    calls = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    catches = any(isinstance(node, ast.ExceptHandler) for node in ast.walk(function))
    return catches or not calls.isdisjoint({"hasattr", "suppress", "contextlib.suppress"})


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\ndef f():\n    return os.sysconf('SC_PAGE_SIZE')", ["os.sysconf"]),
        ("def f():\n    try:\n        os.sysconf('SC_PAGE_SIZE')\n    except AttributeError:\n        pass", []),
        ("def f():\n    return os.fork() if hasattr(os, 'fork') else 0", []),
        ("def f():\n    with suppress(OSError):\n        return open('/proc/meminfo')", []),
        ("import fcntl", ["fcntl"]),
        ("from resource import getrusage", ["resource"]),
        ("signal.signal(signal.SIGHUP, end)", ["signal.SIGHUP"]),
        ("signal.signal(signal.SIGTERM, end)", []),
        ("open('/proc/meminfo')", ["/proc/meminfo"]),
    ],
)
def test_careless_uses_are_found(source, found):
    assert list(careless(source)) == found


def test_the_library_is_careful():
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(paths.LIBRARY.rglob("*.py"))}
    assert len(sources) > 50
    assert {str(path): list(careless(text)) for path, text in sources.items() if list(careless(text))} == {}
