"""The rules by which the experiments of chapter 16 judge, on made-up rows where the verdict is known."""

import math

import numpy as np
import pytest

from flatcube import cube
from flatcube.kernels import architectures, by_degree, first_weights, widths


def _verdicts(found):
    assert all(one["statement"] and "nan" not in one["statement"] for one in found)
    return {one["id"]: one["verdict"] for one in found}


# --- by degree --------------------------------------------------------------------------------------------------------


def _ways(times, seeds=12):
    """Networks of both kinds that learn degree k at the k-th of the times, or never."""
    return [{"kind": kind, "seed": seed, "step": step, "rest": 0.1}
            | {f"loss_{k}": 0.2 if step >= time else 1.0 for k, time in enumerate(times(seed), 1)}
            for kind in by_degree.KINDS for seed in range(seeds) for step in range(0, 101, 10)]  # fmt: skip


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (lambda seed: (10, 30, 50, 70), "agrees"),
        (lambda seed: (10, 30, 50, math.inf), "agrees"),  # what is not learnt comes last
        (lambda seed: (10, 30, 70, 50), "agrees in part"),
        (lambda seed: (70, 50, 30, 10), "differs"),
        (lambda seed: (10, 30, 30, 30) if seed % 2 else (30, 10, 10, 10), "differs"),
    ],
)
def test_the_order_of_learning(times, expected):
    assert _verdicts(by_degree.measured(_ways(times))) == {"HR-X5": expected}


def test_a_degree_that_is_lost_again_is_not_learnt():
    curve = [{"step": step, "loss_1": loss} for step, loss in ((0, 1.0), (10, 0.1), (20, 0.9), (30, 0.2), (40, 0.1))]
    assert by_degree.times(curve) == [30]
    assert by_degree.times(curve[:3]) == [math.inf]


def test_losses_add_up_to_the_squared_error():
    wanted = by_degree.target(3, seed=1)
    outputs = np.random.default_rng(0).normal(size=64)
    found = by_degree.losses(outputs, wanted, 3)
    assert sum(found.values()) / 3 == pytest.approx(np.mean((outputs - wanted) ** 2))
    assert by_degree.losses(0 * wanted, wanted, 3) == pytest.approx({"loss_1": 1, "loss_2": 1, "loss_3": 1, "rest": 0})


# --- first weights ----------------------------------------------------------------------------------------------------


def _ends(transformer, mlp, seeds=16):
    rng = np.random.default_rng(0)
    return [{"kind": kind, "scale": scale, "seed": seed, "n": 8, "shown": 128, "start": 1.2,
             "end": end(scale) + 0.05 * rng.normal(), "target": 4.0, "completion": 4.0, "error": 0.01, "ended": 100,
             "hidden": 0.5} for kind, end in (("transformer", transformer), ("MLP", mlp))
            for scale in (0.5, 1.0, 2.0) for seed in range(seeds)]  # fmt: skip


@pytest.mark.parametrize(
    ("transformer", "mlp", "expected"),
    [
        (lambda scale: 3.0, lambda scale: 3.0, "differs"),
        (lambda scale: 3.0, lambda scale: 3.3, "agrees in part"),  # architecture
        (lambda scale: 3.0, lambda scale: 3.0 + 0.2 * (scale > 1), "agrees in part"),  # size
        (lambda scale: 3.0, lambda scale: 4.0 if scale > 1 else 3.0, "agrees"),  # the bias vanishes
    ],
)
def test_what_explains_the_bias(transformer, mlp, expected):
    assert _verdicts(first_weights.measured(_ends(transformer, mlp))) == {"HR-SUM-OQ3": expected}


def test_the_mean_degree_of_a_function():
    assert first_weights.mean_degree(cube.parity(4)) == 4
    assert first_weights.mean_degree(cube.mean(4) + 3) == 1
    assert math.isnan(first_weights.mean_degree(np.ones(8)))


# --- architectures and widths -----------------------------------------------------------------------------------------


def _spectra(shares):
    """Kernels on 3 bits with these shares of degrees 1, 2 and 3, by name."""
    rows = []
    for (name, family), (one, two, three) in shares.items():
        for k, (share, mean) in enumerate([(0, 1.0), (one, one / 3), (two, two / 3), (three, three)]):
            rows.append({"kernel": name, "family": family, "n": 3, "degree": k, "mean": mean, "low": mean,
                         "high": mean, "error": 0.0, "share": share, "leak": 0.0})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("attention", "expected"),
    [
        ((1.0, 0.0, 0.0), "agrees"),
        ((0.7, 0.2, 0.1), "differs"),  # below MLPs, not below windows
        ((0.2, 0.2, 0.6), "differs"),
    ],
)
def test_whether_attention_is_apart(attention, expected):
    others = {("a", "MLP"): (0.6, 0.3, 0.1), ("b", "windows"): (0.9, 0.1, 0.0), ("b2", "MLP"): (0.6, 0.3, 0.1)}
    assert _verdicts(architectures.measured(_spectra(others | {("c", "attention"): attention}))) == {"VA-X1": expected}
    # a tangent kernel, of whatever degree, is not compared with conjugate ones
    more = others | {("d, tangent", "MLP"): (0.0, 0.0, 1.0), ("e, tangent", "MLP"): (1.0, 0.0, 0.0)}
    assert _verdicts(architectures.measured(_spectra(more | {("c", "attention"): attention}))) == {"VA-X1": expected}


def test_attention_that_is_lower_in_the_median_agrees_in_part():
    others = {("a", "MLP"): (0.6, 0.3, 0.1), ("b", "windows"): (0.9, 0.1, 0.0)}
    attention = {(name, "attention"): shares for name, shares in
                 (("low", (1.0, 0.0, 0.0)), ("lower", (0.95, 0.05, 0.0)), ("high", (0.0, 0.0, 1.0)))}  # fmt: skip
    (found,) = architectures.measured(_spectra(others | attention))
    assert found["verdict"] == "agrees in part"
    assert "windows: low; lower. Not below all of them: high." in found["statement"]


def test_kernels_out_of_order_are_named():
    rows = _spectra({("a", "MLP"): (0.6, 0.3, 0.1), ("c", "attention"): (0.1, 0.1, 0.8)})
    (found,) = architectures.measured(rows)
    assert found["statement"].endswith("degree: c.")


def test_the_slope_of_a_mean_over_units():
    rows = [{"kind": kind, "width": width, "seed": seed, "n": 4, "conjugate": (1 + 0.01 * seed) / math.sqrt(width),
             "tangent": (1 + 0.01 * seed) / width}
            for kind in widths.KINDS for width in (4, 16, 64) for seed in (0, 1)]  # fmt: skip
    slopes = {(line["kind"], line["kernel"]): line["slope"] for line in widths.summary(rows)["slopes"]}
    assert slopes["MLP", "conjugate"] == pytest.approx(-0.5) and slopes["pairs", "tangent"] == pytest.approx(-1)
