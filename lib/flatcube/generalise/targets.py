"""The random functions of the experiments, and what bounds say of a stored network: what needs no training."""

from collections.abc import Mapping

import numpy as np

from flatcube import cube, pacbayes

__all__: list[str] = []

_CONSTANT, _DELTA = 0.1, 0.05  # SP's constant C, and the δ of the bounds


def components(T: int, degree: int, sparsity: int, seed: int) -> tuple[cube.Components, np.random.Generator]:
    """The components of one function, and the random numbers that go on to choose the inputs shown."""
    rng = np.random.default_rng([seed, T, degree, sparsity])
    return cube.random_components(T, degree, sparsity, rng=rng), rng


def bounds(row: Mapping[str, float]) -> dict[str, float]:
    """``oracle``, the truncated bound of the hand-built network, and ``truncated``, that of the learned one."""
    given = {"m": row["m"], "C": _CONSTANT, "delta": _DELTA}
    oracle = pacbayes.truncated(row["hand_norm2"], row["hand_trace"], **given)
    own = pacbayes.truncated(row["norm2"], row["trace"], **given)
    return {"oracle": oracle.value, "truncated": own.value}
