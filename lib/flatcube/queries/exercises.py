"""The exercises of chapter 3. Each solution is followed by the mistakes that its check recognises.

They build a tester: the points of a trial, what is computed from their values, how many trials, and the verdict.
"""

from collections.abc import Callable

import numpy as np

from flatcube import cube, fourier, queries
from flatcube.classroom.exercises import Measure, exercise, scored


def _numbers(rng: np.random.Generator, size: int) -> np.ndarray:
    """Random numbers with two decimals, so that a sentence can show them."""
    return rng.normal(size=size).round(2) + 0.0


def _labelled(rng: np.random.Generator) -> list[tuple]:
    """Points and labels that use every block, and label 0."""
    sizes = ((4, 1), (5, 2), (6, 2), (7, 3))
    return [(rng.choice([-1, 1], n), rng.permutation(np.arange(n) % (r + 1)), r) for n, r in sizes]


@exercise(
    "3.1",
    "The points of a trial",
    minutes=10,
    difficulty=2,
    hints=(
        "Begin with the point itself. Every block doubles the list: once as it was, once with this block flipped.",
        "The bits of block j are those with `labels == j`. In which half of the doubled list should they change sign?",
    ),
    why="These are all queries of one trial: a small cube inside the large one, with the blocks as its directions.",
    instances=_labelled,
)
def subcube(x: np.ndarray, labels: np.ndarray, r: int) -> np.ndarray:
    """The 2^r points (2^r, n): in row y block j is flipped if bit j − 1 of y is one; label 0: in no block."""
    corners = np.array([x])
    # your turn
    for j in range(1, r + 1):
        corners = np.concatenate([corners, np.where(labels == j, -corners, corners)])
    return corners


def _flipped(x: np.ndarray, labels: np.ndarray, rows: list[list[int]]) -> np.ndarray:
    """One point for each row of block numbers, with these blocks flipped."""
    return np.array([np.where(np.isin(labels, row), -x, x) for row in rows])


def _subcube_backwards(x: np.ndarray, labels: np.ndarray, r: int) -> np.ndarray:
    return _flipped(x, labels, [[j for j in range(1, r + 1) if y >> r - j & 1] for y in range(2**r)])


subcube.mistake(
    "The rows are in another order: block 1 belongs to the lowest bit of y, so row 1 flips block 1 alone.",
    _subcube_backwards,
)
subcube.mistake(
    "You count blocks from 0, so the bits with label 0 are flipped. They are in no block.",
    lambda x, labels, r: subcube.solution(x, labels + 1, r),
)
subcube.mistake(
    "Every row flips one block only. Row 3, with two ones among its bits, should flip two.",
    lambda x, labels, r: _flipped(x, labels, [[y] if y else [] for y in range(2**r)]),
)
subcube.mistake(
    "Your points are right where they should be flipped and flipped where they should stay: row 0 is x itself.",
    lambda x, labels, r: subcube.solution(x, labels, r)[::-1],
)


def _values_of_both_signs(rng: np.random.Generator) -> list[tuple]:
    """The last alternating mean is negative, so that an answer which forgets the sign is never right."""
    *others, last = (_numbers(rng, 2**r) for r in (2, 3, 3, 4))
    return [(values,) for values in (*others, last if alternating_mean.solution(last) < 0 else -last + 0.0)]


@exercise(
    "3.2",
    "Signs in front",
    minutes=6,
    difficulty=1,
    hints=(
        "Point y of the subcube has flipped one block for every one among its bits. When is the sign in front −1?",
        "Two flips cancel, so only whether the count is odd matters. And Δ is a mean: what do you divide by?",
    ),
    why="This is a Fourier coefficient of f on the subcube, the one at the set of all directions.",
    instances=_values_of_both_signs,
)
def alternating_mean(values: np.ndarray) -> float:
    """The mean of (−1)^|y| g(y); entry y is g at the point with the bits of y."""
    signs = [(-1) ** y.bit_count() for y in range(len(values))]
    return np.mean(values * signs)


alternating_mean.mistake(
    "You add up the values with their signs but do not divide by their number.",
    lambda values: len(values) * alternating_mean.solution(values),
)
alternating_mean.mistake(
    "Your signs alternate with y. They should follow the number of flipped blocks: 3 = 11 in binary flips two of them.",
    lambda values: np.mean(values[::2] - values[1::2]) / 2,
)
alternating_mean.mistake(
    "You take the plain mean: without signs nothing cancels.",
    lambda values: np.mean(values),
)
alternating_mean.mistake(
    "The sign is the wrong way round: at y = 0 nothing is flipped, so there it is +1.",
    lambda values: -alternating_mean.solution(values),
)
alternating_mean.mistake(
    "Your sign is −1 as soon as any block is flipped. Two flips cancel.",
    lambda values: (2 * values[0] - values.sum()) / len(values),
)


@exercise(
    "3.3",
    "One variable in each block",
    minutes=8,
    difficulty=2,
    hints=(
        "Each of the d + 1 variables gets one of d + 2 labels. How many of all the ways to label them are good?",
        "Good ways use each of the labels 1, …, d + 1 exactly once. In how many orders can that happen?",
    ),
    why="By Stirling's formula this falls a little slower than e^−d. So every further degree multiplies the trials by "
    "somewhat less than e, whatever n is.",
    instances=lambda rng: [(int(d),) for d in rng.permutation([0, 1, 2, 3, 5])],
)
def one_each(d: int) -> float:
    """The chance that d + 1 variables fall one into each of the d + 1 blocks."""
    return np.prod(np.arange(1, d + 2) / (d + 2))


one_each.mistake(
    "You have d + 1 labels. There are d + 2: one for each of the d + 1 blocks, and label 0 for no block.",
    lambda d: np.prod(np.arange(1, d + 2) / (d + 1)),
)
one_each.mistake(
    "You count a single way of labelling. Any order will do: which variable goes to which block does not matter.",
    lambda d: (d + 2.0) ** -(d + 1),
)
one_each.mistake(
    "You ask that no variable gets label 0. Two of them may still share a block and leave another empty.",
    lambda d: ((d + 1) / (d + 2)) ** (d + 1),
)


def _chances(rng: np.random.Generator) -> list[tuple]:
    """Large and small chances: for small ones some mistakes do little harm."""
    return [(round(float(rng.uniform(low, high)), 4), error) for low, high, error in (
        (0.41, 0.59, 0.01), (0.31, 0.39, 0.001), (0.08, 0.1, 0.05), (0.01, 0.02, 0.2))]


@exercise(
    "3.4",
    "Enough trials",
    minutes=6,
    difficulty=1,
    hints=(
        "One trial misses with probability 1 − chance, and the trials are independent. When do all of them miss?",
        "The chance that m trials all miss is a power. Logarithms bring m down; mind their signs, and m is whole.",
    ),
    why="The number of trials grows only with the logarithm of 1/error: certainty is cheap, small chances are not.",
    instances=_chances,
)
def enough(chance: float, error: float) -> int:
    """The fewest trials that all miss with probability at most `error`."""
    return int(np.ceil(np.log(error) / np.log(1 - chance)))


enough.mistake(
    "One too few: rounded down, the trials all miss a little more often than allowed.",
    lambda chance, error: int(np.log(error) / np.log(1 - chance)),
)
enough.mistake(
    "Trials come whole: round up to the next integer.",
    lambda chance, error: np.log(error) / np.log(1 - chance),
)
enough.mistake(
    "Enough, but not the fewest: 1 − chance is smaller than e^−chance.",
    lambda chance, error: int(np.ceil(np.log(1 / error) / chance)),
)
enough.mistake(
    "That is how long the first find takes on average. Often it takes longer; `error` has to come in.",
    lambda chance, error: int(np.ceil(1 / chance)),
)
enough.mistake(
    "You add up the chances of the trials. That bounds a find from above; finds can come twice.",
    lambda chance, error: int(np.ceil((1 - error) / chance)),
)
enough.mistake(
    "You let the trials miss with probability 1 − error. It should be at most `error`.",
    lambda chance, error: int(np.ceil(np.log(1 - error) / np.log(1 - chance))),
)


class _Box:
    """A hidden function with a name, so that a sentence can show it."""

    def __init__(self, name: str, n: int, components: list[tuple[tuple[int, ...], float]]) -> None:
        self.name, self.f = name, queries.black_box(components, n)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.f(x)

    def __repr__(self) -> str:
        return self.name


def _boxes(rng: np.random.Generator) -> list[tuple]:
    """Functions whose weights are mostly not exact in binary; enough trials to be sure of each.

    On 8 bits single flips find what they look for, on 200 they do not. A constant objects to nothing, and where weights
    are whole no rounding does.
    """
    drawn = []
    cases = ((1, 0, 60, 8), (2, 2, 120, 12), (2, 1, 200, 8), (2, 3, 120, 12), (3, 1, 200, 8), (3, 2, 400, 8),
             (3, 3, 120, 12), (4, 3, 400, 200))  # fmt: skip
    for degree, tested, count, n in cases:
        components = 3 if tested < degree else 24  # few leave idle trials, many make rounding visible
        box = _Box(f"a function of degree {degree}", n, cube.random_components(n, degree, components, rng=rng))
        drawn.append((box, n, tested, count, int(rng.integers(99))))
    whole = [(S, 2.0**k) for k, (S, _) in enumerate(cube.random_components(12, 2, 6, rng=rng))]
    drawn.append((_Box("a function of degree 2 with whole weights", 12, whole), 12, 2, 60, int(rng.integers(99))))
    drawn.append((_Box("a constant", 8, [((), 3.0)]), 8, 0, 20, int(rng.integers(99))))
    return drawn


class _Asked:
    """A constant function that notes the points at which it was asked."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.points.append(np.array(x))
        return np.ones(np.shape(x)[:-1])


def _look(answer: Callable, rng: np.random.Generator) -> str | None:
    """How a tester asks: single flips and too few trials can be lucky, so their verdicts do not tell."""
    n, d, trials = 200, 2, 40
    asked = _Asked()
    answer(asked, n, d, trials, int(rng.integers(99)))
    points = np.concatenate([np.reshape(x, (-1, n)) for x in asked.points] or [np.ones((0, n))]).astype(float)
    apart = (n - points @ points.T) / 2  # in how many bits two of the points differ
    if 2 * np.sum((apart == 1).any(axis=1)) > len(points):
        return (
            "You flip single variables. Among many bits they hardly ever hit a set that is only just too large: give "
            "every variable a random label, so that a block holds many of them."
        )
    if len(points) < trials * 2 ** (d + 1):
        return (
            f"You ask for {len(points)} values where {trials} trials of {2 ** (d + 1)} values each are to be made: "
            "`trials` says how many, and only an objection may end them early."
        )
    return None


@exercise(
    "3.5",
    "Your own tester",
    minutes=15,
    difficulty=2,
    hints=(
        "One trial draws labels and a point, asks for the values on its subcube and takes their alternating mean.",
        "When may the loop stop early, and with which answer? And which numbers count as zero, after rounding?",
    ),
    why="This is the chapter's test, whole. It never rejects wrongly; the number of trials decides how often it errs.",
    instances=_boxes,
    look=_look,
)
def is_degree_at_most(f: callable, n: int, d: int, trials: int, seed: int) -> bool:
    """Whether no trial of block flips objects to "degree ≤ d"."""
    rng = np.random.default_rng(seed)
    # your turn
    signs = np.array([(-1) ** y.bit_count() for y in range(2 ** (d + 1))])
    for _ in range(trials):
        labels, points = rng.integers(d + 2, size=n), rng.choice([-1, 1], (1, n))
        for j in range(1, d + 2):
            points = np.concatenate([points, np.where(labels == j, -points, points)])
        if abs(np.mean(signs * f(points))) > 1e-9:
            return False
    return True


def _deltas(f: Callable, n: int, r: int, trials: int, seed: int, first: int = 0) -> np.ndarray:
    """The alternating means over r random blocks in so many trials; with first = 1 no variable stays idle."""
    rng = np.random.default_rng(seed)
    labels, points = rng.integers(first, r + 1, size=(trials, 1, n)), rng.choice([-1, 1], (trials, 1, n))
    for j in range(1, r + 1):  # all trials at once
        points = np.concatenate([points, np.where(labels == j, -points, points)], axis=1)
    signs = [(-1) ** y.bit_count() for y in range(2**r)]
    return np.mean(f(points.reshape(-1, n)).reshape(trials, -1) * signs, axis=1)


def _overlapping(f: Callable, n: int, r: int, trials: int, seed: int) -> np.ndarray:
    """The alternating means along r random directions, in which a variable may lie more than once."""
    rng = np.random.default_rng(seed)
    values = queries.restrict(f, rng.choice([-1, 1], (trials, n)), queries.directions(trials, r, n, rng))
    return fourier.transform(values)[:, -1]


is_degree_at_most.mistake(
    "You accept every function here, also one to which many trials object. Accept only if none of them does.",
    lambda f, n, d, trials, seed: bool((np.abs(_deltas(f, n, d + 1, trials, seed)) < 1e-9).any()),
)
is_degree_at_most.mistake(
    "You take rounding for an objection: sums that should vanish come out as 1e-17. Allow for that.",
    lambda f, n, d, trials, seed: bool((_deltas(f, n, d + 1, trials, seed) == 0).all()),
)
is_degree_at_most.mistake(
    "Is every variable in some block? Then sets of three never meet two blocks oddly: leave some out, by label 0.",
    lambda f, n, d, trials, seed: bool((np.abs(_deltas(f, n, d + 1, trials, seed, first=1)) < 1e-9).all()),
)
is_degree_at_most.mistake(
    "You test with d blocks. It takes d + 1 differences to kill everything of degree d.",
    lambda f, n, d, trials, seed: bool((np.abs(_deltas(f, n, d, trials, seed)) < 1e-9).all()),
)
is_degree_at_most.mistake(
    "The wrong way round: an alternating mean that is not zero is an objection.",
    lambda f, n, d, trials, seed: not is_degree_at_most.solution(f, n, d, trials, seed),
)
is_degree_at_most.mistake(
    "Your blocks overlap: a variable in two of them is flipped twice, so that sets of d variables can survive. Give "
    "every variable one label only.",
    lambda f, n, d, trials, seed: bool((np.abs(_overlapping(f, n, d + 1, trials, seed)) < 1e-9).all()),
)
is_degree_at_most.mistake(
    "You reject every function, even a constant, all of whose differences vanish.",
    lambda f, n, d, trials, seed: False,
)
is_degree_at_most.mistake(
    "You test with d + 2 blocks, which a function of degree d + 1 passes as well.",
    lambda f, n, d, trials, seed: bool((np.abs(_deltas(f, n, d + 2, trials, seed)) < 1e-9).all()),
)


def _directed(rng: np.random.Generator) -> list[tuple]:
    """Sets of one, two and three variables, and directions that send them to places with ones and zeros."""
    drawn = []
    for r, S in ((3, (2,)), (3, (1, 4)), (4, (2, 3, 5)), (5, (1, 2, 3, 6))):
        directions = rng.choice([-1, 1], (r, 6))
        directions[0, S[0] - 1] *= np.prod(directions[0, [i - 1 for i in S]]) * -1  # the first moves the set
        directions[-1, S[0] - 1] *= np.prod(directions[-1, [i - 1 for i in S]])  # the last does not
        if len(S) > 1:  # one flips just two members, so it does not move the set
            directions[1, [i - 1 for i in S]] = [-1, -1] + [1] * (len(S) - 2)
        drawn.append((S, directions))
    return drawn


@exercise(
    "3.6",
    "Where a set lands",
    minutes=8,
    difficulty=1,
    hints=(
        "Direction j moves the set if it turns the sign of χ_S. How many members of S does it flip then?",
        "χ_S at a direction is a product over the columns of S. Each direction that moves the set is one binary digit.",
    ),
    why="Count the places that your sets occupy and you count the sets: that is the test of sparsity.",
    instances=_directed,
)
def place(S: tuple, directions: np.ndarray) -> int:
    """u(S) as a number: its bit j − 1 is one if χ_S(v_j) = −1; row j − 1 of `directions` is v_j."""
    return sum(2**j for j, v in enumerate(directions) if v[[i - 1 for i in S]].prod() < 0)


place.mistake(
    "You take a direction as soon as it flips any member of S. Two flips leave χ_S as it was.",
    lambda S, directions: sum(2**j for j, v in enumerate(directions) if v[[i - 1 for i in S]].min() < 0),
)
place.mistake(
    "You set the bits where the sign stays. A one stands where χ_S(v) = −1.",
    lambda S, directions: 2 ** len(directions) - 1 - place.solution(S, directions),
)
place.mistake(
    "You read the bits backwards: the first direction is the lowest bit.",
    lambda S, directions: place.solution(S, directions[::-1]),
)
place.mistake(
    "Your place does not depend on S: only the columns of its members count.",
    lambda S, directions: place.solution((1, 2, 3, 4, 5, 6), directions),
)
place.mistake(
    "You use the members as column numbers. They count from 1, columns from 0.",
    lambda S, directions: place.solution(tuple(i % 6 + 1 for i in S), directions),
)


def _searches(rng: np.random.Generator) -> list[tuple]:
    """Thresholds, numbers of buckets and allowed risks for which every mistake is visible."""
    return [(round(float(rng.uniform(low, high)), 2), int(rng.integers(20, 900)), error) for low, high, error in (
        (0.2, 0.3, 0.05), (0.4, 0.5, 0.01), (0.6, 0.8, 0.1))]  # fmt: skip


@exercise(
    "3.7",
    "Enough pairs",
    minutes=10,
    difficulty=2,
    hints=(
        "The risk that some weight is off is at most the sum of the risks, one for each bucket. How large is that sum?",
        "The sum is a number times an exponential in m. Set it equal to the allowed risk and solve for m; m is whole.",
    ),
    why="Half the threshold costs sixteen times as many pairs, a thousand times as many buckets only a few more. This "
    "is how the library proves the size of its sample.",
    instances=_searches,
)
def enough_pairs(threshold: float, buckets: int, error: float) -> int:
    """The fewest pairs for which Hoeffding's bound, added up over all buckets, is at most `error`."""
    t = threshold**2 / 4  # how far a weight may be off
    # your turn
    return int(np.ceil(2 * np.log(2 * buckets / error) / t**2))


enough_pairs.mistake(
    "You let each bucket err with the whole risk. Many buckets are weighed, and any of them may be off.",
    lambda threshold, buckets, error: enough_pairs.solution(threshold, 1, error),
)
enough_pairs.mistake(
    "You give every bucket the whole risk times their number. Shares of the risk are smaller than the risk.",
    lambda threshold, buckets, error: enough_pairs.solution(threshold, 1, min(error * buckets, 1)),
)
enough_pairs.mistake(
    "The exponent has the square of t in it: half the error costs four times as many pairs.",
    lambda threshold, buckets, error: int(np.ceil(2 * np.log(2 * buckets / error) / (threshold**2 / 4))),
)
enough_pairs.mistake(
    "A mean can be off in both directions: the bound has a factor 2 in front of the exponential.",
    lambda threshold, buckets, error: enough_pairs.solution(threshold, buckets, 2 * error),
)
enough_pairs.mistake(
    "Check the factor in the exponent: products between −1 and 1 have a range of 2, so it is m t² over 2.",
    lambda threshold, buckets, error: int(np.ceil(np.log(2 * buckets / error) / (2 * (threshold**2 / 4) ** 2))),
)
enough_pairs.mistake(
    "You count queries. A pair takes two of them, and the question is how many pairs.",
    lambda threshold, buckets, error: 2 * enough_pairs.solution(threshold, buckets, error),
)
enough_pairs.mistake(
    "One too few: rounded down, the risk is a little larger than allowed.",
    lambda threshold, buckets, error: enough_pairs.solution(threshold, buckets, error) - 1,
)


def _polynomials(rng: np.random.Generator) -> list[tuple]:
    """A parity, an AND, random polynomials over GF(2) of degree 2 and 3, and the constant +1, as tables."""
    random = [_table(5, rng.choice(sets, 3, replace=False)) for sets in ([3, 6, 10, 17, 20], [7, 11, 19, 26, 28])]
    return [(cube.parity(5),), (cube.formula("x1 & x3", 4),), *[(table,) for table in random], (np.ones(8),)]


def _table(n: int, monomials: np.ndarray) -> np.ndarray:
    points = np.arange(2**n)
    return cube.to_signs(sum((points & m == m).astype(int) for m in monomials) % 2)


@exercise(
    "3.8",
    "The other degree",
    minutes=15,
    difficulty=3,
    hints=(
        "A monomial is a product of bits, so the value at a point is the sum modulo 2 of the monomials inside it. Undo "
        "that sum bit by bit.",
        "A monomial without this bit counts at both points of a pair, so it has to be taken off the second. After the "
        "loop the entries that are left are the monomials.",
    ),
    why="PARITY has degree 1 here and degree n as a polynomial in signs: two notions, and two tests.",
    instances=_polynomials,
)
def algebraic_degree(table: np.ndarray) -> int:
    """The degree of a table of signs as a polynomial in bits, modulo 2."""
    bits = np.array(table) < 0
    for i in range(len(bits).bit_length() - 1):
        pairs = bits.reshape(-1, 2, 2**i)  # they differ in this bit
        # your turn
        pairs[:, 1] ^= pairs[:, 0]
    return max((k.bit_count() for k in range(len(bits)) if bits[k]), default=0)


def _monomials(table: np.ndarray, half: int = 1) -> list[int]:
    """The masks that are left after all passes; `half` is the half of each pair that is changed."""
    bits = np.asarray(table) < 0
    for i in range(len(bits).bit_length() - 1):
        pairs = bits.reshape(-1, 2, 2**i)
        pairs[:, half] ^= pairs[:, 1 - half]
    return np.flatnonzero(bits).tolist()


algebraic_degree.mistake(
    "That is the degree over the real numbers, which the Fourier transform finds as well. Modulo 2, 1 + 1 vanishes.",
    lambda table: fourier.spectrum(table).degree,
)
algebraic_degree.mistake(
    "You change the first half of each pair. A monomial counts at the points that contain it, so change the second.",
    lambda table: max((k.bit_count() for k in _monomials(table, half=0)), default=0),
)
algebraic_degree.mistake(
    "You give the last variable that occurs. The degree counts the bits of the largest monomial.",
    lambda table: max(_monomials(table), default=0).bit_length(),
)
algebraic_degree.mistake(
    "You count the monomials. The degree is the number of bits in the largest of them.",
    lambda table: len(_monomials(table)),
)
algebraic_degree.mistake(
    "Right, but for the constant +1: it has no monomial at all, and its degree counts as 0.",
    lambda table: max((k.bit_count() for k in _monomials(table)), default=-1),
)


class _Oracle:
    """A hidden function of 30 bits that counts its queries; it is of degree 3, or has one parity of 4 bits in it."""

    def __init__(self, rng: np.random.Generator, higher: bool) -> None:
        low = cube.random_components(30, 3, 3, rng=rng)
        high = cube.random_components(30, 4, 1, rng=rng) if higher else []
        self._f, self._higher, self.asked = queries.black_box([*low, *high], 30), higher, 0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.asked += len(points)
        return self._f(points)

    def __repr__(self) -> str:
        return "a hidden function"


def _oracles(rng: np.random.Generator) -> list[tuple]:
    return [(_Oracle(rng, higher=k % 2 == 1), 30, 3, 512, int(rng.integers(2**31))) for k in range(40)]


def _single_flips(f: Callable, n: int, d: int, budget: int, seed: int) -> bool:
    """The library's answer with single variables for blocks."""
    rng, trials = np.random.default_rng(seed), budget // 2 ** (d + 1)
    return all(queries.degree_at_most(f, n, d, rng=rng, trials=1, method="axes").accepted for _ in range(trials))


@scored(
    "3.9",
    "A better test",
    minutes=40,
    difficulty=3,
    instances=_oracles,
    baseline=_single_flips,
    rival="single flips",
    measures={
        "right verdicts": Measure(
            lambda accepted, f, n, d, budget, seed: f.asked <= budget and bool(accepted) != f._higher,
            unit=" %", scale=100, more=True, guess=0.5,
        ),
        "queries": Measure(lambda accepted, f, n, d, budget, seed: f.asked),
    },
    why="Block flips, one trial after the other, until one of them objects or the budget is spent. All trials are "
    "independent, and every query is used in one trial only: that is where a better test may save.",
)  # fmt: skip
def cheap_tester(f: callable, n: int, d: int, budget: int, seed: int) -> bool:
    """Whether f, signs (batch, n) to (batch,), has degree ≤ d, judged from at most `budget` queries."""
    rng, trials = np.random.default_rng(seed), budget // 2 ** (d + 1)
    return all(queries.degree_at_most(f, n, d, rng=rng, trials=1).accepted for _ in range(trials))
