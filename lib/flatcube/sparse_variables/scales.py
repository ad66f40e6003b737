"""How large the logits must be: the scale R, what it leaves to error, and what Δ > 0 does to it (ED App. B).

Among T + 1 logits, those of the chosen positions should be R and the others 0. The softmax then spreads almost evenly
over the chosen ones, and R decides how much leaks to the rest. All lengths T count the bits without [CLS].
"""

import math

import numpy as np

from flatcube import checks

__all__ = [
    "ENCODINGS", "OUTPUTS", "FORMS",
    "logit_scale", "largest_coherence", "worst_error", "smallest_scale", "truncated_softmax", "truncation_bound",
    "lookup_radius",
]  # fmt: skip

ENCODINGS, OUTPUTS, FORMS = ("fixed", "trainable", "bag"), ("one", "each"), ("repaired", "printed")
WORDS = {"encoding": ENCODINGS, "outputs": OUTPUTS, "form": FORMS}

_STEEPEST = 700  # where e^R is a number too
_LONGEST = 10**18


def logit_scale(
    T: int, s: int, gamma: float, coherence: float = 0.0, *, encoding: str = "fixed", form: str = "repaired"
) -> float:
    """R for a signal that is right to γ/4, when s vectors of coherence Δ are added up in one key.

    ====================  ============================  =================================
    encoding              printed                       repaired
    ====================  ============================  =================================
    fixed                 log(8T/γ)/(1 − sΔ)            log(8T/γ); for Δ > 0, log(16T/γ)
    fixed, s = 1          the same                      log(8T/γ)/(1 − Δ)
    trainable             log(8T/γ)                     log(8T/γ)
    bag                   log(8Ts(1+Δ)/(γ−sΔ))/(1−sΔ)   log(8Ts/γ); for Δ > 0, log(16Ts/γ)
    ====================  ============================  =================================

    The printed R assumes Δ < 1/s (the bag: sΔ < γ too), the repaired one Δ ≤ ``largest_coherence`` (errata 43, 44, 47).

    >>> round(logit_scale(20, 3, 2 / 3), 2), round(logit_scale(20, 3, 2 / 3, 0.1, form="printed"), 2)
    (5.48, 7.83)
    """
    bag = encoding == "bag"
    checks.number(coherence, "coherence", 0, 1)
    limit = largest_coherence(T, s, gamma, encoding=encoding, form=form)
    strict = form == "printed" or limit == 1
    if coherence >= limit if strict else coherence > limit * (1 + 1e-9):
        allowed = f"below {limit:.3g}" if strict else f"of at most {limit:.3g}"
        raise ValueError(f"vectors: expected a coherence {allowed} for the {form} scale, got {coherence:.3g}")
    if form == "printed":
        inside = 8 * T * s * (1 + coherence) / (gamma - s * coherence) if bag else 8 * T / gamma
        return math.log(inside) / (1 - s * coherence)
    if s == 1 and encoding == "fixed":
        return math.log(8 * T / gamma) / (1 - coherence)
    return math.log((8 if coherence == 0 else 16) * T * (s if bag else 1) / gamma)


def largest_coherence(T: int, s: int, gamma: float, *, encoding: str = "fixed", form: str = "repaired") -> float:
    """The Δ up to which ``logit_scale`` is meant to work.

    Printed: 1/s, for the bag also γ/s. Repaired: γ/(16sR) with R = log(16T/γ), for the bag γ/(16s²R) with
    R = log(16Ts/γ). Then the logits of the chosen positions differ so little that the softmax still averages: the
    error is at most γ/16 + e^{1/8}γ/8 < γ/4, for the bag γ/44 more. A key of one vector has nothing to average.

    >>> round(largest_coherence(20, 3, 2 / 3), 5), round(largest_coherence(20, 3, 2 / 3, form="printed"), 5)
    (0.00225, 0.33333)
    """
    _check(T, s, encoding=encoding, form=form)
    checks.fraction(gamma, "gamma")
    if encoding == "trainable":
        return 1.0
    if form == "printed":
        return min(1.0, gamma) / s if encoding == "bag" else 1 / s
    if encoding == "bag":
        return gamma / (16 * s**2 * math.log(16 * T * s / gamma))
    return 1.0 if s == 1 else gamma / (16 * s * math.log(16 * T / gamma))


def worst_error(T: int, s: int, R: float, *, encoding: str = "fixed", outputs: str = "one") -> float:
    """The largest |signal − target| over all inputs, for Δ = 0: exact.

    An average of s bits keeps the weight e^R/(s e^R + T + 1 − s) of each and leaks the rest; in the worst case all
    chosen bits agree, and all others disagree with them. A bag is worst when it holds no chosen vector.
    """
    _check(T, s, encoding=encoding, outputs=outputs)
    checks.number(R, "R", -_STEEPEST, _STEEPEST)
    if encoding == "bag":
        return (s if outputs == "one" else 1) * T / (math.exp(R) + T)
    s = s if outputs == "one" else 1
    return (2 * (T - s) + 1) / (s * math.exp(R) + T + 1 - s)


def smallest_scale(T: int, s: int, error: float, *, encoding: str = "fixed", outputs: str = "one") -> float:
    """The R at which ``worst_error`` falls to ``error``: with less, some input goes wrong.

    >>> R = smallest_scale(20, 3, 1 / 6)
    >>> round(R, 3), round(worst_error(20, 3, R), 6)
    (4.159, 0.166667)
    """
    _check(T, s, encoding=encoding, outputs=outputs)
    checks.positive(error, "error")
    if encoding == "bag":
        return math.log(max(T * ((s if outputs == "one" else 1) / error - 1), 1.0))
    s = s if outputs == "one" else 1
    return math.log(max(((2 * (T - s) + 1) / error - (T + 1 - s)) / s, 1.0))


def truncated_softmax(logits: np.ndarray, s: int) -> np.ndarray:
    """The softmax (…, T) of the first s logits alone, 0 for the others: what ED's Lemma B.7 compares with."""
    logits = checks.numbers(logits, "logits", (..., "T"))
    checks.integer(s, "s", 1, logits.shape[-1])
    weights = np.zeros(logits.shape)
    weights[..., :s] = np.exp(logits[..., :s] - logits[..., :s].max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def truncation_bound(T: int, s: int, R: float) -> float:
    """2(T − s)/(s e^R): if s of T logits are at least R and the rest at most 0, so much the rest changes in ℓ₁."""
    _check(T, s)
    return 2 * (T - s) / (s * math.exp(checks.number(R, "R", -_STEEPEST, _STEEPEST)))


def lookup_radius(gamma: float, *, form: str = "repaired") -> float:
    """δ of the lookup for signals γ apart: γ/4, as far off as a signal may be; printed, γ/8 (erratum 42)."""
    return checks.fraction(gamma, "gamma") / (8 if checks.word(form, "form", FORMS) == "printed" else 4)


def _check(T: int, s: int, **words: str) -> None:
    checks.integer(s, "s", 1, checks.integer(T, "T", 1, _LONGEST))
    for name, word in words.items():
        checks.word(word, name, WORDS[name])
