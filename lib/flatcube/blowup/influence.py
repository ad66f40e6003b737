"""How far a flipped bit can reach: the constant C of HR App. B, from the weights of a network.

A network is cut into *stages*, each with an attention, an MLP or both, and a layer norm at its end (if there is one).
Three things are followed from stage to stage: R, a bound on the length of the activations; the influence of a bit at
its own position and on average; and the factors by which layer norm magnifies.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.blocks import Layer, Norm
from flatcube.networks.interface import Network

__all__ = ["Stage", "stages", "reach", "log_factors", "log_constant"]

_LONGEST = 10**6

Form = Literal["corrected", "printed", "sharp"]


class Stage(NamedTuple):
    """Spectral norms of the parts between two layer norms."""

    layer: int
    scores: tuple[float, ...]  # ‖QᵀK‖ of each head; none where the stage has no attention
    leans: tuple[float, ...]  # what biases of queries add to the scores: the length of that row
    values: tuple[float, ...]  # ‖V‖ of each head
    offset: float  # the length of what the biases of the heads add
    skip: float
    slope: float  # of MLP and its skip connection
    start: float  # the length of the MLP's output at 0
    norm: tuple[float, float] | None  # the largest gain and the length of the bias
    width: int  # the channels that leave it

    def score_bound(self, radius: float) -> float:
        """C_A, the largest |logit| for activations of length ≤ radius (HR Eq. 25)."""
        radius = checks.positive(radius, "radius", 0)
        return max((radius**2 * w + radius * b for w, b in zip(self.scores, self.leans, strict=True)), default=0.0)

    def before(self, radius: float) -> float:
        """The largest length of the activations that enter the norm."""
        mixed = (self.skip + sum(self.values)) * radius + self.offset
        return self.slope * mixed + self.start

    def after(self, radius: float) -> float:
        """The largest length of the activations that leave it: √d for a plain layer norm (HR Eq. 23)."""
        if self.norm is None:
            return self.before(radius)
        gain, bias = self.norm
        return gain * math.sqrt(self.width) + bias


@torch.no_grad()
def stages(model: Network) -> list[Stage]:
    """The stages of a network. Networks to which HR's proof does not apply are refused."""
    layers = tensors.network(model, "model", Network).circuit().layers
    return [stage for index, layer in enumerate(layers) for stage in _stages(index, layer)]


@torch.no_grad()
def reach(model: Network, n: int | None = None) -> float:
    """C_P, the largest length of an embedding on n bits; n is needed only where positions follow a rule."""
    known = tensors.network(model, "model", Network).length
    if n is None and known is None:
        raise ValueError("n: expected the number of bits, as this network takes any, got None")
    n = checks.integer(known if n is None else n, "n", 1, _LONGEST)
    if known not in (None, n):
        raise ValueError(f"n: expected {known}, the number of bits that this network takes, got {n}")
    both = torch.tensor([[0], [1]]).expand(2, n)  # every position with either bit
    return float(model.embed(both).norm(dim=-1).max())


def log_constant(model: Network, *, n: int | None = None, form: Form = "corrected") -> float | Tensor:
    """log C of HR Eq. 32, natural; for an ensemble those of its members, (K,).

    ``printed`` follows the paper, ``corrected`` our errata 4 to 6, ``sharp`` is our own: it belongs to the product of
    the factors N in place of Blowup² (see ``blowup.local``).
    """
    members = tensors.network(model, "model", Network).members()
    found = [math.fsum(log_factors(one, n=n, form=form).values()) for one in members]
    return found[0] if model.count is None else torch.tensor(found, dtype=torch.float64)


def log_factors(model: Network, *, n: int | None = None, form: Form = "corrected") -> dict[str, float]:
    """The logarithms of the factors of C: ``start`` (HR's C⁽⁰⁾), ``stage k`` (C⁽ᵏ⁾) and ``read-out``."""
    checks.word(form, "form", get_args(Form))
    parts, radius = stages(model), reach(model, n)
    if not parts:
        raise ValueError("model: expected at least one layer, got none")
    weight = model.circuit().readout
    readout = 1.0 if weight is None else float(weight.detach().norm())
    if form == "sharp":
        return _sharp(parts, radius, readout)
    return _papers(parts, radius, readout, form)


def _sharp(parts: list[Stage], radius: float, readout: float) -> dict[str, float]:
    """C = R_L ‖v‖² √(2 M c₀) ∏ C⁽ᵏ⁾, for s ≤ C √(n log n) √(P(x) · mean P(x⊕i)), P = ∏ max N.

    Σ_i I_i ≤ c₀ log n in the first stage for n ≥ 3 (Lemma 11), and M is the largest length there. Layer norm multiplies
    influence by at most gain · √(N(x) N(x′)). In later stages I_j grows to α I_j + β mean I, hence I_j + mean I by
    α + 2β: each head adds ‖V‖R²‖W‖ to α, and ‖V‖ e^{2C_A} (1 + 2R²‖W‖) to β.
    """
    first = parts[0]
    start = first.slope * radius * (2 * first.skip + 148 * sum(first.values))
    found = {"start": 0.5 * _log(2 * first.before(radius) * start)}
    for k, stage in enumerate(parts, 1):
        growth = 0.0
        if k > 1:
            own, others = stage.skip, -math.inf
            for v, w, b in zip(stage.values, stage.scores, stage.leans, strict=True):
                logit = radius**2 * w + radius * b
                own += v * logit
                others = _add(others, _log(2 * v * (1 + 2 * logit)) + 2 * logit)
            growth = _log(stage.slope) + _add(_log(own), others)
        found[f"stage {k}"] = growth + (_log(stage.norm[0]) if stage.norm else 0.0)
        radius = stage.after(radius)
    return found | {"read-out": _log(radius * readout**2)}


def _papers(parts: list[Stage], radius: float, readout: float, form: Form) -> dict[str, float]:
    """C = 25 √d H (1 + ‖v‖)² C⁽⁰⁾ C⁽¹⁾ ⋯ C⁽ᴸ⁾ (HR Eq. 22-32); as printed, without the square and factors of C⁽ᵏ⁾.

    C_V bounds skip wires too. Where gains make activations longer than √d, their length stands for it.
    """
    printed, heads = form == "printed", max(1, *(len(stage.values) for stage in parts))
    c_v = max(1.0, *(size for stage in parts for size in (stage.skip, *stage.values)))
    c_p, slope = max(1.0, radius), max(1.0, *(stage.slope for stage in parts))
    c_mlp = _longest(parts, radius, (heads + 1) * c_v, printed)
    found = {"start": math.log(150 * slope * c_v**2 * c_p * heads)}
    for k, stage in enumerate(parts, 1):
        gain, power = max(1.0, stage.norm[0]) if stage.norm else 1.0, 0.0
        if k == 1:
            size = 2 * c_mlp * (heads + 1) * c_v * c_p
        elif not stage.values:
            size = 2 * c_mlp
        else:
            size = 48 * (heads + 1) * c_v * max(1.0, radius) * (1 if printed else c_mlp * c_v * c_p)
            power = 4 * stage.score_bound(max(1.0, radius))
        found[f"stage {k}"] = math.log(gain * slope * size) + power
        radius = stage.after(radius)
    last = math.log(25 * max(1.0, radius) * heads)
    return found | {"read-out": last + (1 if printed else 2) * math.log(1 + readout)}


def _longest(parts: list[Stage], radius: float, times: float, printed: bool) -> float:
    """C_MLP, the longest output for inputs of length (H + 1) C_V max(C_P, √d) (HR Eq. 26, where it is the minimum)."""
    embedded, longest = max(1.0, radius), 1.0
    for stage in parts:
        root = math.sqrt(stage.width)
        ball = times * (min(embedded, root) if printed else max(embedded, root, radius))
        longest = max(longest, stage.slope * (ball + stage.offset) + stage.start)
        radius = stage.after(radius)
    return longest


# --- reading weights --------------------------------------------------------------------------------------------------


def _stages(index: int, layer: Layer) -> Iterator[Stage]:
    """The stages of a layer; Z = X·bypass + U·keep + mlp(U) counts the bypass as a part of the skip."""
    if index and any(head.mask is not None for head in layer.heads):
        raise ValueError(f"model: expected no mask after the first layer, got one in layer {index + 1}")
    if layer.bypass is not None and layer.norm_attention is not None:
        raise ValueError(f"model: expected no norm between bypass and MLP, got one in layer {index + 1}")
    heads, offsets = list(layer.heads), [head.offset for head in layer.heads if head.offset is not None]
    width = heads[0].value_output.shape[-1] if heads else layer.skip.shape[-1]
    plain = layer.keep is None and layer.mlp is None and layer.bypass is None  # Z = U
    slope, start = 1.0 if plain else _wire(layer.keep), 0.0
    out = width if layer.keep is None else layer.keep.shape[-1]
    if layer.mlp is not None:
        slope += math.prod(_spectral(weight) for weight in layer.mlp.weights)
        zero = layer.mlp(torch.zeros_like(layer.mlp.weights[0][:, 0]))
        start, out = float(zero.norm()), zero.shape[-1]
    inside = Stage(
        layer=index,
        scores=tuple(_spectral(head.query_key) for head in heads),
        leans=tuple(_length(head.lean) for head in heads),
        values=tuple(_spectral(head.value_output) for head in heads),
        offset=_length(sum(offsets) if offsets else None),
        skip=_wire(layer.skip) + (_wire(layer.bypass) / slope if layer.bypass is not None else 0.0),
        slope=slope,
        start=start,
        norm=_norm(layer.norm),
        width=out,
    )
    yield from _split(inside, _norm(layer.norm_attention), width)


def _split(stage: Stage, between: tuple[float, float] | None, width: int) -> Iterator[Stage]:
    """One stage, or two where a norm stands between attention and MLP."""
    if between is None:
        yield stage
        return
    yield stage._replace(slope=1.0, start=0.0, norm=between, width=width)
    yield stage._replace(scores=(), leans=(), values=(), offset=0.0, skip=1.0)


def _norm(norm: Norm | None) -> tuple[float, float] | None:
    if norm is None:
        return None
    return 1.0 if norm.gain is None else float(norm.gain.abs().max()), _length(norm.bias)


def _length(vector: Tensor | None) -> float:
    return 0.0 if vector is None else float(vector.norm())


def _wire(matrix: Tensor | None) -> float:
    return 0.0 if matrix is None else _spectral(matrix)


def _spectral(matrix: Tensor) -> float:
    return float(torch.linalg.matrix_norm(matrix.double(), 2))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _add(a: float, b: float) -> float:
    """log(eᵃ + eᵇ)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
