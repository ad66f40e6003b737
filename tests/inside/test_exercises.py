"""Chapter 18's exercises: wrong answers as readers write them, and the library's answers."""

import numpy as np
import pytest

from flatcube import inside
from flatcube.classroom.exercises import check, find, score
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    ("18.1", "You add up rows", """
        def my_mass(attention, members):
            return sum(attention[j - 1] for j in members)
    """),
    ("18.1", "the mean over the members", """
        def my_mass(attention, members):
            return sum(attention[:, j - 1] for j in members) / len(members)
    """),
    ("18.1", "from 0", """
        def my_mass(attention, members):
            wide = np.concatenate([attention, attention[:, :1]], axis=1)
            return sum(wide[:, j] for j in members)
    """),
    ("18.2", "one member alone", """
        def my_row(attention, members):
            mass = sum(attention[:, j - 1] for j in members)
            return int(mass.argmax()) + 1 if mass.max() >= 0.8 else 0
    """),
    ("18.2", "even if no row passes", """
        def my_row(attention, members):
            return 1 + int(sum(attention[:, j - 1] for j in members).argmax())
    """),
    ("18.2", "test only that one", """
        def my_row(attention, members):
            own = attention[:, [j - 1 for j in members]]
            best = own.sum(axis=1).argmax()
            clear = own[best].sum() >= 0.8 and own[best].min() >= 0.5 / len(members)
            return int(best) + 1 if clear else 0
    """),
    ("18.2", "count positions from 0", """
        def my_row(attention, members):
            best, most = -1, 0.8
            for i, row in enumerate(attention):
                own = [row[j - 1] for j in members]
                if min(own) >= 0.5 / len(members) and sum(own) >= most:
                    best, most = i, sum(own)
            return best
    """),
    ("18.1", "from 0", """
        def my_mass(attention, members):
            return attention[:, list(members)].sum(axis=1)
    """),
    ("18.2", "two meanings", """
        def my_row(attention, members):
            own = attention[:, [j - 1 for j in members]]
            clear = (own.sum(axis=1) >= 0.8) & (own.min(axis=1) >= 0.5 / len(members))
            return int(np.argmax(own.sum(axis=1) * clear))
    """),
    ("18.2", "members from 0", """
        def my_row(attention, members):
            own = attention[:, list(members)]
            clear = (own.sum(axis=1) >= 0.8) & (own.min(axis=1) >= 0.5 / len(members))
            return 1 + int(np.argmax(own.sum(axis=1) * clear)) if clear.any() else 0
    """),
    ("18.3", "edges of plateaus", """
        def my_turns(values):
            signs = np.sign(values[1:] - values[:-1])
            return int((signs[1:] != signs[:-1]).sum())
    """),
    ("18.3", "across a plateau escapes", """
        def my_turns(values):
            steps = np.diff(values)
            return sum(1 for a, b in zip(steps, steps[1:]) if a * b < 0)
    """),
    ("18.3", "straight parts", """
        def my_turns(values):
            steps = [s for s in np.sign(np.diff(values)) if s]
            return 1 + sum(a != b for a, b in zip(steps, steps[1:]))
    """),
    ("18.4", "weights of the sum are missing", """
        def my_shares(holds, mix, chi):
            each = (holds * chi[:, None]).mean(axis=0)
            return each / each.sum()
    """),
    ("18.4", "coefficients themselves", """
        def my_shares(holds, mix, chi):
            return (holds * mix * chi[:, None]).mean(axis=0)
    """),
    ("18.4", "absolute values", """
        def my_shares(holds, mix, chi):
            each = abs((holds * mix * chi[:, None]).mean(axis=0))
            return each / each.sum()
    """),
    ("18.5", "set the rows to 0", """
        def my_ablation(holds, mix, shift, rows, f):
            w = mix.copy()
            w[rows] = 0
            return np.mean((holds @ w + shift - f) ** 2)
    """),
    ("18.5", "the network as it was", """
        def my_ablation(holds, mix, shift, rows, f):
            h = holds.copy()
            h[:, rows] = h[:, rows].mean(axis=0)
            return np.mean(((h - holds) @ mix) ** 2)
    """),
    ("18.5", "The shift is missing", """
        def my_ablation(holds, mix, shift, rows, f):
            h = holds.copy()
            h[:, rows] = h[:, rows].mean(axis=0)
            return np.mean((h @ mix - f) ** 2)
    """),
    ("18.6", "evenly among all bits", """
        def my_star(hub, leaves, weights, T):
            row = np.zeros(T)
            for j in hub + leaves:
                row[j - 1] = 1 / len(hub + leaves)
            return row
    """),
    ("18.6", "one step evenly", """
        def my_star(hub, leaves, weights, T):
            row, d = np.zeros(T), len(hub) + 1
            for j in hub:
                row[j - 1] = 1 / d
            for j in leaves:
                row[j - 1] = 1 / d / len(leaves)
            return row
    """),
    ("18.6", "does not add up to 1", """
        def my_star(hub, leaves, weights, T):
            row = np.zeros(T)
            for j in hub:
                row[j - 1] = 1 / (len(hub) + 1)
            for j, w in zip(leaves, weights):
                row[j - 1] = w / sum(weights)
            return row
    """),
    ("18.6", "The hub is right", """
        def my_star(hub, leaves, weights, T):
            row, d = np.zeros(T), len(hub) + 1
            for j, w in zip(hub + leaves, (1,) * len(hub) + weights):
                row[j - 1] = w / d
            return row
    """),
]  # fmt: skip


def _row(attention, members):
    clear = inside.clear_rows(attention, members)
    return 1 + max(clear, key=lambda i: inside.mass(attention, [members])[i, 0]) if clear else 0


def _turns(values):
    """By the places of a curve that is stretched until no step is a ripple."""
    kept = [values[0], *[b for a, b in zip(values, values[1:], strict=False) if a != b]]
    return inside.turns(kept)


def _ablation(holds, mix, shift, rows, f):
    """The rows leave their mean in the shift."""
    others = [i for i in range(len(mix)) if i not in rows]
    return np.square(holds[:, others] @ mix[others] + holds[:, rows].mean(0) @ mix[rows] + shift - f).mean()


class TestExercises(ExerciseTests):
    room = "inside"
    written = WRITTEN
    library = {
        "18.1": lambda attention, members: inside.mass(attention, [members])[:, 0],
        "18.2": _row,
        "18.3": _turns,
        "18.4": lambda holds, mix, chi: np.array([w * np.mean(r * chi) for w, r in zip(mix, holds.T, strict=True)])
        / np.mean(holds @ mix * chi),
        "18.5": _ablation,
        "18.6": lambda hub, leaves, weights, T: inside.star(
            [((*hub, leaf), weight) for leaf, weight in zip(leaves, weights, strict=True)], T
        ),
    }


@pytest.mark.parametrize("id", ["18.1", "18.2", "18.3", "18.4", "18.5"])
def test_an_answer_that_changes_what_it_is_given_is_told_so_and_nothing_else(id):
    task = find(id)

    def spoiling(*given):
        found = task.solution(*given)
        given[0][:] = 0
        return found

    said = check(id, spoiling)
    assert (said.status, said.hint) == ("unfit", None)
    assert said.text.startswith("You have changed the array that you were given.")
    assert check(id, task.solution).status == "right"


def test_an_ablation_in_place_has_the_right_values_and_is_not_right():
    def my_ablation(holds, mix, shift, rows, f):
        holds[:, rows] = holds[:, rows].mean(axis=0)
        return np.square(holds @ mix + shift - f).mean()

    assert "You have changed the array" in check("18.5", my_ablation).text


def test_a_reader_that_knows_stars_and_decoys_finds_more():
    def my_reader(look):
        use = {}
        for i in np.flatnonzero(np.abs(look.mix) * look.spread > 0.1):
            bits = np.flatnonzero(look.attention[i] > 0.05)
            hub = bits[np.argmax(look.attention[i][bits])]
            pairs = [tuple(bits)] if len(bits) == 2 else [tuple(sorted((hub, j))) for j in bits if j != hub]
            for pair in pairs:
                use[pair] = use.get(pair, 0) + look.mix[i]
        best = sorted(use, key=lambda pair: -abs(use[pair]))[: look.count]
        return [tuple(int(j) + 1 for j in pair) for pair in best]

    board = score("18.7", my_reader, seed=3)
    assert board.better("components found") > 0
    assert board.rows["components found"][0].mean() > 0.9
    assert "at most three sets" in score("18.7", lambda look: [(1, 2)] * 2).text
    assert "two different bits from 1 to 10" in score("18.7", lambda look: [(1, 1)]).text
