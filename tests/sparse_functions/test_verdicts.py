"""The rules by which the experiments of chapter 14 judge the papers, on made-up rows where the verdict is known."""

import math

import numpy as np
import pytest

from flatcube.sparse_functions import critical, forty, overfit, patience, progress, sparse_and, sparse_parity


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


def test_straight_lines_between_the_cells_say_about_the_same_with_larger_errors():
    assert critical.joined([200, 50, 100], [30, 5, 10], [30, 30, 30]) == 125  # in any order
    assert critical.joined([50, 100], [15, 30], [30, 30]) == 50 and critical.joined([50, 100], [1, 2], [30, 30]) == 100
    assert critical.joined([50, 100, 200, 300], [0, 20, 9, 20], [20] * 4) == 75  # where one half is reached first
    counts = ([60, 80, 100, 120], [5, 16, 26, 27], [30] * 4)
    (curve, _), (lines, drawn) = (critical.bootstrap(*counts, rng=1, curve=curve) for curve in (True, False))
    assert lines.m == critical.joined(*counts) and abs(lines.m - curve.m) < lines.error and lines.error > curve.error
    assert math.isnan(lines.steepness) and lines.low < lines.m < lines.high and len(drawn) == 200
    rows = _cells(lambda T: 20 * math.log(T), trials=200)
    told, said = sparse_and.summary(rows), sparse_and.measured(rows)[1]["statement"]
    assert told["joined laws"][0]["name"] == "log T" and told["joined power"][0]["high"] < 1
    assert f"between the cells: α = {told['joined power'][0]['exponent']:.2f} (" in said


def test_patience_counts_what_was_found_by_both_steps():
    ended = {(100, 80): [(1, 100), (1, 400), (1, 420), (0, 1000)], (50, 40): [(0, 1000)]}
    rows = [{"T": str(T), "m": str(m), "seed": str(seed), "success": str(good), "ended": str(step)}
            for (T, m), own in ended.items() for seed, (good, step) in enumerate(own)]  # fmt: skip
    assert patience.summary(rows)["cells"] == [
        {"T": 50, "m": 40, "networks": 1, "early": 0, "all": 0, "latest": -1},
        {"T": 100, "m": 80, "networks": 4, "early": 2, "all": 3, "latest": 420},
    ]


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


def test_waits_are_compared_only_where_all_learn():
    (told,) = (one["statement"] for one in sparse_parity.measured(_jumps()) if one["id"] == "ED-F3")
    assert "T^1.0" in told and "T = 70" not in told
    lost = sparse_parity.measured(_jumps(lost={(20, 1)}))
    assert "T^" not in lost[0]["statement"] and "0 of 3 among 70 bits" in lost[1]["statement"]


def test_a_transition_begins_at_the_last_error_near_a_half():
    (curve, *_) = sparse_parity.curves(_jumps())
    found = sparse_parity.transition(curve)
    assert (found["left"], found["reached"]) == (75, 100) and found["share"] == pytest.approx(0.25)


# --- progress ---------------------------------------------------------------------------------------------------------


def _ways(first=60, middle=100, drift=0.01, end=0.25, seeds=8, untrained=0.02):
    """The accuracy leaves chance at step 100; ``first`` and ``middle`` say when rank and sensitivity do."""
    rows = []
    for seed in range(seeds):
        for step in range(0, 201, 20):
            late = step >= 100
            low = 0.02 + drift * step / 100 if step else untrained
            rows.append({"T": 16, "s": 4, "layers": 1, "seed": seed, "reached": 120, "step": step, "loss": 0.5,
                         "accuracy": 1.0 if late else 0.5, "sensitivity": end if step >= middle else low,
                         "weight": min(1.0, step / 100), "rank": 0 if step >= first else 5, "logits": 1.0})  # fmt: skip
    return rows


@pytest.mark.parametrize(("rows", "verdict"), [(_ways(), "agrees in part"), (_ways(first=120), "differs"),
                                              (_ways(first=100), "differs")])  # fmt: skip
def test_a_set_that_is_first_early_answers_the_question_in_part(rows, verdict):
    assert _verdicts(progress.measured(rows)) == {"ED-X1": verdict}


def _again(examples=700, learns=True, **options):
    lost = {} if learns else {"reached": -1, "accuracy": 0.5}
    return [row | {"T": 16, "examples": examples, "train": row["step"] / 200} | lost for row in _ways(**options)]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (_again(), "agrees"),
        (_again(drift=-0.01), "agrees in part"),
        (_again(drift=-0.01, end=0.2, middle=160), "differs"),
        (_again(middle=40), "agrees in part"),  # sensitivity is there long before the accuracy
        (_again(seeds=2) + _again(900, learns=False), "agrees"),  # most do not learn, and it rises in all
        (_again(learns=False), "agrees in part"),
        (_again(learns=False, drift=-0.01, end=0.01), "differs"),
        (_again(seeds=4), "agrees in part"),  # four are too few for a sign test
        (_again(seeds=4) + _again(900, seeds=4), "agrees in part"),  # and eight networks with four sets are no more
        (_again(untrained=0.3), "agrees"),  # an accident of the first weights
        (_again(untrained=0.0, drift=-0.01), "agrees in part"),
    ],
)
def test_sensitivity_is_judged_where_examples_are_met_again(rows, verdict):
    fresh = [row | {"s": 3, "examples": 0, "train": math.nan} for row in _ways(drift=-0.01, end=3 / 16)]
    assert _verdicts(forty.measured(rows + fresh)) == {"VA-A6": verdict}


def test_the_summary_of_forty_counts_kinds():
    fresh = [row | {"s": 3, "examples": 0, "train": math.nan} for row in _ways(drift=-0.01, end=3 / 16)]
    told = forty.summary(fresh + _again(learns=False, seeds=3))
    assert told["kinds"][1] == {"s": 4, "examples": 700, "networks": 3, "learnt": 0, "higher": 3, "found": 0,
                                "change": pytest.approx(0.228), "train": 1.0}  # fmt: skip
    assert [line["higher"] for line in told["kinds"]] == [0, 3] and len(told["networks"]) == 8
    both = forty.summary(_again(seeds=3) + _again(learns=False, drift=-0.03, end=0.01, seeds=5)[-22:])["kinds"][0]
    assert (both["networks"], both["learnt"], both["higher"], both["found"]) == (5, 3, 3, 3)
    (one,) = forty.measured(fresh + _again(learns=False, seeds=3))
    assert "0 of 3 learn from 700" in one["statement"] and "in 0 of 8 that learn" in one["statement"]
    assert forty.measured(fresh) == []


def test_networks_with_the_same_set_count_once_by_their_mean():
    two = _again(seeds=2, drift=-0.01) + _again(900, seeds=1, drift=0.03)
    changes = forty.by_set(progress.curves(two))
    assert changes == {(16, 4, 0): pytest.approx((-0.006 + 0.018) / 2), (16, 4, 1): pytest.approx(-0.006)}
    (one,) = forty.measured(two)
    assert "in 1 of 3 (median change -0.006), which have 2 hidden sets" in one["statement"]
    assert "in 1 of 2 (sign test: p = 0.75)" in one["statement"]


def test_what_is_said_of_sensitivity_begins_at_the_second_look():
    (curve,) = progress.curves(_ways(seeds=1, untrained=0.9))
    found = progress.described(curve)
    assert (found["untrained"], found["start"]) == (0.9, pytest.approx(0.022))
    assert found["change"] == pytest.approx(0.006) and found["rise"] == pytest.approx(1) and found["middle"] == 100
    (early,) = progress.curves(row for row in _ways(seeds=1) if row["step"] in (0, 100, 200))
    assert math.isnan(progress.described(early)["change"])  # it is never looked at again at chance


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


def _sample(f, members, points=4000, seed=0):
    T, others = 12, forty.rivals(forty.Trial(12, 2, (0,), 1, others=60))
    return forty.look(f, members, others, T, points=points, rng=np.random.default_rng(seed))


def test_a_look_by_samples_at_a_parity_and_at_a_constant():
    found = _sample(lambda x: 2.0 * x[:, 0] * x[:, 2], (1, 3))
    assert found["accuracy"] == 1 and found["rank"] == 0 and found["logits"] == pytest.approx(2, rel=0.01)
    assert found["sensitivity"] == pytest.approx(2 / 12, abs=0.03) and found["weight"] == pytest.approx(1, abs=0.01)
    still = _sample(lambda x: np.ones(len(x)), (1, 3))
    assert still["sensitivity"] == still["weight"] == still["score"] == 0 and abs(still["accuracy"] - 0.5) < 0.05


def test_a_look_by_samples_agrees_with_the_whole_table():
    """The exact numbers of the whole cube lie within a few standard errors of what samples say."""
    from flatcube import cube

    rng = np.random.default_rng(2)
    table = rng.normal(size=2**12) + 0.3 * cube.subset_parity((2, 5), 12) + 3
    exact = progress.look(table, (2, 5))
    found = [_sample(lambda x: table[cube.index(x)], (2, 5), seed=seed) for seed in range(30)]
    for name in ("accuracy", "sensitivity", "weight"):
        values = [one[name] for one in found]
        assert abs(np.mean(values) - exact[name]) < 4 * np.std(values, ddof=1) / math.sqrt(30)
    assert np.std([one["score"] for one in found]) == pytest.approx(1, rel=0.4)  # it is in standard errors
    assert np.mean([one["score"] for one in found]) == pytest.approx(0.3 / 1.045 * math.sqrt(4000), rel=0.1)


def test_rivals_are_sets_of_the_right_size_that_do_not_depend_on_the_seed():
    trial = forty.Trial(10, 3, (0,), 1, others=500)
    sets = forty.rivals(trial)
    assert sets.shape == (500, 3) and {*sets.ravel()} == {*range(10)} and all(len({*row}) == 3 for row in sets.tolist())
    assert np.array_equal(sets, forty.rivals(forty.Trial(10, 3, (5,), 9, others=500)))
    near = forty.look(lambda x: 1.0 * x[:, 1] * x[:, 2], (2, 3), np.array([[2, 1], [0, 4]]), 6, points=50,
                      rng=np.random.default_rng(0))  # fmt: skip
    assert near["rank"] == 0  # the hidden set itself is no rival
