"""A progress bar for trials of minutes: it ticks while they run, and knows from the start how long they may take."""

import os
import sys
import threading

from tqdm import tqdm

__all__ = ["Bar"]


class Bar(tqdm):
    """Counts expected seconds of one core instead of trials: ``expected`` in all, of which ``missing`` are to be done.

    The time left is that of the missing seconds on all ``workers``, longer or shorter in the ratio in which the trials
    that ended took longer or shorter than expected, less the time since the start. With None workers (a cluster, which
    may grow) it goes by how fast trials ended so far.
    """

    def __init__(self, label: str, expected: float, missing: float, *, workers: int | None, show: bool = True) -> None:
        self.missing, self.workers, self.spent = missing, workers, 0.0
        self.initial = expected - missing  # also of a bar that is not shown
        self._over, self._ticker = threading.Event(), threading.Thread(target=self._tick, daemon=True)
        shown = show and "FLATCUBE_PRESS" not in os.environ  # stored notebooks carry no progress bars
        form = "{desc}: {percentage:3.0f} % |{bar}| {elapsed}, {left} left"
        super().__init__(total=expected, initial=expected - missing, disable=not shown, desc=label, bar_format=form)

    def ended(self, expected: float, took: float) -> None:
        """A trial ended that was ``expected`` to take so many seconds, and ``took`` so many by the clock."""
        self.spent += took
        self.update(expected)

    def left(self, elapsed: float) -> float | None:
        """Seconds until the end, after ``elapsed`` seconds; None while they cannot be known."""
        done = self.n - self.initial
        if done >= self.missing:
            return 0.0
        if self.workers is None:
            return (self.missing - done) * elapsed / done if done else None
        ratio = self.spent / done if done else 1.0
        return max(0.0, self.missing * ratio / self.workers - elapsed)

    @property
    def format_dict(self) -> dict:
        """What tqdm puts into the bar's format, with our time left; a sum in another order is not beyond its ends."""
        found = super().format_dict
        left = self.left(found["elapsed"])
        shown = {"left": "?" if left is None else self.format_interval(round(left))}
        return found | shown | {"n": min(max(self.n, 0.0), found["total"])}

    def __enter__(self) -> "Bar":
        if not self.disable:
            self._ticker.start()
        return super().__enter__()

    def close(self) -> None:
        """The bar stays as it is."""
        self._over.set()
        if self._ticker.is_alive():
            self._ticker.join()  # or it might draw below the bar's last line
        super().close()

    def _tick(self) -> None:
        watched = sys.stderr.isatty() or "ipykernel" in sys.modules
        while not self._over.wait(1.0 if watched else 30.0):  # a log need not see every second
            self.refresh()
