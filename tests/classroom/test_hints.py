"""The search for hints that give an answer away: what it finds, and what it lets pass."""

import numpy as np
import pytest

from flatcube.classroom.exercises import exercise
from tests.classroom.hints import given_away


def toy(hint: str):
    @exercise("96.1", "Toy", minutes=1, difficulty=1, hints=("Think.", hint), why="So.")
    def signs(table: np.ndarray, mask: int) -> float:
        """The mean with signs."""
        size = len(table) - 1
        # your turn
        parities = [(k & mask).bit_count() % 2 for k in range(size)]
        return np.mean(table * (1 - 2 * np.array(parities)))

    return signs


@pytest.mark.parametrize(
    "hint",
    [
        "`(k & mask).bit_count()` counts the ones.",
        "`( point&S ).bit_count( )` counts the ones.",  # other names and spaces
        "Return `np.mean(table * (1 - 2 * np.array(parities)))`.",
        "`return np.mean(table * (1 - 2 * np.array(parities)))`",
        "`s = 1 - 2 * np.array(p)` makes signs.",
        "First `np.abs(1 - 2 * np.array(p))`.",  # more around it
    ],
)
def test_code_of_two_steps_from_the_solution_is_found(hint):
    assert len(given_away(toy(hint))) == 1


@pytest.mark.parametrize(
    "hint",
    [
        "Count the ones that the point and the mask share.",
        "`bit_count` counts ones; `k & mask` keeps those in the set.",  # one step each
        "`np.mean` divides for you.",
        "`len(table) - 1` is the mask of all.",  # the stub shows it
        "`np.sum(table * parities)` is not the mean.",
        "Fill in `np.mean(… * …)`.",
    ],
)
def test_a_hint_that_leaves_the_work_is_let_pass(hint):
    assert given_away(toy(hint)) == []
