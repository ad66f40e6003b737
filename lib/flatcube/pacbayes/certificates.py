"""Certificates of trained networks, and of hand-built ones, on functions whose true risk is known.

    flatcube run certificates --scale book

FIRST, MAJORITY and PARITY are judged by their rate of errors. PAIRS and TRIPLES are sums of w = 3 even parities of
2 and 3 bits, with weights |N(0, 1)| scaled to ‖λ‖ = 2, which is variance 1 (SP Sec. 2.1); the squared error is clipped
at 4. All m examples are independent and uniform on the cube, so some inputs come twice.

An encoder is first trained on one half of its examples, then for half as many steps on all of them. The network that it
then is gets three certificates, which differ in what the prior is centred on: *zero*, its *initial* weights, and the
weights after the first *half*. The last has seen the first half, so that only the other counts: ``used`` is how many.
A hand-built network has seen nothing, and its prior is centred on zero.

One row is one certificate: the terms of its ``value`` (``noisy``, ``draws``, ``divergence``, ``choice``,
``confidence``), ``training``, the loss of the network itself on the ``used`` examples, ``test`` and ``noisy_test``, its
risk on the whole cube without and with noise; ``vacuous`` is 1 if ``constant``, the loss of the best constant, is no
larger than the value. ``norm2``, ``trace`` (2 E‖∇f‖², over 512 of the different inputs, drawn at random, or over all if
there are fewer) and ``error`` (mean squared) stand beside those of the hand-built network for the same function;
``dominated`` is 1 if none is above (an error below 10⁻³ counts as none), −1 if the function has no such network here.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from flatcube import cast, checks, cube, fourier, handmade, networks, training
from flatcube.experiments import store
from flatcube.experiments.engine import Experiment
from flatcube.pacbayes.certified import Certificate
from flatcube.pacbayes.certifier import certify
from flatcube.sampling import random_signs

__all__ = ["TERMS", "Trial", "trial", "summary", "EXPERIMENT"]

TERMS = {  # of a certificate, by column
    "noisy": "noisy loss",
    "draws": "draws",
    "divergence": "divergence",
    "choice": "choice of prior",
    "confidence": "confidence",
}
_SUMS = {"PAIRS": 2, "TRIPLES": 3}  # degrees
_NAMES = ("FIRST", "MAJORITY", "PARITY", *_SUMS)


@dataclass(frozen=True)
class Trial:
    """One network for one function on n bits, and m examples."""

    function: str
    n: int
    m: int
    kind: str = "encoder"
    seed: int = 0
    width: int = 16
    steps: int = 800
    batch: int = 64
    rate: float = 5e-3
    draws: int = 1000

    def __post_init__(self) -> None:
        checks.word(self.function, "function", _NAMES)
        checks.word(self.kind, "kind", ("encoder", "hand-built"))
        checks.integer(self.n, "n", 3, 12)
        checks.integer(self.m, "m", 2)


def _components(trial: Trial) -> cube.Components | None:
    """The function as a sum of even parities; None if it has more of them than the hand-built network has places."""
    if trial.function in _SUMS:
        rng = np.random.default_rng([trial.n, trial.seed])
        return cube.random_components(trial.n, _SUMS[trial.function], 3, rng=rng)
    if trial.function == "MAJORITY":
        return None
    return fourier.to_even(fourier.spectrum(cast.table(trial.function, trial.n)))


def _table(trial: Trial) -> np.ndarray:
    """The function on the whole cube, (2^n,)."""
    if trial.function in _SUMS:
        return cube.even_sum(_components(trial), trial.n)
    return cast.table(trial.function, trial.n).astype(float)


# --- networks ---------------------------------------------------------------------------------------------------------


def _trained(trial: Trial, table: np.ndarray, signs: np.ndarray) -> list[nn.Module]:
    """An encoder with its first weights, after training on the first half of the examples, and on all."""
    seed = 1000 * trial.n + 100 * _NAMES.index(trial.function) + trial.seed
    ensemble = networks.Ensemble(networks.Config(n=trial.n, width=trial.width, layers=1), seeds=[seed],
                                 dtype=torch.float32)  # fmt: skip
    found = [ensemble.member(0)]
    for inputs, steps in ((signs[: trial.m // 2], trial.steps), (signs, trial.steps // 2)):
        settings = training.Settings(steps=steps, batch=trial.batch, rate=trial.rate, decay=0.01, schedule="linear",
                                     every=steps)  # fmt: skip
        task = training.Task(table, trial.n, inputs=inputs)
        ensemble = training.train(ensemble, task, settings, seeds=[seed], progress=False).ensemble
        found.append(ensemble.member(0))
    return found


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for every certificate."""
    table, signs = _table(trial), random_signs((trial.m, trial.n), rng=[trial.n, trial.m, trial.seed])
    components = _components(trial)
    built = None if components is None else handmade.build(components, trial.n)
    if trial.kind == "hand-built":
        return [_row(trial, "zero", built, None, built, table, signs)]
    first, half, last = _trained(trial, table, signs)
    given = (built, table)
    return [
        _row(trial, "zero", last, None, *given, signs),
        _row(trial, "initial", last, first, *given, signs),
        _row(trial, "half", last, half, *given, signs[trial.m // 2 :]),
    ]


def _row(
    trial: Trial,
    prior: str,
    model: nn.Module,
    centre: nn.Module | None,
    built: nn.Module | None,
    table: np.ndarray,
    signs: np.ndarray,
) -> dict[str, object]:
    found = certify(
        model,
        (cube.to_bits(signs), table[cube.index(signs)]),
        loss="squared" if trial.function in _SUMS else "zero-one",
        prior=centre,
        exclude=() if trial.kind == "encoder" else ("tokens", "positions"),
        draws=trial.draws,
        test=(cube.to_bits(cube.points(trial.n)), table),
        construction=built,
        seed=trial.seed,
        progress=False,
    )
    weights = sum(weight.numel() for weight in model.parameters())
    own = {"kind": trial.kind, "function": trial.function, "n": trial.n, "m": trial.m, "seed": trial.seed,
           "weights": weights, "prior": prior, "used": found.m}  # fmt: skip
    return own | _measured(found)


def _measured(found: Certificate) -> dict[str, object]:
    terms = [found.terms.get(name, 0.0) for name in TERMS.values()]
    nothing = (math.nan, math.nan)
    pairs = [found.domination.get(name, nothing) for name in ("‖θ‖²", "trace", "squared error")]
    return {
        **dict(zip(TERMS, terms, strict=True)),
        "value": found.value,
        "constant": found.constant,
        "vacuous": int(found.vacuous),
        "training": found.empirical,
        "test": found.test,
        "noisy_test": found.noisy_test,
        "kl": found.kl,
        "norm2": pairs[0][0],
        "built_norm2": pairs[0][1],
        "trace": pairs[1][0],
        "built_trace": pairs[1][1],
        "error": pairs[2][0],
        "dominated": -1 if found.dominated is None else int(found.dominated),
    }


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``certificates``: the best of every network. ``priors``: by prior, how many say something, and hold."""
    kept = store.numbers(rows, *_WORDS)
    best = [min(group, key=lambda row: row["value"] / row["constant"]) for group in _networks(kept).values()]
    columns = ("kind", "function", "n", "m", "prior", "noisy", "value", "constant", "test", "noisy_test")
    return {
        "certificates": [{name: row[name] for name in columns} for row in best],
        "priors": [_prior(name, [row for row in kept if row["prior"] == name])
                   for name in dict.fromkeys(row["prior"] for row in kept)],
    }  # fmt: skip


_WORDS = ("kind", "function", "prior")


def _networks(rows: list[dict]) -> dict[tuple, list[dict]]:
    found: dict[tuple, list[dict]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in ("kind", "function", "n", "m", "seed")), []).append(row)
    return found


def _prior(name: str, rows: list[dict]) -> dict[str, object]:
    return {
        "prior": name,
        "certificates": len(rows),
        "speak": sum(row["vacuous"] == 0 for row in rows),
        "hold": sum(row["noisy_test"] <= row["value"] for row in rows),
        "dominated": sum(row["dominated"] == 1 for row in rows),
        "judged": sum(row["dominated"] >= 0 for row in rows),
    }


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    inputs = 2**trial.n * -math.expm1(-trial.m / 2**trial.n)
    looked = (trial.draws * inputs + 200 * 2**trial.n + 100 * 16 * min(512, inputs)) * trial.n / 8
    if trial.kind == "hand-built":
        return 4e-6 * looked + 1
    step = 2.5e-5 * trial.n / 8 * trial.batch * (trial.width / 16) ** 1.5 + 3e-3
    return 1.5 * trial.steps * step + 3 * 2e-6 * looked * (trial.width / 16) ** 1.5 + 1


def _book() -> list[Trial]:
    long = {"PAIRS": {"steps": 2500}, "TRIPLES": {"steps": 2500}, "PARITY": {"steps": 1600}}
    sizes = [(name, 12, m) for m in (2000, 20_000) for name in ("FIRST", "MAJORITY", "PAIRS")]
    sizes += [(name, 8, 2000) for name in ("FIRST", "MAJORITY", "PAIRS", "TRIPLES")]
    sizes += [("PARITY", 4, 2000), ("PARITY", 6, 2000)]
    grid = [Trial(name, n, m, **long.get(name, {})) for name, n, m in sizes]
    built = [("FIRST", 8), ("PARITY", 4), ("PAIRS", 8), ("PAIRS", 12), ("TRIPLES", 8)]
    return grid + [Trial(name, n, 20_000, "hand-built") for name, n in built]


def _live() -> list[Trial]:
    small = {"width": 8, "steps": 100, "draws": 50}
    return [Trial("FIRST", 4, 200, **small), Trial("PAIRS", 4, 200, "hand-built", draws=50)]


def _paper() -> list[Trial]:
    """SP have no certificates; this is ours, wider, with more examples and ten seeds."""
    sizes = [(name, n, m) for name in _NAMES for n in (8, 10, 12) for m in (2000, 20_000, 200_000)]
    options = {"width": 64, "steps": 10_000, "batch": 256, "rate": 1e-3, "draws": 4000}
    return [Trial(*size, seed=seed, **options) for size in sizes for seed in range(10)]


EXPERIMENT = Experiment(
    name="certificates",
    version="2",
    title="Certificates of trained and hand-built networks",
    figures="beyond the papers",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=cost,
    summary=summary,
)
