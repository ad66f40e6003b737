"""Shaking the cast: what was measured for long inputs, and a network for eight bits to shake in the page.

State::

    {"rho": -5,             2 log₁₀ of ‖Δ‖/‖θ‖: half decades from 10⁻⁸ to 0.3
     "n": 2,                which of the measured lengths 8, 24, 72, 216, 648, 2000
     "measure": "loss",     L, or "share": L/Var f
     "target": "parity",    the live network: parity, majority or first
     "bits": "10110010",    its input
     "shake": 1}            which random direction

The measured numbers are those of ``data/brittle.csv``; the page gets them with its script. Making that script must not
take the seconds in which torch is loaded: only the live network imports it.
"""

import math
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from flatcube import cast, cube
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.explorers.chance import normals
from flatcube.experiments import store

if TYPE_CHECKING:
    import torch

__all__ = ["SharpnessExplorer"]

ORDER = ("tokens", "layers.0.heads.0.query_key", "layers.0.heads.0.value", "layers.0.mlp.weights.0",
         "layers.0.mlp.biases.0", "layers.0.mlp.weights.1", "layers.1.heads.0.query_key", "layers.1.heads.0.value",
         "layers.1.mlp.weights.0", "layers.1.mlp.biases.0", "layers.1.mlp.weights.1", "readout")  # fmt: skip


class SharpnessExplorer(Explorer):
    """L for the cast at a length and a radius, as stored; and one random shift of a live network."""

    name = "sharpness"
    label = "Shaking the cast, how far a small change of all weights changes what they compute"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        before, after = _live(state["target"], state["rho"], state["shake"])
        k = int(state["bits"][::-1], 2)
        return {
            "rho": state["rho"] / 2,
            "n": float(study()[0][state["n"]]),
            "shake": float(state["shake"]),
            **{f"L:{name}": _measured(name, state) for name in study()[1]},
            **{f"x:{i + 1}": float(bit) for i, bit in enumerate(state["bits"])},
            "before": float(before[k]),
            "after": float(after[k]),
            "wrong": float((before.sign() != after.sign()).sum()),
            "live": float((after - before).square().mean()),
        }

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """The lengths that were measured, and the study."""
        lengths, numbers = study()
        return {"lengths": lengths, "study": numbers}

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """Four bars, one for each of the cast."""
        shown, parts = cls.displayed(state), []
        for at, name in enumerate(study()[1]):
            height = 80 * min(shown[f"L:{name}"], 1.3) / 1.3
            bar = f'x="{40 + 90 * at}" y="{90 - height:.1f}" width="60" height="{height:.1f}"'
            parts.append(f'<rect {bar} fill="{cast.COLOURS[name.upper()]}"/>')
            parts.append(f'<text x="{40 + 90 * at}" y="106" font-size="12" fill="var(--fc-ink, #222)">{name}</text>')
        return f'<svg viewBox="0 0 400 112" width="400" role="img" aria-label="{cls.label}">{"".join(parts)}</svg>'


@cache
def study() -> tuple[list[int], dict[str, list[list[float]]]]:
    """The lengths; and by function, for each of them: Var f, then L for each ρ from the smallest on."""
    found: dict[tuple[str, int], list[float]] = {}
    for row in store.load("brittle"):
        if row["variant"] == "layer norm":
            numbers = found.setdefault((row["target"], int(row["n"])), [float(row["variance"])])
            numbers.append(float(row["loss"]))
    lengths = sorted({n for _, n in found})
    names = [name.lower() for name in cast.NAMES]
    return lengths, {name: [found[name, n] for n in lengths] for name in names}


def _measured(name: str, state: Mapping[str, Any]) -> float:
    """L, or L/Var f, of one of the cast."""
    variance, *losses = study()[1][name][state["n"]]
    loss = losses[state["rho"] - SharpnessExplorer.schema["rho"].min]
    return loss / variance if state["measure"] == "share" else loss


@cache
def _live(target: str, rho: int, shake: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """The outputs for all inputs of eight bits, before and after a shift of length ρ‖θ‖."""
    import torch
    from torch.func import functional_call

    from flatcube.sharpness import measures as sharpness

    model = cast.network(target)
    weights = {name: model.get_parameter(name).detach() for name in ORDER}
    sizes = [weight.numel() for weight in weights.values()]
    drawn = torch.tensor(list(islice(normals(shake, 3), sum(sizes))), dtype=torch.float64)
    drawn *= 10 ** (rho / 2) * sharpness.parameter_norm(model) / math.sqrt(float(drawn.square().sum()))
    parts = zip(weights.items(), drawn.split(sizes), strict=True)
    moved = {name: weight + part.reshape(weight.shape) for (name, weight), part in parts}
    bits = torch.as_tensor(cube.to_bits(cube.points(SharpnessExplorer.schema["bits"].max))).long()
    with torch.no_grad():
        return model(bits), functional_call(model, moved, (bits,))
