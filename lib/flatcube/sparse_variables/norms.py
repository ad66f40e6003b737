"""How large the matrices of a selecting head are: in closed form, and ED's bounds."""

import math
from collections.abc import Sequence

import numpy as np

from flatcube import checks
from flatcube.sparse_variables import scales
from flatcube.sparse_variables import tables as lookup
from flatcube.sparse_variables.selectors import Selector

__all__ = ["frobenius_norms", "claimed_norms"]


def frobenius_norms(selector: Selector, values: Sequence[float] | None = None) -> dict[str, float]:
    """Frobenius norms of ED's matrices in closed form, for one head; with values also those of the MLP.

    "P" is ‖Pᵀ‖_{2,1}, the sum of the norms of the T rows that are given or trained; W1 and W2 include their biases.
    """
    s, bag = checks.instance(selector, "selector", Selector).s, selector.encoding == "bag"
    one_key = 1 if selector.encoding == "trainable" or (selector.outputs == "each" and not bag) else s
    tilt = 0.0
    if selector.vectors is not None and one_key > 1:
        mine = selector.vectors[np.array(selector.chosen) - 1]
        tilt = float((mine @ mine.T).sum()) - s
    found = {
        "P": float(selector.T if selector.encoding == "fixed" else s if selector.encoding == "trainable" else 0),
        "W_Q": selector.scale,
        "W_K": math.sqrt(one_key + tilt + bag),
        "W_V": math.sqrt(2 * s if bag else 2),
        "W_C": math.sqrt(s if bag else 1),
    }
    if values is not None:
        parts = lookup.lookup_norms(selector.points(), values, scales.lookup_radius(selector.gamma))
        found |= {f"W{k}": math.sqrt(parts[f"W{k}"] + parts[f"b{k}"]) for k in (1, 2)} | {"w": math.sqrt(parts["w"])}
    return found


def claimed_norms(selector: Selector) -> dict[str, float]:
    """ED's bounds on the same norms of one head in Lemmas B.2, B.3 and B.4; ‖P‖ is not bounded where it is given."""
    checks.instance(selector, "selector", Selector)
    T, s, gamma, bag = selector.T, selector.s, selector.gamma, selector.encoding == "bag"
    one_key = selector.encoding == "trainable" or selector.outputs == "each"
    scale = scales.logit_scale(T, s, gamma, selector.coherence, encoding=selector.encoding, form="printed")
    if bag:
        return {"W_Q": scale, "W_K": s + 1, "W_V": 2 * s, "W_C": s}
    positions = {"P": float(s)} if selector.encoding == "trainable" else {}
    return positions | {"W_Q": scale, "W_K": 1 if one_key else s, "W_V": 2, "W_C": 1}
