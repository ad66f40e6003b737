"""The transformer that learns to add modulo p, one layer without norms, as Nanda et al. 2023 and VA Sec. 7.3 have it.

It reads "a b =" and gives a score for every answer c at the sign "=":

    z = e_= + Σ_h [Σ_{t ∈ {a, b, =}} softmax_t(q_h · k_h(t)) v_h(t)] O_h,   u = z + relu(z A + b) B,   score = u R.

Only the token "=" asks, and it is always the same. So a head's view of a is a table with one line for each number: its
logit, and its value. Computing these two tables once for all examples makes a step ten times as fast.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.grokking.cycles import modulus
from flatcube.networks import tensors
from flatcube.sharpness.landscape import random_source

__all__ = ["Adder", "pairs", "split"]


def pairs(p: int) -> Tensor:
    """All p² pairs (a, b), (p², 2), a first.

    >>> pairs(3)[:4].tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0]]
    """
    return torch.cartesian_prod(*[torch.arange(modulus(p))] * 2)


def split(p: int, share: float, *, seed: int) -> tuple[Tensor, Tensor]:
    """The places of the training pairs among all p², round(share · p²) of them, and those of the test pairs."""
    count = round(checks.fraction(share, "share") * modulus(p) ** 2)
    order = torch.randperm(p * p, generator=random_source(checks.integer(seed, "seed", 0), f"pairs {p}"))
    return order[:count], order[count:]


class Adder(nn.Module):
    """a, b (batch, 2) to scores (batch, p). ``seed`` draws weights N(0, 1/inputs); the numbers are N(0, 1/width)."""

    def __init__(self, p: int, *, width: int = 64, heads: int = 4, hidden: int = 256, seed: int = 0) -> None:
        super().__init__()
        self.p, self.heads = modulus(p), checks.integer(heads, "heads", 1, 4096)
        if checks.integer(width, "width", 1, 4096) % heads:
            raise ValueError(f"width: expected a multiple of the {heads} heads, got {width}")
        checks.room(16 * width * checks.integer(hidden, "hidden", 1, 2**20), "hidden")
        source = random_source(checks.integer(seed, "seed", 0), f"adder {p}")

        def drawn(*shape: int, inputs: int = width) -> nn.Parameter:
            return nn.Parameter(torch.randn(shape, generator=source) / math.sqrt(inputs))

        self.numbers, self.equals, self.positions = drawn(p, width), drawn(width), drawn(3, width)
        self.query, self.key, self.value, self.out = (drawn(width, width) for _ in range(4))
        self.enter, self.bias = drawn(width, hidden), nn.Parameter(torch.zeros(hidden))
        self.leave, self.read = drawn(hidden, width, inputs=hidden), drawn(width, p)

    def forward(self, x: Tensor) -> Tensor:
        """Scores (batch, p) for a, b (batch, 2)."""
        return self.scores(x)

    def scores(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        """The same with ``noise`` (2, p, width) on the numbers' embeddings, those of a and those of b."""
        x = tensors.tensor(x, "x", ("batch", 2))
        if x.is_floating_point() or (len(x) and not 0 <= x.min() <= x.max() < self.p):
            raise ValueError(f"x: expected whole numbers from 0 to {self.p - 1}, got others or dtype {x.dtype}")
        if noise is not None:
            checks.shape(noise.shape, "noise", (2, *self.numbers.shape))
            if not bool(noise.isfinite().all()):
                raise ValueError("noise: expected finite numbers, got NaN or infinite ones")
        shown = self.numbers + self.positions[:2, None] + (0 if noise is None else noise)  # (2, p, width)
        sign = self.equals + self.positions[2]
        each = self.out.shape[0] // self.heads
        query = (sign @ self.query).reshape(self.heads, each) / math.sqrt(each)
        asks = torch.einsum("dhe,he->dh", self.key.reshape(-1, self.heads, each), query)
        logits, values = shown @ asks, shown @ self.value  # (2, p, heads) and (2, p, width)
        a, b = x[:, 0], x[:, 1]
        seen = torch.stack([nn.functional.embedding(a, logits[0]), nn.functional.embedding(b, logits[1]),
                            (sign @ asks).expand(len(x), -1)])  # fmt: skip
        weights = seen.softmax(0).repeat_interleave(each, 2)  # (3, batch, width): a head's weight for all its channels
        mixed = weights[0] * nn.functional.embedding(a, values[0])
        mixed = mixed + weights[1] * nn.functional.embedding(b, values[1]) + weights[2] * (sign @ self.value)
        state = sign + mixed @ self.out
        return (state + (state @ self.enter + self.bias).relu() @ self.leave) @ self.read

    def load(self, weights: Mapping[str, Tensor]) -> "Adder":
        """Itself, with these weights."""
        for name, weight in weights.items():
            if torch.as_tensor(weight).is_complex() or not bool(torch.as_tensor(weight).isfinite().all()):
                raise ValueError(f"weights[{name!r}]: expected finite real numbers, got complex, NaN or infinite ones")
        self.load_state_dict(dict(weights))
        return self
