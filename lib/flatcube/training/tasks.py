"""What a network learns: a function on the cube, met at uniform points or at those of a training set."""

import numpy as np

from flatcube import checks, cube
from flatcube.sampling import BlackBox, evaluate, random_signs

__all__ = ["Task"]

_WHOLE = 10  # up to this n, an evaluation is over the whole cube
_POINTS = 2048  # beyond, over so many uniform points
_LONGEST = 10**4


class Task:
    """Learn f, a table of length 2^n or a function of signs (batch, n), from bits (batch, n).

    Without ``inputs`` every batch is drawn afresh and uniformly from the cube, and errors are measured on all of it for
    n ≤ 10, else on 2048 uniform points, the same for every member and step. With ``inputs``, signs (m, n), a batch is
    drawn from those without repetition (it is all of them, if it is as large), and errors are measured on them.
    """

    def __init__(self, f: BlackBox | np.ndarray, n: int, *, inputs: np.ndarray | None = None) -> None:
        self.n = checks.integer(n, "n", 1, _LONGEST)
        self.f = f if callable(f) else checks.table(f, name="f")
        if not callable(f) and (self.f.ndim != 1 or len(self.f).bit_length() != n + 1):
            raise ValueError(f"f: expected a table of length 2^{n} or a function of signs, got shape {self.f.shape}")
        self.inputs = None if inputs is None else checks.signs(inputs, name="inputs")
        if self.inputs is not None and (self.inputs.ndim != 2 or self.inputs.shape[1] != n or not len(self.inputs)):
            raise ValueError(f"inputs: expected signs (m, {n}) with m ≥ 1, got shape {self.inputs.shape}")

    def values(self, signs: np.ndarray) -> np.ndarray:
        """f at signs (batch, n): (batch,)."""
        signs = checks.signs(signs)
        checks.shape(signs.shape, "signs", ("batch", "n"), {"n": self.n})
        return self._values(signs)

    def _values(self, signs: np.ndarray) -> np.ndarray:
        return evaluate(self.f, signs) if callable(self.f) else self.f[cube.index(signs)]

    def batch(self, size: int, *, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The bits (batch, n) and values (batch,) that the member with this seed meets at this step."""
        checks.room(checks.integer(size, "size", 1) * self.n, "size")
        rng = np.random.default_rng([checks.integer(seed, "seed", 0), checks.integer(step, "step", 0)])
        if self.inputs is None:
            signs = random_signs((size, self.n), rng=rng)
        elif size >= len(self.inputs):
            signs = self.inputs
        else:
            signs = self.inputs[rng.choice(len(self.inputs), size, replace=False, shuffle=False)]
        return cube.to_bits(signs), self._values(signs)

    def evaluation(self) -> tuple[np.ndarray, np.ndarray]:
        """The bits (points, n) and values (points,) on which errors are measured."""
        signs = self.inputs
        if signs is None:
            signs = cube.points(self.n) if self.n <= _WHOLE else random_signs((_POINTS, self.n), rng=0)
        return cube.to_bits(signs), self._values(signs)
