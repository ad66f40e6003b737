"""Chapter 14's exercises: wrong answers as readers write them, and the library's answers."""

import math

import numpy as np
from scipy import special

from flatcube import sampling, sparse_functions
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("14.1", "may come twice", """
        def labels_needed(T, s):
            count = T**s if s > 1 else 2 * T
            return int(np.ceil(np.log2(count) - 1e-12))
    """),
    ("14.1", "Natural logarithm", """
        import math
        def labels_needed(T, s):
            return int(np.ceil(np.log(math.comb(T, s))))
    """),
    ("14.1", "One label too many", """
        import math
        def labels_needed(T, s):
            return int(np.floor(np.log2(math.comb(T, s)) + 1e-12)) + 1
    """),
    ("14.2", "begin at 0", """
        import itertools
        def my_learner(signs, labels, s):
            sets = itertools.combinations(range(signs.shape[1]), s)
            good = [c for c in sets if np.array_equal((signs[:, list(c)] == -1).all(axis=1), labels == -1)]
            return np.array(good, int).reshape(-1, s)
    """),
    ("14.2", "Where the label is false", """
        import itertools
        def my_learner(signs, labels, s):
            good = []
            for c in itertools.combinations(range(signs.shape[1]), s):
                if all((signs[k, list(c)] == -1).all() for k in range(len(labels)) if labels[k] == -1):
                    good.append([i + 1 for i in c])
            return np.array(good, int).reshape(-1, s)
    """),
    ("14.2", "That is OR", """
        import itertools
        def my_learner(signs, labels, s):
            good = []
            for c in itertools.combinations(range(signs.shape[1]), s):
                if np.array_equal(signs[:, list(c)].min(axis=1), labels):
                    good.append([i + 1 for i in c])
            return np.array(good, int).reshape(-1, s)
    """),
    ("14.3", "normal approximation", """
        def my_interval(successes, trials):
            p = successes / trials
            return p - 1.96 * np.sqrt(p * (1 - p) / trials), p + 1.96 * np.sqrt(p * (1 - p) / trials)
    """),
    ("14.3", "interval of 90 %", """
        from scipy import stats
        def my_interval(k, n):
            low = stats.beta.ppf(0.05, k, n - k + 1) if k else 0.0
            return low, (stats.beta.isf(0.05, k + 1, n - k) if k < n else 1.0)
    """),
    ("14.3", "one standard error", """
        def my_interval(k, n):
            e = (k * (n - k) / n**3) ** 0.5
            return k / n - e, k / n + e
    """),
    ("14.4", "Failures count", """
        def my_likelihood(m, successes, trials, critical, steepness):
            return float(-(successes * np.log1p((critical / m) ** steepness)).sum())
    """),
    ("14.4", "upside down", """
        def my_likelihood(m, successes, trials, critical, steepness):
            p = 1 / (1 + (m / critical) ** steepness)
            return float(successes @ np.log(p) + (trials - successes) @ np.log(1 - p))
    """),
    ("14.4", "a loss", """
        def my_likelihood(m, successes, trials, critical, steepness):
            p = 1 / (1 + (critical / m) ** steepness)
            return -float(successes @ np.log(p) + (trials - successes) @ np.log(1 - p))
    """),
    ("14.4", "binomial coefficients", """
        from scipy import stats
        def my_likelihood(m, successes, trials, critical, steepness):
            return float(stats.binom.logpmf(successes, trials, 1 / (1 + (critical / m) ** steepness)).sum())
    """),
    ("14.5", "least sum of squares", """
        from scipy import optimize
        def my_critical(m, successes, trials):
            curve = lambda size, c, k: 1 / (1 + np.exp(k * (c - np.log(size))))
            return float(np.exp(optimize.curve_fit(curve, m, successes / trials, p0=[np.log(m).mean(), 3.0])[0][0]))
    """),
    ("14.5", "one of those on the grid", """
        def my_critical(m, successes, trials):
            for size, k, n in zip(m, successes, trials):
                if k > n / 2:
                    return float(size)
            return float(m[-1])
    """),
    ("14.5", "straight line", """
        def my_critical(m, successes, trials):
            b, a = np.polyfit(np.log(m), successes / trials, 1)
            return float(np.exp((0.5 - a) / b))
    """),
    ("14.5", "logarithm of the critical size", """
        from scipy import optimize, special
        def my_critical(m, successes, trials):
            x = np.log(m)
            loss = lambda g: -np.sum(successes * special.log_expit(g[0] * x - g[1])
                                     + (trials - successes) * special.log_expit(g[1] - g[0] * x))
            k, c = optimize.minimize(loss, [3.0, 3.0 * x.mean()], method="Nelder-Mead",
                                     options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}).x
            return float(c / k)
    """),
]  # fmt: skip


def _fitting(signs, labels, s):
    return np.array(sparse_functions.consistent(signs, labels, s), int).reshape(-1, s)


def _likelihood(m, successes, trials, critical, steepness):
    z = steepness * np.log(m / critical)
    return float(np.sum(successes * z - trials * np.logaddexp(0, z)))


class TestExercises(ExerciseTests):
    room = "sparse_functions"
    written = WRITTEN
    library = {
        "14.1": lambda T, s: math.ceil(sparse_functions.least_samples(T, s)),
        "14.2": _fitting,
        "14.3": lambda k, n: sampling.proportion(k, n, 0.95),
        "14.4": _likelihood,
        "14.5": lambda m, k, n: sparse_functions.fit(m, k, n)[0],
    }


def test_the_likelihood_is_that_of_the_sigmoid():
    m, k, n = np.array([60, 100]), np.array([3, 15]), np.array([20, 20])
    p = special.expit(4 * np.log(m / 80))
    assert np.isclose(_likelihood(m, k, n, 80, 4), np.sum(k * np.log(p) + (n - k) * np.log(1 - p)))
