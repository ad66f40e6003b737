"""An MLP and an LSTM to stand beside the encoder, K of them at once.

Both read the signs of the bits and are drawn and, alone, computed by PyTorch. ``Rivals`` computes K of them in one go,
as ``flatcube.training`` asks. Their hidden widths give them about as many weights as the encoder of the same ``width``
has without its position encodings: for width 32 the encoder 12,993, the MLP 12,853 at n = 8 and 13,285 at n = 12, the
LSTM 13,273.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks import tensors

__all__ = ["Perceptron", "Lstm", "Rivals"]

_LONGEST, _WIDEST = 10**5, 2048


class Perceptron(nn.Module):
    """relu(relu(x W₀ + b₀) W₁ + b₁) W₂ + b₂ with hidden width 27/8 of ``width``: bits (batch, n) to (batch,)."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        n, width = _sizes(n, width)
        sizes = [n, 27 * width // 8, 27 * width // 8, 1]
        self.maps = nn.ModuleList(nn.Linear(*pair) for pair in zip(sizes, sizes[1:], strict=False))

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n) to (batch,)."""
        first, second, last = self.maps
        signs = _signs(bits, ("batch", first.in_features), last.bias)
        return last(second(first(signs).relu()).relu())[:, 0]

    @staticmethod
    def together(weights: Sequence[Tensor], signs: Tensor) -> Tensor:
        """The outputs (K, batch) with weights (K, …), in the order of ``parameters()``, on signs (K, batch, n)."""
        x, pairs = signs, [*zip(weights[::2], weights[1::2], strict=True)]
        for weight, bias in pairs[:-1]:
            x = torch.baddbmm(bias[:, None], x, weight.mT).relu()  # (K, batch, hidden)
        return _read(x, *pairs[-1])


class Lstm(nn.Module):
    """LSTM cells, 7/4 of ``width``, that meet the signs in turn, read at the end: bits (batch, n) to (batch,)."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        self.n, width = _sizes(n, width)
        hidden = 7 * width // 4
        self.cells, self.readout = nn.LSTM(1, hidden, batch_first=True), nn.Linear(hidden, 1)

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n) to (batch,)."""
        signs = _signs(bits, ("batch", self.n), self.readout.bias)
        return self.readout(self.cells(signs[..., None])[0][:, -1])[:, 0]

    @staticmethod
    def together(weights: Sequence[Tensor], signs: Tensor) -> Tensor:
        """The outputs (K, batch) with weights (K, …), in the order of ``parameters()``, on signs (K, batch, n)."""
        read, kept, bias_read, bias_kept, *last = weights
        bias = (bias_read + bias_kept)[:, None]  # (K, 1, 4 hidden)
        hidden = state = signs.new_zeros(*signs.shape[:2], kept.shape[-1])  # (K, batch, hidden)
        for x in signs.unbind(-1):
            gates = torch.baddbmm(torch.addcmul(bias, x[..., None], read.mT), hidden, kept.mT)
            let, keep, new, out = gates.chunk(4, -1)  # input, forget, cell and output gates
            state = keep.sigmoid() * state + let.sigmoid() * new.tanh()
            hidden = out.sigmoid() * state.tanh()
        return _read(hidden, *last)


class Rivals(nn.Module):
    """K independent networks of one kind, ``Perceptron`` or ``Lstm``: bits (batch, n) or (K, batch, n) to (K, batch).

    Member k starts as PyTorch draws it with seed ``seeds[k]``.
    """

    def __init__(self, kind: type[Perceptron] | type[Lstm], n: int, width: int, *, seeds: Sequence[int]) -> None:
        super().__init__()
        if not len(seeds):
            raise ValueError("seeds: expected one for each member, got none")
        self.kind, (self.n, self.width) = kind, _sizes(n, width)
        drawn = [self._drawn(checks.integer(seed, "seeds", 0)).parameters() for seed in seeds]
        self.weights = nn.ParameterList(torch.stack(one).detach() for one in zip(*drawn, strict=True))

    def __len__(self) -> int:
        return len(self.weights[0])

    def forward(self, bits: Tensor) -> Tensor:
        """bits (batch, n), or (K, batch, n) with other inputs for each member, to (K, batch)."""
        return self.many(dict(self.named_parameters()), bits)

    def many(self, parameters: Mapping[str, Tensor], bits: Tensor) -> Tensor:
        """The same with other parameters, (K, …) for every name: any number of members of this kind."""
        weights = [*parameters.values()]
        signs = _signs(bits, (..., "batch", self.n), weights[0])
        return self.kind.together(weights, signs.expand(len(weights[0]), *signs.shape[-2:]))

    @torch.no_grad()
    def member(self, k: int) -> Perceptron | Lstm:
        """A copy of member k, alone, as PyTorch computes it."""
        k = checks.integer(k, "k", -len(self), len(self) - 1)
        one = self._drawn(0).to(self.weights[0].dtype)
        for own, stack in zip(one.parameters(), self.weights, strict=True):
            own.copy_(stack[k])
        return one

    def _drawn(self, seed: int) -> Perceptron | Lstm:
        with torch.random.fork_rng(devices=[]):  # nobody else's random numbers change
            torch.manual_seed(seed)
            return self.kind(self.n, self.width)


def _sizes(n: int, width: int) -> tuple[int, int]:
    return checks.integer(n, "n", 1, _LONGEST), checks.integer(width, "width", 1, _WIDEST)


def _signs(bits: Tensor, shape: checks.Shape, like: Tensor) -> Tensor:
    return 1 - 2 * tensors.bits(bits, "bits", shape).to(like.dtype)


def _read(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.baddbmm(bias[:, None], x, weight.mT)[..., 0]
