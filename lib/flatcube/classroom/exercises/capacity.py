"""The exercises of chapter 8. Each solution is followed by the mistakes that its check recognises."""

import math

import numpy as np

from flatcube.classroom.exercises import exercise


def _classes(rng: np.random.Generator) -> list[tuple]:
    """Linear functions on a few inputs, some of them chosen to stand for all."""
    drawn = []
    for inputs, eps in ((3, 0.6), (5, 0.8), (4, 0.7)):
        values = rng.normal(size=(80, inputs)).round(2)
        drawn.append((values, rng.choice(80, 6, replace=False), eps))
    return drawn


@exercise(
    "8.1",
    "Who is covered",
    minutes=6,
    difficulty=1,
    hints=(
        "Two functions are near if they are near at *every* input. A function is covered if *one* chosen one is near.",
        "`np.abs(values[:, None] - values[chosen])` has axes (function, chosen, input): take the largest entry over "
        "the last, then the smallest over the second.",
    ),
    why="A cover leaves nobody out: its smallest size is the covering number. Its logarithm is what bounds use.",
    instances=_classes,
)
def covered(values: np.ndarray, chosen: np.ndarray, eps: float) -> float:
    """The share of the rows of values that are within eps of a chosen row."""
    return np.mean(np.abs(values[:, None] - values[chosen]).max(axis=2).min(axis=1) <= eps)


def _near(values, chosen, by, over=np.min):
    return over(by(np.abs(values[:, None] - values[chosen]), axis=2), axis=1)


covered.mistake(
    "You compare functions on average over the inputs. They must be near at the worst input.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.mean) <= eps),
)
covered.mistake(
    "You are content with one input where they are near. It has to be every input.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.min) <= eps),
)
covered.mistake(
    "You ask that all chosen functions be near. One of them is enough.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.max, np.max) <= eps),
)
covered.mistake(
    "You count the functions that are covered. Divide by the number of all.",
    lambda values, chosen, eps: np.sum(_near(values, chosen, np.max) <= eps),
)
covered.mistake(
    "That is the share of functions left out.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.max) > eps),
)
covered.mistake(
    "You measure the Euclidean distance of the rows. Here distance is the largest difference at one input.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.linalg.norm) <= eps),
)


def _targets(rng: np.random.Generator) -> list[tuple]:
    """A weight vector and inputs of different lengths, hard enough for several corrections.

    With these eps no (‖w‖B/ε)² is a whole number, which rounding could take for the one below.
    """
    shapes = ((3, 5, 0.2069), (4, 8, 0.1931), (2, 20, 0.1571))
    return [(rng.normal(size=d).round(1) + 1, (2 * rng.normal(size=(n, d))).round(1), eps) for d, n, eps in shapes]


@exercise(
    "8.2",
    "The patient corrector",
    minutes=12,
    difficulty=2,
    instances=_targets,
    hints=(
        "`gaps[i]` is the worst gap. Is it small enough? If not, `u` has to move along `inputs[i]`, up or down.",
        "Return `count` if `abs(gaps[i])` is at most eps. Otherwise add `step` times the input to `u`, with the sign "
        "of the gap.",
    ),
    why="However many inputs there are, (‖w‖B/ε)² corrections suffice. That is where the logarithm of T comes from.",
)
def corrections(w: np.ndarray, inputs: np.ndarray, eps: float) -> int:
    """How often u is corrected until no |(w − u)·x| is above eps."""
    step, u = eps / np.square(inputs).sum(axis=1).max(), np.zeros(len(w))
    for count in range(10_000):
        gaps = inputs @ (w - u)
        i = np.abs(gaps).argmax()
        # your turn
        if abs(gaps[i]) <= eps:
            return count
        u += step * np.sign(gaps[i]) * inputs[i]


def _corrected(w, inputs, eps, *, step=None, exact=False, signed=True):
    """Variants of the loop; gives up after as many steps as nobody needs."""
    squares = np.square(inputs).sum(axis=1)
    step, u = eps / squares.max() if step is None else step, np.zeros(len(w))
    for count in range(10_000):
        gaps = inputs @ (w - u)
        i = np.abs(gaps).argmax()
        if abs(gaps[i]) <= eps:
            return count
        size = gaps[i] / squares[i] if exact else step * (np.sign(gaps[i]) if signed else gaps[i])
        u = u + size * inputs[i]
    return -1


corrections.mistake(
    "You count one more: nothing is corrected when the worst gap is already small.",
    lambda w, inputs, eps: _corrected(w, inputs, eps) + 1,
)
corrections.mistake(
    "You close the gap completely. Then a step is a real number; the step of fixed length has two values, one for "
    "each sign, and can be counted.",
    lambda w, inputs, eps: _corrected(w, inputs, eps, exact=True),
)
corrections.mistake(
    "Your step is proportional to the gap. Only its sign should enter, or the steps cannot be counted.",
    lambda w, inputs, eps: _corrected(w, inputs, eps, signed=False),
)
corrections.mistake(
    "You give what the theorem allows. The corrector usually needs fewer.",
    lambda w, inputs, eps: int(w @ w * np.square(inputs).sum(axis=1).max() / eps**2),
)
corrections.mistake(
    "Your step is half as long.",
    lambda w, inputs, eps: _corrected(w, inputs, eps, step=eps / 2 / np.square(inputs).sum(axis=1).max()),
)


def _parts(rng: np.random.Generator) -> list[tuple]:
    return [(*rng.uniform(0.5, 5, (2, n)).round(1), 0.5) for n in (2, 3, 4)]


@exercise(
    "8.3",
    "Share the error",
    minutes=10,
    difficulty=2,
    hints=(
        "Set the derivative of Σ(sizes/x)² + μ Σ reaches·x to zero. What power of size and reach is x?",
        "x is proportional to `(sizes**2 / reaches) ** (1/3)`. Now choose the factor so that `reaches @ x` is eps.",
    ),
    why="Put back, this gives (Σ(size·reach)^⅔)³/ε²: each matrix takes its share of log N, in proportion to "
    "(size·reach)^⅔.",
    instances=_parts,
)
def share(sizes: np.ndarray, reaches: np.ndarray, eps: float) -> np.ndarray:
    """The x > 0 with reaches @ x = eps and the least sum((sizes / x) ** 2)."""
    x = np.cbrt(sizes**2 / reaches)
    return eps * x / (reaches @ x)


def _scaled(x, reaches, eps):
    return eps * x / (reaches @ x)


share.mistake(
    "You give every matrix the same error. Large matrices are worth a larger one.",
    lambda sizes, reaches, eps: _scaled(np.ones(len(sizes)), reaches, eps),
)
share.mistake(
    "You let every matrix move the output equally. That is feasible, but not the cheapest.",
    lambda sizes, reaches, eps: _scaled(1 / reaches, reaches, eps),
)
share.mistake(
    "Your errors are in proportion to the sizes. Reach matters as well: an error that is stretched should be small.",
    lambda sizes, reaches, eps: _scaled(sizes, reaches, eps),
)
share.mistake(
    "The powers are right, but the errors add up to eps before they are stretched: reaches @ x should be eps.",
    lambda sizes, reaches, eps: eps * np.cbrt(sizes**2 / reaches) / np.cbrt(sizes**2 / reaches).sum(),
)
share.mistake(
    "You forgot the factor that makes reaches @ x equal to eps.",
    lambda sizes, reaches, eps: np.cbrt(sizes**2 / reaches),
)
share.mistake(
    "You take square roots, as if the cost were Σ size²/x. It is Σ (size/x)².",
    lambda sizes, reaches, eps: _scaled(sizes / np.sqrt(reaches), reaches, eps),
)


@exercise(
    "8.4",
    "What comes after",
    minutes=8,
    difficulty=1,
    hints=(
        "An error made in layer i goes through layers i + 1, i + 2, … and then through the read-out.",
        "`np.prod(stretches[i + 1:])` is 1 for the last layer.",
    ),
    why="ED's Theorem A.17 multiplies the layers before i and leaves the read-out out. Both change the bound.",
    instances=lambda rng: [(rng.uniform(0.5, 4, n).round(1), float(rng.integers(2, 9))) for n in (2, 3, 4)],
)
def amplification(stretches: np.ndarray, readout: float) -> np.ndarray:
    """For each layer: how far an error of size 1 at its exit moves the output."""
    return np.array([readout * np.prod(stretches[i + 1 :]) for i in range(len(stretches))])


def _products(stretches, readout, pick):
    return np.array([readout * np.prod(pick(stretches, i)) for i in range(len(stretches))])


amplification.mistake(
    "You multiply the layers before, as printed in ED. They have already done their work when the error is made.",
    lambda stretches, readout: _products(stretches, readout, lambda s, i: s[:i]),
)
amplification.mistake(
    "You multiply the layers before and leave the read-out out, as printed in ED. Both are wrong.",
    lambda stretches, readout: _products(stretches, 1, lambda s, i: s[:i]),
)
amplification.mistake(
    "The read-out is missing: it stretches every error by its norm.",
    lambda stretches, readout: _products(stretches, 1, lambda s, i: s[i + 1 :]),
)
amplification.mistake(
    "You let layer i stretch its own error. The error is made at its output.",
    lambda stretches, readout: _products(stretches, readout, lambda s, i: s[i:]),
)
amplification.mistake(
    "You stretch every error by all layers.",
    lambda stretches, readout: _products(stretches, readout, lambda s, i: s),
)


def _chains(rng: np.random.Generator) -> list[tuple]:
    """Two cases with √(C/m) below the ceiling and one above it."""
    drawn = [(float(rng.integers(5, 50)), m, float(rng.integers(2, 6))) for m in (1000, 10**5)]
    return [*drawn, (float(rng.integers(200, 300)), 10, 2.0)]


@exercise(
    "8.5",
    "Where to stop the chain",
    minutes=10,
    difficulty=2,
    hints=(
        "The integral of √(C/m)/ε from δ to A is √(C/m) log(A/δ). Differentiate δ plus that.",
        "The best δ is √(C/m), unless that is above A: then take δ = A, and nothing is left to integrate.",
    ),
    why="The gap shrinks like √(C/m), up to a logarithm, and C holds log(mT): that is all that T costs.",
    instances=_chains,
)
def chain(C: float, m: int, A: float) -> float:
    """The least value of δ + ∫ from δ to A of √(C/m)/ε dε, 0 < δ ≤ A."""
    cut = min(np.sqrt(C / m), A)
    return cut + np.sqrt(C / m) * np.log(A / cut)


def _at(C, m, A, cut):
    return cut + math.sqrt(C / m) * math.log(A / cut)


chain.mistake(
    "Right as long as √(C/m) is below A. Above, the best δ is A itself.",
    lambda C, m, A: _at(C, m, A, math.sqrt(C / m)),
)
chain.mistake(
    "That is δ alone; the integral is missing.",
    lambda C, m, A: min(math.sqrt(C / m), A),
)
chain.mistake(
    "That is the integral alone; δ itself is missing.",
    lambda C, m, A: math.sqrt(C / m) * math.log(A / min(math.sqrt(C / m), A)),
)
chain.mistake(
    "You stop at δ = C/m. The derivative vanishes at its square root.",
    lambda C, m, A: _at(C, m, A, min(C / m, A)),
)
chain.mistake(
    "You stop at δ = 1/√m, as many textbooks do. Here C is large, and stopping earlier is better.",
    lambda C, m, A: _at(C, m, A, 1 / math.sqrt(m)),
)


def _sizes(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(10, 30)), d, w, 0.05) for d, w in ((2, 3), (3, 4), (2, 6))]


@exercise(
    "8.6",
    "Occam's examples",
    minutes=10,
    difficulty=2,
    hints=(
        "Count the ways to choose w different sets of d bits out of T, and for each set one of 16 weights.",
        "`comb(comb(T, d), w)` ways to choose the sets, times 16 for each weight; then solve "
        "4 (log H + log(1/δ))/m ≤ 1 for m, rounded up.",
    ),
    why="A few hundred examples, where a cover of the network that computes the same function wants more than 10²⁰.",
    instances=_sizes,
)
def examples(T: int, d: int, w: int, delta: float) -> int:
    """The fewest m with 4 (log H + log(1/δ))/m ≤ 1."""
    from math import comb

    # your turn
    functions = comb(comb(T, d), w) * 16**w
    return int(np.ceil(4 * (np.log(float(functions)) + np.log(1 / delta))))


def _needed(count: float, delta: float, factor: float = 4) -> int:
    return math.ceil(factor * (count + math.log(1 / delta)))


examples.mistake(
    "You choose the sets one after the other, C(T, d) ways each. Their order does not matter, and they differ.",
    lambda T, d, w, delta: _needed(w * math.log(math.comb(T, d)) + w * math.log(16), delta),
)
examples.mistake(
    "The weights are missing: each of the w components has one of 16.",
    lambda T, d, w, delta: _needed(math.log(math.comb(math.comb(T, d), w)), delta),
)
examples.mistake(
    "You give all components the same weight. Each may have its own.",
    lambda T, d, w, delta: _needed(math.log(math.comb(math.comb(T, d), w) * 16), delta),
)
examples.mistake(
    "You choose all d·w bits at once. The sets may overlap, and which bits belong together matters.",
    lambda T, d, w, delta: _needed(math.log(math.comb(T, min(d * w, T)) * 16**w), delta),
)
examples.mistake(
    "The confidence is missing: add log(1/δ).",
    lambda T, d, w, delta: math.ceil(4 * math.log(math.comb(math.comb(T, d), w) * 16**w)),
)
examples.mistake(
    "You take logarithms to base 2. The bound comes from (1 − r)^m ≤ e^(−rm): natural logarithms.",
    lambda T, d, w, delta: math.ceil(4 * (math.log2(math.comb(math.comb(T, d), w) * 16**w) + math.log2(1 / delta))),
)
examples.mistake(
    "Examples come whole: round up to the next integer.",
    lambda T, d, w, delta: 4 * (math.log(math.comb(math.comb(T, d), w) * 16**w) + math.log(1 / delta)),
)
