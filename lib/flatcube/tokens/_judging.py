"""What the numbers of networks that see images say of VA's claims: the rules of ``vision``, in its order.

Each gives claims, their rules, and what is said; ``vision.measured`` has them in words.
"""

from collections.abc import Iterable
from itertools import permutations

import numpy as np
from scipy import stats

from flatcube.experiments import trends
from flatcube.tokens import images

__all__ = ["SIGMAS", "WHOLE", "GOAL", "LOUD", "MIDDLE", "finals", "robustness", "fits", "stops", "order", "widening",
           "together", "robust"]  # fmt: skip

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


def _ends(rows: Iterable[dict]) -> list[dict]:
    """One row of every network after training, that of its accuracy on clean test images."""
    return [row for row in rows if int(row["final"]) and row["what"] == "clean"]


def fits(rows: list[dict]) -> str:
    """How many networks reached the wanted accuracy on their examples, and after how long, in words."""
    ends = _ends(rows)
    train, passes = ([float(row[name]) for row in ends] for name in ("train", "epoch"))
    short = dict.fromkeys(row["kind"] for row in ends if float(row["train"]) < GOAL)
    said = (f"Fashion-MNIST, {sum(one >= GOAL for one in train)} of {len(ends)} networks at a training accuracy of "
            f"{GOAL} or more, after {min(passes):.2g} to {max(passes):.2g} passes over the examples")  # fmt: skip
    return said + (f", the others ({', '.join(short)}) from {min(train):.2f} on. " if short else ". ")


def stops(rows: list[dict]) -> str:
    """How often each kind has met its examples when it is stopped, and how well it does on new images, in words."""
    passes: dict[str, list[float]] = {}
    clean: dict[str, list[float]] = {}
    for row in _ends(rows):
        passes.setdefault(row["kind"], []).append(float(row["epoch"]))
        clean.setdefault(row["kind"], []).append(float(row["value"]))
    once = [kind for kind, some in passes.items() if max(some) <= 1]
    means = [np.mean(some) for some in clean.values()]
    each = ", ".join(f"{kind} {min(some):.2g} to {max(some):.2g}" for kind, some in passes.items())
    return (f"Passes when stopped: {each}; networks of {len(once)} kinds ({', '.join(once) or 'none'}) have met no "
            f"example twice. So the accuracy on examples is next to one on new images; on test images it is "
            f"{min(means):.3f} to {max(means):.3f} in the means of kinds. ")  # fmt: skip


def _gap(found: Found, one: str, other: str, what: str, level: float) -> dict[str, float]:
    """By how much the mean of one kind exceeds that of another."""
    return trends.contrast([found[one, what, round(level, 4)], found[other, what, round(level, 4)]], [1, -1])


def _gaps(found: dict[str, dict[str, float]]) -> str:
    return ", ".join(f"{kind} by {trends.said(one, 'value')}" for kind, one in found.items())


def _times(found: Found, one: str, other: str, level: float) -> str:
    """How many times as sensitive one kind is as another, in geometric means, with the interval of the logarithms."""
    logs = [np.log(found[kind, "token", round(level, 4)]) for kind in (one, other)]
    gap = trends.contrast(logs, [1, -1])
    return f"{one} {trends.said({name: np.exp(gap[name]) for name in ('value', 'low', 'high')}, 'value')} times"


def order(found: Found, stopped: str) -> list[Judged]:
    """VA-S5-FM, VA-F4 and VA-S5-CM: which kinds are above the ViT, by how much, and where the mixer stands."""

    def each(level: float) -> str:
        means = {kind: np.mean(values) for (kind, *at), values in found.items() if at == ["token", round(level, 4)]}
        return ", ".join(f"{kind} {mean:.3f}" for kind, mean in means.items())

    here = f"Sensitivity at σ = √5: {each(LOUD)}; at 1: {each(1)}; at 0.1: {each(0.1)}."
    loudly = {kind: _gap(found, kind, "vit", "token", LOUD) for kind in ("mlp", "sigmoid", "cnn")}
    at_one = {kind: _gap(found, kind, "vit", "token", 1) for kind in ("cnn", "mixer")}
    mixed = _gap(found, "mixer", "cnn", "token", 1)
    return [
        ("VA-S5-FM", [one["low"] > 0 for one in loudly.values()], 
         f"{stopped}{here} Above the ViT at √5: {_gaps(loudly)}."),
        ("VA-F4", [one["low"] > 0 for one in at_one.values()],
         f"{stopped}Above the ViT at σ = 1: {_gaps(at_one)}. As sensitive as the ViT, in geometric means: "
         f"{', '.join(_times(found, kind, 'vit', 1) for kind in at_one)}. The paper's numbers are 17 times "
         "(ResNet-18 and mixer against ViT-small) and more: the direction is judged here, not the size."),
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


def _apart(points: list[dict[str, object]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Spearman's ρ of sensitivity and accuracy, with its two-sided p: between kinds, and within them.

    Between, of the means of kinds; p is the share of all orders of these with a ρ as far from 0. Within, of what is
    left when these means are taken away; p comes from 1999 orders drawn within each kind.
    """
    groups: dict[object, list[list[float]]] = {}
    for one in points:
        groups.setdefault(one["kind"], []).append([one["sensitivity"], one["spoilt"]])
    each = [np.array(some) for some in groups.values()]
    means, inner = np.array([some.mean(0) for some in each]), [some - some.mean(0) for some in each]
    left, rng = np.concatenate(inner), np.random.default_rng(0)
    drawn = np.array([np.concatenate([rng.permutation(some[:, 0]) for some in inner]) for _ in range(1999)])
    orders = np.array([*permutations(means[:, 0])])
    return _ranked(means, orders), _ranked(left, np.concatenate([left[None, :, 0], drawn]))


def _ranked(pairs: np.ndarray, orders: np.ndarray) -> tuple[float, float]:
    """Spearman's ρ of pairs (N, 2), and the share of ``orders`` (K, N) of their first numbers as far from 0."""
    if np.ptp(pairs, 0).min() < 1e-9:
        return 0.0, 1.0
    theirs = stats.zscore(stats.rankdata(pairs[:, 1]))
    found = stats.zscore(stats.rankdata(orders, axis=1), axis=1) @ theirs / len(pairs)
    rho = float(stats.zscore(stats.rankdata(pairs[:, 0])) @ theirs / len(pairs))
    return rho, float(np.mean(np.abs(found) > abs(rho) - 1e-9))


def _against(found: Found, severity: int) -> tuple[list[str], str]:
    """Under which corruptions the ViT is right more often than the CNN beyond chance, and all that is beyond it."""
    gaps = {what: _gap(found, "vit", "cnn", what, severity) for what in images.CORRUPTIONS}
    won, lost = ([what for what, gap in gaps.items() if side * gap[end] > 0]
                 for side, end in ((1, "low"), (-1, "high")))  # fmt: skip
    open_ = [f"{what} by {trends.said(gap, 'value')}" for what, gap in gaps.items() if gap["low"] <= 0 < gap["value"]]
    return won, (f"at severity {severity} it is so beyond chance in {len(won)} of {len(gaps)} corruptions "
                 f"({', '.join(won) or 'none'}), and the other way round in {len(lost)} ({', '.join(lost) or 'none'}); "
                 f"above it, but within chance: {', '.join(open_) or 'none'}")  # fmt: skip


def robust(rows: list[dict], found: Found) -> list[Judged]:
    """VA-F7 and VA-F17: accuracies of ViT and CNN on spoilt images, and whether quiet kinds have the better ones."""
    total, points = len(images.CORRUPTIONS), {level: robustness(rows, level) for level in SIGMAS}
    (mild, told_mild), (second, told_second) = (_against(found, severity) for severity in (1, 2))
    apart = {level: _apart(some) for level, some in points.items()}
    (rho, p), (within, chance) = apart[LOUD]
    single = stats.spearmanr([one["sensitivity"] for one in points[LOUD]], [one["spoilt"] for one in points[LOUD]])
    better = "Whether the ViT is right more often than the CNN (95 % intervals over networks): "
    return [
        ("VA-F7", [len(second) >= total - 1, rho < 0 and p < 0.05],
         f"{better}{told_second}. Spearman's ρ of sensitivity at √5 and accuracy on spoilt images is {rho:.2f} between "
         f"the means of {len({kind for kind, _, _ in found})} kinds (exact p = {p:.2f}); at σ = "
         + ", ".join(f"{level:.2g}" for level in SIGMAS) + " it is "
         + ", ".join(f"{between[0]:.2f} (p = {between[1]:.2f})" for between, _ in apart.values())
         + f". Within kinds it is {within:.2f} at √5 (p = {chance:.2f}, drawn orders). "
         + ("" if p < 0.05 else "Whether quiet kinds stand more is thus not decided by so few. ")
         + "This rule was made after these numbers had been seen: the first one took the better means, and the "
         f"{len(points[LOUD])} networks as independent (ρ = {single.statistic:.2f}, p = {single.pvalue:.2g}), and said "
         "\"agrees in part\"."),
        ("VA-F17", [2 * len(some) > total for some in (mild, second)],
         f"{better}{told_mild}; {told_second}. This rule was made after these numbers had been seen: the first one "
         "counted better means, and said \"differs\", too."),
    ]  # fmt: skip
