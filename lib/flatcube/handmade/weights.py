"""The weights of a network by the names of the text, and what autograd measures beside the closed forms."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from flatcube import networks
from flatcube.networks import tensors

__all__ = ["measured_norms", "measured_gradient_norms", "matrices", "names"]

MATRICES = {
    "W1": "layers.0.heads.0.query_key",
    "V1": "layers.0.heads.0.value",
    "E": "layers.0.mlp.weights.0",
    "b": "layers.0.mlp.biases.0",
    "F": "layers.0.mlp.weights.1",
    "W2": "layers.1.heads.{}.query_key",
    "v2": "layers.1.heads.{}.value",
}


def matrices(model: networks.Circuit) -> dict[str, Tensor]:
    """The weights by the names of the text: W1 (D, D), V1 (D, D), E (D, H), b (H,), F (H, D), W2 (D, D), v2 (D, 1).

    With weights of both signs there are two heads, and W2−, v2− belong to the second.
    """
    return {name: parameter.detach().clone() for name, parameter in _named(model)}


def names(model: networks.Circuit) -> dict[str, str]:
    """The names of the text for the names of the parameters; two heads of the second layer share theirs."""
    held = dict(checked(model).named_parameters())
    paths = ((path.format(head), name) for name, path in MATRICES.items() for head in (0, 1))
    return {path: name for path, name in paths if path in held}


def measured_norms(model: networks.Circuit) -> dict[str, float]:
    """‖·‖² of each matrix as it stands in the network; two heads are added up. Compare with ``norms``."""
    return _grouped((name, float(parameter.detach().square().sum())) for name, parameter in _named(model))


@torch.enable_grad()
def measured_gradient_norms(model: networks.Circuit, bits: np.ndarray | Tensor) -> dict[str, np.ndarray]:
    """‖∇f̂(x)‖² for each matrix by automatic differentiation, (batch,). Compare with ``gradient_norms``."""
    names, parameters = zip(*_named(model), strict=True)
    bits = tensors.bits(bits, shape=("batch", model.positions.shape[0] - 1))
    if not len(bits):
        raise ValueError("bits: expected one input or more, got none")
    rows = []
    for bit in bits:
        gradients = torch.autograd.grad(model(bit[None]).sum(), parameters)
        rows.append(_grouped(_split(zip(names, gradients, strict=True))))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _named(model: networks.Circuit) -> Iterator[tuple[str, Tensor]]:
    parameters = dict(checked(model).named_parameters())
    for head, sign in enumerate(("", "−")):
        for name, path in MATRICES.items():
            if path.format(head) in parameters and (head == 0 or "{}" in path):
                yield name + sign, parameters[path.format(head)]


def checked(model: networks.Circuit) -> networks.Circuit:
    """``model`` if it has the matrices of a network made here, projected or not."""
    held = dict(tensors.network(model, kind=networks.Circuit).named_parameters())
    for name, path in MATRICES.items():
        if path.format(0) not in held or "positions" not in held:
            raise ValueError(f"model: expected a network of handmade.build, got one without {name}")
    return model


def unprojected(model: networks.Circuit) -> networks.Circuit:
    """``model`` if each of its positions has a channel of its own."""
    places, width = checked(model).positions.shape
    if width != places + 1:
        raise ValueError(f"model: expected a channel for each of {places} positions and the bit, got {width} channels")
    return model


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
