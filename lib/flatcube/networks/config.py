"""What an encoder is made of."""

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from flatcube import checks

__all__ = ["Config"]

_DEEPEST = 1000  # layers


@dataclass(frozen=True)
class Config:
    """What an encoder is made of. The defaults are HR's (App. E and the public code), at a quarter of the width.

    ``hidden`` is the width of the MLP, by default that of the model. ``embedding`` says how the vectors of symbol and
    position join: "concatenated" (half of the width each) or "added". ``cls`` appends a third symbol, read in place of
    the last bit. ``rms`` makes every norm x/√(mean of squares + ε). ``attention`` other than softmax divides
    relu(logits), or the logits themselves, by the number of keys that the query sees. ``std`` draws all weights from
    N(0, std²) and sets biases to 0, in place of PyTorch's initial values.
    """

    n: int
    width: int = 32
    layers: int = 2
    heads: int = 2
    hidden: int | None = None
    embedding: Literal["concatenated", "added"] = "concatenated"
    norm: Literal["post", "pre", "mlp", "none"] = "post"
    attention: Literal["softmax", "relu", "linear"] = "softmax"
    rms: bool = False
    causal: bool = False
    cls: bool = False
    bias: bool = True
    eps: float = 1e-5
    std: float | None = None

    def __post_init__(self) -> None:
        for name in ("n", "width", "heads", *(() if self.hidden is None else ("hidden",))):
            checks.integer(getattr(self, name), name, 1)
        checks.integer(self.layers, "layers", 1, _DEEPEST)
        for name in ("embedding", "norm", "attention"):
            checks.word(getattr(self, name), name, get_args(get_type_hints(Config)[name]))
        for name in ("rms", "causal", "cls", "bias"):
            checks.flag(getattr(self, name), name)
        if self.width % self.heads:
            raise ValueError(f"heads: expected a divisor of the width {self.width}, got {self.heads}")
        if self.embedding == "concatenated" and self.width % 2:
            raise ValueError(f"width: expected an even number for concatenated embeddings, got {self.width}")
        checks.positive(self.eps, "eps", 0)
        if self.std is not None:
            checks.positive(self.std, "std")

    @property
    def positions(self) -> int:
        """N, the number of positions: n, and one more for the appended symbol."""
        return self.n + self.cls
