"""How noise in its weights changes the curvature of the hand-built network (SP Sec. 2.3, Figs 3 and 4).

    flatcube run perturbed --scale book

A row is one random function of w components of degree d on T bits, and one σ. ``trace`` is Tr ∇²L of the hand-built
network (hard mode), ``perturbed`` the mean of it after noise N(0, σ²) in every weight, ``loss`` the mean loss then;
both have a standard error, of differences to the same probes without noise. Second derivatives do not see kinks, the
loss does: 2 loss/σ² is the curvature that PAC-Bayes asks for, and would be the trace if the loss were quadratic.
``bound`` is the mean over inputs of R²_x, which ``pacbayes.gaussian`` proves for the change of the output, with
probability 0.999 at each; so 2 bound/σ² is what the analysis allows. ``no_flip`` is the share of inputs at which it can
exclude that a ReLU flips.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flatcube import checks, cube, handmade, pacbayes, sampling, sharpness
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment

__all__ = ["SIGMAS", "Trial", "trial", "summary", "measured", "EXPERIMENT"]

SIGMAS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
_INPUTS = ("tokens", "positions")
_RARE = 1e-3


@dataclass(frozen=True)
class Trial:
    """One random function, all σ."""

    T: int
    degree: int
    sparsity: int
    seed: int
    inputs: int = 48
    directions: int = 50

    def __post_init__(self) -> None:
        for name, least in {"T": 1, "degree": 1, "sparsity": 1, "seed": 0, "inputs": 1, "directions": 2}.items():
            checks.integer(getattr(self, name), name, least)


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each σ; the same directions for all."""
    rng = np.random.default_rng([trial.seed, trial.T, trial.degree, trial.sparsity])
    plan = handmade.Design(cube.random_components(trial.T, trial.degree, trial.sparsity, rng=rng), trial.T)
    bits = cube.to_bits(sampling.random_signs((trial.inputs, trial.T), rng=rng))
    model, where = handmade.assemble(plan), pacbayes.place(plan, bits)
    trace = pacbayes.of_model(model, bits).trace
    options = {"directions": trial.directions, "seed": trial.seed, "exclude": _INPUTS}
    still = sharpness.perturbed_trace(model, bits, rho=0.0, **options).draws  # the same probes without noise
    rows = []
    for sigma in SIGMAS:
        moved = sharpness.perturbed_trace(model, bits, rho=sigma, **options).draws - still
        loss = pacbayes.noisy_loss(model, bits, sigma=sigma, flat=sigma**2 / 2 * trace, **options)
        change = pacbayes.gaussian(where, sigma, _RARE)
        rows.append({
            "T": trial.T, "degree": trial.degree, "sparsity": trial.sparsity, "seed": trial.seed, "sigma": sigma,
            "trace": trace, "perturbed": trace + float(moved.mean()),
            "perturbed_error": float(moved.std(ddof=1)) / math.sqrt(len(moved)),
            "loss": loss.value, "loss_error": loss.error,
            "bound": float(np.square(change.bound).mean()), "no_flip": float(change.no_flip.mean()),
        })  # fmt: skip
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def _ratios(rows: Iterable[dict]) -> list[dict[str, float]]:
    """Rows as numbers, with ``shift``, by which share of the trace 2 loss/σ² exceeds it; ``change`` and ``excess``, how
    far the trace and 2 loss/σ² move at most, two standard errors included; ``allowed``, how far the bound lets them."""
    found = []
    for row in store.numbers(rows):
        trace, half = row["trace"], row["sigma"] ** 2 / 2
        found.append(row | {
            "shift": (row["loss"] / half - trace) / trace,
            "change": (abs(row["perturbed"] - trace) + 2 * row["perturbed_error"]) / trace,
            "excess": (abs(row["loss"] / half - trace) + 2 * row["loss_error"] / half) / trace,
            "allowed": row["bound"] / half / trace - 1,
        })  # fmt: skip
    return found


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``lengths``: for every T and σ, the largest change and excess over all functions, as SP take it, the least that
    the bound allows, and the mean share of inputs without a flip. ``slopes``: of the shift against T at every σ (not of
    the excess, which has standard errors in it: these may grow with T while nothing else does)."""
    rows = _ratios(rows)
    lengths, slopes = [], []
    for T, sigma in sorted({(row["T"], row["sigma"]) for row in rows}):
        own = [row for row in rows if (row["T"], row["sigma"]) == (T, sigma)]
        most = {name: max(row[name] for row in own) for name in ("change", "excess")}
        flips = float(np.mean([row["no_flip"] for row in own]))
        allowed = min(row["allowed"] for row in own)
        line = {"T": int(T), "sigma": sigma, "functions": len(own)}
        lengths.append(line | most | {"allowed": allowed, "no_flip": flips})
    for sigma in sorted({row["sigma"] for row in rows}):
        own = [row for row in rows if row["sigma"] == sigma]
        slopes.append({"sigma": sigma} | trends.line([row["T"] for row in own], [row["shift"] for row in own]))
    return {"lengths": lengths, "slopes": slopes}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """SP-F3 agrees if at every length and σ the largest change of the trace over all functions, and the largest excess
    of the loss, standard errors included, are below a tenth of the least that the bound allows; in part, if at some."""
    lines = summary(rows)["lengths"]
    rules = [max(line["change"], line["excess"]) < 0.1 * line["allowed"] for line in lines]
    last = [line for line in lines if line["sigma"] == max(SIGMAS)]
    low = [line for line in lines if line["sigma"] == 1e-3]
    shown = "; ".join(
        "σ = {:g}: {:.0%} of the trace at most, where the bound allows {:,.0f} times the trace at least".format(
            some[0]["sigma"], max(max(line["change"], line["excess"]) for line in some),
            min(line["allowed"] for line in some),
        )
        for some in (low, last)
    )  # fmt: skip
    slope = next(line for line in summary(rows)["slopes"] if line["sigma"] == max(SIGMAS))
    lengths = sorted({line["T"] for line in lines})
    statement = (
        f"T = {lengths[0]} to {lengths[-1]}, {last[0]['functions']} random functions each, σ up to {max(SIGMAS):g}. "
        f"Change of the trace or excess of the loss by noise, two standard errors included, {shown}. By how "
        f"much more 2 loss/σ² exceeds the trace for each further bit, at the largest σ, with its 95 % interval: "
        f"{trends.said(slope)} of the trace. The bound is ours, because the formulas of SP's are not in our text."
    )
    return [{"id": "SP-F3", "verdict": trends.verdict(rules), "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    return len(SIGMAS) * trial.directions * trial.inputs * (trial.T + 1) ** 1.5 * 3e-6 + 0.2


def _grid(lengths: Iterable[int], cells: Iterable[tuple[int, int]], seeds: int, **options: int) -> list[Trial]:
    cells = list(cells)
    return [Trial(T, d, w, seed, **options) for T in lengths for d, w in cells for seed in range(seeds)]


_CELLS = ((1, 1), (2, 4), (4, 1), (4, 4))

EXPERIMENT = Experiment(
    name="perturbed",
    version="1",
    title="Curvature of the hand-built network with noise in its weights",
    figures="SP Figs 3, 4",
    grids={
        "live": _grid((4, 6), [(2, 2)], 1, inputs=8, directions=10),
        "book": _grid((8, 12, 16), _CELLS, 5),
        "paper": _grid((10, 15, 20, 30), [(d, w) for d in range(1, 6) for w in (1, 2, 4, 8)], 10, inputs=512),
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
