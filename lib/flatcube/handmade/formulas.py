"""The norms and the gradients of the hand-built network in closed form, from its design; only numpy is needed."""

import math

import numpy as np

from flatcube.handmade import design as designs
from flatcube.handmade.design import Design, _checked

__all__ = ["norms", "gradient_norms", "row_bounds"]


def norms(design: Design) -> dict[str, float]:
    """‖·‖² of each matrix, by formula (SP Thm 10, derived anew); their sum is ‖θ‖².

    W1 Σ_i |S_i|β² + (β + log(d−|S_i|))² where padded, and (T+1−w)β² for a sink; V1 1 (5 with a sink); E one per ReLU;
    b Σ_k 4k²/d² + 5/(8d²); F 64 d²(⌊d/2⌋+1); W2 Σ_i (γ + log|λ_i|)²; v2 the sum of c₂².
    """
    d, beta, sink, w = _checked(design).degree, design.beta, design.mode == "sink", len(design.components)
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
    if _checked(design).mode != "hard" or design.beta <= designs.least_scale(design):
        raise ValueError(
            f"design: the closed forms hold in hard mode and for a scale above {designs.least_scale(design):.6g}, "
            f"got mode {design.mode!r} and scale {design.beta:.6g}"
        )
    bits, d, weights = designs.check_bits(bits, design.T), design.degree, design.weights
    a, mean = designs.prefix_sums(design, bits), bits.sum(axis=1) / (design.T + 1)  # (batch, w), (batch,)
    counts = np.rint(a * d)
    even = 1 - counts % 2
    kinks = designs.breakpoints(d, design.grid)[0].ravel()
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
        "W2": (1 + np.square(designs.wave(mean, d))) * second,
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
    d, beta, highest = _checked(design).degree, design.beta, 2.0 if design.mode == "sink" else 1.0
    rows = [math.hypot(beta * math.sqrt(len(members)), _padding(design, members)) for members in design.subsets]
    return {
        "X": math.sqrt(2),
        "X W1": max(rows),
        "U": highest,
        "R": float(np.linalg.norm(np.maximum(highest - designs.breakpoints(d, design.grid)[0], 0))),
        "Z": math.sqrt(2),
        "Z W2": max(float(np.linalg.norm(mixer.logits)) for mixer in design.mixers),
        "Z v2": max(abs(mixer.output) for mixer in design.mixers),
    }


def _padding(design: Design, members: tuple[int, ...]) -> float:
    """The logit β + log(d − |S|) with which a short component looks at the output position, else 0."""
    short = design.degree - len(members)
    return design.beta + math.log(short) if short else 0.0
