"""The exercises of chapter 8. Each solution is followed by the mistakes that its check recognises.

They build one thing, a bound from covers: its definition, the corrector, the split, the reaches, the bound, the promise
and, beside it, Occam's.
"""

import math

import numpy as np

from flatcube import capacity
from flatcube.capacity import covers
from flatcube.classroom.exercises import Measure, exercise, scored


def _classes(rng: np.random.Generator) -> list[tuple]:
    """Functions on a few inputs, some of them chosen to stand for all; values on a grid, so that some are *at* ε."""
    drawn = []
    for inputs, eps in ((3, 0.625), (4, 0.875), (3, 0.75)):
        while True:
            values = rng.integers(-12, 13, (80, inputs)) / 8
            chosen = rng.choice(80, 6, replace=False)
            near = _near(values, chosen, np.max)
            if np.sum(near == eps):
                break
        drawn.append((values, chosen, eps))
    return drawn


def _near(values, chosen, by, over=np.min):
    return over(by(np.abs(values[:, None] - values[chosen]), axis=2), axis=1)


@exercise(
    "8.1",
    "Who is covered",
    minutes=6,
    difficulty=1,
    hints=(
        "Two functions are near if they are near at *every* input. A function is covered if *one* chosen one is near.",
        "Make an array with axes (function, chosen, input) of absolute differences. Which axis asks for the largest "
        "entry, and which for the smallest?",
    ),
    why="A cover leaves nobody out: its smallest size is the covering number. Its logarithm is what bounds use.",
    instances=_classes,
)
def my_share(values: np.ndarray, chosen: np.ndarray, eps: float) -> float:
    """The share of the rows that are within eps of a chosen row."""
    apart = np.abs(values[:, None] - values[chosen])
    return np.mean(apart.max(axis=2).min(axis=1) <= eps)


my_share.mistake(
    "You compare functions on average over the inputs. They must be near at the worst input.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.mean) <= eps),
)
my_share.mistake(
    "You are content with one input where they are near. It has to be every input.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.min) <= eps),
)
my_share.mistake(
    "You ask that all chosen functions be near. One of them is enough.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.max, np.max) <= eps),
)
my_share.mistake(
    "You count the functions that are covered. Divide by the number of all.",
    lambda values, chosen, eps: np.sum(_near(values, chosen, np.max) <= eps),
)
my_share.mistake(
    "That is the share of functions left out.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.max) > eps),
)
my_share.mistake(
    "You measure the Euclidean distance of the rows. Here distance is the largest difference at one input.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.linalg.norm) <= eps),
)
my_share.mistake(
    "You leave out functions that are off by exactly ε. They are covered: within ε means at most ε.",
    lambda values, chosen, eps: np.mean(_near(values, chosen, np.max) < eps),
)


def _targets(rng: np.random.Generator) -> list[tuple]:
    """A weight vector and inputs of different lengths, hard enough for several corrections.

    With these eps no (‖a‖B/ε)² is a whole number, which rounding could take for the one below.
    """
    shapes = ((3, 5, 0.2069), (4, 8, 0.1931), (2, 20, 0.1571))
    return [(rng.normal(size=d).round(1) + 1, (2 * rng.normal(size=(n, d))).round(1), eps) for d, n, eps in shapes]


@exercise(
    "8.2",
    "My corrector",
    minutes=12,
    difficulty=2,
    instances=_targets,
    hints=(
        "`gaps[i]` is the worst gap. When is the work done, and what is then the answer? If it is not done, `u` has to "
        "move along `inputs[i]`, up or down.",
        "Every move has the same length factor, `step`. The gap decides about the direction only: what is its sign if "
        "`u` gives too little at this input?",
    ),
    why="However many inputs there are, (‖a‖B/ε)² corrections suffice. Their number enters the count of functions only "
    "because each correction has to name one of them, and that costs a logarithm.",
)
def my_corrector(a: np.ndarray, inputs: np.ndarray, eps: float) -> int:
    """How often u is corrected until no |(a − u)·x| is above eps."""
    step, u = eps / np.square(inputs).sum(axis=1).max(), np.zeros(len(a))
    for count in range(10_000):
        gaps = inputs @ (a - u)
        i = np.abs(gaps).argmax()
        # your turn
        if abs(gaps[i]) <= eps:
            return count
        u += step * np.sign(gaps[i]) * inputs[i]


def _corrected(a, inputs, eps, *, step=None, exact=False, signed=True):
    """Variants of the loop; gives up after as many steps as nobody needs."""
    squares = np.square(inputs).sum(axis=1)
    step, u = eps / squares.max() if step is None else step, np.zeros(len(a))
    for count in range(10_000):
        gaps = inputs @ (a - u)
        i = np.abs(gaps).argmax()
        if abs(gaps[i]) <= eps:
            return count
        size = gaps[i] / squares[i] if exact else step * (np.sign(gaps[i]) if signed else gaps[i])
        u = u + size * inputs[i]
    return -1


my_corrector.mistake(
    "You count one more: nothing is corrected when the worst gap is already small.",
    lambda a, inputs, eps: _corrected(a, inputs, eps) + 1,
)
my_corrector.mistake(
    "You close the gap completely. Then a step is a real number; the step of fixed length has two values, one for "
    "each sign, and can be counted.",
    lambda a, inputs, eps: _corrected(a, inputs, eps, exact=True),
)
my_corrector.mistake(
    "Your step is proportional to the gap. Only its sign should enter, or the steps cannot be counted.",
    lambda a, inputs, eps: _corrected(a, inputs, eps, signed=False),
)
my_corrector.mistake(
    "You give what the theorem allows. The corrector usually needs fewer.",
    lambda a, inputs, eps: int(a @ a * np.square(inputs).sum(axis=1).max() / eps**2),
)
my_corrector.mistake(
    "Your step is half as long.",
    lambda a, inputs, eps: _corrected(a, inputs, eps, step=eps / 2 / np.square(inputs).sum(axis=1).max()),
)


def _parts(rng: np.random.Generator) -> list[tuple]:
    return [(*rng.uniform(0.5, 5, (2, n)).round(1), 0.5) for n in (2, 3, 4)]


@exercise(
    "8.3",
    "My split",
    minutes=10,
    difficulty=2,
    hints=(
        "Move a little error from one matrix to another, so that the output may still be off by ε. At the best split "
        "this neither saves nor costs anything. What does that say about the derivatives?",
        "For matrix i, 2·size²/error³ is what one unit of error saves, and its reach is what it uses up of ε. Their "
        "quotient is the same for all matrices. That gives the errors up to one common factor, which the constraint "
        "fixes.",
    ),
    exact=1e-6,
    why="Put back, this gives (Σ(size·reach)^⅔)³/ε²: each matrix takes its share of log N, in proportion to "
    "(size·reach)^⅔.",
    instances=_parts,
)
def my_split(sizes: np.ndarray, reaches: np.ndarray, eps: float) -> np.ndarray:
    """The cheapest errors > 0 with reaches @ errors = eps."""
    errors = np.cbrt(sizes**2 / reaches)
    return eps * errors / (reaches @ errors)


def _scaled(x, reaches, eps):
    return eps * x / (reaches @ x)


my_split.mistake(
    "You give every matrix the same error. Large matrices are worth a larger one.",
    lambda sizes, reaches, eps: _scaled(np.ones(len(sizes)), reaches, eps),
)
my_split.mistake(
    "You let every matrix move the output equally. That is feasible, but not the cheapest.",
    lambda sizes, reaches, eps: _scaled(1 / reaches, reaches, eps),
)
my_split.mistake(
    "Your errors are in proportion to the sizes. Reach matters as well: an error that is stretched should be small.",
    lambda sizes, reaches, eps: _scaled(sizes, reaches, eps),
)
my_split.mistake(
    "The powers are right, but the errors add up to eps before they are stretched: reaches @ errors should be eps.",
    lambda sizes, reaches, eps: eps * np.cbrt(sizes**2 / reaches) / np.cbrt(sizes**2 / reaches).sum(),
)
my_split.mistake(
    "You forgot the factor that makes reaches @ errors equal to eps.",
    lambda sizes, reaches, eps: np.cbrt(sizes**2 / reaches),
)
my_split.mistake(
    "You take square roots, as if the cost were Σ size²/error. It is Σ (size/error)².",
    lambda sizes, reaches, eps: _scaled(sizes / np.sqrt(reaches), reaches, eps),
)


@exercise(
    "8.4",
    "My reaches",
    minutes=8,
    difficulty=1,
    hints=(
        "An error is made at the exit of layer i. Which layers are still ahead of it, and what comes after the last?",
        "It may be easiest to walk backwards: at the exit of the last layer an error has only the read-out ahead. How "
        "does the answer for one layer follow from that for the next?",
    ),
    why="Edelman et al. print the layers before i and leave the read-out out (Theorem A.17). Both change the bound.",
    instances=lambda rng: [(rng.uniform(0.5, 4, n).round(1), float(rng.integers(2, 9))) for n in (2, 3, 4)],
)
def my_reaches(stretches: np.ndarray, readout: float) -> np.ndarray:
    """How far an error of 1 at the exit of each layer moves the output."""
    return np.array([readout * np.prod(stretches[i + 1 :]) for i in range(len(stretches))])


def _products(stretches, readout, pick):
    return np.array([readout * np.prod(pick(stretches, i)) for i in range(len(stretches))])


my_reaches.mistake(
    "You multiply the layers before, as printed. They have already done their work when the error is made.",
    lambda stretches, readout: _products(stretches, readout, lambda s, i: s[:i]),
)
my_reaches.mistake(
    "You multiply the layers before and leave the read-out out, as printed. Both are wrong.",
    lambda stretches, readout: _products(stretches, 1, lambda s, i: s[:i]),
)
my_reaches.mistake(
    "The read-out is missing: it stretches every error by its norm.",
    lambda stretches, readout: _products(stretches, 1, lambda s, i: s[i + 1 :]),
)
my_reaches.mistake(
    "You let layer i stretch its own error. The error is made at its output.",
    lambda stretches, readout: _products(stretches, readout, lambda s, i: s[i:]),
)
my_reaches.mistake(
    "You stretch every error by all layers.",
    lambda stretches, readout: _products(stretches, readout, lambda s, i: s),
)


def _networks(rng: np.random.Generator) -> list[tuple]:
    """Norms and sizes of two or three blocks, a read-out, ε, and the number of tokens in all inputs."""
    drawn = []
    for L in (2, 3, 2):
        norms = rng.uniform(0.3, 2, (L, 3)).round(1)
        sizes = (norms * rng.uniform(1.5, 4, (L, 3))).round(1)
        drawn.append((norms, sizes, float(rng.integers(2, 6)), 0.5, int(rng.integers(20, 5000))))
    return drawn


@exercise(
    "8.5",
    "My covering bound",
    minutes=25,
    difficulty=3,
    hints=(
        "List all matrices, 3 in each block and the read-out, each with its size and its reach. You have already "
        "written what gives the reach of a block's exit; the reaches within a block are in the theorem on depth.",
        "Test your parts on a network of one block with all norms 1 and a read-out of 1. Its stretch is 3, and the "
        "four products of size and reach are just the sizes.",
    ),
    why="This is the library's `cover(…, 'explicit').log_number(…)`, term by term. You own a covering bound.",
    instances=_networks,
)
def my_bound(
    norms: np.ndarray, sizes: np.ndarray, readout: float, eps: float, points: int
) -> float:
    """log N(eps); norms and sizes have a row (W, V, G) for each block."""
    W, V, G = norms.T
    stretches = G * V * (1 + 2 * W)
    # your turn
    exits = np.array([readout * np.prod(stretches[i + 1 :]) for i in range(len(norms))])
    reaches = np.stack([V * G * exits, G * exits, exits], axis=1)
    parts = np.append((sizes * reaches).ravel(), readout) ** (2 / 3)
    return parts.sum() ** 3 * np.log(2 * points + 1) / eps**2


def _bound(
    norms, sizes, readout, eps, points, *,
    back=False, carry=True, own=True, power=3, inside=True, each=False, log=True
):  # fmt: skip
    """The bound with one thing wrong."""
    W, V, G = norms.T
    stretches = G * V * (1 + 2 * W)
    after = [np.prod(stretches[:i] if back else stretches[i + 1 :]) for i in range(len(norms))]
    exits = (readout if carry else 1.0) * np.array(after)
    reaches = np.stack([V * G * exits, G * exits, exits] if inside else [exits] * 3, axis=1)
    products = np.append((sizes * reaches).ravel(), readout if own else [])
    total = len(products) ** 2 * np.sum(products**2) if each else np.sum(products ** (2 / 3)) ** power
    return total * (math.log(2 * points + 1) if log else 1.0) / eps**2


my_bound.mistake(
    "You stretch the errors of a block by the blocks before it. They are stretched by those after it.",
    lambda *network: _bound(*network, back=True),
)
my_bound.mistake(
    "The read-out does not stretch the errors of your blocks. Each of them passes through it.",
    lambda *network: _bound(*network, carry=False),
)
my_bound.mistake(
    "The read-out has weights of its own, which need a cover: a part with reach 1 is missing.",
    lambda *network: _bound(*network, own=False),
)
my_bound.mistake(
    "The cube is missing: the split gives the third power of the sum.",
    lambda *network: _bound(*network, power=1),
)
my_bound.mistake(
    "All three matrices of your blocks reach equally far. The error of W passes V and G first, that of V passes G.",
    lambda *network: _bound(*network, inside=False),
)
my_bound.mistake(
    "You give every part the same share of ε. That is a bound, but the best split is cheaper.",
    lambda *network: _bound(*network, each=True),
)
my_bound.mistake(
    "That is the number of corrections. Each of them has to be named, one of 2·points + 1 possibilities.",
    lambda *network: _bound(*network, log=False),
)


def _chains(rng: np.random.Generator) -> list[tuple]:
    """Two cases with the best finest scale below the ceiling and one above it."""
    drawn = [(float(rng.integers(5, 50)), m, float(rng.integers(2, 6))) for m in (1000, 10**5)]
    return [*drawn, (float(rng.integers(200, 300)), 10, 1.9)]


@exercise(
    "8.6",
    "My promise",
    minutes=12,
    difficulty=2,
    hints=(
        "Integrate first: ∫ dε/ε is a logarithm. Then differentiate with respect to the finest scale.",
        "At the best scale the 4 that one more unit of blur costs equals what one more unit saves in the integral. "
        "And what if that scale would lie above the ceiling?",
    ),
    exact=1e-6,
    why="The gap shrinks like √(capacity/m), up to a logarithm, and the capacity holds log(mT): that is all that T "
    "costs.",
    instances=_chains,
)
def my_promise(capacity: float, m: int, ceiling: float) -> float:
    """The chaining bound on R at its best finest scale."""
    root = np.sqrt(capacity / m)
    finest = min(3 * root, ceiling)
    return 4 * finest + 12 * root * np.log(ceiling / finest)


def _chained(capacity, m, ceiling, finest):
    return 4 * finest + 12 * math.sqrt(capacity / m) * math.log(ceiling / finest)


my_promise.mistake(
    "Right as long as the best scale is below the ceiling. Above, the best is the ceiling itself.",
    lambda capacity, m, ceiling: _chained(capacity, m, ceiling, 3 * math.sqrt(capacity / m)),
)
my_promise.mistake(
    "That is the blur alone; the integral is missing.",
    lambda capacity, m, ceiling: 4 * min(3 * math.sqrt(capacity / m), ceiling),
)
my_promise.mistake(
    "That is the integral alone; the blur is missing.",
    lambda capacity, m, ceiling: _chained(capacity, m, ceiling, f := min(3 * math.sqrt(capacity / m), ceiling)) - 4 * f,
)
my_promise.mistake(
    "You stop at √(capacity/m). That would be the best scale if both constants were equal.",
    lambda capacity, m, ceiling: _chained(capacity, m, ceiling, min(math.sqrt(capacity / m), ceiling)),
)
my_promise.mistake(
    "You stop at 3·capacity/m. The derivative vanishes where a square root stands.",
    lambda capacity, m, ceiling: _chained(capacity, m, ceiling, min(3 * capacity / m, ceiling)),
)
my_promise.mistake(
    "You stop at 1/√m, as many textbooks do. Here the capacity is large, and stopping earlier is better.",
    lambda capacity, m, ceiling: _chained(capacity, m, ceiling, 1 / math.sqrt(m)),
)


def _sparse(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(10, 30)), d, w, 0.05) for d, w in ((2, 3), (3, 4), (2, 6))]


@exercise(
    "8.7",
    "My razor",
    minutes=10,
    difficulty=2,
    hints=(
        "Count first. In how many ways can one choose w different sets, and how many are there to choose from? And "
        "then each set gets one of 16 weights.",
        "The logarithm of a product is a sum, so the huge number itself is not needed. At the end solve for m, and "
        "remember that examples come whole.",
    ),
    why="A few hundred examples. For the seven functions of section 8.7 the cover with nothing hidden asks for "
    "at least seventeen digits more.",
    instances=_sparse,
)
def my_razor(T: int, d: int, w: int, delta: float) -> int:
    """The fewest m with 4 (log K + log(1/delta))/m ≤ 1, K the size of the class."""
    from math import ceil, comb, log

    # your turn
    sets = log(comb(comb(T, d), w))
    return ceil(4 * (sets + w * log(16) + log(1 / delta)))


def _needed(count: float, delta: float, factor: float = 4) -> int:
    return math.ceil(factor * (count + math.log(1 / delta)))


my_razor.mistake(
    "You choose the sets one after the other, C(T, d) ways each. Their order does not matter, and they differ.",
    lambda T, d, w, delta: _needed(w * math.log(math.comb(T, d)) + w * math.log(16), delta),
)
my_razor.mistake(
    "The weights are missing: each of the w components has one of 16.",
    lambda T, d, w, delta: _needed(math.log(math.comb(math.comb(T, d), w)), delta),
)
my_razor.mistake(
    "You give all components the same weight. Each may have its own.",
    lambda T, d, w, delta: _needed(math.log(math.comb(math.comb(T, d), w) * 16), delta),
)
my_razor.mistake(
    "You choose all d·w bits at once. The sets may overlap, and which bits belong together matters.",
    lambda T, d, w, delta: _needed(math.log(math.comb(T, min(d * w, T)) * 16**w), delta),
)
my_razor.mistake(
    "The confidence is missing: add log(1/δ).",
    lambda T, d, w, delta: math.ceil(4 * math.log(math.comb(math.comb(T, d), w) * 16**w)),
)
my_razor.mistake(
    "You take logarithms to base 2. The bound comes from (1 − r)^m ≤ e^(−rm): natural logarithms.",
    lambda T, d, w, delta: math.ceil(4 * (math.log2(math.comb(math.comb(T, d), w) * 16**w) + math.log2(1 / delta))),
)
my_razor.mistake(
    "Examples come whole: round up to the next integer.",
    lambda T, d, w, delta: 4 * (math.log(math.comb(math.comb(T, d), w) * 16**w) + math.log(1 / delta)),
)


def _lists(rng: np.random.Generator) -> list[tuple]:
    """Linear functions in the plane on three inputs of norm 1: 150 of them, to be covered up to 0.35."""
    drawn = []
    for _ in range(20):
        turns, angles = rng.uniform(0, np.pi, 3), rng.uniform(0, 2 * np.pi, 150)
        weights = np.sqrt(rng.uniform(0, 1, (150, 1))) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        drawn.append((weights @ np.stack([np.cos(turns), np.sin(turns)]), 0.35))
    return drawn


def _length(chosen, values: np.ndarray, eps: float) -> float:
    """How long a list is, if it is a cover; else as long as the list of all functions."""
    listed = np.unique(np.asarray(chosen))
    rows = values[listed.astype(int)] if listed.size else np.full((1, values.shape[1]), np.inf)
    missed = np.abs(values[:, None] - rows).max(axis=2).min(axis=1) > eps + 1e-9
    return float(len(values) if missed.any() else len(listed))


def _numbers(chosen) -> str | None:
    """What is wrong with a list of functions, in half a sentence."""
    try:
        listed = np.asarray(chosen)
    except ValueError:
        return "expected a list of row numbers, got rows of different lengths"
    if listed.ndim != 1 or not (listed.size == 0 or np.issubdtype(listed.dtype, np.integer)):
        return f"expected a list of row numbers, got {chosen!r:.60}"
    if listed.size and not 0 <= listed.min() <= listed.max() < 150:
        return f"row numbers go from 0 to 149, got {listed.min()} to {listed.max()}"
    return None


@scored(
    "8.8",
    "A shorter list",
    minutes=30,
    difficulty=3,
    instances=_lists,
    fits=_numbers,
    baseline=lambda values, eps: covers.separated(values, eps),
    rival="first come, first kept",
    measures={"functions listed (150 if it is no cover)": Measure(_length)},
    why="It always takes the function that covers most of those not yet covered, and never looks back. A list that may "
    "be revised can be shorter.",
)
def my_list(values: np.ndarray, eps: float) -> np.ndarray:
    """The numbers of a few rows within eps of which all rows lie."""
    return capacity.greedy(values, eps)
