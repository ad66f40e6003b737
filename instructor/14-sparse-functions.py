"""The second set of chapter 14: problems for marks. Their solutions stand nowhere else."""

import math

import numpy as np

from flatcube.classroom.problems import problem


def _masks(rng: np.random.Generator) -> list[tuple]:
    """Two sets with at least two bits in common, of which neither holds the other, of different sizes."""
    rows = []
    while len(rows) < 4:
        one, other = (int(mask) for mask in rng.integers(1, 2**7, 2))
        sizes = (one.bit_count(), other.bit_count())
        if (one & other).bit_count() > 1 and one & ~other and other & ~one and sizes[0] != sizes[1] and max(sizes) < 6:
            rows.append((one, other))
    return rows


@problem(
    "14.A",
    "Two hidden ANDs",
    points=2,
    minutes=8,
    difficulty=1,
    text=r"""
An AND of bits is *true* if all bits of its set are 1. Two sets are given by their masks, `one` and `other`. On which
share of all inputs do the two ANDs disagree?
""",
    hints=(
        "How often is each of them true, and how often are both? For both to be true, which bits have to be 1?",
        "They disagree where one is true and the other is not: of both shares, take away twice the common one.",
    ),
    why="A network that errs on less than half of the smallest such share knows the set: no other AND is as near.",
    instances=_masks,
)
def apart_share(one: int, other: int) -> float:
    """The share of inputs on which the ANDs over these two sets differ."""
    both = 2.0 ** -(one | other).bit_count()
    return 2.0 ** -one.bit_count() + 2.0 ** -other.bit_count() - 2 * both


def _true(mask: int) -> float:
    return 2.0 ** -mask.bit_count()


apart_share.mistake(
    "You take the two ANDs for independent. The bits that they share make them agree more often.",
    lambda one, other: _true(one) + _true(other) - 2 * _true(one) * _true(other),
)
apart_share.mistake(
    "You add up how often each is true. Where both are, they agree.", lambda one, other: _true(one) + _true(other)
)
apart_share.mistake(
    "That is how often at least one of them is true. Where both are they agree, so their share is taken away twice.",
    lambda one, other: _true(one) + _true(other) - _true(one | other),
)
apart_share.mistake(
    "For both to be true all bits of both sets have to be 1, not only those that they have in common.",
    lambda one, other: _true(one) + _true(other) - 2 * _true(one & other),
)
apart_share.mistake(
    "You compare how often the two are true. They may be true equally often, and at different inputs.",
    lambda one, other: abs(_true(one) - _true(other)),
)


def _entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def _bits(s: int, eta: float) -> float:
    """How much a label tells about an AND of s bits if it lies with probability eta."""
    p = 2.0**-s
    return _entropy(p * (1 - eta) + (1 - p) * eta) - _entropy(eta)


def _least(T: int, s: int, bits: float) -> int:
    return math.ceil(math.log2(math.comb(T, s)) / bits)


def _liars(rng: np.random.Generator) -> list[tuple]:
    """Problems in which no rounding decides."""
    rows = []
    for s in (2, 3, 4):
        while True:
            T, eta = int(rng.integers(20, 400)), round(float(rng.uniform(0.02, 0.3)), 2)
            if 0.05 < math.log2(math.comb(T, s)) / _bits(s, eta) % 1 < 0.95:
                break
        rows.append((T, s, eta))
    return rows


@problem(
    "14.B",
    "What a lying label is worth",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
A set of $s$ among $T$ places is hidden, and labels say whether its AND is true. But every label lies with probability
$\eta$ (`eta`), independently. A label that is *true* with probability $p$ has the entropy
$H(p)=-p\log_2p-(1-p)\log_2(1-p)$, and of that $H(\eta)$ is told by the lie alone: what a label says about the set is
at most the entropy of the label **that one gets to see**, less $H(\eta)$. To name one of $N$ equally likely sets one
needs $\log_2N$ bits. Give the least number of labels that this allows.
""",
    hints=(
        "How often is the AND of s bits true? And how often is the label that one sees, lies included?",
        "Divide the bits that are needed by what one label says, and round up.",
    ),
    why="A label of a rare AND says little, and lies drown it: with many lies the truth is rarer than a false alarm.",
    instances=_liars,
)
def labels_with_lies(T: int, s: int, eta: float) -> int:
    """The least number of labels that could name s of T places if each lies with probability eta."""
    from math import ceil, comb, log2

    def entropy(p: float) -> float:
        return -p * log2(p) - (1 - p) * log2(1 - p)

    # your turn
    seen = 2.0**-s * (1 - eta) + (1 - 2.0**-s) * eta
    return ceil(log2(comb(T, s)) / (entropy(seen) - entropy(eta)))


labels_with_lies.mistake(
    "You take the labels for balanced, as those of a parity are. An AND is rarely true.",
    lambda T, s, eta: _least(T, s, 1 - _entropy(eta)),
)
labels_with_lies.mistake("Your labels never lie.", lambda T, s, eta: _least(T, s, _entropy(2.0**-s)))
labels_with_lies.mistake(
    "You count what the lies say as if it were about the set. Take H(η) away.",
    lambda T, s, eta: _least(T, s, _bits(s, eta) + _entropy(eta)),
)
labels_with_lies.mistake("Every label is a whole bit for you.", lambda T, s, eta: math.ceil(math.log2(math.comb(T, s))))
labels_with_lies.mistake(
    "One label too few: a part of a label is no label.", lambda T, s, eta: _least(T, s, _bits(s, eta)) - 1
)
labels_with_lies.mistake(
    "You choose places in an order. A set has none.",
    lambda T, s, eta: math.ceil(math.log2(math.perm(T, s)) / _bits(s, eta)),
)


def _asked(rng: np.random.Generator) -> list[tuple]:
    return [(int(rng.integers(20, 400)), s, float(rng.choice([0.01, 0.05, 0.1]))) for s in (2, 3, 4)]


@problem(
    "14.C",
    "A learner that asks place by place",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
In signs an AND of $s$ hidden bits is $f(x)=-1$ if all its bits are $-1$, and $+1$ otherwise. A learner estimates for
each of the $T$ places $i$ the mean of $f(x)\,x_i$ over $m$ examples, and names the places where the estimate is more
than half of what it should be at a hidden place. By Hoeffding's inequality the mean of $m$ independent numbers in
$[-1,1]$ is off by $t$ or more with probability at most $2e^{-mt^2/2}$. Give the least whole $m$ for which this
promises that, except with probability $\delta$ (`delta`), **no** estimate is off by as much as would make a mistake.
""",
    hints=(
        "Find the mean of f(x)·x_i at a hidden place and at another: write f as 1 less twice the indicator of true.",
        "Half of the difference is what an estimate may be off. Each of the T places may fail with its part of delta.",
    ),
    why="Only log T examples, and T·m steps instead of all sets. A parity shows nothing to a learner of this kind.",
    instances=_asked,
)
def enough_examples(T: int, s: int, delta: float) -> int:
    """The least m for which all T estimates are close enough, except with probability delta."""
    from math import ceil, log

    off = 2.0**-s
    return ceil(2 * log(2 * T / delta) / off**2)


def _enough(T: float, delta: float, off: float) -> int:
    return math.ceil(2 * math.log(2 * T / delta) / off**2)


enough_examples.mistake(
    "You let an estimate be off by the whole of the mean at a hidden place. Half of it is the limit.",
    lambda T, s, delta: _enough(T, delta, 2.0 ** (1 - s)),
)
enough_examples.mistake(
    "The mean at a hidden place is twice as large: f jumps by 2 where the AND is true.",
    lambda T, s, delta: _enough(T, delta, 2.0 ** (-s - 1)),
)
enough_examples.mistake(
    "You promise it for one place. All T estimates have to be close at once.",
    lambda T, s, delta: _enough(1, delta, 2.0**-s),
)
enough_examples.mistake(
    "Only s places share your delta. A place that is not hidden may be named by mistake as well.",
    lambda T, s, delta: _enough(s, delta, 2.0**-s),
)
enough_examples.mistake(
    "The factor 2 in front of the exponential is missing: an estimate may be too large or too small.",
    lambda T, s, delta: _enough(T / 2, delta, 2.0**-s),
)
enough_examples.mistake(
    "The deviation stands squared in the exponent.",
    lambda T, s, delta: math.ceil(2 * math.log(2 * T / delta) * 2.0**s),
)
