"""Chapter 13's figures: what its chart with an input must show, and its explorer, in a browser."""

from collections.abc import Iterator

from flatcube.experiments import store
from tests.browser.figure_tests import FigureTests, Row


def gaps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Test minus train of every network of 12 bits that fitted what was shown, if that is positive."""
    for row in store.load("gap"):
        gap = float(row["test"]) - float(row["train"])
        chosen = (row["arm"], row["T"], row["m"]) == ("stop", "12", state["shown"])
        if chosen and float(row["train"]) < 0.02 and gap > 0:
            yield {"kind": f"degree {row['degree']}", "sparsity": float(row["sparsity"]), "seed": float(row["seed"]),
                   "gap": gap}  # fmt: skip


class TestFigures(FigureTests):
    room = "generalise"
    charts = {"The gap grows with the degree and with the number of components": gaps}
