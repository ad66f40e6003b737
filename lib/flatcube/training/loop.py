"""A training run from its first step to its last: kept, stopped, resumed."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch import nn
from tqdm import tqdm

from flatcube import checks, paths
from flatcube.networks.memory import keep_memory
from flatcube.training.optimiser import Settings
from flatcube.training.runs import Measure, Run, Trainer
from flatcube.training.tasks import Task

__all__ = ["train"]


def train(
    ensemble: nn.Module,
    tasks: Task | Sequence[Task],
    settings: Settings,
    *,
    seeds: Sequence[int] | None = None,
    measure: Measure | None = None,
    checkpoint: str | Path | None = None,
    save_every: float = 60.0,
    progress: bool = True,
) -> Run:
    """Train a copy of the ensemble, each member on its task (or all on one), with batches from its seed (0 … K − 1).

    ``measure(member, step)`` is called for every running member at every evaluation; its numbers join the history. With
    ``checkpoint``, the state is written there every ``save_every`` seconds, at Ctrl-C and at the end, and a run that
    finds its own state there goes on from it. Without one, where the environment variable FLATCUBE_CHECKPOINTS names a
    folder, the state has a file of its own there.
    """
    trainer = Trainer(ensemble, tasks, settings, seeds, measure)
    path = _place(trainer.identity) if checkpoint is None else checks.instance(checkpoint, "checkpoint", (str, Path))
    path = None if path is None else Path(path)
    checks.positive(save_every, "save_every", 0)
    if path is not None and path.exists():
        trainer.load(path)
    keep_memory()
    saved = time.monotonic()
    silent = not progress or "FLATCUBE_PRESS" in os.environ  # stored notebooks carry no progress bars
    bar = tqdm(total=settings.steps, initial=trainer.step, disable=silent, unit="step", desc="training")
    with bar, _interrupts() as interrupted:
        while trainer.advance():
            bar.update()
            if (trainer.step - 1) % settings.every == 0:
                bar.set_postfix_str(trainer.summary())
            if path is not None and (interrupted() or time.monotonic() - saved >= save_every):
                trainer.save(path)
                saved = time.monotonic()
            if interrupted():
                where = "there is no checkpoint" if path is None else f"run again to go on from {path}"
                raise KeyboardInterrupt(f"training stopped after step {trainer.step}; {where}")
    if path is not None:
        trainer.save(path)
    return trainer.result()


def _place(identity: str) -> Path | None:
    """Where a run keeps its state if nobody says so: in the folder that the environment names, if it names one."""
    folder = os.environ.get(paths.CHECKPOINTS)
    return Path(folder) / f"{identity[:16]}.safetensors" if folder else None


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C only sets a mark, so that a step is never cut in two; a second one interrupts at once."""
    asked, before = threading.Event(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield asked.is_set
        return

    def mark(*_: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, mark)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
