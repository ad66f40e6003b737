"""The PAC-Bayes calculator: the terms of the truncated bound for sums of disjoint parities, and when it says something.

State::

    {"T": 24,              bits
     "d": 2,               degree of a component
     "w": 12,              disjoint components with weights 2/√w; w·d ≤ T
     "m": 6,               log₁₀ of the number of examples, in halves
     "sigma": 0,           tenths of a decade from the best σ
     "delta": 0.05,        how often the bound may fail
     "C": 0.1,             the sub-Gaussian constant
     "kind": "isotropic"}  one σ for all weights, or "grouped": one for each matrix, all moved by the same factor

Norms are those of the hand-built network in soft mode, τ = 0.01, κ = ½; traces are their limit for τ → 0. Grouped means
the limit without caps, in which noise in W₁ and V₁ is free.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from flatcube import capacity, pacbayes
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES

__all__ = ["PacBayesExplorer"]


class PacBayesExplorer(Explorer):
    """The three terms, their sum, the number of examples from which on it is below 1, and Occam's beside it."""

    name = "pacbayes"
    label = "The PAC-Bayes calculator, the terms of the bound for sums of disjoint parities"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        if state["w"] * state["d"] > state["T"]:
            raise ValueError(f"w: expected w·d ≤ T = {state['T']}, got {state['w']}·{state['d']}")
        return state

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        account, bound = _account(*(state[key] for key in "Tdw")), _bound(state, 10.0 ** state["m"])
        occam = capacity.samples_needed(
            lambda m: capacity.occam(*(state[key] for key in "Tdw"), m=m, delta=state["delta"])
        )
        return {
            **{key: float(state[key]) for key in ("T", "d", "w", "sigma", "m")},
            "norm2": float(round(account.norm2)),
            "trace": float(round(account.trace)),
            "noise": 1000 * (bound.sigma if state["kind"] == "isotropic" else bound.sigma["b"]),
            **{f"term:{name}": term for name, term in bound.terms.items()},
            "value": bound.value,
            "needed": math.log10(capacity.samples_needed(lambda m: _bound(state, m))),
            "occam": math.log10(occam),
            "verdict": "The bound promises less." if bound.value < 1 else "The bound promises no less.",
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The three terms as a stack, as wide as their sum."""
        state = cls.complete(state)
        bound = _bound(state, 10.0 ** state["m"])
        x, blocks = 0.0, []
        for k, (name, term) in enumerate(bound.terms.items()):
            width = 400 * term / bound.value
            blocks.append(f'<rect x="{x:.1f}" y="20" width="{width:.1f}" height="40" fill="{SERIES[k]}"/>')
            if width > 70:
                text = f"{name} {term:.3f}"
                blocks.append(f'<text x="{x + 4:.1f}" y="74" font-size="11" fill="var(--fc-ink, #222)">{text}</text>')
            x += width
        return f'<svg viewBox="0 0 400 90" width="400" role="img" aria-label="{cls.label}">{"".join(blocks)}</svg>'


@cache
def _account(T: int, d: int, w: int) -> "pacbayes.Account":
    return pacbayes.of_tiling(T, d, w)


def _bound(state: Mapping[str, Any], m: float) -> "pacbayes.Promise":
    account, factor = _account(*(state[key] for key in "Tdw")), 10 ** (state["sigma"] / 10)
    given = {"m": m, "C": state["C"], "delta": state["delta"]}
    if state["kind"] == "isotropic":
        best = pacbayes.best_sigma(account.norm2, account.trace, m=m, C=state["C"])
        return pacbayes.truncated(account.norm2, account.trace, sigma=factor * best, **given)
    best = pacbayes.group_sigmas(account.norms, account.traces, m=m, C=state["C"])
    moved = {group: factor * sigma for group, sigma in best.items()}
    return pacbayes.grouped(account.norms, account.traces, sigma=moved, **given)
