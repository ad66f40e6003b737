"""What the experiments of chapter 14 share: the networks that learn its hidden functions, and how.

The network is that of ED App. C.1 up to dropout, which it has not: one layer of D = 64 channels with 16 heads, norms
before attention and MLP, trained vectors of positions added to those of the symbols, a third symbol appended and read;
weights are drawn from N(0, σ²). It is trained with AdamW at 10⁻³, decay 10⁻⁴, on the logistic loss.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import nn

from flatcube import checks, cube, sampling, training
from flatcube.networks.config import Config
from flatcube.networks.encoder import Ensemble

__all__ = ["networks"]


class Held(training.Task):
    """A task with m training inputs whose errors are measured on other inputs, signs (points, T)."""

    def __init__(self, f: sampling.BlackBox, T: int, inputs: np.ndarray, held: np.ndarray) -> None:
        super().__init__(f, T, inputs=inputs)
        self.held = checks.signs(held, name="held")
        checks.shape(self.held.shape, "held", ("points", "T"), {"T": T})

    def evaluation(self) -> tuple[np.ndarray, np.ndarray]:
        """The bits (points, T) and values (points,) that were held out."""
        return cube.to_bits(self.held), self._values(self.held)


def networks(T: int, seeds: Sequence[int], *, hidden: int = 256, std: float = 0.02, layers: int = 1) -> Ensemble:
    """Untrained networks, one for each seed; with two layers those of VA: 32 channels, 4 heads."""
    checks.integer(T, "T", 1, 10**5)
    checks.integer(hidden, "hidden", 1, 10**4)
    checks.positive(std, "std")
    width, heads = (64, 16) if layers == 1 else (32, 4)
    config = Config(n=T, width=width, layers=layers, heads=heads, hidden=hidden, embedding="added", norm="pre",
                    cls=True, std=std)  # fmt: skip
    return Ensemble(config, seeds=list(seeds), dtype=torch.float32)


def settings(steps: int, batch: int, every: int, after: int | None = None) -> training.Settings:
    """How they are trained; the goal is a share of wrong answers below 1 % (ED App. C.1)."""
    return training.Settings(steps=steps, batch=batch, loss="logistic", rate=1e-3, decay=1e-4, schedule="constant",
                             every=every, goal=0.01, after=after)  # fmt: skip


def train(
    ensemble: Ensemble,
    tasks: Sequence[training.Task],
    plan: training.Settings,
    seeds: Sequence[int],
    measure: Callable[[nn.Module, int], Mapping[str, float]] | None = None,
) -> training.Run:
    """Train each network on its task; one batch of examples depends on the network's seed and the step only."""
    return training.train(ensemble, tasks, plan, seeds=seeds, measure=measure, progress=False)
