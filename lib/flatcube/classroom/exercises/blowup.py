"""Exercises of chapter 7."""

import math

import numpy as np

from flatcube.classroom.exercises import exercise


def _variances(rng: np.random.Generator) -> list[tuple]:
    """Variances (norms, positions), spread over several powers of ten."""
    shapes = ((2, 4), (1, 6), (3, 3))
    return [(10.0 ** rng.uniform(-3, 1, shape), eps) for shape, eps in zip(shapes, (0.0, 1e-2, 0.3), strict=True)]


@exercise(
    "7.1",
    "Blow up",
    minutes=6,
    difficulty=1,
    hints=(
        "Turn variances into factors first, all at once: one over a square root.",
        "In each row only the largest factor counts. `axis=1` is the axis of positions.",
    ),
    why="One position with a small variance decides about its whole layer. That is why a faint answer is enough.",
    instances=_variances,
)
def blow_up(variances: np.ndarray, eps: float) -> float:
    """Blowup from the variances (norms, positions) of what enters each norm."""
    factors = 1 / np.sqrt(variances + eps)
    return np.prod(1 + factors.max(axis=1))


def _factors(variances: np.ndarray, eps: float) -> np.ndarray:
    return 1 / np.sqrt(variances + eps)


blow_up.mistake(
    "The 1 is missing: τ is one plus the largest factor.",
    lambda variances, eps: np.prod(_factors(variances, eps).max(axis=1)),
)
blow_up.mistake(
    "You add the layers up. A change passes through one norm after the other: factors multiply.",
    lambda variances, eps: np.sum(1 + _factors(variances, eps).max(axis=1)),
)
blow_up.mistake(
    "You average over positions. The bound has to hold at each of them, so the largest factor counts.",
    lambda variances, eps: np.prod(1 + _factors(variances, eps).mean(axis=1)),
)
blow_up.mistake(
    "There is no square root: a norm divides by the standard deviation, not by the variance.",
    lambda variances, eps: np.prod(1 + (1 / (variances + eps)).max(axis=1)),
)
blow_up.mistake(
    "That is the product over all positions. In each layer only one of them counts, that with the largest factor.",
    lambda variances, eps: np.prod(1 + _factors(variances, eps)),
)
blow_up.mistake(
    "Rows are norms and columns are positions: you took the largest factor of each column.",
    lambda variances, eps: np.prod(1 + _factors(variances, eps).max(axis=0)),
)
blow_up.mistake(
    "You took the largest variance of each norm. The factor is largest where the variance is smallest.",
    lambda variances, eps: np.prod(1 + _factors(variances.max(axis=1), eps)),
)
blow_up.mistake(
    "ε is missing: it stands under the root, beside the variance.",
    lambda variances, eps: np.prod(1 + _factors(variances, 0.0).max(axis=1)),
)
blow_up.mistake(
    "ε stands under the root, beside the variance.",
    lambda variances, eps: np.prod(1 + 1 / (np.sqrt(variances).min(axis=1) + eps)),
)


def _rows(rng: np.random.Generator) -> list[tuple]:
    return [(rng.normal(0, 2, n).round(2), rng.normal(0, 2, n).round(2), rng.integers(0, 2, n)) for n in (4, 6, 9)]


@exercise(
    "7.2",
    "The influence on a row",
    minutes=12,
    difficulty=2,
    hints=(
        "Write a function that turns bits into a row of weights: choose the logits, exponentiate, divide by the sum.",
        "Flip one bit at a time in a copy, and add up the absolute differences of the two rows.",
    ),
    why="What bit q's own weight gains, all others lose together: the sum is twice the changes of the own weights.",
    instances=_rows,
)
def influence(zero: np.ndarray, one: np.ndarray, bits: np.ndarray) -> float:
    """Σ_q Σ_j |â_j(x) − â_j(x⊕q)|; key j has logit zero[j] or one[j], as bit j says."""
    total = 0.0
    for q in range(len(bits)):
        flipped = bits.copy()
        flipped[q] = 1 - bits[q]
        # your turn
        rows = [np.exp(np.where(some, one, zero)) for some in (bits, flipped)]
        total += np.abs(rows[0] / rows[0].sum() - rows[1] / rows[1].sum()).sum()
    return total


def _changes(zero: np.ndarray, one: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """|â_j(x) − â_j(x⊕q)| as a matrix (q, j)."""
    flipped = bits ^ np.eye(len(bits), dtype=int)
    here, there = (np.exp(np.where(some, one, zero)) for some in (bits, flipped))
    return np.abs(here / here.sum() - there / there.sum(axis=1, keepdims=True))


influence.mistake(
    "Half of it: you follow only the weight of the bit that was flipped. The others change too, as rows add up to 1.",
    lambda zero, one, bits: np.trace(_changes(zero, one, bits)),
)
influence.mistake(
    "Those are the changes of the logits. Weights are their exponentials, divided by the sum.",
    lambda zero, one, bits: np.abs(one - zero).sum(),
)
influence.mistake(
    "That is the mean over the bits; the sum is asked for.",
    lambda zero, one, bits: _changes(zero, one, bits).sum() / len(bits),
)
influence.mistake(
    "Signs cancel in your sum, since rows add up to 1: take absolute values.",
    lambda zero, one, bits: 0.0,
)
influence.mistake(
    "That is the largest influence of a single bit. All of them are to be added up.",
    lambda zero, one, bits: _changes(zero, one, bits).sum(axis=1).max(),
)
influence.mistake(
    "The logits are swapped: a bit 1 has the logit in `one`.",
    lambda zero, one, bits: _changes(one, zero, bits).sum(),
)


def _empties(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(4, 60)), round(float(rng.uniform(0.5, 6)), 2)) for _ in range(4)]


@exercise(
    "7.3",
    "No ones at all",
    minutes=8,
    difficulty=1,
    hints=(
        "Before the flip all weights are equal. After it one key has logit `loud`, the others 0.",
        "The flipped key's weight rises; the others fall by the same amount in all. There are n choices of the key.",
    ),
    why="With a loud one this tends to 2n − 2, while Lemma 11 grows like log n: a single string breaks it for large n.",
    instances=_empties,
)
def empty(n: int, loud: float) -> float:
    """The influence of all n bits on a row at 0…0, if a one has logit loud and a zero 0."""
    raised = np.exp(loud) / (np.exp(loud) + n - 1)
    return 2 * n * (raised - 1 / n)


def _raised(n: int, loud: float, others: int) -> float:
    return math.exp(loud) / (math.exp(loud) + others)


empty.mistake(
    "Half of it: what one weight gains the others lose, and both count.",
    lambda n, loud: n * (_raised(n, loud, n - 1) - 1 / n),
)
empty.mistake(
    "Every key had a weight before: 1/n. Only the difference counts.",
    lambda n, loud: 2 * n * _raised(n, loud, n - 1),
)
empty.mistake(
    "Beside the flipped key there are n − 1 others, not n.",
    lambda n, loud: 2 * n * (_raised(n, loud, n) - 1 / n),
)
empty.mistake(
    "That is the influence of a single bit. There are n of them.",
    lambda n, loud: 2 * (_raised(n, loud, n - 1) - 1 / n),
)
empty.mistake(
    "Logits are not weights yet: take exponentials.",
    lambda n, loud: 2 * n * (loud / (loud + n - 1) - 1 / n),
)


def _pairs(rng: np.random.Generator) -> list[tuple]:
    found = []
    for d, eps, size in ((3, 0.0, 0.01), (5, 0.1, 1.0), (8, 1e-4, 0.1)):
        y = size * rng.normal(size=d) + 1
        found.append((y.round(4), (y + 0.3 * size * rng.normal(size=d)).round(4), eps))
    return found


@exercise(
    "7.4",
    "How much does it magnify?",
    minutes=10,
    difficulty=2,
    hints=(
        "Write the norm as a function first: subtract the mean, divide by the root of the variance plus ε.",
        "numpy's `var` divides by the number of channels, which is what is wanted here.",
    ),
    why="It never exceeds the geometric mean of the two factors, and reaches it where both are equally long.",
    instances=_pairs,
)
def magnified(y: np.ndarray, z: np.ndarray, eps: float) -> float:
    """‖norm(y) − norm(z)‖ / ‖y − z‖ for a layer norm without gain and bias."""
    after = [(v - v.mean()) / np.sqrt(v.var() + eps) for v in (y, z)]
    return np.linalg.norm(after[0] - after[1]) / np.linalg.norm(y - z)


def _ratio(y: np.ndarray, z: np.ndarray, norm: object) -> float:
    return np.linalg.norm(norm(y) - norm(z)) / np.linalg.norm(y - z)


magnified.mistake(
    "The mean is not subtracted.",
    lambda y, z, eps: _ratio(y, z, lambda v: v / np.sqrt(v.var() + eps)),
)
magnified.mistake(
    "That is the distance after the norm. Divide it by the distance before.",
    lambda y, z, eps: _ratio(y, z, lambda v: (v - v.mean()) / np.sqrt(v.var() + eps)) * np.linalg.norm(y - z),
)
magnified.mistake(
    "You divide by the variance. Its square root is the standard deviation.",
    lambda y, z, eps: _ratio(y, z, lambda v: (v - v.mean()) / (v.var() + eps)),
)
magnified.mistake(
    "ε stands under the root, beside the variance.",
    lambda y, z, eps: _ratio(y, z, lambda v: (v - v.mean()) / (v.std() + eps)),
)
magnified.mistake(
    "You divide by the length of the centred vector. The variance is a mean over the channels, so a factor √d is lost.",
    lambda y, z, eps: _ratio(y, z, lambda v: (v - v.mean()) / np.sqrt(((v - v.mean()) ** 2).sum() + eps)),
)
magnified.mistake(
    "Your variance divides by d − 1. Layer norm divides by d.",
    lambda y, z, eps: _ratio(y, z, lambda v: (v - v.mean()) / np.sqrt(v.var(ddof=1) + eps)),
)
magnified.mistake(
    "That is the bound √(NN′), the most that can happen. Compute what does happen to these two vectors.",
    lambda y, z, eps: ((y.var() + eps) * (z.var() + eps)) ** -0.25,
)


def _lengths(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(10, 100)), round(float(rng.uniform(2, 30)), 2), H) for H in (1, 2, 4)]


@exercise(
    "7.5",
    "What PARITY demands",
    minutes=10,
    difficulty=2,
    hints=(
        "What is the average sensitivity of PARITY on n bits? Put it into Corollary 5.",
        "C is on the left: divide by it, which in logarithms is a difference.",
    ),
    why="It grows like half of log n. A fixed network cannot do it, unless its norms magnify more and more.",
    instances=_lengths,
)
def demanded(n: int, log_constant: float, heads: int) -> float:
    """The logarithm of the least E[Blowup²] that Corollary 5 allows for PARITY."""
    right = n / np.sqrt(n * np.log(n)) - heads / n
    return np.log(right) - log_constant


demanded.mistake(
    "The remainder H/n is missing.",
    lambda n, log_constant, heads: math.log(math.sqrt(n / math.log(n))) - log_constant,
)
demanded.mistake(
    "You used √n/log n, as the paper prints it. Corollary 5 has the logarithm under the root.",
    lambda n, log_constant, heads: math.log(math.sqrt(n) / math.log(n) - heads / n) - log_constant,
)
demanded.mistake(
    "Do not forget C: the product of C and the mean of Blowup² is bounded.",
    lambda n, log_constant, heads: math.log(math.sqrt(n / math.log(n)) - heads / n),
)
demanded.mistake(
    "C is on the side of the blow-up: it makes the demand smaller, not larger.",
    lambda n, log_constant, heads: math.log(math.sqrt(n / math.log(n)) - heads / n) + log_constant,
)
demanded.mistake(
    "That is the demand itself; its logarithm is asked for.",
    lambda n, log_constant, heads: (math.sqrt(n / math.log(n)) - heads / n) / math.exp(log_constant),
)
demanded.mistake(
    "`log_constant` is a logarithm already.",
    lambda n, log_constant, heads: math.log(math.sqrt(n / math.log(n)) - heads / n) - math.log(log_constant),
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
