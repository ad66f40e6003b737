"""One head and a layer norm: what each bit does to the attention, to the answer, and after the norm to the output.

State::

    {"bits": "0110010",   the input, an odd number of bits
     "loud": 0.0,         the logit of a one, in tenths; a zero has 0
     "eps": -9}           log₁₀ of layer norm's ε; the least stands for ε = 0

The head averages the bits with weights that the logits choose. The answer is ½ minus that average, and layer norm makes
it answer/√(answer² + ε): at 0 the loudness gives MAJORITY, a large one OR.
"""

from collections.abc import Mapping
from typing import Any

import torch

from flatcube import blowup
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.networks.circuit import Circuit

__all__ = ["BlowupExplorer"]


class BlowupExplorer(Explorer):
    """Attention, answer, factor and output at one input, and how far each flipped bit moves them."""

    name = "blowup"
    label = "One head and a layer norm, and what each flipped bit does to them"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        model, bits = _network(state)
        n = bits.shape[1]
        group = torch.cat([bits, blowup.flips(bits)[0]])  # the input and its neighbours
        seen, factors = model.activations(group), blowup.measure(model, group).factors["layers.0.factor"][:, -1]
        attention = seen["layers.0.attention.0"][:, -1].detach()
        answers, outputs = seen["layers.0.sum"][:, -1, 0].detach(), seen["output"].detach()
        moved, changed = (answers[1:] - answers[0]).abs(), (outputs[1:] - outputs[0]).abs()
        magnified = torch.where(moved > 0, changed / moved, 0.0)
        values = {
            "n": n,
            "loud": state["loud"],
            "eps": state["eps"],
            "sum": blowup.influence_sums(model, bits)[0, 0, -1],
            "trivial": 2 * n,
            "answer": answers[0],
            "factor": factors[0],
            "output": outputs[0],
            "s": (outputs[1:] - outputs[0]).square().sum() / 4,
            "magnified": magnified.max(),
            "allowed": (factors[0] * factors[1:]).sqrt().max(),
            **{f"b:{j}": int(bit) for j, bit in enumerate(state["bits"], 1)},
            **{f"a:{j}": value for j, value in enumerate(attention[0], 1)},
            **{f"before:{j}": value for j, value in enumerate(moved, 1)},
            **{f"after:{j}": value for j, value in enumerate(changed, 1)},
        }
        return {key: float(value) for key, value in values.items()}

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """Bars for what each bit does to the output, grey those before the norm."""
        shown = cls.displayed(state)
        bars, wide = [], 400 / shown["n"]
        for j in range(1, int(shown["n"]) + 1):
            for key, colour in (("after", SERIES[0]), ("before", "var(--fc-muted, #666)")):
                high = 40 * shown[f"{key}:{j}"]
                place = f'x="{(j - 1) * wide + 3:.1f}" y="{90 - high:.1f}" width="{wide - 6:.1f}" height="{high:.1f}"'
                bars.append(f'<rect {place} fill="{colour}"/>')
        return f'<svg viewBox="0 0 400 96" width="400" role="img" aria-label="{cls.label}">{"".join(bars)}</svg>'


def _eps(exponent: int) -> float:
    return 0.0 if exponent == BlowupExplorer.schema["eps"].min else 10.0**exponent


@torch.no_grad()
def _network(state: Mapping[str, Any]) -> tuple[Circuit, torch.Tensor]:
    bits = torch.tensor([[int(bit) for bit in state["bits"]]])
    model = blowup.one_layer("or", bits.shape[1], eps=_eps(state["eps"]))
    score = model.layers[0].heads[0].query_key
    score.mul_(state["loud"] / float(score.max()))
    return model, bits
