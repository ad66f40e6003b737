"""Chapter 7's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np
import pytest
import torch

from flatcube import blowup, networks
from flatcube.blowup import exercises
from flatcube.classroom.exercises import score
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("7.1", "The 1 is missing", """
        def my_blowup(entering, eps):
            result = 1
            for norm in entering:
                result *= max((np.mean((v - v.mean()) ** 2) + eps) ** -0.5 for v in norm)
            return result
    """),
    ("7.1", "You average over positions", """
        def my_blowup(entering, eps):
            return np.prod(1 + (1 / np.sqrt(entering.var(-1) + eps)).mean(axis=-1))
    """),
    ("7.1", "that is RMS norm", """
        def my_blowup(entering, eps):
            return np.prod([1 + max(1 / np.sqrt(np.mean(v * v) + eps) for v in norm) for norm in entering])
    """),
    ("7.1", "You add ε to the standard deviation", """
        def my_blowup(entering, eps):
            return np.prod([1 + max(1 / (v.std() + eps) for v in norm) for norm in entering])
    """),
    ("7.2", "the changes of the logits", """
        def my_row(before, after):
            return sum(abs(a - b) for a, b in zip(before, after))
    """),
    ("7.2", "half of it", """
        def my_row(before, after):
            a, b = (np.exp(l) / np.exp(l).sum() for l in (before, after))
            return np.maximum(b - a, 0).sum()
    """),
    ("7.2", "Signs cancel", """
        def my_row(before, after):
            a, b = (np.exp(l) / np.exp(l).sum() for l in (before, after))
            return round((a - b).sum(), 9)
    """),
    ("7.3", "an average of the movements", """
        def my_routes(a, b, v, w):
            values = sum(np.sqrt(np.sum((x - y) ** 2)) for x, y in zip(v, w))
            return np.array([values, max(np.linalg.norm(y) for y in w) * np.abs(a - b).sum()])
    """),
    ("7.3", "do not fit together", """
        def my_routes(a, b, v, w):
            values = sum(p * np.linalg.norm(x - y) for p, x, y in zip(a, v, w))
            return [values, max(np.linalg.norm(x) for x in v) * np.abs(b - a).sum()]
    """),
    ("7.3", "you have exchanged before and after", """
        def my_routes(a, b, v, w):
            values = sum(p * np.linalg.norm(x - y) for p, x, y in zip(b, v, w))
            return [values, max(np.linalg.norm(x) for x in v) * np.abs(b - a).sum()]
    """),
    ("7.3", "the values are missing", """
        def my_routes(a, b, v, w):
            return np.array([np.dot(a, np.sqrt(((v - w) ** 2).sum(1))), sum(abs(a - b))])
    """),
    ("7.3", "True, and a smaller bound", """
        def my_routes(a, b, v, w):
            values = sum(p * np.linalg.norm(x - y) for p, x, y in zip(a, v, w))
            return [values, sum(abs(p - q) * np.linalg.norm(y) for p, q, y in zip(a, b, w))]
    """),
    ("7.4", "The mean is not subtracted", """
        def my_norm(y, z, eps):
            a, b = (v / np.sqrt(np.mean((v - v.mean()) ** 2) + eps) for v in (y, z))
            most = 1 / np.sqrt(np.sqrt(y.var() + eps) * np.sqrt(z.var() + eps))
            return np.array([np.linalg.norm(a - b) / np.linalg.norm(y - z), most])
    """),
    ("7.4", "you have their product", """
        def my_norm(y, z, eps):
            N, M = (1 / np.sqrt(v.var() + eps) for v in (y, z))
            return [np.linalg.norm((y - y.mean()) * N - (z - z.mean()) * M) / np.linalg.norm(y - z), N * M]
    """),
    ("7.4", "not the larger of them", """
        def my_norm(y, z, eps):
            N, M = (1 / np.sqrt(v.var() + eps) for v in (y, z))
            return [np.linalg.norm((y - y.mean()) * N - (z - z.mean()) * M) / np.linalg.norm(y - z), max(N, M)]
    """),
    ("7.5", "The norm is missing on the way", """
        def my_tracer(x, y, layers, eps):
            found = []
            for W, V in layers:
                rows = [np.exp(z @ W @ z.T) for z in (x, y)]
                a, b = (r / r.sum(1, keepdims=True) for r in rows)
                v, w = x @ V, y @ V
                x, y = a @ v, b @ w
                N, M = (1 / np.sqrt(z[-1].var() + eps) for z in (x, y))
                weights = np.linalg.norm(w, axis=1).max() * np.abs(a[-1] - b[-1]).sum()
                values = a[-1] @ np.linalg.norm(v - w, axis=1)
                found.append([values, weights, (N * M) ** 0.5, np.linalg.norm(x[-1] - y[-1])])
            return np.array(found)
    """),
    ("7.5", "starts again from the first activations", """
        def my_tracer(x, y, layers, eps):
            found = []
            for W, V in layers:
                a, b = (np.exp(z @ W @ z.T) for z in (x, y))
                a, b = a / a.sum(1, keepdims=True), b / b.sum(1, keepdims=True)
                v, w = x @ V, y @ V
                p, q = (a @ v)[-1], (b @ w)[-1]
                N, M = (1 / np.sqrt(z.var() + eps) for z in (p, q))
                weights = np.linalg.norm(w, axis=1).max() * np.abs(a[-1] - b[-1]).sum()
                values = a[-1] @ np.linalg.norm(v - w, axis=1)
                moved = np.linalg.norm((p - p.mean()) * N - (q - q.mean()) * M)
                found.append([values, weights, (N * M) ** 0.5, moved])
            return np.array(found)
    """),
    ("7.5", "Queries and keys are swapped", """
        def my_tracer(x, y, layers, eps):
            found = []
            for W, V in layers:
                a, b = (np.exp(z @ W @ z.T).T for z in (x, y))
                a, b = a / a.sum(1, keepdims=True), b / b.sum(1, keepdims=True)
                v, w = x @ V, y @ V
                x, y = a @ v, b @ w
                N, M = (1 / np.sqrt(z.var(axis=1) + eps) for z in (x, y))
                x = (x - x.mean(1, keepdims=True)) * N[:, None]
                y = (y - y.mean(1, keepdims=True)) * M[:, None]
                weights = np.linalg.norm(w, axis=1).max() * np.abs(a[-1] - b[-1]).sum()
                values = a[-1] @ np.linalg.norm(v - w, axis=1)
                found.append([values, weights, (N[-1] * M[-1]) ** 0.5, np.linalg.norm(x[-1] - y[-1])])
            return np.array(found)
    """),
    ("7.6", "Two terms", """
        def bites(C, B):
            return next(n for n in range(3, 10**6) if C * B**2 * np.sqrt(n * np.log(n)) < n)
    """),
    ("7.6", "Blowup stands squared", """
        def bites(C, B):
            return next(n for n in range(3, 10**6) if 2 * C * B * np.sqrt(n * np.log(n)) < n)
    """),
    ("7.6", "one less than", """
        def bites(C, B):
            n = 3
            while 2 * C * B**2 * np.sqrt((n + 1) * np.log(n + 1)) >= n + 1:
                n += 1
            return n
    """),
]


def my_blowup(entering, eps):
    given = torch.from_numpy(entering)
    return float(blowup.Blowup({str(k): networks.Norm(eps).factor(y)[None, :, 0] for k, y in enumerate(given)}).value)


def my_row(before, after):
    weights = [torch.from_numpy(logits).softmax(0) for logits in (before, after)]
    return float((weights[0] - weights[1]).abs().sum())


def my_routes(a, b, v, w):
    values = sum(p * np.linalg.norm(x - y) for p, x, y in zip(a, v, w, strict=True))
    longest = max(float(np.linalg.norm(y)) for y in w)
    return np.array([values, sum(longest * abs(p - q) for p, q in zip(a, b, strict=True))])


def my_norm(*arguments):
    y, z, eps = (torch.as_tensor(part) for part in arguments)
    norm = networks.Norm(float(eps))
    gap, here, there = (y - z).norm(), norm.factor(y)[0], norm.factor(z)[0]
    most = blowup.sharp_norm_bound(gap, here, there).exp() / gap
    return np.array([float((norm(y) - norm(z)).norm() / gap), float(most)])


@torch.no_grad()
def my_tracer(x, y, layers, eps):
    """By the layers of the book's networks, on both inputs at once."""
    found, both = [], torch.from_numpy(np.stack([x, y]))
    for head in (networks.Head(*torch.from_numpy(layer)) for layer in layers):
        layer = networks.Layer([head], norm=networks.Norm(eps))
        seen = layer.activations(both)
        values, rows, factor = both @ head.value, seen["attention.0"][:, -1], seen["factor"][:, -1, 0]
        moved = (values[0] - values[1]).norm(dim=-1)
        found.append([
            float(rows[0] @ moved),
            float(values[1].norm(dim=-1).max() * (rows[0] - rows[1]).abs().sum()),
            float((factor[0] * factor[1]).sqrt()),
            float((seen["output"][0, -1] - seen["output"][1, -1]).norm()),
        ])  # fmt: skip
        both = seen["output"]
    return np.array(found)


def bites(C, B):
    return int(np.ceil(10 ** blowup.bites_from(np.log(C), np.log(B)) - 1e-6))


class TestExercises(ExerciseTests):
    room = "blowup"
    written = WRITTEN
    library = {
        "7.1": my_blowup, "7.2": my_row, "7.3": my_routes, "7.4": my_norm, "7.5": my_tracer, "7.6": bites,
    }  # fmt: skip


def test_the_library_s_leash_never_breaks_and_the_worst_case_is_the_shortest():
    rng = np.random.default_rng(0)
    for weights, radii in exercises._leashes(rng):
        farthest = exercises._farthest(weights, radii)
        most = exercises.leash.solution(weights, radii)
        assert farthest <= most == pytest.approx(blowup.softmax_bound(np.zeros(2), radii.max() * np.array([1, -1])))
        signs = rng.choice([-1, 1], (200, 10))
        moved = weights * np.exp(signs * radii)
        truth = np.abs(moved / moved.sum(axis=1, keepdims=True) - weights).sum(axis=1)
        assert (truth <= farthest + 1e-12).all()
    best = score("7.7", exercises._farthest, seed=1)
    assert best.better("leash (2 where it broke)") == 1 and best.rows["broken"].max() == 0


def test_a_leash_that_is_too_short_breaks():
    board = score("7.7", lambda weights, radii: 0.0, seed=1)
    assert board.rows["broken"][0].min() == 1 and board.rows["leash (2 where it broke)"][0].mean() == pytest.approx(2)
