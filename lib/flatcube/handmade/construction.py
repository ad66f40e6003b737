"""The choices of a design, as weights of a network."""

import math

import numpy as np
import torch
from torch import Tensor

from flatcube import checks, cube, fourier, networks
from flatcube.handmade import design
from flatcube.handmade.design import Design, breakpoints
from flatcube.handmade.weights import MATRICES
from flatcube.networks import tensors

__all__ = ["build", "assemble", "from_spectrum", "from_table"]


def build(
    components: cube.Components,
    T: int,
    *,
    mode: str = "hard",
    kappa: float = 0.5,
    scale: float | None = None,
    tau: float = 0.01,
    gamma: float | None = None,
    grid: str = "full",
    dtype: torch.dtype = torch.float64,
) -> networks.Circuit:
    """The network for components [(subset of 1..T, weight λ of even_S), …]: bits (batch, T) to values (batch,).

    The choices are explained at ``Design``; ``dtype`` is that of the weights.

    >>> model = build([((1, 2), 2.0), ((2, 3), -1.0), ((), 0.5)], 3)
    >>> model([[0, 0, 0], [1, 0, 0], [0, 1, 1]]).round(decimals=9).tolist()
    [1.5, -0.5, -0.5]
    """
    tensors.dtype(dtype)
    return assemble(Design(components, T, mode, kappa, scale, tau, gamma, grid)).to(dtype)


def from_spectrum(spectrum: fourier.Spectrum, T: int | None = None, **choices: object) -> networks.Circuit:
    """The network for Σ_S c_S χ_S, with λ_S = 2c_S and λ_∅ = c_∅ − Σ_{S≠∅} c_S.

    A component needs a position. With ``T`` above the number of variables there is room for more of them; the
    network ignores the further bits.
    """
    checks.instance(spectrum, "spectrum", fourier.Spectrum)
    return build(fourier.to_even(spectrum), spectrum.n if T is None else T, **choices)


def from_table(table: np.ndarray, T: int | None = None, **choices: object) -> networks.Circuit:
    """The network for a table of values (2^n,) in the order of ``cube.points``; ``T`` as in ``from_spectrum``."""
    return from_spectrum(fourier.spectrum(table), T, **choices)


@torch.no_grad()
def assemble(plan: Design) -> networks.Circuit:
    """The network of a design: every weight is set here, none is computed from the input."""
    T, D = checks.instance(plan, "plan", Design).T, plan.T + 2
    checks.room(8 * 6 * D * max(D, 4 * plan.degree), "T")  # six matrices
    tokens = _zeros(2, D)
    tokens[1, -1] = 1  # the bit channel
    positions = _zeros(T + 1, D)
    positions.fill_diagonal_(1)
    wire = torch.eye(D, dtype=torch.float64)
    wire[-1, -1] = 0  # the residual carries positions, not bits: a raw bit would be added to the parity
    first = networks.Layer([_reader(plan)], _memory(plan), bypass=wire)
    second = networks.Layer([_mixing(plan, mixer) for mixer in plan.mixers])
    return networks.Circuit(
        tokens, positions, [first, second], appended=(0,), channels=_channels(plan), names=_names(plan)
    )


def _channels(plan: Design) -> dict[str, list[tuple[str, str]]]:
    """What the channels are called, what each is for, and what every ReLU of the wave does."""
    places = [(str(i), f"1 at position {i}, 0 elsewhere") for i in range(1, plan.T + 1)]
    bit = "the bit; after the first head the mean of the bits that a position sees; after the MLP even or not, 1 or 0"
    kinks, slopes = (part.ravel() for part in breakpoints(plan.degree, plan.grid))
    units = [
        (f"relu {h}", f"kink at {kink:g}, enters with slope {slope:g}" if slope else f"kink at {kink:g}, has no effect")
        for h, (kink, slope) in enumerate(zip(kinks, slopes, strict=True), 1)
    ]
    return {
        "embedding": [*places, ("out", "1 at the output position, 0 elsewhere"), ("bit", bit)],
        "layers.0.mlp.0": units,
        "layers.1.mixed": [("f", "the sum of the components, mixed at the output position")],
        "appended": [("out", "the output position; its bit is 0")],
    }


def _names(plan: Design) -> dict[str, str]:
    """The names of the text for the weights of this network; those of a second head, for negative weights, have a −."""
    signs = ("", "−")[: len(plan.mixers)]
    found = {path.format(h): name + sign for name, path in MATRICES.items() for h, sign in enumerate(signs)}
    return found | {path: name for name, path in MATRICES.items() if "{}" not in path}


def _reader(plan: Design) -> networks.Head:
    """The first attention: row i of W₁ holds β on S_i; V₁ copies the bit."""
    D, out, bit = plan.T + 2, plan.T, plan.T + 1
    query_key, value = _zeros(D, D), _zeros(D, D)
    for i, members in enumerate(plan.subsets):
        query_key[i, [j - 1 for j in members]] = plan.beta
        if len(members) < plan.degree:
            query_key[i, out] = plan.beta + math.log(plan.degree - len(members))
    value[bit, bit] = 1
    if plan.mode == "sink":
        query_key[len(plan.components) : out + 1, out] = plan.beta
        value[out, bit] = 2
    return networks.Head(query_key, value)


def _memory(plan: Design) -> networks.Mlp:
    """The MLP: φ of the bit channel, one ReLU per kink."""
    kinks, slopes = (torch.as_tensor(part.ravel(), dtype=torch.float64) for part in breakpoints(plan.degree, plan.grid))
    enter, leave = _zeros(plan.T + 2, len(kinks)), _zeros(len(kinks), plan.T + 2)
    enter[-1] = 1
    leave[:, -1] = slopes
    return networks.Mlp([enter, leave], [-kinks, None])


def _mixing(plan: Design, mixer: design.Mixer) -> networks.Head:
    """One head of the second attention: row o of W₂ holds the logits, v₂ the total weight."""
    D, out = plan.T + 2, plan.T
    members = list(mixer.members)
    query_key, value = _zeros(D, D), _zeros(D, 1)
    query_key[out, members] = torch.as_tensor(mixer.logits)
    value[-1] = mixer.output
    mask = None
    if plan.mode == "hard":
        mask = _zeros(plan.T + 1, plan.T + 1)
        mask[out] = -math.inf
        mask[out, members] = 0
    return networks.Head(query_key, value, mask=mask)


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=torch.float64)
