"""Chapter 13's exercises: wrong answers as readers write them, and the library's answers."""

import subprocess
import sys

import numpy as np

from flatcube import cube, generalise, pacbayes
from flatcube.classroom.exercises import score
from flatcube.fourier import inverse
from flatcube.generalise import exercises
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("13.1", "You add up the signs", """
        def my_features(points, masks):
            T = points.shape[1]
            return np.array([[sum(x[i] for i in range(T) if mask >> i & 1) for mask in masks] for x in points])
    """),
    ("13.1", "from the other end", """
        def my_features(points, masks):
            T = points.shape[1]
            sets = [[i for i in range(T) if mask >> (T - 1 - i) & 1] for mask in masks]
            return np.array([points[:, members].prod(axis=1) for members in sets]).T
    """),
    ("13.1", "the other way round", """
        def my_features(points, masks):
            T = points.shape[1]
            sets = [[i for i in range(T) if mask >> i & 1] for mask in masks]
            return -np.array([points[:, members].prod(axis=1) for members in sets]).T
    """),
    ("13.2", "penalty is missing", """
        def my_fit(features, values, ridge):
            return np.linalg.pinv(features) @ values
    """),
    ("13.2", "as if the errors were added up", """
        def my_fit(features, values, ridge):
            m, K = features.shape
            return features.T @ np.linalg.solve(features @ features.T + ridge * np.eye(m), values)
    """),
    ("13.2", "each column by itself", """
        def my_fit(features, values, ridge):
            return np.array([np.mean(column * values) for column in features.T])
    """),
    ("13.3", "holds the training inputs, too", """
        def my_gap(learned, table, shown):
            return np.mean((learned - table) ** 2) - np.mean((learned[shown] - table[shown]) ** 2)
    """),
    ("13.3", "The sign", """
        def my_gap(learned, table, shown):
            hidden = [k for k in range(len(table)) if k not in set(shown)]
            errors = (learned - table) ** 2
            return errors[shown].mean() - errors[hidden].mean()
    """),
    ("13.3", "square roots", """
        def my_gap(learned, table, shown):
            hidden = np.delete(np.arange(len(table)), shown)
            error = lambda some: np.linalg.norm((learned - table)[some]) / len(some) ** 0.5
            return error(hidden) - error(shown)
    """),
    ("13.4", "constant is not among", """
        def my_split(learned, target):
            size = np.array([bin(k).count("1") for k in range(len(target))])
            own = (abs(target) > 1e-9) & (size > 0)
            d, squares = size[own].max(), (learned - target) ** 2
            return np.array([squares[own].sum(), squares[~own & (size <= d)].sum(), squares[~own & (size > d)].sum()])
    """),
    ("13.4", "rounding errors", """
        def my_split(learned, target):
            size = np.array([bin(k).count("1") for k in range(len(target))])
            own, squares = target != 0, (learned - target) ** 2
            own[0], d = True, size[target != 0].max()
            return np.array([squares[own].sum(), squares[~own & (size <= d)].sum(), squares[~own & (size > d)].sum()])
    """),
    ("13.4", "exchanged", """
        def my_split(learned, target):
            found, d = np.zeros(3), max(bin(k).count("1") for k in np.flatnonzero(abs(target) > 1e-9))
            for k, value in enumerate((learned - target) ** 2):
                found[0 if k == 0 or abs(target[k]) > 1e-9 else 1 if bin(k).count("1") > d else 2] += value
            return found
    """),
    ("13.4", "count as above", """
        def my_split(learned, target):
            found, d = np.zeros(3), max(bin(k).count("1") for k in np.flatnonzero(abs(target) > 1e-9))
            for k, value in enumerate((learned - target) ** 2):
                found[0 if k == 0 or abs(target[k]) > 1e-9 else 1 if bin(k).count("1") < d else 2] += value
            return found
    """),
    ("13.5", "without noise is missing", """
        def my_shaken(theta, features, values, sigma):
            return sigma**2 * (features**2).sum(axis=1).mean()
    """),
    ("13.5", "You count the weights", """
        def my_shaken(theta, features, values, sigma):
            return np.mean((features @ theta - values) ** 2) + sigma**2 * len(theta)
    """),
    ("13.5", "by its variance", """
        def my_shaken(theta, features, values, sigma):
            return np.mean((features @ theta - values) ** 2) + sigma * np.mean((features**2).sum(1))
    """),
    ("13.6", "choice of σ is free", """
        def my_promise(noisy, norm2, sigmas, m, C, delta):
            return min(a + C * np.sqrt((norm2 / s**2 + 2 * np.log(1 / delta)) / m) for a, s in zip(noisy, sigmas))
    """),
    ("13.6", "factor 2", """
        def my_promise(noisy, norm2, sigmas, m, C, delta):
            k = len(sigmas)
            return min(a + C * np.sqrt((norm2 / s**2 + np.log(k / delta)) / m) for a, s in zip(noisy, sigmas))
    """),
    ("13.6", "price alone", """
        def my_promise(noisy, norm2, sigmas, m, C, delta):
            return np.min(C * np.sqrt((norm2 / sigmas**2 + 2 * np.log(len(sigmas) / delta)) / m))
    """),
]  # fmt: skip


def my_features(points, masks):
    T = points.shape[1]
    places = cube.index(points)
    return np.array([cube.subset_parity(cube.subset(int(mask)), T)[places] for mask in masks]).T


def my_fit(features, values, ridge):  # as a longer least-squares problem without a penalty
    m, K = features.shape
    rows = np.vstack([features / np.sqrt(m), np.sqrt(ridge) * np.eye(K)])
    return np.linalg.lstsq(rows, np.concatenate([values / np.sqrt(m), np.zeros(K)]), rcond=None)[0]


def my_gap(learned, table, shown):
    given = generalise.Sample(table, shown)
    squares = np.square(learned - table)
    return squares[given.hidden].mean() - squares[given.shown].mean()


def my_split(learned, target):
    return np.array(generalise.split(inverse(learned), inverse(target)))


def my_shaken(theta, features, values, sigma):  # noise ±σ in all weights has the same second moments as a Gaussian
    K = len(theta)
    outputs = (theta + sigma * cube.points(K)) @ features.T
    return float(np.square(outputs - values).mean())


def my_promise(noisy, norm2, sigmas, m, C, delta):
    promises = [pacbayes.semi_analytic(norm2, {s: a}, m=m, C=C, delta=delta, choices=len(sigmas)).value
                for a, s in zip(noisy.tolist(), sigmas.tolist(), strict=True)]  # fmt: skip
    return min(promises)


class TestExercises(ExerciseTests):
    room = "generalise"
    written = WRITTEN
    library = {
        "13.1": my_features,
        "13.2": my_fit,
        "13.3": my_gap,
        "13.4": my_split,
        "13.5": my_shaken,
        "13.6": my_promise,
    }


def test_a_learner_that_looks_for_few_components_beats_the_library_and_a_wrong_shape_is_told():
    def my_learner(lesson):
        masks = np.array([k for k in range(2**lesson.T) if k.bit_count() <= 3])
        shown, whole = (exercises.my_features.solution(points, masks) for points in (lesson.points, cube.points(8)))
        chosen = [0]
        for _ in range(4):  # each time the set that explains most of what is left
            theta = np.linalg.lstsq(shown[:, chosen], lesson.values, rcond=None)[0]
            left = lesson.values - shown[:, chosen] @ theta
            chosen.append(int(np.abs(shown.T @ left).argmax()))
        return whole[:, chosen[:-1]] @ theta

    assert score("13.7", my_learner, seed=3).better("error on hidden inputs") > 0
    assert "256 values" in score("13.7", lambda lesson: np.ones(3)).text
    assert "not made of numbers" in score("13.7", lambda lesson: "table").text


def test_no_lesson_shows_what_it_asks():
    for (lesson,) in exercises._lessons(np.random.default_rng(0)):
        assert len(lesson.points) == 80 and lesson.risk(lesson._table) == 0
        assert np.array_equal(lesson._table[cube.index(lesson.points)], lesson.values)
        learned = lesson._table.copy()
        learned[lesson._shown] += 9
        assert lesson.risk(learned) == 0  # what is shown does not count


def test_the_checks_need_nothing_that_a_page_has_not_got():
    code = "import sys\nfor name in ('scipy', 'torch', 'pandas'): sys.modules[name] = None\n"
    code += "from flatcube.classroom.exercises import check, find, score\n"
    code += "ids = [f'13.{k}' for k in range(1, 7)]\n"
    code += "assert [check(id, find(id).solution).status for id in ids] == ['right'] * 6\n"
    code += "assert [check(id, find(id).mistakes[-1][1]).status for id in ids] == ['wrong'] * 6\n"
    code += "assert 'As good as' in score('13.7', find('13.7').solution, seed=1).verdict"
    subprocess.run([sys.executable, "-c", code], check=True)
