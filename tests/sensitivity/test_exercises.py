"""Chapter 2's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np

from flatcube import cube, fourier, sampling, sensitivity
from flatcube.classroom.exercises import score
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("2.1", "You count lit edges", """
        lit = [0, 0, 0]
        for x1, x2, x3 in np.ndindex(2, 2, 2):
            f = lambda a, b, c: a and (b or c)
            now = bool(f(x1, x2, x3))
            lit[0] += bool(f(1 - x1, x2, x3)) != now
            lit[1] += bool(f(x1, 1 - x2, x3)) != now
            lit[2] += bool(f(x1, x2, 1 - x3)) != now
        by_hand = [count // 2 for count in lit]
    """),
    ("2.1", "seen from both of its ends", """
        by_hand = np.array([3, 1, 1]) / 8
    """),
    ("2.1", "from both of its ends, but", """
        by_hand = np.array([6, 2, 2]) / 4
    """),
    ("2.1", "the value stays the same", """
        by_hand = (1 - 3 / 4, 1 - 1 / 4, 1 - 1 / 4)
    """),
    ("2.2", "Four times too large", """
        def point_sensitivity(table, k):
            n, total = len(table).bit_length() - 1, 0
            for i in range(n):
                total += (table[k] - table[k ^ (1 << i)]) ** 2
            return total
    """),
    ("2.2", "You count the neighbours that differ", """
        def point_sensitivity(table, k):
            near = [j for j in range(len(table)) if bin(j ^ k).count("1") == 1]
            return sum(table[j] != table[k] for j in near)
    """),
    ("2.2", "carries into the next digit", """
        def point_sensitivity(table, k):
            n = len(table).bit_length() - 1
            return sum((table[k] - np.take(table, k + 2**i, mode="wrap")) ** 2 / 4 for i in range(n))
    """),
    ("2.2", "`k ^ i` flips the digits", """
        def point_sensitivity(table, k):
            jumps = [table[k] - table[i ^ k] for i in range(int(np.log2(len(table))))]
            return np.dot(jumps, jumps) / 4
    """),
    ("2.3", "the quarter is missing", """
        def influences(table):
            n = len(table).bit_length() - 1
            cube = table.reshape((2,) * n)
            return [np.mean((cube - np.flip(cube, axis)) ** 2) for axis in reversed(range(n))]
    """),
    ("2.3", "wrong order", """
        def influences(table):
            n = len(table).bit_length() - 1
            cube = table.reshape((2,) * n)
            return [np.mean((cube - np.flip(cube, axis)) ** 2) / 4 for axis in range(n)]
    """),
    ("2.3", "you visit each edge once", """
        def influences(table):
            n, found = len(table).bit_length() - 1, []
            for i in range(n):
                low = [k for k in range(len(table)) if not k >> i & 1]
                found.append(sum((table[k] - table[k + 2**i]) ** 2 for k in low) / 4 / len(table))
            return found
    """),
    ("2.3", "You count the points where f changes at all", """
        def influences(table):
            points, n = np.arange(len(table)), len(table).bit_length() - 1
            return [sum(table != table[points ^ 2**i]) for i in range(n)]
    """),
    ("2.3", "a quarter of how often f changes", """
        def influences(table):
            points, n = np.arange(len(table)), len(table).bit_length() - 1
            return [np.mean(table != table[points ^ 2**i]) / 4 for i in range(n)]
    """),
    ("2.3", "You average half the jumps", """
        def influences(table):
            points, n = np.arange(len(table)), len(table).bit_length() - 1
            return [np.mean(abs(table - table[points ^ 2**i])) / 2 for i in range(n)]
    """),
    ("2.4", "the mean of f²", """
        def spectral_average(coefficients):
            return np.dot(coefficients, coefficients)
    """),
    ("2.4", "that is the variance", """
        def spectral_average(coefficients):
            return sum(c**2 for c in coefficients[1:])
    """),
    ("2.4", "the index of the subset", """
        def spectral_average(coefficients):
            return sum(S * c**2 for S, c in enumerate(coefficients))
    """),
    ("2.4", "where some cancel others", """
        def spectral_average(coefficients):
            return sum(bin(S).count("1") * c for S, c in enumerate(coefficients))
    """),
    ("2.4", "You divide by the sum of the squares", """
        def spectral_average(coefficients):
            return np.average([bin(S).count("1") for S in range(len(coefficients))], weights=coefficients**2)
    """),
    ("2.4", "You square the size of the set as well", """
        def spectral_average(coefficients):
            return sum((bin(S).count("1") * c) ** 2 for S, c in enumerate(coefficients))
    """),
    ("2.5", "You damp both factors", """
        def change_probability(coefficients, correlation):
            blurred = [correlation ** bin(S).count("1") * c for S, c in enumerate(coefficients)]
            return (1 - np.dot(blurred, blurred)) / 2
    """),
    ("2.5", "the noise stability", """
        def change_probability(coefficients, correlation):
            return sum(correlation ** bin(S).count("1") * c**2 for S, c in enumerate(coefficients))
    """),
    ("2.5", "the probability that the two values agree", """
        def change_probability(coefficients, correlation):
            mean = sum(correlation ** bin(S).count("1") * c**2 for S, c in enumerate(coefficients))
            return 0.5 + mean / 2
    """),
    ("2.5", "the tangent at r = 1", """
        def change_probability(coefficients, correlation):
            average = sum(bin(S).count("1") * c**2 for S, c in enumerate(coefficients))
            return average * (1 - correlation) / 2
    """),
    ("2.5", "the bound ½ (1 − rᵃ)", """
        def change_probability(coefficients, correlation):
            average = sum(bin(S).count("1") * c**2 for S, c in enumerate(coefficients))
            return 0.5 - correlation**average / 2
    """),
    ("2.6", "There are n bits: scale it up", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import beta

            return beta.ppf(1 - delta, changed + 1, samples - changed)
    """),
    ("2.6", "You split δ", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import beta

            return n * beta.ppf(1 - delta / 2, changed + 1, samples - changed)
    """),
    ("2.6", "the textbook formula", """
        def upper_limit(changed, samples, n, delta):
            p = changed / samples
            return n * p + 1.96 * n * (p * (1 - p) / samples) ** 0.5
    """),
    ("2.6", "the textbook formula, with 1.645", """
        def upper_limit(changed, samples, n, delta):
            p = changed / samples
            return n * p + 1.645 * n * (p * (1 - p) / samples) ** 0.5
    """),
    ("2.6", "the textbook formula, with the normal quantile of 1 − δ/2", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import norm

            p = changed / samples
            return n * (p + norm.ppf(1 - delta / 2) * np.sqrt(p * (1 - p) / samples))
    """),
    ("2.6", "the textbook formula, with the normal quantile of 1 − δ as", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import norm

            p = changed / samples
            return n * (p + norm.isf(delta) * np.sqrt(p * (1 - p) / samples))
    """),
    ("2.6", "You leave out the count that you saw", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import binom

            low, high = 0, 1
            while high - low > 1e-13:
                p = (low + high) / 2
                low, high = (p, high) if changed and binom.cdf(changed - 1, samples, p) >= delta else (low, p)
            return n * low
    """),
    ("2.6", "exactly k changes", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import binom

            low, high = 0, 1
            for _ in range(60):
                p = (low + high) / 2
                if binom.pmf(changed, samples, p) >= delta:
                    low = p
                else:
                    high = p
            return n * low
    """),
    ("2.6", "close, but not exact enough: the check asks for seven digits", """
        def upper_limit(changed, samples, n, delta):
            from scipy.stats import binom

            low, high = 0, 1
            for _ in range(18):
                p = (low + high) / 2
                low, high = (p, high) if binom.cdf(changed, samples, p) >= delta else (low, p)
            return n * low
    """),
]


def by_hand():
    return sensitivity.influences(cube.formula("x1 & (x2 | x3)"))


def point_sensitivity(table, k):
    return sensitivity.at_points(table)[k]


def influences(table):
    return sensitivity.spectral_influences(fourier.spectrum(table))


def spectral_average(coefficients):
    return sensitivity.average(fourier.inverse(coefficients))


def change_probability(coefficients, correlation):
    return sensitivity.disagreement(np.sign(fourier.inverse(coefficients)), correlation)


def upper_limit(changed, samples, n, delta):
    return n * sampling.proportion(changed, samples, 1 - 2 * delta)[1]


def all_neighbours(oracle):
    """The first idea: every neighbour of as many points as the budget allows."""
    x = 1 - 2 * np.random.default_rng(0).integers(0, 2, (oracle.budget // (oracle.n + 1), oracle.n))
    before = oracle(x)
    return float(sum(np.mean(before != oracle(x * (1 - 2 * one))) for one in np.eye(oracle.n, dtype=int)))


def first_coefficients(oracle):
    """What the remark below the library's meter suggests: each answer serves all coefficients of degree 1."""
    x = 1 - 2 * np.random.default_rng(0).integers(0, 2, (oracle.budget, oracle.n))
    return float(np.abs(np.mean(oracle(x)[:, None] * x, axis=0)).sum())


def mean_error(meter):
    """The reader's and the library's mean errors, over ten times twenty boxes."""
    rows = [score("2.8", meter, seed=seed).rows["mean error (flips)"] for seed in range(10)]
    return np.mean(rows, axis=(0, 2))[:2]


def test_all_neighbours_of_a_point_gain_nothing_and_what_a_vote_is_gains_much():
    idle, library = mean_error(all_neighbours)
    assert idle > library
    clever, library = mean_error(first_coefficients)
    assert clever < library / 2


class TestExercises(ExerciseTests):
    room = "sensitivity"
    written = WRITTEN
    library = {
        "2.1": by_hand,
        "2.2": point_sensitivity,
        "2.3": influences,
        "2.4": spectral_average,
        "2.5": change_probability,
        "2.6": upper_limit,
    }
