"""The degree of a black box, from few queries; and its degree over GF(2)."""

import math

import numpy as np

from flatcube import checks, cube, sampling
from flatcube.queries import subcubes, verdicts
from flatcube.queries.verdicts import Finding, Verdict
from flatcube.sampling import BlackBox
from flatcube.sensitivity import _edges

__all__ = ["survival", "degree_trials", "degree_at_most", "estimate_degree", "gf2_degree_at_most"]

_HIGHEST = 60  # the highest degree that is tested, with 2^61 queries


def survival(size: int, degree: int) -> float:
    """p(s, d): the probability that a set of s variables meets each of d + 1 random blocks in an odd number.

    Every variable falls into one of the blocks, or into none, each with probability 1/(d+2):
    p = 2^{−(d+1)} Σ_j C(d+1, j) (−1)^j (1 − 2j/(d+2))^s, whatever n is.
    """
    blocks = checks.integer(degree, "degree", 0, 1000) + 1
    checks.integer(size, "size", 0, verdicts.MOST)
    terms = (math.comb(blocks, j) * (-1) ** j * (1 - 2 * j / (blocks + 1)) ** size for j in range(blocks + 1))
    return math.fsum(terms) / 2**blocks


def degree_trials(n: int, degree: int, *, error: float = 0.05, sparsity: int | None = None) -> int:
    """How many trials let a function of higher degree pass with probability at most ``error``.

    Let p = min_{s>d} p(s, d). If f has at most w coefficients, one trial sees that its degree is too high with
    probability ≥ p/w: a set survives with probability p, and a non-zero function with at most w coefficients is
    non-zero on 1/w of the points. So log(1/error) w/p trials are proved to suffice (``sparsity`` = w); without
    ``sparsity``, the 2 log(1/error)/p that sufficed in experiments.
    """
    return verdicts.enough(None, error, _rate(n, degree, sparsity))


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
    rng, rate = checks.generator(rng), _rate(n, degree, sparsity)
    draw = verdicts.choose(method, blocks=subcubes.blocks, axes=subcubes.axes)
    if degree >= n:
        return Verdict(True, 0.0, 0.0, 0, 0, 0.0, True)
    planned, signs = verdicts.enough(trials, error, rate), 1 - 2 * (cube.weights(degree + 1) % 2)
    seen, largest, energy = verdicts.Seen(tolerance, proximity), 0.0, 0.0
    for batch in subcubes.batches(planned, degree + 1, n, patient=seen.patient, name="degree"):
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

    >>> estimate_degree(subcubes.black_box([({1, 5, 9}, 1.0)], 30), 30, rng=0).value
    3
    """
    rng, tested = checks.generator(rng), []
    for degree in range(min(checks.count(largest, "largest", 0), checks.count(n, "n")) + 1):
        share = checks.probability(error, "error") / ((degree + 1) * (degree + 2))
        verdict = degree_at_most(f, n, degree, rng=rng, error=share, **options)
        tested.append((degree, verdict))
        if verdict.accepted:
            return verdicts.finding(degree, tested)
    return verdicts.finding(degree + 1, tested)


def _rate(n: int, degree: int, sparsity: int | None) -> float:
    """A lower bound on the probability that one trial notices a degree above d; without ``sparsity``, a guess."""
    if checks.count(degree, "degree", 0) < checks.count(n, "n"):
        checks.integer(degree, "degree", 0, _HIGHEST)
    settled = (degree + 2) * (degree + 61)  # from here on, p(s, d) is 2^{−(d+1)} but for a share of 2^{−60}
    least = min((survival(size, degree) for size in range(degree + 1, min(n, settled) + 1)), default=1.0)
    return least / (2 if sparsity is None else checks.integer(sparsity, "sparsity", 1, verdicts.MOST))


def gf2_degree_at_most(
    f: BlackBox, n: int, degree: int, *, rng: np.random.Generator | int, error: float = 0.05, trials: int | None = None
) -> Verdict:
    """The test of Alon et al. 2005, which SP App. H cites: the degree of a Boolean f as a polynomial over GF(2).

    The product of f over a subcube of d + 1 random directions is +1 if that degree is ≤ d. It is another notion of
    degree: every χ_S, full PARITY included, is a sum of bits, of degree 1 over GF(2). A polynomial of degree d + 1 is
    rejected by each trial with probability > 0.288, the chance that random directions are independent; ``error`` is
    about these, and promises nothing about polynomials of higher degree that are rarely −1.
    """
    rng, planned = checks.generator(rng), verdicts.enough(trials, error, 0.288)
    seen, products, r = verdicts.Seen(0.0, 0.0), [], checks.count(degree, "degree", 0) + 1
    for batch in subcubes.batches(planned, r, checks.count(n, "n"), patient=False, name="degree"):
        g = subcubes.restrict(f, sampling.random_signs((batch, n), rng=rng), subcubes.directions(batch, r, n, rng))
        if not _edges.is_boolean(g.reshape(-1)):
            raise ValueError("f: expected a Boolean function with values −1 and +1, got other values")
        products.append(seen.add(g).prod(axis=1).min())
        if products[-1] < 0:
            break
    return seen.verdict(float(products[-1] < 0), 0.0, 0.712**planned, False)
