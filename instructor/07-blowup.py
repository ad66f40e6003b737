"""The second set of chapter 7: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube.classroom.problems import problem


def _votes(rng: np.random.Generator) -> list[tuple]:
    return [(n, round(float(rng.uniform(0.002, 0.05)), 4)) for n in (5, 7, 9, 11)]


@problem(
    "7.A",
    "What a vote costs on average",
    points=2,
    minutes=12,
    difficulty=1,
    text=r"""
MAJORITY by one head, as at the beginning of the chapter: on an input with $k$ ones among $n$ bits the answer is
$a=\frac12-\frac kn$, the two channels hold $a$ and $-a$, and one layer norm with $\varepsilon>0$ (`eps`) follows.
Compute the mean of $\mathrm{Blowup}(x)$ over all $2^n$ inputs.
""",
    hints=(
        "What is the variance of the two channels a and −a, and so the factor? Blowup adds something to it.",
        "Many inputs have the same number of ones, and not equally many for each number.",
    ),
    why="Close votes are common: with ε near 0 the mean grows like √n log n, while a landslide costs 3.",
    instances=_votes,
)
def mean_blowup(n: int, eps: float) -> float:
    """The mean of 1 + N over all inputs of n bits."""
    from math import comb

    k = np.arange(n + 1)
    share = np.array([comb(n, int(ones)) for ones in k]) / 2**n
    # your turn
    return np.sum(share * (1 + 1 / np.sqrt((0.5 - k / n) ** 2 + eps)))


def _levels(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The shares of all numbers of ones, and their answers."""
    return np.array([math.comb(n, k) for k in range(n + 1)]) / 2**n, 0.5 - np.arange(n + 1) / n


def _mean(n: int, of) -> float:
    share, a = _levels(n)
    return share @ of(a)


mean_blowup.mistake(
    "You count every number of ones alike. Most inputs are nearly balanced.",
    lambda n, eps: np.mean(1 + (_levels(n)[1] ** 2 + eps) ** -0.5),
)
mean_blowup.mistake(
    "That is the mean factor. Blowup has one more for each norm.",
    lambda n, eps: _mean(n, lambda a: (a**2 + eps) ** -0.5),
)
mean_blowup.mistake(
    "There is no root in your factor: a norm divides by a standard deviation.",
    lambda n, eps: _mean(n, lambda a: 1 + 1 / (a**2 + eps)),
)
mean_blowup.mistake(
    "You take the factor of the mean variance. It is the factors that are averaged, and close votes have large ones.",
    lambda n, eps: 1 + _mean(n, lambda a: a**2 + eps) ** -0.5,
)
mean_blowup.mistake("ε is missing.", lambda n, eps: _mean(n, lambda a: 1 + 1 / np.abs(a)))
mean_blowup.mistake(
    "The variance of a and −a is a², for their mean is 0. You have divided by one less than the number of channels.",
    lambda n, eps: _mean(n, lambda a: 1 + (2 * a**2 + eps) ** -0.5),
)


def _stacks(rng: np.random.Generator) -> list[tuple]:
    return [
        (round(float(10 ** rng.uniform(-4, -2.5)), 6), round(float(10 ** rng.uniform(-2, -1)), 4), L) for L in (2, 3, 4)
    ]


@problem(
    "7.B",
    "Norm behind norm",
    points=3,
    minutes=12,
    difficulty=2,
    text=r"""
Somebody puts $L$ layer norms one directly behind the other, all with the same $\varepsilon$ and without gains. A
vector with variance $v$ (taken over its channels) enters the first of them. Compute the product of the factors $N$ by
which the $L$ norms multiply it.
""",
    hints=(
        "The second norm does not meet the variance v. By how much has the first one changed it?",
        "A factor multiplies a vector, so it multiplies the variance by its square.",
    ),
    why="A norm cannot magnify a vector much beyond length √D: a stack helps if ε is in the way, and then it adds up.",
    instances=_stacks,
)
def stacked_factor(v: float, eps: float, L: int) -> float:
    """The product of the factors of L norms in a row, for a vector of variance v."""
    product = 1.0
    for _ in range(L):
        factor = (v + eps) ** -0.5
        product, v = product * factor, v * factor**2
    return product


def _factors(v: float, eps: float, L: int, *, power: float = 2.0) -> np.ndarray:
    found = []
    for _ in range(L):
        found.append((v + eps) ** -0.5)
        v *= found[-1] ** power
    return np.array(found)


stacked_factor.mistake(
    "You give every norm the factor of the first. The second norm meets a vector that has been magnified already.",
    lambda v, eps, L: (v + eps) ** (-L / 2),
)
stacked_factor.mistake(
    "You let later norms meet variance 1. With ε above zero the first norm does not quite reach it.",
    lambda v, eps, L: (v + eps) ** -0.5 * (1 + eps) ** ((1 - L) / 2),
)
stacked_factor.mistake(
    "You multiply the variance by the factor. It is multiplied by its square.",
    lambda v, eps, L: _factors(v, eps, L, power=1.0).prod(),
)
stacked_factor.mistake(
    "That is Blowup, with a 1 added to every factor. The product of the factors is asked for.",
    lambda v, eps, L: (1 + _factors(v, eps, L)).prod(),
)
stacked_factor.mistake(
    "You add the factors. Norms that follow each other multiply.", lambda v, eps, L: _factors(v, eps, L).sum()
)
stacked_factor.mistake(
    "That is the factor of the last norm. All of them multiply the vector.",
    lambda v, eps, L: _factors(v, eps, L)[-1],
)


def _climbs(rng: np.random.Generator) -> list[tuple]:
    return [
        (
            rng.uniform(0.5, 2, L).round(2),
            rng.uniform(0.5, 4, L).round(2),
            rng.uniform(0.8, 6, L).round(2),
            int(rng.integers(5, 40)),
        )
        for L in (2, 3, 4)
    ]


@problem(
    "7.C",
    "From one position to another",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
The chapter multiplies factors $\alpha+2\beta$, and loses something. Do the reckoning exactly. Write $I_i$ for how far
a flip has moved position $i$, and $\bar I$ for the mean of these over the $n$ positions. In layer $k$ the head, the
wire and the MLP turn $I_i$ into at most $\alpha_kI_i+\beta_k\bar I$, at every position, and the norm behind them
multiplies that by at most $s_k$ (`stretches`). Below layer 1 the flip has moved one position, by 1, and no other. What
is the most that these inequalities allow **at another position**, behind the last layer?
""",
    hints=(
        "Follow two numbers through the layers: what has moved at the position that is read, and the mean. What are "
        "they below layer 1?",
        "Take the mean of the inequality over all positions: the mean of a layer depends on the mean below it alone.",
    ),
    why="The bit's own position may move by a lot: any other hears of it through means, and pays the factor 1/n.",
    instances=_climbs,
)
def arrived(alphas: np.ndarray, betas: np.ndarray, stretches: np.ndarray, n: int) -> float:
    """The most that may have moved at a position whose own bit was not flipped."""
    own, mean = 0.0, 1 / n
    # your turn
    for alpha, beta, stretch in zip(alphas, betas, stretches, strict=True):
        own, mean = stretch * (alpha * own + beta * mean), stretch * (alpha + beta) * mean
    return own


arrived.mistake(
    "That is the chapter's product of α + 2β. It bounds own part and mean together; here they are followed apart.",
    lambda a, b, s, n: np.prod(s * (a + 2 * b)) / n,
)
arrived.mistake(
    "That is the position whose bit was flipped. The one that is read has not moved at first.",
    lambda a, b, s, n: np.prod(s) * (np.prod(a) + (np.prod(a + b) - np.prod(a)) / n),
)
arrived.mistake(
    "You begin with a mean of 1. One position of n has moved.",
    lambda a, b, s, n: np.prod(s) * (np.prod(a + b) - np.prod(a)),
)
arrived.mistake(
    "The norms are missing: each layer is followed by one.", lambda a, b, s, n: (np.prod(a + b) - np.prod(a)) / n
)
arrived.mistake(
    "Your mean grows by α only. Every position receives β times the mean, so the mean grows by α + β.",
    lambda a, b, s, n: np.prod(s * a) * np.sum(b / a) / n,
)
arrived.mistake(
    "You lose what a position has received before: the own part of one layer enters the next, times α.",
    lambda a, b, s, n: np.prod(s) * np.prod((a + b)[:-1]) * b[-1] / n,
)
arrived.mistake(
    "That is the mean over all positions. At a position that was not flipped it is less.",
    lambda a, b, s, n: np.prod(s * (a + b)) / n,
)
