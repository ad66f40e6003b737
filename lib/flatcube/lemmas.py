"""What one flipped bit does inside a network: both sides of the lemmas of HR App. B.

I_q[v](x) = ‖v(x) − v(x⊕q)‖ is the influence of bit q on a vector v. From the embedding to the output, each lemma bounds
the influence after a step by the influence before it. Right-hand sides are logarithms: e^{4C_A} leaves every range.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn

from flatcube import blocks, cube, encoder
from flatcube.influence import Form, Network, Stage, log_factors, stages

__all__ = [
    "checked", "flips", "factors", "influence_bound", "influence_sums", "row_influence",
    "head_bound", "attention_bound", "upper_head_bound", "norm_bound", "sharp_norm_bound", "lemmas",
]  # fmt: skip


def checked(model: nn.Module, x: Tensor | np.ndarray) -> Tensor:
    """Bits (batch, n) as whole numbers, if the network is one of ours and x holds 0 and 1 only."""
    if not isinstance(model, blocks.Encoder | encoder.Encoder | encoder.Ensemble):
        raise TypeError(f"model: expected an Encoder or an Ensemble, got {type(model).__name__}")
    bits = torch.as_tensor(x)
    if bits.ndim != 2 or not bits.numel():
        raise ValueError(f"x: expected bits of shape (batch, n), got shape {tuple(bits.shape)}")
    wrong = bits[(bits != 0) & (bits != 1)]
    if wrong.numel():
        raise ValueError(f"x: expected 0 and 1, got {wrong[0].item():g}; signs are turned into bits by cube.to_bits")
    return bits.long()


def flips(bits: Tensor) -> Tensor:
    """All neighbours of bits (batch, n): (batch, n, n), where row i has bit i flipped."""
    return bits[:, None] ^ torch.eye(bits.shape[-1], dtype=bits.dtype)


def factors(model: nn.Module, seen: dict[str, Tensor]) -> dict[str, Tensor]:
    """N = 1/√(variance + ε) of every norm, (…, batch, positions) by name, from activations; ∞ without variance."""
    found = {name: value for name, value in seen.items() if name.endswith(("factor", "factor_attention"))}
    if isinstance(model, blocks.Encoder):
        found = {}
        for index, layer in enumerate(model.layers):
            for kind, source in (("_attention", "mixed"), ("", "sum")):
                norm = layer.norm if kind == "" else layer.norm_attention
                if norm is not None:
                    found[f"layers.{index}.factor{kind}"] = norm.factor(seen[f"layers.{index}.{source}"])
    return {name: torch.where(value > 0, value, torch.inf)[..., 0] for name, value in found.items()}


# --- Lemma 11: attention in the first layer ---------------------------------------------------------------------------


def influence_bound(n: int, *, delta: float = 4.0) -> float:
    """(8 + 32δ) log n + 10, Lemma 11's bound on the influence of n bits on one row of first-layer attention.

    >>> [n for n in (413, 414, 415) if influence_bound(n) < 2 * n]  # 2n is what a sum of n distances is at most
    [415]
    """
    if not delta > 0:
        raise ValueError(f"delta: expected a positive number, got {delta:g}")
    return (8 + 32 * delta) * math.log(cube.check_integer(n, "n", 1)) + 10


@torch.no_grad()
def influence_sums(model: nn.Module, x: Tensor | np.ndarray) -> Tensor:
    """Σ_q Σ_j |â_ij(x) − â_ij(x⊕q)| in the first layer, (…, heads, batch, positions i) (left side of Lemma 11)."""
    bits = checked(model, x)
    sums = []
    for one in bits:
        group = torch.cat([one[None], flips(one[None])[0]])
        seen = model.activations(group)
        rows = [seen[name] for name in seen if name.startswith("layers.0.attention.")]
        weights = torch.stack(rows, -4)  # (…, heads, 1 + n, N, N)
        sums.append((weights[..., 1:, :, :] - weights[..., :1, :, :]).abs().sum((-1, -3)))
    return torch.stack(sums, -2)


def row_influence(zero: np.ndarray, one: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The same sum for one row with logit zero_j or one_j (n,) as bit j is 0 or 1, on bits (batch, n): (batch,).

    Weights add up to 1, so what key q gains the others lose: Σ_j |…| = 2 |â_q(x) − â_q(x⊕q)|.

    >>> row_influence(np.zeros(4), np.zeros(4), np.array([[0, 1, 0, 1]]))  # blind attention: no bit has influence
    array([0.])
    """
    bits = cube.to_signs(bits) < 0
    here, there = np.where(bits, one, zero), np.where(bits, zero, one)
    nothing = np.full((*bits.shape[:-1], 1), -np.inf)
    before, after = (np.logaddexp.accumulate(part, axis=-1) for part in (here, here[..., ::-1]))
    before = np.concatenate([nothing, before[..., :-1]], axis=-1)
    after = np.concatenate([nothing, after[..., :-1]], axis=-1)[..., ::-1]
    others = np.logaddexp(before, after)  # log of the sum over j ≠ q, without any difference
    return 2 * np.abs(expit(here - others) - expit(there - others)).sum(-1)


# --- the other lemmas -------------------------------------------------------------------------------------------------


def head_bound(value: float, mixed: Tensor, longest: float, moved: Tensor) -> Tensor:
    """Lemma 9: log of ‖V‖ Σ_w â_w I[y_w] + ‖V‖ max‖y‖ Σ_w I[â_w], from the two sums (…)."""
    return (value * (mixed + longest * moved)).double().log()


def attention_bound(score: float, near: Tensor) -> Tensor:
    """Lemma 13, summed: Σ_j I[â_ij] ≤ 2 e^{4C_A} (I[y_i] + mean I[y_j]), C_A the largest |logit|."""
    return math.log(2) + 4 * score + near.double().log()


def upper_head_bound(value: float, longest: float, score: float, near: Tensor) -> Tensor:
    """Lemma 15, with its missing C_V: I[b_j] ≤ C_V 4 max‖y‖ e^{4C_A} (I[y_j] + mean I[y_w])."""
    return math.log(4 * max(1.0, value) * longest) + 4 * score + near.double().log()


def norm_bound(longest: float, before: Tensor, here: Tensor, there: Tensor) -> Tensor:
    """Lemma 16: I[norm Y] ≤ 2 max‖Y‖ (1 + N(x)) (1 + N(x⊕i)) I[Y], with N of Eq. 5 and max‖Y‖ ≥ 1."""
    return math.log(2 * max(1.0, longest)) + before.double().log() + (1 + here).log() + (1 + there).log()


def sharp_norm_bound(before: Tensor, here: Tensor, there: Tensor) -> Tensor:
    """Ours: I[norm Y] ≤ √(N(x) N(x⊕i)) I[Y], with equality where N(x) = N(x⊕i) and the means agree.

    With z = Y − mean and r² = ‖z‖² + dε, norm Y is √d times the first part of the unit vector (z, √(dε))/r; and
    ‖u/‖u‖ − v/‖v‖‖² ‖u‖‖v‖ = ‖u − v‖² − (‖u‖ − ‖v‖)².
    """
    return before.double().log() + (here.log() + there.log()) / 2


@torch.no_grad()
def lemmas(model: nn.Module, x: Tensor | np.ndarray, *, form: Form = "corrected") -> dict[str, float]:
    """The largest log(left/right) of each lemma of HR App. B over bits x (batch, n), all flips, heads and positions.

    A lemma holds where its number is ≤ 0, up to rounding. ``9`` and ``16`` are checked in every layer, ``13``, ``15``
    and ``18`` from the second one on; ``11`` and ``17`` may fail for a share H/n² of inputs. ``16 sharp`` is ours.
    """
    bits = checked(model, x)
    if isinstance(model, encoder.Ensemble):
        raise TypeError("model: expected one network, got an Ensemble; its member(k) is one")
    parts, constants = stages(model), log_factors(model, n=bits.shape[1], form=form)
    found: dict[str, float] = {}
    for one in bits:
        for name, left, right in _sides(model, one, parts, constants, form):
            ratio = torch.where(left > 0, left.double().log() - right, -torch.inf)
            found[name] = max(found.get(name, -math.inf), float(ratio.max()))
    return dict(sorted(found.items(), key=lambda item: (int(item[0].split()[0]), item[0])))


Side = tuple[str, Tensor, Tensor]  # lemma, left side, log of the right side


def _sides(model: Network, one: Tensor, parts: list[Stage], constants: dict[str, float], form: Form) -> Iterator[Side]:
    """Both sides of all lemmas at one input, for all of its flips."""
    n, seen = len(one), model.activations(torch.cat([one[None], flips(one[None])[0]]))
    yield "11", influence_sums(model, one[None]), torch.tensor(math.log(influence_bound(n)))
    y, first, stretch, total = seen["embedding"], None, torch.zeros(n + 1, dtype=torch.float64), 0.0
    for k, stage in enumerate(parts, 1):
        yield from _attention_sides(model, seen, stage, y, upper=k > 1)
        between = bool(stage.values) and any(other.layer == stage.layer for other in parts[k:])
        before = seen[f"layers.{stage.layer}.{'mixed' if between else 'sum'}"]
        y = _after(model, seen, stage.layer, between)
        if first is None:
            first = _change(before)
            yield "17", first.sum(0), torch.tensor(constants["start"] + math.log(math.log(n)))
        if stage.norm is not None:
            stretch_of = factors(model, seen)[f"layers.{stage.layer}.factor{'_attention' * between}"].double()
            gain, longest = math.log(stage.norm[0]), float(before.norm(dim=-1).max())
            inside = (_change(before), stretch_of[0], stretch_of[1:])
            yield "16", _change(y), gain + norm_bound(longest, *inside)
            yield "16 sharp", _change(y), gain + sharp_norm_bound(*inside)
            most = stretch_of.amax(-1)
            stretch = stretch + (most.log() / 2 if form == "sharp" else (1 + most).log())
        total += constants[f"stage {k}"]
        if k > 1:
            near = (first + first.mean(-1, keepdim=True)).double().log()
            yield "18", _change(y), total + (stretch[0] + stretch[1:])[:, None] + near


def _attention_sides(
    model: Network, seen: dict[str, Tensor], stage: Stage, y: Tensor, *, upper: bool
) -> Iterator[Side]:
    """Lemma 9, and in upper layers 13 and 15, of every head."""
    change, longest = _change(y), max(1.0, float(y.norm(dim=-1).max()))  # (n, N)
    near, score = change + change.mean(-1, keepdim=True), stage.score_bound(longest)
    for h, size in enumerate(stage.values):
        weights = seen[f"layers.{stage.layer}.attention.{h}"]  # (1 + n, N, N)
        moved = (weights[1:] - weights[0]).abs().sum(-1)  # (n, N)
        head = _change(weights @ (y @ _value(model, stage.layer, h)))
        yield "9", head, head_bound(size, change @ weights[0].T, float(y.norm(dim=-1).max()), moved)
        if upper:
            yield "13", moved, attention_bound(score, near)
            yield "15", head, upper_head_bound(size, longest, score, near)


def _change(values: Tensor) -> Tensor:
    """‖values(x⊕q) − values(x)‖ from (1 + n, N, D): (n, N)."""
    return (values[1:] - values[0]).norm(dim=-1)


def _value(model: Network, layer: int, h: int) -> Tensor:
    if isinstance(model, encoder.Encoder):
        return model.value_output(layer)[h]
    head = model.layers[layer].heads[h]
    return head.value if head.output is None else head.value @ head.output


def _after(model: Network, seen: dict[str, Tensor], layer: int, between: bool) -> Tensor:
    """What leaves a stage: the output of the layer, or what the norm between attention and MLP makes of U."""
    if not between:
        return seen[f"layers.{layer}.output"]
    if isinstance(model, blocks.Encoder):
        norm = model.layers[layer].norm_attention
    else:
        own, config = dict(model.get_submodule(f"layers.{layer}.norm_attention").named_parameters()), model.config
        norm = blocks.Norm(config.eps, own["gain"], own.get("bias"), centre=not config.rms)
    return norm(seen[f"layers.{layer}.mixed"])
