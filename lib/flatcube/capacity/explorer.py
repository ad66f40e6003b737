"""The capacity calculator: what each matrix of an attention network adds to its covering number.

State::

    {"T": 10,            log₂ of the number of tokens
     "width": 6,         log₂ of the number of channels d
     "layers": 2,        equal blocks
     "score": 2.0,       the norms of W_Q W_Kᵀ, W_V, W_C and of the read-out, in quarters;
     "value": 1.0,       each stands for the spectral norm and for the norm of every column
     "output": 1.0,
     "readout": 2.0,
     "m": 6,             log₁₀ of the number of inputs
     "form": "corrected"}   one of capacity.FORMS

Losses are squared and clipped at 4, |f| is at most the norm of the read-out, ε = 0.1 and δ = 0.05.
"""

import math
from collections.abc import Mapping
from typing import Any

from flatcube.capacity import bounds as capacity
from flatcube.capacity.bounds import Cover
from flatcube.capacity.norms import HeadNorms, LayerNorms, NetworkNorms, Norms
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES

__all__ = ["CapacityExplorer"]

NORMS = ("score", "value", "output", "readout")
EPS = 0.1


class CapacityExplorer(Explorer):
    """log N, the terms it is made of, the gap it allows, and the number of inputs from which on it says anything."""

    name = "capacity"
    label = "The capacity calculator, what each matrix adds to the covering number of a network"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        covered, m = _cover(state), 10.0 ** state["m"]
        needed = capacity.samples_needed(lambda m: capacity.gap(covered, m=m, ceiling=state["readout"]))
        gap = capacity.gap(covered, m=m, ceiling=state["readout"]).value
        return {
            **{key: float(state[key]) for key in state if key != "form"},
            "log-number": math.log10(covered.log_number(EPS, m).value),
            "gap": gap,
            "needed": math.log10(needed),
            "verdict": "It says something." if gap < 1 else "It says nothing.",
            **{f"share:{name}": 100 * share for name, share in _shares(covered).items()},
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """A stack of the shares, one block for each matrix."""
        x, blocks = 0.0, []
        for k, (name, share) in enumerate(_shares(_cover(cls.complete(state))).items()):
            colour, width = SERIES[k % len(SERIES)], 400 * share
            blocks.append(f'<rect x="{x:.1f}" y="20" width="{width:.1f}" height="40" fill="{colour}"/>')
            if width > 70:
                text = f'<text x="{x + 4:.1f}" y="74" font-size="11" fill="var(--fc-ink, #222)">{name}</text>'
                blocks.append(text)
            x += width
        return f'<svg viewBox="0 0 400 90" width="400" role="img" aria-label="{cls.label}">{"".join(blocks)}</svg>'


def _cover(state: Mapping[str, Any]) -> Cover:
    width = 2 ** state["width"]
    score, value, output = (Norms(state[key], state[key], width) for key in NORMS[:3])
    network = NetworkNorms(
        (LayerNorms((HeadNorms(score, value),), output),) * state["layers"],
        Norms(state["readout"], state["readout"], 1),
        2 ** state["T"],
    )
    return capacity.cover(network, state["form"])


def _shares(covered: Cover) -> dict[str, float]:
    total = sum(covered.parts.values())
    return {name: part / total for name, part in covered.parts.items()}
