"""Chapter 3's figures: what its charts with inputs must show, and its explorer, in a browser."""

import csv
from collections.abc import Iterator
from functools import cache
from math import comb

import numpy as np

from flatcube import cube, fourier, queries, sampling
from tests import rooms
from tests.browser.figure_tests import FigureTests, Row


@cache
def odd_labellings(size: int, blocks: int, spare: bool) -> int:
    """How many labellings of a set meet every block in an odd number; `spare`: there is a label for no block."""
    if blocks == 0:
        return int(spare or size == 0)
    return sum(comb(size, k) * odd_labellings(size - k, blocks - 1, spare) for k in range(1, size + 1, 2))


def survival(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The chance of every set to survive a trial, by counting labellings; sets without a chance are left out."""
    d = state["tested"]
    for size in range(d + 1, 31):
        chances = {
            "blocks": odd_labellings(size, d + 1, True) / (d + 2) ** size,
            "blocks without label 0": odd_labellings(size, d + 1, False) / (d + 1) ** size,
            "single bits, n = 30": comb(size, d + 1) / comb(30, d + 1),
        }
        yield from ({"kind": kind, "size": size, "chance": chance} for kind, chance in chances.items() if chance)


def power(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The exact power after m trials, by counting labellings: five disjoint sets are labelled independently."""
    d = state["rejected"]
    sets = {size: odd_labellings(size, d + 1, True) / (d + 2) ** size for size in range(d + 1, 31)}
    missed = {
        "blocks": (1 - sets[d + 1]) ** 5,
        "blocks, proved": 1 - min(sets.values()) / 6,
        "single bits": 1 - 5 / comb(30, d + 1),
    }
    for trials in (2**k for k in range(8)):
        yield from ({"kind": kind, "trials": trials, "power": 1 - miss**trials} for kind, miss in missed.items())


def objections(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The share of trials that object: of the library's tests, in many trials, and none from the true degrees on."""
    boxes = {"PARITY": (1, 3), "AND": (3, 3), "MAJORITY": (2, 3)}  # the degrees modulo 2 and in signs
    rows = {(row["kind"], row["d"]): row for row in stored if row["name"] == state["chosen"]}
    for kind, degree in zip(("directions, modulo 2", "blocks, in signs"), boxes[state["chosen"]], strict=True):
        for d in range(4):
            row, trials = rows[kind, d], 4000
            assert (row["share"] == 0) == (d >= degree)
            hits = objecting(state["chosen"], kind, d, trials)
            assert abs(hits / trials - row["share"]) < 5 * np.sqrt(0.25 / trials)
            yield {"kind": kind, "d": d, "share": row["share"]}


@cache
def objecting(name: str, kind: str, d: int, trials: int) -> int:
    """How many of so many random trials object to degree ≤ d, on the subcubes that the library draws."""
    table = {"PARITY": cube.parity(3), "AND": cube.formula("x1 & x2 & x3"), "MAJORITY": cube.majority(3)}[name]
    rng, draw = np.random.default_rng(d), queries.blocks if kind.startswith("blocks") else queries.directions
    base = sampling.random_signs((trials, 3), rng=rng)
    values = queries.restrict(lambda x: table[cube.index(x)], base, draw(trials, d + 1, 3, rng))
    if kind.startswith("blocks"):
        return int(np.count_nonzero(np.abs(fourier.transform(values)[:, -1]) > 1e-9))
    return int(np.count_nonzero(values.prod(axis=1) < 0))


def places(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Each set in a stack over its place, the middle of one of 2^r bins; a further direction halves them."""
    r, rows = state["count"], [row for row in stored if row["kind"] == state["along"]]
    now = [row for row in rows if row["r"] == r]
    assert len(now) == 21 and {row["occupied"] for row in now} == {len({row["place"] for row in now})}
    assert all(round(row["place"] * 2 ** (r + 1)) % 2 == 1 for row in now)  # stored to five digits
    if r:
        before = [row for row in rows if row["r"] == r - 1]  # the sets in the same order
        steps = [abs(a["place"] - b["place"]) for a, b in zip(before, now, strict=True)]
        assert all(abs(step - 2.0 ** -(r + 1)) < 3e-5 for step in steps)
    yield from ({"place": row["place"], "stack": row["stack"]} for row in now)


def wilting(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Means of the first accepted value over the classes of the stored study that share the true one."""
    text = (rooms.ROOT / "data/testers.csv").read_text(encoding="utf-8")
    kept: dict[tuple[float, int], list[float]] = {}
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


def reach(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Twelve networks of each kind; every MLP reaches ten times as far as the median transformer, at both lengths."""
    rows = [row for row in stored if row["how"] == state["length"]]
    shares = {kind: [row["share"] for row in rows if row["network"] == kind] for kind in ("transformer", "MLP")}
    assert all(len(found) == 12 and 0 < min(found) <= max(found) < 1.2 for found in shares.values())
    assert min(shares["MLP"]) > 10 * np.median(shares["transformer"])
    yield from ({"network": row["network"], "seed": row["seed"], "share": row["share"]} for row in rows)


class TestFigures(FigureTests):
    room = "queries"
    charts = {
        "Blocks see small and large sets alike, single bits only large ones": survival,
        "Block flips need fewer trials than single bits": power,
        "Each test stops objecting at the degree that it measures": objections,
        "Directions split every heap of coefficients, coordinates leave heaps": places,
        "The laxer the test, the lower the value that it finds": wilting,
        "Buckets split until only the heavy sets are left": buckets,
        "Most of these transformers are nearly linear in their bits, none of these MLPs is": reach,
    }
