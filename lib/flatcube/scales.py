"""How large the logits must be: the scale R, what it leaves to error, and what Δ > 0 does to it (ED App. B).

Among T + 1 logits, those of the chosen positions should be R and the others 0. The softmax then spreads almost evenly
over the chosen ones, and R decides how much leaks to the rest. All lengths T count the bits without [CLS].
"""

import math

import numpy as np

from flatcube import cube

__all__ = [
    "logit_scale", "largest_coherence", "worst_error", "smallest_scale", "truncated", "truncation_bound",
    "lookup_radius",
]  # fmt: skip

ENCODINGS, OUTPUTS, FORMS = ("fixed", "trainable", "bag"), ("one", "each"), ("repaired", "printed")


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
    limit = largest_coherence(T, s, gamma, encoding=encoding, form=form)
    strict = form == "printed" or limit == 1
    if not coherence >= 0 or (coherence >= limit if strict else coherence > limit * (1 + 1e-9)):
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
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma: expected a number above 0 and at most 1, got {gamma}")
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
    if not abs(R) <= 700:
        raise ValueError(f"R: expected a number from −700 to 700, where e^R is a number too, got {R}")
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
    if not error > 0:
        raise ValueError(f"error: expected a number above 0, got {error}")
    if encoding == "bag":
        return math.log(max(T * ((s if outputs == "one" else 1) / error - 1), 1.0))
    s = s if outputs == "one" else 1
    return math.log(max(((2 * (T - s) + 1) / error - (T + 1 - s)) / s, 1.0))


def truncated(logits: np.ndarray, s: int) -> np.ndarray:
    """The softmax (…, T) of the first s logits alone, 0 for the others: what ED's Lemma B.7 compares with."""
    logits = np.asarray(logits, float)
    weights = np.exp(logits - logits[..., :s].max(-1, keepdims=True)) * (np.arange(logits.shape[-1]) < s)
    return weights / weights.sum(-1, keepdims=True)


def truncation_bound(T: int, s: int, R: float) -> float:
    """2(T − s)/(s e^R): if s of T logits are at least R and the rest at most 0, so much the rest changes in ℓ₁."""
    return 2 * (T - s) / (s * math.exp(R))


def lookup_radius(gamma: float, *, form: str = "repaired") -> float:
    """δ of the lookup for signals γ apart: γ/4, as far off as a signal may be; printed, γ/8 (erratum 42)."""
    return gamma / (8 if form == "printed" else 4)


def _check(T: int, s: int, **words: str) -> None:
    cube.check_integer(s, "s", 1, cube.check_integer(T, "T", 1))
    for name, allowed in (("encoding", ENCODINGS), ("outputs", OUTPUTS), ("form", FORMS)):
        if words.get(name, allowed[0]) not in allowed:
            raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {words[name]!r}")
