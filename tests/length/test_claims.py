"""Evidence for the definitions behind chapter 12: HR's settings, and which networks count."""

import numpy as np
import pytest

from flatcube import training
from flatcube.length import sharper
from flatcube.length import trials as networks

claim = pytest.mark.claim


def _as_in_the_book():
    return sharper.EXPERIMENT.trials("book")


@claim(
    "HR-TAB1",
    mutant=("flatcube.length.sharper._paper", _as_in_the_book, "Width and batch are those of the book's runs."),
)
def test_the_settings_of_table_1_are_a_scale_of_the_experiment():
    for trial in sharper._paper():
        assert (trial.width, trial.batch, trial.steps, trial.schedule) == (128, 1024, 10_000, "constant")
        assert {(rate, decay) for _, _, rate, decay in trial.members} == {(3e-4, 0.1)}
        config = networks.encoders(trial).config if trial.n == 4 else None
        assert config is None or (config.layers, config.heads, config.hidden) == (2, 2, None)  # as wide as the model
    assert networks.RHO == 0.02 and training.Settings(steps=1).optimiser == "adamw"
    assert sorted({trial.n for trial in sharper._paper()}) == list(range(4, 31))


def _everyone(self):
    return np.isfinite(self.errors)


@claim(
    "HR-D-CONV",
    mutant=("flatcube.training.runs.Run.converged", property(_everyone), "Whoever ends with a number has converged."),
)
def test_only_an_error_below_a_thousandth_counts_and_the_others_are_counted():
    draws = ((0, 5e-3, 0.1), (1, 1e-9, 0.1))  # the second hardly moves
    options = {"width": 16, "batch": 64, "steps": 300, "every": 100, "directions": 10, "chance_after": None}
    trial = networks.Trial(("FIRST",), 3, draws, **options)
    rows = networks.last(networks.rows(trial, networks.encoders(trial)))
    assert [row["converged"] for row in rows] == [row["error"] < 1e-3 for row in rows] == [True, False]
    (line,) = sharper.lengths(rows)
    assert (line["runs"], line["converged"]) == (2, 1) and line["mean"] == rows[0]["sharpness"]
