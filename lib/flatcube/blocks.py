"""Attention, MLP, layer norm: the few parts from which every network of this book is put together.

A sequence of n tokens is a matrix with one row per position, X of shape (n, D). Rows are multiplied from the right by
weights, so a query-key matrix has the query in its row and the key in its column:

    head(X)  = softmax(X W Xᵀ + mask) X V O        softmax over each row, O only where it is given
    mlp(X)   = relu(… relu(X W₁ + b₁) W₂ + b₂ …)   no relu after the last layer
    norm(X)  = gain · (X − mean)/√(variance + ε) + bias   over the channels of each position (HR Eq. 2-5)

    layer(X): U = X·skip + Σ heads(X),  Z = X·bypass + U·keep + mlp(U),   each followed by a norm where there is one.

``skip``, ``bypass`` and ``keep`` are *wires*: constants of the architecture, not weights, hence buffers. The encoder of
HR has skip = keep = identity; the network of SP has only a bypass for the positions.

Everything that fixes a network is in its ``state_dict``: ``from_state`` rebuilds it from those tensors alone.
Parameters have at most two axes and broadcast from the right, so K perturbed copies can run at once: see ``many``.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

__all__ = ["Head", "Mlp", "Norm", "Layer", "Encoder", "from_state", "many", "stacked", "squared_norms"]

Positions = Tensor | Callable[[int], Tensor]
_WIDE = 64


class Head(nn.Module):
    """One attention head, softmax(X W Xᵀ + mask) X V O (ED Def. 3.1, with W = W_Q W_Kᵀ).

    query_key (D, D), value (D, E), output (E, F) or None; mask (n, n) is added to the logits: 0 or −∞.
    """

    def __init__(
        self, query_key: Tensor, value: Tensor, output: Tensor | None = None, *, mask: Tensor | None = None
    ) -> None:
        super().__init__()
        self.query_key = nn.Parameter(query_key)
        self.value = nn.Parameter(value)
        self.output = None if output is None else nn.Parameter(output)
        self.register_buffer("mask", mask)

    def attention(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """The attention weights (…, r, n) of the chosen query rows of x (…, n, D); each row sums to 1."""
        logits = x[..., rows, :] @ self.query_key @ x.transpose(-1, -2)
        if self.mask is not None:
            logits = logits + self.mask[rows]
        return logits.softmax(-1)

    def mix(self, x: Tensor, attention: Tensor) -> Tensor:
        """The values of x (…, n, D) averaged with the given weights (…, r, n): (…, r, E) or (…, r, F)."""
        mixed = attention @ (x @ self.value)
        return mixed if self.output is None else mixed @ self.output

    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """x (…, n, D) to (…, r, E); where no gradient is asked for, without the (r, n) matrix of weights."""
        # The fused attention below has no second derivative, and gains nothing where channels are many.
        if torch.is_grad_enabled() or x.shape[-1] > _WIDE:
            return self.mix(x, self.attention(x, rows))
        queries = x[..., rows, :]
        if self.mask is None and self.query_key.ndim == 2 and not self.query_key.any():
            mean = x.mean(-2, keepdim=True) @ self.value  # all logits are 0
            mixed = mean.expand(*mean.shape[:-2], queries.shape[-2], -1)
        else:
            mixed = _fused(queries @ self.query_key, x, x @ self.value, None if self.mask is None else self.mask[rows])
        return mixed if self.output is None else mixed @ self.output


class Mlp(nn.Module):
    """Affine maps with relu between them: weights [(D, H), …, (H, E)], biases [(H,), …, (E,) or None]."""

    def __init__(self, weights: Sequence[Tensor], biases: Sequence[Tensor | None]) -> None:
        super().__init__()
        if len(weights) != len(biases):
            raise ValueError(f"biases has {len(biases)} entries; it must have {len(weights)}, one for each weight")
        self.weights = nn.ParameterList(weights)
        self.biases = nn.ParameterList(biases)

    def hidden(self, x: Tensor) -> Iterator[Tensor]:
        """The values (…, H) after each affine map, before its relu."""
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (x.relu() if index else x) @ weight
            x = x if bias is None else x + bias
            yield x

    def forward(self, x: Tensor) -> Tensor:
        """x (…, D) to (…, E)."""
        *_, last = self.hidden(x)
        return last


class Norm(nn.Module):
    """Layer norm: (x − mean)/√(variance + ε) over the channels, times gain (D,), plus bias (D,) (HR Eq. 2-5).

    With ``centre=False`` it is RMSNorm, x/√(mean of squares + ε). At ε = 0 a vector without variance has no image:
    it is sent to 0, the limit of ε ↓ 0.
    """

    def __init__(
        self, eps: float, gain: Tensor | None = None, bias: Tensor | None = None, *, centre: bool = True
    ) -> None:
        super().__init__()
        if not 0 <= eps < math.inf:
            raise ValueError(f"eps is {eps}; it must be a number of at least 0")
        self.gain = None if gain is None else nn.Parameter(gain)
        self.bias = None if bias is None else nn.Parameter(bias)
        self.register_buffer("eps", torch.tensor(float(eps), dtype=torch.float64))
        self.register_buffer("centre", torch.tensor(centre))

    def factor(self, x: Tensor) -> Tensor:
        """N(x) = 1/√(variance + ε), (…, 1): by how much the norm stretches x (HR Eq. 5)."""
        spread = self._centred(x).square().mean(-1, keepdim=True) + self.eps.to(x.dtype)
        return torch.where(spread > 0, spread, torch.inf).rsqrt()

    def forward(self, x: Tensor) -> Tensor:
        """x (…, D) to (…, D)."""
        y = self._centred(x) * self.factor(x)
        y = y if self.gain is None else y * self.gain
        return y if self.bias is None else y + self.bias

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
        self.heads = nn.ModuleList(heads)
        self.mlp = mlp
        self.norm_attention = norm_attention
        self.norm = norm
        self.register_buffer("skip", skip)
        self.register_buffer("bypass", bypass)
        self.register_buffer("keep", keep)

    def activations(self, x: Tensor, rows: slice = slice(None)) -> dict[str, Tensor]:
        """Everything the layer computes from x (…, n, D), by name, at the chosen rows.

        ``attention.h`` (…, r, n) per head, ``mixed`` U before its norm, ``mlp.l`` the pre-activations of the MLP's
        layers, ``sum`` Z before its norm, ``factor`` (…, r, 1) the stretch of the last norm, and ``output``.
        """
        seen: dict[str, Tensor] = {}
        u = None if self.skip is None else x[..., rows, :] @ self.skip
        for h, head in enumerate(self.heads):
            seen[f"attention.{h}"] = head.attention(x, rows)
            mixed = head.mix(x, seen[f"attention.{h}"])
            u = mixed if u is None else u + mixed
        seen["mixed"] = u
        u = u if self.norm_attention is None else self.norm_attention(u)
        seen["sum"] = self._after(x[..., rows, :], u, seen)
        if self.norm is not None:
            seen["factor"] = self.norm.factor(seen["sum"])
        seen["output"] = seen["sum"] if self.norm is None else self.norm(seen["sum"])
        return seen

    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """x (…, n, D) to (…, r, E)."""
        u = None if self.skip is None else x[..., rows, :] @ self.skip
        for head in self.heads:
            mixed = head(x, rows)
            u = mixed if u is None else u + mixed
        u = u if self.norm_attention is None else self.norm_attention(u)
        z = self._after(x[..., rows, :], u, {})
        return z if self.norm is None else self.norm(z)

    def _after(self, x: Tensor, u: Tensor, seen: dict[str, Tensor]) -> Tensor:
        """Z = X·bypass + U·keep + mlp(U); without any of the three, U itself."""
        parts = [x @ self.bypass] if self.bypass is not None else []
        parts += [u @ self.keep] if self.keep is not None else []
        if self.mlp is not None:
            hidden = list(self.mlp.hidden(u))
            seen.update({f"mlp.{index}": values for index, values in enumerate(hidden)})
            parts.append(hidden[-1])
        return sum(parts[1:], parts[0]) if parts else u


class Encoder(nn.Module):
    """Tokens (batch, n) of integers to numbers (batch,): embed, apply the layers, read one position.

    tokens (symbols, D) holds a row per symbol. positions is a table (N, D), or a rule n → (n, D) for networks of any
    length; N counts the ``appended`` symbols, which follow every input (an output position, say). readout (D, 1) is
    applied at position ``read``; without it the last layer must leave one channel.
    """

    def __init__(
        self,
        tokens: Tensor,
        positions: Positions,
        layers: Sequence[Layer],
        *,
        readout: Tensor | None = None,
        appended: Sequence[int] = (),
        read: int = -1,
    ) -> None:
        super().__init__()
        self.tokens = nn.Parameter(tokens)
        self.rule = positions if callable(positions) and not isinstance(positions, Tensor) else None
        self.positions = None if self.rule else nn.Parameter(positions)
        self.layers = nn.ModuleList(layers)
        self.readout = None if readout is None else nn.Parameter(readout)
        self.register_buffer("appended", torch.tensor(tuple(appended), dtype=torch.long))
        self.register_buffer("read", torch.tensor(read))

    def embed(self, symbols: Tensor) -> Tensor:
        """Symbols (batch, n) to X (…, batch, N, D): token row plus position row."""
        symbols = self._checked(symbols)
        symbols = torch.cat([symbols, self.appended.expand(*symbols.shape[:-1], -1)], dim=-1)
        # A product with one-hot rows instead of a lookup: it also serves stacked tokens (K, 1, symbols, D).
        rows = nn.functional.one_hot(symbols, self.tokens.shape[-2]).to(self.tokens.dtype)
        return rows @ self.tokens + self._places(symbols.shape[-1])

    def activations(self, symbols: Tensor) -> dict[str, Tensor]:
        """Everything the network computes: ``embedding``, ``layers.k.NAME`` (see ``Layer.activations``), ``output``."""
        seen = {"embedding": self.embed(symbols)}
        x = seen["embedding"]
        for index, layer in enumerate(self.layers):
            inside = layer.activations(x)
            seen.update({f"layers.{index}.{name}": value for name, value in inside.items()})
            x = inside["output"]
        return seen | {"output": self._readout(x[..., self._row(x), :])}

    def forward(self, symbols: Tensor) -> Tensor:
        """Symbols (batch, n) to (…, batch). The last layer is computed at the read position only."""
        x = self.embed(symbols)
        row = self._row(x)
        for layer in self.layers[:-1]:
            x = layer(x)
        return self._readout(self.layers[-1](x, row) if self.layers else x[..., row, :])

    def many(self, parameters: Mapping[str, Tensor], symbols: Tensor) -> Tensor:
        """The outputs (K, batch) of K copies with the given parameters, (K, …) by name; those not named are shared."""
        return functional_call(self, stacked(parameters), (symbols,))

    def _row(self, x: Tensor) -> slice:
        place = int(self.read) % x.shape[-2]
        return slice(place, place + 1)

    def _readout(self, x: Tensor) -> Tensor:
        return (x if self.readout is None else x @ self.readout)[..., 0, 0]

    def _places(self, length: int) -> Tensor:
        return self.positions if self.rule is None else self.rule(length).to(self.tokens.dtype)

    def _checked(self, symbols: Tensor) -> Tensor:
        symbols = torch.as_tensor(symbols)
        if symbols.is_floating_point() and not bool((symbols == symbols.round()).all()):
            raise ValueError("symbols has values that are not whole numbers; the network takes bits, 0 or 1")
        symbols = symbols.long()
        count = self.tokens.shape[-2]
        if symbols.numel() and not 0 <= int(symbols.min()) <= int(symbols.max()) < count:
            bad = int(symbols.min()) if int(symbols.min()) < 0 else int(symbols.max())
            raise ValueError(
                f"symbols holds {bad}; this network knows the symbols 0 to {count - 1} (signs are turned into bits by "
                f"cube.to_bits)"
            )
        length = symbols.shape[-1] + len(self.appended)
        if self.rule is None and length != self.positions.shape[-2]:
            expected = self.positions.shape[-2] - len(self.appended)
            raise ValueError(f"symbols has length {symbols.shape[-1]}; this network was built for length {expected}")
        return symbols


# --- a network from its tensors, and many copies at once --------------------------------------------------------------


def from_state(state: Mapping[str, Tensor], *, positions: Callable[[int], Tensor] | None = None) -> Encoder:
    """The network whose ``state_dict`` is ``state``; ``positions`` gives the rule where none are stored."""
    count = 1 + max((int(name.split(".")[1]) for name in state if name.startswith("layers.")), default=-1)
    layers = [_layer(_under(state, f"layers.{index}.")) for index in range(count)]
    return Encoder(
        state["tokens"].clone(),
        state["positions"].clone() if positions is None else positions,
        layers,
        readout=_copy(state, "readout"),
        appended=state["appended"].tolist(),
        read=int(state["read"]),
    )


def many(model: nn.Module, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """The outputs (K, batch) of K copies of a network, parameters (K, …) by name, on the same inputs x.

    A network that knows how to run its copies at once says so with a method ``many``; any other runs them in turn.
    """
    if hasattr(model, "many"):
        return model.many(parameters, x)
    count = len(next(iter(parameters.values())))
    copies = ({name: stack[k] for name, stack in parameters.items()} for k in range(count))
    return torch.stack([functional_call(model, copy, (x,)) for copy in copies])


def stacked(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters with a leading axis of K copies, (K, …), shaped to run at once through ``functional_call``.

    A parameter broadcasts against (batch, position, channel), so K is moved in front of those three axes:
    (K, D, E) becomes (K, 1, D, E) and (K, H) becomes (K, 1, 1, H). The network then returns (K, batch).
    """
    return {name: p.reshape(p.shape[0], *[1] * (4 - p.ndim), *p.shape[1:]) for name, p in parameters.items()}


def squared_norms(model: nn.Module, *, exclude: Sequence[str] = ()) -> dict[str, float]:
    """‖·‖² of every parameter by name, except those whose name contains a word of ``exclude``."""
    return {
        name: float(parameter.detach().square().sum())
        for name, parameter in model.named_parameters()
        if not any(word in name for word in exclude)
    }


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
    return mixed[..., : value.shape[-1]].reshape(*lead, mixed.shape[-2], -1)


def _under(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _copy(state: Mapping[str, Tensor], name: str) -> Tensor | None:
    return state[name].clone() if name in state else None


def _layer(state: Mapping[str, Tensor]) -> Layer:
    count = 1 + max((int(name.split(".")[1]) for name in state if name.startswith("heads.")), default=-1)
    return Layer(
        [_head(_under(state, f"heads.{index}.")) for index in range(count)],
        _mlp(_under(state, "mlp.")),
        **{wire: _copy(state, wire) for wire in ("skip", "bypass", "keep")},
        **{name: _norm(_under(state, f"{name}.")) for name in ("norm_attention", "norm")},
    )


def _head(state: Mapping[str, Tensor]) -> Head:
    return Head(state["query_key"].clone(), state["value"].clone(), _copy(state, "output"), mask=_copy(state, "mask"))


def _mlp(state: Mapping[str, Tensor]) -> Mlp | None:
    count = sum(name.startswith("weights.") for name in state)
    weights = [state[f"weights.{index}"].clone() for index in range(count)]
    return Mlp(weights, [_copy(state, f"biases.{index}") for index in range(count)]) if count else None


def _norm(state: Mapping[str, Tensor]) -> Norm | None:
    if "eps" not in state:
        return None
    return Norm(float(state["eps"]), _copy(state, "gain"), _copy(state, "bias"), centre=bool(state["centre"]))
