"""The stored networks of chapter 7 compute their functions, and are those that the code trains."""

import pytest
import torch

from flatcube import cube
from flatcube.blowup import five
from flatcube.experiments import store

BITS = torch.as_tensor(cube.to_bits(cube.points(5))).long()


@pytest.mark.parametrize("layers", [1, 2])
def test_the_stored_networks_compute_their_functions(layers):
    with torch.no_grad():
        outputs = five.stored(layers)(BITS)
    for output, table in zip(outputs, five.TABLES.values(), strict=True):
        assert (output - torch.as_tensor(table)).abs().max() < 0.1


def _distance(seeds) -> float:
    """How far trained networks of one layer end from the stored ones, relative to the norm of these."""
    ours, theirs = five.trained(1, seeds).ensemble, five.stored(1)
    with torch.no_grad():
        mine, other = (torch.nn.utils.parameters_to_vector(some.parameters()) for some in (ours, theirs))
    return float(torch.linalg.vector_norm(mine - other) / torch.linalg.vector_norm(other))


def test_the_code_trains_them():
    """Rounding bends a training run a little: on other processors its end was seen to move by less than 0.05."""
    assert _distance((2, 0, 0)) < 0.2
    assert _distance((3, 0, 0)) > 0.5


def test_the_summary_has_every_network():
    errors = five.summary(store.load("five"))["errors"]
    assert [(row["layers"], row["function"]) for row in errors] == [(k, name) for k in (1, 2) for name in five.TABLES]
    assert all(row["error"] < 0.01 for row in errors)


@pytest.mark.parametrize("layers", [0, 3, "1"])
def test_other_depths_are_not_stored(layers):
    with pytest.raises((ValueError, TypeError), match="layers: expected an integer"):
        five.stored(layers)
