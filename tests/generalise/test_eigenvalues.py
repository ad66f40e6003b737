"""Spectra of curvature of chapter 13: against the whole Hessian, and what is said of made-up rows."""

import math

import numpy as np
import pytest
import torch

from flatcube import cube, generalise, handmade, networks, sharpness
from flatcube.generalise import domination, eigenvalues

BITS = torch.as_tensor(cube.to_bits(cube.points(5))).long()
PLAN = handmade.Design([((1, 2), 1.2), ((2, 4, 5), 1.6)], 5, mode="soft")
OUT = ("tokens", "positions")


def test_the_spectrum_is_that_of_the_hessian_where_the_error_is_zero():
    kind = generalise.config(5, more=1, hidden=3)
    network = networks.Encoder(
        kind, parameters={name: p.double() for name, p in generalise.drawn(kind, seed=1).items()}
    )
    found = eigenvalues.spectrum(network, BITS, exclude=("positions",))
    whole = torch.linalg.eigvalsh(sharpness.hessian(network, BITS, exclude=("positions",)))
    assert found == pytest.approx(whole.flip(0)[:32].numpy(), rel=1e-6, abs=1e-9)
    assert found.sum() == pytest.approx(generalise.account(network, BITS)[1])


def test_rescaling_changes_the_spectrum_as_the_account_says_and_not_the_function():
    plain, moved = handmade.assemble(PLAN), eigenvalues.rescaled(handmade.assemble(PLAN), 3.0)
    assert torch.allclose(plain(BITS), moved(BITS))
    account = generalise.hand_built(PLAN, BITS.numpy())
    traces = [eigenvalues.spectrum(model, BITS, exclude=OUT).sum() for model in (plain, moved)]
    assert traces == pytest.approx([account.trace, account.rescaled(3.0).trace])
    assert abs(traces[0] / traces[1] - 1) > 0.1


def test_networks_and_functions_are_those_of_the_domination():
    same = domination.Trial("signed", 2, 2, (0, 1), 5, 24, 20, 4)
    rows = eigenvalues.trial(same)
    assert [row["network"] for row in rows] == 2 * list(eigenvalues.NETWORKS)
    for k, other in enumerate(domination.trial(same)):
        traces = {row["network"]: row["trace"] for row in rows[4 * k : 4 * k + 4]}
        assert traces["learned"] == pytest.approx(other["trace"], rel=1e-4)
        for name in eigenvalues.NETWORKS[1:]:
            assert traces[name] == pytest.approx(other[f"{name}_trace"])
    for row in rows:
        values = [row[f"e{place}"] for place in range(1, eigenvalues.COUNT + 1)]
        assert values == sorted(values, reverse=True) and sum(values) <= row["trace"] * (1 + 1e-9)
        assert 1 <= row["directions"] <= 24 and math.isnan(row["whole"]) == (row["network"] != "learned")


def _spectra(trace=2.0, top=2.0, kinds=domination.KINDS, count=5):
    """Hand-built networks with ``trace`` and ``top`` times as much as the learned ones."""
    rows = []
    for kind in kinds:
        for seed in range(count):
            for name in eigenvalues.NETWORKS:
                by = (1, 1) if name == "learned" else (trace, top)
                rows.append({"kind": kind, "T": 12, "m": 1024, "degree": 2, "sparsity": 4, "seed": seed, "fitted": 1,
                             "network": name, "trace": 100.0 * by[0], "directions": 4.0, "whole": 50.0,
                             "e1": 40.0 * by[1]})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("signed", "mixed", "expected"),
    [((2, 2), (2, 2), "agrees"), ((2, 2), (2, 0.5), "agrees in part"), ((0.5, 2), (2, 2), "agrees in part"),
     ((0.5, 0.5), (0.5, 0.5), "differs")],
)  # fmt: skip
def test_other_functions_must_be_steeper_in_trace_and_at_the_top(signed, mixed, expected):
    rows = _spectra(kinds=("basic",)) + _spectra(*signed, kinds=("signed",)) + _spectra(*mixed, kinds=("mixed",))
    for some in (rows, [{name: str(value) for name, value in row.items()} for row in rows]):
        (said,) = eigenvalues.measured(some)
        assert said["verdict"] == expected and "1.2 times that" in said["statement"]


def test_directions_in_the_ledger_are_those_of_functions_with_both_signs():
    rows = [row | {"directions": {"basic": 9.0, "signed": 2.0, "mixed": 4.0}[row["kind"]]} for row in _spectra()]
    assert (
        "weights of both signs: learned 3, hand 3, trimmed 3, rescaled 3." in eigenvalues.measured(rows)[0]["statement"]
    )


def test_four_functions_are_too_few_for_a_sign_test_and_those_that_did_not_fit_are_left_out():
    assert eigenvalues.measured(_spectra(count=4))[0]["verdict"] == "differs"  # p = 1/16
    lost = [row | {"seed": 9, "fitted": 0, "trace": 9e9} for row in _spectra(count=1)]
    tables = [eigenvalues.summary(rows) for rows in (_spectra(), _spectra() + lost)]
    assert tables[0] == tables[1]
    (line,) = (one for one in tables[0]["networks"] if (one["kind"], one["network"]) == ("mixed", "hand"))
    assert (line["functions"], line["trace_above"], line["e1_above"], line["share"]) == (5, 5, 5, pytest.approx(0.4))
    assert np.isfinite(line["directions"])
