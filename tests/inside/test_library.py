"""Minimal networks and readings of chapter 18: a network built by hand is read as what it is."""

import numpy as np
import pytest
import torch

from flatcube import cube, handmade, inside
from flatcube.inside import models

SETS = [(1, 2), (3, 4, 5)]
T = 6
BITS = cube.to_bits(cube.points(T))


def _built(weights=(1.2, 1.6), logit=20.0):
    """Rows 1 and 2 attend to {1, 2} and {3, 4}; the MLP is the trapezoid of degree 2, exact at 0, ½, 1."""
    sets = [(1, 2), (3, 4)]
    kinks, slopes = (part.ravel() for part in handmade.breakpoints(2, "trimmed"))
    p = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in inside.shapes(T, len(kinks)).items()}
    p["query"][:T, :T] = torch.eye(T, dtype=torch.float64)
    for i, members in enumerate(sets):
        p["key"][[j - 1 for j in members], i] = logit
    p["value"][-1] = 1
    p["enter"][:] = 1
    p["bias"], p["leave"] = -torch.as_tensor(kinks), torch.as_tensor(slopes, dtype=torch.float64)
    p["mix"][:2] = torch.tensor(weights)
    return inside.Minimal(p), list(zip(sets, weights, strict=True))


MODEL, PARTS = _built()
F = cube.even_sum(PARTS, T)
OWN = [members for members, _ in PARTS]


def _attention(model=MODEL):
    return model.attention(torch.as_tensor(BITS)).mean(0).detach().numpy()


def test_the_circuit_built_by_hand_computes_its_function():
    np.testing.assert_allclose(MODEL(torch.as_tensor(BITS)).detach().numpy(), F, atol=1e-6)


def test_attention_is_the_softmax_of_its_definition():
    p = {name: values.double() for name, values in inside.drawn(4, 3, seed=1).items()}
    model, bits = inside.Minimal(p), cube.to_bits(cube.points(4))
    for x, found, out in zip(bits, model.attention(torch.as_tensor(bits)), model(torch.as_tensor(bits)), strict=True):
        X = torch.cat([torch.eye(4), torch.as_tensor(x)[:, None]], 1).double()
        A = torch.softmax(X @ p["query"] @ (X @ p["key"]).T, -1)
        torch.testing.assert_close(found, A)
        r = torch.relu((A @ X @ p["value"])[:, None] * p["enter"] + p["bias"]) @ p["leave"] + p["lift"]
        torch.testing.assert_close(out, r @ p["mix"] + p["shift"][0])


def test_many_networks_are_as_each_alone():
    first = [inside.drawn(5, 6, seed=seed) for seed in (1, 2)]
    both = models.Minimals({name: torch.stack([one[name] for one in first]) for name in first[0]})
    bits = torch.as_tensor(cube.to_bits(cube.points(5)))
    for k in range(2):
        torch.testing.assert_close(both(bits)[k], both.member(k)(bits))
        torch.testing.assert_close(both(torch.stack([bits, bits]))[k], both.member(k)(bits))


def test_rows_are_found_where_they_are():
    found = inside.mass(_attention(), [*OWN, (1, 3)])
    assert found[:2].round(3).tolist() == [[1, 0, 0.5], [0, 1, 0.5]]
    assert found[2:] == pytest.approx(2 / T)  # uniform
    assert [inside.clear_rows(_attention(), members) for members in OWN] == [[0], [1]]
    assert inside.clear_rows(_attention(), (1, 2, 3)) == []  # all of the mass, but nothing on the third
    almost, _ = _built(logit=float(np.log(0.79 / 0.21 * (T - 2) / 2)))
    just, _ = _built(logit=float(np.log(0.81 / 0.19 * (T - 2) / 2)))
    assert [inside.clear_rows(_attention(each), (1, 2)) for each in (almost, just)] == [[], [0]]


def test_a_wave_is_the_trapezoid_in_any_units_and_a_line_is_not():
    ones = BITS[:, :3].sum(1)
    for degree, n in ((3, ones), (2, BITS[:, :2].sum(1))):
        r = 2 - 3 * handmade.wave(n / degree, degree)
        assert inside.trapezoid(0.3 - 0.1 * n, r, n, degree) == pytest.approx(1)
        assert inside.explained(r, inside.even(BITS, range(1, degree + 1))) == pytest.approx(1)
    assert inside.trapezoid(1.0 * ones, 1.0 * ones, ones, 3) < 0.7
    assert inside.trapezoid(0.0 * ones, 1.0 * ones, ones, 3) == inside.explained(ones, 0 * ones) == 0


def test_triangle_and_trapezoid_are_told_apart_between_the_corners():
    """Rows that are not even read places at which the two waves differ."""
    uneven = BITS[:, :3] @ np.array([0.5, 0.3, 0.2])
    ones = BITS[:, :3].sum(1)
    slope, start = np.polyfit(ones, uneven, 1)
    own = (uneven - start) / (3 * slope)
    straight = np.abs(1 - (3 * own) % 2)
    assert inside.triangle(uneven, 2 - 3 * straight, ones, 3) == pytest.approx(1)
    assert inside.trapezoid(uneven, straight, ones, 3) < 0.99
    assert inside.triangle(uneven, handmade.wave(own, 3), ones, 3) < 0.99
    assert inside.trapezoid(uneven, handmade.wave(own, 3), ones, 3) == pytest.approx(1)
    for degree in (2, 3):  # at the corners they are one
        ones = BITS[:, :degree].sum(1)
        assert inside.triangle(0.3 - 0.1 * ones, ones % 2, ones, degree) == pytest.approx(1)


@pytest.mark.parametrize(
    ("curve", "count"),
    [([0, 1, 2], 0), ([0, 1, 0], 1), ([0, 1, 0.99, 1, 0], 1), ([0, 1, 0.9, 1, 0], 3), ([1, 1, 1], 0), ([1, 0, 0, 1], 1),
     (np.cos(np.linspace(0, 3 * np.pi, 100)), 2), ([0, 1, 0.985, 0.97, 0.955, 0.94], 1)],
)  # fmt: skip
def test_turns_are_counted_but_for_ripples(curve, count):
    assert inside.turns(curve) == count


@pytest.mark.parametrize("members", [(1, 2), (3, 4)])
def test_shares_add_up_to_one_and_say_what_ablation_leaves(members):
    found = inside.shares(MODEL, BITS, members)
    assert found == pytest.approx(np.eye(T)[OWN.index(members)], abs=1e-6)
    model = inside.Minimal({name: values.double() for name, values in inside.drawn(T, seed=2).items()})
    found = inside.shares(model, BITS, members)
    assert found.sum() == pytest.approx(1)
    for rows in ([0], [1, 4], list(range(T))):
        assert inside.ablated(model, BITS, rows, [members])[0] == pytest.approx(1 - found[rows].sum())
    with pytest.raises(ValueError, match="^members: expected a set whose coefficient is not zero"):
        inside.shares(MODEL, BITS, (1, 5, 6))


STARS = [
    [((1, 2), 1.3), ((2, 5), 0.4)],
    [((1, 2), 1.0), ((1, 3), 2.0), ((1, 6), 0.5)],
    [((1, 2, 3), 0.7), ((1, 3, 5), 1.9)],
    [((1, 2, 3, 4), 1.5)],
    [((6,), 2.0), ((2,), 1.0)],
]


@pytest.mark.parametrize("parts", STARS)
def test_a_star_is_one_row_and_one_triangle_wave(parts):
    """By numpy, and as a network."""
    degree, total, truth = len(parts[0][0]), sum(weight for _, weight in parts), cube.even_sum(parts, T)
    row = inside.star(parts, T)
    assert row.sum() == pytest.approx(1)
    wave = np.abs(np.mod(degree * (BITS @ row), 2) - 1)  # tri
    np.testing.assert_allclose(total * wave, truth, atol=1e-12)
    knots = np.arange(degree + 1) / degree
    model = inside.assembled(row[None], [total], knots, 1 - np.arange(degree + 1) % 2)
    assert len(model.bias) == degree
    np.testing.assert_allclose(model(torch.as_tensor(BITS)).detach().numpy(), truth, atol=1e-9)


@pytest.mark.parametrize(("hub", "turns"), [(0.5, 1), (0.6, 1), (0.9, 1), (0.4, 1), (0.34, 1), (0.3, 3), (0.1, 3)])
def test_a_hub_above_its_leaves_needs_one_turn_and_one_below_them_three(hub, turns):
    bits = BITS[:, [1, 2, 3]]
    u = (bits @ [hub, (1 - hub) / 2, (1 - hub) / 2]).round(9)
    truth = cube.even_sum([((2, 3), 1.0), ((2, 4), 1.0)], T)
    heights = [set(truth[u == place].round(9)) for place in np.unique(u)]
    assert all(len(height) == 1 for height in heights)  # a wave exists
    assert inside.turns([height.pop() for height in heights]) == turns


def _bends(places, heights):
    """So many kinks every wave through these points needs: of each direction, the most intervals between the neighbours
    of a point in which a bend of this direction must be and of which no two overlap."""
    change = np.diff(np.diff(heights) / np.diff(places)).round(9)
    count = 0
    for direction in (-1, 1):
        end = -np.inf
        for left, right in zip(places[:-2][change * direction > 0], places[2:][change * direction > 0], strict=True):
            if left >= end:
                count, end = count + 1, right
    return count


@pytest.mark.parametrize(("hub", "kinks"), [(0.9, 1), (0.6, 1), (0.5, 1), (0.45, 3), (0.4, 3), (0.35, 3), (0.2, 3)])
def test_a_hub_as_heavy_as_its_leaves_together_needs_one_kink_and_a_lighter_one_three(hub, kinks):
    """That fewer are not enough, by the slopes; that so many are, as a network."""
    leaf, truth = (1 - hub) / 2, cube.even_sum([((1, 2), 1.0), ((1, 3), 1.0)], T)
    row = np.array([hub, leaf, leaf, 0, 0, 0])
    places, first = np.unique((BITS @ row).round(9), return_index=True)
    assert _bends(places, truth[first]) == kinks
    if hub >= 0.5:
        knots, heights = [0, 0.5, 1], [2, 1 - hub / (2 * leaf), 2]
    elif hub > leaf:
        knots, heights = [0, leaf, 0.5, hub + leaf, 1], [2, 1, (hub - 0.5) / (hub - leaf), 1, 2]
    else:
        knots, heights = [0, hub, 0.5, 2 * leaf, 1], [2, 0, (0.5 - hub) / (leaf - hub), 0, 2]
    assert len(knots) - 2 == kinks
    model = inside.assembled(row[None], [1.0], knots, heights)
    np.testing.assert_allclose(model(torch.as_tensor(BITS)).detach().numpy(), truth, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_row_of_a_star_is_clear_for_a_component_with_enough_of_its_weight(seed):
    rng = np.random.default_rng(seed)
    degree, leaves = 2 + seed % 3, 2 + seed % 2
    hub, weights = tuple(range(1, degree)), rng.exponential(size=leaves)
    parts = [((*hub, degree + k), float(weight)) for k, weight in enumerate(weights)]
    looks = np.tile(inside.star(parts, 8), (8, 1))
    for (members, _), share in zip(parts, weights / weights.sum(), strict=True):
        assert bool(inside.clear_rows(looks, members)) == (share >= 0.5 and share >= 1 - degree / 5)


def test_an_assembled_network_has_the_wave_and_the_rows_that_were_asked_for():
    kinks = handmade.breakpoints(2, "trimmed")[0].ravel()
    knots = np.unique(np.clip(kinks, 0, 1))
    rows = np.array([[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0, 0]])
    model = inside.assembled(rows, [1.2, 1.6], knots, handmade.wave(knots, 2))
    np.testing.assert_allclose(model(torch.as_tensor(BITS)).detach().numpy(), F, atol=1e-9)
    np.testing.assert_allclose(_attention(model)[:2], rows, atol=1e-12)
    places = torch.linspace(0, 1, 101, dtype=torch.float64)
    np.testing.assert_allclose(model.wave(places).detach().numpy(), handmade.wave(places.numpy(), 2), atol=1e-12)


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ([((1, 2), 1.0), ((3, 4), 1.0)], "expected 1 bits that all sets have in common, got 0"),
        ([((1, 2), 1.0), ((1, 2, 3), 1.0)], "expected sets of one size"),
        ([((1, 2), -1.0), ((1, 3), 1.0)], "expected weights above 0"),
        ([], "expected sets of one size"),
    ],
)
def test_what_is_no_star_is_refused(parts, complaint):
    with pytest.raises(ValueError, match=f"^components: {complaint}"):
        inside.star(parts, T)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"attention": [[0.5, 0.6]]}, "attention: expected rows that are not negative and add up to 1"),
        ({"knots": [0.0, 0.0]}, "attention, knots: expected at most T rows"),
        ({"mix": [1.0, 2.0]}, "mix: expected"),
    ],
)
def test_what_cannot_be_assembled_is_refused(change, complaint):
    given = {"attention": [[0.5, 0.5]], "mix": [1.0], "knots": [0.0, 1.0], "values": [1.0, 0.0]} | change
    with pytest.raises(ValueError, match=f"^{complaint}"):
        inside.assembled(**given)


def test_ablation_takes_one_component_away():
    assert inside.ablated(MODEL, BITS, [0], OWN) == pytest.approx([0, 1], abs=1e-6)
    assert inside.ablated(MODEL, BITS, [4], OWN) == pytest.approx([1, 1], abs=1e-6)


def test_a_patch_does_what_the_circuit_says():
    told, forbidden = inside.patched(MODEL, BITS, F, [0], PARTS[0], rng=0)
    assert told < 1e-10 and forbidden > 0.3
    told, _ = inside.patched(MODEL, BITS, F, [1], PARTS[0], rng=0)  # another row
    assert told > 0.3


def test_the_hand_built_circuit_is_its_own_replacement():
    assert inside.swapped(MODEL, BITS, F, [0], OWN[0]) < 1e-10
    assert inside.swapped(MODEL, BITS, F, [0], (1, 3)) > 0.1


def test_weights_come_back_from_text():
    model = inside.Minimal(inside.drawn(7, seed=3))
    again = inside.from_text(inside.to_text(model), 7)
    bits = torch.as_tensor(cube.to_bits(cube.points(7)))
    torch.testing.assert_close(again(bits), model(bits).double(), rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="^text: expected 241 numbers for T = 7 and 32 ReLUs, got 2"):
        inside.from_text("1 2", 7)
    with pytest.raises(ValueError, match="^text: expected 241 numbers with spaces"):
        inside.from_text("one", 7)
