"""A network put together from ``blocks`` by hand, and the same one again from its tensors."""

import re
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from flatcube import checks
from flatcube.networks import tensors
from flatcube.networks.blocks import Head, Layer, Mlp, Norm
from flatcube.networks.channels import Channels, named, spaces
from flatcube.networks.copies import stacked
from flatcube.networks.interface import Network
from flatcube.networks.tensors import optional

__all__ = ["Circuit", "from_state"]

Positions = Tensor | Callable[[int], Tensor]
_LONGEST = 2**62  # positions of a network of any length
_NAME = re.compile(
    r"tokens|positions|readout|shift|appended|read|layers\.\d+\.(?:skip|bypass|keep|heads\.\d+\.(?:query_key|value|output|"
    r"mask|lean|offset)|mlp\.(?:weights|biases)\.\d+|(?:norm|norm_attention)\.(?:gain|bias|eps|centre))"
)


class Circuit(Network):
    """Tokens (batch, n) of integers to numbers (batch,): embed, apply the layers, read one position.

    tokens (symbols, D) holds a row per symbol. positions is a table (N, D), or a rule n → (n, D) for networks of any
    length; N counts the ``appended`` symbols, which follow every input (an output position, say). readout (D, 1) is
    applied at position ``read``, and ``shift`` (1,) added; without readout the last layer must leave one channel.
    Everything that fixes a circuit is in its ``state_dict``: ``from_state`` rebuilds it from those tensors alone.

    ``channels`` says what the channels are called and what each is for, by spaces (``flatcube.networks.channels``), and
    ``names`` what a text calls its weights, by the names of the parameters. They are for readers: nothing is computed
    with them.

    A rule for positions may have a method ``longest``, the number of positions up to which it is right in a given
    dtype: then longer inputs are refused, also after ``float()``. Its ``usual`` is a length to look at.
    """

    def __init__(
        self,
        tokens: Tensor,
        positions: Positions,
        layers: Sequence[Layer],
        *,
        readout: Tensor | None = None,
        shift: Tensor | None = None,
        appended: Sequence[int] = (),
        read: int = -1,
        channels: Channels | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        sizes: dict[str, int] = {}
        self.tokens = nn.Parameter(tensors.weights(tokens, "tokens", ("symbols", "D"), sizes))
        self.rule = positions if callable(positions) and not isinstance(positions, Tensor) else None
        table = None if self.rule is not None else tensors.tensor(positions, "positions")
        self.positions = optional(table, "positions", ("N", "D"), sizes, like=self.tokens)
        self.layers = nn.ModuleList(checks.several(layers, "layers", Layer))
        self.readout = optional(readout, "readout", ("D", 1), {}, like=self.tokens)
        self.shift = optional(shift, "shift", (1,), {}, like=self.tokens)
        places = [checks.integer(k, "appended", 0, len(tokens) - 1) for k in checks.several(appended, "appended", int)]
        self.register_buffer("appended", torch.tensor(places, dtype=torch.long))
        length = _LONGEST if self.positions is None else len(self.positions)
        self.register_buffer("read", torch.tensor(checks.integer(read, "read", -length, length - 1)))
        self.names = dict(checks.instance({} if names is None else names, "names", Mapping))
        self.channels = named(channels)
        if self.channels:
            spaces(self)

    @property
    def length(self) -> int | None:
        """The positions without those of appended symbols; None where positions follow a rule."""
        return None if self.rule is not None else self.positions.shape[-2] - len(self.appended)

    @property
    def symbols(self) -> int:
        """The rows of tokens."""
        return self.tokens.shape[-2]

    def embed(self, symbols: Tensor) -> Tensor:
        """Symbols (batch, n) to X (…, batch, N, D): token row plus position row."""
        symbols = self._checked(symbols)
        symbols = torch.cat([symbols, self.appended.expand(*symbols.shape[:-1], -1)], dim=-1)
        # A product with one-hot rows instead of a lookup: it also serves stacked tokens (K, 1, symbols, D).
        rows = nn.functional.one_hot(symbols, self.tokens.shape[-2]).to(self.tokens.dtype)
        return rows @ self.tokens + self._places(symbols.shape[-1])

    def activations(self, symbols: Tensor) -> dict[str, Tensor]:
        """Everything the network computes from symbols (batch, n), by name."""
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
        return functional_call(self, stacked(tensors.stacks(self, parameters)), (symbols,))

    def circuit(self) -> "Circuit":
        """Itself."""
        return self

    def usual(self) -> int:
        return (self.length or getattr(self.rule, "usual", 0)) or super().usual()

    def extra_repr(self) -> str:
        """The embedding and the read-out; the parts speak for themselves."""
        words = [channel.name for channel in spaces(self)["embedding"]]
        few = words if len(words) <= 12 else [*words[:5], "…", *words[-5:]]
        places = "by rule" if self.rule is not None else str(tuple(self.positions.shape))
        lines = [f"tokens {tuple(self.tokens.shape)}, positions {places}", f"channels {' · '.join(few)}"]
        lines += [f"appended {tuple(self.appended.tolist())}, read at {int(self.read)}"]
        return "\n".join(lines + ([] if self.readout is None else [f"readout {tuple(self.readout.shape)}"]))

    def _row(self, x: Tensor) -> slice:
        place = checks.integer(int(self.read), "read", -x.shape[-2], x.shape[-2] - 1) % x.shape[-2]
        return slice(place, place + 1)

    def _readout(self, x: Tensor) -> Tensor:
        if self.readout is not None:
            x = x @ self.readout if self.shift is None else x @ self.readout + self.shift
        elif x.shape[-1] != 1:
            raise ValueError(f"readout: expected one, because the last layer leaves {x.shape[-1]} channels, got none")
        return x[..., 0, 0]

    def _places(self, length: int) -> Tensor:
        if self.rule is None:
            return self.positions
        longest = getattr(self.rule, "longest", None)
        if longest is not None and length > (most := longest(self.tokens.dtype)):
            extra, kind = len(self.appended), str(self.tokens.dtype).removeprefix("torch.")
            raise ValueError(
                f"symbols: expected at most {most - extra} bits, beyond which {kind} is not guaranteed, "
                f"got {length - extra}"
            )
        return tensors.tensor(self.rule(length), "positions", (length, self.tokens.shape[-1])).to(self.tokens.dtype)

    def _checked(self, symbols: Tensor) -> Tensor:
        return tensors.whole(symbols, "symbols", 0, self.symbols - 1, (..., self.length or "n"))


# --- from its tensors -------------------------------------------------------------------------------------------------


def from_state(
    state: Mapping[str, Tensor],
    *,
    positions: Callable[[int], Tensor] | None = None,
    channels: Channels | None = None,
    names: Mapping[str, str] | None = None,
) -> Circuit:
    """The network whose ``state_dict`` is ``state``; ``positions`` gives the rule where none are stored.

    ``channels`` and ``names`` are those of ``Circuit``: no tensor holds them.
    """
    for name in checks.instance(state, "state", Mapping):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"state: expected the names of a Circuit, got {name!r:.60}")
    model = Circuit(
        _copy(state, "tokens"),
        _copy(state, "positions") if positions is None else positions,
        [_layer(_under(state, f"layers.{index}.")) for index in range(_count(state, "layers."))],
        **{name: _copy(state, name, needed=False) for name in ("readout", "shift")},
        appended=_copy(state, "appended").tolist(),
        read=_copy(state, "read").tolist(),
        channels=channels,
        names=names,
    )
    for name in sorted(state.keys() ^ model.state_dict().keys()):
        raise ValueError(f"state: expected the names of a Circuit, got {name!r}")
    return model


class _Part(dict[str, Tensor]):
    """The tensors of one part by their names inside it, and the part's own name, for what is said of them."""

    path = ""


def _under(state: Mapping[str, Tensor], prefix: str) -> _Part:
    found = _Part({name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)})
    found.path = getattr(state, "path", "") + prefix
    return found


def _count(state: Mapping[str, Tensor], prefix: str) -> int:
    """How many parts are numbered after the prefix."""
    return len({name.split(".")[1] for name in state if name.startswith(prefix)})


def _copy(state: Mapping[str, Tensor], name: str, *, needed: bool = True) -> Tensor | None:
    if name not in state:
        if needed:
            raise ValueError(f"state: expected a tensor of the name {getattr(state, 'path', '') + name!r}, got none")
        return None
    return checks.instance(state[name], f"state: {getattr(state, 'path', '') + name}", Tensor).clone()


def _layer(state: Mapping[str, Tensor]) -> Layer:
    return Layer(
        [_head(_under(state, f"heads.{index}.")) for index in range(_count(state, "heads."))],
        _mlp(_under(state, "mlp.")),
        **{wire: _copy(state, wire, needed=False) for wire in ("skip", "bypass", "keep")},
        **{name: _norm(_under(state, f"{name}.")) for name in ("norm_attention", "norm")},
    )


def _head(state: Mapping[str, Tensor]) -> Head:
    left = {name: _copy(state, name, needed=False) for name in ("output", "mask", "lean", "offset")}
    return Head(_copy(state, "query_key"), _copy(state, "value"), **left)


def _mlp(state: Mapping[str, Tensor]) -> Mlp | None:
    count = _count(state, "weights.")
    weights = [_copy(state, f"weights.{index}") for index in range(count)]
    return Mlp(weights, [_copy(state, f"biases.{index}", needed=False) for index in range(count)]) if count else None


def _norm(state: Mapping[str, Tensor]) -> Norm | None:
    if "eps" not in state:
        return None
    gain, bias = (_copy(state, name, needed=False) for name in ("gain", "bias"))
    return Norm(_copy(state, "eps").tolist(), gain, bias, centre=_copy(state, "centre").tolist())
