"""The spectrum of the Hessian without the Hessian: stochastic Lanczos quadrature.

    vᵀ φ(H) v / ‖v‖² ≈ Σ_k τ_k φ(t_k),    Q diag(t) Qᵀ the tridiagonal matrix of m Lanczos steps from v, τ_k = Q_{1k}²

is exact for polynomials φ of degree below 2m (Golub and Welsch 1969). Its mean over random signs v is the mean of φ
over the eigenvalues; so nodes t_k with weights τ_k stand for all D eigenvalues (Ubaru, Chen and Saad 2017; for
networks Ghorbani, Krishnan and Xiao 2019).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor, nn

from flatcube import checks
from flatcube.networks.tensors import Exclude
from flatcube.sharpness._losses import Loss
from flatcube.sharpness.landscape import BUDGET, Landscape, _repeats, random_vectors

__all__ = ["spectrum", "Spectrum"]


@dataclass(frozen=True)
class Spectrum:
    """Nodes and weights (probes, steps) that stand for the D = ``size`` eigenvalues; each row of weights sums to 1."""

    nodes: np.ndarray
    weights: np.ndarray
    size: int

    @property
    def trace(self) -> float:
        """Tr H, as Hutchinson estimates it from the same probes."""
        return self.size * float((self.weights * self.nodes).sum(1).mean())

    def below(self, t: float | np.ndarray) -> np.ndarray:
        """The share of eigenvalues that are at most t, and its standard error over the probes: (2, …)."""
        t = checks.numbers(t, "t")[..., None, None]
        return self._mean(np.where(self.nodes <= t, self.weights, 0.0).sum(-1))

    def density(self, t: float | np.ndarray, *, width: float) -> np.ndarray:
        """The density at t of eigenvalues blurred by a Gaussian of deviation ``width``, and its error: (2, …)."""
        t, width = checks.numbers(t, "t")[..., None, None], checks.positive(width, "width")
        return self._mean((self.weights * norm.pdf(t, self.nodes, width)).sum(-1))

    def _mean(self, draws: np.ndarray) -> np.ndarray:
        """Mean and standard error over the last axis."""
        return np.stack([draws.mean(-1), draws.std(-1, ddof=1) / math.sqrt(draws.shape[-1])])


def spectrum(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    probes: int = 10,
    steps: int = 40,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    budget: int = BUDGET,
    progress: bool = False,
) -> Spectrum:
    """The eigenvalues of ∇²L as a measure, from ``probes`` random sign vectors and ``steps`` products for each.

    All moments of order below 2·steps are those of Hutchinson's estimates with these probes. What x, y, ``loss`` and
    ``exclude`` may be says ``Landscape``.
    """
    land = Landscape(model, x, y, loss=loss, exclude=exclude, budget=budget, progress=progress)
    probes, steps = _repeats(probes, "probes"), min(_repeats(steps, "steps", 1), land.size)
    checks.room(probes * (steps + 2) * land.theta.nbytes, "steps: their vectors")
    starts = next(random_vectors(probes, land.theta, kind="signs", seed=seed, stream="signs"))
    with land.watched("Lanczos", probes * steps):
        diagonal, beside = _tridiagonal(land, starts / math.sqrt(land.size), steps)
    tridiagonal = torch.diag_embed(diagonal) + torch.diag_embed(beside, 1) + torch.diag_embed(beside, -1)
    nodes, vectors = torch.linalg.eigh(tridiagonal)
    return Spectrum(nodes.cpu().numpy(), vectors[:, 0].square().cpu().numpy(), land.size)


def _tridiagonal(land: Landscape, starts: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Diagonals (probes, steps) and (probes, steps − 1) of Lanczos from unit vectors (probes, D), in double precision.

    A probe whose space is exhausted goes on with zeros, which no longer count.
    """
    basis, diagonal, beside = [starts], [], []
    while True:
        fresh = land.products(basis[-1])
        diagonal.append((fresh * basis[-1]).sum(1))
        if len(basis) == steps:
            break
        for _ in range(2):  # against all before, twice is enough
            for known in basis:
                fresh = fresh - (fresh * known).sum(1, keepdim=True) * known
        length = torch.linalg.vector_norm(fresh, dim=1)
        size = torch.stack(diagonal).abs().amax(0)
        length = torch.where(length > 100 * torch.finfo(fresh.dtype).eps * size, length, 0.0)
        beside.append(length)
        basis.append(torch.where(length[:, None] > 0, fresh / length.clamp_min(1e-30)[:, None], 0.0))
    sides = torch.stack(beside, 1).double() if beside else starts.new_zeros(len(starts), 0).double()
    return torch.stack(diagonal, 1).double(), sides
