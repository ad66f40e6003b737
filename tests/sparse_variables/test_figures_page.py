"""Chapter 5's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.browser.figure_tests import FigureTests, Row


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


def gaps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The signals of twelve bits by their ones inside and outside; within a band exactly if R is large enough."""
    s, T, e = state["count"], 12, np.exp(state["loud"])
    for r in range(s + 1):
        for q in range(T - s + 1):
            signal = (e * (s - 2 * r) + T - s - 2 * q) / (s * e + T + 1 - s)
            inside = abs(signal - 1 + 2 * r / s) <= min(1, 2 / s) / 4
            yield {"r": r, "q": q, "signal": signal, "place": "within its band" if inside else "outside"}


def averaging(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The exact error of an average down to 1e-4; the marks lie on it, the first of them at a quarter of the gap."""
    s = state["number"]
    error = lambda T, R: (2 * (T - s) + 1) / (s * np.exp(R) + T + 1 - s)  # noqa: E731
    for name, T in {"T = 12": 12, "T = 1,000": 1000, "T = 1,000,000": 10**6}.items():
        curve = ((R, error(T, R)) for R in np.linspace(0, 20, 41))
        yield from ({"length": name, "R": R, "error": high} for R, high in curve if high >= 1e-4)
        marks = {row["mark"]: row for row in stored if row["length"] == name and row["s"] == s and "mark" in row}
        assert marks["needed"]["height"] == pytest.approx(min(1, 2 / s) / 4, rel=1e-4)
        assert marks["needed"]["scale"] < marks["log(8T/γ)"]["scale"]
        assert all(row["height"] == pytest.approx(error(T, row["scale"]), rel=1e-3) for row in marks.values())


def head_norms(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Norms of a head for three bits: roots of ED's bounds, but for the query's, which is R."""
    which = state["which"]
    for T in (10**k for k in range(1, 7)):
        R = np.log(8 * T * 3**2) if which == "bag" else np.log(8 * T * 3 / 2)
        bounds = {"fixed": (3, 2, 1), "trainable": (1, 2, 1), "bag": (4, 6, 3)}[which]
        for matrix, bound in zip(("W_Q", "W_K", "W_V", "W_C"), (R, *bounds), strict=True):
            yield {"length": T, "kind": "Edelman et al.", "matrix": matrix, "norm": bound}
            yield {"length": T, "kind": "measured", "matrix": matrix, "norm": R if matrix == "W_Q" else np.sqrt(bound)}


class TestFigures(FigureTests):
    room = "sparse_variables"
    charts = {
        "Each signal must stay within a quarter of the gap from its own level": gaps,
        "One square for every entry that is one": written,
        "A thousand times as many bits cost seven units more on the logits": averaging,
        "Only the query knows how long the input is": head_norms,
    }
