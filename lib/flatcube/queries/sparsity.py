"""The sparsity of a black box, from few queries."""

import math

import numpy as np

from flatcube import checks, fourier, sampling
from flatcube.queries import subcubes, verdicts
from flatcube.queries.verdicts import Finding, Verdict
from flatcube.sampling import BlackBox

__all__ = ["sparsity_plan", "tail_energy", "sparsity_at_most", "estimate_sparsity"]


def sparsity_plan(sparsity: int, *, error: float = 0.05, most: int | None = None) -> tuple[int, int]:
    """The number r of random directions, and of trials, for a test of sparsity ≤ w.

    Two sets share a place with probability 2^{−r}. With r = ⌈2 log₂(w+1) + 1⌉ any w + 1 sets have places of their own
    with probability ≥ 3/4, and log₄(1/error) trials show more than w places, unless other sets cancel one of them.
    That is excluded as well if f has at most ``most`` coefficients and r ≥ log₂(most · (w+1)) + 2.
    """
    directions = math.ceil(2 * math.log2(checks.integer(sparsity, "sparsity", 0, verdicts.MOST) + 1) + 1)
    if most is not None:
        checks.integer(most, "most", 1, verdicts.MOST)
        directions = max(directions, math.ceil(math.log2(most * (sparsity + 1)) + 2))
    return directions, verdicts.enough(None, error, 3 / 4)


def tail_energy(coefficients: np.ndarray) -> np.ndarray:
    """The sum of squares of all but the k largest coefficients (…, m), for k = 0, …, m: (…, m + 1).

    SP App. H prints the sum of the coefficients, which is zero for +0.1 and −0.1.

    >>> tail_energy(np.array([0.0, 2.0, -1.0]))
    array([5., 1., 0., 0.])
    """
    coefficients = checks.numbers(coefficients, "coefficients", (..., "m"))
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
    return _places(f, n, sparsity, checks.generator(rng), error, **options)[1]


def estimate_sparsity(
    f: BlackBox, n: int, *, rng: np.random.Generator | int, error: float = 0.05, largest: int = 256, **options: object
) -> Finding:
    """The number of non-zero coefficients of a black box, the constant included: an upward sweep to acceptance.

    A trial that shows k places rejects every value below k at once, so the sweep goes on at k. The k-th test may err
    with probability error/(k(k + 1)). The options are those of ``sparsity_at_most``.

    >>> estimate_sparsity(subcubes.black_box([({1, 5}, 1.0), ({2}, 3.0)], 30), 30, rng=0).value
    3
    """
    rng, tested, shown, sparsity = checks.generator(rng), [], 0, 1
    while sparsity <= checks.count(largest, "largest"):
        share = checks.probability(error, "error") / ((len(tested) + 1) * (len(tested) + 2))
        places, verdict = _places(f, n, sparsity, rng, share, **options)
        tested.append((sparsity, verdict))
        shown = max(shown, places)
        if verdict.accepted:
            break
        sparsity = shown
    return verdicts.finding(shown, tested)


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
    draw = verdicts.choose(method, directions=subcubes.directions, axes=subcubes.axes)
    r, planned = sparsity_plan(sparsity, error=error, most=most)
    planned = planned if trials is None else checks.integer(trials, "trials", 1, verdicts.MOST)
    risk, proved = 4.0**-planned if method == "directions" else None, most is not None
    if r >= checks.count(n, "n"):  # the whole cube, in one trial
        r, planned, draw, risk, proved = n, 1, subcubes.axes, 0.0, True
    seen, tails = verdicts.Seen(tolerance, proximity), []
    for batch in subcubes.batches(planned, r, n, patient=True, name="sparsity"):
        g = seen.add(subcubes.restrict(f, sampling.random_signs((batch, n), rng=rng), draw(batch, r, n, rng)))
        tails.append(tail_energy(fourier.transform(g)))
    tail = np.concatenate(tails).mean(axis=0) if seen.patient else np.concatenate(tails).max(axis=0)
    limit = seen.tolerance**2 + proximity * seen.variance
    needed = int(np.count_nonzero(tail > limit))
    return needed, seen.verdict(float(tail[min(sparsity, 1 << r)]), limit, risk, proved)
