"""One head and its lookup: [CLS] averages the chosen bits, bumps turn the average into a value.

State::

    {"bits": "011010010110",   the input b
     "chosen": [2, 5, 7],      positions, in increasing order
     "scale": 6.0,             the logit scale R
     "delta": 0.0,             the coherence Δ of the positions
     "target": "parity",       of the chosen bits: parity, conjunction, disjunction or majority
     "bump": "repaired",       repaired or printed
     "share": 4}               the half-width of a bump is γ/share: 4, or as printed 8
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from flatcube import cube
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.sparse_variables import directions, juntas
from flatcube.sparse_variables import tables as lookup
from flatcube.sparse_variables.selectors import Selector

__all__ = ["SparseVariablesExplorer"]


class SparseVariablesExplorer(Explorer):
    """Bits, logits, attention, signal and the value that the lookup finds for it."""

    name = "sparse_variables"
    label = "One head and its lookup, from the bits to a value of the chosen ones"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        chosen = cube.subset(cube.mask(state["chosen"], len(state["bits"]), name="chosen"))
        return {**state, "chosen": list(chosen)}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        selector, bits, values = _selector(state), _bits(state), _values(state)
        mlp = lookup.lookup(selector.points(), values, selector.gamma / state["share"], form=state["bump"])
        with torch.no_grad():
            seen = selector.encoder(mlp).activations(torch.as_tensor(bits))
            x, query_key = seen["embedding"][0], selector.encoder().layers[0].heads[0].query_key
            logits = (x[-1] @ query_key @ x.T).tolist()
        attention = seen["layers.0.attention.0"][0, -1].numpy()
        ideal = np.isin(np.arange(1, selector.T + 1), selector.chosen) / selector.s
        shown = {key: float(state[key]) for key in ("scale", "delta")} | {"T": float(selector.T)}
        shown |= {f"b:{t}": float(bit) for t, bit in enumerate(bits[0], 1)}
        shown |= {f"l:{t}": logit for t, logit in enumerate(logits[:-1], 1)}
        shown |= {f"a:{t}": float(a) for t, a in zip([*range(1, selector.T + 1), "c"], attention, strict=True)}
        return shown | {
            "signal": float(seen["layers.0.mixed"][0, -1, 0]),
            "mean": float(selector.target(bits)[0, 0]),
            "worst": float(np.abs(attention[:-1] - ideal).sum()),
            "allowed": selector.gamma / 4,
            "output": float(seen["output"][0]),
            "wanted": float(values[bits[0, np.array(selector.chosen) - 1].sum()]),
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The lookup against the signal, with the signal of the input on it."""
        selector, values = _selector(state), _values(state)
        mlp = lookup.lookup(selector.points(), values, selector.gamma / state["share"], form=state["bump"])
        signal = np.append(np.linspace(-1.3, 1.3, 521), selector.signal(_bits(state)))
        height = mlp(torch.tensor(signal[:, None])).detach().numpy()[:, 0].clip(-1.6, 1.7)
        places = [f"{200 + 150 * x:.1f},{100 - 50 * y:.1f}" for x, y in zip(signal, height, strict=True)]
        cx, cy = places.pop().split(",")
        return (
            f'<svg viewBox="0 0 400 190" width="400" role="img" aria-label="{cls.label}"><polyline '
            f'points="{" ".join(places)}" fill="none" stroke="var(--fc-muted, #666)" stroke-width="2"/>'
            f'<circle cx="{cx}" cy="{cy}" r="7" fill="var(--fc-accent, #666)"/></svg>'
        )


def _selector(state: Mapping[str, Any]) -> Selector:
    T, chosen = len(state["bits"]), tuple(state["chosen"])
    return Selector(T, chosen, vectors=directions.tilted(T, chosen, state["delta"]), scale=float(state["scale"]))


def _bits(state: Mapping[str, Any]) -> np.ndarray:
    return np.array([list(map(int, state["bits"]))])


def _values(state: Mapping[str, Any]) -> np.ndarray:
    """The target at 0, 1, … ones among the chosen bits."""
    s = len(state["chosen"])
    return juntas.levels(getattr(cube, state["target"])(s), range(1, s + 1)).astype(float)
