"""One head that selects a few symbols, and a network that computes a function of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flatcube import checks, cube
from flatcube.networks import tensors
from flatcube.networks.blocks import Head, Layer, Mlp
from flatcube.networks.circuit import Circuit
from flatcube.sparse_variables import directions, scales
from flatcube.sparse_variables import tables as lookup
from flatcube.sparse_variables.scales import ENCODINGS, FORMS, OUTPUTS

__all__ = ["ENCODINGS", "OUTPUTS", "FORMS", "Selector", "represent", "as_symbols", "inputs"]

_MOST = 2**25  # weights of a lookup's second layer, a quarter of a gigabyte


@dataclass(frozen=True, eq=False)
class Selector:
    """An attention block that selects the bits ``chosen`` (1 … T) out of T.

    ``vectors`` (T, d) are the unit vectors v_t of fixed positions or of the bag, orthonormal if not given. ``scale`` is
    R; if not given, it is ``scales.logit_scale``, which refuses vectors that are not orthogonal enough.

    >>> Selector(6, (2, 5)).signal([[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 1]]).round(2).tolist()  # target 1 and 0
    [[0.99], [-0.04]]
    """

    T: int
    chosen: tuple[int, ...]
    encoding: str = "fixed"
    outputs: str = "one"
    form: str = "repaired"
    vectors: np.ndarray | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        checks.integer(self.T, "T", 1)
        object.__setattr__(self, "chosen", cube.subset(cube.mask(self.chosen, self.T, name="chosen")))
        if not self.chosen:
            raise ValueError("chosen: expected at least one position, got none")
        for name, allowed in scales.WORDS.items():
            checks.word(getattr(self, name), name, allowed)
        if self.vectors is not None:
            object.__setattr__(self, "vectors", _unit_rows(self.vectors, self.T, self.encoding))
        if self.scale is not None:
            checks.positive(self.scale, "scale", 0)
        else:
            keys = 1 if self.outputs == "each" and self.encoding == "fixed" else self.s  # vectors in one key
            R = scales.logit_scale(self.T, keys, self.gamma, self.coherence, encoding=self.encoding, form=self.form)
            object.__setattr__(self, "scale", R)

    @property
    def s(self) -> int:
        """How many bits are chosen."""
        return len(self.chosen)

    @property
    def gamma(self) -> float:
        """γ, the least distance of two signals; ED ask for γ ≤ 1."""
        if self.encoding == "bag":
            return 1 / self.s
        return min(1.0, 2 / self.s) if self.outputs == "one" else 1.0

    @property
    def coherence(self) -> float:
        """Δ of the given vectors; rounding errors count as 0."""
        delta = 0.0 if self.vectors is None or self.T == 1 else directions.coherence(self.vectors)
        return delta if delta > 1e-12 else 0.0

    def points(self) -> np.ndarray:
        """The ideal signals (n, outputs): one for each count of ones, n = s + 1, or for all n = 2^s settings."""
        if self.outputs == "one":
            r = np.arange(self.s + 1)[:, None]
            return (r - self.s) / (r + 1) if self.encoding == "bag" else 1 - 2 * r / self.s
        checks.room(8 * self.s * 2**self.s, "chosen")
        bits = np.arange(2**self.s)[:, None] >> np.arange(self.s) & 1
        return (bits - 1) / (bits.sum(1, keepdims=True) + 1) if self.encoding == "bag" else 1.0 - 2 * bits

    def target(self, bits: np.ndarray) -> np.ndarray:
        """The ideal signals (batch, outputs) of the inputs bits (batch, T)."""
        bits = checks.bits(bits, ("batch", self.T)).astype(int)
        mine = bits[:, np.array(self.chosen) - 1]
        return self.points()[mine.sum(1) if self.outputs == "one" else mine @ 2 ** np.arange(self.s)]

    def matrices(self) -> list[dict[str, Tensor]]:
        """ED's W_Q, W_K, W_V (D, k) and W_C (k, outputs) of every head."""
        v, others = self._directions()
        asking, keys = self.scale * others[-1], self._keys(v)
        if self.encoding == "bag":
            value = v[np.array(self.chosen) - 1].T - others[-1][:, None]
            output = torch.ones(self.s, 1).double() if self.outputs == "one" else torch.eye(self.s).double()
            ask, key = _outer(asking, 0, self.s), _outer(keys[0], 0, self.s)
            return [{"W_Q": ask, "W_K": key, "W_V": value, "W_C": output}]
        column = _value_column(self.form) if self.outputs == "each" and self.encoding == "fixed" else 0
        k = column + 1
        ask, value = _outer(asking, 0, k), _outer(others[0] - others[1], column, k)
        outputs = torch.eye(len(keys), dtype=torch.float64)
        return [
            {"W_Q": ask, "W_K": _outer(key, 0, k), "W_V": value, "W_C": _outer(output, 0, k).T}
            for key, output in zip(keys, outputs, strict=True)
        ]

    def encoder(self, mlp: Mlp | None = None, *, dtype: torch.dtype = torch.float64) -> Circuit:
        """The network: embedding, these heads and, where given, an MLP on the signal. It takes ``as_symbols(bits)``."""
        checks.instance(mlp, "mlp", (Mlp, type(None)))
        tensors.dtype(dtype)
        v, others = self._directions()
        nothing = torch.zeros(1, v.shape[1], dtype=torch.float64)
        if self.encoding == "bag":
            tokens, places = torch.cat([nothing, v, others]), nothing.repeat(self.T + 1, 1)
        else:
            tokens, places = others, torch.cat([self._places(v), nothing])
        heads = [Head(m["W_Q"] @ m["W_K"].T, m["W_V"], m["W_C"]) for m in self.matrices()]
        kind = Bag if self.encoding == "bag" else Circuit
        made = kind(
            tokens, places, [Layer(heads, mlp)], appended=[len(tokens) - 1], channels=self._channels(mlp, v.shape[1])
        )
        return made.to(dtype)

    def _channels(self, mlp: Mlp | None, width: int) -> dict[str, list[tuple[str, str]]]:
        """What the channels of the network are called, and what each is for."""
        bag, trained, exact = self.encoding == "bag", self.encoding == "trainable", self.vectors is None
        ends = [("CLS", "1 at the last position, which asks")]
        ends = ends if bag else [("E0", "1 where the bit is 0"), ("E1", "1 where the bit is 1"), *ends]
        count = width - len(ends)
        if trained:
            place = [(f"key {k}", "1 at a chosen bit") for k in range(1, count + 1)]
        elif exact:
            words = "1 if bit {} is 1" if bag else "1 at position {}"
            place = [(f"v{t}", words.format(t)) for t in range(1, count + 1)]
        else:
            place = [(f"v[{k}]", f"coordinate {k} of the given vectors") for k in range(1, count + 1)]
        signals = [("signal", "one number for all chosen bits")]
        if self.outputs == "each":
            signals = [(f"signal {t}", f"one number for bit {t}") for t in self.chosen]
        symbols = [("–", "nothing"), *((str(t), f"bit {t} is 1") for t in range(1, self.T + 1))] if bag else ["0", "1"]
        found = {
            "tokens": [*symbols, ("CLS", "the symbol that asks")],
            "embedding": [*place, *ends],
            "layers.0.mixed": signals,
        }
        values = 0 if mlp is None else mlp.weights[-1].shape[-1]
        return found | ({"layers.0.output": [("f", "the value that is looked up")]} if values == 1 else {})

    def signal(self, bits: np.ndarray) -> np.ndarray:
        """What the heads really put out at [CLS], (batch, outputs)."""
        model, symbols = self.encoder(), as_symbols(bits, self.encoding)
        with torch.no_grad():
            return model.layers[0].activations(model.embed(symbols))["mixed"][..., -1, :].numpy()

    def attention(self, bits: np.ndarray) -> np.ndarray:
        """The weights with which [CLS] looks at the T bits and, last, at itself: (heads, batch, T + 1)."""
        model, symbols = self.encoder(), as_symbols(bits, self.encoding)
        with torch.no_grad():
            x = model.embed(symbols)
            rows = [head.attention(x, slice(self.T, None))[..., 0, :] for head in model.layers[0].heads]
        return torch.stack(rows).numpy()

    def _directions(self) -> tuple[Tensor, Tensor]:
        """The vectors v (…, D), and E₀, E₁ (not for the bag) and [CLS], orthogonal to them and to each other."""
        count = {"one": 1, "each": self.s}[self.outputs] if self.encoding == "trainable" else self.T
        v = torch.eye(count, dtype=torch.float64) if self.vectors is None else torch.tensor(self.vectors)
        extra = 1 if self.encoding == "bag" else 3
        together = torch.block_diag(v, torch.eye(extra, dtype=torch.float64))
        return together[: len(v)], together[len(v) :]

    def _places(self, v: Tensor) -> Tensor:
        """P (T, D): the given vectors, or where positions are trained v₁ (for each: e_{n(i)}) at the chosen ones."""
        if self.encoding == "fixed":
            return v
        rows = torch.zeros(self.T, v.shape[1], dtype=torch.float64)
        rows[np.array(self.chosen) - 1] = v
        return rows

    def _keys(self, v: Tensor) -> Tensor:
        """The column of W_K of every head, (heads, D)."""
        if self.encoding == "trainable":
            return v
        mine = v[np.array(self.chosen) - 1]
        if self.encoding == "bag":
            return (mine.sum(0) + self._directions()[1][-1])[None]  # [CLS] attends to itself as well
        return mine.sum(0, keepdim=True) if self.outputs == "one" else mine


class Bag(Circuit):
    """A network whose symbols are a bag: 0 for nothing, t for a bit t that is 1, in any order, each at most once."""

    def choices(self, n: int) -> list[list[int]]:
        """Nothing, or the bit of this place."""
        return [[0, t] for t in range(1, n + 1)]

    def _checked(self, symbols: Tensor) -> Tensor:
        symbols = super()._checked(symbols)
        ordered = symbols.sort(-1).values
        twice = (ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] > 0)
        raw = symbols.numel() > 0 and int(symbols.max()) == 1 and bool((symbols[..., 1:] == 1).any())
        if bool(twice.any()) or raw:
            got = "bits" if raw else f"{int(ordered[..., 1:][twice][0])} twice"
            raise ValueError(
                "symbols: expected t where bit t is 1 and 0 elsewhere, as sparse_variables.as_symbols(bits, 'bag') "
                f"gives them, got {got}"
            )
        return symbols


# --- networks ---------------------------------------------------------------------------------------------------------


def represent(
    selector: Selector,
    values: Sequence[float] | np.ndarray,
    *,
    layers: int = 3,
    dtype: torch.dtype = torch.float64,
) -> Circuit:
    """The selector with a lookup of its signals: exactly values, on every input (ED Lemmas B.5 and B.6, Prop. 4.7).

    ``values`` holds f at r = 0, …, s ones for a selector with one output, and for one with each the table (2^s,) of f
    on the chosen bits, the smallest position first.

    >>> model = represent(Selector(12, (2, 5, 7)), [1, -1, 1, -1])  # the parity of three bits
    >>> model(torch.tensor([[0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1]])).item()
    -1.0
    """
    points = checks.instance(selector, "selector", Selector).points()
    values = checks.numbers(values, "values", (len(points),))
    if 8 * points.size * len(points) > _MOST:
        raise ValueError(
            f"chosen: a lookup of all {len(points)} settings of {selector.s} bits is too large; choose fewer"
        )
    radius = scales.lookup_radius(selector.gamma, form=selector.form)
    return selector.encoder(lookup.lookup(points, values, radius, form=selector.form, layers=layers), dtype=dtype)


def as_symbols(bits: np.ndarray, encoding: str = "fixed") -> Tensor:
    """What the networks take: bits (batch, T) as they are; for the bag t where bit t is 1, and 0, "nothing", elsewhere.

    A bag has no positions, so its symbols may stand in any order.
    """
    checks.word(encoding, "encoding", ENCODINGS)
    bits = torch.as_tensor(checks.bits(bits, (..., "T"))).long()
    return bits * torch.arange(1, bits.shape[-1] + 1) if encoding == "bag" else bits


def inputs(bits: np.ndarray, vectors: np.ndarray, tokens: np.ndarray | None = None) -> np.ndarray:
    """The map b ↦ X(b), (…, T, d), by its formula: E_b + P where tokens E (2, d) are given, else diag(b) V.

    >>> inputs([1, 0], [[0.6, 0.8], [1, 0]]).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    sizes: dict[str, int] = {}
    vectors = checks.numbers(vectors, "vectors", ("T", "d"), sizes).astype(float)
    bits = checks.bits(bits, (..., sizes["T"])).astype(int)
    if tokens is None:
        return bits[..., None] * vectors
    return checks.numbers(tokens, "tokens", (2, "d"), sizes)[bits] + vectors


# --- parts ------------------------------------------------------------------------------------------------------------


def _value_column(form: str) -> int:
    """The unit vector of W_V, beside e₁ in W_C: e₁, or as printed for fixed positions with s heads e₂ (erratum 45)."""
    return 1 if form == "printed" else 0


def _outer(vector: Tensor, column: int, width: int) -> Tensor:
    """The matrix (D, width) whose only column that is not 0 is the vector."""
    return vector[:, None] * torch.eye(width, dtype=torch.float64)[column]


def _unit_rows(vectors: np.ndarray, T: int, encoding: str) -> np.ndarray:
    if encoding == "trainable":
        raise ValueError("vectors: expected none, because trainable positions choose their own")
    vectors = checks.numbers(vectors, "vectors", (T, "d")).astype(float)
    lengths = np.linalg.norm(vectors, axis=1)
    if np.abs(lengths - 1).max() > 1e-9:
        raise ValueError(f"vectors: expected rows of length 1, got {lengths[np.abs(lengths - 1).argmax()]:.6g}")
    return vectors
