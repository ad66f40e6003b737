"""Evidence for the definitions and theorems of chapter 13."""

import math

import numpy as np
import pytest
import torch

from flatcube import cube, fourier, networks
from flatcube.generalise import gap, random_functions
from flatcube.sharpness.landscape import Landscape, random_vectors

claim = pytest.mark.claim


def _with_signs(n, degree, components, *, rng, right=cube.random_components):
    found = right(n, degree, components, rng=rng)
    return [(members, weight * (-1) ** k) for k, (members, weight) in enumerate(found)]


@claim(
    "SP-A-FUN",
    mutant=("flatcube.cube.functions.random_components", _with_signs, "Every second weight is negative."),
)
def test_targets_have_one_degree_positive_weights_and_unit_variance():
    for d, w in ((1, 4), (2, 8), (3, 4), (5, 2)):
        trial = gap.Trial("stop", 12, 512, d, w, (0, 1))
        for components, given in zip(*gap.samples(trial), strict=True):
            assert len({members for members, _ in components}) == w
            assert {len(members) for members, _ in components} == {d}
            assert min(weight for _, weight in components) > 0
            assert math.hypot(*(weight for _, weight in components)) == pytest.approx(2)
            assert given.table.var() == pytest.approx(1)
            spectrum = fourier.spectrum(given.table)
            assert (spectrum.degree, spectrum.sparsity) == (d, w + 1)  # and the constant: it is not centred
            assert given.table.mean() == pytest.approx(sum(weight for _, weight in components) / 2)


def _as_in_the_book():
    return gap.EXPERIMENT.trials("book")


@claim("SP-A-SET", mutant=("flatcube.generalise.gap._paper", _as_in_the_book, "The settings are those of the book."))
def test_the_settings_of_appendix_a_are_a_scale_of_the_experiment():
    trials = gap._paper()
    assert {(trial.T, trial.m, trial.arm, trial.batch) for trial in trials} == {(20, 8192, "stop", 64)}
    kind = gap.learners.config(20, more=trials[0].more, hidden=trials[0].hidden)
    assert (kind.width, kind.hidden, kind.layers, kind.heads, kind.norm) == (51, 128, 2, 1, "none")
    assert len({(trial.degree, trial.sparsity) for trial in trials}) == 20
    assert {trial.degree for trial in trials} == {1, 2, 3, 4, 5}


def _on_the_first(model, trial, right=random_functions.squares):
    found = right(model, trial)
    found[:, len(found[0]) // 2 :] *= 2  # inputs are not treated alike
    return found


@claim(
    "HR-S6-GEN",
    mutant=("flatcube.generalise.random_functions.squares", _on_the_first, "Half of the inputs count twice."),
)
def test_over_all_training_sets_the_mean_sharpness_is_that_of_the_cube():
    """Every input is in as many sets of size m as any other, so the average of averages is the average."""
    trial = random_functions.Trial(0, 4, (4,), directions=5)
    model = networks.Encoder(networks.Config(n=4, width=8), seed=1, dtype=torch.float64)
    squares = random_functions.squares(model, trial)
    land = Landscape(model, torch.as_tensor(cube.to_bits(cube.points(4))).long())
    shifts = random_functions.RHO * next(random_vectors(5, land.theta, seed=0))
    whole = float(land.losses(shifts).mean())
    rng, sets = np.random.default_rng(0), []
    for _ in range(3):  # a random order cut into sets of m: all of them together are the cube, each is uniform
        order = rng.permutation(16)
        sets += [squares[:, order[k : k + 4]].mean() for k in range(0, 16, 4)]
    assert np.mean(sets) == pytest.approx(whole)
    assert np.std(sets) > 0


def test_no_training_point_is_a_test_point_in_any_arm():
    for arm in gap.ARMS:
        _, (given,) = gap.samples(gap.Trial(arm, 8, 64, 2, 2, (3,)))
        assert set(given.shown.tolist()).isdisjoint(given.hidden.tolist()) and len(given.hidden) == 256 - 64
