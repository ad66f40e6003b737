"""Spectra of curvature side by side: learned networks and three hand-built ones for the same functions (SP Sec. 4.2).

    flatcube run eigenvalues --scale book

Where a network's error is zero the Hessian of its loss is G = (2/m) Σ_x ∇f̂(x) ∇f̂(x)ᵀ, and its eigenvalues other than
0 are those of the m × m matrix (2/m) ⟨∇f̂(x), ∇f̂(y)⟩, which is small enough to be exact. Their sum is the trace of
``domination``, over the same inputs: up to 256 of those shown. Learned networks stop at an error of 0.02, not at 0; for
them ``whole`` is the largest eigenvalue of the whole Hessian, by Lanczos.

Functions and inputs are those of ``domination`` with its weak decay; its networks are trained again. A row is one of
them, *learned*, or one that is built: *hand* (soft mode), *trimmed* (half of the wave's ReLUs) or *rescaled* (that one
with (αE, αb, F/α), the best α). ``e1``, ``e2``, … are the largest eigenvalues, and ``directions`` is (Σλ)²/Σλ²: k, if k
eigenvalues are equal and all others 0.
"""

import math
from collections.abc import Iterable

import numpy as np
import torch
from scipy import stats

from flatcube import cube, handmade, networks, sharpness
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.generalise import domination, findings
from flatcube.generalise.domination import KINDS, Trial
from flatcube.networks import tensors

__all__ = ["NETWORKS", "COUNT", "spectrum", "rescaled", "trial", "summary", "measured", "EXPERIMENT"]

NETWORKS = ("learned", "hand", "trimmed", "rescaled")
COUNT = 20  # eigenvalues that are kept
_CELL = ("kind", "degree", "sparsity", "seed")


def spectrum(network: networks.Network, bits: torch.Tensor, *, exclude: tensors.Exclude) -> np.ndarray:
    """The eigenvalues of (2/m) Σ_x ∇f̂(x) ∇f̂(x)ᵀ over inputs (m, T), falling, (m,): of all weights but those excluded.

    If there are more inputs than weights, the rest is zero.
    """
    weights = list(tensors.kept(network, exclude).values())
    rows = []
    for bit in bits:
        slopes = torch.autograd.grad(network(bit[None]).sum(), weights, allow_unused=True)
        parts = (torch.zeros_like(w) if slope is None else slope for w, slope in zip(weights, slopes, strict=True))
        rows.append(torch.cat([part.flatten() for part in parts]).double())
    gradients = torch.stack(rows)  # (m, P)
    found = torch.linalg.eigvalsh(2 / len(rows) * gradients @ gradients.T)
    return found.flip(0).clamp(min=0).numpy()


def rescaled(model: networks.Circuit, alpha: float) -> networks.Circuit:
    """The hand-built network with (αE, αb, F/α) in its MLP, changed in place: it computes the same function."""
    factors = {"E": alpha, "b": alpha, "F": 1 / alpha}
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, group in handmade.names(model).items():
            weights[name] *= factors.get(group, 1.0)
    return model


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial, build the others: four rows for each function."""
    targets, given, run, _ = domination.trained(trial)
    rows = []
    for k, seed in enumerate(trial.seeds):
        bits, network = findings.shown_bits(given[k]), run.ensemble.member(k)
        y = torch.as_tensor(given[k].table[cube.index(cube.to_signs(bits.numpy()))]).float()
        whole = sharpness.top_eigenvalue(network, bits, y, steps=20, tolerance=1e-3, exclude=findings.TRAINED).value
        found = {"learned": spectrum(network, bits, exclude=findings.TRAINED)} | _built(targets[k], trial.T, bits)
        row = {name: getattr(trial, name) for name in ("kind", "T", "m", "degree", "sparsity")}
        row |= {"seed": seed, "fitted": int(run.converged[k])}
        for name, values in found.items():
            line: dict[str, object] = {"network": name, "trace": float(values.sum())}
            line |= {"directions": float(values.sum() ** 2 / np.square(values).sum())}
            line |= {"whole": whole if name == "learned" else math.nan}
            rows.append(row | line | {f"e{place}": float(value) for place, value in enumerate(values[:COUNT], 1)})
    return rows


def _built(parts: cube.Components, T: int, bits: torch.Tensor) -> dict[str, np.ndarray]:
    plans = {grid: handmade.Design(parts, T, mode="soft", grid=grid) for grid in ("full", "trimmed")}
    alpha = findings.hand_built(plans["trimmed"], bits.numpy()).best_rescaling()
    models = [handmade.assemble(plan) for plan in plans.values()]
    models.append(rescaled(handmade.assemble(plans["trimmed"]), alpha))
    return {name: spectrum(model, bits, exclude=("tokens", "positions"))
            for name, model in zip(NETWORKS[1:], models, strict=True)}  # fmt: skip


# --- what it says -----------------------------------------------------------------------------------------------------


def _fitted(rows: Iterable[dict]) -> list[dict]:
    return [row for row in store.numbers(rows, "kind", "network") if row["fitted"]]


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: for every kind of function and of network, over the functions whose learned network fitted: how
    many there are, medians of the trace, of the largest eigenvalue, of its ``share`` of the trace and of
    ``directions``, and in how many the largest eigenvalue and the trace are ``above`` those of the learned network."""
    kept, found = _fitted(rows), []
    learned = {tuple(row[name] for name in _CELL): row for row in kept if row["network"] == "learned"}
    for kind, name in dict.fromkeys((row["kind"], row["network"]) for row in kept):
        own = [row for row in kept if (row["kind"], row["network"]) == (kind, name)]
        line: dict[str, object] = {"kind": kind, "network": name, "functions": len(own)}
        line |= {what: float(np.median([row[what] for row in own])) for what in ("trace", "e1", "directions")}
        line["share"] = float(np.median([row["e1"] / row["trace"] for row in own]))
        for what in ("trace", "e1"):
            line[f"{what}_above"] = sum(row[what] > learned[tuple(row[key] for key in _CELL)][what] for row in own)
        found.append(line)
    return {"networks": found or [{"kind": "none fitted"}]}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """SP-X3 agrees if the hand-built network has the larger trace and the larger largest eigenvalue, for functions with
    weights of both signs and for those of mixed degrees, by sign tests at 0.05 over the functions whose learned network
    fitted; in part, if some of these hold."""
    lines = {(line["kind"], line["network"]): line for line in summary(rows)["networks"]}
    rules, words = [], []
    for kind in KINDS:
        hand, rescaled = (lines[kind, name] for name in ("hand", "rescaled"))
        count, above = hand["functions"], (hand["trace_above"], hand["e1_above"])
        tests = [float(stats.binomtest(more, count, 0.5, alternative="greater").pvalue) for more in above]
        rules += [p < 0.05 for p in tests] if kind != "basic" else []
        words.append(
            f"{kind}: trace {above[0]} and largest eigenvalue {above[1]} of {count} (p = {tests[0]:.2g} and "
            f"{tests[1]:.2g}), rescaled {rescaled['trace_above']} and {rescaled['e1_above']}"
        )
    others = [row for row in _fitted(rows) if row["kind"] != "basic"]
    spread = {name: np.median([row["directions"] for row in others if row["network"] == name]) for name in NETWORKS}
    learned = [row for row in _fitted(rows) if row["network"] == "learned"]
    whole = np.median([row["whole"] / row["e1"] for row in learned])
    statement = (
        f"T = {learned[0]['T']:.0f}, m = {learned[0]['m']:.0f}; eigenvalues of the Hessian as if the error were 0. The "
        f"hand-built network is above the learned one in: {'; '.join(words)}. Directions (Σλ)²/Σλ², in the median over "
        "functions with weights of both signs: "
        + ", ".join(f"{name} {value:.2g}" for name, value in spread.items())
        + f". Of learned networks the largest eigenvalue of the whole Hessian is {whole:.2g} times that, in the median."
    )
    return [{"id": "SP-X3", "verdict": trends.verdict(rules), "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------

EXPERIMENT = Experiment(
    name="eigenvalues",
    version="1",
    title="Spectra of curvature of learned and hand-built networks",
    figures="SP Sec. 4.2",
    grids={
        "live": [Trial(kind, 2, 2, (0, 1), 5, 24, 300, 4) for kind in KINDS],
        "book": [trial for trial in domination.EXPERIMENT.trials("book") if not trial.strong],
        "paper": domination.EXPERIMENT.trials("paper"),
    },
    trial=trial,
    cost=domination.cost,
    summary=summary,
    measured=measured,
)
