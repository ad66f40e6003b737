"""Theorem 6 without training: the cast, built by hand with one architecture, and shaken (HR Eq. 15 and 16).

    python -m flatcube.experiments.brittle

writes ``data/brittle.csv`` and the row of HR-S6-LEN in ``data/measured.csv``. Every network has the same weights at
every length. One row is the mean over 32 directions on the sphere ‖Δ‖ = ρ‖θ‖ and over 64 random inputs:

- ``variant``: ``layer norm``, ``RMSNorm``, ``epsilon`` (layer norm with ε = 10⁻⁵) or ``causal`` (layer norm, no
  position sees a later one);
- ``loss``: L = E(f_{θ+Δ} − f_θ)², ``error`` its standard error over the directions, ``variance``: Var f on the inputs.
"""

import math
import sys
from collections.abc import Iterator

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from flatcube import blocks, cube, parity, sharpness
from flatcube.amplifier import TARGETS
from flatcube.experiments import store, trends
from flatcube.experiments.lines import Lines

__all__ = [
    "SEED", "LENGTHS", "RHOS", "VARIANTS", "LEVEL", "network", "inputs", "cell", "rows", "critical", "exponent",
    "measured", "main",
]  # fmt: skip

SEED, DIRECTIONS, INPUTS = 9, 32, 64
LENGTHS = (8, 24, 72, 216, 648, 2000)
RHOS = tuple(float(f"{10 ** (k / 2):.3g}") for k in range(-16, 0))  # 1e-8 … 0.316
VARIANTS = {"layer norm": LENGTHS, "RMSNorm": LENGTHS[:5], "epsilon": LENGTHS[:5], "causal": LENGTHS[:4]}
LEVEL = 0.1  # a network counts as broken when L exceeds this share of Var f
_COMMAND = "python -m flatcube.experiments.brittle"


def network(target: str, variant: str = "layer norm", n: int = 0) -> blocks.Encoder:
    """A network of the cast; ``causal`` ones have their mask for n bits, but the same weights for all n.

    RMSNorm divides (a, 0, …, 0) by |a|/√D, so its read-out differs. Under a causal mask only late positions know the
    count k, so PARITY gets n blank positions behind its input, and these look for i = k among the n + i before them.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant: expected one of {', '.join(VARIANTS)}, got {variant!r}")
    model = parity.layer_norm_network(1e-5 if variant == "epsilon" else 0.0, target=target)
    if variant == "RMSNorm":
        size = len(parity.CHANNELS)
        for layer in model.layers:
            layer.norm = blocks.Norm(0.0, centre=False)
        with torch.no_grad():  # (D − 1)/D is what the mean took from the answer
            model.readout.mul_((1 - 1 / size) if target == "mean" else math.sqrt(1 - 1 / size))
    if variant != "causal":
        return Lines(model)
    blanks = cube.check_integer(n, "n", 1) if target == "parity" else 0
    model.appended = torch.zeros(blanks + 1, dtype=torch.long)
    for layer in model.layers:
        layer.heads[0].mask = torch.triu(torch.full([n + blanks + 1] * 2, -torch.inf, dtype=torch.float64), 1)
    if blanks:
        model.rule = _blank_positions
    return model


def _blank_positions(length: int) -> Tensor:
    """n inputs at place 1 and no side, then i = 0, …, n with place i/(n + i + 1), unit 1/(n + i + 1), side (−1)^i."""
    n = length // 2
    i = torch.arange(n + 1, dtype=torch.float64)
    codes = torch.zeros(length, len(parity.CHANNELS), dtype=torch.float64)
    for name, values in {"place": i / (n + i + 1), "unit": 1 / (n + i + 1), "side": 1 - 2 * (i % 2)}.items():
        codes[n:, parity.CHANNELS.index(name)] = values
    codes[:n, parity.CHANNELS.index("place")] = 1.0  # or layer norm would magnify an empty vector
    codes[:, parity.CHANNELS.index("balance")] = -codes.sum(-1)
    return codes


def inputs(n: int, count: int = INPUTS) -> Tensor:
    """Random bits (count, n), the same for all networks and all ρ."""
    return torch.randint(0, 2, (count, n), generator=torch.Generator().manual_seed(SEED + n))


def cell(variant: str, target: str, n: int, rho: float) -> dict[str, object]:
    """One row of the study."""
    model = network(target, variant, n)
    radius = rho * sharpness.parameter_norm(model)
    found = sharpness.average_direction(
        model, inputs(n), rho=radius, kind="sphere", directions=DIRECTIONS, seed=SEED + n
    )
    numbers = {"loss": found.value, "error": found.error, "variance": found.variance}
    return {"variant": variant, "target": target, "n": n, "rho": f"{rho:g}"} | {
        name: f"{number:.4g}" for name, number in numbers.items()
    }


def rows() -> Iterator[dict[str, object]]:
    """All rows; the variants end at shorter inputs, the causal one at 216 bits because it has no shortcut."""
    for variant, lengths in VARIANTS.items():
        yield from (cell(variant, target, n, rho) for n in lengths for target in TARGETS for rho in RHOS)


def critical(study: list[dict[str, str]], variant: str, target: str, level: float = LEVEL) -> dict[int, float]:
    """By length: the ρ at which L/Var f first exceeds ``level``, between two measured ones along a power law."""
    found = {}
    for n in LENGTHS:
        kept = [r for r in study if (r["variant"], r["target"], int(r["n"])) == (variant, target, n)]
        shares = [float(r["loss"]) / float(r["variance"]) for r in kept]
        above = next((at for at, share in enumerate(shares) if share > level), 0)
        if above:
            (x0, x1), (y0, y1) = ([math.log(z) for z in pair] for pair in (
                [float(r["rho"]) for r in kept[above - 1 : above + 1]], shares[above - 1 : above + 1]))  # fmt: skip
            found[n] = math.exp(x0 + (math.log(level) - y0) / (y1 - y0) * (x1 - x0))
    return found


def exponent(points: dict[int, float], confidence: float = 0.95) -> tuple[float, float, float]:
    """The slope of log ρ against log n by least squares, and its interval by Student's t."""
    if len(points) < 3:
        raise ValueError(f"points: expected at least 3 for a slope with an interval, got {len(points)}")
    fit = stats.linregress(np.log(list(points)), np.log(list(points.values())))
    half = stats.t.ppf((1 + confidence) / 2, len(points) - 2) * fit.stderr
    return float(fit.slope), float(fit.slope - half), float(fit.slope + half)


def measured() -> dict[str, str]:
    """The row of HR-S6-LEN in ``data/measured.csv``, from the stored study.

    It agrees if the ρ that breaks PARITY falls with n, and faster than for the others, by the 95 % intervals.
    """
    study = store.load("brittle")
    points = {target: critical(study, "layer norm", target) for target in TARGETS}
    powers = {target: exponent(found) for target, found in points.items()}
    others = [target for target in TARGETS if target != "parity"]
    rules = [powers["parity"][2] < 0, all(powers["parity"][2] < powers[target][1] for target in others)]
    shown = ", ".join(f"{name.upper()} n^{p:.2f} ({low:.2f} to {high:.2f})" for name, (p, low, high) in powers.items())
    ends = {n: points["parity"][n] for n in (LENGTHS[0], LENGTHS[-1])}
    broken = " and ".join(f"{rho:.1e} at {n} bits" for n, rho in ends.items())
    statement = (
        "Hand-built networks with the same weights at all lengths. As a share of the weights' norm, the shift that "
        f"breaks PARITY (L > {LEVEL:g} Var f) is {broken}. It falls like {shown}."
    )
    return {"id": "HR-S6-LEN", "verdict": trends.verdict(rules), "statement": statement, "results": "data/brittle.csv",
            "command": _COMMAND}  # fmt: skip


def main() -> None:
    """Compute all rows and store them."""
    found = []
    for row in rows():
        found.append(row)
        print(*row.values(), file=sys.stderr)
    store.save("brittle", found, command=_COMMAND, seed=SEED)
    store.record(measured())


if __name__ == "__main__":
    main()
