"""What every chapter's figures are tested for: a room derives a class from `FigureTests`.

After real keys, clicks and drags a figure shows what the library computes. Explorers are compared with their Python
half. A chart with inputs is compared with what the room says that its marks must show in a given state; one of which
it says nothing fails.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from flatcube.classroom.explorers import explorer
from tests import rooms
from tests.browser.hand import Hand, drag

__all__ = ["FigureTests", "Row"]

Row = dict[str, object]
Shown = Callable[[dict, list[Row]], Iterator[Row]]

# ------------------------------------------------------------------------------------------------ charts

MARKS = """el => {
  const rows = [];
  const walk = mark => {
    if (/axis|legend|title/.test(mark.role ?? "")) return;
    for (const item of mark.items) {
      if (mark.marktype === "group") item.items.forEach(walk);
      else if (item.datum && (item.opacity ?? 1) > 0.5) rows.push({ ...item.datum, text: item.text });
    }
  };
  walk(window.flatcube.views.get(el).scenegraph().root);
  return JSON.parse(JSON.stringify(rows));
}"""
STATE = """el => Object.fromEntries([...el.querySelectorAll(".vega-bind [name]")]
  .map(input => [input.name, window.flatcube.views.get(el).signal(input.name)]))"""
SETTLED = "async el => { await window.flatcube.views.get(el).runAsync(); }"


def table(rows: list[Row], fields: list[str]) -> list[tuple]:
    """The different rows with these fields, in order; numbers as the chart stores them, to five digits."""

    def kept(value):
        return value if isinstance(value, str) else float(f"{float(value):.5g}") + 0.0

    return sorted({tuple(kept(row[field]) for field in fields) for row in rows if row.keys() >= set(fields)})


class Chart:
    """A chart with inputs on a page, and what its room says it must show."""

    def __init__(self, element, room: str, charts: dict[str, Shown]) -> None:
        self.element = element
        spec = json.loads(element.locator("> script").text_content())
        title = spec["title"] if isinstance(spec["title"], str) else " ".join(spec["title"])
        if isinstance(spec["title"], dict):  # it follows a menu, so the figure goes by its label
            title = element.evaluate("el => el.closest('.fc-figure').id")
        assert title in charts, f"tests/{room}/test_figures_page.py says nothing about the chart {title!r}"
        self.shown = charts[title]
        # the title of an axis that follows a menu has a row without entries
        self.stored = [row for rows in spec.get("datasets", {}).values() for row in rows if row]

    def compare(self) -> dict:
        """Compare the marks with the library; gives the state of the inputs."""
        self.element.evaluate(SETTLED)
        state = self.element.evaluate(STATE)
        expected, marks = list(self.shown(state, self.stored)), self.element.evaluate(MARKS)
        fields = sorted(expected[0])
        want, got = table(expected, fields), table(marks, fields)
        assert len(got) == len(want), state
        for a, b in zip(got, want, strict=True):
            assert same(a, b), (state, a, b)
        return state

    def sweep(self, control) -> None:
        """Move one input through all its values with the keys, and once with the mouse if it is a slider."""
        name, kind = control.get_attribute("name"), control.evaluate("e => e.type")
        values = control.evaluate(
            """e => e.options ? [...e.options].map(option => option.text)
            : Array.from({ length: Math.round((e.max - e.min) / e.step) + 1 }, (_, at) => +e.min + at * e.step)"""
        )
        control.focus()
        control.press("Home")
        seen = [self.compare()[name]]
        for _ in values[1:]:
            control.press("ArrowRight" if kind == "range" else "ArrowDown")
            seen.append(self.compare()[name])
        assert seen == (pytest.approx(values) if kind == "range" else values)
        if kind == "range":
            drag(control, 0.0)
            assert self.compare()[name] == values[0]


def same(a: tuple, b: tuple) -> bool:
    """Whether two rows agree: words exactly, numbers to the digits that the chart stores."""
    return all(
        x == y if isinstance(y, str) else x == pytest.approx(y, rel=2e-5, abs=1e-9) for x, y in zip(a, b, strict=True)
    )


# ------------------------------------------------------------------------------------------------ explorers

MOST = 6  # buttons tried of one group


class Reader(Hand):
    """A hand that tries every control it finds."""

    def moves(self, control, *moves: Callable[[], None]) -> None:
        """Make these moves; the state must change, and the page agree with the library after each."""
        seen = {json.dumps(self.state)}
        for move in moves:
            move()
            self.compare()
            seen.add(json.dumps(self.state))
        assert len(seen) > 1, control.evaluate("e => e.outerHTML.slice(0, 200)")

    def try_sliders(self) -> None:
        for slider in self.visible("input[type=range]"):
            keys = [partial(slider.press, key) for key in ("Home", "ArrowRight", "End", "ArrowLeft")]
            self.moves(slider, *keys, partial(drag, slider, 0.4), partial(drag, slider, 0.0))

    def try_menus(self) -> None:
        for menu in self.visible("select"):
            own, down = menu.input_value(), [partial(menu.press, "ArrowDown")] * menu.locator("option").count()
            self.moves(menu, partial(menu.press, "Home"), *down)
            menu.select_option(own)  # another choice may hide what comes next

    def try_buttons(self) -> None:
        for group in self.visible("[role=group]:has(button, [role=button])"):
            buttons = group.locator("button, [role=button]")
            step = -(-buttons.count() // MOST)
            clicks = [buttons.nth(at).click for at in range(0, buttons.count(), step)]
            self.moves(group, *clicks, partial(buttons.nth(0).press, "Enter"))
        for button in self.visible("button:not([role=group] button, .fx-reset)"):
            self.moves(button, button.click, partial(self.page.wait_for_timeout, 300), button.click)

    def try_fields(self) -> None:
        for place in self.visible("input[type=text]"):
            takes_formula = "x" in (place.get_attribute("placeholder") or "x")
            start, typed = ("x1 ^ x2", " |x3") if takes_formula else ("2", ", -3")
            self.moves(place, partial(place.fill, start), *[partial(place.press, key) for key in typed])

    def start_again(self, first: dict) -> None:
        """The button that every explorer has leads back to the state with which the page was loaded."""
        self.root.get_by_role("button", name="Start again").click()
        self.compare()
        assert self.state == first

    def visible(self, selector: str) -> list:
        """The parts of the explorer that a reader can use now."""
        found = self.root.locator(selector)
        return [part for part in found.all() if part.is_visible() and part.is_enabled()]


def _kind(root):
    """The Python half of an explorer on a page; some have a content of their own, which stands beside the state."""
    kind, content = type(explorer(root.get_attribute("data-name"))), root.locator("> script").text_content()
    return kind.on(json.loads(content)["content"]) if kind.content is not None else kind


# ------------------------------------------------------------------------------------------------ a room


class FigureTests:
    """The tests of the interactive figures of one room's chapter."""

    room: str
    # For each title of a chart with inputs, or its label if the title follows a menu: (state of the inputs, the rows
    # stored in the chart) → the rows that its marks must show. Only the fields of these rows are compared; marks
    # without them, such as rules, are left out.
    charts: dict[str, Shown]

    @pytest.fixture(scope="class")
    @classmethod
    def visit(cls, open_page):
        """The chapter, open."""
        with open_page(f"chapters/{rooms.chapter(cls.room)}.html") as visit:
            yield visit

    def test_charts_with_inputs_show_what_the_library_computes(self, visit):
        charts = visit.page.locator(".fc-chart:has(.vega-bind)")
        for at in range(charts.count()):
            chart = Chart(charts.nth(at), self.room, self.charts)
            chart.compare()
            controls = chart.element.locator(".vega-bind [name]")
            for which in range(controls.count()):
                chart.sweep(controls.nth(which))
        assert charts.count() == len(self.charts)
        assert visit.errors == []

    def test_explorers_show_what_the_library_computes(self, visit):
        roots = visit.page.locator(".fc-explorer")
        assert roots.count() >= 1
        for at in range(roots.count()):
            root = roots.nth(at)
            reader = Reader(visit.page, _kind(root), root)
            first = reader.state
            reader.try_buttons()
            reader.try_fields()
            reader.try_menus()
            reader.try_sliders()
            reader.start_again(first)
        assert visit.errors == []
