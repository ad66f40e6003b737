"""What fixes the hand-built network: its choices, the scale that they need, the wave.

The target is f(x) = Σ_i λ_i even_{S_i}(x) on bits x ∈ {0,1}^T (SP Eq. 1), with Λ = Σ|λ_i| and d = max|S_i|.
Component i is computed at position i; position o = T+1 is the output, its bit is 0. In the first attention, position i
looks at S_i with logit β and at everything else with logit 0: the mean of the bits it sees is close to n_i/d, where
n_i counts the ones in S_i. A component shorter than d is padded: it also looks at the output position, with logit
β + log(d − |S_i|).

Only numpy is needed here. ``flatcube.handmade`` turns a ``Design`` into a network with weights.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from flatcube import checks, cube

__all__ = ["Design", "Mixer", "wave", "breakpoints", "least_scale", "prefix_sums", "target_values"]

_LEAST = -700.0  # e^700 is a number
MODES, GRIDS = ("hard", "soft", "sink"), ("full", "trimmed")


class Mixer(NamedTuple):
    """One head of the second attention: it forms the sum over ``members`` (indices of components of one sign)."""

    members: tuple[int, ...]
    logits: np.ndarray  # (w_h,) γ + log|λ_i|
    output: float  # c₂, the only entry of the value vector


@dataclass(frozen=True)
class Design:
    """Components [(subset of 1..T, weight λ), …] with all choices that fix the network; bad ones are refused.

    mode   "hard": a mask keeps the second attention on the components. "soft": no mask, components of one sign are
           lifted by γ = log((T+1−w)/τ), the error is at most τ. "sink": no mask and no error; the other positions see
           a value at which the MLP is 0 (equal degrees and positive weights only).
    scale  the logit β; by default log(4T/κ), which keeps every prefix sum within κ/(4d) of the grid
    gamma  the lift γ of the second logits; by default 0 (hard), as above (soft), 1 (sink)
    grid   "full": four ReLUs for each k = 0..d; "trimmed": only for even k
    """

    components: tuple[tuple[tuple[int, ...], float], ...]
    T: int
    mode: Literal["hard", "soft", "sink"] = "hard"
    kappa: float = 0.5
    scale: float | None = None
    tau: float = 0.01
    gamma: float | None = None
    grid: Literal["full", "trimmed"] = "full"

    def __post_init__(self) -> None:
        checks.integer(self.T, "T", 1)
        object.__setattr__(self, "components", _checked_components(self.components, self.T))
        checks.word(self.mode, "mode", MODES)
        checks.word(self.grid, "grid", GRIDS)
        checks.fraction(self.kappa, "kappa")
        checks.positive(self.tau, "tau")
        for name in ("scale", "gamma"):
            if getattr(self, name) is not None:
                checks.number(getattr(self, name), name, _LEAST)  # e^−β and e^−γ are numbers
        if self.mode == "sink" and not self.is_basic:
            raise ValueError(
                "mode: 'sink' needs subsets of one size and positive weights, because padding and the sink would both "
                "use the output position; take 'hard' or 'soft'"
            )

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """S_1, …, S_w."""
        return [members for members, _ in self.components]

    @property
    def weights(self) -> np.ndarray:
        """λ, (w,)."""
        return np.array([weight for _, weight in self.components])

    @property
    def degree(self) -> int:
        """d, the largest size of a subset; a constant alone uses the grid of d = 1."""
        return max(1, *map(len, self.subsets), 0)

    @property
    def is_basic(self) -> bool:
        """Whether all subsets have the same size ≥ 1 and all weights are positive (SP App. B)."""
        return {len(members) for members in self.subsets} == {self.degree} and bool((self.weights > 0).all())

    @property
    def beta(self) -> float:
        """The logit scale β."""
        seen = self.T + (self.mode == "sink")
        return math.log(4 * seen / self.kappa) if self.scale is None else float(self.scale)

    @property
    def mixers(self) -> list[Mixer]:
        """The heads of the second attention: one for the positive weights, one for the negative ones."""
        signed = [(sign, np.flatnonzero(sign * self.weights > 0)) for sign in (1, -1)]
        return [self._mixer(sign, members) for sign, members in signed if len(members)]

    def _mixer(self, sign: int, members: np.ndarray) -> Mixer:
        others = self.T + 1 - len(members)
        default = {"hard": 0.0, "soft": math.log(others / self.tau), "sink": 1.0}[self.mode]
        gamma = default if self.gamma is None else float(self.gamma)
        weights = np.abs(self.weights[members])
        total = math.fsum(weights) + (0 if self.mode == "hard" else others * math.exp(-gamma))
        return Mixer(tuple(members.tolist()), gamma + np.log(weights), sign * total)


def _checked_components(components: cube.Components, T: int) -> tuple[tuple[tuple[int, ...], float], ...]:
    try:
        pairs = [(members, weight) for members, weight in components]
    except (TypeError, ValueError):
        raise TypeError(f"components: expected pairs (subset, weight), got {components!r:.60}") from None
    masks = [cube.mask(members, T, name=f"components[{k}]") for k, (members, _) in enumerate(pairs)]
    for k, (_, weight) in enumerate(pairs):
        if not checks.number(weight, f"components[{k}]"):
            raise ValueError(f"components[{k}]: expected a weight other than 0, got {weight}")
    if not 1 <= len(pairs) <= T:
        raise ValueError(f"components: expected 1 to T = {T} of them, one for each position, got {len(pairs)}")
    for k, mask in enumerate(masks):
        if mask in masks[:k]:
            raise ValueError(f"components: the subset {cube.subset(mask)} stands there twice; add its weights up")
    return tuple((cube.subset(mask), float(weight)) for mask, (_, weight) in zip(masks, pairs, strict=True))


def check_bits(bits: np.ndarray, T: int) -> np.ndarray:
    """``bits`` as an array (batch, T) of 0 and 1."""
    return checks.bits(bits, ("batch", T)).astype(int, copy=False)


def _checked(design: Design) -> Design:
    return checks.instance(design, "design", Design)


# --- the wave and the scale it needs ----------------------------------------------------------------------------------


def breakpoints(degree: int, grid: str = "full") -> tuple[np.ndarray, np.ndarray]:
    """The kinks of the wave, (K, 4), and the slopes with which they enter it, (K, 4): one row for each grid point k/d.

    trap_k(a) = 4d [(a−c+1/2d)₊ − (a−c+1/4d)₊ − (a−c−1/4d)₊ + (a−c−1/2d)₊] with c = k/d, times 1[k even] (SP Thm 9).
    """
    checks.word(grid, "grid", GRIDS)
    checks.room(64 * checks.integer(degree, "degree", 1), "degree")
    k = np.arange(0, degree + 1, 2 if grid == "trimmed" else 1)
    kinks = (k[:, None] + np.array([-1 / 2, -1 / 4, 1 / 4, 1 / 2])) / degree
    return kinks, 4 * degree * (k[:, None] % 2 == 0) * np.array([1, -1, -1, 1])


def wave(a: np.ndarray, degree: int) -> np.ndarray:
    """φ(a), the trapezoidal wave: 1 near k/d for even k, 0 near k/d for odd k (SP Thm 9).

    >>> wave([0, 1/4, 1/2, 3/4, 1], 2).tolist()
    [1.0, 0.0, 0.0, 0.0, 1.0]
    """
    a = checks.numbers(a, "a").astype(float)
    kinks, slopes = breakpoints(degree, "trimmed")
    checks.room(8 * a.size * kinks.size, "a")
    return np.maximum(a[..., None] - kinks.ravel(), 0) @ slopes.ravel()


def least_scale(design: Design) -> float:
    """The smallest scale β at which every component is read without error on every input.

    With M others of logit 0, whose bits sum to N, a component sees a = (n e^β + N)/(d e^β + M), at a distance
    |dN − nM|/(d (d e^β + M)) from n/d. Plateaus reach 1/(4d) to either side for even n, 1/(2d) for odd n, so

        d e^β + M ≥ 4|dN − nM| (n even),   d e^β + M ≥ 2|dN − nM| (n odd)    for all n and N.

    In sink mode the others include a 2 at the output, and the unused positions must land where the wave has ended:
    2e^β/(e^β + T) ≥ (k + 1/2)/d with k the largest even number up to d.
    """
    T, d, sink = _checked(design).T, design.degree, design.mode == "sink"
    end = (d // 2 * 2 + 0.5) / d
    least = T * end / (2 - end) if sink else 0.0
    for size in {len(members) for members in design.subsets}:
        others = T + 1 - size - (size < d)
        low, high = (2, T - size + 2) if sink else (0, T - size)
        for n in range(size + 1):
            farthest = max(d * high - n * others, n * others - d * low)
            least = max(least, ((2 if n % 2 else 4) * farthest - others) / d)
    return math.log(least)


def prefix_sums(design: Design, bits: np.ndarray) -> np.ndarray:
    """a_i = (n_i e^β + N_i)/(d e^β + M_i): what position i holds after the first attention, (batch, w)."""
    bits, d = check_bits(bits, _checked(design).T), design.degree
    inverse = math.exp(-design.beta)  # numerator and denominator times e^−β: a large scale does not overflow
    columns = []
    for members in design.subsets:
        inside = bits[:, np.array(members, dtype=int) - 1].sum(axis=1)
        outside = bits.sum(axis=1) - inside + 2 * (design.mode == "sink")
        others = design.T + 1 - len(members) - (len(members) < d)
        columns.append((inside + outside * inverse) / (d + others * inverse))
    return np.stack(columns, axis=1)


def target_values(design: Design, bits: np.ndarray) -> np.ndarray:
    """f(x) = Σ λ_i even_{S_i}(x) at bits (batch, T), without any network."""
    bits = check_bits(bits, _checked(design).T)
    even = [1 - bits[:, np.array(members, dtype=int) - 1].sum(axis=1) % 2 for members in design.subsets]
    return np.stack(even, axis=1) @ design.weights
