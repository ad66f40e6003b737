"""Chapter 6's exercises: wrong answers as readers write them, and the library's answers."""

import math

import numpy as np
import torch
from scipy.optimize import brentq

from flatcube import networks, parity
from flatcube.classroom.exercises import find, score
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("6.1", "Your sides are swapped", """
        def my_embedding(bits):
            N = len(bits) + 1
            X = np.zeros((N, 9))
            for j in range(N):
                i = (j + 1) % N
                row = [bits[j] if j < N - 1 else 0, i / N, 2 * (i % 2) - 1, 1 / N, 0, 0, np.log(N) if i == 1 else 0, 0]
                X[j] = [*row, -sum(row)]
            return X
    """),
    ("6.1", "balance is still empty", """
        def my_embedding(bits):
            N = len(bits) + 1
            i = np.r_[1:N, 0]
            lanes = [np.append(bits, 0), i / N, (-1.0) ** i, np.full(N, 1 / N)]
            X = np.column_stack(lanes + [np.zeros(N)] * 5)
            X[0, 6] = np.log(N)
            return X
    """),
    ("6.1", "Position 0 stands first", """
        def my_embedding(bits):
            N = len(bits) + 1
            i = np.arange(N)
            X = np.zeros((N, 9))
            X[1:, 0], X[:, 1], X[:, 2], X[:, 3], X[1, 6] = bits, i / N, (-1.0) ** i, 1 / N, np.log(N)
            X[:, 8] = -X.sum(1)
            return X
    """),
    ("6.2", "Both bumps have the same sign", """
        def my_hits(count, N):
            i = np.append(np.arange(1, N), 0)
            return np.maximum(0, 1 - abs(count * N - i)) / N
    """),
    ("6.2", "a network has no `if`", """
        def my_hits(count, N):
            hits = np.zeros(N)
            for j in range(N):
                i = (j + 1) % N
                if i == round(count * N):
                    hits[j] = (-1) ** i / N
            return hits
    """),
    ("6.2", "That is a comparison by ==", """
        def my_hits(count, N):
            i = np.append(np.arange(1, N), 0)
            return np.where(np.isclose(count, i / N), (-1.0) ** i, 0) / N
    """),
    ("6.2", "All zeros", """
        def my_hits(count, N):
            i = np.append(np.arange(1, N), 0)
            bump = sum(w * np.maximum(0, count - (i - s) / N) for w, s in ((1, 1), (-2, 0), (1, -1)))
            return bump - bump
    """),
    ("6.3", "The read-out is missing", """
        def my_amplifier(X, eps):
            Y = X / np.sqrt(X.var(axis=1, keepdims=True) + eps)
            row = np.eye(9)[7] * Y[:, 5].mean()
            return ((row - row.mean()) / np.sqrt(row.var() + eps))[7]
    """),
    ("6.3", "The first layer norm is missing", """
        def my_amplifier(X, eps):
            a = X[:, 5].mean()
            return a / np.sqrt(a**2 + 81 * eps / 8)
    """),
    ("6.3", "You return the sign", """
        def my_amplifier(X, eps):
            return 1 if X[:, 5].sum() > 0 else -1
    """),
    ("6.4", "ε has no effect", """
        def my_network(bits, eps):
            return np.prod(1 - 2 * bits, axis=1)
    """),
    ("6.4", "The sign is turned round", """
        def my_network(bits, eps):
            N, outputs = bits.shape[1] + 1, []
            i = np.append(np.arange(1, N), 0)
            for row in bits:
                k = row.sum()
                X = np.zeros((N, 9))
                X[:-1, 0], X[:, 1], X[:, 2], X[:, 3], X[:, 4] = row, i / N, (-1.0) ** i, 1 / N, k / N
                X[:, 5], X[0, 6] = (i == k) * (-1.0) ** i / N, np.log(N)
                X[:, 8] = -X.sum(1)
                a = -(X[:, 5] / np.sqrt(X.var(axis=1) + eps)).mean()
                outputs.append(a / np.sqrt(a**2 + 81 * eps / 8))
            return outputs
    """),
    ("6.4", "strings with a single 1", """
        def my_network(bits, eps):
            N, outputs = bits.shape[1] + 1, []
            i = np.append(np.arange(1, N), 0)
            for row in bits:
                k = row.sum()
                X = np.zeros((N, 9))
                X[:-1, 0], X[:, 1], X[:, 2], X[:, 3], X[:, 4] = row, i / N, (-1.0) ** i, 1 / N, k / N
                X[:, 5] = (i == k) * (-1.0) ** i / N
                X[:, 8] = -X.sum(1)
                a = (X[:, 5] / np.sqrt(X.var(axis=1) + eps)).mean()
                outputs.append(a / np.sqrt(a**2 + 81 * eps / 8))
            return outputs
    """),
    ("6.5", "numbered from 1 to 6", """
        def culprit(H):
            N = len(H)
            i = np.append(np.arange(1, N), 0)
            k = np.arange(N)[:, None]
            wrong = H - np.where(k == i, (-1.0) ** i / N, 0)
            for unit, sound in enumerate((1, -2, 1, -1, 2, -1)):
                unit_says = np.where(i % 2 == unit // 3, np.maximum(0, k - i + 1 - unit % 3), 0) / N
                off = (wrong * unit_says).sum() / (unit_says**2).sum()
                if np.allclose(wrong, off * unit_says):
                    return [unit, sound + off]
    """),
    ("6.5", "You give the change", """
        def culprit(H):
            N = len(H)
            i = np.append(np.arange(1, N), 0)
            k = np.arange(N)[:, None]
            wrong = H - np.where(k == i, (-1.0) ** i / N, 0)
            for unit in range(6):
                unit_says = np.where(i % 2 == unit // 3, np.maximum(0, k - i + 1 - unit % 3), 0) / N
                off = (wrong * unit_says).sum() / (unit_says**2).sum()
                if np.allclose(wrong, off * unit_says):
                    return [unit + 1, off]
    """),
    ("6.5", "wrong group", """
        def culprit(H):
            N = len(H)
            i = np.append(np.arange(1, N), 0)
            k = np.arange(N)[:, None]
            wrong = H - np.where(k == i, (-1.0) ** i / N, 0)
            for unit, sound in enumerate((1, -2, 1, -1, 2, -1)):
                unit_says = np.where(i % 2 == unit // 3, np.maximum(0, k - i + 1 - unit % 3), 0) / N
                off = (wrong * unit_says).sum() / (unit_says**2).sum()
                if np.allclose(wrong, off * unit_says):
                    return [unit + 4 if unit < 3 else unit - 2, sound + off]
    """),
    ("6.6", "as large as the answer", """
        def critical_delta(a, s, D):
            return a / s
    """),
    ("6.6", "the mean contains the answer itself", """
        def critical_delta(a, s, D):
            return a / (s / D)
    """),
    ("6.6", "divide by what the lane held", """
        def critical_delta(a, s, D):
            return a * D - a
    """),
    ("6.7", "each of the two loses a half", """
        def least_beta(T, w):
            M = 2 * T - 2
            return np.log((M / w - M) / 2)
    """),
    ("6.7", "Only one position of the pair", """
        def least_beta(T, w):
            return np.log((T - 1) * (1 / w - 2))
    """),
    ("6.7", "That is e^β itself", """
        def least_beta(T, w):
            return (T - 1) * (1 / (2 * w) - 1)
    """),
    ("6.8", "right for even T", """
        def repaired(last, T):
            return last
    """),
    ("6.8", "right for odd T", """
        def repaired(last, T):
            return last ^ 1
    """),
    ("6.8", "The wrong way round", """
        def repaired(last, T):
            return last if T % 2 else 1 - last
    """),
]

COUNT, HIT, ANSWER = (parity.CHANNELS.index(name) for name in ("count", "hit", "answer"))


@torch.no_grad()
def my_embedding(bits):
    return parity.layer_norm_network().embed(torch.tensor(bits)[None])[0].numpy()


@torch.no_grad()
def my_hits(count, N):
    model = parity.layer_norm_network()
    X = model.embed(torch.zeros(1, N - 1, dtype=torch.long))[0]
    X[:, COUNT] = count
    return model.layers[0].mlp(X)[:, HIT].numpy()


@torch.no_grad()
def my_amplifier(X, eps):
    model = parity.layer_norm_network(eps)
    return float((model.layers[1](model.layers[0].norm(torch.tensor(X))) @ model.readout)[-1, 0])


@torch.no_grad()
def my_network(bits, eps):
    return parity.layer_norm_network(eps)(torch.tensor(bits)).numpy()


def culprit(H):
    """The unit with which the errors are proportional to what it computes, by least squares over all entries."""
    model, N, found = parity.layer_norm_network(), len(H), []
    bits = (torch.arange(N - 1) < torch.arange(N)[:, None]).long()
    seen = model.activations(bits)
    error = torch.tensor(H) - seen["layers.0.sum"][..., HIT].detach()
    for unit, says in enumerate(seen["layers.0.mlp.0"].detach().relu().unbind(-1)):
        off = float((error * says).sum() / says.square().sum())
        rest = float((error - off * says).abs().max())
        found.append((rest, unit + 1, float(model.layers[0].mlp.weights[1].detach()[unit, HIT]) + off))
    return np.array(min(found)[1:])


def critical_delta(a, s, D):
    def normed(delta: float) -> float:
        return float(networks.Norm(0.0)(torch.tensor([a, delta * s] + [0.0] * (D - 2)))[0])

    return brentq(normed, 0, 100 * a * D, xtol=1e-16)


def least_beta(T, w):
    mean = lambda beta: np.exp(beta) / (2 * np.exp(beta) + 2 * T - 2)  # noqa: E731
    return brentq(lambda beta: mean(beta) - 0.5 + w, -5, 20, xtol=1e-12)


def repaired(last, T):
    bits, written = np.random.default_rng(T).integers(0, 2, T), 0
    for bit in bits:
        written = int(bit == written)
    return (bits.sum() + (written != last)) % 2  # with another first bit, the other end


class TestExercises(ExerciseTests):
    room = "parity"
    written = WRITTEN
    library = {"6.1": my_embedding, "6.2": my_hits, "6.3": my_amplifier, "6.4": my_network, "6.5": culprit,
               "6.6": critical_delta, "6.7": least_beta, "6.8": repaired}  # fmt: skip


def test_higher_hits_are_a_flatter_parity():
    better = parity.layer_norm_network()
    with torch.no_grad():
        better.layers[0].mlp.weights[1].mul_(2)
    board = score("6.9", better, seed=3)
    assert board.rows["noise survived"][0].mean() > board.rows["noise survived"][1].mean()
    assert (board.rows["right without noise"] == 1).all()


def test_an_open_answer_of_another_kind_gets_a_sentence():
    for odd, words in [(3, "torch.nn.Module"), (torch.nn.ReLU(), "no weights"), (torch.nn.Linear(16, 1), "stops with")]:
        said = score("6.9", odd)
        assert said.status == "unfit" and words in said.text
    silent = torch.nn.Bilinear(2, 2, 1)
    assert score("6.9", silent).status == "unfit"


class _Waving(torch.nn.Module):
    """Parity by one function of the number of ones, and a weight that noise would have to turn round."""

    def __init__(self, wave) -> None:
        super().__init__()
        self.wave, self.gain = wave, torch.nn.Parameter(torch.ones(1))

    def forward(self, bits):
        return self.gain * self.wave(bits.sum(1).double())


def test_what_would_give_the_answer_away_is_refused():
    waves = {
        "cos": lambda k: torch.cos(math.pi * k),
        "remainder": lambda k: 1 - 2 * (k % 2),
        "floor": lambda k: 1 - 2 * (k - 2 * (k / 2).floor()),
        "prod": lambda k: (1 - 2.0 * (torch.arange(16) < k[:, None])).prod(1),
        "rpow": lambda k: (-1.0) ** k,
        "eq": lambda k: 2.0 * torch.stack([k == even for even in range(0, 17, 2)]).any(0) - 1,
        "tolist": lambda k: torch.tensor([1.0 - 2 * (int(ones) % 2) for ones in k.tolist()]),
        "numpy": lambda k: torch.from_numpy(np.cos(math.pi * k.numpy())),
        "array()": lambda k: torch.from_numpy(np.cos(math.pi * np.asarray(k))),
        "float()": lambda k: torch.tensor([math.cos(math.pi * float(ones)) for ones in k]),
        "int()": lambda k: torch.tensor([1.0 - 2 * (int(ones) & 1) for ones in k]),
        "index()": lambda k: torch.tensor([([1.0, -1.0] * 9)[ones.long()] for ones in k]),
        "complex numbers": lambda k: torch.exp(1j * math.pi * k).real,
    }
    for name, wave in waves.items():
        said = score("6.9", _Waving(wave))
        assert said.status == "unfit" and f"it uses {name}, which" in said.text, said.text
    for fair in (parity.layer_norm_network(), parity.majority_network(16), parity.memorising_network(16),
                 parity.rescaled_network(16, 300.0), _Waving(lambda k: 1 - k)):  # fmt: skip
        assert find("6.9").fits(fair) is None


def test_a_network_that_says_nothing_survives_nothing():
    model = parity.layer_norm_network()
    with torch.no_grad():
        model.readout.zero_()
    assert score("6.9", model, seed=5).verdict.startswith("Not yet clearly better than the nested majorities")
