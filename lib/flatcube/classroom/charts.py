"""Charts: one theme, and one object that shows well in every home.

`figure(chart, alt=…)` wraps an Altair chart. JupyterLab draws its Vega-Lite form natively and offline, GitHub and
paper show its SVG picture, and the press turns it into the site's own chart element. Nothing random is stored.
"""

from __future__ import annotations

import json
import math
from functools import cached_property
from typing import Any

import altair as alt

from flatcube.classroom.mime import CHART as MIME
from flatcube.classroom.palette import MINUS, PLUS, SERIES

__all__ = ["MINUS", "PLUS", "SERIES", "Figure", "figure"]

WIDTH = 560  # of a chart that has no width of its own, where there is no column to fill

_INK = "#767676"  # text in a picture without a page around it: legible on white and on black
_CONFIG = {
    "background": "transparent",
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "range": {"category": SERIES},
    "title": {"color": _INK, "subtitleColor": _INK, "anchor": "start", "fontSize": 15, "fontWeight": 600},
    "axis": {"labelColor": _INK, "titleColor": _INK, "gridColor": "#8884", "domainColor": "#8888"},
    "legend": {"labelColor": _INK, "titleColor": _INK},
    "header": {"labelColor": _INK, "titleColor": _INK},
}


class Figure:
    """A finished chart: its specification, its text for readers who cannot see it, and its picture."""

    def __init__(self, chart: alt.TopLevelMixin, alt_text: str) -> None:
        self.alt = alt_text
        text = chart.to_json(format="vega-lite", validate=True, sort_keys=False)
        for at, name in enumerate(json.loads(text).get("datasets", {}), start=1):
            text = text.replace(name, f"data-{at}")  # Altair's name depends on digits that _rounded takes away
        specification = json.loads(text)
        specification.pop("config", None)
        self.specification: dict[str, Any] = _rounded(specification) | {"description": alt_text, "config": _CONFIG}

    @cached_property
    def svg(self) -> str:
        """The chart as a static SVG picture."""
        import vl_convert

        return vl_convert.vegalite_to_svg(self.specification)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {MIME: self.specification, "image/svg+xml": self.svg, "text/plain": self.alt}


def figure(chart: alt.TopLevelMixin, *, alt: str) -> Figure:
    """Wrap an Altair `chart` for showing; `alt` says in words what a reader should see in it.

    The chart needs a title that states the finding. A chart without a width fills the column it stands in on the site;
    elsewhere it is WIDTH pixels wide, because JupyterLab hangs on a stored chart that asks for the width of a cell
    before that cell has one.
    """
    if not isinstance(alt, str) or len(alt.split()) < 5:
        raise ValueError(f"alt={alt!r}: describe in at least five words what the chart shows.")
    specification = chart.to_dict()
    if not specification.get("title"):
        raise ValueError("chart: it has no title; give it one that states what it shows.")
    if "width" not in specification and {"mark", "layer"} & set(specification):
        chart = chart.properties(width=WIDTH, usermeta={"fill": True})
    return Figure(chart, alt)


def _rounded(value: Any) -> Any:
    """The same JSON with every number at five significant digits: smaller pages, and equal ones on every CPU."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float) and value and math.isfinite(value):
        return float(f"{value:.5g}")
    return value
