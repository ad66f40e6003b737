"""Chapter 10's figures: what its charts with inputs must show, and its explorer, in a browser."""

import re
from collections.abc import Iterator

import numpy as np

from flatcube.pacbayes import account, soft
from tests.browser.figure_tests import FigureTests, Row


def rescaled_bounds(state: dict, stored: list[Row]) -> Iterator[Row]:
    """3/2 (C² trace norm²/m)^(1/3) of the rescaled network, and a constant."""
    T, k = map(int, re.findall(r"\d+", state["tiling"]))
    found = soft.of_soft(account.disjoint(T, k, T // k, mode="soft"))
    area = sum(np.sqrt(norm * found.traces[group]) for group, norm in found.norms.items())
    for square in np.geomspace(0.5, 100, 47):
        first, second = (sum(part[g] for g in "Eb") * (square - 1) for part in (found.norms, found.traces))
        norm2 = found.norm2 + first + found.norms["F"] * (1 / square - 1)
        trace = found.trace - second / square + found.traces["F"] * (square - 1)
        values = {"one σ": norm2 * trace, "one σ per matrix (limit)": area**2}
        for kind, product in values.items():
            yield {"square": square, "kind": kind, "value": 1.5 * np.cbrt(0.01 * product / 1e6)}


class TestFigures(FigureTests):
    room = "pacbayes"
    charts = {
        "With a σ for each matrix, rescaling changes nothing": rescaled_bounds,
    }
