"""The same function with other weights: rescaled, or with random positions in fewer channels."""

import math

import numpy as np
import torch
from torch import Tensor

from flatcube import checks, networks
from flatcube.handmade.weights import MATRICES, checked, unprojected
from flatcube.networks import tensors

__all__ = ["rescale", "best_rescaling", "random_projection", "project"]

_LARGEST = 10**7  # entries of a projection


def rescale(model: networks.Circuit, alpha: float) -> networks.Circuit:
    """(E, b, F) → (αE, αb, F/α): the same function, since relu(αu) = α relu(u) for α > 0 (SP App. D)."""
    checks.positive(alpha, "alpha")
    state = checked(model).state_dict()
    factors = {"E": alpha, "b": alpha, "F": 1 / alpha}
    scaled = {MATRICES[name]: state[MATRICES[name]] * f for name, f in factors.items()}
    return networks.from_state(state | scaled, channels=model.channels, names=model.names)


def best_rescaling(first: float, second: float) -> float:
    """The α that makes α²·first + second/α² smallest: α² = √(second/first), where both terms are equal.

    For the norm, first = ‖E‖² + ‖b‖² and second = ‖F‖²; for the gradient, first = G_F and second = G_E + G_b.

    >>> best_rescaling(1.0, 16.0)
    2.0
    """
    return (checks.positive(second, "second") / checks.positive(first, "first")) ** 0.25


def random_projection(T: int, width: int, *, unit: bool = False, rng: np.random.Generator | int) -> Tensor:
    """P (T+1, width) with independent N(0, 1/width) entries (SP App. B.2); ``unit`` scales its rows to length 1."""
    checks.integer(width, "width", 1, _LARGEST // (checks.integer(T, "T", 1, _LARGEST) + 1))
    matrix = checks.generator(rng).standard_normal((T + 1, width)) / math.sqrt(width)
    unit = checks.flag(unit, "unit")
    return torch.as_tensor(matrix / np.linalg.norm(matrix, axis=1, keepdims=True) if unit else matrix)


@torch.no_grad()
def project(model: networks.Circuit, matrix: Tensor, *, inverse: bool = False) -> networks.Circuit:
    """The network with its T+1 position channels replaced by p: X → XJ with J = blockdiag(P, 1), P (T+1, p).

    Weights that read channels become JᵀW (``inverse``: J⁺W, exact for p ≥ T+1), weights that write them WJ; so
    W₁ → JᵀW₁J, and the first logits become G W₁ G with the Gram matrix G = PPᵀ ≈ I (SP App. B.2).
    """
    places = unprojected(model).positions.shape[0]
    matrix = tensors.finite(tensors.tensor(matrix, "matrix", (places, "p")).double(), "matrix")
    width = matrix.shape[1]
    if checks.flag(inverse, "inverse") and width < places:
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
    value = MATRICES["V1"]
    state[value] = state[value] @ write
    state["layers.0.bypass"] = torch.eye(width + 1, dtype=torch.float64)
    state["layers.0.bypass"][-1, -1] = 0
    return networks.from_state(state, names=model.names)
