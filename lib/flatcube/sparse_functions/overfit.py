"""Two runs with a hidden AND beside each other: too few examples, and enough (ED Fig. 2 right, App. C.1).

    flatcube run overfit --scale book

As ``sparse_and``, but all 1000 steps of ED are done. A row is one network at one step: ``loss`` and ``train``, logistic
loss and accuracy on its m examples, and ``accuracy`` on 2000 fresh inputs.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import nn

from flatcube import cube
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.sparse_functions import learners
from flatcube.sparse_functions.sparse_and import Trial, tasks

__all__ = ["trial", "summary", "measured", "EXPERIMENT"]


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train the networks of a trial: one row for each evaluation of each."""
    rows = []
    for seed in trial.seeds:
        (task,) = tasks(replace(trial, seeds=(seed,)))
        bits, y = torch.as_tensor(cube.to_bits(task.inputs)), torch.as_tensor(task.values(task.inputs))

        def measure(member: nn.Module, step: int, bits: torch.Tensor = bits, y: torch.Tensor = y) -> dict[str, float]:
            with torch.no_grad():
                margins = y * member(bits)
            return {"now": float(nn.functional.softplus(-margins).mean()), "train": float((margins > 0).float().mean())}

        plan = learners.settings(trial.steps, trial.m, min(20, trial.steps))
        run = learners.train(learners.networks(trial.T, [seed]), [task], plan, [seed], measure)
        columns = (run.history[name].tolist() for name in ("step", "now", "train", "error"))
        for step, loss, train, error in zip(*columns, strict=True):
            rows.append({"T": trial.T, "m": trial.m, "seed": seed, "step": step, "loss": loss, "train": train,
                         "accuracy": 1 - error})  # fmt: skip
    return rows


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``networks``: the best and the last accuracy on fresh inputs of each, and its last training loss and accuracy."""
    curves: dict[tuple, list] = {}
    for row in store.numbers(rows):
        curves.setdefault((int(row["T"]), int(row["m"]), int(row["seed"])), []).append(row)
    found = []
    for (T, m, seed), curve in curves.items():
        ends = {name: curve[-1][name] for name in ("step", "loss", "train", "accuracy")}
        found.append({"T": T, "m": m, "seed": seed, "best": max(row["accuracy"] for row in curve)} | ends)
    return {"networks": found}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """ED-F2R agrees if with the smaller m all networks fit their examples, most fail on fresh inputs (best accuracy up
    to 0.99) and with the larger m most succeed; in part, if some of these hold. ED-C1-100 agrees if all networks end
    with a training loss below 10⁻⁴ and no error on their examples; in part, if all have no error."""
    networks = summary(rows)["networks"]
    few, many = ([one for one in networks if one["m"] == m] for m in sorted({one["m"] for one in networks}))
    lost, won = sum(one["best"] <= 0.99 for one in few), sum(one["best"] > 0.99 for one in many)
    fitted, low = sum(one["train"] == 1 for one in networks), sum(one["loss"] < 1e-4 for one in networks)
    rules = [all(one["train"] == 1 for one in few), 2 * lost > len(few), 2 * won > len(many)]
    first = (
        f"T = {few[0]['T']}, 1000 steps. With m = {few[0]['m']}: {lost} of {len(few)} networks stay at or below 0.99 "
        f"on fresh inputs (best accuracies {_listed(few)}), all end with a training accuracy of "
        f"{min(one['train'] for one in few):.2f} or more. With m = {many[0]['m']}: {won} of {len(many)} succeed "
        f"({_listed(many)})."
    )
    second = (
        f"{fitted} of {len(networks)} networks fit all their examples after 1000 steps, {low} have a loss below 10⁻⁴; "
        f"the largest is {max(one['loss'] for one in networks):.2g}. ED has dropout, which we leave out."
    )
    return [{"id": "ED-F2R", "verdict": trends.verdict(rules), "statement": first},
            {"id": "ED-C1-100", "verdict": trends.verdict([fitted == len(networks), low == len(networks)]),
             "statement": second}]  # fmt: skip


def _listed(networks: list[dict]) -> str:
    return ", ".join(f"{one['best']:.3f}" for one in networks)


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly."""
    return len(trial.seeds) * trial.steps * 8e-3 * trial.T / 400


EXPERIMENT = Experiment(
    name="overfit",
    version="1",
    title="Training and fresh accuracy on a hidden AND, with too few examples and with enough",
    figures="ED Fig. 2 right",
    grids={
        "live": [Trial(8, m, (0,), 60, 256) for m in (10, 60)],
        "book": [Trial(400, m, tuple(range(3)), 1000) for m in (100, 200)],
        "paper": [Trial(400, m, (seed,), 1000, 10_000) for m in (100, 200) for seed in range(50)],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
