"""A single layer of attention and a linear head, the network of VA Eq. (3), and what VA look at in it.

    Φ(X) = ⟨U, softmax(X W_Q W_Kᵀ Xᵀ) X W_V⟩     X one-hot (T, M); W_Q, W_K, W_V (M, D); U (T, D)

U needs a row for each of the T places. ``alignment`` compares the rows of U W_Vᵀ (T, M) with what the two cues would
ask for; ``mass`` is the attention that goes to sparse, frequent and irrelevant tokens.
"""

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.tokens.synthetic import Setting

__all__ = ["Single", "directions", "alignment", "mass"]


class Single(nn.Module):
    """Φ for tokens 0, …, M − 1 in T places, weights N(0, std²): tokens (N, T) to numbers (N,)."""

    def __init__(self, M: int, T: int, *, width: int = 32, std: float = 0.05, seed: int = 0) -> None:
        super().__init__()
        for name, value in (("M", M), ("T", T), ("width", width)):
            checks.integer(value, name, 1, 10**5)
        checks.room(16 * max(M, T) * width, "width")
        source = torch.Generator().manual_seed(checks.integer(seed, "seed", 0))
        for name, rows in (("query", M), ("key", M), ("value", M), ("head", T)):
            weight = checks.positive(std, "std") * torch.randn(rows, width, generator=source)
            self.register_parameter(name, nn.Parameter(weight))

    def attention(self, tokens: Tensor) -> Tensor:
        """The attention of every place, a row, to every place, (N, T, T)."""
        tokens = self._tokens(tokens)
        return (self.query[tokens] @ self.key[tokens].mT).softmax(-1)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (N, T) to (N,)."""
        tokens = self._tokens(tokens)
        checks.shape(tokens.shape, "tokens", ("N", "T"), {"T": len(self.head)})
        return (self.attention(tokens) @ self.value[tokens] * self.head).sum((1, 2))

    def _tokens(self, tokens: Tensor) -> Tensor:
        M, tokens = len(self.query), checks.instance(tokens, "tokens", Tensor)
        checks.shape(tokens.shape, "tokens", ("N", "T"))
        whole = not (tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool)
        if not whole or (tokens.numel() and not 0 <= tokens.min() <= tokens.max() < M):
            raise ValueError(f"tokens: expected whole numbers from 0 to {M - 1}, got others or dtype {tokens.dtype}")
        return tokens


def directions(setting: Setting) -> dict[str, np.ndarray]:
    """v_sp, v_freq and v_irrel of VA Sec. 4.1, each (M,), and ``mean``, the difference of the class means of counts."""
    kinds, classes = setting.kinds(), setting.classes()
    found = {"sparse": np.where(kinds == 0, classes, 0), "frequent": np.where(kinds == 1, classes, 0),
             "irrelevant": (kinds == 2) + 0}  # fmt: skip
    lead = (2 * setting.right - setting.n_f) / setting.m
    return found | {"mean": setting.n_s * found["sparse"] + lead * found["frequent"]}


@torch.no_grad()
def alignment(model: Single, setting: Setting) -> dict[str, float]:
    """The mean cosine of the rows of U W_Vᵀ with each of the ``directions``."""
    rows = (model.head @ model.value.T).numpy()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return {name: float(np.mean(rows @ v / np.linalg.norm(v))) for name, v in directions(setting).items()}


@torch.no_grad()
def mass(model: Single, tokens: np.ndarray, setting: Setting) -> tuple[float, float, float]:
    """The attention that sparse, frequent and irrelevant tokens get, in the mean over places and sequences (N, T)."""
    tokens = torch.as_tensor(checks.numbers(tokens, "tokens", ("N", "T")))
    if not tokens.numel():
        raise ValueError(f"tokens: expected shape (N, T) with N and T from 1 on, got {tuple(tokens.shape)}")
    got = model.attention(tokens).mean(1)  # (N, T)
    kinds = torch.as_tensor(setting.kinds())[tokens]
    sparse, frequent, irrelevant = (float((got * (kinds == kind)).sum(1).mean()) for kind in range(3))
    return sparse, frequent, irrelevant
