"""The transformer built by hand: choose the components of f, flip bits, and follow them through every step.

State::

    {"bits": "10110100",                       the input x
     "subsets": [[1, 2], [2, 4, 5], [7]],      different subsets of the positions
     "weights": [1.5, -1.0, 0.5],              a number other than 0 for each
     "mode": "hard",                           of the second attention: hard, soft (with τ = 0.1) or sink, which takes
                                               subsets of one size and positive weights only
     "beta": 4.0,                              the logit scale
     "matrix": "W1",                           what the noise is added to: W1, V1, E, b, F, W2 or v2
     "noise": 0.0,                             its standard deviation
     "seed": 0}                                its draw
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from flatcube import handmade, networks
from flatcube.classroom.explorers import Explorer, Schema, chance
from flatcube.classroom.palette import SERIES

__all__ = ["HandmadeExplorer"]

TAU = 0.1


class HandmadeExplorer(Explorer):
    """Logits, attention, prefix sums on the wave, mixing weights and output of a network on up to twelve bits."""

    name = "handmade"
    label = "The transformer built by hand, from its input bits to its output"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        if len(state["weights"]) != len(state["subsets"]):
            found = f"{len(state['weights'])} weights and {len(state['subsets'])} subsets"
            raise ValueError(f"weights: expected one for each subset, got {found}")
        design = _design(state)  # which refuses wrong subsets and weights
        return {**state, "subsets": list(map(list, design.subsets)), "weights": design.weights.tolist()}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        design, bits = _design(state), np.array([list(map(int, state["bits"]))])
        model = _disturbed(handmade.assemble(design), state)
        with torch.no_grad():
            seen = model.activations(torch.as_tensor(bits))
            x, query_key = seen["embedding"][0], model.layers[0].heads[0].query_key
            logits = (x @ query_key @ x.T).numpy()
        target, output = float(handmade.target_values(design, bits)[0]), float(seen["output"][0])
        shown = {key: float(state[key]) for key in ("beta", "noise")} | {"T": float(design.T)}
        shown |= {"output": output, "target": target, "error": output - target}
        shown |= {"threshold": handmade.least_scale(design)}
        shown |= {f"x:{j}": float(bit) for j, bit in enumerate(bits[0], 1)}
        shown |= _rows("l", logits, design) | _rows("A", seen["layers.0.attention.0"][0].numpy(), design)
        return shown | _table(design, bits[0], {name: value[0].numpy() for name, value in seen.items()})

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The wave with the prefix sums on it."""
        design = _design(state)
        sums = handmade.prefix_sums(design, np.array([list(map(int, state["bits"]))]))[0]

        def places(a: np.ndarray) -> list[tuple[float, float]]:
            return list(zip(20 + 360 * a, 150 - 100 * handmade.wave(a, design.degree), strict=True))

        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places(np.linspace(-0.05, 1.05, 441)))
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="var(--fc-cat-{i}, {SERIES[i - 1]})"/>'
            for i, (x, y) in enumerate(places(sums), 1)
        )
        return (
            f'<svg viewBox="0 0 400 180" width="400" role="img" aria-label="{cls.label}">'
            f'<polyline points="{line}" fill="none" stroke="var(--fc-muted, #666)" stroke-width="2"/>{dots}</svg>'
        )


def _design(state: Mapping[str, Any]) -> handmade.Design:
    components = list(zip(state["subsets"], state["weights"], strict=True))
    return handmade.Design(components, len(state["bits"]), state["mode"], scale=state["beta"], tau=TAU)


@torch.no_grad()
def _disturbed(model: networks.Circuit, state: Mapping[str, Any]) -> networks.Circuit:
    """The network with noise added to the matrix of the state, row by row, one head after the other."""
    matrices = HandmadeExplorer.schema["matrix"].values
    numbers = chance.normals(state["seed"], matrices.index(state["matrix"]))
    names = handmade.names(model)
    for path, weights in model.named_parameters():
        if names.get(path) == state["matrix"] and state["noise"]:
            draw = [next(numbers) for _ in range(weights.numel())]
            weights += state["noise"] * torch.tensor(draw, dtype=torch.float64).reshape(weights.shape)
    return model


def _rows(key: str, matrix: np.ndarray, design: handmade.Design) -> dict[str, float]:
    """The rows of the components in a matrix (T+1, T+1), by component and position."""
    places = [*range(1, design.T + 1), "o"]
    rows = range(len(design.components))
    return {f"{key}:{i + 1}:{place}": float(matrix[i, j]) for i in rows for j, place in enumerate(places)}


def _table(design: handmade.Design, bits: np.ndarray, seen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Ones, leak, prefix sum and wave of every component, and the mixing weights of the one or two heads."""
    shown: dict[str, float] = {}
    for i, members in enumerate(design.subsets):
        inside = [j - 1 for j in members] + [design.T] * (len(members) < design.degree)
        shown |= {
            f"n:{i + 1}": float(bits[[j - 1 for j in members]].sum()),
            f"leak:{i + 1}": 1 - math.fsum(seen["layers.0.attention.0"][i, inside]),
            f"a:{i + 1}": float(seen["layers.0.mixed"][i, -1]),
            f"wave:{i + 1}": float(seen["layers.0.output"][i, -1]),
        }
    for head, mixer in enumerate(design.mixers):
        sign, row = "-" if mixer.output < 0 else "+", seen[f"layers.1.attention.{head}"][-1]
        count = len(design.components)
        shown |= {f"p:{sign}:{i + 1}": float(row[i]) for i in range(count)}
        shown |= {f"p:{sign}:rest": float(row[count:].sum())}
    return shown
