"""What chapter 1 says beside the slider of its figure on learning, over the whole range of the slider."""

from functools import cache
from itertools import product

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


def test_few_examples_of_parity_point_to_the_wrong_sign_from_degree_3_on_but_not_at_degree_2():
    for examples in (8, 16, 32):
        assert wrong("PARITY", 2, examples) < 0.5
        assert all(wrong("PARITY", degree, examples) > 0.5 for degree in range(3, N))
