"""Success over examples and length, with the critical curve and the bound, and single runs of parity with their jump.

State::

    {"T": 100,     the length of the inputs for a hidden AND, one of those in ``data/sparse_and.csv``
     "m": 100,     the number of examples, one of those tried at this length
     "bits": 20,   the length for a hidden parity, one of those in ``data/sparse_parity.csv``
     "seed": 0}    which of the networks that learn it

Shares are those of the stored trials; critical sizes and the fitted law, to a tenth, are those of their summary.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store
from flatcube.sparse_functions import sparse_and, sparse_parity

__all__ = ["SparseFunctionsExplorer"]


class SparseFunctionsExplorer(Explorer):
    """A map of success at a hidden AND, and the error of networks that learn a hidden parity."""

    name = "sparse_functions"
    label = "Success at a hidden AND over examples and length, and the error of networks that learn a hidden parity"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        found = stored_results()
        if not found:  # before the experiments have been run there is nothing to choose from
            return dict(state)
        T, m, bits, seed = state.values()
        _check("T", T, [cell[0] for cell in found["cells"]])
        _check("m", m, [cell[1] for cell in found["cells"] if cell[0] == T])
        _check("bits", bits, [run[0] for run in found["runs"]])
        _check("seed", seed, [run[1] for run in found["runs"] if run[0] == bits])
        return dict(state)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        T, m, bits, seed = cls.complete(state).values()
        found = _found()
        (cell,) = [cell for cell in found["cells"] if cell[:2] == [T, m]]
        (line,) = [line for line in found["critical"] if line[0] == T]
        (run,) = [run for run in found["runs"] if run[:2] == [bits, seed]]
        shown = {"T": T, "m": m, "trials": cell[2], "successes": cell[3], "critical": line[1], "low": line[2],
                 "high": line[3], "bound": line[4], "bits": bits, "seed": seed}  # fmt: skip
        if run[3] >= 0:
            shown |= {"left": run[2], "reached": run[3]}
        else:
            shown["ended"] = run[4] * (len(run[5]) - 1)
        return {key: float(value) for key, value in shown.items()}

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """Cells, critical sizes, the law that fits best, and the curves of the parities."""
        return stored_results()

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The map: a disc for every cell, dark where networks succeed, and the critical sizes as a line."""
        cls.complete(state)
        found, parts = _found(), []
        lengths = sorted({cell[0] for cell in found["cells"]})
        top = max(cell[1] for cell in found["cells"])
        for T, m, trials, successes in found["cells"]:
            x, y = 50 + 100 * lengths.index(T), 190 - 170 * m / top
            parts.append(f'<circle cx="{x}" cy="{y:.4g}" r="8" stroke="{SERIES[0]}" fill="{SERIES[0]}" '
                         f'fill-opacity="{successes / trials:.4g}"/>')  # fmt: skip
        points = " ".join(
            f"{50 + 100 * at},{190 - 170 * line[1] / top:.4g}" for at, line in enumerate(found["critical"])
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{SERIES[2]}" stroke-width="2"/>')
        wide = 100 * len(lengths)
        head = f'<svg viewBox="0 0 {wide} 200" width="{wide}" role="img" aria-label="{cls.label}">'
        return f"{head}{''.join(parts)}</svg>"


def _check(key: str, value: Any, allowed: list) -> None:
    if isinstance(value, bool) or value not in allowed:
        words = ", ".join(str(one) for one in dict.fromkeys(allowed))
        raise ValueError(f"{key}: expected one of {words}, got {value!r}")


def _found() -> dict[str, Any]:
    """What is stored, or what to do if nothing is."""
    if not stored_results():
        raise ValueError("data/sparse_and.csv or data/sparse_parity.csv is not there: flatcube run and flatcube export "
                         "with these names make them")  # fmt: skip
    return stored_results()


@cache
def stored_results() -> dict[str, Any]:
    """``cells``: T, m, trials, successes; ``critical``: T, critical size, its interval, the bound; ``law``: name,
    intercept, slope; ``runs``: bits, seed, when it left chance and reached 1 %, the steps between records, its errors.
    Empty, if nothing is stored."""
    names = ("sparse_and", "sparse_parity")
    if not all((store.DATA / f"{name}.csv").exists() for name in names):
        return {}
    told = sparse_and.summary(store.load("sparse_and"))
    best = told["laws"][0]
    runs = []
    for curve in sparse_parity.curves(store.load("sparse_parity")):
        if curve[0]["arm"] == "length":
            end, every = sparse_parity.transition(curve), int(curve[1]["step"])
            errors = [float(f"{row['error']:.4g}") for row in curve]
            runs.append([int(end["T"]), int(end["seed"]), int(end["left"]), int(end["reached"]), every, errors])
    return {
        "cells": [[cell[name] for name in ("T", "m", "trials", "successes")] for cell in told["cells"]],
        "critical": [[line["T"], *(round(line[name], 1) for name in ("critical", "low", "high", "bound"))]
                     for line in told["critical"]],
        "law": [best["name"], float(f"{best['intercept']:.6g}"), float(f"{best['slope']:.6g}")],
        "runs": sorted(runs, key=lambda run: run[:2]),
    }  # fmt: skip
