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

from flatcube import sampling
from flatcube.sampling import Estimate, check_count, check_positive

__all__ = [
    "distances", "greedy", "separated", "Corrections", "correct", "linear", "zhang", "column_errors", "maps",
    "positions", "split", "SOFTMAX", "softmax", "attend", "project", "along_and_across", "block", "rademacher",
    "finite",
]  # fmt: skip

# ‖softmax(u) − softmax(v)‖₁ ≤ 2 tanh(½‖u − v‖_∞) ≤ ‖u − v‖_∞; ED Corollary A.7 has a factor 2.
SOFTMAX = 1.0


# --- covers of a finite list of functions -----------------------------------------------------------------------------


def distances(values: np.ndarray) -> np.ndarray:
    """max_i ‖f(x_i) − g(x_i)‖ between functions given by their values (functions, N) or (functions, N, k): (F, F)."""
    values = np.asarray(values, dtype=float)
    if values.ndim not in (2, 3):
        raise ValueError(f"values: expected (functions, inputs) or (functions, inputs, outputs), got {values.shape}")
    apart = values[:, None] - values[None]
    return (np.abs(apart) if values.ndim == 2 else np.linalg.norm(apart, axis=-1)).max(axis=-1)


def greedy(values: np.ndarray, eps: float) -> np.ndarray:
    """Indices of an ε-cover of the functions: always the one that covers most of those not covered yet.

    >>> greedy(np.linspace(-1, 1, 9)[:, None], 0.5).tolist()  # an interval, one input: two balls of width 1
    [2, 6]
    """
    near = distances(values) <= check_positive(eps, "eps") + 1e-12
    left, chosen = np.ones(len(near), dtype=bool), []
    while left.any():
        chosen.append(int((near & left).sum(axis=1).argmax()))
        left &= ~near[chosen[-1]]
    return np.array(chosen)


def separated(values: np.ndarray, eps: float) -> np.ndarray:
    """Indices of functions that are pairwise more than ε apart and as many as fit in their order.

    No ball of radius ε/2 holds two of them, so every (ε/2)-cover has at least as many elements.
    """
    near, chosen = distances(values) <= check_positive(eps, "eps") + 1e-12, []
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
    target, inputs = np.asarray(target, dtype=float), np.asarray(inputs, dtype=float)
    check_positive(eps, "eps")
    radius, step = np.linalg.norm(target), eps / np.square(inputs).sum(axis=1).max()
    found, steps = np.zeros_like(target), []
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
    norm, input_norm = check_positive(norm, "norm", 0), check_positive(input_norm, "input_norm", 0)
    return math.floor((norm * input_norm / check_positive(eps, "eps")) ** 2) * math.log(2 * points + 1)


def zhang(norm: float, input_norm: float, eps: float, points: float) -> float:
    """The same with the constants of ED Lemma A.10: 36 (B B_X/ε)² log(2⌈4B B_X/ε + 2⌉N + 1)."""
    ratio = check_positive(norm, "norm", 0) * check_positive(input_norm, "input_norm", 0) / check_positive(eps, "eps")
    return 36 * ratio**2 * math.log(2 * math.ceil(4 * ratio + 2) * points + 1)


def column_errors(columns: np.ndarray, eps: float) -> np.ndarray:
    """ε_i = ε √(b_i/Σ b) for columns of norm ≤ b_i: the errors with Σ ε_i² = ε² that minimise Σ (b_i/ε_i)²."""
    columns = np.asarray(columns, dtype=float)
    return check_positive(eps, "eps") * np.sqrt(columns / check_positive(float(columns.sum()), "the sum of columns"))


def maps(columns: np.ndarray, input_norm: float, eps: float, points: float) -> float:
    """log N_∞ of x ↦ Wᵀx with ‖column i of W‖ ≤ b_i: (Σ b · B_X/ε)² log(2N + 1), by ``column_errors`` (ED Lemma 4.5).

    For equal bounds B_∞ on d₂ columns this is (d₂ B_∞ B_X/ε)² log(2N + 1), the lemma with its constant written out.
    """
    total = check_positive(float(np.sum(columns)), "the sum of columns", 0)
    norm, eps = check_positive(input_norm, "input_norm", 0), check_positive(eps, "eps")
    return (total * norm / eps) ** 2 * math.log(2 * points + 1)


def positions(length: int, width: int, norm: float, eps: float) -> float:
    """log N of a trained table of positions, T vectors in R^d of norm ≤ B: T d log(1 + 2B/ε), linear in T."""
    ratio = check_positive(norm, "norm", 0) / check_positive(eps, "eps")
    return check_count(length, "length") * check_count(width, "width") * math.log1p(2 * ratio)


def split(sizes: np.ndarray, reaches: np.ndarray, eps: float) -> tuple[np.ndarray, float]:
    """Share ε out: errors x > 0 with Σ reaches·x = ε that minimise Σ (sizes/x)², and that minimum (ED Lemma A.8).

    With γ = Σ (size·reach)^(2/3): x_i = (ε/γ) (size_i²/reach_i)^(1/3), and the minimum is γ³/ε². ED leaves out x > 0,
    without which there is no minimum.

    >>> split([1, 1], [1, 1], 1.0)
    (array([0.5, 0.5]), 8.0)
    """
    sizes, reaches = np.asarray(sizes, dtype=float), np.asarray(reaches, dtype=float)
    if sizes.shape != reaches.shape or (sizes < 0).any() or (reaches < 0).any():
        raise ValueError(f"sizes and reaches: expected equally many numbers ≥ 0, got {sizes} and {reaches}")
    total = ((sizes * reaches) ** (2 / 3)).sum()
    if total == 0:
        return np.full_like(sizes, np.inf), 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = check_positive(eps, "eps") / total * np.cbrt(sizes**2 / reaches)
    return np.where(reaches > 0, errors, np.inf), float(total**3 / eps**2)


# --- an attention block in numpy --------------------------------------------------------------------------------------


def softmax(logits: np.ndarray) -> np.ndarray:
    """exp(logits) over the last axis, divided by their sum."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attend(tokens: np.ndarray, score: np.ndarray, value: np.ndarray) -> np.ndarray:
    """softmax(Z W Zᵀ) Z V for tokens Z (T, d), score W (d, d), value V (d, k): (T, k) (ED Def. 3.2)."""
    return softmax(tokens @ score @ tokens.swapaxes(-1, -2)) @ tokens @ value


def project(rows: np.ndarray) -> np.ndarray:
    """Every row moved to the nearest point of the unit ball; never increases distances (ED Lemma A.9)."""
    return rows / np.maximum(1, np.linalg.norm(rows, axis=-1, keepdims=True))


def along_and_across(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """(1 − α)²‖u‖² and ‖v − αu‖², α = u·v/‖u‖²: the parts of ‖u − v‖² along u and across (proof of ED Lemma A.9)."""
    alpha = float(u @ v / (u @ u))
    return (1 - alpha) ** 2 * float(u @ u), float(np.square(v - alpha * u).sum())


def block(tokens: np.ndarray, score: np.ndarray, value: np.ndarray, output: np.ndarray) -> np.ndarray:
    """One block of ED Sec. 4.3: attend, project, relu, a linear map, project again; (T, d) to (T, e)."""
    return project(np.maximum(project(attend(tokens, score, value)), 0) @ output)


# --- Rademacher complexity --------------------------------------------------------------------------------------------


def rademacher(values: np.ndarray, *, draws: int = 4000, rng: np.random.Generator | int) -> Estimate:
    """E_σ max_f (1/m) Σ_i σ_i f(x_i) for functions given by their values (functions, m) (ED Def. A.1), by sampling."""
    values = np.asarray(values, dtype=float)
    signs = sampling.random_signs((check_count(draws, "draws", 2), values.shape[1]), rng=rng)
    best = (signs @ values.T).max(axis=1) / values.shape[1]
    ceiling = np.abs(values).mean(axis=1).max()
    mean, low, high = sampling.bounded_mean(best, -ceiling, ceiling, 0.95)
    return Estimate(float(mean), float(low), float(high), 0.95, draws, 0, "signs by chance")


def finite(values: np.ndarray) -> float:
    """Massart's bound on it for finitely many functions: max_f √(mean f²) · √(2 log F/m)."""
    values = np.asarray(values, dtype=float)
    return float(np.sqrt(np.square(values).mean(axis=1).max() * 2 * math.log(len(values)) / values.shape[1]))
