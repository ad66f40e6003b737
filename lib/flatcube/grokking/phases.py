"""The phases of grokking by a rule, and what moves in each: for the rows of one network, in the order of its epochs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real

import numpy as np
from scipy import stats

from flatcube import checks
from flatcube.experiments import store

__all__ = ["curves", "events", "phase", "described", "leads"]

PAST = 3000  # epochs after generalising in which a bump is looked for

MEASURES = ("sensitivity", "own", "norm", "gini", "turning", "test_loss", "sharpness_own")
Curve = list[dict[str, float | str]]
_WORDS = {"arm", "spectrum", "circles"}


def curves(rows: Iterable[dict]) -> list[Curve]:
    """The rows of every network by itself, numbers as numbers."""
    found: dict[tuple, Curve] = {}
    for kept in store.numbers(rows, *_WORDS):
        found.setdefault((kept["arm"], kept["p"], kept["share"], kept["seed"]), []).append(kept)
    return list(found.values())


def since(epochs: Sequence[float], holds: Sequence[bool]) -> float:
    """The first epoch from which on something holds at every reading, infinite if it does not at the last.

    >>> since([0, 10, 20, 30], [True, False, True, True])
    20
    """
    found = math.inf
    for epoch, true in zip(reversed(epochs), reversed(holds), strict=True):
        if not true:
            break
        found = epoch
    return found


def events(curve: Curve) -> dict[str, float]:
    """Three moments, each the first epoch from which on its condition holds; infinite if it never does.

    ``memorised``: at least 99 % of the training pairs are right. ``left``: at least 10 % of the test pairs are whose
    mirror (b, a) was not for training. ``generalised``: at least 95 % of all test pairs are.
    """
    epochs = [row["epoch"] for row in curve]
    rules: dict[str, Callable[[dict], bool]] = {
        "memorised": lambda row: row["train"] >= 0.99,
        "left": lambda row: row["unmirrored"] >= 0.1,
        "generalised": lambda row: row["test"] >= 0.95,
    }
    return {name: since(epochs, [rule(row) for row in curve]) for name, rule in rules.items()}


def phase(epoch: float, found: dict[str, float]) -> int:
    """1 memorising, 2 waiting, 3 finding, 4 settled: 1 plus the number of events that have happened, in their order.

    >>> [phase(epoch, {"memorised": 10, "left": 50, "generalised": 80}) for epoch in (0, 10, 60, 80)]
    [1, 2, 3, 4]
    """
    checks.number(epoch, "epoch", 0)
    checks.instance(found, "found", dict)
    for name in ("memorised", "left", "generalised"):
        value = found.get(name)
        if not isinstance(value, Real) or not value >= 0:
            raise ValueError(f"found: expected an epoch for {name!r}, got {value!r:.60}")
    if epoch < found["memorised"]:
        return 1
    if epoch < found["left"]:
        return 2
    return 3 if epoch < found["generalised"] else 4


def climb(values: Sequence[float]) -> float:
    """The most by which a value is above an earlier one, 0 if they only fall; not a number, if there are none.

    >>> climb([5, 2, 4, 1, 2])
    2
    """
    return max((value - min(values[: k + 1]) for k, value in enumerate(values)), default=math.nan)


def hill(values: Sequence[float]) -> float:
    """The most by which a value is above an earlier and a later one, 0 if they rise or fall to the end.

    >>> hill([1, 3, 0, 2, 1]), hill([3, 1, 2])
    (2, 0)
    """
    heights = [min(v - min(values[: k + 1]), v - min(values[k:])) for k, v in enumerate(values)]
    return max(heights, default=math.nan)


def described(curve: Curve) -> dict[str, float | str]:
    """One network: its events and what sensitivity, norm and the other measures do between them.

    ``drop``: sensitivity when it has memorised, over the largest before. ``rise``: the most by which it rises in the
    waiting above an earlier value of the waiting. ``fall``: that when it has generalised, over that when it left.
    ``bump``: the most by which it is above an earlier and a later value within ``PAST`` epochs from then on, of which
    ``read`` were read; ``up``: as ``rise``, there. ``bump_own``, ``up_own``: these for scaled noise.
    ``least`` is the least test accuracy in this time, and ``sharper`` by how much sharpness rises in it above an
    earlier value, as a share of its largest before.

    ``flat``: the change of the norm from the start of the waiting to its end, as a share of that at the start;
    ``stray``: the largest such change at any reading between. ``tau_m`` is Kendall's τ of a measure m with the epoch
    while it waits, from the reading with which it has memorised to that with which it left, and ``way_m`` the share of
    its way, from memorised to generalised, that it has made when waiting ends. What hangs on an event that never came
    is not a number.
    """
    found = events(curve)
    at = {name: next((row for row in curve if row["epoch"] == epoch), None) for name, epoch in found.items()}
    waiting = [row for row in curve if found["memorised"] <= row["epoch"] <= found["left"]]
    told: dict[str, float | str] = {name: curve[-1][name] for name in ("arm", "p", "share", "seed")} | found
    told |= {"end": curve[-1]["epoch"], "train": curve[-1]["train"], "test": curve[-1]["test"]}
    start, left, done = at["memorised"], at["left"], at["generalised"]
    early = [row["sensitivity"] for row in curve if row["epoch"] <= found["memorised"]]
    told["drop"] = start["sensitivity"] / max(early) if start else math.nan
    told["rise"] = climb([row["sensitivity"] for row in waiting])
    told["fall"] = done["sensitivity"] / left["sensitivity"] if done and left else math.nan
    told["read"] = curve[-1]["epoch"] - found["generalised"]
    past = [row for row in curve if 0 <= row["epoch"] - found["generalised"] <= PAST]
    for name, end in (("sensitivity", ""), ("own", "_own")):
        told[f"up{end}"], told[f"bump{end}"] = (rule([row[name] for row in past]) for rule in (climb, hill))
    told["least"] = min((row["test"] for row in past), default=math.nan)
    before = max(row["sharpness_own"] for row in curve if row["epoch"] <= found["generalised"])
    told["sharper"] = climb([row["sharpness_own"] for row in past]) / before
    changes = [row["norm"] / start["norm"] - 1 for row in waiting]
    told["flat"], told["stray"] = (changes[-1], max(changes, key=abs)) if left and changes else (math.nan, math.nan)
    for name in MEASURES:
        told[f"tau_{name}"] = _tau([row["epoch"] for row in waiting], [row[name] for row in waiting])
        way = done[name] - start[name] if done and start else 0.0
        told[f"toward_{name}"] = way
        told[f"way_{name}"] = (left[name] - start[name]) / way if way and left else math.nan
    return told


def _tau(epochs: list[float], values: list[float]) -> float:
    return float(stats.kendalltau(epochs, values).statistic) if len(set(values)) > 1 else math.nan


def leads(networks: Sequence[dict], name: str) -> dict[str, float]:
    """Over networks: in how many a measure moves towards its later value while the accuracy waits, by Kendall's τ.

    ``ahead`` of ``of`` networks, the p-value of a sign test, the medians of τ (positive towards the later value) and of
    the share of the way that is made.
    """
    wanted = {f"{part}_{checks.word(name, 'name', MEASURES)}" for part in ("tau", "toward", "way")}
    for one in checks.several(networks, "networks", Mapping, 1):
        if not wanted <= set(one):
            raise ValueError(f"networks: expected {', '.join(sorted(wanted))}, got {', '.join(map(str, one))[:60]!r}")
        for part in sorted(wanted):
            if not isinstance(one[part], Real) or math.isinf(one[part]):
                raise ValueError(f"networks: expected a number or NaN for {part!r}, got {one[part]!r:.60}")
    pairs = [(one[f"tau_{name}"] * (1 if one[f"toward_{name}"] > 0 else -1), one[f"way_{name}"]) for one in networks
             if not math.isnan(one[f"tau_{name}"]) and not math.isnan(one[f"way_{name}"])]  # fmt: skip
    ahead = sum(tau > 0 for tau, _ in pairs)
    p = stats.binomtest(ahead, len(pairs), 0.5, alternative="greater").pvalue if pairs else 1.0
    middle = [float(np.median(values)) for values in zip(*pairs, strict=True)]
    tau, way = middle if pairs else (math.nan, math.nan)
    return {"measure": name, "ahead": ahead, "of": len(pairs), "p": float(p), "tau": tau, "way": way}
