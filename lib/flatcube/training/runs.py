"""What a training run is: its state, with many networks at once, each as if it were alone, and one step of it."""

import copy
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors
from flatcube.training import _checkpoints as checkpoints
from flatcube.training import optimiser
from flatcube.training.optimiser import Settings
from flatcube.training.tasks import Task

__all__ = ["Run"]

Measure = Callable[[nn.Module, int], Mapping[str, float]]  # (member, step) → numbers by name

_REASONS = ("", "end", "goal", "chance", "diverged")
_BUDGET = 1 << 28  # bytes of activations that members computed together may keep for the backward pass


@dataclass(frozen=True)
class Run:
    """What a training run leaves. Arrays have one entry for each of the K members.

    ``history`` has one row for each evaluation of each member, as columns: step, member, loss (the mean over the
    training batches since the last evaluation), error (on the evaluation points), and what was measured.
    """

    ensemble: nn.Module
    history: dict[str, np.ndarray]  # (rows,) each
    reasons: list[str]  # "end", "goal", "chance" or "diverged"
    ended: np.ndarray  # the step at which the member stopped
    reached: np.ndarray  # the step of its first error below the goal, or −1
    errors: np.ndarray  # at its last evaluation
    settings: Settings

    @property
    def converged(self) -> np.ndarray:
        """Which members end with an error below the goal (HR Sec. 7.1: 1e-3)."""
        return self.errors < self.settings.goal


class Trainer:
    """The state of a run, and one step of it."""

    def __init__(
        self,
        ensemble: nn.Module,
        tasks: Task | Sequence[Task],
        settings: Settings,
        seeds: Sequence[int] | None,
        measure: Measure | None,
    ) -> None:
        _check_ensemble(ensemble)
        checks.instance(settings, "settings", Settings)
        if not (measure is None or callable(measure)):
            raise TypeError(f"measure: expected a function of a member and a step, got {type(measure).__name__}")
        self.ensemble, self.settings, self.measure = copy.deepcopy(ensemble), settings, measure
        self.shapes = {name: p.shape[1:] for name, p in ensemble.named_parameters()}
        weights = torch.cat([p.detach().flatten(1) for p in ensemble.parameters()], 1)  # (K, P)
        count = self.count = len(weights)
        self.tasks = _each([tasks] * count if isinstance(tasks, Task) else tasks, count, "tasks")
        for task in self.tasks:
            checks.instance(task, "tasks", Task)
        seeds = range(count) if seeds is None else seeds
        self.seeds = [checks.integer(seed, "seeds", 0) for seed in _each(seeds, count, "seeds")]
        self.rate, self.decay = (
            torch.tensor(_each([given] * count if np.ndim(given) == 0 else given, count, name), dtype=torch.float64)
            for name, given in (("rate", settings.rate), ("decay", settings.decay))
        )  # (K,)
        numbers = torch.zeros(count, dtype=torch.float64)
        self.state = {
            "weights": weights,
            "first": torch.zeros_like(weights),  # AdamW's mean of gradients, or SGD's momentum
            "second": torch.zeros_like(weights if settings.optimiser == "adamw" else weights[:, :0]),
            "loss": numbers.clone(),  # summed since the last evaluation
            "error": numbers + math.inf,
            "least": numbers + math.inf,
            "reached": torch.full((count,), -1),
            "ended": torch.full((count,), -1),
            "reason": torch.zeros(count, dtype=torch.long),
        }
        self.step, self.columns, self.rows = 0, ["step", "member", "loss", "error"], []
        self.inputs, self.targets = self._stacked([task.evaluation() for task in self.tasks])
        if settings.loss == "logistic" and not self.targets.abs().eq(1).all():
            raise ValueError("tasks: expected functions with values ±1 for the logistic loss, got others")
        self.together = max(1, _BUDGET // self._kept())
        self.identity = self._identity()

    def advance(self) -> bool:
        """Evaluate if it is time, then do one step; False when no member is left to train."""
        if self._running().numel() and (self.step % self.settings.every == 0 or self.step == self.settings.steps):
            self._evaluate()
        running = self._running()
        if not running.numel():
            return False
        for some in running.split(self.together):
            self._descend(some)
        self.step += 1
        return True

    def _running(self) -> Tensor:
        return (self.state["reason"] == 0).nonzero()[:, 0]

    def _outputs(self, weights: Tensor, bits: Tensor) -> Tensor:
        """Weights (k, P) and bits (k, batch, n) to (k, batch)."""
        parts = weights.split([shape.numel() for shape in self.shapes.values()], 1)
        named = zip(self.shapes.items(), parts, strict=True)
        return self.ensemble.many({name: part.unflatten(1, shape) for (name, shape), part in named}, bits)

    def _descend(self, some: Tensor) -> None:
        """One step of the optimiser for some members (k,)."""
        size, members = self.settings.batch, some.tolist()
        bits, y = self._stacked([self.tasks[k].batch(size, seed=self.seeds[k], step=self.step) for k in members])
        weights, first, second = (self.state[name][some] for name in ("weights", "first", "second"))  # (k, P)
        gradient, losses = self._gradient(weights, bits, y)
        if self.settings.place != "here":
            seeds = [self.seeds[k] for k in members]
            shift = optimiser.aside(self.settings, weights.detach(), gradient, seeds, self.step)
            gradient, _ = self._gradient(weights.detach() + shift, bits, y)
        self.state["loss"][some] += losses.detach().double()
        state = optimiser.State(weights.detach(), first, second)
        optimiser.descend(self.settings, state, gradient, self.step, self.rate[some], self.decay[some])
        for name, value in state._asdict().items():
            self.state[name][some] = value

    def _gradient(self, weights: Tensor, bits: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients (k, P) of the losses (k,) at these weights (k, P)."""
        outputs = self._outputs(weights.requires_grad_(), bits)  # (k, batch)
        losses = optimiser.LOSSES[self.settings.loss](outputs, y).mean(1)  # (k,)
        (gradient,) = torch.autograd.grad(losses.sum(), weights)  # (k, P)
        return gradient, losses

    @torch.no_grad()
    def _evaluate(self) -> None:
        state, running = self.state, self._running()
        state["error"][running] = torch.cat([self._errors(some) for some in running.split(self.together)])
        state["least"] = torch.minimum(state["least"], state["error"])
        reached = (state["error"] < self.settings.goal) & (state["reached"] < 0)
        state["reached"][reached] = self.step
        self._record(running.tolist())
        state["loss"][:] = 0
        reason = self._reasons()[running]
        state["reason"][running] = reason
        state["ended"][running[reason > 0]] = self.step

    def _errors(self, some: Tensor) -> Tensor:
        """The errors (k,) of some members on their evaluation points: mean squares, or shares of wrong signs."""
        weights, pieces = self.state["weights"][some], self.inputs[some].split(self.settings.batch, 1)
        outputs = torch.cat([self._outputs(weights, bits) for bits in pieces], 1)  # (k, points)
        return optimiser.ERRORS[self.settings.loss](outputs, self.targets[some]).double().mean(1)

    def _reasons(self) -> Tensor:
        """Why each member would stop now, (K,) as a place in ``_REASONS``; 0 if it goes on."""
        settings, state = self.settings, self.state
        reason = torch.full((self.count,), _REASONS.index("end") if self.step == settings.steps else 0)
        level = settings.chance * self._constant()  # (K,)
        if settings.chance_after is not None and self.step >= settings.chance_after:
            reason[(state["least"] >= level) & (state["reached"] < 0)] = _REASONS.index("chance")
        if settings.after is not None:
            reason[(state["reached"] >= 0) & (self.step - state["reached"] >= settings.after)] = _REASONS.index("goal")
        reason[~state["error"].isfinite()] = _REASONS.index("diverged")
        return reason

    def _constant(self) -> Tensor:
        """The error (K,) of the best constant: the variance of the targets, or the share of the rarer sign."""
        if self.settings.loss == "squared":
            return self.targets.double().var(1, correction=0)
        ones = (self.targets > 0).double().mean(1)
        return torch.minimum(ones, 1 - ones)

    def _record(self, members: Sequence[int]) -> None:
        self._write_weights()
        since = (self.step - 1) % self.settings.every + 1 if self.step else math.nan
        for k in members:
            row = {"step": self.step, "member": k, "loss": float(self.state["loss"][k]) / since}
            row["error"] = float(self.state["error"][k])
            row |= self.measure(self.ensemble.member(k), self.step) if self.measure else {}
            self.columns = self.columns if self.rows else list(row)
            if list(row) != self.columns:
                raise ValueError(f"measure: expected the names {self.columns[4:]} as before, got {list(row)[4:]}")
            self.rows.append([float(value) for value in row.values()])

    def _write_weights(self) -> None:
        parts = self.state["weights"].split([shape.numel() for shape in self.shapes.values()], 1)
        with torch.no_grad():
            for p, part in zip(self.ensemble.parameters(), parts, strict=True):
                p.copy_(part.unflatten(1, p.shape[1:]))

    def _stacked(self, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[Tensor, Tensor]:
        """Bits (k, points, n) and values (k, points) of k members."""
        if len({bits.shape for bits, _ in parts}) > 1:
            raise ValueError("tasks: expected training sets of one size and length for all members, got several")
        bits, values = (np.stack(part) for part in zip(*parts, strict=True))
        return torch.from_numpy(bits), torch.from_numpy(values).to(next(self.ensemble.parameters()).dtype)

    def _kept(self) -> int:
        """The bytes that the forward pass of one member keeps for the backward pass."""
        sizes: list[int] = []

        def note(tensor: Tensor) -> Tensor:
            sizes.append(tensor.nbytes)
            return tensor

        bits, _ = self._stacked([self.tasks[0].batch(self.settings.batch, seed=0, step=0)])
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            self._outputs(self.state["weights"][:1].requires_grad_(), bits)
        return max(1, sum(sizes))

    def _identity(self) -> str:
        """A fingerprint of networks, tasks, seeds and settings: only a run with the same one can be resumed."""
        pairs = zip(self.tasks, self.seeds, strict=True)
        first = self._stacked([task.batch(self.settings.batch, seed=seed, step=0) for task, seed in pairs])
        words = json.dumps([asdict(self.settings), self.seeds, repr(getattr(self.ensemble, "config", None))])
        tensors = [self.state["weights"], self.inputs, self.targets, *first]
        return hashlib.sha256(words.encode() + b"".join(t.numpy().tobytes() for t in tensors)).hexdigest()

    def save(self, path: Path) -> None:
        table = torch.tensor(self.rows, dtype=torch.float64).reshape(-1, len(self.columns))
        notes = {"identity": self.identity, "step": str(self.step), "columns": json.dumps(self.columns)}
        checkpoints.write(path, self.state | {"history": table}, notes)

    def load(self, path: Path) -> None:
        tensors, notes = checkpoints.read(path)
        if notes.get("identity") != self.identity:
            raise ValueError(f"checkpoint: {path} is not of this run (other networks, tasks, seeds or settings)")
        self.rows = tensors.pop("history").tolist()
        self.state, self.step, self.columns = tensors, int(notes["step"]), json.loads(notes["columns"])

    def summary(self) -> str:
        """How things stand, in a few words for the progress bar."""
        reached = int((self.state["reached"] >= 0).sum())
        stopped = self.count - self._running().numel()
        return f"{reached} of {self.count} reached the goal, {stopped} stopped, least {self.state['error'].min():.2g}"

    def result(self) -> Run:
        self._write_weights()
        table = np.array(self.rows).reshape(-1, len(self.columns))
        history = {name: table[:, place] for place, name in enumerate(self.columns)}
        history |= {name: history[name].astype(int) for name in ("step", "member")}
        state, reasons = self.state, [_REASONS[code] for code in self.state["reason"].tolist()]
        ended, reached, errors = (state[name].numpy().copy() for name in ("ended", "reached", "error"))
        return Run(self.ensemble, history, reasons, ended, reached, errors, self.settings)


def _check_ensemble(ensemble: nn.Module) -> None:
    """Refuse what is not a module with weights (K, …) and the two methods of an ensemble."""
    weights = dict(tensors.network(ensemble, "ensemble").named_parameters())
    if not (callable(getattr(ensemble, "many", None)) and callable(getattr(ensemble, "member", None))):
        kind = type(ensemble).__name__
        raise TypeError(f"ensemble: expected a module with methods many and member, such as an Ensemble, got {kind}")
    sizes: dict[str, int] = {}
    if not weights:
        raise ValueError("ensemble: expected some weights, got none")
    for name, weight in weights.items():
        tensors.weights(weight.detach(), f"ensemble: {name}", ("K", *weight.shape[1:]), sizes)


def _each(values: Sequence, count: int, name: str) -> list:
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise TypeError(f"{name}: expected {count}, one for each member, got {values!r:.60}")
    if len(values) != count:
        raise ValueError(f"{name}: expected {count}, one for each member, got {len(values)}")
    return list(values)
