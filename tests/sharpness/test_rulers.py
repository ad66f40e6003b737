"""Rulers that do not bend, and the spectrum: against formulas written out, full Hessians and rescaled copies."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from flatcube import blowup, cube, handmade, networks, sharpness
from flatcube.networks import data
from flatcube.sharpness import rulers
from tests.sharpness.guests import guest
from tests.sharpness.test_library import BITS, loss_hessian, small, targets

BUILT = [((1, 2), 0.7), ((3, 4), 1.3)]


@pytest.mark.parametrize("alpha", [0.1, 8.0])
def test_adaptive_sharpness_and_relative_flatness_do_not_see_a_rescaling(alpha: float, monkeypatch):
    """On the MLP of chapter 4's network, (E, b, F) ↦ (αE, αb, F/α); factors that are added would see it."""

    def measured(model: nn.Module) -> list[float]:
        directions = {"rho": 0.02, "adaptive": True, "seed": 1}
        mean = sharpness.average_direction(model, BITS, directions=10, **directions)
        worst = sharpness.worst_direction(model, BITS, steps=3, **directions)
        return [mean.value, worst.value, sharpness.relative_flatness(model, BITS).value]

    model = handmade.build(BUILT, 4)
    other = handmade.rescale(model, alpha)
    assert np.allclose(measured(model), measured(other), rtol=1e-6)
    plain = [sharpness.average_direction(one, BITS, rho=0.02, directions=10, seed=1).value for one in (model, other)]
    assert not np.allclose(*plain, rtol=0.1)
    monkeypatch.setattr(rulers.Scaled, "_product", lambda self, weight, factor: weight + factor - self._one(weight))
    monkeypatch.setattr(rulers.Scaled, "_one", lambda self, weight: torch.ones_like(weight))
    assert not np.allclose(measured(model), measured(other), rtol=0.1)


def test_adaptive_shifts_are_those_of_every_weight_in_units_of_itself():
    model, rho = nn.Linear(3, 1, dtype=torch.float64), 0.2
    x = torch.randn(9, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = sharpness.average_direction(model, x, rho=rho, adaptive=True, directions=4000)
    weight, bias = (values.detach() for values in model.parameters())
    truth = rho**2 * float(((weight * x).square().sum(1) + bias**2).mean())
    assert abs(found.value - truth) < 4 * found.error < 0.2 * truth and math.isclose(found.relative_radius, rho)
    worst = sharpness.worst_direction(model, x, rho=rho, adaptive=True)
    full = torch.cat([x * weight, bias.expand(9, 1)], 1)
    assert math.isclose(worst.value, rho**2 * float(torch.linalg.eigvalsh(full.T @ full / 9)[-1]), rel_tol=1e-6)


@pytest.mark.parametrize("labels", [False, True])
def test_relative_flatness_is_the_sum_in_its_definition(labels: bool):
    """Σ_{s,s'} ⟨w_s, w_{s'}⟩ Tr H_{s,s'} from the full Hessian, for (outputs, inputs) and for ours."""
    torch.manual_seed(1)
    plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Flatten(0)).double()
    x, y = torch.randn(8, 3).double(), torch.randn(8).double()
    ours = small()
    for model, inputs, goal, turned in ((plain, x, y, False), (ours, BITS, targets(), True)):
        goal = goal if labels else None
        exclude, place, total = ("positions",), 0, 0.0
        full = loss_hessian(model, inputs, goal, exclude)
        for name, weight in model.named_parameters():
            if "positions" in name:
                continue
            block = full[place : place + weight.numel(), place : place + weight.numel()].reshape(*weight.shape * 2)
            place += weight.numel()
            if weight.ndim == 2:
                w = weight.detach().mT if turned else weight.detach()
                block = block.permute(1, 0, 3, 2) if turned else block
                total += float(torch.einsum("si,ti,sjtj->", w, w, block))
        found = sharpness.relative_flatness(model, inputs, goal)
        assert math.isclose(found.value, total, rel_tol=1e-8), type(model)


def test_the_spectrum_has_the_moments_of_its_probes_and_the_eigenvalues_of_a_small_model():
    model, y = small(), targets()
    full = loss_hessian(model, BITS, y)
    values = torch.linalg.eigvalsh(full).numpy()
    found = sharpness.spectrum(model, BITS, y, probes=12, steps=25)
    assert found.nodes.shape == found.weights.shape == (12, 25) and np.allclose(found.weights.sum(1), 1)
    probes = next(sharpness.random_vectors(12, full[0], kind="signs", seed=0, stream="signs"))
    for k in (1, 2, 5):
        moments = (probes * (probes @ torch.linalg.matrix_power(full, k))).mean(1).numpy()
        nodes = (found.weights * found.nodes**k).sum(1)
        assert np.allclose(nodes, moments, rtol=1e-6, atol=1e-9 * abs(values).max() ** k)
    assert math.isclose(found.trace, float((probes * (probes @ full)).sum(1).mean()), rel_tol=1e-8)
    assert math.isclose(found.nodes.max(), values[-1], rel_tol=1e-6) and found.nodes.min() >= values[0] - 1e-9
    for level in (-0.5, 1.0, 3.0):
        share, error = found.below(level)
        assert abs(share - (values <= level).mean()) < 4 * error + 1 / len(values)
    grid, width = np.linspace(-3, 8, 40), 0.5
    blurred, error = found.density(grid, width=width)
    truth = np.exp(-(((grid[:, None] - values) / width) ** 2) / 2).mean(1) / (width * math.sqrt(2 * math.pi))
    assert (abs(blurred - truth) < 5 * error + 0.02).all()


def test_a_space_that_is_exhausted_ends_lanczos_without_harm():
    """Two eigenvalues, 0 and 4, and more steps than that."""
    x = torch.diag(torch.tensor([math.sqrt(6.0), 0.0, 0.0], dtype=torch.float64))
    model = nn.Sequential(nn.Linear(3, 1, bias=False), nn.Flatten(0)).double()
    found = sharpness.spectrum(model, x, probes=4, steps=3)
    assert np.allclose(found.below([-1e-6, 2.0, 5.0])[0], [0, 2 / 3, 1]) and math.isclose(found.trace, 4.0)


# --- the blow-up of any module ----------------------------------------------------------------------------------------


def test_hooks_find_the_factors_of_layer_norm_and_rmsnorm():
    """Against N written out; inputs along the second axis are told from positions, or it is said that they are not."""

    class Second(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.rms = nn.LayerNorm(5, eps=0.1), nn.RMSNorm(5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:  # (batch, positions, 5)
            turned = self.rms(x).transpose(0, 1) * x.transpose(0, 1).square()
            return self.layer(turned.flatten(0, 1)).unflatten(0, turned.shape[:2]).transpose(0, 1)[:, 0]

    x = torch.randn(4, 4, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    model = Second().double()
    with pytest.raises(ValueError, match=r"model: expected a norm 'layer' with an axis for the inputs"):
        blowup.measure(model, x)  # positions before inputs in one axis: nothing tells them apart
    turned = networks.Adapter(model.layer, lambda norm, x: norm(x.transpose(0, 1)).transpose(0, 1))
    short = nn.Sequential(turned, model.rms)
    found = blowup.measure(short, x)
    first = 1 / (x.var(-1, correction=0) + 0.1).sqrt()
    between = model.layer(x).detach()
    second = 1 / (between.square().mean(-1) + torch.finfo(torch.float64).eps).sqrt()
    assert list(found.factors) == ["0.model", "1"]
    assert torch.allclose(found.factors["0.model"], first) and torch.allclose(found.factors["1"], second)
    assert torch.allclose(found.value, (1 + first.amax(1)) * (1 + second.amax(1)))


def test_a_copy_of_a_network_of_the_book_has_its_blowup():
    """PyTorch's encoder with the weights of ours."""
    ours = networks.Encoder(networks.Config(n=5, width=8, layers=1, heads=1, norm="mlp"), seed=1, dtype=torch.float64)
    bits = torch.as_tensor(cube.to_bits(cube.points(5))).long()
    before = ours.activations(bits)["layers.0.sum"].detach()
    theirs = nn.Sequential(nn.LayerNorm(8)).double()
    assert torch.allclose(blowup.measure(ours, bits).value, blowup.measure(theirs, before).value)


def test_a_norm_of_ones_own_is_registered():
    class Own(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x / x.abs().amax(-1, keepdim=True)

    model, x = nn.Sequential(nn.Linear(3, 4), Own()), torch.ones(2, 3)
    with pytest.raises(ValueError, match="expected a network with layer norm"):
        blowup.measure(model, x)
    networks.stretch.register(Own, lambda norm, x: 1 / x.abs().amax(-1))
    assert torch.allclose(blowup.measure(model, x).factors["1"], 1 / model[0](x).abs().amax(-1, keepdim=True))


def test_blowups_of_guests_hang_on_their_own_input():
    for name in ("nn.TransformerEncoder", "LSTM", "keywords, RMSNorm"):
        model, x = guest(name)
        rows = [data.part(x, slice(k, k + 1)) for k in (0, 5)]
        alone = torch.cat([blowup.measure(model, row).log for row in rows])
        assert torch.allclose(blowup.measure(model, x).log[[0, 5]], alone)
