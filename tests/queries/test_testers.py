"""What the testers find: the stored study behind chapter 3, recomputed in part."""

import csv
import itertools

import numpy as np
import pytest

from flatcube.classroom.claims import measurements
from flatcube.experiments import store
from flatcube.queries import testers

STUDY = store.load("testers")


def stored(tester, method, degree, sparsity, laxity="0"):
    key = [tester, method, laxity, str(degree), str(sparsity)]
    (row,) = [row for row in STUDY if list(row.values())[:5] == key]
    return row


@pytest.mark.parametrize(("tester", "method"), [("degree", "blocks"), ("sparsity", "directions")])
def test_the_stored_testers_are_right_in_95_of_100_runs(tester, method):
    for degree, sparsity in itertools.product(range(1, 6), range(1, 22)):
        row = stored(tester, method, degree, sparsity)
        assert int(row["runs"]) == 200 and int(row["right"]) >= 190


@pytest.mark.parametrize(
    "trial",
    [
        testers.Trial("degree", "blocks", 1, 20),
        testers.Trial("degree", "blocks", 4, 1),
        testers.Trial("degree", "blocks", 3, 13),
        testers.Trial("sparsity", "directions", 5, 8),
        testers.Trial("sparsity", "directions", 2, 21),
        testers.Trial("degree", "axes", 2, 6, runs=40),
        testers.Trial("degree", "blocks", 3, 11, 64.0, runs=40),
        testers.Trial("sparsity", "directions", 3, 11, 0.1, runs=40),
    ],
)
def test_stored_rows_can_be_computed_again(trial):
    (again,) = testers.trial(trial)
    shown = {key: f"{value:.6g}" if isinstance(value, float) else str(value) for key, value in again.items()}
    assert shown == stored(trial.tester, trial.method, trial.degree, trial.sparsity, f"{trial.laxity:g}")


def test_naive_testers_and_lax_settings_fall_short():
    share = lambda rows: sum(int(row["right"]) for row in rows) / sum(int(row["runs"]) for row in rows)  # noqa: E731
    for tester, method in (("degree", "blocks"), ("sparsity", "directions")):
        assert share([row for row in STUDY if row["tester"] == tester and row["method"] == "axes"]) < 0.5
        means = {}
        for row in STUDY:
            if row["tester"] == tester and row["method"] == method and int(row["sparsity"]) in (6, 11, 16, 21):
                truth = int(row[tester])
                means.setdefault(float(row["laxity"]), []).append(float(row["mean"]) / truth)
                assert float(row["mean"]) <= truth
        wilting = [np.mean(means[laxity]) for laxity in sorted(means)]
        assert wilting == sorted(wilting, reverse=True) and wilting[0] > 0.99 and wilting[-1] < 0.9


def test_settings_are_summed_up_over_their_classes():
    lines = {(line["tester"], line["method"], line["laxity"]): line for line in testers.summary(STUDY)["settings"]}
    assert len(lines) == 2 + 2 + 4 + 6
    strict, lax = lines["sparsity", "directions", 0.0], lines["sparsity", "directions", 0.3]
    assert (strict["classes"], strict["runs"], lax["classes"], lax["runs"]) == (105, 21_000, 20, 800)
    shares = [float(row["mean"]) / int(row["sparsity"]) for row in STUDY if row["laxity"] == "0.3"]
    assert lax["mean"] == pytest.approx(np.mean(shares)) and lax["error"] == pytest.approx(np.std(shares) / 19**0.5)
    assert (lax["least"], lax["most"]) == pytest.approx((min(shares), max(shares)))


# --- what it says about SP --------------------------------------------------------------------------------------------


def test_the_ledger_prints_what_the_stored_study_says():
    (row,) = testers.measured(STUDY)
    assert vars(measurements()["SP-F8"]).items() >= row.items()


def with_means(change):
    """The stored study with other means: ``change`` gets the row and its truth."""
    return [row | {"mean": str(change(row, int(row[row["tester"]])))} for row in STUDY]


def verdict(rows):
    return testers.measured(rows)[0]["verdict"]


def test_the_verdict_follows_from_the_study():
    def high(row, truth):  # strict testers that overshoot
        return float(row["mean"]) + 0.1 * (row["laxity"] == "0")

    def low(row, truth):  # strict testers far below the truth, lax ones below them
        return 0.9 * float(row["mean"])

    def level(row, truth):  # lax tests that do not wilt
        return truth

    def rising(row, truth):  # neither of the two
        return 0.8 * truth * (1 + float(row["laxity"]) / 1000)

    assert verdict(STUDY) == "agrees"
    assert [verdict(with_means(change)) for change in (high, low, level)] == ["agrees in part"] * 3
    assert verdict(with_means(rising)) == "differs"


def test_a_measured_row_takes_the_place_of_the_old_one(tmp_path):
    row = {key: value for key, value in vars(measurements()["SP-F8"]).items() if key != "ours"}
    path = tmp_path / "measured.csv"
    path.write_text('id,verdict,statement,results,command\nSP-F8,differs,old,a,b\nXX,agrees,"kept, whole",c,d\n')
    store.record(row, folder=tmp_path)
    found = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert found[0] == row and found[1]["statement"] == "kept, whole" and len(found) == 2
    assert found[1]["setting"] == "smaller"


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: testers.Trial("odd", "axes", 1, 1), "tester: expected one of degree, sparsity, got 'odd'"),
        (lambda: testers.Trial("degree", "axes", 0, 1), "degree: expected an integer ≥ 1, got 0"),
        (lambda: testers.Trial("degree", "axes", 1, 1, runs=0), "runs: expected an integer ≥ 1, got 0"),
        (lambda: testers.trial(testers.Trial("degree", "lines", 1, 1, runs=1)), "method: expected 'blocks' or 'axes'"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()
