"""The second set of chapter 18: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube import fourier
from flatcube.classroom.problems import problem


def _count(values: np.ndarray, goal: float) -> int:
    """How many of the values, from the smallest on, add up to at most the goal."""
    return int(np.sum(np.cumsum(np.sort(values)) <= goal))


def _readings(weights: np.ndarray, goal: float) -> list[int]:
    """The right number, and what readers take for it."""
    squares = np.sort(weights**2) / 4
    largest = int(np.sum(np.cumsum(squares[::-1]) <= goal))
    return [
        _count(squares, goal),
        int(np.sum(squares <= goal)),
        _count(4 * squares, goal),
        largest,
        _count(np.abs(weights) / 2, goal),
        int(np.sum(np.cumsum(np.sort(np.abs(weights))) ** 2 / 4 <= goal)),
    ]


def _sums(rng: np.random.Generator) -> list[tuple]:
    """Weights of which some may be ignored, so that no two readings agree everywhere."""
    while True:
        rows = [
            (rng.uniform(0.03, 0.8, w).round(2) * rng.choice([-1, 1], w), float(rng.choice([0.02, 0.05, 0.1])))
            for w in (6, 8, 10, 12)
        ]
        found = np.array([_readings(*row) for row in rows])
        apart = np.abs(found[:, :, None] - found[:, None, :]).max(axis=0) + np.eye(6)
        edges = [
            abs(np.cumsum(np.sort(weights**2))[k] / 4 - goal) for weights, goal in rows for k in range(len(weights))
        ]
        if apart.min() >= 1 and min(edges) > 1e-6:
            return rows


@problem(
    "18.A",
    "How much may it ignore?",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
The target is a sum $\sum_i\lambda_i\,\mathrm{even}_{S_i}$ with different sets and weights of both signs. Training
stops as soon as the mean squared error, over all inputs, is at most `goal`. A network may ignore some components
altogether and give their mean instead, and do all others exactly. How many components may it ignore **at once**, at
most?
""",
    hints=(
        "What does it cost to give ½ in place of even_S? One coefficient is wrong, and Parseval counts squares.",
        "Different sets have parities that do not disturb each other: costs add up. Which components are the cheapest?",
    ),
    why="What nobody asks for need not be there: look for a circuit only where the loss would miss it.",
    instances=_sums,
)
def ignored(weights: np.ndarray, goal: float) -> int:
    """The largest number of components that may be ignored with an error of at most goal."""
    return int(np.sum(np.cumsum(np.sort(weights**2 / 4)) <= goal))


ignored.mistake(
    "You ask of each component by itself. Ignored together their errors add up.",
    lambda weights, goal: _readings(weights, goal)[1],
)
ignored.mistake(
    "even_S is ½ off from its mean, not 1: an ignored component costs a quarter of the square of its weight.",
    lambda weights, goal: _readings(weights, goal)[2],
)
ignored.mistake(
    "You begin with the heaviest component. The lightest cost least.",
    lambda weights, goal: _readings(weights, goal)[3],
)
ignored.mistake(
    "You add up halves of the weights. The error is a mean square.", lambda weights, goal: _readings(weights, goal)[4]
)
ignored.mistake(
    "You add up the weights and square the sum. Parities of different sets are orthogonal: square each of them first.",
    lambda weights, goal: _readings(weights, goal)[5],
)


def _rows(rng: np.random.Generator) -> list[tuple]:
    """Rows of attention that are stars, with two or three leaves of different weights."""
    trials = []
    for T, d, k in ((4, 2, 2), (5, 3, 2), (6, 3, 3)):
        places = rng.permutation(T)
        weights = rng.permutation(np.array([0.4, 0.9, 1.7])[:k] + rng.uniform(-0.1, 0.1, k).round(2))
        total = weights.sum()
        row = np.zeros(T)
        row[places[: d - 1]] = 1 / d
        row[places[d - 1 : d - 1 + k]] = weights / (d * total)
        trials.append((row, d, float(total)))
    return trials


@problem(
    "18.B",
    "Read a star",
    points=4,
    minutes=18,
    difficulty=2,
    text=r"""
A position has the row of attention `row` over $T$ bits, and reads the mean $u$ of the bits with these weights. It
holds $\mathrm{tri}(u)$, the triangle wave that is 1 at $\frac nd$ for even $n$, 0 for odd $n$ and straight between,
and the output is $\Lambda\,\mathrm{tri}(u)$ (`total` is Λ). The row is a star: $\frac1d$ on each bit of a hub of $d-1$
bits, less on some leaves, nothing elsewhere. Give all $2^T$ Fourier coefficients of the output; index $S$ is a mask,
and bit 1 is its lowest digit.
""",
    hints=(
        "Which components does the star compute, by the theorem? A leaf's share of the attention tells its weight.",
        "Each component is an even_S of the hub and one leaf. Which two coefficients does it have?",
    ),
    why="One row and two or three components: who looks for a row for each component does not find this circuit.",
    instances=_rows,
)
def star_spectrum(row: np.ndarray, d: int, total: float) -> np.ndarray:
    """The Fourier coefficients of total · tri(u), if u is the mean of the bits with these weights."""
    hub = np.isclose(row, 1 / d)
    # your turn
    coefficients = np.zeros(2 ** len(row))
    for leaf in np.flatnonzero((row > 0) & ~hub):
        mask = np.sum(2 ** np.flatnonzero(hub)) + 2**leaf
        coefficients[[0, mask]] += row[leaf] * d * total / 2
    return coefficients


def _made(row: np.ndarray, d: int, total: float, *, constant: float = 0.5, own: float = 0.5, with_hub: bool = True):
    hub, found = np.isclose(row, 1 / d), np.zeros(2 ** len(row))
    for leaf in np.flatnonzero((row > 0) & ~hub):
        weight = row[leaf] * d * total
        found[0] += constant * weight
        found[int(with_hub * np.sum(2 ** np.flatnonzero(hub))) + 2 ** int(leaf)] += own * weight
    return found


def _single(row: np.ndarray, d: int, total: float) -> np.ndarray:
    found = np.zeros(2 ** len(row))
    found[[0, int(np.sum(2 ** np.flatnonzero(row)))]] = total / 2
    return found


star_spectrum.mistake(
    "Those are the weights of the components. Each is halved, for even_S is (1 + χ_S)/2, and brings a constant.",
    lambda row, d, total: _made(row, d, total, constant=0, own=1),
)
star_spectrum.mistake("The constant is missing.", lambda row, d, total: _made(row, d, total, constant=0))
star_spectrum.mistake(
    "Your sets lack the hub. It is a part of every component.",
    lambda row, d, total: _made(row, d, total, with_hub=False),
)
star_spectrum.mistake(
    "You read the row as one component of all the bits that it looks at. Leaves take turns, the hub is common.", _single
)
star_spectrum.mistake(
    "You take a share of the attention for a share of Λ. All leaves together have only 1/d of the row.",
    lambda row, d, total: _made(row, d, total) / d,
)
star_spectrum.mistake(
    "The sign is turned round: the wave is 1 where the number of ones is even.",
    lambda row, d, total: _made(row, d, total, own=-0.5),
)
star_spectrum.mistake(
    "You give the table of the output. Its spectrum is asked for.",
    lambda row, d, total: fourier.inverse(_made(row, d, total)),
)


def _held(rng: np.random.Generator) -> list[tuple]:
    """What positions hold at all inputs; some are alike, and no mean is zero."""
    rows = []
    for n, T, size in ((3, 4, 2), (4, 5, 3), (4, 6, 2)):
        holds = rng.normal(size=(2**n, T)) + rng.uniform(0.5, 1.5, T) + rng.normal(size=(2**n, 1))
        chosen = [int(k) for k in np.sort(rng.choice(T, size, replace=False))]
        rows.append((holds.round(2), (rng.choice([-1, 1], T) * rng.uniform(0.5, 2, T)).round(2), chosen))
    return rows


@problem(
    "18.C",
    "Another input's words",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
An ablation lets positions hold their mean, a value that they may never take. *Resampling* avoids this. Draw two inputs
$x$ and $x'$ independently, run the network on $x$, but let the positions in `rows` (counted from 0) hold what they
**all** hold at the same $x'$. Row $x$ of `holds` has what every position holds at $x$, and the output is
$\sum_iw_ir_i+s$ with $w$ = `mix`. By how much does the output change, in mean square over $x$ and $x'$?
""",
    hints=(
        "Only one number matters, what the chosen positions bring to the output together. By how much do two "
        "independent values of it differ?",
        "The mean square of the difference of two independent copies of a number is a multiple of its variance.",
    ),
    why="It is twice what ablation by means gives, always: both ask how much the positions vary, together.",
    instances=_held,
)
def resampled(holds: np.ndarray, mix: np.ndarray, rows: list) -> float:
    """The mean squared change of the output if these rows hold what they hold at another input."""
    brought = holds[:, rows] @ mix[rows]
    return 2 * np.var(brought)


resampled.mistake(
    "That is what holding the mean does. Another input's value is off from the mean as well.",
    lambda holds, mix, rows: np.var(holds[:, rows] @ mix[rows]),
)
resampled.mistake(
    "You let every position take its value from an input of its own. All of them take it from the same one, and what "
    "they bring may add up or cancel.",
    lambda holds, mix, rows: 2 * np.sum(mix[rows] ** 2 * holds[:, rows].var(axis=0)),
)
resampled.mistake("You let the positions hold 0.", lambda holds, mix, rows: np.mean((holds[:, rows] @ mix[rows]) ** 2))
resampled.mistake(
    "The weights of the final sum are missing.", lambda holds, mix, rows: 2 * np.var(holds[:, rows].sum(axis=1))
)
resampled.mistake(
    "You exchange all positions. Only the chosen ones speak for another input.",
    lambda holds, mix, rows: 2 * np.var(holds @ mix),
)
resampled.mistake(
    "That is its root, in units of the output.",
    lambda holds, mix, rows: np.sqrt(2 * np.var(holds[:, rows] @ mix[rows])),
)
