"""Measures of modules that flatcube did not make: right, in eval mode, and without a trace of having been there."""

import contextlib
import math
import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from flatcube import blowup, networks, sharpness
from flatcube.networks import data, guests
from flatcube.sharpness import curvature, landscape
from tests.sharpness.guests import BATCH, GUESTS, guest

LABELS = torch.arange(BATCH) % 2
CALLS = {
    "average_direction": lambda model, x, **more: sharpness.average_direction(model, x, rho=0.05, directions=6, **more),
    "worst_direction": lambda model, x, **more: sharpness.worst_direction(model, x, rho=0.05, steps=3, **more),
    "hessian_trace": lambda model, x, **more: sharpness.hessian_trace(model, x, **more),
    "top_eigenvalue": lambda model, x, **more: sharpness.top_eigenvalue(model, x, steps=400, **more),
    "shop": lambda model, x: sharpness.shop(model, x, rho=0.05, directions=6),
    "shpred": lambda model, x: sharpness.shpred(model, x, rho=0.3, directions=6),
    "blowup": lambda model, x: blowup.measure(model, x),
}
LOSSES = ("average_direction", "worst_direction", "hessian_trace", "top_eigenvalue")


def everything(model: nn.Module) -> list:
    """All that a module has: values, identities, modes, gradients."""
    weights = [(name, id(w), w.clone(), w.requires_grad, w.grad) for name, w in model.named_parameters()]
    buffers = [(name, id(b), b.clone()) for name, b in model.named_buffers()]
    return [weights, buffers, [part.training for part in model.modules()], torch.get_rng_state()]


def same(one: object, other: object) -> bool:
    if isinstance(one, Tensor):
        return isinstance(other, Tensor) and torch.equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def number(found: object) -> float:
    return float(found.log.mean()) if isinstance(found, blowup.Blowup) else found.value


def warned(train: bool) -> contextlib.AbstractContextManager:
    if train:
        return pytest.warns(UserWarning, match=r"^model: it is in train mode, .*; measured as after model\.eval\(\)$")
    return contextlib.nullcontext()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", GUESTS)
def test_a_module_is_measured_in_eval_mode_and_left_as_it_was(name: str, call: str):
    """The same number in both modes, a sentence in one of them, and nothing changed; frozen weights stay frozen."""
    values = []
    for train in (False, True):
        model, x = guest(name, train=train)
        first, *_, last = model.parameters()
        first.requires_grad_(False)
        last.grad = torch.ones_like(last)
        before = everything(model)
        with warned(train) as record:
            values.append(number(CALLS[call](model, x)))
        assert same(everything(model), before) and not any(part._forward_pre_hooks for part in model.modules())
        assert not train or (len(record) == 1 and record[0].filename == __file__)
    assert values[0] == values[1] and math.isfinite(values[0]) and (values[0] > 0 or call in ("shpred", "blowup"))


@pytest.mark.parametrize("name", GUESTS)
def test_single_precision_gives_the_same_without_a_word(name: str):
    """As people have it; a warning would be an error here, and PyTorch has one for the gradients of an LSTM."""
    for call in CALLS:
        half, double = (number(CALLS[call](*guest(name, dtype=dtype))) for dtype in (torch.float32, torch.float64))
        assert math.isfinite(half) and (call in _DRAWN or math.isclose(half, double, rel_tol=1e-3)), call


_DRAWN = ("average_direction", "worst_direction", "shop", "shpred")  # along other directions in each precision


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupted_measure_leaves_no_trace(call: str, stop: type[BaseException]):
    """The fourth run of the module ends in the middle, when it has already counted."""
    model, x = guest("keywords, RMSNorm")
    inner, runs = model.model, 0
    inner.train(), inner.norm.eval()

    def hook(*_: object) -> None:
        nonlocal runs
        runs += 1
        if runs >= (2 if call == "blowup" else 4):
            raise stop("enough")

    handle = inner.out.register_forward_hook(hook)
    before = everything(model)
    with warnings.catch_warnings(), pytest.raises((KeyboardInterrupt, RuntimeError, ValueError), match="enough"):
        warnings.simplefilter("ignore")
        CALLS[call](model, x)
    assert same(everything(model), before) and runs >= 2
    handle.remove()


def test_measuring_without_rest_would_show():
    """The mutant of the test above: a module that only is switched to eval mode keeps its count."""
    model, x = guest("keywords, RMSNorm")
    before = everything(model)
    with torch.no_grad():
        model(**x)
    assert not same(everything(model), before)
    model, x = guest("MLP with BatchNorm", train=True)
    with torch.no_grad():
        assert not torch.allclose(model(x), model.eval()(x))


def test_a_warning_comes_only_where_the_mode_makes_a_difference():
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(nn.functional.dropout(x, 0.5, self.training))

    x = torch.ones(2, 3)
    for calm in (nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.0), nn.LayerNorm(4))):
        assert calm.training and sharpness.average_direction(calm, x, rho=0.1, directions=2).value > 0
    normed, dropped = nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1)), nn.Sequential(nn.Linear(3, 2), nn.Dropout())
    for minds in (Noisy(), normed, dropped):
        with warned(True):
            sharpness.average_direction(minds, x, rho=0.1, directions=2)


# --- values -----------------------------------------------------------------------------------------------------------


def dense(model: nn.Module, x: object, y: Tensor | None, loss: object) -> Tensor:
    """∇² of the mean loss by torch.autograd.functional, from nothing of ours."""
    weights = {name: w.detach() for name, w in model.named_parameters()}
    sizes = [w.numel() for w in weights.values()]
    inputs, named = ((), x) if isinstance(x, dict) else ((x,), {})
    with torch.no_grad():
        own = functional_call(model, weights, inputs, named)

    def value(vector: Tensor) -> Tensor:
        parts = zip(weights.items(), vector.split(sizes), strict=True)
        outputs = functional_call(model, {n: p.reshape(w.shape) for (n, w), p in parts}, inputs, named)
        if loss == "cross-entropy":
            return nn.functional.cross_entropy(outputs, y)
        if loss == "squared":
            return (outputs - (own if y is None else y)).square().sum(1).mean()
        return loss(outputs, y).mean()

    with sdpa_kernel(SDPBackend.MATH):
        return torch.autograd.functional.hessian(value, torch.cat([w.flatten() for w in weights.values()]))


def logistic(outputs: Tensor, y: Tensor) -> Tensor:
    return nn.functional.softplus(-(1.0 - 2.0 * y) * outputs[:, 0])


CASES = {
    "squared at a minimum": ("squared", None),
    "cross-entropy": ("cross-entropy", LABELS),
    "callable": (logistic, LABELS),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", GUESTS)
def test_curvature_is_that_of_a_dense_hessian(name: str, case: str):
    """Trace, its three estimates, top eigenvalue and Hessian against torch.autograd.functional, for any loss."""
    (model, x), (loss, y) = guest(name), CASES[case]
    full = dense(model, x, y, loss)
    options = {"loss": loss, "exclude": ()}
    trace = sharpness.hessian_trace(model, x, y, **options)
    assert math.isclose(trace.value, float(full.trace()), rel_tol=1e-8, abs_tol=1e-9)
    top = sharpness.top_eigenvalue(model, x, y, steps=400, tolerance=1e-9, **options)
    assert math.isclose(top.value, float(torch.linalg.eigvalsh(full)[-1]), rel_tol=1e-7)
    for method in ("hutchinson", "hutch++"):
        found = sharpness.hessian_trace(model, x, y, method=method, probes=60, **options)
        assert abs(found.value - float(full.trace())) < 5 * found.error + 1e-9
    if case == "callable":
        assert torch.allclose(sharpness.hessian(model, x, y, **options), full, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", GUESTS)
def test_directions_are_those_of_a_plain_loop(name: str):
    """The mean change, ShOp and ShPred, one direction at a time through functional_call."""
    model, x = guest(name)
    weights = {n: w.detach() for n, w in model.named_parameters()}
    theta = torch.cat([w.flatten() for w in weights.values()])
    inputs, named = ((), x) if isinstance(x, dict) else ((x,), {})
    squares, distances, flips = [], [], []
    with torch.no_grad():
        own = functional_call(model, weights, inputs, named)
        for shift in next(landscape.random_vectors(6, theta, seed=5)):
            parts = (theta + 0.3 * shift).split([w.numel() for w in weights.values()])
            moved = {n: p.reshape(w.shape) for (n, w), p in zip(weights.items(), parts, strict=True)}
            other = functional_call(model, moved, inputs, named)
            squares.append(float((other - own).square().sum(1).mean()))
            distances.append(float((other - own).abs().sum(1).mean()))
            flips.append(float((other.argmax(1) != own.argmax(1)).double().mean()))
    options = {"rho": 0.3, "directions": 6, "seed": 5, "exclude": ()}
    measures = {sharpness.average_direction: squares, sharpness.shop: distances, sharpness.shpred: flips}
    for measure, draws in measures.items():
        assert np.allclose(measure(model, x, **options).draws, draws, rtol=1e-9)


@pytest.mark.parametrize("name", ["nn.TransformerEncoder", "LSTM"])
def test_gradient_norms_of_several_outputs_are_added(name: str):
    model, x = guest(name)
    found = sharpness.gradient_norms(model, x, exclude=())
    for place in (0, BATCH - 1):
        for key, weight in model.named_parameters():
            outputs = model(x[place : place + 1])[0]
            slopes = [torch.autograd.grad(out, weight, retain_graph=True, allow_unused=True)[0] for out in outputs]
            total = sum(0.0 if slope is None else float(slope.square().sum()) for slope in slopes)
            assert math.isclose(float(found[key][place]), total, rel_tol=1e-8, abs_tol=1e-12), key


def test_tied_and_frozen_weights_are_weights():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.into, self.out = nn.Linear(3, 4, dtype=torch.float64), nn.Linear(4, 3, dtype=torch.float64)
            self.out.weight = nn.Parameter(self.into.weight.detach().mT.clone())
            self.again = self.into

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.again(self.out(self.into(x).tanh())).tanh())

    model, x = Tied(), torch.randn(7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    model.into.requires_grad_(False)
    before = everything(model)
    sharpness.shop(model, x, rho=0.1, directions=2)
    assert same(everything(model), before)  # functional_call alone would leave its own weights in a part with two names
    with guests.at_rest(model):
        full = dense(model, x, None, "squared")
    assert math.isclose(sharpness.hessian_trace(model, x, exclude=()).value, float(full.trace()), rel_tol=1e-9)
    thawed = lambda name, weight: not weight.requires_grad  # noqa: E731
    part = sharpness.hessian_trace(model, x, exclude=thawed).value
    count = sum(w.numel() for w in model.into.parameters())
    assert math.isclose(part, float(full.diagonal()[count:].sum()), rel_tol=1e-9)
    named = sharpness.hessian_trace(model, x, exclude=("into",)).value
    assert named == part < sharpness.hessian_trace(model, x, exclude=()).value


# --- batches, loaders, bars -------------------------------------------------------------------------------------------


def test_batches_and_loaders_are_the_inputs_they_hold():
    model, x = guest("MLP with BatchNorm")
    whole = sharpness.hessian_trace(model, x, LABELS, loss="cross-entropy", method="hutchinson", probes=3).value
    pairs = torch.utils.data.TensorDataset(x, LABELS)
    for batches in (
        torch.utils.data.DataLoader(pairs, batch_size=5),
        [(x[:4], LABELS[:4]), (x[4:], LABELS[4:])],
        ((x[k : k + 1], LABELS[k : k + 1]) for k in range(BATCH)),
    ):
        found = sharpness.hessian_trace(model, batches, loss="cross-entropy", method="hutchinson", probes=3).value
        assert math.isclose(found, whole, rel_tol=1e-10)
    assert torch.equal(blowup.measure(model, [x[:4], x[4:]]).log, blowup.measure(model, x).log)
    keyed, named = guest("keywords, RMSNorm")
    halves = [(data.part(named, slice(0, 5)), LABELS[:5]), (data.part(named, slice(5, None)), LABELS[5:])]
    options = {"loss": "cross-entropy", "rho": 0.1, "directions": 3}
    one, two = (sharpness.average_direction(keyed, *given, **options).value for given in ((named, LABELS), (halves,)))
    assert math.isclose(one, two, rel_tol=1e-10)


def test_a_bar_shows_what_is_done_and_the_time_left(capsys, monkeypatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    model, x = guest("MLP with BatchNorm")
    silent = {call: number(CALLS[call](model, x)) for call in LOSSES}
    assert not capsys.readouterr().err
    for call in LOSSES:
        assert number(CALLS[call](model, x, progress=True)) == silent[call]
        shown = capsys.readouterr().err
        assert " left" in shown and "100 %" in shown.splitlines()[-1].rpartition("\r")[2], (call, shown)
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    CALLS["hessian_trace"](model, x, progress=True)
    assert not capsys.readouterr().err


# --- before an exact trace --------------------------------------------------------------------------------------------


def test_an_exact_trace_that_would_take_long_is_announced_or_refused(monkeypatch):
    model, x = guest("MLP with BatchNorm")
    seconds = iter(np.arange(0, 1e6, 50.0))
    monkeypatch.setattr(curvature.time, "process_time", lambda: float(next(seconds)))  # each look: 50 s later
    few = {"loss": "cross-entropy", "budget": 1 << 17}
    size = sum(w.numel() for w in model.parameters())
    told = rf"^method: expected one within patience = 60 s, got 'exact': {size} products with the Hessian, about "
    with pytest.raises(ValueError, match=told + r"\d+ (s|minutes) and [\d.,]+ MB; 'hutch\+\+' with \d+ probes takes "):
        sharpness.hessian_trace(model, x, LABELS, patience=60, exclude=(), **few)
    with pytest.warns(UserWarning, match=rf"^method: 'exact' takes {size} products .*'hutch\+\+' with"):
        slow = sharpness.hessian_trace(model, x, LABELS, patience=1e6, exclude=(), **few)
    monkeypatch.undo()
    assert slow.value == sharpness.hessian_trace(model, x, LABELS, exclude=(), **few).value


# --- mistakes ---------------------------------------------------------------------------------------------------------


class Coupled(nn.Linear):
    """Subtracts the mean of the batch."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) - super().forward(x).mean(0)


class Random(nn.Linear):
    """Adds noise in any mode."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + torch.randn(len(x), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: sharpness.shop(nn.LSTM(5, 4), x, rho=1),
            "model: expected one that returns a tensor, got tuple; net",
        ),
        (lambda x: sharpness.shop(Coupled(5, 2), x, rho=1), "model: expected outputs that hang on their own input"),
        (lambda x: sharpness.shop(Random(5, 2), x, rho=1), "model: expected outputs that hang on their own input"),
        (lambda x: sharpness.shop(nn.Linear(5, 2), {"input": x, "more": x[:3]}, rho=1), r"x: .* got lengths \[3, 12\]"),
        (lambda x: sharpness.shop(nn.Linear(5, 2), {"inputs": x}, rho=1), "x: expected inputs that this network takes"),
        (lambda x: sharpness.shop(nn.Linear(5, 2), [], rho=1), "x: expected at least one input"),
        (lambda x: sharpness.shop(nn.Linear(5, 2), iter([]), rho=1), "x: expected batches, .* got 0 and 0 targets"),
        (lambda x: sharpness.shop(nn.Linear(5, 2), [x, x[:, :3]], rho=1), "x: expected batches of one shape, got"),
        (
            lambda x: sharpness.hessian_trace(nn.Linear(5, 2), [(x, x[:, :2])], x),
            "y: expected None, since x has batches",
        ),
        (lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, loss="hinge"), "loss: expected 'squared' or .* 'hinge'"),
        (lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, loss=None), "loss: expected 'squared' or .* got None"),
        (lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, loss="cross-entropy"), "y: expected targets for every"),
        (
            lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, LABELS + 1, loss="cross-entropy"),
            "y: expected 0 and 1",
        ),
        (
            lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, LABELS, loss=logistic, patience=0),
            "patience: expected",
        ),
        (
            lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, LABELS, loss=lambda f, y: f.sum()),
            "loss: expected a fu",
        ),
        (lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, LABELS[:3], loss=logistic), "y: expected 12 targets"),
        (lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, exclude=lambda *_: True), "exclude: .* leaves none"),
        (
            lambda x: sharpness.hessian_trace(nn.Linear(5, 2), x, exclude=lambda *_: 3),
            "exclude: expected True or False",
        ),
        (
            lambda x: sharpness.average_direction(nn.Linear(5, 2), x, rho=1, adaptive=3),
            "adaptive: expected True or Fal",
        ),
        (
            lambda x: sharpness.average_direction(nn.Linear(5, 2), x, rho=1, progress=3),
            "progress: expected True or Fal",
        ),
        (
            lambda x: sharpness.relative_flatness(nn.LayerNorm(5), x),
            "exclude: expected to leave some matrices, got none",
        ),
        (lambda x: sharpness.spectrum(nn.Linear(5, 2), x, probes=1), "probes: expected an integer from 2"),
        (lambda x: sharpness.spectrum(nn.Linear(5, 2), x).density(0.0, width=0), "width: expected a number above 0"),
        (lambda x: networks.Adapter(3, logistic), "model: expected nn.Module, got int"),
        (
            lambda x: networks.Adapter(nn.Linear(5, 2), 3),
            "call: expected a function of the model and its inputs, got int",
        ),
        (
            lambda x: networks.stretch(nn.Linear(5, 2), x),
            "norm: expected nn.LayerNorm, nn.RMSNorm or one that is regis",
        ),
    ],
)
def test_mistakes_are_named(call, message: str):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call(torch.randn(BATCH, 5, generator=torch.Generator().manual_seed(0)))
    assert "\n" not in str(caught.value)


def test_rest_is_given_back_in_every_case():
    model, _ = guest("convolutional net", train=True)
    before = everything(model)
    with contextlib.suppress(KeyboardInterrupt), guests.at_rest(model, slopes=True):
        model[1].running_mean += 1
        model[1].running_var = torch.zeros(4)
        model[1].register_buffer("new", torch.ones(1))
        assert not any(part.training for part in model.modules())
        raise KeyboardInterrupt
    assert same(everything(model), before)
