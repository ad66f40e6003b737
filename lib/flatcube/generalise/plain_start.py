"""The norms of ``domination`` once more, for networks whose first queries and keys are not enlarged (SP Fig. 2(b)).

    flatcube run plain_start --scale book

Three quarters of the norm of the networks in ``gap`` and ``domination`` are there because ``learners.drawn`` enlarges
the first layer's queries and keys. Here nothing is: all maps are N(0, 1/inputs). Functions, what is shown of them and
all other settings are those of ``domination``. A row is one network: ``start``, ``norm2`` and ``trace`` are ‖θ₀‖², ‖θ‖²
and 2E‖∇f̂‖², ``hand_norm2`` and ``hand_trace`` those of the hand-built network for the same function, in soft mode.
"""

from collections.abc import Iterable

from flatcube import handmade, training
from flatcube.experiments.engine import Experiment
from flatcube.generalise import domination, findings, learners
from flatcube.generalise.domination import Trial

__all__ = ["trial", "summary", "EXPERIMENT"]


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial, build the others: one row for each function."""
    functions, given = domination.functions(trial)
    settings = training.Settings(steps=trial.steps, batch=64, rate=3e-3, decay=trial.decay, betas=(0.9, 0.99), hold=0.7,
                                 every=min(100, trial.steps), goal=0.02, after=0)  # fmt: skip
    kind = learners.config(trial.T)
    run, first = learners.learn(given, settings, kind, seeds=trial.seeds, logits=1 / kind.width)  # a factor of 1
    rows = []
    for k, seed in enumerate(trial.seeds):
        bits = findings.shown_bits(given[k])
        start, _ = findings.account(first[k], bits)
        norm2, trace = findings.account(run.ensemble.member(k), bits)
        hand = findings.hand_built(handmade.Design(functions[k], trial.T, mode="soft"), bits.numpy())
        row = {name: getattr(trial, name) for name in ("T", "m", "degree", "sparsity")} | {"seed": seed}
        row |= {"ended": int(run.ended[k]), "fitted": int(run.converged[k]), "train": float(run.errors[k])}
        rows.append(row | {"start": start, "norm2": norm2, "trace": trace, "hand_norm2": hand.norm2,
                           "hand_trace": hand.trace})  # fmt: skip
    return rows


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``classes``: of every class the networks, how many ``fitted``, how many of these have less norm, less trace and
    both than the hand-built one, and the medians of the ratios hand-built to learned."""
    return {"classes": domination.counts(rows)}


_BOOK = [(1, 1), (1, 4), (2, 1), (2, 4), (3, 1), (3, 4), (4, 2)]  # those of ``domination``

EXPERIMENT = Experiment(
    name="plain_start",
    version="1",
    title="Norms of learned networks whose first weights are not enlarged",
    figures="SP Fig. 2",
    grids={
        "live": [Trial("basic", 2, 2, (0, 1), 5, 24, 300)],
        "book": [Trial("basic", *cell, tuple(range(5))) for cell in _BOOK],
        "paper": [Trial("basic", d, w, (seed,), 20, 8192, 100_000) for d in range(1, 6) for w in (1, 2, 4, 8)
                  for seed in range(11)],
    },
    trial=trial,
    cost=domination.cost,
    summary=summary,
)  # fmt: skip
