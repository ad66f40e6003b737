"""Chapter 10's exercises: wrong answers as readers write them, and the library's answers."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from flatcube import pacbayes
from flatcube.classroom.exercises import check, score
from flatcube.pacbayes import exercises
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("10.1", "as equally wide", """
        def my_divergence(theta, s, sigma):
            return sum(t**2 for t in theta) / 2 / sigma**2
    """),
    ("10.1", "The widths are counted once", """
        def my_divergence(theta, s, sigma):
            return np.dot(theta, theta) / 2 / sigma**2 + 0.5 * (s**2 / sigma**2 - 1 - 2 * np.log(s / sigma))
    """),
    ("10.1", "the other way round", """
        def my_divergence(theta, s, sigma):
            return sum((t**2 + sigma**2) / (2 * s**2) - 0.5 + np.log(s) - np.log(sigma) for t in theta)
    """),
    ("10.2", "You look at losses above the mean", """
        def my_constant(losses, t):
            mean = losses.mean()
            return max(np.sqrt(2 * np.log(np.mean(np.exp(s * (losses - mean))))) / s for s in t)
    """),
    ("10.2", "That is the standard deviation", """
        def my_constant(losses, t):
            return np.sqrt(np.mean(losses**2) - np.mean(losses) ** 2)
    """),
    ("10.2", "That is C²", """
        def my_constant(losses, t):
            mean = losses.mean()
            return max(2 * np.log(np.mean(np.exp(s * (mean - losses)))) / s**2 for s in t)
    """),
    ("10.3", "without δ", """
        def my_noise(norm2, trace, m, C, delta):
            return np.cbrt(C * np.sqrt(norm2 / m) / trace)
    """),
    ("10.3", "The factor ½", """
        def my_noise(norm2, trace, m, C, delta):
            from scipy.optimize import minimize_scalar
            bound = lambda u: np.exp(2 * u) * trace + C * np.sqrt((norm2 * np.exp(-2 * u) - 2 * np.log(delta)) / m)
            return np.exp(minimize_scalar(bound, bracket=(-3, 0), tol=1e-12).x)
    """),
    ("10.3", "You give σ²", """
        def my_noise(norm2, trace, m, C, delta):
            from scipy.optimize import minimize_scalar
            bound = lambda v: v / 2 * trace + C * np.sqrt((norm2 / v - 2 * np.log(delta)) / m)
            return np.exp(minimize_scalar(lambda u: bound(np.exp(u)), bracket=(-6, 0), tol=1e-12).x)
    """),
    ("10.4", "Pinsker", """
        def my_inverse(p, budget):
            return p + (budget / 2) ** 0.5
    """),
    ("10.4", "on the other side of p", """
        def my_inverse(p, budget):
            low, high = 0.0, p
            for _ in range(100):
                q = (low + high) / 2
                first = p * np.log(p / q) if p else 0
                if first + (1 - p) * np.log((1 - p) / (1 - q)) <= budget:
                    high = q
                else:
                    low = q
            return high
    """),
    ("10.4", "the other way round", """
        def my_inverse(p, budget):
            low, high = p, 1 - 1e-16
            for _ in range(100):
                q = (low + high) / 2
                spent = np.inf if p == 0 else q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
                low, high = (q, high) if spent <= budget else (low, q)
            return low
    """),
    ("10.5", "a sum of n independent terms", """
        def my_noisy_loss(theta, s, points, values):
            from math import erfc, sqrt
            return sum(erfc(y * np.dot(x, theta) / s / sqrt(2)) / 2 for x, y in zip(points, values)) / len(values)
    """),
    ("10.5", "the noisy network is right", """
        def my_noisy_loss(theta, s, points, values):
            from math import erf, sqrt
            n = points.shape[1]
            return np.mean([0.5 + erf(y * (x @ theta) / sqrt(2 * n) / s) / 2 for x, y in zip(points, values)])
    """),
    ("10.5", "without noise", """
        def my_noisy_loss(theta, s, points, values):
            return np.mean(values * np.sign(points @ theta) < 0)
    """),
    ("10.6", "choice of the prior is free", """
        def my_certificate(noisy, divergences, m, delta):
            from flatcube import pacbayes
            return pacbayes.small_kl(noisy, min(divergences), m=m, delta=delta)
    """),
    ("10.6", "The factor 2√m is missing", """
        def my_certificate(noisy, divergences, m, delta):
            from flatcube import pacbayes
            return min(pacbayes.kl_inverse(noisy, (kl + np.log(len(divergences)) - np.log(delta)) / m)
                       for kl in divergences)
    """),
    ("10.6", "K times δ", """
        def my_certificate(noisy, divergences, m, delta):
            from flatcube import pacbayes
            return pacbayes.small_kl(noisy, min(divergences), m=m, delta=delta * len(divergences))
    """),
    ("10.6", "0 · log 0", """
        def my_certificate(noisy, divergences, m, delta):
            budget = (min(divergences) + np.log(2 * np.sqrt(m) * len(divergences) / delta)) / m
            low, high = noisy, 1.0
            with np.errstate(all="ignore"):
                for _ in range(100):
                    q = (low + high) / 2
                    spent = noisy * np.log(noisy / q) + (1 - noisy) * np.log((1 - noisy) / (1 - q))
                    low, high = (q, high) if spent <= budget else (low, q)
            return q
    """),
    ("10.6", "as McAllester does", """
        def my_certificate(noisy, divergences, m, delta):
            logarithm = np.log(2 * np.sqrt(m) * len(divergences) / delta)
            return noisy + np.sqrt((np.sort(divergences)[0] + logarithm) / 2 / m)
    """),
]  # fmt: skip


def my_divergence(theta, s, sigma):
    return pacbayes.divergence(float(theta @ theta), s, sigma, size=len(theta))


def my_constant(losses, t):  # the least C for which the inequality holds at every t, by bisection
    logs = np.log(np.exp(np.outer(t, losses.mean() - losses)).mean(axis=1))
    low, high = 0.0, 1e3
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if (logs <= t**2 * middle**2 / 2).all() else (middle, high)
    return high


def bound(sigma, norm2, trace, m, C, delta):
    return pacbayes.truncated(norm2, trace, m=m, C=C, delta=delta, sigma=sigma).value


def my_noise(norm2, trace, m, C, delta):  # the derivative is zero where a cubic in v = σ² is
    a, L = C**2 * norm2**2 / (m * trace**2), 2 * math.log(1 / delta)
    roots = np.roots([L, norm2, 0, 0, -a])  # v⁴L + v³‖θ‖² = a, from σ·trace = C‖θ‖²/(σ³√m√(‖θ‖²/σ² + L))
    (v,) = [root.real for root in roots if abs(root.imag) < 1e-12 and root.real > 0]
    return math.sqrt(v)


def my_noisy_loss(theta, s, points, values):
    return norm.cdf(-values * (points @ theta), scale=s * math.sqrt(points.shape[1])).mean()


def my_certificate(noisy, divergences, m, delta):
    return pacbayes.seeger(noisy, min(divergences), m=m, delta=delta, price=math.log(len(divergences))).value


class TestExercises(ExerciseTests):
    room = "pacbayes"
    written = WRITTEN
    library = {
        "10.1": my_divergence,
        "10.2": my_constant,
        "10.3": my_noise,
        "10.4": pacbayes.kl_inverse,
        "10.5": my_noisy_loss,
        "10.6": my_certificate,
    }


def test_a_minimiser_is_right_and_a_coarse_one_is_told_so():
    def found(tolerance):
        def my_noise(norm2, trace, m, C, delta):
            args = (norm2, trace, m, C, delta)
            return math.exp(minimize_scalar(lambda u: bound(math.exp(u), *args), (-3, 0), tol=tolerance).x)

        return my_noise

    assert check("10.3", found(1e-8)).status == "right"
    coarse = check("10.3", lambda *given: 1.00001 * my_noise(*given))
    assert coarse.status == "wrong" and "six digits" in coarse.text
    assert check("10.3", lambda *given: (1 + 5e-7) * my_noise(*given)).status == "right"


def test_a_fitted_direction_beats_the_library_and_a_wrong_shape_is_told():
    def my_posterior(votes):
        x, y = votes.points, votes.values
        centre = np.linalg.lstsq(x, y, rcond=None)[0]
        for _ in range(300):  # logistic regression
            centre = centre + 0.5 * (x * (y / (1 + np.exp(y * (x @ centre))))[:, None]).mean(0)
        tried = [np.append(a * centre / np.linalg.norm(centre), 1.0) for a in np.geomspace(1, 30, 20)]
        return min(tried, key=votes.certificate)

    assert score("10.7", my_posterior, seed=3).better("risk at most") > 0
    assert "16 numbers" in score("10.7", lambda votes: np.ones(3)).text


def test_without_an_error_there_is_still_a_price():
    found = exercises.my_certificate.solution(0.0, np.array([13.0]), 400, 0.05)
    assert found == pytest.approx(-math.expm1(-(13 + math.log(2 * 20 / 0.05)) / 400))
    points = np.ones((1, 15), int)
    for s in (0.3, 0.03, 0.02):  # at the last two 1 − erf is 0
        weak = exercises.my_noisy_loss.solution(np.full(15, 0.1), s, points, np.array([1]))
        assert weak == pytest.approx(norm.sf(1.5 / s / math.sqrt(15)), rel=1e-6, abs=0) and weak > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_certificate_of_a_vote_is_above_its_risk(seed):
    rng = np.random.default_rng(seed)
    for (votes,) in exercises._votes(rng):
        posterior = exercises.my_posterior.solution(votes)
        points = rng.choice([-1, 1], size=(4000, 15))
        values = np.where(points @ votes._weights > 0, 1, -1)
        assert my_noisy_loss(posterior[:-1], 1.0, points, values) < votes.certificate(posterior)


def test_the_checks_need_nothing_that_a_page_has_not_got():
    code = "import sys\nfor name in ('scipy', 'torch', 'pandas'): sys.modules[name] = None\n"
    code += "from flatcube.classroom.exercises import check, find, score\n"
    code += "ids = ('10.1', '10.2', '10.3', '10.4', '10.5', '10.6')\n"
    code += "assert [check(id, find(id).solution).status for id in ids] == ['right'] * 6\n"
    code += "assert [check(id, find(id).mistakes[-1][1]).status for id in ids] == ['wrong'] * 6\n"
    code += "assert 'As good as' in score('10.7', find('10.7').solution, seed=1).verdict"
    subprocess.run([sys.executable, "-c", code], check=True)
