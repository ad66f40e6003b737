"""The doors that take tensors and networks: what they pass on, and what they refuse in one sentence."""

import numpy as np
import pytest
import torch
from torch import nn

from flatcube.networks import tensors


def _net() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 2), nn.ReLU())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: tensors.tensor(None, "x"), "x: expected a tensor of real numbers, got None"),
        (lambda: tensors.tensor("abc", "x"), "x: expected a tensor of real numbers, got 'abc'"),
        (lambda: tensors.tensor([[1, 2], [3]], "x"), r"x: expected a tensor of real numbers, got \[\[1, 2\], \[3\]\]"),
        (lambda: tensors.tensor(np.array(["a"]), "x"), "x: expected a tensor of real numbers, got an array of <U1"),
        (lambda: tensors.tensor([1j], "x"), "x: expected a tensor of real numbers, got torch.complex64"),
        (lambda: tensors.tensor(np.zeros((3, 2)), "x", ("n", 4)), r"x: expected shape \(n, 4\), got \(3, 2\)"),
        (lambda: tensors.tensor(np.zeros((3, 2)), "x", ("D", "D")), r"x: expected shape \(D, D\), got \(3, 2\)"),
        (lambda: tensors.tensor([[1.0]], "x", (..., "D"), {"D": 5}), r"shape \(…, D\) with D = 5, got \(1, 1\)"),
        (lambda: tensors.tensor(1.0, "x", (..., "n", "D")), r"x: expected shape \(…, n, D\), got \(\)"),
        (
            lambda: tensors.weights(torch.zeros(3, dtype=int), "w"),
            "w: expected floating-point numbers, got torch.int64",
        ),
        (lambda: tensors.weights(torch.tensor([1.0, np.inf]), "w"), "w: expected finite numbers, got inf"),
        (lambda: tensors.bits([[1, -1]]), "bits: expected 0 and 1, got -1; signs are turned into bits by cube.to_bits"),
        (lambda: tensors.bits([[1, np.nan]], "x"), "x: expected 0 and 1, got nan$"),
        (lambda: tensors.bits([0, 1]), r"bits: expected shape \(batch, n\), got \(2,\)"),
        (lambda: tensors.whole([[7]], "symbols", 0, 3), "symbols: expected whole numbers from 0 to 3, got 7"),
        (lambda: tensors.whole([[0.5]], "symbols", 0, 3), "symbols: expected whole numbers from 0 to 3, got 0.5"),
        (lambda: tensors.dtype(torch.int32), "dtype: expected a floating-point type of torch, got torch.int32"),
        (lambda: tensors.dtype("float32"), "dtype: expected a floating-point type of torch, got 'float32'"),
        (lambda: tensors.network(3), "model: expected nn.Module, got int"),
        (
            lambda: tensors.network(_net(), "m", (nn.Linear, nn.GELU)),
            "m: expected nn.Linear or nn.GELU, got .*Sequential",
        ),
        (
            lambda: tensors.kept(_net(), ("wieght",)),
            "exclude: expected parts of the names 0.weight, 0.bias, got 'wieght'",
        ),
        (lambda: tensors.kept(_net(), "weight"), "exclude: expected a sequence of words, got 'weight'"),
        (lambda: tensors.kept(_net(), (1,)), r"exclude: expected a sequence of words, got \(1,\)"),
        (lambda: tensors.stacks(_net(), {}), "parameters: expected tensors .* by name, got {}"),
        (lambda: tensors.stacks(_net(), {"wieght": torch.ones(1)}), "names among 0.weight, 0.bias, got 'wieght'"),
        (
            lambda: tensors.stacks(_net(), {"0.weight": torch.ones(4, 2, 3), "0.bias": torch.ones(5, 2)}),
            r"parameters: 0.bias: expected shape \(K, 2\) with K = 4, got \(5, 2\)",
        ),
    ],
)
def test_what_no_network_can_use_is_refused_in_one_sentence(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_what_fits_passes_and_sizes_are_remembered():
    sizes = {"D": 3}
    assert tensors.tensor(np.ones((2, 7, 3)), "x", (..., "n", "D"), sizes).shape == (2, 7, 3)
    assert sizes == {"D": 3, "n": 7}
    assert tensors.bits(np.array([[True, False]])).tolist() == [[1, 0]]
    assert tensors.bits([[1.0, 0.0]]).dtype == torch.long
    assert list(tensors.kept(_net(), ("bias", "positions"))) == ["0.weight"]  # positions: the default for any network
    assert list(tensors.stacks(_net(), {"0.bias": torch.ones(5, 2)})) == ["0.bias"]
