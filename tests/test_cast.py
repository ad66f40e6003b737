"""The cast: one order, one colour each, and the same function as callable, as table and as network."""

import numpy as np
import pytest

from flatcube import cast, cube
from flatcube.classroom import explorers, palette


@pytest.mark.parametrize("name", cast.NAMES)
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_callable_and_table_agree(name, n):
    assert np.allclose(cast.FUNCTIONS[name](cube.points(n)), cast.table(name.lower(), n), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", cast.NAMES)
def test_the_network_computes_it(name):
    torch = pytest.importorskip("torch")
    bits = torch.as_tensor(cube.to_bits(cube.points(6))).long()
    with torch.no_grad():
        found = cast.network(name)(bits).numpy()
    assert np.abs(found - cast.table(name, 6)).max() < (0.02 if name == "MEAN" else 1e-6)  # layer norm bends MEAN


def test_each_has_a_colour_of_its_own_which_no_value_and_no_series_has():
    assert list(cast.COLOURS) == list(cast.NAMES) and len(set(cast.COLOURS.values())) == 4
    assert not set(cast.COLOURS.values()) & {*palette.SERIES, palette.MINUS, palette.PLUS}


def test_explorers_get_the_names():
    for name in ("sharpness", "length"):
        assert 'const cast = ["PARITY","MAJORITY","FIRST","MEAN"];' in explorers.bundle(name)
    assert explorers.explorer("cube").schema["name"].names["parity"] == "PARITY"


@pytest.mark.parametrize("name", ["XOR", 3, None])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(ValueError, match=f"^name: expected PARITY, MAJORITY, FIRST or MEAN, got {name!r}$"):
        cast.table(name, 3)
