"""The loss of a network as a function of its weights, evaluated at many shifted copies in bounded memory.

    L(θ) = E_x (f_θ(x) − y(x))²,    θ ∈ R^D the chosen weights as one vector, x over given inputs.

Without targets y(x) = f_θ(x) at the network's own weights, which then are a minimum with loss zero; other losses need
targets. The network is run as after ``eval()``, and is afterwards what it was. Every method takes
K shifts at once, (K, D), and works on a few copies and inputs at a time: so many that all values computed for them fit
in ``budget`` bytes. The draws of an estimate do not depend on how they were cut.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import data, tensors
from flatcube.networks.copies import many
from flatcube.networks.guests import at_rest, twice_differentiable, warn_of_training
from flatcube.networks.interface import Network
from flatcube.networks.memory import keep_memory
from flatcube.networks.tensors import Exclude
from flatcube.sampling import Estimate
from flatcube.sharpness._asked import Bytes, inputs, repeated
from flatcube.sharpness._losses import Loss, per_input, targets

__all__ = ["Landscape", "Sampled", "random_source", "random_vectors"]

BUDGET = 1 << 27  # bytes
_MOST = 10**5  # directions, or steps
_ROWS = 256  # inputs of a copy that are worked on at once, if memory allows
_CACHE, _PAIRS = 1 << 24, 512  # a forward pass is fastest on so many bytes, or so many pairs of copy and input
_MEASURED: dict[tuple, tuple[int, int]] = {}
_PASSES = {"outputs": 1, "gradients": 2, "products": 6}  # values held, in units of one forward pass


class Landscape:
    """The mean loss of ``model`` on inputs x (batch, …) around its own weights.

    x may be a tensor, a dict of tensors by keyword, or an iterable of batches (inputs, targets). Weights whose name
    contains a word of ``exclude``, or for which it is true as a function of name and weight, stay fixed. ``theta`` (D,)
    holds the others, ``base`` (batch, …) the outputs, ``y`` the targets; ``count`` is the number of inputs. Squared
    errors of several outputs are added. ``loss`` is "squared", "cross-entropy" (y the places of the right classes), or
    a function of outputs and targets with a number for every input.
    """

    def __init__(
        self,
        model: nn.Module,
        x: Any,
        y: Tensor | np.ndarray | None = None,
        *,
        loss: Loss = "squared",
        exclude: Exclude = ("positions",),
        budget: int = BUDGET,
        progress: bool = False,
    ) -> None:
        if isinstance(model, Network) and model.count is not None:
            raise TypeError("model: expected a single network, got an ensemble; measure each of its members()")
        keep_memory()  # every chunk asks for the same blocks as the one before
        weights = _chosen(model, exclude)
        self.model, self.budget, self.loss = model, checks.count(budget, "budget"), loss
        self.progress, self._bar = checks.flag(progress, "progress"), None
        self._measured: dict[bool, tuple[int, int]] = {}
        warn_of_training(model)
        x, y = data.gathered(x, y, progress=progress)
        self.shapes = {name: weight.shape for name, weight in weights.items()}
        self.theta = tensors.finite(torch.cat([weight.flatten() for weight in weights.values()]), "model: its weights")
        self.size = len(self.theta)
        self.x = inputs(model, weights, x)
        self.count = data.count(self.x)
        self.given = targets(loss, y, self.base)

    @cached_property
    def base(self) -> Tensor:
        """f_θ(x), (batch, …)."""
        return self.outputs(self.theta.new_zeros(1, self.size))[0]

    @cached_property
    def y(self) -> Tensor:
        """The targets, (batch, …)."""
        return self.base if self.given is None else self.given

    @contextmanager
    def watched(self, label: str, copies: int) -> Iterator[None]:
        """Shows how many of so many copies are done, and the time left, if the landscape was asked to."""
        with data.bar(None, label, total=copies, shown=self.progress) as self._bar:
            try:
                yield
                self._bar.update(copies - self._bar.n)  # done, even if less was needed
            finally:
                self._bar = None

    def _done(self, copies: int, rows: int) -> None:
        if self._bar is not None:
            self._bar.update(copies * rows / self.count)

    def parameters(self, vectors: Tensor) -> dict[str, Tensor]:
        """Vectors (K, D) as weights by name, (K, …) each."""
        self._count(vectors, "vectors")
        return self._parameters(vectors)

    def _parameters(self, vectors: Tensor) -> dict[str, Tensor]:
        parts = vectors.split([shape.numel() for shape in self.shapes.values()], dim=1)
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(len(vectors), *shape) for (name, shape), part in pairs}

    def outputs(self, shifts: Tensor) -> Tensor:
        """f_{θ+Δ}(x) for shifts Δ (K, D): (K, batch, …)."""
        copies, rows = self._chunks(self._count(shifts, "shifts"), "outputs")
        found = []
        with torch.no_grad(), at_rest(self.model):
            for some in shifts.split(copies):
                weights, part = self._parameters(self.theta + some), []
                for x in data.split(self.x, rows):
                    part.append(many(self.model, weights, x))
                    self._done(len(some), data.count(x))
                found.append(torch.cat(part, dim=1))
        return torch.cat(found)

    def losses(self, shifts: Tensor) -> Tensor:
        """L(θ+Δ) for shifts Δ (K, D): (K,)."""
        return self.errors(self.outputs(shifts), self.y).mean(1)

    def errors(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The loss at every input, (K, batch), from outputs (K, batch, …) and targets."""
        return per_input(self.loss, outputs, y)

    def gradients(self, shifts: Tensor) -> Tensor:
        """∇L(θ+Δ) for shifts Δ (K, D): (K, D)."""
        copies, _ = self._chunks(self._count(shifts, "shifts"), "gradients")
        return torch.cat([self._gradients(some) for some in shifts.split(copies)])

    def products(self, vectors: Tensor, shifts: Tensor | None = None) -> Tensor:
        """∇²L(θ+Δ_k) v_k for vectors v (K, D) and shifts Δ (K, D), zero if not given: (K, D).

        Where the network has a kink, this is the second derivative almost everywhere: it does not see the kink.
        """
        copies, _ = self._chunks(self._count(vectors, "vectors"), "products")
        shifts = torch.zeros_like(vectors) if shifts is None else shifts
        if self._count(shifts, "shifts") != len(vectors):
            raise ValueError(f"shifts: expected {len(vectors)}, one for each vector, got {len(shifts)}")
        pairs = zip(vectors.split(copies), shifts.split(copies), strict=True)
        return torch.cat([self._products(some, moved) for some, moved in pairs])

    def _chunks(self, count: int, task: str) -> tuple[int, int]:
        """How many copies, and how many inputs, are worked on at once: together at most ``budget`` bytes."""
        each, per = (_PASSES[task] * size for size in self._bytes(task != "outputs"))
        budget = min(self.budget, max(_CACHE, 2 * each + _PAIRS * per)) if task == "outputs" else self.budget
        rows = max(min(self.count, _ROWS, (budget - each) // per), 1)
        copies = max(min(count, budget // (each + rows * per)), 1)
        return copies, max(min(self.count, (budget // copies - each) // per), rows)

    def _held(self, copies: int, rows: int, task: str) -> int:
        """The bytes of all values computed for so many copies and inputs at once."""
        each, per = self._bytes(task != "outputs")
        return _PASSES[task] * copies * (each + rows * per)

    def _bytes(self, slopes: bool) -> tuple[int, int]:
        """The bytes of all values computed for one copy, and for one of its inputs, if derivatives follow or not.

        They are measured once for every kind of network of ours, by the names and shapes of its weights and inputs;
        what others made may differ in more than that.
        """
        ours = isinstance(self.model, Network)
        known = _MEASURED if ours else self._measured
        key = (type(self.model), *self.shapes.items(), self.theta.dtype, self.x.shape[1:], slopes) if ours else slopes
        if key not in known:
            totals = [self._computed_bytes(rows, slopes) for rows in (4, 8)]
            per = max((totals[1] - totals[0]) // 4, 1)
            known[key] = self.theta.nbytes + max(totals[0] - 4 * per, 0), per
        return known[key]

    def _count(self, vectors: Tensor, name: str) -> int:
        """K, for vectors (K, D) of finite numbers."""
        found = tensors.weights(vectors, name, ("K", "D"), {"D": self.size}, like=self.theta)
        return checks.count(len(found), f"{name}: their number")

    @torch.enable_grad()
    def _gradients(self, shifts: Tensor) -> Tensor:
        total = torch.zeros_like(shifts)
        leaf = (self.theta + shifts).requires_grad_()
        for loss in self._parts(leaf, "gradients"):
            total += torch.autograd.grad(loss, leaf)[0]
        return total

    @torch.enable_grad()
    def _products(self, vectors: Tensor, shifts: Tensor) -> Tensor:
        total = torch.zeros_like(vectors)
        leaf = (self.theta + shifts).requires_grad_()
        with twice_differentiable():
            for loss in self._parts(leaf, "products"):
                (slope,) = torch.autograd.grad(loss, leaf, create_graph=True)
                if slope.requires_grad:  # a loss that is linear in θ has none
                    total += torch.autograd.grad((slope * vectors).sum(), leaf)[0]
        return total

    def _parts(self, leaf: Tensor, task: str) -> Iterator[Tensor]:
        """Parts of Σ_k L(θ_k) whose sum over all inputs is the whole, for θ_k the rows of leaf (K, D)."""
        _, rows = self._chunks(len(leaf), task)
        with at_rest(self.model):
            for x, y in zip(data.split(self.x, rows), self.y.split(rows), strict=True):
                outputs = many(self.model, self._parameters(leaf), x)
                yield self.errors(outputs, y).sum() / self.count
                self._done(len(leaf), data.count(x))

    def _computed_bytes(self, rows: int, slopes: bool) -> int:
        weights = self._parameters(self.theta[None].requires_grad_(slopes))
        with torch.set_grad_enabled(slopes), at_rest(self.model), Bytes() as counter:
            many(self.model, weights, repeated(self.x, rows))
        return counter.total


def _chosen(model: nn.Module, exclude: Exclude = ("positions",)) -> dict[str, Tensor]:
    """The weights of a network by name, without those whose name contains a word of ``exclude``."""
    kept = {name: weight.detach() for name, weight in tensors.kept(model, exclude).items()}
    if not kept:
        told = "the function" if callable(exclude) else tuple(exclude)
        raise ValueError(f"exclude: expected to leave some weights, but {told} leaves none")
    kinds = {weight.dtype for weight in kept.values()}
    if len(kinds) > 1 or not next(iter(kinds)).is_floating_point:
        raise TypeError(f"model: expected weights of one floating-point type, got {', '.join(map(str, kinds))}")
    return kept


def random_source(seed: int, stream: str) -> torch.Generator:
    """Random numbers for one purpose, ``stream``; those of other seeds and streams are independent of them."""
    text = checks.instance(stream, "stream", str)
    words = np.random.SeedSequence([checks.count(seed, "seed", 0), *text.encode()]).generate_state(2)
    return torch.Generator().manual_seed(int(words[0]) << 31 ^ int(words[1]))


def _repeats(value: int, name: str, least: int = 2) -> int:
    """``value`` if it is a number of directions, draws or steps that come to an end."""
    return checks.integer(value, name, least, _MOST)


def _check_shift(rho: float, kind: str) -> float:
    """``rho``, if it is a finite number ≥ 0 and ``kind`` one of the two kinds of shifts."""
    checks.word(kind, "kind", ("gaussian", "sphere"))
    return checks.positive(rho, "rho", 0)


def random_vectors(
    count: int, like: Tensor, *, kind: str = "gaussian", seed: int, stream: str = "shifts", chunk: int | None = None
) -> Iterator[Tensor]:
    """Random directions (K, D) in chunks, ``count`` in all, D and dtype those of ``like``.

    ``gaussian``: independent N(0, 1) entries; ``sphere``: uniform on the unit sphere; ``signs``: independent fair ±1.
    The k-th direction depends on ``seed``, ``stream`` and k alone.
    """
    checks.word(kind, "kind", ("gaussian", "sphere", "signs"))
    tensors.weights(like, "like", ("D",))
    count = checks.integer(count, "count", 1, _MOST if chunk is None else _MOST * 1000)
    chunk = count if chunk is None else checks.count(chunk, "chunk")
    return _drawn(count, like, kind, random_source(seed, stream), chunk)


def _drawn(count: int, like: Tensor, kind: str, source: torch.Generator, chunk: int) -> Iterator[Tensor]:
    for start in range(0, count, chunk):
        some = range(min(chunk, count - start))
        stack = torch.stack([torch.randn(like.shape, generator=source, dtype=like.dtype) for _ in some])
        if kind == "sphere":
            stack /= torch.linalg.vector_norm(stack, dim=1, keepdim=True)
        yield (stack.sign() if kind == "signs" else stack).to(like.device)


# --- what was drawn, as an estimate -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Sampled(Estimate):
    """A mean over independent draws: ``error`` is its standard error, ``draws`` (samples,) what was averaged.

    low and high are value ± t · error with Student's t. They speak of the draws, not of the inputs, which are given.
    """

    error: float
    draws: np.ndarray


def _sampled(draws: Tensor, *, confidence: float, queries: int, method: str, offset: float = 0.0) -> Sampled:
    """offset + the mean of the draws (m,), with its standard error s/√m and its t interval."""
    numbers = draws.detach().double().cpu().numpy() + offset
    m = len(numbers)
    value, error = float(numbers.mean()), float(numbers.std(ddof=1) / math.sqrt(m))
    half = float(stdtrit(m - 1, (1 + checks.probability(confidence, "confidence")) / 2)) * error
    return Sampled(value, value - half, value + half, confidence, m, queries, method, error, numbers)


def _known(value: float, *, queries: int, method: str) -> Estimate:
    """A number without sampling error, as an estimate."""
    value, queries = checks.number(value, "value"), checks.count(queries, "queries", 0)
    return Estimate(value, value, value, 1.0, 0, queries, checks.instance(method, "method", str))
