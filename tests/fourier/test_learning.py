"""What chapter 1 says beside the slider of its figure on learning, over the whole range of the slider."""

from collections import Counter
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest

from flatcube import cube, fourier

N = 7
SIZES = [2**e for e in range(3, 11)]
TABLES = {"MAJORITY": cube.majority(N), "PARITY": cube.parity(N)}


@cache
def wrong(name: str, degree: int, examples: int) -> float:
    """The expected share of wrong signs."""
    return fourier.wrong_share(TABLES[name], degree, examples)


@pytest.mark.parametrize(
    "table", [cube.majority(3), cube.parity(3), cube.conjunction(3), cube.random_boolean(3, rng=4)]
)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_exact_share_is_the_mean_over_all_samples(table, m):
    points = cube.points(3)
    for degree in range(4):
        shares = []
        for drawn in product(range(8), repeat=m):
            sample = list(drawn)
            values = fourier.learn_low_degree(points[sample], table[sample], degree).table() * table
            values[np.abs(values) < 1e-9] = 0
            shares.append(np.mean(values < 0) + np.mean(values == 0) / 2)
        assert fourier.wrong_share(table, degree, m) == pytest.approx(np.mean(shares), abs=1e-12)


@pytest.mark.parametrize("degree", range(1, N))
def test_majority_is_learnt_at_every_degree_and_parity_tends_to_a_coin(degree):
    majority, parity = ([wrong(name, degree, m) for m in SIZES] for name in TABLES)
    assert majority[-1] < 0.035
    assert min(parity) > 0.48 and max(parity) < 0.94
    far = abs(np.array(parity) - 0.5)
    assert far[-1] < 0.023
    assert (np.diff(far[3:]) < 1e-9).all()  # from 64 examples on it comes nearer and nearer


def test_majority_recovers_from_degree_five_on_and_four_is_the_worst():
    late = [wrong("MAJORITY", k, SIZES[-1]) for k in range(1, N + 1)]
    assert max(late) == late[3] == pytest.approx(0.033, abs=5e-4)
    assert wrong("MAJORITY", 1, 256) < wrong("MAJORITY", 2, 256) < wrong("MAJORITY", 4, 256)
    assert wrong("MAJORITY", 7, 256) < wrong("MAJORITY", 5, 256) < wrong("MAJORITY", 4, 256)
    for k in (3, 4):  # even the exact coefficients leave a coin toss at two inputs
        assert fourier.spectrum(TABLES["MAJORITY"]).low_degree(k).table()[[0, -1]] == pytest.approx(0, abs=1e-12)


def test_at_degree_one_parity_stays_at_one_half():
    assert [wrong("PARITY", 1, m) for m in SIZES] == pytest.approx([0.5] * len(SIZES), abs=0.01)


@pytest.mark.parametrize("m", SIZES)
def test_at_the_top_all_functions_are_remembered_alike(m):
    unseen = (1 - 2.0**-N) ** m
    for name in TABLES:
        assert wrong(name, N, m) == pytest.approx(unseen / 2, abs=1e-9)


@pytest.mark.parametrize("m", [1, 5, 16, 300])
def test_one_below_the_top_parity_is_the_count_minus_one(m):
    """h(x) = (2^n c(x)/m − 1) f(x): unseen inputs get −f(x)."""
    points, parity = cube.points(N), TABLES["PARITY"]
    drawn = np.random.default_rng(m).integers(2**N, size=m)
    h = fourier.learn_low_degree(points[drawn], parity[drawn], N - 1).table()
    counts = np.bincount(drawn, minlength=2**N)
    assert h == pytest.approx((2**N * counts / m - 1) * parity, abs=1e-9)


def test_majority_too_can_be_worse_than_a_coin_one_below_the_top():
    assert wrong("MAJORITY", N - 1, 8) > 0.55


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fourier.wrong_share(cube.mean(3), 1, 4), "signs: expected −1 and"),
        (lambda: fourier.wrong_share(cube.parity(3), 4, 4), "degree: expected an integer from 0 to 3, got 4"),
        (lambda: fourier.wrong_share(cube.parity(3), 1, 0), "examples: expected"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_from_degree_4_to_5_and_6_majority_is_worse_with_up_to_128_examples_and_better_from_256_on():
    for degree, examples in product((5, 6), SIZES):
        assert (wrong("MAJORITY", degree, examples) > wrong("MAJORITY", 4, examples)) == (examples <= 128)


def test_the_share_for_parity_exceeds_one_half_in_the_whole_figure_from_degree_3_on_but_not_at_degree_2():
    for examples in SIZES:
        assert wrong("PARITY", 2, examples) < 0.5
        assert all(wrong("PARITY", degree, examples) > 0.5 for degree in range(3, N))


def parity_wrong(degree: int, examples: int, kinds: range) -> float:
    """Wrong signs of PARITY at x, the examples drawn from the inputs at the distances ``kinds`` from x; ties half.

    One at distance j contributes (−1)^j Σ_{i ≤ degree} K_i(j), with Krawtchouk's polynomials K_i.
    """
    one: Counter[int] = Counter()
    for j in kinds:
        kernel = sum((-1) ** i * comb(j, i) * comb(N - j, k - i) for k in range(degree + 1) for i in range(k + 1))
        one[(-1) ** j * kernel] += comb(N, j)
    least, most = min(one), max(one)
    chances = np.array([one[value] for value in range(least, most + 1)]) / one.total()
    length = examples * (most - least) + 1
    sums = np.fft.irfft(np.fft.rfft(chances, 2 * length) ** examples, 2 * length)[:length]
    below = max(-examples * least, 0)
    return sums[:below].sum() + sums[below : below + 1].sum() / 2


def test_unseen_inputs_of_parity_are_mostly_wrong_in_the_whole_figure_and_seen_ones_pull_degree_2_below_a_half():
    for degree, examples in product(range(1, N), SIZES):
        assert parity_wrong(degree, examples, range(N + 1)) == pytest.approx(wrong("PARITY", degree, examples))
        assert parity_wrong(degree, examples, range(1, N + 1)) > 0.5
    unseen, seen = parity_wrong(2, 8, range(1, N + 1)), 1 - (1 - 2.0**-N) ** 8
    assert (unseen, seen) == pytest.approx((0.510, 0.061), abs=5e-4)
    assert (wrong("PARITY", 2, 8) - (1 - seen) * unseen) / seen == pytest.approx(0.028, abs=5e-4)


def test_with_fewer_than_eight_examples_parity_can_do_better_than_a_coin():
    better = {degree: [m for m in range(1, 8) if wrong("PARITY", degree, m) < 0.5] for degree in range(3, N)}
    assert better == {3: [1, 2, 3, 4, 5, 6, 7], 4: [1, 2], 5: [], 6: []}


def test_majority_has_no_weight_at_even_degrees_so_degree_4_only_costs():
    assert not fourier.spectrum(TABLES["MAJORITY"]).profile[::2].any()
    assert wrong("MAJORITY", 3, SIZES[-1]) == pytest.approx(0.018, abs=1e-3)
    assert wrong("MAJORITY", 4, SIZES[-1]) == pytest.approx(0.033, abs=1e-3)
