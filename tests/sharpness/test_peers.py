"""Curvature beside PyHessian and curvlinops, on small modules of PyTorch's own; `make bench` installs the two."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from flatcube import sharpness

sys.path.append(str(Path(__file__).parents[2] / "_build" / "peers"))  # last: the book's own packages win
pytestmark = [  # theirs
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using backward:UserWarning"),
]
pyhessian, curvlinops = pytest.importorskip("pyhessian"), pytest.importorskip("curvlinops")


def perceptron() -> tuple[nn.Module, Tensor, Tensor]:
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)), torch.randn(20, 4), torch.arange(20) % 3


def convolutional() -> tuple[nn.Module, Tensor, Tensor]:
    layers = [nn.Conv2d(1, 2, 2), nn.GELU(), nn.Flatten(), nn.Linear(8, 2)]
    return nn.Sequential(*layers), torch.randn(16, 1, 3, 3), torch.arange(16) % 2


class Encoder(nn.Module):
    """One layer of PyTorch's transformer, read at the first position."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True, activation="gelu")
        self.body, self.head = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x)[:, 0])


def encoder() -> tuple[nn.Module, Tensor, Tensor]:
    return Encoder(), torch.randn(12, 3, 4), torch.arange(12) % 2


MODELS = (perceptron, convolutional, encoder)


def case(make, loss: str) -> tuple[nn.Module, Tensor, Tensor, nn.Module, int]:
    """A module, inputs, targets, PyTorch's loss, and by how much ours is larger: it adds up the squares of outputs."""
    torch.manual_seed(5)
    model, x, labels = make()
    model, x = model.double().eval(), x.double()
    if loss == "cross-entropy":
        return model, x, labels, nn.CrossEntropyLoss(), 1
    with torch.no_grad():
        outputs = model(x)
    return model, x, outputs + torch.randn_like(outputs), nn.MSELoss(), outputs.shape[1]


def gain(name: str, weight: object = None) -> bool:
    return "norm" in name and name.endswith("weight")


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("make", MODELS)
def test_curvlinops_has_the_same_hessian(make, loss: str):
    """Its operator on every unit vector: the matrix, and so its trace and its largest eigenvalue.

    The gains of LayerNorm are left out: with them the matrix of version 3.0.1 is not symmetric, and ours is.
    """
    model, x, y, criterion, times = case(make, loss)
    with sdpa_kernel(SDPBackend.MATH):
        weights = [weight for name, weight in model.named_parameters() if not gain(name)]
        operator = curvlinops.HessianLinearOperator(model, criterion, weights, [(x, y)], check_deterministic=False)
        size = sum(weight.numel() for weight in weights)
        full = times * (operator @ torch.eye(size, dtype=torch.float64))
    options = {"loss": loss, "exclude": gain}
    assert torch.allclose(sharpness.hessian(model, x, y, **options), full, rtol=1e-8, atol=1e-10)
    assert math.isclose(sharpness.hessian_trace(model, x, y, **options).value, float(full.trace()), rel_tol=1e-9)
    top = sharpness.top_eigenvalue(model, x, y, steps=200, **options).value
    assert math.isclose(top, float(torch.linalg.eigvalsh(full)[-1]), rel_tol=1e-7)


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("make", MODELS)
def test_pyhessian_has_the_same_eigenvalue_and_trace(make, loss: str):
    """Its power iteration ends at the eigenvalue of largest size; its probes have the trace for a mean."""
    model, x, y, criterion, times = case(make, loss)
    options = {"loss": loss, "exclude": ()}
    with sdpa_kernel(SDPBackend.MATH):
        theirs = pyhessian.hessian(model, criterion, data=(x, y), cuda=False)
        largest = times * theirs.eigenvalues(maxIter=2000, tol=1e-12)[0][0]
        draws = times * np.array(theirs.trace(maxIter=400, tol=-math.inf))
    values = torch.linalg.eigvalsh(sharpness.hessian(model, x, y, **options))
    assert math.isclose(largest, float(values[values.abs().argmax()]), rel_tol=1e-4)
    top = sharpness.top_eigenvalue(model, x, y, steps=200, **options).value
    assert largest < 0 or math.isclose(largest, top, rel_tol=1e-4)
    ours = sharpness.hessian_trace(model, x, y, **options).value
    assert abs(np.mean(draws) - ours) < 4 * np.std(draws) / math.sqrt(len(draws))
