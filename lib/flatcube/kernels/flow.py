"""Gradient flow in the world of kernels: each degree is learnt at the pace of its eigenvalue."""

import numpy as np

from flatcube import checks

__all__ = ["left", "descend"]


def left(mu: np.ndarray, times: np.ndarray) -> np.ndarray:
    """e^{−μ_k t}, the share of a coefficient of degree k that is not yet learnt: (times, degrees).

    The flow df/dt = −K(f − f*) belongs to the loss ½ E (f − f*)²; a rate η multiplies the time.

    >>> left([1.0, 0.5], [0.0, 2.0]).round(3).tolist()
    [[1.0, 1.0], [0.135, 0.368]]
    """
    return np.exp(-np.multiply.outer(checks.numbers(times, "times"), checks.numbers(mu, "mu")))


def descend(
    points: np.ndarray, target: np.ndarray, width: int, *, rate: float, steps: int, rng: np.random.Generator | int
) -> np.ndarray:
    """Outputs (steps + 1, points) of a finite ReLU network while gradient descent trains all its weights.

    f(x) = √(2/m) Σ_j a_j max(w_j·x/√n, 0) − the same at the first weights, so that it starts at 0; the loss is
    ½ E (f − target)² over all points given.
    """
    points, rng = checks.signs(points, name="points").astype(float), checks.generator(rng)
    checks.shape(points.shape, "points", ("points", "n"))
    rate = checks.number(rate, "rate", 0, 1e3)
    target = checks.numbers(target, "target")
    checks.shape(target.shape, "target", (len(points),))
    m, n = checks.integer(width, "width", 1, 10**5), points.shape[1]
    x = points / np.sqrt(n)
    inner, outer, factor = rng.normal(size=(n, m)), rng.normal(size=m), np.sqrt(2 / m)
    first, found = factor * np.maximum(x @ inner, 0) @ outer, []
    for _ in range(checks.integer(steps, "steps", 1, 10**5) + 1):
        before = x @ inner
        hidden = np.maximum(before, 0)
        found.append(factor * hidden @ outer - first)
        if not np.isfinite(found[-1]).all():
            raise ValueError(f"rate: expected one with which training converges for this target, got {rate:g}")
        error = (found[-1] - target) / len(points)
        by_inner = factor * x.T @ ((before > 0) * error[:, None] * outer)
        outer = outer - rate * factor * hidden.T @ error
        inner = inner - rate * by_inner
    return np.array(found)
