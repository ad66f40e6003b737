"""The rules by which the experiments of chapter 14 judge the papers, on made-up rows where the verdict is known."""

import math

import numpy as np
import pytest

from flatcube.sparse_functions import overfit, progress, sparse_and, sparse_parity


def _verdicts(found):
    assert all(one["statement"] and "nan" not in one["statement"] for one in found)
    return {one["id"]: one["verdict"] for one in found}


# --- the hidden AND ---------------------------------------------------------------------------------------------------


def _cells(critical, steepness=6.0, trials=40):
    """Networks whose success follows a logistic curve with the critical size that a function of T gives."""
    rng = np.random.default_rng(3)
    rows = []
    for T in (50, 100, 200, 400):
        for m in np.round(critical(T) * np.array([0.6, 0.8, 1.0, 1.2, 1.6])).astype(int):
            good = round(trials / (1 + (critical(T) / m) ** steepness))
            for seed in rng.permutation(trials):
                rows.append({"T": T, "m": int(m), "seed": int(seed), "success": int(seed < good),
                             "best": 1.0 if seed < good else 0.9, "ended": 100, "train": 1.0})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("critical", "steepness", "expected"),
    [
        (lambda T: 20 * math.log(T), 6.0, {"ED-F2L": "agrees", "ED-F2C": "agrees"}),
        (lambda T: 0.5 * T**1.2, 6.0, {"ED-F2L": "agrees", "ED-F2C": "differs"}),
        (lambda T: 20 * math.log(T), 39.0, {"ED-F2L": "agrees in part", "ED-F2C": "agrees"}),  # a step
        (lambda T: 200 - 20 * math.log(T), 6.0, {"ED-F2L": "agrees in part"}),  # earlier with more bits
    ],
)
def test_success_against_examples_and_length(critical, steepness, expected):
    found = _verdicts(sparse_and.measured(_cells(critical, steepness)))
    assert {claim: found[claim] for claim in expected} == expected


def test_a_critical_size_beyond_those_tried_is_no_agreement():
    rows = [row for row in _cells(lambda T: 20 * math.log(T)) if row["T"] > 50 or row["m"] > 90]
    assert not sparse_and.summary(rows)["critical"][0]["inside"]
    found = _verdicts(sparse_and.measured(rows))
    assert found["ED-F2C"] == "agrees in part" and found["ED-F2L"] != "agrees"


def test_the_summary_finds_the_critical_sizes_and_the_law():
    told = sparse_and.summary(_cells(lambda T: 20 * math.log(T), trials=200))
    for line in told["critical"]:
        assert line["low"] < 20 * math.log(line["T"]) < line["high"]
    assert told["laws"][0]["name"] == "log T"
    assert told["power"][0]["low"] < told["power"][0]["exponent"] < told["power"][0]["high"] < 1


def _ends(few, many, loss=1e-5, train=1.0):
    rows = []
    for m, accuracies in ((100, few), (200, many)):
        for seed, accuracy in enumerate(accuracies):
            for step, value in ((0, 0.8), (20, accuracy)):
                rows.append({"T": 400, "m": m, "seed": seed, "step": step, "loss": loss, "train": train,
                             "accuracy": value})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (_ends([0.9, 0.9, 0.995], [1.0, 1.0, 0.9]), {"ED-F2R": "agrees", "ED-C1-100": "agrees"}),
        (_ends([0.9, 0.9], [0.9, 0.9], loss=1e-3), {"ED-F2R": "agrees in part", "ED-C1-100": "agrees in part"}),
        (_ends([1.0, 1.0], [0.9, 0.9], loss=1e-3, train=0.9), {"ED-F2R": "differs", "ED-C1-100": "differs"}),
    ],
)
def test_too_few_and_enough(rows, expected):
    assert _verdicts(overfit.measured(rows)) == expected


# --- the hidden parity ------------------------------------------------------------------------------------------------


def _jumps(far=False, slow=False, lost=()):
    rows = []
    for T in (10, 15, 20, 70):
        for seed in range(3):
            learns = (far or T < 70) and (T, seed) not in lost
            reached = 10 * T if learns else -1
            for step in range(0, 10 * T + 100, 25):
                begun = 0 if slow else 0.9 * reached
                error = 0.5 if not learns or step <= begun else 0.0 if step >= reached else 0.2
                rows.append({"arm": "length", "T": T, "std": 0.1, "hidden": 128, "batch": 256, "steps": 5000,
                             "seed": seed, "reached": reached, "step": step, "loss": 0.5, "error": error})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (_jumps(), {"ED-F3": "agrees", "ED-C2-50": "agrees"}),
        (_jumps(far=True), {"ED-F3": "agrees", "ED-C2-50": "differs"}),
        (_jumps(slow=True), {"ED-F3": "agrees in part", "ED-C2-50": "agrees"}),
        (_jumps(lost={(20, 1)}, slow=True), {"ED-F3": "differs"}),
    ],
)
def test_jumps(rows, expected):
    found = _verdicts(sparse_parity.measured(rows))
    assert {claim: found[claim] for claim in expected} == expected


def test_a_transition_begins_at_the_last_error_near_a_half():
    (curve, *_) = sparse_parity.curves(_jumps())
    found = sparse_parity.transition(curve)
    assert (found["left"], found["reached"]) == (75, 100) and found["share"] == pytest.approx(0.25)


# --- progress ---------------------------------------------------------------------------------------------------------


def _ways(first=60, middle=100, drift=0.01, end=0.25, seeds=8):
    """The accuracy leaves chance at step 100; ``first`` and ``middle`` say when rank and sensitivity do."""
    rows = []
    for seed in range(seeds):
        for step in range(0, 201, 20):
            late = step >= 100
            low = 0.02 + drift * step / 100
            rows.append({"T": 16, "s": 4, "layers": 1, "seed": seed, "reached": 120, "step": step, "loss": 0.5,
                         "accuracy": 1.0 if late else 0.5, "sensitivity": end if step >= middle else low,
                         "weight": min(1.0, step / 100), "rank": 0 if step >= first else 5, "logits": 1.0})  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (_ways(), {"VA-A6": "agrees", "ED-X1": "agrees in part"}),
        (_ways(drift=-0.01), {"VA-A6": "agrees in part"}),
        (_ways(drift=-0.01, end=0.2, middle=160), {"VA-A6": "differs"}),
        (_ways(first=120), {"ED-X1": "differs"}),
    ],
)
def test_what_moves_first(rows, expected):
    found = _verdicts(progress.measured(rows))
    assert {claim: found[claim] for claim in expected} == expected


def test_leads_count_networks_before_and_after():
    networks = progress.summary(_ways(first=60, middle=120))["networks"]
    assert progress.ahead(networks, "first") == {
        "before": 8,
        "after": 0,
        "of": 8,
        "p": pytest.approx(2**-8),
        "lead": 40,
    }
    assert progress.ahead(networks, "middle")["after"] == 8
    assert networks[0]["growth"] == pytest.approx(1)


def test_a_look_at_the_parity_itself_and_at_a_constant():
    from flatcube import cube

    found = progress.look(3.0 * cube.subset_parity((1, 3), 5), (1, 3))
    assert found == {"accuracy": 1.0, "sensitivity": pytest.approx(2 / 5), "weight": pytest.approx(1), "rank": 0,
                     "logits": pytest.approx(3)}  # fmt: skip
    still = progress.look(np.ones(32), (1, 3))
    assert still["accuracy"] == 0.5 and still["sensitivity"] == 0 and still["weight"] == 0
    other = progress.look(cube.subset_parity((2, 4), 5) + 0.1 * cube.subset_parity((1, 3), 5), (1, 3))
    assert other["rank"] == 1 and other["weight"] == pytest.approx(0.01 / 1.01)
