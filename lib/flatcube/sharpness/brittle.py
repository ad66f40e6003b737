"""Theorem 6 without training: the cast, built by hand with one architecture, and shaken (HR Eq. 15 and 16).

    flatcube run brittle --scale book

Every network has the same weights at every length. One row is the mean over random directions on the sphere
‖Δ‖ = ρ‖θ‖ and over 64 random inputs:

- ``variant``: ``layer norm``, ``RMSNorm``, ``epsilon`` (layer norm with ε = 10⁻⁵), ``causal`` (layer norm, no
  position sees a later one) or ``wide``: layer norm with 32 > 12L channels and position codes that do not grow with the
  length, as Theorem 6 asks; only FIRST, which needs it, keeps the mark log N at position 1;
- ``loss``: L = E(f_{θ+Δ} − f_θ)², ``error`` its standard error over the directions, ``variance``: Var f on the inputs.

At book scale there are 32 directions. The variants end at shorter inputs, the causal one at 216 bits because it has no
shortcut, the wide one because its 5,622 weights take longer. HR shake no networks that are built by hand: the paper
scale only has more directions.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from flatcube import checks, networks, parity
from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.networks import stacked
from flatcube.parity.amplifier import TARGETS
from flatcube.parity.fast import Lines
from flatcube.sharpness import measures as sharpness
from flatcube.sharpness.landscape import Landscape, random_vectors

__all__ = [
    "LENGTHS", "VARIANTS", "Trial", "network", "inputs", "trial", "noise", "critical", "exponent", "summary",
    "measured", "EXPERIMENT",
]  # fmt: skip

LENGTHS = (8, 24, 72, 216, 648, 2000)
_RHOS = tuple(float(f"{10 ** (k / 2):.3g}") for k in range(-16, 0))  # 1e-8 … 0.316
VARIANTS = {"layer norm": LENGTHS, "RMSNorm": LENGTHS[:5], "epsilon": LENGTHS[:5], "causal": LENGTHS[:4]}
VARIANTS["wide"] = LENGTHS[:4]
_WIDTH = 32  # of the wide variant: more than 12 channels for each of two layers
_LEVEL = 0.1  # a network counts as broken when L exceeds this share of Var f


@dataclass(frozen=True)
class Trial:
    """One network at one length, shaken by each of the radii ρ."""

    variant: str
    target: str
    n: int
    rhos: tuple[float, ...] = _RHOS
    directions: int = 32
    inputs: int = 64
    seed: int = 9

    def __post_init__(self) -> None:
        for name, known in (("variant", VARIANTS), ("target", TARGETS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {getattr(self, name)!r}")
        checks.integer(self.n, "n", 1)


def network(target: str, variant: str = "layer norm", n: int = 0) -> networks.Circuit:
    """A network of the cast; ``causal`` ones have their mask for n bits, but the same weights for all n.

    RMSNorm divides (a, 0, …, 0) by |a|/√D, so its read-out differs. Under a causal mask only late positions know the
    count k, so PARITY gets n blank positions behind its input, and these look for i = k among the n + i before them.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant: expected one of {', '.join(VARIANTS)}, got {variant!r}")
    model = parity.layer_norm_network(1e-5 if variant == "epsilon" else 0.0, target=target)
    model = _widened(model, target) if variant == "wide" else model
    if variant == "RMSNorm":
        size = len(parity.CHANNELS)
        for layer in model.layers:
            layer.norm = networks.Norm(0.0, centre=False)
        with torch.no_grad():  # (D − 1)/D is what the mean took from the answer
            model.readout.mul_((1 - 1 / size) if target == "mean" else math.sqrt(1 - 1 / size))
    if variant != "causal":
        return Lines(model)
    blanks = checks.integer(n, "n", 1) if target == "parity" else 0
    model.appended = torch.zeros(blanks + 1, dtype=torch.long)
    for layer in model.layers:
        layer.heads[0].mask = torch.triu(torch.full([n + blanks + 1] * 2, -torch.inf, dtype=torch.float64), 1)
    if blanks:
        model.rule = _blank_positions
    return model


def _widened(model: networks.Circuit, target: str) -> networks.Circuit:
    """The same function with idle channels; positions lose the mark log N at position 1 unless FIRST looks for it.

    Layer norm makes √(d − 1) of an answer that stands alone, so the read-out is smaller. MEAN's stands beside ±r, and
    its read-out is r√(2/d)/(1 − 1/d).
    """
    narrow, rule = len(parity.CHANNELS), model.rule
    mark, balance = (parity.CHANNELS.index(name) for name in ("first", "balance"))

    def pad(name: str, tensor: Tensor) -> Tensor:
        if name.endswith(("skip", "keep")):
            return torch.eye(_WIDTH, dtype=tensor.dtype)
        missing = [_WIDTH - size if size == narrow else 0 for size in tensor.shape]
        return torch.nn.functional.pad(tensor, [side for gap in reversed(missing) for side in (0, gap)])

    def codes(length: int) -> Tensor:
        found = rule(length)
        if target != "first":
            found[:, balance] += found[:, mark]
            found[:, mark] = 0.0
        return torch.nn.functional.pad(found, (0, _WIDTH - narrow))

    state = {name: pad(name, tensor) if tensor.ndim else tensor for name, tensor in model.state_dict().items()}
    alone, beside = (lambda d: 1 / math.sqrt(d - 1)), (lambda d: math.sqrt(2 / d) / (1 - 1 / d))
    share = beside if target == "mean" else alone
    state["readout"] *= share(_WIDTH) / share(narrow)
    return networks.from_state(state, positions=codes)


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


def inputs(n: int, count: int = Trial.inputs, *, seed: int = Trial.seed) -> Tensor:
    """Random bits (count, n), the same for all networks and all ρ."""
    return torch.randint(0, 2, (count, n), generator=torch.Generator().manual_seed(seed + n))


def trial(trial: Trial) -> list[dict[str, object]]:
    """A row for each ρ, its numbers to four digits."""
    model, bits = network(trial.target, trial.variant, trial.n), inputs(trial.n, trial.inputs, seed=trial.seed)
    norm, options = sharpness.parameter_norm(model), {"directions": trial.directions, "seed": trial.seed + trial.n}
    rows = []
    for rho in trial.rhos:
        found = sharpness.average_direction(model, bits, rho=rho * norm, kind="sphere", **options)
        numbers = {"loss": found.value, "error": found.error, "variance": found.variance}
        row = {"variant": trial.variant, "target": trial.target, "n": trial.n, "rho": rho}
        rows.append(row | {name: float(f"{number:.4g}") for name, number in numbers.items()})
    return rows


def _cost(trial: Trial) -> float:
    """Seconds of one core: 1.3 ms for a bit and 32 directions, and for causal networks what attention costs."""
    each = 0.03 + 1.3e-3 * trial.n + (1.5e-5 * trial.n**2 if trial.variant == "causal" else 0)
    each *= 12 if trial.variant == "wide" else 1
    return each * len(trial.rhos) * trial.directions / 32 * trial.inputs / 64


@torch.no_grad()
def noise(
    model: networks.Circuit, bits: Tensor, *, rho: float = 1e-3, directions: int = 200, seed: int = Trial.seed
) -> Tensor:
    """What random shifts change in the residual stream before the last norm, where it is read: (directions, batch, D).

    In units of the shift of one weight: Gaussian shifts of all weights by ρ change it by ρ times so much. ρ is small
    enough for the change to be in proportion, and large enough for the kinks of relu at zero to be crossed.
    """
    land = Landscape(_Stream(model), bits)
    shifts = random_vectors(directions, land.theta, seed=seed, chunk=10)
    return torch.cat([(land.outputs(rho * some) - land.base) / rho for some in shifts])


class _Stream(torch.nn.Module):
    """A circuit whose outputs (batch, D) are what enters its last norm at the position that is read."""

    def __init__(self, model: networks.Circuit) -> None:
        super().__init__()
        self.model = model

    def forward(self, bits: Tensor) -> Tensor:
        return self.model.activations(bits)[f"layers.{len(self.model.layers) - 1}.sum"][..., int(self.model.read), :]

    def many(self, parameters: Mapping[str, Tensor], bits: Tensor) -> Tensor:
        return functional_call(self, stacked(parameters), (bits,))


# --- what it says -----------------------------------------------------------------------------------------------------


def critical(rows: list[dict], variant: str, target: str, level: float = _LEVEL) -> dict[int, float]:
    """By length: the ρ at which L/Var f first exceeds ``level``, between two measured ones along a power law."""
    curves: dict[int, list[tuple[float, float]]] = {}
    for row in rows:
        if (row["variant"], row["target"]) == (variant, target):
            share = float(row["loss"]) / float(row["variance"])
            curves.setdefault(int(row["n"]), []).append((float(row["rho"]), share))
    found = {}
    for n, curve in curves.items():
        above = next((at for at, (_, share) in enumerate(curve) if share > level), 0)
        if above:
            (x0, y0), (x1, y1) = ([math.log(number) for number in point] for point in curve[above - 1 : above + 1])
            found[n] = math.exp(x0 + (math.log(level) - y0) / (y1 - y0) * (x1 - x0))
    return found


def exponent(points: Mapping[float, float]) -> dict[str, float]:
    """The line through log ρ against log n, ρ by n, with a 95 % interval of its slope, as ``trends.line`` has it."""
    return trends.line([math.log(n) for n in points], [math.log(rho) for rho in points.values()])


def summary(rows: list[dict]) -> dict[str, list[dict[str, object]]]:
    """``critical``: the ρ that breaks each network at each length; ``exponents``: the powers of n by which it falls."""
    breaking, exponents = [], []
    for variant, target in dict.fromkeys((row["variant"], row["target"]) for row in rows):
        points, told = critical(rows, variant, target), {"variant": variant, "target": target}
        breaking += [told | {"n": n, "rho": rho} for n, rho in points.items()]
        exponents.append(told | {"lengths": len(points)} | exponent(points))
    return {"critical": breaking, "exponents": exponents}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """HR-S6-LEN agrees if the ρ that breaks PARITY falls with n, and faster than for the others, by their intervals."""
    points = {target: critical(rows, "layer norm", target) for target in TARGETS}
    lines = {target: exponent(found) for target, found in points.items()}
    others = [target for target in TARGETS if target != "parity"]
    rules = [lines["parity"]["high"] < 0, all(lines["parity"]["high"] < lines[target]["low"] for target in others)]
    powers = {name: "{slope:.2f} ({low:.2f} to {high:.2f})".format(**line) for name, line in lines.items()}
    shown = ", ".join(f"{name.upper()} n^{power}" for name, power in powers.items())
    broken = " and ".join(f"{points['parity'][n]:.1e} at {n} bits" for n in (LENGTHS[0], LENGTHS[-1]))
    statement = (
        "Hand-built networks with the same weights at all lengths. As a share of the weights' norm, the shift that "
        f"breaks PARITY (L > {_LEVEL:g} Var f) is {broken}. It falls like {shown}."
    )
    return [{"id": "HR-S6-LEN", "verdict": trends.verdict(rules), "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def _grid(variants: Mapping[str, tuple[int, ...]], **options: int) -> list[Trial]:
    each = [(variant, target, n) for variant, lengths in variants.items() for n in lengths for target in TARGETS]
    return [Trial(*one, **options) for one in each]


EXPERIMENT = Experiment(
    name="brittle",
    version="1",
    title="Networks built by hand, shaken",
    figures="HR Sec. 6, Theorem 6",
    grids={
        "live": _grid({"layer norm": LENGTHS[:3]}, directions=8),
        "book": _grid(VARIANTS),
        "paper": _grid(VARIANTS, directions=320),
    },
    trial=trial,
    cost=_cost,
    summary=summary,
    measured=measured,
)
