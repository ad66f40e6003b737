"""The race of the testers from Python: its states, its random numbers, and what theory says its tests must do."""

import math

import numpy as np
import pytest

from flatcube import cube, fourier, queries
from flatcube.classroom.explorers import explorer
from flatcube.queries import explorer as race


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"n": 7}, "n: expected an integer from 8 to 30, got 7"),
        ({"n": True}, "n: expected an integer from 8 to 30, got True"),
        ({"family": "sine"}, "family: expected one of sparse, .* got 'sine'"),
        ({"degree": 6}, "degree: expected an integer from 1 to 5, got 6"),
        ({"terms": 0}, "terms: expected an integer from 1 to 8, got 0"),
        ({"noise": 0.2}, "noise: expected one of 0, 0.01, 0.1, 0.3, got 0.2"),
        ({"tolerance": -1}, "tolerance: expected one of 0, 0.01, 0.1, 0.3, 1, got -1"),
        ({"trials": 65}, "trials: expected an integer from 1 to 64, got 65"),
        ({"seed": 100}, "seed: expected an integer from 0 to 99, got 100"),
        ({"tester": "oracle"}, "tester: expected one of blocks, axes, gf2, got 'oracle'"),
        ({"clock": -1}, "clock: expected None or an integer ≥ 0, got -1"),
        ({"clock": 1.5}, "clock: expected None or an integer ≥ 0, got 1.5"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint) as refused:
        explorer("queries", **state)
    assert "\n" not in str(refused.value)


def test_what_a_family_does_not_use_is_zero_and_a_late_clock_means_the_end():
    state = explorer("queries", family="majority", clock=10**6).state
    assert (state["degree"], state["terms"], state["clock"]) == (0, 0, None)
    assert explorer("queries", family="subset", clock=3).state["clock"] == 3


def test_the_numbers_look_fair():
    words = race._words(3, 1)
    bits = np.array([[next(words) >> i & 1 for i in range(32)] for _ in range(4000)])
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.04  # five standard deviations
    assert np.abs(np.corrcoef(bits.T) - np.eye(32)).max() < 0.08
    words = race._words(4, 2)
    counts = np.bincount([race._below(5, words) for _ in range(5000)], minlength=5)
    assert len(counts) == 5 and np.abs(counts - 1000).max() < 150


def test_streams_and_seeds_differ():
    firsts = {next(race._words(seed, stream)) for seed in range(100) for stream in range(7)}
    assert len(firsts) == 700


@pytest.mark.parametrize("family", race.QueriesExplorer.schema["family"].values)
def test_degrees_are_those_of_the_table(family):
    for seed in range(3):
        state = explorer("queries", family=family, n=9, degree=2 + seed, seed=seed).state
        table = cube.table(race._function(state), 9)
        assert fourier.spectrum(table).degree == race._degree(state)
        if family in race.REAL:
            assert race._algebraic_degree(state) is None
        else:
            assert race._algebraic_degree(state) == algebraic_degree(table)


@pytest.mark.parametrize("n", range(8, 14))
def test_the_algebraic_degree_of_majority(n):
    assert race._algebraic_degree({"family": "majority", "n": n, "degree": 0}) == algebraic_degree(cube.majority(n))


def algebraic_degree(table):
    """The largest monomial of the polynomial over GF(2), by summing over the points below each."""
    bits = np.asarray(table) < 0
    masks = np.arange(len(bits))
    odd = [bits[masks & monomial == masks].sum() % 2 for monomial in masks]
    return max((int(mask).bit_count() for mask in masks if odd[mask]), default=0)


@pytest.mark.parametrize("family", ["subset", "conjunction", "mean", "sparse"])
def test_no_test_rejects_wrongly(family):
    """Without noise, or with a tolerance that covers it, no find above the degree, in the notion the test measures."""
    for seed in range(8):
        for noise in (0, 0.1):
            given = {"family": family, "degree": 2, "terms": 4, "noise": noise, "tolerance": noise, "seed": seed}
            state = explorer("queries", trials=64, **given).state
            for tester, trials in race._race(state).items():
                limit = race._algebraic_degree(state) if tester == "gf2" else 2 if family != "mean" else 1
                assert all(trial.degree <= (limit or 0) for trial in trials)
                assert not any(trial.found for trial in trials if trial.degree == limit)


@pytest.mark.parametrize(("tester", "degree"), [("blocks", 0), ("blocks", 2), ("axes", 1), ("axes", 2)])
def test_finds_are_as_frequent_as_the_library_says(tester, degree):
    """One parity of d + 1 variables, n = 8: the share of trials at degree ≤ d that find something."""
    n, size, lane = 8, degree + 1, race.TESTERS.index(tester) + 1
    members, words, hits, count = range(size), race._words(9, lane), 0, 3000
    for _ in range(count):
        drawn = race._draw(tester, n, degree + 1, words)
        assert drawn.shape == (degree + 2, n)
        hits += all(direction[list(members)].prod() < 0 for direction in drawn[1:])
    survival = queries.survival(size, degree) if tester == "blocks" else 1 / math.comb(n, size)
    assert abs(hits / count - survival) < 5 * np.sqrt(survival * (1 - survival) / count)


def test_the_foil_fails_and_gf2_measures_something_else():
    shown = [explorer("queries").displayed({"family": "subset", "degree": 3, "seed": seed}) for seed in range(10)]
    said = {tester: [page[f"{tester}:verdict"] for page in shown] for tester in race.TESTERS}
    assert said["blocks"].count("accepts degree ≤ 3: right") >= 8
    assert said["axes"].count("accepts degree ≤ 3: right") == 0
    assert set(said["gf2"]) == {"accepts degree ≤ 1: right modulo 2"}


def test_the_clock_uncovers_the_race_query_by_query():
    figure = explorer("queries", family="subset", degree=2)
    whole = figure.displayed(figure.state)
    total = int(whole["clock"])
    before = None
    for clock in [*range(40), total]:
        shown = figure.displayed({**figure.state, "clock": clock})
        assert shown["blocks:queries"] == min(clock, whole["blocks:queries"])
        trials = {key for key in shown if key.count(":") == 2}
        assert before is None or before <= trials <= set(whole)
        assert ("now:query" in shown) == (clock > 0)
        before = trials
    assert shown == whole


def test_a_lax_tolerance_wilts_and_noise_without_one_overshoots():
    page = explorer("queries").displayed
    assert page({"family": "subset", "tolerance": 1})["blocks:verdict"] == "accepts degree ≤ 0: too low"
    assert page({"family": "mean", "noise": 0.1})["blocks:verdict"] == "rejects even degree ≤ 6: wrong"
    assert page({"family": "mean", "noise": 0.01, "tolerance": 0.01})["blocks:verdict"] == "accepts degree ≤ 1: right"


def test_the_still_picture_has_a_disc_for_every_trial():
    figure = explorer("queries", family="subset")
    trials = sum(map(len, race._race(figure.state).values()))
    assert figure.picture(figure.state).count("<circle") == trials


PARITY_OF_THREE = {"family": "subset", "degree": 3, "trials": 32, "seed": 1}


@pytest.mark.parametrize(
    ("changed", "blocks", "axes", "gf2"),
    [
        ({}, "accepts degree ≤ 3: right", "accepts degree ≤ 1: too low", "accepts degree ≤ 1: right modulo 2"),
        ({"family": "parity"}, "accepts degree ≤ 5: too low", "rejects even degree ≤ 6: right",
         "accepts degree ≤ 1: right modulo 2"),
    ],
)  # fmt: skip
def test_the_text_says_what_one_sees(changed, blocks, axes, gf2):
    shown = explorer("queries", **PARITY_OF_THREE | changed).displayed(PARITY_OF_THREE | changed)
    assert [shown[f"{tester}:verdict"] for tester in ("blocks", "axes", "gf2")] == [blocks, axes, gf2]
    assert changed or 100 < shown["blocks:queries"] < 1000  # "a few hundred questions"
