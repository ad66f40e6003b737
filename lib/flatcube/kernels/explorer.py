"""Choose a kernel: its eigenvalues by degree, and the pace at which gradient flow learns each degree.

State::

    {"kernel": "ck",   conjugate or tangent kernel of an MLP, attention over bits, a stored one, or a polynomial
     "n": 8,           bits (stored kernels have 8)
     "depth": 2,       layers of ReLUs
     "a1": 0.5, "a2": -1.0, "a3": 0.25, "a4": 0.0,   Ψ(c) = 1 + a₁c + a₂c² + a₃c³ + a₄c⁴
     "time": 1.5}      log₁₀ of the time t of the flow

``mu:k`` are the eigenvalues, means over the sets of k bits; ``low:k`` and ``high:k`` the least and the largest, for
stored kernels, which have no eigenvalue for each degree; ``left:k`` is e^{−μ_k t}, at most e⁵⁰. Stored kernels are
those of ``data/architectures.csv``.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store
from flatcube.kernels import profiles, spectra

__all__ = ["KernelsExplorer"]

STORED = {"softmax": "softmax attention", "pairs": "linear attention and ReLUs, tokens of 2 bits"}
_SMALL = 1e-13


class KernelsExplorer(Explorer):
    """Eigenvalues by degree, and the learning curves that they make."""

    name = "kernels"
    label = "Eigenvalues of a kernel by degree, and how fast gradient flow learns each degree"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        mu, low, high, leak = _spectrum(state)
        shown: dict[str, float | str] = {
            key: float(state[key]) for key in state if key != "kernel" and cls.schema[key].counts(state)
        }
        shown |= {f"mu:{k}": float(value) for k, value in enumerate(mu)}
        shown |= {f"left:{k}": math.exp(min(50.0, -value * 10 ** state["time"])) for k, value in enumerate(mu)}
        if state["kernel"] in STORED:
            shown |= {f"low:{k}": float(value) for k, value in enumerate(low)}
            shown |= {f"high:{k}": float(value) for k, value in enumerate(high)} | {"leak": leak}
        return shown | {"verdict": _verdict(mu)}

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """The spectra of the kernels that are no functions of ⟨x, y⟩."""
        return stored_results()

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """Eigenvalues on a logarithmic axis: discs for even degrees, squares for odd ones."""
        mu, *_ = _spectrum(cls.complete(state))
        parts = []
        for k, value in enumerate(mu):
            x, y = 30 + 340 * k / (len(mu) - 1), 180 - 160 * (max(-8.0, math.log10(abs(value) or 1e-9)) + 8) / 9
            colour = SERIES[k % 2]
            fill = "none" if value <= 0 else colour
            parts.append(
                f'<rect x="{x - 6:.4g}" y="{y - 6:.4g}" width="12" height="12" rx="{0 if k % 2 else 6}" '
                f'stroke="{colour}" stroke-width="2" fill="{fill}"/>'
            )
        return f'<svg viewBox="0 0 400 200" width="400" role="img" aria-label="{cls.label}">{"".join(parts)}</svg>'


def _psi(state: Mapping[str, Any]) -> spectra.Profile:
    if state["kernel"] == "own":
        return lambda c: 1 + sum(state[f"a{p}"] * c**p for p in (1, 2, 3, 4))
    if state["kernel"] == "attention":
        return lambda c: profiles.attention(c, state["n"], 0.5, "mark", state["depth"])
    kind = {"ck": profiles.conjugate, "ntk": profiles.tangent}[state["kernel"]]
    return lambda c: kind(c, state["depth"])


def _spectrum(state: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Means, least and largest eigenvalue for each degree, and what the kernel has beside parities."""
    if state["kernel"] in STORED:
        if not stored_results():
            raise ValueError("data/architectures.csv is not there: flatcube run architectures and flatcube export "
                             "architectures make it")  # fmt: skip
        found = stored_results()[state["kernel"]]
        return *(np.array(found[name]) for name in ("mean", "low", "high")), found["leak"]
    mu = spectra.eigenvalues(_psi(state), state["n"])
    mu = np.where(np.abs(mu) < _SMALL * np.abs(mu).max(), 0.0, mu)
    return mu, mu, mu, 0.0


def _verdict(mu: np.ndarray) -> str:
    slack = 1e-12 * float(np.abs(mu).max())
    broken = [k for k in range(len(mu) - 2) if mu[k + 2] > mu[k] + slack]
    if not broken:
        return "No degree has a larger eigenvalue than the one two below it."
    return "Out of order: " + ", ".join(f"degree {k + 2} is above degree {k}" for k in broken) + "."


@cache
def stored_results() -> dict[str, Any]:
    """``mean``, ``low``, ``high`` for each degree and the ``leak`` of every stored kernel; empty, if there are none."""
    if not (store.DATA / "architectures.csv").exists():
        return {}
    rows = store.load("architectures")
    found = {}
    for key, kernel in STORED.items():
        own = sorted((row for row in rows if row["kernel"] == kernel), key=lambda row: int(row["degree"]))
        found[key] = {name: [float(f"{float(row[name]):.6g}") for row in own] for name in ("mean", "low", "high")}
        found[key]["leak"] = float(f"{float(own[0]['leak']):.6g}")
    return found
