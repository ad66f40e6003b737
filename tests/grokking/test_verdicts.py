"""The rules by which the experiments of chapter 17 judge the papers, on made-up rows where the verdict is known."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from flatcube.grokking import controls, larger, modular, phases

_STILL = {"train_loss": 0.0, "both": 0.1, "swaps": 1.0, "effective": 5.0, "size": 0.1, "sharpness": 0.1,
          "spectrum": "1000", "circles": ""}  # fmt: skip


def _run(
    seed=0, *, arm="decay", share=0.4, slope=-1e-4, peak=0.0, bump=0.0, norm=None, hump=0.0, learns=True, flat=1e-5,
    more=None,
):
    """Memorised at 100, left at 700, generalised at 800; sensitivity falls by ``slope`` for each epoch from 100 on.
    Sharpness is 0.1, and ``flat`` once it has generalised, and the share ``more`` above; that grows with the seed."""
    more = seed / 100 if more is None else more
    rows, drift = [], 1e-3 * (-1) ** seed if norm is None else norm
    for epoch in range(0, 1201, 25):
        late, knows = learns and epoch >= 700, learns and epoch >= 800
        noise = 0.4 + slope * (epoch - 100) + peak * (250 <= epoch <= 300) if epoch >= 100 else 0.4 + epoch * 1e-3
        noise = (0.05 + bump * (epoch == 1000) if knows else noise) if epoch >= 100 else noise
        rows.append(_STILL | {
            "arm": arm, "p": 59, "share": share, "seed": seed, "epoch": epoch, "train": float(epoch >= 100),
            "test": 1.0 if knows else 0.5 if late else 0.3, "unmirrored": 1.0 if knows else 0.5 if late else 0.0,
            "test_loss": 10 - epoch / 200, "norm": 40 * (1 + drift * (epoch - 100) / 600 + hump * (epoch == 400)),
            "sensitivity": noise, "own": noise, "gini": epoch / 2000, "turning": epoch / 2000,
            "sharpness_own": (flat if knows else 0.1) * (1 + more),
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
        ({"hump": 0.1}, {"VA-F8W": "agrees in part"}),
        ({"peak": 0.1, "bump": 0.1}, {"VA-A5": "agrees"}),
        ({"peak": 0.02}, {"VA-A5": "agrees in part"}),
        ({"bump": 0.1, "peak": 0.2}, {"VA-F8B": "agrees", "VA-F8": "agrees"}),
    ],
)
def test_sensitivity_norm_and_bump(options, expected):
    rows = [row for seed in range(6) for row in _run(seed, **options)]
    found = _verdicts(modular.judged(rows).values())
    assert {claim: found[claim] for claim in expected} == expected


def test_the_course_of_a_training_is_judged_on_the_paper_s_own_clock():
    rows = [row for seed in range(6) for row in _run(seed)]
    assert [*_verdicts(larger.EXPERIMENT.measured(rows))] == ["VA-F8", "VA-F8W", "VA-F8B", "VA-A5"]
    assert all("mod 59 with 40 % of the pairs" in one["statement"] for one in larger.measured(rows))
    assert modular.EXPERIMENT.measured(rows) == larger.measured(_run(learns=False)) == []


def test_too_few_that_generalise_are_no_agreement():
    rows = [row for seed in range(6) for row in _run(seed, learns=seed < 2)]
    assert _verdicts(larger.measured(rows))["VA-F8"] == "differs"


def test_described_finds_events_and_ways():
    (one,) = modular.networks(_run(peak=0.2, bump=0.1))
    assert (one["memorised"], one["left"], one["generalised"]) == (100, 700, 800)
    assert one["rise"] == pytest.approx(0.585 - 0.3875) and one["bump"] == pytest.approx(0.1)
    (hump,) = modular.networks(_run(hump=0.1, norm=0.01))
    assert hump["flat"] == pytest.approx(0.01) and hump["stray"] == pytest.approx(0.105)
    assert one["way_gini"] == pytest.approx(6 / 7) and one["tau_gini"] == pytest.approx(1)
    (never,) = modular.networks(_run(learns=False))
    assert never["left"] == math.inf and math.isnan(never["fall"]) and math.isnan(never["way_norm"])
    moments = {name: one[name] for name in ("memorised", "left", "generalised")}
    assert [phases.phase(epoch, moments) for epoch in (0, 100, 699, 700, 900)] == [1, 2, 2, 3, 4]


def test_leads_count_directions():
    networks = modular.networks([row for seed in range(5) for row in _run(seed)])
    assert phases.leads(networks, "sensitivity")["p"] == pytest.approx(2**-5)
    assert phases.leads(networks, "turning")["ahead"] == 5


def _ways(sharp, seeds=5):
    """Networks with half of the pairs: the sharpness at the end for every way; None: it does not generalise. Where it
    is the same for several ways, they take turns in being a little sharper."""
    return [row for place, (arm, flat) in enumerate(sharp.items()) for seed in range(seeds)
            for row in _run(seed, arm=arm, share=0.5, learns=flat is not None, flat=flat or 0.1,
                            more=(seed + place) % len(sharp) / 100)]  # fmt: skip


def test_controls_are_judged_by_what_generalises():
    rows = _ways({"decay": 1e-5, "both": 1e-6, "cosine": 1e-7, "no decay": None})
    found = _verdicts(controls.measured(rows))
    assert found == dict.fromkeys(("VA-X4", "HR-X4", "HR-SUM-NC3", "HR-SUM-OQ2"), "agrees")
    assert {one["id"] for one in controls.measured(rows) if one.get("setting") == "stand-in"} == {*found} - {"VA-X4"}
    sharp = _ways({"decay": 0.1, "both": 0.1, "cosine": 0.1, "no decay": None})
    assert _verdicts(controls.measured(sharp))["HR-X4"] == "agrees in part"
    told = controls.summary(rows)["arms"]
    assert [(line["generalised"], line["runs"]) for line in told] == [(5, 5), (5, 5), (5, 5), (0, 5)]
    assert np.isinf(told[-1]["epoch"])


@pytest.mark.parametrize(
    ("sharp", "verdict"),
    [
        ({"decay": 1e-5, "both": 1e-6, "cosine": 1e-7}, "agrees"),
        ({"decay": 1e-5, "no decay": None, "sgd": 0.5}, "agrees in part"),  # two that generalise are too few
        ({"decay": 1e-5, "both": 1e-5, "cosine": 1e-5, "no decay": None, "sgd": None}, "agrees in part"),
        ({"decay": 1e-5, "both": 1e-5, "cosine": 1e-5}, "differs"),
        ({"decay": 1e-5, "no decay": None}, "differs"),
    ],
)
def test_the_optimiser_matters_if_ranks_within_seeds_say_so(sharp, verdict):
    assert _on_optimisers(_ways(sharp)) == verdict


def test_two_seeds_are_too_few_to_say_that_the_optimiser_matters():
    assert _on_optimisers(_ways({"decay": 1e-5, "both": 1e-6, "cosine": 1e-7}, seeds=2)) == "differs"


def _on_optimisers(rows):
    return next(one["verdict"] for one in controls.measured(rows) if one["id"] == "HR-SUM-OQ2")


def test_other_shares_of_the_pairs_say_nothing_about_the_optimiser():
    rows = [row for seed in range(4) for row in _run(seed, share=0.5)]
    few = [row for seed in range(4) for row in _run(seed, arm="30 % of pairs", share=0.3, learns=False)]
    found = _verdicts(controls.measured(rows + few))
    assert found["HR-X4"] == "agrees" and found["HR-SUM-OQ2"] == "differs"


def test_seeds_that_not_all_ways_have_are_left_out():
    ways = {"a": {0: 1.0, 1: 1.0, 2: 1.0}, "b": {0: 2.0, 1: 2.0, 2: 2.0}, "c": {0: 3.0, 1: 3.0}}
    assert controls.ranked(ways) == pytest.approx(controls.ranked({way: {0: v[0], 1: v[1]} for way, v in ways.items()}))


@pytest.mark.parametrize("values", [
    [[1, 2, 3], [1, 2, 3], [1, 3, 2]],
    [[1, 2, 3, 4], [2, 1, 3, 4], [1, 1, 4, 3]],  # two ways that are equal
    [[1, 2, 3, 4], [4, 3, 2, 1], [2, 1, 4, 3]],
])  # fmt: skip
def test_ranked_counts_all_orders_within_seeds(values):
    ranks = stats.rankdata(values, axis=1)
    sums = [np.sum(orders, 0) for orders in product(*(permutations(row) for row in ranks))]
    share = np.mean([(one**2).sum() >= (ranks.sum(0) ** 2).sum() for one in sums])
    ways = {way: dict(enumerate(column)) for way, column in enumerate(zip(*values, strict=True))}
    assert controls.ranked(ways) == pytest.approx(share)
