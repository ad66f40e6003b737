"""Comparing stored outputs with fresh ones as numbers, because processors round differently.

Two outputs agree if they have the same structure and the same words, and if every number a of the one and b of the
other satisfies |a − b| ≤ the largest of

- `RELATIVE` times the larger of |a| and |b|;
- one unit of the last printed place, in text; whole numbers below 1000 are counts and have no such unit, while a larger
  one may be a rounded measurement;
- `FLOOR` times the largest number of their column: what is smaller is rounding noise, but for charts with a
  logarithmic axis, which show it.

What is not finite must be the same. A column is one field of a chart's or an element's data, or one place in printed
lines that have the same words; how many blanks stand between them does not count. A drawing (SVG) repeats its chart:
its words, colours and widths are compared like any text, its geometry within `PIXELS`.

A code cell tagged `by-statement` shows what hangs on the path of a training run, which rounding bends: of its outputs
the structure and the words are compared, not the digits. Whoever tags a cell adds it here, as "- 07-blowup, " and the
reason. Other chapters show stored networks, and the short descents of chapter 10 move by less than `RELATIVE` if all
their weights begin a millionth of a millionth elsewhere.

- 04-handmade, exact weights trained on (two cells): Adam makes steps of full length of gradients that are rounding.
- 10-pacbayes, the certificate of an encoder that is trained on the page, in 400 steps.
- 09-sharpness, the edge of stability: there steps in the steepest direction grow until the curvature gives way.

All outputs that are compared run through `difference`: those of `flatcube check`, nbval's replay and `make notebooks`.
"""

from __future__ import annotations

import html
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from flatcube.classroom.mime import has_logarithmic_axis

__all__ = ["RELATIVE", "FLOOR", "PIXELS", "BY_STATEMENT", "difference", "of_texts", "of_data", "numbers"]

RELATIVE = 1e-4
FLOOR = 1e-12
PIXELS = 3.0
BY_STATEMENT = "by-statement"

_DRAWING = "image/svg+xml"
_COUNTS = 1000  # whole numbers below count something

_TAG = re.compile(r"<[^<>]*>")
_PLACE = "\ue000"  # stands for a number; a character that no text has
_GEOMETRY = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "d", "points", "transform", "width",
             "height", "viewBox"}  # fmt: skip

# A sign belongs to a number where nothing that it could be subtracted from stands before it; a comma, where it is
# followed by groups of three digits.
_NUMBER = re.compile(
    r"(?:(?<![\w)\]}.])[-−+])?(?<![\w.#])(?:\d{1,3}(?:,\d{3})+(?![\d,]*\d)|\d+)(?:\.\d+)?(?:[eE][-+−]?\d+)?(?!\w)"
)


class Pair(NamedTuple):
    """A number of the one output, its partner in the other, and the unit of their last printed place."""

    old: float
    new: float
    unit: float


Columns = dict[Any, list[Pair]]


def difference(old: list[dict], new: list[dict], *, by_statement: bool = False) -> str | None:
    """How the outputs of a cell differ from those of another run, in a few words, or None if they agree."""
    if len(old) != len(new):
        return f"{len(old)} outputs against {len(new)}"
    for mine, other in zip(old, new, strict=True):
        words = _of_output(mine, other, by_statement)
        if words:
            return words
    return None


def _of_output(old: dict, new: dict, by_statement: bool) -> str | None:
    kinds = [_forms(old), _forms(new)]
    if kinds[0].keys() != kinds[1].keys():
        return f"{', '.join(sorted(kinds[0]))} against {', '.join(sorted(kinds[1]))}"
    for form in kinds[0]:
        compare = _of_drawings if form == _DRAWING else of_data
        words = compare(kinds[0][form], kinds[1][form], by_statement=by_statement)
        if words:
            return words
    return None


def _forms(output: dict) -> dict[str, Any]:
    """What is compared of an output, by name: a stream's text, or every form of what is shown, with its metadata."""
    shown = dict(output.get("data", {}))
    rest = {key: output[key] for key in ("text", "name", "metadata", "ename", "evalue") if output.get(key)}
    return {key: "".join(value) if _is_lines(key, value) else value for key, value in (shown | rest).items()}


def _is_lines(key: str, value: Any) -> bool:
    """A notebook file may hold text as a list of lines."""
    return isinstance(value, list) and (key == "text" or "/" in key) and all(isinstance(line, str) for line in value)


def of_texts(old: str, new: str, *, by_statement: bool = False) -> str | None:
    """How two printed texts differ, or None: the same lines of words, and numbers that agree."""
    return of_data(old, new, by_statement=by_statement)


def of_data(old: Any, new: Any, *, by_statement: bool = False) -> str | None:
    """How two pieces of JSON differ, or None: the same structure, and texts and numbers that agree."""
    columns: Columns = defaultdict(list)
    floor = 0.0 if isinstance(old, dict) and has_logarithmic_axis(old) else FLOOR
    return _gathered(old, new, (), columns) or (None if by_statement else _apart(columns, floor))


def _gathered(old: Any, new: Any, at: tuple, columns: Columns) -> str | None:
    """Fill `columns` with the pairs of numbers of two pieces of JSON; return how they differ apart from these."""
    if _is_number(old) and _is_number(new):
        columns[at].append(Pair(old, new, 0.0))
    elif type(old) is not type(new) or (isinstance(old, list) and len(old) != len(new)):
        return f"{_short(old)} against {_short(new)}"
    elif isinstance(old, dict):
        if old.keys() != new.keys():
            return f"fields {_short(list(old))} against {_short(list(new))}"
        return _first(_gathered(old[key], new[key], (*at, key), columns) for key in old)
    elif isinstance(old, list):
        return _first(_gathered(mine, other, (*at, None), columns) for mine, other in zip(old, new, strict=True))
    elif isinstance(old, str):
        return _gathered_text(old, new, at, columns)
    elif old != new:
        return f"{_short(old)} against {_short(new)}"
    return None


def _gathered_text(old: str, new: str, at: tuple, columns: Columns) -> str | None:
    mine, others = ([line.split() for line in _TAG.sub(_apart_in_tag, text).splitlines()] for text in (old, new))
    if len(mine) != len(others):
        return f"{len(mine)} lines against {len(others)}"
    for one, two in zip(mine, others, strict=True):  # alignment may differ with the width of a number
        one, two = " ".join(one), " ".join(two)
        words = _words(one)
        if words != _words(two):
            return f"{_short(one)} against {_short(two)}"
        for place, (a, b) in enumerate(zip(numbers(one), numbers(two), strict=True)):
            columns[(*at, words, place)].append(Pair(a.value, b.value, min(a.unit, b.unit)))
    return None


def _apart_in_tag(tag: re.Match[str]) -> str:
    """A tag of HTML with blanks around its commas, which stand between numbers there, not within."""
    return tag[0].replace(",", " , ")


def _words(line: str) -> str:
    return re.sub(f" ?{_PLACE} ?", _PLACE, _NUMBER.sub(_PLACE, line))  # a minus may take the place of a space


def _apart(columns: Columns, floor: float) -> str | None:
    """The first pair of numbers that do not agree, or None."""
    for key, pairs in columns.items():
        finite = [abs(value) for pair in pairs for value in pair[:2] if math.isfinite(value)]
        for pair in pairs:
            if not _agree(*pair, floor * max(finite, default=0.0)):
                name = next((part for part in reversed(key) if isinstance(part, str) and part), "a number")
                return f"{pair.old:.10g} against {pair.new:.10g} ({_short(name.replace(_PLACE, '#'))})"
    return None


def _agree(old: float, new: float, unit: float, least: float) -> bool:
    if not (math.isfinite(old) and math.isfinite(new)):
        return old == new or (math.isnan(old) and math.isnan(new))
    return abs(old - new) <= max(RELATIVE * max(abs(old), abs(new)), 1.001 * unit, least)


def _of_drawings(old: str, new: str, *, by_statement: bool = False) -> str | None:
    (words, shapes), (others, other_shapes) = (_drawn(svg) for svg in (old, new))
    if by_statement:
        return of_data(words[0], others[0], by_statement=True)
    return of_data(words, others) or _of_geometry(shapes, other_shapes)


def _drawn(svg: str) -> tuple[list[list[str]], list[float]]:
    """What an SVG says, in its texts and in the attributes of its tags; and the numbers of its geometry."""
    texts = [html.unescape(text) for text in re.findall(r">([^<]+)<", svg)]
    attributes, places = [], []
    for tag in _TAG.findall(svg):
        given = dict(re.findall(r'([\w:-]+)="([^"]*)"', tag))
        shape = " ".join(given.pop(name) for name in sorted(_GEOMETRY & given.keys()))
        places += [float(text) for text in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", shape)]
        attributes += [tag.split()[0].strip("<>"), *(f"{name} {html.unescape(value)}" for name, value in given.items())]
    return [texts, attributes], places


def _of_geometry(old: list[float], new: list[float]) -> str | None:
    same = len(old) == len(new) and all(abs(a - b) <= PIXELS for a, b in zip(old, new, strict=True))
    return None if same else "another drawing"


# --- numbers in text --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    """A number in a text: where it stands, its value, and the unit of its last printed place."""

    start: int
    end: int
    value: float
    unit: float


def numbers(text: str) -> Iterator[Number]:
    """The numbers in a text, with a point and an exponent or not, with commas between thousands or not.

    >>> [(number.value, number.unit) for number in numbers("n = 12: 0.250 ± 1.5e-3")]
    [(12.0, 0.0), (0.25, 0.001), (0.0015, 0.0001)]
    """
    for match in _NUMBER.finditer(text):
        digits = match.group().replace("−", "-").replace(",", "")
        mantissa, _, exponent = digits.lower().partition("e")
        whole = "." not in mantissa and not exponent
        unit = float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")  # may be infinite, like the number
        value = float(digits)
        yield Number(match.start(), match.end(), value, 0.0 if whole and abs(value) < _COUNTS else unit)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _first(found: Iterator[str | None]) -> str | None:
    return next((words for words in found if words), None)


def _short(value: Any) -> str:
    words = " ".join(str(value).split())
    return repr(words if len(words) <= 60 else f"{words[:57]}…")
