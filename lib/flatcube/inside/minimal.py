"""What is inside minimal networks that learnt sparse functions (SP Sec. 2.4, Figs 5 to 7).

    flatcube run minimal --scale book

A row is one network (``models``) and one random function of w components of degree d, learnt from m inputs of T bits
until the error on these is below 0.02. ``recovered`` of its components have a row of attention for themselves
(``readings``); as controls, so many had one before training (``untrained``), and so many random sets of the same size
have one after it (``elsewhere``). ``mass`` is the mean of the largest mass over components, ``mass_most`` and
``mass_least`` those of the components with the largest and the smallest weight. Over the recovered components, means
of: ``parity`` and ``trapezoid``, R² of what the row holds against the component's parity and the hand-built wave;
``turns``,
how often the wave turns over what the row reads (d − 1 are needed); ``own`` and ``other``, what ablation leaves of the
component's coefficient and of the others'; ``told`` and ``forbidden``, errors after a patch (``readings.patched``).
``swapped`` is the error with all recovered components replaced by the hand-built circuit, one after the other, in the
mean; ``wrong`` the same for random sets. Without a recovered component these are not numbers.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import stats

from flatcube import checks, cube, training
from flatcube.experiments.engine import Experiment
from flatcube.experiments.trends import verdict
from flatcube.generalise import learners
from flatcube.inside import readings
from flatcube.inside.models import Minimal, Minimals, drawn
from flatcube.sampling import proportion

__all__ = ["Trial", "functions", "learned", "trial", "summary", "measured", "cost", "EXPERIMENT"]

_POINTS = 4096  # inputs on which networks are looked at
_CELL = ("T", "m", "degree", "sparsity")
_MEANS = ("parity", "trapezoid", "turns", "own", "other", "told", "forbidden", "swapped", "wrong")


@dataclass(frozen=True)
class Trial:
    """Networks for random functions of one class, trained together."""

    T: int
    m: int
    degree: int
    sparsity: int
    seeds: tuple[int, ...]
    steps: int = 3000
    hidden: int = 32

    def __post_init__(self) -> None:
        checks.integer(self.T, "T", 1, 20)
        checks.integer(self.m, "m", 2, 2**self.T - 1)
        checks.several(self.seeds, "seeds", int, 1)


def functions(trial: Trial) -> tuple[list[list[tuple[tuple[int, ...], float]]], list[learners.Sample]]:
    """The components of every function, and what is shown of it."""
    found, given = [], []
    for seed in trial.seeds:
        rng = np.random.default_rng([seed, trial.T, trial.degree, trial.sparsity])
        found.append(cube.random_components(trial.T, trial.degree, trial.sparsity, rng=rng))
        given.append(learners.sample(cube.even_sum(found[-1], trial.T), trial.m, rng=rng))
    return found, given


def learned(trial: Trial, given: list[learners.Sample]) -> tuple[training.Run, list[Minimal]]:
    """The networks of a trial, trained, and as they were drawn."""
    first = [drawn(trial.T, trial.hidden, seed=seed) for seed in trial.seeds]
    ensemble = Minimals({name: torch.stack([one[name] for one in first]) for name in first[0]})
    points = cube.points(trial.T)
    tasks = [training.Task(each.table, trial.T, inputs=points[each.shown]) for each in given]
    settings = training.Settings(
        steps=trial.steps, batch=128, rate=1e-2, decay=1e-4, betas=(0.9, 0.99), hold=0.7,
        every=min(200, trial.steps), goal=0.02, after=0,
    )  # fmt: skip
    run = training.train(ensemble, tasks, settings, seeds=list(trial.seeds), progress=False)
    return run, [ensemble.member(k) for k in range(ensemble.count)]


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look inside: one row each."""
    components, given = functions(trial)
    run, first = learned(trial, given)
    places = np.random.default_rng([trial.T]).permutation(2**trial.T)[:_POINTS]
    bits = cube.to_bits(cube.points(trial.T)[places])
    rows = []
    for k, seed in enumerate(trial.seeds):
        model, f = run.ensemble.member(k), given[k].table[places]
        with torch.no_grad():
            test = np.square(model(torch.as_tensor(bits)).double().numpy() - f)[~np.isin(places, given[k].shown)].mean()
        row = {name: getattr(trial, name) for name in _CELL} | {"seed": seed, "ended": int(run.ended[k])}
        row |= {"fitted": int(run.converged[k]), "train": float(run.errors[k]), "test": float(test)}
        row |= {"weights": sum(p.numel() for p in model.parameters())}
        rows.append(row | _inside(model, first[k], bits, f, components[k], np.random.default_rng([seed, 1])))
    return rows


def _inside(
    model: Minimal, first: Minimal, bits: np.ndarray, f: np.ndarray, components: list[tuple[tuple[int, ...], float]],
    rng: np.random.Generator,
) -> dict[str, float]:  # fmt: skip
    """What the attention of a network has to do with components, and what its circuits do."""
    sets, weights = zip(*components, strict=True)
    T, degree = bits.shape[1], len(sets[0])
    attention, before = (_attention(each, bits) for each in (model, first))
    best = readings.mass(attention, sets).max(0)
    others = [each for each in (_random_set(T, degree, rng) for _ in sets) if each not in sets]
    recovered = [k for k, members in enumerate(sets) if readings.clear_rows(attention, members)]
    found: dict[str, float] = {
        "recovered": len(recovered),
        "untrained": sum(bool(readings.clear_rows(before, members)) for members in sets),
        "elsewhere": sum(bool(readings.clear_rows(attention, members)) for members in others),
        "mass": float(best.mean()),
        "mass_most": float(best[np.argmax(weights)]),
        "mass_least": float(best[np.argmin(weights)]),
    }
    looked = [_circuit(model, bits, f, components, k, attention, rng) for k in recovered]
    return found | {name: float(np.mean([one[name] for one in looked])) if looked else math.nan for name in _MEANS}


def _random_set(T: int, size: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(sorted((1 + rng.choice(T, size, replace=False)).tolist()))


def _attention(model: Minimal, bits: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(model.attention(torch.as_tensor(bits[:1024])).double().mean(0))


def _circuit(
    model: Minimal, bits: np.ndarray, f: np.ndarray, components: list[Any], k: int, attention: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, float]:  # fmt: skip
    """What a network does with one component that it recovered."""
    sets = [members for members, _ in components]
    members, T = sets[k], bits.shape[1]
    rows = readings.clear_rows(attention, members)
    with torch.no_grad():
        u = model.reads(torch.as_tensor(bits))
        r = model.wave(u).double().numpy()
        best = max(rows, key=lambda i: abs(float(model.mix[i])) * r[:, i].std())
        span = torch.linspace(float(u[:, best].min()), float(u[:, best].max()), 400)
        curve = model.wave(span).double().numpy()
    ones = bits[:, [j - 1 for j in members]].sum(1)
    left = readings.ablated(model, bits, rows, sets)
    told, forbidden = readings.patched(model, bits, f, rows, components[k], rng=rng)
    wrong = members
    while wrong == members:
        wrong = _random_set(T, len(members), rng)
    return {
        "parity": readings.explained(r[:, best], readings.even(bits, members)),
        "trapezoid": readings.trapezoid(u[:, best].double().numpy(), r[:, best], ones, len(members)),
        "turns": readings.turns(curve),
        "own": float(abs(left[k])),
        "other": float(np.mean(np.abs(np.delete(left, k)))) if len(sets) > 1 else 1.0,
        "told": told,
        "forbidden": forbidden,
        "swapped": readings.swapped(model, bits, f, rows, members),
        "wrong": readings.swapped(model, bits, f, rows, wrong),
    }


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: for every class, networks, how many ``fitted``, of these how many recovered ``some`` or ``all`` of
    their components, how many had some before training; medians of what was measured inside of them."""
    rows = [{name: float(value) for name, value in row.items()} for row in rows]
    found = []
    for key in dict.fromkeys(tuple(row[name] for name in _CELL) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in _CELL) == key]
        kept = [row for row in own if row["fitted"]]
        line = {name: int(value) for name, value in zip(_CELL, key, strict=True)}
        line |= {"runs": len(own), "fitted": len(kept), "some": sum(row["recovered"] > 0 for row in kept)}
        line |= {"all": sum(row["recovered"] == row["sparsity"] for row in kept)}
        line |= {name: sum(row[name] > 0 for row in kept) for name in ("untrained", "elsewhere")}
        for name in ("test", "mass", *_MEANS):
            values = [row[name] for row in kept if not math.isnan(row[name])]
            line[name] = float(np.median(values)) if values else math.nan
        found.append(line)
    return {"cells": found}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What the rows say of SP-F5, SP-F5M and SP-A-MIN, by networks that fitted."""
    rows = [{name: float(value) for name, value in row.items()} for row in rows]
    kept = [row for row in rows if row["fitted"] and row["degree"] > 1]
    return [_rows_of_attention(kept), _waves(kept), _converged(rows)]


def _rows_of_attention(kept: list[dict]) -> dict[str, str]:
    """SP-F5 agrees if most networks recover a component (the 95 % interval is above ½), more than did before training
    (Fisher's exact test at 0.05), and the component with the least weight has less mass than that with the largest
    (paired one-sided Wilcoxon test at 0.05); in part, if some of these hold."""
    some, before = (sum(row[name] > 0 for row in kept) for name in ("recovered", "untrained"))
    low, high = proportion(some, len(kept), 0.95)
    more = stats.fisher_exact([[some, len(kept) - some], [before, len(kept) - before]], alternative="greater").pvalue
    differences = [row["mass_least"] - row["mass_most"] for row in kept if row["sparsity"] > 1]
    p = stats.wilcoxon(differences, alternative="less").pvalue if np.any(differences) else 1.0
    whole = sum(row["recovered"] == row["sparsity"] for row in kept)
    medians = {name: float(np.median([row[name] for row in kept if not math.isnan(row[name])])) for name in _MEANS}
    elsewhere = sum(row["elsewhere"] > 0 for row in kept)
    parts = (sum(int(row[name]) for row in kept) for name in ("recovered", "sparsity"))
    statement = (
        f"{len(kept)} networks of degree 2 and more that fit: {some} have a row with 0.8 of its attention on a "
        f"component, spread over its members ({low:.0%} to {high:.0%}), {whole} one for every component, together "
        f"{' of '.join(map(str, parts))} components; before training {before} (Fisher's exact test: p = {more:.2g}), "
        f"on random sets of the same size {elsewhere}. The component of least weight has less mass than that of "
        f"largest, by {-np.mean(differences):.2f} in the mean (Wilcoxon: p = {p:.2g}). Medians: ablating these rows "
        f"leaves {medians['own']:.2f} of the component's coefficient and {medians['other']:.2f} of the others'; a "
        f"patch gives what the circuit predicts up to {medians['told']:.2g}, against {medians['forbidden']:.2g}; with "
        f"the hand-built circuit in its place the error is {medians['swapped']:.2g}, with that for another set "
        f"{medians['wrong']:.2g}."
    )
    rules = [low > 0.5, more < 0.05, p < 0.05]
    return {"id": "SP-F5", "verdict": verdict(rules), "statement": statement}


def _waves(kept: list[dict]) -> dict[str, str]:
    """SP-F5M agrees if in most networks with a recovered component its wave turns d − 1 times or more in the mean (the
    95 % interval is above ½); in part, if some do."""
    looked = [row for row in kept if row["recovered"]]
    often = sum(row["turns"] >= row["degree"] - 1 for row in looked)
    low, high = proportion(often, len(looked), 0.95)
    parity, shape = (float(np.median([row[name] for row in looked])) for name in ("parity", "trapezoid"))
    statement = (
        f"Over what its row reads, the wave turns d − 1 times or more in {often} of {len(looked)} networks ({low:.0%} "
        f"to {high:.0%}). What the row holds follows the parity of its component with R² = {parity:.2f} in the median, "
        f"and the hand-built trapezoid, in units that fit best, with {shape:.2f}."
    )
    judged = "agrees" if low > 0.5 else "agrees in part" if often else "differs"
    return {"id": "SP-F5M", "verdict": judged, "statement": statement}


def _converged(rows: list[dict]) -> dict[str, str]:
    """SP-A-MIN agrees if in every class of degree 1 or 2 most networks fit (the 95 % interval is above ½); in part, if
    in some."""
    cells = [line for line in summary(rows)["cells"] if line["degree"] <= 2]
    rules = [proportion(line["fitted"], line["runs"], 0.95)[0] > 0.5 for line in cells]
    shown = ", ".join(f"{line['fitted']} of {line['runs']} at degree {line['degree']}, {line['sparsity']} components, "
                      f"T = {line['T']}" for line in cells)  # fmt: skip
    return {"id": "SP-A-MIN", "verdict": verdict(rules), "statement": f"Minimal networks that fit: {shown}."}


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 1.5 ms for a network and step at T = 12; a third of the steps are used."""
    return len(trial.seeds) * (1.5e-3 * (trial.T / 12) ** 2 * trial.steps / 3 + 0.5)


def _book() -> list[Trial]:
    cells = [(12, 1024, d, w) for d, w in ((1, 3), (2, 2), (2, 3), (3, 2), (3, 3))]
    cells += [(16, 2048, d, w) for d, w in ((2, 2), (3, 2))]
    return [Trial(*cell, tuple(range(ten, ten + 10))) for cell in cells for ten in (0, 10)]


def _paper() -> list[Trial]:
    """SP Sec. 2.4: strings of 20 bits, three components; one network is shown there."""
    return [Trial(20, 8192, d, 3, (seed,), steps=10_000) for d in (2, 3) for seed in range(100)]


EXPERIMENT = Experiment(
    name="minimal",
    version="1",
    title="Attention, waves and causes in minimal networks",
    figures="SP Figs 5 to 7",
    grids={"live": [Trial(5, 24, 2, 2, (0, 1, 2), steps=400)], "book": _book(), "paper": _paper()},
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
