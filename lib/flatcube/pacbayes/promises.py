"""Bounds from norm and sharpness with one σ for all weights: truncated, semi-analytic."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flatcube import checks
from flatcube.capacity import Bound
from flatcube.capacity.bounds import readable

__all__ = ["Promise", "MESH", "truncated", "best_sigma", "semi_analytic"]

MESH = np.linspace(1e-5, 1e-2, 20)  # SP Sec. 2.1: twenty values of σ, evenly spaced

Sigmas = float | Mapping[str, float]


@dataclass(frozen=True)
class Promise(Bound):
    """A bound together with the σ it was taken at, and the standard error of what was measured in it."""

    sigma: Any = None
    error: float = 0.0


def promise(sentence: str, first: Mapping[str, float], square: float, sigma: Sigmas, **given: float) -> Promise:
    """The terms ``first``, then C√((square + 2 log(K/δ))/m) in two parts: what the norm costs, and what δ adds."""
    m, C = checks.samples(given["m"]), checks.positive(given["C"], "C", 0)
    logarithm = math.log(checks.count(given.get("choices", 1), "choices") / checks.probability(given["delta"], "delta"))
    norm, whole = (C * math.sqrt(s / m) for s in (square, square + 2 * logarithm))
    added = C**2 * 2 * logarithm / m / (whole + norm) if C else 0.0  # whole − norm, without cancellation
    terms = {**first, "norm": norm, "confidence": added}
    return Promise(f"{sentence} on {readable(m)} examples is at most", terms, sigma, given.get("error", 0.0))


def best_sigma(norm2: float, trace: float, *, m: float, C: float) -> float:
    """σ* = (C‖θ‖/(√m Tr ∇²L))^(1/3): it balances aσ² against b/σ, where the second is twice the first (SP App. E.2)."""
    root = checks.positive(C, "C") * math.sqrt(checks.positive(norm2, "norm2") / checks.samples(m))
    return (root / checks.positive(trace, "trace")) ** (1 / 3)


def truncated(
    norm2: float, trace: float, *, m: float, C: float, delta: float, sigma: float | None = None, choices: int = 1
) -> Promise:
    """σ²/2 Tr ∇²L + C√((‖θ‖²/σ² + 2 log(1/δ))/m), at σ* unless σ is given.

    At σ* it is 3/2 (C² Tr ∇²L ‖θ‖²/m)^(1/3), and δ's part.

    >>> round(truncated(1000, 1e4, m=1e6, C=0.1, delta=0.05).value, 4)
    0.6962
    """
    checks.positive(norm2, "norm2", 0)
    checks.positive(trace, "trace", 0)
    sigma = best_sigma(norm2, trace, m=m, C=C) if sigma is None else checks.positive(sigma, "sigma")
    terms = {"sharpness": sigma**2 / 2 * trace}
    return promise("The risk, truncated,", terms, norm2 / sigma**2, sigma, m=m, C=C, delta=delta, choices=choices)


def semi_analytic(
    norm2: float,
    loss: Mapping[float, Any] | Callable[[float], Any],
    *,
    m: float,
    C: float,
    delta: float,
    trace: float | None = None,
    sigma: float | None = None,
    choices: int = 1,
) -> Promise:
    """The same with the loss of the noisy network as it was measured, at σ or at the best σ of a mesh (SP Sec. 1.1).

    ``loss`` gives an Estimate or a number for each σ: a dict, or a function that is asked on ``MESH``. With ``trace``,
    the loss is shown in two terms: sharpness σ²/2 Tr ∇²L, and perturbation, the rest, which may be negative. The
    standard error of the measurement becomes ``error``.
    """
    given = {"m": m, "C": C, "delta": delta, "choices": choices}
    if not (callable(loss) or isinstance(loss, Mapping)):
        raise TypeError(f"loss: expected a dict or a function of σ, got {type(loss).__name__}")
    for one in () if callable(loss) else loss.values():
        measured(one)
    mesh = MESH.tolist() if callable(loss) else list(loss)
    mesh = mesh if sigma is None else [checks.positive(sigma, "sigma")]
    found = {s: loss(s) if callable(loss) else loss.get(s) for s in mesh}
    if not found or None in found.values():
        raise ValueError(f"loss: expected at least one σ with its loss, got none{f' for {sigma}' if sigma else ''}")
    promises = []
    for s, estimate in found.items():
        value, error = measured(estimate)
        flat = 0.0 if trace is None else s**2 / 2 * checks.positive(trace, "trace", 0)
        terms = {"noisy loss": value} if trace is None else {"sharpness": flat, "perturbation": value - flat}
        square = checks.positive(norm2, "norm2", 0) / checks.positive(s, "sigma") ** 2
        promises.append(promise("The risk, semi-analytic,", terms, square, s, error=error, **given))
    return min(promises, key=lambda promise: promise.value)


def measured(loss: Any) -> tuple[float, float]:
    """A loss and its standard error, from an Estimate or a number."""
    pair = checks.numbers([getattr(loss, "value", loss), getattr(loss, "error", 0.0)], "loss")
    if pair.shape != (2,) or pair.min() < 0:
        raise ValueError(f"loss: expected an Estimate or a number ≥ 0, got {loss!r:.60}")
    return float(pair[0]), float(pair[1])
