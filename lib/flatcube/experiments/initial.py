"""How sensitive networks are before any training (HR Sec. 6): encoders across depths, heads and scales, and LSTMs.

    python -m flatcube.experiments.initial

writes ``data/initial.csv`` and the row of HR-S6-INIT in ``data/measured.csv``. One row has the mean of as_n over 60
random networks on 8 bits, each cut at the median of its outputs, with its standard error. ``scale`` is the standard
deviation of all weights of an encoder, or the factor on those of an LSTM; "default" is what PyTorch draws.
"""

import numpy as np
import torch
from torch import Tensor, nn

from flatcube import cube, encoder, sensitivity
from flatcube.experiments import store

__all__ = ["N", "NETWORKS", "cell", "measured", "main"]

N, NETWORKS, SEED = 8, 60, 9
_COMMAND = "python -m flatcube.experiments.initial"
_ENCODERS = [("encoder", layers, heads, scale)
             for layers in (1, 2, 4) for heads in (1, 4) for scale in ("default", "0.1", "0.3", "1", "3")]  # fmt: skip
_LSTMS = [("LSTM", layers, 0, scale) for layers in (1, 2, 4) for scale in ("default", "3", "10")]


class _Lstm(nn.Module):
    """An LSTM of width 32 over signs, read at its end."""

    def __init__(self, layers: int, scale: float) -> None:
        super().__init__()
        self.cells, self.readout = nn.LSTM(1, 32, num_layers=layers, batch_first=True), nn.Linear(32, 1)
        with torch.no_grad():
            for weight in self.cells.parameters():
                weight.mul_(scale)

    def forward(self, bits: Tensor) -> Tensor:
        return self.readout(self.cells(1 - 2.0 * bits[..., None])[0][:, -1])[:, 0]


def cell(kind: str, layers: int, heads: int, scale: str, networks: int = NETWORKS) -> dict[str, object]:
    """One row: the mean average sensitivity of random networks, and its standard error."""
    bits = torch.as_tensor(cube.to_bits(cube.points(N))).long()
    found = []
    for seed in range(SEED, SEED + networks):
        if kind == "encoder":
            std = None if scale == "default" else float(scale)
            model = encoder.Encoder(encoder.Config(n=N, layers=layers, heads=heads, std=std), seed=seed)
        else:
            torch.manual_seed(seed)
            model = _Lstm(layers, 1.0 if scale == "default" else float(scale))
        with torch.no_grad():
            outputs = model(bits).double().numpy()
        found.append(sensitivity.average(np.where(outputs > np.median(outputs), -1.0, 1.0)))
    row = {"kind": kind, "layers": layers, "heads": heads, "scale": scale, "networks": networks}
    return row | {"mean": f"{np.mean(found):.4f}", "error": f"{np.std(found, ddof=1) / np.sqrt(networks):.4f}"}


def measured() -> dict[str, str]:
    """The row of HR-S6-INIT in ``data/measured.csv``, from the stored study."""
    study = store.load("initial")
    of = {
        (r["kind"], r["layers"], r["heads"], r["scale"]): (float(r["mean"]), 2 * float(r["error"])) for r in study
    }  # fmt: skip
    usual = {layers: of["encoder", layers, "4", "default"] for layers in ("1", "2", "4")}
    recurrent = {layers: of["LSTM", layers, "0", "default"] for layers in ("1", "2", "4")}
    below = all(usual[k][0] + usual[k][1] < min(N / 2, recurrent[k][0] - recurrent[k][1]) for k in usual)
    top = max((mean, key) for key, (mean, _) in of.items() if key[0] == "encoder")
    listed = ", ".join(f"{usual[k][0]:.2f} ± {usual[k][1]:.2f}" for k in usual)
    others = ", ".join(f"{recurrent[k][0]:.2f} ± {recurrent[k][1]:.2f}" for k in recurrent)
    statement = (
        f"{NETWORKS} random networks on {N} bits with PyTorch's initial values: encoders of 1, 2 and 4 layers have "
        f"as = {listed}, LSTMs {others}, random functions {N / 2:g}. The scale matters: weights drawn "
        f"from N(0, {top[1][3]}²) take {top[1][1]} layers with {top[1][2]} heads to {top[0]:.2f}."
    )
    verdict = "agrees in part" if below and top[0] > 3 else "agrees" if below else "differs"
    return {"id": "HR-S6-INIT", "verdict": verdict, "statement": statement, "results": "data/initial.csv",
            "command": _COMMAND}  # fmt: skip


def main() -> None:
    """Compute all rows and store them."""
    store.save("initial", [cell(*key) for key in _ENCODERS + _LSTMS], command=_COMMAND, seed=SEED)
    store.record(measured())


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
