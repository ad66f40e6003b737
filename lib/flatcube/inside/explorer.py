"""A trained minimal network beside the hand-built one: attention, wave, output, and what changes if a part is changed.

State::

    {"network": "2-2-1",      degree, components and seed of a network of ``data/circuits.csv``
     "bits": "10110100",      the input x
     "component": 1,          the component that one looks at
     "rows": "00001000",      1 for each position that is changed
     "change": "mean"}        what it holds then: its mean over all inputs, what it would hold if the first bit of the
                              component were flipped, or what the hand-built circuit of the component would hold

The page gets the weights of all networks with its script and evaluates them on all 256 inputs.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from flatcube import cube, handmade, inside
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store

__all__ = ["InsideExplorer"]

T = 8
BITS = cube.to_bits(cube.points(T))  # (256, T)


class Seen(NamedTuple):
    """A network on all inputs: its function, its mean attention (T, T), what positions read and hold (256, T)."""

    components: list[tuple[tuple[int, ...], float]]
    attention: np.ndarray
    reads: np.ndarray
    holds: np.ndarray
    mix: np.ndarray
    shift: float

    @property
    def target(self) -> np.ndarray:
        """f (256,)."""
        return cube.even_sum(self.components, T)

    def output(self, holds: np.ndarray) -> np.ndarray:
        """The output (256,) if positions hold this."""
        return holds @ self.mix + self.shift


class InsideExplorer(Explorer):
    """Attention, wave and output of a network that learnt a sum of parities, whole and with a part changed."""

    name = "inside"
    label = "A trained network beside the hand-built one: attention, wave and output"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "component": min(state["component"], int(state["network"].split("-")[1]))}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        own, at = seen(state["network"]), int(state["bits"][::-1], 2)
        k, chosen = state["component"] - 1, [i for i, bit in enumerate(state["rows"]) if bit == "1"]
        before, after = own.output(own.holds), own.output(_changed(own, chosen, k, state["change"]))
        shares = _shares(own, k)
        best = int(np.argmax(shares))
        shown = {"row": best + 1, "u": own.reads[at, best], "r": own.holds[at, best], "target": own.target[at]}
        shown |= {"output": before[at], "changed": after[at]}
        shown |= {"error": np.square(before - own.target).mean(), "error:changed": np.square(after - own.target).mean()}
        shown |= {f"share:{i + 1}": share for i, share in enumerate(shares)}
        for key, signs in (("x", state["bits"]), ("changed", state["rows"])):
            shown |= {f"{key}:{i + 1}": int(sign) for i, sign in enumerate(signs)}
        hand = _by_hand(own.components)
        for name, matrix in (("A", own.attention), ("H", hand)):
            shown |= {f"{name}:{i + 1}:{j + 1}": matrix[i, j] for i in range(T) for j in range(T)}
        for c, (members, weight) in enumerate(own.components, 1):
            sign = 2 * inside.even(BITS, members) - 1
            shown |= {f"weight:{c}": weight, f"learned:{c}": 2 * (before @ sign) / len(sign)}
            shown |= {f"left:{c}": 2 * (after @ sign) / len(sign)}
        if chosen and state["change"] == "patch":
            members, weight = own.components[k]
            told = own.target + weight * (1 - 2 * inside.even(BITS, members))
            shown["told"] = np.square(after - told).mean()
        return {key: float(value) for key, value in shown.items()}

    @classmethod
    def stored(cls) -> list[Any]:
        """For every network its name, its components and its weights, the last two as text."""
        return [[name, row["components"], row["weights"]] for name, row in _rows().items()]

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The mean attention as squares, darker for more."""
        attention, side = seen(cls.complete(state)["network"]).attention, 20
        squares = "".join(
            f'<rect x="{side * j}" y="{side * i}" width="{side - 1}" height="{side - 1}" fill="{SERIES[0]}" '
            f'fill-opacity="{attention[i, j]:.2f}"/>'
            for i in range(T)
            for j in range(T)
        )
        return f'<svg viewBox="0 0 160 160" width="240" role="img" aria-label="{cls.label}">{squares}</svg>'


@cache
def _rows() -> dict[str, dict[str, str]]:
    found = store.load("circuits")
    return {f"{row['degree']}-{row['sparsity']}-{row['seed']}": row for row in found if int(row["T"]) == T}


@cache
def seen(name: str) -> Seen:
    """What a stored network does on all inputs."""
    import torch  # late, since it takes seconds that the page's script does not need

    from flatcube.inside.circuits import parsed

    row = _rows()[name]
    model = inside.from_text(row["weights"], T, int(row["hidden"]))
    with torch.no_grad():
        u = model.reads(torch.as_tensor(BITS))
        attention = np.asarray(model.attention(torch.as_tensor(BITS)).mean(0))
        holds, mix = np.asarray(model.wave(u)), model.mix.detach().numpy()
    return Seen(parsed(row["components"]), attention, np.asarray(u), holds, mix, model.shift.item())


def _by_hand(components: list[tuple[tuple[int, ...], float]]) -> np.ndarray:
    """The attention (T, T) of the hand-built circuit: a row for each component, the others look everywhere."""
    rows = np.full((T, T), 1 / T)
    for i, (members, _) in enumerate(components):
        rows[i] = [(j in members) / len(members) for j in range(1, T + 1)]
    return rows


def _shares(own: Seen, k: int) -> np.ndarray:
    """Which part of its coefficient at component k each position brings (T,)."""
    sign = 2 * inside.even(BITS, own.components[k][0]) - 1
    return own.mix * (sign @ own.holds) / (sign @ own.output(own.holds))


def _changed(own: Seen, rows: list[int], k: int, change: str) -> np.ndarray:
    """What positions hold (256, T) if these are changed."""
    holds, members = own.holds.copy(), own.components[k][0]
    if change == "mean":
        holds[:, rows] = holds[:, rows].mean(0)
    elif change == "patch":
        holds[:, rows] = holds[np.arange(len(BITS)) ^ (1 << (members[0] - 1))][:, rows]
    else:
        wave = handmade.wave(BITS[:, [j - 1 for j in members]].mean(1), len(members))
        for i in rows:
            slope, start = np.polyfit(wave, holds[:, i], 1)
            holds[:, i] = start + slope * wave
    return holds
