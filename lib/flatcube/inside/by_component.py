"""What networks of the paper's size hold, component by component: the swap with a wrong set, and stars.

    flatcube run by_component --scale book

A row is one component of a function on which a network of ``minimal`` was trained: its ``weight``, and what was
``learned`` of it, as the weight that the network's own coefficient would have. ``clear`` counts the positions that
recover it. If there are any, ``left`` is the factor that their ablation leaves of the coefficient, with its sign;
``right`` the error with α + β even_S in their place, α and β by least squares, and ``wrong`` and ``wrong_least`` the
median and the smallest error over all other sets of the same size that are no component, with the same α and β;
``intact`` is the error of the untouched network on the same inputs. At the position that moves the output most
``parity``, ``trapezoid`` and ``triangle`` are R² of what it holds, the last two in the units of ``readings.trapezoid``.

If two components share all bits but one, the heaviest such pair is a star. ``alike`` counts the positions whose row is
within 0.2 of the row of this star (half of the sum of absolute differences) and nearer to it than to that of any
component, ``before`` those of the untrained network; ``brought`` is the share that they bring of this component.
"""

import itertools
import math
from collections.abc import Iterable

import numpy as np
import torch

from flatcube.experiments.engine import Experiment
from flatcube.inside import minimal, readings, stars
from flatcube.inside._minimal_rules import Parts
from flatcube.inside.minimal import Trial
from flatcube.inside.models import Minimal

__all__ = ["heaviest", "alike", "trial", "summary", "EXPERIMENT"]

_CLOSE = 0.2  # how far a row may be from that of a star
_OF_ROWS = ("left", "right", "wrong", "wrong_least", "parity", "trapezoid", "triangle")
_OF_STARS = ("alike", "before", "brought")


def heaviest(parts: Parts) -> Parts:
    """The two components with the largest sum of weights among those that share all bits but one, or none.

    >>> heaviest([((1, 2), 1.0), ((3, 4), 1.5), ((2, 5), 0.5)])
    [((1, 2), 1.0), ((2, 5), 0.5)]
    """
    pairs = itertools.combinations(parts, 2)
    found = [pair for pair in pairs if len(set(pair[0][0]) & set(pair[1][0])) == len(parts[0][0]) - 1]
    return list(max(found, key=lambda pair: pair[0][1] + pair[1][1], default=()))


def alike(attention: np.ndarray, star: Parts, parts: Parts) -> list[int]:
    """The positions, from 0, whose row of attention (T, T) is near to that of a star, and nearer than to any part's."""
    T = len(attention)
    rows = np.array([stars.star(star, T), *(stars.star([part], T) for part in parts)])
    far = np.abs(attention[:, None] - rows).sum(-1) / 2  # (positions, rows)
    return np.flatnonzero((far[:, 0] < _CLOSE) & (far[:, 0] < far[:, 1:].min(1))).tolist()


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial and look at every component: one row each."""
    components, given = minimal.functions(trial)
    run, first = minimal.learned(trial, given)
    places, bits = minimal.looked_at(trial.T)
    rows: list[dict[str, object]] = []
    for k, seed in enumerate(trial.seeds):
        model, parts = run.ensemble.member(k), components[k]
        key = {name: getattr(trial, name) for name in minimal.CELL} | {"seed": seed, "fitted": int(run.converged[k])}
        star = heaviest(parts)
        attention = minimal.mean_attention(model, bits)
        near = alike(attention, star, parts) if star else []
        before = alike(minimal.mean_attention(first[k], bits), star, parts) if star else []
        for part in parts:
            found = _rows(model, bits, given[k].table[places], parts, part, attention)
            if part in star:
                brought = float(readings.shares(model, bits, part[0])[near].sum())
                found |= {"alike": len(near), "before": len(before), "brought": brought}
            rows.append(key | {"weight": part[1]} | found)
    return rows


def _rows(
    model: Minimal, bits: np.ndarray, f: np.ndarray, parts: Parts, part: tuple[tuple[int, ...], float],
    attention: np.ndarray,
) -> dict[str, float]:  # fmt: skip
    """What was learnt of a component, and what the positions that recover it hold."""
    members, parity = part[0], readings.even(bits, part[0])
    with torch.no_grad():
        u = model.reads(torch.as_tensor(bits))
        r, mix = model.wave(u).double().numpy(), model.mix.double().numpy()
        error = model(torch.as_tensor(bits)).double().numpy() - f
    clear = readings.clear_rows(attention, members)
    found = {"learned": float(2 * (error + f) @ (2 * parity - 1) / len(f)), "clear": len(clear)}
    found |= {"intact": float(np.square(error).mean())} | dict.fromkeys(_OF_ROWS + _OF_STARS, math.nan)
    if not clear:
        return found
    slopes, starts = np.polyfit(parity, r[:, clear], 1)  # β and α of every position
    without = error + (starts - r[:, clear]) @ mix[clear]  # what is wrong if they hold α
    weight, known = float(slopes @ mix[clear]), {each for each, _ in parts}
    sets = [each for each in itertools.combinations(range(1, bits.shape[1] + 1), len(members)) if each not in known]
    wrong = [np.square(without + weight * readings.even(bits, other)).mean() for other in sets]
    best = max(clear, key=lambda i: abs(mix[i]) * r[:, i].std())
    ones, held = bits[:, [j - 1 for j in members]].sum(1), r[:, best]
    return found | {
        "left": float(readings.ablated(model, bits, clear, [members])[0]),
        "right": float(np.square(without + weight * parity).mean()),
        "wrong": float(np.median(wrong)),
        "wrong_least": float(min(wrong)),
        "parity": readings.explained(held, parity),
        "trapezoid": readings.trapezoid(u[:, best].double().numpy(), held, ones, len(members)),
        "triangle": readings.triangle(u[:, best].double().numpy(), held, ones, len(members)),
    }


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``cells``: by class, components of networks that fit, how many have a ``clear`` row, and medians over these."""
    rows, found = [{name: float(value) for name, value in row.items()} for row in rows], []
    for key in dict.fromkeys(tuple(row[name] for name in minimal.CELL) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in minimal.CELL) == key and row["fitted"]]
        clear = [row for row in own if row["clear"]]
        line = {name: int(value) for name, value in zip(minimal.CELL, key, strict=True)}
        line |= {"components": len(own), "clear": len(clear)}
        found.append(line | {name: float(np.median([row[name] for row in clear])) for name in _OF_ROWS if clear})
    return {"cells": found}


EXPERIMENT = Experiment(
    name="by_component",
    version="1",
    title="Swaps with wrong sets, and stars, in minimal networks of the paper's size",
    figures="SP Figs 5 to 7",
    grids={
        "live": [Trial(5, 24, 2, 2, (0, 1, 2), steps=400)],
        "book": [each for each in minimal.EXPERIMENT.grids["book"] if each.T == 20 and each.degree > 1],
        "paper": list(minimal.EXPERIMENT.grids["paper"]),
    },
    trial=trial,
    cost=minimal.cost,
    summary=summary,
)
