"""The trainer: its steps are PyTorch's, its members are independent, and nothing is lost when it is stopped."""

import math
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from flatcube import cube, training
from flatcube.networks.config import Config
from flatcube.networks.encoder import Ensemble
from flatcube.training import Settings, Task, train
from flatcube.training import _checkpoints as checkpoints
from flatcube.training.optimiser import State, aside, descend

CONFIG = Config(n=4, width=4, heads=2, layers=2)


class Linear(nn.Module):
    """K linear functions of the signs, the smallest ensemble there is."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights)

    def many(self, parameters: dict[str, Tensor], bits: Tensor) -> Tensor:
        return ((1 - 2 * bits).to(parameters["weights"].dtype) @ parameters["weights"][:, :, None])[..., 0]

    def member(self, k: int) -> "Linear":
        return Linear(self.weights.detach()[k : k + 1])


def _linear(count: int, n: int = 4) -> Linear:
    return Linear(torch.zeros(count, n, dtype=torch.float64))


def _norm(member: nn.Module, step: int) -> dict[str, float]:
    return {"norm": float(sum(p.detach().square().sum() for p in member.parameters()))}


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_every_member_makes_the_steps_of_pytorch(name: str):
    settings = Settings(
        steps=12, batch=8, optimiser=name, rate=(0.01, 0.03), decay=(0.1, 0.5), momentum=0.5, schedule="hold", hold=0.5,
        warmup=3, every=6,
    )  # fmt: skip
    tasks = [Task(cube.parity(4), 4), Task(cube.majority(4), 4)]
    ensemble = Ensemble(CONFIG, seeds=(3, 4), dtype=torch.float64)
    run = train(ensemble, tasks, settings, seeds=(7, 8), progress=False)
    for k, task in enumerate(tasks):
        member = ensemble.member(k)
        options = {"lr": settings.rate[k], "weight_decay": settings.decay[k], "foreach": False}
        if name == "sgd":
            optimiser = torch.optim.SGD(member.parameters(), momentum=0.5, **options)
        else:
            optimiser = torch.optim.AdamW(member.parameters(), **options)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, settings.factor)
        for step in range(settings.steps):
            bits, y = (torch.from_numpy(part) for part in task.batch(8, seed=7 + k, step=step))
            optimiser.zero_grad()
            (member(bits) - y).square().mean().backward()
            optimiser.step()
            schedule.step()
        trained = dict(run.ensemble.member(k).named_parameters())
        for at, p in member.named_parameters():
            # A key's bias has gradient 0 but for rounding, which AdamW makes larger.
            assert torch.allclose(p, trained[at], rtol=0, atol=1e-8 if at.endswith("key.bias") else 1e-11), at
    assert torch.equal(ensemble.tokens, Ensemble(CONFIG, seeds=(3, 4), dtype=torch.float64).tokens)  # left as it was


def test_a_gradient_may_lie_in_memory_as_it_likes():
    """PyTorch's fused optimisers go wrong, and say nothing, when a gradient's strides are not its parameter's."""
    generator = torch.Generator().manual_seed(0)
    gradient = torch.randn(5, 7, generator=generator)
    turned = gradient.T.contiguous().T
    assert turned.stride() != gradient.stride()
    rate = decay = torch.full((5,), 0.1)
    for name in ("adamw", "sgd"):
        settings, ends = Settings(steps=9, optimiser=name), []
        for given in (gradient, turned):
            state = State(torch.ones(5, 7), torch.zeros(5, 7), torch.zeros(5, 7))
            for step in range(3):
                descend(settings, state, given, step, rate, decay)
            ends.append(state.weights)
        assert torch.equal(*ends)


@pytest.mark.parametrize("place", ["worst", "scaled", "noise"])
def test_the_gradient_is_taken_at_the_place_that_is_asked_for(place: str):
    task, radius = Task(cube.parity(4) + 0.5 * cube.first(4), 4), 0.3
    given = torch.tensor([[0.5, -1.0, 2.0, 0.0]], dtype=torch.float64)
    settings = Settings(steps=1, batch=6, optimiser="sgd", rate=0.1, decay=0.0, place=place, radius=radius)
    run = train(Linear(given), task, settings, seeds=[3], progress=False)
    bits, y = task.batch(6, seed=3, step=0)
    x, w = 1.0 - 2 * bits, given[0].numpy()

    def slope(at: np.ndarray) -> np.ndarray:
        return 2 * x.T @ (x @ at - y) / 6

    g = slope(w)
    shift = {"worst": g / np.linalg.norm(g), "scaled": w**2 * g / np.linalg.norm(np.abs(w) * g),
             "noise": np.random.default_rng([3, 0, 1]).standard_normal(4)}[place]  # fmt: skip
    expected = w - 0.1 * slope(w + radius * shift)
    assert np.allclose(run.ensemble.member(0).weights.detach().numpy()[0], expected, atol=1e-12)
    assert not np.allclose(expected, w - 0.1 * g, atol=1e-3)


def test_the_scaled_place_does_not_depend_on_the_units_of_weights():
    w, g, c = torch.tensor([[0.5, -2.0]]), torch.tensor([[3.0, 1.0]]), torch.tensor([[10.0, 0.1]])
    scaled, worst = (Settings(steps=1, place=place, radius=0.3) for place in ("scaled", "worst"))
    assert torch.allclose(aside(scaled, c * w, g / c, [0], 0), c * aside(scaled, w, g, [0], 0))
    assert not torch.allclose(aside(worst, c * w, g / c, [0], 0), c * aside(worst, w, g, [0], 0))


def test_schedules():
    def factors(**given) -> list[float]:
        return [Settings(steps=8, **given).factor(step) for step in range(8)]

    assert factors(schedule="constant") == [1.0] * 8
    assert factors(schedule="linear") == pytest.approx([1 - step / 8 for step in range(8)])
    assert factors(schedule="hold") == pytest.approx([1, 1, 1, 1, 1, 1, 1, 0.5])
    assert factors(schedule="hold", hold=0.5) == pytest.approx([1, 1, 1, 1, 1, 0.75, 0.5, 0.25])
    assert factors(schedule="hold", hold=1.0) == [1.0] * 8
    assert factors(schedule="cosine")[4] == pytest.approx(0.5)
    assert factors(schedule="constant", warmup=4) == pytest.approx([0.25, 0.5, 0.75, 1, 1, 1, 1, 1])


# --- members and tasks ------------------------------------------------------------------------------------------------


def test_a_member_learns_the_same_in_any_company(monkeypatch: pytest.MonkeyPatch):
    ensemble = Ensemble(CONFIG, seeds=(0, 1, 2), dtype=torch.float64)
    tasks = [Task(cube.first(4), 4), Task(cube.mean(4), 4), Task(cube.parity(4), 4)]
    settings = Settings(steps=10, batch=4, every=5)
    together = train(ensemble, tasks, settings, progress=False).ensemble
    member = {name: p[1:2] for name, p in ensemble.named_parameters()}
    alone = train(Ensemble(CONFIG, parameters=member), tasks[1:2], settings, seeds=(1,), progress=False).ensemble
    monkeypatch.setattr("flatcube.training.runs._BUDGET", 1)  # bytes: one member at a time
    in_turn = train(ensemble, tasks, settings, progress=False).ensemble
    for name, p in together.named_parameters():
        assert torch.allclose(p[1], alone.get_parameter(name)[0], rtol=0, atol=1e-12)
        assert torch.allclose(p, in_turn.get_parameter(name), rtol=0, atol=1e-12)


def test_an_encoder_learns_a_simple_function():
    ensemble = Ensemble(Config(n=4, width=8), seeds=(0, 1))
    run = train(ensemble, Task(cube.first(4), 4), Settings(steps=90, batch=32, every=15, rate=1e-2), progress=False)
    assert run.converged.all() and (run.errors < 1e-3).all()
    assert (run.reached > 0).all() and (run.reached % 15 == 0).all()
    with torch.no_grad():
        outputs = run.ensemble(torch.from_numpy(cube.to_bits(cube.points(4))))
    assert np.square(outputs.numpy() - cube.first(4)).mean(axis=1) == pytest.approx(run.errors, rel=1e-3, abs=1e-7)


def test_tasks_draw_from_the_cube_or_from_a_training_set():
    uniform = Task(lambda signs: signs.prod(axis=1), 12)
    bits, values = uniform.batch(4000, seed=1, step=2)
    assert bits.shape == (4000, 12) and abs(bits.mean() - 0.5) < 0.01
    assert (values == 1 - 2 * (bits.sum(axis=1) % 2)).all()
    assert (uniform.batch(9, seed=1, step=2)[0] == uniform.batch(9, seed=1, step=2)[0]).all()
    assert (uniform.batch(9, seed=1, step=3)[0] != uniform.batch(9, seed=1, step=2)[0]).any()
    assert (uniform.batch(9, seed=2, step=2)[0] != uniform.batch(9, seed=1, step=2)[0]).any()
    assert uniform.evaluation()[0].shape == (2048, 12)
    assert len(np.unique(Task(cube.parity(5), 5).evaluation()[0], axis=0)) == 32
    chosen = cube.points(5)[[3, 7, 20, 30]]
    few = Task(cube.parity(5), 5, inputs=chosen)
    drawn = cube.index(cube.to_signs(few.batch(3, seed=0, step=0)[0]))
    assert len(set(drawn)) == 3 and set(drawn) <= {3, 7, 20, 30}
    assert (cube.to_signs(few.batch(9, seed=0, step=0)[0]) == chosen).all()
    assert (few.evaluation()[1] == cube.parity(5)[[3, 7, 20, 30]]).all()


# --- when to stop -----------------------------------------------------------------------------------------------------


def test_every_member_stops_for_its_own_reason():
    # A linear function learns FIRST and MEAN at once and PARITY never; a huge rate makes it diverge.
    tasks = [Task(cube.first(4), 4), Task(cube.parity(4), 4), Task(cube.mean(4), 4), Task(cube.first(4), 4)]
    settings = Settings(
        steps=60, batch=32, optimiser="sgd", rate=(0.3, 0.01, 0.002, 1e200), decay=0.0, schedule="constant", every=10,
        after=20, chance_after=30,
    )  # fmt: skip
    run = train(_linear(4), tasks, settings, progress=False)
    assert run.reasons == ["goal", "chance", "end", "diverged"]
    assert run.reached.tolist() == [10, -1, -1, -1]
    assert run.ended.tolist() == [30, 30, 60, 10]
    assert run.converged.tolist() == [True, False, False, False]
    steps = {k: run.history["step"][run.history["member"] == k].tolist() for k in range(4)}
    assert steps == {0: [0, 10, 20, 30], 1: [0, 10, 20, 30], 2: [0, 10, 20, 30, 40, 50, 60], 3: [0, 10]}
    assert run.ensemble.weights[0].tolist() == pytest.approx([1, 0, 0, 0], abs=0.02)
    for after, reason, step in ((None, "end", 60), (0, "goal", 10), (31, "goal", 50)):
        again = train(_linear(4), tasks, replace(settings, after=after), progress=False)
        assert (again.reasons[0], again.ended[0]) == (reason, step)


def test_the_history_has_the_means_of_the_losses_and_what_was_measured():
    task, settings = Task(cube.first(4), 4), Settings(steps=7, batch=3, optimiser="sgd", rate=0.1, decay=0.0, every=5)
    run = train(_linear(1), task, settings, measure=_norm, progress=False)
    assert list(run.history) == ["step", "member", "loss", "error", "norm"]
    assert run.history["step"].tolist() == [0, 5, 7]
    weights, losses, norms = np.zeros(4), [], [0.0]
    for step in range(7):
        bits, y = task.batch(3, seed=0, step=step)
        x = cube.to_signs(bits)
        residual = x @ weights - y
        losses.append(np.square(residual).mean())
        weights = weights - 0.1 * settings.factor(step) * 2 * residual @ x / 3
        norms += [np.square(weights).sum()] if step in (4, 6) else []
    assert np.isnan(run.history["loss"][0])
    assert run.history["loss"][1:] == pytest.approx([np.mean(losses[:5]), np.mean(losses[5:])])
    assert run.history["norm"] == pytest.approx(norms)
    assert run.history["error"][0] == 1.0


def test_who_was_better_than_chance_once_is_not_at_chance():
    """The rate rises until the steps overshoot: the error falls at first, and is far above chance at the end."""
    task = Task(cube.first(4), 4, inputs=cube.points(4))
    settings = Settings(
        steps=6, batch=16, optimiser="sgd", rate=2.0, decay=0.0, schedule="constant", warmup=3, every=1, chance_after=4
    )  # fmt: skip
    run = train(_linear(1), task, settings, progress=False)
    assert run.reasons == ["end"] and run.history["error"].min() < 0.2 < 100 < run.errors[0]


def test_who_has_reached_the_goal_is_not_at_chance():
    constant = Task(np.zeros(16), 4)  # the best constant makes no error, so chance is 0
    run = train(_linear(1), constant, Settings(steps=4, batch=2, every=2, chance_after=2), progress=False)
    assert run.reasons == ["end"] and run.converged.all()


def test_without_steps_there_is_only_an_evaluation():
    run = train(_linear(2), Task(cube.first(4), 4), Settings(steps=0), progress=False)
    assert run.reasons == ["end", "end"] and run.errors.tolist() == [1.0, 1.0]


# --- stopping and going on --------------------------------------------------------------------------------------------


def _same(one: training.Run, other: training.Run) -> bool:
    weights = zip(one.ensemble.parameters(), other.ensemble.parameters(), strict=True)
    return (
        all(torch.equal(a, b) for a, b in weights)
        and one.history.keys() == other.history.keys()
        and all(np.array_equal(one.history[name], other.history[name], equal_nan=True) for name in one.history)
        and one.reasons == other.reasons
        and all((getattr(one, name) == getattr(other, name)).all() for name in ("ended", "reached", "errors"))
    )


@pytest.fixture
def listening():
    """Ctrl-C is heard, also where the tests run in the background and a shell has told them to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", ["adamw", "sgd"])
def test_a_run_that_was_interrupted_ends_as_one_that_was_not(name: str, tmp_path, listening):
    """Ctrl-C at step 20, in the middle of an evaluation; one member has stopped before."""
    ensemble = Ensemble(Config(n=5, width=8), seeds=range(3))
    tasks = [Task(cube.parity(5), 5), Task(cube.first(5), 5), Task(cube.mean(5), 5)]
    settings = Settings(
        steps=33, batch=16, optimiser=name, rate=0.01, momentum=0.9, every=5, goal=0.2, after=0, warmup=4
    )
    through = train(ensemble, tasks, settings, measure=_norm, progress=False)
    assert "goal" in through.reasons and 0 < through.ended.min() < 20

    told = []

    def interrupting(member: nn.Module, step: int) -> dict[str, float]:
        if step == 20 and not told:
            told.append(step)
            signal.raise_signal(signal.SIGINT)
        return _norm(member, step)

    path, before = tmp_path / "new" / "run.safetensors", signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="training stopped after step 21; run again to go on from .*run"):
        train(ensemble, tasks, settings, measure=interrupting, checkpoint=path, progress=False)
    assert signal.getsignal(signal.SIGINT) is before
    assert [file.name for file in path.parent.iterdir()] == ["run.safetensors"]
    resumed = train(ensemble, tasks, settings, measure=_norm, checkpoint=path, progress=False)
    assert _same(resumed, through)
    assert _same(train(ensemble, tasks, settings, checkpoint=path, progress=False), through)  # nothing is left to do
    saving = train(ensemble, tasks, settings, measure=_norm, checkpoint=tmp_path / "b", save_every=0, progress=False)
    assert _same(saving, through)


def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch: pytest.MonkeyPatch):
    ensemble, task, settings = _linear(2), Task(cube.first(4), 4), Settings(steps=20, batch=4, every=10)
    through, path, write = train(ensemble, task, settings, progress=False), tmp_path / "run", checkpoints.write

    def dying(path, tensors, notes):
        if notes["step"] == "13":  # the power goes while the file is being written
            monkeypatch.setattr(os, "fsync", lambda number: 1 / 0)
        write(path, tensors, notes)

    monkeypatch.setattr(checkpoints, "write", dying)
    with pytest.raises(ZeroDivisionError):
        train(ensemble, task, settings, checkpoint=path, save_every=0, progress=False)
    monkeypatch.undo()
    assert checkpoints.read(path)[1]["step"] == "12"
    assert _same(train(ensemble, task, settings, checkpoint=path, progress=False), through)


def test_a_checkpoint_is_replaced_in_one_move(tmp_path):
    path = tmp_path / "tensors"
    checkpoints.write(path, {"a": torch.arange(3)}, {"which": "old"})
    whole = path.read_bytes()
    with path.open("rb") as reader:
        checkpoints.write(path, {"a": torch.arange(4).reshape(2, 2).T}, {"which": "new"})
        assert reader.read() == whole
    tensors, notes = checkpoints.read(path)
    assert tensors["a"].tolist() == [[0, 2], [1, 3]] and notes == {"which": "new"}


def test_a_checkpoint_that_is_not_of_this_run_is_refused_and_kept(tmp_path):
    path, ensemble, task = tmp_path / "run", _linear(2), Task(cube.first(4), 4)
    settings = Settings(steps=2, batch=4)
    train(ensemble, task, settings, checkpoint=path, progress=False)
    whole = path.read_bytes()
    others = [
        (ensemble, task, replace(settings, steps=3), None),
        (ensemble, Task(cube.mean(4), 4), settings, None),
        (ensemble, task, settings, (5, 6)),
        (Linear(torch.ones(2, 4, dtype=torch.float64)), task, settings, None),
    ]
    for other, its_task, its_settings, seeds in others:
        with pytest.raises(ValueError, match="checkpoint: .* is not of this run"):
            train(other, its_task, its_settings, seeds=seeds, checkpoint=path, progress=False)
    assert path.read_bytes() == whole
    encoders, kept = Ensemble(CONFIG, seeds=(0,)), tmp_path / "encoders"
    train(encoders, task, settings, checkpoint=kept, progress=False)
    causal = Ensemble(replace(CONFIG, causal=True), parameters=dict(encoders.named_parameters()))
    with pytest.raises(ValueError, match="checkpoint: .* is not of this run"):
        train(causal, task, settings, checkpoint=kept, progress=False)
    for damaged in (whole[: len(whole) // 2], b"", b"not a checkpoint"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="checkpoint: .* cannot be read") as caught:
            train(ensemble, task, settings, checkpoint=path, progress=False)
        assert "\n" not in str(caught.value) and path.read_bytes() == damaged


def test_the_bar_shows_how_long_it_takes(capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FLATCUBE_PRESS", raising=False)
    train(_linear(2), Task(cube.first(4), 4), Settings(steps=30, batch=4, every=10))
    shown = capsys.readouterr().err
    assert "30/30" in shown and "step/s" in shown and "of 2 reached the goal" in shown
    monkeypatch.setenv("FLATCUBE_PRESS", "1")
    train(_linear(2), Task(cube.first(4), 4), Settings(steps=3, batch=4))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Settings(steps=-1), "steps: expected an integer from 0 to 1000000000, got -1"),
        (lambda: Settings(steps=1, every=0), "every: expected an integer ≥ 1, got 0"),
        (lambda: Settings(steps=1, after=-1), "after: expected an integer ≥ 0, got -1"),
        (lambda: Settings(steps=1, rate=(0.1, -1.0)), "rate: expected a number from 0 to .* got -1"),
        (lambda: Settings(steps=1, betas=(0.9, 1.0)), "betas: expected a number from 0 to 1, got 1"),
        (lambda: Settings(steps=1, betas=(0.9,)), r"betas: expected two numbers, got \(0.9,\)"),
        (lambda: Settings(steps=1, hold=1.5), "hold: expected a number from 0 to 1, got 1.5"),
        (lambda: Settings(steps=1, schedule="step"), "schedule: expected 'constant' or 'linear' or 'cosine' or 'hold'"),
        (lambda: Settings(steps=1, place="flat"), "place: expected 'here' or 'worst' or 'scaled' or 'noise'"),
        (lambda: Settings(steps=1, radius=-0.1), "radius: expected a number from 0 to .* got -0.1"),
        (lambda: Settings(steps=1, optimiser="adam"), "optimiser: expected 'adamw' or 'sgd', got 'adam'"),
        (lambda: Task(cube.first(4), 3), r"f: expected a table of length 2\^3 or .* got shape \(16,\)"),
        (lambda: Task(None, 3), "f: expected real numbers"),
        (lambda: Task(cube.first(4), 10**18), "n: expected an integer from 1 to 10000, got 10{18}"),
        (lambda: Task(cube.first(4), 4).values(np.eye(4)), r"signs: expected −1 and \+1, got bits"),
        (lambda: Task(cube.first(4), 4).values(np.ones((2, 3))), r"signs: expected shape \(batch, n\) with n = 4"),
        (lambda: Task(cube.first(4), 4).batch(0, seed=0, step=0), "size: expected an integer ≥ 1, got 0"),
        (lambda: Settings(steps=1, batch=10**18), "batch: expected an integer from 1 to 1000000, got 10{18}"),
        (lambda: Settings(steps=1, rate="0.1"), "rate: expected a number, got str"),
        (lambda: Settings(steps=1, goal=math.nan), "goal: expected a number from 0 to .* got nan"),
        (lambda: Settings(steps=1, hold=(0.5, 0.5)), "hold: expected a number, got tuple"),
        (lambda: Settings(steps=5).factor(6), "step: expected an integer from 0 to 5, got 6"),
        (lambda: train(None, Task(cube.first(4), 4), Settings(steps=1)), "ensemble: expected nn.Module, got NoneType"),
        (lambda: train(torch.nn.Linear(4, 1), Task(cube.first(4), 4), Settings(steps=1)), "ensemble: .* many and mem"),
        (lambda: train(Linear(torch.full((2, 4), math.nan)), Task(cube.first(4), 4), Settings(steps=1)), "got nan"),
        (lambda: train(_linear(2), None, Settings(steps=1)), "tasks: expected 2, one for each member, got None"),
        (lambda: train(_linear(1), [cube.first(4)], Settings(steps=1)), "tasks: expected training.Task, got numpy"),
        (lambda: train(_linear(1), Task(cube.first(4), 4), None), "settings: expected training.Settings, got None"),
        (
            lambda: train(_linear(1), Task(cube.first(4), 4), Settings(steps=1), measure=3),
            "measure: expected a function of a member and a step, got int",
        ),
        (
            lambda: train(_linear(1), Task(cube.first(4), 4), Settings(steps=1), checkpoint=3),
            "checkpoint: expected str or pathlib.*Path, got int",
        ),
        (lambda: Task(cube.first(4), 4, inputs=np.ones((2, 3))), r"inputs: expected signs \(m, 4\) with m ≥ 1"),
        (lambda: Task(cube.first(4), 4, inputs=np.zeros((2, 4))), "inputs: expected −1 and \\+1, got bits"),
        (lambda: train(_linear(2), [Task(cube.first(4), 4)], Settings(steps=1)), "tasks: expected 2, one for each"),
        (lambda: train(_linear(2), Task(cube.first(4), 4), Settings(steps=1, rate=(1.0,))), "rate: expected 2, one"),
        (lambda: train(_linear(1), Task(cube.first(4), 4), Settings(steps=1), seeds=[-1]), "seeds: expected an int"),
        (
            lambda: train(_linear(2), [Task(cube.first(4), 4), Task(cube.first(4), 4, inputs=cube.points(4)[:3])],
                          Settings(steps=1)),
            "tasks: expected training sets of one size",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_in_one_sentence(call, words):
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_measurements_keep_their_names():
    with pytest.raises(ValueError, match=r"measure: expected the names \['at 0'\] as before, got \['at 1'\]"):
        train(_linear(1), Task(cube.first(4), 4), Settings(steps=2, every=1), progress=False,
              measure=lambda member, step: {f"at {step}": 0.0})  # fmt: skip
