"""Exercises of chapter 7: a flip-tracer, step by step, and from where the law says more than nothing."""

import math

import numpy as np

from flatcube.classroom.exercises import Measure, exercise, scored


def _entering(rng: np.random.Generator) -> list[tuple]:
    """What enters each norm, (norms, positions, channels), spread over several powers of ten."""
    shapes = ((2, 4, 3), (1, 6, 5), (3, 3, 4))
    return [
        (np.float64(10) ** rng.uniform(-2, 1, (*shape[:2], 1)) * rng.normal(size=shape) + 1, eps)
        for shape, eps in zip(shapes, (0.0, 1e-2, 0.3), strict=True)
    ]


@exercise(
    "7.1",
    "My blow-up meter",
    minutes=8,
    difficulty=1,
    hints=(
        "First find the factor N at every position of every norm. Which axis has the channels, and where does ε stand?",
        "For each norm only one position counts. What happens to a change that passes one norm after the other?",
    ),
    why="One position with little variance decides about its whole layer. That is why a faint answer is enough.",
    instances=_entering,
)
def my_blowup(entering: np.ndarray, eps: float) -> float:
    """Blowup from what enters each norm, (norms, positions, channels)."""
    factors = 1 / np.sqrt(entering.var(axis=2) + eps)
    return np.prod(1 + factors.max(axis=1))


def _factors(entering: np.ndarray, eps: float) -> np.ndarray:
    return 1 / np.sqrt(entering.var(axis=2) + eps)


my_blowup.mistake(
    "The 1 is missing: each norm counts with one plus its largest factor.",
    lambda entering, eps: np.prod(_factors(entering, eps).max(axis=1)),
)
my_blowup.mistake(
    "You add the layers up. A change passes through one norm after the other: factors multiply.",
    lambda entering, eps: np.sum(1 + _factors(entering, eps).max(axis=1)),
)
my_blowup.mistake(
    "You average over positions. The bound has to hold at each of them, so the largest factor counts.",
    lambda entering, eps: np.prod(1 + _factors(entering, eps).mean(axis=1)),
)
my_blowup.mistake(
    "There is no square root: a norm divides by the standard deviation, not by the variance.",
    lambda entering, eps: np.prod(1 + (1 / (entering.var(axis=2) + eps)).max(axis=1)),
)
my_blowup.mistake(
    "That is the product over all positions. In each layer only one of them counts, that with the largest factor.",
    lambda entering, eps: np.prod(1 + _factors(entering, eps)),
)
my_blowup.mistake(
    "ε is missing: it stands under the root, beside the variance.",
    lambda entering, eps: np.prod(1 + _factors(entering, 0.0).max(axis=1)),
)
my_blowup.mistake(
    "You add ε to the standard deviation. It is added to the variance, before the root is taken.",
    lambda entering, eps: np.prod(1 + (1 / (entering.std(axis=2) + eps)).max(axis=1)),
)
my_blowup.mistake(
    "Your variance does not subtract the mean of the channels: that is RMS norm.",
    lambda entering, eps: np.prod(1 + (np.mean(entering**2, axis=2) + eps).min(axis=1) ** -0.5),
)
my_blowup.mistake(
    "Your variance divides by the number of channels less one. Layer norm divides by their number.",
    lambda entering, eps: np.prod(1 + (entering.var(axis=2, ddof=1) + eps).min(axis=1) ** -0.5),
)


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _logits(rng: np.random.Generator) -> list[tuple]:
    found = []
    for n in (4, 6, 9):
        before, turn = rng.normal(0, 0.7, n).round(2), 1 - 2 * (np.arange(n) % 2)
        found.append((before, (before + turn * rng.uniform(0.9, 1.1, n)).round(2)))  # several rise, several fall
    return found


@exercise(
    "7.2",
    "My row of attention",
    minutes=8,
    difficulty=1,
    hints=(
        "Logits become weights by softmax: exponentials, divided by their sum. Do that for both rows.",
        "Weights add up to 1 before and after, so the plain differences cancel. What does not?",
    ),
    why="However far the logits move, this is at most 2: a row can be turned over, and no more.",
    instances=_logits,
)
def my_row(before: np.ndarray, after: np.ndarray) -> float:
    """How far a row of attention moves in all, Σ_j |â_j − â′_j|, from its logits (n,)."""
    rows = [np.exp(logits - logits.max()) for logits in (before, after)]
    return np.abs(rows[0] / rows[0].sum() - rows[1] / rows[1].sum()).sum()


my_row.mistake(
    "Those are the changes of the logits. Weights are their exponentials, divided by the sum.",
    lambda before, after: np.abs(before - after).sum(),
)
my_row.mistake(
    "The exponentials are not yet divided by their sum.",
    lambda before, after: np.abs(np.exp(before) - np.exp(after)).sum(),
)
my_row.mistake(
    "Signs cancel in your sum, since rows add up to 1: take absolute values.",
    lambda before, after: 0.0,
)
my_row.mistake(
    "That is half of it, the weight that changes hands: it leaves some keys and arrives at others, and both count.",
    lambda before, after: np.abs(_softmax(before) - _softmax(after)).sum() / 2,
)
my_row.mistake(
    "That is the largest change of a single weight. All of them are to be added up.",
    lambda before, after: np.abs(_softmax(before) - _softmax(after)).max(),
)
my_row.mistake(
    "That is the Euclidean length of the change. A sum of absolute values is asked for.",
    lambda before, after: np.linalg.norm(_softmax(before) - _softmax(after)),
)


def _heads(rng: np.random.Generator) -> list[tuple]:
    found = []
    for n, d in ((3, 2), (5, 3), (7, 4)):
        v = rng.normal(size=(n, d)).round(2)
        v[1] *= 9  # the longest moves, too
        w = (v + 0.5 * rng.normal(size=(n, d)) * (np.arange(n) % 2)[:, None]).round(2)
        rows = [_softmax(rng.normal(0, scale, n)) for scale in (1.0, 1.5)]
        found.append((*rows, v, w))
    return found


@exercise(
    "7.3",
    "My two routes",
    minutes=12,
    difficulty=2,
    hints=(
        "Write the change of Σ_j a_j v_j as Σ_j a_j (v_j − w_j) + Σ_j (a_j − b_j) w_j, and bound each sum by lengths.",
        "In the second sum no w_j is longer than the longest of them. In the first, each length keeps its own weight.",
    ),
    why="Their sum bounds how far the head's answer moves. If the weights stand still, the second route is closed.",
    instances=_heads,
)
def my_routes(a: np.ndarray, b: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Both routes through a head: weights a → b, (n,), and values v → w, (n, d)."""
    values = a @ np.linalg.norm(v - w, axis=1)
    weights = np.linalg.norm(w, axis=1).max() * np.abs(a - b).sum()
    return np.array([values, weights])


def _lengths(v: np.ndarray) -> np.ndarray:
    return np.linalg.norm(v, axis=1)


my_routes.mistake(
    "The first route needs the weights, too: an average of the movements, not their sum.",
    lambda a, b, v, w: np.array([_lengths(v - w).sum(), _lengths(w).max() * np.abs(a - b).sum()]),
)
my_routes.mistake(
    "The two routes do not fit together: with the weights from before the flip in the first, the second has the "
    "values from after it.",
    lambda a, b, v, w: np.array([a @ _lengths(v - w), _lengths(v).max() * np.abs(a - b).sum()]),
)
my_routes.mistake(
    "Your two routes fit together, and their sum is a bound, too. But you have exchanged before and after: the task "
    "wants the weights from before the flip in the first route.",
    lambda a, b, v, w: np.array([b @ _lengths(v - w), _lengths(v).max() * np.abs(a - b).sum()]),
)
my_routes.mistake(
    "In the second route the values are missing: a weight that moves carries a vector with it, of at most the largest "
    "length.",
    lambda a, b, v, w: np.array([a @ _lengths(v - w), np.abs(a - b).sum()]),
)
my_routes.mistake(
    "True, and a smaller bound: each change of a weight with the length of its own value. But the route as the chapter "
    "defines it takes the longest value for all of them.",
    lambda a, b, v, w: np.array([a @ _lengths(v - w), np.abs(a - b) @ _lengths(w)]),
)
my_routes.mistake(
    "The right numbers in the wrong order: first the values, then the weights.",
    lambda a, b, v, w: np.array([_lengths(w).max() * np.abs(a - b).sum(), a @ _lengths(v - w)]),
)
my_routes.mistake(
    "In the second route you took the length of the change of weights. Add up their absolute values.",
    lambda a, b, v, w: np.array([a @ _lengths(v - w), _lengths(w).max() * np.linalg.norm(a - b)]),
)
my_routes.mistake(
    "The axis is wrong: each row of v is one vector, and its length is taken along axis 1.",
    lambda a, b, v, w: np.array(
        [a @ np.abs(v - w).max(axis=1), np.linalg.norm(w, axis=0).max() * np.abs(a - b).sum()]
    ),
)


def _pairs(rng: np.random.Generator) -> list[tuple]:
    found = []
    for d, eps, size in ((3, 0.0, 0.01), (5, 0.1, 1.0), (8, 1e-4, 0.1)):
        y = size * rng.normal(size=d) + 1
        found.append((y.round(4), (y + 0.3 * size * rng.normal(size=d)).round(4), eps))
    return found


@exercise(
    "7.4",
    "My norm",
    minutes=10,
    difficulty=2,
    hints=(
        "Write the norm as a function first: subtract the mean, divide by the root of the variance plus ε.",
        "The second number needs the two factors only. The theorem on layer norm has a kind of mean of them.",
    ),
    why="The first never exceeds the second, and reaches it where both vectors have the same factor and mean.",
    instances=_pairs,
)
def my_norm(y: np.ndarray, z: np.ndarray, eps: float) -> np.ndarray:
    """By how much a norm stretches the distance of y and z, and the most that it may."""
    after = [(v - v.mean()) / np.sqrt(v.var() + eps) for v in (y, z)]
    stretched = np.linalg.norm(after[0] - after[1]) / np.linalg.norm(y - z)
    return np.array([stretched, ((y.var() + eps) * (z.var() + eps)) ** -0.25])


def _stretched(y: np.ndarray, z: np.ndarray, eps: float, norm: object = None) -> np.ndarray:
    norm = norm or (lambda v: (v - v.mean()) / np.sqrt(v.var() + eps))
    most = ((y.var() + eps) * (z.var() + eps)) ** -0.25
    return np.array([np.linalg.norm(norm(y) - norm(z)) / np.linalg.norm(y - z), most])


my_norm.mistake(
    "The mean is not subtracted.",
    lambda y, z, eps: _stretched(y, z, eps, lambda v: v / np.sqrt(v.var() + eps)),
)
my_norm.mistake(
    "Your first number is the distance after the norm. Divide it by the distance before.",
    lambda y, z, eps: _stretched(y, z, eps) * np.array([np.linalg.norm(y - z), 1]),
)
my_norm.mistake(
    "You divide by the variance. Its square root is the standard deviation.",
    lambda y, z, eps: _stretched(y, z, eps, lambda v: (v - v.mean()) / (v.var() + eps)),
)
my_norm.mistake(
    "The most that may happen is √(NN′), the geometric mean of the factors; you have their product.",
    lambda y, z, eps: _stretched(y, z, eps) ** np.array([1, 2]),
)
my_norm.mistake(
    "The most that may happen is the geometric mean of the two factors, not the larger of them.",
    lambda y, z, eps: np.array([_stretched(y, z, eps)[0], min(y.var() + eps, z.var() + eps) ** -0.5]),
)
my_norm.mistake(
    "You divide by the length of the centred vector. The variance is a mean over the channels, so a factor √d is lost.",
    lambda y, z, eps: _stretched(
        y, z, eps, lambda v: (v - v.mean()) / np.sqrt(((v - v.mean()) ** 2).sum() + eps)
    ),
)
my_norm.mistake(
    "The right numbers in the wrong order: first what happens, then what may.",
    lambda y, z, eps: _stretched(y, z, eps)[::-1],
)


def _networks(rng: np.random.Generator) -> list[tuple]:
    """Activations before and after a flip that moves one position, and two layers (scores, values)."""
    found = []
    for n, d, eps in ((4, 3, 0.1), (6, 4, 0.02)):
        x = rng.normal(size=(n, d))
        y = x.copy()
        y[rng.integers(n - 1)] += rng.normal(size=d)
        layers = rng.normal(size=(2, 2, d, d)) * np.array([0.5, 1.0])[:, None, None]
        found.append((x, y, layers, eps))
    return found


@exercise(
    "7.5",
    "My flip-tracer",
    minutes=25,
    difficulty=3,
    hints=(
        "In each layer, first the two rows of attention of the last position and the values of all: then your routes.",
        "Both inputs go through the layer at all positions, since the next layer averages over them. "
        "Only what you report is about the last one.",
    ),
    why="You own a tracer: put any network of heads and norms in, and see by which route a flip travels.",
    instances=_networks,
)
def my_tracer(x: np.ndarray, y: np.ndarray, layers: np.ndarray, eps: float) -> np.ndarray:
    """For each W, V in layers (L, 2, d, d): both routes, √(NN′), and the change at the end."""
    found = []
    for W, V in layers:
        # your turn
        steps = []
        for z in (x, y):
            logits = z @ W @ z.T
            rows = np.exp(logits - logits.max(axis=1, keepdims=True))
            rows /= rows.sum(axis=1, keepdims=True)
            mixed = rows @ z @ V
            factors = 1 / np.sqrt(mixed.var(axis=1) + eps)
            steps.append((rows[-1], z @ V, factors, (mixed - mixed.mean(axis=1, keepdims=True)) * factors[:, None]))
        (a, v, N, x), (b, w, M, y) = steps
        values = a @ np.linalg.norm(v - w, axis=1)
        weights = np.linalg.norm(w, axis=1).max() * np.abs(a - b).sum()
        found.append([values, weights, np.sqrt(N[-1] * M[-1]), np.linalg.norm(x[-1] - y[-1])])
    return np.array(found)


def _traced(
    x: np.ndarray, y: np.ndarray, layers: np.ndarray, eps: float,
    *, normed: bool = True, turned: bool = False, at: int = -1,
) -> np.ndarray:  # fmt: skip
    """The same trace, with what readers leave out or mix up."""
    found = []
    for W, V in layers:
        W = W.T if turned else W
        rows = [_softmax(z @ W @ z.T) for z in (x, y)]
        values = [x @ V, y @ V]
        mixed = [row @ value for row, value in zip(rows, values, strict=True)]
        factors = [(some.var(axis=1) + eps) ** -0.5 for some in mixed]
        x, y = ((some - some.mean(axis=1, keepdims=True)) * f[:, None] for some, f in zip(mixed, factors, strict=True))
        if not normed:
            x, y = mixed
        a, b = rows[0][at], rows[1][at]
        both = a @ _lengths(values[0] - values[1]), _lengths(values[1]).max() * np.abs(a - b).sum()
        found.append([*both, np.sqrt(factors[0][at] * factors[1][at]), np.linalg.norm(x[at] - y[at])])
    return np.array(found)


my_tracer.mistake(
    "The norm is missing on the way: the next layer receives what has been divided by the standard deviation.",
    lambda x, y, layers, eps: _traced(x, y, layers, eps, normed=False),
)
my_tracer.mistake(
    "Queries and keys are swapped: position i looks at position j with the logit x_i W x_j.",
    lambda x, y, layers, eps: _traced(x, y, layers, eps, turned=True),
)
my_tracer.mistake(
    "You report the first position. The last one is read.",
    lambda x, y, layers, eps: _traced(x, y, layers, eps, at=0),
)
my_tracer.mistake(
    "Every layer starts again from the first activations. What leaves one layer enters the next.",
    lambda x, y, layers, eps: np.concatenate([_traced(x, y, layer[None], eps) for layer in layers]),
)
my_tracer.mistake(
    "The product NN′ is too large by a square: the norm's inequality has its root.",
    lambda x, y, layers, eps: _traced(x, y, layers, eps) ** np.array([1, 1, 2, 1]),
)
my_tracer.mistake(
    "ε is missing: it stands under the root, beside the variance.",
    lambda x, y, layers, eps: _traced(x, y, layers, 0.0),
)


def _constants(rng: np.random.Generator) -> list[tuple]:
    return [(round(float(rng.uniform(1, 4)), 2), round(float(rng.uniform(1.1, 1.8)), 2)) for _ in range(4)]


def _least(holds: object) -> int:
    n = 3
    while not holds(n):
        n += 1
    return n


@exercise(
    "7.6",
    "Where it begins to bite",
    minutes=12,
    difficulty=2,
    hints=(
        "If Blowup is B at x and at all its neighbours, what is the right-hand side of Theorem 4?",
        "Outputs ±1 have s(f, x) ≤ n anyway. Try n = 3, 4, 5, … until the theorem promises less.",
    ),
    why="n grows like the square of C, so a constant of 10¹⁸ has to wait for 10³⁶ bits and more.",
    instances=_constants,
)
def bites(C: float, B: float) -> int:
    """The least n ≥ 3 at which Theorem 4 excludes s(f, x) = n, if Blowup is B everywhere."""
    lengths = range(3, 10**6)
    # your turn
    return next(n for n in lengths if C * np.sqrt(n * np.log(n)) * 2 * B**2 < n)


bites.mistake(
    "Two terms: the blow-up at x and the mean over its neighbours.",
    lambda C, B: _least(lambda n: C * math.sqrt(n * math.log(n)) * B**2 < n),
)
bites.mistake(
    "Blowup stands squared in the theorem.",
    lambda C, B: _least(lambda n: C * math.sqrt(n * math.log(n)) * 2 * B < n),
)
bites.mistake(
    "The logarithm is missing: √(n log n).",
    lambda C, B: _least(lambda n: C * math.sqrt(n) * 2 * B**2 < n),
)
bites.mistake(
    "The logarithm is under the root.",
    lambda C, B: _least(lambda n: C * math.sqrt(n) * math.log(n) * 2 * B**2 < n),
)
bites.mistake(
    "The C is missing.",
    lambda C, B: _least(lambda n: math.sqrt(n * math.log(n)) * 2 * B**2 < n),
)
bites.mistake(
    "That is the last n at which the theorem is silent, one less than what is asked for.",
    lambda C, B: _least(lambda n: C * math.sqrt(n * math.log(n)) * 2 * B**2 < n) - 1,
)


def _leashes(rng: np.random.Generator) -> list[tuple]:
    """Rows of ten weights, and how far each logit may move."""
    return [(_softmax(rng.normal(0, 1.5, 10)), rng.exponential(0.4, 10)) for _ in range(30)]


def _farthest(weights: np.ndarray, radii: np.ndarray) -> float:
    """The largest Σ|â − â′| if logit j moves by at most radii[j]: some rise as far as they may, all others fall."""
    rise = (np.arange(2 ** len(weights))[:, None] >> np.arange(len(weights)) & 1).astype(bool)
    moved = weights * np.exp(np.where(rise, radii, -radii))
    raised = np.where(rise, moved, 0.0).sum(axis=1) / moved.sum(axis=1)
    return float(2 * (raised - rise @ weights).max())


def _kept(out: float, weights: np.ndarray, radii: np.ndarray) -> bool:
    return float(out) >= _farthest(weights, radii) - 1e-9


@scored(
    "7.7",
    "A shorter leash",
    minutes=30,
    difficulty=3,
    instances=_leashes,
    baseline=lambda weights, radii: min(2.0, 2 * float(np.max(radii))),
    measures={
        "leash (2 where it broke)": Measure(lambda out, *trial: float(out) if _kept(out, *trial) else 2.0),
        "broken": Measure(lambda out, *trial: float(not _kept(out, *trial)), unit=" %", scale=100),
    },
    why="It knows the farthest logit only. One that moves far may belong to a key that has hardly any weight.",
)
def leash(weights: np.ndarray, radii: np.ndarray) -> float:
    """A number that Σ|â − â′| cannot exceed if logit j moves by at most radii[j]."""
    return 2 * math.tanh(np.max(radii) / 2)
