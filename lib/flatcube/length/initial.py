"""How sensitive networks are before any training (HR Sec. 6): encoders across depths, heads and scales, and LSTMs.

    flatcube run initial --scale book

One row has the mean of as_n over random networks on n bits, each cut at the median of its outputs, and its standard
error. ``scale`` is the standard deviation of all weights of an encoder, or the factor on those of an LSTM; "default" is
what PyTorch draws. Random functions have as_n = n/2. HR give no settings; the paper scale only has more of everything.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import checks, cube, networks, sensitivity
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment

__all__ = ["Trial", "trial", "summary", "measured", "EXPERIMENT"]

_N = 8  # the length of which chapter 9 speaks
_CELL = ("kind", "layers", "heads", "scale")


@dataclass(frozen=True)
class Trial:
    """Random networks of one kind and length; those of number k have the same seed in every trial."""

    n: int
    kind: str
    layers: int
    heads: int
    scale: str
    networks: int = 60
    seed: int = 9

    def __post_init__(self) -> None:
        checks.integer(self.n, "n", 1)
        checks.integer(self.networks, "networks", 2)
        if self.kind not in ("encoder", "LSTM"):
            raise ValueError(f"kind: expected encoder or LSTM, got {self.kind!r}")


class _Lstm(nn.Module):
    """An LSTM of width 32 over signs, read at its end."""

    def __init__(self, layers: int, scale: float, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.cells, self.readout = nn.LSTM(1, 32, num_layers=layers, batch_first=True), nn.Linear(32, 1)
        with torch.no_grad():
            for weight in self.cells.parameters():
                weight.mul_(scale)

    def forward(self, bits: Tensor) -> Tensor:
        return self.readout(self.cells(1 - 2.0 * bits[..., None])[0][:, -1])[:, 0]


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row: the mean average sensitivity of random networks, and its standard error."""
    bits = torch.as_tensor(cube.to_bits(cube.points(trial.n))).long()
    found, scale = [], None if trial.scale == "default" else float(trial.scale)
    for seed in range(trial.seed, trial.seed + trial.networks):
        if trial.kind == "encoder":
            config = networks.Config(n=trial.n, layers=trial.layers, heads=trial.heads, std=scale)
            model: nn.Module = networks.Encoder(config, seed=seed)
        else:
            model = _Lstm(trial.layers, 1.0 if scale is None else scale, seed)
        with torch.no_grad():
            outputs = model(bits).double().numpy()
        found.append(sensitivity.average(np.where(outputs > np.median(outputs), -1.0, 1.0)))
    error = np.std(found, ddof=1) / np.sqrt(trial.networks)
    row = {name: getattr(trial, name) for name in ("n", *_CELL, "networks")}
    return [row | {"mean": float(np.mean(found)), "error": float(error)}]


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``slopes``: for every kind of network, the straight line through as_n against n, and as_n/n at the longest n.

    Both are ½ for random functions.
    """
    found: dict[tuple, dict[int, float]] = {}
    for row in rows:
        key = (row["kind"], int(row["layers"]), int(row["heads"]), row["scale"])
        found.setdefault(key, {})[int(row["n"])] = float(row["mean"])
    slopes = []
    for key, means in found.items():
        network = dict(zip(_CELL, key, strict=True)) | {"longest": max(means), "share": means[max(means)] / max(means)}
        slopes.append(network | trends.line(list(means), list(means.values())))
    return {"slopes": slopes}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What the stored rows say of HR-S6-INIT; ± are two standard errors.

    It agrees if at every depth and length encoders as PyTorch draws them, with ±, are below LSTMs and random functions,
    and if no size of weights takes encoders of 8 bits above 3, where random functions have 4; in part if encoders are
    below at some.
    """
    of = {
        (int(r["n"]), *(r[name] for name in _CELL)): (float(r["mean"]), 2 * float(r["error"])) for r in rows
    }  # fmt: skip
    lengths, layers = sorted({key[0] for key in of}), ("1", "2", "4")
    usual, recurrent = (
        {(n, k): of[n, kind, k, heads, "default"] for n in lengths for k in layers}
        for kind, heads in (("encoder", "4"), ("LSTM", "0"))
    )
    below = [key for key in usual if sum(usual[key]) < min(key[0] / 2, recurrent[key][0] - recurrent[key][1])]
    listed, others = (", ".join("{:.2f} ± {:.2f}".format(*some[_N, k]) for k in layers) for some in (usual, recurrent))
    top = max((mean, key) for key, (mean, _) in of.items() if key[:2] == (_N, "encoder"))
    lines = {tuple(line[name] for name in _CELL): line for line in summary(rows)["slopes"]}
    slopes = "; ".join(
        f"{cell[0]} {line['slope']:.3f} ({line['low']:.3f} to {line['high']:.3f})"
        for cell, line in ((cell, lines[cell]) for cell in (("encoder", 2, 4, "default"), ("LSTM", 2, 0, "default")))
    )
    statement = (
        f"{rows[0]['networks']} random networks on {_N} bits with PyTorch's initial values: encoders of 1, 2 and 4 "
        f"layers have as = {listed}, LSTMs {others}, random functions {_N / 2:g}. Encoders are below both in "
        f"{len(below)} of {len(usual)} pairs of depth and length, n = {lengths[0]} to {lengths[-1]}. Slope of as per "
        f"bit with two layers and its 95 % interval: {slopes}; random functions 0.5. The scale matters: weights drawn "
        f"from N(0, {top[1][4]}²) take {top[1][2]} layers with {top[1][3]} heads to {top[0]:.2f} on {_N} bits."
    )
    whole = len(below) == len(usual)
    verdict = "agrees" if whole and top[0] <= 3 else "agrees in part" if below else "differs"
    return [{"id": "HR-S6-INIT", "verdict": verdict, "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: a network of four layers takes a quarter of a second for all inputs of 12 bits."""
    return trial.networks * (0.005 + 1e-6 * trial.n * 2**trial.n * trial.layers)


def _grid(lengths: Iterable[int], networks: int) -> list[Trial]:
    depths, scales = (1, 2, 4), ("default", "0.1", "0.3", "1", "3")
    cells = [("encoder", layers, heads, scale) for layers in depths for heads in (1, 4) for scale in scales]
    cells += [("LSTM", layers, 0, scale) for layers in depths for scale in ("default", "3", "10")]
    return [Trial(n, *cell, networks=networks) for n in lengths for cell in cells]


EXPERIMENT = Experiment(
    name="initial",
    version="1",
    title="Sensitivity of networks before training, against the length of their inputs",
    figures="HR Sec. 6",
    grids={"live": _grid((2, 4, 6), 5), "book": _grid(range(4, 13, 2), 60), "paper": _grid(range(4, 15), 200)},
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
