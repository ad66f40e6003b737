"""However the press ends, nothing that it started goes on."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from flatcube.press import execute
from tests.press.small import alive, command, number, until, write_chapter

BUSY = "import os\nopen('{0}', 'w').write(str(os.getpid()))\n"
ENDLESS = BUSY + "while True:\n    pass\n"
# Deaf to everything: a call that keeps Python's lock, so that not even another thread of the kernel can end it.
STUCK = BUSY + "import ctypes\nctypes.PyDLL(None).sleep(600)\n"


@pytest.fixture
def press(tmp_path: Path) -> Iterator[subprocess.Popen]:
    """`flatcube check` in a session of its own, when the kernels of both chapters have begun their endless cells."""
    write_chapter(tmp_path, "01-endless.md", ENDLESS.format("endless"))
    write_chapter(tmp_path, "02-stuck.md", STUCK.format("stuck"))
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs do not hear Ctrl-C
    try:
        options = {"start_new_session": True, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command(tmp_path, "check"), **options)
    finally:
        signal.signal(signal.SIGINT, heard)
    try:
        until(lambda: number(tmp_path / "chapters/endless") and number(tmp_path / "chapters/stuck"))
        yield process
    finally:
        family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.kill()
        process.communicate()
        for one in family:
            if alive(one):
                one.kill()


def family(process: subprocess.Popen) -> list[psutil.Process]:
    """All that it has started: two workers, their two kernels, and what keeps track of them."""
    found = psutil.Process(process.pid).children(recursive=True)
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_press_that_is_ended_takes_workers_and_kernels_with_it(press: subprocess.Popen, tmp_path: Path, kind: int):
    started = family(press)
    press.send_signal(kind)
    press.wait()
    until(lambda: not any(map(alive, started)), 30)
    assert not [path.name for path in (tmp_path / "_build/executed").iterdir() if path.suffix != ".trace"]
    for name in ("01-endless", "02-stuck"):
        assert not execute.is_fresh(tmp_path, tmp_path / f"chapters/{name}.md")


def test_ctrl_c_is_one_sentence_however_often_it_is_pressed(press: subprocess.Popen):
    started = family(press)
    for _ in range(5):
        os.killpg(press.pid, signal.SIGINT)  # as a terminal does: to all but the kernels, which are in none
        time.sleep(0.01)
    _, said = press.communicate(timeout=60)
    assert press.returncode == 130
    assert said.rstrip().endswith("Stopped; what is done is kept, and running again goes on from there.")
    assert "Traceback" not in said
    until(lambda: not any(map(alive, started)), 30)


@pytest.mark.parametrize(("killed", "spared"), [("endless", "stuck"), ("stuck", "endless")])
def test_a_worker_that_is_killed_takes_its_kernel_with_it_and_is_replaced(
    press: subprocess.Popen, tmp_path: Path, killed: str, spared: str
):
    kernel, other = (psutil.Process(number(tmp_path / "chapters" / name)) for name in (killed, spared))
    kernel.parent().kill()
    until(lambda: not alive(kernel), 30)
    until(lambda: number(tmp_path / "chapters" / killed) not in (0, kernel.pid))
    assert press.poll() is None and alive(other)
