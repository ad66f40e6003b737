"""Chapter 16's exercises: wrong answers as readers write them, and the library's answers."""

import math

import numpy as np
import pytest

from flatcube import cube, fourier, kernels
from flatcube.kernels import exercises
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("16.1", "bits that are 1 in both", """
        def my_matrix(values):
            size = 2 ** (len(values) - 1)
            return np.array([[values[bin(a & b).count("1")] for b in range(size)] for a in range(size)])
    """),
    ("16.1", "the other way", """
        def my_matrix(values):
            size = 2 ** (len(values) - 1)
            return np.array([[values[::-1][bin(a ^ b).count("1")] for b in range(size)] for a in range(size)])
    """),
    ("16.1", "one row", """
        def my_matrix(values):
            return np.array([values[bin(k).count("1")] for k in range(2 ** (len(values) - 1))])
    """),
    ("16.2", "divide by 2^n", """
        from flatcube import cube, fourier
        def my_spectrum(kernel):
            n = len(kernel).bit_length() - 1
            row = fourier.transform(kernel[0]) * 2**n
            return np.array([row[2**k - 1] for k in range(n + 1)])
    """),
    ("16.2", "largest to degree 0", """
        from math import comb
        def my_spectrum(kernel):
            n = len(kernel).bit_length() - 1
            found = np.linalg.eigvalsh(kernel)[::-1] / 2**n
            return np.array([found[sum(comb(n, i) for i in range(k))] for k in range(n + 1)])
    """),
    ("16.2", "in order of size", """
        def my_spectrum(kernel):
            return np.linalg.eigvalsh(kernel)[::-1] / len(kernel)
    """),
    ("16.2", "add up", """
        from flatcube import cube, fourier
        def my_spectrum(kernel):
            n = len(kernel).bit_length() - 1
            row, sizes = fourier.transform(kernel[0]), cube.weights(n)
            return np.array([row[sizes == k].sum() for k in range(n + 1)])
    """),
    ("16.3", "signs are missing", """
        from math import comb
        def my_route(values):
            n = len(values) - 1
            return np.array([sum(comb(n, j) * values[j] for j in range(n + 1)) / 2**n for k in range(n + 1)])
    """),
    ("16.3", "not a sum", """
        from math import comb
        def my_route(values):
            n = len(values) - 1
            K = lambda k, j: sum((-1) ** i * comb(k, i) * comb(n - k, j - i) for i in range(0, min(k, j) + 1))
            return np.array([sum(K(k, j) * values[j] for j in range(n + 1)) for k in range(n + 1)])
    """),
    ("16.3", "that of all ones", """
        from math import comb
        def my_route(values):
            n = len(values) - 1
            return np.array([sum((-1) ** j * comb(n, j) * values[j] for j in range(n + 1)) / 2**n] * (n + 1))
    """),
    ("16.4", "conjugate kernel", """
        def my_tangent(x, inner, outer):
            h = np.maximum(x @ inner / x.shape[1] ** 0.5, 0)
            return 2 * h @ h.T / len(outer)
    """),
    ("16.4", "its square is missing", """
        def my_tangent(x, inner, outer):
            u = x @ inner / x.shape[1] ** 0.5
            h, g = u.clip(0), (u > 0) * outer
            return h @ h.T + (g @ g.T) * (x @ x.T) / x.shape[1]
    """),
    ("16.4", "contains a_j once", """
        def my_tangent(x, inner, outer):
            u = x @ inner / x.shape[1] ** 0.5
            h, g = u.clip(0), (u > 0) * 1.0
            return 2 / len(outer) * (h @ h.T + (g * outer) @ g.T * (x @ x.T) / x.shape[1])
    """),
    ("16.4", "it is missing", """
        def my_tangent(x, inner, outer):
            u = x @ inner / x.shape[1] ** 0.5
            h, g = u.clip(0), (u > 0) * 1.0
            return 2 / len(outer) * (h @ h.T + g @ g.T * (x @ x.T) / x.shape[1])
    """),
    ("16.5", "twice as fast", """
        from flatcube import cube, fourier
        def my_curve(mu, table, times):
            n = len(table).bit_length() - 1
            W = np.array([(fourier.transform(table)[cube.weights(n) == k] ** 2).sum() for k in range(n + 1)])
            return np.array([W * np.exp(-mu * t) for t in times])
    """),
    ("16.5", "One column for each degree", """
        from flatcube import cube, fourier
        def my_curve(mu, table, times):
            left = fourier.transform(table) ** 2
            pace = np.asarray(mu)[cube.weights(len(table).bit_length() - 1)]
            return np.array([np.sum(left * np.exp(-2 * pace * t)) for t in times])
    """),
    ("16.5", "what has been learnt", """
        from flatcube import cube, fourier
        def my_curve(mu, table, times):
            n = len(table).bit_length() - 1
            W = np.array([(fourier.transform(table)[cube.weights(n) == k] ** 2).sum() for k in range(n + 1)])
            return np.array([W * (1 - np.exp(-2 * mu * t)) for t in times])
    """),
]  # fmt: skip


def _profile(values):
    n = len(values) - 1
    return (lambda c: np.asarray(values)[np.rint((1 - np.asarray(c)) * n / 2).astype(int)]), n


def _tangent(x, inner, outer):
    """By differences of the network's output, one weight at a time; it is linear in each between two kinks."""
    m, n = len(outer), x.shape[1]

    def f(w, a):
        return math.sqrt(2 / m) * np.maximum(x @ w / math.sqrt(n), 0) @ a

    columns, h = [], 1e-7
    for j in range(m):
        columns.append((f(inner, outer + h * np.eye(m)[j]) - f(inner, outer - h * np.eye(m)[j])) / (2 * h))
    for place in np.ndindex(inner.shape):
        shift = np.zeros_like(inner)
        shift[place] = h
        columns.append((f(inner + shift, outer) - f(inner - shift, outer)) / (2 * h))
    return np.array(columns).T @ np.array(columns)


def _curve(mu, table, times):
    left = kernels.left(2 * np.asarray(mu), times)
    weights = fourier.spectrum(table).profile
    return np.append(weights, np.zeros(len(mu) - len(weights))) * left


class TestExercises(ExerciseTests):
    room = "kernels"
    written = WRITTEN
    library = {
        "16.1": lambda values: kernels.matrix(*_profile(values)),
        "16.2": lambda kernel: kernels.mean_by_degree(kernels.by_set(kernel)),
        "16.3": lambda values: kernels.eigenvalues(*_profile(values)),
        "16.4": lambda x, inner, outer: kernels.of_weights(x, inner, outer)[1],
        "16.5": _curve,
    }


def test_many_bent_units_have_the_eigenvalues_that_are_asked_for():
    rng, m, points = np.random.default_rng(1), 100_000, cube.points(6)
    for slope, bias in ((-1.0, 0.0), (-0.4, 0.2), (0.5, 0.3)):
        u = math.sqrt((1 - bias) / 6) * points @ rng.normal(size=(6, m)) + math.sqrt(bias) * rng.normal(size=m)
        units = np.maximum(u, 0) + slope * np.minimum(u, 0)
        found = kernels.by_set(2 / (m * (1 + slope**2)) * units @ units.T)
        wanted = kernels.eigenvalues(lambda c: exercises._bent(c, slope, bias), 6)  # noqa: B023
        assert wanted @ [math.comb(6, k) for k in range(7)] == pytest.approx(1)
        assert np.allclose(kernels.mean_by_degree(found), wanted, atol=0.004)


def test_the_open_exercise_has_another_limit_for_every_network():
    networks = [network for (network,) in exercises._noisy(np.random.default_rng(0))]
    limits = np.array([network._truth for network in networks])
    assert np.ptp(limits[:, 1]) > 0.05 and (limits > -1e-12).all()
    for answer in limits[:5]:  # one spectrum for all is no answer
        assert np.mean([exercises._distance(answer, network) for network in networks]) > 0.2


def test_the_tangent_kernel_is_that_of_differences():
    rng = np.random.default_rng(0)
    points, inner, outer = cube.points(3), rng.normal(size=(3, 4)), rng.normal(size=4)
    assert np.allclose(kernels.of_weights(points, inner, outer)[1], _tangent(points, inner, outer), atol=1e-5)


def _family(network):
    """The member of the family whose eigenvalues are nearest to the library's answer, over a grid of (s, β)."""
    slope, bias = (grid.reshape(-1, 1) for grid in np.meshgrid(np.linspace(-1, 0.5, 61), np.linspace(0, 0.3, 31)))
    members = exercises._bent(1 - np.arange(7) / 3, slope, bias) @ kernels.krawtchouk(6).T / 64
    off = np.square(members - exercises.my_estimate.solution(network))[:, 1:] @ [math.comb(6, k) for k in range(1, 7)]
    return members[off.argmin()]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_knowing_the_family_beats_the_library_in_the_open_exercise(seed):
    board = exercises.my_estimate.board(_family, seed)
    (name,) = board.rows
    assert board.better(name) == board.better(name, 2) == 1
