"""The functions Ψ of wide networks: K(x, y) = Ψ(c) with c = ⟨x, y⟩/n on the cube.

*MLPs.* A wide layer of ReLUs turns the correlation c of its inputs into κ₁(c) (Cho and Saul 2009), and its derivative
into κ₀(c):

    κ₁(c) = (√(1 − c²) + c (π − arccos c))/π,    κ₀(c) = (π − arccos c)/π.

The conjugate kernel (all layers but the last as drawn) composes κ₁; the tangent kernel (all layers trained) obeys
Θ_{l+1} = Σ_{l+1} + Θ_l κ₀(Σ_l) (Jacot et al. 2018). All are normalised to Σ(1) = 1.

*Attention over bits.* T tokens of one bit each: ⟨token i of x, token j of y⟩ = α x_i y_j + (1 − α)[i = j], where α is
the share of the symbol and 1 − α that of the position. Linear attention multiplies the kernel of the reading position
by Σ_ij ⟨·,·⟩² (Hron et al. 2020), and here that is a function of c.
"""

import numpy as np

from flatcube import checks

__all__ = ["relu", "step", "conjugate", "tangent", "attention"]

_DEEPEST = 50
READS = ("mark", "each")


def relu(c: np.ndarray) -> np.ndarray:
    """κ₁(c) = 2 E max(u, 0) max(v, 0) for standard normal u, v with correlation c.

    >>> relu(np.array([-1.0, 0.0, 1.0])).round(4).tolist()
    [0.0, 0.3183, 1.0]
    """
    c = np.clip(checks.numbers(c, "c"), -1, 1)
    return (np.sqrt(1 - c**2) + c * (np.pi - np.arccos(c))) / np.pi


def step(c: np.ndarray) -> np.ndarray:
    """κ₀(c) = 2 P(u > 0, v > 0) for standard normal u, v with correlation c, the derivative of κ₁."""
    return (np.pi - np.arccos(np.clip(checks.numbers(c, "c"), -1, 1))) / np.pi


def conjugate(c: np.ndarray, depth: int = 1, bias: float = 0.0) -> np.ndarray:
    """The conjugate kernel of an MLP with ``depth`` layers of ReLUs; ``bias`` is the share of biases in the variance of
    each layer's inputs."""
    return _layers(c, depth, bias)[0]


def tangent(c: np.ndarray, depth: int = 1, bias: float = 0.0) -> np.ndarray:
    """The tangent kernel of the same MLP; without biases it is depth + 1 at c = 1."""
    return _layers(c, depth, bias)[1]


def _layers(c: np.ndarray, depth: int, bias: float) -> tuple[np.ndarray, np.ndarray]:
    checks.integer(depth, "depth", 0, _DEEPEST)
    bias = checks.number(bias, "bias", 0, 1)
    sigma = (1 - bias) * checks.numbers(c, "c").astype(float) + bias
    theta = sigma
    for layer in range(depth):
        # the read-out has no bias, so that the last layer is κ₁ itself
        keep, add = (1 - bias, bias) if layer < depth - 1 else (1.0, 0.0)
        sigma, theta = keep * relu(sigma) + add, keep * theta * step(sigma)
        theta = sigma + theta
    return sigma, theta


def attention(c: np.ndarray, T: int, content: float = 0.5, read: str = "mark", depth: int = 0) -> np.ndarray:
    """Ψ of one layer of linear attention over T one-bit tokens with positions, then ``depth`` layers of ReLUs on each
    token, normalised to Ψ(1) = 1. ``content`` is α; ``read`` says where: at an appended "mark", or at "each" token
    with weights of its own.

        Σ_ij ⟨·,·⟩² = α²T² + 2α(1 − α)T c + (1 − α)²T,  and 1 more for the mark, which is orthogonal to all tokens.
    """
    checks.integer(T, "T", 1, 10**6)
    alpha, c = checks.number(content, "content", 0, 1), checks.numbers(c, "c").astype(float)
    checks.word(read, "read", READS)
    mark = float(read == "mark")

    def squares(c: np.ndarray | float) -> np.ndarray | float:
        return alpha**2 * T**2 + 2 * alpha * (1 - alpha) * T * c + (1 - alpha) ** 2 * T + mark

    share = squares(c) / squares(1.0)
    if mark:
        return conjugate(share, depth)
    same, other = conjugate(share, depth), conjugate((1 - 2 * alpha) * share, depth)
    return (1 + c) / 2 * same + (1 - c) / 2 * other  # so many tokens agree with those of the other point
