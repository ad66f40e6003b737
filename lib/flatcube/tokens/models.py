"""Small networks over tokens: the four kinds that VA compare on images, and the four on sentences.

``Mlp``, ``Cnn``, ``Mixer`` and ``Vit`` take the patches of an image, (N, T, d), to a number for each class, (N, C).
``Reader`` takes words, (N, T) whole numbers with 0 for no word: ``embed`` gives the vectors (N, T, D) to which noise is
added, all of the same length, and ``read`` what it decides from such vectors, (N, C). Seeds are keywords: the same seed
means the same network.
"""

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks

__all__ = ["Mlp", "Cnn", "Mixer", "Vit", "Reader", "KINDS", "READERS", "build", "numbers"]

Made = TypeVar("Made", bound=nn.Module)
_WIDEST = 4096
_DEEPEST = 100


def _sizes(**given: int) -> None:
    for name, value in given.items():
        checks.integer(value, name, 1, _DEEPEST if name == "layers" else _WIDEST)


class Attention(nn.Module):
    """Heads of attention, (N, T, D) to (N, T, D): softmax, or relu(logits) divided by the number of keys seen."""

    def __init__(self, width: int, heads: int, *, relu: bool = False, causal: bool = False) -> None:
        super().__init__()
        _sizes(width=width, heads=heads)
        if width % heads:
            raise ValueError(f"heads: expected a divisor of the width {width}, got {heads}")
        self.heads, self.relu, self.causal = heads, relu, causal
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, present: Tensor | None = None) -> Tensor:
        """x (N, T, D); ``present`` (N, T) says which keys there are."""
        checks.shape(x.shape, "x", ("N", "T", "D"), {"D": self.output.in_features})
        T = x.shape[1]
        q, k, v = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # (N, H, T, D/H) each
        seen = torch.ones(T, T, dtype=torch.bool).tril() if self.causal else torch.ones(T, T, dtype=torch.bool)
        seen = seen[None, None] if present is None else seen & present[:, None, None]
        if self.relu:
            logits = (q @ k.mT / math.sqrt(q.shape[-1])).relu().masked_fill(~seen, 0)
            mixed = logits / seen.sum(-1, keepdim=True).clamp(min=1) @ v
        else:
            seen = seen | torch.eye(T, dtype=torch.bool)  # who sees nobody sees itself, and nobody sees it
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """x + attention(norm(x)), then + mlp(norm(·)) with one hidden layer."""

    def __init__(self, width: int, heads: int, hidden: int, *, relu: bool = False, causal: bool = False) -> None:
        super().__init__()
        _sizes(hidden=hidden)
        self.attention = Attention(width, heads, relu=relu, causal=causal)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, present: Tensor | None = None) -> Tensor:
        """x (N, T, D) to (N, T, D)."""
        x = x + self.attention(self.first(x), present)
        return x + self.mlp(self.second(x))


# --- images -----------------------------------------------------------------------------------------------------------


class Mlp(nn.Module):
    """Affine maps with LeakyReLU or sigmoid between them, on all pixels at once."""

    def __init__(self, T: int, d: int, classes: int, *, hidden: tuple[int, ...] = (128, 64), smooth: bool = False):
        super().__init__()
        _sizes(T=T, d=d, classes=classes)
        for value in (hidden := checks.several(hidden, "hidden", int)):
            checks.integer(value, "hidden", 1, _WIDEST)
        sizes = [T * d, *hidden]
        checks.room(4 * T * d * [*hidden, classes][0], "T")
        self.maps = nn.ModuleList(nn.Linear(*pair) for pair in zip(sizes, sizes[1:], strict=False))
        self.bend, self.readout = nn.Sigmoid() if smooth else nn.LeakyReLU(), nn.Linear(sizes[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        """Patches (N, T, d) to (N, C)."""
        checks.shape(x.shape, "x", ("N", "T", "d"))
        x = x.flatten(1)
        for each in self.maps:
            x = self.bend(each(x))
        return self.readout(x)


class Cnn(nn.Module):
    """Two convolutions of 3 × 3 pixels, the first in steps of two, then an MLP with one hidden layer."""

    def __init__(self, T: int, d: int, classes: int, *, channels: int = 8, hidden: int = 64) -> None:
        super().__init__()
        _sizes(T=T, d=d, classes=classes, channels=channels, hidden=hidden)
        self.size, side = math.isqrt(d), math.isqrt(T) * math.isqrt(d)
        self.maps = nn.Sequential(nn.Conv2d(1, channels, 3, stride=2), nn.LeakyReLU(),
                                  nn.Conv2d(channels, channels, 3), nn.LeakyReLU())  # fmt: skip
        left = (side - 3) // 2 + 1 - 2
        checks.room(4 * channels * max(left**2 * hidden, 9 * channels), "channels")
        self.dense, self.readout = nn.Linear(channels * left**2, hidden), nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Patches (N, T, d) to (N, C)."""
        checks.shape(x.shape, "x", ("N", "T", "d"), {"d": self.size**2})
        grid, size = math.isqrt(x.shape[1]), self.size
        image = x.unflatten(1, (grid, grid)).unflatten(-1, (size, size)).transpose(2, 3).flatten(3, 4).flatten(1, 2)
        return self.readout(nn.functional.leaky_relu(self.dense(self.maps(image[:, None]).flatten(1))))


class Mixer(nn.Module):
    """Patches as a ViT has them, but convolutions among neighbours in the place of attention (ConvMixer)."""

    def __init__(self, T: int, d: int, classes: int, *, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        _sizes(T=T, d=d, classes=classes, width=width, layers=layers)
        self.embedding = nn.Linear(d, width)
        self.among = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, groups=width) for _ in range(layers))
        self.within = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2 * layers + 1))
        self.readout = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Patches (N, T, d) to (N, C)."""
        checks.shape(x.shape, "x", ("N", "T", "d"), {"d": self.embedding.in_features})
        grid = math.isqrt(x.shape[1])
        x = self.norms[0](nn.functional.gelu(self.embedding(x).mT.unflatten(-1, (grid, grid))))
        for k, (among, within) in enumerate(zip(self.among, self.within, strict=True)):
            x = x + self.norms[2 * k + 1](nn.functional.gelu(among(x)))
            x = self.norms[2 * k + 2](nn.functional.gelu(within(x)))
        return self.readout(x.mean((2, 3)))


class Vit(nn.Module):
    """A vision transformer: embedded patches with positions, blocks, a norm, and the mean over patches read.

    With ``norm`` the patches are normed before they are embedded, and after it (VA's public source has both).
    """

    def __init__(
        self, T: int, d: int, classes: int, *, width: int = 32, layers: int = 2, heads: int = 4, hidden: int = 64,
        norm: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        _sizes(T=T, d=d, classes=classes, width=width, layers=layers)
        self.before, self.after = (nn.LayerNorm(d), nn.LayerNorm(width)) if norm else (nn.Identity(), nn.Identity())
        self.embedding, self.positions = nn.Linear(d, width), nn.Parameter(0.02 * torch.randn(T, width))
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Patches (N, T, d) to (N, C)."""
        checks.shape(x.shape, "x", ("N", "T", "d"), {"T": len(self.positions), "d": self.embedding.in_features})
        x = self.after(self.embedding(self.before(x))) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.readout(self.norm(x.mean(1)))


# --- sentences --------------------------------------------------------------------------------------------------------


class Reader(nn.Module):
    """A network that reads words: an LSTM, or a transformer whose attention is softmax, relu, or causal softmax.

    Words are 1, 2, …; 0 means that there is none. All begin alike, with vectors of words and, in transformers, of
    places, normed to length √D. An LSTM and a causal transformer are read at the last place, the others at the first.
    """

    def __init__(self, words: int, T: int, kind: str, *, width: int = 64, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.kind = checks.word(kind, "kind", READERS)
        _sizes(T=T, width=width, layers=layers, heads=heads)
        checks.room(8 * checks.integer(words, "words", 1, 10**6) * width, "words")
        self.words = nn.Embedding(words, width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        if kind == "lstm":
            self.cells = nn.LSTM(width, width, layers, batch_first=True)
        else:
            self.positions = nn.Parameter(torch.randn(T, width))
            self.blocks = nn.ModuleList(
                Block(width, heads, 2 * width, relu=kind == "relu", causal=kind == "causal") for _ in range(layers)
            )
        self.last, self.readout = nn.LayerNorm(width), nn.Linear(width, 2)

    def embed(self, words: Tensor) -> Tensor:
        """Words (N, T) to what enters the first layer, (N, T, D); a place without a word is 0."""
        x = self.words(words) if self.kind == "lstm" else self.words(words) + self.positions
        return self.norm(x) * (words > 0)[..., None]

    def read(self, x: Tensor) -> Tensor:
        """Vectors (N, T, D) to (N, 2); places that are all 0 are not there."""
        present = (x != 0).any(-1)
        if self.kind == "lstm":
            return self.readout(self.last(self.cells(x)[0][:, -1]))
        for block in self.blocks:
            x = block(x, present)
        return self.readout(self.last(x[:, -1 if self.kind == "causal" else 0]))

    def forward(self, words: Tensor) -> Tensor:
        """Words (N, T) to (N, 2)."""
        return self.read(self.embed(words))


KINDS: dict[str, Callable[..., nn.Module]] = {"mlp": Mlp, "sigmoid": Mlp, "cnn": Cnn, "mixer": Mixer, "vit": Vit,
                                              "bare": Vit}  # fmt: skip
READERS = ("lstm", "softmax", "relu", "causal")
_MORE: dict[str, dict[str, bool]] = {"sigmoid": {"smooth": True}, "bare": {"norm": False}}


def build(kind: str, T: int, d: int, classes: int = 10, *, seed: int, **sizes: object) -> nn.Module:
    """An untrained network for images of T patches of d pixels: one of ``KINDS``; "bare" is a ViT without patch norm.

    >>> build("vit", 16, 49, seed=0)(torch.zeros(3, 16, 49)).shape
    torch.Size([3, 10])
    """
    checks.word(kind, "kind", KINDS)
    for name, value in (("T", T), ("d", d)):
        if math.isqrt(checks.integer(value, name, 1, _WIDEST)) ** 2 != value:
            raise ValueError(f"{name}: expected a square, got {value}")
    return seeded(lambda: KINDS[kind](T, d, classes, **_MORE.get(kind, {}), **sizes), seed)


def seeded(make: Callable[[], Made], seed: int) -> Made:
    """What PyTorch makes after this seed; nobody else's random numbers change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(checks.integer(seed, "seed", 0))
        return make()


def numbers(call: Callable[[Tensor], Tensor]) -> Callable[[np.ndarray], np.ndarray]:
    """A network, or a part of one, as a function of arrays, without gradients: what ``sensitivity`` asks for."""
    checks.function(call, "call", "network")

    @torch.no_grad()
    def found(x: np.ndarray) -> np.ndarray:
        x = torch.as_tensor(x)
        return call(x.float() if x.is_floating_point() else x).numpy()

    return found
