"""What a network learnt from part of the cube: its errors, its spectrum beside the target's, and what bounds want.

All inputs are evaluated, so that the risk is no estimate. With ĉ the coefficients of the network and c those of the
target, Parseval's identity splits it into three parts,

    risk = E (f̂ − f)² = Σ_{S in the target} (ĉ_S − c_S)² + Σ_{other S, |S| ≤ d} ĉ_S² + Σ_{other S, |S| > d} ĉ_S²,

called ``own``, ``low`` and ``above``: wrong weights for the right components, and components that are not there.
"""

import math
from typing import NamedTuple

import numpy as np
import torch

from flatcube import checks, cube, fourier, handmade, networks, pacbayes, sensitivity
from flatcube.generalise.learners import Sample
from flatcube.networks import tensors
from flatcube.networks.interface import Network
from flatcube.sharpness.landscape import Landscape, random_vectors

__all__ = [
    "Parts", "split", "outputs", "errors", "shown_bits", "account", "distance", "certificate",
    "hand_built",
]  # fmt: skip

_MOST = 256  # training inputs on which gradients are taken
TRAINED = ("positions",)  # what is left out, because it is not trained


class Parts(NamedTuple):
    """The risk of a network by what it gets wrong."""

    own: float
    low: float
    above: float


def split(learned: np.ndarray, target: np.ndarray) -> Parts:
    """The parts of E (f̂ − f)² for tables (2^T,) of a network and of what it should compute."""
    tables = [checks.table(each, name=name) for name, each in {"learned": learned, "target": target}.items()]
    for name, each in zip(("learned", "target"), tables, strict=True):
        checks.shape(each.shape, name, (len(tables[1]),))
    aim = fourier.spectrum(tables[1])
    squares = np.square(fourier.transform(tables[0]) - aim.coefficients)
    inside = np.zeros(len(squares), dtype=bool)
    inside[aim.masks] = inside[0] = True  # the constant is a component too
    high = cube.weights(aim.n) > aim.degree
    return Parts(*(float(squares[some].sum()) for some in (inside, ~inside & ~high, ~inside & high)))


def outputs(network: networks.Encoder) -> np.ndarray:
    """What a network computes on the whole cube, (2^T,)."""
    bits = torch.as_tensor(cube.to_bits(cube.points(tensors.network(network, "network", Network).length))).long()
    with torch.no_grad():
        return torch.cat([network(some) for some in bits.split(4096)]).double().numpy()


def errors(network: networks.Encoder, given: Sample) -> dict[str, float]:
    """Mean squared errors on shown and hidden inputs, the parts of the risk, sensitivity, sub-Gaussian constants."""
    learned = outputs(network)
    checks.together(network=learned.shape, given=checks.instance(given, "given", Sample).table.shape)
    losses = np.square(learned - given.table)
    hidden = losses[given.hidden]
    return {
        "train": float(losses[given.shown].mean()),
        "test": float(hidden.mean()),
        **split(learned, given.table)._asdict(),
        "sensitivity": float(sensitivity.average(learned)),
        "constant": pacbayes.sub_gaussian(hidden),
        "two_sided": pacbayes.sub_gaussian(hidden, two_sided=True),
    }


def shown_bits(given: Sample, *, hidden: bool = False) -> torch.Tensor:
    """Up to 256 of the inputs that are shown, or of those that are ``hidden``, as bits (·, T)."""
    T = len(checks.instance(given, "given", Sample).table).bit_length() - 1
    places = given.hidden if checks.flag(hidden, "hidden") else given.shown
    some = places[:: math.ceil(len(places) / _MOST)]
    return torch.as_tensor(cube.to_bits(cube.points(T)[some])).long()


def account(network: networks.Network, bits: torch.Tensor) -> tuple[float, float]:
    """‖θ‖² and the Gauss–Newton trace 2E‖∇f̂‖² over these inputs, of all that is trained."""
    found = pacbayes.of_model(network, bits, exclude=TRAINED)
    return found.norm2, found.trace


def distance(network: networks.Encoder, first: networks.Encoder) -> float:
    """‖θ − θ₀‖²: how far training went."""
    before = dict(tensors.network(first, "first").named_parameters())
    after = {name: p.shape for name, p in tensors.network(network, "network").named_parameters()}
    if after != {name: p.shape for name, p in before.items()}:
        raise ValueError("first: expected a network with the same weights, got one with others")
    return sum(float((p - before[name]).detach().double().square().sum()) for name, p in network.named_parameters())


def certificate(
    network: networks.Encoder, first: networks.Encoder, given: Sample, *, delta: float = 0.05, clip: float = 4.0,
    sigmas: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1), directions: int = 16, seed: int = 0,
) -> dict[str, float]:  # fmt: skip
    """A PAC-Bayes bound on the clipped risk of the noisy network, with what was drawn at random as the prior's centre.

    Prior N(θ₀, σ²I), posterior N(θ, σ²I), so KL = ‖θ − θ₀‖²/2σ²; losses are clipped at b and divided by it, and
    ``small_kl`` is asked for each of k σ with δ/k (union bound). The noisy training loss is a mean over few directions.
    """
    checks.number(clip, "clip", 1e-9, 1e9)
    sigmas = tuple(checks.positive(sigma, "sigmas") for sigma in checks.several(sigmas, "sigmas", float, 1))
    bits = shown_bits(given)
    land = Landscape(network, bits, exclude=TRAINED)
    y = torch.as_tensor(given.table[cube.index(cube.to_signs(bits.numpy()))]).to(land.theta)
    shifts = next(random_vectors(directions, land.theta, seed=seed))
    far, found = distance(network, first), []
    for sigma in sigmas:
        loss = float((land.outputs(sigma * shifts) - y).square().clamp(max=clip).mean())
        kl = pacbayes.divergence(far, sigma)
        bound = pacbayes.small_kl(loss / clip, kl, m=len(given.shown), delta=delta / len(sigmas))
        found.append({"certificate": clip * bound, "noisy": loss, "sigma": sigma})
    return min(found, key=lambda one: one["certificate"])


def hand_built(plan: handmade.Design, bits: np.ndarray) -> pacbayes.Account:
    """Norms and traces of the hand-built network of a design, over these inputs (batch, T); weights of any sign."""
    model = handmade.assemble(plan)
    return pacbayes.of_model(model, bits, groups=handmade.names(model))
