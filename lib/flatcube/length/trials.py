"""Networks trained on the cast of the book and measured on the way: what the experiments of chapter 12 share.

One row is one network at one step. Its ``error`` is the mean squared error on fixed inputs. ``sharpness`` is L_ρ of HR
Eq. (15) for Gaussian shifts with ρ = 0.02, ``deviation`` its standard error over the directions, ``relative`` the same
divided by the variance of the outputs; ``norm`` is ‖θ‖ and ``radius`` the size of the shifts as a share of it. Position
encodings are neither shifted nor counted. ``blowup`` is the mean over inputs of log ∏ max N over the layer norms (HR
Sec. 7.1), not a number without them. On the way, a fifth of the directions and a quarter of the inputs are used, the
same at all steps and for all networks of a length; in a network's last row all are, with directions of its own. So the
last row is not to be compared with those before, and the scatter of networks on the way does not show the error of the
directions that they share.

How the network ended stands in all of its rows: it ``converged`` if its last error is below 10⁻³ (HR Sec. 7.1); the
``reason`` it stopped at step ``ended`` is *chance*, if after ``chance_after`` steps it never did better than 0.9 of the
error of the best constant, *diverged*, or *end*; ``reached`` is the step of its first error below 10⁻³, or −1.

HR trains on targets 0 and 1 and multiplies by 4. Here the targets are ±1, and nothing is multiplied. The two
are not the same: a read-out for 0 and 1 is half as large, but shifted as much, so its part counts four times in HR's.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from flatcube import blowup, cast, checks, cube, sampling, sharpness, training
from flatcube.experiments import store
from flatcube.networks.config import Config
from flatcube.networks.encoder import Ensemble

__all__ = ["FUNCTIONS", "KINDS", "RHO", "Trial", "seeds", "encoders", "rows", "cost", "last"]

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **cast.FUNCTIONS,
    "HALF": lambda signs: signs[:, : signs.shape[-1] // 2].prod(-1, dtype=float),  # PARITY of the first half
}
KINDS = {"encoder": {}, "rms": {"rms": True}, "causal": {"causal": True}}  # options of ``Config``
RHO = 0.02
_POINTS = 1024  # inputs for the sharpness; all of them, if there are fewer


@dataclass(frozen=True)
class Trial:
    """Networks of one kind and length, trained together: for every function, one with each of the ``draws``."""

    functions: tuple[str, ...]
    n: int
    draws: tuple[tuple[int, float, float], ...]  # seed, learning rate, weight decay
    kind: str = "encoder"
    width: int = 64
    batch: int = 256
    steps: int = 6000
    schedule: str = "hold"
    chance_after: int | None = 4000
    every: int = 250
    directions: int = 100

    def __post_init__(self) -> None:
        if not self.functions or not FUNCTIONS.keys() >= set(self.functions):
            raise ValueError(f"functions: expected some of {', '.join(FUNCTIONS)}, got {self.functions!r}")
        checks.integer(self.n, "n", 1)
        if not self.draws:
            raise ValueError("draws: expected seed, rate and decay of at least one network, got none")

    @property
    def members(self) -> list[tuple[str, int, float, float]]:
        """Function, seed, learning rate and weight decay of every network, in the order of the rows."""
        return [(function, *draw) for function in self.functions for draw in self.draws]


def seeds(trial: Trial) -> list[int]:
    """The seed of every network's first weights and batches: none is shared between functions or lengths."""
    names = list(FUNCTIONS)
    return [1000 * (trial.n + 1000 * names.index(function)) + seed for function, seed, _, _ in trial.members]


def encoders(trial: Trial) -> Ensemble:
    """The untrained encoders of a trial."""
    if trial.kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {trial.kind!r}")
    config = Config(n=trial.n, width=trial.width, **KINDS[trial.kind])
    return Ensemble(config, seeds=seeds(trial), dtype=torch.float32)


def rows(trial: Trial, ensemble: nn.Module) -> list[dict[str, object]]:
    """Train the networks of a trial and measure each on the way: all rows of the first, then of the second, …"""
    members, drawn = trial.members, seeds(trial)
    _, _, rates, decays = zip(*members, strict=True)
    settings = training.Settings(
        steps=trial.steps, batch=trial.batch, rate=rates, decay=decays, schedule=trial.schedule,
        every=min(trial.every, trial.steps), chance_after=trial.chance_after,
    )  # fmt: skip
    tasks = [training.Task(FUNCTIONS[function], trial.n) for function, *_ in members]
    bits = _inputs(trial.n)

    def measure(member: nn.Module, step: int) -> dict[str, float]:
        return _measured(member, bits[: _POINTS // 4], max(2, trial.directions // 5), trial.n)

    run = training.train(ensemble, tasks, settings, seeds=drawn, measure=measure, progress=False)
    found = []
    for k, member in enumerate(members):
        found += _history(run, k, trial, member)
        found[-1] |= _measured(run.ensemble.member(k), bits, trial.directions, drawn[k])
    return found


def _history(run: training.Run, k: int, trial: Trial, member: Sequence) -> list[dict[str, object]]:
    function, seed, rate, decay = member
    network = {"kind": trial.kind, "function": function, "n": trial.n, "seed": seed, "rate": rate, "decay": decay,
               "width": trial.width, "steps": trial.steps}  # fmt: skip
    end = {"converged": int(run.converged[k]), "reason": run.reasons[k], "ended": int(run.ended[k]),
           "reached": int(run.reached[k])}  # fmt: skip
    own = run.history["member"] == k
    columns = {name: column[own].tolist() for name, column in run.history.items() if name not in ("member", "loss")}
    return [network | dict(zip(columns, values, strict=True)) | end for values in zip(*columns.values(), strict=True)]


def _inputs(n: int) -> torch.Tensor:
    """Bits (points, n) on which sharpness and blow-up are measured, in random order."""
    whole = 2**n <= _POINTS
    rng = np.random.default_rng(n)
    signs = rng.permutation(cube.points(n)) if whole else sampling.random_signs((_POINTS, n), rng=rng)
    return torch.as_tensor(cube.to_bits(signs)).long()


def _measured(model: nn.Module, bits: torch.Tensor, directions: int, seed: int) -> dict[str, float]:
    found = sharpness.average_direction(model, bits, rho=RHO, directions=directions, seed=seed)
    normed = hasattr(model, "activations")
    return {
        "sharpness": found.value,
        "deviation": found.error,
        "relative": found.relative if found.variance > 0 else math.nan,
        "norm": sharpness.parameter_norm(model),
        "radius": found.relative_radius,
        "blowup": float(blowup.measure(model, bits).log_product.mean()) if normed else math.nan,
    }


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 12 ms for each encoder and step of width 64 with a batch of 256 at n = 8."""
    step = 1.35e-3 * trial.n * (trial.width / 64) ** 1.2 * trial.batch / 256 + 1e-3
    step += 2e-7 * trial.n**2 * trial.batch / 64  # what attention costs where it is long
    return (step * len(trial.members) + 2e-3) * trial.steps


_WORDS = ("kind", "function", "reason")


def last(rows: Iterable[dict]) -> list[dict[str, object]]:
    """The last row of every network, its numbers as numbers also where the rows come from a file."""
    found = {}
    for kept in store.numbers(rows, *_WORDS):
        found[tuple(kept[name] for name in ("kind", "function", "n", "seed", "rate", "decay", "width"))] = kept
    return list(found.values())
