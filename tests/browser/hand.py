"""A reader's hand on an explorer: real keys, clicks and drags, each followed by a comparison with the library."""

import json

import pytest

__all__ = ["Hand", "IMPORT", "MODEL", "drag"]

READ = """root => [JSON.parse(root.dataset.state), Object.fromEntries([...root.querySelectorAll("[data-value]")]
  .filter(e => !e.closest("[hidden]"))
  .map(e => [e.dataset.value, "number" in e.dataset ? Number(e.dataset.number) : e.textContent]))]"""
SEEN = """root => [...root.querySelectorAll("output, dd, b, .fx-large")].filter(e => !e.closest("[hidden]")).map(e =>
  [e.dataset.value, Number(e.dataset.number), e.textContent])"""


class Hand:
    """A reader's hand on the explorer of a page; every move is followed by a comparison with the library."""

    def __init__(self, page, kind, root=None):
        self.page, self.kind = page, kind
        self.root = root or page.locator(".fc-explorer")
        self.compare()

    @property
    def state(self):
        return json.loads(self.root.get_attribute("data-state"))

    def compare(self):
        assert self.root.get_attribute("data-mounted") == "true"
        state, shown = self.root.evaluate(READ)  # in one step, as an animation may be running
        expected = self.kind.displayed(state)
        assert shown.keys() == expected.keys()
        for key, value in expected.items():
            assert shown[key] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-9)), key
        for key, number, text in self.root.evaluate(SEEN):
            if not any(map(str.isdigit, text)):  # a word, such as "none"
                continue
            assert float(text.replace("−", "-")) == pytest.approx(number, abs=5.1e-4), key

    def after(self, move, **changes):
        """Make the move; the state changes, and in these entries to these values."""
        before = self.state
        move()
        assert self.state != before
        assert {key: self.state[key] for key in changes} == changes
        self.compare()

    def keys(self, place, *names):
        place.focus()
        for name in names:
            self.page.keyboard.press(name)

    def drag(self, slider, share):
        drag(slider, share)


def drag(slider, share):
    """Drag a slider's thumb to a share of its width with the mouse."""
    slider.scroll_into_view_if_needed()
    box, mouse = slider.bounding_box(), slider.page.mouse
    low, high, now = slider.evaluate("e => [e.min, e.max, e.value].map(Number)")
    thumb, y = 8 + (box["width"] - 16) * (now - low) / (high - low), box["y"] + box["height"] / 2
    mouse.move(box["x"] + thumb, y)
    mouse.down()
    mouse.move(box["x"] + thumb + 5, y)
    mouse.move(box["x"] + 8 + (box["width"] - 16) * share, y, steps=4)
    mouse.up()


IMPORT = """async ([text, name]) => {
  window[name] = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
}"""

MODEL = """([name, state]) => {
  const data = { state }, calls = new Set();
  window.model = {
    saved: 0,
    get: key => data[key],
    set: (key, value) => { data[key] = value; calls.forEach(call => call()); },
    on: (event, call) => event === "change:state" && calls.add(call),
    off: (event, call) => calls.delete(call),
    save_changes() { this.saved++; },
  };
  const el = document.createElement("div");
  el.className = "fc-explorer";
  document.querySelector("main").append(el);
  window.stop = window[name].default.render({ model, el });
}"""
