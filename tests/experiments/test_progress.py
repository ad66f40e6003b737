"""The progress bar of an experiment."""

import io
import re
import sys
import threading
import time

import pytest

from flatcube.experiments.progress import Bar
from tests.experiments.toy import until

TICKED = re.compile(r"00:(?!00)(\d\d), 00:(\d\d) left")  # on a busy machine some seconds late


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def bar(monkeypatch):
    """`bar(missing, workers)`: a bar over 100 expected seconds, in a terminal."""
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)

    def made(missing: float, workers: int | None, show: bool = True) -> Bar:
        monkeypatch.setattr(sys, "stderr", Terminal())
        return Bar("toy", 100, missing, workers=workers, show=show)

    return made


def test_the_time_left_is_known_before_a_trial_has_ended(bar):
    with bar(80, 2) as some:
        assert some.left(0.0) == 40 and some.left(30.0) == 10 and some.left(50.0) == 0
        assert str(some).startswith("toy:  20 % |") and str(some).endswith("| 00:00, 00:40 left")


def test_trials_that_take_longer_than_expected_stretch_it(bar):
    with bar(80, 2) as some:
        some.ended(20, 30)
        assert some.left(15.0) == 80 * 1.5 / 2 - 15
        some.ended(20, 20)
        assert some.left(25.0) == 80 * 50 / 40 / 2 - 25
        some.ended(40, 4000)
        assert some.left(26.0) == 0


def test_on_a_cluster_it_goes_by_how_fast_trials_ended(bar):
    with bar(80, None) as some:
        assert some.left(10.0) is None and str(some).endswith(", ? left")
        some.ended(20, 1000)
        assert some.left(5.0) == 60 * 5 / 20


def test_it_ticks_while_a_trial_runs_and_not_after(bar):
    with bar(80, 2):
        until(lambda: TICKED.search(sys.stderr.getvalue()))
    said = sys.stderr.getvalue()
    assert "00:00, 00:40 left" in said and sum(map(int, TICKED.search(said).groups())) in (39, 40)  # it is rounded
    assert not any(thread.name.endswith("(_tick)") for thread in threading.enumerate())
    time.sleep(1.2)
    assert sys.stderr.getvalue() == said


def test_a_log_does_not_see_every_second(bar, monkeypatch):
    monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with bar(80, 2):
        time.sleep(1.3)
    assert "00:01" not in sys.stderr.getvalue().rpartition("\r")[0]


def test_stored_notebooks_and_quiet_runs_have_none(bar, monkeypatch):
    for show in (False, True):
        with bar(80, 2, show) as some:
            some.ended(80, 1)
            assert some.left(0.5) in (0.0, 39.5)  # what is not shown need not count
        assert sys.stderr.getvalue() == ""
        monkeypatch.setenv("FLATCUBE_PRESS", "1")
