"""The cast: the four functions that travel through the book, with their order, looks, tables and networks.

PARITY is ∏ x_i; MAJORITY −1 if more than half of the bits are 1, else +1; FIRST x_1; MEAN (1/n) Σ x_i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flatcube import cube

if TYPE_CHECKING:
    from flatcube.networks import Circuit

__all__ = ["NAMES", "COLOURS", "SHAPES", "DASHES", "FUNCTIONS", "known", "table", "network"]

NAMES = ("PARITY", "MAJORITY", "FIRST", "MEAN")
# each has one look in all figures: purple, green, gold and slate (blue and orange are the values −1 and +1)
COLOURS = dict(zip(NAMES, ("#9d59a4", "#259266", "#a38f0f", "#516a70"), strict=True))
SHAPES = dict(zip(NAMES, ("circle", "square", "triangle-up", "diamond"), strict=True))
DASHES = dict(zip(NAMES, ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3]), strict=True))  # pixels drawn and left out
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # on signs (batch, n), for any n
    "PARITY": lambda signs: signs.prod(-1, dtype=float),
    "MAJORITY": lambda signs: np.where(signs.sum(-1, dtype=int) < 0, -1.0, 1.0),
    "FIRST": lambda signs: signs[:, 0].astype(float),
    "MEAN": lambda signs: signs.mean(-1, dtype=float),
}


def known(name: str) -> str:
    """``name`` in capitals, if it is one of the cast.

    >>> known("parity")
    'PARITY'
    """
    if not isinstance(name, str) or name.upper() not in NAMES:
        raise ValueError(f"name: expected {', '.join(NAMES[:-1])} or {NAMES[-1]}, got {name!r}")
    return name.upper()


def table(name: str, n: int) -> np.ndarray:
    """The table (2^n,) of one of the cast.

    >>> table("MAJORITY", 3).tolist()
    [1, 1, 1, -1, 1, -1, -1, -1]
    """
    return getattr(cube, known(name).lower())(n)


def network(name: str, **choices: Any) -> Circuit:
    """The hand-built network of one of the cast, exact at every length; choices of ``parity.layer_norm_network``."""
    from flatcube import parity

    return parity.layer_norm_network(target=known(name).lower(), **choices)
