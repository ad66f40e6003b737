"""PARITY, four ways: nested majorities, a memorised wave, layer norm at ε = 0, and one bit at a time.

Every network is an ``Encoder`` on bits (batch, n) in {0, 1}; PARITY is +1 for an even number of ones and −1 for an odd
one. Channels have names (``CHANNELS``), so that a weight reads as "from count to place" and not as a pair of numbers.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from flatcube.blocks import Encoder, Head, Layer, Mlp, Norm

__all__ = [
    "CHANNELS",
    "TARGETS",
    "layer_norm_network",
    "longest",
    "scratchpad_network",
    "thresholds",
    "run",
]

# --- layer norm at ε = 0 ----------------------------------------------------------------------------------------------

CHANNELS = ("bit", "place", "side", "unit", "count", "hit", "first", "answer", "balance")
TARGETS = ("parity", "majority", "first", "mean")
_RANGE = 4.0  # how far the reference of MEAN stands above its signal; see ``layer_norm_network``

Weights = Mapping[tuple[str, str], float]


def layer_norm_network(eps: float = 0.0, *, target: str = "parity", dtype: torch.dtype = torch.float64) -> Encoder:
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
    if target not in TARGETS:
        raise ValueError(f"target is {target!r}; it must be one of {', '.join(TARGETS)}")
    size = len(CHANNELS)
    zero = torch.zeros(size, size, dtype=dtype)
    eye = torch.eye(size, dtype=dtype)
    attend = _matrix({("side", "first"): 2.0} if target == "first" else {}, dtype)
    first = Head(attend, _matrix({("bit", "count"): 1.0, ("bit", "balance"): -1.0}, dtype))
    second = Head(zero.clone(), _matrix({("hit", "answer"): 1.0} if target == "parity" else {}, dtype))
    return Encoder(
        _matrix({("one", "bit"): 1.0, ("one", "balance"): -1.0}, dtype, rows=("zero", "one")),
        _positions(dtype),
        [
            Layer([first], _compare(target, dtype), skip=eye.clone(), keep=eye.clone(), norm=Norm(eps)),
            Layer([second], _remove(target, dtype), skip=eye.clone(), keep=eye.clone(), norm=Norm(eps)),
        ],
        readout=_matrix({("answer", "out"): _readout(target)}, dtype, columns=("out",)),
        appended=(0,),
    )


def longest(dtype: torch.dtype = torch.float64) -> int:
    """The longest input on which ``layer_norm_network`` is sure to be right in this dtype.

    The answer has size about 1/N². Each rounding error of at most a few units u of the dtype enters it once, so the
    sign is safe while 20 u N² < 1, with u = ``torch.finfo(dtype).eps``/2.

    >>> longest(torch.float32)
    914
    """
    return int((10 * torch.finfo(dtype).eps) ** -0.5) - 1


def _positions(dtype: torch.dtype) -> Callable[[int], Tensor]:
    """The rule N → codes (N, D) of the positions 1, …, N − 1, 0: place i/N, side (−1)^i, unit 1/N, first log N at 1."""

    def codes(length: int) -> Tensor:
        if length - 1 > longest(dtype):
            raise ValueError(
                f"symbols has length {length - 1}; in {str(dtype).removeprefix('torch.')} this network is exact up to "
                f"length {longest(dtype)}"
            )
        i = torch.arange(1, length + 1, dtype=torch.float64) % length
        place = torch.zeros(length, len(CHANNELS), dtype=torch.float64)
        place[:, CHANNELS.index("place")] = i / length
        place[:, CHANNELS.index("side")] = 1 - 2 * (i % 2)
        place[:, CHANNELS.index("unit")] = 1 / length
        place[:, CHANNELS.index("first")] = math.log(length) * (i == 1)
        place[:, CHANNELS.index("balance")] = -place.sum(-1)
        return place.to(dtype)

    return codes


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


# --- one bit at a time ------------------------------------------------------------------------------------------------


def scratchpad_network(
    T: int, *, code: str = "one-hot", beta: float | None = None, gamma: float | None = None
) -> Encoder:
    """One step of PARITY with a scratchpad (SP App. G): from x_1 … x_T, y_0 = 0, y_1 … y_{t−1} to y_t = x_t ⊕ y_{t−1}.

    Positions have cyclic codes: T + t has the code of t. So the last position attends to x_t and to itself, the mean is
    (x_t + y_{t−1})/2, and one trapezoid around ½ says whether that is odd. A second head of the same kind reads it.

    The code is ``one-hot`` with W = βI and γI, hence ‖θ‖² ~ T log² T; or ``binary``, the ±1 digits of t − 1 with
    W = (β/2)I, where a position that differs in h digits has logit −βh: then log₂ T entries are enough. The defaults
    leave a margin above ``thresholds``: e^β doubled, and e^γ such that the output is within about 1/100 of its bit.
    """
    _check_scratchpad(T, code)
    codes = _codes(T, code)
    size = codes.shape[1] + 1  # the last channel carries the bit
    least = thresholds(T, code)
    beta = max(least[0], 0.0) + math.log(2) if beta is None else beta
    gamma = max(least[1], 0.0) + math.log(100) if gamma is None else gamma
    spread = 1.0 if code == "one-hot" else 0.5
    place = torch.eye(size, dtype=torch.float64)
    place[-1, -1] = 0
    bit = torch.zeros(size, 1, dtype=torch.float64)
    bit[-1] = 1
    breaks = torch.tensor([1 / 4, 3 / 8, 5 / 8, 3 / 4], dtype=torch.float64)
    write = torch.tensor([[8.0], [-8.0], [-8.0], [8.0]], dtype=torch.float64) @ bit.T  # (4, D)
    odd = Mlp([torch.ones(1, 4, dtype=torch.float64), write], [-breaks, None])
    return Encoder(
        torch.cat([torch.zeros_like(bit), bit], dim=1).T.contiguous(),
        _cycle(codes),
        [
            Layer([Head(beta * spread * place, bit.clone())], odd, bypass=place.clone()),
            Layer([Head(gamma * spread * place, bit.clone())]),
        ],
    )


def thresholds(T: int, code: str = "one-hot") -> tuple[float, float]:
    """(β*, γ*): the first layer is exact at every step iff β ≥ β*; then all bits are right, rounded, iff γ > γ*.

    Others than x_t and y_{t−1} share the weight W(β) = Σ e^{−β·distance}. A single one in an empty row gives the mean
    1/(2 + W), on the plateau ½ ± ⅛ iff W ≤ ⅔; the last head outputs 2/(2 + W) > ½ iff W < 2. At t = T, W is
    (2T − 2)e^{−β} for one-hot codes, 2((1 + e^{−β})^m − 1) for T = 2^m binary ones (other T may do with less).

    >>> [round(math.exp(x)) for x in thresholds(64)]
    [189, 63]
    """
    _check_scratchpad(T, code)
    if T == 1:
        return -math.inf, -math.inf
    if code == "one-hot":
        return math.log(3 * (T - 1)), math.log(T - 1)
    digits = (T - 1).bit_length()
    return tuple(-math.log(math.expm1(math.log1p(share) / digits)) for share in (1 / 3, 1.0))


def run(network: Encoder, bits: Tensor | np.ndarray) -> Tensor:
    """Run a scratchpad network on bits (batch, T): appends y_0 = 0, then T times its rounded output; (batch, T + 1).

    The last column is the parity of the whole row, 0 for even.
    """
    sequence = torch.as_tensor(bits).long()
    T = sequence.shape[-1]
    sequence = torch.cat([sequence, torch.zeros_like(sequence[:, :1])], dim=1)
    with torch.no_grad():
        for _ in range(T):
            step = (network(sequence) > 0.5).long()
            sequence = torch.cat([sequence, step[:, None]], dim=1)
    return sequence[:, T:]


def _codes(T: int, code: str) -> Tensor:
    """The T codes, (T, T) unit vectors or (T, ⌈log₂ T⌉) signs."""
    if code == "one-hot":
        return torch.eye(T, dtype=torch.float64)
    return 1 - 2.0 * (torch.arange(T)[:, None] >> torch.arange((T - 1).bit_length()) & 1).double()


def _cycle(codes: Tensor) -> Callable[[int], Tensor]:
    T = len(codes)

    def places(length: int) -> Tensor:
        if not T < length <= 2 * T:
            raise ValueError(f"symbols has length {length}; a step of this network takes {T + 1} to {2 * T} bits")
        turns = codes[torch.arange(length) % T]
        return torch.cat([turns, torch.zeros(length, 1, dtype=turns.dtype)], dim=1)

    return places


def _check_scratchpad(T: int, code: str) -> None:
    if not (isinstance(T, int) and T >= 1):
        raise ValueError(f"T is {T!r}; it must be a whole number of at least 1")
    if code not in ("one-hot", "binary"):
        raise ValueError(f"code is {code!r}; it must be 'one-hot' or 'binary'")
