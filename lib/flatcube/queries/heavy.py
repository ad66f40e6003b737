"""Finding the heavy coefficients of a black box: Goldreich and Levin 1989, Kushilevitz and Mansour 1993.

All sets that agree on the first k variables form a bucket. The weight of the bucket of S is the sum of its squared
coefficients, and it can be estimated by queries:

    Σ c_U² over the U that agree with S on the first k variables = E f(yz) f(y'z) χ_S(y) χ_S(y'),

with two independent beginnings y, y' of k variables and one end z. A bucket with little weight holds no heavy
coefficient and is given up; by Parseval few buckets have much. The others are split by the next variables.
"""

import math
from dataclasses import dataclass

import numpy as np

from flatcube import checks, cube, fourier, sampling
from flatcube.sampling import BlackBox

__all__ = ["Heavy", "heavy_coefficients"]

_GROUP = 10  # buckets are split by so many variables at a time
_SIGNS = 1 << 32  # of all samples together


@dataclass(frozen=True)
class Heavy:
    """The heavy terms [(subset, estimated coefficient), …], largest first, and what they cost."""

    terms: tuple[tuple[tuple[int, ...], float], ...]
    queries: int
    error: float


def heavy_coefficients(
    f: BlackBox,
    n: int,
    threshold: float,
    *,
    rng: np.random.Generator | int,
    error: float = 0.05,
    bound: float | None = None,
    samples: int | None = None,
) -> Heavy:
    """Find the coefficients with |c_S| ≥ threshold, without a table.

    With probability ≥ 1 − error all of them are found and none below 0.7 threshold, if |f| ≤ ``bound`` (default: the
    largest of 1024 values). This takes 32 log(·/error) (bound/threshold)⁴ ``samples`` for every ten variables.

    >>> [subset for subset, _ in heavy_coefficients(lambda x: x[:, 3] * x[:, 27], 30, 0.9, rng=0).terms]
    [(4, 28)]
    """
    rng, n, threshold = checks.generator(rng), checks.count(n, "n"), checks.positive(threshold, "threshold")
    checks.probability(error, "error")
    pilot = 0 if bound is not None else 1024
    if bound is None:
        bound = float(np.abs(sampling.evaluate(f, sampling.random_signs((pilot, n), rng=rng))).max()) or 1.0
    checks.positive(bound, "bound")
    if samples is None:
        samples = _heavy_samples(n, threshold / bound, error)
    base = sampling.random_signs((checks.integer(samples, "samples", 1, _SIGNS // n), n), rng=rng)
    values = sampling.evaluate(f, base).astype(np.float64)
    queries, survivors = pilot + samples, np.zeros((1, 0), np.int8)  # beginnings as rows of bits
    for start in range(0, n, _GROUP):
        stop = min(start + _GROUP, n)
        fresh = sampling.random_signs((samples, stop), rng=rng)
        products = values * sampling.evaluate(f, np.concatenate([fresh, base[:, stop:]], axis=1))
        survivors = _split(survivors, fresh * base[:, :stop], products, 3 / 4 * threshold**2)
        queries += samples
    coefficients = np.array([values @ _character(base, bits) for bits in survivors]) / samples
    order = np.argsort(-np.abs(coefficients))
    terms = [(tuple(int(j) + 1 for j in np.flatnonzero(survivors[i])), float(coefficients[i])) for i in order]
    return Heavy(tuple(terms), queries, error)


def _heavy_samples(n: int, relative: float, error: float) -> int:
    """Enough samples for every weight to be within threshold²/4, by Hoeffding's inequality and a union bound.

    The union runs over the continuations of all beginnings with a true weight of at least threshold²/2. These are the
    only ones that survive if no estimate is off, and they do not depend on the sample: all groups may share it.
    """
    relative = min(relative, 1.0)  # no coefficient is larger than the bound
    estimates = -(-n // _GROUP) * 2**_GROUP * (1 + 2 / relative**2)
    samples = math.ceil(32 * math.log(2 * estimates / error) / relative**4)
    if samples * n > _SIGNS:
        raise ValueError(f"threshold: {relative:.2g} of the bound takes {samples:,} samples; raise it, or give samples")
    return samples


def _split(survivors: np.ndarray, ratio: np.ndarray, products: np.ndarray, least: float) -> np.ndarray:
    """The beginnings (count, stop) with weight ≥ least among all continuations of survivors (count, start).

    ratio = y · y' (samples, stop), products = f(yz) f(y'z) (samples,). Summed by the pattern of the new variables in
    ratio, the products of one survivor become a table whose transform holds the weights of all its continuations.
    """
    start = survivors.shape[1]
    pattern, size = cube.index(ratio[:, start:]), 2 ** (ratio.shape[1] - start)
    found = [np.zeros((0, ratio.shape[1]), np.int8)]
    for bits in survivors:
        table = np.bincount(pattern.astype(np.intp), weights=products * _character(ratio, bits), minlength=size)
        masks = np.flatnonzero(fourier.inverse(table) >= least * len(products))
        ends = (masks[:, None] >> np.arange(ratio.shape[1] - start) & 1).astype(np.int8)
        found.append(np.column_stack([np.tile(bits, (len(masks), 1)), ends]))
    return np.concatenate(found)


def _character(points: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """χ_S at points (batch, ≥ n) for a set given by its bits (n,): (batch,)."""
    return points[:, np.flatnonzero(bits)].prod(axis=1, dtype=np.int8)
