"""One network that learns to add modulo 59, moment by moment: its numbers on a circle, its spectrum, its curves.

State::

    {"reading": 30,   which of the readings of network 0 in ``data/modular.csv``, in the order of the epochs
     "circle": 1}     which of its three largest harmonics at the end, 1 the largest

What is shown is what is stored, to three digits; the phases are those of ``phases.events``.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store
from flatcube.grokking import phases

__all__ = ["GrokkingExplorer"]

_READ = ("epoch", "train", "test", "unmirrored", "sensitivity", "norm", "effective")


class GrokkingExplorer(Explorer):
    """The numbers of one network in the plane of a harmonic, its spectrum, and its curves, at any moment."""

    name = "grokking"
    label = "Numbers on a circle, spectrum and curves of one network while it learns to add modulo 59"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        found = stored_results()
        last = len(found["rows"]) - 1 if found else state["reading"]
        if state["reading"] > last:
            raise ValueError(f"reading: expected a whole number from 0 to {last}, got {state['reading']}")
        return dict(state)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        at, circle = cls.complete(state).values()
        found = _found()
        shown = dict(zip((*_READ, "phase"), found["rows"][at], strict=True))
        k = found["frequencies"][circle - 1]
        shown |= {"circle": circle, "frequency": k, "share": found["spectra"][at][k - 1]}
        return {name: float(value) for name, value in shown.items()}

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """The readings of one network."""
        return stored_results()

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The numbers in the plane of the harmonic."""
        at, circle = cls.complete(state).values()
        found = _found()
        points, reach = found["planes"][at][circle - 1], _reach(found, circle - 1)
        dots = "".join(
            f'<circle cx="{100 + 90 * x / reach:.4g}" cy="{100 - 90 * y / reach:.4g}" r="3" fill="{SERIES[0]}"/>'
            for x, y in zip(points[::2], points[1::2], strict=True)
        )
        return f'<svg viewBox="0 0 200 200" width="200" role="img" aria-label="{cls.label}">{dots}</svg>'


def _reach(found: dict[str, Any], place: int) -> int:
    return max(1, max(abs(value) for planes in found["planes"] for value in planes[place]))


def _found() -> dict[str, Any]:
    """What is stored, or what to do if nothing is."""
    if not stored_results():
        raise ValueError("data/modular.csv is not there: flatcube run modular and flatcube export modular make it")
    return stored_results()


@cache
def stored_results() -> dict[str, Any]:
    """``rows``: epoch, accuracies, sensitivity, norm, number of harmonics and phase; ``spectra`` in thousandths;
    ``frequencies`` of the three circles; ``planes``: x_0, y_0, x_1, … in hundredths for each reading and circle.
    Empty, if nothing is stored."""
    if not (store.DATA / "modular.csv").exists():
        return {}
    curve = next(curve for curve in phases.curves(store.load("modular")) if curve[0]["circles"])
    found, spectra, planes = phases.events(curve), [], []
    rows = [[float(f"{row[name]:.3g}") if name != "epoch" else int(row["epoch"]) for name in _READ]
            + [phases.phase(row["epoch"], found)] for row in curve]  # fmt: skip
    for row in curve:
        spectra.append([int(word) for word in row["spectrum"].split()])
        parts = [part.split(":") for part in row["circles"].split(";")]
        planes.append([[int(word) for word in numbers.split()] for _, numbers in parts])
    frequencies = [int(name) for name, _ in parts]
    return {"rows": rows, "spectra": spectra, "planes": planes, "frequencies": frequencies}
