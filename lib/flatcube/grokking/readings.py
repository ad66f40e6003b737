"""What a network that adds modulo p looks like at one moment: accuracy, size, sensitivity, waves, sharpness."""

import torch
from torch import Tensor, nn

from flatcube import checks, sharpness
from flatcube.grokking import cycles
from flatcube.grokking.adder import Adder, pairs, split
from flatcube.sharpness.landscape import random_source

__all__ = ["Readings", "swaps"]

NOISE = 0.1  # VA's standard deviation on every coordinate of an embedding
_OWN = 0.8  # the same in units of the embeddings' size, equal at the start: 0.1 = 0.8 · (1/8) at width 64
_INPUTS, _DIRECTIONS, _SHIFT = 256, 8, 0.01


class _Probabilities(nn.Module):
    """softmax of a network's scores: what sharpness looks at, because it has a scale of its own."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities (batch, p)."""
        return self.network(x).softmax(-1)


def swaps(answers: Tensor) -> float:
    """The share of answers that change when one of the two numbers is replaced by another: of a table (p, p).

    That is the sensitivity of chapter 2 with numbers in place of bits, exactly, over all inputs and replacements.
    a + b modulo p has 1, the most there can be: whoever changes one number changes the sum.

    >>> a = torch.arange(5)
    >>> swaps((a + a[:, None]) % 5), swaps(torch.zeros(5, 5, dtype=torch.long))
    (1.0, 0.0)
    """
    p = len(tensor_of(answers))
    same = sum(float(nn.functional.one_hot(table, p).double().sum(0).square().sum()) for table in (answers, answers.T))
    return (2 * p**3 - same) / (2 * p**2 * (p - 1))  # of p(p−1) pairs in each of 2p lines


def tensor_of(answers: Tensor) -> Tensor:
    """A table (p, p) of whole numbers below p, checked."""
    checks.instance(answers, "answers", Tensor)
    if answers.ndim != 2 or answers.shape[0] != answers.shape[1] or answers.dtype != torch.long:
        raise ValueError(f"answers: expected whole numbers (p, p), got {answers.dtype} {tuple(answers.shape)}")
    return answers


class Readings:
    """Takes the readings of networks for one p and one split. The same noise at every time makes curves smooth."""

    def __init__(self, p: int, share: float, *, seed: int = 0, draws: int = 2) -> None:
        self.x, (self.train, self.test) = pairs(p), split(p, share, seed=seed)
        self.y, self.p, self.seed, self.draws = self.x.sum(1) % p, p, seed, checks.integer(draws, "draws", 1)
        known = torch.zeros(p, p, dtype=torch.bool)
        known[tuple(self.x[self.train].T)] = True
        self.unmirrored = self.test[~known.T.reshape(-1)[self.test]]  # b + a was not for training either
        self.some = self.x[torch.randperm(p * p, generator=random_source(p, "inputs"))[:_INPUTS]]

    @torch.no_grad()
    def __call__(self, model: Adder) -> dict[str, float | str]:
        """Everything by name, over all p² inputs where it says nothing else.

        ``train`` and ``test``, accuracies, and their mean cross-entropies ``train_loss`` and ``test_loss``;
        ``unmirrored``, the accuracy at those pairs (a, b) of the test of which (b, a) was not for training. ``norm`` of
        all weights, ``size`` the root mean square of the numbers' embeddings. ``sensitivity``: the share of answers
        that change when one number's embedding gets Gaussian noise of standard deviation 0.1, averaged over the two
        (VA Eq. 1); ``both``, when both get it, as VA's public code has it; ``own``, one of them with noise
        0.8 · ``size``. ``swaps``: one number replaced by another. ``gini`` and ``effective`` of the embedding's
        harmonics, ``turning`` of the scores. ``sharpness``: the mean squared change of the probabilities at 256 inputs
        when every weight gets noise 0.01; ``sharpness_own``, a tenth of the weights' root mean square.
        ``spectrum``: the share of every harmonic of the embedding, in thousandths.
        """
        scores = model(self.x)
        loss = nn.functional.cross_entropy(scores.double(), self.y, reduction="none")
        answers = scores.argmax(1)
        right = (answers == self.y).double()
        table = model.numbers.detach().double()
        size, norm = float(table.square().mean().sqrt()), sharpness.parameter_norm(model, exclude=())
        shares = cycles.harmonics(table.numpy())
        each = norm / sum(weight.numel() for weight in model.parameters()) ** 0.5
        return {
            "train": float(right[self.train].mean()),
            "test": float(right[self.test].mean()),
            "unmirrored": float(right[self.unmirrored].mean()),
            "train_loss": float(loss[self.train].mean()),
            "test_loss": float(loss[self.test].mean()),
            "norm": norm,
            "size": size,
            "sensitivity": self._noisy(model, answers, NOISE, "one"),
            "both": self._noisy(model, answers, NOISE, "both"),
            "own": self._noisy(model, answers, _OWN * size, "one"),
            "swaps": swaps(answers.reshape(self.p, self.p)),
            "gini": cycles.gini(shares),
            "effective": cycles.effective(shares),
            "turning": cycles.turning(scores.double().reshape(self.p, self.p, self.p).numpy()),
            "sharpness": self._sharpness(model, _SHIFT),
            "sharpness_own": self._sharpness(model, each / 10),
            "spectrum": " ".join(f"{1000 * share:.0f}" for share in shares),
        }

    def _noisy(self, model: Adder, answers: Tensor, size: float, who: str) -> float:
        """The share of changed answers. A number's noise is shared by all pairs with it: the mean is the same."""
        source, changed = random_source(self.seed, "noise"), []
        for _ in range(self.draws):
            noise = size * torch.randn(2, *model.numbers.shape, generator=source)
            for side in (0, 1) if who == "one" else (None,):
                shift = noise if side is None else noise * (torch.arange(2) == side)[:, None, None]
                changed.append((model.scores(self.x, shift).argmax(1) != answers).double().mean())
        return float(torch.stack(changed).mean())

    def _sharpness(self, model: Adder, rho: float) -> float:
        options = {"rho": rho, "directions": _DIRECTIONS, "seed": self.seed, "exclude": ()}
        return sharpness.average_direction(_Probabilities(model), self.some, **options).value
