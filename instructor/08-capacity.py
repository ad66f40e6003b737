"""The second set of chapter 8: problems for marks. Their solutions stand nowhere else."""

import itertools
import math

import numpy as np

from flatcube.classroom.problems import problem


def _texts(rng: np.random.Generator) -> list[tuple]:
    """Numbers for which the longest text has between 5 and 5000 tokens, and no rounding decides."""
    rows = []
    for m in (10**4, 10**5, 10**6):
        T, r, A = (
            int(10 ** rng.uniform(0.7, 3.7)) + 0.5,
            round(float(rng.uniform(0.2, 0.8)), 2),
            float(rng.integers(3, 6)),
        )
        size = m * r**4 / (32 * A**2 * math.log(2 * m * T + 1))
        rows.append((float(f"{size:.8g}"), A, m, r))
    return rows


@problem(
    "8.A",
    "How long may the text be?",
    points=2,
    minutes=12,
    difficulty=1,
    text=r"""
A class of heads has the capacity $\mathcal C=G\log(2mT+1)$, where $G$ (`size`) is made of norms alone, $m$ is the
number of examples and $T$ that of the tokens in each. Its functions are bounded by $A$, and the best single scale
gives the bound $R\le2\sqrt A\,(2\mathcal C/m)^{1/4}$. What is the largest whole $T$ for which this bound is at most
$r$?
""",
    hints=(
        "Solve the bound for the capacity first. Which power of r appears?",
        "Then take the logarithm away, and round so that the promise still holds.",
    ),
    why="T is the exponential of the rest: what is enough for a page is nearly enough for a library.",
    instances=_texts,
)
def longest_text(size: float, A: float, m: int, r: float) -> int:
    """The largest T for which 2 √A (2 size log(2mT + 1)/m)^(1/4) ≤ r."""
    from math import exp, floor

    capacity = m * r**4 / (32 * A**2)
    return floor((exp(capacity / size) - 1) / (2 * m))


def _longest(size: float, A: float, m: int, capacity: float) -> float:
    power = capacity / size
    return (math.exp(min(power, 600.0)) - 1) / (2 * m) * max(1.0, power / 600)


longest_text.mistake(
    "You round up, and the bound is a little above r.",
    lambda size, A, m, r: math.ceil(_longest(size, A, m, m * r**4 / (32 * A**2))),
)
longest_text.mistake(
    "That is the number of all tokens in all examples. The logarithm has 2mT in it.",
    lambda size, A, m, r: math.floor(2 * m * _longest(size, A, m, m * r**4 / (32 * A**2))),
)
longest_text.mistake(
    "You square where the fourth power belongs: the capacity stands under a fourth root.",
    lambda size, A, m, r: math.floor(_longest(size, A, m, m * r**2 / (8 * A))),
)
longest_text.mistake(
    "You have lost the 2 that stands before the capacity.",
    lambda size, A, m, r: math.floor(_longest(size, A, m, m * r**4 / (16 * A**2))),
)
longest_text.mistake(
    "A stands under a square root, and the fourth power makes A² of it.",
    lambda size, A, m, r: math.floor(_longest(size, A, m, m * r**4 / (32 * A))),
)
longest_text.mistake(
    "You expect T to grow in proportion to the capacity. It stands in a logarithm.",
    lambda size, A, m, r: math.floor(m * r**4 / (32 * A**2) / size),
)


def _classes(rng: np.random.Generator) -> list[tuple]:
    return [
        (round(float(rng.uniform(1, 50)), 1), p, float(rng.integers(2, 5)), int(10 ** rng.uniform(4, 7)))
        for p in (1.0, 3.0, 4.0)
    ]


@problem(
    "8.B",
    "A class of another size",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
Classes of smooth functions have covers with $\log\mathcal N(\varepsilon)=\mathcal C/\varepsilon^p$, where $p$ need not
be 2 as for our linear maps. Functions are bounded by $A$. As in the chapter, one scale $\varepsilon$ costs the blur
$\varepsilon$, and by Massart's lemma $A\sqrt{2\log\mathcal N(\varepsilon)/m}$ for the length of the list. Give the
bound on $R$ at the best $\varepsilon$.
""",
    hints=(
        "Write the bound as a function of ε alone: one term rises, the other falls like a power. Which power?",
        "Set the derivative to zero. At the best ε the two terms are equal only if p is 2.",
    ),
    why="The larger p, the slower the promise: by one scale it falls like m to the power −1/(p + 2) only.",
    instances=_classes,
)
def best_scale_bound(capacity: float, p: float, A: float, m: int) -> float:
    """The least value over eps > 0 of eps + A √(2 capacity/(m eps^p))."""
    weight = A * np.sqrt(2 * capacity / m)
    # your turn
    eps = (p * weight / 2) ** (2 / (p + 2))
    return eps + weight * eps ** (-p / 2)


def _at(capacity: float, p: float, A: float, m: int, scale: float) -> float:
    return scale + A * math.sqrt(2 * capacity / m) * scale ** (-p / 2)


def _scale(capacity: float, p: float, A: float, m: int, factor: float) -> float:
    return (factor * A * math.sqrt(2 * capacity / m)) ** (2 / (p + 2))


best_scale_bound.mistake(
    "You make the two terms equal. For p = 2 that is best, for another p it is not.",
    lambda c, p, A, m: 2 * _scale(c, p, A, m, 1),
)
best_scale_bound.mistake("That is the best ε. Its bound is asked for.", lambda c, p, A, m: _scale(c, p, A, m, p / 2))
best_scale_bound.mistake(
    "You use p = 2. What is the power of ε here?",
    lambda c, p, A, m: 2 * math.sqrt(A) * (2 * c / m) ** 0.25,
)
best_scale_bound.mistake(
    "A is missing: the list's functions are bounded by A, and chance moves them in proportion to it.",
    lambda c, p, A, m: best_scale_bound.solution(c, p, 1.0, m),
)
best_scale_bound.mistake(
    "In your derivative the root of ε to the power p is lost: the second term falls like ε to the power −p/2.",
    lambda c, p, A, m: _at(c, p, A, m, _scale(c, p, A, m, p)),
)
best_scale_bound.mistake(
    "The blur is missing. A function is replaced by its stand-in, and that costs ε.",
    lambda c, p, A, m: _at(c, p, A, m, _scale(c, p, A, m, p / 2)) - _scale(c, p, A, m, p / 2),
)


def _razors(rng: np.random.Generator) -> list[tuple]:
    return [
        (round(float(rng.uniform(0.01, 0.3)), 3), int(rng.integers(10, 30)), d, w, int(rng.integers(5, 50)) * 100)
        for d, w in ((2, 2), (3, 4), (4, 3))
    ]


@problem(
    "8.C",
    "A razor for learners that err",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
Occam's theorem speaks of functions that fit all examples. Yours does not: its training loss is $\hat\ell$ (`loss`),
and losses lie between 0 and 1. It comes from the class of sums of $w$ different parities, each of **at most** $d$ and
at least one of $T$ bits, each with one of 16 weights. Hoeffding's inequality says of one function, fixed beforehand,
that its risk exceeds its training loss by $t$ or more with probability at most $e^{-2mt^2}$. Give the least risk that
can be promised with probability $1-\delta$, $\delta=0.05$, whichever function of the class the learner has found.
""",
    hints=(
        "How many sets of 1 to d bits are there? A function is a choice of w of them, without an order, and weights.",
        "Every function of the class may fail with its part of δ. Put that into the inequality and solve for t.",
    ),
    why="With errors the promise shrinks like 1/√m, without them like 1/m: a perfect fit is worth a lot.",
    instances=_razors,
)
def erring_razor(loss: float, T: int, d: int, w: int, m: int) -> float:
    """The least risk that Hoeffding's inequality promises to the whole class with probability 0.95."""
    from math import comb, log, sqrt

    sets = sum(comb(T, size) for size in range(1, d + 1))
    return loss + sqrt((log(comb(sets, w)) + w * log(16) + log(1 / 0.05)) / (2 * m))


def _sets(T: int, d: int, least: int = 1) -> int:
    return sum(math.comb(T, size) for size in range(least, d + 1))


def _risk(loss: float, count: float, m: int, delta: float = 0.05) -> float:
    """With a class of e^count functions."""
    return loss + math.sqrt((count - math.log(delta)) / (2 * m))


def _count(sets: int, w: int) -> float:
    return math.log(math.comb(sets, w)) + w * math.log(16)


erring_razor.mistake(
    "You count the sets of exactly d bits. Smaller ones belong to the class as well.",
    lambda loss, T, d, w, m: _risk(loss, _count(math.comb(T, d), w), m),
)
erring_razor.mistake(
    "You count the empty set, too. A parity has at least one bit here.",
    lambda loss, T, d, w, m: _risk(loss, _count(_sets(T, d, 0), w), m),
)
erring_razor.mistake(
    "You count the order of the parities. A sum does not know it.",
    lambda loss, T, d, w, m: _risk(loss, w * math.log(16 * _sets(T, d)), m),
)
erring_razor.mistake(
    "You count 16w choices of weights. Each of the w parities has 16, so there are 16 to the power w.",
    lambda loss, T, d, w, m: _risk(loss, math.log(16 * w * math.comb(_sets(T, d), w)), m),
)
erring_razor.mistake(
    "That is Occam's 1/m. It holds for functions without any error; with errors the deviation is a square root.",
    lambda loss, T, d, w, m: loss + (_count(_sets(T, d), w) - math.log(0.05)) / m,
)
erring_razor.mistake(
    "You forget that the function was chosen after the examples were seen: all of the class have to hold.",
    lambda loss, T, d, w, m: _risk(loss, 0.0, m),
)
erring_razor.mistake(
    "That is true, but more than is needed: only risks above the training loss have to be excluded, not both sides.",
    lambda loss, T, d, w, m: _risk(loss, _count(_sets(T, d), w), m, 0.025),
)


def _chain(sizes: np.ndarray, stretches: np.ndarray, order) -> float:
    """The capacity of the blocks in this order, first to last, without its logarithm."""
    after, total = 1.0, 0.0
    for i in reversed(list(order)):
        total += (sizes[i] * after) ** (2 / 3)
        after *= stretches[i]
    return total**3


def _best(sizes: np.ndarray, stretches: np.ndarray) -> float:
    return min(_chain(sizes, stretches, order) for order in itertools.permutations(range(len(sizes))))


def _stacks(rng: np.random.Generator) -> list[tuple]:
    """Blocks whose best order is neither the given one nor sorted by size or stretch."""
    rows = []
    for L in (3, 4, 5):
        while True:
            sizes, stretches = rng.uniform(0.5, 8, L).round(1), rng.uniform(1.1, 6, L).round(1)
            others = [range(L), np.argsort(-stretches), np.argsort(stretches), np.argsort(sizes), np.argsort(-sizes)]
            if min(_chain(sizes, stretches, order) for order in others) > 1.01 * _best(sizes, stretches):
                break
        rows.append((sizes, stretches))
    return rows


@problem(
    "8.D",
    "In which order?",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
You may choose the order of $L$ blocks. Block $i$ has one matrix, of size $s_i$, and an error that comes in leaves it
multiplied by its stretch $\Lambda_i$. An error that a block makes itself is not stretched by it, but by all blocks
after it; the read-out has norm 1 and no error of its own. The capacity, without its logarithm, is
$\big(\sum_i(s_ir_i)^{2/3}\big)^3$ with reaches $r_i$ that depend on the order. Give the least capacity of all orders.
""",
    hints=(
        "What is the reach of a block in a given order? Begin at the last block.",
        "For a few blocks you may try all orders. For many, ask when it pays to exchange two neighbours: nothing else "
        "changes.",
    ),
    why="Large blocks belong to the end and steep ones to the front. Where these wishes collide, exchange two and see.",
    instances=_stacks,
)
def least_capacity(sizes: np.ndarray, stretches: np.ndarray) -> float:
    """The least value over all orders of (Σ (size · reach)^(2/3))³."""
    from itertools import permutations

    found = []
    # your turn
    for order in permutations(range(len(sizes))):
        steep = stretches[list(order)]
        reaches = np.array([np.prod(steep[k + 1 :]) for k in range(len(steep))])
        found.append(np.sum((sizes[list(order)] * reaches) ** (2 / 3)) ** 3)
    return min(found)


least_capacity.mistake("That is the order in which the blocks are given.", lambda s, f: _chain(s, f, range(len(s))))
least_capacity.mistake(
    "You put the steepest block first, whatever its size. A small steep block may stand farther back.",
    lambda s, f: _chain(s, f, np.argsort(-f)),
)
least_capacity.mistake(
    "You put the largest block last, whatever its stretch. Before it there may be a steep one that costs more.",
    lambda s, f: _chain(s, f, np.argsort(s)),
)
least_capacity.mistake(
    "You stretch the error of a block by all the others. Only the blocks after it do that.",
    lambda s, f: np.sum((s * np.prod(f) / f) ** (2 / 3)) ** 3,
)
least_capacity.mistake(
    "You multiply a block's own error by its own stretch, too. The stretch is about errors that come in.",
    lambda s, f: _best(s * f, f),
)
least_capacity.mistake("The third power is missing.", lambda s, f: _best(s, f) ** (1 / 3))
