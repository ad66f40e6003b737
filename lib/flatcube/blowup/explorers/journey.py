"""A flip on its way through two layers: two routes through each head, and what each layer norm makes of them.

State::

    {"bits": "110010100",   the input, an odd number of bits
     "flip": 3,             the bit that is followed, counted from 1
     "own": 0.5,            κ, the weight of a position's own vote beside the head's answer in layer 1
     "first": 0,            β₁, by how much the logit of a one exceeds that of a zero in layer 1
     "second": 0,           β₂, the logits of layer 2 are β₂ u_i u_w
     "eps": -3}             log₁₀ of ε in both norms; the least stands for ε = 0

A bit votes c = ½ − b. Layer 1 gives position i the answer Σ_w â_w c_w + κ c_i, and its norm makes that
u_i = answer/√(answer² + ε). Layer 2 averages the u_w, and its norm likewise gives the output at the last position.
"""

from collections.abc import Mapping
from typing import Any

import torch

from flatcube import blowup
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.networks.blocks import Head, Layer, Norm
from flatcube.networks.circuit import Circuit

__all__ = ["JourneyExplorer"]

_SIDES = 2**0.5  # all vectors are multiples of (1, −1), which is so long


class JourneyExplorer(Explorer):
    """How far one flip moves things at the last position: by either route, before and after each norm."""

    name = "blowup.journey"
    label = "A flipped bit on its way through two layers"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        if state["flip"] > len(state["bits"]):
            raise ValueError(f"flip: expected an integer from 1 to {len(state['bits'])}, got {state['flip']}")
        return state

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        model, bits = _network(state), torch.tensor([int(bit) for bit in state["bits"]])
        n, q = len(bits), state["flip"] - 1
        both = torch.stack([bits, blowup.flips(bits[None])[0, q]])
        outputs = model(both).detach()
        found = {"n": n, "own": state["own"], "first": state["first"], "second": state["second"], "eps": state["eps"]}
        for k, step in enumerate(blowup.trace(model, bits), 1):
            at = [part[q, -1] for part in step]
            found |= {
                f"values:{k}": at[0] / _SIDES,
                f"weights:{k}": at[1] / _SIDES,
                f"before:{k}": at[2] / _SIDES,
                f"stretch:{k}": at[3],
                f"after:{k}": at[4] / _SIDES,
                f"mean:{k}": step.after[q].mean() / _SIDES,
            }
        found |= {f"b:{j}": bit for j, bit in enumerate(bits, 1)}
        found |= {f"q:{j}": int(j == q + 1) for j in range(1, n + 1)}
        found |= {"skip": state["own"] if q == n - 1 else 0.0, "output": outputs[0], "flipped": outputs[1]}
        found["product"] = torch.exp(blowup.measure(model, bits[None]).log_product[0])
        return {key: float(value) for key, value in found.items()}

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """Bars for how far the flip has moved the last position, after each head and each norm."""
        shown = cls.displayed(state)
        bars = []
        for at, key in enumerate(("before:1", "after:1", "before:2", "after:2")):
            high = 40 * min(shown[key], 2.0)
            place = f'x="{100 * at + 20}" y="{90 - high:.1f}" width="60" height="{high:.1f}"'
            bars.append(f'<rect {place} fill="{SERIES[at % 2]}"/>')
        return f'<svg viewBox="0 0 400 96" width="400" role="img" aria-label="{cls.label}">{"".join(bars)}</svg>'


@torch.no_grad()
def _network(state: Mapping[str, Any]) -> Circuit:
    vote, unit = torch.eye(2, dtype=torch.float64)
    both = vote - unit  # (1, −1)
    eps = 0.0 if state["eps"] == JourneyExplorer.schema["eps"].min else 10.0 ** state["eps"]
    first = Head(-state["first"] * torch.outer(unit, vote), torch.outer(vote, both))
    second = Head(state["second"] * torch.outer(vote, vote), torch.outer(vote, both))
    layers = [
        Layer([first], skip=state["own"] * torch.outer(vote, both), norm=Norm(eps)),
        Layer([second], norm=Norm(eps)),
    ]
    tokens = torch.outer(torch.tensor([0.5, -0.5], dtype=torch.float64), vote)
    return Circuit(tokens, unit.repeat(len(state["bits"]), 1), layers, readout=both[:, None] / 2)
