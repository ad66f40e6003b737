"""Chapter 14's figures: what its charts with inputs must show, and its explorer, in a browser."""

from collections.abc import Iterator

from flatcube.experiments import store
from tests.browser.figure_tests import FigureTests, Row


def on_the_way(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Accuracy, sensitivity and the share of the right set for the chosen network, at every record."""
    short = {"accuracy": "accuracy", "sensitivity": "sensitivity", "share on S": "weight"}
    for row in store.load("progress"):
        name = ("one layer" if row["layers"] == "1" else "two layers") + f", seed {row['seed']}"
        if name == state["network"] and int(row["reached"]) >= 0:
            for what, column in short.items():
                yield {"network": name, "step": int(row["step"]), "what": what, "value": float(row[column])}


class TestFigures(FigureTests):
    room = "sparse_functions"
    charts = {"The share of the right set grows before the accuracy moves": on_the_way}
