"""The account of the hand-built network in mode "soft", exact over all 2^T inputs, leak and all.

With c₂ = Λ + τ the w components enter the output with weights λ, as if there were no leak, and the n₀ = T + 1 − w other
positions together with weight τ: f̂ = f + τφ(x̄), where x̄ = s/(T+1) is the mean bit that all of them read. So they act
like one further component that reads x̄. It may stand on a ramp of the wave, φ'(x̄) ≠ 0, and then W1 and V1 have
gradients, too. With u = f̂/c₂, α_j the weight of position j, φ_j its value and g_j = α_j(φ_j − u):

    b   Σ slope²(Σ α_j 1_j)²,  E the same with α_j a_j,  F bit ‖Σ α_j r_j‖²,  v2  Σ (α_j/c₂)² + u²
    F positions  ‖ω‖² ‖Σ g_j r_j‖² + (Σ g_j ω_j)² ‖r_o‖²,       W2  (1 + φ(x̄)²)(Σ g_j² + (Σ g_j φ_j)²)
    V1  τ²φ'(x̄)² (1/(T+1) + x̄²)
    W1  (τφ'(x̄)/n₀)² (n₀ + N²) (v/(T+1) + v²),  v = x̄(1 − x̄),  N the ones at positions without a component

Given s, N is hypergeometric, because s does not say where the ones are.
"""

import math

import numpy as np

from flatcube.handmade import design, formulas
from flatcube.pacbayes import account

__all__ = ["of_soft"]


def of_soft(plan: design.Design, *, columns: bool = False) -> account.Account:
    """The account of mode "soft" for equal weights on disjoint components; its traces are 2 E‖∇f̂‖² of the network
    that is built, where ``of_disjoint`` has their limit for τ → 0."""
    means = {name: 2 * value for name, value in _gradients(plan).items()}
    return account._joined(formulas.norms(plan), means, columns)


def _gradients(plan: design.Design) -> dict[str, float]:
    """E_x‖∂f̂(x)/∂θ_g‖² over all 2^T inputs; see the head of this module."""
    found = account.expected_gradients(plan)
    if plan.mode != "soft":
        raise ValueError(f"plan: expected mode 'soft', got {plan.mode!r}; expected_gradients has the other")
    return found | _mlp(plan, found) | _attention(plan)


class _Inputs:
    """Inputs sorted by the ones n in the first ``tiles`` tiles, the ones s in all, and the even tiles q, and their
    probabilities: arrays with an axis for each."""

    def __init__(self, plan: design.Design, tiles: int) -> None:
        T, d, w, (mixer,) = plan.T, plan.degree, len(plan.components), plan.mixers
        ones, chance = account._tile(d)
        rest, inverse = account._others(w - tiles, T - w * d, d), math.exp(-plan.beta)
        self.n = [ones.reshape(-1, *[1] * (tiles + 1 - k)) for k in range(tiles)]
        self.chances = rest * math.prod(chance.reshape(each.shape) for each in self.n)
        self.s = sum(self.n) + np.arange(rest.shape[0])[:, None]
        self.even = [each % 2 == 0 for each in self.n]
        self.q = sum(self.even) + np.arange(rest.shape[1])
        self.a = [(each * (1 - inverse) + self.s * inverse) / (d + (T + 1 - d) * inverse) for each in self.n]
        self.mean = self.s / (T + 1)
        self.value = design.wave(self.mean, d)
        self.weight, self.leak = float(plan.weights[0]), mixer.output - w * float(plan.weights[0])
        self.u = (self.weight * self.q + self.leak * self.value) / mixer.output

    def expected(self, values: np.ndarray) -> float:
        return float((self.chances * values).sum())


def _mlp(plan: design.Design, found: dict[str, float]) -> dict[str, float]:
    """E, b and F: what the leak adds to what they have without it; F's positions anew."""
    d, w, omega2 = plan.degree, len(plan.components), float(np.square(plan.mixers[0].logits).sum())
    none, one = _Inputs(plan, 0), _Inputs(plan, 1)
    two = _Inputs(plan, 2) if w > 1 else None
    lam, tau = one.weight, one.leak
    total = {name: found[name] for name in ("E", "b", "F bit")} | {"F positions": 0.0}
    n, a, x, even = one.n[0], one.a[0], one.mean, one.even[0]
    pulls = (even - one.u) * (one.value - one.u)
    for kink, slope in zip(*(part.ravel() for part in design.breakpoints(d, plan.grid)), strict=True):
        own, both = none.mean > kink, 2 * w * lam * tau * (n > kink * d) * (x > kink)
        shift, product = np.square(none.mean - kink) * own, both * (a - kink) * (x - kink)
        total["b"] += slope**2 * (one.expected(both) + tau**2 * none.expected(own))
        total["E"] += slope**2 * (one.expected(both * a * x) + tau**2 * none.expected(own * none.mean**2))
        total["F bit"] += one.expected(product) + tau**2 * none.expected(shift)
        turned = tau**2 * none.expected(shift * np.square(none.value - none.u)) + one.expected(product * pulls)
        turned += w * lam**2 * one.expected((n > kink * d) * np.square((even - one.u) * (a - kink)))
        if two is not None:
            parts = [(m > kink * d) * (e - two.u) * (b - kink) for m, e, b in zip(two.n, two.even, two.a, strict=True)]
            turned += w * (w - 1) * lam**2 * two.expected(math.prod(parts))
        query = np.square(lam * (none.q - w * none.u)) / w * shift
        total["F positions"] += omega2 * (turned + none.expected(query))
    return total


def _attention(plan: design.Design) -> dict[str, float]:
    """W1, V1, W2 and v2."""
    T, w, (mixer,), at = plan.T, len(plan.components), plan.mixers, _Inputs(plan, 0)
    lam, tau, others, u, phi, q, x = at.weight, at.leak, T + 1 - w, at.u, at.value, at.q, at.mean
    kinks, slopes = (part.ravel() for part in design.breakpoints(plan.degree, plan.grid))
    ramp = tau * (slopes * (x[..., None] > kinks)).sum(-1)
    ones, varies = at.s * (T - w) / T, at.s * (T - w) * w * (T - at.s) / (T**2 * max(T - 1, 1))  # of N, given s
    spread = x * (1 - x)
    squares = lam**2 * (q * (1 - u) ** 2 + (w - q) * u**2) + tau**2 / others * (phi - u) ** 2
    along = lam * q * (1 - u) + tau * phi * (phi - u)
    shares = (w * lam**2 + tau**2 / others) / mixer.output**2
    return {
        "W1": at.expected(np.square(ramp / others) * (others + ones**2 + varies) * (spread / (T + 1) + spread**2)),
        "V1": at.expected(np.square(ramp) * (1 / (T + 1) + x**2)),
        "W2": at.expected((1 + phi**2) * (squares + along**2)),
        "v2": shares + at.expected(u**2),
    }
