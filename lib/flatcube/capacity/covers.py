"""Covers: finitely many functions that stand for a whole class, up to ε on given inputs.

The distance of two functions on inputs x_1, …, x_N is the largest ‖f(x_i) − g(x_i)‖ (ED Def. 2.1). A set of functions
is an ε-cover if no member of the class is farther than ε from all of them; the covering number is the size of the
smallest. For linear functions it hardly depends on N, and the reason is an algorithm, ``correct``:

    Somebody thinks of w with ‖w‖ ≤ B. Start from u = 0. As long as some input has |(w − u)·x| > ε, move u by a step
    ε/B_X² along that input, towards w. Each step brings ‖w − u‖² down by more than ε²/B_X², so there are at most
    (B B_X/ε)² steps. Each is one of N inputs with one of 2 signs, so there are at most (2N + 1)^((B B_X/ε)²) results.

This is the mistake bound of online learning, put to work as by Zhang 2002. Where ED Lemma A.10 has 36, it has 1.
Matrices are covered column by column, layers one after the other; ``split`` shares the error out among them.
"""

import math
from typing import NamedTuple

import numpy as np

from flatcube import checks, sampling
from flatcube.sampling import Estimate

__all__ = [
    "distances", "greedy", "separated", "Corrections", "correct", "linear", "zhang", "packing", "column_errors",
    "maps", "positions", "split", "SOFTMAX", "softmax", "attend", "to_ball", "along_and_across", "block", "rademacher",
    "massart",
]  # fmt: skip

# ‖softmax(u) − softmax(v)‖₁ ≤ 2 tanh(½‖u − v‖_∞) ≤ ‖u − v‖_∞; ED Corollary A.7 has a factor 2.
SOFTMAX = 1.0
_STEPS, _DRAWS, _POINTS = 10**6, 10**5, 10**12


# --- covers of a finite list of functions -----------------------------------------------------------------------------


def distances(values: np.ndarray) -> np.ndarray:
    """max_i ‖f(x_i) − g(x_i)‖ between functions given by their values (functions, N) or (functions, N, k): (F, F)."""
    values = checks.numbers(values, "values").astype(float)
    if values.ndim not in (2, 3) or not values.size:
        raise ValueError(f"values: expected (functions, inputs) or (functions, inputs, outputs), got {values.shape}")
    checks.room(len(values) * values.nbytes, "values")
    apart = values[:, None] - values[None]
    return (np.abs(apart) if values.ndim == 2 else np.linalg.norm(apart, axis=-1)).max(axis=-1)


def greedy(values: np.ndarray, eps: float) -> np.ndarray:
    """Indices of an ε-cover of the functions: always the one that covers most of those not covered yet.

    >>> greedy(np.linspace(-1, 1, 9)[:, None], 0.5).tolist()  # an interval, one input: two balls of width 1
    [2, 6]
    """
    near = distances(values) <= checks.positive(eps, "eps") + 1e-12
    left, chosen = np.ones(len(near), dtype=bool), []
    while left.any():
        chosen.append(int((near & left).sum(axis=1).argmax()))
        left &= ~near[chosen[-1]]
    return np.array(chosen)


def separated(values: np.ndarray, eps: float) -> np.ndarray:
    """Indices of functions that are pairwise more than ε apart and as many as fit in their order.

    No ball of radius ε/2 holds two of them, so every (ε/2)-cover has at least as many elements.
    """
    near, chosen = distances(values) <= checks.positive(eps, "eps") + 1e-12, []
    for k in range(len(near)):
        if not near[k, chosen].any():
            chosen.append(k)
    return np.array(chosen)


# --- linear functions and maps ----------------------------------------------------------------------------------------


class Corrections(NamedTuple):
    """What the patient corrector found: its weights u (d,), and the steps (input, sign) that led to it."""

    weights: np.ndarray
    steps: list[tuple[int, int]]


def correct(target: np.ndarray, inputs: np.ndarray, eps: float) -> Corrections:
    """Approach w = target (d,) until |(w − u)·x| ≤ ε on all inputs (N, d), one input and one sign at a time.

    At most (‖w‖ B_X/ε)² steps, B_X the largest norm of an input. u stays in the ball of radius ‖w‖: projecting on a
    ball that contains w brings u closer to w.
    """
    target, sizes = checks.numbers(target, "target", ("d",)).astype(float), {"d": len(target)}
    inputs = _some(checks.numbers(inputs, "inputs", ("N", "d"), sizes), "inputs")
    radius, reach = float(np.linalg.norm(target)), float(np.linalg.norm(inputs, axis=1).max())
    if _ratio(radius, reach, eps) ** 2 > _STEPS:
        least = radius * reach / math.sqrt(_STEPS)
        raise ValueError(f"eps: expected at least {least:.3g}, which takes up to {_STEPS:,} steps, got {eps}")
    found, steps, step = np.zeros_like(target), [], eps / reach**2 if reach else 0.0
    while True:
        gaps = inputs @ (target - found)
        worst = int(np.abs(gaps).argmax())
        if abs(gaps[worst]) <= eps:
            return Corrections(found, steps)
        steps.append((worst, int(np.sign(gaps[worst]))))
        found = found + step * steps[-1][1] * inputs[worst]
        found *= min(1.0, radius / np.linalg.norm(found))


def linear(norm: float, input_norm: float, eps: float, points: float) -> float:
    """log N_∞ of x ↦ w·x, ‖w‖ ≤ B, on N inputs of norm ≤ B_X: ⌊(B B_X/ε)²⌋ log(2N + 1).

    >>> round(linear(1, 1, 0.5, 1000), 2), linear(1, 1, 1.5, 1000)
    (30.41, 0.0)
    """
    return math.floor(_ratio(norm, input_norm, eps) ** 2) * _log_points(points)


def zhang(norm: float, input_norm: float, eps: float, points: float) -> float:
    """The same with the constants of ED Lemma A.10: 36 (B B_X/ε)² log(2⌈4B B_X/ε + 2⌉N + 1)."""
    ratio, points = _ratio(norm, input_norm, eps), checks.positive(points, "points", 1)
    return 36 * ratio**2 * math.log(2 * math.ceil(4 * ratio + 2) * points + 1)


def packing(norm: float, input_norm: float, eps: float, points: int) -> float:
    """log of a number of such functions that are pairwise more than 2ε apart on N orthogonal inputs of length B_X.

    All w with k entries ±B/√k along them and zeros elsewhere: log C(N, k) + k log 2. Two of them differ by at least
    B B_X/√k > 2ε at some input, if k < (B B_X/2ε)². Among those k, that with most vectors. No ε-cover is smaller.

    >>> round(packing(1, 1, 0.1, 100) / math.log(10), 1), packing(1, 1, 0.5, 100)
    (30.1, 0.0)
    """
    points = checks.integer(points, "points", 1, _POINTS)
    apart = math.ceil((_ratio(norm, input_norm, eps) / 2) ** 2) - 1  # the largest k below
    k = max(0, min(apart, (2 * points + 2) // 3))  # 2^k C(N, k) is largest there
    return math.lgamma(points + 1) - math.lgamma(k + 1) - math.lgamma(points - k + 1) + k * math.log(2)


def column_errors(columns: np.ndarray, eps: float) -> np.ndarray:
    """ε_i = ε √(b_i/Σ b) for columns of norm ≤ b_i: the errors with Σ ε_i² = ε² that minimise Σ (b_i/ε_i)²."""
    columns = _sizes(columns, "columns")
    return checks.positive(eps, "eps") * np.sqrt(columns / checks.positive(float(columns.sum()), "the sum of columns"))


def maps(columns: np.ndarray, input_norm: float, eps: float, points: float) -> float:
    """log N_∞ of x ↦ Wᵀx with ‖column i of W‖ ≤ b_i: (Σ b · B_X/ε)² log(2N + 1), by ``column_errors`` (ED Lemma 4.5).

    For equal bounds B_∞ on d₂ columns this is (d₂ B_∞ B_X/ε)² log(2N + 1), the lemma with its constant written out.
    """
    return _ratio(float(_sizes(columns, "columns").sum()), input_norm, eps) ** 2 * _log_points(points)


def positions(length: int, width: int, norm: float, eps: float) -> float:
    """log N of a trained table of positions, T vectors in R^d of norm ≤ B: T d log(1 + 2B/ε), linear in T."""
    ratio = _ratio(norm, 1.0, eps)
    return checks.count(length, "length") * checks.count(width, "width") * math.log1p(2 * ratio)


def split(sizes: np.ndarray, reaches: np.ndarray, eps: float) -> tuple[np.ndarray, float]:
    """Share ε out: errors x > 0 with Σ reaches·x = ε that minimise Σ (sizes/x)², and that minimum (ED Lemma A.8).

    With γ = Σ (size·reach)^(2/3): x_i = (ε/γ) (size_i²/reach_i)^(1/3), and the minimum is γ³/ε². ED leaves out x > 0,
    without which there is no minimum.

    >>> split([1, 1], [1, 1], 1.0)
    (array([0.5, 0.5]), 8.0)
    """
    sizes, reaches, eps = _sizes(sizes, "sizes"), _sizes(reaches, "reaches"), checks.positive(eps, "eps")
    checks.shape(reaches.shape, "reaches", sizes.shape)
    total = ((sizes * reaches) ** (2 / 3)).sum()
    if total == 0:
        return np.full_like(sizes, np.inf), 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = eps / total * np.cbrt(sizes**2 / reaches)
    return np.where(reaches > 0, errors, np.inf), float(total**3 / eps**2)


def _ratio(norm: float, input_norm: float, eps: float) -> float:
    """B B_X/ε, if it can be squared."""
    product = checks.positive(norm, "norm", 0) * checks.positive(input_norm, "input_norm", 0)
    return checks.number(product / checks.positive(eps, "eps"), "norm·input_norm/eps", 0)


def _log_points(points: float) -> float:
    return math.log(2 * checks.positive(points, "points", 1) + 1)


def _sizes(values: np.ndarray, name: str) -> np.ndarray:
    values = checks.numbers(values, name, ("k",)).astype(float)
    if values.min(initial=0) < 0:
        raise ValueError(f"{name}: expected numbers ≥ 0, got {values.min()}")
    return values


def _some(values: np.ndarray, name: str) -> np.ndarray:
    if not values.size:
        raise ValueError(f"{name}: expected at least one number, got shape {values.shape}")
    return values.astype(float)


# --- an attention block in numpy --------------------------------------------------------------------------------------


def softmax(logits: np.ndarray) -> np.ndarray:
    """exp(logits) over the last axis, divided by their sum."""
    logits = _some(checks.numbers(logits, "logits", (..., "T")), "logits")
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attend(tokens: np.ndarray, score: np.ndarray, value: np.ndarray) -> np.ndarray:
    """softmax(Z W Zᵀ) Z V for tokens Z (T, d), score W (d, d), value V (d, k): (T, k) (ED Def. 3.2)."""
    sizes: dict[str, int] = {}
    tokens = checks.numbers(tokens, "tokens", (..., "T", "d"), sizes)
    score, value = checks.numbers(score, "score", ("d", "d"), sizes), checks.numbers(value, "value", ("d", "k"), sizes)
    return softmax(tokens @ score @ tokens.swapaxes(-1, -2)) @ tokens @ value


def to_ball(rows: np.ndarray) -> np.ndarray:
    """Every row moved to the nearest point of the unit ball; never increases distances (ED Lemma A.9)."""
    rows = checks.numbers(rows, "rows", (..., "d"))
    return rows / np.maximum(1, np.linalg.norm(rows, axis=-1, keepdims=True))


def along_and_across(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """(1 − α)²‖u‖² and ‖v − αu‖², α = u·v/‖u‖²: the parts of ‖u − v‖² along u and across (proof of ED Lemma A.9)."""
    u, v = checks.numbers(u, "u", ("d",)), checks.numbers(v, "v", np.shape(u))
    alpha = float(u @ v) / checks.positive(float(u @ u), "‖u‖²")
    return (1 - alpha) ** 2 * float(u @ u), float(np.square(v - alpha * u).sum())


def block(tokens: np.ndarray, score: np.ndarray, value: np.ndarray, output: np.ndarray) -> np.ndarray:
    """One block of ED Sec. 4.3: attend, project, relu, a linear map, project again; (T, d) to (T, e)."""
    mixed = attend(tokens, score, value)
    output = checks.numbers(output, "output", ("k", "e"), {"k": mixed.shape[-1]})
    return to_ball(np.maximum(to_ball(mixed), 0) @ output)


# --- Rademacher complexity --------------------------------------------------------------------------------------------


def rademacher(values: np.ndarray, *, draws: int = 4000, rng: np.random.Generator | int) -> Estimate:
    """E_σ max_f (1/m) Σ_i σ_i f(x_i) for functions given by their values (functions, m) (ED Def. A.1), by sampling."""
    values = _some(checks.numbers(values, "values", ("functions", "m")), "values")
    size = checks.integer(draws, "draws", 2, _DRAWS), values.shape[1]
    signs = sampling.random_signs(size, rng=checks.generator(rng))
    best = (signs @ values.T).max(axis=1) / values.shape[1]
    ceiling = np.abs(values).mean(axis=1).max()
    mean, low, high = sampling.bounded_mean(best, -ceiling, ceiling, 0.95)
    return Estimate(float(mean), float(low), float(high), 0.95, draws, 0, "signs by chance")


def massart(values: np.ndarray) -> float:
    """Massart's bound on it for finitely many functions: max_f √(mean f²) · √(2 log F/m)."""
    values = _some(checks.numbers(values, "values", ("functions", "m")), "values")
    return float(np.sqrt(np.square(values).mean(axis=1).max() * 2 * math.log(len(values)) / values.shape[1]))
