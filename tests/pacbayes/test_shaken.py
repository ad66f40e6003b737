"""The shaken network from Python: what is stored beside it, and what the library says it must show."""

import pytest

from flatcube import pacbayes
from flatcube.classroom.explorers import explorer
from flatcube.pacbayes.explorers import shaken

page = shaken.ShakenExplorer.displayed


def test_the_stored_study_is_what_is_measured():
    stored, found = shaken._study(), shaken.measure([7])
    assert found["loss"] == pytest.approx(stored["loss"][7:8], rel=1e-3)
    assert found["clipped"] == pytest.approx(stored["clipped"][7:8], rel=1e-3)
    assert found["targets"] == pytest.approx(stored["targets"])
    assert found["outputs"][0] == pytest.approx(stored["outputs"][7], abs=2e-3)


def test_the_loss_is_near_its_parabola_where_noise_is_weak_and_clipping_only_lowers_it():
    study, trace = shaken._study(), pacbayes.of_soft(shaken._plan()).trace
    for sigma, loss, clipped in zip(shaken.SIGMAS, study["loss"], study["clipped"], strict=True):
        assert clipped <= loss
        if 1e-3 <= sigma <= 1e-2:
            assert loss == pytest.approx(sigma**2 / 2 * trace, rel=0.15)


@pytest.mark.parametrize("inequality", ["assumed", "clipped", "kl"])
def test_the_parts_are_the_whole_and_the_valley_moves_to_less_noise(inequality):
    best = []
    for m in (8, 10, 12):
        shown = [page({"sigma": k, "m": m, "inequality": inequality}) for k in range(15)]
        assert all(one["cost"] + one["weights"] == pytest.approx(one["value"]) for one in shown)
        best.append(min(range(15), key=lambda k: shown[k]["value"]))
    assert best[0] > best[1] > best[2]


def test_a_wrong_state_is_refused_and_the_still_picture_has_two_parts():
    with pytest.raises(ValueError, match="inequality: expected one of assumed, clipped, kl"):
        explorer("pacbayes.shaken", inequality="both")
    figure = explorer("pacbayes.shaken")
    assert figure.picture(figure.state).count("<rect") == 2
