"""``certify``: measures a network's noisy loss, looks for the noise it bears best, and draws up its certificate."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from flatcube import checks
from flatcube.networks import tensors
from flatcube.pacbayes.account import INPUTS, Account, _named, of_model
from flatcube.pacbayes.certified import Certificate, prior_scales, seeger
from flatcube.sharpness.landscape import Landscape, random_vectors

__all__ = ["certify"]

Loss = str | Callable[[Tensor, Tensor], Tensor]

_STARTS = np.geomspace(1e-3, 1, 10).tolist()  # σ, or σ as a share of the root mean square weight of a group
_LOOKED_AT = 512  # examples, while σ is looked for; different inputs, where traces are compared
_TESTED = 200  # draws of noise, at most, for the examples put aside
_FITS = 1e-3  # a mean squared error below which a network counts as fitting (HR Sec. 7.1)


def certify(
    model: nn.Module,
    data: tuple[Any, Any],
    *,
    loss: Loss = "zero-one",
    clip: float = 4.0,
    prior: nn.Module | Mapping[str, Tensor] | None = None,
    sigma: float | Mapping[str, float] | None = None,
    groups: Mapping[str, str] | None = None,
    exclude: Sequence[str] = (),
    delta: float = 0.05,
    draws: int = 1000,
    looks: int = 16,
    rounds: int = 2,
    test: tuple[Any, Any] | None = None,
    construction: nn.Module | Account | None = None,
    seed: int,
    progress: bool = True,
) -> Certificate:
    """Bound the risk of a network with Gaussian noise in its weights by its m examples, with probability 1 − ``delta``.

    ``data`` are inputs (m, …) and targets (m,), independent examples; ``loss`` is bounded: "zero-one" (targets ±1 and
    one output whose sign answers, or classes and an output for each), "squared", clipped at ``clip``, or a function of
    outputs and targets (K, m) to losses ≥ 0, clipped too. ``prior`` has the weights that the prior is centred on, 0 if
    none; they must not have seen ``data``. A group of weights is a tensor, unless ``groups`` joins some under a name;
    weights in ``exclude`` get no noise, so they must not have been trained on ``data`` either.

    σ of each group is looked for in ``rounds`` over all groups, with ``looks`` noisy copies, or it is given; ``draws``
    fresh ones measure the loss. ``test`` are examples put aside. With a ``construction``, a hand-built network for the
    same function or its account, the certificate says if it dominates. The network is left as it was; Ctrl-C ends it.
    """
    bench = _Bench(model, data, loss, clip, prior, groups, exclude)
    given = {"m": bench.m, "delta": checks.probability(delta, "delta")}
    _check_counts(draws, looks, rounds, seed)
    silent = not checks.flag(progress, "progress") or "FLATCUBE_PRESS" in os.environ
    with _undisturbed(model):
        shown = None if test is None else _Bench(model, test, loss, clip, prior, groups, exclude)
        compared = _domination(bench, construction, seed)
        steps = 0 if sigma is not None else 2 * len(_STARTS) + 2 * rounds * len(bench.sizes)
        with tqdm(total=steps + draws, disable=silent, desc="certificate", unit="step") as bar:
            found = _looked_for(bench, given, looks, rounds, seed, bar) if sigma is None else bench.by_group(sigma)
            noisy = bench.noisy(found, draws, seed=seed, stream="certificate", bar=bar)
        tested = (None, None) if shown is None else shown.tested(found, min(draws, _TESTED), seed)
    kl, price, scales = prior_scales(bench.distances, bench.sizes, found)
    said = f"The risk with noise ({bench.words})"
    bound = seeger(noisy, kl, clip=bench.clip, price=price, draws=draws, sentence=said, **given)
    return Certificate(bound.sentence, bound.terms, bench.words, bench.m, float(delta), draws, kl, found, scales,
                       bench.centre(), bench.constant(), *tested, compared)  # fmt: skip


def _check_counts(draws: int, looks: int, rounds: int, seed: int) -> None:
    checks.integer(draws, "draws", 2, 10**5)
    checks.integer(looks, "looks", 1, 10**4)
    checks.integer(rounds, "rounds", 0, 100)
    checks.count(seed, "seed", 0)


class _Bench:
    """A network, its examples, and the loss of noisy copies on them."""

    def __init__(
        self,
        model: nn.Module,
        data: tuple[Any, Any],
        loss: Loss,
        clip: float,
        prior: nn.Module | Mapping[str, Tensor] | None,
        groups: Mapping[str, str] | None,
        exclude: Sequence[str],
    ) -> None:
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise TypeError(f"data: expected a pair of inputs and targets, got {type(data).__name__}")
        tensors.network(model)
        x = tensors.tensor(data[0], "data: its inputs")
        if not x.ndim or not len(x):
            raise ValueError(f"data: expected at least one example, got inputs of shape {tuple(x.shape)}")
        rows, self.places = torch.unique(x, dim=0, return_inverse=True)  # each input is run once
        with _undisturbed(model):
            self.land = Landscape(model, rows, exclude=exclude)
            self.base = self.land.base
        self.m, self.exclude = len(x), exclude
        self.y = tensors.finite(tensors.tensor(data[1], "data: its targets", (self.m,)), "data: its targets")
        self.loss, self.clip, self.words = self._judged(loss, checks.positive(clip, "clip"))
        names = _named(dict(model.named_parameters()), groups)
        self.spans = [(names[name], shape.numel()) for name, shape in self.land.shapes.items()]
        far = (self.land.theta - self._origin(prior)).double().square().split([size for _, size in self.spans])
        self.sizes, self.distances, self.norms = ({group: 0.0 for group, _ in self.spans} for _ in range(3))
        own = self.land.theta.double().square().split([size for _, size in self.spans])
        for (group, size), away, square in zip(self.spans, far, own, strict=True):
            self.sizes[group] = int(self.sizes[group]) + size
            self.distances[group] += float(away.sum())
            self.norms[group] += float(square.sum())

    def _judged(self, loss: Loss, clip: float) -> tuple[Callable[[Tensor, Tensor], Tensor], float, str]:
        """A function of outputs (K, m, …) and targets to losses (K, m), what they are clipped at, and its name."""
        if callable(loss):
            return loss, clip, f"loss, clipped at {clip:g}"
        checks.word(loss, "loss", ("zero-one", "squared"))
        if loss == "squared":
            self.y = self.y.to(self.base)
            tensors.tensor(self.base, "loss: for 'squared', the outputs", ("batch",))
            words = f"squared error, clipped at {clip:g}"
            return lambda out, y: (out - y).square(), float(clip), words
        if self.base.ndim == 1:
            if not bool((self.y.abs() == 1).all()):
                raise ValueError(f"data: expected targets −1 and +1, got {float(self.y[self.y.abs() != 1][0]):g}")
            return lambda out, y: (out * y <= 0).double(), 1.0, "rate of errors"
        self.y = tensors.whole(self.y, "data: its targets", 0, self.base.shape[-1] - 1)
        return lambda out, y: (out.argmax(-1) != y).double(), 1.0, "rate of errors"

    def _origin(self, prior: nn.Module | Mapping[str, Tensor] | None) -> Tensor:
        """θ₀ (D,)."""
        if prior is None:
            return torch.zeros_like(self.land.theta)
        checks.instance(prior, "prior", (nn.Module, Mapping))
        given = dict(prior.named_parameters()) if isinstance(prior, nn.Module) else dict(prior)
        parts = []
        for name, shape in self.land.shapes.items():
            if name not in given:
                raise ValueError(f"prior: expected weights with the names of the network's, got none for {name}")
            parts.append(tensors.weights(given[name], f"prior: {name}", tuple(shape)).detach().flatten())
        return torch.cat(parts).to(self.land.theta)

    def by_group(self, sigma: float | Mapping[str, float]) -> dict[str, float]:
        """σ for every group."""
        given = dict(sigma) if isinstance(sigma, Mapping) else dict.fromkeys(self.sizes, sigma)
        if given.keys() != self.sizes.keys():
            got = ", ".join(map(str, given))
            raise ValueError(f"sigma: expected a number, or one for each of {', '.join(self.sizes)}, got {got:.60}")
        return {group: checks.positive(given[group], f"sigma[{group}]") for group in self.sizes}

    def scale(self, sigma: Mapping[str, float]) -> Tensor:
        """The standard deviation of every weight, (D,)."""
        parts = [torch.full((size,), sigma[group]) for group, size in self.spans]
        return torch.cat(parts).to(self.land.theta)

    def losses(self, outputs: Tensor, places: Tensor, y: Tensor) -> Tensor:
        """Losses (K, m) from outputs (K, distinct inputs, …); what is not a number is as bad as can be."""
        found = self.loss(outputs[:, places], y)
        if not isinstance(found, Tensor) or found.shape[:2] != (len(outputs), len(places)) or found.ndim != 2:
            got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"loss: expected losses (K, m) = {(len(outputs), len(places))}, got {got}")
        found = found.double()
        if bool((found < 0).any()):
            raise ValueError(f"loss: expected losses ≥ 0, got {float(found.min()):g}")
        return found.nan_to_num(self.clip, self.clip).clamp(max=self.clip)

    def centre(self) -> float:
        """The mean loss of the network itself."""
        return float(self.losses(self.base[None], self.places, self.y).mean())

    def tested(self, sigma: Mapping[str, float], draws: int, seed: int) -> tuple[float, float]:
        """The mean losses of the network itself and of noisy copies."""
        return self.centre(), self.noisy(sigma, draws, seed=seed, stream="test")

    def constant(self) -> float:
        """The least mean loss of a constant; for a loss of the reader's own, what it is clipped at."""
        if self.words.startswith("rate"):
            return 1 - float(torch.unique(self.y, return_counts=True)[1].max()) / self.m
        if not self.words.startswith("squared"):
            return self.clip
        low, high = float(self.y.min()), float(self.y.max())
        tried = torch.linspace(low, high, 201, dtype=torch.float64)
        values, counts = torch.unique(self.y.double(), return_counts=True)
        each = (tried[:, None] - values).square().clamp(max=self.clip)
        return float((each * counts).sum(1).min()) / self.m

    def noisy(self, sigma: Mapping[str, float], draws: int, *, seed: int, stream: str, bar: Any = None) -> float:
        """The mean over independent copies with noise of their mean losses on all examples."""
        chunk, scale, total = max(1, min(draws, 2**22 // max(self.m, self.land.size))), self.scale(sigma), 0.0
        for some in random_vectors(draws, self.land.theta, seed=seed, stream=stream, chunk=chunk):
            total += float(self.losses(self.land.outputs(scale * some), self.places, self.y).mean(1).sum())
            if bar is not None:
                bar.update(len(some))
        return min(total / draws, self.clip)


def _looked_for(
    bench: _Bench, given: Mapping[str, float], looks: int, rounds: int, seed: int, bar: Any
) -> dict[str, float]:
    """The σ of every group with the least bound as far as a few noisy copies and examples tell."""
    noise = torch.cat(list(random_vectors(looks, bench.land.theta, seed=seed, stream="search")))
    order = np.random.default_rng([seed, 1]).permutation(bench.m)[:_LOOKED_AT]
    rows, places = torch.unique(bench.places[order], return_inverse=True)
    few, y = Landscape(bench.land.model, bench.land.x[rows], exclude=bench.exclude), bench.y[order]

    def value(sigma: Mapping[str, float]) -> float:
        outputs = few.outputs(bench.scale(sigma) * noise)
        mean = float(bench.losses(outputs, places, y).mean())
        kl, price, _ = prior_scales(bench.distances, bench.sizes, sigma)
        bar.update()
        return seeger(mean, kl, clip=bench.clip, price=price, **given).value

    typical = {g: max(math.sqrt(bench.norms[g] / size), 1e-3) for g, size in bench.sizes.items()}
    starts = [dict.fromkeys(bench.sizes, c) for c in _STARTS]
    starts += [{g: c * each for g, each in typical.items()} for c in _STARTS]
    best, least = min(((s, value(s)) for s in starts), key=lambda pair: pair[1])
    for k in range(rounds):
        step = 3.0 ** (0.5**k)
        for group in bench.sizes:
            for factor in (step, 1 / step):
                tried = best | {group: best[group] * factor}
                if (found := value(tried)) < least:
                    best, least = tried, found
    return best


def _domination(
    bench: _Bench, construction: nn.Module | Account | None, seed: int
) -> dict[str, tuple[float, float]]:
    """Norm, trace and squared error of the network, each beside what SP's assumption allows.

    Traces are means over the different inputs, or over some of them, drawn at random: the inputs stand in order.
    """
    if construction is None:
        return {}
    if bench.base.ndim != 1:
        raise ValueError("construction: expected none for a network with several outputs, got one")
    drawn = np.random.default_rng([seed, 2]).permutation(len(bench.land.x))[:_LOOKED_AT]
    x = bench.land.x[np.sort(drawn)]
    ours = of_model(bench.land.model, x, exclude=bench.exclude)
    if isinstance(checks.instance(construction, "construction", (nn.Module, Account)), Account):
        theirs = construction
    else:
        theirs = of_model(construction, x, exclude=INPUTS)
    squares = float((bench.base[bench.places].double() - bench.y).square().mean())
    return {
        "‖θ‖²": (ours.norm2, theirs.norm2),
        "trace": (ours.trace, theirs.trace),
        "squared error": (squares, _FITS),
    }


@contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Within, the network answers as in use (no dropout, norms with their stored means); afterwards it is as before."""
    modes = {part: part.training for part in model.modules()}
    try:
        for part in modes:
            part.training = False
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
