"""One head and its lookup: [CLS] averages the chosen bits, bumps turn the average into a value.

State::

    {"bits": "011010010110",   the input b, 4 … 12 characters "0" and "1"
     "chosen": [2, 5, 7],      one to five positions, in increasing order
     "scale": 6.0,             the logit scale R, 0 … 10
     "delta": 0.0,             the coherence Δ of the positions, 0 … 0.2
     "target": "parity",       of the chosen bits: parity, conjunction, disjunction or majority
     "bump": "repaired",       repaired or printed
     "share": 4}               the half-width of a bump is γ/share: 4, or as printed 8
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from flatcube import cube, directions, juntas, lookup
from flatcube.classroom.explorers import Explorer
from flatcube.sparse_variables import Selector

__all__ = ["SparseVariablesExplorer"]

FEWEST, MOST, MEMBERS, STEEPEST, TILT = 4, 12, 5, 10, 0.2
TARGETS = ("parity", "conjunction", "disjunction", "majority")


class SparseVariablesExplorer(Explorer):
    """Bits, logits, attention, signal and the value that the lookup finds for it."""

    name = "sparse_variables"
    label = "One head and its lookup, from the bits to a value of the chosen ones"
    default_state = {
        "bits": "011010010110",
        "chosen": [2, 5, 7],
        "scale": 6.0,
        "delta": 0.0,
        "target": "parity",
        "bump": "repaired",
        "share": 4,
    }

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        bits = state["bits"]
        if not isinstance(bits, str) or set(bits) - {"0", "1"} or not FEWEST <= len(bits) <= MOST:
            raise ValueError(f"bits: expected {FEWEST} to {MOST} characters 0 and 1, got {bits!r}")
        chosen = list(cube.subset(cube.mask(state["chosen"], len(bits), name="chosen")))
        if not 1 <= len(chosen) <= MEMBERS:
            raise ValueError(f"chosen: expected 1 to {MEMBERS} positions, got {len(chosen)}")
        for key, most in (("scale", STEEPEST), ("delta", TILT)):
            value = state[key]
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise ValueError(f"{key}: expected a number from 0 to {most}, got {value!r}")
        for key, allowed in (("target", TARGETS), ("bump", tuple(lookup.KINKS)), ("share", (4, 8))):
            if state[key] not in allowed:
                raise ValueError(f"{key}: expected one of {', '.join(map(str, allowed))}, got {state[key]!r}")
        return {**state, "chosen": chosen}

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
