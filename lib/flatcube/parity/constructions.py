"""PARITY by majorities, by memory and by a scratchpad."""

import math

import numpy as np
import torch
from torch import Tensor

from flatcube import checks, handmade
from flatcube.networks import tensors
from flatcube.networks.blocks import Head, Layer, Mlp
from flatcube.networks.circuit import Circuit

__all__ = [
    "is_odd", "majority_gates", "majority_network", "memorising_network", "scratchpad_network", "thresholds", "run",
]  # fmt: skip

# --- nested majorities ------------------------------------------------------------------------------------------------


def is_odd(bits: np.ndarray) -> np.ndarray:
    """Whether each row of bits (…, n) is odd, by HR Lemma 8: four lines of a program without any arithmetic modulo 2.

    A string is odd iff for a strict majority of its ones, strictly more than half of the ones stand no later.

    >>> is_odd(np.array([[1, 0, 1, 1], [1, 0, 0, 1]]))
    array([ True, False])
    """
    ones = checks.bits(bits, (..., "n")).astype(bool)
    total = ones.sum(-1, keepdims=True)
    late = 2 * ones.cumsum(-1) > total  # at position i: most ones stand no later than i
    return 2 * (ones & late).sum(-1) > total[..., 0]


def majority_gates(bits: np.ndarray) -> dict[str, np.ndarray]:
    """The same as a circuit of majority gates, bits (…, n): the values at each of its levels; ``output`` is 1 for odd.

    Gates take inputs, their negations and constants, and say whether strictly more than half of them are 1:

        late_i  = MAJ(b_1, …, b_i, ¬b_{i+1}, …, ¬b_n, and |n − 2i| equal constants)   most ones stand no later than i
        yes_i   = MAJ(b_i, late_i, 0)     a one where that holds
        no_i    = MAJ(¬b_i, late_i, 1)    not a one where it fails
        output  = MAJ(yes_1, …, yes_n, no_1, …, no_n)
    """
    b = checks.bits(bits, (..., "n")).astype(bool)
    n = checks.integer(b.shape[-1], "n", 1)
    checks.room(2 * b.size * n, "bits")
    late = []
    for i in range(1, n + 1):
        constants = np.full((*b.shape[:-1], abs(n - 2 * i)), 2 * i > n)
        late.append(_majority(np.concatenate([b[..., :i], ~b[..., i:], constants], axis=-1)))
    late = np.stack(late, axis=-1)
    yes = _majority(np.stack([b, late, np.zeros_like(b)], axis=-1))
    no = _majority(np.stack([~b, late, np.ones_like(b)], axis=-1))
    return {"late": late, "yes": yes, "no": no, "output": _majority(np.concatenate([yes, no], axis=-1))}


def _majority(inputs: np.ndarray) -> np.ndarray:
    """Whether strictly more than half of the inputs (…, m) are true."""
    return 2 * inputs.sum(-1) > inputs.shape[-1]


_VOTING = {
    "embedding": [
        ("bit", "the bit, 1 or 0"),
        ("rest", "log(N − i) for position i: the logit with which it looks at the last one"),
        ("sink", "1 at the last position, which everybody sees"),
        ("prefix", "k_i/N, the share of ones up to i, from the first head"),
        ("total", "k/N, the share of all ones, from the second head"),
    ],
    "layers.0.output": [("vote", "a position with a one votes: +1 if most ones stand no later, else −1")],
    "layers.1.mixed": [("mean vote", "the mean of all votes")],
    "layers.1.output": [("odd", "1 for an odd number of ones, 0 for an even one")],
}


def majority_network(n: int, *, dtype: torch.dtype = torch.float64) -> Circuit:
    """Lemma 8 as two layers of attention; N = n + 1 positions, the last of which holds bit 0 and is read.

    Layer 1: a head that sees no later position, but the last one with weight N − i, finds k_i/N, the ones up to i. A
    second head finds k/N. The MLP casts a vote for every one: +1 where 2k_i − k ≥ 1, else −1. Layer 2 adds up the
    votes: 1 for odd k, 0 for even k. Each majority is a ramp from ¼ to ¾, so the weights grow with N.
    """
    N, dtype = checks.integer(n, "n", 1) + 1, tensors.dtype(dtype)
    checks.room(8 * N**2, "n")  # the mask
    bit, rest, sink, prefix, total = torch.eye(5, dtype=torch.float64)  # the channels
    earlier = torch.triu(torch.full((N, N), -torch.inf, dtype=torch.float64), 1)
    earlier[:, -1] = 0  # everybody sees the last position
    positions = torch.arange(n, -1, -1, dtype=torch.float64).clamp(min=1).log()[:, None] * rest  # log(N − i)
    positions[-1] = sink
    heads = [
        Head(torch.outer(rest, sink), torch.outer(bit, prefix), mask=earlier),
        Head(torch.zeros(5, 5, dtype=torch.float64), torch.outer(bit, total)),
    ]
    # z = 2k_i − k, sunk below 0 where the bit is 0
    z = N * (2 * prefix - total + bit)
    votes = Mlp([torch.stack([z, z, bit], dim=1), _column(4, -4, -1)], [_column(-N - 0.25, -N - 0.75, 0)[:, 0], None])
    decide = Mlp([_column(N, N).T.contiguous(), _column(-4, 4)], [_column(-0.25, -0.75)[:, 0], _column(1)[:, 0]])
    layers = [
        Layer(heads, votes, skip=torch.eye(5, dtype=torch.float64)),
        Layer([Head(_column(0), _column(1))], decide),
    ]
    model = Circuit(torch.stack([0 * bit, bit]), positions, layers, appended=(0,), channels=_VOTING)
    return model.to(dtype)


def _column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


# --- a memorised wave -------------------------------------------------------------------------------------------------


def memorising_network(n: int, **choices: object) -> Circuit:
    """The network of ``handmade`` for one component of all n bits: its MLP memorises n + 1 sums; 1 for even, 0 for odd.

    ‖θ‖² is about 32n³ (formula and options: ``handmade.build``).
    """
    checks.room(8 * 24 * checks.integer(n, "n", 1) ** 2, "n")  # six matrices (n, 4n) at most
    return handmade.build([(tuple(range(1, n + 1)), 1.0)], n, **choices)


# --- one bit at a time ------------------------------------------------------------------------------------------------

_KINKS = torch.tensor([1 / 4, 3 / 8, 5 / 8, 3 / 4], dtype=torch.float64)  # a trapezoid around ½: 1 from ⅜ to ⅝


def scratchpad_network(
    T: int,
    *,
    code: str = "one-hot",
    beta: float | None = None,
    gamma: float | None = None,
    dtype: torch.dtype = torch.float64,
) -> Circuit:
    """One step of PARITY with a scratchpad (SP App. G): from x_1 … x_T, y_0 = 0, y_1 … y_{t−1} to y_t = x_t ⊕ y_{t−1}.

    Positions have cyclic codes: T + t has the code of t. So the last position attends to x_t and to itself, the mean is
    (x_t + y_{t−1})/2, and one trapezoid around ½ says whether that is odd. A second head of the same kind reads it.

    The code is ``one-hot`` with W = βI and γI, hence ‖θ‖² ~ T log² T; or ``binary``, the ±1 digits of t − 1 with
    W = (β/2)I, where a position that differs in h digits has logit −βh: then log₂ T entries are enough. The defaults
    leave a margin above ``thresholds``: e^β doubled, and e^γ such that the output is within about 1/100 of its bit.
    """
    _check_scratchpad(T, code)
    tensors.dtype(dtype)
    checks.room(8 * 4 * T * (T if code == "one-hot" else T.bit_length()), "T")  # the codes, and the weights on them
    codes = _codes(T, code)
    size = codes.shape[1] + 1  # the last channel carries the bit
    least = thresholds(T, code)
    beta = max(least[0], 0.0) + math.log(2) if beta is None else beta
    gamma = max(least[1], 0.0) + math.log(100) if gamma is None else gamma
    checks.number(beta, "beta")
    checks.number(gamma, "gamma")
    spread = 1.0 if code == "one-hot" else 0.5
    *_, bit = torch.eye(size, dtype=torch.float64)
    place = torch.diag(1 - bit)
    odd = Mlp([torch.ones(1, 4, dtype=torch.float64), torch.outer(_column(8, -8, -8, 8)[:, 0], bit)], [-_KINKS, None])
    return Circuit(
        torch.stack([0 * bit, bit]),
        _Cycle(codes),
        [
            Layer([Head(beta * spread * place, bit[:, None].clone())], odd, bypass=place.clone()),
            Layer([Head(gamma * spread * place, bit[:, None].clone())]),
        ],
        channels=_stepping(size - 1, code),
    ).to(dtype)


def _stepping(count: int, code: str) -> dict[str, list[tuple[str, str]]]:
    """What the channels of the scratchpad network are for."""
    words = "1 where T + t or t stands, 0 elsewhere" if code == "one-hot" else "digit of t − 1, as ±1"
    return {
        "embedding": [*((f"t={k}" if code == "one-hot" else f"digit {k}", words) for k in range(1, count + 1)),
                      ("bit", "the bit; after the first layer whether x_t and y_{t−1} differ")],
        "layers.0.mixed": [("mean", "(x_t + y_{t−1})/2, the mean of the two bits with the same code")],
        "layers.1.mixed": [("next", "y_t, the bit to be written")],
    }  # fmt: skip


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


def run(network: Circuit, bits: Tensor | np.ndarray) -> Tensor:
    """Run a scratchpad network on bits (batch, T): appends y_0 = 0, then T times its rounded output; (batch, T + 1).

    The last column is the parity of the whole row, 0 for even.
    """
    tensors.network(network, "network", Circuit)
    if not isinstance(network.rule, _Cycle):
        raise ValueError("network: expected one of parity.scratchpad_network, got another one")
    T = len(network.rule.codes)
    sequence = tensors.bits(bits, shape=("batch", T))
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


class _Cycle:
    """The positions of a step: T codes (T, D − 1), over and over, and nothing in the channel of the bit."""

    def __init__(self, codes: Tensor) -> None:
        self.codes, self.usual = codes, len(codes) + 1

    def __call__(self, length: int) -> Tensor:
        T = len(self.codes)
        if not T < length <= 2 * T:
            raise ValueError(f"symbols: expected {T + 1} to {2 * T} bits, got {length}")
        turns = self.codes[torch.arange(length) % T]
        return torch.cat([turns, torch.zeros(length, 1, dtype=turns.dtype)], dim=1)


def _check_scratchpad(T: int, code: str) -> None:
    checks.integer(T, "T", 1, 10**18)
    checks.word(code, "code", ("one-hot", "binary"))
