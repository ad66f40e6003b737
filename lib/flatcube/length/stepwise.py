"""Sharpness of networks that write PARITY down step by step, against the length of their inputs (HR Fig. 11).

    flatcube run stepwise --scale book

An encoder-decoder reads x_1 … x_n and writes t_i = x_i xor t_{i−1} for i = 1 … n, with t_0 = 0: the last is PARITY. In
training, and wherever it is measured, step i sees the right t_1 … t_{i−1}. Rows are as in ``trials``, with the error
and the sharpness averaged over the n steps, as HR do; ``final`` is the sharpness of step n alone, which computes
PARITY of all bits. ``free`` is the share of right bits when, after training, the network reads what it wrote itself.

Embeddings, layers and widths are HR's. At book scale the batch is an eighth of theirs, the steps are 1500 at all
lengths instead of 10,000, and the learning rate is larger.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.sharpness import parameter_norm
from flatcube.sharpness.landscape import Landscape, random_source, random_vectors
from flatcube.training.optimiser import Settings

__all__ = ["Trial", "Network", "states", "freely", "squares", "trial", "summary", "measured", "EXPERIMENT"]

_POINTS = 64  # inputs for the sharpness; four times as many for errors


@dataclass(frozen=True)
class Trial:
    """One network, and how it is trained and measured."""

    n: int
    seed: int
    width: int = 32
    batch: int = 16
    steps: int = 1500
    rate: float = 1e-3
    decay: float = 0.1
    schedule: str = "hold"
    every: int = 250
    directions: int = 100
    rho: float = 0.02

    def __post_init__(self) -> None:
        for name, least in {"n": 1, "seed": 0, "batch": 1, "steps": 1, "every": 1, "directions": 10}.items():
            checks.integer(getattr(self, name), name, least)
        if self.width < 4 or self.width % 4:  # halves for symbol and position, and two heads
            raise ValueError(f"width: expected a multiple of 4, got {self.width!r}")


def states(bits: Tensor) -> Tensor:
    """The right scratchpad t (batch, n) for bits (batch, n)."""
    return bits.cumsum(1) % 2


class Network(nn.Module):
    """HR's encoder-decoder: bits (batch, n) to outputs (batch, n), of which number i is to be (−1)^{t_i}.

    Two layers with two heads each, post layer norm. Half of the width is for the symbol and half for the position;
    input and scratchpad share both.
    """

    def __init__(self, n: int, *, width: int = 32, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.tokens = nn.Parameter(torch.randn(3, width // 2))  # 0, 1 and the start
            self.positions = nn.Parameter(torch.randn(n, width // 2))
            self.body = nn.Transformer(width, 2, 2, 2, dim_feedforward=width, dropout=0.0, batch_first=True)
            self.readout = nn.Linear(width, 1)

    def forward(self, bits: Tensor, written: Tensor | None = None) -> Tensor:
        """The outputs where the scratchpad holds ``written`` (batch, n), by default what is right.

        Output i depends on the first i − 1 of them only.
        """
        before = (states(bits) if written is None else written)[:, :-1]
        shown = torch.cat([torch.full_like(bits[:, :1], 2), before], 1)
        read, wrote = (
            torch.cat([self.tokens[symbols], self.positions.expand(len(bits), -1, -1)], -1) for symbols in (bits, shown)
        )
        mask = nn.Transformer.generate_square_subsequent_mask(bits.shape[1])
        return self.readout(self.body(read, wrote, tgt_mask=mask, tgt_is_causal=True))[..., 0]


@torch.no_grad()
def freely(model: Network, bits: Tensor) -> Tensor:
    """What the network writes, (batch, n), when it reads what it wrote itself.

    Pass after pass over all steps at once: after i passes the first i steps are settled, as they see no later ones.
    """
    written = states(bits)
    for _ in range(bits.shape[1]):
        before, written = written, (model(bits, written) < 0).long()
        if torch.equal(before, written):
            break
    return written


def squares(model: Network, bits: Tensor, *, rho: float, directions: int, seed: int) -> Tensor:
    """(f_{θ+Δ}(x) − f_θ(x))² averaged over inputs, for every direction and step: (directions, n).

    Gaussian shifts with standard deviation ρ; its mean over the directions is HR Eq. (15) for each step.
    """
    land = Landscape(model, bits)
    shifts = random_vectors(directions, land.theta, seed=seed, chunk=10)
    return torch.cat([(land.outputs(rho * some) - land.base).double().square().mean(1) for some in shifts])


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train and measure one network: a row for each time it is measured."""
    model = Network(trial.n, width=trial.width, seed=trial.seed)
    source, points = random_source(trial.seed, f"batches {trial.n}"), random_source(trial.n, "points")
    bits = torch.randint(2, (4 * _POINTS, trial.n), generator=points)
    optimiser = torch.optim.AdamW(model.parameters(), lr=trial.rate, weight_decay=trial.decay)
    plan, rows = Settings(steps=trial.steps, schedule=trial.schedule), []
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, plan.factor)
    for step in range(trial.steps + 1):
        if step % trial.every == 0 or step == trial.steps:
            rows.append({"step": step} | _measured(model, bits, trial, step == trial.steps))
        if step < trial.steps:
            optimiser.zero_grad()
            _errors(model, torch.randint(2, (trial.batch, trial.n), generator=source)).mean().backward()
            optimiser.step()
            schedule.step()
    network = {name: getattr(trial, name) for name in ("n", "seed", "width", "batch", "steps")}
    reached = next((row["step"] for row in rows if row["error"] < 1e-3), -1)
    right = (freely(model, bits) == states(bits)).double().mean()
    end = {"converged": int(rows[-1]["error"] < 1e-3), "reached": reached, "free": float(right)}
    return [network | row | end for row in rows]


def _errors(model: Network, bits: Tensor) -> Tensor:
    return (model(bits) - (1 - 2.0 * states(bits))).square()


def _measured(model: Network, bits: Tensor, trial: Trial, last: bool) -> dict[str, float]:
    """On the way a fifth of the directions, the same at all steps and for all seeds; at the end all, others each."""
    directions, seed = (trial.directions, 1 + trial.seed) if last else (max(2, trial.directions // 5), 0)
    with torch.no_grad():
        error = _errors(model, bits).double().mean()
    found = squares(model, bits[:_POINTS], rho=trial.rho, directions=directions, seed=seed)
    return {
        "error": float(error),
        "sharpness": float(found.mean()),
        "deviation": float(found.mean(1).std()) / math.sqrt(directions),
        "final": float(found[:, -1].mean()),
        "norm": parameter_norm(model),
    }


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """Tables of the rows, as computed or as stored.

    ``lengths``: for every length, how many networks there are and how many ``converged``; mean, least and largest
    sharpness of these; means of ``final`` of these, of ``free`` over all, and of the sharpness of all ``untrained``.
    ``slopes``: those of ``sharpness`` and ``final`` against the length, over the networks that converged, with 95 %
    intervals in which each length has a scatter of its own; and again ``beyond`` the shortest length.
    """
    numbers = store.numbers(rows)
    ends, lengths = {(row["n"], row["seed"]): row for row in numbers}, []  # the last row of each network
    for n in sorted({n for n, _ in ends}):
        mine = [row for row in ends.values() if row["n"] == n]
        good = [row for row in mine if row["converged"]]
        counts = {"n": int(n), "runs": len(mine), "converged": len(good)}
        means = {"final": _mean("final", good), "free": _mean("free", mine)}
        means["untrained"] = _mean("sharpness", [row for row in numbers if row["n"] == n and row["step"] == 0])
        lengths.append(counts | trends.spread([r["sharpness"] for r in good]) | means)
    good = [row for row in ends.values() if row["converged"]]
    slopes = [{"of": of, "networks": len(good)} | _slope(of, good) for of in ("sharpness", "final")]
    far = [row for row in good if row["n"] > min(n for n, _ in ends)]
    beyond = [{"of": of, "networks": len(far)} | _slope(of, far) for of in ("sharpness", "final")]
    return {"lengths": lengths, "slopes": slopes, "beyond": beyond}


def _slope(name: str, rows: list[dict]) -> dict[str, float]:
    if len({row["n"] for row in rows}) < 2:
        return dict.fromkeys(("slope", "low", "high"), math.nan)
    found = trends.own_slope([row["n"] for row in rows], [row[name] for row in rows])
    return {"slope": found["value"], "low": found["low"], "high": found["high"]}


def _mean(name: str, rows: list[dict]) -> float:
    return trends.spread([row[name] for row in rows])["mean"]


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What the stored rows say of HR-F11.

    The claim has two parts: sharpness is low, here below a tenth of the outputs' variance 1 at every length, and it
    does not clearly grow: the interval of the slope reaches down to 0. Neither counts unless most networks converge at
    every length.
    """
    tables = summary(rows)
    (steps, final), known = tables["slopes"], [line for line in tables["lengths"] if line["converged"]]
    listed = ", ".join(f"{line['mean']:.3f} (n = {line['n']}, {line['converged']} of {line['runs']})" for line in known)
    grows = " and ".join(
        f"{1000 * line['slope']:+.2f} per 1000 bits for {name} (95 % interval {1000 * line['low']:+.2f} to "
        f"{1000 * line['high']:+.2f})" for name, line in (("all steps", steps), ("the last step", final))
    )  # fmt: skip
    (after, _), shortest = tables["beyond"], tables["lengths"][0]["n"]
    enough = all(2 * line["converged"] > line["runs"] for line in tables["lengths"])
    low, flat = all(line["most"] < 0.1 for line in known), max(steps["low"], final["low"]) <= 0
    untrained = trends.spread([line["untrained"] for line in tables["lengths"]])
    statement = (
        f"Mean sharpness of the networks that converged: {listed}; before training "
        f"{untrained['least']:.3f} to {untrained['most']:.3f}. Slopes, each length with its own scatter: {grows}; "
        f"without {shortest} bits {1000 * after['slope']:+.2f} ({1000 * after['low']:+.2f} to "
        f"{1000 * after['high']:+.2f}) for all steps."
    )
    return [{"id": "HR-F11", "verdict": trends.verdict([enough and low, enough and flat]), "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 60 ms for each step of 128 bits with a batch of 16."""
    step = 0.012 + 0.00035 * trial.n * trial.batch / 16 * (1 + trial.n / 1000)
    return step * (trial.steps + (trial.steps / trial.every + 5) * trial.directions / 5)


def _book() -> list[Trial]:
    return [Trial(n, seed) for n in (8, 16, 32, 64, 128) for seed in range(3)]


def _paper() -> list[Trial]:
    """HR's public code: 30 lengths from 4 to 1024, 10 seeds, batch 128, 10,000 steps at 3·10⁻⁴."""
    options = {"batch": 128, "steps": 10_000, "rate": 3e-4, "schedule": "constant", "every": 1000}
    return [Trial(4 + k * 1020 // 29, seed, **options) for k in range(30) for seed in range(10)]


def _live() -> list[Trial]:
    options = {"steps": 150, "every": 50, "rate": 3e-3, "directions": 20}
    return [Trial(n, seed, **options) for n in (2, 4) for seed in range(2)]


EXPERIMENT = Experiment(
    name="stepwise",
    version="1",
    title="Sharpness of networks that write PARITY down step by step",
    figures="HR Fig. 11",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
