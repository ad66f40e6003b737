"""The blow-up of a network on inputs, and what the theorems say about it."""

import math
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.blowup.influence import Form, log_constant, stages
from flatcube.blowup.tracing import _checked, flips
from flatcube.blowup.tracing import _inputs as _bits
from flatcube.networks import data, tensors
from flatcube.networks.blocks import Head, Layer, Norm
from flatcube.networks.circuit import Circuit
from flatcube.networks.guests import warn_of_training
from flatcube.networks.interface import Network
from flatcube.networks.norms import factors

__all__ = ["Blowup", "measure", "Local", "local", "bites_from", "one_layer"]

_NUMBERS = 1 << 23  # attention weights held at once
_ROWS = 256  # inputs that another's module sees at once
_LONGEST = 10**6


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
def measure(model: nn.Module, x: Any, *, progress: bool = False) -> Blowup:
    """The factors of all norms of a network (or of K at once) on inputs x (batch, …); see ``Blowup``.

    Networks of the book take bits (batch, n). Any other module is looked at by hooks on its ``nn.LayerNorm`` and
    ``nn.RMSNorm``, and on norms known to ``networks.stretch``; x may then be keywords or batches, too.

    >>> measure(one_layer("majority", 5), [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]]).value.round(decimals=6).tolist()
    [3.0, 11.0]
    """
    tensors.network(model)
    x, _ = data.gathered(x, progress=progress)
    x = _bits(x, "x") if isinstance(model, Network) else data.checked(x)
    warn_of_training(model)
    parts, chunks = [], list(data.split(x, _at_once(model, x)))
    for some in data.bar(chunks, "norms", shown=progress):
        parts.append(_told(model, some))
    if not parts[0]:
        raise ValueError("model: expected a network with layer norm, got one without nn.LayerNorm and nn.RMSNorm")
    return Blowup({name: torch.cat([part[name] for part in parts], -2) for name in parts[0]})


def _told(model: nn.Module, x: data.Inputs) -> dict[str, Tensor]:
    try:
        return factors(model, x)
    except (RuntimeError, TypeError, LookupError, AttributeError) as error:
        shown = x if isinstance(x, Tensor) else next(iter(x.values()))
        got = f"{shown.dtype} of shape {tuple(shown.shape)}: {error}".partition("\n")[0]
        raise ValueError(f"x: expected inputs that this network takes, got {got}") from None


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
def local(model: Network, x: Tensor | np.ndarray, *, form: Form = "corrected") -> Local:
    """Theorem 4 on bits x (batch, n) with n ≥ 3; over the whole cube, or a uniform sample, also Corollary 5."""
    bits = _checked(model, x)
    checks.word(form, "form", get_args(Form))
    batch, n = bits.shape
    checks.integer(n, "n, the length of x", 3)
    around = flips(bits).flatten(0, 1)
    own, near = (_power(measure(model, some), form) for some in (bits, around))
    f, g = model(bits), torch.cat([model(some) for some in around.split(_at_once(model, around))], -1)
    heads = max(len(stage.values) for stage in stages(next(model.members())))
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
    log_constant, log_blowup = checks.number(log_constant, "log_constant"), checks.number(log_blowup, "log_blowup")
    target = 2 * (math.log(2) + log_constant + 2 * log_blowup)  # log(n/log n)
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


def one_layer(target: str, n: int, *, eps: float = 0.0) -> Circuit:
    """MAJORITY (odd n), OR or FIRST of n bits by one head and one layer norm: a/√(a² + ε) with a = ½ − Σ_j â_j b_j.

    Channels are bit, unit and first. MAJORITY attends to all alike. OR gives a one the logit 2 log n and a zero 0 (HR
    Remark 12, shifted), FIRST gives it to position 1. So −1 is true, and |a| is the distance from a tie.
    """
    checks.word(target, "target", ("majority", "or", "first"))
    checks.integer(n, "n", 2, _LONGEST)
    if target == "majority" and n % 2 == 0:
        raise ValueError(f"n: expected an odd number for majority, which has no ties then, got {n}")
    bit, unit, first = torch.eye(3, dtype=torch.float64)
    attend = {"majority": 0 * bit, "or": bit, "first": first}[target]
    both = torch.tensor([1.0, -1.0], dtype=torch.float64)
    positions = unit.repeat(n, 1)
    positions[0] += first
    head = Head(2 * math.log(n) * torch.outer(unit, attend), torch.outer(0.5 * unit - bit, both))
    layer = Layer([head], norm=Norm(eps))
    return Circuit(torch.stack([0 * bit, bit]), positions, [layer], readout=both[:, None] / 2)


def _at_once(model: nn.Module, x: data.Inputs) -> int:
    if not isinstance(model, Network):
        return _ROWS
    return max(1, _NUMBERS // ((model.count or 1) * x.shape[-1] ** 2))
