"""What ``minimal`` says of made-up networks, at the turning points of its rules."""

import math

import pytest

from flatcube.inside import circuits, minimal

ROW = {"T": 12, "m": 1024, "degree": 2, "sparsity": 2, "ended": 400, "fitted": 1, "train": 0.01, "test": 0.02,
       "weights": 461, "recovered": 1, "untrained": 0, "elsewhere": 0, "mass": 0.9, "mass_most": 0.95,
       "mass_least": 0.6, "parity": 0.97, "trapezoid": 0.9, "turns": 1.0, "own": 0.02, "other": 1.0, "told": 0.01,
       "forbidden": 0.7, "swapped": 0.02, "wrong": 0.5}  # fmt: skip
NONE = dict.fromkeys(minimal.MEANS, math.nan) | {"recovered": 0}


def _rows(count=20, **change):
    return [ROW | {"seed": seed, "mass_least": 0.6 + 0.01 * seed} | {
        name: value(seed) if callable(value) else value for name, value in change.items()} for seed in range(count)]


def _verdict(rows, claim):
    as_text = [{name: str(value) for name, value in row.items()} for row in rows]
    found = {one["id"]: one["verdict"] for one in minimal.measured(as_text)}
    assert found == {one["id"]: one["verdict"] for one in minimal.measured(rows)}
    assert list(found) == ["SP-F5", "SP-F5M", "SP-A-MIN"]
    return found[claim]


@pytest.mark.parametrize(
    ("clear", "change", "expected"),
    [
        (20, {}, "agrees"),
        (15, {}, "agrees"),  # of 20: the interval begins at 0.51
        (14, {}, "agrees in part"),  # at 0.46
        (15, {"untrained": lambda seed: int(seed < 8)}, "agrees"),  # p = 0.027
        (15, {"untrained": lambda seed: int(seed < 9)}, "agrees in part"),  # p = 0.053
        (15, {"mass_least": lambda seed: 0.95 + 0.01 * (seed % 2 * 2 - 1)}, "agrees in part"),
        (4, {"untrained": 1, "mass_least": 0.95}, "differs"),
    ],
)
def test_most_networks_must_have_rows_that_were_not_there_before(clear, change, expected):
    rows = [row | (NONE if row["seed"] >= clear else {}) for row in _rows(sparsity=3, recovered=3, **change)]
    assert _verdict(rows, "SP-F5") == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"recovered": lambda seed: 1 + (seed < 15)}, "agrees"),  # a share of 0.58 in the mean, at least 0.51
        ({"recovered": lambda seed: 1 + (seed < 14)}, "agrees in part"),  # of 0.57, at least 0.49
        ({"recovered": 1}, "agrees in part"),
        ({"recovered": 2, "sparsity": 2}, "agrees in part"),  # nothing is known of three components
    ],
)
def test_most_of_three_components_must_have_a_row(change, expected):
    assert _verdict(_rows(**({"sparsity": 3} | change)), "SP-F5") == expected


def test_networks_with_three_components_are_counted_for_themselves():
    rows = _rows(recovered=2) + _rows(sparsity=3, recovered=lambda seed: int(seed > 0) + 2 * (seed > 15))
    statement = minimal.measured(rows)[0]["statement"]
    assert "24 one for every component, together 67 of 100 components; of functions with three components 27 of 60 (" \
        in statement


LARGE = {"T": 20, "m": 8192, "weights": 1021, "sparsity": 3}


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, "same"), ({"m": 10_000, "sparsity": 4}, "same"), ({"m": 4096}, "smaller"), ({"T": 16}, "smaller"),
     ({"sparsity": lambda seed: 3 - (seed == 0)}, "smaller")],
)  # fmt: skip
def test_the_setting_is_that_of_the_paper_if_every_network_has_its_size(change, expected):
    found = {one["id"]: one["setting"] for one in minimal.measured(_rows(recovered=2, **LARGE | change))}
    assert found == dict.fromkeys(("SP-F5", "SP-F5M", "SP-A-MIN"), expected)


def test_the_networks_with_the_most_bits_are_judged_and_the_others_told():
    good, bad = {"recovered": 2, "sparsity": 3}, {"turns": 0.0, "mass_least": 0.95, "untrained": 1, "sparsity": 3}
    for large, small, rows, waves in ((good, bad, "agrees", "agrees"), (bad, good, "agrees in part", "differs")):
        found = _rows(**LARGE | large) + _rows(**small)
        assert _verdict(found, "SP-F5") == rows and _verdict(found, "SP-F5M") == waves
        row, wave = (one["statement"] for one in minimal.measured(found)[:2])
        assert row.startswith("T = 20, m = 8192, 1021 weights, functions of 3 components: of 20 networks")
        parts = 20 * small.get("recovered", 1)
        told = f"T = 12, m = 1024, 461 weights, functions of 3 components: 20 of 20 networks, together {parts} of 60"
        assert told in row
        assert f"With fewer bits the wave turns so often in {20 * (small is good)} of 20 networks." in wave


def test_functions_with_room_for_a_star_are_left_out_of_a_second_count():
    functions, _ = minimal.functions(minimal.Trial(12, 1024, 2, 2, tuple(range(20))))
    plain = [seed for seed, (one, two) in enumerate(functions) if not set(one[0]) & set(two[0])]
    assert 5 < len(plain) < 20
    statement = minimal.measured(_rows(recovered=lambda seed: int(seed not in plain[:5])))[0]["statement"]
    assert f"of the {len(plain)} without two components that share all bits but one, {len(plain) - 5} have" in statement


@pytest.mark.parametrize(
    ("often", "expected"), [(15, "agrees"), (14, "agrees in part"), (1, "agrees in part"), (0, "differs")]
)
def test_most_waves_must_turn(often, expected):
    assert _verdict(_rows(turns=lambda seed: 1.0 if seed < often else 0.9), "SP-F5M") == expected


def test_networks_that_do_not_fit_or_have_degree_one_say_nothing_of_rows():
    more = _rows(fitted=0, recovered=0, turns=0.0) + _rows(degree=1, recovered=0, turns=0.0)
    assert minimal.measured(_rows())[:2] == minimal.measured(_rows() + more)[:2]


@pytest.mark.parametrize(
    ("one", "two", "expected"), [(15, 20, "agrees"), (14, 20, "agrees in part"), (14, 9, "differs")]
)
def test_most_small_functions_must_be_fitted(one, two, expected):
    rows = _rows(degree=1, fitted=lambda seed: int(seed < one)) + _rows(degree=2, fitted=lambda seed: int(seed < two))
    assert _verdict(rows + _rows(degree=3), "SP-A-MIN") == expected


def test_cells_count_what_fitted():
    rows = _rows(10, fitted=lambda seed: int(seed < 8), recovered=lambda seed: min(seed, 2))
    (line,) = minimal.summary(rows)["cells"]
    assert [line[name] for name in ("runs", "fitted", "some", "all")] == [10, 8, 7, 6]


def test_components_come_back_from_their_text():
    trial = minimal.Trial(6, 32, 2, 3, (1,), steps=1)
    (parts,), _ = minimal.functions(trial)
    (row,) = circuits.trial(trial)
    assert circuits.parsed(row["components"]) == [(s, pytest.approx(weight, rel=1e-5)) for s, weight in parts]
    assert row["rounded"] == pytest.approx(row["train"], rel=1e-3)
