"""Chapter 8's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from flatcube import capacity
from flatcube.capacity import HeadNorms, LayerNorms, NetworkNorms, Norms, covers
from flatcube.classroom.exercises import check, find, score
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("8.1", "You compare functions on average", """
        def my_share(values, chosen, eps):
            hits = 0
            for f in values:
                hits += any(sum(abs(f - values[c])) / len(f) <= eps for c in chosen)
            return hits / len(values)
    """),
    ("8.1", "You count the functions", """
        def my_share(values, chosen, eps):
            return len([f for f in values if any(np.all(np.abs(f - values[c]) <= eps) for c in chosen)])
    """),
    ("8.1", "You ask that all chosen functions be near", """
        def my_share(values, chosen, eps):
            return np.mean([all(np.abs(f - values[c]).max() <= eps for c in chosen) for f in values])
    """),
    ("8.2", "You count one more", """
        def my_corrector(a, inputs, eps):
            step, u, count = eps / max(x @ x for x in inputs), np.zeros(len(a)), 1
            while max(abs(inputs @ (a - u))) > eps:
                gaps = inputs @ (a - u)
                i = np.argmax(abs(gaps))
                u = u + step * inputs[i] if gaps[i] > 0 else u - step * inputs[i]
                count += 1
            return count
    """),
    ("8.2", "You close the gap completely", """
        def my_corrector(a, inputs, eps):
            u = np.zeros(len(a))
            for count in range(10_000):
                gaps = inputs @ (a - u)
                i = np.abs(gaps).argmax()
                if abs(gaps[i]) <= eps:
                    return count
                u += gaps[i] * inputs[i] / (inputs[i] @ inputs[i])
    """),
    ("8.2", "what the theorem allows", """
        def my_corrector(a, inputs, eps):
            longest = max(np.linalg.norm(x) for x in inputs)
            return np.floor((np.linalg.norm(a) * longest / eps) ** 2)
    """),
    ("8.3", "every matrix the same error", """
        def my_split(sizes, reaches, eps):
            return [eps / sum(reaches) for _ in sizes]
    """),
    ("8.3", "in proportion to the sizes", """
        def my_split(sizes, reaches, eps):
            return np.array([eps * size / np.dot(sizes, reaches) for size in sizes])
    """),
    ("8.3", "You forgot the factor", """
        def my_split(sizes, reaches, eps):
            return (sizes * sizes / reaches) ** (1 / 3)
    """),
    ("8.4", "as printed. They have already done", """
        def my_reaches(stretches, readout):
            found, product = [], readout
            for s in stretches:
                found.append(product)
                product *= s
            return found
    """),
    ("8.4", "The read-out is missing", """
        def my_reaches(stretches, readout):
            return [np.prod(stretches) / np.prod(stretches[: i + 1]) for i in range(len(stretches))]
    """),
    ("8.4", "stretch its own error", """
        def my_reaches(stretches, readout):
            found, product = [], readout
            for s in reversed(stretches):
                product *= s
                found.insert(0, product)
            return found
    """),
    ("8.5", "by the blocks before it", """
        def my_bound(norms, sizes, readout, eps, points):
            total, alpha = readout ** (2 / 3), readout
            for (W, V, G), (w, v, o) in zip(norms, sizes):
                total += (w * V * G * alpha) ** (2 / 3) + (v * G * alpha) ** (2 / 3) + (o * alpha) ** (2 / 3)
                alpha *= G * V * (1 + 2 * W)
            return total**3 / eps**2 * np.log(2 * points + 1)
    """),
    ("8.5", "a part with reach 1 is missing", """
        def my_bound(norms, sizes, readout, eps, points):
            total, alpha = 0, readout
            for (W, V, G), (w, v, o) in reversed(list(zip(norms, sizes))):
                total += (w * V * G * alpha) ** (2 / 3) + (v * G * alpha) ** (2 / 3) + (o * alpha) ** (2 / 3)
                alpha *= G * V * (1 + 2 * W)
            return total**3 / eps**2 * np.log(2 * points + 1)
    """),
    ("8.5", "number of corrections", """
        def my_bound(norms, sizes, readout, eps, points):
            total, alpha = readout ** (2 / 3), readout
            for (W, V, G), (w, v, o) in reversed(list(zip(norms, sizes))):
                total += (w * V * G * alpha) ** (2 / 3) + (v * G * alpha) ** (2 / 3) + (o * alpha) ** (2 / 3)
                alpha *= G * V * (1 + 2 * W)
            return total**3 / eps**2
    """),
    ("8.6", "Right as long as", """
        def my_promise(capacity, m, ceiling):
            root = (capacity / m) ** 0.5
            return 12 * root * (1 + np.log(ceiling / root / 3))
    """),
    ("8.6", "the integral is missing", """
        def my_promise(capacity, m, ceiling):
            return 4 * ceiling if 9 * capacity > m * ceiling**2 else 12 * np.sqrt(capacity / m)
    """),
    ("8.6", "You stop at 1/√m", """
        def my_promise(capacity, m, ceiling):
            return 4 * m**-0.5 + 12 * np.sqrt(capacity / m) * (np.log(ceiling) + np.log(m) / 2)
    """),
    ("8.7", "one after the other", """
        def my_razor(T, d, w, delta):
            from math import ceil, comb, log

            return ceil(4 * (w * log(comb(T, d)) + w * log(16) - log(delta)))
    """),
    ("8.7", "The weights are missing", """
        def my_razor(T, d, w, delta):
            from math import comb

            return int(np.ceil(4 * np.log(comb(comb(T, d), w) / delta)))
    """),
    ("8.7", "logarithms to base 2", """
        def my_razor(T, d, w, delta):
            from math import comb

            return int(np.ceil(4 * (np.log2(float(comb(comb(T, d), w))) + 4 * w - np.log2(delta))))
    """),
]


def my_share(values, chosen, eps):
    return (covers.distances(values)[:, chosen].min(axis=1) <= eps).mean()


def my_corrector(a, inputs, eps):
    found = covers.correct(a, inputs, eps)  # the same unless it has to project u back
    free, step = np.zeros(len(a)), eps / np.square(inputs).sum(axis=1).max()
    steps = 0
    while np.abs(inputs @ (a - free)).max() > eps:
        i = np.abs(inputs @ (a - free)).argmax()
        free, steps = free + step * np.sign(inputs[i] @ (a - free)) * inputs[i], steps + 1
    assert max(steps, len(found.steps)) <= covers.linear(np.linalg.norm(a), np.sqrt(eps / step), eps, 1) / np.log(3)
    return steps


def my_split(*arguments):
    return covers.split(*arguments)[0]


def network(norms, sizes, readout, T=1):
    layers = tuple(
        LayerNorms((HeadNorms(Norms(W, W, 1, w), Norms(V, V, 1, v)),), Norms(G, G, 1, o))
        for (W, V, G), (w, v, o) in zip(norms, sizes, strict=True)
    )
    return NetworkNorms(layers, Norms(readout, readout, 1), T)


def my_reaches(stretches, readout):
    norms = np.array([(0.0, s, 1.0) for s in stretches])
    reaches = capacity.cover(network(norms, norms, readout)).reaches
    return [reaches[f"layer {i} output"] for i in range(1, len(stretches) + 1)]


def my_bound(norms, sizes, readout, eps, points):
    return capacity.cover(network(norms, sizes, readout, T=points), "explicit").log_number(eps, 1).value


def my_promise(C, m, A):
    return capacity.chaining(C, m=m, ceiling=A, start=4, slope=12)


def my_razor(T, d, w, delta):
    return int(np.ceil(capacity.samples_needed(lambda m: capacity.occam(T, d, w, m=m, delta=delta)) - 1e-6))


class TestExercises(ExerciseTests):
    room = "capacity"
    written = WRITTEN
    library = {
        "8.1": my_share,
        "8.2": my_corrector,
        "8.3": my_split,
        "8.4": my_reaches,
        "8.5": my_bound,
        "8.6": my_promise,
        "8.7": my_razor,
    }


def test_within_means_at_most():
    """An answer with < in place of ≤ is told so, on every draw."""

    def strictly(values, chosen, eps):
        return (covers.distances(values)[:, chosen].min(axis=1) < eps).mean()

    for _ in range(10):
        answer = check("8.1", strictly)
        assert answer.status == "wrong" and "exactly ε" in answer.text


def test_a_minimiser_is_right_and_a_coarse_one_is_told_so():
    def split(sizes, reaches, eps):
        """Logarithms of all errors but the last, relative to it, by a general search."""

        def errors(logs):
            raw = np.exp(np.append(logs, 0))
            return eps * raw / (reaches @ raw)

        start = np.zeros(len(sizes) - 1)
        found = minimize(lambda logs: np.log(np.sum((sizes / errors(logs)) ** 2)), start, options={"gtol": 1e-10})
        return errors(found.x)

    def promise(tolerance):
        def my_promise(C, m, A):
            def bound(finest):
                return 4 * finest + 12 * np.sqrt(C / m) * np.log(A / finest)

            return minimize_scalar(bound, bounds=(1e-9, A), method="bounded", options={"xatol": tolerance}).fun

        return my_promise

    assert check("8.3", split).status == check("8.6", promise(1e-10)).status == "right"
    coarse = check("8.6", promise(1e-5))  # the best scale is the ceiling itself, at the edge of what is searched
    assert coarse.status == "wrong" and "not exact enough: the check asks for six digits" in coarse.text


def test_a_shorter_list_is_found_by_looking_back_and_a_short_one_that_misses_functions_is_no_cover():
    def revised(values, eps):
        """The greedy list without those members that the others make needless."""
        chosen, near = list(covers.greedy(values, eps)), covers.distances(values) <= eps + 1e-12
        for one in sorted(chosen, key=lambda k: near[k].sum()):
            rest = [k for k in chosen if k != one]
            chosen = rest if near[:, rest].any(axis=1).all() else chosen
        return chosen

    board = score("8.8", revised, seed=3)
    (rows,) = board.rows.values()
    assert (rows[0] <= rows[1]).all() and rows[0].mean() < rows[1].mean() < rows[2].mean()
    (rows,) = score("8.8", lambda values, eps: [0, 1], seed=3).rows.values()
    assert (rows[0] == 150).all()
    assert "row numbers go from 0 to 149" in str(score("8.8", lambda values, eps: [0, 150]))
    assert "expected a list of row numbers" in str(score("8.8", lambda values, eps: 0.5))


def test_the_answer_to_the_open_exercise_runs_on_what_the_page_imports():
    scope = {"capacity": capacity, "np": np}
    exec(find("8.8").code(), scope)
    (rows,) = score("8.8", scope["my_list"], seed=3).rows.values()
    assert (rows[0] == rows[1]).all()
