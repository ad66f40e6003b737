"""What is inside minimal networks that learnt sparse functions (SP Sec. 2.4, Figs 5 to 7).

    flatcube run minimal --scale book

A row is one network (``models``) and one random function of w components of degree d, learnt from m inputs of T bits
until the error on these is below 0.02. ``recovered`` of its components have a row of attention for themselves
(``readings``); as controls, so many had one before training (``untrained``), and so many random sets of the same size
have one after it (``elsewhere``). ``mass`` is the mean of the largest mass over components, ``mass_most`` and
``mass_least`` those of the components with the largest and the smallest weight. Over the recovered components, means
of: ``parity`` and ``trapezoid``, R² of what the row holds against the component's parity and the hand-built wave;
``turns``, how often the wave turns over what the row reads (d − 1 are needed, if attention is the same at every input);
``own`` and ``other``, what ablation leaves of the sizes of the component's coefficient and of the others'; ``told`` and
``forbidden``, errors after a patch (``readings.patched``). ``swapped`` is the error with a recovered component replaced
by the hand-built circuit, ``wrong`` the same for a random set. Without a recovered component these are not numbers.

The row of a star (``stars``) may be clear for its heaviest component. So functions without a star are counted once
more for themselves.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from flatcube import checks, cube, training
from flatcube.experiments.engine import Experiment
from flatcube.generalise import learners
from flatcube.inside import readings
from flatcube.inside._minimal_rules import CELL, MEANS, Parts, measured, one_function, summary
from flatcube.inside.models import Minimal, Minimals, drawn

__all__ = [
    "Trial", "functions", "learned", "looked_at", "mean_attention", "trial", "summary", "measured", "cost",
    "EXPERIMENT",
]  # fmt: skip

_POINTS = 4096  # inputs on which networks are looked at


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


def functions(trial: Trial) -> tuple[list[Parts], list[learners.Sample]]:
    """The components of every function, and what is shown of it."""
    found, given = [], []
    for seed in trial.seeds:
        components, rng = one_function(seed, trial.T, trial.degree, trial.sparsity)
        found.append(components)
        given.append(learners.sample(cube.even_sum(components, trial.T), trial.m, rng=rng))
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


def looked_at(T: int) -> tuple[np.ndarray, np.ndarray]:
    """The inputs on which networks are looked at: their places among all, and their bits (batch, T)."""
    places = np.random.default_rng([T]).permutation(2**T)[:_POINTS]
    return places, cube.to_bits(cube.points(T)[places])


def mean_attention(model: Minimal, bits: np.ndarray) -> np.ndarray:
    """The attention (T, T) of a network, in the mean over the first 1024 inputs."""
    with torch.no_grad():
        return np.asarray(model.attention(torch.as_tensor(bits[:1024])).double().mean(0))


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look inside: one row each."""
    components, given = functions(trial)
    run, first = learned(trial, given)
    places, bits = looked_at(trial.T)
    rows = []
    for k, seed in enumerate(trial.seeds):
        model, f = run.ensemble.member(k), given[k].table[places]
        with torch.no_grad():
            test = np.square(model(torch.as_tensor(bits)).double().numpy() - f)[~np.isin(places, given[k].shown)].mean()
        row = {name: getattr(trial, name) for name in CELL} | {"seed": seed, "ended": int(run.ended[k])}
        row |= {"fitted": int(run.converged[k]), "train": float(run.errors[k]), "test": float(test)}
        row |= {"weights": sum(p.numel() for p in model.parameters())}
        rows.append(row | _inside(model, first[k], bits, f, components[k], np.random.default_rng([seed, 1])))
    return rows


def _inside(
    model: Minimal, first: Minimal, bits: np.ndarray, f: np.ndarray, components: Parts, rng: np.random.Generator
) -> dict[str, float]:
    """What the attention of a network has to do with components, and what its circuits do."""
    sets, weights = zip(*components, strict=True)
    T, degree = bits.shape[1], len(sets[0])
    attention, before = (mean_attention(each, bits) for each in (model, first))
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
    return found | {name: float(np.mean([one[name] for one in looked])) if looked else math.nan for name in MEANS}


def _random_set(T: int, size: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(sorted((1 + rng.choice(T, size, replace=False)).tolist()))


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


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 1.5 ms for a network and step at T = 12; a third of the steps are used."""
    return len(trial.seeds) * (1.5e-3 * (trial.T / 12) ** 2 * trial.steps / 3 + 0.5)


def _book() -> list[Trial]:
    """Twenty functions of every class. Those with three components are there for T = 12, 16 and, as in SP, 20."""
    cells = [(12, 1024, d, w) for d, w in ((1, 3), (2, 2), (2, 3), (3, 2), (3, 3))]
    cells += [(16, 2048, d, w) for d, w in ((2, 2), (3, 2), (2, 3), (3, 3))]
    large = [Trial(20, 8192, d, 3, tuple(range(five, five + 5))) for d in (1, 2, 3) for five in (0, 5, 10, 15)]
    return [Trial(*cell, tuple(range(ten, ten + 10))) for cell in cells for ten in (0, 10)] + large


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
