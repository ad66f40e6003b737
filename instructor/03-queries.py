"""The second set of chapter 3: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube import fourier
from flatcube.classroom.problems import problem


def _boxes(rng: np.random.Generator) -> list[tuple]:
    """Real tables, a set of variables, and a point at which the first of them is one, and one outside of the set."""
    rows = []
    for n, size in ((3, 2), (4, 2), (4, 3)):
        chosen = rng.choice(n, size, replace=False)
        mask = int(np.sum(2**chosen))
        outside = 2**n - 1 - mask
        k = int(rng.integers(2**n)) | mask & -mask | outside & -outside
        rows.append((rng.normal(size=2**n).round(2) + 0.0, mask, k))
    return rows


@problem(
    "3.A",
    "A difference in several directions",
    points=4,
    minutes=15,
    difficulty=2,
    text=r"""
The chapter takes differences of $f$ along several variables at once. Here is the smallest form of it. Let $S$ be a
set of variables, given by its `mask`, and $x$ the input with index `k`. Compute

$$\sum_{T\subseteq S}(-1)^{|T|}\,f\big(x^{(T)}\big),$$

where $x^{(T)}$ is $x$ with all bits of $T$ flipped.
""",
    hints=(
        "Which indices do the 2^|S| inputs have? They differ from k only in digits of the mask.",
        "Every subset of a mask is a number between 0 and the mask that has no digit outside of it.",
    ),
    why="For a polynomial of degree below |S| it vanishes at every input: one value that is not 0 is a proof.",
    instances=_boxes,
)
def directional_sum(table: np.ndarray, mask: int, k: int) -> float:
    """The sum over T ⊆ S of (−1)^|T| f(x with T flipped); S is the mask, x has index k."""
    inside = [t for t in range(len(table)) if t & ~mask == 0]
    return sum((-1) ** t.bit_count() * table[k ^ t] for t in inside)


def _summed(table: np.ndarray, mask: int, index, sign) -> float:
    return sum(sign(t) * table[index(t) % len(table)] for t in range(len(table)) if not t & ~mask)


def _sign(t: int) -> int:
    return (-1) ** t.bit_count()


directional_sum.mistake(
    "You add all the values with the same sign. The sign changes with every flip.",
    lambda table, mask, k: _summed(table, mask, lambda t: k ^ t, lambda t: 1),
)
directional_sum.mistake(
    "You begin at the input with index 0 instead of x.",
    lambda table, mask, k: _summed(table, mask, lambda t: t, _sign),
)
directional_sum.mistake(
    "You add to the index, which carries into other digits where x has a one. Flip digits with `^`.",
    lambda table, mask, k: _summed(table, mask, lambda t: k + t, _sign),
)
directional_sum.mistake(
    "You divide by the number of terms. The sum is asked for.",
    lambda table, mask, k: _summed(table, mask, lambda t: k ^ t, _sign) / 2 ** mask.bit_count(),
)
directional_sum.mistake(
    "You compare x with the one input in which all of S is flipped. All subsets of S belong to the sum.",
    lambda table, mask, k: table[k] + _sign(mask) * table[k ^ mask],
)


def _buckets(rng: np.random.Generator) -> list[tuple]:
    return [
        (rng.normal(size=2**n).round(2) + 0.0, k, int(rng.integers(1, 2**k - 1))) for n, k in ((3, 2), (4, 2), (5, 3))
    ]


@problem(
    "3.B",
    "The weight of a bucket",
    points=4,
    minutes=15,
    difficulty=3,
    text=r"""
To find large coefficients one sorts the sets into buckets, by the part of them that lies among the first $k$
variables: bucket $A$ holds all $S$ with $S\cap\{1,\dots,k\}=A$. Its weight is the sum of $\hat f(S)^2$ over these
sets. Compute it from the **table** of a real $f$; `part` is the mask of $A$.
""",
    hints=(
        "You own a transform, from chapter 1. Which digits of a set's mask does the condition look at?",
        "It asks that the lowest k digits of the mask are those of `part`; the others are free.",
    ),
    why="All buckets together weigh as much as the mean of f². So few of them can be heavy, and one can search.",
    instances=_buckets,
)
def bucket_weight(table: np.ndarray, k: int, part: int) -> float:
    """The sum of f̂(S)² over all S whose members up to k are those of the mask `part`."""
    from flatcube import fourier

    squares = fourier.transform(table) ** 2
    return np.sum(squares[part :: 2**k])


def _squares(table: np.ndarray) -> np.ndarray:
    return fourier.transform(table) ** 2


bucket_weight.mistake(
    "That is the coefficient of the set A alone. Its bucket has all sets that agree with A up to k.",
    lambda table, k, part: _squares(table)[part],
)
bucket_weight.mistake(
    "You take all sets that contain A. Up to k they may have no other members.",
    lambda table, k, part: np.sum(_squares(table)[np.arange(len(table)) & part == part]),
)
bucket_weight.mistake(
    "You sum over subsets of the last variables: the condition is on the lowest k digits of the mask.",
    lambda table, k, part: np.sum(_squares(table)[part * (len(table) >> k) : (part + 1) * (len(table) >> k)]),
)
bucket_weight.mistake(
    "You add the coefficients and square the sum. Each of them is squared by itself.",
    lambda table, k, part: np.sum(fourier.transform(table)[part :: 2**k]) ** 2,
)
bucket_weight.mistake(
    "You use the values of the table. The weight is made of Fourier coefficients.",
    lambda table, k, part: np.mean(table[part :: 2**k] ** 2),
)


def _designs(rng: np.random.Generator) -> list[tuple]:
    return [
        (int(d), round(float(rng.uniform(0.011, 0.2)), 3), float(rng.choice([0.01, 0.05, 0.1])))
        for d in rng.choice(np.arange(2, 7), 4, replace=False)
    ]


@problem(
    "3.C",
    "Questions for a verdict",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
A tester for degree below $d$ makes trials. A trial asks the black box at $2^d$ inputs, and catches a function that is
far from low degree with probability at least $p$; it never blames one of low degree. You want to catch a function
that is far off with probability at least $1-\delta$. How many **questions** does that take, if trials are independent
and only whole trials are made?
""",
    hints=(
        "How likely is it that all trials miss?",
        "Find the least number of trials for which that is at most delta; then count what one trial asks.",
    ),
    why="The price of certainty is a logarithm; the price of the degree is exponential.",
    instances=_designs,
)
def verdict_price(d: int, p: float, delta: float) -> int:
    """The number of questions of the least number of trials that catch it with probability 1 − delta."""
    from math import ceil, log

    return 2**d * ceil(log(delta) / log(1 - p))


def _trials(p: float, delta: float) -> int:
    return math.ceil(math.log(delta) / math.log(1 - p))


verdict_price.mistake(
    "That is the number of trials. Each of them asks many questions.", lambda d, p, delta: _trials(p, delta)
)
verdict_price.mistake(
    "You use δ for the chance to catch it. It is the chance to miss it.",
    lambda d, p, delta: 2**d * _trials(p, 1 - delta),
)
verdict_price.mistake(
    "You round down, and promise a little too much.", lambda d, p, delta: 2**d * (_trials(p, delta) - 1)
)
verdict_price.mistake(
    "You round after multiplying. Only whole trials are made.",
    lambda d, p, delta: math.ceil(2**d * math.log(delta) / math.log(1 - p)),
)
verdict_price.mistake(
    "You use log(1/δ)/p, which is enough, but more than is needed.",
    lambda d, p, delta: 2**d * math.ceil(math.log(1 / delta) / p),
)
verdict_price.mistake(
    "A trial asks once for each subset of d variables, 2^d in all, and not once for each variable.",
    lambda d, p, delta: d * _trials(p, delta),
)
