"""Networks of finite width at random weights: their conjugate and tangent kernels, and heads with softmax."""

import numpy as np

from flatcube import checks, cube, fourier

__all__ = ["of_weights", "perceptron", "heads", "softmax_by_set"]


def of_weights(points: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Conjugate and tangent kernel, (points, points) each, of f(x) = √(2/m) Σ_j a_j max(w_j·x/√n, 0).

    The w_j are the columns of ``inner`` (n, m), the a_j stand in ``outer`` (m,). CK = (2/m) Σ_j h_j h_j', and the
    gradients by the w_j add (2/m) Σ_j a_j² [both active] ⟨x, y⟩/n.
    """
    points = checks.signs(points, name="points").astype(float)
    inner, outer = checks.numbers(inner, "inner"), checks.numbers(outer, "outer")
    m, n = len(outer), points.shape[1]
    checks.shape(inner.shape, "inner", (n, m))
    before = points @ inner / np.sqrt(n)
    hidden, active = np.maximum(before, 0), (before > 0).astype(float)
    conjugate = 2 / m * hidden @ hidden.T
    return conjugate, conjugate + 2 / m * (active * outer**2) @ active.T * (points @ points.T / n)


def perceptron(points: np.ndarray, width: int, *, rng: np.random.Generator | int) -> tuple[np.ndarray, np.ndarray]:
    """The same of one network of m = ``width`` ReLUs whose weights are all drawn from N(0, 1)."""
    points, rng = checks.signs(points, name="points"), checks.generator(rng)
    checks.shape(points.shape, "points", ("points", "n"))
    m = checks.integer(width, "width", 1, 10**5)
    checks.room(40 * m * max(points.shape), "width")
    return of_weights(points, rng.normal(size=(points.shape[1], m)), rng.normal(size=m))


def heads(
    tokens: np.ndarray, count: int, *, at: int = -1, inner: int = 16, rng: np.random.Generator | int
) -> tuple[np.ndarray, np.ndarray]:
    """Conjugate and tangent kernel of one layer of linear attention with ``count`` heads, read at one token.

    f = H^{−1/2} Σ_h o_h Σ_i (φ_a W_Q)·(φ_i W_K) D^{−1/2} (φ_i W_V), with all weights N(0, 1), D = ``inner`` channels
    for queries and keys and one for values; φ are the ``tokens`` (points, T, channels). The tangent kernel has four
    parts, one for each matrix that is trained, and f is linear in each of them.
    """
    rng, tokens = checks.generator(rng), checks.numbers(tokens, "tokens", ("points", "T", "channels")).astype(float)
    at = checks.integer(at, "at", -tokens.shape[1], tokens.shape[1] - 1)
    size = len(tokens), tokens.shape[2]
    conjugate, tangent = np.zeros((size[0], size[0])), np.zeros((size[0], size[0]))
    reading = tokens[:, at]  # (points, channels)
    for _ in range(checks.integer(count, "count", 1, 10**5)):
        query, key = rng.normal(size=(2, size[1], checks.integer(inner, "inner", 1, 4096)))
        value, out = rng.normal(size=size[1]), rng.normal() ** 2
        asked = reading @ query  # (points, inner)
        keys, values = tokens @ key, tokens @ value  # (points, T, inner), (points, T)
        logits = np.einsum("xd,xid->xi", asked, keys) / np.sqrt(inner)
        head = np.einsum("xi,xi->x", logits, values)
        weighed = np.einsum("xi,xie->xe", logits, tokens)  # by W_V
        by_query = np.einsum("xi,xid->xd", values, keys)
        by_key = np.einsum("xi,xie->xe", values, tokens)
        own = np.outer(head, head)
        conjugate += own
        tangent += own + out * (weighed @ weighed.T)
        tangent += out / inner * (reading @ reading.T) * (by_query @ by_query.T)
        tangent += out / inner * (asked @ asked.T) * (by_key @ by_key.T)
    return conjugate / count, tangent / count


def softmax_by_set(
    n: int, samples: int, *, content: float = 0.5, scale: float = 1.0, rng: np.random.Generator | int
) -> tuple[np.ndarray, float]:
    """E f̂(U)² for all U, (2^n,), of an attention layer with softmax over n one-bit tokens and a mark that is read.

    With many channels for queries and keys a head's logits are √α g x_i + √(1 − α) h_i, normal, times ``scale``; the
    mean over values is taken exactly, that over heads by ``samples`` draws. The second result estimates the ``leak`` of
    the kernel of infinitely many heads. It needs the whole matrix and is taken for n ≤ 8, else nan. Squares of a mean
    over few heads are too large; so it takes the mean of products of different heads, of which there must be two.
    """
    rng, alpha = checks.generator(rng), checks.number(content, "content", 0, 1)
    points = cube.points(checks.integer(n, "n", 1, 12)).astype(float)
    found, whole = np.zeros(2**n), np.zeros((2**n, 2**n)) if n <= 8 else None
    alone = np.zeros(3)  # what each head has by itself: all squares, those on the diagonal, that of the constant
    for _ in range(checks.integer(samples, "samples", 1, 10**5)):
        shared, own = rng.normal(), rng.normal(size=n + 1)
        logits = np.zeros((2**n, n + 1))
        logits[:, :n] = np.sqrt(alpha) * shared * points + np.sqrt(1 - alpha) * own[:n]
        logits[:, n] = own[n]
        weights = np.exp(checks.number(scale, "scale", 0, 100) * (logits - logits.max(1, keepdims=True)))
        weights /= weights.sum(1, keepdims=True)
        parts = np.concatenate([np.sqrt(alpha) * (weights[:, :n] * points).sum(1, keepdims=True),
                                np.sqrt(1 - alpha) * weights[:, :n], weights[:, n:]], 1)  # fmt: skip
        spectra = fourier.transform(parts.T.copy())  # (n + 2, 2^n): what each independent value is multiplied by
        own_set = np.square(spectra).sum(0)
        found += own_set
        if whole is not None:
            whole += spectra.T @ spectra
            alone += np.square(spectra @ spectra.T).sum(), np.square(own_set).sum(), own_set[0] ** 2
    if whole is None or samples < 2:
        return found / samples, float("nan")
    total, same, constant = np.square([np.linalg.norm(whole), np.linalg.norm(found), found[0]]) - alone
    return found / samples, float((total - same) / (total - constant))
