"""The explorer of chapter 15 from Python: its states, and that noise, networks and counts are what it says."""

import json
import re

import numpy as np
import pytest
import torch

from flatcube.classroom.explorers import bundle, explorer
from flatcube.experiments import store
from flatcube.tokens import explorer as room
from flatcube.tokens import flips, images, models, pocket

page = room.TokensExplorer.displayed


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"image": 10}, "image: expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, got 10"),
        ({"sigma": 0.3}, "sigma: expected a multiple of 0.25 from 0 to 4, got 0.3"),
        ({"sigma": 5}, "sigma: expected a multiple of 0.25 from 0 to 4, got 5"),
        ({"patches": "01"}, "patches: expected 16 characters 0 and 1, got '01'"),
        ({"seed": -1}, "seed: expected an integer from 0 to 9999, got -1"),
    ],
)
def test_a_wrong_state_is_refused_in_one_sentence(state, complaint):
    with pytest.raises(ValueError, match=complaint):
        explorer("tokens", **state)


def test_without_noise_nothing_changes():
    shown = page({"sigma": 0, "patches": "1" * 16})
    assert all(shown[f"before:{name}"] == shown[f"after:{name}"] and shown[f"s:{name}"] == 0 for name in room.NETWORKS)


@pytest.mark.parametrize("image", [0, 4, 8])
def test_the_maps_are_the_sensitivity_of_definition_4_1_with_the_draws_of_the_page(image):
    state = {"image": image, "sigma": 2, "seed": 3}
    shown, clean = page(state), room._tokens(image)[None]
    for name in room.NETWORKS:
        noise = iter([2 * room._noise(3)[draw][place] for place in range(16) for draw in range(8)])
        found = flips.sampled(lambda x, name=name: room._outputs(name, x), clean,
                              lambda token, rng, noise=noise: token + next(noise), rng=0, repeats=8)  # fmt: skip
        assert shown[f"s:{name}"] == pytest.approx(found.value)
        assert [shown[f"map:{name}:{at}"] for at in range(1, 17)] == pytest.approx(8 * found.positions)


def test_fresh_noise_for_every_seed_and_draw():
    every = np.stack([room._noise(seed) for seed in range(3)]).reshape(24, -1)
    assert np.abs(np.corrcoef(every) - np.eye(24)).max() < 0.3
    assert every.mean() == pytest.approx(0, abs=0.05) and every.std() == pytest.approx(1, abs=0.05)


def test_the_script_carries_images_and_weights():
    text = bundle("tokens")
    (found,) = re.findall(r"const stored = (\{.*\});", text)
    stored = json.loads(found)
    assert [name for name, _, _ in stored["images"]] == list(pocket.CLASSES)
    assert list(stored["weights"]) == list(room.NETWORKS) and len(text) < 250_000
    assert list(room.TokensExplorer.schema["image"].names.values()) == list(pocket.CLASSES)


def test_the_still_picture_shows_the_image_and_the_noisy_patches():
    assert explorer("tokens").picture({}).count("<rect") == 256 + 1


def test_weights_survive_as_text():
    model = models.build("vit", 16, 16, seed=3, **pocket.SIZES["vit"])
    again = pocket.from_text("vit", pocket.to_text(model))
    x = torch.rand(5, 16, 16)
    assert torch.allclose(again(x.double()).float(), model(x), atol=1e-2)


def test_images_are_halved_by_means():
    image = np.zeros((1, 28, 28))
    image[0, :2, :2] = [[1, 1], [0, 0]]
    small = pocket.halved(image)
    assert small.shape == (1, 16, 16) and small[0, 1, 1] == pytest.approx(0.5, abs=1 / 255)
    assert small.sum() == small[0, 1, 1] and images.patches(small, 4).shape == (1, 16, 16)


def test_the_networks_know_their_images_about_equally_well():
    found = pocket.summary(store.load("pocket"))["networks"]
    assert all(0.86 < one["train"] < 0.89 and 0.83 < one["test"] < 0.87 for one in found)
