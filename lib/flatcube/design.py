"""What fixes the hand-built network, and what follows from it on paper: threshold, wave, norms, gradients.

The target is f(x) = Σ_i λ_i even_{S_i}(x) on bits x ∈ {0,1}^T (SP Eq. 1), with Λ = Σ|λ_i| and d = max|S_i|.
Component i is computed at position i; position o = T+1 is the output, its bit is 0. In the first attention, position i
looks at S_i with logit β and at everything else with logit 0: the mean of the bits it sees is close to n_i/d, where
n_i counts the ones in S_i. A component shorter than d is padded: it also looks at the output position, with logit
β + log(d − |S_i|).

Only numpy is needed here. ``flatcube.handmade`` turns a ``Design`` into a network with weights.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from flatcube import cube

__all__ = [
    "Design", "Mixer", "wave", "breakpoints", "threshold", "prefix_sums", "evaluate", "norms", "gradient_norms",
    "row_bounds", "operator_norms", "check_bits",
]  # fmt: skip

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
        cube.check_integer(self.T, "T", 1)
        object.__setattr__(self, "components", _checked_components(self.components, self.T))
        _check_word("mode", self.mode, MODES)
        _check_word("grid", self.grid, GRIDS)
        _check_number("kappa", self.kappa, "a number above 0 and at most 1", lambda value: 0 < value <= 1)
        _check_number("tau", self.tau, "a number above 0", lambda value: value > 0)
        for name in ("scale", "gamma"):
            if getattr(self, name) is not None:
                _check_number(name, getattr(self, name), "a finite number", lambda value: True)
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
        raise TypeError(f"components: expected pairs (subset, weight), got {components!r}") from None
    masks = [cube.mask(members, T, name=f"components[{k}]") for k, (members, _) in enumerate(pairs)]
    for k, (_, weight) in enumerate(pairs):
        _check_number(f"components[{k}]", weight, "a finite weight other than 0", lambda value: value != 0)
    if not 1 <= len(pairs) <= T:
        raise ValueError(f"components: expected 1 to T = {T} of them, one for each position, got {len(pairs)}")
    for k, mask in enumerate(masks):
        if mask in masks[:k]:
            raise ValueError(f"components: the subset {cube.subset(mask)} stands there twice; add its weights up")
    return tuple((cube.subset(mask), float(weight)) for mask, (_, weight) in zip(masks, pairs, strict=True))


def _check_number(name: str, value: float, allowed: str, test: Callable[[float], bool]) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected {allowed}, got {value!r}")
    if not math.isfinite(value) or not test(value):
        raise ValueError(f"{name}: expected {allowed}, got {value}")


def _check_word(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")


def check_bits(bits: np.ndarray, T: int) -> np.ndarray:
    """``bits`` as an array (batch, T) of 0 and 1."""
    bits = np.asarray(bits)
    cube.to_signs(bits)  # which refuses all but 0 and 1
    if bits.ndim != 2 or bits.shape[1] != T:
        raise ValueError(f"bits: expected an array of shape (batch, {T}), got {bits.shape}")
    return bits


# --- the wave and the scale it needs ----------------------------------------------------------------------------------


def breakpoints(degree: int, grid: str = "full") -> tuple[np.ndarray, np.ndarray]:
    """The kinks of the wave, (K, 4), and the slopes with which they enter it, (K, 4): one row for each grid point k/d.

    trap_k(a) = 4d [(a−c+1/2d)₊ − (a−c+1/4d)₊ − (a−c−1/4d)₊ + (a−c−1/2d)₊] with c = k/d, times 1[k even] (SP Thm 9).
    """
    _check_word("grid", grid, GRIDS)
    k = np.arange(0, cube.check_integer(degree, "degree", 1) + 1, 2 if grid == "trimmed" else 1)
    kinks = (k[:, None] + np.array([-1 / 2, -1 / 4, 1 / 4, 1 / 2])) / degree
    return kinks, 4 * degree * (k[:, None] % 2 == 0) * np.array([1, -1, -1, 1])


def wave(a: np.ndarray, degree: int) -> np.ndarray:
    """φ(a), the trapezoidal wave: 1 near k/d for even k, 0 near k/d for odd k (SP Thm 9).

    >>> wave([0, 1/4, 1/2, 3/4, 1], 2).tolist()
    [1.0, 0.0, 0.0, 0.0, 1.0]
    """
    kinks, slopes = breakpoints(degree, "trimmed")
    return np.maximum(np.asarray(a, dtype=float)[..., None] - kinks.ravel(), 0) @ slopes.ravel()


def threshold(design: Design) -> float:
    """The smallest scale β at which every component is read without error on every input.

    With M others of logit 0, whose bits sum to N, a component sees a = (n e^β + N)/(d e^β + M), at a distance
    |dN − nM|/(d (d e^β + M)) from n/d. Plateaus reach 1/(4d) to either side for even n, 1/(2d) for odd n, so

        d e^β + M ≥ 4|dN − nM| (n even),   d e^β + M ≥ 2|dN − nM| (n odd)    for all n and N.

    In sink mode the others include a 2 at the output, and the unused positions must land where the wave has ended:
    2e^β/(e^β + T) ≥ (k + 1/2)/d with k the largest even number up to d.
    """
    T, d, sink = design.T, design.degree, design.mode == "sink"
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
    bits, d = check_bits(bits, design.T), design.degree
    inverse = math.exp(-design.beta)  # numerator and denominator times e^−β: a large scale does not overflow
    columns = []
    for members in design.subsets:
        inside = bits[:, np.array(members, dtype=int) - 1].sum(axis=1)
        outside = bits.sum(axis=1) - inside + 2 * (design.mode == "sink")
        others = design.T + 1 - len(members) - (len(members) < d)
        columns.append((inside + outside * inverse) / (d + others * inverse))
    return np.stack(columns, axis=1)


def evaluate(design: Design, bits: np.ndarray) -> np.ndarray:
    """f(x) = Σ λ_i even_{S_i}(x) at bits (batch, T), without any network."""
    bits = check_bits(bits, design.T)
    even = [1 - bits[:, np.array(members, dtype=int) - 1].sum(axis=1) % 2 for members in design.subsets]
    return np.stack(even, axis=1) @ design.weights


# --- norms and gradients in closed form -------------------------------------------------------------------------------


def norms(design: Design) -> dict[str, float]:
    """‖·‖² of each matrix, by formula (SP Thm 10, derived anew); their sum is ‖θ‖².

    W1 Σ_i |S_i|β² + (β + log(d−|S_i|))² where padded, and (T+1−w)β² for a sink; V1 1 (5 with a sink); E one per ReLU;
    b Σ_k 4k²/d² + 5/(8d²); F 64 d²(⌊d/2⌋+1); W2 Σ_i (γ + log|λ_i|)²; v2 the sum of c₂².
    """
    d, beta, sink, w = design.degree, design.beta, design.mode == "sink", len(design.components)
    k = np.arange(0, d + 1, 2 if design.grid == "trimmed" else 1)
    rows = [len(members) * beta**2 + _padding(design, members) ** 2 for members in design.subsets]
    return {
        "W1": sum(rows) + sink * (design.T + 1 - w) * beta**2,
        "V1": 5.0 if sink else 1.0,
        "E": 4.0 * len(k),
        "b": float((4 * k**2 / d**2 + 5 / (8 * d**2)).sum()),
        "F": 64.0 * d**2 * (d // 2 + 1),
        "W2": float(sum(np.square(mixer.logits).sum() for mixer in design.mixers)),
        "v2": sum(mixer.output**2 for mixer in design.mixers),
    }


def gradient_norms(design: Design, bits: np.ndarray) -> dict[str, np.ndarray]:
    """‖∇f̂(x)‖² for each matrix, (batch,), by formula: hard mode, every prefix sum strictly inside its plateau.

    With e_i = even_{S_i}(x), p_i = |λ_i|/Λ_h and f_h = Σ_{i∈h} λ_i e_i in head h, g_i = λ_i(e_i − f_h/Λ_h),
    ω the second logits, r_i = relu(a_i + b), r_o the same at the mean bit, and sums over i with n_i ≥ k or n_i > k:

        b   32d² Σ_{k even} [(Σ_{n_i ≥ k} λ_i)² + (Σ_{n_i > k} λ_i)²],   E the same with λ_i a_i in place of λ_i
        F   bit column ‖Σ λ_i r_i‖²;  positions Σ_h ‖ω_h‖² ‖Σ_{i∈h} g_i r_i‖² + (Σ g_i ω_i)² ‖r_o‖²
        W2  (1 + φ(x̄)²) Σ_h [Σ_{i∈h} g_i² + (Σ_{i∈h} g_i e_i)²],   v2  Σ_h [Σ p_i² + (f_h/Λ_h)²],   W1, V1  0
    """
    if design.mode != "hard" or design.beta <= threshold(design):
        raise ValueError(
            f"design: the closed forms hold in hard mode and for a scale above {threshold(design):.6g}, "
            f"got mode {design.mode!r} and scale {design.beta:.6g}"
        )
    bits, d, weights = check_bits(bits, design.T), design.degree, design.weights
    a, mean = prefix_sums(design, bits), bits.sum(axis=1) / (design.T + 1)  # (batch, w), (batch,)
    counts = np.rint(a * d)
    even = 1 - counts % 2
    kinks = breakpoints(d, design.grid)[0].ravel()
    r, r_out = np.maximum(a[..., None] - kinks, 0), np.maximum(mean[:, None] - kinks, 0)  # (batch, w, H), (batch, H)
    columns, turn, second, last = 0.0, 0.0, 0.0, 0.0
    for mixer in design.mixers:
        h = list(mixer.members)
        share = np.abs(weights[h]) / abs(mixer.output)
        g = weights[h] * (even[:, h] - (even[:, h] @ share)[:, None])  # (batch, w_h)
        columns = columns + np.square(mixer.logits).sum() * np.square((g[..., None] * r[:, h]).sum(1)).sum(1)
        turn = turn + g @ mixer.logits
        second = second + np.square(g).sum(1) + np.square((g * even[:, h]).sum(1))
        last = last + np.square(share).sum() + np.square(even[:, h] @ share)
    nothing = np.zeros(len(bits))
    return {
        "W1": nothing,
        "V1": nothing,
        "E": _kinked(counts, weights * a, d),
        "b": _kinked(counts, np.broadcast_to(weights, a.shape), d),
        "F bit": np.square((weights[:, None] * r).sum(1)).sum(1),
        "F positions": columns + np.square(turn) * np.square(r_out).sum(1),
        "W2": (1 + np.square(wave(mean, d))) * second,
        "v2": nothing + last,
    }


def _kinked(counts: np.ndarray, weights: np.ndarray, d: int) -> np.ndarray:
    """32d² Σ_{k even} [(Σ_{n_i ≥ k} weight_i)² + (Σ_{n_i > k} weight_i)²], (batch,)."""
    sums = (((counts >= k) * weights).sum(1) ** 2 + ((counts > k) * weights).sum(1) ** 2 for k in range(0, d + 1, 2))
    return 32 * d**2 * sum(sums)


def row_bounds(design: Design) -> dict[str, float]:
    """The largest norm that a row of each intermediate matrix has on any input (SP Thm 11, derived anew).

    X and Z √2 (a position and a bit), U the largest bit (2 with a sink), R = relu(U + b) at that value, the first
    queries X W1 the longest row of W1, the second ones Z W2 ‖ω‖, and the values Z v2 the larger |c₂|.
    """
    d, beta, highest = design.degree, design.beta, 2.0 if design.mode == "sink" else 1.0
    rows = [math.hypot(beta * math.sqrt(len(members)), _padding(design, members)) for members in design.subsets]
    return {
        "X": math.sqrt(2),
        "X W1": max(rows),
        "U": highest,
        "R": float(np.linalg.norm(np.maximum(highest - breakpoints(d, design.grid)[0], 0))),
        "Z": math.sqrt(2),
        "Z W2": max(float(np.linalg.norm(mixer.logits)) for mixer in design.mixers),
        "Z v2": max(abs(mixer.output) for mixer in design.mixers),
    }


def operator_norms(design: Design) -> dict[str, float]:
    """The largest singular value of each matrix; for W1 the bound √(largest row sum · largest column sum) (SP Thm 11).

    All other matrices have one row or one column, or one entry. For disjoint subsets of size d the bound is β√d, exact.
    """
    squares = norms(design)
    rows = [len(m) * abs(design.beta) + abs(_padding(design, m)) for m in design.subsets]
    columns = [sum(j in m for m in design.subsets) * abs(design.beta) for j in range(1, design.T + 1)]
    at_output = sum(abs(_padding(design, m)) for m in design.subsets)
    if design.mode == "sink":
        at_output, rows = at_output + (design.T + 1 - len(rows)) * abs(design.beta), [*rows, abs(design.beta)]
    single = {name: math.sqrt(squares[name]) for name in ("V1", "E", "F")}
    each = {"W2": row_bounds(design)["Z W2"], "v2": row_bounds(design)["Z v2"]}
    return {"W1": math.sqrt(max(rows) * max(*columns, at_output))} | single | each


def _padding(design: Design, members: tuple[int, ...]) -> float:
    """The logit β + log(d − |S|) with which a short component looks at the output position, else 0."""
    short = design.degree - len(members)
    return design.beta + math.log(short) if short else 0.0
