"""Rulers that do not bend: weights measured in units of themselves.

    f(αE, αb, F/α) = f(E, b, F)  for a relu layer, and no trace of a Hessian agrees (Dinh et al. 2017).

Let every weight be a product of itself and a factor that is 1, and move the factors in place of the weights. A rescaled
copy then does exactly what the network does, so whatever is measured of the factors is the same for both:

- a factor s_i for every entry, θ_i s_i: moving s by a of norm ρ is adaptive sharpness (Kwon, Kim, Park and Choi 2021,
  ASAM, with T_θ = diag|θ|); a weight that is zero stays zero;
- a factor S for every matrix, W S with S = I: Tr ∇²_S L = Σ_{s,s'} ⟨w_s, w_{s'}⟩ Tr H_{s,s'}, with w_s the weights into
  unit s and H_{s,s'} the Hessian of L in w_s and w_{s'}: relative flatness (Petzka, Kamp, Adilova, Sminchisescu and
  Boley 2021).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from flatcube import checks
from flatcube.networks import data
from flatcube.networks.copies import many
from flatcube.networks.tensors import Exclude
from flatcube.sampling import Estimate
from flatcube.sharpness._losses import Loss
from flatcube.sharpness.curvature import hessian_trace
from flatcube.sharpness.landscape import BUDGET, _chosen

__all__ = ["relative_flatness"]


class Scaled(nn.Module):
    """A network whose weights are multiplied by factors: every entry by its own, or every matrix by one (inputs²)."""

    def __init__(self, base: nn.Module, names: list[str], *, matrices: bool = False) -> None:
        super().__init__()
        self.base, self.matrices = base, matrices
        self.names = {name.replace(".", "/"): name for name in names}
        weights = {name: weight.detach() for name, weight in base.named_parameters()}
        ones = {key: self._one(weights[name]) for key, name in self.names.items()}
        checks.room(sum(one.nbytes for one in ones.values()), "model: factors of its weights")
        self.factors = nn.ParameterDict(ones)

    def _one(self, weight: Tensor) -> Tensor:
        if not self.matrices:
            return torch.ones_like(weight)
        return torch.eye(self._rows(weight).shape[-1], dtype=weight.dtype, device=weight.device)

    def _rows(self, weight: Tensor) -> Tensor:
        """A weight (…, outputs, inputs), of which ours are the transposes."""
        return weight.mT if getattr(self.base, "inputs_first", False) else weight.flatten(1)

    def _product(self, weight: Tensor, factor: Tensor) -> Tensor:
        if not self.matrices:
            return weight * factor
        product = self._rows(weight) @ factor
        back = product.mT if getattr(self.base, "inputs_first", False) else product
        return back.reshape(*factor.shape[:-2], *weight.shape)

    def _weights(self, factors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        own = dict(self.base.named_parameters())
        return {self.names[key]: self._product(own[self.names[key]], factor) for key, factor in factors.items()}

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """What the network says with its weights multiplied."""
        return functional_call(self.base, self._weights(self.factors), inputs, named)

    def many(self, parameters: Mapping[str, Tensor], x: data.Inputs) -> Tensor:
        """The outputs (K, batch, …) for K sets of factors, (K, …) by name."""
        own = {name.removeprefix("factors."): stack for name, stack in parameters.items()}
        return many(self.base, self._weights(own), x)


def in_own_units(model: nn.Module, exclude: Exclude, *, matrices: bool = False) -> tuple[Scaled, Exclude]:
    """The network with factors for its weights, and what to exclude so that these alone are moved."""
    if getattr(model, "count", None) is not None:
        raise TypeError("model: expected a single network, got an ensemble; measure each of its members()")
    kept = _chosen(model, exclude)
    names = [name for name, weight in kept.items() if not matrices or weight.ndim > 1]
    if not names:
        raise ValueError("exclude: expected to leave some matrices, got none")
    return Scaled(model, names, matrices=matrices), lambda name, _: not name.startswith("factors.")


def relative_flatness(
    model: nn.Module,
    x: Any,
    y: Tensor | np.ndarray | None = None,
    *,
    method: str = "exact",
    probes: int = 100,
    seed: int = 0,
    loss: Loss = "squared",
    exclude: Exclude = ("positions",),
    confidence: float = 0.95,
    budget: int = BUDGET,
    progress: bool = False,
) -> Estimate:
    """Σ over matrices W of Σ_{s,s'} ⟨w_s, w_{s'}⟩ Tr H_{s,s'} (Petzka et al. 2021), w_s the weights into unit s.

    For one matrix only, ``exclude`` the others. At a minimum of the squared loss it is 2 E‖Wᵀ ∂f/∂W‖². The rest is as
    in ``hessian_trace``, which this is for factors S of W S, at S = I.
    """
    scaled, others = in_own_units(model, exclude, matrices=True)
    options = {"method": method, "probes": probes, "seed": seed, "loss": loss, "confidence": confidence}
    return hessian_trace(scaled, x, y, exclude=others, budget=budget, progress=progress, **options)
