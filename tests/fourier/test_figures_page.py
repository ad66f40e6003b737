"""Chapter 1's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from flatcube import cube, fourier, sensitivity
from tests.browser.figure_tests import FigureTests, Row

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

FEW, SIZES = 7, [2**e for e in range(3, 11)]  # the section on learning
TARGETS = {"MAJORITY": cube.majority(FEW), "PARITY": cube.parity(FEW)}
SHARES = {
    (name, k, m): fourier.wrong_share(table, k, m)
    for name, table in TARGETS.items()
    for k in range(1, FEW + 1)
    for m in SIZES
}


def bounds(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The average sensitivity of the chosen function between its two bounds by the weight at degree k and above."""
    profile = PROFILE[state["choice"]]
    for degree in range(1, N + 1):
        high = profile[degree:].sum()
        values = {
            "upper bound": degree * (profile.sum() - high) + N * high,
            "exact": sensitivity.average(CAST[state["choice"]]),
            "lower bound": degree * high,
        }
        yield from ({"degree": degree, "kind": kind, "value": value} for kind, value in values.items())


def products(state: dict, stored: list[Row]) -> Iterator[Row]:
    """E χ_S χ_T for every two sets, as a sum over all inputs with their chances."""
    chance = np.where(cube.points(3) < 0, state["bias"], 1 - state["bias"]).prod(axis=1)
    names = {"∅": (), **{name: tuple(map(int, name)) for name in ("1", "2", "3", "12", "13", "23", "123")}}
    tables = {name: cube.subset_parity(members, 3) for name, members in names.items()}
    for a, S in tables.items():
        yield from ({"S": a, "T": b, "mean": chance @ (S * T)} for b, T in tables.items())


def noise(state: dict, stored: list[Row]) -> Iterator[Row]:
    """What each degree contributes to the noise stability: that of the function's part of this degree."""
    table = CAST[state["target"]]
    spectrum = fourier.spectrum(table)
    for degree in range(N + 1):
        part = spectrum.distance(fourier.Spectrum(np.where(cube.weights(N) == degree, 0, spectrum.coefficients)))
        only = fourier.inverse(np.where(cube.weights(N) == degree, spectrum.coefficients, 0))
        stable = sensitivity.noise_stability(only, state["r"])
        shown = float(f"{part:.5g}")  # the chart multiplies the weight that it stores
        yield {"degree": degree, "weight": shown, "left": shown * stable / part if part > 1e-12 else 0.0}


def fixed(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The mean profile over all choices of j bits and of their values, by merging coefficients."""
    weights = fourier.transform(CAST[state["of"]]) ** 2
    for j in {0, state["j"]}:
        after, count = np.zeros(N + 1), comb(N, j)
        for chosen in combinations(range(N), j):
            free = 2**N - 1 - sum(1 << i for i in chosen)
            after += np.bincount(np.bitwise_count(np.arange(2**N) & free), weights=weights, minlength=N + 1) / count
        yield from ({"fixed": j, "degree": k, "weight": weight} for k, weight in enumerate(after))


def learnt(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The exact shares at the chosen degree, each below what the theorem allows on average."""
    n, k = FEW, state["cutoff"]
    for name, table in TARGETS.items():
        low = fourier.spectrum(table).profile[: k + 1].sum()
        sets = sum(comb(n, j) for j in range(k + 1))
        for m in SIZES:
            wrong = SHARES[name, k, m]
            assert wrong <= (1 - low) + (sets - low) / m
            yield {"name": name, "degree": k, "examples": m, "wrong": wrong}


class TestFigures(FigureTests):
    room = "fourier"
    charts = {
        "Only fair bits make parities orthogonal": products,
        "The average sensitivity lies between the bounds": bounds,
        "Degree k contributes its weight times r to the power k to the noise stability": noise,
        "Fixing j of n bits takes the share j/n of the average sensitivity": fixed,
        "Many examples teach MAJORITY almost everywhere, and PARITY only at k = n": learnt,
    }
