"""The norms of a network that its capacity depends on (ED Sec. 4.3), given or measured.

A matrix enters by its spectral norm, which says how much it stretches, and by the norms of its columns, which say how
hard it is to cover. Nothing here imports torch: ``measure`` takes the tensors of a network as it finds them.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from flatcube import checks

if TYPE_CHECKING:
    from torch import Tensor

    from flatcube import networks

__all__ = ["Norms", "HeadNorms", "LayerNorms", "NetworkNorms", "measure", "tiling"]

Form = Literal["printed", "corrected", "explicit"]
_WIDEST = 10**12


@dataclass(frozen=True)
class Norms:
    """What a cover needs to know of a matrix: spectral norm, largest column norm, sum of column norms, columns.

    A matrix that is not trained needs no cover: width 0.
    """

    spectral: float
    largest: float
    width: int
    total: float | None = None  # width · largest, unless it is known

    def __post_init__(self) -> None:
        for name in ("spectral", "largest"):
            checks.positive(getattr(self, name), name, 0)
        if checks.count(self.width, "width", 0) > _WIDEST:
            raise ValueError(f"width: expected at most {_WIDEST:,} columns, got {self.width}")
        object.__setattr__(self, "total", self.width * self.largest if self.total is None else self.total)
        checks.positive(self.total, "total", 0)

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Norms":
        """The norms of a matrix (d₁, d₂) that multiplies rows from the right."""
        matrix = checks.numbers(matrix, "matrix", ("rows", "columns")).astype(float)
        if not matrix.size:
            raise ValueError(f"matrix: expected rows and columns, got shape {matrix.shape}")
        columns = np.linalg.norm(matrix, axis=0)
        return cls(float(np.linalg.norm(matrix, 2)), float(columns.max()), matrix.shape[1], float(columns.sum()))

    @classmethod
    def fixed(cls, spectral: float = 1.0) -> "Norms":
        """A map that is part of the architecture."""
        return cls(spectral, 0.0, 0)

    def times(self, factor: float) -> "Norms":
        """The norms of the matrix times a number ≥ 0."""
        factor = checks.positive(factor, "factor", 0)
        return Norms(self.spectral * factor, self.largest * factor, self.width, self.total * factor)

    def size(self, form: Form) -> float:
        """The sum of the column norms; in ED's own form all columns count as much as the largest."""
        return self.total if checks.word(form, "form", get_args(Form)) == "explicit" else self.width * self.largest


@dataclass(frozen=True)
class HeadNorms:
    """The norms of an attention head: the score W_Q W_Kᵀ (columns: what a key is turned into) and the value W_V."""

    score: Norms
    value: Norms

    def __post_init__(self) -> None:
        checks.instance(self.score, "score", Norms)
        checks.instance(self.value, "value", Norms)

    def stretch(self, softmax: float) -> float:
        """By how much tokens in the unit ball that move by 1 can move the output: ‖V‖(1 + 2c‖W‖) (ED Lemma A.14)."""
        return self.value.spectral * (1 + 2 * checks.positive(softmax, "softmax", 0) * self.score.spectral)


@dataclass(frozen=True)
class LayerNorms:
    """The norms of U = X·skip + Σ heads(X), Z = X·bypass + U·keep + relu(U·inner)·output.

    The rows of U and Z are in the unit ball. ED's block has one head, no wires and no ``inner``. Wires count by their
    spectral norms.
    """

    heads: tuple[HeadNorms, ...]
    output: Norms
    inner: Norms = field(default_factory=Norms.fixed)
    skip: float = 0.0
    bypass: float = 0.0
    keep: float = 0.0

    def __post_init__(self) -> None:
        checks.several(self.heads, "heads", HeadNorms)
        checks.instance(self.output, "output", Norms)
        checks.instance(self.inner, "inner", Norms)
        for name in ("skip", "bypass", "keep"):
            checks.positive(getattr(self, name), name, 0)

    @property
    def after(self) -> float:
        """By how much an error of U moves Z."""
        return self.keep + self.inner.spectral * self.output.spectral

    def stretch(self, softmax: float) -> float:
        """By how much an error of the layer's input is amplified (ED Lemma A.15)."""
        checks.positive(softmax, "softmax", 0)
        return self.bypass + self.after * (self.skip + sum(head.stretch(softmax) for head in self.heads))

    def parts(self, form: Form, softmax: float) -> dict[str, tuple[float, float]]:
        """Size and reach, as far as the layer's own output, of each matrix."""
        found, softmax = {}, checks.positive(softmax, "softmax", 0)
        for h, one in enumerate(self.heads, 1):
            name = f"head {h} " if len(self.heads) > 1 else ""
            found[f"{name}score"] = one.score.size(form), softmax * one.value.spectral * self.after
            found[f"{name}value"] = one.value.size(form), self.after
        found["inner"] = self.inner.size(form), self.output.spectral
        found["output"] = self.inner.spectral * self.output.size(form), 1.0  # it reads relu(U·inner), ‖U‖ ≤ 1
        return {name: part for name, part in found.items() if part[0] > 0}


@dataclass(frozen=True)
class NetworkNorms:
    """The norms of layers and a linear read-out, the number T of positions, and the largest norm of an input token."""

    layers: tuple[LayerNorms, ...]
    readout: Norms
    T: int
    input_norm: float = 1.0

    def __post_init__(self) -> None:
        checks.count(self.T, "T")
        checks.positive(self.input_norm, "input_norm")
        checks.instance(self.readout, "readout", Norms)
        checks.several(self.layers, "layers", LayerNorms, 1)


# --- of a network ----------------------------------------------------------------------------------------------------


def measure(model: "networks.Network", *, input_norm: float | None = None, T: int | None = None) -> NetworkNorms:
    """The norms of a network: those of ED's class that it would belong to.

    The class projects tokens on the unit ball where the network normalises or does nothing, and has no biases: these
    are left out. Positions given by a rule are not stored; then ``input_norm`` and ``T`` have to be given.
    """
    if not callable(getattr(model, "circuit", None)):
        raise TypeError(f"model: expected a network of the book, such as a Circuit, got {type(model).__name__}")
    circuit = model.circuit()
    if circuit.positions is not None:
        tokens = _array(circuit.tokens)[:, None] + _array(circuit.positions)
        input_norm = float(np.linalg.norm(tokens, axis=-1).max()) if input_norm is None else input_norm
        T = len(circuit.positions) if T is None else T
    if input_norm is None or T is None:
        raise ValueError("input_norm, T: this network stores no positions; give the norm of a token and their number")
    readout = Norms.fixed() if circuit.readout is None else Norms.of(_array(circuit.readout))
    return NetworkNorms(tuple(map(_layer, circuit.layers)), readout, T, input_norm)


def _array(weight: "Tensor") -> np.ndarray:
    return checks.numbers(weight.detach().numpy(), "model: its weights").astype(float)


def _layer(layer: "networks.Layer") -> LayerNorms:
    found = tuple(
        # rows of the score: the cover turns keys into vectors that wait for a query
        HeadNorms(Norms.of(_array(head.query_key).T), Norms.of(_array(head.value_output)))
        for head in layer.heads
    )
    weights = [] if layer.mlp is None else [Norms.of(_array(weight)) for weight in layer.mlp.weights]
    if len(weights) not in (0, 2):
        raise ValueError(f"model: a layer has an MLP with {len(weights)} matrices; bounds are for none or two")
    wires = {name: getattr(layer, name) for name in ("skip", "bypass", "keep")}
    wires = {name: Norms.of(_array(wire)).spectral for name, wire in wires.items() if wire is not None}
    return LayerNorms(found, *(reversed(weights) if weights else [Norms.fixed()]), **wires)


def tiling(T: int, k: int, *, tau: float = 0.01) -> NetworkNorms:
    """The norms of the hand-built network (chapter 4) for T bits tiled by w = T/k disjoint k-parities of unit variance.

    λ_i = 2/√w, β = log(8T), ω = log((T+1−w)/τ) + log λ_i. Layer 1 has value map V₁E and output map F; layer 2 mixes and
    passes on, with identities as value and output maps; the read-out is v₂. Tokens have norm at most √2.
    """
    if checks.count(T, "T") % checks.count(k, "k"):
        raise ValueError(f"k: expected a divisor of T = {T}, got {k}")
    w, width, units = T // k, T + 2, 4 * (k + 1)
    beta, logit = math.log(8 * T), math.log((T + 1 - w) / checks.positive(tau, "tau")) + math.log(2 / math.sqrt(w))
    reading, mixing = beta * math.sqrt(k), math.sqrt(w) * abs(logit)
    slopes = 8 * k * math.sqrt(k // 2 + 1)
    first = LayerNorms(
        (HeadNorms(Norms(reading, reading, width, w * reading), Norms(math.sqrt(units), 1.0, units)),),
        Norms(slopes, slopes, width, slopes),
    )
    mixer = HeadNorms(Norms(mixing, mixing, width, mixing), Norms(1.0, 1.0, width))
    second = LayerNorms((mixer,), Norms(1.0, 1.0, width))
    total = 2 * math.sqrt(w) + tau
    return NetworkNorms((first, second), Norms(total, total, 1), T + 1, math.sqrt(2))
