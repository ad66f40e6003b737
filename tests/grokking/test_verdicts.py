"""The rules by which the experiments of chapter 17 judge the papers, on made-up rows where the verdict is known."""

import math

import numpy as np
import pytest

from flatcube.grokking import controls, modular, phases

_STILL = {"train_loss": 0.0, "both": 0.1, "swaps": 1.0, "effective": 5.0, "size": 0.1, "sharpness": 0.1,
          "spectrum": "1000", "circles": ""}  # fmt: skip


def _run(seed=0, *, arm="decay", share=0.4, slope=-1e-4, peak=0.0, bump=0.0, norm=None, learns=True, flat=True):
    """Memorised at 100, left at 700, generalised at 800; sensitivity falls by ``slope`` for each epoch from 100 on."""
    rows, drift = [], 1e-3 * (-1) ** seed if norm is None else norm
    for epoch in range(0, 1201, 25):
        late, knows = learns and epoch >= 700, learns and epoch >= 800
        noise = 0.4 + slope * (epoch - 100) + peak * (250 <= epoch <= 300) if epoch >= 100 else 0.4 + epoch * 1e-3
        noise = (0.05 + bump * (epoch == 1000) if knows else noise) if epoch >= 100 else noise
        rows.append(_STILL | {
            "arm": arm, "p": 59, "share": share, "seed": seed, "epoch": epoch, "train": float(epoch >= 100),
            "test": 1.0 if knows else 0.5 if late else 0.3, "unmirrored": 1.0 if knows else 0.5 if late else 0.0,
            "test_loss": 10 - epoch / 200, "norm": 40 * (1 + drift * (epoch - 100) / 600),
            "sensitivity": noise, "own": noise, "gini": epoch / 2000, "turning": epoch / 2000,
            "sharpness_own": (1e-5 if flat and knows else 0.1) * (1 + seed / 100),
        })  # fmt: skip
    return rows


def _verdicts(found):
    assert all(one["statement"] and "nan" not in one["statement"] for one in found)
    return {one["id"]: one["verdict"] for one in found}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"VA-F8": "agrees", "VA-F8W": "agrees", "VA-F8B": "differs", "VA-A5": "agrees in part"}),
        ({"slope": 1e-4}, {"VA-F8": "agrees in part"}),
        ({"norm": -0.2}, {"VA-F8W": "differs"}),
        ({"bump": 0.1, "peak": 0.2}, {"VA-F8B": "agrees", "VA-F8": "agrees"}),
    ],
)
def test_sensitivity_norm_and_bump(options, expected):
    rows = [row for seed in range(6) for row in _run(seed, **options)]
    found = _verdicts(modular.measured(rows))
    assert {claim: found[claim] for claim in expected} == expected


def test_too_few_that_generalise_are_no_agreement():
    rows = [row for seed in range(6) for row in _run(seed, learns=seed < 2)]
    assert _verdicts(modular.measured(rows))["VA-F8"] == "differs"


def test_described_finds_events_and_ways():
    (one,) = modular.networks(_run(peak=0.2, bump=0.1))
    assert (one["memorised"], one["left"], one["generalised"]) == (100, 700, 800)
    assert one["rise"] == pytest.approx(0.585 / 0.4) and one["bump"] == pytest.approx(0.1)
    assert one["way_gini"] == pytest.approx(6 / 7) and one["tau_gini"] == pytest.approx(1)
    (never,) = modular.networks(_run(learns=False))
    assert never["left"] == math.inf and math.isnan(never["fall"]) and math.isnan(never["way_norm"])
    moments = {name: one[name] for name in ("memorised", "left", "generalised")}
    assert [phases.phase(epoch, moments) for epoch in (0, 100, 699, 700, 900)] == [1, 2, 2, 3, 4]


def test_leads_count_directions():
    networks = modular.networks([row for seed in range(5) for row in _run(seed)])
    assert phases.leads(networks, "sensitivity")["p"] == pytest.approx(2**-5)
    assert phases.leads(networks, "turning")["ahead"] == 5


def test_controls_are_judged_by_what_generalises():
    rows = [row for seed in range(4) for row in _run(seed, arm="decay", share=0.5)]
    rows += [row for seed in range(4) for row in _run(seed, arm="no decay", share=0.5, learns=False)]
    found = _verdicts(controls.measured(rows))
    assert found == {"VA-X4": "agrees", "HR-X4": "agrees", "HR-SUM-NC3": "agrees", "HR-SUM-OQ2": "agrees in part"}
    sharp = [row for seed in range(4) for row in _run(seed, share=0.5, flat=False)]
    sharp += [row for seed in range(4) for row in _run(seed, arm="no decay", share=0.5, learns=False)]
    found = _verdicts(controls.measured(sharp))
    assert found["HR-X4"] == "agrees in part" and found["HR-SUM-OQ2"] == "differs"
    told = controls.summary(rows)["arms"]
    assert [(line["arm"], line["generalised"], line["runs"]) for line in told] == [("decay", 4, 4), ("no decay", 0, 4)]
    assert np.isinf(told[1]["epoch"])


def test_other_shares_of_the_pairs_say_nothing_about_the_optimiser():
    rows = [row for seed in range(4) for row in _run(seed, share=0.5)]
    few = [row for seed in range(4) for row in _run(seed, arm="30 % of pairs", share=0.3, learns=False)]
    found = _verdicts(controls.measured(rows + few))
    assert found["HR-X4"] == "agrees" and found["HR-SUM-OQ2"] == "differs"
