"""Training a network to add modulo p, and reading it on the way: what all experiments of chapter 17 do."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks
from flatcube.grokking import cycles
from flatcube.grokking.adder import Adder
from flatcube.grokking.cycles import modulus
from flatcube.grokking.readings import Readings

__all__ = ["Trial", "training"]

OPTIMISERS, SCHEDULES = ("adamw", "adam", "sgd"), ("constant", "cosine")
KNOWS = 0.99  # the accuracy on the test pairs that ends the wait


@dataclass(frozen=True)
class Trial:
    """One network. An epoch is one step with all training pairs.

    ``adamw`` takes ``decay`` off the weights, ``adam`` and ``sgd`` (momentum 0.9) add it to the gradient. ``radius``
    above 0 takes the gradient at w + radius · g/‖g‖ (sharpness-aware minimisation, Foret et al. 2021). ``cosine`` warms
    up over the first tenth and falls to 0. It ends ``after`` epochs past a test accuracy of 0.99, or after ``epochs``.
    ``circles`` is the number of harmonics whose circles are kept.
    """

    arm: str
    p: int
    share: float
    seed: int
    epochs: int
    decay: float = 2.0
    rate: float = 3e-3
    optimiser: str = "adamw"
    schedule: str = "constant"
    radius: float = 0.0
    after: int = 400
    every: int = 25
    width: int = 64
    hidden: int = 128
    circles: int = 0

    def __post_init__(self) -> None:
        modulus(self.p)
        for name in ("seed", "epochs", "after"):
            checks.integer(getattr(self, name), name, 0, None if name == "seed" else 10**7)
        checks.integer(self.every, "every", 1, 10**7)
        checks.instance(self.arm, "arm", str)
        checks.fraction(self.share, "share")
        checks.positive(self.rate, "rate")
        for name, least, most in (("width", 1, 4096), ("hidden", 1, 2**20), ("circles", 0, 500)):
            checks.integer(getattr(self, name), name, least, most)
        checks.word(self.optimiser, "optimiser", OPTIMISERS)
        checks.word(self.schedule, "schedule", SCHEDULES)
        for name in ("decay", "radius"):
            checks.number(getattr(self, name), name, 0)


def training(trial: Trial) -> Iterator[tuple[int, Adder]]:
    """The network before the first epoch, and after each: (0, model), (1, model), … the same object each time."""
    model = Adder(trial.p, width=trial.width, hidden=trial.hidden, seed=trial.seed)
    taken = Readings(trial.p, trial.share, seed=trial.seed)
    x, y = taken.x[taken.train], taken.y[taken.train]
    weights = list(model.parameters())
    rule = _optimiser(weights, trial)
    schedule = torch.optim.lr_scheduler.LambdaLR(rule, lambda epoch: _factor(trial, epoch))

    def slopes() -> None:
        rule.zero_grad()
        nn.functional.cross_entropy(model(x).double(), y).backward()  # double: small losses keep their slopes

    yield 0, model
    for epoch in range(1, trial.epochs + 1):
        slopes()
        if trial.radius:
            moved = _climb(weights, trial.radius)
            slopes()
            torch._foreach_sub_([weight.data for weight in weights], moved)
        rule.step()
        schedule.step()
        yield epoch, model


def _optimiser(weights: list[Tensor], trial: Trial) -> torch.optim.Optimizer:
    options = {"lr": trial.rate, "weight_decay": trial.decay}
    if trial.optimiser == "sgd":
        return torch.optim.SGD(weights, momentum=0.9, **options)
    kind = torch.optim.AdamW if trial.optimiser == "adamw" else torch.optim.Adam
    return kind(weights, betas=(0.9, 0.98), **options)


def _factor(trial: Trial, epoch: int) -> float:
    if trial.schedule == "constant":
        return 1.0
    done, warm = epoch / trial.epochs, trial.epochs / 10
    return min(1.0, (epoch + 1) / warm) * (1 + math.cos(math.pi * done)) / 2


def _climb(weights: list[Tensor], radius: float) -> list[Tensor]:
    """Move weights by ``radius`` along their gradient, and return by what they were moved."""
    length = torch.sqrt(sum(weight.grad.square().sum() for weight in weights))
    moved = [weight.grad * (radius / (length + 1e-12)) for weight in weights]
    torch._foreach_add_([weight.data for weight in weights], moved)
    return moved


def epochs(trial: Trial) -> Iterator[int]:
    """When a network is read: every tenth epoch up to 200, then every ``every``-th."""
    early = range(0, min(200, trial.epochs) + 1, min(10, trial.every))
    return iter(sorted({*early, *range(0, trial.epochs + 1, trial.every), trial.epochs}))


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train one network: a row for each time it is read, with ``circles`` as ``drawn`` gives them."""
    take, wanted, rows, tables = Readings(trial.p, trial.share, seed=trial.seed), set(epochs(trial)), [], []
    kind = {name: value for name, value in asdict(trial).items() if name in ("arm", "p", "share", "seed")}
    knows = math.inf
    for epoch, model in training(trial):
        if epoch in wanted:
            rows.append(kind | {"epoch": epoch} | take(model))
            tables.append(model.numbers.detach().double().numpy().copy())
            if rows[-1]["test"] >= KNOWS:
                knows = min(knows, epoch)
        if epoch >= knows + trial.after:
            break
    return [row | {"circles": text} for row, text in zip(rows, drawn(tables, trial.circles), strict=True)]


def drawn(tables: list[np.ndarray], count: int) -> list[str]:
    """The numbers' embeddings (p, width) of each table, seen in the planes of the last one's largest harmonics.

    A plane is spanned by the two directions of a harmonic in the *last* table, made orthonormal; where a number stands
    in it is in hundredths. Text "k: x_0 y_0 x_1 y_1 …" for each of ``count`` harmonics, joined by ";".
    """
    last = tables[-1] - tables[-1].mean(0)
    order = np.argsort(-cycles.harmonics(last), kind="stable")[:count]
    found = []
    for table in tables:
        planes = []
        for k in order.tolist():
            plane, _ = np.linalg.qr((cycles.waves(len(last))[:, k] @ last).T)  # (width, 2)
            seen = np.rint(100 * (table - table.mean(0)) @ plane).astype(int)
            planes.append(f"{k + 1}: {' '.join(map(str, seen.ravel().tolist()))}")
        found.append("; ".join(planes))
    return found


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: 9 ms for an epoch with 1400 pairs; a reading costs as twelve with all pairs."""
    work = trial.p**2 * (trial.hidden + trial.p) * 3.5e-8
    return trial.epochs * work * (trial.share * (2 if trial.radius else 1) + 12 / trial.every)
