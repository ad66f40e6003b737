"""Layer norm magnifies: normalisation factors, the blow-up, and what sensitive functions force on it.

A layer norm divides activation Y by its standard deviation, so it multiplies small differences by N = 1/√(σ² + ε) (HR
Eq. 5). With τ = 1 + max N over positions, Blowup(x) is the product of τ over all norms (HR Eq. 11), and

    s(f, x) ≤ C √(n log n) · (Blowup(x)² + mean over i of Blowup(x⊕i)²)     for all but a share H/n² of inputs (Thm 4)
    C · E Blowup² ≥ as(f)/√(n log n) − H/n                                  where |f| ≤ 1 (Cor. 5)

with a constant C of the weights (``flatcube.influence``), in which first-layer scores do not appear. The same proof
with the sharper inequality ‖norm(Y) − norm(Y′)‖ ≤ √(N N′) ‖Y − Y′‖ has P = ∏ max N in place of Blowup², half of the
right-hand side, and a smaller C: ``form="sharp"``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import blocks, cube, encoder
from flatcube.influence import Form, log_constant, log_factors, stages
from flatcube.lemmas import checked, factors, flips, influence_bound, influence_sums, lemmas, row_influence

__all__ = [
    "Blowup", "measure", "flips", "Local", "local", "log_constant", "log_factors", "bites_from",
    "influence_sums", "row_influence", "influence_bound", "lemmas", "one_layer",
]  # fmt: skip

_NUMBERS = 1 << 23  # attention weights held at once


@dataclass(frozen=True)
class Blowup:
    """The normalisation factors of every norm on a batch of inputs; an ensemble has a leading axis in all of it."""

    factors: dict[str, Tensor]  # (…, batch, positions) by name, in the order of the computation; ∞ without variance

    @property
    def normalisers(self) -> Tensor:
        """τ = 1 + max N over positions, (norms, …, batch) (HR Eq. 11)."""
        return torch.stack([1 + factor.amax(-1) for factor in self.factors.values()])

    @property
    def log(self) -> Tensor:
        """log Blowup(x), (…, batch)."""
        return self.normalisers.log().sum(0)

    @property
    def value(self) -> Tensor:
        """Blowup(x) = ∏ τ, (…, batch)."""
        return self.log.exp()

    @property
    def log_product(self) -> Tensor:
        """log P(x), P = ∏ max N: the sharper relative of Blowup², (…, batch)."""
        return torch.stack([factor.amax(-1) for factor in self.factors.values()]).log().sum(0)


@torch.no_grad()
def measure(model: nn.Module, x: Tensor | np.ndarray) -> Blowup:
    """The factors of all norms of a network (or of K at once) on bits x (batch, n); see ``Blowup``.

    >>> measure(one_layer("majority", 5), [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]]).value.round(decimals=6).tolist()
    [3.0, 11.0]
    """
    bits, parts = checked(model, x), []
    for some in bits.split(_at_once(model, bits)):
        parts.append(factors(model, model.activations(some)))
    if not parts[0]:
        raise ValueError("model: expected a network with layer norm, got one without")
    return Blowup({name: torch.cat([part[name] for part in parts], -2) for name in parts[0]})


# --- Theorem 4 and Corollary 5 ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Local:
    """Both sides of Theorem 4 at each input, (…, batch), in logarithms; and of Corollary 5 over all of them."""

    n: int
    heads: int
    form: Form
    log_constant: float | Tensor
    outputs: Tensor
    sensitivity: Tensor  # s(f, x)
    own: Tensor  # log Blowup(x)², or log P(x)
    around: Tensor  # log of the mean over neighbours

    @property
    def log_right(self) -> Tensor:
        """log of C √(n log n) (Blowup(x)² + mean Blowup(x⊕i)²); of half of it with P in the sharp form."""
        half = math.log(2) if self.form == "sharp" else 0.0
        constant = torch.as_tensor(self.log_constant, dtype=self.own.dtype)[..., None]
        return constant + _log_root(self.n) + torch.logaddexp(self.own, self.around) - half

    @property
    def margin(self) -> Tensor:
        """log of right over left: the theorem holds at x iff it is ≥ 0."""
        return self.log_right - self.sensitivity.log()

    @property
    def empty(self) -> Tensor:
        """Whether the bound says no more than s(f, x) ≤ n max f²."""
        return self.log_right >= math.log(self.n) + 2 * self.outputs.abs().amax(-1, keepdim=True).log()

    @property
    def average(self) -> tuple[Tensor, Tensor]:
        """Corollary 5: log(C · mean of Blowup²) and log(as/√(n log n) − max f² H/n), (…)."""
        left = torch.as_tensor(self.log_constant, dtype=self.own.dtype) + _log_mean(self.own)
        scale = self.outputs.square().amax(-1)
        right = self.sensitivity.mean(-1) / math.exp(_log_root(self.n)) - scale * self.heads / self.n
        return left, right.clamp(min=0).log()


@torch.no_grad()
def local(model: nn.Module, x: Tensor | np.ndarray, *, form: Form = "corrected") -> Local:
    """Theorem 4 on bits x (batch, n) with n ≥ 3; over the whole cube, or a uniform sample, also Corollary 5."""
    bits = checked(model, x)
    batch, n = bits.shape
    cube.check_integer(n, "n, the length of x", 3)
    around = flips(bits).flatten(0, 1)
    own, near = (_power(measure(model, some), form) for some in (bits, around))
    f, g = model(bits), torch.cat([model(some) for some in around.split(_at_once(model, around))], -1)
    heads = max(len(stage.values) for stage in stages(next(_members(model))))
    return Local(
        n, heads, form, log_constant(model, n=n, form=form), f.double(),
        (f[..., None] - g.unflatten(-1, (batch, n))).double().square().sum(-1) / 4,
        own.double(), _log_mean(near.unflatten(-1, (batch, n))).double(),
    )  # fmt: skip


def bites_from(log_constant: float, log_blowup: float = 0.0) -> float:
    """log₁₀ of the length n from which √(n/log n) exceeds 2C Blowup²: below it, Theorem 4 allows s(f, x) = n.

    For |f| ≤ 1 and a blow-up that does not grow with n. In the sharp form give ½ log(P/2) for ``log_blowup``.

    >>> round(bites_from(math.log(10)), 1)
    3.5
    """
    target = 2 * (math.log(2) + log_constant + 2 * log_blowup)  # log(n/log n)
    if math.isnan(target):
        raise ValueError(f"log_constant, log_blowup: expected numbers, got {log_constant} and {log_blowup}")
    logarithm = max(target, 1.0)
    for _ in range(200):  # log n = target + log log n, a contraction for log n > 1
        logarithm = max(1.0, target + math.log(logarithm))
    return logarithm / math.log(10)


def _power(found: Blowup, form: Form) -> Tensor:
    return found.log_product if form == "sharp" else 2 * found.log


def _log_root(n: int) -> float:
    return (math.log(n) + math.log(math.log(n))) / 2


def _log_mean(logs: Tensor) -> Tensor:
    return torch.logsumexp(logs, -1) - math.log(logs.shape[-1])


# --- the smallest network with a blow-up ------------------------------------------------------------------------------


def one_layer(target: str, n: int, *, eps: float = 0.0) -> blocks.Encoder:
    """MAJORITY (odd n), OR or FIRST of n bits by one head and one layer norm: a/√(a² + ε) with a = ½ − Σ_j â_j b_j.

    Channels are bit, unit and first. MAJORITY attends to all alike. OR gives a one the logit 2 log n and a zero 0 (HR
    Remark 12, shifted), FIRST gives it to position 1. So −1 is true, and |a| is the distance from a tie.
    """
    if target not in ("majority", "or", "first"):
        raise ValueError(f"target: expected majority, or or first, got {target!r}")
    cube.check_integer(n, "n", 2)
    if target == "majority" and n % 2 == 0:
        raise ValueError(f"n: expected an odd number for majority, which has no ties then, got {n}")
    bit, unit, first = torch.eye(3, dtype=torch.float64)
    attend = {"majority": 0 * bit, "or": bit, "first": first}[target]
    both = torch.tensor([1.0, -1.0], dtype=torch.float64)
    positions = unit.repeat(n, 1)
    positions[0] += first
    head = blocks.Head(2 * math.log(n) * torch.outer(unit, attend), torch.outer(0.5 * unit - bit, both))
    layer = blocks.Layer([head], norm=blocks.Norm(eps))
    return blocks.Encoder(torch.stack([0 * bit, bit]), positions, [layer], readout=both[:, None] / 2)


def _members(model: nn.Module) -> Iterator[nn.Module]:
    yield from model.members() if isinstance(model, encoder.Ensemble) else (model,)


def _at_once(model: nn.Module, bits: Tensor) -> int:
    count = len(model) if isinstance(model, encoder.Ensemble) else 1
    return max(1, _NUMBERS // (count * bits.shape[-1] ** 2))
