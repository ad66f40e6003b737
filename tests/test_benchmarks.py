"""The arms of the benchmarks that need nothing but the book's own packages can still be prepared."""

import importlib.util
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent / "benchmarks"
ARMS = {
    "transform": {"flatcube"},
    "sensitivity": {"flatcube"},
    "training": {"flatcube", "nn.TransformerEncoder"},
    "sharpness": {"flatcube", "flatcube, PyTorch's encoder", "functional_call loop", "noise in place", "vmap(grad)"},
}


@pytest.mark.parametrize("subject", ARMS)
def test_our_arms_are_ready(subject: str, monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)  # what they ask for would outlive them
    spec = importlib.util.spec_from_file_location(f"bench_{subject}", HERE / f"{subject}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ARMS[subject]:
        assert any(module.ARMS[name](case) for case in (module.CASES[0], module.CASES[-1])), name
