"""PARITY from layer norm at ε = 0, with weights that know nothing of the length; the rest of the cast likewise.

The two layers are those of HR Eq. 1-5: residual connections, one head, one MLP and a layer norm each. Channels have
names (``CHANNELS``), so that a weight reads as "from bit to count" and not as a pair of numbers. ``balance`` holds
minus the sum of the others: the mean that layer norm subtracts is zero.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from flatcube import cast, checks
from flatcube.networks import tensors
from flatcube.networks.blocks import Head, Layer, Mlp, Norm
from flatcube.networks.circuit import Circuit

__all__ = ["CHANNELS", "TARGETS", "layer_norm_network", "longest", "rescaled_network"]

JOBS = {
    "bit": "the bit, 1 or 0",
    "place": "i/N for position i, from 0 to 1",
    "side": "+1 at even positions, −1 at odd ones",
    "unit": "1/N at every position: how far two places are apart",
    "count": "k/N, the share of ones, which the first head finds",
    "hit": "what the first MLP finds: for PARITY ±1/N at position k, 0 elsewhere",
    "first": "log N at position 1, 0 elsewhere: FIRST looks there, MEAN keeps its reference here",
    "answer": "what the second layer leaves; the read-out takes it",
    "balance": "minus the sum of all others, so that the mean, which layer norm subtracts, is 0",
}
CHANNELS = tuple(JOBS)
TARGETS = tuple(name.lower() for name in cast.NAMES)
_RANGE = 4.0  # how far the reference of MEAN stands above its signal; see ``layer_norm_network``

Weights = Mapping[tuple[str, str], float]


def layer_norm_network(eps: float = 0.0, *, target: str = "parity", dtype: torch.dtype = torch.float64) -> Circuit:
    """Two layers of HR's encoder that compute PARITY at every length with the same weights (Chiang and Cholak's idea).

    With N = n + 1 positions i = 1, …, n, 0 (the last one is added, holds bit 0, and is read) and k ones:

        count     uniform attention:                         count = k/N
        compare   MLP: relu((k−i+1)/N) − 2 relu((k−i)/N) + relu((k−i−1)/N) = 1[i = k]/N
        odd/even  the same three units twice, one silenced by side = −1, one by side = +1: hit = (−1)^k 1[i = k]/N
        average   uniform attention:                         answer ≈ (−1)^k/N²
        amplify   MLP removes all but the answer; layer norm with ε = 0 makes it ±1.

    The same architecture and shapes serve the whole cast. MAJORITY, the sign of ½ − 1/(4N) − k/N, and FIRST, which
    attends to position 1 with logit 2 log N, are exact. MEAN is exact up to layer norm's own bend: the network returns
    m/√(1 + m²/36) for the mean m.
    """
    checks.word(target, "target", TARGETS)
    tensors.dtype(dtype)
    size = len(CHANNELS)
    zero = torch.zeros(size, size, dtype=dtype)
    eye = torch.eye(size, dtype=dtype)
    attend = _matrix({("side", "first"): 2.0} if target == "first" else {}, dtype)
    first = Head(attend, _matrix({("bit", "count"): 1.0, ("bit", "balance"): -1.0}, dtype))
    second = Head(zero.clone(), _matrix({("hit", "answer"): 1.0} if target == "parity" else {}, dtype))
    return Circuit(
        _matrix({("one", "bit"): 1.0, ("one", "balance"): -1.0}, dtype, rows=("zero", "one")),
        _Places(),
        [
            Layer([first], _compare(target, dtype), skip=eye.clone(), keep=eye.clone(), norm=Norm(eps)),
            Layer([second], _remove(target, dtype), skip=eye.clone(), keep=eye.clone(), norm=Norm(eps)),
        ],
        readout=_matrix({("answer", "out"): _readout(target)}, dtype, columns=("out",)),
        appended=(0,),
        channels={"embedding": [*JOBS.items()], "appended": [("0", "the position that is read; its bit is 0")]},
    )


def longest(dtype: torch.dtype = torch.float64) -> int:
    """The longest input that ``layer_norm_network`` takes in this dtype: a cautious limit, 20 u N² ≤ 1.

    Here u = ``torch.finfo(dtype).eps``/2 is the relative error of one rounding. The answer is φ/N² (Theorem 6.2), hence
    at least 10u by then; for strings with a single one φ falls like 1/log N, and it is a few u. The roundings of N hits
    enter it as a mean. That is an estimate, not a proof: tests try each number of ones at this length, and longer
    inputs without the limit.

    >>> longest(torch.float32)
    914
    """
    return int((10 * torch.finfo(tensors.dtype(dtype)).eps) ** -0.5) - 1


class _Places:
    """The rule N → codes (N, D) of the positions 1, …, N − 1, 0: place i/N, side (−1)^i, unit 1/N, first log N at 1."""

    usual = 7

    def longest(self, dtype: torch.dtype) -> int:
        """The positions of the longest input, with the one that is added."""
        return longest(dtype) + 1

    def __call__(self, length: int) -> Tensor:
        i = torch.arange(1, length + 1, dtype=torch.float64) % length
        place = torch.zeros(length, len(CHANNELS), dtype=torch.float64)
        place[:, CHANNELS.index("place")] = i / length
        place[:, CHANNELS.index("side")] = 1 - 2 * (i % 2)
        place[:, CHANNELS.index("unit")] = 1 / length
        place[:, CHANNELS.index("first")] = math.log(length) * (i == 1).double()
        place[:, CHANNELS.index("balance")] = -place.sum(-1)
        return place


def _compare(target: str, dtype: torch.dtype) -> Mlp:
    """The first MLP, six units: they put the answer into ``hit``, and minus it into ``balance`` (the mean stays 0)."""
    units: list[tuple[dict[str, float], float, dict[str, float]]]  # (from channels, bias, to channels)
    if target == "parity":
        units = [
            ({"count": 1.0, "place": -1.0, "unit": shift, "side": side}, -1.0, {"hit": side * weight})
            for side in (1.0, -1.0)
            for shift, weight in ((1.0, 1.0), (0.0, -2.0), (-1.0, 1.0))
        ]
    elif target == "mean":
        lean = {"count": 2.0, "unit": 1.0}
        units = [*_pair(lean, -1.0, {"hit": -1.0}), ({"unit": -1.0}, 1.0, {"first": _RANGE})]
    else:
        lean = {"count": 1.0, "unit": 0.25 if target == "majority" else 0.0}
        units = _pair(lean, -0.5, {"hit": -1.0})
    balanced = [(source, bias, {**to, "balance": -sum(to.values())}) for source, bias, to in units]
    return _mlp(balanced, 6, dtype)


def _remove(target: str, dtype: torch.dtype) -> Mlp:
    """The second MLP, sixteen units: x − relu(x) + relu(−x) = 0 for every channel but the answer.

    Where no attention has moved it, ``hit`` becomes the answer. MEAN keeps its reference r in ``first`` and −r in
    ``balance``, so that layer norm divides by √(m² + r²) and not by |m|.
    """
    kept = {"answer", "first", "balance"} if target == "mean" else {"answer"}
    units = []
    for channel in CHANNELS:
        to = {} if channel in kept else {channel: -1.0}
        to |= {"answer": 1.0} if channel == "hit" and target != "parity" else {}
        to |= {"balance": 1.0} if target == "mean" and channel not in kept else {}
        units += _pair({channel: 1.0}, 0.0, to) if to else []
    return _mlp(units, 2 * len(CHANNELS) - 2, dtype)


def _readout(target: str) -> float:
    """1/√(D − 1), as layer norm turns (a, 0, …, 0) into √(D − 1) sign a; for MEAN what makes the slope at 0 one."""
    size = len(CHANNELS)
    return _RANGE * math.sqrt(2 / size) / (1 - 1 / size) if target == "mean" else 1 / math.sqrt(size - 1)


def _pair(source: dict[str, float], bias: float, to: dict[str, float]) -> list[tuple]:
    """Two units that pass z = Σ source + bias on as it is: relu(z) − relu(−z) = z."""
    back = {name: -weight for name, weight in source.items()}
    return [(source, bias, to), (back, -bias, {name: -weight for name, weight in to.items()})]


def _mlp(units: list[tuple], hidden: int, dtype: torch.dtype) -> Mlp:
    """An MLP from units (weights from channels, bias, weights to channels), filled up with idle ones."""
    names = tuple(map(str, range(hidden)))
    into = {(source, names[u]): w for u, (weights, _, _) in enumerate(units) for source, w in weights.items()}
    out = {(names[u], target): w for u, (_, _, weights) in enumerate(units) for target, w in weights.items()}
    bias = torch.tensor([bias for _, bias, _ in units] + [0.0] * (hidden - len(units)), dtype=dtype)
    return Mlp([_matrix(into, dtype, columns=names), _matrix(out, dtype, rows=names)], [bias, None])


def _matrix(
    entries: Weights, dtype: torch.dtype, *, rows: tuple[str, ...] = CHANNELS, columns: tuple[str, ...] = CHANNELS
) -> Tensor:
    """A matrix of zeros but for the entries given by (name of the row, name of the column)."""
    matrix = torch.zeros(len(rows), len(columns), dtype=dtype)
    for (row, column), value in entries.items():
        matrix[rows.index(row), columns.index(column)] = value
    return matrix


# --- sharper attention in place of layer norm -------------------------------------------------------------------------


def rescaled_network(n: int, scale: float, *, eps: float = 1.0) -> Circuit:
    """HR Remark 14: PARITY/n at ε = 1, and a third layer whose logits, scaled up, turn it into PARITY.

    The first two layers are those of ``layer_norm_network`` with hits of size 1 (not 1/N), so the answer is ±c/N at
    every position. At ε = 1 the factor c of the first norm is between ½ and 0.9 for most strings; with a single one it
    falls like 1/log N. The second MLP keeps ``side``, as ±1. A position of the third layer attends to position j with
    logit scale · answer · side_j: to the even positions if the answer is positive, to the odd ones if not. It reads
    their side, so it returns about tanh(scale · c · PARITY/n), up to constants. From scale = n² on that is PARITY but
    for a loss of order 1/n: the norm before takes a ninth of the answer from the lane ``side``, too.
    """
    checks.integer(n, "n", 1, longest())
    checks.number(scale, "scale")
    dtype, size = torch.float64, len(CHANNELS)
    base = layer_norm_network(eps)
    with torch.no_grad():
        base.layers[0].mlp.weights[1].mul_(n + 1)
    # clip(8 side, ±1) = relu(8 side + 1) − relu(8 side − 1) − 1: the norm before has left |side| above ⅛ (at ε = 1,
    # and to ten million bits: at position 1, where log N grows, it falls below that in the end)
    steps = [({"side": 8.0}, sign, {"side": sign, "balance": -sign}) for sign in (1.0, -1.0)]
    steps += [unit for name in CHANNELS if name != "answer" for unit in _pair({name: 1.0}, 0.0, {name: -1.0})]
    mlp = _mlp(steps, len(steps), dtype)
    shift = torch.zeros(size, dtype=dtype)
    shift[CHANNELS.index("side")], shift[CHANNELS.index("balance")] = -1.0, 1.0
    mlp.biases[1] = torch.nn.Parameter(shift)
    base.layers[1].mlp = mlp
    height = math.sqrt(eps + 2 / size)  # what layer norm divides ±1 by, next to a small answer
    read = Head(
        _matrix({("answer", "side"): float(scale)}, dtype), _matrix({("side", "out"): height}, dtype, columns=("out",))
    )
    channels = base.channels | {"layers.2.mixed": [("out", "the mean of the sides that the third head chose")]}
    return Circuit(base.tokens.detach(), base.rule, [*base.layers, Layer([read])], appended=(0,), channels=channels)
