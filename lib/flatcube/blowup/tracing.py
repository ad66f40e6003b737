"""What one flipped bit does inside a network: both sides of the lemmas of HR App. B.

I_q[v](x) = ‖v(x) − v(x⊕q)‖ is the influence of bit q on a vector v. From the embedding to the output, each lemma bounds
the influence after a step by the influence before it. Right-hand sides are logarithms: e^{4C_A} leaves every range.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from flatcube import checks
from flatcube.blowup.influence import Form, Stage, log_factors, stages
from flatcube.networks import tensors
from flatcube.networks.circuit import Circuit
from flatcube.networks.interface import Network
from flatcube.networks.norms import told

__all__ = [
    "flips", "Step", "trace", "influence_bound", "influence_sums", "row_influence", "softmax_bound",
    "attention_bound", "upper_head_bound", "norm_bound", "sharp_norm_bound", "lemmas",
]  # fmt: skip


def _checked(model: Network, x: Tensor | np.ndarray) -> Tensor:
    """Bits (batch, n) as whole numbers, if the network is one of ours and x holds 0 and 1 only."""
    tensors.network(model, "model", Network)
    return _inputs(x, "x")


def _inputs(x: Tensor | np.ndarray, name: str) -> Tensor:
    bits = tensors.bits(x, name)
    if not bits.numel():
        raise ValueError(f"{name}: expected bits of shape (batch, n), at least one, got shape {tuple(bits.shape)}")
    return bits


def flips(bits: Tensor | np.ndarray) -> Tensor:
    """All neighbours of bits (batch, n): (batch, n, n), where row i has bit i flipped."""
    bits = _inputs(bits, "bits")
    return bits[:, None] ^ torch.eye(bits.shape[-1], dtype=bits.dtype)


# --- one flip on its way up -------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """What every flip of one input does in one stage, at every position: tensors (flips, positions).

    ``values`` and ``weights`` are the two routes through the heads, ``values + weights`` bounds the change of what the
    heads give (HR Lemma 9, with the vectors that a head averages in place of their norms): for each head Σ_w â_w I[v_w]
    and max‖v_w‖ Σ_w I[â_w], v = V y. ``stretch`` is √(N N′), times the largest gain; 1 where the stage has no norm.
    """

    values: Tensor
    weights: Tensor
    before: Tensor  # I of what enters the norm
    stretch: Tensor
    after: Tensor  # I of what leaves the stage


@torch.no_grad()
def trace(model: Network, x: Tensor | np.ndarray) -> list[Step]:
    """Follow all flips of one input, bits x (n,), through the stages of a network."""
    (one,), model = _checked(model, tensors.tensor(x, "x")[None]), model.circuit()
    seen, found = model.activations(torch.cat([one[None], flips(one[None])[0]])), []
    for stage, y, before, after, stretch in _passages(model, seen, stages(model)):
        values, weights = torch.zeros(2, *_change(y).shape, dtype=y.dtype)
        for h in range(len(stage.values)):
            attention = seen[f"layers.{stage.layer}.attention.{h}"]  # (1 + n, N, N)
            v = y @ model.layers[stage.layer].heads[h].value_output
            values += _change(v) @ attention[0].T
            longest = v.norm(dim=-1).amax(-1)[1:, None]  # after the flip
            weights += longest * (attention[1:] - attention[0]).abs().sum(-1)
        most = torch.ones_like(values) if stretch is None else stage.norm[0] * (stretch[0] * stretch[1:]).sqrt()
        found.append(Step(values, weights, _change(before), most, _change(after)))
    return found


Passage = tuple[Stage, Tensor, Tensor, Tensor, Tensor | None]


def _passages(model: Circuit, seen: dict[str, Tensor], parts: list[Stage]) -> Iterator[Passage]:
    """For each stage what enters it, what enters its norm, what leaves it, and its factors (1 + n, N) if it has one."""
    y = seen["embedding"]
    for k, stage in enumerate(parts, 1):
        between = bool(stage.values) and any(other.layer == stage.layer for other in parts[k:])
        before = seen[f"layers.{stage.layer}.{'mixed' if between else 'sum'}"]
        after = model.layers[stage.layer].norm_attention(before) if between else seen[f"layers.{stage.layer}.output"]
        norm = stage.norm is not None
        factor = told(seen)[f"layers.{stage.layer}.factor{'_attention' * between}"].double() if norm else None
        yield stage, y, before, after, factor
        y = after


# --- Lemma 11: attention in the first layer ---------------------------------------------------------------------------


def influence_bound(n: int, *, delta: float = 4.0) -> float:
    """(8 + 32δ) log n + 10, Lemma 11's bound on the influence of n bits on one row of first-layer attention.

    >>> [n for n in (413, 414, 415) if influence_bound(n) < 2 * n]  # 2n is what a sum of n distances is at most
    [415]
    """
    return (8 + 32 * checks.positive(delta, "delta")) * math.log(checks.integer(n, "n", 1)) + 10


@torch.no_grad()
def influence_sums(model: Network, x: Tensor | np.ndarray) -> Tensor:
    """Σ_q Σ_j |â_ij(x) − â_ij(x⊕q)| in the first layer, (…, heads, batch, positions i) (left side of Lemma 11)."""
    bits = _checked(model, x)
    sums = []
    for one in bits:
        group = torch.cat([one[None], flips(one[None])[0]])
        seen = model.activations(group)
        rows = [seen[name] for name in seen if name.startswith("layers.0.attention.")]
        weights = torch.stack(rows, -4)  # (…, heads, 1 + n, N, N)
        sums.append((weights[..., 1:, :, :] - weights[..., :1, :, :]).abs().sum((-1, -3)))
    return torch.stack(sums, -2)


def row_influence(zero: np.ndarray, one: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The same sum for one row with logit zero_j or one_j (n,) as bit j is 0 or 1, on bits (…, n): (…).

    Weights add up to 1, so what key q gains the others lose: Σ_j |…| = 2 |â_q(x) − â_q(x⊕q)|.

    >>> row_influence(np.zeros(4), np.zeros(4), np.array([[0, 1, 0, 1]]))  # blind attention: no bit has influence
    array([0.])
    """
    bits, sizes = checks.bits(bits), {}
    checks.shape(bits.shape, "bits", (..., "n"), sizes)
    zero, one = checks.numbers(zero, "zero", ("n",), sizes), checks.numbers(one, "one", ("n",), sizes)
    if not bits.size:
        raise ValueError(f"bits: expected at least one, got shape {bits.shape}")
    bits = bits.astype(bool)
    here, there = np.where(bits, one, zero), np.where(bits, zero, one)
    nothing = np.full((*bits.shape[:-1], 1), -np.inf)
    before, after = (np.logaddexp.accumulate(part, axis=-1) for part in (here, here[..., ::-1]))
    before = np.concatenate([nothing, before[..., :-1]], axis=-1)
    after = np.concatenate([nothing, after[..., :-1]], axis=-1)[..., ::-1]
    others = np.logaddexp(before, after)  # log of the sum over j ≠ q, without any difference
    return 2 * np.abs(expit(here - others) - expit(there - others)).sum(-1)


# --- the other lemmas -------------------------------------------------------------------------------------------------


def _head_bound(value: float, mixed: Tensor, longest: float, moved: Tensor) -> Tensor:
    """Lemma 9: log of ‖V‖ Σ_w â_w I[y_w] + ‖V‖ max‖y‖ Σ_w I[â_w], from the two sums (…)."""
    return (value * (mixed + longest * moved)).double().log()


def softmax_bound(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How far logits (…, n) that change can move the weights: Σ_j |â_j − â′_j| ≤ 2 tanh(ω/4).

    ω is the largest change of a logit minus the smallest. The bound is at most ω/2, so at most the largest change in
    absolute value. Two groups of keys attain it.

    >>> softmax_bound(np.array([0.0, 0.0]), np.array([2.0, -2.0])).round(4)
    np.float64(1.5232)
    """
    after = checks.numbers(after, "after", (..., "n"))
    change = after - checks.numbers(before, "before", after.shape)
    return 2 * np.tanh((change.max(-1) - change.min(-1)) / 4)


def attention_bound(score: float, near: Tensor) -> Tensor:
    """Lemma 13, summed: Σ_j I[â_ij] ≤ 2 e^{4C_A} (I[y_i] + mean I[y_j]), C_A the largest |logit|."""
    score, near = checks.positive(score, "score", 0), _lengths(near, "near")
    return math.log(2) + 4 * score + near.log()


def upper_head_bound(value: float, longest: float, score: float, near: Tensor) -> Tensor:
    """Lemma 15, with its missing C_V: I[b_j] ≤ C_V 4 max‖y‖ e^{4C_A} (I[y_j] + mean I[y_w])."""
    value, longest = checks.positive(value, "value", 0), checks.positive(longest, "longest")
    score, near = checks.positive(score, "score", 0), _lengths(near, "near")
    return math.log(4 * max(1.0, value) * longest) + 4 * score + near.log()


def norm_bound(longest: float, before: Tensor, here: Tensor, there: Tensor) -> Tensor:
    """Lemma 16: I[norm Y] ≤ 2 max‖Y‖ (1 + N(x)) (1 + N(x⊕i)) I[Y], with N of Eq. 5 and max‖Y‖ ≥ 1."""
    before, here, there = _around(before, here, there)
    longest = max(1.0, checks.positive(longest, "longest", 0))
    return math.log(2 * longest) + before.log() + (1 + here).log() + (1 + there).log()


def sharp_norm_bound(before: Tensor, here: Tensor, there: Tensor) -> Tensor:
    """Ours: I[norm Y] ≤ √(N(x) N(x⊕i)) I[Y], with equality where N(x) = N(x⊕i) and the means agree.

    With z = Y − mean and r² = ‖z‖² + dε, norm Y is √d times the first part of the unit vector (z, √(dε))/r; and
    ‖u/‖u‖ − v/‖v‖‖² ‖u‖‖v‖ = ‖u − v‖² − (‖u‖ − ‖v‖)².
    """
    before, here, there = _around(before, here, there)
    return before.log() + (here.log() + there.log()) / 2


def _around(before: Tensor, here: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The influence before a norm and its two factors, which may be infinite; their shapes broadcast."""
    parts = _lengths(before, "before"), _lengths(here, "here", math.inf), _lengths(there, "there", math.inf)
    checks.together(**dict(zip(("before", "here", "there"), (part.shape for part in parts), strict=True)))
    return parts


def _lengths(values: Tensor, name: str, most: float = 1e300) -> Tensor:
    """A tensor of numbers from 0 to ``most`` in double precision."""
    values = tensors.tensor(values, name).double()
    right = (values >= 0) & (values <= most)
    if not bool(right.all()):
        raise ValueError(f"{name}: expected {'finite ' * (most < math.inf)}numbers ≥ 0, got {float(values[~right][0])}")
    return values


@torch.no_grad()
def lemmas(model: Network, x: Tensor | np.ndarray, *, form: Form = "corrected") -> dict[str, float]:
    """The largest log(left/right) of each lemma of HR App. B over bits x (batch, n), all flips, heads and positions.

    A lemma holds where its number is ≤ 0, up to rounding. ``9`` and ``16`` are checked in every layer, ``13``, ``15``
    and ``18`` from the second one on; ``11`` and ``17`` may fail for a share H/n² of inputs. ``16 sharp`` is ours.
    """
    bits, model = _checked(model, x), model.circuit()
    checks.integer(bits.shape[1], "n, the length of x", 2)
    parts, constants = stages(model), log_factors(model, n=bits.shape[1], form=form)
    found: dict[str, float] = {}
    for one in bits:
        for name, left, right in _sides(model, one, parts, constants, form):
            ratio = torch.where(left > 0, left.double().log() - right, -torch.inf)
            found[name] = max(found.get(name, -math.inf), float(ratio.max()))
    return dict(sorted(found.items(), key=lambda item: (int(item[0].split()[0]), item[0])))


Side = tuple[str, Tensor, Tensor]  # lemma, left side, log of the right side


def _sides(model: Circuit, one: Tensor, parts: list[Stage], constants: dict[str, float], form: Form) -> Iterator[Side]:
    """Both sides of all lemmas at one input, for all of its flips."""
    n, seen = len(one), model.activations(torch.cat([one[None], flips(one[None])[0]]))
    yield "11", influence_sums(model, one[None]), torch.tensor(math.log(influence_bound(n)))
    first, stretch, total = None, torch.zeros(n + 1, dtype=torch.float64), 0.0
    for k, (stage, y, before, after, factor) in enumerate(_passages(model, seen, parts), 1):
        yield from _attention_sides(model, seen, stage, y, upper=k > 1)
        if first is None:
            first = _change(before)
            yield "17", first.sum(0), torch.tensor(constants["start"] + math.log(math.log(n)))
        if factor is not None:
            gain, longest = math.log(stage.norm[0]), float(before.norm(dim=-1).max())
            inside = (_change(before), factor[0], factor[1:])
            yield "16", _change(after), gain + norm_bound(longest, *inside)
            yield "16 sharp", _change(after), gain + sharp_norm_bound(*inside)
            most = factor.amax(-1)
            stretch = stretch + (most.log() / 2 if form == "sharp" else (1 + most).log())
        total += constants[f"stage {k}"]
        if k > 1:
            near = (first + first.mean(-1, keepdim=True)).double().log()
            yield "18", _change(after), total + (stretch[0] + stretch[1:])[:, None] + near


def _attention_sides(
    model: Circuit, seen: dict[str, Tensor], stage: Stage, y: Tensor, *, upper: bool
) -> Iterator[Side]:
    """Lemma 9, and in upper layers 13 and 15, of every head."""
    change, longest = _change(y), max(1.0, float(y.norm(dim=-1).max()))  # (n, N)
    near, score = change + change.mean(-1, keepdim=True), stage.score_bound(longest)
    for h, size in enumerate(stage.values):
        weights = seen[f"layers.{stage.layer}.attention.{h}"]  # (1 + n, N, N)
        moved = (weights[1:] - weights[0]).abs().sum(-1)  # (n, N)
        head = _change(weights @ (y @ model.layers[stage.layer].heads[h].value_output))
        yield "9", head, _head_bound(size, change @ weights[0].T, float(y.norm(dim=-1).max()), moved)
        if upper:
            yield "13", moved, attention_bound(score, near)
            yield "15", head, upper_head_bound(size, longest, score, near)


def _change(values: Tensor) -> Tensor:
    """‖values(x⊕q) − values(x)‖ from (1 + n, N, D): (n, N)."""
    return (values[1:] - values[0]).norm(dim=-1)
