"""Kernels of layers that see tokens or windows, for any two lists of points: they need not be functions of ⟨x, y⟩.

Points x ∈ {±1}^n are cut into T = n/w tokens of w bits. Tokens of two points have the products

    q_ij(x, y) = α ⟨x_i, y_j⟩/w + (1 − α)[i = j],

α for the bits and 1 − α for positions. The theorem of Hron et al. (2020), VA's Theorem B.1, gives the kernel of one
layer of linear attention with infinitely many heads, between position r of x and position s of y:

    K_rs(x, y) = q_rs(x, y) · Σ_{i,j} q_ij(x, y)²,     i and j over all tokens.
"""

import numpy as np

from flatcube import checks
from flatcube.kernels import profiles

__all__ = ["head", "features", "products", "linear_attention", "transformer", "convolution"]

READS = ("each", "first", "mean", "mark")


def head(
    tokens: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, *, softmax: bool = True
) -> np.ndarray:
    """One head of self-attention at ``tokens`` (points, T, channels): φ(X W_Q W_Kᵀ Xᵀ) X W_V (VA Sec. 3).

    φ is softmax in each row, or, for linear attention, a division by √D, D the number of columns of W_Q.
    """
    sizes: dict[str, int] = {}
    tokens = checks.numbers(tokens, "tokens", ("points", "T", "channels"), sizes)
    query = checks.numbers(query, "query", ("channels", "D"), sizes)
    key = checks.numbers(key, "key", ("channels", "D"), sizes)
    value = checks.numbers(value, "value", ("channels", "out"), sizes)
    logits = (tokens @ query) @ (tokens @ key).swapaxes(-1, -2)  # (points, T, T)
    if softmax:
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
    else:
        weights = logits / np.sqrt(query.shape[1])
    return weights @ (tokens @ value)


def features(points: np.ndarray, width: int = 1, content: float = 1.0, mark: bool = False) -> np.ndarray:
    """Vectors (points, tokens, channels) whose products are the q_ij; an appended mark is orthogonal to all tokens."""
    points = checks.signs(points, name="points").astype(float)
    checks.shape(points.shape, "points", ("points", "n"))
    n = points.shape[1]
    if not points.size:
        raise ValueError(f"points: expected one or more, got shape {points.shape}")
    if n % checks.integer(width, "width", 1, n):
        raise ValueError(f"width: expected a divisor of {n}, got {width}")
    alpha, T = checks.number(content, "content", 0, 1), n // width
    places = np.eye(T + mark)
    places[:T] *= np.sqrt(1 - alpha)  # the mark's own vector has length 1
    symbols = np.zeros((len(points), T + mark, width))
    symbols[:, :T] = np.sqrt(alpha / width) * points.reshape(-1, T, width)
    return np.concatenate([symbols, np.broadcast_to(places, (len(points), *places.shape))], -1)


def products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """q_ij(x, y), (points of x, points of y, tokens, tokens), from features."""
    return np.einsum("xie,yje->xyij", x, y, optimize=True)


def linear_attention(
    x: np.ndarray, y: np.ndarray, *, width: int = 1, content: float = 1.0, read: str = "each"
) -> np.ndarray:
    """The conjugate kernel (points, points) of one layer of linear attention at points of the cube.

    ``read``: "each" token has read-out weights of its own (the mean over r of K_rr), only the "first" is read, the
    "mean" of all tokens is, or an appended "mark".
    """
    checks.word(read, "read", READS)
    first, second = (features(points, width, content, read == "mark") for points in (x, y))
    found = np.empty((len(first), len(second)))
    for at, row in enumerate(first):  # one point at a time: the products of all would not fit
        q = products(row[None], second)[0]  # (points of y, tokens, tokens)
        seen = {
            "each": np.einsum("yrr->y", q) / q.shape[-1],
            "first": q[:, 0, 0],
            "mean": q.mean((1, 2)),
            "mark": q[:, -1, -1],
        }[read]
        found[at] = seen * _pairs(q)
    return found


def _pairs(q: np.ndarray) -> np.ndarray:
    """Σ_ij q_ij², over all pairs of tokens."""
    return np.square(q).sum((-2, -1))


def transformer(
    points: np.ndarray, *, width: int = 1, content: float = 0.5, read: str = "mark", layers: int = 1, mlp: bool = True
) -> np.ndarray:
    """The conjugate kernel (points, points) of some layers of linear attention, each followed by a wide layer of ReLUs
    on every token if ``mlp``; without residual connections and norms. Each layer is scaled so that variances stay
    near 1; they are 1 for tokens of one bit.
    """
    checks.word(read, "read", READS[:1] + READS[3:])
    tokens = features(points, width, content, read == "mark")
    q = products(tokens, tokens)  # (points, points, tokens, tokens)
    for _ in range(checks.integer(layers, "layers", 1, 20)):
        q = q * (np.square(q).sum((2, 3), keepdims=True) / np.square(q[0, 0]).sum())
        if mlp:
            own = np.einsum("xxii->xi", q)  # the variance of every token
            size = np.sqrt(own[:, None, :, None] * own[None, :, None, :])
            q = size * profiles.relu(q / size)
    return q[..., -1, -1] if read == "mark" else np.einsum("xyrr->xy", q) / q.shape[-1]


def convolution(x: np.ndarray, y: np.ndarray, *, window: int = 3, pooled: bool = False) -> np.ndarray:
    """The conjugate kernel of one layer of ReLUs on all windows of neighbouring bits, in a ring.

    Each window has read-out weights of its own, or the windows' outputs are ``pooled``.
    """
    x, y = (checks.signs(points, name=name).astype(float) for name, points in (("x", x), ("y", y)))
    checks.shape(x.shape, "x", ("points", "n"))
    n = x.shape[1]
    checks.shape(y.shape, "y", ("points", "n"), {"n": n})
    places = (np.arange(n)[:, None] + np.arange(checks.integer(window, "window", 1, n))) % n
    first, second = x[:, places], y[:, places]  # (points, n, window)
    if pooled:
        c = np.einsum("xiw,yjw->xyij", first, second, optimize=True) / window
        return profiles.relu(c).mean((2, 3))
    return profiles.relu(np.einsum("xiw,yiw->xyi", first, second, optimize=True) / window).mean(2)
