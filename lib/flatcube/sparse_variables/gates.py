"""Sparse variables of sparse variables: gates of gates in two layers (ED App. B.1, an idea they leave open).

Lemma B.4 takes a bag of vectors and lets [CLS] count the chosen ones in it. Here k more tokens do the same, one for
each gate, and a gate that opens puts its own vector back into the bag. A second layer then counts open gates.

    symbols    0 nothing · 1 … T the bits that are 1 · T+1 … T+k the gates · T+k+1 [CLS]
    channels   one for each of them at first; one for each gate, and [CLS], between the layers
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from flatcube import checks, cube
from flatcube.networks import tensors
from flatcube.networks.blocks import Head, Layer
from flatcube.networks.circuit import Circuit
from flatcube.sparse_variables import scales
from flatcube.sparse_variables import tables as lookup
from flatcube.sparse_variables.selectors import Bag, Selector, represent

__all__ = ["compose"]

Gate = tuple[Sequence[int], Sequence[int]]


def compose(
    gates: Sequence[Gate], final: Sequence[float], T: int, *, dtype: torch.dtype = torch.float64
) -> Circuit:
    """A symmetric function of symmetric gates, exact on every input; it takes ``as_symbols(bits, "bag")``.

    A gate is (its bits, its value 0 or 1 at 0, 1, … ones among them); ``final`` holds f at 0, …, k open gates.

    >>> model = compose([((1, 2), (0, 1, 1)), ((2, 4), (0, 1, 1))], (0, 0, 1), 4)  # (b₁ or b₂) and (b₂ or b₄)
    >>> model(torch.tensor([[0, 2, 0, 0], [1, 0, 3, 0]])).detach().round().tolist()
    [1.0, 0.0]
    """
    checks.integer(T, "T", 1)
    tensors.dtype(dtype)
    gates = [_checked(gate, T) for gate in checks.several(gates, "gates", Sequence, 1)]
    k = len(gates)
    checks.numbers(final, "final", (k + 1,))
    checks.room(8 * (T + k + 1) ** 2, "T")
    channels = torch.eye(T + k + 1, dtype=torch.float64)
    # In the second layer, too, the leak comes from all T + k tokens beside [CLS].
    scale = scales.logit_scale(T + k, k, 1 / k, encoding="bag")
    second = represent(Selector(k, tuple(range(1, k + 1)), "bag", scale=scale), final)
    return Bag(
        torch.cat([torch.zeros_like(channels[:1]), channels]),
        torch.zeros_like(channels),
        [_first_layer(gates, channels, T), second.layers[0]],
        appended=range(T + 1, T + k + 2),
        channels=_channels(gates, T),
    ).to(dtype)


def _channels(gates: list[Gate], T: int) -> dict[str, list[tuple[str, str]]]:
    """What the channels are called, and what each is for."""
    bits = [(str(t), f"1 if bit {t} is 1") for t in range(1, T + 1)]
    tokens = [(f"gate {j}", f"1 at gate {j}, which looks at the bits {', '.join(map(str, members))}")
              for j, (members, _) in enumerate(gates, 1)]  # fmt: skip
    ends = [("CLS", "1 at the last position, which asks the gates")]
    return {
        "tokens": [("–", "nothing"), *bits, *tokens, *ends],
        "embedding": [*bits, *tokens, *ends],
        "layers.0.mixed": [*tokens, ("signal", "how many bits of the gate are 1, as a number")],
        "layers.0.output": [*((name, f"1 at {name} if it is open") for name, _ in tokens), *ends],
        "layers.1.mixed": [("open", "how many gates are open, as a number")],
        "layers.1.output": [("f", "the value that is looked up")],
    }


def _first_layer(gates: list[Gate], channels: Tensor, T: int) -> Layer:
    """Every gate token counts its bits; the MLP sees which gate it serves, and the signal (r − s)/(r + 1)."""
    k, most = len(gates), max(len(bits) for bits, _ in gates)
    tokens, between = channels[T : T + k], torch.eye(k + 1, dtype=torch.float64)
    sets = torch.stack([channels[np.array(bits) - 1].sum(0) for bits, _ in gates])  # (k, D)
    query_key = scales.logit_scale(T + k, most, 1 / most, encoding="bag") * tokens.T @ (sets + tokens)
    value = sets.amax(0) - sets.sum(1) @ tokens  # 1 for a bit of any gate, −s for a gate of s bits
    points, opened = _entries(gates)
    return Layer(
        [Head(query_key, value[:, None], between[k:])],
        lookup.lookup(points, opened, scales.lookup_radius(1 / most)),
        skip=tokens.T @ between[:k],  # which gate this is, beside the signal in the last channel
        bypass=channels[T + k :].T @ between[k:],  # [CLS] stays what it is
    )


def _entries(gates: list[Gate]) -> tuple[np.ndarray, np.ndarray]:
    """The lookup of the first layer: (gate, signal) to the gate's own vector if it opens, else nothing."""
    k = len(gates)
    rows = [(j, (r - len(bits)) / (r + 1), value) for j, (bits, values) in enumerate(gates)
            for r, value in enumerate(values)]  # fmt: skip
    own = np.eye(k + 1)[[j for j, _, _ in rows]]
    signals, values = (np.array([row[part] for row in rows], float)[:, None] for part in (1, 2))
    return np.hstack([own[:, :k], signals]), values * own


def _checked(gate: Gate, T: int) -> Gate:
    if len(gate) != 2 or not isinstance(gate[1], Sequence):
        raise TypeError(f"gates: expected pairs (bits, values), got {gate!r:.60}")
    bits, values = gate
    members = cube.subset(cube.mask(bits, T, name="gates"))
    if not members or len(values) != len(members) + 1 or any(value not in (0, 1) for value in values):
        count = len(members) + 1
        raise ValueError(f"gates: expected {count} values 0 or 1 for the bits {members}, got {tuple(values)}")
    return members, tuple(values)
