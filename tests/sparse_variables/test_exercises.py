"""Chapter 5's exercises: wrong answers as readers write them, the library's answers, and the open exercise."""

import numpy as np
import pytest
import torch

from flatcube import networks, sparse_variables
from flatcube.classroom.exercises import find, score
from flatcube.sparse_variables import exercises, scales
from flatcube.sparse_variables import tables as lookup
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("5.1", "the transpose", """
        def my_question(P, chosen, R):
            W = np.zeros((len(P), len(P)))
            for i in chosen:
                W += R * np.outer(P[i - 1], P[-1])
            return W
    """),
    ("5.1", "the full logit", """
        def my_question(P, chosen, R):
            key = np.mean([P[i - 1] for i in chosen], axis=0)
            return R * P[-1][:, None] @ key[None]
    """),
    ("5.1", "if the rows of P were unit vectors", """
        def my_question(P, chosen, R):
            W = np.zeros(P.shape)
            W[-1, [i - 1 for i in chosen]] = R
            return W
    """),
    ("5.2", "do not add up to 1", """
        def my_head(X, W, value):
            logits = X[-1] @ W @ X.T
            return sum(np.exp(logit) * (x @ value) for logit, x in zip(logits, X))
    """),
    ("5.2", "weigh with the logits", """
        def my_head(X, W, value):
            logits = X[-1] @ W @ X.T
            return logits @ (X @ value)
    """),
    ("5.2", "leave the last row out", """
        def my_head(X, W, value):
            logits = (X[-1] @ W @ X.T)[:-1]
            a = np.exp(logits) / np.exp(logits).sum()
            return a @ (X[:-1] @ value)
    """),
    ("5.2", "divide the logits by √D", """
        def my_head(X, W, value):
            logits = X[-1] @ W @ X.T / len(W) ** 0.5
            return np.exp(logits) / np.exp(logits).sum() @ X @ value
    """),
    ("5.3", "only what leaks", """
        def my_worst_error(weights, chosen):
            return sum(w for t, w in enumerate(weights[:-1], 1) if t not in chosen)
    """),
    ("5.3", "all be equal", """
        def my_worst_error(weights, chosen):
            bits = weights[:-1]
            inside = sum(bits[i - 1] for i in chosen)
            return 1 - inside + bits.sum() - inside
    """),
    ("5.3", "only the chosen bits", """
        def my_worst_error(weights, chosen):
            return sum(abs(weights[i - 1] - 1 / len(chosen)) for i in chosen)
    """),
    ("5.4", "compare all pairs", """
        def my_gap(signals, values):
            n = len(values)
            return min(max(abs(signals[i] - signals[j])) for i in range(n) for j in range(i))
    """),
    ("5.4", "Euclidean", """
        def my_gap(signals, values):
            n = len(values)
            pairs = [(i, j) for i in range(n) for j in range(n) if values[i] != values[j]]
            return min(np.linalg.norm(signals[i] - signals[j]) for i, j in pairs)
    """),
    ("5.4", "add up the differences", """
        def my_gap(signals, values):
            n = len(values)
            pairs = [(i, j) for i in range(n) for j in range(n) if values[i] != values[j]]
            return min(np.linalg.norm(signals[i] - signals[j], 1) for i, j in pairs)
    """),
    ("5.4", "compared with itself", """
        def my_gap(signals, values):
            return min(np.abs(a - b).max() for a in signals for b in signals)
    """),
    ("5.5", "without plateaus", """
        def my_gate(x, levels, values, delta):
            out = np.full(len(x), values[0])
            for i in range(len(levels) - 1):
                slope = (values[i + 1] - values[i]) / (levels[i + 1] - levels[i])
                out += slope * (np.maximum(x - levels[i], 0) - np.maximum(x - levels[i + 1], 0))
            return out
    """),
    ("5.5", "Nothing stops the climb", """
        def my_gate(x, levels, values, delta):
            out = np.full(len(x), values[0])
            for i in range(len(levels) - 1):
                width = levels[i + 1] - levels[i] - 2 * delta
                out += np.maximum(x - levels[i] - delta, 0) * (values[i + 1] - values[i]) / width
            return out
    """),
    ("5.5", "These are bumps", """
        def my_gate(x, levels, values, delta):
            out = np.zeros(len(x))
            for level, value in zip(levels, values):
                t = (x - level) / delta
                out += value * sum(c * np.maximum(t - k, 0) for k, c in ((-2, 1), (-1, -1), (1, -1), (2, 1)))
            return out
    """),
    ("5.6", "look the count up", """
        def my_network(bits, chosen, values, R):
            return np.array([values[sum(b[i - 1] for i in chosen)] for b in bits])
    """),
    ("5.6", "upside down", """
        def my_network(bits, chosen, values, R):
            e = np.ones(bits.shape[1] + 1)
            e[np.array(chosen) - 1] = np.exp(R)
            x = (1 - 2 * bits) @ (e / e.sum())[:-1]
            s = len(chosen)
            levels = np.array([-1 + 2 * k / s for k in range(s + 1)])
            xs = [y for level in levels for y in (level - 0.5 / s, level + 0.5 / s)]
            return np.interp(x, xs, [v for value in values for v in (value, value)])
    """),
    ("5.6", "reach γ/8", """
        def my_network(bits, chosen, values, R):
            e = np.ones(bits.shape[1] + 1)
            e[np.array(chosen) - 1] = np.exp(R)
            x, s = (1 - 2 * bits) @ (e / e.sum())[:-1], len(chosen)
            levels = np.array([-1 + 2 * k / s for k in range(s + 1)])
            xs = [y for level in levels for y in (level - 0.25 / s, level + 0.25 / s)]
            return np.interp(x, xs, [v for value in values[::-1] for v in (value, value)])
    """),
    ("5.6", "[CLS] is missing", """
        def my_network(bits, chosen, values, R):
            e = np.ones(bits.shape[1])
            e[np.array(chosen) - 1] = np.exp(R)
            x, s = (1 - 2 * bits) @ (e / e.sum()), len(chosen)
            levels = np.array([-1 + 2 * k / s for k in range(s + 1)])
            xs = [y for level in levels for y in (level - 0.5 / s, level + 0.5 / s)]
            return np.interp(x, xs, [v for value in values[::-1] for v in (value, value)])
    """),
]


def my_question(P, chosen, R):
    """The logits that are wanted, in the basis of the positions, carried back to the channels."""
    logits = np.zeros(P.shape)
    logits[-1, np.array(chosen) - 1] = R
    return np.linalg.inv(P) @ logits @ np.linalg.inv(P.T)


def my_head(X, W, value):
    head = networks.Head(*(torch.tensor(part) for part in (W, value[:, None])))
    return head(torch.tensor(X))[-1].item()


def my_worst_error(weights, chosen):
    """Over all inputs, one by one."""
    signs = 1 - 2 * ((np.arange(2 ** (len(weights) - 1))[:, None] >> np.arange(len(weights) - 1)) & 1)
    return np.abs(signs @ weights[:-1] - signs[:, np.array(chosen) - 1].mean(axis=1)).max()


def my_gap(signals, values):
    return min(
        sparse_variables.distance(a, b)
        for a, f in zip(signals, values, strict=True) for b, g in zip(signals, values, strict=True) if f != g
    )  # fmt: skip


def my_gate(x, levels, values, delta):
    """By ramps of the room's own."""
    climbs = zip(levels[1:] - delta, np.diff(levels) - 2 * delta, np.diff(values), strict=True)
    return values[0] + sum(height * lookup.ramp(x - stop, width) for stop, width, height in climbs)


def my_network(bits, chosen, values, R):
    head = sparse_variables.Selector(bits.shape[1], chosen, scale=R)
    delta = 1 / (2 * head.s)
    return my_gate(head.signal(bits)[:, 0], np.linspace(-1, 1, head.s + 1), np.asarray(values)[::-1], delta)


class TestExercises(ExerciseTests):
    room = "sparse_variables"
    written = WRITTEN
    signed = ("5.2",)
    library = {
        "5.1": my_question,
        "5.2": my_head,
        "5.3": my_worst_error,
        "5.4": my_gap,
        "5.5": my_gate,
        "5.6": my_network,
    }


# --- the open exercise ------------------------------------------------------------------------------------------------


def by_the_library(T, chosen, **rest):
    """The same network out of the room's own parts."""
    selector = sparse_variables.Selector(T, tuple(chosen), **rest)
    model = sparse_variables.represent(selector, [1, -1, 1, -1], layers=2 if rest else 3)
    mlp = model.layers[0].mlp
    (head,) = selector.matrices()
    weights = [part.detach().numpy() for part in mlp.weights]
    biases = [np.zeros(part.shape[1]) if bias is None else bias.detach().numpy() for part, bias in
              zip(weights, mlp.biases, strict=True)]  # fmt: skip
    matrices = {name: head[key].numpy() for name, key in (("query", "W_Q"), ("key", "W_K"), ("value", "W_V"))}
    return matrices | {"mlp": list(zip(weights, biases, strict=True))}


def test_the_open_exercise_measures_the_room_s_own_networks():
    R = scales.smallest_scale(10, 3, 1 / 6)
    least = score("5.7", lambda T, chosen: by_the_library(T, chosen, scale=R), seed=3).rows
    proofs = score("5.7", by_the_library, seed=3).rows
    for rows, like in ((least, 1), (proofs, 2)):
        assert rows["squared norm"][0] == pytest.approx(rows["squared norm"][like])
        assert (rows["largest error"] == 0).all()
    total = sparse_variables.lookup_norms([1, 1 / 3, -1 / 3, -1], [1, -1, 1, -1], 1 / 6)
    head = np.log(8 * 10 * 3 / 2) ** 2 + 3 + 2
    assert proofs["squared norm"][0] == pytest.approx(head + sum(total.values()))


def test_what_readers_find_in_the_open_exercise_is_better():
    """Two ReLUs for each step, and factors that are shared between the layers."""

    def found(T, chosen):
        net = find("5.7").solution(T, chosen)
        R = net["query"].max()
        factor = np.sqrt(np.sqrt(3) / R)
        starts, slopes = np.array([-5 / 6, -1 / 6, 1 / 2]), np.array([6.0, -6, 6])
        first, second = np.full((1, 6), 2.0), np.append(slopes, -slopes)[:, None] / 2
        mlp = [(first, -2 * np.append(starts, starts + 1 / 3)), (second, np.array([-1.0]))]
        return net | {"query": net["query"] * factor, "key": net["key"] / factor, "mlp": mlp}

    board = score("5.7", found, seed=4)
    assert board.verdict.startswith("Better than the library.")
    assert board.rows["squared norm"][0].mean() < board.rows["squared norm"][1].mean() / 5


def test_a_small_network_that_is_wrong_gains_nothing():
    def idle(T, chosen):
        net = find("5.7").solution(T, chosen)
        return net | {"mlp": [(np.zeros((1, 1)), np.ones(1))]}

    assert "Not clearly better than guessing in largest error" in score("5.7", idle, seed=5).verdict


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (lambda net: 3, "give a dictionary with the entries query, key, value and mlp"),
        (lambda net: {"query": 1}, "give a dictionary with the entries"),
        (lambda net: net | {"mlp": 5}, "every entry must be an array of numbers"),
        (lambda net: net | {"key": np.zeros((12, 1))}, "need T + 3 = 13 rows, got shapes (13, 1), (12, 1)"),
        (lambda net: net | {"mlp": [(np.zeros((2, 1)), np.zeros(1))]}, "a layer of the mlp takes 1 numbers here"),
        (lambda net: net | {"mlp": [(np.zeros((1, 2)), np.zeros(2))]}, "has to give one number"),
        (lambda net: net | {"mlp": []}, "has to give one number"),
    ],
)
def test_a_misshapen_network_gets_one_sentence(change, phrase):
    said = score("5.7", lambda T, chosen: change(find("5.7").solution(T, chosen)), seed=6)
    assert said.status == "unfit" and phrase in said.text


def test_the_noise_is_the_same_for_all_and_more_of_it_never_helps():
    net = find("5.7").solution(10, [2, 5, 7])
    assert exercises._noise_survived(net, 10, [2, 5, 7]) == exercises._noise_survived(net, 10, [2, 5, 7]) > 0
    (first, bias), (second, last) = net["mlp"]
    wide = net | {"mlp": [(10 * first, 10 * bias), (second / 10, last)]}
    assert exercises._largest_error(wide, 10, [2, 5, 7]) == 0  # the same function, with another norm
    assert exercises._squared_norm(wide, 10, [2, 5, 7]) > exercises._squared_norm(net, 10, [2, 5, 7])
