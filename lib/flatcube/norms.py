"""The norms of a network that its capacity depends on (ED Sec. 4.3), given or measured.

A matrix enters by its spectral norm, which says how much it stretches, and by the norms of its columns, which say how
hard it is to cover. Nothing here imports torch: ``measure`` takes the tensors of a ``blocks.Encoder`` as it finds them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from flatcube.sampling import check_count, check_positive

__all__ = ["Form", "Norms", "Head", "Layer", "Network", "measure", "tiling"]

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
            check_positive(getattr(self, name), name, 0)
        if check_count(self.width, "width", 0) > _WIDEST:
            raise ValueError(f"width: expected at most {_WIDEST:,} columns, got {self.width}")
        object.__setattr__(self, "total", self.width * self.largest if self.total is None else self.total)
        check_positive(self.total, "total", 0)

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Norms":
        """The norms of a matrix (d₁, d₂) that multiplies rows from the right."""
        matrix = np.asarray(matrix, dtype=float)
        columns = np.linalg.norm(matrix, axis=0)
        return cls(float(np.linalg.norm(matrix, 2)), float(columns.max()), matrix.shape[1], float(columns.sum()))

    @classmethod
    def fixed(cls, spectral: float = 1.0) -> "Norms":
        """A map that is part of the architecture."""
        return cls(spectral, 0.0, 0)

    def times(self, factor: float) -> "Norms":
        return Norms(self.spectral * factor, self.largest * factor, self.width, self.total * factor)

    def size(self, form: Form) -> float:
        """The sum of the column norms; in ED's own form all columns count as much as the largest."""
        return self.total if form == "explicit" else self.width * self.largest


@dataclass(frozen=True)
class Head:
    """One attention head: the score W_Q W_Kᵀ (columns: what a key is turned into) and the value W_V."""

    score: Norms
    value: Norms

    def stretch(self, softmax: float) -> float:
        """By how much tokens in the unit ball that move by 1 can move the output: ‖V‖(1 + 2c‖W‖) (ED Lemma A.14)."""
        return self.value.spectral * (1 + 2 * softmax * self.score.spectral)


@dataclass(frozen=True)
class Layer:
    """U = X·skip + Σ heads(X), Z = X·bypass + U·keep + relu(U·inner)·output, the rows of U and Z in the unit ball.

    ED's block has one head, no wires and no ``inner``. Wires count by their spectral norms.
    """

    heads: tuple[Head, ...]
    output: Norms
    inner: Norms = field(default_factory=Norms.fixed)
    skip: float = 0.0
    bypass: float = 0.0
    keep: float = 0.0

    @property
    def after(self) -> float:
        """By how much an error of U moves Z."""
        return self.keep + self.inner.spectral * self.output.spectral

    def stretch(self, softmax: float) -> float:
        """By how much an error of the layer's input is amplified (ED Lemma A.15)."""
        return self.bypass + self.after * (self.skip + sum(head.stretch(softmax) for head in self.heads))

    def parts(self, form: Form, softmax: float) -> dict[str, tuple[float, float]]:
        """Size and reach, as far as the layer's own output, of each matrix."""
        found = {}
        for h, one in enumerate(self.heads, 1):
            name = f"head {h} " if len(self.heads) > 1 else ""
            found[f"{name}score"] = one.score.size(form), softmax * one.value.spectral * self.after
            found[f"{name}value"] = one.value.size(form), self.after
        found["inner"] = self.inner.size(form), self.output.spectral
        found["output"] = self.inner.spectral * self.output.size(form), 1.0  # it reads relu(U·inner), ‖U‖ ≤ 1
        return {name: part for name, part in found.items() if part[0] > 0}


@dataclass(frozen=True)
class Network:
    """Layers, a linear read-out, the number T of positions, and the largest norm of an input token."""

    layers: tuple[Layer, ...]
    readout: Norms
    T: int
    input_norm: float = 1.0

    def __post_init__(self) -> None:
        check_count(self.T, "T")
        check_positive(self.input_norm, "input_norm")
        if not self.layers:
            raise ValueError("layers: expected at least one layer, got none")


# --- of a network ----------------------------------------------------------------------------------------------------


def measure(model: Any, *, input_norm: float | None = None, T: int | None = None) -> Network:
    """The norms of a ``blocks.Encoder``, or of its ``state_dict``: those of ED's class that it would belong to.

    The class projects tokens on the unit ball where the network normalises or does nothing, and has no biases: these
    are left out. Positions given by a rule are not stored; then ``input_norm`` and ``T`` have to be given.
    """
    state = model.state_dict() if hasattr(model, "state_dict") else model
    state = {name: np.asarray(tensor, dtype=float) for name, tensor in state.items()}
    if "positions" in state:
        tokens = state["tokens"][:, None] + state["positions"]
        input_norm = float(np.linalg.norm(tokens, axis=-1).max()) if input_norm is None else input_norm
        T = len(state["positions"]) if T is None else T
    if input_norm is None or T is None:
        raise ValueError("input_norm, T: this network stores no positions; give the norm of a token and their number")
    count = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    layers = tuple(_layer(_under(state, f"layers.{index}.")) for index in range(count))
    readout = Norms.of(state["readout"]) if "readout" in state else Norms.fixed()
    return Network(layers, readout, int(T), input_norm)


def _under(state: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _layer(state: Mapping[str, np.ndarray]) -> Layer:
    found = tuple(
        # rows of the score: the cover turns keys into vectors that wait for a query
        Head(Norms.of(state[f"heads.{h}.query_key"].T), Norms.of(_valued(state, h)))
        for h in range(sum(name.endswith("query_key") for name in state))
    )
    weights = [state[name] for name in sorted(state) if name.startswith("mlp.weights.")]
    if len(weights) not in (0, 2):
        raise ValueError(f"model: a layer has an MLP with {len(weights)} matrices; bounds are for none or two")
    wires = {name: float(np.linalg.norm(state[name], 2)) for name in ("skip", "bypass", "keep") if name in state}
    if not weights:
        return Layer(found, Norms.fixed(), **wires)
    return Layer(found, Norms.of(weights[1]), Norms.of(weights[0]), **wires)


def _valued(state: Mapping[str, np.ndarray], h: int) -> np.ndarray:
    value, output = state[f"heads.{h}.value"], state.get(f"heads.{h}.output")
    return value if output is None else value @ output


def tiling(T: int, k: int, *, tau: float = 0.01) -> Network:
    """The norms of the hand-built network (chapter 4) for T bits tiled by w = T/k disjoint k-parities of unit variance.

    λ_i = 2/√w, β = log(8T), ω = log((T+1−w)/τ) + log λ_i. Layer 1 has value map V₁E and output map F; layer 2 mixes and
    passes on, with identities as value and output maps; the read-out is v₂. Tokens have norm at most √2.
    """
    if check_count(T, "T") % check_count(k, "k"):
        raise ValueError(f"k: expected a divisor of T = {T}, got {k}")
    w, width, units = T // k, T + 2, 4 * (k + 1)
    beta, logit = math.log(8 * T), math.log((T + 1 - w) / check_positive(tau, "tau")) + math.log(2 / math.sqrt(w))
    reading, mixing = beta * math.sqrt(k), math.sqrt(w) * abs(logit)
    slopes = 8 * k * math.sqrt(k // 2 + 1)
    first = Layer(
        (Head(Norms(reading, reading, width, w * reading), Norms(math.sqrt(units), 1.0, units)),),
        Norms(slopes, slopes, width, slopes),
    )
    second = Layer((Head(Norms(mixing, mixing, width, mixing), Norms(1.0, 1.0, width)),), Norms(1.0, 1.0, width))
    total = 2 * math.sqrt(w) + tau
    return Network((first, second), Norms(total, total, 1), T + 1, math.sqrt(2))
