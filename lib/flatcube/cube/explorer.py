"""The cube explorer: a Boolean function on the corners of the cube, compared with one parity.

State::

    {"n": 3,                  dimensions
     "name": "majority",      a function of flatcube.cube, or custom
     "table": "",             for custom: 2^n characters "-" (true) and "+" (false), in table order; else ""
     "subset": [1]}           the members of S in increasing order
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flatcube import checks
from flatcube.classroom.explorers import Explorer, Schema, tables
from flatcube.cube import functions as cube

__all__ = ["CubeExplorer"]


class CubeExplorer(Explorer):
    """f on the corners of the cube next to χ_S, and their correlation f̂(S) = E f(x) χ_S(x)."""

    name = "cube"
    label = "The cube explorer, a function on the corners of a cube compared with a parity"
    schema = Schema.beside(__file__)

    @classmethod
    def clean(cls, state: dict[str, Any]) -> dict[str, Any]:
        n, name, table = state["n"], state["name"], state["table"]
        custom = name == "custom"
        if custom and (not isinstance(table, str) or len(table) != 2**n or set(table) - {"+", "-"}):
            raise ValueError(f"table: expected {2**n} signs + and -, got {table!r}")
        members = cube.subset(cube.mask(state["subset"], n))
        return {"n": n, "name": name, "table": table if custom else "", "subset": list(members)}

    @property
    def table(self) -> np.ndarray:
        """The table (2^n,) of the function on the page; assigning one makes it the reader's own function."""
        return self._table(self.state)

    @table.setter
    def table(self, table: np.ndarray) -> None:
        table = checks.signs(checks.table(table))
        signs, n = tables.kept(table), len(table).bit_length() - 1
        subset = [i for i in self.state["subset"] if i <= n]
        self.state = {"n": n, "name": "custom", "table": signs, "subset": subset}

    @classmethod
    def displayed(cls, state: Mapping[str, Any]) -> dict[str, float | str]:
        state = cls.complete(state)
        n, table = state["n"], cls._table(state)
        parity = cube.subset_parity(state["subset"], n)
        agree = int((table == parity).sum())
        coefficients = [np.mean(table * cube.subset_parity(cube.subset(S), n)) for S in range(2**n)]
        chosen = {f"in:{i}": float(i in state["subset"]) for i in range(1, n + 1)}
        return {
            "n": float(n),
            "correlation": float(coefficients[cube.mask(state["subset"])]),
            "agree": float(agree),
            "differ": float(2**n - agree),
            "corners": float(2**n),
            **chosen,
            **{f"f:{k}": float(value) for k, value in enumerate(table)},
            **{f"c:{S}": float(value) for S, value in enumerate(coefficients)},
        }

    @classmethod
    def picture(cls, state: Mapping[str, Any]) -> str:
        """The corners on their levels, from 0 … 0 below to 1 … 1 above, joined by the edges."""
        table = cls._table(state)

        def corner(k: int, place: tables.Place) -> str:
            return f'<circle cx="{place[0]}" cy="{place[1]}" r="9" fill="{tables.colour(table[k])}"/>'

        return tables.drawing(state["n"], cls.label, corner, lambda k, m: False)

    @staticmethod
    def _table(state: Mapping[str, Any]) -> np.ndarray:
        if state["name"] == "custom":
            return tables.numbers(state["table"], state["n"])
        return getattr(cube, state["name"])(state["n"])
