"""Components looked at one by one: a network built by hand, one that is a star, and what is stored."""

import math
from collections import Counter

import numpy as np
import pytest

from flatcube import cube, inside
from flatcube.experiments import store
from flatcube.inside import by_component, minimal
from flatcube.inside._minimal_rules import one_function

T = 8
BITS = cube.to_bits(cube.points(T))
PARTS = [((1, 2), 1.5), ((3, 4), 0.5)]


def _attention(model):
    return minimal.mean_attention(model, BITS)


def _built(sets, mix):
    looks = [[(j in members) / 2 for j in range(1, T + 1)] for members in sets]
    return inside.assembled(looks, mix, [0, 1 / 8, 1 / 4, 3 / 4, 7 / 8, 1], [1, 1, 0, 0, 1, 1])


def _looked(model, part, parts=PARTS):
    f = cube.even_sum(parts, T)
    return by_component._rows(model, BITS, f, parts, part, _attention(model))


@pytest.mark.parametrize("part", PARTS)
def test_a_wrong_set_costs_half_of_the_squared_weight_and_the_right_one_nothing(part):
    """E(λ even_S − λ even_R)² = λ²/2 for two different sets, whichever R is."""
    found = _looked(_built([members for members, _ in PARTS], [weight for _, weight in PARTS]), part)
    assert found["learned"] == pytest.approx(part[1], abs=1e-6) and found["clear"] == 1
    assert found["wrong"] == pytest.approx(part[1] ** 2 / 2) == found["wrong_least"]
    for name in ("left", "right", "intact"):
        assert found[name] == pytest.approx(0, abs=1e-6)
    for name in ("parity", "trapezoid", "triangle"):
        assert found[name] == pytest.approx(1)


def test_what_is_left_has_its_sign():
    """A row that is not even enough to be clear works against the clear one, and remains."""
    looks = np.zeros((2, T))
    looks[:, :2] = (0.5, 0.5), (0.78, 0.22)
    model = inside.assembled(looks, [2.0, -0.5], [0, 1 / 8, 1 / 4, 3 / 4, 7 / 8, 1], [1, 1, 0, 0, 1, 1])
    found = _looked(model, PARTS[0], PARTS[:1])
    assert found["clear"] == 1 and 1.5 < found["learned"] < 2
    assert found["left"] == pytest.approx(1 - 2 / found["learned"]) and found["left"] < 0


def test_what_is_not_recovered_has_a_weight_and_no_numbers():
    found = _looked(_built([(3, 4)], [0.5]), PARTS[0])
    assert found["clear"] == 0 and found["learned"] == pytest.approx(0, abs=1e-6)
    assert all(math.isnan(found[name]) for name in ("left", "right", "wrong", "wrong_least", "triangle"))


def test_the_heaviest_star_is_two_components_that_share_all_bits_but_one():
    assert by_component.heaviest(PARTS) == []
    triples = [((1, 2, 3), 0.1), ((2, 3, 4), 1.0), ((1, 2, 5), 1.0), ((3, 4, 6), 0.5)]
    assert by_component.heaviest(triples) == [triples[1], triples[3]]


def test_rows_are_like_a_star_if_they_are_near_to_it_and_nearer_than_to_a_component():
    star = [((2, 4), 1.0), ((2, 3), 1.0)]
    row, single = inside.star(star, T), inside.star(star[:1], T)
    even, even_less = ((1 - share) * row + share / T for share in (0.3, 0.35))
    attention = np.stack([row, single, 0.6 * row + 0.4 * single, 0.4 * row + 0.6 * single, even, even_less,
                          np.full(T, 1 / T), row])  # fmt: skip
    assert by_component.alike(attention, star, star) == [0, 2, 4, 7]


@pytest.fixture(scope="module")
def stored():
    return [{name: float(value) for name, value in row.items()} for row in store.load("by_component")]


def test_as_many_components_are_recovered_as_in_the_other_table(stored):
    keys = ("T", "degree", "sparsity", "seed")
    found = Counter(tuple(row[name] for name in keys) for row in stored if row["clear"])
    others = {tuple(float(row[name]) for name in keys): int(row["recovered"]) for row in store.load("minimal")}
    seen = {tuple(row[name] for name in keys) for row in stored}
    assert len(seen) == 40 and all(found[key] == others[key] for key in seen)


def test_stored_weights_are_those_of_the_functions(stored):
    for row in stored[::3]:
        parts, _ = one_function(*(int(row[name]) for name in ("seed", "T", "degree", "sparsity")))
        own = [other["weight"] for other in stored if (other["degree"], other["seed"]) == (row["degree"], row["seed"])]
        assert own == pytest.approx([weight for _, weight in parts], rel=1e-5)


def test_cells_count_components_of_networks_that_fit(stored):
    lines = by_component.summary(stored)["cells"]
    assert [line["degree"] for line in lines] == [2, 3]
    for line in lines:
        own = [row for row in stored if row["degree"] == line["degree"] and row["fitted"]]
        assert line["components"] == len(own) and line["clear"] == sum(row["clear"] > 0 for row in own)
        assert line["right"] == pytest.approx(np.median([row["right"] for row in own if row["clear"]]))
