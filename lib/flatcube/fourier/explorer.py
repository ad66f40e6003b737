"""The Fourier explorer: a function as table, formula or name, and its whole spectrum at once.

State::

    {"n": 3,                          variables
     "source": "formula",             named, formula or table: where the function comes from
     "name": "",                      named: a function of flatcube.cube (address: n = 3 or 6), or random; else ""
     "parameter": 0,                  threshold: k; tribes: their width, a divisor of n; random: the seed
     "formula": "x1 & (x2 ^ x3)",     formula: the text, which the page reads again at every key; else ""
     "table": "",                     table: 2^n characters "-" (true) and "+", or a list of 2^n numbers; else ""
     "subset": None}                  the members of a subset S to compare f with, or None
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube import checks, cube, fourier
from flatcube.classroom.explorers import Explorer, Schema, tables

__all__ = ["FourierExplorer"]

TERMS = 12


class FourierExplorer(Explorer):
    """Table, spectrum, degree profile and polynomial of a function on up to eight variables."""

    name = "fourier"
    label = "The Fourier explorer, a function with its table, spectrum, degree profile and polynomial"
    schema = Schema.beside(__file__)

    @classmethod
    def complete(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        """As for every explorer; ``source`` and ``n`` may be left out where the others determine them."""
        state = cls.plain(state)
        given = [key for key in ("name", "formula", "table") if state.get(key)]
        source = {"name": "named"}.get(given[0], given[0]) if given else "formula"
        sizes = {
            "table": lambda: len(state["table"]).bit_length() - 1,
            "formula": lambda: _variables(cls.schema["formula"].check("formula", state["formula"])),
        }
        n = sizes[source]() if source in given and source in sizes else cls.schema.default["n"]
        return super().complete({"source": source, "n": n} | state)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        n, source, subset = state["n"], state["source"], state["subset"]
        members = None if subset is None else list(cube.subset(cube.mask(subset, n)))
        plain = {"n": n, "source": source, "name": "", "parameter": 0, "formula": "", "table": ""}
        if source == "formula":
            cube.formula(state["formula"], n)
            own = {"formula": state["formula"]}
        elif source == "table":
            own = {"table": tables.kept(tables.numbers(state["table"], n))}
        else:
            own = {"name": state["name"], "parameter": _parameter(state["name"], n, state["parameter"])}
        return plain | own | {"subset": members}

    @property
    def table(self) -> np.ndarray:
        """The table (2^n,) of the function on the page; assigning one makes it the reader's own table."""
        return _table(self.state)

    @table.setter
    def table(self, table: np.ndarray) -> None:
        table = np.asarray(checks.table(table))
        n = len(table).bit_length() - 1
        subset = self.state["subset"]
        kept = None if subset is None else [i for i in subset if i <= n]
        self.state = {"n": n, "source": "table", "table": tables.kept(table), "subset": kept}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        table = _table(state)
        spectrum = fourier.spectrum(table)
        # the last digits depend on the order of summing: printed without them, equal terms look equal everywhere
        printed = fourier.Spectrum(np.round(spectrum.coefficients, 12), spectrum.tolerance)
        numbered = {"parameter": float(state["parameter"])} if state["name"] in ("threshold", "random") else {}
        return {
            "n": float(state["n"]),
            **numbered,
            "degree": float(spectrum.degree),
            "sparsity": float(spectrum.sparsity),
            "mean": spectrum.mean,
            "variance": spectrum.variance,
            "polynomial": printed.polynomial(TERMS),
            **{f"t:{k}": float(value) for k, value in enumerate(table)},
            **{f"c:{S}": float(value) for S, value in enumerate(spectrum.coefficients)},
            **{f"w:{k}": float(value) for k, value in enumerate(spectrum.profile)},
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The spectrum as bars, by degree."""
        coefficients = fourier.transform(_table(state))
        order = sorted(range(len(coefficients)), key=lambda S: (S.bit_count(), S))
        scale, width = 90 / max(1, np.abs(coefficients).max()), 400 / len(order)
        bars = "".join(
            f'<rect x="{at * width + 0.1 * width:.4g}" width="{0.8 * width:.4g}" y="{100 - max(c, 0) * scale:.4g}" '
            f'height="{abs(c) * scale:.4g}" fill="{tables.colour(c)}"/>'
            for at, c in enumerate(coefficients[order])
        )
        return (
            f'<svg viewBox="0 0 400 200" width="400" role="img" aria-label="{cls.label}">{bars}'
            '<path d="M0 100H400" stroke="var(--fc-muted, #666)"/></svg>'
        )


def _variables(text: str) -> int:
    return max(cube.variables(cube.parse(text)), default=1)


def _table(state: Mapping[str, Any]) -> np.ndarray:
    """The table (2^n,) of a clean state."""
    n, name, parameter = state["n"], state["name"], state["parameter"]
    if state["source"] == "formula":
        return cube.formula(state["formula"], n)
    if state["source"] == "table":
        return tables.numbers(state["table"], n)
    special = {
        "threshold": lambda: cube.threshold(n, parameter),
        "address": lambda: cube.address({3: 1, 6: 2}[n]),
        "tribes": lambda: cube.tribes(parameter, n // parameter),
        "random": lambda: _random(n, parameter),
    }
    return special[name]() if name in special else getattr(cube, name)(n)


def _random(n: int, seed: int) -> np.ndarray:
    """A Boolean table from 32-bit xorshift numbers, which a page computes as easily as Python does."""
    word, table = (seed + 1) * 0x9E3779B1 % 2**32, []
    for _ in range(2**n):
        word ^= word << 13 & 0xFFFFFFFF
        word ^= word >> 17
        word ^= word << 5 & 0xFFFFFFFF
        table.append(-1 if word >> 31 else 1)
    return np.array(table, dtype=np.int32)


def _parameter(name: str, n: int, parameter: int) -> int:
    if name == "address" and n not in (3, 6):
        raise ValueError(f"n: the address function has 3 or 6 variables here, got {n}")
    divisors = [width for width in range(1, n + 1) if n % width == 0]
    allowed = {"threshold": range(n + 2), "tribes": divisors, "random": [parameter]}.get(name, [0])
    if parameter not in allowed:
        words = ", ".join(map(str, allowed))
        raise ValueError(f"parameter: {name} on {n} variables can have {words}, got {parameter!r}")
    return parameter
