"""Theorem 6 without training: the stored study, recomputed at small size."""

import json
import math

import pytest
import torch

from flatcube import parity, sharpness
from flatcube.amplifier import TARGETS
from flatcube.experiments import brittle, store

STUDY = store.load("brittle")


def stored(variant: str, target: str, n: int, rho: float) -> dict[str, str]:
    key = [variant, target, str(n), f"{rho:g}"]
    (row,) = [row for row in STUDY if list(row.values())[:4] == key]
    return row


def truth(target: str, bits: torch.Tensor) -> torch.Tensor:
    ones, n = bits.sum(1), bits.shape[1]
    return {
        "parity": 1 - 2.0 * (ones % 2),
        "majority": 1 - 2.0 * (2 * ones > n),
        "first": 1 - 2.0 * bits[:, 0],
        "mean": 1 - 2.0 * ones / n,
    }[target].double()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("variant", ["layer norm", "RMSNorm", "causal"])
def test_every_variant_computes_its_function(variant: str, target: str):
    for n in (7, 24):
        bits = brittle.inputs(n, 40)
        with torch.no_grad():
            error = (brittle.network(target, variant, n)(bits) - truth(target, bits)).abs().max()
        assert error < (0.01 if target == "mean" else 1e-9)  # m/√(1 + m²/36) stands for m


def test_weights_do_not_depend_on_the_length():
    for variant in brittle.VARIANTS:
        short, long = (dict(brittle.network("parity", variant, n).named_parameters()) for n in (8, 24))
        assert all(torch.equal(short[name], long[name]) for name in short) and short.keys() == long.keys()


@pytest.mark.parametrize("target", TARGETS)
def test_the_shortcut_is_exact_to_rounding(target: str):
    slow, fast, bits = parity.layer_norm_network(target=target), brittle.network(target), brittle.inputs(40, 8)
    for rho in (1e-3, 0.3):
        options = {"rho": rho * sharpness.parameter_norm(slow), "kind": "sphere", "directions": 4, "seed": 1}
        one, other = (sharpness.average_direction(model, bits, **options).draws for model in (slow, fast))
        assert one == pytest.approx(other, rel=1e-7)


@pytest.mark.parametrize(
    ("variant", "target", "n", "rho"),
    [("layer norm", "parity", 72, 3.16e-5), ("RMSNorm", "majority", 24, 1e-2), ("epsilon", "parity", 24, 1e-4),
     ("causal", "parity", 8, 1e-3), ("layer norm", "mean", 8, 1e-2), ("causal", "first", 24, 0.1)],
)  # fmt: skip
def test_stored_rows_are_what_the_command_computes(variant, target, n, rho):
    again, row = brittle.cell(variant, target, n, rho), stored(variant, target, n, rho)
    for name in ("loss", "error", "variance"):
        assert float(again[name]) == pytest.approx(float(row[name]), rel=2e-3)


def test_the_study_is_whole():
    keys = [tuple(row.values())[:4] for row in STUDY]
    assert len(set(keys)) == len(keys) == 4 * len(brittle.RHOS) * sum(map(len, brittle.VARIANTS.values()))
    entry = json.loads((store.DATA / "manifest.json").read_text(encoding="utf-8"))["brittle.csv"]
    assert entry["command"] == "python -m flatcube.experiments.brittle" and entry["seconds"] > 0


def test_long_parity_breaks_and_the_others_do_not():
    for n in (648, 2000):
        loss = {target: float(stored("layer norm", target, n, 1e-4)["loss"]) for target in TARGETS}
        assert 1 < loss["parity"] < 1.25 and loss["majority"] < 0.1 and max(loss["first"], loss["mean"]) < 1e-4


@pytest.mark.parametrize("variant", brittle.VARIANTS)
def test_the_exponents(variant: str):
    derived = {"parity": -2.0, "majority": -0.5, "mean": -0.5}
    for target, power in derived.items():
        slope, low, high = brittle.exponent(brittle.critical(STUDY, variant, target))
        assert low < slope < high and abs(slope - power) < 0.35, (target, slope, low, high)
    assert abs(brittle.exponent(brittle.critical(STUDY, variant, "first"))[0]) < 0.35


def test_the_fourth_order_grows_with_the_eighth_power_of_the_length():
    """L = O(ρ²) + O((ρN²)⁴) for PARITY: so the Hessian, the first term, is right up to ρ of order 1/N⁴ only."""
    fourth = {}
    for n in brittle.LENGTHS[1:5]:
        rows = [stored("layer norm", "parity", n, rho) for rho in brittle.RHOS]
        (row, *_) = [r for r in rows if 1e-6 < float(r["loss"]) < 1e-2]
        fourth[n + 1] = float(row["loss"]) / float(row["rho"]) ** 4
    assert brittle.exponent(fourth)[0] == pytest.approx(8, abs=0.5)


def test_a_critical_radius_lies_between_its_neighbours():
    head = {"variant": "v", "target": "t", "n": "8", "variance": "2"}
    rows = [head | {"rho": f"{10**-k}", "loss": f"{10 ** (-2 * k + 3)}"} for k in (4, 3, 2, 1)]
    found = brittle.critical(rows, "v", "t", level=0.05)
    assert found == {8: pytest.approx(0.01)}
    assert brittle.exponent({n: 3 * n**-1.5 for n in (8, 24, 72)})[0] == pytest.approx(-1.5)
    # log n = 0, 1, 2, 3 and log ρ = 0, 1, 0, 1: slope 1/5, residuals 4/5 in all, so its error is √(0.4/5)
    slope, low, high = brittle.exponent({math.exp(k): math.exp(k % 2) for k in range(4)})
    assert slope == pytest.approx(0.2) and high - slope == pytest.approx(4.3027 * math.sqrt(0.08), rel=1e-4)
    assert slope - low == pytest.approx(high - slope)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: brittle.network("parity", "odd"), "variant: expected one of layer norm, .* got 'odd'"),
        (lambda: brittle.network("parity", "causal"), "n: expected an integer ≥ 1, got 0"),
        (lambda: brittle.exponent({8: 1.0, 24: 0.5}), "points: expected at least 3 .* got 2"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()
