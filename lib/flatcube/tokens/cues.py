"""Which cue does a layer of attention follow, the less sensitive one or the one with more signal? (VA Sec. 4.1)

    flatcube run cues --scale book

A trial is one network of VA Eq. (3) in one setting of Def. 4.3, trained on the logistic loss with SGD at rate 1 in
batches of 100, from weights N(0, 0.05²); the paper names neither rate nor scale. A row is one network at one epoch:
``train`` and ``test``, accuracies; ``flipped``, the accuracy where the sparse tokens are those of the other class;
``sparse``, ``frequent``, ``irrelevant`` and ``mean``, alignments of the head; ``mass_sparse``, …, attention;
``sensitivity``, that of Def. 4.1 on examples, one random replacement for each token.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import nn

from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.tokens import flips, models, single
from flatcube.tokens.synthetic import Setting, draw, frequent_sensitivity, signals, sparse_sensitivity

__all__ = ["Trial", "trial", "ends", "summary", "measured", "EXPERIMENT"]

_KINDS = ("sparse", "frequent", "irrelevant")


@dataclass(frozen=True)
class Trial:
    """One network in one setting."""

    n_s: int
    n_f: int
    n_d: int
    m: int
    M: int
    seed: int
    T: int = 50
    examples: int = 1000
    epochs: int = 14
    rate: float = 1.0
    std: float = 0.05
    batch: int = 100
    every: int = 2

    @property
    def setting(self) -> Setting:
        """The setting of Def. 4.3."""
        return Setting(self.n_s, self.n_f, self.n_d, self.m, self.T, self.M)


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the network of a trial: one row for each evaluation."""
    rng, setting = np.random.default_rng([15, trial.seed]), trial.setting
    tokens, y = draw(setting, trial.examples, rng=rng)
    tests = {"test": draw(setting, 500, rng=rng), "flipped": draw(setting, 500, rng=rng, flipped=True)}
    model = single.Single(trial.M, trial.T, std=trial.std, seed=trial.seed)
    step, f = torch.optim.SGD(model.parameters(), lr=trial.rate), models.numbers(model)
    x, target = torch.as_tensor(tokens), torch.as_tensor(y)
    rows = []
    for epoch in range(trial.epochs + 1):
        if epoch % trial.every == 0:
            right = {name: float(np.mean(np.sign(f(some)) == labels)) for name, (some, labels) in tests.items()}
            found = flips.sampled(f, tokens[:40], flips.replaced(trial.M), rng=rng)
            attention = zip(_KINDS, single.mass(model, tokens[:200], setting), strict=True)
            rows.append({name: getattr(trial, name) for name in ("n_s", "n_f", "n_d", "m", "M", "seed")}
                        | {"epoch": epoch, "train": float(np.mean(np.sign(f(tokens)) == y))} | right
                        | single.alignment(model, setting) | {f"mass_{name}": value for name, value in attention}
                        | {"sensitivity": found.value, "error": found.error})  # fmt: skip
        for chosen in torch.as_tensor(rng.permutation(len(x))).split(trial.batch):
            loss = nn.functional.softplus(-target[chosen] * model(x[chosen])).mean()
            step.zero_grad()
            loss.backward()
            step.step()
    return rows


# --- what it says -----------------------------------------------------------------------------------------------------


def ends(rows: Iterable[dict]) -> list[dict[str, float]]:
    """The last row of every network, numbers as numbers, with what the two rules say of its setting.

    ``signal`` and ``quiet`` are 1 if the frequent cue has the larger signal, or the smaller sensitivity, −1 if it is
    the sparse one and 0 if they are equal; ``followed`` is 1 if the network goes by frequent tokens, −1 if by sparse
    ones: it is right, or wrong, on most sequences whose sparse tokens are flipped.
    """
    last = {}
    for row in store.numbers(rows):
        last[tuple(row[name] for name in ("n_s", "n_f", "n_d", "m", "seed"))] = row
    for row in last.values():
        setting = Setting(*(int(row[name]) for name in ("n_s", "n_f", "n_d", "m")), M=int(row["M"]))
        sparse, frequent = signals(setting)
        row |= {"sparse_signal": sparse, "frequent_signal": frequent, "signal": float(np.sign(frequent - sparse)),
                "quiet": float(np.sign(sparse_sensitivity(setting) - frequent_sensitivity(setting))),
                "followed": 1.0 if row["flipped"] > 0.5 else -1.0}  # fmt: skip
    return list(last.values())


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``settings``: what the two rules say, and how the networks of each end, in the mean over seeds."""
    groups: dict[tuple, list[dict[str, float]]] = {}
    for row in ends(rows):
        groups.setdefault(tuple(int(row[name]) for name in ("n_s", "n_f", "n_d", "m")), []).append(row)
    names = ("quiet", "signal", "train", "flipped", "sparse", "frequent", "mean", "mass_sparse", "mass_frequent",
             "mass_irrelevant", "sensitivity")  # fmt: skip
    return {"settings": [dict(zip(("n_s", "n_f", "n_d", "m"), key, strict=True)) | {"networks": len(some)}
                         | {name: float(np.mean([row[name] for row in some])) for name in names}
                         for key, some in groups.items()]}  # fmt: skip


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """VA-F3L and VA-F3R: the settings of Table 3 with n_s = 3 and n_d = 7, networks that fit 0.99 of their examples.
    They agree if all of them have an accuracy up to 0.05, or from 0.95 on, on flipped sequences, in the setting of
    Fig. 3 and in all of Fig. 9, a mean alignment with the cue's direction of 0.95 or more, and most attention on the
    cue's tokens; in part, if some of these hold.

    VA-F3X agrees if no network follows the sparse tokens where the frequent cue is less sensitive, and differs
    otherwise: the statement is "only". VA-X5 agrees, which means that the sweep decides between the rules, if a sign
    test over the networks of settings in which both speak and differ gives p < 0.05.
    """
    found = ends(rows)
    one, other = ([row for row in found if (row["n_s"], row["n_d"]) == pair] for pair in ((3, 1), (1, 7)))
    said = []
    for name, some, cue, low, high in (("VA-F3L", one, "sparse", 0.0, 0.05), ("VA-F3R", other, "frequent", 0.95, 1.0)):
        drawn, some = len(some), [row for row in some if row["train"] >= 0.99]
        first = [row for row in some if row["m"] in (16, 20)]
        cosine, mean = ([row[key] for row in some] for key in (cue, "mean"))
        kept = [all(low <= row["flipped"] <= high for row in few) for few in (first, some)]
        top = sum(row[f"mass_{cue}"] == max(row[f"mass_{kind}"] for kind in _KINDS) for row in some)
        shares = [abs(row[f"mass_{kind}"] - share) for row in some for kind, share in _shares(row).items()]
        said.append({"id": name, "verdict": trends.verdict([*kept, np.mean(cosine) >= 0.95, top == len(some)]),
                     "statement": (
            f"{len(some)} of {drawn} networks fit. Accuracy with flipped sparse tokens in the setting of Fig. 3 "
            f"{_range([row['flipped'] for row in first])}, in all {_range([row['flipped'] for row in some])}. "
            f"Alignment with the {cue} direction {_range(cosine)}, with the difference of class means {_range(mean)}. "
            f"Most attention on {cue} tokens in {top} of {len(some)}: it is off the tokens' shares by up to "
            f"{max(shares):.2g}, {np.median(shares):.2g} in the median."
        )})  # fmt: skip
    lost = [row for row in found if row["quiet"] > 0 and row["followed"] < 0]
    held = [row for row in found if row["quiet"] > 0]
    said.append({"id": "VA-F3X", "verdict": "differs" if lost else "agrees", "statement": (
        f"Of {len(held)} networks, trained by gradient descent, in settings where the frequent cue is the less "
        f"sensitive one, {len(lost)} follow the sparse tokens, {_settings(lost)}. Learnt functions use both cues: "
        f"their sensitivity is at most {max(row['sensitivity'] for row in held):.2g} there, so a bias to low "
        f"sensitivity as such is not refuted."
    )})  # fmt: skip
    apart = [row for row in found if row["quiet"] * row["signal"] < 0]
    right = sum(row["followed"] == row["signal"] for row in apart)
    p = stats.binomtest(right, len(apart)).pvalue if apart else 1.0
    decided = [row for row in found if row["signal"]]
    said.append({"id": "VA-X5", "verdict": "agrees" if p < 0.05 else "differs", "statement": (
        f"Where the rules differ, {right} of {len(apart)} networks, trained by gradient descent, follow the cue "
        f"with the larger signal, n_s² or ℓ²/m, where ℓ is the lead of the frequent tokens (sign test: p = {p:.2g}); "
        f"over all settings {sum(row['followed'] == row['signal'] for row in decided)} of {len(decided)}. The head "
        f"aligns with the difference of class means: cosine {_range([row['mean'] for row in found])}."
    )})  # fmt: skip
    return said


def _shares(row: dict[str, float]) -> dict[str, float]:
    sparse, frequent = row["n_s"] / 50, row["n_f"] / 50
    return {"sparse": sparse, "frequent": frequent, "irrelevant": 1 - sparse - frequent}


def _range(values: Iterable[float]) -> str:
    values = list(values)
    return f"{min(values):.2f} to {max(values):.2f}"


def _settings(rows: list[dict[str, float]]) -> str:
    found = dict.fromkeys(f"({row['n_s']:.0f}, {row['n_f']:.0f}, {row['n_d']:.0f}, {row['m']:.0f})" for row in rows)
    return f"in {', '.join(found)}" if found else "in no setting"


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    return 3 * trial.examples * trial.epochs / 14_000


# n_s, n_f, n_d, m and M: VA Table 3, then our own control and sweep (VA-X5), in the smallest vocabularies
TABLE = [(3, 3 + 2 * k, 1, m, 59) for k, m in ((0, 6), (1, 16), (2, 28))]
TABLE += [(1, 7, 7, 10, 69), (1, 17, 7, 20, 69), (1, 32, 7, 36, 75)]
SWEEP = [(1, 17, 3, 20, 69), (1, 17, 5, 20, 69), (1, 17, 5, 30, 69), (1, 5, 3, 16, 69), (1, 32, 5, 36, 75),
         (2, 7, 7, 10, 69), (3, 17, 7, 20, 69)]  # fmt: skip

EXPERIMENT = Experiment(
    name="cues",
    version="1",
    title="A layer of attention with two cues to the class, and what it does when they disagree",
    figures="VA Figs 3 and 9, Table 3",
    grids={
        "live": [Trial(*SWEEP[0], seed=0, examples=200, epochs=4, every=2)],
        "book": [Trial(*one, seed=seed) for one in (*TABLE, *SWEEP) for seed in range(8)],
        "paper": [Trial(*one, seed=seed, epochs=100) for one in TABLE for seed in range(30)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
