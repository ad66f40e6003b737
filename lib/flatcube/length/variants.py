"""Beyond the papers: does sharpness set PARITY apart in other networks, and another sensitive function in the encoder?

    flatcube run variants --scale book

Beside the plain encoder stand the same with RMSNorm ("rms") and with a causal mask ("causal"), an MLP and an LSTM with
about as many weights (``rivals``). All learn PARITY and MAJORITY of 8 and of 12 bits, the plain encoder also HALF, the
PARITY of the first half of the bits, whose sensitivity is n/2 everywhere. At one length, everything is trained with the
same settings; ``trials`` says what the rows hold. At book scale there are 8 networks of a kind for a sensitive
function at each length, 4 for MAJORITY, and 4 LSTMs for either.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy import stats
from torch import nn

from flatcube.experiments import trends
from flatcube.experiments.engine import Experiment
from flatcube.length import sharper
from flatcube.length import trials as networks
from flatcube.length.trials import Trial
from flatcube.networks import rivals

__all__ = ["trial", "summary", "ratio", "measured", "EXPERIMENT"]

_RIVALS = {"mlp": rivals.Perceptron, "lstm": rivals.Lstm}
_KINDS = (*networks.KINDS, *_RIVALS)


def trial(trial: Trial) -> list[dict[str, object]]:
    """Train and measure the networks of a trial."""
    return networks.rows(trial, _ensemble(trial))


def _ensemble(trial: Trial) -> nn.Module:
    if trial.kind in _RIVALS:
        return rivals.Rivals(_RIVALS[trial.kind], trial.n, trial.width, seeds=networks.seeds(trial))
    if trial.kind not in networks.KINDS:
        raise ValueError(f"kind: expected one of {', '.join(_KINDS)}, got {trial.kind!r}")
    return networks.encoders(trial)


# --- what it says -----------------------------------------------------------------------------------------------------


def summary(rows: Iterable[dict]) -> dict[str, list[dict[str, object]]]:
    """``panels``: for every kind what ``sharper.lengths`` says. Then ratios of the sharpness of those that converged:

    ``functions``: of a sensitive ``function`` to MAJORITY, at equal kind and length; ``lengths``: of n to the shortest,
    at equal kind and function; ``kinds``: of a kind to the encoder, at equal function and length.
    """
    rows = networks.last(rows)
    shortest = min(int(row["n"]) for row in rows)
    panels: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        values = panels.setdefault((row["kind"], row["function"], int(row["n"])), [])
        values += [row["sharpness"]] if row["converged"] else []
    order = [kind for kind in _KINDS if any(row["kind"] == kind for row in rows)]
    tables: dict[str, list[dict[str, object]]] = {
        "panels": [{"kind": kind} | line for kind in order
                   for line in sharper.lengths([row for row in rows if row["kind"] == kind])],
        "functions": [], "lengths": [], "kinds": [],
    }  # fmt: skip
    for (kind, function, n), values in panels.items():
        others = {"functions": (kind, "MAJORITY", n), "lengths": (kind, function, shortest),
                  "kinds": ("encoder", function, n)}  # fmt: skip
        for name, other in others.items():
            if other != (kind, function, n) and other in panels:
                key = {"kind": kind, "function": function, "n": n}
                tables[name].append(key | ratio(values, panels[other]))
    return tables


def ratio(some: list[float], others: list[float], scatter: str = "own") -> dict[str, float]:
    """The ratio of geometric means, with the 95 % interval and the p-value of a t-test on the logarithms.

    The logarithms of either side have a ``scatter`` of their "own" (Welch), or a "common" one (Student). Networks that
    learn PARITY differ up to four times as much among each other as those for MAJORITY, so Welch's is the default.

    >>> found = ratio([2.0, 4.0], [1.0, 1.5, 1.0])
    >>> round(found["ratio"], 2), found["low"] < 1 < found["high"]
    (2.47, True)
    """
    if scatter not in ("own", "common"):
        raise ValueError(f"scatter: expected own or common, got {scatter!r}")
    counts = {"converged": len(some), "others": len(others)}
    if not some or not others:
        return counts | dict.fromkeys(("ratio", "low", "high", "p"), math.nan)
    top, bottom = np.log(some), np.log(others)
    found = counts | {"ratio": float(np.exp(top.mean() - bottom.mean()))}
    if len(some) < 2 or len(others) < 2:
        return found | dict.fromkeys(("low", "high", "p"), math.nan)
    test = stats.ttest_ind(top, bottom, equal_var=scatter == "common")
    low, high = np.exp(test.confidence_interval(0.95))
    return found | {"low": float(low), "high": float(high), "p": float(test.pvalue)}


def measured(rows: list[dict]) -> list[dict[str, str]]:
    """What the stored rows say of HR-X3 and HR-SUM-NC1.

    They agree if PARITY is sharper than MAJORITY, with the whole interval, at all lengths: with a causal mask, or with
    that and with RMSNorm; in part, if at some.
    """
    rows = networks.last(rows)
    tables = summary(rows)
    of = {(line["kind"], line["function"], line["n"]): line for line in tables["functions"]}
    lengths = sorted({int(row["n"]) for row in rows})
    found = []
    for claim, kinds in (("HR-X3", ("causal",)), ("HR-SUM-NC1", ("rms", "causal"))):
        lines = [of[kind, "PARITY", n] for kind in kinds for n in lengths]
        shown = "; ".join(map(_said, [*lines, *(of["encoder", "PARITY", n] for n in lengths)]))
        found.append((claim, [line["low"] > 1 for line in lines],
                      f"Sharpness of PARITY over that of MAJORITY, with 95 % intervals: {shown}."))  # fmt: skip
    return [{"id": claim, "verdict": trends.verdict(rules), "statement": said} for claim, rules, said in found]


def _said(line: dict) -> str:
    ends = "no interval" if math.isnan(line["low"]) else f"{line['low']:.2g} to {line['high']:.2g}"
    value = "unknown" if math.isnan(line["ratio"]) else f"{line['ratio']:.2g} ({ends})"
    return f"{line['kind']}, n = {line['n']}: {value}, {line['converged']} and {line['others']} networks converged"


# --- the grids --------------------------------------------------------------------------------------------------------


def cost(trial: Trial) -> float:
    """Seconds of one core, roughly: an LSTM costs as much as an encoder, an MLP a quarter."""
    return networks.cost(trial) * {"rms": 1.3, "causal": 1.3, "mlp": 0.25}.get(trial.kind, 1.0)


_CAST = tuple((kind, function) for kind in _KINDS for function in ("PARITY", "MAJORITY")) + (("encoder", "HALF"),)


def _draws(count: int, rate: float) -> tuple[tuple[int, float, float], ...]:
    return tuple((seed, rate, 0.1) for seed in range(count))


def _live() -> list[Trial]:
    options = {"width": 8, "batch": 32, "steps": 60, "chance_after": None, "every": 60, "directions": 10}
    return [Trial(("PARITY", "MAJORITY"), n, _draws(1, 1e-2), kind, **options) for n in (2, 3) for kind in _KINDS]


def _book() -> list[Trial]:
    options = {"width": 32, "batch": 256, "steps": 3500, "chance_after": 3000, "every": 500}
    grid = []
    for n in (8, 12):
        for kind, function in _CAST:
            few = kind == "lstm" or function == "MAJORITY"  # an LSTM is slow, and MAJORITY scatters little
            grid.append(Trial((function,), n, _draws(4 if few else 8, 1e-3), kind, **options))
    return grid


def _paper() -> list[Trial]:
    """The settings of HR App. E."""
    options = {"width": 128, "batch": 1024, "steps": 10_000, "schedule": "constant", "chance_after": None}
    return [Trial((f,), n, _draws(10, 3e-4), kind, **options) for n in (8, 12, 16, 20) for kind, f in _CAST]


EXPERIMENT = Experiment(
    name="variants",
    version="1",
    title="Sharpness of other networks, and of another sensitive function",
    figures="beyond the papers",
    grids={"live": _live(), "book": _book(), "paper": _paper()},
    trial=trial,
    cost=cost,
    summary=summary,
    measured=measured,
    resumes=True,
)
