"""The rules by which the experiments of chapter 17 judge the papers, on made-up rows where the verdict is known."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from flatcube.experiments import store
from flatcube.grokking import controls, larger, modular, phases

_STILL = {"train_loss": 0.0, "both": 0.1, "swaps": 1.0, "effective": 5.0, "size": 0.1, "sharpness": 0.1,
          "spectrum": "1000", "circles": ""}  # fmt: skip


def _run(
    seed=0, *, arm="decay", share=0.4, slope=-1e-4, peak=0.0, bump=0.0, norm=None, hump=0.0, learns=True, flat=1e-5,
    more=None, stays=False, own=None, end=3800, sharper=0.0,
):  # fmt: skip
    """Memorised at 100, left at 700, generalised at 800; sensitivity falls by ``slope`` for each epoch from 100 on.
    Sharpness is 0.1, and ``flat`` once it has generalised, and the share ``more`` above; that grows with the seed.
    Sensitivity is by ``bump`` higher at epoch 3000, or from then on if it ``stays``, sharpness by ``sharper``."""
    more = seed / 100 if more is None else more
    rows, drift = [], 1e-3 * (-1) ** seed if norm is None else norm
    for epoch in [*range(0, 1201, 25), *range(1300, end + 1, 100)]:
        late, knows = learns and epoch >= 700, learns and epoch >= 800
        here = epoch == 3000 or stays and epoch > 3000
        noise = 0.4 + slope * (epoch - 100) + peak * (250 <= epoch <= 300) if epoch >= 100 else 0.4 + epoch * 1e-3
        noise = (0.05 + bump * here if knows else noise) if epoch >= 100 else noise
        rows.append(_STILL | {
            "arm": arm, "p": 59, "share": share, "seed": seed, "epoch": epoch, "train": float(epoch >= 100),
            "test": 1.0 if knows else 0.5 if late else 0.3, "unmirrored": 1.0 if knows else 0.5 if late else 0.0,
            "test_loss": 10 - epoch / 200, "norm": 40 * (1 + drift * (epoch - 100) / 600 + hump * (epoch == 400)),
            "sensitivity": noise, "own": noise if own is None else own, "gini": epoch / 2000, "turning": epoch / 2000,
            "sharpness_own": (flat if knows else 0.1) * (1 + more) + sharper * here,
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
        ({"bump": 0.1, "stays": True}, {"VA-F8B": "differs"}),  # it rises, and does not fall again
    ],
)
def test_sensitivity_norm_and_bump(options, expected):
    rows = [row for seed in range(6) for row in _run(seed, **options)]
    found = _verdicts(modular.judged(rows).values())
    assert {claim: found[claim] for claim in expected} == expected


def test_a_bump_in_some_networks_is_agreement_in_part():
    rows = [row for seed in range(6) for row in _run(seed, bump=0.1 * (seed == 4), own=0.2)]
    found = modular.judged(rows)["VA-F8B"]
    assert found["verdict"] == "agrees in part"
    assert "in 1 of 6, with noise in units of the embedding in 0." in found["statement"]


def test_a_bump_is_judged_by_networks_that_were_read_long_enough():
    rows = [row for seed in range(6) for row in _run(seed, bump=0.1, end=3700 + 100 * (seed < 2))]
    assert "of 2, with noise" in modular.judged(rows)["VA-F8B"]["statement"]
    short = [row for seed in range(6) for row in _run(seed, end=1200)]
    assert [*_verdicts(modular.judged(short).values())] == ["VA-F8", "VA-F8W"]
    late = [row for seed in range(6) for row in _run(seed, bump=0.1, end=9000)]
    moved = [row | {"epoch": row["epoch"] + 4000 * (row["epoch"] > 1200)} for row in late]  # after the window
    assert _verdicts(modular.judged(moved).values())["VA-F8B"] == "differs"
    assert all(trial.after >= phases.PAST for trial in larger.EXPERIMENT.trials("book"))
    assert all(
        trial.after >= phases.PAST for module in (larger, modular, controls)
        for trial in module.EXPERIMENT.trials("paper")
    )  # fmt: skip


def test_a_hill_has_two_sides():
    assert phases.hill([1, 3, 0, 2, 1]) == 2 and phases.hill([1, 2, 3]) == phases.hill([3, 2, 1]) == 0


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
    assert one["up"] == one["bump_own"] == one["bump"] and one["read"] == 3000 and one["least"] == 1
    (again,) = modular.networks(_run(sharper=0.07, more=0.0))
    assert again["sharper"] == pytest.approx(0.7)
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


def test_networks_of_one_arm_are_one_case():
    """Between arms accuracy falls with sensitivity; within an arm it is the other way round."""
    networks = [{"arm": f"{arm}", "seed": seed, "unmirrored": 1 - arm / 8 + seed / 500, "own": arm / 8 + seed / 500,
                 "sharpness_own": arm / 8 + seed / 500, "generalised": 500 if arm < 4 else np.inf}
                for arm in range(8) for seed in range(5)]  # fmt: skip
    first, _, last = controls.linked(networks)
    assert (first["tau"], first["inside"], last["tau"], last["inside"]) == pytest.approx((-1, 1, 1, 1))
    assert first["p"] == pytest.approx(2 / math.factorial(8)) == last["p"] and first["arms"] == 8
    assert -1 < first["good"] < 0 and -1 < first["bad"] < 0
    twice = controls.linked(networks + [one | {"seed": one["seed"] + 5} for one in networks])
    assert [line["p"] for line in twice] == [line["p"] for line in controls.linked(networks)]
    few = controls.linked([one for one in networks if one["arm"] in "0347"])
    assert all(abs(line["tau"]) == pytest.approx(1) and line["p"] > 0.05 for line in few)


def test_sensitivity_flatness_and_generalisation_are_judged_by_arms():
    flat = {"a": 1e-8, "b": 1e-7, "c": 1e-6, "d": 1e-5, "e": 1e-2, "f": 1e-1, "g": 0.2, "h": 0.3}

    def verdict(own):
        rows = [row for place, (arm, sharp) in enumerate(flat.items()) for seed in range(3)
                for row in _run(seed, arm=arm, share=0.5, learns=sharp < 1e-3, flat=sharp, own=own(place, seed),
                                more=0 if sharp < 1e-3 else 10 * sharp)]  # fmt: skip
        return _verdicts(controls.measured(rows))["VA-X4"]

    assert verdict(lambda place, seed: (place + seed / 10) / 10) == "agrees"
    assert verdict(lambda place, seed: (place * 3 % 8 + seed / 10) / 10) == "agrees in part"  # no order among the arms


def test_longer_readings_are_told_beside_the_controls(monkeypatch):
    rows = [row for seed in range(5) for row in _run(seed, sharper=0.07 * (seed == 4))]
    monkeypatch.setattr(store, "load", lambda name: rows)
    assert "by more than half of its earlier peak in 1 of 5 networks, with at least 100.0 %" in controls.later()
    monkeypatch.setattr(store, "load", lambda name: [row for seed in range(5) for row in _run(seed, end=1200)])
    assert controls.later() == ""


def _ways(sharp, seeds=5):
    """Networks with half of the pairs: the sharpness at the end for every way; None: it does not generalise. Where it
    is the same for several ways, they take turns in being a little sharper."""
    return [row for place, (arm, flat) in enumerate(sharp.items()) for seed in range(seeds)
            for row in _run(seed, arm=arm, share=0.5, learns=flat is not None, flat=flat or 0.1,
                            more=(seed + place) % len(sharp) / 100)]  # fmt: skip


def test_controls_are_judged_by_what_generalises():
    rows = _ways({"decay": 1e-5, "both": 1e-6, "cosine": 1e-7, "no decay": None})
    found = _verdicts(controls.measured(rows))
    assert found == dict.fromkeys(("HR-X4", "HR-SUM-NC3", "HR-SUM-OQ2"), "agrees") | {"VA-X4": "differs"}  # four arms
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
