"""Are transformers that read sentences less sensitive than LSTMs that fit them as well? (VA Sec. 6)

    flatcube run sentences --scale book

A trial is one network, trained with AdamW until its accuracy on the examples is ``goal``. A row is one number about it,
on the way (``final`` 0) or at the end (1): ``what`` is

- ``token``: sensitivity to noise of variance ``level`` in one vector, before which all vectors have length √D
  (VA Sec. 6); ``position`` −1 is the mean over a sentence's tokens, 0 its beginning <s>, and k the k-th word from the
  end; ``held``: the same on sentences that were kept apart;
- ``renormed``, ``swap``, ``whole``: with noise that keeps the vector's length; with the vector that another sentence
  has in this place; with noise on all vectors at once (Table 4).

Who has the files of MRPC or QQP runs the same on them: ``originals``.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from flatcube import checks
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.tokens import flips, learn, models, text
from flatcube.tokens._sentence_rules import DEPTHS, SOURCES, finals, measured

__all__ = ["Trial", "originals", "trial", "summary", "measured", "EXPERIMENT"]

VARIANCES = (1.0, 4.0, 15.0)
_PAPER = {"layers": 4, "width": 64, "m": 7000, "rate": 5e-4, "epochs": 40, "looked": 2000}
_SECONDS = {"lstm": 3, "softmax": 4, "relu": 4, "causal": 4}


@dataclass(frozen=True)
class Trial:
    """One network; ``source`` says of which sentences: "films", "made", or the path of a file of MRPC or QQP."""

    kind: str
    seed: int
    source: str = "films"
    layers: int = 2
    width: int = 32
    m: int = 7000
    T: int = 24
    rate: float = 2e-3
    batch: int = 50
    goal: float = 0.95
    epochs: int = 12
    looked: int = 200

    def __post_init__(self) -> None:
        checks.word(self.kind, "kind", models.READERS)
        checks.instance(self.source, "source", str)


def _found(source: str, m: int) -> text.Rated:
    if source in SOURCES:
        return text.rated() if source == "films" else text.spoken(m + 200, rng=0)
    return text.pairs(source)


def originals(path: str, seeds: int = 5) -> list[Trial]:
    """The paper's trials on a file of MRPC or QQP in its original format, of which 500 pairs are kept apart.

        rows = [row for one in originals("msr_paraphrase_train.txt") for row in trial(one)]

    is what ``measured`` asks for, in hours; after ``dataclasses.replace(one, layers=2, …)``, in minutes.
    """
    left = len(text.pairs(path)) - 500
    if left < 1:
        raise ValueError(f"path: expected more than 500 pairs, of which 500 are kept apart, got {left + 500} in {path}")
    sizes = _PAPER | {"m": min(_PAPER["m"], left), "T": 64}
    checks.integer(seeds, "seeds", 1)
    return [Trial(kind, seed, path, **sizes) for kind in models.READERS for seed in range(seeds)]


@functools.cache
def _sentences(source: str, m: int, T: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Examples and their classes, sentences kept apart and theirs, and the size of the vocabulary."""
    found = _found(source, m)
    if len(found) <= m:
        raise ValueError(f"m: expected fewer examples than there are in {source}, {len(found)}, got {m}")
    order = np.random.default_rng(0).permutation(len(found))[: m + 500]
    texts, labels = [found[k][0] for k in order], np.array([found[k][1] for k in order])
    words = text.vocabulary(texts[:m])
    inputs = text.coded(texts, words, T)
    return inputs[:m], labels[:m], inputs[m:], labels[m:], len(words) + text.UNKNOWN + 1


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the network of a trial and measure it: one row for each number."""
    x, y, held, told, words = _sentences(trial.source, trial.m, trial.T)
    model = models.seeded(
        lambda: models.Reader(words, trial.T, trial.kind, width=trial.width, layers=trial.layers), trial.seed
    )
    embed, read = models.numbers(model.embed), models.numbers(model.read)
    named = {name: getattr(trial, name) for name in ("source", "kind", "layers", "seed")}
    rows: list[dict[str, object]] = []

    def shares(epoch: float, train: float, final: int, words: np.ndarray, what: str, level: float) -> None:
        vectors, rng = embed(words), np.random.default_rng([trial.seed, round(10 * level)])
        noise = flips.noisy(level**0.5)
        if what == "whole":
            there = (words > 0)[..., None]
            found = flips.whole(read, vectors, lambda x, rng: noise(x, rng) * there, rng=rng, repeats=4)
        else:
            change = {"swap": flips.swapped(), "renormed": flips.renormed(level**0.5)}.get(what, noise)
            found = flips.sampled(read, vectors, change, rng=rng, present=words > 0)
        values = [(-1, found.value, found.error)]
        if final and what in ("token", "swap") and level in (0.0, 15.0):
            places = [found.positions[0], *found.positions[:0:-1]]
            values += [(k, float(value), 0.0) for k, value in enumerate(places) if np.isfinite(value)]
        for position, value, error in values:
            rows.append(named | {"epoch": round(epoch, 3), "train": train, "test": tested[0], "final": final,
                                 "what": what, "level": level, "position": position, "value": value,
                                 "error": error})  # fmt: skip

    def watch(epoch: float, train: float) -> None:
        model.eval()
        tested[0] = learn.accuracy(model, torch.as_tensor(held), torch.as_tensor(told))
        shares(epoch, train, 0, x[: trial.looked // 2], "token", VARIANCES[-1])
        model.train()

    tested = [0.0]
    epochs, train = learn.fit(model, torch.as_tensor(x), torch.as_tensor(y), optimiser="adam", rate=trial.rate,
                              decay=1e-4, batch=trial.batch, goal=trial.goal, epochs=trial.epochs, seed=trial.seed,
                              watch=watch, checks_each=1)  # fmt: skip
    tested[0] = learn.accuracy(model, torch.as_tensor(held), torch.as_tensor(told))
    for level in VARIANCES:
        shares(epochs, train, 1, x[: trial.looked], "token", level)
    shares(epochs, train, 1, held[: trial.looked], "held", VARIANCES[-1])
    shares(epochs, train, 1, x[: trial.looked], "renormed", VARIANCES[-1])
    shares(epochs, train, 1, x[: trial.looked], "swap", 0.0)
    shares(epochs, train, 1, x[: trial.looked], "whole", 0.5)
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``numbers``: the mean over networks of every number after training, with its 95 % interval by Student's t."""
    rows = list(rows)
    return {"numbers": [
        {"kind": kind, "layers": layers, "what": what, "level": level, "position": position, "networks": len(values)}
        | {name: found for name, found in trends.contrast([values], [1]).items() if name != "free"}
        for layers in sorted({int(row["layers"]) for row in rows})
        for (kind, what, level, position), values in finals(rows, layers=layers).items()
    ]}  # fmt: skip


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    return _SECONDS[trial.kind] * trial.m * trial.epochs / 12_000 * (1 + trial.layers) / 3


EXPERIMENT = Experiment(
    name="sentences",
    version="1",
    title="Sensitivity of networks that read sentences to noise in one word",
    figures="VA Figs 5, 6, 19-22, Table 4",
    grids={
        "live": [Trial(kind, 0, "made", m=100, T=14, epochs=2, looked=10) for kind in ("lstm", "relu")],
        "book": [Trial(kind, seed) for kind in models.READERS for seed in range(8)]
        + [Trial("softmax", seed, layers=layers) for layers in (DEPTHS[0], DEPTHS[-1]) for seed in range(8)],
        "paper": [Trial(kind, seed, **_PAPER) for kind in models.READERS for seed in range(5)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)  # fmt: skip
