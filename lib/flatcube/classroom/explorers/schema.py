"""What the entries of an explorer's state are, said once for Python and for the page.

The file ``<name>.json`` beside an explorer's script has for every entry its ``default`` and, if it can be judged by
itself, a ``kind`` with the limits that the classes below name. Python refuses with it what does not fit; the page finds
it in its script and reads there what to refuse, and the ends, steps and choices of its controls (``accept``, ``bounds``
and ``options`` in ``kit.js``). What depends on several entries is code, in both languages.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flatcube import cast

__all__ = ["Schema", "Field", "Whole", "Number", "Choice", "Bits", "Items", "Line"]


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """One entry; ``when`` names another one and the values of it for which this one counts."""

    when: tuple[str, list[Any]] | None = None

    @property
    @abstractmethod
    def expected(self) -> str:
        """What is allowed, as it stands in a sentence."""

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Whether ``value`` is allowed."""

    def got(self, value: Any) -> str:
        """What came, as it stands in a sentence."""
        return f"{value!r:.60}"

    def check(self, name: str, value: Any) -> Any:
        """``value``, or a ValueError in one sentence."""
        if not self.fits(value):
            raise ValueError(f"{name}: expected {self.expected}, got {self.got(value)}")
        return value

    def counts(self, state: Mapping[str, Any]) -> bool:
        """Whether this entry matters in ``state``."""
        return self.when is None or state[self.when[0]] in self.when[1]

    def rule(self) -> dict[str, Any]:
        """The field for the page."""
        return {"kind": type(self).__name__.lower(), "expected": self.expected, **asdict(self)}


@dataclass(frozen=True)
class Whole(Field):
    """An integer from ``min`` to ``max``, or without end; ``none`` allows None, too."""

    min: int
    max: int | None = None
    none: bool = False

    @property
    def expected(self) -> str:
        end = f"≥ {self.min}" if self.max is None else f"from {self.min} to {self.max}"
        return f"{'None or ' * self.none}an integer {end}"

    def fits(self, value: Any) -> bool:
        if value is None:
            return self.none
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and self.min <= value and (self.max is None or value <= self.max)


@dataclass(frozen=True)
class Number(Field):
    """A number from ``min`` to ``max``; a control moves it by ``step``, and a ``grid`` allows nothing between."""

    min: float
    max: float
    step: float
    grid: bool = False

    @property
    def expected(self) -> str:
        kind = f"a multiple of {self.step:g}" if self.grid else "a number"
        return f"{kind} from {self.min:g} to {self.max:g}"

    def fits(self, value: Any) -> bool:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not self.min <= value <= self.max:
            return False
        parts = round(1 / self.step)  # a division gives the nearest number to k/10, a product with 0.1 does not
        return not self.grid or round(value * parts) / parts == value


@dataclass(frozen=True)
class Choice(Field):
    """One of several words or numbers; an option is one of them, or a pair with its name on the page.

    The functions of the cast are called as they are in the book, without a pair.
    """

    options: list[Any]

    @property
    def names(self) -> dict[Any, str]:
        """All options with their names."""
        return dict(option if isinstance(option, list) else (option, _shown(option)) for option in self.options)

    @property
    def values(self) -> list[Any]:
        """The words or numbers."""
        return list(self.names)

    @property
    def expected(self) -> str:
        return f"one of {', '.join(map(str, self.values))}"

    def fits(self, value: Any) -> bool:
        plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        return plain and value in self.values

    def rule(self) -> dict[str, Any]:
        return {**super().rule(), "options": list(self.names.items())}


@dataclass(frozen=True)
class Bits(Field):
    """``min``, ``min`` + ``step``, … or ``max`` characters 0 and 1."""

    min: int
    max: int
    step: int = 1

    @property
    def expected(self) -> str:
        rows = f"{self.min}, {self.min + self.step}, … or {self.max}"
        several = f"{self.min} to {self.max}" if self.step == 1 else rows
        return f"{self.min if self.min == self.max else several} characters 0 and 1"

    def fits(self, value: Any) -> bool:
        binary = isinstance(value, str) and not set(value) - {"0", "1"}
        return binary and len(value) in range(self.min, self.max + 1, self.step)


@dataclass(frozen=True)
class Items(Field):
    """A list of ``min`` to ``max`` things; ``what`` they are stands in the sentence."""

    min: int
    max: int
    what: str

    @property
    def expected(self) -> str:
        return f"{self.min} to {self.max} {self.what}"

    def fits(self, value: Any) -> bool:
        return isinstance(value, (list, tuple)) and self.min <= len(value) <= self.max


@dataclass(frozen=True)
class Line(Field):
    """A text of at most ``max`` characters."""

    max: int

    @property
    def expected(self) -> str:
        return f"at most {self.max} characters"

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= self.max

    def got(self, value: Any) -> str:
        return str(len(value)) if isinstance(value, str) else super().got(value)


def _shown(option: Any) -> str:
    return str(option).upper() if str(option).upper() in cast.NAMES else str(option)


_KINDS = {kind.__name__.lower(): kind for kind in (Whole, Number, Choice, Bits, Items, Line)}


class Schema(dict[str, Field]):
    """The entries that have a kind, by name; ``default`` is the state with which an explorer begins."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        self._default = {key: entry["default"] for key, entry in entries.items()}
        kept = {key: {k: v for k, v in entry.items() if k != "default"} for key, entry in entries.items()}
        super().__init__({key: _KINDS[entry.pop("kind")](**entry) for key, entry in kept.items() if entry})

    @classmethod
    def beside(cls, path: Path | str) -> "Schema":
        """The schema in the JSON file beside the script or the module ``path``."""
        return cls(json.loads(Path(path).with_suffix(".json").read_text(encoding="utf-8")))

    @property
    def default(self) -> dict[str, Any]:
        """A fresh copy."""
        return json.loads(json.dumps(self._default))

    def accept(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of ``state``; a ValueError names the first entry that does not fit."""
        for key, field in self.items():
            if field.counts(state):
                field.check(key, state[key])
        return dict(state)

    def rules(self) -> dict[str, Any]:
        """All entries for the page, empty those that are not judged by themselves."""
        return {key: self[key].rule() if key in self else {} for key in self._default}
