"""Norm and curvature of each group of weights: all that a PAC-Bayes bound wants to know of a network.

    N_g = ‖θ_g‖²,   h_g = Tr ∇²L over group g = 2 E_x‖∂f̂(x)/∂θ_g‖² where the loss is zero (SP Thm 5)

They come from any network that is measured, or, for the hand-built one, from closed forms. For w disjoint components
of degree d with equal weights the expectation over all 2^T inputs is a finite sum: tiles are independent, and what one
of them adds depends on its own number of ones, on the number s of ones in all, and on the number q of even tiles.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flatcube import checks
from flatcube.handmade import design, formulas

__all__ = ["Account", "of_model", "of_tiling", "of_disjoint", "disjoint", "expected_gradients"]

INPUTS = ("tokens", "positions")  # what SP's network does not train
MLP_IN, MLP_OUT = ("E", "b"), ("F", "F positions")
_LONGEST, _WORK = 2000, 10**8


@dataclass(frozen=True)
class Account:
    """Squared norms and traces by group; both have the same keys."""

    norms: dict[str, float]
    traces: dict[str, float]

    def __post_init__(self) -> None:
        mapped = isinstance(self.norms, Mapping) and isinstance(self.traces, Mapping)
        if not mapped or not self.norms or self.norms.keys() != self.traces.keys():
            got = (", ".join(d) if isinstance(d, Mapping) and d else f"{d!r:.40}" for d in (self.norms, self.traces))
            raise ValueError(f"norms, traces: expected the same groups, got {' and '.join(got)}")
        for values in (self.norms, self.traces):
            for name, value in values.items():
                checks.positive(value, name, 0)

    @property
    def norm2(self) -> float:
        """‖θ‖²."""
        return math.fsum(self.norms.values())

    @property
    def trace(self) -> float:
        """Tr ∇²L."""
        return math.fsum(self.traces.values())

    def rescaled(self, alpha: float) -> "Account":
        """After (E, b, F) → (αE, αb, F/α), which leaves the function as it is: norms grow by α², traces shrink by it
        where weights grow (SP App. D)."""
        square = checks.positive(alpha, "alpha") ** 2
        if missing := {"E", "b", "F"} - self.norms.keys():
            raise ValueError(f"groups: expected E, b and F, which are rescaled, got no {', '.join(sorted(missing))}")
        factor = dict.fromkeys(self.norms, 1.0) | dict.fromkeys(MLP_IN, square) | dict.fromkeys(MLP_OUT, 1 / square)
        return Account(
            {name: value * factor[name] for name, value in self.norms.items()},
            {name: value / factor[name] for name, value in self.traces.items()},
        )

    def best_rescaling(self) -> float:
        """The α that makes ‖θ‖² · Tr ∇²L smallest, and with it the truncated bound: between those for each alone."""
        squares = np.geomspace(1e-3, 1e6, 4000)
        products = [(moved := self.rescaled(math.sqrt(s))).norm2 * moved.trace for s in squares]
        return math.sqrt(float(squares[int(np.argmin(products))]))


def of_model(
    model: Any, x: Any, *, groups: Mapping[str, str] | None = None, exclude: Sequence[str] = INPUTS
) -> Account:
    """The account of a network at inputs x, as if its loss there were zero: h_g = 2 E‖∂f/∂θ_g‖².

    A group is a parameter; ``groups`` may give parameters other names, and the same name to several of them. Weights
    that are not trained are left out by ``exclude``; a network that trains its embeddings needs ``exclude=()``.
    """
    from flatcube import sharpness  # which needs torch

    found = sharpness.gradient_norms(model, x, exclude=exclude)
    weights = dict(model.named_parameters())
    names, norms, traces = _named(weights, groups), {}, {}
    for name, squares in found.items():
        group = names[name]
        norms[group] = norms.get(group, 0.0) + float(weights[name].detach().double().square().sum())
        traces[group] = traces.get(group, 0.0) + 2 * float(squares.double().mean())
    return Account(norms, traces)


def _named(weights: Mapping[str, Any], groups: Mapping[str, str] | None) -> dict[str, str]:
    """The group of every weight: its own name, or what ``groups`` calls it."""
    groups = {} if groups is None else checks.instance(groups, "groups", Mapping)
    for name, group in groups.items():
        if name not in weights:
            raise ValueError(f"groups: expected names of weights, {', '.join(weights)}, got {name!r}")
        checks.instance(group, f"groups[{name}]", str)
    return {name: groups.get(name, name) for name in weights}


def of_tiling(
    T: int, d: int, w: int, *, tau: float = 0.01, kappa: float = 0.5, columns: bool = False, **options: Any
) -> Account:
    """The account for w disjoint components of degree d among T bits, λ_i = 2/√w: exact over all 2^T inputs.

    Norms are those of mode "soft"; its traces differ from these by O(τ). ``columns`` splits F: the column for the bit,
    which holds its weights, and those for positions, which are zero. ``options`` go to ``Design``.
    """
    return of_disjoint(disjoint(T, d, w, mode="soft", tau=tau, kappa=kappa, **options), columns=columns)


def of_disjoint(plan: design.Design, *, columns: bool = False) -> Account:
    """The account for equal weights on disjoint components, from ``expected_gradients``: exact over all 2^T inputs."""
    means = {name: 2 * value for name, value in expected_gradients(plan).items()}
    return _joined(formulas.norms(plan), means, columns)


def _joined(norms: dict[str, float], traces: dict[str, float], columns: bool) -> Account:
    position, bit = traces.pop("F positions"), traces.pop("F bit")
    if columns:
        return Account(norms | {"F positions": 0.0}, traces | {"F": bit, "F positions": position})
    return Account(norms, traces | {"F": bit + position})


def disjoint(T: int, d: int, w: int, **choices: Any) -> design.Design:
    """The design for w disjoint sets {1..d}, {d+1..2d}, … with λ_i = 2/√w, which has variance 1."""
    for name, number in {"T": T, "d": d, "w": w}.items():
        checks.integer(number, name, 1, _LONGEST)
    if d > T:
        raise ValueError(f"d: expected a degree of at most T = {T}, got {d}")
    if w * d > T:
        raise ValueError(f"w: expected at most {T // d} disjoint components of degree {d} in {T} bits, got {w}")
    sets = [tuple(range(1 + i * d, 1 + (i + 1) * d)) for i in range(w)]
    return design.Design([(members, 2 / math.sqrt(w)) for members in sets], T, **choices)


# --- exact expectations -----------------------------------------------------------------------------------------------


def expected_gradients(plan: design.Design) -> dict[str, float]:
    """E_x‖∂f̂(x)/∂θ_g‖² of ``formulas.gradient_norms``, over all 2^T inputs, for equal weights on disjoint components.

    With y_i the part of component i, E(Σ_i y_i)² = w E y₁² + w(w−1) E y₁y₂; E runs over the ones n in one or two tiles
    and over what the other tiles and the spare bits hold together, (s, q), whose distribution is a convolution.
    """
    checks.instance(plan, "plan", design.Design)
    T, d, w, weight = plan.T, plan.degree, len(plan.components), plan.weights[0]
    disjoint_sets = plan.is_basic and len(set().union(*plan.subsets)) == w * d
    if not disjoint_sets or np.ptp(plan.weights) or plan.mode == "sink" or plan.beta <= design.least_scale(plan):
        raise ValueError("plan: expected disjoint sets of one size, equal weights, no sink and a sufficient scale")
    pairs = (d + 1) ** 3 * (T - 2 * d + 1) * w if w > 1 else 0
    if T**3 / 100 + T * d * w**2 + 3 * pairs > _WORK:  # about ten seconds
        raise ValueError(f"plan: expected a smaller one, of which all inputs can be averaged, got {T=}, {d=}, {w=}")
    inverse, logits = math.exp(-plan.beta), plan.mixers[0].logits
    kinks, slopes = (part.ravel() for part in design.breakpoints(d, plan.grid))
    total = dict.fromkeys(("E", "b", "F bit", "F positions"), 0.0)
    for tiles, count in ((1, w), (2, w * (w - 1))):
        if not count:
            continue
        ones, chance = _tile(d)
        n = [ones.reshape(-1, *[1] * (tiles + 1 - k)) for k in range(tiles)]  # one axis for each tile, then s, q
        rest = _others(w - tiles, T - w * d, d)
        chances = rest * math.prod(chance.reshape(each.shape) for each in n)
        s = sum(n) + np.arange(rest.shape[0])[:, None]
        q = sum(each % 2 == 0 for each in n) + np.arange(rest.shape[1])
        a = [(each * (1 - inverse) + s * inverse) / (d + (T + 1 - d) * inverse) for each in n]
        turn = math.prod((each % 2 == 0) - q / w for each in (n[0], n[-1]))
        for kink, slope in zip(kinks, slopes, strict=True):
            active = chances * (n[0] > kink * d) * (n[-1] > kink * d)
            moved = (a[0] - kink) * (a[-1] - kink)
            total["b"] += count * float(slope**2 * active.sum())
            total["E"] += count * float(slope**2 * (active * a[0] * a[-1]).sum())
            total["F bit"] += count * float((active * moved).sum())
            total["F positions"] += count * float(np.square(logits).sum()) * float((active * moved * turn).sum())
    joint = _others(w, T - w * d, d)
    s, share = np.arange(joint.shape[0])[:, None], np.arange(joint.shape[1]) / w
    turned = w * weight**2 * share * (1 - share) + (w * weight * share * (1 - share)) ** 2
    second = joint * (1 + np.square(design.wave(s / (T + 1), d))) * turned
    means = {name: float(weight**2) * value for name, value in total.items()}
    return means | {"W1": 0.0, "V1": 0.0, "W2": float(second.sum()), "v2": float((joint * (1 / w + share**2)).sum())}


def _tile(d: int) -> tuple[np.ndarray, np.ndarray]:
    """How many of d fair bits are ones, and how probable that is."""
    ones = np.arange(d + 1)
    return ones, np.array([math.comb(d, k) / 2**d for k in ones.tolist()])


def _others(tiles: int, spare: int, d: int) -> np.ndarray:
    """P[s, q]: that ``tiles`` tiles and ``spare`` further bits hold s ones, and q of the tiles an even number."""
    table = np.zeros((spare + tiles * d + 1, tiles + 1))
    table[: spare + 1, 0] = _tile(spare)[1]
    for _ in range(tiles):
        moved = np.zeros_like(table)
        for k, chance in zip(*_tile(d), strict=True):
            even = int(k % 2 == 0)
            moved[k:, even:] += chance * table[: len(table) - k, : table.shape[1] - even]
        table = moved
    return table
