"""Evidence for what the text of SP says of its smallest networks."""

import math

import pytest

from flatcube import inside
from flatcube.inside import minimal

claim = pytest.mark.claim


def _joined(T, hidden=32, right=inside.shapes):
    found = right(T, hidden)
    return {name: shape for name, shape in found.items() if name != "key"}  # query and key in one matrix


@claim("SP-F5N", mutant=("flatcube.inside.models.shapes", _joined, "Query and key are one matrix, as in the theory."))
def test_the_network_of_the_paper_has_just_over_a_thousand_weights():
    (trial,) = {(trial.T, trial.hidden) for trial in minimal._paper()}
    assert trial == (20, 32)
    assert 1000 < sum(map(math.prod, inside.shapes(*trial).values())) < 1050
