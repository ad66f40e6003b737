"""The second set of chapter 5: problems for marks. Their solutions stand nowhere else."""

import numpy as np

from flatcube.classroom.problems import problem


def _bands(rng: np.random.Generator) -> list[tuple]:
    """Levels, values, δ: the steepest way is not between the values that are farthest apart, and once it falls."""
    rows = []
    for s in (4, 5, 6):
        while True:
            gaps, values = rng.uniform(0.3, 1.5, s).round(2), rng.uniform(-2, 2, s + 1).round(2)
            jumps, steep = np.diff(values), np.diff(values) / (gaps - 0.2)
            at, far, near = np.argmax(np.abs(steep)), np.argmax(np.abs(jumps)), np.argmin(gaps)
            if at not in (far, near) and far != near and steep[at] * steep[far] > 0 < steep[at] * steep[near]:
                break
        levels = np.concatenate([[-1.0], (-1 + np.cumsum(gaps)).round(2)])
        rows.append((levels, -np.sign(steep[at]) * values, 0.1))
    return rows


@problem(
    "5.A",
    "How steep must it be?",
    points=2,
    minutes=10,
    difficulty=1,
    text=r"""
A signal is a number near one of the `levels` $x_0<x_1<\dots<x_s$, off by at most $\delta$ (`delta`), and neighbouring
levels are more than $2\delta$ apart. A continuous function of the signal shall give exactly `values[i]` wherever the
signal is within $\delta$ of $x_i$; between these bands it may do what it likes. Every such function is steep
somewhere. Give the least steepness that one can get along with: the smallest $L$ for which there is such a function
whose values at $x$ and $y$ never differ by more than $L|x-y|$.
""",
    hints=(
        "Between two neighbouring bands the function has to climb from one value to the next. How far apart are the "
        "ends of the bands?",
        "Each pair of neighbours asks for a steepness of its own, whether the function rises there or falls. "
        "Straight pieces between the bands satisfy them all.",
    ),
    why="No table beats this, however many ReLUs it has. What is steep in it multiplies noise in the layers before.",
    instances=_bands,
)
def least_slope(levels: np.ndarray, values: np.ndarray, delta: float) -> float:
    """The least steepness of a function that is values[i] within delta of levels[i]."""
    return np.max(np.abs(np.diff(values)) / (np.diff(levels) - 2 * delta))


def _slopes(levels: np.ndarray, values: np.ndarray, room: float) -> np.ndarray:
    return np.diff(values) / (np.diff(levels) - room)


least_slope.mistake(
    "You climb from level to level. In the bands around both of them the function has to stand still.",
    lambda levels, values, delta: np.max(np.abs(_slopes(levels, values, 0.0))),
)
least_slope.mistake(
    "A band is taken away at one end only. Both neighbours have one.",
    lambda levels, values, delta: np.max(np.abs(_slopes(levels, values, delta))),
)
least_slope.mistake(
    "You take the steepest rise. A function may also be steep where it falls.",
    lambda levels, values, delta: np.max(_slopes(levels, values, 2 * delta)),
)
least_slope.mistake(
    "You look where the values differ most. A smaller step between closer levels is steeper here.",
    lambda levels, values, delta: abs(_slopes(levels, values, 2 * delta)[np.argmax(np.abs(np.diff(values)))]),
)
least_slope.mistake(
    "You look at the closest levels only. How far the values are apart matters as well.",
    lambda levels, values, delta: abs(_slopes(levels, values, 2 * delta)[np.argmin(np.diff(levels))]),
)
least_slope.mistake(
    "That is the mean of the slopes. The function must manage the worst of them.",
    lambda levels, values, delta: np.mean(np.abs(_slopes(levels, values, 2 * delta))),
)


def _addresses(rng: np.random.Generator) -> list[tuple]:
    """Addresses of length one that overlap, a scale, and shares."""
    rows = []
    for s, D in ((2, 4), (3, 6), (4, 8)):
        V = rng.normal(size=(s, D)) + 0.5
        V = (V / np.linalg.norm(V, axis=1, keepdims=True)).round(3)
        parts = rng.permutation(np.arange(1, s + 1)) * rng.uniform(0.8, 1.2, s)
        rows.append((V, float(round(rng.uniform(2, 5), 1)), (parts / parts.sum()).round(3)))
    return rows


@problem(
    "5.B",
    "A head with favourites",
    points=4,
    minutes=15,
    difficulty=2,
    text=r"""
The head of the chapter shares its attention evenly among the chosen positions. Yours shall share it in given
proportions $p_1,\dots,p_s$ (`shares`, all positive): chosen position $i$ gets the logit $R+\log p_i$. The rows
$v_1,\dots,v_s$ of `V` are the addresses of the chosen positions. They are independent of each other, but they overlap.
[CLS] asks with the number 1, so the logit of position $i$ is the inner product of $v_i$ with the key. Find the numbers
$c_1,\dots,c_s$ for which the key $c_1v_1+\dots+c_sv_s$ does that.
""",
    hints=(
        "Write down the logit of position i for the key with unknown c. Which table of numbers multiplies c?",
        "It is the table of all inner products of the addresses, and it has to be undone, not applied.",
    ),
    why="Overlap alone is no obstacle for a head: as long as addresses are independent, some key asks for any mixture.",
    instances=_addresses,
)
def favouring_key(V: np.ndarray, R: float, shares: np.ndarray) -> np.ndarray:
    """The c (s,) for which the key c @ V gives the logit R + log shares[i] to row i of V."""
    return np.linalg.solve(V @ V.T, R + np.log(shares))


favouring_key.mistake(
    "That would be right for orthonormal addresses. Here each of them also answers to the others' parts of the key.",
    lambda V, R, shares: R + np.log(shares),
)
favouring_key.mistake(
    "You apply the inner products instead of undoing them.", lambda V, R, shares: V @ V.T @ (R + np.log(shares))
)
favouring_key.mistake(
    "You add the shares to R as they are. A softmax takes exponentials, so a share enters as its logarithm.",
    lambda V, R, shares: np.linalg.solve(V @ V.T, R + shares),
)
favouring_key.mistake(
    "You give the logits R·p. Twice the share is not twice the logit.",
    lambda V, R, shares: np.linalg.solve(V @ V.T, R * shares),
)
favouring_key.mistake(
    "The shares are missing: this key gives R to all chosen positions.",
    lambda V, R, shares: np.linalg.solve(V @ V.T, np.full(len(V), R)),
)
favouring_key.mistake(
    "You leave R out. The proportions are right, but nothing lifts the chosen positions above the others.",
    lambda V, R, shares: np.linalg.solve(V @ V.T, np.log(shares)),
)


def _bags(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(8, 60)), s) for s in (2, 3, 4, 6)]


@problem(
    "5.C",
    "The least scale of a bag",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
For the average the chapter finds the least scale that is enough; for the bag it only gives one that is. Find the least
one. The input has $T$ rows: a bit that is one puts its address there, a bit that is zero leaves a row of zeros. Behind
them stands [CLS]. The head gives the logit $R$ to [CLS] and to the addresses of the $s$ chosen bits, and 0 to every
other row, rows of zeros included. A chosen address offers 1, [CLS] offers $-s$, all others offer 0. If $r$ chosen bits
are ones, the signal should be $\frac{r-s}{r+1}$. Give the least $R$ at which on **every** input it is within
$\frac1{4s}$ of that. ($T\ge s\ge2$.)
""",
    hints=(
        "How many rows have the logit R if r chosen bits are ones, and how many have 0? Write down the signal.",
        "The error is a product of two factors, and both shrink when r grows. So which r is the worst?",
    ),
    why="The empty bag is the worst: [CLS] holds the largest value, and it is alone against T rows of nothing.",
    instances=_bags,
)
def bag_scale(T: int, s: int) -> float:
    """The least R at which no signal of a bag is off by more than 1/(4s)."""
    return np.log(T * (4 * s**2 - 1))


bag_scale.mistake("That is enough, but it is not the least.", lambda T, s: np.log(8 * T * s**2))
bag_scale.mistake("That is e^R. Its logarithm is asked for.", lambda T, s: T * (4 * s**2 - 1))
bag_scale.mistake(
    "You ask about the last step, r = s − 1, where the levels are closest. The signal is off most in an empty bag.",
    lambda T, s: np.log(3 * (T - s + 1) / s),
)
bag_scale.mistake(
    "Your [CLS] offers −1. In the sum of all coordinates it offers −s.", lambda T, s: np.log(T * (4 * s - 1))
)
bag_scale.mistake(
    "You count T − s rows with logit 0. A chosen bit that is zero leaves a row of zeros, too.",
    lambda T, s: np.log((T - s) * (4 * s**2 - 1)),
)
bag_scale.mistake(
    "You count [CLS] among the rows with logit 0. It attends to itself with R.",
    lambda T, s: np.log((T + 1) * (4 * s**2 - 1)),
)
bag_scale.mistake(
    "You use the error of the average of signs. A bag has other signals.",
    lambda T, s: np.log((4 * s * (2 * (T - s) + 1) - (T + 1 - s)) / s),
)
bag_scale.mistake(
    "You allow an error of 1/(2s), half of the gap; the table needs the other half to climb.",
    lambda T, s: np.log(T * (2 * s**2 - 1)),
)
