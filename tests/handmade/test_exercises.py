"""Chapter 4's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np
import torch

from flatcube import cube, fourier, handmade, networks
from flatcube.classroom.exercises import find, score
from flatcube.handmade import exercises
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("4.1", "Your columns add up to one", """
        def my_head(X, W, V, mask):
            weights = np.exp(X @ W @ X.T + mask)
            weights = weights / weights.sum(axis=0)
            return weights @ (X @ V)
    """),
    ("4.1", "an array of sums is laid along the rows", """
        def my_head(X, W, V, mask):
            weights = np.exp(X @ W @ X.T + mask)
            sums = np.array([sum(row) for row in weights])
            return (weights / sums) @ (X @ V)
    """),
    ("4.1", "Queries and keys are exchanged", """
        def my_head(X, W, V, mask):
            queries, keys = X, X @ W
            logits = (keys @ queries.T).T + mask
            weights = np.exp(logits) / np.exp(logits).sum(axis=1)[:, None]
            return weights @ X @ V
    """),
    ("4.1", "the mask is not used", """
        def my_head(X, W, V, mask):
            rows = []
            for query in X @ W:
                weights = np.array([np.exp(query @ key) for key in X])
                rows.append(weights @ X @ V / weights.sum())
            return np.array(rows)
    """),
    ("4.1", "Close them before", """
        def my_head(X, W, V, mask):
            weights = np.exp(X @ W @ X.T)
            weights /= weights.sum(axis=1, keepdims=True)
            weights[mask < 0] = 0
            return weights @ X @ V
    """),
    ("4.2", "counts once only", """
        def my_reader(subsets, T, beta):
            W = np.zeros((T + 2, T + 2))
            for i, S in enumerate(subsets):
                W[i, [j - 1 for j in S]] = beta
                if len(S) < max(map(len, subsets)):
                    W[i, T] = beta
            return W
    """),
    ("4.2", "multiply the logit", """
        def my_reader(subsets, T, beta):
            W = np.zeros((T + 2, T + 2))
            d = max(len(S) for S in subsets)
            for i, S in enumerate(subsets):
                for j in list(S) + [T + 1] * (d - len(S)):
                    W[i, j - 1] += beta
            return W
    """),
    ("4.2", "not padded", """
        def my_reader(subsets, T, beta):
            rows = [*subsets, *[()] * (T + 2 - len(subsets))]
            return [[beta if j in S else 0 for j in range(1, T + 3)] for S in rows]
    """),
    ("4.2", "one column too far", """
        def my_reader(subsets, T, beta):
            W, d = np.zeros((T + 2, T + 2)), max(map(len, subsets))
            for i, S in enumerate(subsets):
                for j in S:
                    W[i, j] = beta
                if d > len(S):
                    W[i, T] = np.log((d - len(S)) * np.exp(beta))
            return W
    """),
    ("4.3", "These are the kinks", """
        def my_wave(d):
            kinks, slopes = [], []
            for k in range(0, d + 1, 2):
                kinks += [(k - 0.5) / d, (k - 0.25) / d, (k + 0.25) / d, (k + 0.5) / d]
                slopes += [4 * d, -4 * d, -4 * d, 4 * d]
            return np.array([kinks, slopes])
    """),
    ("4.3", "not the height", """
        def my_wave(d):
            kinks = [(k + at) / d for k in range(0, d + 1, 2) for at in (-1 / 2, -1 / 4, 1 / 4, 1 / 2)]
            return [[-a for a in kinks], [1, -1, -1, 1] * (len(kinks) // 4)]
    """),
    ("4.3", "after the plateau it climbs again", """
        def my_wave(d):
            kinks = [(k + at) / d for k in range(0, d + 1, 2) for at in (-1 / 2, -1 / 4, 1 / 4, 1 / 2)]
            return [[-a for a in kinks], [4 * d * (-1) ** h for h in range(len(kinks))]]
    """),
    ("4.3", "these units are dead", """
        def my_wave(d):
            kinks = [(k + at) / d for k in range(d + 1) for at in (-1 / 2, -1 / 4, 1 / 4, 1 / 2)]
            slopes = [4 * d * sign * (k % 2 == 0) for k in range(d + 1) for sign in (1, -1, -1, 1)]
            return [[-a for a in kinks], slopes]
    """),
    ("4.4", "Bare logarithms", """
        def my_mixer(weights, T, tau):
            return [np.log(weights[i]) if i < len(weights) else 0 for i in range(T + 1)]
    """),
    ("4.4", "You lift by e^γ", """
        def my_mixer(weights, T, tau):
            logits = np.zeros(T + 1)
            logits[: len(weights)] = np.log(weights) + (T + 1 - len(weights)) / tau
            return logits
    """),
    ("4.4", "it looks at itself, too", """
        def my_mixer(weights, T, tau):
            others = T - len(weights)
            return np.r_[np.log(weights * others / tau), np.zeros(others + 1)]
    """),
    ("4.4", "as for a single other position", """
        def my_mixer(weights, T, tau):
            return [*np.log(weights / tau), *[0] * (T + 1 - len(weights))]
    """),
    ("4.5", "is there a formula in it", """
        def my_network(x, components, beta):
            total = np.zeros(len(x))
            for S, weight in components:
                signs = np.prod([1 - 2 * np.round(x[:, j - 1]) for j in S], axis=0)
                total += weight * (1 + signs) / 2
            return total
    """),
    ("4.5", "not padded", """
        def my_network(x, components, beta):
            T, d = x.shape[1], max(len(S) for S, _ in components)
            bits, total = np.c_[x, np.zeros(len(x))], 0
            for S, weight in components:
                scores = np.array([np.exp(beta) if j in S else 1 for j in range(1, T + 2)])
                a = bits @ scores / scores.sum()
                wave = sum(np.clip(2 - 4 * d * np.abs(a - k / d), 0, 1) for k in range(0, d + 1, 2))
                total = total + weight * wave
            return total
    """),
    ("4.5", "enter with a plus sign", """
        def my_network(x, components, beta):
            T, d = x.shape[1], max(len(S) for S, _ in components)
            bits, total = np.c_[x, np.zeros(len(x))], 0
            for S, weight in components:
                scores = np.array([np.exp(beta) if j in S else 1 for j in range(1, T + 2)])
                scores[T] = (d - len(S)) * np.exp(beta) if len(S) < d else 1
                a = bits @ scores / scores.sum()
                wave = sum(np.clip(2 - 4 * d * np.abs(a - k / d), 0, 1) for k in range(0, d + 1, 2))
                total = total + np.exp(np.log(abs(weight))) * wave
            return total
    """),
    ("4.6", "the two bits are exchanged", """
        def my_repair(bits, errors, components):
            n = bits.shape[1]
            spectrum = {}
            for mask in range(2**n):
                S = frozenset(j for j in range(1, n + 1) if mask >> (j - 1) & 1)
                spectrum[S] = np.mean(errors * (-1.0) ** bits[:, [j - 1 for j in S]].sum(axis=1))
            heavy = [S for S in spectrum if abs(spectrum[S]) > 1e-9]
            for i, (S, weight) in enumerate(components):
                if abs(spectrum[frozenset(S)] + weight / 2) < 1e-9:
                    (other,) = [R for R in heavy if R != frozenset(S)]
                    return i + 1, *(set(S) - other), *(other - set(S))
    """),
    ("4.6", "For a negative weight", """
        def my_repair(bits, errors, components):
            n = bits.shape[1]
            values = {}
            for mask in range(2**n):
                S = frozenset(j for j in range(1, n + 1) if mask >> (j - 1) & 1)
                values[S] = np.mean(errors * np.prod(1 - 2 * bits[:, [j - 1 for j in S]], axis=1))
            gained, lost = max(values, key=values.get), min(values, key=values.get)
            known = [frozenset(S) for S, _ in components]
            i = known.index(lost if lost in known else gained)
            return i + 1, *(gained - lost), *(lost - gained)
    """),
    ("4.6", "You look at signs only", """
        def my_repair(bits, errors, components):
            signs = 1 - 2 * bits
            for i, (S, weight) in enumerate(components, 1):
                for right in S:
                    for wrong in {*range(1, bits.shape[1] + 1)} - {*S}:
                        old, new = ([j - 1 for j in R] for R in (S, {*S} - {right} | {wrong}))
                        lost = np.mean(weight * errors * signs[:, old].prod(axis=1))
                        gained = np.mean(weight * errors * signs[:, new].prod(axis=1))
                        if lost < -1e-9 and gained > 1e-9:
                            return i, wrong, right
    """),
    ("4.6", "Components count from 1", """
        def my_repair(bits, errors, components):
            n = bits.shape[1]
            for i, (S, weight) in enumerate(components):
                others = [j for j in range(1, n + 1) if j not in S]
                for right in S:
                    for wrong in others:
                        new = [j for j in S if j != right] + [wrong]
                        even = [1 - bits[:, [j - 1 for j in R]].sum(axis=1) % 2 for R in (S, new)]
                        if np.allclose(errors, weight * (even[1] - even[0])):
                            return i, wrong, right
    """),
]  # fmt: skip


def my_head(*arguments):
    X, W, V, mask = map(torch.as_tensor, arguments)
    return networks.Head(W, V, mask=mask)(X).detach().numpy()


def my_reader(subsets, T, beta):
    model = handmade.build([(S, 1.0) for S in subsets], T, scale=beta)
    return handmade.matrices(model)["W1"].numpy()


def my_wave(d):
    model = handmade.build([(range(1, d + 1), 1.0)], d, grid="trimmed")
    held = handmade.matrices(model)
    return np.stack([held["b"].numpy(), held["F"][:, -1].numpy()])


def my_mixer(weights, T, tau):
    model = handmade.build([((i + 1,), value) for i, value in enumerate(weights)], T, mode="soft", tau=tau)
    return handmade.matrices(model)["W2"][-2, :-1].numpy()


@torch.no_grad()
def my_network(x, components, beta):
    """Through the layers, with the numbers x in the place of bits."""
    model, T = handmade.build(components, x.shape[1], scale=beta), x.shape[1]
    stream = model.positions.expand(len(x), -1, -1).clone()
    stream[:, :T, -1] = torch.as_tensor(x)
    for layer in model.layers:
        stream = layer(stream)
    return stream[:, -1, 0].numpy()


def my_repair(bits, errors, components):
    spectrum = fourier.transform(errors)
    for i, (S, weight) in enumerate(components, 1):
        if abs(spectrum[cube.mask(S, bits.shape[1])] + weight / 2) < 1e-9:
            (gained,) = np.flatnonzero(np.abs(spectrum - weight / 2) < 1e-9)
            new = set(cube.subset(int(gained)))
            return i, *(new - {*S}), *({*S} - new)


class TestExercises(ExerciseTests):
    room = "handmade"
    written = WRITTEN
    library = {
        "4.1": my_head,
        "4.2": my_reader,
        "4.3": my_wave,
        "4.4": my_mixer,
        "4.5": my_network,
        "4.6": my_repair,
    }


# --- the open one -----------------------------------------------------------------------------------------------------


def cheaper(components, T):
    """One ReLU that is always 1, then two for each ramp, half as steep; logits whose mean is 0."""
    m, d = find("4.7").solution(components, T), len(components[0][0])
    kinks = [(k + at) / d for k in range(d) for at in (1 / 4, 3 / 4)]
    slopes = [2 * d * sign * (-1) ** k for k in range(d) for sign in (-1, 1)]
    E, F = np.zeros((T + 2, 2 * d + 1)), np.zeros((2 * d + 1, T + 2))
    E[-1, :-1], F[:, -1] = 1, [*slopes, 1]
    m["W2"][T, : len(components)] -= m["W2"][T, : len(components)].mean()
    alpha = ((F**2).sum() / ((E**2).sum() + 1 + np.square(kinks).sum())) ** 0.25
    b = alpha * np.array([*(-np.array(kinks)), 1])
    return m | {"E": torch.tensor(alpha * E), "b": b.tolist(), "F": F / alpha}


def test_there_is_a_better_network_to_be_found():
    board = score("4.7", cheaper, seed=1)
    assert board.rows["wrong inputs"][0].max() == 0 and board.better("squared norm") > 0


def by_hand(components, T):
    """The weights of section 4.2, as the chapter writes them down."""
    model = handmade.build(components, T, grid="trimmed")
    return handmade.matrices(model) | {"mask": model.layers[1].heads[0].mask[-1]}


def flipped(components, T):
    """One bias with the wrong sign."""
    held = find("4.7").solution(components, T)
    return held | {"b": held["b"] * np.where(np.arange(len(held["b"])) == 0, -1, 1)}


def nothing(components, T):
    """No weights at all: the smallest norm, and the least use."""
    return {name: np.zeros(np.shape(part)) for name, part in find("4.7").solution(components, T).items()}


def test_exactness_comes_first_in_the_open_exercise():
    for seed in range(3):
        assert score("4.7", by_hand, seed=seed).verdict == "Exact, but larger and less robust than the library's."
        assert score("4.7", find("4.7").solution, seed=seed).verdict == "As good as the library."
        for wrong in (flipped, exercises._unmasked, nothing):
            board = score("4.7", wrong, seed=seed)
            assert board.verdict.startswith("Not exact: wrong on ") and "etter" not in board.verdict
            assert board.verdict in repr(board)
    assert score("4.7", cheaper, seed=1).verdict.startswith("Better than the library")


def test_the_measures_of_the_open_exercise_are_those_of_the_network():
    components, T = cube.random_components(exercises.BITS, 3, 3, rng=0), exercises.BITS
    model = handmade.build(components, T, grid="trimmed")
    held = handmade.matrices(model) | {"mask": model.layers[1].heads[0].mask[-1]}
    bits = cube.to_bits(cube.points(T))
    with torch.no_grad():
        assert np.allclose(exercises._forward(exercises._arrays(held), bits), model(bits).numpy(), atol=1e-12)
    assert exercises._squared_norm(held, components, T) == sum(handmade.measured_norms(model).values())
    assert exercises._wrong(held, components, T) == 0
    assert exercises._wrong({**held, "mask": 0 * held["b"][:1].repeat(T + 1)}, components, T) > 0.5


def test_a_network_of_the_wrong_kind_gets_a_sentence():
    for change, words in [
        ({"V1": np.eye(3)}, "V1 has the shape (3, 3), where (9, 9) is needed"),
        ({"b": "text"}, "b is not an array of numbers"),
        ({"v2": np.full((9, 1), np.nan)}, "infinite numbers or NaNs in v2"),
    ]:
        feedback = score("4.7", lambda components, T, new=change: find("4.7").solution(components, T) | new)
        assert feedback.status == "unfit" and words in feedback.text
    assert "expected a dictionary with the arrays W1, V1, E," in score("4.7", lambda components, T: 3).text
