"""Evidence for the claims of chapter 3: what the testers accept, what they see, and what they cost."""

import math

import numpy as np
import pytest

from flatcube import cube, fourier, queries, sampling
from flatcube.queries import subcubes

claim = pytest.mark.claim
N = 30


def parity(x):
    return x.prod(axis=1)


def random_polynomial(n, sizes, rng):
    """A function with one random term of each of the given sizes: as a black box, and the number of its terms."""
    sets = {tuple(sorted(rng.choice(n, size, replace=False))) for size in sizes}
    terms = {S: rng.choice([-1, 1]) * rng.uniform(0.5, 2) for S in sorted(sets)}
    return lambda x: sum(c * x[:, S].astype(float).prod(axis=1) for S, c in terms.items()), len(terms)


# --- degree -----------------------------------------------------------------------------------------------------------


def over_gf2(f, n, degree, *, rng, trials=None, **options):
    """The cited test; real functions are read by their signs."""
    return queries.gf2_degree_at_most(lambda x: np.where(f(x) < 0, -1, 1), n, degree, rng=rng, trials=trials)


def full_blocks(count, r, n, rng):
    return subcubes._from_labels(rng.integers(1, r + 1, (count, n)), r)


@claim(
    "SP-H-DEG",
    printed=(
        "flatcube.queries.degree.degree_at_most",
        over_gf2,
        "The test of Alon et al., which is for degree over GF(2).",
    ),
    erratum=59,
    mutant=("flatcube.queries.subcubes.blocks", full_blocks, "Every variable falls into a block."),
    note="full PARITY on 12 bits, degrees 1, 2, 3 and 5: the alternating sum always rejects, the GF(2) test never does",
)
def test_full_parity_is_not_of_low_degree():
    for degree, seed in ((d, s) for d in (1, 2, 3, 5) for s in range(20)):
        assert not queries.degree_at_most(parity, 12, degree, rng=seed, error=1e-6).accepted


def overlapping(count, r, n, rng):
    return subcubes.directions(count, r, n, rng)


@claim(
    "SP-H-DEG",
    mutant=[
        ("flatcube.queries.subcubes.blocks", overlapping, "Blocks overlap."),
        ("flatcube.queries.subcubes.blocks", full_blocks, "Every variable falls into a block."),
    ],
    note="random real polynomials on 30 variables: degree ≤ d always accepted, the sweep ends at the degree",
)
def test_the_sweep_ends_at_the_fourier_degree():
    rng = np.random.default_rng(0)
    for degree in (1, 2, 3, 4):
        for seed in range(10):
            f, terms = random_polynomial(N, [degree, *rng.integers(0, degree + 1, 3)], rng)
            assert queries.degree_at_most(f, N, degree, rng=seed, trials=100).accepted
            assert queries.estimate_degree(f, N, rng=seed, error=1e-3, sparsity=terms).value == degree


# --- sparsity ---------------------------------------------------------------------------------------------------------


def plain_sum(coefficients):
    """The sum of the coefficients beyond the k largest, as printed."""
    order = np.argsort(np.abs(coefficients), axis=-1)
    rising = np.abs(np.take_along_axis(coefficients, order, axis=-1).cumsum(axis=-1))
    return np.concatenate([rising[..., ::-1], np.zeros_like(rising[..., :1])], axis=-1)


def few_directions(sparsity, *, error=0.05, most=None):
    return 1, math.ceil(math.log(1 / error, 4))


@claim(
    "SP-H-SPA",
    printed=(
        "flatcube.queries.sparsity.tail_energy",
        plain_sum,
        "The tail is the sum of the coefficients, without squares.",
    ),
    erratum=68,
    mutant=("flatcube.queries.sparsity.sparsity_plan", few_directions, "One direction serves every sparsity."),
    note="+0.1 and −0.1 beside 1: the tail energy is 0.02, and sparsity 1 is rejected, on 3 and on 30 variables",
)
def test_the_tail_is_an_energy():
    f = lambda x: x[:, 0] + 0.1 * x[:, 1] - 0.1 * x[:, 2]  # noqa: E731
    verdict = queries.sparsity_at_most(f, 3, 1, rng=0)  # so short an input is read in full
    assert math.isclose(verdict.statistic, 0.02, rel_tol=1e-9) and not verdict.accepted
    for seed in range(20):
        assert not queries.sparsity_at_most(f, N, 1, rng=seed, error=1e-6).accepted


@claim(
    "SP-H-SPA",
    mutant=[
        ("flatcube.queries.sparsity.sparsity_plan", few_directions, "One direction serves every sparsity."),
        (
            "flatcube.fourier.transforms.transform",
            lambda table, axis=-1: np.array(table, float),
            "Values replace coefficients.",
        ),
    ],
    note="no restriction has more coefficients than f; sweeps on 30 variables with 1 to 20 terms end at the sparsity",
)
def test_the_sweep_ends_at_the_sparsity():
    rng = np.random.default_rng(1)
    for wanted in (1, 2, 3, 5, 8, 13, 20):
        for seed in range(5):
            f, terms = random_polynomial(N, rng.integers(2, 6, wanted), rng)
            base, spanning = sampling.random_signs((4, N), rng=rng), subcubes.directions(4, 6, N, rng)
            restricted = fourier.transform(subcubes.restrict(f, base, spanning))
            assert (np.abs(restricted) > 1e-12).sum(axis=1).max() <= terms
            assert queries.sparsity_at_most(f, N, terms, rng=seed).accepted
            assert queries.estimate_sparsity(f, N, rng=seed, error=1e-3, most=terms).value == terms


# --- cost -------------------------------------------------------------------------------------------------------------


def survival_of_axes(size, degree):
    """Single variables in place of blocks, on 30 variables."""
    return math.comb(size, degree + 1) / math.comb(30, degree + 1)


@claim(
    "SP-H-COST",
    mutant=[
        ("flatcube.queries.degree.survival", survival_of_axes, "Single variables are flipped in place of blocks."),
        (
            "flatcube.queries.sparsity.sparsity_plan",
            lambda sparsity, **_: (16, 9),
            "The subcube is large for every sparsity.",
        ),
    ],
    note="queries counted at the black box on 20, 30 and 60 variables: as many, and far below the 2ⁿ of a transform",
)
def test_testers_ask_the_same_few_queries_however_long_the_input_is():
    components = [((1, 2, 3), 1.0), ((4, 9, 16), 0.5), ((2, 5, 17), 2.0)]
    asked = []
    for n in (20, 30, 60):
        for estimate, value in ((queries.estimate_degree, 3), (queries.estimate_sparsity, 4)):
            f, seen = queries.black_box(components, n), []
            finding = estimate(lambda x, f=f, seen=seen: seen.append(len(x)) or f(x), n, rng=0)
            assert finding.value == value and finding.queries == sum(seen)
            asked.append(finding.queries)
    assert max(asked[::2]) < 1.1 * min(asked[::2]) and max(asked[::2]) < 10_000
    assert max(asked[1::2]) < 2 * min(asked[1::2]) and max(asked[1::2]) < 1_000
    assert max(asked) * 100 < 2**20 < 20 * 2**20  # a transform of the shortest input: entries, operations
    with pytest.raises(ValueError, match="n: .* n = 60 take"):
        cube.table(queries.black_box(components, 60), 60)
