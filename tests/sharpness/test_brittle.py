"""Theorem 6 without training: the stored study, recomputed at small size."""

import math

import pytest
import torch

from flatcube import parity, sharpness
from flatcube.experiments import store
from flatcube.parity.amplifier import TARGETS
from flatcube.sharpness import brittle

STUDY = store.load("brittle")
RHOS = brittle.Trial.rhos


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
@pytest.mark.parametrize("variant", ["layer norm", "RMSNorm", "causal", "wide"])
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
     ("causal", "parity", 8, 1e-3), ("layer norm", "mean", 8, 1e-2), ("causal", "first", 24, 0.1),
     ("wide", "parity", 8, 1e-2)],
)  # fmt: skip
def test_stored_rows_are_what_the_command_computes(variant, target, n, rho):
    (again,) = brittle.trial(brittle.Trial(variant, target, n, rhos=(rho,)))
    row = stored(variant, target, n, rho)
    assert again.keys() == row.keys()
    for name in ("loss", "error", "variance"):
        assert again[name] == pytest.approx(float(row[name]), rel=2e-3)


def test_codes_of_the_wide_network_do_not_grow_unless_first_needs_it():
    for target in TARGETS:
        short, long = (float(brittle.network(target, "wide").rule(n).abs().max()) for n in (9, 999))
        assert (long > short + 1) == (target == "first")


def test_the_study_is_whole():
    keys = [tuple(row.values())[:4] for row in STUDY]
    assert len(set(keys)) == len(keys) == 4 * len(RHOS) * sum(map(len, brittle.VARIANTS.values()))


def test_long_parity_breaks_and_the_others_do_not():
    for n in (648, 2000):
        loss = {target: float(stored("layer norm", target, n, 1e-4)["loss"]) for target in TARGETS}
        assert 1 < loss["parity"] < 1.25 and loss["majority"] < 0.1 and max(loss["first"], loss["mean"]) < 1e-4


@pytest.mark.parametrize("variant", brittle.VARIANTS)
def test_the_exponents(variant: str):
    derived = {"parity": -2.0, "majority": -0.5, "mean": -0.5}
    for target, power in derived.items():
        line = brittle.exponent(brittle.critical(STUDY, variant, target))
        assert line["low"] < line["slope"] < line["high"] and abs(line["slope"] - power) < 0.35, (target, line)
    assert abs(brittle.exponent(brittle.critical(STUDY, variant, "first"))["slope"]) < 0.35


def test_the_fourth_order_grows_with_the_eighth_power_of_the_length():
    """L = O(ρ²) + O((ρN²)⁴) for PARITY: so the Hessian, the first term, is right up to ρ of order 1/N⁴ only."""
    fourth = {}
    for n in brittle.LENGTHS[1:5]:
        rows = [stored("layer norm", "parity", n, rho) for rho in RHOS]
        (row, *_) = [r for r in rows if 1e-6 < float(r["loss"]) < 1e-2]
        fourth[n + 1] = float(row["loss"]) / float(row["rho"]) ** 4
    assert brittle.exponent(fourth)["slope"] == pytest.approx(8, abs=0.5)


def test_a_critical_radius_lies_between_its_neighbours():
    head = {"variant": "v", "target": "t", "n": "8", "variance": "2"}
    rows = [head | {"rho": f"{10**-k}", "loss": f"{10 ** (-2 * k + 3)}"} for k in (4, 3, 2, 1)]
    found = brittle.critical(rows, "v", "t", level=0.05)
    assert found == {8: pytest.approx(0.01)}
    assert brittle.exponent({n: 3 * n**-1.5 for n in (8, 24, 72)})["slope"] == pytest.approx(-1.5)
    # log n = 0, 1, 2, 3 and log ρ = 0, 1, 0, 1: slope 1/5, residuals 4/5 in all, so its error is √(0.4/5)
    line = brittle.exponent({math.exp(k): math.exp(k % 2) for k in range(4)})
    half = 4.3027 * math.sqrt(0.08)
    assert [line[key] for key in ("low", "slope", "high")] == pytest.approx([0.2 - half, 0.2, 0.2 + half], rel=1e-4)
    assert math.isnan(brittle.exponent({8: 1.0, 24: 0.5})["slope"])  # two points have a line, but no interval


def test_the_tables_are_the_critical_radii_and_their_exponents():
    found = brittle.summary(STUDY)
    assert [(line["variant"], line["lengths"]) for line in found["exponents"][::4]] == [
        (variant, len(lengths)) for variant, lengths in brittle.VARIANTS.items()
    ]
    causal = [row for row in found["critical"] if (row["variant"], row["target"]) == ("causal", "parity")]
    assert {row["n"]: row["rho"] for row in causal} == brittle.critical(STUDY, "causal", "parity")


def with_losses_of(other: str) -> list[dict[str, str]]:
    """The stored study with the losses of another function for PARITY."""
    found = []
    for row in STUDY:
        target = other if row["target"] == "parity" else row["target"]
        found.append(row | {"loss": stored(row["variant"], target, int(row["n"]), float(row["rho"]))["loss"]})
    return found


def test_the_verdict_follows_from_the_study():
    verdicts = {other: brittle.measured(with_losses_of(other))[0]["verdict"] for other in TARGETS}
    # L of MEAN is level; those of MAJORITY and FIRST rise, but not faster than themselves
    part = "agrees in part"
    assert verdicts == {"parity": "agrees", "majority": part, "first": part, "mean": "differs"}


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: brittle.network("parity", "odd"), "variant: expected one of layer norm, .* got 'odd'"),
        (lambda: brittle.Trial("odd", "parity", 8), "variant: expected one of layer norm, .* got 'odd'"),
        (lambda: brittle.Trial("causal", "odd", 8), "target: expected one of parity, .* got 'odd'"),
        (lambda: brittle.Trial("causal", "mean", 0), "n: expected an integer ≥ 1, got 0"),
        (lambda: brittle.network("parity", "causal"), "n: expected an integer ≥ 1, got 0"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()
