"""The rival explanation: how much of the first gradient says which function is to be learnt, against the length.

    flatcube run signal --scale book

For a network T_θ and a target f the loss is L = E_x (T_θ(x) − f(x))², x uniform on the cube, and its gradient is

    ∇L = 2 E_x T_θ(x)∇T_θ(x) − 2 g_f,    g_f = ∇_θ E_x f(x)T_θ(x) = E_x f(x)∇T_θ(x).

Only g_f knows the target. ``signal`` is 2‖g_f‖, ``noise`` the root mean square distance of the gradient on a batch of B
random inputs from ∇L,

    noise² = (4 E_x (T_θ(x) − f(x))² ‖∇T_θ(x)‖² − ‖∇L‖²)/B.

All means are over the whole cube, in double precision, at the random weights that training starts from, and gradients
are by all weights, position encodings too. So B (noise/signal)² inputs make noise and signal equally large.

g_f is linear in f: g_f = Σ_S f̂(S) g_S with g_S that of the parity of S, and by Parseval Σ_S ‖g_S‖² = E_x ‖∇T_θ(x)‖².
The mean of ‖g_S‖² over all 2ⁿ parities is thus 2⁻ⁿ E_x ‖∇T_θ(x)‖² exactly, whatever the network (Shalev-Shwartz,
Shamir and Shammah 2017). RANDOM stands for it: root mean squares over all Boolean functions, which have the same mean.
LEVEL is Σ ±χ_S over all S of ⌊n/2⌋ bits, with random signs and variance 1: its ‖g‖² is, in the mean, that of these S.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from flatcube import checks, cube, fourier
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.length.trials import FUNCTIONS
from flatcube.networks.config import Config
from flatcube.networks.encoder import Encoder
from flatcube.sharpness import gradients

__all__ = ["Trial", "correlation_gradients", "trial", "summary", "EXPERIMENT"]

_TARGETS = (*FUNCTIONS, "LEVEL", "RANDOM")
_SHORTEST = 4  # of the lengths that enter a rate
_CHUNK = 1024  # inputs at once


@dataclass(frozen=True)
class Trial:
    """Untrained encoders for inputs of n bits, one for each seed, and the size of a batch."""

    n: int
    seeds: tuple[int, ...]
    width: int = 32
    batch: int = 256

    def __post_init__(self) -> None:
        checks.integer(self.n, "n", 2, 20)
        checks.integer(self.batch, "batch", 1)
        if not self.seeds:
            raise ValueError("seeds: expected one for each network, got none")


def _targets(n: int, seed: int) -> dict[str, np.ndarray]:
    """The tables (2^n,) of all targets but RANDOM; the signs of LEVEL come from the seed."""
    sizes = (cube.points(n) < 0).sum(1)
    signs = np.random.default_rng([n, seed]).choice([-1.0, 1.0], 2**n)
    level = np.where(sizes == n // 2, signs, 0.0)
    tables = {name: f(cube.points(n)) for name, f in FUNCTIONS.items()}
    return tables | {"LEVEL": fourier.inverse(level / np.linalg.norm(level))}


def correlation_gradients(model: Encoder, tables: np.ndarray) -> Tensor:
    """g_f (F, P) for F tables (F, 2^n), by all P weights as one vector."""
    bits = torch.as_tensor(cube.to_bits(cube.points(model.config.n))).long()
    tables, weights = torch.as_tensor(tables).to(model.tokens), [*model.parameters()]
    found = torch.zeros(len(tables), sum(weight.numel() for weight in weights), dtype=tables.dtype)
    for some, values in zip(bits.split(_CHUNK), tables.split(_CHUNK, 1), strict=True):
        means = (values @ model(some) / len(bits)).unbind()  # this chunk's part of E_x f(x)T(x)
        for place, mean in enumerate(means):
            parts = torch.autograd.grad(mean, weights, retain_graph=True)
            found[place] += torch.cat([part.flatten() for part in parts])
    return found


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each network and target."""
    return [row for seed in trial.seeds for row in _rows(trial, seed)]


def _rows(trial: Trial, seed: int) -> list[dict[str, object]]:
    n = trial.n
    model = Encoder(Config(n=n, width=trial.width), seed=1000 * n + seed, dtype=torch.float64)  # another at every n
    bits = torch.as_tensor(cube.to_bits(cube.points(n))).long()
    squares = sum(gradients.gradient_norms(model, bits, exclude=()).values()).detach().numpy()  # ‖∇T(x)‖², (2^n,)
    tables = _targets(n, seed)
    outputs = model(bits).detach().numpy()
    *each, push = correlation_gradients(model, np.stack([*tables.values(), outputs])).numpy()  # push: E_x T(x)∇T(x)
    parts = {  # by target: ‖g_f‖², ‖∇L‖²/4 and E_x (T(x) − f(x))² ‖∇T(x)‖²
        name: (np.sum(g**2), np.sum((push - g) ** 2), np.mean((outputs - table) ** 2 * squares))
        for (name, table), g in zip(tables.items(), each, strict=True)
    }
    typical = squares.mean() / 2**n  # the mean over all f of ‖g_f‖²; that of f is 0, of f² 1
    parts["RANDOM"] = (typical, np.sum(push**2) + typical, np.mean((outputs**2 + 1) * squares))
    return [
        {"function": name, "n": n, "seed": seed, "width": trial.width, "batch": trial.batch,
         "signal": 2 * math.sqrt(own), "noise": 2 * math.sqrt((second - whole) / trial.batch)}
        for name, (own, whole, second) in parts.items()
    ]  # fmt: skip


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """Tables of the rows, as computed or as stored.

    ``lengths``: for every target and length the geometric means over the networks of signal (with a 95 % interval by
    Student's t on its logarithm), noise and signal/noise, and ``inputs``, the number that makes the two equally large.
    ``rates``: slopes per bit of the straight lines through log₂ signal and log₂ signal/noise of all networks, n ≥ 4,
    with 95 % intervals by Student's t: −½ is what RANDOM has, if E‖∇T‖² does not change with n.
    """
    kept = store.numbers(rows, "function")
    lengths, rates = [], []
    for function in [name for name in _TARGETS if any(row["function"] == name for row in kept)]:
        mine = [row for row in kept if row["function"] == function]
        lengths += [_at(function, n, [row for row in mine if row["n"] == n]) for n in sorted({r["n"] for r in mine})]
        rates.append({"function": function} | _rate([row for row in mine if row["n"] >= _SHORTEST]))
    return {"lengths": lengths, "rates": rates}


def _at(function: str, n: float, rows: list[dict]) -> dict[str, object]:
    signal, ratio = np.log2([row["signal"] for row in rows]), np.log2([row["signal"] / row["noise"] for row in rows])
    half = stats.t.ppf(0.975, len(rows) - 1) * stats.sem(signal) if len(rows) > 1 else math.nan
    found = {"signal": signal.mean(), "low": signal.mean() - half, "high": signal.mean() + half,
             "noise": (signal - ratio).mean(), "ratio": ratio.mean()}  # fmt: skip
    found = {name: float(2**value) for name, value in found.items()}
    return {"function": function, "n": int(n), "networks": len(rows), **found,
            "inputs": rows[0]["batch"] / found["ratio"] ** 2}  # fmt: skip


def _rate(rows: list[dict]) -> dict[str, float]:
    n, found = [row["n"] for row in rows], {"networks": len(rows)}
    signal = {"signal": [row["signal"] for row in rows], "ratio": [row["signal"] / row["noise"] for row in rows]}
    for name, values in signal.items():
        line = trends.line(n, np.log2(values))
        found |= {name: line["slope"], f"{name}_low": line["low"], f"{name}_high": line["high"]}
    return found


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: half a millisecond for every network and input."""
    return (5e-4 * 2**trial.n * (trial.width / 32) ** 1.5 + 0.1) * len(trial.seeds)


def _grid(lengths: range, networks: int, width: int = 32) -> list[Trial]:
    return [Trial(n, tuple(range(networks)), width) for n in lengths]


EXPERIMENT = Experiment(
    name="signal",
    version="1",
    title="How much of the first gradient knows the target, against the length of the inputs",
    figures="beyond the papers",
    grids={"live": _grid(range(2, 7), 4, 16), "book": _grid(range(2, 15), 12), "paper": _grid(range(2, 17), 30, 128)},
    trial=trial,
    cost=cost,
    summary=summary,
)
