"""Grokking on the paper's own clock: a + b modulo 113 with 30 % of the pairs (VA Sec. 7.3, Figs 8 and 23).

    flatcube run larger --scale book

The clock and the share of the pairs are those of the paper. Width, rate and decay are those of ``modular``, with which
a network gets through in a few thousand epochs; those of the paper are the scale ``paper`` of ``modular``. A network is
read for ``phases.PAST`` epochs after it knows, since that is where VA's bump would be.
"""

from flatcube.experiments.engine import Experiment
from flatcube.grokking import modular, watching
from flatcube.grokking.phases import PAST
from flatcube.grokking.watching import Trial

__all__ = ["measured", "EXPERIMENT"]


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What VA say of the course of a training, by the rules in ``modular``: our runs nearest to theirs."""
    return list(modular.judged(rows).values())


EXPERIMENT = Experiment(
    name="larger",
    version="1",
    title="Grokking of a + b modulo 113 with 30 % of the pairs",
    figures="VA Figs 8, 23",
    grids={
        "live": [Trial("decay", 13, 0.6, 0, 30, width=8, hidden=16)],
        "book": [Trial("decay", 113, 0.3, seed, 8000, after=PAST, every=50) for seed in range(5)],
        "paper": [Trial("decay", 113, 0.3, seed, 20_000, after=10_000, every=100, width=128, hidden=512)
                  for seed in range(5)],
    },
    trial=watching.trial,
    cost=watching.cost,
    summary=modular.summary,
    measured=measured,
)  # fmt: skip
