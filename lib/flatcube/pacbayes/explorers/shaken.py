"""One network, shaken: the promise at every σ, and beside it a cloud of noisy copies.

State::

    {"sigma": 7,                place among the fifteen σ = 10^(−4 + k/5)
     "m": 6,                    log₁₀ of the number of examples
     "inequality": "assumed"}   Catoni's with C = 0.1 assumed, "clipped" at 4 with C = 2, or "kl" for the clipped loss

The network is the hand-built one for 8 bits in four pairs, in mode "soft". Its norm and its trace are exact
(``of_soft``). The losses of noisy copies, over all 256 inputs, and the cloud, 60 copies on one input each, are measured
by ``measure`` and stored beside this file.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from flatcube import pacbayes
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES

__all__ = ["ShakenExplorer", "measure"]

SIGMAS = [10 ** (-4 + k / 5) for k in range(15)]
CLIP, DELTA, COPIES, CLOUD, FRAME = 4.0, 0.05, 200, 60, (-2.0, 6.0)
_CHOICES = {
    "assumed": ("catoni", {"clip": None, "C": 0.1}),
    "clipped": ("catoni", {"clip": CLIP}),
    "kl": ("kl", {"clip": CLIP}),
}


class ShakenExplorer(Explorer):
    """The bound against σ with its two parts, a place on it, and what noise of that size does to the network."""

    name = "pacbayes.shaken"
    label = "The promise against the noise, and a cloud of shaken networks"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        study, k = _study(), state["sigma"]
        bound = _bound(state, SIGMAS[k])
        losses = study["loss" if state["inequality"] == "assumed" else "clipped"]
        low, high = FRAME
        value, cost = bound.value, bound.terms["sharpness"]
        return {
            "sigma": 1000 * SIGMAS[k],
            "m": float(state["m"]),
            "cost": cost,
            "measured": losses[k],
            "weights": value - cost,
            "value": value,
            "outside": float(sum(not low <= output <= high for output in study["outputs"][k])),
            "constant": (constant := _constant(state["inequality"] != "assumed")),
            "verdict": "below" if value < constant else "not below",
            **{f"v:{j}": _measured(state, j, losses[j]) for j in range(len(SIGMAS))},
        }

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """The exact norm and trace, and the study."""
        account, constants = _account(), [_constant(False), _constant(True)]
        given = {"norm2": account.norm2, "trace": account.trace, "constants": constants}
        return {**given, "frame": FRAME, "sigmas": SIGMAS, **_study()}

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The two parts of the bound at the chosen σ."""
        shown = cls.displayed(state)
        x, blocks = 0.0, []
        for at, key in enumerate(("cost", "weights")):
            width = 400 * shown[key] / shown["value"]
            blocks.append(f'<rect x="{x:.1f}" y="10" width="{width:.1f}" height="40" fill="{SERIES[at]}"/>')
            x += width
        return f'<svg viewBox="0 0 400 60" width="400" role="img" aria-label="{cls.label}">{"".join(blocks)}</svg>'


@cache
def _account() -> "pacbayes.Account":
    return pacbayes.of_soft(_plan())


def _plan() -> Any:
    return pacbayes.disjoint(8, 2, 4, mode="soft")


def _constant(clipped: bool) -> float:
    """The least risk of a constant, for the number of even pairs among four: binomial, with variance 1."""
    squares = np.square(np.arange(5)[:, None] - np.linspace(0, 4, 401))
    return float((np.array([1, 4, 6, 4, 1]) / 16 @ np.minimum(squares, CLIP if clipped else np.inf)).min())


@cache
def _study() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("shaken_study.json").read_text(encoding="utf-8"))


def _bound(state: Mapping[str, Any], sigma: float) -> "pacbayes.Promise":
    """With the parabola σ²/2 Tr ∇²L for the noisy loss."""
    name, options = _CHOICES[state["inequality"]]
    account = _account()
    return pacbayes.through(
        name, account.norm2, account.trace, m=10.0 ** state["m"], delta=DELTA, sigma=sigma, **options
    )


def _measured(state: Mapping[str, Any], k: int, loss: float) -> float:
    """The same at the k-th σ with the loss as measured."""
    m, kl = 10.0 ** state["m"], pacbayes.divergence(_account().norm2, SIGMAS[k])
    if state["inequality"] == "kl":
        return pacbayes.seeger(loss, kl, m=m, delta=DELTA, clip=CLIP).value
    return loss + pacbayes.alquier(kl, m=m, C=0.1 if state["inequality"] == "assumed" else CLIP / 2, delta=DELTA)


def measure(places: list[int]) -> dict[str, Any]:
    """The study at these σ: mean losses over all inputs and ``COPIES`` noisy copies, and the outputs of the cloud."""
    import torch

    from flatcube import handmade
    from flatcube.pacbayes.account import INPUTS
    from flatcube.sharpness.landscape import Landscape, random_vectors

    plan = _plan()
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    truth = torch.as_tensor(handmade.target_values(plan, bits))
    land = Landscape(handmade.assemble(plan), bits, truth, exclude=INPUTS)
    noise = torch.cat(list(random_vectors(COPIES, land.theta, seed=10, stream="shaken")))
    shown = np.random.default_rng(10).integers(256, size=CLOUD)
    found: dict[str, Any] = {"loss": [], "clipped": [], "targets": truth[shown].tolist(), "outputs": []}
    for k in places:
        outputs = torch.cat([land.outputs(SIGMAS[k] * part) for part in noise.split(20)])
        squares = (outputs - truth).square()
        found["loss"].append(float(f"{float(squares.mean()):.4g}"))
        found["clipped"].append(float(f"{float(squares.clamp(max=CLIP).mean()):.4g}"))
        found["outputs"].append(outputs[range(CLOUD), shown].double().numpy().round(3).tolist())
    return found
