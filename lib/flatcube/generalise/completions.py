"""What can be done with the inputs that were not shown."""

import numpy as np

from flatcube import checks
from flatcube.generalise.learners import Sample

__all__ = ["extrapolate", "random_completion"]


def extrapolate(outputs: np.ndarray) -> np.ndarray:
    """The Boolean function (2^n,) that outputs (2^n,) of a network stand for: their sign; +1 at 0 (HR Sec. 7.2).

    >>> extrapolate([0.3, -2.0, 0.0, -0.1]).tolist()
    [1, -1, 1, -1]
    """
    return np.where(checks.table(outputs, name="outputs") >= 0, 1, -1)


def random_completion(given: Sample, *, rng: np.random.Generator | int) -> np.ndarray:
    """A table (2^n,) that agrees with a Boolean function where it is shown, and is drawn at random elsewhere.

    If the function itself was drawn at random, then this has the same distribution: no learner could tell them apart.
    """
    table = np.array(checks.signs(checks.instance(given, "given", Sample).table))
    hidden = given.hidden
    table[hidden] = checks.generator(rng).choice([-1, 1], len(hidden))
    return table
