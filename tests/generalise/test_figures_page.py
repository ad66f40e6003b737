"""Chapter 13's figures: what its charts with an input must show, and its explorer, in a browser."""

from collections.abc import Iterator

import numpy as np

from flatcube.experiments import store
from tests.browser.figure_tests import FigureTests, Row

KINDS = {"positive weights, one degree": "basic", "both signs": "signed", "both signs, mixed degrees": "mixed"}
NETWORKS = {"learned": "learned", "hand-built": "hand", "half of the ReLUs": "trimmed", "half, rescaled": "rescaled"}


def gaps(state: dict, stored: list[Row]) -> Iterator[Row]:
    """Test minus train of every network of a length that fitted what was shown, if that is positive."""
    for row in store.load("gap"):
        gap = float(row["test"]) - float(row["train"])
        chosen = row["arm"] == "stop" and f"{row['T']} bits, {row['m']} shown" == state["shown"]
        if chosen and float(row["train"]) < 0.02 and gap > 0:
            yield {"kind": f"degree {row['degree']}", "sparsity": float(row["sparsity"]), "seed": float(row["seed"]),
                   "gap": gap}  # fmt: skip


def spectra(state: dict, stored: list[Row]) -> Iterator[Row]:
    """The medians of the largest eigenvalues, one after the other, over functions whose learned network fitted."""
    rows = [row for row in store.load("eigenvalues") if row["fitted"] == "1" and row["kind"] == KINDS[state["which"]]]
    for what, network in NETWORKS.items():
        own = [row for row in rows if row["network"] == network]
        for place in range(1, 13):
            yield {"what": what, "place": place, "value": float(np.median([float(row[f"e{place}"]) for row in own]))}


class TestFigures(FigureTests):
    room = "generalise"
    charts = {
        "The gap grows with the degree and with the number of components": gaps,
        "What is built is steep in a few directions, what is learned in more": spectra,
    }
