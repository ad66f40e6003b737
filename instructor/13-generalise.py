"""The second set of chapter 13: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube.classroom.problems import problem


def _shown(rng: np.random.Generator) -> list[tuple]:
    """Tables of signs with zeros where nothing was shown; all kinds of edges occur."""
    rows = []
    for n in (3, 4, 5):
        table = rng.choice([-1.0, 1.0], 2**n)
        table[rng.choice(2**n, 2**n // 2 - 1, replace=False)] = 0
        rows.append((table,))
    return rows


@problem(
    "13.A",
    "What coins would make of it",
    points=2,
    minutes=12,
    difficulty=1,
    text=r"""
A Boolean function is shown on some inputs: `table` holds $\pm1$ there, and 0 where it is hidden. A random completion
keeps what was shown and fills every hidden place by a fair coin. What is its average sensitivity, in the mean over the
coins? (Average sensitivity is the mean number of flips that change the value, and index $k$ has bit $i$ in its digit
$i-1$.)
""",
    hints=(
        "Take one input and one of its neighbours. How likely is it that they differ, if both, one or none was shown?",
        "A mean of sums is a sum of means: add up over all inputs and all flips, and divide by the number of inputs.",
    ),
    why="This is the control: a learner whose completions are less sensitive on average has added that by itself.",
    instances=_shown,
)
def completed_sensitivity(table: np.ndarray) -> float:
    """The mean average sensitivity of a random completion; hidden entries are 0."""
    k, n = np.arange(len(table)), len(table).bit_length() - 1
    total = 0.0
    # your turn
    for i in range(n):
        there = table[k ^ 2**i]
        total += np.mean(np.where(table * there == 0, 0.5, table != there))
    return total


def _counted(table: np.ndarray, one: float, none: float, *, over: int | None = None) -> float:
    """With these chances of a change where one or none of two neighbours was shown."""
    k, total = np.arange(len(table)), 0.0
    for i in range(len(table).bit_length() - 1):
        there = table[k ^ 2**i]
        hidden = (table == 0).astype(int) + (there == 0)
        total += np.sum(np.choose(hidden, [(table != there).astype(float), one, none]))
    return total / (over or len(table))


completed_sensitivity.mistake(
    "You count only edges of which both ends were shown. Hidden values may differ as well.",
    lambda table: _counted(table, 0, 0),
)
completed_sensitivity.mistake(
    "You take 0 for a value. Beside a hidden input a coin is wrong half of the time.",
    lambda table: _counted(table, 1, 0),
)
completed_sensitivity.mistake(
    "Two hidden neighbours have a coin each, and two coins differ half of the time, like one.",
    lambda table: _counted(table, 0.5, 0),
)
completed_sensitivity.mistake(
    "Two coins differ with probability ½. You have multiplied ½ by ½.", lambda table: _counted(table, 0.5, 0.25)
)
completed_sensitivity.mistake(
    "That is n/2, for a function of which nothing was shown.",
    lambda table: (len(table).bit_length() - 1) / 2,
)
completed_sensitivity.mistake(
    "You count every edge once. Both of its ends feel it.", lambda table: _counted(table, 0.5, 0.5) / 2
)


def _handfuls(rng: np.random.Generator) -> list[tuple]:
    """Variances and goals for which the size of the cube matters and no rounding decides."""
    rows = []
    for n in (6, 8, 10):
        while True:
            v, r = round(float(rng.uniform(0.5, 5)), 2), round(float(rng.uniform(0.08, 0.4)), 3)
            M = 2**n
            m = v * M / (r**2 * (M - 1) + v)
            if 5 < m < 0.9 * M and 0.05 < m % 1 < 0.95 and v / r**2 > 1.1 * m:
                break
        rows.append((v, M, r))
    return rows


@problem(
    "13.B",
    "A handful that is large enough",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
Fix a network, and let $\ell(x)$ be its sharpness at the input $x$, a number for each of the $M=2^n$ inputs, with
variance $v$ over all of them. On a random training set of $m$ different inputs one sees the mean of $\ell$ there. Give
the least $m$ for which its standard deviation, over training sets, is at most $r$.
""",
    hints=(
        "The chapter has the variance for drawing without replacement. Set it equal to the square of r.",
        "The equation is linear in m, once you multiply by m. Round so that the promise is kept.",
    ),
    why="For a large cube it is v/r², whatever the length of the input. A small cube is soon exhausted.",
    instances=_handfuls,
)
def enough_shown(v: float, M: int, r: float) -> int:
    """The least m for which the mean over m of M inputs has a standard deviation of at most r."""
    from math import ceil

    return ceil(v * M / (r**2 * (M - 1) + v))


def _least(v: float, M: int, square: float) -> int:
    return math.ceil(v * M / (square * (M - 1) + v))


enough_shown.mistake(
    "You draw with replacement. A training set has each input once, and that scatters less.",
    lambda v, M, r: math.ceil(v / r**2),
)
enough_shown.mistake(
    "You make the variance at most r. Its root, the standard deviation, is asked for.", lambda v, M, r: _least(v, M, r)
)
enough_shown.mistake(
    "You take v for the standard deviation of the ℓ(x). It is their variance.", lambda v, M, r: _least(v**2, M, r**2)
)
enough_shown.mistake("You round down, and the scatter is a little above r.", lambda v, M, r: _least(v, M, r**2) - 1)
enough_shown.mistake("That is the number of inputs that may stay hidden.", lambda v, M, r: M - _least(v, M, r**2))


def _neighbourhoods(rng: np.random.Generator) -> list[tuple]:
    """Some points with values, and one that is not among them, with one nearest point."""
    rows = []
    for n, m in ((4, 5), (5, 8), (6, 10)):
        while True:
            chosen = rng.choice(2**n, m + 1, replace=False)
            points = 1 - 2 * (chosen[:, None] >> np.arange(n) & 1)
            agree = np.sort(points[:-1] @ points[-1])
            if agree[-1] > agree[-2]:
                break
        q = round(float(rng.uniform(0.2, 0.7)), 2)
        rows.append((points[:-1].astype(float), rng.normal(size=m).round(1) + 0.05, points[-1].astype(float), q))
    return rows


@problem(
    "13.C",
    "A guess without any weights",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
The learner of the chapter has a weight $\theta_S$ for each parity and takes, of all fits that are exact on the shown
inputs, the one with the least $\sum_S\theta_S^2/q^{|S|}$. That fit is a sum of kernels around the shown inputs, one
number for each of them times $K(x,y)=\prod_i(1+q\,x_iy_i)$. The rows of `points` are the shown inputs in signs, and
`values` what was shown there. What does the learner say at the hidden input `x`?
""",
    hints=(
        "The numbers in front of the kernels are not the values: at a shown input all kernels are heard. Which "
        "equations must the numbers satisfy?",
        "There are as many equations as shown inputs, with the kernels among these as their table.",
    ),
    why="Two to the n weights, and never more than m equations: the price of a degree is hidden in the kernel.",
    instances=_neighbourhoods,
)
def kernel_guess(points: np.ndarray, values: np.ndarray, x: np.ndarray, q: float) -> float:
    """What the exact fit of least price says at x; points (m, n) and x (n,) in signs."""
    among = np.prod(1 + q * points[:, None] * points[None], axis=2)
    return np.linalg.solve(among, values) @ np.prod(1 + q * points * x, axis=1)


def _kernel(points: np.ndarray, others: np.ndarray, q: float) -> np.ndarray:
    return np.prod(1 + q * points[:, None] * others[None], axis=2)


kernel_guess.mistake(
    "You put the values in front of the kernels. Then the fit is not even right at the shown inputs.",
    lambda points, values, x, q: values @ _kernel(points, x[None], q)[:, 0],
)
kernel_guess.mistake(
    "That is a mean of the values, weighted by kernels. The fit has to be exact where values were shown.",
    lambda points, values, x, q: np.average(values, weights=_kernel(points, x[None], q)[:, 0]),
)
kernel_guess.mistake(
    "You repeat the value of the nearest shown input. The others are heard as well.",
    lambda points, values, x, q: values[np.argmax(points @ x)],
)
kernel_guess.mistake(
    "The constant is missing: the empty set has a weight, too, at the lowest price.",
    lambda points, values, x, q: (
        np.linalg.solve(_kernel(points, points, q) - 1, values) @ (_kernel(points, x[None], q)[:, 0] - 1)
    ),
)
kernel_guess.mistake(
    "You use only single bits and the constant. The product over bits brings all larger sets with it.",
    lambda points, values, x, q: (
        np.linalg.pinv(1 + q * points @ points.T, hermitian=True) @ values @ (1 + q * points @ x)
    ),
)
kernel_guess.mistake(
    "Your price is turned round: a set of k bits has the weight q to the power k in the kernel, not to the power −k.",
    lambda points, values, x, q: (
        np.linalg.solve(_kernel(points, points, 1 / q), values) @ _kernel(points, x[None], 1 / q)[:, 0]
    ),
)
