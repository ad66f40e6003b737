"""Token-wise sensitivity: how often does a prediction change when one token is replaced? (VA Def. 4.1)

    S(Φ) = (1/T) Σ_τ E_X E_x 1[decision of Φ(X) ≠ decision of Φ(X with x in place τ)]

Inputs are arrays (N, T, …) with one token for each place. ``exact`` tries all symbols of a vocabulary, the old one
among them; ``sampled`` draws what a ``Change`` says: ``replaced``, ``noisy``, ``renormed`` or ``swapped``.

If tokens are bits and inputs are all of {0,1}^T, then S(Φ) = as(Φ)/(2T), with the average sensitivity of chapter 2: a
random bit is the other one half of the time, and the mean is taken over T places where as(Φ) is a sum.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flatcube import checks

__all__ = ["Sensitivity", "sequences", "decisions", "exact", "sampled", "whole", "replaced", "noisy",
           "renormed", "swapped"]  # fmt: skip

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]  # tokens (N, …) to new ones of the same shape
Model = Callable[[np.ndarray], np.ndarray]  # inputs (N, T, …) to numbers (N,) or (N, classes)

_CHUNK = 4096  # inputs at once
_SYMBOLS, _REPEATS = 10**5, 10**4  # at most


class Sensitivity(NamedTuple):
    """The share of changed predictions, its standard error over inputs, and the share at each place (T,)."""

    value: float
    error: float
    positions: np.ndarray
    inputs: np.ndarray  # the share for each input (N,)


def sequences(symbols: int, T: int) -> np.ndarray:
    """All sequences (symbols^T, T) of T symbols 0, …, symbols − 1.

    >>> sequences(2, 2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    symbols, T = checks.integer(symbols, "symbols", 1, _SYMBOLS), checks.integer(T, "T", 1, 100)
    checks.room((100 + 16 * T) * symbols**T, "T")
    return np.array(list(itertools.product(range(symbols), repeat=T)))


def decisions(outputs: np.ndarray) -> np.ndarray:
    """What numbers (N,) decide, their sign with sign(0) = 0; of numbers (N, classes), which one is the largest.

    >>> decisions(np.array([0.3, 0.0, -2.0])).tolist(), decisions(np.array([[1, 3, 2]])).tolist()
    ([1, 0, -1], [1])
    """
    outputs = checks.numbers(outputs, "outputs")
    checks.shape(outputs.shape, "outputs", ("N",) if outputs.ndim < 2 else ("N", "classes"))
    return np.sign(outputs).astype(int) if outputs.ndim == 1 else outputs.argmax(-1)


def exact(f: Model, inputs: np.ndarray, symbols: int) -> Sensitivity:
    """S(f) on the given inputs (N, T) of whole numbers, with x uniform among all ``symbols``, the old one included.

    >>> exact(lambda x: 1 - 2.0 * (x.sum(-1) % 2), sequences(2, 3), 2).value
    0.5
    """
    symbols = checks.integer(symbols, "symbols", 1, _SYMBOLS)
    inputs = _inputs(inputs, ("N", "T"))
    if inputs.dtype.kind not in "iu" or inputs.min() < 0 or inputs.max() >= symbols:
        raise ValueError(f"inputs: expected whole numbers from 0 to {symbols - 1}, got {inputs.ravel()[:4].tolist()} …")
    changed = np.zeros(inputs.shape)
    old = _decided(f, inputs)
    for place, symbol in itertools.product(range(inputs.shape[1]), range(symbols)):
        changed[:, place] += _decided(f, _with(inputs, place, symbol)) != old
    return _mean(changed / symbols, np.ones(inputs.shape, bool))


def sampled(
    f: Model,
    inputs: np.ndarray,
    change: Change,
    *,
    rng: np.random.Generator | int,
    repeats: int = 1,
    present: np.ndarray | None = None,
) -> Sensitivity:
    """S(f) on the given inputs (N, T, …), each token changed ``repeats`` times.

    Where inputs have different lengths, ``present`` (N, T) says which places hold a token; the others stay as they are,
    and an input's share is that of its own tokens.
    """
    inputs, rng, repeats = _inputs(inputs), checks.generator(rng), checks.integer(repeats, "repeats", 1, _REPEATS)
    present = np.ones(inputs.shape[:2], bool) if present is None else np.asarray(present, bool)
    checks.shape(present.shape, "present", ("N", "T"), {"N": len(inputs), "T": inputs.shape[1]})
    if not present.any(1).all():
        raise ValueError("present: expected a token in every input, got an input without")
    changed, old = np.zeros(inputs.shape[:2]), _decided(f, inputs)
    for place, _ in itertools.product(range(inputs.shape[1]), range(repeats)):
        here = present[:, place]
        if here.any():
            some = inputs[here]
            new = _changed(change, some[:, place], rng)
            changed[here, place] += _decided(f, _with(some, place, new)) != old[here]
    return _mean(changed / repeats, present)


def whole(
    f: Model, inputs: np.ndarray, change: Change, *, rng: np.random.Generator | int, repeats: int = 1
) -> Sensitivity:
    """The share of changed predictions when all tokens of an input (N, T, …) change at once (VA App. A.2)."""
    inputs, rng, repeats = _inputs(inputs), checks.generator(rng), checks.integer(repeats, "repeats", 1, _REPEATS)
    old = _decided(f, inputs)
    changed = np.mean([_decided(f, _changed(change, inputs, rng)) != old for _ in range(repeats)], 0)
    return _mean(changed[:, None], np.ones((len(inputs), 1), bool))


# --- changes ----------------------------------------------------------------------------------------------------------


def replaced(symbols: int) -> Change:
    """A uniformly random symbol, which may be the old one."""
    symbols = checks.integer(symbols, "symbols", 1, _SYMBOLS)
    return lambda tokens, rng: rng.integers(symbols, size=tokens.shape)


def noisy(sigma: float) -> Change:
    """The token plus noise N(0, σ²) in every component."""
    sigma = checks.number(sigma, "sigma", 0, 1e6)
    return lambda tokens, rng: tokens + sigma * rng.standard_normal(tokens.shape, dtype=np.float32)


def renormed(sigma: float) -> Change:
    """The same, brought back to the length that the token had: another direction, not a louder token."""
    add = noisy(sigma)

    def change(tokens: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        new = add(tokens, rng)
        length = np.linalg.norm(new, axis=-1, keepdims=True)
        return new * np.linalg.norm(tokens, axis=-1, keepdims=True) / np.where(length > 0, length, 1)

    return change


def swapped() -> Change:
    """The token that another of the inputs has in this place."""
    return lambda tokens, rng: np.roll(tokens, rng.integers(1, max(2, len(tokens))), axis=0)


# --- parts ------------------------------------------------------------------------------------------------------------


def _inputs(inputs: np.ndarray, wanted: checks.Shape = ("N", "T", ...)) -> np.ndarray:
    inputs = checks.numbers(inputs, "inputs")
    if inputs.ndim < 2 or not inputs.size or (wanted == ("N", "T") and inputs.ndim > 2):
        shown = "(N, T)" if wanted == ("N", "T") else "(N, T, …)"
        raise ValueError(f"inputs: expected an array {shown}, with N and T from 1 on, got shape {inputs.shape}")
    return inputs


def _with(inputs: np.ndarray, place: int, token: np.ndarray | int) -> np.ndarray:
    new = inputs.copy()
    new[:, place] = token
    return new


def _changed(change: Change, tokens: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    new = checks.numbers(change(tokens, rng), "change")
    if new.shape != tokens.shape:
        raise ValueError(f"change: expected tokens of the shape {tokens.shape} that they had, got {new.shape}")
    return new


def _decided(f: Model, inputs: np.ndarray) -> np.ndarray:
    return np.concatenate([_decision(f, inputs[at : at + _CHUNK]) for at in range(0, len(inputs), _CHUNK)])


def _decision(f: Model, inputs: np.ndarray) -> np.ndarray:
    found = decisions(f(inputs))
    if len(found) != len(inputs):
        raise ValueError(f"f: expected an answer for each of {len(inputs)} inputs, got {len(found)}")
    return found


def _mean(changed: np.ndarray, present: np.ndarray) -> Sensitivity:
    counts = present.sum(0)
    each = changed.sum(1) / present.sum(1)
    places = np.divide(changed.sum(0), counts, out=np.full(len(counts), math.nan), where=counts > 0)
    error = float(each.std(ddof=1) / math.sqrt(len(each))) if len(each) > 1 else math.nan
    return Sensitivity(float(each.mean()), error, places, each)
