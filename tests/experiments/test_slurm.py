"""Jobs of a cluster with Slurm: long enough for every trial, and what they lose when their time is over is a minute."""

import contextlib
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

import distributed
import pytest

from flatcube import cast, paths, training
from flatcube.experiments import engine, slurm
from flatcube.networks import Config, Ensemble
from flatcube.training import runs
from tests import rooms

EXPERIMENTS = engine.named()
LOCAL = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60, "host": "127.0.0.1"}
pytestmark = pytest.mark.filterwarnings("ignore")  # dask's own, when something is killed


# --- how long jobs are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_a_job_outlasts_the_longest_trial_twice_or_resumes_it(experiment: engine.Experiment):
    trials = experiment.trials("paper")
    alone, kept = (slurm.plan(experiment, trials, checkpoints=given) for given in (False, True))
    assert alone.walltime >= 2 * max(map(experiment.cost, trials)) and alone.trials == len(trials)
    assert (kept.least < 3600) if experiment.resumes else kept == alone


@pytest.mark.parametrize("name", ["sharper", "stepwise"])
def test_a_walltime_that_is_too_short_is_refused_and_the_least_is_not(name: str):
    (experiment,) = engine.named(name)
    trials = experiment.trials("paper")
    least = slurm.plan(experiment, trials).least
    assert slurm.plan(experiment, trials, walltime=slurm.clock(least)).walltime == least
    with pytest.raises(ValueError, match=f"^walltime: expected {slurm.clock(least)} or more, since the longest of "):
        slurm.plan(experiment, trials, walltime=slurm.clock(least - 1))


def test_the_page_names_the_walltime_and_the_losses_that_the_library_asks_for():
    (experiment,) = engine.named("sharper")
    page = (rooms.ROOT / "chapters" / "cluster.md").read_text(encoding="utf-8")
    least = slurm.plan(experiment, experiment.trials("paper"), checkpoints=True).least
    assert f"Then {least // 60} minutes of walltime" in page
    assert f"more than {slurm._LOSSES} workers" in page


def test_only_what_resumes_is_told_of_checkpoints():
    said = {}
    for name in ("sharper", "stepwise"):
        (experiment,) = engine.named(name)
        with pytest.raises(ValueError) as refused:
            slurm.plan(experiment, experiment.trials("paper"), walltime="00:10:00")
        said[name] = "--checkpoints" in str(refused.value)
    assert said == {"sharper": True, "stepwise": False}


def test_nothing_is_submitted_for_nothing():
    with pytest.raises(ValueError, match="^sharper: nothing is missing, so there is nothing to submit$"):
        slurm.plan(*engine.named("sharper"), [])


@pytest.mark.parametrize("time", [0, 1, 59, 60, 3599, 3600, 86_400, 200_000])
def test_times_are_read_as_they_are_written(time: int):
    assert slurm.seconds(slurm.clock(time)) == time


@pytest.mark.parametrize("walltime", ["", "4", "04:00", "04:60:00", "4h", "-1:00:00", "1:00:00:00", None, 3600])
def test_what_is_no_walltime_is_refused(walltime: object):
    with pytest.raises(ValueError, match=re.escape(f"such as 04:00:00, got {walltime!r}") + "$"):
        slurm.seconds(walltime)


def test_the_script_of_a_job_says_its_time_and_the_worker_leaves_before(tmp_path: Path):
    plan = slurm.Plan(3, 10.0, 5.0, walltime=7200, least=600)
    with slurm.cluster(plan, jobs=0, queue="long", account="me", memory="2GB", logs=tmp_path) as cluster:
        script = cluster.job_script()
    for line in ("#SBATCH -t 02:00:00", "#SBATCH -p long", "#SBATCH -A me", "#SBATCH --mem=2G", "#SBATCH -n 1"):
        assert line in script
    lifetime, stagger = re.search(r"--lifetime (\d+)s --lifetime-stagger (\d)m", script).groups()
    assert int(lifetime) + 60 * int(stagger) < plan.walltime


# --- what a job that ends takes with it -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """A short training whose process may be killed after some evaluations, as often as ``lives`` says."""

    seed: int
    log: str = ""
    lives: int = 0


def trial(trial: Trial) -> list[dict[str, object]]:
    log, seen = Path(trial.log), 0

    def measure(member: object, step: int) -> dict[str, float]:
        nonlocal seen
        seen += 1
        if trial.lives and seen == 4:
            (log / f"{trial.seed}-{step}-{os.getpid()}").touch()
            if len(list(log.glob(f"{trial.seed}-*"))) <= trial.lives:
                os.kill(os.getpid(), signal.SIGKILL)
        return {"seen": float(step)}

    ensemble = Ensemble(Config(n=3, width=4, heads=1, layers=1, hidden=4), seeds=[trial.seed])
    settings = training.Settings(steps=40, batch=8, every=4)
    task = training.Task(cast.table("MEAN", 3), 3)
    run = training.train(ensemble, task, settings, measure=measure, save_every=0, progress=False)
    rows = zip(run.history["step"].tolist(), run.history["error"].tolist(), run.history["seen"].tolist(), strict=True)
    return [{"seed": trial.seed, "step": step, "error": error, "seen": seen} for step, error, seen in rows]


def experiment(trials: list[Trial]) -> engine.Experiment:
    return engine.Experiment("toy", "1", "A toy", "no figure", {"live": trials}, trial, lambda trial: 1.0,
                             lambda rows: {"all": rows}, resumes=True)  # fmt: skip


def test_a_trial_whose_workers_are_killed_goes_on_and_ends_as_if_nothing_had_been(tmp_path: Path):
    log, kept = tmp_path / "log", tmp_path / "kept"
    log.mkdir()
    serial = engine.run(experiment([Trial(0)]), progress=False)
    with distributed.LocalCluster(n_workers=1, processes=True, **LOCAL) as cluster:
        address = cluster.scheduler_address
        mortal = experiment([Trial(0, str(log), lives=2)])
        rows = engine.run(mortal, scheduler=address, checkpoints=kept, progress=False)
    assert rows == serial
    deaths = sorted(int(path.name.split("-")[1]) for path in log.iterdir())
    assert deaths == [12, 24, 36]  # each life begins where the last ended
    assert not list(kept.iterdir())  # what has ended needs no checkpoint


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    engine.run(experiment([Trial(0)]), progress=False)
    assert paths.CHECKPOINTS not in os.environ and not list(tmp_path.iterdir())


@pytest.mark.parametrize("experiment", [one for one in EXPERIMENTS if one.resumes], ids=lambda one: one.name)
def test_an_experiment_that_resumes_trains_with_checkpoints(
    experiment: engine.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(paths.CHECKPOINTS, str(tmp_path))
    monkeypatch.setattr(runs.Trainer, "advance", lambda trainer: False)  # as if all steps had been done
    with contextlib.suppress(Exception):  # there is nothing to measure
        experiment.trial(min(experiment.trials("live"), key=experiment.cost))
    assert list(tmp_path.glob("*.safetensors"))
