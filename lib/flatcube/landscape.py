"""The loss of a network as a function of its weights, evaluated at many shifted copies in bounded memory.

    L(θ) = E_x (f_θ(x) − y(x))²,    θ ∈ R^D the chosen weights as one vector, x over given inputs.

Without targets y(x) = f_θ(x) at the network's own weights, which then are a minimum with loss zero. Every method takes
K shifts at once, (K, D), and works on a few copies and inputs at a time: so many that all values computed for them fit
in ``budget`` bytes. The draws of an estimate do not depend on how they were cut.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from flatcube import blocks
from flatcube.sampling import Estimate, check_count, check_positive, check_probability
from flatcube.training import keep_memory

__all__ = [
    "BUDGET", "Landscape", "Draws", "Sampled", "sampled", "known", "chosen", "generator", "check_shift",
    "random_vectors",
]  # fmt: skip

BUDGET = 1 << 27  # bytes
_ROWS = 256  # inputs of a copy that are worked on at once, if memory allows
_CACHE, _PAIRS = 1 << 24, 512  # a forward pass is fastest on so many bytes, or so many pairs of copy and input
_MEASURED: dict[tuple, tuple[int, int]] = {}
_PASSES = {"outputs": 1, "gradients": 2, "products": 6}  # values held, in units of one forward pass


class Landscape:
    """The mean squared loss of ``model`` on inputs x (batch, …) around its own weights.

    Weights whose name contains a word of ``exclude`` stay fixed. ``theta`` (D,) holds the others, ``base`` (batch,) the
    outputs, ``y`` the targets. A network with several outputs, base (batch, C), has their squared errors added.
    """

    def __init__(
        self,
        model: nn.Module,
        x: Tensor | np.ndarray,
        y: Tensor | np.ndarray | None = None,
        *,
        exclude: Sequence[str] = ("positions",),
        budget: int = BUDGET,
    ) -> None:
        if hasattr(model, "members"):
            raise TypeError("model: expected a single network, got an ensemble; measure each of its members()")
        keep_memory()  # every chunk asks for the same blocks as the one before
        weights = chosen(model, exclude)
        self.model, self.x, self.budget = model, torch.as_tensor(x), check_count(budget, "budget")
        if not len(self.x):
            raise ValueError("x: expected at least one input, got none")
        self.shapes = {name: weight.shape for name, weight in weights.items()}
        self.theta = torch.cat([weight.flatten() for weight in weights.values()])
        self.size = len(self.theta)
        self.given = None if y is None else torch.as_tensor(y)
        if self.given is not None and self.given.shape != self.base.shape:
            raise ValueError(f"y: expected shape {tuple(self.base.shape)}, got {tuple(self.given.shape)}")
        if self.given is not None and not bool(self.given.isfinite().all()):
            raise ValueError(f"y: expected finite numbers, got {self.given[~self.given.isfinite()][0]:g}")

    @cached_property
    def base(self) -> Tensor:
        """f_θ(x), (batch,)."""
        return self.outputs(self.theta.new_zeros(1, self.size))[0]

    @cached_property
    def y(self) -> Tensor:
        """The targets, (batch,)."""
        return self.base if self.given is None else self.given.to(self.base)

    def parameters(self, vectors: Tensor) -> dict[str, Tensor]:
        """Vectors (K, D) as weights by name, (K, …) each."""
        parts = vectors.split([shape.numel() for shape in self.shapes.values()], dim=1)
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(len(vectors), *shape) for (name, shape), part in pairs}

    def outputs(self, shifts: Tensor) -> Tensor:
        """f_{θ+Δ}(x) for shifts Δ (K, D): (K, batch)."""
        copies, rows = self.chunks(len(shifts), "outputs")
        with torch.no_grad():
            parts = (
                [blocks.many(self.model, weights, x) for x in self.x.split(rows)]
                for weights in (self.parameters(self.theta + some) for some in shifts.split(copies))
            )
            return torch.cat([torch.cat(part, dim=1) for part in parts])

    def losses(self, shifts: Tensor) -> Tensor:
        """L(θ+Δ) for shifts Δ (K, D): (K,)."""
        return self._errors(self.outputs(shifts), self.y).mean(1)

    def gradients(self, shifts: Tensor) -> Tensor:
        """∇L(θ+Δ) for shifts Δ (K, D): (K, D)."""
        return torch.cat([self._gradients(some) for some in shifts.split(self.chunks(len(shifts), "gradients")[0])])

    def products(self, vectors: Tensor, shifts: Tensor | None = None) -> Tensor:
        """∇²L(θ+Δ_k) v_k for vectors v (K, D) and shifts Δ (K, D), zero if not given: (K, D).

        Where the network has a kink, this is the second derivative almost everywhere: it does not see the kink.
        """
        shifts = torch.zeros_like(vectors) if shifts is None else shifts
        copies, _ = self.chunks(len(vectors), "products")
        pairs = zip(vectors.split(copies), shifts.split(copies), strict=True)
        return torch.cat([self._products(some, moved) for some, moved in pairs])

    def chunks(self, count: int, task: str) -> tuple[int, int]:
        """How many copies, and how many inputs, are worked on at once: together at most ``budget`` bytes."""
        each, per = (_PASSES[task] * size for size in self.bytes(task != "outputs"))
        budget = min(self.budget, max(_CACHE, 2 * each + _PAIRS * per)) if task == "outputs" else self.budget
        rows = max(min(len(self.x), _ROWS, (budget - each) // per), 1)
        copies = max(min(count, budget // (each + rows * per)), 1)
        return copies, max(min(len(self.x), (budget // copies - each) // per), rows)

    def bytes(self, slopes: bool) -> tuple[int, int]:
        """The bytes of all values computed for one copy, and for one of its inputs, if derivatives follow or not.

        They are measured once for every kind of network, by the names and shapes of its weights and inputs.
        """
        key = (type(self.model), *self.shapes.items(), self.theta.dtype, self.x.shape[1:], slopes)
        if key not in _MEASURED:
            totals = [self._computed_bytes(rows, slopes) for rows in (4, 8)]
            per = max((totals[1] - totals[0]) // 4, 1)
            _MEASURED[key] = self.theta.nbytes + max(totals[0] - 4 * per, 0), per
        return _MEASURED[key]

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
        for loss in self._parts(leaf, "products"):
            (slope,) = torch.autograd.grad(loss, leaf, create_graph=True)
            if slope.requires_grad:  # a loss that is linear in θ has none
                total += torch.autograd.grad((slope * vectors).sum(), leaf)[0]
        return total

    def _parts(self, leaf: Tensor, task: str) -> Iterator[Tensor]:
        """Parts of Σ_k L(θ_k) whose sum over all inputs is the whole, for θ_k the rows of leaf (K, D)."""
        _, rows = self.chunks(len(leaf), task)
        for x, y in zip(self.x.split(rows), self.y.split(rows), strict=True):
            outputs = blocks.many(self.model, self.parameters(leaf), x)
            yield self._errors(outputs, y).sum() / len(self.x)

    def _errors(self, outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs - y).square().reshape(*outputs.shape[:2], -1).sum(-1)

    def _computed_bytes(self, rows: int, slopes: bool) -> int:
        weights = self.parameters(self.theta[None].requires_grad_(slopes))
        with torch.set_grad_enabled(slopes), _Bytes() as counter:
            blocks.many(self.model, weights, self.x[:1].expand(rows, *self.x.shape[1:]))
        return counter.total


class _Bytes(TorchFunctionMode):
    """Adds up the sizes of all tensors that are computed; views of what is there cost nothing."""

    total = 0

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {_storage(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        made = (leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor) and _storage(leaf) not in given)
        self.total += sum(leaf.nbytes for leaf in made)
        return result


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def chosen(model: nn.Module, exclude: Sequence[str] = ("positions",)) -> dict[str, Tensor]:
    """The weights of a network by name, without those whose name contains a word of ``exclude``."""
    if isinstance(exclude, str):
        raise TypeError(f"exclude: expected a sequence of words, got the string {exclude!r}")
    kept = {
        name: weight.detach()
        for name, weight in model.named_parameters()
        if not any(word in name for word in exclude)
    }  # fmt: skip
    if not kept:
        raise ValueError(f"exclude: expected to leave some weights, but {tuple(exclude)} leaves none")
    return kept


def generator(seed: int, stream: str) -> torch.Generator:
    """Random numbers for one purpose, ``stream``; those of other seeds and streams are independent of them."""
    words = np.random.SeedSequence([check_count(seed, "seed", 0), *stream.encode()]).generate_state(2)
    return torch.Generator().manual_seed(int(words[0]) << 31 ^ int(words[1]))


def check_shift(rho: float, kind: str) -> float:
    """``rho``, if it is a finite number ≥ 0 and ``kind`` one of the two kinds of shifts."""
    if kind not in ("gaussian", "sphere"):
        raise ValueError(f"kind: expected 'gaussian' or 'sphere', got {kind!r}")
    return check_positive(rho, "rho", 0)


def random_vectors(
    count: int, like: Tensor, *, kind: str = "gaussian", seed: int, stream: str = "shifts", chunk: int | None = None
) -> Iterator[Tensor]:
    """Random directions (K, D) in chunks, ``count`` in all, D and dtype those of ``like``.

    ``gaussian``: independent N(0, 1) entries; ``sphere``: uniform on the unit sphere; ``signs``: independent fair ±1.
    The k-th direction depends on ``seed``, ``stream`` and k alone.
    """
    if kind not in ("gaussian", "sphere", "signs"):
        raise ValueError(f"kind: expected 'gaussian', 'sphere' or 'signs', got {kind!r}")
    source = generator(seed, stream)
    chunk = count if chunk is None else chunk
    for start in range(0, count, chunk):
        some = range(min(chunk, count - start))
        stack = torch.stack([torch.randn(like.shape, generator=source, dtype=like.dtype) for _ in some])
        if kind == "sphere":
            stack /= torch.linalg.vector_norm(stack, dim=1, keepdim=True)
        yield stack.sign() if kind == "signs" else stack


# --- what was drawn, as an estimate -----------------------------------------------------------------------------------


class Draws(TypedDict, total=False):
    """How many directions are drawn (100), with which seed (0), for which interval (0.95), in how many bytes."""

    directions: int
    seed: int
    confidence: float
    budget: int


@dataclass(frozen=True, repr=False)
class Sampled(Estimate):
    """A mean over independent draws: ``error`` is its standard error, ``draws`` (samples,) what was averaged.

    low and high are value ± t · error with Student's t. They speak of the draws, not of the inputs, which are given.
    """

    error: float
    draws: np.ndarray


def sampled(draws: Tensor, *, confidence: float, queries: int, method: str, offset: float = 0.0) -> Sampled:
    """offset + the mean of the draws (m,), with its standard error s/√m and its t interval."""
    numbers = draws.detach().double().numpy() + offset
    m = len(numbers)
    value, error = float(numbers.mean()), float(numbers.std(ddof=1) / math.sqrt(m))
    half = float(stdtrit(m - 1, (1 + check_probability(confidence, "confidence")) / 2)) * error
    return Sampled(value, value - half, value + half, confidence, m, queries, method, error, numbers)


def known(value: float, *, queries: int, method: str) -> Estimate:
    """A number without sampling error, as an estimate."""
    return Estimate(float(value), float(value), float(value), 1.0, 0, queries, method)
