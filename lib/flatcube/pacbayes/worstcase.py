"""How far noise in the weights of the hand-built network can move its output: a bound that can be computed.

Fix an input. An error is followed from W₁ to v₂, to all orders, with two sharp facts: softmax moves by at most
½‖·‖₁ ≤ tanh(½‖u − v‖_∞), and on a plateau the MLP does not see what the first attention delivers. Let ν bound the error
of the value that a component reads, h_∞ that of a pre-activation, and μ the distance of all of them to the nearest
kink. If h_∞ ≤ μ no ReLU flips; then only the noise inside the MLP counts, ζ times the slopes ‖s_i‖.

    δφ = ‖s‖ζ + r̄ρ_F,   δ₂ = r̄ρ_F‖ω‖_∞ + (1 + r̄ρ_F)‖ω‖r̄ρ_F + z̄_o z̄ ρ_{W₂},
    |f̂_{θ+Δ}(x) − f̂_θ(x)| ≤ Λ tanh(δ₂/2) + Λδφ + z̄ρ_{v₂}.

``deterministic`` takes any perturbation with matrix norms up to ρ; ``gaussian`` takes noise and holds with probability
1 − δ′: each matrix is independent of what comes before it, so that twelve events, each of probability δ′/12 at most,
replace the norms by √(2 log(…)). Both are for mode "hard", positive weights, sets of one size and a scale above the
threshold: then f̂_θ is the target, and a component stands strictly inside its plateau.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flatcube import checks
from flatcube.handmade import design
from flatcube.handmade.design import Design

__all__ = ["Change", "Place", "place", "deterministic", "gaussian", "largest", "longest_gaussian"]

GROUPS = ("W1", "V1", "E", "b", "F", "W2", "v2")
_EVENTS = 12


class Place(NamedTuple):
    """What the chain needs to know about a network at each input, (batch,) each."""

    plan: Design
    margin: np.ndarray  # μ: from a pre-activation of a component to its nearest kink
    top: np.ndarray  # the largest value read, by components or others
    slope: np.ndarray  # max_i ‖s_i‖, over the neurons that are active
    reach: np.ndarray  # the largest ‖r‖, of components or others


class Change(NamedTuple):
    """A bound (batch,) on |f̂_{θ+Δ}(x) − f̂_θ(x)|, and whether no ReLU of a component can flip (batch,)."""

    bound: np.ndarray
    no_flip: np.ndarray


class _Noise(NamedTuple):
    """Bounds on the noise, wherever it enters; F and W₂ multiply what they read."""

    tilt: float
    read: float  # ν
    inside: np.ndarray  # ζ as felt by the slopes
    single: np.ndarray  # h_∞ − ν
    joint: np.ndarray  # h₂ − ν√H
    column: float
    row: float
    second: float
    last: float


def place(plan: Design, bits: np.ndarray) -> Place:
    """The network of a design at bits (batch, T)."""
    checks.instance(plan, "plan", Design)
    if plan.mode != "hard" or not plan.is_basic or plan.beta <= design.least_scale(plan):
        raise ValueError("plan: expected mode 'hard', positive weights, sets of one size, a scale above the threshold")
    d = plan.degree
    kinks, slopes = (part.ravel() for part in design.breakpoints(d, plan.grid))
    bits = design.check_bits(bits, plan.T)
    a, mean = design.prefix_sums(plan, bits), bits.sum(axis=1) / (plan.T + 1)
    apart = a[..., None] - kinks  # (batch, w, H)
    spare = np.linalg.norm(np.maximum(mean[:, None] - kinks, 0), axis=1)
    return Place(
        plan,
        np.abs(apart).min(axis=(1, 2)),
        np.maximum(a.max(axis=1), mean),
        np.sqrt(((apart > 0) * np.square(slopes)).sum(axis=2)).max(axis=1),
        np.maximum(np.linalg.norm(np.maximum(apart, 0), axis=2).max(axis=1), spare),
    )


def deterministic(where: Place, radii: float | Mapping[str, float]) -> Change:
    """For any Δ with ‖Δ_g‖ ≤ ρ_g in every matrix g."""
    checks.instance(where, "where", Place)
    rho = _by_group(radii, "radii")
    tilt = math.tanh(rho["W1"])
    read = tilt + math.sqrt(2) * rho["V1"]
    inside = (where.top + read) * rho["E"] + rho["b"]
    return _chain(where, _Noise(tilt, read, inside, inside, inside, rho["F"], rho["F"], rho["W2"], rho["v2"]))


def gaussian(where: Place, sigma: float | Mapping[str, float], delta: float) -> Change:
    """For Δ with independent N(0, σ_g²) entries, with probability 1 − ``delta`` at each input."""
    checks.instance(where, "where", Place)
    sd, rare = _by_group(sigma, "sigma"), checks.probability(delta, "delta") / _EVENTS
    n, D, w = where.plan.T + 1, where.plan.T + 2, len(where.plan.components)
    H = design.breakpoints(where.plan.degree, where.plan.grid)[0].size

    tilt = math.tanh(sd["W1"] * largest(n * n, rare))
    read = tilt + math.sqrt(2) * sd["V1"] * largest(n, rare)
    row = where.top + tilt + math.sqrt(2) * sd["V1"] * longest_gaussian(D, n, rare)
    inside = np.hypot(sd["b"], sd["E"] * row)
    parts = inside * largest(w, rare), inside * largest(n * H, rare), inside * longest_gaussian(H, n, rare)
    entry = largest(n, rare)
    later = sd["F"] * entry, sd["F"] * longest_gaussian(D, n, rare), sd["W2"] * entry, sd["v2"] * largest(1, rare)
    return _chain(where, _Noise(tilt, read, *parts, *later))


def largest(count: int, rare: float) -> float:
    """√(2 log(2k/δ)): above the largest of k numbers |N(0, 1)| but for probability δ, dependent or not."""
    return math.sqrt(2 * math.log(2 * checks.count(count, "count") / checks.probability(rare, "rare")))


def longest_gaussian(size: int, count: int, rare: float) -> float:
    """√q + √(2 log(k/δ)): above the longest of k Gaussian vectors of q entries but for probability δ (SP Lemma 20)."""
    far = 2 * math.log(checks.count(count, "count") / checks.probability(rare, "rare"))
    return math.sqrt(checks.count(size, "size")) + math.sqrt(far)


def _chain(where: Place, noise: _Noise) -> Change:
    plan, (mixer,) = where.plan, where.plan.mixers
    slopes = design.breakpoints(plan.degree, plan.grid)[1].ravel()
    F, H, total, omega = np.linalg.norm(slopes), len(slopes), abs(mixer.output), mixer.logits
    spread = noise.read * math.sqrt(H) + noise.joint
    no_flip = noise.read + noise.single <= where.margin
    first = np.where(no_flip, where.slope * noise.inside, F * spread)
    hidden = where.reach + spread
    column, row = hidden * noise.column, hidden * noise.row
    value, at_output = first + column, F * spread + column
    key, query = math.sqrt(2) + value + row, math.sqrt(2) + at_output + row
    length = np.linalg.norm(omega)
    logit = column * np.abs(omega).max() + (1 + column) * length * column + query * key * noise.second
    return Change(total * np.tanh(logit / 2) + total * value + key * noise.last, no_flip)


def _by_group(given: float | Mapping[str, float], name: str) -> dict[str, float]:
    values = dict(given) if isinstance(given, Mapping) else dict.fromkeys(GROUPS, given)
    if set(values) != set(GROUPS):
        raise ValueError(f"{name}: expected a number, or one for each of {', '.join(GROUPS)}, got {', '.join(values)}")
    return {group: checks.positive(value, f"{name}[{group}]", 0) for group, value in values.items()}
