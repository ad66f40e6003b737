"""Charts and explorers hold wherever their sliders and menus stand; `ends.js` drives them all, and says what breaks."""

from pathlib import Path

import altair as alt
import pandas as pd
import pytest

from flatcube.classroom import charts, figure
from flatcube.classroom.explorers import explorer
from flatcube.press import notebook
from tests.browser.turns import turns

ROOT = Path(__file__).parents[2]
CHAPTERS = [chapter.stem for chapter in notebook.chapters(ROOT)]
VIEWS = {"wide": {}, "phone": {"width": 390, "height": 844, "scheme": "dark"}}
DRIVE = Path(__file__).with_name("ends.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("chapter", "view"), turns(CHAPTERS, reversed(VIEWS)))  # the others of `test_still`
def test_figures_hold_at_all_ends(open_page, chapter, view):
    with open_page(f"chapters/{chapter}.html", **VIEWS[view]) as visit:
        assert visit.page.evaluate(DRIVE) == []
        assert visit.errors == []


# ------------------------------------------------------------------------------------------------ planted breaks

THEME = """<style>html { --fc-ink: #111111; --fc-muted: #444444; --fc-line: #cccccc; --fc-paper: #ffffff;
  --fc-accent: #770077; --fc-cat-1: #0000aa; --fc-cat-2: #aa5500; --fc-cat-3: #007700; --fc-cat-4: #aa00aa;
  --fc-cat-5: #777700; --fc-cat-6: #555555; --fc-minus: #0000aa; --fc-plus: #aa5500; --fc-sans: sans-serif; }</style>"""
ROWS = pd.DataFrame({"x": [0, 1, 2] * 2, "value": [0.0, 0.3, 0.5, 0.1, 0.4, 0.2], "kind": ["one"] * 3 + ["two"] * 3})
SLIDER = alt.param(name="times", value=1, bind=alt.binding_range(min=1, max=3, step=1, name="times "))
ROOM = alt.Scale(domain=[0, 2])
MENU = alt.param(name="who", value="one", bind=alt.binding_select(options=["one", "two"], name="who "))


def drawn(*, title="Two lines", axis="height", scale=ROOM, flush=False, legend=..., over="who", **changes):
    """A sound chart with a slider and a menu, or one with these changes; `over` is the title above an axis without."""
    legend = alt.Legend(orient="top", title=None) if legend is ... else legend
    chart = alt.Chart(ROWS).transform_calculate(height="datum.value * times").mark_line(**changes.pop("mark", {}))
    encoded = chart.encode(
        x=alt.X("x:Q", title="place", axis=alt.Axis(labelFlush=flush, values=[0, 1, 2])),
        y=alt.Y("height:Q", title=axis, scale=scale),
        **({"color": alt.Color("kind:N", legend=legend)} if legend is not False else {}),
    )
    for condition in changes.pop("only", []):
        encoded = encoded.transform_filter(condition)
    encoded = encoded if axis else encoded + charts.axis_title(over)
    return figure(
        encoded.add_params(SLIDER, MENU).properties(title=title, **changes), alt="Two lines that a slider lifts."
    )


LONG = "a name of a series that goes on and on, longer than any legend will ever be"
BREAKS = {
    "cut off: A title": drawn(title="A title that is far too long for a plot so narrow", width=90, autosize="none"),
    "cut off: two": drawn(
        width=300, autosize="none", padding=0, legend=alt.Legend(orient="right", title=None, offset=40)
    ),
    "cut off: a name": figure(
        alt.Chart(ROWS.replace("one", LONG), title="Words").mark_point().encode(x="x:Q", color="kind:N"),
        alt="A chart with a long name in its legend.",
    ),
    "outside the axes: line": drawn(scale=alt.Scale(domain=[0, 1])),
    "nothing is drawn": drawn(only=["times < 3"]),
    "says one where two is chosen": drawn(title="Only one is seen"),
    "says two where one is chosen": drawn(axis="height of two"),
    "an axis is called value": drawn(axis="value"),
    "an axis is called mean of value": drawn(axis="mean of value"),
    "an axis is called chosen measure": drawn(axis="chosen measure (hollow: lost)"),
    "says one where two is chosen: one, deaf": drawn(axis=None, over="'one, deaf to its menu'"),
    "labels beside their ticks": drawn(flush=True),
    "series without a legend: kind": drawn(legend=None),
    "a fixed colour: #123456": drawn(legend=False, mark={"color": "#123456"}),
    'a fixed colour: "color":"black"': drawn(legend=False, mark={"color": "black"}),
    "pale: line in #eeeeee": drawn(legend=False, mark={"color": "#eeeeee"}),
}


@pytest.mark.parametrize("fault", BREAKS)
def test_a_planted_break_is_found(workshop, fault):
    with workshop(THEME, drawn(title="A sound chart"), BREAKS[fault]) as visit:
        found = visit.page.evaluate(DRIVE)
        assert any(f"| {fault}" in line for line in found)
        assert not any(line.startswith("A sound chart") for line in found)


def test_sound_charts_and_explorers_are_left_alone(workshop):
    roles = charts.role_look("kind:N", ours="one", paper="two")
    chart = figure(alt.Chart(ROWS, title="Roles").mark_point().encode(x="x:Q", **roles), alt="Six points in two roles.")
    with workshop(THEME, drawn(), drawn(axis=None), chart, explorer("cube"), explorer("fourier")) as visit:
        assert visit.page.evaluate(DRIVE) == []


SPILT = {
    "cut off: far": '<b style="display: block; width: 10px; overflow: hidden; white-space: nowrap">far too long</b>',
    "cut off: lost": '<svg width="9" height="9" overflow="visible"><text x="3000" y="5">lost</text></svg>',
    "outside the axes: circle": '<svg width="40" height="40"><circle cx="30" cy="20" r="15"/></svg>',
}


@pytest.mark.parametrize("fault", SPILT)
def test_what_spills_from_an_explorer_is_found(workshop, fault):
    with workshop(THEME, explorer("fourier")) as visit:
        box = visit.page.locator(".fc-explorer .fx-box, .fc-explorer").last
        box.evaluate("(e, html) => e.insertAdjacentHTML('beforeend', html)", SPILT[fault])
        assert any(f"| {fault}" in line for line in visit.page.evaluate(DRIVE))
