"""Charts: one theme, and one object that shows well in every home.

`figure(chart, alt=…)` wraps an Altair chart. JupyterLab draws its Vega-Lite form natively and offline, GitHub and
paper show its SVG picture, and the press turns it into the site's own chart element. Nothing random is stored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import altair as alt
from altair import TopLevelMixin

from flatcube import cast, checks
from flatcube.classroom.mime import CHART as MIME
from flatcube.classroom.mime import checked_label, has_logarithmic_axis
from flatcube.classroom.palette import MINUS, MUTED, OURS, PAPER, PLUS, SERIES

__all__ = ["MINUS", "PLUS", "SERIES", "OURS", "PAPER", "MUTED", "Figure", "figure", "axis_title", "cast_look",
           "role_look"]  # fmt: skip

WIDTH = 560  # of a chart that has no width of its own, where there is no column to fill

AXIS_TITLE = "axis_title"  # the name of a layer that is one

_NOISE = 1e-12
_DASHES = ([5, 5], [12, 3], [4, 2, 1, 2], [1, 2])  # of series that are not of the cast
_CONFIG = {
    "background": "transparent",
    "view": {"stroke": None},
    "autosize": {"type": "pad", "resize": True},
    "font": "system-ui, sans-serif",
    "range": {"category": SERIES},
    "title": {"color": MUTED, "subtitleColor": MUTED, "anchor": "start", "fontSize": 15, "fontWeight": 600},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFlush": False,
        "gridColor": "#8884",
        "domainColor": "#8888",
    },
    "legend": {"labelColor": MUTED, "titleColor": MUTED},
    "header": {"labelColor": MUTED, "titleColor": MUTED},
}


class Figure:
    """A finished chart: its specification, its text for readers who cannot see it, and its picture."""

    def __init__(self, chart: TopLevelMixin, alt_text: str) -> None:
        self.alt = alt_text
        text = chart.to_json(format="vega-lite", validate=True, sort_keys=False)
        for at, name in enumerate(json.loads(text).get("datasets", {}), start=1):
            text = text.replace(name, f"data-{at}")  # Altair's name depends on digits that _rounded takes away
        specification = json.loads(text)
        specification.pop("config", None)
        shown = _with_one_legend(_quiet(_rounded(specification)))
        self.specification: dict[str, Any] = shown | {"description": alt_text, "config": _CONFIG}

    @cached_property
    def svg(self) -> str:
        """The chart as a static SVG picture."""
        import vl_convert

        return vl_convert.vegalite_to_svg(self.specification)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {MIME: self.specification, "image/svg+xml": self.svg, "text/plain": self.alt}


def figure(chart: TopLevelMixin, *, alt: str, label: str = "") -> Figure:
    """Wrap an Altair `chart` for showing; `alt` says in words what a reader should see in it.

    With a `label` such as "fig-butterfly" the text can refer to the figure, which the press numbers.
    The chart needs a title that states the finding. A chart without a width fills the column it stands in on the site;
    elsewhere it is WIDTH pixels wide, because JupyterLab hangs on a stored chart that asks for the width of a cell
    before that cell has one.
    """
    checks.instance(chart, "chart", TopLevelMixin)
    if not isinstance(alt, str) or len(alt.split()) < 5:
        raise ValueError(f"alt: expected at least five words on what the chart shows, got {alt!r}")
    specification = chart.to_dict()
    if not specification.get("title"):
        raise ValueError("chart: expected one with a title that states what it shows, got none")
    said: dict[str, Any] = {"label": label} if checked_label(label) else {}
    if "width" not in specification and {"mark", "layer"} & set(specification):
        chart, said = chart.properties(width=WIDTH), {"fill": True} | said
    if said:
        chart = chart.properties(usermeta=said)
    return Figure(chart, alt)


def axis_title(expression: str) -> alt.Chart:
    """A layer with the title of the vertical axis above its upper end, for one that follows a menu.

    `expression` may use the chart's params; the axis itself has the title None, for it cannot change.

    >>> axis_title("measure + ' (hollow: not converged)'").to_dict()["mark"]["text"]
    {'expr': "measure + ' (hollow: not converged)'"}
    """
    checks.instance(expression, "expression", str)
    words = alt.Chart(alt.InlineData([{}]), name=AXIS_TITLE)
    look = {"align": "left", "baseline": "bottom", "fontSize": 11, "fontWeight": "bold"}
    mark = words.mark_text(text=alt.ExprRef(expression), **look)
    return mark.encode(x=alt.value(0), y=alt.value(-4))  # below a legend, which begins 18 above the axis


def cast_look(field: str, *channels: str, names: Iterable[str] = cast.NAMES, legend: Any = alt.Undefined) -> dict:
    """Encodings that give each member of the cast its own colour, and among `channels` its shape and its dash.

    `field` has the names, such as "name:N"; `channels` are "shape" for points and "strokeDash" for lines, or none;
    `names` are those that the chart shows, in the order of the legend. Up to four which are not of the cast may follow:
    they have looks of their own. `legend` is Altair's, or None for none.

    >>> look = cast_look("name:N", "shape", names=["PARITY", "MEAN"])
    >>> [look[channel].to_dict()["scale"]["range"] for channel in look]
    [['#9d59a4', '#516a70'], ['circle', 'diamond']]
    """
    others = iter(zip(SERIES[2:], ("cross", "triangle-down", "triangle-left", "triangle-right"), _DASHES, strict=True))
    looks = {
        name: (cast.COLOURS[name], cast.SHAPES[name], cast.DASHES[name]) if name in cast.NAMES else next(others)
        for name in names
    }
    return _look(field, channels, looks, legend)


def role_look(field: str, *channels: str, ours: str, paper: str, legend: Any = alt.Undefined) -> dict:
    """Encodings for what this book found and what a paper says: the fixed looks of the two roles, as in `cast_look`.

    `ours` and `paper` are the words for them in the column `field`.

    >>> role_look("kind:N", ours="measured", paper="the bound")["color"].to_dict()["scale"]["domain"]
    ['measured', 'the bound']
    """
    looks = {ours: (OURS, "circle", [1, 0]), paper: (PAPER, "square", [6, 4])}
    return _look(field, channels, looks, legend)


def _look(field: str, channels: tuple[str, ...], looks: Mapping[str, tuple], legend: Any) -> dict:
    """The channel "color" and the given ones, with one scale each and one legend for all."""
    kinds = {"color": alt.Color, "shape": alt.Shape, "strokeDash": alt.StrokeDash}
    for channel in channels:
        if channel not in list(kinds)[1:]:
            raise ValueError(f'channels: expected "shape" or "strokeDash", got {channel!r}')
    legend = alt.Legend(orient="top", title=None) if legend is alt.Undefined else legend
    return {
        channel: kind(
            field,
            title=None,
            legend=legend,
            scale=alt.Scale(domain=list(looks), range=[look[at] for look in looks.values()]),
        )
        for at, (channel, kind) in enumerate(kinds.items())
        if channel in ("color", *channels)
    }


def _rounded(value: Any) -> Any:
    """The same JSON with every number at five significant digits: smaller pages, and equal ones on every CPU."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float) and value and math.isfinite(value):
        return float(f"{value:.5g}")
    return value


def _quiet(specification: dict[str, Any]) -> dict[str, Any]:
    """The same chart with rounding noise at 0: in its data, what is below 1e-12 of the largest of its column.

    On a logarithmic axis such a number may be meant: a chart with one keeps them.
    """
    if not has_logarithmic_axis(specification):
        for rows in specification.get("datasets", {}).values():
            for column in {name for row in rows for name, item in row.items() if isinstance(item, float)}:
                found = [row[column] for row in rows if isinstance(row.get(column), float)]
                noise = _NOISE * max((abs(item) for item in found if math.isfinite(item)), default=0.0)
                for row in rows:
                    if isinstance(row.get(column), float) and abs(row[column]) < noise:
                        row[column] = 0.0
    return specification


def _with_one_legend(value: Any) -> Any:
    """The same chart in which shapes and dashes have the legend of the colours that mean the same.

    Newer forms of Vega-Lite join such legends by themselves; that of JupyterLab draws one for each.
    """
    if isinstance(value, list):
        return [_with_one_legend(item) for item in value]
    if not isinstance(value, dict):
        return value
    colour = value.get("color")
    if isinstance(colour, dict) and colour.get("legend"):
        for channel in ("shape", "strokeDash"):
            other = value.get(channel)
            if isinstance(other, dict) and other.get("field") == colour.get("field"):
                other.setdefault("legend", colour["legend"])
                other.pop("title", None)  # another title would part the two legends
                other.update({"title": colour["title"]} if "title" in colour else {})
    return {key: item if key == "datasets" else _with_one_legend(item) for key, item in value.items()}
