"""Spectra of wide networks by degree: MLPs, layers over windows, and attention, side by side (VA App. E).

    flatcube run architectures --scale book

A row is one kernel and one degree k: ``mean``, ``low`` and ``high`` are the mean, the least and the largest of
E f̂(U)² over the sets U of k bits, f a network at random weights, and ``share`` is the part that degree k has in the
variance of f, constant left out: C(n, k)·mean over the sum of these for k ≥ 1. ``leak`` is the part of the kernel that
is off the diagonal in the basis of parities, constant left out. All are computed from the kernels of infinite width on
the whole cube, but for softmax, whose heads are drawn; there ``error`` is the standard error of the mean, from
independent parts. No network has biases, and in a token's vector the bits have the share α = ½. VA give no such
comparison; the paper scale has more bits.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from flatcube import checks, cube
from flatcube.experiments import store, trends
from flatcube.experiments.engine import Experiment
from flatcube.kernels import finite, layers, profiles, spectra

__all__ = ["Trial", "KERNELS", "trial", "summary", "measured", "EXPERIMENT"]

_PARTS = 8
Matrix = Callable[[np.ndarray], np.ndarray]  # points (2^n, n) to a kernel (2^n, 2^n)


def _dot(psi: Callable[..., np.ndarray], **given: float) -> Matrix:
    return lambda points: psi(points.astype(float) @ points.T / points.shape[1], **given)


def _attention(**given) -> Matrix:
    return lambda points: layers.transformer(points, **given)


KERNELS: dict[str, tuple[str, Matrix | float]] = {  # name: family, and the kernel or the scale of softmax
    "MLP, conjugate": ("MLP", _dot(profiles.conjugate, depth=1)),
    "MLP, tangent": ("MLP", _dot(profiles.tangent, depth=1)),
    "MLP of 3 layers, conjugate": ("MLP", _dot(profiles.conjugate, depth=3)),
    "MLP of 3 layers, tangent": ("MLP", _dot(profiles.tangent, depth=3)),
    "windows of 3": ("windows", lambda points: layers.convolution(points, points)),
    "windows of 3, pooled": ("windows", lambda points: layers.convolution(points, points, pooled=True)),
    "linear attention": ("attention", _attention(mlp=False)),
    "linear attention, each token read": ("attention", _attention(mlp=False, read="each")),
    "linear attention and ReLUs": ("attention", _attention()),
    "the same, 2 layers": ("attention", _attention(layers=2)),
    "softmax attention": ("attention", 1.0),
    "softmax attention, logits × 3": ("attention", 3.0),
    "linear attention, tokens of 2 bits": ("attention", _attention(mlp=False, width=2)),
    "linear attention and ReLUs, tokens of 2 bits": ("attention", _attention(width=2)),
}


@dataclass(frozen=True)
class Trial:
    """One kernel on the cube of n bits."""

    kernel: str
    n: int = 8
    samples: int = 1600
    seed: int = 16

    def __post_init__(self) -> None:
        checks.word(self.kernel, "kernel", tuple(KERNELS))
        checks.integer(self.n, "n", 2, 10)


def trial(trial: Trial) -> list[dict[str, object]]:
    """One row for each degree."""
    family, kernel = KERNELS[trial.kernel]
    error = np.zeros(trial.n + 1)
    if callable(kernel):
        found = kernel(cube.points(trial.n))
        values, leak = spectra.by_set(found), spectra.leak(found)
    else:
        count, seeds = max(1, trial.samples // _PARTS), range(_PARTS)
        each = [finite.softmax_by_set(trial.n, count, scale=kernel, rng=np.random.default_rng([trial.seed, seed]))
                for seed in seeds]  # fmt: skip
        values, leak = np.mean([one for one, _ in each], 0), float(np.mean([part for _, part in each]))
        error = np.std([spectra.mean_by_degree(one) for one, _ in each], axis=0, ddof=1) / math.sqrt(_PARTS)
    values = np.where(np.abs(values) > 1e-13 * np.abs(values).max(), values, 0.0)
    sizes, means = cube.weights(trial.n), spectra.mean_by_degree(values)
    whole = sum(math.comb(trial.n, k) * means[k] for k in range(1, trial.n + 1))
    return [{
        "kernel": trial.kernel, "family": family, "n": trial.n, "degree": k, "mean": float(means[k]),
        "low": float(values[sizes == k].min()), "high": float(values[sizes == k].max()), "error": float(error[k]),
        "share": float(math.comb(trial.n, k) * means[k] / whole) if k else 0.0,
        "leak": float(leak) if leak > 1e-12 or leak != leak else 0.0,
    } for k in range(trial.n + 1)]  # fmt: skip


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``kernels``: for every kernel the mean degree of a random function (Σ k·share), the largest degree with a share,
    whether means are ``ordered`` (μ_k ≥ μ_{k+2}), whether single sets are (``by_set``: the least of degree k is not
    below the largest of degree k + 2), the leak, and whether it is a ``tangent`` kernel (else a conjugate one)."""
    found: dict[str, list[dict]] = {}
    for kept in store.numbers(rows, "kernel", "family"):
        found.setdefault(f"{kept['n']:.0f} {kept['kernel']}", []).append(kept)
    lines = []
    for own in found.values():
        own.sort(key=lambda row: row["degree"])
        top = own[0]["mean"]
        pairs = list(zip(own, own[2:], strict=False))
        lines.append({
            "kernel": own[0]["kernel"], "family": own[0]["family"], "n": int(own[0]["n"]),
            "mean_degree": sum(row["degree"] * row["share"] for row in own),
            "largest": int(max(row["degree"] for row in own if row["share"] > 1e-9)),
            "low": sum(row["share"] for row in own if row["degree"] == 1),
            "ordered": all(b["mean"] <= a["mean"] + 2 * (a["error"] + b["error"]) + 1e-12 * top for a, b in pairs),
            "by_set": all(b["high"] <= a["low"] + 1e-12 * top for a, b in pairs),
            "leak": own[0]["leak"], "tangent": str(own[0]["kernel"]).endswith("tangent"),
        })  # fmt: skip
    return {"kernels": lines}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """VA-X1 asks for a bias that separates transformers. Conjugate kernels are compared, since of tangent kernels there
    are only those of MLPs. It agrees if every one of attention gives random functions of a lower mean degree than each
    of the others; in part if the median of attention is below that of each other family."""
    told = summary(rows)["kernels"]
    groups: dict[str, dict[str, float]] = {}
    for line in told:
        if not line["tangent"]:
            groups.setdefault(str(line["family"]), {})[str(line["kernel"])] = float(line["mean_degree"])
    medians = {family: float(np.median(list(group.values()))) for family, group in groups.items()}
    own, least = groups.pop("attention"), min(min(group.values()) for group in groups.values())
    below = [name for name, degree in own.items() if degree < least]
    words = "; ".join(f"{line['kernel']} {line['mean_degree']:.2f}" for line in told)
    middle = ", ".join(f"{family} {value:.2f}" for family, value in medians.items())
    unordered = [line["kernel"] for line in told if not line["by_set"]]
    capped = ", ".join(f"{line['kernel']} (degree {line['largest']})" for line in told if line["largest"] < line["n"])
    statement = (
        f"Mean degree of a random function of {told[0]['n']} bits, constant left out, under the kernels of wide "
        f"networks: {words}. Medians of conjugate kernels: {middle}. Attention below every conjugate kernel of MLPs "
        f"and windows: {'; '.join(below) or 'none'}. Not below all of them: "
        f"{'; '.join(name for name in own if name not in below) or 'none'}. No degree beyond a largest one: "
        f"{capped or 'none'}. Kernels whose single sets are not ordered by degree: {', '.join(unordered) or 'none'}."
    )
    lower = all(medians["attention"] < medians[family] for family in groups)
    verdict = trends.verdict([len(below) == len(own), lower])
    return [{"id": "VA-X1", "verdict": verdict, "statement": statement}]


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: four layers' worth of all pairs of points and tokens, or the draws of heads."""
    softmax = not callable(KERNELS[trial.kernel][1])
    return trial.samples * 1e-5 * 2**trial.n if softmax else 4e-9 * 4**trial.n * trial.n**2 * 10


EXPERIMENT = Experiment(
    name="architectures",
    version="2",
    title="Spectra by degree of the kernels of wide networks",
    figures="VA App. E",
    grids={
        "live": [Trial(kernel, 4, 16) for kernel in KERNELS],
        "book": [Trial(kernel) for kernel in KERNELS],
        "paper": [Trial(kernel, 10, 16_000) for kernel in KERNELS],
    },
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
)
