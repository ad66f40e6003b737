"""Attention, MLP, layer norm: the few parts from which every network of this book is put together.

A sequence of n tokens is a matrix with one row per position, X of shape (n, D). Rows are multiplied from the right by
weights, so a query-key matrix has the query in its row and the key in its column:

    head(X)  = softmax((X W + lean) Xᵀ + mask) X V O + offset   softmax over each row, O only where it is given
    mlp(X)   = relu(… relu(X W₁ + b₁) W₂ + b₂ …)   no relu after the last layer
    norm(X)  = gain · (X − mean)/√(variance + ε) + bias   over the channels of each position (HR Eq. 2-5)

    layer(X): U = X·skip + Σ heads(X),  Z = X·bypass + U·keep + mlp(U),   each followed by a norm where there is one.

``skip``, ``bypass`` and ``keep`` are *wires*: constants of the architecture, not weights, hence buffers. The encoder of
HR has skip = keep = identity; the network of SP has only a bypass for the positions.

Parameters have at most two axes and broadcast from the right, so K perturbed copies can run at once: see ``copies``.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.tensors import explained, optional

__all__ = ["Head", "Mlp", "Norm", "Layer"]

_WIDE = 64


class Head(nn.Module):
    """One attention head, softmax((X W + lean) Xᵀ + mask) X V O + offset (ED Def. 3.1, with W = W_Q W_Kᵀ).

    query_key (D, D), value (D, E), output (E, F) or None; mask (n, n) is added to the logits: 0 or −∞. Biases of
    queries are a ``lean`` (D,) towards some keys, those of values an ``offset`` (F,), because weights add up to 1.
    """

    def __init__(
        self,
        query_key: Tensor,
        value: Tensor,
        output: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        lean: Tensor | None = None,
        offset: Tensor | None = None,
    ) -> None:
        super().__init__()
        sizes: dict[str, int] = {}
        self.query_key = nn.Parameter(tensors.weights(query_key, "query_key", ("D", "D"), sizes))
        self.value = nn.Parameter(tensors.weights(value, "value", ("D", "E"), sizes, like=self.query_key))
        self.output = optional(output, "output", ("E", "F"), sizes, like=self.query_key)
        self.lean = optional(lean, "lean", ("D",), sizes, like=self.query_key)
        self.offset = optional(offset, "offset", ("E" if output is None else "F",), sizes, like=self.query_key)
        self.register_buffer("mask", None if mask is None else _checked_mask(mask, self.query_key))

    def extra_repr(self) -> str:
        """The shapes of what it has."""
        held = {name: getattr(self, name) for name in ("query_key", "value", "output", "lean", "offset", "mask")}
        return ", ".join(f"{name} {tuple(part.shape)}" for name, part in held.items() if part is not None)

    @property
    def value_output(self) -> Tensor:
        """V O, or V where there is no O: what stands to the right of X, (D, F)."""
        return self.value if self.output is None else self.value @ self.output

    @explained
    def attention(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """The attention weights (…, r, n) of the chosen query rows of x (…, n, D); each row sums to 1."""
        logits = self._queries(x, rows) @ x.transpose(-1, -2)
        if self.mask is not None:
            logits = logits + self.mask[rows]
        return logits.softmax(-1)

    def _queries(self, x: Tensor, rows: slice) -> Tensor:
        """X W + lean at the chosen rows, (…, r, D): the logits are its products with the rows of x."""
        queries = _at(x, rows) @ self.query_key
        return queries if self.lean is None else queries + self.lean

    def _mix(self, x: Tensor, attention: Tensor) -> Tensor:
        """The values of x (…, n, D) averaged with the given weights (…, r, n): (…, r, E) or (…, r, F)."""
        return self._leave(attention @ (x @ self.value))

    def _leave(self, mixed: Tensor) -> Tensor:
        mixed = mixed if self.output is None else mixed @ self.output
        return mixed if self.offset is None else mixed + self.offset

    @explained
    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """x (…, n, D) to (…, r, E); where no gradient is asked for, without the (r, n) matrix of weights."""
        # The fused attention below has no second derivative, and gains nothing where channels are many.
        if torch.is_grad_enabled() or x.shape[-1] > _WIDE:
            return self._mix(x, self.attention(x, rows))
        if self.mask is None and self.lean is None and self.query_key.ndim == 2 and not self.query_key.any():
            mean = x.mean(-2, keepdim=True) @ self.value  # all logits are 0
            mixed = mean.expand(*mean.shape[:-2], _at(x, rows).shape[-2], -1)
        else:
            mask = None if self.mask is None else self.mask[rows]
            mixed = _fused(self._queries(x, rows), x, x @ self.value, mask)
        return self._leave(mixed)

    def _check(self, x: Tensor, rows: slice = slice(None)) -> None:
        positions = "n" if self.mask is None else self.mask.shape[-1]
        tensors.floats(x, "x", (..., positions, self.value.shape[-2]), like=self.value)
        _check_leading(x.shape[:-2], self.value.shape[:-2])
        checks.instance(rows, "rows", slice)


class Mlp(nn.Module):
    """Affine maps with relu between them: weights [(D, H), …, (H, E)], biases [(H,), …, (E,) or None]."""

    def __init__(self, weights: Sequence[Tensor], biases: Sequence[Tensor | None]) -> None:
        super().__init__()
        weights = checks.several(weights, "weights", Tensor, 1)
        biases = checks.several(biases, "biases", (Tensor, type(None)))
        if len(weights) != len(biases):
            raise ValueError(f"biases: expected one, or None, for each of {len(weights)} weights, got {len(biases)}")
        sizes: dict[str, int] = {}
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            tensors.weights(weight, f"weights[{k}]", (f"H{k}", f"H{k + 1}"), sizes, like=weights[0])
            if bias is not None:
                tensors.weights(bias, f"biases[{k}]", (f"H{k + 1}",), sizes, like=weights[0])
        self.weights = nn.ParameterList(weights)
        self.biases = nn.ParameterList(biases)

    def __repr__(self) -> str:
        sizes = [self.weights[0].shape[-2], *(weight.shape[-1] for weight in self.weights)]
        biased = "".join("-" if bias is None else "b" for bias in self.biases)
        return f"Mlp({' → '.join(map(str, sizes))}, biases {biased})"

    def hidden(self, x: Tensor) -> Iterator[Tensor]:
        """The values (…, H) after each affine map, before its relu."""
        self._check(x)
        return self._affine(x)

    def _affine(self, x: Tensor) -> Iterator[Tensor]:
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (x.relu() if index else x) @ weight
            x = x if bias is None else x + bias
            yield x

    @explained
    def forward(self, x: Tensor) -> Tensor:
        """x (…, D) to (…, E)."""
        *_, last = self._affine(x)
        return last

    def _check(self, x: Tensor) -> None:
        tensors.floats(x, "x", (..., self.weights[0].shape[-2]), like=self.weights[0])


class Norm(nn.Module):
    """Layer norm: (x − mean)/√(variance + ε) over the channels, times gain (D,), plus bias (D,) (HR Eq. 2-5).

    With ``centre=False`` it is RMSNorm, x/√(mean of squares + ε). At ε = 0 a vector without variance has no image:
    it is sent to 0, the limit of ε ↓ 0.
    """

    def __init__(
        self, eps: float, gain: Tensor | None = None, bias: Tensor | None = None, *, centre: bool = True
    ) -> None:
        super().__init__()
        sizes: dict[str, int] = {}
        self.gain = optional(gain, "gain", ("D",), sizes)
        self.bias = optional(bias, "bias", ("D",), sizes)
        self.register_buffer("eps", torch.tensor(checks.positive(eps, "eps", 0), dtype=torch.float64))
        self.register_buffer("centre", torch.tensor(checks.flag(centre, "centre")))

    def extra_repr(self) -> str:
        """ε, what it centres, and its weights."""
        kind = f"eps={float(self.eps):g}, centre={bool(self.centre)}"
        return kind + "".join(f", {name} {tuple(p.shape)}" for name, p in self.named_parameters())

    @explained
    def factor(self, x: Tensor) -> Tensor:
        """N(x) = 1/√(variance + ε), (…, 1): by how much the norm stretches x (HR Eq. 5)."""
        spread = self._centred(x).square().mean(-1, keepdim=True) + self.eps.to(x.dtype)
        return torch.where(spread > 0, spread, torch.inf).rsqrt()

    @explained
    def forward(self, x: Tensor) -> Tensor:
        """x (…, D) to (…, D)."""
        y = self._centred(x) * self.factor(x)
        y = y if self.gain is None else y * self.gain
        return y if self.bias is None else y + self.bias

    def _check(self, x: Tensor) -> None:
        given = self.bias if self.gain is None else self.gain
        tensors.floats(x, "x", (..., "D" if given is None else given.shape[-1]))
        _check_leading(x.shape[:-1], () if given is None else given.shape[:-1])

    def _centred(self, x: Tensor) -> Tensor:
        return x - x.mean(-1, keepdim=True) if self.centre else x


class Layer(nn.Module):
    """Heads, then an MLP: U = X·skip + Σ heads(X), Z = X·bypass + U·keep + mlp(U); a norm after each where given.

    Wires are matrices (D, E), fixed buffers; one that is None carries nothing.
    """

    def __init__(
        self,
        heads: Sequence[Head],
        mlp: Mlp | None = None,
        *,
        skip: Tensor | None = None,
        bypass: Tensor | None = None,
        keep: Tensor | None = None,
        norm_attention: Norm | None = None,
        norm: Norm | None = None,
    ) -> None:
        super().__init__()
        self.heads = nn.ModuleList(checks.several(heads, "heads", Head))
        self.mlp = checks.instance(mlp, "mlp", (Mlp, type(None)))
        self.norm_attention = checks.instance(norm_attention, "norm_attention", (Norm, type(None)))
        self.norm = checks.instance(norm, "norm", (Norm, type(None)))
        for name, wire in {"skip": skip, "bypass": bypass, "keep": keep}.items():
            self.register_buffer(name, None if wire is None else tensors.weights(wire, name, ("D", "E")))
        sizes, parts = {}, list(self._parts())
        for name, values, axes in parts:
            tensors.floats(values, name, axes, sizes, like=parts[0][1])
        if "U" not in sizes and (self.bypass is None or self.norm_attention is not None):
            raise ValueError("heads: expected one or more, or a skip, got neither")

    def extra_repr(self) -> str:
        """The wires, with how many channels each carries."""
        wires = {name: wire for name in ("skip", "bypass", "keep") if (wire := getattr(self, name)) is not None}
        carried = {name: (int((wire != 0).any(-1).sum()), len(wire)) for name, wire in wires.items()}
        words = [f"{name}: {some} of {total} channels" for name, (some, total) in carried.items()]
        return "wires " + ", ".join(words) if words else "no wires"

    @explained
    def activations(self, x: Tensor, rows: slice = slice(None)) -> dict[str, Tensor]:
        """Everything the layer computes from x (…, n, D), by name, at the chosen rows.

        ``attention.h`` (…, r, n) per head, ``mixed`` U before its norm, ``mlp.l`` the pre-activations of the MLP's
        layers, ``sum`` Z before its norm, ``output`` Z after it, and the factors (…, r, 1) by which the norms stretch:
        ``factor_attention`` that of U's, ``factor`` that of Z's.
        """
        seen: dict[str, Tensor] = {}
        u = None if self.skip is None else _at(x, rows) @ self.skip
        for h, head in enumerate(self.heads):
            seen[f"attention.{h}"] = head.attention(x, rows)
            mixed = head._mix(x, seen[f"attention.{h}"])
            u = mixed if u is None else u + mixed
        seen["mixed"] = u
        if self.norm_attention is not None:
            seen["factor_attention"] = self.norm_attention.factor(u)
        u = u if self.norm_attention is None else self.norm_attention(u)
        seen["sum"] = self._after(_at(x, rows), u, seen)
        if self.norm is not None:
            seen["factor"] = self.norm.factor(seen["sum"])
        seen["output"] = seen["sum"] if self.norm is None else self.norm(seen["sum"])
        return seen

    @explained
    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """x (…, n, D) to (…, r, E)."""
        u = None if self.skip is None else _at(x, rows) @ self.skip
        for head in self.heads:
            mixed = head(x, rows)
            u = mixed if u is None else u + mixed
        u = u if self.norm_attention is None else self.norm_attention(u)
        z = self._after(_at(x, rows), u, {})
        return z if self.norm is None else self.norm(z)

    def _parts(self) -> Iterator[tuple[str, Tensor, tuple[str, str]]]:
        """All that fixes how many channels enter (D), are mixed (U) and leave (Z), by name and with its axes."""
        for h, head in enumerate(self.heads):
            yield f"heads[{h}]", head.query_key, ("D", "D")
            yield f"heads[{h}]", head.value if head.output is None else head.output, (f"E{h}", "U")
        wires = {"skip": ("D", "U"), "bypass": ("D", "Z"), "keep": ("U", "Z")}
        yield from (
            (name, getattr(self, name), axes) for name, axes in wires.items() if getattr(self, name) is not None
        )
        if self.mlp is not None:
            yield "mlp", self.mlp.weights[0], ("U", "H")
            yield "mlp", self.mlp.weights[-1], ("G", "Z")

    def _check(self, x: Tensor, rows: slice = slice(None)) -> None:
        first = next(values for _, values, axes in self._parts() if axes[0] == "D")
        tensors.floats(x, "x", (..., "n", first.shape[-2]), like=first)
        checks.instance(rows, "rows", slice)

    def _after(self, x: Tensor, u: Tensor, seen: dict[str, Tensor]) -> Tensor:
        """Z = X·bypass + U·keep + mlp(U); without any of the three, U itself."""
        parts = [x @ self.bypass] if self.bypass is not None else []
        parts += [u @ self.keep] if self.keep is not None else []
        if self.mlp is not None:
            hidden = list(self.mlp._affine(u))
            seen.update({f"mlp.{index}": values for index, values in enumerate(hidden)})
            parts.append(hidden[-1])
        return sum(parts[1:], parts[0]) if parts else u


def _at(x: Tensor, rows: slice) -> Tensor:
    return x[..., checks.instance(rows, "rows", slice), :]


def _check_leading(found: Sequence[int], copies: Sequence[int]) -> None:
    """Refuse the leading axes of x unless they meet those of the copies that a network is run with."""
    try:
        torch.broadcast_shapes(found, copies)
    except RuntimeError:
        raise ValueError(f"x: expected leading axes that fit {tuple(copies)}, got {tuple(found)}") from None


def _checked_mask(mask: Tensor, like: Tensor) -> Tensor:
    mask = tensors.floats(mask, "mask", ("n", "n"), like=like)
    wrong = (mask != 0) & (mask != -torch.inf)
    if bool(wrong.any()):
        raise ValueError(f"mask: expected 0 and −∞, got {mask[wrong][0].item():g}")
    if bool((mask != 0).all(-1).any()):
        raise ValueError("mask: expected a 0 in every row, got a row of −∞")
    return mask


def _fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(query keyᵀ + mask) value without ever holding the weights."""
    lead = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    width = max(key.shape[-1], value.shape[-1])
    # The fused kernel wants four axes and one width; channels of zeros change nothing.
    four = [
        nn.functional.pad(part, (0, width - part.shape[-1])).expand(*lead, -1, -1).reshape(-1, 1, part.shape[-2], width)
        for part in (query, key, value)
    ]
    mixed = nn.functional.scaled_dot_product_attention(*four, attn_mask=mask, scale=1.0)
    return mixed[..., : value.shape[-1]].reshape(*lead, mixed.shape[-2], value.shape[-1])
