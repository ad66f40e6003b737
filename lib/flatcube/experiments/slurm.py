"""Trials on a cluster with Slurm: jobs that last long enough, replaced when their time is over.

Slurm ends a job when its walltime is over, whatever it is doing, and a trial that is cut off begins anew. So a job must
outlast the longest trial. What a trial takes is known roughly, by the experiment's own ``cost``: we ask for twice that,
and for some minutes in which a worker starts. Of an experiment that resumes from checkpoints, any job of 40 minutes
will do, since what it loses is the last minute.

    flatcube slurm sharper --scale paper --jobs 64 --checkpoints /shared/checkpoints

dask-jobqueue submits the jobs. Each is one worker with one core, and leaves by itself a few minutes before its time, so
that Slurm has nothing to kill; then another one is submitted, until all trials have ended.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatcube import checks
from flatcube.experiments.engine import Experiment

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster

__all__ = ["Plan", "plan", "seconds", "clock", "cluster"]

_START = 600  # seconds until a worker has begun its first trial, at the most
_SAFETY = 2  # a trial takes at the most so many times its cost
_RESUMING = 1800  # a job that is worth its start, if nothing is lost with it
_LEAVING = 300  # seconds before its end at which a worker leaves
_LOSSES = 20  # workers that a trial may lose before it counts as deadly


@dataclass(frozen=True)
class Plan:
    """What is to be computed, and how long the jobs that do it last; times are in seconds."""

    trials: int
    total: float  # of one core
    longest: float
    walltime: int
    least: int  # a shorter job could not end the longest trial


def plan(
    experiment: Experiment, trials: Iterable[Any], *, walltime: str | None = None, checkpoints: bool = False
) -> Plan:
    """How long the jobs for some trials of an experiment must last; a ``walltime`` that is too short is refused."""
    costs = [experiment.cost(trial) for trial in trials]
    if not costs:
        raise ValueError(f"{experiment.name}: nothing is missing, so there is nothing to submit")
    resumed = checkpoints and experiment.resumes
    least = _START + (_RESUMING if resumed else math.ceil(_SAFETY * max(costs)))
    asked = 3600 * math.ceil(least / 3600) if walltime is None else seconds(walltime)
    if asked < least:
        cure = "; with --checkpoints FOLDER they may be shorter" if experiment.resumes and not checkpoints else ""
        raise ValueError(
            f"walltime: expected {clock(least)} or more, since the longest of {len(costs)} trials takes about "
            f"{clock(max(costs))}, got {walltime!r}{cure}"
        )
    return Plan(len(costs), sum(costs), max(costs), asked, least)


def seconds(walltime: str) -> int:
    """A time as Slurm writes it, hours:minutes:seconds with days before a hyphen, in seconds.

    >>> seconds("1-00:30:00")
    88200
    """
    found = re.fullmatch(r"(?:(\d{1,3})-)?(\d{1,4}):([0-5]\d):([0-5]\d)", str(walltime))
    if not found:
        raise ValueError(f"walltime: expected hours:minutes:seconds, such as 04:00:00, got {walltime!r}")
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((24 * days + hours) * 60 + minutes) * 60 + rest


def clock(time: float) -> str:
    """Seconds, rounded up, as hours:minutes:seconds.

    >>> clock(3661)
    '01:01:01'
    """
    minutes, rest = divmod(math.ceil(time), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


def cluster(
    found: Plan, *, jobs: int, memory: str = "4GB", queue: str | None = None, account: str | None = None,
    logs: Path | None = None,
) -> "SLURMCluster":  # fmt: skip
    """A cluster of dask-jobqueue that keeps up to ``jobs`` jobs in Slurm's queue until it is closed; 0 submits none."""
    try:
        import dask
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise ValueError("slurm: this needs the package dask-jobqueue; install flatcube[cluster]") from None
    checks.integer(jobs, "jobs", 0, 10_000)
    dask.config.set({"distributed.scheduler.allowed-failures": _LOSSES})
    found_jobs = SLURMCluster(
        cores=1, processes=1, memory=memory, queue=queue, account=account, walltime=clock(found.walltime),
        job_name="flatcube", log_directory=None if logs is None else str(logs),
        worker_extra_args=["--lifetime", f"{found.walltime - _LEAVING}s", "--lifetime-stagger", "2m"],
        scheduler_options={"dashboard_address": "127.0.0.1:0"},  # by default it listens to the whole network
    )  # fmt: skip
    # Not scale(jobs): that submits once, and nothing comes after jobs whose time is over.
    if jobs:
        found_jobs.adapt(minimum_jobs=min(jobs, found.trials), maximum_jobs=min(jobs, found.trials))
    return found_jobs
