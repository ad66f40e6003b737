"""The second set of chapter 12: problems for marks. Their solutions stand nowhere else."""

import itertools

import numpy as np

from flatcube.classroom.problems import problem


def _signs(lengths: np.ndarray, sharpness: np.ndarray) -> list[float]:
    """For every pair of different lengths whether the longer one is sharper, +1, or flatter, −1."""
    pairs = itertools.combinations(range(len(lengths)), 2)
    return [
        float(np.sign((lengths[i] - lengths[j]) * (sharpness[i] - sharpness[j])))
        for i, j in pairs
        if lengths[i] != lengths[j]
    ]


def _order(lengths: np.ndarray, sharpness: np.ndarray) -> float:
    return float(np.mean(_signs(lengths, sharpness)))


def _neighbours(lengths: np.ndarray, sharpness: np.ndarray) -> float:
    """The same for pairs of neighbouring lengths only."""
    place = np.searchsorted(np.unique(lengths), lengths)
    pairs = [(i, j) for i, j in itertools.permutations(range(len(lengths)), 2) if place[j] == place[i] + 1]
    return float(np.mean([np.sign(sharpness[j] - sharpness[i]) for i, j in pairs]))


def _means(lengths: np.ndarray, sharpness: np.ndarray) -> float:
    short = np.unique(lengths)
    return _order(short, np.array([sharpness[lengths == n].mean() for n in short]))


def _measured(rng: np.random.Generator) -> list[tuple]:
    """Networks of several lengths, in no order, with a trend that is neither nothing nor all."""
    rows = []
    for counts in ((3, 2, 3), (2, 4, 3), (3, 2, 2, 4)):
        while True:
            lengths = rng.permutation(np.repeat(np.array([4, 6, 8, 12])[: len(counts)], counts))
            sharpness = rng.permutation(len(lengths)) / 100 + 0.02 + 0.003 * lengths
            right = _order(lengths, sharpness)
            others = (_neighbours(lengths, sharpness), _means(lengths, sharpness))
            if 0.05 < abs(right) < 0.8 and min(abs(other - right) for other in others) > 0.02:
                break
        rows.append((lengths, sharpness.round(4)))
    return rows


@problem(
    "12.A",
    "Is the longer one sharper?",
    points=2,
    minutes=12,
    difficulty=1,
    text=r"""
Slopes assume much; ranks assume little. Take all pairs of networks of **different** lengths. From the share of those
in which the longer network is sharper, subtract the share of those in which it is flatter. (Pairs of equal lengths say
nothing here and are not counted, neither above the line nor below.)
""",
    hints=(
        "For one pair, multiply the difference of the lengths with that of the sharpness. What does its sign say?",
        "Divide by the number of pairs that were compared, not by that of all pairs.",
    ),
    why="Only the order counts: it is the same for logarithms of sharpness, and one wild network moves it little.",
    instances=_measured,
)
def longer_sharper(lengths: np.ndarray, sharpness: np.ndarray) -> float:
    """Over pairs of different lengths: the share where the longer is sharper, less the share where it is flatter."""
    longer = np.subtract.outer(lengths, lengths) > 0
    return np.mean(np.sign(np.subtract.outer(sharpness, sharpness))[longer])


longer_sharper.mistake(
    "You divide by the number of all pairs. Those of equal lengths do not count.",
    lambda n, s: sum(_signs(n, s)) / (len(n) * (len(n) - 1) / 2),
)
longer_sharper.mistake(
    "That is the share of pairs in which the longer one is sharper. The others are to be subtracted.",
    lambda n, s: (_order(n, s) + 1) / 2,
)
longer_sharper.mistake("You compare neighbouring lengths only. Every pair of different lengths counts.", _neighbours)
longer_sharper.mistake("You compare the means of the lengths. It is networks that are compared, one by one.", _means)
longer_sharper.mistake(
    "That is τ-b, which divides by a geometric mean of two counts of pairs. Divide by the pairs that were compared.",
    lambda n, s: sum(_signs(n, s)) / np.sqrt(len(_signs(n, s)) * len(n) * (len(n) - 1) / 2),
)
longer_sharper.mistake("The sign is turned round: longer and sharper counts as +1.", lambda n, s: -_order(n, s))


def _splits(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The difference of the sums of both groups, for every way to divide all networks into two such groups."""
    pooled = np.concatenate([one, other])
    return np.array(
        [2 * pooled[list(some)].sum() - pooled.sum() for some in itertools.combinations(range(len(pooled)), len(one))]
    )


def _two_sided(one: np.ndarray, other: np.ndarray, *, strict: bool = False) -> float:
    gaps, seen = np.abs(_splits(one, other)), abs(one.sum() - other.sum())
    return float(np.mean(gaps > seen if strict else gaps >= seen))


def _paired(one: np.ndarray, other: np.ndarray) -> float:
    """The same if only the partners in each pair may be exchanged."""
    gaps = one - other
    sums = [abs(np.dot(signs, gaps)) for signs in itertools.product((1, -1), repeat=len(one))]
    return float(np.mean(np.array(sums) >= abs(gaps.sum())))


def _medians(one: np.ndarray, other: np.ndarray) -> float:
    pooled, found = np.concatenate([one, other]), []
    for some in itertools.combinations(range(len(pooled)), len(one)):
        rest = [i for i in range(len(pooled)) if i not in some]
        found.append(abs(np.median(pooled[list(some)]) - np.median(pooled[rest])))
    return float(np.mean(np.array(found) >= abs(np.median(one) - np.median(other))))


def _groups(rng: np.random.Generator) -> list[tuple]:
    """Two groups of equal size, in thousandths of sharpness, so that sums are exact."""
    rows = []
    for size in (3, 4, 4):
        while True:
            one, other = rng.integers(100, 900, size), rng.integers(100, 900, size) + 150
            right = _two_sided(one, other)
            others = (_paired(one, other), _medians(one, other), _two_sided(one, other, strict=True), 1 - right)
            if 0.01 < right < 0.6 and min(abs(value - right) for value in others) > 1e-3:
                break
        rows.append((one, other))
    return rows


@problem(
    "12.B",
    "A test that assumes nothing",
    points=3,
    minutes=15,
    difficulty=2,
    text=r"""
Two groups of networks, equally many in each, differ in one setting. If the setting did nothing, any other division of
the same networks into two such groups would have been as likely. What share of **all** divisions, the one that was
seen included, has means that differ, in either direction, by at least as much as those that were seen? The sharpness
is given in thousandths, in whole numbers.
""",
    hints=(
        "How many ways are there to choose the first group among all networks? You may try all of them.",
        "Compare sizes of differences, and count those that are equal as well: the division that was seen is one.",
    ),
    why="This share is an exact p-value: nothing has to be normal. But with 3 and 3 networks it is never below 1/10.",
    instances=_groups,
)
def exact_p(one: np.ndarray, other: np.ndarray) -> float:
    """The share of all divisions whose means differ by at least as much as those of one and other."""
    from itertools import combinations

    pooled = np.concatenate([one, other])
    # your turn
    gaps = [abs(2 * pooled[list(some)].sum() - pooled.sum()) for some in combinations(range(len(pooled)), len(one))]
    return np.mean(np.array(gaps) >= abs(one.sum() - other.sum()))


exact_p.mistake("You count one direction only.", lambda one, other: _two_sided(one, other) / 2)
exact_p.mistake(
    "You leave out differences that are equal to the one that was seen, and with them the division that was seen.",
    lambda one, other: _two_sided(one, other, strict=True),
)
exact_p.mistake("You exchange partners only, as if networks came in pairs. Any networks may change groups.", _paired)
exact_p.mistake("That is the share of smaller differences.", lambda one, other: 1 - _two_sided(one, other))
exact_p.mistake("You compare medians. The means are asked for.", _medians)


def _gradients(rng: np.random.Generator) -> list[tuple]:
    return [
        (
            (rng.normal(size=(2**n, p)) + 0.6 * rng.normal(size=p)).round(2),
            (rng.normal(size=2**n) + 0.7).round(2),
            int(rng.integers(4, 64)),
        )
        for n, p in ((2, 3), (3, 4), (4, 5))
    ]


@problem(
    "12.C",
    "How long until one hears it?",
    points=4,
    minutes=20,
    difficulty=3,
    text=r"""
The signal is $g=\mathbb E_xf(x)\nabla T(x)$, over the whole cube. A batch of $B$ inputs, drawn independently and
uniformly, gives the mean of $f(x)\nabla T(x)$ over the batch instead. Let somebody average $K$ independent batches.
For which $K$, a real number, is the mean **squared** distance of this average from $g$ equal to $\|g\|^2$? Row $x$ of
`gradients` is $\nabla T(x)$, and `table` holds $f$.
""",
    hints=(
        "How far is a single f(x)∇T(x) from its mean, in mean square? Two means of squares tell it.",
        "A mean of B independent vectors has a B-th of that, and a mean of K batches a K-th of this again.",
    ),
    why="For PARITY the signal shrinks with the length and the noise does not: that is why the batches needed explode.",
    instances=_gradients,
)
def batches_needed(gradients: np.ndarray, table: np.ndarray, B: int) -> float:
    """The K at which the mean of K batches is, in mean square, as far from the signal as the signal is long."""
    told = table[:, None] * gradients
    # your turn
    signal = np.mean(told, axis=0)
    scatter = np.mean(np.sum(told**2, axis=1)) - signal @ signal
    return scatter / (B * (signal @ signal))


def _parts(gradients: np.ndarray, table: np.ndarray) -> tuple[float, float]:
    """E‖f∇T‖² and ‖g‖²."""
    told = table[:, None] * gradients
    return np.mean(np.sum(told**2, axis=1)), float(np.sum(told.mean(axis=0) ** 2))


batches_needed.mistake(
    "You forget to subtract the signal itself: scatter is measured from the mean.",
    lambda G, f, B: _parts(G, f)[0] / _parts(G, f)[1] / B,
)
batches_needed.mistake(
    "That is the number of inputs. Each batch has B of them.",
    lambda G, f, B: B * batches_needed.solution(G, f, B),
)
batches_needed.mistake(
    "You compare lengths and not their squares: the error of a mean falls with the root of the number of batches.",
    lambda G, f, B: np.sqrt(batches_needed.solution(G, f, B)),
)
batches_needed.mistake(
    "The function is missing: that is the mean gradient of the output, which does not know f.",
    lambda G, f, B: batches_needed.solution(G, np.ones_like(f), B),
)
batches_needed.mistake(
    "Your scatter is that of ∇T. It is f∇T that is averaged.",
    lambda G, f, B: (np.mean(np.sum(G**2, axis=1)) - _parts(G, f)[1]) / (B * _parts(G, f)[1]),
)
batches_needed.mistake(
    "You average over the weights as well. Lengths add up the squares of all entries.",
    lambda G, f, B: (_parts(G, f)[0] / G.shape[1] - _parts(G, f)[1]) / (B * _parts(G, f)[1]),
)
