"""Chapter 4's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np

from flatcube import cube, handmade
from tests.browser.figure_tests import FigureTests, Row

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


def rescalings(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Squared norm and gradient of the rescaled MLP, relative to the first, from the terms of the closed forms."""
    plan = handmade.Design(cube.random_components(T, state["rescaled"], 3, rng=4), T, grid="trimmed")
    size = handmade.norms(plan)
    slope = {k: v.mean() for k, v in handmade.gradient_norms(plan, cube.to_bits(cube.points(T))).items()}
    for alpha in np.geomspace(0.5, 8, 33).round(3):
        for kind, first, second in (
            ("norm", size["E"] + size["b"], size["F"]),
            ("gradient", slope["F bit"] + slope["F positions"], slope["E"] + slope["b"]),
        ):
            yield {"alpha": alpha, "kind": kind, "ratio": (alpha**2 * first + second / alpha**2) / (first + second)}


class TestFigures(FigureTests):
    room = "handmade"
    charts = {
        "Past its threshold the error is gone, not just small": scales,
        "A larger scale draws the means onto their plateaus": means,
        "One factor makes norm and gradient smaller at once": rescalings,
    }
