"""A transformer whose weights are written down: f(x) = Σ_i λ_i even_{S_i}(x), exact on every input (SP App. B).

    A₁ = softmax(X W₁ Xᵀ),  U = A₁ X V₁          position i averages the bits of S_i
    R = relu(U E + b),      Z = X Π + R F        the trapezoid wave turns n_i/d into even_{S_i}
    p = softmax(Z_o W₂ Zᵀ), f̂ = p Z v₂           the output position mixes them with weights λ_i/Λ

Rows of X are T+1 positions: the bits x_1, …, x_T and an output position with bit 0. Columns are T+2 channels: a
one-hot position and the bit. Π keeps the positions and drops the bit. ``flatcube.design`` holds the choices and the
closed forms; here they become weights of a ``blocks.Encoder``, and the closed forms meet what autograd measures.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from flatcube import blocks, cube, design, fourier
from flatcube.design import (
    Design,
    breakpoints,
    evaluate,
    gradient_norms,
    norms,
    operator_norms,
    prefix_sums,
    row_bounds,
    threshold,
    wave,
)  # fmt: skip

__all__ = [
    "Design", "build", "assemble", "from_spectrum", "from_table",
    "wave", "breakpoints", "threshold", "prefix_sums", "evaluate",
    "norms", "measured_norms", "gradient_norms", "measured_gradient_norms", "row_bounds", "operator_norms",
    "channels", "matrices", "names", "describe", "rescale", "best_rescaling", "random_projection", "project",
]  # fmt: skip

_MATRICES = {
    "W1": "layers.0.heads.0.query_key",
    "V1": "layers.0.heads.0.value",
    "E": "layers.0.mlp.weights.0",
    "b": "layers.0.mlp.biases.0",
    "F": "layers.0.mlp.weights.1",
    "W2": "layers.1.heads.{}.query_key",
    "v2": "layers.1.heads.{}.value",
}


def build(
    components: cube.Components,
    T: int,
    *,
    mode: str = "hard",
    kappa: float = 0.5,
    scale: float | None = None,
    tau: float = 0.01,
    gamma: float | None = None,
    grid: str = "full",
) -> blocks.Encoder:
    """The network for components [(subset of 1..T, weight λ of even_S), …]: bits (batch, T) to values (batch,).

    The choices are explained at ``Design``.

    >>> model = build([((1, 2), 2.0), ((2, 3), -1.0), ((), 0.5)], 3)
    >>> model([[0, 0, 0], [1, 0, 0], [0, 1, 1]]).round(decimals=9).tolist()
    [1.5, -0.5, -0.5]
    """
    return assemble(Design(components, T, mode, kappa, scale, tau, gamma, grid))


def from_spectrum(spectrum: fourier.Spectrum, T: int | None = None, **choices: object) -> blocks.Encoder:
    """The network for Σ_S c_S χ_S, with λ_S = 2c_S and λ_∅ = c_∅ − Σ_{S≠∅} c_S.

    A component needs a position. With ``T`` above the number of variables there is room for more of them; the
    network ignores the further bits.
    """
    return build(fourier.to_even(spectrum), spectrum.n if T is None else T, **choices)


def from_table(table: np.ndarray, T: int | None = None, **choices: object) -> blocks.Encoder:
    """The network for a table of values (2^n,) in the order of ``cube.points``; ``T`` as in ``from_spectrum``."""
    return from_spectrum(fourier.spectrum(table), T, **choices)


@torch.no_grad()
def assemble(plan: Design) -> blocks.Encoder:
    """The network of a design: every weight is set here, none is computed from the input."""
    T, D = plan.T, plan.T + 2
    tokens = _zeros(2, D)
    tokens[1, -1] = 1  # the bit channel
    positions = _zeros(T + 1, D)
    positions.fill_diagonal_(1)
    wire = torch.eye(D, dtype=torch.float64)
    wire[-1, -1] = 0  # the residual carries positions, not bits: a raw bit would be added to the parity
    first = blocks.Layer([_reader(plan)], _memory(plan), bypass=wire)
    second = blocks.Layer([_mixing(plan, mixer) for mixer in plan.mixers])
    return blocks.Encoder(tokens, positions, [first, second], appended=(0,))


def _reader(plan: Design) -> blocks.Head:
    """The first attention: row i of W₁ holds β on S_i; V₁ copies the bit."""
    D, out, bit = plan.T + 2, plan.T, plan.T + 1
    query_key, value = _zeros(D, D), _zeros(D, D)
    for i, members in enumerate(plan.subsets):
        query_key[i, [j - 1 for j in members]] = plan.beta
        if len(members) < plan.degree:
            query_key[i, out] = plan.beta + math.log(plan.degree - len(members))
    value[bit, bit] = 1
    if plan.mode == "sink":
        query_key[len(plan.components) : out + 1, out] = plan.beta
        value[out, bit] = 2
    return blocks.Head(query_key, value)


def _memory(plan: Design) -> blocks.Mlp:
    """The MLP: φ of the bit channel, one ReLU per kink."""
    kinks, slopes = (torch.as_tensor(part.ravel(), dtype=torch.float64) for part in breakpoints(plan.degree, plan.grid))
    enter, leave = _zeros(plan.T + 2, len(kinks)), _zeros(len(kinks), plan.T + 2)
    enter[-1] = 1
    leave[:, -1] = slopes
    return blocks.Mlp([enter, leave], [-kinks, None])


def _mixing(plan: Design, mixer: design.Mixer) -> blocks.Head:
    """One head of the second attention: row o of W₂ holds the logits, v₂ the total weight."""
    D, out = plan.T + 2, plan.T
    members = list(mixer.members)
    query_key, value = _zeros(D, D), _zeros(D, 1)
    query_key[out, members] = torch.as_tensor(mixer.logits)
    value[-1] = mixer.output
    mask = None
    if plan.mode == "hard":
        mask = _zeros(plan.T + 1, plan.T + 1)
        mask[out] = -math.inf
        mask[out, members] = 0
    return blocks.Head(query_key, value, mask=mask)


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=torch.float64)


# --- the weights by name, their norms and their gradients -------------------------------------------------------------


def channels(model: blocks.Encoder) -> list[str]:
    """The names of the channels: positions 1, …, T, the output position, the bit."""
    return [*map(str, range(1, model.positions.shape[0])), "out", "bit"]


def matrices(model: blocks.Encoder) -> dict[str, Tensor]:
    """The weights by the names of the text: W1 (D, D), V1 (D, D), E (D, H), b (H,), F (H, D), W2 (D, D), v2 (D, 1).

    With weights of both signs there are two heads, and W2−, v2− belong to the second.
    """
    return {name: parameter.detach().clone() for name, parameter in _named(model)}


def names(model: blocks.Encoder) -> dict[str, str]:
    """The names of the text for the names of the parameters; two heads of the second layer share theirs."""
    held = dict(model.named_parameters())
    paths = ((path.format(head), name) for name, path in _MATRICES.items() for head in (0, 1))
    return {path: name for path, name in paths if path in held}


def describe(model: blocks.Encoder, limit: int = 8) -> str:
    """The non-zero weights with named rows and columns, at most ``limit`` of each matrix.

    >>> print(describe(build([((1, 3), 2.0)], 3, scale=4.0), limit=1))
    W1 (5 × 5), 2 weights: 1→1 4, …
    V1 (5 × 5), 1 weight: bit→bit 1
    E (5 × 12), 12 weights: bit→relu 1 1, …
    b (12), 12 weights: relu 1 0.25, …
    F (12 × 5), 8 weights: relu 1→bit 8, …
    W2 (5 × 5), 1 weight: out→1 0.6931
    v2 (5 × 1), 1 weight: bit 2
    """
    return "\n".join(_described(name, weights, channels(model), limit) for name, weights in matrices(model).items())


def _described(name: str, weights: Tensor, named: list[str], limit: int) -> str:
    units = [f"relu {k}" for k in range(1, max(weights.shape) + 1)]
    sides = {"E": (named, units), "b": (units,), "F": (units, named)}.get(name, (named, named))
    entries = []
    for place in weights.nonzero()[:limit].tolist():
        label = "→".join(side[k] for side, k, size in zip(sides, place, weights.shape, strict=False) if size > 1)
        entries.append(f"{label} {float(weights[tuple(place)]):.4g}")
    count = int(weights.count_nonzero())
    more = ", …" if count > limit else ""
    shape = " × ".join(map(str, weights.shape))
    return f"{name} ({shape}), {count} weight{'s' * (count != 1)}: {', '.join(entries)}{more}"


def measured_norms(model: blocks.Encoder) -> dict[str, float]:
    """‖·‖² of each matrix as it stands in the network; two heads are added up. Compare with ``norms``."""
    return _grouped((name, float(parameter.detach().square().sum())) for name, parameter in _named(model))


@torch.enable_grad()
def measured_gradient_norms(model: blocks.Encoder, bits: np.ndarray | Tensor) -> dict[str, np.ndarray]:
    """‖∇f̂(x)‖² for each matrix by automatic differentiation, (batch,). Compare with ``gradient_norms``."""
    names, parameters = zip(*_named(model), strict=True)
    rows = []
    for bit in torch.as_tensor(bits):
        gradients = torch.autograd.grad(model(bit[None]).sum(), parameters)
        rows.append(_grouped(_split(zip(names, gradients, strict=True))))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _named(model: blocks.Encoder) -> Iterator[tuple[str, Tensor]]:
    parameters = dict(model.named_parameters())
    for head, sign in enumerate(("", "−")):
        for name, path in _MATRICES.items():
            if path.format(head) in parameters and (head == 0 or "{}" in path):
                yield name + sign, parameters[path.format(head)]


def _split(gradients: Iterator[tuple[str, Tensor]]) -> Iterator[tuple[str, float]]:
    """Squared norms; that of F in two parts, its column for the bit and those for the positions."""
    for name, gradient in gradients:
        if name == "F":
            yield "F bit", float(gradient[:, -1].square().sum())
            yield "F positions", float(gradient[:, :-1].square().sum())
        else:
            yield name, float(gradient.square().sum())


def _grouped(values: Iterator[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for name, value in values:
        total[name.rstrip("−")] = total.get(name.rstrip("−"), 0.0) + value
    return total


# --- the same function with other weights -----------------------------------------------------------------------------


def rescale(model: blocks.Encoder, alpha: float) -> blocks.Encoder:
    """(E, b, F) → (αE, αb, F/α): the same function, since relu(αu) = α relu(u) for α > 0 (SP App. D)."""
    if not (isinstance(alpha, (int, float, np.integer, np.floating)) and 0 < alpha < math.inf):
        raise ValueError(f"alpha: expected a number above 0, got {alpha!r}")
    state = model.state_dict()
    factors = {"E": alpha, "b": alpha, "F": 1 / alpha}
    return blocks.from_state(state | {_MATRICES[name]: state[_MATRICES[name]] * f for name, f in factors.items()})


def best_rescaling(first: float, second: float) -> float:
    """The α that makes α²·first + second/α² smallest: α² = √(second/first), where both terms are equal.

    For the norm, first = ‖E‖² + ‖b‖² and second = ‖F‖²; for the gradient, first = G_F and second = G_E + G_b.

    >>> best_rescaling(1.0, 16.0)
    2.0
    """
    if not (0 < first < math.inf and 0 < second < math.inf):
        raise ValueError(f"first, second: expected numbers above 0, got {first} and {second}")
    return (second / first) ** 0.25


def random_projection(T: int, width: int, *, unit: bool = False, rng: np.random.Generator | int) -> Tensor:
    """P (T+1, width) with independent N(0, 1/width) entries (SP App. B.2); ``unit`` scales its rows to length 1."""
    cube.check_integer(width, "width", 1)
    size = (cube.check_integer(T, "T", 1) + 1, width)
    matrix = np.random.default_rng(rng).standard_normal(size) / math.sqrt(width)
    return torch.as_tensor(matrix / np.linalg.norm(matrix, axis=1, keepdims=True) if unit else matrix)


@torch.no_grad()
def project(model: blocks.Encoder, matrix: Tensor, *, inverse: bool = False) -> blocks.Encoder:
    """The network with its T+1 position channels replaced by p: X → XJ with J = blockdiag(P, 1), P (T+1, p).

    Weights that read channels become JᵀW (``inverse``: J⁺W, exact for p ≥ T+1), weights that write them WJ; so
    W₁ → JᵀW₁J, and the first logits become G W₁ G with the Gram matrix G = PPᵀ ≈ I (SP App. B.2).
    """
    matrix = torch.as_tensor(matrix, dtype=torch.float64)
    places, width = model.positions.shape[0], matrix.shape[-1] if matrix.ndim else 0
    if tuple(matrix.shape) != (places, width):
        raise ValueError(f"matrix: expected {places} rows, one for each position, got shape {tuple(matrix.shape)}")
    if inverse and width < places:
        raise ValueError(f"inverse: expected a matrix with at least {places} columns, got {width}")
    write = torch.block_diag(matrix, torch.ones(1, 1, dtype=torch.float64))  # J, (D, p+1)
    read = torch.linalg.pinv(write) if inverse else write.T  # (p+1, D)
    state = model.state_dict()
    for name, weights in state.items():
        if name.endswith("query_key"):
            state[name] = read @ weights @ read.T
        elif name.endswith((".value", "weights.0")):
            state[name] = read @ weights
        elif name in ("tokens", "positions") or name.endswith("weights.1"):
            state[name] = weights @ write
    value = _MATRICES["V1"]
    state[value] = state[value] @ write
    state["layers.0.bypass"] = torch.eye(width + 1, dtype=torch.float64)
    state["layers.0.bypass"][-1, -1] = 0
    return blocks.from_state(state)
