"""Shaking the cast: what was measured for long inputs, and a network for eight bits to shake in the page.

State::

    {"rho": -5,             2 log₁₀ of ‖Δ‖/‖θ‖, -16 … -1: half decades from 10⁻⁸ to 0.3
     "n": 2,                which of the measured lengths 8, 24, 72, 216, 648, 2000
     "measure": "loss",     L, or "share": L/Var f
     "target": "parity",    the live network: parity, majority or first
     "bits": "10110010",    its input
     "shake": 1}            which random direction, 1 … 99

The measured numbers are those of ``data/brittle.csv``; the page has a copy of them.
"""

import math
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch.func import functional_call

from flatcube import cube, parity, sharpness
from flatcube.classroom.explorers import Explorer
from flatcube.classroom.explorers.chance import normals
from flatcube.classroom.palette import SERIES
from flatcube.experiments import brittle, store

__all__ = ["SharpnessExplorer", "table"]

CAST, LIVE, N = ("parity", "majority", "first", "mean"), ("parity", "majority", "first"), 8
ORDER = ("tokens", "layers.0.heads.0.query_key", "layers.0.heads.0.value", "layers.0.mlp.weights.0",
         "layers.0.mlp.biases.0", "layers.0.mlp.weights.1", "layers.1.heads.0.query_key", "layers.1.heads.0.value",
         "layers.1.mlp.weights.0", "layers.1.mlp.biases.0", "layers.1.mlp.weights.1", "readout")  # fmt: skip


class SharpnessExplorer(Explorer):
    """L for the cast at a length and a radius, as stored; and one random shift of a live network."""

    name = "sharpness"
    label = "Shaking the cast, how far a small change of all weights changes what they compute"
    default_state = {"rho": -5, "n": 2, "measure": "loss", "target": "parity", "bits": "10110010", "shake": 1}

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        for key, allowed in {"rho": range(-16, 0), "n": range(6), "shake": range(1, 100)}.items():
            if isinstance(state[key], bool) or state[key] not in allowed:
                raise ValueError(f"{key}: expected {allowed[0]} … {allowed[-1]}, got {state[key]!r}")
        for key, words in {"measure": ("loss", "share"), "target": LIVE}.items():
            if state[key] not in words:
                raise ValueError(f"{key}: expected one of {', '.join(words)}, got {state[key]!r}")
        if not isinstance(state["bits"], str) or len(state["bits"]) != N or set(state["bits"]) - {"0", "1"}:
            raise ValueError(f"bits: expected {N} characters 0 and 1, got {state['bits']!r}")
        return dict(state)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        measured = table()[state["measure"]]
        before, after = _live(state["target"], state["rho"], state["shake"])
        k = int(state["bits"][::-1], 2)
        return {
            "rho": state["rho"] / 2,
            "n": float(brittle.LENGTHS[state["n"]]),
            "shake": float(state["shake"]),
            **{f"L:{name}": measured[name][state["n"]][state["rho"] + 16] for name in CAST},
            **{f"x:{i + 1}": float(bit) for i, bit in enumerate(state["bits"])},
            "before": float(before[k]),
            "after": float(after[k]),
            "wrong": float((before.sign() != after.sign()).sum()),
            "live": float((after - before).square().mean()),
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """Four bars, one for each of the cast."""
        shown, parts = cls.displayed(state), []
        for at, name in enumerate(CAST):
            height = 80 * min(shown[f"L:{name}"], 1.3) / 1.3
            bar = f'x="{40 + 90 * at}" y="{90 - height:.1f}" width="60" height="{height:.1f}"'
            parts.append(f'<rect {bar} fill="{SERIES[at]}"/>')
            parts.append(f'<text x="{40 + 90 * at}" y="106" font-size="12" fill="var(--fc-ink, #222)">{name}</text>')
        return f'<svg viewBox="0 0 400 112" width="400" role="img" aria-label="{cls.label}">{"".join(parts)}</svg>'


@cache
def table() -> dict[str, dict[str, list[list[float]]]]:
    """By measure and target, for each length: the numbers for all ρ."""
    rows = [row for row in store.load("brittle") if row["variant"] == "layer norm"]
    found: dict[str, dict[str, list[list[float]]]] = {"loss": {}, "share": {}}
    for name, n in ((name, n) for name in CAST for n in brittle.LENGTHS):
        kept = [row for row in rows if row["target"] == name and row["n"] == str(n)]
        losses = [float(row["loss"]) for row in kept]
        shares = [loss / float(row["variance"]) for loss, row in zip(losses, kept, strict=True)]
        for measure, numbers in (("loss", losses), ("share", shares)):
            found[measure].setdefault(name, []).append(numbers)
    return found


@cache
def _live(target: str, rho: int, shake: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The outputs for all inputs of eight bits, before and after a shift of length ρ‖θ‖."""
    model = parity.layer_norm_network(target=target)
    weights = {name: model.get_parameter(name).detach() for name in ORDER}
    sizes = [weight.numel() for weight in weights.values()]
    drawn = torch.tensor(list(islice(normals(shake, 3), sum(sizes))), dtype=torch.float64)
    drawn *= 10 ** (rho / 2) * sharpness.parameter_norm(model) / math.sqrt(float(drawn.square().sum()))
    parts = zip(weights.items(), drawn.split(sizes), strict=True)
    moved = {name: weight + part.reshape(weight.shape) for (name, weight), part in parts}
    bits = torch.as_tensor(cube.to_bits(cube.points(N))).long()
    with torch.no_grad():
        return model(bits), functional_call(model, moved, (bits,))
