"""Chapter 9's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np

from flatcube.experiments import store
from flatcube.sharpness import brittle
from tests.browser.figure_tests import FigureTests, Row


def shaken_cast(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Every network of the cast at the chosen ρ."""
    for row in store.load("brittle"):
        if row["variant"] == "layer norm" and round(2 * np.log10(float(row["rho"]))) == 2 * state["k"]:
            value = float(row["loss"]) / (1 if state["measure"] == "L" else float(row["variance"]))
            yield {"name": row["target"].upper(), "n": int(row["n"]), "value": value}


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
            yield {"kind": "what the Hessian says", "rho": rho, "loss": 9 / 769 * 89.125 * rho**2}


def turned(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Where sixty unit vectors in eight dimensions point after noise of the chosen size: angles by the arc tangent."""
    draws = np.random.default_rng(9).standard_normal((60, 8)) * 10.0 ** state["size"]
    for g in draws:
        angle = np.arctan2(np.linalg.norm(g[1:]), 1 + g[0])
        yield {"k": state["size"], "along": np.cos(angle), "across": np.sin(angle)}


class TestFigures(FigureTests):
    room = "sharpness"
    charts = {
        "The more noise beside the answer, the further it turns": turned,
        "PARITY of 2000 bits breaks at every ρ shown": shaken_cast,
        "PARITY breaks near the inverse square of the length": breaking,
        "The Hessian stays, its territory shrinks": territory,
    }
