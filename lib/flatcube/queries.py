"""What a few queries tell about a black box: its degree, its sparsity, its heavy coefficients.

Every test looks at f on a random subcube. A base point x and directions v_1, …, v_r (vectors of signs) give

    g(y) = f(x · ∏_{j: y_j = 1} v_j),  y ∈ {0,1}^r,     ĝ(u) = Σ c_S χ_S(x) over the sets S with χ_S(v_j) = (−1)^{u_j}.

*Degree.* Flip d + 1 disjoint blocks of variables. A set S contributes to ĝ(1…1) only if it meets every block in an odd
number of variables, so ĝ(1…1) = 0 for a function of degree ≤ d. *Sparsity.* Along random directions different sets
likely land in different places u, and never in more places than there are sets, so ĝ has at most as many non-zero
entries as f has coefficients.

Thus the tests never reject wrongly, and an upward sweep to the first value that is accepted is never too high. It is
too low with probability at most ``error``; ``proved`` tells whether that rests on a proof, or on constants that were
enough in experiments. Functions may be real. For inexact ones there are

- ``tolerance``: every value of f may be off by this much. Coefficients below it are not seen. The default allows for
  rounding, 1000 units in the last place of the largest value; for independent noise of standard deviation σ take 5σ.
- ``proximity``: the share of Var f that may lie above the degree, or outside the sparsity. If it is positive, averages
  over all trials decide; near the limit either answer may come.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flatcube import cube, edges, fourier, sampling, subcubes
from flatcube.heavy import Heavy, heavy_coefficients
from flatcube.sampling import BlackBox

__all__ = [
    "Verdict", "Finding", "black_box", "survival", "degree_trials", "degree_at_most", "estimate_degree",
    "sparsity_plan", "tail_energy", "sparsity_at_most", "estimate_sparsity", "gf2_degree_at_most",
    "Heavy", "heavy_coefficients",
]  # fmt: skip

_ROUNDING = 1000  # the default tolerance, in units in the last place of the largest value


@dataclass(frozen=True)
class Verdict:
    """The outcome of one test: accepted if the statistic is within the limit.

    ``error`` bounds the probability of accepting wrongly (None: nothing does); ``proved`` tells whether by a proof.
    """

    accepted: bool
    statistic: float
    limit: float
    trials: int
    queries: int
    error: float | None
    proved: bool


@dataclass(frozen=True)
class Finding:
    """The first value that an upward sweep accepted; a lower bound only, if ``accepted`` is False.

    ``error`` bounds the probability that the value is too low (None: nothing does). ``verdicts`` holds the values that
    were tested, each with its verdict.
    """

    value: int
    accepted: bool
    queries: int
    error: float | None
    proved: bool
    verdicts: tuple[tuple[int, Verdict], ...]


def black_box(components: cube.Components, n: int) -> BlackBox:
    """f = Σ λ_i even_{S_i} as a function on signs (batch, n), for any n: no table is made (SP Eq. 1).

    >>> black_box([({1, 2}, 2.0)], 40)(np.ones((3, 40)))
    array([2., 2., 2.])
    """
    members = np.zeros((sampling.check_count(n, "n"), len(components)), np.float32)
    for column, (subset, _) in enumerate(components):
        cube.mask(subset, n)
        members[[i - 1 for i in subset], column] = 1
    weights = np.array([float(weight) for _, weight in components])

    def f(signs: np.ndarray) -> np.ndarray:
        if np.min(signs, initial=1) == 0:
            cube.check_signs(signs)  # bits: says so
        ones = (signs < 0).astype(np.float32) @ members  # (batch, components): how many bits of S_i are one
        return (ones.astype(np.int32) & 1 == 0) @ weights

    return f


# --- degree -----------------------------------------------------------------------------------------------------------


def survival(size: int, degree: int) -> float:
    """p(s, d): the probability that a set of s variables meets each of d + 1 random blocks in an odd number.

    Every variable falls into one of the blocks, or into none, each with probability 1/(d+2):
    p = 2^{−(d+1)} Σ_j C(d+1, j) (−1)^j (1 − 2j/(d+2))^s, whatever n is.
    """
    blocks = sampling.check_count(degree, "degree", 0) + 1
    terms = (math.comb(blocks, j) * (-1) ** j * (1 - 2 * j / (blocks + 1)) ** size for j in range(blocks + 1))
    return math.fsum(terms) / 2**blocks


def degree_trials(n: int, degree: int, *, error: float = 0.05, sparsity: int | None = None) -> int:
    """How many trials let a function of higher degree pass with probability at most ``error``.

    Let p = min_{s>d} p(s, d). If f has at most w coefficients, one trial sees that its degree is too high with
    probability ≥ p/w: a set survives with probability p, and a non-zero function with at most w coefficients is
    non-zero on 1/w of the points. So log(1/error) w/p trials are proved to suffice (``sparsity`` = w); without
    ``sparsity``, the 2 log(1/error)/p that sufficed in experiments.
    """
    return _trials(None, error, _rate(n, degree, sparsity))


def degree_at_most(
    f: BlackBox,
    n: int,
    degree: int,
    *,
    rng: np.random.Generator | int,
    error: float = 0.05,
    sparsity: int | None = None,
    trials: int | None = None,
    tolerance: float | None = None,
    proximity: float = 0.0,
    method: str = "blocks",
) -> Verdict:
    """Test whether a black box has degree ≤ d: |ĝ(1…1)| ≤ tolerance in every trial, 2^{d+1} queries each.

    The number of trials is given, or follows from ``error`` and ``sparsity`` as in ``degree_trials``. With
    ``proximity`` the mean of ĝ(1…1)²/p(d+1, d), on average at least Σ_{|S|>d} c_S², is compared with proximity · Var f.
    ``method="axes"`` flips single variables instead of blocks: as sound, but a set of s variables then survives with
    probability C(s, d+1)/C(n, d+1) only.
    """
    rng, rate = np.random.default_rng(rng), _rate(n, degree, sparsity)
    draw = _choose(method, blocks=subcubes.blocks, axes=subcubes.axes)
    if degree >= n:
        return Verdict(True, 0.0, 0.0, 0, 0, 0.0, True)
    planned, signs = _trials(trials, error, rate), 1 - 2 * (cube.weights(degree + 1) % 2)
    seen, largest, energy = _Seen(tolerance, proximity), 0.0, 0.0
    for batch in subcubes.batches(planned, degree + 1, n, patient=seen.patient):
        g = seen.add(subcubes.restrict(f, sampling.random_signs((batch, n), rng=rng), draw(batch, degree + 1, n, rng)))
        top = g @ signs / len(signs)
        largest, energy = max(largest, float(np.abs(top).max())), energy + float(top @ top)
        if not seen.patient and largest > seen.tolerance:
            break
    risk = (1 - rate) ** planned if method == "blocks" else None
    if not seen.patient:
        return seen.verdict(largest, seen.tolerance, risk, sparsity is not None)
    above = energy / seen.trials / survival(degree + 1, degree)
    return seen.verdict(above, seen.tolerance**2 + proximity * seen.variance, None, False)


def estimate_degree(
    f: BlackBox, n: int, *, rng: np.random.Generator | int, error: float = 0.05, largest: int = 8, **options: object
) -> Finding:
    """The degree of a black box: the first d = 0, 1, …, ``largest`` that ``degree_at_most`` accepts.

    The k-th test may err with probability error/(k(k + 1)), which adds up to ``error``. The options are those of
    ``degree_at_most``.

    >>> estimate_degree(black_box([({1, 5, 9}, 1.0)], 30), 30, rng=0).value
    3
    """
    rng, verdicts = np.random.default_rng(rng), []
    for degree in range(min(sampling.check_count(largest, "largest", 0), sampling.check_count(n, "n")) + 1):
        share = sampling.check_probability(error, "error") / ((degree + 1) * (degree + 2))
        verdict = degree_at_most(f, n, degree, rng=rng, error=share, **options)
        verdicts.append((degree, verdict))
        if verdict.accepted:
            return _finding(degree, verdicts)
    return _finding(degree + 1, verdicts)


def _rate(n: int, degree: int, sparsity: int | None) -> float:
    """A lower bound on the probability that one trial notices a degree above d; without ``sparsity``, a guess."""
    sizes = range(sampling.check_count(degree, "degree", 0) + 1, sampling.check_count(n, "n") + 1)
    least = min((survival(size, degree) for size in sizes), default=1.0)
    return least / (2 if sparsity is None else sampling.check_count(sparsity, "sparsity"))


# --- sparsity ---------------------------------------------------------------------------------------------------------


def sparsity_plan(sparsity: int, *, error: float = 0.05, most: int | None = None) -> tuple[int, int]:
    """The number r of random directions, and of trials, for a test of sparsity ≤ w.

    Two sets share a place with probability 2^{−r}. With r = ⌈2 log₂(w+1) + 1⌉ any w + 1 sets have places of their own
    with probability ≥ 3/4, and log₄(1/error) trials show more than w places, unless other sets cancel one of them.
    That is excluded as well if f has at most ``most`` coefficients and r ≥ log₂(most · (w+1)) + 2.
    """
    directions = math.ceil(2 * math.log2(sampling.check_count(sparsity, "sparsity", 0) + 1) + 1)
    if most is not None:
        directions = max(directions, math.ceil(math.log2(sampling.check_count(most, "most") * (sparsity + 1)) + 2))
    return directions, _trials(None, error, 3 / 4)


def tail_energy(coefficients: np.ndarray) -> np.ndarray:
    """The sum of squares of all but the k largest coefficients (…, m), for k = 0, …, m: (…, m + 1).

    SP App. H prints the sum of the coefficients, which is zero for +0.1 and −0.1.

    >>> tail_energy(np.array([0.0, 2.0, -1.0]))
    array([5., 1., 0., 0.])
    """
    rising = np.sort(np.square(coefficients, dtype=np.float64), axis=-1).cumsum(axis=-1)
    return np.concatenate([rising[..., ::-1], np.zeros_like(rising[..., :1])], axis=-1)


def sparsity_at_most(
    f: BlackBox, n: int, sparsity: int, *, rng: np.random.Generator | int, error: float = 0.05, **options: object
) -> Verdict:
    """Test whether a black box has at most w non-zero coefficients, the constant included: 2^r queries per trial.

    The energy Σ ĝ(u)² outside the w largest entries must not exceed tolerance² in any trial; with ``proximity``, its
    mean must not exceed tolerance² + proximity · Var f. Options: ``tolerance`` and ``proximity`` as above; ``trials``
    instead of those that follow from ``error``; ``most``, a bound on the number of coefficients that f can have, which
    makes ``error`` a proved one; ``method="axes"``, which frees random variables instead of random directions. Sets of
    few variables then often share a place, and too much is accepted.
    """
    return _places(f, n, sparsity, np.random.default_rng(rng), error, **options)[1]


def estimate_sparsity(
    f: BlackBox, n: int, *, rng: np.random.Generator | int, error: float = 0.05, largest: int = 256, **options: object
) -> Finding:
    """The number of non-zero coefficients of a black box, the constant included: an upward sweep to acceptance.

    A trial that shows k places rejects every value below k at once, so the sweep goes on at k. The k-th test may err
    with probability error/(k(k + 1)). The options are those of ``sparsity_at_most``.

    >>> estimate_sparsity(black_box([({1, 5}, 1.0), ({2}, 3.0)], 30), 30, rng=0).value
    3
    """
    rng, verdicts, shown, sparsity = np.random.default_rng(rng), [], 0, 1
    while sparsity <= sampling.check_count(largest, "largest"):
        share = sampling.check_probability(error, "error") / ((len(verdicts) + 1) * (len(verdicts) + 2))
        places, verdict = _places(f, n, sparsity, rng, share, **options)
        verdicts.append((sparsity, verdict))
        shown = max(shown, places)
        if verdict.accepted:
            break
        sparsity = shown
    return _finding(shown, verdicts)


def _places(
    f: BlackBox,
    n: int,
    sparsity: int,
    rng: np.random.Generator,
    error: float,
    *,
    most: int | None = None,
    trials: int | None = None,
    tolerance: float | None = None,
    proximity: float = 0.0,
    method: str = "directions",
) -> tuple[int, Verdict]:
    """How many places the trials of one test show to be needed, and the verdict on ``sparsity``."""
    draw = _choose(method, directions=subcubes.directions, axes=subcubes.axes)
    r, planned = sparsity_plan(sparsity, error=error, most=most)
    planned = planned if trials is None else sampling.check_count(trials, "trials")
    risk, proved = 4.0**-planned if method == "directions" else None, most is not None
    if r >= sampling.check_count(n, "n"):  # the whole cube, in one trial
        r, planned, draw, risk, proved = n, 1, subcubes.axes, 0.0, True
    seen, tails = _Seen(tolerance, proximity), []
    for batch in subcubes.batches(planned, r, n, patient=True):
        g = seen.add(subcubes.restrict(f, sampling.random_signs((batch, n), rng=rng), draw(batch, r, n, rng)))
        tails.append(tail_energy(fourier.transform(g)))
    tail = np.concatenate(tails).mean(axis=0) if seen.patient else np.concatenate(tails).max(axis=0)
    limit = seen.tolerance**2 + proximity * seen.variance
    needed = int(np.count_nonzero(tail > limit))
    return needed, seen.verdict(float(tail[min(sparsity, 1 << r)]), limit, risk, proved)


# --- what the tests share ---------------------------------------------------------------------------------------------


class _Seen:
    """What the trials of one test have seen of f so far."""

    def __init__(self, tolerance: float | None, proximity: float) -> None:
        if not 0 <= proximity < 1:
            raise ValueError(f"proximity: expected a number from 0 to 1, got {proximity}")
        if tolerance is not None and not tolerance >= 0:
            raise ValueError(f"tolerance: expected a number ≥ 0, got {tolerance}")
        self.given, self.patient = tolerance, proximity > 0
        self.trials = self.queries = 0
        self.sum = self.squares = self.largest = self.unit = 0.0

    def add(self, g: np.ndarray) -> np.ndarray:
        """Note the values (trials, 2^r) of a batch and hand them on as floats."""
        g = g if g.dtype.kind == "f" else g.astype(np.float64)
        self.trials, self.queries = self.trials + len(g), self.queries + g.size
        self.sum += float(g.sum(dtype=np.float64))
        self.squares += float(np.square(g, dtype=np.float64).sum())
        self.largest, self.unit = max(self.largest, float(np.abs(g).max())), float(np.finfo(g.dtype).eps)
        return g

    @property
    def tolerance(self) -> float:
        return _ROUNDING * self.unit * self.largest if self.given is None else self.given

    @property
    def variance(self) -> float:
        return self.squares / self.queries - (self.sum / self.queries) ** 2

    def verdict(self, statistic: float, limit: float, error: float | None, proved: bool) -> Verdict:
        error = None if self.patient else error
        proved = proved and error is not None
        return Verdict(statistic <= limit, statistic, limit, self.trials, self.queries, error, proved)


def _finding(value: int, verdicts: list[tuple[int, Verdict]]) -> Finding:
    risks = [verdict.error for _, verdict in verdicts]
    return Finding(
        value,
        verdicts[-1][1].accepted,
        sum(verdict.queries for _, verdict in verdicts),
        None if None in risks else min(sum(risks), 1.0),
        all(verdict.proved for _, verdict in verdicts),
        tuple(verdicts),
    )


def _trials(given: int | None, error: float, rate: float) -> int:
    """The given number of trials, or enough for (1 − rate)^trials ≤ error."""
    if given is not None:
        return sampling.check_count(given, "trials")
    return 1 if rate == 1 else math.ceil(math.log(sampling.check_probability(error, "error")) / math.log1p(-rate))


def _choose(method: str, **draws: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    if method not in draws:
        raise ValueError(f"method: expected {' or '.join(map(repr, draws))}, got {method!r}")
    return draws[method]


# --- degree over GF(2) ------------------------------------------------------------------------------------------------


def gf2_degree_at_most(
    f: BlackBox, n: int, degree: int, *, rng: np.random.Generator | int, error: float = 0.05, trials: int | None = None
) -> Verdict:
    """The test of Alon et al. 2005, which SP App. H cites: the degree of a Boolean f as a polynomial over GF(2).

    The product of f over a subcube of d + 1 random directions is +1 if that degree is ≤ d. It is another notion of
    degree: every χ_S, full PARITY included, is a sum of bits, of degree 1 over GF(2). A polynomial of degree d + 1 is
    rejected by each trial with probability > 0.288, the chance that random directions are independent; ``error`` is
    about these, and promises nothing about polynomials of higher degree that are rarely −1.
    """
    rng, planned = np.random.default_rng(rng), _trials(trials, error, 0.288)
    seen, products, r = _Seen(0.0, 0.0), [], sampling.check_count(degree, "degree", 0) + 1
    for batch in subcubes.batches(planned, r, sampling.check_count(n, "n"), patient=False):
        g = subcubes.restrict(f, sampling.random_signs((batch, n), rng=rng), subcubes.directions(batch, r, n, rng))
        if not edges.is_boolean(g.reshape(-1)):
            raise ValueError("f: expected a Boolean function with values −1 and +1, got other values")
        products.append(seen.add(g).prod(axis=1).min())
        if products[-1] < 0:
            break
    return seen.verdict(float(products[-1] < 0), 0.0, 0.712**planned, False)
