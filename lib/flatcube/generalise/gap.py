"""The generalisation gap over degree and sparsity (SP Sec. 2.1, Fig. 1, App. A), beside what bounds say.

    flatcube run gap --scale book

A row is one network and one random function of w components of degree d, from m distinct inputs of T bits. ``train``
and ``test`` are mean squared errors on the inputs shown and on all others; a network is ``fitted`` if train < 0.02.
``own``, ``low``, ``above`` are the parts of the risk (``findings``); ``norm2``, ``moved2`` and ``trace`` are ‖θ‖²,
‖θ − θ₀‖² and 2E‖∇f̂‖²; ``hand_norm2`` and ``hand_trace`` those of the hand-built network for the same function;
``constant`` and ``two_sided`` the sub-Gaussian constants of the hidden losses, which have variance 1 at the start.

The arms: *stop* ends at train < 0.02, as SP do; *fixed* trains every network for as long as every other; *norm* has
post layer norm; *batch* sees the same number of examples in batches of other sizes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from flatcube import checks, cube, handmade, training
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.generalise import findings, learners, targets

__all__ = ["ARMS", "Trial", "samples", "trial", "summary", "fitted", "powers", "measured", "EXPERIMENT"]

ARMS = ("stop", "fixed", "norm", "batch")
_CELL = ("arm", "T", "m", "degree", "sparsity", "batch")


@dataclass(frozen=True)
class Trial:
    """Networks for random functions of one class, trained together."""

    arm: str
    T: int
    m: int
    degree: int
    sparsity: int
    seeds: tuple[int, ...]
    steps: int = 3000
    batch: int = 64
    rate: float = 3e-3
    more: int = 20
    hidden: int = 64
    logits: float = 1.5

    def __post_init__(self) -> None:
        checks.word(self.arm, "arm", ARMS)
        checks.integer(self.T, "T", 1, 20)
        checks.integer(self.m, "m", 2, 2**self.T - 1)
        checks.several(self.seeds, "seeds", int, 1)


def samples(trial: Trial) -> tuple[list[cube.Components], list[learners.Sample]]:
    """The components of every function, and what is shown of it; the same in all arms."""
    found, given = [], []
    for seed in trial.seeds:
        components, rng = targets.components(trial.T, trial.degree, trial.sparsity, seed)
        found.append(components)
        given.append(learners.sample(cube.even_sum(found[-1], trial.T), trial.m, rng=rng))
    return found, given


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look at each: one row each."""
    components, given = samples(trial)
    settings = training.Settings(
        steps=trial.steps, batch=trial.batch, rate=trial.rate, decay=1e-4, betas=(0.9, 0.99), hold=0.7,
        every=min(100, trial.steps), goal=0.02, after=None if trial.arm == "fixed" else 0,
    )  # fmt: skip
    norm = "post" if trial.arm == "norm" else "none"
    kind = learners.config(trial.T, more=trial.more, hidden=trial.hidden, norm=norm)
    run, first = learners.learn(given, settings, kind, seeds=trial.seeds, logits=trial.logits)
    rows = []
    for k, seed in enumerate(trial.seeds):
        network = run.ensemble.member(k)
        bits = findings.shown_bits(given[k])
        norm2, trace = findings.account(network, bits)
        plan = handmade.Design(components[k], trial.T, mode="soft")
        hand = findings.hand_built(plan, bits.numpy())
        rows.append(
            {name: getattr(trial, name) for name in _CELL}
            | {"seed": seed, "ended": int(run.ended[k]), "fitted": int(run.converged[k])}
            | findings.errors(network, given[k])
            | {"norm2": norm2, "moved2": findings.distance(network, first[k]), "trace": trace}
            | {"hand_norm2": hand.norm2, "hand_trace": hand.trace}
            | findings.certificate(network, first[k], given[k], seed=seed)
        )
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def fitted(rows: Iterable[dict], arm: str = "stop") -> list[dict[str, object]]:
    """The rows of networks of an arm that fitted, as numbers, with ``gap`` = test − train and two bounds.

    ``oracle`` is the truncated bound of the hand-built network, ``truncated`` that of the learned one, C = 0.1.
    """
    found = []
    for row in store.numbers(rows, "arm"):
        if row["arm"] == arm and row["fitted"]:
            found.append(row | {"gap": row["test"] - row["train"]} | targets.bounds(row))
    return found


_SHOWN = ("gap", "own", "low", "above", "sensitivity", "norm2", "moved2", "trace", "constant", "oracle", "truncated",
          "certificate")  # fmt: skip


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: for every class, how many networks there are and fitted, and medians over those that did.

    ``ranks``: Kendall's τ of the gap with other numbers over all fitted networks of an arm and size.
    """
    rows = store.numbers(rows, "arm")
    cells, ranks = [], []
    for key in dict.fromkeys(tuple(row[name] for name in _CELL) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in _CELL) == key]
        kept = fitted(own, key[0])
        medians = {name: float(np.median([row[name] for row in kept])) if kept else math.nan for name in _SHOWN}
        cells.append(dict(zip(_CELL, key, strict=True)) | {"runs": len(own), "fitted": len(kept)} | medians)
    for arm, T, m in dict.fromkeys((row["arm"], row["T"], row["m"]) for row in rows):
        kept = [row for row in fitted(rows, arm) if (row["T"], row["m"]) == (T, m)]
        for name in ("ended", "norm2", "moved2", "trace", "above", "oracle", "truncated", "certificate"):
            tau = math.nan
            if len({row[name] for row in kept}) > 1:
                tau = float(stats.kendalltau([row["gap"] for row in kept], [row[name] for row in kept]).statistic)
            ranks.append({"arm": arm, "T": T, "m": m, "name": name, "networks": len(kept), "tau": tau})
    return {"cells": cells, "ranks": ranks}


def powers(rows: list[dict], name: str = "gap") -> dict[str, dict[str, float]]:
    """Exponents μ and ν of ``name`` ∝ d^μ w^ν by least squares on logarithms, with 95 % intervals by Student's t.

    Numbers that are not above 0 have no logarithm: a network whose gap is none, or negative, is left out.
    """
    kept = [row for row in rows if row[name] > 0]
    design = np.array([[1.0, math.log(row["degree"]), math.log(row["sparsity"])] for row in kept]).reshape(-1, 3)
    if len(kept) < 4 or np.linalg.matrix_rank(design) < 3:
        return {which: dict.fromkeys(("slope", "low", "high"), math.nan) for which in ("degree", "sparsity")}
    y = np.log([row[name] for row in kept])
    best = np.linalg.lstsq(design, y)[0]
    free = len(y) - 3
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * np.square(y - design @ best).sum() / free)
    half = stats.t.ppf(0.975, free) * errors
    ends = zip(("degree", "sparsity"), best[1:].tolist(), half[1:].tolist(), strict=True)
    return {which: {"slope": value, "low": value - wide, "high": value + wide} for which, value, wide in ends}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What the rows say of SP-F1, SP-A-LN, SP-A-BATCH and SP-A-SUBG."""
    return [_growth(rows), _with_norm(rows), _batches(rows), _constants(rows)]


def _growth(rows: list[dict]) -> dict[str, str]:
    """SP-F1 agrees if exponents of degree and sparsity are above 1, for the gap and for the oracle bound, and the slope
    of the gap against w is steeper at the highest degree than at the lowest, all with their 95 % intervals; in part, if
    some of these hold. Judged are the longest inputs, and of these the largest training sets; others are told beside.
    """
    sizes = sorted({(row["T"], row["m"]) for row in fitted(rows)}, reverse=True)
    by_size = {at: [row for row in fitted(rows) if (row["T"], row["m"]) == at] for at in sizes}
    (T, m), kept = sizes[0], by_size[sizes[0]]
    runs = [r for r in store.numbers(rows, "arm") if r["arm"] == "stop" and (r["T"], r["m"]) == (T, m)]
    classes, right = ({(row["degree"], row["sparsity"]) for row in some} for some in (runs, kept))
    gap, bound = powers(kept), powers(kept, "oracle")
    ends = [[row for row in kept if row["degree"] == d] for d in (max(r["degree"] for r in kept), 1.0)]
    lines = [trends.line([r["sparsity"] for r in end], [r["gap"] for r in end]) for end in ends]
    steeper = trends.gap(*lines, free=tuple(len(end) - 2 for end in ends))
    rules = [one[name]["low"] > 1 for one in (gap, bound) for name in one] + [steeper["low"] > 0]
    degrees, counts = ([int(f(row[name] for row in runs)) for f in (min, max)] for name in ("degree", "sparsity"))
    statement = (
        f"T = {T:.0f}, m = {m:.0f}, degrees {degrees[0]}–{degrees[1]}, {counts[0]}–{counts[1]} components: {len(kept)} "
        f"of {len(runs)} networks fitted, none in {len(classes - right)} of {len(classes)} classes. Exponents with "
        f"95 % intervals: of the gap {_exponents(gap)}, by the {sum(row['gap'] > 0 for row in kept)} networks with one "
        f"above 0; of the truncated bound of the hand-built network {_exponents(bound)}. The gap rises per component "
        f"by {trends.said(steeper, 'gap')} more at degree {ends[0][0]['degree']:.0f} than at degree 1."
    )
    others = "; ".join(f"{_exponents(powers(by_size[at]))} with T = {at[0]:.0f}, m = {at[1]:.0f}" for at in sizes[1:])
    statement += f" Of the gap elsewhere: {others}." if others else ""
    verdict = trends.verdict(rules)
    return {"id": "SP-F1", "verdict": verdict, "statement": statement + " SP: 8192 strings of 20 bits, 20 classes."}


def _exponents(found: dict[str, dict[str, float]]) -> str:
    return f"degree {trends.said(found['degree'])}, sparsity {trends.said(found['sparsity'])}"


def _with_norm(rows: list[dict]) -> dict[str, str]:
    """SP-A-LN agrees if with and without layer norm the gap of the class with the largest d·w exceeds that of the
    class with the least, by Mann and Whitney's test at 0.05; differs if only one of them does."""
    arms = {arm: fitted(rows, arm) for arm in ("norm", "stop")}
    cells = {(r["T"], r["m"], r["degree"], r["sparsity"]) for r in arms["norm"]}
    found, words, every = [], [], store.numbers(rows, "arm")
    ordered = sorted(cells, key=lambda cell: cell[2] * cell[3])
    for arm, kept in arms.items():
        low, high = ([r["gap"] for r in kept if (r["T"], r["m"], r["degree"], r["sparsity"]) == ordered[k]]
                     for k in (0, -1))  # fmt: skip
        p = stats.mannwhitneyu(high, low, alternative="greater").pvalue if low and high else 1.0
        found.append(p < 0.05)
        medians = (float(np.median(some)) if some else math.nan for some in (low, high))
        tried = sum(r["arm"] == arm and (r["T"], r["m"], r["degree"], r["sparsity"]) == ordered[-1] for r in every)
        words.append("{} layer norm {:.2g} and {:.2g} (p = {:.2g}; {} of {} fitted in the harder class)".format(
            "with" if arm == "norm" else "without", *medians, p, len(high), tried))  # fmt: skip
    ends = [f"degree {cell[2]:.0f} with {cell[3]:.0f} components" for cell in (ordered[0], ordered[-1])]
    tried = [r for r in rows if r["arm"] == "norm"]
    statement = (
        f"Median gaps at {ends[0]} and at {ends[1]}: {'; '.join(words)}, by Mann and Whitney's test. With layer norm "
        f"{len(arms['norm'])} of {len(tried)} networks fitted."
    )
    verdict = "agrees" if found[0] == found[1] else "differs"
    return {"id": "SP-A-LN", "verdict": verdict, "statement": statement}


def _batches(rows: list[dict]) -> dict[str, str]:
    """SP-A-BATCH agrees if fewer networks fit with the largest batch than with the smallest, by Fisher's exact test at
    0.05; in part if fewer do; each sees the same number of examples."""
    kept = [row for row in store.numbers(rows, "arm") if row["arm"] == "batch"]
    counts = {b: [r["fitted"] for r in kept if r["batch"] == b] for b in sorted({r["batch"] for r in kept})}
    right = {b: int(sum(some)) for b, some in counts.items()}
    least, most = min(counts), max(counts)
    table = [[right[b], len(counts[b]) - right[b]] for b in (least, most)]
    p = stats.fisher_exact(table, alternative="greater").pvalue
    fewer = right[most] / len(counts[most]) < right[least] / len(counts[least])
    shown = ", ".join(f"{right[b]} of {len(some)} with {b:.0f}" for b, some in counts.items())
    degree = kept[0]["degree"]
    statement = (
        f"Networks that fit functions of degree {degree:.0f}, by the size of the batch, at the same number of examples "
        f"seen: {shown} (Fisher's exact test, least against largest: p = {p:.2g})."
    )
    verdict = "agrees" if p < 0.05 else "agrees in part" if fewer else "differs"
    return {"id": "SP-A-BATCH", "verdict": verdict, "statement": statement}


def _constants(rows: list[dict]) -> dict[str, str]:
    """SP-A-SUBG agrees if three quarters of the constants of fitted networks are between 0.01 and 0.1; in part if a
    quarter are."""
    found = np.array([row["constant"] for row in fitted(rows)])
    inside = float(((found >= 0.01) & (found <= 0.1)).mean())
    low, middle, high = np.quantile(found, [0.1, 0.5, 0.9])
    wide = np.median([row["two_sided"] for row in fitted(rows)])
    statement = (
        f"Sub-Gaussian constant of the losses on hidden inputs, {len(found)} fitted networks: median {middle:.2g}, "
        f"deciles {low:.2g} and {high:.2g}; {inside:.0%} lie between 0.01 and 0.1. That is for t > 0, which bounds "
        f"need; with both signs of t the median is {wide:.2g}."
    )
    verdict = "agrees" if inside >= 0.75 else "agrees in part" if inside >= 0.25 else "differs"
    return {"id": "SP-A-SUBG", "verdict": verdict, "statement": statement}


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 3 ms for a network and step at T = 12; easy functions stop early."""
    step = 3e-3 * (trial.T / 12) ** 1.5 * (trial.batch / 64) ** 0.8 * (1 + trial.hidden / 64) / 2
    used = 1.0 if trial.arm == "fixed" else min(1.0, 0.02 * trial.degree**2 * (1 + trial.sparsity) / 2 + 0.05)
    return len(trial.seeds) * (step * trial.steps * used + 0.5 + 2**trial.T / 2e4)


def _book() -> list[Trial]:
    five = tuple(range(5))
    cells = [(d, w) for d in (1, 2, 3, 4) for w in (1, 2, 4, 8)]
    grid = [Trial("stop", 12, m, d, w, five) for m in (1024, 512) for d, w in cells]
    grid += [Trial("fixed", 12, 1024, d, w, five, steps=1000) for d, w in cells if d in (1, 3) and w in (1, 4)]
    grid += [Trial("norm", 12, 1024, d, w, five) for d, w in ((1, 1), (2, 2), (3, 4))]
    sizes = ((64, 2400), (256, 600), (1024, 150))
    grid += [Trial("batch", 12, 2048, 5, 1, five, batch=size, steps=steps) for size, steps in sizes]
    return grid + [Trial("stop", 16, 2048, d, w, five, steps=4000) for d, w in cells]


def _paper() -> list[Trial]:
    """SP App. A: 8192 strings of 20 bits, 30 further channels, MLP 128, eleven functions in each of 20 classes."""
    options = {"steps": 100_000, "more": 30, "hidden": 128}
    cells = [(d, w) for d in range(1, 6) for w in (1, 2, 4, 8)]
    return [Trial("stop", 20, 8192, d, w, (seed,), **options) for d, w in cells for seed in range(11)]


def _live() -> list[Trial]:
    return [Trial("stop", 6, 48, d, w, (0, 1), steps=150) for d, w in ((1, 1), (2, 2))]


EXPERIMENT = Experiment(
    name="gap",
    version="1",
    title="The generalisation gap over degree and sparsity",
    figures="SP Fig. 1",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
