"""PARITY step by step: the layer-norm network, which answers at once, and the scratchpad, which writes bit by bit.

State::

    {"network": "norm",     norm or scratchpad
     "bits": "1011001",     the input
     "step": 0,             norm: 0 input, 1 count, 2 compare, 3 odd or even, 4 average, 5 amplify;
                            scratchpad: how many bits are written, 0 … n
     "eps": 0}              of layer norm, 0 or a power of ten
"""

import math
from collections.abc import Mapping
from typing import Any

import torch

from flatcube import parity
from flatcube.classroom.explorers import Explorer, Schema, tables

__all__ = ["ParityExplorer"]

STAGES = ("input", "count", "compare", "odd or even", "average", "amplify")


class ParityExplorer(Explorer):
    """What every position of the layer-norm network holds, and what the scratchpad reads and writes."""

    name = "parity"
    label = "PARITY step by step, with layer norm or with a scratchpad"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        last = len(STAGES) - 1 if state["network"] == "norm" else len(state["bits"])
        return {**state, "step": min(state["step"], last)}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        bits = list(map(int, state["bits"]))
        shown = {"n": float(len(bits)), "step": float(state["step"])}
        shown |= {f"x:{j}": float(bit) for j, bit in enumerate(bits, 1)}
        with torch.no_grad():
            return shown | (_norm if state["network"] == "norm" else _scratchpad)(bits, state)

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The bits as bars: up for a zero, which keeps the sign, down for a one, which turns it."""
        width = 400 / len(state["bits"])
        bars = "".join(
            f'<rect x="{(at + 0.1) * width:.4g}" width="{0.8 * width:.4g}" y="{50 if bit == "1" else 20}" height="30" '
            f'fill="{tables.colour(1 - 2 * int(bit))}"/>'
            for at, bit in enumerate(state["bits"])
        )
        return f'<svg viewBox="0 0 400 100" width="400" role="img" aria-label="{cls.label}">{bars}</svg>'


def _norm(bits: list[int], state: Mapping[str, Any]) -> dict[str, float]:
    """What every position holds at this stage of the layer-norm network, and the numbers known by then."""
    network, step = parity.layer_norm_network(eps=float(state["eps"])), state["step"]
    seen = {name: value[0] for name, value in network.activations(torch.tensor([bits])).items()}
    at = parity.CHANNELS.index
    after = (seen["layers.1.output"] @ network.readout)[:, 0]
    stages = [
        seen["embedding"][:, at("bit")],
        seen["layers.0.mixed"][:, at("count")],
        seen["layers.0.mixed"][:, at("count")] - seen["layers.0.mixed"][:, at("place")],
        seen["layers.0.sum"][:, at("hit")],
        seen["layers.1.mixed"][:, at("answer")],
        after,
    ]
    length = len(bits) + 1
    shown = {f"v:{(j + 1) % length}": float(value) for j, value in enumerate(stages[step])}
    shown |= {"eps": float(state["eps"]), "ones": float(sum(bits))}
    if step >= 4:
        shown["answer"] = float(seen["layers.1.mixed"][-1, at("answer")])
    if step >= 5:
        shown |= {"factor": float(seen["layers.1.factor"][-1, 0]), "output": float(seen["output"])}
    return shown


def _scratchpad(bits: list[int], state: Mapping[str, Any]) -> dict[str, float]:
    """The bits written so far, and where the last step looked."""
    network, step, length = parity.scratchpad_network(len(bits)), state["step"], len(bits)
    pad = parity.run(network, torch.tensor([bits]))[0, : step + 1].tolist()
    shown = {f"y:{t}": float(bit) for t, bit in enumerate(pad)}
    if step == 0:
        return shown | {f"A:{j}": 0.0 for j in range(1, length + 2)}
    seen = {name: value[0] for name, value in network.activations(torch.tensor([bits + pad[:-1]])).items()}
    first, second = (seen[f"layers.{layer}.attention.0"][-1] for layer in range(2))
    return shown | {
        **{f"A:{j}": float(share) for j, share in enumerate(first, 1)},
        "sum": float(seen["layers.0.mixed"][-1, 0]),
        "wave": float(seen["layers.0.output"][-1, -1]),
        "reach": math.fsum(second[[step - 1, length + step - 1]].tolist()),
        "output": float(seen["output"]),
        "bit": float(pad[-1]),
    }
