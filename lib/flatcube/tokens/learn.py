"""Training to a wanted accuracy, so that networks are compared where they fit their examples equally well."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks

__all__ = ["accuracy", "fit", "noisy_copies", "steady", "shaken"]

_CHUNK = 2000
Penalty = Callable[[nn.Module, Tensor, Tensor, torch.Generator], Tensor]


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """The share of inputs x (N, …) whose largest output is that of class y (N,); the model as after ``eval()``."""
    _check_examples(x, y)
    training = model.training
    model.eval()
    right = [(model(some).argmax(-1) == theirs) for some, theirs in zip(x.split(_CHUNK), y.split(_CHUNK), strict=True)]
    model.train(training)
    return float(torch.cat(right).float().mean())


def fit(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    optimiser: str = "sgd",
    rate: float,
    momentum: float = 0.9,
    decay: float = 0.0,
    batch: int = 50,
    epochs: int = 20,
    goal: float = 1.0,
    seed: int,
    penalty: Penalty | None = None,
    watch: Callable[[float, float], None] = lambda epoch, train: None,
    checks_each: int = 2,
    glance: int = 10**6,
) -> tuple[float, float]:
    """Train on the cross-entropy until the accuracy on the examples is ``goal``: the epochs done, and that accuracy.

    The accuracy on the first ``glance`` examples is looked at ``checks_each`` times in an epoch, and told to
    ``watch(epoch, accuracy)``, which may measure the model; if it is the goal, all examples must agree before training
    stops. ``penalty`` is added to the loss: ``steady`` or ``noisy_copies``.
    """
    _check_examples(x, y)
    checks.number(goal, "goal", 0, 1e6)
    for name, value, least in (("batch", batch, 1), ("epochs", epochs, 0), ("checks_each", checks_each, 1),
                               ("glance", glance, 1)):  # fmt: skip
        checks.integer(value, name, least, 10**6)
    step = _optimiser(model, optimiser, rate, momentum, decay)
    source = torch.Generator().manual_seed(checks.integer(seed, "seed", 0))
    few, theirs, part = x[:glance], y[:glance], max(1, len(x) // (batch * checks_each))
    watch(0.0, accuracy(model, few, theirs))
    model.train()
    done = 0
    for _ in range(epochs):
        for chosen in torch.randperm(len(x), generator=source).split(batch):
            _step(step, model, x[chosen], y[chosen], penalty, source)
            done += 1
            if done % part == 0:
                reached = accuracy(model, few, theirs)
                watch(done * batch / len(x), reached)
                if reached >= goal and (len(few) == len(x) or (reached := accuracy(model, x, y)) >= goal):
                    model.eval()
                    return done * batch / len(x), reached
    model.eval()
    return float(epochs), accuracy(model, x, y)


def _optimiser(model: nn.Module, name: str, rate: float, momentum: float, decay: float) -> torch.optim.Optimizer:
    """SGD with momentum, or AdamW with decay, on the weights of a model that are trained."""
    checks.word(name, "optimiser", ("sgd", "adam"))
    checks.positive(rate, "rate")
    checks.number(momentum, "momentum", 0, 1)
    checks.number(decay, "decay", 0, 1e6)
    parameters = [p for p in model.parameters() if p.requires_grad]
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=momentum)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)


def _step(
    step: torch.optim.Optimizer, model: nn.Module, x: Tensor, y: Tensor, penalty: Penalty | None,
    source: torch.Generator,
) -> None:  # fmt: skip
    """One step on these examples."""
    loss = nn.functional.cross_entropy(model(x), y)
    if penalty is not None:
        loss = loss + penalty(model, x, y, source)
    step.zero_grad()
    loss.backward()
    step.step()


def _check_inputs(x: Tensor) -> None:
    """Refuse none, and what is not finite."""
    if not x.ndim:
        raise ValueError("x: expected inputs along its first axis, got a single number")
    if not x.numel() or not bool(x.isfinite().all()):
        raise ValueError(f"x: expected finite numbers, one or more, got NaN, infinite ones or none in {tuple(x.shape)}")


def _check_examples(x: Tensor, y: Tensor) -> None:
    """Refuse inputs that are no numbers, and what are no classes for them."""
    _check_inputs(x)
    if y.dtype != torch.int64:
        raise TypeError(f"y: expected classes, whole numbers of dtype torch.int64, got {y.dtype}")
    checks.shape(y.shape, "y", ("N",), {"N": len(x)})


def noisy_copies(variance: float = 0.1) -> Penalty:
    """The loss on copies of the examples with noise in every pixel (VA Sec. 7.1, augmentation)."""
    scale = checks.positive(variance, "variance") ** 0.5

    def penalty(model: nn.Module, x: Tensor, y: Tensor, source: torch.Generator) -> Tensor:
        noise = scale * torch.randn(x.shape, generator=source)
        return nn.functional.cross_entropy(model(x + noise), y)

    return penalty


def steady(weight: float = 0.25, variance: float = 1.0) -> Penalty:
    """``weight`` times the mean squared change of the outputs when one random patch is noisy (VA Sec. 7.1)."""
    weight, scale = checks.positive(weight, "weight", 0), checks.positive(variance, "variance") ** 0.5

    def penalty(model: nn.Module, x: Tensor, y: Tensor, source: torch.Generator) -> Tensor:
        places = torch.randint(x.shape[1], (len(x),), generator=source)
        changed = x.clone()
        rows = torch.arange(len(x))
        changed[rows, places] += scale * torch.randn(changed[rows, places].shape, generator=source)
        return weight * (model(changed) - model(x)).square().mean()

    return penalty


@torch.no_grad()
def shaken(
    model: nn.Module, x: Tensor, *, sigma: float = 0.005, repeats: int = 5, rng: np.random.Generator | int
) -> tuple[float, float]:
    """ShOp and ShPred (VA Sec. 7.2): by how much outputs move, and how often predictions change, when every weight gets
    noise N(0, σ²)."""
    rng, sigma = checks.generator(rng), checks.number(sigma, "sigma", 0, 1e3)
    _check_inputs(x)
    old = model(x)
    kept = [p.clone() for p in model.parameters()]
    moved = changed = 0.0
    for _ in range(checks.integer(repeats, "repeats", 1, 10**4)):
        for p, was in zip(model.parameters(), kept, strict=True):
            p.copy_(was + sigma * torch.as_tensor(rng.standard_normal(p.shape), dtype=p.dtype))
        new = model(x)
        moved += float((new - old).abs().mean()) / repeats
        changed += float((new.argmax(-1) != old.argmax(-1)).float().mean()) / repeats
    for p, was in zip(model.parameters(), kept, strict=True):
        p.copy_(was)
    return moved, changed
