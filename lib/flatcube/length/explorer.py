"""Networks while they learn: error, sharpness, norm and blow-up of one of them, side by side.

State::

    {"function": "PARITY",   what it learns: one of those in ``data/sharper.csv``
     "n": 8,                 the length of its inputs, one of those that this function was trained on
     "seed": 0,              which of the networks
     "step": 1500,           where the cursor stands: at the last record up to this step
     "against": ""}          another function to compare with, at the same length; "" for none

The curves are those of ``data/sharper.csv`` to four digits; the page gets a copy of them with its script.
"""

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store

__all__ = ["LengthExplorer"]

MEASURES = ("error", "sharpness", "norm", "blowup")
ENDS = {"chance": "was given up at chance", "diverged": "diverged", "end": "did not converge"}
Key = tuple[str, int, int]  # function, length, seed


class Network(NamedTuple):
    """How a network ended, and its curves: a number for every record, None for what is not finite."""

    end: str
    reached: int  # the step of its first error below 10⁻³, or −1
    error: list[float | None]
    sharpness: list[float | None]
    norm: list[float | None]
    blowup: list[float | None]

    @property
    def fall(self) -> int:
        """The record before the largest fall of the error."""
        falls = [-math.inf if None in pair else pair[0] - pair[1] for pair in pairwise(self.error)]
        return falls.index(max(falls))


class LengthExplorer(Explorer):
    """Four curves of a stored network, its numbers at one step, and how its training ended."""

    name = "length"
    label = "Networks while they learn, their error, sharpness, norm and blow-up"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        every, known = networks()
        if not known:  # before the experiment has been run there is nothing to choose from
            return dict(state)
        function, n, seed, step, against = state.values()
        _check("function", function, [name for name, _, _ in known])
        _check("against", against, ["", *(name for name, _, _ in known)])
        _check("n", n, [length for name, length, _ in known if name == function])
        _check("seed", seed, [key[2] for key in known if key[:2] == (function, n)])
        last = len(known[function, n, seed].error) - 1
        rival = against != function and any(key[:2] == (against, n) for key in known)
        return {**state, "step": every * min(step // every, last), "against": against if rival else ""}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        function, n, seed, step, against = cls.complete(state).values()
        every, known = _found()
        own, at = known[function, n, seed], step // every
        shown = {"step": step, "end": own.end, "ended": every * (len(own.error) - 1)}
        shown |= {key: getattr(own, key)[at] for key in MEASURES}
        if own.reached >= 0:
            shown["reached"] = own.reached
        if own.end in ("converged", ENDS["end"]):
            before, after = own.sharpness[own.fall : own.fall + 2]
            turn = "rose" if after > before else "did not rise"
            shown |= {
                "fall": own.fall * every,
                "before": before,
                "after": after,
                "turn": turn,
                "last": own.sharpness[-1],
            }
        if against:  # the same seed, if there is one, else the first
            rivals = {key[2]: network for key, network in known.items() if key[:2] == (against, n)}
            rival = rivals.get(seed, next(iter(rivals.values())))
            shown |= {f"against:{key}": getattr(rival, key)[min(at, len(rival.error) - 1)] for key in MEASURES}
        return {key: v if isinstance(v, str) else float(v) for key, v in shown.items() if v is not None}

    @classmethod
    def stored(cls) -> dict[str, Any]:
        """The steps between two records, and for every network its key, its end and its curves."""
        every, known = networks()
        return {"every": every, "networks": [[*key, *network] for key, network in known.items()]}

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The four curves, one below the other, each between its least and its largest number."""
        function, n, seed, _, _ = cls.complete(state).values()
        own, parts = _found()[1][function, n, seed], []
        for row, key in enumerate(MEASURES):
            values = [(at, math.log(v) if key in MEASURES[:2] else v) for at, v in enumerate(getattr(own, key)) if v]
            low, high = (side(v for _, v in values) for side in (min, max))
            x, y = 400 / max(1, len(own.error) - 1), 34 / ((high - low) or 1)
            points = " ".join(f"{x * at:.4g},{50 * row + 46 - y * (v - low):.4g}" for at, v in values)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{SERIES[row]}" stroke-width="2"/>')
            parts.append(f'<text x="300" y="{50 * row + 30}" font-size="12" fill="var(--fc-ink, #222)">{key}</text>')
        return f'<svg viewBox="0 0 400 200" width="400" role="img" aria-label="{cls.label}">{"".join(parts)}</svg>'


def _check(key: str, value: Any, allowed: list) -> None:
    if isinstance(value, bool) or value not in allowed:
        words = ", ".join(str(one) or "nothing" for one in dict.fromkeys(allowed))
        raise ValueError(f"{key}: expected one of {words}, got {value!r}")


def _found() -> tuple[int, dict[Key, Network]]:
    """What ``networks`` gives, or what to do if nothing is stored."""
    if not networks()[1]:
        raise ValueError("data/sharper.csv is not there: flatcube run sharper and flatcube export sharper make it")
    return networks()


@cache
def networks() -> tuple[int, dict[Key, Network]]:
    """The steps between two records, and the stored networks by function, length and seed."""
    if not (store.DATA / "sharper.csv").exists():
        return 1, {}
    rows: dict[Key, list[dict[str, str]]] = {}
    for row in store.load("sharper"):
        rows.setdefault((row["function"], int(row["n"]), int(row["seed"])), []).append(row)
    every = int(next(iter(rows.values()))[1]["step"])
    return every, {key: _network(mine, every) for key, mine in rows.items()}


def _network(rows: list[dict[str, str]], every: int) -> Network:
    if [int(row["step"]) for row in rows] != [every * at for at in range(len(rows))]:
        raise ValueError(f"sharper.csv: expected a record every {every} steps for every network")
    end = "converged" if rows[-1]["converged"] == "1" else ENDS[rows[-1]["reason"]]
    curves = [[float(f"{float(row[key]):.4g}") for row in rows] for key in MEASURES]
    return Network(end, int(rows[-1]["reached"]), *([v if math.isfinite(v) else None for v in c] for c in curves))
