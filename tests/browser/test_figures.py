"""Every interactive figure of every chapter: after real keys, clicks and drags it shows what the library computes.

Explorers are compared with their Python half. A chart with inputs is compared with `EXPECTED`: for its chapter and its
title, what its marks must show in a given state. A chart that has inputs and no entry there fails.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from math import comb
from pathlib import Path

import numpy as np
import pytest
import torch

from flatcube import account, blowup, cube, fourier, handmade, parity, sampling, scratchpad, sensitivity
from flatcube.classroom.explorers import explorer
from flatcube.experiments import brittle, store
from tests.browser.hand import Hand, drag

ROOT = Path(__file__).parents[2]
PLAN = csv.DictReader((ROOT / "data/plan.csv").read_text(encoding="utf-8").splitlines())
CHAPTERS = [row["slug"] for row in PLAN if (ROOT / f"_build/html/chapters/{row['slug']}.html").exists()]

Row = dict[str, object]
Shown = Callable[[dict, list[Row]], Iterator[Row]]

# ------------------------------------------------------------------------------------------------ chapter 1

N = 9
CAST = {
    "FIRST": cube.first(N),
    "MEAN": cube.mean(N),
    "AND": cube.conjunction(N),
    "MAJORITY": cube.majority(N),
    "RANDOM": cube.random_boolean(N, rng=np.random.default_rng(1)),
    "PARITY": cube.parity(N),
}
PROFILE = {name: fourier.spectrum(table).profile for name, table in CAST.items()}


def passes(state: dict, stored: list[Row]) -> Iterator[Row]:
    """After p passes an entry is the sum over p bits, signed by the mask: 2^p times a transform of each piece."""
    table = cube.majority(3)
    for step in range(state["done"] + 1):
        pieces = [fourier.transform(piece) * 2**step for piece in table.reshape(-1, 2**step)]
        for k, value in enumerate(np.concatenate(pieces)):
            yield {"step": step, "k": k, "value": value, "text": f"{value:.0f}".replace("-", "−")}


def bounds(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The average sensitivity of the chosen function between its two bounds by the weight at degree λ and above."""
    profile = PROFILE[state["choice"]]
    for degree in range(1, N + 1):
        high = profile[degree:].sum()
        values = {
            "upper bound": degree * (profile.sum() - high) + N * high,
            "exact": sensitivity.average(CAST[state["choice"]]),
            "lower bound": degree * high,
        }
        yield from ({"degree": degree, "kind": kind, "value": value} for kind, value in values.items())


def learnt(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The simulated shares at the chosen degree, each below what the theorem allows on average."""
    rows = [row for row in stored if row["degree"] == state["cutoff"]]
    assert {(row["name"], row["examples"]) for row in rows} == {
        (name, 2**e) for name in ("MAJORITY", "PARITY") for e in range(4, N + 5)
    }
    for row in rows:
        low = PROFILE[row["name"]][: row["degree"] + 1].sum()
        sets = sum(comb(N, j) for j in range(row["degree"] + 1))
        assert 0 <= row["wrong"] <= (1 - low) + (sets - low) / row["examples"]
        yield row


# ------------------------------------------------------------------------------------------------ chapter 2


def growth(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Closed forms up to 1001 bits; the line of HR's Corollary 5 only beside averages."""
    measure, lengths = state["measure"], sorted({row["n"] for row in stored})
    assert (lengths[0], lengths[-2:]) == (1, [1000, 1001])
    for n in lengths:
        k = n // 2
        worst = {"PARITY": n, "FIRST": 1, "MEAN": 1 / n, "MAJORITY": k + 1}
        average = worst | {"MAJORITY": n * comb(2 * k, k) / 4**k}
        values = dict(worst if measure == "maximum" else average) | ({"4-PARITY": 4} if n >= 4 else {})
        if measure == "average" and n > 1:
            values["√(n log n)"] = np.sqrt(n * np.log(n))
        share = n if measure == "average / n" else 1
        yield from ({"name": name, "n": n, "value": value / share} for name, value in values.items())


@cache
def of_four_bits() -> tuple[np.ndarray, float, np.ndarray]:
    """The mean degree profile, the mean average sensitivity and the maxima of all functions of four bits."""
    tables = 1 - 2 * (np.arange(2**16)[:, None] >> np.arange(16) & 1)
    weight = np.square(fourier.transform(tables.astype(float))).mean(axis=0)
    profile = np.bincount(cube.weights(4), weights=weight)
    return profile, sensitivity.average(tables).mean(), sensitivity.maximum(tables)


def noise(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The chance of a change and its two bounds; for all functions of four bits the means of these."""
    if state["whose"] in CAST:
        table = CAST[state["whose"]]
        profile, average, maxima = PROFILE[state["whose"]], sensitivity.average(table), sensitivity.maximum(table)
    else:
        assert "65,536" in state["whose"]
        profile, average, maxima = of_four_bits()
    for r in np.linspace(0, 1, 41):
        chances = {
            "exact": (1 - profile @ r ** np.arange(len(profile))) / 2,
            "bound by average": (1 - r) * average / 2,
            "bound by maximum": np.mean(1 - r ** np.square(maxima)) / 2,
        }
        yield from ({"r": r, "kind": kind, "chance": chance} for kind, chance in chances.items())


def intervals(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Forty intervals of each kind, from the same counts of changed flips; verdicts against the exact value."""
    truth = 0 if state["box"] == "constant" else sensitivity.average(CAST[state["box"]])
    rows = {(row["how"], row["run"]): row for row in stored if row["name"] == state["box"]}
    for run in range(1, 41):
        share = rows["textbook", run]["middle"] / N
        half = 1.96 * np.sqrt(share * (1 - share) / 100)
        low, high = {
            "textbook": (share - half, share + half),
            "exact": sampling.proportion(round(100 * share), 100, 0.95),
        }[state["how"]]
        verdict = "contains the truth" if N * low <= truth <= N * high else "misses it"
        yield {"run": run, "low": N * low, "high": N * high, "verdict": verdict}


def networks(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Networks of the chosen scale, with the intervals that belong to their counts, beside three exact lines."""
    lines = {"PARITY": lambda n: n, "random function": lambda n: n / 2, "MAJORITY": sensitivity.majority_average}
    yield from ({"kind": kind, "n": n, "value": line(n)} for kind, line in lines.items() for n in LENGTHS)
    rows = [row for row in stored if row.get("scale") == 2 ** state["power"]]
    assert {(row["kind"], row["n"]) for row in rows} == {(kind, n) for kind in KINDS for n in LENGTHS}
    for row in rows:
        count = round(600 * row["value"] / row["n"])
        low, high = sampling.proportion(count, 600, 0.95)
        assert row["value"] == pytest.approx(row["n"] * count / 600, rel=6e-5)
        assert (row["low"], row["high"]) == pytest.approx((max(row["n"] * low, 0.05), row["n"] * high), rel=6e-5)
        yield row


LENGTHS, KINDS = (8, 16, 32, 64, 128, 256), ("three layers", "attention")

# ------------------------------------------------------------------------------------------------ chapter 3


@cache
def odd_labellings(size: int, blocks: int, spare: bool) -> int:
    """How many labellings of a set meet every block in an odd number; `spare`: there is a label for no block."""
    if blocks == 0:
        return int(spare or size == 0)
    return sum(comb(size, k) * odd_labellings(size - k, blocks - 1, spare) for k in range(1, size + 1, 2))


def survival(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The chance of every set to survive a trial, by counting labellings; sets without a chance are left out."""
    d = state["tested"]
    for size in range(d + 1, 13):
        chances = {
            "blocks": odd_labellings(size, d + 1, True) / (d + 2) ** size,
            "blocks without label 0": odd_labellings(size, d + 1, False) / (d + 1) ** size,
            "single bits, n = 30": comb(size, d + 1) / comb(30, d + 1),
        }
        yield from ({"kind": kind, "size": size, "chance": chance} for kind, chance in chances.items() if chance)


def power(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The proved power by counting labellings; the measured ones rise with the trials and keep to theory."""
    d, trials = state["rejected"], [2**k for k in range(8)]
    least = min(odd_labellings(size, d + 1, True) / (d + 2) ** size for size in range(d + 1, 31)) / 6
    yield from ({"kind": "blocks, proved", "trials": m, "power": 1 - (1 - least) ** m} for m in trials)
    rows = {(row["kind"], row["trials"]): row for row in stored if row["d"] == d}
    for kind in ("blocks", "single bits"):
        measured = [rows[kind, m]["power"] for m in trials]
        assert measured == sorted(measured) and 0 <= measured[0] <= measured[-1] <= 1
        yield from (rows[kind, m] for m in trials)
    most = 5 / comb(30, d + 1)  # any of five sets
    assert rows["single bits", 1]["power"] <= most + 5 * np.sqrt(most / 4096)
    assert all(rows["blocks", m]["power"] >= 1 - (1 - least) ** m for m in trials)


def wilting(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Means of the first accepted value over the classes of the stored study that share the true one."""
    text = (ROOT / "data/testers.csv").read_text(encoding="utf-8")
    kept: dict[tuple[str, float, int], list[float]] = {}
    for row in csv.DictReader(text.splitlines()):
        drawn = row["method"] in ("blocks", "directions") and row["laxity"] not in ("4", "0.0001", "0.001", "0.03")
        if row["tester"] == state["tested"] and row["sparsity"] in ("6", "11", "16", "21") and drawn:
            key = float(row["laxity"]), int(row[state["tested"]])
            kept.setdefault(key, []).append(float(row["mean"]))
    assert {len(means) for means in kept.values()} == {4 if state["tested"] == "degree" else 5}
    yield from ({"rank": rank, "truth": truth, "found": np.mean(means)} for (rank, truth), means in kept.items())


@cache
def tree_spectrum() -> dict[tuple[int, ...], float]:
    """The coefficients of the hidden decision tree, from its table on the seven variables that it reads."""
    read = (3, 5, 7, 9, 14, 18, 30)
    table = cube.formula("x1 & (x5 & (x2 ^ x4) | ~x5 & x6) | ~x1 & (x3 ^ x7)", 7)
    return {tuple(read[i - 1] for i in S): c for S, c in fourier.spectrum(table).top(2**7) if c}


def buckets(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The sets whose coefficients reach the threshold; the weights of all buckets on the way to them."""
    threshold = float(state["theta"])
    heavy = {S: c for S, c in tree_spectrum().items() if abs(c) >= threshold}
    for row in (row for row in stored if row["threshold"] == state["theta"] and "weight" in row):
        weights = [
            sum(c**2 for U, c in tree_spectrum().items() if [i for i in U if i <= row["to"]] == begin)
            for begin in ([i for i in S if i <= row["to"]] for S in heavy)
        ]
        assert min(abs(row["weight"] - weight) for weight in weights) < 0.04  # five deviations of 20,000 signs
    yield from ({"name": "{" + ", ".join(map(str, S)) + "}", "k": 30} for S in heavy)


# ------------------------------------------------------------------------------------------------ chapter 4

T = 12


def scales(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The error of one component of d bits, from the formulas for its mean and the wave; below 1e-12 it is rounding."""
    d = state["degree"]
    n, outside = np.meshgrid(np.arange(d + 1), np.arange(T - d + 1))
    for scale in np.linspace(0, 5, 51).round(1):
        a = (n * np.exp(scale) + outside) / (d * np.exp(scale) + T + 1 - d)
        error = np.abs(handmade.wave(a, d) - (n % 2 == 0)).max()
        yield {"d": d, "scale": scale, "error": max(error, 1e-12)}


def means(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The smallest and the largest mean that n ones among d members can give, by going through all inputs."""
    d, lift = state["shape"], np.exp(state["steepness"])
    for n in range(d + 1):
        possible = [(n * lift + outside) / (d * lift + T + 1 - d) for outside in range(T - d + 1)]
        yield {"n": n, "value": (n + 1) % 2, "a": min(possible), "high": max(possible)}


def named_weights(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The matrices of a small network, position by position, from what each weight is for."""
    beta, d, subsets = np.log(8 * 5), 3, {1: (1, 2), 2: (2, 4, 5), 3: (3,)}
    kinks = [(k + at) / d for k in range(d + 1) for at in (-1 / 2, -1 / 4, 1 / 4, 1 / 2)]
    slopes = [4 * d * sign * (k % 2 == 0) for k in range(d + 1) for sign in (1, -1, -1, 1)]
    weights: dict[str, dict[tuple[str, str], float]] = {
        "W1": {(f"{i}", f"{j}"): beta for i, members in subsets.items() for j in members},
        "V1": {("bit", "bit"): 1},
        "E": {("bit", f"relu {k}"): 1 for k in range(1, 17)},
        "b": {("bias", f"relu {k}"): -kink for k, kink in enumerate(kinks, 1)},
        "F": {(f"relu {k}", "bit"): slope for k, slope in enumerate(slopes, 1)},
        "W2": {("out", "1"): np.log(1.5), ("out", "2"): np.log(0.8)},
        "v2": {("bit", "f"): 2.3},
        "W2−": {},  # the logarithm of the only weight, 1
        "v2−": {("bit", "f"): -1.0},
    }
    weights["W1"] |= {("1", "out"): beta, ("3", "out"): beta + np.log(2)}
    chosen = [row for row in stored if row.get("matrix") == state["which"]]
    assert weights[state["which"]].keys() <= {(row["from"], row["to"]) for row in chosen}
    for row in chosen:
        yield {"from": row["from"], "to": row["to"], "value": weights[state["which"]].get((row["from"], row["to"]), 0)}


def rescalings(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Squared norm and gradient of the rescaled MLP, relative to the first, from the terms of the closed forms."""
    plan = handmade.Design(cube.random_components(T, state["rescaled"], 3, rng=4), T)
    size = handmade.norms(plan)
    slope = {k: v.mean() for k, v in handmade.gradient_norms(plan, cube.to_bits(cube.points(T))).items()}
    for alpha in np.geomspace(0.5, 8, 33).round(3):
        for kind, first, second in (
            ("norm", size["E"] + size["b"], size["F"]),
            ("gradient", slope["F bit"] + slope["F positions"], slope["E"] + slope["b"]),
        ):
            yield {"alpha": alpha, "kind": kind, "ratio": (alpha**2 * first + second / alpha**2) / (first + second)}


# ------------------------------------------------------------------------------------------------ chapter 5


def written(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Where X has a one: eight bits, of which 2, 3, 5 and 8 are 1 and 2, 5 and 7 are chosen."""
    ones, chosen = {2, 3, 5, 8}, {2, 5, 7}
    yield {"position": "CLS", "channel": "CLS"}
    for t in range(1, 9):
        channels = {
            "fixed": [f"v{t}", f"E{int(t in ones)}"],
            "trainable": ["v1"] * (t in chosen) + [f"E{int(t in ones)}"],
            "bag": [f"v{t}"] * (t in ones),
        }[state["shown"]]
        yield from ({"position": f"{t} (bit {int(t in ones)})", "channel": channel} for channel in channels)


def averaging(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The exact error of an average down to 1e-4; the marks lie on it, the first of them at a quarter of the gap."""
    s = state["count"]
    error = lambda T, R: (2 * (T - s) + 1) / (s * np.exp(R) + T + 1 - s)  # noqa: E731
    for name, T in {"T = 12": 12, "T = 1,000": 1000, "T = 1,000,000": 10**6}.items():
        curve = ((R, error(T, R)) for R in np.linspace(0, 20, 41))
        yield from ({"length": name, "R": R, "error": high} for R, high in curve if high >= 1e-4)
        marks = {row["mark"]: row for row in stored if row["length"] == name and row["s"] == s and "mark" in row}
        assert marks["needed"]["height"] == pytest.approx(min(1, 2 / s) / 4, rel=1e-4)
        assert marks["needed"]["scale"] < marks["ED's choice"]["scale"]
        assert all(row["height"] == pytest.approx(error(T, row["scale"]), rel=1e-3) for row in marks.values())


def head_norms(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norms of a head for three bits: roots of ED's bounds, but for the query's, which is R."""
    which = state["which"]
    for T in (10**k for k in range(1, 7)):
        R = np.log(8 * T * 3**2) if which == "bag" else np.log(8 * T * 3 / 2)
        bounds = {"fixed": (3, 2, 1), "trainable": (1, 2, 1), "bag": (4, 6, 3)}[which]
        for matrix, bound in zip(("W_Q", "W_K", "W_V", "W_C"), (R, *bounds), strict=True):
            yield {"length": T, "kind": "ED's bound", "matrix": matrix, "norm": bound}
            yield {"length": T, "kind": "measured", "matrix": matrix, "norm": R if matrix == "W_Q" else np.sqrt(bound)}


# ------------------------------------------------------------------------------------------------ chapter 6


def ballots(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Each of k ones compares the ones up to it with those after it."""
    k = state["ones"]
    assert sum(1 if j > k - j else -1 for j in range(1, k + 1)) == k % 2
    yield from ({"j": j, "margin": j - (k - j), "vote": "yes" if j > k - j else "no"} for j in range(1, k + 1))


def faded(state: dict, stored: list[Row]) -> Iterator[Row]:
    """What ε leaves of the output for a string that begins with n // 2 ones, from the formula of the chapter."""
    eps, lengths = float(state["eps"]), sorted({row["n"] for row in stored if "n" in row})
    assert (lengths[0], lengths[-1], len(lengths)) == (4, 2000, 12)
    for n in lengths:
        N, k = n + 1, n // 2
        side = (-1) ** k
        held = np.array([1, k / N, side, 1 / N, k / N, side / N])  # at place k, before the channel that balances them
        answer = 1 / np.sqrt((held @ held + held.sum() ** 2) / 9 + eps) / N**2
        yield {"eps": state["eps"], "n": n, "output": 1 / np.sqrt(1 + 81 / 8 * eps / answer**2)}


def one_weight(state: dict, stored: list[Row]) -> Iterator[Row]:
    """All answers are right while the change is far below 1/N², and always for the read-out; far above not."""
    rows = [row for row in stored if row["weight"] == state["which"]]
    changes = {float(f"{10**power:.5g}") for power in np.arange(-8, 0, 0.5)}
    assert {(row["n"], row["change"]) for row in rows} == {
        (n, change) for n in ("8", "32", "125", "500", "2000") for change in changes
    }
    for row in rows:
        size = row["change"] * (int(row["n"]) + 1) ** 2
        assert size > 1 or row["right"] == 1
        assert size < 1000 or (row["right"] == 1) == state["which"].startswith("read-out")
        yield row


def four_ways(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norms and numbers of weights in closed form; noise thresholds that fall with the length, or hardly do."""
    lengths, names = (4, 8, 16, 32, 64, 128), {row["network"] for row in stored}
    assert len(names) == 5
    if state["measure"] == "noise that it survives":
        rows = [row for row in stored if row["measure"] == state["measure"]]
        for name in names:
            values = [row["value"] for row in sorted(rows, key=lambda row: row["n"]) if row["network"] == name]
            if "scratchpad" in name:
                assert max(values) < 4 * min(values)
            else:
                assert values == sorted(values, reverse=True) and values[-1] < values[0] / 20
        yield from rows
        return
    for n in lengths:
        N, D = n + 1, int(np.log2(n)) + 1
        if state["measure"] == "number of weights":
            of_pad = {"scratchpad, one-hot": 2 * N**2 + 8 * N + 8, "scratchpad, binary": 2 * D**2 + 8 * D + 8}
            wave = 3 * (n + 2) ** 2 + 3 * (n + 2) + 4 * N * (2 * (n + 2) + 1)
            values = {"nested majorities": 140, "memorised wave": wave, "layer norm": 769} | of_pad
        else:
            logits = {code: [t + m for t, m in zip(parity.thresholds(n, code), np.log([2, 100]), strict=True)]
                      for code in ("one-hot", "binary")}  # fmt: skip
            rest = 256 + 4 + 37 / 32 + 3
            wave = sum(handmade.norms(handmade.Design([(tuple(range(1, N)), 1.0)], n)).values()) + 1
            values = {
                "nested majorities": 14 * N**2 + (N + 0.25) ** 2 + (N + 0.75) ** 2 + 72.625,
                "memorised wave": wave,
                "layer norm": 89.125,
                "scratchpad, one-hot": n * sum(np.square(logits["one-hot"])) + rest,
                "scratchpad, binary": (D - 1) * sum(np.square(logits["binary"])) / 4 + rest,
            }
        yield from ({"network": name, "n": n, "value": value} for name, value in values.items())


# ------------------------------------------------------------------------------------------------ chapter 7


def steps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """a/√(a² + ε) with a = ½ − k/n."""
    n = 101
    for k in range(n + 1):
        a = 0.5 - k / n
        yield {"k": k, "output": a / np.sqrt(a**2 + 10.0 ** -state["place"]), "place": state["place"]}


def calm(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Rows of attention before and after every flip; in the string without ones each flip has the same effect."""
    loud = float(state["loud"])
    for n in (2**k for k in range(4, 11)):
        bits, rank = np.random.default_rng(n).integers(0, 2, (100, n)), -np.log(np.arange(1, n + 1))
        for kind, zero in (("random, all keys alike", np.zeros(n)), ("random, early keys louder", rank)):
            here, there = (np.exp(zero + loud * some) for some in (bits, 1 - bits))
            others = here.sum(1, keepdims=True) - here
            total = 2 * np.abs(here / (others + here) - there / (others + there)).sum(1).max()
            yield {"kind": kind, "n": n, "total": total}
        yield {"kind": "no ones at all", "n": n, "total": 2 * n * (1 / (1 + (n - 1) * np.exp(-loud)) - 1 / n)}


def owed(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The norms of the PARITY network by numpy, and what PARITY owes; the constant is the library's."""
    network, sharp = parity.layer_norm_network(), "sharp" in state["form"]
    for n in (2**k for k in range(3, 9)):
        seen = network.activations(torch.from_numpy(np.random.default_rng(n).integers(0, 2, (16, n))))
        deviations = [seen[f"layers.{k}.sum"].detach().numpy().std(axis=2) for k in (0, 1)]
        factors = [(1 / deviation).max(axis=1) for deviation in deviations]
        has = np.prod(factors, axis=0) if sharp else np.prod([(1 + factor) ** 2 for factor in factors], axis=0)
        constant = blowup.log_constant(network, n=n, form="sharp" if sharp else "corrected")
        yield {"kind": "the network has", "n": n, "size": has.mean()}
        demand = (np.sqrt(n / np.log(n)) - 1 / n) * np.exp(-constant)
        yield {"kind": "the corollary demands", "n": n, "size": demand}


# ------------------------------------------------------------------------------------------------ chapter 8


def squares(state: dict, stored: list[Row]) -> Iterator[Row]:
    """As many squares of half-width ε as stated, each around a dot; every dot of the ellipse is in one of them."""
    eps = state["radius"] / 10
    found = [row for row in stored if row.get("tenths") == state["radius"] and "right" in row]
    (said,) = [row["count"] for row in stored if row.get("tenths") == state["radius"] and "count" in row]
    assert int(said.split()[0]) == len(found)
    dots = np.array([(row["left"], row["low"]) for row in stored if "tenths" not in row])
    assert len(dots) == 1 + 8 * 48
    sides = np.array([[row[side] for side in ("left", "right", "low", "high")] for row in found])
    assert np.allclose(sides[:, [1, 3]] - sides[:, [0, 2]], 2 * eps, atol=1e-4)
    centres = (sides[:, [0, 2]] + sides[:, [1, 3]]) / 2
    apart = np.abs(dots[:, None] - centres).max(axis=2)
    assert apart.min(axis=1).max() <= eps + 1e-4 and apart.min(axis=0).max() < 1e-4
    yield from found


def splits(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The cost of two matrices of size 1 and reaches 1 and r when the first gets a share of the error."""
    r = float(state["reach"])
    for share in np.linspace(0.04, 0.96, 93):
        yield {"share": share, "cost": 1 / share**2 + (r / (1 - share)) ** 2}
    (best,) = [row for row in stored if row["reach"] == state["reach"] and "least" in row]
    assert best["share"] == pytest.approx(1 / (1 + r ** (2 / 3)), rel=1e-4)  # where the derivative vanishes
    assert best["least"] == pytest.approx((1 + r ** (2 / 3)) ** 3, rel=1e-4)


def with_positions(state: dict, stored: list[Row]) -> Iterator[Row]:
    """H heads with norms 0.05, width 16, on tokens of norm 2: H³ times one head; trained positions add T·16·log 21."""
    size, reach = 2 * 2 * 16 * 0.05, 0.05 * 2
    one = ((size * reach) ** (2 / 3) + (2 * 16 * 0.05) ** (2 / 3)) ** 3
    for T in (10**k for k in range(1, 8)):
        fixed = int(state["count"]) ** 3 * one * np.log(2 * 1000 * T + 1) / 0.01
        yield {"positions": "fixed", "T": T, "log_n": fixed}
        yield {"positions": "trained", "T": T, "log_n": fixed + T * 16 * np.log(21)}


def promises(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Occam's bound by hand; those by covers fall with m, from their trivial values, where the library says."""
    T, k = map(int, re.findall(r"\d+", state["tiling"]))
    w, rows = T // k, [row for row in stored if row.get("tiling") == state["tiling"]]
    for e in range(28):
        occam = 4 * (np.log(float(comb(comb(T, k), w))) + w * np.log(16) + np.log(20)) / 10.0**e
        if 1e-3 < occam < 1e4:
            yield {"kind": "Occam", "m": 10.0**e, "bound": occam}
    for form, factor in {"as printed": 16, "corrected": 16, "explicit": 32}.items():
        drawn = [row for row in rows if row["kind"] == f"cover, {form}"]
        falling = [row["bound"] for row in drawn]
        assert falling == sorted(falling, reverse=True) and drawn[6]["m"] == 1e6
        assert falling[6] == pytest.approx(factor * 2 * np.sqrt(w), rel=2e-3)
        yield from drawn


# ------------------------------------------------------------------------------------------------ chapter 10


def shaken(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Both parts of the truncated bound by hand, for 24 bits in pairs, and the line at 1."""
    pairs, m = account.of_tiling(24, 2, 12), 10.0 ** state["examples"]
    yield {"value": 1.0}
    for sigma in np.geomspace(5e-4, 2e-2, 41):
        yield {"sigma": sigma, "term": "sharpness", "value": sigma**2 / 2 * pairs.trace}
        yield {"sigma": sigma, "term": "norm", "value": 0.1 * np.sqrt((pairs.norm2 / sigma**2 + 2 * np.log(20)) / m)}


def speaking(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Occam by counting, PAC-Bayes by its closed form; the other two do not know C, and keep their order."""
    C, at = float(state["constant"]), {(row["tiling"], row["kind"]): row["m"] for row in stored if "tiling" in row}
    for name in dict.fromkeys(name for name, _ in at):
        T, k = map(int, re.findall(r"\d+", name))
        found, w = account.of_tiling(T, k, T // k), T // k
        area = sum(np.sqrt(norm * found.traces[group]) for group, norm in found.norms.items())
        rigorous, covering = at[name, "rigorous, clipped at 4"], at[name, "covering"]
        assert 1e9 < rigorous < 1e13 < covering
        values = {
            "Occam": 4 * (np.log(float(comb(comb(T, k), w))) + w * np.log(16) + np.log(20)),
            "one σ": 27 / 8 * C**2 * found.norm2 * found.trace,
            "one σ per matrix (limit)": 27 / 8 * C**2 * area**2,
            "rigorous, clipped at 4": rigorous,
            "covering": covering,
        }
        yield from ({"tiling": name, "kind": kind, "m": m} for kind, m in values.items())


def rescaled_bounds(state: dict, stored: list[Row]) -> Iterator[Row]:
    """3/2 (C² trace norm²/m)^(1/3) of the rescaled network, and a constant."""
    T, k = map(int, re.findall(r"\d+", state["tiling"]))
    found = account.of_tiling(T, k, T // k)
    area = sum(np.sqrt(norm * found.traces[group]) for group, norm in found.norms.items())
    for square in np.geomspace(0.5, 100, 47):
        first, second = (sum(part[g] for g in "Eb") * (square - 1) for part in (found.norms, found.traces))
        norm2 = found.norm2 + first + found.norms["F"] * (1 / square - 1)
        trace = found.trace - second / square + found.traces["F"] * (square - 1)
        values = {"one σ": norm2 * trace, "one σ per matrix (limit)": area**2}
        for kind, product in values.items():
            yield {"square": square, "kind": kind, "value": 1.5 * np.cbrt(0.01 * product / 1e6)}


# ------------------------------------------------------------------------------------------------ chapter 11


def turned(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The influences of twelve bits on the verdict about the chosen language."""
    table = scratchpad.transduce(scratchpad.AUTOMATA[state["language"]], 12)[-1]
    yield from ({"i": i, "influence": value} for i, value in enumerate(sensitivity.influences(table), 1))


@cache
def priced(T: int) -> dict[str, scratchpad.Price]:
    chains = {f"chain, {code}": scratchpad.step(T, code=code) for code in ("one-hot", "binary")}
    return {"one pass": scratchpad.one_pass(T)} | chains


def paid(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norms and traces of three networks for PARITY."""
    for T in (2**k for k in range(3, 11)):
        for kind, price in priced(T).items():
            value = price.norm2 if state["measure"] == "squared norm" else price.trace
            yield {"network": kind, "T": T, "value": value}


def asked(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The examples that each bound asks for, and Occam's count of the parities of subsets."""
    error = float(state["target"])
    for T in (2**k for k in range(3, 11)):
        yield {"kind": "Occam", "T": T, "m": (T * np.log(2) + np.log(20)) / error}
        yield from ({"kind": kind, "T": T, "m": scratchpad.samples(price, error)} for kind, price in priced(T).items())


def switched(state: dict, stored: list[Row]) -> Iterator[Row]:
    """δ at the best σ, cut at 1: it falls where 216 C² Tr H ‖θ‖² examples are reached."""
    for kind, price in priced(int(state["bits"])).items():
        switch = 2.16 * price.trace * price.norm2
        for m in 10 ** (np.arange(16, 73) / 4):
            yield {"kind": kind, "m": m, "delta": float(m < switch)}


# ------------------------------------------------------------------------------------------------ chapter 9


def shaken_cast(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Every network of the cast at the chosen ρ; what is below 10⁻⁶ is drawn there."""
    for row in store.load("brittle"):
        if row["variant"] == "layer norm" and round(2 * np.log10(float(row["rho"]))) == 2 * state["k"]:
            value = float(row["loss"]) / (1 if state["measure"] == "L" else float(row["variance"]))
            yield {"name": row["target"].upper(), "n": int(row["n"]), "value": max(value, 1e-6)}


def breaking(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Where L/Var f passes a tenth, and the line through these points."""
    for target in ("parity", "majority", "first", "mean"):
        points = brittle.critical(store.load("brittle"), state["variant"], target)
        slope, level = np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)
        for n, rho in points.items():
            yield {"name": target.upper(), "n": n, "rho": rho, "line": np.exp(level) * n**slope}


def territory(state: dict, stored: list[Row]) -> Iterator[Row]:
    """PARITY as measured, and ρ²‖θ‖² Tr H/2D with ‖θ‖² = 89.125, Tr H = 18 and D = 769."""
    for row in store.load("brittle"):
        if (row["variant"], row["target"], row["n"]) == ("layer norm", "parity", state["length"]):
            rho = float(row["rho"])
            yield {"kind": "measured", "rho": rho, "loss": float(row["loss"])}
            yield {"kind": "Hessian", "rho": rho, "loss": 9 / 769 * 89.125 * rho**2}


# ------------------------------------------------------------------------------------------------ chapter 12


def ends(name: str) -> Iterator[tuple[dict[str, str], str]]:
    """How every network of an experiment ended: its last row as stored, and whether it converged, in words."""
    for row in store.load(name):
        if row["step"] == row["ended"]:
            yield row, "converged" if float(row["error"]) < 1e-3 else "not converged"


def lengthened(state: dict, stored: list[Row]) -> Iterator[Row]:
    """All networks, each at its length; as a share of the outputs' variance, only those that converged."""
    short = {"sharpness L": "sharpness", "norm of the weights": "norm", "log blow-up": "blowup"}
    for row, converged in ends("sharper"):
        value = float(row[short.get(state["measure"], "relative")])
        if state["measure"] in short or converged == "converged":
            yield {"function": row["function"], "n": int(row["n"]), "seed": int(row["seed"]), "value": value,
                   "state": converged}  # fmt: skip


def far(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Those of width 4; logarithms to base ten, if asked for."""
    for row, converged in ends("longer"):
        value = float(f"{float(row['sharpness']):.5g}")  # as the chart stores it
        value = value if state["axis"] == "linear" else np.log10(value)
        yield {"function": row["function"], "n": int(row["n"]), "seed": int(row["seed"]), "value": value,
               "state": converged}  # fmt: skip


def frontier(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norm and log blow-up of the networks for the chosen function."""
    for row, converged in ends("tradeoff"):
        if row["function"].replace("HALF", "PARITY of half") == state["who"]:
            yield {"bits": row["n"], "norm": float(row["norm"]), "blowup": float(row["blowup"]), "state": converged}


def on_the_way(state: dict, stored: list[Row]) -> Iterator[Row]:
    """PARITY at all steps of training with the chosen decay."""
    short = {"sharpness L": "sharpness", "norm of the weights": "norm", "log blow-up": "blowup"}
    for row in store.load("dynamics"):
        if row["function"] == "PARITY" and float(row["decay"]) == float(state["decay"]):
            error = float(row["error"])
            value = np.log10(error) if state["curve"] == "log₁₀ error" else float(row[short[state["curve"]]])
            yield {"network": row["seed"], "step": int(row["step"]), "value": value,
                   "state": "learnt" if error < 0.1 else "not learnt"}  # fmt: skip


def in_steps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """PARITY in one step, and step by step with the sharpness of all steps or of the last."""
    for row, converged in ends("sharper"):
        if row["function"] == "PARITY":
            yield {"way": "in one step", "n": int(row["n"]), "seed": int(row["seed"]),
                   "value": float(row["sharpness"]), "state": converged}  # fmt: skip
    for row in store.load("stepwise"):
        if row["step"] == row["steps"]:
            value = float(row["sharpness" if state["steps"] == "all of them" else "final"])
            converged = "converged" if float(row["error"]) < 1e-3 else "not converged"
            yield {"way": "step by step", "n": int(row["n"]), "seed": int(row["seed"]), "value": value,
                   "state": converged}  # fmt: skip


def heard(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Geometric means over networks of the signal in the first gradient, or how many batches make it equal to noise."""
    names = {"PARITY": "PARITY", "HALF": "PARITY of half", "RANDOM": "random function", "FIRST": "FIRST",
             "MAJORITY": "MAJORITY"}  # fmt: skip
    found: dict[tuple[str, int], list[float]] = {}
    for row in store.load("signal"):
        value = float(row["signal"])
        value = value if state["view"] == "size of the signal" else (float(row["noise"]) / value) ** 2
        if row["function"] in names:
            found.setdefault((names[row["function"]], int(row["n"])), []).append(value)
    for (target, n), values in found.items():
        yield {"target": target, "n": n, "value": float(np.exp(np.mean(np.log(values))))}


def other_networks(state: dict, stored: list[Row]) -> Iterator[Row]:
    """All networks of the chosen length, by kind."""
    kinds = {"encoder": "encoder", "rms": "RMS", "causal": "causal", "mlp": "MLP", "lstm": "LSTM"}
    for row, converged in ends("variants"):
        if row["n"] == state["bits"]:
            target = row["function"].replace("HALF", "PARITY of half")
            yield {"network": kinds[row["kind"]], "target": target, "seed": int(row["seed"]),
                   "sharpness": float(row["sharpness"]), "state": converged}  # fmt: skip


def at_first(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Untrained networks of the chosen depth, and random functions at half of n."""
    scale = "3" if state["drawn"] == "large" else "default"
    yield from ({"network": "random function", "n": n, "mean": n / 2} for n in (4, 6, 8, 10, 12))
    for row in store.load("initial"):
        name = {("encoder", "4"): "encoder, 4 heads", ("LSTM", "0"): "LSTM"}.get((row["kind"], row["heads"]))
        if name and (row["scale"], row["layers"]) == (scale, state["depth"]):
            yield {"network": name, "n": int(row["n"]), "mean": float(row["mean"])}


# For each chapter and title of a chart with inputs: (state of the inputs, the rows stored in the chart) → the rows that
# its marks must show. Only the fields of these rows are compared; marks without them, such as rules, are left out.
EXPECTED: dict[str, dict[str, Shown]] = {
    "09-sharpness": {
        "However small the shift, long PARITY breaks first": shaken_cast,
        "PARITY breaks at the inverse square of the length": breaking,
        "The Hessian stays, its territory shrinks": territory,
    },
    "01-fourier": {
        "Three passes turn eight values into eight sums": passes,
        "The bounds always hold, and meet for PARITY": bounds,
        "Low degrees teach MAJORITY, never PARITY": learnt,
    },
    "02-sensitivity": {
        "MAJORITY: √n on average, half of n at its worst": growth,
        "Under weak noise the average tells the truth": noise,
        "An interval without width claims too much": intervals,
        "Untrained attention stays low; tanh layers climb with their weights": networks,
    },
    "03-queries": {
        "Blocks see small and large sets alike, single bits only large ones": survival,
        "A few dozen block flips do what single bits cannot": power,
        "Too lax, and the bounds wilt below the truth": wilting,
        "Buckets split until only the heavy sets are left": buckets,
    },
    "04-handmade": {
        "Past its threshold the error is gone, not just small": scales,
        "A larger scale draws the means onto their plateaus": means,
        "Most weights are zero, and the others have a meaning": named_weights,
        "One factor makes norm and gradient smaller at once": rescalings,
    },
    "05-sparse-variables": {
        "A bag writes ones only, in no order that matters": written,
        "A thousand times as many bits cost seven units more on the logits": averaging,
        "Only the query knows how long the input is": head_norms,
    },
    "06-parity": {
        "Odd strings win by one vote, even ones tie": ballots,
        "Any ε above zero sets a length limit": faded,
        "Of these four weights, long inputs forgive only the read-out": one_weight,
        "Only the binary scratchpad is cheap in all three": four_ways,
    },
    "07-blowup": {
        "As ε falls, layer norm turns a slope into a step": steps,
        "However loud a one is, random strings stay calm": calm,
        "PARITY by hand pays far more than it owes": owed,
    },
    "08-capacity": {
        "A few squares cover the whole class": squares,
        "The cost has one minimum, and the lemma finds it": splits,
        "Fixed positions cost a logarithm of T, trained ones T": with_positions,
        "Below the line a bound says something": promises,
    },
    "10-pacbayes": {
        "Too little noise is dear, too much is wrong": shaken,
        "One network costs millions, a class costs 10²⁰, a list hundreds": speaking,
        "With a σ for each matrix, rescaling changes nothing": rescaled_bounds,
    },
    "11-scratchpad": {
        "Where a verdict on twelve bits can be turned over": turned,
        "A pass pays with the cube of the length, a step does not": paid,
        "Straight lines: every one of these bounds asks for a power of the length": asked,
        "δ is a switch: it promises nothing, and then nearly everything": switched,
    },
    "12-length": {
        "Sharpness rises for PARITY, less for MAJORITY; FIRST and MEAN show no trend up to 12 bits": lengthened,
        "Squeezed into width 4, MAJORITY gets sharper; FIRST and MEAN show no trend": far,
        "Weight decay turns norm into blow-up; PARITY pays more with every length": frontier,
        "When PARITY is learnt, sharpness jumps; under strong decay it goes on rising": on_the_way,
        "In one step PARITY gets sharper, then is rarely found; step by step it stays flat": in_steps,
        "The first gradient hardly knows PARITY; from 6 bits on, it knows its half even less": heard,
        "PARITY is sharper than MAJORITY in every kind of network that learns it": other_networks,
        "Untrained encoders start out insensitive, unless their weights are large": at_first,
    },
}

# ------------------------------------------------------------------------------------------------ charts

MARKS = """el => {
  const rows = [];
  const walk = mark => {
    if (/axis|legend|title/.test(mark.role ?? "")) return;
    for (const item of mark.items) {
      if (mark.marktype === "group") item.items.forEach(walk);
      else if (item.datum && (item.opacity ?? 1) > 0.5) rows.push({ ...item.datum, text: item.text });
    }
  };
  walk(window.flatcube.views.get(el).scenegraph().root);
  return JSON.parse(JSON.stringify(rows));
}"""
STATE = """el => Object.fromEntries([...el.querySelectorAll(".vega-bind [name]")]
  .map(input => [input.name, window.flatcube.views.get(el).signal(input.name)]))"""
SETTLED = "async el => { await window.flatcube.views.get(el).runAsync(); }"


def table(rows: list[Row], fields: list[str]) -> list[tuple]:
    """The different rows with these fields, in order; numbers as the chart stores them, to five digits."""

    def kept(value):
        return value if isinstance(value, str) else float(f"{float(value):.5g}") + 0.0

    return sorted({tuple(kept(row[field]) for field in fields) for row in rows if row.keys() >= set(fields)})


class Chart:
    """A chart with inputs on a page, and what its chapter says it must show."""

    def __init__(self, chapter: str, element) -> None:
        self.element = element
        spec = json.loads(element.locator("> script").text_content())
        title = spec["title"] if isinstance(spec["title"], str) else " ".join(spec["title"])
        assert title in EXPECTED.get(chapter, {}), f"EXPECTED says nothing about the chart {title!r} of {chapter}"
        self.shown = EXPECTED[chapter][title]
        self.stored = [row for rows in spec.get("datasets", {}).values() for row in rows]

    def compare(self) -> dict:
        """Compare the marks with the library; gives the state of the inputs."""
        self.element.evaluate(SETTLED)
        state = self.element.evaluate(STATE)
        expected, marks = list(self.shown(state, self.stored)), self.element.evaluate(MARKS)
        fields = sorted(expected[0])
        want, got = table(expected, fields), table(marks, fields)
        assert len(got) == len(want), state
        for a, b in zip(got, want, strict=True):
            assert same(a, b), (state, a, b)
        return state

    def sweep(self, control) -> None:
        """Move one input through all its values with the keys, and once with the mouse if it is a slider."""
        name, kind = control.get_attribute("name"), control.evaluate("e => e.type")
        values = control.evaluate(
            """e => e.options ? [...e.options].map(option => option.text)
            : Array.from({ length: Math.round((e.max - e.min) / e.step) + 1 }, (_, at) => +e.min + at * e.step)"""
        )
        control.focus()
        control.press("Home")
        seen = [self.compare()[name]]
        for _ in values[1:]:
            control.press("ArrowRight" if kind == "range" else "ArrowDown")
            seen.append(self.compare()[name])
        assert seen == values
        if kind == "range":
            drag(control, 0.0)
            assert self.compare()[name] == values[0]


def same(a: tuple, b: tuple) -> bool:
    """Whether two rows agree: words exactly, numbers to the digits that the chart stores."""
    return all(
        x == y if isinstance(y, str) else x == pytest.approx(y, rel=2e-5, abs=1e-9) for x, y in zip(a, b, strict=True)
    )


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(request, open_page):
    """A chapter of the site, open: its name and the visit."""
    with open_page(f"chapters/{request.param}.html") as visit:
        yield request.param, visit


def test_charts_with_inputs_show_what_the_library_computes(chapter):
    name, visit = chapter
    charts = visit.page.locator(".fc-chart:has(.vega-bind)")
    for at in range(charts.count()):
        chart = Chart(name, charts.nth(at))
        chart.compare()
        controls = chart.element.locator(".vega-bind [name]")
        for which in range(controls.count()):
            chart.sweep(controls.nth(which))
    assert charts.count() == len(EXPECTED.get(name, {}))
    assert visit.errors == []


# ------------------------------------------------------------------------------------------------ explorers

MOST = 6  # buttons tried of one group


class Reader(Hand):
    """A hand that tries every control it finds."""

    def moves(self, control, *moves: Callable[[], None]) -> None:
        """Make these moves; the state must change, and the page agree with the library after each."""
        seen = {json.dumps(self.state)}
        for move in moves:
            move()
            self.compare()
            seen.add(json.dumps(self.state))
        assert len(seen) > 1, control.evaluate("e => e.outerHTML.slice(0, 200)")

    def try_sliders(self) -> None:
        for slider in self.visible("input[type=range]"):
            keys = [partial(slider.press, key) for key in ("Home", "ArrowRight", "End", "ArrowLeft")]
            self.moves(slider, *keys, partial(drag, slider, 0.4), partial(drag, slider, 0.0))

    def try_menus(self) -> None:
        for menu in self.visible("select"):
            down = [partial(menu.press, "ArrowDown")] * menu.locator("option").count()
            self.moves(menu, partial(menu.press, "Home"), *down)

    def try_buttons(self) -> None:
        for group in self.visible("[role=group]:has(button, [role=button])"):
            buttons = group.locator("button, [role=button]")
            step = -(-buttons.count() // MOST)
            clicks = [buttons.nth(at).click for at in range(0, buttons.count(), step)]
            self.moves(group, *clicks, partial(buttons.nth(0).press, "Enter"))
        for button in self.visible("button:not([role=group] button)"):
            self.moves(button, button.click, partial(self.page.wait_for_timeout, 300), button.click)

    def try_fields(self) -> None:
        for place in self.visible("input[type=text]"):
            takes_formula = "x" in (place.get_attribute("placeholder") or "x")
            start, typed = ("x1 ^ x2", " |x3") if takes_formula else ("2", ", -3")
            self.moves(place, partial(place.fill, start), *[partial(place.press, key) for key in typed])

    def visible(self, selector: str) -> list:
        """The parts of the explorer that a reader can use now."""
        found = self.root.locator(selector)
        return [part for part in found.all() if part.is_visible() and part.is_enabled()]


def test_explorers_show_what_the_library_computes(chapter):
    visit = chapter[1]
    roots = visit.page.locator(".fc-explorer")
    assert roots.count() >= 1
    for at in range(roots.count()):
        root = roots.nth(at)
        reader = Reader(visit.page, type(explorer(root.get_attribute("data-name"))), root)
        reader.try_buttons()
        reader.try_fields()
        reader.try_menus()
        reader.try_sliders()
    assert visit.errors == []
