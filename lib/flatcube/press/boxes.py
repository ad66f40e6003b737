"""The prose of a chapter, cut into text, code and boxes, and the numbers that the site gives boxes and formulas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["FORMULA", "PROOF", "Box", "Numbers", "pieces", "every"]

FORMULA = re.compile(r"\$\$(?P<tex>.+?)\$\$(?: *\((?P<label>[\w-]+)\)$)?", re.DOTALL | re.MULTILINE)
PROOF = "prf:proof"

_FENCE = re.compile(r"(?P<fence>:{3,}|`{3,})(?:\{(?P<name>[\w:-]+)\}\s*(?P<title>.*)|\w*)")


@dataclass
class Box:
    """A directive: `:::{name} title`, its options and its body."""

    name: str
    title: str
    options: dict[str, str]
    body: str


@dataclass
class Numbers:
    """Counts the numbered boxes and formulas of a chapter, each kind by itself, as the site does."""

    chapter: int
    counts: Counter[str] = field(default_factory=Counter)

    def number(self, box: Box) -> str:
        """Such as "Theorem 1.2"; only the name of a box that has no number."""
        kind = box.name.removeprefix("prf:")
        if (not box.name.startswith("prf:") and kind != "exercise") or box.name == PROOF or "nonumber" in box.options:
            return kind.capitalize()
        return f"{kind.capitalize()} {self._next(kind)}"

    def formula(self) -> str:
        """The number of the next formula that has a label."""
        return self._next("formula")

    def _next(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"{self.chapter}.{self.counts[kind]}"


def pieces(source: str) -> Iterator[str | Box]:
    """A cell's text, cut into runs of prose, blocks of code and boxes."""
    lines, prose = source.split("\n"), []
    while lines:
        line = lines.pop(0)
        start = _FENCE.fullmatch(line)
        if not start or not (start["name"] or line.startswith("```")):
            prose.append(line)
            continue
        yield "\n".join(prose)
        prose, inside = [], []
        while lines and lines[0].rstrip() != start["fence"]:
            inside.append(lines.pop(0))
        if not lines:
            raise ValueError(f"the block that begins with {line!r} has no end")
        end = lines.pop(0)
        yield _parsed(start, inside) if start["name"] else "\n".join([line, *inside, end])
    yield "\n".join(prose)


def _parsed(start: re.Match[str], inside: list[str]) -> Box:
    options = {}
    while inside and (option := re.fullmatch(r":([\w-]+):\s*(.*)", inside[0])):
        options[option[1]] = option[2]
        inside = inside[1:]
    return Box(start["name"], start["title"], options, "\n".join(inside).strip("\n"))


def every(source: str) -> Iterator[Box]:
    """All boxes of a cell, those in others after them."""
    for piece in pieces(source):
        if isinstance(piece, Box):
            yield piece
            yield from every(piece.body)
