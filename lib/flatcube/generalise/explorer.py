"""Networks that saw a part of the cube: target, errors, where the risk sits, norm and curvature, and what bounds say.

State::

    {"m": 1024,        how many inputs were shown: 512 or 1024 of 12 bits, or 2048 of 16
     "degree": 3,      of all components of the target
     "sparsity": 4,    how many components
     "seed": 0}        which random function, and which network

The networks are those of ``data/gap.csv`` that stop at a training error of 0.02; numbers have four digits.
The components of a target are drawn again from its seed.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from flatcube import cube
from flatcube.classroom.explorers import Explorer, Schema
from flatcube.classroom.palette import SERIES
from flatcube.experiments import store
from flatcube.generalise import targets

__all__ = ["GeneraliseExplorer"]

PARTS = ("own", "low", "above")
BITS = {512: 12, 1024: 12, 2048: 16}  # by the inputs shown
KEPT = ("train", "test", *PARTS, "sensitivity", "norm2", "hand_norm2", "moved2", "trace", "hand_trace", "ended")
Key = tuple[int, int, int, int]  # m, degree, sparsity, seed


class Network(NamedTuple):
    """What is stored of one network, its target's coefficients by mask, and the bounds that apply to it."""

    fitted: bool
    coefficients: dict[int, float]
    numbers: dict[str, float]
    bounds: dict[str, float]  # of a network that did not fit, the certificate alone


class GeneraliseExplorer(Explorer):
    """The target's coefficients, the errors of one network, and bounds on a common scale."""

    name = "generalise"
    label = "Networks that saw a part of the cube, their errors, their norm and curvature, and what bounds say"
    schema = Schema.beside(__file__)

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        own = _found(state)
        risk = sum(own.numbers[part] for part in PARTS)
        shown = {"degree": state["degree"], "seed": state["seed"], "bits": BITS[state["m"]]}
        shown |= {f"coefficient:{mask}": value for mask, value in own.coefficients.items()}
        shown |= {name: own.numbers[name] for name in KEPT if name not in PARTS}
        shown |= {f"share:{part}": own.numbers[part] / risk for part in PARTS} | own.bounds
        words = {"end": "fitted its examples" if own.fitted else "did not fit its examples"}
        useful = sum(value < 1 for value in own.bounds.values())
        words["said"] = f"Bounds below 1, the risk of a constant: {useful or 'none'} of {len(own.bounds)}."
        if not own.fitted:
            where = "below" if useful else "not below"
            words["said"] = f"Only the certificate applies, and it is {where} 1, the risk of a constant."
        return {key: float(value) for key, value in shown.items()} | words

    @classmethod
    def stored(cls) -> list[Any]:
        """For every network its key, whether it fitted, its target, its numbers and its bounds."""
        found = networks().items()
        return [[*key, own.fitted, own.coefficients, [*own.numbers.values()], own.bounds] for key, own in found]

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The three parts of the risk as a stack."""
        own = _found(cls.complete(state))
        x, blocks, risk = 0.0, [], sum(own.numbers[part] for part in PARTS)
        for k, part in enumerate(PARTS):
            width = 400 * own.numbers[part] / risk
            blocks.append(f'<rect x="{x:.1f}" y="20" width="{width:.1f}" height="40" fill="{SERIES[k]}"/>')
            blocks.append(f'<text x="{x + 4:.1f}" y="74" font-size="11" fill="var(--fc-ink, #222)">{part}</text>')
            x += width
        return f'<svg viewBox="0 0 400 90" width="400" role="img" aria-label="{cls.label}">{"".join(blocks)}</svg>'


def _found(state: Mapping[str, Any]) -> Network:
    """The network that a state names, or what to do if nothing is stored."""
    if not networks():
        raise ValueError("data/gap.csv is not there: flatcube run gap and flatcube export gap make it")
    return networks()[tuple(state.values())]


@cache
def networks() -> dict[Key, Network]:
    """The stored networks by m, degree, sparsity and seed."""
    if not (store.DATA / "gap.csv").exists():
        return {}
    found = {}
    for row in store.load("gap"):
        if row["arm"] == "stop":
            key = tuple(int(row[name]) for name in ("m", "degree", "sparsity", "seed"))
            found[key] = _network(row, *key)
    return dict(sorted(found.items()))


def _network(row: Mapping[str, str], m: int, degree: int, sparsity: int, seed: int) -> Network:
    components, _ = targets.components(BITS[m], degree, sparsity, seed)
    coefficients = {cube.mask(members): _short(weight / 2) for members, weight in components}
    bounds = {"certificate": _short(float(row["certificate"]))}
    if row["fitted"] == "1":
        more = targets.bounds({name: float(row[name]) for name in ("m", "hand_norm2", "hand_trace", "norm2", "trace")})
        bounds = {name: _short(more[name]) for name in ("truncated", "oracle")} | bounds
    numbers = {name: _short(float(row[name])) for name in KEPT}
    return Network(row["fitted"] == "1", dict(sorted(coefficients.items())), numbers, bounds)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
