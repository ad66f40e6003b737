"""Chapter 2's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator
from functools import cache
from math import comb

import numpy as np
import pytest
from scipy import stats

from flatcube import cast, cube, fourier, sampling, sensitivity
from tests.browser.figure_tests import FigureTests, Row

N = 9
CAST = {
    "FIRST": cube.first(N),
    "AND": cube.conjunction(N),
    "MAJORITY": cube.majority(N),
    "PARITY": cube.parity(N),
}
PROFILE = {name: fourier.spectrum(table).profile for name, table in CAST.items()}


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
            values["√(n ln n)"] = np.sqrt(n * np.log(n))
        share = n if measure == "average / n" else 1
        yield from ({"name": name, "n": n, "value": value / share} for name, value in values.items())


@cache
def of_four_bits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean degree profile, the average sensitivities and the maxima of all functions of four bits."""
    tables = 1 - 2 * (np.arange(2**16)[:, None] >> np.arange(16) & 1)
    weight = np.square(fourier.transform(tables.astype(float))).mean(axis=0)
    profile = np.bincount(cube.weights(4), weights=weight)
    return profile, sensitivity.average(tables), sensitivity.maximum(tables)


KINDS_OF_BOUND = (
    "½ (1 − r^(s²)), by the maximum", "½ (1 − r) a, the line", "½ (1 − r^a), by the average", "exact",
)  # fmt: skip


def noise(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The chance of a change and three bounds on it; for all functions of four bits the means of these."""
    if state["bounded"] in CAST:
        table = CAST[state["bounded"]]
        profile, maxima = PROFILE[state["bounded"]], sensitivity.maximum(table)
        averages = sensitivity.average(table)
    else:
        assert "65,536" in state["bounded"]
        profile, averages, maxima = of_four_bits()
    for r in np.linspace(0, 1, 41):
        chances = (
            np.mean(1 - r ** np.square(maxima)) / 2,
            (1 - r) * np.mean(averages) / 2,
            np.mean(1 - r**averages) / 2,
            (1 - profile @ r ** np.arange(len(profile))) / 2,
        )
        yield from (
            {"r": r, "kind": kind, "chance": chance} for kind, chance in zip(KINDS_OF_BOUND, chances, strict=True)
        )


def balance(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The degree profile of the chosen function; that of the random one adds up to 1 and balances where it should."""
    rows = [row for row in stored if row["name"] == state["who"]]
    profile = PROFILE.get(state["who"], np.array([row["weight"] for row in rows]))
    assert profile.sum() == pytest.approx(1, abs=1e-4)
    assert rows[0]["balance"] == pytest.approx(profile @ np.arange(N + 1), rel=1e-4)
    yield from ({"degree": k, "weight": weight} for k, weight in enumerate(profile))


def levels(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Binomial shares; what is above the two bars, times their shares, is the average sensitivity."""
    n = int(state["length"])
    middle = {n // 2: n - n // 2, n // 2 + 1: n // 2 + 1}
    total = sum(comb(n, ones) / 2**n * s for ones, s in middle.items())
    assert total == pytest.approx(sensitivity.majority_average(n))
    for ones in range(n + 1):
        yield {"ones": ones, "share": comb(n, ones) / 2**n, "s": middle.get(ones, 0)}


def jensen(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The centre of mass of the discs: average sensitivity, noise stability, and the curve below it."""
    formula = state["whose"] not in CAST
    table = cube.formula(state["whose"], n=N) if formula else CAST[state["whose"]]
    a, r = sensitivity.average(table), state["r"]
    stable = sensitivity.noise_stability(table, r)
    assert stable >= r**a - 1e-12
    yield {"mean": a, "stability": stable, "bound": r**a}


def arcsine(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Noise stabilities from the tables up to 15 bits, from MAJORITY's recursion beyond."""
    r = state["noisy"]
    for n in (1, 3, 5, 9, 15, 25, 51, 101, 201, 501, 1001):
        profile = sensitivity.majority_profile(n)
        stable = sensitivity.noise_stability(cube.majority(n), r) if n <= 15 else profile @ r ** np.arange(n + 1)
        values = {"FIRST": r, "PARITY": r**n, "MAJORITY": stable}
        yield from ({"name": name, "n": n, "value": value} for name, value in values.items())
    yield from ({"name": "arcsine law", "n": n, "value": 2 / np.pi * np.arcsin(r)} for n in (1, 1001))


def covered(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The chance that an interval contains the truth, by scipy; exact ones keep the promise everywhere."""
    m, k = int(state["tries"]), np.arange(int(state["tries"]) + 1)
    share = k / m
    half = 1.96 * np.sqrt(share * (1 - share) / m)
    low, high = stats.beta.ppf(0.025, k, m - k + 1), stats.beta.ppf(0.975, k + 1, m - k)
    exact = np.where(k == 0, 0, low), np.where(k == m, 1, high)
    for p in np.linspace(0.0025, 0.5, 200):
        for name, (least, most) in {"textbook": (share - half, share + half), "exact": exact}.items():
            value = stats.binom.pmf(k, m, p)[(least <= p) & (p <= most)].sum()
            assert name != "exact" or value >= 0.95
            yield {"interval": name, "p": p, "coverage": value}


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
    """Means over networks inside their intervals, beside three exact lines; the part of a sum is below the whole."""
    lines = {"PARITY": lambda n: n, "random function": lambda n: n / 2, "MAJORITY": sensitivity.majority_average}
    yield from ({"kind": kind, "n": n, "value": line(n)} for kind, line in lines.items() for n in LENGTHS)
    rows = {(row["kind"], row["n"]): row for row in stored if row.get("scale") == int(state["size"])}
    assert set(rows) == {(kind, n) for kind in KINDS for n in LENGTHS}
    for (kind, n), row in rows.items():
        assert 0 <= row["low"] <= row["value"] <= row["high"] <= n
        assert kind != KINDS[4] or row["value"] < rows[KINDS[1], n]["value"]
        yield row


LENGTHS = (4, 6, 8, 10)
KINDS = (
    "three layers", "attention, read at the end", "attention, averaged", "averaged, no attention",
    "without the bit that is read",
)  # fmt: skip


def distances(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Every function of four bits: its sensitivity and its distance, above both bounds."""
    targets = {"PARITY of two bits": cube.subset_parity({1, 2}, 4), "AND": cube.conjunction(4)}
    f = targets[state["target"]] if state["target"] in targets else cast.table(state["target"], 4)
    tables = 1 - 2 * (np.arange(2**16)[:, None] >> np.arange(16) & 1)
    away = np.sqrt(np.mean((tables - f) ** 2, axis=1))
    sensitive, a = sensitivity.average(tables), sensitivity.average(f)
    assert (away >= sensitivity.distance_bound(np.broadcast_to(f, tables.shape), tables) - 1e-9).all()
    for b, distance in sorted({(float(b), round(float(d), 6)) for b, d in zip(sensitive, away, strict=True)}):
        yield {"kind": KINDS_OF_G[b >= a], "sensitivity": b, "distance": distance}
    curves = [row for row in stored if row["name"] == state["target"] and row["kind"] in KINDS_OF_G[2:]]
    for row in curves:
        bound = (np.sqrt(a) - np.sqrt(row["sensitivity"])) / 2
        assert row["distance"] == pytest.approx(bound, abs=1e-4) or row["kind"] == KINDS_OF_G[3]
        assert row["distance"] <= bound + 1e-4
        yield row


KINDS_OF_G = ("g less sensitive than f", "g not less sensitive", "this theorem", "Lemma 21, best α")


class TestFigures(FigureTests):
    room = "sensitivity"
    charts = {
        "Average sensitivity is where the weights balance": balance,
        "MAJORITY is sensitive on two levels only": levels,
        "None of them is more sensitive than PARITY": growth,
        "The centre of mass never lies below the sagging curve": jensen,
        "The bound by rᵃ is never above the bound by the maximum; the line is good near r = 1": noise,
        "Under noise FIRST stays, PARITY is lost, MAJORITY settles at the arcsine": arcsine,
        "Exact intervals keep the promise of 95 %; textbook ones break it for calm functions": covered,
        "An interval without width claims too much": intervals,
        "Where an untrained head reads matters more than the size of its weights": networks,
        "A large loss of sensitivity costs distance": distances,
    }
