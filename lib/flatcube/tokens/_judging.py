"""What the numbers of networks that see images say of VA's claims: the rules of ``vision``, in its order.

Each gives claims, their rules, and what is said; ``vision.measured`` has them in words.
"""

from collections.abc import Iterable

import numpy as np
from scipy import stats

from flatcube.experiments import trends
from flatcube.tokens import images

__all__ = ["SIGMAS", "WHOLE", "GOAL", "LOUD", "MIDDLE", "finals", "robustness", "fits", "order", "widening", "together",
           "robust"]  # fmt: skip

SIGMAS = (0.1, 0.25, 0.5, 1.0, 5**0.5, 15**0.5)
WHOLE = (0.1, 0.025**0.5)
GOAL = 0.85
LOUD, MIDDLE = 5**0.5, 0.5  # VA's σ for Fashion-MNIST, and one of the size of the pixels' own scatter
Found = dict[tuple[str, str, float], list[float]]
Judged = tuple[str, list[bool], str]  # a claim, its rules, and what is said


def finals(rows: Iterable[dict]) -> Found:
    """The numbers of all networks after training, in the order of seeds, by ``kind``, ``what`` and ``level``."""
    found: Found = {}
    for row in rows:
        if int(row["final"]):
            found.setdefault((row["kind"], row["what"], float(row["level"])), []).append(float(row["value"]))
    return found


def robustness(rows: Iterable[dict], level: float = LOUD) -> list[dict[str, object]]:
    """For each network its sensitivity to noise of a ``level``, and its mean accuracy over all spoilt images."""
    found, kinds = finals(rows), images.CORRUPTIONS
    level = round(level, 4)
    return [
        {"kind": kind, "seed": seed, "sensitivity": value, "clean": found[kind, "clean", 0.0][seed],
         "spoilt": float(np.mean([found[kind, what, float(k)][seed] for what in kinds for k in (1, 2, 3)]))}
        for kind in dict.fromkeys(kind for kind, _, _ in found)
        for seed, value in enumerate(found[kind, "token", level])
    ]  # fmt: skip


def fits(rows: list[dict]) -> str:
    """How many networks reached the wanted accuracy on their examples, in words."""
    ends = {(row["kind"], row["seed"]): float(row["train"]) for row in rows if int(row["final"])}
    short = dict.fromkeys(kind for (kind, _), train in ends.items() if train < GOAL)
    said = (f"Fashion-MNIST, {sum(train >= GOAL for train in ends.values())} of {len(ends)} networks at a training "
            f"accuracy of {GOAL} or more")  # fmt: skip
    return said + (f", the others ({', '.join(short)}) from {min(ends.values()):.2f} on. " if short else ". ")


def _gap(found: Found, one: str, other: str, what: str, level: float) -> dict[str, float]:
    """By how much the mean of one kind exceeds that of another."""
    return trends.contrast([found[one, what, round(level, 4)], found[other, what, round(level, 4)]], [1, -1])


def _gaps(found: dict[str, dict[str, float]]) -> str:
    return ", ".join(f"{kind} by {trends.said(one, 'value')}" for kind, one in found.items())


def order(found: Found) -> list[Judged]:
    """VA-S5-FM, VA-F4 and VA-S5-CM: which kinds are above the ViT, and where the mixer stands."""

    def each(level: float) -> str:
        means = {kind: np.mean(values) for (kind, *at), values in found.items() if at == ["token", round(level, 4)]}
        return ", ".join(f"{kind} {mean:.3f}" for kind, mean in means.items())

    here = f"Sensitivity at σ = √5: {each(LOUD)}; at 1: {each(1)}; at 0.1: {each(0.1)}."
    loudly = {kind: _gap(found, kind, "vit", "token", LOUD) for kind in ("mlp", "sigmoid", "cnn")}
    at_one = {kind: _gap(found, kind, "vit", "token", 1) for kind in ("cnn", "mixer")}
    mixed = _gap(found, "mixer", "cnn", "token", 1)
    return [
        ("VA-S5-FM", [one["low"] > 0 for one in loudly.values()], f"{here} Above the ViT at √5: {_gaps(loudly)}."),
        ("VA-F4", [one["low"] > 0 for one in at_one.values()], f"Above the ViT at σ = 1: {_gaps(at_one)}."),
        ("VA-S5-CM", [at_one["mixer"]["low"] > 0, mixed["low"] <= 0 <= mixed["high"]],
         f"At σ = 1 the mixer exceeds the ViT by {trends.said(at_one['mixer'], 'value')}, the CNN by "
         f"{trends.said(mixed, 'value')}. This rule was made after the numbers of an earlier, smaller series had been "
         "seen, where the first one, which let the mixer be above the CNN, said \"agrees\"; these networks are new."),
    ]  # fmt: skip


def widening(found: Found) -> Judged:
    """VA-F14: the gaps to the ViT at every σ, and whether they grow."""
    others, ends = ("mlp", "cnn", "mixer"), (1.0, SIGMAS[-1])
    gaps = {kind: [_gap(found, kind, "vit", "token", level) for level in SIGMAS] for kind in others}
    steps = {kind: np.subtract(*(found[kind, "token", round(level, 4)] for level in reversed(ends)))
             for kind in (*others, "vit")}  # fmt: skip
    grows = [trends.contrast([steps[kind], steps["vit"]], [1, -1])["low"] > 0 for kind in others]
    values = "; ".join(f"{kind} " + ", ".join(f"{one['value']:.3f}" for one in some) for kind, some in gaps.items())
    above = [f"{level:.2g}" for k, level in enumerate(SIGMAS) if all(some[k]["low"] > 0 for some in gaps.values())]
    words = ("What others exceed the ViT by, at σ = " + ", ".join(f"{level:.2g}" for level in SIGMAS) + f": {values}. "
             f"All three are above it at σ = {', '.join(above) or 'none'}. "
             "This rule was made after the numbers of an earlier, smaller series had been seen, where the first one "
             "said \"differs\"; these networks are new.")  # fmt: skip
    return "VA-F14", [all(one["low"] > 0 for some in gaps.values() for one in some), all(grows)], words


def together(found: Found) -> Judged:
    """VA-TAB4: the gap of CNN and ViT with noise on one patch, and on all at once."""
    token, together = (_gap(found, "cnn", "vit", *at) for at in (("token", LOUD), ("whole", WHOLE[-1])))
    words = (f"The CNN exceeds the ViT by {trends.said(token, 'value')} with noise of √5 on one patch, and by "
             f"{trends.said(together, 'value')} with noise of {WHOLE[-1]:.2g} on all.")  # fmt: skip
    return "VA-TAB4", [token["low"] > 0, 0 < together["value"] < token["value"]], words


def _apart(points: list[dict[str, object]]) -> tuple[float, float]:
    """Spearman's ρ of sensitivity and accuracy between the means of kinds, and within kinds, these means taken away."""
    groups: dict[object, list[list[float]]] = {}
    for one in points:
        groups.setdefault(one["kind"], []).append([one["sensitivity"], one["spoilt"]])
    each = [np.array(some) for some in groups.values()]
    means = np.array([some.mean(0) for some in each])
    inner = np.concatenate([some - some.mean(0) for some in each])
    return tuple(float(stats.spearmanr(some).statistic) if np.ptp(some, 0).min() > 1e-9 else 0.0
                 for some in (means, inner))  # fmt: skip


def robust(rows: list[dict], found: Found) -> list[Judged]:
    """VA-F7 and VA-F17: accuracies of ViT and CNN on spoilt images, and how accuracy goes with sensitivity."""
    total, points = len(images.CORRUPTIONS), {level: robustness(rows, level) for level in SIGMAS}
    won = {k: [what for what in images.CORRUPTIONS if _gap(found, "vit", "cnn", what, k)["value"] > 0] for k in (1, 2)}
    ranks = {level: stats.spearmanr([one["sensitivity"] for one in some], [one["spoilt"] for one in some])
             for level, some in points.items()}  # fmt: skip
    rho, p = ranks[LOUD]
    kinds, within = _apart(points[LOUD])
    return [
        ("VA-F7", [len(won[2]) >= total - 1, rho < 0 and p < 0.05],
         f"At severity 2 the ViT has the better accuracy in {len(won[2])} of {total} corruptions "
         f"({', '.join(won[2]) or 'none'}). Over {len(points[LOUD])} networks Spearman's ρ of sensitivity at √5 and "
         f"accuracy on spoilt images is {rho:.2f} (p = {p:.2g}); with sensitivity at σ = "
         + ", ".join(f"{level:.2g}" for level in SIGMAS) + " it is "
         + ", ".join(f"{rank.statistic:.2f}" for rank in ranks.values()) + ". At √5 it is "
         f"{kinds:.2f} between the means of kinds, and {within:.2f} within kinds."),
        ("VA-F17", [2 * len(some) > total for some in won.values()],
         f"The ViT has the better accuracy in {len(won[1])} of {total} corruptions at severity 1, in "
         f"{len(won[2])} at severity 2."),
    ]  # fmt: skip
