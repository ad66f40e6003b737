"""What every network of the book offers, so that a measure need not know how it is made.

    model(x), model.many(parameters, x)      what it computes, and what copies of it with other weights do
    model.length, model.checked(x)           how many symbols it takes, and whether x has them
    model.embed(x), model.activations(x)     what enters the first layer, and everything on the way, by name
    model.circuit()                          all its maps: the same function, put together from ``blocks``
    model.uses(x)                            where its weights are used, and on what
    model.count, model.members()             how many networks it is, and each of them alone

Position encodings, and no other weights, have names with "positions" in them. Activations have the names

    embedding                   (N, D), what enters the first layer
    layers.k.attention.h        (N, N), the weights of head h in layer k
    layers.k.mixed              (N, E), U: the heads and the skip connection before their norm
    layers.k.mlp.l              (N, H), what enters the relus of the MLP
    layers.k.sum                (N, D), Z before its norm
    layers.k.output             (N, D), what enters the next layer
    layers.k.factor_attention, layers.k.factor     (N, 1), by how much the norms of U and Z stretch (HR Eq. 5)
    output                      (), what the network answers

after the axes of copies and inputs; each occurs where a network has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn

from flatcube.networks import tensors
from flatcube.networks.norms import told
from flatcube.networks.uses import Use, watched

if TYPE_CHECKING:
    from flatcube.networks.circuit import Circuit

__all__ = ["Network", "squared_norms"]


class Network(nn.Module):
    """A network of the book, symbols (batch, n) to numbers (batch,); K of them at once give (K, batch)."""

    count: int | None = None  # K, where it is several networks at once: then all it computes has an axis of K in front
    inputs_first = True  # its matrices are (inputs, outputs), where those of nn.Linear are (outputs, inputs)

    @property
    def length(self) -> int | None:
        """How many symbols an input has; None if any number will do."""
        raise NotImplementedError

    @property
    def symbols(self) -> int:
        """How many there are: they are called 0, 1, …, and the first two are the bits."""
        return 2

    def usual(self) -> int:
        """How many symbols the inputs have that one looks at."""
        return self.length or 7

    def choices(self, n: int) -> list[list[int]]:
        """The symbols that may stand at each of n positions."""
        return [list(range(self.symbols))] * n

    def checked(self, x: Tensor | np.ndarray) -> Tensor:
        """x (batch, n) as whole numbers, if they are symbols that the network takes."""
        return tensors.whole(x, "x", 0, self.symbols - 1, ("batch", self.length or "n"))

    def embed(self, x: Tensor) -> Tensor:
        """Symbols x (batch, n) to what enters the first layer, (…, batch, N, D)."""
        raise NotImplementedError

    def activations(self, x: Tensor) -> dict[str, Tensor]:
        """Everything that is computed from symbols x (batch, n), by name: see ``flatcube.networks.interface``."""
        raise NotImplementedError

    def factors(self, x: Tensor) -> dict[str, Tensor]:
        """By how much every norm stretches on symbols x (batch, n), (…, batch, N) by name; ∞ without variance."""
        return told(self.activations(self.checked(x)))

    def many(self, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """The outputs (K, batch) of K copies with the given parameters, (K, …) by name; those not named are shared."""
        raise NotImplementedError

    def circuit(self) -> Circuit:
        """The same function as a ``Circuit``, in which every map stands by itself."""
        raise NotImplementedError

    def members(self) -> Iterator[Network]:
        """Itself, or each of the networks that it is."""
        yield self

    def uses(self, x: Tensor) -> tuple[Tensor, list[Use]] | None:
        """The outputs (batch,) and all uses of its weights; None if one is used in a way that has no rule."""
        return watched(self, dict(self.named_parameters()), self.checked(x))


def squared_norms(model: nn.Module, *, exclude: Sequence[str] = ()) -> dict[str, float]:
    """‖·‖² of every parameter by name, except those whose name contains a word of ``exclude``."""
    return {name: float(weight.detach().square().sum()) for name, weight in tensors.kept(model, exclude).items()}
